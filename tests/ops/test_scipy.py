"""`scipy.linalg` and `scipy.optimize` against SciPy: factors, solutions, eigenvalues and their gradient, minima, assignments;
errors, also in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as reference
from scipy.optimize import linear_sum_assignment, rosen, rosen_der

import adjoint as ms
from adjoint import Tensor
from adjoint.scipy import linalg, optimize

A = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
B = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
RIGHT = np.array([[1.0, 0.5], [2.0, -1.0], [3.0, 4.0]])


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("right", [RIGHT, RIGHT[:, 0]], ids=["columns", "vector"])
def test_solutions_are_scipys(lower: bool, right: np.ndarray[Any, Any]) -> None:
    b = Tensor(right)
    factor = linalg.cho_factor(Tensor(A), lower)
    np.testing.assert_allclose(linalg.cho_solve(factor, b).asnumpy(), reference.cho_solve(reference.cho_factor(A, lower), right))
    packed, pivots = reference.lu_factor(B)
    for trans in (0, 1, 2):
        found = linalg.solve_triangular(Tensor(B), b, trans, lower, unit_diagonal=lower)
        np.testing.assert_allclose(found.asnumpy(), reference.solve_triangular(B, right, trans, lower, lower))
        found = linalg.lu_solve((Tensor(packed), Tensor(pivots.astype(np.int32))), b, trans)
        # SciPy's number for one that is 0 depends on the processor: it is compared with the largest of the solution.
        np.testing.assert_allclose(found.asnumpy(), reference.lu_solve((packed, pivots), right, trans), rtol=1e-9, atol=1e-15)
    solution, residuals, rank, _ = linalg.lstsq(Tensor(B[:, :2]), b)
    np.testing.assert_allclose(solution.asnumpy(), np.linalg.lstsq(B[:, :2], right, None)[0])
    assert residuals.shape == (0,) and int(rank) == 2


def test_matrices_are_scipys() -> None:
    np.testing.assert_allclose(linalg.cholesky(Tensor(A)).asnumpy(), reference.cholesky(A))
    np.testing.assert_allclose(linalg.inv(Tensor(B)).asnumpy(), reference.inv(B))
    assert linalg.det(Tensor([[1, 2], [3, 4]])).dtype == ms.float64 and float(linalg.det(Tensor(B))) == pytest.approx(-3.0)
    diagonal = linalg.block_diag(Tensor([1.0]), Tensor([[2.0, 3.0]]), Tensor(4.0))
    assert diagonal.asnumpy().tolist() == reference.block_diag([1.0], [[2.0, 3.0]], 4.0).tolist() and linalg.block_diag().shape == (1, 0)


def test_eigenvalues_ascend_and_have_a_gradient() -> None:
    values, vectors = linalg.eigh(Tensor(A - 4 * np.eye(3)))
    np.testing.assert_allclose(values.asnumpy(), np.linalg.eigvalsh(A) - 4, rtol=1e-12)
    np.testing.assert_allclose((vectors @ (values * vectors).swapaxes(0, 1)).asnumpy(), A - 4 * np.eye(3), atol=1e-12)
    least = vectors.asnumpy()[:, 0]
    found = ms.jit(ms.grad(lambda a: linalg.eigh(a, eigvals_only=True)[0]))(Tensor(A))
    np.testing.assert_allclose(found.asnumpy(), np.tril(np.outer(least, least) * (2 - np.eye(3))), atol=1e-9)


@pytest.mark.parametrize(("call", "kind"), [
    (lambda: linalg.det(Tensor(np.ones((2, 3, 3)))), ValueError), (lambda: linalg.inv(Tensor(A.astype(np.float16))), TypeError),
    (lambda: linalg.cho_solve((Tensor(A), False), Tensor([1.0, 2.0])), TypeError), (lambda: linalg.eigh(Tensor(A), Tensor(A)), ValueError),
    (lambda: linalg.solve_triangular(Tensor(A), Tensor(RIGHT), trans="X"), ValueError), (lambda: linalg.block_diag(1.0), TypeError),
    (lambda: linalg.lu_solve((Tensor(A), Tensor([0, 1, 2])), Tensor(RIGHT), 3), ValueError),
])
def test_a_wrong_argument_is_named(call: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="must be"):
        call()


# Assignments


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (7, 7), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("maximize", [False, True])
def test_assignments_are_scipys(shape: tuple[int, int], maximize: bool) -> None:
    for seed in range(20):
        drawn = np.random.default_rng(seed)
        cost = drawn.normal(size=shape) if seed % 2 else drawn.integers(-2, 3, shape).astype(np.float64)
        wanted = linear_sum_assignment(cost, maximize)
        for got, indices in zip(optimize.linear_sum_assignment(Tensor(cost), maximize), wanted, strict=True):
            assert got.dtype == ms.int64 and got.asnumpy().tolist() == indices.tolist()


def test_an_assignment_of_the_first_columns_only() -> None:
    cost = np.random.default_rng(3).normal(size=(5, 4))
    for limit in (1, 2, 3, 4):
        rows, columns = linear_sum_assignment(cost[:, :limit])
        nothing = [-1] * (4 - limit)
        for assign in (optimize.linear_sum_assignment, ms.jit(optimize.linear_sum_assignment)):
            found = assign(Tensor(cost), False, Tensor(limit))
            assert [x.asnumpy().tolist() for x in found] == [[*rows, *nothing], [*columns, *nothing]]
    found = ms.vmap(lambda x: optimize.linear_sum_assignment(x, True))(Tensor(np.stack([cost, -cost])))
    for place, given in enumerate((cost, -cost)):
        assert [x[place].asnumpy().tolist() for x in found] == [x.tolist() for x in linear_sum_assignment(given, True)]


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: optimize.linear_sum_assignment(Tensor(A), 1), TypeError, "'maximize' must be a bool"),
    (lambda: optimize.linear_sum_assignment([[1.0]], False), TypeError, "'cost_matrix' must be a Tensor"),
    (lambda: optimize.linear_sum_assignment(Tensor([1.0]), False), ValueError, "'cost_matrix' must be of 2 dimensions"),
    (lambda: optimize.linear_sum_assignment(Tensor([[1j]]), False), TypeError, "'cost_matrix' must be a Tensor of real"),
    (lambda: optimize.linear_sum_assignment(Tensor(A), False, 2), TypeError, "'dimension_limit' must be a Tensor"),
    (lambda: optimize.linear_sum_assignment(Tensor(A), False, Tensor(2, ms.int32)), TypeError, "must be a Tensor of Int64"),
    (lambda: optimize.linear_sum_assignment(Tensor(A), False, Tensor(4)), RuntimeError, "'dimension_limit' must be from 1 to"),
    (lambda: optimize.linear_sum_assignment(Tensor([[np.nan, 1.0]]), False), RuntimeError, "numbers other than NaN"),
    (lambda: optimize.linear_sum_assignment(Tensor([[np.inf, np.inf]]), False), RuntimeError, "a finite sum for some pairs"),
])
def test_a_wrong_assignment_is_named(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


# Minima


def himmelblau(p: Any) -> Any:
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


def valley(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize(("function", "start", "wanted"), [
    (himmelblau, [0.0, 0.0], [3.0, 2.0]), (valley, [-1.2, 1.0], [1.0, 1.0]), (valley, [0.0] * 6, [1.0] * 6),
])
def test_minima_in_eager_mode_and_in_graphs(function: Any, start: list[float], wanted: list[float]) -> None:
    options = {"gtol": 1e-7}
    found = optimize.minimize(function, Tensor(np.array(start)), method="BFGS", options=options)
    np.testing.assert_allclose(found.x.asnumpy(), wanted, atol=1e-6)
    assert found.success is True and found.status == 0 and isinstance(found.fun, float) and found.nfev == found.njev > found.nit > 0
    assert np.abs(found.jac.asnumpy()).max() < 1e-7
    estimate = found.hess_inv.asnumpy()
    np.testing.assert_allclose(estimate, estimate.T, atol=1e-9 * np.abs(estimate).max())
    assert np.linalg.eigvalsh(estimate).min() > 0
    if len(start) == 2:  # along two directions the last steps have gone
        np.testing.assert_allclose(estimate @ ms.hessian(function)(found.x).asnumpy(), np.eye(2), atol=0.3)
    graph = ms.jit(lambda x: optimize.minimize(function, x, method="BFGS", options=options))(Tensor(np.array(start)))
    for one, other in zip(found, graph, strict=True):
        assert np.asarray(one if not isinstance(one, Tensor) else one.asnumpy()).tolist() == other.asnumpy().tolist()


def test_arguments_gradients_and_ends_of_a_minimisation() -> None:
    center, weights = Tensor(np.array([1.0, 2.0, 3.0])), Tensor(np.array([1.0, 10.0, 100.0]))
    begin = Tensor(np.zeros(3))
    found = optimize.minimize(lambda x, a, b: ((x - a) ** 2 * b).sum(), begin, (center, weights), "BFGS")
    np.testing.assert_allclose(found.x.asnumpy(), center.asnumpy(), atol=1e-6)
    np.testing.assert_allclose(found.hess_inv.asnumpy(), np.diag([0.5, 0.05, 0.005]), atol=1e-6)
    same = optimize.minimize(lambda x, a, b: ((x - a) ** 2 * b).sum(), begin, (center, weights), "bfgs",
                             jac=lambda x, a, b: 2 * (x - a) * b)
    np.testing.assert_allclose(same.x.asnumpy(), found.x.asnumpy(), atol=1e-6)
    ended = optimize.minimize(valley, Tensor(np.array([-1.2, 1.0])), method="BFGS", options={"maxiter": 3})
    assert not ended.success and ended.status == 1 and ended.nit == 3
    coarse = optimize.minimize(valley, Tensor(np.array([-1.2, 1.0])), method="BFGS", tol=1.0, options={"norm": 2})
    assert coarse.success and 1e-5 < np.linalg.norm(coarse.jac.asnumpy()) < 1.0
    single = optimize.minimize(himmelblau, Tensor(np.zeros(2, np.float32)), method="BFGS", options={"gtol": 1e-3})
    assert single.x.dtype == ms.float32 and np.allclose(single.x.asnumpy(), [3.0, 2.0], atol=1e-4)
    there = optimize.minimize(valley, Tensor(np.ones(2)), method="BFGS")
    assert there.success and there.nit == 0 and there.nfev == 1
    outside = optimize.minimize(lambda x: (x - ms.ops.log(x)).sum(), Tensor(np.array([5.0])), method="BFGS")  # NaN below 0
    np.testing.assert_allclose(outside.x.asnumpy(), [1.0], atol=1e-5)


@pytest.mark.parametrize("direction", [[1.0, 0.2], [215.6, 88.0], [2.156, 0.88], [1e-3, 0.0]])
def test_searches_meet_both_conditions(direction: list[float]) -> None:
    x, p = np.array([-1.2, 1.0]), np.array(direction)
    slope = rosen_der(x) @ p
    for values in ({}, {"jac": ms.grad(valley)}, {"gfk": Tensor(rosen_der(x)), "old_fval": Tensor(rosen(x))}):
        found = optimize.line_search(valley, Tensor(x), Tensor(p), **values)
        assert found.failed is False and found.status == 0
        assert rosen(x + found.a_k * p) <= rosen(x) + 1e-4 * found.a_k * slope
        assert abs(rosen_der(x + found.a_k * p) @ p) <= -0.9 * slope
        np.testing.assert_allclose(found.f_k, rosen(x + found.a_k * p), rtol=1e-12)
        np.testing.assert_allclose(found.g_k.asnumpy(), rosen_der(x + found.a_k * p), atol=1e-9)
    graph = ms.jit(lambda x, p: optimize.line_search(valley, x, p))(Tensor(x), Tensor(p))
    assert float(graph.a_k) == optimize.line_search(valley, Tensor(x), Tensor(p)).a_k
    assert optimize.line_search(lambda x: x.sum(), Tensor(x), Tensor(-np.ones(2))).failed is True


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda x: optimize.minimize(valley, x), ValueError, "you must specify a solver"),
    (lambda x: optimize.minimize(valley, x, method="CG"), ValueError, "'method' must be 'BFGS'"),
    (lambda x: optimize.minimize(valley, x, method="LBFGS"), NotImplementedError, "'LBFGS' is not here"),
    (lambda x: optimize.minimize(valley, [0.0], method="BFGS"), TypeError, "'x0' must be a Tensor"),
    (lambda x: optimize.minimize(valley, Tensor([0, 0]), method="BFGS"), TypeError, "'x0' must be a Tensor of Float32 or Float64"),
    (lambda x: optimize.minimize(valley, Tensor([[0.0]]), method="BFGS"), ValueError, "'x0' must be of 1 dimension"),
    (lambda x: optimize.minimize(valley, x, [1.0], "BFGS"), TypeError, "'args' must be a tuple"),
    (lambda x: optimize.minimize(1, x, method="BFGS"), TypeError, "'func' must be a function"),
    (lambda x: optimize.minimize(valley, x, method="BFGS", jac=True), TypeError, "'jac' must be a function"),
    (lambda x: optimize.minimize(valley, x, method="BFGS", bounds=[(0, 1)]), ValueError, "'bounds' must be None"),
    (lambda x: optimize.minimize(valley, x, method="BFGS", options={"bad": 1}), TypeError, "'options' must be a dict with the keys"),
    (lambda x: optimize.minimize(valley, x, method="BFGS", options={"maxiter": 1.5}), TypeError, "maxiter"),
    (lambda x: optimize.minimize(lambda x: x * x, x, method="BFGS"), ValueError, "must return a Tensor of one element"),
    (lambda x: optimize.line_search(valley, x, Tensor([1.0])), ValueError, "'pk' must be of the dtype and the shape"),
])
def test_a_wrong_minimisation_is_named(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(Tensor(np.zeros(2)))
