"""Find where the user's code runs in a graph, and whether the nodes after it still do what the graph was made for.

Any code of the user's may register or remove hooks, and write Parameters.  Hooks on cells and tensors take effect at the next call or
gradient; a Parameter that is used afterwards has its new value.  Backward hooks and `bprop`s run when the forward nodes of their gradient
are done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Atom, Function, Node, Region, Value, free_of, walk
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Call, Cell, Differentiated, For, Gradient, If, While
from adjoint.ir.ops.conversion import StopGradient
from adjoint.ir.ops.host import Apply, Attach, Hook, Outputs
from adjoint.ir.ops.state import Read
from adjoint.passes.inline import inlined
from adjoint.runtime.graphs.graph import CellSite, Graph, LibraryCall, LibraryEffect
from adjoint.runtime.graphs.running.gradient_hosts import has_hosts

__all__ = ["Obstacle", "UserCode", "has_user_code", "is_decided", "may_leave", "obstacle", "only_hooks_of_cells",
           "parameters_are_read_before", "returning", "returns_anything", "runs_user_code"]


class UserCode:
    """Finds out whether a graph calls the user's code while it runs, such as hooks, and which nodes come after it.

    The optimised form of a graph and the choice of how its calls run depend on this.

    function  the function of the graph, with its calls inlined
    runs    True if the user's code may run
    late    the first node after such code that calls a cell, takes a gradient, or uses a Parameter read before; None if there is none.
            Such a node may have to do something else than it was made for
    around  the calls of cells in which such code runs: it may add forward hooks that run at the end of these calls
    """

    def __init__(self, graph: Graph):
        self.function = function = inlined(graph.function, graph.module)
        self.runs = False
        self.late: Node | None = None
        self.around: list[CellSite] = []
        self._graph = graph
        self._read: set[Atom] = set()
        self._stale: set[Atom] = set()
        self._region(function.body, (), None)

    def _region(self, region: Region, around: tuple[CellSite, ...], owner: Node | None) -> None:
        for node in region.nodes:
            self._use(node.operands, node)
            match node.op:
                case Differentiated():
                    self._comes_after(node, self.runs)
                    self._use(free_of(node.regions[0]), node)
                    if any(has_hosts(inner.op) or _calls_user(inner.op, self._graph) for inner in walk(node.regions[0])):
                        self._runs(around)
                case Cell():
                    site = self._graph.site(node)
                    self._comes_after(node, self.runs and site is not None)
                    self._region(node.regions[0], around if site is None else (*around, site), node)
                case For() | While():
                    for _ in range(2):  # in the second round, the nodes before the user's code come after it
                        for inner in node.regions:
                            self._region(inner, around, node)
                case Apply() as op if _calls_user(op, self._graph):
                    self._runs(around)
                case Call():
                    self._comes_after(node, True)
                case Read():
                    self._read.add(node.result)
                case _:
                    for inner in node.regions:
                        self._region(inner, around, node)
        last = region.nodes[-1] if region.nodes else owner
        if last is not None:
            self._use(region.results, last)

    def _use(self, atoms: Sequence[Atom], node: Node) -> None:
        self._comes_after(node, not self._stale.isdisjoint(atoms))

    def _comes_after(self, node: Node, user_code: bool) -> None:
        if user_code and self.late is None:
            self.late = node

    def _runs(self, around: tuple[CellSite, ...]) -> None:
        self.runs = True
        self._stale |= self._read
        self.around += around


def runs_user_code(node: Node, graph: Graph) -> bool:
    """Return True if a node of a graph, or its gradient, may run code of the user's."""
    return any(isinstance(inner.op, Call) or has_hosts(inner.op) or _calls_user(inner.op, graph) for inner in walk(Region((), (node,), ())))


def has_user_code(graph: Graph) -> bool:
    """Return True if some node of a graph, or its gradient, calls the user's code."""
    return any(_calls_user(node.op, graph) or has_hosts(node.op) for function in graph.module.functions.values()
               for node in walk(function.body))


def only_hooks_of_cells(graph: Graph) -> bool:
    """Return True if no other code of the user's runs in a graph than backward hooks of cells, and the graph makes no cells itself."""
    return not graph.cells and not any(
        _calls_user(node.op, graph) or isinstance(node.op, (Hook, Attach)) or (isinstance(node.op, Cell) and bool(node.op.rule))
        for function in graph.module.functions.values() for node in walk(function.body))


@dataclass(frozen=True)
class Obstacle:
    """A node because of which a graph has no optimised form.

    why   the reason, as the end of a sentence that begins with the node, such as "may return anything"
    """

    why: str
    node: Node


