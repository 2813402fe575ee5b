"""How many, and where among others: counts of numbers and of intervals, positions in sorted rows, members of the largest few.

Raise TypeError for what is not a Tensor, ValueError for shapes and numbers that do not fit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.counted import FindCounts
from adjoint.ir.ops.indexing import ScatterAdd
from adjoint.ir.ops.sort import SearchSorted
from adjoint.ir.types import BOOL, F16, F32, F64, I32, I64, DType
from adjoint.ops.arguments import flag, float_tensor, floating, integer, number, operand, real_operand, single, wrong
from adjoint.ops.arithmetic import cast, equal, floor, greater_equal, isfinite, less, less_equal, logical_and, maximum, minimum, where
from adjoint.ops.creation import filled, ones_like, zeros
from adjoint.ops.ordering import sort
from adjoint.ops.parts import concat, narrow
from adjoint.ops.picking import gather_elements, indices_argument, unique
from adjoint.ops.reduction import all, amax, amin, sum
from adjoint.ops.shapes import broadcast_to, expand_dims, reshape, squeeze
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.run_time_checks import TRUE, checked_on_host, emitting, needs_values
from adjoint.runtime.tensor.sizes_of_values import beginning, numbers_up_to, run_finding
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["bincount", "bucketize", "histc", "intopk", "searchsorted", "unique_with_pad"]

# Counts --------------------------------------------------------------------------------------------------------------


def counted(places: Tensor, count: int, weights: Tensor) -> Tensor:
    """Return for each number below `count` the sum of its weights; numbers outside of 0..count-1 are left out.

    places, weights  Tensors of one dimension and size; the weights decide the dtype
    """
    outside = where(less(places, 0), count, minimum(places, count))  # counted in one more place, which is dropped
    return narrow(sums_of_weights(outside, count + 1, weights), 0, 0, count)


@fusible
def ends(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the smallest and the largest number of a tensor that has some."""
    return amin(x), amax(x)


@fusible
def sums_of_weights(places: Tensor, count: int, weights: Tensor) -> Tensor:
    """Return for each number below `count` the sum of its weights; all numbers are in 0..count-1."""
    return apply(made(ScatterAdd, 0), filled("Bincount", (count,), 0, weights.dtype), places, weights)


def counts_in_one_pass(x: Tensor, least: int, dtype: DType) -> Tensor | None:
    """Return how often each number from 0 up to the largest one occurs, or up to `least` - 1: a Tensor of `dtype`.

    x  a Tensor of integers, of one dimension

    None if a number is negative, if there are more counts than there is room for, or more numbers than a Float32 counts, and while a graph
    is made.
    """
    n = x.type.count
    room = n if n > _ROOM else _ROOM
    if emitting() or not 0 < n <= 2**24 or least > room:
        return None
    types, (counts, _), count = run_finding(made(FindCounts, room, dtype), x)
    return None if count < 0 else beginning(types[0], counts, count if count > least else least)


_ROOM = 1024
"""The counts that there is room for at least, and otherwise as many as there are numbers."""


def count_up_to(op: str, places: Tensor, least: int = 0) -> Any:
    """Return how many numbers there are from 0 up to the largest one of a tensor of Int64, at least `least`, while a graph is made."""
    count = maximum(amax(places) + 1, least)
    return numbers_up_to(op, "it has a count for each number up to the largest", count).shape[0]


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """Return how often each number from 0 on occurs in a vector of integers, or the sum of their weights: Float32.

    There are as many counts as the largest number requires, at least `minlength`.  Negative numbers are not counted.
    """
    x = operand("Bincount", input)
    by = None if weights is None else operand("Bincount", weights, "weights")
    least = integer("Bincount", "minlength", minlength)
    if x.ndim != 1:
        raise wrong("Bincount", "input", "of 1 dimension", x)
    if not x.dtype.is_integer:
        raise wrong("Bincount", "input", "a Tensor of integers", x, TypeError)
    if least < 0:
        raise wrong("Bincount", "minlength", "at least 0", least)
    if by is not None and by.shape != x.shape:
        raise wrong("Bincount", "weights", f"of shape {x.shape}, as 'input'", by)
    if not x.size:
        return zeros((0,), F32)
    if by is None and (counts := counts_in_one_pass(x, least, F32)) is not None:
        return counts
    places = x.astype(I64, copy=False)
    by = ones_like(places, dtype=F32) if by is None else by.astype(F32, copy=False)
    if emitting():
        count = count_up_to("Bincount", places, least)
        if count == 0:
            return zeros((0,), F32)
        # A sum that begins with 0 keeps its bits where 0 is added for a negative number.
        return sums_of_weights(maximum(places, 0), count, where(less(places, 0), zeros((), F32), by))
    smallest, largest = ends(places)
    count = max(int(largest.item()) + 1, least)
    return (counted if int(smallest.item()) < 0 else sums_of_weights)(places, count, by)


