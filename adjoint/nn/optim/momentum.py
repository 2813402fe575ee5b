"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.optimizers import MomentumUpdate, SgdMomentumUpdate, SgdUpdate
from adjoint.nn.checks import boolean
from adjoint.nn.optim.optimizer import Optimizer, as_dtype, at_least_zero
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, constant, update

__all__ = ["SGD", "Momentum"]


class Momentum(Optimizer):
    """a = momentum * a + g; p = p - lr * a, or with Nesterov's p - lr * (g + momentum * a) (Sutskever et al. 2013)."""

    def __init__(
        self, params: Iterable[Any], learning_rate: Any, momentum: float, weight_decay: float | Cell = 0.0, loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.scalar("momentum", at_least_zero("Momentum", "momentum", momentum))
        self.use_nesterov = boolean(self, "use_nesterov", use_nesterov)
        self.__dict__["moments"] = self.states("moments")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        moment, dtype = self.moments[index], parameter.dtype.compute
        update(made(MomentumUpdate, self.use_nesterov), (parameter, moment), parameter, moment, gradient, learning_rate,
               as_dtype(self.momentum, dtype), weight_decay, self._scale(dtype))


class SGD(Optimizer):
    """p = p - lr * g; with momentum a = momentum * a + (1 - dampening) * g, begun with g, in place of g."""

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 0.1, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: float | Cell = 0.0, nesterov: bool = False, loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.scalar("momentum", at_least_zero("SGD", "momentum", momentum))
        self.dampening = at_least_zero("SGD", "dampening", dampening)
        self.nesterov = boolean(self, "nesterov", nesterov)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("For 'SGD', 'nesterov' needs a momentum greater than 0 and a dampening of 0, "
                             f"but got {momentum} and {dampening}.")
        self._plain = momentum == 0
        # Without momentum they stay as they are: checkpoints have the same names either way, as MindSpore's.
        self.__dict__["accum"], self.__dict__["stat"] = self.states("accum"), self.states("stat", 1.0)

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        last = weight_decay, self._scale(dtype)
        if self._plain:
            update(made(SgdUpdate), (parameter,), parameter, gradient, learning_rate, *last)
            return
        accumulator, first = self.accum[index], self.stat[index]
        update(made(SgdMomentumUpdate, self.nesterov), (parameter, accumulator, first), parameter, accumulator, first, gradient,
               learning_rate, as_dtype(self.momentum, dtype), constant(self.dampening, dtype), *last)
