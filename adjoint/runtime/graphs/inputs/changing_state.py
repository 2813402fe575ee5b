"""Attributes and variables that a function reads and others change from call to call: after three values each run reads them.

    cell.rate = 0.1     a graph with the constant 0.1
    cell.rate = 0.2     another one
    cell.rate = 0.3     a graph that reads `cell.rate` in each run, as it would if the function wrote it

This is done for floats, for ints up to `templates.BOUND`, and for tensors other than Parameters (another tensor in `cell.mask`).  Such a
graph is kept if it can be made and runs no code of the user's, as in `changing_numbers`.  Otherwise each value has a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import NoneType
from typing import Any

from adjoint.frontend.changes.journal import AttributePlace, CellPlace, ItemPlace, OutsidePlace
from adjoint.runtime.graphs.guards.constants import ignore, key
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.guards.places import Attribute, ClosureVariable, Global, OwnAttribute, Place
from adjoint.runtime.graphs.inputs.changing_values import Changing
from adjoint.runtime.graphs.inputs.python_state import is_plain
from adjoint.runtime.graphs.inputs.templates import BOUND
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ChangingState"]


class ChangingState:
    """Decides which attributes and variables of the program the graphs of one function read each time they run, not as constants: those
    that keep changing.

    It remembers those that held a number or a tensor when a graph was made.
    """

    __slots__ = ("_changing", "_places")

    def __init__(self) -> None:
        self._places: dict[Hashable, Place] = {}
        self._changing = Changing()

    def tried(self, make: Callable[[Sequence[OutsidePlace]], Any]) -> Any:
        """Make a graph that reads some of the changing attributes and variables each time it runs, and return it; None if all stay
        constants.

        The caller holds `lowering_lock`.

        make  returns the graph that reads the given places, or None if it cannot be made
        """
        now: dict[Hashable, OutsidePlace] = {}
        for address, place in [*self._places.items()]:
            if (found := _mutable(place)) is None:
                del self._places[address]
                self._changing.forget(address)
            else:
                now[address] = found
                self._changing.saw(address, _key(found.held()))
        return self._changing.tried(lambda chosen: make([place for address, place in now.items() if address in chosen]))

    def clear(self) -> None:
        """Forget all attributes and variables, and their values."""
        self._places, self._changing = {}, Changing()

    def saw(self, guards: Guards) -> None:
        """Note the present values of the attributes and variables that a new graph depends on.

        guards  the guards of the graph: they know these places
        """
        for place in guards.variables():
            address = place.address()
            if address not in self._places and (value := _key(place.read())) is not None:
                self._places[address] = place
                self._changing.saw(address, value)


def _key(value: Any) -> Hashable:
    """Return a key for the present value of an attribute or variable, different for different values; None for a value that always stays a
    constant of graphs, such as a string.
    """
    if type(value) is float or (type(value) is int and abs(value) <= BOUND):
        return key(value, ignore)
    return id(value) if type(value) is Tensor else None


def _mutable(place: Place) -> OutsidePlace | None:
    """Return an attribute or variable, known from a guard, as the object by which a graph reads it each time it runs.

    Return None if it now holds neither number nor tensor, or if reading it runs code.
    """
    found: OutsidePlace | None = None
    match place:
        case Attribute(name=name) | OwnAttribute(name=name):
            holder = place.holder()
            if not isinstance(holder, (type, NoneType)) and name in getattr(holder, "__dict__", ()):
                found = AttributePlace(holder, name)
        case Global(namespace=namespace, name=name) if name in namespace:
            found = ItemPlace(namespace, name)
        case ClosureVariable(cell=cell):
            found = CellPlace(cell)
    return found if found is not None and is_plain(found) and _key(found.held()) is not None else None