@fusible
def histc(input: Any, bins: int = 100, min: Any = 0.0, max: Any = 0.0) -> Tensor:
    """Return how many elements lie in each of `bins` intervals from `min` to `max`, or from the smallest to the largest element if both are
    equal; in the dtype of the input, of Float16 in Float32.  Elements outside are not counted.
    """
    x, count = operand("Histogram", input), integer("Histogram", "bins", bins)
    ends = {name: number("Histogram", name, value) for name, value in (("min", min), ("max", max))}
    low, high = (float(value) for value in ends.values())
    if count < 1:
        raise wrong("Histogram", "bins", "at least 1", count)
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise wrong("Histogram", "max", f"a number of at least 'min', {low}", high)
    line = single(floating(reshape(x, (-1,))))
    to = F32 if x.dtype is F16 else x.dtype
    if low < high:
        first, width = low, high - low
        last = high
    elif not line.size:
        return zeros((count,), to)
    else:
        def finite(x: Tensor) -> None:
            if not np.isfinite(x.asnumpy()).all():
                raise wrong("Histogram", "input", "of finite numbers where 'min' and 'max' are equal", "one that is not")

        checked_on_host(finite, line, conditions=lambda: [(cast(all(isfinite(line)), I64), TRUE)])
        first, last = amin(line), amax(line)
        flat = equal(first, last)
        first, last = where(flat, first - 1.0, first), where(flat, last + 1.0, last)
        width = last - first
    inside = logical_and(greater_equal(line, first), less_equal(line, last))
    place = minimum(floor((where(inside, line, first) - first) / width * float(count)), float(count - 1))
    return counted(where(inside, cast(place, I64), -1), count, ones_like(line, dtype=F32)).astype(to, copy=False)


# Positions -----------------------------------------------------------------------------------------------------------


def positions(op: str, row: Tensor, values: Tensor, behind: bool, to: DType) -> Tensor:
    """Return where values would be inserted into ascending rows, in the dtype `to`: before elements equal to them or `behind` them.

    row  a vector, or rows along the last axis, with the leading sizes of `values`
    """
    dtype = common_dtype(row.dtype, values.dtype)
    row, values = (t.astype(I32 if dtype is BOOL else dtype, copy=False) for t in (row, values))
    if row.ndim == 1:
        found = reshape(apply(made(SearchSorted, behind), row, reshape(values, (-1,))), values.shape)
    elif row.ndim == 0 or values.ndim == 0 or row.shape[:-1] != values.shape[:-1]:
        raise wrong(op, "values", f"of the leading sizes {row.shape[:-1]}", values)
    else:
        found = apply(made(SearchSorted, behind), row, values)
    return found.astype(to, copy=False)


@fusible
def searchsorted(
    sorted_sequence: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None
) -> Tensor:
    """Return where values would be inserted into ascending rows: before elements equal to them or, with `right`, after.

    sorted_sequence  a vector, or rows along the last axis, with the leading sizes of `values`
    side             "left" or "right", an alternative to `right`
    sorter           the indices that sort the rows, if they are not sorted
    """
    op = "SearchSorted"
    row, given = operand(op, sorted_sequence, "sorted_sequence"), operand(op, values, "values")
    if side is not None and not isinstance(side, str):
        raise wrong(op, "side", "'left' or 'right'", side, TypeError)
    if side not in (None, "left", "right") or (side == "left" and flag(op, "right", right)):
        raise wrong(op, "side", "'left' or 'right', as 'right' says", repr(side))
    to = I32 if flag(op, "out_int32", out_int32) else I64
    if sorter is not None:
        order = indices_argument(op, "sorter", sorter)
        if order.shape != row.shape:
            raise wrong(op, "sorter", f"of shape {row.shape}, as 'sorted_sequence'", order)
        row = gather_elements(row, -1, order)
    return positions(op, row, given, flag(op, "right", right) or side == "right", to)


