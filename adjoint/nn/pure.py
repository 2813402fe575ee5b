"""`functional`: networks and optimisers as functions of their values, which change nothing.

    f, parameters = functional(net)             f(parameters, x) = net(x)
    step, state = functional(optimizer)         parameters, state = step(gradients, state, parameters)

Such functions go under `grad`, `vmap`, `jacrev` and `jit` as any others do: mapped over their parameters they train many networks at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.op import made
from adjoint.ir.ops.shape import Concat, Reshape
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.process.tracer import emitter, not_recording
from adjoint.runtime.tensor.lending import lent
from adjoint.runtime.tensor.parameter import ParameterTuple
from adjoint.runtime.tensor.structure import arranged, leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor, apply, unshared, wrap

__all__ = ["functional"]

Nested = dict[str, Any]
"""Tensors in dicts by the names of attributes: `{"first": {"weight": .., "bias": ..}}`."""


def functional(net: Any, with_state: bool = False) -> tuple[Any, ...]:
    """Return a network as a function of its parameters, or an optimiser as a function of gradients, state and parameters.

    net         a Cell, or an optimiser; or an ensemble, a list or CellList of Cells of one kind
    with_state  True if the function of a network is also one of its state: Parameters that take no gradient, and buffers, such as the
                statistics of batch normalisation.  Otherwise it reads and writes those of `net`
    result      of a network (f, parameters), with its trainable parameters in dicts by the names of attributes, and
                f(parameters, *inputs) = net(*inputs).  With state (f, parameters, state), and f(parameters, state, *inputs) returns the
                result and the new state.
                Of an optimiser (step, state), with its moments, number of steps and learning rates, and step(gradients, state, parameters)
                returns the new parameters and the new state.  Gradients and parameters are of one structure, with as many tensors, in
                order, as the optimiser has parameters.
                Of an ensemble the functions of its first Cell, and the values of all, stacked along a new first axis: `vmap` maps over it

    The functions leave `net` as it is.  The values begin with those of `net`; they are tensors of their own.  Outside of graphs other
    threads see the given values in `net` while a function runs.  Python code that forward hooks run in a graph sees the values of `net`.

    TypeError if `net` is not a Cell, or if a value is not a Tensor or has another dtype; ValueError for a list that is empty or has Cells
    of different kinds, a value that is missing, unknown or of another shape, and gradients in another structure than the parameters;
    RuntimeError for a network that writes a trainable parameter.
    """
    check_flag("functional", "with_state", with_state)
    many = isinstance(net, (list, tuple)) or (isinstance(net, Cell) and net.is_list)
    listed: Any = net if many else [net]
    cells: list[Any] = [*listed]
    if not cells:
        raise ValueError("For 'functional', there must be a Cell in the argument 'net', but it is empty.")
    for cell in cells:
        if not isinstance(cell, Cell):
            raise TypeError(f"For 'functional', the argument 'net' must be a Cell or a list of Cells, but got {cell!r} of type "
                            f"{type(cell).__name__}.")
    forms = [_form(cell, with_state) for cell in cells]
    first = forms[0]
    if not many:
        return first.function, *first.values()
    for number, form in enumerate(forms):
        if type(form.net) is not type(first.net) or form.kinds() != first.kinds():
            raise ValueError(f"For 'functional', all Cells of a list must be of one kind, with the same names, shapes and dtypes of "
                             f"Parameters, but Cell {number}, {type(form.net).__name__}, differs from Cell 0, {type(first.net).__name__}.")
    return first.function, *(_stacked(values) for values in zip(*(form.values() for form in forms), strict=True))


class _Form:
    """A Cell whose tensors are given with each call.

    net    the Cell
    parts  dicts of its tensors by their paths, one for each argument with values
    names  the names of these arguments
    """

    names: Sequence[str]

    def __init__(self, net: Any, parts: Sequence[Mapping[str, Tensor]]):
        self.net, self._parts = net, parts

    def values(self) -> list[Nested]:
        """Return the values of the Cell, in one structure for each part."""
        with not_recording():
            return [_nested({path: wrap(x.type, unshared(x)) for path, x in part.items()}) for part in self._parts]

    def kinds(self) -> list[list[Any]]:
        return [[(path, x.type) for path, x in part.items()] for part in self._parts]

    def given(self, index: int, values: Any) -> list[Tensor]:
        """Return the tensors of an argument in the order of the part; an error if one is missing, unknown, or of another type."""
        name, part = self.names[index], self._parts[index]
        found = _flat(self._owner, name, values)
        wanted = {tuple(path.split(".")): path for path in part}
        if unknown := [path for path in found if path not in wanted]:
            raise ValueError(f"For '{self._owner}', the argument '{name}' must have the tensors {_listed(part)}, but got another one, "
                             f"'{'.'.join(map(str, unknown[0]))}': {_WAY_OUT}.")
        if missing := [path for key, path in wanted.items() if key not in found]:
            raise ValueError(f"For '{self._owner}', the argument '{name}' must have the tensors {_listed(part)}, but '{missing[0]}' is "
                             f"missing: {_WAY_OUT}.")
        return [_checked(self._owner, f"'{path}' of the argument '{name}'", found[key], part[path]) for key, path in wanted.items()]

    @property
    def _owner(self) -> str:
        return f"functional({type(self.net).__name__})"


_WAY_OUT = "give what `functional` returned, or tensors in the same structure"


class _Network(_Form):
    """A network: its parameters, and with them its state if it is wanted."""

    names = ("parameters", "state")

    def __init__(self, net: Cell, with_state: bool):
        parameters = dict(net.parameters_and_names())
        trained = {path: p for path, p in parameters.items() if p.requires_grad}
        others: dict[str, Tensor] = {path: p for path, p in parameters.items() if not p.requires_grad}
        super().__init__(net, [trained, {**others, **dict(net.named_buffers())}] if with_state else [trained])

    @property
    def function(self) -> Callable[..., Any]:
        return self._with_state if len(self._parts) == 2 else self._without_state

    def _without_state(self, parameters: Any, /, *inputs: Any, **named: Any) -> Any:
        return self._run([parameters], inputs, named)[0]

    def _with_state(self, parameters: Any, state: Any, /, *inputs: Any, **named: Any) -> tuple[Any, Any]:
        result, (_, state) = self._run([parameters, state], inputs, named)
        return result, state

    def _run(self, values: Sequence[Any], inputs: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, list[Nested]]:
        held = [x for part in self._parts for x in part.values()]
        given = [x for index, each in enumerate(values) for x in self.given(index, each)]
        with lent(held, given) as now:
            result = _called(self.net, tuple(inputs), named)
            new = now()
        trained = len(self._parts[0])
        for path, x, other in zip(self._parts[0], given, new[:trained], strict=False):
            if other is not x:
                raise RuntimeError(f"For '{self._owner}', the network writes its parameter '{path}', which would be lost: let it be a "
                                   f"state, by `requires_grad = False`; the step of an optimiser is `functional(optimizer)`.")
        present = {id(x): other for x, other in zip(held, new, strict=True)}
        found = leaves(result, Tensor)
        if any(id(x) in present for x in found):
            result = replaced(result, [present.get(id(x), x) for x in found], Tensor)
        left = iter(new)
        return result, [_nested({path: next(left) for path in part}) for part in self._parts]


class _Optimizer(_Form):
    """An optimiser: its state, and the parameters that it updates."""

    names = ("state",)

    def __init__(self, optimizer: Any):
        self._updated = optimizer.parameters
        found = {id(p): (path, p) for path, p in optimizer.parameters_and_names()}
        updated = [found.pop(id(p))[0] for p in self._updated]
        super().__init__(optimizer, [{_numbered(path, updated): p for path, p in found.values()}])

    def kinds(self) -> list[list[Any]]:
        return [*super().kinds(), [x.type for x in self._updated]]

    @property
    def function(self) -> Callable[..., Any]:
        return self._step

    def _step(self, gradients: Any, state: Any, parameters: Any) -> tuple[Any, Nested]:
        (part,) = self._parts
        old, moments = self._of_parameters("parameters", parameters), self.given(0, state)
        try:
            along = self._of_parameters("gradients", arranged(gradients, parameters))
        except ValueError as wrong:
            if str(wrong).startswith("For "):
                raise
            raise ValueError(f"For '{self._owner}', the argument 'gradients' must have the structure of the parameters, but it {wrong}.") \
                from None
        with lent([*self._updated, *part.values()], [*old, *moments]) as now:
            _called(self.net, (tuple(along),), {})
            new = now()
        count = len(old)
        return replaced(parameters, new[:count], Tensor), _nested(dict(zip(part, new[count:], strict=True)))

    def _of_parameters(self, name: str, values: Any) -> list[Tensor]:
        found = leaves(values)
        if len(found) != len(self._updated):
            raise ValueError(f"For '{self._owner}', the argument '{name}' must have a tensor for each of the {len(self._updated)} "
                             f"parameters of the optimiser, {_listed(p.name for p in self._updated)}, but got {len(found)}.")
        return [_checked(self._owner, f"tensor {number} of the argument '{name}'", x, p)
                for number, (x, p) in enumerate(zip(found, self._updated, strict=True))]


def _form(net: Any, with_state: bool) -> Any:
    """Return a Cell as a form; an optimiser is a Cell with a ParameterTuple `parameters`."""
    return _Optimizer(net) if isinstance(net.__dict__.get("parameters"), ParameterTuple) else _Network(net, with_state)


def _numbered(path: str, updated: Sequence[str]) -> str:
    """Return the path of an optimiser's state for a parameter with the parameter's number in place of its path.

    Then the optimisers of networks whose parameters have other names have the same paths.
    """
    for number, name in enumerate(updated):
        if path.endswith(f".{name}"):
            return f"{path[: -len(name)]}{number}"
    return path


def _called(net: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    graph = emitter()
    return net(*args, **kwargs) if graph is None else graph.call(net, args, dict(kwargs))


def _nested(values: Mapping[str, Tensor]) -> Nested:
    """Return tensors by paths as dicts of dicts."""
    found: Nested = {}
    for path, x in values.items():
        *above, name = path.split(".")
        functools.reduce(lambda part, key: part.setdefault(key, {}), above, found)[name] = x
    return found


def _flat(owner: str, name: str, values: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Return the leaves of nested dicts by their paths; TypeError if there are no dicts."""
    if isinstance(values, dict):
        return {key: x for part, inner in values.items() for key, x in _flat(owner, name, inner, (*path, part)).items()}
    if not path:
        raise TypeError(f"For '{owner}', the argument '{name}' must be a dict of tensors, but got {values!r} of type "
                        f"{type(values).__name__}: {_WAY_OUT}.")
    return {path: values}


def _checked(owner: str, what: str, x: Any, like: Tensor) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"For '{owner}', {what} must be a Tensor, but got {x!r} of type {type(x).__name__}.")
    if x.dtype is not like.dtype:
        raise TypeError(f"For '{owner}', {what} must be {like.dtype}, but got {x.dtype}: cast it with `x.astype({like.dtype})`.")
    if x.shape != like.shape:
        raise ValueError(f"For '{owner}', {what} must have the shape {like.shape}, but got {x.shape}: for many networks at once use "
                         f"`vmap`.")
    return x


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    return ", ".join(map(repr, found[:6])) + (f" and {len(found) - 6} more" if len(found) > 6 else "")


def _stacked(values: Sequence[Nested]) -> Nested:
    """Return the tensors of several structures of one kind, along a new first axis."""
    rows = zip(*(leaves(each, Tensor) for each in values), strict=True)
    return replaced(values[0], [_stack(xs) for xs in rows], Tensor)


def _stack(xs: Sequence[Tensor]) -> Tensor:
    with not_recording():
        return apply(made(Concat, 0), *(apply(made(Reshape, x.type.with_shape((1, *x.type.shape))), x) for x in xs))
