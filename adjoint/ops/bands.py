"""Matrices by their diagonals: made of diagonals, diagonals read and replaced, bands, coordinates of triangles.

Diagonal 0 of a matrix is the main one, positive ones are above it, negative ones below.  Several diagonals are the rows of a matrix, the
upper one first; where they have different lengths, `align` says at which end they are filled up: "RIGHT_LEFT" aligns those above the main
diagonal to the right, that is fills them at the left, and those below it to the left; so with "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT".

Raise TypeError for what is not a Tensor or no int, ValueError for shapes, axes and numbers that do not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Select
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.types import BOOL, I32, I64, DType
from adjoint.ops.arguments import axis_argument, dtype_or, filler, integer, operand, sizes_argument, wrong
from adjoint.ops.creation import filled, zeros
from adjoint.ops.diagonals import diagonal
from adjoint.ops.parts import concat
from adjoint.ops.reduction import sum
from adjoint.ops.shapes import broadcast_to, expand_dims, moveaxis, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "block_diag", "diag_embed", "diagflat", "diagonal_scatter", "matrix_band_part", "matrix_diag", "matrix_diag_part", "matrix_set_diag",
    "trace", "tril_indices", "triu_indices",
]

_SELECT = Select()
Array = Any

# Places --------------------------------------------------------------------------------------------------------------

ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def check_align(op: str, align: Any) -> str:
    """Return one of the words for how diagonals are aligned."""
    if not isinstance(align, str):
        raise wrong(op, "align", f"one of {', '.join(ALIGNMENTS)}", align, TypeError)
    if align not in ALIGNMENTS:
        raise wrong(op, "align", f"one of {', '.join(ALIGNMENTS)}", repr(align))
    return align


def _diagonals(op: str, k: Any) -> tuple[int, int]:
    """Return the numbers of the lowest and the highest of one or more diagonals."""
    if isinstance(k, Tensor) and not k.dtype.is_integer:
        raise wrong(op, "k", "an int, or a Tensor of one or two integers", k, TypeError)
    if isinstance(k, Tensor) and k.ndim == 0:
        k = k.item()
    numbers = sizes_argument(op, "k", k, least=None)
    if len(numbers) not in (1, 2) or numbers[0] > numbers[-1]:
        raise wrong(op, "k", "one number, or two of which the first is not larger", numbers)
    return numbers[0], numbers[-1]


def _places(rows: int, columns: int, low: int, high: int, align: str) -> tuple[Array, Array, Array]:
    """Return for each element of the diagonals low..high, as rows [high - low + 1, longest], whether there is one, its row and its column.
    """
    numbers = np.arange(high, low - 1, -1)[:, None]
    lengths = np.minimum(rows + np.minimum(numbers, 0), columns - np.maximum(numbers, 0))
    longest = int(lengths.max(initial=0))
    above, below = align.split("_")
    to_right = np.where(numbers >= 0, above == "RIGHT", below == "RIGHT")
    along = np.arange(longest)[None, :] - np.where(to_right, longest - lengths, 0)
    inside = (along >= 0) & (along < lengths)
    return inside, np.where(inside, along - np.minimum(numbers, 0), 0), np.where(inside, along + np.maximum(numbers, 0), 0)


def _check_diagonals(op: str, rows: int, columns: int, low: int, high: int) -> None:
    if not (-rows < low or low == 0) or not (high < columns or high == 0):
        raise wrong(op, "k", f"in {1 - rows}..{columns - 1}", (low, high))


def _taken(x: Tensor, places: Array) -> Tensor:
    """Return the elements at places along the last axis."""
    return apply(made(Gather, x.ndim - 1), x, Tensor(places, I64))


# Made, read and replaced ---------------------------------------------------------------------------------------------


@fusible
def matrix_diag(x: Any, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Return matrices with given diagonals, in the last axis of `x` one of them or in the last two several, and a number elsewhere.

    k                   the number of the diagonal, or those of the lowest and the highest
    num_rows, num_cols  the sizes of the matrices; -1: as small as they can be
    """
    op = "MatrixDiag"
    given, (low, high), align = operand(op, x, "x"), _diagonals(op, k), check_align(op, align)
    count = high - low + 1
    if given.ndim < (1 if count == 1 else 2):
        raise wrong(op, "x", f"of at least {1 if count == 1 else 2} dimensions", given)
    if count > 1 and given.shape[-2] != count:
        raise wrong(op, "x", f"of {count} diagonals in the last axis but one", given)
    longest = given.shape[-1]
    rows, columns = integer(op, "num_rows", num_rows), integer(op, "num_cols", num_cols)
    least = (longest - min(high, 0), longest + max(low, 0))
    if rows == columns == -1:
        rows = columns = max(least)
    rows = least[0] if rows == -1 else rows
    columns = least[1] if columns == -1 else columns
    for name, size, smallest in (("num_rows", rows, least[0]), ("num_cols", columns, least[1])):
        if size < smallest or size >= 2**24:
            raise wrong(op, name, f"-1, or in [{smallest}, 2**24)", size)
    inside, row, column = _places(rows, columns, low, high, align)
    if inside.shape[1] != longest:
        raise wrong(op, "num_rows", f"so large that the longest diagonal has {longest} elements, as 'num_cols'", (rows, columns))
    fill = filler(op, "padding_value", padding_value, given.dtype) if not isinstance(padding_value, Tensor) else padding_value
    if fill.size != 1:
        raise wrong(op, "padding_value", "a number, or a Tensor of one", fill)
    return _with_diagonals(given, count, inside, row, column, reshape(fill, ()).astype(given.dtype, copy=False), rows, columns)


