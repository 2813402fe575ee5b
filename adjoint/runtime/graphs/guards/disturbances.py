"""Detect what other threads change while a graph is made.

A graph depends on what was read while it was made.  The snapshot of the guards is taken later, and another thread may have written in
between:

    reads of parsed code   the value found by the first read is recorded, and becomes the snapshot
    reads of the library   `Disturbances` reports whether another thread has changed the object since; if so, the graph is made again
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from threading import get_ident
from types import MethodType
from typing import Any

from adjoint.frontend.changes.journal import MISSING
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.call_results import CallResult
from adjoint.runtime.graphs.guards.constants import ignore
from adjoint.runtime.graphs.guards.objects import CellState, HookSlots, Numbers, Object, TypeOfTensor
from adjoint.runtime.graphs.guards.patterns import Pattern
from adjoint.runtime.graphs.guards.places import ABSENT, Attribute, Held, OwnAttribute, Place, Setting
from adjoint.runtime.graphs.guards.references import reference
from adjoint.runtime.hooks.handles import Slots
from adjoint.runtime.process.epoch import epoch

__all__ = ["Disturbances", "seen_parts"]


class Disturbances:
    """Detects what other threads change between `begin` and `end`, while a graph is made; one thread calls both.

    If they changed what the graph was made from, the graph is made again.
    """

    def __init__(self) -> None:
        self._changed: dict[int, tuple[object, set[str | None]]] = {}
        """Changed objects, by id, each with the names of the attributes that have changed; the name None means all attributes."""
        self._own: dict[int, object] = {}
        """The objects that this thread itself has changed, by id: their changes are not disturbances."""
        self._keys: dict[Hashable, Hashable] = {}
        """For the address of each place whose value the library is about to read: the key of that value, for places where a change moves no
        epoch, or moves it a moment later.
        """
        self._thread, self._outer = get_ident(), epoch.log

    def begin(self) -> None:
        """Record from now on, until `end`, which objects are changed by this thread and which by others.  `any`, `has` and `concern` then
        tell what others have changed.
        """
        self._outer, epoch.log = epoch.log, self._log

    def _log(self, changed: object, name: str | None) -> None:
        if get_ident() == self._thread:
            self._own[id(changed)] = changed
        else:
            self._changed.setdefault(id(changed), (changed, set()))[1].add(name)

    @property
    def any(self) -> bool:
        """True if another thread has changed an object since `begin`."""
        return bool(self._changed)

    def before(self, place: Place) -> None:
        """Note what a variable or attribute contains just before the library first reads it, so that `concern` can later tell whether
        another thread has changed it.

        If it holds a cell, each change of that cell moves the epoch (a number that rises with each change of a cell or hook) from now on.
        """
        for part in place.parts():
            if isinstance(part, _READ_BY_THE_LIBRARY):
                self._keys[part.address()] = part.key_of(part.read(), ignore)

    def concern(self, place: Place) -> bool:
        """Return True if another thread may have changed what a place (a variable, attribute or the like) contains, since `begin`."""
        if self._changed and isinstance(place, Held) and self._has_changed(place):
            return True
        known = self._keys.get(place.address(), ignore)
        return known is not ignore and place.key_of(place.read(), ignore) != known

    def _has_changed(self, place: Held) -> bool:
        holder: Any = place.holder()
        if isinstance(place, HookSlots):
            hooks = None if holder is None else holder._cell_hooks
            return hooks is not None and any(id(getattr(hooks, slot)) in self._changed for slot in Slots._fields)
        names = self._names(holder)
        if isinstance(place, CellState):
            return any(name is None or place.covers(name) for name in names)
        return None in names or getattr(place, "name", None) in names

    def has(self, cell: Cell, name: str) -> bool:
        """Return True if another thread may have changed an attribute of a cell; call this only for an attribute that has changed.

        A change is reported after it is made. By now this thread has reported its changes, but another thread may not have.  So an
        unreported change counts as another thread's.
        """
        names = self._names(cell)
        return None in names or name in names or not any(id(x) in self._own for x in _reported(cell))

    def _names(self, holder: Any) -> set[str | None]:
        """Return the names of those attributes of an object that other threads have changed; None among them stands for all attributes."""
        return {name for x in _reported(holder) for name in self._changed.get(id(x), (x, ()))[1]}

    def end(self) -> None:
        """Stop recording which objects are changed."""
        epoch.log = self._outer


_READ_BY_THE_LIBRARY = (CallResult, CellState, HookSlots, Numbers, Object, OwnAttribute, Setting, TypeOfTensor)
"""Classes of places whose first read is not recorded, since the library's own code reads them.  Reading them runs no code of the user's."""


def _reported(holder: Any) -> tuple[object, ...]:
    """Return the objects under which a change of `holder` may be recorded: the object itself, and its `__dict__`."""
    return holder, getattr(holder, "__dict__", None)


def seen_parts(place: Place, value: Any, is_own: bool) -> tuple[Sequence[Place], Mapping[Hashable, Any]]:
    """Return the places to compare for one place that was read, and what they contained then, by their addresses.

    An attribute of a cell is compared in two places: in the cell itself and in its class.

    place   the variable or attribute that was read
    value   what the first read found
    is_own  False if an attribute was found in the object's class, not in the object itself
    """
    found = ABSENT if value is MISSING else value
    if isinstance(place, Pattern):
        parts, known = seen_parts(place.place, value, True)
        made = [place.like(part) for part in parts]
        return made, {part.address(): known[inner.address()] for part, inner in zip(made, parts, strict=True) if inner.address() in known}
    if not isinstance(place, Attribute):
        return [place], {place.address(): found}
    holder = place.holder()
    parts = place.parts()
    if not isinstance(holder, Cell) or not parts or parts[0] is place:  # the last: of a slot or property, which is compared as it was read
        return parts, {place.address(): found}
    own = OwnAttribute(place.held, place.name, place.label)
    if is_own:
        return [own], {own.address(): found}
    above = Attribute(reference(type(holder)), place.name, place.label)
    return [own, above], {own.address(): ABSENT, above.address(): found.__func__ if isinstance(found, MethodType) else found}
