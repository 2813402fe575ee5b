"""Optimisers: each step is one fused kernel a parameter, written in place where nobody else can see the memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adjoint.ir.op import Op
from adjoint.ir.ops.optimizers import AdamUpdate, MomentumUpdate, SgdMomentumUpdate, SgdUpdate
from adjoint.ir.types import I32, DType
from adjoint.nn.checks import boolean, number
from adjoint.runtime.cell import Cell
from adjoint.runtime.initializer import initializer
from adjoint.runtime.parameter import Parameter, ParameterTuple
from adjoint.runtime.program import zeros
from adjoint.runtime.tensor import Tensor, constant, update

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]


class _Group:
    """Parameters that share a learning rate and a weight decay."""

    def __init__(self, parameters: Sequence[Parameter], learning_rate: Any, weight_decay: float):
        self.parameters, self.learning_rate, self.weight_decay = tuple(parameters), learning_rate, weight_decay


class Optimizer(Cell):
    """The base: parameters, learning rate, weight decay, loss scale.

    learning_rate  a number or 0-d Tensor; a list or 1-d Tensor with one for each step; or a Cell called with the step
    params         any iterable of Parameters, or of dicts {"params": ..., "lr": ..., "weight_decay": ...}
    weight_decay   weight_decay * parameter is added to gradients of parameters whose names hold neither beta nor gamma
    loss_scale     gradients are divided by it

    Called with a tuple of gradients in the order of `parameters`; ValueError for another number or shape.
    """

    def __init__(self, learning_rate: Any, parameters: Iterable[Any], weight_decay: float = 0.0, loss_scale: float = 1.0):
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        if isinstance(parameters, (Tensor, str)) or not isinstance(parameters, Iterable):
            raise TypeError(f"For '{name}', the argument 'params' must be an iterable of Parameters or dicts, but got {parameters!r} "
                            f"of type {type(parameters).__name__}.")
        decay = number(self, "weight_decay", weight_decay)
        if decay < 0:
            raise ValueError(f"For '{name}', the argument 'weight_decay' must not be negative, but got {weight_decay}.")
        self.loss_scale = number(self, "loss_scale", loss_scale)
        if loss_scale <= 0:
            raise ValueError(f"For '{name}', the argument 'loss_scale' must be greater than 0, but got {loss_scale}.")
        items = list(parameters)
        if not items:
            raise ValueError(f"For '{name}', the argument 'params' must not be empty.")
        rate = _rate(name, learning_rate)
        self._groups = [self._group(item, rate, decay) for item in items] if isinstance(items[0], dict) else [_Group(_checked(name, items), rate, decay)]
        listed = ParameterTuple([p for group in self._groups for p in group.parameters])
        if len({id(p) for p in listed}) != len(listed):
            raise ValueError(f"For '{name}', a Parameter stands in 'params' twice.")
        self.__dict__["parameters"] = self.__dict__["_parameters"] = listed
        self.learning_rate = rate
        self.weight_decay = decay
        self.__dict__["global_step"] = Parameter(Tensor([0], I32), name="global_step", requires_grad=False)
        self._step = 0

    def _group(self, item: Any, rate: Any, decay: float) -> _Group:
        name = type(self).__name__
        if not isinstance(item, dict) or "params" not in item:
            raise TypeError(f"For '{name}', parameter groups must be dicts with the key 'params', but got {item!r}.")
        unknown = set(item) - {"params", "lr", "weight_decay", "grad_centralization"}
        if unknown:
            raise KeyError(f"For '{name}', a parameter group has the keys 'params', 'lr' and 'weight_decay', but got {sorted(unknown)}.")
        return _Group(_checked(name, list(item["params"])), _rate(name, item["lr"]) if "lr" in item else rate,
                      float(item.get("weight_decay", decay)))

    def get_lr(self) -> Tensor:
        """The learning rate of the coming step."""
        return self._lr(self._groups[0], self._groups[0].parameters[0].dtype)

    def _lr(self, group: _Group, dtype: DType) -> Tensor:
        rate = group.learning_rate
        if isinstance(rate, float):
            return constant(rate, dtype)
        if isinstance(rate, Tensor):
            return rate if rate.dtype is dtype else rate.astype(dtype)
        if isinstance(rate, list):
            return constant(rate[min(self._step, len(rate) - 1)], dtype)
        made = rate(self.global_step)
        return (made if isinstance(made, Tensor) else constant(float(made), dtype)).astype(dtype, copy=False).reshape(())

    def states(self, prefix: str, init: str = "zeros") -> ParameterTuple:
        """One state tensor a parameter, named `prefix.parameter`."""
        return ParameterTuple([
            Parameter(initializer(init, p.shape, p.dtype), name=f"{prefix}.{p.name}", requires_grad=False) for p in self._parameters])

    def construct(self, gradients: Any) -> bool:
        gradients = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
        self._check(gradients)
        index = 0
        for group in self._groups:
            for parameter in group.parameters:
                decays = group.weight_decay and not ("beta" in parameter.name or "gamma" in parameter.name)
                self.step(index, parameter, gradients[index], self._lr(group, parameter.dtype), group.weight_decay if decays else 0.0)
                index += 1
        self._step += 1
        self.global_step.overwrite(Tensor([self._step], I32))
        return True

    def _check(self, gradients: tuple[Any, ...]) -> None:
        name = type(self).__name__
        if len(gradients) != len(self._parameters):
            raise ValueError(f"For '{name}', there must be one gradient for each of the {len(self._parameters)} parameters, but got {len(gradients)}.")
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            if not isinstance(gradient, Tensor):
                raise TypeError(f"For '{name}', the gradient of {parameter.name!r} must be a Tensor, but got {gradient!r} of type {type(gradient).__name__}.")
            if gradient.type is not parameter.type:
                raise ValueError(f"For '{name}', the gradient of {parameter.name!r} must have shape {parameter.shape} and dtype {parameter.dtype}, "
                                 f"but got {gradient.shape} and {gradient.dtype}.")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: float) -> None:
        """Update one parameter; to be written by the subclass."""
        raise NotImplementedError(type(self).__name__)

    def _scale(self) -> float:
        return 1.0 / self.loss_scale


def _rate(name: str, rate: Any) -> Any:
    """A learning rate in one of the forms that `_lr` knows."""
    if isinstance(rate, bool) or isinstance(rate, str):
        raise TypeError(f"For '{name}', the argument 'learning_rate' must be a number, a Tensor, a list or a Cell, but got {rate!r}.")
    if isinstance(rate, (int, float)):
        if not rate >= 0 or not math.isfinite(rate):
            raise ValueError(f"For '{name}', the argument 'learning_rate' must be a number >= 0, but got {rate}.")
        return float(rate)
    if isinstance(rate, Tensor):
        return rate if rate.ndim == 0 else [float(v) for v in rate.asnumpy().ravel()]
    if isinstance(rate, Cell) or callable(rate):
        return rate
    if isinstance(rate, Iterable):
        values = [float(v) for v in rate]
        if values:
            return values
    raise TypeError(f"For '{name}', the argument 'learning_rate' must be a number, a Tensor, a list or a Cell, but got {rate!r} "
                    f"of type {type(rate).__name__}.")


def _checked(name: str, items: Sequence[Any]) -> Sequence[Parameter]:
    for item in items:
        if not isinstance(item, Parameter):
            raise TypeError(f"For '{name}', the argument 'params' must hold Parameters, but got {item!r} of type {type(item).__name__}.")
    return items


def _fraction(name: str, argument: str, value: Any) -> float:
    if not 0.0 <= number(name, argument, value) < 1.0:
        raise ValueError(f"For '{name}', the argument '{argument}' must be in [0, 1), but got {value}.")
    return float(value)


_updates: dict[tuple[Any, ...], Op] = {}


def _update_op(kind: Callable[..., Op], **attributes: Any) -> Op:
    """The op of a step, made once for its attributes."""
    key = (kind, *attributes.values())
    return _updates.get(key) or _updates.setdefault(key, kind(**attributes))


class Momentum(Optimizer):
    """a = momentum * a + g; p = p - lr * a, or with Nesterov's p - lr * (g + momentum * a) (Sutskever et al. 2013)."""

    def __init__(
        self, params: Iterable[Any], learning_rate: Any, momentum: float, weight_decay: float = 0.0, loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if number(self, "momentum", momentum) < 0.0:
            raise ValueError(f"For 'Momentum', the argument 'momentum' must be at least 0.0, but got {momentum}.")
        self.momentum = float(momentum)
        self.use_nesterov = boolean(self, "use_nesterov", use_nesterov)
        self.__dict__["moments"] = self.states("moments")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: float) -> None:
        op = _update_op(MomentumUpdate, nesterov=self.use_nesterov, weight_decay=weight_decay, scale=self._scale())
        moment = self.moments[index]
        update(op, (parameter, moment), parameter, moment, gradient, learning_rate, constant(self.momentum, parameter.dtype))


