"""Operators as objects that act element by element: arithmetic, comparison, logic, casts."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import DType
from adjoint.ops import arithmetic
from adjoint.ops.arguments import real
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "ACos", "Abs", "Add", "AddN", "ApproximateEqual", "Asin", "Atan", "Atan2", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Cast", "Ceil",
    "Cos", "Cosh", "Depend", "Div", "DivNoNan", "Equal", "Erf", "Erfc", "Exp", "Expm1", "Floor", "FloorDiv", "FloorMod", "Greater",
    "GreaterEqual", "Identity", "Inv", "Invert", "IsFinite", "IsInf", "IsNan", "Lerp", "Less", "LessEqual", "Log", "Log1p", "LogicalAnd",
    "LogicalNot", "LogicalOr", "LogicalXor", "MaskedFill", "Maximum", "Minimum", "Mod", "Mul", "Neg", "NotEqual", "Pow", "RealDiv",
    "Reciprocal", "Rint", "Round", "Rsqrt", "Select", "Sign", "Sin", "Sinh", "Sqrt", "Square", "SquaredDifference", "StopGradient", "Sub",
    "Tan", "TensorAdd", "Trunc", "Xlogy",
]

# Arithmetic ----------------------------------------------------------------------------------------------------------

Add = plain("Add", arithmetic.add)
TensorAdd = plain("TensorAdd", arithmetic.add)
Sub = plain("Sub", arithmetic.sub)
Mul = plain("Mul", arithmetic.mul)


class RealDiv(Plain):
    """x / y, of integers in Float32."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.true_divide(x, y)


class Div(Plain):
    """input / other, of integers in Float32."""

    def __call__(self, input: Any, other: Any) -> Tensor:
        return arithmetic.true_divide(input, other)


class FloorDiv(Plain):
    """The largest whole number not above input / other."""

    def __call__(self, input: Any, other: Any) -> Tensor:
        return arithmetic.floor_div(input, other)


Mod = plain("Mod", arithmetic.truncated_mod)
FloorMod = plain("FloorMod", arithmetic.floor_mod)


class DivNoNan(Plain):
    """x1 / x2, 0 where x2 is 0."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        quotient = arithmetic.true_divide(x1, arithmetic.where(arithmetic.equal(x2, 0), 1, x2))
        return arithmetic.where(arithmetic.equal(x2, 0), constant(0.0, quotient.dtype), quotient)


class SquaredDifference(Plain):
    """(x - y) ** 2."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.square(arithmetic.sub(x, y))


AddN = plain("AddN", arithmetic.addn)
Neg = plain("Neg", arithmetic.neg)
Pow = plain("Pow", arithmetic.pow)
Exp = plain("Exp", arithmetic.exp)
Expm1 = plain("Expm1", arithmetic.expm1)
Log = plain("Log", arithmetic.log)
Log1p = plain("Log1p", arithmetic.log1p)
Sqrt = plain("Sqrt", arithmetic.sqrt)
Rsqrt = plain("Rsqrt", arithmetic.rsqrt)
Square = plain("Square", arithmetic.square)
Reciprocal = plain("Reciprocal", arithmetic.reciprocal)
Inv = plain("Inv", arithmetic.reciprocal)
Abs = plain("Abs", arithmetic.abs)
Sign = plain("Sign", arithmetic.sign)
Floor = plain("Floor", arithmetic.floor)
Ceil = plain("Ceil", arithmetic.ceil)


class Round(Plain):
    """The nearest whole number, or one of so many decimals, the even one of two."""

    def __call__(self, input: Any, decimals: int = 0) -> Tensor:
        return arithmetic.round(input, decimals=decimals)


class Rint(Plain):
    """The nearest whole number, the even one of two."""

    def __call__(self, input_x: Any) -> Tensor:
        return arithmetic.round(input_x)


Trunc = plain("Trunc", arithmetic.trunc)
Sin = plain("Sin", arithmetic.sin)
Cos = plain("Cos", arithmetic.cos)
Tan = plain("Tan", arithmetic.tan)
Sinh = plain("Sinh", arithmetic.sinh)
Cosh = plain("Cosh", arithmetic.cosh)
Asin = plain("Asin", arithmetic.asin)
ACos = plain("ACos", arithmetic.acos)
Atan = plain("Atan", arithmetic.atan)
Atan2 = plain("Atan2", arithmetic.atan2)
Erf = plain("Erf", arithmetic.erf)
Erfc = plain("Erfc", arithmetic.erfc)
Maximum = plain("Maximum", arithmetic.maximum)
Minimum = plain("Minimum", arithmetic.minimum)
Xlogy = plain("Xlogy", arithmetic.xlogy)
Lerp = plain("Lerp", arithmetic.lerp)


# Comparison and logic ------------------------------------------------------------------------------------------------


Equal = plain("Equal", arithmetic.equal)
NotEqual = plain("NotEqual", arithmetic.not_equal)
Less = plain("Less", arithmetic.less)
LessEqual = plain("LessEqual", arithmetic.less_equal)
Greater = plain("Greater", arithmetic.greater)
GreaterEqual = plain("GreaterEqual", arithmetic.greater_equal)


class LogicalAnd(Plain):
    """Whether both are true."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.logical_and(x, y)


class LogicalOr(Plain):
    """Whether one is true."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.logical_or(x, y)


LogicalNot = plain("LogicalNot", arithmetic.logical_not)
LogicalXor = plain("LogicalXor", arithmetic.logical_xor)
BitwiseAnd = plain("BitwiseAnd", arithmetic.bitwise_and)
BitwiseOr = plain("BitwiseOr", arithmetic.bitwise_or)
BitwiseXor = plain("BitwiseXor", arithmetic.bitwise_xor)
Invert = plain("Invert", arithmetic.invert)
IsNan = plain("IsNan", arithmetic.isnan)
IsInf = plain("IsInf", arithmetic.isinf)
IsFinite = plain("IsFinite", arithmetic.isfinite)


class ApproximateEqual(Primitive):
    """Whether two numbers differ by less than a tolerance."""

    def __init__(self, tolerance: float = 1e-05):
        super().__init__(tolerance=real("ApproximateEqual", "tolerance", tolerance))

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.less(arithmetic.abs(arithmetic.sub(x, y)), self.tolerance)


Select = plain("Select", arithmetic.select)
MaskedFill = plain("MaskedFill", arithmetic.masked_fill)


class Cast(Plain):
    """The numbers in another dtype."""

    def __call__(self, input_x: Any, dtype: DType) -> Tensor:
        return arithmetic.cast(input_x, dtype)


class Identity(Plain):
    """The tensor itself, in memory of its own."""

    def __call__(self, input_x: Any) -> Tensor:
        return arithmetic.identity(input_x)


StopGradient = plain("StopGradient", arithmetic.stop_gradient)


Depend = plain("Depend", arithmetic.depend)
