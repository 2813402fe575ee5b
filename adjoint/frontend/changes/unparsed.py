"""Changes by user-defined special methods that Python calls by itself: `__float__`, `__hash__`, `__lt__`, `__get__`, `__getattr__`.

Parsed code (user code whose syntax tree the frontend runs) records each of its changes.  When Python receives an object of a user's class,
the special methods run unparsed.  So everything that these methods can change is recorded before the call and compared at the end: the
attributes of the object and of its class, the global names and closure variables that the methods use, and the contents of containers and
arrays in all of these.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import Loc
from adjoint.frontend.changes import purity
from adjoint.frontend.changes.aliases import is_full
from adjoint.frontend.changes.journal import (
    CONTAINERS,
    LEAVES,
    MISSING,
    AttributePlace,
    CellPlace,
    ContentsPlace,
    ItemPlace,
    Journal,
    MutablePlace,
    OutsidePlace,
    are_one,
    is_as_before,
)
from adjoint.frontend.changes.unparsed_reads import UnparsedReads, functions_of
from adjoint.frontend.changes.workspace import Workspace
from adjoint.frontend.world import World

__all__ = ["Unparsed"]

_WITHOUT_METHODS = (types.ModuleType, np.generic, np.dtype)
"""Types that have no user-defined methods."""


class Unparsed:
    """Finds what user code has changed that Python calls by itself, such as `__lt__` or `__getattr__`.  `given` records the state of
    objects before Python receives them, and `note_changes` compares it later.  There is one for each graph that is made.

    world      the interface to the runtime, which records what the graph depends on
    journal    tells which objects the code has created and changed
    workspace  keeps what the code writes to attributes and names from outside
    found      a function, called for each recorded object that existed before the user's function was called
    """

    def __init__(self, world: World, journal: Journal, workspace: Workspace, found: Callable[[Any], Any]):
        self._world, self._journal, self._workspace, self._found = world, journal, workspace, found
        self._before: dict[tuple[Any, ...], tuple[MutablePlace, Any, Loc]] = {}
        self._seen: dict[int, Any] = {}
        self._kinds: dict[type, bool] = {}
        self._names: list[tuple[Any, frozenset[str], Loc]] = []
        self._reads = UnparsedReads(world)

    def given(self, *values: Any) -> None:
        """Record what the methods of these values can read and change.  Call this before Python code may call the methods."""
        self._reads.given(*values)
        found = [*self._parts(values, {})]
        users = [x for x in found if self._is_of_the_user(x)]
        if users:  # other code changes no container that it only reads, and Python itself writes into no array
            self._remember_contents([x for x in found if not isinstance(x, np.ndarray)])
        known: dict[int, Any] = {}
        while users:
            x = users.pop()
            if id(x) not in self._seen:
                self._seen[id(x)] = x
                beneath = [*self._parts(self._beneath(x), known)]
                self._remember_contents(beneath)
                users += filter(self._is_of_the_user, beneath)

    def _parts(self, values: Iterable[Any], known: dict[int, Any]) -> Iterator[Any]:
        """Yield the values and the items of containers among them, each object once, without those that cannot have user-defined methods.

        known  the objects that were yielded before, by `id`, which are skipped; new ones are added
        """
        pending = [*values]
        while pending:
            x = pending.pop()
            if type(x) in LEAVES or isinstance(x, _WITHOUT_METHODS) or id(x) in known:
                continue
            if self._world.is_dynamic(x) or self._world.is_tensor(x):
                continue
            known[id(x)] = x
            yield x
            if isinstance(x, np.ndarray):
                pending += x.ravel().tolist() if x.dtype.hasobject else ()
            elif isinstance(x, dict):
                pending += x.values()
            elif isinstance(x, (tuple, frozenset, *CONTAINERS)):
                pending += x

    def _remember_contents(self, found: Iterable[Any]) -> None:
        for x in found:
            if isinstance(x, CONTAINERS) and not self._journal.has_made(x):
                self._remember(ContentsPlace(x))

    def read(self, holder: Any, name: str) -> None:
        """Record what may change when `holder.name` is read, if user code computes the attribute, for example in a `__getattr__`."""
        kind = type(holder)
        static = inspect.getattr_static(kind, name, None)
        getter = getattr(type(static), "__get__", None)
        if isinstance(getter, types.FunctionType) and not purity.is_installed(getter.__code__.co_filename):
            self.given(static, holder)
        elif isinstance(getattr(kind, "__getattr__", None), types.FunctionType) or isinstance(kind.__getattribute__, types.FunctionType):
            self.given(holder)

    def _is_of_the_user(self, x: Any) -> bool:
        if isinstance(x, types.FunctionType):
            return not (self._world.is_library(x) or purity.is_installed(x.__code__.co_filename))
        if isinstance(x, type):
            return self._has_methods(x, type(x))
        if type(x) not in self._kinds:
            self._kinds[type(x)] = not self._world.is_cell(x) and self._has_methods(type(x))
        return self._kinds[type(x)]

    def _has_methods(self, *classes: type) -> bool:
        """Return True if a user has written a method of these classes or their bases, and no class among them belongs to this library."""
        kinds = [kind for cls in classes for kind in inspect.getmro(cls)]
        if any(self._world.is_library(kind) for kind in kinds if kind not in (object, type)):
            return False
        methods = (method for kind in kinds for member in vars(kind).values() for method in functions_of(member))
        return any(not purity.is_installed(method.__code__.co_filename) for method in methods)

    def _beneath(self, x: Any) -> Iterable[Any]:
        """Record the state that the methods of the object `x` may change (attributes, global names, closure variables).

        Return the objects found there, whose methods the caller examines in turn.
        """
        if isinstance(x, types.FunctionType):
            return [*self._used_by(x.__code__, x.__globals__), *self._around(x)]
        found: list[Any] = [] if isinstance(x, type) and type(x) is type else [type(x)]
        made = self._journal.has_made(x)
        if not made:
            self._found(x)
            self._workspace.expose_all(x)
        if isinstance(x, type):
            for name, member in vars(x).items():
                found += functions_of(member)
                if not name.startswith("__") and not hasattr(type(member), "__get__"):
                    self._remember(AttributePlace(x, name))
                    found.append(member)
            return [*found, *(base for base in x.__bases__ if base is not object)]
        own = getattr(x, "__dict__", {})
        slots = [name for base in type(x).__mro__ for name, member in vars(base).items() if isinstance(member, types.MemberDescriptorType)]
        for name in (*own, *slots):
            if not made:
                self._remember(AttributePlace(x, name))
            found.append(own.get(name) if name in own else getattr(x, name, None))
        if not made:
            self._names.append((x, frozenset(own), self._world.loc))
        return found

    def _used_by(self, code: types.CodeType, space: dict[str, Any]) -> Iterator[Any]:
        for name in code.co_names:
            if name in space:
                self._remember(ItemPlace(space, name))
                yield space[name]
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                yield from self._used_by(inner, space)

    def _around(self, function: types.FunctionType) -> Iterator[Any]:
        for cell in function.__closure__ or ():
            if is_full(cell):
                self._remember(CellPlace(cell))
                yield cell.cell_contents
        yield from function.__defaults__ or ()

    def _remember(self, place: MutablePlace) -> None:
        if isinstance(place, OutsidePlace):
            self._workspace.expose(place)
        if place.key in self._before or place.key in self._journal.touched:
            return
        if isinstance(place, ContentsPlace):
            self._found(place.container)
        self._before[place.key] = place, place.get(), self._world.loc

    def note_changes(self) -> None:
        """Compare the state of all recorded objects with their present one, and record the differences as changes in the journal (which can
        undo them).
        """
        for x, names, loc in self._names:
            for name in getattr(x, "__dict__", {}).keys() - names:
                # a cached property may store its value
                if not isinstance(getattr(type(x), name, None), functools.cached_property):
                    place = AttributePlace(x, name)
                    self._before.setdefault(place.key, (place, MISSING, loc))
        for key, (place, before, loc) in self._before.items():
            same = is_as_before if isinstance(place, ContentsPlace) else are_one
            if not same(before, place.get()):
                # if a statement of parsed code changed the place, too, the message shows that statement
                *_, shown = self._journal.touched.get(key, (loc,))
                self._journal.touched[key] = place, before, shown