def _with_diagonals(x: Tensor, count: int, inside: Array, row: Array, column: Array, beside: Tensor, rows: int, columns: int) -> Tensor:
    """Return matrices with the diagonals of `x` at the places, and `beside` elsewhere, a number or matrices."""
    lead = x.shape[: x.ndim - (1 if count == 1 else 2)]
    source, there = np.zeros((rows, columns), np.int64), np.zeros((rows, columns), bool)
    source[row[inside], column[inside]] = np.flatnonzero(inside)
    there[row[inside], column[inside]] = True
    flat = reshape(x, (*lead, count * x.shape[-1]))
    if not flat.shape[-1] or not there.any():
        return broadcast_to(beside, (*lead, rows, columns))
    found = reshape(_taken(flat, source.reshape(-1)), (*lead, rows, columns))
    return apply(_SELECT, Tensor(there), found, beside)


@fusible
def matrix_diag_part(x: Any, k: Any, padding_value: Any, align: str = "RIGHT_LEFT") -> Tensor:
    """Return diagonals of the matrices in the last two axes: one in the last axis, or several in the last two, shorter ones filled up.

    k              the number of the diagonal, or those of the lowest and the highest
    padding_value  what shorter diagonals are filled up with
    """
    op = "MatrixDiagPart"
    given, (low, high), align = operand(op, x, "x"), _diagonals(op, k), check_align(op, align)
    if given.ndim < 2:
        raise wrong(op, "x", "of at least 2 dimensions", given)
    *lead, rows, columns = given.shape
    _check_diagonals(op, rows, columns, low, high)
    fill = filler(op, "padding_value", padding_value, given.dtype) if not isinstance(padding_value, Tensor) else padding_value
    if fill.size != 1:
        raise wrong(op, "padding_value", "a number, or a Tensor of one", fill)
    fill = reshape(fill, ()).astype(given.dtype, copy=False)
    inside, row, column = _places(rows, columns, low, high, align)
    sizes = (*lead, *inside.shape)
    if not given.size or not inside.size:
        return broadcast_to(fill, sizes if low < high else (*lead, inside.shape[1]))
    found = _taken(reshape(given, (*lead, rows * columns)), (row * columns + column).reshape(-1))
    found = reshape(found, sizes) if inside.all() else apply(_SELECT, Tensor(inside), reshape(found, sizes), fill)
    return found if low < high else reshape(found, (*lead, inside.shape[1]))


