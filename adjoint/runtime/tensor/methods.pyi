"""Written by `make docs` from the classes of the ops, and compared with them by a test."""

from typing import Any

from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Methods"]

class Methods:
    """The methods of Tensor that are one op each, for editors and type checkers; `adjoint.ops` sets them."""

    def sigmoid(self) -> Tensor:
        """`ops.sigmoid` of this tensor."""

    def sigmoid_(self) -> Tensor:
        """`ops.sigmoid` of this tensor, written into it."""

    def mul(self, other: Any) -> Tensor:
        """`ops.mul` of this tensor."""

    def mul_(self, other: Any) -> Tensor:
        """`ops.mul` of this tensor, written into it."""

    def floor_divide(self, other: Any) -> Tensor:
        """`ops.floor_divide` of this tensor."""

    def floor_divide_(self, other: Any) -> Tensor:
        """`ops.floor_divide` of this tensor, written into it."""

    def neg(self) -> Tensor:
        """`ops.neg` of this tensor."""

    def negative(self) -> Tensor:
        """`ops.neg` of this tensor."""

    def abs(self) -> Tensor:
        """`ops.abs` of this tensor."""

    def absolute(self) -> Tensor:
        """`ops.abs` of this tensor."""

    def sign(self) -> Tensor:
        """`ops.sign` of this tensor."""

    def sign_(self) -> Tensor:
        """`ops.sign` of this tensor, written into it."""

    def sqrt(self) -> Tensor:
        """`ops.sqrt` of this tensor."""

    def rsqrt(self) -> Tensor:
        """`ops.rsqrt` of this tensor."""

    def square(self) -> Tensor:
        """`ops.square` of this tensor."""

    def maximum(self, other: Any) -> Tensor:
        """`ops.maximum` of this tensor."""

    def minimum(self, other: Any) -> Tensor:
        """`ops.minimum` of this tensor."""

    def floor(self) -> Tensor:
        """`ops.floor` of this tensor."""

    def floor_(self) -> Tensor:
        """`ops.floor` of this tensor, written into it."""

    def ceil(self) -> Tensor:
        """`ops.ceil` of this tensor."""

    def nextafter(self, other: Any) -> Tensor:
        """`ops.nextafter` of this tensor."""

    def i0(self) -> Tensor:
        """`ops.i0` of this tensor."""

    def less(self, other: Any) -> Tensor:
        """`ops.less` of this tensor."""

    def lt(self, other: Any) -> Tensor:
        """`ops.less` of this tensor."""

    def less_equal(self, other: Any) -> Tensor:
        """`ops.less_equal` of this tensor."""

    def le(self, other: Any) -> Tensor:
        """`ops.less_equal` of this tensor."""

    def greater(self, other: Any) -> Tensor:
        """`ops.greater` of this tensor."""

    def gt(self, other: Any) -> Tensor:
        """`ops.greater` of this tensor."""

    def greater_equal(self, other: Any) -> Tensor:
        """`ops.greater_equal` of this tensor."""

    def ge(self, other: Any) -> Tensor:
        """`ops.greater_equal` of this tensor."""

    def equal(self, other: Any) -> Tensor:
        """`ops.equal` of this tensor."""

    def eq(self, other: Any) -> Tensor:
        """`ops.equal` of this tensor."""

    def not_equal(self, other: Any) -> Tensor:
        """`ops.not_equal` of this tensor."""

    def ne(self, other: Any) -> Tensor:
        """`ops.not_equal` of this tensor."""

    def isnan(self) -> Tensor:
        """`ops.isnan` of this tensor."""

    def isinf(self) -> Tensor:
        """`ops.isinf` of this tensor."""

    def isfinite(self) -> Tensor:
        """`ops.isfinite` of this tensor."""

    def lgamma(self) -> Tensor:
        """`ops.lgamma` of this tensor."""

    def digamma(self) -> Tensor:
        """`ops.digamma` of this tensor."""

    def igamma(self, other: Any) -> Any:
        """`ops.igamma` of this tensor."""

    def igammac(self, other: Any) -> Any:
        """`ops.igammac` of this tensor."""

    def logical_and(self, other: Any) -> Tensor:
        """`ops.logical_and` of this tensor."""

    def logical_or(self, other: Any) -> Tensor:
        """`ops.logical_or` of this tensor."""

    def logical_xor(self, other: Any) -> Tensor:
        """`ops.logical_xor` of this tensor."""

    def logical_not(self) -> Tensor:
        """`ops.logical_not` of this tensor."""

    def pow(self, exponent: Any) -> Tensor:
        """`ops.pow` of this tensor."""

    def exp(self) -> Tensor:
        """`ops.exp` of this tensor."""

    def exp_(self) -> Tensor:
        """`ops.exp` of this tensor, written into it."""

    def exp2(self) -> Tensor:
        """`ops.exp2` of this tensor."""

    def expm1(self) -> Tensor:
        """`ops.expm1` of this tensor."""

    def log(self) -> Tensor:
        """`ops.log` of this tensor."""

    def log_(self) -> Tensor:
        """`ops.log` of this tensor, written into it."""

    def log2(self) -> Tensor:
        """`ops.log2` of this tensor."""

    def log10(self) -> Tensor:
        """`ops.log10` of this tensor."""

    def log1p(self) -> Tensor:
        """`ops.log1p` of this tensor."""

    def sin(self) -> Tensor:
        """`ops.sin` of this tensor."""

    def cos(self) -> Tensor:
        """`ops.cos` of this tensor."""

    def tan(self) -> Tensor:
        """`ops.tan` of this tensor."""

    def asin(self) -> Tensor:
        """`ops.asin` of this tensor."""

    def arcsin(self) -> Tensor:
        """`ops.arcsin` of this tensor."""

    def acos(self) -> Tensor:
        """`ops.acos` of this tensor."""

    def arccos(self) -> Tensor:
        """`ops.acos` of this tensor."""

    def atan(self) -> Tensor:
        """`ops.atan` of this tensor."""

    def arctan(self) -> Tensor:
        """`ops.atan` of this tensor."""

    def sinh(self) -> Tensor:
        """`ops.sinh` of this tensor."""

    def cosh(self) -> Tensor:
        """`ops.cosh` of this tensor."""

    def asinh(self) -> Tensor:
        """`ops.asinh` of this tensor."""

    def arcsinh(self) -> Tensor:
        """`ops.asinh` of this tensor."""

    def acosh(self) -> Tensor:
        """`ops.acosh` of this tensor."""

    def arccosh(self) -> Tensor:
        """`ops.acosh` of this tensor."""

    def atanh(self) -> Tensor:
        """`ops.atanh` of this tensor."""

    def arctanh(self) -> Tensor:
        """`ops.atanh` of this tensor."""

    def atan2(self, other: Any) -> Tensor:
        """`ops.atan2` of this tensor."""

    def arctan2(self, other: Any) -> Tensor:
        """`ops.atan2` of this tensor."""

    def tanh(self) -> Tensor:
        """`ops.tanh` of this tensor."""

    def tanh_(self) -> Tensor:
        """`ops.tanh` of this tensor, written into it."""

    def erf(self) -> Tensor:
        """`ops.erf` of this tensor."""

    def erfc(self) -> Tensor:
        """`ops.erfc` of this tensor."""

    def erfinv(self) -> Tensor:
        """`ops.erfinv` of this tensor."""

    def erfinv_(self) -> Tensor:
        """`ops.erfinv` of this tensor, written into it."""

    def sinc(self) -> Tensor:
        """`ops.sinc` of this tensor."""
