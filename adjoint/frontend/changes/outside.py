"""Objects that existed before the user's function was called, and that its code may read, also by its arguments.

A graph is made once and runs many times.  Each run repeats the assignments of attributes and names in the body.  Any other change of an
outside object would happen only once, so it is refused at the line that makes it.  Tensors and Parameters do not count as such objects: a
graph reads and writes them at each run.

    roots      values of global names, of names of enclosing functions, of arguments, and of the attributes of these
    outside    the roots, and all objects that they refer to
    made       objects that the body itself has created (`Journal.has_made`): never outside
"""

from __future__ import annotations

import collections
import gc
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adjoint.frontend import errors
from adjoint.frontend.changes.aliases import is_full
from adjoint.frontend.changes.journal import (
    CONTAINERS,
    LEAVES,
    AttributePlace,
    CellPlace,
    ContentsPlace,
    ItemPlace,
    Journal,
    MutablePlace,
    are_one,
    is_as_before,
)
from adjoint.frontend.changes.unparsed import Unparsed
from adjoint.frontend.changes.workspace import Workspace
from adjoint.frontend.world import World

__all__ = ["Outside", "beneath"]

_PLAIN = frozenset({list, tuple, dict, set, frozenset})
"""Fast path: the commonest types that refer to other objects."""

_ALWAYS = (types.ModuleType, type, types.FunctionType)
"""Types whose objects always count as outside: parsed code cannot create them, since its own functions are `Closure`s."""

_PLACES = (AttributePlace, CellPlace, ContentsPlace, ItemPlace)
"""Classes for what Python code can change: attributes, variables, contents, entries.  Others stand for tensors and objects of the library.
"""


