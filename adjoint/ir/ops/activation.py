"""Activation functions of neural networks, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import complex_arithmetic, transcendental
from adjoint.ir.ops.elementwise import (
    F32_23,
    FULL,
    INEXACT,
    NUMBERS,
    ONE,
    Array,
    Binary,
    Cotangents,
    Elementwise,
    Unary,
    dtype_of,
    on_integers,
    smooth_unary,
    square,
)
from adjoint.ir.public import Public
from adjoint.ir.types import F32, F64, I32, U8, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = [
    "Gelu", "GeluGradient", "HardSigmoid", "HardSwish", "LeakyRelu", "LeakyReluGradient", "Relu", "ReluGradient", "Sigmoid",
    "SigmoidGradient", "Softplus",
]


@operation
class Sigmoid(Unary):
    """1 / (1 + exp(-x)).

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * conj(y * (1 - y)), with y = sigmoid(x)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("sigmoid(input)", methods="sigmoid sigmoid_", operands="floats")
    accepts = INEXACT
    cost = 10
    pack = "activation"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        one = x.dtype.type(1)
        if x.dtype.kind == "c":
            return complex_arithmetic.complex_quotient(np.broadcast_to(one, x.shape), one + complex_arithmetic.complex_exponential(-x))
        return one / (one + np.exp(-x))

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return 1 / (1 + k.call("exp", -x)) if x.dtype.is_complex else k.call("sigmoid", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        if dtype_of(ct).is_complex:
            y = b.conj(node.result)
            return (b.mul(ct, b.mul(y, b.sub(b.constant(1.0, dtype_of(y)), y))),)
        return (b.sigmoid_gradient(node.result, ct),)


@operation
class SigmoidGradient(Binary):
    """The cotangent of sigmoid's operand: ct * y * (1 - y), with y = sigmoid(x).

    y, ct     T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  c * ct * (1 - 2y) for y, c * y * (1 - y) for ct, where c is the cotangent
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    takes = ("y", "ct")
    pack = "activation"
    forms = ((FULL, FULL),)
    samples = (
        sample(F32_23, F32_23, domain=(0.1, 0.9)),
        sample(tensor(F32), tensor(F32), domain=(0.1, 0.9)),
        *square(2, (0.1, 0.9), (0.1, 0.9)),
    )

    def reference(self, y: Array, ct: Array) -> Array:
        return ct * (y * (y.dtype.type(1) - y))

    def scalar(self, k: Kernel, y: Expr, ct: Expr) -> Expr:
        return ct * (y * (1 - y))

    def lower(self, k: Kernel, y: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (y, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        y, ct = node.operands
        dtype = dtype_of(node.result)
        slope = b.sub(b.constant(1.0, dtype), b.mul(y, b.constant(2.0, dtype)))
        dy = b.mul(b.mul(c, ct), slope)
        return b.unbroadcast(dy, to=y.type), b.unbroadcast(b.sigmoid_gradient(y, c), to=ct.type)


@operation
class Softplus(Unary):
    """log(1 + exp(x)), without overflow.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * sigmoid(x)
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "activation"
    samples = smooth_unary()

    def reference(self, x: Array) -> Array:
        return np.logaddexp(x, x.dtype.type(0))

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("softplus", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.sigmoid(node.operands[0])),)


@operation
class Relu(Unary):
    """The larger of x and 0: 0 for -0, NaN for NaN.

    x         T[s], T a number type
    result    T[s]
    gradient  ct where x > 0, else 0
    errors    TypeError: not numbers
    """

    accepts = NUMBERS
    pack = "activation"
    samples = (
        *smooth_unary((0.5, 2.0), (-2.0, -0.5)),
        sample(tensor(F32, (4,)), values={0: [0.0, -0.0, -1.0, math.nan]}, smooth=False, note="kink at 0"),
        *on_integers(1, I32, U8),
    )

    def reference(self, x: Array) -> Array:
        return np.where(x <= 0, x.dtype.type(0), x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.select(k.less_equal(x, 0), 0, x) if x.dtype.kind != "u" else x

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.relu_gradient(node.result, ct),)


