"""Graphs for any size: when a batch size changes, nothing is parsed, differentiated or optimised again.

    f(x: f32[32, 10])     parsed, as for any new argument
    f(x: f32[16, 10])     parsed once more, for f32[n, 10]; the graph is specialised to n = 16
    f(x: f32[24, 10])     specialised to n = 24

To specialise a graph is to put numbers in place of its named sizes.

While a function is parsed for f32[n, 10], a Python expression that depends on `n` is evaluated only if the answer is the same for all sizes
(`lowering.graph_sizes`).  Otherwise the attempt fails, and the function is parsed for each size.  After specialising, the type of each
value is inferred again; it must be the type in the graph for any size with the number in place of the name.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend.changes.aliases import is_full
from adjoint.ir.core import Function, Module, Region, Value, walk
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.types import NamedSizes, Poly, TensorType, substituted, symbol, tensor
from adjoint.passes.schedule import SIZED
from adjoint.passes.specialize import Inferences
from adjoint.runtime.graphs.graph import Graph, site_key
from adjoint.runtime.graphs.inputs.argument_text import filling
from adjoint.runtime.graphs.inputs.outline import OutlineSlot, Remade, expression_of, slots_of
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.graphs.lowering.graph_sizes import LEAST, GraphSize, with_numbers
from adjoint.runtime.graphs.lowering.lowering import Lowered, Subject, lowered_for_any_size
from adjoint.runtime.graphs.running import node_by_node
from adjoint.runtime.graphs.running.optimised import Alone, optimised_alone, optimised_for_any_size, runs_alone
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.structure import mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["AnySize", "SizedGraph", "for_these_sizes", "generalised", "matched"]

_MOST = 4
"""The number of graphs with named sizes that are kept for calls whose arguments differ only in their sizes."""


_MOST_SIZES = 512
"""How many sizes a graph for any size remembers as having occurred once; a size that occurs again gets a graph of its own."""


class _Seen:
    """What earlier calls of one function, whose arguments differ in their sizes only, have shown.

    last     the types of the arguments for which a graph was requested last
    graphs   the graphs with named sizes, the newest first
    refused  argument types with named sizes for which no graph could be made
    """

    def __init__(self) -> None:
        self.last: Sequence[TensorType] = ()
        self.graphs: list[AnySize] = []
        self.refused: set[tuple[TensorType, ...]] = set()

    def once(self, now: Sequence[TensorType], tensors: Sequence[Tensor]) -> Callable[[], Any] | None:
        """Return a function that runs a call node by node, by a graph with named sizes (one that was made for any size), so that these
        sizes need no graph of their own.

        Return None if the sizes are to get a graph: they have occurred before, or no graph with named sizes fits the call.

        now      the types of the arguments
        tensors  the arguments
        """
        for graph in self.graphs:
            if (sizes := matched(graph.types, now)) is not None and graph.lowered.guards.holds():
                self.last = now
                return graph.once(sizes, tensors)
        return None


def for_these_sizes(seen: dict[Template, _Seen], subject: Subject) -> tuple[Lowered, Alone] | None:
    """Return a graph for a call's sizes by specialising a graph for any size (one whose sizes have names); None if the function has to be
    parsed.

    The graph comes with its optimised form.  A graph for any size is made when the sizes have changed for the first time.

    seen     what is known of earlier calls, by the template of the arguments (their structure), without sizes
    subject  the function and the arguments
    """
    now = subject.arguments.types
    key = subject.arguments.without_sizes()
    known = seen.get(key)
    if known is None:
        known = seen[key.lasting()] = _Seen()
        known.last = now
        return None
    before, known.last = known.last, now
    for graph in known.graphs:
        if (sizes := matched(graph.types, now)) is not None and graph.lowered.guards.holds():
            return graph.specialised(sizes)
    general = generalised(before, now)
    if general is None or general in known.refused or (sizes := matched(general, now)) is None:
        return None
    graph = AnySize.of(dataclasses.replace(subject, arguments=subject.arguments.with_types(general)))
    if graph is None:
        known.refused.add(general)
        return None
    known.graphs[:] = [graph, *known.graphs][:_MOST]
    return graph.specialised(sizes)


def generalised(before: Sequence[TensorType], now: Sequence[TensorType]) -> tuple[TensorType, ...] | None:
    """Return argument types in which each size that differs between two calls has a name.

    Sizes that were equal and are equal again get the same name, such as the batch of the inputs and that of the labels.  Return None if
    anything else differs, if nothing differs, or if a size is below `LEAST`.

    before, now  the types of the arguments in the earlier call and in this one
    """
    names: dict[tuple[int, int], str] = {}
    found: list[TensorType] = []
    for old, new in zip(before, now, strict=True):
        if old.dtype is not new.dtype or old.rank != new.rank:
            return None
        sizes: list[Any] = []
        for pair in zip(old.sizes, new.sizes, strict=True):
            if pair[0] == pair[1]:
                sizes.append(pair[1])
            elif min(pair) < LEAST:
                return None
            else:
                sizes.append(symbol(names.setdefault(pair, f"n{len(names)}")))
        found.append(tensor(new.dtype, sizes))
    return tuple(found) if names else None


def matched(general: Sequence[TensorType], now: Sequence[TensorType]) -> dict[str, int] | None:
    """Return the number for each named size that makes `general` equal to `now`; None if none does, or if a number is below `LEAST`.

    general  argument types with named sizes
    now      the types of a call's arguments
    """
    sizes: dict[str, int] = {}
    for pattern, type_ in zip(general, now, strict=True):
        if pattern.dtype is not type_.dtype or pattern.rank != type_.rank:
            return None
        for wanted, size in zip(pattern.shape, type_.sizes, strict=True):
            number = wanted if isinstance(wanted, int) else sizes.setdefault(next(iter(wanted.names())), size)
            if number != size or (number is not wanted and size < LEAST):
                return None
    return sizes


class AnySize:
    """A graph whose arguments have named sizes, from which the graphs of calls with numbers for these sizes are made.

    lowered    the function, lowered to a graph with these sizes
    optimised  the optimised form of the graph's function
    types      the types of its arguments
    """

    def __init__(self, types: Sequence[TensorType], lowered: Lowered, optimised: Function):
        self.types, self.lowered, self._optimised = types, lowered, optimised
        nodes = [node for function in lowered.graph.module.functions.values() for node in walk(function.body)]
        self._differentiates, self._nodes = any(isinstance(node.op, Differentiated) for node in nodes), len(nodes)
        self._hooked = None if runs_alone(lowered.graph) else lowered.graph
        names = {name for type_ in types for size in type_.shape if isinstance(size, Poly) for name in size.names()}
        self._inferences = Inferences([*lowered.graph.module.functions.values(), optimised], names)
        self._derived: _Derived = {}
        self._ran: set[tuple[int, ...]] = set()
        shared = any(not isinstance(x, Parameter) for x in lowered.rewritten)  # an argument may be one of these
        objects: dict[str, Any] = {}
        result = None if lowered.written or shared or self._hooked is not None else expression_of(lowered.outline, objects=objects)
        self._filled = None if result is None else filling(result, len(slots_of(lowered.outline)), objects)
        self._in_order = None if result is None else node_by_node.InOrder.of(
            optimised, self._inferences, lowered.graph.state, lowered.graph.hosts)

    def once(self, sizes: Mapping[str, int], tensors: Sequence[Tensor]) -> Callable[[], Any] | None:
        """Return a function that runs a call node by node, if its sizes occur for the first time.

        None if they are to get a graph of their own: they have occurred before, or the function cannot run node by node.

        sizes    the numbers for the named sizes
        tensors  the arguments
        """
        in_order, filled, key = self._in_order, self._filled, tuple(sizes.values())
        if in_order is None or filled is None or key in self._ran or (self._differentiates and not in_order.fits(tensors)):
            return None
        if len(self._ran) >= _MOST_SIZES:
            self._ran.clear()
        self._ran.add(key)
        run = in_order.ready(sizes)
        return None if run is None else lambda: filled(*run(tensors))

    @classmethod
    def of(cls, subject: Subject) -> AnySize | None:
        """Return the graph of a function for arguments with named sizes; None if Python needs to know a size: each size then needs its own
        graph.

        subject  the function and its arguments
        """
        lowered = lowered_for_any_size(subject)
        if lowered is None or lowered.counted:
            return None
        graph = lowered.graph
        calls = [part for site in graph.sites.values() for part in (site.arguments, site.output)]
        outlined = [leaf for leaf in _leaves(lowered.outline) if not isinstance(leaf, (OutlineSlot, GraphSize))]
        if any(map(_knows_sizes, (*graph.hosts.values(), *calls, *outlined))):
            return None
        try:
            optimised = optimised_for_any_size(graph)
        except NamedSizes:
            return None
        return None if optimised is None else cls(subject.arguments.types, lowered, optimised)

    def specialised(self, sizes: Mapping[str, int]) -> tuple[Lowered, Alone] | None:
        """Return the graph for these sizes, with its optimised form, without parsing anything.

        Return None if an op does not accept the sizes: parsing the function then reports where.

        sizes  the numbers for the named sizes
        """
        known = self.lowered
        try:
            alone = Alone(self._inferences.numbered(self._optimised, sizes), self._differentiates, self._nodes, self._hooked)
        except (ValueError, TypeError, CompileError):
            return None
        outline = mapped(known.outline, functools.partial(with_numbers, sizes))
        graph = SizedGraph(known.graph, sizes, self._derived)
        return Lowered(graph, known.guards, outline, known.written, known.decisions, known.sites, known.begun,
                       known.rewritten, packs=known.packs), alone


_Derived = dict[Hashable, "tuple[Graph, Function, Inferences] | None"]
"""Graphs for any size derived from another one, by their keys, each with its optimised function and its inferred types; None if the derived
graph has to be made for each size.
"""


class SizedGraph(Graph):
    """A graph with numbers in place of the named sizes of another graph.

    Its IR is specialised when it is first accessed, which executing the optimised function never does.

    sizes    the number for each named size
    derived  graphs made from the general one, such as those with gradients, which the graphs of all sizes share
    general  the graph for any size
    """

    def __init__(self, general: Graph, sizes: Mapping[str, int], derived: _Derived):
        self.general, self._sizes, self._derived = general, sizes, derived
        self._made: tuple[Module, dict[Value, Any]] | None = None
        self.symbol, self.state, self.hosts, self.cells = general.symbol, general.state, general.hosts, general.cells

    @property
    def module(self) -> Module:  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read
        """Return the IR of this graph, with numbers in place of the named sizes; it is made at the first access."""
        return self._specialised()[0]

    @property
    def sites(self) -> dict[Value, Any]:  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read
        """Return the descriptions of the calls of cells in this graph, by the keys of their nodes (`site_key`)."""
        return self._specialised()[1]

    def _specialised(self) -> tuple[Module, dict[Value, Any]]:
        if self._made is None:
            with lowering_lock.current:  # two threads must not get different nodes
                self._made = self._made or _specialised(self.general, self._sizes)
        return self._made

    def derived(self, key: Hashable, make: Callable[[Graph], Graph]) -> tuple[Graph, Function] | None:
        """Return a graph derived from this one, such as one with its gradient, and its optimised function, by specialising one for any
        size.

        Return None if it has to be made for these sizes.

        key   identifies the derived graph among those derived from this one
        make  derives the graph from the graph for any size (one whose sizes have names); called once for all sizes.  It must run no code of
              the user's, as this graph does not
        """
        if key not in self._derived:
            self._derived[key] = _made_for_any_size(self.general, make, self._sizes)
        found = self._derived[key]
        if found is None:
            return None
        graph, optimised, inferences = found
        try:
            return SizedGraph(graph, self._sizes, {}), inferences.numbered(optimised, self._sizes)
        except (ValueError, TypeError, CompileError):
            return None


def _made_for_any_size(general: Graph, make: Callable[[Graph], Graph], names: Iterable[str]) -> tuple[Graph, Function, Inferences] | None:
    try:
        graph = make(general)
        optimised = optimised_alone(graph)
    except NamedSizes:
        return None
    return None if optimised is None else (graph, optimised, Inferences([*graph.module.functions.values(), optimised], names))


def _specialised(graph: Graph, sizes: Mapping[str, int]) -> tuple[Module, dict[Value, Any]]:
    functions = {symbol: _checked(function, sizes) for symbol, function in graph.module.functions.items()}
    sites: dict[Value, Any] = {}
    for symbol_, function in graph.module.functions.items():
        for old, new in zip(walk(function.body), walk(functions[symbol_].body), strict=True):
            if isinstance(old.op, CellOp) and (key := site_key(old)) is not None and key in graph.sites:
                made = site_key(new)
                assert made is not None
                sites[made] = graph.sites[key]
    return Module(graph.module.params, graph.module.hosts, functions), sites


def _checked(function: Function, sizes: Mapping[str, int]) -> Function:
    """Return a function with numbers in place of its named sizes.

    The types of all values are inferred again.  ValueError if one of them is not the type in the general function with the numbers put in.

    sizes  the number for each named size
    """
    made = SIZED.on(function, sizes=[f"{name}:{number}" for name, number in sizes.items()])
    for old, new in zip(_values(function.body), _values(made.body), strict=True):
        if substituted(old.type, sizes) is not new.type:
            raise ValueError(f"{old.type} is {new.type} for {dict(sizes)}")
    return made


def _values(region: Region) -> Iterator[Value]:
    yield from region.params
    for node in region.nodes:
        yield from node.results
        for inner in node.regions:
            yield from _values(inner)


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    mapped(value, found.append)
    return found


_DEEPEST = 12
"""How many levels of objects inside of a function are searched for named sizes; deeper objects count as holding some."""


def _knows_sizes(x: Any, depth: int = 0) -> bool:
    """Return True if a Python object that a graph calls or returns may hold a named size.

    It would then compute with a name instead of a number, so that the graph cannot be used for any size.

    depth  how many objects around it have been searched
    """
    if type(x) is GraphSize or isinstance(x, Remade) or depth > _DEEPEST:
        return True
    if isinstance(x, types.FunctionType):
        around = [cell.cell_contents for cell in x.__closure__ or () if is_full(cell)]
        return any(_knows_sizes(part, depth + 1) for part in (*around, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()))
    if isinstance(x, functools.partial):
        return any(_knows_sizes(part, depth + 1) for part in (x.func, *x.args, *x.keywords.values()))
    if isinstance(x, (tuple, list, set, frozenset)):
        return any(_knows_sizes(part, depth + 1) for part in x)
    if isinstance(x, dict):
        return any(_knows_sizes(part, depth + 1) for part in (*x, *x.values()))
    if isinstance(x, TensorType):
        return not x.is_static
    if isinstance(x, OutlineSlot):
        return False  # its type is not looked at when it is filled
    own = getattr(x, "__dict__", None)
    return isinstance(own, dict) and type(x).__module__.startswith("adjoint.runtime.graphs") and _knows_sizes(own, depth + 1)
