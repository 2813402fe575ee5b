"""The values that a gradient passes through (the *active* ones), and the callbacks that are registered on them.

    active(leaf)     the gradient with respect to this leaf is wanted
    active(y)        y = op(.., x, ..), x is active, the op lets gradients through, and y holds numbers
    active(region)   the result of a region is active if the yielded value is; carried values are a fixed point

Only active values receive cotangents (gradients).  A leaf is a Value, or the symbol of a parameter: all reads of a parameter are one leaf.
Residuals of a cell that are the same value inside of it are one leaf, too.

A callback is a hook that `attach!` registers on a value; it runs when the cotangent of the value is complete.  An `attach!` in a branch or
a loop is kept together with the conditions around it, so that its callback runs as often as the `attach!` did.  A callback on the result of
an `if` is moved to the value that the taken side yields, since both are the same value.

A callback on a carried value or on a result of a loop belongs to the value that the round before has yielded, or to the initial value.  If
that value has no other use, its cotangent is complete in this place.  Otherwise the rounds pass the callback on: the reverse pass counts
how often each `attach!` has run (see `sweep`), and the callbacks run where the cotangent of the value itself is complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Atom, Literal, Module, Node, Region, Value
from adjoint.ir.ops.control import Call, Cell, For, If, RegionOp, While
from adjoint.ir.ops.host import Attach, Pack
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import StackType, TensorType, TupleType, Type
from adjoint.passes import errors

__all__ = ["Activity", "Branched", "Firing", "Leaf", "Pending", "Repeated", "Times", "attaches_of", "differentiable"]

Leaf = Value | str


@dataclass(frozen=True, slots=True)
class Branched:
    """Callbacks (hooks on values) that are attached inside of an `if` node.  When the program runs, one side of the `if` is taken, and only
    its callbacks run.

    node   the `if` node
    sides  for each of its two sides, the callbacks attached there
    """

    node: Node
    sides: tuple[tuple[Firing, ...], tuple[Firing, ...]]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Callbacks (hooks on values) that are attached inside of a loop: each runs once for every round of the loop.

    node     the loop, a `for` or `while` node
    firings  the callbacks attached in its body
    """

    node: Node
    firings: tuple[Firing, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """One callback (a hook on a value) that runs several times on one cotangent (gradient), since a loop passed it on from round to round.

    attach  the `attach!` node that registers it
    count   how often it runs: a number that the reverse pass computes
    """

    attach: Node
    count: Atom


Firing = Node | Branched | Repeated | Times
"""Callbacks (hooks on values) that run when a cotangent is complete: one `attach!` node, or those of an `if`, of a loop, or with a count.
"""


@dataclass(frozen=True, slots=True)
class Pending:
    """The key under which the reverse pass counts how often a callback (a hook on a value) must run on a leaf (a value or a parameter).

    The callback was attached to a value that a loop carries.  In some rounds this value is the leaf under another name.  Which rounds these
    are may be known only when the program runs, so it counts them.

    leaf    the value or parameter on whose cotangent (gradient) the callback is to run
    attach  the `attach!` node that registers the callback
    laps    the loops around the `attach!` that were past their first round when it ran.  Runs with other `laps` are counted apart, since
        callbacks are called in the order in which they were attached
    """

    leaf: Leaf
    attach: Node
    laps: frozenset[Node] = frozenset()


def differentiable(type_: Type) -> bool:
    """Return True if values of this type can have cotangents (gradients): if they hold numbers, not bools.

    Integers can: values computed from them have integer cotangents.  Each op tells whether it lets gradients through (`cuts`).
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
    """Return True if a gradient is taken by values of this type unless the caller asks for others: if they hold floating-point numbers."""
    return differentiable(type_) and not (isinstance(type_, TensorType) and type_.dtype.is_integer)


@dataclass(eq=False)
class Activity:
    """Finds the active values of some nodes, those through which a gradient passes, by one walk over the nodes and all regions inside.

    nodes     the nodes in program order
    wanted    the leaves (values, or symbols of parameters) whose gradients are wanted
    module    the module with the functions of calls; None if there are no calls
    called    the symbols of the functions that are being walked
    active    the active values, and symbols of parameters
    """

    nodes: Sequence[Node]
    wanted: Iterable[Leaf]
    module: Module | None = None
    called: tuple[str, ...] = ()

    active: set[Leaf] = field(default_factory=set)
    names: dict[Value, Leaf] = field(default_factory=dict)
    """For each value that only renames a leaf (a read of an active parameter, a repeated residual of a cell, see `_bind_residuals`): that
    leaf.
    """
    through: dict[Value, str] = field(default_factory=dict)
    """For each read of a parameter that was written with an active value: its symbol. A gradient that comes to it would go on through the
    parameter, which the reverse pass over nodes cannot follow.
    """
    attached: dict[Leaf, list[Firing]] = field(default_factory=dict)
    """For each leaf (a value or a parameter): the callbacks (hooks) on its gradient, in the order in which they were attached."""
    packed: dict[Value, Node] = field(default_factory=dict)
    """For a result of each op whose gradient reads tensors that a hook has packed: the `pack!` node."""
    handed: dict[Value, list[Firing]] = field(default_factory=dict)
    """For each value that a loop carries or returns: its callbacks, which loops pass on to the value that it was computed as (see the
    module).
    """
    handing: set[Node] = field(default_factory=set)
    """The nodes whose reverse pass must count callbacks: loops that pass some on, and the nodes around these loops."""
    _loops: dict[Node, tuple[Node, ...]] = field(default_factory=dict)
    """For each `attach!`: the loops around it, from the outermost to the innermost."""
    _begins: dict[Node, int] = field(default_factory=dict)
    """For each loop with an `attach!` inside: the position in program order of the first one."""
    _attaches: bool = False
    _written: set[str] = field(default_factory=set)
    """The symbols of the parameters that were written with an active value."""
    _order: dict[Node, int] = field(default_factory=dict)
    """For each `attach!` node: its position in program order."""

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
        """Return the leaf (value or parameter) that a value stands for: the key under which its cotangents (gradients) are summed.

        That is the symbol for a read of an active parameter, the first name for a value with several names, else the value itself.
        """
        return self.names.get(value, value)

    def described(self, leaf: Leaf) -> tuple[Type, str]:
        """Return the type of a leaf (a value or the symbol of a parameter) and a name from the source, for naming its cotangent (gradient).
        """
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
                elif op.symbol in self._written:
                    self.through[node.result] = op.symbol
                    active.add(node.result)
            elif isinstance(op, Attach):
                self._attaches = True
            elif isinstance(op, Pack):
                self.packed[node.operands[0]] = node  # pyright: ignore[reportArgumentType] - a result is no literal
            elif isinstance(op, Write):
                if op.symbol in active:
                    raise errors.NoGradient.of(errors.LEAF_WRITTEN, node.loc, f"@{op.symbol} is written here: run `lift-state` first")
                if self.is_active(node.operands[0]):
                    self._written.add(op.symbol)
            else:
                active.update(self.passed_on(node, active))

    @staticmethod
    def passed_on(node: Node, active: Container[Any]) -> list[Value]:
        """Return the results of a node without regions through which a gradient passes, given the values through which one passes."""
        if node.ends_gradients or not any(x in active for x in node.operands):
            return []
        return [value for value in node.results if differentiable(value.type)]

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
        """Let residuals of a cell (values inside of it that gradients use) count as one leaf (value or parameter) if they are the same
        value inside of the cell.

        Eager mode does the same: outside of the cell there is one tensor object for each value inside, and a parameter is always itself.
        Results of the cell are tensor objects of their own.

        values     the results of the cell; the last ones are its residuals
        atoms      for each of them, the value inside
        residuals  how many of them are residuals
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
        """Return True if a call is walked like the body of the function: the function has no pullback of its own, and does not call itself.
        """
        return self.module is not None and self.module.functions[symbol].vjp is None and symbol not in self.called

    def _seen_by(self, body: Region, arguments: Sequence[Atom]) -> list[Leaf]:
        """Return the leaves (values or symbols of parameters) by which the body of a called function is to be walked: the function's own
        parameters whose arguments are active, and the symbols of all active module parameters.

        body       the function's body
        arguments  the operands of the call, one for each parameter
        """
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
        """Mark `values[i]` as active (a gradient passes through it) if `atoms[i]` is.  Return True if this marked any that was not active
        before.
        """
        found = [v for v, x in zip(values, atoms, strict=False) if self.is_active(x) and v not in self.active and differentiable(v.type)]
        self.active.update(found)
        return bool(found)

    def _collect(self, nodes: Sequence[Node], own: set[Value]) -> list[tuple[Leaf, Firing]]:
        """Register in `attached` the callbacks (hooks) of the `attach!` nodes among these nodes and in their regions.

        own  the values that the region of these nodes has defined so far, such as its parameters; results of the nodes are added

        Return the callbacks on values that are defined outside of the region, each as a pair with its leaf (value or parameter), for the
        caller to register.
        """
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
        """Move callbacks (hooks) on the results of each `if` to the values that its two sides yield for them; outer `if` nodes first.

        nodes   the nodes of a region; those in regions inside are handled, too
        around  the regions around these nodes, from the outermost to the innermost
        """
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
        """Register callbacks (hooks) on a leaf (value or parameter) that a region yields, wrapped in a `Branched` or `Repeated` for each
        region between the callbacks and the leaf's definition.

        firings  the callbacks, which are to run in the innermost region
        around   the regions around it, from the outermost to the innermost
        """
        for inside in reversed(around):
            if leaf in inside.own:
                break
            firings = inside.wrapped(firings)
        hanging = self.attached.setdefault(leaf, [])
        hanging += firings
        hanging.sort(key=lambda firing: self._order[_first(firing)])

    def _hand_on(self, nodes: Sequence[Node], loops: tuple[Node, ...], names: _Names) -> bool:
        """Find callbacks (hooks) on values of loops that are also used under another name, and move them from `attached` to `handed`.

        Such a callback cannot run where it is attached: the cotangent is not complete there, so loops pass it on.

        nodes  the nodes to search, with their regions
        loops  the loops around them, from the outermost to the innermost
        names  finds other names of a value

        Return True if there is such a callback among `nodes`.
        """
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
        """Return the key under which the runs of a callback (hook) on a leaf (value or parameter) are counted.

        attach  the `attach!` node that registers the callback
        laps    loops that had begun a later round when it ran; those that are not around `attach` are ignored
        """
        return Pending(leaf, attach, frozenset(laps).intersection(self._loops[attach]))

    def in_order(self, leaf: Leaf, counted: Sequence[tuple[Pending, Atom]]) -> list[Firing]:
        """Return all callbacks of a leaf (value or parameter) whose cotangent (gradient) is complete, in the order in which they were
        attached.

        counted  for callbacks that loops have passed on to the leaf, their keys and counts
        """
        own = self.attached.get(leaf, [])
        if not counted:
            return own
        keyed: list[tuple[tuple[int, ...], Firing]] = [(self._order_key(_first(firing)), firing) for firing in own]
        keyed += [(self._order_key(key.attach, key.laps), Times(key.attach, count)) for key, count in counted]
        return [firing for _, firing in sorted(keyed, key=lambda pair: pair[0])]

    def _order_key(self, attach: Node, laps: frozenset[Node] = frozenset()) -> tuple[int, ...]:
        """Return a key for one run of an `attach!` node, which registers a hook: runs sorted by their keys are in the order in which they
        took place.

        laps  the loops around `attach` that were past their first round in this run; it comes after all runs in the first round
        """
        return (*(number for loop in self._loops[attach] for number in (self._begins[loop], loop in laps)), self._order[attach])


@dataclass
class _Around:
    """One region around a value; a list of these leads from the outermost region to the innermost.

    node  the node that has the region
    side  the index of the region in `node.regions`
    own   (set by the constructor) the values that the region defines itself
    """

    node: Node
    side: int

    def __post_init__(self) -> None:
        region = self.node.regions[self.side]
        self.own: set[Leaf] = {*region.params, *(value for node in region.nodes for value in node.results)}

    def wrapped(self, firings: tuple[Firing, ...]) -> tuple[Firing, ...]:
        """Return callbacks (hooks) of this region as the enclosing region sees them: in a `Branched` if this is a side of an `if`, in a
        `Repeated` if it is the body of a loop, unchanged for a cell.
        """
        match self.node.op:
            case If():
                return (Branched(self.node, (firings, ()) if self.side == 0 else ((), firings)),)
            case For() | While():
                return (Repeated(self.node, firings),)
            case _:
                return firings


class _Names:
    """Finds out whether a value has other names: whether the same value is also used elsewhere, or yielded by a region as another variable.

    nodes  the nodes to search, with those in their regions
    """

    def __init__(self, nodes: Sequence[Node]):
        self._uses: Counter[Atom] = Counter()
        self._loops: dict[Value, tuple[Node, ...]] = {}
        """For each value: the loops in which it is defined, from the outermost to the innermost."""
        self._origins: dict[Value, list[tuple[Atom, tuple[Node, ...]]]] = {}
        """For each result of an `if` or a loop, and each carried value: the atoms that it may be, with the loops around each of them."""
        self._visit(nodes, ())

    def only(self, value: Value) -> bool:
        """Return True if `value`, a result of an `if` or a loop or a carried value, is the only name of whatever values it may be at run
        time.
        """
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
    """Yield the values that loops carry from round to round (parameters of their bodies) and the results of loops, also in nested regions.
    """
    for node in nodes:
        if isinstance(node.op, (For, While)):
            yield from (*node.regions[-1].params, *node.results)
        for region in node.regions:
            yield from _carried(region.nodes)


def attaches_of(firing: Firing) -> list[Node]:
    """Return all `attach!` nodes (which register hooks on values) in `firing`: itself, or those inside of the `if` or loop that it stands
    for.
    """
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
    """Return the first `attach!` node (which registers a hook on a value) in `firing`; callbacks are sorted by it."""
    return attaches_of(firing)[0]


def _grouped(pairs: Iterable[tuple[Leaf, Firing]]) -> dict[Leaf, list[Firing]]:
    groups: dict[Leaf, list[Firing]] = {}
    for leaf, firing in pairs:
        groups.setdefault(leaf, []).append(firing)
    return groups
