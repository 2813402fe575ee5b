"""Graph mode: whether it is on, and who runs a cell or a function as a graph then.

Cells ask here at each call; `graphs.jit`, which runs them, registers itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.diagnostics import InternalError

__all__ = ["mode", "of_function", "run_cell", "set_mode", "set_runner"]

mode = False
"""GRAPH_MODE is on: a cell that is called is parsed, and so is a function whose gradient is taken."""


def set_mode(on: bool) -> None:
    """Switch graph mode on or off."""
    global mode
    mode = on


def _nobody(*given: Any) -> Any:
    raise InternalError("nobody has registered to run graphs")


run_cell: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] = _nobody
"""Return the result of a cell, run as a graph: takes the cell, its positional and its keyword arguments."""

_as_graph: Callable[[Callable[..., Any]], Callable[..., Any]] = _nobody


def set_runner(of_cell: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any],
               of_function: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Register what runs graphs: `of_cell` becomes `run_cell`, `of_function` returns a function as a graph."""
    global run_cell, _as_graph
    run_cell, _as_graph = of_cell, of_function


def of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as a graph in graph mode, else itself.  Cells run as graphs by themselves."""
    return _as_graph(function) if mode else function
