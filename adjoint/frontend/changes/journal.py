"""The changes that branches make: to names, containers, attributes, and tensors written in place.

Both branches of an `if` on a tensor are lowered, one after the other, from the same state.  So each change inside a branch is recorded
with the value before; at the end of the branch the changes are undone, and then merged with those of the other branch.  From all changes
of a lowering `adjoint.frontend.changes.outside` tells whether it has changed an object of the program around.
"""

from __future__ import annotations

import dataclasses
import warnings
from array import array
from collections import deque
from collections.abc import Callable, MutableMapping, MutableSequence, MutableSet
from contextlib import suppress
from types import CellType, CodeType, ModuleType
from typing import Any, Protocol, Self

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN, Loc

__all__ = [
    "COLLECTIONS", "CONTAINERS", "LEAVES", "AttributePlace", "CellPlace", "Changes", "ContentsPlace", "ItemPlace", "Journal", "NamesPlace",
    "ObjectPlace", "OutsidePlace", "MutablePlace", "are_one", "is_as_before",
]


CONTAINERS = (list, dict, set, deque, bytearray, array, np.ndarray)
"""Types whose contents are recorded and restored."""

LEAVES = frozenset({str, bytes, int, float, complex, bool, type(None), type(...), CodeType, range})
"""Types whose objects cannot be changed, nor lead to others that can."""

COLLECTIONS = (*CONTAINERS, MutableSequence, MutableMapping, MutableSet)
"""All types that `x[key] = value` and methods change; those that are not in CONTAINERS cannot be restored."""


class MutablePlace(Protocol):
    """Something that can be changed and restored.  Places are equal if their keys are."""

    @property
    def key(self) -> tuple[Any, ...]: ...

    def get(self) -> Any: ...

    def set(self, value: Any) -> None: ...


MISSING: Any = object()
"""The value of a place that does not exist."""


class PlaceValues(Protocol):
    """What a lowering sees of places in the program around (`adjoint.frontend.changes.workspace`)."""

    def get(self, place: OutsidePlace) -> Any: ...

    def set(self, place: OutsidePlace, value: Any) -> None: ...


class OutsidePlace:
    """A place in an object that other threads may use: an attribute, a global name, a variable of an enclosing function.

    With a workspace, `get` and `set` are those of a lowering, and leave the object as it is; `held` and `put` are always the object's own.
    """

    __slots__ = ()
    workspace: PlaceValues | None

    @property
    def key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def held(self) -> Any:
        """Return what the object holds, or MISSING if there is no value."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Change the object; MISSING removes."""
        raise NotImplementedError

    def over(self, workspace: PlaceValues | None) -> Self:
        """Return the same place with another workspace, or with none."""
        raise NotImplementedError

    def get(self) -> Any:
        return self.held() if self.workspace is None else self.workspace.get(self)

    def set(self, value: Any) -> None:
        if self.workspace is None:
            self.put(value)
        else:
            self.workspace.set(self, value)


@dataclass(frozen=True, eq=False)
class ContentsPlace:
    """The contents of a container; the local names of a function are a dict.

    They are kept as a plain list, dict or set, whatever the subclass, a deque as a list; as bytes where they are no Python objects.
    Where only items are put back, not keys, an iterator over the container goes on as before.
    """

    container: Any

    @property
    def key(self) -> tuple[Any, ...]:
        return ("contents", id(self.container))

    def get(self) -> Any:
        match self.container:
            case list() | deque():
                return list(self.container)
            case dict():
                return dict(self.container)
            case bytearray() | array() | np.ndarray(dtype=np.dtype(hasobject=False)):
                return bytes(self.container) if isinstance(self.container, bytearray) else self.container.tobytes()
            case _:
                return self.container.copy()

    def set(self, value: Any) -> None:
        match self.container:
            case list() | bytearray():
                self.container[:] = value
            case array():
                del self.container[:]
                self.container.frombytes(value)
            case np.ndarray(dtype=np.dtype(hasobject=False)):
                self.container[...] = np.frombuffer(value, self.container.dtype).reshape(self.container.shape)
            case np.ndarray():
                self.container[...] = value
            case deque() if len(self.container) == len(value):
                for i, item in enumerate(value):
                    self.container[i] = item
            case deque():
                self.container.clear()
                self.container.extend(value)
            case dict() if list(self.container) == list(value):
                dict.update(self.container, value)  # that of a Counter adds
            case set() if self.container == value:
                pass
            case _:
                self.container.clear()
                self.container.update(value)


