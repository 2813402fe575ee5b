"""Guards: what a graph was made of, and whether that is still so.

While a function is lowered, every constant that it reads from outside is recorded by the place it was read from: a
global, a closure, an attribute (`places`), a cell whose Python ran as it is (`objects`).  `freeze` takes a snapshot of what
stands there (`constants` says which values are the same), `holds` compares.

How often a place is looked at depends on who would notice a change.  What stands in a cell, its hook slots and the
types of tensors are compared when the epoch has moved; what `object.__setattr__` writes into a cell is not seen.
Everything else is compared at every call: what can be told by its identity by one pass over the ids of all such
places, containers, arrays and computed attributes item by item.

Guards keep alive what they mean by identity only where Python has no weak references to it.  A graph that hangs on a
cell therefore does not keep the cell alive; once something it depends on is gone it does not hold any more.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from operator import is_
from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.constants import key
from adjoint.runtime.graphs.guards.objects import CellState, HookSlots, Numbers, Object, TypeOfTensor
from adjoint.runtime.graphs.guards.places import (
    Absences,
    Attribute,
    Closure,
    Global,
    Group,
    Life,
    Place,
    Read,
    Setting,
    Watch,
    mark,
    named,
    reference,
)
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.tensor.structure import items
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Guards"]


class Guards:
    """The guards of one graph: recorded by `of_...`, made firm by `freeze`, asked by `holds` and `broken`.

    `label`, where it is taken, is how the code says what was read: `self.rate`.
    """

    def __init__(self) -> None:
        self._places: dict[Hashable, Place] = {}
        self._parts: list[Place] = []
        self._life = Life(lasts=False)
        self._holders: list[weakref.ref[Cell]] = []
        """Cells in which something was read: when one is gone, it is known at once."""
        self._epoch = -1
        self._by_epoch: list[Place] = []
        self._by_identity: list[Place] = []
        self._by_value: list[Place] = []
        self._kept_groups: list[tuple[Read, tuple[Any, ...]]] = []
        """What reads some places at once, and the very objects that must be there."""
        self._other_groups: list[tuple[Read, tuple[int, ...]]] = []
        """The same with the ids of objects that are not kept alive."""
        self._absent: list[tuple[Callable[[Iterable[str]], bool], frozenset[str]]] = []
        self._themselves: dict[int, object] = {}
        """By id, what is meant by its identity though its kind is told by contents."""
        self._with_them: list[tuple[Place, list[int]]] = []
        """The places where such objects stand, with their ids."""

    # -- recording ----------------------------------------------------------------------------------------------------
    def of_name(self, namespace: dict[str, Any], name: str) -> None:
        """A global: what `name` means in a module's namespace, or else among the builtins."""
        self._places.setdefault((Global, id(namespace), name), Global(namespace, name))

    def of_closure(self, cell: types.CellType, label: str = "") -> None:
        """A variable of a function around."""
        self._places.setdefault((Closure, id(cell)), Closure(cell, label or "a variable of a function around"))

    def of_attribute(self, holder: object, name: str, label: str = "") -> None:
        """What `getattr(holder, name)` gives, or that it gives nothing.  A property runs once at each comparison."""
        held = reference(holder)
        self._places.setdefault((Attribute, mark(held), name), Attribute(held, name, label or f"{named(holder)}.{name}"))

    def of_cell(self, cell: Cell) -> None:
        """All that a cell of the library may read of itself: its attributes, parameters and sub-cells."""
        held = reference(cell)
        self._places.setdefault((CellState, mark(held)), CellState(held, named(cell)))

    def of_slots(self, cell: Cell) -> None:
        """Which of a cell's four slots have hooks."""
        held = reference(cell)
        self._places.setdefault((HookSlots, mark(held)), HookSlots(held, f"hooks of {named(cell)}"))

    def of_object(self, holder: object) -> None:
        """All attributes of an object whose methods Python calls by itself: `len(x)`, `x[0]`, `x + 1`."""
        held = reference(holder)
        self._places.setdefault((Object, mark(held)), Object(held, named(holder)))

    def of_numbers(self, tensor: Tensor) -> None:
        """The numbers in a tensor from outside that Python has read."""
        held = reference(tensor)
        self._places.setdefault((Numbers, mark(held)), Numbers(held, f"the numbers of {named(tensor)}"))

    def of_setting(self, read: Callable[[str], Any], name: str) -> None:
        """A setting, `read(name)`; whoever changes it moves the epoch."""
        self._places.setdefault((Setting, name), Setting(read, name))

    def of_tensor_type(self, tensor: Tensor) -> None:
        """The dtype and shape of a parameter or of another tensor that was read from outside."""
        held = reference(tensor)
        self._places.setdefault((TypeOfTensor, mark(held)), TypeOfTensor(held, f"the type of {named(tensor)}"))

    def of_identity(self, x: object) -> None:
        """That `x` itself stands where it was read, if it is a container: not another one with the same contents."""
        self._themselves[id(x)] = x

    def count(self) -> int:
        """How many places have been recorded."""
        return len(self._places)

    def forget(self, since: int, until: int) -> None:
        """Forget the places that were recorded between two counts."""
        for recorded in [*self._places][since:until]:
            del self._places[recorded]

    def freeze(self) -> None:
        """Take what stands everywhere now as what must stand there.

        Holders that are gone already were made while lowering and belong to nobody: their places are dropped.
        """
        life = Life()
        self._epoch = epoch.now
        self._parts = [part for place in self._places.values() for part in place.parts()]
        watched: dict[Watch, list[Place]] = {"epoch": [], "identity": [], "value": []}
        for part in self._parts:
            value = part.read()
            part.take(value, life)
            watched[part.watch(value)].append(part)
        self._by_epoch, self._by_identity, self._by_value = watched["epoch"], watched["identity"], watched["value"]
        if self._themselves:
            places = [(part, _ids_among(part.read(), self._themselves)) for part in (*self._by_epoch, *self._by_value)]
            self._with_them = [(part, found) for part, found in places if found]
        holders = {id(holder): holder for part in self._parts if isinstance(holder := part.holder(), Cell)}
        self._holders = [weakref.ref(holder, life.end) for holder in holders.values()]
        self._life = life
        self._group()

    def _group(self) -> None:
        """Bring the places that are told by identity together by what they are read from."""
        together: dict[Hashable, list[Place]] = {}
        for place in self._by_identity:
            together.setdefault((place.source(), place.value is None), []).append(place)
        groups: list[Group] = []
        absent: list[Absences] = []
        for places in together.values():
            places[0].group(places, groups, absent)
        self._kept_groups = [(read, tuple([p.value for p in places])) for read, places in groups if places[0].value is not None]
        self._other_groups = [(read, tuple([p.value_id for p in places])) for read, places in groups if places[0].value is None]
        self._absent = [(namespace.keys().isdisjoint, names) for namespace, names in absent]

    # -- asking -------------------------------------------------------------------------------------------------------
    def holds(self) -> bool:
        """Whether everything is as it was when the snapshot was taken; False before there is one."""
        now = epoch.now
        if now != self._epoch:
            for place in self._by_epoch:
                if not place.holds(self._life):
                    return False
            self._epoch = now
        if not self._identical() and not self._equal():
            return False
        for place in self._by_value:
            if not place.holds(self._life):
                return False
        for place, ids in self._with_them:
            if _ids_among(place.read(), self._themselves) != ids:
                return False
        return self._life.lasts

    def _identical(self) -> bool:
        """Whether the places that are told by identity hold the very objects that they held."""
        for is_disjoint, names in self._absent:
            if not is_disjoint(names):
                return False
        try:
            for read, values in self._kept_groups:
                if not all(map(is_, read(), values)):
                    return False
            for read, ids in self._other_groups:
                if tuple(map(id, read())) != ids:
                    return False
        except (KeyError, AttributeError, ValueError):
            return False
        return True

    def _equal(self) -> bool:
        """Whether they hold at least equal numbers or strings: if so, these are the objects to look for from now on."""
        values: list[Any] = []
        for place in self._by_identity:
            value = place.read()
            if key(value) != place.key:
                return False
            values.append(value)
        # Until the groups are made anew, what they look for must live: else another object might get its id.
        before = [place.kept for place in self._by_identity]
        for place, value in zip(self._by_identity, values, strict=True):
            place.take(value, self._life)
        self._group()
        del before
        return True

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call this once when they cannot hold any more."""
        self._life.ended = call

    @property
    def lasts(self) -> bool:
        """Whether they can hold at all, now or later: nothing that they depend on is gone."""
        return self._life.lasts

    def broken(self) -> str:
        """For people: the first thing that is not as it was, "self.rate was 0.1, is 0.2"; "" if there is none."""
        for place in self._parts:
            if difference := place.difference():
                return difference
        for place, ids in self._with_them:
            if _ids_among(place.read(), self._themselves) != ids:
                return f"what {place.label} holds is another one with the same contents"
        return "" if self._life.lasts else "something that was read is gone"


def _ids_among(value: Any, wanted: Mapping[int, object]) -> list[int]:
    """The ids of those objects that stand in a structure, in order."""
    found: list[int] = []
    pending, seen = [value], set[int]()
    while pending:
        x = pending.pop()
        if id(x) in wanted:
            found.append(id(x))
        elif id(x) not in seen:
            seen.add(id(x))
            pending += items(x) or ()
    return found
