"""Logarithms of complex square matrices, and their derivatives.  The C is in `complex_logarithm.h`; it computes in complex128.

    log [[x, e], [0, x]] = [[log x, D(x) e], [0, log x]]

with the derivative D(x) along e (Higham 2008, "Functions of Matrices", theorem 3.6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import family, mistake, operation, sample
from adjoint.ir.ops.elimination import SquareMatrices, adjoint_matrices
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.wide_numbers import nan_of
from adjoint.ir.types import C64, C128, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

__all__ = ["MatrixLogarithm", "MatrixLogarithmDerivative"]

_TURNED = {0: [[2.0 + 1.0j, -1.0, 0.5j], [1.0, 1.5 - 1.0j, -1.0], [-0.5j, 0.25, 1.0 + 0.5j]]}
_DEFECTIVE = {0: [[[2.0, 1.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]]}
_SIZES = {0: [[[2e30, 1e30], [0.5e30, 1e30]], [[2e-30, 1e-30], [0.5e-30, 1e-30]]]}
_NAN = {0: [[[complex(math.nan, 0.0), 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]}


@family
class _Logarithm(SquareMatrices):
    """An op on the logarithms of complex matrices."""

    def complex_only(self, x: Any) -> TensorType:
        if not self.checked(x).dtype.is_complex:
            raise mistake(self, "x", "a tensor of complex numbers", x, TypeError)
        return x

    def failure(self, status: int) -> Exception:
        return RuntimeError(f"For 'MatrixLogarithm', the eigenvalues of the matrix at index {status - 1} of the batch did not converge.")


def _compute(k: Kernel, x: Buffer, out: Buffer, blocks: int, element: Any, place: Any) -> None:
    """Describe the kernel.

    blocks   the matrix whose logarithm is computed has so many times the rows of those of x
    element  returns one of its elements, given the start of a matrix, n, a row and a column
    place    returns where one of the result is, given a row and a column of the result, and n
    """
    n, count = x.shape[-1], math.prod(x.shape[:-2])
    size, square = k.size(n, "n"), blocks * blocks * x.count
    h, z, t, total = (k.scratch(C128, square, name) for name in ("h", "z", "t", "total"))
    work = k.scratch(C128, 3 * blocks * n * count, "work")
    k.describe(x, "matrices, n, n")
    with k.stage(count, grain_of(60 * (blocks * n) ** 3), "matrix") as matrix:
        start, rows = k.let(matrix * size * size, "start"), k.let(size * blocks, "rows")
        begin, not_finite = k.let(matrix * rows * rows, "begin"), k.local(0, "not_finite", I64)
        with k.loop(0, rows, "r") as r, k.loop(0, rows, "j") as j:
            value = k.let(element(start, size, r, j), "value")
            k.increment(not_finite, k.cast(k.negation(k.call("isfinite", value)), I64))
            k.store(h, begin + r * rows + j, value)
        with k.when(k.equal(not_finite, 0)):
            memory = (h.at(begin), z.at(begin), t.at(begin), total.at(begin), work.at(matrix * rows * 3), rows)
            status = k.let(k.call("adjoint_logarithm_c128", *memory, dtype=I64), "status", I64)
            with k.when(k.not_equal(status, 0)):
                k.fail_at(matrix)
            with k.loop(0, size, "r") as r, k.loop(0, size, "j") as j:
                k.store(out, start + r * size + j, k.cast(h[begin + place(r, j, size)], out.dtype))
        with k.otherwise(), k.loop(start, start + size * size, "i") as i:
            k.store(out, i, k.literal(nan_of(out.dtype), out.dtype))


@operation
class MatrixLogarithm(_Logarithm):
    """The principal logarithms of complex square matrices: their eigenvalues have imaginary parts above -pi, up to pi.

    x         T[s, n, n], T a complex type; computed in complex128
    result    T[s, n, n]; not finite for a singular matrix, NaN for one that is not finite
    gradient  the derivative at the conjugate transpose of x, along ct; no number is right where an eigenvalue is real and not above 0
    errors    TypeError: not complex; ValueError: not square matrices; RuntimeError: no convergence
    """

    samples = (
        sample(tensor(C64, (3, 3)), values=_TURNED),
        sample(tensor(C64, (2, 2, 2)), values=_DEFECTIVE),
        sample(tensor(C64, (2, 2, 2)), values=_SIZES, smooth=False, note="sizes far from 1"),
        sample(tensor(C64, (2, 2, 2)), values=_NAN, smooth=False, note="NaN"),
        sample(tensor(C64, (2, 1, 1))),
        sample(tensor(C64, (0, 0))),
        sample(tensor(C64, (0, 2, 2))),
    )

    def infer(self, x: Any) -> TensorType:
        return self.complex_only(x)

    def reference(self, x: Array) -> Array:
        return _logarithms(x)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        def element(start: Expr, n: Expr, r: Expr, j: Expr) -> Expr:
            return k.cast(x[start + r * n + j], C128)

        _compute(k, x, out, 1, element, lambda r, j, n: r * n + j)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.matrix_logarithm_derivative(adjoint_matrices(b, node.operands[0]), ct),)


@operation
class MatrixLogarithmDerivative(_Logarithm):
    """The derivative of the logarithms of complex square matrices x along others, e.

    operands x  T[s, n, n], T a complex type; computed in complex128
             e  T[s, n, n]
    result   T[s, n, n]; not finite for a singular x, NaN where x or e is not finite
    gradient that of the upper right block of the logarithm of [[x, e], [0, x]]: the derivative at x^H along ct for e
    errors   TypeError: not complex, or of two dtypes; ValueError: not square matrices of one shape; RuntimeError: no convergence
    """

    samples = (
        sample(tensor(C64, (3, 3)), tensor(C64, (3, 3)), values=_TURNED),
        sample(tensor(C64, (2, 2, 2)), tensor(C64, (2, 2, 2)), values=_DEFECTIVE),
        sample(tensor(C64, (0, 2, 2)), tensor(C64, (0, 2, 2))),
    )

    def infer(self, x: Any, e: Any) -> TensorType:
        if self.complex_only(x) is not e:
            wrong = not isinstance(e, TensorType) or e.dtype is not x.dtype
            raise mistake(self, "e", f"of the type of x, {x}", e, TypeError if wrong else ValueError)
        return x

    def reference(self, x: Array, e: Array) -> Array:
        n = x.shape[-1]
        whole = np.concatenate([np.concatenate([x, e], -1), np.concatenate([np.zeros_like(x), x], -1)], -2)
        return _logarithms(whole)[..., :n, n:]

    def lower(self, k: Kernel, x: Buffer, e: Buffer, out: Buffer) -> None:
        def element(start: Expr, n: Expr, r: Expr, j: Expr) -> Expr:
            below, right = k.greater_equal(r, n), k.greater_equal(j, n)
            at = k.let(start + k.select(below, r - n, r) * n + k.select(right, j - n, j), "at")
            zero = k.literal(0.0, C128)
            on_left = k.select(below, zero, k.cast(x[at], C128))
            on_right = k.select(below, k.cast(x[at], C128), k.cast(e[at], C128))
            return k.select(right, on_right, on_left)

        _compute(k, x, out, 2, element, lambda r, j, n: r * n * 2 + n + j)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, e = node.operands
        have = tensor_type(x)
        zeros = b.zeros(have)

        def whole(upper_left: Atom, upper_right: Atom, lower_left: Atom, lower_right: Atom) -> Atom:
            halves = [b.concat(*pair, axis=have.rank - 1) for pair in ((upper_left, upper_right), (lower_left, lower_right))]
            return b.concat(*halves, axis=have.rank - 2)

        def block(of: Atom, row: int, column: int) -> Atom:
            n, none = have.sizes[-1], (0,) * (have.rank - 2)
            return b.slice(of, start=(*none, row * n, column * n), stop=(*have.sizes[:-2], row * n + n, column * n + n),
                           step=(1,) * have.rank)

        given = adjoint_matrices(b, whole(x, e, zeros, x))
        found = b.matrix_logarithm_derivative(given, whole(zeros, ct, zeros, zeros))
        by_e = b.matrix_logarithm_derivative(adjoint_matrices(b, x), ct)
        return b.add(block(found, 0, 0), block(found, 1, 1)), by_e


# The reference --------------------------------------------------------------------------------------------------------


def _logarithms(x: Array) -> Array:
    found = np.empty(x.shape, np.complex128)
    for place in np.ndindex(x.shape[:-2]):
        finite = np.isfinite(x[place]).all()
        found[place] = _logarithm(x[place].astype(np.complex128)) if finite else complex(math.nan, math.nan)
    return found.astype(x.dtype)


def _schur(x: Array) -> tuple[Array, Array]:
    """Return a triangle T and a unitary Z with Z T Z^H = x, by QR steps with shifts."""
    t, z = x.copy(), np.eye(len(x), dtype=x.dtype)
    for last in range(len(x) - 1, 0, -1):
        for step in range(300):
            if np.abs(t[last, :last]).sum() <= 2.0**-53 * np.abs(t[: last + 1, : last + 1]).max():
                break
            corner = t[last - 1 : last + 1, last - 1 : last + 1]
            values = np.linalg.eigvals(corner)
            shift = values[np.argmin(np.abs(values - corner[1, 1]))] + (0.0 if step % 10 != 9 else np.abs(corner[1, 0]))
            q, _ = np.linalg.qr(t[: last + 1, : last + 1] - shift * np.eye(last + 1))
            t[: last + 1] = q.conj().T @ t[: last + 1]
            t[:, : last + 1] = t[:, : last + 1] @ q
            z[:, : last + 1] = z[:, : last + 1] @ q
        t[last, :last] = 0
    return t, z


def _logarithm(x: Array) -> Array:
    t, z = _schur(x)
    n, roots, own = len(x), 0, np.log(t.diagonal() + 0.0)
    while np.abs(t - np.eye(n)).sum(0).max(initial=0.0) > 0.25 and roots < 100:
        for j in range(n):
            t[j, j] = np.sqrt(t[j, j])
            for i in range(j - 1, -1, -1):
                t[i, j] = (t[i, j] - t[i, i + 1 : j] @ t[i + 1 : j, j]) / (t[i, i] + t[j, j])
        roots += 1
    near = t - np.eye(n)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = sum((weight / 2 * near @ np.linalg.inv(np.eye(n) + (1 + node) / 2 * near) for node, weight in zip(nodes, weights, strict=True)),
                np.zeros_like(t))
    found = np.triu(total, 1) * 2.0**roots + np.diag(own)
    return z @ found @ z.conj().T
