"""Guards on an object as a whole: its attributes, the state of a cell, its hook slots, a tensor's type and numbers."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from adjoint.frontend.changes import purity
from adjoint.runtime.cells.attributes import EVERY_NAME
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.constants import described, ignore, is_light, is_still, key
from adjoint.runtime.graphs.guards.names import library_class, names_read
from adjoint.runtime.graphs.guards.places import ABSENT, GONE, Held, Missing, OwnAttribute, Place, Watch, watch_cell, words
from adjoint.runtime.graphs.guards.references import Life, Reference, Watched
from adjoint.runtime.hooks.handles import Slots
from adjoint.runtime.memory.machine import array_of
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CellState", "CellStructure", "HookSlots", "Numbers", "Object", "TypeOfTensor", "has_state"]


class _Whole(Held):
    """Guards all attributes of an object together; the base of `Object` and `CellState`.

    held        returns the object; None once it has been freed
    label       its name for messages
    identities  the names and ids of its attributes when the snapshot was taken; None if an attribute can change while it stays the same
        object
    """

    __slots__ = ("identities",)

    def __init__(self, held: Reference, label: str):
        super().__init__(held, label)
        self.identities: tuple[Any, ...] | None = None

    def read(self) -> Any:
        holder = self.held()
        return GONE if holder is None else holder

    def take(self, value: Any, watched: Watched) -> None:
        super().take(value, watched)
        self.value, self.value_id = GONE, 0  # not compared by identity: the same object may have other attributes
        self.identities = self.identities_of(value) if self.is_determined(value) else None

    def covers(self, name: str) -> bool:
        """Return True if this guard compares an attribute of this name, so that a guard of its own is not needed."""
        return True

    def is_determined(self, holder: Any) -> bool:
        """Return True if no attribute can change while it stays the same object, so that comparing ids is enough."""
        raise NotImplementedError

    def identities_of(self, holder: Any) -> tuple[Any, ...]:
        """Return the names and ids of an object's attributes, which are quick to compare."""
        raise NotImplementedError

    def holds(self, watched: Watched) -> bool:
        holder = self.held()
        if holder is None:
            return False
        if self.identities is not None and self.identities_of(holder) == self.identities:
            return True
        if self.key_of(holder, ignore) != self.key:
            return False
        if self.identities is not None:
            self.take(holder, watched)  # equal values in other objects: compare with these objects from now on
        return True


class Object(_Whole):
    """Guards the attributes of an object of the user's, and those of the objects in them."""

    __slots__ = ()

    def watch(self, value: Any) -> Watch:
        return "value"

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        return _attributes_key(value, hold, set(), 0)

    def take(self, value: Any, watched: Watched) -> None:
        super().take(value, watched)
        self.kept = tuple([held for held in self.kept if held is not value])

    def is_determined(self, holder: Any) -> bool:
        own = getattr(holder, "__dict__", {})
        return not _has_slots(type(holder)) and all(is_light(item) and not has_state(item) for item in [*own.values()])

    def identities_of(self, holder: Any) -> tuple[Any, ...]:
        own = holder.__dict__
        return (type(holder), *own, *map(id, own.values()))

    def difference(self) -> str:
        holder = self.held()
        if holder is None:
            return f"{self.label} is gone"
        return "" if self.key_of(holder, ignore) == self.key else f"an attribute of {self.label} is another one"


def has_state(value: Any) -> bool:
    """Return True if guards compare an object by its attributes: an instance of a user's class, or a record of the library."""
    kind = type(value)
    if kind is collections.OrderedDict or kind.__module__ == "builtins":
        return False
    return not isinstance(value, (type, types.ModuleType, types.FunctionType, Cell, Tensor, BaseException, np.ndarray)) \
        and (isinstance(getattr(value, "__dict__", None), dict) or _has_slots(kind))


def _has_slots(kind: type) -> bool:
    return any(base.__dict__.get("__slots__") for base in kind.__mro__)


def _attributes_key(value: Any, hold: Callable[[object], None], seen: set[int], around: int) -> Hashable:
    """Return a key that is equal if an object's class and attributes are equal.

    hold    called with each object that the key identifies by its id
    seen    ids of the objects that the whole key has covered so far
    around  how many objects of installed packages contain this one
    """
    kind = type(value)
    own = dict(getattr(value, "__dict__", {}))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                own[name] = getattr(value, _mangled(base, name), ABSENT)
    seen.add(id(value))
    return kind, tuple([(name, _deep_key(item, hold, seen, around)) for name, item in own.items()])


def _mangled(kind: type, name: str) -> str:
    """Return the name under which the attribute of a slot is found; Python prefixes a private name such as `__name` with the class."""
    return f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name


def _deep_key(item: Any, hold: Callable[[object], None], seen: set[int], around: int) -> Hashable:
    if has_state(item):
        hold(item)
        around += purity.is_installed_class(type(item))
        return id(item), None if id(item) in seen or around > _DEEPEST else _attributes_key(item, hold, seen, around)
    if isinstance(item, (*_CONTAINERS, dict)) and id(item) not in seen:
        inside = [*item, *item.values()] if isinstance(item, dict) else item
        if any(map(has_state, inside)):
            seen.add(id(item))
            return type(item), tuple([_deep_key(part, hold, seen, around) for part in inside])
    return key(item, hold)


_CONTAINERS = (list, tuple, collections.deque)
_DEEPEST = 4
"""Limit of the depth of objects of installed packages that the key covers; the user's objects are covered at any depth."""


