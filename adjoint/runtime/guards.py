"""Guards: what a graph was made of, and whether that is still so.

While a function is lowered, every constant that it reads from outside is recorded by the place it was read from: a
global, a closure, an attribute, a cell whose Python ran as it is.  `freeze` takes a snapshot of what stands
there (`adjoint.runtime.values` says which values are the same), `holds` compares.

How often a place is looked at depends on who would notice a change.  What stands in a cell, its hook slots and the
types of tensors are compared when the epoch has moved; a cell's own `__dict__`, written to past `__setattr__`, is not
watched.  Everything else is compared at every call: what can be told by its identity by one pass over the ids of all such
places, containers, arrays and computed attributes item by item.

Guards keep alive what they mean by identity only where Python has no weak references to it.  A graph that hangs on a
cell therefore does not keep the cell alive; once something it depends on is gone it does not hold any more.
"""

from __future__ import annotations

import builtins
import types
import weakref
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from operator import attrgetter, is_, itemgetter
from typing import Any, Literal

import numpy as np

from adjoint.runtime.cell import Cell
from adjoint.runtime.epoch import epoch
from adjoint.runtime.hooks import CellHooks
from adjoint.runtime.machine import array_of
from adjoint.runtime.parameter import Parameter
from adjoint.runtime.tensor import Tensor
from adjoint.runtime.values import described, is_light, is_rooted, is_still, key

__all__ = ["Guards"]

Watch = Literal["epoch", "identity", "value"]


class Guards:
    """The guards of one graph: recorded by `of_...`, made firm by `freeze`, asked by `holds` and `broken`.

    `label`, where it is taken, is how the code says what was read: `self.rate`.
    """

    def __init__(self) -> None:
        self._places: dict[Hashable, _Place] = {}
        self._parts: list[_Place] = []
        self._life = _Life(lasts=False)
        self._holders: list[weakref.ref[Cell]] = []
        """Cells in which something was read: when one is gone, it is known at once."""
        self._epoch = -1
        self._by_epoch: list[_Place] = []
        self._by_identity: list[_Place] = []
        self._by_value: list[_Place] = []
        self._kept_groups: list[tuple[_Read, tuple[Any, ...]]] = []
        """What reads some places at once, and the very objects that must be there."""
        self._other_groups: list[tuple[_Read, tuple[int, ...]]] = []
        """The same with the ids of objects that are not kept alive."""
        self._absent: list[tuple[Callable[[Iterable[str]], bool], frozenset[str]]] = []

    # -- recording ----------------------------------------------------------------------------------------------------
    def of_name(self, namespace: dict[str, Any], name: str) -> None:
        """A global: what `name` means in a module's namespace, or else among the builtins."""
        self._places.setdefault((_Name, id(namespace), name), _Name(namespace, name))

    def of_closure(self, cell: types.CellType, label: str = "") -> None:
        """A variable of a function around."""
        self._places.setdefault((_Closure, id(cell)), _Closure(cell, label or "a variable of a function around"))

    def of_attribute(self, holder: object, name: str, label: str = "") -> None:
        """What `getattr(holder, name)` gives, or that it gives nothing.  A property runs once at each comparison."""
        held = _reference(holder)
        self._places.setdefault((_Attribute, _mark(held), name), _Attribute(held, name, label or f"{_named(holder)}.{name}"))

    def of_cell(self, cell: Cell) -> None:
        """All that a cell of the library may read of itself: its attributes, parameters and sub-cells."""
        held = _reference(cell)
        self._places.setdefault((_State, _mark(held)), _State(held, _named(cell)))

    def of_slots(self, cell: Cell) -> None:
        """Which of a cell's four slots have hooks."""
        held = _reference(cell)
        self._places.setdefault((_Slots, _mark(held)), _Slots(held, f"hooks of {_named(cell)}"))

    def of_object(self, holder: object) -> None:
        """All attributes of an object whose methods Python calls by itself: `len(x)`, `x[0]`, `x + 1`."""
        held = _reference(holder)
        self._places.setdefault((_Object, _mark(held)), _Object(held, _named(holder)))

    def of_numbers(self, tensor: Tensor) -> None:
        """The numbers in a tensor from outside that Python has read."""
        held = _reference(tensor)
        self._places.setdefault((_Numbers, _mark(held)), _Numbers(held, f"the numbers of {_named(tensor)}"))

    def of_setting(self, read: Callable[[str], Any], name: str) -> None:
        """A setting, `read(name)`; whoever changes it moves the epoch."""
        self._places.setdefault((_Setting, name), _Setting(read, name))

    def of_tensor_type(self, tensor: Tensor) -> None:
        """The dtype and shape of a parameter or of another tensor that was read from outside."""
        held = _reference(tensor)
        self._places.setdefault((_TensorType, _mark(held)), _TensorType(held, f"the type of {_named(tensor)}"))

    def count(self) -> int:
        """How many places have been recorded."""
        return len(self._places)

    def forget(self, since: int, until: int) -> None:
        """Forget the places that were recorded between two counts."""
        for mark in [*self._places][since:until]:
            del self._places[mark]

    def freeze(self) -> None:
        """Take what stands everywhere now as what must stand there.

        Holders that are gone already were made while lowering and belong to nobody: their places are dropped.
        """
        life = _Life()
        self._epoch = epoch.now
        self._parts = [part for place in self._places.values() for part in place.parts()]
        watched: dict[Watch, list[_Place]] = {"epoch": [], "identity": [], "value": []}
        for part in self._parts:
            value = part.read()
            part.take(value, life)
            watched[part.watch(value)].append(part)
        self._by_epoch, self._by_identity, self._by_value = watched["epoch"], watched["identity"], watched["value"]
        holders = {id(holder): holder for part in self._parts if isinstance(holder := part.holder(), Cell)}
        self._holders = [weakref.ref(holder, life.end) for holder in holders.values()]
        self._life = life
        self._group()

    def _group(self) -> None:
        """Bring the places that are told by identity together by what they are read from."""
        together: dict[Hashable, list[_Place]] = {}
        for place in self._by_identity:
            together.setdefault((place.source(), place.value is None), []).append(place)
        groups: list[_Group] = []
        absent: list[_Absences] = []
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
        return "" if self._life.lasts else "something that was read is gone"


