"""A graph in two parts: the head ends with some of the user's code, and the tail is what comes after it, as a graph of its own.

The user's code may change hooks and Parameters and return anything.  So a graph that calls it may have to run along the path: node by node,
with a log of the results, from which another graph can continue.  What comes after the user's code may not need this, such as an update of
Parameters, or the training of a second network.  The tail is optimised like any graph, and runs in that form if the user's code before has
changed nothing that the tail was made for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_values, walk
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import TensorType
from adjoint.passes.optimising import parameters_among
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.execution.run import Deviation, LoggedRun, Run
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.graphs.running.observed_runs import Observed, RecordableRun, observed
from adjoint.runtime.graphs.running.optimised import faster
from adjoint.runtime.graphs.running.user_code import returns_anything, runs_user_code
from adjoint.runtime.hooks.handles import Slots
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["HeadAndTail", "head_and_tail"]

_WORTH_IT: Final = 8
"""A graph is split only if at least this many nodes come after the user's code: they become the second graph."""


class HeadAndTail:
    """Runs a graph as two graphs, one after the other, so that the second can be optimised although user code runs in the first.

    `BoundGraph.parts` holds it.

    head   the nodes up to some of the user's code; its results are the values that the tail uses
    tail   the remaining nodes
    first  runs the head by a plan, without a log of each node's results; None if the head has to run node by node, with a log
    last   runs the tail by a plan: the optimised one, or one whose forward hooks are checked to change nothing
    """

    def __init__(self, head: Graph, tail: Graph, first: Observed | None, last: BoundPlan | Observed):
        self.head, self.tail = head, tail
        self._head, self._tail, self._first, self._last = bind(head), bind(tail), first, last
        nodes = [*walk(tail.function.body)]
        sites = [tail.site(node) for node in nodes if isinstance(node.op, CellOp)]
        self._cells = [(site.reference, site.pattern) for site in sites if site is not None]
        types = {node.op.symbol: (*node.results, *node.operands)[0].type for node in nodes if isinstance(node.op, (Read, Write))}
        self._trained = [tail.state[symbol] for node in nodes if isinstance(node.op, Differentiated) for symbol in node.op.by]
        self._types = [value.type for value in tail.function.params]
        self._state = [(tail.state[symbol], type_) for symbol, type_ in types.items()]

    @property
    def begins_whole(self) -> bool:
        """True if there is a plan for the head by which it runs without a log of each node's results, with checks after its hooks."""
        return self._first is not None

    def fits(self, arguments: Sequence[Tensor]) -> bool:
        """Return True if the head may run by that plan now, on these arguments; otherwise it runs node by node, with a log (the results of
        nodes so far).
        """
        return self._first is not None and self._first.fits(arguments)

    def run_fitting(self, arguments: Sequence[Tensor], run: LoggedRun, log: list[Any]) -> list[Tensor] | None:
        """Run both parts, while no tape records, and return the results of the graph.

        Return None if a hook has changed something: the caller then continues the call by replaying the log.

        arguments  the arguments of the graph
        run        the state of this execution
        log        gets the results of the nodes that have run
        """
        first, last = self._first, self._last
        if first is not None and not run.replaying and self.fits(arguments):
            begun = first.begun(arguments, log)
            assert isinstance(begun, RecordableRun)
            return self._run_observed(begun, log)
        between = self._head.run_fitting(arguments, run)
        if run.replaying or not self.is_as_it_was(between) or not last.fits(between):
            return self._tail.run_fitting(between, run)
        if isinstance(last, Observed):
            return last.run(between, log)
        run.forget()
        return last.run_fitting(between, Run(None))

    def _run_observed(self, begun: RecordableRun, log: list[Any]) -> list[Tensor] | None:
        """Run both parts, the first by its plan, and return the results; None if a hook has changed something, so that the caller must
        continue by replaying the log.

        begun  the execution of the first part, ready to start
        log    gets the log of the first part; it is made, by executing that part again, only if it is needed
        """
        between, last, rest = begun.run(), self._last, list[Any]()
        if between is None:
            return None
        if self.is_as_it_was(between) and last.fits(between):
            if not isinstance(last, Observed):
                begun.forget()
                return last.run_fitting(between, Run(None))
            try:
                results = last.run(between, rest)
            except Deviation:
                log += [*begun.again(), *rest]
                raise
            if results is not None:
                return results
        begun.of.beginning.has_departed()
        log += [*begun.again(), *rest]
        return None

    def is_as_it_was(self, between: Sequence[Tensor]) -> bool:
        """Return True if the user's code has changed nothing that the tail was made for: hooks of cells, types, and `requires_grad`.

        between  the values that the head has computed for the tail
        """
        return (all(_has_hooks(reference, pattern) for reference, pattern in self._cells)
                and all(x.type is type_ for x, type_ in self._state) and all(x.requires_grad for x in self._trained)
                and [x.type for x in between] == self._types)


