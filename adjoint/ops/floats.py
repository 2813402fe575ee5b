"""Functions of floating point numbers, element by element: signs, parts, steps, angles, and what they are.

TypeError for what is not a Tensor and for dtypes that a function does not have, ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops import complex as complex_numbers
from adjoint.ir.ops.arithmetic import Maximum, Minimum, Mul
from adjoint.ir.ops.composed import Hypot
from adjoint.ir.ops.conversion import Select
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.types import BF16, BOOL, C128, F16, F32, F64, I64
from adjoint.ops import arguments, parts
from adjoint.ops.arguments import ArgumentMistake, as_bools, float_only, float_tensor, floating, number, operand, wrong
from adjoint.ops.arithmetic import (
    abs,
    atan2,
    cast,
    clamp,
    cos,
    equal,
    greater,
    isnan,
    less,
    log,
    logical_or,
    neg,
    pow,
    reciprocal,
    sign,
    sin,
    sub,
    truncated_mod,
    where,
)
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.operators import combined
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "angle", "approximate_equal", "conj", "copysign", "deg2rad", "eps", "float_power", "float_power_ext", "fmax", "fmin", "frac",
    "heaviside", "hypot", "imag", "inv", "is_complex", "is_floating_point", "is_nonzero", "is_tensor", "isnan_ext", "isneginf",
    "isposinf", "isreal", "ldexp", "logit", "polar", "positive", "rad2deg", "real", "sgn", "signbit", "view_as_real", "xdivy",
]

_MUL, _MAXIMUM, _MINIMUM, _SELECT, _HYPOT = Mul(), Maximum(), Minimum(), Select(), Hypot()

# Signs and parts -----------------------------------------------------------------------------------------------------


@fusible
def copysign(x: Any, other: Any) -> Tensor:
    """Return |x|, negated where `other` is less than 0; of integers in Float32.  `other` broadcasts to the shape of `x`, or `x` to its.
    """
    given = operand("CopySign", x, "x")
    if given.dtype is BOOL or given.dtype.is_complex:
        raise wrong("CopySign", "x", "a Tensor of real numbers", given, TypeError)
    if not isinstance(other, Tensor):
        other = number("CopySign", "other", other)
    size = abs(floating(given))
    negative = less(other, 0) if isinstance(other, Tensor) else less(constant(float(other), F64), 0)
    return where(negative, neg(size), size)


@fusible
def signbit(input: Any) -> Tensor:
    """Return whether an element is less than 0; -0.0 is not, as in MindSpore."""
    return less(operand("SignBit", input), 0)


@fusible
def sgn(input: Any) -> Tensor:
    """Return the sign of each element: -1, 0 or 1."""
    return sign(operand("Sgn", input))


def positive(input: Any) -> Tensor:
    """Return the tensor itself."""
    return operand("Positive", input)


@fusible
def frac(x: Any) -> Tensor:
    """Return the fractional part of each element, with its sign; of bools 0 in Int64."""
    given = operand("Frac", x, "x")
    return truncated_mod(cast(given, I64) if given.dtype is BOOL else given, 1)


@fusible
def heaviside(input: Any, values: Any) -> Tensor:
    """Return 0 where `input` is negative, 1 where it is positive, `values` where it is 0, and NaN where it is NaN."""
    x, at_zero = operand("Heaviside", input), operand("Heaviside", values, "values")
    if x.dtype is BOOL:
        raise wrong("Heaviside", "input", "a Tensor of numbers", x, TypeError)
    if at_zero.dtype is not x.dtype:
        raise wrong("Heaviside", "values", f"of the dtype of 'input', {x.dtype}", at_zero, TypeError)
    return where(equal(x, 0), at_zero, where(less(x, 0), 0, where(greater(x, 0), 1, x)))


# Steps and scales ----------------------------------------------------------------------------------------------------


@fusible
def ldexp(x: Any, other: Any) -> Tensor:
    """Return x * 2**other; of integers in Float32."""
    if not isinstance(x, Tensor) and not isinstance(other, Tensor):
        raise wrong("Ldexp", "x", "a Tensor, or 'other' one", x, TypeError)
    scale = pow(2.0, other) if isinstance(other, Tensor) else _power_of_two(arguments.real("Ldexp", "other", other))
    return combined(_MUL, x, scale, lambda first, second: floating(first) * floating(second))


def _power_of_two(exponent: float) -> float:
    try:
        return 2.0**exponent
    except OverflowError:
        return math.inf


_STEPS = {BF16: 2.0**-7, F16: 2.0**-10, F32: 2.0**-23, F64: 2.0**-52}
"""The distance from 1 to the next larger number, by dtype."""


@fusible
def eps(x: Any) -> Tensor:
    """Return the distance from 1 to the next larger number of the dtype, in the shape of `x`."""
    given = float_tensor("Eps", x, "x")
    return apply(made(Broadcast, given.type), constant(_STEPS[given.dtype], given.dtype))


@fusible
def float_power(input: Any, exponent: Any) -> Tensor:
    """Return `input` to the power of `exponent`, in Float64, or Complex128 if one is complex; one of them is a Tensor."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise wrong("FloatPower", "input", "a Tensor, or 'exponent' one", input, TypeError)
    to = C128 if any(isinstance(x, Tensor) and x.dtype.is_complex for x in (input, exponent)) else F64
    pair = [x.astype(to, copy=False) if isinstance(x, Tensor) else arguments.real("FloatPower", name, x)
            for name, x in (("input", input), ("exponent", exponent))]
    return pow(*pair)