class SGD(Optimizer):
    """p = p - lr * g; with momentum a = momentum * a + (1 - dampening) * g, begun with g, in place of g."""

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 0.1, momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0,
        nesterov: bool = False, loss_scale: float = 1.0,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, value in (("momentum", momentum), ("dampening", dampening)):
            if number(self, name, value) < 0.0:
                raise ValueError(f"For 'SGD', the argument '{name}' must be at least 0.0, but got {value}.")
        self.momentum, self.dampening = float(momentum), float(dampening)
        self.nesterov = boolean(self, "nesterov", nesterov)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("For 'SGD', 'nesterov' needs a momentum greater than 0 and a dampening of 0.")
        if self.momentum:
            self.__dict__["accum"], self.__dict__["stat"] = self.states("accum"), self.states("stat", "ones")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: float) -> None:
        if not self.momentum:
            update(_update_op(SgdUpdate, weight_decay=weight_decay, scale=self._scale()), (parameter,), parameter, gradient, learning_rate)
            return
        op = _update_op(SgdMomentumUpdate, dampening=self.dampening, nesterov=self.nesterov, weight_decay=weight_decay, scale=self._scale())
        accumulator, first = self.accum[index], self.stat[index]
        update(op, (parameter, accumulator, first), parameter, accumulator, first, gradient, learning_rate,
               constant(self.momentum, parameter.dtype))


