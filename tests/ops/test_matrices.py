"""Determinants, inverses and singular values where numbers are hard: singular, huge, tiny, graded, not finite, equal.

What the ops say of themselves is tested with all others, MindSpore's answers stand in tests/oracle/matrices.json.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.ir.ops.elimination import Cofactor
from adjoint.ops import operations as P
from adjoint.runtime.tensor.tensor import apply

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
RANDOM = np.random.default_rng(5)


def f64(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.float64))


def f32(values: Any) -> Tensor:
    return Tensor(np.asarray(values, np.float32))


def gradient(function: Any, x: Tensor) -> Any:
    return ms.grad(function)(x).asnumpy()


# Determinants


def test_the_determinant_is_finite_where_the_product_of_some_pivots_is_not() -> None:
    x = np.diag([1e200, 1e200, 1e-200, 1e-200, 3.0])
    assert np.allclose(ops.det(f64(x)).asnumpy(), 3.0, rtol=1e-15)
    assert np.allclose(ops.det(f64(x[::-1, ::-1])).asnumpy(), 3.0, rtol=1e-15)
    assert ops.det(f64(np.diag([1e200, -1e200]))).asnumpy() == -np.inf
    assert ops.det(f64(np.diag([1e-200, 1e-200]))).asnumpy() == 0.0
    assert np.allclose(ops.det(f64(np.diag([5e-324, 2.0**1000, 2.0**74]))).asnumpy(), 1.0)


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_the_logarithm_is_finite_where_the_determinant_is_not(size: float) -> None:
    x = f32(np.eye(40) * size)
    sign, logarithm = ops.slogdet(x)
    assert sign.asnumpy() == 1.0
    np.testing.assert_allclose(logarithm.asnumpy(), 40 * np.log(np.float32(size), dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(gradient(ops.logdet, x), np.eye(40) / np.float32(size), rtol=1e-6)


def test_the_logarithm_of_a_determinant_near_1_keeps_its_digits() -> None:
    x = np.diag([2.0**40, 2.0**-40 * (1 + 1e-10)])
    np.testing.assert_allclose(ops.logdet(f64(x)).asnumpy(), 1e-10, rtol=1e-5)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("deficiency", [0, 1, 2])
def test_cofactors_are_the_determinants_of_what_is_left(n: int, deficiency: int) -> None:
    rank = max(0, n - deficiency)
    x = RANDOM.integers(-3, 4, (n, rank)) @ RANDOM.integers(-3, 4, (rank, n)).astype(np.float64)
    minors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(n)] for i in range(n)]
    found = apply(Cofactor(), f64(x)).asnumpy()
    np.testing.assert_allclose(found, minors, atol=1e-12 * max(1.0, np.abs(minors).max()))
    np.testing.assert_allclose(gradient(ops.det, f64(x)), found)


def test_cofactors_do_not_overflow_where_the_determinant_of_the_rest_does() -> None:
    found = apply(Cofactor(), f64(np.diag([1e160, 1e160, 1e-100]))).asnumpy()
    np.testing.assert_allclose(np.diag(found), [1e60, 1e60, np.inf], rtol=1e-14)


@pytest.mark.parametrize("x", [np.eye(3), np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 2.0, 0.0])],
                         ids=["eye", "zero", "ones", "rank 2"])
def test_the_second_derivative_of_a_determinant_exists_everywhere(x: Any) -> None:
    # A polynomial: the central difference of its gradient is exact, up to rounding.
    weights, step = np.arange(9.0).reshape(3, 3) - 4.0, 0.125

    def slope(x: Tensor) -> Tensor:
        return (ms.grad(ops.det)(x) * f64(weights)).sum()

    wanted = np.zeros((3, 3))
    for i, j in np.ndindex(3, 3):
        moved = np.zeros((3, 3))
        moved[i, j] = step
        wanted[i, j] = (slope(f64(x + moved)).asnumpy() - slope(f64(x - moved)).asnumpy()) / (2 * step)
    np.testing.assert_allclose(gradient(slope, f64(x)), wanted, atol=1e-12)


def test_what_is_singular_has_sign_0() -> None:
    sign, logarithm = ops.slogdet(f32([SINGULAR, np.eye(2), np.zeros((2, 2))]))
    assert sign.asnumpy().tolist() == [0.0, 1.0, 0.0]
    assert logarithm.asnumpy().tolist() == [-np.inf, 0.0, -np.inf]
    assert np.isnan(gradient(ops.logdet, f32(SINGULAR))).all()


@pytest.mark.parametrize("n", [0, 1])
def test_matrices_of_no_and_of_one_element(n: int) -> None:
    x = f32(np.full((2, n, n), -3.0))
    wanted = [-3.0 if n else 1.0] * 2
    assert ops.det(x).asnumpy().tolist() == wanted
    assert ops.slogdet(x)[0].asnumpy().tolist() == np.sign(wanted).tolist()
    np.testing.assert_allclose(ops.inverse(x).asnumpy(), np.full((2, n, n), -1 / 3), rtol=1e-6)
    assert gradient(lambda x: ops.det(x).sum(), x).tolist() == np.ones((2, n, n)).tolist()
    assert ops.norm(x[0], "nuc").asnumpy() == (3.0 if n else 0.0)


# What is not finite


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 2)])
def test_nan_is_passed_over_nowhere(place: tuple[int, int]) -> None:
    x = np.eye(3) + 0.5
    x[place] = np.nan
    both = f64([x, np.eye(3)])
    assert np.isnan(ops.det(both).asnumpy()).tolist() == [True, False]
    assert [np.isnan(part.asnumpy()).tolist() for part in ops.slogdet(both)] == [[True, False]] * 2
    assert np.isnan(ops.inverse(both).asnumpy()).any(axis=(1, 2)).tolist() == [True, False]
    for order in ("nuc", 2, -2):
        assert np.isnan(ops.norm(both, order, (1, 2)).asnumpy()).tolist() == [True, False]
    for part in ops.svd(both):
        assert np.isnan(part.asnumpy()[0]).all() and not np.isnan(part.asnumpy()[1]).any()


@pytest.mark.parametrize("size", [np.inf, -np.inf])
def test_singular_values_of_what_is_infinite_are_nan(size: float) -> None:
    assert np.isnan(ops.norm(f32([[size, 1.0], [1.0, 1.0]]), 2).asnumpy())


# Inverses


@ms.jit
def inverse_in_a_graph(x: Tensor) -> Tensor:
    return ops.inverse(x)


@pytest.mark.parametrize("function", [ops.inverse, inverse_in_a_graph], ids=["eager", "jit"])
def test_the_error_of_a_singular_matrix_says_which_it_is(function: Any) -> None:
    with pytest.raises(ValueError, match=r"^For 'MatrixInverse'.*invertible.*a singular one, at index 2 of the batch"):
        function(f32([np.eye(2), [[0.0, 1.0], [1.0, 0.0]], SINGULAR, np.zeros((2, 2))]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 20, 60])
def test_inverses_are_as_good_as_the_matrix_lets_them_be(n: int, dtype: Any) -> None:
    x = RANDOM.normal(size=(2, n, n)).astype(dtype)
    found, wide = ops.inverse(Tensor(x)).asnumpy(), x.astype(np.float64)
    wanted = np.linalg.inv(wide)
    condition = np.linalg.cond(wide).max() if dtype is np.float64 else 1.0  # float32 is computed in float64
    assert np.abs(found - wanted).max() <= 4 * condition * np.finfo(dtype).eps * np.abs(wanted).max()


# Singular values


def orthogonal(n: int) -> Any:
    return np.linalg.qr(RANDOM.normal(size=(n, n)))[0]


MATRICES = {
    "tall": RANDOM.normal(size=(70, 3)), "wide": RANDOM.normal(size=(4, 33)), "square": RANDOM.normal(size=(40, 40)),
    "rank 2": RANDOM.normal(size=(9, 2)) @ RANDOM.normal(size=(2, 6)),
    "rank 2, wide": RANDOM.normal(size=(5, 2)) @ RANDOM.normal(size=(2, 8)), "zero": np.zeros((4, 3)), "ones": np.ones((5, 5)),
    "orthogonal": orthogonal(7), "hilbert": 1 / (np.arange(10)[:, None] + np.arange(10) + 1.0),
    "clusters": orthogonal(8) @ np.diag([1.0] * 4 + [1e-6] * 4) @ orthogonal(8), "huge": RANDOM.normal(size=(5, 4)) * 2.0**1015,
    "tiny": RANDOM.normal(size=(5, 4)) * 2.0**-1015, "graded": RANDOM.normal(size=(6, 6)) * np.logspace(-200, 200, 6),
    "line": RANDOM.normal(size=(1, 9)), "column": RANDOM.normal(size=(9, 1)),
}


@pytest.mark.parametrize("full", [False, True], ids=["reduced", "full"])
@pytest.mark.parametrize("name", MATRICES)
def test_singular_value_decomposition(name: str, full: bool) -> None:
    x = MATRICES[name]
    values, u, v = (part.asnumpy() for part in ops.svd(f64(x), full))
    k, unit = min(x.shape), 8 * max(x.shape) * np.finfo(np.float64).eps
    largest = np.abs(values).max()
    assert u.shape == (x.shape[0], x.shape[0] if full else k) and v.shape == (x.shape[1], x.shape[1] if full else k)
    assert np.all(np.diff(values) <= 0) and np.all(values >= 0)
    with np.errstate(over="ignore"):
        assert np.abs(u[:, :k] * values @ v[:, :k].T - x).max() <= unit * largest
    for side in (u, v):
        assert np.abs(side.T @ side - np.eye(side.shape[1])).max() <= unit
    for side in (u, v[:, k:]):
        assert np.all(np.max(side, axis=0) >= np.max(-side, axis=0))
    wanted = np.linalg.svd(x, compute_uv=False)
    assert np.abs(values - wanted).max() <= unit * largest
    np.testing.assert_array_equal(ops.svd(f64(x), compute_uv=False).asnumpy(), values)


def test_small_singular_values_of_columns_of_different_sizes_keep_their_digits() -> None:
    q = orthogonal(4)
    sizes = np.array([1e30, 1.0, 1e-30, 1e-60])
    np.testing.assert_allclose(ops.svd(f64(q * sizes), compute_uv=False).asnumpy(), sizes, rtol=1e-13)


@pytest.mark.parametrize("count", [1, 3])
def test_bits_do_not_depend_on_threads(count: int) -> None:
    before = ms.get_context("num_threads")
    x = f64(np.random.default_rng(1).normal(size=(300, 6, 5)))
    square = f64(np.random.default_rng(2).normal(size=(300, 8, 8)))

    def parts() -> list[bytes]:
        return [part.asnumpy().tobytes() for part in (*ops.svd(x), ops.inverse(square), ops.det(square), *ops.slogdet(square))]

    wanted = parts()
    try:
        ms.set_context(num_threads=count)
        assert parts() == wanted
    finally:
        ms.set_context(num_threads=before)


# Gradients of norms


@pytest.mark.parametrize(("x", "order", "wanted"), [
    (np.zeros((2, 2)), "nuc", np.eye(2)), (np.eye(2), "nuc", np.eye(2)), (SINGULAR, "nuc", np.eye(2)),
    (np.zeros((2, 2)), 2, np.eye(2) / 2), (np.eye(2), 2, np.eye(2) / 2), (SINGULAR, 2, np.array(SINGULAR) / 5),
    (np.eye(2), -2, np.eye(2) / 2), (SINGULAR, -2, [[0.8, -0.4], [-0.4, 0.2]]),
])
def test_gradients_of_norms_at_equal_and_zero_singular_values(x: Any, order: Any, wanted: Any) -> None:
    # As in MindSpore and PyTorch: a subgradient.
    np.testing.assert_allclose(gradient(lambda x: ops.norm(x, order), f64(x)), wanted, atol=1e-15)


@pytest.mark.parametrize("order", ["nuc", 2, -2])
def test_the_second_derivative_of_a_norm_is_nan_and_no_number_where_singular_values_are_equal(order: Any) -> None:
    second = gradient(lambda x: ms.grad(lambda x: ops.norm(x, order))(x)[0, 1], f64(np.eye(2)))
    assert not np.isfinite(second).all()


def test_completed_columns_have_no_gradient() -> None:
    tall = f32(np.arange(6.0).reshape(3, 2) ** 2)
    with pytest.raises(Exception, match="columns that complete U are not functions of x"):
        ms.grad(lambda x: ops.svd(x, True)[1].sum())(tall)
    by_values = gradient(lambda x: ops.svd(x, True)[0].sum(), tall)
    np.testing.assert_array_equal(by_values, gradient(lambda x: ops.svd(x)[0].sum(), tall))


def test_linear_systems() -> None:
    """Factors, solutions and inverses of stacks of matrices, against NumPy's; what is beside the triangles is not read."""
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 2))
    definite = a @ a.swapaxes(-1, -2) + np.eye(3)
    factor = np.linalg.cholesky(definite)
    for upper in (False, True):
        mine = ops.cholesky(Tensor(definite), upper)
        np.testing.assert_allclose(mine.asnumpy(), factor.swapaxes(-1, -2) if upper else factor)
        beside = mine + Tensor(np.tril(a, -1) if upper else np.triu(a, 1))
        np.testing.assert_allclose(ops.cholesky_inverse(beside, upper).asnumpy(), np.linalg.inv(definite))
        np.testing.assert_allclose(ops.cholesky_solve(Tensor(b), beside, upper).asnumpy(), np.linalg.solve(definite, b))
    for adjoint_ in (False, True):
        turned = a.swapaxes(-1, -2) if adjoint_ else a
        np.testing.assert_allclose(ops.matrix_solve(Tensor(a), Tensor(b), adjoint_).asnumpy(), np.linalg.solve(turned, b))
        solved = P.MatrixTriangularSolve(False, adjoint_)(Tensor(a), Tensor(b[0])).asnumpy()
        kept = np.triu(a)
        np.testing.assert_allclose(solved, np.linalg.solve(kept.swapaxes(-1, -2) if adjoint_ else kept, b[:1]))
    np.testing.assert_allclose(ops.matrix_power(Tensor(a), -3).asnumpy(), np.linalg.matrix_power(a, -3))
    with pytest.raises(ValueError, match=r"For 'Cholesky', .* positive definite matrices, but got another one, at index 1"):
        ops.cholesky(Tensor(np.stack([np.eye(2), -np.eye(2)])))


