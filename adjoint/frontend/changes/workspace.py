"""What one lowering sees of the program around it: writes that nobody else sees, and reads that repeat.

Other threads run while a function is lowered, and use the same objects. So a lowering leaves these as they are:

    a write   to an attribute, a global name or a variable of an enclosing function stays in the workspace
    a read    of such a place returns what parsed code wrote last, or else what the first read found: the guards compare with that

Python code that is not parsed reads the objects themselves. Before it may read a place that parsed code has written, the value is put
there (`expose`). At the end it is taken back (`withdraw`), unless another thread has written the place since: that write stays, and the
lowering is disturbed, so that the graph is made again.
"""

from __future__ import annotations

import inspect
import sys
import types
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from adjoint.frontend.changes.journal import (
    CONTAINERS,
    MISSING,
    AttributePlace,
    CellPlace,
    ContentsPlace,
    ItemPlace,
    OutsidePlace,
    are_one,
    is_as_before,
)
from adjoint.frontend.world import World

__all__ = ["COPIED", "Workspace"]

COPIED: Mapping[type, Callable[[Any], Any]] = {list: list, dict: dict, set: set, deque: lambda x: deque(x, x.maxlen)}
"""Containers, and how Python copies one at once: no other thread runs meanwhile.  Others, such as arrays, may have views."""

_NUMBERS: Mapping[type, Callable[[Any], Any]] = {np.ndarray: np.ndarray.copy, bytearray: bytearray, array: lambda x: x[:]}
"""Containers of numbers, and how one is copied."""

Key = tuple[Any, ...]


def other_threads_run() -> bool:
    """Return whether there are threads of Python besides this one."""
    return len(sys._current_frames()) > 1


