"""Solutions of linear systems, factors of matrices and their inverses, for the matrices in the last two axes.

Raise TypeError for what is not a Tensor of floats or complex numbers of one dtype, ValueError for shapes that do not fit and for singular
matrices.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.complex import Conjugate, RealPart
from adjoint.ir.ops.linear_systems import CholeskyFactor, PivotPermutation, Solve, TriangularSolve
from adjoint.ir.ops.reflections import Qr, Reflections, ReflectionsProduct
from adjoint.ir.types import BOOL, F16, F32, F64, I32, I64, U8, DType
from adjoint.ops.arguments import check_memory, flag, integer, operand, real, wrong
from adjoint.ops.arithmetic import where
from adjoint.ops.creation import eye
from adjoint.ops.diagonals import tril, triu
from adjoint.ops.linear import matmul
from adjoint.ops.matrices import INEXACT, WIDE, inverse, matrices, svd
from adjoint.ops.parts import framed
from adjoint.ops.picking import gather_elements, one_hot
from adjoint.ops.reduction import amax
from adjoint.ops.shapes import adjoint, broadcast_to, expand_dims, reshape, swapaxes
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "geqrf", "lstsq", "lu_solve", "lu_unpack", "matrix_power", "matrix_solve", "orgqr",
    "ormqr", "pinv", "qr",
]

_FLOATS = (F16, F32, F64)
_CONJUGATE, _REAL_PART = Conjugate(), RealPart()


def conjugated(x: Tensor) -> Tensor:
    """Return the complex conjugate; real numbers as they are."""
    return apply(_CONJUGATE, x) if x.dtype.is_complex else x


def real_of(x: Tensor) -> Tensor:
    """Return the real part; real numbers as they are."""
    return apply(_REAL_PART, x) if x.dtype.is_complex else x


def columns(op: str, argument: str, x: Any, a: Tensor, *, same_rank: bool) -> Tensor:
    """Return columns of the dtype of matrices `a`, as many elements long as these have rows."""
    given = operand(op, x, argument)
    if given.dtype is not a.dtype:
        raise wrong(op, argument, f"of the dtype of the matrices, {a.dtype}", given, TypeError)
    if given.ndim < 2 or given.shape[-2] != a.shape[-1] or (same_rank and given.shape[:-2] != a.shape[:-2]):
        raise wrong(op, argument, f"columns of {a.shape[-1]} elements for each of the matrices {a.shape}", given)
    return given


def _beside(a: Tensor, b: Tensor, op: str, argument: str) -> tuple[Tensor, Tensor]:
    """Return matrices and columns with the axes before both broadcast to each other."""
    rank = max(a.ndim, b.ndim)
    lead: list[int] = []
    for one, other in zip((1,) * (rank - a.ndim) + a.shape[:-2], (1,) * (rank - b.ndim) + b.shape[:-2], strict=True):
        if one != other and 1 not in (one, other):
            raise wrong(op, argument, f"of a shape that broadcasts with {a.shape}, but for the last axes", b)
        lead.append(one if other == 1 else other)
    return tuple(  # pyright: ignore[reportReturnType] - two of them
        x if x.shape[:-2] == tuple(lead) else broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))


def solved_by_triangle(
    op: str, a: Tensor, b: Tensor, lower: bool, transposed: bool, unit: bool = False, *, conjugate: bool = False
) -> Tensor:
    """Return the columns x with a x = b, for a triangle of `a`; axes before the last two broadcast.

    transposed  for its transpose; with `conjugate` the conjugate one
    """
    if transposed and conjugate:
        a = conjugated(a)
    return apply(made(TriangularSolve, lower, transposed, unit), *_beside(a, b, op, "rhs"))


@fusible
def triangular_solve(b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> tuple[Tensor, Tensor]:
    """Return the columns x with a x = b, for upper triangles a, and the triangles.

    b              (..., n, m), Float32, Float64, Complex64 or Complex128; axes before the last two broadcast with those of `A`
    A              (..., n, n), of which the other triangle is not read
    upper          False for lower triangles
    transpose      True for a^T x = b
    unitriangular  True for triangles whose diagonal counts as ones, and is not read
    """
    op = "TriangularSolve"
    a = matrices(op, A, "A", square=True)
    flags = [flag(op, name, value) for name, value in (("upper", upper), ("transpose", transpose), ("unitriangular", unitriangular))]
    return solved_by_triangle(op, a, columns(op, "b", b, a, same_rank=False), not flags[0], flags[1], flags[2]), a


@fusible
def cholesky(input_x: Any, upper: bool = False) -> Tensor:
    """Return the lower triangles L with L L^H = x for positive definite matrices (..., n, n), or with `upper` their conjugate transposes.

    Of a matrix that is not Hermitian its mean with its conjugate transpose counts; ValueError for one that is not positive definite.
    MindSpore refuses complex matrices here, and in the functions on such triangles.
    """
    x = matrices("Cholesky", input_x, "input_x", square=True, dtypes=INEXACT)
    factor = apply(made(CholeskyFactor), x)
    return adjoint(factor) if flag("Cholesky", "upper", upper) else factor


@fusible
def cholesky_inverse(input_x: Any, upper: bool = False) -> Tensor:
    """Return the inverses of matrices (..., n, n), given as their lower triangles of `cholesky`, or with `upper` as the upper ones."""
    op = "CholeskyInverse"
    x, above = matrices(op, input_x, "input_x", square=True), flag(op, "upper", upper)
    unit = broadcast_to(eye(x.shape[-1], x.shape[-1], x.dtype), x.shape)
    return _solved_by_factor(op, x, unit, above)


def _solved_by_factor(op: str, factor: Tensor, b: Tensor, upper: bool) -> Tensor:
    between = solved_by_triangle(op, factor, b, not upper, upper, conjugate=True)
    return solved_by_triangle(op, factor, between, not upper, not upper, conjugate=True)


@fusible
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Tensor:
    """Return the columns x with a x = b, for matrices a that are given as their triangles of `cholesky`.

    input   b, (n, m) or (k, n, m)
    input2  the triangles, (n, n) or (k, n, n)
    upper   True for upper triangles, else lower ones
    """
    op = "CholeskySolve"
    factor, above = matrices(op, input2, "input2", square=True), flag(op, "upper", upper)
    b = columns(op, "input", input, factor, same_rank=True)
    if b.ndim > 3:
        raise wrong(op, "input", "of 2 or 3 dimensions", b)
    return _solved_by_factor(op, factor, b, above)


@fusible
def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Tensor:
    """Return the columns x with a x = b, for square matrices a (..., n, n), or with `adjoint` a^H x = b; b (..., n, m).

    ValueError, which says which one, for a singular matrix.
    """
    op = "MatrixSolve"
    a, transposed = matrices(op, matrix, "matrix", square=True, dtypes=INEXACT), flag(op, "adjoint", adjoint)
    return apply(made(Solve, transposed), conjugated(a) if transposed else a, columns(op, "rhs", rhs, a, same_rank=True))


@fusible
def matrix_power(input: Any, n: int) -> Tensor:
    """Return square matrices (..., m, m) multiplied with themselves, `n` factors; of a negative number of them the inverse of that.

    input  Float32, Float64, Complex64, Complex128, or integers for n of at least 0
    """
    op = "MatrixPower"
    count = integer(op, "n", n)
    x = matrices(op, input, square=True, dtypes=(*WIDE, I32, I64, U8))
    if count < 0 and not x.dtype.is_inexact:
        raise wrong(op, "n", "at least 0 for integers", count)
    if not -(2**63) <= count < 2**63:
        raise wrong(op, "n", "an int of 64 bits", count)
    if count < 0:
        x, count = inverse(x), -count
    found, square = None, x
    while count:
        if count % 2:
            found = square if found is None else matmul(found, square)
        count //= 2
        square = matmul(square, square) if count else square
    return broadcast_to(eye(x.shape[-1], x.shape[-1], x.dtype), x.shape) if found is None else found


# Triangles with pivots -----------------------------------------------------------------------------------------------


@fusible
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """Return the columns x with a x = b, for matrices a that are given as their triangles and the rows that were exchanged.

    b          (..., n, m); axes before the last two broadcast with those of LU_data
    LU_data    (..., n, n): U, and below its diagonal L, whose own diagonal is of ones
    LU_pivots  (..., n), Int32: row i was exchanged with row LU_pivots[i] - 1
    """
    op = "LuSolve"
    packed = matrices(op, LU_data, "LU_data", square=True)
    given = columns(op, "b", b, packed, same_rank=False)
    pivots = operand(op, LU_pivots, "LU_pivots")
    if pivots.dtype is not I32:
        raise wrong(op, "LU_pivots", "a Tensor of Int32", pivots, TypeError)
    if pivots.shape != packed.shape[:-1]:
        raise wrong(op, "LU_pivots", f"of shape {packed.shape[:-1]}", pivots)
    order = expand_dims(apply(made(PivotPermutation, packed.shape[-1]), pivots), -1)
    packed, given = _beside(packed, given, op, "b")
    rows = gather_elements(given, -2, broadcast_to(order, given.shape))
    between = apply(made(TriangularSolve, True, False, True), packed, rows)
    return apply(made(TriangularSolve, False, False, False), packed, between)


@fusible
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[Any, Any, Any]:
    """Return the permutation P, and the triangles L and U with P L U = a, of matrices (..., m, n) that are packed as for `lu_solve`.

    LU_pivots      (..., min(m, n)), integers
    unpack_data    False for None in place of L and U
    unpack_pivots  False for None in place of P
    """
    op = "LuUnpack"
    packed, pivots = operand(op, LU_data, "LU_data"), operand(op, LU_pivots, "LU_pivots")
    data, orders = flag(op, "unpack_data", unpack_data), flag(op, "unpack_pivots", unpack_pivots)
    if packed.dtype is BOOL:
        raise wrong(op, "LU_data", "a Tensor of numbers", packed, TypeError)
    if not pivots.dtype.is_integer:
        raise wrong(op, "LU_pivots", "a Tensor of integers", pivots, TypeError)
    if packed.ndim < 2:
        raise wrong(op, "LU_data", "of at least 2 dimensions", packed)
    m, n = packed.shape[-2:]
    if pivots.shape != (*packed.shape[:-2], min(m, n)):
        raise wrong(op, "LU_pivots", f"of shape {(*packed.shape[:-2], min(m, n))}", pivots)
    permutation = lower = upper = None
    if orders:
        wide = pivots if pivots.dtype in (I32, I64) else pivots.astype(I64)
        order = apply(made(PivotPermutation, m), wide)
        permutation = swapaxes(one_hot(order, m), -1, -2).astype(packed.dtype)
    if data:
        left, right = packed[..., : min(m, n)], packed[..., : min(m, n), :]
        lower, upper = tril(left, -1) + eye(m, min(m, n), packed.dtype), triu(right)
    return permutation, lower, upper


# Without an inverse --------------------------------------------------------------------------------------------------


def _bound(op: str, argument: str, value: Any, x: Tensor) -> Any:
    """Return a bound of singular values: a number, or a Tensor with one for each matrix."""
    if not isinstance(value, Tensor):
        return real(op, argument, value)
    if not value.dtype.is_float:
        raise wrong(op, argument, "a float or a Tensor of floats", value, TypeError)
    if value.ndim and value.shape != x.shape[:-2]:
        raise wrong(op, argument, f"a number, or of shape {x.shape[:-2]}", value)
    return expand_dims(value, -1).astype(x.dtype.part, copy=False) if value.ndim else value.astype(x.dtype.part, copy=False)


@fusible
def pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """Return the pseudoinverses of matrices (..., m, n), Float32, Float64, Complex64 or Complex128, of shape (..., n, m).

    atol, rtol  singular values of at most `atol`, or `rtol` times the largest, count as 0: numbers, or Tensors with one for each matrix;
                by default 0 and, without `atol`, max(m, n) times the distance of 1 to the next number
    hermitian   True for Hermitian matrices, which are treated as others

    The gradient is that of the singular values and vectors: it is not finite where two of them are equal.
    """
    op = "pinv"
    given = matrices(op, x, "x", square=False)
    flag(op, "hermitian", hermitian)
    if not given.size:
        return swapaxes(given, -1, -2)
    epsilon = 2.0**-52 if given.dtype.part is F64 else 2.0**-23
    usual = max(given.shape[-2:]) * epsilon if atol is None else 0.0
    share, least = _bound(op, "rtol", usual if rtol is None else rtol, given), _bound(op, "atol", 0.0 if atol is None else atol, given)
    values, u, v = svd(given)
    values = real_of(values)
    largest = amax(values, -1, True)
    kept = (values > largest * share).logical_and(values > least)
    inverted = where(kept, 1.0 / where(kept, values, 1.0), 0.0).astype(given.dtype, copy=False)
    return matmul(v * expand_dims(inverted, -2), adjoint(u))


@fusible
def lstsq(input: Any, A: Any) -> Tensor:
    """Return the columns x for which a x is closest to b, the shortest ones where there are several: [n, k].

    input  a, [m, n], floats or complex numbers
    A      b, [m, k] or [m], of that dtype
    """
    op = "Lstsq"
    a = matrices(op, input, square=False, dtypes=INEXACT)
    b = operand(op, A, "A")
    if b.dtype is not a.dtype:
        raise wrong(op, "A", f"of the dtype of 'input', {a.dtype}", b, TypeError)
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise wrong(op, "A", f"of shape [{a.shape[0]}, k], for a matrix", b)
    check_memory(op, "the solution", 8.0 * a.shape[1] * math.prod(b.shape[1:]))
    to: DType = F32 if a.dtype is F16 else a.dtype
    right = reshape(b, (b.shape[0], -1)) if b.ndim == 2 and b.size else reshape(b, (b.shape[0], math.prod(b.shape[1:])))
    return matmul(pinv(a.astype(to, copy=False)), right.astype(to, copy=False)).astype(a.dtype, copy=False)


def tridiagonal_product(op: str, superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> Tensor:
    """Return the product of tridiagonal matrices, given as their diagonals (..., 1, n), with columns (..., n, m).

    The last element of the upper diagonal and the first of the lower one are not read.
    """
    given = [operand(op, x, name) for name, x in (("superdiag", superdiag), ("maindiag", maindiag), ("subdiag", subdiag), ("rhs", rhs))]
    b = given[3]
    for name, x in zip(("superdiag", "maindiag", "subdiag", "rhs"), given, strict=True):
        if x.dtype not in _FLOATS or x.dtype is not b.dtype:
            raise wrong(op, name, "a Tensor of Float16, Float32 or Float64, all of one dtype", x, TypeError)
        if x.ndim < 2 or b.ndim < 2:
            raise wrong(op, name, "of at least 2 dimensions, as all", x)
        if name != "rhs" and x.shape != (*b.shape[:-2], 1, b.shape[-2]):
            raise wrong(op, name, f"of shape {(*b.shape[:-2], 1, b.shape[-2])}", x)
    above, main, below = (swapaxes(x, -1, -2) for x in given[:3])
    from_below, from_above = above[..., :-1, :] * b[..., 1:, :], below[..., 1:, :] * b[..., :-1, :]
    return main * b + _shifted(from_below, 0) + _shifted(from_above, 1)


def _shifted(x: Tensor, first: int) -> Tensor:
    """Return columns with a zero more, at the begin (1) or the end (0)."""
    return framed(x, (*((0, 0),) * (x.ndim - 2), (first, 1 - first), (0, 0)), 0)


# Orthogonal factors --------------------------------------------------------------------------------------------------


@fusible
def qr(input: Any, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Return matrices Q with orthogonal columns and upper triangles R with Q R = x, for matrices (..., m, n) of floats or complex numbers.

    mode  "reduced": Q (..., m, k) and R (..., k, n), k = min(m, n); "complete": Q (..., m, m) and R (..., m, n)

    The gradient needs matrices of full rank; "complete" has none for those with more rows than columns.
    """
    if not isinstance(mode, str) or mode not in ("reduced", "complete"):
        raise wrong("Qr", "mode", "'reduced' or 'complete'", repr(mode), TypeError)
    return apply(made(Qr, mode == "complete"), matrices("Qr", input, square=False, dtypes=INEXACT))


