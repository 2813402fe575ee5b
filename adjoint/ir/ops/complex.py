"""Complex numbers: their parts, and the number of two parts.

A gradient of a complex number is that of its real part plus i times that of its imaginary part.  So a rule multiplies the cotangent with
the conjugate of the derivative, as in MindSpore and PyTorch; docs/complex.md has the convention, and what follows from it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import operation, sample
from adjoint.ir.ops.complex_arithmetic import complex_number
from adjoint.ir.ops.elementwise import Array, Binary, Cotangents, Unary, dtype_of, smooth_binary
from adjoint.ir.types import C64, C128, COMPLEX, F32, F64, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Node
    from adjoint.ir.kernel import Expr, Kernel

__all__ = ["ComplexNumber", "Conjugate", "ImaginaryPart", "OfComplex", "RealPart", "complex_dtype"]

C64_23 = tensor(C64, (2, 3))

SAMPLES = (
    sample(C64_23), sample(tensor(C64)), sample(tensor(C64, (0, 3))), sample(tensor(C128, (5,))),
    sample(tensor(C64, (4,)), values={0: [complex(-0.0, 1.0), complex(1.0, -0.0), complex(math.nan, 2.0), complex(1.0, -math.inf)]},
           smooth=False, note="special values"),
)
"""Samples of complex numbers."""


def complex_dtype(part: DType) -> DType:
    """Return the complex dtype whose parts have a dtype: Complex128 for Float64, otherwise Complex64."""
    return C128 if part is F64 else C64


class OfComplex(Unary):
    """A real number for each complex number."""

    accepts = COMPLEX

    def infer(self, *operands: Any) -> TensorType:
        found = super().infer(*operands)
        return found.with_dtype(found.dtype.part)


@operation
class RealPart(OfComplex):
    """The real part of x.

    x         T[s], T a complex type
    result    that of the parts of T[s]
    gradient  ct + 0i
    errors    TypeError: not complex
    """

    pack = "complex"
    samples = SAMPLES

    def reference(self, x: Array) -> Array:
        return x.real.copy()

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.part_of(x, "real")

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.cast(ct, to=dtype_of(node.operands[0])),)


@operation
class ImaginaryPart(OfComplex):
    """The imaginary part of x.

    x         T[s], T a complex type
    result    that of the parts of T[s]
    gradient  0 + ct i
    errors    TypeError: not complex
    """

    pack = "complex"
    samples = SAMPLES

    def reference(self, x: Array) -> Array:
        return x.imag.copy()

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.part_of(x, "imag")

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.complex_number(b.constant(0.0, dtype_of(ct)), ct),)


@operation
class Conjugate(Unary):
    """The complex conjugate of x: the imaginary part with the other sign.

    x         T[s], T a complex type
    result    T[s]
    gradient  conj(ct)
    errors    TypeError: not complex
    """

    accepts = COMPLEX
    pack = "complex"
    samples = SAMPLES

    def reference(self, x: Array) -> Array:
        return np.conj(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("conj", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.conjugate(ct),)


@operation
class ComplexNumber(Binary):
    """The complex number with the real part x and the imaginary part y.

    x, y      T[s] and T[t], T float32 or float64, shapes that broadcast
    result    Complex64 or Complex128[broadcast]
    gradient  the real part of ct for x, the imaginary part for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast
    """

    accepts = (F32, F64)
    samples = smooth_binary()

    def infer(self, *operands: Any) -> TensorType:
        found = super().infer(*operands)
        return found.with_dtype(complex_dtype(found.dtype))

    def reference(self, x: Array, y: Array) -> Array:
        return complex_number(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.complex_of(x, y, complex_dtype(x.dtype))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(b.real_part(ct), to=x.type), b.unbroadcast(b.imaginary_part(ct), to=y.type)
