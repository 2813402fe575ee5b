"""Operators as objects on matrices: factors, and solutions of linear systems."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import C128, F64
from adjoint.ops import creation, linear, linear_systems
from adjoint.ops.arguments import flag, integer, operand, real, wrong
from adjoint.ops.matrices import matrices
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "Cholesky", "CholeskyInverse", "CholeskySolve", "Geqrf", "Lstsq", "LuSolve", "LuUnpack", "MatrixPower", "MatrixSolve",
    "MatrixSolveLs", "MatrixTriangularSolve", "Orgqr", "Ormqr", "Qr", "TridiagonalMatMul",
]


class _Upper(Primitive):
    """Which triangle the factors are."""

    def __init__(self, upper: bool = False):
        super().__init__(upper=flag(type(self).__name__, "upper", upper))


class Cholesky(_Upper):
    """The triangles L with L L^H = x, for positive definite matrices; with `upper` their conjugate transposes."""

    def __call__(self, input_x: Any) -> Tensor:
        return linear_systems.cholesky(input_x, self.upper)


class CholeskyInverse(_Upper):
    """The inverses of matrices that are given as their triangles of `Cholesky`."""

    def __call__(self, x: Any) -> Tensor:
        return linear_systems.cholesky_inverse(x, self.upper)


class CholeskySolve(_Upper):
    """The solutions of linear systems whose matrices are given as their triangles of `Cholesky`."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return linear_systems.cholesky_solve(x1, x2, self.upper)


LuSolve = plain("LuSolve", linear_systems.lu_solve)


class LuUnpack(Primitive):
    """The permutation and the triangles of matrices that are packed as for `LuSolve`; None for what is not wanted."""

    def __init__(self, unpack_data: bool = True, unpack_pivots: bool = True):
        super().__init__(unpack_data=flag("LuUnpack", "unpack_data", unpack_data),
                         unpack_pivots=flag("LuUnpack", "unpack_pivots", unpack_pivots))

    def __call__(self, LU_data: Any, LU_pivots: Any) -> tuple[Any, Any, Any]:
        return linear_systems.lu_unpack(LU_data, LU_pivots, self.unpack_data, self.unpack_pivots)


class MatrixPower(Primitive):
    """Square matrices multiplied with themselves, `n` factors; of a negative number of them the inverse of that."""

    def __init__(self, n: int):
        super().__init__(n=integer("MatrixPower", "n", n))

    def __call__(self, x: Any) -> Tensor:
        return linear_systems.matrix_power(x, self.n)


class MatrixSolve(Primitive):
    """The solutions of linear systems, with `adjoint` of those with the conjugate transposes."""

    def __init__(self, adjoint: bool = False):
        super().__init__(adjoint=flag("MatrixSolve", "adjoint", adjoint))

    def __call__(self, matrix: Any, rhs: Any) -> Tensor:
        return linear_systems.matrix_solve(matrix, rhs, self.adjoint)


class MatrixTriangularSolve(Primitive):
    """The solutions x of a x = rhs, for a triangle of square matrices of floats or complex numbers; axes before the last two broadcast.

    lower    True for the lower triangle, else the upper one: the other elements are not read
    adjoint  True to solve with the conjugate transpose of that triangle

    An element of 0 on the diagonal gives infinities and NaN.
    """

    def __init__(self, lower: bool = True, adjoint: bool = False):
        op = "MatrixTriangularSolve"
        super().__init__(lower=flag(op, "lower", lower), adjoint=flag(op, "adjoint", adjoint))

    def __call__(self, matrix: Any, rhs: Any) -> Tensor:
        a = matrices(self.name, matrix, "matrix", square=True)
        b = linear_systems.columns(self.name, "rhs", rhs, a, same_rank=False)
        return linear_systems.solved_by_triangle(self.name, a, b, self.lower, self.adjoint, conjugate=True)


