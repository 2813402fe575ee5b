"""Tensors put together and taken apart in blocks: at least so many axes, columns, parts, rotated planes, sequences, space to batch.

Axes may be negative.  Raise TypeError for what is not a Tensor or no int, ValueError for axes and sizes that do not fit.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.extend import Extend
from adjoint.ir.ops.indexing import Gather, Iota
from adjoint.ir.types import I32, I64, tensor
from adjoint.ops.arguments import ArgumentMistake, axis_argument, dimension, flag, integer, operand, sizes_argument, tensors_argument, wrong
from adjoint.ops.arithmetic import identity, less, where
from adjoint.ops.creation import zeros
from adjoint.ops.parts import concat, flip, framed, meshgrid, stack, tensor_split
from adjoint.ops.picking import index_check, indices_argument
from adjoint.ops.reduction import amax
from adjoint.ops.shapes import expand_dims, moveaxis, permute, reshape, swapaxes
from adjoint.ops.shapes import shape as sizes_of
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import checked_on_host, emitting
from adjoint.runtime.tensor.sizes_of_values import numbers_up_to
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "batch_to_space_nd", "cartesian_prod", "column_stack", "combinations", "deepcopy", "dsplit",
    "dyn_shape", "hsplit", "mirror_pad", "move_to", "padding", "reverse_sequence", "rot90", "sequence_mask", "space_to_batch_nd", "vsplit",
]

# Axes ----------------------------------------------------------------------------------------------------------------


def _each(op: str, inputs: Any, wanted: Any) -> Any:
    if isinstance(inputs, Tensor):
        return reshape(inputs, wanted(inputs.shape))
    return tuple(reshape(x, wanted(x.shape)) for x in tensors_argument(op, "inputs", inputs))


@fusible
def atleast_1d(inputs: Any) -> Any:
    """Return a Tensor, or a tuple for several, with at least one axis."""
    return _each("AtLeast1d", inputs, lambda sizes: sizes or (1,))


@fusible
def atleast_2d(inputs: Any) -> Any:
    """Return a Tensor, or a tuple for several, with at least two axes, axes of 1 added in front."""
    return _each("AtLeast2d", inputs, lambda sizes: (*(1,) * (2 - len(sizes)), *sizes))


@fusible
def atleast_3d(inputs: Any) -> Any:
    """Return a Tensor, or a tuple for several, with at least three axes: a vector lies along axis 1, a matrix along axes 0 and 1."""
    def wanted(sizes: tuple[int, ...]) -> tuple[int, ...]:
        if len(sizes) > 2:
            return sizes
        return (*sizes, 1) if len(sizes) == 2 else (1, *(sizes or (1,)), 1)

    return _each("AtLeast3d", inputs, wanted)


def dyn_shape(input_x: Any) -> Tensor:
    """Return the sizes as a Tensor, Int64."""
    return Tensor(list(sizes_of(operand("DynShape", input_x, "input_x"))), I64)


@fusible
def deepcopy(input_x: Any) -> Tensor:
    """Return a copy in memory of its own."""
    return identity(operand("DeepCopy", input_x, "input_x"))


def move_to(input: Any, to: str = "CPU", blocking: bool = True) -> Tensor:
    """Return a copy on a device, "CPU"; gradients flow through it: `Tensor.move_to`."""
    return operand("MoveTo", input).move_to(to, blocking)


@fusible
def rot90(input: Any, k: int, dims: Any) -> Tensor:
    """Rotate the plane of two axes `k` times by 90 degrees, from the first towards the second."""
    x, times = operand("Rot90", input), integer("Rot90", "k", k) % 4
    if not isinstance(dims, (tuple, list)):
        raise wrong("Rot90", "dims", "a tuple or list of two ints", dims, TypeError)
    if len(dims) != 2:
        raise wrong("Rot90", "dims", "two axes", tuple(dims))
    first, second = (axis_argument("Rot90", axis, x.ndim, "dims") for axis in dims)
    if first == second:
        raise wrong("Rot90", "dims", "two different axes", tuple(dims), ArgumentMistake)
    if times == 2:
        return flip(x, (first, second))
    return flip(swapaxes(x, first, second), first if times == 1 else second) if times else x


# Joined and split ----------------------------------------------------------------------------------------------------


@fusible
def column_stack(tensors: Any) -> Tensor:
    """Concatenate tensors along axis 1, vectors as columns."""
    found = tensors_argument("ColumnStack", "tensors", tensors)
    return concat([reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in found], 1)


def _split(op: str, input: Any, indices_or_sections: Any, axis: int) -> tuple[Tensor, ...]:
    x = operand(op, input)
    if x.ndim <= axis:
        raise wrong(op, "input", f"of at least {axis + 1} dimension{'s' if axis else ''}", x)
    return tensor_split(x, indices_or_sections, axis)


@fusible
def vsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Split along axis 0: into so many parts, or before the given indices."""
    return _split("VSplit", input, indices_or_sections, 0)


