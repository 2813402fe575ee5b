"""The base of optimisers: parameters in groups, learning rates and weight decays of each step, loss scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from adjoint.foundation.diagnostics import float_of
from adjoint.ir.op import made
from adjoint.ir.ops import indexing
from adjoint.ir.types import F32, I32, DType
from adjoint.nn.checks import boolean, number
from adjoint.nn.optim.traced_steps import TracedSteps
from adjoint.ops.composite import HyperMap, Map
from adjoint.ops.primitives import effects
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.inspection.training import in_use, optimizer_made, stepped, steps_seen
from adjoint.runtime.process import graph_mode
from adjoint.runtime.process.tracer import emitter, state
from adjoint.runtime.tensor.filled import full
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["Optimizer", "as_dtype", "at_least_zero", "fraction", "require_gradients"]

_KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")


class _Rates(Cell):
    """A learning rate for each step: `rates[step]`; raise RuntimeError after the last rate."""

    def __init__(self, owner: str, rates: Sequence[float], name: str):
        super().__init__(auto_prefix=False)
        self._owner = owner
        self.learning_rate = Parameter(Tensor(list(rates), F32), name=name)

    def construct(self, step: Tensor) -> Tensor:
        checked_on_host(RangeCheck(Range(-(2**63), self.learning_rate.size - 1), self._check), step)
        return apply(made(indexing.Gather, 0), self.learning_rate, step)

    def _check(self, step: Tensor, _: Range) -> None:
        at, count = step.item(), self.learning_rate.size
        if at >= count:
            raise RuntimeError(f"For '{self._owner}', 'learning_rate' holds {count} rates, one for each step, "
                               f"but this is step {at + 1}.")


class _Group:
    """Parameters that share a learning rate and a weight decay.

    learning_rate  a 0-d Parameter, or a Cell or function called with the number of steps taken
    weight_decay   a number, or a Cell called with the number of steps taken
    filtered       whether parameters with beta or gamma in their names do not decay
    centralized    whether means are taken from the gradients
    """

    def __init__(
        self, parameters: Sequence[Parameter], learning_rate: Any, weight_decay: float | Cell, filtered: bool, centralized: bool = False,
    ):
        self.parameters, self.learning_rate, self.weight_decay = tuple(parameters), learning_rate, weight_decay
        self.filtered, self.centralized = filtered, centralized

    def spares(self, parameter: Parameter) -> bool:
        return self.filtered and ("beta" in parameter.name or "gamma" in parameter.name)


class Optimizer(Cell):
    """Base class of optimisers: parameters, learning rate, weight decay, loss scale.

    learning_rate  a number or 0-d Tensor, kept in the Parameter `learning_rate`, which may be assigned at any time; a list or 1-d
                   Tensor with one for each step; or a Cell called with the number of steps taken, int32[1]
    params         any iterable of Parameters, or of dicts {"params": ..., "lr": ..., "weight_decay": ..., "grad_centralization": ...};
                   a dict {"order_params": ...} says in which order `parameters`, hence the gradients, stand.  "grad_centralization",
                   a bool, says whether `gradients_centralization` takes means from the gradients of the group
    weight_decay   weight_decay * parameter is added to the gradient: a number, or a Cell called with the number of steps taken; of
                   parameters given without groups those whose names hold beta or gamma are left out, in groups all decay
    loss_scale     gradients are divided by it

    Called with a tuple of gradients in the order of `parameters`, each brought to the dtype of its parameter; return a tuple with True for
    each, as MindSpore does; raise ValueError for another
    number or shape, and for integers.
    """

    _whole: TracedSteps | None = None
    """Fast path of calls in eager mode."""
    _decays_in_gradient: ClassVar[bool] = True
    """Whether the weight decay is a part of the gradient from which means are taken, or the step adds it to the direction by itself."""

    def __init__(self, learning_rate: Any, parameters: Iterable[Any], weight_decay: float | Cell = 0.0, loss_scale: float = 1.0):
        super().__init__(auto_prefix=False)
        self._whole = TracedSteps()
        name = type(self).__name__
        if isinstance(parameters, (Tensor, str, dict)) or not isinstance(parameters, Iterable):
            raise TypeError(f"For '{name}', the argument 'params' must be an iterable of Parameters or dicts, but got {parameters!r} "
                            f"of type {type(parameters).__name__}.")
        decay = _weight_decay(name, weight_decay)
        self.loss_scale = number(self, "loss_scale", loss_scale)
        if not 0 < loss_scale < math.inf:
            raise ValueError(f"For '{name}', the argument 'loss_scale' must be greater than 0, but got {loss_scale}.")
        items = list(parameters)
        if not items:
            raise ValueError(f"For '{name}', the argument 'params' must not be empty.")
        self.global_step = Parameter(Tensor([0], I32), name="global_step")
        in_use(self, "global_step")
        optimizer_made(self)
        grouped = isinstance(items[0], dict)
        self.is_group = grouped
        if grouped:
            self._groups, order = self._grouped(items, learning_rate, decay)
        else:
            self._groups, order = [_Group(_checked(name, items), self._rate(learning_rate, "learning_rate"), decay, filtered=True)], None
        listed = ParameterTuple([p for group in self._groups for p in group.parameters])
        if len({id(p) for p in listed}) != len(listed):
            raise ValueError(f"For '{name}', a Parameter is in 'params' twice.")
        if order is not None:
            listed = self._ordered(listed, order)
        of = {id(p): group for group in self._groups for p in group.parameters}
        self._group_of = [of[id(p)] for p in listed]
        self.__dict__["parameters"] = self.__dict__["_parameters"] = listed
        self._params.update({p.name: p for p in listed})
        self._names_updated = frozenset(p.name for p in listed)
        decays = tuple(group.weight_decay if isinstance(group.weight_decay, Cell) else Tensor(group.weight_decay, F32)
                       for group in self._group_of)
        self.weight_decay = decays if grouped else decays[0]
        self.is_group_lr = grouped and any("lr" in item for item in items)
        self.dynamic_lr = any(not isinstance(group.learning_rate, Parameter) for group in self._groups)
        self.dynamic_weight_decay = any(isinstance(group.weight_decay, Cell) for group in self._groups)
        # used by a subclass's `construct`, written as MindSpore's
        self.hyper_map, self.map_, self.assignadd = HyperMap(), Map(), effects.AssignAdd()
        self.hyper_map_reverse, self.map_reverse = HyperMap(None, True), Map(None, True)
        self.global_step_increase_tensor = Tensor([1], I32)
        self.decay_flags = tuple(not (group.spares(p) or (grouped and group.weight_decay == 0))
                                 for p, group in zip(listed, self._group_of, strict=True))
        self.exec_weight_decay = any(isinstance(group.weight_decay, Cell) or group.weight_decay > 0 for group in self._groups)
        self.need_scale, self.reciprocal_scale = self.loss_scale != 1.0, Tensor(1.0 / self.loss_scale, F32)
        self.param_length, self.is_group_params_ordered = len(listed), order is not None
        # Every process updates every parameter.
        self.use_parallel, self.optim_filter = False, (True,) * len(listed)
        self._target = "CPU"

    def _cell_assign(self, name: str, value: Any) -> None:
        """Set an attribute; one of the optimizer's own beside a Parameter of that name which it updates, as `eps`, does not touch it."""
        if name in self.__dict__.get("_names_updated", ()) and not isinstance(value, (Parameter, ParameterTuple, Cell)):
            object.__setattr__(self, name, value)
        else:
            super()._cell_assign(name, value)

    def _grouped(self, items: Sequence[Any], learning_rate: Any, decay: float | Cell) -> tuple[list[_Group], list[Any] | None]:
        name = type(self).__name__
        groups: list[_Group] = []
        order: list[Any] | None = None
        common: Any = None
        for i, item in enumerate(items):
            if not isinstance(item, dict):
                raise TypeError(f"For '{name}', the argument 'params' must hold Parameters or dicts, not both, "
                                f"but got {item!r} among dicts.")
            unknown = set(item) - set(_KEYS)
            if unknown:
                raise KeyError(f"For '{name}', the keys of a parameter group must be among {list(_KEYS)}, "
                               f"but got {sorted(map(str, unknown))}.")
            if "order_params" in item:
                order = list(_checked(name, list(item["order_params"])))
                if "params" not in item:
                    continue
            if "params" not in item:
                raise KeyError(f"For '{name}', a parameter group must have the key 'params', but got the keys {sorted(item)}.")
            held = _checked(name, list(item["params"]) if isinstance(item["params"], Iterable) else [item["params"]])
            if not held:
                raise ValueError(f"For '{name}', the 'params' of a parameter group must not be empty.")
            if "lr" in item:
                rate = self._rate(item["lr"], f"learning_rate_group_{i}")
            else:
                rate = common = common if common is not None else self._rate(learning_rate, "learning_rate")
            share = _weight_decay(name, item.get("weight_decay", decay))
            if isinstance(share, Cell) and share is not decay:
                setattr(self, f"weight_decay_group_{i}", share)
            centralized = boolean(name, "grad_centralization", item.get("grad_centralization", False))
            groups.append(_Group(held, rate, share, filtered=False, centralized=centralized))
        if not groups:
            raise ValueError(f"For '{name}', the argument 'params' must not be empty.")
        return groups, order

    def _ordered(self, listed: ParameterTuple, order: Sequence[Parameter]) -> ParameterTuple:
        if {id(p) for p in listed} != {id(p) for p in order} or len(order) != len(listed):
            raise ValueError(f"For '{type(self).__name__}', 'order_params' must hold the parameters of all groups, each once, but it holds "
                             f"{[p.name for p in order]}, the groups {[p.name for p in listed]}.")
        return ParameterTuple(order)

    def _rate(self, rate: Any, name: str) -> Any:
        """Return a learning rate as a 0-d Parameter, or as something to call with the number of steps taken."""
        owner = type(self).__name__
        if isinstance(rate, (bool, str, bytes, type)):
            raise TypeError(f"For '{owner}', the argument 'learning_rate' must be a number, a Tensor, a list or a Cell, but got {rate!r} "
                            f"of type {type(rate).__name__}.")
        made: Any = rate
        if isinstance(rate, (int, float)):
            made = Parameter(Tensor(_not_negative(owner, rate), F32), name=name)
        elif isinstance(rate, Tensor) and rate.ndim == 0:
            made = Parameter(Tensor(_not_negative(owner, rate.item()), F32), name=name)
        elif isinstance(rate, Tensor) and rate.ndim > 1:
            raise ValueError(f"For '{owner}', the argument 'learning_rate' must be a Tensor of 0 dimensions, or of 1 with a rate for each "
                             f"step, but got shape {rate.shape}.")
        elif isinstance(rate, Iterable) and not isinstance(rate, Cell):
            rates = [_not_negative(owner, v) for v in (rate.tolist() if isinstance(rate, Tensor) else rate)]
            if not rates:
                raise ValueError(f"For '{owner}', the argument 'learning_rate' must hold a rate for each step, but it is empty.")
            made = _Rates(owner, rates, name)
        elif not callable(rate):
            raise TypeError(f"For '{owner}', the argument 'learning_rate' must be a number, a Tensor, a list or a Cell, but got {rate!r} "
                            f"of type {type(rate).__name__}.")
        setattr(self, name, made)
        return made

    @property
    def target(self) -> str:
        """Return where parameters are updated: "CPU"."""
        return self._target

    @target.setter
    def target(self, value: str) -> None:
        raise NotImplementedError(f"For '{type(self).__name__}', the property 'target' cannot be set: parameters are updated on the CPU.")

    def _set_base_target(self, value: str) -> None:
        """Check a subclass's `target`: raise TypeError if it is not a str, ValueError for another processor than the "CPU"."""
        if not isinstance(value, str):
            raise TypeError(f"For 'Optimizer', the property 'target' must be a str, but got {value!r} of type {type(value).__name__}.")
        if value != "CPU":
            raise ValueError(f"For 'Optimizer', the property 'target' must be 'CPU', but got {value!r}.")
        self._target = value

    @property
    def unique(self) -> bool:
        """Whether equal indices of sparse gradients are merged; gradients are never sparse here."""
        return True

    def _grad_sparse_indices_deduplicate(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the gradients unchanged: none is sparse."""
        return gradients

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        """Return whether the learning rate or the weight decay depends on `global_step`."""
        return self.dynamic_lr or self.dynamic_weight_decay

    def broadcast_params(self, optim_result: Any) -> Any:
        """Return the result unchanged: every process updates every parameter, so that nothing has to be sent."""
        return optim_result

    def get_lr(self) -> Any:
        """Return the learning rate of the coming step; if groups have rates of their own, a tuple with that of each parameter.

        If the learning rate or the weight decay depends on the step, a subclass with its own `construct` counts the step here, as in
        MindSpore.
        """
        rates = self._rates()
        if type(self).construct is not Optimizer.construct and self._is_dynamic_lr_or_weight_decay():
            self.assignadd(self.global_step, self.global_step_increase_tensor)
        return rates

    def _rates(self) -> Any:
        rates = [self._at_this_step(group.learning_rate, F32) for group in self._groups]
        if all(group.learning_rate is self._groups[0].learning_rate for group in self._groups):
            return rates[0]
        return tuple(rates[self._groups.index(group)] for group in self._group_of)

    def get_lr_parameter(self, param: Parameter | list[Parameter]) -> Any:
        """Return the learning rate of a parameter as it is stored: a Parameter, or what is called for each step; a list for a list."""
        if isinstance(param, list):
            return [self.get_lr_parameter(item) for item in param]
        if not isinstance(param, Parameter):
            raise TypeError(f"For 'get_lr_parameter', the argument 'param' must be a Parameter or a list of Parameters, "
                            f"but got {param!r} of type {type(param).__name__}.")
        for held, group in zip(self._parameters, self._group_of, strict=True):
            if held is param:
                rate = group.learning_rate
                return rate.learning_rate if isinstance(rate, _Rates) else rate
        raise ValueError(f"For 'get_lr_parameter', the argument 'param' must be a Parameter of the optimizer, but got {param!r}.")

    def get_weight_decay(self) -> Any:
        """Return the weight decay of the coming step; with groups a tuple with that of each parameter."""
        if not self.is_group:
            return self._at_this_step(self._groups[0].weight_decay, F32)
        return tuple(self._at_this_step(group.weight_decay, F32) for group in self._group_of)

    def _at_this_step(self, setting: Any, dtype: DType) -> Tensor:
        """Return a learning rate or weight decay of the coming step, as a 0-d tensor."""
        if isinstance(setting, (int, float)):
            return constant(float(setting), dtype)
        if not isinstance(setting, Parameter):
            setting = setting(self.global_step)
            if not isinstance(setting, Tensor):
                return constant(float(setting), dtype)
        found = as_dtype(setting, dtype)
        return found if found.ndim == 0 else found.reshape(())

    def flatten_gradients(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the gradients unchanged: parameters are not kept in contiguous memory."""
        return gradients

    def decay_weight(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the gradients with the weight decay added, before `scale_grad` divides them: weight_decay * loss_scale * parameter."""
        return tuple(
            gradient if group.spares(parameter) or group.weight_decay == 0
            else gradient + parameter * (self._at_this_step(group.weight_decay, parameter.dtype) * self.loss_scale)
            for parameter, gradient, group in zip(self._parameters, gradients, self._group_of, strict=True))

    def gradients_centralization(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the gradients, minus their means in groups with "grad_centralization" (Yong et al. 2020).

        The mean is that of each row, over all axes but the first.  As in MindSpore, a gradient of fewer than two axes stays as it is, and
        so does one whose second axis is no multiple of 16 long.
        """
        return tuple(_centralized(gradient) if group.centralized else gradient
                     for gradient, group in zip(gradients, self._group_of, strict=True))

    def scale_grad(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the gradients divided by the loss scale."""
        return tuple(gradients) if self.loss_scale == 1.0 else tuple(gradient * (1.0 / self.loss_scale) for gradient in gradients)

    def states(self, prefix: str, first: float = 0.0) -> ParameterTuple:
        """Return one state tensor per parameter, filled with `first`, named `prefix.parameter`."""
        made = ParameterTuple([Parameter(full(constant(first, p.dtype), p.type), name=f"{prefix}.{p.name}") for p in self._parameters])
        self._params.update({p.name: p for p in made})
        return made

    def scalar(self, name: str, value: float) -> Parameter:
        """Return a 0-d Parameter of the optimiser's own."""
        made = Parameter(Tensor(value, F32), name=name)
        setattr(self, name, made)
        return made

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._cell_direct and state.tracer is None and not (graph_mode.mode and not state.eager):
            in_use(self, "global_step")
            if len(args) == 1 and not kwargs and self._whole is not None and self._whole.take(self, args[0]):
                stepped(self)
                return (True,) * len(self._parameters)
            call: Any = self.construct
        else:
            call = super().__call__
        seen = steps_seen()
        found = call(*args, **kwargs)
        if steps_seen() == seen and emitter() is None:  # a subclass's `construct` that does not call the one below
            stepped(self)
        return found

    def construct(self, gradients: Any) -> tuple[bool, ...]:
        in_use(self, "global_step")
        gradients = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
        self._check(gradients)
        self._update(gradients, self._settings())
        stepped(self)
        return (True,) * len(self._parameters)

    def _update(self, gradients: Sequence[Tensor], settings: Mapping[tuple[_Group, DType], tuple[Tensor, Tensor]]) -> None:
        """Take a step with these learning rates and weight decays."""
        self.begin()
        for index, (gradient, (parameter, rate, decay)) in enumerate(zip(gradients, self._of_parameters(settings), strict=True)):
            gradient = as_dtype(gradient, parameter.dtype)
            if self._group_of[index].centralized and _has_rows(gradient):
                if self._decays_in_gradient:
                    gradient = gradient + parameter * as_dtype(decay * self.loss_scale, parameter.dtype)
                    decay = constant(0.0, decay.dtype)
                gradient = _centralized(gradient)
            self.step(index, parameter, gradient, rate, decay)
        self.global_step.overwrite(self.global_step + 1)

    def _settings_keys(self) -> list[tuple[_Group, DType]]:
        """Return the groups with the dtypes that their parameters are computed in."""
        return list(dict.fromkeys([(group, p.dtype.compute) for p, group in zip(self._parameters, self._group_of, strict=True)]))

    def _settings(self) -> dict[tuple[_Group, DType], tuple[Tensor, Tensor]]:
        """Return the learning rate and weight decay of the coming step for each of `_settings_keys`, as 0-d tensors of the dtype."""
        return {(group, dtype): (self._at_this_step(group.learning_rate, dtype), self._at_this_step(group.weight_decay, dtype))
                for group, dtype in self._settings_keys()}

    def _computes_settings(self) -> bool:
        """Return True if a learning rate or weight decay is computed for each step."""
        return any(not isinstance(group.learning_rate, Parameter) or isinstance(group.weight_decay, Cell) for group in self._groups)

    def _chosen_by_name(self) -> list[Parameter]:
        """Return the parameters whose names say whether they decay."""
        return [p for p, group in zip(self._parameters, self._group_of, strict=True) if group.filtered and group.weight_decay != 0]

    def _of_parameters(
        self, settings: Mapping[tuple[_Group, DType], tuple[Tensor, Tensor]]
    ) -> Iterator[tuple[Parameter, Tensor, Tensor]]:
        """Yield each parameter with its learning rate and weight decay, in the dtype that it is computed in."""
        for parameter, group in zip(self._parameters, self._group_of, strict=True):
            dtype = parameter.dtype.compute
            rate, decay = settings[group, dtype]
            yield parameter, rate, constant(0.0, dtype) if group.spares(parameter) else decay

    def hand_over(self) -> None:
        """Leave weight decay and loss scale to the optimiser that wraps this one: the gradients that it passes on account for both.

        `dynamic_weight_decay` stays: this optimiser still counts the steps.
        """
        without = {group: _Group(group.parameters, group.learning_rate, 0.0, group.filtered, group.centralized) for group in self._groups}
        self._groups, self._group_of = list(without.values()), [without[group] for group in self._group_of]
        self.decay_flags = (False,) * len(self._parameters)
        self.exec_weight_decay = self.need_scale = False
        self.loss_scale, self.reciprocal_scale = 1.0, Tensor(1.0, F32)

    def _check(self, gradients: Sequence[Any]) -> None:
        require_gradients(type(self).__name__, self._parameters, gradients)

    def begin(self) -> None:
        """Prepare a step; called once, before the parameters are updated."""

    def step(self, index: int, parameter: Parameter, gradient: Tensor, learning_rate: Tensor, weight_decay: Tensor) -> None:
        """Update one parameter with gradient / loss_scale + weight_decay * parameter; defined by the subclass.

        learning_rate, weight_decay  0-d, of the dtype that the parameter is computed in: its own, Float32 for half precision
        """
        raise NotImplementedError(f"For '{type(self).__name__}', the method 'step' is not defined.")

    def _scale(self, dtype: DType) -> Tensor:
        """Return the factor that undoes the loss scale, the last operand of each step."""
        return constant(1.0 / self.loss_scale, dtype)


def _is_number(rate: Any) -> bool:
    """Return whether a value is a single number: of Python or NumPy, or an array or Tensor without dimensions."""
    return hasattr(rate, "__float__") and not getattr(rate, "ndim", 0)


def _not_negative(name: str, rate: Any) -> float:
    if isinstance(rate, (bool, str)) or not _is_number(rate):
        raise TypeError(f"For '{name}', a learning rate must be a number, but got {rate!r} of type {type(rate).__name__}.")
    value = float_of(name, "learning_rate", rate)
    if not 0 <= value < math.inf:
        raise ValueError(f"For '{name}', the argument 'learning_rate' must be a number >= 0, but got {rate}.")
    return value


def _weight_decay(name: str, decay: Any) -> float | Cell:
    if isinstance(decay, Cell):
        return decay
    if not 0 <= number(name, "weight_decay", decay) < math.inf:
        raise ValueError(f"For '{name}', the argument 'weight_decay' must be a number >= 0, but got {decay}.")
    return float(decay)


def _checked(name: str, items: Sequence[Any]) -> Sequence[Parameter]:
    for item in items:
        if not isinstance(item, Parameter):
            raise TypeError(f"For '{name}', the argument 'params' must hold Parameters, but got {item!r} of type {type(item).__name__}.")
        if not item.dtype.is_float:
            raise TypeError(f"For '{name}', the argument 'params' must hold Parameters of floating dtype, "
                            f"but {item.name!r} is {item.dtype}.")
    return items


def _has_rows(gradient: Tensor) -> bool:
    """Return whether means are taken from a gradient: from one of two axes or more, whose second is a multiple of 16 long."""
    return gradient.ndim > 1 and gradient.shape[1] % 16 == 0


def _centralized(gradient: Tensor) -> Tensor:
    """Return a gradient minus the mean of each of its rows, if it has rows."""
    return gradient - gradient.mean(tuple(range(1, gradient.ndim)), True) if _has_rows(gradient) else gradient


def fraction(name: str, argument: str, value: Any) -> float:
    """Check a number strictly between 0 and 1; raise ValueError."""
    if not 0.0 < number(name, argument, value) < 1.0:
        raise ValueError(f"For '{name}', the argument '{argument}' must be in (0.0, 1.0), but got {value}.")
    return float(value)


def at_least_zero(name: str, argument: str, value: Any) -> float:
    """Check a finite number that is not negative; raise ValueError."""
    if not 0.0 <= number(name, argument, value) < math.inf:
        raise ValueError(f"For '{name}', the argument '{argument}' must be at least 0.0, but got {value}.")
    return float(value)


def require_gradients(name: str, parameters: Sequence[Parameter], gradients: Sequence[Any]) -> None:
    """Raise ValueError or TypeError unless there is a gradient for each parameter.

    name  the optimiser, for the message
    """
    if len(gradients) != len(parameters):
        raise ValueError(f"For '{name}', there must be one gradient for each of the {len(parameters)} parameters, "
                         f"but got {len(gradients)}.")
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if not isinstance(gradient, Tensor):
            raise TypeError(f"For '{name}', the gradient of {parameter.name!r} must be a Tensor, "
                            f"but got {gradient!r} of type {type(gradient).__name__}.")
        if gradient.shape != parameter.shape or not gradient.dtype.is_float:
            raise ValueError(f"For '{name}', the gradient of {parameter.name!r} must have shape {parameter.shape} "
                             f"and a floating dtype, but got {gradient.shape} and {gradient.dtype}.")


def as_dtype(value: Tensor, dtype: DType) -> Tensor:
    """Return the tensor in a dtype; itself if it has it."""
    return value if value.dtype is dtype else value.astype(dtype)
