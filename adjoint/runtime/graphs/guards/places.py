"""Places from which a graph read a constant: a global, a variable of an enclosing function, an attribute, a setting.

A place can read itself, decide how often it has to be compared, and remember by a key (`constants`) what it must contain.  A place that is
compared by identity contributes a condition to the compiled check.  Guards on an object as a whole are in `objects`.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Hashable
from typing import Any, Literal

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.check import GuardConditions
from adjoint.runtime.graphs.guards.constants import described, is_light, is_rooted, is_still, key
from adjoint.runtime.graphs.guards.names import names_read
from adjoint.runtime.graphs.guards.references import Reference, Watched, address_of, reference
from adjoint.runtime.tensor.parameter import Parameter

__all__ = ["ABSENT", "GONE", "Attribute", "ClosureVariable", "Global", "Held", "Missing", "OwnAttribute", "Place", "Setting", "Watch",
           "named", "watch_cell", "words"]

Watch = Literal["epoch", "identity", "value"]
"""How a place (a variable or attribute) is compared: "epoch": by its key, but only when the epoch has moved, which any change of it does;
"identity": as an object, at each call; "value": by its key, at each call.
"""


class Missing:
    """A marker in place of a value that does not exist, such as that of a deleted attribute.

    word  says why, for messages
    """

    def __init__(self, word: str):
        self.word = word


ABSENT, GONE = Missing("absent"), Missing("gone")


def words(value: Any) -> str:
    """Return a short description of a value for a message, or the word of a `Missing`."""
    return value.word if isinstance(value, Missing) else described(value)


def named(holder: Any) -> str:
    """Return the name by which messages refer to an object that a graph reads from: of a cell its title, of a module its name."""
    match holder:
        case Cell():
            return str(holder.__dict__.get("_cell_title") or type(holder).__name__)
        case Parameter():
            return holder.name
        case types.ModuleType():
            return holder.__name__
        case type():
            return holder.__qualname__
        case _:
            return f"{type(holder).__name__}"


class Place:
    """Remembers what a graph read from a variable, an attribute or the like, and checks later that the same is there.

    label     its name for messages
    key       identifies the value that it contained when the snapshot was taken (`constants.key`)
    was       a description of that value
    kept      objects that the key identifies by their ids and that do not support weak references
    value     the value itself if a strong reference to it cannot keep a cell alive, else GONE
    value_id  the value's id if no other object can get this id while the snapshot lasts, else 0
    """

    __slots__ = ("kept", "key", "label", "value", "value_id", "was")

    def __init__(self, label: str):
        self.label = label
        self.key: Hashable = None
        self.was = ""
        self.kept: tuple[object, ...] = ()
        self.value: Any = GONE
        self.value_id = 0

    def address(self) -> Hashable:
        """Return a hashable object that is equal for two `Place`s exactly if they are the same variable or attribute."""
        raise NotImplementedError

    def holder(self) -> Any:
        """Return the object in which the value is kept, such as the one with the attribute; None if there is none that may be freed."""
        return None

    def parts(self) -> list[Place]:
        """Return the places to compare in order to check this one, often itself; none if the object that contains it has been freed."""
        return [self]

    def read(self) -> Any:
        """Return what the place (a variable, attribute or the like) contains now: `ABSENT` if nothing, `GONE` if the object that contains
        it has been freed.
        """
        raise NotImplementedError

    def watch(self, value: Any) -> Watch:
        """Return how to compare the place (a variable, attribute or the like) while it contains `value`: by identity, by value, or only
        when the epoch (a number that rises with each change of a cell or hook) has moved.
        """
        return "identity" if is_light(value) and value is not ABSENT else "value"

    def take(self, value: Any, watched: Watched) -> None:
        """Remember `value` as what the place (a variable, attribute or the like) must contain.

        watched  gets a weak reference to each object that is compared by its id
        """
        kept: list[object] = []

        def hold(held: object) -> None:
            if not watched.add(held):
                kept.append(held)

        self.key = self.key_of(value, hold)
        light, rooted = is_light(value), is_rooted(value)
        if light and not rooted:
            hold(value)
        self.was = self.shown(value)
        # The id first: another thread must not compare with the id of an object that is not kept any more.
        self.value_id, self.value, self.kept = id(value) if light else 0, value if rooted else GONE, tuple(kept)

    def key_of(self, value: Any, hold: Callable[[object], None]) -> Hashable:
        """Return a key that is equal for equal values.

        hold  called with each object that the key identifies by its id; it must watch the object or keep it alive, since another object may
            get the same id later
        """
        return key(value, hold)

    def shown(self, value: Any) -> str:
        """Describe `value` for a message."""
        return words(value)

    def expression(self, conditions: GuardConditions) -> str:
        """Return Python source text that reads the variable or attribute, and may raise an exception when it runs.

        Call this only for a place whose `watch` is "identity": then the compiled check compares just which object is there.

        conditions  gives the names of objects in the text
        """
        raise NotImplementedError

    def condition(self, conditions: GuardConditions) -> str:
        """Return a Python expression that is true if the place (a variable, attribute or the like) contains the same object as before;
        otherwise it is false or raises.

        Only for places whose `watch` is "identity".

        conditions  gives the names of objects in the text
        """
        return self._is_same(self.expression(conditions), conditions)

    def _is_same(self, expression: str, conditions: GuardConditions) -> str:
        """Return a Python expression that is true if `expression` has as its value the object that the place (a variable, attribute or the
        like) contained.

        conditions  gives the names of objects in the text
        """
        if self.value is GONE:
            return f"id({expression}) == {conditions.object(self.value_id)}"
        return f"{expression} is {conditions.object(self.value)}"

    def holds(self, watched: Watched) -> bool:
        """Return True if the place (a variable, attribute or the like) still contains an equal value.

        watched  gets weak references if the place remembers other objects
        """
        value = self.read()
        return id(value) == self.value_id or key(value) == self.key

    def difference(self) -> str:
        """Describe what has changed, such as "self.rate was 0.1, is 0.2"; "" if nothing has."""
        value = self.read()
        if key(value) == self.key:
            return ""
        now = self.shown(value)
        return f"{self.label} was {self.was}, is {now if now != self.was else 'another one'}"


class Global(Place):
    """Guards a global variable, or a builtin of that name.

    namespace  the globals of a module
    """

    __slots__ = ("name", "namespace")

    def __init__(self, namespace: dict[str, Any], name: str):
        super().__init__(name)
        self.namespace, self.name = namespace, name

    def address(self) -> Hashable:
        return Global, id(self.namespace), self.name

    def _builtins(self) -> dict[str, Any]:
        found = self.namespace.get("__builtins__", builtins)
        return found if isinstance(found, dict) else vars(found)

    def read(self) -> Any:
        found = self.namespace.get(self.name, ABSENT)
        return found if found is not ABSENT else self._builtins().get(self.name, ABSENT)

    def expression(self, conditions: GuardConditions) -> str:
        return f"{conditions.object(self.namespace)}[{conditions.object(self.name)}]"

    def condition(self, conditions: GuardConditions) -> str:
        if self.name in self.namespace:
            return super().condition(conditions)
        namespace, name = conditions.object(self.namespace), conditions.object(self.name)
        below = conditions.object(self._builtins())
        return f"{name} not in {namespace} and {self._is_same(f'{below}[{name}]', conditions)}"


class ClosureVariable(Place):
    """Guards a variable of an enclosing function.

    cell   the Python cell that holds the variable
    label  the name of the variable for messages
    """

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType, label: str):
        super().__init__(label)
        self.cell = cell

    def address(self) -> Hashable:
        return ClosureVariable, id(self.cell)

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return ABSENT

    def expression(self, conditions: GuardConditions) -> str:
        return f"{conditions.object(self.cell)}.cell_contents"


class Setting(Place):
    """Guards a setting, as `get_context` returns it.

    get  returns the setting of a name
    """

    __slots__ = ("get", "name")

    def __init__(self, get: Callable[[str], Any], name: str):
        super().__init__(f"the setting {name}")
        self.get, self.name = get, name

    def address(self) -> Hashable:
        return Setting, self.name

    def read(self) -> Any:
        return self.get(self.name)

    def watch(self, value: Any) -> Watch:
        return "epoch"


class Held(Place):
    """A place in an object that may be freed; the place refers to the object weakly where that is possible.

    label  its name for messages
    held   returns the object; None once it has been freed
    """

    __slots__ = ("held",)

    def __init__(self, held: Reference, label: str):
        super().__init__(label)
        self.held = held

    def address(self) -> Hashable:
        return type(self), address_of(self.held)

    def holder(self) -> Any:
        return self.held()

    def parts(self) -> list[Place]:
        return [] if self.held() is None else [self]


class _Named(Held):
    """Guards a part of an object that has a name, such as an attribute.

    held   returns the object; None once it has been freed
    name   the name of the part
    label  what messages call it
    """

    __slots__ = ("name",)

    def __init__(self, held: Reference, name: str, label: str):
        super().__init__(held, label)
        self.name = name

    def address(self) -> Hashable:
        return type(self), address_of(self.held), self.name


class Attribute(_Named):
    """Guards an attribute of an object, read by `getattr`."""

    __slots__ = ()

    def read(self) -> Any:
        holder = self.held()
        if holder is None:
            return GONE
        try:
            return getattr(holder, self.name)
        except Exception:  # lowering meets the exception again, and reports it at the user's line
            return ABSENT

    def parts(self) -> list[Place]:
        holder = self.held()
        if holder is None:
            return []
        kind = type(holder)
        if not issubclass(kind, Cell):
            return [self]
        watch_cell(holder, frozenset({self.name}))
        static = _in_class(kind, self.name)
        if not _is_usual(kind) or _is_computed(static, self.name in holder.__dict__):
            return [self]
        own = OwnAttribute(self.held, self.name, self.label)
        return [own] if self.name in holder.__dict__ else [own, Attribute(reference(kind), self.name, self.label)]

    def watch(self, value: Any) -> Watch:
        holder = self.held()
        kind = type(holder)
        if value is ABSENT or not is_light(value):
            return "value"
        if kind is types.ModuleType:
            plain = self.name in vars(holder)
        elif (kind is types.FunctionType and self.name in _OF_FUNCTIONS) or (issubclass(kind, type) and self.name == "__mro__"):
            plain = True
        elif issubclass(kind, type):
            plain = _in_class(kind, self.name) is ABSENT and not _is_computed(_in_class(holder, self.name), False)
        else:
            static = _in_class(kind, self.name)
            own = self.name in getattr(holder, "__dict__", ())
            plain = _is_usual(kind) and (isinstance(static, types.MemberDescriptorType) or (own and not _is_computed(static, own)))
        return "identity" if plain else "value"

    def expression(self, conditions: GuardConditions) -> str:
        holder = conditions.holder(self.held)
        known = self.name in _OF_FUNCTIONS  # other names are text of the user's
        return f"{holder}.{self.name}" if known else f"getattr({holder}, {conditions.object(self.name)})"


_OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
"""Attributes that a function itself contains."""
_LOOKED_UP = frozenset({object.__getattribute__, functools.partial.__getattribute__})
"""The attribute look-up of `object`; that of `partial` is the same function under another name."""


def _in_class(kind: type, name: str) -> Any:
    """Return what a class, or the first of its bases that has the name, defines under it, without running a property.

    Return ABSENT if none has it.
    """
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return ABSENT


def _is_usual(kind: type) -> bool:
    """Return True if instances of a class look attributes up as `object` does, so that reading one runs no code of the user's."""
    return kind.__getattribute__ in _LOOKED_UP and getattr(kind, "__getattr__", Cell.__getattr__) is Cell.__getattr__


def _is_computed(static: Any, own: bool) -> bool:
    """Return True if reading an attribute runs code, as for a property.

    static  the class's entry for the name
    own     True if the instance has an attribute of that name, too
    """
    kind = type(static)
    if own:
        return hasattr(kind, "__set__") or hasattr(kind, "__delete__")
    return hasattr(kind, "__get__") and not issubclass(kind, (types.FunctionType, staticmethod))


def watch_cell(cell: Cell, names: frozenset[str]) -> None:
    """Let a cell report, by moving the epoch (a number that graphs compare), each later change of an attribute with one of these names, or
    of one that every call reads.
    """
    own: Any = cell.__dict__
    own.watch(names | names_read(Cell))


class OwnAttribute(_Named):
    """Guards an entry of a cell's own `__dict__`, or one of its parameters.  It is compared only when the epoch (a number that rises with
    each change of a cell or hook) has moved, as each write moves it.
    """

    __slots__ = ()

    def read(self) -> Any:
        holder = self.held()
        if holder is None:
            return GONE
        own = holder.__dict__
        return own[self.name] if self.name in own else own.get("_params", {}).get(self.name, ABSENT)

    def watch(self, value: Any) -> Watch:
        return "epoch" if is_still(value) else "value"
