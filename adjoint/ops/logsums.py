"""Logarithms of sums of exponentials, of two operands and running: exponentials neither overflow nor vanish next to larger ones."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ops.arguments import ArgumentMistake, integer, operand, wrong
from adjoint.ops.arithmetic import abs, equal, exp, exp2, log1p, log2, maximum, where
from adjoint.ops.parts import concat, narrow
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["logaddexp", "logaddexp2", "logcumsumexp"]


@fusible
def logaddexp(input: Any, other: Any) -> Tensor:
    """log(exp(input) + exp(other)); two infinities of one sign give that."""
    a, b, distance, same = _both("LogAddExp", input, other)
    return where(same, (a + b) * 0.5 + math.log(2.0), maximum(a, b) + log1p(exp(-distance)))


@fusible
def logaddexp2(input: Any, other: Any) -> Tensor:
    """log2(2**input + 2**other); two infinities of one sign give that."""
    a, b, distance, same = _both("LogAddExp2", input, other)
    return where(same, (a + b) * 0.5 + 1.0, maximum(a, b) + log2(exp2(-distance) + 1.0))


def _both(op: str, input: Any, other: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Both in one dtype, how far apart they are, and whether they are the same: infinities are 0 apart."""
    a, b = operand(op, input), operand(op, other, "other")
    for name, x in (("input", a), ("other", b)):
        if not x.dtype.is_float:
            raise wrong(op, name, "a Tensor of a floating point type", x, TypeError)
    dtype = common_dtype(a.dtype, b.dtype)
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    same = equal(a, b)
    return a, b, abs(where(same, constant(0.0, dtype), a - b)), same


@fusible
def logcumsumexp(input: Any, axis: Any) -> Tensor:
    """log of the running sum of exp(input) along an axis."""
    op = "LogCumSumExp"
    x = operand(op, input)
    if not x.dtype.is_float:
        raise wrong(op, "input", "a Tensor of a floating point type", x, TypeError)
    along, reach = integer(op, "axis", axis), 1
    if not -x.ndim <= along < x.ndim:
        raise wrong(op, "axis", f"in [{-x.ndim}, {x.ndim})", along, ArgumentMistake)
    along %= x.ndim
    length = x.shape[along]
    while reach < length:  # each holds the sum of `reach` elements, those up to itself, and takes the sum of those before
        later, earlier = narrow(x, along, reach, length - reach), narrow(x, along, 0, length - reach)
        x = concat((narrow(x, along, 0, reach), logaddexp(later, earlier)), along)
        reach *= 2
    return x
