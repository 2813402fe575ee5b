"""Integers: divisors and multiples, division toward zero, and shifts of their bits.

TypeError for what is not a Tensor or number and for floats, ValueError for shapes that do not broadcast.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops.arithmetic import CommonDivisor
from adjoint.ir.ops.logic import BitwiseOr, ShiftLeft, ShiftRight
from adjoint.ops.arguments import operand, whole, wrong
from adjoint.ops.arithmetic import abs, div, equal, floor_div, truncated_mod, where
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.operators import combined
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm", "truncate_div", "truncate_mod",
]

_BITS = BitwiseOr()
_DIVISOR = CommonDivisor()
_LEFT, _RIGHT = ShiftLeft(), ShiftRight()

# Divisors ------------------------------------------------------------------------------------------------------------

def common_divisor(first: Tensor, second: Tensor) -> Tensor:
    """Return the greatest common divisor of integers of one dtype; that of two zeros is 0."""
    return apply(_DIVISOR, first, second)


def common_multiple(first: Tensor, second: Tensor) -> Tensor:
    """Return the least common multiple of integers of one dtype; 0 if one is 0."""
    divisor = common_divisor(first, second)
    return abs(floor_div(first, where(equal(divisor, 0), 1, divisor)) * second)


def _integer_tensors(op: str, input: Any, other: Any) -> tuple[Tensor, Tensor]:
    first, second = operand(op, input), operand(op, other, "other")
    for name, x in (("input", first), ("other", second)):
        if not x.dtype.is_integer:
            raise wrong(op, name, "a Tensor of integers", x, TypeError)
    return first, second


@fusible
def gcd(input: Any, other: Any) -> Tensor:
    """Return the greatest common divisor of integers; that of two zeros is 0."""
    return combined(_BITS, *_integer_tensors("Gcd", input, other), common_divisor)


@fusible
def lcm(input: Any, other: Any) -> Tensor:
    """Return the least common multiple of integers; 0 if one is 0."""
    return combined(_BITS, *_integer_tensors("Lcm", input, other), common_multiple)


# Division toward zero ------------------------------------------------------------------------------------------------


@fusible
def truncate_div(x: Any, y: Any) -> Tensor:
    """Return x / y rounded toward zero; integers divided by 0 are 0."""
    return div(x, y, rounding_mode="trunc")


@fusible
def truncate_mod(x: Any, y: Any) -> Tensor:
    """Return the remainder of x / y with the sign of x, exactly as C's fmod."""
    return truncated_mod(x, y)


# Shifts --------------------------------------------------------------------------------------------------------------


def _shifted(op: Any, input: Any, other: Any) -> Tensor:
    name = type(op).__name__
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise wrong(name, "input", "a Tensor, or 'other' one", input, TypeError)
    pair = {"input": input, "other": other}
    dtype = next(x.dtype for x in pair.values() if isinstance(x, Tensor))
    for argument, x in pair.items():
        if not isinstance(x, Tensor):
            pair[argument] = constant(whole(name, argument, x), dtype) if dtype.is_integer else x
        elif not x.dtype.is_integer:
            raise wrong(name, argument, "a Tensor of integers", x, TypeError)
        elif x.dtype is not dtype:
            raise wrong(name, argument, f"of the dtype of 'input', {dtype}", x, TypeError)
    return apply(op, pair["input"], pair["other"])


@fusible
def bitwise_left_shift(input: Any, other: Any) -> Tensor:
    """Return the bits of `input` shifted left by `other`; 0 if that is negative or not less than the number of bits."""
    return _shifted(_LEFT, input, other)


@fusible
def bitwise_right_shift(input: Any, other: Any) -> Tensor:
    """Return input / 2**other rounded down; for an `other` that is negative or not less than the number of bits, 0, or -1 of negative
    integers."""
    return _shifted(_RIGHT, input, other)
