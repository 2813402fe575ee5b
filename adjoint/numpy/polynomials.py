"""Polynomials as vectors of their coefficients, from the highest power to the constant.

A number is treated as a constant polynomial.  Raise ValueError for an array of more than one axis.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32
from adjoint.numpy.conversion import array_like, joined
from adjoint.numpy.creation import arange
from adjoint.numpy.products import convolve
from adjoint.ops import arithmetic, parts
from adjoint.ops.arguments import integer, wrong
from adjoint.ops.creation import zeros
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


def _coefficients(op: str, p: Any, argument: str = "p") -> Tensor:
    x = array_like(op, p, argument)
    if x.ndim > 1:
        raise wrong(op, argument, "of at most 1 dimension", x)
    return reshape(x, (-1,))


def polyadd(a1: Any, a2: Any) -> Tensor:
    """Return the sum of two polynomials."""
    first, second = joined(_coefficients("polyadd", a1, "a1"), _coefficients("polyadd", a2, "a2"))
    count = max(first.size, second.size)
    return arithmetic.add(*(parts.framed(x, ((count - x.size, 0),), 0) for x in (first, second)))


def polysub(a1: Any, a2: Any) -> Tensor:
    """Return the difference of two polynomials."""
    return polyadd(a1, arithmetic.neg(_coefficients("polysub", a2, "a2")))


def polymul(a1: Any, a2: Any) -> Tensor:
    """Return the product of two polynomials."""
    return convolve(_coefficients("polymul", a1, "a1"), _coefficients("polymul", a2, "a2"))


def polyval(p: Any, x: Any) -> Tensor:
    """Return the values of a polynomial at `x`, by Horner's rule; Float32 for integers."""
    coefficients, at = _coefficients("polyval", p), array_like("polyval", x)
    coefficients, at = (t if t.dtype.is_inexact else t.astype(F32) for t in (coefficients, at))
    value = at * 0.0
    for coefficient in parts.unstack(coefficients):
        value = value * at + coefficient
    return value


def polyder(p: Any, m: Any = 1) -> Tensor:
    """Return the derivative of order `m` of a polynomial."""
    x, order = _coefficients("polyder", p), integer("polyder", "m", m)
    if order < 0:
        raise wrong("polyder", "m", "at least 0", order)
    if order >= x.size:
        return zeros((0,), F32)
    for _ in range(order):
        x = parts.narrow(x, 0, 0, x.size - 1) * arange(x.size - 1, 0, -1)
    return x


def polyint(p: Any, m: Any = 1, k: Any = None) -> Tensor:
    """Return the integral of order `m` of a polynomial, with the constants `k`: one number, or one for each order, by default 0."""
    x, order = _coefficients("polyint", p), integer("polyint", "m", m)
    if order < 0:
        raise wrong("polyint", "m", "at least 0", order)
    constants = zeros((order,), x.dtype) if k is None else _coefficients("polyint", k, "k")
    if constants.size not in (1, order):
        raise wrong("polyint", "k", f"one number or {order}", constants)
    for constant in parts.unstack(broadcast_to(constants, (order,))) if order else ():
        x = parts.concat(joined(x / arange(x.size, 0, -1), reshape(constant, (1,))), 0)
    return x
