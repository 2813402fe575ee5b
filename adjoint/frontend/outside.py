"""What parsed code finds rather than makes: the lists, dicts and objects of the program around it.

Changing such an object happens once, while the graph is built, like every change of Python's.  A tensor of the graph must not be
left in one: its numbers are there only when the graph runs, and the object would not be changed then.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from adjoint.diagnostics import Loc
from adjoint.frontend import errors
from adjoint.frontend.journal import AttributePlace, CellPlace, ContentsPlace, ItemPlace, Journal, Place, is_as_before
from adjoint.frontend.world import World

__all__ = ["Outside"]

_PLAIN = (str, bytes, int, float, complex, type(None), types.FunctionType, types.BuiltinFunctionType, types.MethodType)


class Outside:
    """The objects that one lowering has found, and those among the arguments, which are copies of the caller's."""

    def __init__(self, world: World):
        self._world = world
        self._found: dict[int, Any] = {}
        self._given: dict[int, Any] = {}

    def found(self, x: Any) -> Any:
        """Note an object that stands in a global name, or in one of a function around; `x` itself."""
        if not isinstance(x, _PLAIN) and not self._world.is_dynamic(x):
            self._found[id(x)] = x
        return x

    def part(self, holder: Any, x: Any) -> Any:
        """Note what an object holds, if that was found itself; `x` itself."""
        return self.found(x) if self._is_found(holder) else x

    def given(self, arguments: Iterable[Any]) -> None:
        """Note the arguments of the call from outside."""
        for x in arguments:
            if type(x) in (list, dict):
                self._given[id(x)] = x
                self.given(x.values() if isinstance(x, dict) else x)
            elif isinstance(x, tuple):
                self.given(x)
            else:
                self.found(x)

    def check(self, journal: Journal, is_late: Callable[[Any], bool]) -> None:
        """CompileError when a tensor of the graph was left in what was found, or a list of the caller's was changed."""
        left = self.restore(journal, is_late)
        for place, loc in left:
            raise errors.STORED_TENSOR.at(loc, f"a value that the graph computes is left in {_described(place)}",
                                          help="return it; or let it be a Parameter, which is written when the graph runs")
        for place, before, loc in journal.touched.values():
            if isinstance(place, ContentsPlace) and id(place.container) in self._given and not is_as_before(before, place.container):
                raise errors.STORED_TENSOR.at(loc, f"a {type(place.container).__name__} among the arguments is changed",
                                              help="change a copy of it, and return that")

    def restore(self, journal: Journal, is_late: Callable[[Any], bool]) -> list[tuple[Place, Loc]]:
        """Take tensors of the graph out of what was found; where they were put in."""
        left: list[tuple[Place, Loc]] = []
        for place, before, loc in journal.touched.values():
            if self._is_outside(place) and is_late(place.get()):
                place.set(before)
                left.append((place, loc))
        return left

    def _is_found(self, x: Any) -> bool:
        return id(x) in self._found or isinstance(x, (types.ModuleType, type)) or self._world.is_cell(x)

    def _is_outside(self, place: Place) -> bool:
        match place:
            case ItemPlace() | CellPlace():
                return True
            case AttributePlace(holder=holder):
                return self._is_found(holder)
            case ContentsPlace(container=container):
                return id(container) in self._found
            case _:
                return False


def _described(place: Place) -> str:
    match place:
        case ItemPlace(name=name):
            return f"the global name `{name}`"
        case AttributePlace(holder=holder, name=name):
            return f"`{name}` of an object from outside, a {type(holder).__name__}"
        case ContentsPlace(container=container):
            return f"a {type(container).__name__} from outside"
        case _:
            return "a name of the function around"
