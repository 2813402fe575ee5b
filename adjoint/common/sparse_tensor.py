"""Sparse tensors: by coordinates, by rows, and some rows of a tensor."""

from __future__ import annotations

from typing import Any

from adjoint.ops.sparse import COOTensor, CSRTensor
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["COOTensor", "CSRTensor", "RowTensor", "SparseTensor"]


class SparseTensor(COOTensor):
    """A COOTensor by its older name: `SparseTensor(indices, values, shape)`."""


class RowTensor:
    """A container for some rows of a tensor that is 0 elsewhere. No operator takes it; `values` and `indices` are Tensors as all others.

    indices     the places of the rows along the first axis, a Tensor of integers [n]
    values      the rows, a Tensor [n, ...]
    shape       the shape of the whole tensor, a tuple of ints
    row_tensor  another RowTensor, to take all three of

    TypeError for other arguments.
    """

    def __init__(self, indices: Tensor | None = None, values: Tensor | None = None, shape: tuple[int, ...] | None = None,
                 row_tensor: RowTensor | None = None):
        if isinstance(row_tensor, RowTensor) and indices is values is shape is None:
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        for argument, value in (("indices", indices), ("values", values)):
            if not isinstance(value, Tensor):
                raise TypeError(f"For 'RowTensor', the argument '{argument}' must be a Tensor, "
                                f"but got {value!r} of type {type(value).__name__}.")
        if not isinstance(shape, tuple) or not all(isinstance(size, int) for size in shape):
            raise TypeError(f"For 'RowTensor', the argument 'shape' must be a tuple of ints, but got {shape!r}.")
        self._indices, self._values, self._shape = indices, values, shape

    @property
    def indices(self) -> Any:
        return self._indices

    @property
    def values(self) -> Any:
        return self._values

    @property
    def dense_shape(self) -> tuple[int, ...]:
        return self._shape

    def __repr__(self) -> str:
        return f"RowTensor(shape={list(self._shape)}, dtype={self.values.dtype}, indices={self._indices!r}, values={self._values!r})"
