"""The largest errors of the elementary functions in `c/math_f32.h` and `c/math_f64.h`.

The comments in these files and the tolerances of tests state the same numbers. Each is the largest error that was found, rounded up to a
multiple of 0.05, in units in the last place of the exact result (for a subnormal result, of the smallest subnormal number), compiled with
and without fused multiply-add:

    f32   over every seventh float, 6 * 10^8 of them, against the C library's functions of double;
          `pow` and `atan2`: 2 * 10^8 pairs
    f64   over 10^7 arguments: random bit patterns, arguments of ordinary size, and the surroundings of the places where a
          computation changes its course; against quadruple precision

`benchmarks/accuracy.py` measures them anew, with fewer arguments.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ULP"]

ULP: Final[dict[tuple[str, str], float]] = {
    ("exp", "f32"): 0.8,
    ("exp", "f64"): 0.8,
    ("exp2", "f32"): 0.9,
    ("exp2", "f64"): 0.8,
    ("expm1", "f32"): 1.05,
    ("expm1", "f64"): 1.1,
    ("sigmoid", "f32"): 1.75,
    ("sigmoid", "f64"): 1.75,
    ("tanh", "f32"): 1.25,
    ("tanh", "f64"): 1.3,
    ("sinh", "f32"): 0.55,
    ("sinh", "f64"): 1.6,
    ("cosh", "f32"): 0.55,
    ("cosh", "f64"): 1.15,
    ("log", "f32"): 0.85,
    ("log", "f64"): 0.9,
    ("log2", "f32"): 0.55,
    ("log2", "f64"): 0.55,
    ("log10", "f32"): 0.55,
    ("log10", "f64"): 0.55,
    ("log1p", "f32"): 0.9,
    ("log1p", "f64"): 0.95,
    ("softplus", "f32"): 1.6,
    ("softplus", "f64"): 1.5,
    ("asinh", "f32"): 0.55,
    ("asinh", "f64"): 1.7,
    ("acosh", "f32"): 0.55,
    ("acosh", "f64"): 1.0,
    ("atanh", "f32"): 0.55,
    ("atanh", "f64"): 1.95,
    ("sin", "f32"): 0.55,
    ("sin", "f64"): 0.9,
    ("cos", "f32"): 0.55,
    ("cos", "f64"): 0.9,
    ("tan", "f32"): 0.55,
    ("tan", "f64"): 1.5,
    ("asin", "f32"): 1.15,
    ("asin", "f64"): 1.15,
    ("acos", "f32"): 1.1,
    ("acos", "f64"): 1.15,
    ("atan", "f32"): 0.55,
    ("atan", "f64"): 1.25,
    ("atan2", "f32"): 0.55,
    ("atan2", "f64"): 1.6,
    ("erf", "f32"): 1.3,
    ("erf", "f64"): 1.3,
    ("erfc", "f32"): 0.55,
    ("erfc", "f64"): 1.1,
    ("pow", "f32"): 0.55,
    ("pow", "f64"): 0.8,
    ("rsqrt", "f32"): 1.5,
    ("rsqrt", "f64"): 1.55,
}
"""The largest error of each function of the kernels' headers, by its name and dtype, in units in the last place."""
