"""Graphs in which values decide sizes: each runs in parts, one after the other.

    func @f(x: f32[8]) {
      b: bool[8] = greater(x, 0.0)
      p: i64[v0, 1] = non_zero(b, size="v0")      the first part ends here: it counts the elements of b that are not 0
      y: f32[v0] = gather(x, p)                   the second part runs with the number in place of v0
      s: f32 = sum(y)
      return s
    }

A part is a function of values of the parts before it.  It is made once for any number, from 2 on; each number that comes for the first time
runs node by node, and one that comes again gets a plan of its own, as in graphs for any size of the arguments.  The numbers 0 and 1 have
rules of their own, as in broadcasting, and so have graphs of their own.

A call that meets another number than its graph is for begins again in the other graph.  So what comes before the last such size must do
nothing but compute: writes of Parameters there are done in the last part, and a graph with other effects there has no parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

from adjoint.foundation.budget import budget
from adjoint.foundation.locking import Lock
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_values, tensor_type, walk
from adjoint.ir.op import Effect
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.counted import CountedOp
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import NamedSizes, Poly, TensorType
from adjoint.passes.specialize import Inferences
from adjoint.runtime.execution.bound_plan import BoundPlan
from adjoint.runtime.execution.run import Run
from adjoint.runtime.graphs.graph import Graph
from adjoint.runtime.graphs.lowering.assumptions import UNKNOWN, CountedSize
from adjoint.runtime.graphs.lowering.graph_sizes import LEAST, GraphSize
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.graphs.running.node_by_node import InOrder
from adjoint.runtime.graphs.running.optimised import Alone, optimised_alone, runs_alone
from adjoint.runtime.tensor.structure import mapped
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["CountedParts", "OtherCount", "counted_parts"]

_MOST: Final = 64
"""How many plans a part keeps, each for some numbers, the last made first."""

_PLAN, _NODE = 4000, 900
"""Estimated bytes that are charged to the memory budget: for the plan of a part, and for each of its nodes."""


class OtherCount(Exception):
    """Raised where a number is met that the graph is not for.

    place   which of the sizes that values decide, in the order of the calls that need them
    number  the number
    """

    def __init__(self, place: int, number: int):
        super().__init__(f"size {place} is {number}")
        self.place, self.number = place, number


class _Part:
    """One part of a graph: a function of values of earlier parts, for any number in place of its named sizes.

    graph     the whole graph, whose tensors and checks it uses
    function  the function
    """

    def __init__(self, graph: Graph, function: Function):
        self._graph, self.function = graph, function
        values = [*function.body.params, *(value for node in walk(function.body) for value in node.results)]
        types = [value.type for value in values if isinstance(value.type, TensorType)]
        self.names = tuple(sorted({name for type_ in types for size in type_.shape if isinstance(size, Poly) for name in size.names()}))
        self._inferences = Inferences([function], self.names)
        self._in_order = InOrder.of(function, self._inferences, graph.state, graph.hosts) if self.names else None
        self._plans: dict[tuple[int, ...], BoundPlan | None] = {}
        self._lock = Lock()

    def run(self, given: Sequence[Tensor], numbers: Mapping[str, int]) -> list[Tensor]:
        """Run the part on the values that it takes, and return its results.

        numbers  the number for each named size
        """
        key = tuple([numbers[name] for name in self.names])
        plan = self._plans.get(key)
        if plan is None:
            if key not in self._plans and self._in_order is not None:
                self._keep(key, None)
                run = self._in_order.ready({name: numbers[name] for name in self.names})
                if run is not None:
                    return run(given)
            # Two threads may both make it: the plans are equal.
            plan = self._planned(numbers)
            self._keep(key, plan)
        return plan.run_fitting(given, Run(None))

    def _planned(self, numbers: Mapping[str, int]) -> BoundPlan:
        function = self.function
        if self.names:
            function = self._inferences.numbered(function, {name: numbers[name] for name in self.names})
        module = Module(self._graph.module.params, self._graph.module.hosts, {self._graph.symbol: function})
        return bind(replace(self._graph, module=module), guarded=True, alone=Alone(function, False, len(function.body.nodes)))

    def _keep(self, key: tuple[int, ...], plan: BoundPlan | None) -> None:
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > _MOST:
                del self._plans[next(iter(self._plans))]
        if plan is not None:
            budget.charge(self._nbytes_of_plan)

    @property
    def nbytes(self) -> int:
        """Return an estimate of the bytes of the part, with its plans."""
        return self._nbytes_of_plan * (1 + len(self._plans))

    @property
    def _nbytes_of_plan(self) -> int:
        return _PLAN + _NODE * len(self.function.body.nodes)


class _Cut(NamedTuple):
    """The end of a part at which a size is decided.

    place   which of the sizes that values decide, in the order of the calls that need them
    name    the named size
    number  the number that the graph is for; None for any from 2 on
    """

    place: int
    name: str
    number: int | None


class CountedParts:
    """Runs a graph in parts; `counted_parts` makes it.

    graph    the graph
    parts    the parts, each with the values that it takes and those that it makes
    cuts     what is decided at the end of each part but the last, whose number is that part's first result
    results  the results of the graph
    """

    def __init__(self, graph: Graph, parts: Sequence[tuple[_Part, Sequence[Value], Sequence[Value]]], cuts: Sequence[_Cut],
                 results: Sequence[Atom], params: Sequence[Value], states: Mapping[Value, str]):
        self._parts, self._cuts, self._results, self._params = parts, cuts, results, params
        self._state = {value: graph.state[symbol] for value, symbol in states.items()}
        nodes = (node for each in graph.module.functions.values() for node in walk(each.body))
        self._differentiates = any(isinstance(node.op, Differentiated) for node in nodes)
        self._watched = tuple(graph.state.values())

    @property
    def nbytes(self) -> int:
        """Return an estimate of its bytes."""
        return sum(part.nbytes for part, _, _ in self._parts)

    @property
    def functions(self) -> list[Function]:
        """The functions of the parts, in order."""
        return [part.function for part, _, _ in self._parts]

    def fits(self, arguments: Sequence[Tensor]) -> bool:
        """Return True if the parts may run on these arguments: no hook waits on a tensor by which a gradient may be taken."""
        return not self._differentiates or not any(x._hooks for x in (*arguments, *self._watched))

    def run(self, arguments: Sequence[Tensor]) -> tuple[list[Tensor], dict[str, int]]:
        """Run all parts, and return the results of the graph, and the numbers that were counted, by the names of the sizes.

        OtherCount where a number is met that the graph is not for.
        """
        values: dict[Atom, Tensor] = {**self._state, **dict(zip(self._params, arguments, strict=True))}
        numbers: dict[str, int] = {}
        for i, (part, takes, makes) in enumerate(self._parts):
            found = part.run([values[value] for value in takes], numbers)
            if i < len(self._cuts):
                cut, number = self._cuts[i], int(found.pop(0).item())
                if number != cut.number and (cut.number is not None or number < LEAST):
                    raise OtherCount(cut.place, number)
                numbers[cut.name] = number
            values.update(zip(makes, found, strict=True))
        results = [values[x] if isinstance(x, Value) else constant(x.value, tensor_type(x).dtype) for x in self._results]
        return results, numbers


def counted_parts(graph: Graph, counted: Sequence[CountedSize], outline: Any = None) -> CountedParts | str:
    """Return the object that runs a graph in parts; if it cannot run so, a text that says why.

    counted  the sizes that values decide, in the order of the calls that need them
    outline  the structure of the function's result, which may hold such sizes

    NamedSizes if it may be that the gradient needs to know a number.
    """
    sizes = {size.name: size for size in counted}
    if not runs_alone(graph):
        return "code of the user's runs in it"
    function = optimised_alone(_with_returned_sizes(graph, outline))
    if function is None:
        if any(size.number is None for size in counted):
            raise NamedSizes("the gradient of a graph for any size")
        return "its gradient would be summed in another order than in eager mode"
    ends: dict[str, Node] = {}
    for node in function.body.nodes:
        if isinstance(node.op, CountedOp) and node.op.size:
            ends.setdefault(node.op.size, node)
        elif any(isinstance(inner.op, CountedOp) and inner.op.size not in {"", *ends} for inner in _within(node)):
            return "values decide a size in a branch or a loop"
    if any(size.number == UNKNOWN and size.name not in ends for size in counted):
        return "Python needs to know it in a gradient"
    nodes = _with_late_writes(function.body.nodes, tuple(ends.values()))
    if isinstance(nodes, str):
        return nodes
    places = list(sizes)
    cuts = [_Cut(places.index(name), name, sizes[name].number) for name in ends]
    results = function.body.results[: len(graph.function.body.results)]
    return _parted(graph, replace(function, body=replace(function.body, nodes=nodes, results=results)), cuts, tuple(ends.values()))


def _with_returned_sizes(graph: Graph, outline: Any) -> Graph:
    """Return the graph with further results: the places whose numbers the function returns, so that they are counted if nothing else
    needs them.
    """
    names = set[str]()
    mapped(outline, lambda leaf: names.update(leaf.names()) if isinstance(leaf, GraphSize) else None)
    body = graph.function.body
    found = {node.op.size: node.result for node in body.nodes if isinstance(node.op, CountedOp) and node.op.size in names}
    if not found:
        return graph
    function = replace(graph.function, body=replace(body, results=(*body.results, *found.values())))
    return replace(graph, module=graph.module.with_function(function))


def _with_late_writes(nodes: Sequence[Node], ends: Sequence[Node]) -> tuple[Node, ...] | str:
    """Return the nodes with writes behind the last of `ends`, where a call cannot begin again any more; a text that says why if a node
    before it has another effect.
    """
    if not ends:
        return tuple(nodes)
    last = next(i for i, node in enumerate(nodes) if node is ends[-1])
    late: list[Node] = []
    for i, node in enumerate(nodes[:last]):
        symbol = getattr(node.op, "symbol", "")
        if isinstance(node.op, Write):
            if any(isinstance(each.op, Read) and each.op.symbol == symbol for after in nodes[i:] for each in _within(after)):
                return f"@{symbol} is written, and read again, before a size that values decide"
            late.append(node)
        elif any(each.op.effect is not Effect.PURE and not isinstance(each.op, (Read, Check)) for each in _within(node)):
            return f"{node.op.name} has an effect before a size that values decide"
    moved = set(map(id, late))
    kept = [node for node in nodes[:last] if id(node) not in moved]
    return (*kept, nodes[last], *late, *nodes[last + 1 :])


def _within(node: Node) -> list[Node]:
    return [node, *(inner for region in node.regions for inner in walk(region))]


def _parted(graph: Graph, function: Function, cuts: Sequence[_Cut], ends: Sequence[Node]) -> CountedParts:
    """Return the object that runs a function whose nodes are in order, in parts that end before the nodes `ends`."""
    nodes, results, params = function.body.nodes, function.body.results, function.body.params
    begins = [0, *(next(i for i, node in enumerate(nodes) if node is end) for end in ends), len(nodes)]
    reads = {node.result: node for node in nodes if isinstance(node.op, Read)}
    parts: list[tuple[_Part, tuple[Value, ...], tuple[Value, ...]]] = []
    for number, (begin, end) in enumerate(pairwise(begins)):
        own = nodes[begin:end]
        here = {value for node in own for value in node.results}
        needed = {*free_values(nodes[end:], results)} - reads.keys()
        b = Builder(function.loc)
        counted: list[Atom] = []
        if number < len(cuts) and isinstance(op := nodes[end].op, CountedOp):
            counted.append(op.count(b, *nodes[end].operands))
        makes = tuple([value for node in own for value in node.results if value in needed])
        inside = [*own, *b.nodes]
        # What was read before is read again: the memory of a Parameter does not leave the part.
        again = tuple([reads[value] for value in free_values(inside, makes) if value in reads and value not in here])
        takes = tuple(free_values((*again, *inside), (*counted, *makes)))
        body = Region(takes, (*again, *inside), (*counted, *makes))
        parts.append((_Part(graph, Function(graph.symbol, body, loc=function.loc)), takes, makes))
    return CountedParts(graph, parts, cuts, results, params, {value: node.op.symbol for value, node in reads.items()})

