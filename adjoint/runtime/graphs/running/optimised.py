"""What a graph runs when nothing is recorded: its function after optimisation, with gradients expanded as wholes.

A graph in which the user's Python code may run is run as it is: hooks may be added or removed in the middle of it.  So is one whose
gradients would be summed in another order than eager mode's.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from adjoint.ir.core import walk
from adjoint.ir.op import Effect
from adjoint.ir.ops.control import Cell, Differentiated
from adjoint.ir.ops.host import Apply, Attach, Hook, Outputs
from adjoint.ir.ops.random import Draw
from adjoint.ir.plan import Plan
from adjoint.passes.optimising import optimised_alike
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.sequence import Faster
from adjoint.runtime.graphs.graph import Graph, LibraryCall
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["faster", "quiet_plan"]


def faster(graph: Graph) -> Faster | None:
    """Return the optimised function of a graph; None if the graph must run as it is."""
    if not _runs_alone(graph):
        return None
    functions, state = graph.module.functions.values(), graph.state
    differentiated = any(isinstance(node.op, Differentiated) for function in functions for node in walk(function.body))

    def fits(arguments: Sequence[Tensor]) -> bool:
        """Return True if no hook waits on a tensor from outside for its gradient."""
        for x in (*arguments, *state.values()):  # noqa: SIM110 - a generator is slower
            if x._hooks:
                return False
        return True

    return Faster(functools.partial(_plan, graph), fits if differentiated else None)


def quiet_plan(graph: Graph) -> Plan:
    """Return the plan that a graph runs by when nothing is recorded and no hook waits on a tensor from outside."""
    found = faster(graph)
    return (found and found.plan()) or planned(graph.function, identities=True, accesses=True)


def _plan(graph: Graph) -> Plan | None:
    function = optimised_alike(graph.function, graph.module)
    return None if function is None else planned(function, identities=True, accesses=True)


def _runs_alone(graph: Graph) -> bool:
    """Return True if none of the user's code runs in a graph, or is named by a cell of it."""
    for function in graph.module.functions.values():
        for node in walk(function.body):
            op = node.op
            if isinstance(op, Cell) and (op.symbol or op.rule):
                return False
            if isinstance(op, (Attach, Hook, Outputs)):
                return False
            of_library = isinstance(op, Apply) and isinstance(graph.hosts.get(op.symbol), LibraryCall)
            if op.effect is Effect.HOST and not of_library and not isinstance(op, Draw):
                return False
    return True