@fusible
def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """Return the number of the interval between ascending bounds that each element lies in (Int32): 0 before the first bound.

    boundaries  a tuple or list of numbers, or a Tensor of one dimension
    right       True if the intervals are closed on the left; by default they are closed on the right
    """
    x, closed = real_operand("Bucketize", input), flag("Bucketize", "right", right)
    bounds = _bounds(boundaries, F64 if x.dtype is F64 else F32)
    return positions("Bucketize", bounds, x.astype(bounds.dtype, copy=False), closed, I32)


def _bounds(boundaries: Any, dtype: DType) -> Tensor:
    if isinstance(boundaries, Tensor):
        if boundaries.ndim != 1:
            raise wrong("Bucketize", "boundaries", "of 1 dimension", boundaries)
        return boundaries.astype(dtype, copy=False)
    if not isinstance(boundaries, (tuple, list)):
        raise wrong("Bucketize", "boundaries", "a tuple, list or Tensor of numbers", boundaries, TypeError)
    return Tensor([float(number("Bucketize", "boundaries", bound)) for bound in boundaries], dtype)


# Members -------------------------------------------------------------------------------------------------------------


@fusible
def intopk(x1: Any, x2: Any, k: Any) -> Tensor:
    """Return for each row of scores [n, classes] whether that of class x2 [n] is among the `k` largest.

    Equal scores are all among them if the first is; a class out of range is not, nor is a score that is not finite.
    """
    scores, target = float_tensor("InTopK", x1, "x1"), indices_argument("InTopK", "x2", x2)
    count = integer("InTopK", "k", k)
    if scores.ndim != 2:
        raise wrong("InTopK", "x1", "of 2 dimensions", scores)
    if target.shape != scores.shape[:1]:
        raise wrong("InTopK", "x2", f"of shape {scores.shape[:1]}", target)
    if not scores.shape[1]:
        raise wrong("InTopK", "x1", "of at least 1 class", scores)
    rows = expand_dims(target.astype(I64, copy=False), -1)
    valid = logical_and(greater_equal(rows, 0), less(rows, scores.shape[1]))
    own = gather_elements(scores, 1, where(valid, rows, 0))
    above = sum(cast(less(broadcast_to(own, scores.shape), scores), I64), 1, True)
    return squeeze(logical_and(logical_and(valid, isfinite(own)), less(above, count)), 1)


def unique_with_pad(x: Any, pad_num: Any) -> tuple[Tensor, Tensor]:
    """Return the different elements of a vector in order of first occurrence, filled up to its size with `pad_num`, and for each element
    the index of its value."""
    given = operand("UniqueWithPad", x, "x")
    if given.ndim != 1:
        raise wrong("UniqueWithPad", "x", "of 1 dimension", given)
    found, places = unique(given)
    rest = filled("UniqueWithPad", (given.size - found.size,), number("UniqueWithPad", "pad_num", pad_num), given.dtype)
    return (concat((found, rest), 0) if rest.size else found), places


def nth_element(input: Any, n: Any, reverse: bool) -> Tensor:
    """Return the element number `n` of each row in ascending order, with `reverse` in descending order."""
    x, place = operand("NthElement", input), integer("NthElement", "n", n)
    if x.ndim == 0:
        raise wrong("NthElement", "input", "of at least 1 dimension", x)
    if not 0 <= place < x.shape[-1]:
        raise wrong("NthElement", "n", f"in 0..{x.shape[-1] - 1}", place)
    return squeeze(narrow(sort(x, -1, reverse)[0], -1, place, 1), -1)


def difference_of_lists(x: Any, y: Any, to: DType) -> tuple[Tensor, Tensor]:
    """Return the elements of a vector that are not in another one, and their indices in the dtype `to`."""
    first, second = operand("ListDiff", x, "x"), operand("ListDiff", y, "y")
    for name, t in (("x", first), ("y", second)):
        if t.ndim != 1:
            raise wrong("ListDiff", name, "of 1 dimension", t)
        if t.dtype is not first.dtype:
            raise wrong("ListDiff", name, f"of the dtype of 'x', {first.dtype}", t, TypeError)
    needs_values("ListDiff", "it has as many elements as are not in the other")
    kept = np.flatnonzero(~np.isin(first.asnumpy(), second.asnumpy()))
    return Tensor(first.asnumpy()[kept], first.dtype), Tensor(kept, to)
