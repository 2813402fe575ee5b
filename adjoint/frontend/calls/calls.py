"""Calls of any callable: the user's functions, whose trees are run, cells, the library, and Python's own functions.

A function of Python or NumPy is called while the graph is made, if its result depends on its arguments alone.  Others are refused, since
their results would be frozen into the graph.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Any

from adjoint.frontend.calls.builtins import PYTHON, Builtins
from adjoint.frontend.calls.functions import Functions
from adjoint.frontend.calls.instances import Instances
from adjoint.frontend.calls.python_calls import CalledBack, PythonCalls
from adjoint.frontend.changes import purity
from adjoint.frontend.operations.decisions import Decisions
from adjoint.frontend.values.chosen import Chosen, check
from adjoint.frontend.values.frame import Closure
from adjoint.frontend.world import World

__all__ = ["Calls"]

_BY_KIND = frozenset({isinstance, issubclass, type, getattr, hasattr, setattr, callable, print, super})
"""Built-in functions that look at the types or attributes of their arguments only: a call of one is not recorded as a read of contents."""

_IN_C = (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
"""Types of functions and methods that are written in C."""


class Calls:
    """Makes the calls of the code that becomes the graph: it finds out what kind of callable is called, and passes the call to the part
    that handles this kind.  Other parts reach it through `Runner.call`.

    world  the interface to the runtime, which makes the nodes
    decisions, python, instances, functions, builtins  the parts of the `Lowerer` to which it passes calls
    """

    def __init__(self, world: World, decisions: Decisions, python: PythonCalls, instances: Instances, functions: Functions,
                 builtins: Builtins):
        self.world, self.decisions, self.python, self.instances = world, decisions, python, instances
        self.functions, self.builtins = functions, builtins

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return `function(*args, **kwargs)` for any kind of callable.

        CompileError if the call cannot be part of a graph, for example since its result depends on more than its arguments.
        """
        function = self.world.parsed_function(function)
        while isinstance(function, CalledBack):
            function = self.world.parsed_function(function.function)
        if isinstance(function, functools.partial):
            if not self.python.objects.journal.has_made(function):
                for name in ("func", "args", "keywords"):
                    self.world.read_attribute(function, name)
            return self.call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if isinstance(function, Closure):
            return function.__run__(function, args, kwargs)
        if self.world.is_cell(function):
            return self.world.call_cell(function, args, kwargs)
        if isinstance(function, Chosen):
            return self._switched(function, function.items, 0, args, kwargs)
        if isinstance(function, types.MethodType):
            bound = self.world.parsed_function(function.__func__)
            if self.world.is_library(bound):
                return self.python.call(function, args, kwargs)
            if isinstance(bound, functools._lru_cache_wrapper):
                self.python.refuse_cached(bound)
            if not isinstance(bound, (types.FunctionType, functools.partial, Closure)):
                self.python.check_pure(function)
                return self.python.call(function, args, kwargs)
            return self.call(bound, (function.__self__, *args), kwargs)
        special = PYTHON.get(function) if _hashable(function) else None
        if special is not None:
            check(*args, *kwargs.values())
            if function not in _BY_KIND:
                self.python.given(function, args, kwargs)
                args = tuple(map(self.python.objects.steady, args))
            return special(self.builtins, args, kwargs)
        if self.world.is_library(function):
            return self.python.convert(function, args, kwargs) if isinstance(function, type) else self.python.call(function, args, kwargs)
        if isinstance(function, types.FunctionType):
            if purity.is_of_pure_module(function):
                self.python.check_pure(function)
                if function.__closure__ and not kwargs:
                    self.python.read_outcome(function, args)
                return self.python.call(function, args, kwargs)
            if purity.is_standard(function):
                self.python.check_pure(function)
            return self.functions.run_function(function, args, kwargs)
        if isinstance(function, type):
            return self.instances.make(function, args, kwargs)
        if isinstance(function, _IN_C) or purity.is_of_pure_module(function):
            self.python.check_pure(function)
            return self.python.call(function, args, kwargs)
        self.world.read_attribute(type(function), "__call__")
        called = getattr(type(function), "__call__", None)  # noqa: B004 - what it is, not whether it is there
        if isinstance(called, types.FunctionType) and not self.world.is_library(called):
            return self.call(called, (function, *args), kwargs)
        if isinstance(function, functools._lru_cache_wrapper):
            self.python.refuse_cached(function)
        if isinstance(called, types.WrapperDescriptorType):
            # Written in C.
            self.python.check_pure(function)
        return self.python.call(function, args, kwargs)

    def _switched(self, chosen: Chosen, items: Sequence[Any], start: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the cell or function that was chosen by a number known only when the graph runs.  The graph gets a tree of `if`s, each of
        which halves the candidates.

        chosen  the choice, with its candidates and the number
        items   the candidates that are left
        start   the index of `items[0]` among all candidates

        Return the merged result of the calls.
        """
        if len(items) == 1:
            return self.call(items[0], args, kwargs)
        loc, half = self.world.loc, len(items) // 2

        def side(part: Sequence[Any], begin: int) -> Any:
            self.world.loc = loc
            return self._switched(chosen, part, begin, args, kwargs)

        condition = self.world.truth(chosen.position < start + half)
        if isinstance(condition, bool):
            return side(items[:half], start) if condition else side(items[half:], start + half)
        return self.decisions.decided(condition, lambda: side(items[:half], start), lambda: side(items[half:], start + half), loc)


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
