"""Orthogonal triangles of matrices by reflections (Householder 1958): x = Q R.

Reflection i is 1 - tau_i v v^T, v 0 above element i, 1 there, and stored below it; the signs are those of LAPACK's `geqrf`: an element of
the diagonal of R has the other sign than the one of x that it comes from.  Of a complex matrix it is 1 - tau_i v v^H, and the diagonal of R
is real; it jumps where the imaginary part of what has no element below becomes 0, as in LAPACK.  Kernels compute one matrix after the
other in float64, or complex128, and round once; threads share the matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import NotDifferentiable, Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.elimination import Matrix, adjoint_matrices, transposed_matrices
from adjoint.ir.ops.linear_systems import TriangularSolve, triangle
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.wide_numbers import NUMBERS, conjugated, divided_by, is_inexact, real_part, size_of, square_of, wide
from adjoint.ir.types import C64, F32, F64, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = ["Qr", "Reflections", "ReflectionsProduct"]

_TALL = {0: [[2.0, -1.0], [0.5, 1.5], [-1.0, 0.25]]}
_WIDE = {0: [[2.0, -1.0, 0.5], [0.5, 1.5, -1.0]]}
_TURNED = {0: [[2.0 + 1.0j, -1.0], [0.5j, 1.5 - 1.0j], [-1.0, 0.25 + 0.5j]]}
_TURNED_WIDE = {0: [[2.0 + 1.0j, -1.0, 0.5j], [0.5j, 1.5 - 1.0j, -1.0]]}


def _checked(op: Op, x: Any) -> TensorType:
    if not is_inexact(x):
        raise mistake(op, "x", NUMBERS, x, TypeError)
    if x.rank < 2:
        raise mistake(op, "x", "matrices, of at least 2 dimensions", x)
    return x


def _reflect(k: Kernel, a: Matrix, b: Matrix, i: Expr, rows: Expr, first: Any, last: Any, tau: Expr) -> None:
    """Apply reflection i, which is stored in column i of `a`, to the columns of `b` from `first` up to `last`."""
    with k.loop(first, last, "j") as j:
        along = k.local(b[i, j], "along")
        with k.loop(i + 1, rows, "r") as r:
            k.increment(along, conjugated(k, a[r, i]) * b[r, j])
        k.set(along, along * tau)
        b[i, j] = b[i, j] - along
        with k.loop(i + 1, rows, "r") as r:
            b[r, j] = b[r, j] - along * a[r, i]


def _factor(k: Kernel, a: Matrix, rows: Expr, columns: Expr, count: Expr, tau: Buffer, at: Expr) -> None:
    """Replace a matrix by R with its reflections below the diagonal, and write their factors from `at` on."""
    with k.loop(0, count, "i") as i:
        below = k.local(0.0, "below", F64)
        with k.loop(i + 1, rows, "r") as r:
            size = k.let(size_of(k, a[r, i]), "size")
            with k.when(k.either(k.greater(size, below), k.call("isnan", size))):
                k.set(below, size)
        k.store(tau, at + i, 0.0)
        pivot = k.let(a[i, i], "pivot")
        needed = k.not_equal(below, 0.0)
        if a.dtype.is_complex:
            needed = k.either(needed, k.not_equal(k.part_of(pivot, "imag"), 0.0))
        with k.when(needed):
            scale = k.let(k.maximum_of(below, size_of(k, pivot)), "scale")
            total = k.local(square_of(k, k.let(divided_by(k, pivot, scale), "first")), "total")
            with k.loop(i + 1, rows, "r") as r:
                part = k.let(divided_by(k, a[r, i], scale), "part")
                k.increment(total, square_of(k, part))
            new = k.let(-k.call("copysign", scale * k.call("sqrt", total), real_part(k, pivot)), "new")
            moved = k.let(k.cast(new, a.dtype) - pivot, "moved")
            k.store(tau, at + i, divided_by(k, moved, new))
            with k.loop(i + 1, rows, "r") as r:
                a[r, i] = a[r, i] / -moved
            a[i, i] = new
            _reflect(k, a, a, i, rows, i + 1, columns, k.let(conjugated(k, tau[at + i]), "factor"))


def _product(k: Kernel, a: Matrix, q: Matrix, rows: Expr, count: Expr, tau: Buffer, at: Expr) -> None:
    """Write the first columns of the product of reflections into a matrix."""
    with k.loop(0, rows, "r") as r, k.loop(0, q.n, "j") as j:
        q[r, j] = k.cast(k.cast(k.equal(r, j), F64), q.dtype)
    with k.loop(0, count, "back") as back:
        i = k.let(count - 1 - back, "i")
        _reflect(k, a, q, i, rows, 0, q.n, k.let(k.cast(tau[at + i], q.dtype), "factor"))


def _of_matrices(x: Array, rule: Any) -> tuple[Array, ...]:
    """Return the results of a rule on each matrix, stacked."""
    places = list(np.ndindex(x.shape[:-2]))
    wanted = [x[place] for place in places] or [np.zeros(x.shape[-2:], x.dtype)]
    found = [tuple(part.astype(x.dtype) for part in rule(a)) for a in wanted]
    return tuple(np.stack(parts)[: len(places)].reshape(*x.shape[:-2], *parts[0].shape) for parts in zip(*found, strict=True))


def _wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _packed(x: Array) -> tuple[Array, Array]:
    if not x.size:
        return x, np.zeros(min(x.shape), x.dtype)
    packed, tau = np.linalg.qr(_wide(x), "raw")
    return packed.T, tau


@operation
class Qr(Op):
    """Matrices Q with orthogonal columns and upper triangles R with Q R = x.

    x         T[s, m, n], T a floating point or complex type; computed in float64 or complex128
    full      True for Q [m, m] and R [m, n], else [m, k] and [k, n], k = min(m, n)
    result    Q and R, of dtype T
    gradient  of tall matrices, not full, (ct_Q + Q C) R^-H, with the lower triangle of R ct_R^H - ct_Q^H Q mirrored above as C, and its
              diagonal real (Walter et al. 2010, "Algorithmic differentiation of linear algebra functions"); of wide ones that of their
              first columns, and
              Q ct_R for the others; not finite of a matrix without full rank; full ones of tall matrices have none
    errors    TypeError: neither floating point nor complex; ValueError: of fewer than 2 dimensions
    """

    full: bool = False
    batch = batching.leading
    samples = (
        sample(tensor(F32, (3, 2)), values=_TALL),
        sample(tensor(F32, (2, 3))),  # not given: as complex numbers with real ones on the diagonal they would be where R jumps
        sample(tensor(F32, (2, 2, 2))),
        sample(tensor(F32, (2, 3)), full=True),
        sample(tensor(F32, (3, 2)), values=_TALL, full=True, smooth=False, note="without a gradient"),
        sample(tensor(C64, (3, 2)), values=_TURNED),
        sample(tensor(C64, (2, 3)), values=_TURNED_WIDE),
        sample(tensor(F32, (0, 2, 2))),
        sample(tensor(F32, (0, 2))),
    )

    def _sizes(self, x: TensorType) -> tuple[Any, Any, Any]:
        m, n = x.sizes[-2:]
        return m, n, m if self.full else min(m, n)

    def infer(self, x: Any) -> tuple[Type, ...]:
        m, n, k = self._sizes(_checked(self, x))
        return x.with_shape((*x.shape[:-2], m, k)), x.with_shape((*x.shape[:-2], k, n))

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _of_matrices(x, lambda a: tuple(np.linalg.qr(_wide(a), "complete" if self.full else "reduced")))

    def lower(self, k: Kernel, x: Buffer, q: Buffer, r: Buffer) -> None:
        rows, columns = k.size(x.shape[-2], "m"), k.size(x.shape[-1], "n")
        shown, count = k.size(q.shape[-1], "shown"), k.size(min(x.shape[-2:]), "count")
        of = wide(x.dtype)
        work, product, tau = (k.scratch(of, size, name) for size, name in (
            (x.count, "work"), (q.count, "product"), (math.prod(x.shape[:-2]) * min(x.shape[-2:]), "tau")))
        with k.stage(math.prod(x.shape[:-2]), grain_of(x.shape[-2] * x.shape[-1] * x.shape[-2]), "matrix") as matrix:
            start, at = k.let(matrix * rows * columns, "start"), k.let(matrix * count, "at")
            with k.loop(start, start + rows * columns, "i") as i:
                k.store(work, i, k.cast(x[i], work.dtype))
            a = Matrix(k, work, start, columns)
            _factor(k, a, rows, columns, count, tau, at)
            vectors = Matrix(k, product, k.let(matrix * rows * shown, "begin"), shown)
            _product(k, a, vectors, rows, count, tau, at)
            out_q, out_r = Matrix(k, q, vectors.start, shown), Matrix(k, r, k.let(matrix * shown * columns, "behind"), columns)
            with k.loop(0, rows, "row") as row, k.loop(0, shown, "j") as j:
                out_q[row, j] = vectors[row, j]
            with k.loop(0, shown, "row") as row, k.loop(0, columns, "j") as j:
                out_r[row, j] = 0.0
                with k.when(k.less_equal(row, j)):
                    out_r[row, j] = a[row, j]

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        (x,), (q, r) = node.operands, node.results
        m, n, k = self._sizes(tensor_type(x))
        if k > n:
            raise NotDifferentiable("qr has no gradient by what completes the orthogonal columns of a tall matrix")
        q_ct, r_ct = (b.zeros(tensor_type(t)) if ct is None else ct for t, ct in zip((q, r), cotangents, strict=True))
        if m >= n:
            return (_square(b, q, r, q_ct, r_ct),)
        first, later = _columns(b, r, 0, m), _columns(b, r_ct, m, n)
        of_first = _square(b, q, first, b.add(q_ct, b.matmul(_columns(b, x, m, n), b.conj(later), tb=True)), _columns(b, r_ct, 0, m))
        return (b.concat(of_first, b.matmul(q, later), axis=tensor_type(x).rank - 1),)


def _columns(b: Builder, x: Atom, first: int, last: int) -> Atom:
    have = tensor_type(x)
    none = (0,) * (have.rank - 1)
    return b.slice(x, start=(*none, first), stop=(*have.sizes[:-1], last), step=(1,) * have.rank)


def _square(b: Builder, q: Atom, r: Atom, q_ct: Atom, r_ct: Atom) -> Atom:
    """Return the cotangent of matrices with at least as many rows as columns."""
    inner = triangle(b, b.sub(b.matmul(r, b.conj(r_ct), tb=True), b.matmul(b.conj(q_ct), q, ta=True)), lower=True, diagonal=0.5)
    whole = b.add(q_ct, b.matmul(q, b.add(inner, adjoint_matrices(b, inner))))
    return transposed_matrices(b, b.emit(TriangularSolve(lower_triangle=False), b.conj(r), transposed_matrices(b, whole)))


@operation
class Reflections(Op):
    """The reflections by which matrices become upper triangles: R, and below its diagonal their vectors; and their factors.

    x         T[s, m, n], T a floating point or complex type; computed in float64 or complex128
    result    T[s, m, n] and T[s, min(m, n)]
    gradient  an error: `qr` has one
    errors    TypeError: neither floating point nor complex; ValueError: of fewer than 2 dimensions
    """

    batch = batching.leading
    samples = (
        sample(tensor(F32, (3, 2)), values=_TALL, smooth=False, note="without a gradient"),
        sample(tensor(F32, (2, 3)), values=_WIDE, smooth=False, note="without a gradient"),
        sample(tensor(C64, (3, 2)), values=_TURNED, smooth=False, note="without a gradient"),
        sample(tensor(F32, (0, 2)), smooth=False, note="without a gradient"),
    )

    def infer(self, x: Any) -> tuple[Type, ...]:
        return x, _checked(self, x).with_shape((*x.shape[:-2], min(x.sizes[-2:])))

    def reference(self, x: Array) -> tuple[Array, ...]:
        return _of_matrices(x, _packed)

    def lower(self, k: Kernel, x: Buffer, packed: Buffer, tau: Buffer) -> None:
        rows, columns = k.size(x.shape[-2], "m"), k.size(x.shape[-1], "n")
        count = k.size(min(x.shape[-2:]), "count")
        of = wide(x.dtype)
        work, factors = k.scratch(of, x.count, "work"), k.scratch(of, tau.count, "factors")
        with k.stage(math.prod(x.shape[:-2]), grain_of(x.shape[-2] * x.shape[-1] ** 2), "matrix") as matrix:
            start, at = k.let(matrix * rows * columns, "start"), k.let(matrix * count, "at")
            with k.loop(start, start + rows * columns, "i") as i:
                k.store(work, i, k.cast(x[i], work.dtype))
            _factor(k, Matrix(k, work, start, columns), rows, columns, count, factors, at)
            with k.loop(start, start + rows * columns, "i") as i:
                k.store(packed, i, k.cast(work[i], packed.dtype.compute))
            with k.loop(at, at + count, "i") as i:
                k.store(tau, i, k.cast(factors[i], tau.dtype.compute))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        raise NotDifferentiable("reflections have no gradient: `qr` has one")


@operation
class ReflectionsProduct(Op):
    """The first n columns of the product of reflections.

    operands packed  T[s, m, n], n at most m, T a floating point or complex type: their vectors below the diagonal
             tau     T[s, k], k at most n: their factors
    result   T[s, m, n]; computed in float64 or complex128
    gradient an error: `qr` has one
    errors   TypeError: neither floating point nor complex, or of two dtypes; ValueError: shapes that do not fit
    """

    batch = batching.leading
    samples = (
        sample(tensor(F32, (3, 2)), tensor(F32, (2,)), smooth=False, note="without a gradient"),
        sample(tensor(F32, (2, 3, 3)), tensor(F32, (2, 1)), smooth=False, note="without a gradient"),
    )

    def infer(self, packed: Any, tau: Any) -> TensorType:
        m, n = _checked(self, packed).sizes[-2:]
        if not isinstance(tau, TensorType) or tau.dtype is not packed.dtype:
            raise mistake(self, "tau", f"a tensor of {packed.dtype}", tau, TypeError)
        if n > m:
            raise mistake(self, "packed", "matrices with at most as many columns as rows", packed)
        if tau.rank != packed.rank - 1 or tau.shape[:-1] != packed.shape[:-2] or tau.sizes[-1] > n:
            raise mistake(self, "tau", f"at most {n} factors for each matrix of {packed}", tau)
        return packed

    def reference(self, packed: Array, tau: Array) -> Array:
        out = np.empty_like(packed)
        m, n = packed.shape[-2:]
        for place in np.ndindex(packed.shape[:-2]):
            q = np.eye(m, n, dtype=packed.dtype)
            for i in reversed(range(tau.shape[-1])):
                v = np.concatenate([np.zeros(i), [1.0], packed[place][i + 1:, i]]).astype(packed.dtype)
                q = q - tau[place][i] * np.outer(v, v.conj() @ q)
            out[place] = q
        return out

    def lower(self, k: Kernel, packed: Buffer, tau: Buffer, out: Buffer) -> None:
        rows, columns, count = k.size(packed.shape[-2], "m"), k.size(packed.shape[-1], "n"), k.size(tau.shape[-1], "count")
        product = k.scratch(wide(packed.dtype), packed.count, "product")
        with k.stage(math.prod(packed.shape[:-2]), grain_of(packed.shape[-2] * packed.shape[-1] ** 2), "matrix") as matrix:
            start = k.let(matrix * rows * columns, "start")
            at = k.let(matrix * count, "at")
            _product(k, Matrix(k, packed, start, columns), Matrix(k, product, start, columns), rows, count, tau, at)
            with k.loop(start, start + rows * columns, "i") as i:
                k.store(out, i, k.cast(product[i], out.dtype.compute))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Cotangents:
        raise NotDifferentiable("a product of reflections has no gradient: `qr` has one")
