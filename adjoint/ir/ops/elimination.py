"""Determinants and inverses of square matrices, by Gaussian elimination.

    P A = L U                  rows exchanged so that each pivot is the largest of its column
    det A = det P * product of the pivots
    A^-1 = U^-1 (L^-1 P)       the steps of the elimination applied to the identity, then back substitution

A kernel computes one matrix after the other in float64, or complex128, and rounds once; threads share the matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, family, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.wide_numbers import NUMBERS, absolute, divided_by, is_inexact, nan_of, scaled, size_of, wide
from adjoint.ir.types import C64, F32, F64, I32, I64, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = [
    "BLOCKS", "REGULAR", "STACK", "Cofactor", "Determinant", "LogDeterminant", "Matrix", "MatrixInverse", "SquareMatrices",
    "adjoint_matrices", "back_substitute", "choose_row", "clear_below", "in_blocks", "is_larger", "substitute", "transposed_matrices",
]

TOGETHER = 4
"""The number of rows that are subtracted from another one together."""

REGULAR = {0: [[2.0, -1.0, 0.5], [0.5, 1.5, -1.0], [-1.0, 0.25, 1.0]]}
"""A matrix for tests that is far from singular."""
STACK = {0: [[[0.0, 1.0], [2.0, 0.5]], [[1.5, 1.0], [-1.0, 0.5]], [[-2.0, 0.25], [0.75, 1.0]]]}
"""Matrices for tests whose rows must be exchanged, with determinants of either sign."""
BLOCKS = {0: [[4.0 if r == c else ((3 * r + 5 * c) % 7 - 3) / 8 for c in range(10)] for r in range(10)]}
"""A matrix for tests of two blocks of rows and a part of a block, far from singular; the mean with its transpose is positive definite."""
SINGULAR = {0: [[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.5, 1.0, -1.0]]}
NULL = {0: [[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [-1.0, -2.0, -0.5]]}
"""Matrices for tests of rank 2 and of rank 1."""
NOT_FINITE = {0: [[[math.inf, 2.0, 0.5], [1.0, 3.0, 1.0], [-1.0, 0.25, 2.0]], [[1.0, 2.0, 0.5], [1.0, 3.0, math.nan], [-1.0, 0.25, 2.0]]]}
"""Matrices for tests, one with an infinity and one with NaN."""
TURNED = {0: [[1.0 + 1.0j, -1.0j, 0.5], [0.5 - 0.5j, 1.5 + 0.25j, -1.0], [-1.0j, 0.25, 1.0 - 1.0j]]}
"""A complex matrix for tests that is far from singular."""


@family
class SquareMatrices(Op):
    """An op on the square matrices in the last two axes."""

    matrices: ClassVar[str] = "x"
    """The name of the operand that holds them."""
    batch = batching.leading

    def checked(self, x: Any) -> TensorType:
        """Return the type of the operand; raise TypeError or ValueError unless it holds square matrices of such numbers."""
        if not is_inexact(x):
            raise mistake(self, self.matrices, NUMBERS, x, TypeError)
        if x.rank < 2 or x.shape[-1] != x.shape[-2]:
            raise mistake(self, self.matrices, "square matrices, of shape [..., n, n]", x)
        return x

    def per_matrix(self, x: Any) -> TensorType:
        """Return the type of one number for each matrix."""
        return self.checked(x).with_shape(x.shape[:-2])


def nan_of_array(x: Array) -> complex:
    """Return NaN for an array, in both parts where it is complex."""
    return complex(math.nan, math.nan) if x.dtype.kind == "c" else math.nan


# In kernels -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matrix:
    """A square matrix in a buffer, in row-major order from `start` on; it is read and written as Float64, or Complex128."""

    k: Kernel
    buffer: Buffer
    start: Expr
    n: Expr

    @property
    def dtype(self) -> DType:
        """Return Float64, or Complex128."""
        return wide(self.buffer.dtype)

    def __getitem__(self, place: tuple[Any, Any]) -> Expr:
        return self.k.cast(self.buffer[self._at(place)], self.dtype)

    def __setitem__(self, place: tuple[Any, Any], value: Any) -> None:
        self.k.store(self.buffer, self._at(place), self.k.cast(value, self.buffer.dtype.compute))

    def _at(self, place: tuple[Any, Any]) -> Expr:
        row, column = place
        return self.start + row * self.n + column

    def fill(self, value: Callable[[Any, Any], Any]) -> None:
        """Set each element to `value(row, column)`."""
        with self.k.loop(0, self.n, "r") as r, self.k.loop(0, self.n, "j") as j:
            self[r, j] = value(r, j)

    def make_identity(self) -> None:
        self.fill(lambda r, j: self.k.cast(self.k.cast(self.k.equal(r, j), F64), self.dtype))

    def exchange_rows(self, one: Any, two: Any) -> None:
        with self.k.loop(0, self.n, "j") as j:
            before = self.k.let(self[one, j], "before")
            self[one, j] = self[two, j]
            self[two, j] = before

    def exchange_columns(self, one: Any, two: Any) -> None:
        with self.k.loop(0, self.n, "r") as r:
            before = self.k.let(self[r, one], "before")
            self[r, one] = self[r, two]
            self[r, two] = before

    def subtract_row(self, factor: Any, of: Any, from_: Any, first: Any = 0) -> None:
        """Subtract a multiple of one row from another, from column `first` on."""
        self.subtract_rows([factor], [of], from_, first)

    def subtract_rows(self, factors: Sequence[Any], of: Sequence[Any], from_: Any, first: Any = 0) -> None:
        """Subtract multiples of some rows from another one, from column `first` on, one after the other."""
        with self.k.loop(first, self.n, "j", independent=True) as j:
            value: Any = self[from_, j]
            for factor, row in zip(factors, of, strict=True):
                value = value - factor * self[row, j]
            self[from_, j] = value


@contextmanager
def _each_matrix(k: Kernel, x: Buffer, copies: int = 1) -> Iterator[tuple[Expr, list[Matrix]]]:
    """Begin a stage over the matrices of `x`: yield the number of one, and `copies` matrices of its size as scratch, the first a copy of
    it."""
    n = x.shape[-1]
    count = math.prod(x.shape[:-2])
    size = k.size(n, "n")
    work = [k.scratch(wide(x.dtype), x.count, name) for name in ("work", "beside")[:copies]]
    k.describe(x, "matrices, n, n")
    with k.stage(count, grain_of(copies * n * n * n), "matrix") as matrix:
        start = k.let(matrix * size * size, "start")
        found = [Matrix(k, buffer, start, size) for buffer in work]
        with k.loop(start, start + size * size, "i") as i:
            k.store(work[0], i, k.cast(x[i], wide(x.dtype)))
        yield matrix, found


def is_larger(k: Kernel, size: Expr, best: Expr) -> Expr:
    """Return the C condition that `size` replaces `best`: NaN is the largest, so that elimination never skips one."""
    return k.either(k.greater(size, best), k.both(k.call("isnan", size), k.negation(k.call("isnan", best))))


def choose_row(k: Kernel, a: Matrix, c: Any) -> Expr:
    """Return the row, from `c` on, of the largest element in column `c`."""
    row, best = k.local(c, "row"), k.local(size_of(k, a[c, c]), "best")
    with k.loop(c + 1, a.n, "r") as r:
        size = k.let(size_of(k, a[r, c]), "size")
        with k.when(is_larger(k, size, best)):
            k.set(best, size)
            k.set(row, r)
    return row


def clear_below(k: Kernel, a: Matrix, c: Any, beside: Sequence[Matrix]) -> None:
    """Subtract multiples of row `c` from the rows below so that their elements in column `c` become 0; these zeros are not stored."""
    with k.when(k.not_equal(a[c, c], 0)), k.loop(c + 1, a.n, "r") as r:
        factor = k.let(a[r, c] / a[c, c], "factor")
        a.subtract_row(factor, c, r, c + 1)
        for other in beside:
            other.subtract_row(factor, c, r)


class _WideProduct:
    """A product without overflow or underflow of partial products: `value * STEP**steps`."""

    STEP_BITS = 32
    STEP = 2.0**STEP_BITS

    def __init__(self, k: Kernel, dtype: DType):
        self.k = k
        self.value = k.local(1.0, "value", dtype)
        self.steps = k.local(0, "steps", I64)

    def change_sign(self) -> None:
        self.k.set(self.value, -self.value)

    def multiply(self, factor: Expr) -> None:
        """Multiply the product by a factor.  If both are large, or both small, the product is rescaled first."""
        k, size = self.k, size_of(self.k, self.value)
        other = k.let(size_of(k, factor), "other")
        with k.when(k.both(k.greater(other, 1), k.call("isfinite", self.value))), k.loop_while(k.greater(size, 1)):
            self._shift(1)
        with k.when(k.both(k.less(other, 1), k.not_equal(self.value, 0))), k.loop_while(k.less(size, 1)):
            self._shift(-1)
        k.set(self.value, self.value * factor)

    def _shift(self, count: int) -> None:
        """Rescale to the same number with `count` more steps, 1 or -1."""
        self.k.set(self.value, scaled(self.k, self.value, 1 / self.STEP if count > 0 else self.STEP))
        self.k.increment(self.steps, count)

    def times(self, factor: Expr | float) -> Expr:
        """Return the whole product times a factor, as a plain number."""
        k = self.k
        given = factor if not isinstance(factor, float) else k.literal(factor, self.value.dtype)
        result, left = k.local(given * self.value, "result"), k.local(self.steps, "left")
        with k.loop_while(k.greater(left, 0)):
            k.set(result, scaled(k, result, self.STEP))
            k.increment(left, -1)
        with k.loop_while(k.less(left, 0)):
            k.set(result, scaled(k, result, 1 / self.STEP))
            k.increment(left, 1)
        return result

    def sign_and_logarithm(self) -> tuple[Expr, Expr]:
        """Return the sign, 0 for 0, and the logarithm of the absolute value; near 1 that of the value alone."""
        k, size = self.k, absolute(self.k, self.value)
        with k.loop_while(k.both(k.greater(self.steps, 0), k.less(size, 1))):
            self._shift(-1)
        with k.loop_while(k.both(k.less(self.steps, 0), k.greater(size, 1))):
            self._shift(1)
        size = k.let(size, "size")
        sign = k.select(k.either(k.greater(size, 0), k.call("isnan", size)), divided_by(k, self.value, size), 0)
        if not self.value.dtype.is_complex:
            sign = k.select(k.call("isinf", size), k.call("copysign", k.literal(1.0, F64), self.value), sign)
        return sign, k.call("log", size) + k.cast(self.steps, F64) * (self.STEP_BITS * math.log(2))


def _determinant_of(k: Kernel, a: Matrix) -> _WideProduct:
    """Return the determinant of a matrix, which is overwritten."""
    product = _WideProduct(k, a.dtype)
    with k.loop(0, a.n, "c") as c:
        row = choose_row(k, a, c)
        with k.when(k.not_equal(row, c)):
            a.exchange_rows(row, c)
            product.change_sign()
        product.multiply(a[c, c])
        clear_below(k, a, c, ())
    return product


def in_blocks(k: Kernel, count: Any, own: Callable[[Any, Any], None], others: Callable[[list[Any], Any], None]) -> None:
    """Append the steps of an elimination in which row number i is finished by those before it, and then changes all after it.

    Several steps are a block: rows after the block are read and written once for all of them.  The order of subtractions from an element
    is that of the steps.

    own     finishes the row i, given i and `end`, and changes those after it up to `end`, where the block ends
    others  changes a row after a block, given the rows of the block and the row
    """
    whole = k.let(count / TOGETHER * TOGETHER, "whole")
    with k.loop(0, whole, "block", step=TOGETHER) as block:
        end = k.let(block + TOGETHER, "end")
        with k.loop(block, end, "i") as i:
            own(i, end)
        with k.loop(end, count, "after") as after:
            others([block + number for number in range(TOGETHER)], after)
    with k.loop(whole, count, "i") as i:
        own(i, count)


def substitute(
    k: Kernel, b: Matrix, count: Any, factor: Callable[[Any, Any], Any], pivot: Callable[[Any], Any] | None, *, forward: bool
) -> None:
    """Replace the first `count` rows of `b` by those of T^-1 b, for a triangle T.

    factor   returns the element of T at a row and a column
    pivot    returns an element of the diagonal; None if all are 1
    forward  True for a lower triangle, whose first row is solved first
    """
    def place(i: Any) -> Any:
        return i if forward else count - 1 - i

    def own(i: Any, end: Any) -> None:
        c = k.let(place(i), "c")
        if pivot is not None:
            with k.loop(0, b.n, "j") as j:
                b[c, j] = b[c, j] / pivot(c)
        with k.loop(i + 1, end, "next") as after:
            r = k.let(place(after), "r")
            b.subtract_row(k.let(factor(r, c), "factor"), c, r)

    def others(steps: list[Any], after: Any) -> None:
        r = k.let(place(after), "r")
        columns = [k.let(place(i), "c") for i in steps]
        b.subtract_rows([k.let(factor(r, c), "factor") for c in columns], columns, r)

    in_blocks(k, count, own, others)


def back_substitute(k: Kernel, u: Matrix, b: Matrix, count: Any) -> None:
    """Replace the first `count` rows of `b` by those of U^-1 b, for the upper triangle of the first `count` rows and columns of `u`."""
    substitute(k, b, count, lambda r, c: u[r, c], lambda c: u[c, c], forward=False)


# The ops --------------------------------------------------------------------------------------------------------------


def _spread(b: Builder, ct: Atom) -> Atom:
    """Return a tensor with one number for each matrix, reshaped so that it broadcasts with the matrices."""
    have = tensor_type(ct)
    return b.reshape(ct, to=have.with_shape((*have.shape, 1, 1)))


def transposed_matrices(b: Builder, x: Atom) -> Atom:
    rank = tensor_type(x).rank
    return b.transpose(x, permutation=(*range(rank - 2), rank - 1, rank - 2))


def adjoint_matrices(b: Builder, x: Atom) -> Atom:
    """Return the conjugate transposes."""
    return transposed_matrices(b, b.conj(x))


@operation
class Determinant(SquareMatrices):
    """The determinants of the matrices in the last two axes; 1 for a matrix without elements.

    It overflows or underflows only if the determinant does, not if a partial product of pivots does.

    x         T[s, n, n], T a floating point or complex type; computed in float64 or complex128
    result    T[s]
    gradient  ct * conj(cofactor(x)), also where x is singular (Jacobi's formula)
    errors    TypeError: neither floating point nor complex; ValueError: not square matrices
    """

    samples = (
        sample(tensor(F32, (3, 3)), values=REGULAR),
        sample(tensor(F32, (3, 2, 2)), values=STACK),
        sample(tensor(F32, (3, 3)), values=SINGULAR),
        sample(tensor(F32, (3, 3)), values=NULL),
        sample(tensor(C64, (3, 3)), values=TURNED),
        sample(tensor(F32, (2, 1, 1))),
        sample(tensor(F32, (6, 6))),
        sample(tensor(F32, (0, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        return self.per_matrix(x)

    def reference(self, x: Array) -> Array:
        return np.linalg.det(x)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        with _each_matrix(k, x) as (matrix, (a,)):
            k.store(out, matrix, k.cast(_determinant_of(k, a).times(1.0), out.dtype.compute))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.mul(_spread(b, ct), b.conj(b.cofactor(x))),)


@operation
class LogDeterminant(SquareMatrices):
    """The signs of determinants, and the logarithms of their absolute values; 0 and minus infinity for a singular matrix.

    x         T[s, n, n], T a floating point or complex type; computed in float64 or complex128
    result    T[s], 1, -1 or 0, of complex matrices a number of absolute value 1 or 0, and R[s], R the type of the parts of T; NaN where x
              has one
    gradient  (log' + imag(sign' * conj(sign)) i) times the conjugate transpose of the inverse of x, NaN where x is singular; of a real
              sign nothing
    errors    TypeError: neither floating point nor complex; ValueError: not square matrices
    """

    samples = (
        sample(tensor(F32, (3, 3)), values=REGULAR),
        sample(tensor(F32, (3, 2, 2)), values=STACK),
        sample(tensor(F32, (2, 1, 1)), domain=(0.5, 2.0)),
        sample(tensor(F32, (2, 2)), values={0: [[1.0, 2.0], [2.0, 4.0]]}, smooth=False, note="singular"),
        sample(tensor(C64, (3, 3)), values=TURNED),
        sample(tensor(F32, (0, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        found = self.per_matrix(x)
        return found, found.with_dtype(found.dtype.part)

    def reference(self, x: Array) -> tuple[Array, Array]:
        sign, logarithm = np.linalg.slogdet(x)
        nothing = np.full_like(sign, nan_of_array(sign))  # of some matrices with infinities LAPACK gives a sign, and no logarithm
        return np.where(np.isnan(logarithm), nothing, sign), logarithm

    def lower(self, k: Kernel, x: Buffer, sign: Buffer, logarithm: Buffer) -> None:
        with _each_matrix(k, x) as (matrix, (a,)):
            for out, value in zip((sign, logarithm), _determinant_of(k, a).sign_and_logarithm(), strict=True):
                k.store(out, matrix, k.cast(value, out.dtype.compute))

    def vjp(self, b: Builder, node: Node, sign_ct: Any, logarithm_ct: Any) -> Cotangents:
        (x,), (sign, logarithm) = node.operands, node.results
        turns = sign_ct is not None and tensor_type(x).dtype.is_complex
        if logarithm_ct is None and not turns:
            return (None,)
        weight = b.zeros(tensor_type(logarithm)) if logarithm_ct is None else logarithm_ct
        if turns:
            weight = b.complex_number(weight, b.imaginary_part(b.mul(sign_ct, b.conj(sign))))
        elif tensor_type(x).dtype.is_complex:
            weight = b.cast(weight, to=tensor_type(x).dtype)
        return (b.mul(_spread(b, weight), adjoint_matrices(b, b.matrix_inverse(x, or_nan=True))),)


@operation
class MatrixInverse(SquareMatrices):
    """The inverses of the matrices in the last two axes.

    A matrix is singular if a pivot is exactly 0; if only rounding makes it nonzero, the inverse has very large numbers.

    x         T[s, n, n], T a floating point or complex type; computed in float64 or complex128
    or_nan    whether the inverse of a singular matrix is one of NaN, and no error
    result    T[s, n, n]
    gradient  -result^H @ ct @ result^H (Giles 2008, section 2.2.3)
    errors    TypeError: neither floating point nor complex; ValueError: not square matrices, or a singular one
    """

    or_nan: bool = False
    samples = (
        sample(tensor(F32, (3, 3)), values=REGULAR),
        sample(tensor(F32, (3, 2, 2)), values=STACK),
        sample(tensor(F32, (2, 1, 1)), domain=(0.5, 2.0), or_nan=True),
        sample(tensor(F32, (2, 2, 2)), values={0: [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [1.0, 2.0]]]}, or_nan=True, smooth=False,
               note="singular"),
        sample(tensor(F32, (2, 3, 3)), values=NOT_FINITE, smooth=False, note="infinity and NaN"),
        sample(tensor(C64, (3, 3)), values=TURNED),
        sample(tensor(F32, (0, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        return self.checked(x)

    def reference(self, x: Array) -> Array:
        found = np.empty_like(x)
        for number, place in enumerate(np.ndindex(x.shape[:-2])):
            try:
                found[place] = np.linalg.inv(x[place])
            except np.linalg.LinAlgError:
                if not self.or_nan:
                    raise self.failure(number + 1) from None
                found[place] = nan_of_array(x)
        return found

    def failure(self, status: int) -> Exception:
        return mistake(self, "x", "invertible matrices", f"a singular one, at index {status - 1} of the batch")

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        with _each_matrix(k, x, copies=2) as (matrix, (a, inverse)):
            inverse.make_identity()
            singular = k.local(0, "singular", I32)
            with k.loop(0, a.n, "c") as c:
                row = choose_row(k, a, c)
                with k.when(k.not_equal(row, c)):
                    a.exchange_rows(row, c)
                    inverse.exchange_rows(row, c)
                with k.when(k.equal(a[c, c], 0)):
                    k.set(singular, 1)
                clear_below(k, a, c, (inverse,))
            if not self.or_nan:
                with k.when(k.not_equal(singular, 0)):
                    k.fail_at(matrix)
            back_substitute(k, a, inverse, a.n)
            result = Matrix(k, out, inverse.start, a.n)
            if self.or_nan:
                result.fill(lambda r, j: k.select(k.not_equal(singular, 0), k.literal(nan_of(x.dtype), a.dtype), inverse[r, j]))
            else:
                result.fill(lambda r, j: inverse[r, j])

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        inverse = b.conj(node.result)
        return (b.neg(b.matmul(b.matmul(inverse, ct, ta=True), inverse, tb=True)),)


@operation
class Cofactor(SquareMatrices):
    """The matrices of cofactors, which are the gradients of determinants: det(x) times the transposed inverse, if there is one.

    Rows and columns are exchanged, P x Q = L U with the largest pivots first, and the last pivot is never a divisor: the result
    is correct also if x is singular, by adj(U) = det(U1) [[r U1^-1, -U1^-1 u], [0, 1]] for U = [[U1, u], [0, r]].  In a matrix with
    infinities or NaN each cofactor is eliminated by itself, so that those are finite whose rows and columns have none.

    x         T[s, n, n], T a floating point or complex type; computed in float64 or complex128
    result    T[s, n, n]: element i, j is (-1)^(i + j) times the determinant of x without row i and column j
    gradient  conj(det(U)) det(V) U (diag(p @ diag(y)) - p * y^T) V^H with x = U diag(s) V^H, y = U^T ct conj(V) and p[i, j] the product
              of all s without s[i] and s[j], so that nothing is divided by a singular value of 0; p[i, i] = 0.  The gradient of this
              gradient goes through svd, and is not finite where singular values are equal.  Of complex matrices s is the conjugate
              diagonal of U^H x V: at 0 it changes into complex numbers
    errors    TypeError: neither floating point nor complex; ValueError: not square matrices
    """

    samples = (
        sample(tensor(F32, (3, 3)), values=REGULAR),
        sample(tensor(F32, (3, 2, 2)), values=STACK),
        sample(tensor(F32, (4, 4))),
        sample(tensor(F32, (3, 3)), values=SINGULAR, note="rank 2"),
        sample(tensor(F32, (2, 1, 1))),
        sample(tensor(F32, (3, 3)), values=NULL, smooth=False, note="rank 1: equal singular values, whose vectors have no gradient"),
        sample(tensor(F32, (0, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        return self.checked(x)

    def reference(self, x: Array) -> Array:
        found = np.empty_like(x)
        for *place, i, j in np.ndindex(x.shape):
            minor = np.delete(np.delete(x[tuple(place)], i, 0), j, 1)
            with np.errstate(invalid="ignore"):  # of infinity less infinity
                found[(*place, i, j)] = (-1) ** (i + j) * np.linalg.det(minor)
        return found

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        columns = k.scratch(I64, math.prod(x.shape[:-1]), "columns")
        with _each_matrix(k, x, copies=2) as (matrix, (a, beside)), k.when(k.greater(a.n, 0)):
            result, finite = Matrix(k, out, a.start, a.n), k.local(1, "finite", I64)
            with k.loop(0, a.n, "r") as r, k.loop(0, a.n, "j") as j, k.when(k.negation(k.call("isfinite", a[r, j]))):
                k.set(finite, 0)
            with k.when(k.equal(finite, 0)):
                self._by_minors(k, a, beside, result)
            with k.otherwise():
                self._by_elimination(k, a, beside, columns, k.let(matrix * a.n, "first"), result)

    def _by_minors(self, k: Kernel, a: Matrix, beside: Matrix, result: Matrix) -> None:
        """Compute each cofactor by itself: one of them does not see an infinity or NaN in its row or column."""
        minor = Matrix(k, beside.buffer, beside.start, k.let(a.n - 1, "less"))
        with k.loop(0, a.n, "i") as i, k.loop(0, a.n, "o") as o:
            minor.fill(lambda r, j: a[r + k.cast(k.greater_equal(r, i), I64), j + k.cast(k.greater_equal(j, o), I64)])
            product = _determinant_of(k, minor)
            with k.when(k.equal((i + o) % 2, 1)):
                product.change_sign()
            result[i, o] = product.times(1.0)

    def _by_elimination(self, k: Kernel, a: Matrix, beside: Matrix, columns: Buffer, first: Expr, result: Matrix) -> None:
        beside.make_identity()
        with k.loop(0, a.n, "j") as j:
            k.store(columns, first + j, j)
        product, last = _WideProduct(k, a.dtype), k.let(a.n - 1, "last")
        with k.loop(0, last, "c") as c:
            self._bring_largest(k, a, beside, columns, first, c, product)
            product.multiply(a[c, c])
            clear_below(k, a, c, (beside,))
        # The last row of `beside` is done; of the others r times it, less u times the last, goes through U1^-1.
        with k.loop(0, last, "r") as r, k.loop(0, a.n, "j") as j:
            beside[r, j] = a[last, last] * beside[r, j] - a[r, last] * beside[last, j]
        with k.when(k.equal(product.value, 0)):
            result.fill(lambda r, j: k.literal(0.0, a.dtype))
        with k.otherwise():
            back_substitute(k, a, beside, last)
            with k.loop(0, a.n, "r") as r, k.loop(0, a.n, "j") as j:
                result[j, columns[first + r]] = product.times(beside[r, j])

    def _bring_largest(
        self, k: Kernel, a: Matrix, beside: Matrix, columns: Buffer, first: Expr, c: Expr, product: _WideProduct,
    ) -> None:
        """Exchange rows and columns so that the largest element right of and below position `c` of the diagonal moves there."""
        row, column, best = k.local(c, "row"), k.local(c, "column"), k.local(size_of(k, a[c, c]), "best")
        with k.loop(c, a.n, "r") as r, k.loop(c, a.n, "j") as j:
            size = k.let(size_of(k, a[r, j]), "size")
            with k.when(is_larger(k, size, best)):
                k.set(best, size)
                k.set(row, r)
                k.set(column, j)
        with k.when(k.not_equal(row, c)):
            a.exchange_rows(row, c)
            beside.exchange_rows(row, c)
            product.change_sign()
        with k.when(k.not_equal(column, c)):
            a.exchange_columns(column, c)
            before = k.let(columns[first + c], "before")
            k.store(columns, first + c, columns[first + column])
            k.store(columns, first + column, before)
            product.change_sign()

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        type_ = tensor_type(x)
        n, dtype = type_.shape[-1], type_.dtype
        values, u, v = b.svd(x)
        if dtype.is_complex:
            values = b.sum(b.mul(u, b.conj(b.matmul(x, v))), axes=(type_.rank - 2,), keepdims=False)
        numbers = [b.iota(to=tensor(I64, tuple(n if a == axis else 1 for a in range(3))), axis=axis) for axis in range(3)]
        same = b.equal(b.iota(to=tensor(I64, (n, 1)), axis=0), b.iota(to=tensor(I64, (1, n)), axis=1))
        zero, one = b.constant(0.0, dtype), b.constant(1.0, dtype)
        left_out = b.logical_or(b.equal(numbers[2], numbers[0]), b.equal(numbers[2], numbers[1]))
        line = b.reshape(values, to=type_.with_shape((*type_.shape[:-2], 1, 1, n)))
        products = b.prod(b.select(left_out, one, line), axes=(type_.rank,), keepdims=False)
        products = b.select(same, zero, products)
        y = b.matmul(b.matmul(u, ct, ta=True), b.conj(v))
        diagonal = b.sum(b.select(same, y, zero), axes=(type_.rank - 1,), keepdims=True)
        inner = b.select(same, b.matmul(products, diagonal), b.neg(b.mul(products, transposed_matrices(b, y))))
        signs = b.mul(b.conj(b.log_determinant(u)[0]), b.log_determinant(v)[0])
        return (b.mul(_spread(b, signs), b.matmul(b.matmul(u, inner), b.conj(v), tb=True)),)
