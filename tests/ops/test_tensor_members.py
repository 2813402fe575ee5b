"""Methods of Tensor by MindSpore's names, in every mode: aliases of operators, writes at indices, orders and systems of equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Generator, Tensor, mint, ops
from adjoint.testing import check_gradients

X = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)
PACKED, PIVOTS = np.array([[3.0, 4.0], [0.3, 0.7]], np.float32), np.array([1, 2], np.int32)


def at(*numbers: Any) -> Tensor:
    return Tensor(np.array(numbers, np.int64))


# Those that MindSpore 2.10 computes on the CPU it answers with the same numbers, but for rounding.
CALLS: list[tuple[Any, Any]] = [
    (lambda x: (x / 4).arccos(), np.arccos(X / 4)), (lambda x: (x + 1).arccosh(), np.arccosh(X + 1)),
    (lambda x: (x / 4).arcsin(), np.arcsin(X / 4)), (lambda x: x.arcsinh(), np.arcsinh(X)), (lambda x: x.arctan(), np.arctan(X)),
    (lambda x: x.arctan2(x + 1), np.arctan2(X, X + 1)), (lambda x: (x / 4).arctanh(), np.arctanh(X / 4)),
    (lambda x: ops.arctan2(x, x * x), np.arctan2(X, X * X)),
    (lambda x: (x * Tensor([1.0, 2.0]))[None].adjoint(), (X * [1, 2]).T[None]), (lambda x: ops.adjoint(x[0][:, None]), X[:1]),
    (lambda x: x.soft_shrink(1.5), [[0.5, 0], [0, 1.5]]), (lambda x: ops.soft_shrink(x), X - 0.5),
    (lambda x: ops.row_stack((x[0], x)), np.vstack((X[0], X))),
    (lambda x: ops.matrix_determinant(x), 5), (lambda x: ops.log_matrix_determinant(x), (1, np.log(5.0))),
    (lambda x: x.cholesky(), np.linalg.cholesky(X)), (lambda x: x.cholesky(upper=True), np.linalg.cholesky(X).T),
    (lambda x: x.cholesky().cholesky_inverse(), np.linalg.inv(X)), (lambda x: x.cholesky_solve(x.cholesky()), np.eye(2)),
    (lambda x: x.lstsq(x[:, :1]), [[1], [0]]), (lambda x: x.matrix_power(-1), np.linalg.inv(X)), (lambda x: x.matrix_power(2), X @ X),
    (lambda x: x.lu_solve(Tensor(PACKED), Tensor(PIVOTS)), np.linalg.solve([[3, 4], [0.9, 1.9]], X)),
    (lambda x: x.triangular_solve(x), (np.linalg.solve(np.triu(X), X), X)),
    (lambda x: mint.triangular_solve(x, x, False, True, True), (np.linalg.solve([[1, 1], [0, 1]], X), X)),
    (lambda x: ops.matmul(*x.qr()), X), (lambda x: mint.linalg.qr(x, "r")[1], [[-5 ** 0.5, -5 ** 0.5], [0, 5 ** 0.5]]),
    (lambda x: x[None, None].unfold(1), X.reshape(1, 1, 4)), (lambda x: x[None].fold((1, 3), (1, 2)), [[[[2, 2, 3]]]]),
    (lambda x: x[None, None].col2im((1, 3), (1, 2), 1, 0, 1), [[[[2, 2, 3]]]]),
    (lambda x: x.kthvalue(2, 0), ([2, 3], [0, 1])), (lambda x: x.kthvalue(1, keepdim=True), ([[1], [1]], [[1], [0]])),
    (lambda x: x.quantile(0.25), 1), (lambda x: x.quantile(Tensor([0.5, 1.0]), 1, True), [[[1.5], [2]], [[2], [3]]]),
    (lambda x: ops.where(x > 1, x, float("nan")).nanquantile(0.5, keepdims=True), [[2.5]]),
    (lambda x: ops.where(x > 1, x, float("nan")).quantile(1.0, 0), [np.nan, np.nan]),
    (lambda x: x.flatten().sort()[0].searchsorted(x), [[2, 0], [0, 3]]), (lambda x: x[1].searchsorted(x, side="right"), [[1, 1], [1, 2]]),
    (lambda x: x.scatter_div(at([0, 0], [1, 1]), x[0]), [[1, 1], [1, 3]]),
    (lambda x: x.scatter_mul(at([0, 0], [1, 1]), x[0]), [[4, 1], [1, 3]]), (lambda x: x.scatter_max(at([0], [0]), x), [[2, 3], [1, 3]]),
    (lambda x: x.scatter_min(at([0, 0]), x[1, :1]), [[1, 1], [1, 3]]),
    (lambda x: x.scatter_sub(at([0, 0], [1, 1]), x[0]), [[0, 1], [1, 2]]),
    (lambda x: x.real(), X), (lambda x: x.imag(), X * 0), (lambda x: x.conj(), X), (lambda x: x.fills(7), X * 0 + 7),
    (lambda x: x.index((at(0, 1), at(1))), [1, 3]), (lambda x: x.fill_diagonal(0.0), [[0, 1], [1, 0]]),
    (lambda x: x.addmm_(x, x, beta=2, alpha=0.5), 2 * X + 0.5 * X @ X),
    (lambda x: x.index_add_(1, at(1), x[:, :1], alpha=2), [[2, 5], [1, 5]]), (lambda x: x.index_copy_(-1, at(1, -2), x), [[1, 2], [3, 1]]),
    (lambda x: x.index_fill_(1, at(0), 7), [[7, 1], [7, 3]]), (lambda x: x.index_fill_(0, at(-1), x[0, 0]), [[2, 1], [2, 2]]),
    (lambda x: x.index_put_((at(0, 0), at(1, 1)), x[0], True), [[2, 4], [1, 3]]),
    (lambda x: x.masked_scatter_(x < 2, x), [[2, 2], [1, 3]]), (lambda x: x.put_(at(1, -1), x[1]), [[2, 1], [1, 3]]),
    (lambda x: x.put_(at(1, 1), x[1], accumulate=True), [[2, 5], [1, 3]]), (lambda x: x.scatter_(1, at([1], [0]), x), [[2, 2], [1, 3]]),
    (lambda x: x.scatter_(0, at([1, 0]), 5), [[2, 5], [5, 3]]),
    (lambda x: x.scatter_(0, at([1, 0]), value=5, reduce="add"), [[2, 6], [6, 3]]),
    (lambda x: x.scatter_(0, at([1, 1]), x, reduce="multiply"), [[2, 1], [2, 3]]),
    (lambda x: x.scatter_add_(1, at([0, 0]), x), [[5, 1], [1, 3]]),
    (lambda x: x.fill_diagonal_(9), [[9, 1], [1, 9]]),
    (lambda x: x.unique(), [1, 2, 3]), (lambda x: x.unique(True, True, True), ([1, 2, 3], [[1, 0], [0, 2]], [2, 1, 1])),
    (lambda x: x.exponential_(2) > 0, [[True, True], [True, True]]), (lambda x: x.bernoulli_(1.0), [[1, 1], [1, 1]]),
    (lambda x: x.bernoulli_(x * 0), [[0, 0], [0, 0]]), (lambda x: x.uniform(5.0, 6.0).floor(), [[5, 5], [5, 5]]),
    (lambda x: ops.zeros((1, 2)).random_categorical(3, 1).shape, (1, 3)), (lambda x: x.is_meta or x.init_flag, False),
]


def listed(value: Any) -> tuple[Any, ...]:
    return tuple(v.asnumpy() if isinstance(v, Tensor) else v for v in (value if isinstance(value, tuple) else (value,)))


@pytest.mark.parametrize("run", [lambda f: f, adjoint.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("position", range(len(CALLS)))
def test_methods(position: int, run: Any) -> None:
    call, wanted = CALLS[position]
    got = listed(run(call)(Tensor(X)))
    for a, b in zip(got, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def written(x: Tensor) -> Tensor:
    y = x * 1.5
    y.addmm_(x, x)
    y.index_copy_(0, at(1), x[:1] * 2)
    y.index_add_(0, at(0), x[1:], alpha=3)
    y.put_(at(0), x[1, 1:])
    y.scatter_(1, at([1]), x, reduce="multiply")
    y.scatter_add_(0, at([1, 0]), x)
    y.masked_scatter_(x > 2, x * x)
    y.index_put_((at(0), at(0)), x[0, 1:])
    y.index_fill_(1, at(0), x[1, 1])
    return y * y


def quantiles(x: Tensor) -> Tensor:
    return x.quantile(0.3) + x.nanquantile(Tensor([0.1, 0.8], x.dtype), 1)


def test_gradients() -> None:
    """Of the writes, one after the other in one tensor; of quantiles and the k-th smallest; of factors and solutions."""
    x = Tensor(X.astype(np.float64))
    for function in (written, quantiles, lambda x: x.kthvalue(2, 0)[0] * x, lambda x: x.triangular_solve(x + 1)[0], lambda x: x.qr()[1],
                     lambda x: x.lstsq(x * x), lambda x: x.fill_diagonal(3.0) * x, lambda x: x.adjoint() * x):
        check_gradients(function, x)
        np.testing.assert_allclose(adjoint.grad(adjoint.jit(function))(x).asnumpy(), adjoint.grad(function)(x).asnumpy(), rtol=1e-12)


def test_writes_are_seen_by_the_tensor_alone() -> None:
    x = Tensor(X)
    other = x.reshape(4)
    for write in (lambda: x.put_(at(0), Tensor([7.0])), lambda: x.scatter_(0, at([0, 1]), 8), lambda: x.fill_diagonal_(9),
                  lambda: x.exponential_(), lambda: x.index_add_(0, at(1), x[:1])):
        before = x.asnumpy().copy()
        assert write() is x and (x.asnumpy() != before).any() and other.tolist() == X.reshape(4).tolist()


@pytest.mark.parametrize(("shape", "wrap", "places"), [
    ((3, 3, 3), False, [0, 13, 26]), ((2, 2, 2, 2), True, [0, 15]), ((7, 2), True, [0, 3, 6, 9, 12]), ((7, 2), False, [0, 3]),
    ((2, 5), True, [0, 6])])
def test_diagonals_go_through_all_axes(shape: tuple[int, ...], wrap: bool, places: list[int]) -> None:
    """MindSpore's answers, with more than two axes too."""
    wanted = np.zeros(shape, np.float32)
    wanted.flat[places] = 5
    assert ops.zeros(shape).fill_diagonal(5.0, wrap).tolist() == wanted.tolist()


