"""Eigenvalues and eigenvectors of square matrices that need not be symmetric: x v = lambda v.  The C is in `complex_eigenvalues.h`.

Everything is computed in complex128, and of real matrices in float64, on x times a power of two that brings its largest element near 1.
Threads share the matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import family, operation, sample
from adjoint.ir.ops.complex import complex_dtype
from adjoint.ir.ops.elimination import SquareMatrices, adjoint_matrices
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.singular import gauge_of_columns
from adjoint.ir.ops.wide_numbers import nan_of, scaled, size_of, wide
from adjoint.ir.types import C64, C128, F32, F64, I64, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = ["Eigen", "Eigenvalues"]

_GENERAL = {0: [[2.0, -1.0, 0.5], [1.0, 1.5, -1.0], [-0.5, 0.25, -1.0]]}
_REAL = {0: [[[2.0, 1.0], [0.5, -1.0]], [[1.0, 0.5], [3.0, -2.0]]]}
_TURNED = {0: [[2.0 + 1.0j, -1.0, 0.5j], [1.0, 0.5 - 1.0j, -1.0], [-0.5j, 0.25, -1.0 + 0.5j]]}
_SCALED = {0: [[1.0, 1e20, 0.0], [1e-20, -2.0, 1.0], [0.5, 0.0, 3.0]]}
_NAN = {0: [[[math.nan, 1.0], [1.0, 1.0]], [[1.0, 2.0], [0.0, math.inf]]]}


@family
class _General(SquareMatrices):
    """An op on the eigenvalues of matrices."""

    def failure(self, status: int) -> Exception:
        return RuntimeError(f"For 'Eig', the eigenvalues of the matrix at index {status - 1} of the batch did not converge.")

    def values_type(self, x: Any) -> TensorType:
        found = self.checked(x)
        return tensor(_complex(found.dtype), found.shape[:-1])


def _complex(dtype: DType) -> DType:
    return dtype if dtype.is_complex else complex_dtype(dtype)


def _find(k: Kernel, x: Buffer, values: Buffer, vectors: Buffer | None) -> None:
    """Describe the kernel."""
    n, count, real = x.shape[-1], math.prod(x.shape[:-2]), not x.dtype.is_complex
    size, of = k.size(n, "n"), wide(x.dtype)
    h, work = k.scratch(C128, x.count, "h"), k.scratch(C128, count * 6 * n, "work")
    z = k.scratch(C128, x.count if vectors is not None else 0, "z")
    parts = k.scratch(F64, 2 * x.count if real else 0, "real")
    k.describe(x, "matrices, n, n")
    with k.stage(count, grain_of(25 * n * n * n), "matrix") as matrix:
        start, first = k.let(matrix * size * size, "start"), k.let(matrix * size, "first")
        largest, not_finite = k.local(0.0, "largest", F64), k.local(0, "not_finite", I64)
        with k.loop(start, start + size * size, "i") as i:
            own = k.let(size_of(k, k.cast(x[i], of)), "own")
            k.set(largest, k.maximum_of(own, largest))
            k.increment(not_finite, k.cast(k.negation(k.call("isfinite", own)), I64))
        scale = k.local(1.0, "scale", F64)
        with k.when(k.equal(not_finite, 0)):
            with k.loop_while(k.greater(largest * scale, 1.0)):
                k.set(scale, scale * 0.5)
            with k.when(k.greater(largest, 0.0)), k.loop_while(k.both(k.less(largest * scale, 0.5), k.less(scale, 2.0**1000))):
                k.set(scale, scale * 2.0)
            with k.loop(start, start + size * size, "i") as i:
                k.store(h, i, k.cast(scaled(k, k.cast(x[i], of), scale), C128))
            six = k.let(first * 6, "six")
            memory = (h.at(start), z.at(start if vectors is not None else 0), work.at(six), work.at(six + size),
                      parts.at(start * 2 if real else 0), size, k.literal(int(real), I64), k.literal(int(vectors is not None), I64))
            status = k.let(k.call("adjoint_eigenvalues_c128", *memory, dtype=I64), "status", I64)
            with k.when(k.not_equal(status, 0)):
                k.fail_at(matrix)
            with k.loop(0, size, "i") as i:
                k.store(values, first + i, k.cast(scaled(k, work[six + i], 1.0 / scale), values.dtype))
            if vectors is not None:
                with k.loop(start, start + size * size, "i") as i:
                    k.store(vectors, i, k.cast(h[i], vectors.dtype))
        with k.otherwise():
            with k.loop(0, size, "i") as i:
                k.store(values, first + i, k.literal(nan_of(values.dtype), values.dtype))
            if vectors is not None:
                with k.loop(start, start + size * size, "i") as i:
                    k.store(vectors, i, k.literal(nan_of(vectors.dtype), vectors.dtype))


def _found(x: Array) -> tuple[Array, Array]:
    """Return the eigenvalues and vectors by LAPACK, with the sign of each vector that it has here; NaN for what is not finite."""
    to = np.complex128 if x.dtype.itemsize > (8 if x.dtype.kind == "c" else 4) else np.complex64
    values, vectors = np.empty(x.shape[:-1], np.complex128), np.empty(x.shape, np.complex128)
    for place in np.ndindex(x.shape[:-2]):
        if not np.isfinite(x[place]).all():
            values[place] = vectors[place] = complex(math.nan, math.nan)
            continue
        found, columns = np.linalg.eig(x[place].astype(np.complex128 if x.dtype.kind == "c" else np.float64))
        largest = np.argmax(np.abs(columns), axis=0, keepdims=True) if x.shape[-1] else np.zeros((1, 0), int)
        head = np.take_along_axis(columns, largest, 0)
        columns = columns.astype(np.complex128) * (np.conj(head) / np.abs(head))
        np.put_along_axis(columns, largest, np.abs(head), 0)
        values[place], vectors[place] = found, columns
    return values.astype(to), vectors.astype(to)


@operation
class Eigenvalues(_General):
    """The eigenvalues of the matrices in the last two axes, in no particular order; NaN for a matrix that is not finite.

    Of a real matrix those that are real have an imaginary part of exactly 0, and the others are exactly conjugate pairs, the one with the
    positive imaginary part first.

    x         T[s, n, n], T a floating point or complex type; computed in complex128, of real matrices in float64
    result    C[s, n], C the complex type with the parts of T, Complex64 of two-byte floats
    gradient  V^-H diag(ct) V^H, with the vectors V of `eigen`, of real matrices its real part (Giles 2008, section 3.1); not finite for a
              matrix without n independent vectors
    errors    TypeError: neither floating point nor complex; ValueError: not square matrices; RuntimeError: no convergence
    """

    samples = (
        sample(tensor(F32, (3, 3)), values=_GENERAL, smooth=False, note="as complex numbers of conjugate values either may be the first"),
        sample(tensor(F64, (3, 3)), values=_GENERAL),
        sample(tensor(C64, (3, 3)), values=_TURNED),
        sample(tensor(F32, (2, 2, 2)), values=_REAL),
        sample(tensor(F64, (3, 3)), values=_SCALED, smooth=False, note="unbalanced"),
        sample(tensor(F32, (2, 2, 2)), values=_NAN, smooth=False, note="NaN and infinity"),
        sample(tensor(F32, (2, 1, 1))),
        sample(tensor(F32, (0, 0))),
        sample(tensor(F32, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        return self.values_type(x)

    def reference(self, x: Array) -> Array:
        return _found(x)[0]

    def lower(self, k: Kernel, x: Buffer, values: Buffer) -> None:
        _find(k, x, values, None)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        values, vectors = b.eigen(x)
        return (_cotangent(b, x, values, vectors, ct, None),)


@operation
class Eigen(_General):
    """The eigenvalues of the matrices in the last two axes, and their eigenvectors as columns: x V = V diag(values).

    As `eigenvalues`; each vector has length 1, and its element of the largest size is positive, the first of equal ones.  A
    matrix may have fewer independent vectors than columns: vectors of equal eigenvalues are then equal, up to rounding.

    x         T[s, n, n], T a floating point or complex type; computed in complex128, of real matrices in float64
    result    C[s, n] and C[s, n, n], C the complex type with the parts of T, Complex64 of two-byte floats
    gradient  V^-H (diag(values') + (V^H V' - V^H V diag(real(V^H V'))) / conj(E)) V^H with E[i, j] = values[j] - values[i], and without the
              diagonal of the quotient (Boeddeker et al. 2017, "On the computation of complex-valued gradients with application to
              statistically optimum beamforming"), after V' has received what makes the largest elements positive; of real matrices its
              real part.  Where V has a cotangent it is not finite for equal eigenvalues: the vectors are not differentiable there
    errors    TypeError: neither floating point nor complex; ValueError: not square matrices; RuntimeError: no convergence
    """

    samples = Eigenvalues.samples

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        values = self.values_type(x)
        return values, values.with_shape(x.shape)

    def reference(self, x: Array) -> tuple[Array, Array]:
        return _found(x)

    def lower(self, k: Kernel, x: Buffer, values: Buffer, vectors: Buffer) -> None:
        _find(k, x, values, vectors)

    def vjp(self, b: Builder, node: Node, values_ct: Any, vectors_ct: Any) -> Cotangents:
        values, vectors = node.results
        return (_cotangent(b, node.operands[0], values, vectors, values_ct, vectors_ct),)


def _cotangent(b: Builder, x: Atom, values: Atom, vectors: Atom, values_ct: Any, vectors_ct: Any) -> Atom:
    have, own = tensor_type(vectors), tensor_type(x)
    n, zero = have.shape[-1], b.constant(0.0, have.dtype)
    same = b.equal(b.iota(to=tensor(I64, (n, 1)), axis=0), b.iota(to=tensor(I64, (1, n)), axis=1))
    row = have.with_shape((*have.shape[:-2], 1, n))
    turned = adjoint_matrices(b, vectors)
    inner: Any = None
    if vectors_ct is not None and 0 not in have.shape:
        product = b.matmul(turned, b.add(vectors_ct, gauge_of_columns(b, vectors, [(vectors, vectors_ct)])))
        lengths = b.sum(b.select(same, b.cast(b.real_part(product), to=have.dtype), zero), axes=(have.rank - 2,), keepdims=True)
        across = b.sub(product, b.mul(b.matmul(turned, vectors), lengths))
        apart = b.conj(b.sub(b.reshape(values, to=row), b.reshape(values, to=have.with_shape((*have.shape[:-1], 1)))))
        inner = b.select(same, zero, b.div(across, b.select(same, b.constant(1.0, have.dtype), apart)))
    if values_ct is not None:
        diagonal = b.select(same, b.reshape(values_ct, to=row), zero)
        inner = diagonal if inner is None else b.add(inner, diagonal)
    if inner is None:
        return b.zeros(own)
    found = b.matmul(b.matmul(adjoint_matrices(b, b.matrix_inverse(vectors, or_nan=True)), inner), turned)
    return found if own.dtype.is_complex else b.cast(found, to=own.dtype)
