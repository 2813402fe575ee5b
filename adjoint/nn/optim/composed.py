"""Optimisers whose steps are composed of operators: Adadelta, AdaFactor, ASGD, ProximalAdagrad and Rprop."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from adjoint.ir.types import F16, F32, DType
from adjoint.nn.checks import boolean
from adjoint.nn.optim.optimizer import Optimizer, as_dtype, at_least_zero, fraction
from adjoint.ops.arithmetic import clip_by_value, where
from adjoint.ops.generated import abs, maximum, minimum, sign, sqrt
from adjoint.ops.primitives.fused_steps import factored, root_of_mean_square
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["ASGD", "AdaFactor", "Adadelta", "ProximalAdagrad", "Rprop"]


def _float(name: str, argument: str, value: Any) -> float:
    """Check a finite float; raise TypeError for other numbers."""
    if not isinstance(value, float):
        raise TypeError(f"For '{name}', the argument '{argument}' must be a float, but got {value!r} of type {type(value).__name__}.")
    if not math.isfinite(value):
        raise ValueError(f"For '{name}', the argument '{argument}' must be finite, but got {value}.")
    return value


class _Composed(Optimizer):
    """Base class: operands in the dtype that a parameter is computed in."""

    def _gradient(self, parameter: Parameter, gradient: Tensor, weight_decay: Tensor) -> tuple[Tensor, Tensor]:
        """Return the parameter, and gradient / loss_scale + weight_decay * parameter."""
        dtype = parameter.dtype.compute
        p = as_dtype(parameter, dtype)
        return p, as_dtype(gradient, dtype) * self._scale(dtype) + weight_decay * p

    def _named_states(self, names: Iterable[str], values: Iterable[Tensor]) -> ParameterTuple:
        """Return states of this optimiser with names and first values of their own."""
        made = ParameterTuple([Parameter(value, name=name) for name, value in zip(names, values, strict=True)])
        self._params.update({p.name: p for p in made})
        return made


def _write(state: Parameter, value: Tensor) -> None:
    state.overwrite(as_dtype(value, state.dtype))


class Adadelta(_Composed):
    """Steps by the ratio of past steps to past gradients (Zeiler 2012).

    a = rho * a + (1 - rho) * g^2;  d = sqrt(u + epsilon) / sqrt(a + epsilon) * g;  u = rho * u + (1 - rho) * d^2;  p = p - lr * d
    """

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 1.0, rho: float = 0.9, epsilon: float = 1e-6, loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho = _float("Adadelta", "rho", rho)
        self.epsilon = at_least_zero("Adadelta", "epsilon", _float("Adadelta", "epsilon", epsilon))
        if not 0 <= rho <= 1:
            raise ValueError(f"For 'Adadelta', the argument 'rho' must be in [0.0, 1.0], but got {rho}.")
        self.__dict__["accum"], self.__dict__["accum_update"] = self.states("accum"), self.states("accum_update")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        p, g = self._gradient(parameter, gradient, weight_decay)
        squares, steps = (as_dtype(state[index], p.dtype) for state in (self.accum, self.accum_update))
        squares = squares * self.rho + g * g * (1 - self.rho)
        step = sqrt(steps + self.epsilon) / sqrt(squares + self.epsilon) * g
        _write(self.accum[index], squares)
        _write(self.accum_update[index], steps * self.rho + step * step * (1 - self.rho))
        _write(parameter, p - learning_rate * step)


class ProximalAdagrad(_Composed):
    """Adagrad with a penalty for the size of the parameters (Duchi and Singer 2009).

    a = a + g^2;  r = lr / sqrt(a);  q = p - r * g;  p = sign(q) * max(|q| - r * l1, 0) / (1 + r * l2);  a begins with `accum`

    use_locking  has no meaning: one step runs at a time
    """

    def __init__(
        self, params: Iterable[Any], accum: float = 0.1, learning_rate: Any = 0.001, l1: float = 0.0, l2: float = 0.0,
        use_locking: bool = False, loss_scale: float = 1.0, weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        first, self.l1, self.l2 = (at_least_zero("ProximalAdagrad", argument, _float("ProximalAdagrad", argument, value))
                                   for argument, value in (("accum", accum), ("l1", l1), ("l2", l2)))
        self.use_locking = boolean(self, "use_locking", use_locking)
        self.__dict__["accum"] = self.states("accum", first)

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        p, g = self._gradient(parameter, gradient, weight_decay)
        squares = as_dtype(self.accum[index], p.dtype) + g * g
        rate = learning_rate / sqrt(squares)
        moved = p - rate * g
        _write(self.accum[index], squares)
        if self.l1:
            moved = sign(moved) * maximum(abs(moved) - rate * self.l1, 0.0)
        _write(parameter, moved / (rate * self.l2 + 1.0))


class Rprop(_Composed):
    """Steps by the sign of the gradient, longer while it stays the same (Riedmiller and Braun 1993).

    etas        what the length of a step is multiplied with where the sign changes, and where it stays; where it changes nothing is
                updated in this step
    step_sizes  the least and the largest length; the first is the learning rate
    """

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 0.1, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        (self.etaminus, self.etaplus), (self.step_size_min, self.step_size_max) = (
            self._pair(argument, value) for argument, value in (("etas", etas), ("step_sizes", step_sizes)))
        if not 0 < self.etaminus < 1 < self.etaplus:
            raise ValueError("For 'Rprop', the argument 'etas' must be a float in (0.0, 1.0) and one that is greater than 1.0, "
                             f"but got {etas}.")
        if self.step_size_min > self.step_size_max:
            raise ValueError(f"For 'Rprop', the argument 'step_sizes' must be the least length and the largest, but got {step_sizes}.")
        self.__dict__["prev"], self.__dict__["step_size"] = self.states("prev"), self.states("step_size")

    def _pair(self, argument: str, value: Any) -> tuple[float, float]:
        if not isinstance(value, tuple):
            raise TypeError(f"For 'Rprop', the argument '{argument}' must be a tuple, but got {value!r} of type {type(value).__name__}.")
        if len(value) != 2:
            raise ValueError(f"For 'Rprop', the argument '{argument}' must be a tuple of 2, but got {value!r}.")
        return _float("Rprop", argument, value[0]), _float("Rprop", argument, value[1])

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        p, g = self._gradient(parameter, gradient, weight_decay)
        before, length = as_dtype(self.prev[index], p.dtype), as_dtype(self.step_size[index], p.dtype)
        one = constant(1.0, p.dtype)
        same = sign(g * before)
        factor = where(same > 0, one * self.etaplus, where(same < 0, one * self.etaminus, one))
        length = clip_by_value(where(self.global_step == 0, learning_rate, length) * factor, self.step_size_min, self.step_size_max)
        g = where(same < 0, constant(0.0, p.dtype), g)
        _write(parameter, p - sign(g) * length)
        _write(self.prev[index], g)
        _write(self.step_size[index], length)


class ASGD(_Composed):
    """Gradient descent that keeps the mean of the parameters, `ax` (Polyak and Juditsky 1992).

    p = p * (1 - lambd * eta) - eta * g;  ax = ax + (p - ax) * mu;  eta = lr / (1 + lambd * lr * t)^alpha;  mu = 1 / max(1, t - t0)

    t0  the step from which on the mean is taken; ax is p before
    """

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 0.1, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float | Cell = 0.0,
    ):
        super().__init__(learning_rate, params, weight_decay)
        self.lambd, self.alpha, self.t0 = (
            _float("ASGD", argument, value) for argument, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)))
        names = [p.name for p in self._parameters]
        self.__dict__["mu"] = self._named_states((f"mu_{name}" for name in names), (Tensor(1.0, F32) for _ in names))
        self.__dict__["eta"] = self._named_states((f"eta_{name}" for name in names), (Tensor(0.0, F32) for _ in names))
        self.__dict__["ax"] = self.states("ax_")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        p, g = self._gradient(parameter, gradient, weight_decay)
        taken, rate = as_dtype(self.global_step, F32).reshape(()), as_dtype(learning_rate, F32)
        eta = as_dtype(where(taken == 0, rate, self.eta[index]), p.dtype)
        mean, mu = as_dtype(self.ax[index], p.dtype), as_dtype(self.mu[index], p.dtype)
        p = p * (1.0 - eta * self.lambd) - eta * g
        _write(parameter, p)
        _write(self.ax[index], where(mu == 1, p, mean + (p - mean) * mu))
        _write(self.eta[index], rate / (rate * self.lambd * (taken + 1.0) + 1.0) ** self.alpha)
        _write(self.mu[index], 1.0 / maximum(taken + 1.0 - self.t0, 1.0))


class AdaFactor(_Composed):
    """Adam whose second moments of matrices are products of a row and a column (Shazeer and Stern 2018).

    learning_rate    None with `relative_step`, which takes min(0.01, 1 / sqrt(t)), or with `warmup_init` min(1e-6 * t, 1 / sqrt(t))
    eps              what is added to squares of gradients, and the least scale of a parameter
    clip_threshold   the largest root of the mean square of an update, before the learning rate
    decay_rate       the second moments keep 1 - t^-decay_rate of what they were
    beta1            share of the first moment that is kept; None or 0.0: there is none
    scale_parameter  multiply the learning rate with the root of the mean square of the parameter
    compression      second moments of vectors in Float16
    loss_scale       has no meaning, as in MindSpore: the step does not depend on the scale of the gradients

    `weight_decay` counts for all parameters, and is taken off them, lr * weight_decay * p, not added to the gradient.
    """

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = None, eps: tuple[float, float] = (1e-30, 1e-3), clip_threshold: float = 1.0,
        decay_rate: float = 0.8, beta1: float | None = 0.9, weight_decay: float = 0.0, scale_parameter: bool = True,
        relative_step: bool = True, warmup_init: bool = False, compression: bool = False, loss_scale: float = 1.0,
    ):
        name = "AdaFactor"
        flags = {"scale_parameter": scale_parameter, "relative_step": relative_step, "warmup_init": warmup_init, "compression": compression}
        for argument, value in flags.items():
            boolean(name, argument, value)
        if (learning_rate is None) != relative_step:
            raise ValueError("For 'AdaFactor', the argument 'learning_rate' must be None with 'relative_step', and given without it, "
                             f"but got {learning_rate!r} with relative_step={relative_step}.")
        if warmup_init and not relative_step:
            raise ValueError("For 'AdaFactor', the argument 'warmup_init' needs relative_step=True.")
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        if not isinstance(eps, (tuple, list)):
            raise TypeError(f"For 'AdaFactor', the argument 'eps' must be a tuple or a list, but got {eps!r} of type {type(eps).__name__}.")
        if len(eps) != 2:
            raise ValueError(f"For 'AdaFactor', the argument 'eps' must be a pair of floats, but got {eps!r}.")
        self.eps = tuple(at_least_zero(name, "eps", _float(name, "eps", value)) for value in eps)
        self.clip_threshold = at_least_zero(name, "clip_threshold", _float(name, "clip_threshold", clip_threshold))
        self.decay_rate = fraction(name, "decay_rate", _float(name, "decay_rate", decay_rate))
        self.beta1 = at_least_zero(name, "beta1", 0.0 if beta1 is None else beta1)
        self.scale_parameter = scale_parameter and not self.dynamic_lr
        self.relative_step, self.warmup_init, self.compression = relative_step, warmup_init, compression
        for group in self._groups:
            group.filtered = False
        if self.beta1:
            self.__dict__["exp_avg"] = self.states("exp_avg")
        self.__dict__["exp_avg_sq_row"] = self._moments("exp_avg_sq_row", lambda shape: shape[:-1])
        self.__dict__["exp_avg_sq_col"] = self._moments("exp_avg_sq_col", lambda shape: (*shape[:-2], *shape[-1:]))
        self.__dict__["exp_avg_sq"] = self._moments("exp_avg_sq", None)

    def _moments(self, prefix: str, shape_of: Any) -> ParameterTuple:
        """Return second moments by rows or columns of matrices, or by the elements of vectors; of other parameters one element."""
        values: list[Tensor] = []
        for p in self._parameters:
            shape, dtype = (1,), p.dtype
            if p.ndim > 1 and shape_of is not None:
                shape = shape_of(p.shape)
            elif p.ndim <= 1 and shape_of is None:
                shape, dtype = p.shape, F16 if self.compression else p.dtype
            values.append(Tensor(shape=shape, dtype=dtype, init="zeros").init_data())
        return self._named_states((f"{prefix}_{p.name}" for p in self._parameters), values)

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        dtype = parameter.dtype.compute
        p, g = as_dtype(parameter, dtype), as_dtype(gradient, dtype)
        t = as_dtype(self.global_step, dtype).reshape(()) + 1.0
        rate = self._learning_rate(learning_rate, t, dtype)
        if self.scale_parameter:
            rate = rate * maximum(root_of_mean_square(p), self.eps[1])
        update = factored(g, self.eps[0], t ** -self.decay_rate, self.exp_avg_sq_row[index], self.exp_avg_sq_col[index],
                          self.exp_avg_sq[index])
        update = update / maximum(root_of_mean_square(update) / self.clip_threshold, 1.0) * rate
        if self.beta1:
            update = as_dtype(self.exp_avg[index], dtype) * self.beta1 + update * (1.0 - self.beta1)
            _write(self.exp_avg[index], update)
        _write(parameter, p - p * (weight_decay * rate) - update)

    def _learning_rate(self, learning_rate: Tensor, t: Tensor, dtype: DType) -> Tensor:
        if not self.relative_step:
            return learning_rate
        least = t * 1e-6 if self.warmup_init else constant(0.01, dtype)
        return minimum(least, 1.0 / sqrt(t))