class _Life:
    """Whether all objects that are meant by their identity, and that Python has weak references to, are alive."""

    __slots__ = ("ended", "lasts")

    def __init__(self, lasts: bool = True) -> None:
        self.lasts = lasts
        self.ended: Callable[[], None] | None = None

    def end(self, gone: object) -> None:
        self.lasts = False
        ended, self.ended = self.ended, None
        if ended is not None:
            ended()


class _Strong:
    """A reference to an object of which there are no weak ones."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __call__(self) -> Any:
        return self.value


_Reference = Callable[[], Any]
_Read = Callable[[], Iterable[Any]]
_Group = tuple[_Read, "list[_Place]"]
"""What reads some places at once, and the places in the order in which it gives their values."""
_Absences = tuple[dict[str, Any], frozenset[str]]
"""A namespace and the names that must not be in it."""


def _reference(value: Any) -> _Reference:
    """A weak reference if there can be one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return _Strong(value)


def _mark(reference: _Reference) -> int:
    """The same for two references to one object, while either exists."""
    return id(reference.value) if isinstance(reference, _Strong) else id(reference)


def _named(holder: Any) -> str:
    match holder:
        case Cell():
            return str(holder.__dict__.get("title") or type(holder).__name__)
        case Parameter():
            return holder.name
        case types.ModuleType():
            return holder.__name__
        case type():
            return holder.__qualname__
        case _:
            return f"{type(holder).__name__}"


