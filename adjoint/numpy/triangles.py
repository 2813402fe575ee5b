"""Matrices by their diagonals: identity matrices, triangles, diagonals, traces, powers of a vector."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.types import F32, F64, I64, tensor
from adjoint.numpy.conversion import array_like
from adjoint.numpy.dtypes import checked_dtype
from adjoint.ops import diagonals
from adjoint.ops.arguments import flag, integer, operand, wrong
from adjoint.ops.arithmetic import pow, where
from adjoint.ops.creation import zeros_like
from adjoint.ops.parts import flip, framed
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["diag", "diagflat", "diagonal", "eye", "identity", "trace", "tri", "tril", "triu", "vander"]


def _offsets(rows: int, columns: int) -> Tensor:
    """Return for each element of a matrix the number of its diagonal, i64[rows, columns]: 0 is the main one, positive ones are above it."""
    return apply(made(Iota, tensor(I64, (1, columns)), 1)) - apply(made(Iota, tensor(I64, (rows, 1)), 0))


def _matrix_sizes(op: str, N: Any, M: Any) -> tuple[int, int]:
    rows = integer(op, "N", N)
    columns = rows if M is None else integer(op, "M", M)
    if min(rows, columns) < 0:
        raise wrong(op, "N", "at least 0, as 'M'", (rows, columns))
    return rows, columns


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = F32) -> Tensor:
    """Return a matrix of `N` rows and `M` (default `N`) columns with ones on the diagonal `k` and zeros elsewhere."""
    return (_offsets(*_matrix_sizes("eye", N, M)) == integer("eye", "k", k)).astype(checked_dtype("eye", dtype), copy=False)


def identity(n: Any, dtype: Any = F32) -> Tensor:
    """Return the identity matrix of `n` rows."""
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = F32) -> Tensor:
    """Return a matrix of `N` rows and `M` (default `N`) columns with ones on and below the diagonal `k` and zeros above."""
    return (_offsets(*_matrix_sizes("tri", N, M)) <= integer("tri", "k", k)).astype(checked_dtype("tri", dtype), copy=False)


def _rows(op: str, m: Any) -> Tensor:
    """Return an array of matrices; a vector becomes a matrix with that vector as every row."""
    x = array_like(op, m, "m")
    if x.ndim == 0:
        raise wrong(op, "m", "of at least 1 dimension", x)
    return x if x.ndim > 1 else reshape(x, (1, -1)).broadcast_to((x.size, x.size))


def tril(m: Any, k: int = 0) -> Tensor:
    """Return the matrices in the last two axes with zeros above the diagonal `k`."""
    return diagonals.tril(_rows("tril", m), integer("tril", "k", k))


def triu(m: Any, k: int = 0) -> Tensor:
    """Return the matrices in the last two axes with zeros below the diagonal `k`."""
    return diagonals.triu(_rows("triu", m), integer("triu", "k", k))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the diagonals of the matrices in two axes, along a new last axis."""
    return diagonals.diagonal(operand("diagonal", a, "a"), offset, axis1, axis2)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Return the sum of the diagonal; Int64 for integers by default."""
    to = None if dtype is None else checked_dtype("trace", dtype)
    return operand("trace", a, "a").trace(offset, axis1, axis2, to)


def diag(v: Any, k: int = 0) -> Tensor:
    """For a vector, return a matrix with it on the diagonal `k`; for a matrix, return its diagonal `k`."""
    x = operand("diag", v, "v")
    if x.ndim not in (1, 2):
        raise wrong("diag", "v", "of 1 or 2 dimensions", x)
    return diagonals.diagonal(x, k) if x.ndim == 2 else diagflat(x, k)


def diagflat(v: Any, k: int = 0) -> Tensor:
    """Return a matrix with the elements of the flattened array on the diagonal `k` and 0 elsewhere."""
    x = reshape(operand("diagflat", v, "v"), (-1,))
    above, below = max(0, integer("diagflat", "k", k)), max(0, -k)
    matrix = where(_offsets(x.size, x.size) == 0, x, zeros_like(x))
    return framed(matrix, ((below, above), (above, below)), 0)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:
    """Return the Vandermonde matrix: the powers N - 1 to 0 of each element of a vector as a row; 0 to N - 1 if `increasing`.  By default N
    is the vector's length."""
    column = array_like("vander", x) if isinstance(x, (tuple, list)) else operand("vander", x, "x")
    if column.ndim != 1:
        raise wrong("vander", "x", "of 1 dimension", column)
    count = column.size if N is None else integer("vander", "N", N)
    if count <= 0:
        raise wrong("vander", "N", "at least 1", count)
    kind = column.dtype if column.dtype.is_integer else F64
    powers = apply(made(Iota, tensor(kind, (count,))))
    powers = (powers if flag("vander", "increasing", increasing) else flip(powers, 0)).astype(column.dtype, copy=False)
    return pow(reshape(column, (-1, 1)), reshape(powers, (1, -1)))
