"""The program around, as a function that becomes a graph sees it: writes that no other code sees, and reads that always return the same
value.

Other threads run while a function is turned into a graph (lowered), and use the same objects.  So a lowering leaves these objects
unchanged.  What it runs on its syntax tree is called parsed code; all other Python code is unparsed.

    a write   to an attribute, a global name or a variable of an enclosing function stays in the workspace
    a read    of such a place returns the last value that parsed code wrote, or else the value that the first read found; guards
              (conditions that are checked at later calls) compare with it

Unparsed Python code reads the objects themselves.  Before it may read a place that parsed code has written, the value is put into the
object (`expose`).  At the end it is removed again (`withdraw`), unless another thread has written the place since: then that write stays,
and the lowering counts as disturbed, so that the graph is made again.
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
"""For each container type that Python copies atomically (no other thread runs meanwhile): the function that copies it."""


def _copied_view(view: memoryview) -> Any:
    """Return a view of a copy of the memory that `view` shows; MISSING if Python cannot make one of its format."""
    try:
        copied: Any = memoryview(view.tobytes() if view.readonly else bytearray(view.tobytes()))
        return copied.cast(view.format, view.shape)
    except (NotImplementedError, TypeError, ValueError):
        return MISSING


def _contents_of(container: Any) -> Any:
    """Return a copy of the contents of a container, for comparison: the bytes of a memoryview (None if it has been released), otherwise as
    `ContentsPlace.get` returns them.
    """
    if not isinstance(container, memoryview):
        return ContentsPlace(container).get()
    try:
        return container.tobytes()
    except ValueError:
        return None


_NUMBERS: Mapping[type, Callable[[Any], Any]] = {np.ndarray: np.ndarray.copy, bytearray: bytearray, array: lambda x: x[:],
                                                   memoryview: _copied_view}
"""Types of containers of numbers, and the functions that copy them."""

Key = tuple[Any, ...]


def other_threads_run() -> bool:
    """Return True if other Python threads exist besides this one."""
    return len(sys._current_frames()) > 1


class Workspace:
    """Keeps the attributes and names of the program around as the code that becomes the graph sees them: its own writes, which no other
    code sees, and the values that its first reads have found.  There is one for each graph that is made.

    A *place* is an attribute, a global name or a variable of an enclosing function, as an `OutsidePlace`.

    world         the interface to the runtime, which records what the graph depends on
    is_shared     True if other threads may change the objects; only then the values of first reads are kept
    is_disturbed  True if another thread has written something that was read or written here; the graph must then be made again
    """

    def __init__(self, world: World):
        self._world = world
        self.is_shared = other_threads_run()
        self.is_disturbed = False
        self._written: dict[Key, tuple[OutsidePlace, Any]] = {}
        self._attributes: dict[int, tuple[Any, dict[str, Any]]] = {}
        """For the `id` of each object with written attributes: the object, and the written values by name."""
        self._of_classes = False
        """True if the user's code has written an attribute of a class, so that a read must search the bases for a written value."""
        self._found: dict[Key, tuple[Any, Any]] = {}
        """For the key of each place that was read: the place, and the value that the first read found."""
        self._exposed: dict[Key, tuple[OutsidePlace, Any, Any]] = {}
        """For the key of each place whose written value was put into the object itself, so that unparsed code sees it: the place, the
        object's value before, and the value put there.
        """
        self._contents: dict[int, tuple[Any, Any]] = {}
        """For the `id` of each container that was read: the container and the copy of its contents."""
        self._originals: dict[int, Any] = {}
        """For the `id` of each such copy: the container."""
        self._compared: dict[int, tuple[Any, Any, Any]] = {}
        """For the `id` of each array or other container without an atomic copy: the container, a copy of its numbers or MISSING, and its
        contents.
        """
        self._open: set[Key] = set()
        """The keys of the places that unparsed code may read from now on, so that each new value is put into the object at once."""
        self._open_holders: dict[int, Any] = {}
        """For each object of which unparsed code may read all attributes from now on: the object by its `id`."""

    # -- places -----------------------------------------------------------------------------------------------------------
    def get(self, place: OutsidePlace) -> Any:
        """Return the value of an attribute or a name as the code that becomes the graph sees it, or MISSING (a marker) if there is none.

        place  the attribute or name
        """
        written = self._written.get(place.key)
        if written is not None:
            return written[1]
        if isinstance(place, AttributePlace):
            return self.attribute(place.holder, place.name, MISSING)
        return self._repeated(place, place.held())

    def set(self, place: OutsidePlace, value: Any) -> None:
        """Write a value to an attribute or a name, for the code that becomes the graph only.  Other code sees it only after `expose`.

        place  the attribute or name
        value  the value; MISSING (a marker) removes an earlier write
        """
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
        """Set the value that an attribute or a name had at the beginning of the call.  The code that becomes the graph finds this value,
        although the object may hold a later one.

        This serves a call that began in one graph and is continued in another, for which its function is run again from the beginning.

        place   the attribute or name
        value   the value, as if the first read had found it
        is_own  False for an attribute that the object inherits from its class: then `value` is only recorded, and the object has none of
            its own
        """
        self._world.saw(place, value, is_own)
        if is_own:
            self.set(place, value)
        elif isinstance(place, AttributePlace):
            self._attributes_of(place.holder)[place.name] = MISSING

    def is_own(self, place: OutsidePlace) -> bool:
        """Return False for an attribute that the object inherits from its class.  Return True for an attribute of its own, and for all
        names.

        place  the attribute or name
        """
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
        """Return the values that the code that becomes the graph has written to the attributes of the object `holder`.

        MISSING (a marker) stands for an attribute that the object inherits from its class.
        """
        return () if id(holder) not in self._attributes else self._attributes[id(holder)][1].values()

    # -- reading ----------------------------------------------------------------------------------------------------------
    def item(self, namespace: dict[str, Any], name: str) -> Any:
        """Return the value of a global name as the code that becomes the graph sees it, or MISSING (a marker) if there is none.

        namespace  the global variables of the module
        """
        return self.get(ItemPlace(namespace, name)) if self._written or self.is_shared else namespace.get(name, MISSING)

    def variable(self, cell: types.CellType) -> Any:
        """Return the value of a variable of an enclosing function, as the code that becomes the graph sees it.  ValueError if it has no
        value.

        cell  the closure cell, in which Python keeps the variable
        """
        found = self.get(CellPlace(cell)) if self._written or self.is_shared else cell.cell_contents
        return cell.cell_contents if found is MISSING else found

    def attribute(self, holder: Any, name: str, *default: Any) -> Any:
        """Return `getattr(holder, name, *default)` as the code that becomes the graph sees it: with the values that it has written or read
        before.
        """
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
        """Return the value that the code that becomes the graph has written to `holder.name`, or to this attribute of a class that the
        object inherits it from.

        Return _NOT_WRITTEN (a marker) if there is no such value.
        """
        if id(holder) in self._attributes:
            own = self._attributes[id(holder)][1]
            if name in own:
                return own[name] if own[name] is not MISSING else getattr(type(holder), name, _NOT_WRITTEN)
        if isinstance(holder, type):
            classes = holder.__mro__
        elif type(holder) is super:
            found: Any = holder  # pyright knows no attributes of `super`
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
        """Return the value for a read of an attribute or a name: that of the first read, so that all reads agree although other threads
        write.

        place  the attribute or name
        found  the value that the present read finds; if this is the first read, it is kept and returned
        """
        if found is MISSING or not self.is_shared or self._is_open(place):
            return found
        known = self._found.get(place.key)
        if known is not None:
            return known[1]
        stored = _stored(place, found)
        if stored is None and isinstance(place, AttributePlace) and self._is_plain(type(place.holder)):
            # either another thread has written the attribute meanwhile, or each read computes a new value
            found, stored = _stored_now(place, found)
        if stored is not None:
            self._found[place.key] = place, found
            self._world.saw(place, found, stored)
            self._watch(found)
        return found

    def _watch(self, value: Any) -> None:
        """Copy the contents of arrays and similar containers inside of a value, so that `compare` can find writes by other threads."""
        pending, seen = [value], set[int]()
        while pending:
            x = pending.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            if type(x) in COPIED or type(x) is tuple:
                pending += COPIED.get(type(x), tuple)(x).values() if type(x) is dict else COPIED.get(type(x), tuple)(x)
            elif isinstance(x, (memoryview, *CONTAINERS)):
                self._compared.setdefault(id(x), (x, _NUMBERS[type(x)](x) if type(x) in _NUMBERS else MISSING, _contents_of(x)))

    def part(self, view: Any, copied: Any) -> Any:
        """Record that `view`, a part of an array or memoryview, has the contents `copied`; return `view`.  `numbers(view)` then returns
        `copied`.

        copied  the same part of the copy that was made of the whole
        """
        if isinstance(view, (np.ndarray, memoryview)):
            self._compared.setdefault(id(view), (view, copied, _contents_of(copied)))
        return view

    def numbers(self, container: Any) -> Any:
        """Return an array or similar container as it was when the user's code found it.  The caller must not change it or keep a view of
        it.

        Return the container itself if no copy was made.
        """
        found = self._compared.get(id(container), (None, MISSING))[1]
        return container if found is MISSING else found

    def compare(self) -> None:
        """Set `is_disturbed` if another thread has written an array or similar container since the user's code found it.  Called when the
        graph has been made.
        """
        self.is_disturbed |= any(not is_as_before(before, _contents_of(x)) for x, _, before in self._compared.values())

    def _is_plain(self, kind: type) -> bool:
        """Return True if reading attributes of this class runs Python's or the library's lookup, and no user code."""
        method = kind.__getattribute__
        return isinstance(method, types.WrapperDescriptorType) or self._world.is_library(method)

    def contents(self, container: Any) -> Any:
        """Return a copy of a container, with the items that it had when the user's code first read it."""
        known = self._contents.get(id(container))
        if known is None:
            known = self._contents[id(container)] = container, COPIED[type(container)](container)
            self._originals[id(known[1])] = container
            self._watch(known[1])
        return known[1]

    def original(self, container: Any) -> Any:
        """Return the container that was copied, if `container` is a copy that `contents` has returned.  Any other object is returned
        itself.
        """
        while id(container) in self._originals:
            container = self._originals[id(container)]
        return container

    def as_found(self, value: Any, around: tuple[int, ...] = ()) -> Any:
        """Return a value in which each container has the contents that the user's code has read, so that later calls can compare them.

        around  the `id`s of the containers around `value`, against infinite recursion
        """
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
        """Let code that Python itself runs see what the code that becomes the graph writes to an attribute or a name.

        place  the attribute or name

        The value written before, if any, is put into the object now, and later ones when they are written.
        """
        key = place.key
        self._open.add(key)
        if key in self._written and key not in self._exposed:
            self._put(*self._written[key])

    def expose_all(self, holder: Any) -> None:
        """Let code that Python itself runs see what the code that becomes the graph writes to the attributes of the object `holder`.

        The values written before are put into the object now, and later ones when they are written.
        """
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
        """Restore the values that objects had before `expose` put values of the code that becomes the graph into them.

        Where another thread has written since, its write stays, and `is_disturbed` is set.
        """
        for place, before, put in reversed(self._exposed.values()):
            if are_one(place.held(), put):
                place.put(before)
            else:
                self.is_disturbed = True
        self._exposed.clear()

    def end(self) -> None:
        """Free all objects that the workspace keeps; to be called when the graph has been made."""
        self._written, self._attributes, self._found, self._contents, self._originals = {}, {}, {}, {}, {}
        self._compared, self._open_holders = {}, {}


_NOT_WRITTEN: Any = object()

def _is_own(place: OutsidePlace) -> bool:
    """Return False for an attribute that an object inherits from its class.  Return True for an attribute of its own, and for all names.

    place  the attribute or name
    """
    return not isinstance(place, AttributePlace) or place.name in getattr(place.holder, "__dict__", (place.name,))


def _stored(place: OutsidePlace, found: Any) -> bool | None:
    """Return where a value that a read of an attribute or a name has found is stored: True for the object itself, False for its class; None
    if Python computed it.

    place  the attribute or name
    found  the value
    """
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
    """Read an attribute again without running user code, since another thread may have written it after `found` was read.

    place  the attribute
    found  the value that was read before

    Return the value, and True if the object stores it or False if its class does.  If the attribute is computed, return `found` and None.
    """
    holder, name = place.holder, place.name
    static = inspect.getattr_static(holder, name, MISSING)
    if static is MISSING or hasattr(type(static), "__get__"):
        return found, None
    return static, getattr(holder, "__dict__", {}).get(name, MISSING) is static
