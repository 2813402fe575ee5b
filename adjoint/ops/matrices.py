"""Determinants, inverses, eigenvalues and singular values of the matrices in the last two axes.

Raise TypeError for what is not a Tensor and for dtypes, ValueError for shapes.  Matrices of one element and of none count as matrices,
other than in MindSpore, which refuses them.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.eigen import Eigen, Eigenvalues
from adjoint.ir.ops.elimination import Determinant, LogDeterminant, MatrixInverse
from adjoint.ir.ops.singular import SingularValues, Svd
from adjoint.ir.types import C64, C128, F16, F32, F64, DType
from adjoint.ops.arguments import flag, operand, wrong
from adjoint.ops.arithmetic import log
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["det", "eig", "eigvals", "inverse", "log_matrix_determinant", "logdet", "matrix_determinant", "slogdet", "svd"]

WIDE = (F32, F64, C64, C128)
"""The dtypes that decompositions take, but for those that take INEXACT."""
INEXACT = (F16, *WIDE)

_DETERMINANT, _LOG_DETERMINANT, _INVERSE, _SINGULAR_VALUES = Determinant(), LogDeterminant(), MatrixInverse(), SingularValues()


def matrices(op: str, x: Any, argument: str = "input", *, square: bool, dtypes: tuple[DType, ...] = WIDE) -> Tensor:
    """`x` if it is a Tensor of matrices of these dtypes, and square where they must be."""
    given = operand(op, x, argument)
    if given.dtype not in dtypes:
        raise wrong(op, argument, f"a Tensor of {', '.join(t.long_name for t in dtypes[:-1])} or {dtypes[-1].long_name}", given, TypeError)
    if given.ndim < 2:
        raise wrong(op, argument, "of at least 2 dimensions", given)
    if square and given.shape[-1] != given.shape[-2]:
        raise wrong(op, argument, "square matrices, of shape (..., n, n)", given)
    return given


@fusible
def det(input: Any) -> Tensor:
    """Return the determinants of square matrices (..., n, n) of floats or complex numbers, of shape (...).

    The gradient is the matrix of cofactors, also of a singular matrix.  It overflows only where the determinant does.
    """
    return apply(_DETERMINANT, matrices("MatrixDeterminant", input, square=True, dtypes=INEXACT))


@fusible
def matrix_determinant(input: Any) -> Tensor:
    """As `det`."""
    return det(input)


@fusible
def slogdet(input: Any) -> tuple[Tensor, Tensor]:
    """Return the signs of the determinants of square matrices (..., n, n), and the logarithms of their sizes, each of shape (...).

    input  Float16, Float32, Float64, Complex64 or Complex128

    Of a singular matrix 0 and -inf, with a gradient of NaN.  The sign of a complex determinant is it divided by its size; the logarithm is
    complex, as in MindSpore, with an imaginary part of 0.
    """
    x = matrices("LogMatrixDeterminant", input, square=True, dtypes=INEXACT)
    sign, logarithm = apply(_LOG_DETERMINANT, x)
    return sign, logarithm.astype(x.dtype, copy=False)


@fusible
def log_matrix_determinant(input: Any) -> tuple[Tensor, Tensor]:
    """As `slogdet`."""
    return slogdet(input)


@fusible
def logdet(input: Any) -> Tensor:
    """Return the logarithms of the determinants of square matrices (..., n, n) of floats or complex numbers, of shape (...).

    NaN of a negative real determinant, -inf of a singular matrix; it does not overflow where the determinant does.
    """
    sign, logarithm = slogdet(input)
    return logarithm + log(sign)  # plus 0, NaN where the sign is -1, -inf where it is 0


@fusible
def inverse(input: Any) -> Tensor:
    """Return the inverses of square matrices (..., n, n), Float32, Float64, Complex64 or Complex128.

    ValueError, which says which one, for a singular matrix, where MindSpore returns numbers that are no inverse.
    """
    return apply(_INVERSE, matrices("MatrixInverse", input, square=True))


@fusible
def eig(A: Any) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues of square matrices (..., n, n), of shape (..., n), and their eigenvectors as columns: A V = V diag(values).

    A  Float32, Float64, Complex64 or Complex128; the results are complex

    The values have no particular order.  Of a real matrix the imaginary parts of real ones are exactly 0, and the others are conjugate
    pairs.  Each vector has length 1, and its element of the largest size is positive.  The gradient through the vectors is not finite where
    eigenvalues are equal, that through the values where there are no n independent vectors.  NaN of matrices that are not finite.
    """
    return apply(made(Eigen), matrices("Eig", A, "A", square=True))


@fusible
def eigvals(A: Any) -> Tensor:
    """Return the eigenvalues of square matrices (..., n, n), of shape (..., n): the first result of `eig`, in less time."""
    return apply(made(Eigenvalues), matrices("Eig", A, "A", square=True))


@fusible
def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Return the singular values s of matrices (..., m, n) from the largest on, and U and V: input = U diag(s) V^H.

    input          Float32, Float64, Complex64 or Complex128; of complex numbers s is complex too, as in MindSpore
    full_matrices  whether U is (..., m, m) and V (..., n, n), or (..., m, k) and (..., n, k), k = min(m, n)
    compute_uv     whether (s, U, V) is returned, or s alone, of shape (..., k)

    In each column of U the element of the largest size is positive.  The gradients through U and V are not finite where singular
    values are equal; that of s alone always is.  NaN of matrices that are not finite.
    """
    x = matrices("Svd", input, square=False)
    full, vectors = flag("Svd", "full_matrices", full_matrices), flag("Svd", "compute_uv", compute_uv)
    if not vectors:
        return apply(_SINGULAR_VALUES, x).astype(x.dtype, copy=False)
    values, u, v = apply(made(Svd, full), x)
    return values.astype(x.dtype, copy=False), u, v
