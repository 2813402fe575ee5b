"""Operators of matrices and vectors as objects: determinants, inverses, eigenvalues, singular values, diagonals, products, distances."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.ops.matrix_logarithm import MatrixLogarithm as LogarithmOp
from adjoint.ir.types import C64, C128, I32, DType
from adjoint.ops import bands, creation, diagonals, distances, linear, matrices, shapes
from adjoint.ops.arguments import flag, float_only, integer, operand, real, tensors_argument, wrong
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "Cdist", "Cross", "Diag", "DiagPart", "Eig", "Einsum", "Ger", "LogMatrixDeterminant", "MatrixBandPart", "MatrixDeterminant",
    "MatrixDiagPartV3", "MatrixDiagV3", "MatrixInverse", "MatrixLogarithm", "MatrixSetDiagV3", "Pdist", "Renorm", "Svd", "Trace",
    "TrilIndices", "TriuIndices",
]

_MATRIX_LOGARITHM = LogarithmOp()

MatrixDeterminant = plain("MatrixDeterminant", matrices.det)
LogMatrixDeterminant = plain("LogMatrixDeterminant", matrices.slogdet)


class Einsum(Primitive):
    """The sum of products that an equation describes, of a tuple or list of Tensors: see `einsum`."""

    def __init__(self, equation: str):
        if not isinstance(equation, str):
            raise wrong("Einsum", "equation", "a str", equation, TypeError)
        super().__init__(equation=equation)

    def __call__(self, x: Any) -> Tensor:
        return linear.einsum(self.equation, *tensors_argument("Einsum", "x", x))


class Cdist(Primitive):
    """The distances of the rows of two Tensors in the norm `p`: see `cdist`."""

    def __init__(self, p: float = 2.0):
        super().__init__(p=float_only("Cdist", "p", p))

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return distances.cdist(x1, x2, self.p)


class MatrixInverse(Primitive):
    """The inverses of square matrices, with `adjoint` conjugate and transposed."""

    def __init__(self, adjoint: bool = False):
        super().__init__(adjoint=flag("MatrixInverse", "adjoint", adjoint))

    def __call__(self, x: Any) -> Tensor:
        found = matrices.inverse(x)
        return shapes.adjoint(found) if self.adjoint else found


class MatrixLogarithm(Plain):
    """The principal logarithms of square matrices of Complex64 or Complex128; not finite for singular ones.

    The imaginary parts of their eigenvalues are above -pi, up to pi.
    """

    def __call__(self, x: Any) -> Tensor:
        return apply(_MATRIX_LOGARITHM, matrices.matrices("MatrixLogarithm", x, "x", square=True, dtypes=(C64, C128)))


class Eig(Primitive):
    """The eigenvalues of matrices, and with `compute_v` their eigenvectors, otherwise a zero of shape (): see `ops.eig`."""

    def __init__(self, compute_v: bool = False):
        super().__init__(compute_v=flag("Eig", "compute_v", compute_v))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        if self.compute_v:
            return matrices.eig(x)
        values = matrices.eigvals(x)
        return values, creation.zeros((), values.dtype)


class Svd(Primitive):
    """The singular values of matrices, U and V; without `compute_uv` a zero of shape (1,) in place of each of the two."""

    def __init__(self, full_matrices: bool = False, compute_uv: bool = True):
        super().__init__(full_matrices=flag("Svd", "full_matrices", full_matrices), compute_uv=flag("Svd", "compute_uv", compute_uv))

    def __call__(self, input: Any) -> Any:
        found = matrices.svd(input, self.full_matrices, self.compute_uv)
        return found if self.compute_uv else (found, creation.zeros((1,), found.dtype), creation.zeros((1,), found.dtype))


# By their diagonals --------------------------------------------------------------------------------------------------


class DiagPart(Plain):
    """The diagonal of a tensor of shape s + s, of shape s."""

    def __call__(self, input_x: Any) -> Tensor:
        x = operand("DiagPart", input_x, "input_x")
        half = x.ndim // 2
        if not x.ndim or x.ndim % 2 or x.shape[:half] != x.shape[half:]:
            raise wrong("DiagPart", "input_x", "of a shape s + s", x)
        count = math.prod(x.shape[:half])
        return shapes.reshape(diagonals.diagonal(shapes.reshape(x, (count, count))), x.shape[:half])


class Diag(Plain):
    """A tensor of shape s + s with the elements of one of shape s on its diagonal."""

    def __call__(self, input: Any) -> Tensor:
        return diagonals.diag(input)


class MatrixBandPart(Plain):
    """Matrices with 0 but for the main diagonal, `lower` diagonals below and `upper` above it."""

    def __call__(self, x: Any, lower: Any, upper: Any) -> Tensor:
        return bands.matrix_band_part(x, lower, upper)


class _Aligned(Primitive):
    """Diagonals of different lengths are aligned as `align` says."""

    def __init__(self, align: str = "RIGHT_LEFT"):
        super().__init__(align=bands.check_align(type(self).__name__, align))


class MatrixDiagV3(_Aligned):
    """Matrices with given diagonals, and a number elsewhere."""

    def __call__(self, x: Any, k: Any, num_rows: Any, num_cols: Any, padding_value: Any) -> Tensor:
        return bands.matrix_diag(x, k, num_rows, num_cols, padding_value, self.align)


class MatrixDiagPartV3(_Aligned):
    """Diagonals of matrices, shorter ones filled up."""

    def __call__(self, x: Any, k: Any, padding_value: Any) -> Tensor:
        return bands.matrix_diag_part(x, k, padding_value, self.align)


class MatrixSetDiagV3(_Aligned):
    """Matrices with their diagonals replaced."""

    def __call__(self, x: Any, diagonal: Any, k: Any) -> Tensor:
        return bands.matrix_set_diag(x, diagonal, k, self.align)


class _Triangle(Primitive):
    """The coordinates of a triangle of a matrix, known when it is made."""

    indices: Any

    def __init__(self, row: int, col: int, offset: int = 0, dtype: DType = I32):
        found = type(self).indices(row, col, offset, dtype=dtype)
        super().__init__(row=row, col=col, offset=offset, dtype=dtype)
        self._found = found

    def __call__(self) -> Tensor:
        return self._found


class TrilIndices(_Triangle):
    """The coordinates of the elements of a matrix on and below a diagonal, row by row."""

    indices = staticmethod(bands.tril_indices)


class TriuIndices(_Triangle):
    """The coordinates of the elements of a matrix on and above a diagonal, row by row."""

    indices = staticmethod(bands.triu_indices)


Trace = plain("Trace", bands.trace)


# Vectors -------------------------------------------------------------------------------------------------------------


class Ger(Plain):
    """The products of each element of a vector with each of another."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return linear.ger(x1, x2)


