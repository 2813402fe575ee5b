"""Reshaping, joining and splitting.  `dim` is an axis; negative ones count from the end."""

from __future__ import annotations

from typing import Any

from adjoint.numpy.joining import dstack as stacked_in_depth
from adjoint.numpy.triangles import diag as diagonal_of
from adjoint.ops import parts, shapes
from adjoint.ops.arguments import axes_argument, dimension, integer, operand, wrong
from adjoint.ops.diagonals import tril, triu
from adjoint.ops.parts import flip, hstack, roll, unbind
from adjoint.ops.shapes import broadcast_to, ravel, reshape, swapaxes, t, tile, unsqueeze
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "broadcast_to", "cat", "chunk", "concat", "diag", "dstack", "flatten", "flip", "hstack", "narrow", "permute", "ravel",
    "repeat_interleave", "reshape", "roll", "select", "split", "squeeze", "stack", "swapaxes", "t", "tile", "transpose", "tril", "triu",
    "unbind", "unsqueeze",
]


@fusible
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Concatenate tensors along an axis."""
    return parts.concat(tensors, dim)


@fusible
def concat(tensors: Any, dim: int = 0) -> Tensor:
    """Same as `cat`."""
    return parts.concat(tensors, dim)


@fusible
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Stack tensors of the same shape along a new axis."""
    return parts.stack(tensors, dim)


@fusible
def dstack(tensors: Any) -> Tensor:
    """Concatenate tensors along axis 2, which is added to vectors and matrices."""
    return stacked_in_depth(tensors)


@fusible
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split into consecutive parts along an axis: of one size (the last may be smaller), or of the sizes in a tuple or list."""
    return parts.split(tensor, split_size_or_sections, dim)


@fusible
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split into at most `chunks` parts along an axis, all of the same size except the last."""
    return parts.chunk(input, chunks, dim)


@fusible
def narrow(input: Any, dim: int, start: int, length: int) -> Tensor:
    """Return `length` elements along an axis from `start` on."""
    return parts.narrow(input, dim, start, length)


@fusible
def select(input: Any, dim: int, index: int) -> Tensor:
    """Return one slice of an axis, without the axis."""
    x = operand("Select", input)
    along = dimension("Select", dim, x, "dim")
    place = integer("Select", "index", index)
    if not -x.shape[along] <= place < x.shape[along]:
        raise wrong("Select", "index", f"in [{-x.shape[along]}, {x.shape[along]})", place, IndexError)
    return shapes.squeeze(parts.narrow(x, along, place % x.shape[along], 1), along)


@fusible
def transpose(input: Any, dim0: int, dim1: int) -> Tensor:
    """Exchange two axes."""
    return shapes.swapaxes(input, dim0, dim1)


@fusible
def permute(input: Any, dims: Any) -> Tensor:
    """Return the axes in another order: axis i of the result is axis dims[i] of the input."""
    return shapes.transpose(input, dims)


@fusible
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the axes from `start_dim` to `end_dim` into one."""
    return shapes.joined("Flatten", operand("Flatten", input), start_dim, end_dim)


@fusible
def squeeze(input: Any, dim: Any = None) -> Tensor:
    """Remove the axes of size 1, or those of `dim` that have size 1."""
    return shapes.squeeze(input, dim)


@fusible
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None, *, output_size: Any = None) -> Tensor:
    """Repeat each element along an axis, all by one number or each by its own in `repeats`; without an axis, the flattened tensor."""
    out = shapes.repeat_interleave(input, repeats, dim)
    if output_size is not None:
        along = axes_argument("RepeatInterleave", dim, out.ndim, "dim")[0]
        if out.shape[along] != integer("RepeatInterleave", "output_size", output_size):
            raise wrong("RepeatInterleave", "output_size", f"the {out.shape[along]} elements that there are", output_size)
    return out


@fusible
def diag(input: Any, diagonal: int = 0) -> Tensor:
    """For a vector, return a matrix with it on a diagonal; for a matrix, return that diagonal."""
    return diagonal_of(input, diagonal)
