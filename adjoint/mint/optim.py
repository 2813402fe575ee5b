"""Optimisers with PyTorch's arguments.

params     Parameters, or dicts {"params": ..., "lr": ..., "weight_decay": ...}; weight decay applies to all of them
lr         a number, kept in the Parameter `learning_rate`, which may be assigned at any time
maximize   True to maximise the objective: gradients are negated

They are called with the gradients in the order of `parameters`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.types import F32
from adjoint.nn import optim
from adjoint.nn.checks import boolean, least, number
from adjoint.ops import arithmetic
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Adam", "AdamW", "SGD"]

INSTEAD = {"FusedAdamW": "`mint.optim.AdamW`, which has the same arguments"}
"""What to write instead of optimisers of MindSpore that are missing here."""


def _grouped(params: Any) -> Any:
    """Return parameters as one group: without groups, some would be excluded from weight decay because of their names."""
    if isinstance(params, (Tensor, str, dict)) or not isinstance(params, Iterable):
        return params
    items = list(params)
    return items if not items or isinstance(items[0], dict) else [{"params": items}]


def _in_range(name: str, betas: Any) -> tuple[float, float]:
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise TypeError(f"For '{name}', the argument 'betas' must be a tuple of two numbers, but got {betas!r}.")
    first, second = (number(name, "betas", beta) for beta in betas)
    for beta in (first, second):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"For '{name}', the argument 'betas' must be in [0, 1), but got {betas!r}.")
    return first, second


class SGD(optim.SGD):
    """p = p - lr * g; with momentum, g is replaced by a = momentum * a + (1 - dampening) * g, where a begins as g."""

    def __init__(
        self, params: Iterable[Any], lr: Any, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0,
        nesterov: bool = False, *, maximize: bool = False,
    ):
        super().__init__(_grouped(params), lr, float(momentum), float(dampening), float(weight_decay), nesterov)
        self.maximize = boolean(self, "maximize", maximize)

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        super().step(index, parameter, -gradient if self.maximize else gradient, learning_rate, weight_decay)


class Adam(optim.Optimizer):
    """Adam (Kingma and Ba 2014): p = p - lr / (1 - beta1**t) * m / (sqrt(v) / sqrt(1 - beta2**t) + eps) in step t.

    m, v          the moments of the gradient and of its square: beta * old + (1 - beta) * new
    weight_decay  weight_decay * p is added to the gradient
    amsgrad       v is the largest so far (Reddi, Kale and Kumar 2018)
    """

    _decoupled = False

    def __init__(
        self, params: Iterable[Any], lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
        amsgrad: bool = False, *, maximize: bool = False,
    ):
        super().__init__(lr, _grouped(params), float(weight_decay))
        name = type(self).__name__
        self.betas, self.eps = _in_range(name, betas), least(self, "eps", eps, 0.0)
        self.amsgrad, self.maximize = boolean(self, "amsgrad", amsgrad), boolean(self, "maximize", maximize)
        self.scalar("beta1_power", 1.0)
        self.scalar("beta2_power", 1.0)
        self.__dict__["exp_avg"], self.__dict__["exp_avg_sq"] = self.states("exp_avg"), self.states("exp_avg_sq")
        if amsgrad:
            self.__dict__["max_exp_avg_sq"] = self.states("max_exp_avg_sq")

    def begin(self) -> None:
        for power, beta in ((self.beta1_power, self.betas[0]), (self.beta2_power, self.betas[1])):
            power.overwrite(power * beta)

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        first, second = self.betas
        old, g = parameter.astype(dtype, copy=False), gradient.astype(dtype, copy=False)
        g = -g if self.maximize else g
        if self._decoupled:
            old = old - old * (learning_rate * weight_decay)
        else:
            g = g + old * weight_decay
        mean, square = self.exp_avg[index], self.exp_avg_sq[index]
        m = mean.astype(dtype, copy=False) * first + g * (1.0 - first)
        v = square.astype(dtype, copy=False) * second + g * g * (1.0 - second)
        mean.overwrite(m.astype(mean.dtype, copy=False))
        square.overwrite(v.astype(square.dtype, copy=False))
        if self.amsgrad:
            largest = self.max_exp_avg_sq[index]
            v = arithmetic.maximum(largest.astype(dtype, copy=False), v)
            largest.overwrite(v.astype(largest.dtype, copy=False))
        unbiased, spread = (1.0 - power.astype(F32, copy=False) for power in (self.beta1_power, self.beta2_power))
        scale = arithmetic.sqrt(v) / arithmetic.sqrt(spread).astype(dtype, copy=False) + self.eps
        new = old - (learning_rate / unbiased.astype(dtype, copy=False)) * m / scale
        parameter.overwrite(new.astype(parameter.dtype, copy=False))


class AdamW(Adam):
    """Adam with weight decay outside of the moments (Loshchilov and Hutter 2017): p is multiplied by 1 - lr * weight_decay."""

    _decoupled = True

    def __init__(
        self, params: Iterable[Any], lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.01,
        amsgrad: bool = False, *, maximize: bool = False,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
