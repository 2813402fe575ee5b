"""Ops that act element by element: arithmetic, comparison, logic, bits, selection, casts, transcendental functions.

The operands of an op have one dtype (promotion is done above, by casts) and shapes that broadcast as in NumPy.  Integers
wrap around.  An op gives `scalar`, the C expression of one element, and `reference`, its meaning in NumPy; the base class
gives inference and the loops.

Where a function has no derivative, the gradient is the one that MindSpore 2.10 gives: 0 for |x|, sign and relu at 0, half
to each at a tie of maximum or minimum, NaN for x**0 at x = 0.  An integer cotangent is truncated toward zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.op import Op, Sample, mistake, operation, sample
from adjoint.ir.ops.loops import broadcast_walk, emit_map
from adjoint.ir.types import (
    BOOL,
    DTYPES,
    F16,
    F32,
    F64,
    FLOATS,
    I32,
    I64,
    INTEGERS,
    U8,
    DType,
    TensorType,
    broadcast_shapes,
    tensor,
)

if TYPE_CHECKING:
    from adjoint.codegen.kernel import Buffer, Expr, Kernel
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node

__all__ = ["Elementwise"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

NUMBERS = (*INTEGERS, *FLOATS)
ANY = (BOOL, *NUMBERS)

F32_23 = tensor(F32, (2, 3))
I32_23 = tensor(I32, (2, 3))
BOOL_23 = tensor(BOOL, (2, 3))

FULL, ONE, ROW, COLUMN = (4, 8), (), (8,), (4, 1)
BINARY_FORMS = (
    (FULL, FULL), (FULL, ONE), (ONE, FULL), (FULL, ROW), (FULL, COLUMN), ((2, 3, 4, 4), (1, 3, 1, 1)),
)
"""Equal shapes, one operand a single number, a row, a column, a number for each channel of images."""
PLAIN_FORMS = BINARY_FORMS[:2]


class Elementwise(Op):
    """An op whose result's elements each depend on one element of every operand.

    A subclass gives `scalar` and `reference`; `reference` runs with NumPy's floating point warnings off.
    """

    takes: ClassVar[tuple[str, ...]] = ("x",)
    """Names of the operands."""
    accepts: ClassVar[tuple[DType, ...]] = FLOATS
    """Dtypes of the operands."""
    yields: ClassVar[DType | None] = None
    """Dtype of the result, where it is not the operands'."""
    cost: ClassVar[int] = 1
    """Time for one element, in additions of float32; decides how much work is worth a thread."""
    uniform: ClassVar[bool] = True
    """Whether loops over a single number may name it; where half a formula does not depend on x[i], gcc gives up on vectors."""
    forms: ClassVar[tuple[tuple[tuple[int, ...], ...], ...]] = (((4, 8),),)
    """Shapes of the operands for the kernels in the pack: one for each form of text worth having."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "reference" in cls.__dict__:
            cls.reference = np.errstate(all="ignore")(cls.reference)  # type: ignore[method-assign]

    def infer(self, *operands: Any) -> TensorType:
        if len(operands) != len(self.takes):
            raise mistake(self, "operands", f"{len(self.takes)} tensors", f"{len(operands)}", TypeError)
        for name, type_ in zip(self.takes, operands, strict=True):
            if not isinstance(type_, TensorType) or type_.dtype not in self.accepts:
                raise mistake(self, name, f"a tensor of {_listed(self.accepts)}", type_, TypeError)
            if type_.dtype is not operands[0].dtype:
                raise mistake(self, name, f"of the same dtype as {self.takes[0]}, {operands[0].dtype}", type_, TypeError)
        return tensor(self.yields or operands[0].dtype, self.broadcast(operands))

    def broadcast(self, operands: Sequence[TensorType]) -> tuple[Any, ...]:
        """The shape that the operands' shapes broadcast to."""
        shape = operands[0].shape
        for name, type_ in zip(self.takes, operands, strict=True):
            try:
                shape = broadcast_shapes(shape, type_.shape)
            except ValueError:
                fitting = f"of a shape that broadcasts with [{', '.join(map(str, shape))}]"
                raise mistake(self, name, fitting, type_) from None
        return shape

    def scalar(self, k: Kernel, *operands: Any) -> Any:
        """One element of the result as a C expression, from one element of each operand."""
        raise NotImplementedError(f"{type(self).__name__}.scalar")

    def loops(self, k: Kernel, operands: Sequence[Buffer], out: Buffer) -> None:
        """The kernel: `scalar` for each element."""
        walks = [broadcast_walk(buffer, out.shape) for buffer in operands]
        emit_map(k, out, walks, lambda elements: self.scalar(k, *elements), self.cost, uniform=self.uniform)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        """The forms of broadcasting that programs meet."""
        if dtype in cls.accepts:
            for shapes in cls.forms:
                yield cls(), tuple(tensor(dtype, shape) for shape in shapes)


class Unary(Elementwise):
    """An elementwise op of `x`."""

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        self.loops(k, (x,), out)


class Binary(Elementwise):
    """An elementwise op of `x` and `y`."""

    takes = ("x", "y")
    forms = BINARY_FORMS

    def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer) -> None:
        self.loops(k, (x, y), out)


def _listed(dtypes: Sequence[DType]) -> str:
    match dtypes:
        case _ if dtypes == ANY:
            return "any dtype"
        case _ if dtypes == NUMBERS:
            return "a number type"
        case _ if dtypes == FLOATS:
            return "a floating point type"
        case _ if dtypes == INTEGERS:
            return "an integer type"
        case _:
            return " or ".join(d.long_name for d in dtypes)


def _unary(*domains: tuple[float, float]) -> tuple[Sample, ...]:
    """Samples of a smooth function of one operand on each of the domains."""
    first, *others = domains or ((-2.0, 2.0),)
    return (
        sample(F32_23, domain=first),
        *(sample(F32_23, domain=d) for d in others),
        sample(tensor(F32), domain=first),
        sample(tensor(F32, (0, 3)), domain=first),
        sample(tensor(F64, (5,)), domain=first),
    )


def _binary(*domain: tuple[float, float]) -> tuple[Sample, ...]:
    """Samples of a smooth function of two operands, in each form of broadcasting."""
    shapes = (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((), (2, 3)), ((2, 1), (1, 3)), ((0, 3), (1, 3)), ((), ()),
              ((2, 3, 2, 2), (1, 3, 1, 1)))
    drawn = domain or ((-2.0, 2.0),)
    return tuple(sample(tensor(F32, s), tensor(F32, t), domain=drawn) for s, t in shapes)


