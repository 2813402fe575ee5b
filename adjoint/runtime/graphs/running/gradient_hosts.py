"""The Python objects that a gradient calls where it is a part of the graph's own code: hooks and `bprop`s.

The ops `callback!`, `backward!` and `bprop!` call them; such an object is a *host*.  With a tape, each call of a cell is an object of the
run (`gradients.trie.CellCall`, `cells.custom_bprop.Rule`).  Without one, each run begins by making such objects from the graph, which
knows the calls of the cells and the structures of their arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from adjoint.ir.core import Node, walk
from adjoint.ir.ops.control import Cell
from adjoint.ir.ops.host import Attach, Hook, Outputs
from adjoint.ir.types import F32
from adjoint.runtime.cells.boundary import shown
from adjoint.runtime.cells.custom_bprop import Rule
from adjoint.runtime.gradients.trie import CellCall
from adjoint.runtime.graphs.graph import CellSite, Graph, Registration
from adjoint.runtime.hooks.handles import TensorHooks
from adjoint.runtime.tensor.tensor import constant

__all__ = ["has_hosts", "hosts_of_runs"]


def has_hosts(op: Any) -> bool:
    """Return True if computing the gradient of an op calls Python: a hook on a value, or a cell with backward hooks or a `bprop`."""
    return isinstance(op, (Hook, Outputs, Attach)) or (isinstance(op, Cell) and bool(op.symbol or op.rule))


def hosts_of_runs(graph: Graph) -> tuple[dict[str, int], Callable[[], list[Any]] | None]:
    """Return the index of each host (a Python object that gradients call) by symbol (the name in the IR), and a function that makes the
    hosts for one execution of the graph.

    The function returns them as a list, in the order of the indices.  It is None if the graph has no hosts.
    """
    made: dict[str, Callable[[], Any]] = {}
    for function in graph.module.functions.values():
        for node in walk(function.body):
            if has_hosts(node.op):
                made.update(_hosts(node, graph))
    makers = list(made.values())
    return {symbol: i for i, symbol in enumerate(made)}, (lambda: [make() for make in makers]) if makers else None


def _hosts(node: Node, graph: Graph) -> dict[str, Callable[[], Any]]:
    """Return, by symbol (the name in the IR), a function for each Python object that the gradient of a node calls; the function is called
    each time the graph runs, to make a new object.
    """
    op = node.op
    match op:
        case Hook():
            function = graph.hosts[op.symbol][0]
            return {op.symbol: lambda: function}
        case Attach():
            hooks = _attached(graph.hosts[op.symbol])  # the same in all runs: no run can remove them
            return {op.symbol: lambda: hooks}
        case Outputs():
            host = graph.hosts[op.symbol]
            return {op.symbol: lambda: CellCall(host.cell, outputs=(True,) * len(node.results), kind=host.kind)}
        case Cell():
            outputs = len(node.results) - op.residuals
            made: dict[str, Callable[[], Any]] = {}
            site = graph.site(node)
            if op.symbol:
                ruled = site if op.rule else None
                made[op.symbol] = functools.partial(_call, graph.hosts[op.symbol], len(node.operands), outputs, ruled)
            if op.rule and site is not None:
                made[op.rule] = functools.partial(_rule, site, len(node.operands), outputs)
            return made
        case _:
            raise AssertionError(op)


def _attached(host: Any) -> TensorHooks:
    hooks = TensorHooks()
    hooks.register(host.function if isinstance(host, Registration) else host)
    return hooks


def _call(reference: Any, inputs: int, outputs: int, ruled: CellSite | None = None) -> CellCall:
    """Return the object that represents a call of a cell to its backward hooks; hooks registered from now on do not take part in the call.

    reference  the `CellSite`, or another object with the Cell as its `cell`
    inputs, outputs  how many tensors enter and leave the cell
    ruled      the call as the graph describes it if the cell has a `bprop`; else None
    """
    call = CellCall(reference.cell, (True,) * inputs, (True,) * outputs)
    if ruled is not None:
        call.shown = shown(ruled.arguments([_TENSOR_OF_THE_RUN] * inputs)[0]), shown(ruled.output([_TENSOR_OF_THE_RUN] * outputs))
    return call


def _rule(site: CellSite, inputs: int, outputs: int) -> Rule:
    rule = Rule(site.cell, *site.arguments([_TENSOR_OF_THE_RUN] * inputs))
    rule.returned(site.output([_TENSOR_OF_THE_RUN] * outputs))
    return rule


_TENSOR_OF_THE_RUN = constant(0.0, F32)
"""A placeholder tensor in the stored structure of a call, in place of the tensors that the graph computes."""
