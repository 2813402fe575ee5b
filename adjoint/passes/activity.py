"""Which values a gradient passes through (the active ones), and which callbacks are registered on them.

    active(leaf)     a leaf that the gradient is wanted of
    active(y)        y = op(.., x, ..), x active, the op does not cut gradients, y holds numbers
    active(region)   a region's result is active when what it yields is; carried values are a fixed point

Only active values receive cotangents.  A leaf is a Value, or the symbol of a parameter: all reads of a parameter are that one leaf.
Residuals of a cell that are one value inside of it are one leaf, too.  `attach!` in a branch or a loop is kept with the conditions it
stands under: its callback runs as often as it ran.  What is attached to the result of an `if` is attached to what the side taken yields,
for that is the same value.

What is attached to a carried value of a loop, or to a result of one, is attached to what the round before has yielded, or to
the initial value.  Where that has no other use its cotangent is complete there, by whatever name.  Elsewhere the rounds hand it
on: how often each `attach!` has run is counted backwards (see `sweep`), and the callbacks run where the value itself is complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Atom, Literal, Module, Node, Region, Value
from adjoint.ir.ops.control import Call, Cell, For, If, RegionOp, While
from adjoint.ir.ops.host import Attach
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import StackType, TensorType, TupleType, Type
from adjoint.passes import errors

__all__ = ["Activity", "Branched", "Firing", "Leaf", "Pending", "Repeated", "Times", "attaches_of", "differentiable"]

Leaf = Value | str


@dataclass(frozen=True, slots=True)
class Branched:
    """Callbacks attached inside an `if`: those of either side."""

    node: Node
    sides: tuple[tuple[Firing, ...], tuple[Firing, ...]]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Callbacks attached inside a loop, once a round."""

    node: Node
    firings: tuple[Firing, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """A callback attached through values that loops carry, as often as counted."""

    attach: Node
    count: Atom


Firing = Node | Branched | Repeated | Times
"""Callbacks that run when a cotangent is complete; a Node is an `attach!`."""


@dataclass(frozen=True, slots=True)
class Pending:
    """How often `attach` has registered its callback on a leaf, through a value that a loop carries.

    laps  the loops around `attach` in a later round of which it did so, counted from the first that knows the leaf
    """

    leaf: Leaf
    attach: Node
    laps: frozenset[Node] = frozenset()


def differentiable(type_: Type) -> bool:
    """Return whether values of this type can have cotangents: they hold numbers.

    Integers do: what is computed with them has integer cotangents.  Which ops let none through is said by the ops.
    """
    match type_:
        case TensorType():
            return type_.dtype.kind != "b"
        case StackType():
            return differentiable(type_.item)
        case TupleType():
            return any(differentiable(item) for item in type_.items)
        case _:
            return False


def differentiable_by_default(type_: Type) -> bool:
    """Return whether a value is differentiated, or has a cotangent given, unless something else is asked for: floating-point numbers."""
    return differentiable(type_) and not (isinstance(type_, TensorType) and type_.dtype.is_integer)


@dataclass(eq=False)
class Activity:
    """The active values of a region, found by one walk over its nodes and all regions within.

    nodes   in program order
    wanted  the leaves gradients are asked for
    module  where calls find their functions; not needed when there are none
    called  the functions whose body is being walked
    """

    nodes: Sequence[Node]
    wanted: Iterable[Leaf]
    module: Module | None = None
    called: tuple[str, ...] = ()

    active: set[Leaf] = field(default_factory=set)
    names: dict[Value, Leaf] = field(default_factory=dict)
    """Values that are another name of a leaf: reads of active parameters, and residuals of cells (see `_bind_residuals`)."""
    attached: dict[Leaf, list[Firing]] = field(default_factory=dict)
    """The callbacks of a leaf, in order of attachment."""
    handed: dict[Value, list[Firing]] = field(default_factory=dict)
    """The same for carried values and results of loops: their callbacks are passed on to the values that they are."""
    handing: set[Node] = field(default_factory=set)
    """The nodes with regions inside of which, or by whose results, callbacks are passed on."""
    _loops: dict[Node, tuple[Node, ...]] = field(default_factory=dict)
    """By `attach!` the loops around it, from the outside in."""
    _begins: dict[Node, int] = field(default_factory=dict)
    """By loop the number in order of its first `attach!`."""
    _attaches: bool = False
    _order: dict[Node, int] = field(default_factory=dict)
    """The `attach!` nodes in program order."""

    def __post_init__(self) -> None:
        self.active.update(self.wanted)
        self._walk(self.nodes)
        if self._attaches:
            for leaf, firing in self._collect(self.nodes, set()):
                self.attached.setdefault(leaf, []).append(firing)
            self._hand_in(self.nodes, [])
            if any(value in self.attached for value in _carried(self.nodes)):
                self._hand_on(self.nodes, (), _Names(self.nodes))

    def leaf(self, value: Value) -> Leaf:
        """Return the value itself; for the read of an active parameter, its symbol; for another name of a value, that value."""
        return self.names.get(value, value)

    def described(self, leaf: Leaf) -> tuple[Type, str]:
        """Return the type and the name of a leaf."""
        if isinstance(leaf, Value):
            return leaf.type, leaf.hint
        read = next(value for value, named in self.names.items() if named == leaf)
        return read.type, read.hint

    def is_active(self, atom: Atom) -> bool:
        return not isinstance(atom, Literal) and atom in self.active

    def _walk(self, nodes: Sequence[Node]) -> None:
        active = self.active
        for node in nodes:
            op = node.op
            if isinstance(op, RegionOp):
                self._walk_regions(node, op)
            elif isinstance(op, Read):
                if op.symbol in active:
                    self.names[node.result] = op.symbol
                    active.add(node.result)
            elif isinstance(op, Attach):
                self._attaches = True
            elif isinstance(op, Write):
                if op.symbol in active:
                    raise errors.NoGradient.of(errors.LEAF_WRITTEN, node.loc, f"@{op.symbol} is written here: run `lift-state` first")
            elif not op.cuts and any(x in active for x in node.operands):
                active.update(value for value in node.results if differentiable(value.type))

    def _walk_regions(self, node: Node, op: RegionOp) -> None:
        match op:
            case If():
                for region in node.regions:
                    self._walk(region.nodes)
                    self._bind(node.results, region.results)
            case For() | While():
                self._walk_loop(node, node.operands[3:] if isinstance(op, For) else node.operands)
            case Cell(rule=""):
                (region,) = node.regions
                self._bind(region.params, node.operands)
                self._walk(region.nodes)
                self._bind(node.results, region.results)
                self._bind_residuals(node.results, region.results, op.residuals)
            case Call() if self._looks_into(op.symbol):
                assert self.module is not None
                body = self.module.functions[op.symbol].body
                inside = Activity(body.nodes, self._seen_by(body, node.operands), self.module, (*self.called, op.symbol))
                for value, atom in zip(node.results, body.results, strict=True):
                    if inside.is_active(atom):
                        self.active.add(value)
            case _:
                if any(self.is_active(x) for x in node.operands):
                    self.active.update(value for value in node.results if differentiable(value.type))

    def _bind_residuals(self, values: Sequence[Value], atoms: Sequence[Atom], residuals: int) -> None:
        """Make residuals of a cell one leaf if they are the same value inside of it: one that two gradients use, or a parameter's.

        The path that eager mode differentiates has one name for each value inside of a cell that is used outside, and none but its own for
        a parameter.  Results have names of their own there, too.
        """
        first: dict[Leaf, Value] = {}
        for value, atom in zip(values[len(values) - residuals :], atoms[len(atoms) - residuals :], strict=True):
            if not isinstance(atom, Value):
                continue
            leaf = self.leaf(atom)
            named = leaf if isinstance(leaf, str) else first.setdefault(leaf, value)
            if named is not value:
                self.names[value] = named

    def _looks_into(self, symbol: str) -> bool:
        """Return whether the activity of a call is found in its function: one without a pullback of its own, not called already."""
        return self.module is not None and self.module.functions[symbol].vjp is None and symbol not in self.called

    def _seen_by(self, body: Region, arguments: Sequence[Atom]) -> list[Leaf]:
        """Return the leaves of a called function: its parameters with active arguments, and the active symbols."""
        params = [p for p, x in zip(body.params, arguments, strict=True) if self.is_active(x) and differentiable(p.type)]
        return [*params, *(leaf for leaf in self.active if isinstance(leaf, str))]

    def _walk_loop(self, node: Node, initial: Sequence[Atom]) -> None:
        body = node.regions[-1]
        carried = body.params[len(body.params) - len(initial) :]
        self._bind(carried, initial)
        while True:
            self._walk(body.nodes)
            if not self._bind(carried, body.results):
                break
        for region in node.regions[:-1]:
            self._walk(region.nodes)
        self._bind(node.results, carried)

    def _bind(self, values: Sequence[Value], atoms: Sequence[Atom]) -> bool:
        """Make each value active whose atom is active.  Return whether that changed anything."""
        found = [v for v, x in zip(values, atoms, strict=False) if self.is_active(x) and v not in self.active and differentiable(v.type)]
        self.active.update(found)
        return bool(found)

    def _collect(self, nodes: Sequence[Node], own: set[Value]) -> list[tuple[Leaf, Firing]]:
        """Register callbacks on the region's `own` values.  Return those on values from outside."""
        outer: list[tuple[Leaf, Firing]] = []
        for node in nodes:
            found: list[tuple[Leaf, Firing]] = []
            match node.op:
                case Attach():
                    (value,) = node.operands
                    self._order[node] = len(self._order)
                    if isinstance(value, Value):
                        found = [(self.leaf(value), node)]
                case If():
                    first, second = (_grouped(self._collect(r.nodes, set())) for r in node.regions)
                    found = [
                        (leaf, Branched(node, (tuple(first.get(leaf, ())), tuple(second.get(leaf, ()))))) for leaf in {**first, **second}
                    ]
                case For():
                    (body,) = node.regions
                    inside = _grouped(self._collect(body.nodes, set(body.params)))
                    found = [(leaf, Repeated(node, tuple(firings))) for leaf, firings in inside.items()]
                case While():
                    test, body = node.regions
                    if self._collect(test.nodes, set()):
                        raise errors.NoGradient.of(errors.ATTACHED_IN_TEST, node.loc, "in this loop")
                    inside = _grouped(self._collect(body.nodes, set(body.params)))
                    found = [(leaf, Repeated(node, tuple(firings))) for leaf, firings in inside.items()]
                case Cell(rule=""):
                    (body,) = node.regions
                    found = self._collect(body.nodes, set(body.params))
                case _:
                    pass
            for leaf, firing in found:
                if leaf in own:
                    self.attached.setdefault(leaf, []).append(firing)
                else:
                    outer.append((leaf, firing))
            own.update(node.results)
        return outer

    def _hand_in(self, nodes: Sequence[Node], around: list[_Around]) -> None:
        """Move callbacks on the results of `if` nodes to the values that their sides yield, from the outside in."""
        for node in reversed(nodes):
            if isinstance(node.op, If):
                for position, result in enumerate(node.results):
                    firings = self.attached.pop(result, ())
                    for side, region in enumerate(node.regions):
                        atom = region.results[position]
                        if firings and isinstance(atom, Value):
                            self._hang(self.leaf(atom), tuple(firings), [*around, _Around(node, side)])
            for side, region in enumerate(node.regions):
                self._hand_in(region.nodes, [*around, _Around(node, side)])

    def _hang(self, leaf: Leaf, firings: tuple[Firing, ...], around: list[_Around]) -> None:
        """Register `firings`, which run inside the innermost region of `around`, on a leaf of that region or of one around it."""
        for inside in reversed(around):
            if leaf in inside.own:
                break
            firings = inside.wrapped(firings)
        hanging = self.attached.setdefault(leaf, [])
        hanging += firings
        hanging.sort(key=lambda firing: self._order[_first(firing)])

    def _hand_on(self, nodes: Sequence[Node], loops: tuple[Node, ...], names: _Names) -> bool:
        """Separate the callbacks on carried values that have other names.  Return whether there are any among `nodes`."""
        found = False
        for node in nodes:
            here = False
            inside = loops
            if isinstance(node.op, (For, While)):
                inside = (*loops, node)
                for value in (*node.regions[-1].params, *node.results):
                    if value in self.attached and not names.only(value):
                        self.handed[value] = self.attached.pop(value)
                        here = True
            for region in node.regions:
                here |= self._hand_on(region.nodes, inside, names)
            if node in self._order:
                self._loops[node] = loops
                for loop in loops:
                    self._begins.setdefault(loop, self._order[node])
            if here:
                self.handing.add(node)
                found = True
        return found

    def pending(self, leaf: Leaf, attach: Node, laps: Iterable[Node]) -> Pending:
        """Return the count of an `attach!` for a leaf; `laps` may name loops that are not around it."""
        return Pending(leaf, attach, frozenset(laps).intersection(self._loops[attach]))

    def in_order(self, leaf: Leaf, counted: Sequence[tuple[Pending, Atom]]) -> list[Firing]:
        """Return all callbacks of a leaf whose cotangent is complete, in the order of attachment, given their counts."""
        own = self.attached.get(leaf, [])
        if not counted:
            return own
        keyed: list[tuple[tuple[int, ...], Firing]] = [(self._order_key(_first(firing)), firing) for firing in own]
        keyed += [(self._order_key(key.attach, key.laps), Times(key.attach, count)) for key, count in counted]
        return [firing for _, firing in sorted(keyed, key=lambda pair: pair[0])]

    def _order_key(self, attach: Node, laps: frozenset[Node] = frozenset()) -> tuple[int, ...]:
        """Return the sort key of an `attach!`: loop by loop, from the outside in, whether it is in a later round."""
        return (*(number for loop in self._loops[attach] for number in (self._begins[loop], loop in laps)), self._order[attach])


@dataclass
class _Around:
    """A region of a node, around something."""

    node: Node
    side: int

    def __post_init__(self) -> None:
        region = self.node.regions[self.side]
        self.own: set[Leaf] = {*region.params, *(value for node in region.nodes for value in node.results)}

    def wrapped(self, firings: tuple[Firing, ...]) -> tuple[Firing, ...]:
        """Return the same outside of the region."""
        match self.node.op:
            case If():
                return (Branched(self.node, (firings, ()) if self.side == 0 else ((), firings)),)
            case For() | While():
                return (Repeated(self.node, firings),)
            case _:
                return firings


class _Names:
    """The other names of values that regions yield."""

    def __init__(self, nodes: Sequence[Node]):
        self._uses: Counter[Atom] = Counter()
        self._loops: dict[Value, tuple[Node, ...]] = {}
        """By value the loops around its definition."""
        self._origins: dict[Value, list[tuple[Atom, tuple[Node, ...]]]] = {}
        """By result of an `if` or a loop, and by carried value, the atoms that it may be, with the loops around that place."""
        self._visit(nodes, ())

    def only(self, value: Value) -> bool:
        """Return whether nothing uses by another name what `value` is."""
        seen: set[Value] = set()

        def alone(atom: Atom, loops: tuple[Node, ...]) -> bool:
            if not isinstance(atom, Value) or atom in seen:
                return True
            seen.add(atom)
            here = self._uses[atom] == 1 and self._loops.get(atom, ()) == loops
            return here and all(alone(*origin) for origin in self._origins.get(atom, ()))

        return all(alone(*origin) for origin in self._origins.get(value, ()))

    def _visit(self, nodes: Sequence[Node], loops: tuple[Node, ...]) -> None:
        for node in nodes:
            inside = (*loops, node) if isinstance(node.op, (For, While)) else loops
            self._uses.update(atom for atom in node.operands if isinstance(atom, Value))
            if isinstance(node.op, Read):
                self._uses.update([node.result])  # there may be other reads
            self._loops.update((value, loops) for value in node.results)
            for region in node.regions:
                self._loops.update((value, inside) for value in region.params)
                self._uses.update(atom for atom in region.results if isinstance(atom, Value))
                self._visit(region.nodes, inside)
            if isinstance(node.op, If):
                for position, result in enumerate(node.results):
                    self._origins[result] = [(region.results[position], loops) for region in node.regions]
            elif inside is not loops:
                body = node.regions[-1]
                count = len(node.results)
                carried, initials = body.params[len(body.params) - count :], node.operands[len(node.operands) - count :]
                for param, result, initial, yielded in zip(carried, node.results, initials, body.results, strict=True):
                    self._origins[param] = self._origins[result] = [(initial, loops), (yielded, inside)]


def _carried(nodes: Iterable[Node]) -> Iterator[Value]:
    """Return the values that loops carry, and the results of loops."""
    for node in nodes:
        if isinstance(node.op, (For, While)):
            yield from (*node.regions[-1].params, *node.results)
        for region in node.regions:
            yield from _carried(region.nodes)


def attaches_of(firing: Firing) -> list[Node]:
    """Return the `attach!` nodes in it."""
    match firing:
        case Node():
            return [firing]
        case Branched():
            return [attach for side in firing.sides for inner in side for attach in attaches_of(inner)]
        case Repeated():
            return [attach for inner in firing.firings for attach in attaches_of(inner)]
        case Times():
            return [firing.attach]


def _first(firing: Firing) -> Node:
    """Return the first `attach!` in it."""
    return attaches_of(firing)[0]


def _grouped(pairs: Iterable[tuple[Leaf, Firing]]) -> dict[Leaf, list[Firing]]:
    groups: dict[Leaf, list[Firing]] = {}
    for leaf, firing in pairs:
        groups.setdefault(leaf, []).append(firing)
    return groups
