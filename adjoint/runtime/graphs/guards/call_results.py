"""Guards (conditions under which a graph may run again) on what a function such as `isinstance` returns for objects from outside."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.check import GuardConditions
from adjoint.runtime.graphs.guards.places import ABSENT, GONE, Place, Watch, named, watch_cell
from adjoint.runtime.graphs.guards.references import address_of, reference

__all__ = ["CallResult"]


class CallResult(Place):
    """Guards the result that a Python function such as `isinstance` returned for some objects: each comparison calls the function again.

    Comparing the objects would not be enough.  The class of an object, and the classes that it is an instance of, also depend on
    `ABC.register`, on the bases of its class, and on an `__instancecheck__` of the user's.

    function   the Python function
    arguments  the objects for which it was called; they are referred to weakly where that is possible
    """

    __slots__ = ("_arguments", "_function")

    def __init__(self, function: Callable[..., Any], arguments: Sequence[Any]):
        super().__init__(f"{getattr(function, '__name__', 'function')}({', '.join(map(_shown, arguments))})")
        self._function, self._arguments = function, tuple(map(reference, arguments))

    def address(self) -> Hashable:
        return CallResult, id(self._function), *map(address_of, self._arguments)

    def parts(self) -> list[Place]:
        found = [held() for held in self._arguments]
        if any(x is None for x in found):
            return []
        for x in found:
            if isinstance(x, Cell):
                watch_cell(x, frozenset())
        return [self]

    def read(self) -> Any:
        found = [held() for held in self._arguments]
        if any(x is None for x in found):
            return GONE
        try:
            return self._function(*found)
        except Exception:  # lowering meets the exception again, and reports it at the user's line
            return ABSENT

    def watch(self, value: Any) -> Watch:
        # A cell moves the epoch when its class changes.
        if self._function is type and isinstance(self._arguments[0](), Cell):
            return "epoch"
        return "value" if isinstance(value, str) else super().watch(value)

    def expression(self, conditions: GuardConditions) -> str:
        return f"{conditions.object(self._function)}({', '.join(map(conditions.holder, self._arguments))})"


def _shown(x: Any) -> str:
    return ", ".join(map(_shown, x)) if isinstance(x, tuple) else named(x)