@fusible
def float_power_ext(input: Any, exponent: Any) -> Tensor:
    """Return `input` to the power of `exponent`, in Float64, or Complex128 if one is complex; one of them is a Tensor."""
    return float_power(input, exponent)


@fusible
def real(input: Any) -> Tensor:
    """Return the real part of each element; a tensor that is not complex itself."""
    x = operand("Real", input)
    return apply(made(complex_numbers.RealPart), x) if x.dtype.is_complex else x


@fusible
def imag(input: Any) -> Tensor:
    """Return the imaginary part of each element: zeros of a tensor that is not complex."""
    x = operand("Imag", input)
    if x.dtype.is_complex:
        return apply(made(complex_numbers.ImaginaryPart), x)
    return apply(made(Broadcast, x.type), constant(False if x.dtype is BOOL else 0, x.dtype))


@fusible
def conj(input: Any) -> Tensor:
    """Return the complex conjugate of each element, a tensor that is not complex itself; raise TypeError for bools."""
    x = operand("Conj", input)
    if x.dtype.is_complex:
        return apply(made(complex_numbers.Conjugate), x)
    if x.dtype is BOOL:
        raise wrong("Conj", "input", "a Tensor of numbers", x, TypeError)
    return x


@fusible
def hypot(input: Any, other: Any) -> Tensor:
    """Return sqrt(input**2 + other**2); the squares of Float32 and narrower types neither overflow nor underflow."""
    def length(first: Tensor, second: Tensor) -> Tensor:
        return apply(_HYPOT, floating(first), floating(second))

    return combined(_MUL, input, other, length)


# Bounds --------------------------------------------------------------------------------------------------------------


def _bounded(op: Any, first_wins: Any, input: Any, other: Any) -> Tensor:
    def chosen(first: Tensor, second: Tensor) -> Tensor:
        if first.dtype is BOOL:
            raise wrong(type(op).__name__, "input", "a Tensor of numbers, as 'other'", first, TypeError)
        first_stays = first_wins(first, second)
        return apply(_SELECT, logical_or(first_stays, isnan(second)) if first.dtype.is_float else first_stays, first, second)

    return combined(op, input, other, chosen)


@fusible
def fmax(input: Any, other: Any) -> Tensor:
    """Return the larger of two, the one that is a number where the other is NaN; the gradient is that of `input` where they are equal."""
    return _bounded(_MAXIMUM, lambda x, y: x >= y, input, other)


@fusible
def fmin(input: Any, other: Any) -> Tensor:
    """Return the smaller of two, the one that is a number where the other is NaN; the gradient is that of `input` where they are equal."""
    return _bounded(_MINIMUM, lambda x, y: x <= y, input, other)


# Formulas ------------------------------------------------------------------------------------------------------------


@fusible
def deg2rad(x: Any) -> Tensor:
    """Return degrees as radians, x * pi / 180."""
    given = float_tensor("Deg2Rad", x, "x")
    return given * (math.pi / 180.0) if given.dtype is F16 else given * math.pi / 180.0


@fusible
def rad2deg(x: Any) -> Tensor:
    """Return radians as degrees, x * 180 / pi."""
    given = float_tensor("Rad2Deg", x, "x")
    return given * (180.0 / math.pi) if given.dtype is F16 else given * 180.0 / math.pi


@fusible
def logit(input: Any, eps: float | None = None) -> Tensor:
    """Return log(x / (1 - x)); with an `eps` of at least 0 of the input limited to [eps, 1 - eps]."""
    x, bound = float_tensor("Logit", input), -1.0 if eps is None else float_only("Logit", "eps", eps)
    z = clamp(x, bound, 1.0 - bound) if bound >= 0 else x
    return log(z / (1.0 - z))