@fusible
def geqrf(input: Any) -> tuple[Tensor, Tensor]:
    """Return the triangles of `qr` with the vectors of its reflections below the diagonal, (..., m, n), and their factors, (..., k).

    input  Float32, Float64, Complex64 or Complex128

    They are those of LAPACK's `geqrf`, and have no gradient.
    """
    return apply(made(Reflections), matrices("Geqrf", input, square=False))


@fusible
def orgqr(input: Any, input2: Any) -> Tensor:
    """Return the first n columns of the product of reflections, as `geqrf` returns them.

    input   their vectors, (..., m, n), Float32, Float64, Complex64 or Complex128; n at most m
    input2  their factors, (..., k); k at most n

    There is no gradient.
    """
    op = "Orgqr"
    packed, factors = matrices(op, input, square=False), operand(op, input2, "input2")
    if factors.dtype is not packed.dtype:
        raise wrong(op, "input2", f"of the dtype of 'input', {packed.dtype}", factors, TypeError)
    m, n = packed.shape[-2:]
    if n > m:
        raise wrong(op, "input", "matrices with at most as many columns as rows", packed)
    if factors.shape[:-1] != packed.shape[:-2] or not factors.ndim or factors.shape[-1] > n:
        raise wrong(op, "input2", f"at most {n} factors for each of the matrices {packed.shape}", factors)
    return apply(made(ReflectionsProduct), packed, factors)


