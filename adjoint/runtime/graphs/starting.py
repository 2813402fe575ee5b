"""Make graph mode known to cells and gradients.  What runs graphs is loaded with the first that runs as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.runtime.process import graph_mode

__all__ = ["start"]


def _run_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from adjoint.runtime.graphs import jit

    return jit.run_cell(cell, args, kwargs)


def _of_function(function: Callable[..., Any]) -> Callable[..., Any]:
    from adjoint.runtime.graphs import jit

    return jit.of_function(function)


def _gradient(*given: Any, **named: Any) -> Any:
    from adjoint.runtime.graphs import jit

    return jit.gradient(*given, **named)


def start() -> None:
    """Register the functions that run graphs; `graphs.jit`, which they load, registers its own."""
    graph_mode.set_runner(_run_cell, _of_function, _gradient)
