"""Optimiser steps for some rows of a parameter, such as the rows of an embedding that a batch has used.

The operands that the class names first are written: Parameters or Tensors of a floating point type, all of one shape and dtype.

gradient, grad   a row for each index, of their dtype or one that it has room for
indices          a vector of Int32 or Int64.  IndexError for one without a row.  A step named Fused adds the rows of equal indices; for one
                 named SparseApply equal indices are a ValueError
other operands   numbers, or Tensors of one element

A step is not differentiated.  `use_locking` has no meaning: one operator runs at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.op import Op, made
from adjoint.ir.ops.adaptive_steps import AdagradV2Update, FtrlUpdate, RmsPropUpdate
from adjoint.ir.ops.indexing import ScatterAdd
from adjoint.ir.ops.signed_steps import ProximalAdagradUpdate
from adjoint.ir.types import I32, I64
from adjoint.ops.arguments import flag, float_only, operand, wrong
from adjoint.ops.arithmetic import sqrt, where
from adjoint.ops.creation import ones_like, zeros, zeros_like
from adjoint.ops.picking import index_check
from adjoint.ops.primitive import Primitive
from adjoint.ops.primitives.optimizers import SparseApplyFtrl, as_gradient, row_step, scalar_of, written_operands
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.run_time_checks import checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["AdamNoUpdateParam", "FusedSparseAdam", "FusedSparseFtrl", "FusedSparseLazyAdam", "FusedSparseProximalAdagrad",
           "SparseApplyAdagrad", "SparseApplyRMSProp"]


def _summed(op: str, parameter: Tensor, gradient: Any, indices: Any, argument: str) -> tuple[Tensor, Tensor]:
    """Return the gradient of all rows, zeros where there is no index, and which rows have one: bools that broadcast to the parameter."""
    places, g = operand(op, indices, "indices"), operand(op, gradient, argument)
    if places.dtype not in (I32, I64):
        raise wrong(op, "indices", "of type Int32 or Int64", places, TypeError)
    if not parameter.ndim:
        raise wrong(op, "var", "of at least 1 dimension", parameter)
    if places.ndim != 1:
        raise wrong(op, "indices", "a vector", places)
    if g.shape != (places.size, *parameter.shape[1:]):
        raise wrong(op, argument, f"of shape {(places.size, *parameter.shape[1:])}, a row for each index", g)
    g = as_gradient(op, argument, g, parameter)
    checked_on_host(index_check(op, "indices", 0, parameter.shape[0]), places)
    total = apply(made(ScatterAdd, 0), zeros_like(parameter), places, g)
    rows = parameter.shape[0]
    counts = apply(made(ScatterAdd, 0), zeros((rows,), I32), places, ones_like(places, dtype=I32))
    return total, reshape(counts > 0, (rows, *(1,) * (parameter.ndim - 1)))


def _rows_written(step: Callable[..., Any], written: tuple[Tensor, ...], touched: Tensor) -> tuple[Tensor, ...]:
    """Write what a step returns for the operands where rows have a gradient; return the parameter, and zeros for its state."""
    for x, value in zip(written, step(*written), strict=True):
        x.overwrite(where(broadcast_to(touched, x.shape), value, x))
    return (written[0], *(zeros_like(x) for x in written[1:]))


def _scalars(op: str, like: Tensor, **numbers: Any) -> tuple[Tensor, ...]:
    return tuple(scalar_of(op, name, value, like.dtype.compute) for name, value in numbers.items())


class _Nesterov(Primitive):
    """use_nesterov  move by beta1 * m + (1 - beta1) * gradient in place of m"""

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False):
        op = type(self).__name__
        super().__init__(use_locking=flag(op, "use_locking", use_locking), use_nesterov=flag(op, "use_nesterov", use_nesterov))

    def _moved(self, m: Tensor, v: Tensor, g: Tensor, numbers: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor]:
        """Return by how much a step moves a parameter, and the new moments."""
        beta1_power, beta2_power, lr, beta1, beta2, epsilon = numbers
        first, second = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        direction = beta1 * first + (1 - beta1) * g if self.use_nesterov else first
        rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
        return (-rate * direction / (sqrt(second) + epsilon)).astype(m.dtype, copy=False), first.astype(m.dtype, copy=False), \
            second.astype(m.dtype, copy=False)

    def _numbers(self, like: Tensor, *values: Any) -> tuple[Tensor, ...]:
        names = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")
        return _scalars(self.name, like, **dict(zip(names, values, strict=True)))


class _RowsOfAdam(_Nesterov):
    """A step for some rows, whose subclass says in `_write` which rows of the moments it writes."""

    def __call__(
        self, var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, gradient: Any,
        indices: Any,
    ) -> tuple[Tensor, ...]:
        written = written_operands(self.name, var=var, m=m, v=v)
        g, touched = _summed(self.name, written[0], gradient, indices, "gradient")
        return self._write(written, g, touched, self._numbers(written[0], beta1_power, beta2_power, lr, beta1, beta2, epsilon))

    def _write(self, written: tuple[Tensor, ...], g: Tensor, touched: Tensor, numbers: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        raise NotImplementedError


class FusedSparseAdam(_RowsOfAdam):
    """Write var, m and v as `ops.Adam` does with a gradient of 0 for the rows without an index; return var, and zeros for m and v.

    use_nesterov  move by beta1 * m + (1 - beta1) * gradient in place of m, and only rows with an index
    """

    def _write(self, written: tuple[Tensor, ...], g: Tensor, touched: Tensor, numbers: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        step, first, second = self._moved(written[1], written[2], g, numbers)
        if self.use_nesterov:
            step = where(broadcast_to(touched, step.shape), step, 0)
        for x, value in zip(written, (written[0] + step, first, second), strict=True):
            x.overwrite(value)
        return (written[0], *(zeros_like(x) for x in written[1:]))


class FusedSparseLazyAdam(_RowsOfAdam):
    """Write the rows with an index of var, m and v as `ops.Adam` does; return var, and zeros for m and v.

    use_nesterov  move by beta1 * m + (1 - beta1) * gradient in place of m
    """

    def _write(self, written: tuple[Tensor, ...], g: Tensor, touched: Tensor, numbers: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        def step(var: Tensor, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            moved, first, second = self._moved(m, v, g, numbers)
            return var + moved, first, second

        return _rows_written(step, written, touched)


class AdamNoUpdateParam(_Nesterov):
    """Write the moments m and v as `ops.Adam` does; return what is to be added to the parameter.

    use_nesterov  move by beta1 * m + (1 - beta1) * gradient in place of m
    gradient      of the shape and dtype of m
    """

    def __call__(
        self, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, gradient: Any
    ) -> Tensor:
        written, g = written_operands(self.name, m=m, v=v), operand(self.name, gradient, "gradient")
        if g.type is not written[0].type:
            raise wrong(self.name, "gradient", f"of dtype {written[0].dtype} and shape {written[0].shape}", g,
                        TypeError if g.dtype is not written[0].dtype else ValueError)
        numbers = self._numbers(written[0], beta1_power, beta2_power, lr, beta1, beta2, epsilon)
        step, *moments = self._moved(written[0], written[1], g, numbers)
        for x, value in zip(written, moments, strict=True):
            x.overwrite(value)
        return step


class FusedSparseFtrl(SparseApplyFtrl):
    """Write the rows with an index of var, accum and linear as `ApplyFtrl` does; return var, and zeros for accum and linear.

    lr, l1, l2, lr_power  as for `SparseApplyFtrl`
    """

    def __call__(self, var: Any, accum: Any, linear: Any, grad: Any, indices: Any) -> tuple[Tensor, ...]:
        written = written_operands(self.name, var=var, accum=accum, linear=linear)
        g, touched = _summed(self.name, written[0], grad, indices, "grad")
        numbers = _scalars(self.name, written[0], lr=self.lr, l1=self.l1, l2=self.l2, lr_power=self.lr_power, decay=0.0, scale=1.0)
        return _rows_written(lambda *state: apply(made(FtrlUpdate), *state, g, *numbers), written, touched)


class FusedSparseProximalAdagrad(Primitive):
    """Write the rows with an index of var and accum as `ApplyProximalAdagrad` does; return var, and zeros for accum."""

    def __init__(self, use_locking: bool = False):
        super().__init__(use_locking=flag("FusedSparseProximalAdagrad", "use_locking", use_locking))

    def __call__(self, var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any) -> tuple[Tensor, ...]:
        written = written_operands(self.name, var=var, accum=accum)
        g, touched = _summed(self.name, written[0], grad, indices, "grad")
        numbers = _scalars(self.name, written[0], lr=lr, l1=l1, l2=l2, decay=0.0, scale=1.0)
        return _rows_written(lambda *state: apply(made(ProximalAdagradUpdate), *state, g, *numbers), written, touched)


class SparseApplyAdagrad(Primitive):
    """Do a step of `ApplyAdagrad` for the rows of var and accum at the indices, var - lr * grad / sqrt(accum); returns both.

    lr            a float
    update_slots  False: accum stays as it is
    """

    def __init__(self, lr: float, update_slots: bool = True, use_locking: bool = False):
        op = "SparseApplyAdagrad"
        super().__init__(lr=float_only(op, "lr", lr), update_slots=flag(op, "update_slots", update_slots),
                         use_locking=flag(op, "use_locking", use_locking))

    def __call__(self, var: Any, accum: Any, grad: Any, indices: Any) -> tuple[Tensor, Tensor]:
        written = written_operands(self.name, var=var, accum=accum)
        step: Op = made(AdagradV2Update, self.update_slots)
        row_step(self.name, step, written, grad, indices, {"lr": self.lr, "epsilon": 0.0})
        return var, accum


class SparseApplyRMSProp(Primitive):
    """Do a step of `ApplyRMSProp` for the rows of var, ms (its mean square) and mom (its moment) at the indices; returns the three.

    rho, momentum, epsilon  floats: rho from 0 to 1, the others at least 0, epsilon above 0
    """

    def __init__(self, rho: float, momentum: float, epsilon: float, use_locking: bool = False):
        op = "SparseApplyRMSProp"
        super().__init__(rho=float_only(op, "rho", rho), momentum=float_only(op, "momentum", momentum),
                         epsilon=float_only(op, "epsilon", epsilon), use_locking=flag(op, "use_locking", use_locking))
        for name, value, fits, expected in (("rho", rho, 0 <= rho <= 1, "from 0 to 1"), ("momentum", momentum, momentum >= 0, "at least 0"),
                                            ("epsilon", epsilon, epsilon > 0, "above 0")):
            if not fits:
                raise wrong(op, name, expected, value)

    def __call__(self, var: Any, ms: Any, mom: Any, lr: Any, grad: Any, indices: Any) -> tuple[Tensor, Tensor, Tensor]:
        written = written_operands(self.name, var=var, ms=ms, mom=mom)
        row_step(self.name, made(RmsPropUpdate), written, grad, indices,
                 {"lr": lr, "rho": self.rho, "momentum": self.momentum, "epsilon": self.epsilon})
        return var, ms, mom
