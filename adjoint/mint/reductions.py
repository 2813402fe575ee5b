"""Reductions over axes, cumulative operations, counts.

`dim` is None or () for all axes, an int, or a tuple or list of ints.  Sums and products of integers and bools are Int64, and so are
indices.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32, I64, DType
from adjoint.numpy import histograms, triangles
from adjoint.ops import arithmetic, ordering, reduction, running
from adjoint.ops.arguments import dtype_or, floating, integer, operand, real, wrong
from adjoint.ops.counts import counts_in_one_pass
from adjoint.ops.ordering import kthvalue
from adjoint.ops.reduction import cumprod, logsumexp
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "bincount", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "diff", "histc",
    "kthvalue", "logsumexp", "max", "mean", "median", "min", "nansum", "prod", "std", "std_mean", "sum", "trace", "var", "var_mean",
]


@fusible
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the sum over axes; of bools and integers in Int64, unless `dtype` is given."""
    return reduction.sum(input, dim, keepdim, dtype=dtype)


@fusible
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the sum over axes of the elements that are not NaN."""
    return reduction.nansum(input, dim, keepdim, dtype=dtype)


@fusible
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the product over axes; of bools and integers in Int64, unless `dtype` is given."""
    return reduction.prod(input, dim, keepdim, dtype)


@fusible
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the mean over axes; raise TypeError for integers and bools, unless `dtype` is a floating point type."""
    x = operand("Mean", input)
    x = x if dtype is None else x.astype(dtype_or("Mean", dtype, x.dtype), copy=False)
    if not x.dtype.is_inexact:
        raise wrong("Mean", "input", "a Tensor of a floating point or complex type, or 'dtype' such a type", x, TypeError)
    return reduction.mean(x, dim, keepdim)


@fusible
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return whether all elements over axes are true; numbers other than 0 are true."""
    return reduction.all(input, dim, keepdim)


@fusible
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return whether any element over axes is true; numbers other than 0 are true."""
    return reduction.any(input, dim, keepdim)


@fusible
def count_nonzero(input: Any, dim: Any = None) -> Tensor:
    """Return how many elements over axes are not 0, Int64."""
    return reduction.count_nonzero(input, () if dim is None else dim, dtype=I64)


@fusible
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the largest element over axes; equal ones share the gradient."""
    return reduction.amax(input, dim, keepdim)


@fusible
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the smallest element over axes; equal ones share the gradient."""
    return reduction.amin(input, dim, keepdim)


def _extreme(largest: bool, input: Any, other: Any, keepdim: Any, dim: Any) -> Any:
    whole, along = (reduction.amax, reduction.max) if largest else (reduction.amin, reduction.min)
    if isinstance(other, Tensor):
        return arithmetic.maximum(input, other) if largest else arithmetic.minimum(input, other)
    place = other if dim is None else dim
    return whole(input) if place is None else along(input, place, keepdim)


@fusible
def max(input: Any, other: Any = None, keepdim: bool = False, *, dim: Any = None) -> Any:
    """max(input): return the largest element; max(input, dim): those along an axis, and their indices; max(input, other): the larger of
    two."""
    return _extreme(True, input, other, keepdim, dim)


@fusible
def min(input: Any, other: Any = None, keepdim: bool = False, *, dim: Any = None) -> Any:
    """min(input): return the smallest element; min(input, dim): those along an axis, and their indices; min(input, other): the smaller of
    two."""
    return _extreme(False, input, other, keepdim, dim)


@fusible
def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the index of the largest element, the first of equal ones; without `dim`, in the flattened tensor."""
    return _kept(input, reduction.argmax(input, dim, keepdim), dim, keepdim)


@fusible
def argmin(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the index of the smallest element, the first of equal ones; without `dim`, in the flattened tensor."""
    return _kept(input, reduction.argmin(input, dim, keepdim).astype(I64), dim, keepdim)


def _kept(input: Tensor, index: Tensor, dim: Any, keepdim: bool) -> Tensor:
    return reshape(index, (1,) * input.ndim) if dim is None and keepdim else index


@fusible
def median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the middle element, the smaller of two; along an axis, also its index."""
    if dim is None:
        return ordering.median(reshape(operand("Median", input), (-1,)), 0)[0]
    return ordering.median(input, dim, keepdim)


# Variance ------------------------------------------------------------------------------------------------------------


@fusible
def var(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Return the variance over axes: the sum of squared distances divided by the count less `correction`."""
    return reduction.var(input, dim, correction, keepdim)


@fusible
def std(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Return the standard deviation over axes, the root of `var`."""
    return reduction.std(input, dim, correction, keepdim)


@fusible
def var_mean(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean over axes."""
    return reduction.var_mean(input, dim, correction, keepdim)


@fusible
def std_mean(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean over axes."""
    return reduction.std_mean(input, dim, correction, keepdim)


# Along an axis -------------------------------------------------------------------------------------------------------


@fusible
def cumsum(input: Any, dim: Any, dtype: DType | None = None) -> Tensor:
    """Return the cumulative sum along an axis; for bools and integers in Int64, unless `dtype` is given."""
    x = operand("CumSum", input)
    return reduction.cumsum(x, dim, dtype if dtype is not None else x.dtype if x.dtype.is_inexact else I64)


@fusible
def cummax(input: Any, dim: Any) -> tuple[Tensor, Tensor]:
    """Return the largest element so far along an axis, the last of equal ones, and its index."""
    return running.cumulative_extreme("Cummax", input, dim, "dim", largest=True)


@fusible
def cummin(input: Any, dim: Any) -> tuple[Tensor, Tensor]:
    """Return the smallest element so far along an axis, the last of equal ones, and its index."""
    return running.cumulative_extreme("Cummin", input, dim, "dim", largest=False)


@fusible
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Return the differences of adjacent elements along an axis, `n` times, after prepending and appending Tensors."""
    return running.diff_ext(input, n, dim, prepend, append)


@fusible
def trace(input: Any) -> Tensor:
    """Return the sum of the diagonal of a matrix; of integers in Int64."""
    x = operand("Trace", input)
    if x.ndim != 2:
        raise wrong("Trace", "input", "of 2 dimensions", x)
    return triangles.trace(x)


# Counts --------------------------------------------------------------------------------------------------------------


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """Return how often each number from 0 on occurs in a vector of integers (Int64), or the sum of their weights (Float32)."""
    x = operand("Bincount", input)
    if weights is None and type(minlength) is int and x.type.rank == 1 and x.type.dtype.is_integer:
        counts = counts_in_one_pass(x, minlength, I64)
        if counts is not None:
            return counts
    if x.dtype.is_integer and x.size:
        checked_on_host(RangeCheck(Range(0, 2**63 - 1), _check_counted), x)
    counts = histograms.bincount(x, weights, minlength)
    return counts.astype(I64) if weights is None else counts


def _check_counted(x: Tensor, _: Range) -> None:
    if int(reduction.amin(x).item()) < 0:
        raise wrong("Bincount", "input", "of numbers of at least 0", x)


@fusible
def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Return how many elements lie in each of `bins` intervals from `min` to `max`, or from the smallest to the largest element if both are
    equal."""
    x = operand("Histc", input)
    low, high = real("Histc", "min", min), real("Histc", "max", max)
    if low > high:
        raise wrong("Histc", "max", f"at least {low}, as 'min'", high)
    line = floating(reshape(x, (-1,)))
    count, _ = histograms.histogram(line, integer("Histc", "bins", bins), None if low == high else (low, high))
    return count.astype(x.dtype if x.dtype.is_float else F32, copy=False)