class Adam(Optimizer):
    """Adam (Kingma and Ba 2014): moments of the gradient and of its square, corrected for beginning at zero."""

    def __init__(
        self, params: Iterable[Any], learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: float = 0.0, loss_scale: float = 1.0, use_amsgrad: bool = False,
    ):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2 = _fraction("Adam", "beta1", beta1), _fraction("Adam", "beta2", beta2)
        self.eps = number(self, "eps", eps)
        if eps <= 0:
            raise ValueError(f"For 'Adam', the argument 'eps' must be greater than 0, but got {eps}.")
        self.use_nesterov = boolean(self, "use_nesterov", use_nesterov)
        if boolean(self, "use_amsgrad", use_amsgrad):
            raise ValueError("For 'Adam', 'use_amsgrad' is not supported: Adam without it, or Momentum, is.")
        boolean(self, "use_locking", use_locking)
        self.__dict__["moment1"], self.__dict__["moment2"] = self.states("moment1"), self.states("moment2")

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: float) -> None:
        op = _update_op(AdamUpdate, nesterov=self.use_nesterov, weight_decay=weight_decay, scale=self._scale())
        m, v, dtype, count = self.moment1[index], self.moment2[index], parameter.dtype, self._step + 1
        update(op, (parameter, m, v), parameter, m, v, gradient, learning_rate, constant(self.beta1, dtype), constant(self.beta2, dtype),
               constant(self.eps, dtype), constant(self.beta1**count, dtype), constant(self.beta2**count, dtype))
