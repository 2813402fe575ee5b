"""Selecting elements: by index, by a mask, by being different; gather, take, unique, one_hot.

Axes and indices may be negative where NumPy's may.  Raise TypeError for what is not a Tensor or no int, ValueError for axes and sizes that
do not fit, IndexMistake (an IndexError and a RuntimeError) for an index that names no element.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Select, StopGradient
from adjoint.ir.ops.counted import FindDistinct, FindNonZero
from adjoint.ir.ops.cumulative import CumSum
from adjoint.ir.ops.indexing import Gather, Iota, OneHot, ScatterAdd
from adjoint.ir.ops.shape import Broadcast, Transpose
from adjoint.ir.ops.sort import Sort
from adjoint.ir.types import BOOL, F32, I32, I64, broadcast_shapes, tensor
from adjoint.ops.arguments import (
    IndexMistake,
    axis_argument,
    dimension,
    filler,
    flag,
    integer,
    number,
    operand,
    wrong,
)
from adjoint.ops.parts import concat, parted, slice
from adjoint.ops.shapes import broadcast_to, moveaxis, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host, emitting, explained
from adjoint.runtime.tensor.sizes_of_values import columns, found_by, nonzero_places
from adjoint.runtime.tensor.tensor import Tensor, apply, constant, wrap

__all__ = [
    "argwhere", "gather", "gather_d", "gather_elements", "gather_nd", "index_select", "masked_select", "nonzero", "one_hot", "take",
    "unique", "unique_consecutive", "unsorted_segment_sum",
]

ROOM = 2**23
"""The most coordinates for which `nonzero` takes room before it knows how many there are: 64 MB."""

_DISTINCT, _NONZERO = FindDistinct(), FindNonZero()
_SELECT, _STOP = Select(), StopGradient()


def indices_argument(op: str, argument: str, indices: Any) -> Tensor:
    """Return a Tensor of integers."""
    found = operand(op, indices, argument)
    if not found.dtype.is_integer:
        raise wrong(op, argument, "a Tensor of integers", found, TypeError)
    return found


def gathered(op: str, x: Tensor, indices: Tensor, along: int, argument: str = "indices") -> Tensor:
    """Return the slices along an axis at the indices; raise IndexMistake for one out of range."""
    length = x.shape[along]
    return explained(lambda: apply(made(Gather, along), x, indices), index_check(op, argument, -length, length), indices)


def looked_up(op: str, x: Tensor, indices: Tensor, first: int) -> Tensor:
    """Return the slices along axis 0 of which `x` holds those from number `first` on; zeros for those that it does not hold."""
    places = indices.astype(I64, copy=False) - first if first else indices
    inside = (places >= 0).logical_and(places < x.shape[0])
    rows = gathered(op, x, apply(_SELECT, inside, places, constant(0, places.dtype)), 0)
    return apply(_SELECT, reshape(inside, (*inside.shape, *(1,) * (x.ndim - 1))), rows, constant(0, x.dtype))


def index_check(op: str, argument: str, first: int | None, end: int, note: str = "") -> Callable[[Tensor], None]:
    """A check that indices are from `first` (None: wherever) up to and without `end`; an IndexMistake that names one that is not."""

    def indices(given: Tensor, range_: Range) -> None:
        places, low, high = given.asnumpy(), range_.low, range_.high
        if places.size and (places.max() > high or places.min() < low):
            bounds = f"below {high + 1}" if low == _LEAST else f"in [{low}, {high + 1})"
            raise wrong(op, argument, bounds + note, int(places[(places < low) | (places > high)].reshape(-1)[0]), IndexMistake)

    return RangeCheck(Range(_LEAST if first is None else first, end - 1), indices)


_LEAST = -(2**63)
"""The lower bound of a check that only has an upper one."""


@fusible
def gather(input_params: Any, input_indices: Any, axis: Any, batch_dims: int = 0) -> Tensor:
    """Return the slices of `input_params` along `axis` at the indices; the first `batch_dims` axes of both are paired."""
    x = operand("Gather", input_params, "input_params")
    indices = indices_argument("Gather", "input_indices", input_indices)
    if x.ndim == 0:
        raise wrong("Gather", "input_params", "of at least 1 dimension", x)
    along, batch = axis_argument("Gather", axis, x.ndim), integer("Gather", "batch_dims", batch_dims)
    if batch == 0:
        return gathered("Gather", x, indices, along)
    batch += indices.ndim if batch < 0 else 0
    if not 0 <= batch <= min(along, indices.ndim) or x.shape[:batch] != indices.shape[:batch]:
        raise wrong("Gather", "batch_dims", f"axes before axis {along} that the indices have too", batch_dims)
    # One batch axis of b blocks of n slices: index i of block k is k * n + i among all slices.
    blocks, length = math.prod(x.shape[:batch]), x.shape[along]
    moved = moveaxis(x, along, batch)
    flat = reshape(moved, (blocks * length, *moved.shape[batch + 1 :]))
    checked_on_host(index_check("Gather", "input_indices", -length, length), indices)
    rows = reshape(indices, (blocks, -1)).astype(I64, copy=False)
    rows = apply(_SELECT, rows < 0, rows + length, rows)
    offset = apply(made(Iota, tensor(I64, rows.shape), 0)) * length
    taken = apply(made(Gather, 0), flat, rows + offset)
    taken = reshape(taken, (*x.shape[:batch], *indices.shape[batch:], *flat.shape[1:]))
    middle = along - batch
    # From batch, indices, before, after to batch, before, indices, after.
    count = indices.ndim - batch
    order = [*range(batch), *range(batch + count, batch + count + middle), *range(batch, batch + count),
             *range(batch + count + middle, taken.ndim)]
    return apply(made(Transpose, tuple(order)), taken)


@fusible
def index_select(input: Any, axis: int, index: Any) -> Tensor:
    """Return the slices along an axis at the indices in a tensor."""
    x, indices = operand("IndexSelect", input), indices_argument("IndexSelect", "index", index)
    return gathered("IndexSelect", x, indices, dimension("IndexSelect", axis, x))


@fusible
def take(input: Any, index: Any) -> Tensor:
    """Return the elements of the flattened tensor at the indices."""
    return gathered("Take", reshape(operand("Take", input), (-1,)), indices_argument("Take", "index", index), 0)


def masked_select(input: Any, mask: Any) -> Tensor:
    """Return the elements where the mask is true, along one axis; the two shapes broadcast."""
    x, chosen = operand("MaskedSelect", input), operand("MaskedSelect", mask, "mask")
    if chosen.dtype is not BOOL:
        raise wrong("MaskedSelect", "mask", "a Tensor of Bool", chosen, TypeError)
    if x.type.shape == chosen.type.shape:
        return x[chosen]
    try:
        joint = broadcast_shapes(x.shape, chosen.shape)
    except ValueError:
        raise wrong("MaskedSelect", "mask", f"of a shape that broadcasts with {x.shape}", chosen) from None
    return (x if x.shape == joint else broadcast_to(x, joint))[chosen if chosen.shape == joint else broadcast_to(chosen, joint)]


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """Return the coordinates of the elements that are not 0, Int64: [n, rank], or a tuple of one tensor for each axis."""
    x = operand("NonZero", input)
    if emitting():
        rows = nonzero_places("NonZero", "it has a row for each element that is not 0", x)
        return columns(rows) if flag("NonZero", "as_tuple", as_tuple) else rows
    as_columns = flag("NonZero", "as_tuple", as_tuple)
    if not as_columns and x.type.count * x.type.rank <= ROOM:
        return found_by(_NONZERO, x)[0]
    along = x.asnumpy().nonzero() if x.ndim else ()
    return tuple(Tensor(places, I64) for places in along) if as_columns else Tensor(np.stack(along, 1), I64)


def unique(input: Any) -> tuple[Tensor, Tensor]:
    """Return the different elements in order of first occurrence, and for each element the index of its value, Int32, in its shape.
    """
    x = operand("Unique", input)
    if emitting():
        return _unique_in_a_graph(x)
    values, numbers = found_by(_DISTINCT, wrap(x.type.with_shape((x.size,)), x.memory))
    return values, wrap(numbers.type.with_shape(x.shape), numbers.memory)


def _unique_in_a_graph(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return what `unique` returns, computed by operators."""
    small = I32 if x.dtype is not I64 else I64
    flat = apply(StopGradient(), reshape(x, (-1,)))
    if flat.shape[0] == 0:
        return flat, apply(Broadcast(tensor(small, x.shape)), constant(0, small))
    ordered, order = apply(made(Sort, False), flat)
    before, after = ordered[:-1], ordered[1:]
    differs = (after != before).logical_and(before == before)  # all NaN count as one value; in the order they are last
    begins = concat((apply(Broadcast(tensor(BOOL, (1,))), constant(True, BOOL)), differs))
    (starts,) = columns(nonzero_places("Unique", "it has as many elements as there are different ones", begins))
    # The sort is stable: each group begins with its first occurrence.
    _, by_occurrence = apply(made(Sort, False), apply(made(Gather, 0), order, starts))
    _, rank = apply(made(Sort, False), by_occurrence)
    _, back = apply(made(Sort, False), order)
    group = apply(made(CumSum, 0), begins.astype(I64)) - 1
    numbers = apply(made(Gather, 0), apply(made(Gather, 0), rank, group), back).astype(small)
    return apply(made(Gather, 0), apply(made(Gather, 0), ordered, starts), by_occurrence), reshape(numbers, x.shape)


