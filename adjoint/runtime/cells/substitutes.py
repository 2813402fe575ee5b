"""Tensors that construct of a cell sees in the place of its Parameters.

    p -> hook on Parameters (`Cell.register_parameter_forward_hook`) -> cast (`Cell.to_float`) -> self.p in construct

    with substituting(cell) as cast:
        output = cell.construct(*map(cast, args))

The substitutes are made when construct begins.  Only the thread that runs construct sees them, and only while construct runs; all other
threads see the Parameters themselves.  Values that construct writes to a cast Parameter are written to the Parameter when construct ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from adjoint.ir.types import DType
from adjoint.runtime.cells.precision import cast_float, cast_floats
from adjoint.runtime.hooks.firing import noting
from adjoint.runtime.hooks.handles import described
from adjoint.runtime.process.tracer import emitter, state
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ParameterHook", "WithSubstitutes", "stored", "substitute", "unchanged", "with_substitutes"]

ParameterHook = Callable[[Any], Any]
"""A hook on Parameters: it gets one, and returns the tensor that construct sees in its place."""


class WithParameters(Protocol):
    """A Cell, as the owner of Parameters (a Protocol)."""

    @property
    def _params(self) -> Mapping[str, Parameter]: ...


class WithSubstitutes(WithParameters, Protocol):
    """The attributes of a Cell that say what construct sees in the place of Parameters (a Protocol).

    keeps_parameters  True if construct itself casts the Parameters, so that they must not be cast before
    _cell_substitutes      True if there is such a hook, or a float type to compute in
    """

    keeps_parameters: bool
    _cell_substitutes: bool
    _cell_parameter_hook: ParameterHook | None

    @property
    def _cell_compute(self) -> DType | None: ...
    @property
    def _cell_result(self) -> DType | None: ...


def substitute(cell: WithParameters, name: str) -> Tensor | None:
    """Return the tensor that stands in for a Parameter while this thread runs the cell's construct; None if nothing does."""
    run = state.substituting.get(id(cell))
    return None if run is None else run.parameters.get(name)


def stored(cell: WithParameters, name: str, value: Tensor) -> bool:
    """Assign `cell.name = value` if the Parameter of this name has a substitute in this thread; return True then.

    Return False, with nothing done, if it has none or the shapes differ: the caller then assigns it itself.
    """
    parameter = substitute(cell, name)
    if parameter is None or value.shape != parameter.shape:
        return False
    parameter.overwrite(cast_float(value, parameter.dtype))
    return True


def unchanged(parameter: Any) -> Any:
    """Return the Parameter: the hook of a cell in which only single Parameters have hooks."""
    return parameter


def with_substitutes(
    cell: WithSubstitutes, construct: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    call: Callable[[ParameterHook, Parameter], Any] | None = None,
) -> Any:
    """Call `construct(*args, **kwargs)` with what the cell's hooks and `to_float` put in the place of Parameters; return its result.

    call  calls a hook with a Parameter; by default as a Python function
    """
    with substituting(cell, call) as cast:
        if cell._cell_compute is None:
            return construct(*args, **kwargs)
        output = construct(*map(cast, args), **{name: cast(x) for name, x in kwargs.items()})
        return output if cell._cell_result is None else cast_floats(output, cell._cell_result)


class substituting:  # read as a statement: `with substituting(cell) as cast:`
    """Puts substitutes in the place of a cell's Parameters, on this thread, within `with substituting(cell) as cast:`.

    What construct writes to a cast Parameter is written back at the end; RuntimeError if it writes what a hook has returned.
    `cast(x)` returns an input cast to the cell's float type.

    TypeError if a hook returns anything but a tensor; RuntimeError if it returns something new for a member of a ParameterTuple.
    """

    __slots__ = ("_around", "_call", "_hooked", "_numbers", "cell", "parameters")

    def __init__(self, cell: WithSubstitutes, call: Callable[[ParameterHook, Parameter], Any] | None):
        self.cell, self._call = cell, call
        self.parameters: dict[str, Tensor] = {}
        self._hooked: dict[str, ParameterHook] = {}

    def __enter__(self) -> Callable[[Any], Any]:
        cell, dtype = self.cell, self.cell._cell_compute
        for name, parameter in cell._params.items():
            found: Any = parameter
            if cell._cell_parameter_hook is not None:
                found = self._returned(name, parameter, parameter.forward_hook or cell._cell_parameter_hook)
            if dtype is not None and not cell.keeps_parameters:
                found = cast_float(found, dtype)
            if found is not parameter:
                self.parameters[name] = found
        # A second reference prevents writes in place, so that a write can be detected.
        self._numbers = {name: _numbers(x) for name, x in self.parameters.items()}
        self._around = state.substituting.get(id(cell))
        state.substituting[id(cell)] = self
        return lambda x: x if dtype is None else cast_float(x, dtype)

    def _returned(self, name: str, parameter: Parameter, hook: ParameterHook) -> Any:
        if hook is unchanged:
            return parameter
        with noting(hook, f"Parameter '{parameter.name}'"):
            found = hook(parameter) if self._call is None else self._call(hook, parameter)
        if not isinstance(found, Tensor):
            raise TypeError(f"For 'register_parameter_forward_hook', the hook {described(hook)} must return a Tensor for the Parameter "
                            f"'{parameter.name}', but got {found!r} of type {type(found).__name__}.")
        if found is not parameter:
            if any(isinstance(x, ParameterTuple) and any(parameter is one for one in x) for x in vars(self.cell).values()):
                raise RuntimeError(f"For 'register_parameter_forward_hook', the Parameter '{parameter.name}' is in a ParameterTuple, which "
                                   "construct sees as it is. Make it an attribute of its own, or register the hook for other Parameters.")
            self._hooked[name] = hook
        return found

    def __exit__(self, kind: object, raised: BaseException | None, traceback: object) -> None:
        if self._around is None:
            del state.substituting[id(self.cell)]
        else:
            state.substituting[id(self.cell)] = self._around
        if raised is not None and emitter() is not None:
            return
        for name, given in self.parameters.items():
            if _numbers(given) is not self._numbers[name]:
                parameter = self.cell._params[name]
                if name in self._hooked and raised is None:
                    raise RuntimeError(f"For 'register_parameter_forward_hook', construct writes the Parameter '{parameter.name}', in "
                                       f"whose place it sees what the hook {described(self._hooked[name])} has returned: the Parameter "
                                       "would not change. Register the hook for other Parameters, as [{'params': [...], 'hook': ...}].")
                parameter.overwrite(cast_float(given, parameter.dtype))


def _numbers(x: Any) -> Any:
    """Return the object that every write to the tensor `x` replaces, so that comparing it by identity shows a write: its memory, or its
    value in a graph.
    """
    return x.atom if hasattr(x, "atom") else x.memory
