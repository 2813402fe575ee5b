"""Graphs whose forward hooks are expected to change nothing: the graph is turned into one in which hooks only look at values.

    y1 = apply! @relu.forward(a, y0)     observe! @relu.forward(a, y0)     y1 := y0

Such a function can be differentiated as a whole, and its pieces between the hooks are optimised like those of any graph, with gradients or
without.  If a hook does anything else, the run detects it afterwards and continues along the path, that is, node by node, with a log of the
results (`observed_runs.py`).

The tensor objects that Python gets must be those of eager mode, as far as Python can tell them apart: it may keep one, and compute with it,
write to it or register a hook on it later.  A tape (the recording for a gradient) makes new tensor objects at each boundary of a cell, and
it knows an operand once it has recorded an op on it.  The class `_Tape` follows a tape through a graph by these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import user_place
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Node, Region, Value, free_of, walk
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Call, Differentiated, Gradient, RegionOp
from adjoint.ir.ops.control import Cell as CellOp
from adjoint.ir.ops.conversion import NoGrad, StopGradient
from adjoint.ir.ops.host import Apply, Attach, Hook, Observe, Outputs
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.plan import Plan
from adjoint.passes.rebuild import Known, Rewriter, became
from adjoint.runtime.graphs.graph import CellSite, Graph, site_key
from adjoint.runtime.graphs.running.optimised import faster, reason
from adjoint.runtime.graphs.running.user_code import returning, returns_anything
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Argument", "ObservedForm", "Observing", "Places", "State", "Watching", "observed_form", "observing", "places_of",
           "why_not_observed"]


@dataclass(frozen=True)
class Argument:
    """A key for one tensor object that Python gets when the graph runs: the argument of the graph at a position.

    position  the index among the graph's arguments
    """

    position: int


@dataclass(frozen=True)
class State:
    """A key for one tensor object that Python gets when the graph runs: a Parameter, or another tensor of the program that the graph uses.

    symbol  its name in the IR
    """

    symbol: str


@dataclass(frozen=True)
class Watching:
    """Says what one node `observe!` needs: it calls forward hooks that are expected to change nothing.

    objects  stand for the tensor objects that its hooks get: an Argument, a State, or any other hashable object for a tensor that the graph
             makes
    plain    for each of them, False if no gradient can reach it and no hook can be registered on it
    results  how many of the objects, counted from the end, the hooks are expected to return
    last     True for the last `observe!` of the graph
    """

    objects: tuple[Hashable, ...]
    plain: tuple[bool, ...]
    results: int
    last: bool


@dataclass(frozen=True, eq=False)
class Observing:
    """A graph in which forward hooks only look at values, with all that is needed to check this when it runs.

    `observed_form` turns it into a form that runs.

    graph    the graph
    hooks    for each node that calls hooks, by symbol (the name in the IR), which tensor objects these get
    results  keys for the tensor objects that the graph returns, as in `Watching.objects`
    records  True if the hooks are inside of a gradient: in eager mode there is a tape while they run
    read     the symbols of the tensors from outside of the graph that may be read before the last hook
    pre      the symbols of those `outputs` nodes whose cells have backward pre hooks
    again    True if all of the graph can be executed a second time for the same call
    sites    the calls of cells that have hooks
    """

    graph: Graph
    hooks: Mapping[str, Watching]
    results: tuple[Hashable, ...]
    records: bool
    read: tuple[str, ...]
    pre: frozenset[str]
    again: bool
    sites: tuple[CellSite, ...]


@dataclass(frozen=True)
class Places:
    """Numbers the tensor objects that hooks get when a graph without gradients runs, so that they can be kept in one list.

    The list begins with the arguments; the other objects are None until a hook first needs them.

    known    the index of each object in the list; the keys are those of `Watching.objects`
    made     the initial contents of the list after the arguments: a None for each object
    results  pairs (position in the graph's results, index in the list), for results that hooks get as well: the graph returns these objects
    """

    known: Mapping[Hashable, int]
    made: tuple[None, ...]
    results: tuple[tuple[int, int], ...]


def places_of(found: Observing, arguments: int) -> Places:
    """Return the numbering of the tensor objects that the hooks of `found` get when it runs (see `Places`).

    arguments  how many arguments the graph has
    """
    known: dict[Hashable, int] = {Argument(i): i for i in range(arguments)}
    for hooked in found.hooks.values():
        for key in hooked.objects:
            if not isinstance(key, State):
                known.setdefault(key, len(known))
    results = tuple((i, known[key]) for i, key in enumerate(found.results) if not isinstance(key, Argument) and key in known)
    return Places(known, (None,) * (len(known) - arguments), results)


class ObservedForm(NamedTuple):
    """The plan by which a graph runs as long as its forward hooks change nothing, with what is needed to check that.

    of    the graph in which hooks only look at values
    plan  the plan that runs
    fits  returns True if the plan may run on these arguments (`Faster.fits`)
    """

    of: Observing
    plan: Plan
    fits: Callable[[Sequence[Tensor]], bool] | None


def observed_form(graph: Graph, *, again: bool = False) -> ObservedForm | None:
    """Return the plan by which a graph runs as long as its forward hooks change nothing, with what is needed to check that
    (`ObservedForm`).  None if the graph cannot run in this way.

    If a hook changes something, the call continues node by node, after what was done before is executed again.

    again  True if it must be possible to execute the whole graph a second time for the same call, as for the head of two parts
        (`HeadAndTail`)
    """
    found = observing(graph, again=again)
    form = None if found is None else faster(found.graph)
    plan = None if form is None else form.plan()
    return None if found is None or form is None or plan is None else ObservedForm(found, plan, _without_arrays(form.fits))


def _without_arrays(fits: Callable[[Sequence[Tensor]], bool] | None) -> Callable[[Sequence[Tensor]], bool]:
    """Return a function that tells whether a plan may run on given arguments.

    It is False where `fits` is, and also if an argument shares its memory with a NumPy array: NumPy might write into it, so that the graph
    could not be executed a second time.
    """
    def fit(arguments: Sequence[Tensor]) -> bool:
        for x in arguments:
            if "_shared" in x.__dict__:
                return False
        return fits is None or fits(arguments)

    return fit


def why_not_observed(graph: Graph) -> str:
    """Return the reason, for reports, why the forward hooks of a graph cannot be checked to change nothing."""
    found = _observing(graph, again=False) if returns_anything(graph) else ""
    said = found if isinstance(found, str) else ""
    return said or reason(graph) or "a forward hook is given something that is no tensor"


def observing(graph: Graph, *, again: bool = False) -> Observing | None:
    """Return the version of a graph in which forward hooks are assumed to change nothing; None if that is not possible or it has no such
    hooks.

    It is possible if the hooks are all inside of one gradient, or there is no gradient; if they are outside of branches and loops; and if
    nothing before the last of them has an effect.  Then, should a hook change something, everything before it can be executed again to fill
    the log (the results of nodes so far) from which the call continues.

    again  True if it must be possible to execute the whole graph a second time for the same call; it then need not have forward hooks
    """
    found = _observing(graph, again)
    return None if isinstance(found, str) else found


def _observing(graph: Graph, again: bool) -> Observing | str:
    """Do what `observing` does, but return the reason, as text, where `observing` returns None."""
    if any("_shared" in x.__dict__ for x in graph.state.values()):
        # The part before a hook could not be run again, since NumPy may write into the memory of such a tensor.
        return "a tensor that it uses shares its memory with a NumPy array"
    symbols = {node.op.symbol for node in returning(graph)}
    body, steps = graph.function.body, list(walk(graph.function.body))
    last = max((i for i, node in enumerate(steps) if _is_hook(node, symbols)), default=-1)
    repeatable = all(_may_be_repeated(node, symbols) for node in steps)
    if (not repeatable if again else last < 0) or any(isinstance(node.op, Call) for node in steps):
        return "it cannot be run again to go on from a hook"
    before, hooks = steps[: last + 1], [node for node in steps if _is_hook(node, symbols)]
    gradient = _gradient_in(body)
    if gradient is None and (again or any(isinstance(node.op, Differentiated) for node in steps)):
        return "it takes a gradient in a branch or a loop"
    if _in_cells(body if gradient is None else gradient.regions[0], symbols) != hooks:
        return "a forward hook runs in a branch, in a loop or beside another gradient"
    if not all(map(_returns_the_last, hooks)):
        return "a forward hook is taken to return another value than it is given"
    if effect := next((node for node in before if node is not gradient and not _may_run_again(node, symbols)), None):
        place = user_place(effect.loc)
        return f"before a forward hook something happens that cannot be done again{f' ({place.file}:{place.line})' if place else ''}"
    tape = _Tape(graph, symbols)
    known = tape.hooks(body, steps[last]) if hooks else {}
    results = () if gradient is not None or known is None else tape.results(body)
    if known is None or results is None:
        return "which tensor object a hook is given is not known before the graph runs"
    rewriter = _Observing(graph, symbols)
    function = replace(graph.function, body=rewriter.body(body))
    read = dict.fromkeys(node.op.symbol for node in before if isinstance(node.op, Read))
    made = replace(graph, module=graph.module.with_function(function), sites=rewriter.sites)
    pre = frozenset(node.op.symbol for node in steps if isinstance(node.op, Outputs) and graph.hosts[node.op.symbol].filled)
    sites = tuple(site for site in graph.sites.values() if any(site.pattern))
    return Observing(made, known, results, gradient is not None, tuple(read), pre, repeatable, sites)


def _is_hook(node: Node, symbols: set[str]) -> bool:
    return isinstance(node.op, Apply) and node.op.symbol in symbols


def _may_run_again(node: Node, symbols: set[str]) -> bool:
    """Return True if a node before the last hook may run a second time without a visible effect.

    symbols  the symbols of nodes that call forward hooks
    """
    op = node.op
    if isinstance(op, CellOp):
        return not op.rule
    if isinstance(op, Differentiated):
        return False
    seen = op.effect in (Effect.WRITES, Effect.HOST)
    return not seen or _is_hook(node, symbols) or isinstance(op, (Attach, Check, Draw))


def _may_be_repeated(node: Node, symbols: set[str]) -> bool:
    """Return True if a node does the same when it runs again, with the state as it was before and the same answers of hooks.

    symbols  the symbols of nodes that call forward hooks
    """
    op = node.op
    if isinstance(op, Gradient):
        return not any(isinstance(inner.op, Differentiated) for inner in walk(node.regions[0]))
    return isinstance(op, Write) or (not isinstance(op, (Attach, Hook)) and _may_run_again(node, symbols))


def _gradient_in(region: Region) -> Node | None:
    """Return the first node that takes a gradient in a region or in the cells inside of it; None if there is none."""
    for node in region.nodes:
        if isinstance(node.op, Gradient):
            return node
        if isinstance(node.op, CellOp) and (found := _gradient_in(node.regions[0])) is not None:
            return found
    return None


def _in_cells(region: Region, symbols: set[str]) -> list[Node]:
    """Return the nodes that call forward hooks in a region and in the cells inside of it, but not in branches, loops or gradients.

    symbols  the symbols of nodes that call forward hooks
    """
    found: list[Node] = []
    for node in region.nodes:
        if _is_hook(node, symbols):
            found.append(node)
        elif isinstance(node.op, CellOp):
            found += _in_cells(node.regions[0], symbols)
    return found


def _returns_the_last(node: Node) -> bool:
    """Return True if the hooks of a node are assumed to return values of the types of the last values that they get: then they may have
    changed nothing.
    """
    count = len(node.results)
    given = node.operands[len(node.operands) - count :]
    return all(isinstance(atom, Value) for atom in given) and [atom.type for atom in given] == [value.type for value in node.results]


class _Observing(Rewriter):
    """Copies a graph's function with `observe!` in place of each call of forward hooks: what came out of the hooks is what went in.

    sites  the calls of cells, by the keys of their nodes in the copy
    """

    def __init__(self, graph: Graph, symbols: set[str]):
        self._graph, self._symbols = graph, symbols
        self.sites: dict[Value, CellSite] = {}

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if _is_hook(node, self._symbols):
            operands = [became(atom, known) for atom in node.operands]
            b.emit_node(Observe(node.op.symbol), operands)
            return operands[len(operands) - len(node.results) :]
        if isinstance(node.op, Outputs) and not self._graph.hosts[node.op.symbol].filled:
            return [became(atom, known) for atom in node.operands]  # the node was there for hooks that forward hooks may add
        if isinstance(node.op, CellOp) and (site := self._graph.site(node)) is not None:
            made = self.copy(b, node, known)
            key = site_key(b.nodes[-1])
            assert key is not None
            self.sites[key] = site
            return made
        return None


_OTHER: Final = object()
"""A marker for a result of a node that may be one of several tensor objects, so that it is not known which."""


class _Tape:
    """Predicts which tensor objects Python sees when a graph runs on a tape (the recording for a gradient) and its hooks change nothing.

    A *representative* is a hashable key for one tensor object that exists while the graph runs.

    _objects    the representative of the tensor object of each value
    _known      representatives of objects that the tape knows; `_unsure` are those that it may know
    _freezable  Parameters that no gradient is taken by: their `requires_grad` may change between calls
    """

    def __init__(self, graph: Graph, symbols: set[str]):
        self._graph, self._symbols = graph, symbols
        self._objects: dict[Atom, Hashable] = {}
        self._known: set[Hashable] = set()
        self._unsure: set[Hashable] = {_OTHER}
        self._without_gradient: set[Hashable] = set()
        self._freezable: set[Hashable] = {State(symbol) for symbol, x in graph.state.items() if isinstance(x, Parameter)}
        self._attached: set[Hashable] = set()
        self._recording = False
        self._found: dict[str, Watching] = {}
        self._count = 0

    def hooks(self, body: Region, last: Node) -> dict[str, Watching] | None:
        """Return which tensor objects each node of hooks gets, by symbol (the name in the IR); None if that is not known before the graph
        runs.

        last  the last node that calls hooks
        """
        self._objects.update((param, Argument(i)) for i, param in enumerate(body.params))
        self._region(body, last)
        shown = {x for hooked in self._found.values() for x in hooked.objects}
        # If the graph attaches a hook to such a tensor, and a hook registers another one, they might be on two objects.
        unknown = _OTHER in shown or _OTHER in self._attached
        return None if unknown or shown & self._attached else self._found

    def results(self, body: Region) -> tuple[Hashable, ...] | None:
        """Return what stands for each tensor object that the function returns; None if one is not known.  Call it after `hooks`."""
        found = tuple(map(self._object, body.results))
        return None if _OTHER in found else found

    def _new(self, values: Sequence[Value], known: bool) -> None:
        for value in values:
            self._count += 1
            self._objects[value] = self._count
            if known:
                self._known.add(self._count)

    def _object(self, atom: Atom) -> Hashable:
        if isinstance(atom, Value):
            return self._objects[atom]
        self._count += 1
        return self._count  # a constant is a new tensor each time

    def _renamed(self, values: Sequence[Value], atoms: Sequence[Atom], recorded: bool) -> None:
        """Give values that cross a cell's boundary tensor objects of their own, as a tape does for tensors that it knows.

        values    the values after the boundary
        atoms     the values before it
        recorded  True if the tape records the call of the cell
        """
        for value, atom in zip(values, atoms, strict=True):
            old = self._object(atom)
            if recorded and old in self._freezable and old in self._known:
                self._objects[value] = _OTHER  # whether its gradient is taken is decided when the graph runs
            elif recorded and old in self._known:
                self._new([value], known=True)
                if old in self._without_gradient:
                    self._without_gradient.add(self._objects[value])
            else:
                self._objects[value] = _OTHER if recorded and old in self._unsure else old

    def _region(self, region: Region, last: Node) -> None:
        for node in region.nodes:
            self._node(node, last)

    def _node(self, node: Node, last: Node) -> None:
        op: Any = node.op
        match op:
            case Apply() if _is_hook(node, self._symbols):
                objects = tuple(map(self._object, node.operands))
                plain = tuple(x not in self._without_gradient for x in objects)
                self._found[op.symbol] = Watching(objects, plain, len(node.results), node is last)
                self._objects.update(zip(node.results, objects[len(objects) - len(node.results) :], strict=True))
            case Read():
                self._objects[node.result] = State(op.symbol)
            case Gradient():
                self._gradient(node, op, last)
            case CellOp():
                site, (body,) = self._graph.site(node), node.regions
                recorded = self._recording and site is not None and site.recorded
                self._renamed(body.params, node.operands, recorded)
                self._region(body, last)
                self._renamed(node.results, body.results, recorded)
            case Outputs():
                self._renamed(node.results, node.operands, self._recording and self._graph.hosts[op.symbol].filled)
            case Attach():
                self._attached.add(self._object(node.operands[0]))
            case RegionOp():
                self._uncertain(node)
            case NoGrad():
                self._objects[node.result] = _OTHER
            case _:
                self._operation(node, op)

    def _gradient(self, node: Node, op: Gradient, last: Node) -> None:
        (region,), outer = node.regions, self._recording
        self._recording = True
        self._new(region.params, known=True)
        trained = [State(symbol) for symbol in op.by if self._graph.state[symbol].requires_grad]
        self._known.update(trained)
        self._freezable.difference_update(trained)
        self._region(region, last)
        self._recording = outer
        if not outer:
            self._known.clear()
            self._unsure = {_OTHER}
        self._objects.update((value, self._object(atom)) for value, atom in zip(node.results, region.results, strict=False))
        self._new(node.results[len(region.results) :], known=outer)

    def _uncertain(self, node: Node) -> None:
        """Note that a branch or a loop may or may not make its objects known to the tape (the recording for a gradient), and that its
        results may be any objects.
        """
        used = [self._objects[value] for region in node.regions for value in free_of(region)]
        self._unsure.update(x for x in used if x not in self._known)
        self._objects.update(dict.fromkeys(node.results, _OTHER))
        self._attached.update(self._objects.get(inner.operands[0], _OTHER) for region in node.regions for inner in walk(region)
                              if isinstance(inner.op, Attach))

    def _operation(self, node: Node, op: Op) -> None:
        given = [self._object(atom) for atom in node.operands]
        known = self._recording and not self._known.isdisjoint(given)
        if known:
            self._known.update(x for x in given if x is not _OTHER)
        self._new(node.results, known)
        made = [self._objects[value] for value in node.results]
        if self._recording and not known and not self._unsure.isdisjoint(given):
            self._unsure.update((*given, *made))
        if isinstance(op, StopGradient):
            self._without_gradient.update(made)
