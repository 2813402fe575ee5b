"""What `vmap` and the Jacobians share: a function of the library runs as a graph, or as it is where it cannot be parsed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.graphs.jit import jit
from adjoint.runtime.graphs.reports.ways import NOT_PARSED, ONE_BY_ONE, Why
from adjoint.runtime.process.jitted import graphs_of, mark, optional
from adjoint.runtime.process.tracer import emitter, not_eagerly, state
from adjoint.runtime.tensor.run_time_checks import ShapeOfValues
from adjoint.runtime.tensor.structure import leaves
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["transformed"]


def transformed(body: Callable[..., Any], like: Any, final: tuple[str, ...] = (), refused: str = "") -> Callable[..., Any]:
    """Return a function that runs `body` as a graph, and by calling it where the graph cannot be made; `jit_stats` says which.

    body     a function that adds nodes while a graph is made, and computes without a graph otherwise
    like     the function or Cell whose name and signature the result has
    final    codes of mistakes that are raised instead
    refused  why the body never runs as a graph; "" if it may
    """
    graph = jit(body)
    compiled = graphs_of(graph)
    optional(body)
    known: dict[Any, str] = {}  # by the types of arguments, why the body cannot be parsed for them

    def call(*args: Any, **kwargs: Any) -> Any:
        if emitter() is not None:
            return body(*args, **kwargs)
        key = tuple([x.type for x in leaves((args, kwargs), Tensor)])
        why = refused or known.get(key)
        if why is None:
            try:
                # Where a function under `jit` runs eagerly, this one runs as in eager mode, as a graph: one by one it would add up in
                # another order.
                return not_eagerly(graph, *args, **kwargs) if state.eager else graph(*args, **kwargs)
            except CompileError as mistake:
                if mistake.diagnostic.code in final:
                    raise
                why = known[key] = f"{mistake.diagnostic.code}, {mistake.diagnostic.label or mistake.diagnostic.title}"
            except ShapeOfValues as mistake:
                why = known[key] = str(mistake)
        if (calls := compiled.graphs.calls) is not None:
            calls.took(None, ONE_BY_ONE, Why(NOT_PARSED, why))
        return body(*args, **kwargs)

    function = functools.wraps(like, updated=())(call) if hasattr(like, "__name__") else call
    mark(function, compiled)
    return function
