"""`mindspore.scipy.optimize`: the minimum of a function, searches along a line, and assignments, in eager mode and in graphs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.op import made
from adjoint.ir.ops.assignment import LinearSumAssignment
from adjoint.ir.types import BF16, F32, F64, I64
from adjoint.ops.arguments import flag, integer, operand, real, wrong
from adjoint.ops.arithmetic import where
from adjoint.ops.shapes import reshape
from adjoint.runtime.gradients.grad import value_and_grad
from adjoint.runtime.tensor.run_time_checks import called, emitting
from adjoint.runtime.tensor.tensor import Tensor, apply
from adjoint.scipy.minimization import descended, number, searched

__all__ = ["LineSearchResults", "OptimizeResults", "line_search", "linear_sum_assignment", "minimize"]


class OptimizeResults(NamedTuple):
    """What `minimize` returns; outside of graphs the numbers are Python's.

    x         the point with the least value
    success   whether the gradient there is small enough
    status    0 for success, 1 after `maxiter` steps, 2 where no step makes the value less
    fun, jac  the value and the gradient there
    hess_inv  the estimate of the inverse Hessian
    nfev, njev, nit  the numbers of values and of gradients that were computed, and of steps
    """

    x: Tensor
    success: Any
    status: Any
    fun: Any
    jac: Tensor
    hess_inv: Tensor
    nfev: Any
    njev: Any
    nit: Any


class LineSearchResults(NamedTuple):
    """What `line_search` returns; outside of graphs the numbers are Python's.

    failed         whether no point meets both conditions
    nit, k         the number of points that were tried
    nfev, ngev     the numbers of values and of gradients that were computed
    a_k, f_k, g_k  the share of the direction, and the value and the gradient there: if failed, of the least value found, or a_k = 0
    status         0, or 1 if failed
    """

    failed: Any
    nit: Any
    nfev: Any
    ngev: Any
    k: Any
    a_k: Any
    f_k: Any
    g_k: Tensor
    status: Any


def _plain(x: Any) -> Any:
    """Return a number of a tensor as Python's, outside of graphs."""
    return x.item() if isinstance(x, Tensor) and not emitting() else x


def _point(op: str, x: Any, argument: str) -> Tensor:
    given = operand(op, x, argument)
    if given.dtype not in (F32, F64):
        raise wrong(op, argument, "a Tensor of Float32 or Float64", given, TypeError)
    if given.ndim != 1 or not given.size:
        raise wrong(op, argument, "of 1 dimension, with elements", given)
    return given


def _function(op: str, function: Any, argument: str) -> Any:
    if not callable(function):
        raise wrong(op, argument, "a function", repr(function), TypeError)
    return function


def _value_and_gradient(op: str, function: Any, argument: str, jac: Any) -> Any:
    """Return a function that returns the value and the gradient at a point."""
    _function(op, function, argument)
    if jac is None:
        return value_and_grad(function)
    _function(op, jac, "jac")

    def both(x: Any, *args: Any) -> Any:
        return called(function, x, *args), called(jac, x, *args)

    return both