@fusible
def hsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Split along axis 1: into so many parts, or before the given indices."""
    return _split("HSplit", input, indices_or_sections, 1)


@fusible
def dsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Split along axis 2: into so many parts, or before the given indices."""
    return _split("DSplit", input, indices_or_sections, 2)


@fusible
def cartesian_prod(*inputs: Any) -> Tensor:
    """Return all rows of an element of each vector, those of the last one changing fastest."""
    vectors = tensors_argument("CartesianProd", "inputs", inputs)
    for x in vectors:
        if x.ndim != 1:
            raise wrong("CartesianProd", "inputs", "of 1 dimension", x)
    if len(vectors) == 1:
        return reshape(vectors[0], (-1, 1))
    return reshape(stack(meshgrid(*vectors, indexing="ij"), -1), (math.prod(x.size for x in vectors), len(vectors)))


@fusible
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Return all choices of `r` elements of a vector, a row for each, in order; no element twice unless `with_replacement`.  Where there is
    none, the result is of shape (0,), Float32."""
    x, count = operand("Combinations", input), integer("Combinations", "r", r)
    again = flag("Combinations", "with_replacement", with_replacement)
    if x.ndim != 1:
        raise wrong("Combinations", "input", "of 1 dimension", x)
    if count < 0:
        raise wrong("Combinations", "r", "at least 0", count)
    total = math.comb(x.size + count - 1, count) if again and x.size else math.comb(x.size, count)
    if count > 2**20 or total * max(count, 1) >= 2**28:
        raise wrong("Combinations", "r", "so small that there are fewer than 2**28 elements", count)
    if not total or not count:
        return zeros((0,))
    choices = (itertools.combinations_with_replacement if again else itertools.combinations)(range(x.size), count)
    return apply(made(Gather, 0), x, Tensor(np.array(list(choices), np.int64)))


@fusible
def padding(x: Any, pad_dim_size: int = 8) -> Tensor:
    """Return the tensor, whose last axis has one element, with zeros behind it up to `pad_dim_size`."""
    given, size = operand("Padding", x, "x"), integer("Padding", "pad_dim_size", pad_dim_size)
    if size < 1:
        raise wrong("Padding", "pad_dim_size", "at least 1", size)
    if given.ndim < 2 or given.shape[-1] != 1:
        raise wrong("Padding", "x", "of at least 2 dimensions, the last of 1 element", given)
    return framed(given, (*((0, 0),) * (given.ndim - 1), (0, size - 1)), 0)


@fusible
def mirror_pad(input_x: Any, paddings: Any, mode: Any) -> Tensor:
    """Return the tensor continued by its mirror image: paddings [n, 2], a Tensor; "REFLECT" leaves the edge out, "SYMMETRIC" repeats it."""
    x = operand("MirrorPad", input_x, "input_x")
    if not isinstance(mode, str):
        raise wrong("MirrorPad", "mode", "'REFLECT' or 'SYMMETRIC'", mode, TypeError)
    if mode.upper() not in ("REFLECT", "SYMMETRIC"):
        raise wrong("MirrorPad", "mode", "'REFLECT' or 'SYMMETRIC'", repr(mode))
    pairs = paddings.tolist() if isinstance(paddings, Tensor) else paddings
    two = isinstance(pairs, (tuple, list)) and all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs)
    if not two or len(pairs) != x.ndim:
        raise wrong("MirrorPad", "paddings", f"{x.ndim} pairs of ints", paddings)
    edge = 1 if mode.upper() == "REFLECT" else 0
    widths = [(integer("MirrorPad", "paddings", before), integer("MirrorPad", "paddings", after)) for before, after in pairs]
    for axis, (before, after) in enumerate(widths):
        n = x.shape[axis]
        if not 0 <= min(before, after) <= max(before, after) <= n - edge:
            raise wrong("MirrorPad", "paddings", f"in 0..{n - edge} along axis {axis}", (before, after))
    return apply(Extend(tuple(before for before, _ in widths), tuple(after for _, after in widths), mode.lower()), x)


# Sequences -----------------------------------------------------------------------------------------------------------


@fusible
def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """Return the tensor with elements along `seq_dim` reversed, for each slice along `batch_dim` the first `seq_lengths` ones."""
    op = "ReverseSequence"
    given, lengths = operand(op, x, "x"), indices_argument(op, "seq_lengths", seq_lengths)
    along, batch = dimension(op, seq_dim, given, "seq_dim", "x"), dimension(op, batch_dim, given, "batch_dim", "x")
    if along == batch:
        raise wrong(op, "seq_dim", "another axis than 'batch_dim'", seq_dim)
    if lengths.shape != (given.shape[batch],):
        raise wrong(op, "seq_lengths", f"of shape {(given.shape[batch],)}", lengths)
    length = given.shape[along]
    checked_on_host(index_check(op, "seq_lengths", 0, length + 1), lengths)
    moved = moveaxis(given, (batch, along), (0, 1))
    place = apply(made(Iota, tensor(I64, (1, length)), 1))
    ends = expand_dims(lengths.astype(I64, copy=False), -1)
    place = where(less(place, ends), ends - place - 1, place)
    start = apply(made(Iota, tensor(I64, (moved.shape[0], 1)), 0)) * length
    rows = reshape(moved, (moved.shape[0] * length, *moved.shape[2:]))
    return moveaxis(apply(made(Gather, 0), rows, place + start), (0, 1), (batch, along))


@fusible
def sequence_mask(lengths: Any, maxlen: int | None = None) -> Tensor:
    """Return for each length so many True followed by False, `maxlen` together, by default as many as the largest length."""
    given = operand("SequenceMask", lengths, "lengths")
    if given.dtype not in (I32, I64):
        raise wrong("SequenceMask", "lengths", "a Tensor of Int32 or Int64", given, TypeError)
    if maxlen is None:
        if emitting() and given.size:
            why = "it has as many elements as the largest length; give 'maxlen'"
            numbers = numbers_up_to("SequenceMask", why, amax(given).astype(I64, copy=False))
            return less(numbers, expand_dims(given.astype(I64, copy=False), -1))
        count = max(int(amax(given).item()), 0) if given.size else 0
    else:
        count = integer("SequenceMask", "maxlen", maxlen)
        if not 0 < count < 2**40:
            raise wrong("SequenceMask", "maxlen", "in [1, 2**40)", count)
    return less(apply(made(Iota, tensor(I64, (count,)), 0)), expand_dims(given.astype(I64, copy=False), -1))


# Space and batch -----------------------------------------------------------------------------------------------------


def block(op: str, argument: str, given: Any, pairs_name: str, pairs: Any) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Return the sizes of a block, and numbers of elements before and after, for each of the axes that are put into blocks."""
    if isinstance(pairs, Tensor):
        pairs = pairs.tolist()
    if not isinstance(pairs, (tuple, list)) or not pairs or any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in pairs):
        kind = ValueError if isinstance(pairs, (tuple, list)) else TypeError
        raise wrong(op, pairs_name, "a tuple or list of pairs of ints", pairs, kind)
    ends = tuple((integer(op, pairs_name, a), integer(op, pairs_name, b)) for a, b in pairs)
    if min(min(pair) for pair in ends) < 0:
        raise wrong(op, pairs_name, "at least 0", ends)
    sizes = sizes_argument(op, argument, given, least=1)
    if len(sizes) == 1 and not isinstance(given, (tuple, list, Tensor)):
        sizes = sizes * len(ends)
    if len(sizes) != len(ends):
        raise wrong(op, argument, f"{len(ends)} sizes, as '{pairs_name}' has pairs", sizes)
    return sizes, ends


