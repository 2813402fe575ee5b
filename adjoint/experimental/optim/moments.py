"""Optimisers that keep moments of the gradient: Adam and its kin.

m and v are the moments of the gradient g and of its square: beta * old + (1 - beta) * new; t counts the steps from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from adjoint.experimental.optim.optimizer import Stepwise, betas_of
from adjoint.nn.checks import boolean, least
from adjoint.ops import arithmetic, creation
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


def _defaults(name: str, lr: Any, betas: Any, eps: float, weight_decay: float) -> dict[str, Any]:
    return {"lr": lr, "betas": betas_of(name, betas), "eps": least(name, "eps", eps, 0.0), "weight_decay": weight_decay}


class Adam(Stepwise):
    """Adam (Kingma and Ba 2014, end of section 2): p = p - lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps).

    weight_decay  weight_decay * p is added to the gradient
    amsgrad       v is the largest so far (Reddi, Kale and Kumar 2018); MindSpore's Adam takes the argument without effect
    maximize      True to maximise the objective

    TypeError for `betas` that are not two numbers, ValueError for numbers out of range.
    """

    STATES = {"exp_avg": 0.0, "exp_avg_sq": 0.0, "max_exp_avg_sq": 0.0}

    def __init__(self, params: Iterable[Any], lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 amsgrad: bool = False, *, maximize: bool = False):
        name = type(self).__name__
        super().__init__(params, {**_defaults(name, lr, betas, eps, weight_decay), "amsgrad": boolean(name, "amsgrad", amsgrad),
                                  "maximize": boolean(name, "maximize", maximize)})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        first, second = group["betas"]
        root, rate_now = arithmetic.sqrt(1.0 - second**step), rate / (1.0 - first**step)
        if not self.decays_by_itself:
            return rate_now * root, None, None, first, second, group["eps"], group["amsgrad"]
        decay = rate * group["weight_decay"] if group["weight_decay"] else None
        return rate_now, root, decay, first, second, group["eps"], group["amsgrad"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, largest: Tensor, rate: Tensor,
               root: Tensor | None, decay: Tensor | None, first: float, second: float, eps: float, amsgrad: bool) -> Sequence[Tensor]:
        parameter = parameter if decay is None else parameter * (1.0 - decay)
        mean = mean * first + gradient * (1.0 - first)
        square = square * second + gradient * gradient * (1.0 - second)
        largest = arithmetic.maximum(largest, square) if amsgrad else largest
        scale = arithmetic.sqrt(largest if amsgrad else square)
        return parameter - mean / ((scale if root is None else scale / root) + eps) * rate, mean, square, largest


class AdamW(Adam):
    """Adam with weight decay outside of the moments (Loshchilov and Hutter 2017): p is multiplied by 1 - lr * weight_decay, then
    p = p - lr / (1 - beta1**t) * m / (sqrt(v / (1 - beta2**t)) + eps).
    """

    decays_by_itself = True

    def __init__(self, params: Iterable[Any], lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
                 amsgrad: bool = False, *, maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class Adamax(Stepwise):
    """Adamax (Kingma and Ba 2014, section 7.1): v is replaced by u = max(beta2 * u, |g| + eps); p = p - lr / (1 - beta1**t) * m / u."""

    STATES = {"exp_avg": 0.0, "exp_inf": 0.0}

    def __init__(self, params: Iterable[Any], lr: Any = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0, *,
                 maximize: bool = False):
        super().__init__(params, {**_defaults("Adamax", lr, betas, eps, weight_decay),
                                  "maximize": boolean("Adamax", "maximize", maximize)})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        first, second = group["betas"]
        return rate / (1.0 - first**step), first, second, group["eps"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, mean: Tensor, largest: Tensor, rate: Tensor, first: float, second: float,
               eps: float) -> Sequence[Tensor]:
        mean = mean * first + gradient * (1.0 - first)
        largest = arithmetic.maximum(largest * second, arithmetic.abs(gradient) + eps)
        return parameter - rate * mean / largest, mean, largest


class RAdam(Stepwise):
    """Rectified Adam (Liu et al., ICLR 2020): Adam with a factor r for the variance of v, and without v in the first steps.

    With rho = 2 / (1 - beta2) - 1 and rho_t = rho - 2 * t * beta2**t / (1 - beta2**t):
    r = sqrt((rho_t - 4) * (rho_t - 2) * rho / ((rho - 4) * (rho - 2) * rho_t)) if rho_t is above 5.
    """

    STATES = {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def __init__(self, params: Iterable[Any], lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0):
        super().__init__(params, _defaults("RAdam", lr, betas, eps, weight_decay))

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        first, second = group["betas"]
        whole = 2.0 / (1.0 - second) - 1.0
        left = 1.0 - second**step
        length = whole - step * 2.0 * second**step / left
        rectified = length > 5.0
        inside = arithmetic.where(rectified, length, creation.ones_like(length) * 6.0)
        factor = arithmetic.sqrt((inside - 4.0) * (inside - 2.0) * whole / (inside * ((whole - 4.0) * (whole - 2.0))))
        return rate / (1.0 - first**step), factor * arithmetic.sqrt(left), rectified, first, second, group["eps"]

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, rate: Tensor, factor: Tensor, rectified: Tensor,
               first: float, second: float, eps: float) -> Sequence[Tensor]:
        mean = mean * first + gradient * (1.0 - first)
        square = square * second + gradient * gradient * (1.0 - second)
        scale = arithmetic.where(rectified, factor / (arithmetic.sqrt(square) + eps), creation.ones_like(square))
        return parameter - mean * rate * scale, mean, square


class NAdam(Stepwise):
    """Adam with Nesterov's momentum (Dozat, ICLR workshop 2016), whose share mu_t = beta1 * (1 - 0.96**(t * momentum_decay) / 2) grows.

    `mu_product` is the product of mu_1 to mu_t.
    """

    STATES = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
    GROUP_STATES = {"mu_product": 1.0}

    def __init__(self, params: Iterable[Any], lr: Any = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 momentum_decay: float = 4e-3):
        super().__init__(params, {**_defaults("NAdam", lr, betas, eps, weight_decay),
                                  "momentum_decay": least("NAdam", "momentum_decay", momentum_decay, 0.0)})

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        group = self.param_groups[number]
        first, second = group["betas"]
        now, then = ((1.0 - 0.96 ** ((step + ahead) * group["momentum_decay"]) * 0.5) * first for ahead in (0.0, 1.0))
        kept = self.mu_product[number]
        product = kept.astype(step.dtype, copy=False) * now
        kept.overwrite(product.astype(kept.dtype, copy=False))
        return (rate * (1.0 - now) / (1.0 - product), rate * then / (1.0 - product * then), 1.0 - second**step, first, second, group["eps"])

    @staticmethod
    @fusible
    def update(parameter: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, of_gradient: Tensor, of_mean: Tensor, left: Tensor,
               first: float, second: float, eps: float) -> Sequence[Tensor]:
        mean = mean * first + gradient * (1.0 - first)
        square = square * second + gradient * gradient * (1.0 - second)
        scale = arithmetic.sqrt(square / left) + eps
        return parameter - of_gradient * gradient / scale - of_mean * mean / scale, mean, square
