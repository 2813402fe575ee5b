"""Share graphs between functions that a program makes again and again, such as a lambda in a loop.

    for y in rows: grad(lambda z: (z * y).sum())(x)        # in GRAPH_MODE

Each time the program makes another function object of the same code object.  From the second on, these functions share graphs.  In a shared
graph the variables of the enclosing functions are keyword arguments: the graph of this lambda is that of `(z, y=y)`.  A default value that
a call leaves out becomes a keyword argument, too.

Functions share graphs only if no program can notice: the body assigns no variable of an enclosing function, the graph runs no code of the
user's, and its result consists of tensors, numbers and text.  Otherwise each function has graphs of its own.  The same holds while several
functions of one code are alive together, such as those that a decorator makes.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
import weakref
from collections import Counter
from typing import Any

from adjoint.foundation.budget import Table, budget
from adjoint.runtime.graphs.calls.cache import Graphs
from adjoint.runtime.process.context import get_context
from adjoint.runtime.process.jitted import parsed_function

__all__ = ["NotShared", "SharedGraphs", "shared_graphs"]

_PATIENCE = 4
"""How many graphs of a code may turn out to be unfit for sharing before all its functions get graphs of their own."""

_FIRST_WAIT = 16
"""After how many more functions of such a code sharing is tried again, at first; each time it fails this doubles.  What stood in the way
may be gone: a hook that a program has removed.
"""

_MOST_REFUSED = 64
"""For how many sets of enclosed functions refusals are counted, until counting begins again."""

_DEEPEST = 8
"""How deeply functions that refer to other functions, as variables of an enclosing function, are compared by their code; deeper ones are
compared as objects.
"""

_PATTERN = "__adjoint_pattern__"
"""The name of the attribute that marks a pattern function: the stand-in that is parsed once for all functions with the same code."""

_BYTES = 5000
"""Estimated bytes of the entry that is kept for one code object, without its graphs."""


class NotShared(Exception):
    """Raised, before anything runs, by a call that cannot use a graph shared with other functions: the function then gets its own graphs.

    is_lasting  True if all later calls of this function need its own graphs as well
    """

    def __init__(self, is_lasting: bool) -> None:
        super().__init__()
        self.is_lasting = is_lasting


class _Code:
    """Facts about a code object of which a program makes functions again and again, and the graphs that these functions share.

    pattern  a function of this code with empty enclosing variables: it represents the code in the arguments of graphs
    may_be_shared  True if enclosing variables can be passed as arguments, since none is assigned
    shared   the cache of the graphs that functions of this code share; None if they cannot share any
    nbytes, used  what the budget asks of a cache entry: its estimated bytes, and the period of its last use
    """

    __slots__ = ("may_be_shared", "nbytes", "pattern", "shared", "used")

    def __init__(self, function: types.FunctionType):
        code = function.__code__
        self.pattern = pattern = types.FunctionType(
            code, function.__globals__, function.__name__, None, tuple([types.CellType() for _ in code.co_freevars]))
        pattern.__qualname__ = function.__qualname__
        setattr(pattern, _PATTERN, True)
        self.may_be_shared = "__class__" not in code.co_freevars and not _assigned(code, frozenset(code.co_freevars))
        named = not (code.co_posonlyargcount and function.__defaults__)
        self.shared = SharedGraphs(pattern, function) if self.may_be_shared and named else None
        self.nbytes, self.used = _BYTES, 0


class SharedGraphs(Graphs):
    """The cache of the graphs that all functions of one code share.

    It also decides which functions share: not the first one, and none while the function before it is still alive.

    pattern   a function of the code without values of its enclosing variables; it is parsed in place of each of them
    function  the first function of the code that was seen
    """

    __slots__ = ("_is_anew", "_last", "_pattern", "_refused", "_waits")

    def __init__(self, pattern: types.FunctionType, function: types.FunctionType):
        super().__init__(functools.partial(_call, pattern))
        self._pattern, self._last, self._is_anew = pattern, weakref.ref(function), False
        self._refused: Counter[tuple[Any, ...]] = Counter()
        self._waits: dict[tuple[Any, ...], tuple[int, int]] = {}
        """By enclosed functions: how many functions are still to come before sharing is tried again, and how long this wait is in all."""

    def shares(self, function: types.FunctionType) -> bool:
        """Return True if a function is to use these graphs instead of its own.

        The first function of a code does not, nor does a function that is made while the one before is still alive, unless sharing has
        begun.
        """
        last = self._last()
        if last is function:
            return False
        self._last = weakref.ref(function)
        self._is_anew |= last is None
        self._wait(function)
        return self._is_anew and not self._is_refused(function) and function.__globals__ is self._pattern.__globals__

    def given(self, function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments with which a call runs a shared graph.

        To those of the call they add the variables of enclosing functions and the default values that it uses.  NotShared if this call
        needs the function's own graphs.
        """
        if self._is_refused(function):
            raise NotShared(is_lasting=True)
        if not kwargs.keys().isdisjoint(function.__code__.co_freevars) or get_context("save_graphs"):
            raise NotShared(is_lasting=False)  # a saved graph should have the arguments that the program passes
        try:
            return {**kwargs, **_defaults(function, len(args), kwargs), **_around(function, (function,))}
        except ValueError:
            raise NotShared(is_lasting=False) from None  # a variable has no value yet: parsed code says which

    def check(self, function: types.FunctionType, is_plain: bool) -> None:
        """Raise NotShared if a new graph may not be used for all functions of this code.  Drop graphs whose arguments have been freed.

        function  the function for which it was made
        is_plain  True if the graph runs no code of the user's, and its result consists of tensors, numbers and text
        """
        if not is_plain:
            raise self.refused(function)
        for template in [template for template in self.copy() if not template.is_alive]:
            self.pop(template, None)

    def refused(self, function: types.FunctionType) -> NotShared:
        """Return the exception for a function that cannot share graphs, and count it.  The caller raises the exception.

        After `_PATIENCE` of them, functions that enclose the same functions do not share for a while (`_FIRST_WAIT`); if they enclose none,
        the shared graphs are dropped.
        """
        if len(self._refused) >= _MOST_REFUSED:
            self._refused.clear()
            self._waits.clear()
        inner = _inner(function)
        self._refused[inner] += 1
        if not inner and self._refused[inner] >= _PATIENCE:
            self.evict(budget.period)
        return NotShared(is_lasting=True)

    def _wait(self, function: types.FunctionType) -> None:
        """Count a new function of a code that does not share; after enough of them one more graph may show whether it can."""
        if self._is_refused(function):
            inner = _inner(function)
            left, length = self._waits.get(inner, (_FIRST_WAIT, _FIRST_WAIT))
            if left > 1:
                self._waits[inner] = left - 1, length
            else:
                self._waits[inner] = 2 * length, 2 * length
                self._refused[inner] = _PATIENCE - 1

    def _is_refused(self, function: types.FunctionType) -> bool:
        """Return True if too many graphs of functions that enclose the same functions could not be shared."""
        return bool(self._refused) and self._refused[_inner(function)] >= _PATIENCE


