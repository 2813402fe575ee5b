"""Arguments of an exported function that have any number of rows up to a largest one.

    export(net, images, max_batch=32)                                 the first size of `images`, and of each tensor that has the same
    export(net, Tensor(shape=[None, 64], dtype=f32), max_batch=32)    the sizes that are None, and no others
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.types import BOOL
from adjoint.runtime.tensor.description import Description
from adjoint.runtime.tensor.structure import leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Batch", "batches_of"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Batch:
    """The rows of a function's arguments.

    axes  for each tensor of the arguments the axis of the rows, or None
    most  the largest number of rows
    seed  of the numbers of tensors that are only described
    """

    axes: Sequence[int | None]
    most: int
    seed: int = 0

    def inputs(self, inputs: Sequence[Any], rows: int) -> list[Any]:
        """Return the arguments with a number of rows; the first rows of fewer are those of more."""
        tensors = [x if axis is None else self._with_rows(x, axis, rows, place)
                   for place, (x, axis) in enumerate(zip(leaves([*inputs], Tensor), self.axes, strict=True))]
        return replaced([*inputs], tensors, Tensor)

    def _with_rows(self, x: Tensor, axis: int, rows: int, place: int) -> Tensor:
        array = _described(x, axis, self.most, self.seed + place) if isinstance(x, Description) else np.asarray(x.asnumpy())
        return Tensor(np.ascontiguousarray(np.take(array, np.arange(rows) % array.shape[axis], axis)), x.dtype)

    def recorded(self) -> list[int]:
        """Return the numbers of rows of the calls in the test: few, with those for which some kernels have other texts."""
        return sorted({rows for rows in (1, 2, 3, 5, self.most // 2 + 1, self.most) if rows <= self.most})


def _described(x: Description, axis: int, rows: int, seed: int) -> Array:
    """Return standard normal numbers, zeros for integers or True for bools, in the shape of a description."""
    shape = [rows if place == axis else size for place, size in enumerate(x.shape)]
    if x.dtype.is_float:
        return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return np.full(shape, x.dtype is BOOL, x.dtype.array)


def batches_of(inputs: Sequence[Sequence[Any]], most: int, seed: int) -> list[Batch | None]:
    """Return for each function, given by its arguments, which of their sizes are rows; None if none are.

    most  the largest number of rows
    seed  of the numbers of tensors that are only described

    ValueError for tensors without rows, or with too many.
    """
    tensors = [leaves([*given], Tensor) for given in inputs]
    described = any(isinstance(x, Description) for x in leaves(tensors, Tensor))
    found = [[_unknown(x) if isinstance(x, Description) else None for x in each] if described else _first_sizes(each) for each in tensors]
    if all(axis is None for axes in found for axis in axes):
        raise ValueError("For 'export', the argument 'max_batch' is the largest first size of Tensors; none has one: leave it out.")
    for x in (x for each, axes in zip(tensors, found, strict=True) for x, axis in zip(each, axes, strict=True) if axis == 0):
        if not isinstance(x, Description) and not 1 <= x.shape[0] <= most:
            raise ValueError(f"For 'export', a Tensor with {x.shape[0]} rows is an example for a batch of 1 to max_batch={most}: give it "
                             "fewer rows, or raise 'max_batch'." if x.shape[0] else
                             "For 'export', a Tensor without rows cannot be an example for a batch: give it at least one.")
    return [Batch(axes, most, seed) if any(axis is not None for axis in axes) else None for axes in found]


def _unknown(x: Description) -> int | None:
    """Return the axis of a description that is None; ValueError if there are several."""
    axes = [axis for axis, size in enumerate(x.shape) if size < 0]
    if len(axes) > 1 or x.shape == (-2,):
        raise ValueError(f"For 'export', an input has one size that changes, the number of rows, but one was given with shape "
                         f"{[None if size < 0 else size for size in x.shape]}: give the others as numbers.")
    return axes[0] if axes else None


def _first_sizes(tensors: Sequence[Tensor]) -> list[int | None]:
    """Return 0 for each tensor whose first size is that of the first tensor that has one, else None."""
    rows = next((x.shape[0] for x in tensors if x.ndim), None)
    return [0 if x.ndim and x.shape[0] == rows else None for x in tensors]