# -- places -----------------------------------------------------------------------------------------------------------
class _Place:
    """Where a constant was read.

    label  how people call it
    key    that of the value there when it was taken (`adjoint.runtime.values.key`)
    was    that value in words
    kept   references to all objects that the key means by identity
    value     the value itself, if that can be kept without harm; else None
    value_id  its id
    """

    __slots__ = ("key", "kept", "label", "value", "value_id", "was")

    def __init__(self, label: str):
        self.label = label
        self.key: Hashable = None
        self.was = ""
        self.kept: list[object] = []
        self.value: Any = None
        self.value_id = 0

    def holder(self) -> Any:
        """The object in which this is a place, if there is one that lives apart from it."""
        held = getattr(self, "held", None)
        return None if held is None else held()

    def parts(self) -> list[_Place]:
        """What has to be looked at for this place; nothing if its holder is gone."""
        return [self]

    def read(self) -> Any:
        """What stands there now; `_ABSENT` for nothing, `_GONE` when the holder itself is gone."""
        raise NotImplementedError

    def watch(self, value: Any) -> Watch:
        """How often to look, given what stands there."""
        return "identity" if is_light(value) and value is not _ABSENT else "value"

    def take(self, value: Any, life: _Life) -> None:
        """Remember `value` as what must stand there."""
        kept: list[object] = []

        def hold(held: object) -> None:
            try:
                kept.append(weakref.ref(held, life.end))
            except TypeError:
                kept.append(held)

        self.key = self.key_of(value, hold)
        if is_light(value):
            hold(value)
        self.was = self.shown(value)
        self.kept, self.value, self.value_id = kept, value if is_rooted(value) else None, id(value)

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        return key(value, hold)

    def shown(self, value: Any) -> str:
        return _words(value)

    def holds(self, life: _Life) -> bool:
        return key(self.read()) == self.key

    def difference(self) -> str:
        """What is not as it was, in words; "" if all is."""
        value = self.read()
        if key(value) == self.key:
            return ""
        now = self.shown(value)
        return f"{self.label} was {self.was}, is {now if now != self.was else 'another one'}"

    def source(self) -> Hashable:
        """The same for places that can be read together."""
        raise NotImplementedError

    def group(self, places: list[Any], groups: list[_Group], absent: list[_Absences]) -> None:
        """Add how `places`, of the same source, are read at once."""
        raise NotImplementedError


class _Missing:
    """Stands for a value that is not there."""

    def __init__(self, word: str):
        self.word = word


_ABSENT, _GONE = _Missing("absent"), _Missing("gone")


def _words(value: Any) -> str:
    return value.word if isinstance(value, _Missing) else described(value)


def _twice(names: list[Any]) -> list[Any]:
    """A getter of one name alone does not give a tuple: the first one is asked for twice."""
    return [*names, names[0]]


class _Name(_Place):
    """A global, or a builtin."""

    __slots__ = ("name", "namespace")

    def __init__(self, namespace: dict[str, Any], name: str):
        super().__init__(name)
        self.namespace, self.name = namespace, name

    def _builtins(self) -> dict[str, Any]:
        found = self.namespace.get("__builtins__", builtins)
        return found if isinstance(found, dict) else vars(found)

    def read(self) -> Any:
        found = self.namespace.get(self.name, _ABSENT)
        return found if found is not _ABSENT else self._builtins().get(self.name, _ABSENT)

    def source(self) -> Hashable:
        return _Name, id(self.namespace)

    def group(self, places: list[_Name], groups: list[_Group], absent: list[_Absences]) -> None:
        here = [place for place in places if place.name in self.namespace]
        below = [place for place in places if place.name not in self.namespace]
        if below:
            absent.append((self.namespace, frozenset(place.name for place in below)))
        for found, namespace in ((here, self.namespace), (below, self._builtins())):
            if found:
                groups.append((partial(itemgetter(*_twice([place.name for place in found])), namespace), _twice([*found])))


_contents = attrgetter("cell_contents")


