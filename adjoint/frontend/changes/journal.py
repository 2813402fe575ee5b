"""The changes that branches make: to names, containers, attributes, and tensors written in place.

Both branches of an `if` on a tensor are lowered (turned into nodes of the graph), one after the other, from the same state.  So each change
inside of a branch is recorded together with the previous value.  At the end of the branch the changes are undone, and later merged with
those of the other branch.  `adjoint.frontend.changes.outside` reads all changes made while one graph is made, to find changed objects of
the program around.
"""

from __future__ import annotations

import dataclasses
import warnings
from array import array
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping, MutableSequence, MutableSet
from contextlib import contextmanager, suppress
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
"""Types of containers whose contents can be recorded before a change and restored at the end of a branch."""

LEAVES = frozenset({str, bytes, int, float, complex, bool, type(None), type(...), CodeType, range})
"""Types whose objects cannot change, and hold no objects that can."""

COLLECTIONS = (*CONTAINERS, MutableSequence, MutableMapping, MutableSet)
"""All types whose items can be assigned or changed by methods.  A change of one that is not in CONTAINERS cannot be undone."""


class MutablePlace(Protocol):
    """Reads and restores the value of something that code can change, such as the contents of a list or an attribute.  The journal uses
    such objects to undo changes.  Two of them mean the same place if their keys are equal.
    """

    @property
    def key(self) -> tuple[Any, ...]: ...

    def get(self) -> Any: ...

    def set(self, value: Any) -> None: ...


MISSING: Any = object()
"""A marker in place of a value: the attribute, variable or entry does not exist."""


class PlaceValues(Protocol):
    """The interface of the object that keeps what the code that becomes the graph has given to attributes and names outside of it.

    `OutsidePlace.get` and `set` call it, with themselves as `place`: the user's own objects keep their values.  `Workspace` in
    `adjoint.frontend.changes.workspace` implements it.
    """

    def get(self, place: OutsidePlace) -> Any: ...

    def set(self, place: OutsidePlace, value: Any) -> None: ...


