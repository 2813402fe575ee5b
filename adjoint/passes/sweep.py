"""The walk backwards: running sums of cotangents (gradients of values), and cotangents that exist only under a condition.

    for node in reversed(nodes):
        y' = the sums of its results, which are complete now: their callbacks run
        x' += vjp(op)(y')                     if any of them is present

If the cotangents of a node exist only under a condition, its adjoint is inside of an `if` on the bit (a bool of the IR) that tells so, and
the sums go through both sides:

    if p { x1 = x' + ..; yield x1 } else { yield x' }

A callback (a hook that `attach!` registers) on a value that a loop carries belongs to another value: one that the round before has
computed, or the initial one.  The number of its runs is passed on to that value, as cotangents are, and it runs where that value is
complete:

    attach! @h(a)                     n(a) += 1
    y = for carry (a = x) { yield b } n(b) += n(a) of the next round, n(y) in the last; n(x) += n(a) of the first
    y = if c { yield u } ..           n(u) += n(y) where c
    b = op(..)                        b' = @h(b'), n(b) times

The rule of its op (`RegionRules`) computes the adjoint of a node with regions; it receives the sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Derived, InternalError
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value, defined, walk
from adjoint.ir.op import NotDifferentiable, Op
from adjoint.ir.ops.control import For, If, RegionOp, While
from adjoint.ir.ops.host import Attach, Callback, Pack, Unpack
from adjoint.ir.ops.stack import Pop
from adjoint.ir.ops.state import Read
from adjoint.ir.types import NamedSizes, TensorType, TupleType, Type
from adjoint.passes import errors
from adjoint.passes.activity import Activity, Branched, Firing, Leaf, Pending, Repeated, Times, attaches_of
from adjoint.passes.cotangent import NEVER, ONCE, Cotangent, Sometimes, given, merged, undecided, value_of, with_default
from adjoint.passes.residuals import Looked

__all__ = ["Counts", "RegionRules", "Sweep"]

Counts: TypeAlias = dict[Pending, Cotangent]
"""For each callback (hook) that a loop passes on to another value: the number of times that it is to run on that value."""

PullRule: TypeAlias = "Callable[[Sweep, Node, Sequence[Cotangent | None], Sequence[Counts]], None]"
"""A function that emits the gradient of one node with regions: `rule(sweep, node, cotangents of its results, callbacks to pass on)`."""

FireRule: TypeAlias = "Callable[[Sweep, Leaf | Pending, Any], None]"
"""A function that emits calls of callbacks (hooks) on the running sum of a leaf (value or parameter): `rule(sweep, leaf, callbacks)`.

