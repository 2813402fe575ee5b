"""Functions and primitives compute what NumPy computes: several shapes and dtypes, broadcasting, nothing, no dimensions."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.numpy as mnp
from adjoint import Tensor, mint, nn, ops
from adjoint.ops import functional as F
from adjoint.ops import operations as P

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)


def drawn(*shape: int, dtype: str = "float32", low: float = -2.0, high: float = 2.0) -> Array:
    return np.asarray(RANDOM.uniform(low, high, shape)).astype(dtype)


def same(got: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    """The same shape, and numbers within `tolerance`, relative and absolute."""
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            same(a, b, tolerance)
        return
    array = got.asnumpy() if isinstance(got, Tensor) else np.asarray(got)
    assert array.shape == np.shape(wanted)
    np.testing.assert_allclose(array.astype(np.float64), np.asarray(wanted, np.float64), rtol=tolerance, atol=tolerance)


erf = np.vectorize(math.erf, otypes=[np.float64])


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


UNARY: dict[str, tuple[Any, Callable[[Array], Any]]] = {
    "abs": (ops.abs, np.abs), "neg": (ops.neg, np.negative), "sign": (ops.sign, np.sign), "square": (ops.square, np.square),
    "exp": (ops.exp, np.exp), "expm1": (ops.expm1, np.expm1), "exp2": (ops.exp2, np.exp2), "floor": (ops.floor, np.floor),
    "ceil": (ops.ceil, np.ceil), "round": (ops.round, np.round), "trunc": (ops.trunc, np.trunc), "sin": (ops.sin, np.sin),
    "cos": (ops.cos, np.cos), "tan": (lambda x: ops.tan(x * 0.5), lambda x: np.tan(x * 0.5)), "sinh": (ops.sinh, np.sinh),
    "cosh": (ops.cosh, np.cosh), "tanh": (ops.tanh, np.tanh), "erf": (ops.erf, erf), "erfc": (ops.erfc, lambda x: 1 - erf(x)),
    "sigmoid": (ops.sigmoid, logistic), "relu": (ops.relu, lambda x: np.maximum(x, 0)),
    "relu6": (lambda x: ops.relu6(x * 5), lambda x: np.clip(x * 5, 0, 6)),
    "leaky_relu": (ops.leaky_relu, lambda x: np.where(x < 0, 0.2 * x, x)),
    "elu": (ops.elu, lambda x: np.where(x > 0, x, np.expm1(x))), "silu": (ops.silu, lambda x: x * logistic(x)),
    "gelu": (ops.gelu, lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))),
    "gelu by tanh": (P.GeLU(), lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    "softplus": (ops.softplus, softplus), "softsign": (ops.softsign, lambda x: x / (1 + np.abs(x))),
    "mish": (ops.mish, lambda x: x * np.tanh(softplus(x))), "logsigmoid": (ops.logsigmoid, lambda x: np.log(logistic(x))),
    "hardsigmoid": (ops.hardsigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hardswish": (ops.hardswish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "hardtanh": (ops.hardtanh, lambda x: np.clip(x, -1, 1)), "tanhshrink": (ops.tanhshrink, lambda x: x - np.tanh(x)),
    "softshrink": (ops.softshrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    "hardshrink": (ops.hardshrink, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "selu": (ops.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    "celu": (lambda x: ops.celu(x, 2.0), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    "sqrt": (lambda x: ops.sqrt(ops.abs(x)), lambda x: np.sqrt(np.abs(x))),
    "rsqrt": (lambda x: ops.rsqrt(ops.abs(x) + 0.5), lambda x: 1 / np.sqrt(np.abs(x) + 0.5)),
    "reciprocal": (lambda x: ops.reciprocal(ops.abs(x) + 0.5), lambda x: 1 / (np.abs(x) + 0.5)),
    "log": (lambda x: ops.log(ops.abs(x) + 0.5), lambda x: np.log(np.abs(x) + 0.5)),
    "log1p": (lambda x: ops.log1p(ops.abs(x)), lambda x: np.log1p(np.abs(x))),
    "log2": (lambda x: ops.log2(ops.abs(x) + 0.5), lambda x: np.log2(np.abs(x) + 0.5)),
    "log10": (lambda x: ops.log10(ops.abs(x) + 0.5), lambda x: np.log10(np.abs(x) + 0.5)),
    "isnan": (ops.isnan, np.isnan), "isinf": (ops.isinf, np.isinf), "isfinite": (ops.isfinite, np.isfinite),
    "logical_not": (ops.logical_not, np.logical_not), "identity": (ops.identity, np.asarray),
    "stop_gradient": (ops.stop_gradient, np.asarray),
    "flatten": (lambda x: ops.flatten(x, start_dim=0), lambda x: x.reshape(-1)), "ravel": (ops.ravel, np.ravel),
    "zeros_like": (ops.zeros_like, np.zeros_like), "ones_like": (ops.ones_like, np.ones_like), "size": (ops.size, np.size),
    "rank": (ops.rank, np.ndim),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str) -> None:
    ours, numpys = UNARY[name]
    for x in (drawn(2, 3), drawn(7), drawn(), drawn(0, 3), drawn(2, 3, 2, 2), drawn(5, dtype="float64")):
        same(ours(Tensor(x)), numpys(x), 2e-6 if x.dtype == np.float64 else 1e-5)


BINARY: dict[str, tuple[Any, Callable[[Array, Array], Any]]] = {
    "add": (ops.add, np.add), "sub": (ops.sub, np.subtract), "mul": (ops.mul, np.multiply), "div": (ops.div, np.divide),
    "RealDiv": (P.RealDiv(), np.divide), "floor_div": (ops.floor_div, np.floor_divide), "mod": (ops.mod, np.mod),
    "fmod": (ops.fmod, np.fmod),
    "maximum": (ops.maximum, np.maximum), "minimum": (ops.minimum, np.minimum), "less": (ops.less, np.less),
    "le": (ops.le, np.less_equal),
    "greater": (ops.greater, np.greater), "ge": (ops.ge, np.greater_equal), "equal": (ops.equal, np.equal), "ne": (ops.ne, np.not_equal),
    "logical_and": (ops.logical_and, np.logical_and), "logical_or": (ops.logical_or, np.logical_or),
    "logical_xor": (ops.logical_xor, np.logical_xor),
    "isclose": (ops.isclose, np.isclose), "SquaredDifference": (P.SquaredDifference(), lambda x, y: (x - y) ** 2),
    "pow": (lambda x, y: ops.pow(ops.abs(x) + 0.1, y), lambda x, y: (np.abs(x) + 0.1) ** y),
    "xlogy": (lambda x, y: ops.xlogy(x, ops.abs(y)), lambda x, y: x * np.log(np.abs(y))),
    "lerp": (lambda x, y: ops.lerp(x, y, 0.25), lambda x, y: x + 0.25 * (y - x)),
    "where": (lambda x, y: ops.where(x > y, x, y), lambda x, y: np.where(x > y, x, y)),
    "select with a number": (lambda x, y: ops.select(x > y, x, 3), lambda x, y: np.where(x > y, x, 3)),
}
SHAPES = (
    ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ()), ((), ()), ((0, 3), (1, 3)), ((2, 3, 2, 2), (3, 1, 1)),
)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name: str) -> None:
    ours, numpys = BINARY[name]
    for left, right in SHAPES:
        x, y = drawn(*left), drawn(*right)
        same(ours(Tensor(x), Tensor(y)), numpys(x, y), 2e-5)


REDUCTIONS: dict[str, tuple[Any, Any, Any]] = {
    "sum": (ops.sum, P.ReduceSum, np.sum), "mean": (ops.mean, P.ReduceMean, np.mean), "prod": (ops.prod, P.ReduceProd, np.prod),
    "max": (ops.amax, P.ReduceMax, np.max), "min": (ops.amin, P.ReduceMin, np.min),
    "all": (
        lambda x, a, k: ops.all(x > 0, a, k), lambda keep_dims: lambda x, a: P.ReduceAll(keep_dims)(x > 0, a),
        lambda x, **o: np.all(x > 0, **o)),
    "any": (
        lambda x, a, k: ops.any(x > 1, a, k), lambda keep_dims: lambda x, a: P.ReduceAny(keep_dims)(x > 1, a),
        lambda x, **o: np.any(x > 1, **o)),
    "std": (lambda x, a, k: ops.std(x, a, 0, k), None, np.std),
    "var": (lambda x, a, k: ops.var(x, a, 1, k), None, lambda x, **o: np.var(x, ddof=1, **o)),
    "logsumexp": (lambda x, a, k: ops.logsumexp(x, a, k), None, lambda x, **o: np.log(np.sum(np.exp(x), **o))),
    "norm": (lambda x, a, k: ops.norm(x, None, a, k), None, lambda x, **o: np.sqrt(np.sum(x * x, **o))),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(name: str, keep: bool) -> None:
    function, primitive, numpys = REDUCTIONS[name]
    for shape, axes in (((2, 3), (None, 0, 1, -1, (0, 1))), ((2, 3, 4, 2), ((0, 2, 3), (1,), (-1, 0))), ((5,), (0, None))):
        x = drawn(*shape, low=0.1)
        for axis in axes:
            wanted = numpys(x, axis=axis, keepdims=keep)
            same(function(Tensor(x), axis, keep), wanted, 2e-5)
            if primitive is not None:
                same(primitive(keep_dims=keep)(Tensor(x), () if axis is None else axis), wanted, 2e-5)


def test_nothing_is_summed_to_zero_and_multiplied_to_one() -> None:
    nothing = Tensor(np.zeros((0, 3), np.float32))
    assert ops.sum(nothing).item() == 0
    assert ops.sum(nothing, 0).tolist() == [0, 0, 0]
    assert ops.prod(nothing, 0).tolist() == [1, 1, 1]
    assert math.isnan(ops.mean(nothing).item())
    for function in (ops.amax, ops.amin, ops.argmax, ops.max):
        with pytest.raises(ValueError, match="at least one element"):
            function(nothing)


def test_places_of_extremes() -> None:
    x = drawn(4, 5)
    t = Tensor(x)
    for axis in (0, 1, -1):
        same(ops.argmax(t, axis), np.argmax(x, axis))
        same(ops.argmin(t, axis), np.argmin(x, axis))
        same(ops.max(t, axis), (np.max(x, axis), np.argmax(x, axis)))
        same(ops.min(t, axis, keepdims=True), (np.min(x, axis, keepdims=True), np.expand_dims(np.argmin(x, axis), axis)))
        same(P.ArgMaxWithValue(axis)(t), (np.argmax(x, axis), np.max(x, axis)))
    same(ops.argmax(t), np.argmax(x))
    assert ops.argmax(t).dtype is adjoint.int64
    assert ops.argmin(t).dtype is P.Argmax()(t).dtype is adjoint.int32
    assert ops.argmax(t, 0, True).shape == (1, 5)


def test_running_sums_and_products() -> None:
    x = drawn(3, 5)
    t = Tensor(x)
    for axis in (0, 1, -1):
        same(ops.cumsum(t, axis), np.cumsum(x, axis))
        same(ops.cumprod(t, axis), np.cumprod(x, axis))
    same(P.CumSum(exclusive=True, reverse=True)(Tensor([1.0, 2.0, 3.0]), 0), [5, 3, 0])


@pytest.mark.parametrize("descending", [False, True])
def test_order(descending: bool) -> None:
    """Equal elements stay in the order in which they stand; NaN is the largest."""
    x = np.array([[3, 1, 3, 2, 1], [0, np.nan, 5, np.nan, -1]], np.float32)
    values, places = ops.sort(Tensor(x), descending=descending)
    wanted = np.array([sorted(range(5), key=lambda i: (np.isnan(row[i]), np.nan_to_num(row[i])), reverse=False) for row in x])
    if descending:
        wanted = np.array([sorted(range(5), key=lambda i: (not np.isnan(row[i]), -np.nan_to_num(row[i]))) for row in x])
    assert np.array_equal(places.asnumpy(), wanted)
    assert np.array_equal(values.asnumpy(), np.take_along_axis(x, wanted, 1), equal_nan=True)
    assert ops.topk(Tensor(x), 2, largest=descending)[1].tolist() == wanted[:, :2].tolist()
    assert ops.median(Tensor([3.0, 1.0, 2.0, 5.0]))[0].item() == 2


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int8, np.uint16, np.int64, np.bool_])
def test_order_along_each_axis(dtype: type, descending: bool) -> None:
    x = np.random.default_rng(0).integers(0, 9, (3, 40, 5)).astype(dtype)
    for axis in (0, 1, 2, -2):
        values, places = ops.sort(Tensor(x), axis, descending)
        ranks = -x.astype(np.int64) if descending else x
        wanted = np.argsort(ranks, axis, kind="stable")
        assert places.dtype == adjoint.int32 and np.array_equal(places.asnumpy(), wanted)
        assert np.array_equal(values.asnumpy(), np.take_along_axis(x, wanted, axis))
        assert np.array_equal(ops.argsort(Tensor(x), axis, descending).asnumpy(), wanted)


def test_order_of_many_elements() -> None:
    """Memory goes with the number of elements: a comparison of every two of these would take 10 GB for a bool each."""
    x = np.random.default_rng(1).integers(0, 50_000, 100_000).astype(np.float32)
    x[::997] = np.nan
    wanted = np.argsort(x, kind="stable")
    values, places = ops.sort(Tensor(x))
    assert np.array_equal(places.asnumpy(), wanted) and np.array_equal(values.asnumpy(), x[wanted], equal_nan=True)
    top, where = ops.topk(Tensor(x), 3, largest=False)
    assert where.tolist() == wanted[:3].tolist() and top.tolist() == x[wanted[:3]].tolist()
    slopes = adjoint.grad(lambda t: (ops.sort(t)[0] * Tensor(np.arange(x.size, dtype=np.float32))).sum())(Tensor(x))
    assert np.array_equal(slopes.asnumpy()[wanted], np.arange(x.size, dtype=np.float32))


def test_gradient_of_order() -> None:
    x, weights = Tensor([[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]]), Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    slopes = {axis: adjoint.grad(lambda t, axis=axis: (ops.sort(t, axis)[0] * weights).sum())(x).tolist() for axis in (0, 1)}
    assert slopes == {0: [[3, 1, 2], [0, 4, 5]], 1: [[2, 0, 1], [3, 4, 5]]}
    assert adjoint.grad(lambda t: ops.median(t, 1)[0].sum())(x).tolist() == [[0, 0, 1], [0, 1, 0]]
    assert adjoint.grad(lambda t: ops.argsort(t).astype(adjoint.float32).sum())(x).tolist() == [[0, 0, 0], [0, 0, 0]]


SHAPED: dict[str, tuple[Callable[[Tensor], Any], Callable[[Array], Any]]] = {
    "reshape": (lambda x: ops.reshape(x, (4, -1)), lambda x: x.reshape(4, -1)),
    "reshape by a tensor": (lambda x: P.Reshape()(x, Tensor([3, 8])), lambda x: x.reshape(3, 8)),
    "transpose": (lambda x: P.Transpose()(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "swapaxes": (lambda x: ops.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, -1)),
    "moveaxis": (lambda x: ops.moveaxis(x, (0, 1), (-1, 0)), lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    "expand_dims": (lambda x: P.ExpandDims()(x, -2), lambda x: np.expand_dims(x, -2)),
    "squeeze": (lambda x: P.Squeeze()(ops.expand_dims(x, 1)), lambda x: x),
    "squeeze one": (lambda x: ops.squeeze(ops.reshape(x, (1, 24, 1)), 2), lambda x: x.reshape(1, 24)),
    "flatten": (lambda x: P.Flatten()(x), lambda x: x.reshape(2, 12)),
    "flatten by columns": (lambda x: ops.flatten(x, "F", start_dim=0), lambda x: x.reshape(-1, order="F")),
    "concat": (lambda x: P.Concat(1)((x, x)), lambda x: np.concatenate((x, x), 1)),
    "stack": (lambda x: P.Stack(-1)((x, x)), lambda x: np.stack((x, x), -1)),
    "split": (lambda x: P.Split(2, 2)(x), lambda x: np.split(x, 2, 2)),
    "split by sizes": (lambda x: ops.split(x, [1, 3], 2), lambda x: np.split(x, [1], 2)),
    "split unevenly": (lambda x: ops.split(x, 2, 1), lambda x: [x[:, :2], x[:, 2:]]),
    "chunk": (lambda x: ops.chunk(x, 3, -1), lambda x: [x[..., :2], x[..., 2:]]),
    "tensor_split": (lambda x: ops.tensor_split(x, 3, 2), lambda x: np.array_split(x, 3, 2)),
    "unstack": (lambda x: P.Unstack(1)(x), lambda x: [x[:, i] for i in range(3)]),
    "slice": (lambda x: P.Slice()(x, (0, 1, 1), (2, 1, 3)), lambda x: x[0:2, 1:2, 1:4]),
    "strided_slice": (lambda x: ops.strided_slice(x, (0, 2, 0), (2, 0, 4), (1, -1, 3)), lambda x: x[0:2, 2:0:-1, 0:4:3]),
    "strided_slice with masks": (
        lambda x: P.StridedSlice(1, 2, 0, 4, 8)(x, (9, 0, 9, 1), (1, 9, 9, 9), (1, 2, 9, 9)), lambda x: x[:1, ::2, None, 1]),
    "tile": (lambda x: P.Tile()(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    "tile to more axes": (lambda x: ops.tile(x, (2, 1, 1, 1)), lambda x: np.tile(x, (2, 1, 1, 1))),
    "broadcast_to": (lambda x: P.BroadcastTo((5, -1, 3, -1))(x), lambda x: np.broadcast_to(x, (5, 2, 3, 4))),
    "flip": (lambda x: ops.flip(x, (0, 2)), lambda x: np.flip(x, (0, 2))),
    "roll": (lambda x: ops.roll(x, (1, -2), (0, 2)), lambda x: np.roll(x, (1, -2), (0, 2))),
    "repeat_interleave": (lambda x: ops.repeat_interleave(x, 2, 1), lambda x: np.repeat(x, 2, 1)),
    "repeat by number": (lambda x: ops.repeat_interleave(x, [1, 0, 2], 1), lambda x: np.repeat(x, [1, 0, 2], 1)),
    "pad": (lambda x: ops.pad(x, (1, 2, 0, 1), value=9), lambda x: np.pad(x, ((0, 0), (0, 1), (1, 2)), constant_values=9)),
    "pad by reflection": (lambda x: ops.pad(x, (2, 1), "reflect"), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), "reflect")),
    "pad by the edge": (lambda x: ops.pad(x, (2, 1), "replicate"), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), "edge")),
    "pad in circles": (lambda x: ops.pad(x, (2, 1), "circular"), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), "wrap")),
    "pad negative": (lambda x: ops.pad(x, (-1, 1)), lambda x: np.pad(x[..., 1:], ((0, 0), (0, 0), (0, 1)))),
    "mirror": (lambda x: P.MirrorPad("SYMMETRIC")(x, ((1, 0), (0, 1), (2, 2))), lambda x: np.pad(x, ((1, 0), (0, 1), (2, 2)),
    "symmetric")),
    "gather": (lambda x: P.Gather()(x, Tensor([[2, 0], [1, -1]]), 1), lambda x: np.take(x, [[2, 0], [1, -1]], 1)),
    "gather in batches": (
        lambda x: ops.gather(x, Tensor([[2, 0], [1, 1]]), 1, 1), lambda x: np.stack([x[0][[2, 0]], x[1][[1, 1]]])),
    "gather behind an axis": (
        lambda x: ops.gather(x, Tensor([[3, 0], [1, 1]]), 2, 1), lambda x: np.stack([x[0][:, [3, 0]], x[1][:, [1, 1]]])),
    "gather_elements": (
        lambda x: ops.gather_elements(x, 1, Tensor(np.array([[[0, 1, 2, -1]]] * 2))),
        lambda x: np.take_along_axis(x, np.array([[[0, 1, 2, -1]]] * 2), 1)),
    "gather_nd": (lambda x: P.GatherNd()(x, Tensor([[0, 2], [1, -1]])), lambda x: x[[0, 1], [2, -1]]),
    "index_select": (lambda x: ops.index_select(x, 2, Tensor([3, 3, 0])), lambda x: x[:, :, [3, 3, 0]]),
    "take": (lambda x: ops.take(x, Tensor([5, -1])), lambda x: np.take(x, [5, -1])),
    "tril": (lambda x: ops.tril(x, -1), lambda x: np.tril(x, -1)),
    "triu": (lambda x: P.Triu(1)(x), lambda x: np.triu(x, 1)),
    "diagonal": (lambda x: ops.diagonal(x, 1, 1, 2), lambda x: np.diagonal(x, 1, 1, 2)),
    "diagonal below": (lambda x: ops.diagonal(x, -1, 2, 1), lambda x: np.diagonal(x, -1, 2, 1)),
    "diagonal of other axes": (lambda x: ops.diagonal(x, 0, 0, 2), lambda x: np.diagonal(x, 0, 0, 2)),
    "diagonal beside": (lambda x: ops.diagonal(x, 9, 1, 2), lambda x: np.diagonal(x, 9, 1, 2)),
    "tril beside": (lambda x: ops.tril(x, -9), lambda x: np.tril(x, -9)),
    "eye": (lambda x: ops.eye(3, 5), lambda x: np.eye(3, 5)),
    "diag": (lambda x: ops.diag(x[0, 0]), lambda x: np.diag(x[0, 0])),
    "one_hot": (lambda x: ops.one_hot(Tensor([1, 0, 7]), 3), lambda x: np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])),
    "segments": (
        lambda x: ops.unsorted_segment_sum(x[0], Tensor([1, -1, 1]), 3), lambda x: np.stack([0 * x[0, 0], x[0, 0] + x[0, 2], 0 * x[0, 0]])),
    "scatter": (
        lambda x: ops.tensor_scatter_add(x, Tensor([[0, 1], [0, 1]]), x[0, :2]),
        lambda x: np.concatenate([x[:1] + np.array([[0], [1], [0]]) * (x[0, 0] + x[0, 1]), x[1:]])),
    "meshgrid": (lambda x: ops.meshgrid(x[0, 0], x[0, :, 0]), lambda x: np.meshgrid(x[0, 0], x[0, :, 0])),
    "nonzero": (lambda x: (x > 0).nonzero(), lambda x: np.argwhere(x > 0)),
    "masked_select": (lambda x: x.masked_select(x > 0), lambda x: x[x > 0]),
    "clamp": (lambda x: ops.clamp(x, -0.5, Tensor([1.0])), lambda x: np.clip(x, -0.5, 1)),
    "masked_fill": (lambda x: ops.masked_fill(x, x > 0, 7.0), lambda x: np.where(x > 0, 7, x)),
}


@pytest.mark.parametrize("name", SHAPED)
def test_shapes(name: str) -> None:
    x = drawn(2, 3, 4)
    ours, numpys = SHAPED[name]
    same(ours(Tensor(x)), numpys(x))


def test_gradients_of_triangles_and_diagonals() -> None:
    x = Tensor(drawn(3, 4))
    for offset in (-2, 0, 1, 5):
        for ours, numpys in ((ops.tril, np.tril), (ops.triu, np.triu)):
            slopes = adjoint.grad(lambda x, ours=ours, offset=offset: ours(x, offset).sum())(x)
            same(slopes, numpys(np.ones((3, 4)), offset))
        weights = Tensor(np.arange(1.0, 1 + np.diagonal(x.asnumpy(), offset).size, dtype=np.float32))
        slopes = adjoint.grad(lambda x, offset=offset, weights=weights: (ops.diagonal(x, offset) * weights).sum())(x).asnumpy()
        assert np.diagonal(slopes, offset).tolist() == weights.tolist() and np.count_nonzero(slopes) == weights.size


def test_new_tensors() -> None:
    same(ops.arange(2, 9, 3), np.arange(2, 9, 3))
    same(ops.arange(5.0, 0.0, -1.5), np.arange(5.0, 0.0, -1.5))
    assert ops.arange(3).dtype is adjoint.int64
    assert ops.arange(3.0).dtype is adjoint.float32
    same(ops.linspace(-1, 1, 5), np.linspace(-1, 1, 5))
    same(ops.eye(2, 3, adjoint.int32), np.eye(2, 3))
    same(ops.full((2, 1), 2.5), np.full((2, 1), 2.5))
    same(ops.full_like(Tensor([1, 2]), 3), [3, 3])
    same(P.Fill()(adjoint.float16, (2,), 1), [1, 1])
    assert ops.zeros(3).dtype is ops.ones((1, 2)).dtype is adjoint.float32
    assert ops.zeros((2, 0), adjoint.bool_).shape == (2, 0)
    assert ops.scalar_to_tensor(3).dtype is adjoint.float32


PRODUCTS = (
    ((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 3)), ((3,), (5, 3, 2)),
)


@pytest.mark.parametrize(("left", "right"), PRODUCTS)
def test_products_of_matrices(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = drawn(*left), drawn(*right)
    same(ops.matmul(Tensor(x), Tensor(y)), x @ y, 1e-4)
    same(Tensor(x) @ Tensor(y), x @ y, 1e-4)


def test_products_with_transposes() -> None:
    x, y = drawn(3, 2), drawn(4, 3)
    same(P.MatMul(True, True)(Tensor(x), Tensor(y)), x.T @ y.T, 1e-4)
    x, y = drawn(5, 3, 2), drawn(5, 3, 4)
    same(P.BatchMatMul(transpose_a=True)(Tensor(x), Tensor(y)), x.transpose(0, 2, 1) @ y, 1e-4)
    same(ops.bmm(Tensor(x.transpose(0, 2, 1)), Tensor(y)), x.transpose(0, 2, 1) @ y, 1e-4)
    w, b = drawn(4, 3), drawn(4)
    same(ops.dense(Tensor(y.transpose(0, 2, 1)), Tensor(w), Tensor(b)), y.transpose(0, 2, 1) @ w.T + b, 1e-4)
    same(ops.bias_add(Tensor(drawn(2, 4) * 0), Tensor(b)), np.stack([b, b]))
    same(P.BiasAdd()(ops.zeros((1, 4, 2, 2)), Tensor(b)), np.broadcast_to(b.reshape(1, 4, 1, 1), (1, 4, 2, 2)))


@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "ij,ij->", "bij,bjk->bik", "ij->ji", "ij->j", "i,j->ij", "ij,jk,kl->il", "bi,bij,bj->b", "ij,jk"])
def test_einsum(equation: str) -> None:
    sizes = {"b": 2, "i": 3, "j": 4, "k": 5, "l": 2}
    arrays = [drawn(*(sizes[c] for c in term)) for term in equation.partition("->")[0].split(",")]
    same(ops.einsum(equation, *map(Tensor, arrays)), np.einsum(equation, *arrays), 1e-4)


@pytest.mark.parametrize(("equation", "shapes"), [
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]), ("...ij,jk->...ik", [(2, 2, 3, 4), (4, 5)]), ("...id,...jd->...ij", [(3, 4), (5, 4)]),
    ("...", [(2, 3)]), ("i...->...i", [(2, 3, 4)]), ("i...,i...", [(2, 3, 4), (2, 4)]),
    ("...i,...i->...", [(2, 1, 3), (5, 3)]), ("...ij,...jk", [(1, 2, 3), (1, 3, 2)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]),
    ("iji->j", [(3, 2, 3)]), ("iii->i", [(2, 2, 2)]), ("...ii->...i", [(4, 3, 3)]), ("ii,ij->j", [(3, 3), (3, 2)]),
    ("iijj->ij", [(2, 2, 3, 3)]), ("...ii,...i->...", [(2, 1, 3, 3), (4, 3)])])
def test_einsum_with_axes_and_diagonals(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [drawn(*shape) for shape in shapes]
    same(ops.einsum(equation, *map(Tensor, arrays)), np.einsum(equation, *arrays), 1e-4)


def test_einsum_sums_over_the_axes_that_the_result_lacks() -> None:
    x, y = drawn(2, 3, 4), drawn(3, 1)
    same(ops.einsum("b...,...->b", Tensor(x), Tensor(y)), np.einsum("bij,ij->b", x, np.broadcast_to(y, (3, 4))), 1e-4)


@pytest.mark.parametrize("number", [np.float32(1.75), np.float64(1.75), np.int64(-2), np.bool_(True), np.uint8(7), np.float16(0.5)])
def test_cast_takes_numbers_of_numpy(number: np.generic) -> None:
    same(ops.cast(number, adjoint.float32), np.float32(number))
    same(P.Cast()(number, adjoint.int32), np.int32(number))


def windows(x: Array, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int] = (1, 1)) -> Array:
    """[n, c, h, w] as [n, c, h', w', kh, kw]."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return seen[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def test_convolution() -> None:
    x, w, b = drawn(2, 4, 7, 6), drawn(6, 2, 3, 2), drawn(6)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2)))
    seen = windows(padded, (3, 2), (2, 1))
    wanted = np.concatenate([np.einsum("nchwij,ocij->nohw", seen[:, 2 * g : 2 * g + 2], w[3 * g : 3 * g + 3]) for g in (0, 1)], 1)
    got = ops.conv2d(Tensor(x), Tensor(w), Tensor(b), stride=(2, 1), pad_mode="pad", padding=(1, 2), groups=2)
    same(got, wanted + b.reshape(1, 6, 1, 1), 1e-4)
    same(P.Conv2D(6, (3, 2), pad_mode="pad", pad=(1, 1, 2, 2), stride=(2, 1), group=2)(Tensor(x), Tensor(w)), wanted, 1e-4)
    same(ops.conv2d(Tensor(x), Tensor(w[:, :1].repeat(4, 1)), dilation=(2, 3)), np.einsum(
        "nchwij,ocij->nohw", windows(x, (3, 2), (1, 1), (2, 3)), w[:, :1].repeat(4, 1)), 1e-4)
    assert ops.conv2d(Tensor(x), Tensor(w), stride=2, pad_mode="same", groups=2).shape == (2, 6, 4, 3)
    line = drawn(2, 3, 8)
    wanted = np.einsum("nclk,ock->nol", np.lib.stride_tricks.sliding_window_view(line, 3, 2), w[:, :1, :, 0].repeat(3, 1))
    same(ops.conv1d(Tensor(line), Tensor(w[:, :1, :, 0].repeat(3, 1))), wanted, 1e-4)


