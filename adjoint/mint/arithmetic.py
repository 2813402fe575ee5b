"""Arithmetic, comparison and logic, element by element.

Operands are Tensors or numbers; they are broadcast and converted to one dtype.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.transcendental import Acosh, Asinh, Atanh
from adjoint.ir.types import C128, F64, DType
from adjoint.numpy import elementwise, transcendental
from adjoint.ops import activations, arithmetic, reduction
from adjoint.ops.arguments import floating, number, operand, wrong
from adjoint.ops.arithmetic import (
    abs,
    addcdiv,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    ceil,
    clamp,
    clip,
    cos,
    cosh,
    div,
    eq,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmod,
    greater,
    greater_equal,
    gt,
    isclose,
    isfinite,
    isinf,
    lerp,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    maximum,
    minimum,
    mul,
    nan_to_num,
    ne,
    neg,
    negative,
    not_equal,
    reciprocal,
    remainder,
    round,
    rsqrt,
    sign,
    sin,
    sinc,
    sinh,
    square,
    tan,
    trunc,
    xlogy,
)
from adjoint.ops.arithmetic import less_equal as le
from adjoint.ops.floats import imag, polar, real
from adjoint.ops.generated import sigmoid, tanh
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor

__all__ = [
    "abs", "acos", "acosh", "add", "addcdiv", "allclose", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp", "clip", "clone",
    "cos", "cosh", "div", "divide", "eq", "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fix", "float_power", "floor",
    "floor_divide", "fmod", "frac", "gcd", "greater", "greater_equal", "gt", "imag", "isclose", "isfinite", "isinf", "isnan",
    "isneginf", "le", "lerp", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "nan_to_num", "ne", "neg", "negative", "not_equal",
    "polar", "pow", "real", "reciprocal", "remainder", "round", "rsqrt", "sigmoid", "sign", "sin", "sinc", "sinh", "softmax", "sqrt",
    "square", "sub", "tan", "tanh", "trunc", "xlogy",
]


@fusible
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return input + alpha * other."""
    return arithmetic.add(input, other if number("Add", "alpha", alpha) == 1 else arithmetic.mul(other, alpha))


@fusible
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """Return input - alpha * other."""
    return arithmetic.subtract(input, other, alpha=alpha)