@fusible
def matrix_set_diag(x: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Return the matrices in the last two axes with their diagonals replaced: by one in the last axis of `diagonal`, or several in its last
    two.

    k  the number of the diagonal, or those of the lowest and the highest
    """
    op = "MatrixSetDiag"
    given, new = operand(op, x, "x"), operand(op, diagonal, "diagonal")
    (low, high), align = _diagonals(op, k), check_align(op, align)
    if given.ndim < 2:
        raise wrong(op, "x", "of at least 2 dimensions", given)
    *lead, rows, columns = given.shape
    _check_diagonals(op, rows, columns, low, high)
    if new.dtype is not given.dtype:
        raise wrong(op, "diagonal", f"of the dtype of 'x', {given.dtype}", new, TypeError)
    inside, row, column = _places(rows, columns, low, high, align)
    wanted = (*lead, *inside.shape) if low < high else (*lead, inside.shape[1])
    if new.shape != wanted:
        raise wrong(op, "diagonal", f"of shape {wanted}", new)
    return _with_diagonals(new, high - low + 1, inside, row, column, given, rows, columns)


@fusible
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices, in the axes `dim1` and `dim2`, with the last axis of the input on the diagonal `offset` and 0 elsewhere."""
    op = "DiagEmbed"
    x, shift = operand(op, input), integer(op, "offset", offset)
    if x.dtype is BOOL:
        raise wrong(op, "input", "a Tensor of numbers", x, TypeError)
    if not 1 <= x.ndim <= 6:
        raise wrong(op, "input", "of 1 to 6 dimensions", x)
    first, second = axis_argument(op, dim1, x.ndim + 1, "dim1"), axis_argument(op, dim2, x.ndim + 1, "dim2")
    if first == second:
        raise wrong(op, "dim2", "another axis than dim1", dim2)
    return moveaxis(matrix_diag(x, shift), (-2, -1), (first, second))


@fusible
def diagflat(input: Any, offset: int = 0) -> Tensor:
    """Return a matrix with the elements of the input on the diagonal `offset` and 0 elsewhere."""
    x, shift = operand("DiagFlat", input), integer("DiagFlat", "offset", offset)
    if not x.size:
        return zeros((abs(shift), abs(shift)), x.dtype)
    return matrix_diag(reshape(x, (-1,)), shift, padding_value=False if x.dtype is BOOL else 0)


@fusible
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return the input with `src` in place of the diagonals of the matrices in two axes."""
    op = "DiagonalScatter"
    x, new, shift = operand(op, input), operand(op, src, "src"), integer(op, "offset", offset)
    if x.ndim < 2:
        raise wrong(op, "input", "of at least 2 dimensions", x)
    axes = axis_argument(op, dim1, x.ndim, "dim1"), axis_argument(op, dim2, x.ndim, "dim2")
    if axes[0] == axes[1]:
        raise wrong(op, "dim2", "another axis than dim1", dim2)
    wanted = diagonal(x, shift, *axes).shape
    if new.shape != wanted:
        raise wrong(op, "src", f"of the shape of the diagonals, {wanted}", new)
    if not new.size:
        return x
    moved = moveaxis(x, axes, (-2, -1))
    return moveaxis(matrix_set_diag(moved, new.astype(x.dtype, copy=False), shift), (-2, -1), axes)


@fusible
def matrix_band_part(x: Any, lower: Any, upper: Any) -> Tensor:
    """Return the matrices in the last two axes with 0 but for the main diagonal, `lower` diagonals below and `upper` above it.

    lower, upper  ints, or Tensors of them that broadcast with the leading axes; negative: all
    """
    op = "MatrixBandPart"
    given = operand(op, x, "x")
    if given.ndim < 2:
        raise wrong(op, "x", "of at least 2 dimensions", given)
    rows, columns = given.shape[-2:]
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    zero = filled(op, (), False if given.dtype is BOOL else 0, given.dtype)
    for name, bound, distance in (("lower", lower, row - column), ("upper", upper, column - row)):
        if isinstance(bound, Tensor):
            if not bound.dtype.is_integer:
                raise wrong(op, name, "an int, or a Tensor of integers", bound, TypeError)
            if bound.ndim > given.ndim - 2 or any(n not in (1, d) for n, d in zip(bound.shape[::-1], given.shape[-3::-1], strict=False)):
                raise wrong(op, name, f"of a shape that broadcasts to {given.shape[:-2]}", bound)
            wide = expand_dims(expand_dims(bound.astype(I64, copy=False), -1), -1)
            given = apply(_SELECT, (wide < 0).logical_or(Tensor(distance, I64) <= wide), given, zero)
        elif (count := integer(op, name, bound)) >= 0:
            given = apply(_SELECT, Tensor(distance <= count), given, zero)
    return given


# Sums and blocks -----------------------------------------------------------------------------------------------------


@fusible
def trace(input: Any) -> Tensor:
    """Return the sum of the main diagonal of a matrix, in its dtype."""
    x = operand("Trace", input)
    if x.ndim != 2:
        raise wrong("Trace", "input", "of 2 dimensions", x)
    if x.dtype is BOOL:
        raise wrong("Trace", "input", "a Tensor of numbers", x, TypeError)
    return sum(diagonal(x), dtype=x.dtype)


@fusible
def block_diag(*inputs: Any) -> Tensor:
    """Return a matrix with matrices along its diagonal, and 0 elsewhere; numbers and vectors count as rows."""
    op = "BlockDiag"
    blocks = [operand(op, x, "inputs") for x in inputs]
    if not blocks:
        raise wrong(op, "inputs", "at least one Tensor", blocks, RuntimeError)
    for x in blocks:
        if x.ndim > 2:
            raise wrong(op, "inputs", "of at most 2 dimensions", x)
    blocks = [reshape(x, (1, x.size)) if x.ndim < 2 else x for x in blocks]
    width, before, rows = 0, 0, []
    for x in blocks:
        width += x.shape[1]
    for x in blocks:
        sides = [zeros((x.shape[0], n), x.dtype) for n in (before, width - before - x.shape[1])]
        rows.append(concat((sides[0], x, sides[1]), 1))
        before += x.shape[1]
    return concat(rows, 0)


def _triangle(op: str, row: Any, col: Any, offset: Any, dtype: Any, inside: Any) -> Tensor:
    sizes = [integer(op, name, value) for name, value in (("row", row), ("col", col))]
    shift, to = integer(op, "offset", offset), dtype_or(op, dtype, I64)
    for name, size in zip(("row", "col"), sizes, strict=True):
        if not 0 <= size < 2**24:
            raise wrong(op, name, "in [0, 2**24)", size)
    if to not in (I32, I64):
        raise wrong(op, "dtype", "int32 or int64", to, TypeError)
    if sizes[0] * sizes[1] >= 2**31:
        raise wrong(op, "col", "so small that the matrix has less than 2**31 elements", tuple(sizes))
    return Tensor(np.stack(np.nonzero(inside(np.arange(sizes[1]) - np.arange(sizes[0])[:, None], shift))), to)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType = I64) -> Tensor:
    """Return the coordinates [2, n] of the elements of a matrix on and below a diagonal, row by row."""
    return _triangle("TrilIndices", row, col, offset, dtype, np.less_equal)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType = I64) -> Tensor:
    """Return the coordinates [2, n] of the elements of a matrix on and above a diagonal, row by row."""
    return _triangle("TriuIndices", row, col, offset, dtype, np.greater_equal)
