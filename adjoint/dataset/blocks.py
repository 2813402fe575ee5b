"""Blocks: rows that move through a pipeline together.

A column of a block is an array with a leading axis of rows if the rows have one shape and dtype, else a list of arrays.  Strings are
always a list, since each has a dtype of its own length, and so are the dicts that a source may return in place of an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Block", "Column", "as_item", "items", "joined", "stacked", "together"]

Column = np.ndarray[Any, Any] | list[Any]

_TEXT = "USO"
_SCALARS = (bool, int, float, str, bytes, np.generic)


class Block:
    """`length` rows by columns."""

    __slots__ = ("columns", "length")

    def __init__(self, columns: Sequence[Column], length: int):
        self.columns = list(columns)
        self.length = length

    def __getitem__(self, rows: slice) -> Block:
        """Return consecutive rows, without a copy."""
        start, stop, _ = rows.indices(self.length)
        return Block([column[start:stop] for column in self.columns], stop - start)

    def reordered(self, order: np.ndarray[Any, Any]) -> Block:
        """Return the rows at these indices, in this order."""
        return Block([column[order] if isinstance(column, np.ndarray) else [column[i] for i in order] for column in self.columns],
                     len(order))

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Return the rows as tuples of arrays."""
        return zip(*map(items, self.columns))


def items(column: Column) -> list[Any]:
    """Return the rows of a column, each an array of its own shape; those of an array are views of it."""
    return column if isinstance(column, list) else [column[i, ...] for i in range(len(column))]


def is_uniform(arrays: Sequence[Any]) -> bool:
    """Return whether all are arrays of numbers of one shape and dtype."""
    first = arrays[0]
    if not isinstance(first, np.ndarray) or first.dtype.kind in _TEXT:
        return False
    shape, dtype = first.shape, first.dtype
    return all(isinstance(array, np.ndarray) and array.shape == shape and array.dtype == dtype for array in arrays)


def stacked(rows: list[Any]) -> Column:
    """Return a column of rows: one array where they are uniform."""
    return together(rows) if rows and is_uniform(rows) else rows


def together(rows: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """`np.stack`, without its overhead for each array."""
    first = rows[0]
    if len(rows) * first.nbytes < 4096:
        return np.array(rows, first.dtype)
    result = np.empty((len(rows), *first.shape), first.dtype)
    for index, row in enumerate(rows):
        result[index] = row
    return result


def joined(blocks: Sequence[Block]) -> Block:
    """Concatenate blocks with the same columns."""
    if len(blocks) == 1:
        return blocks[0]
    columns: list[Column] = []
    for parts in zip(*(block.columns for block in blocks)):
        uniform = all(isinstance(part, np.ndarray) for part in parts) and is_uniform([part[:0] for part in parts])
        columns.append(np.concatenate(parts) if uniform else [item for part in parts for item in items(part)])
    return Block(columns, sum(block.length for block in blocks))


def as_item(value: Any) -> Any:
    """Return what a user's function or source returned for one column as an array that owns its memory, or as a dict with such.

    Raise TypeError for what is not a number, string, array, tensor or list of numbers.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            raise TypeError(_NO_ARRAY.format(value.dtype))
        return value.copy()
    if isinstance(value, _SCALARS):
        return np.array(value)
    if isinstance(value, Tensor):
        return value.asnumpy().copy()
    if isinstance(value, dict):
        return {key: _as_part(part) for key, part in value.items()}
    try:
        array = np.array(value)
    except ValueError as ragged:
        raise TypeError(f"Lists of different lengths make no array: {ragged}.") from None
    if array.dtype.kind == "O":
        raise TypeError(_NO_ARRAY.format(type(value).__name__))
    return array


def _as_part(value: Any) -> Any:
    """Return a value in a dict: numbers, strings and tensors as arrays, also in lists and tuples; other objects as they are."""
    if isinstance(value, (list, tuple)):
        return [*map(_as_part, value)] if isinstance(value, list) else tuple(map(_as_part, value))
    if isinstance(value, (np.ndarray, Tensor, dict)) or (isinstance(value, _SCALARS) and not isinstance(value, bytes)):
        return as_item(value)
    return value


_NO_ARRAY = "Data type of the input or its converted Numpy array is expected to be int or float or str, but got {}."