@dataclass(frozen=True, eq=False)
class ItemPlace(OutsidePlace):
    """One entry of a dict, such as a global name."""

    holder: dict[Any, Any]
    name: Any
    workspace: PlaceValues | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        return ("item", id(self.holder), self.name)

    def held(self) -> Any:
        return self.holder.get(self.name, MISSING)

    def put(self, value: Any) -> None:
        if value is MISSING:
            self.holder.pop(self.name, None)
        else:
            self.holder[self.name] = value

    def over(self, workspace: PlaceValues | None) -> ItemPlace:
        return ItemPlace(self.holder, self.name, workspace)


class NamesPlace(ContentsPlace):
    """The local names of a call."""


@dataclass(frozen=True, eq=False)
class AttributePlace(OutsidePlace):
    """An attribute of an object; that of a module is a global name."""

    holder: Any
    name: str
    workspace: PlaceValues | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        if type(self.holder) is ModuleType:
            return ("item", id(vars(self.holder)), self.name)
        return ("attribute", id(self.holder), self.name)

    def held(self) -> Any:
        return getattr(self.holder, self.name, MISSING)

    def over(self, workspace: PlaceValues | None) -> AttributePlace:
        return AttributePlace(self.holder, self.name, workspace)

    def put(self, value: Any) -> None:
        if isinstance(self.holder, np.ndarray) and value is not MISSING:
            with warnings.catch_warnings():  # NumPy 2.5 deprecates `a.shape = ...`: the line is the user's, and undoing it needs the same
                warnings.simplefilter("ignore", DeprecationWarning)
                setattr(self.holder, self.name, value)
        elif value is not MISSING:
            try:
                setattr(self.holder, self.name, value)
            except dataclasses.FrozenInstanceError:
                object.__setattr__(self.holder, self.name, value)
        else:
            with suppress(AttributeError):  # the class alone has it
                delattr(self.holder, self.name)


@dataclass(frozen=True, eq=False)
class ObjectPlace:
    """All attributes of an object."""

    holder: Any

    @property
    def key(self) -> tuple[Any, ...]:
        return ("object", id(self.holder))

    def get(self) -> Any:
        return dict(vars(self.holder))

    def set(self, value: Any) -> None:
        vars(self.holder).clear()
        vars(self.holder).update(value)


