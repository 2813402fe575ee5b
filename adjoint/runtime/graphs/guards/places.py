"""Places where a graph read a constant: a global, a variable of a function around, an attribute, a setting.

A place knows how to look at itself, alone or together with others of its kind, and how often that is needed.  It remembers what must stand
there by a key (`constants`); what is guarded of an object as a whole is in `objects`.
"""

from __future__ import annotations

import builtins
import types
import weakref
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, Literal

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.constants import described, is_light, is_rooted, is_still, key
from adjoint.runtime.tensor.parameter import Parameter

__all__ = ["ABSENT", "GONE", "Absences", "Attribute", "Closure", "Global", "Group", "Life", "Missing", "OwnAttribute", "Place", "Read",
           "Reference", "Setting", "Watch", "mark", "named", "reference", "watch_cell", "words"]

Watch = Literal["epoch", "identity", "value"]
"""How often a place is looked at: when the epoch has moved; at each call, by identity; at each call, by value."""


class Life:
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


Reference = Callable[[], Any]
Read = Callable[[], Iterable[Any]]
Group = tuple[Read, list["Place"]]
"""What reads some places at once, and the places in the order in which it gives their values."""
Absences = tuple[dict[str, Any], frozenset[str]]
"""A namespace and the names that must not be in it."""


def reference(value: Any) -> Reference:
    """A weak reference if there can be one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return _Strong(value)


def mark(held: Reference) -> int:
    """The same for two references to one object, while either exists."""
    return id(held.value) if isinstance(held, _Strong) else id(held)


def named(holder: Any) -> str:
    """What people call an object in which there are places."""
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


class Place:
    """Where a constant was read.

    label  how people call it
    key    that of the value there when it was taken (`adjoint.runtime.graphs.guards.constants.key`)
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

    def parts(self) -> list[Place]:
        """What has to be looked at for this place; nothing if its holder is gone."""
        return [self]

    def read(self) -> Any:
        """What stands there now; `ABSENT` for nothing, `GONE` when the holder itself is gone."""
        raise NotImplementedError

    def watch(self, value: Any) -> Watch:
        """How often to look, given what stands there."""
        return "identity" if is_light(value) and value is not ABSENT else "value"

    def take(self, value: Any, life: Life) -> None:
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
        return words(value)

    def holds(self, life: Life) -> bool:
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

    def group(self, places: list[Any], groups: list[Group], absent: list[Absences]) -> None:
        """Add how `places`, of the same source, are read at once."""
        raise NotImplementedError


class Missing:
    """Stands for a value that is not there."""

    def __init__(self, word: str):
        self.word = word


ABSENT, GONE = Missing("absent"), Missing("gone")


def words(value: Any) -> str:
    return value.word if isinstance(value, Missing) else described(value)


def _twice(names: list[Any]) -> list[Any]:
    """A getter of one name alone does not give a tuple: the first one is asked for twice."""
    return [*names, names[0]]


class Global(Place):
    """A global, or a builtin."""

    __slots__ = ("name", "namespace")

    def __init__(self, namespace: dict[str, Any], name: str):
        super().__init__(name)
        self.namespace, self.name = namespace, name

    def _builtins(self) -> dict[str, Any]:
        found = self.namespace.get("__builtins__", builtins)
        return found if isinstance(found, dict) else vars(found)

    def read(self) -> Any:
        found = self.namespace.get(self.name, ABSENT)
        return found if found is not ABSENT else self._builtins().get(self.name, ABSENT)

    def source(self) -> Hashable:
        return Global, id(self.namespace)

    def group(self, places: list[Global], groups: list[Group], absent: list[Absences]) -> None:
        here = [place for place in places if place.name in self.namespace]
        below = [place for place in places if place.name not in self.namespace]
        if below:
            absent.append((self.namespace, frozenset(place.name for place in below)))
        for found, namespace in ((here, self.namespace), (below, self._builtins())):
            if found:
                groups.append((partial(itemgetter(*_twice([place.name for place in found])), namespace), _twice([*found])))


_contents = attrgetter("cell_contents")


