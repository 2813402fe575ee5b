"""What a graph runs when nothing is recorded: its function after optimisation, with gradients expanded as wholes.

A graph is run as it is where its gradients would be summed in another order than eager mode's, and where the user's Python code may run
before something that depends on what it does (`user_code.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from adjoint.ir.core import Function, Node, walk
from adjoint.ir.op import Effect
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.collective import Collective
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.host import Apply
from adjoint.ir.ops.random import Draw
from adjoint.ir.plan import Plan
from adjoint.passes.inline import inlined
from adjoint.passes.optimising import optimised_alike
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.sequence import Faster
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.running.user_code import UserCode, has_user_code, may_expand, parameters_are_read_before, returns_anything
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["faster", "optimised_alone", "quiet_plan", "runs_alone"]


def faster(graph: Graph, optimised: Function | None = None) -> Faster | None:
    """Return the optimised function of a graph; None if the graph must run as it is.

    optimised  this function, if it is known: for a graph that runs alone
    """
    state, nodes = graph.state, _nodes(graph)
    if any(map(_is_fixed, nodes)):
        return None
    differentiated = any(isinstance(node.op, Differentiated) for node in nodes)
    around: list[Callable[[], Cell | None]] = []
    if not has_user_code(graph):
        make = functools.partial(_plan, graph, optimised)
    else:
        user = UserCode(graph)
        if user.late or returns_anything(graph) or not may_expand(graph, user.function):
            return None
        make, around = functools.partial(_plan_of, graph, user.function, user.runs), [site.reference for site in user.around]

    def fits(arguments: Sequence[Tensor]) -> bool:
        """Return True if no hook waits on a tensor from outside for its gradient, and none can be added to a cell that is being called."""
        for x in (*arguments, *state.values()):
            if x._hooks:
                return False
        for reference in around:
            cell = reference()
            if cell is None or cell._hooks is not None:
                return False
        return True

    return Faster(make, fits if differentiated or around else None)


def quiet_plan(graph: Graph) -> Plan:
    """Return the plan that a graph runs by when nothing is recorded and no hook waits on a tensor from outside."""
    found = faster(graph)
    return (found and found.plan()) or planned(graph.function, identities=True, accesses=True)


def runs_alone(graph: Graph) -> bool:
    """Return True if none of the user's code runs in a graph, and it need not run as it is."""
    return not has_user_code(graph) and not any(map(_is_fixed, _nodes(graph)))


def optimised_alone(graph: Graph) -> Function | None:
    """Return the optimised function of a graph that runs alone; None if it must run as it is."""
    return optimised_alike(inlined(graph.function, graph.module), graph.module)


def _nodes(graph: Graph) -> list[Node]:
    return [node for function in graph.module.functions.values() for node in walk(function.body)]


def _is_fixed(node: Node) -> bool:
    """Return True for a hook that is attached to a value: it belongs to its tensor, which optimisation may make another one's."""
    return node.op.effect is Effect.HOST and not isinstance(node.op, (Apply, Check, Collective, Draw))


def _plan(graph: Graph, optimised: Function | None) -> Plan | None:
    made = optimised_alone(graph) if optimised is None else optimised
    return None if made is None else planned(made, identities=True, accesses=True)


def _plan_of(graph: Graph, function: Function, calls_the_user: bool) -> Plan | None:
    made = optimised_alike(function, graph.module)
    if made is None or (calls_the_user and not parameters_are_read_before(made)):
        return None
    return planned(made, identities=True, accesses=True)
