"""Coordinates: of grids, of diagonals and triangles, of the product of index vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.types import I32
from adjoint.numpy.conversion import array_like
from adjoint.numpy.creation import arange
from adjoint.numpy.spacing import linspace
from adjoint.ops.arguments import flag, integer, operand, real, sizes_argument, wrong
from adjoint.ops.parts import stack
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["diag_indices", "indices", "ix_", "meshgrid", "mgrid", "ogrid", "tril_indices", "tril_indices_from", "triu_indices",
           "triu_indices_from"]


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinates of a grid: each array along its own axis, repeated along the others unless `sparse`.

    indexing  "xy": the first array lies along axis 1 and the second along axis 0; "ij": in order
    """
    if indexing not in ("xy", "ij"):
        raise wrong("meshgrid", "indexing", "'xy' or 'ij'", repr(indexing), TypeError)
    spread = not flag("meshgrid", "sparse", sparse)
    lines = [reshape(operand("meshgrid", x, "xi"), (-1,)) for x in xi]
    places = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        places[:2] = 1, 0
    sizes = tuple(lines[place].size for place in places)
    grids = [reshape(x, tuple(x.size if a == place else 1 for a in range(len(lines)))) for x, place in zip(lines, places, strict=True)]
    return [broadcast_to(x, sizes) for x in grids] if spread else grids


class _Grid:
    """`mgrid[a:b:c, ...]`: the coordinates of a grid; with an imaginary step `nj`, n numbers from a to b, both included."""

    def __init__(self, *, sparse: bool):
        self._sparse = sparse

    def __getitem__(self, keys: Any) -> Any:
        lines = [self._line(key) for key in (keys if isinstance(keys, tuple) else (keys,))]
        grids = meshgrid(*lines, sparse=self._sparse, indexing="ij")
        return grids[0] if len(grids) == 1 else grids if self._sparse else stack(grids, 0)

    def _line(self, key: Any) -> Tensor:
        name = "ogrid" if self._sparse else "mgrid"
        if not isinstance(key, slice) or not isinstance(key.stop, int):
            raise wrong(name, "keys", "slices such as 0:5", repr(key), TypeError)
        start, step = 0 if key.start is None else integer(name, "start", key.start), key.step or 1
        if isinstance(step, complex):
            return linspace(start, key.stop, int(abs(step)))
        return arange(start, key.stop, step)


mgrid = _Grid(sparse=False)
"""`mgrid[0:3, 0:2]`: the coordinates of a grid, one array for each axis along a new first axis."""
ogrid = _Grid(sparse=True)
"""`ogrid[0:3, 0:2]`: a list of arrays that broadcast to the coordinates of a grid."""


def indices(dimensions: Any, dtype: Any = I32, sparse: bool = False) -> list[Tensor]:
    """Return the coordinates of the elements of an array of these sizes, one array for each axis."""
    if not isinstance(dimensions, (tuple, list)):
        raise wrong("indices", "dimensions", "a tuple or list of ints", dimensions, TypeError)
    lines = [arange(size, dtype=dtype) for size in sizes_argument("indices", "dimensions", dimensions)]
    return meshgrid(*lines, sparse=sparse, indexing="ij")


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Return vectors, each along its own axis, so that indexing with all of them selects the product of their indices."""
    lines = [operand("ix_", x, "args") for x in args]
    for x in lines:
        if x.ndim != 1:
            raise wrong("ix_", "args", "of 1 dimension", x)
    return tuple(meshgrid(*lines, sparse=True, indexing="ij"))


def diag_indices(n: Any, ndim: Any = 2) -> tuple[Tensor, ...]:
    """Return the coordinates of the main diagonal of an array of `ndim` axes of `n` elements."""
    count = integer("diag_indices", "n", n)
    return tuple(arange(0, count) for _ in range(integer("diag_indices", "ndim", ndim)))


def _triangle(op: str, n: Any, k: Any, m: Any, inside: Any) -> tuple[Tensor, Tensor]:
    """Return the coordinates of a triangle of a matrix, row by row."""
    rows, offset = math.ceil(real(op, "n", n)), real(op, "k", k)
    columns = rows if m is None else math.ceil(real(op, "m", m))
    row, column = np.nonzero(inside(np.arange(columns), np.arange(rows)[:, None] + offset))
    return Tensor(row, I32), Tensor(column, I32)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Tensor, Tensor]:
    """Return the coordinates of the elements on and above the diagonal `k` of a matrix of `n` rows and `m` (default `n`) columns."""
    return _triangle("triu_indices", n, k, m, np.greater_equal)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Tensor, Tensor]:
    """Return the coordinates of the elements on and below the diagonal `k` of a matrix of `n` rows and `m` (default `n`) columns."""
    return _triangle("tril_indices", n, k, m, np.less_equal)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Tensor, Tensor]:
    """Return the coordinates of the elements of a matrix on and above the diagonal `k`."""
    return triu_indices(*_matrix("triu_indices_from", arr, k))


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Tensor, Tensor]:
    """Return the coordinates of the elements of a matrix on and below the diagonal `k`."""
    return tril_indices(*_matrix("tril_indices_from", arr, k))


def _matrix(op: str, arr: Any, k: Any) -> tuple[int, Any, int]:
    x = array_like(op, arr, "arr")
    if x.ndim != 2:
        raise wrong(op, "arr", "of 2 dimensions", x)
    return x.shape[0], k, x.shape[1]
