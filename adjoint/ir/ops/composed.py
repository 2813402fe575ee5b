"""Elementwise ops that other ops express, too.

Where a gradient is recorded, each op is a kernel and its result is kept.  An op of this file is one kernel, and keeps what it reads alone:
its gradient is that of its steps, which the kernel of the gradient computes again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import family, mistake, operation, sample
from adjoint.ir.ops import recurrent
from adjoint.ir.ops.elementwise import F32_23, Binary, Elementwise, Unary, dtype_of, smooth_binary, smooth_unary
from adjoint.ir.types import F32, F64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Expr, Kernel
    from adjoint.ir.ops.elementwise import Array, Cotangents

__all__ = ["Clip", "Huber", "Hypot", "SmoothL1", "SoftShrink"]


@family
class Composed(Elementwise):
    """An elementwise op whose gradient is that of its steps."""

    def steps(self, b: Builder, *operands: Atom) -> Atom:
        """Append the nodes that compute the op, and return its result."""
        raise NotImplementedError(f"{type(self).__name__}.steps")

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return recurrent.vjp_of_parts(b, lambda inner, *operands: (self.steps(inner, *operands),), node.operands, (ct,))


@operation
class Hypot(Composed, Binary):
    """sqrt(x**2 + y**2), computed in float64, where no square of a narrower type overflows or underflows; infinite beside NaN too.

    x, y      T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * x / result for x, ct * y / result for y, 0 where both are 0; summed over the axes along which they were broadcast
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    cost = 8
    samples = (*smooth_binary((0.5, 2.0), (-2.0, -0.5)),
               sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [0.0, 3e38, 1e-40, 3.0], 1: [-0.0, 1.0, 1e-40, 4.0]}, smooth=False,
                      note="kink at 0, squares beyond the range of float32"))

    def reference(self, x: Array, y: Array) -> Array:
        length = np.sqrt(np.square(x.astype(np.float64)) + np.square(y.astype(np.float64))).astype(x.dtype)
        return np.where(np.isinf(x) | np.isinf(y), x.dtype.type(math.inf), length)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        a, b = (k.let(k.cast(each, F64), "wide") for each in (x, y))
        infinite = k.either(k.call("isinf", a), k.call("isinf", b))
        return k.cast(k.select(infinite, k.literal(math.inf, F64), k.call("sqrt", a * a + b * b)), x.dtype)

    def steps(self, b: Builder, *operands: Atom) -> Atom:
        dtype = dtype_of(operands[0])
        x, y = operands if dtype is F64 else (b.cast(each, to=F64) for each in operands)
        length = b.root_of_sum(b.add(b.square(x), b.square(y)))
        return length if dtype is F64 else b.cast(length, to=dtype)


@operation
class Clip(Composed, Unary):
    """x, or `low` where it is below and `high` where it is above; `high` if `low` is above `high`, and NaN stays.

    at_ends selects the gradient where x is a bound: True, that of x; False, none.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct from `low` to `high`, 0 outside
    errors    TypeError: not floating point
    """

    low: float
    high: float
    at_ends: bool = True
    cost = 2
    samples = (
        *(sample(*s.operands, domain=s.domain, low=-0.5, high=0.75, at_ends=at_ends)
          for at_ends in (True, False) for s in smooth_unary((-0.4, 0.7), (0.9, 2.0), (-2.0, -0.6))),
        *(sample(tensor(F32, (5,)), values={0: [0.0, -0.0, 6.0, math.inf, math.nan]}, low=0.0, high=6.0, at_ends=at_ends, smooth=False,
                 note="the ends") for at_ends in (True, False)),
        sample(F32_23, low=1.0, high=-1.0, smooth=False, note="nothing between"),
    )

    def reference(self, x: Array) -> Array:
        low, high = x.dtype.type(self.low), x.dtype.type(self.high)
        if self.at_ends:
            raised = np.where(x < low, low, x)
            return np.where(raised > high, high, raised)
        return np.where(x <= low, low, np.where(x >= high, high, x))

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        low, high = k.literal(self.low, x.dtype), k.literal(self.high, x.dtype)
        if self.at_ends:
            raised = k.let(k.select(k.less(x, low), low, x), "raised")
            return k.select(k.greater(raised, high), high, raised)
        return k.select(k.less_equal(x, low), low, k.select(k.greater_equal(x, high), high, x))

    def steps(self, b: Builder, *operands: Atom) -> Atom:
        (x,) = operands
        low, high = (b.constant(value, dtype_of(x)) for value in (self.low, self.high))
        if self.at_ends:
            raised = b.select(b.less(x, low), low, x)
            return b.select(b.greater(raised, high), high, raised)
        return b.select(b.less_equal(x, low), low, b.select(b.greater_equal(x, high), high, x))


