"""Operators as objects that act element by element: arithmetic, comparison, logic, casts."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import DType
from adjoint.ops import arithmetic
from adjoint.ops.arguments import real
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "AddN", "ApproximateEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Cast", "Depend", "Div", "DivNoNan", "Identity", "Inv",
    "Invert", "Lerp", "LogicalAnd", "LogicalOr", "MaskedFill", "Mod", "RealDiv", "Reciprocal", "Rint", "Round", "Select",
    "SquaredDifference", "StopGradient", "Trunc", "Xlogy",
]

# Arithmetic ----------------------------------------------------------------------------------------------------------



class RealDiv(Plain):
    """x / y, of integers in Float32."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.true_divide(x, y)


class Div(Plain):
    """input / other, of integers in Float32."""

    def __call__(self, input: Any, other: Any) -> Tensor:
        return arithmetic.true_divide(input, other)


Mod = plain("Mod", arithmetic.truncated_mod)


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
Reciprocal = plain("Reciprocal", arithmetic.reciprocal)
Inv = plain("Inv", arithmetic.reciprocal)


class Round(Plain):
    """The nearest whole number, or one of so many decimals, the even one of two."""

    def __call__(self, input: Any, decimals: int = 0) -> Tensor:
        return arithmetic.round(input, decimals=decimals)


class Rint(Plain):
    """The nearest whole number, the even one of two."""

    def __call__(self, input_x: Any) -> Tensor:
        return arithmetic.round(input_x)


Trunc = plain("Trunc", arithmetic.trunc)
Xlogy = plain("Xlogy", arithmetic.xlogy)
Lerp = plain("Lerp", arithmetic.lerp)


# Comparison and logic ------------------------------------------------------------------------------------------------




class LogicalAnd(Plain):
    """Whether both are true."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.logical_and(x, y)


class LogicalOr(Plain):
    """Whether one is true."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        return arithmetic.logical_or(x, y)


BitwiseAnd = plain("BitwiseAnd", arithmetic.bitwise_and)
BitwiseOr = plain("BitwiseOr", arithmetic.bitwise_or)
BitwiseXor = plain("BitwiseXor", arithmetic.bitwise_xor)
Invert = plain("Invert", arithmetic.invert)


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
