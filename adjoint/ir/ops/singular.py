"""Singular values and vectors of matrices: x = U diag(s) V^H.

One-sided Jacobi (Hestenes 1958; Demmel and Veselic 1992).  The lines are the columns of x, or its conjugate rows if those are fewer.
Pairs of lines are rotated until any two are orthogonal: then the lines are the singular vectors of the long side, times the singular
values, and the rotations applied to the identity are those of the short side.  Of two complex lines one is first turned so that their
product is real.  Each rotation works on adjacent elements, small singular values keep their digits, and LAPACK is not needed.

Everything is computed in float64 or complex128, on x times a power of two that brings its largest element near 1, so that no square
overflows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import tensor_type
from adjoint.ir.op import NotDifferentiable, Op, family, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.elimination import adjoint_matrices
from adjoint.ir.ops.groups import SHORT, Rows
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.wide_numbers import (
    NUMBERS,
    absolute,
    conjugated,
    divided_by,
    is_inexact,
    nan_of,
    scaled,
    size_of,
    square_of,
    wide,
)
from adjoint.ir.types import C64, F32, F64, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = ["SingularValues", "Svd", "gauge_of_columns"]

EPSILON = 2.0**-52
"""The machine epsilon of float64."""
NEGLIGIBLE = 2.0**-900
"""Squared lengths below this have lost digits: such a line stays unchanged, and counts as orthogonal to every other."""
SWEEPS = 64
"""The largest number of sweeps over all pairs; about 10 are needed."""

SQUARE = {0: [[2.0, -1.0, 0.5], [0.5, 1.5, -1.0], [-1.0, 0.25, 0.75]]}
TALL = {0: [[1.0, 0.5], [-0.5, 2.0], [0.75, 0.25]]}
WIDE = {0: [[[1.0, 0.5, -0.25], [0.5, -2.0, 1.0]], [[0.5, 1.5, 1.0], [-1.0, 0.25, 0.5]]]}
TURNED = {0: [[2.0 + 1.0j, -1.0, 0.5j], [0.5j, 1.5 - 1.0j, -1.0], [-1.0, 0.25 + 0.5j, 0.75]]}
TURNED_WIDE = {0: [[1.0 + 0.5j, 0.5, -0.25j], [0.5, -2.0 + 1.0j, 1.0j]]}
TURNED_TALL = {0: [[1.0 + 0.5j, 0.5], [0.5, -2.0 + 1.0j], [-0.25j, 1.0j]]}
"""Matrices for tests whose singular values are well separated."""


@family
class Singular(Op):
    """An op on the singular values of the matrices in the last two axes."""

    batch = batching.leading

    def sides(self, x: Any) -> tuple[Any, Any, Any]:
        """Return the numbers of rows and columns, and the smaller of the two."""
        if not is_inexact(x):
            raise mistake(self, "x", NUMBERS, x, TypeError)
        if x.rank < 2:
            raise mistake(self, "x", "of at least 2 dimensions", x)
        m, n = x.shape[-2:]
        if m == n:
            return m, n, m
        if not isinstance(m, int) or not isinstance(n, int):
            raise mistake(self, "x", "square matrices, or of known numbers of rows and columns", x)
        return m, n, min(m, n)

    def failure(self, status: int) -> Exception:
        return RuntimeError(f"For '{type(self).__name__}', the singular values of matrix {status - 1} did not converge.")


# In kernels -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Lines:
    """Vectors of `length` adjacent numbers each in a buffer, from index `start` on; they are called lines."""

    k: Kernel
    buffer: Buffer
    start: Expr
    length: Expr
    most: int

    def at(self, line: Any, j: Any) -> Expr:
        return self.start + line * self.length + j

    def __getitem__(self, place: tuple[Any, Any]) -> Expr:
        return self.buffer[self.at(*place)]

    def __setitem__(self, place: tuple[Any, Any], value: Any) -> None:
        self.k.store(self.buffer, self.at(*place), value)

    def row(self, line: Any) -> Rows:
        return Rows(self.k, self.k.let(self.at(line, 0), "first"), self.length, self.most)

    def square(self, line: Any) -> Expr:
        """Return the squared length of a line."""
        return self.row(line).sum(F64, lambda i: square_of(self.k, self.buffer[i]), "square", lanes=SHORT)()

    def rotate(self, one: Any, two: Any, cosine: Expr, sine: Expr, turn: Expr | None) -> None:
        """Rotate two lines in their plane, the second one first multiplied with `turn`, a complex number of size 1."""
        k = self.k
        with k.loop(0, self.length, "j") as j:
            a, b = k.let(self[one, j], "a"), k.let(self[two, j] if turn is None else turn * self[two, j], "b")
            self[one, j] = scaled(k, a, cosine) - scaled(k, b, sine)
            self[two, j] = scaled(k, a, sine) + scaled(k, b, cosine)

    def products(self, one: Any, apart: Any) -> tuple[Expr, Expr, Expr]:
        """Return the squared lengths of a line, and of the one `apart` elements behind it, and the product of the two."""
        k, data = self.k, self.buffer

        def terms(i: Any) -> tuple[Expr, ...]:
            first, second = data[i], data[i + apart]
            return (square_of(k, first), square_of(k, second), *self._product(first, second))

        names = ("product",) if not data.dtype.is_complex else ("product_real", "product_imag")
        sums = self.row(one).sums(F64, terms, ("first_square", "second_square", *names), lanes=SHORT)
        first, second, *parts = (given() for given in sums)
        return first, second, parts[0] if len(parts) == 1 else k.let(k.complex_of(parts[0], parts[1], data.dtype), "product")

    def product(self, line: Any, apart: Any) -> Expr:
        """Return the product of a line and the one `apart` elements behind it."""
        k, data = self.k, self.buffer
        names = ("part",) if not data.dtype.is_complex else ("part_real", "part_imag")
        parts = [given() for given in self.row(line).sums(F64, lambda i: self._product(data[i], data[i + apart]), names, lanes=SHORT)]
        return parts[0] if len(parts) == 1 else k.let(k.complex_of(parts[0], parts[1], data.dtype), "part")

    def _product(self, first: Expr, second: Expr) -> tuple[Expr, ...]:
        """Return the parts of the product of the conjugate of an element with another one."""
        k = self.k
        if not first.dtype.is_complex:
            return (first * second,)
        product = k.call("conj", first) * second
        return k.part_of(product, "real"), k.part_of(product, "imag")

    def size(self, line: Any) -> Expr:
        """Return the length of a line whose squares may underflow."""
        k = self.k
        largest = self.row(line).largest(F64, lambda i: size_of(k, self.buffer[i]))()
        size = k.local(0.0, "size", F64)
        with k.when(k.greater(largest, 0)):
            squares = self.row(line).sum(
                F64, lambda i: square_of(k, divided_by(k, self.buffer[i], largest)), "squares", lanes=SHORT)
            k.set(size, largest * k.call("sqrt", squares()))
        return size

    def sign_of_largest(self, line: Any, *, placed: bool = True) -> tuple[Expr, Expr]:
        """Return the number of size 1 that makes the element with the largest absolute value positive, the first of equal ones; and its
        place, if it is complex and the place is asked for, otherwise -1."""
        k = self.k
        turns = self.buffer.dtype.is_complex
        placed = placed and turns
        best, place = k.local(0.0, "best", self.buffer.dtype), k.local(0, "place", I64) if placed else k.literal(-1, I64)
        with k.loop(0, self.length, "j") as j, k.when(k.greater(absolute(k, self[line, j]), absolute(k, best))):
            k.set(best, self[line, j])
            if placed:
                k.set(place, j)
        if not turns:
            return k.let(k.select(k.less(best, 0), -1.0, k.literal(1.0, F64)), "sign"), place
        size = k.let(absolute(k, best), "best_size")
        return k.let(k.select(k.greater(size, 0.0), divided_by(k, k.call("conj", best), size), 1.0), "sign"), place

    def turned(self, line: Any, j: Any, sign: Expr, place: Expr) -> Expr:
        """Return an element times the sign of its line; that at the place of the largest one without what rounding has left of an imaginary
        part."""
        k, made = self.k, sign * self[line, j]
        if not made.dtype.is_complex:
            return made
        made = k.let(made, "made")
        return k.select(k.equal(j, place), k.cast(k.part_of(made, "real"), made.dtype), made)


class _Jacobi:
    """Writes the C code of a kernel that computes singular values: owns its scratch memory, and has a method for each part, in order."""

    def __init__(self, k: Kernel, x: Buffer, *, vectors: bool):
        self.k, self.x, self.vectors = k, x, vectors
        m, n = x.shape[-2:]
        self.tall = m >= n
        self.count, self.short, self.long = math.prod(x.shape[:-2]), min(m, n), max(m, n)
        self.n_short, self.n_long = k.size(self.short, "short_side"), k.size(self.long, "long_side")
        self.by_line, self.by_element = (k.size(step, name) for step, name in (
            (1 if self.tall else n, "by_line"), (n if self.tall else 1, "by_element")))
        of = self.dtype = wide(x.dtype)
        self.lines_memory = k.scratch(of, self.count * self.short * self.long, "lines")
        self.turns_memory = k.scratch(of, self.count * self.short * self.short if vectors else 0, "turns")
        self.sizes_memory = k.scratch(F64, self.count * self.short, "sizes")
        self.order_memory = k.scratch(I64, self.count * self.short, "order")
        k.describe(x, "matrices, m, n")

    @contextmanager
    def each_matrix(self) -> Iterator[None]:
        k = self.k
        with k.stage(self.count, grain_of(40 * self.short * self.short * self.long), "matrix") as self.matrix:
            self.first = k.let(self.matrix * self.n_short, "first_value")
            self.lines = _Lines(k, self.lines_memory, k.let(self.first * self.n_long, "lines_at"), self.n_long, self.long)
            if self.vectors:
                start = k.let(self.first * self.n_short, "turns_at")
                self.turns = _Lines(k, self.turns_memory, start, self.n_short, self.short)
            yield

    def load(self) -> Expr:
        """Append the C code that copies a matrix to the lines, scaled; return an expression that is true if all its elements are finite."""
        k = self.k
        start = k.let(self.matrix * self.n_short * self.n_long, "start")
        largest, not_finite = k.local(0.0, "largest", F64), k.local(0, "not_finite", I64)
        with k.loop(start, start + self.n_short * self.n_long, "i") as i:
            size = k.let(size_of(k, k.cast(self.x[i], self.dtype)), "size")
            k.set(largest, k.maximum_of(size, largest))
            k.increment(not_finite, k.cast(k.negation(k.call("isfinite", size)), I64))
        finite = k.let(k.equal(not_finite, 0), "finite")
        self.scale = scale = k.local(1.0, "scale", F64)
        with k.when(finite):
            with k.loop_while(k.greater(largest * scale, 1.0)):
                k.set(scale, scale * 0.5)
            with k.when(k.greater(largest, 0.0)), k.loop_while(k.both(k.less(largest * scale, 0.5), k.less(scale, 2.0**1000))):
                k.set(scale, scale * 2.0)
        with k.loop(0, self.n_short, "line") as line:
            with k.loop(0, self.n_long, "j") as j:
                given = k.cast(self.x[start + line * self.by_line + j * self.by_element], self.dtype)
                self.lines[line, j] = scaled(k, given if self.tall else conjugated(k, given), scale)
            if self.vectors:
                with k.loop(0, self.n_short, "j") as j:
                    self.turns[line, j] = k.cast(k.cast(k.equal(line, j), F64), self.dtype)
        return finite

    def sweep(self) -> None:
        """Rotate pairs of lines until all are orthogonal; the kernel fails if that takes too many sweeps."""
        k, lines = self.k, self.lines
        tolerance = k.let(k.cast(self.n_long, F64) * EPSILON, "tolerance")
        rotated, sweeps = k.local(1, "rotated", I64), k.local(0, "sweeps", I64)
        with k.loop_while(k.both(k.greater(rotated, 0), k.less(sweeps, SWEEPS))):
            k.set(rotated, 0)
            k.increment(sweeps, 1)
            with k.loop(0, self.n_short, "one") as one, k.loop(one + 1, self.n_short, "two") as two:
                apart = k.let((two - one) * self.n_long, "apart")
                first, second, product = lines.products(one, apart)
                turns = product.dtype.is_complex
                size = k.let(absolute(k, product), "product_size") if turns else k.call("fabs", product)
                least = tolerance * k.call("sqrt", first) * k.call("sqrt", second)
                have_digits = k.greater(k.minimum_of(first, second), NEGLIGIBLE)
                with k.when(k.both(have_digits, k.greater(size, least))):
                    k.increment(rotated, 1)
                    zeta = k.let((second - first) / (2.0 * (size if turns else product)), "zeta")
                    root = k.call("sqrt", 1.0 + zeta * zeta)
                    tangent = k.let(k.call("copysign", 1.0 / (k.call("fabs", zeta) + root), zeta), "tangent")
                    cosine = k.let(1.0 / k.call("sqrt", 1.0 + tangent * tangent), "cosine")
                    sine = k.let(cosine * tangent, "sine")
                    turn = k.let(divided_by(k, k.call("conj", product), size), "turn") if turns else None
                    lines.rotate(one, two, cosine, sine, turn)
                    if self.vectors:
                        self.turns.rotate(one, two, cosine, sine, turn)
        with k.when(k.greater(rotated, 0)):
            k.fail_at(self.matrix)

    def sort(self) -> None:
        """Compute the lengths of the lines, and their order from the longest on, by insertion."""
        k = self.k
        with k.loop(0, self.n_short, "line") as line:
            size = self.lines.size(line)
            k.store(self.sizes_memory, self.first + line, size)
            hole = k.local(line, "hole")
            with k.loop_while(k.both(k.greater(hole, 0), k.less(self._size_at(hole - 1), size))):
                k.store(self.order_memory, self.first + hole, self.order_memory[self.first + hole - 1])
                k.set(hole, hole - 1)
            k.store(self.order_memory, self.first + hole, line)

    def _size_at(self, place: Any) -> Expr:
        return self.sizes_memory[self.first + self.order_memory[self.first + place]]

    def _line_at(self, place: Expr) -> Expr:
        """Return the line at a position of the order; beyond its end the first one, which is then not used."""
        k = self.k
        return k.let(k.select(k.less(place, self.n_short), self.order_memory[self.first + place], 0), "line")

    def store_values(self, out: Buffer) -> None:
        k = self.k
        with k.loop(0, self.n_short, "p") as p:
            k.store(out, self.first + p, k.cast(self._size_at(p) / self.scale, out.dtype.compute))

    def store_vectors(self, u: Buffer, v: Buffer, basis: _Lines, wanted: Expr) -> None:
        """Store the vectors.  The sign of each pair, of complex ones a number of size 1, makes the largest element of U's vector positive;
        unpaired vectors have their own sign."""
        k = self.k
        self._find_basis(basis, wanted)
        long_out, short_out = (u, v) if self.tall else (v, u)
        with k.loop(0, wanted, "p") as p:
            paired, line = k.less(p, self.n_short), self._line_at(p)
            sign, place_of_largest = basis.sign_of_largest(p, placed=self.tall)
            nowhere = k.literal(-1, I64)
            places = (place_of_largest, nowhere)  # in the long and the short vectors
            if not self.tall:
                of_short, place_of_largest = self.turns.sign_of_largest(line)
                sign = k.let(k.select(paired, of_short, sign), "sign")
                places = (nowhere, place_of_largest)
            with k.loop(0, self.n_long, "j") as j:
                place = (self.matrix * self.n_long + j) * wanted + p
                k.store(long_out, place, k.cast(basis.turned(p, j, sign, places[0]), u.dtype.compute))
            with k.when(paired), k.loop(0, self.n_short, "j") as j:
                place = (self.first + j) * self.n_short + p
                k.store(short_out, place, k.cast(self.turns.turned(line, j, sign, places[1]), u.dtype.compute))

    def _find_basis(self, basis: _Lines, wanted: Expr) -> None:
        """Normalise the lines in order; replace those too short to have a direction, and missing ones, by vectors orthogonal to all
        before."""
        k = self.k
        with k.loop(0, wanted, "p") as p:
            paired, line = k.less(p, self.n_short), self._line_at(p)
            size = k.let(k.select(paired, self.sizes_memory[self.first + line], 0.0), "size")
            with k.when(k.greater(size * size, 2.0 * NEGLIGIBLE)), k.loop(0, self.n_long, "j") as j:
                basis[p, j] = divided_by(k, self.lines[line, j], size)
            with k.otherwise():
                self._complete(basis, p)

    def _complete(self, basis: _Lines, p: Expr) -> None:
        """Make line `p` orthogonal to those before it: the unit vector farthest from their span, less its projection."""
        k = self.k
        axis, least = k.local(0, "axis", I64), k.local(2.0, "least", F64)
        with k.loop(0, self.n_long, "j") as j:
            inside = k.local(0.0, "inside", F64)
            with k.loop(0, p, "q") as q:
                k.increment(inside, square_of(k, basis[q, j]))
            with k.when(k.less(inside, least)):
                k.set(least, inside)
                k.set(axis, j)
        with k.loop(0, self.n_long, "j") as j:
            basis[p, j] = k.cast(k.cast(k.equal(j, axis), F64), self.dtype)
        with k.loop(0, 2, "again"), k.loop(0, p, "q") as q:  # twice is enough to remove the rounding errors of the first time
            apart = k.let((p - q) * self.n_long, "apart")
            part = basis.product(q, apart)
            with k.loop(0, self.n_long, "j") as j:
                basis[p, j] = basis[p, j] - part * basis[q, j]
        size = k.let(k.call("sqrt", basis.square(p)), "length")
        with k.loop(0, self.n_long, "j") as j:
            basis[p, j] = divided_by(k, basis[p, j], size)


# For the reference ----------------------------------------------------------------------------------------------------


def _finite(x: Array) -> Array:
    """Return, for each matrix, whether it is finite, as an array that broadcasts with the matrices."""
    return np.asarray(np.isfinite(x).all(axis=(-2, -1), keepdims=True))


def _signs_of_largest(x: Array) -> Array:
    """Return for each column the number of size 1 that makes its element with the largest absolute value positive."""
    if not x.size:
        return np.ones((*x.shape[:-2], 1, x.shape[-1]), x.dtype)
    largest = np.take_along_axis(x, np.argmax(np.abs(x), axis=-2, keepdims=True), -2)
    return np.conj(largest) / np.abs(largest) if x.dtype.kind == "c" else np.where(largest < 0, -1.0, 1.0)


def _positive(x: Array) -> Array:
    """Return columns, without what rounding has left of the imaginary part of the element with the largest absolute value."""
    if x.dtype.kind == "c" and x.size:
        place = np.argmax(np.abs(x), axis=-2, keepdims=True)
        np.put_along_axis(x, place, np.real(np.take_along_axis(x, place, -2)), -2)
    return x


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _nan(x: Array) -> complex:
    return complex(math.nan, math.nan) if x.dtype.kind == "c" else math.nan


# The ops --------------------------------------------------------------------------------------------------------------


@operation
class SingularValues(Singular):
    """The singular values of the matrices in the last two axes, in descending order; NaN for a matrix that is not finite.

    x         T[s, m, n], T a floating point or complex type; computed in float64 or complex128
    result    R[s, min(m, n)], R the type of the parts of T
    gradient  U diag(ct) V^H of svd(x), which is exact for distinct singular values other than 0; if some are equal, or 0,
              it is one of the subgradients of their sum.  Its own gradient is that of svd
    errors    TypeError: neither floating point nor complex; ValueError: no matrices; RuntimeError: no convergence, which is not known to
              happen
    """

    samples = (
        sample(tensor(F32, (3, 3)), values=SQUARE),
        sample(tensor(F32, (3, 2)), values=TALL),
        sample(tensor(F32, (2, 2, 3)), values=WIDE),
        sample(tensor(C64, (3, 3)), values=TURNED),
        sample(tensor(C64, (2, 3)), values=TURNED_WIDE),
        sample(tensor(F32, (1, 5))),
        sample(tensor(F32, (2, 4)), values={0: [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]}, smooth=False, note="of rank 1"),
        sample(tensor(F32, (70, 3)), smooth=False, note="long lines"),
        sample(tensor(F32, (2, 2)), values={0: [[math.nan, 1.0], [1.0, 1.0]]}, smooth=False, note="NaN"),
        sample(tensor(F32, (0, 3))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        count = self.sides(x)[2]
        return x.with_shape((*x.shape[:-2], count)).with_dtype(x.dtype.part)

    def reference(self, x: Array) -> Array:
        finite = _finite(x)
        values = np.linalg.svd(_wide(np.where(finite, x, 0)), compute_uv=False)
        return np.where(finite[..., 0], values, np.nan).astype(np.real(x).dtype)

    def lower(self, k: Kernel, x: Buffer, values: Buffer) -> None:
        parts = _Jacobi(k, x, vectors=False)
        with parts.each_matrix():
            with k.when(parts.load()):
                parts.sweep()
                parts.sort()
                parts.store_values(values)
            with k.otherwise(), k.loop(0, parts.n_short, "p") as p:
                k.store(values, parts.first + p, math.nan)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        _, u, v = b.svd(node.operands[0])
        return (b.matmul(b.mul(u, _as_row(b, b.cast(ct, to=tensor_type(u).dtype))), b.conj(v), tb=True),)


@operation
class Svd(Singular):
    """The singular value decomposition x = U diag(s) V^H of the matrices in the last two axes.

    The columns of U and V are orthonormal; in each column of U the element of the largest size is positive, the first of equal
    ones, also of complex matrices.  Singular values are sorted from the largest on; equal ones have some orthonormal vectors of their
    plane, and so has 0.
    With `full` U and V are square: the columns beyond min(m, n) are some that complete the others.  All is NaN of a matrix that is not
    finite.

    x         T[s, m, n], T a floating point or complex type; computed in float64 or complex128
    result    R[s, k], the singular values, k = min(m, n), R the type of the parts of T, T[s, m, k], U, and T[s, n, k], V; with `full`
              T[s, m, m] and T[s, n, n]
    gradient  U (diag(s') + ((U^H U' - U'^H U) / E) S + S (V^H V' - V'^H V) / E) V^H + (I - U U^H) U' S^-1 V^H + U S^-1 V'^H (I - V V^H)
              with E[i, j] = s[j]^2 - s[i]^2 off the diagonal (Townsend 2016, "Differentiating the singular value decomposition"); of
              complex matrices with the imaginary part of the diagonal of U^H U', divided by S, on the diagonal (Wan and Zhang 2019,
              "Automatic differentiation for complex valued SVD"), after U' has received what makes the largest elements positive.
              Where U or V has a cotangent it is not finite for equal singular values, nor for a 0 of a matrix that is not square: the
              vectors are not differentiable there.  Of a complex matrix the vectors of a 0 are taken not to turn against each other
    errors    TypeError: neither floating point nor complex; ValueError: no matrices; RuntimeError: no convergence, which is not known to
              happen
    """

    full: bool = False
    samples = (
        sample(tensor(F32, (3, 3)), values=SQUARE),
        sample(tensor(F32, (3, 2)), values=TALL),
        sample(tensor(F32, (2, 2, 3)), values=WIDE),
        sample(tensor(F32, (3, 2)), values=TALL, full=True, smooth=False, note="a completed column"),
        sample(tensor(F32, (2, 2, 3)), values=WIDE, full=True, smooth=False, note="a completed column"),
        sample(tensor(C64, (3, 3)), values=TURNED),
        sample(tensor(C64, (2, 3)), values=TURNED_WIDE),
        sample(tensor(C64, (3, 2)), values=TURNED_TALL),
        sample(tensor(C64, (3, 2)), values=TURNED_TALL, full=True, smooth=False, note="a completed column"),
        sample(tensor(F32, (1, 5))),
        sample(tensor(F32, (2, 2)), values={0: [[math.nan, 1.0], [1.0, 1.0]]}, smooth=False, note="NaN"),
        sample(tensor(F32, (3, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType, TensorType]:
        m, n, k = self.sides(x)
        lead = x.shape[:-2]
        left, right = (m, n) if self.full else (k, k)
        return x.with_shape((*lead, k)).with_dtype(x.dtype.part), x.with_shape((*lead, m, left)), x.with_shape((*lead, n, right))

    def reference(self, x: Array) -> tuple[Array, Array, Array]:
        finite = _finite(x)
        u, values, transposed = np.linalg.svd(_wide(np.where(finite, x, 0)), full_matrices=self.full)
        v, count = transposed.swapaxes(-1, -2).conj(), values.shape[-1]
        of_u, of_v = _signs_of_largest(u), _signs_of_largest(v)
        of_v[..., :count] = of_u[..., :count]
        u, v = np.where(finite, _positive(u * of_u), _nan(x)), np.where(finite, v * of_v, _nan(x))
        return np.where(finite[..., 0], values, np.nan).astype(x.real.dtype), u.astype(x.dtype), v.astype(x.dtype)

    def lower(self, k: Kernel, x: Buffer, values: Buffer, u: Buffer, v: Buffer) -> None:
        parts = _Jacobi(k, x, vectors=True)
        wanted = parts.long if self.full else parts.short
        columns = k.size(wanted, "wanted")
        memory = k.scratch(parts.dtype, parts.count * wanted * parts.long, "basis")
        with parts.each_matrix():
            with k.when(parts.load()):
                parts.sweep()
                parts.sort()
                parts.store_values(values)
                start = k.let(parts.matrix * columns * parts.n_long, "basis_at")
                parts.store_vectors(u, v, _Lines(k, memory, start, parts.n_long, parts.long), columns)
            with k.otherwise():
                for out in (values, u, v):
                    per_matrix = k.size(math.prod(out.shape) // max(1, parts.count), f"{out.name}_size")
                    with k.loop(0, per_matrix, "i") as i:
                        k.store(out, parts.matrix * per_matrix + i, k.literal(nan_of(out.dtype), out.dtype.compute))

    def vjp(self, b: Builder, node: Node, values_ct: Any, u_ct: Any, v_ct: Any) -> Cotangents:
        values, u, v = node.results
        type_ = tensor_type(node.operands[0])
        m, n, k = self.sides(type_)
        if self.full and m != n:
            if (u_ct if m > n else v_ct) is not None:
                completed = "U" if m > n else "V"
                raise NotDifferentiable(f"svd of {type_}, full=True: the columns that complete {completed} are not functions of x")
            u, v = _first_columns(b, u, k), _first_columns(b, v, k)
        turns, square = type_.dtype.is_complex, tensor(type_.dtype, (k, k))
        is_zero: Any = None
        if turns:
            u_ct = _u_cotangent(b, u, v, u_ct, v_ct)
            is_zero = _negligible(b, values)
            values = b.cast(values, to=type_.dtype)
            values_ct = None if values_ct is None else b.cast(values_ct, to=type_.dtype)
        same = b.equal(b.iota(to=tensor(I64, (k, 1)), axis=0), b.iota(to=tensor(I64, (1, k)), axis=1))
        row, column = _as_row(b, values), _as_column(b, values)
        one = b.constant(1.0, type_.dtype)
        of_u = None if u_ct is None else _skew(b, b.matmul(b.conj(u), u_ct, ta=True))
        apart = b.mul(b.sub(row, column), b.add(row, column))
        gaps = gaps_of_u = b.select(same, one, apart)
        if turns:
            own = b.select(_as_row(b, is_zero), b.constant(math.inf, type_.dtype), b.mul(b.constant(2.0, type_.dtype), b.mul(row, row)))
            gaps_of_u = b.select(same, own, apart)
        terms: list[Any] = []
        if values_ct is not None:
            terms.append(b.select(same, _as_row(b, values_ct), b.zeros(square)))
        if of_u is not None:
            terms.append(b.mul(b.div(of_u, gaps_of_u), row))
        if v_ct is not None:
            of_v = b.div(_skew(b, b.matmul(b.conj(v), v_ct, ta=True)), gaps)
            terms.append(b.mul(column, b.select(same, b.zeros(square), of_v) if turns else of_v))
        inner = terms[0]
        for term in terms[1:]:
            inner = b.add(inner, term)
        result = b.matmul(b.matmul(u, inner), b.conj(v), tb=True)
        if u_ct is not None and m != k:
            result = b.add(result, b.matmul(b.div(_outside(b, u, u_ct), row), b.conj(v), tb=True))
        if v_ct is not None and n != k:
            result = b.add(result, b.matmul(b.div(u, row), b.conj(_outside(b, v, v_ct)), tb=True))
        return (result,)


def _as_row(b: Builder, x: Atom) -> Atom:
    have = tensor_type(x)
    return b.reshape(x, to=have.with_shape((*have.shape[:-1], 1, have.shape[-1])))


def _as_column(b: Builder, x: Atom) -> Atom:
    have = tensor_type(x)
    return b.reshape(x, to=have.with_shape((*have.shape, 1)))


def _skew(b: Builder, x: Atom) -> Atom:
    """Return a square matrix minus its conjugate transpose."""
    return b.sub(x, adjoint_matrices(b, x))


def _negligible(b: Builder, values: Atom) -> Atom:
    """Return which singular values cannot be told from 0."""
    have = tensor_type(values)
    if 0 in have.shape:
        return b.equal(values, values)
    rounding = EPSILON if have.dtype is F64 else 2.0**-23
    largest = b.reduce_max(values, axes=(have.rank - 1,), keepdims=True)
    return b.less_equal(values, b.mul(b.constant(4.0 * rounding * have.sizes[-1], have.dtype), largest))


def _u_cotangent(b: Builder, u: Atom, v: Atom, u_ct: Any, v_ct: Any) -> Any:
    """Return the cotangent of complex U before each pair of vectors is turned so that the largest element of U's is positive."""
    given = [(x, ct) for x, ct in ((u, u_ct), (v, v_ct)) if ct is not None]
    if not given or 0 in tensor_type(u).shape:
        return u_ct
    extra = gauge_of_columns(b, u, given)
    return extra if u_ct is None else b.add(u_ct, extra)


def gauge_of_columns(b: Builder, columns: Atom, given: Sequence[tuple[Atom, Atom]]) -> Atom:
    """Return what is added to the cotangent of complex columns, because each column is turned until its largest element is positive.

    given  what is turned, the columns and those of other matrices with them, each with its cotangent

    A turn by an angle changes what is computed from them by the sum of the imaginary parts of the products of columns with their
    cotangents, times that angle; an element r > 0 turns by the imaginary part of its change, divided by r.  Of equal elements that are
    not complex each has its share.
    """
    have, axis = tensor_type(columns), tensor_type(columns).rank - 2
    part = have.dtype.part
    turned: Any = None
    for x, ct in given:
        sums = b.sum(b.imaginary_part(b.mul(b.conj(x), ct)), axes=(axis,), keepdims=True)
        turned = sums if turned is None else b.add(turned, sums)
    real = b.select(b.equal(b.imaginary_part(columns), b.constant(0.0, part)), b.real_part(columns), b.constant(-1.0, part))
    largest = b.cast(b.equal(real, b.reduce_max(real, axes=(axis,), keepdims=True)), to=part)
    total = b.sum(b.mul(largest, b.real_part(columns)), axes=(axis,), keepdims=True)
    return b.complex_number(b.zeros(have.with_dtype(part)), b.neg(b.mul(largest, b.div(turned, total))))


def _outside(b: Builder, vectors: Atom, ct: Atom) -> Atom:
    """Return the part of the cotangent that is orthogonal to the vectors."""
    return b.sub(ct, b.matmul(vectors, b.matmul(b.conj(vectors), ct, ta=True)))


def _first_columns(b: Builder, x: Atom, count: int) -> Atom:
    have = tensor_type(x)
    none, ones = (0,) * have.rank, (1,) * have.rank
    return b.slice(x, start=none, stop=(*have.sizes[:-1], count), step=ones)