def test_pooling() -> None:
    x = drawn(2, 3, 6, 7)
    same(P.MaxPool((2, 3), 2)(Tensor(x)), windows(x, (2, 3), (2, 2)).max((4, 5)))
    same(P.AvgPool((2, 3), 2)(Tensor(x)), windows(x, (2, 3), (2, 2)).mean((4, 5)))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    same(ops.max_pool2d(Tensor(x), 3, 2, 1), windows(padded, (3, 3), (2, 2)).max((4, 5)))
    same(ops.max_pool2d(Tensor(x[0]), 3, 2, 1), windows(padded, (3, 3), (2, 2)).max((4, 5))[0])
    same(ops.avg_pool2d(Tensor(x), 3, 2, 1), windows(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 2)).mean((4, 5)))
    assert P.MaxPool(3, 2, "same")(Tensor(x)).shape == (2, 3, 3, 4)
    values, places = ops.max_pool2d(Tensor(x), 2, return_indices=True)
    same(np.take_along_axis(x.reshape(2, 3, 42), places.asnumpy().reshape(2, 3, -1), 2).reshape(values.shape), values.asnumpy())
    same(ops.adaptive_avg_pool2d(Tensor(x), (3, 1)), x.reshape(2, 3, 3, 2, 7).mean((3, 4)).reshape(2, 3, 3, 1))


