"""Bind a graph: make its bound plan, the object that runs it, with the steps for Python calls, state, cells and gradients."""

from __future__ import annotations

import functools

from adjoint.ir.op import Op
from adjoint.ir.plan import Plan
from adjoint.runtime.execution.bound_plan import BoundPlan, Maker
from adjoint.runtime.execution.call_functions import CallText
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.gradients.adjoints import adjoint_makers
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.running.at_once import at_once
from adjoint.runtime.graphs.running.cells import cell_makers
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.graphs.running.gradients import gradient_makers
from adjoint.runtime.graphs.running.hosts import host_makers
from adjoint.runtime.graphs.running.optimised import Alone, faster

__all__ = ["bind", "makers_of", "plan_of"]


def bind(graph: Graph, *, guarded: bool = False, call: CallText | None = None, alone: Alone | None = None) -> BoundPlan:
    """Return the bound plan that runs a graph.  Kernels are compiled later, when their nodes are first reached.

    guarded  True if the caller checks before each call that the cells still have the hooks for which the graph was made; the plan then also
             has the optimised form
    call     the source text of a function that does a whole call (see `BoundPlan`); None for none
    alone    the optimised form, if the graph was specialised from a graph for any size.  The graph's own IR is then built only if a call
             cannot use that form
    """
    known = faster(graph, alone) if guarded else None
    hooked = alone.hooked if alone is not None else graph.made_of or graph
    has_gradients = known is not None or graph.made_of is not None
    positions, hosts = hosts_of_runs(hooked) if has_gradients and hooked is not None else ({}, None)
    return BoundPlan(functools.partial(plan_of, graph), makers_of(graph, positions), graph.state, explanations=graph.hosts, faster=known,
                    hosts=hosts, call=call, at_once=functools.partial(at_once, graph))


def makers_of(graph: Graph, positions: dict[str, int]) -> dict[type[Op], Maker]:
    """Return, for each op of a graph that Python code runs, the function that makes its step.

    positions  the index of each Python object that gradients call, by symbol (`hosts_of_runs`); empty where gradients run on a tape (the
               recording for a gradient) only
    """
    return {**host_makers(graph), **cell_makers(graph), **gradient_makers(graph.state), **adjoint_makers(positions)}


def plan_of(graph: Graph) -> Plan:
    """Return the plan of a graph (its nodes in the order in which they run, and where each value is kept) without optimisation."""
    return planned(graph.function, identities=True, accesses=True)
