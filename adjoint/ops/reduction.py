"""Reductions over axes: sums, means, extremes and their indices, running sums and products.

`axis` is None or () for all axes, an int, or a tuple or list of ints; negative ones count from the end.  Sums and products
of integers and bools are Int64 in the functional forms, of UInt16, UInt32 and UInt64 in their own dtype, as in MindSpore; the
means of integers keep their dtype, truncated.
TypeError for what is not a Tensor and for an axis that is not an int, ValueError for an axis out of range or given twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops import complex as complex_numbers
from adjoint.ir.ops.along import ArgMax, ArgMin
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.cumulative import CumProd, CumSum
from adjoint.ir.ops.extremes import ReduceMax, ReduceMin
from adjoint.ir.ops.moments import Moments
from adjoint.ir.ops.singular import SingularValues
from adjoint.ir.ops.sums import All, Any_, Mean, Prod, Sum, SumOfSquares
from adjoint.ir.types import BOOL, F32, F64, I32, I64, U8, U16, U32, U64, DType
from adjoint.ops.arguments import (
    as_bools,
    axes_argument,
    axis_argument,
    dtype_or,
    flag,
    floating,
    integer,
    operand,
    real,
    roomy,
    roomy_dtype,
    single,
    single_dtype,
    wrong,
)
from adjoint.ops.arithmetic import (
    abs,
    exp,
    flat_power,
    isfinite,
    log,
    maximum,
    minimum,
    root_of_sum,
    stop_gradient,
    where,
)
from adjoint.ops.picking import gather_elements
from adjoint.ops.shapes import moveaxis, reshape, squeeze
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "cumprod", "cumsum", "logsumexp", "max", "mean", "min", "nanmean",
    "nansum", "norm", "prod", "ptp", "std", "std_mean", "sum", "var", "var_mean",
]

_SINGULAR_VALUES = SingularValues()


def widened(x: Tensor, dtype: Any, op: str) -> Tensor:
    """Return `x` in the dtype of its sum: the requested one, its own for floats, complex numbers and wide unsigned integers, else Int64."""
    to = dtype_or(op, dtype, x.dtype if x.dtype.is_inexact or x.dtype in (U16, U32, U64) else I64)
    return x if x.dtype is to else apply(made(Cast, to), x)


@fusible
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the sum over axes, in `dtype` if that is given; else of bools, UInt8 and signed integers in Int64."""
    x = widened(operand("Sum", input), dtype, "Sum")
    return apply(made(Sum, axes_argument("Sum", dim, x.ndim, "dim"), flag("Sum", "keepdim", keepdim)), x)


@fusible
def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: DType | None = None) -> Tensor:
    """Return the product over axes, in `dtype` if that is given; else of bools, UInt8 and signed integers in Int64.

    In Bool it is whether all elements are true.
    """
    x = widened(operand("Prod", input), dtype, "Prod")
    kind = All if x.dtype is BOOL else Prod
    return apply(made(kind, axes_argument("Prod", axis, x.ndim), flag("Prod", "keep_dims", keep_dims)), x)


