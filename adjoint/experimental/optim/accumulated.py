"""Optimisers that divide the gradient by the root of what its squares sum up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adjoint.experimental.optim.optimizer import Stepwise
from adjoint.nn.checks import boolean, least, positive_number
from adjoint.ops import arithmetic
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Adadelta", "Adagrad", "RMSprop"]


class Adagrad(Stepwise):
    """Duchi, Hazan and Singer (JMLR 12, 2011): s = s + g * g; p = p - lr / (1 + t * lr_decay) * g / (sqrt(s) + eps), t from 0.

    initial_accumulator_value  what s begins as
    """

    STATES = {"accum": 0.0}

    def __init__(self, params: Iterable[Any], lr: Any = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
                 initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False):
        first = least("Adagrad", "initial_accumulator_value", initial_accumulator_value, 0.0)
        super().__init__(params, {"lr": lr, "lr_decay": least("Adagrad", "lr_decay", lr_decay, 0.0),
                                  "eps": positive_number("Adagrad", "eps", eps), "weight_decay": weight_decay,
                                  "initial_accumulator_value": first, "maximize": boolean("Adagrad", "maximize", maximize)})

    def first_values(self, group: Mapping[str, Any]) -> Mapping[str, float]:
        return {"accum": group["initial_accumulator_value"]}

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        return rate / ((step - 1.0) * group["lr_decay"] + 1.0), group["eps"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, total: Tensor, rate: Tensor, eps: float) -> Sequence[Tensor]:
        new = total + gradient * gradient
        return parameter - rate * gradient / (arithmetic.sqrt(new) + eps), new


class Adadelta(Stepwise):
    """Zeiler (arXiv:1212.5701, 2012): the step is g times the root of the mean of squared steps over that of squared gradients.

    rho  the decay rate of both means
    eps  is added to both means below the root
    """

    STATES = {"accum": 0.0, "accum_update": 0.0}

    def __init__(self, params: Iterable[Any], lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0, *,
                 maximize: bool = False):
        if least("Adadelta", "rho", rho, 0.0) > 1.0:
            raise ValueError(f"For 'Adadelta', the argument 'rho' must be in [0, 1], but got {rho}.")
        super().__init__(params, {"lr": lr, "rho": float(rho), "eps": positive_number("Adadelta", "eps", eps),
                                  "weight_decay": weight_decay, "maximize": boolean("Adadelta", "maximize", maximize)})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        return rate, group["rho"], group["eps"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, squares: Tensor, steps: Tensor, rate: Tensor, rho: float,
               eps: float) -> Sequence[Tensor]:
        squares = squares * rho + gradient * gradient * (1.0 - rho)
        step = arithmetic.sqrt(steps + eps) / arithmetic.sqrt(squares + eps) * gradient
        return parameter - step * rate, squares, steps * rho + step * step * (1.0 - rho)


class RMSprop(Stepwise):
    """Hinton (Neural Networks for Machine Learning, lecture 6e): s = alpha * s + (1 - alpha) * g * g; p = p - lr * g / (sqrt(s) + eps).

    momentum  with one, steps are averaged: b = momentum * b + g / (sqrt(s) + eps); p = p - lr * b
    centered  the square of the mean gradient is subtracted from s below the root (Graves, arXiv:1308.0850)
    """

    STATES = {"mean_square": 0.0, "mean_grad": 0.0, "moment": 0.0}

    def __init__(self, params: Iterable[Any], lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
                 momentum: float = 0.0, centered: bool = False, maximize: bool = False):
        super().__init__(params, {"lr": lr, "momentum": least("RMSprop", "momentum", momentum, 0.0),
                                  "alpha": least("RMSprop", "alpha", alpha, 0.0), "eps": positive_number("RMSprop", "eps", eps),
                                  "centered": boolean("RMSprop", "centered", centered), "weight_decay": weight_decay,
                                  "maximize": boolean("RMSprop", "maximize", maximize)})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        return rate, group["alpha"], group["eps"], group["momentum"], group["centered"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, squares: Tensor, mean: Tensor, moment: Tensor, rate: Tensor, alpha: float, eps: float,
               momentum: float, centered: bool) -> Sequence[Tensor]:
        squares = squares * alpha + gradient * gradient * (1.0 - alpha)
        if centered:
            mean = mean * alpha + gradient * (1.0 - alpha)
            step = gradient / (arithmetic.sqrt(squares - mean * mean) + eps)
        else:
            step = gradient / (arithmetic.sqrt(squares) + eps)
        moment = moment * momentum + step if momentum else moment
        return parameter - (moment if momentum else step) * rate, squares, mean, moment