class _Closure(_Place):
    """A variable of a function around."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType, label: str):
        super().__init__(label)
        self.cell = cell

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return _ABSENT

    def source(self) -> Hashable:
        return _Closure

    def group(self, places: list[_Closure], groups: list[_Group], absent: list[_Absences]) -> None:
        groups.append((partial(map, _contents, [place.cell for place in places]), [*places]))


class _Attribute(_Place):
    """What `getattr` gives."""

    __slots__ = ("held", "name")

    def __init__(self, held: _Reference, name: str, label: str):
        super().__init__(label)
        self.held, self.name = held, name

    def read(self) -> Any:
        holder = self.held()
        if holder is None:
            return _GONE
        try:
            return getattr(holder, self.name)
        except Exception:  # whatever it is, lowering meets it again, in the user's line
            return _ABSENT

    def parts(self) -> list[_Place]:
        holder = self.held()
        if holder is None:
            return []
        kind = type(holder)
        if not issubclass(kind, Cell):
            return [self]
        _watch(holder)
        static = _in_class(kind, self.name)
        if not _is_usual(kind) or _is_computed(static, self.name in holder.__dict__):
            return [self]
        own = _OwnAttribute(self.held, self.name, self.label)
        return [own] if self.name in holder.__dict__ else [own, _Attribute(_reference(kind), self.name, self.label)]

    def watch(self, value: Any) -> Watch:
        holder = self.held()
        kind = type(holder)
        if "." in self.name or value is _ABSENT or not is_light(value):
            return "value"
        if kind is types.ModuleType:
            plain = self.name in vars(holder)
        elif kind is types.FunctionType and self.name in _OF_FUNCTIONS:
            plain = True
        elif issubclass(kind, type):
            plain = _in_class(kind, self.name) is _ABSENT and not _is_computed(_in_class(holder, self.name), False)
        else:
            static = _in_class(kind, self.name)
            own = self.name in getattr(holder, "__dict__", ())
            plain = _is_usual(kind) and (isinstance(static, types.MemberDescriptorType) or (own and not _is_computed(static, own)))
        return "identity" if plain else "value"

    def source(self) -> Hashable:
        return _Attribute, _mark(self.held)

    def group(self, places: list[_Attribute], groups: list[_Group], absent: list[_Absences]) -> None:
        getter = attrgetter(*_twice([place.name for place in places]))
        groups.append((partial(_all_of, self.held, getter), _twice([*places])))


_OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
"""What stands in a function itself."""


def _all_of(held: _Reference, getter: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    return getter(held())


def _in_class(kind: type, name: str) -> Any:
    """What stands under `name` in a class or above it, as it was written there."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return _ABSENT


def _is_usual(kind: type) -> bool:
    """Whether attributes of its instances are found in the usual way."""
    return kind.__getattribute__ is object.__getattribute__ and getattr(kind, "__getattr__", Cell.__getattr__) is Cell.__getattr__


def _is_computed(static: Any, own: bool) -> bool:
    """Whether reading an attribute runs code, given what the class has, and whether the object has one of its own."""
    kind = type(static)
    if own:
        return hasattr(kind, "__set__") or hasattr(kind, "__delete__")
    return hasattr(kind, "__get__") and not issubclass(kind, (types.FunctionType, staticmethod))


def _watch(cell: Cell) -> None:
    """From now on a change of the cell moves the epoch."""
    cell.__dict__["_watched"] = True


class _OwnAttribute(_Place):
    """What stands in a cell's own `__dict__`, or is a parameter of its, where writing moves the epoch."""

    __slots__ = ("held", "name")

    def __init__(self, held: _Reference, name: str, label: str):
        super().__init__(label)
        self.held, self.name = held, name

    def read(self) -> Any:
        holder = self.held()
        if holder is None:
            return _GONE
        own = holder.__dict__
        return own[self.name] if self.name in own else own.get("_params", {}).get(self.name, _ABSENT)

    def watch(self, value: Any) -> Watch:
        return "epoch" if is_still(value) else "value"


