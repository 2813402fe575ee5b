"""Calls of Python's own functions and of library functions.  Python runs these as they are, while the user's functions are run on their
syntax trees.
"""

from __future__ import annotations

import functools
import types
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any, NoReturn

import numpy as np

from adjoint.frontend import errors
from adjoint.frontend.changes import purity
from adjoint.frontend.changes.aliases import MUTATORS
from adjoint.frontend.changes.journal import COLLECTIONS, CONTAINERS, MISSING, AttributePlace, ContentsPlace, ObjectPlace, is_as_before
from adjoint.frontend.changes.objects import Objects
from adjoint.frontend.changes.outside import beneath
from adjoint.frontend.operations.call_stack import CallStack
from adjoint.frontend.operations.iterators import Iterators
from adjoint.frontend.operations.runner import Runner
from adjoint.frontend.values.chosen import check
from adjoint.frontend.values.text import RunTimeText, formatted, joined
from adjoint.frontend.world import World

__all__ = ["CalledBack", "PythonCalls"]

_WITHOUT_VIEWS = (int, float, complex, str, bytes, bytearray, list, np.generic)
"""Types of results that share no memory with the arguments of a call, so that a later change of an argument does not change the result."""

_COMPARING = frozenset({"sort", "count", "index", "remove"})
"""Names of methods of containers that compare the items, and so may call `__eq__` or `__lt__` of a user's class."""

_GO_ON = frozenset({"__next__", "send", "throw", "close"})
"""Names of the methods that advance or close an iterator or a generator."""

_OF_ITEMS = (list, tuple, set, frozenset, dict, deque)
"""Types of containers without user-defined methods: a function such as `len`, which only counts or passes on items, needs no record of
them.
"""

_SETS = (set, frozenset, dict.fromkeys, Counter)
"""Constructors that hash the items they are given."""


class CalledBack(functools.partial[Any]):
    """A user's function as an argument of Python code, such as the `key` of `list.sort`: when Python calls this object, the function is run
    on its syntax tree, so that it becomes part of the graph.

    Python's functions may return such an object: if it is called then, the wrapped function is called directly.
    """

    @property
    def function(self) -> Any:
        """Return the user's function that this object wraps."""
        return self.args[0]