def _has_hooks(reference: Callable[[], Cell | None], pattern: Slots) -> bool:
    """Return True if a cell is alive and has exactly the kinds of hooks for which the graph was made.

    reference  returns the cell, or None if it has been freed
    pattern    these kinds
    """
    cell = reference()
    return cell is not None and Slots.of(cell) == pattern


def head_and_tail(graph: Graph, *, first: bool = True) -> HeadAndTail | None:
    """Return a graph split into a head and a tail, before or after a node that calls the user's code.  None if there is no such split whose
    tail is large enough to be a graph of its own.

    A part runs *as a whole* if its plan is executed like that of any graph, without a log of each node's results.  The tail always does.

    first  True to try splits in which the head does so, too, those with the longest head first.  If there is none, and for False, the split
        with the longest tail is taken
    """
    nodes = graph.function.body.nodes
    with_code = [i for i, node in enumerate(nodes) if runs_user_code(node, graph)]
    begins = sorted({*with_code[1:], *(i + 1 for i in with_code)})
    for begin in reversed(begins) if first and len(with_code) > 1 else ():
        found = _parted(graph, begin, first=True)
        if found is not None:
            return found
    return next((found for begin in begins if (found := _parted(graph, begin, first=False)) is not None), None)


def _parted(graph: Graph, begin: int, first: bool) -> HeadAndTail | None:
    """Return a graph split before the node at index `begin`; None if that is not possible, or the tail is too small to be worth it.

    first  True to return a split only if the head, like the tail, may run as a whole: by its plan, without a log of each node's results
    """
    function = graph.function
    nodes, results = function.body.nodes, function.body.results
    after = Region((), nodes[begin:], results)
    between = tuple(free_values(after.nodes, results))
    if sum(1 for _ in walk(after)) < _WORTH_IT or not all(isinstance(x.type, TensorType) for x in between):
        return None
    head, tail = _part(graph, function.params, nodes[:begin], between), _part(graph, between, after.nodes, results)
    written = {node.op.symbol for node in walk(after) if isinstance(node.op, Write)}
    if not written.isdisjoint(parameters_among(head.function)):
        return None  # such a value changes with the parameter
    last = observed(tail) if returns_anything(tail) else _optimised(tail)
    before = observed(head, again=True) if first and last is not None else None
    return None if last is None or (first and before is None) else HeadAndTail(head, tail, before, last)


def _optimised(graph: Graph) -> BoundPlan | None:
    """Return the object that runs the optimised form of a graph; None if the graph has no such form."""
    form = faster(graph)
    return None if form is None or form.plan() is None else bind(graph, guarded=True)


def _part(graph: Graph, params: tuple[Value, ...], nodes: tuple[Node, ...], results: Sequence[Atom]) -> Graph:
    """Return a graph of some of a graph's nodes; it shares the tensors, the calls of cells and the Python functions of that graph.

    params   the values that the part takes as arguments
    results  the values that it returns
    """
    function = Function(graph.symbol, Region(params, nodes, tuple(results)), loc=graph.function.loc)
    return replace(graph, module=Module(graph.module.params, graph.module.hosts, {graph.symbol: function}))
