"""Graph mode: its state, and the functions that run a cell or a function as a graph.

Cells read the state at each call; `graphs.jit`, which runs graphs, registers itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import InternalError
from adjoint.runtime.process.tracer import state

__all__ = ["gradient", "mode", "of_function", "run_cell", "set_mode", "set_runner"]

mode = False
"""True in GRAPH_MODE: a cell that is called, or a function whose gradient is taken, is parsed, unless the thread runs eagerly
(`tracer.state.eager`).
"""


def set_mode(on: bool) -> None:
    """Switch graph mode on or off."""
    global mode
    mode = on


def _nobody(*given: Any) -> Any:
    raise InternalError("nobody has registered to run graphs")


run_cell: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] = _nobody
"""The function that runs a cell as a graph, set by `set_runner`: called with the cell, its positional and its keyword arguments, it returns
the result.
"""

_as_graph: Callable[[Callable[..., Any]], Callable[..., Any]] = _nobody


gradient: Callable[..., Any] = _nobody
"""The function that computes a gradient of a function that runs as a graph, set by `set_runner`; see `graphs.jit.gradient`."""


def set_runner(of_cell: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any],
               of_function: Callable[[Callable[..., Any]], Callable[..., Any]], of_gradient: Callable[..., Any]) -> None:
    """Register the functions that run graphs; `graphs.jit` calls it, so that cells need not import graphs.

    of_cell      becomes `run_cell`
    of_function  takes a function, and returns a function that runs it as a graph
    of_gradient  becomes `gradient`
    """
    global run_cell, gradient, _as_graph
    run_cell, gradient, _as_graph = of_cell, of_gradient, of_function


def of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs `function` as a graph if GRAPH_MODE is on; otherwise return `function` itself.  Cells need no conversion.
    """
    return _as_graph(function) if mode and not state.eager else function