def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """Return the elements, or slices along an axis, without those equal to the one before, and if requested the index of each among these,
    and how often each occurred, Int64.

    dim  the axis; None: the flattened tensor
    """
    op = "UniqueConsecutive"
    x, wants = operand(op, input), (flag(op, "return_inverse", return_inverse), flag(op, "return_counts", return_counts))
    along = None if dim is None else dimension(op, dim, x, "dim")
    rows = reshape(x, (-1,)) if along is None else moveaxis(x, along, 0)
    if emitting():
        found, inverse, counts = _runs_in_a_graph(op, rows)
        out: tuple[Tensor, ...] = (found if along is None else moveaxis(found, 0, along),)
        out = (*out, *((reshape(inverse, x.shape) if along is None else inverse,) if wants[0] else ()), *((counts,) if wants[1] else ()))
        return out if len(out) > 1 else out[0]
    numbers = rows.asnumpy().reshape(rows.shape[0], math.prod(rows.shape[1:]))
    begins = np.ones(rows.shape[0], bool)
    begins[1:] = (numbers[1:] != numbers[:-1]).any(1)
    places = np.flatnonzero(begins)
    found = apply(made(Gather, 0), rows, Tensor(places, I64))
    out = (found if along is None else moveaxis(found, 0, along),)
    if wants[0]:
        inverse = Tensor(np.cumsum(begins) - 1, I64)
        out = (*out, reshape(inverse, x.shape) if along is None else inverse)
    if wants[1]:
        out = (*out, Tensor(np.diff(np.append(places, rows.shape[0])), I64))
    return out if len(out) > 1 else out[0]


