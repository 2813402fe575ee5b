"""Order: sorting, the largest few, the smallest and the largest, the median."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.sort import Sort, TopK
from adjoint.ir.ops.sums import Sum
from adjoint.ir.types import F32, F64, I32, I64
from adjoint.ops import parts, picking, reduction
from adjoint.ops.arguments import axis_argument, flag, integer, operand, real, wrong
from adjoint.ops.arithmetic import equal, greater, maximum, where
from adjoint.ops.shapes import expand_dims, moveaxis, reshape, squeeze, swapaxes
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import TRUE, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["aminmax", "argsort", "median", "msort", "nanmedian", "nanquantile", "quantile", "sort", "top_k", "topk"]


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
def kthvalue(input: Any, k: Any, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the k-th smallest element along an axis, counted from 1, and its index."""
    x = operand("KthValue", input)
    along, count = axis_argument("KthValue", dim, x.ndim, "dim"), integer("KthValue", "k", k)
    length = x.shape[along] if x.ndim else 1
    if not 1 <= count <= length:
        raise wrong("KthValue", "k", f"in 1..{length}", count)
    values, places = sort(x, along)
    if x.ndim:
        values, places = (parts.narrow(t, along, count - 1, 1) for t in (values, places))
        if not flag("KthValue", "keepdim", keepdim):
            values, places = squeeze(values, along), squeeze(places, along)
    return values, apply(made(Cast, I64), places)


@fusible
def quantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the numbers below which a share `q` of the elements along an axis lies, between two elements in proportion to their distance.

    input     Float32 or Float64
    q         a number from 0 to 1, or a Tensor of the dtype of `input`: without axes, or of one axis, which then is the first of the result
    axis      None: all elements
    keepdims  keep the axis, or all of them, of size 1

    NaN where there is a NaN along the axis.
    """
    return _quantiles("Quantile", input, q, axis, keepdims, ignore_nan=False)


@fusible
def nanquantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the `quantile` of the elements that are not NaN; NaN where all of them are."""
    return _quantiles("Quantile", input, q, axis, keepdims, ignore_nan=True)


def _quantiles(op: str, input: Any, q: Any, axis: Any, keepdims: Any, *, ignore_nan: bool) -> Tensor:
    x, keep = operand(op, input), flag(op, "keepdims", keepdims)
    if x.dtype not in (F32, F64):
        raise wrong(op, "input", "a Tensor of Float32 or Float64", x, TypeError)
    shares = _shares(op, q, x)
    along = None if axis is None else axis_argument(op, axis, x.ndim)
    rows = reshape(x, (-1,)) if along is None or not x.ndim else moveaxis(x, along, -1)
    if not rows.size:
        raise wrong(op, "input", "of at least 1 element", x)
    ordered, length = sort(rows)[0], rows.shape[-1]
    # Sorted, NaN are behind the numbers.
    numbers = reduction.sum(apply(made(Cast, x.dtype), equal(rows, rows)), -1, True)
    last = maximum(numbers - 1, 0) if ignore_nan else numbers * 0 + (length - 1)
    place = last * reshape(shares, (-1,))
    below = place.floor()
    low, high = (picking.gather_elements(ordered, -1, apply(made(Cast, I64), at)) for at in (below, place.ceil()))
    found = low + (place - below) * (where(greater(place, below), high, low) - low)
    found = where(greater(numbers, 0) if ignore_nan else equal(numbers, length), found, float("nan"))
    out = moveaxis(found, -1, 0)
    if keep:
        out = reshape(out, (out.shape[0], *(1,) * x.ndim)) if along is None else expand_dims(out, along + 1)
    return out if shares.ndim else squeeze(out, 0)


def _shares(op: str, q: Any, x: Tensor) -> Tensor:
    """Return shares from 0 to 1 as a tensor of the dtype of `x`."""
    if not isinstance(q, Tensor):
        share = real(op, "q", q)
        if not 0 <= share <= 1:
            raise wrong(op, "q", "from 0 to 1", q)
        return constant(share, x.dtype)
    if q.dtype is not x.dtype:
        raise wrong(op, "q", f"a float, or of the dtype of 'input', {x.dtype}", q, TypeError)
    if q.ndim > 1 or not q.size:
        raise wrong(op, "q", "a number, or of one axis", q)
    inside = (q >= 0).logical_and(q <= 1)

    def between(given: Tensor) -> None:
        if not given.asnumpy().all():
            raise wrong(op, "q", "from 0 to 1", q)

    checked_on_host(between, inside, conditions=lambda: [(apply(made(Cast, I64), inside), TRUE)])
    return q


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
