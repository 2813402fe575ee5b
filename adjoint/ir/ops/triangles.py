"""Triangles of matrices that need not be square, by Gaussian elimination: a = P L U.

A kernel computes one matrix after the other in float64, or complex128, and rounds once; threads share the matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.elimination import BLOCKS, REGULAR, STACK, TURNED, Matrix, is_larger, transposed_matrices
from adjoint.ir.ops.linear_systems import TriangularSolve, triangle
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.wide_numbers import NUMBERS, is_inexact, size_of, wide
from adjoint.ir.types import C64, F32, I32, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = ["LuFactor"]

_WIDE = {0: [[0.5, -1.0, 0.5], [2.0, 1.5, -1.0]]}
_TALL = {0: [[0.5, -1.0], [2.0, 1.5], [-1.0, 0.25]]}
_SINGULAR = {0: [[[0.0, 1.0], [0.0, 2.0]], [[1.0, 2.0], [2.0, 4.0]]]}


@operation
class LuFactor(Op):
    """The triangles L and U of matrices whose rows are exchanged so that each pivot is the largest of its column: a = P L U.

    The largest is that by absolute value, of complex numbers by the sum of those of the parts, and the first of equal ones, as in LAPACK's
    `getrf`.  A singular matrix is no error: it has a pivot of 0, with zeros below it.

    a         T[s, m, n], T a floating point or complex type; computed in float64 or complex128
    result    T[s, m, n], U and below its diagonal L, whose own diagonal is of ones; and i32[s, min(m, n)], the row that each was exchanged
              with, one after the other, from 1 on
    gradient  P L^-H (the triangle below the diagonal of L^H L' + the other one of U' U^H) U^-H of square matrices.  Of wide ones,
              a = [a1 a2] and U = [U1 U2], that of a1 with L^H L' - U2' U2^H, and P L^-H U2' for a2; of tall ones, L = [L1; L2], that with
              U' U^H - L2^H L2', and below it L2' U^-H (Walter and Lehmann 2010, "Algorithmic differentiation of linear algebra functions
              with application in optimum experimental design"); not finite of a singular matrix
    errors    TypeError: neither floating point nor complex; ValueError: of fewer than 2 dimensions
    """

    batch = batching.leading
    samples = (
        sample(tensor(F32, (3, 3)), values=REGULAR),
        sample(tensor(F32, (3, 2, 2)), values=STACK),
        sample(tensor(F32, (2, 3)), values=_WIDE),
        sample(tensor(F32, (3, 2)), values=_TALL),
        sample(tensor(F32, (10, 10)), values=BLOCKS),
        sample(tensor(C64, (3, 3)), values=TURNED),
        sample(tensor(F32, (2, 2, 2)), values=_SINGULAR, smooth=False, note="singular"),
        sample(tensor(F32, (2, 1, 1))),
        sample(tensor(F32, (0, 2, 2))),
        sample(tensor(F32, (0, 2))),
        sample(tensor(F32, (2, 0))),
    )

    def infer(self, a: Any) -> tuple[TensorType, TensorType]:
        if not is_inexact(a):
            raise mistake(self, "a", NUMBERS, a, TypeError)
        if a.rank < 2:
            raise mistake(self, "a", "matrices, of at least 2 dimensions", a)
        return a, tensor(I32, (*a.shape[:-2], min(a.sizes[-2:])))

    def reference(self, a: Array) -> tuple[Array, Array]:
        found = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
        m, n = a.shape[-2:]
        pivots = np.zeros((*a.shape[:-2], min(m, n)), np.int32)
        for place in np.ndindex(a.shape[:-2]):
            x = found[place]
            for c in range(min(m, n)):
                column = x[c:, c]
                row = c + int(np.argmax(np.abs(column.real) + np.abs(column.imag)))
                pivots[(*place, c)] = row + 1
                x[[c, row]] = x[[row, c]]
                if x[c, c] != 0:
                    x[c + 1 :, c] /= x[c, c]
                    x[c + 1 :, c + 1 :] -= np.outer(x[c + 1 :, c], x[c, c + 1 :])
        return found.astype(a.dtype), pivots

    def lower(self, k: Kernel, a: Buffer, packed: Buffer, pivots: Buffer) -> None:
        m, n = k.size(a.shape[-2], "m"), k.size(a.shape[-1], "n")
        count = k.size(min(a.shape[-2:]), "count")
        work = k.scratch(wide(a.dtype), a.count, "work")
        k.describe(a, "matrices, m, n")
        with k.stage(math.prod(a.shape[:-2]), grain_of(a.shape[-2] * a.shape[-1] * min(a.shape[-2:])), "matrix") as matrix:
            start, first = k.let(matrix * m * n, "start"), k.let(matrix * count, "first")
            with k.loop(start, start + m * n, "i") as i:
                k.store(work, i, k.cast(a[i], work.dtype))
            x = Matrix(k, work, start, n)
            with k.loop(0, count, "c") as c:
                row, best = k.local(c, "row"), k.local(size_of(k, x[c, c]), "best")
                with k.loop(c + 1, m, "r") as r:
                    size = k.let(size_of(k, x[r, c]), "size")
                    with k.when(is_larger(k, size, best)):
                        k.set(best, size)
                        k.set(row, r)
                k.store(pivots, first + c, k.cast(row + 1, I32))
                with k.when(k.not_equal(row, c)):
                    x.exchange_rows(row, c)
                with k.when(k.not_equal(x[c, c], 0)), k.loop(c + 1, m, "r") as r:
                    factor = k.let(x[r, c] / x[c, c], "factor")
                    x[r, c] = factor
                    x.subtract_row(factor, c, r, c + 1)
            with k.loop(start, start + m * n, "i") as i:
                k.store(packed, i, k.cast(work[i], packed.dtype.compute))

    def vjp(self, b: Builder, node: Node, ct: Any, _: Any) -> Cotangents:
        packed, pivots = node.results
        have = tensor_type(packed)
        m, n = have.sizes[-2:]
        count = min(m, n)
        if ct is None or not m or not n:
            return (None,)
        square, ct_square = _part(b, packed, count, count), _part(b, ct, count, count)
        lower, upper = triangle(b, square, lower=True, diagonal=0.0), triangle(b, square, lower=False, diagonal=1.0)
        lower_ct, upper_ct = triangle(b, ct_square, lower=True, diagonal=0.0), triangle(b, ct_square, lower=False, diagonal=1.0)
        below = b.add(lower_ct, b.matmul(b.conj(lower), lower_ct, ta=True))
        above = b.matmul(upper_ct, b.conj(upper), tb=True)
        turned = b.conj(square)

        def by_lower(x: Atom) -> Atom:
            return b.emit(TriangularSolve(lower_triangle=True, transposed=True, unit=True), turned, x)

        def by_upper(x: Atom) -> Atom:
            return transposed_matrices(b, b.emit(TriangularSolve(lower_triangle=False), turned, transposed_matrices(b, x)))

        right_ct = last_ct = ct
        if m < n:
            right, right_ct = _part(b, packed, m, n, columns_from=m), _part(b, ct, m, n, columns_from=m)
            below = b.sub(below, b.matmul(right_ct, b.conj(right), tb=True))
        elif m > n:
            last, last_ct = _part(b, packed, m, n, rows_from=n), _part(b, ct, m, n, rows_from=n)
            above = b.sub(above, b.matmul(b.conj(last), last_ct, ta=True))
        inner = b.add(triangle(b, below, lower=True, diagonal=0.0), triangle(b, above, lower=False, diagonal=1.0))
        found = by_upper(by_lower(inner))
        if m < n:
            found = b.concat(found, by_lower(right_ct), axis=have.rank - 1)
        elif m > n:
            found = b.concat(found, by_upper(last_ct), axis=have.rank - 2)
        order = b.pivot_permutation(pivots, n=m)
        line = have.with_shape((*have.shape[:-2], m, 1)).with_dtype(I64)
        exchanged = b.equal(b.reshape(order, to=line), b.iota(to=tensor(I64, (1, m)), axis=1))
        return (b.matmul(b.cast(exchanged, to=have.dtype), found, ta=True),)


def _part(b: Builder, x: Atom, rows: int, columns: int, *, rows_from: int = 0, columns_from: int = 0) -> Atom:
    """Return the rows and columns of matrices up to given ones."""
    have = tensor_type(x)
    none = (0,) * (have.rank - 2)
    return b.slice(x, start=(*none, rows_from, columns_from), stop=(*have.sizes[:-2], rows, columns), step=(1,) * have.rank)
