"""Cells that compute in another float type (`Cell.to_float`).

    with computing(cell, cell._compute) as cast:
        output = cell.construct(*map(cast, args))

Inputs and Parameters are cast when construct begins.  Only the thread that runs construct sees the cast Parameters, and only while
construct runs; all other threads see the Parameters themselves.  Values that construct writes to a cast Parameter are written to the
Parameter when construct ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from adjoint.ir.ops.conversion import Cast
from adjoint.ir.types import DType
from adjoint.runtime.process.tracer import emitter, state
from adjoint.runtime.tensor.structure import leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["WithPrecision", "cast_floats", "cast_parameter", "in_precision", "stored"]


class WithParameters(Protocol):
    """The attributes of a Cell that are used to cast its Parameters (a Protocol).

    keeps_parameters  True if construct itself casts the Parameters, so that they must not be cast before
    """

    keeps_parameters: bool

    @property
    def _params(self) -> Mapping[str, Tensor]: ...


class WithPrecision(WithParameters, Protocol):
    """The attributes of a Cell that are used to run its construct in another float type (a Protocol)."""

    @property
    def _compute(self) -> DType | None: ...
    @property
    def _result(self) -> DType | None: ...


def cast_parameter(cell: WithParameters, name: str) -> Tensor | None:
    """Return a Parameter of a cell cast to the float type in which this thread runs the cell's construct; None if it is not cast."""
    run = state.computing.get(id(cell))
    return None if run is None else run.parameters.get(name)


def stored(cell: WithParameters, name: str, value: Tensor) -> bool:
    """Assign `cell.name = value` if the Parameter of this name is cast in this thread, by `computing`; return True then.

    Return False, with nothing done, if it is not cast or the shapes differ: the caller then assigns it itself.
    """
    parameter = cast_parameter(cell, name)
    if parameter is None or value.shape != parameter.shape:
        return False
    parameter.overwrite(_cast(value, parameter.dtype))
    return True


def cast_floats(value: Any, dtype: DType) -> Any:
    """Return the value with its floating tensors cast to `dtype`, also those in containers."""
    if isinstance(value, Tensor):
        return _cast(value, dtype)
    found = leaves(value, Tensor)
    return replaced(value, [_cast(x, dtype) for x in found], Tensor) if found else value


def _cast(x: Any, dtype: DType) -> Any:
    return apply(Cast(dtype), x) if isinstance(x, Tensor) and x.dtype.is_float and x.dtype is not dtype else x


def in_precision(cell: WithPrecision, construct: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `construct(*args, **kwargs)` in the float type that `to_float` asked for, and return its result."""
    assert cell._compute is not None
    with computing(cell, cell._compute) as cast:
        output = construct(*map(cast, args), **{name: cast(x) for name, x in kwargs.items()})
        return output if cell._result is None else cast_floats(output, cell._result)


class computing:  # read as a statement: `with computing(cell, dtype) as cast:`
    """Lets the construct of a cell compute in another float type, on this thread, within `with computing(cell, dtype) as cast:`.

    construct sees the Parameters cast to `dtype`, unless `cell.keeps_parameters`; what it writes to them is written back at the end.
    `cast(x)` returns an input cast to `dtype`.
    """

    __slots__ = ("_around", "_numbers", "cell", "dtype", "parameters")

    def __init__(self, cell: WithParameters, dtype: DType):
        self.cell, self.dtype = cell, dtype
        self.parameters: dict[str, Tensor] = {}

    def __enter__(self) -> Callable[[Any], Any]:
        if not self.cell.keeps_parameters:
            for name, parameter in self.cell._params.items():
                if (cast := _cast(parameter, self.dtype)) is not parameter:
                    self.parameters[name] = cast
        # A second reference prevents writes in place, so that a write can be detected.
        self._numbers = {name: _numbers(x) for name, x in self.parameters.items()}
        self._around = state.computing.get(id(self.cell))
        state.computing[id(self.cell)] = self
        return lambda x: _cast(x, self.dtype)

    def __exit__(self, kind: object, raised: BaseException | None, traceback: object) -> None:
        if self._around is None:
            del state.computing[id(self.cell)]
        else:
            state.computing[id(self.cell)] = self._around
        if raised is not None and emitter() is not None:
            return
        for name, cast in self.parameters.items():
            if _numbers(cast) is not self._numbers[name]:
                parameter = self.cell._params[name]
                parameter.overwrite(_cast(cast, parameter.dtype))


def _numbers(x: Any) -> Any:
    """Return the object that every write to the tensor `x` replaces, so that comparing it by identity shows a write: its memory, or its
    value in a graph.
    """
    return x.atom if hasattr(x, "atom") else x.memory
