"""Singular values and vectors of matrices: x = U diag(s) V^T.

One-sided Jacobi (Hestenes 1958; Demmel and Veselic 1992).  The lines are the columns of x, or its rows if those are fewer.  Pairs of
lines are rotated until any two are orthogonal: then the lines are the singular vectors of the long side, times the singular values, and
the rotations applied to the identity are those of the short side.  Each rotation works on adjacent elements, small singular values keep
their digits, and LAPACK is not needed.

Everything is computed in float64, on x times a power of two that brings its largest element near 1, so that no square overflows.
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
from adjoint.ir.ops.groups import SHORT, Rows
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.types import F32, F64, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = ["SingularValues", "Svd"]

EPSILON = 2.0**-52
"""The machine epsilon of float64."""
NEGLIGIBLE = 2.0**-900
"""Squared lengths below this have lost digits: such a line stays unchanged, and counts as orthogonal to every other."""
SWEEPS = 64
"""The largest number of sweeps over all pairs; about 10 are needed."""

SQUARE = {0: [[2.0, -1.0, 0.5], [0.5, 1.5, -1.0], [-1.0, 0.25, 0.75]]}
TALL = {0: [[1.0, 0.5], [-0.5, 2.0], [0.75, 0.25]]}
WIDE = {0: [[[1.0, 0.5, -0.25], [0.5, -2.0, 1.0]], [[0.5, 1.5, 1.0], [-1.0, 0.25, 0.5]]]}
"""Matrices for tests whose singular values are well separated."""


@family
class Singular(Op):
    """An op on the singular values of the matrices in the last two axes."""

    batch = batching.leading

    def sides(self, x: Any) -> tuple[Any, Any, Any]:
        """Return the numbers of rows and columns, and the smaller of the two."""
        if not isinstance(x, TensorType) or not x.dtype.is_float:
            raise mistake(self, "x", "a tensor of floating point numbers", x, TypeError)
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
        return self.row(line).sum(F64, lambda i: self.buffer[i] * self.buffer[i], "square", lanes=SHORT)()

    def rotate(self, one: Any, two: Any, cosine: Expr, sine: Expr) -> None:
        """Rotate two lines in their plane."""
        k = self.k
        with k.loop(0, self.length, "j") as j:
            a, b = k.let(self[one, j], "a"), k.let(self[two, j], "b")
            self[one, j] = cosine * a - sine * b
            self[two, j] = sine * a + cosine * b

    def size(self, line: Any) -> Expr:
        """Return the length of a line whose squares may underflow."""
        k = self.k
        largest = self.row(line).largest(F64, lambda i: k.call("fabs", self.buffer[i]))()
        size = k.local(0.0, "size", F64)
        with k.when(k.greater(largest, 0)):
            squares = self.row(line).sum(
                F64, lambda i: (self.buffer[i] / largest) * (self.buffer[i] / largest), "squares", lanes=SHORT)
            k.set(size, largest * k.call("sqrt", squares()))
        return size

    def sign_of_largest(self, line: Any) -> Expr:
        """Return 1 or -1, the sign of the element with the largest absolute value, the first of equal ones."""
        k = self.k
        best = k.local(0.0, "best", F64)
        with k.loop(0, self.length, "j") as j, k.when(k.greater(k.call("fabs", self[line, j]), k.call("fabs", best))):
            k.set(best, self[line, j])
        return k.let(k.select(k.less(best, 0), -1.0, k.literal(1.0, F64)), "sign")


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
        self.lines_memory = k.scratch(F64, self.count * self.short * self.long, "lines")
        self.turns_memory = k.scratch(F64, self.count * self.short * self.short if vectors else 0, "turns")
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
            size = k.let(k.call("fabs", k.cast(self.x[i], F64)), "size")
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
                self.lines[line, j] = k.cast(self.x[start + line * self.by_line + j * self.by_element], F64) * scale
            if self.vectors:
                with k.loop(0, self.n_short, "j") as j:
                    self.turns[line, j] = k.cast(k.equal(line, j), F64)
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
                data = lines.buffer
                first, second, product = (given() for given in lines.row(one).sums(
                    F64, lambda i: (data[i] * data[i], data[i + apart] * data[i + apart], data[i] * data[i + apart]),
                    ("first_square", "second_square", "product"), lanes=SHORT))
                least = tolerance * k.call("sqrt", first) * k.call("sqrt", second)
                have_digits = k.greater(k.minimum_of(first, second), NEGLIGIBLE)
                with k.when(k.both(have_digits, k.greater(k.call("fabs", product), least))):
                    k.increment(rotated, 1)
                    zeta = k.let((second - first) / (2.0 * product), "zeta")
                    root = k.call("sqrt", 1.0 + zeta * zeta)
                    tangent = k.let(k.call("copysign", 1.0 / (k.call("fabs", zeta) + root), zeta), "tangent")
                    cosine = k.let(1.0 / k.call("sqrt", 1.0 + tangent * tangent), "cosine")
                    sine = k.let(cosine * tangent, "sine")
                    lines.rotate(one, two, cosine, sine)
                    if self.vectors:
                        self.turns.rotate(one, two, cosine, sine)
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
        """Store the vectors.  The sign of each pair makes the largest element of U's vector positive; unpaired vectors have their own
        sign."""
        k = self.k
        self._find_basis(basis, wanted)
        long_out, short_out = (u, v) if self.tall else (v, u)
        with k.loop(0, wanted, "p") as p:
            paired, line = k.less(p, self.n_short), self._line_at(p)
            sign = basis.sign_of_largest(p)
            if not self.tall:
                sign = k.let(k.select(paired, self.turns.sign_of_largest(line), sign), "sign")
            with k.loop(0, self.n_long, "j") as j:
                place = (self.matrix * self.n_long + j) * wanted + p
                k.store(long_out, place, k.cast(sign * basis[p, j], u.dtype.compute))
            with k.when(paired), k.loop(0, self.n_short, "j") as j:
                place = (self.first + j) * self.n_short + p
                k.store(short_out, place, k.cast(sign * self.turns[line, j], u.dtype.compute))

    def _find_basis(self, basis: _Lines, wanted: Expr) -> None:
        """Normalise the lines in order; replace those too short to have a direction, and missing ones, by vectors orthogonal to all
        before."""
        k = self.k
        with k.loop(0, wanted, "p") as p:
            paired, line = k.less(p, self.n_short), self._line_at(p)
            size = k.let(k.select(paired, self.sizes_memory[self.first + line], 0.0), "size")
            with k.when(k.greater(size * size, 2.0 * NEGLIGIBLE)), k.loop(0, self.n_long, "j") as j:
                basis[p, j] = self.lines[line, j] / size
            with k.otherwise():
                self._complete(basis, p)

    def _complete(self, basis: _Lines, p: Expr) -> None:
        """Make line `p` orthogonal to those before it: the unit vector farthest from their span, less its projection."""
        k = self.k
        axis, least = k.local(0, "axis", I64), k.local(2.0, "least", F64)
        with k.loop(0, self.n_long, "j") as j:
            inside = k.local(0.0, "inside", F64)
            with k.loop(0, p, "q") as q:
                k.increment(inside, basis[q, j] * basis[q, j])
            with k.when(k.less(inside, least)):
                k.set(least, inside)
                k.set(axis, j)
        with k.loop(0, self.n_long, "j") as j:
            basis[p, j] = k.cast(k.equal(j, axis), F64)
        with k.loop(0, 2, "again"), k.loop(0, p, "q") as q:  # twice is enough to remove the rounding errors of the first time
            apart = k.let((p - q) * self.n_long, "apart")
            part = basis.row(q).sum(F64, lambda i: basis.buffer[i] * basis.buffer[i + apart], "part", lanes=SHORT)()
            with k.loop(0, self.n_long, "j") as j:
                basis[p, j] = basis[p, j] - part * basis[q, j]
        size = k.let(k.call("sqrt", basis.square(p)), "length")
        with k.loop(0, self.n_long, "j") as j:
            basis[p, j] = basis[p, j] / size


# For the reference ----------------------------------------------------------------------------------------------------


def _finite(x: Array) -> Array:
    """Return, for each matrix, whether it is finite, as an array that broadcasts with the matrices."""
    return np.asarray(np.isfinite(x).all(axis=(-2, -1), keepdims=True))


def _signs_of_largest(x: Array) -> Array:
    """Return 1 or -1 for each column, the sign of its element with the largest absolute value."""
    if not x.size:
        return np.ones((*x.shape[:-2], 1, x.shape[-1]))
    largest = np.take_along_axis(x, np.argmax(np.abs(x), axis=-2, keepdims=True), -2)
    return np.where(largest < 0, -1.0, 1.0)


# The ops --------------------------------------------------------------------------------------------------------------


@operation
class SingularValues(Singular):
    """The singular values of the matrices in the last two axes, in descending order; NaN for a matrix that is not finite.

    x         T[s, m, n], T a floating point type; computed in float64
    result    T[s, min(m, n)]
    gradient  U diag(ct) V^T of svd(x), which is exact for distinct singular values other than 0; if some are equal, or 0,
              it is one of the subgradients of their sum.  Its own gradient is that of svd
    errors    TypeError: not floating point; ValueError: no matrices; RuntimeError: no convergence, which is not known to happen
    """

    samples = (
        sample(tensor(F32, (3, 3)), values=SQUARE),
        sample(tensor(F32, (3, 2)), values=TALL),
        sample(tensor(F32, (2, 2, 3)), values=WIDE),
        sample(tensor(F32, (1, 5))),
        sample(tensor(F32, (2, 4)), values={0: [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]}, smooth=False, note="of rank 1"),
        sample(tensor(F32, (70, 3)), smooth=False, note="long lines"),
        sample(tensor(F32, (2, 2)), values={0: [[math.nan, 1.0], [1.0, 1.0]]}, smooth=False, note="NaN"),
        sample(tensor(F32, (0, 3))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        count = self.sides(x)[2]
        return x.with_shape((*x.shape[:-2], count))

    def reference(self, x: Array) -> Array:
        finite = _finite(x)
        values = np.linalg.svd(np.where(finite, x, 0).astype(np.float64), compute_uv=False)
        return np.where(finite[..., 0], values, np.nan).astype(x.dtype)

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
        return (b.matmul(b.mul(u, _as_row(b, ct)), v, tb=True),)


@operation
class Svd(Singular):
    """The singular value decomposition x = U diag(s) V^T of the matrices in the last two axes.

    The columns of U and V are orthonormal; in each column of U the element of the largest size is positive, the first of equal
    ones.  Singular values are sorted from the largest on; equal ones have some orthonormal vectors of their plane, and so has 0.
    With `full` U and V are square: the columns beyond min(m, n) are some that complete the others.  All is NaN of a matrix that is not
    finite.

    x         T[s, m, n], T a floating point type; computed in float64
    result    T[s, k], the singular values, k = min(m, n), T[s, m, k], U, and T[s, n, k], V; with `full` T[s, m, m] and T[s, n, n]
    gradient  U (diag(s') + ((U^T U' - U'^T U) / E) S + S (V^T V' - V'^T V) / E) V^T + (I - U U^T) U' S^-1 V^T + U S^-1 V'^T (I - V V^T)
              with E[i, j] = s[j]^2 - s[i]^2 off the diagonal (Townsend 2016, "Differentiating the singular value decomposition").
              Where U or V has a cotangent it is not finite for equal singular values, nor for a 0 of a matrix that is not square:
              the vectors are not differentiable there
    errors    TypeError: not floating point; ValueError: no matrices; RuntimeError: no convergence, which is not known to happen
    """

    full: bool = False
    samples = (
        sample(tensor(F32, (3, 3)), values=SQUARE),
        sample(tensor(F32, (3, 2)), values=TALL),
        sample(tensor(F32, (2, 2, 3)), values=WIDE),
        sample(tensor(F32, (3, 2)), values=TALL, full=True, smooth=False, note="a completed column"),
        sample(tensor(F32, (2, 2, 3)), values=WIDE, full=True, smooth=False, note="a completed column"),
        sample(tensor(F32, (1, 5))),
        sample(tensor(F32, (2, 2)), values={0: [[math.nan, 1.0], [1.0, 1.0]]}, smooth=False, note="NaN"),
        sample(tensor(F32, (3, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType, TensorType]:
        m, n, k = self.sides(x)
        lead = x.shape[:-2]
        left, right = (m, n) if self.full else (k, k)
        return x.with_shape((*lead, k)), x.with_shape((*lead, m, left)), x.with_shape((*lead, n, right))

    def reference(self, x: Array) -> tuple[Array, Array, Array]:
        finite = _finite(x)
        u, values, transposed = np.linalg.svd(np.where(finite, x, 0).astype(np.float64), full_matrices=self.full)
        v, count = transposed.swapaxes(-1, -2), values.shape[-1]
        of_u, of_v = _signs_of_largest(u), _signs_of_largest(v)
        of_v[..., :count] = of_u[..., :count]
        u, v = np.where(finite, u * of_u, np.nan), np.where(finite, v * of_v, np.nan)
        return np.where(finite[..., 0], values, np.nan).astype(x.dtype), u.astype(x.dtype), v.astype(x.dtype)

    def lower(self, k: Kernel, x: Buffer, values: Buffer, u: Buffer, v: Buffer) -> None:
        parts = _Jacobi(k, x, vectors=True)
        wanted = parts.long if self.full else parts.short
        columns = k.size(wanted, "wanted")
        memory = k.scratch(F64, parts.count * wanted * parts.long, "basis")
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
                        k.store(out, parts.matrix * per_matrix + i, math.nan)

    def vjp(self, b: Builder, node: Node, values_ct: Any, u_ct: Any, v_ct: Any) -> Cotangents:
        values, u, v = node.results
        type_ = tensor_type(node.operands[0])
        m, n, k = self.sides(type_)
        if self.full and m != n:
            if (u_ct if m > n else v_ct) is not None:
                completed = "U" if m > n else "V"
                raise NotDifferentiable(f"svd of {type_}, full=True: the columns that complete {completed} are not functions of x")
            u, v = _first_columns(b, u, k), _first_columns(b, v, k)
        square = tensor(type_.dtype, (k, k))
        same = b.equal(b.iota(to=tensor(I64, (k, 1)), axis=0), b.iota(to=tensor(I64, (1, k)), axis=1))
        row, column = _as_row(b, values), _as_column(b, values)
        gaps = b.select(same, b.constant(1.0, type_.dtype), b.mul(b.sub(row, column), b.add(row, column)))
        terms: list[Any] = []
        if values_ct is not None:
            terms.append(b.select(same, _as_row(b, values_ct), b.zeros(square)))
        if u_ct is not None:
            terms.append(b.mul(b.div(_skew(b, b.matmul(u, u_ct, ta=True)), gaps), row))
        if v_ct is not None:
            terms.append(b.mul(column, b.div(_skew(b, b.matmul(v, v_ct, ta=True)), gaps)))
        inner = terms[0]
        for term in terms[1:]:
            inner = b.add(inner, term)
        result = b.matmul(b.matmul(u, inner), v, tb=True)
        if u_ct is not None and m != k:
            result = b.add(result, b.matmul(b.div(_outside(b, u, u_ct), row), v, tb=True))
        if v_ct is not None and n != k:
            result = b.add(result, b.matmul(b.div(u, row), _outside(b, v, v_ct), tb=True))
        return (result,)


def _as_row(b: Builder, x: Atom) -> Atom:
    have = tensor_type(x)
    return b.reshape(x, to=have.with_shape((*have.shape[:-1], 1, have.shape[-1])))


def _as_column(b: Builder, x: Atom) -> Atom:
    have = tensor_type(x)
    return b.reshape(x, to=have.with_shape((*have.shape, 1)))


def _skew(b: Builder, x: Atom) -> Atom:
    """Return a square matrix minus its transpose."""
    rank = tensor_type(x).rank
    return b.sub(x, b.transpose(x, permutation=(*range(rank - 2), rank - 1, rank - 2)))


def _outside(b: Builder, vectors: Atom, ct: Atom) -> Atom:
    """Return the part of the cotangent that is orthogonal to the vectors."""
    return b.sub(ct, b.matmul(vectors, b.matmul(vectors, ct, ta=True)))


def _first_columns(b: Builder, x: Atom, count: int) -> Atom:
    have = tensor_type(x)
    none, ones = (0,) * have.rank, (1,) * have.rank
    return b.slice(x, start=none, stop=(*have.sizes[:-1], count), step=ones)
