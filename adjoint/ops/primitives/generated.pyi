"""Written by `make docs` from the classes of the ops, and compared with them by a test."""

from typing import Any

from adjoint.ops.primitive import Plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "ACos", "Abs", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e",
    "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Ceil", "Cos", "Cosh", "Digamma",
    "Equal", "Erf", "Erfc", "Erfinv", "Exp", "Expm1", "Floor", "FloorDiv", "FloorMod", "Greater", "GreaterEqual", "Igamma", "Igammac",
    "IsFinite", "IsInf", "IsNan", "Less", "LessEqual", "Lgamma", "Log", "Log1p", "LogicalNot", "LogicalXor", "Maximum", "Minimum",
    "Mul", "MulNoNan", "Neg", "NextAfter", "NotEqual", "PopulationCount", "Pow", "Rsqrt", "Sigmoid", "Sign", "Sin", "Sinc", "Sinh",
    "Sqrt", "Square", "Sub", "Tan", "Tanh", "TensorAdd",
]

class Sigmoid(Plain):
    """`ops.sigmoid` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Add(Plain):
    """`ops.add` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class TensorAdd(Plain):
    """`ops.add` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Sub(Plain):
    """`ops.sub` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Mul(Plain):
    """`ops.mul` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class MulNoNan(Plain):
    """`ops.mul_no_nan` as an object."""

    def __call__(self, x: Any, y: Any) -> Tensor: ...

class FloorDiv(Plain):
    """`ops.floor_divide` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class FloorMod(Plain):
    """`ops.floor_mod` as an object."""

    def __call__(self, x: Any, y: Any) -> Tensor: ...

class Neg(Plain):
    """`ops.neg` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Abs(Plain):
    """`ops.abs` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Sign(Plain):
    """`ops.sign` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Sqrt(Plain):
    """`ops.sqrt` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class Rsqrt(Plain):
    """`ops.rsqrt` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Square(Plain):
    """`ops.square` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Maximum(Plain):
    """`ops.maximum` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Minimum(Plain):
    """`ops.minimum` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Floor(Plain):
    """`ops.floor` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Ceil(Plain):
    """`ops.ceil` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class NextAfter(Plain):
    """`ops.nextafter` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class BesselI0(Plain):
    """`ops.bessel_i0` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselI0e(Plain):
    """`ops.bessel_i0e` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselI1(Plain):
    """`ops.bessel_i1` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselI1e(Plain):
    """`ops.bessel_i1e` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselJ0(Plain):
    """`ops.bessel_j0` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselJ1(Plain):
    """`ops.bessel_j1` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselY0(Plain):
    """`ops.bessel_y0` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselY1(Plain):
    """`ops.bessel_y1` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselK0(Plain):
    """`ops.bessel_k0` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselK0e(Plain):
    """`ops.bessel_k0e` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselK1(Plain):
    """`ops.bessel_k1` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class BesselK1e(Plain):
    """`ops.bessel_k1e` as an object."""

    def __call__(self, x: Any) -> Tensor: ...

class Less(Plain):
    """`ops.less` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class LessEqual(Plain):
    """`ops.less_equal` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Greater(Plain):
    """`ops.greater` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class GreaterEqual(Plain):
    """`ops.greater_equal` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Equal(Plain):
    """`ops.equal` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class NotEqual(Plain):
    """`ops.not_equal` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class IsNan(Plain):
    """`ops.isnan` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class IsInf(Plain):
    """`ops.isinf` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class IsFinite(Plain):
    """`ops.isfinite` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Lgamma(Plain):
    """`ops.lgamma` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Digamma(Plain):
    """`ops.digamma` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Igamma(Plain):
    """`ops.igamma` as an object."""

    def __call__(self, input: Any, other: Any) -> Any: ...

class Igammac(Plain):
    """`ops.igammac` as an object."""

    def __call__(self, input: Any, other: Any) -> Any: ...

class LogicalXor(Plain):
    """`ops.logical_xor` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class LogicalNot(Plain):
    """`ops.logical_not` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class PopulationCount(Plain):
    """`ops.population_count` as an object."""

    def __call__(self, input_x: Any) -> Tensor: ...

class Pow(Plain):
    """`ops.pow` as an object."""

    def __call__(self, input: Any, exponent: Any) -> Tensor: ...

class Exp(Plain):
    """`ops.exp` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Expm1(Plain):
    """`ops.expm1` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Log(Plain):
    """`ops.log` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Log1p(Plain):
    """`ops.log1p` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Sin(Plain):
    """`ops.sin` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Cos(Plain):
    """`ops.cos` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Tan(Plain):
    """`ops.tan` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Asin(Plain):
    """`ops.asin` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class ACos(Plain):
    """`ops.acos` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Atan(Plain):
    """`ops.atan` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Sinh(Plain):
    """`ops.sinh` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Cosh(Plain):
    """`ops.cosh` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Asinh(Plain):
    """`ops.asinh` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Acosh(Plain):
    """`ops.acosh` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Atanh(Plain):
    """`ops.atanh` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Atan2(Plain):
    """`ops.atan2` as an object."""

    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Tanh(Plain):
    """`ops.tanh` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Erf(Plain):
    """`ops.erf` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Erfc(Plain):
    """`ops.erfc` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Erfinv(Plain):
    """`ops.erfinv` as an object."""

    def __call__(self, input: Any) -> Tensor: ...

class Sinc(Plain):
    """`ops.sinc` as an object."""

    def __call__(self, input: Any) -> Tensor: ...
