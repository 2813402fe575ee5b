"""Special functions of several operands that take less than their ops."""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops.arithmetic import Div
from adjoint.ir.ops.gamma import Betainc, LogBeta, Mvlgamma, Polygamma, Zeta
from adjoint.ir.types import F32, F64, I32, I64
from adjoint.ops.arguments import operand, whole, wrong
from adjoint.ops.arithmetic import greater
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.operators import combined
from adjoint.runtime.tensor.run_time_checks import Range, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["mvlgamma", "polygamma", "zeta"]

_DIV, _POLYGAMMA, _ZETA, _BETAINC, _LOG_BETA = Div(), Polygamma(), Zeta(), Betainc(), LogBeta()


@fusible
def polygamma(n: Any, input: Any) -> Tensor:
    """Return the derivative of digamma of order n, (-1)^(n + 1) n! zeta(n + 1, input); NaN for a negative order.

    n      a Tensor of Int32 or Int64 without dimensions
    input  a Tensor of a floating point type
    """
    order = operand("Polygamma", n, "n")
    if order.dtype not in (I32, I64):
        raise wrong("Polygamma", "n", "a Tensor of Int32 or Int64", order, TypeError)
    if order.ndim:
        raise wrong("Polygamma", "n", "a Tensor without dimensions", order)
    return apply(_POLYGAMMA, order, operand("Polygamma", input))


@fusible
def mvlgamma(input: Any, p: int) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension p.

    It is p (p - 1) / 4 ln(pi), and the sum of lgamma(input - j / 2) over 0 <= j < p.

    input   a Tensor of Float32 or Float64, of numbers above (p - 1) / 2: ValueError for others
    p       at least 1
    """
    x = operand("Mvlgamma", input)
    if x.dtype not in (F32, F64):
        raise wrong("Mvlgamma", "input", "a Tensor of Float32 or Float64", x, TypeError)
    op = Mvlgamma(whole("Mvlgamma", "p", p))
    least = (op.p - 1) / 2

    def numbers(given: Tensor) -> None:
        values = given.asnumpy()
        inside = values > least
        if not inside.all():
            number = float(values[~inside].reshape(-1)[0])
            raise wrong("Mvlgamma", "input", f"a Tensor of numbers above (p - 1) / 2, which is {least:g}", number)

    checked_on_host(numbers, x, conditions=lambda: [(greater(x, least), Range(1, 1))])
    return apply(op, x)


@fusible
def zeta(input: Any, other: Any) -> Tensor:
    """Return Hurwitz's zeta function, the sum of (other + k)^-input over k >= 0, for input > 1.

    One of them may be a number; tensors are of one dtype, Float32 or Float64.
    """
    for name, x in (("input", input), ("other", other)):
        if isinstance(x, Tensor) and x.dtype not in (F32, F64):
            raise wrong("Zeta", name, "a Tensor of Float32 or Float64, or a number", x, TypeError)
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        return apply(_ZETA, input, other)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise wrong("Zeta", "other", "a Tensor where 'input' is none", other, TypeError)
    return combined(_DIV, input, other, lambda s, q: apply(_ZETA, s, q))


def betainc(a: Any, b: Any, x: Any) -> Tensor:
    """Return the regularised incomplete beta function of tensors of one shape and dtype, Float32 or Float64."""
    operands = [operand("Betainc", value, name) for name, value in (("a", a), ("b", b), ("x", x))]
    for name, value in zip("bx", operands[1:], strict=True):
        if value.shape != operands[0].shape and value.dtype is operands[0].dtype:
            raise wrong("Betainc", name, f"of the shape of a, {operands[0].shape}", value)
    return apply(_BETAINC, *operands)


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """Return the logarithm of the beta function."""
    return apply(_LOG_BETA, a, b)
