"""`mindspore.scipy.linalg`: factors and solutions of linear systems with SciPy's arguments.

Matrices are tensors of two axes, of floats, or of complex numbers, which MindSpore refuses in most functions; integers become Float64.
`overwrite_a`, `overwrite_b` and `check_finite` have no effect: nothing is overwritten or checked.  TypeError for other dtypes, ValueError
for other shapes.
"""

from __future__ import annotations

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.op import made
from adjoint.ir.ops.linear_systems import PivotPermutation
from adjoint.ir.ops.triangles import LuFactor
from adjoint.ir.types import C128, F32, F64, I32, I64
from adjoint.ops import bands, linear_systems, matrices
from adjoint.ops.arguments import flag, operand, wrong
from adjoint.ops.arithmetic import stop_gradient
from adjoint.ops.creation import eye, zeros
from adjoint.ops.diagonals import tril, triu
from adjoint.ops.generated import abs
from adjoint.ops.ordering import argsort
from adjoint.ops.parts import flip
from adjoint.ops.picking import one_hot
from adjoint.ops.reduction import amax
from adjoint.ops.shapes import expand_dims, squeeze, swapaxes
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "inv", "lstsq", "lu", "lu_factor", "lu_solve", "solve_triangular",
]

_TRANSPOSED = {0: False, "N": False, 1: True, "T": True, 2: True, "C": True}
"""What `trans` may be, and whether the matrix is transposed."""


def _matrix(op: str, a: Any, argument: str = "a", *, square: bool = True) -> Tensor:
    """Return a matrix of Float32, Float64, Complex64 or Complex128."""
    given = operand(op, a, argument)
    given = given.astype(F64) if given.dtype.is_integer and given.dtype.size >= 4 else given
    if given.dtype not in matrices.WIDE:
        raise wrong(op, argument, "a Tensor of Float32, Float64, Complex64, Complex128, Int32 or Int64", given, TypeError)
    if given.ndim != 2 or (square and given.shape[0] != given.shape[1]):
        raise wrong(op, argument, "a square matrix" if square else "a matrix", given)
    return given


def _columns(op: str, b: Any, a: Tensor) -> tuple[Tensor, bool]:
    """Return columns with as many elements as a matrix has rows, and whether they were one vector."""
    given = operand(op, b, "b")
    given = given.astype(F64) if given.dtype.is_integer and given.dtype.size >= 4 else given
    if given.dtype is not a.dtype:
        raise wrong(op, "b", f"of the dtype of the matrix, {a.dtype}", given, TypeError)
    if given.ndim not in (1, a.ndim) or given.shape[0 if given.ndim == 1 else -2] != a.shape[-1]:
        raise wrong(op, "b", f"of shape {(a.shape[-1],)} or {(*a.shape[:-1], 'm')}", given)
    return (expand_dims(given, -1), True) if given.ndim == 1 else (given, False)


def block_diag(*arrs: Tensor) -> Tensor:
    """Return the matrix with matrices on its diagonal, and zeros elsewhere.  A number is a matrix of one element, a vector one row."""
    if not arrs:
        return zeros((1, 0), F32)
    for place, each in enumerate(arrs):
        if operand("block_diag", each, f"arrs[{place}]").ndim > 2:
            raise wrong("block_diag", f"arrs[{place}]", "of at most 2 dimensions", each)
    return bands.block_diag(*arrs)


