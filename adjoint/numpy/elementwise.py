"""Arithmetic, powers and bits, element by element.

Operands are arrays or numbers.  A number is treated as a Tensor of Bool, Int32 or Float32, so it influences the dtype of the result.  Two
operands are broadcast and converted to a common dtype.  The result is in `dtype` if given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.types import BOOL, F32, F64, I32, I64, DType
from adjoint.numpy.conversion import array_like, arrays_like, in_dtype, joined
from adjoint.ops import arithmetic, floats, integers
from adjoint.ops.arguments import floating, integer, operand, wrong
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "abs", "absolute", "add", "around", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clip", "copysign", "divide",
    "divmod", "fabs", "fix", "float_power", "floor", "floor_divide", "fmod", "gcd", "heaviside", "hypot", "invert", "lcm", "maximum",
    "minimum", "mod", "multiply", "negative", "positive", "power", "reciprocal", "remainder", "rint", "round", "sign", "square",
    "subtract", "true_divide", "trunc",
]

# Sums, products and quotients ----------------------------------------------------------------------------------------


def add(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 + x2."""
    return in_dtype(arithmetic.add(*arrays_like("add", x1, x2)), dtype)


def subtract(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 - x2."""
    return in_dtype(arithmetic.sub(*arrays_like("subtract", x1, x2)), dtype)


def multiply(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 * x2."""
    return in_dtype(arithmetic.mul(*arrays_like("multiply", x1, x2)), dtype)


def divide(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 / x2; Float32 for integers."""
    return in_dtype(arithmetic.true_divide(*arrays_like("divide", x1, x2)), dtype)


def true_divide(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Same as `divide`."""
    return divide(x1, x2, dtype)


def reciprocal(x: Any, dtype: Any = None) -> Tensor:
    """Return 1 / x; for integers truncated, Int64 for bools."""
    given = array_like("reciprocal", x)
    if given.dtype.is_inexact:
        return in_dtype(arithmetic.reciprocal(given), dtype)
    return in_dtype(arithmetic.div(1, given.astype(I64) if given.dtype is BOOL else given, rounding_mode="trunc"), dtype)


def floor_divide(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 / x2 rounded down."""
    return in_dtype(arithmetic.floor_div(*arrays_like("floor_divide", x1, x2)), dtype)


def _left_over(op: str, x1: Any, x2: Any, rule: Callable[[Any, Any], Tensor]) -> Tensor:
    """Return the remainder of a division in the common dtype; for integers divided by 0 it is 0."""
    first, second = joined(*arrays_like(op, x1, x2))
    kind = first.dtype
    if kind.is_float:
        return rule(first, second)
    if kind is BOOL:
        first, second = first.astype(I32), second.astype(I32)
    none = arithmetic.equal(second, 0)
    left = rule(first, arithmetic.where(none, 1, second))
    return arithmetic.where(none, 0, left).astype(kind, copy=False)


def remainder(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 - x2 * floor(x1 / x2), which has the sign of x2; for integers divided by 0 it is 0."""
    return in_dtype(_left_over("remainder", x1, x2, arithmetic.mod), dtype)


def mod(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Same as `remainder`."""
    return remainder(x1, x2, dtype)


def fmod(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the remainder of x1 / x2 with the sign of x1; for integers divided by 0 it is 0."""
    return in_dtype(_left_over("fmod", x1, x2, arithmetic.fmod), dtype)


def divmod(x1: Any, x2: Any, dtype: Any = None) -> tuple[Tensor, Tensor]:
    """Return (floor_divide(x1, x2), remainder(x1, x2))."""
    return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)


# Powers --------------------------------------------------------------------------------------------------------------


def square(x: Any, dtype: Any = None) -> Tensor:
    """Return x * x."""
    return in_dtype(arithmetic.square(array_like("square", x)), dtype)


def power(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 to the power of x2."""
    return in_dtype(arithmetic.pow(*arrays_like("power", x1, x2)), dtype)


def float_power(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 to the power of x2 for Tensors, in Float32, or in Float64 if one is Float64."""
    first, second = operand("float_power", x1, "x1"), operand("float_power", x2, "x2")
    kind = F64 if F64 in (first.dtype, second.dtype) else F32
    return in_dtype(arithmetic.pow(first.astype(kind, copy=False), second.astype(kind, copy=False)), dtype)


def hypot(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return sqrt(x1**2 + x2**2); the squares of Float32 and narrower types neither overflow nor underflow."""
    return in_dtype(floats.hypot(*joined(*arrays_like("hypot", x1, x2))), dtype)


# Rounding -----------------------------------------------------------------------------------------------------------


def floor(x: Any, dtype: Any = None) -> Tensor:
    """Return the number rounded down; Float32 for integers."""
    return in_dtype(arithmetic.floor(floating(array_like("floor", x))), dtype)


def ceil(x: Any, dtype: Any = None) -> Tensor:
    """Return the number rounded up, in Float32; in Float64 for Float64."""
    given = array_like("ceil", x)
    return in_dtype(arithmetic.ceil(given if given.dtype is F64 else given.astype(F32, copy=False)), dtype)


def fix(x: Any) -> Tensor:
    """Return the number rounded toward zero, for a Tensor; Float32 for integers."""
    return arithmetic.trunc(floating(operand("fix", x, "x")))


def trunc(x: Any, dtype: Any = None) -> Tensor:
    """Return the number rounded toward zero; Float32 for integers."""
    return in_dtype(arithmetic.trunc(floating(array_like("trunc", x))), dtype)


def rint(x: Any, dtype: Any = None) -> Tensor:
    """Return the nearest integer, the even one in a tie; Float32 for integers."""
    return in_dtype(arithmetic.round(floating(array_like("rint", x))), dtype)


def around(a: Any, decimals: Any = 0) -> Tensor:
    """Return the nearest number with this many decimals, the even one in a tie; raise ValueError for a negative number of decimals."""
    places = integer("around", "decimals", decimals)
    if places < 0:
        raise wrong("around", "decimals", "at least 0", places)
    return arithmetic.round(array_like("around", a, "a"), decimals=places)


def round(a: Any, decimals: Any = 0) -> Tensor:
    """Same as `around`."""
    return around(a, decimals)


def _of_integers(op: str, x1: Any, x2: Any) -> tuple[Tensor, Tensor, DType]:
    """Return two arrays of integers in a common integer dtype, and the dtype of the result."""
    first, second = joined(*arrays_like(op, x1, x2))
    if first.dtype.is_float:
        raise wrong(op, "x1", "of integers, as 'x2'", first, TypeError)
    kind = first.dtype
    return (first.astype(I32), second.astype(I32), kind) if kind is BOOL else (first, second, kind)


def gcd(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the greatest common divisor of integers; that of two zeros is 0.  Raise TypeError for floats."""
    first, second, kind = _of_integers("gcd", x1, x2)
    return in_dtype(integers.common_divisor(first, second).astype(kind, copy=False), dtype)


def lcm(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the least common multiple of integers; 0 if one is 0.  Raise TypeError for floats."""
    first, second, kind = _of_integers("lcm", x1, x2)
    return in_dtype(integers.common_multiple(first, second).astype(kind, copy=False), dtype)


# Signs and bounds ----------------------------------------------------------------------------------------------------


def absolute(x: Any, dtype: Any = None) -> Tensor:
    """Return the absolute value."""
    return in_dtype(arithmetic.abs(array_like("absolute", x)), dtype)


def abs(x: Any, dtype: Any = None) -> Tensor:
    """Same as `absolute`."""
    return absolute(x, dtype)


def fabs(x: Any, dtype: Any = None) -> Tensor:
    """Same as `absolute`."""
    return absolute(x, dtype)


def negative(a: Any, dtype: Any = None) -> Tensor:
    """Return -a."""
    return in_dtype(arithmetic.neg(array_like("negative", a, "a")), dtype)


def positive(a: Any, dtype: Any = None) -> Tensor:
    """Return a copy of a Tensor; raise TypeError for bools."""
    x = operand("positive", a, "a")
    if x.dtype is BOOL or x.dtype.is_complex:
        raise wrong("positive", "a", "a Tensor of numbers", x, TypeError)
    return in_dtype(x.copy(), dtype)


def sign(x: Any, dtype: Any = None) -> Tensor:
    """Return -1, 0 or 1; Float32 for integers.  Raise TypeError for bools."""
    return in_dtype(arithmetic.sign(floating(_signed("sign", "x", array_like("sign", x)))), dtype)


def copysign(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the absolute value of x1, negated where x2 is less than 0, in the dtype of x1; raise TypeError for bools."""
    first, second = (_signed("copysign", name, x) for name, x in zip(("x1", "x2"), arrays_like("copysign", x1, x2), strict=True))
    size = arithmetic.abs(first)
    return in_dtype(arithmetic.where(arithmetic.less(second, 0), arithmetic.neg(size), size), dtype)


def _signed(op: str, argument: str, x: Tensor) -> Tensor:
    if x.dtype is BOOL:
        raise wrong(op, argument, "of numbers", x, TypeError)
    return x


def heaviside(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return 0 where x1 is negative, 1 where it is positive, x2 where it is 0, and NaN where it is NaN."""
    first, second = joined(*arrays_like("heaviside", x1, x2))
    if first.dtype is BOOL:
        return in_dtype(arithmetic.logical_or(first, second), dtype)
    stepped = arithmetic.where(first < 0, 0, arithmetic.where(first > 0, 1, first))
    return in_dtype(arithmetic.where(arithmetic.equal(first, 0), second, stepped), dtype)


def _bounded(op: str, rule: Callable[[Any, Any], Tensor], x1: Any, x2: Any, dtype: Any) -> Tensor:
    """Return the larger or smaller of two; a number combined with an array does not change the dtype."""
    first, second = arrays_like(op, x1, x2)
    if first.ndim == 0 and second.ndim:
        dtype = second.dtype
    elif second.ndim == 0 and first.ndim:
        dtype = first.dtype
    return in_dtype(rule(first, second), dtype)


def maximum(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the larger of two; NaN if one is NaN.  A number combined with an array takes the array's dtype, and a fraction is
    truncated."""
    return _bounded("maximum", arithmetic.maximum, x1, x2, dtype)


def minimum(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the smaller of two; NaN if one is NaN.  A number combined with an array takes the array's dtype, and a fraction is
    truncated."""
    return _bounded("minimum", arithmetic.minimum, x1, x2, dtype)


def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """Return each element limited to [`xmin`, `xmax`]; one of the bounds may be None, not both (ValueError)."""
    if xmin is None and xmax is None:
        raise ValueError("For 'clip', at least one of 'xmin' and 'xmax' must not be None.")
    if xmin is not None:
        x = maximum(x, xmin, dtype)
    return x if xmax is None else minimum(x, xmax, dtype)


# Bits ----------------------------------------------------------------------------------------------------------------


def bitwise_and(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the bitwise and of integers or bools."""
    return in_dtype(arithmetic.bitwise_and(*arrays_like("bitwise_and", x1, x2)), dtype)


def bitwise_or(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the bitwise or of integers or bools."""
    return in_dtype(arithmetic.bitwise_or(*arrays_like("bitwise_or", x1, x2)), dtype)


def bitwise_xor(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the bitwise exclusive or of integers or bools."""
    return in_dtype(arithmetic.bitwise_xor(*arrays_like("bitwise_xor", x1, x2)), dtype)


def invert(x: Any, dtype: Any = None) -> Tensor:
    """Return integers or bools with all bits inverted."""
    return in_dtype(arithmetic.invert(array_like("invert", x)), dtype)


def bitwise_not(x: Any, dtype: Any = None) -> Tensor:
    """Same as `invert`."""
    return invert(x, dtype)