class Cross(Primitive):
    """The cross products of vectors of 3 along an axis; by default the first axis of size 3."""

    def __init__(self, dim: int = -65530):
        super().__init__(dim=integer("Cross", "dim", dim))

    def __call__(self, input: Any, other: Any) -> Tensor:
        return distances.cross(input, other, None if self.dim == -65530 else self.dim)


class Pdist(Primitive):
    """The distance of each row from each later one."""

    def __init__(self, p: float = 2.0):
        super().__init__(p=float_only("Pdist", "p", p))
        if not self.p >= 0:
            raise wrong("Pdist", "p", "at least 0", p)

    def __call__(self, x: Any) -> Tensor:
        return distances.pdist(operand("Pdist", x, "x"), self.p)


class Renorm(Primitive):
    """The slices along an axis, those whose length is above `maxnorm` scaled down to it."""

    def __init__(self, p: int, dim: int, maxnorm: float):
        super().__init__(p=integer("Renorm", "p", p), dim=integer("Renorm", "dim", dim), maxnorm=real("Renorm", "maxnorm", maxnorm))
        if self.p < 1:
            raise wrong("Renorm", "p", "at least 1", p)

    def __call__(self, x: Any) -> Tensor:
        return distances.renorm(operand("Renorm", x, "x"), self.p, self.dim, self.maxnorm)
