"""Products and quotients of complex numbers in NumPy, with the bits of `codegen/c/complex.h`.

NumPy's own may fuse a product and a sum, depending on the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["complex_number", "complex_product", "complex_quotient"]

Array = np.ndarray[Any, Any]


def complex_number(real: Any, imag: Any) -> Array:
    """Return complex numbers from their parts, which have one dtype and shapes that broadcast.  No sign of a zero is lost."""
    real, imag = np.broadcast_arrays(real, imag)
    made = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    made.real, made.imag = real, imag
    return made


def complex_product(x: Array, y: Array) -> Array:
    """Return x * y, each product and sum rounded."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    return complex_number(a * c - b * d, a * d + b * c)


def complex_quotient(x: Array, y: Array) -> Array:
    """Return x / y by Smith's method, in double; by 0 it is a / |c| + (b / |c|)i, as in NumPy."""
    a, b, c, d = (part.astype(np.float64) for part in (x.real, x.imag, y.real, y.imag))
    first = np.abs(c) >= np.abs(d)
    larger, smaller = np.where(first, c, d), np.where(first, d, c)
    ratio = smaller / larger
    scale = 1.0 / (larger + smaller * ratio)
    real = np.where(first, a + b * ratio, a * ratio + b) * scale
    imag = np.where(first, b - a * ratio, b * ratio - a) * scale
    zero = (c == 0) & (d == 0)
    size = np.abs(c)
    found = complex_number(np.where(zero, a / size, real), np.where(zero, b / size, imag))
    return found.astype(x.dtype)
