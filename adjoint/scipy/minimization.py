"""Steps of `scipy.optimize`: the search along a line, and the quasi-Newton method.  A graph parses them: what ends them depends on tensors.

Nocedal and Wright, Numerical Optimization, second edition: algorithms 3.5 and 3.6, and 6.1.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.types import I32
from adjoint.ops.arithmetic import where
from adjoint.ops.creation import eye, zeros
from adjoint.ops.generated import abs, isfinite, sign, sqrt
from adjoint.ops.linear import matmul, outer
from adjoint.ops.reduction import amax, norm
from adjoint.ops.shapes import reshape, swapaxes
from adjoint.runtime.process.jitted import parsed
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["descended", "number", "searched"]


def number(x: Any) -> Tensor:
    """Return what a function to be minimised has returned, as a Tensor without axes."""
    if not isinstance(x, Tensor) or x.size != 1:
        got = f"a Tensor of shape {x.shape}" if isinstance(x, Tensor) else repr(x)
        raise ValueError(f"A function to be minimised must return a Tensor of one element, but it returned {got}.")
    return reshape(x, ())


@parsed
def searched(both: Any, x: Any, p: Any, f: Any, g: Any, args: Any, c1: float, c2: float, most: int) -> Any:
    """Search a point x + a p that meets the strong conditions of Wolfe, or at least the first one of them.

    both    returns the value and the gradient at a point
    f, g    those at x
    c1, c2  of the conditions
    most    the largest number of points that are tried

    Return a, 0 if no point meets the first condition, the value and the gradient there, whether it meets both, and how many were tried.
    """
    slope = (g * p).sum()
    found = slope > slope
    s = (slope * 0 + 1, slope * 0, f, slope, slope * 0, f, slope, found, slope * 0, f, g, found, zeros((), I32))
    while s[11].logical_not().logical_and(s[12] < most):
        f_a, g_a = both(x + s[0] * p, *args)
        f_a = number(f_a)
        s = _narrowed(s, f_a, g_a, (g_a * p).sum(), f, slope, c1, c2)
    return s[8], s[9], s[10], s[11], s[12]


def _narrowed(s: Any, f: Tensor, g: Tensor, slope: Tensor, start: Tensor, first_slope: Tensor, c1: float, c2: float) -> Any:
    """Return the state of a search after a point at which the value, the gradient and the slope are known.

    A state is the next point; the end `low` of the interval, which meets the first condition, with its value and slope; the other end, with
    its; whether there is an interval; the best point with its value and gradient; whether it meets both conditions; how many were tried.
    """
    a, low, f_low, slope_low, high, f_high, slope_high, bounded, best, f_best, g_best, _, count = s
    beside = (f >= f_low).logical_and(bounded.logical_or(count > 0))
    too_high = (f > start + c1 * a * first_slope).logical_or(beside).logical_or(isfinite(f).logical_not())
    found = (abs(slope) <= -c2 * first_slope).logical_and(too_high.logical_not())
    turns = where(bounded, slope * (high - low) >= 0, slope >= 0)
    now_bounded = bounded.logical_or(too_high).logical_or(turns)
    high, f_high, slope_high = (
        where(too_high, here, where(turns, other, kept))
        for here, other, kept in ((a, low, high), (f, f_low, f_high), (slope, slope_low, slope_high)))
    low, f_low, slope_low = (where(too_high, kept, here) for kept, here in ((low, a), (f_low, f), (slope_low, slope)))
    width = high - low
    mean = slope_low + slope_high - 3 * (f_high - f_low) / width
    root = sqrt(mean * mean - slope_low * slope_high) * sign(width)
    share = 1 - (slope_high + root - mean) / (slope_high - slope_low + 2 * root)  # where the cubic through both ends has its minimum
    inside = isfinite(share).logical_and(share > 0.1).logical_and(share < 0.9)
    following = where(now_bounded, low + where(inside, share, 0.5) * width, 2 * a)
    return (following, low, f_low, slope_low, high, f_high, slope_high, now_bounded, where(too_high, best, a), where(too_high, f_best, f),
            where(too_high, g_best, g), found, count + 1)


def _size(g: Tensor, order: float) -> Tensor:
    return amax(abs(g)) if order == math.inf else norm(g, order)


def _changed(h: Tensor, s: Tensor, y: Tensor) -> Tensor:
    """Return the estimate of the inverse Hessian after a step `s` that changed the gradient by `y`."""
    rho = 1 / (y * s).sum()
    left = eye(h.shape[0], h.shape[0], h.dtype) - rho * outer(s, y)
    return where(isfinite(rho), matmul(matmul(left, h), swapaxes(left, 0, 1)) + rho * outer(s, s), h)


def _identity(x: Tensor) -> Tensor:
    return eye(x.shape[0], x.shape[0], x.dtype)


@parsed
def descended(both: Any, x: Any, args: Any, gtol: float, order: float, maxiter: int, most: int) -> Any:
    """Minimise by the method of Broyden, Fletcher, Goldfarb and Shanno, from x on.

    both     returns the value and the gradient at a point
    gtol     the gradient's size in the norm `order` below which it has converged
    maxiter  the largest number of steps
    most     the largest number of points that are tried in one of them

    Return the point, the value and the gradient there, the estimate of the inverse Hessian, the numbers of steps and of points, and whether
    it has converged.
    """
    f, g = both(x, *args)
    f = number(f)
    h = _identity(x)
    steps, points = zeros((), I32), zeros((), I32) + 1
    stuck = f != f
    while (_size(g, order) >= gtol).logical_and(stuck.logical_not()).logical_and(steps < maxiter):
        p = -matmul(h, g)
        a, f, after, _, tried = searched(both, x, p, f, g, args, 1e-4, 0.9, most)
        s = a * p
        h = _changed(h, s, after - g)
        stuck = a == 0
        x = x + s
        g = after
        steps = steps + 1
        points = points + tried
    return x, f, g, h, steps, points, _size(g, order) < gtol