class _Object(_Place):
    """The attributes of an object, and of those in it."""

    __slots__ = ("held", "quick")

    def __init__(self, held: _Reference, label: str):
        super().__init__(label)
        self.held = held
        self.quick: tuple[Any, ...] | None = None

    def parts(self) -> list[_Place]:
        return [] if self.held() is None else [self]

    def read(self) -> Any:
        holder = self.held()
        return _GONE if holder is None else holder

    def watch(self, value: Any) -> Watch:
        return "value"

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        return _attributes_key(value, hold, ())

    def take(self, value: Any, life: _Life) -> None:
        super().take(value, life)
        self.value, self.value_id = None, 0
        self.kept = [held for held in self.kept if held is not value]
        own = getattr(value, "__dict__", {})
        told = not _has_slots(type(value)) and all(is_light(item) and not _is_open(item) for item in own.values())
        self.quick = (type(value), *own, *map(id, own.values())) if told else None

    def holds(self, life: _Life) -> bool:
        holder = self.held()
        if holder is None:
            return False
        if self.quick is not None:
            own = holder.__dict__
            if (type(holder), *own, *map(id, own.values())) == self.quick:
                return True
        return self.key_of(holder, _ignored) == self.key

    def difference(self) -> str:
        holder = self.held()
        if holder is None:
            return f"{self.label} is gone"
        return "" if self.key_of(holder, _ignored) == self.key else f"an attribute of {self.label} is another one"


def _is_open(value: Any) -> bool:
    """Whether an object in an object is looked into: one of the user's classes, or a record of the library."""
    kind = type(value)
    return not isinstance(value, (type, Cell, Tensor, BaseException)) and kind.__module__ != "builtins" and (
        isinstance(getattr(value, "__dict__", None), dict) or _has_slots(kind)) and kind is not types.ModuleType


def _has_slots(kind: type) -> bool:
    return any(base.__dict__.get("__slots__") for base in kind.__mro__)


def _attributes_key(value: Any, hold: Callable[[object], None], around: tuple[int, ...]) -> Hashable:
    kind = type(value)
    own = dict(getattr(value, "__dict__", {}))
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                own[name] = getattr(value, name, _ABSENT)
    inside = (*around, id(value))
    return kind, tuple([(name, _deep_key(item, hold, inside)) for name, item in own.items()])


def _deep_key(item: Any, hold: Callable[[object], None], around: tuple[int, ...]) -> Hashable:
    if _is_open(item) and id(item) not in around and len(around) < _DEEPEST and not isinstance(item, np.ndarray):
        hold(item)
        return id(item), _attributes_key(item, hold, around)
    if isinstance(item, (list, tuple)) and any(map(_is_open, item)) and id(item) not in around:
        return type(item), tuple([_deep_key(part, hold, (*around, id(item))) for part in item])
    return key(item, hold)


_DEEPEST = 4
"""How far objects in objects are looked into."""


class _Held(_Place):
    """A place in an object that may be gone."""

    __slots__ = ("held",)

    def __init__(self, held: _Reference, label: str):
        super().__init__(label)
        self.held = held

    def parts(self) -> list[_Place]:
        return [] if self.held() is None else [self]


class _Numbers(_Held):
    """The numbers of a tensor."""

    __slots__ = ()

    def read(self) -> Any:
        tensor = self.held()
        return _GONE if tensor is None else array_of(tensor.memory, tensor.type)

    def watch(self, value: Any) -> Watch:
        return "value"


class _Setting(_Place):
    """A setting of the context."""

    __slots__ = ("get", "name")

    def __init__(self, get: Callable[[str], Any], name: str):
        super().__init__(f"the setting {name}")
        self.get, self.name = get, name

    def read(self) -> Any:
        return self.get(self.name)

    def watch(self, value: Any) -> Watch:
        return "epoch"


_NOT_READ = frozenset({"_hooks", "_watched", "_auto_prefix", "_param_prefix"})
"""Attributes of a cell on which nothing depends that `construct` does; hooks have a guard of their own."""