class Workspace:
    """The workspace of one lowering.

    is_shared     True if other threads may change what is read: only then reads are kept
    is_disturbed  True if another thread has written a place whose value was exposed
    """

    def __init__(self, world: World):
        self._world = world
        self.is_shared = other_threads_run()
        self.is_disturbed = False
        self._written: dict[Key, tuple[OutsidePlace, Any]] = {}
        self._attributes: dict[int, tuple[Any, dict[str, Any]]] = {}
        """By the id of an object, the object and its written attributes."""
        self._of_classes = False
        """True if attributes of a class have been written."""
        self._found: dict[Key, tuple[Any, Any]] = {}
        """By the key of a place, its object, and what the first read has found."""
        self._exposed: dict[Key, tuple[OutsidePlace, Any, Any]] = {}
        """The places with what they held before, and with what was put there."""
        self._contents: dict[int, tuple[Any, Any]] = {}
        """By the id of a container, the container and a copy of what was read in it."""
        self._originals: dict[int, Any] = {}
        """By the id of such a copy, the container."""
        self._compared: dict[int, tuple[Any, Any, Any]] = {}
        """By its id, a container of another kind, such as an array, a copy of it as it was found if it has numbers, and what was in it."""
        self._open: set[Key] = set()
        """The keys of places that code which is not parsed may read from now on."""
        self._open_holders: dict[int, Any] = {}
        """By its id, an object of which it may read all attributes."""

    # -- places -----------------------------------------------------------------------------------------------------------
    def get(self, place: OutsidePlace) -> Any:
        """Return the value of a place; MISSING for none."""
        written = self._written.get(place.key)
        if written is not None:
            return written[1]
        if isinstance(place, AttributePlace):
            return self.attribute(place.holder, place.name, MISSING)
        return self._repeated(place, place.held())

    def set(self, place: OutsidePlace, value: Any) -> None:
        """Write a place; MISSING takes the write back."""
        key = place.key
        if value is MISSING:
            self._written.pop(key, None)
        else:
            self._written[key] = place, value
        if isinstance(place, AttributePlace):
            self._attributes_of(place.holder).pop(place.name, None)
            if value is not MISSING:
                self._attributes_of(place.holder)[place.name] = value
        if key in self._exposed or self._is_open(place):
            self._put(place, value)

    def begin(self, place: OutsidePlace, value: Any, is_own: bool) -> None:
        """Let a place have a value from the beginning; an attribute that is not the object's own is that of its class."""
        self._world.saw(place, value, is_own)
        if is_own:
            self.set(place, value)
        elif isinstance(place, AttributePlace):
            self._attributes_of(place.holder)[place.name] = MISSING

    def is_own(self, place: OutsidePlace) -> bool:
        """Return False if a place is an attribute that the object has of its class."""
        if not isinstance(place, AttributePlace):
            return True
        written = self._attributes.get(id(place.holder), (None, {}))[1]
        return written[place.name] is not MISSING if place.name in written else _is_own(place)

    def _attributes_of(self, holder: Any) -> dict[str, Any]:
        known = self._attributes.get(id(holder))
        if known is None:
            known = self._attributes[id(holder)] = holder, {}
            self._of_classes |= isinstance(holder, type)
            self._world.keep_attributes(holder, known[1])
        return known[1]

    def values_of(self, holder: object) -> Iterable[Any]:
        """Return the values written to the attributes of an object."""
        return () if id(holder) not in self._attributes else self._attributes[id(holder)][1].values()

    # -- reading ----------------------------------------------------------------------------------------------------------
    def item(self, namespace: dict[str, Any], name: str) -> Any:
        """Return the value of a global name; MISSING for none."""
        return self.get(ItemPlace(namespace, name)) if self._written or self.is_shared else namespace.get(name, MISSING)

    def variable(self, cell: types.CellType) -> Any:
        """Return the value of a variable of an enclosing function; ValueError if it has none."""
        found = self.get(CellPlace(cell)) if self._written or self.is_shared else cell.cell_contents
        return cell.cell_contents if found is MISSING else found

    def attribute(self, holder: Any, name: str, *default: Any) -> Any:
        """Return `getattr(holder, name, *default)` as parsed code sees it."""
        if type(holder) is types.ModuleType:
            found = self.item(vars(holder), name)
            return getattr(holder, name, *default) if found is MISSING else found
        if self._attributes:
            written = self._written_attribute(holder, name)
            if written is not _NOT_WRITTEN:
                return written
        if not self.is_shared:
            return getattr(holder, name, *default)
        place = AttributePlace(holder, name)
        known = self._found.get(place.key)
        if known is not None and not self._is_open(place):
            return known[1]
        found = getattr(holder, name, *default)
        if default and found is default[0]:
            return found
        return self._repeated(place, found)

    def _written_attribute(self, holder: Any, name: str) -> Any:
        """Return the written value of an attribute, or _NOT_WRITTEN."""
        if id(holder) in self._attributes:
            own = self._attributes[id(holder)][1]
            if name in own:
                return own[name] if own[name] is not MISSING else getattr(type(holder), name, _NOT_WRITTEN)
        if isinstance(holder, type):
            classes = holder.__mro__
        elif type(holder) is super:
            found: Any = holder  # to pyright, super has no attributes of its own
            classes = found.__self_class__.__mro__
            classes = classes[classes.index(found.__thisclass__) + 1 :]
        else:
            classes = () if not self._of_classes or name in getattr(holder, "__dict__", ()) else type(holder).__mro__
        for kind in classes:
            if id(kind) in self._attributes and name in self._attributes[id(kind)][1]:
                return self._attributes[id(kind)][1][name]
            if name in vars(kind):
                break
        return _NOT_WRITTEN

    def _repeated(self, place: OutsidePlace, found: Any) -> Any:
        """Return what the first read of a place has found, which was `found` if this is the first one."""
        if found is MISSING or not self.is_shared or self._is_open(place):
            return found
        known = self._found.get(place.key)
        if known is not None:
            return known[1]
        stored = _stored(place, found)
        if stored is None and isinstance(place, AttributePlace) and self._is_plain(type(place.holder)):
            # Another thread has written it meanwhile, unless each read computes one.
            found, stored = _stored_now(place, found)
        if stored is not None:
            self._found[place.key] = place, found
            self._world.saw(place, found, stored)
            self._watch(found)
        return found

    def _watch(self, value: Any) -> None:
        """Keep what is in the containers of other kinds in a value: `compare` finds whether another thread has written them since."""
        pending, seen = [value], set[int]()
        while pending:
            x = pending.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            if type(x) in COPIED or type(x) is tuple:
                pending += COPIED.get(type(x), tuple)(x).values() if type(x) is dict else COPIED.get(type(x), tuple)(x)
            elif isinstance(x, memoryview):
                pending.append(x.obj)
            elif isinstance(x, CONTAINERS):
                self._compared.setdefault(id(x), (x, _NUMBERS[type(x)](x) if type(x) in _NUMBERS else MISSING, ContentsPlace(x).get()))

    def numbers(self, container: Any) -> Any:
        """Return an array or the like as it was when it was found; only for code that neither changes it nor takes a view of it."""
        found = self._compared.get(id(container), (None, MISSING))[1]
        return container if found is MISSING else found

    def compare(self) -> None:
        """Find out whether another thread has written an array or the like since it was found; to be called when the guards are firm."""
        self.is_disturbed |= any(not is_as_before(before, ContentsPlace(x).get()) for x, _, before in self._compared.values())

    def _is_plain(self, kind: type) -> bool:
        """Return True if `getattr` of an object of this class looks the attribute up as Python does by itself."""
        method = kind.__getattribute__
        return isinstance(method, types.WrapperDescriptorType) or self._world.is_library(method)

    def contents(self, container: Any) -> Any:
        """Return a container with the items that the first read of this one has found."""
        known = self._contents.get(id(container))
        if known is None:
            known = self._contents[id(container)] = container, COPIED[type(container)](container)
            self._originals[id(known[1])] = container
            self._watch(known[1])
        return known[1]

    def original(self, container: Any) -> Any:
        """Return the container of which this is a copy, or a copy of a copy, that `contents` has made; `container` itself if it is none."""
        while id(container) in self._originals:
            container = self._originals[id(container)]
        return container

    def as_found(self, value: Any, around: tuple[int, ...] = ()) -> Any:
        """Return a value with the containers in it as they have been read; `around` holds the ids of those that contain it."""
        if id(value) in self._compared:
            return self.numbers(value)
        if not (self._contents or self._compared) or id(value) in around or not (type(value) in COPIED or type(value) is tuple):
            return value
        around = (*around, id(value))
        read = self._contents.get(id(value), (None, value))[1]
        if type(read) is dict:
            return {key: self.as_found(item, around) for key, item in read.items()}
        return type(read)([self.as_found(item, around) for item in read])

    # -- code that is not parsed --------------------------------------------------------------------------------------------
    def expose(self, place: OutsidePlace) -> None:
        """Let code that is not parsed find in the object what parsed code writes to a place, from now on."""
        key = place.key
        self._open.add(key)
        if key in self._written and key not in self._exposed:
            self._put(*self._written[key])

    def expose_all(self, holder: Any) -> None:
        """Do the same for all attributes of an object."""
        self._open_holders[id(holder)] = holder
        for name in (*self._attributes.get(id(holder), (None, {}))[1],):
            self.expose(AttributePlace(holder, name))

    def _is_open(self, place: OutsidePlace) -> bool:
        return place.key in self._open or (isinstance(place, AttributePlace) and id(place.holder) in self._open_holders)

    def _put(self, place: OutsidePlace, value: Any) -> None:
        if place.key not in self._exposed:
            if not self._exposed:
                self._world.expose()
            before = place.held() if _is_own(place) else MISSING
        else:
            _, before, put = self._exposed[place.key]
            if not are_one(place.held(), put):
                self.is_disturbed = True
                return
        place.put(value)
        self._exposed[place.key] = place, before, value

    def withdraw(self) -> None:
        """Take back what was put into objects, where no other thread has written since."""
        for place, before, put in reversed(self._exposed.values()):
            if are_one(place.held(), put):
                place.put(before)
            else:
                self.is_disturbed = True
        self._exposed.clear()

    def end(self) -> None:
        """Drop all objects: nothing is run any more."""
        self._written, self._attributes, self._found, self._contents, self._originals = {}, {}, {}, {}, {}
        self._compared, self._open_holders = {}, {}


