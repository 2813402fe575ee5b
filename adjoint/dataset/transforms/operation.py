"""The base class of transforms: callables on the columns of one row, some of which can process many rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.dataset.blocks import Column, is_uniform, together

__all__ = ["SMALL", "Keys", "Operation", "StackOperation", "as_array"]

Keys = Callable[[], np.ndarray[Any, Any]]
"""Returns the random key of each row, uint64: `Draws(key)` are the row's numbers."""

SMALL = 16384
"""Bytes of a row up to which many rows are processed as one array: larger ones do not fit into the processor's cache together."""


class Operation:
    """A transform.

    It is called with the columns of a row, as arrays, and returns an array, or a tuple of them.  What it draws comes from
    `streams.draws()`.
    """

    random = False
    """Whether it draws random numbers."""
    pixelwise = False
    """Whether each number of a resulting image depends only on one number of the image and its channel; subclasses must set it again."""

    def __call__(self, *columns: Any) -> Any:
        raise NotImplementedError

    def on_blocks(self, columns: list[Column], keys: Keys) -> list[Column] | None:
        """Apply it to many rows at once, with the same bits; return None where rows must be processed one by one."""
        return None


class StackOperation(Operation):
    """A transform of one array whose rows can be processed as one array with a leading axis."""

    def __call__(self, *columns: Any) -> Any:
        (array,) = columns
        return self.on_array(as_array(array, type(self).__name__))

    def on_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the result for one row."""
        raise NotImplementedError

    def on_stack(self, stack: np.ndarray[Any, Any], keys: Keys) -> np.ndarray[Any, Any] | None:
        """Return the results for rows along the first axis, or None where only single rows can be processed."""
        return None

    def on_blocks(self, columns: list[Column], keys: Keys) -> list[Column] | None:
        if len(columns) != 1:
            return None
        (column,) = columns
        if isinstance(column, list):
            if not column or not is_uniform(column) or column[0].nbytes > SMALL:
                return None
            column = together(column)
        elif not len(column) or column[0].nbytes > SMALL:
            return None
        done = self.on_stack(column, keys)
        return None if done is None else [done]


def as_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return a transform's argument as an array; raise TypeError for what cannot be one."""
    array = np.asarray(value)
    if array.dtype.kind == "O":
        raise TypeError(f"Invalid user input. Got {type(value)}: {value}, cannot be converted into tensor, in {name}.")
    return array
