"""Parts of tensors, and tensors put together: concat, split, slice, flip, roll, pad.

Axes may be negative.  Raise TypeError for what is not a Tensor or no int, ValueError for axes and sizes that do not fit.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.extend import Extend
from adjoint.ir.ops.shape import Concat, Pad, Reshape, Reverse, Roll, Slice
from adjoint.ir.types import BOOL, tensor
from adjoint.ops.arguments import (
    axes_argument,
    axis_argument,
    check_memory,
    choice,
    dimension,
    integer,
    number,
    operand,
    sizes_argument,
    tensors_argument,
    wrong,
)
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "cat", "chunk", "concat", "flip", "fliplr", "flipud", "hstack", "meshgrid", "narrow", "pad", "reverse", "roll", "row_stack", "slice",
    "split", "stack", "strided_slice", "tensor_split", "unbind", "unstack", "vstack",
]

# Tensors put together, and taken apart -------------------------------------------------------------------------------


@fusible
def concat(tensors: Any, axis: int = 0) -> Tensor:
    """Concatenate tensors along an axis; they agree in all other sizes and are brought to one dtype."""
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


@fusible
def cat(tensors: Any, axis: int = 0) -> Tensor:
    """As `concat`."""
    return concat(tensors, axis)


@fusible
def stack(tensors: Any, axis: int = 0) -> Tensor:
    """Stack tensors of one shape along a new axis."""
    parts = tensors_argument("Stack", "tensors", tensors)
    first = parts[0]
    if any(x.shape != first.shape for x in parts):
        raise wrong("Stack", "tensors", "tensors of one shape", [x.shape for x in parts])
    along = axis_argument("Stack", axis, first.ndim + 1)
    to = (*first.shape[:along], 1, *first.shape[along:])
    return apply(made(Concat, along), *(apply(made(Reshape, tensor(x.dtype, to)), x) for x in _one_dtype(parts)))


@fusible
def hstack(tensors: Any) -> Tensor:
    """Concatenate tensors along axis 1, or 0 if they have one axis."""
    parts = [reshape(x, (1,)) if x.ndim == 0 else x for x in tensors_argument("HStack", "tensors", tensors)]
    return concat(parts, 0 if parts[0].ndim == 1 else 1)


@fusible
def vstack(inputs: Any) -> Tensor:
    """Concatenate tensors along axis 0; one of a single axis is a row."""
    return concat([reshape(x, (1, -1)) if x.ndim < 2 else x for x in tensors_argument("VStack", "inputs", inputs)], 0)


@fusible
def row_stack(tensors: Any) -> Tensor:
    """As `vstack`."""
    return vstack(tensors)


def parted(x: Tensor, along: int, lengths: Sequence[int]) -> tuple[Tensor, ...]:
    """Split `x` into consecutive parts along an axis."""
    parts: list[Tensor] = []
    start, step = [0] * x.ndim, (1,) * x.ndim
    stop = [size if type(size) is int else None for size in x.shape]
    at = 0
    for length in lengths:
        start[along], stop[along] = at, at + length
        parts.append(apply(made(Slice, tuple(start), tuple(stop), step), x))
        at += length
    return tuple(parts)


@fusible
def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor along an axis into parts of one size (the last may be smaller), or of the sizes in a tuple or list."""
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


@fusible
def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into at most `chunks` parts along an axis, all but the last of one size."""
    x = operand("Chunk", input)
    count = integer("Chunk", "chunks", chunks)
    if count < 1:
        raise wrong("Chunk", "chunks", "at least 1", count)
    along = dimension("Chunk", axis, x)
    return split(x, max(1, -(-x.shape[along] // count)), along)


_MOST_PARTS = 2**24
"""How many tensors a split may make: parts may be empty, so that the tensor's size is no bound."""


@fusible
def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into parts of nearly one size, the larger ones first; or at the given indices."""
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


@fusible
def unstack(input_x: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into its slices along an axis, without that axis."""
    x = operand("Unstack", input_x, "input_x")
    if x.ndim == 0:
        raise wrong("Unstack", "input_x", "of at least 1 dimension", x)
    along = axis_argument("Unstack", axis, x.ndim)
    to = tensor(x.dtype, (*x.shape[:along], *x.shape[along + 1 :]))
    return tuple(apply(made(Reshape, to), part) for part in parted(x, along, [1] * x.shape[along]))


