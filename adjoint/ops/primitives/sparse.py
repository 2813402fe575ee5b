"""Operators on the parts of sparse matrices."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import I64
from adjoint.ops.arguments import flag, wrong
from adjoint.ops.linear import matmul
from adjoint.ops.picking import gather, nonzero
from adjoint.ops.primitive import Primitive
from adjoint.ops.scattering import scatter_nd, tensor_scatter_add
from adjoint.ops.shapes import permute
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["SparseSlice", "SparseTensorDenseAdd", "SparseTensorDenseMatmul", "SparseToDense"]


def _shape(op: str, shape: Any) -> tuple[int, ...]:
    """Return a shape that is given as a tuple, or as a Tensor of integers."""
    if isinstance(shape, Tensor):
        return tuple(int(size) for size in shape.asnumpy())
    if not isinstance(shape, (tuple, list)):
        raise wrong(op, "shape", "a tuple of ints, or a Tensor", shape, TypeError)
    return tuple(shape)


class SparseToDense(Primitive):
    """The dense tensor of elements at places: `values[k]` at `indices[k]`; those of one place are added up."""

    def __call__(self, indices: Any, values: Any, sparse_shape: Any) -> Tensor:
        return scatter_nd(indices, values, _shape("SparseToDense", sparse_shape))


class SparseTensorDenseAdd(Primitive):
    """The sum of a sparse matrix, as its places, values and shape, and a dense one of that shape."""

    def __call__(self, x1_indices: Any, x1_values: Any, x1_shape: Any, x2: Any) -> Tensor:
        shape = _shape("SparseTensorDenseAdd", x1_shape)
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
        shape = _shape("SparseTensorDenseMatmul", sparse_shape)
        if len(shape) != 2 or not isinstance(dense, Tensor) or dense.ndim != 2:
            raise wrong("SparseTensorDenseMatmul", "dense", "a Tensor of two dimensions, as the sparse matrix", dense)
        matrix = scatter_nd(indices, values, shape)
        return matmul(permute(matrix, (1, 0)) if self.adjoint_st else matrix, permute(dense, (1, 0)) if self.adjoint_dt else dense)


class SparseSlice(Primitive):
    """The part of a sparse tensor that begins at `start` and has `size` elements along each axis: places, values and shape."""

    def __call__(self, indices: Any, values: Any, shape: Any, start: Any, size: Any) -> tuple[Tensor, Tensor, Tensor]:
        ends = Tensor([min(a + n, whole) for a, n, whole in zip(_shape("SparseSlice", start), _shape("SparseSlice", size),
                                                               _shape("SparseSlice", shape), strict=True)], I64)
        (kept,) = nonzero(((indices >= start) & (indices < ends)).all(1), as_tuple=True)
        return gather(indices, kept, 0) - start, gather(values, kept, 0), ends - start