def _integers(count: int, *dtypes: DType, domain: tuple[float, float] = (-5.0, 5.0)) -> tuple[Sample, ...]:
    """Samples on integers, that have no finite differences."""
    types = tuple(tensor(d, (2, 3)) for d in dtypes)
    return tuple(sample(*(t,) * count, domain=domain, smooth=False, note="integers") for t in types)


# Arithmetic ---------------------------------------------------------------------------------------------------------


@operation
class Add(Binary):
    """x + y; `or` for bools.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for both, summed over the axes along which each was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    accepts = ANY
    pack = "arithmetic"
    samples = (*_binary(), *_integers(2, I32, U8, BOOL))

    def reference(self, x: Array, y: Array) -> Array:
        return x + y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x | y if x.dtype is BOOL else x + y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(ct, to=x.type), b.unbroadcast(ct, to=y.type)


@operation
class Sub(Binary):
    """x - y.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct for x, -ct for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    accepts = NUMBERS
    pack = "arithmetic"
    samples = (*_binary(), *_integers(2, I32, U8))

    def reference(self, x: Array, y: Array) -> Array:
        return x - y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x - y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(ct, to=x.type), b.neg(b.unbroadcast(ct, to=y.type))


@operation
class Mul(Binary):
    """x * y; `and` for bools.

    x, y      T[s] and T[t], T any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct * y for x, ct * x for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    accepts = ANY
    pack = "arithmetic"
    samples = (*_binary(), *_integers(2, I32, U8, BOOL))

    def reference(self, x: Array, y: Array) -> Array:
        return x * y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x & y if x.dtype is BOOL else x * y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return b.unbroadcast(b.mul(ct, y), to=x.type), b.unbroadcast(b.mul(ct, x), to=y.type)


@operation
class Div(Binary):
    """x / y, as IEEE 754 says: x / 0 is infinite or NaN.

    x, y      T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  ct / y for x, -(ct / y) * (x / y) for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    pack = "arithmetic"
    samples = _binary((-2.0, 2.0), (0.5, 2.0))

    def reference(self, x: Array, y: Array) -> Array:
        return x / y

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x / y

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        dx = b.div(ct, y)
        dy = b.neg(b.mul(dx, node.result))
        return b.unbroadcast(dx, to=x.type), b.unbroadcast(dy, to=y.type)


