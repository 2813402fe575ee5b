"""Exponentials, logarithms, trigonometric and hyperbolic functions, the error function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import operation, sample
from adjoint.ir.ops import complex_arithmetic, special_values
from adjoint.ir.ops.elementwise import (
    F32_23,
    FULL,
    INEXACT,
    PLAIN_FORMS,
    Array,
    Binary,
    Cotangents,
    Unary,
    dtype_of,
    smooth_binary,
    smooth_unary,
    square,
)
from adjoint.ir.public import Public
from adjoint.ir.types import F32, F64, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = [
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Cos", "Cosh", "Erf", "Erfc", "Erfinv", "Exp", "Exp2",
    "Expm1", "Log", "Log10", "Log1p", "Log2", "Sin", "Sinc", "Sinh", "Tan", "Tanh", "TanhGradient", "XLogY",
]


@operation
class Exp(Unary):
    """e to the power x.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(exp(x))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("exp(input)", functions="tensor_exp", methods="exp exp_")
    accepts = INEXACT
    cost = 8
    pack = "exponential"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return complex_arithmetic.complex_exponential(x) if x.dtype.kind == "c" else np.exp(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("exp", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.conj(node.result)),)


@operation
class Exp2(Unary):
    """2 to the power x.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * log(2) * conj(2**x)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("exp2(input)", primitives="", operands="to floats")
    accepts = INEXACT
    cost = 8
    pack = "exponential"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return complex_arithmetic.complex_power_of_two(x) if x.dtype.kind == "c" else np.exp2(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("exp2", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(b.mul(ct, b.constant(math.log(2.0), dtype_of(ct))), b.conj(node.result)),)


@operation
class Expm1(Unary):
    """exp(x) - 1, accurate near 0.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(exp(x))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("expm1(input)", functions="tensor_expm1")
    accepts = INEXACT
    cost = 12
    pack = "exponential"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return np.expm1(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("expm1", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.conj(b.exp(node.operands[0]))),)