@fusible
def divide(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Return input / other: see `ops.div`."""
    return div(input, other, rounding_mode=rounding_mode)


@fusible
def pow(input: Any, exponent: Any) -> Tensor:
    """Return input to the power of exponent; unlike that of `ops.pow`, the gradient of 0**0 is 0."""
    if not (isinstance(input, Tensor) and input.dtype.is_float) or (type(exponent) in (int, float) and exponent != 0):
        return arithmetic.pow(input, exponent)
    nothing = arithmetic.logical_and(arithmetic.equal(input, 0), arithmetic.equal(exponent, 0))
    return arithmetic.pow(arithmetic.where(nothing, 1.0, input), exponent)


@fusible
def float_power(input: Any, exponent: Any) -> Tensor:
    """Return input to the power of exponent, in Float64, or Complex128 if one is complex."""
    to = C128 if any(isinstance(x, Tensor) and x.dtype.is_complex for x in (input, exponent)) else F64
    return pow(*(x.astype(to, copy=False) if isinstance(x, Tensor) else x for x in (input, exponent)))


@fusible
def sqrt(input: Any) -> Tensor:
    """Return the square root; for integers, in Float32."""
    return arithmetic.sqrt(operand("Sqrt", input))


@fusible
def clone(input: Any) -> Tensor:
    """Return a new tensor with the same numbers; gradients flow through it."""
    return operand("Clone", input).copy()


@fusible
def frac(input: Any) -> Tensor:
    """Return the fractional part, with the sign of the number."""
    return operand("Frac", input) - trunc(input)


@fusible
def fix(input: Any) -> Tensor:
    """Same as `trunc`."""
    return trunc(input)


@fusible
def arcsin(x: Any) -> Tensor:
    """Return the angles in -pi/2..pi/2 whose sine the tensor holds."""
    return asin(x)


@fusible
def softmax(input: Any, dim: int, *, dtype: DType | None = None) -> Tensor:
    """Return exponentials divided by their sum along an axis, computed in `dtype` if that is given."""
    return activations.softmax(input, dim, dtype=dtype)


@fusible
def asin(input: Any) -> Tensor:
    """Return the inverse sine, NaN outside of [-1, 1]; for integers, in Float32."""
    return arithmetic.asin(floating(operand("Asin", input)))


@fusible
def acos(input: Any) -> Tensor:
    """Return the inverse cosine, NaN outside of [-1, 1]; for integers, in Float32."""
    return arithmetic.acos(floating(operand("Acos", input)))


@fusible
def atan(input: Any) -> Tensor:
    """Return the inverse tangent; for integers, in Float32."""
    return arithmetic.atan(floating(operand("Atan", input)))


@fusible
def atan2(input: Any, other: Any) -> Tensor:
    """Return the angle of the point (other, input); for integers, in Float32."""
    return arithmetic.atan2(*(floating(x) if isinstance(x, Tensor) else x for x in (input, other)))


@fusible
def asinh(input: Any) -> Tensor:
    """Return the inverse hyperbolic sine; for integers, in Float32."""
    return apply(made(Asinh), floating(operand("Asinh", input)))


@fusible
def acosh(input: Any) -> Tensor:
    """Return the non-negative inverse hyperbolic cosine, NaN below 1; for integers, in Float32."""
    return apply(made(Acosh), floating(operand("Acosh", input)))


@fusible
def atanh(input: Any) -> Tensor:
    """Return the inverse hyperbolic tangent, NaN outside of [-1, 1]; for integers, in Float32."""
    return apply(made(Atanh), floating(operand("Atanh", input)))


@fusible
def logaddexp(input: Any, other: Any) -> Tensor:
    """Return log(exp(input) + exp(other)), without overflow."""
    return transcendental.logaddexp(operand("LogAddExp", input), operand("LogAddExp", other, "other"))


@fusible
def logaddexp2(input: Any, other: Any) -> Tensor:
    """Return log2(2**input + 2**other), without overflow."""
    return transcendental.logaddexp2(operand("LogAddExp2", input), operand("LogAddExp2", other, "other"))


@fusible
def gcd(input: Any, other: Any) -> Tensor:
    """Return the greatest common divisor of integers; that of two zeros is 0."""
    return elementwise.gcd(operand("Gcd", input), operand("Gcd", other, "other"))


@fusible
def bitwise_not(input: Any) -> Tensor:
    """Return integers or bools with all bits inverted."""
    return arithmetic.invert(input)


@fusible
def isnan(tensor: Any) -> Tensor:
    """Return for each element whether it is NaN."""
    return arithmetic.isnan(tensor)


@fusible
def isneginf(input: Any) -> Tensor:
    """Return for each element whether it is negative infinity."""
    x = operand("IsNegInf", input)
    if x.dtype.is_complex:
        raise wrong("IsNegInf", "input", "a Tensor of any dtype but a complex one", x, TypeError)
    return arithmetic.equal(x, -math.inf)


@fusible
def equal(input: Any, other: Any) -> bool:
    """Return whether two tensors have the same shape and elements: a bool, in a graph a run-time one."""
    x, y = operand("Equal", input), operand("Equal", other, "other")
    same: Any = x.shape == y.shape and reduction.all(arithmetic.equal(x, y)).item()
    return same


@fusible
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether all elements are close (see `isclose`): a bool, in a graph a run-time one."""
    close: Any = reduction.all(isclose(input, as_tensor(other), rtol, atol, equal_nan)).item()
    return close


arccos, arctan, arctan2, arccosh, arcsinh, arctanh = acos, atan, atan2, acosh, asinh, atanh