@fusible
def unbind(input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor into its slices along an axis, without that axis."""
    return unstack(input, dim)


@fusible
def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid: each input, a row or a number, along an axis of its own, repeated along the others; "xy" exchanges the first
    two."""
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        inputs = tuple(inputs[0])
    parts = tensors_argument("Meshgrid", "inputs", inputs)
    if any(x.ndim > 1 for x in parts):
        raise wrong("Meshgrid", "inputs", "tensors of at most one dimension", [x.shape for x in parts])
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


# Parts ---------------------------------------------------------------------------------------------------------------


@fusible
def slice(input_x: Any, begin: Any, size: Any) -> Tensor:
    """Return the block of `size` elements that begins at `begin`; a size of -1 goes to the end."""
    x = operand("Slice", input_x, "input_x")
    start, sizes = sizes_argument("Slice", "begin", begin), sizes_argument("Slice", "size", size, least=-1)
    if not len(start) == len(sizes) == x.ndim:
        raise wrong("Slice", "begin", f"{x.ndim} numbers, as 'size'", (start, sizes))
    stop = tuple(d if n == -1 else a + n for a, n, d in zip(start, sizes, x.shape, strict=True))
    if any(b > d or a > b for a, b, d in zip(start, stop, x.shape, strict=True)):
        raise wrong("Slice", "size", f"a block inside of {x.shape} from {start}", sizes)
    return apply(made(Slice, start, stop, (1,) * x.ndim), x)


@fusible
def narrow(input: Any, axis: int, start: int, length: int) -> Tensor:
    """Return `length` elements along an axis from `start` on."""
    x = operand("Narrow", input)
    along = dimension("Narrow", axis, x)
    begin, count = integer("Narrow", "start", start), integer("Narrow", "length", length)
    begin += x.shape[along] if begin < 0 else 0
    if begin < 0 or count < 0 or begin + count > x.shape[along]:
        raise wrong("Narrow", "start", f"such that start..start+length is in 0..{x.shape[along]}", (start, length))
    at = tuple(begin if a == along else 0 for a in range(x.ndim))
    return slice(x, at, tuple(count if a == along else d for a, d in enumerate(x.shape)))


@fusible
def strided_slice(
    input_x: Any, begin: Any, end: Any, strides: Any, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
    new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Tensor:
    """Return the elements that begin[i]:end[i]:strides[i] names along axis i, as Python's slices.

    A bit in a mask concerns the entry of that number: begin_mask, end_mask ignore the bound; ellipsis_mask means all axes that are not
    given; new_axis_mask inserts an axis of 1; shrink_axis_mask takes the one element at `begin`.
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


@fusible
def flip(input: Any, dims: Any) -> Tensor:
    """Reverse the elements along the axes."""
    x = operand("Flip", input)
    if not isinstance(dims, (int, tuple, list)) or isinstance(dims, bool):
        raise wrong("Flip", "dims", "an int or a tuple of ints", dims, TypeError)
    return apply(made(Reverse, axes_argument("Flip", dims, x.ndim, "dims") if dims != () else ()), x)


@fusible
def fliplr(input: Any) -> Tensor:
    """Reverse the elements along axis 1."""
    return flip(input, (1,))


@fusible
def flipud(input: Any) -> Tensor:
    """Reverse the elements along axis 0."""
    x = operand("FlipUD", input)
    if x.ndim == 0:
        raise wrong("FlipUD", "input", "of at least 1 dimension", x)
    return flip(x, (0,))


@fusible
def reverse(x: Any, axis: Any) -> Tensor:
    """Reverse the elements along the axes."""
    return flip(x, tuple(axis) if isinstance(axis, list) else axis)


@fusible
def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """Shift the elements along axes by `shifts`; those that leave at the end come in at the beginning."""
    x = operand("Roll", input)
    moves = sizes_argument("Roll", "shifts", shifts, least=None)
    if dims is None:
        if len(moves) != 1:
            raise wrong("Roll", "shifts", "one number where 'dims' is None", moves)
        return reshape(roll(reshape(x, (-1,)), moves, 0), x.shape)
    axes = sizes_argument("Roll", "dims", dims, least=None)
    if len(axes) != len(moves):
        raise wrong("Roll", "dims", f"{len(moves)} axes, as 'shifts'", axes)
    shifts = [0] * x.ndim
    for move, axis in zip(moves, axes, strict=True):
        shifts[dimension("Roll", axis, x, "dims")] += move
    shifts = [move % length if length else 0 for move, length in zip(shifts, x.shape, strict=True)]
    return apply(made(Roll, tuple(shifts)), x) if any(shifts) else x


# Frames --------------------------------------------------------------------------------------------------------------


@fusible
def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Pad a tensor; (before, after) pairs begin with the last axis.

    mode  "constant": filled with `value` (0); "reflect": mirrored without the edge; "replicate": the edge repeated; "circular":
          continued from the other side.  Negative numbers cut off, in mode "circular" before the others continue.
    """
    x = operand("Pad", input_x, "input_x")
    widths = sizes_argument("Pad", "padding", padding, least=None)
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise wrong("Pad", "padding", f"pairs for at most {x.ndim} axes", widths)
    kind = choice("Pad", "mode", mode, ("constant", "reflect", "replicate", "circular"))
    if kind == "constant":
        return padded("Pad", "padding", x, widths, value=0 if value is None else number("Pad", "value", value))
    if value is not None:
        raise wrong("Pad", "value", f"None where mode is '{kind}'", value)
    return padded("Pad", "padding", x, widths, kind)


def padded(op: str, argument: str, x: Tensor, widths: tuple[int, ...], kind: str = "constant", value: Any = 0) -> Tensor:
    """Return `pad` of checked arguments, for the operator and the argument that an error names."""
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    if kind == "constant":
        return framed(x, pairs, value)
    if kind == "circular":  # goes on with what is left of the other side
        x, pairs = cut(x, pairs), [(max(0, before), max(0, after)) for before, after in pairs]
    for along, (before, after) in enumerate(pairs):
        length = x.shape[along]
        limit = {"reflect": length - 1, "circular": length}.get(kind, max(before, after) if length else 0)
        if max(before, after) > max(0, limit):
            raise wrong(op, argument, f"at most {limit} along axis {along} in mode '{kind}'", (before, after))
        if max(0, -before) + max(0, -after) > length:
            raise wrong(op, argument, f"numbers that cut off at most the {length} elements along axis {along}", (before, after))
    wide = [length + before + after for length, (before, after) in zip(x.shape, pairs, strict=True)]
    check_memory(op, f"a result of shape {tuple(wide)}", math.prod(wide) * x.dtype.size)
    low, high = tuple(before for before, _ in pairs), tuple(after for _, after in pairs)
    return apply(Extend(low, high, "edge" if kind == "replicate" else kind), x)


def cut(x: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor:
    """Return `x` without as many elements before and after along each axis as the negative numbers say."""
    if not any(n < 0 for pair in pairs for n in pair):
        return x
    start = tuple(max(0, -before) for before, _ in pairs)
    stop = tuple(d - max(0, -after) for d, (_, after) in zip(x.shape, pairs, strict=True))
    if any(a > b for a, b in zip(start, stop, strict=True)):
        raise wrong("Pad", "padding", f"numbers that cut off at most the sizes {x.shape}", tuple(pairs))
    return apply(made(Slice, start, stop, (1,) * x.ndim), x)


def framed(x: Tensor, pairs: Sequence[tuple[int, int]], filling: bool | int | float) -> Tensor:
    """Return `x` padded with one value, given numbers of elements before and after along each axis; negative numbers cut off."""
    x = cut(x, pairs)
    low, high = tuple(max(0, a) for a, _ in pairs), tuple(max(0, b) for _, b in pairs)
    filling = float(filling) if x.dtype.is_float else bool(filling) if x.dtype is BOOL else int(filling)
    return apply(Pad(low, high, (0,) * x.ndim, filling), x)