class CellState(_Whole):
    """Guards a cell of the library as a whole: the graph may be used again only if its class, and the attributes that its code may read,
    are unchanged.

    held   returns the cell; None once it has been freed
    label  its name for messages
    texts  descriptions of the attributes' values, for messages
    """

    __slots__ = ("texts",)

    def __init__(self, held: Reference, label: str):
        super().__init__(held, label)
        self.texts: dict[str, str] = {}

    def parts(self) -> list[Place]:
        cell = self.held()
        if cell is None:
            return []
        watch_cell(cell, self.names(cell))
        loose = [name for name, value in self.attributes(cell).items() if not is_still(value) and name not in ("_cells", "_params")]
        return [self, *[OwnAttribute(self.held, name, f"{self.label}.{name}") for name in loose]]

    def watch(self, value: Any) -> Watch:
        return "epoch"

    def covers(self, name: str) -> bool:
        return name in self.names(self.held())

    def covers_every_name(self) -> bool:
        """Return True if this guard compares all attributes, as it does for a cell of a user's class."""
        return self.names(self.held()) is EVERY_NAME

    def names(self, cell: Any) -> frozenset[str]:
        """Return the names of the attributes that are compared, besides parameters, sub-cells and buffers."""
        return names_read(type(cell))

    def attributes(self, cell: Cell) -> dict[str, Any]:
        """Return the cell's own attributes that are compared, by name.

        Parameters come last, whether they are in the `__dict__` or not: `to_float` takes them out of it, which must not change the order.
        """
        attributes, names = dict(cell.__dict__), self.names(cell)  # a copy: another thread may change the cell
        parameters, held = dict(attributes.get("_params", {})), attributes.get("_cells", {})
        own = {name: x for name, x in attributes.items() if name not in _NOT_READ and parameters.get(name, ABSENT) is not x
               and (name in names or name in held or name in cell._buffers)}
        return {**own, **{name: x for name, x in parameters.items() if name not in own}}

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        attributes = self.attributes(value)
        for item in attributes.values():
            if is_light(item):
                hold(item)
        return type(value), *[(name, key(item, hold)) for name, item in attributes.items()]

    def take(self, value: Any, watched: Watched) -> None:
        super().take(value, watched)
        self.texts = {name: described(item) for name, item in self.attributes(value).items()}

    def is_determined(self, holder: Any) -> bool:
        return all(is_light(item) for name, item in self.attributes(holder).items() if name not in ("_cells", "_params"))

    def identities_of(self, holder: Any) -> tuple[Any, ...]:
        own = holder.__dict__
        cells, parameters = own["_cells"], own["_params"]
        return (type(holder), *own, *map(id, own.values()), *cells, *map(id, cells.values()), *parameters, *map(id, parameters.values()))

    def difference(self) -> str:
        cell = self.held()
        if cell is None:
            return f"{self.label} is gone"
        assert isinstance(self.key, tuple)
        if type(cell) is not self.key[0]:
            return f"{self.label} was {self.key[0].__name__}, is {type(cell).__name__}"
        before, attributes = dict(self.key[1:]), self.attributes(cell)
        for name in [*before, *attributes]:
            value = attributes.get(name, ABSENT)
            if name not in before or value is ABSENT or key(value) != before[name]:
                was, now = self.texts.get(name, "absent"), words(value)
                return f"{self.label}.{name} was {was}, is {now if now != was else 'another one'}"
        return "" if list(before) == list(attributes) else f"the attributes of {self.label} have another order"


_NOT_READ = frozenset({"_cell_hooks", "_cell_watched", "_cell_called", "_cell_direct", "_auto_prefix", "_param_prefix", "_phase", "_whole",
                       "_cell_substitutes", "_cell_is_hooked_itself"})
"""Attributes of a cell that `construct` does not depend on; hooks have guards of their own."""


class CellStructure(CellState):
    """Guards what the library's own class of a cell reads: its sub-cells, parameters and buffers, not what a user's class keeps besides."""

    __slots__ = ()

    def names(self, cell: Any) -> frozenset[str]:
        return names_read(library_class(type(cell)))


class Numbers(Held):
    """Guards the numbers in a tensor from outside of the graph that Python has read; they are compared at each call."""

    __slots__ = ()

    def read(self) -> Any:
        tensor = self.held()
        return GONE if tensor is None else array_of(tensor.memory, tensor.type)

    def watch(self, value: Any) -> Watch:
        return "value"


class HookSlots(Held):
    """Guards for which kinds of hooks a cell has any: the graph has nodes for these."""

    __slots__ = ()

    def read(self) -> Any:
        cell = self.held()
        if cell is None:
            return GONE
        hooks = cell._cell_hooks
        return () if hooks is None else tuple([slot for slot in Slots._fields if getattr(hooks, slot)])

    def watch(self, value: Any) -> Watch:
        return "epoch"

    def shown(self, value: Any) -> str:
        return ", ".join(value) if isinstance(value, tuple) and value else "none" if value == () else words(value)


class TypeOfTensor(Held):
    """Guards the type of a tensor from outside of the graph: its dtype and shape."""

    __slots__ = ()

    def read(self) -> Any:
        tensor = self.held()
        return GONE if tensor is None else tensor.type

    def watch(self, value: Any) -> Watch:
        return "epoch"

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        return object, id(value)

    def take(self, value: Any, watched: Watched) -> None:
        super().take(value, Watched(Life()))
        # The type must live even if no tensor has it for a while: equal types are one object only while it does.
        self.kept = (value,)

    def shown(self, value: Any) -> str:
        return value.word if isinstance(value, Missing) else str(value)
