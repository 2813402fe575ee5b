"""Where the user's code runs in a graph, and whether what comes after it is still what the graph was made for.

Any code of the user's may register or remove hooks, and write parameters.  Hooks on cells and tensors count from the next call or gradient
on; a parameter that is used afterwards has its new value.  Backward hooks and `bprop`s run when the forward nodes of their gradient are
done.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.ir.core import Atom, Function, Node, Region, Value, free_of, walk
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Call, Cell, Differentiated, For, Gradient, While
from adjoint.ir.ops.host import Apply, Attach
from adjoint.ir.ops.state import Read
from adjoint.passes.inline import inlined
from adjoint.runtime.graphs.graph import CellSite, Graph, LibraryCall, LibraryEffect
from adjoint.runtime.graphs.running.gradient_hosts import has_hosts

__all__ = ["UserCode", "has_user_code", "may_expand", "parameters_are_read_before", "returns_anything"]


class UserCode:
    """What may happen while a graph runs.

    function  the function of the graph, with its calls inlined
    runs    True if the user's code may run
    late    True if it may be followed by the call of a cell, by a gradient, or by the use of a parameter that was read before
    around  the calls of cells in which it runs: forward hooks may be added that run at their end, if the cell has had hooks before
    """

    def __init__(self, graph: Graph):
        self.function = function = inlined(graph.function, graph.module)
        self.runs, self.late = False, False
        self.around: list[CellSite] = []
        self._graph = graph
        self._read: set[Atom] = set()
        self._stale: set[Atom] = set()
        self._region(function.body, ())
        self._use(function.body.results)

    def _region(self, region: Region, around: tuple[CellSite, ...]) -> None:
        for node in region.nodes:
            self._use(node.operands)
            match node.op:
                case Differentiated():
                    self.late |= self.runs
                    self._use(free_of(node.regions[0]))
                    if any(has_hosts(inner.op) or _calls_user(inner.op, self._graph) for inner in walk(node.regions[0])):
                        self._runs(around)
                case Cell():
                    site = self._graph.site(node)
                    self.late |= self.runs and site is not None
                    self._region(node.regions[0], around if site is None else (*around, site))
                case For() | While():
                    for _ in range(2):  # in the second round what stands before it comes after the user's code
                        for inner in node.regions:
                            self._region(inner, around)
                case Apply() as op if _calls_user(op, self._graph):
                    self._runs(around)
                case Call():
                    self.late = True
                case Read():
                    self._read.add(node.result)
                case _:
                    for inner in node.regions:
                        self._region(inner, around)
            for inner in node.regions:
                self._use(inner.results)

    def _use(self, atoms: Sequence[Atom]) -> None:
        self.late |= not self._stale.isdisjoint(atoms)

    def _runs(self, around: tuple[CellSite, ...]) -> None:
        self.runs = True
        self._stale |= self._read
        self.around += around


def has_user_code(graph: Graph) -> bool:
    """Return True if some node of a graph, or its gradient, calls the user's code."""
    return any(_calls_user(node.op, graph) or has_hosts(node.op) for function in graph.module.functions.values()
               for node in walk(function.body))


def returns_anything(graph: Graph) -> bool:
    """Return True if the user's code is called for its result, as forward hooks are: the graph may not be made for its type."""
    return any(_calls_user(node.op, graph) and not isinstance(graph.hosts[node.op.symbol], LibraryEffect)
               for function in graph.module.functions.values() for node in walk(function.body))


def _calls_user(op: Op, graph: Graph) -> bool:
    return isinstance(op, Apply) and not isinstance(graph.hosts.get(op.symbol), LibraryCall)


def may_expand(graph: Graph, function: Function) -> bool:
    """Return True if the gradients of a function call the user's code in the order of eager mode when they are expanded.

    It must not run during the forward nodes.
    """
    regions = [node.regions[0] for node in walk(function.body) if isinstance(node.op, Gradient)]
    return all(_runs_afterwards(inner, graph) for region in regions for inner in walk(region))


def _runs_afterwards(node: Node, graph: Graph) -> bool:
    op: Op = node.op
    if isinstance(op, Differentiated):
        return not any(has_hosts(inner.op) for inner in walk(node.regions[0]))
    if isinstance(op, Cell) and op.rule:
        site = graph.site(node)
        return site is not None and not site.numbers and not site.results
    return not _calls_user(op, graph)


def parameters_are_read_before(function: Function) -> bool:
    """Return True if values that are read from parameters are only computed with: then they are those of the time of the read.

    A parameter that is returned, or given to Python or to control flow, is the tensor itself, with the value that it has at the time.
    """
    read = {node.result for node in walk(function.body) if isinstance(node.op, Read)}

    def shown(region: Region) -> set[Value]:
        found = {x for x in region.results if x in read}
        for node in region.nodes:
            if node.regions or isinstance(node.op, (Apply, Attach)):
                found.update(x for x in node.operands if x in read)
            for inner in node.regions:
                found |= shown(inner)
        return found

    return not shown(function.body)