def test_normalisation() -> None:
    x, g, b = drawn(4, 3, 2, 2), drawn(3), drawn(3)
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))

    def along(v: Array) -> Array:
        return v.reshape(1, 3, 1, 1)

    wanted = (x - along(mean)) / np.sqrt(along(variance) + 1e-5) * along(g) + along(b)
    running, spread = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    same(P.BatchNorm(is_training=True)(Tensor(x), Tensor(g), Tensor(b), running, spread)[:3], (wanted, mean, variance), 1e-4)
    same(running, 0.1 * mean)
    same(spread, 0.9 + 0.1 * variance * 16 / 15)
    wanted = (x - along(running.asnumpy())) / np.sqrt(along(spread.asnumpy()) + 1e-5) * along(g) + along(b)
    same(ops.batch_norm(Tensor(x), running, spread, Tensor(g), Tensor(b)), wanted, 1e-4)
    rows, g, b = drawn(5, 4), drawn(4), drawn(4)
    mean, variance = rows.mean(1, keepdims=True), rows.var(1, keepdims=True)
    wanted = (rows - mean) / np.sqrt(variance + 1e-5) * g + b
    same(ops.layer_norm(Tensor(rows), (4,), Tensor(g), Tensor(b)), wanted, 1e-4)
    same(P.LayerNorm(1, 1, 1e-5)(Tensor(rows), Tensor(g), Tensor(b)), (wanted, mean, variance), 1e-4)
    groups = x.reshape(4, 1, 12)
    wanted = ((groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)).reshape(x.shape)
    same(ops.group_norm(Tensor(x), 1), wanted, 1e-4)
    same(ops.rms_norm(Tensor(rows), Tensor(g))[0], rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-6) * g, 1e-4)


