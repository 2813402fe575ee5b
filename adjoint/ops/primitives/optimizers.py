"""Optimiser steps as operators: they write a parameter and its state.

The operands that the class names first are written: Parameters or Tensors of a floating point type, all of one shape and dtype.  The
gradient has their shape, and is converted to their dtype if no precision is lost.  The other operands are numbers, or Tensors of one
element.  The result is the parameter that was written, or a tuple of it with its state, as the class says.

Raise TypeError for what is not a Tensor or number, and for dtypes that do not fit; raise ValueError for shapes that do not.  `use_locking`
has no meaning: one operator runs at a time.  A step is not differentiated.

`LARSUpdate` writes nothing: it returns the gradient that a step is then given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.op import Op, made
from adjoint.ir.ops.adaptive_steps import (
    AdadeltaUpdate,
    AdagradUpdate,
    AdagradV2Update,
    AdamaxUpdate,
    CenteredRmsPropUpdate,
    FtrlUpdate,
    RmsPropUpdate,
)
from adjoint.ir.ops.optimizers import AdamUpdate, AdamWeightDecayUpdate, AmsgradUpdate, MomentumUpdate, SgdMomentumUpdate, SgdUpdate
from adjoint.ir.ops.signed_steps import AddSignUpdate, DualAveragingUpdate, PowerSignUpdate, ProximalAdagradUpdate, ProximalUpdate
from adjoint.ir.types import I32, I64, DType
from adjoint.ops.arguments import filler, flag, float_only, operand, real, wrong
from adjoint.ops.arithmetic import maximum, sqrt, where
from adjoint.ops.ordering import sort
from adjoint.ops.picking import gather, index_check
from adjoint.ops.primitive import Plain, Primitive
from adjoint.ops.scattering import tensor_scatter_update
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.run_time_checks import Range, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply, update

__all__ = [
    "SGD", "Adam", "AdamWeightDecay", "ApplyAdaMax", "ApplyAdadelta", "ApplyAdagrad", "ApplyAdagradDA", "ApplyAdagradV2",
    "ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradV2", "ApplyAddSign", "ApplyCenteredRMSProp", "ApplyFtrl", "ApplyGradientDescent",
    "ApplyMomentum", "ApplyPowerSign", "ApplyProximalAdagrad", "ApplyProximalGradientDescent", "ApplyRMSProp", "LARSUpdate",
    "SparseApplyAdagradV2", "SparseApplyFtrl",
]


def written_operands(op: str, *, mixed: bool = False, **operands: Any) -> tuple[Tensor, ...]:
    """Return the operands that a step writes, by their names; with `mixed` their dtypes may differ."""
    written = tuple(operand(op, value, name) for name, value in operands.items())
    parameter = written[0]
    for name, x in zip(operands, written, strict=True):
        if not x.dtype.is_float:
            raise wrong(op, name, "a Tensor of a floating point type", x, TypeError)
        if x.shape != parameter.shape:
            raise wrong(op, name, f"of the shape of '{next(iter(operands))}', {parameter.shape}", x)
        if x.dtype is not parameter.dtype and not mixed:
            raise wrong(op, name, f"of the dtype of '{next(iter(operands))}', {parameter.dtype}", x, TypeError)
    return written


def as_gradient(op: str, argument: str, gradient: Tensor, parameter: Tensor) -> Tensor:
    """Return a gradient in the dtype of the parameter; raise TypeError if that loses precision."""
    if common_dtype(parameter.dtype, gradient.dtype) is not parameter.dtype:
        raise wrong(op, argument, f"of a dtype that the parameter's, {parameter.dtype}, has room for", gradient, TypeError)
    return gradient.astype(parameter.dtype, copy=False)


def _gradient(op: str, argument: str, gradient: Any, parameter: Tensor) -> Tensor:
    found = operand(op, gradient, argument)
    if found.shape != parameter.shape:
        raise wrong(op, argument, f"of the shape of the parameter, {parameter.shape}", found)
    return as_gradient(op, argument, found, parameter)


def scalar_of(op: str, argument: str, value: Any, dtype: DType) -> Tensor:
    """Return a number, or a Tensor of one element, as a 0-d tensor."""
    if not isinstance(value, Tensor):
        return filler(op, argument, value, dtype)
    if value.size != 1:
        raise wrong(op, argument, "a number or a Tensor of one element", value)
    return reshape(value.astype(dtype, copy=False), ())


def _step(
    op: str, step: Op, written: tuple[Tensor, ...], gradient: tuple[str, Any], numbers: dict[str, Any], decay: Any = 0.0, scale: float = 1.0
) -> None:
    """Write the new values that `step` returns for the written operands, from a gradient and numbers, these by name."""
    widest = written[0].dtype
    for x in written[1:]:
        widest = common_dtype(widest, x.dtype)
    named = (*numbers.items(), ("decay", decay), ("scale", scale))
    scalars = [scalar_of(op, name, value, widest.compute) for name, value in named]
    g = _gradient(op, *gradient, written[0])
    if all(x.dtype is widest for x in written):
        update(step, written, *written, g, *scalars)
        return
    found = apply(step, *(x.astype(widest, copy=False) for x in (*written, g)), *scalars)
    for x, value in zip(written, found, strict=True):
        x.overwrite(value.astype(x.dtype, copy=False))


class _Locking(Primitive):
    """A step whose only attribute has no effect."""

    def __init__(self, use_locking: bool = False):
        super().__init__(use_locking=flag(type(self).__name__, "use_locking", use_locking))


class ApplyGradientDescent(Plain):
    """Write var: var - alpha * delta; returns it."""

    def __call__(self, var: Any, alpha: Any, delta: Any) -> Tensor:
        written = written_operands(self.name, var=var)
        _step(self.name, made(SgdUpdate), written, ("delta", delta), {"alpha": alpha})
        return var


class ApplyMomentum(Primitive):
    """Write accumulation: momentum * accumulation + g, where g is gradient * gradient_scale; and variable, which is returned.

    variable  variable - learning_rate * accumulation, with `use_nesterov` variable - learning_rate * (g + momentum * accumulation)
    """

    def __init__(self, use_nesterov: bool = False, use_locking: bool = False, gradient_scale: float = 1.0):
        op = "ApplyMomentum"
        super().__init__(use_nesterov=flag(op, "use_nesterov", use_nesterov), use_locking=flag(op, "use_locking", use_locking),
                         gradient_scale=float_only(op, "gradient_scale", gradient_scale))

    def __call__(self, variable: Any, accumulation: Any, learning_rate: Any, gradient: Any, momentum: Any) -> Tensor:
        written = written_operands(self.name, variable=variable, accumulation=accumulation)
        _step(self.name, made(MomentumUpdate, self.use_nesterov), written, ("gradient", gradient),
              {"learning_rate": learning_rate, "momentum": momentum}, scale=self.gradient_scale)
        return variable


class SGD(Primitive):
    """Write parameters, accum and stat as `nn.SGD` does; returns the parameters.

    learning_rate, momentum  Tensors of one element
    stat                     positive where accum begins with the gradient; becomes 0 there
    """

    def __init__(self, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False):
        super().__init__(dampening=real("SGD", "dampening", dampening), weight_decay=real("SGD", "weight_decay", weight_decay),
                         nesterov=flag("SGD", "nesterov", nesterov))
        if nesterov and dampening != 0:
            raise wrong("SGD", "dampening", "0 with 'nesterov'", dampening)

    def __call__(self, parameters: Any, gradient: Any, learning_rate: Any, accum: Any, momentum: Any, stat: Any) -> Tensor:
        written = written_operands("SGD", parameters=parameters, accum=accum, stat=stat)
        rate, share = operand("SGD", learning_rate, "learning_rate"), operand("SGD", momentum, "momentum")
        _step("SGD", made(SgdMomentumUpdate, self.nesterov), written, ("gradient", gradient),
              {"learning_rate": rate, "momentum": share, "dampening": self.dampening}, decay=self.weight_decay)
        return parameters


class Adam(Primitive):
    """Write var, m and v as `nn.Adam` does; returns the three.

    beta1_power, beta2_power  beta1 and beta2 to the power of the number of steps, this one included
    """

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False):
        super().__init__(use_locking=flag("Adam", "use_locking", use_locking), use_nesterov=flag("Adam", "use_nesterov", use_nesterov))

    def __call__(
        self, var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, gradient: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        written = written_operands("Adam", mixed=True, var=var, m=m, v=v)
        _step("Adam", made(AdamUpdate, self.use_nesterov), written, ("gradient", gradient), {
            "lr": lr, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "beta1_power": beta1_power, "beta2_power": beta2_power})
        return var, m, v


class AdamWeightDecay(_Locking):
    """Write var, m and v as `nn.AdamWeightDecay` does; returns the three."""

    def __call__(
        self, var: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, decay: Any, gradient: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        written = written_operands(self.name, mixed=True, var=var, m=m, v=v)
        _step(self.name, made(AdamWeightDecayUpdate), written, ("gradient", gradient),
              {"lr": lr, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}, decay=decay)
        return var, m, v


class ApplyAdamWithAmsgradV2(_Locking):
    """Write var, m, v and vhat as `nn.Adam` with `use_amsgrad` does; returns the four.  Powers of betas are as for `Adam`."""

    def __call__(
        self, var: Any, m: Any, v: Any, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
        grad: Any,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        written = written_operands(self.name, var=var, m=m, v=v, vhat=vhat)
        _step(self.name, made(AmsgradUpdate), written, ("grad", grad), {
            "lr": lr, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "beta1_power": beta1_power, "beta2_power": beta2_power})
        return var, m, v, vhat


class ApplyAdamWithAmsgrad(Primitive):
    """As `ApplyAdamWithAmsgradV2`, with betas and epsilon as attributes."""

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8, use_locking: bool = False):
        op = "ApplyAdamWithAmsgrad"
        super().__init__(beta1=float_only(op, "beta1", beta1), beta2=float_only(op, "beta2", beta2),
                         epsilon=float_only(op, "epsilon", epsilon), use_locking=flag(op, "use_locking", use_locking))

    def __call__(
        self, var: Any, m: Any, v: Any, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any, grad: Any
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        step = ApplyAdamWithAmsgradV2()
        return step(var, m, v, vhat, beta1_power, beta2_power, lr, self.beta1, self.beta2, self.epsilon, grad)


class ApplyAdaMax(Plain):
    """Write var, m and v as `nn.AdaMax` does; returns the three.  beta1_power is as for `Adam`."""

    def __call__(
        self, var: Any, m: Any, v: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        written = written_operands(self.name, var=var, m=m, v=v)
        _step(self.name, made(AdamaxUpdate), written, ("grad", grad), {
            "lr": lr, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "beta1_power": beta1_power})
        return var, m, v


class ApplyAdagrad(Primitive):
    """Write accum: accum + grad^2, without `update_slots` as it is, and var: var - lr * grad / sqrt(accum); returns both."""

    def __init__(self, update_slots: bool = True):
        super().__init__(update_slots=flag("ApplyAdagrad", "update_slots", update_slots))

    def __call__(self, var: Any, accum: Any, lr: Any, grad: Any) -> tuple[Tensor, Tensor]:
        written = written_operands(self.name, var=var, accum=accum)
        _step(self.name, made(AdagradUpdate, self.update_slots), written, ("grad", grad), {"lr": lr})
        return var, accum


class ApplyAdagradV2(Primitive):
    """As `ApplyAdagrad`, with an epsilon: writes var: var - lr * grad / (sqrt(accum) + epsilon); returns both."""

    def __init__(self, epsilon: float, update_slots: bool = True):
        op = "ApplyAdagradV2"
        super().__init__(epsilon=float_only(op, "epsilon", epsilon), update_slots=flag(op, "update_slots", update_slots))

    def __call__(self, var: Any, accum: Any, lr: Any, grad: Any) -> tuple[Tensor, Tensor]:
        written = written_operands(self.name, var=var, accum=accum)
        _step(self.name, made(AdagradV2Update, self.update_slots), written, ("grad", grad), {"lr": lr, "epsilon": self.epsilon})
        return var, accum


class ApplyAdagradDA(_Locking):
    """Write both accumulators and var, by dual averaging with L1 and L2 regularisation; returns var.

    gradient_accumulator          gradient_accumulator + grad
    gradient_squared_accumulator  gradient_squared_accumulator + grad^2
    var                           -lr * a / (l2 * global_step * lr + sqrt(gradient_squared_accumulator)), where a is gradient_accumulator
                                  moved towards 0 by l1 * global_step, at most to 0

    This is the formula of MindSpore's manual; its kernel for CPUs takes |gradient_accumulator - l1 * global_step| for |a|.
    """

    def __call__(
        self, var: Any, gradient_accumulator: Any, gradient_squared_accumulator: Any, grad: Any, lr: Any, l1: Any, l2: Any, global_step: Any
    ) -> Tensor:
        written = written_operands(self.name, var=var, gradient_accumulator=gradient_accumulator,
                           gradient_squared_accumulator=gradient_squared_accumulator)
        _step(self.name, made(DualAveragingUpdate), written, ("grad", grad), {"lr": lr, "l1": l1, "l2": l2, "global_step": global_step})
        return var


class ApplyAdadelta(Plain):
    """Write var, accum and accum_update; returns the three.

    accum         rho * accum + (1 - rho) * grad^2
    var           var - lr * u, where u = sqrt(accum_update + epsilon) * grad / sqrt(accum + epsilon)
    accum_update  rho * accum_update + (1 - rho) * u^2
    """

    def __call__(
        self, var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        written = written_operands(self.name, var=var, accum=accum, accum_update=accum_update)
        _step(self.name, made(AdadeltaUpdate), written, ("grad", grad), {"lr": lr, "rho": rho, "epsilon": epsilon})
        return var, accum, accum_update


class ApplyAddSign(Plain):
    """Write m: beta * m + (1 - beta) * grad, and var: var - lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad; returns both."""

    def __call__(self, var: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any) -> tuple[Tensor, Tensor]:
        written = written_operands(self.name, var=var, m=m)
        _step(self.name, made(AddSignUpdate), written, ("grad", grad), {"lr": lr, "alpha": alpha, "sign_decay": sign_decay, "beta": beta})
        return var, m


class ApplyPowerSign(Plain):
    """Write m: beta * m + (1 - beta) * grad, and var: var - lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad; returns both."""

    def __call__(self, var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any) -> tuple[Tensor, Tensor]:
        written = written_operands(self.name, var=var, m=m)
        _step(self.name, made(PowerSignUpdate), written, ("grad", grad),
              {"lr": lr, "logbase": logbase, "sign_decay": sign_decay, "beta": beta})
        return var, m


class ApplyProximalGradientDescent(Plain):
    """Write var; returns it.

    var  with p = var - alpha * delta: sign(p) * max(|p| - alpha * l1, 0) / (1 + alpha * l2); l1 below 0 counts as 0
    """

    def __call__(self, var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> Tensor:
        written = written_operands(self.name, var=var)
        _step(self.name, made(ProximalUpdate), written, ("delta", delta), {"alpha": alpha, "l1": l1, "l2": l2})
        return var


class ApplyProximalAdagrad(_Locking):
    """Write accum: accum + grad^2, and var; returns both.

    var  with rate = lr / sqrt(accum) and p = var - rate * grad: sign(p) * max(|p| - rate * l1, 0) / (1 + rate * l2); l1 below 0
         counts as 0
    """

    def __call__(self, var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> tuple[Tensor, Tensor]:
        written = written_operands(self.name, var=var, accum=accum)
        _step(self.name, made(ProximalAdagradUpdate), written, ("grad", grad), {"lr": lr, "l1": l1, "l2": l2})
        return var, accum


def row_step(
    op: str, step: Op, written: tuple[Tensor, ...], gradient: Any, indices: Any, numbers: dict[str, Any]
) -> None:
    """Write the new values of the rows at the indices, each of which has a row of the gradient."""
    places = operand(op, indices, "indices")
    if places.dtype not in (I32, I64):
        raise wrong(op, "indices", "of type Int32 or Int64", places, TypeError)
    parameter = written[0]
    if not parameter.ndim:
        raise wrong(op, "var", "of at least 1 dimension", parameter)
    if places.ndim != 1:
        raise wrong(op, "indices", "a vector", places)
    g = operand(op, gradient, "grad")
    if g.shape != (places.size, *parameter.shape[1:]):
        raise wrong(op, "grad", f"of shape {(places.size, *parameter.shape[1:])}, a row for each index", g)
    g = as_gradient(op, "grad", g, parameter)

    def distinct(given: Tensor) -> None:
        found = given.asnumpy()
        if np.unique(found).size != found.size:
            raise wrong(op, "indices", "different from each other", given.tolist())

    checked_on_host(index_check(op, "indices", 0, parameter.shape[0]), places)
    ordered = sort(places)[0]
    checked_on_host(distinct, places, conditions=lambda: [(ordered[1:] - ordered[:-1], Range(1, 2**63 - 1))])
    scalars = [scalar_of(op, name, value, parameter.dtype.compute) for name, value in (*numbers.items(), ("decay", 0.0), ("scale", 1.0))]
    rows = [gather(x, places, 0) for x in written]
    singles = reshape(places, (-1, 1))
    for x, value in zip(written, apply(step, *rows, g, *scalars), strict=True):
        x.overwrite(tensor_scatter_update(x, singles, value))


class SparseApplyAdagradV2(Primitive):
    """Do a step of `ApplyAdagradV2` for the rows of var and accum at the indices; returns both.

    This is the formula of MindSpore's manual; its kernel for CPUs divides by sqrt(accum + epsilon).

    lr, epsilon  floats
    grad         a row for each index
    indices      a vector of different Int32 or Int64; IndexError for one without a row, ValueError for equal ones
    """

    def __init__(self, lr: float, epsilon: float, use_locking: bool = False, update_slots: bool = True):
        op = "SparseApplyAdagradV2"
        super().__init__(lr=float_only(op, "lr", lr), epsilon=float_only(op, "epsilon", epsilon),
                         use_locking=flag(op, "use_locking", use_locking), update_slots=flag(op, "update_slots", update_slots))

    def __call__(self, var: Any, accum: Any, grad: Any, indices: Any) -> tuple[Tensor, Tensor]:
        written = written_operands(self.name, var=var, accum=accum)
        row_step(self.name, made(AdagradV2Update, self.update_slots), written, grad, indices, {"lr": self.lr, "epsilon": self.epsilon})
        return var, accum


class SparseApplyFtrl(Primitive):
    """Do a step of `ApplyFtrl` for the rows of var, accum and linear at the indices; returns the three.

    lr        a float above 0
    l1, l2    floats, at least 0
    lr_power  a float, at most 0
    grad      a row for each index
    indices   a vector of different Int32 or Int64; IndexError for one without a row, ValueError for equal ones
    """

    def __init__(self, lr: float, l1: float, l2: float, lr_power: float, use_locking: bool = False):
        op = "SparseApplyFtrl"
        super().__init__(lr=float_only(op, "lr", lr), l1=float_only(op, "l1", l1), l2=float_only(op, "l2", l2),
                         lr_power=float_only(op, "lr_power", lr_power), use_locking=flag(op, "use_locking", use_locking))
        for name, value, fits, expected in (
                ("lr", lr, lr > 0, "above 0"), ("l1", l1, l1 >= 0, "at least 0"), ("l2", l2, l2 >= 0, "at least 0"),
                ("lr_power", lr_power, lr_power <= 0, "at most 0")):
            if not fits:
                raise wrong(op, name, expected, value)

    def __call__(self, var: Any, accum: Any, linear: Any, grad: Any, indices: Any) -> tuple[Tensor, Tensor, Tensor]:
        written = written_operands(self.name, var=var, accum=accum, linear=linear)
        row_step(self.name, made(FtrlUpdate), written, grad, indices,
                     {"lr": self.lr, "l1": self.l1, "l2": self.l2, "lr_power": self.lr_power})
        return var, accum, linear


class ApplyFtrl(_Locking):
    """Write var, accum and linear as `nn.FTRL` does; returns var."""

    def __call__(self, var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any) -> Tensor:
        written = written_operands(self.name, var=var, accum=accum, linear=linear)
        _step(self.name, made(FtrlUpdate), written, ("grad", grad), {"lr": lr, "l1": l1, "l2": l2, "lr_power": lr_power})
        return var


class ApplyRMSProp(_Locking):
    """Write var, mean_square and moment as `nn.RMSProp` does; returns var."""

    def __call__(
        self, var: Any, mean_square: Any, moment: Any, learning_rate: Any, grad: Any, decay: Any, momentum: Any, epsilon: Any
    ) -> Tensor:
        written = written_operands(self.name, var=var, mean_square=mean_square, moment=moment)
        _step(self.name, made(RmsPropUpdate), written, ("grad", grad),
              {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon})
        return var


class ApplyCenteredRMSProp(_Locking):
    """Write var, mean_gradient, mean_square and moment as `nn.RMSProp` with `centered` does; returns var."""

    def __call__(
        self, var: Any, mean_gradient: Any, mean_square: Any, moment: Any, grad: Any, learning_rate: Any, decay: Any, momentum: Any,
        epsilon: Any,
    ) -> Tensor:
        written = written_operands(self.name, var=var, mean_gradient=mean_gradient, mean_square=mean_square, moment=moment)
        _step(self.name, made(CenteredRmsPropUpdate), written, ("grad", grad),
              {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon})
        return var


class LARSUpdate(Primitive):
    """Return a gradient scaled to the length of its weight (You, Gitman and Ginsburg 2017): c * (gradient + weight_decay * weight).

    c = hyperpara * |weight| / (|gradient| + weight_decay * |weight| + epsilon); 0 where the denominator is 0.  With `use_clip` c is divided
    by the learning rate, which has no meaning otherwise, and brought into [0, 1].

    weight, gradient             Tensors of one shape and one floating point dtype, that of the result; halves are computed in Float32
    norm_weight, norm_gradient   |weight|^2 and |gradient|^2, the sums of squares: Tensors of one element and of the same dtype
    weight_decay, learning_rate  numbers or Tensors of one element

    MindSpore has no kernel of this for a CPU: the formula is that of its manual and of its kernel for Ascend.
    """

    def __init__(self, epsilon: float = 1e-05, hyperpara: float = 0.001, use_clip: bool = False):
        op = "LARSUpdate"
        super().__init__(epsilon=float_only(op, "epsilon", epsilon), hyperpara=float_only(op, "hyperpara", hyperpara),
                         use_clip=flag(op, "use_clip", use_clip))

    def __call__(
        self, weight: Any, gradient: Any, norm_weight: Any, norm_gradient: Any, weight_decay: Any, learning_rate: Any
    ) -> Tensor:
        op = self.name
        weight, gradient = written_operands(op, weight=weight, gradient=gradient)
        dtype = weight.dtype.compute
        lengths: list[Tensor] = []
        for name, given in (("norm_weight", norm_weight), ("norm_gradient", norm_gradient)):
            squares = operand(op, given, name)
            if squares.dtype is not weight.dtype:
                raise wrong(op, name, f"of the dtype of 'weight', {weight.dtype}", squares, TypeError)
            lengths.append(sqrt(scalar_of(op, name, squares, dtype)))
        decay, rate = scalar_of(op, "weight_decay", weight_decay, dtype), scalar_of(op, "learning_rate", learning_rate, dtype)
        of_weight, of_gradient = lengths
        denominator = of_gradient + decay * of_weight + self.epsilon
        scale = where(denominator != 0, self.hyperpara * of_weight / where(denominator != 0, denominator, 1.0), 0.0)
        if self.use_clip:
            # A learning rate of 0 divides nothing that is kept.
            scale = maximum(where(scale < rate, scale / rate, 1.0), 0.0)
        found = scale * (gradient.astype(dtype, copy=False) + decay * weight.astype(dtype, copy=False))
        return found.astype(weight.dtype, copy=False)
