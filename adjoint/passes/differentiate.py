"""Gradients inside of functions: `gradient`, `record`, `pull!` and `tangent` become the nodes that compute them.

    y, x' = gradient of=1 sens (s) carry (x = a) { R; yield u }
                                     x = identity(a)         a separate value: its cotangents are one sum, as in a cell
                                     R                       its residuals become results, see `residuals`
                                     y  := u
                                     u' := s                 ones without a `sens`
                                     R'                      the adjoint of R
                                     x' := the sum of x      zeros if it is absent

    y, t = record of=1 carry (x = a) { R; yield u }
    x' = pull!(t, s)
                                     the same, with R' in the place of the `pull!`, where it sees the forward values.  Each of
                                     several `pull!` has its own adjoint, and its own stacks in loops of R

    y, y' = tangent of=1 with (s) carry (x = a) { R; yield u }
                                     x = identity(a); R with its tangents, see `forward`

    for .. { x' = pull!(t, s) }      each round needs the stacks that loops of R have filled: these loops are run again there

Inner gradients are expanded first: the outer one then differentiates their nodes, too.  Each `attach!` in R stays, so that a later gradient
of the whole function finds it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Derived
from adjoint.foundation.made import count
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_values, walk
from adjoint.ir.op import Effect
from adjoint.ir.ops.control import Batch, Cell, Differentiated, For, Gradient, Pull, Record, Tangent, While
from adjoint.ir.ops.conversion import Identity
from adjoint.ir.ops.host import Apply, GradientHost
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.stack import Stack
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import StackType, TensorType, Type
from adjoint.passes import errors, order
from adjoint.passes import forward as forward_mode
from adjoint.passes.activity import Leaf, differentiable
from adjoint.passes.batch import batched
from adjoint.passes.dce import living
from adjoint.passes.inline import inlined_region
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became
from adjoint.passes.residuals import extended
from adjoint.passes.reverse import swept

__all__ = ["Differentiate", "expanded", "forward_and_adjoint", "has_gradients", "without_batches"]


def has_gradients(function: Function) -> bool:
    """Return True if the function takes gradients itself, or has batches: if it contains `gradient`, `record`, `tangent` or `batch` nodes.
    """
    return any(isinstance(node.op, (Differentiated, Batch)) for node in walk(function.body))


def expanded(function: Function, module: Module) -> Function:
    """Return a function in which nodes that compute the gradients replace its `gradient`, `record`, `pull!` and `tangent` nodes (see the
    module), and nodes that compute all examples its `batch` nodes.  Calls inside of these are inlined.

    A function without such nodes is returned itself.
    """
    if not has_gradients(function):
        return function
    return replace(function, body=_Expander(function, module).body(function.body))


def without_batches(function: Function, module: Module) -> tuple[Function, dict[Value, Value]]:
    """Return a function in which nodes that compute all examples replace its `batch` nodes, and tangents its `tangent` nodes, with the
    gradients that these contain.

    Other gradients stay: a run decides whether they are taken along its path.  So does a `tangent` of what has no derivative in forward
    mode.  A function without these nodes is returned itself.  The second result has, for the first result of each cell in the copy (without
    results, the first parameter), that of the cell which it copies.
    """
    if not any(isinstance(node.op, _AT_ONCE) for node in walk(function.body)):
        return function, {}
    expander = _Expander(function, module, batches=True)
    return replace(function, body=expander.body(function.body)), expander.cells


_AT_ONCE = (Batch, Tangent)
"""The ops that are replaced when a graph has been parsed: no run decides how they are computed."""


def forward_and_adjoint(
    b: Builder, nodes: Sequence[Node], outputs: Sequence[Atom], cotangents: Sequence[Atom | None], wanted: dict[Leaf, Type], module: Module
) -> tuple[list[Node], list[Atom]]:
    """Append the nodes that compute gradients (the reverse pass over `nodes`) to `b`.

    outputs     the values that are differentiated
    cotangents  for each of them its cotangent, or None
    wanted      what they are differentiated by (values, or symbols of parameters), with the types; zeros for one without a gradient

    Return the forward nodes that must run before, and the gradients of what is wanted.
    """
    count("adjoints")
    sweep, found = swept(b, nodes, outputs, cotangents, list(wanted), module)
    gradients = [sweep.or_zero(ct, type_) for ct, type_ in zip(found, wanted.values(), strict=True)]
    forward = Builder()
    extended(forward, nodes, sweep.looked, sweep.needed(free_values(b.nodes, gradients)))
    return forward.nodes, gradients


@dataclass(frozen=True)
class _Adjoint:
    """The nodes that replace one `pull!` (the node that asks for the gradients of a recorded region).

    seeds      placeholders for the cotangents that the `pull!` is given
    nodes      the nodes that compute the gradients
    gradients  the gradients, in the order of the results of the `pull!`
    again      forward nodes that run once more before `nodes`, to fill the stacks from which these pop; empty outside of loops
    """

    seeds: Sequence[Value]
    nodes: Sequence[Node]
    gradients: Sequence[Atom]
    again: Sequence[Node] = ()


class _CellsKept(Rewriter):
    """Copies nodes, and keeps which cell each cell of the copy comes from; a draw of random numbers that was made already is not repeated.

    cells  for the first result of a cell in the copy (without results, the first parameter of its region), that of the original
    """

    def __init__(self, cells: dict[Value, Value]):
        self.cells = cells

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        return [known[node.result]] if isinstance(node.op, Draw) and node.result in known else None

    def copy(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        results = super().copy(b, node, known)
        if isinstance(node.op, Cell):
            old, new = (next(iter((*each.results, *each.regions[0].params)), None) for each in (node, b.nodes[-1]))
            if old is not None and new is not None:
                self.cells[new] = self.cells.get(old, old)
        return results


class _Expander(_CellsKept):
    """Copies a function, and replaces each `gradient`, `record` and `pull!` by nodes that compute the gradients.

    function  the function
    module    the module with the functions that it calls
    batches   True to replace only `batch` and `tangent` nodes, with the gradients in them
    """

    def __init__(self, function: Function, module: Module, *, batches: bool = False):
        super().__init__({})
        self._function, self._module = function, module
        self._expands = not batches
        """False where gradients stay."""
        self._pulled_at_once = {inner.operands[0] for node in walk(function.body) if isinstance(node.op, _AT_ONCE)
                                for inner in walk(node.regions[0]) if isinstance(inner.op, Pull)}
        self._written = {node.op.symbol for f in module.functions.values() for node in walk(f.body) if isinstance(node.op, Write)}
        self._pulls: dict[Atom, list[tuple[Node, bool]]] = {}
        """For each trace (the last result of a `record` node): the `pull!` nodes that use it, each with True if it is in a loop without the
        `record`.
        """
        self._adjoints: dict[Atom, Iterator[_Adjoint]] = {}

    def nodes(self, b: Builder, nodes: Sequence[Node], known: Known) -> None:
        for node in nodes:
            if isinstance(node.op, Record):
                self._pulls[node.results[-1]] = list(_pulls(node.results[-1], nodes))
        super().nodes(b, nodes, known)

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        match node.op:
            case Gradient() as op if self._expands:
                return self._gradient(b, node, op, known)
            case Record() as op if self._expands or node.results[-1] in self._pulled_at_once:
                return self._record(b, node, op, known)
            case Pull() if node.operands[0] in self._adjoints:
                return self._pull(b, node, known)
            case Batch():
                return self._batch(b, node, known)
            case Tangent() as op:
                return self._tangent(b, node, op, known)
            case _:
                return None

    def _gradient(self, b: Builder, node: Node, op: Gradient, known: Known) -> Sequence[Atom]:
        region = self._inner(node)
        sens = node.operands[len(region.params) :]
        seeds = _seeds(sens, region.results)
        adjoint = Builder(Derived("grad", (node.loc,), subject=op.name))
        cotangents = [self._seed(adjoint, y, seeds[i] if sens else None) for i, y in enumerate(region.results[: op.of])]
        forward, gradients = forward_and_adjoint(
            adjoint, region.nodes, region.results[: op.of], cotangents, _wanted(op, region), self._module)
        nodes, results = [*forward, *living(adjoint.nodes, gradients, self._module)], [*region.results, *gradients]
        self._enter(b, node, region, set(free_values(nodes, results)), known)
        known.update((seed, became(atom, known)) for seed, atom in zip(seeds, sens, strict=True))
        Rewriter().nodes(b, nodes, known)
        return [became(atom, known) for atom in results]

    def _record(self, b: Builder, node: Node, op: Record, known: Known) -> Sequence[Atom]:
        region, trace = self._inner(node), node.results[-1]
        outputs, forward, adjoints = region.results[: op.of], list(region.nodes), list[_Adjoint]()
        pulls = self._pulls.pop(trace)
        for pull, _ in pulls:
            adjoint = Builder(Derived("grad", (pull.loc,), subject=op.name))
            seeds = _seeds(pull.operands[1:], outputs)
            cotangents = [self._seed(adjoint, y, seed) for y, seed in zip(outputs, seeds, strict=True)]
            # values that earlier adjoints use stay results of their nodes, which are extended once more
            forward, gradients = forward_and_adjoint(adjoint, forward, outputs, cotangents, _wanted(op, region), self._module)
            adjoints.append(_Adjoint(seeds, living(adjoint.nodes, gradients, self._module), gradients))
        for i, (pull, repeated) in enumerate(pulls):
            if repeated:
                adjoints[i] = replace(adjoints[i], again=self._again(pull, adjoints[i], forward))
        used = set(free_values(forward, region.results))
        used.update(value for made in adjoints for value in free_values([*made.again, *made.nodes], made.gradients))
        self._enter(b, node, region, used, known)
        Rewriter().nodes(b, forward, known)
        self._adjoints[trace] = iter(adjoints)
        return [*(became(atom, known) for atom in region.results), trace]

    def _pull(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        trace, *cotangents = node.operands
        adjoint = next(self._adjoints[trace])
        here = dict(known)
        here.update((seed, became(atom, known)) for seed, atom in zip(adjoint.seeds, cotangents, strict=True))
        if adjoint.again:
            once_more = dict(known)
            Rewriter().nodes(b, adjoint.again, once_more)
            here.update((v, once_more[v]) for made in adjoint.again for v in made.results if isinstance(v.type, StackType))
        Rewriter().nodes(b, adjoint.nodes, here)
        return [became(atom, here) for atom in adjoint.gradients]

    def _batch(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        inlined = inlined_region(node.regions[0], self._module, self._function.symbol)
        operands = [became(atom, known) for atom in node.operands]
        if self._expands or (not any(isinstance(inner.op, Apply) for inner in walk(inlined)) and order.names_apart(inlined)):
            try:
                region = self._whole(b, inlined, known)
            except errors.NoGradient:
                if self._expands or not any(isinstance(inner.op, Tangent) for inner in walk(inlined)):
                    raise
            else:
                if self._expands or not any(isinstance(inner.op, GradientHost) for inner in walk(region)):
                    return batched(b, region, operands, _CellsKept(self.cells))
        # Hooks in a gradient belong to the `gradient` node until the graph runs: it stays, in a loop over the examples.  So does one whose
        # sums must be taken along the path of each example, and a `tangent` of what has no derivative in forward mode.
        if any(isinstance(inner.op, Pull) for inner in walk(inlined)):
            raise errors.HOOKS_IN_BATCH.at(node.loc, "a pullback that calls hooks, or a `bprop`, is mapped over its cotangents")
        (region,) = self.regions(b, [inlined], dict(known))
        return batched(b, region, operands, _CellsKept(self.cells), together=False)

    def _tangent(self, b: Builder, node: Node, op: Tangent, known: Known) -> Sequence[Atom]:
        region, operands = inlined_region(node.regions[0], self._module, self._function.symbol), [became(x, known) for x in node.operands]
        if not self._expands:
            # Where it stays, a run takes it along its path, as eager mode does.
            (region,) = self.regions(b, [region], dict(known))
            if not order.sums_alike(Function("", region)):
                return b.emit_node(op, operands, regions=[region]).results
        whole = self._whole(b, region, known)
        seeds = [Value(param.type, f"{param.hint}'") for param in whole.params]
        try:
            nodes, tangents = forward_mode.with_tangents(
                whole.nodes, whole.results[: op.of], dict(zip(whole.params, seeds, strict=True)), self._module)
        except errors.NoGradient:
            if self._expands:
                raise
            return b.emit_node(op, operands, regions=[region]).results
        results = [*whole.results, *tangents]
        nodes = living(nodes, results, self._module)
        self._enter(b, node, whole, set(free_values(nodes, results)), known)
        known.update(zip(seeds, operands[len(seeds) :], strict=True))
        Rewriter().nodes(b, nodes, known)
        return [became(atom, known) for atom in results]

    def _whole(self, b: Builder, region: Region, known: Known) -> Region:
        """Return a copy of a region in which the gradients and batches are expanded."""
        around, self._expands = self._expands, True
        try:
            (copy,) = self.regions(b, [region], dict(known))
        finally:
            self._expands = around
        return copy

    def _again(self, pull: Node, adjoint: _Adjoint, forward: Sequence[Node]) -> list[Node]:
        """Return the forward nodes that must run once more before a `pull!` in a loop: its gradient pops stacks, which each round must find
        full.

        pull     the `pull!` node
        adjoint  the nodes that will replace it
        forward  the nodes of the recorded region

        CompileError if one of these nodes may not run twice, since it writes state or calls Python.
        """
        stacks = {v for v in free_values(adjoint.nodes, adjoint.gradients) if isinstance(v.type, StackType)}
        makers = [node for node in forward if stacks.intersection(node.results)]
        empty = {atom for node in makers for atom in node.operands if isinstance(atom.type, StackType)}
        found = [node for node in forward if node in makers or (isinstance(node.op, Stack) and node.result in empty)]
        found = living(found, [*stacks], self._module)
        for node in walk(Region((), tuple(found), ())):
            op = node.op
            read = isinstance(op, Read) and op.symbol not in self._written
            if op.effect is not Effect.PURE and not read:
                label = f"it would run a loop again that contains `{op.name}`, which must run once"
                raise errors.NoGradient.of(errors.PULLED_IN_LOOP, pull.loc, label)
        return found

    def _inner(self, node: Node) -> Region:
        """Return the region of a `gradient` or `record` node after calls in it are inlined and gradients inside of it are expanded."""
        around, self._expands = self._expands, True
        region = self.body(inlined_region(node.regions[0], self._module, self._function.symbol))
        self._expands = around
        return region

    @staticmethod
    def _enter(b: Builder, node: Node, region: Region, used: set[Value], known: Known) -> None:
        """Append an `identity` of the operand for each used parameter of a region, so that its gradient is summed apart from that of the
        operand.

        node    the node with the region, whose operands are its arguments
        used    the values that are used later
        known   for each value of the old function, the atom of the new one; those of the parameters are added
        """
        for param, atom in zip(region.params, node.operands, strict=False):
            if param in used:
                known[param] = b.emit(Identity(), became(atom, known), hint=param.hint)

    @staticmethod
    def _seed(b: Builder, output: Atom, given: Value | None) -> Atom | None:
        """Return the cotangent (gradient) with which an output begins: the given one, or ones.  None for bools, which have no cotangent."""
        assert isinstance(output.type, TensorType)
        if not differentiable(output.type):
            return None
        return b.constant(1.0 if output.type.dtype.is_inexact else 1, output.type) if given is None else given


def _pulls(trace: Value, nodes: Sequence[Node], repeated: bool = False) -> Iterator[tuple[Node, bool]]:
    """Yield the `pull!` nodes that use a trace (what a `record` returns), in program order, each with True if it is in a loop among
    `nodes`.

    repeated  True if `nodes` are in a loop themselves
    """
    for node in nodes:
        if isinstance(node.op, Pull) and node.operands[0] is trace:
            yield node, repeated
        for region in node.regions:
            yield from _pulls(trace, region.nodes, repeated or isinstance(node.op, (For, While, Batch)))


def _seeds(cotangents: Sequence[Atom], outputs: Sequence[Atom]) -> list[Value]:
    """Make a placeholder for each cotangent (gradient) that is passed in, named after the output at its position; the caller replaces them
    once the adjoint is built.
    """
    return [Value(ct.type, f"{y.hint}'" if isinstance(y, Value) else "ct") for ct, y in zip(cotangents, outputs, strict=False)]


def _wanted(op: Differentiated, region: Region) -> dict[Leaf, Type]:
    """Return what a `gradient` or `record` node differentiates by, with the types: the parameters of its region, and the weights by symbol.
    """
    wanted: dict[Leaf, Type] = {param: param.type for param in region.params}
    wanted.update(zip(op.by, op.weights, strict=True))
    return wanted


@dataclass(frozen=True)
class Differentiate(Pass):
    """The pass `differentiate`: replace each `gradient` node by its region and the nodes that compute the gradient, inner ones first.

    A `record` node (which runs a function for a later gradient) becomes its region, each `pull!` of it the nodes that compute the gradient,
    a `tangent` node its region with the tangents.
    """

    name: ClassVar[str] = "differentiate"

    def on_function(self, function: Function, module: Module) -> Function:
        return expanded(function, module)
