"""What a gradient is about to pass through: which values are active, and what hangs on them.

    active(leaf)     a leaf that the gradient is wanted of
    active(y)        y = op(.., x, ..), x active, the op does not cut gradients, y holds numbers
    active(region)   a region's result is active when what it yields is; carried values are a fixed point

Only active values receive cotangents.  A leaf is a Value, or the symbol of a parameter: all reads of a parameter are that
one leaf.  `attach!` in a branch or a loop is kept with the conditions it stands under: its callback runs as often as it ran.
What is attached to the result of an `if` is attached to what the side taken yields, for that is the same value.

What hangs on a carried value of a loop sees the cotangent of the carried value, which leaves out other uses of what the round
before has yielded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from adjoint.ir.core import Atom, Literal, Module, Node, Region, Value
from adjoint.ir.ops.control import Call, Cell, For, If, RegionOp, While
from adjoint.ir.ops.host import Attach
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import StackType, TensorType, TupleType, Type
from adjoint.passes import errors

__all__ = ["Activity", "Branched", "Firing", "Leaf", "Repeated", "differentiable"]

Leaf = Value | str


@dataclass(frozen=True, slots=True)
class Branched:
    """Callbacks attached inside an `if`: what runs on either side."""

    node: Node
    sides: tuple[tuple[Firing, ...], tuple[Firing, ...]]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Callbacks attached inside a loop, once a round."""

    node: Node
    firings: tuple[Firing, ...]


Firing = Node | Branched | Repeated
"""What runs when a cotangent is complete; a Node is an `attach!`."""


def differentiable(type_: Type) -> bool:
    """Whether values of this type can have cotangents: they hold numbers.

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
    """Whether a value is differentiated, or has a cotangent given, unless something else is asked for: floating-point numbers."""
    return differentiable(type_) and not (isinstance(type_, TensorType) and type_.dtype.is_integer)


@dataclass(eq=False)
class Activity:
    """Found by one walk over the nodes of a region and all regions within.

    nodes   in program order
    wanted  the leaves gradients are asked for
    module  where calls find their functions; not needed when there are none
    called  the functions whose body is being looked into
    """

    nodes: Sequence[Node]
    wanted: Iterable[Leaf]
    module: Module | None = None
    called: tuple[str, ...] = ()

    active: set[Leaf] = field(default_factory=set)
    reads: dict[Value, str] = field(default_factory=dict)
    """The reads of active parameters: value to symbol."""
    attached: dict[Leaf, list[Firing]] = field(default_factory=dict)
    """What hangs on a leaf, in order of attachment."""
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

    def leaf(self, value: Value) -> Leaf:
        """The value itself; for the read of an active parameter, the parameter's symbol."""
        return self.reads.get(value, value)

    def described(self, leaf: Leaf) -> tuple[Type, str]:
        """Type and name of a leaf."""
        if isinstance(leaf, Value):
            return leaf.type, leaf.hint
        read = next(value for value, symbol in self.reads.items() if symbol == leaf)
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
                    self.reads[node.result] = op.symbol
                    active.add(node.result)
            elif isinstance(op, Attach):
                self._attaches = True
            elif isinstance(op, Write):
                if op.symbol in active:
                    raise errors.NoGradient.of(errors.LEAF_WRITTEN, node.loc, f"@{op.symbol}: lift-state comes first")
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

    def _looks_into(self, symbol: str) -> bool:
        """Whether the activity of a call is found in its function: one without a pullback of its own, not called already."""
        return self.module is not None and self.module.functions[symbol].vjp is None and symbol not in self.called

    def _seen_by(self, body: Region, arguments: Sequence[Atom]) -> list[Leaf]:
        """The leaves of a called function: its parameters with active arguments, and the active symbols."""
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
        """Make each value active whose atom is; whether that changed anything."""
        found = [v for v, x in zip(values, atoms, strict=False) if self.is_active(x) and v not in self.active and differentiable(v.type)]
        self.active.update(found)
        return bool(found)

    def _collect(self, nodes: Sequence[Node], own: set[Value]) -> list[tuple[Leaf, Firing]]:
        """Hang what is attached to the region's `own` values, and return what is attached to values from outside."""
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
        """Move what hangs on the results of `if` nodes to what their sides yield, from the outside in."""
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
        """Hang `firings`, which run inside the innermost region of `around`, on a leaf of that region or of one around it."""
        for inside in reversed(around):
            if leaf in inside.own:
                break
            firings = inside.wrapped(firings)
        hanging = self.attached.setdefault(leaf, [])
        hanging += firings
        hanging.sort(key=lambda firing: self._order[_first(firing)])


@dataclass
class _Around:
    """A region of a node: the place something is inside of."""

    node: Node
    side: int

    def __post_init__(self) -> None:
        region = self.node.regions[self.side]
        self.own: set[Leaf] = {*region.params, *(value for node in region.nodes for value in node.results)}

    def wrapped(self, firings: tuple[Firing, ...]) -> tuple[Firing, ...]:
        """The same outside of the region."""
        match self.node.op:
            case If():
                return (Branched(self.node, (firings, ()) if self.side == 0 else ((), firings)),)
            case For() | While():
                return (Repeated(self.node, firings),)
            case _:
                return firings


def _first(firing: Firing) -> Node:
    """The first `attach!` in it."""
    while not isinstance(firing, Node):
        firing = (firing.sides[0] or firing.sides[1] if isinstance(firing, Branched) else firing.firings)[0]
    return firing


def _grouped(pairs: Iterable[tuple[Leaf, Firing]]) -> dict[Leaf, list[Firing]]:
    groups: dict[Leaf, list[Firing]] = {}
    for leaf, firing in pairs:
        groups.setdefault(leaf, []).append(firing)
    return groups