def test_losses() -> None:
    x, y = drawn(4, 5), np.array([0, 4, 2, 2])
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    picked = -logs[np.arange(4), y]
    same(ops.softmax(Tensor(x), -1), np.exp(logs))
    same(ops.log_softmax(Tensor(x), 1), logs)
    same(P.SparseSoftmaxCrossEntropyWithLogits()(Tensor(x), Tensor(y)), picked.mean())
    same(P.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)(Tensor(x), Tensor(y)), (np.exp(logs) - np.eye(5)[y]) / 4)
    same(P.SoftmaxCrossEntropyWithLogits()(Tensor(x), Tensor(np.eye(5, dtype=np.float32)[y])), (picked, np.exp(logs) - np.eye(5)[y]))
    for reduction, wanted in (("none", picked), ("sum", picked.sum()), ("mean", picked.mean())):
        same(ops.cross_entropy(Tensor(x), Tensor(y), reduction=reduction), wanted)
        same(ops.nll_loss(Tensor(logs), Tensor(y), reduction=reduction), wanted)
    weights = drawn(5, low=0.1)
    same(ops.cross_entropy(Tensor(x), Tensor(y), Tensor(weights), ignore_index=4),
         (picked * weights[y])[y != 4].sum() / weights[y][y != 4].sum())
    a, b = drawn(3, 2), drawn(3, 2)
    same(ops.mse_loss(Tensor(a), Tensor(b)), ((a - b) ** 2).mean())
    same(ops.l1_loss(Tensor(a), Tensor(b), "sum"), np.abs(a - b).sum())
    same(ops.smooth_l1_loss(Tensor(a), Tensor(b)), np.where(np.abs(a - b) < 1, 0.5 * (a - b) ** 2, np.abs(a - b) - 0.5))
    p, q = drawn(6, low=0.05, high=0.95), (drawn(6) > 0).astype(np.float32)
    same(ops.binary_cross_entropy(Tensor(p), Tensor(q)), -(q * np.log(p) + (1 - q) * np.log(1 - p)).mean())
    same(ops.binary_cross_entropy_with_logits(Tensor(a * 30), Tensor(q.reshape(3, 2))), (
        np.maximum(a * 30, 0) - a * 30 * q.reshape(3, 2) + np.log1p(np.exp(-np.abs(a * 30)))).mean(), 1e-4)
    same(ops.kl_div(Tensor(np.log(p)), Tensor(q), "sum"), np.where(q > 0, -np.log(p), 0).sum(), 1e-4)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float16", "bfloat16", "float64", "bool_"])
