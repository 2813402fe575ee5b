"""Batches: nodes that compute all examples at once, in the place of a region for each example.

    y = batch carry (x = xs) { R; yield u }        [x := xs] R, in which each node that depends on x has one more axis
                                                   y := u, repeated for each example if it does not depend on x

A value is *mapped* if it depends on the example.  What is not mapped is computed once.  What is mapped, by kind of node:

    an op with a rule (`Op.batch`)       nodes that its rule emits, with the examples along the first axis
    if, for, while, with a condition     the same node, with regions for all examples
    or bounds that are not mapped
    a cell without hooks                 the same
    if, with a mapped condition          both sides, each only if an example takes it, and a choice for each example
    while, with a mapped condition       rounds until the last example is done; those that are done keep their values
    the same, with hooks on gradients    a loop over the examples: only those that get there call the hooks
    an op that only watches              the op, of all examples together; it and the write of its result are in no loop
    anything else                        a loop over the examples that runs the node itself:

        z = op(x)                        z = for i in range(0, n, 1) carry (z = zeros) { z_i = op(x[i]); yield set_row(z, i, z_i) }

A region that attaches a callback to a value, writes a parameter, uses stacks or calls forward hooks is such a loop as a whole.  A forward
hook may end the graph; the one in which the call goes on begins with the same nodes.

Hooks are called once for each example, with the tensors of that example.  Random numbers are drawn once for all, also where a loop runs the
examples; there none may be drawn in a branch or a loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value, free_of, free_values, tensor_type, walk
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.batching import repeated
from adjoint.ir.ops.check import Check
from adjoint.ir.ops.control import Cell, Differentiated, For, If, While
from adjoint.ir.ops.conversion import StraightThrough
from adjoint.ir.ops.counted import CountedOp
from adjoint.ir.ops.host import Apply, Attach, Hook, Outputs
from adjoint.ir.ops.random import Draw
from adjoint.ir.ops.stack import Undef
from adjoint.ir.ops.state import Write
from adjoint.ir.ops.tuples import Group, Item
from adjoint.ir.types import BOOL, I32, I64, Dim, StackType, TensorType, Type, scalar, tensor
from adjoint.passes import errors
from adjoint.passes.first_rounds import first_round_before, gives_names
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["batched", "depending"]


def batched(b: Builder, region: Region, operands: Sequence[Atom], copier: Rewriter, together: bool = True) -> list[Atom]:
    """Append the nodes that compute a region for each example, and return the results, with the examples along their first axis.

    region    its parameters are one example; it calls no functions, and takes no gradients unless it runs as a whole
    operands  the examples, one operand for each parameter
    copier    copies nodes that are not changed; it puts what is known in the place of nodes that draw random numbers
    together  False to run the region as a whole for one example after the other

    CompileError if the size of a value depends on the example, or a parameter is written that does.
    """
    size = tensor_type(operands[0]).shape[0]
    # The loop over the examples takes slices of the operands, also where the examples are computed at once: for their gradients.
    examples: Known = {param: b.examples(x, hint=param.hint) if tensor_type(x).dtype.is_inexact else x
                       for param, x in zip(region.params, operands, strict=True)}
    inner = b.inner()
    watched = _watched(region)
    batch = _Batch(size, examples, copier, watched)
    try:
        if not together or any(
                isinstance(node.op, Apply) or any(isinstance(value.type, StackType) for value in node.results) for node in walk(region)):
            raise _Repeated
        batch.nodes(inner, region.nodes)
        results = [batch.result(inner, atom) for atom in region.results]
    except _Repeated:
        inner = b.inner()
        results = _Batch(size, examples, copier, watched).loop(inner, region.nodes, region.results)
    b.nodes += inner.nodes
    return results


def depending(region: Region) -> set[Value]:
    """Return the values of a region, and of regions inside of it, that may depend on its parameters."""
    found = set(region.params)

    def visit(inner: Region) -> None:
        for node in inner.nodes:
            for each in node.regions:
                carried = node.operands[len(node.operands) - len(each.params) :] if each.params else ()
                found.update(param for param, atom in zip(each.params, carried, strict=False) if atom in found)
                visit(each)
            atoms = (*node.operands, *(atom for each in node.regions for atom in (*each.results, *free_of(each))))
            if any(atom in found for atom in atoms):
                found.update(node.results)

    visit(region)
    return found


class _Repeated(Exception):
    """Raised if a region must run as a whole for one example after the other."""


class _Batch:
    """Computes nodes for all examples.

    size    the number of examples
    examples  for each value of one example, that of all
    copier    copies nodes that are not changed
    watched   what the ops of the region that watch have computed
    """

    def __init__(self, size: Dim, examples: Known, copier: Rewriter, watched: Collection[Value]):
        self._size, self._copier, self._watched = size, copier, watched
        self._known: Known = dict(examples)
        """For each value of the region that was computed: what it has become.  Values from outside stay."""
        self._mapped: set[Value] = set(examples)
        """The values of the region that depend on the example."""
        self._others: set[Node] = set()
        """Loops of which the first round is before them."""
        self._undefined: set[Atom] = set()
        """The results of `undef`, which nothing uses."""
        self._guards: dict[Value, tuple[Atom, Sequence[tuple[Atom, Atom]]]] = {}
        """For each value from outside of a masked region, while its nodes are computed: what it has become outside, and for each such
        region around the nodes, outermost first, which examples run it, and the value of one of them.  Each use has a choice of its own,
        see `_guarded`."""

    def nodes(self, b: Builder, nodes: Sequence[Node]) -> None:
        around = b.loc
        for node in nodes:
            b.loc = node.loc
            guarded = {atom: self._known[atom] for atom in node.operands if isinstance(atom, Value) and atom in self._guards}
            if guarded:
                node = self._with_guards(b, node)
            self._node(b, node)
            self._known.update(guarded)
        b.loc = around

    def for_all(self, b: Builder, atom: Atom) -> Atom:
        """Return the atom of all examples that an atom of one example has become."""
        new = became(atom, self._known)
        return new if self._is_mapped(atom) else repeated(b, new, self._size)

    def result(self, b: Builder, atom: Atom) -> Atom:
        """Return the result of the batched region for a result of the region for one example."""
        return self._guarded(b, atom) if isinstance(atom, Value) and atom in self._guards else self.for_all(b, atom)

    def _with_guards(self, b: Builder, node: Node) -> Node:
        """Append the choices for the operands of a node.  If it uses a value twice, each use has another operand in a copy."""
        operands: list[Atom] = []
        for atom in node.operands:
            if isinstance(atom, Value) and atom in self._guards:
                found, use = self._guarded(b, atom), atom
                if atom in operands:
                    use = Value(atom.type, atom.hint)
                self._note(use, found, mapped=True)
                operands.append(use)
            else:
                operands.append(atom)
        return replace(node, operands=tuple(operands))

    def _guarded(self, b: Builder, value: Value) -> Atom:
        """Append the choice between a value from outside of masked regions, for examples that run these, and that of one which does.

        There is one for each use, so that the cotangent of each is added to that of the value itself, in the order of the uses, as in
        the loop over the examples: one choice for all uses would be another name, with a sum of its own.
        """
        found, guards = self._guards[value]
        for going, other in guards:
            found = _where(b, going, found, other)
        return found

    def _is_mapped(self, atom: Atom) -> bool:
        return isinstance(atom, Value) and atom in self._mapped

    def _became(self, node: Node, results: Sequence[Atom], mapped: bool | Sequence[bool]) -> None:
        """Note what the results of a node have become, and which of them depend on the example."""
        flags = [mapped] * len(results) if isinstance(mapped, bool) else mapped
        for old in node.results:
            self._guards.pop(old, None)
        for old, new, depends in zip(node.results, results, flags, strict=True):
            self._note(old, new, depends)
            if isinstance(new, Value):
                new.hint = old.hint

    def _note(self, old: Value, new: Atom, mapped: bool) -> None:
        self._known[old] = new
        (self._mapped.add if mapped else self._mapped.discard)(old)

    def _node(self, b: Builder, node: Node) -> None:
        op = node.op
        flags = [self._is_mapped(atom) for atom in node.operands]
        inside = {inner.op.effect for region in node.regions for inner in walk(region)
                  if not isinstance(inner.op, (Check, Draw)) and not self._shows(inner)}
        if (isinstance(op, (Attach, Write)) and not self._shows(node)) or Effect.WRITES in inside:
            self._check_write(node, flags)
            raise _Repeated
        calls = (op.effect is Effect.HOST and not isinstance(op, (Check, Draw))) or Effect.HOST in inside
        if isinstance(op, Undef) and isinstance(node.result.type, TensorType):
            self._undefined.add(node.result)
            type_ = node.result.type  # zeros, since a masked region reads what it is given, though nothing uses it
            self._became(node, [b.zeros(type_.with_shape((self._size, *type_.shape)))], mapped=True)
            return
        if not any(flags) and not any(self._is_mapped(x) for region in node.regions for x in free_of(region)) and not calls:
            self._became(node, self._copier.copy(b, node, self._known), mapped=False)
            return
        match op:
            case If() if not calls and not (flags[0] and _is_heard(node)):
                self._masked_choice(b, node) if flags[0] and _of_tensors(node) else self._choice(b, node)
            case For() if not any(flags[:3]) and not calls:
                self._loop(b, node, node.operands[:3], node.operands[3:])
            case While() if not calls:
                self._loop(b, node, (), node.operands)
            case Cell(symbol="", rule="") if not calls:
                self._cell(b, node)
            case Op(watches=True):
                self._became(node, [b.emit(op, *(became(atom, self._known) for atom in node.operands))], mapped=False)
            case Group():
                self._became(node, [b.emit(op, *(self.for_all(b, atom) for atom in node.operands))], mapped=True)
            case Item():
                self._became(node, [b.emit(op, became(node.operands[0], self._known))], mapped=True)
            case _:
                operands = [became(atom, self._known) for atom in node.operands]
                results = None if node.regions else op.batch(b, node, operands, flags, self._size)
                if results is None:
                    results = self.loop(b, [node], node.results)
                self._became(node, results, mapped=True)

    def _shows(self, node: Node) -> bool:
        """Return True if a node writes what an op that watches has computed."""
        return isinstance(node.op, Write) and node.operands[0] in self._watched

    def _check_write(self, node: Node, flags: Sequence[bool]) -> None:
        if isinstance(node.op, Write) and any(flags) and not self._shows(node):
            raise errors.WRITTEN_IN_BATCH.at(node.loc, f"`@{node.op.symbol}` is written, and the value depends on the example")

    # -- a loop over the examples ------------------------------------------------------------------------------------------
    def loop(self, b: Builder, nodes: Sequence[Node], results: Sequence[Atom]) -> list[Atom]:
        """Append a loop over the examples that runs nodes for one after the other; return what it computes for all of them.

        results  atoms that the nodes compute, or that come from before
        """
        mapped = [value for value in free_values(nodes, results) if value in self._mapped]
        depends = depending(Region(tuple(mapped), tuple(nodes), ()))
        for node in walk(Region((), tuple(nodes), ())):
            if isinstance(node.op, CountedOp) and node.op.size:
                raise errors.RAGGED_BATCH.at(node.loc, f"the size of what `{node.op.name}` gives depends on the example")
            self._check_write(node, [atom in depends for atom in node.operands])
        index = Value(scalar(I64), "i")
        types = [_tensor(atom.type) for atom in results]
        totals = [type_.with_shape((self._size, *type_.shape)) for type_ in types]
        rows = [Value(type_, getattr(atom, "hint", "y")) for type_, atom in zip(totals, results, strict=True)]
        inner = b.inner()
        here = dict(self._known)
        drawing = list(_drawing(nodes))
        for node in walk(Region((), tuple(nodes), ())):
            if isinstance(node.op, Draw) and node not in drawing:
                raise errors.DRAWN_IN_BATCH.at(node.loc, "each example would draw other numbers here")
        for node in drawing:
            here[node.result] = b.emit_node(node.op, ()).result
        whole = {value: self._guarded(b, value) if value in self._guards and self._known[value] is self._guards[value][0]
                 else self._known[value] for value in mapped}
        here.update((value, inner.gather(whole[value], index, axis=0, hint=value.hint)) for value in mapped)
        self._copier.nodes(inner, nodes, here)
        yields = [inner.set_row(row, index, became(atom, here)) for row, atom in zip(rows, results, strict=True)]
        bounds = [_number(0), self._count(b), _number(1)]
        made = b.emit_node(For(), [*bounds, *(b.zeros(type_) for type_ in totals)], regions=[inner.finish(yields, [index, *rows])])
        return list(made.results)

    def _count(self, b: Builder) -> Atom:
        """Return the number of examples as a number of the program."""
        if isinstance(self._size, int):
            return _number(self._size)
        return b.sum(b.broadcast(_number(1), to=tensor(I64, (self._size,))), axes=(0,))

    # -- regions whose course does not depend on the example -----------------------------------------------------------------
    def _choice(self, b: Builder, node: Node) -> None:
        sides = [self._region(b, region) for region in node.regions]
        mapped = [any(flags) for flags in zip(*(self._flags(region) for region in node.regions), strict=True)]
        regions = [self._finished(inner, region, (), mapped) for inner, region in zip(sides, node.regions, strict=True)]
        self._became(node, b.emit_node(node.op, [became(node.operands[0], self._known)], regions=regions).results, mapped)

    def _cell(self, b: Builder, node: Node) -> None:
        (region,) = node.regions
        mapped = [self._is_mapped(atom) for atom in node.operands]
        operands, params = self._carried(b, node.operands, region.params, mapped)
        inner = self._region(b, region)
        found = self._flags(region)
        made = b.emit_node(node.op, operands, regions=[self._finished(inner, region, params, found)])
        self._became(node, made.results, found)

    def _loop(self, b: Builder, node: Node, bounds: Sequence[Atom], initial: Sequence[Atom]) -> None:
        """Append a `for` or `while` that all examples go through together; one whose test depends on the example is run for each."""
        body = node.regions[-1]
        own = len(bounds) and 1  # the index of a `for` is the same for all examples
        mapped = [self._is_mapped(atom) for atom in initial]
        while True:  # what a round yields may depend on the example where the initial value does not
            before = b.inner()
            operands, params = self._carried(before, initial, body.params[own:], mapped)
            index = [Value(scalar(I64), body.params[0].hint)] if own else []
            for old, new in zip(body.params, index, strict=False):
                self._note(old, new, mapped=False)
            inner = [self._region(b, region) for region in node.regions]
            found = [a or other for a, other in zip(mapped, self._flags(body), strict=True)]
            if found == mapped:
                break
            mapped = found
        b.nodes += before.nodes
        if not own and any(self._flags(node.regions[0])):
            if _of_tensors(node) and not _is_heard(node):
                self._masked_loop_or_choice(b, node)
            else:
                self._became(node, self.loop(b, [node], node.results), mapped=True)
            return
        regions = [self._finished(each, region, [*index, *params], mapped if region is body else [False])
                   for each, region in zip(inner, node.regions, strict=True)]
        given = [became(atom, self._known) for atom in bounds]
        self._became(node, b.emit_node(node.op, [*given, *operands], regions=regions).results, mapped)

    # -- regions whose course depends on the example ---------------------------------------------------------------------------
    def _masked_choice(self, b: Builder, node: Node) -> None:
        """Append an `if` for each side, which is run if an example takes it, and choose for each example.

        On a side, an example that does not take it has the operands of one that does: so nothing fails and no NaN arises because of it.
        """
        condition = became(node.operands[0], self._known)
        chosen: list[Sequence[Atom]] = []
        for region, taken in zip(node.regions, (condition, b.logical_not(condition)), strict=True):
            inner, other = b.inner(), b.inner()
            found = self._for_those(inner, region, taken, [])
            nothing = [other.zeros(tensor_type(atom)) for atom in found]
            made = b.emit_node(If(), [b.any(taken, axes=(0,))], regions=[inner.finish(found), other.finish(nothing)])
            outside = free_of(region)
            chosen.append([
                self.result(b, atom) if isinstance(atom, Value) and atom in outside and self._is_mapped(atom) and _is_inexact(atom) else x
                for atom, x in zip(region.results, made.results, strict=True)])
        sides = list(zip(*chosen, *(region.results for region in node.regions), strict=True))
        self._became(node, [y if one in self._undefined else x if other in self._undefined else _where(b, condition, x, y)
                            for x, y, one, other in sides], mapped=True)
        # Where a side gives a value from outside, each use of the result has a choice of its own, as in `_guarded`.
        inside = [{value for each in region.nodes for value in each.results} for region in node.regions]
        for result, (x, y, one, other) in zip(node.results, sides, strict=True):
            if _is_inexact(result) and not self._undefined.intersection((one, other)) and not (one in inside[0] and other in inside[1]):
                self._guards[result] = x, ((condition, y),)

    def _masked_loop_or_choice(self, b: Builder, node: Node) -> None:
        """Append a loop of which each example runs rounds of its own; with the first round before it, see `first_rounds`, if that is needed
        for each example's gradient to be summed as its own.
        """
        if node not in self._others and gives_names(node):
            before = b.inner()
            made = first_round_before(before, node, {}, self._copier)
            if made is not None:
                choice = replace(before.nodes[-1], results=node.results)
                self._others.update(inner for inner in choice.regions[0].nodes if isinstance(inner.op, While))
                self.nodes(b, [*before.nodes[:-1], choice])
                return
        self._masked_loop(b, node)

    def _masked_loop(self, b: Builder, node: Node) -> None:
        """Append a `while` that runs until the last example is done.  An example that is done keeps its values, and has the operands of one
        that is not in what is computed.
        """
        test, body = node.regions
        operands, params = self._carried(b, node.operands, body.params, [True] * len(node.operands))
        going = Value(tensor(BOOL, (self._size,)), "going")
        first = self._tested(b, test, operands)
        inner, tested = b.inner(), b.inner()
        found = self._for_those(inner, body, going, params)
        kept = [_where(inner, going, x, param) for x, param in zip(found, params, strict=True)]
        again = self._tested(inner, test, kept)
        regions = [tested.finish([tested.any(going, axes=(0,))], [*params, going]), inner.finish([*kept, again], [*params, going])]
        made = b.emit_node(While(), [*operands, first], regions=regions)
        self._became(node, made.results[:-1], mapped=True)

    def _tested(self, b: Builder, test: Region, carried: Sequence[Atom]) -> Atom:
        """Append the test of a loop for all examples, on the values that they carry."""
        for param, atom in zip(test.params, carried, strict=True):
            self._note(param, atom, mapped=True)
        self.nodes(b, test.nodes)
        return self.for_all(b, test.results[0])

    def _for_those(self, b: Builder, region: Region, going: Atom, params: Sequence[Value]) -> list[Atom]:
        """Append the nodes of a region for the examples of which `going` is true; return what it yields, for all examples.

        params  the parameters of the copy, if it is the body of a loop, which hold the values of all examples
        """
        place = b.arg_max(b.cast(going, to=I32), axis=0, to=I64)

        def one(x: Atom) -> Atom:
            return b.stop_gradient(b.gather(x, place, axis=0))

        for value, atom in zip(region.params, params, strict=True):
            self._note(value, _where(b, going, atom, one(atom)), mapped=True)
        around, self._guards = self._guards, dict(self._guards)
        outer = {value: self._known[value] for value in free_of(region) if value in self._mapped}
        for value, atom in outer.items():
            if tensor_type(atom).dtype.is_inexact:
                outside, guards = around.get(value, (atom, ()))
                inside = self._guarded(b, value) if guards else atom
                self._guards[value] = outside, (*guards, (going, one(inside)))
            else:
                self._note(value, _where(b, going, atom, one(atom)), mapped=True)
        self.nodes(b, region.nodes)
        found = [self.result(b, atom) for atom in region.results]
        self._guards = around
        for value, atom in outer.items():
            self._note(value, atom, mapped=True)
        return found

    def _carried(
        self, b: Builder, operands: Sequence[Atom], params: Sequence[Value], mapped: Sequence[bool]
    ) -> tuple[list[Atom], list[Value]]:
        """Return the operands of a node and the parameters of its region, those that are mapped for all examples."""
        given = [self.for_all(b, atom) if depends else became(atom, self._known) for atom, depends in zip(operands, mapped, strict=True)]
        made = [Value(atom.type, param.hint) for atom, param in zip(given, params, strict=True)]
        for old, new, depends in zip(params, made, mapped, strict=True):
            self._note(old, new, depends)
        return given, made

    def _region(self, b: Builder, region: Region) -> Builder:
        """Compute the nodes of a region, whose parameters are known, for all examples."""
        inner = b.inner()
        self.nodes(inner, region.nodes)
        return inner

    def _flags(self, region: Region) -> list[bool]:
        """Return for each value that a region yields whether it depends on the example."""
        return [self._is_mapped(atom) for atom in region.results]

    def _finished(self, inner: Builder, region: Region, params: Sequence[Value], mapped: Sequence[bool]) -> Region:
        results = [self.result(inner, atom) if depends else became(atom, self._known)
                   for atom, depends in zip(region.results, mapped, strict=True)]
        return inner.finish(results, params, region.loc)


def _drawing(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes that draw random numbers, also those in cells, but not those in branches and loops."""
    for node in nodes:
        if isinstance(node.op, Draw):
            yield node
        elif isinstance(node.op, (Cell, Differentiated)):
            yield from _drawing(node.regions[0].nodes)


