"""Triangles and diagonals of matrices.

Raise TypeError for what is not a Tensor or no int, ValueError for shapes and axes that do not fit.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Select
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.ops.shape import Slice
from adjoint.ir.types import BOOL, I64, tensor
from adjoint.ops.arguments import (
    axis_argument,
    integer,
    operand,
    wrong,
)
from adjoint.ops.shapes import moveaxis, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "diag", "diagonal", "tril", "triu",
]

_SELECT = Select()


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
    """Return the numbers of the rows, i64[rows, 1], and of the columns, i64[1, columns], of a matrix."""
    return apply(made(Iota, tensor(I64, (rows, 1)), 0)), apply(made(Iota, tensor(I64, (1, columns)), 1))


def on_diagonal(rows: int, columns: int) -> Tensor:
    """Return whether an element of a matrix is on its diagonal: bool[rows, columns]."""
    row, column = _grid(rows, columns)
    return row == column


@fusible
def tril(input: Any, diagonal: int = 0) -> Tensor:
    """Return the lower triangles of the matrices in the last two axes, up to the given diagonal; 0 above."""
    return _triangle("Tril", input, diagonal, lower=True)


@fusible
def triu(input: Any, diagonal: int = 0) -> Tensor:
    """Return the upper triangles of the matrices in the last two axes, from the given diagonal on; 0 below."""
    return _triangle("Triu", input, diagonal, lower=False)


@fusible
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return the diagonals of the matrices in two axes, along a new last axis."""
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


@fusible
def diag(input: Any) -> Tensor:
    """Return a tensor of shape s + s with the elements of one of shape s on its diagonal, 0 elsewhere."""
    x = operand("Diag", input)
    n = x.size
    zero = constant(False if x.dtype is BOOL else 0, x.dtype)
    matrix = apply(_SELECT, on_diagonal(n, n), reshape(x, (n,)), zero)
    return reshape(matrix, (*x.shape, *x.shape))