def test_dtypes_that_come_out(dtype: str) -> None:
    kind = getattr(adjoint, dtype)
    x = Tensor([[1, 0], [2, 3]], kind)
    wide = kind if kind.is_float else adjoint.int64
    assert ops.sum(x).dtype is ops.prod(x).dtype is x.sum(0).dtype is wide
    assert P.ReduceSum()(x).dtype is kind
    assert dtype == "bool_" or ops.mean(x).dtype is kind
    assert ops.amax(x).dtype is ops.max(x, 0)[0].dtype is ops.concat((x, x)).dtype is ops.tile(x, (2, 2)).dtype is kind
    assert ops.sqrt(x).dtype is (kind if kind.is_float else adjoint.float32)
    assert ops.std(x).dtype is (kind if kind.is_float else adjoint.float32)
    assert (x > 1).dtype is ops.isnan(x).dtype is adjoint.bool_
    assert ops.cast(x, adjoint.float32).tolist() == ([[1, 0], [1, 1]] if dtype == "bool_" else [[1, 0], [2, 3]])


def test_numbers_take_the_place_of_tensors() -> None:
    assert ops.add(1, 2).item() == 3
    assert ops.maximum(Tensor([1, 5]), 3).tolist() == [3, 5]
    assert ops.pow(2, Tensor([3.0])).tolist() == [8]
    assert F.tensor_add(Tensor([1.0]), 2).tolist() == [3]


