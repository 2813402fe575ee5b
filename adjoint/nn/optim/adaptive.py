"""Optimisers that scale by past gradients: RMSProp, Adagrad, AdaMax, FTRL and Lamb."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.adaptive_steps import AdagradUpdate, AdamaxUpdate, CenteredRmsPropUpdate, FtrlUpdate, LambDirection, RmsPropUpdate
from adjoint.ir.ops.arithmetic import Mul
from adjoint.ir.types import F32
from adjoint.nn.checks import boolean, number, positive_number
from adjoint.nn.optim.optimizer import Optimizer, as_dtype, at_least_zero, fraction
from adjoint.ops.arithmetic import logical_and, where
from adjoint.ops.reduction import norm
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, apply, constant, update

__all__ = ["FTRL", "AdaMax", "Adagrad", "Lamb", "RMSProp"]

_MUL = Mul()


class RMSProp(Optimizer):
    """q = decay * q + (1 - decay) * g^2; a = momentum * a + lr * g / sqrt(q + epsilon); p = p - a (Hinton 2012); q begins with 1.

    centered     the square of the mean gradient is taken off q in the root (Graves 2013)
    use_locking  has no meaning: one step runs at a time
    """

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 0.1, decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10,
        use_locking: bool = False, centered: bool = False, loss_scale: float = 1.0, weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay, self.momentum = at_least_zero("RMSProp", "decay", decay), at_least_zero("RMSProp", "momentum", momentum)
        self.epsilon = positive_number(self, "epsilon", epsilon)
        boolean(self, "use_locking", use_locking)
        self.centered = boolean(self, "centered", centered)
        if centered:
            self.__dict__["mg"] = self.states("mean_grad")
        self.__dict__["ms"], self.__dict__["moment"] = self.states("mean_square", 1.0), self.states("moment")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        op, states = made(RmsPropUpdate), (parameter, self.ms[index], self.moment[index])
        if self.centered:
            op, states = made(CenteredRmsPropUpdate), (parameter, self.mg[index], *states[1:])
        update(op, states, *states, gradient, learning_rate, constant(self.decay, dtype), constant(self.momentum, dtype),
               constant(self.epsilon, dtype), weight_decay, self._scale(dtype))


class Adagrad(Optimizer):
    """a = a + g^2; p = p - lr * g / sqrt(a) (Duchi, Hazan and Singer 2011); a begins with `accum`.

    update_slots  whether a takes the squares of gradients
    """

    def __init__(
        self, params: Iterable[Any], accum: float = 0.1, learning_rate: Any = 0.001, update_slots: bool = True, loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        first = at_least_zero("Adagrad", "accum", accum)
        self.update_slots = boolean(self, "update_slots", update_slots)
        self.__dict__["accum"] = self.states("accum", first)

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        states = parameter, self.accum[index]
        update(made(AdagradUpdate, self.update_slots), states, *states, gradient, learning_rate, weight_decay,
               self._scale(parameter.dtype.compute))


class AdaMax(Optimizer):
    """m = beta1 * m + (1 - beta1) * g; v = max(beta2 * v, |g|); p = p - lr / (1 - beta1^t) * m / (v + eps) (Kingma and Ba 2014)."""

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        weight_decay: float | Cell = 0.0, loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2 = fraction("AdaMax", "beta1", beta1), fraction("AdaMax", "beta2", beta2)
        self.eps = positive_number(self, "eps", eps)
        self.scalar("beta1_power", 1.0)
        self.__dict__["moment1"], self.__dict__["moment2"] = self.states("moment1"), self.states("moment2")

    def begin(self) -> None:
        update(_MUL, (self.beta1_power,), self.beta1_power, constant(self.beta1, F32))

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        states = parameter, self.moment1[index], self.moment2[index]
        update(made(AdamaxUpdate), states, *states, gradient, learning_rate, constant(self.beta1, dtype), constant(self.beta2, dtype),
               constant(self.eps, dtype), as_dtype(self.beta1_power, dtype), weight_decay, self._scale(dtype))


class FTRL(Optimizer):
    """Follow the regularised leader (McMahan and Streeter 2010), with one learning rate for all parameters and steps.

    a' = a + g^2;  u = u + g - (a'^-lr_power - a^-lr_power) / lr * p;  p = (sign(u) * l1 - u) / (a'^-lr_power / lr + 2 * l2) where |u| > l1,
    else 0.  a begins with `initial_accum`, u with 0.

    lr_power      at most 0
    weight_decay  counts for all parameters, those with beta or gamma in their names too
    use_locking   has no meaning: one step runs at a time
    """

    def __init__(
        self, params: Iterable[Any], initial_accum: float = 0.1, learning_rate: float = 0.001, lr_power: float = -0.5, l1: float = 0.0,
        l2: float = 0.0, use_locking: bool = False, loss_scale: float = 1.0, weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ValueError("For 'FTRL', the argument 'learning_rate' must be one number for all parameters and steps.")
        positive_number(self, "learning_rate", learning_rate)
        first = at_least_zero("FTRL", "initial_accum", initial_accum)
        self.l1, self.l2 = at_least_zero("FTRL", "l1", l1), at_least_zero("FTRL", "l2", l2)
        self.lr_power = number(self, "lr_power", lr_power)
        if not -math.inf < self.lr_power <= 0:
            raise ValueError(f"For 'FTRL', the argument 'lr_power' must be at most 0 and finite, but got {lr_power}.")
        self.use_locking = boolean(self, "use_locking", use_locking)
        for group in self._groups:
            group.filtered = False
        self.__dict__["moments"], self.__dict__["linear"] = self.states("moments", first), self.states("linear")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        states = parameter, self.moments[index], self.linear[index]
        update(made(FtrlUpdate), states, *states, gradient, learning_rate, constant(self.l1, dtype), constant(self.l2, dtype),
               constant(self.lr_power, dtype), weight_decay, self._scale(dtype))


class Lamb(Optimizer):
    """Adam's direction with the weight decay added, scaled to the length of the parameter (You et al. 2019).

    d = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay * p;  p = p - lr * |p| / |d| * d, with 1 for the quotient where a
    length is 0.  MindSpore has no kernel of this for a CPU: the formula is that of its manual.
    """

    _decays_in_gradient = False

    def __init__(
        self, params: Iterable[Any], learning_rate: Any, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        self.beta1, self.beta2 = fraction("Lamb", "beta1", beta1), fraction("Lamb", "beta2", beta2)
        self.eps = positive_number(self, "eps", eps)
        self.scalar("beta1_power", 1.0)
        self.scalar("beta2_power", 1.0)
        self.__dict__["moments1"], self.__dict__["moments2"] = self.states("lamb_m"), self.states("lamb_v")

    def begin(self) -> None:
        update(_MUL, (self.beta1_power,), self.beta1_power, constant(self.beta1, F32))
        update(_MUL, (self.beta2_power,), self.beta2_power, constant(self.beta2, F32))

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        m, v = self.moments1[index], self.moments2[index]
        direction, new_m, new_v = apply(
            made(LambDirection), parameter, m, v, gradient, constant(self.beta1, dtype), constant(self.beta2, dtype),
            constant(self.eps, dtype), as_dtype(self.beta1_power, dtype), as_dtype(self.beta2_power, dtype), weight_decay)
        m.overwrite(new_m)
        v.overwrite(new_v)
        length, way = (as_dtype(norm(x.astype(dtype, copy=False)), dtype) for x in (parameter, direction))
        one = constant(1.0, dtype)
        trust = where(logical_and(length > 0, way > 0), length / where(way > 0, way, one), one)
        parameter.overwrite(as_dtype(as_dtype(parameter, dtype) - learning_rate * trust * as_dtype(direction, dtype), parameter.dtype))
