"""The base class of optimisers with groups of parameters, and what all optimisers of this package do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from adjoint.ir.types import F32, I32, DType
from adjoint.nn.checks import least
from adjoint.nn.optim.optimizer import require_gradients
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.inspection.training import in_use, optimizer_made, stepped
from adjoint.runtime.tensor.filled import full
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["Optimizer", "Stepwise", "betas_of"]


class Optimizer(Cell):
    """Base class: groups of parameters, each with its own settings.

    params    Parameters, or dicts with the key "params" and settings of the group
    defaults  the settings of groups that do not give them

    A subclass has a `construct(gradients)`, which is called with the gradients in the order of `parameters`:

    param_groups    the groups: dicts with "params", all settings, "lr" (a Parameter, which a schedule changes) and "weight_decay"
    parameters      the parameters of all groups, a ParameterTuple
    group_start_id  for each group the position of its first parameter in `parameters`; at the end the number of all
    lrs             the learning rates of the groups

    TypeError and ValueError for parameters and settings that are none; ValueError for a parameter in two groups.
    """

    STATES: ClassVar[Mapping[str, float]] = {}
    """What a subclass keeps for each parameter: names of attributes, each a ParameterTuple, with the number that fills them at first."""
    GROUP_STATES: ClassVar[Mapping[str, float]] = {}
    """What it keeps for each group, 0-d Parameters in a list: names of attributes, with the first numbers."""

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]):
        super().__init__(auto_prefix=False)
        own = self.__dict__
        own["defaults"], own["state"] = dict(defaults), defaultdict(dict)
        own["param_groups"], own["lrs"], own["group_start_id"] = [], [], [0]
        own["parameters"] = ParameterTuple([])
        own.update({name: ParameterTuple([]) for name in self.STATES} | {name: [] for name in self.GROUP_STATES})
        items = _items(params)
        for group in items if isinstance(items[0], dict) else [{"params": items}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, and what is kept for each of them."""
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(f"For 'Optimizer', a group of parameters must be a dict with the key 'params', but got {param_group!r}.")
        group = {**self.defaults, **param_group}
        given = group["params"]
        if isinstance(given, set):
            raise TypeError("For 'Optimizer', the parameters of a group must have an order, but got a set.")
        group["params"] = held = [given] if isinstance(given, Parameter) else _items(given)
        for parameter in held:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"For 'Optimizer', the argument 'params' must hold Parameters, but got {parameter!r} of type "
                                f"{type(parameter).__name__}.")
        if len({id(parameter) for parameter in (*self.parameters, *held)}) != len(self.parameters) + len(held):
            raise ValueError("For 'Optimizer', a Parameter is in 'params' twice: some parameters appear in more than one parameter group.")
        name = f"learning_rate_group_{len(self.param_groups)}"
        group["lr"] = rate = _rate(group.get("lr"), name)
        group["weight_decay"] = least("Optimizer", "weight_decay", group.get("weight_decay", 0.0), 0.0)
        own = self.__dict__
        self._params[name] = rate
        self._params.update({parameter.name: parameter for parameter in held})
        own["parameters"] = ParameterTuple([*self.parameters, *held])
        for prefix, first in self.first_values(group).items():
            made = [Parameter(full(constant(first, p.dtype), p.type), name=f"{prefix}.{p.name}") for p in held]
            self._params.update({parameter.name: parameter for parameter in made})
            own[prefix] = ParameterTuple([*own[prefix], *made])
        for prefix, first in self.GROUP_STATES.items():
            name = f"{prefix}_group_{len(self.param_groups)}"
            self._params[name] = made = Parameter(Tensor(first, F32), name=name)
            own[prefix].append(made)
        self.lrs.append(rate)
        self.param_groups.append(group)
        self.group_start_id.append(len(self.parameters))

    def first_values(self, group: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the numbers that fill what is kept for the parameters of a group at first, by name."""
        return self.STATES

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            for key in sorted(group):
                if key != "params":
                    shown = group[key].value() if key == "lr" and isinstance(group[key], Parameter) else group[key]
                    lines.append(f"    {key}: {shown}")
        return "\n".join([*lines, ")"])

    def construct(self, gradients: Any) -> Any:
        raise NotImplementedError(f"For '{type(self).__name__}', the method 'construct' must be defined: it takes the gradients.")


class Stepwise(Optimizer):
    """An optimiser whose steps treat each parameter by itself: a subclass defines `settings` and `update`.

    Gradients are negated in groups with "maximize"; "weight_decay" times the parameter is added, unless `decays_by_itself`.
    """

    decays_by_itself: ClassVar[bool] = False

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]):
        super().__init__(params, defaults)
        self.step_t = Parameter(Tensor(0, I32), name="step_t")
        in_use(self, "step_t")
        optimizer_made(self)

    def construct(self, gradients: Any) -> bool:
        gradients = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
        require_gradients(type(self).__name__, self.parameters, gradients)
        in_use(self, "step_t")
        self.step_t.overwrite(self.step_t + 1)
        for number, group in enumerate(self.param_groups):
            rate = group["lr"] if isinstance(group["lr"], Tensor) else constant(float(group["lr"]), F32)
            begin, end = self.group_start_id[number], self.group_start_id[number + 1]
            dtypes = dict.fromkeys(parameter.dtype.compute for parameter in self.parameters[begin:end])
            settings = {dtype: self.settings(number, rate.astype(dtype, copy=False), self.step_t.astype(dtype, copy=False))
                        for dtype in dtypes}
            for index in range(begin, end):
                self._step(group, index, gradients[index], settings)
        stepped(self)
        return True

    def _step(self, group: Mapping[str, Any], index: int, gradient: Tensor, settings: Mapping[DType, Sequence[Any]]) -> None:
        parameter = self.parameters[index]
        dtype = parameter.dtype.compute
        kept = [getattr(self, name)[index] for name in self.STATES]
        old, states = parameter.astype(dtype, copy=False), [state.astype(dtype, copy=False) for state in kept]
        new = gradient.astype(dtype, copy=False)
        new = -new if group.get("maximize") else new
        if group["weight_decay"] and not self.decays_by_itself:
            new = new + old * group["weight_decay"]
        results = self.update(old, new, *states, *settings[dtype])
        for target, value in zip((parameter, *kept), results, strict=True):
            target.overwrite(value.astype(target.dtype, copy=False))

    def settings(self, number: int, rate: Tensor, step: Tensor) -> Sequence[Any]:
        """Return what `update` takes behind the states, for all parameters of a group.

        number      which group
        rate, step  the learning rate and the number of the step, from 1, as 0-d tensors of the dtype that is computed in
        """
        raise NotImplementedError

    @staticmethod
    def update(parameter: Tensor, gradient: Tensor, *others: Any) -> Sequence[Tensor]:
        """Return the new values of a parameter and of its states.

        others  its states, in the order of `STATES`, and the settings
        """
        raise NotImplementedError


def betas_of(name: str, betas: Any) -> tuple[float, float]:
    """Return two decay rates of moments as floats; TypeError unless there are two numbers, ValueError unless they are in [0, 1)."""
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise TypeError(f"For '{name}', the argument 'betas' must be a tuple of two numbers, but got {betas!r}.")
    first, second = (least(name, "betas", beta, 0.0) for beta in betas)
    if max(first, second) >= 1.0:
        raise ValueError(f"For '{name}', the argument 'betas' must be in [0, 1), but got {betas!r}.")
    return first, second


def _items(params: Any) -> list[Any]:
    if params is None or isinstance(params, (Tensor, str, dict)) or not isinstance(params, Iterable):
        kind: type[Exception] = ValueError if params is None else TypeError
        raise kind(f"For 'Optimizer', the argument 'params' must be an iterable of Parameters or dicts, but got {params!r} of type "
                   f"{type(params).__name__}.")
    items = list(params)
    if not items:
        raise ValueError("For 'Optimizer', the argument 'params' must not be empty.")
    return items


def _rate(rate: Any, name: str) -> Parameter:
    """Return a learning rate, a number or a 0-d Tensor, as a Parameter."""
    if isinstance(rate, Tensor):
        if rate.ndim:
            raise ValueError(f"For 'Optimizer', the argument 'lr' must be a number or a Tensor of 0 dimensions, but got shape "
                             f"{rate.shape}.")
        rate = rate.item()
    return Parameter(Tensor(least("Optimizer", "lr", rate, 0.0), F32), name=name)