@fusible
def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Tensor:
    """Return blocks of the last axes, padded with zeros, as slices along axis 0: element (i, j) of each block goes to slice number i, j.

    block_size  the size of a block along each of the last axes, or one for all
    paddings    for each of these axes zeros before and after
    """
    op = "SpaceToBatchND"
    x = operand(op, input_x, "input_x")
    sizes, ends = block(op, "block_size", block_size, "paddings", paddings)
    if x.ndim <= len(sizes):
        raise wrong(op, "input_x", f"of at least {len(sizes) + 1} dimensions", x)
    lead = x.shape[: x.ndim - len(sizes)]
    x = framed(x, (*((0, 0),) * len(lead), *ends), 0)
    space = x.shape[len(lead) :]
    if any(n % step for n, step in zip(space, sizes, strict=True)):
        fitting = f"so large that the padded sizes, {space}, are multiples of 'block_size', {sizes}"
        raise wrong(op, "paddings", fitting, ends, ArgumentMistake)
    parted = reshape(x, (*lead, *(n for size, step in zip(space, sizes, strict=True) for n in (size // step, step))))
    first, count = len(lead), len(sizes)
    order = (*range(first + 1, first + 2 * count, 2), *range(first), *range(first, first + 2 * count, 2))
    outer = tuple(size // step for size, step in zip(space, sizes, strict=True))
    return reshape(permute(parted, order), (math.prod(sizes) * lead[0], *lead[1:], *outer))


@fusible
def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Tensor:
    """Return slices along axis 0 put together to blocks of the last axes, cut off at the ends: the inverse of `space_to_batch_nd`.

    block_shape  the size of a block along each of the last axes, or one for all
    crops        for each of these axes how much is cut off before and after
    """
    op = "BatchToSpaceND"
    x = operand(op, input_x, "input_x")
    sizes, ends = block(op, "block_shape", block_shape, "crops", crops)
    if x.ndim <= len(sizes):
        raise wrong(op, "input_x", f"of at least {len(sizes) + 1} dimensions", x)
    total, count = math.prod(sizes), len(sizes)
    if x.shape[0] % total:
        raise wrong(op, "input_x", f"of a multiple of {total} slices, the elements of a block", x)
    lead, space = (x.shape[0] // total, *x.shape[1 : x.ndim - count]), x.shape[x.ndim - count :]
    for size, step, (before, after) in zip(space, sizes, ends, strict=True):
        if before + after > size * step:
            raise wrong(op, "crops", f"at most {size * step} together", (before, after))
    parted = reshape(x, (*sizes, *lead, *space))
    first = count + len(lead)
    order = (*range(count, first), *(a for i in range(count) for a in (first + i, i)))
    found = reshape(permute(parted, order), (*lead, *(n * step for n, step in zip(space, sizes, strict=True))))
    return framed(found, (*((0, 0),) * len(lead), *((-before, -after) for before, after in ends)), 0)