For a Pending it counts the calls instead.
"""


@dataclass(frozen=True)
class RegionRules:
    """Two tables of functions: how to differentiate nodes with regions, and how to call hooks that are attached inside of regions.

    pull  for each class of op, the function that emits the reverse pass of a node (`PullRule`)
    fire  for `Branched`, `Repeated` and `Times`, the function that emits the calls of such callbacks (`FireRule`)
    """

    pull: Mapping[type[Op], PullRule]
    fire: Mapping[type[Firing], FireRule]


class Sweep:
    """Walks over nodes backwards, and emits the nodes that compute gradients; it holds the running sum of each cotangent.

    A cotangent is the gradient of a value; a leaf is a value or a parameter, under whose name cotangents are summed.

    b         the Builder to which the reverse pass is emitted
    activity  the values through which gradients pass, and their callbacks (hooks)
    rules     the rules of nodes with regions
    sums      the running sum of each leaf defined before the place that the walk has reached; and for each pending callback, how often it
        runs
    looked    the values inside of nodes with regions that the reverse pass uses
    redefined the forward values that a loop of the reverse pass defines again, popped from a stack
    kept      complete cotangents of wanted values that are results of nodes
    made      the node that the walk has reached, which computes the values whose callbacks run; None at the leaves of a region
    """

    def __init__(self, b: Builder, activity: Activity, rules: RegionRules, looked: dict[Node, Looked] | None = None):
        self.b = b
        self.activity = activity
        self.rules = rules
        self.sums: dict[Leaf | Pending, Cotangent] = {}
        self.made: Node | None = None
        self.looked: dict[Node, Looked] = {} if looked is None else looked
        self.redefined: set[Value] = set()
        self.kept: dict[Leaf, Cotangent | None] = {}

    # the walk

    def pull_all(self, nodes: Sequence[Node]) -> None:
        """Walk over `nodes` backwards, and emit the reverse pass of each node whose results have cotangents (gradients)."""
        for node in reversed(nodes):
            self.made = node
            if isinstance(node.op, RegionOp):
                if node in self.activity.handing:
                    self.locate(node)
                pending = [self.hand_on(value) for value in node.results] if isinstance(node.op, (If, For, While)) else []
                taken = {value: self.take(value) for value in _last_defined_first(node)}
                cotangents = [taken[value] for value in node.results]
                if any(ct is not None for ct in cotangents) or any(pending) or node in self.activity.handing:
                    self.locate(node)
                    self._pull_region(node, cotangents, pending)
            else:
                cotangents = [self.take(value) for value in node.results]
                if any(ct is not None for ct in cotangents):
                    self._pull(node, cotangents)

    def _pull_region(self, node: Node, cotangents: Sequence[Cotangent | None], pending: Sequence[Counts]) -> None:
        rule = self.rules.pull.get(type(node.op))
        if rule is None:
            raise InternalError(f"{node.op.name} has no rule")
        rule(self, node, cotangents, pending)

    def _pull(self, node: Node, cotangents: Sequence[Cotangent | None]) -> None:
        if isinstance(node.op, Pop) and isinstance(cotangents[1], Sometimes):
            # As many cotangents are pushed as items were popped, on every path.
            cotangents = [cotangents[0], self.or_zero(cotangents[1], cotangents[1].type)]

        def pull(side: Sweep, cts: Sequence[Atom | None]) -> None:
            side.locate(node)
            if node.results and (symbol := self.activity.through.get(node.results[0])) is not None:
                why = f"the gradient goes through @{symbol}, which is read here after it was written: run `lift-state` first"
                raise errors.NoGradient.of(
                    errors.LEAF_WRITTEN, node.loc, why, "keep the value in a variable, use that, and assign it to the Parameter besides")
            read = side.restored(node)
            before = len(side.b.nodes)
            try:
                pulled = read.op.vjp(side.b, read, *cts)
            except NotDifferentiable as error:
                way_out = "give it `ops.stop_gradient(x)` if its gradient is not wanted"
                raise errors.NoGradient.of(errors.NO_GRADIENT, node.loc, str(error), way_out) from error
            except NamedSizes as error:
                why = f"the gradient of `{node.op.name}` needs known sizes ({error}): run the pass `specialize` first"
                raise errors.NoGradient.of(errors.NO_GRADIENT, node.loc, why) from error
            new = {value for made in side.b.nodes[before:] for value in made.results}
            for atom, ct in zip(node.operands, pulled, strict=True):
                if ct in new and isinstance(atom, Value):
                    ct.hint = f"{atom.hint}'"
                side.add(atom, ct)

        self.decide(cotangents, pull)

    def take(self, value: Value) -> Cotangent | None:
        """Return the complete cotangent (gradient) of a value whose definition the walk has reached, after running its callbacks (hooks);
        None if it has none.
        """
        if value in self.activity.names:
            return None  # the sum belongs to the parameter, or to the value by its first name
        if value in self.activity.attached or self.activity.handed:
            self.complete(value)
        if value in self.kept:
            self.kept[value] = self.sums.get(value)
        return self.sums.pop(value, None)

    def take_all(self, leaves: Sequence[Any], nodes: Sequence[Node]) -> list[Cotangent | None]:
        """Return the complete cotangents (gradients) of leaves (values or parameters) that are defined before `nodes`.  Their callbacks run
        in reverse order of first use.
        """
        if self.activity.handed or any(leaf in self.activity.attached for leaf in leaves):
            self.made = None
            for leaf in _by_first_use(leaves, nodes)[::-1]:
                self.complete(leaf)
        return [self.sums.pop(leaf, None) for leaf in leaves]

    def add(self, atom: Atom, cotangent: Cotangent | None) -> None:
        """Add a cotangent to the running sum of `atom`.  Do nothing for None, and for an atom through which no gradient passes."""
        if cotangent is None or isinstance(atom, Literal) or atom not in self.activity.active:
            return
        if cotangent.type is not atom.type:
            raise InternalError(f"the cotangent of {atom} is of type {cotangent.type}, at {self.b.loc}")
        self._sum(self.activity.leaf(atom), cotangent, f"{atom.hint}'")

    def _sum(self, key: Leaf | Pending, summand: Cotangent | None, hint: str) -> None:
        have = self.sums.get(key)
        if summand is None:
            return
        if have is None:
            self.sums[key] = summand
        elif (bit := undecided((have, summand))) is not None:
            self.branch(
                bit,
                lambda side: side._sum(key, given(summand, bit, known=True), hint),
                lambda side: side._sum(key, given(summand, bit, known=False), hint),
            )
        elif isinstance(key, Pending):
            self.sums[key] = _counted_up(self.b, value_of(have), value_of(summand))
        else:
            self.sums[key] = self._added(value_of(have), value_of(summand), hint)

    def _added(self, one: Atom, other: Atom, hint: str) -> Atom:
        """Append the sum of two cotangents (gradients); tuples are added item by item.  CompileError if the type cannot be added.

        hint  a name for the sum
        """
        match one.type:
            case TensorType():
                return self.b.add(one, other, hint=hint)
            case TupleType(items=items):
                parts = [self._added(self.b.item(one, index=i), self.b.item(other, index=i), hint) for i in range(len(items))]
                return self.b.group(*parts, hint=hint)
            case type_:
                name = hint.removesuffix("'")
                raise errors.NoGradient.of(
                    errors.NO_GRADIENT, self.b.loc, f"`{name}` is used more than once, and gradients of type {type_} cannot be added")

    # paths

    def decide(self, cotangents: Sequence[Cotangent | None], act: Callable[[Sweep, Sequence[Any]], None], *, always: bool = False) -> None:
        """Call `act` where it is known of each cotangent (gradient) whether it exists: in the sides of an `if` for each condition on which
        that depends.

        act     gets a sweep for that place, and the cotangents, None for one that does not exist there
        always  True: call it even where all cotangents are None
        """
        bit = undecided(cotangents)
        if bit is not None:
            self.branch(
                bit,
                lambda side: side.decide([given(ct, bit, known=True) for ct in cotangents], act, always=always),
                lambda side: side.decide([given(ct, bit, known=False) for ct in cotangents], act, always=always),
            )
        elif always or any(ct is not None for ct in cotangents):
            act(self, cotangents)

    def branch(self, condition: Atom, then: Callable[[Sweep], None], otherwise: Callable[[Sweep], None]) -> tuple[Region, Region]:
        """Append `if condition`, through whose sides the running sums pass.  Return its two regions.

        then, otherwise  called with the sweep of a side, whose Builder they fill with the nodes of that side
        """
        sides: list[Sweep] = []
        for act, known_bit in ((then, True), (otherwise, False)):
            side = Sweep(self.b.inner(), self.activity, self.rules, self.looked)
            side.redefined, side.made = self.redefined, self.made
            for leaf, ct in self.sums.items():
                if (known := given(ct, condition, known=known_bit)) is not None:
                    side.sums[leaf] = known
            act(side)
            sides.append(side)
        return self._merge(condition, *sides)

    def _merge(self, condition: Atom, first: Sweep, second: Sweep) -> tuple[Region, Region]:
        yields: list[tuple[Atom, Atom]] = []
        changed: list[tuple[Leaf | Pending, str, Callable[[list[Value]], Cotangent]]] = []
        for leaf in {**self.sums, **first.sums, **second.sums}:
            before, one, two = self.sums.get(leaf), first.sums.get(leaf), second.sums.get(leaf)
            if one is given(before, condition, known=True) and two is given(before, condition, known=False):
                continue
            if one is two:
                self.sums[leaf] = one  # pyright: ignore[reportArgumentType] - not both None, or `before` would have been
                continue
            known = one if one is not None else two
            assert known is not None
            if isinstance(leaf, Pending) and isinstance(known, Literal) and (one is None or two is None):
                self.sums[leaf] = Sometimes(known, condition, when=two is None)
                continue
            hint = "times" if isinstance(leaf, Pending) else getattr(value_of(known), "hint", "ct")
            pairs, taken = merged((first.b, second.b), condition, one, two, known.type)
            yields += pairs
            changed.append((leaf, hint, taken))
        regions = first.b.finish([one for one, _ in yields]), second.b.finish([other for _, other in yields])
        if first.b.nodes or second.b.nodes or changed:
            node = self.b.emit_node(If(), [condition], regions=regions)
            results = list(node.results)
            for leaf, hint, taken in changed:
                results[0].hint = hint
                self.sums[leaf] = taken(results)
        return regions

    def or_zero(self, cotangent: Cotangent | None, type_: Type) -> Atom:
        """Return a cotangent (gradient) as an atom of this type, with zeros where it does not exist."""
        if cotangent is None:
            return self.b.nothing(type_)
        return with_default(self.b, cotangent, lambda b: b.nothing(type_), getattr(value_of(cotangent), "hint", "ct"))

    # callbacks

    def complete(self, leaf: Leaf) -> None:
        """Run the callbacks (hooks) of a leaf (value or parameter) on its cotangent (gradient).  Call this once the cotangent is complete.
        """
        pending = self._take_pending(leaf)
        ct = self.sums.get(leaf)
        if ct is None:
            return

        def act(side: Sweep, there: Sequence[Atom | None]) -> None:
            if there[0] is not None:
                counted = [(key, count) for key, count in zip(pending, there[1:], strict=True) if count is not None]
                side.fire(leaf, side.activity.in_order(leaf, counted))

        self.decide([ct, *pending.values()], act)

    def fire(self, key: Leaf | Pending, firings: Iterable[Firing]) -> None:
        """Emit calls of callbacks (hooks) on the running sum of a leaf (value or parameter), which must exist.

        key      the leaf; for a Pending the calls are not emitted, but added to its count
        firings  the callbacks
        """
        for firing in firings:
            match firing:
                case Times(count=Literal(value=int(count))):
                    self.fire(key, [firing.attach] * count)
                case Branched() | Repeated() | Times():
                    self.rules.fire[type(firing)](self, key, firing)
                case _ if isinstance(key, Pending):
                    if firing is key.attach:
                        self._sum(key, ONCE, "times")
                case _:
                    assert isinstance(firing.op, Attach)
                    places = (firing.loc,) if self.made is None else (self.made.loc, firing.loc)
                    self.b.loc = Derived("grad", places, subject=firing.op.name)
                    self.sums[key] = self.b.emit(Callback(firing.op.symbol), value_of(self.sums[key]))

    def _take_pending(self, leaf: Leaf) -> dict[Pending, Cotangent]:
        """Remove from `sums` and return how often callbacks (hooks) that loops have passed on to `leaf` are to run on it."""
        if not self.activity.handed:
            return {}
        return {key: self.sums.pop(key) for key in [*self.sums] if isinstance(key, Pending) and key.leaf == leaf}

    def hand_on(self, value: Value) -> dict[Pending, Cotangent]:
        """Return how often each callback (hook) on `value`, a result of an `if` or a loop, is to run, and remove these counts from `sums`.

        The caller adds them for the values that `value` was computed as (`hang`), where the callbacks then run.
        """
        if value not in self.activity.active:
            return {}
        for firing in self.activity.handed.get(value, ()):
            for attach in dict.fromkeys(attaches_of(firing)):
                key = self.activity.pending(value, attach, ())
                self.fire(key, [firing])
        return self._take_pending(value)

    def hang(self, atom: Atom, key: Pending, count: Cotangent | None, *laps: Node) -> None:
        """Add to the number of times that a callback (hook) is to run on `atom`.  Do nothing if no gradient passes through `atom`.

        key    the callback, as it was counted for another value
        count  the number to add; None for nothing
        laps   the loops from whose later rounds the count comes
        """
        if isinstance(atom, Value) and atom in self.activity.active:
            self._sum(self.activity.pending(self.activity.leaf(atom), key.attach, {*key.laps, *laps}), count, "times")

    def counted(self, count: Cotangent | None) -> Atom:
        """Return a number of calls as an integer atom: 0 for None, and 0 where a `Sometimes` does not exist."""
        return NEVER if count is None else with_default(self.b, count, lambda _: NEVER, "times")

    # for the rules of ops

    def restored(self, node: Node) -> Node:
        """Return a node as its gradient is to read it: what a hook unpacks stands in the place of the tensors that it has packed."""
        pack = self.activity.packed.get(node.results[0]) if self.activity.packed and node.results else None
        if pack is None:
            return node
        assert isinstance(pack.op, Pack)
        atoms, packed = [*node.operands, *node.results], pack.operands[1:]
        for place, value in zip(pack.op.places, self.b.emit_node(Unpack(pack.op.symbol), packed).results, strict=True):
            atoms[place] = value
        count = len(node.operands)
        return replace(node, operands=tuple(atoms[:count]), results=tuple(atoms[count:]))

    # for the rules of regions

    def locate(self, node: Node) -> None:
        """Give all nodes that are emitted from now on the location "gradient of `node`"."""
        self.b.loc = Derived("grad", (node.loc,), subject=node.op.name)

    def looked_at(self, node: Node) -> Looked:
        return self.looked.setdefault(node, Looked())

    def trial(self) -> Sweep:
        """Return a sweep without sums that emits into an inner Builder, to try out the body of a loop.

        Throw it away, or call `accept` with it if its nodes are used.
        """
        trial = Sweep(self.b.inner(), self.activity, self.rules, {node: looked.copy() for node, looked in self.looked.items()})
        trial.redefined, trial.made = set(self.redefined), self.made
        return trial

    def accept(self, trial: Sweep) -> None:
        """Add the records of `trial` (forward values that it uses or defines again) to this sweep; call it if the nodes of the trial are
        used.
        """
        self.looked.update(trial.looked)
        self.redefined |= trial.redefined

    def needed(self, residuals: Iterable[Value]) -> set[Value]:
        """Return all forward values that gradients use anywhere.

        residuals  the values that the reverse pass as a whole uses
        """
        return {*residuals, *(value for looked in self.looked.values() for value, _ in looked.pairs())}

    def inside(self, region: Region) -> set[Value]:
        """Return the values that a forward region defines, with those that its nodes will return in addition for the reverse pass."""
        found = defined(region)
        for node in walk(region):
            if node in self.looked:
                found.update(self.looked[node].outside())
        return found


def _counted_up(b: Builder, have: Atom, more: Atom) -> Atom:
    """Return the sum of two numbers of calls; a literal if both are literals, otherwise the result of a node appended to `b`."""
    match have, more:
        case Literal(value=int(first)), Literal(value=int(second)):
            return Literal(first + second, have.type)
        case _:
            pass
    return b.add(have, more, hint="times")


def _last_defined_first(node: Node) -> Sequence[Value]:
    """Return the results of a node with regions in the order in which the walk backwards meets them: the one whose value its last region
    computes last comes first.
    """
    if len(node.results) < 2 or not node.regions:
        return node.results
    body = node.regions[-1]
    place: dict[Atom, int] = {value: i for i, inner in enumerate(body.nodes) for value in inner.results}
    order = sorted(range(len(node.results)), key=lambda i: place.get(body.results[i], -1), reverse=True)
    return [node.results[i] for i in order]


def _by_first_use(leaves: Sequence[Leaf], nodes: Sequence[Node]) -> list[Leaf]:
    """Return the leaves in the order in which `nodes` first use them, followed by the unused ones.  An `attach!` does not count as a use.

    leaves  values, or symbols of parameters
    """
    used: dict[Leaf, None] = {}

    def visit(nodes: Sequence[Node], results: Sequence[Atom]) -> None:
        for node in nodes:
            if isinstance(node.op, Attach):
                continue
            if isinstance(node.op, Read):
                used.setdefault(node.op.symbol)
            used.update((atom, None) for atom in node.operands if isinstance(atom, Value) and atom not in used)
            for region in node.regions:
                visit(region.nodes, region.results)
        used.update((atom, None) for atom in results if isinstance(atom, Value) and atom not in used)

    visit(nodes, ())
    return [*(leaf for leaf in used if leaf in leaves), *(leaf for leaf in leaves if leaf not in used)]
