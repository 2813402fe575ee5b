"""Operators as objects that reduce, or order, along axes."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.along import ArgMax, ArgMin
from adjoint.ir.ops.along import CumSum as CumSumOp
from adjoint.ir.ops.extremes import ReduceMax as ReduceMaxOp
from adjoint.ir.ops.extremes import ReduceMin as ReduceMinOp
from adjoint.ir.ops.sums import All, Any_, Mean, Prod, Sum
from adjoint.ir.types import BOOL, F32, I32, I64, DType
from adjoint.ops import arithmetic, ordering, reduction, shapes
from adjoint.ops.arguments import axes_argument, axis_argument, dtype_or, flag, integer, operand, real, single, wrong
from adjoint.ops.primitive import Plain, Primitive
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "CumSum", "FloatStatus", "L2Loss", "L2Normalize", "LpNorm", "ReduceAll",
    "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Sort", "TopK",
]


class _Reduce(Primitive):
    """A reduction over `axis`: () or [] for all axes, an int, or several."""

    def __init__(self, keep_dims: bool = False):
        super().__init__(keep_dims=flag(type(self).__name__, "keep_dims", keep_dims))

    def _axes(self, x: Tensor, axis: Any) -> tuple[int, ...]:
        return axes_argument(self.name, axis, x.ndim)


class ReduceSum(_Reduce):
    """The sum over axes, in the operand's dtype.  With `skip_mode` an empty tuple of axes means none."""

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False):
        super().__init__(keep_dims)
        self.add_prim_attr("skip_mode", flag("ReduceSum", "skip_mode", skip_mode))

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceSum", x, "x")
        if self.skip_mode and isinstance(axis, (tuple, list)) and not axis:
            return arithmetic.identity(x)
        axes = self._axes(x, axis)
        return apply(made(Any_ if x.dtype is BOOL else Sum, axes, self.keep_dims), x)


class FloatStatus(Primitive):
    """Float32 of shape (1,): 1 when a number is not finite, else 0; raise TypeError for a tensor that is not of floats."""

    def __init__(self) -> None:
        super().__init__()

    def __call__(self, x: Any) -> Tensor:
        x = operand("FloatStatus", x, "x")
        if not x.dtype.is_float:
            raise wrong("FloatStatus", "x", "a Tensor of floats", x, TypeError)
        return arithmetic.logical_not(reduction.all(arithmetic.isfinite(x))).astype(F32).reshape((1,))


class ReduceMean(_Reduce):
    """The mean over axes; of integers in their dtype, truncated."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMean", x, "x")
        if x.dtype.is_float:
            return apply(made(Mean, self._axes(x, axis), self.keep_dims), x)
        return reduction.mean(x, axis, self.keep_dims)


class ReduceProd(_Reduce):
    """The product over axes, in the operand's dtype."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceProd", x, "x")
        axes = self._axes(x, axis)
        return apply(made(All if x.dtype is BOOL else Prod, axes, self.keep_dims), x)


class ReduceMax(_Reduce):
    """The largest element over axes; equal ones share the gradient."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMax", x, "x")
        axes = self._axes(x, axis)
        return apply(made(Any_ if x.dtype is BOOL else ReduceMaxOp, axes, self.keep_dims), x)


class ReduceMin(_Reduce):
    """The smallest element over axes; equal ones share the gradient."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMin", x, "x")
        axes = self._axes(x, axis)
        return apply(made(All if x.dtype is BOOL else ReduceMinOp, axes, self.keep_dims), x)


class ReduceAll(_Reduce):
    """Whether all elements over axes are true."""

    def __call__(self, input: Any, axis: Any = None) -> Tensor:
        return reduction.all(input, axis, self.keep_dims)