_NOT_WRITTEN: Any = object()

def _is_own(place: OutsidePlace) -> bool:
    """Return True unless a place is an attribute that an object has of its class."""
    return not isinstance(place, AttributePlace) or place.name in getattr(place.holder, "__dict__", (place.name,))


def _stored(place: OutsidePlace, found: Any) -> bool | None:
    """Return True if an object holds the value that a read has found, False if its class does, None if it was computed."""
    if not isinstance(place, AttributePlace):
        return True
    holder, name = place.holder, place.name
    if getattr(holder, "__dict__", {}).get(name, MISSING) is found:
        return True
    static = inspect.getattr_static(type(holder), name, MISSING)
    if isinstance(static, types.MemberDescriptorType):
        return True
    method = isinstance(found, types.MethodType) and found.__self__ is holder
    return False if static is (found.__func__ if method else found) else None


def _stored_now(place: AttributePlace, found: Any) -> tuple[Any, bool | None]:
    """Look up what an attribute is now, without code of the user's: another thread may have written it after `found` was read.

    Return that, with True if it is stored in the object and False if in its class; `found` and None if it is computed.
    """
    holder, name = place.holder, place.name
    static = inspect.getattr_static(holder, name, MISSING)
    if static is MISSING or hasattr(type(static), "__get__"):
        return found, None
    return static, getattr(holder, "__dict__", {}).get(name, MISSING) is static
