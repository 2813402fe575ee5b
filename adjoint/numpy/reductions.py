"""Reductions over axes: sums, means, extremes and their indices, variance, cumulative sums and products.

`axis` is None for all axes, an int, or a tuple or list of ints.  Means and extremes of integers keep their dtype; sums of them are Int64.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.types import BOOL, F32, I8, I16, I32, U8, U16, U32, DType
from adjoint.numpy.conversion import array_like, in_dtype, real_array_like
from adjoint.numpy.dtypes import checked_dtype, promoted_dtype
from adjoint.ops import arithmetic, reduction
from adjoint.ops.arguments import axes_argument, axis_argument, flag, integer, operand, wrong
from adjoint.ops.creation import full_like
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.memory.finite_results import finite_ok
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "amax", "amin", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum", "max", "mean", "min", "nancumsum", "nanmax",
    "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "ptp", "std", "sum", "var",
]


def _dtype(op: str, dtype: Any) -> DType | None:
    return None if dtype is None else checked_dtype(op, dtype)


# Sums and means ------------------------------------------------------------------------------------------------------


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """Return the sum over axes, plus `initial`; for bools and signed integers in Int64, unless `dtype` is given."""
    total = reduction.sum(array_like("sum", a, "a"), axis, keepdims, dtype=_dtype("sum", dtype))
    return total if initial is None else total + initial


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """Return the mean over axes; for integers in their own dtype, truncated."""
    return in_dtype(reduction.mean(array_like("mean", a, "a"), axis, keepdims), dtype)


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """Return the mean over axes, truncated for integers; with weights, the weighted sum divided by the sum of the weights.

    weights   a Tensor of the shape of `x`, or of one axis for the one axis given
    returned  whether the sum of the weights is returned too, in the shape of the mean
    """
    given = operand("average", x, "x")
    axes = axes_argument("average", axis, given.ndim)
    if weights is None:
        found = reduction.mean(given, axes)
        total = full_like(found, math.prod(given.shape[a] for a in axes))
    else:
        by = operand("average", weights, "weights")
        if by.shape != given.shape:
            if by.ndim != 1 or len(axes) != 1 or axis is None:
                raise wrong("average", "weights", f"of the shape of 'x', {given.shape}, or of one dimension for one 'axis'", by, TypeError)
            by = reshape(by, tuple(by.size if a == axes[0] else 1 for a in range(given.ndim)))
        total = reduction.sum(by, axes)
        found = reduction.sum(given * by, axes) / total
        total = broadcast_to(total, found.shape)
    return (found, total) if flag("average", "returned", returned) else found


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return how many elements over axes are not 0, Int32."""
    return reduction.count_nonzero(operand("count_nonzero", x, "x"), () if axis is None else axis, keepdims)


# Extremes ------------------------------------------------------------------------------------------------------------