class OutsidePlace:
    """Reads and writes an attribute, a global name or a variable of an enclosing function, which other threads may use, too.

    With a workspace (which keeps what the code that becomes the graph writes), `get` and `set` use the workspace and leave the object
    unchanged.  `held` and `put` always read and write the object itself.
    """

    __slots__ = ()
    workspace: PlaceValues | None

    @property
    def key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def held(self) -> Any:
        """Return the value that the program itself has there, whatever the workspace says; MISSING (a marker) if there is none."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Write a value into the object itself; MISSING (a marker) removes the attribute or the name."""
        raise NotImplementedError

    def over(self, workspace: PlaceValues | None) -> Self:
        """Return a copy of this place (an attribute or a name) that reads and writes by way of another workspace, which keeps written
        values; None: reads and writes the object itself.
        """
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
    """Reads and restores the contents of a container, or the local variables of a function, which are a dict.

    The saved value is a plain list, dict or set whatever the subclass, a list for a deque, and bytes for arrays of numbers.  Where the keys
    or the length agree, restoring only assigns the items, so that iterators over the container stay valid.
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
                dict.update(self.container, value)  # `Counter.update` would add
            case set() if self.container == value:
                pass
            case _:
                self.container.clear()
                self.container.update(value)


@dataclass(frozen=True, eq=False)
class ItemPlace(OutsidePlace):
    """Reads and writes one entry of a dict, such as a global variable in the namespace of its module.

    holder     the dict
    name       the key of the entry
    workspace  keeps written values, so that the dict stays unchanged; None: the dict itself is written
    """

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
    """Reads and restores the local variables of a call of a user's function that becomes part of the graph.  The journal treats them unlike
    other contents, since no code outside sees them.
    """


@dataclass(frozen=True, eq=False)
class AttributePlace(OutsidePlace):
    """Reads and writes an attribute of an object.  An attribute of a module has the same `key` as the global variable, so that both are one
    place.

    holder     the object
    name       the name of the attribute
    workspace  keeps written values, so that the object stays unchanged; None: the object itself is written
    """

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
            with suppress(AttributeError):  # the attribute is the class's
                delattr(self.holder, self.name)


@dataclass(frozen=True, eq=False)
class ObjectPlace:
    """Reads and restores all attributes of an object, as its `__dict__`.

    holder  the object
    """

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
    """Reads and writes a variable of an enclosing function that Python itself runs: the contents of a closure cell.

    cell       the closure cell
    workspace  keeps written values, so that the cell stays unchanged; None: the cell itself is written
    """

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
"""The changes of one branch: for the key of each changed place (variable, attribute, container), a tuple of the place, its value before and
its value after.
"""


class _Scope:
    """Keeps what one open branch has changed and created, until the journal undoes the changes.

    notes  by key: each changed place (variable, attribute, container), and its value before
    born   by key: the places that were created in the branch
    """

    def __init__(self) -> None:
        self.notes: dict[tuple[Any, ...], tuple[MutablePlace, Any]] = {}
        self.born: dict[tuple[Any, ...], MutablePlace] = {}

    def has_made(self, place: MutablePlace) -> bool:
        """Return True if a container or object was created in this branch, or if the place is an attribute of such an object."""
        return place.key in self.born or (isinstance(place, AttributePlace) and ("object", id(place.holder)) in self.born)


class Journal:
    """Records what the code that becomes the graph changes and creates, so that the changes of a branch can be undone, and changes of
    outside objects found.  There is one for each graph that is made.

    A *place* is a variable, an attribute, a container or a tensor that code can change, as a `MutablePlace`.

    where    returns the running line of the user's program, which is kept with each change for messages
    touched  for each changed place except local variables, by key: the place, its value before, and the line of the first change
    """

    def __init__(self, where: Callable[[], Loc] = lambda: UNKNOWN) -> None:
        self._scopes: list[_Scope] = []
        self._where = where
        self._made: dict[tuple[Any, ...], MutablePlace] = {}
        self._noted: list[dict[tuple[Any, ...], tuple[MutablePlace, Any]]] = []
        self.touched: dict[tuple[Any, ...], tuple[MutablePlace, Any, Loc]] = {}

    def end(self) -> None:
        """Free all objects that the journal has recorded; to be called when the graph has been made."""
        self._scopes, self._made, self.touched = [], {}, {}

    @property
    def is_open(self) -> bool:
        """Return True while the code of a branch or a loop that a tensor decides is being run to make its nodes."""
        return bool(self._scopes)

    def born(self, place: MutablePlace) -> None:
        """Record that the code that becomes the graph has just created an object; changes of it then need no check against other code.

        place  the new container, object or set of local variables
        """
        if not isinstance(place, NamesPlace):
            self._made[place.key] = place
        if self._scopes:
            self._scopes[-1].born[place.key] = place

    def has_made(self, x: object) -> bool:
        """Return True if the code that becomes the graph has itself created the container or object `x`."""
        return ("contents", id(x)) in self._made or ("object", id(x)) in self._made

    def is_own(self, place: MutablePlace) -> bool:
        """Return True if only the present branch of the graph sees changes of a container or object: it was created there, or no branch is
        open.

        place  the container or object
        """
        return not self._scopes or self._scopes[-1].has_made(place)

    def touch(self, place: MutablePlace) -> None:
        """Record the value of something that is about to change, so that the change can be undone.  Call this before the change.

        place  the variable, attribute, container or tensor
        """
        if not isinstance(place, NamesPlace):
            self.note(place, place.get)
        if self._scopes:
            scope = self._scopes[-1]
            if place.key not in scope.notes and not scope.has_made(place):
                scope.notes[place.key] = (place, place.get())

    def changed(self, place: MutablePlace, before: Any) -> None:
        """Record a change after it happened, so that it can be undone.  Do nothing if the value is still the same.

        place   the variable, attribute, container or tensor
        before  its value before the change
        """
        if is_as_before(before, place.get()):
            return
        self.note(place, lambda: before)
        if self._scopes:
            scope = self._scopes[-1]
            if place.key not in scope.notes and not scope.has_made(place):
                scope.notes[place.key] = (place, before)

    def note(self, place: MutablePlace, before: Callable[[], Any]) -> None:
        """Record a change in `touched`, with the current line of the user's program, unless an earlier change of the same place is recorded
        there.

        place   the variable, attribute, container or tensor that changes
        before  returns its value before the change
        """
        if place.key not in self.touched:
            self.touched[place.key] = (place, before(), self._where())
        for noted in self._noted:
            if place.key not in noted:
                noted[place.key] = (place, before())

    @contextmanager
    def noting(self) -> Iterator[dict[tuple[Any, ...], tuple[MutablePlace, Any]]]:
        """Collect what changes within a `with` statement, except local variables: by key each place, and its value before.  Nothing is
        undone.
        """
        self._noted.append({})
        try:
            yield self._noted[-1]
        finally:
            self._noted.pop()

    def write(self, place: MutablePlace, value: Any) -> None:
        """Set the value of something, and record the change, so that it is undone at the end of the open branch.

        place  the variable, attribute, container or tensor
        value  the new value
        """
        self.touch(place)
        place.set(value)

    def open(self, changes: Changes | None = None) -> None:
        """Begin a branch: changes from now on are undone by `close`.

        changes  changes to make at once: those of a branch that is continued, or the state with which a round of a loop begins; None for no
                 changes
        """
        scope = _Scope()
        for key, (place, before, after) in (changes or {}).items():
            scope.notes[key] = (place, before)
            place.set(after)
        self._scopes.append(scope)

    def close(self) -> Changes:
        """End the innermost branch: undo its changes, and return them."""
        scope = self._scopes.pop()
        noted = {key: (place, before, place.get()) for key, (place, before) in scope.notes.items()}
        changes = {key: change for key, change in noted.items() if not is_as_before(*change[1:])}
        for place, before, _ in changes.values():
            place.set(before)
        if self._scopes:
            self._scopes[-1].born.update(scope.born)
        return changes


def is_as_before(before: Any, after: Any) -> bool:
    """Return True if two values read from the same place at different times show no change.

    That is so if they are the same object, equal numbers or strings, or containers with the same objects in the same order.
    """
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
    """Return True if two values are the same object, or equal numbers or strings of the same type."""
    if a is b:
        return True
    if type(a) is not type(b) or not isinstance(a, (bool, int, float, complex, str, bytes)):
        return False
    return repr(a) == repr(b)
