"""Gradients inside of functions: `gradient`, `record`, `pull!`, `along!` and `tangent` become the nodes that compute them.

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

    y' = along!(t, s)                 the tangents of R; with branches or loops, R once more with its tangents

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
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_of, free_values, walk
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Along, Batch, Cell, Differentiated, For, Gradient, OfTrace, Pull, Record, Tangent, While
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
    """Return a function in which nodes that compute the derivatives replace its `gradient`, `record`, `pull!`, `along!` and `tangent` nodes
    (see the module), and nodes that compute all examples its `batch` nodes.  Calls inside of these are inlined.

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

    Derivatives use values that were read from a parameter where the parameter may have been written since.  The tape takes a value that was
    read for the parameter itself, so such a use is of an `identity` that was made before the write.
    """
    if not any(isinstance(node.op, _AT_ONCE) for node in walk(function.body)):
        return function, {}
    expander = _Expander(function, module, batches=True)
    made = replace(function, body=expander.body(function.body))
    if not order.reads_survive(made):
        made = replace(made, body=_ReadsKept(expander.cells).body(made.body))
    return made, expander.cells


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
class _Derivative:
    """The nodes that replace one `pull!` or `along!` (a node that asks for derivatives of a recorded region).

    seeds    placeholders for the cotangents or tangents that it is given
    nodes    the nodes that compute the derivatives
    results  the derivatives, in the order of its results
    again    forward nodes that run once more before `nodes`, to fill the stacks from which these pop; empty outside of loops
    """

    seeds: Sequence[Value]
    nodes: Sequence[Node]
    results: Sequence[Atom]
    again: Sequence[Node] = ()


_Recorded = tuple[Region, list[Node], list[_Derivative]]
"""What replaces a `record` node: its region, the nodes of it with the results that gradients need, and what replaces each use of the trace.
"""


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


class _ReadsKept(_CellsKept):
    """Copies a function, and adds an `identity` of a value that was read from a parameter before the parameter is written, for later uses.

    It stands just before the write, not at the read: so the cotangents of the value add up in the order of its uses.
    """

    def __init__(self, cells: dict[Value, Value]):
        super().__init__(cells)
        self._read: dict[str, tuple[Value, ...]] = {}
        """For each parameter, the values in reach that were read from it and have no `identity` yet."""
        self._left: dict[str, set[int]] = {}
        """For each parameter, which results of the region that was copied last are such values."""

    def region(self, inner: Builder, region: Region, params: Sequence[Value], known: Known) -> Region:
        around, kept = dict(self._read), dict[Value, Atom]()
        last = {atom: i for i, node in enumerate(region.nodes)
                for atom in (*node.operands, *(x for body in node.regions for x in free_of(body)))}
        last.update(dict.fromkeys(region.results, len(region.nodes)))
        for i, node in enumerate(region.nodes):
            for symbol in _written_by(node):
                # A loop comes back to what stands before a write in its body.
                due = [x for x in self._read.get(symbol, ()) if last.get(x, -1) >= i + (not isinstance(node.op, (For, While)))]
                for value in due:
                    kept.setdefault(value, known[value])
                    known[value] = inner.emit(Identity(), became(value, known), loc=node.loc)
                self._read[symbol] = tuple([x for x in self._read.get(symbol, ()) if x not in due])
            if isinstance(node.op, Cell):  # its arguments have other names inside of it, and its results outside
                for symbol, read in self._read.items():
                    self._add(symbol, [param for param, x in zip(node.regions[0].params, node.operands, strict=False) if x in read])
            self.nodes(inner, [node], known)
            if isinstance(node.op, Cell):
                for symbol, places in self._left.items():
                    self._add(symbol, [x for j, x in enumerate(node.results) if j in places])
            elif isinstance(node.op, Read):
                self._add(node.op.symbol, [node.result])
        self._left = {symbol: {j for j, x in enumerate(region.results) if x in read} for symbol, read in self._read.items()}
        made = inner.finish([became(atom, known) for atom in region.results], params, self.place(region.loc))
        self._read = around
        known.update(kept)
        return made

    def _add(self, symbol: str, values: Sequence[Value]) -> None:
        self._read[symbol] = (*self._read.get(symbol, ()), *values)


def _written_by(node: Node) -> list[str]:
    """Return the parameters that a node, or one inside of it, writes."""
    return [*{each.op.symbol: None for each in walk(Region((), (node,), ())) if isinstance(each.op, Write)}]


class _Expander(_CellsKept):
    """Copies a function, and replaces each `gradient`, `record`, `pull!` and `along!` by nodes that compute the derivatives.

    function  the function
    module    the module with the functions that it calls
    batches   True to replace only `batch` and `tangent` nodes, with the gradients in them
    """

    def __init__(self, function: Function, module: Module, *, batches: bool = False):
        super().__init__({})
        self._function, self._module = function, module
        self._expands = not batches
        """False where gradients stay."""
        self._used_at_once = {inner.operands[0] for node in walk(function.body) if isinstance(node.op, _AT_ONCE)
                              for inner in walk(node.regions[0]) if isinstance(inner.op, OfTrace)}
        self._written = {node.op.symbol for f in module.functions.values() for node in walk(f.body) if isinstance(node.op, Write)}
        self._uses: dict[Atom, list[tuple[Node, bool]]] = {}
        """For each trace (the last result of a `record` node): the nodes that use it, each with True if it is in a loop without the
        `record`.
        """
        self._derivatives: dict[Atom, tuple[_Derivative, ...]] = {}
        """For each trace whose derivatives are expanded: what replaces the nodes that use it and are still to come, in program order."""

    def nodes(self, b: Builder, nodes: Sequence[Node], known: Known) -> None:
        for node in nodes:
            if isinstance(node.op, Record):
                self._uses[node.results[-1]] = list(_uses(node.results[-1], nodes))
        super().nodes(b, nodes, known)

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        match node.op:
            case Gradient() as op if self._expands:
                return self._gradient(b, node, op, known)
            case Record() as op if self._expands:
                return self._record(b, node, known, self._recorded(node, op))
            case Record() as op if node.results[-1] in self._used_at_once:
                # Hooks of its gradients are called along the path of a run, which takes them then.
                recorded = self._recorded_without_hooks(node, op)
                return None if recorded is None else self._record(b, node, known, recorded)
            case OfTrace() if node.operands[0] in self._derivatives:
                return self._derivative(b, node, known)
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

    def _record(self, b: Builder, node: Node, known: Known, recorded: _Recorded) -> Sequence[Atom]:
        """Append the nodes of a recorded region, and keep what replaces each use of its trace."""
        region, forward, derivatives = recorded
        used = set(free_values(forward, region.results))
        used.update(value for made in derivatives for value in free_values([*made.again, *made.nodes], made.results))
        self._enter(b, node, region, used, known)
        _CellsKept(self.cells).nodes(b, forward, known)
        trace = node.results[-1]
        self._derivatives[trace] = tuple(derivatives)
        return [*(became(atom, known) for atom in region.results), trace]

    def _recorded(self, node: Node, op: Record) -> _Recorded:
        """Return the region of a `record` node, its nodes with the results that gradients need, and what replaces each use of its trace."""
        region = self._inner(node)
        outputs, forward, derivatives = region.results[: op.of], list(region.nodes), list[_Derivative]()
        uses = self._uses[node.results[-1]]
        for use, _ in uses:
            if isinstance(use.op, Along):
                derivatives.append(self._along(use, op, region))
                # values inside of cells that the tangents use become results of their nodes
                b = Builder()
                extended(b, forward, {}, set(free_values(derivatives[-1].nodes, derivatives[-1].results)))
                forward = b.nodes
                continue
            adjoint = Builder(Derived("grad", (use.loc,), subject=op.name))
            seeds = _seeds(use.operands[1:], outputs)
            cotangents = [self._seed(adjoint, y, seed) for y, seed in zip(outputs, seeds, strict=True)]
            # values that earlier adjoints use stay results of their nodes, which are extended once more
            forward, gradients = forward_and_adjoint(adjoint, forward, outputs, cotangents, _wanted(op, region), self._module)
            derivatives.append(_Derivative(seeds, living(adjoint.nodes, gradients, self._module), gradients))
        for i, (use, repeated) in enumerate(uses):
            if repeated and isinstance(use.op, Pull):
                derivatives[i] = replace(derivatives[i], again=self._again(use, derivatives[i], forward))
        return region, forward, derivatives

    def _along(self, use: Node, op: Record, region: Region) -> _Derivative:
        """Return what replaces an `along!`: the nodes of the tangents.  A region with branches or loops is computed again with them."""
        if op.by:
            raise errors.NoGradient.of(
                errors.NO_DERIVATIVE, use.loc, f"the region is also recorded by @{op.by[0]}, a parameter: a tangent is of arguments only")
        seeds = [Value(param.type, f"{param.hint}'") for param in region.params]
        given = region.nodes, region.results[: op.of], dict(zip(region.params, seeds, strict=True)), self._module
        found = forward_mode.tangents_beside(*given)
        if found is None:
            drawn = {node for node in region.nodes if isinstance(node.op, Draw)}  # the copy takes the numbers that have been drawn
            once = next((node.op for node in walk(region) if node not in drawn and not self._may_repeat(node.op)), None)
            if once is not None:
                raise errors.NoGradient.of(
                    errors.NO_DERIVATIVE, use.loc, f"it would run a branch or loop again with `{once.name}`, which must run once",
                    "`jvp` computes the tangents while the function runs")
            found = forward_mode.with_tangents(*given)
        nodes, tangents = found
        return _Derivative(seeds, living(nodes, tangents, self._module), tangents)

    def _recorded_without_hooks(self, node: Node, op: Record) -> _Recorded | None:
        """Return the same as `_recorded`, None if a derivative calls hooks or adds up along the path of a run, or nodes cannot express it.

        Nor can they replace forward hooks: one may end the graph before the use of the trace, and the one in which the call goes on begins
        alike.
        """
        inlined = inlined_region(node.regions[0], self._module, self._function.symbol)
        alone = Region((), (replace(node, regions=(inlined,)),), ())
        if any(isinstance(inner.op, Apply) for inner in walk(inlined)) or not order.names_apart(alone, writes=False):
            return None
        before = dict(self._derivatives)
        try:
            recorded = self._recorded(node, op)
        except errors.NoGradient:
            recorded = None
        if recorded is not None:
            _, forward, derivatives = recorded
            if not _has_hooks([*forward, *(inner for made in derivatives for inner in made.nodes)]):
                return recorded
        self._derivatives = before
        return None

    def _derivative(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        trace, *given = node.operands
        made, *others = self._derivatives[trace]
        self._derivatives[trace] = tuple(others)
        here = dict(known)
        here.update((seed, became(atom, known)) for seed, atom in zip(made.seeds, given, strict=True))
        if made.again:
            once_more = dict(known)
            Rewriter().nodes(b, made.again, once_more)
            here.update((v, once_more[v]) for each in made.again for v in each.results if isinstance(v.type, StackType))
        (_CellsKept(self.cells) if isinstance(node.op, Along) else Rewriter()).nodes(b, made.nodes, here)
        return [became(atom, here) for atom in made.results]

    def _batch(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        inlined = inlined_region(node.regions[0], self._module, self._function.symbol)
        operands, derivatives = [became(atom, known) for atom in node.operands], dict(self._derivatives)
        if self._expands or (not any(isinstance(inner.op, Apply) for inner in walk(inlined)) and order.names_apart(inlined)):
            try:
                region = self._whole(b, inlined, known)
            except errors.NoGradient:
                if self._expands or not any(isinstance(inner.op, (OfTrace, Tangent)) for inner in walk(inlined)):
                    raise
            else:
                if self._expands or not _has_hooks(region.nodes):
                    return batched(b, region, operands, _CellsKept(self.cells))
        # Hooks in a gradient belong to the `gradient` or `pull!` node until the graph runs: it stays, in a loop over the examples.  So does
        # one whose sums must be taken along the path of each example, and a `tangent` of what has no derivative in forward mode.
        self._derivatives = derivatives
        (region,) = self.regions(b, [inlined], dict(known))
        return batched(b, region, operands, _CellsKept(self.cells), together=False)

    def _tangent(self, b: Builder, node: Node, op: Tangent, known: Known) -> Sequence[Atom]:
        region, operands = inlined_region(node.regions[0], self._module, self._function.symbol), [became(x, known) for x in node.operands]
        if not self._expands:
            # Where it stays, a run takes it along its path, as eager mode does.  A forward hook may end the graph in it; the one in which
            # the call goes on begins alike.
            (region,) = self.regions(b, [region], dict(known))
            if any(isinstance(inner.op, Apply) for inner in walk(region)) or not order.sums_alike(Function("", region)):
                return b.emit_node(op, operands, regions=[region]).results
        derivatives = dict(self._derivatives)
        found = self._with_tangents(b, op, region, known)
        if found is None:
            self._derivatives = derivatives
            return b.emit_node(op, operands, regions=[region]).results
        whole, nodes, tangents, seeds = found
        results = [*whole.results, *tangents]
        nodes = living(nodes, results, self._module)
        self._enter(b, node, whole, set(free_values(nodes, results)), known)
        known.update(zip(seeds, operands[len(seeds) :], strict=True))
        _CellsKept(self.cells).nodes(b, nodes, known)
        return [became(atom, known) for atom in results]

    def _with_tangents(self, b: Builder, op: Tangent, region: Region, known: Known,
                       ) -> tuple[Region, list[Node], list[Atom], list[Value]] | None:
        """Return a region, without gradients in it, and the nodes that compute it with its tangents, these tangents, and placeholders for
        those of its parameters.

        None where the node stays: nodes cannot express it, or a gradient in it calls hooks.
        """
        try:
            whole = self._whole(b, region, known)
            seeds = [Value(param.type, f"{param.hint}'") for param in whole.params]
            nodes, tangents = forward_mode.with_tangents(
                whole.nodes, whole.results[: op.of], dict(zip(whole.params, seeds, strict=True)), self._module)
        except errors.NoGradient:
            if self._expands:
                raise
            return None
        return None if not self._expands and _has_hooks(whole.nodes) else (whole, nodes, tangents, seeds)

    def _whole(self, b: Builder, region: Region, known: Known) -> Region:
        """Return a copy of a region in which the gradients and batches are expanded."""
        around, self._expands = self._expands, True
        try:
            (copy,) = self.regions(b, [region], dict(known))
        finally:
            self._expands = around
        return copy

    def _again(self, pull: Node, adjoint: _Derivative, forward: Sequence[Node]) -> list[Node]:
        """Return the forward nodes that must run once more before a `pull!` in a loop: its gradient pops stacks, which each round must find
        full.

        pull     the `pull!` node
        adjoint  the nodes that will replace it
        forward  the nodes of the recorded region

        CompileError if one of these nodes may not run twice, since it writes state or calls Python.
        """
        stacks = {v for v in free_values(adjoint.nodes, adjoint.results) if isinstance(v.type, StackType)}
        makers = [node for node in forward if stacks.intersection(node.results)]
        empty = {atom for node in makers for atom in node.operands if isinstance(atom.type, StackType)}
        found = [node for node in forward if node in makers or (isinstance(node.op, Stack) and node.result in empty)]
        found = living(found, [*stacks], self._module)
        for node in walk(Region((), tuple(found), ())):
            if not self._may_repeat(node.op):
                label = f"it would run a loop again that contains `{node.op.name}`, which must run once"
                raise errors.NoGradient.of(errors.PULLED_IN_LOOP, pull.loc, label)
        return found

    def _may_repeat(self, op: Op) -> bool:
        """Return True for an op that does the same if it runs once more."""
        return op.effect is Effect.PURE or isinstance(op, Check) or (isinstance(op, Read) and op.symbol not in self._written)

    def _inner(self, node: Node) -> Region:
        """Return the region of a `gradient` or `record` node after calls in it are inlined and gradients inside of it are expanded."""
        around, self._expands = self._expands, True
        try:
            return self.body(inlined_region(node.regions[0], self._module, self._function.symbol))
        finally:
            self._expands = around

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


def _has_hooks(nodes: Sequence[Node]) -> bool:
    """Return True if nodes call hooks of gradients, or ask for a gradient that calls them."""
    return any(isinstance(node.op, (GradientHost, OfTrace)) for node in walk(Region((), tuple(nodes), ())))


def _uses(trace: Value, nodes: Sequence[Node], repeated: bool = False) -> Iterator[tuple[Node, bool]]:
    """Yield the `pull!` and `along!` nodes that use a trace (what a `record` returns), in program order, each with True if it is in a loop
    among `nodes`.

    repeated  True if `nodes` are in a loop themselves
    """
    for node in nodes:
        if isinstance(node.op, OfTrace) and node.operands[0] is trace:
            yield node, repeated
        for region in node.regions:
            yield from _uses(trace, region.nodes, repeated or isinstance(node.op, (For, While, Batch)))


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
    each `along!` those that compute the tangents, a `tangent` node its region with the tangents.
    """

    name: ClassVar[str] = "differentiate"

    def on_function(self, function: Function, module: Module) -> Function:
        return expanded(function, module)
