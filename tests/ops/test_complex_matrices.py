"""Decompositions of complex matrices, and eigenvalues: as NumPy's and SciPy's, with gradients that differences confirm.

What the ops say of themselves is tested with all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as reference

import adjoint as ms
import adjoint.scipy.linalg as linalg
from adjoint import Tensor, ops
from adjoint.ops import operations as P

RANDOM = np.random.default_rng(3)


def drawn(*shape: int) -> Any:
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


A, B, TALL, WIDE = drawn(3, 3), drawn(3, 2), drawn(4, 3), drawn(2, 4)
HERMITIAN = A @ A.conj().T + np.eye(3)
WEIGHTS = drawn(4, 4)


def near(got: Tensor, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.asnumpy(), wanted, atol=1e-12 * max(1.0, float(np.abs(wanted).max(initial=0.0))))


def test_values_are_numpys() -> None:
    a, b, hermitian, factor = Tensor(A), Tensor(B), Tensor(HERMITIAN), np.linalg.cholesky(HERMITIAN)
    sign, logarithm = np.linalg.slogdet(A)
    for got, wanted in (
        (ops.inverse(a), np.linalg.inv(A)), (P.MatrixInverse(adjoint=True)(a), np.linalg.inv(A).conj().T),
        (ops.matrix_solve(a, b), np.linalg.solve(A, B)), (ops.matrix_solve(a, b, adjoint=True), np.linalg.solve(A.conj().T, B)),
        (ops.det(a), np.linalg.det(A)), (ops.slogdet(a)[0], sign), (ops.slogdet(a)[1], logarithm + 0j),
        (ops.logdet(a), np.log(np.linalg.det(A))), (ops.matrix_power(a, -3), np.linalg.matrix_power(A, -3)),
        (ops.cholesky(hermitian), factor), (ops.cholesky(hermitian, upper=True), factor.conj().T),
        (ops.cholesky_inverse(Tensor(factor)), np.linalg.inv(HERMITIAN)),
        (ops.cholesky_solve(b, Tensor(factor.conj().T), upper=True), np.linalg.solve(HERMITIAN, B)),
        (ops.pinv(Tensor(TALL)), np.linalg.pinv(TALL)), (ops.pinv(Tensor(WIDE)), np.linalg.pinv(WIDE)),
        (ops.lstsq(Tensor(TALL), Tensor(TALL[:, :1])), [[1], [0], [0]]), (ops.norm(a, "nuc"), np.linalg.norm(A, "nuc")),
        (ops.norm(a, 2), np.linalg.norm(A, 2)), (ops.cond(a), np.linalg.cond(A)), (ops.cond(a, 1), np.linalg.cond(A, 1)),
        (linalg.inv(a), np.linalg.inv(A)), (linalg.det(a), np.linalg.det(A)),
        (linalg.cho_solve(linalg.cho_factor(hermitian), b), np.linalg.solve(HERMITIAN, B)),
        (P.MatrixTriangularSolve(adjoint=True)(a, b), reference.solve_triangular(A, B, 2, lower=True)),
    ):
        near(got, wanted)
    for trans in (0, 1, 2, "N", "T", "C"):
        near(linalg.solve_triangular(a, b, trans=trans), reference.solve_triangular(A, B, trans=trans))
    packed, pivots = reference.lu_factor(A)
    for trans in (0, 1, 2):
        near(linalg.lu_solve((Tensor(packed), Tensor(pivots)), b, trans), reference.lu_solve((packed, pivots), B, trans))


@pytest.mark.parametrize("x", [A, TALL, WIDE, drawn(2, 3, 2)], ids=["square", "tall", "wide", "batch"])
def test_orthogonal_factors_and_singular_values(x: Any) -> None:
    for mode in ("reduced", "complete"):
        for got, wanted in zip(ops.qr(Tensor(x), mode), np.linalg.qr(x, mode), strict=True):
            near(got, wanted)
    packed, tau = ops.geqrf(Tensor(x))
    if x.shape[-2] >= x.shape[-1]:
        near(ops.orgqr(packed, tau), np.linalg.qr(x).Q)
        near(ops.ormqr(packed, tau, Tensor(x), transpose=True), np.linalg.qr(x, "complete").Q.conj().swapaxes(-1, -2) @ x)
    for full in (False, True):
        s, u, v = ops.svd(Tensor(x), full)
        assert s.dtype == ms.complex128
        near(ops.svd(Tensor(x), compute_uv=False), np.linalg.svd(x).S + 0j)
        count = s.shape[-1]
        near((u[..., :count] * s.expand_dims(-2)) @ v[..., :count].mH, x)
        for side in (u, v):
            near(side.mH @ side, np.broadcast_to(np.eye(side.shape[-1]), (*x.shape[:-2], side.shape[-1], side.shape[-1])) + 0j)
        largest = np.take_along_axis(u.asnumpy(), np.abs(u.asnumpy()).argmax(-2, keepdims=True), -2)
        assert np.all(largest.imag == 0) and np.all(largest.real > 0)


@pytest.mark.parametrize("lower", [True, False])
def test_eigenvalues_of_hermitian_matrices(lower: bool) -> None:
    values, vectors = linalg.eigh(Tensor(A), lower=lower)
    half = np.tril(A, -1) if lower else np.triu(A, 1)
    whole = half + half.conj().T + np.diag(A.diagonal().real)
    near(values, np.linalg.eigvalsh(whole) + 0j)
    near(Tensor(whole) @ vectors, vectors.asnumpy() * values.asnumpy())
    near(vectors.mH @ vectors, np.eye(3) + 0j)


@pytest.mark.parametrize("size", [1e30, 1e-30, 1e300, 1e-300])
def test_sizes_far_from_1(size: float) -> None:
    for x in (A, TALL):
        near(ops.svd(Tensor(x * size), compute_uv=False) / size, np.linalg.svd(x).S + 0j)
        near(ops.qr(Tensor(x * size))[1] / size, np.linalg.qr(x).R)
    for x in (A, A.real.copy()):
        values, vectors = ops.eig(Tensor(x * size))
        near(Tensor(x + 0j) @ vectors, vectors.asnumpy() * (values.asnumpy() / size))
    near(ops.inverse(Tensor(A * size)) * size, np.linalg.inv(A))
    near(ops.slogdet(Tensor(A * size))[0], np.linalg.slogdet(A).sign)


def differences(function: Any, x: Any) -> Any:
    """Return the gradient by differences: the direction in which a real result grows."""
    found, step = np.zeros_like(x), 1e-6
    for place in np.ndindex(x.shape):
        for way in (1, 1j) if x.dtype.kind == "c" else (1,):
            away = np.zeros_like(x)
            away[place] = way * step
            found[place] += way * (float(function(Tensor(x + away))) - float(function(Tensor(x - away)))) / (2 * step)
    return found


@pytest.mark.parametrize(("function", "x"), [
    (lambda x: ops.logdet(x) * (1 - 2j), A), (lambda x: ops.matrix_solve(x, Tensor(B), True) ** 2, A),
    (lambda x: ops.cholesky(x, True) * Tensor(A), HERMITIAN), (lambda x: ops.cholesky_solve(Tensor(B), ops.cholesky(x)) ** 2, HERMITIAN),
    (lambda x: ops.pinv(x) ** 2, TALL), (lambda x: ops.norm(x, "nuc") + ops.norm(x, 2), A), (ops.cond, A),
    (lambda x: ops.svd(x)[1] ** 3 * (1 - 2j), A), (lambda x: ops.svd(x)[2] ** 3, TALL), (lambda x: ops.svd(x)[1] ** 2, WIDE),
    (lambda x: ops.qr(x)[0] ** 3 * 1j, A), (lambda x: ops.qr(x)[1] ** 2, TALL),
    (lambda x: linalg.eigh(x)[1] ** 3 * (1 - 2j), A), (lambda x: linalg.eigh(x)[0] ** 2, A),
    (lambda x: ops.eig(x)[1] ** 3 * (1 - 2j), A), (lambda x: ops.eigvals(x) ** 3 * (1 - 2j), A),
    (lambda x: ops.eig(x)[1] ** 3 * Tensor(WEIGHTS), WEIGHTS.real.copy()), (lambda x: ops.eigvals(x) ** 3, WEIGHTS.imag.copy()),
    (lambda x: linalg.lu(x)[1] ** 2 * (1 + 2j), TALL), (lambda x: linalg.lu(x)[2] ** 3, WIDE),
    (lambda x: linalg.lu_solve(linalg.lu_factor(x), Tensor(B), 2) ** 2, A),
])
def test_gradients(function: Any, x: Any) -> None:
    def energy(x: Tensor) -> Tensor:
        found = function(x).sum()
        return ops.real(found) if found.dtype.is_complex else found

    found, wanted = ms.grad(energy)(Tensor(x)).asnumpy(), differences(energy, x)
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())
    assert ms.grad(ms.jit(energy))(Tensor(x)).asnumpy().tobytes() == found.tobytes()


def test_bits_do_not_depend_on_threads() -> None:
    x = Tensor(drawn(40, 6, 6).astype(np.complex64))
    functions = (ops.inverse, ops.qr, ops.svd, ops.eig, lambda x: ops.matrix_solve(x, x), ops.slogdet)
    found = []
    before = ms.get_context("num_threads")
    try:
        for threads in (1, 3):
            ms.set_context(num_threads=threads)
            results = [function(x) for function in functions]
            found.append([y.asnumpy().tobytes() for result in results for y in (result if isinstance(result, tuple) else (result,))])
    finally:
        ms.set_context(num_threads=before)
    assert found[0] == found[1]


# Eigenvalues


@pytest.mark.parametrize("x", [
    *(RANDOM.normal(size=(n, n)) for n in (1, 2, 3, 10, 60)), np.zeros((4, 4)), np.eye(5), np.eye(5) + np.diag(np.ones(4), 1),
    np.array([[0.0, 1.0], [-1.0, 0.0]]), np.roll(np.eye(6), 1, 0), np.kron(np.eye(3), [[0.0, 1.0], [-1.0, 0.0]]),
    np.arange(1.0, 10.0).reshape(3, 3), np.tril(RANDOM.normal(size=(6, 6))), np.diag(np.arange(20.0)) + 20 * np.diag(np.ones(19), 1),
    np.triu(np.ones((40, 40))) - np.triu(np.ones((40, 40)), 4) - np.diag(np.ones(39), -1),
], ids=str)
def test_eigenvectors_are_multiplied_with_their_values(x: Any) -> None:
    for given in (x, x + 0j, x * (1 - 2j), x + 1j * x.T):
        values, vectors = (y.asnumpy() for y in ops.eig(Tensor(given)))
        assert np.abs(given @ vectors - vectors * values).max() <= 1e-14 * len(x) * max(1.0, np.abs(given).max())
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1.0, rtol=1e-14)
        assert ops.eigvals(Tensor(given)).asnumpy().tobytes() == values.tobytes()
        size = np.abs(vectors)
        assert np.all(np.any((size >= size.max(0) * (1 - 1e-12)) & (vectors.imag == 0) & (vectors.real > 0), axis=0))


def test_eigenvalues_of_real_matrices_are_real_or_conjugate() -> None:
    for seed in range(50):
        x = np.random.default_rng(seed).integers(-2, 3, (5, 5)).astype(np.float64)
        values, vectors = (y.asnumpy() for y in ops.eig(Tensor(x)))
        place = 0
        while place < 5:
            if values[place].imag == 0:
                assert np.all(vectors[:, place].imag == 0)
                place += 1
                continue
            assert values[place].imag > 0 and values[place + 1] == values[place].conj()
            assert np.array_equal(vectors[:, place + 1], vectors[:, place].conj())
            place += 2


def test_eigenvalues_without_elements_of_one_and_not_finite() -> None:
    for shape in ((0, 0), (2, 0, 0), (0, 3, 3)):
        values, vectors = ops.eig(ops.zeros(shape, ms.float32))
        assert values.shape == shape[:-1] and vectors.shape == shape and values.dtype == vectors.dtype == ms.complex64
    values, vectors = ops.eig(Tensor(np.array([[[np.nan, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])))
    assert np.isnan(values[0].asnumpy()).all() and np.isnan(vectors[0].asnumpy()).all() and values[1].asnumpy().tolist() == [2, 1]


def test_the_gradient_of_eigenvalues_of_a_defective_matrix() -> None:
    # The sum of the values is the trace, also where a vector is missing; of a vector alone there is no gradient.
    defective = Tensor(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert np.allclose(ms.grad(lambda x: ops.real(ops.eigvals(x)).sum())(defective).asnumpy(), np.eye(2))
    assert not np.isfinite(ms.grad(lambda x: ops.real(ops.eig(x)[1] ** 2).sum())(defective).asnumpy()).all()


def test_primitive_and_method() -> None:
    x = Tensor(np.array([[1.0, 2.0], [-3.0, 1.0]], np.float32))
    values, nothing = P.Eig()(x)
    assert nothing.shape == () and nothing.dtype == ms.complex64
    assert values.asnumpy().tobytes() == x.eigvals().asnumpy().tobytes() == P.Eig(compute_v=True)(x)[0].asnumpy().tobytes()
    near(values.astype(ms.complex128), np.array([1 + 6**0.5 * 1j, 1 - 6**0.5 * 1j]).astype(np.complex64))


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: ops.eig(1), TypeError, "'A' must be a Tensor"), (lambda: ops.eig(Tensor([1.0])), ValueError, "'A' must be of at least 2"),
    (lambda: ops.eig(Tensor([[1.0, 2.0]])), ValueError, "'A' must be square matrices"), (lambda: P.Eig(1), TypeError, "'compute_v'"),
    (lambda: ops.eigvals(Tensor([[1]])), TypeError, "'A' must be a Tensor of Float32, Float64, Complex64 or Complex128"),
    (lambda: ops.inverse(Tensor(np.ones((2, 2), np.complex64))), ValueError, "a singular one, at index 0"),
    (lambda: ops.matrix_solve(Tensor(np.zeros((1, 1), np.complex64)), Tensor(np.zeros((1, 1), np.complex64))), ValueError, "singular"),
    (lambda: ops.cholesky(Tensor(np.array([[1, 2j], [-2j, 1]]))), ValueError, "positive definite matrices"),
    (lambda: linalg.lu(Tensor(np.eye(2)), 1), TypeError, "'permute_l' must be a bool"),
    (lambda: linalg.lu_factor(Tensor(np.ones((2, 3)))), ValueError, "a square matrix"),
])
def test_a_wrong_call_is_named(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


# Logarithms


@pytest.mark.parametrize("x", [
    HERMITIAN, A, np.eye(4) + np.diag(np.ones(3), 1) + 0j, np.diag([-1.0 + 0j, 2.0, -3.0]), np.array([[0, 1], [-1, 0]]) + 0j,
    np.array([[1, 1e6], [0, 1]]) + 0j, np.array([[1e30, 2e30], [0, 3e30]]) + 0j, 1e-10 * HERMITIAN, np.stack([HERMITIAN, 1j * HERMITIAN]),
], ids=str)
def test_logarithms_are_scipys(x: Any) -> None:
    wanted = np.stack([reference.logm(a) for a in x]) if x.ndim == 3 else reference.logm(x)
    np.testing.assert_allclose(P.MatrixLogarithm()(Tensor(x)).asnumpy(), wanted, atol=1e-13 * np.abs(wanted).max(), rtol=1e-11)


def test_logarithms_have_gradients_and_edges() -> None:
    logarithm, x = P.MatrixLogarithm(), HERMITIAN + 0.1 * A

    def energy(x: Tensor) -> Tensor:
        return ops.real((logarithm(x) ** 2 * (1 - 2j)).sum())

    found, wanted = ms.grad(energy)(Tensor(x)).asnumpy(), differences(energy, x)
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())
    assert ms.grad(ms.jit(energy))(Tensor(x)).asnumpy().tobytes() == found.tobytes()
    assert logarithm(ops.zeros((0, 2, 2), ms.complex64)).shape == (0, 2, 2)
    assert not np.isfinite(logarithm(ops.zeros((2, 2), ms.complex64)).asnumpy()).all()
    for wrong, kind in ((Tensor([[1.0]]), TypeError), (Tensor([1j]), ValueError), (Tensor([[1j, 1j]]), ValueError), (1, TypeError)):
        with pytest.raises(kind, match="For 'MatrixLogarithm', the argument 'x'"):
            logarithm(wrong)


# Triangles


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (1, 1)], ids=str)
def test_triangles_are_scipys(shape: tuple[int, int]) -> None:
    for x in (RANDOM.normal(size=shape), drawn(*shape)):
        for got, wanted in zip(linalg.lu(Tensor(x)), reference.lu(x), strict=True):
            near(got, wanted)
        for got, wanted in zip(linalg.lu(Tensor(x), permute_l=True), reference.lu(x, permute_l=True), strict=True):
            near(got, wanted)
        if shape[0] == shape[1]:
            packed, pivots = linalg.lu_factor(Tensor(x))
            assert pivots.dtype == ms.int32
            near(packed, reference.lu_factor(x)[0])
            near(pivots, reference.lu_factor(x)[1])
    assert [y.dtype for y in linalg.lu(Tensor(np.array([[1, 2], [3, 4]])))] == [ms.int32, ms.float64, ms.float64]
    assert [y.shape for y in linalg.lu(ops.zeros((2, 0), ms.float32))] == [(2, 2), (2, 0), (0, 0)]
