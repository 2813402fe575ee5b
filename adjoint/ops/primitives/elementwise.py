"""Operators as objects that act element by element: arithmetic, comparison, logic, casts."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import I64, DType
from adjoint.ops import arithmetic, floats, integers, reduction
from adjoint.ops.arguments import flag, float_only, float_tensor, operand, real, tensors_argument, wrong
from adjoint.ops.primitive import Plain, Primitive, plain
from adjoint.runtime.tensor.run_time_checks import TRUE, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "AccumulateNV2", "AddN", "Addcdiv", "Addcmul", "Angle", "ApproximateEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Cast",
    "CheckNumerics", "Complex", "ComplexAbs", "Conj", "Depend", "Div", "DivNoNan", "Eps", "Fmax", "Fmin", "Gcd", "Heaviside", "Hypot",
    "Identity", "IdentityN", "Imag", "Inv", "Invert", "IsClose", "Lcm", "LeftShift", "Lerp", "LogicalAnd", "LogicalOr", "Logit",
    "MaskedFill", "Mod", "NanToNum", "Polar", "Real", "RealDiv", "Reciprocal", "RightShift", "Rint", "Round", "Select", "SquareSumAll",
    "SquaredDifference", "StopGradient", "Trunc", "TruncateDiv", "TruncateMod", "Xdivy", "Xlogy",
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
    """(x - y) ** 2; of complex numbers (x - y) * conj(x - y)."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        difference = arithmetic.sub(x, y)
        return difference * floats.conj(difference) if difference.dtype.is_complex else arithmetic.square(difference)


class Addcdiv(Plain):
    """input + value * tensor1 / tensor2."""

    def __call__(self, input: Any, tensor1: Any, tensor2: Any, value: Any) -> Tensor:
        return arithmetic.addcdiv(input, tensor1, tensor2, value)


class Addcmul(Plain):
    """input + value * tensor1 * tensor2."""

    def __call__(self, input: Any, tensor1: Any, tensor2: Any, value: Any) -> Tensor:
        return arithmetic.addcmul(input, tensor1, tensor2, value)


class SquareSumAll(Plain):
    """The sums of the squares of two tensors of floats, of one shape."""

    def __call__(self, x: Any, y: Any) -> tuple[Tensor, Tensor]:
        first, second = (float_tensor("SquareSumAll", t, name) for name, t in (("x", x), ("y", y)))
        if second.shape != first.shape:
            raise wrong("SquareSumAll", "y", f"of the shape of 'x', {first.shape}", second)
        return reduction.sum(arithmetic.square(first)), reduction.sum(arithmetic.square(second))


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


TruncateDiv = plain("TruncateDiv", integers.truncate_div)
TruncateMod = plain("TruncateMod", integers.truncate_mod)
Gcd = plain("Gcd", integers.gcd)
Xdivy = plain("Xdivy", floats.xdivy)
Eps = plain("Eps", floats.eps)


class Lcm(Plain):
    """The least common multiple of integers; 0 if one is 0."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return integers.lcm(x1, x2)


class Fmax(Plain):
    """The larger of two, the one that is a number where the other is NaN."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return floats.fmax(x1, x2)


class Fmin(Plain):
    """The smaller of two, the one that is a number where the other is NaN."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return floats.fmin(x1, x2)


class Heaviside(Plain):
    """0 where `x` is negative, 1 where it is positive, `values` where it is 0."""

    def __call__(self, x: Any, values: Any) -> Tensor:
        return floats.heaviside(x, values)


class Hypot(Plain):
    """sqrt(x1**2 + x2**2)."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return floats.hypot(x1, x2)


class Logit(Primitive):
    """log(x / (1 - x)); with an `eps` of at least 0 of the input limited to [eps, 1 - eps]."""

    def __init__(self, eps: float = -1.0):
        super().__init__(eps=float_only("Logit", "eps", eps))

    def __call__(self, input: Any) -> Tensor:
        return floats.logit(input, self.eps)


class LeftShift(Plain):
    """The bits of `x1` shifted left by `x2`, both tensors."""

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return integers.bitwise_left_shift(operand("LeftShift", x1, "x1"), operand("LeftShift", x2, "x2"))


class RightShift(Plain):
    """The bits of `input_x` shifted right by `input_y`, both tensors."""

    def __call__(self, input_x: Any, input_y: Any) -> Tensor:
        return integers.bitwise_right_shift(operand("RightShift", input_x, "input_x"), operand("RightShift", input_y, "input_y"))


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


class NanToNum(Primitive):
    """The numbers, with others in place of NaN and the infinities: see `ops.nan_to_num`."""

    def __init__(self, nan: float | None = None, posinf: float | None = None, neginf: float | None = None):
        named = {"nan": nan, "posinf": posinf, "neginf": neginf}
        super().__init__(None, **{name: None if value is None else real("NanToNum", name, value) for name, value in named.items()})

    def __call__(self, input: Any) -> Tensor:
        return arithmetic.nan_to_num(float_tensor("NanToNum", input), self.nan, self.posinf, self.neginf)


Real = plain("Real", floats.real)
Imag = plain("Imag", floats.imag)
Conj = plain("Conj", floats.conj)
Complex = plain("Complex", floats.complex_of)
ComplexAbs = plain("ComplexAbs", floats.complex_abs)
Angle = plain("Angle", floats.angle)
Polar = plain("Polar", floats.polar)
AccumulateNV2 = plain("AccumulateNV2", arithmetic.accumulate_n)


class IsClose(Primitive):
    """Whether |input - other| <= atol + rtol * |other|."""

    def __init__(self, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False):
        super().__init__(rtol=real("IsClose", "rtol", rtol), atol=real("IsClose", "atol", atol),
                         equal_nan=flag("IsClose", "equal_nan", equal_nan))

    def __call__(self, input: Any, other: Any) -> Tensor:
        return arithmetic.isclose(input, other, self.rtol, self.atol, self.equal_nan)


class CheckNumerics(Plain):
    """The tensor itself; RuntimeError if one of its numbers is NaN or infinite."""

    def __call__(self, x: Any) -> Tensor:
        given = float_tensor("CheckNumerics", x, "x")

        def finite(x: Tensor) -> None:
            if not bool(reduction.all(arithmetic.isfinite(x))):
                found = "NaN" if bool(reduction.any(arithmetic.isnan(x))) else "Inf"
                raise RuntimeError(f"For 'CheckNumerics', the argument 'x' must be of finite numbers, but got {found} values.")

        checked_on_host(finite, given, conditions=lambda: [(arithmetic.cast(reduction.all(arithmetic.isfinite(given)), I64), TRUE)])
        return given


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


class IdentityN(Plain):
    """The tensors of a tuple or list themselves, in a tuple."""

    def __call__(self, x: Any) -> tuple[Tensor, ...]:
        return tuple(arithmetic.identity(item) for item in tensors_argument("IdentityN", "x", x))


StopGradient = plain("StopGradient", arithmetic.stop_gradient)


Depend = plain("Depend", arithmetic.depend)