def test_distinct_slices() -> None:
    x = Tensor([[3, 1, 3], [2, 0, 2]])
    found, inverse, counts = x.unique(return_inverse=True, return_counts=True, dim=1)
    assert (found.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 3], [0, 2]], [1, 0, 1], [1, 2])
    assert x.unique(dim=0).tolist() == [[2, 0, 2], [3, 1, 3]] and x.unique(dim=0).dtype is x.dtype


def test_draws_come_from_the_generator_that_is_given() -> None:
    def drawn() -> list[Any]:
        generator, x = Generator(), Tensor(np.zeros(1000, np.float32))
        generator.manual_seed(3)
        return [x.exponential_(2.0, generator=generator).asnumpy(), x.uniform(-1, 1, generator).asnumpy(),
                x.bernoulli_(0.25, generator=generator).asnumpy()]

    exponential, uniform, bernoulli = first = drawn()
    assert all((a == b).all() for a, b in zip(first, drawn(), strict=True))
    assert abs(exponential.mean() - 0.5) < 0.05 and abs(exponential.var() - 0.25) < 0.06
    assert abs(uniform.mean()) < 0.06 and uniform.min() >= -1 and uniform.max() < 1 and abs(bernoulli.mean() - 0.25) < 0.05


def test_what_a_program_may_ask() -> None:
    x = Tensor(X)
    assert (x.init, x.init_finished, x.init_flag, x.delta_seed, x.is_meta, x.virtual_flag, x.symbolic_shape, x.parent_tensor_) == (
        None, True, False, 0, False, False, None, None)
    assert x.data_sync() is None and x.wait_pipeline() is None and x.to_("CPU") is x
    assert Tensor.from_dlpack(x.to_dlpack()).tolist() == X.tolist()
    assert (x > 1).real().dtype is (x > 1).imag().dtype is adjoint.bool_ and mint.real(x) is ops.conj(x) is x
    with pytest.raises(TypeError, match="'input' must be a Tensor of numbers"):
        (x > 1).conj()


