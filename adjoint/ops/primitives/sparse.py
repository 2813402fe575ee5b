"""Operators on the parts of sparse matrices."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import I64
from adjoint.ops.arguments import flag, operand, sizes_argument, wrong
from adjoint.ops.linear import matmul
from adjoint.ops.picking import gather, nonzero
from adjoint.ops.primitive import Primitive
from adjoint.ops.scattering import scatter_nd, tensor_scatter_add
from adjoint.ops.shapes import permute
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["SparseSlice", "SparseTensorDenseAdd", "SparseTensorDenseMatmul", "SparseToDense"]


class SparseToDense(Primitive):
    """The dense tensor of elements at places: `values[k]` at `indices[k]`; those of one place are added up."""

    def __call__(self, indices: Any, values: Any, sparse_shape: Any) -> Tensor:
        return scatter_nd(indices, values, sizes_argument("SparseToDense", "sparse_shape", sparse_shape))


class SparseTensorDenseAdd(Primitive):
    """The sum of a sparse matrix, as its places, values and shape, and a dense one of that shape."""

    def __call__(self, x1_indices: Any, x1_values: Any, x1_shape: Any, x2: Any) -> Tensor:
        shape = sizes_argument("SparseTensorDenseAdd", "x1_shape", x1_shape)
        if not isinstance(x2, Tensor) or tuple(x2.shape) != shape:
            raise wrong("SparseTensorDenseAdd", "x2", f"a Tensor of the shape {shape}", x2)
        return tensor_scatter_add(x2, x1_indices, x1_values)


class SparseTensorDenseMatmul(Primitive):
    """The product of a sparse matrix, as its places, values and shape, and a dense one.

    adjoint_st  True to transpose the sparse matrix
    adjoint_dt  True to transpose the dense one
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False):
        super().__init__(adjoint_st=flag("SparseTensorDenseMatmul", "adjoint_st", adjoint_st),
                         adjoint_dt=flag("SparseTensorDenseMatmul", "adjoint_dt", adjoint_dt))

    def __call__(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Tensor:
        shape = sizes_argument("SparseTensorDenseMatmul", "sparse_shape", sparse_shape)
        if len(shape) != 2:
            raise wrong("SparseTensorDenseMatmul", "sparse_shape", "two sizes", shape)
        if operand("SparseTensorDenseMatmul", dense, "dense").ndim != 2 or dense.shape[self.adjoint_dt] != shape[not self.adjoint_st]:
            raise wrong("SparseTensorDenseMatmul", "dense", f"of two dimensions, to be multiplied by one of {shape}", dense)
        matrix = scatter_nd(indices, values, shape)
        return matmul(permute(matrix, (1, 0)) if self.adjoint_st else matrix, permute(dense, (1, 0)) if self.adjoint_dt else dense)


class SparseSlice(Primitive):
    """The part of a sparse tensor that begins at `start` and has `size` elements along each axis: places, values and shape."""

    def __call__(self, indices: Any, values: Any, shape: Any, start: Any, size: Any) -> tuple[Tensor, Tensor, Tensor]:
        sizes, first, count = (sizes_argument("SparseSlice", name, value)
                               for name, value in (("shape", shape), ("start", start), ("size", size)))
        if operand("SparseSlice", indices, "indices").ndim != 2 or indices.shape[1] != len(sizes):
            raise wrong("SparseSlice", "indices", f"of shape (n, {len(sizes)}), as 'shape' has {len(sizes)} sizes", indices)
        for name, each in (("start", first), ("size", count)):
            if len(each) != len(sizes):
                raise wrong("SparseSlice", name, f"{len(sizes)} ints, as 'shape'", each)
        begin = Tensor(list(first), I64)
        ends = Tensor([min(a + n, whole) for a, n, whole in zip(first, count, sizes, strict=True)], I64)
        (kept,) = nonzero(((indices >= begin) & (indices < ends)).all(1), as_tuple=True)
        return gather(indices, kept, 0) - begin, gather(operand("SparseSlice", values, "values"), kept, 0), ends - begin
