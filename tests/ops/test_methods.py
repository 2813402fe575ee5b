"""Methods of Tensor: the forms that MindSpore's scripts use."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, mint, ops

ARRAY = np.array([[1.0, 5.0], [3.0, 2.0]], np.float32)

CALLS: list[tuple[Any, Any]] = [
    (lambda x: x.sum(0), [4, 7]), (lambda x: x.sum(axis=-1, keepdims=True), [[6], [5]]),
    (lambda x: x.sum(dim=1, keepdim=True), [[6], [5]]),
    (lambda x: x.sum(1, True), [[6], [5]]), (lambda x: x.sum(initial=2), 13), (lambda x: x.mean(), 2.75),
    (lambda x: x.mean(0, True), [[2, 3.5]]),
    (lambda x: x.max(), 5), (lambda x: x.max(axis=0), [3, 5]), (lambda x: x.max(0), ([3, 5], [1, 0])),
    (lambda x: x.min(1), ([1, 2], [0, 1])),
    (lambda x: x.max(axis=0, return_indices=True), ([3, 5], [1, 0])), (lambda x: x.min((0, 1)), 1), (lambda x: x.argmax(), 1),
    (lambda x: x.argmax(0), [1, 0]), (lambda x: x.argmin(dim=1, keepdim=True), [[0], [1]]), (lambda x: x.std(0), [1, 1.5]),
    (lambda x: x.var(axis=1, ddof=1), [8, 0.5]), (lambda x: x.prod(), 30), (lambda x: x.all(), True),
    (lambda x: (x > 2).any(axis=0), [True, True]),
    (lambda x: x.cumsum(), [1, 6, 9, 11]), (lambda x: x.cumsum(0), [[1, 5], [4, 7]]), (lambda x: x.reshape(4), [1, 5, 3, 2]),
    (lambda x: x.reshape((1, -1)), [[1, 5, 3, 2]]), (lambda x: x.view(4, 1)[2], [3]), (lambda x: x.flatten(), [1, 5, 3, 2]),
    (lambda x: x.flatten("F"), [1, 3, 5, 2]), (lambda x: x.transpose(), [[1, 3], [5, 2]]),
    (lambda x: x.transpose(1, 0), [[1, 3], [5, 2]]),
    (lambda x: x.transpose((1, 0)), [[1, 3], [5, 2]]), (lambda x: x.T, [[1, 3], [5, 2]]), (lambda x: x.swapaxes(0, 1), [[1, 3], [5, 2]]),
    (lambda x: x.permute(1, 0), [[1, 3], [5, 2]]), (lambda x: x.expand_dims(0).squeeze(0), [[1, 5], [3, 2]]),
    (lambda x: x[0].unsqueeze(1), [[1], [5]]),
    (lambda x: x[0].broadcast_to((2, 2)), [[1, 5], [1, 5]]), (lambda x: x[0].expand(2, -1), [[1, 5], [1, 5]]),
    (lambda x: x[0].tile((2,)), [1, 5, 1, 5]),
    (lambda x: x[0].repeat(2), [1, 5, 1, 5]), (lambda x: x.split(1), ([[1, 5]], [[3, 2]])),
    (lambda x: x.chunk(2, 1), ([[1], [3]], [[5], [2]])),
    (lambda x: x.abs(), [[1, 5], [3, 2]]), (lambda x: x.add(1).sub(1).mul(2).div(2), [[1, 5], [3, 2]]),
    (lambda x: x.pow(2), [[1, 25], [9, 4]]),
    (lambda x: x.clamp(2.0, 3.0), [[2, 3], [3, 2]]), (lambda x: x.matmul(x[0]), [26, 13]), (lambda x: x @ x[0], [26, 13]),
    (lambda x: x.dot(x), [[16, 15], [9, 19]]), (lambda x: x.masked_fill(x > 2, 0.0), [[1, 0], [0, 2]]),
    (lambda x: x.where(x > 2, 0.0), [[0, 5], [3, 0]]),
    (lambda x: x.select(x > 2, x * 0), [[0, 5], [3, 0]]), (lambda x: x.select(1, 0), [1, 3]),
    (lambda x: x.gather(Tensor([1]), 0), [[3, 2]]),
    (lambda x: x.gather(1, Tensor([[1], [0]])), [[5], [3]]), (lambda x: x.index_select(1, Tensor([1])), [[5], [2]]),
    (lambda x: x.take([0, 3]), [1, 2]),
    (lambda x: x.sort(0), ([[1, 2], [3, 5]], [[0, 1], [1, 0]])), (lambda x: x.topk(1), ([[5], [3]], [[1], [0]])),
    (lambda x: x.norm(), 39**0.5),
    (lambda x: x.fill(7), [[7, 7], [7, 7]]), (lambda x: x.new_zeros((1,)), [0]), (lambda x: x.new_ones(2), [1, 1]),
    (lambda x: x.diagonal(), [1, 2]),
    (lambda x: x.trace(), 3), (lambda x: x.tril(), [[1, 0], [3, 2]]), (lambda x: x.flip((0,)), [[3, 2], [1, 5]]),
    (lambda x: x.unbind(), ([1, 5], [3, 2])),
    (lambda x: x.itemset((1, 0), 9), [[1, 5], [9, 2]]), (lambda x: x.itemset(1, 9), [[1, 9], [3, 2]]), (lambda x: x.ptp(), 4),
    (lambda x: x.equal(x), [[True, True], [True, True]]), (lambda x: x.isclose(x * 1.0000001).all(), True),
    (lambda x: x.logsumexp((0, 1)), 5.185182),
    (lambda x: x.nonzero(as_tuple=True), ([0, 0, 1, 1], [0, 1, 0, 1])), (lambda x: x.clone(), [[1, 5], [3, 2]]),
    (lambda x: x.softmax(0).sum(0), [1, 1]),
    (lambda x: x.fill_diagonal(0), [[0, 5], [3, 0]]), (lambda x: x.argmax_with_value(1), ([5, 3], [1, 0])),
    (lambda x: x.mT, [[1, 3], [5, 2]]), (lambda x: x.mH, [[1, 3], [5, 2]]),
    # MindSpore's other forms, as its CPU version answers them
    (lambda x: x.add(x, alpha=2), [[3, 15], [9, 6]]), (lambda x: x.add(1, alpha=2), [[3, 7], [5, 4]]),
    (lambda x: Tensor([1, 2]).add(x, alpha=0.5), [[1.5, 4.5], [2.5, 3]]), (lambda x: x.sub(x, alpha=3), [[-2, -10], [-6, -4]]),
    (lambda x: x.sub(y=1), [[0, 4], [2, 1]]), (lambda x: x.multiply(value=2), [[2, 10], [6, 4]]),
    (lambda x: x.remainder(divisor=2), [[1, 1], [1, 0]]), (lambda x: x.true_divide(other=2), [[0.5, 2.5], [1.5, 1]]),
    (lambda x: x.isclose(x2=x).all(), True), (lambda x: x.matmul(tensor2=x), [[16, 15], [9, 19]]),
    (lambda x: (x / 8).round(1), [[0.1, 0.6], [0.4, 0.2]]), (lambda x: x.softmax(0, adjoint.float64).sum(0), [1, 1]),
    (lambda x: x.nansum(dim=0, keepdim=True), [[4, 7]]), (lambda x: x.count_nonzero(dim=0), [2, 2]),
    (lambda x: x.median(dim=0), ([1, 2], [0, 1])), (lambda x: x.median(0, True), ([[1, 2]], [[0, 1]])),
    (lambda x: x.sort(dim=0, descending=True, stable=True), ([[3, 5], [1, 2]], [[1, 0], [0, 1]])),
    (lambda x: x.argsort(dim=1, stable=True), [[0, 1], [1, 0]]), (lambda x: x.transpose(dim0=0, dim1=1), [[1, 3], [5, 2]]),
    (lambda x: x.permute(dims=(1, 0)), [[1, 3], [5, 2]]), (lambda x: x.tile(dims=(1, 2)), [[1, 5, 1, 5], [3, 2, 3, 2]]),
    (lambda x: x.repeat(repeats=(1, 2)), [[1, 5, 1, 5], [3, 2, 3, 2]]), (lambda x: x[0].expand_as(x=x), [[1, 5], [1, 5]]),
    (lambda x: x.repeat_interleave(2, dim=1, output_size=4), [[1, 1, 5, 5], [3, 3, 2, 2]]),
    (lambda x: x.narrow(dim=1, start=0, length=1), [[1], [3]]), (lambda x: x[0].diag(diagonal=0), [[1, 0], [0, 5]]),
    (lambda x: x.diagonal(axis1=1, axis2=0), [1, 2]), (lambda x: x.index_select(dim=1, index=Tensor([1])), [[5], [2]]),
    (lambda x: x.var(dim=1), [8, 0.5]), (lambda x: x.var(1, keepdim=True), [[8], [0.5]]), (lambda x: x.var(1), [4, 0.25]),
    (lambda x: x.var(dim=1, correction=0), [4, 0.25]), (lambda x: x.var(axis=1), [4, 0.25]), (lambda x: x.var(dim=1, ddof=0), [4, 0.25]),
    (lambda x: x.scatter(1, Tensor([[1, 0], [0, 1]]), x, reduce="multiply"), [[5, 5], [9, 4]]),
    (lambda x: x.scatter(dim=1, index=Tensor([[1, 0], [0, 1]]), src=x), [[5, 1], [3, 2]]), (lambda x: x.select(dim=1, index=0), [1, 3]),
    (lambda x: x.select(condition=x > 2, y=x * 0), [[0, 5], [3, 0]]), (lambda x: x.take(index=Tensor([0, 3])), [1, 2]),
    (lambda x: ops.zeros((5, 2)).fill_diagonal(1, wrap=True), [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]),
    (lambda x: x.bmm(x), [[16, 15], [9, 19]]), (lambda x: x.addbmm(x, x), [[26, 39], [28, 36]]),
    (lambda x: x.view(adjoint.int32), [[1065353216, 1084227584], [1077936128, 1073741824]]),
    (lambda x: x.view(dtype=adjoint.int16), [[0, 16256, 0, 16544], [0, 16448, 0, 16384]]),
    (lambda x: Tensor([0, 16256, 0, 16544], adjoint.int16).view(adjoint.float32), [1, 5]),
    (lambda x: x.astype(adjoint.bfloat16).view(adjoint.int16), [[16256, 16544], [16448, 16384]]),
    (lambda x: Tensor([[1, 1], [1, 1], [2, 3], [1, 1]]).unique_consecutive(True, True, dim=0),
     ([[1, 1], [2, 3], [1, 1]], [0, 0, 1, 2], [2, 1, 1])),
    (lambda x: Tensor([[1, 1, 2], [1, 1, 2]]).unique_consecutive(dim=-1), [[1, 2], [1, 2]]),
]


def listed(value: Any) -> Any:
    return tuple(listed(v) for v in value) if isinstance(value, tuple) else value.tolist() if isinstance(value, Tensor) else value


@pytest.mark.parametrize("position", range(len(CALLS)))
def test_methods(position: int) -> None:
    call, wanted = CALLS[position]
    got = listed(call(Tensor(ARRAY)))
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]:
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_dtypes_by_name() -> None:
    x = Tensor(ARRAY)
    for name, dtype in (("half", adjoint.float16), ("float", adjoint.float32), ("double", adjoint.float64), ("int", adjoint.int32),
                        ("long", adjoint.int64), ("bool", adjoint.bool_), ("bfloat16", adjoint.bfloat16), ("byte", adjoint.uint8)):
        assert getattr(x, name)().dtype is dtype
    assert x.astype("int32").dtype is adjoint.int32
    assert x.is_floating_point() and x.is_signed() and not x.is_complex() and x.is_contiguous()
    assert (x.numel(), x.nelement(), x.ndimension(), x.stride(), x.stride(0)) == (4, 4, 2, [2, 1], 2)


def test_casts_to_a_dtype_a_device_or_another_tensor() -> None:
    x, other = Tensor(ARRAY), Tensor([1])
    for cast in (x.to(adjoint.int64), x.to(dtype="int64"), x.to(other), x.to(other=other), x.to(other, False, True),
                 x.to("CPU", adjoint.int64), x.to("cpu", dtype=adjoint.int64, copy=True)):
        assert cast.dtype is adjoint.int64 and cast.tolist() == ARRAY.tolist()
    for same in (x.to("CPU"), x.to(device="CPU"), x.to(), x.to(adjoint.float32, False, False)):
        assert same is not x and same.dtype is x.dtype and same.tolist() == ARRAY.tolist()
    assert adjoint.grad(lambda x: (x.to("CPU", adjoint.float64) * 3).sum())(x).tolist() == [[3, 3], [3, 3]]
    with pytest.raises(RuntimeError, match=r"device.*'CPU', where all tensors are"):
        x.to("Ascend")
    with pytest.raises(TypeError, match=r"'dtype'.*such as float32"):
        x.to("other")


def test_other_forms_in_graphs_and_gradients() -> None:
    """The forms that have an argument of another name are the same functions, in every mode."""
    def function(x: Tensor) -> Tensor:
        sorted_, _ = x.add(x, alpha=2).sort(dim=0)
        return sorted_.sub(y=x).multiply(value=sorted_).select(dim=0, index=1).expand_as(x=x).narrow(dim=1, start=0, length=1)

    x = Tensor(ARRAY)
    assert adjoint.jit(function)(x).tolist() == function(x).tolist() == [[54], [54]]
    assert adjoint.grad(adjoint.jit(function))(x).tolist() == adjoint.grad(function)(x).tolist() == [[0, 0], [72, 0]]


def test_three_axes() -> None:
    x = Tensor(np.arange(24).reshape(2, 3, 4))
    assert x.transpose(0, 1).shape == (3, 2, 4)
    assert x.transpose(2, 0, 1).shape == (4, 2, 3)
    assert x.T.shape == (4, 3, 2)
    assert x.mT.shape == (2, 4, 3)
    assert x.flatten(start_dim=1).shape == x.flatten(1).shape == (2, 12)


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
     ("add_", (1,), [2, 6]), ("mul_", (Tensor([2, 3]),), [2, 15]), ("sub_", (0.5,), [0.5, 4.5]), ("div_", (2,), [0.5, 2.5]),
    ("fill_", (3,), [3, 3]), ("remainder_", (4,), [1, 1]),
     ("zero_", (), [0, 0]), ("copy_", (Tensor([7]),), [7, 7]), ("clamp_", (2.0, 3.0), [2, 3]), ("sign_", (), [1, 1])],
)
def test_in_place(name: str, arguments: tuple[Any, ...], wanted: list[float]) -> None:
    x = Tensor(ARRAY[0])
    before = x.asnumpy()
    assert getattr(x, name)(*arguments) is x
    assert x.tolist() == wanted
    assert x.dtype is adjoint.float32
    assert before.tolist() == [1, 5]


def test_in_place_inside_a_gradient() -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 2.0
        y.mul_(x)
        return y

    assert adjoint.grad(function)(Tensor([3.0])).tolist() == [12.0]


def test_mistakes() -> None:
    x = Tensor(ARRAY)
    with pytest.raises(TypeError, match="'axis' and 'dim' are two names for one argument"):
        x.sum(axis=0, dim=0)
    for call, error, text in (
        (lambda: Tensor([1]).add(Tensor([2]), alpha=0.5), TypeError, "Tensor.add.*alpha.*an int"),
        (lambda: x.sort(axis=0, dim=0), TypeError, "'axis' and 'dim' are two names"),
        (lambda: x.narrow(0, length=1), TypeError, "Tensor.narrow.*'start' must be given"),
        (lambda: x.sub(), TypeError, "Tensor.sub.*'other' must be given"), (lambda: x.diag(1), ValueError, "diagonal.*mint.diag"),
        (lambda: x.repeat_interleave(2, 0, output_size=3), ValueError, "output_size.*the size of the result, 4"),
        (lambda: x.transpose(dim0=1), TypeError, "'dim0' and 'dim1' must be given both"),
        (lambda: x[0, 0].view(adjoint.int16), ValueError, "view.*dtype.*of 4 bytes"),
        (lambda: x[:, :1].view(adjoint.float64), ValueError, "view.*divides the 4 bytes"),
        (lambda: x.view(2, 2, dtype=adjoint.int32), TypeError, "view.*not both"),
        (lambda: adjoint.mint.bmm(x, x), ValueError, "BatchMatMulExt.*of 3 dimensions"),
        (lambda: x.normal_(generator=1), TypeError, "generator.*Generator or None"),
    ):
        with pytest.raises(error, match=text):
            call()
    with pytest.raises(ValueError, match=r"add_.*broadcasts to \(2, 2\)"):
        x.add_(ops.ones((3, 2, 2)))
    with pytest.raises(ValueError, match="Reshape"):
        x.view(3)
    for method in ("repeat", "sum", "view", "add"):
        with pytest.raises(TypeError, match=rf"^Tensor\.{method}\(\) got an unexpected keyword argument 'wrong'"):
            getattr(x, method)(wrong=1)
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'wrong'"):
        x.wrong  # noqa: B018 - asking is the test


def test_functions_over_tuples() -> None:
    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Number", "Tensor")
    def _(factor: float, x: Tensor) -> Tensor:
        return x * factor

    @scale.register("Tensor", "Tensor")
    def _(factor: Tensor, x: Tensor) -> Tensor:
        return x + factor

    pair = (Tensor([1.0]), Tensor([2.0]))
    assert listed(ops.HyperMap()(scale, (2, 3), pair)) == ([2.0], [6.0])
    assert listed(ops.HyperMap(scale)((pair, pair), (pair, pair))) == (([2.0], [4.0]),) * 2
    assert listed(ops.Map(ops.add)(pair, pair)) == ([2.0], [4.0])
    with pytest.raises(ValueError, match=r"'scale'.*\(str, str\). There are: \(Number, Tensor\), \(Tensor, Tensor\)"):
        scale("a", "b")
    with pytest.raises(ValueError, match="one length"):
        ops.HyperMap(scale)((1,), pair)
    with pytest.raises(ValueError, match="'Tensr'"):
        scale.register("Tensr")
    np.testing.assert_allclose([v[0] for v in listed(ops.clip_by_global_norm([Tensor([3.0]), Tensor([4.0])], 1.0))], [0.6, 0.8], rtol=1e-5)
    np.testing.assert_allclose(ops.clip_by_norm(Tensor([3.0, 4.0]), 1.0).asnumpy(), [0.6, 0.8], rtol=1e-5)
    assert ops.dist(Tensor([3.0, 4.0]), Tensor([3.0, 1.0]), 0) == 1
    for order, length in ((1.0, 7.0), (3.0, 91.0 ** (1 / 3)), (math.inf, 4.0), (0.5, (3.0**0.5 + 2.0) ** 2)):
        whole, parts = Tensor([3.0, -4.0]), [Tensor([3.0], adjoint.float16), Tensor([-4])]
        np.testing.assert_allclose(ops.clip_by_norm(whole, 1.0, order).asnumpy(), np.array([3.0, -4.0]) / length, rtol=1e-5)
        clipped = ops.clip_by_norm(parts, 1.0, order)
        assert [part.dtype for part in clipped] == [adjoint.float16, adjoint.float32]
        np.testing.assert_allclose([float(part) for part in clipped], np.array([3.0, -4.0]) / length, rtol=1e-3)
    with pytest.raises(ValueError, match="'norm_type' must be a number other than 0"):
        ops.clip_by_norm(Tensor([1.0]), 1.0, 0)


def test_functions_of_courses() -> None:
    """Reductions and dtypes by their names as functions; a map over Parameters gives a tuple."""
    x = Tensor([[1.0, 2.0], [3.0, 5.0]])
    assert ops.reduce_sum(x, 1).tolist() == [3.0, 8.0] and float(ops.reduce_mean(x)) == 2.75
    assert ops.reduce_max(x, 0).tolist() == [3.0, 5.0] and ops.reduce_min(x, (0, 1)).tolist() == 1.0
    assert adjoint.grad(lambda v: ops.reduce_sum(v * v, 1).sum())(x).tolist() == [[2.0, 4.0], [6.0, 10.0]]
    assert ops.functional.dtype(x) is adjoint.float32
    for given, dtype in (((1, 2), adjoint.int32), ((1.0, 2.0), adjoint.float32), (range(4), adjoint.int32)):
        made = ops.tuple_to_array(given)
        assert made.tolist() == list(given) and made.dtype is dtype
    with pytest.raises(TypeError, match="one kind"):
        ops.tuple_to_array((1, 2.0))
    with pytest.raises(TypeError, match="For 'Partial', the argument 'func'"):
        ops.partial(3)  # type: ignore[arg-type]
    same = ops.identity((x, [x]))
    assert isinstance(same, tuple) and same[1][0].tolist() == x.tolist()
    params = adjoint.ParameterTuple([adjoint.Parameter(Tensor([1.0]), name="w")])
    added = ops.HyperMap()(ops.partial(ops.assign_add), params, (Tensor([2.0]),))
    assert type(added) is tuple and params[0].tolist() == [3.0]
    assert ops.HyperMap(lambda p: True)(params) == (True,)
    assert ops.HyperMap()(ops.Add(), x, x).tolist() == (x + x).tolist() and ops.HyperMap()(ops.Add(), 1, 2) == 3, "one call"
    assert ops.HyperMap(lambda n: n + 1)([1, [2]]) == (2, (3,)), "lists become tuples, as in MindSpore"


@pytest.mark.parametrize("run", [lambda f: f, adjoint.jit], ids=["eager", "jit"])
def test_zeros_and_ones_like_structures(run: Any) -> None:
    """Those of `ops.composite`, with numbers of Python; MindSpore 2.10.0 takes structures in graphs only."""
    from adjoint.ops import composite

    x = Tensor([1.0, 2.0])
    found = run(lambda x: (composite.zeros_like((x, (x, 2.5, None))), composite.ones_like((x, (3, True)))))(x)
    assert listed(found) == (([0.0, 0.0], ([0.0, 0.0], 0.0, None)), ([1.0, 1.0], (1, True)))
    with pytest.raises(TypeError, match=r"'ZerosLike'.*but got a\."):
        run(lambda x: composite.zeros_like((x, "a")))(x)


@pytest.mark.parametrize("run", [lambda f: f, adjoint.jit], ids=["eager", "jit"])
def test_answers_that_are_bools(run: Any) -> None:
    """In a graph they are run-time bools, which decide in branches, as in MindSpore."""
    def asked(x: Tensor) -> Any:
        y = x + 1 if ops.is_nonzero(x[0]) and not x.allclose(x + 1) else x - 1
        return x.allclose(x), mint.allclose(x, x + 1), mint.equal(x, x), mint.equal(x, x[:1]), ops.is_nonzero(x[0]), y

    for x, first in ((Tensor([1.0, 2.0]), True), (Tensor([0.0, 2.0]), False)):
        *answers, y = run(asked)(x)
        assert answers == [True, False, True, False, first] and all(type(answer) is bool for answer in answers)
        assert y.tolist() == (x + (1 if first else -1)).tolist()


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("function", [
    ops.identity, ops.stop_gradient, lambda v: ops.clamp(v, 0, 9), lambda v: ops.clip_by_value(v, 0, 9)], ids=range(4))
def test_named_tuples_keep_their_class(function: Any, jit: bool) -> None:
    got = (adjoint.jit(function) if jit else function)(Pair(Tensor([1.0, 2.0]), [Tensor([3.0])]))
    assert isinstance(got, Pair) and got.first.tolist() == [1.0, 2.0] and got.second[0].tolist() == [3.0]


INTEGERS = Tensor([[1, 5], [3, 2]], adjoint.int32)


@pytest.mark.parametrize(("call", "wanted", "dtype"), [
    (lambda x: x.trace(), 3, adjoint.int64), (lambda x: (x > 2).trace(), False, adjoint.bool_),
    (lambda x: x.trace(dtype=adjoint.int32), 3, adjoint.int32),
    (lambda x: ops.nansum(x), 11, adjoint.int32), (lambda x: ops.nansum(x > 2), 2, adjoint.int64),
    (lambda x: ops.cumprod(x, 0), [[1, 5], [3, 10]], adjoint.int64), (lambda x: ops.cumprod(x > 2, 0), [[0, 1], [0, 0]], adjoint.int64),
    (lambda x: ops.clip_by_value(x, 1.5, 2.5), [[1, 2], [2, 2]], adjoint.int32),
    (lambda x: ops.clip_by_value(x, Tensor(1.5), Tensor(2.5)), [[1, 2], [2, 2]], adjoint.int32),
    (lambda x: ops.addcmul(x, x, x, 2.5), [[3, 55], [21, 10]], adjoint.int32),
])
def test_the_dtype_of_what_is_made_of_integers(call: Any, wanted: Any, dtype: Any) -> None:
    got = call(INTEGERS)
    assert (got.tolist(), got.dtype) == (wanted, dtype)


def test_two_axes_change_places() -> None:
    x = Tensor(np.zeros((2, 3), np.float32))
    assert x.transpose(0, 1).shape == (3, 2)
    assert x.transpose((0, 1)).shape == (2, 3)


@pytest.mark.parametrize("name", ["max", "min"])
def test_places_of_extremes_are_given_along_dim_and_not_over_axis(name: str) -> None:
    method = getattr(Tensor(ARRAY), name)
    for found in (method(0), method(0, True), method(dim=0), method(0, keepdim=True)):
        assert isinstance(found, tuple)
    for found in (method(0, keepdims=True), method(0, keepdims=False), method(axis=0), method(0, initial=2.0, where=True),
                  method(0, return_indices=False)):
        assert isinstance(found, Tensor)


def test_the_gradient_of_the_cosine_of_nothing_is_finite() -> None:
    zero, x = Tensor([[0.0, 0.0]]), Tensor([[0.5, 1.0]])
    gradients = adjoint.grad(ops.cosine_similarity, (0, 1))(zero, x)
    np.testing.assert_allclose(gradients[0].asnumpy(), x.asnumpy() / (1.25**0.5 * 1e-8), rtol=1e-5)
    assert gradients[1].tolist() == [[0, 0]]


def test_bodies_for_dtypes_and_kinds() -> None:
    """Which body is called: Python's numbers are Bool, Int64 and Float64, and a dtype alone means numbers."""
    of = ops.MultitypeFuncGraph("of")
    kinds = (adjoint.bool_, "Int64", adjoint.float32, "Float64", adjoint.TensorType(adjoint.int32), "Tensor[Float16]",
             adjoint.tensor_type, adjoint.string, "None")
    for kind in kinds:
        of.register(kind)(lambda _, kind=kind: str(kind))
    values = (True, 2, 2.0, Tensor([1], adjoint.int32), Tensor([1], adjoint.float16), Tensor([1.0]), "x", None)
    assert [of(value) for value in values] == [
        "Bool", "Int64", "Float64", "Tensor[Int32]", "Tensor[Float16]", "Tensor", "String", "None"]
    with pytest.raises(ValueError, match="'Float31'"):
        of.register("Float31")
    with pytest.raises(TypeError, match="one of"):
        of.register(3)
    singles = adjoint.TensorType(adjoint.float32)
    assert singles == adjoint.TensorType(adjoint.float32) and repr(singles) == "mindspore.tensor[float32]"