def test_names_that_scripts_import() -> None:
    assert ops.composite.GradOperation is ops.GradOperation
    assert F.relu is ops.relu
    assert P.HookBackward is ops.HookBackward
    assert P.DType()(Tensor([1.0])) is adjoint.float32
    assert set(ops.__all__) <= set(dir(ops))
    with pytest.raises(AttributeError, match=r"'relu7'.*Close to it are: .*ReLU"):
        ops.relu7  # noqa: B018 - asking is the test
    with pytest.raises(AttributeError, match=r"'losse'.*Close to it are: (?!.*losses)"):
        ops.losse  # noqa: B018 - a module is no operator


def test_relu_in_place() -> None:
    """The result is in the operand, and the gradient knows."""
    x = Tensor([-1.0, 2.0])
    assert ops.relu(x, inplace=True) is x and x.tolist() == [0.0, 2.0]

    def f(x: Tensor) -> Tensor:
        y = x * 1.0
        ops.relu(y, inplace=True)
        return (y * 3.0).sum()

    assert adjoint.grad(f)(Tensor([-1.0, 2.0])).tolist() == [0.0, 3.0]
    with pytest.raises(TypeError, match="inplace"):
        ops.relu(x, inplace=1)


def test_angles() -> None:
    x, y = Tensor([0.5, -0.25]), Tensor([-1.0, 2.0])
    for kind, wanted in ((P.Asin, np.arcsin), (P.ACos, np.arccos), (P.Atan, np.arctan)):
        np.testing.assert_allclose(kind()(x).asnumpy(), wanted(x.asnumpy()), rtol=1e-6)
    np.testing.assert_allclose(P.Atan2()(x, y).asnumpy(), np.arctan2(x.asnumpy(), y.asnumpy()), rtol=1e-6)
    assert x.asin().tolist() == P.Asin()(x).tolist() and str(P.ACos()) == "Prim[ACos]"


def test_depend() -> None:
    x = Tensor([1.0])
    assert ops.depend(x, x + 1) is x and P.Depend()(x, None) is x
    assert adjoint.grad(lambda x: ops.depend(x * 2.0, x * 3.0))(x).tolist() == [2.0]


