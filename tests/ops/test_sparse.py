"""Sparse matrices: COOTensor, CSRTensor and their operators, against dense ones, in every mode.

Numbers and texts that are written here are MindSpore 2.10's, on CPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import COOTensor, CSRTensor, Tensor, nn, ops
from adjoint.ops import sparse_elementwise
from tests.outcomes import mode

COLUMN = Tensor([[1.0], [2.0], [3.0], [4.0]])
DENSE = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
NUMBER: Any = 3


def coo(values: Any = (1.0, 2.0), places: Any = ((0, 1), (1, 2)), shape: Any = (3, 4), of: Any = ms.int32) -> COOTensor:
    return COOTensor(Tensor(places, of), Tensor(values, ms.float32), shape)


OTHER: Any = coo()


def csr(values: Any = (1.0, 2.0), indptr: Any = (0, 1, 2), columns: Any = (0, 1), shape: Any = (2, 4)) -> CSRTensor:
    return CSRTensor(Tensor(indptr, ms.int32), Tensor(columns, ms.int32), Tensor(values, ms.float32), shape)


def parts(x: Any) -> Any:
    return [part.asnumpy().tolist() if isinstance(part, Tensor) else part for part in x] if isinstance(x, tuple) else x.asnumpy().tolist()


def random_matrix(seed: int, rows: int = 5, columns: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.4)).astype(np.float32)


# what they are -----------------------------------------------------------------------------------------------------------------


def test_what_a_matrix_by_coordinates_is() -> None:
    x = coo()
    assert repr(x) == ("COOTensor(shape=[3, 4], dtype=Float32, indices=Tensor(shape=[2, 2], dtype=Int32, value=\n[[0 1]\n [1 2]]), "
                       "values=Tensor(shape=[2], dtype=Float32, value=[ 1.00000000e+00  2.00000000e+00]))")
    assert (x.shape, x.dtype, x.size, x.itemsize, x.ndim) == ((3, 4), ms.float32, 2, 4, 2)
    assert COOTensor(coo_tensor=x) is x
    assert x != coo() and x == x
    assert not isinstance(x, Tensor) and not ops.is_tensor(x)
    assert parts(x.to_tuple()) == [[[0, 1], [1, 2]], [1.0, 2.0], (3, 4)]


def test_what_a_matrix_by_rows_is() -> None:
    x = csr()
    assert repr(x) == ("CSRTensor(shape=[2, 4], dtype=Float32, indptr=Tensor(shape=[3], dtype=Int32, value=[0 1 2]), "
                       "indices=Tensor(shape=[2], dtype=Int32, value=[0 1]), "
                       "values=Tensor(shape=[2], dtype=Float32, value=[ 1.00000000e+00  2.00000000e+00]))")
    assert (x.shape, x.dtype, x.size, x.itemsize, x.ndim) == ((2, 4), ms.float32, 2, 4, 2)
    assert CSRTensor(csr_tensor=x) is x
    assert parts(x.to_tuple()) == [[0, 1, 2], [0, 1], [1.0, 2.0], (2, 4)]


@pytest.mark.parametrize("make, kind, message", [
    (lambda: COOTensor(), TypeError, "'COOTensor', the argument 'indices' must be a Tensor of Int16, Int32 or Int64, but got None"),
    (lambda: COOTensor(Tensor([0, 1]), Tensor([1.0, 2.0]), (3, 4)), ValueError, r"'indices' must be of shape \(n, 2\)"),
    (lambda: coo(of=ms.float32), TypeError, "'indices' must be a Tensor of Int16, Int32 or Int64, but got .*Float32"),
    (lambda: coo((1.0, 2.0, 3.0)), ValueError, r"'values' must be of shape \(2,\)"),
    (lambda: coo(shape=(3, 4, 5)), ValueError, "'shape' must be two sizes"),
    (lambda: coo(shape=[3, 4]), TypeError, "'shape' must be a tuple of ints"),
    (lambda: coo(shape=(3, -4)), ValueError, "'shape' must be sizes of at least 1"),
    (lambda: coo(shape=(3, 4.0)), TypeError, "'shape'"),
    (lambda: csr(indptr=(0, 1)), ValueError, r"'indptr' must be of shape \(3,\)"),
    (lambda: csr(columns=(0, 1, 2)), ValueError, r"'values' must be of shape \(3,\)"),
    (lambda: csr(shape=(2,)), ValueError, "at least two sizes"),
    (lambda: csr() + DENSE, TypeError, "must be a CSRTensor"),
    (lambda: csr().mv(Tensor([1.0, 2.0, 3.0, 4.0])), ValueError, r"must be of the shape \(4, n\)"),
    (lambda: csr().mm(csr()), TypeError, "to_dense"),
    (lambda: csr().sum(0), ValueError, "must be 1 or -1, but got 0"),
    (lambda: coo() * 2, TypeError, "x.values . y"),
    (lambda: coo() * Tensor(2.0), ValueError, r"of the shape \(3, 4\)"),
    (lambda: coo() + 1, TypeError, "must be a Tensor or a COOTensor, but got 1"),
    (lambda: ops.coo_add(coo(), coo(shape=(4, 4)), 0), ValueError, "shape of 'x1'"),
    (lambda: ops.coo_neg(NUMBER), TypeError, "'coo_neg', the argument 'x' must be a COOTensor"),
    (lambda: ops.csr_sin(OTHER), TypeError, "'csr_sin', the argument 'x' must be a CSRTensor"),
    (lambda: ops.dense_to_sparse_coo(Tensor([1.0, 0.0])), ValueError, "must be of two dimensions"),
    (lambda: ops.coo_concat((coo(), 3)), TypeError, "must be a tuple or list of COOTensors"),
    (lambda: ops.coo_concat((coo(), coo(shape=(3, 5)))), ValueError, "one size along the other axis"),
    (lambda: ops.abs(coo()), TypeError, "must be a Tensor"),
    (lambda: coo(places=((0, 1), (1, 7))).to_dense(), (IndexError, ValueError), "7|out of range|in"),
])
def test_mistakes(make: Callable[[], Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        make()


# what they compute -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call, expected", [
    (lambda: coo().to_dense(), [[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]),
    (lambda: coo().to_csr(), [[0, 1, 2, 2], [1, 2], [1.0, 2.0], (3, 4)]),
    (lambda: coo(places=((1, 2), (0, 1))).to_csr(), [[0, 1, 2, 2], [1, 2], [2.0, 1.0], (3, 4)]),
    (lambda: coo(places=((1, 2), (1, 2))).to_dense(), [[0, 0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 0]]),
    (lambda: coo(places=((1, 2), (0, 1)), of=ms.int64).coalesce(), [[[0, 1], [1, 2]], [2.0, 1.0], (3, 4)]),
    (lambda: coo((-1.0, 2.0)).abs(), [[[0, 1], [1, 2]], [1.0, 2.0], (3, 4)]),
    (lambda: -coo(), [[[0, 1], [1, 2]], [-1.0, -2.0], (3, 4)]),
    (lambda: coo() + DENSE, [[0, 2, 2, 3], [4, 5, 8, 7], [8, 9, 10, 11]]),
    (lambda: DENSE + coo(), [[0, 2, 2, 3], [4, 5, 8, 7], [8, 9, 10, 11]]),
    (lambda: coo() - DENSE, [[0, 0, -2, -3], [-4, -5, -4, -7], [-8, -9, -10, -11]]),
    (lambda: coo() * DENSE, [[[0, 1], [1, 2]], [1.0, 12.0], (3, 4)]),
    (lambda: (coo() / DENSE).values * 3, [3.0, 1.0]),
    (lambda: ops.coo_add(coo(of=ms.int64), coo((1.0, -2.0), of=ms.int64), Tensor(0.0)), [[[0, 1], [1, 2]], [2.0, 0.0], (3, 4)]),
    (lambda: ops.coo_add(coo(), coo((1.0, 3.0), ((0, 1), (2, 2))), 2.5), [[[2, 2]], [3.0], (3, 4)]),
    (lambda: ops.coo_concat((coo(), coo())), [[[0, 1], [1, 2], [3, 1], [4, 2]], [1.0, 2.0, 1.0, 2.0], (6, 4)]),
    (lambda: ops.coo_concat([coo(), coo()], -1), [[[0, 1], [0, 5], [1, 2], [1, 6]], [1.0, 1.0, 2.0, 2.0], (3, 8)]),
    (lambda: csr().to_coo(), [[[0, 0], [1, 1]], [1.0, 2.0], (2, 4)]),
    (lambda: csr().to_dense(), [[1, 0, 0, 0], [0, 2, 0, 0]]),
    (lambda: csr().mv(COLUMN), [[1.0], [4.0]]),
    (lambda: csr().mm(Tensor(np.ones((4, 3), np.float32))), [[1, 1, 1], [2, 2, 2]]),
    (lambda: csr().sum(1), [[1.0], [2.0]]),
    (lambda: csr() * Tensor(np.arange(8, dtype=np.float32).reshape(2, 4)), [[0, 1, 2], [0, 1], [0.0, 10.0], (2, 4)]),
    (lambda: csr() * 2, [2.0, 4.0]),
    (lambda: csr() * Tensor([[1.0], [2.0]]), [[0, 1, 2], [0, 1], [1.0, 4.0], (2, 4)]),
    (lambda: csr() * Tensor([[1.0, 2.0, 3.0, 4.0]]), [[0, 1, 2], [0, 1], [1.0, 4.0], (2, 4)]),
    (lambda: csr() / Tensor([[1.0], [4.0]]), [[0, 1, 2], [0, 1], [1.0, 0.5], (2, 4)]),
    (lambda: csr() - csr(), [[0, 1, 2], [0, 1], [0.0, 0.0], (2, 4)]),
    (lambda: csr().add(csr(columns=(1, 1)), Tensor(2.0), Tensor(3.0)), [[0, 2, 3], [0, 1, 1], [2.0, 3.0, 10.0], (2, 4)]),
    (lambda: ops.csr_softmax(csr(), ms.float32), [[0, 1, 2], [0, 1], [1.0, 1.0], (2, 4)]),
    (lambda: ops.csr_gather(Tensor([0, 1, 2], ms.int32), Tensor([0, 1], ms.int32), DENSE[:2], (2, 4)), [0.0, 5.0]),
    (lambda: ops.csr2coo(Tensor([0, 1, 2], ms.int32), 2), [0, 1]),
    (lambda: ops.coo2csr(Tensor([0, 1], ms.int32), 2), [0, 1, 2]),
    (lambda: Tensor([[1.0, 0.0], [-5.0, 0.0]]).to_coo(), [[[0, 0], [1, 0]], [1.0, -5.0], (2, 2)]),
    (lambda: Tensor([[1.0, 0.0], [-5.0, 0.0]]).to_csr(), [[0, 1, 2], [0, 0], [1.0, -5.0], (2, 2)]),
    (lambda: ops.coalesce(Tensor([[0, 0, 1], [1, 1, 2]], ms.int64), Tensor([1.0, 5.0, 4.0]), Tensor([3, 3], ms.int64)),
     [[[0, 1], [1, 2]], [6.0, 4.0], [3, 3]]),
    (lambda: nn.SparseToDense()(coo()), [[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]),
    (lambda: nn.SparseTensorDenseMatmul()(*coo().to_tuple(), COLUMN), [[2.0], [6.0], [0.0]]),
    (lambda: nn.SparseTensorDenseMatmul(adjoint_st=True)(*coo().to_tuple(), COLUMN[:3]), [[0.0], [1.0], [4.0], [0.0]]),
    (lambda: ops.SparseTensorDenseAdd()(Tensor([[0], [1]], ms.int32), Tensor([1.0, 2.0]), Tensor([3], ms.int32), Tensor([1.0, 1.0, 1.0])),
     [2.0, 3.0, 1.0]),
    (lambda: ops.SparseSlice()(Tensor([[0, 1], [1, 2], [1, 3], [2, 4]], ms.int64), Tensor([1, 2, 3, 4], ms.int64), Tensor([3, 7], ms.int64),
                               Tensor([0, 1], ms.int64), Tensor([2, 3], ms.int64)), [[[0, 0], [1, 1], [1, 2]], [1, 2, 3], [2, 3]]),
])
def test_small_matrices(call: Callable[[], Any], expected: Any) -> None:
    assert parts(call()) == expected


@pytest.mark.parametrize("name", [name for name in sparse_elementwise.__all__ if name.startswith("coo_")])
def test_functions_of_elements(name: str) -> None:
    values = (0.25, 0.5) if name != "coo_acosh" else (1.25, 2.0)
    for make, prefix in ((coo, "coo_"), (csr, "csr_")):
        function = getattr(ops, prefix + name.removeprefix("coo_"))
        found, expected = function(make(values)), getattr(ops, name.removeprefix("coo_"))(Tensor(values, ms.float32))
        assert found.values.asnumpy().tobytes() == expected.asnumpy().tobytes() and found.dtype is expected.dtype
        assert type(found) is type(make()) and found.indices.asnumpy().tolist() == make().indices.asnumpy().tolist()


@pytest.mark.parametrize("seed", range(3))
def test_against_dense_matrices(seed: int) -> None:
    a, b = random_matrix(seed), random_matrix(seed + 10)
    x, y = Tensor(a).to_csr(), Tensor(b).to_csr()
    dense = np.random.default_rng(seed).standard_normal((7, 3)).astype(np.float32)
    np.testing.assert_array_equal(x.to_dense().asnumpy(), a)
    np.testing.assert_array_equal(x.to_coo().to_dense().asnumpy(), a)
    np.testing.assert_allclose((x + y).to_dense().asnumpy(), a + b, rtol=1e-6)
    np.testing.assert_allclose((x.to_coo() - y.to_coo()).to_dense().asnumpy(), a - b, rtol=1e-6)
    np.testing.assert_allclose(x.mm(Tensor(dense)).asnumpy(), a @ dense, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.sum(1).asnumpy(), a.sum(1, keepdims=True), rtol=1e-5, atol=1e-6)
    powers = np.where(a != 0, np.exp(a), 0)
    shares = powers / np.maximum(powers.sum(1, keepdims=True), 1e-30)  # a row may be empty
    np.testing.assert_allclose(ops.csr_softmax(x, ms.float32).to_dense().asnumpy(), shares, rtol=1e-5)


def test_more_axes_by_rows() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    x = CSRTensor(Tensor([0, 2, 3], ms.int32), Tensor([0, 2, 1], ms.int32), Tensor(values), (2, 3, 2, 2))
    dense = np.zeros((2, 3, 2, 2), np.float32)
    dense[0, 0], dense[0, 2], dense[1, 1] = values
    np.testing.assert_array_equal(x.to_dense().asnumpy(), dense)
    np.testing.assert_array_equal(x.sum(1).asnumpy(), dense.sum(1, keepdims=True))
    np.testing.assert_array_equal((x * Tensor(dense)).values.asnumpy(), values * values)


# in graphs and gradients ---------------------------------------------------------------------------------------------------------


def layer(adjacency: CSRTensor, features: Tensor, weight: Tensor) -> Tensor:
    """Return a layer of a graph network: the sum over neighbours of a linear map, each weighted by its edge."""
    return ops.tanh(ops.csr_mm(adjacency, features @ weight)).sum()


def test_a_graph_network() -> None:
    a = random_matrix(5, 6, 6)
    adjacency, rng = Tensor(a).to_csr(), np.random.default_rng(0)
    features, weight = (Tensor(rng.standard_normal(shape).astype(np.float32)) for shape in ((6, 4), (4, 3)))
    gradient = ms.value_and_grad(layer, (0, 1, 2))
    jitted = ms.jit(gradient)
    found = [gradient(adjacency, features, weight), *(jitted(adjacency, features, weight) for _ in range(4))]
    with mode(ms.GRAPH_MODE):
        found.append(gradient(adjacency, features, weight))
    numbers = [(value.asnumpy().tobytes(), *(x.asnumpy().tobytes() for x in gradients)) for value, gradients in found]
    assert all(each == numbers[0] for each in numbers)
    assert len(ms.jit_stats(jitted).graphs) == 1
    dense = ms.grad(lambda a, f, w: ops.tanh(a @ (f @ w)).sum(), (0, 1, 2))(Tensor(a), features, weight)
    of_values, *others = found[0][1]
    np.testing.assert_allclose(of_values.asnumpy(), dense[0].asnumpy()[a != 0], rtol=1e-4, atol=1e-6)
    for one, other in zip(others, dense[1:], strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-6)


def test_the_gradient_by_a_matrix_is_that_of_its_values() -> None:
    assert ms.grad(lambda c: c.to_dense().sum())(coo()).asnumpy().tolist() == [1.0, 1.0]
    assert ms.grad(lambda c: c.mv(COLUMN).sum())(csr()).asnumpy().tolist() == [1.0, 2.0]
    of_dense = ms.grad(lambda d: (csr() * d).values.sum())(Tensor(np.ones((2, 4), np.float32)))
    assert of_dense.asnumpy().tolist() == [[1, 0, 0, 0], [0, 2, 0, 0]]


def test_matrices_enter_and_leave_graphs() -> None:
    @ms.jit
    def doubled(x: COOTensor) -> Any:
        return x * (DENSE + 1), {"sum": x + DENSE}, x.shape, -x

    for _ in range(3):
        product, sums, shape, negative = doubled(coo())
        assert isinstance(product, COOTensor) and parts(product) == [[[0, 1], [1, 2]], [2.0, 14.0], (3, 4)]
        assert parts(sums["sum"]) == parts(coo() + DENSE) and shape == (3, 4) and parts(negative) == parts(-coo())
    doubled(coo((5.0, 6.0)))
    assert len(ms.jit_stats(doubled).graphs) == 1


def test_made_in_graphs() -> None:
    @ms.jit
    def made(values: Tensor, x: Tensor) -> Any:
        matrix = CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([0, 1], ms.int32), values, (2, 4))
        return matrix.mv(x), ops.csr_sin(matrix)

    for _ in range(3):
        product, sine = made(Tensor([1.0, 2.0]), COLUMN)
        assert parts(product) == [[1.0], [4.0]] and isinstance(sine, CSRTensor)


def test_a_size_that_values_decide_in_a_graph() -> None:
    @ms.jit
    def added(x: COOTensor, y: COOTensor) -> Tensor:
        return (x + y).to_dense()

    for other in (coo((3.0, -1.0)), coo((1.0, 3.0), ((0, 1), (2, 2))), coo((1.0, 3.0), ((0, 0), (2, 3)))):
        assert parts(added(coo(), other)) == parts((coo() + other).to_dense())