@fusible
def mean(x: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Return the mean over axes; of integers in their own dtype, truncated; raise RuntimeError for bools, as in MindSpore."""
    x = operand("ReduceMean", x, "x")
    if x.dtype is BOOL:
        raise wrong("ReduceMean", "x", "a Tensor of numbers, such as `x.astype(float32)`", x, RuntimeError)
    op = made(Mean, axes_argument("ReduceMean", axis, x.ndim), flag("ReduceMean", "keep_dims", keep_dims))
    if x.dtype.is_inexact:
        return apply(op, x)
    return apply(made(Cast, x.dtype), apply(op, apply(made(Cast, F64), x)))


def _extremum(kind: type[ReduceMax] | type[ReduceMin], input: Any, axis: Any, keepdims: Any, initial: Any, where_: Any) -> Tensor:
    x = operand(kind.__name__, input)
    if where_ is not None:
        chosen = operand(kind.__name__, where_, "where")
        if initial is None:
            raise wrong(kind.__name__, "initial", "a number where 'where' is given", initial)
        x = where(chosen, x, initial)
    as_number = apply(made(Cast, I32), x) if x.dtype is BOOL else x
    out = apply(made(kind, axes_argument(kind.__name__, axis, x.ndim), flag(kind.__name__, "keepdims", keepdims)), as_number)
    if x.dtype is BOOL:
        out = apply(made(Cast, BOOL), out)
    if initial is not None:
        out = maximum(out, initial) if kind is ReduceMax else minimum(out, initial)
    return out


@fusible
def amax(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """Return the largest element over axes; equal ones share the gradient."""
    return _extremum(ReduceMax, input, axis, keepdims, initial, where)


@fusible
def amin(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """Return the smallest element over axes; equal ones share the gradient."""
    return _extremum(ReduceMin, input, axis, keepdims, initial, where)


def chosen(place: Any, input: Any, axis: Any, keepdims: bool, to: DType) -> tuple[Tensor, Tensor]:
    """Return the extreme elements along one axis with their indices; the gradient goes to the first of equal ones."""
    name = place.__name__
    x = operand(name, input)
    along = axis_argument(name, axis, x.ndim)
    if x.ndim == 0:
        return x, constant(0, to)
    index = apply(made(place, along, to), apply(made(Cast, I32), x) if x.dtype is BOOL else x)
    kept = reshape(index, (*x.shape[:along], 1, *x.shape[along + 1 :]))
    values = gather_elements(x, along, kept)
    return (values, kept) if flag(name, "keepdims", keepdims) else (squeeze(values, along), index)


@fusible
def max(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> tuple[Tensor, Tensor]:
    """Return the largest element along an axis and its index; without an axis, of the whole tensor, and 0, both without dimensions."""
    if axis is None:
        flag("ArgMax", "keepdims", keepdims)
        return _extremum(ReduceMax, input, None, False, initial, where), constant(0, I64)
    return chosen(ArgMax, _with_initial(input, initial, where, largest=True), axis, keepdims, I64)


@fusible
def min(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> tuple[Tensor, Tensor]:
    """Return the smallest element along an axis and its index; without an axis, of the whole tensor, and 0, both without dimensions."""
    if axis is None:
        flag("ArgMin", "keepdims", keepdims)
        return _extremum(ReduceMin, input, None, False, initial, where), constant(0, I64)
    return chosen(ArgMin, _with_initial(input, initial, where, largest=False), axis, keepdims, I64)


def _with_initial(input: Any, initial: Any, condition: Any, *, largest: bool) -> Any:
    name = "Max" if largest else "Min"
    if condition is not None:
        if initial is None:
            raise ValueError(f"For '{name}', 'initial' must be given together with 'where'.")
        input = where(operand(name, condition, "where"), operand(name, input), initial)
    if initial is None:
        return input
    return maximum(operand(name, input), initial) if largest else minimum(operand(name, input), initial)


@fusible
def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the index of the largest element, the first of equal ones, as Int64; without `dim`, a number, that in the flattened
    tensor."""
    return _position(ArgMax, input, dim, keepdim, I64, "dim", "keepdim")


@fusible
def argmin(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the index of the smallest element, the first of equal ones, as Int32; without `axis`, a number, that in the flattened
    tensor."""
    return _position(ArgMin, input, axis, keepdims, I32, "axis", "keepdims")


def _position(place: Any, input: Any, axis: Any, keepdims: Any, to: DType, axis_name: str, keep_name: str) -> Tensor:
    name = place.__name__
    x = operand(name, input)
    keep = flag(name, keep_name, keepdims)
    rank = x.ndim
    if axis is None:
        x, along = reshape(x, (-1,)), 0
    else:
        along = axis_argument(name, axis, rank, axis_name)
        if rank == 0:
            x = reshape(x, (1,))
    out = apply(made(place, along, to), apply(made(Cast, I32), x) if x.dtype is BOOL else x)
    if not keep or axis is None:
        return out
    return reshape(out, (*x.shape[:along], 1, *x.shape[along + 1 :]) if rank else ())


@fusible
def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Return whether all elements over axes are true; numbers are true unless 0."""
    x = operand("ReduceAll", input)
    op = made(All, axes_argument("ReduceAll", axis, x.ndim), flag("ReduceAll", "keep_dims", keep_dims))
    return apply(op, as_bools(x))


@fusible
def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Return whether an element over axes is true; numbers are true unless 0.  Of UInt8 it is 0 or 1 in UInt8, as in MindSpore."""
    x = operand("ReduceAny", input)
    op = made(Any_, axes_argument("ReduceAny", axis, x.ndim), flag("ReduceAny", "keep_dims", keep_dims))
    out = apply(op, as_bools(x))
    return apply(made(Cast, U8), out) if x.dtype is U8 else out


@fusible
def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: DType = I32) -> Tensor:
    """How many elements over axes are not 0."""
    counted = apply(made(Cast, dtype_or("CountNonZero", dtype, I32)), as_bools(operand("CountNonZero", x, "x")))
    return apply(made(Sum, axes_argument("CountNonZero", axis, counted.ndim), flag("CountNonZero", "keep_dims", keep_dims)), counted)


# Spread -------------------------------------------------------------------------------------------------------------


def _moments(name: str, input: Any, axis: Any, ddof: Any, keepdims: Any, to: Callable[[DType], DType]) -> tuple[Tensor, Tensor]:
    """Variance and mean over axes, the square distances divided by the count less `ddof`, in the dtype `to` of the operand's."""
    x = floating(operand(name, input))
    axes, keep = axes_argument(name, axis, x.ndim), flag(name, "keepdims", keepdims)
    correction = int(ddof) if isinstance(ddof, bool) else integer(name, "ddof", ddof)
    center, total = apply(made(Moments, axes, to(x.dtype)), x)
    count = math.prod(x.shape[a] for a in axes) - correction
    variance = total / (count if count > 0 else 0.0)
    if keep:
        return variance, center
    shape = tuple(dim for place, dim in enumerate(x.shape) if place not in axes)
    return reshape(variance, shape), reshape(center, shape)


def _deviation(name: str, input: Any, axis: Any, ddof: Any, keepdims: Any) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over axes: no square overflows or vanishes where the deviation does not."""
    variance, center = _moments(name, input, axis, ddof, keepdims, roomy_dtype)
    return root_of_sum(variance), center


def _like(given: Tensor, result: Tensor) -> Tensor:
    """Return a result in the dtype of its operand; of integers in Float32."""
    return result.astype(given.dtype if given.dtype.is_float else F32, copy=False)


@fusible
def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the variance over axes: the mean square distance from the mean, divided by the count less `ddof`."""
    return _like(input, _moments("Var", input, axis, ddof, keepdims, single_dtype)[0])


@fusible
def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the standard deviation over axes, the square root of `var`."""
    return _like(input, _deviation("Std", input, axis, ddof, keepdims)[0])


@fusible
def var_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean over axes."""
    variance, center = _moments("VarMean", input, axis, ddof, keepdims, single_dtype)
    return _like(input, variance), _like(input, center)


@fusible
def std_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean over axes."""
    deviation, center = _deviation("StdMean", input, axis, ddof, keepdims)
    return _like(input, deviation), _like(input, center)


@fusible
def ptp(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the difference of the largest and the smallest element over axes."""
    return amax(input, axis, keepdims) - amin(input, axis, keepdims)


@fusible
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the norm of a vector, over one axis or of all elements, or of the matrices whose rows lie along the first of two axes.

    ord  of vectors: None or 2, the root of the sum of squares; inf and -inf, the largest and the smallest size; 0, how many are
         not 0; another number p, (sum |x|**p)**(1/p).  Of matrices: None or "fro", the root of the sum of squares; 1, -1, inf
         and -inf, the largest and the smallest sum of sizes in a column, in a row; 2 and -2, the largest and the smallest singular
         value, "nuc", the sum of all; others are a ValueError

    Integers count as Float32, but of a vector of them the largest and smallest size are such integers, how many are not 0 an Int64.
    The norm of complex numbers is complex, as in MindSpore, with the imaginary part 0; what is made of singular values is real, and Float32
    of two-byte floats.  Its gradient is U diag(ct) V^H; equal largest or smallest values
    share theirs, and of a matrix without full rank that of "nuc" is one of the subgradients.  Its own gradient is NaN where singular
    values are equal.
    """
    given = operand("Norm", A, "A")
    x = floating(given)
    x = x if dtype is None else apply(made(Cast, dtype_or("Norm", dtype, x.dtype)), x)
    if x.dtype.is_complex and not (_is_of_singular_values(ord) and len(axes_argument("Norm", dim, x.ndim, "dim")) == 2):
        return norm(apply(made(complex_numbers.RealPart), abs(x)), ord, dim, keepdim).astype(x.dtype)
    whole = dtype is None and not given.dtype.is_float
    axes, keep = axes_argument("Norm", dim, x.ndim, "dim"), flag("Norm", "keepdim", keepdim)
    if (isinstance(ord, str) and ord == "fro") or ord is None:
        return _length(x, axes, keep)
    of_matrices = len(axes) == 2 and (dim is not None or x.ndim == 2)
    if isinstance(ord, str) and ord == "nuc":
        if len(axes) == 1:
            raise wrong("Norm", "ord", "None or a number for a vector", repr(ord), TypeError)
    elif isinstance(ord, (bool, str)) or not isinstance(ord, (int, float)):
        raise wrong("Norm", "ord", "None, 'fro', 'nuc' or a number", repr(ord), ValueError if isinstance(ord, str) else TypeError)
    if of_matrices:
        given_axes = dim.tolist() if isinstance(dim, Tensor) else dim
        rows, columns = (axis_argument("Norm", a, x.ndim, "dim") for a in given_axes) if given_axes else axes
        return _matrix_norm(x, ord, (rows, columns), keep)
    if (dim is None and x.ndim > 1) or len(axes) > 2:
        raise wrong("Norm", "dim", "one axis or two", dim)
    if ord in (math.inf, -math.inf):
        return apply(made(ReduceMax if ord > 0 else ReduceMin, axes, keep), abs(given if whole and given.dtype.is_integer else x))
    if ord == 0:
        return apply(made(Sum, axes, keep), apply(made(Cast, I64 if whole else x.dtype), as_bools(x)))
    return power_norm(x, real("Norm", "ord", ord), axes, keep)


def _is_of_singular_values(ord: Any) -> bool:
    return isinstance(ord, (int, float, str)) and ord in ("nuc", 2, -2)


def power_norm(x: Tensor, power: float, axes: tuple[int, ...], keep: bool) -> Tensor:
    """(sum |x|**p)**(1/p) over axes, p not 0."""
    if power == 2:
        return _length(x, axes, keep)
    if power == 1:
        return apply(made(Sum, axes, keep), abs(x))
    return _like(x, flat_power(apply(made(Sum, axes, keep), flat_power(abs(roomy(x)), power)), 1.0 / power))


def _length(x: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    """Return the root of the sum of squares; no square overflows or vanishes where the length does not."""
    return _like(x, root_of_sum(apply(made(SumOfSquares, axes, keep, roomy_dtype(x.dtype)), x)))


def _matrix_norm(x: Tensor, ord: str | float, axes: tuple[int, ...], keep: bool) -> Tensor:
    """Return the sum, the largest or the smallest of the singular values, or of the sums of sizes along the axis of rows or columns."""
    if ord in ("nuc", 2, -2):
        if ord != "nuc" and 0 in (x.shape[axes[0]], x.shape[axes[1]]):
            raise wrong("Norm", "A", f"matrices with elements where 'ord' is {ord}", x)
        values = apply(_SINGULAR_VALUES, moveaxis(single(x), axes, (-2, -1)))
        out = apply(made(Sum if ord == "nuc" else ReduceMax if ord == 2 else ReduceMin, (values.ndim - 1,), False), values)
        return reshape(out, tuple(1 if a in axes else d for a, d in enumerate(x.shape))) if keep else out
    if ord not in (1, -1, math.inf, -math.inf):
        raise wrong("Norm", "ord", "None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for a matrix", ord)
    along, over = axes if ord in (1, -1) else (axes[1], axes[0])
    sums = apply(made(Sum, (along,), True), abs(x))
    out = apply(made(ReduceMax if ord > 0 else ReduceMin, (over,), True), sums)
    return out if keep else reshape(out, tuple(d for a, d in enumerate(x.shape) if a not in axes))


@fusible
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over axes, without overflow."""
    x = operand("LogSumExp", input)
    if not x.dtype.is_float:
        raise wrong("LogSumExp", "input", "a Tensor of a floating point type", x, TypeError)
    axes, keep = axes_argument("LogSumExp", dim, x.ndim, "dim"), flag("LogSumExp", "keepdim", keepdim)
    largest = stop_gradient(apply(made(ReduceMax, axes, True), x))
    largest = where(isfinite(largest), largest, constant(0.0, x.dtype))
    out = log(apply(made(Sum, axes, True), exp(x - largest))) + largest
    return out if keep else reshape(out, tuple(d for a, d in enumerate(x.shape) if a not in axes))


@fusible
def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the sum over axes of what is not NaN; of integers in their own dtype by default."""
    x = operand("NanSum", input)
    return sum(_without_nan(x), axis, keepdims, dtype=x.dtype if dtype is None and x.dtype.is_integer else dtype)


@fusible
def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the mean over axes of what is not NaN; `dtype` is that of the sum and of the result."""
    x = floating(operand("NanMean", input))
    total = sum(_without_nan(x), axis, keepdims, dtype=dtype)
    return total / sum(apply(made(Cast, x.dtype), x == x), axis, keepdims).astype(total.dtype, copy=False)


def _without_nan(x: Tensor) -> Tensor:
    return where(x == x, x, constant(0.0, x.dtype)) if x.dtype.is_inexact else x


# Along an axis ------------------------------------------------------------------------------------------------------


@fusible
def cumsum(x: Any, axis: Any, dtype: DType | None = None) -> Tensor:
    """Return the running sum along an axis."""
    x = operand("CumSum", x, "x")
    if dtype is not None:
        x = apply(made(Cast, dtype_or("CumSum", dtype, x.dtype)), x)
    along = axis_argument("CumSum", axis, x.ndim)
    return apply(made(CumSum, along), x) if x.ndim else x


@fusible
def cumprod(input: Any, dim: Any, dtype: DType | None = None) -> Tensor:
    """Return the running product along an axis; of integers as Int64 by default."""
    x = operand("CumProd", input)
    if dtype is not None or not x.dtype.is_inexact:
        x = apply(made(Cast, dtype_or("CumProd", dtype, I64)), x)
    along = axis_argument("CumProd", dim, x.ndim, "dim")
    return apply(made(CumProd, along), x) if x.ndim else x