@operation
class Log(Unary):
    """The natural logarithm; -infinity at 0, NaN below.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(x)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("log(input)", methods="log log_")
    accepts = INEXACT
    cost = 8
    pack = "exponential"
    samples = smooth_unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.log(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, b.conj(node.operands[0])),)


@operation
class Log2(Unary):
    """The logarithm to base 2; -infinity at 0, NaN below.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(x log(2))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("log2(input)", primitives="")
    accepts = INEXACT
    cost = 10
    pack = "exponential"
    samples = smooth_unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.log2(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log2", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.div(ct, b.mul(b.conj(x), b.constant(math.log(2.0), dtype_of(ct)))),)


@operation
class Log10(Unary):
    """The logarithm to base 10; -infinity at 0, NaN below.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(x log(10))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("log10(input)", primitives="")
    accepts = INEXACT
    cost = 10
    pack = "exponential"
    samples = smooth_unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.log10(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log10", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.div(ct, b.mul(b.conj(x), b.constant(math.log(10.0), dtype_of(ct)))),)


@operation
class Log1p(Unary):
    """log(1 + x), accurate near 0.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(1 + x)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("log1p(input)")
    accepts = INEXACT
    cost = 12
    pack = "exponential"
    samples = smooth_unary((-0.5, 3.0))

    def reference(self, x: Array) -> Array:
        return complex_arithmetic.complex_log1p(x) if x.dtype.kind == "c" else np.log1p(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log1p", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.div(ct, b.add(b.conj(x), b.constant(1.0, dtype_of(node.result)))),)


@operation
class Sin(Unary):
    """The sine of x radians.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(cos(x))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("sin(input)")
    accepts = INEXACT
    cost = 12
    pack = "trigonometric"
    samples = smooth_unary((-4.0, 4.0))

    def reference(self, x: Array) -> Array:
        return complex_arithmetic.complex_sine(x) if x.dtype.kind == "c" else np.sin(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sin", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.conj(b.cos(node.operands[0]))),)


@operation
class Cos(Unary):
    """The cosine of x radians.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  -ct * conj(sin(x))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("cos(input)")
    accepts = INEXACT
    cost = 12
    pack = "trigonometric"
    samples = smooth_unary((-4.0, 4.0))

    def reference(self, x: Array) -> Array:
        return np.cos(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("cos", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.neg(b.mul(ct, b.conj(b.sin(node.operands[0])))),)


@operation
class Tan(Unary):
    """The tangent of x radians.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(1 + tan(x)**2)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("tan(input)")
    accepts = INEXACT
    cost = 16
    pack = "trigonometric"
    samples = smooth_unary((-1.2, 1.2))

    def reference(self, x: Array) -> Array:
        return np.tan(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("tan", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        y = b.conj(node.result)
        return (b.mul(ct, b.add(b.square(y), b.constant(1.0, dtype_of(y)))),)


@operation
class Asin(Unary):
    """The inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1].

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(sqrt(1 - x**2)): infinite at -1 and 1
    errors    TypeError: neither floating point nor complex
    """

    public = (Public("asin(input)"), Public("arcsin(x)", primitives=""))
    accepts = INEXACT
    cost = 12
    pack = "inverse"
    samples = smooth_unary((-0.9, 0.9))

    def reference(self, x: Array) -> Array:
        return np.arcsin(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("asin", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, _cosine_of_sine(b, b.conj(node.operands[0]))),)


@operation
class Acos(Unary):
    """The inverse cosine, in [0, pi]; NaN outside of [-1, 1].

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  -ct / conj(sqrt(1 - x**2)): infinite at -1 and 1
    errors    TypeError: neither floating point nor complex
    """

    public = Public("acos(input)", functions="arccos", methods="acos arccos", primitives="ACos")
    accepts = INEXACT
    cost = 12
    pack = "inverse"
    samples = smooth_unary((-0.9, 0.9))

    def reference(self, x: Array) -> Array:
        return np.arccos(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("acos", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.neg(b.div(ct, _cosine_of_sine(b, b.conj(node.operands[0])))),)


def _cosine_of_sine(b: Builder, x: Atom) -> Atom:
    """Return sqrt(1 - x**2), as (1 - x) (1 + x), which is accurate near -1 and 1."""
    one = b.constant(1.0, dtype_of(x))
    return b.sqrt(b.mul(b.sub(one, x), b.add(one, x)))


@operation
class Atan(Unary):
    """The inverse tangent, in [-pi/2, pi/2].

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(1 + x**2)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("atan(input)", functions="arctan", methods="atan arctan")
    accepts = INEXACT
    cost = 12
    pack = "inverse"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return np.arctan(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("atan", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        one = b.constant(1.0, dtype_of(x))
        if dtype_of(x).is_complex:
            return (b.div(ct, b.add(b.square(b.conj(x)), one)),)
        # Beyond 1 it is (ct / x) / (x + 1 / x): the square of x may overflow although the result is not 0.
        large = b.greater(b.abs(x), one)
        near, far = b.select(large, one, x), b.select(large, x, one)
        beyond = b.div(b.div(ct, far), b.add(far, b.div(one, far)))
        return (b.select(large, beyond, b.div(ct, b.add(b.square(near), one))),)


@operation
class Sinh(Unary):
    """The hyperbolic sine.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(cosh(x))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("sinh(input)")
    accepts = INEXACT
    cost = 16
    pack = "inverse"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return np.sinh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sinh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.conj(b.cosh(node.operands[0]))),)


@operation
class Cosh(Unary):
    """The hyperbolic cosine.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(sinh(x))
    errors    TypeError: neither floating point nor complex
    """

    public = Public("cosh(input)")
    accepts = INEXACT
    cost = 16
    pack = "inverse"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return np.cosh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("cosh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.conj(b.sinh(node.operands[0]))),)


@operation
class Asinh(Unary):
    """The inverse hyperbolic sine.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(cosh(asinh(x))), which is sqrt(1 + x**2)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("asinh(input)", functions="arcsinh", methods="asinh arcsinh")
    accepts = INEXACT
    cost = 16
    pack = "inverse"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return np.arcsinh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("asinh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, b.conj(b.cosh(node.result))),)


@operation
class Acosh(Unary):
    """The non-negative inverse hyperbolic cosine; NaN below 1.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(sinh(acosh(x))), which is sqrt(x**2 - 1): infinite at 1
    errors    TypeError: neither floating point nor complex
    """

    public = Public("acosh(input)", functions="arccosh", methods="acosh arccosh")
    accepts = INEXACT
    cost = 16
    pack = "inverse"
    samples = smooth_unary((1.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.arccosh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("acosh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, b.conj(b.sinh(node.result))),)


@operation
class Atanh(Unary):
    """The inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct / conj(1 - x**2)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("atanh(input)", functions="arctanh", methods="atanh arctanh")
    accepts = INEXACT
    cost = 16
    pack = "inverse"
    samples = smooth_unary((-0.9, 0.9))

    def reference(self, x: Array) -> Array:
        return np.arctanh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("atanh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x = b.conj(node.operands[0])
        one = b.constant(1.0, dtype_of(x))
        return (b.div(ct, b.mul(b.sub(one, x), b.add(one, x))),)


@operation
class XLogY(Binary):
    """x * log(y); 0 where x is 0, unless y is NaN.

    x, y      T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * log(y) for x, 0 where x is 0 and y is not above 0; ct * x / y for y; each summed over the axes along which it was
              broadcast
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    takes = ("x", "y")
    forms = PLAIN_FORMS
    uniform = False
    cost = 16
    samples = (
        *smooth_binary((-2.0, 2.0), (0.5, 2.0)),
        sample(tensor(F32, (6,)), tensor(F32, (6,)), values={0: [0, -0.0, 0, 0, 0, 1], 1: [2, 0.5, 0, -1, math.nan, math.inf]},
               smooth=False, note="0 times any logarithm"),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log(y))

    def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer) -> None:
        self.loops(k, (x, y), out)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.select(k.both(k.equal(x, 0), k.equal(y, y)), 0, x * k.call("log", y))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        zero, one = b.constant(0.0, dtype_of(x)), b.constant(1.0, dtype_of(x))
        nothing = b.logical_and(b.equal(x, zero), b.less_equal(y, zero))
        slope = b.log(b.select(nothing, one, y))
        return b.unbroadcast(b.mul(ct, slope), to=x.type), b.unbroadcast(b.mul(ct, b.div(x, y)), to=y.type)


@operation
class Atan2(Binary):
    """The angle, in [-pi, pi], of the point (x, y).

    y, x      T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * x / (x**2 + y**2) for y, -ct * y / (x**2 + y**2) for x, both 0 for (0, 0); each summed over the axes
              along which it was broadcast
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    public = Public("atan2(input, other)", functions="arctan2", methods="atan2 arctan2")
    takes = ("y", "x")
    forms = PLAIN_FORMS
    uniform = False
    cost = 16
    pack = "inverse"
    samples = (
        *smooth_binary((0.2, 2.0), (-2.0, 2.0)),
        sample(tensor(F32, (6,)), tensor(F32, (6,)), values={0: [0, 0, -0.0, 1, -1, 0], 1: [1, -1, -1, 0, -1, 0]}, smooth=False,
               note="a cut along the negative axis, no angle at the origin"),
    )

    def reference(self, y: Array, x: Array) -> Array:
        return np.arctan2(y, x)

    def lower(self, k: Kernel, y: Buffer, x: Buffer, out: Buffer) -> None:
        self.loops(k, (y, x), out)

    def scalar(self, k: Kernel, y: Expr, x: Expr) -> Expr:
        return k.call("atan2", y, x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        y, x = node.operands
        # Both are divided by the larger one first, so that no square overflows or underflows; by 1 at the origin, where both are 0.
        zero, one = b.constant(0.0, dtype_of(x)), b.constant(1.0, dtype_of(x))
        larger = b.maximum(b.abs(x), b.abs(y))
        origin = b.equal(larger, zero)
        size = b.stop_gradient(b.select(origin, one, larger))
        u, v = b.div(x, size), b.div(y, size)
        scaled = b.div(b.div(ct, size), b.select(origin, one, b.add(b.square(u), b.square(v))))
        return b.unbroadcast(b.mul(scaled, u), to=y.type), b.unbroadcast(b.neg(b.mul(scaled, v)), to=x.type)


@operation
class Tanh(Unary):
    """The hyperbolic tangent.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(1 - tanh(x)**2)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("tanh(input)", methods="tanh tanh_", operands="floats")
    accepts = INEXACT
    cost = 12
    pack = "activation"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return np.tanh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("tanh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        if dtype_of(ct).is_complex:
            return (b.mul(ct, b.sub(b.constant(1.0, dtype_of(ct)), b.square(b.conj(node.result)))),)
        return (b.tanh_gradient(node.result, ct),)


@operation
class TanhGradient(Binary):
    """The cotangent of tanh's operand: ct * (1 - y**2), with y = tanh(x).

    y, ct     T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  -2 y ct c for y, c * (1 - y**2) for ct, where c is the cotangent
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    takes = ("y", "ct")
    pack = "activation"
    forms = ((FULL, FULL),)
    samples = (
        sample(F32_23, F32_23, domain=(-0.9, 0.9)),
        sample(tensor(F32), tensor(F32), domain=(-0.9, 0.9)),
        *square(2, (-0.9, 0.9), (-0.9, 0.9)),
    )

    def reference(self, y: Array, ct: Array) -> Array:
        return ct * (y.dtype.type(1) - y * y)

    def scalar(self, k: Kernel, y: Expr, ct: Expr) -> Expr:
        return ct * (1 - y * y)

    def lower(self, k: Kernel, y: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (y, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        y, ct = node.operands
        dy = b.mul(b.mul(c, ct), b.mul(y, b.constant(-2.0, dtype_of(node.result))))
        return b.unbroadcast(dy, to=y.type), b.unbroadcast(b.tanh_gradient(y, c), to=ct.type)


@operation
class Erf(Unary):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * 2 / sqrt(pi) * exp(-x**2)
    errors    TypeError: not floating point
    """

    public = Public("erf(input)")
    cost = 12
    pack = "activation"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return error_function(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("erf", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        scale = b.constant(2.0 / math.sqrt(math.pi), dtype_of(node.result))
        return (b.mul(b.mul(ct, scale), b.exp(b.neg(b.square(x)))),)


error_function = np.vectorize(math.erf, otypes=[np.float64])


@operation
class Erfc(Unary):
    """1 - erf(x), accurate where it is small.

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct * 2 / sqrt(pi) * exp(-x**2)
    errors    TypeError: not floating point
    """

    public = Public("erfc(input)")
    cost = 16
    pack = "inverse"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return complementary_error_function(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("erfc", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        scale = b.constant(-2.0 / math.sqrt(math.pi), dtype_of(x))
        return (b.mul(b.mul(ct, scale), b.exp(b.neg(b.square(x)))),)


complementary_error_function = np.vectorize(math.erfc, otypes=[np.float64])


@operation
class Erfinv(Unary):
    """The y with erf(y) = x; infinite at -1 and 1, NaN beyond.

    x p(x^2) up to 1/2, polynomials in sqrt(-ln(1 - |x|)) above; in float32, of ln(1 - x^2). The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * sqrt(pi) / 2 * exp(erfinv(x)**2)
    errors    TypeError: not floating point
    """

    public = Public("erfinv(input)", methods="erfinv erfinv_")
    cost = 30
    samples = (*smooth_unary((-0.9, 0.9)),
               sample(tensor(F32, (6,)), values={0: [0.5, -0.5, 0.99, 1, -1, -2]}, smooth=False, note="ends of intervals, and outside"))

    def reference(self, x: Array) -> Array:
        return special_values.inverse_error_function(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("erfinv", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        scale = b.constant(0.5 * math.sqrt(math.pi), dtype_of(node.result))
        return (b.mul(b.mul(ct, scale), b.exp(b.square(node.result))),)


@operation
class Sinc(Unary):
    """sin(pi x) / (pi x), 1 at 0; exactly 0 at the other integers; NaN at infinity.

    The error is below 3 units in the last place.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (cos(pi x) - sinc(x)) / x, for |x| < 1/2 by the power series of that
    errors    TypeError: not floating point
    """

    public = Public("sinc(input)", operands="to floats")
    cost = 30
    samples = (*smooth_unary((-0.45, 0.45), (0.6, 2.0)),
               sample(tensor(F32, (6,)), values={0: [0, -0.0, 1, -2, 2.5, 1e9]}, smooth=False, note="integers"))

    def reference(self, x: Array) -> Array:
        return special_values.sinc(x.astype(np.float64)).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.cast(k.call("adjoint_sinc_f64", k.cast(x, F64)), x.dtype)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        dtype = dtype_of(x)
        near = b.less(b.abs(x), b.constant(0.5, dtype))
        inner, outer = b.select(near, x, b.constant(0.0, dtype)), b.select(near, b.constant(1.0, dtype), x)
        z, series = b.square(inner), b.constant(0.0, dtype)
        for n in range(12, 0, -1):
            coefficient = (-1) ** n * 2 * n * math.pi ** (2 * n) / math.factorial(2 * n + 1)
            series = b.add(b.mul(series, z), b.constant(coefficient, dtype))
        turned = b.cos(b.mul(outer, b.constant(math.pi, dtype)))
        far = b.div(b.sub(turned, b.sinc(outer)), outer)
        return (b.mul(ct, b.select(near, b.mul(inner, series), far)),)
