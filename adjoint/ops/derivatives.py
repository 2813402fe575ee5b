"""Derivatives of high order along a curve, by differentiating along it again and again.

With x(t) = x + s1 t + s2 t^2 / 2 + ..., whose derivatives at t = 0 are s1, s2, ..., these are the derivatives of f(x(t)) there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.types import F32, I32, I64
from adjoint.ops.arguments import float_tensor, integer, operand, wrong
from adjoint.ops.creation import ones_like
from adjoint.ops.parts import stack, unstack
from adjoint.runtime.cells.nested_gradients import gradients_like
from adjoint.runtime.gradients.products import jvp
from adjoint.runtime.tensor.structure import RESULTS, leaves
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["derivative", "jet"]

HIGHEST = 32
"""The highest order: each takes about three times the work of the one before."""


def jet(fn: Any, primals: Any, series: Any) -> tuple[Any, Any]:
    """Return fn(*primals), and its derivatives along a curve through the primals.

    fn       a function or Cell of Tensors, which returns a Tensor, or a tuple, list or dict of them
    primals  a Tensor of floats, or a tuple of them, one for each argument; one of int32 or int64 is used as float32
    series   for each of them the derivatives of the curve, [order, *shape]; one of the primal's own shape is the first alone
    result   (outputs, series), the latter with the derivatives of each output, [order, *shape]
    """
    op = "jet"
    _check(op, fn)
    points, curves = (tuple(x) if isinstance(x, (tuple, list)) else (x,) for x in (primals, series))
    points = tuple(float_tensor(op, _floating(x), "primals") for x in points)
    if len(points) != len(curves):
        raise wrong(op, "series", f"a Tensor for each of the {len(points)} primals", len(curves))
    steps: list[Sequence[Tensor]] = []
    for point, curve in zip(points, curves, strict=True):
        given = operand(op, curve, "series")
        given = _floating(given)
        if given.dtype is not point.dtype:
            raise wrong(op, "series", f"of the dtype of 'primals', {point.dtype}", given, TypeError)
        if given.shape == point.shape:
            steps.append((given,))
        elif given.ndim == point.ndim + 1 and given.shape[1:] == point.shape and 0 < given.shape[0] <= HIGHEST:
            steps.append(unstack(given, 0))
        else:
            raise wrong(op, "series", f"of shape [order, ...] with {point.shape}, of an order in 1..{HIGHEST}", given)
    if not points:
        raise wrong(op, "primals", "at least one Tensor", primals)
    orders = {len(own) for own in steps}
    if len(orders) != 1:
        raise wrong(op, "series", "of one order", sorted(orders))
    output, found = _along(fn, points, steps, orders.pop())
    return output, _by_output(found, lambda parts: stack(parts, 0))


def derivative(fn: Any, primals: Any, order: Any) -> tuple[Any, Any]:
    """Return fn(*primals), and its derivative of an order along the direction in which all elements of the primals grow alike.

    fn       a function or Cell of Tensors, which returns a Tensor, or a tuple, list or dict of them
    primals  a Tensor of floats, or a tuple of them, one for each argument; one of int32 or int64 is used as float32
    order    an int in 1..32; each order takes about three times the work of the one before
    """
    op = "derivative"
    _check(op, fn)
    points = tuple(float_tensor(op, _floating(x), "primals") for x in (primals if isinstance(primals, (tuple, list)) else (primals,)))
    if not points:
        raise wrong(op, "primals", "at least one Tensor", primals)
    if not 1 <= (count := integer(op, "order", order)) <= HIGHEST:
        raise wrong(op, "order", f"in 1..{HIGHEST}", count)
    output, found = _along(fn, points, [(ones_like(x),) for x in points], count)
    return output, _by_output(found, lambda parts: parts[-1])


def _floating(x: Any) -> Any:
    """Return float32 for a Tensor of int32 or int64, which MindSpore allows here; what is something else as it is."""
    return x.astype(F32) if isinstance(x, Tensor) and x.dtype in (I32, I64) else x


def _check(op: str, fn: Any) -> None:
    if not callable(fn):
        raise wrong(op, "fn", "a function or a Cell", fn, TypeError)


def _along(fn: Any, points: Sequence[Tensor], steps: Sequence[Sequence[Tensor]], order: int) -> tuple[Any, list[Any]]:
    """Return the value of a function, and its derivatives up to an order, on the curve with these derivatives at a point."""
    start = constant(0.0, points[0].dtype)

    def on_curve(t: Tensor) -> tuple[Any, ...]:
        moved: list[Tensor] = []
        for point, own in zip(points, steps, strict=True):
            for number, step in enumerate(own, 1):
                power = t
                for _ in range(number - 1):
                    power = power * t
                point = point + step * (power * (1.0 / math.factorial(number))).astype(point.dtype, copy=False)
            moved.append(point)
        return (fn(*moved),)

    rule = on_curve
    for _ in range(order):
        rule = _with_one_more(rule)
    output, *found = rule(start)
    return output, found


def _with_one_more(rule: Callable[[Tensor], tuple[Any, ...]]) -> Callable[[Tensor], tuple[Any, ...]]:
    """Return the function that computes a value and its derivatives as `rule` does, and then the derivative of the last one."""

    def derived(t: Tensor) -> tuple[Any, ...]:
        found, along = jvp(rule, t, ones_like(t))
        return *found, along[-1]

    return derived


def _by_output(found: Sequence[Any], join: Callable[[Sequence[Tensor]], Tensor]) -> Any:
    """Return the derivatives, whose structure is that of the outputs, with one tensor for each output."""
    joined = [join(parts) for parts in zip(*(leaves(entry, Tensor, RESULTS) for entry in found), strict=True)]
    return gradients_like(found[0], joined, RESULTS)
