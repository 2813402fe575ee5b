"""Solutions of linear systems, by elimination or by substitution, and the Cholesky factors of positive definite matrices.

Kernels compute one matrix after the other in float64, or complex128, and round once; threads share the matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.elimination import (
    BLOCKS,
    REGULAR,
    STACK,
    TURNED,
    Matrix,
    SquareMatrices,
    adjoint_matrices,
    back_substitute,
    choose_row,
    clear_below,
    in_blocks,
    substitute,
)
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.wide_numbers import conjugated, divided_by, real_part, scaled, wide
from adjoint.ir.types import C64, F32, I32, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = ["CholeskyFactor", "PivotPermutation", "Solve", "TriangularSolve", "triangle"]

POSITIVE = {0: [[4.0, 2.0, 0.5], [2.0, 5.0, 1.0], [0.5, 1.0, 3.0]]}
"""A positive definite sample."""
HERMITIAN = {0: [[4.0, 2.0 - 1.0j, 0.5j], [2.0 + 1.0j, 5.0, 1.0 + 0.25j], [-0.5j, 1.0 - 0.25j, 3.0]]}
"""A complex positive definite sample."""


def triangle(b: Builder, x: Atom, *, lower: bool, diagonal: float) -> Atom:
    """Return a triangle of matrices, the other elements 0, with the diagonal times a number."""
    have = tensor_type(x)
    index = have.with_dtype(I64)
    rows, columns = (b.iota(to=index, axis=have.rank - back) for back in (2, 1))
    inside = b.less(columns, rows) if lower else b.less(rows, columns)
    on_diagonal = b.mul(b.constant(diagonal, have.dtype), x)
    return b.select(inside, x, b.select(b.equal(rows, columns), on_diagonal, b.zeros(have)))


class _System(SquareMatrices):
    """An op on square matrices a [..., n, n] and columns b [..., n, m]."""

    matrices = "a"

    def infer(self, a: Any, b: Any) -> TensorType:
        self.checked(a)
        if not isinstance(b, TensorType) or b.dtype is not a.dtype:
            raise mistake(self, "b", f"a tensor of the dtype of a, {a.dtype}", b, TypeError)
        if b.rank != a.rank or b.shape[:-1] != a.shape[:-1]:
            raise mistake(self, "b", f"columns of {a.shape[-1]} elements for each matrix of {a}", b)
        return b


@operation
class Solve(_System):
    """The columns x with a x = b, for square matrices a; with `transposed` a^T x = b.

    A matrix is singular if a pivot is exactly 0; if only rounding makes it nonzero, the solution has very large numbers.

    operands a  T[s, n, n], T a floating point or complex type; computed in float64 or complex128
             b  T[s, n, m]
    result   x  T[s, n, m]
    gradient y = solve(conj(a), ct) with the other `transposed` to b, and -y x^H to a, with `transposed` -conj(x) y^T (Giles 2008, section
             2.3.1)
    errors   TypeError: neither floating point nor complex, or of two dtypes; ValueError: shapes that do not fit, or a singular matrix
    """

    transposed: bool = False
    samples = (
        sample(tensor(F32, (3, 3)), tensor(F32, (3, 2)), values=REGULAR),
        sample(tensor(F32, (3, 3)), tensor(F32, (3, 2)), values=REGULAR, transposed=True),
        sample(tensor(F32, (3, 2, 2)), tensor(F32, (3, 2, 1)), values=STACK),
        sample(tensor(F32, (10, 10)), tensor(F32, (10, 3)), values=BLOCKS),
        sample(tensor(F32, (0, 0)), tensor(F32, (0, 2))),
        sample(tensor(F32, (2, 1, 1)), tensor(F32, (2, 1, 0)), values={0: [[[2.0]], [[-1.0]]]}),
        sample(tensor(C64, (3, 3)), tensor(C64, (3, 2)), values=TURNED),
        sample(tensor(C64, (3, 3)), tensor(C64, (3, 1)), values=TURNED, transposed=True),
    )

    def reference(self, a: Array, b: Array) -> Array:
        for place in np.ndindex(a.shape[:-2]):
            if a.size and np.linalg.det(a[place]) == 0:
                raise self.failure(1)
        return np.linalg.solve(a.swapaxes(-1, -2) if self.transposed else a, b)

    def failure(self, status: int) -> Exception:
        return mistake("MatrixSolve", "matrix", "invertible matrices", f"a singular one, at index {status - 1} of the batch")

    def lower(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer) -> None:
        n, m = k.size(a.shape[-1], "n"), k.size(b.shape[-1], "m")
        of = wide(a.dtype)
        work, columns = k.scratch(of, a.count, "work"), k.scratch(of, b.count, "columns")
        k.describe(a, "matrices, n, n")
        with k.stage(math.prod(a.shape[:-2]), grain_of(a.shape[-1] ** 2 * (a.shape[-1] + b.shape[-1])), "matrix") as matrix:
            start, behind = k.let(matrix * n * n, "start"), k.let(matrix * n * m, "behind")
            left, right = Matrix(k, work, start, n), Matrix(k, columns, behind, m)
            given = Matrix(k, a, start, n)
            left.fill(lambda r, j: given[j, r] if self.transposed else given[r, j])
            with k.loop(behind, behind + n * m, "i") as i:
                k.store(columns, i, k.cast(b[i], columns.dtype))
            with k.loop(0, n, "c") as c:
                row = choose_row(k, left, c)
                with k.when(k.not_equal(row, c)):
                    left.exchange_rows(row, c)
                    right.exchange_rows(row, c)
                with k.when(k.equal(left[c, c], 0)):
                    k.fail_at(matrix)
                clear_below(k, left, c, (right,))
            back_substitute(k, left, right, n)
            with k.loop(behind, behind + n * m, "i") as i:
                k.store(out, i, k.cast(columns[i], out.dtype.compute))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        a, x = b.conj(node.operands[0]), b.conj(node.result)
        y = b.emit(Solve(not self.transposed), a, ct)
        return b.neg(b.matmul(x, y, tb=True) if self.transposed else b.matmul(y, x, tb=True)), y


@operation
class TriangularSolve(_System):
    """The columns x with a x = b, for a triangle of square matrices a; with `transposed` a^T x = b.

    An element of 0 on the diagonal gives infinities and NaN.

    operands a  T[s, n, n], T a floating point or complex type; computed in float64 or complex128
             b  T[s, n, m]
    result   x  T[s, n, m]
    gradient y = triangular_solve(conj(a), ct) with the other `transposed` to b, and the triangle of -y x^H to a, with `transposed` that
             of -conj(x) y^T
    errors   TypeError: neither floating point nor complex, or of two dtypes; ValueError: shapes that do not fit

    lower       True for the lower triangle, else the upper one: the other elements are not read
    transposed  True to solve with the transpose of that triangle
    unit        True to read no diagonal, but ones
    """

    lower_triangle: bool = True
    transposed: bool = False
    unit: bool = False
    samples = (
        sample(tensor(F32, (3, 3)), tensor(F32, (3, 2)), values=REGULAR),
        sample(tensor(F32, (3, 3)), tensor(F32, (3, 2)), values=REGULAR, lower_triangle=False),
        sample(tensor(F32, (3, 3)), tensor(F32, (3, 2)), values=REGULAR, transposed=True),
        sample(tensor(F32, (2, 3, 3)), tensor(F32, (2, 3, 1)), values={0: [REGULAR[0], REGULAR[0]]}, lower_triangle=False, transposed=True),
        sample(tensor(F32, (3, 3)), tensor(F32, (3, 2)), values=REGULAR, unit=True),
        sample(tensor(F32, (10, 10)), tensor(F32, (10, 3)), values=BLOCKS),
        sample(tensor(F32, (10, 10)), tensor(F32, (10, 1)), values=BLOCKS, transposed=True),
        sample(tensor(C64, (3, 3)), tensor(C64, (3, 2)), values=TURNED),
        sample(tensor(C64, (3, 3)), tensor(C64, (3, 1)), values=TURNED, lower_triangle=False, transposed=True),
        sample(tensor(F32, (0, 0)), tensor(F32, (0, 2))),
    )

    def reference(self, a: Array, b: Array) -> Array:
        a = a.swapaxes(-1, -2) if self.transposed else a
        x, n = b.copy(), a.shape[-1]
        forward = self.lower_triangle is not self.transposed
        for c in range(n) if forward else reversed(range(n)):
            if not self.unit:
                x[..., c, :] /= a[..., c, c, None]
            rest = slice(c + 1, n) if forward else slice(0, c)
            x[..., rest, :] -= a[..., rest, c, None] * x[..., c, None, :]
        return x

    def lower(self, k: Kernel, a: Buffer, b: Buffer, out: Buffer) -> None:
        n, m = k.size(a.shape[-1], "n"), k.size(b.shape[-1], "m")
        columns = k.scratch(wide(b.dtype), b.count, "columns")
        k.describe(a, "matrices, n, n")
        with k.stage(math.prod(a.shape[:-2]), grain_of(a.shape[-1] ** 2 * b.shape[-1]), "matrix") as matrix:
            start, behind = k.let(matrix * n * n, "start"), k.let(matrix * n * m, "behind")
            given, right = Matrix(k, a, start, n), Matrix(k, columns, behind, m)
            with k.loop(behind, behind + n * m, "i") as i:
                k.store(columns, i, k.cast(b[i], columns.dtype))
            substitute(
                k, right, n, lambda r, c: given[c, r] if self.transposed else given[r, c],
                None if self.unit else lambda c: given[c, c], forward=self.lower_triangle is not self.transposed)
            with k.loop(behind, behind + n * m, "i") as i:
                k.store(out, i, k.cast(columns[i], out.dtype.compute))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        a, x = b.conj(node.operands[0]), b.conj(node.result)
        y = b.emit(TriangularSolve(self.lower_triangle, not self.transposed, self.unit), a, ct)
        whole = b.neg(b.matmul(x, y, tb=True) if self.transposed else b.matmul(y, x, tb=True))
        return triangle(b, whole, lower=self.lower_triangle, diagonal=0.0 if self.unit else 1.0), y


@operation
class CholeskyFactor(SquareMatrices):
    """The lower triangles L with L L^H = x, for positive definite matrices; of x its mean with its conjugate transpose counts.

    x         T[s, n, n], T a floating point or complex type; computed in float64 or complex128
    result    T[s, n, n], zeros above the diagonal
    gradient  (S + S^H) / 2 with S = L^-H P L^-1, P the lower triangle of L^H ct with half its diagonal (Murray 2016, "Differentiation of
              the Cholesky decomposition")
    errors    TypeError: neither floating point nor complex; ValueError: not square matrices, or one that is not positive definite
    """

    samples = (
        sample(tensor(F32, (3, 3)), values=POSITIVE),
        sample(tensor(F32, (10, 10)), values=BLOCKS),
        sample(tensor(F32, (2, 1, 1)), domain=(0.5, 2.0)),
        sample(tensor(C64, (3, 3)), values=HERMITIAN),
        sample(tensor(F32, (2, 2, 2)), values={0: [[[4.0, 1.0], [3.0, 5.0]], [[1.0, 0.0], [0.0, 2.0]]]}),
        sample(tensor(F32, (0, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        return self.checked(x)

    def reference(self, x: Array) -> Array:
        try:
            return np.linalg.cholesky((x + x.swapaxes(-1, -2).conj()) / x.dtype.type(2))
        except np.linalg.LinAlgError:
            raise self.failure(1) from None

    def failure(self, status: int) -> Exception:
        return mistake("Cholesky", "input_x", "positive definite matrices", f"another one, at index {status - 1} of the batch")

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        n = k.size(x.shape[-1], "n")
        work = k.scratch(wide(x.dtype), x.count, "work")
        k.describe(x, "matrices, n, n")
        with k.stage(math.prod(x.shape[:-2]), grain_of(x.shape[-1] ** 3), "matrix") as matrix:
            start = k.let(matrix * n * n, "start")
            given, upper = Matrix(k, x, start, n), Matrix(k, work, start, n)  # the factor is the conjugate transpose of `upper`
            upper.fill(lambda r, j: scaled(k, given[r, j] + conjugated(k, given[j, r]), 0.5))

            def own(i: Any, end: Any) -> None:
                with k.when(k.negation(k.greater(real_part(k, upper[i, i]), 0.0))):
                    k.fail_at(matrix)
                pivot = k.let(k.call("sqrt", real_part(k, upper[i, i])), "pivot")
                upper[i, i] = pivot
                with k.loop(i + 1, n, "j") as j:
                    upper[i, j] = divided_by(k, upper[i, j], pivot)
                with k.loop(i + 1, end, "r") as r:
                    upper.subtract_row(k.let(conjugated(k, upper[i, r]), "factor"), i, r, r)

            def others(steps: list[Any], r: Any) -> None:
                upper.subtract_rows([k.let(conjugated(k, upper[i, r]), "factor") for i in steps], steps, r, r)

            in_blocks(k, n, own, others)
            Matrix(k, out, start, n).fill(lambda r, j: k.select(k.less_equal(j, r), conjugated(k, upper[j, r]), 0.0))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        factor = b.conj(node.result)
        inner = triangle(b, b.matmul(factor, ct, ta=True), lower=True, diagonal=0.5)
        back = TriangularSolve(transposed=True)
        found = b.emit(back, factor, adjoint_matrices(b, b.emit(back, factor, inner)))
        return (b.mul(b.constant(0.5, tensor_type(found).dtype), b.add(found, adjoint_matrices(b, found))),)


@operation
class PivotPermutation(Op):
    """The order of rows after exchanges: row i with row pivots[i] - 1, one after the other, as LAPACK's `ipiv` lists them.

    operands pivots  I[s, k], i32 or i64, numbers from 1 on
    result   i64[s, n]: which row is where
    gradient none: whole numbers
    errors   TypeError: not i32 or i64; ValueError: of no dimension, more exchanges than rows; IndexError when run: a number beyond n

    n  how many rows there are
    """

    n: int
    cuts = "an order is piecewise constant"
    batch = batching.leading
    samples = (
        sample(tensor(I32, (3,)), n=3, values={0: [2, 3, 3]}),
        sample(tensor(I64, (2, 2)), n=4, values={0: [[4, 3], [1, 2]]}),
        sample(tensor(I32, (0,)), n=2),
    )

    def infer(self, pivots: Any) -> TensorType:
        if not isinstance(pivots, TensorType) or pivots.dtype not in (I32, I64):
            raise mistake(self, "pivots", "a tensor of Int32 or Int64", pivots, TypeError)
        if not pivots.rank or pivots.sizes[-1] > self.n:
            raise mistake(self, "pivots", f"of at least 1 dimension, with at most {self.n} along the last", pivots)
        return tensor(I64, (*pivots.shape[:-1], self.n))

    def reference(self, pivots: Array) -> Array:
        found = np.broadcast_to(np.arange(self.n), (*pivots.shape[:-1], self.n)).copy()
        for place in np.ndindex(pivots.shape[:-1]):
            for i, other in enumerate(pivots[place]):
                found[place][[i, other - 1]] = found[place][[other - 1, i]]
        return found

    def failure(self, status: int) -> Exception:
        return mistake(self, "pivots", f"in 1..{self.n}", "a number out of range", IndexError)

    def lower(self, k: Kernel, pivots: Buffer, out: Buffer) -> None:
        n, count = k.size(self.n, "n"), k.size(pivots.shape[-1], "count")
        with k.stage(math.prod(pivots.shape[:-1]), grain_of(self.n), "order") as order:
            start = k.let(order * n, "start")
            with k.loop(0, n, "i") as i:
                k.store(out, start + i, i)
            with k.loop(0, count, "i") as i:
                other = k.let(k.cast(pivots[order * count + i], I64) - 1, "other")
                with k.when(k.either(k.less(other, 0), k.greater_equal(other, n))):
                    k.fail(1)
                before = k.let(out[start + i], "before")
                k.store(out, start + i, out[start + other])
                k.store(out, start + other, before)
