"""The optimised form of a graph, which runs when no tape records: gradients are code of the graph, and nodes are simplified and merged.

A graph has no optimised form if the sums of its gradients would then be in another order than in eager mode.  It also has none if the
user's Python code may run before something that depends on what that code does (`user_code.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from adjoint.foundation import collector
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import user_place
from adjoint.ir.core import Function, Node, walk
from adjoint.ir.op import Effect
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.collective import Collective
from adjoint.ir.ops.control import Differentiated, OfTrace
from adjoint.ir.ops.host import Apply, Attach, Observe
from adjoint.ir.ops.random import Draw
from adjoint.ir.plan import Plan
from adjoint.passes.inline import inlined
from adjoint.passes.optimising import optimised_alike, why_not_alike
from adjoint.passes.order import reads_survive
from adjoint.passes.schedule import SCORES
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.bound_plan import Faster
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.running.user_code import (
    Obstacle,
    UserCode,
    has_user_code,
    obstacle,
    only_hooks_of_cells,
    parameters_are_read_before,
)
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Alone", "faster", "optimised_alone", "optimised_for_any_size", "quiet_plan", "reason", "runs_alone"]


@dataclass(frozen=True)
class Alone:
    """The optimised form of a graph that runs no code of the user's, except perhaps backward hooks of cells.

    It is specialised from a graph for any size, so that calls do not need the IR of the graph itself.

    function        the optimised function
    differentiates  True if the graph takes gradients
    nodes           the number of the graph's nodes
    hooked          the graph with the calls of cells whose backward hooks run in it; None if there are no such hooks
    """

    function: Function
    differentiates: bool
    nodes: int
    hooked: Graph | None = None


def faster(graph: Graph, alone: Alone | None = None) -> Faster | None:
    """Return the optimised form of a graph with the check when it may run; None if the graph must run without optimisation.

    alone  the form if it is known already
    """
    if alone is not None:
        plan = functools.partial(_planned, alone.function)
        return Faster(plan, _fits(graph.state, ()) if alone.differentiates else None)
    nodes = _nodes(graph)
    if any(map(_is_fixed, nodes)):
        return None
    differentiated = any(isinstance(node.op, Differentiated) for node in nodes)
    around: list[Callable[[], Cell | None]] = []
    if not has_user_code(graph):
        make = functools.partial(_plan, graph)
    else:
        user = UserCode(graph)
        if obstacle(graph, user) is not None:
            return None
        make, around = functools.partial(_plan_of, graph, user), [site.reference for site in user.around]
    return Faster(make, _fits(graph.state, around) if differentiated or around else None)


def _fits(state: Mapping[str, Tensor], around: Sequence[Callable[[], Cell | None]]) -> Callable[[Sequence[Tensor]], bool]:
    def fits(arguments: Sequence[Tensor]) -> bool:
        """Return True if the optimised form may run on these arguments.

        It may not if an argument or a tensor of the graph has a hook that waits for its gradient.  Nor may it if a cell in `around`, whose
        call runs code of the user's inside, has hooks or has been freed.
        """
        for x in (*arguments, *state.values()):
            if x._hooks:
                return False
        for reference in around:
            cell = reference()
            if cell is None or cell._cell_hooks:
                return False
        return True

    return fits


def quiet_plan(graph: Graph) -> Plan:
    """Return the plan with which a graph runs when no tape records and no argument or Parameter has a hook.

    It is the plan of the optimised form, or of the graph itself if there is none.
    """
    found = faster(graph)
    return (found and found.plan()) or planned(graph.function, identities=True, accesses=True)


def reason(graph: Graph) -> str | None:
    """Return one line that says why a graph takes its gradients along a tape (the recording for a gradient) instead of in its own code;
    None if it does not, or takes none.
    """
    nodes = _nodes(graph)
    if not any(isinstance(node.op, Differentiated) for node in nodes):
        return None
    found = next((Obstacle("is known to a tape only", node) for node in nodes if _is_fixed(node)), None)
    if found is None and has_user_code(graph):
        found = obstacle(graph, UserCode(graph))
    if found is not None:
        symbol, place = getattr(found.node.op, "symbol", ""), user_place(found.node.loc)
        return f"{found.node.op.name}{f' @{symbol}' if symbol else ''} {found.why}{f' ({place.file}:{place.line})' if place else ''}"
    form = faster(graph)
    if form is None or form.plan() is None:
        function = UserCode(graph).function if has_user_code(graph) else inlined(graph.function, graph.module)
        return why_not_alike(function, graph.module) or \
            "a parameter itself is returned or given to Python after code of the user's, which may write it"
    return None


def runs_alone(graph: Graph) -> bool:
    """Return True if a graph runs no code of the user's, and each of its nodes can run without a tape (a recording for a gradient)."""
    return not has_user_code(graph) and not any(map(_is_fixed, _nodes(graph)))


def optimised_alone(graph: Graph) -> Function | None:
    """Return the optimised function of a graph that runs no code of the user's (`runs_alone`); None if it must run without optimisation."""
    return optimised_alike(inlined(graph.function, graph.module), graph.module)


def optimised_for_any_size(graph: Graph) -> Function | None:
    """Return the optimised function of a graph whose sizes may have names.

    Return None if it must run without optimisation, or if code of the user's runs in it other than backward hooks of cells.
    """
    if runs_alone(graph):
        return optimised_alone(graph)
    if any(map(_is_fixed, _nodes(graph))) or not only_hooks_of_cells(graph):
        return None
    user = UserCode(graph)
    return None if user.around or obstacle(graph, user) is not None else _optimised(graph, user)


def _nodes(graph: Graph) -> list[Node]:
    return [node for function in graph.module.functions.values() for node in walk(function.body)]


def _is_fixed(node: Node) -> bool:
    """Return True for a node that calls Python and cannot be in optimised code: it runs only where a gradient is taken on a tape (the
    recording for a gradient).
    """
    return node.op.effect is Effect.HOST and not isinstance(node.op, (Apply, Attach, Check, Collective, Draw, Observe, OfTrace))


@collector.paused(lasting=False)
def _plan(graph: Graph) -> Plan | None:
    made = optimised_alone(graph)
    return None if made is None else _planned(made)


@collector.paused(lasting=False)
def _plan_of(graph: Graph, user: UserCode) -> Plan | None:
    made = _optimised(graph, user)
    return None if made is None else _planned(made)


def _optimised(graph: Graph, user: UserCode) -> Function | None:
    made = optimised_alike(user.function, graph.module)
    return None if made is None or (user.runs and not parameters_are_read_before(made)) else made


def _planned(function: Function) -> Plan:
    """Return the plan of an optimised function in which all sizes are known.

    The nodes are first reordered to need less memory, unless that would move a read of state after a write.
    """
    smaller = SCORES.on(function)
    # The pass moves reads of operands to a later point, where state may have changed.
    return planned(smaller if smaller is function or reads_survive(smaller) else function, identities=True, accesses=True)
