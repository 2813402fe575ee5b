"""Graph mode: whether it is on, and who runs a cell or a function as a graph then.

This module stands below both cells, which ask it at each call, and `jit`, which puts itself in here: loading that is left to
the first graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["mode", "of_function", "run_cell", "set_mode"]

mode = False
"""GRAPH_MODE is on: a cell that is called is parsed, and so is a function whose gradient is taken."""


def set_mode(on: bool) -> None:
    """Switch graph mode on or off."""
    global mode
    mode = on


def run_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a cell, run as a graph."""
    from adjoint.runtime.graphs import jit  # it stands above

    return jit.run_cell(cell, args, kwargs)


def of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """In graph mode the function as a graph; else itself.  Cells run as graphs by themselves."""
    if not mode:
        return function
    from adjoint.runtime.graphs import jit  # it stands above

    return jit.of_function(function)