class _State(_Place):
    """All that a cell is: its class and its `__dict__`."""

    __slots__ = ("held", "quick", "texts")

    def __init__(self, held: _Reference, label: str):
        super().__init__(label)
        self.held = held
        self.quick: tuple[Any, ...] | None = None
        self.texts: dict[str, str] = {}

    def parts(self) -> list[_Place]:
        cell = self.held()
        if cell is None:
            return []
        _watch(cell)
        loose = [name for name, value in _attributes(cell).items() if not is_still(value) and name not in ("_cells", "_params")]
        return [self, *[_OwnAttribute(self.held, name, f"{self.label}.{name}") for name in loose]]

    def read(self) -> Any:
        cell = self.held()
        return _GONE if cell is None else cell

    def watch(self, value: Any) -> Watch:
        return "epoch"

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        attributes = _attributes(value)
        for item in attributes.values():
            if is_light(item):
                hold(item)
        return type(value), *[(name, key(item, hold)) for name, item in attributes.items()]

    def take(self, value: Any, life: _Life) -> None:
        super().take(value, life)
        attributes = _attributes(value)
        self.texts = {name: described(item) for name, item in attributes.items()}
        told = all(is_light(item) for name, item in attributes.items() if name not in ("_cells", "_params"))
        self.quick = _identities(value) if told else None

    def holds(self, life: _Life) -> bool:
        cell = self.held()
        if cell is None:
            return False
        if self.quick is not None and _identities(cell) == self.quick:
            return True
        if self.key_of(cell, _ignored) != self.key:
            return False
        self.take(cell, life)
        return True

    def difference(self) -> str:
        cell = self.held()
        if cell is None:
            return f"{self.label} is gone"
        assert isinstance(self.key, tuple)
        if type(cell) is not self.key[0]:
            return f"{self.label} was {self.key[0].__name__}, is {type(cell).__name__}"
        before, attributes = dict(self.key[1:]), _attributes(cell)
        for name in [*before, *attributes]:
            value = attributes.get(name, _ABSENT)
            if name not in before or value is _ABSENT or key(value) != before[name]:
                was, now = self.texts.get(name, "absent"), _words(value)
                return f"{self.label}.{name} was {was}, is {now if now != was else 'another one'}"
        return "" if list(before) == list(attributes) else f"the attributes of {self.label} have another order"


def _attributes(cell: Cell) -> dict[str, Any]:
    """Those of the cell's own; parameters, which `to_float` takes out of the `__dict__`, come last."""
    parameters = cell.__dict__.get("_params", {})
    own = {name: x for name, x in cell.__dict__.items() if name not in _NOT_READ and parameters.get(name, _ABSENT) is not x}
    return {**own, **{name: x for name, x in parameters.items() if name not in own}}


def _identities(cell: Cell) -> tuple[Any, ...]:
    own = cell.__dict__
    cells, parameters = own["_cells"], own["_params"]
    return (type(cell), *own, *map(id, own.values()), *cells, *map(id, cells.values()), *parameters, *map(id, parameters.values()))


def _ignored(value: object) -> None:
    pass


class _Slots(_Held):
    """Which slots of a cell have hooks."""

    __slots__ = ()

    def read(self) -> Any:
        cell = self.held()
        if cell is None:
            return _GONE
        hooks = cell._hooks
        return () if hooks is None else tuple([slot for slot in CellHooks.__slots__ if getattr(hooks, slot)])

    def watch(self, value: Any) -> Watch:
        return "epoch"

    def shown(self, value: Any) -> str:
        return ", ".join(value) if isinstance(value, tuple) and value else "none" if value == () else _words(value)


class _TensorType(_Held):
    """The type of a tensor."""

    __slots__ = ()

    def read(self) -> Any:
        tensor = self.held()
        return _GONE if tensor is None else tensor.type

    def watch(self, value: Any) -> Watch:
        return "epoch"

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        return object, id(value)

    def take(self, value: Any, life: _Life) -> None:
        super().take(value, _Life())
        # A type is kept though nothing may be of it for a while: equal types are one object while it is.
        self.kept = [value]

    def shown(self, value: Any) -> str:
        return value.word if isinstance(value, _Missing) else str(value)
