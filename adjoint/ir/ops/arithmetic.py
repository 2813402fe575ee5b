"""Arithmetic: sums, products, quotients, powers and roots, maximum and minimum, rounding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import operation, sample
from adjoint.ir.ops import complex_arithmetic
from adjoint.ir.ops.elementwise import (
    ALL_NUMBERS,
    ANY,
    F32_23,
    I32_23,
    INEXACT,
    INTEGERS,
    NUMBERS,
    PLAIN_FORMS,
    REAL,
    Array,
    Binary,
    Cotangents,
    Unary,
    dtype_of,
    literal,
    on_integers,
    smooth_binary,
    smooth_unary,
    square,
)
from adjoint.ir.public import Public
from adjoint.ir.types import BOOL, F32, F64, I32, I64, U8, TensorType, tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Expr, Kernel
    from adjoint.ir.types import Type

__all__ = [
    "Abs", "Add", "Ceil", "CommonDivisor", "Div", "Floor", "FloorDiv", "Fmod", "Maximum", "Minimum", "Mod", "Mul", "MulNoNan", "Neg",
    "NextAfter", "RootOfSum", "Round", "Rsqrt", "Sign", "Sqrt", "Square", "Sub",
]


@operation
class Add(Binary):
    """x + y; `or` for bools.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for both, summed over the axes along which each was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("add(input, other)", functions="tensor_add", methods="", primitives="Add TensorAdd")
    accepts = ANY
    beyond = "wrapped"
    pack = "arithmetic"
    samples = (*smooth_binary(), *on_integers(2, I32, U8, BOOL))

    def reference(self, x: Array, y: Array) -> Array:
        return x + y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x | y if x.dtype is BOOL else x + y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(ct, to=x.type), b.unbroadcast(ct, to=y.type)


@operation
class Sub(Binary):
    """x - y; whether they differ for bools.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for x, -ct for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("sub(input, other)", functions="tensor_sub", methods="")
    accepts = ANY
    beyond = "wrapped"
    pack = "arithmetic"
    samples = (*smooth_binary(), *on_integers(2, I32, U8, BOOL))

    def reference(self, x: Array, y: Array) -> Array:
        return x ^ y if x.dtype.kind == "b" else x - y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x ^ y if x.dtype is BOOL else x - y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(ct, to=x.type), b.neg(b.unbroadcast(ct, to=y.type))


@operation
class Mul(Binary):
    """x * y; `and` for bools.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct * conj(y) for x, ct * conj(x) for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("mul(input, other)", functions="multiply tensor_mul", methods="mul mul_")
    accepts = ANY
    beyond = "wrapped"
    pack = "arithmetic"
    samples = (*smooth_binary(), *on_integers(2, I32, U8, BOOL))

    def reference(self, x: Array, y: Array) -> Array:
        return complex_arithmetic.complex_product(x, y) if x.dtype.kind == "c" else x * y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x & y if x.dtype is BOOL else x * y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(b.mul(ct, b.conj(y)), to=x.type), b.unbroadcast(b.mul(ct, b.conj(x)), to=y.type)