class ReduceAny(_Reduce):
    """Whether an element over axes is true."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return reduction.any(x, axis, self.keep_dims)


class _Argument(Primitive):
    """The index of an extreme along an axis."""

    place: Any

    def __init__(self, axis: int = -1, output_type: DType = I32):
        name = type(self).__name__
        super().__init__(axis=integer(name, "axis", axis), output_type=dtype_or(name, output_type, I32))

    def _found(self, x: Any) -> Tensor:
        x = operand(self.name, x, "input_x")
        place = axis_argument(self.name, self.axis, x.ndim)
        return apply(made(self.place, place, self.output_type), x) if x.ndim else constant(0, self.output_type)


class Argmax(_Argument):
    """The index of the largest element along an axis, the first of equal ones."""

    place = ArgMax

    def __call__(self, input_x: Any) -> Tensor:
        return self._found(input_x)


class Argmin(_Argument):
    """The index of the smallest element along an axis, the first of equal ones."""

    place = ArgMin

    def __call__(self, x: Any) -> Tensor:
        return self._found(x)


class ArgMaxWithValue(Primitive):
    """The index (Int64) of the largest element along an axis, and the element."""

    def __init__(self, axis: int = 0, keep_dims: bool = False):
        super().__init__(axis=integer("ArgMaxWithValue", "axis", axis), keep_dims=flag("ArgMaxWithValue", "keep_dims", keep_dims))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        values, places = reduction.chosen(ArgMax, input, self.axis, self.keep_dims, I64)
        return places, values


class ArgMinWithValue(Primitive):
    """The index (Int64) of the smallest element along an axis, and the element."""

    def __init__(self, axis: int = 0, keep_dims: bool = False):
        super().__init__(axis=integer("ArgMinWithValue", "axis", axis), keep_dims=flag("ArgMinWithValue", "keep_dims", keep_dims))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        values, places = reduction.chosen(ArgMin, input, self.axis, self.keep_dims, I64)
        return places, values


class CumSum(Primitive):
    """The running sum along an axis; `exclusive` leaves each element itself out, `reverse` runs from the end."""

    def __init__(self, exclusive: bool = False, reverse: bool = False):
        super().__init__(exclusive=flag("CumSum", "exclusive", exclusive), reverse=flag("CumSum", "reverse", reverse))

    def __call__(self, input: Any, axis: Any) -> Tensor:
        x = operand("CumSum", input)
        place = axis_argument("CumSum", axis, x.ndim)
        return apply(made(CumSumOp, place, self.exclusive, self.reverse), x)


class L2Loss(Plain):
    """Half the sum of squares."""

    def __call__(self, input_x: Any) -> Tensor:
        return reduction.sum(arithmetic.square(operand("L2Loss", input_x, "input_x"))) * 0.5


class L2Normalize(Primitive):
    """The input divided by the length of its vectors along an axis; the square of a length counts as at least `epsilon`."""

    def __init__(self, axis: Any = 0, epsilon: float = 0.0001):
        super().__init__(axis=axis, epsilon=real("L2Normalize", "epsilon", epsilon))

    def __call__(self, x: Any) -> Tensor:
        total = reduction.sum(arithmetic.square(single(operand("L2Normalize", x, "x"))), self.axis, True)
        return x * arithmetic.rsqrt(arithmetic.maximum(total, self.epsilon)).astype(x.dtype, copy=False)


class LpNorm(Primitive):
    """(sum |x|**p)**(1/p) over axes, at least `epsilon`.

    p        an int of at least 1
    epsilon  what a smaller norm becomes, with a gradient of 0
    """

    def __init__(self, axis: Any, p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12):
        super().__init__(axis=axis, p=integer("LpNorm", "p", p), keep_dims=flag("LpNorm", "keep_dims", keep_dims),
                         epsilon=real("LpNorm", "epsilon", epsilon))
        if self.p < 1:
            raise wrong("LpNorm", "p", "at least 1", p)

    def __call__(self, input: Any) -> Tensor:
        x = operand("LpNorm", input)
        if not x.dtype.is_float:
            raise wrong("LpNorm", "input", "a Tensor of a floating point type", x, TypeError)
        axes = axes_argument("LpNorm", self.axis, x.ndim)
        norm = reduction.power_norm(x, self.p, axes, True)
        kept = arithmetic.where(norm > self.epsilon, norm, self.epsilon).astype(x.dtype, copy=False)
        return kept if self.keep_dims else shapes.reshape(kept, tuple(d for axis, d in enumerate(x.shape) if axis not in axes))


class TopK(Primitive):
    """The `k` largest elements along the last axis, and their indices."""

    def __init__(self, sorted: bool = True):
        super().__init__(sorted=flag("TopK", "sorted", sorted))

    def __call__(self, input_x: Any, k: Any) -> tuple[Tensor, Tensor]:
        return ordering.top_k(input_x, k, self.sorted)


class Sort(Primitive):
    """The elements in order along an axis, and their indices."""

    def __init__(self, axis: int = -1, descending: bool = False):
        super().__init__(axis=integer("Sort", "axis", axis), descending=flag("Sort", "descending", descending))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return ordering.sort(x, self.axis, self.descending)