class PythonCalls:
    """Calls functions whose code Python runs unparsed: those of Python, NumPy and this library.  It records what such a function may read
    and change, and refuses calls whose results a graph must not keep.

    world  the interface to the runtime, which makes the nodes
    stack, objects, iterators, run  the parts of the `Lowerer` that it uses
    """

    def __init__(self, world: World, stack: CallStack, objects: Objects, iterators: Iterators, run: Runner):
        self.world, self.stack, self.objects, self.iterators, self.run = world, stack, objects, iterators, run

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of Python, NumPy or this library as it is, and return its result.

        If it calls user functions that are among its arguments, these become part of the graph.  CompileError if a graph cannot contain
        this call.
        """
        check(*args, *kwargs.values())
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "")
        if self.world.is_library(function):
            self.world.check_call(function)
            holder, rest = (owner, args) if isinstance(function, types.MethodType) else (args[0], args[1:]) if args else (None, ())
            if self.world.is_cell(holder) and self.objects.journal.has_made(holder):
                if name == "__init__":
                    return self.world.initialise(holder, getattr(function, "__func__", function), rest, kwargs)
                self.world.check_parts(rest, kwargs)
            self.objects.used(*[x for x in (*args, *kwargs.values()) if self.world.is_tensor(x)])
            if not isinstance(function, types.FunctionType):
                self.objects.used(function)
        else:
            self.given(function, args, kwargs)
            self.objects.used(owner)
            if not isinstance(function, (types.FunctionType, type)):
                self.objects.used(function)
            self._check_arguments(function, owner, args, kwargs)
        target = (owner, *args) if owner is not None and not isinstance(owner, types.ModuleType) else args
        if target and (name in MUTATORS or (name == "__init__" and isinstance(target[0], CONTAINERS))):
            self.objects.touched(target[0])
        elif name in ("__setattr__", "__delattr__") and len(target) > 1:
            self.objects.touched_once(AttributePlace(target[0], target[1]))
        place = self.world.place(owner) if owner is not None else None
        before = None if place is None else place.get()
        if args and isinstance(args[0], Iterator) and (name == "join" or _makes_a_set(function)):
            args = (list(args[0]), *args[1:])  # what is in it is looked at here
            self._check_arguments(function, owner, args, kwargs)
        if isinstance(function, type) or name in _COMPARING:
            self.objects.outside.unparsed.given(function if owner is None else owner)
        watched: list[tuple[ContentsPlace, Any]] = []
        found: Any = MISSING
        if not self.world.is_library(function):
            if function is not functools.partial and not purity.looks_at_functions(function) \
                    and (not isinstance(owner, CONTAINERS) or name == "sort"):
                args = tuple(self._called_back(x) for x in args)
                kwargs = {name: self._called_back(x) for name, x in kwargs.items()}
            text = self._late_text(owner, name, args, kwargs)
            if text is not None:
                return text
            if name not in MUTATORS and not purity.changes_arguments(function) and "out" not in kwargs:
                function, args = self._steady(function, owner, name, args)
                found = self._of_steady_numbers(function, args, kwargs)
            watched = [] if found is not MISSING else self._outside_among((getattr(function, "__self__", owner), *args, *kwargs.values()))
        try:
            found = self.world.of_each_run(function(*args, **kwargs) if found is MISSING else found)
        finally:
            if place is not None:
                self.objects.journal.changed(place, before)
        for given, before in watched:
            if not is_as_before(before, given.get()):
                self.objects.journal.note(given, lambda before=before: before)
        if isinstance(found, Iterator):
            self.iterators.made[id(found)] = found, (owner, *args)
        if isinstance(found, functools.partial) and (function is type(found) or (
                self.world.is_library(function) and all(found is not given for given in (*args, *kwargs.values())))):
            self.objects.journal.born(ObjectPlace(found))
        if isinstance(found, Iterator) or (isinstance(function, type) and isinstance(found, COLLECTIONS)) \
                or _is_new_array(found, function, (owner, *args, *kwargs.values())):
            self.objects.journal.born(ContentsPlace(found))
        return found

    def _steady(self, function: Any, owner: Any, name: str, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Return the function and its arguments, with copies in place of containers that other threads may change meanwhile.

        The function must only read its arguments.

        owner  the object whose method the function is, or None
        name   the name of the function
        """
        steady = self.objects.steady(owner)
        if steady is not owner:
            return getattr(steady, name), args
        return function, args if isinstance(owner, CONTAINERS) else tuple(map(self.objects.steady, args))

    def _of_steady_numbers(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function on copies of the arrays and similar containers among its arguments, which other threads may change.  The copies
        show the contents that the containers had when the user's code found them.

        Return the result.  Return MISSING (a marker) if the function was not called, since no argument needs a copy, or if the result may
        be a view of a copy: the caller then calls it on the real arguments.
        """
        owner = getattr(function, "__self__", None)
        before = [owner, *args]
        given = [self.objects.steady_numbers(x) if isinstance(x, (memoryview, *CONTAINERS)) else x for x in before]
        if all(map(is_, given, before)) or not purity.depends_on_arguments_alone(function):
            return MISSING
        if given[0] is not owner:
            function = getattr(given[0], function.__name__)
        result = function(*given[1:], **kwargs)
        if isinstance(result, np.ndarray):
            return MISSING if any(isinstance(x, np.ndarray) and np.may_share_memory(result, x) for x in given) else result
        return result if isinstance(result, _WITHOUT_VIEWS) else MISSING

    def _outside_among(self, values: Sequence[Any]) -> list[tuple[ContentsPlace, Any]]:
        """Find the containers that existed before the user's function was called, and that a function of Python or NumPy receives and might
        change.

        values  the arguments of the function, and the object whose method it is

        Return each with a copy of its present contents, so that the caller can see afterwards whether it has changed.
        """
        found: list[tuple[ContentsPlace, Any]] = []
        for x in values:
            if isinstance(x, tuple):
                found += self._outside_among(x)
            elif isinstance(x, CONTAINERS) and self.objects.outside.holds(x):
                place = ContentsPlace(x)
                found.append((place, place.get()))
            else:
                found += self._outside_among(tuple(beneath(x)))
        return found

    def convert(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the class `cls` of the library, such as `Tensor`, and return the new object."""
        self.objects.outside.unparsed.given(args, tuple(kwargs.values()))
        numbers = self.objects.steady_numbers
        return self.world.convert(cls, tuple(map(numbers, args)), {name: numbers(x) for name, x in kwargs.items()})

    def given(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record that a Python function is about to receive these arguments, so that the graph depends on everything in them that it may
        read.
        """
        passes_on = purity.uses_no_item(function)
        for x in (*args, *kwargs.values()):
            if passes_on and type(x) in _OF_ITEMS:
                continue
            if type(x) in (list, tuple, set):
                self.world.read_object(x)
                self.objects.outside.unparsed.given(x)
            else:
                self.objects.used(x)

    def _late_text(self, owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> RunTimeText | None:
        """Return the result of `owner.format(..)` or `owner.join(..)` as a RunTimeText (text with places for values of the graph), if an
        argument is known only when the graph runs; None for all other calls.

        owner  the object whose method is called
        name   the name of the method
        """
        if not isinstance(owner, str) or not self.objects.is_late((*args, kwargs)):
            return None
        if name == "format":
            return formatted(owner, args, kwargs)
        return joined(owner, args[0]) if name == "join" and isinstance(args[0], (list, tuple)) else None

    def _check_arguments(self, function: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Check the arguments of a Python function before it is called, and record the containers among them that it changes.

        owner  the object whose method the function is, or None

        CompileError if Python would hash a number that the graph computes, or advance an iterator that existed before the call.
        """
        if args and isinstance(owner, (dict, set, frozenset)):
            self.objects.check_key(args[0], self.world.loc)
            self.objects.outside.unparsed.given(tuple(owner))
        if getattr(function, "__name__", "") in _GO_ON:
            self.iterators.check(owner)
        if _is_of_numpy(function, owner) and any(map(self._has_number, (*args, *kwargs.values()))):
            raise errors.VALUE_NEEDED.at(self.world.loc, "NumPy needs to know a number that is known when the graph runs",
                                         help="use operations on tensors")
        for x in (*args, *kwargs.values()):
            self.iterators.check(x)
            for item in x if type(x) in (list, tuple) else ():
                self.iterators.check(item)
        for x in args:
            if _makes_a_set(function):
                for item in x if isinstance(x, (list, tuple)) else ():
                    self.objects.check_key(item, self.world.loc)
            if purity.changes_arguments(function) and isinstance(x, CONTAINERS):
                self.world.change(x)
                self.objects.journal.touch(ContentsPlace(x))
        if isinstance(kwargs.get("out"), CONTAINERS):
            self.objects.journal.touch(ContentsPlace(kwargs["out"]))

    def _has_number(self, x: Any) -> bool:
        if type(x) in (list, tuple):
            return any(map(self._has_number, x))
        return self.world.is_dynamic(x) and not self.world.is_tensor(x)

    def _called_back(self, x: Any) -> Any:
        """Return what Python code should receive for an argument.

        A function of the user is wrapped in a `CalledBack`, so that it becomes part of the graph when Python calls it.  Any other object is
        returned itself.
        """
        function = x
        while isinstance(function, (functools.partial, types.MethodType)):
            function = function.func if isinstance(function, functools.partial) else function.__func__
        is_method = isinstance(function, (types.BuiltinMethodType, types.MethodWrapperType)) \
            and not isinstance(function.__self__, types.ModuleType)
        is_of_the_user = isinstance(function, (types.FunctionType, functools._lru_cache_wrapper)) and not self.world.is_library(function) \
            and not purity.is_of_pure_module(function)
        if not (is_method or is_of_the_user):
            return x
        called_back = CalledBack(self.call_back, x)
        self.objects.journal.born(ObjectPlace(called_back))
        return called_back

    def call_back(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a user's function that Python code has received as an argument and calls now, on its syntax tree.  Return its result."""
        return self.run.call(function, args, kwargs)

    def refuse_cached(self, function: Any) -> NoReturn:
        """Raise CompileError for a function under `functools.lru_cache`: it returns results that it has computed from what it read in other
        calls.
        """
        name = self.stack.called_as or function.__qualname__
        raise errors.FROZEN_CALL.at(
            self.world.loc, f"`{name}` keeps its results (`functools.lru_cache`), which a graph cannot see",
            help=f"call it outside the function, and pass the result as an argument; or call `{name}.__wrapped__`, computed in each call")

    def read_outcome(self, function: Any, args: tuple[Any, ...]) -> None:
        """Record what a Python function that has state of its own returns for these arguments, such as the `dispatch` of
        `functools.singledispatch`.

        A later call of the user's function makes a new graph if the result has changed.  Do nothing unless all arguments are types, strings
        or ints.
        """
        if not any(map(self.objects.is_late, args)) and all(isinstance(x, (type, str, int)) for x in args):
            self.world.read_outcome(function, args)

    def check_pure(self, function: Any) -> None:
        """Raise CompileError for a function whose result depends on more than its arguments, such as `time.time`."""
        if not purity.depends_on_arguments_alone(function):
            name = self.stack.called_as or getattr(function, "__qualname__", type(function).__qualname__)
            raise errors.FROZEN_CALL.at(self.world.loc, f"`{name}` would be called once, while the graph is built",
                                        help="call it outside the function, and pass the result as an argument")


def _makes_a_set(function: Any) -> bool:
    # Other callables may have an `==` of their own.
    return isinstance(function, (type, types.BuiltinMethodType)) and function in _SETS


def _is_of_numpy(function: Any, owner: Any) -> bool:
    return any((getattr(x, "__module__", None) or "").partition(".")[0] == "numpy" for x in (function, type(function), type(owner)))


def _is_new_array(found: Any, function: Any, given: tuple[Any, ...]) -> bool:
    """Return True if a NumPy function has made an array that owns its memory and is not one of the given objects.

    found     the result of the function
    given     the object whose method it is, or None, and its arguments
    """
    if not isinstance(found, np.ndarray) or found.base is not None or any(found is x for x in given):
        return False
    return isinstance(given[0], np.ndarray) or (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"