def _extreme(op: str, rule: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Tensor:
    x = array_like(op, a, "a")
    if isinstance(where, Tensor) and initial is None:
        raise wrong(op, "initial", "a number where 'where' is given", initial)
    if not isinstance(where, (bool, Tensor)):
        raise wrong(op, "where", "a Tensor of bools", where, TypeError)
    return rule(x, axis, keepdims, initial=initial, where=where if isinstance(where, Tensor) else None)


def amax(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """Return the largest element over axes, or `initial` if larger; `where` selects the elements that count, and requires `initial`."""
    return _extreme("amax", reduction.amax, a, axis, keepdims, initial, where)


def amin(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """Return the smallest element over axes, or `initial` if smaller; `where` selects the elements that count, and requires `initial`."""
    return _extreme("amin", reduction.amin, a, axis, keepdims, initial, where)


max, min = amax, amin


def argmax(a: Any, axis: Any = None) -> Tensor:
    """Return the Int64 index of the largest element, the first of equal ones; without an axis, in the flattened array."""
    return reduction.argmax(array_like("argmax", a, "a"), axis)


def argmin(a: Any, axis: Any = None) -> Tensor:
    """Return the Int32 index of the smallest element, the first of equal ones; without an axis, in the flattened array."""
    return reduction.argmin(array_like("argmin", a, "a"), axis)


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the difference between the largest and the smallest element over axes."""
    return reduction.ptp(operand("ptp", x, "x"), axis, keepdims)


# Variance ------------------------------------------------------------------------------------------------------------


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the standard deviation over axes: the square root of `var`."""
    return reduction.std(_numbers("std", x), axis, ddof, keepdims)


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the mean squared distance from the mean over axes, divided by the count less `ddof`; Float32 for integers."""
    return reduction.var(_numbers("var", x), axis, ddof, keepdims)


def _numbers(op: str, x: Any) -> Tensor:
    given = array_like(op, x)
    if given.dtype is BOOL:
        raise wrong(op, "x", "a Tensor of numbers, such as `x.astype(float32)`", given, RuntimeError)
    return given


# Without NaN ---------------------------------------------------------------------------------------------------------


def _filled(op: str, a: Any, filling: float) -> Tensor:
    """Return the array with NaN replaced by a number."""
    x = real_array_like(op, a, "a")
    return arithmetic.where(arithmetic.isnan(x), full_like(x, filling), x) if x.dtype.is_float else x


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the sum over axes of the elements that are not NaN, in the dtype of the array, unless `dtype` is given."""
    x = _filled("nansum", a, 0.0)
    total = reduction.sum(x, axis, _kept("nansum", keepdims), dtype=_dtype("nansum", dtype))
    return total if dtype is not None else total.astype(x.dtype, copy=False)


def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the largest element over axes that is not NaN; NaN if there is none."""
    return _extreme_of_numbers("nanmax", reduction.amax, -math.inf, a, axis, dtype, keepdims)


def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element over axes that is not NaN; NaN if there is none."""
    return _extreme_of_numbers("nanmin", reduction.amin, math.inf, a, axis, dtype, keepdims)


def _extreme_of_numbers(op: str, rule: Any, neutral: float, a: Any, axis: Any, dtype: Any, keepdims: Any) -> Tensor:
    x = array_like(op, a, "a")
    keep = _kept(op, keepdims)
    with finite_ok():
        filled = _filled(op, x, neutral)
    found = rule(filled, axis, keep)
    if x.dtype.is_float:
        found = arithmetic.where(reduction.all(arithmetic.isnan(x), axes_argument(op, axis, x.ndim), keep), math.nan, found)
    return in_dtype(found, dtype)


def _kept(op: str, keepdims: Any) -> bool:
    if not isinstance(keepdims, int):
        raise wrong(op, "keepdims", "a bool", keepdims, TypeError)
    return bool(keepdims)


def _mean_of_numbers(op: str, a: Any, axis: Any, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean of the elements that are not NaN, their number, and the array in the dtype of the mean: Float32, or Float64 for
    Float64."""
    x = array_like(op, a, "a")
    x = x.astype(promoted_dtype(x.dtype, F32), copy=False)
    axes = axes_argument(op, axis, x.ndim)
    count = reduction.sum(arithmetic.equal(x, x).astype(x.dtype), axes, keep)
    return reduction.sum(_filled(op, x, 0.0), axes, keep) / count, count, x


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean over axes of the elements that are not NaN: Float32, or Float64 for Float64, unless `dtype` is given."""
    return in_dtype(_mean_of_numbers("nanmean", a, axis, _kept("nanmean", keepdims))[0], dtype)


def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the variance over axes of the elements that are not NaN, divided by their number less `ddof`: Float32, or Float64 for Float64,
    or `dtype`."""
    return in_dtype(_variance("nanvar", a, axis, ddof, keepdims), dtype)


def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the square root of `nanvar`."""
    return in_dtype(arithmetic.root_of_sum(_variance("nanstd", a, axis, ddof, keepdims)), dtype)


def _variance(op: str, a: Any, axis: Any, ddof: Any, keepdims: Any) -> Tensor:
    center, count, x = _mean_of_numbers(op, a, axis, True)
    apart = _filled(op, arithmetic.square(x - center), 0.0)
    total = reduction.sum(apart, axes_argument(op, axis, x.ndim), _kept(op, keepdims))
    return total / reshape(count - integer(op, "ddof", ddof), total.shape)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Return the cumulative sum along an axis, with NaN replaced by 0; without an axis, of the flattened array."""
    return cumsum(_filled("nancumsum", a, 0.0), axis, dtype)


# Along an axis -------------------------------------------------------------------------------------------------------


def _line(x: Tensor, axis: Any, op: str) -> tuple[Tensor, int]:
    """Return the array and an axis of it; if no axis is given, the flattened array."""
    return (reshape(x, (-1,)), 0) if axis is None else (x, axis_argument(op, axis, x.ndim))


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Return the cumulative sum along an axis, or of the flattened array; for bools and integers below 32 bits in Int32, or in `dtype`."""
    x, along = _line(operand("cumsum", a, "a"), axis, "cumsum")
    to = I32 if x.dtype in (BOOL, I8, I16, U8, U16) else x.dtype
    return reduction.cumsum(x, along, to if dtype is None else checked_dtype("cumsum", dtype))


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Return the cumulative product along an axis, or of the flattened array; for integers below 32 bits in Int32 or UInt32, or in
    `dtype`."""
    x, along = _line(array_like("cumprod", a, "a"), axis, "cumprod")
    to = I32 if x.dtype in (BOOL, I8, I16) else U32 if x.dtype in (U8, U16) else x.dtype
    return reduction.cumprod(x, along, to if dtype is None else checked_dtype("cumprod", dtype))