@operation
class ReluGradient(Binary):
    """The cotangent of relu's operand: ct where x > 0, else 0; x may be relu's operand or its result.

    x, ct     T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  none for x, which only selects; relu_gradient(x, c) for ct, where c is the cotangent
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    takes = ("x", "ct")
    accepts = NUMBERS
    pack = "activation"
    forms = ((FULL, FULL),)
    samples = (
        sample(F32_23, F32_23, domain=((0.5, 2.0), (-2.0, 2.0))),
        sample(F32_23, F32_23, domain=((-2.0, -0.5), (-2.0, 2.0))),
        *square(2, (0.5, 2.0), (-2.0, 2.0)),
        sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [0.0, -0.0, -1.0, math.nan]}, smooth=False, note="kink at 0"),
    )

    def reference(self, x: Array, ct: Array) -> Array:
        return np.where(x > 0, ct, ct.dtype.type(0))

    def scalar(self, k: Kernel, x: Expr, ct: Expr) -> Expr:
        return k.select(k.greater(x, 0), ct, 0)

    def lower(self, k: Kernel, x: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (x, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        x, ct = node.operands
        return None, b.unbroadcast(b.relu_gradient(x, c), to=ct.type)


@operation
class LeakyRelu(Binary):
    """x if not below 0, else slope * x.

    at_zero selects the gradient at x = 0: "mean", (1 + slope) / 2, that of the maximum of x and slope * x; or "slope".

    x, slope  T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  leaky_relu_gradient(x, slope, ct) for x; ct * x where x < 0, else 0, for the slope
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast, another at_zero
    source    Maas, Hannun and Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013; He et al. 2015 for a
              slope that is learned
    """

    at_zero: str = "mean"
    takes = ("x", "slope")
    pack = "leaky"
    forms = ((FULL, ONE),)
    samples = (
        sample(F32_23, F32_23, domain=((0.5, 2.0), (-0.5, 1.5))),
        *square(2, (-2.0, -0.5), (-0.5, 1.5)),
        sample(F32_23, tensor(F32, (3,)), domain=((-2.0, -0.5), (-0.5, 1.5))),
        sample(F32_23, tensor(F32), domain=((-2.0, -0.5), (0.1, 0.4)), at_zero="slope"),
        sample(tensor(F64, (5,)), tensor(F64), domain=((-2.0, -0.5), (0.1, 0.4))),
        sample(tensor(F32, (0, 3)), tensor(F32)),
        *(sample(tensor(F32, (4,)), tensor(F32), values={0: [0.0, -0.0, -1.0, math.nan]}, smooth=False, note="kink at 0", at_zero=kink)
          for kink in ("mean", "slope")),
    )

    def infer(self, *operands: Any) -> TensorType:
        _check_at_zero(self, self.at_zero)
        return super().infer(*operands)

    def reference(self, x: Array, slope: Array) -> Array:
        return np.where(x < 0, x * slope, x)

    def scalar(self, k: Kernel, x: Expr, slope: Expr) -> Expr:
        return k.select(k.less(x, 0), x * slope, x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, slope = node.operands
        zero = b.constant(0.0, dtype_of(node.result))
        dx = b.leaky_relu_gradient(x, slope, ct, at_zero=self.at_zero)
        dslope = b.select(b.less(x, zero), b.mul(ct, x), zero)
        return b.unbroadcast(dx, to=x.type), b.unbroadcast(dslope, to=slope.type)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        return _at_each_zero(cls, dtype)


@operation
class LeakyReluGradient(Elementwise):
    """The cotangent of leaky_relu's operand: ct where x > 0, slope * ct where x < 0; at 0 as at_zero selects.

    x, slope, ct  T[r], T[s] and T[t], T a floating point type, shapes that broadcast
    result        T[broadcast]
    gradient      none for x, which only selects; leaky_relu_gradient(x, slope, c) for ct, and for the slope, of which the result
                  is an affine function, c * (leaky_relu_gradient(x, 1, ct) - leaky_relu_gradient(x, 0, ct)), with c the cotangent
    errors        TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast, another at_zero
    """

    at_zero: str = "mean"
    takes = ("x", "slope", "ct")
    pack = "leaky"
    forms = ((FULL, ONE, FULL),)
    samples = (
        sample(F32_23, F32_23, F32_23, domain=((0.5, 2.0), (-0.5, 1.5), (-2.0, 2.0))),
        *square(3, (-2.0, -0.5), (-0.5, 1.5), (-2.0, 2.0)),
        sample(F32_23, tensor(F32), F32_23, domain=((-2.0, -0.5), (-0.5, 1.5), (-2.0, 2.0))),
        sample(tensor(F64, (5,)), tensor(F64), tensor(F64, (5,)), domain=((-2.0, -0.5), (0.1, 0.4), (-2.0, 2.0)), at_zero="slope"),
        *(sample(tensor(F32, (4,)), tensor(F32), tensor(F32, (4,)), values={0: [0.0, -0.0, -1.0, math.nan]}, smooth=False,
                 note="kink at 0", at_zero=kink) for kink in ("mean", "slope")),
    )

    def infer(self, *operands: Any) -> TensorType:
        _check_at_zero(self, self.at_zero)
        return super().infer(*operands)

    def reference(self, x: Array, slope: Array, ct: Array) -> Array:
        one = slope.dtype.type(1)
        at_zero = (one + slope) * slope.dtype.type(0.5) if self.at_zero == "mean" else slope
        return ct * np.where(x < 0, slope, np.where(x == 0, at_zero, one))

    def scalar(self, k: Kernel, x: Expr, slope: Expr, ct: Expr) -> Expr:
        at_zero = (1 + slope) * 0.5 if self.at_zero == "mean" else slope
        return ct * k.select(k.less(x, 0), slope, k.select(k.equal(x, 0), at_zero, 1))

    def lower(self, k: Kernel, x: Buffer, slope: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (x, slope, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        x, slope, ct = node.operands
        steepest, flat = (b.leaky_relu_gradient(x, b.constant(value, dtype_of(ct)), ct, at_zero=self.at_zero) for value in (1.0, 0.0))
        dslope = b.mul(c, b.sub(steepest, flat))
        dct = b.leaky_relu_gradient(x, slope, c, at_zero=self.at_zero)
        return None, b.unbroadcast(dslope, to=slope.type), b.unbroadcast(dct, to=ct.type)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        return _at_each_zero(cls, dtype)


def _check_at_zero(op: Op, at_zero: str) -> None:
    if at_zero not in ("mean", "slope"):
        raise mistake(op, "at_zero", "'mean' or 'slope'", at_zero)


def _at_each_zero(cls: type[LeakyRelu | LeakyReluGradient], dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
    """Return samples for the kernels in the pack: the slope is one number."""
    for at_zero in ("mean", "slope") if dtype in cls.accepts else ():
        for shapes in cls.forms:
            yield cls(at_zero), tuple(tensor(dtype, shape) for shape in shapes)


@operation
class HardSigmoid(Unary):
    """(x + 3) / 6, clipped to 0 and 1.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / 6 between -3 and 3, else 0, also at -3 and 3
    errors    TypeError: not floating point
    source    Courbariaux, Bengio and David, BinaryConnect, 2015, with another slope; Howard et al., Searching for MobileNetV3, 2019
    """

    samples = (
        *smooth_unary((-2.5, 2.5)),
        sample(tensor(F32, (6,)), values={0: [-3.0, 3.0, -4.0, 4.0, math.inf, math.nan]}, smooth=False, note="kinks at -3 and 3"),
    )

    def reference(self, x: Array) -> Array:
        zero, one, bound, width = (x.dtype.type(value) for value in (0, 1, 3, 6))
        return np.clip((x + bound) / width, zero, one)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.select(k.less_equal(x, -3), 0, k.select(k.greater_equal(x, 3), 1, (x + 3) / 6))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        zero, bound, width = (b.constant(value, dtype_of(x)) for value in (0.0, 3.0, 6.0))
        return (b.select(b.less(b.abs(x), bound), b.div(ct, width), zero),)


@operation
class HardSwish(Unary):
    """x * (x + 3) / 6 between -3 and 3, 0 below and x above.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (2x + 3) / 6 from -3 to 3, 0 below and ct above
    errors    TypeError: not floating point
    source    Howard et al., Searching for MobileNetV3, 2019
    """

    samples = (
        *smooth_unary((-2.5, 2.5)),
        sample(tensor(F32, (6,)), values={0: [-3.0, 3.0, -4.0, 4.0, math.inf, math.nan]}, smooth=False, note="kinks at -3 and 3"),
    )

    def reference(self, x: Array) -> Array:
        zero, bound, width = (x.dtype.type(value) for value in (0, 3, 6))
        inner = np.clip(x, -bound, bound)
        return np.where(x < -bound, zero, np.where(x > bound, x, inner * (inner + bound) / width))

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.select(k.less(x, -3), 0, k.select(k.greater(x, 3), x, x * (x + 3) / 6))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        zero, one, two, bound, width = (b.constant(value, dtype_of(x)) for value in (0.0, 1.0, 2.0, 3.0, 6.0))
        bent = b.div(b.add(b.mul(x, two), bound), width)
        above = b.select(b.less(bound, x), one, bent)
        return (b.mul(ct, b.select(b.less(x, b.neg(bound)), zero, above)),)


_GELU_SLOPE = math.sqrt(2.0 / math.pi)
_GELU_CUBE = 0.044715


@operation
class Gelu(Unary):
    """The Gaussian error linear unit: x times the probability that a standard normal number is below x.

    approximation "none": x (1 + erf(x / sqrt 2)) / 2;
    "tanh": x (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))) / 2.

    x         T[s], T a floating point type
    result    T[s]
    gradient  gelu_gradient(x, ct)
    errors    TypeError: not floating point; ValueError: another approximation
    source    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016
    """

    approximation: str = "none"
    cost = 16
    pack = "gelu"
    samples = (sample(F32_23), sample(tensor(F32, (0,))), sample(F32_23, approximation="tanh"),
               sample(tensor(F64, (5,)), approximation="tanh"))

    def infer(self, *operands: Any) -> TensorType:
        _check_approximation(self, self.approximation)
        return super().infer(*operands)

    def reference(self, x: Array) -> Array:
        z = x.astype(np.float64)
        if self.approximation == "none":
            return (z * (0.5 + 0.5 * transcendental.error_function(z / math.sqrt(2.0)))).astype(x.dtype)
        return (0.5 * z * (1.0 + np.tanh(_GELU_SLOPE * (z + _GELU_CUBE * z**3)))).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        if self.approximation == "none":
            return x * (0.5 + 0.5 * k.call("erf", x * math.sqrt(0.5)))
        return 0.5 * x * (1 + k.call("tanh", _GELU_SLOPE * (x + _GELU_CUBE * (x * x * x))))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.gelu_gradient(node.operands[0], ct, approximation=self.approximation),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for approximation in ("none", "tanh") if dtype in cls.accepts else ():
            yield cls(approximation), (tensor(dtype, FULL),)


@operation
class GeluGradient(Binary):
    """The cotangent of gelu's operand: ct * gelu'(x).

    With the normal density p and its integral P, gelu' is P(x) + x p(x), which keeps its digits where it is small, far below 0;
    for approximation "tanh" with t the tanh and u' the slope of its argument, it is (1 + t) / 2 + x (1 - t**2) u' / 2.

    x, ct     T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  c * ct * gelu''(x) for x, gelu_gradient(x, c) for ct, where c is the cotangent
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast, another approximation
    """

    approximation: str = "none"
    takes = ("x", "ct")
    cost = 24
    pack = "gelu"
    samples = (sample(F32_23, F32_23), sample(F32_23, F32_23, approximation="tanh"), *square(2))

    def infer(self, *operands: Any) -> TensorType:
        _check_approximation(self, self.approximation)
        return super().infer(*operands)

    def reference(self, x: Array, ct: Array) -> Array:
        z = x.astype(np.float64)
        if self.approximation == "none":
            z = np.clip(z, -40.0, 40.0)  # beyond, also at infinity, it is 0 or 1
            below = 0.5 * transcendental.complementary_error_function(-z / math.sqrt(2.0))
            slope = below + z * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        else:
            t = np.tanh(_GELU_SLOPE * (z + _GELU_CUBE * z**3))
            slope = 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * _GELU_SLOPE * (1.0 + 3.0 * _GELU_CUBE * z * z)
        return (ct * slope).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr, ct: Expr) -> Expr:
        if self.approximation == "none":
            return ct * k.call("gelu_slope", x)
        square = k.let(x * x, "square")
        t = k.let(k.call("tanh", _GELU_SLOPE * (x + _GELU_CUBE * (square * x))), "t")
        inner_slope = _GELU_SLOPE + (3.0 * _GELU_CUBE * _GELU_SLOPE) * square
        return ct * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope)

    def lower(self, k: Kernel, x: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (x, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        x, ct = node.operands
        dtype = dtype_of(node.result)

        def number(value: float) -> Atom:
            return b.constant(value, dtype)

        square = b.square(x)
        if self.approximation == "none":
            # gelu'' = p(x) (2 - x**2)
            density = b.mul(b.exp(b.mul(square, number(-0.5))), number(1.0 / math.sqrt(2.0 * math.pi)))
            curvature = b.mul(density, b.sub(number(2.0), square))
        else:
            # gelu'' = (1 - t**2) (u' + x (u'' / 2 - t u'**2))
            inner = b.mul(b.mul(x, number(_GELU_SLOPE)), b.add(number(1.0), b.mul(square, number(_GELU_CUBE))))
            t = b.tanh(inner)
            first = b.add(number(_GELU_SLOPE), b.mul(square, number(3.0 * _GELU_CUBE * _GELU_SLOPE)))
            half_second = b.mul(x, number(3.0 * _GELU_CUBE * _GELU_SLOPE))
            bend = b.mul(x, b.sub(half_second, b.mul(t, b.square(first))))
            curvature = b.mul(b.sub(number(1.0), b.square(t)), b.add(first, bend))
        dx = b.mul(b.mul(c, ct), curvature)
        dct = b.gelu_gradient(x, c, approximation=self.approximation)
        return b.unbroadcast(dx, to=x.type), b.unbroadcast(dct, to=ct.type)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for approximation in ("none", "tanh") if dtype in cls.accepts else ():
            yield cls(approximation), (tensor(dtype, FULL), tensor(dtype, FULL))


def _check_approximation(op: Op, approximation: str) -> None:
    if approximation not in ("none", "tanh"):
        raise mistake(op, "approximation", "'none' or 'tanh'", approximation)