def _inner(function: types.FunctionType) -> tuple[types.CodeType, ...]:
    """Return the code of the functions among the enclosing variables of a function.  The functions that `vmap` makes are all of one code,
    but each encloses a function of the user's.
    """
    found: list[types.CodeType] = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
        if type(value) is types.FunctionType:
            found.append(value.__code__)
    return tuple(found)


def _call(pattern: types.FunctionType, lowering: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of a code on symbolic arguments, while a shared graph is made.

    pattern   a function of the code, without values of its enclosing variables
    lowering  the lowering that makes the graph
    kwargs    the values of the enclosing variables, besides the call's own keyword arguments
    """
    around = {name: kwargs[name] for name in pattern.__code__.co_freevars}
    own = {name: value for name, value in kwargs.items() if name not in around}
    return lowering.call(_made(lowering, pattern, around, _names(pattern)), args, own)


def _made(lowering: Any, pattern: types.FunctionType, around: dict[str, Any], names: tuple[str, str]) -> Any:
    """Return a function like `pattern` with values for its enclosing variables, as an object of the graph that is being made.

    Functions among the values, which `_around` has taken apart, are made in the same way.

    lowering  the lowering that makes the graph
    around    the values, by name
    names     its `__name__` and `__qualname__`
    """
    found = {name: _made(lowering, *value) if _is_taken_apart(value) else value for name, value in around.items()}
    return lowering.with_around(pattern, found, names)


def _is_taken_apart(value: Any) -> bool:
    """Return True for a tuple that `_around` has put in place of a function; no other module makes such a tuple."""
    return type(value) is tuple and len(value) == 3 and type(value[0]) is types.FunctionType and hasattr(value[0], _PATTERN)


def _around(function: types.FunctionType, inside: tuple[types.FunctionType, ...]) -> dict[str, Any]:
    """Return the values of a function's enclosing variables, by name, as arguments for a shared graph.  ValueError if a variable has no
    value.

    A value that is itself a nested function or a lambda is replaced by three things if possible: the function that represents its code
    (`_pattern_of`), the values of its own enclosing variables, and its `__name__` and `__qualname__`.  So the graph is found again for a
    new function of the same code; `_made` puts the function together.

    inside  the functions whose variables led to this one; a function that leads to itself is left as it is
    """
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        value = found[name] = cell.cell_contents
        if type(value) is not types.FunctionType:
            continue
        value = parsed_function(value)
        if type(value) is types.FunctionType and _may_be_made_anew(value.__code__) and len(inside) < _DEEPEST:
            pattern = None if value in inside else _pattern_of(value)
            if pattern is not None:
                found[name] = pattern, _around(value, (*inside, value)), _names(value)
    return found


def _may_be_made_anew(code: types.CodeType) -> bool:
    """Return True for the code of a nested function or a lambda, which a program may make again and again."""
    return bool(code.co_flags & inspect.CO_NESTED) or code.co_name == "<lambda>"


def _names(function: types.FunctionType) -> tuple[str, str]:
    return function.__name__, function.__qualname__


def _pattern_of(function: types.FunctionType) -> types.FunctionType | None:
    """Return a function that represents the code of `function` in the arguments of graphs.

    Return None if the code and the enclosing variables do not identify the function.  Examples are functions with default values or
    attributes, and functions whose enclosing variables are assigned.
    """
    known = _code_of(function)
    is_plain = not (function.__defaults__ or function.__kwdefaults__ or vars(function).keys() - {"__wrapped__"})
    return known.pattern if is_plain and known.may_be_shared and function.__globals__ is known.pattern.__globals__ else None


_of_codes: Table[int, _Code] = Table("functions made anew")
"""For the id of each code object of which a program makes functions again and again: its entry, which keeps the code alive."""


def _code_of(function: types.FunctionType) -> _Code:
    known = _of_codes.find(id(function.__code__))
    if known is None:
        known = _Code(function)
        _of_codes.keep(id(function.__code__), known)
    return known


def shared_graphs(function: Any) -> SharedGraphs | None:
    """Return the cache of graphs that a function shares with others of its code; None if it needs graphs of its own.

    Call this once for each function that the program makes: the call decides whether the function shares graphs.
    """
    if type(function) is not types.FunctionType or vars(function):
        return None
    shared = _code_of(function).shared
    return shared if shared is not None and shared.shares(function) else None


def _assigned(code: types.CodeType, names: frozenset[str]) -> bool:
    """Return True if a code object, or one nested in it, assigns one of the named variables of enclosing functions.

    names  the variables
    """
    if not names:
        return False
    if any(each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in names for each in dis.get_instructions(code)):
        return True
    return any(_assigned(inner, names.intersection(inner.co_freevars) - {*code.co_cellvars})
               for inner in code.co_consts if isinstance(inner, types.CodeType))


def _defaults(function: types.FunctionType, given: int, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the default values that a call uses because it does not pass these parameters, by parameter.

    given   the number of the call's positional arguments
    kwargs  its keyword arguments
    """
    code, values = function.__code__, function.__defaults__ or ()
    first = code.co_argcount - len(values)
    found = {name: value for i, (name, value) in enumerate(zip(code.co_varnames[first:code.co_argcount], values, strict=True), first)
             if i >= given and name not in kwargs}
    for name, value in (function.__kwdefaults__ or {}).items():
        if name not in kwargs:
            found[name] = value
    return found
