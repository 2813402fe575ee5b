"""Reductions of slices by segment: slices with one number are combined.

Raise TypeError for what is not a Tensor of numbers and for segments that are not integers, ValueError for shapes that do not fit,
IndexMistake (an IndexError and a RuntimeError) for a segment out of range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.scatter import Scatter
from adjoint.ir.types import BF16, BOOL, F32, F64, I32, I64
from adjoint.ops.arguments import integer, operand, wrong
from adjoint.ops.arithmetic import LARGEST, equal, maximum, where
from adjoint.ops.creation import filled, ones
from adjoint.ops.parts import narrow
from adjoint.ops.picking import gathered, index_check, indices_argument, unsorted_segment_sum
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import checked_on_host, explained, needs_values
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["sparse_segment_mean", "unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_prod"]


def _start(kind: str, x: Tensor) -> Any:
    """Return the value of a segment that has no slices."""
    if kind == "mul":
        return 1
    if x.dtype.is_float:
        largest = LARGEST[x.dtype]
        return -largest if kind == "max" else largest
    ends = np.iinfo(x.dtype.array)
    return int(ends.min if kind == "max" else ends.max)


def _combined(op: str, kind: str, x: Tensor, ids: Tensor, count: int) -> Tensor:
    """Return the slices combined by segment; those of a negative one are left out."""
    if x.dtype is BOOL:
        raise wrong(op, "x", "a Tensor of numbers", x, TypeError)
    if x.dtype.is_complex and kind != "mul":
        raise wrong(op, "x", "a Tensor of real numbers", x, TypeError)
    if ids.ndim == 0 or ids.shape != x.shape[: ids.ndim]:
        raise wrong(op, "segment_ids", f"of a shape that {x.shape} begins with", ids)
    rest = x.shape[ids.ndim :]
    wide = reshape(ids.astype(I64, copy=False), (-1,))
    # Slices of negative segments go to one more, which is then dropped.
    places = where(wide < 0, 0, wide + 1)
    wider = x.dtype.compute if x.dtype.is_float else x.dtype
    slices = reshape(x, (ids.size, *rest))
    start = filled(op, (count + 1, *rest), _start(kind, x), x.dtype)
    found = explained(lambda: apply(made(Scatter, kind), start.astype(wider, copy=False), places, slices.astype(wider, copy=False)),
                      index_check(op, "segment_ids", None, count), ids)
    return narrow(found, 0, 1, count).astype(x.dtype, copy=False)


def _unsorted(op: str, kind: str, x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    given, ids = operand(op, x, "x"), indices_argument(op, "segment_ids", segment_ids)
    count = integer(op, "num_segments", num_segments)
    if not 0 < count < 2**40:
        raise wrong(op, "num_segments", "in [1, 2**40)", count)
    return _combined(op, kind, given, ids, count)


@fusible
def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Return the largest elements of the slices of each segment, of one without slices the least number of the dtype; slices with a
    negative number are left out."""
    return _unsorted("UnsortedSegmentMax", "max", x, segment_ids, num_segments)


@fusible
def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Return the smallest elements of the slices of each segment, of one without slices the largest number of the dtype; slices with a
    negative number are left out."""
    return _unsorted("UnsortedSegmentMin", "min", x, segment_ids, num_segments)


@fusible
def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Return the products of the slices of each segment, of one without slices 1; slices with a negative number are left out."""
    return _unsorted("UnsortedSegmentProd", "mul", x, segment_ids, num_segments)


# Of ascending segments -----------------------------------------------------------------------------------------------


def _ascending(op: str, input_x: Any, segment_ids: Any) -> tuple[Tensor, Tensor, int]:
    x, ids = operand(op, input_x, "input_x"), indices_argument(op, "segment_ids", segment_ids)
    if x.dtype is BOOL:
        raise wrong(op, "input_x", "a Tensor of numbers", x, TypeError)
    if x.ndim == 0 or ids.shape != x.shape[:1]:
        raise wrong(op, "segment_ids", f"of shape {x.shape[:1]}, a number for each slice", ids)
    needs_values(op, "it has a slice for each segment up to the largest")
    numbers = ids.asnumpy()
    if numbers.size and (numbers.min() < 0 or (np.diff(numbers.astype(np.int64)) < 0).any()):
        raise wrong(op, "segment_ids", "ascending numbers of at least 0", ids)
    count = int(numbers[-1]) + 1 if numbers.size else 0
    if count * math.prod(x.shape[1:]) >= 2**40:
        raise wrong(op, "segment_ids", "smaller numbers: the result would have more than 2**40 elements", count)
    return x, ids, count


def _of_each(ids: Tensor, count: int, like: Tensor) -> Tensor:
    """Return how many slices each segment has, in the dtype of the slices or of their real parts, in a shape that
    broadcasts with the result."""
    return reshape(unsorted_segment_sum(ones(ids.shape, like.dtype.part), ids, count), (count, *(1,) * (like.ndim - 1)))


def of_ascending(op: str, kind: str) -> Callable[[Any, Any], Tensor]:
    """Return the function that reduces slices by ascending segments: `kind` is "sum", "mean", "mul", "max" or "min"."""

    def reduced(input_x: Any, segment_ids: Any) -> Tensor:
        x, ids, count = _ascending(op, input_x, segment_ids)
        if not count:
            return narrow(x, 0, 0, 0)
        if kind in ("sum", "mean"):
            wide = x.astype({BF16: F32}.get(x.dtype, x.dtype) if kind == "sum" or x.dtype.is_inexact else F64, copy=False)
            total = unsorted_segment_sum(wide, ids, count)
            found = total if kind == "sum" else total / maximum(_of_each(ids, count, wide), 1)
            return found.astype(x.dtype, copy=False)
        found = _combined(op, kind, x, ids, count)
        return found if kind == "mul" else where(equal(_of_each(ids, count, x), 0), 0, found).astype(x.dtype, copy=False)

    return reduced


_mean = of_ascending("SparseSegmentMean", "mean")


@fusible
def sparse_segment_mean(x: Any, indices: Any, segment_ids: Any) -> Tensor:
    """Return for each segment the mean of the slices of `x` along axis 0 at its indices, 0 for one without.

    x            floats, of at least 1 dimension
    indices      a vector of Int32 or Int64, from 0; IndexMistake for one without a slice
    segment_ids  for each index its segment, of the dtype of the indices: ascending numbers of at least 0
    """
    op = "SparseSegmentMean"
    given, places, ids = operand(op, x, "x"), indices_argument(op, "indices", indices), indices_argument(op, "segment_ids", segment_ids)
    if not given.dtype.is_float:
        raise wrong(op, "x", "a Tensor of a floating point type", given, TypeError)
    if places.dtype not in (I32, I64) or ids.dtype is not places.dtype:
        raise wrong(op, "segment_ids", "of the dtype of 'indices', Int32 or Int64", ids, TypeError)
    if not given.ndim:
        raise wrong(op, "x", "of at least 1 dimension", given)
    if places.ndim != 1 or ids.shape != places.shape:
        raise wrong(op, "segment_ids", f"a vector as 'indices', of shape {places.shape}", ids)
    checked_on_host(index_check(op, "indices", 0, given.shape[0]), places)
    return _mean(gathered(op, given, places, 0), ids)
