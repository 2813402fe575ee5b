"""Order: sorting, the largest few, the smallest and the largest, the median."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.sort import Sort, TopK
from adjoint.ir.ops.sums import Sum
from adjoint.ir.types import I32, I64
from adjoint.ops import parts, picking, reduction
from adjoint.ops.arguments import axis_argument, flag, integer, operand, wrong
from adjoint.ops.arithmetic import equal, greater, where
from adjoint.ops.shapes import squeeze, swapaxes
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["aminmax", "argsort", "median", "msort", "nanmedian", "sort", "top_k", "topk"]


@fusible
def sort(input_x: Any, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Return the elements in order along an axis, equal ones in their original order, and their indices (Int32).

    NaN counts as the largest, 0.0 and -0.0 as equal.
    """
    x = operand("Sort", input_x, "input_x")
    along = axis_argument("Sort", axis, x.ndim)
    op = made(Sort, flag("Sort", "descending", descending))
    if x.ndim == 0:
        return x, constant(0, I32)
    if along == x.ndim - 1:
        return apply(op, x)
    values, places = apply(op, swapaxes(x, along, -1))
    return swapaxes(values, along, -1), swapaxes(places, along, -1)


@fusible
def topk(input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the `k` largest (or smallest) elements along an axis, and their indices (Int32).

    sorted  whether they are in order; otherwise in any order, which here is the same
    """
    x = operand("TopK", input)
    flag("TopK", "sorted", sorted)
    along = axis_argument("TopK", -1 if dim is None else dim, x.ndim, "dim")
    count = integer("TopK", "k", k)
    if not count >= 0 or (x.type.is_static and count > (x.shape[along] if x.ndim else 1)):
        raise wrong("TopK", "k", f"in 0..{x.shape[along] if x.ndim else 1}", count)
    descending = flag("TopK", "largest", largest)
    if x.ndim == 0:
        return sort(x, along, descending)
    if not count:
        begin, size = (0,) * x.ndim, tuple(0 if a == along else d for a, d in enumerate(x.shape))
        return parts.slice(x, begin, size), apply(made(Cast, I32), parts.slice(x, begin, size))
    op = made(TopK, count, descending)
    if along == x.ndim - 1:
        return apply(op, x)
    values, places = apply(op, swapaxes(x, along, -1))
    return swapaxes(values, along, -1), swapaxes(places, along, -1)


@fusible
def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the `k` largest elements along the last axis, and their indices (Int32); `sorted` as for `topk`."""
    return topk(input_x, k, sorted=sorted)


@fusible
def median(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the median element along an axis, the smaller of two, and its index (Int64); NaN, and the index of the first one, where there
    are any."""
    return _middle(input, axis, keepdims, ignore_nan=False)


@fusible
def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the median along an axis of the elements that are not NaN, the smaller of two, and its index (Int64)."""
    return _middle(input, axis, keepdims, ignore_nan=True)


def _middle(input: Any, axis: Any, keepdims: Any, *, ignore_nan: bool) -> tuple[Tensor, Tensor]:
    x, keep = operand("Median", input), flag("Median", "keepdims", keepdims)
    along = axis_argument("Median", axis, x.ndim)
    values, places = sort(x, along)
    places = apply(made(Cast, I64), places)
    if x.ndim == 0:
        return values, places
    length = x.shape[along]
    if not length:
        raise wrong("Median", "input", f"of at least 1 element along axis {along}", x)
    middle = (length - 1) // 2
    if x.dtype.is_float:
        # Sorted, NaN are behind the numbers.
        numbers = apply(made(Sum, (along,), True), apply(made(Cast, I64), equal(x, x)))
        chosen = where(greater(numbers, 0), (numbers - 1) // 2, 0) if ignore_nan else where(equal(numbers, length), middle, numbers)
        values, places = picking.gather_elements(values, along, chosen), picking.gather_elements(places, along, chosen)
    else:
        begin = tuple(middle if a == along else 0 for a in range(x.ndim))
        size = tuple(1 if a == along else d for a, d in enumerate(x.shape))
        values, places = parts.slice(values, begin, size), parts.slice(places, begin, size)
    return (values, places) if keep else (squeeze(values, along), squeeze(places, along))


@fusible
def msort(input: Any) -> Tensor:
    """Return the elements in order along the first axis."""
    return sort(input, 0)[0]


@fusible
def aminmax(input: Any, *, axis: Any = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the smallest and the largest element along an axis; without an axis, of the whole tensor."""
    x, keep = operand("AMinMax", input), flag("AMinMax", "keepdims", keepdims)
    if axis is None:
        return reduction.amin(x, None, keep), reduction.amax(x, None, keep)
    along = axis_argument("AMinMax", axis, x.ndim)
    return reduction.min(x, along, keep)[0], reduction.max(x, along, keep)[0]


@fusible
def argsort(input: Any, axis: int = -1, descending: bool = False) -> Tensor:
    """Return the indices (Int32) that sort an axis."""
    return sort(input, axis, descending)[1]
