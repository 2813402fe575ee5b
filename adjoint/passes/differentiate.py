"""Gradients inside of functions: `gradient`, `record` and `pull!` become the nodes that compute them.

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
from adjoint.ir.ops.control import Differentiated, For, Gradient, Pull, Record, While
from adjoint.ir.ops.conversion import Identity
from adjoint.ir.ops.stack import Stack
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import StackType, TensorType, Type
from adjoint.passes import errors
from adjoint.passes.activity import Leaf, differentiable
from adjoint.passes.dce import living
from adjoint.passes.inline import inlined_region
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became
from adjoint.passes.residuals import extended
from adjoint.passes.reverse import swept

__all__ = ["Differentiate", "expanded", "forward_and_adjoint", "has_gradients"]


def has_gradients(function: Function) -> bool:
    """Return True if the function takes gradients itself: if it contains `gradient` or `record` nodes."""
    return any(isinstance(node.op, Differentiated) for node in walk(function.body))


def expanded(function: Function, module: Module) -> Function:
    """Replace the `gradient`, `record` and `pull!` nodes of a function by nodes that compute the gradients.  Calls inside of them are
    inlined.

    It is the same object if there are none.
    """
    if not has_gradients(function):
        return function
    return replace(function, body=_Expander(function, module).body(function.body))


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
    """The nodes that take the place of one `pull!`, the node that computes gradients of a recorded region.

    seeds      placeholders for the cotangents
    nodes      the reverse pass
    gradients  its results
    again      forward nodes that must run again before it, to fill its stacks
    """

    seeds: Sequence[Value]
    nodes: Sequence[Node]
    gradients: Sequence[Atom]
    again: Sequence[Node] = ()


class _Expander(Rewriter):
    """Copies a function, and replaces each `gradient`, `record` and `pull!` by nodes that compute the gradients."""

    def __init__(self, function: Function, module: Module):
        self._function, self._module = function, module
        self._written = {node.op.symbol for f in module.functions.values() for node in walk(f.body) if isinstance(node.op, Write)}
        self._pulls: dict[Atom, list[tuple[Node, bool]]] = {}
        """For each trace: its `pull!` nodes in order, each with True if it is in a loop that does not contain the `record`."""
        self._adjoints: dict[Atom, Iterator[_Adjoint]] = {}

    def nodes(self, b: Builder, nodes: Sequence[Node], known: Known) -> None:
        for node in nodes:
            if isinstance(node.op, Record):
                self._pulls[node.results[-1]] = list(_pulls(node.results[-1], nodes))
        super().nodes(b, nodes, known)

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        match node.op:
            case Gradient() as op:
                return self._gradient(b, node, op, known)
            case Record() as op:
                return self._record(b, node, op, known)
            case Pull():
                return self._pull(b, node, known)
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

    def _again(self, pull: Node, adjoint: _Adjoint, forward: Sequence[Node]) -> list[Node]:
        """Return the forward nodes that must run again before a `pull!` in a loop, to fill the stacks from which its adjoint pops.

        CompileError if these must not run again.
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
        """Return the region of a node after inlining calls and expanding inner gradients."""
        return self.body(inlined_region(node.regions[0], self._module, self._function.symbol))

    @staticmethod
    def _enter(b: Builder, node: Node, region: Region, used: set[Value], known: Known) -> None:
        """Append an `identity` for each parameter of a region that is used, so that it is a value of its own.

        known  for each value of the old function, the atom of the new one; those of the parameters are added
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
        return b.constant(1.0 if output.type.dtype.is_float else 1, output.type) if given is None else given


def _pulls(trace: Value, nodes: Sequence[Node], repeated: bool = False) -> Iterator[tuple[Node, bool]]:
    """Yield the `pull!` nodes that use a trace (what a `record` returns), in program order, each with True if it is in a loop among
    `nodes`.

    repeated  True if `nodes` are in a loop themselves
    """
    for node in nodes:
        if isinstance(node.op, Pull) and node.operands[0] is trace:
            yield node, repeated
        for region in node.regions:
            yield from _pulls(trace, region.nodes, repeated or isinstance(node.op, (For, While)))


def _seeds(cotangents: Sequence[Atom], outputs: Sequence[Atom]) -> list[Value]:
    """Make placeholders for cotangents (gradients), named after the outputs, to be replaced once the adjoint is built."""
    return [Value(ct.type, f"{y.hint}'" if isinstance(y, Value) else "ct") for ct, y in zip(cotangents, outputs, strict=False)]


def _wanted(op: Differentiated, region: Region) -> dict[Leaf, Type]:
    """Return what a `gradient` or `record` node differentiates by, with the types: the parameters of its region, and the weights by symbol.
    """
    wanted: dict[Leaf, Type] = {param: param.type for param in region.params}
    wanted.update(zip(op.by, op.weights, strict=True))
    return wanted


@dataclass(frozen=True)
class Differentiate(Pass):
    """`differentiate`: each `gradient` becomes its region and the adjoint of that, inner ones first.

    Each `record` becomes its region, and each `pull!` the adjoint of that.
    """

    name: ClassVar[str] = "differentiate"

    def on_function(self, function: Function, module: Module) -> Function:
        return expanded(function, module)