def test_mistakes() -> None:
    x, one = Tensor(X), Tensor([1.0])
    for call, error, text in (
        (lambda: x.scatter_(0, at([5, 0]), 1.0), IndexError, "scatter_"),
        (lambda: x.scatter_(0, at([0, 0])), TypeError, "'src' or 'value'"),
        (lambda: x.scatter_(0, at([0, 0]), 1, reduce="max"), ValueError, "'reduce' must be"),
        (lambda: x.scatter_(0, at([0, 0], [1, 1], [0, 0]), x), ValueError, "at least as large as 'index'"),
        (lambda: x.scatter_add_(0, at([0, 0]), x.astype(adjoint.float64)), TypeError, "'src'.*of the dtype of the tensor"),
        (lambda: x.put_(at(4), one), IndexError, "put_.*'index'"), (lambda: x.put_(at(0, 1), one), ValueError, "of 2 elements"),
        (lambda: x.index_copy_(0, at(0), x), ValueError, r"'tensor' must be of shape \(1, 2\)"),
        (lambda: x.index(at(0)), TypeError, "a tuple or list of Tensors"),
        (lambda: x.exponential_(0), ValueError, "'lambd' must be above 0"),
        (lambda: x[0].fill_diagonal(1.0), ValueError, "at least 2 dimensions"),
        (lambda: ops.zeros((2, 3, 3)).fill_diagonal(1.0), ValueError, "one size along all axes"),
        (lambda: x.quantile(1.5), ValueError, "'q' must be from 0 to 1"),
        (lambda: x.quantile(Tensor([0.5, 2.0])), ValueError, "from 0 to 1"),
        (lambda: x.quantile(Tensor([0.5], adjoint.float64)), TypeError, "'q' must be a float, or of the dtype"),
        (lambda: x.astype(adjoint.int32).quantile(0.5), TypeError, "Float32 or Float64"), (lambda: x.kthvalue(3), ValueError, r"in 1\.\.2"),
        (lambda: x[0].adjoint(), ValueError, "Adjoint.*at least 2 dimensions"), (lambda: x.uniform(2, 1), ValueError, "at most 'to'"),
        (lambda: x.to_(), ValueError, "'CPU'"), (lambda: x.to_("Ascend"), RuntimeError, "'CPU'"),
        (lambda: x.ormqr(ops.ones(3), x), ValueError, "'tau' must be at most 2"),
        (lambda: adjoint.jit(lambda x: x.unique(dim=0))(x), RuntimeError, "depends on values"),
        (lambda: adjoint.jit(lambda x, q: x.quantile(q))(x, Tensor([2.0])), ValueError, "from 0 to 1"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_reflections_are_applied() -> None:
    """To the product of the triangles they came from, from either side."""
    x = Tensor(np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32))
    packed, factors = x.geqrf()
    q = x.qr(some=False)[0]
    c = Tensor(np.random.default_rng(1).normal(size=(2, 4, 4)).astype(np.float32))
    for left, across in ((True, False), (True, True), (False, False), (False, True)):
        turned = q.swapaxes(1, 2) if across else q
        wanted = ops.matmul(turned, c) if left else ops.matmul(c, turned)
        np.testing.assert_allclose(packed.ormqr(factors, c, left, across).asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)