@family
class _ByWidth(Composed, Unary):
    """A function with a kink, or a seam, at the distance `width` from 0."""

    width: float
    cost = 4

    def infer(self, *operands: Any) -> TensorType:
        if not self.width >= 0:
            raise mistake(self, "width", "at least 0", self.width)
        return super().infer(*operands)


_NEAR_AND_FAR = (
    *(sample(*s.operands, domain=s.domain, width=0.75) for s in smooth_unary((-0.6, 0.6), (0.9, 2.0), (-2.0, -0.9))),
    sample(tensor(F32, (5,)), values={0: [0.75, -0.75, 0.0, math.inf, math.nan]}, width=0.75, smooth=False, note="the seams"),
)


@operation
class SoftShrink(_ByWidth):
    """x moved toward 0 by `width`, or 0 where it is not further away than that, or NaN.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct where the result is not 0
    errors    TypeError: not floating point; ValueError: a width below 0
    """

    width: float = 0.5
    samples = _NEAR_AND_FAR

    def reference(self, x: Array) -> Array:
        width = x.dtype.type(self.width)
        return np.where(x > width, x - width, np.where(x < -width, x + width, x.dtype.type(0)))

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        width = k.literal(self.width, x.dtype)
        return k.select(k.greater(x, width), x - width, k.select(k.less(x, -width), x + width, k.literal(0.0, x.dtype)))

    def steps(self, b: Builder, *operands: Atom) -> Atom:
        (x,) = operands
        zero, width, less = (b.constant(value, dtype_of(x)) for value in (0.0, self.width, -self.width))
        below = b.select(b.less(x, less), b.sub(x, less), zero)
        return b.select(b.greater(x, width), b.sub(x, width), below)


@operation
class SmoothL1(_ByWidth):
    """0.5 x**2 / width where |x| is below `width`, |x| - 0.5 width from there on.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * x / width, or ct with the sign of x
    errors    TypeError: not floating point; ValueError: a width that is not above 0
    """

    width: float = 1.0
    samples = _NEAR_AND_FAR

    def infer(self, *operands: Any) -> TensorType:
        if not self.width > 0:
            raise mistake(self, "width", "above 0", self.width)
        return super().infer(*operands)

    def reference(self, x: Array) -> Array:
        width, share, half = (x.dtype.type(value) for value in (self.width, 0.5 / self.width, 0.5 * self.width))
        return np.where(np.abs(x) < width, x * x * share, np.abs(x) - half)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        width, share, half = (k.literal(value, x.dtype) for value in (self.width, 0.5 / self.width, 0.5 * self.width))
        distance = k.let(k.call("fabs", x), "distance")
        return k.select(k.less(distance, width), distance * distance * share, distance - half)

    def steps(self, b: Builder, *operands: Atom) -> Atom:
        (x,) = operands
        width, share, half = (b.constant(value, dtype_of(x)) for value in (self.width, 0.5 / self.width, 0.5 * self.width))
        distance = b.abs(x)
        return b.select(b.less(distance, width), b.mul(b.square(distance), share), b.sub(distance, half))


@operation
class Huber(_ByWidth):
    """0.5 x**2 where |x| is below `width`, width * (|x| - 0.5 width) from there on.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * x, or ct * width with the sign of x
    errors    TypeError: not floating point; ValueError: a width below 0
    """

    width: float = 1.0
    samples = _NEAR_AND_FAR

    def reference(self, x: Array) -> Array:
        width, half = (x.dtype.type(value) for value in (self.width, 0.5 * self.width))
        return np.where(np.abs(x) < width, x * x * x.dtype.type(0.5), (np.abs(x) - half) * width)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        width, half = (k.literal(value, x.dtype) for value in (self.width, 0.5 * self.width))
        distance = k.let(k.call("fabs", x), "distance")
        return k.select(k.less(distance, width), distance * distance * 0.5, (distance - half) * width)

    def steps(self, b: Builder, *operands: Atom) -> Atom:
        (x,) = operands
        width, half, part = (b.constant(value, dtype_of(x)) for value in (self.width, 0.5 * self.width, 0.5))
        distance = b.abs(x)
        return b.select(b.less(distance, width), b.mul(b.square(distance), part), b.mul(b.sub(distance, half), width))