@fusible
def xdivy(x: Any, y: Any) -> Tensor:
    """Return x / y, 0 where x is 0; raise TypeError for integers and bools."""
    def quotient(first: Tensor, second: Tensor) -> Tensor:
        if not first.dtype.is_inexact:
            raise wrong("Xdivy", "x", "a Tensor of a floating point or complex type, or 'y' one", first, TypeError)
        nothing = equal(first, 0)
        return where(nothing, 0.0, first / where(nothing, 1.0, second))

    return combined(_MUL, x, y, quotient)


@fusible
def inv(x: Any) -> Tensor:
    """Return 1 / x; of integers in Float32."""
    return reciprocal(operand("Inv", x, "x"))


# Questions -----------------------------------------------------------------------------------------------------------


def _infinite(op: str, input: Any, sign_: int) -> Tensor:
    x = operand(op, input)
    return equal(float_tensor(op, x), sign_ * math.inf)


@fusible
def isposinf(input: Any) -> Tensor:
    """Return for each element of a Tensor of floats whether it is positive infinity."""
    return _infinite("IsPosInf", input, 1)


@fusible
def isneginf(input: Any) -> Tensor:
    """Return for each element of a Tensor of floats whether it is negative infinity."""
    return _infinite("IsNegInf", input, -1)


@fusible
def isnan_ext(tensor: Any) -> Tensor:
    """Return for each element whether it is NaN."""
    return isnan(tensor)


@fusible
def isreal(input: Any) -> Tensor:
    """Return for each element whether its imaginary part is 0, as it is in a tensor that is not complex."""
    x = operand("IsReal", input)
    if x.dtype.is_complex:
        return equal(imag(x), 0)
    return apply(made(Broadcast, x.type.with_dtype(BOOL)), constant(True, BOOL))


def is_nonzero(input: Any) -> Any:
    """Return whether the one element of a tensor is not 0: a bool, in a graph a run-time one."""
    x = operand("IsNonzero", input)
    if x.size != 1:
        raise wrong("IsNonzero", "input", "of 1 element", x)
    return as_bools(reshape(x, ())).item()


def is_tensor(obj: Any) -> bool:
    """Return whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Any) -> bool:
    """Return whether the dtype of a tensor is a floating point type."""
    return operand("IsFloatingPoint", input).dtype.is_float


def is_complex(input: Any) -> bool:
    """Return whether the dtype of a tensor is complex."""
    return operand("IsComplex", input).dtype.is_complex


@fusible
def angle(input: Any) -> Tensor:
    """Return the angles of complex numbers, in [-pi, pi]: those between the positive real axis and the number.

    gradient  i * x / |x|^2 * ct, 0 at 0
    ct        the gradient of the result
    """
    x = operand("Angle", input)
    if not x.dtype.is_complex:
        raise wrong("Angle", "input", "a Tensor of a complex type", x, TypeError)
    return atan2(imag(x), real(x))


@fusible
def polar(abs: Any, angle: Any) -> Tensor:
    """Return the complex numbers with these absolute values and angles, both of Float32 or both of Float64; their shapes broadcast."""
    size, turned = operand("Polar", abs, "abs"), operand("Polar", angle, "angle")
    return complex_of(size * cos(turned), size * sin(turned))


@fusible
def view_as_real(input: Any) -> Tensor:
    """Return complex numbers as pairs of floats, the real and the imaginary part along a new last axis."""
    x = operand("ViewAsReal", input)
    if not x.dtype.is_complex:
        raise wrong("ViewAsReal", "input", "a Tensor of a complex type", x, TypeError)
    return parts.stack((real(x), imag(x)), -1)


@fusible
def complex_abs(x: Any) -> Tensor:
    """Return the absolute values of complex numbers, as floats."""
    given = operand("ComplexAbs", x, "x")
    if not given.dtype.is_complex:
        raise wrong("ComplexAbs", "x", "a Tensor of a complex type", given, TypeError)
    return real(abs(given))


@fusible
def complex_of(real: Any, imag: Any) -> Tensor:
    """Return complex numbers from tensors of their real and imaginary parts, both of Float32 or both of Float64; their shapes broadcast."""
    return apply(made(complex_numbers.ComplexNumber), operand("Complex", real, "real"), operand("Complex", imag, "imag"))


@fusible
def approximate_equal(x: Any, y: Any, tolerance: float = 1e-05) -> Tensor:
    """Return whether two tensors of floats, of one shape, differ by less than a tolerance."""
    bound = arguments.real("ApproximateEqual", "tolerance", tolerance)
    first, second = operand("ApproximateEqual", x, "x"), operand("ApproximateEqual", y, "y")
    if first.shape != second.shape:
        raise wrong("ApproximateEqual", "y", f"of the shape of 'x', {first.shape}", second, ArgumentMistake)
    return less(abs(float_tensor("ApproximateEqual", sub(first, second), "x")), bound)