def test_functions_of_numbers() -> None:
    f = ops.functional
    assert (f.scalar_add(3, 4.5), f.scalar_floordiv(-7, 2), f.scalar_mod(-7, 3), f.scalar_usub(3)) == (7.5, -4, 2, -3)
    assert (f.scalar_max(3, 4), f.scalar_le(2, 1), f.scalar_cast(3.7, adjoint.int64), f.scalar_div(7, 2)) == (4, False, 3, 3.5)
    assert f.make_range(5) == (0, 1, 2, 3, 4) and f.make_range(5, 1, -2) == (5, 3) and f.make_range(0) == ()
    assert f.scalar_to_array(2.5).dtype is adjoint.float32 and f.scalar_to_array(2).item() == 2
    assert ops.Partial()(ops.add, Tensor(1.0))(Tensor(2.0)).item() == 3.0
    for mistake, kind in ((lambda: f.scalar_div(7, 0), ValueError), (lambda: f.scalar_add("a", 4), TypeError),
                          (lambda: f.make_range(1, 5, 0), ValueError), (lambda: f.make_range(2.0), TypeError),
                          (lambda: f.scalar_log(0), ValueError), (lambda: f.scalar_cast(1, adjoint.int32), ValueError),
                          (lambda: f.scalar_cast(1, []), ValueError), (lambda: f.scalar_cast(float("inf"), adjoint.int64), ValueError),
                          (lambda: f.scalar_pow(2, 2**40), MemoryError), (lambda: f.scalar_pow(-8, 0.5), ValueError),
                          (lambda: f.scalar_pow(0, -1), ValueError), (lambda: f.scalar_pow(1e308, 2), ValueError),
                          (lambda: f.scalar_add(2**2000, 0.5), ValueError)):
        with pytest.raises(kind, match="For '"):
            mistake()

    @adjoint.jit
    def scaled(x: Tensor) -> Tensor:
        for i in f.make_range(3):
            x = x + f.scalar_mul(i, 2)
        return x

    assert scaled(Tensor(1.0)).item() == 7.0


def test_flags_of_functions_and_cells() -> None:
    @ops.add_flags(core=True)
    def plain(x: Tensor) -> Tensor:
        return x

    assert plain._func_graph_flags == {"core": True}  # pyright: ignore[reportFunctionMemberAccess] - just set
    assert ops.add_flags(adjoint.nn.ReLU(), once=1).once == 1
    with pytest.raises(TypeError, match="For 'add_flags', the argument 'fn' must be a function of Python's, which can keep flags"):
        ops.add_flags(len, once=1)