def minimize(func: Callable[..., Any], x0: Tensor, args: tuple[Any, ...] = (), method: str | None = None,
             jac: Callable[..., Any] | None = None, hess: Any = None, hessp: Any = None, bounds: Any = None, constraints: Any = (),
             tol: float | None = None, callback: Any = None, options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """Return the point from `x0` on at which a function has its minimum, by the method of Broyden, Fletcher, Goldfarb and Shanno.

    func     func(x, *args), which returns a Tensor of one element
    x0       a Tensor (n,) of Float32 or Float64
    args     a tuple of further arguments of `func`
    method   "BFGS", which must be given; "LBFGS" and "LAGRANGE" of MindSpore are not here: NotImplementedError
    jac      jac(x, *args), which returns the gradient; None for that of `func`
    tol      `gtol`, where the options have none; MindSpore does not read it
    options  maxiter, the largest number of steps, 200 n by default; gtol, the size of the gradient below which it ends, 1e-5 by default;
             norm, of the gradient, inf by default; line_search_maxiter, the largest number of points along a line, 10 by default
    hess, hessp, bounds, constraints, callback  None or (); ValueError otherwise
    """
    op = "minimize"
    if method is None:
        raise ValueError(f"For '{op}', the argument 'method' must be 'BFGS', but got None: you must specify a solver.")
    if isinstance(method, str) and method.lower() in ("lbfgs", "lagrange"):
        raise NotImplementedError(f"For '{op}', the argument 'method' of {method!r} is not here: 'BFGS' is, and SciPy has more.")
    if not isinstance(method, str) or method.lower() != "bfgs":
        raise wrong(op, "method", "'BFGS'", repr(method))
    if not isinstance(args, tuple):
        raise wrong(op, "args", "a tuple", repr(args), TypeError)
    for name, value in (("hess", hess), ("hessp", hessp), ("bounds", bounds), ("constraints", constraints), ("callback", callback)):
        if value is not None and value != ():
            raise wrong(op, name, "None", repr(value))
    x = _point(op, x0, "x0")
    if options is not None and not isinstance(options, Mapping):
        raise wrong(op, "options", "a dict", repr(options), TypeError)
    chosen = {"maxiter": None, "gtol": 1e-5 if tol is None else real(op, "tol", tol), "norm": math.inf, "line_search_maxiter": 10}
    for name, value in (options or {}).items():
        if name not in chosen:
            raise wrong(op, "options", f"a dict with the keys {', '.join(chosen)}", repr(name), TypeError)
        chosen[name] = value
    steps = 200 * x.shape[0] if chosen["maxiter"] is None else integer(op, "options['maxiter']", chosen["maxiter"])
    gtol, order = real(op, "options['gtol']", chosen["gtol"]), real(op, "options['norm']", chosen["norm"])
    points = integer(op, "options['line_search_maxiter']", chosen["line_search_maxiter"])
    found = called(descended, _value_and_gradient(op, func, "func", jac), x, args, gtol, order, steps, points)
    at, value, gradient, inverse, nit, count, converged = found
    status = where(converged, 0, where(nit >= steps, 1, 2))
    counted, taken = _plain(count), _plain(nit)
    return OptimizeResults(at, _plain(converged), _plain(status), _plain(value), gradient, inverse, counted, counted, taken)


def line_search(f: Callable[..., Any], xk: Tensor, pk: Tensor, jac: Callable[..., Any] | None = None, gfk: Tensor | None = None,
                old_fval: Any = None, old_old_fval: Any = None, c1: float = 1e-4, c2: float = 0.9, maxiter: int = 20) -> LineSearchResults:
    """Return a point xk + a pk that meets the strong conditions of Wolfe, for a direction in which a function becomes less.

    f         f(x), which returns a Tensor of one element
    xk, pk    a point and a direction, Tensors (n,) of Float32 or Float64
    jac       jac(x), which returns the gradient; None for that of `f`
    gfk       the gradient at xk, and `old_fval` the value there; None to compute them
    old_old_fval  without effect
    c1, c2    f(xk + a pk) <= f(xk) + c1 a s, and at most c2 times the slope s at xk is left
    maxiter   the largest number of points
    """
    op = "line_search"
    x, p = _point(op, xk, "xk"), _point(op, pk, "pk")
    if p.dtype is not x.dtype or p.shape != x.shape:
        raise wrong(op, "pk", f"of the dtype and the shape of 'xk', {x.dtype} and {x.shape}", p)
    both = _value_and_gradient(op, f, "f", jac)
    first, second, most = real(op, "c1", c1), real(op, "c2", c2), integer(op, "maxiter", maxiter)
    before, value, gradient = 0, old_fval, gfk
    if gfk is None or old_fval is None:
        value, gradient = called(both, x)
        before = 1
    value = value if old_fval is None else operand(op, old_fval, "old_fval")
    gradient = gradient if gfk is None else _point(op, gfk, "gfk")
    a, least, there, met, count = called(searched, both, x, p, number(value), gradient, (), first, second, most)
    failed = met.logical_not()
    return LineSearchResults(
        _plain(failed), _plain(count), _plain(count + before), _plain(count + before), _plain(count), _plain(a), _plain(least), there,
        _plain(where(failed, 1, 0)))


def linear_sum_assignment(cost_matrix: Tensor, maximize: bool, dimension_limit: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the rows and the columns of the pairs with the least sum of costs, no row and no column twice, as many as there can be.

    cost_matrix      (m, n), real numbers or bools; computed in Float64; infinity forbids a pair
    maximize         True for the largest sum, where minus infinity forbids a pair
    dimension_limit  only so many columns are used: an Int64 Tensor of one element, from 1 to n; None for all

    Both are Int64, of min(m, n) elements, rows ascending; where the limit leaves fewer pairs, the last elements are -1.  RuntimeError for a
    limit out of range, for NaN, and if too few pairs are not forbidden.
    """
    op = "LinearSumAssignment"
    cost, largest = operand(op, cost_matrix, "cost_matrix"), flag(op, "maximize", maximize)
    if cost.dtype.is_complex or cost.dtype is BF16:
        raise wrong(op, "cost_matrix", "a Tensor of real numbers or bools, and not of BFloat16", cost, TypeError)
    if cost.ndim != 2:
        raise wrong(op, "cost_matrix", "of 2 dimensions", cost)
    if dimension_limit is None:
        limit = Tensor(cost.shape[1], I64)
    else:
        limit = operand(op, dimension_limit, "dimension_limit")
        if limit.dtype is not I64:
            raise wrong(op, "dimension_limit", "a Tensor of Int64", limit, TypeError)
        if limit.size != 1:
            raise wrong(op, "dimension_limit", "of one element", limit)
        limit = reshape(limit, ())
    return apply(made(LinearSumAssignment, largest), cost.astype(F64, copy=False), limit)


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