@operation
class FloorDiv(Binary):
    """The largest whole number not above x / y, as Python's `//`; an integer x // 0 is 0, as in NumPy.

    For floats it is (x - x % y) / y rounded to a whole number, so that 1.0 // 0.1 is 9; x // 0.0 is x / 0.0.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    accepts = NUMBERS
    cost = 8
    cuts = "floor_div is piecewise constant"
    samples = (
        sample(F32_23, F32_23, domain=((-9.0, 9.0), (1.0, 2.0)), smooth=False, note="steps"),
        sample(F32_23, tensor(F32, (3,)), domain=((-9.0, 9.0), (-2.0, -1.0)), smooth=False, note="steps"),
        sample(tensor(F32), F32_23, values={1: [[0.0, -0.0, 1.0], [0.1, -3.0, 2.0]]}, smooth=False, note="steps"),
        sample(I32_23, I32_23, values={0: [[5, -5, 5], [-5, -(2**31), 3]], 1: [[3, 3, -3], [0, -1, 0]]},
               smooth=False, note="steps"),
        *_integers(2, U8, I64, domain=(0.0, 9.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.floor_divide(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        if x.dtype.is_integer:
            divisor = _safe_divisor(k, x, y)
            if x.dtype.kind == "u":
                return k.select(k.equal(y, 0), 0, x / divisor)
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


@operation
class Mod(Binary):
    """x - y * (x // y), with the sign of y, as Python's `%`; an integer x % 0 is 0 and a float one NaN, as in NumPy.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct for x, -ct * (x // y) for y, each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    accepts = NUMBERS
    cost = 8
    samples = (
        sample(F32_23, F32_23, domain=((0.1, 0.9), (1.0, 2.0))),
        sample(F32_23, tensor(F32), domain=((1.1, 1.4), (-1.0, -0.9))),
        sample(F32_23, tensor(F32, (3,)), domain=((-9.0, 9.0), (-2.0, -1.0)), smooth=False, note="steps at multiples of y"),
        sample(tensor(F32), F32_23, values={1: [[0.0, -0.0, 1.0], [0.1, -3.0, 2.0]]}, smooth=False, note="y = 0"),
        sample(I32_23, I32_23, values={0: [[5, -5, 5], [-5, -(2**31), 3]], 1: [[3, 3, -3], [0, -1, 0]]},
               smooth=False, note="integers"),
        *_integers(2, U8, I64, domain=(0.0, 9.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.remainder(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
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
class Pow(Binary):
    """x to the power y; 0 ** 0 is 1, a negative x to a power that is not whole is NaN.

    An integer to a negative power is 1 / x**-y truncated toward zero: 1 for 1, 1 or -1 for -1, else 0.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * y * x**(y - 1) for x, so NaN at 0**0; ct * x**y * log(x) for y, where log(0) is taken as 0 if
              y >= 0, so NaN for a negative x; each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    accepts = NUMBERS
    uniform = False
    cost = 32
    pack = "power"
    forms = PLAIN_FORMS
    samples = (
        *_binary((0.5, 2.0), (-2.0, 2.0)),
        sample(tensor(F32, (7,)), tensor(F32, (7,)), values={0: [0, 0, 0, -2, -2, 2, 0], 1: [0, 1, 2, 2, 3, 0, -1]},
               smooth=False, note="powers of zero and of negative numbers"),
        sample(I32_23, I32_23, values={0: [[2, 3, 0], [-1, -1, 7]], 1: [[3, 0, 0], [-3, -2, -1]]},
               smooth=False, note="integers"),
    )

    def reference(self, x: Array, y: Array) -> Array:
        if x.dtype.kind == "f":
            return np.power(x, y)
        inverse = np.where(x == 1, 1, np.where(x == np.array(-1).astype(x.dtype), 1 - 2 * (y & 1), 0))
        return np.where(y >= 0, np.power(x, np.maximum(y, 0)), inverse).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        if x.dtype.is_float:
            return k.call("pow", x, y)
        power = k.local(1, "power", x.dtype)
        base, exponent = k.local(x, "base"), k.local(y, "exponent")
        with k.loop_while(k.greater(exponent, 0)):
            with k.when(k.equal(exponent & 1, 1)):
                k.set(power, power * base)
            k.set(base, base * base)
            k.set(exponent, exponent >> 1)
        if x.dtype.kind == "u":
            return power
        alternating = k.select(k.equal(y & 1, 1), x, 1)
        inverse = k.select(k.equal(x, 1), x, k.select(k.equal(x, -1), alternating, 0))
        return k.select(k.less(y, 0), inverse, power)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        dtype = _dtype(node.result)
        zero, one = b.constant(_number(0, dtype), dtype), b.constant(_number(1, dtype), dtype)
        dx = b.mul(ct, b.mul(y, b.pow(x, b.sub(y, one))))
        base = b.select(b.logical_and(b.equal(x, zero), b.greater_equal(y, zero)), one, x)
        if dtype.is_float:
            dy = b.mul(ct, b.mul(node.result, b.log(base)))
        else:
            wide = b.mul(b.cast(b.mul(ct, node.result), to=F64), b.log(b.cast(base, to=F64)))
            dy = b.cast(wide, to=dtype)
        return b.unbroadcast(dx, to=x.type), b.unbroadcast(dy, to=y.type)


def _safe_divisor(k: Kernel, x: Expr, y: Expr) -> Expr:
    """y, or 1 for 0 and -1, with which an integer division may trap."""
    unsafe = k.equal(y, 0)
    if x.dtype.kind == "i":
        unsafe = k.either(unsafe, k.equal(y, -1))
    return k.let(k.select(unsafe, 1, y), "divisor")


def _signs_differ(k: Kernel, rest: Expr, y: Expr) -> Expr:
    """Whether truncated division has to be corrected to one rounded down."""
    return k.both(k.not_equal(rest, 0), k.not_equal(k.less(rest, 0), k.less(y, 0)))


def _dtype(atom: Atom) -> DType:
    """The dtype of a tensor."""
    assert isinstance(atom.type, TensorType)
    return atom.type.dtype


def _number(value: int, dtype: DType) -> int | float:
    """`value` as the Python number a literal of `dtype` holds."""
    return float(value) if dtype.is_float else value


@operation
class Neg(Unary):
    """-x.

    x         T[s], T a number type
    result    T[s]
    gradient  -ct
    errors    TypeError: not numbers
    """

    accepts = NUMBERS
    pack = "arithmetic"
    samples = (*_unary(), *_integers(1, I32, U8))

    def reference(self, x: Array) -> Array:
        return np.negative(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return -x

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.neg(ct),)


@operation
class Abs(Unary):
    """|x|; the least integer is its own.

    x         T[s], T a number type
    result    T[s]
    gradient  ct * sign(x): 0 at 0
    errors    TypeError: not numbers
    """

    accepts = NUMBERS
    pack = "arithmetic"
    samples = (
        *_unary((0.5, 2.0), (-2.0, -0.5)),
        sample(tensor(F32, (3,)), values={0: [0.0, -0.0, -1.0]}, smooth=False, note="kink at 0"),
        *_integers(1, I32, U8),
    )

    def reference(self, x: Array) -> Array:
        return np.abs(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        if x.dtype.is_float:
            return k.call("fabs", x)
        return x if x.dtype.kind == "u" else k.select(k.less(x, 0), -x, x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.sign(node.operands[0])),)


@operation
class Sign(Unary):
    """-1, 0 or 1 with the sign of x; NaN for NaN.

    x         T[s], T a number type
    result    T[s]
    gradient  none: piecewise constant
    errors    TypeError: not numbers
    """

    accepts = NUMBERS
    cuts = "sign is piecewise constant"
    pack = "compare"
    samples = (
        sample(F32_23, smooth=False, note="a step"),
        sample(tensor(F32, (4,)), values={0: [0.0, -0.0, -1.0, math.nan]}, smooth=False, note="a step"),
        *_integers(1, I32, U8),
    )

    def reference(self, x: Array) -> Array:
        return np.sign(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        if x.dtype.kind == "u":
            return k.cast(k.greater(x, 0), x.dtype)
        if x.dtype.is_integer:
            return k.cast(k.greater(x, 0), x.dtype) - k.cast(k.less(x, 0), x.dtype)
        level = k.select(k.equal(x, 0), 0, x)
        return k.select(k.greater(x, 0), 1, k.select(k.less(x, 0), -1, level))


@operation
class Sqrt(Unary):
    """The square root; NaN below zero.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * 0.5 / sqrt(x): infinite at 0
    errors    TypeError: not floating point
    """

    cost = 4
    pack = "roots"
    samples = _unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.sqrt(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sqrt", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(b.mul(ct, b.constant(0.5, _dtype(node.result))), node.result),)


@operation
class Rsqrt(Unary):
    """1 / sqrt(x), each step rounded; infinite at 0.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * -0.5 / sqrt(x)**3
    errors    TypeError: not floating point
    """

    cost = 8
    pack = "roots"
    samples = _unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return 1 / np.sqrt(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return 1 / k.call("sqrt", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        y = node.result
        return (b.mul(b.mul(ct, b.constant(-0.5, _dtype(y))), b.mul(b.square(y), y)),)


@operation
class Square(Unary):
    """x * x.

    x         T[s], T a number type
    result    T[s]
    gradient  ct * 2x
    errors    TypeError: not numbers
    """

    accepts = NUMBERS
    pack = "arithmetic"
    samples = (*_unary(), *_integers(1, I32, U8))

    def reference(self, x: Array) -> Array:
        return x * x

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return x * x

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.mul(ct, b.add(x, x)),)


@operation
class Maximum(Binary):
    """The larger of x and y, x at a tie; NaN if either is, as in NumPy.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct for the larger, half for each at a tie (truncated for integers), ct for both where one is NaN; each summed
              over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    accepts = NUMBERS
    pack = "compare"
    forms = PLAIN_FORMS
    samples = (
        *_binary((-2.0, -0.1), (0.1, 2.0)),
        *_binary((0.1, 2.0), (-2.0, -0.1))[:2],
        sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [1, 0.0, math.nan, 1], 1: [1, -1.0, 1, math.nan]},
               smooth=False, note="a tie and NaN"),
        *_integers(2, I32, U8),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.where((x >= y) | (x != x), x, y)  # not np.maximum, which gives either zero for 0 and -0

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        first = k.greater_equal(x, y)
        return k.select(k.either(first, k.call("isnan", x)) if x.dtype.is_float else first, x, y)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return _extremum_cotangents(b, x, y, ct, b.less(x, y), b.greater(x, y))


@operation
class Minimum(Binary):
    """The smaller of x and y, x at a tie; NaN if either is, as in NumPy.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct for the smaller, half for each at a tie (truncated for integers), ct for both where one is NaN; each summed
              over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    accepts = NUMBERS
    pack = "compare"
    forms = PLAIN_FORMS
    samples = (
        *_binary((-2.0, -0.1), (0.1, 2.0)),
        *_binary((0.1, 2.0), (-2.0, -0.1))[:2],
        sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [1, 0.0, math.nan, 1], 1: [1, -1.0, 1, math.nan]},
               smooth=False, note="a tie and NaN"),
        *_integers(2, I32, U8),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.where((x <= y) | (x != x), x, y)  # as for the maximum

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        first = k.less_equal(x, y)
        return k.select(k.either(first, k.call("isnan", x)) if x.dtype.is_float else first, x, y)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, y = node.operands
        return _extremum_cotangents(b, x, y, ct, b.greater(x, y), b.less(x, y))


def _extremum_cotangents(b: Builder, x: Atom, y: Atom, ct: Atom, x_loses: Atom, y_loses: Atom) -> Cotangents:
    dtype = _dtype(ct)
    zero = b.constant(_number(0, dtype), dtype)
    shared = b.select(b.equal(x, y), divided(b, ct, b.constant(_number(2, dtype), dtype)), ct)
    return (
        b.unbroadcast(b.select(x_loses, zero, shared), to=x.type),
        b.unbroadcast(b.select(y_loses, zero, shared), to=y.type),
    )


def divided(b: Builder, x: Atom, y: Atom) -> Atom:
    """x / y; for integers truncated toward zero, by way of float64."""
    dtype = _dtype(x)
    if dtype.is_float:
        return b.div(x, y)
    return b.cast(b.div(b.cast(x, to=F64), b.cast(y, to=F64)), to=dtype)


@operation
class Floor(Unary):
    """The largest whole number not above x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  none: piecewise constant
    errors    TypeError: not floating point
    """

    cuts = "floor is piecewise constant"
    pack = "roots"
    samples = (sample(F32_23, smooth=False, note="steps"), sample(tensor(F32), smooth=False, note="steps"))

    def reference(self, x: Array) -> Array:
        return np.floor(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("floor", x)


@operation
class Ceil(Unary):
    """The smallest whole number not below x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  none: piecewise constant
    errors    TypeError: not floating point
    """

    cuts = "ceil is piecewise constant"
    pack = "roots"
    samples = (sample(F32_23, smooth=False, note="steps"), sample(tensor(F32), smooth=False, note="steps"))

    def reference(self, x: Array) -> Array:
        return np.ceil(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("ceil", x)


@operation
class Round(Unary):
    """The nearest whole number, the even one of two: 2.5 gives 2.

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


# Transcendental functions -------------------------------------------------------------------------------------------


@operation
class Exp(Unary):
    """e to the power x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * exp(x)
    errors    TypeError: not floating point
    """

    cost = 8
    pack = "exponential"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.exp(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("exp", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, node.result),)


@operation
class Exp2(Unary):
    """2 to the power x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * log(2) * 2**x
    errors    TypeError: not floating point
    """

    cost = 8
    pack = "exponential"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.exp2(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("exp2", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(b.mul(ct, b.constant(math.log(2.0), _dtype(ct))), node.result),)


@operation
class Expm1(Unary):
    """exp(x) - 1, exact near 0.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * exp(x)
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "exponential"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.expm1(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("expm1", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.exp(node.operands[0])),)


@operation
class Log(Unary):
    """The natural logarithm; -infinity at 0, NaN below.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / x
    errors    TypeError: not floating point
    """

    cost = 8
    pack = "exponential"
    samples = _unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.log(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, node.operands[0]),)


@operation
class Log2(Unary):
    """The logarithm to base 2; -infinity at 0, NaN below.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / (x log(2))
    errors    TypeError: not floating point
    """

    cost = 10
    pack = "exponential"
    samples = _unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.log2(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log2", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.div(ct, b.mul(x, b.constant(math.log(2.0), _dtype(ct)))),)


@operation
class Log10(Unary):
    """The logarithm to base 10; -infinity at 0, NaN below.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / (x log(10))
    errors    TypeError: not floating point
    """

    cost = 10
    pack = "exponential"
    samples = _unary((0.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.log10(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log10", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.div(ct, b.mul(x, b.constant(math.log(10.0), _dtype(ct)))),)


@operation
class Log1p(Unary):
    """log(1 + x), exact near 0.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / (1 + x)
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "exponential"
    samples = _unary((-0.5, 3.0))

    def reference(self, x: Array) -> Array:
        return np.log1p(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("log1p", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.div(ct, b.add(x, b.constant(1.0, _dtype(node.result)))),)


@operation
class Sin(Unary):
    """The sine of x radians.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * cos(x)
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "trigonometric"
    samples = _unary((-4.0, 4.0))

    def reference(self, x: Array) -> Array:
        return np.sin(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sin", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.cos(node.operands[0])),)


@operation
class Cos(Unary):
    """The cosine of x radians.

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct * sin(x)
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "trigonometric"
    samples = _unary((-4.0, 4.0))

    def reference(self, x: Array) -> Array:
        return np.cos(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("cos", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.neg(b.mul(ct, b.sin(node.operands[0]))),)


@operation
class Tan(Unary):
    """The tangent of x radians.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (1 + tan(x)**2)
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "trigonometric"
    samples = _unary((-1.2, 1.2))

    def reference(self, x: Array) -> Array:
        return np.tan(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("tan", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        y = node.result
        return (b.mul(ct, b.add(b.square(y), b.constant(1.0, _dtype(y)))),)


@operation
class Asin(Unary):
    """The angle in -pi/2..pi/2 whose sine is x; NaN outside -1..1.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / sqrt(1 - x**2): infinite at -1 and 1
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "inverse"
    samples = _unary((-0.9, 0.9))

    def reference(self, x: Array) -> Array:
        return np.arcsin(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("asin", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, _cosine_of_sine(b, node.operands[0])),)


@operation
class Acos(Unary):
    """The angle in 0..pi whose cosine is x; NaN outside -1..1.

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct / sqrt(1 - x**2): infinite at -1 and 1
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "inverse"
    samples = _unary((-0.9, 0.9))

    def reference(self, x: Array) -> Array:
        return np.arccos(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("acos", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.neg(b.div(ct, _cosine_of_sine(b, node.operands[0]))),)


def _cosine_of_sine(b: Builder, x: Atom) -> Atom:
    """sqrt(1 - x**2), as (1 - x) (1 + x), which is exact near -1 and 1."""
    one = b.constant(1.0, _dtype(x))
    return b.sqrt(b.mul(b.sub(one, x), b.add(one, x)))


@operation
class Atan(Unary):
    """The angle in -pi/2..pi/2 whose tangent is x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / (1 + x**2)
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "inverse"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.arctan(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("atan", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        return (b.div(ct, b.add(b.square(x), b.constant(1.0, _dtype(x)))),)


@operation
class Sinh(Unary):
    """The hyperbolic sine.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * cosh(x)
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "inverse"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.sinh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sinh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.cosh(node.operands[0])),)


@operation
class Cosh(Unary):
    """The hyperbolic cosine.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * sinh(x)
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "inverse"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.cosh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("cosh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.mul(ct, b.sinh(node.operands[0])),)


@operation
class Asinh(Unary):
    """The number whose hyperbolic sine is x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / cosh(asinh(x)), which is sqrt(1 + x**2)
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "inverse"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.arcsinh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("asinh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, b.cosh(node.result)),)


@operation
class Acosh(Unary):
    """The number from 0 whose hyperbolic cosine is x; NaN below 1.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / sinh(acosh(x)), which is sqrt(x**2 - 1): infinite at 1
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "inverse"
    samples = _unary((1.5, 4.0))

    def reference(self, x: Array) -> Array:
        return np.arccosh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("acosh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.div(ct, b.sinh(node.result)),)


@operation
class Atanh(Unary):
    """The number whose hyperbolic tangent is x; infinite at -1 and 1, NaN outside.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct / (1 - x**2)
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "inverse"
    samples = _unary((-0.9, 0.9))

    def reference(self, x: Array) -> Array:
        return np.arctanh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("atanh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        one = b.constant(1.0, _dtype(x))
        return (b.div(ct, b.mul(b.sub(one, x), b.add(one, x))),)


@operation
class Atan2(Binary):
    """The angle in -pi..pi of the point (y, x), given as y and x, from the first axis.

    y, x      T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * x / (x**2 + y**2) for y, -ct * y / (x**2 + y**2) for x, so NaN for (0, 0); each summed over the axes along
              which it was broadcast
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast
    """

    takes = ("y", "x")
    forms = PLAIN_FORMS
    uniform = False
    cost = 16
    pack = "inverse"
    samples = (
        *_binary((0.2, 2.0), (-2.0, 2.0)),
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
        scaled = b.div(ct, b.add(b.square(x), b.square(y)))
        return b.unbroadcast(b.mul(scaled, x), to=y.type), b.unbroadcast(b.neg(b.mul(scaled, y)), to=x.type)


@operation
class Tanh(Unary):
    """The hyperbolic tangent.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * (1 - tanh(x)**2)
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "activation"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return np.tanh(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("tanh", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
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
    samples = (sample(F32_23, F32_23, domain=(-0.9, 0.9)), sample(tensor(F32), tensor(F32), domain=(-0.9, 0.9)))

    def reference(self, y: Array, ct: Array) -> Array:
        return ct * (1 - y * y)

    def scalar(self, k: Kernel, y: Expr, ct: Expr) -> Expr:
        return ct * (1 - y * y)

    def lower(self, k: Kernel, y: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (y, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        y, ct = node.operands
        dy = b.mul(b.mul(c, ct), b.mul(y, b.constant(-2.0, _dtype(node.result))))
        return b.unbroadcast(dy, to=y.type), b.unbroadcast(b.tanh_gradient(y, c), to=ct.type)


@operation
class Sigmoid(Unary):
    """1 / (1 + exp(-x)).

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * y * (1 - y), with y = sigmoid(x)
    errors    TypeError: not floating point
    """

    cost = 10
    pack = "activation"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return 1 / (1 + np.exp(-x))

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("sigmoid", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
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
    samples = (sample(F32_23, F32_23, domain=(0.1, 0.9)), sample(tensor(F32), tensor(F32), domain=(0.1, 0.9)))

    def reference(self, y: Array, ct: Array) -> Array:
        return ct * (y * (1 - y))

    def scalar(self, k: Kernel, y: Expr, ct: Expr) -> Expr:
        return ct * (y * (1 - y))

    def lower(self, k: Kernel, y: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (y, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        y, ct = node.operands
        dtype = _dtype(node.result)
        slope = b.sub(b.constant(1.0, dtype), b.mul(y, b.constant(2.0, dtype)))
        dy = b.mul(b.mul(c, ct), slope)
        return b.unbroadcast(dy, to=y.type), b.unbroadcast(b.sigmoid_gradient(y, c), to=ct.type)


@operation
class Erf(Unary):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.

    x         T[s], T a floating point type
    result    T[s]
    gradient  ct * 2 / sqrt(pi) * exp(-x**2)
    errors    TypeError: not floating point
    """

    cost = 12
    pack = "activation"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return _erf(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("erf", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        scale = b.constant(2.0 / math.sqrt(math.pi), _dtype(node.result))
        return (b.mul(b.mul(ct, scale), b.exp(b.neg(b.square(x)))),)


_erf = np.vectorize(math.erf, otypes=[np.float64])


@operation
class Erfc(Unary):
    """1 - erf(x), exact where that is small.

    x         T[s], T a floating point type
    result    T[s]
    gradient  -ct * 2 / sqrt(pi) * exp(-x**2)
    errors    TypeError: not floating point
    """

    cost = 16
    pack = "inverse"
    samples = _unary()

    def reference(self, x: Array) -> Array:
        return _erfc(x).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("erfc", x)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        (x,) = node.operands
        scale = b.constant(-2.0 / math.sqrt(math.pi), _dtype(x))
        return (b.mul(b.mul(ct, scale), b.exp(b.neg(b.square(x)))),)


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


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
    samples = _unary()

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
        *_unary((0.5, 2.0), (-2.0, -0.5)),
        sample(tensor(F32, (4,)), values={0: [0.0, -0.0, -1.0, math.nan]}, smooth=False, note="kink at 0"),
        *_integers(1, I32, U8),
    )

    def reference(self, x: Array) -> Array:
        return np.where(x <= 0, x.dtype.type(0), x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.select(k.less_equal(x, 0), 0, x) if x.dtype.kind != "u" else x

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (b.relu_gradient(node.result, ct),)


@operation
class ReluGradient(Binary):
    """The cotangent of relu's operand: ct where x > 0, else 0; x is relu's operand or, as well, its result.

    x, ct     T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  none for x, which only chooses; relu_gradient(x, c) for ct, where c is the cotangent
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    takes = ("x", "ct")
    accepts = NUMBERS
    pack = "activation"
    forms = ((FULL, FULL),)
    samples = (
        sample(F32_23, F32_23, domain=((0.5, 2.0), (-2.0, 2.0))),
        sample(F32_23, F32_23, domain=((-2.0, -0.5), (-2.0, 2.0))),
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


_GELU_SLOPE = math.sqrt(2.0 / math.pi)
_GELU_CUBE = 0.044715


@operation
class Gelu(Unary):
    """The Gaussian error linear unit: x times the chance that a standard normal number is below x.

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
            return (z * (0.5 + 0.5 * _erf(z / math.sqrt(2.0)))).astype(x.dtype)
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

    With the normal density p and its integral P, gelu' is P(x) + x p(x); for approximation "tanh" with t the tanh and
    u' the slope of its argument, it is (1 + t) / 2 + x (1 - t**2) u' / 2.

    x, ct     T[s] and T[t], T a floating point type, shapes that broadcast
    result    T[broadcast]
    gradient  c * ct * gelu''(x) for x, gelu_gradient(x, c) for ct, where c is the cotangent
    errors    TypeError: dtypes differ or are not floating point; ValueError: shapes do not broadcast, another approximation
    """

    approximation: str = "none"
    takes = ("x", "ct")
    cost = 24
    pack = "gelu"
    samples = (sample(F32_23, F32_23), sample(F32_23, F32_23, approximation="tanh"))

    def infer(self, *operands: Any) -> TensorType:
        _check_approximation(self, self.approximation)
        return super().infer(*operands)

    def reference(self, x: Array, ct: Array) -> Array:
        z = x.astype(np.float64)
        if self.approximation == "none":
            slope = 0.5 + 0.5 * _erf(z / math.sqrt(2.0)) + z * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        else:
            t = np.tanh(_GELU_SLOPE * (z + _GELU_CUBE * z**3))
            slope = 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * _GELU_SLOPE * (1.0 + 3.0 * _GELU_CUBE * z * z)
        return (ct * slope).astype(x.dtype)

    def scalar(self, k: Kernel, x: Expr, ct: Expr) -> Expr:
        if self.approximation == "none":
            density = k.call("exp", -0.5 * (x * x)) * (1.0 / math.sqrt(2.0 * math.pi))
            return ct * (0.5 + 0.5 * k.call("erf", x * math.sqrt(0.5)) + x * density)
        square = k.let(x * x, "square")
        t = k.let(k.call("tanh", _GELU_SLOPE * (x + _GELU_CUBE * (square * x))), "t")
        inner_slope = _GELU_SLOPE + (3.0 * _GELU_CUBE * _GELU_SLOPE) * square
        return ct * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope)

    def lower(self, k: Kernel, x: Buffer, ct: Buffer, out: Buffer) -> None:
        self.loops(k, (x, ct), out)

    def vjp(self, b: Builder, node: Node, c: Any) -> Cotangents:
        x, ct = node.operands
        dtype = _dtype(node.result)

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


# Comparison and logic -----------------------------------------------------------------------------------------------


class Comparison(Binary):
    """A comparison of numbers: true or false, no gradient."""

    accepts = ANY
    forms = PLAIN_FORMS
    yields = BOOL
    samples = (
        sample(F32_23, F32_23, smooth=False, note="a step"),
        sample(F32_23, tensor(F32), smooth=False, note="a step"),
        sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [1.0, 0.0, math.nan, 2.0], 1: [1.0, -0.0, math.nan, 1.0]},
               smooth=False, note="a step"),
        sample(tensor(F32, (0, 3)), tensor(F32, (3,)), smooth=False, note="a step"),
        *_integers(2, I32, U8, BOOL),
    )


@operation
class Less(Comparison):
    """x < y; false where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    cuts = "less is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.less(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.less(x, y)


@operation
class LessEqual(Comparison):
    """x <= y; false where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    cuts = "less_equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.less_equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.less_equal(x, y)


@operation
class Greater(Comparison):
    """x > y; false where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    cuts = "greater is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.greater(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.greater(x, y)


@operation
class GreaterEqual(Comparison):
    """x >= y; false where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    cuts = "greater_equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.greater_equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.greater_equal(x, y)


@operation
class Equal(Comparison):
    """x == y; false where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    cuts = "equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.equal(x, y)


@operation
class NotEqual(Comparison):
    """x != y; true where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    cuts = "not_equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.not_equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.not_equal(x, y)


class Logical(Binary):
    """Logic on bools."""

    accepts = (BOOL,)
    forms = PLAIN_FORMS
    samples = (
        sample(BOOL_23, BOOL_23, smooth=False, note="bools"),
        sample(BOOL_23, tensor(BOOL), smooth=False, note="bools"),
        sample(tensor(BOOL, (4,)), tensor(BOOL, (4,)), values={0: [True, True, False, False], 1: [True, False, True, False]},
               smooth=False, note="bools"),
    )


@operation
class LogicalAnd(Logical):
    """x and y.

    x, y      bool[s] and bool[t], shapes that broadcast
    result    bool[broadcast]
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: shapes do not broadcast
    """

    cuts = "bools have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.logical_and(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x & y


@operation
class LogicalOr(Logical):
    """x or y.

    x, y      bool[s] and bool[t], shapes that broadcast
    result    bool[broadcast]
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: shapes do not broadcast
    """

    cuts = "bools have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.logical_or(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x | y


@operation
class LogicalXor(Logical):
    """Either x or y, not both.

    x, y      bool[s] and bool[t], shapes that broadcast
    result    bool[broadcast]
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: shapes do not broadcast
    """

    cuts = "bools have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.logical_xor(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x ^ y


@operation
class LogicalNot(Unary):
    """Not x.

    x         bool[s]
    result    bool[s]
    gradient  none: bools have none
    errors    TypeError: not bool
    """

    accepts = (BOOL,)
    cuts = "bools have no gradient"
    pack = "logic"
    samples = (sample(BOOL_23, smooth=False, note="bools"), sample(tensor(BOOL), smooth=False, note="bools"))

    def reference(self, x: Array) -> Array:
        return np.logical_not(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.negation(x)


class Bitwise(Binary):
    """Logic on the bits of integers, or on bools."""

    accepts = (BOOL, *INTEGERS)
    forms = PLAIN_FORMS
    samples = _integers(2, I32, U8, BOOL)


@operation
class BitwiseAnd(Bitwise):
    """The bits that x and y share.

    x, y      T[s] and T[t], T an integer type or bool, shapes that broadcast
    result    T[broadcast]
    gradient  none: bits have none
    errors    TypeError: dtypes differ or are not integers; ValueError: shapes do not broadcast
    """

    cuts = "bits have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.bitwise_and(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x & y


@operation
class BitwiseOr(Bitwise):
    """The bits of x and of y.

    x, y      T[s] and T[t], T an integer type or bool, shapes that broadcast
    result    T[broadcast]
    gradient  none: bits have none
    errors    TypeError: dtypes differ or are not integers; ValueError: shapes do not broadcast
    """

    cuts = "bits have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.bitwise_or(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x | y


@operation
class BitwiseXor(Bitwise):
    """The bits in which x and y differ.

    x, y      T[s] and T[t], T an integer type or bool, shapes that broadcast
    result    T[broadcast]
    gradient  none: bits have none
    errors    TypeError: dtypes differ or are not integers; ValueError: shapes do not broadcast
    """

    cuts = "bits have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.bitwise_xor(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x ^ y


@operation
class BitwiseNot(Unary):
    """Every bit of x turned; for a bool, not x.

    x         T[s], T an integer type or bool
    result    T[s]
    gradient  none: bits have none
    errors    TypeError: not integers
    """

    accepts = (BOOL, *INTEGERS)
    cuts = "bits have no gradient"
    pack = "logic"
    samples = _integers(1, I32, U8, BOOL)

    def reference(self, x: Array) -> Array:
        return np.bitwise_not(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.negation(x) if x.dtype is BOOL else ~x


def _shift_inside(k: Kernel, y: Expr) -> Expr:
    """Whether C shifts by y places as one expects."""
    small = k.less(y, 8 * y.dtype.size)
    return small if y.dtype.kind == "u" else k.both(k.greater_equal(y, 0), small)


@operation
class ShiftLeft(Binary):
    """The bits of x moved y places up; 0 when y is negative or not below the width of T, as in NumPy.

    x, y      T[s] and T[t], T an integer type, shapes that broadcast
    result    T[broadcast]
    gradient  none: bits have none
    errors    TypeError: dtypes differ or are not integers; ValueError: shapes do not broadcast
    """

    accepts = INTEGERS
    cuts = "bits have no gradient"
    pack = "logic"
    samples = (
        sample(I32_23, I32_23, values={0: [[5, -6, 1], [1, 1, -1]], 1: [[3, 2, 31], [32, -1, 40]]}, smooth=False, note="bits"),
        *_integers(2, U8, domain=(0.0, 9.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.left_shift(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        inside = _shift_inside(k, y)
        unsigned = DTYPES["u" + x.dtype.name[1:]]
        return k.select(inside, k.cast(k.cast(x, unsigned) << k.select(inside, y, 0), x.dtype), 0)


@operation
class ShiftRight(Binary):
    """x divided by 2**y, rounded down; 0, or -1 below zero, when y is negative or not below the width of T, as in NumPy.

    x, y      T[s] and T[t], T an integer type, shapes that broadcast
    result    T[broadcast]
    gradient  none: bits have none
    errors    TypeError: dtypes differ or are not integers; ValueError: shapes do not broadcast
    """

    accepts = INTEGERS
    cuts = "bits have no gradient"
    pack = "logic"
    samples = (
        sample(I32_23, I32_23, values={0: [[5, -6, 1], [1, 1, -1]], 1: [[3, 2, 31], [32, -1, 40]]}, smooth=False, note="bits"),
        *_integers(2, U8, domain=(0.0, 9.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.right_shift(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        inside = _shift_inside(k, y)
        emptied = k.literal(0, x.dtype) if x.dtype.kind == "u" else k.select(k.less(x, 0), k.literal(-1, x.dtype), 0)
        return k.select(inside, x >> k.select(inside, y, 0), emptied)


class Inspection(Unary):
    """A question about the kind of each number: true or false, no gradient."""

    accepts = NUMBERS
    yields = BOOL
    samples = (
        sample(tensor(F32, (5,)), values={0: [0.0, math.nan, math.inf, -math.inf, 1.0]}, smooth=False, note="a step"),
        sample(tensor(F32, (0, 3)), smooth=False, note="a step"),
        *_integers(1, I32, U8),
    )


@operation
class IsNan(Inspection):
    """Whether x is NaN; an integer never is.

    x         T[s], T a number type
    result    bool[s]
    gradient  none: piecewise constant
    errors    TypeError: not numbers
    """

    cuts = "is_nan is piecewise constant"
    pack = "compare"

    def reference(self, x: Array) -> Array:
        return np.isnan(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("isnan", x) if x.dtype.is_float else k.literal(False, BOOL)


@operation
class IsInf(Inspection):
    """Whether x is infinite; an integer never is.

    x         T[s], T a number type
    result    bool[s]
    gradient  none: piecewise constant
    errors    TypeError: not numbers
    """

    cuts = "is_inf is piecewise constant"
    pack = "compare"

    def reference(self, x: Array) -> Array:
        return np.isinf(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("isinf", x) if x.dtype.is_float else k.literal(False, BOOL)


@operation
class IsFinite(Inspection):
    """Whether x is neither infinite nor NaN; an integer always is.

    x         T[s], T a number type
    result    bool[s]
    gradient  none: piecewise constant
    errors    TypeError: not numbers
    """

    cuts = "is_finite is piecewise constant"
    pack = "compare"

    def reference(self, x: Array) -> Array:
        return np.isfinite(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("isfinite", x) if x.dtype.is_float else k.literal(True, BOOL)


# Selection, casts, identities ---------------------------------------------------------------------------------------


@operation
class Select(Elementwise):
    """x where the condition holds, else y.

    condition bool[r]
    x, y      T[s] and T[t], any dtype; the three shapes broadcast
    result    T[broadcast]
    gradient  none for the condition; ct where it holds for x, ct where it does not for y, 0 elsewhere, each summed over
              the axes along which it was broadcast
    errors    TypeError: condition not bool, dtypes of x and y differ; ValueError: shapes do not broadcast
    """

    takes = ("condition", "x", "y")
    accepts = ANY
    pack = "compare"
    samples = (
        sample(BOOL_23, F32_23, F32_23),
        sample(BOOL_23, F32_23, tensor(F32)),
        sample(BOOL_23, tensor(F32), F32_23),
        sample(tensor(BOOL, (3,)), tensor(F32, (2, 1)), tensor(F32)),
        sample(tensor(BOOL), F32_23, tensor(F32, (3,))),
        sample(tensor(BOOL, (0, 3)), tensor(F32, (3,)), tensor(F32)),
        sample(BOOL_23, I32_23, I32_23, smooth=False, note="integers"),
        sample(BOOL_23, BOOL_23, BOOL_23, smooth=False, note="bools"),
    )

    def infer(self, *operands: Any) -> TensorType:
        for name, type_ in zip(self.takes, operands, strict=True):
            if not isinstance(type_, TensorType):
                raise mistake(self, name, "a tensor", type_, TypeError)
        condition, x, y = operands
        if condition.dtype is not BOOL:
            raise mistake(self, "condition", "a tensor of Bool", condition, TypeError)
        if x.dtype is not y.dtype:
            raise mistake(self, "y", f"of the same dtype as x, {x.dtype}", y, TypeError)
        return tensor(x.dtype, self.broadcast(operands))

    def reference(self, condition: Array, x: Array, y: Array) -> Array:
        return np.where(condition, x, y)

    def scalar(self, k: Kernel, condition: Expr, x: Expr, y: Expr) -> Expr:
        return k.select(condition, x, y)

    def lower(self, k: Kernel, condition: Buffer, x: Buffer, y: Buffer, out: Buffer) -> None:
        self.loops(k, (condition, x, y), out)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        condition, x, y = node.operands
        dtype: DType = ct.type.dtype
        zero = b.constant(False if dtype is BOOL else _number(0, dtype), dtype)
        return (
            None,
            b.unbroadcast(b.select(condition, ct, zero), to=x.type),
            b.unbroadcast(b.select(condition, zero, ct), to=y.type),
        )

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for shapes in BINARY_FORMS[:3]:
            yield cls(), (tensor(BOOL, FULL), *(tensor(dtype, shape) for shape in shapes))


@operation
class Cast(Unary):
    """x in another dtype.

    To bool: whether it is not 0.  Float to integer: truncated toward zero, saturated at the ends of the range, 0 for NaN.
    Integer to a narrower integer: wrapped.  To a float: rounded to nearest, ties to even; to a two-byte float by way of
    float32.

    x         T[s], any dtype
    result    to[s]
    gradient  ct cast back to T; none from a float to an integer or bool, which is piecewise constant
    errors    TypeError: not a tensor
    """

    to: DType
    accepts = ANY
    pack = "cast"
    samples = (
        sample(F32_23, to=F64),
        sample(tensor(F64, (2, 3)), to=F32),
        sample(F32_23, to=F16),
        sample(tensor(F16, (2, 3)), to=F32),
        sample(tensor(F64, (8,)), values={0: [math.nan, math.inf, -math.inf, 3e9, -3e9, -1.9, 1.9, 2147483647.5]}, to=I32,
               smooth=False, note="steps"),
        sample(tensor(F32, (8,)), values={0: [math.nan, math.inf, -math.inf, 1e19, -1e19, -1.9, 255.9, 300.0]}, to=U8,
               smooth=False, note="steps"),
        sample(tensor(F32, (6,)), values={0: [math.nan, math.inf, -math.inf, 2.0**63, -(2.0**63), -1.9]}, to=I64,
               smooth=False, note="steps"),
        sample(tensor(F32, (4,)), values={0: [0.0, -0.0, math.nan, 0.5]}, to=BOOL, smooth=False, note="a step"),
        sample(tensor(I64, (3,)), values={0: [2**53 + 1, -(2**31) - 1, 300]}, to=I32, smooth=False, note="integers"),
        sample(tensor(I64, (3,)), values={0: [2**53 + 1, -(2**31) - 1, 2**62 + 2**38 + 1]}, to=F32, smooth=False,
               note="integers"),
        sample(BOOL_23, to=F32, smooth=False, note="bools"),
        sample(I32_23, to=BOOL, smooth=False, note="integers"),
        sample(tensor(F32, (0, 3)), to=F64),
    )

    def infer(self, *operands: Any) -> TensorType:
        return super().infer(*operands).with_dtype(self.to)

    def reference(self, x: Array) -> Array:
        if self.to is BOOL:
            return x != 0
        if x.dtype.kind == "f" and self.to.is_integer:
            return _saturated(x, self.to.array)
        return x.astype(self.to.compute.array)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        if not (x.dtype.is_float and self.to.is_integer):
            return k.cast(x, self.to.compute)
        ends = np.iinfo(self.to.array)
        least, most = k.literal(int(ends.min), self.to), k.literal(int(ends.max), self.to)
        below, above = float(int(ends.min) - 1), float(int(ends.max) + 1)
        inside = k.let(k.both(k.greater(x, below), k.less(x, above)), "inside")
        outside = k.select(k.greater_equal(x, above), most, k.select(k.less_equal(x, below), least, 0))
        return k.select(inside, k.cast(k.select(inside, x, 0), self.to), outside)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        source = _dtype(node.operands[0])
        if source.is_float and not self.to.is_float:
            return (None,)
        return (b.cast(ct, to=source),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for other in (BOOL, U8, I32, I64, F16, F32, F64):
            if other is not dtype:
                yield cls(to=other), (tensor(dtype, FULL),)
                yield cls(to=dtype), (tensor(other, FULL),)


def _saturated(x: Array, to: np.dtype[Any]) -> Array:
    """Floats as integers: truncated, the ends of the range for what is outside, 0 for NaN."""
    ends = np.iinfo(to)
    above = x >= float(ends.max + 1)
    below = x <= float(ends.min - 1)
    inside = np.where(above | below | np.isnan(x), x.dtype.type(0), x).astype(to)
    return np.where(above, to.type(ends.max), np.where(below, to.type(ends.min), inside))


@operation
class Identity(Unary):
    """x itself; its result stands on the operand's memory.

    x         T[s], any dtype
    result    T[s]
    gradient  ct
    errors    TypeError: not a tensor
    """

    accepts = ANY
    aliases: ClassVar[bool] = True
    samples = (*_unary(), sample(I32_23, smooth=False, note="integers"))

    def reference(self, x: Array) -> Array:
        return x

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return x

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (ct,)


@operation
class StopGradient(Unary):
    """x, through which no gradient flows; its result stands on the operand's memory.

    x         T[s], any dtype
    result    T[s]
    gradient  none
    errors    TypeError: not a tensor
    """

    accepts = ANY
    aliases: ClassVar[bool] = True
    cuts = "stop_gradient lets no gradient through"
    samples = (sample(F32_23, smooth=False, note="no gradient, by intent"), *_integers(1, I32))

    def reference(self, x: Array) -> Array:
        return x

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return x
