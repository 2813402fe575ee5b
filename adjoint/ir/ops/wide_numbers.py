"""Numbers of matrices in kernels, real or complex alike: decompositions compute in Float64 or Complex128, and round once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from adjoint.ir.types import C128, F64, DType, TensorType

if TYPE_CHECKING:
    from adjoint.ir.kernel import Expr, Kernel

__all__ = [
    "NUMBERS", "absolute", "conjugated", "divided_by", "is_inexact", "nan_of", "real_part", "scaled", "size_of", "square_of",
    "wide",
]

NUMBERS = "a tensor of floating point or complex numbers"
"""What the matrices must be, for errors."""


def is_inexact(x: Any) -> bool:
    """Return whether `x` is the type of a tensor of floating point or complex numbers."""
    return isinstance(x, TensorType) and x.dtype.is_inexact


def wide(dtype: DType) -> DType:
    """Return the dtype that numbers of a dtype are computed in: Complex128 for complex ones, otherwise Float64."""
    return C128 if dtype.is_complex else F64


def nan_of(dtype: DType) -> complex:
    """Return NaN, in both parts of a complex number."""
    return complex(math.nan, math.nan) if dtype.is_complex else math.nan


def size_of(k: Kernel, x: Expr) -> Expr:
    """Return a size by which pivots are chosen: the absolute value, of a complex number the sum of those of its parts, as in LAPACK."""
    if not x.dtype.is_complex:
        return k.call("fabs", x)
    return k.call("fabs", k.part_of(x, "real")) + k.call("fabs", k.part_of(x, "imag"))


def absolute(k: Kernel, x: Expr) -> Expr:
    """Return the absolute value."""
    return k.call("adjoint_abs_c128", x, dtype=F64) if x.dtype.is_complex else k.call("fabs", x)


def conjugated(k: Kernel, x: Expr) -> Expr:
    """Return the complex conjugate; a real number as it is."""
    return k.call("conj", x) if x.dtype.is_complex else x


def real_part(k: Kernel, x: Expr) -> Expr:
    """Return the real part; a real number as it is."""
    return k.part_of(x, "real") if x.dtype.is_complex else x


def square_of(k: Kernel, x: Expr) -> Expr:
    """Return the square of the absolute value."""
    if not x.dtype.is_complex:
        return x * x
    real, imag = k.part_of(x, "real"), k.part_of(x, "imag")
    return real * real + imag * imag


def scaled(k: Kernel, x: Expr, factor: Any) -> Expr:
    """Return the product with a real number, part by part."""
    if not x.dtype.is_complex:
        return x * factor
    return k.complex_of(k.part_of(x, "real") * factor, k.part_of(x, "imag") * factor, x.dtype)


def divided_by(k: Kernel, x: Expr, divisor: Any) -> Expr:
    """Return the quotient by a real number, part by part."""
    if not x.dtype.is_complex:
        return x / divisor
    return k.complex_of(k.part_of(x, "real") / divisor, k.part_of(x, "imag") / divisor, x.dtype)
