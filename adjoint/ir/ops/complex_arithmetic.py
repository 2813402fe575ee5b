"""Products, quotients and powers of complex numbers in NumPy; the first two with the bits of `codegen/c/complex.h`.

NumPy's own may fuse a product and a sum, depending on the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "complex_exponential", "complex_log1p", "complex_number", "complex_power", "complex_power_of_two", "complex_product",
    "complex_quotient", "complex_sine",
]

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


def complex_power(x: Array, y: Array) -> Array:
    """Return x to the power y: a product, or 1 divided by it, for a whole number of at most 64, otherwise e^(y log x).

    All of it is computed in complex128.  0 is 0 to a power whose real part is above 0, 1 to the power 0, otherwise NaN.
    """
    base, exponent = (each.astype(np.complex128) for each in np.broadcast_arrays(x, y))
    size = np.abs(exponent.real)
    whole = (exponent.imag == 0) & (size <= 64) & (size == np.floor(size))
    count = np.where(whole, size, 0).astype(np.int64)
    power, factor = np.ones_like(base), base
    begun = np.zeros(base.shape, bool)
    for bit in range(7):
        chosen = (count >> bit & 1) == 1
        power = np.where(chosen, np.where(begun, complex_product(power, factor), factor), power)
        begun |= chosen
        factor = complex_product(factor, factor)
    power = np.where(exponent.real < 0, complex_quotient(np.ones_like(power), power), power)
    found = np.where(whole, power, complex_exponential(complex_product(exponent, np.log(base))))
    at_zero = (base == 0) & (exponent != 0)
    return np.where(at_zero, np.where(exponent.real > 0, 0, complex(np.nan, np.nan)), found).astype(x.dtype)


def complex_exponential(x: Array) -> Array:
    """Return e^x, by NumPy, for which the sign of a NaN may be that of a zero in the result."""
    return np.exp(complex_number(x.real, np.where(np.isnan(x.imag), x.real.dtype.type(np.nan), x.imag)))


def complex_power_of_two(x: Array) -> Array:
    """Return 2^x: the power of the real part, turned by log(2) times the imaginary part; infinities as those of NumPy's `exp`."""
    size, angle = np.exp2(x.real), x.imag * x.real.dtype.type(np.log(2.0))
    found = complex_number(size * np.cos(angle), np.where(x.imag == 0, x.imag, size * np.sin(angle)))
    return np.where(np.isinf(x.real) & ~np.isfinite(x.imag), complex_exponential(x), found)


def complex_log1p(x: Array) -> Array:
    """Return log(1 + x), accurate near 0, where NumPy's own is not."""
    a, b, one, two = x.real, x.imag, x.real.dtype.type(1), x.real.dtype.type(2)  # NumPy 1 takes a bare 2 for a Float64 beside a scalar
    near = np.log1p(a * (two + a) + b * b) / two
    found: Array = np.log(complex_number(one + a, b))
    return complex_number(np.where((np.abs(a) < 0.5) & (np.abs(b) < 0.5), near, found.real), found.imag)


def complex_sine(x: Array) -> Array:
    """Return sin(x) as -i sinh(ix): NumPy's own has other signs of infinities, where C's annex G specifies none."""
    found: Array = np.sinh(complex_number(-x.imag, x.real))
    return complex_number(found.imag, -found.real)