def inv(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """Return the inverse of a square matrix."""
    return matrices.inverse(_matrix("inv", a))


def det(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """Return the determinant of a square matrix."""
    return matrices.det(_matrix("det", a))


def cholesky(a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """Return the triangle R with R^H R = a, or L with L L^H = a if `lower`, of a Hermitian positive definite matrix."""
    return linear_systems.cholesky(_matrix("cholesky", a), not flag("cholesky", "lower", lower))


def cho_factor(a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, bool]:
    """Return what `cholesky` does, and `lower`: the first argument of `cho_solve`."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Tensor, bool], b: Tensor, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """Return x with a x = b, a vector or columns, for the triangle of a that `cho_factor` has returned."""
    if not isinstance(c_and_lower, (tuple, list)) or len(c_and_lower) != 2:
        raise TypeError(f"For 'cho_solve', the argument 'c_and_lower' must be a triangle and a bool, but got {c_and_lower!r}.")
    factor, lower = _matrix("cho_solve", c_and_lower[0], "c_and_lower[0]"), flag("cho_solve", "c_and_lower[1]", c_and_lower[1])
    right, vector = _columns("cho_solve", b, factor)
    between = linear_systems.solved_by_triangle("cho_solve", factor, right, lower, not lower, conjugate=True)
    result = linear_systems.solved_by_triangle("cho_solve", factor, between, lower, lower, conjugate=True)
    return squeeze(result, -1) if vector else result


def solve_triangular(a: Tensor, b: Tensor, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug: Any = None, check_finite: bool = True) -> Tensor:
    """Return x with a x = b, a vector or columns, for triangles in the last two axes of `a`.

    trans          0 or "N": a; 1 or "T": its transpose; 2 or "C": its conjugate transpose
    lower          True for the lower triangle
    unit_diagonal  True if the diagonal counts as ones
    """
    op = "solve_triangular"
    triangle = operand(op, a, "a")
    if triangle.dtype not in matrices.WIDE:
        raise wrong(op, "a", "a Tensor of Float32, Float64, Complex64 or Complex128", triangle, TypeError)
    if triangle.ndim < 2 or triangle.shape[-1] != triangle.shape[-2]:
        raise wrong(op, "a", "square matrices", triangle)
    if isinstance(trans, bool) or trans not in _TRANSPOSED:
        raise ValueError(f"For '{op}', the argument 'trans' must be one of {list(_TRANSPOSED)}, but got {trans!r}.")
    given, leading = operand(op, b, "b"), triangle.shape[:-1]
    vector = given.ndim == triangle.ndim - 1 and given.shape == leading
    if given.dtype is not triangle.dtype:
        raise wrong(op, "b", f"of the dtype of 'a', {triangle.dtype}", given, TypeError)
    if not vector and (given.ndim != triangle.ndim or given.shape[:-1] != leading):
        raise wrong(op, "b", f"of shape {leading} or {(*leading, 'm')}", given)
    right = expand_dims(given, -1) if vector else given
    unit = flag(op, "unit_diagonal", unit_diagonal)
    result = linear_systems.solved_by_triangle(
        op, triangle, right, flag(op, "lower", lower), _TRANSPOSED[trans], unit, conjugate=trans in (2, "C"))
    return squeeze(result, -1) if vector else result


def lu_factor(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Tensor]:
    """Return the triangles of a square matrix, packed, and the row that each row was exchanged with, from 0: what `lu_solve` takes.

    U, and below its diagonal L, whose own diagonal is of ones; P L U = a.  Of a singular matrix U has a 0 on its diagonal, where MindSpore
    returns NaN, and the gradient is not finite.
    """
    packed, pivots = apply(made(LuFactor), _matrix("lu_factor", a))
    return packed, pivots - 1


def lu(a: Tensor, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return P (m, m), L (m, k) and U (k, n), k = min(m, n), of a matrix (m, n): P L U = a, P a permutation of Int32, L a lower triangle
    with ones on its diagonal, U an upper one.

    permute_l  True for P L and U; in MindSpore that is an error
    """
    given, joined = _matrix("lu", a, square=False), flag("lu", "permute_l", permute_l)
    packed, pivots = apply(made(LuFactor), given)
    m, n = given.shape
    count = min(m, n)
    order = apply(made(PivotPermutation, m), pivots)
    lower, upper = tril(packed[:, :count], -1) + eye(m, count, given.dtype), triu(packed[:count])
    if joined:
        return lower[argsort(order)] if m else lower, upper
    return swapaxes(one_hot(order, m), 0, 1).astype(I32), lower, upper


def lu_solve(lu_and_piv: tuple[Tensor, Tensor], b: Tensor, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """Return x with a x = b, or its transpose in place of a, for triangles of a that are packed as `lu_factor` returns them.

    lu_and_piv  U, and below its diagonal L, whose own diagonal is of ones; the row that each row was exchanged with, from 0
    trans       0: a; 1: its transpose; 2: its conjugate transpose
    """
    if not isinstance(lu_and_piv, (tuple, list)) or len(lu_and_piv) != 2:
        raise TypeError(f"For 'lu_solve', the argument 'lu_and_piv' must be a matrix and pivots, but got {lu_and_piv!r}.")
    packed, pivots = _matrix("lu_solve", lu_and_piv[0], "lu_and_piv[0]"), operand("lu_solve", lu_and_piv[1], "lu_and_piv[1]")
    if isinstance(trans, bool) or trans not in (0, 1, 2):
        raise ValueError(f"For 'lu_solve', the argument 'trans' must be 0, 1 or 2, but got {trans!r}.")
    if not pivots.dtype.is_integer:
        raise wrong("lu_solve", "lu_and_piv[1]", "a Tensor of integers", pivots, TypeError)
    if pivots.shape != packed.shape[:1]:
        raise wrong("lu_solve", "lu_and_piv[1]", f"of shape {packed.shape[:1]}", pivots)
    right, vector = _columns("lu_solve", b, packed)
    order = apply(made(PivotPermutation, packed.shape[0]), pivots.astype(I64) + 1)
    solved = linear_systems.solved_by_triangle
    if trans == 0:
        result = solved("lu_solve", packed, solved("lu_solve", packed, right[order], True, False, True), False, False)
    else:
        turn = trans == 2
        between = solved("lu_solve", packed, right, False, True, conjugate=turn)
        result = solved("lu_solve", packed, between, True, True, True, conjugate=turn)[argsort(order)]
    return squeeze(result, -1) if vector else result


def lstsq(A: Tensor, B: Tensor, rcond: Any = None, driver: Any = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the columns x for which A x is closest to B, the shortest ones where there are several; and residuals, rank and singular
    values as MindSpore does: nothing, the number of rows or columns if that is less, nothing.

    rcond, driver  without effect
    """
    left = _matrix("lstsq", A, "A", square=False)
    empty = zeros((0,), left.dtype)
    solution = linear_systems.lstsq(left, B)
    return squeeze(solution, -1) if B.ndim == 1 else solution, empty, Tensor(min(left.shape), I64), empty


def eigh(a: Tensor, b: Any = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
         turbo: bool = True, eigvals: Any = None, type: int = 1, check_finite: bool = True) -> Any:
    """Return the eigenvalues of a Hermitian matrix, ascending, and its eigenvectors as columns; with `eigvals_only` the values alone.

    lower  the triangle that is read; of the diagonal the real part
    b, eigvals  None; ValueError otherwise

    A matrix a + s with a number s above all absolute row sums of a is positive: its singular values are the eigenvalues of a, plus s.  The
    gradient is that of the singular values and vectors: it is not finite where two of them are equal.  Of a complex matrix the values are
    complex, as in MindSpore, with imaginary parts of 0; in each vector the element of the largest size is positive.
    """
    given = _matrix("eigh", a)
    for argument, value in (("b", b), ("eigvals", eigvals)):
        if value is not None:
            raise ValueError(f"For 'eigh', the argument '{argument}' must be None, but got {value!r}.")
    half = tril(given) if flag("eigh", "lower", lower) else triu(given)
    flag("eigh", "eigvals_only", eigvals_only)
    if not given.size:
        return zeros((0,), given.dtype) if eigvals_only else (zeros((0,), given.dtype), given)
    to = C128 if given.dtype.is_complex else F64
    one, wide = eye(given.shape[0], given.shape[0], to), half.astype(to)
    whole = wide + linear_systems.conjugated(swapaxes(wide, 0, 1)) - linear_systems.real_of(wide * one)
    shift = stop_gradient(amax(linear_systems.real_of(abs(whole)).sum(axis=-1)))
    values, vectors, _ = matrices.svd(whole + shift * one)
    ascending = flip(values - shift, (0,)).astype(given.dtype)
    return ascending if eigvals_only else (ascending, flip(vectors, (1,)).astype(given.dtype))


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
