"""Replace several operations on uint8 images by one look-up table: each number of the result depends on one of 256 values and its channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.blocks import Column, is_uniform, together
from adjoint.dataset.transforms.operation import SMALL, Operation

__all__ = ["Table", "tables_of"]

Array = np.ndarray[Any, Any]
_CHANNELS = 16
"""Maximum number of channels: an image with so many columns could be mistaken for one with its channels first."""
_TOGETHER = 2**15
"""Numbers that are looked up at once, so that their indices stay in the processor's cache."""


def tables_of(operations: Sequence[Callable[..., Any]]) -> dict[int, Table]:
    """Return the tables of all runs of two or more operations that one can replace, by the number of the first operation."""
    found: dict[int, Table] = {}
    first = 0
    for number, operation in enumerate((*operations, None)):
        if isinstance(operation, Operation) and "pixelwise" in vars(type(operation)) and type(operation).pixelwise:
            continue
        if number - first > 1:
            found[first] = Table([each for each in operations[first:number] if isinstance(each, Operation)])
        first = number + 1
    return found


class Table:
    """A run of operations as a table of the 256 values, computed by running them on an image that contains all of them.

    operations  each is `pixelwise`
    """

    def __init__(self, operations: Sequence[Operation]):
        self.operations = tuple(operations)
        self._found: dict[int | None, tuple[Array, bool] | None] = {}

    def on_blocks(self, columns: list[Column]) -> list[Column] | None:
        """Return the results for one column of uint8 images, with the same bits as the single operations; None for other columns.

        Errors are left to the operation that raises them.
        """
        if len(columns) != 1 or not len(columns[0]):
            return None
        (column,) = columns
        if isinstance(column, np.ndarray):
            done = self._on_images(column) if column.dtype == np.uint8 and column.ndim in (3, 4) else None
            return None if done is None else [done]
        if not all(isinstance(row, np.ndarray) and row.dtype == np.uint8 and row.ndim in (2, 3) for row in column):
            return None
        if column[0].nbytes <= SMALL and is_uniform(column):
            return self.on_blocks([together(column)])
        rows: list[Any] = []
        for row in column:
            images = self._on_images(row[None])
            if images is None:
                return None
            rows.append(images[0])
        return [rows]

    def _on_images(self, images: Array) -> Array | None:
        """Return the results for images [n, height, width, channels] or [n, height, width]."""
        if not images.size:
            return None
        channels = images.shape[3] if images.ndim == 4 else None
        if channels not in self._found:
            self._found[channels] = self._made(channels)
        found = self._found[channels]
        if found is None:
            return None
        table, first = found
        offsets: Any = np.arange(0, table.size, 256)
        if first:
            planes = images.transpose(0, 3, 1, 2) if channels is not None else images[:, None]
            offsets = offsets[:, None, None]
        else:
            planes = images.reshape(*images.shape[:2], -1)
            offsets = np.tile(offsets, images.shape[2])
        result = np.empty(planes.shape, table.dtype)
        step = max(1, _TOGETHER // planes[0].size)
        for begin in range(0, len(planes), step):
            part = np.ascontiguousarray(planes[begin : begin + step])
            np.take(table, np.add(part, offsets, dtype=np.intp), out=result[begin : begin + step], mode="clip")
        return result if first else result.reshape(images.shape)

    def _made(self, channels: int | None) -> tuple[Array, bool] | None:
        """Return the table of all channels, concatenated, and whether the operations put channels first; None if there is no table."""
        if channels is not None and channels > _CHANNELS:
            return None
        values = np.arange(256, dtype=np.uint8)[:, None]
        probe = values if channels is None else np.repeat(values[..., None], channels, 2)
        try:
            with np.errstate(all="raise"):  # an operation that warns of some values must do so when it meets them
                result: Any = probe
                for operation in self.operations:
                    result = operation(result)
        except Exception:  # the operation raises it again, for the row
            return None
        if not isinstance(result, np.ndarray) or result.dtype.kind not in "biuf":
            return None
        if result.shape == (channels or 1, 256, 1):
            return np.ascontiguousarray(result[..., 0]).reshape(-1), True
        if result.shape == probe.shape:
            return np.ascontiguousarray(result.reshape(256, -1).T).reshape(-1), False
        return None