def test_the_largest_few_in_any_order() -> None:
    for make in (lambda: ops.topk(Tensor([3.0, 1.0, 2.0]), 2, sorted=False), lambda: P.TopK(False)(Tensor([3.0, 1.0, 2.0]), 2)):
        assert sorted(make()[0].tolist()) == [2.0, 3.0]
    with pytest.raises(TypeError, match="sorted"):
        ops.topk(Tensor([3.0]), 1, sorted="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"max_norm": 1.0}, {"scale_grad_by_freq": True}])
def test_an_embedding_says_what_it_cannot_do(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"Embedding.*{next(iter(options))}.*not supported: "):
        ops.embedding(Tensor([0]), Tensor([[1.0]]), **options)


def test_what_an_embedding_names_as_the_way_out() -> None:
    """The expressions of its messages do what the options would."""
    weight, ids, max_norm = adjoint.Parameter(Tensor([[3.0, 4.0], [0.3, 0.4]]), name="w"), Tensor([[0, 0], [0, 1]]), 1.0
    ops.assign(weight, weight * ops.minimum(1.0, max_norm / ops.norm(weight, dim=1, keepdim=True)))
    np.testing.assert_allclose(weight.asnumpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    gradient = adjoint.grad(lambda i: ops.embedding(i, weight), None, weight)(ids)
    assert gradient.tolist() == [[3.0, 3.0], [1.0, 1.0]]
    scaled = gradient / ops.maximum(ops.one_hot(ids.reshape(-1), len(weight)).sum(0), 1).expand_dims(1)
    assert scaled.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_dense_of_other_dtypes() -> None:
    """Integers with integers; floats of two kinds together; never one with the other."""
    assert ops.dense(Tensor([[1, 2]]), Tensor([[1, 2]])).tolist() == [[5]]
    assert ops.dense(Tensor([[1, 2]], adjoint.float16), Tensor([[1.0, 2.0]])).dtype is adjoint.float32
    with pytest.raises(TypeError, match=r"Dense.*dtype of 'weight', Float32.*Int64"):
        ops.dense(Tensor([[1, 2]]), Tensor([[1.0, 2.0]]))
    with pytest.raises(ValueError, match=r"For 'Dense', the argument 'input' must be of last size 2"):
        ops.dense(Tensor(1.0), Tensor([[1.0, 2.0]]))


def test_the_name_of_the_dtype() -> None:
    assert Tensor([1.0]).type() == "Float32" and Tensor([1]).type() == "Int64"
    with pytest.raises(TypeError, match="astype"):
        Tensor([1.0]).type(adjoint.float16)


def test_losses_of_integers() -> None:
    x, y = Tensor([1, 2]), Tensor([4, 4])
    assert ops.mse_loss(x, y).item() == 6.5 and ops.mse_loss(x, y).dtype is adjoint.float32
    assert ops.l1_loss(x, y).item() == 2 and ops.l1_loss(x, y).dtype is adjoint.int64 and ops.l1_loss(x, y, "sum").item() == 5


def test_a_bias_along_the_last_axis() -> None:
    x, bias = Tensor(np.arange(12, dtype=np.float32).reshape(1, 2, 2, 3)), Tensor([10.0, 20.0, 30.0])
    np.testing.assert_array_equal(P.BiasAdd("NHWC")(x, bias).asnumpy(), x.asnumpy() + bias.asnumpy())
    assert adjoint.grad(P.BiasAdd("NHWC"), 1)(x, bias).tolist() == [4.0, 4.0, 4.0]
    with pytest.raises(ValueError, match=r"BiasAdd.*4 dimensions.*NHWC"):
        P.BiasAdd("NHWC")(Tensor([[1.0]]), Tensor([1.0]))


def test_quotients_by_the_names_of_the_manual() -> None:
    assert P.RealDiv()(x=Tensor([1.0]), y=Tensor([2.0])).tolist() == [0.5]


@pytest.mark.parametrize("alpha, wanted", [
    (0.9, [0, 3, 0]), (1.9, [-10, 3, -7]), (2, [-20, 3, -14]), (2.5, [-20, 3, -14]), (-1.5, [10, 3, 7])])
def test_leaky_relu_of_integers_cuts_its_slope(alpha: float, wanted: list[int]) -> None:
    t = Tensor(np.array([-10, 3, -7], np.int32))
    for run in (ops.leaky_relu, adjoint.jit(ops.leaky_relu)):
        for slope in (alpha, Tensor(alpha)):
            got = run(t, slope)
            assert got.dtype is adjoint.int32 and got.tolist() == wanted


def test_the_primitive_mod_has_the_sign_of_the_first() -> None:
    """As C's fmod, in MindSpore too; `%`, `FloorMod` and `floor_mod` have the sign of the second."""
    x, y = [-4.0, 5.0, 6.0, -7.0], [3.0, 2.0, 3.0, -4.0]
    for dtype in (adjoint.float32, adjoint.int64):
        assert ops.Mod()(Tensor(x).astype(dtype), Tensor(y).astype(dtype)).tolist() == [-1, 1, 0, -3]
    by_x, by_y = adjoint.grad(lambda x, y: ops.Mod()(x, y).sum(), (0, 1))(Tensor(x), Tensor(y))
    assert by_x.tolist() == [1, 1, 1, 1] and by_y.tolist() == [1, -2, -2, -1]


@pytest.mark.parametrize("fill", [
    lambda v: ops.full((2, 3), v), lambda v: ops.fill(adjoint.float32, (2, 3), v), lambda v: ops.full_like(ops.ones((2, 3)), v),
    lambda v: ops.FillV2()((2, 3), v), lambda v: ops.ones((2, 3)).fill(v), lambda v: ops.ones(1).new_full((2, 3), v),
])
def test_a_tensor_that_fills_another_has_its_gradient(fill: Callable[[Tensor], Tensor]) -> None:
    value = Tensor(2.5)
    assert adjoint.grad(lambda v: fill(v).sum())(value).item() == adjoint.jit(adjoint.grad(lambda v: fill(v).sum()))(value).item() == 6.0
    assert fill(value).dtype is adjoint.float32


@pytest.mark.parametrize("clip", [lambda x: ops.clip_by_norm(x, 1.0), lambda x: ops.clip_by_global_norm([x], 1.0)[0]])
def test_clipping_nothing_has_a_gradient(clip: Callable[[Tensor], Tensor]) -> None:
    """Tensors of length 0 pass as they are, and their gradients too; the root of 0 has none."""
    assert adjoint.grad(lambda x: (clip(x) * Tensor([1.0, 2.0])).sum())(Tensor([0.0, 0.0])).tolist() == [1.0, 2.0]
    np.testing.assert_allclose(clip(Tensor([3.0, 4.0])).asnumpy(), [0.6, 0.8], rtol=1e-6)


def test_the_mean_without_nan_has_the_dtype_asked_for() -> None:
    for dtype in (adjoint.float16, adjoint.float64):
        assert ops.nanmean(Tensor([1.0, np.nan, 2.0]), dtype=dtype).dtype is dtype


def test_signatures_of_primitives_are_those_of_their_calls() -> None:
    assert list(inspect.signature(ops.Add()).parameters) == ["input", "other"]
    assert list(inspect.signature(ops.FloorDiv()).parameters) == ["input", "other"]
    assert str(inspect.signature(ops.Add)) == str(inspect.signature(ops.FloorDiv))


@pytest.mark.parametrize("keep", [False, True])
def test_a_norm_is_at_least_epsilon(keep: bool) -> None:
    """As in MindSpore, with a gradient of 0 there."""
    x = Tensor([[3.0, 4.0], [0.0, 0.0]])
    for epsilon, wanted in ((1e-12, [5.0, 1e-12]), (0.5, [5.0, 0.5]), (6.0, [6.0, 6.0])):
        norm = ops.LpNorm(1, 2, keep, epsilon)
        assert norm(x).shape == ((2, 1) if keep else (2,))
        np.testing.assert_allclose(norm(x).asnumpy().ravel(), wanted, rtol=1e-6)
    slopes = adjoint.grad(lambda x: ops.LpNorm(1, 2, keep)(x).sum())(x)
    np.testing.assert_allclose(slopes.asnumpy(), [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("normalise", [
    lambda x, w, b: ops.layer_norm(x, (3,), w, b), lambda x, w, b: ops.LayerNorm()(x, w, b)[0],
    lambda x, w, b: ops.batch_norm(x, b, w, w, b), lambda x, w, b: ops.batch_norm(x, b, w, w, b, True),
    lambda x, w, b: ops.BatchNorm()(x, w, b, b, w)[0], lambda x, w, b: ops.BatchNorm(True)(x, w, b, b, w)[0],
])
def test_halves_are_normalised_with_weights_of_float32(normalise: Callable[..., Tensor]) -> None:
    """As in mixed precision: computed in Float32, the result has the dtype of the input, each gradient that of its argument."""
    x = Tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.75, 1.5]])
    w, b = (lambda: Tensor([1.0, 2.0, 3.0])), (lambda: Tensor([0.5, 0.25, 0.125]))
    half = normalise(x.astype(adjoint.float16), w(), b())
    assert half.dtype is adjoint.float16
    assert half.tolist() == normalise(x, w(), b()).astype(adjoint.float16).tolist()
    of_x, of_w = adjoint.grad(lambda x, v: normalise(x, v, b()).sum(), (0, 1))(x.astype(adjoint.float16), w())
    assert (of_x.dtype, of_w.dtype) == (adjoint.float16, adjoint.float32)


def test_prelu_has_the_dtype_of_its_input() -> None:
    assert ops.prelu(Tensor([[-1.0, 2.0]], adjoint.float16), Tensor([0.25])).dtype is adjoint.float16


def _ulps(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> float:
    """The largest distance from Float64 numbers, in units of the last place of the nearest number of the dtype of `found`."""
    nearest = wanted.astype(found.dtype)
    with np.errstate(over="ignore"):  # beside the largest number
        unit = np.spacing(np.maximum(np.abs(nearest), np.finfo(found.dtype).smallest_normal)).astype(np.float64)
    return float(np.max(np.abs(found.astype(np.float64) - wanted) / unit))


def _hard_swish(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    inner = np.clip(x, -3, 3)
    return np.where(x > 3, x, inner * (inner + 3) / 6), np.where(np.abs(x) <= 3, (2 * inner + 3) / 6, x > 3)


def _hard_sigmoid(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.clip((x + 3) / 6, 0, 1), np.where(np.abs(x) < 3, 1 / 6, 0)


@pytest.mark.parametrize(("functions", "exact", "curvature"), [
    ((ops.hardsigmoid, ops.HSigmoid(), nn.HSigmoid(), mint.nn.functional.hardsigmoid), _hard_sigmoid, 0),
    ((ops.hardswish, ops.HSwish(), nn.HSwish(), mint.nn.functional.hardswish), _hard_swish, 1 / 3),
])
def test_hard_functions_are_accurate_for_all_halves(functions: Any, exact: Any, curvature: float) -> None:
    # x / 6 + 1/2 loses all digits near -3, where x + 3 is exact.
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    values, slopes = exact(halves.astype(np.float64))
    for f in functions:
        for dtype, most in ((adjoint.float16, 0.51), (adjoint.float32, 2.0), (adjoint.float64, 2.0)):
            x = Tensor(halves, dtype)
            assert _ulps(f(x).asnumpy(), values) <= most
            assert _ulps(adjoint.grad(lambda x: f(x).sum())(x).asnumpy(), slopes) <= 1.5  # noqa: B023 - called at once
    inner = Tensor([-2.0, -1.5, 0.0, 2.5, 5.0, -5.0], adjoint.float64)
    second = adjoint.grad(lambda x: adjoint.grad(lambda x: functions[0](x).sum())(x).sum())(inner)
    np.testing.assert_allclose(second.asnumpy(), [curvature] * 4 + [0, 0], rtol=1e-15)


# Positions in sorted rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("right", [False, True])
def test_positions_in_sorted_rows(right: bool) -> None:
    # MindSpore's kernel gives other numbers when it is called again: NumPy's are compared.
    row, rows, values = np.sort(drawn(7)), np.sort(drawn(2, 7)), np.append(drawn(2, 4), [[0.0], [1.0]], 1).astype(np.float32)
    row[3], rows[:, 2] = 0.0, 1.0
    row, rows, side = np.sort(row), np.sort(rows), "right" if right else "left"
    same(ops.searchsorted(Tensor(row), Tensor(values), right=right), np.searchsorted(row, values, side))
    same(ops.searchsorted(Tensor(rows), Tensor(values), right=right),
         np.stack([np.searchsorted(a, v, side) for a, v in zip(rows, values, strict=True)]))
    same(ops.bucketize(Tensor(values), row.tolist(), right=right), np.searchsorted(row, values, side))
    order = RANDOM.permutation(7)
    same(ops.searchsorted(Tensor(row[order]), Tensor(values), side=side, sorter=Tensor(np.argsort(row[order], kind="stable"))),
         np.searchsorted(row, values, side))


def test_runs_of_equal_slices() -> None:
    x = Tensor([[1, 1, 2], [1, 1, 3]])
    same(P.UniqueConsecutive()(x), (np.array([1, 2, 1, 3]), np.array(0), np.array(0)))
    same(ops.unique_consecutive(x, True, True, 1), (np.array([[1, 2], [1, 3]]), np.array([0, 0, 1]), np.array([2, 1])))


def test_counts_with_and_without_room_for_all() -> None:
    # In one pass there is room for 1024 counts, or for as many as there are numbers; else they are counted in two.
    for numbers in ([0], [5, 0, 5], [1023, 0], [1024, 0], [*range(1500), 1499], [1500] * 1500, [70000, 3]):
        for dtype, least in itertools.product((np.int32, np.int64, np.uint64), (0, 4, 1024, 1025, 3000)):
            x = np.array(numbers, dtype)
            wanted = np.bincount(x.astype(np.int64), minlength=least)
            of_array = mnp.bincount(Tensor(x))
            counts, whole = ops.bincount(Tensor(x), minlength=least), mint.bincount(Tensor(x), None, least)
            same((counts, whole, of_array), (wanted, wanted, np.bincount(x.astype(np.int64))), 0)
            assert (counts.dtype, whole.dtype, of_array.dtype) == (adjoint.float32, adjoint.int64, adjoint.float32)
    below = Tensor([2, -1, 0, 2])
    same((ops.bincount(below), mnp.bincount(below)), ([1, 0, 2], [2, 0, 2]))
    with pytest.raises(ValueError, match="'input'"):
        mint.bincount(below)


def test_a_divisor_has_the_shape_of_both_operands() -> None:
    for first, second in (([6, 4], [[0], [0]]), (6, []), ([], 6), ([[12], [18]], [8, 0, -27])):
        x, y = np.array(first, np.int32), np.array(second, np.int32)
        for gcd in (ops.gcd, mint.gcd, mnp.gcd, adjoint.jit(lambda x, y: ops.gcd(x, y) + 0)):
            same(gcd(Tensor(x), Tensor(y)), np.gcd(x, y), 0)


def test_what_is_found_does_not_take_part_in_a_gradient() -> None:
    def energy(x: Tensor) -> Tensor:
        values, numbers = ops.unique(x)
        return (x * x).sum() + ops.nonzero(x).sum() + values.sum() + numbers.sum() + ops.masked_select(x, x > 1).sum()

    same(adjoint.grad(energy)(Tensor([3.0, 0.0, 3.0, -1.0])), [7.0, 0.0, 7.0, -2.0])


def test_of_a_graph_with_shapes_that_do_not_depend_on_numbers() -> None:
    # Indices that are known only when the graph runs are checked there.
    put = adjoint.jit(lambda x, i: ops.index_fill(x, 0, i, 9.0) + ops.unsorted_segment_max(x, i, 2))
    x = drawn(2, 3)
    same(put(Tensor(x), Tensor([1, 0])), 9.0 + x[::-1])
    with pytest.raises(IndexError, match="'index'"):
        put(Tensor(x), Tensor([1, 5]))


@pytest.mark.parametrize(("function", "derivatives"), [
    (ops.bessel_i1, [0, 1 / 2, 0, 3 / 8, 0, 5 / 16]), (ops.bessel_j1, [0, 1 / 2, 0, -3 / 8, 0, 5 / 16]),
    (ops.bessel_i0, [1, 0, 1 / 2, 0, 3 / 8, 0]), (ops.bessel_j0, [1, 0, -1 / 2, 0, 3 / 8, 0]),
], ids=["i1", "j1", "i0", "j0"])
def test_derivatives_of_bessel_functions_at_zero(function: Any, derivatives: list[float]) -> None:
    """Derivatives of all orders at 0, where x divides, are those of the power series; just beside it they are close to them."""
    for x in (0.0, 1e-9):
        f = function
        for wanted in derivatives:
            assert f(Tensor(np.float64(x))).item() == pytest.approx(wanted, abs=1e-8)
            f = adjoint.grad(f)


@pytest.mark.parametrize("make", [
    lambda x: ops.grid_sample(x, ops.tanh(x.reshape((1, 2, 3, 2)))), lambda x: ops.cdist(x[0, 0], x[0, 1] + 4.0, 3.0),
    lambda x: ops.matrix_diag_part(x, (-1, 1), 0.0) ** 2, lambda x: ops.renorm(x[0, 0], 2, 0, 0.5), lambda x: ops.cov(x[0, 0]),
    lambda x: ops.unsorted_segment_prod(x[0, 0], Tensor([0, 0]), 1), lambda x: ops.mul_no_nan(x, x * x), lambda x: ops.fmax(x * x, x),
    lambda x: ops.hypot(x, x * x + 1.0), lambda x: ops.logit(ops.sigmoid(x) ** 2), lambda x: ops.xdivy(x, x * x + 1.0),
    lambda x: ops.bounding_box_encode(ops.abs(x[:, 0, 0]).reshape(1, -1)[:, :1] + Tensor(np.array([[0.0, 1.0, 5.0, 6.0]])),
                                      Tensor(np.array([[1.0, 2.0, 4.0, 8.0]])) + x[0, 0, :1, :1]),
], ids=range(12))
def test_gradients_of_gradients(make: Any) -> None:
    """The second derivative along a direction is the difference of first derivatives."""
    x, direction = drawn(1, 2, 2, 3, dtype="float64", low=0.2, high=0.9), drawn(1, 2, 2, 3, dtype="float64")
    first = adjoint.grad(lambda x: (make(x) ** 2).sum())
    second = adjoint.grad(lambda x: (first(x) * Tensor(direction)).sum())(Tensor(x))
    ahead, behind = (first(Tensor(x + step * direction)).asnumpy() for step in (1e-6, -1e-6))
    same(second, (ahead - behind) / 2e-6, 1e-5)
    slope = (first(Tensor(x)).asnumpy() * direction).sum()
    values = [float((make(Tensor(x + step * direction)) ** 2).sum().asnumpy()) for step in (1e-6, -1e-6)]
    assert math.isclose(slope, (values[0] - values[1]) / 2e-6, rel_tol=1e-5, abs_tol=1e-6)


def test_an_integral_of_float64_has_its_precision() -> None:
    y, x = drawn(2, 5, dtype="float64"), np.cumsum(drawn(5, dtype="float64", low=0.1))
    same(ops.trapz(Tensor(y), Tensor(x)), ((y[:, 1:] + y[:, :-1]) / 2 * np.diff(x)).sum(1), 1e-14)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16])
def test_distances_of_halves_are_finite_where_their_powers_are_not(dtype: Any, order: int) -> None:
    x = np.linspace(-200.0, 200.0, 120).reshape(2, 60).astype(np.float16)
    rows, other = Tensor(x).astype(dtype), Tensor(x[::-1].copy()).astype(dtype)
    apart = rows.astype(adjoint.float64).asnumpy()[0] - rows.astype(adjoint.float64).asnumpy()[1]
    wanted, tolerance = (np.abs(apart) ** order).sum() ** (1 / order), 2.0**-8
    for found in (ops.cdist(rows, rows, float(order))[0, 1], ops.pdist(rows, float(order))[0], ops.dist(rows[0], rows[1], order),
                  adjoint.jit(lambda x, y: ops.cdist(x, y, float(order)))(rows, other)[0, 0]):
        assert found.dtype is dtype and math.isclose(found.astype(adjoint.float64).item(), wanted, rel_tol=tolerance)