class Lstsq(Primitive):
    """The columns for which the product with a matrix is closest to others; `fast` is True, `l2_regularizer` 0."""

    def __init__(self, fast: bool = True, l2_regularizer: float = 0.0):
        op = "Lstsq"
        super().__init__(fast=flag(op, "fast", fast), l2_regularizer=real(op, "l2_regularizer", l2_regularizer))
        for name, value, only in (("fast", self.fast, True), ("l2_regularizer", self.l2_regularizer, 0.0)):
            if value != only:
                raise wrong(op, name, str(only), value, TypeError)

    def __call__(self, x: Any, a: Any) -> Tensor:
        return linear_systems.lstsq(x, a)


class TridiagonalMatMul(Plain):
    """The products of tridiagonal matrices, given as their diagonals [..., 1, n], with columns [..., n, m], all of one dtype of floats.

    The last element of the upper diagonal and the first of the lower one are not read.
    """

    def __call__(self, superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> Tensor:
        return linear_systems.tridiagonal_product(self.name, superdiag, maindiag, subdiag, rhs)


class Qr(Primitive):
    """Matrices Q with orthogonal columns and upper triangles R with Q R = x; with `full_matrices` Q is square."""

    def __init__(self, full_matrices: bool = False):
        super().__init__(full_matrices=flag("Qr", "full_matrices", full_matrices))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return linear_systems.qr(x, "complete" if self.full_matrices else "reduced")


Geqrf = plain("Geqrf", linear_systems.geqrf)
Orgqr = plain("Orgqr", linear_systems.orgqr)


class Ormqr(Primitive):
    """The product of the square matrix of reflections, as `Geqrf` returns them, and another one: see `ops.ormqr`."""

    def __init__(self, left: bool = True, transpose: bool = False):
        super().__init__(left=flag("Ormqr", "left", left), transpose=flag("Ormqr", "transpose", transpose))

    def __call__(self, x: Any, tau: Any, other: Any) -> Tensor:
        return linear_systems.ormqr(x, tau, other, self.left, self.transpose)


class MatrixSolveLs(Primitive):
    """The columns x for which |a x - b|^2 + l2 |x|^2 is smallest, for a (..., m, n) and b (..., m, k) of floats or complex numbers.

    fast            False: l2 is not read, and counts as 0; of several x the shortest one
    l2_regularizer  l2, a Float64 Tensor of one element, at least 0
    """

    def __init__(self, fast: bool = True):
        super().__init__(fast=flag("MatrixSolveLs", "fast", fast))

    def __call__(self, matrix: Any, rhs: Any, l2_regularizer: Any) -> Tensor:
        op = "MatrixSolveLs"
        a = matrices(op, matrix, "matrix", square=False)
        b, l2 = operand(op, rhs, "rhs"), operand(op, l2_regularizer, "l2_regularizer")
        if l2.dtype is not F64:
            raise wrong(op, "l2_regularizer", "a Tensor of Float64", l2, TypeError)
        if l2.size != 1:
            raise wrong(op, "l2_regularizer", "of one element", l2)
        if b.dtype is not a.dtype:
            raise wrong(op, "rhs", f"of the dtype of 'matrix', {a.dtype}", b, TypeError)
        if b.ndim < 2 or b.shape[:-1] != a.shape[:-1]:
            raise wrong(op, "rhs", f"columns of {a.shape[-2]} elements for each of the matrices {a.shape}", b)
        if not self.fast:
            return linear.matmul(linear_systems.pinv(a), b)
        to = C128 if a.dtype.is_complex else F64
        wide, right = a.astype(to, copy=False), b.astype(to, copy=False)
        turned = wide.mH
        square = linear.matmul(turned, wide) + l2.reshape(()) * creation.eye(a.shape[-1], a.shape[-1], to)
        return linear_systems.matrix_solve(square, linear.matmul(turned, right)).astype(a.dtype, copy=False)