def obstacle(graph: Graph, user: UserCode) -> Obstacle | None:
    """Return the first reason why a graph cannot be optimised because of the user's code; None if there is none.

    Optimising turns gradients into code of the graph, and runs the user's code between compiled pieces.
    """
    found = [
        ("may return anything", next(returning(graph), None)),
        ("comes after code of the user's that may change what it uses", user.late),
        ("runs code of the user's while a gradient's forward pass runs", _during(graph, user.function)),
        ("attaches a hook that may outlive the run", _attaching(user.function)),
    ]
    return next((Obstacle(why, node) for why, node in found if node is not None), None)


def returns_anything(graph: Graph) -> bool:
    """Return True if the graph uses what the user's code returns, as it does with forward hooks: the result may have another type than
    expected.
    """
    return next(returning(graph), None) is not None


def may_leave(graph: Graph, user: UserCode | None) -> bool:
    """Return True if a call of a graph may have to be continued elsewhere: node by node, or in another graph.

    That is so if the user's code may return a value the graph was not made for, or change what later nodes have to do.

    user  facts about the user's code; None if the graph runs none
    """
    return user is not None and (user.late is not None or returns_anything(graph))


def is_decided(graph: Graph) -> bool:
    """Return True if a graph has a branch or a loop.  It has one only where a tensor decides; all others are settled while the graph is
    made.
    """
    return any(isinstance(node.op, (If, For, While)) for function in graph.module.functions.values() for node in walk(function.body))


def returning(graph: Graph) -> Iterator[Node]:
    """Yield the nodes that call the user's code and use its result, as forward hooks are called."""
    return (node for function in graph.module.functions.values() for node in walk(function.body)
            if _calls_user(node.op, graph) and not isinstance(graph.hosts[node.op.symbol], LibraryEffect))


def _calls_user(op: Op, graph: Graph) -> bool:
    return isinstance(op, Apply) and not isinstance(graph.hosts.get(op.symbol), LibraryCall)


def _during(graph: Graph, function: Function) -> Node | None:
    """Return a node that calls the user's code during the forward part of a gradient; None if there is none.

    If there is none, a gradient that is code of the graph calls hooks in the order of eager mode.
    """
    regions = [node.regions[0] for node in walk(function.body) if isinstance(node.op, Gradient)]
    return next((inner for region in regions for inner in walk(region) if not _runs_afterwards(inner, graph)), None)


def _runs_afterwards(node: Node, graph: Graph) -> bool:
    op: Op = node.op
    if isinstance(op, Differentiated):
        return not any(has_hosts(inner.op) for inner in walk(node.regions[0]))
    if isinstance(op, Cell) and op.rule:
        site = graph.site(node)
        return site is not None and not site.numbers and not site.results
    return not _calls_user(op, graph)


def _attaching(function: Function) -> Node | None:
    """Return a node that must attach its hook to a tensor object when it runs, as no gradient inside of the graph calls the hook; else
    None.

    This holds for a hook on a value that takes no gradient, where attaching raises an error, and for one on a value outside of any
    gradient, where the hook waits on the tensor for later gradients.
    """
    inside = {inner for node in walk(function.body) if isinstance(node.op, Gradient) for inner in _attached(node.regions[0])}
    return next((node for node in walk(function.body) if isinstance(node.op, Attach) and node not in inside), None)


def _attached(region: Region) -> Iterator[Node]:
    """Yield the nodes that attach a hook (`x.register_hook`) to a value that the region computes and that takes a gradient."""
    others: set[Atom] = {*free_of(region)}  # under all names: values made outside, Parameters, results of `stop_gradient`

    def also(atoms: Sequence[Atom], names: Sequence[Atom]) -> None:
        others.update(name for atom, name in zip(atoms, names, strict=False) if atom in others)

    def visit(region: Region) -> None:
        for node in region.nodes:
            match node.op:
                case StopGradient() | Read():
                    others.update(node.results)
                case Cell():
                    also(node.operands, node.regions[0].params)
                    visit(node.regions[0])
                    also(node.regions[0].results, node.results)
                case Outputs():
                    also(node.operands, node.results)
                case _:
                    pass

    visit(region)
    return (node for node in walk(region) if isinstance(node.op, Attach) and node.operands[0] not in others)


def parameters_are_read_before(function: Function) -> bool:
    """Return True if the values that a function reads from Parameters are only computed with, so that later writes do not affect them.

    False if such a value is returned, or passed to Python or to a branch or loop: that is the Parameter itself, whose value may change
    later.
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