@fusible
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Tensor:
    """Return the product of the square matrix Q of reflections, as `geqrf` returns them, and another matrix: Q c.

    input      their vectors, (..., m, n), Float32, Float64, Complex64 or Complex128
    tau        their factors, (..., k); k at most m and n
    other      c, (..., m, l), or (..., l, m) for a product from the right
    left       False for c Q
    transpose  True for the conjugate transpose of Q

    There is no gradient by `input` and `tau`.
    """
    op = "Ormqr"
    packed, factors, c = matrices(op, input, square=False), operand(op, tau, "tau"), matrices(op, other, "other", square=False)
    for name, x in (("tau", factors), ("other", c)):
        if x.dtype is not packed.dtype:
            raise wrong(op, name, f"of the dtype of 'input', {packed.dtype}", x, TypeError)
    before, across = flag(op, "left", left), flag(op, "transpose", transpose)
    m, n = packed.shape[-2:]
    if not factors.ndim or factors.shape[:-1] != packed.shape[:-2] or factors.shape[-1] > min(m, n):
        raise wrong(op, "tau", f"at most {min(m, n)} factors for each of the matrices {packed.shape}", factors)
    if c.shape[:-2] != packed.shape[:-2] or c.shape[-2 if before else -1] != m:
        raise wrong(op, "other", f"matrices with {m} {'rows' if before else 'columns'} for each of the matrices {packed.shape}", c)
    square = packed[..., :m] if n >= m else framed(packed, (*((0, 0),) * (packed.ndim - 1), (0, m - n)), 0)
    q = apply(made(ReflectionsProduct), square, factors)
    q = adjoint(q) if across else q
    return matmul(q, c) if before else matmul(c, q)
