"""Powers: those that programs compute most often are products, quotients and roots."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.kernel.c_ast import Real
from adjoint.ir.op import operation, sample
from adjoint.ir.ops import complex_arithmetic
from adjoint.ir.ops.elementwise import ALL_NUMBERS, I32_23, PLAIN_FORMS, Array, Binary, Cotangents, dtype_of, literal, smooth_binary
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD
from adjoint.ir.public import Public
from adjoint.ir.types import F32, F64, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["Pow"]


_KNOWN: Mapping[float, Callable[[Kernel, Expr], Expr]] = {
    2: lambda k, x: x * x,
    1: lambda k, x: x,
    3: lambda k, x: k.call("cube", x),
    0.5: lambda k, x: k.call("square_root", x),
    -1: lambda k, x: k.call("inverse", x),
    4: lambda k, x: k.call("fourth_power", x),
    -0.5: lambda k, x: k.call("inverse_root", x),
    -2: lambda k, x: k.call("inverse_square", x),
}
"""What computes floating point powers if y is one number: by this number, the C expression for an element of x."""


@operation
class Pow(Binary):
    """x to the power y; 0 ** 0 is 1, a negative x to a power that is not an integer is NaN; x ** 2 is x * x and x ** 1 is x, to the bit.

    An integer to a negative power is 1 / x**-y truncated toward zero: 1 for 1, 1 or -1 for -1, else 0.  A complex x to a whole number of
    at most 64 is a product, or 1 divided by it, to another power e ** (y log(x)); 0 to a power whose real part is not above 0 is NaN.

    x, y      T[s] and T[t], T a number type, shapes that broadcast
    result    T[broadcast]
    gradient  ct * y * x**(y - 1) for x, so NaN at 0**0; ct * x**y * log(x) for y, where log(0) is taken as 0 if
              y >= 0, so NaN for a negative x; for complex numbers with the conjugates of these factors; each summed over
              the axes along which it was broadcast
    errors    TypeError: dtypes differ or are not numbers; ValueError: shapes do not broadcast
    """

    public = Public("pow(input, exponent)", functions="tensor_pow pows")
    accepts = ALL_NUMBERS
    uniform = False
    chosen_by = (1,)
    cost = 32
    pack = "power"
    forms = PLAIN_FORMS
    samples = (
        *smooth_binary((0.5, 2.0), (-2.0, 2.0)),
        sample(tensor(F32, (7,)), tensor(F32, (7,)), values={0: [0, 0, 0, -2, -2, 2, 0], 1: [0, 1, 2, 2, 3, 0, -1]},
               smooth=False, note="powers of zero and of negative numbers"),
        *(sample(tensor(F32, (2, 33)), tensor(F32), values={1: power}, smooth=False, note=f"all to the power {power}")
          for power in (2.0, 1.0, 3.0, 4.0, 0.5, -0.5, -1.0, -2.0, 1.5)),
        *(sample(tensor(F32, (6,)), tensor(F32), values={0: [0.0, -0.0, math.inf, -math.inf, math.nan, -2.0], 1: power}, smooth=False,
                 note=f"edges to the power {power}") for power in (3.0, 4.0, 0.5, -0.5, -1.0, -2.0)),
        sample(I32_23, I32_23, values={0: [[2, 3, 0], [-1, -1, 7]], 1: [[3, 0, 0], [-3, -2, -1]]},
               smooth=False, note="integers"),
    )

    def reference(self, x: Array, y: Array) -> Array:
        if x.dtype.kind == "c":
            return complex_arithmetic.complex_power(x, y)
        if x.dtype.kind == "f":
            # Of two rows in memory: for an exponent that is one number NumPy may call `sqrt`, another function of -0 and -infinity.
            bases, exponents = (np.ascontiguousarray(each).reshape(-1) for each in np.broadcast_arrays(x, y))
            powers = np.power(bases, exponents).reshape(np.broadcast_shapes(x.shape, y.shape))
            return np.where(y == 2, x * x, np.where(y == 1, x, powers))
        inverse = np.where(x == 1, 1, np.where(x == np.array(-1).astype(x.dtype), 1 - 2 * (y & 1), 0))
        return np.where(y >= 0, np.power(x, np.maximum(y, 0)), inverse).astype(x.dtype)

    def lower(self, k: Kernel, x: Buffer, y: Buffer, out: Buffer) -> None:
        if not (x.dtype.is_float and y.count == 1 and out.count == x.count):
            super().lower(k, x, y, out)
            return
        k.describe(x, "...")
        k.describe(out, "...")
        step = k.size(0, "step")
        with k.stage_range(out.count, max(1, ELEMENTS_PER_THREAD // self.cost)) as (begin, end):
            power = k.let(y[0], "power")

            def either(known: Sequence[tuple[float, Callable[[Kernel, Expr], Expr]]]) -> None:
                if not known:
                    with k.loop(begin, end, "i") as i:
                        k.store(out, i, k.call("pow", x[i], y[i * step]))  # as `uniform` says
                    return
                (value, formula), *others = known
                with k.when(k.equal(power, value)), k.loop(begin, end, "i") as i:
                    k.store(out, i, formula(k, x[i]))
                with k.otherwise():
                    either(others)

            either([*_KNOWN.items()])

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        if x.dtype.is_float:
            known = _KNOWN.get(y.value) if isinstance(y, Real) else None
            return k.call("pow", x, y) if known is None else known(k, x)
        if x.dtype.is_complex:
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
        dx = b.mul(ct, b.conj(b.mul(y, b.pow(x, b.sub(y, one)))))
        if dtype.is_complex:
            base = b.select(b.equal(x, zero), one, x)
            return b.unbroadcast(dx, to=x.type), b.unbroadcast(b.mul(ct, b.conj(b.mul(node.result, b.log(base)))), to=y.type)
        base = b.select(b.logical_and(b.equal(x, zero), b.greater_equal(y, zero)), one, x)
        if dtype.is_float:
            dy = b.mul(ct, b.mul(node.result, b.log(base)))
        else:
            wide = b.mul(b.cast(b.mul(ct, node.result), to=F64), b.log(b.cast(base, to=F64)))
            dy = b.cast(wide, to=dtype)
        return b.unbroadcast(dx, to=x.type), b.unbroadcast(dy, to=y.type)
