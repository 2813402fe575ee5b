"""Determinants, inverses and singular values as objects."""

from __future__ import annotations

from typing import Any

from adjoint.ops import creation, matrices
from adjoint.ops.arguments import flag
from adjoint.ops.primitive import Primitive, plain
from adjoint.ops.shapes import swapaxes
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "Svd"]

MatrixDeterminant = plain("MatrixDeterminant", matrices.det)
LogMatrixDeterminant = plain("LogMatrixDeterminant", matrices.slogdet)


class MatrixInverse(Primitive):
    """The inverses of square matrices, with `adjoint` transposed."""

    def __init__(self, adjoint: bool = False):
        super().__init__(adjoint=flag("MatrixInverse", "adjoint", adjoint))

    def __call__(self, x: Any) -> Tensor:
        found = matrices.inverse(x)
        return swapaxes(found, -1, -2) if self.adjoint else found


class Svd(Primitive):
    """The singular values of matrices, U and V; without `compute_uv` a zero of shape (1,) in place of each of the two."""

    def __init__(self, full_matrices: bool = False, compute_uv: bool = True):
        super().__init__(full_matrices=flag("Svd", "full_matrices", full_matrices), compute_uv=flag("Svd", "compute_uv", compute_uv))

    def __call__(self, input: Any) -> Any:
        found = matrices.svd(input, self.full_matrices, self.compute_uv)
        return found if self.compute_uv else (found, creation.zeros((1,), found.dtype), creation.zeros((1,), found.dtype))
