"""Shapes: other forms of the same elements, parts of tensors, tensors put together, elements picked by index.

Axes may be negative.  TypeError for what is no Tensor or no int, ValueError for axes and sizes that do not fit, IndexMistake
(an IndexError and a RuntimeError) for an index that names no element.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ir.ops.elementwise import Cast, Select
from adjoint.ir.ops.indexing import Gather, Iota, OneHot, ScatterAdd
from adjoint.ir.ops.shape import Broadcast, Concat, Pad, Reshape, Reverse, Slice, Transpose
from adjoint.ir.types import BOOL, F32, I64, TensorType, broadcast_shapes, tensor
from adjoint.ops.arguments import (
    IndexMistake,
    axes_argument,
    axis_argument,
    choice,
    dimension,
    filler,
    flag,
    integer,
    number,
    operand,
    sizes_argument,
    tensors_argument,
    wrong,
)
from adjoint.runtime.host_checks import checked_on_host, emitting, explained, needs_values
from adjoint.runtime.interned import made
from adjoint.runtime.plans import check_fits
from adjoint.runtime.promotion import common_dtype
from adjoint.runtime.tensor import Tensor, apply, constant

__all__ = [
    "broadcast_to", "cat", "chunk", "concat", "diag", "diagonal", "expand", "expand_as", "expand_dims", "flatten", "flip", "gather",
    "gather_d", "gather_elements", "gather_nd", "hstack", "index_select", "masked_select", "meshgrid", "moveaxis", "movedim", "narrow",
    "nonzero", "numel", "one_hot", "pad", "permute", "rank", "ravel", "repeat_elements", "repeat_interleave", "reshape", "reverse",
    "roll", "shape", "size", "slice", "split", "squeeze", "stack", "strided_slice", "swapaxes", "swapdims", "t", "take",
    "tensor_scatter_add", "tensor_split", "tile", "transpose", "tril", "triu", "unbind", "unsorted_segment_sum", "unsqueeze", "unstack",
    "view_as", "vstack",
]

_SELECT = Select()


# Questions ----------------------------------------------------------------------------------------------------------


def shape(input_x: Any) -> tuple[int, ...]:
    """The sizes, a tuple of ints."""
    return operand("Shape", input_x, "input_x").shape


def rank(input_x: Any) -> int:
    """The number of axes."""
    return operand("Rank", input_x, "input_x").ndim


def size(input_x: Any) -> int:
    """The number of elements."""
    return operand("Size", input_x, "input_x").size


def numel(input: Any) -> int:
    """The number of elements."""
    return operand("Size", input).size


# Other forms of the same elements -----------------------------------------------------------------------------------


def reshape(input: Any, shape: Any) -> Tensor:
    """The elements row by row in another shape; one size may be -1, which makes it fit.

    shape  tuple or list of ints, or an integer Tensor
    """
    x = operand("Reshape", input)
    if not isinstance(shape, (tuple, list, Tensor)):
        raise wrong("Reshape", "shape", "a tuple of ints", shape if not isinstance(shape, str) else repr(shape), TypeError)
    return apply(made(Reshape, reshaped(x, sizes_argument("Reshape", "shape", shape, least=None), "Reshape")), x)


def reshaped(x: Tensor, sizes: tuple[int, ...], op: str) -> TensorType:
    """The type of `x` in a shape in which one size may be -1."""
    unknown = sizes.count(-1)
    if unknown > 1 or any(size < -1 for size in sizes):
        raise wrong(op, "shape", "sizes of at least 0, one of which may be -1", sizes)
    known = math.prod(size for size in sizes if size != -1)
    if unknown:
        if not known or x.size % known:
            raise wrong(op, "shape", f"a shape of {x.size} elements", sizes)
        sizes = tuple(x.size // known if size == -1 else size for size in sizes)
    elif known != x.size:
        raise wrong(op, "shape", f"a shape of {x.size} elements", sizes)
    return tensor(x.dtype, sizes)


def view_as(input: Any, other: Any) -> Tensor:
    """The elements row by row in the shape of `other`."""
    return reshape(input, operand("ViewAs", other, "other").shape)


def ravel(input: Any) -> Tensor:
    """The elements row by row along one axis."""
    return reshape(operand("Ravel", input), (-1,))


def flatten(input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """The axes from `start_dim` to `end_dim` made one; `order` "F" reads them column by column."""
    x = operand("Flatten", input)
    if choice("Flatten", "order", order, ("c", "f")) == "f" and x.ndim > 1:
        x = transpose(x, tuple(reversed(range(x.ndim))))
    if x.ndim < 2 and start_dim == 1 and end_dim == -1:
        return reshape(x, (-1,))
    return joined("Flatten", x, start_dim, end_dim)


def joined(op: str, x: Tensor, start_dim: Any, end_dim: Any) -> Tensor:
    """The axes from `start_dim` to `end_dim` made one; a tensor without dimensions has one axis then."""
    first, last = axis_argument(op, start_dim, x.ndim, "start_dim"), axis_argument(op, end_dim, x.ndim, "end_dim")
    if first > last:
        raise wrong(op, "start_dim", f"not behind end_dim, axis {last}", start_dim)
    sizes = x.shape or (1,)
    return apply(made(Reshape, tensor(x.dtype, (*sizes[:first], math.prod(sizes[first : last + 1]), *sizes[last + 1 :]))), x)


def transpose(input: Any, dims: Any) -> Tensor:
    """The axes in another order: axis i of the result is axis dims[i] of the input."""
    x = operand("Transpose", input)
    if not isinstance(dims, (tuple, list, Tensor)):
        raise wrong("Transpose", "dims", "a tuple of ints", dims, TypeError)
    places = sizes_argument("Transpose", "dims", dims, least=None)
    if len(places) != x.ndim:
        raise wrong("Transpose", "dims", f"{x.ndim} axes", places)
    order = tuple(axis_argument("Transpose", place, x.ndim, "dims") for place in places)
    if len(set(order)) != len(order):
        raise wrong("Transpose", "dims", "axes without repetition", places)
    return apply(made(Transpose, order), x)


def permute(input: Any, axis: Any) -> Tensor:
    """The axes in another order: axis i of the result is axis axis[i] of the input."""
    return transpose(input, axis)


def swapaxes(input: Any, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged."""
    x = operand("SwapAxes", input)
    first, second = axis_argument("SwapAxes", axis0, x.ndim, "axis0"), axis_argument("SwapAxes", axis1, x.ndim, "axis1")
    order = list(range(x.ndim))
    if order:
        order[first], order[second] = second, first
    return apply(made(Transpose, tuple(order)), x)