def test_packed_triangles() -> None:
    packed, pivots = Tensor(np.arange(1.0, 10.0).reshape(3, 3)), Tensor([3, 3, 3], ms.int32)
    permutation, lower, upper = (t.asnumpy() for t in ops.lu_unpack(packed, pivots))
    whole = permutation @ lower @ upper
    b = np.array([[1.0, 2.0], [0.0, -1.0], [4.0, 0.5]])
    np.testing.assert_allclose(ops.lu_solve(Tensor(b), packed, pivots).asnumpy(), np.linalg.solve(whole, b))
    assert ops.lu_unpack(packed, pivots, False, False) == (None, None, None)
    wide = ops.lu_unpack(packed[:2], pivots[:2] - 1)
    assert [t.shape for t in wide] == [(2, 2), (2, 2), (2, 3)]
    with pytest.raises(IndexError, match=r"1..3"):
        ops.lu_solve(Tensor(b), packed, pivots + 1)


def test_pseudoinverses() -> None:
    """Of tall, wide and deficient matrices; bounds that leave out singular values; the shortest solutions of least squares."""
    rng = np.random.default_rng(9)
    for shape in ((4, 2), (2, 4), (3, 3)):
        a, b = rng.normal(size=(2, *shape)), rng.normal(size=(shape[0], 2))
        np.testing.assert_allclose(ops.pinv(Tensor(a)).asnumpy(), np.linalg.pinv(a), atol=1e-12)
        np.testing.assert_allclose(ops.lstsq(Tensor(a[0]), Tensor(b)).asnumpy(), np.linalg.lstsq(a[0], b, rcond=None)[0], atol=1e-12)
    np.testing.assert_allclose(ops.pinv(Tensor([[1.0, 2.0], [2.0, 4.0]])).asnumpy(), [[0.04, 0.08], [0.08, 0.16]], rtol=1e-5)
    diagonal = Tensor([[[4.0, 0.0], [0.0, 1.0]]] * 2)
    assert ops.pinv(diagonal, rtol=Tensor([0.1, 0.5])).asnumpy()[:, 1, 1].tolist() == [1.0, 0.0]
    assert ops.pinv(diagonal, atol=2.0).asnumpy()[:, 1, 1].tolist() == [0.0, 0.0]
    x = P.TridiagonalMatMul()(*map(f32, ([[1, 2, 9]], [[4, 5, 6]], [[9, 7, 8]], np.arange(6).reshape(3, 2))))
    assert x.tolist() == [[2.0, 7.0], [18.0, 32.0], [40.0, 54.0]]


def test_orthogonal_factors() -> None:
    """They are LAPACK's, as NumPy's; the parts of `geqrf` make the same."""
    rng = np.random.default_rng(10)
    for shape in ((4, 2), (2, 4), (3, 3)):
        a = rng.normal(size=(2, *shape))
        for mode in ("reduced", "complete"):
            for got, expected in zip(ops.qr(Tensor(a), mode), np.linalg.qr(a, mode), strict=True):
                np.testing.assert_allclose(got.asnumpy(), expected, atol=1e-12)
        packed, tau = ops.geqrf(Tensor(a))
        np.testing.assert_allclose(np.triu(packed.asnumpy()[:, : min(shape)]), np.linalg.qr(a)[1], atol=1e-12)
        if shape[0] >= shape[1]:
            np.testing.assert_allclose(ops.orgqr(packed, tau).asnumpy(), np.linalg.qr(a)[0], atol=1e-12)
