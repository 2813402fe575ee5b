"""Selection, conversion to another dtype, and ops that return their operand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops.elementwise import (
    ANY,
    BINARY_FORMS,
    BOOL_23,
    F32_23,
    FULL,
    I32_23,
    Array,
    Binary,
    Cotangents,
    Elementwise,
    Unary,
    dtype_of,
    literal,
    on_integers,
    smooth_unary,
)
from adjoint.ir.types import BOOL, F16, F32, F64, I32, I64, U8, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["Cast", "Examples", "Identity", "NoGrad", "Select", "StopGradient", "StraightThrough"]


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
    beyond = "wrapped"
    pack = "compare"
    samples = (
        sample(BOOL_23, F32_23, F32_23),
        sample(BOOL_23, F32_23, tensor(F32)),
        sample(BOOL_23, tensor(F32), F32_23),
        sample(tensor(BOOL, (3,)), tensor(F32, (2, 1)), tensor(F32)),
        sample(tensor(BOOL), F32_23, tensor(F32, (3,))),
        *(sample(tensor(BOOL, (3, 3)), *pair) for pair in itertools.permutations((tensor(F32, (3, 3)), tensor(F32, (3,))))),
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
        zero = b.constant(False if dtype is BOOL else literal(0, dtype), dtype)
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
    float32.  Complex to another kind: the real part; to complex from another kind: with the imaginary part 0.

    x         T[s], any dtype
    result    to[s]
    gradient  ct cast back to T; none from a float or complex type to an integer or bool, which is piecewise constant
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
        if x.dtype.kind == "c" and not self.to.is_complex:
            x = x.real
        if self.to is BOOL:
            return x != 0
        if x.dtype.kind == "f" and self.to.is_integer:
            return _saturated(x, self.to.array)
        return x.astype(self.to.compute.array)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        if x.dtype.is_complex and not self.to.is_complex:
            x = k.let(k.part_of(x, "real"), "real")
        if not (x.dtype.is_float and self.to.is_integer):
            return k.cast(x, self.to.compute)
        ends = np.iinfo(self.to.array)
        least, most = k.literal(int(ends.min), self.to), k.literal(int(ends.max), self.to)
        below, above = float(int(ends.min) - 1), float(int(ends.max) + 1)
        inside = k.let(k.both(k.greater(x, below), k.less(x, above)), "inside")
        outside = k.select(k.greater_equal(x, above), most, k.select(k.less_equal(x, below), least, 0))
        return k.select(inside, k.cast(k.select(inside, x, 0), self.to), outside)

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        source = dtype_of(node.operands[0])
        if source.is_inexact and not self.to.is_inexact:
            return (None,)
        return (b.cast(ct, to=source),)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        for other in (BOOL, U8, I32, I64, F16, F32, F64):
            if other is not dtype:
                yield cls(to=other), (tensor(dtype, FULL),)
                yield cls(to=dtype), (tensor(other, FULL),)


def _saturated(x: Array, to: np.dtype[Any]) -> Array:
    """Convert floats to integers: truncated; out of range, the nearest end of the range; 0 for NaN."""
    ends = np.iinfo(to)
    above = x >= float(ends.max + 1)
    below = x <= float(ends.min - 1)
    inside = np.where(above | below | np.isnan(x), x.dtype.type(0), x).astype(to)
    return np.where(above, to.type(ends.max), np.where(below, to.type(ends.min), inside))


class _Alias(Unary):
    """x under another name: the result shares the operand's memory."""

    accepts = ANY
    aliases: ClassVar[bool] = True

    def reference(self, x: Array) -> Array:
        return x

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return x


@operation
class Identity(_Alias):
    """x itself; its result shares the operand's memory.

    x         T[s], any dtype
    result    T[s]
    gradient  ct
    errors    TypeError: not a tensor
    """

    samples = (*smooth_unary(), sample(I32_23, smooth=False, note="integers"))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return (ct,)


@operation
class Examples(_Alias):
    """The examples of a batch, x itself; its result shares the operand's memory.

    The loop over the examples takes slices of x, so the gradient has no -0: see `slice_gradient`.

    x         T[s], any dtype
    result    T[s]
    gradient  0 + ct
    errors    TypeError: not a tensor
    """

    samples = (*smooth_unary(), sample(I32_23, smooth=False, note="integers"))

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        dtype = tensor_type(node.result).dtype
        return (b.add(ct, b.constant(literal(0, dtype), dtype)),)


@operation
class StopGradient(_Alias):
    """x, through which no gradient flows; its result shares the operand's memory.

    x         T[s], any dtype
    result    T[s]
    gradient  none
    errors    TypeError: not a tensor
    """

    cuts = "stop_gradient lets no gradient through"
    samples = (sample(F32_23, smooth=False, note="no gradient, by intent"), *on_integers(1, I32))


@operation
class NoGrad(_Alias):
    """x as seen by ops inside of `with _no_grad():`: no gradient flows through it; its result shares the operand's memory.

    Unlike with `stop_gradient`, hooks may be registered on its result; they do not run.

    x         T[s], any dtype
    result    T[s]
    gradient  none
    errors    TypeError: not a tensor
    """

    cuts = "what `_no_grad` computes has no gradient"
    samples = (sample(F32_23, smooth=False, note="no gradient, by intent"), *on_integers(1, I32))


@operation
class StraightThrough(Binary):
    """The numbers of `value`, with the gradient of `x`: the value of x after a write to it inside of `with _no_grad():`.

    x, value  T[s] and T[t], any dtype, shapes that broadcast
    result    T[broadcast]
    gradient  ct for x, summed over the axes along which it was broadcast; none for value: not the derivative, by intent
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    takes = ("x", "value")
    accepts = ANY
    forms = ((FULL, FULL),)
    samples = (sample(F32_23, F32_23, smooth=False, note="the gradient of x, by intent"), *on_integers(2, I32))

    def reference(self, x: Array, value: Array) -> Array:
        return np.where(True, value, x)

    def scalar(self, k: Kernel, x: Expr, value: Expr) -> Expr:
        return value

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        return b.unbroadcast(ct, to=node.operands[0].type), None