def swapdims(input: Any, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    return swapaxes(input, dim0, dim1)


def t(input: Any) -> Tensor:
    """The transposed matrix; a tensor of one axis or none as it is."""
    x = operand("T", input)
    if x.ndim > 2:
        raise wrong("T", "input", "of at most 2 dimensions", x)
    return apply(made(Transpose, tuple(reversed(range(x.ndim)))), x)


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """The axes `source` moved to the places `destination`; the others keep their order."""
    x = operand("MoveAxis", x, "x")
    sources, places = (
        [axis_argument("MoveAxis", a, x.ndim, name) for a in sizes_argument("MoveAxis", name, axes, least=None)]
        for name, axes in (("source", source), ("destination", destination)))
    if len(sources) != len(places) or len(set(sources)) != len(sources) or len(set(places)) != len(places):
        raise wrong("MoveAxis", "destination", f"{len(sources)} axes without repetition", destination)
    order = [a for a in range(x.ndim) if a not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return apply(made(Transpose, tuple(order)), x)


def movedim(x: Any, source: Any, destination: Any) -> Tensor:
    """As `moveaxis`."""
    return moveaxis(x, source, destination)


def expand_dims(input_x: Any, axis: Any) -> Tensor:
    """A new axis of 1 at `axis`; a tuple for several, one after the other."""
    x = operand("ExpandDims", input_x, "input_x")
    for a in sorted(axis) if isinstance(axis, (tuple, list)) else (axis,):
        place = integer("ExpandDims", "axis", a)
        if not -x.ndim - 1 <= place <= x.ndim:
            raise wrong("ExpandDims", "axis", f"in [{-x.ndim - 1}, {x.ndim + 1})", place)
        place %= x.ndim + 1
        x = apply(made(Reshape, tensor(x.dtype, (*x.shape[:place], 1, *x.shape[place:]))), x)
    return x


def unsqueeze(input: Any, dim: int) -> Tensor:
    """A new axis of 1 at `dim`."""
    return expand_dims(input, dim)


def squeeze(input: Any, axis: Any = None) -> Tensor:
    """The tensor without its axes of 1, or without those of `axis` that are 1."""
    x = operand("Squeeze", input)
    if isinstance(axis, tuple) and not axis:
        axis = None
    axes = axes_argument("Squeeze", axis, x.ndim)
    return apply(made(Reshape, tensor(x.dtype, (d for a, d in enumerate(x.shape) if d != 1 or a not in axes))), x)


def broadcast_to(input: Any, shape: Any) -> Tensor:
    """The elements repeated along new axes and along axes of 1; a size of -1 stands for the one the input has."""
    x = operand("BroadcastTo", input)
    if not isinstance(shape, (tuple, list, Tensor)):
        raise wrong("BroadcastTo", "shape", "a tuple of ints", shape, TypeError)
    sizes = sizes_argument("BroadcastTo", "shape", shape, least=-1)
    lead = len(sizes) - x.ndim
    if lead < 0 or -1 in sizes[:lead]:
        raise wrong("BroadcastTo", "shape", f"sizes that {x.shape} broadcasts to", sizes)
    target = tuple(x.shape[a - lead] if size == -1 else size for a, size in enumerate(sizes))
    try:
        fits = broadcast_shapes(x.shape, target) == target
    except ValueError:
        fits = False
    if not fits:
        raise wrong("BroadcastTo", "shape", f"sizes that {x.shape} broadcasts to", sizes)
    return apply(made(Broadcast, tensor(x.dtype, target)), x)


def expand(input_x: Any, size: Any) -> Tensor:
    """As `broadcast_to`."""
    return broadcast_to(input_x, size)


def expand_as(input: Any, other: Any) -> Tensor:
    """The elements repeated to the shape of `other`."""
    return broadcast_to(input, operand("ExpandAs", other, "other").shape)


# Repetition ---------------------------------------------------------------------------------------------------------


def tile(input: Any, dims: Any) -> Tensor:
    """The tensor repeated dims[i] times along axis i; a shorter tuple counts from the last axis."""
    x = operand("Tile", input)
    if not isinstance(dims, (tuple, list, Tensor)):
        raise wrong("Tile", "dims", "a tuple of ints", dims, TypeError)
    times = sizes_argument("Tile", "dims", dims)
    sizes = (*(1,) * (len(times) - x.ndim), *x.shape)
    times = (*(1,) * (len(sizes) - len(times)), *times)
    # Each axis of d, repeated n times, is n copies along an axis of its own before it.
    split: list[int] = []
    spread: list[int] = []
    for n, d in zip(times, sizes, strict=True):
        if n != 1:
            split.append(1)
            spread.append(n)
        split.append(d)
        spread.append(d)
    result = tensor(x.dtype, (n * d for n, d in zip(times, sizes, strict=True)))
    if len(spread) == len(sizes):
        return apply(made(Reshape, result), x)
    parted = apply(made(Reshape, tensor(x.dtype, split)), x)
    return apply(made(Reshape, result), apply(made(Broadcast, tensor(x.dtype, spread)), parted))


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Tensor:
    """Each element repeated `rep` times along an axis."""
    return repeat_interleave(x, integer("RepeatElements", "rep", rep), axis)


def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element repeated, all as often or each as `repeats` says, along an axis; without one, of the tensor read row by row."""
    x = operand("RepeatInterleave", input)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    along = dimension("RepeatInterleave", axis, x)
    times = sizes_argument("RepeatInterleave", "repeats", repeats)
    length = x.shape[along]
    if len(times) == 1:
        times = times * length
    if len(times) != length:
        raise wrong("RepeatInterleave", "repeats", f"one number or {length}", times)
    result = tensor(x.dtype, (*x.shape[:along], builtins.sum(times), *x.shape[along + 1 :]))
    check_fits("RepeatInterleave", result)
    return apply(made(Gather, along), x, Tensor(np.repeat(np.arange(length), times)))


# Tensors put together, and taken apart ------------------------------------------------------------------------------


def concat(tensors: Any, axis: int = 0) -> Tensor:
    """Tensors one behind the other along an axis; they agree in all other sizes and are brought to one dtype."""
    parts = tensors_argument("Concat", "tensors", tensors)
    first = parts[0]
    along = axis_argument("Concat", axis, first.ndim)
    for x in parts:
        if x.ndim != first.ndim or x.ndim == 0:
            raise wrong("Concat", "tensors", "tensors of one rank, at least 1", [part.shape for part in parts])
        if x.shape[:along] != first.shape[:along] or x.shape[along + 1 :] != first.shape[along + 1 :]:
            raise wrong("Concat", "tensors", f"tensors whose shapes agree but for axis {along}", [part.shape for part in parts])
    return apply(made(Concat, along), *_one_dtype(parts))


def _one_dtype(parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    dtype = parts[0].dtype
    for x in parts:
        if x.dtype is not dtype:
            dtype = common_dtype(dtype, x.dtype)
    return tuple(x if x.dtype is dtype else apply(made(Cast, dtype), x) for x in parts)


def cat(tensors: Any, axis: int = 0) -> Tensor:
    """As `concat`."""
    return concat(tensors, axis)


def stack(tensors: Any, axis: int = 0) -> Tensor:
    """Tensors of one shape one behind the other along a new axis."""
    parts = tensors_argument("Stack", "tensors", tensors)
    first = parts[0]
    if any(x.shape != first.shape for x in parts):
        raise wrong("Stack", "tensors", "tensors of one shape", [x.shape for x in parts])
    along = axis_argument("Stack", axis, first.ndim + 1)
    to = (*first.shape[:along], 1, *first.shape[along:])
    return apply(made(Concat, along), *(apply(made(Reshape, tensor(x.dtype, to)), x) for x in _one_dtype(parts)))


def hstack(tensors: Any) -> Tensor:
    """Tensors side by side: along axis 1, or 0 if they have one axis."""
    parts = [reshape(x, (1,)) if x.ndim == 0 else x for x in tensors_argument("HStack", "tensors", tensors)]
    return concat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(inputs: Any) -> Tensor:
    """Tensors one below the other; one of a single axis is a row."""
    return concat([reshape(x, (1, -1)) if x.ndim < 2 else x for x in tensors_argument("VStack", "inputs", inputs)], 0)


def parted(x: Tensor, along: int, lengths: Sequence[int]) -> tuple[Tensor, ...]:
    """Consecutive parts of `x` along an axis."""
    parts: list[Tensor] = []
    start, stop, step = [0] * x.ndim, list(x.shape), (1,) * x.ndim
    at = 0
    for length in lengths:
        start[along], stop[along] = at, at + length
        parts.append(apply(made(Slice, tuple(start), tuple(stop), step), x))
        at += length
    return tuple(parts)


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Consecutive parts along an axis: of one size (the last may be smaller), or of the sizes in a tuple or list."""
    x = operand("Split", tensor, "tensor")
    along = axis_argument("Split", axis, x.ndim)
    if x.ndim == 0:
        raise wrong("Split", "tensor", "of at least 1 dimension", x)
    length = x.shape[along]
    if isinstance(split_size_or_sections, (tuple, list)):
        lengths = sizes_argument("Split", "split_size_or_sections", split_size_or_sections)
        if builtins.sum(lengths) != length:
            raise wrong("Split", "split_size_or_sections", f"sizes that add up to {length}", lengths)
        return parted(x, along, lengths)
    each = integer("Split", "split_size_or_sections", split_size_or_sections)
    if each <= 0:
        raise wrong("Split", "split_size_or_sections", "more than 0", each)
    return parted(x, along, [min(each, length - at) for at in range(0, length, each)] or [0])


def equally_split(op: str, x: Tensor, along: int, count: int) -> tuple[Tensor, ...]:
    """`count` parts of one size."""
    if count < 1 or x.shape[along] % count:
        raise wrong(op, "output_num", f"a divisor of the {x.shape[along]} elements along axis {along}", count)
    return parted(x, along, [x.shape[along] // count] * count)


def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts along an axis, all but the last of one size."""
    x = operand("Chunk", input)
    count = integer("Chunk", "chunks", chunks)
    if count < 1:
        raise wrong("Chunk", "chunks", "at least 1", count)
    along = dimension("Chunk", axis, x)
    return split(x, max(1, -(-x.shape[along] // count)), along)


_MOST_PARTS = 2**24
"""How many tensors a split may make: parts may be empty, so that the tensor's size is no bound."""


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """So many parts of nearly one size, the larger ones first; or the parts between the indices."""
    x = operand("TensorSplit", input)
    along = dimension("TensorSplit", axis, x)
    length = x.shape[along]
    if isinstance(indices_or_sections, (tuple, list)):
        ends = [builtins.slice(0, integer("TensorSplit", "indices_or_sections", i)).indices(length)[1] for i in indices_or_sections]
        starts = [0, *ends]
        return tuple(narrow(x, along, a, max(0, b - a)) for a, b in zip(starts, [*ends, length], strict=True))
    count = integer("TensorSplit", "indices_or_sections", indices_or_sections)
    if not 1 <= count <= _MOST_PARTS:
        raise wrong("TensorSplit", "indices_or_sections", f"in 1..{_MOST_PARTS}", count)
    small, larger = divmod(length, count)
    return parted(x, along, [small + 1] * larger + [small] * (count - larger))


def unstack(input_x: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it."""
    x = operand("Unstack", input_x, "input_x")
    if x.ndim == 0:
        raise wrong("Unstack", "input_x", "of at least 1 dimension", x)
    along = axis_argument("Unstack", axis, x.ndim)
    to = tensor(x.dtype, (*x.shape[:along], *x.shape[along + 1 :]))
    return tuple(apply(made(Reshape, to), part) for part in parted(x, along, [1] * x.shape[along]))


def unbind(input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it."""
    return unstack(input, dim)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid: each input along an axis of its own, repeated along the others; "xy" exchanges the first two."""
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        inputs = tuple(inputs[0])
    parts = tensors_argument("Meshgrid", "inputs", inputs)
    if any(x.ndim != 1 for x in parts):
        raise wrong("Meshgrid", "inputs", "tensors of one dimension", [x.shape for x in parts])
    order = list(range(len(parts)))
    if choice("Meshgrid", "indexing", indexing, ("xy", "ij")) == "xy" and len(parts) > 1:
        order[0], order[1] = 1, 0
    sizes = [0] * len(parts)
    for x, place in zip(parts, order, strict=True):
        sizes[place] = x.size
    return tuple(
        broadcast_to(reshape(x, tuple(x.size if a == place else 1 for a in range(len(parts)))), tuple(sizes))
        for x, place in zip(parts, order, strict=True)
    )


# Parts --------------------------------------------------------------------------------------------------------------


def slice(input_x: Any, begin: Any, size: Any) -> Tensor:
    """The block of `size` elements that begins at `begin`; a size of -1 goes to the end."""
    x = operand("Slice", input_x, "input_x")
    start, sizes = sizes_argument("Slice", "begin", begin), sizes_argument("Slice", "size", size, least=-1)
    if not len(start) == len(sizes) == x.ndim:
        raise wrong("Slice", "begin", f"{x.ndim} numbers, as 'size'", (start, sizes))
    stop = tuple(d if n == -1 else a + n for a, n, d in zip(start, sizes, x.shape, strict=True))
    if any(b > d or a > b for a, b, d in zip(start, stop, x.shape, strict=True)):
        raise wrong("Slice", "size", f"a block inside of {x.shape} from {start}", sizes)
    return apply(made(Slice, start, stop, (1,) * x.ndim), x)


def narrow(input: Any, axis: int, start: int, length: int) -> Tensor:
    """`length` elements along an axis from `start` on."""
    x = operand("Narrow", input)
    along = dimension("Narrow", axis, x)
    begin, count = integer("Narrow", "start", start), integer("Narrow", "length", length)
    begin += x.shape[along] if begin < 0 else 0
    if begin < 0 or count < 0 or begin + count > x.shape[along]:
        raise wrong("Narrow", "start", f"such that start..start+length is in 0..{x.shape[along]}", (start, length))
    at = tuple(begin if a == along else 0 for a in range(x.ndim))
    return slice(x, at, tuple(count if a == along else d for a, d in enumerate(x.shape)))


def strided_slice(
    input_x: Any, begin: Any, end: Any, strides: Any, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
    new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Tensor:
    """The elements that begin[i]:end[i]:strides[i] names along axis i, as Python's slices.

    A bit in a mask concerns the entry of that number: begin_mask, end_mask leave the bound out; ellipsis_mask stands for all
    axes that are not named; new_axis_mask puts in an axis of 1; shrink_axis_mask takes the one element at `begin`.
    """
    x = operand("StridedSlice", input_x, "input_x")
    starts, ends, steps = (
        sizes_argument("StridedSlice", name, v, least=None) for name, v in (("begin", begin), ("end", end), ("strides", strides)))
    if not len(starts) == len(ends) == len(steps):
        raise wrong("StridedSlice", "begin", "as long as 'end' and 'strides'", (starts, ends, steps))
    if 0 in steps:
        raise wrong("StridedSlice", "strides", "without 0", steps)
    given = {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask,
             "shrink_axis_mask": shrink_axis_mask}
    masks = {name: integer("StridedSlice", name, mask) for name, mask in given.items()}
    key: list[Any] = []
    for i, (start, stop, step) in enumerate(zip(starts, ends, steps, strict=True)):
        bit = 1 << i
        if masks["ellipsis_mask"] & bit:
            key.append(...)
        elif masks["new_axis_mask"] & bit:
            key.append(None)
        elif masks["shrink_axis_mask"] & bit:
            key.append(start)
        else:
            key.append(builtins.slice(None if masks["begin_mask"] & bit else start, None if masks["end_mask"] & bit else stop, step))
    return x[tuple(key)]


def flip(input: Any, dims: Any) -> Tensor:
    """The elements in opposite order along the axes."""
    x = operand("Flip", input)
    if not isinstance(dims, (int, tuple, list)) or isinstance(dims, bool):
        raise wrong("Flip", "dims", "an int or a tuple of ints", dims, TypeError)
    return apply(made(Reverse, axes_argument("Flip", dims, x.ndim, "dims") if dims != () else ()), x)


def reverse(x: Any, axis: Any) -> Tensor:
    """The elements in opposite order along the axes."""
    return flip(x, tuple(axis) if isinstance(axis, list) else axis)


def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved along axes by `shifts`; what leaves at the end comes in at the beginning."""
    x = operand("Roll", input)
    moves = sizes_argument("Roll", "shifts", shifts, least=None)
    if dims is None:
        if len(moves) != 1:
            raise wrong("Roll", "shifts", "one number where 'dims' is None", moves)
        return reshape(roll(reshape(x, (-1,)), moves, 0), x.shape)
    axes = sizes_argument("Roll", "dims", dims, least=None)
    if len(axes) != len(moves):
        raise wrong("Roll", "dims", f"{len(moves)} axes, as 'shifts'", axes)
    for move, axis in zip(moves, axes, strict=True):
        along = dimension("Roll", axis, x, "dims")
        length = x.shape[along]
        if length and move % length:
            head, tail = parted(x, along, [length - move % length, move % length])
            x = concat((tail, head), along)
    return x


# Frames -------------------------------------------------------------------------------------------------------------


def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """The tensor with a frame: (before, after) pairs that begin with the last axis.

    mode  "constant": filled with `value` (0); "reflect": mirrored without the edge; "replicate": the edge repeated; "circular":
          continued from the other side.  Negative numbers cut off.
    """
    x = operand("Pad", input_x, "input_x")
    widths = sizes_argument("Pad", "padding", padding, least=None)
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise wrong("Pad", "padding", f"pairs for at most {x.ndim} axes", widths)
    kind = choice("Pad", "mode", mode, ("constant", "reflect", "replicate", "circular"))
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    if kind == "constant":
        filling = 0 if value is None else number("Pad", "value", value)
        return framed(x, pairs, filling)
    for along, (before, after) in enumerate(pairs):
        length = x.shape[along]
        limit = {"reflect": length - 1, "circular": length}.get(kind, max(before, after) if length else 0)
        if max(before, after) > limit:
            raise wrong("Pad", "padding", f"at most {limit} along axis {along} in mode '{kind}'", (before, after))
        if (before, after) != (0, 0):
            places = np.arange(-before, length + after)
            match kind:
                case "reflect":
                    wanted = length - 1 - np.abs(length - 1 - np.abs(places))
                case "replicate":
                    wanted = np.clip(places, 0, length - 1)
                case _:
                    wanted = places % length
            x = apply(made(Gather, along), x, Tensor(wanted))
    return x


def framed(x: Tensor, pairs: Sequence[tuple[int, int]], filling: bool | int | float) -> Tensor:
    """`x` with so many elements of one value before and after along each axis; negative numbers cut off."""
    if any(n < 0 for pair in pairs for n in pair):
        start = tuple(max(0, -before) for before, _ in pairs)
        stop = tuple(d - max(0, -after) for d, (_, after) in zip(x.shape, pairs, strict=True))
        if any(a > b for a, b in zip(start, stop, strict=True)):
            raise wrong("Pad", "padding", f"no more cut off than there is of {x.shape}", tuple(pairs))
        x = apply(made(Slice, start, stop, (1,) * x.ndim), x)
    low, high = tuple(max(0, a) for a, _ in pairs), tuple(max(0, b) for _, b in pairs)
    filling = float(filling) if x.dtype.is_float else bool(filling) if x.dtype is BOOL else int(filling)
    return apply(Pad(low, high, (0,) * x.ndim, filling), x)


# Elements by index --------------------------------------------------------------------------------------------------


def indices_argument(op: str, argument: str, indices: Any) -> Tensor:
    """A Tensor of integers."""
    found = operand(op, indices, argument)
    if not found.dtype.is_integer:
        raise wrong(op, argument, "a Tensor of integers", found, TypeError)
    return found


def gathered(op: str, x: Tensor, indices: Tensor, along: int, argument: str = "indices") -> Tensor:
    """The slices along an axis that the indices name; an IndexMistake for one out of range."""
    length = x.shape[along]
    return explained(lambda: apply(made(Gather, along), x, indices), index_check(op, argument, -length, length), indices)


def index_check(op: str, argument: str, first: int | None, end: int, note: str = "") -> Callable[[Tensor], None]:
    """A check that indices are from `first` (None: wherever) up to and without `end`; an IndexMistake that names one that is not."""

    def indices(given: Tensor) -> None:
        places = given.asnumpy()
        if places.size and (places.max() >= end or (first is not None and places.min() < first)):
            outside = places >= end if first is None else (places < first) | (places >= end)
            bounds = f"below {end}" if first is None else f"in [{first}, {end})"
            raise wrong(op, argument, bounds + note, int(places[outside].reshape(-1)[0]), IndexMistake)

    return indices


def gather(input_params: Any, input_indices: Any, axis: Any, batch_dims: int = 0) -> Tensor:
    """The slices of `input_params` along `axis` that the indices name; the first `batch_dims` axes of both go together."""
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
    # One batch axis of b blocks of n slices: the index i of block k is k * n + i of all slices.
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


def index_select(input: Any, axis: int, index: Any) -> Tensor:
    """The slices along an axis that a tensor of indices names."""
    x, indices = operand("IndexSelect", input), indices_argument("IndexSelect", "index", index)
    return gathered("IndexSelect", x, indices, dimension("IndexSelect", axis, x))


def take(input: Any, index: Any) -> Tensor:
    """The elements that the indices name in the tensor read row by row."""
    return gathered("Take", reshape(operand("Take", input), (-1,)), indices_argument("Take", "index", index), 0)


def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask is true, along one axis; the two shapes broadcast."""
    x, chosen = operand("MaskedSelect", input), operand("MaskedSelect", mask, "mask")
    if chosen.dtype is not BOOL:
        raise wrong("MaskedSelect", "mask", "a Tensor of Bool", chosen, TypeError)
    needs_values("MaskedSelect", "it has as many elements as the mask has true ones")
    try:
        joint = broadcast_shapes(x.shape, chosen.shape)
    except ValueError:
        raise wrong("MaskedSelect", "mask", f"of a shape that broadcasts with {x.shape}", chosen) from None
    return broadcast_to(x, joint)[broadcast_to(chosen, joint)]


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The coordinates of the elements that are not 0, Int64: [n, rank], or a tuple of one tensor for each axis."""
    x = operand("NonZero", input)
    needs_values("NonZero", "it has a row for each element that is not 0")
    columns = tuple(Tensor(places, I64) for places in x.asnumpy().nonzero()) if x.ndim else ()
    if flag("NonZero", "as_tuple", as_tuple):
        return columns
    return stack(columns, 1) if columns else reshape(Tensor([], I64), (int(x.item() != 0), 0))


def gather_elements(input: Any, dim: Any, index: Any) -> Tensor:
    """For each index the element at its own place, but with the index in place of the coordinate along `dim`.

    index  integers, of the rank of `input` and not larger than it along the other axes
    """
    x, indices = operand("GatherD", input), indices_argument("GatherD", "index", index)
    along = axis_argument("GatherD", dim, x.ndim, "dim")
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
        rows = _flat_places(rows, x.shape, along)
    return apply(made(Gather, 0), flat, rows)


def _flat_places(rows: Tensor, sizes: tuple[int, ...], along: int) -> Tensor:
    """Places in the tensor read row by row, from coordinates along one axis; the other coordinates are those of `rows`."""
    stride = [math.prod(sizes[a + 1 :]) for a in range(len(sizes))]
    places = rows if stride[along] == 1 else rows * stride[along]
    for a in range(len(sizes)):
        if a != along and rows.shape[a] > 1:
            places = places + apply(made(Iota, tensor(I64, tuple(n if c == a else 1 for c, n in enumerate(rows.shape))), a)) * stride[a]
    return places


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
        column = squeeze(column, -1)
        column = apply(_SELECT, column < 0, column + x.shape[a], column)
        places = column if places is None else places * x.shape[a] + column
    assert places is not None
    return places


def _coordinate_check(op: str, sizes: tuple[int, ...]) -> Callable[[Tensor], None]:
    """A check that the rows of a tensor [..., n] are coordinates in axes of these sizes."""

    def coordinates(given: Tensor) -> None:
        columns = given.asnumpy().reshape(-1, len(sizes))
        for axis, (column, size) in enumerate(zip(columns.T, sizes, strict=True)):
            outside = (column < -size) | (column >= size)
            if outside.any():
                raise wrong(op, "indices", f"in [{-size}, {size}) along axis {axis}", int(column[outside][0]), IndexMistake)

    return coordinates


def gather_nd(input_x: Any, indices: Any) -> Tensor:
    """The elements or slices that rows of coordinates name: indices [..., n] of the first n axes."""
    x, rows = operand("GatherNd", input_x, "input_x"), indices_argument("GatherNd", "indices", indices)
    places = flat_indices("GatherNd", x, rows)
    depth = rows.shape[-1]
    return apply(made(Gather, 0), reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:])), places)


def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """`input_x` with updates added where rows of coordinates say."""
    x, rows = operand("TensorScatterAdd", input_x, "input_x"), indices_argument("TensorScatterAdd", "indices", indices)
    new = operand("TensorScatterAdd", updates, "updates")
    places = flat_indices("TensorScatterAdd", x, rows)
    depth = rows.shape[-1]
    if new.type is not tensor(x.dtype, (*rows.shape[:-1], *x.shape[depth:])):
        raise wrong("TensorScatterAdd", "updates", f"of dtype {x.dtype} and shape {(*rows.shape[:-1], *x.shape[depth:])}", new)
    flat = reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    return reshape(apply(made(ScatterAdd, 0), flat, places, new), x.shape)


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """The sums of the slices of each segment; slices with a negative id count for none."""
    x, ids = operand("UnsortedSegmentSum", input_x, "input_x"), indices_argument("UnsortedSegmentSum", "segment_ids", segment_ids)
    count = integer("UnsortedSegmentSum", "num_segments", num_segments)
    if count < 1 or ids.shape != x.shape[: ids.ndim] or ids.ndim == 0:
        raise wrong("UnsortedSegmentSum", "segment_ids", f"of a shape that {x.shape} begins with, and 'num_segments' positive", ids)
    rest = x.shape[ids.ndim :]
    # Slices without a segment are added to one more slice before the others, which is then left out.
    wide = ids.astype(I64, copy=False)
    places = apply(_SELECT, wide < 0, constant(0, I64), wide + 1)
    start = apply(made(Broadcast, tensor(x.dtype, (count + 1, *rest))), constant(0.0 if x.dtype.is_float else 0, x.dtype))
    check = index_check("UnsortedSegmentSum", "segment_ids", None, count)
    out = explained(lambda: apply(made(ScatterAdd, 0), start, places, x), check, ids)
    return slice(out, (1, *(0,) * len(rest)), (count, *rest))


def one_hot(indices: Any, depth: Any, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """For each index `depth` elements along a new axis: `on_value` at the index, `off_value` elsewhere; all off if out of range.

    on_value, off_value  numbers, or Tensors of one element and one dtype, which is that of the result (Int64 for ints)
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
        return apply(_SELECT, hot, reshape(on, ()), reshape(off, ()))
    high, low = (value.item() if isinstance(value, Tensor) else value for value in (on_value, off_value))
    return apply(OneHot(count, along % (places.ndim + 1), on.dtype, high, low), places)


def _hot(name: str, value: Any) -> Tensor:
    if isinstance(value, Tensor) and value.size == 1:
        return value
    one = number("OneHot", name, value)
    return filler("OneHot", name, one, BOOL if isinstance(one, bool) else I64 if isinstance(one, int) else F32)


# Triangles and diagonals --------------------------------------------------------------------------------------------


def _triangle(op: str, input: Any, diagonal: Any, *, lower: bool) -> Tensor:
    x, offset = operand(op, input), integer(op, "diagonal", diagonal)
    if x.ndim < 2:
        raise wrong(op, "input", "of at least 2 dimensions", x)
    rows, columns = _grid(*x.shape[-2:])
    diagonal_ = rows + offset
    inside = columns <= diagonal_ if lower else columns >= diagonal_
    zero = constant(False if x.dtype is BOOL else 0, x.dtype)
    return apply(_SELECT, inside, x, zero)


def _grid(rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """The numbers of the rows, i64[rows, 1], and of the columns, i64[1, columns], of a matrix."""
    return apply(made(Iota, tensor(I64, (rows, 1)), 0)), apply(made(Iota, tensor(I64, (1, columns)), 1))


def on_diagonal(rows: int, columns: int) -> Tensor:
    """Whether an element of a matrix stands on its diagonal: bool[rows, columns]."""
    row, column = _grid(rows, columns)
    return row == column


def tril(input: Any, diagonal: int = 0) -> Tensor:
    """The lower triangles of the matrices in the last two axes, up to the given diagonal; 0 above."""
    return _triangle("Tril", input, diagonal, lower=True)


def triu(input: Any, diagonal: int = 0) -> Tensor:
    """The upper triangles of the matrices in the last two axes, from the given diagonal on; 0 below."""
    return _triangle("Triu", input, diagonal, lower=False)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonals of the matrices in two axes, along a new last axis."""
    x, shift = operand("Diagonal", input), integer("Diagonal", "offset", offset)
    if x.ndim < 2:
        raise wrong("Diagonal", "input", "of at least 2 dimensions", x)
    first, second = axis_argument("Diagonal", dim1, x.ndim, "dim1"), axis_argument("Diagonal", dim2, x.ndim, "dim2")
    if first == second:
        raise wrong("Diagonal", "dim2", "another axis than dim1", dim2)
    moved = x if (first, second) == (x.ndim - 2, x.ndim - 1) else moveaxis(x, (first, second), (-2, -1))
    *lead, rows, columns = moved.shape
    row, column = max(0, -shift), max(0, shift)
    count = min(rows - row, columns - column)
    # Of the matrix read row by row each element of the diagonal is one row and one column behind the one before.
    begin, step = row * columns + column, columns + 1
    bounds = (begin, begin + (count - 1) * step + 1) if count > 0 else (0, 0)
    none = (0,) * len(lead)
    flat = reshape(moved, (*lead, rows * columns))
    return apply(made(Slice, (*none, bounds[0]), (*lead, bounds[1]), (*(1,) * len(lead), step)), flat)


def diag(input: Any) -> Tensor:
    """A tensor of shape s + s with the elements of one of shape s on its diagonal, 0 elsewhere."""
    x = operand("Diag", input)
    n = x.size
    zero = constant(False if x.dtype is BOOL else 0, x.dtype)
    matrix = apply(_SELECT, on_diagonal(n, n), reshape(x, (n,)), zero)
    return reshape(matrix, (*x.shape, *x.shape))