def _watched(region: Region) -> set[Value]:
    """Return the results of the ops that watch, and those of the `straight_through` between such an op and a write of its result."""
    found = set[Value]()
    for node in walk(region):
        if node.op.watches or (isinstance(node.op, StraightThrough) and node.operands[1] in found):
            found.update(node.results)
    return found


def _of_tensors(node: Node) -> bool:
    """Return True if a node takes and gives tensors, and its regions use no others from outside."""
    values = (*node.operands, *node.results, *(value for region in node.regions for value in free_of(region)))
    return all(isinstance(value.type, TensorType) for value in values)


def _is_inexact(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype.is_inexact


def _is_heard(node: Node) -> bool:
    """Return True if callbacks hear gradients of values inside of a node: they may hear none of examples that do not get there."""
    inside = [inner.op for region in node.regions for inner in walk(region)]
    return any(isinstance(op, (Hook, Outputs)) or (isinstance(op, Cell) and bool(op.symbol or op.rule)) for op in inside)


def _where(b: Builder, condition: Atom, x: Atom, y: Atom) -> Atom:
    """Return `x` for the examples of which the condition is true, `y` for the others; `y` may be one value for all."""
    type_ = tensor_type(x)
    mask = b.reshape(condition, to=tensor(BOOL, (type_.shape[0], *(1,) * (type_.rank - 1))))
    return b.select(mask, x, y)


def _number(value: int) -> Literal:
    return Literal(value, scalar(I64))


def _tensor(type_: Type) -> TensorType:
    if not isinstance(type_, TensorType):
        raise _Repeated
    return type_