class Closure(Place):
    """A variable of a function around."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType, label: str):
        super().__init__(label)
        self.cell = cell

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return ABSENT

    def source(self) -> Hashable:
        return Closure

    def group(self, places: list[Closure], groups: list[Group], absent: list[Absences]) -> None:
        groups.append((partial(map, _contents, [place.cell for place in places]), [*places]))


class _Named(Place):
    """What an object has under a name.

    held  gives the object; None when it is gone
    """

    __slots__ = ("held", "name")

    def __init__(self, held: Reference, name: str, label: str):
        super().__init__(label)
        self.held, self.name = held, name


class Attribute(_Named):
    """What `getattr` gives."""

    __slots__ = ()

    def read(self) -> Any:
        holder = self.held()
        if holder is None:
            return GONE
        try:
            return getattr(holder, self.name)
        except Exception:  # whatever it is, lowering meets it again, in the user's line
            return ABSENT

    def parts(self) -> list[Place]:
        holder = self.held()
        if holder is None:
            return []
        kind = type(holder)
        if not issubclass(kind, Cell):
            return [self]
        watch_cell(holder)
        static = _in_class(kind, self.name)
        if not _is_usual(kind) or _is_computed(static, self.name in holder.__dict__):
            return [self]
        own = OwnAttribute(self.held, self.name, self.label)
        return [own] if self.name in holder.__dict__ else [own, Attribute(reference(kind), self.name, self.label)]

    def watch(self, value: Any) -> Watch:
        holder = self.held()
        kind = type(holder)
        if "." in self.name or value is ABSENT or not is_light(value):
            return "value"
        if kind is types.ModuleType:
            plain = self.name in vars(holder)
        elif kind is types.FunctionType and self.name in _OF_FUNCTIONS:
            plain = True
        elif issubclass(kind, type):
            plain = _in_class(kind, self.name) is ABSENT and not _is_computed(_in_class(holder, self.name), False)
        else:
            static = _in_class(kind, self.name)
            own = self.name in getattr(holder, "__dict__", ())
            plain = _is_usual(kind) and (isinstance(static, types.MemberDescriptorType) or (own and not _is_computed(static, own)))
        return "identity" if plain else "value"

    def source(self) -> Hashable:
        return Attribute, mark(self.held)

    def group(self, places: list[Attribute], groups: list[Group], absent: list[Absences]) -> None:
        getter = attrgetter(*_twice([place.name for place in places]))
        groups.append((partial(_all_of, self.held, getter), _twice([*places])))


_OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
"""What stands in a function itself."""


def _all_of(held: Reference, getter: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    return getter(held())


def _in_class(kind: type, name: str) -> Any:
    """What stands under `name` in a class or above it, as it was written there."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return ABSENT


def _is_usual(kind: type) -> bool:
    """Whether attributes of its instances are found in the usual way."""
    return kind.__getattribute__ is object.__getattribute__ and getattr(kind, "__getattr__", Cell.__getattr__) is Cell.__getattr__


def _is_computed(static: Any, own: bool) -> bool:
    """Whether reading an attribute runs code, given what the class has, and whether the object has one of its own."""
    kind = type(static)
    if own:
        return hasattr(kind, "__set__") or hasattr(kind, "__delete__")
    return hasattr(kind, "__get__") and not issubclass(kind, (types.FunctionType, staticmethod))


def watch_cell(cell: Cell) -> None:
    """From now on a change of the cell moves the epoch."""
    own: Any = cell.__dict__
    own.watch()


class OwnAttribute(_Named):
    """What stands in a cell's own `__dict__`, or is a parameter of its, where writing moves the epoch."""

    __slots__ = ()

    def read(self) -> Any:
        holder = self.held()
        if holder is None:
            return GONE
        own = holder.__dict__
        return own[self.name] if self.name in own else own.get("_params", {}).get(self.name, ABSENT)

    def watch(self, value: Any) -> Watch:
        return "epoch" if is_still(value) else "value"


class Setting(Place):
    """A setting of the context."""

    __slots__ = ("get", "name")

    def __init__(self, get: Callable[[str], Any], name: str):
        super().__init__(f"the setting {name}")
        self.get, self.name = get, name

    def read(self) -> Any:
        return self.get(self.name)

    def watch(self, value: Any) -> Watch:
        return "epoch"
