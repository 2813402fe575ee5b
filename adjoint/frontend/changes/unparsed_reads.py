"""Reads by user functions that Python calls by itself: `__lt__`, `__iter__`, `__float__`, a property that `attrgetter` reads.

Parsed code (user code whose syntax tree the frontend runs) records each of its reads.  When Python receives an object of a user's class,
the special methods run unparsed.  So everything that they may read is recorded when the object is passed: its attributes, the members of
its class that its special methods and properties use, and the global names and closure variables that these use.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterator
from typing import Any

from adjoint.frontend.changes import purity
from adjoint.frontend.changes.aliases import is_full
from adjoint.frontend.changes.journal import LEAVES
from adjoint.frontend.world import World

__all__ = ["UnparsedReads", "functions_of"]

_CONTAINERS = (tuple, list, set, frozenset, collections.deque)
_BOUND = (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)
_NOT_CALLED = frozenset({"__init__", "__new__", "__init_subclass__", "__set_name__", "__class_getitem__", "__del__"})
"""Names of special methods that Python does not call on an existing object, so that they need not be recorded."""


class UnparsedReads:
    """Records what user code may read that Python calls by itself, such as `__lt__` or `__iter__`.  A later call of the function makes a
    new graph if that has changed.  `Unparsed` uses it; there is one for each graph that is made.

    world  the interface to the runtime, which records what the graph depends on
    """

    def __init__(self, world: World):
        self._world = world

    def given(self, *values: Any) -> None:
        """Record what the methods of these values, and of the values inside of them, may read.  Call this before Python code may call the
        methods.
        """
        pending, seen = [*values], dict[int, Any]()
        while pending:
            x = pending.pop()
            if type(x) in LEAVES or id(x) in seen or self._world.is_dynamic(x) or self._world.is_tensor(x) or self._world.is_cell(x):
                continue
            seen[id(x)] = x
            if isinstance(x, _CONTAINERS):
                pending += x
            elif isinstance(x, dict):
                pending += [*x, *x.values()]
            elif isinstance(x, slice):
                pending += (x.start, x.stop, x.step)
            if isinstance(x, (types.ModuleType, types.FunctionType, *_BOUND)) or self._world.is_library(type(x)):
                continue
            if isinstance(x, type):
                if not purity.is_of_pure_module(type(x)):
                    pending += self._of_class(type(x), seen, x)
                continue
            self._world.read_object(x)
            if not purity.is_of_pure_module(type(x)):
                pending += self._of_class(type(x), seen)

    def _of_class(self, kind: type, seen: dict[int, Any], instance: type | None = None) -> Iterator[Any]:
        """Record the members of a class that its special methods and properties use.  Yield the objects that those functions use, for the
        caller to examine.

        seen      the objects that have been recorded, by `id`; more are added
        instance  if `kind` is a metaclass, the class that it has made: members of it that the functions use are recorded, too
        """
        members: dict[str, Any] = {}
        for base in reversed(kind.__mro__):
            if not self._world.is_library(base):
                members.update(vars(base))
        left = [name for name, member in members.items() if name not in _NOT_CALLED and [*functions_of(member)]
                and (name.startswith("__") or not isinstance(member, (types.FunctionType, staticmethod, classmethod)))]
        used: set[str] = set()
        while left:
            name = left.pop()
            functions = [function for function in functions_of(members[name]) if self._is_of_the_user(function)]
            if name in used or (name.startswith("__") and not functions):
                continue
            used.add(name)
            self._world.read_attribute(kind, name)
            for function in functions:
                yield from self._of_function(function, seen)
                names = [*_names(function.__code__)]
                left += [other for other in names if other in members]
                for other in names:
                    if instance is not None and other not in members and hasattr(instance, other):
                        self._world.read_attribute(instance, other)

    def _is_of_the_user(self, function: types.FunctionType) -> bool:
        return not (self._world.is_library(function) or purity.is_installed(function.__code__.co_filename))

    def _of_function(self, function: types.FunctionType, seen: dict[int, Any]) -> Iterator[Any]:
        """Record in the graph's guards the global names and closure variables that a function uses, and those of the functions among their
        values.  Yield the other values, whose attributes the caller looks at.

        seen  the objects that have been recorded, by `id`; more are added
        """
        if id(function) in seen or not self._is_of_the_user(function):
            return
        seen[id(function)] = function
        space = function.__globals__
        found: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for name in _names(function.__code__):
            if name in space:
                self._world.read_name(space, name)
                found.append(space[name])
        for cell in function.__closure__ or ():
            if is_full(cell):
                self._world.read_closure(cell)
                found.append(cell.cell_contents)
        for x in found:
            if isinstance(x, types.FunctionType):
                self._world.read_object(x)
                yield from self._of_function(x, seen)
            elif not purity.is_installed_class(type(x)) and not isinstance(x, type):
                yield x


def functions_of(member: Any) -> Iterator[types.FunctionType]:
    """Yield the Python functions behind a member of a class: of a method, a static or class method, or a property."""
    match member:
        case staticmethod() | classmethod():
            found = (member.__func__,)
        case property():
            found = (member.fget, member.fset, member.fdel)
        case functools.cached_property():
            found = (member.func,)
        case _:
            found = (member,)
    yield from (function for function in found if isinstance(function, types.FunctionType))


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes that a code object, and those nested in it, use."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)