@dataclass(frozen=True, eq=False)
class CellPlace(OutsidePlace):
    """A name of an enclosing function of Python's own."""

    cell: CellType
    workspace: PlaceValues | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        return ("cell", id(self.cell))

    def held(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def put(self, value: Any) -> None:
        if value is MISSING:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value

    def over(self, workspace: PlaceValues | None) -> CellPlace:
        return CellPlace(self.cell, workspace)


Changes = dict[tuple[Any, ...], tuple[MutablePlace, Any, Any]]
"""By key: place, value before, value after."""


class _Scope:
    """An open branch: the places that it has changed, and those that it has made itself."""

    def __init__(self) -> None:
        self.notes: dict[tuple[Any, ...], tuple[MutablePlace, Any]] = {}
        self.born: dict[tuple[Any, ...], MutablePlace] = {}

    def has_made(self, place: MutablePlace) -> bool:
        """Return whether the place, or the object that it is an attribute of, was made in this branch."""
        return place.key in self.born or (isinstance(place, AttributePlace) and ("object", id(place.holder)) in self.born)


class Journal:
    """Records changes, in one scope for each open branch.

    touched  every place that has been changed, except local names: with its value before, and `where()` at that time
    """

    def __init__(self, where: Callable[[], Loc] = lambda: UNKNOWN) -> None:
        self._scopes: list[_Scope] = []
        self._where = where
        self._made: dict[tuple[Any, ...], MutablePlace] = {}
        self.touched: dict[tuple[Any, ...], tuple[MutablePlace, Any, Loc]] = {}

    def end(self) -> None:
        """Drop all objects: nothing is run any more."""
        self._scopes, self._made, self.touched = [], {}, {}

    @property
    def is_open(self) -> bool:
        """Whether a branch or a loop that a tensor decides is being lowered."""
        return bool(self._scopes)

    def born(self, place: MutablePlace) -> None:
        """Record that `place` has just been made: nobody else sees changes of it."""
        if not isinstance(place, NamesPlace):
            self._made[place.key] = place
        if self._scopes:
            self._scopes[-1].born[place.key] = place

    def has_made(self, x: object) -> bool:
        """Return whether a container or an object was made while lowering."""
        return ("contents", id(x)) in self._made or ("object", id(x)) in self._made

    def is_own(self, place: MutablePlace) -> bool:
        """Return whether only the path that is being lowered sees a change of `place`: it was made there, or no branch is open."""
        return not self._scopes or self._scopes[-1].has_made(place)

    def touch(self, place: MutablePlace) -> None:
        """Call this before `place` is changed."""
        if not isinstance(place, NamesPlace):
            self.note(place, place.get)
        if self._scopes:
            scope = self._scopes[-1]
            if place.key not in scope.notes and not scope.has_made(place):
                scope.notes[place.key] = (place, place.get())

    def changed(self, place: MutablePlace, before: Any) -> None:
        """Call this after `place`, which held `before`, may have been changed."""
        if is_as_before(before, place.get()):
            return
        self.note(place, lambda: before)
        if self._scopes:
            scope = self._scopes[-1]
            if place.key not in scope.notes and not scope.has_made(place):
                scope.notes[place.key] = (place, before)

    def note(self, place: MutablePlace, before: Callable[[], Any]) -> None:
        """Record that `place` is changed now; `before` returns its value before."""
        if place.key not in self.touched:
            self.touched[place.key] = (place, before(), self._where())

    def write(self, place: MutablePlace, value: Any) -> None:
        """Change a place, and record that in the open scope."""
        self.touch(place)
        place.set(value)

    def open(self, changes: Changes | None = None) -> None:
        """Begin a scope; with `changes`, continue where an earlier one ended."""
        scope = _Scope()
        for key, (place, before, after) in (changes or {}).items():
            scope.notes[key] = (place, before)
            place.set(after)
        self._scopes.append(scope)

    def close(self) -> Changes:
        """End the scope: undo its changes, and return them."""
        scope = self._scopes.pop()
        noted = {key: (place, before, place.get()) for key, (place, before) in scope.notes.items()}
        changes = {key: change for key, change in noted.items() if not is_as_before(*change[1:])}
        for place, before, _ in changes.values():
            place.set(before)
        if self._scopes:
            self._scopes[-1].born.update(scope.born)
        return changes


def is_as_before(before: Any, after: Any) -> bool:
    """Return whether a place holds the same objects as before, or equal numbers and strings."""
    if before is after:
        return True
    if isinstance(before, dict) and isinstance(after, dict):
        return list(before) == list(after) and all(are_one(value, after[name]) for name, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(are_one, before, after))
    if isinstance(before, set) and isinstance(after, set):
        return {id(x) for x in before} == {id(x) for x in after}
    if are_one(before, after):
        return True
    atom = getattr(before, "atom", None)
    return atom is not None and atom is getattr(after, "atom", None)


def are_one(a: Any, b: Any) -> bool:
    """Return whether two values are one object, or equal numbers or strings of one type."""
    if a is b:
        return True
    if type(a) is not type(b) or not isinstance(a, (bool, int, float, complex, str, bytes)):
        return False
    return repr(a) == repr(b)
