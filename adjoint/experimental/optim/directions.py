"""Optimisers that step along the gradient, an average of it, or its sign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from adjoint.experimental.optim.optimizer import Stepwise
from adjoint.ir.types import F32
from adjoint.nn.checks import boolean, least, number
from adjoint.ops import arithmetic, creation
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ASGD", "SGD", "Rprop"]


class SGD(Stepwise):
    """p = p - lr * g; with momentum g is replaced by a = momentum * a + (1 - dampening) * g, where a begins as g.

    nesterov  step along g + momentum * a instead (Sutskever et al., ICML 2013)
    maximize  True to maximise the objective

    ValueError for a negative setting, and for `nesterov` without momentum or with dampening.
    """

    STATES = {"accum": 0.0, "stat": 1.0}

    def __init__(self, params: Iterable[Any], lr: Any, momentum: float = 0, dampening: float = 0, weight_decay: float = 0.0,
                 nesterov: bool = False, *, maximize: bool = False):
        momentum, dampening = least("SGD", "momentum", momentum, 0.0), least("SGD", "dampening", dampening, 0.0)
        if boolean("SGD", "nesterov", nesterov) and (momentum <= 0.0 or dampening != 0.0):
            raise ValueError(f"For 'SGD', with 'nesterov' the argument 'momentum' must be above 0 and 'dampening' 0, but got {momentum} "
                             f"and {dampening}.")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": boolean("SGD", "maximize", maximize), "grad_centralization": False})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        return rate, float(group["momentum"]), float(group["dampening"]), group["nesterov"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, average: Tensor, first: Tensor, rate: Tensor, momentum: float, dampening: float,
               nesterov: bool) -> Sequence[Tensor]:
        new = arithmetic.where(first > 0, gradient, average * momentum + gradient * (1.0 - dampening)) if momentum else gradient
        direction = gradient + new * momentum if nesterov else new
        return parameter - direction * rate, new, creation.zeros_like(first)


class ASGD(Stepwise):
    """Averaged gradient descent (Polyak and Juditsky, SIAM J. Control Optim. 30, 1992): p = p * (1 - lambd * eta) - eta * g.

    eta is lr in the first step, and lr / (1 + lambd * lr * t)**alpha after step t; `ax` is the mean of p from step t0 on.
    """

    STATES = {"ax": 0.0}
    GROUP_STATES = {"eta": 0.0, "mu": 1.0}

    def __init__(self, params: Iterable[Any], lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0.0, maximize: bool = False):
        super().__init__(params, {"lr": lr, "lambd": number("ASGD", "lambd", lambd), "alpha": least("ASGD", "alpha", alpha, 0.0),
                                  "t0": number("ASGD", "t0", t0), "weight_decay": weight_decay,
                                  "maximize": boolean("ASGD", "maximize", maximize)})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        kept, share = self.eta[number], self.mu[number].astype(rate.dtype)
        eta = arithmetic.where(step > 1, kept.astype(rate.dtype), rate)
        kept.overwrite((rate / (step * rate * group["lambd"] + 1.0) ** group["alpha"]).astype(F32, copy=False))
        self.mu[number].overwrite((1.0 / arithmetic.clamp(step - group["t0"], 1.0)).astype(F32, copy=False))
        return eta, share, group["lambd"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, mean: Tensor, eta: Tensor, share: Tensor, lambd: float) -> Sequence[Tensor]:
        new = parameter * (1.0 - eta * lambd) - gradient * eta
        return new, arithmetic.where(share == 1.0, new, mean + (new - mean) * share)


class Rprop(Stepwise):
    """Resilient backpropagation (Riedmiller and Braun, ICNN 1993): each number has its own step, of which only the sign is the gradient's.

    etas        the factors of a step when the gradient's sign has changed, and when it has not
    step_sizes  the smallest and the largest step
    """

    STATES = {"prev": 0.0, "step_size": 0.0}

    def __init__(self, params: Iterable[Any], lr: Any = 1e-2, etas: Any = (0.5, 1.2), step_sizes: Any = (1e-6, 50), *,
                 maximize: bool = False):
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(f"For 'Rprop', the argument '{name}' must be a tuple of two numbers, but got {pair!r}.")
        if not 0.0 < least("Rprop", "etas", etas[0], 0.0) < 1.0 < least("Rprop", "etas", etas[1], 0.0):
            raise ValueError(f"For 'Rprop', the argument 'etas' must be a number in (0, 1) and one above 1, but got {etas!r}.")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": boolean("Rprop", "maximize", maximize)})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        (less, more), (smallest, largest) = group["etas"], group["step_sizes"]
        return rate, step, float(less), float(more), float(smallest), float(largest)

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, before: Tensor, size: Tensor, rate: Tensor, step: Tensor, less: float, more: float,
               smallest: float, largest: float) -> Sequence[Tensor]:
        size = arithmetic.where(step == 1.0, creation.ones_like(size) * rate, size)
        turned = gradient * before
        factor = arithmetic.where(turned > 0, more, arithmetic.where(turned < 0, less, creation.ones_like(turned)))
        size = arithmetic.clamp(size * factor, smallest, largest)
        kept = arithmetic.where(turned < 0, creation.zeros_like(gradient), gradient)
        return parameter - arithmetic.sign(kept) * size, kept, size
