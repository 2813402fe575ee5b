"""Functions that run as graphs: `jit` marks those that it makes, and whoever is given a function can find the one that was written.

A decorator copies the attributes of the function that it wraps.  So a mark names the function that it belongs to, weakly.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["MARK", "graphs_of", "mark", "parsed_function"]

MARK = "__adjoint_jit__"
"""The attribute; a bound method and a decorated function have it as well, but are no marked functions."""


class JittedGraphs(Protocol):
    """The graphs that a function runs as; `function` is what they are made from, a function or a Cell."""

    function: Any


def mark(function: Callable[..., Any], graphs: JittedGraphs) -> None:
    """Mark a function that runs as the graphs `graphs`."""
    setattr(function, MARK, (weakref.ref(function), graphs))


def graphs_of(function: object) -> Any:
    """Return the graphs that a marked function runs as; None for any other object, a bound method of a marked function too."""
    marked = getattr(function, MARK, None)
    return marked[1] if type(marked) is tuple and marked[0]() is function else None


def parsed_function(function: Any) -> Any:
    """Return the function or the Cell that `jit` was given, for a function that it has made; any other object itself."""
    while hasattr(function, MARK) and (graphs := graphs_of(function)) is not None:
        function = graphs.function
    return function
