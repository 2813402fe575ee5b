"""Powers: squares, which programs compute most often, are products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import operation, sample
from adjoint.ir.ops.elementwise import I32_23, NUMBERS, PLAIN_FORMS, Array, Binary, Cotangents, dtype_of, literal, smooth_binary
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD
from adjoint.ir.public import Public
from adjoint.ir.types import F32, F64, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["Pow"]


@operation
class Pow(Binary):
    """x to the power y; 0 ** 0 is 1, a negative x to a power that is no integer is NaN; x ** 2 is x * x and x ** 1 is x, to the bit.

    An integer to a negative power is 1 / x**-y truncated toward zero: 1 for 1, 1 or -1 for -1, else 0.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * y * x**(y - 1) for x, so NaN at 0**0; ct * x**y * log(x) for y, where log(0) is taken as 0 if
              y >= 0, so NaN for a negative x; each summed over the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    public = Public("pow(input, exponent)", functions="tensor_pow")
    accepts = NUMBERS
    uniform = False
    cost = 32
    pack = "power"
    forms = PLAIN_FORMS
    samples = (
        *smooth_binary((0.5, 2.0), (-2.0, 2.0)),
        sample(tensor(F32, (7,)), tensor(F32, (7,)), values={0: [0, 0, 0, -2, -2, 2, 0], 1: [0, 1, 2, 2, 3, 0, -1]},
               smooth=False, note="powers of zero and of negative numbers"),
        *(sample(tensor(F32, (2, 33)), tensor(F32), values={1: power}, smooth=False, note=f"all to the power {power}")
          for power in (2.0, 1.0, 3.0)),
        sample(I32_23, I32_23, values={0: [[2, 3, 0], [-1, -1, 7]], 1: [[3, 0, 0], [-3, -2, -1]]},
               smooth=False, note="integers"),
    )

    def reference(self, x: Array, y: Array) -> Array:
        if x.dtype.kind == "f":
            return np.where(y == 2, x * x, np.where(y == 1, x, np.power(x, y)))
        inverse = np.where(x == 1, 1, np.where(x == np.array(-1).astype(x.dtype), 1 - 2 * (y & 1), 0))
        return np.where(y >= 0, np.power(x, np.maximum(y, 0)), inverse).astype(x.dtype)

    def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer) -> None:
        if not (x.dtype.is_float and y.count == 1 < out.count == x.count):
            super().lower(k, x, y, out)
            return
        k.describe(x, "...")
        k.describe(out, "...")
        step = k.size(0, "step")
        with k.stage_range(out.count, max(1, ELEMENTS_PER_THREAD // self.cost)) as (begin, end):
            power = k.let(y[0], "power")
            with k.when(k.equal(power, 2)), k.loop(begin, end, "i") as i:
                k.store(out, i, x[i] * x[i])
            with k.when(k.equal(power, 1)), k.loop(begin, end, "i") as i:
                k.store(out, i, x[i])
            with k.when(k.both(k.not_equal(power, 2), k.not_equal(power, 1))), k.loop(begin, end, "i") as i:
                k.store(out, i, k.call("pow", x[i], y[i * step]))  # as `uniform` says

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
        dtype = dtype_of(node.result)
        zero, one = b.constant(literal(0, dtype), dtype), b.constant(literal(1, dtype), dtype)
        dx = b.mul(ct, b.mul(y, b.pow(x, b.sub(y, one))))
        base = b.select(b.logical_and(b.equal(x, zero), b.greater_equal(y, zero)), one, x)
        if dtype.is_float:
            dy = b.mul(ct, b.mul(node.result, b.log(base)))
        else:
            wide = b.mul(b.cast(b.mul(ct, node.result), to=F64), b.log(b.cast(base, to=F64)))
            dy = b.cast(wide, to=dtype)
        return b.unbroadcast(dx, to=x.type), b.unbroadcast(dy, to=y.type)
