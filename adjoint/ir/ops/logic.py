"""Logic of bools, and of the bits of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoint.ir.op import operation, sample
from adjoint.ir.ops.elementwise import (
    BOOL_23,
    I32_23,
    PLAIN_FORMS,
    Array,
    Binary,
    Unary,
    on_integers,
)
from adjoint.ir.public import Public
from adjoint.ir.types import BOOL, DTYPES, I16, I32, I64, INTEGERS, U8, U64, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Expr, Kernel

__all__ = [
    "Bitwise", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Logical", "LogicalAnd", "LogicalNot",
    "LogicalOr", "LogicalXor", "PopulationCount", "ShiftLeft", "ShiftRight",
]


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
    """Whether x and y are both true.

    x, y      bool[s] and bool[t], shapes that broadcast
    result    bool[broadcast]
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: shapes do not broadcast
    """

    public = Public("logical_and(input, other)", primitives="", operands="to bools")
    cuts = "bools have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.logical_and(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x & y


@operation
class LogicalOr(Logical):
    """Whether x or y is true.

    x, y      bool[s] and bool[t], shapes that broadcast
    result    bool[broadcast]
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: shapes do not broadcast
    """

    public = Public("logical_or(input, other)", primitives="", operands="to bools")
    cuts = "bools have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.logical_or(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x | y


@operation
class LogicalXor(Logical):
    """Whether exactly one of x and y is true.

    x, y      bool[s] and bool[t], shapes that broadcast
    result    bool[broadcast]
    gradient  none: bools have none
    errors    TypeError: not bool; ValueError: shapes do not broadcast
    """

    public = Public("logical_xor(input, other)", operands="to bools")
    cuts = "bools have no gradient"
    pack = "logic"

    def reference(self, x: Array, y: Array) -> Array:
        return np.logical_xor(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return x ^ y


@operation
class LogicalNot(Unary):
    """Whether x is false.

    x         bool[s]
    result    bool[s]
    gradient  none: bools have none
    errors    TypeError: not bool
    """

    public = Public("logical_not(input)", operands="to bools")
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
    beyond = "wrapped"
    forms = PLAIN_FORMS
    samples = on_integers(2, I32, U8, BOOL)


@operation
class BitwiseAnd(Bitwise):
    """The bits set in both x and y.

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
    """The bits set in x or y.

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
    """Every bit of x inverted; for a bool, not x.

    x         T[s], T an integer type or bool
    result    T[s]
    gradient  none: bits have none
    errors    TypeError: not integers
    """

    accepts = (BOOL, *INTEGERS)
    cuts = "bits have no gradient"
    pack = "logic"
    samples = on_integers(1, I32, U8, BOOL)

    def reference(self, x: Array) -> Array:
        return np.bitwise_not(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.negation(x) if x.dtype is BOOL else ~x


def _shift_inside(k: Kernel, y: Expr) -> Expr:
    """Return the C condition that a shift by y bits is defined in C."""
    small = k.less(y, 8 * y.dtype.size)
    return small if y.dtype.kind == "u" else k.both(k.greater_equal(y, 0), small)


@operation
class ShiftLeft(Binary):
    """The bits of x shifted left by y; 0 if y is negative or not less than the width of T, as in NumPy.

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
        *on_integers(2, U8, domain=(0.0, 9.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.left_shift(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        inside = _shift_inside(k, y)
        unsigned = DTYPES["u" + x.dtype.name[1:]]
        return k.select(inside, k.cast(k.cast(x, unsigned) << k.select(inside, y, 0), x.dtype), 0)


@operation
class ShiftRight(Binary):
    """x divided by 2**y, rounded down; 0, or -1 for negative x, if y is negative or not less than the width of T, as in NumPy.

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
        *on_integers(2, U8, domain=(0.0, 9.0)),
    )

    def reference(self, x: Array, y: Array) -> Array:
        return np.right_shift(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        inside = _shift_inside(k, y)
        emptied = k.literal(0, x.dtype) if x.dtype.kind == "u" else k.select(k.less(x, 0), k.literal(-1, x.dtype), 0)
        return k.select(inside, x >> k.select(inside, y, 0), emptied)


@operation
class PopulationCount(Unary):
    """How many bits of x are set, of a negative integer those of its two's complement.

    x         T[s], T an integer type
    result    u8[s]
    gradient  none: bits have none
    errors    TypeError: not integers
    """

    public = Public("population_count(input_x)", methods="")
    accepts = INTEGERS
    yields = U8
    cuts = "bits have no gradient"
    samples = (
        sample(tensor(I32, (6,)), values={0: [0, 1, 3, -1, 2**31 - 1, -(2**31)]}, smooth=False, note="bits"),
        sample(tensor(I64, (5,)), values={0: [0, -1, 2**40 + 1, 2**63 - 1, -(2**63)]}, smooth=False, note="bits"),
        sample(tensor(I16, (3,)), values={0: [-1, 5, 2**14]}, smooth=False, note="bits"),
        *on_integers(1, U8, domain=(0.0, 255.0)),
    )

    def reference(self, x: Array) -> Array:
        octets = np.ascontiguousarray(x).reshape(-1, 1).view(np.uint8)
        return np.unpackbits(octets, axis=-1).sum(-1, dtype=np.uint8).reshape(x.shape)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        # Sums of neighbouring bits, pairs, groups of four; the product adds up all octets in the highest one.
        unsigned = DTYPES["u" + x.dtype.name[1:]] if x.dtype.kind == "i" else x.dtype
        bits = k.let(k.cast(k.cast(x, unsigned), U64), "bits")
        pairs = k.let(bits - ((bits >> 1) & 0x5555555555555555), "pairs")
        fours = k.let((pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333), "fours")
        octets = k.let((fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F, "octets")
        return k.cast((octets * 0x0101010101010101) >> 56, U8)
