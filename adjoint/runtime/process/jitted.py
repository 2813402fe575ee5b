"""Functions that run as graphs: `jit` marks the functions that it makes, so that the function that the user wrote can be found.

A decorator copies the attributes of the function that it wraps, also such a mark.  So a mark has a weak reference to the function that it
belongs to.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["MARK", "graphs_of", "is_optional", "is_parsed", "mark", "optional", "parsed", "parsed_function"]

MARK = "__adjoint_jit__"
"""The attribute that holds the mark; a bound method and a decorated function have it as well, although they are not marked."""


class JittedGraphs(Protocol):
    """The object that `jit` attaches to the functions it makes; it knows their graphs.

    function  the function or Cell from which they are made
    """

    function: Any


def mark(function: Callable[..., Any], graphs: JittedGraphs) -> None:
    """Mark a function as one whose calls are executed by graphs.

    graphs  the object that `graphs_of` returns for it
    """
    setattr(function, MARK, (weakref.ref(function), graphs))


def graphs_of(function: object) -> Any:
    """Return the graphs of a marked function; None for any other object, even for a bound method of a marked function."""
    marked = getattr(function, MARK, None)
    return marked[1] if type(marked) is tuple and marked[0]() is function else None


def parsed_function(function: Any) -> Any:
    """Return the function or Cell from which `jit` has made a function; return any other object unchanged."""
    while hasattr(function, MARK) and (graphs := graphs_of(function)) is not None:
        function = graphs.function
    return function


_PARSED: set[Any] = set()
"""The code of functions of this package that graphs parse."""


def parsed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function of this package that graphs parse as a function of the user's: its conditions may depend on tensors."""
    _PARSED.add(function.__code__)
    return function


_OPTIONAL: set[Any] = set()
"""The code of functions of this package that also run without a graph."""


def optional(function: Callable[..., Any]) -> None:
    """Note that a function of this package runs in Python where its graph cannot be made."""
    _OPTIONAL.add(function.__code__)


def is_optional(function: Any) -> bool:
    """Return True for a function that `optional` has noted."""
    return getattr(function, "__code__", None) in _OPTIONAL


def is_parsed(function: Any) -> bool:
    """Return True for a function that `parsed` decorates."""
    return function.__code__ in _PARSED
