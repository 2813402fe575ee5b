"""Cells for sparse matrices."""

from __future__ import annotations

from typing import Any

from adjoint.ops.primitives.sparse import SparseTensorDenseMatmul as _Product
from adjoint.ops.sparse import COOTensor
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["SparseTensorDenseMatmul", "SparseToDense"]


class SparseToDense(Cell):
    """The dense tensor of a COOTensor; TypeError for anything else."""

    def construct(self, input_sparse: COOTensor) -> Tensor:
        if not isinstance(input_sparse, COOTensor):
            raise TypeError(f"For 'SparseToDense', the argument 'input_sparse' must be a COOTensor, but got {type(input_sparse).__name__}.")
        return input_sparse.to_dense()


class SparseTensorDenseMatmul(Cell):
    """The product of a sparse matrix, as its places, values and shape, and a dense one.

    adjoint_st  True to transpose the sparse matrix
    adjoint_dt  True to transpose the dense one
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False):
        super().__init__()
        self.adjst, self.adjdt = adjoint_st, adjoint_dt
        self.sparse_dense_matmul = _Product(adjoint_st, adjoint_dt)

    def construct(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Tensor:
        return self.sparse_dense_matmul(indices, values, sparse_shape, dense)
