"""The tail of a graph: what comes after the last of the user's code, as a graph of its own.

The user's code may change hooks and parameters and return anything, so a graph with it may have to run along its path, with a log.  What
comes after it needs neither: it is optimised as a graph without user code is, and runs so if no cell in it has got hooks meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_values, walk
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import TensorType
from adjoint.passes.optimising import parameters_among
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.run import LoggedRun, Run
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.graphs.running.optimised import faster
from adjoint.runtime.graphs.running.user_code import runs_user_code
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["HeadAndTail", "head_and_tail"]

_WORTH_IT: Final = 8
"""Nodes of a tail for which it is made a graph of its own."""


class HeadAndTail:
    """A graph in two parts.

    head  the nodes up to the last of the user's code; its results are the values that the others use
    tail  the others
    fits  True if no hook waits for a gradient that the tail takes; None if it takes none
    """

    def __init__(self, head: Graph, tail: Graph, fits: Callable[[Sequence[Tensor]], bool] | None):
        self._head, self._tail, self._fits = bind(head), bind(tail, guarded=True), fits
        nodes = [*walk(tail.function.body)]
        sites = [tail.site(node) for node in nodes if isinstance(node.op, CellOp)]
        self._cells = [site.reference for site in sites if site is not None]
        types = {node.op.symbol: (*node.results, *node.operands)[0].type for node in nodes if isinstance(node.op, (Read, Write))}
        self._trained = [tail.state[symbol] for node in nodes if isinstance(node.op, Differentiated) for symbol in node.op.by]
        self._types = [value.type for value in tail.function.params]
        self._state = [(tail.state[symbol], type_) for symbol, type_ in types.items()]

    def run_fitting(self, arguments: Sequence[Tensor], run: LoggedRun) -> list[Tensor]:
        """Return the results of the graph, in a run without a tape."""
        between = self._head.run_fitting(arguments, run)
        if run.replaying or not self._is_as_it_was(between):
            return self._tail.run_fitting(between, run)
        run.forget()
        return self._tail.run_fitting(between, Run(None))

    def _is_as_it_was(self, between: Sequence[Tensor]) -> bool:
        """Return True if the user's code has changed nothing that the tail was made for."""
        return (not any(map(_has_hooks, self._cells)) and all(x.type is type_ for x, type_ in self._state)
                and all(x.requires_grad for x in self._trained)
                and [x.type for x in between] == self._types and (self._fits is None or self._fits(between)))


def _has_hooks(reference: Callable[[], Cell | None]) -> bool:
    cell = reference()
    return cell is None or bool(cell._hooks)


def head_and_tail(graph: Graph) -> HeadAndTail | None:
    """Return a graph in two parts; None if it has no tail that is worth it."""
    function = graph.function
    nodes, results = function.body.nodes, function.body.results
    begin = 1 + max((i for i, node in enumerate(nodes) if runs_user_code(node, graph)), default=-1)
    after = Region((), nodes[begin:], results)
    between = tuple(free_values(after.nodes, results))
    if not begin or sum(1 for _ in walk(after)) < _WORTH_IT or not all(isinstance(x.type, TensorType) for x in between):
        return None
    head, tail = _part(graph, function.params, nodes[:begin], between), _part(graph, between, after.nodes, results)
    written = {node.op.symbol for node in walk(after) if isinstance(node.op, Write)}
    if not written.isdisjoint(parameters_among(head.function)):
        return None  # such a value changes with the parameter
    found = faster(tail)
    return None if found is None else HeadAndTail(head, tail, found.fits)


def _part(graph: Graph, params: tuple[Value, ...], nodes: tuple[Node, ...], results: Sequence[Atom]) -> Graph:
    """Return a graph of some of a graph's nodes, with the same state, calls of cells and functions of Python."""
    function = Function(graph.symbol, Region(params, nodes, tuple(results)), loc=graph.function.loc)
    return replace(graph, module=Module(graph.module.params, graph.module.hosts, {graph.symbol: function}))