@operation
class MulNoNan(Binary):
    """x * y, but 0 where y is 0, even if x is infinite or NaN.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * y for x, where y is 0 zero; x * ct for y, where ct is 0 zero; each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    public = Public("mul_no_nan(x, y)", methods="")
    accepts = NUMBERS
    samples = (
        *smooth_binary((-2.0, 2.0), (0.5, 2.0)),
        sample(tensor(F32, (6,)), tensor(F32, (6,)), smooth=False, note="zeros",
               values={0: [math.inf, math.nan, 1, -0.0, math.nan, 0], 1: [0, -0.0, 0, 0, 1, math.inf]}),
        *on_integers(2, I32, U8),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.where(y == 0, np.zeros_like(x), x * y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.select(k.equal(y, 0), k.literal(literal(0, x.dtype), x.dtype), x * y)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(b.mul_no_nan(ct, y), to=x.type), b.unbroadcast(b.mul_no_nan(x, ct), to=y.type)


@operation
class Div(Binary):
    """x / y, as IEEE 754 says: x / 0 is infinite or NaN.

    x, y      T[s] and T[t], T a floating point or complex type, shapes that broadcast
    result    T[broadcast]
    gradient  ct / conj(y) for x, -(ct / conj(y)) * conj(x / y) for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are neither floating point nor complex; ValueError: shapes do not broadcast
    """

    accepts = INEXACT
    pack = "arithmetic"
    samples = smooth_binary((-2.0, 2.0), (0.5, 2.0))

    def reference(self, x: Array, y: Array) -> Array:
        return complex_arithmetic.complex_quotient(x, y) if x.dtype.kind == "c" else x / y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x / y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        dx = b.div(ct, b.conj(y))
        dy = b.neg(b.mul(dx, b.conj(node.result)))
        return b.unbroadcast(dx, to=x.type), b.unbroadcast(dy, to=y.type)


@operation
class FloorDiv(Binary):
    """x / y rounded down, like Python's `//`; an integer x // 0 is 0, as in NumPy; `and` for bools.

    For floats it is (x - x % y) / y rounded to a whole number, so that 1.0 // 0.1 is 9; x // 0.0 is x / 0.0.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = (
        Public("floor_divide(input, other)", methods="floor_divide floor_divide_"),
        Public("floor_div(x, y)", functions="floordiv tensor_floordiv", methods="", primitives=""),
    )
    accepts = REAL
    cost = 8
    cuts = "floor_div is piecewise constant"
    samples = (
        sample(F32_23, F32_23, domain=((-9.0, 9.0), (1.0, 2.0)), smooth=False, note="steps"),
        sample(F32_23, tensor(F32, (3,)), domain=((-9.0, 9.0), (-2.0, -1.0)), smooth=False, note="steps"),
        sample(tensor(F32), F32_23, values={1: [[0.0, -0.0, 1.0], [0.1, -3.0, 2.0]]}, smooth=False, note="steps"),
        sample(I32_23, I32_23, values={0: [[5, -5, 5], [-5, -(2**31), 3]], 1: [[3, 3, -3], [0, -1, 0]]},
               smooth=False, note="steps"),
        *on_integers(2, U8, I64, BOOL, domain=(0.0, 9.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return x & y if x.dtype.kind == "b" else np.floor_divide(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        if x.dtype is BOOL:
            return x & y
        if x.dtype.is_integer:
            divisor = _safe_divisor(k, x, y)
            if x.dtype.kind == "u":
                return k.select(k.equal(y, 0), 0, k.let(x / divisor, "quotient"))
            rest, quotient = k.let(x % divisor, "rest"), k.let(x / divisor, "quotient")
            quotient = k.select(_signs_differ(k, rest, divisor), quotient - 1, quotient)
            return k.select(k.equal(y, 0), 0, k.select(k.equal(y, -1), -x, quotient))
        rest = k.let(k.call("fmod", x, y), "rest")
        quotient = (x - rest) / y
        quotient = k.let(k.select(_signs_differ(k, rest, y), quotient - 1, quotient), "quotient")
        whole = k.let(k.call("floor", quotient), "whole")
        whole = k.select(k.greater(quotient - whole, 0.5), whole + 1, whole)
        whole = k.select(k.equal(quotient, 0), k.call("copysign", k.literal(0, x.dtype), x / y), whole)
        return k.select(k.equal(y, 0), x / y, whole)


_SAMPLES_OF_REMAINDERS = (
    sample(F32_23, F32_23, domain=((0.1, 0.9), (1.0, 2.0))),
    sample(F32_23, tensor(F32), domain=((1.1, 1.4), (-1.0, -0.9))),
    *square(2, (0.1, 0.9), (1.0, 2.0)),
    sample(F32_23, tensor(F32, (3,)), domain=((-9.0, 9.0), (-2.0, -1.0)), smooth=False, note="steps at multiples of y"),
    sample(I32_23, I32_23, values={0: [[5, -5, 5], [-5, -(2**31), 3]], 1: [[3, 3, -3], [0, -1, 0]]},
           smooth=False, note="integers"),
    *on_integers(2, U8, I64, BOOL, domain=(0.0, 9.0)),
)


@operation
class Mod(Binary):
    """x - y * (x // y), with the sign of y, like Python's `%`; an integer x % 0 is 0 and a float one NaN, as in NumPy.

    For floats it is C's fmod(x, y), which is exact, plus y, rounded once, if the signs of fmod(x, y) and y differ.  For bools it is false.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for x, -ct * (x // y) for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = (
        Public("remainder(input, other)", methods="", primitives=""),
        Public("mod(x, y)", functions="tensor_mod", methods="", primitives=""),
        Public("floor_mod(x, y)", functions="floormod", methods="", primitives="FloorMod"),
    )
    accepts = REAL
    cost = 8
    samples = (
        *_SAMPLES_OF_REMAINDERS,
        sample(tensor(F32), F32_23, values={1: [[0.0, -0.0, 1.0], [0.1, -3.0, 2.0]]}, smooth=False, note="y = 0"),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.zeros_like(x & y) if x.dtype.kind == "b" else np.remainder(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        if x.dtype is BOOL:
            return k.literal(False, BOOL)
        if x.dtype.is_integer:
            divisor = _safe_divisor(k, x, y)
            rest = k.let(x % divisor, "rest")
            return rest if x.dtype.kind == "u" else k.select(_signs_differ(k, rest, divisor), rest + divisor, rest)
        rest = k.let(k.call("fmod", x, y), "rest")
        moved = k.select(_signs_differ(k, rest, y), rest + y, rest)
        return k.select(k.equal(rest, 0), k.call("copysign", k.literal(0, x.dtype), y), moved)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        dy = b.neg(b.mul(ct, b.floor_div(x, y)))
        return b.unbroadcast(ct, to=x.type), b.unbroadcast(dy, to=y.type)


@operation
class Fmod(Binary):
    """The exact remainder of x / y with the sign of x, like C's fmod; x for an infinite y.

    An integer's fmod(x, 0) is 0, a float's NaN.  Of bools it is false.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for x, -ct * n for y, with n the whole number (x - fmod(x, y)) / y, each summed over the axes along which it
              was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    accepts = REAL
    cost = 8
    samples = (
        *_SAMPLES_OF_REMAINDERS,
        sample(tensor(F32), F32_23, values={1: [[0.0, -0.0, 1.0], [math.inf, -3.0, 2.0]]}, smooth=False, note="y = 0"),
        sample(tensor(F32, (3,)), tensor(F32, (3,)), values={0: [1e30, -3e38, 7.0], 1: [0.3, 7e-30, 1e-45]}, smooth=False,
               note="large quotients"),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.zeros_like(x & y) if x.dtype.kind == "b" else np.fmod(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        if x.dtype is BOOL:
            return k.literal(False, BOOL)
        if x.dtype.is_integer:
            return x % _safe_divisor(k, x, y)
        return k.call("fmod", x, y)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        whole = b.sub(x, node.result)
        times = b.round(b.div(whole, y)) if dtype_of(x).is_float else b.floor_div(whole, y)
        return b.unbroadcast(ct, to=x.type), b.unbroadcast(b.neg(b.mul(ct, times)), to=y.type)


@operation
class CommonDivisor(Binary):
    """The greatest common divisor of integers, by Euclid's algorithm; that of two zeros is 0.

    The absolute value of the least integer is itself, as in `abs`, and may be the divisor that is found, or give a negative one.

    x, y      T[s] and T[t], T a type of integers, shapes that broadcast
    result    T[broadcast]
    gradient  none
    errors    TypeError: dtypes differ, no integers; ValueError: shapes do not broadcast
    """

    accepts = INTEGERS
    cost = 16
    cuts = "divisors are integers"
    samples = (
        sample(I32_23, I32_23, values={0: [[12, -18, 5], [0, -(2**31), 1836311903]], 1: [[-8, 27, 0], [0, 6, 1134903170]]}, smooth=False),
        sample(I32_23, tensor(I32, (3,)), values={0: [[2**31 - 1, 6, 5], [1, -(2**31), 7]], 1: [-(2**31), -(2**31), -1]}, smooth=False),
        *on_integers(2, U8, I64, domain=(0.0, 99.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        a, b = np.broadcast_arrays(np.abs(x), np.abs(y))
        while b.any():
            done = b == 0
            a, b = np.where(done, a, b), np.where(done, b, np.remainder(a, np.where(done, 1, b)))
        return a.astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        a, b = (k.local(Abs().scalar(k, each), name) for each, name in ((x, "a"), (y, "b")))
        with k.loop_while(k.not_equal(b, 0)):
            rest = k.let(Mod().scalar(k, a, b), "rest")
            k.set(a, b)
            k.set(b, rest)
        return a


def _safe_divisor(k: Kernel, x: Expr, y: Expr) -> Expr:
    """Return y, or 1 where y is 0 or -1, since an integer division by these may trap."""
    unsafe = k.equal(y, 0)
    if x.dtype.kind == "i":
        unsafe = k.either(unsafe, k.equal(y, -1))
    return k.let(k.select(unsafe, 1, y), "divisor")


def _signs_differ(k: Kernel, rest: Expr, y: Expr) -> Expr:
    """Return the C condition that a truncated quotient must be corrected to round down."""
    return k.both(k.not_equal(rest, 0), k.not_equal(k.less(rest, 0), k.less(y, 0)))


@operation
class Neg(Unary):
    """-x.

    x         T[s], T a number type
    result    T[s]
    gradient  -ct
    errors    TypeError: not numbers
    """

    public = Public("neg(input)", functions="negative", methods="neg negative")
    accepts = ALL_NUMBERS
    pack = "arithmetic"
    samples = (*smooth_unary(), *on_integers(1, I32, U8))

    def reference(self, x: Array) -> Array:
        return np.negative(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return -x

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.neg(ct),)


@operation
class Abs(Unary):
    """|x|; for the least integer and for a bool, itself.  Of a complex number a complex one, whose imaginary part is 0.

    x         T[s], T any dtype
    result    T[s]
    gradient  ct * sign(x), of a complex number the real part of ct * x / |x|: 0 at 0
    errors    none
    """

    public = Public("abs(input)", functions="absolute", methods="abs absolute")
    accepts = ANY
    pack = "arithmetic"
    samples = (
        *smooth_unary((0.5, 2.0), (-2.0, -0.5)),
        sample(tensor(F32, (3,)), values={0: [0.0, -0.0, -1.0]}, smooth=False, note="kink at 0"),
        *on_integers(1, I32, U8, BOOL),
    )

    def reference(self, x: Array) -> Array:
        return complex_arithmetic.complex_number(np.abs(x), 0.0) if x.dtype.kind == "c" else np.abs(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        if x.dtype.is_float:
            return k.call("fabs", x)
        if x.dtype.is_complex:
            return k.complex_of(k.call("abs", x, dtype=x.dtype.part), k.literal(0.0, x.dtype.part), x.dtype)
        return x if x.dtype.kind != "i" else k.select(k.less(x, 0), -x, x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        dtype = dtype_of(x)
        if not dtype.is_complex:
            return (b.mul(ct, b.sign(x)),)
        zero, one = b.constant(0.0, dtype), b.constant(1.0, dtype)
        flat = b.equal(node.result, zero)
        unit = b.select(flat, zero, b.div(x, b.select(flat, one, node.result)))
        return (b.mul(b.cast(b.real_part(ct), to=dtype), unit),)


@operation
class Sign(Unary):
    """-1, 0 or 1 with the sign of x; NaN for NaN.  Of a complex number x / |x|, 0 for 0.

    x         T[s], T a number type
    result    T[s]
    gradient  none: piecewise constant; of a complex number x = r u, |u| = 1, (ct - u Re(conj(u) ct)) / r: the part along u is
              that of the length; 0 at 0
    errors    TypeError: not numbers
    """

    public = Public("sign(input)", methods="sign sign_")
    accepts = ALL_NUMBERS
    cuts = "sign is piecewise constant"
    pack = "compare"
    samples = (
        sample(F32_23, smooth=False, note="a step"),
        sample(tensor(F32, (4,)), values={0: [0.0, -0.0, -1.0, math.nan]}, smooth=False, note="a step"),
        *on_integers(1, I32, U8),
    )

    def reference(self, x: Array) -> Array:
        if x.dtype.kind == "c":
            by = np.where(np.fmax(np.abs(x.real), np.abs(x.imag)) < 1, x.real.dtype.type(2.0**60), x.real.dtype.type(2.0**-60))
            a, b = x.real * by, x.imag * by
            size = np.hypot(a, b)
            size = np.where(size == 0, size.dtype.type(1), size)
            return complex_arithmetic.complex_number(a / size, b / size)
        return np.sign(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        if x.dtype.is_complex:
            return k.call("sign", x)
        if x.dtype.kind == "u":
            return k.cast(k.greater(x, 0), x.dtype)
        if x.dtype.is_integer:
            return k.cast(k.greater(x, 0), x.dtype) - k.cast(k.less(x, 0), x.dtype)
        level = k.select(k.equal(x, 0), 0, x)
        return k.select(k.greater(x, 0), 1, k.select(k.less(x, 0), -1, level))

    def cut(self, operands: Sequence[Type]) -> str:
        (x,) = operands
        return "" if isinstance(x, TensorType) and x.dtype.is_complex else self.cuts

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        unit, zero, one = node.result, b.constant(0.0, dtype_of(x)), b.constant(1.0, dtype_of(x))
        along = b.cast(b.real_part(b.mul(b.conjugate(unit), ct)), to=dtype_of(x))
        flat = b.equal(x, zero)
        return (b.select(flat, zero, b.div(b.sub(ct, b.mul(unit, along)), b.select(flat, one, b.abs(x)))),)


@operation
class Sqrt(Unary):
    """The square root; NaN below zero, of a complex number the one with a real part of at least 0.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * 0.5 / conj(sqrt(x)): infinite at 0
    errors    TypeError: neither floating point nor complex
    """

    public = Public("sqrt(x)", operands="to floats")
    accepts = INEXACT
    cost = 4
    pack = "roots"
    samples = smooth_unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.sqrt(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sqrt", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(b.mul(ct, b.constant(0.5, dtype_of(node.result))), b.conj(node.result)),)


@operation
class RootOfSum(Unary):
    """The square root of a sum of squares, such as a length: at 0, where the length has a kink, its gradient is 0.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * 0.5 / sqrt(x), 0 at 0
    errors    TypeError: not floating point
    """

    cost = 4
    pack = "roots"
    samples = (
        *smooth_unary((0.5, 4.0)),
        sample(tensor(F32, (4,)), values={0: [0.0, -0.0, math.inf, math.nan]}, smooth=False, note="kink at 0"),
    )

    def reference(self, x: Array) -> Array:
        return np.sqrt(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sqrt", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        dtype = dtype_of(node.result)
        zero, half, one = (b.constant(value, dtype) for value in (0.0, 0.5, 1.0))
        flat = b.equal(node.result, zero)
        # The divisor is not 0 either, or the gradient's own gradient would be NaN there.
        slope = b.div(half, b.select(flat, one, node.result))
        return (b.select(flat, zero, b.mul(ct, slope)),)


@operation
class Rsqrt(Unary):
    """1 / sqrt(x), each step rounded; infinite at 0.

    x         T[s], T a floating point or complex type
    result    T[s]
    gradient  ct * -0.5 / conj(sqrt(x)**3)
    errors    TypeError: neither floating point nor complex
    """

    public = Public("rsqrt(input)")
    accepts = INEXACT
    cost = 8
    pack = "roots"
    samples = smooth_unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        root = np.sqrt(x)
        return complex_arithmetic.complex_quotient(np.ones_like(x), root) if x.dtype.kind == "c" else x.dtype.type(1) / root

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return 1 / k.call("sqrt", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        y = b.conj(node.result)
        return (b.mul(b.mul(ct, b.constant(-0.5, dtype_of(y))), b.mul(b.square(y), y)),)


@operation
class Square(Unary):
    """x * x.

    x         T[s], T a number type
    result    T[s]
    gradient  ct * conj(2x)
    errors    TypeError: not numbers
    """

    public = Public("square(input)")
    accepts = ALL_NUMBERS
    pack = "arithmetic"
    samples = (*smooth_unary(), *on_integers(1, I32, U8))

    def reference(self, x: Array) -> Array:
        return complex_arithmetic.complex_product(x, x) if x.dtype.kind == "c" else x * x

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return x * x

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.mul(ct, b.conj(b.add(x, x))),)


@operation
class Maximum(Binary):
    """The larger of x and y, x at a tie; NaN if either is, as in NumPy.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for the larger, half for each at a tie (truncated for integers), ct for both where one is NaN; each summed
              over the axes along which it was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("maximum(input, other)")
    accepts = REAL
    beyond = "nearest"
    pack = "compare"
    forms = PLAIN_FORMS
    samples = (
        *smooth_binary((-2.0, -0.1), (0.1, 2.0)),
        *smooth_binary((0.1, 2.0), (-2.0, -0.1))[:2],
        sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [1, 0.0, math.nan, 1], 1: [1, -1.0, 1, math.nan]},
               smooth=False, note="a tie and NaN"),
        *on_integers(2, I32, U8, BOOL),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.where((x >= y) | (x != x), x, y)  # not np.maximum, which may return either zero for 0 and -0

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        first = k.greater_equal(x, y)
        return k.select(k.either(first, k.call("isnan", x)) if x.dtype.is_float else first, x, y)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return _extremum_cotangents(b, x, y, ct, b.less(x, y), b.greater(x, y))


@operation
class Minimum(Binary):
    """The smaller of x and y, x at a tie; NaN if either is, as in NumPy.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for the smaller, half for each at a tie (truncated for integers), ct for both where one is NaN; each summed
              over the axes along which it was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("minimum(input, other)")
    accepts = REAL
    beyond = "nearest"
    pack = "compare"
    forms = PLAIN_FORMS
    samples = (
        *smooth_binary((-2.0, -0.1), (0.1, 2.0)),
        *smooth_binary((0.1, 2.0), (-2.0, -0.1))[:2],
        sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [1, 0.0, math.nan, 1], 1: [1, -1.0, 1, math.nan]},
               smooth=False, note="a tie and NaN"),
        *on_integers(2, I32, U8, BOOL),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.where((x <= y) | (x != x), x, y)  # as in Maximum

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        first = k.less_equal(x, y)
        return k.select(k.either(first, k.call("isnan", x)) if x.dtype.is_float else first, x, y)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return _extremum_cotangents(b, x, y, ct, b.greater(x, y), b.less(x, y))


def _extremum_cotangents(b: Builder, x: Atom, y: Atom, ct: Atom, x_loses: Atom, y_loses: Atom) -> Cotangents:
    dtype = dtype_of(ct)
    zero = b.constant(literal(0, dtype), dtype)
    shared = b.select(b.equal(x, y), divided(b, ct, b.constant(literal(2, dtype), dtype)), ct)
    return (
        b.unbroadcast(b.select(x_loses, zero, shared), to=x.type),
        b.unbroadcast(b.select(y_loses, zero, shared), to=y.type),
    )


def divided(b: Builder, x: Atom, y: Atom) -> Atom:
    """Return x / y; for integers truncated toward zero, computed in float64."""
    dtype = dtype_of(x)
    if dtype.is_float:
        return b.div(x, y)
    return b.cast(b.div(b.cast(x, to=F64), b.cast(y, to=F64)), to=dtype)


@operation
class Floor(Unary):
    """x rounded down.

    x         T[s], T a floating point type
    result    T[s]
    gradient  none: piecewise constant
    errors    TypeError: not floating point
    """

    public = Public("floor(input)", methods="floor floor_")
    cuts = "floor is piecewise constant"
    pack = "roots"
    samples = (sample(F32_23, smooth=False, note="steps"), sample(tensor(F32), smooth=False, note="steps"))

    def reference(self, x: Array) -> Array:
        return np.floor(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("floor", x)


@operation
class Ceil(Unary):
    """x rounded up.

    x         T[s], T a floating point type
    result    T[s]
    gradient  none: piecewise constant
    errors    TypeError: not floating point
    """

    public = Public("ceil(input)")
    cuts = "ceil is piecewise constant"
    pack = "roots"
    samples = (sample(F32_23, smooth=False, note="steps"), sample(tensor(F32), smooth=False, note="steps"))

    def reference(self, x: Array) -> Array:
        return np.ceil(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("ceil", x)


@operation
class Round(Unary):
    """The nearest integer, the even one in a tie: 2.5 gives 2.

    x         T[s], T a floating point type
    result    T[s]
    gradient  none: piecewise constant
    errors    TypeError: not floating point
    """

    cuts = "round is piecewise constant"
    pack = "roots"
    samples = (
        sample(F32_23, smooth=False, note="steps"),
        sample(tensor(F32, (5,)), values={0: [0.5, 1.5, 2.5, -0.5, -0.4]}, smooth=False, note="steps"),
    )

    def reference(self, x: Array) -> Array:
        return np.rint(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("rint", x)


@operation
class NextAfter(Binary):
    """The number of T next to x in the direction of y; y where they are equal, NaN if either is.

    x, y      T[s] and T[t], T float32 or float64, shapes that broadcast
    result    T[broadcast]
    gradient  ct for x, summed over the axes along which it was broadcast; none for y
    errors    TypeError: dtypes differ or are not float32 or float64; ValueError: shapes do not broadcast
    """

    public = Public("nextafter(input, other)", operands="tensors")
    accepts = (F32, F64)
    cost = 8
    samples = (
        sample(F32_23, F32_23, domain=((-2.0, -0.1), (0.1, 2.0))),
        sample(tensor(F64, (3,)), tensor(F64), domain=((-2.0, -0.1), (0.1, 2.0))),
        *square(2, (-2.0, -0.1), (0.1, 2.0)),
        sample(tensor(F32, (6,)), tensor(F32, (6,)), smooth=False, note="zeros and NaN",
               values={0: [0.0, -0.0, 1.0, 1.0, math.nan, 1.0], 1: [1.0, -1.0, 1.0, 2.0, 1.0, math.nan]}),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.nextafter(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.call("next_after", x, y)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return b.unbroadcast(ct, to=node.operands[0].type), None
