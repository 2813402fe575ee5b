"""Softmax and its logarithm along one axis, and their gradients.

    softmax(x)_i      = e^(x_i - m) / s      m = max x,  s = sum_j e^(x_j - m)
    log_softmax(x)_i  = x_i - m - log s

A group is the `n` elements along the axis.  Sums over a group are taken in a fixed order, so that a group's result
depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.groups import SHORT, Given, Groups, groups, reference_sum
from adjoint.ir.types import F32, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Kernel

Array = Any

__all__ = ["LogSoftmax", "LogSoftmaxGradient", "Softmax", "SoftmaxGradient"]


class _AlongAxis(Op):
    """An op on float tensors of one type, along `axis`."""

    axis: int
    batch = batching.along_axes
    pack = "softmax"

    def infer(self, *operands: TensorType) -> TensorType:
        first = operands[0]
        for position, operand in enumerate(operands):
            if not isinstance(operand, TensorType) or not operand.dtype.is_float:
                raise mistake(self, f"operand {position}", "a tensor of floating point numbers", operand, TypeError)
            if operand is not first:
                raise mistake(self, f"operand {position}", f"of the type of the first operand, {first}", operand)
        if not 0 <= self.axis < first.rank:
            raise mistake(self, "axis", f"in 0..{first.rank - 1} for {first}", self.axis)
        return first


WORK = 8192
"""The elements that a thread must get to be worth waking."""


def _powers(k: Kernel, group: Groups, x: Buffer, out: Buffer, *, again: bool) -> tuple[Given, Given, bool]:
    """Return the largest element of a group and the sum of all exp(x - largest).

    If `out` can hold the exponentials without rounding, they are also stored there and are the third result.
    """
    dtype = x.dtype.compute
    largest = group.largest(dtype, lambda i: x[i])
    if out.dtype is not dtype:
        return largest, group.sum(dtype, lambda i: k.call("exp", x[i] - largest()), lanes=SHORT), False
    group.each(lambda i: k.store(out, i, k.call("exp", x[i] - largest())), again=again)
    return largest, group.sum(dtype, lambda i: out[i]), True


_SAMPLES = (
    sample(tensor(F32, (3, 7)), axis=1),
    sample(tensor(F32, (2, 5, 3)), axis=1),
    sample(tensor(F32, (4, 33)), axis=0),
    sample(tensor(F32, (2, 100)), axis=1, domain=(-30.0, 30.0), note="far from zero"),
    sample(tensor(F32, (0, 4)), axis=1),
)
_GRADIENT_SAMPLES = (
    sample(tensor(F32, (3, 7)), tensor(F32, (3, 7)), axis=1),
    sample(tensor(F32, (2, 5, 3)), tensor(F32, (2, 5, 3)), axis=1),
    sample(tensor(F32, (0, 4)), tensor(F32, (0, 4)), axis=1),
)


@operation
class Softmax(_AlongAxis):
    """Softmax of `x` along `axis`: exponentials divided by their sum, computed after subtracting the largest.

    operands x  T[s], T a floating point type
    result   T[s]; the elements along `axis` sum to one.  NaN in a group makes the group NaN, and so do an infinity and
             a group of minus infinities
    gradient softmax_gradient(y, ct) = y * (ct - sum(ct * y))
    errors   ValueError: axis not in 0..rank-1; TypeError: x not floating point
    """

    axis: int
    samples = _SAMPLES

    def reference(self, x: Array) -> Array:
        powers = np.exp(x - _largest(x, self.axis))
        return powers / reference_sum(powers, self.axis, keepdims=True)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        with groups(k, self.axis, WORK, x) as group:
            self.of_group(k, group, x, out)

    def of_group(self, k: Kernel, group: Groups, x: Buffer, out: Buffer) -> None:
        """Emit the softmax of one group; `out` may be `x`."""
        largest, total, kept = _powers(k, group, x, out, again=False)
        scale = group.value(x.dtype.compute, lambda: 1.0 / total(), "scale")
        group.each(lambda i: k.store(out, i, (out[i] if kept else k.call("exp", x[i] - largest())) * scale()))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return (b.emit(SoftmaxGradient(self.axis), node.result, cotangents[0]),)


@operation
class SoftmaxGradient(_AlongAxis):
    """The gradient of softmax from its result: y * (ct - sum(ct * y) along `axis`).

    operands y   T[s], a softmax along `axis`
             ct  T[s], the cotangent of y
    result   T[s], the cotangent of softmax's operand
    gradient for a cotangent v: ct receives softmax_gradient(y, v), y receives v * (ct - sum(ct * y)) - ct * sum(v * y)
    errors   ValueError: axis not in 0..rank-1, types differ; TypeError: not floating point
    """

    axis: int
    samples = _GRADIENT_SAMPLES

    def reference(self, y: Array, ct: Array) -> Array:
        return y * (ct - reference_sum(ct * y, self.axis, keepdims=True))

    def lower(self, k: Kernel, y: Buffer, ct: Buffer, out: Buffer) -> None:
        with groups(k, self.axis, WORK, y, ct) as group:
            self.of_group(k, group, y, ct, out)

    def of_group(self, k: Kernel, group: Groups, y: Buffer, ct: Buffer, out: Buffer) -> None:
        """Emit the gradient of one group; `out` may be `y` or `ct`."""
        total = group.sum(y.dtype.compute, lambda i: ct[i] * y[i])
        group.each(lambda i: k.store(out, i, y[i] * (ct[i] - total())))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        (y, ct), (v,) = node.operands, cotangents

        def total(x: Atom, z: Atom) -> Atom:
            return b.sum(b.mul(x, z), axes=(self.axis,), keepdims=True)

        y_cotangent = b.sub(b.mul(v, b.sub(ct, total(ct, y))), b.mul(ct, total(v, y)))
        return y_cotangent, b.emit(self, y, v)


@operation
class LogSoftmax(_AlongAxis):
    """The logarithm of softmax along `axis`, more accurate than the composition of both.

    operands x  T[s], T a floating point type
    result   T[s]: x - m - log(sum(exp(x - m))), m the largest element along `axis`
    gradient log_softmax_gradient(y, ct) = ct - exp(y) * sum(ct)
    errors   ValueError: axis not in 0..rank-1; TypeError: x not floating point
    """

    axis: int
    samples = _SAMPLES

    def reference(self, x: Array) -> Array:
        shifted = x - _largest(x, self.axis)
        return shifted - np.log(reference_sum(np.exp(shifted), self.axis, keepdims=True))

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        with groups(k, self.axis, WORK, x) as group:
            largest, total, _ = _powers(k, group, x, out, again=True)
            logarithm = group.value(x.dtype.compute, lambda: k.call("log", total()), "logarithm")
            group.each(lambda i: k.store(out, i, x[i] - largest() - logarithm()), again=True)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        return (b.emit(LogSoftmaxGradient(self.axis), node.result, cotangents[0]),)


@operation
class LogSoftmaxGradient(_AlongAxis):
    """The gradient of log_softmax from its result: ct - exp(y) * sum(ct) along `axis`.

    operands y   T[s], a log_softmax along `axis`
             ct  T[s], the cotangent of y
    result   T[s], the cotangent of log_softmax's operand
    gradient for a cotangent v: ct receives v - sum(exp(y) * v), y receives -exp(y) * sum(ct) * v
    errors   ValueError: axis not in 0..rank-1, types differ; TypeError: not floating point
    """

    axis: int
    samples = _GRADIENT_SAMPLES

    def reference(self, y: Array, ct: Array) -> Array:
        return ct - np.exp(y) * reference_sum(ct, self.axis, keepdims=True)

    def lower(self, k: Kernel, y: Buffer, ct: Buffer, out: Buffer) -> None:
        with groups(k, self.axis, WORK, y, ct) as group:
            total = group.sum(y.dtype.compute, lambda i: ct[i])
            group.each(lambda i: k.store(out, i, ct[i] - k.call("exp", y[i]) * total()))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        (y, ct), (v,) = node.operands, cotangents
        weighted = b.mul(b.exp(y), v)
        y_cotangent = b.neg(b.mul(weighted, b.sum(ct, axes=(self.axis,), keepdims=True)))
        return y_cotangent, b.sub(v, b.sum(weighted, axes=(self.axis,), keepdims=True))


def _largest(x: Array, axis: int) -> Array:
    return x.max(axis=axis, keepdims=True, initial=-np.inf)