class Outside:
    """Knows which objects existed before the user's function was called, and refuses changes of them that the graph could not repeat when
    it
    runs.  There is one for each graph that is made.

    It collects *roots*: the values that the function finds in names, attributes and arguments.  What they refer to is outside, too.

    world      the interface to the runtime, which records what the graph depends on
    journal    tells what the code has changed and created
    workspace  keeps what the code writes to attributes and names from outside
    unparsed   records what user code changes that Python calls by itself, such as `__lt__`
    """

    def __init__(self, world: World, journal: Journal, workspace: Workspace):
        self._world, self._journal, self._workspace = world, journal, workspace
        self._roots: list[Any] = []
        self._noted: dict[int, Any] = {}
        self._reached: dict[int, Any] = {}
        self._given: dict[int, Any] = {}
        self.unparsed = Unparsed(world, journal, workspace, self.found)

    # -- roots ------------------------------------------------------------------------------------------------------
    def found(self, x: Any) -> Any:
        """Record an object that the user's code has found in the program around, and return it.

        The object, and all that it refers to, then exist outside of the function: changes of them are refused where the graph could not
        repeat them.
        """
        if type(x) not in LEAVES and id(x) not in self._noted:
            self._noted[id(x)] = x
            self._roots.append(x)
        return x

    def part(self, holder: Any, name: str, x: Any) -> Any:
        """Record `x`, the value of `holder.name`, as an object from outside of the function (see `found`), and return it.

        Record it only if the holder is itself from outside, or if the holder's class or a base class has `x` under this name.
        """
        if type(x) in LEAVES or self._journal.has_made(x):
            return x
        if self.holds(holder) or any(vars(kind).get(name) is x for kind in type(holder).__mro__):
            if isinstance(x, (list, dict)):
                self._world.found_in(AttributePlace(holder, name), x)
            self.found(x)
        return x

    def given(self, arguments: Iterable[Any]) -> None:
        """Record the arguments of the outermost call as objects from outside of the function, and the contents of containers among them."""
        for x in arguments:
            if self._journal.has_made(x):
                continue
            self.found(x)
            if isinstance(x, (*CONTAINERS, types.MappingProxyType)) and id(x) not in self._given:
                self._given[id(x)] = x
                inside = isinstance(x, (list, dict, collections.deque, types.MappingProxyType))
                self.given(gc.get_referents(x) if inside else ())
            elif isinstance(x, tuple):
                self.given(tuple.__iter__(x))

    # -- what can be reached ------------------------------------------------------------------------------------------
    def holds(self, x: Any) -> bool:
        """Return True if `x` existed before the user's function was called.

        Return False if the function's code has created it, and also if nothing that this code has found so far leads to it.
        """
        if self._journal.has_made(x):
            return False
        if isinstance(x, _ALWAYS) or self._world.is_cell(x):
            return True
        return self._is_reached(x) or any(map(self.holds, beneath(x)))

    def _is_reached(self, x: Any) -> bool:
        """Return True if the objects that the user's code has found in the program around refer to `x`, directly or through others.

        Each object is visited at most once for each graph that is made.
        """
        pending, reached = self._roots, self._reached
        if id(x) in self._noted or id(x) in reached:
            return True
        while pending:
            part = pending.pop()
            if id(part) not in reached:
                reached[id(part)] = part
                pending += self.parts(part)
            if part is x:
                return True
        return False

    def is_given(self, x: Any) -> bool:
        """Return True if `x` is a container among the arguments of the outermost call."""
        return id(x) in self._given

    def parts(self, x: Any) -> list[Any]:
        """Return the objects to which `x` refers, without numbers, strings and others that can neither change nor refer to objects that
        can.
        """
        return [part for part in self._parts(x) if type(part) not in LEAVES]

    def _parts(self, x: Any) -> Iterable[Any]:
        if type(x) in _PLAIN:
            return gc.get_referents(x)
        if isinstance(x, types.FunctionType):
            parsed = self._world.parsed_function(x)
            if parsed is not x:
                return (parsed,)
            around = [cell.cell_contents for cell in x.__closure__ or () if is_full(cell)]
            return [*around, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values(), *vars(x).values()]
        if isinstance(x, (types.ModuleType, type, types.GeneratorType, types.FrameType)) or self._world.is_dynamic(x):
            return ()
        if isinstance(x, np.ndarray):
            return x.ravel().tolist() if x.dtype.hasobject else ()
        return gc.get_referents(x)

    # -- changes ------------------------------------------------------------------------------------------------------
    def check(self, is_late: Callable[[Any], bool]) -> None:
        """Raise CompileError if the user's code has changed an object from outside of the function in a way that the graph does not repeat
        when it
        runs.  Called at the end of the outermost function.

        All such changes are undone first.  Where the code has changed something and restored it, the graph depends on that value.

        is_late  returns whether a value is known only when the graph runs
        """
        self.unparsed.note_changes()
        self._world.catch_up()
        touched = [entry for entry in self._journal.touched.values() if self.has(entry[0]) and not self._world.is_written_later(entry[0])]
        changed = [(place, before, loc, isinstance(place, _PLACES) and not self._is_given(place) and is_late(after))
                   for place, before, loc in touched if not _is_left(place, before, after := place.get())]
        for place, before, *_ in reversed(changed):
            if isinstance(place, ContentsPlace):
                self._world.want(place.container, before, place.get())
            place.set(before)
        # An attribute says more in a message than the cells that hold it.
        for place, _, loc, late in sorted(changed, key=lambda entry: not isinstance(entry[0], _PLACES)):
            if late:
                raise errors.STORED_TENSOR.at(
                    loc, f"a value that the graph computes is stored in {self._described(place)}",
                    help="return it, and store it outside the function" if isinstance(place, ContentsPlace) else errors.KEPT)
            raise errors.CHANGED_OUTSIDE.at(loc, f"{self._described(place)} is changed", help=self._remedy(place))
        for place, *_ in touched:
            self._look(place)

    def restore(self, is_meant: Callable[[Any], bool]) -> None:
        """Undo changes of objects that existed before the user's function was called; called after the function failed.

        is_meant  called with the value that is there now; it returns True if the change is to be undone
        """
        for place, before, _ in reversed(self._journal.touched.values()):
            if self.has(place) and is_meant(place.get()):
                place.set(before)

    def _look(self, place: MutablePlace) -> None:
        """Record that the graph depends on an attribute or a name that the user's code has changed and then set back: the graph writes
        nothing there, which is right only if a call begins with the same value.

        place  the attribute or name; nothing is recorded for a container
        """
        match place:
            case ItemPlace(holder=namespace, name=name):
                self._world.read_name(namespace, name)
            case CellPlace(cell=cell):
                self._world.read_closure(cell)
            case AttributePlace(holder=holder, name=name):
                self._world.read_attribute(holder, name)
            case _:
                pass

    def has(self, place: MutablePlace) -> bool:
        """Return True if a variable, attribute or container existed before the function was called.

        place  the variable, attribute or container
        """
        match place:
            case ItemPlace() | CellPlace():
                return True
            case AttributePlace(holder=holder):
                return self.holds(holder)
            case ContentsPlace(container=container):
                return self.holds(container)
            case _:
                return self._world.is_outside(place)

    def _is_given(self, place: MutablePlace) -> bool:
        """Return True if something that changes is the contents of a container among the arguments of the outermost call.

        place  what changes
        """
        return isinstance(place, ContentsPlace) and self.is_given(place.container)

    def _described(self, place: MutablePlace) -> str:
        match place:
            case ItemPlace(name=name):
                return f"the global variable `{name}`"
            case CellPlace():
                return "a variable of an enclosing function"
            case AttributePlace(holder=holder, name=name) if isinstance(holder, _ALWAYS):
                return f"`{name}` of {getattr(holder, '__qualname__', holder.__name__).rpartition('<locals>.')[2]}"
            case AttributePlace(holder=holder, name=name):
                return f"`{name}` of {errors.with_article(type(holder).__name__)} from outside the function"
            case ContentsPlace(container=container):
                where, kind = "among the arguments" if self._is_given(place) else "from outside the function", type(container)
                # The `__dict__` of a cell is a dict to the user.
                named = kind.__base__ if self._world.is_library(kind) else kind
                return f"{errors.with_article(getattr(named, '__name__', 'object'))} {where}"
            case _:
                return f"{errors.with_article(type(getattr(place, 'holder', place)).__name__)} from outside the function"

    def _remedy(self, place: MutablePlace) -> str:
        match place:
            case AttributePlace(holder=holder, name=name) if self._world.is_cell(holder):
                return (f"assign a tensor, a number, a string, or a tuple, a list or a dict of these, which `self.{name} = ..` writes at "
                        "each call; or change it outside the function")
            case ContentsPlace():
                return "change a copy, and return that"
            case _:
                return "return the new value, and change it outside the function"


def _is_left(place: MutablePlace, before: Any, after: Any) -> bool:
    """Return True if a variable, attribute or container has its previous value again: the same object, or for a container the same items.

    place   the variable, attribute or container
    before  its value before the change
    after   its value now
    """
    return are_one(before, after) if isinstance(place, (AttributePlace, ItemPlace, CellPlace)) else is_as_before(before, after)


def beneath(x: Any) -> Iterable[Any]:
    """Return the objects that own the memory or items which `x` shows, such as the base of an array view; nothing if `x` is not a view.
    Writing `x` writes them.
    """
    match x:
        case np.ndarray() | np.flatiter():
            return () if x.base is None else (x.base,)
        case memoryview():
            return (x.obj,)
        case collections.UserDict() | collections.UserList():
            return (x.data,)
        case _:
            return ()
