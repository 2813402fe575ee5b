"""Angles, exponentials and logarithms, roots, element by element.

Angles are in radians.  Sines of bools and one-byte integers are Float16, those of other integers Float32; exponentials, logarithms and
roots of integers are Float32.  The result is in `dtype` if given.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.ops.transcendental import Acosh, Asinh, Atanh
from adjoint.ir.types import F32, F64
from adjoint.numpy.conversion import array_like, arrays_like, in_dtype, joined
from adjoint.numpy.dtypes import pi, promoted_dtype, trigonometric_dtype
from adjoint.ops import arithmetic
from adjoint.ops.arguments import floating, operand
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1",
    "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "rad2deg", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
]

_ASINH, _ACOSH, _ATANH = Asinh(), Acosh(), Atanh()


# Angles --------------------------------------------------------------------------------------------------------------


def _angle(op: str, x: Any, argument: str = "x") -> Tensor:
    given = operand(op, x, argument)
    return given.astype(trigonometric_dtype(given.dtype), copy=False)


def sin(x: Any, dtype: Any = None) -> Tensor:
    """Return the sine of a Tensor."""
    return in_dtype(arithmetic.sin(_angle("sin", x)), dtype)


def cos(x: Any, dtype: Any = None) -> Tensor:
    """Return the cosine of a Tensor."""
    return in_dtype(arithmetic.cos(_angle("cos", x)), dtype)


def tan(x: Any, dtype: Any = None) -> Tensor:
    """Return the tangent of a Tensor."""
    return in_dtype(arithmetic.tan(_angle("tan", x)), dtype)


def arcsin(x: Any, dtype: Any = None) -> Tensor:
    """Return the inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    return in_dtype(arithmetic.asin(_angle("arcsin", x)), dtype)


def arccos(input: Any, dtype: Any = None) -> Tensor:
    """Return the inverse cosine, in [0, pi]; NaN outside of [-1, 1]."""
    return in_dtype(arithmetic.acos(_angle("arccos", input, "input")), dtype)


def arctan(x: Any, dtype: Any = None) -> Tensor:
    """Return the inverse tangent, in [-pi/2, pi/2]."""
    return in_dtype(arithmetic.atan(_angle("arctan", x)), dtype)


def arctan2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the angle of the point (x2, x1), in [-pi, pi]."""
    return in_dtype(arithmetic.atan2(_angle("arctan2", x1, "x1"), _angle("arctan2", x2, "x2")), dtype)


def sinh(x: Any, dtype: Any = None) -> Tensor:
    """Return the hyperbolic sine of a Tensor."""
    return in_dtype(arithmetic.sinh(_angle("sinh", x)), dtype)


def cosh(x: Any, dtype: Any = None) -> Tensor:
    """Return the hyperbolic cosine of a Tensor."""
    return in_dtype(arithmetic.cosh(_angle("cosh", x)), dtype)


def tanh(x: Any, dtype: Any = None) -> Tensor:
    """Return the hyperbolic tangent of a Tensor."""
    return in_dtype(arithmetic.tanh(_angle("tanh", x)), dtype)


def arcsinh(x: Any, dtype: Any = None) -> Tensor:
    """Return the inverse hyperbolic sine."""
    return in_dtype(apply(_ASINH, _angle("arcsinh", x)), dtype)


def arccosh(x: Any, dtype: Any = None) -> Tensor:
    """Return the non-negative inverse hyperbolic cosine; NaN below 1."""
    return in_dtype(apply(_ACOSH, _angle("arccosh", x)), dtype)


def arctanh(x: Any, dtype: Any = None) -> Tensor:
    """Return the inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond."""
    return in_dtype(apply(_ATANH, _angle("arctanh", x)), dtype)



def deg2rad(x: Any, dtype: Any = None) -> Tensor:
    """Convert degrees to radians; Float32 for integers."""
    return in_dtype(floating(operand("deg2rad", x, "x")) * (pi / 180.0), dtype)


def radians(x: Any, dtype: Any = None) -> Tensor:
    """Same as `deg2rad`."""
    return deg2rad(x, dtype)


def rad2deg(x: Any, dtype: Any = None) -> Tensor:
    """Convert radians to degrees; Float32 for integers."""
    return in_dtype(floating(operand("rad2deg", x, "x")) * (180.0 / pi), dtype)


# Exponentials and logarithms -----------------------------------------------------------------------------------------


def exp(x: Any, dtype: Any = None) -> Tensor:
    """Return e to the power of x."""
    return in_dtype(arithmetic.exp(floating(array_like("exp", x))), dtype)


def exp2(x: Any, dtype: Any = None) -> Tensor:
    """Return 2 to the power of x, in the dtype of x; Int64 for bools."""
    return in_dtype(arithmetic.pow(2, array_like("exp2", x)), dtype)


def expm1(x: Any, dtype: Any = None) -> Tensor:
    """Return exp(x) - 1, accurate near 0."""
    return in_dtype(arithmetic.expm1(floating(array_like("expm1", x))), dtype)


def log(x: Any, dtype: Any = None) -> Tensor:
    """Return the natural logarithm."""
    return in_dtype(arithmetic.log(floating(array_like("log", x))), dtype)


def log1p(x: Any, dtype: Any = None) -> Tensor:
    """Return log(1 + x), accurate near 0."""
    return in_dtype(arithmetic.log1p(floating(array_like("log1p", x))), dtype)


def log2(x: Any, dtype: Any = None) -> Tensor:
    """Return the logarithm to base 2."""
    return in_dtype(arithmetic.log2(floating(array_like("log2", x))), dtype)


def log10(x: Any, dtype: Any = None) -> Tensor:
    """Return the logarithm to base 10."""
    return in_dtype(arithmetic.log10(floating(array_like("log10", x))), dtype)


def _added(x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    """Return the larger of two and the other less the larger, which is not positive; 0 for equal infinities.

    The larger is chosen by a condition, so that derivatives of any order are correct where both are equal.
    """
    first, second = (floating(x) for x in joined(x1, x2))
    above = first >= second
    high, low = arithmetic.where(above, first, second), arithmetic.where(above, second, first)
    both = arithmetic.logical_and(arithmetic.equal(high, low), arithmetic.isinf(high))
    return high, arithmetic.where(both, 0.0, low - high)


def logaddexp(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return log(exp(x1) + exp(x2)), without overflow."""
    high, rest = _added(*arrays_like("logaddexp", x1, x2))
    return in_dtype(high + arithmetic.log1p(arithmetic.exp(rest)), dtype)


def logaddexp2(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return log2(2**x1 + 2**x2), without overflow."""
    high, rest = _added(*arrays_like("logaddexp2", x1, x2))
    return in_dtype(high + arithmetic.log1p(arithmetic.exp2(rest)) / math.log(2.0), dtype)


# Roots ---------------------------------------------------------------------------------------------------------------


def sqrt(x: Any, dtype: Any = None) -> Tensor:
    """Return the square root."""
    return in_dtype(arithmetic.sqrt(array_like("sqrt", x)), dtype)


def cbrt(x: Any, dtype: Any = None) -> Tensor:
    """Return the cube root, at least Float32."""
    given = array_like("cbrt", x)
    kind = promoted_dtype(given.dtype, F32)
    wide = given.astype(F64, copy=False)
    size = arithmetic.where(wide < 0, arithmetic.neg(wide), wide)
    root = arithmetic.pow(size, 1.0 / 3.0)
    return in_dtype(arithmetic.where(wide < 0, arithmetic.neg(root), root).astype(kind, copy=False), dtype)
