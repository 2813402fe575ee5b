"""Methods of this package that are parsed in graphs, as the user's functions are."""

from __future__ import annotations

from types import MethodType
from typing import Any

from adjoint.runtime.process.tracer import emitter

__all__ = ["parsed"]


def parsed(method: MethodType, *args: Any) -> Any:
    """Call a bound method that branches on the numbers of tensors.

    In a graph the package's own code runs once, with tensors whose numbers are not known; this method is parsed, so that its branches
    become those of the graph.
    """
    graph = emitter()
    if graph is not None:
        return graph.frontend.run_function(method.__func__, (method.__self__, *args), {})
    return method(*args)
