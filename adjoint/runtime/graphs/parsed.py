"""Methods of this package whose source is parsed when a graph is made, like that of the user's functions."""

from __future__ import annotations

from types import MethodType
from typing import Any

from adjoint.runtime.process.tracer import emitter

__all__ = ["parsed"]


def parsed(method: MethodType, *args: Any) -> Any:
    """Call a bound method that branches on the numbers of tensors, and return its result.

    In a graph, code of the package normally runs once, on tensors without values.  This method is parsed instead, so that its branches
    become branches of the graph.
    """
    graph = emitter()
    if graph is not None:
        return graph.frontend.run_function(method.__func__, (method.__self__, *args), {})
    return method(*args)
