"""Bind a graph: make its sequence, with the steps for Python calls, state, cells and gradients."""

from __future__ import annotations

from adjoint.ir.core import Function
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.sequence import Sequence
from adjoint.runtime.execution.tables import CallResult
from adjoint.runtime.gradients.adjoints import adjoint_makers
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.running.cells import cell_makers
from adjoint.runtime.graphs.running.gradient_hosts import hosts_of_runs
from adjoint.runtime.graphs.running.gradients import gradient_makers
from adjoint.runtime.graphs.running.hosts import host_makers
from adjoint.runtime.graphs.running.optimised import faster

__all__ = ["bind"]


def bind(graph: Graph, *, guarded: bool = False, returned: CallResult | None = None,
         optimised: Function | None = None) -> Sequence:
    """Return a graph's sequence.  Nothing is compiled yet: kernels are looked up when their nodes are reached.

    guarded    True if the caller has checked at each run that the cells have the hooks for which the graph was made
    returned   see `Sequence`
    optimised  the optimised form of the graph's function, if it is known
    """
    plan, known = planned(graph.function, identities=True, accesses=True), faster(graph, optimised) if guarded else None
    positions, hosts = ({}, None) if known is None else hosts_of_runs(graph)
    makers = {**host_makers(graph), **cell_makers(graph), **gradient_makers(graph.state), **adjoint_makers(positions)}
    return Sequence(plan, makers, graph.state, explanations=graph.hosts, faster=known, hosts=hosts, returned=returned)