def _runs_in_a_graph(op: str, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first slice of each run of equal slices, for each slice the index of its run, and the length of each run."""
    length = rows.shape[0]
    if length == 0:
        nothing = apply(made(Iota, tensor(I64, (0,))))
        return rows, nothing, nothing
    numbers = reshape(rows, (length, math.prod(rows.shape[1:])))
    begins = concat((apply(Broadcast(tensor(BOOL, (1,))), constant(True, BOOL)), (numbers[1:] != numbers[:-1]).any(1)))
    (starts,) = columns(nonzero_places(op, "it has as many elements as there are runs", begins))
    ends = concat((starts[1:], reshape(constant(length, I64), (1,))))
    return apply(made(Gather, 0), rows, starts), apply(made(CumSum, 0), begins.astype(I64)) - 1, ends - starts


def argwhere(input: Any) -> Tensor:
    """Return the coordinates of the elements that are not 0, a row for each, Int64."""
    return nonzero(input)


@fusible
def gather_elements(input: Any, dim: Any, index: Any) -> Tensor:
    """For each index return the element at its own position, but with the index as coordinate along `dim`.

    index  integers, of the rank of `input` and not larger than it along the other axes; a number counts as a row of one element
    """
    x, indices = operand("GatherD", input), indices_argument("GatherD", "index", index)
    along = axis_argument("GatherD", dim, x.ndim, "dim")
    if {x.ndim, indices.ndim} == {0, 1}:
        return reshape(gather_elements(reshape(x, (-1,)), 0, reshape(indices, (-1,))), indices.shape)
    if indices.ndim != x.ndim or any(n > d for a, (n, d) in enumerate(zip(indices.shape, x.shape, strict=True)) if a != along):
        raise wrong("GatherD", "index", f"of rank {x.ndim} and not larger than {x.shape} but along axis {along}", indices)
    if x.ndim == 0:
        return gathered("GatherD", reshape(x, (1,)), indices, 0)
    length = x.shape[along]
    rows = indices.astype(I64, copy=False)
    checked_on_host(index_check("GatherD", "index", -length, length), indices)
    if emitting() or (rows.size and int(indices.asnumpy().min()) < 0):
        rows = apply(_SELECT, rows < 0, rows + length, rows)
    flat = reshape(x, (-1,))
    if x.ndim > 1:
        rows = flat_places(rows, x.shape, along)
    return apply(made(Gather, 0), flat, rows)


def flat_places(rows: Tensor, sizes: tuple[int, ...], along: int) -> Tensor:
    """Places in the flattened tensor, from coordinates along one axis; the other coordinates are those of `rows`."""
    stride = [math.prod(sizes[a + 1 :]) for a in range(len(sizes))]
    places = rows if stride[along] == 1 else rows * stride[along]
    for a in range(len(sizes)):
        if a != along and rows.shape[a] > 1:
            places = places + apply(made(Iota, tensor(I64, tuple(n if c == a else 1 for c, n in enumerate(rows.shape))), a)) * stride[a]
    return places


@fusible
def gather_d(x: Any, dim: Any, index: Any) -> Tensor:
    """As `gather_elements`."""
    return gather_elements(x, dim, index)


def flat_indices(op: str, x: Tensor, indices: Tensor) -> Tensor:
    """Rows of coordinates [..., n] as places among the slices of the first n axes of `x`: i64[...]."""
    depth = indices.shape[-1] if indices.ndim else 0
    if not 0 < depth <= x.ndim:
        raise wrong(op, "indices", f"rows of 1 to {x.ndim} coordinates", indices)
    checked_on_host(_coordinate_check(op, x.shape[:depth]), indices)
    wide = indices.astype(I64, copy=False)
    places = None
    for a, column in enumerate(parted(wide, wide.ndim - 1, [1] * depth)):
        column = reshape(column, column.shape[:-1])
        column = apply(_SELECT, column < 0, column + x.shape[a], column)
        places = column if places is None else places * x.shape[a] + column
    assert places is not None
    return places


def _coordinate_check(op: str, sizes: tuple[int, ...]) -> Callable[[Tensor], None]:
    """A check that the rows of a tensor [..., n] are coordinates in axes of these sizes."""

    def coordinates(given: Tensor, range_: Range) -> None:
        columns = given.asnumpy().reshape(-1, len(range_.low))
        for axis, (column, low, high) in enumerate(zip(columns.T, range_.low, range_.high, strict=True)):
            outside = (column < low) | (column > high)
            if outside.any():
                raise wrong(op, "indices", f"in [{low}, {high + 1}) along axis {axis}", int(column[outside][0]), IndexMistake)

    return RangeCheck(Range(tuple(-size for size in sizes), tuple(size - 1 for size in sizes)), coordinates)


@fusible
def gather_nd(input_x: Any, indices: Any) -> Tensor:
    """Return the elements or slices that rows of coordinates name: indices [..., n] of the first n axes."""
    x, rows = operand("GatherNd", input_x, "input_x"), indices_argument("GatherNd", "indices", indices)
    places = flat_indices("GatherNd", x, rows)
    depth = rows.shape[-1]
    return apply(made(Gather, 0), reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:])), places)


@fusible
def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """Return the sums of the slices of each segment; slices with a negative id are left out."""
    x, ids = operand("UnsortedSegmentSum", input_x, "input_x"), indices_argument("UnsortedSegmentSum", "segment_ids", segment_ids)
    count = integer("UnsortedSegmentSum", "num_segments", num_segments)
    if count < 1 or ids.shape != x.shape[: ids.ndim] or ids.ndim == 0:
        raise wrong("UnsortedSegmentSum", "segment_ids", f"of a shape that {x.shape} begins with, and 'num_segments' positive", ids)
    rest = x.shape[ids.ndim :]
    # Slices without a segment are added to one more slice before the others, which is then dropped.
    wide = ids.astype(I64, copy=False)
    places = apply(_SELECT, wide < 0, constant(0, I64), wide + 1)
    start = apply(made(Broadcast, tensor(x.dtype, (count + 1, *rest))), constant(0.0 if x.dtype.is_float else 0, x.dtype))
    check = index_check("UnsortedSegmentSum", "segment_ids", None, count)
    out = explained(lambda: apply(made(ScatterAdd, 0), start, places, x), check, ids)
    return slice(out, (1, *(0,) * len(rest)), (count, *rest))


@fusible
def one_hot(indices: Any, depth: Any, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """For each index `depth` elements along a new axis: `on_value` at the index, `off_value` elsewhere; all off if out of range.

    on_value, off_value  numbers, or Tensors of one element and one dtype, which is that of the result (Int64 for ints); no gradient goes
                         through them, as in MindSpore
    """
    places = operand("OneHot", indices, "indices")
    if not places.dtype.is_integer:
        raise wrong("OneHot", "indices", "a Tensor of integers", places, TypeError)
    count = integer("OneHot", "depth", depth)
    if count < 0:
        raise wrong("OneHot", "depth", "at least 0", count)
    on, off = _hot("on_value", on_value), _hot("off_value", off_value)
    if on.dtype is not off.dtype:
        raise wrong("OneHot", "off_value", f"of the dtype of 'on_value', {on.dtype}", off, TypeError)
    along = integer("OneHot", "axis", axis)
    if not -1 <= along <= places.ndim:
        raise wrong("OneHot", "axis", f"in [-1, {places.ndim}]", along)
    if emitting() and (isinstance(on_value, Tensor) or isinstance(off_value, Tensor)):
        hot = apply(made(OneHot, count, along % (places.ndim + 1), BOOL, True, False), places)
        return apply(_SELECT, hot, *(apply(_STOP, reshape(value, ())) for value in (on, off)))
    high, low = (value.item() if isinstance(value, Tensor) else value for value in (on_value, off_value))
    return apply(OneHot(count, along % (places.ndim + 1), on.dtype, high, low), places)


def _hot(name: str, value: Any) -> Tensor:
    if isinstance(value, Tensor) and value.size == 1:
        return value
    one = number("OneHot", name, value)
    return filler("OneHot", name, one, BOOL if isinstance(one, bool) else I64 if isinstance(one, int) else F32)
