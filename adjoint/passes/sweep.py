"""The walk backwards: running sums, and paths on which cotangents are there or not.

    for node in reversed(nodes):
        y' = the sums of its results, complete now: their callbacks run
        x' += vjp(op)(y')                     if any of them is there

Where the cotangents of a node are there on some paths only, its adjoint stands in an `if` on the bit that says so, and the
sums go through both sides:

    if p { x1 = x' + ..; yield x1 } else { yield x' }

What hangs on a value that a loop carries belongs to another value: one that the round before has made, or the initial one.  It
goes there as cotangents do, as a number of times, by result and carried value, and runs where that other value is complete:

    attach! @h(a)                     n(a) += 1
    y = for carry (a = x) { yield b } n(b) += n(a) of the next round, n(y) in the last; n(x) += n(a) of the first
    y = if c { yield u } ..           n(u) += n(y) where c
    b = op(..)                        b' = @h(b'), n(b) times

Nodes with regions are pulled by `autodiff_regions`, which is given the sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adjoint.diagnostics import Derived, InternalError
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Module, Node, Region, Value, defined, walk
from adjoint.ir.op import NotDifferentiable
from adjoint.ir.ops.control import For, If, RegionOp, While
from adjoint.ir.ops.host import Attach, Callback
from adjoint.ir.ops.stack import Pop
from adjoint.ir.ops.state import Read
from adjoint.ir.types import NamedSizes, TensorType, TupleType, Type
from adjoint.passes import errors
from adjoint.passes.activity import Activity, Branched, Firing, Leaf, Pending, Repeated, Times, attaches_of
from adjoint.passes.autodiff_regions import NEVER, ONCE, fire_branched, fire_repeated, fire_times, pull_region
from adjoint.passes.cotangent import Cotangent, Sometimes, given, presence, undecided, value_of
from adjoint.passes.residuals import Looked

__all__ = ["Sweep", "swept"]


class Sweep:
    """One walk backwards, with its running sums.

    b         where the adjoint is emitted
    activity  what it passes through
    sums      leaf to running sum, for the leaves defined before the place the walk has reached; and what `attach!` nodes have
              hung on them through values that loops carry, as numbers of times
    looked    what it has looked at inside nodes with regions
    redefined the forward values that some loop of the adjoint defines, having popped them
    kept      cotangents of wanted values that are no leaves, from when they were complete
    """

    def __init__(self, b: Builder, activity: Activity, looked: dict[Node, Looked] | None = None):
        self.b = b
        self.activity = activity
        self.sums: dict[Leaf | Pending, Cotangent] = {}
        self.looked: dict[Node, Looked] = {} if looked is None else looked
        self.redefined: set[Value] = set()
        self.kept: dict[Leaf, Cotangent | None] = {}

    # the walk

    def pull_all(self, nodes: Sequence[Node]) -> None:
        """Walk over `nodes` backwards."""
        for node in reversed(nodes):
            if isinstance(node.op, RegionOp):
                if node in self.activity.handing:
                    self.locate(node)
                pending = [self.hand_on(value) for value in node.results] if isinstance(node.op, (If, For, While)) else []
                taken = {value: self.take(value) for value in _last_defined_first(node)}
                cotangents = [taken[value] for value in node.results]
                if any(ct is not None for ct in cotangents) or any(pending) or node in self.activity.handing:
                    self.locate(node)
                    pull_region(self, node, cotangents, pending)
            else:
                cotangents = [self.take(value) for value in node.results]
                if any(ct is not None for ct in cotangents):
                    self._pull(node, cotangents)

    def _pull(self, node: Node, cotangents: Sequence[Cotangent | None]) -> None:
        if isinstance(node.op, Pop) and isinstance(cotangents[1], Sometimes):
            # As many cotangents are pushed as items were popped, on every path.
            cotangents = [cotangents[0], self.or_zero(cotangents[1], cotangents[1].type)]

        def pull(side: Sweep, cts: Sequence[Atom | None]) -> None:
            side.locate(node)
            before = len(side.b.nodes)
            try:
                pulled = node.op.vjp(side.b, node, *cts)
            except NotDifferentiable as error:
                raise errors.NoGradient.of(errors.NO_GRADIENT, node.loc, str(error)) from error
            except NamedSizes as error:
                why = f"the gradient of `{node.op.name}` needs numbers for sizes, and {error}: specialize comes first"
                raise errors.NoGradient.of(errors.NO_GRADIENT, node.loc, why) from error
            new = {value for made in side.b.nodes[before:] for value in made.results}
            for atom, ct in zip(node.operands, pulled, strict=True):
                if ct in new and isinstance(atom, Value):
                    ct.hint = f"{atom.hint}'"
                side.add(atom, ct)

        self.decide(cotangents, pull)

    def take(self, value: Value) -> Cotangent | None:
        """The cotangent of a value whose definition is reached, after its callbacks."""
        if value in self.activity.reads:
            return None  # the sum belongs to the parameter
        if value in self.activity.attached or self.activity.handed:
            self.complete(value)
        if value in self.kept:
            self.kept[value] = self.sums.get(value)
        return self.sums.pop(value, None)

    def take_all(self, leaves: Sequence[Any], nodes: Sequence[Node]) -> list[Cotangent | None]:
        """The cotangents of leaves that `nodes` see from their beginning on; callbacks in reverse order of first use."""
        if self.activity.handed or any(leaf in self.activity.attached for leaf in leaves):
            for leaf in _by_first_use(leaves, nodes)[::-1]:
                self.complete(leaf)
        return [self.sums.pop(leaf, None) for leaf in leaves]

    def add(self, atom: Atom, cotangent: Cotangent | None) -> None:
        """Add a summand to the running sum of `atom`."""
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
        """Emit the sum of two cotangents; that of tuples item by item."""
        match one.type:
            case TensorType():
                return self.b.add(one, other, hint=hint)
            case TupleType(items=items):
                parts = [self._added(self.b.item(one, index=i), self.b.item(other, index=i), hint) for i in range(len(items))]
                return self.b.group(*parts, hint=hint)
            case type_:
                name = hint.removesuffix("'")
                raise errors.NoGradient.of(
                    errors.NO_GRADIENT, self.b.loc, f"`{name}` is used more than once, and gradients of a {type_} have no sum")

    # paths

    def decide(self, cotangents: Sequence[Cotangent | None], act: Callable[[Sweep, Sequence[Any]], None], *, always: bool = False) -> None:
        """Do `act` with cotangents each of which is there or None: one `if` for each presence bit.

        Nothing is done where all are None, unless it is `always`.
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
        """Emit `if condition` with the running sums threaded through both sides; its regions, for what they look at."""
        sides: list[Sweep] = []
        for act, known_bit in ((then, True), (otherwise, False)):
            side = Sweep(self.b.inner(), self.activity, self.looked)
            side.redefined = self.redefined
            for leaf, ct in self.sums.items():
                if (known := given(ct, condition, known=known_bit)) is not None:
                    side.sums[leaf] = known
            act(side)
            sides.append(side)
        return self._merge(condition, *sides)

    def _merge(self, condition: Atom, first: Sweep, second: Sweep) -> tuple[Region, Region]:
        yields: tuple[list[Atom], list[Atom]] = ([], [])
        merged: list[tuple[Leaf | Pending, str, Callable[[list[Value]], Cotangent]]] = []
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
            for side, ct, atoms in ((first, one, yields[0]), (second, two, yields[1])):
                atoms.append(side.b.undef(results=(known.type,)) if ct is None else value_of(ct))
            hint = "times" if isinstance(leaf, Pending) else getattr(value_of(known), "hint", "ct")
            if one is not None and two is not None and undecided((one, two)) is None:
                merged.append((leaf, hint, lambda results: results.pop(0)))
            elif isinstance(one, Sometimes) and isinstance(two, Sometimes) and one.bit is two.bit and one.when is two.when:
                merged.append((leaf, hint, lambda results, bit=one.bit, when=one.when: Sometimes(results.pop(0), bit, when)))
            elif two is None and not isinstance(one, Sometimes):
                merged.append((leaf, hint, lambda results: Sometimes(results.pop(0), condition)))
            elif one is None and not isinstance(two, Sometimes):
                merged.append((leaf, hint, lambda results: Sometimes(results.pop(0), condition, when=False)))
            else:
                yields[0].append(presence(first.b, one))
                yields[1].append(presence(second.b, two))
                merged.append((leaf, hint, lambda results: Sometimes(results.pop(0), results.pop(0))))
        regions = first.b.finish(yields[0]), second.b.finish(yields[1])
        if first.b.nodes or second.b.nodes or merged:
            node = self.b.emit_node(If(), [condition], regions=regions)
            results = list(node.results)
            for leaf, hint, taken in merged:
                results[0].hint = hint
                self.sums[leaf] = taken(results)
        return regions

    def or_zero(self, cotangent: Cotangent | None, type_: Type) -> Atom:
        """The cotangent of a value of this type; zeros where it is absent."""
        if cotangent is None:
            return self.b.nothing(type_)
        if not isinstance(cotangent, Sometimes):
            return cotangent
        here, elsewhere = self.b.inner(), self.b.inner()
        regions = here.finish([cotangent.value]), elsewhere.finish([elsewhere.nothing(type_)])
        return self.b.emit(
            If(), cotangent.bit, regions=regions if cotangent.when else regions[::-1], hint=getattr(cotangent.value, "hint", "ct")
        )

    # callbacks

    def complete(self, leaf: Leaf) -> None:
        """Call back what is attached to a leaf whose cotangent is complete."""
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
        """Run callbacks on the sum of a leaf, which is there; or count how often they would be."""
        for firing in firings:
            match firing:
                case Branched():
                    fire_branched(self, key, firing)
                case Repeated():
                    fire_repeated(self, key, firing)
                case Times(count=Literal(value=count)):
                    self.fire(key, [firing.attach] * int(count))
                case Times():
                    fire_times(self, key, firing)
                case _ if isinstance(key, Pending):
                    if firing is key.attach:
                        self._sum(key, ONCE, "times")
                case _:
                    self.locate(firing)
                    assert isinstance(firing.op, Attach)
                    self.sums[key] = self.b.emit(Callback(firing.op.symbol), value_of(self.sums[key]))

    def _take_pending(self, leaf: Leaf) -> dict[Pending, Cotangent]:
        """What has been hung on `leaf` through other values; it is the caller's now."""
        if not self.activity.handed:
            return {}
        return {key: self.sums.pop(key) for key in [*self.sums] if isinstance(key, Pending) and key.leaf == leaf}

    def hand_on(self, value: Value) -> dict[Pending, Cotangent]:
        """How often each `attach!` hangs its callback on what `value` is; it is the caller's to hang it there."""
        if value not in self.activity.active:
            return {}
        for firing in self.activity.handed.get(value, ()):
            for attach in dict.fromkeys(attaches_of(firing)):
                key = self.activity.pending(value, attach, ())
                self.fire(key, [firing])
        return self._take_pending(value)

    def hang(self, atom: Atom, key: Pending, count: Cotangent | None, *laps: Node) -> None:
        """Hand a count on to `atom`; what comes from later rounds of loops says so."""
        if isinstance(atom, Value) and atom in self.activity.active:
            self._sum(self.activity.pending(self.activity.leaf(atom), key.attach, {*key.laps, *laps}), count, "times")

    def counted(self, count: Cotangent | None) -> Atom:
        """A count as one atom; 0 where there is none."""
        match count:
            case None:
                return NEVER
            case Sometimes():
                here, elsewhere = self.b.inner(), self.b.inner()
                regions = here.finish([count.value]), elsewhere.finish([NEVER])
                return self.b.emit(If(), count.bit, regions=regions if count.when else regions[::-1], hint="times")
            case _:
                return count

    # for the rules of regions

    def locate(self, node: Node) -> None:
        """What is emitted from now on is the gradient of `node`."""
        self.b.loc = Derived("grad", (node.loc,), subject=node.op.name)

    def looked_at(self, node: Node) -> Looked:
        return self.looked.setdefault(node, Looked())

    def trial(self) -> Sweep:
        """A sweep into a Builder inside this one, without sums, that may be thrown away."""
        trial = Sweep(self.b.inner(), self.activity, {node: looked.copy() for node, looked in self.looked.items()})
        trial.redefined = set(self.redefined)
        return trial

    def accept(self, trial: Sweep) -> None:
        """Keep what a trial has looked at."""
        self.looked.update(trial.looked)
        self.redefined |= trial.redefined

    def needed(self, residuals: Iterable[Value]) -> set[Value]:
        """All forward values that are looked at from anywhere, given those that the whole adjoint looks at."""
        return {*residuals, *(value for looked in self.looked.values() for value, _ in looked.pairs())}

    def inside(self, region: Region) -> set[Value]:
        """The values that the forward copy of `region` will define."""
        found = defined(region)
        for node in walk(region):
            if node in self.looked:
                found.update(self.looked[node].outside())
        return found


def swept(
    b: Builder,
    nodes: Sequence[Node],
    outputs: Sequence[Atom],
    cotangents: Sequence[Cotangent | None],
    wanted: Sequence[Leaf],
    module: Module | None = None,
) -> tuple[Sweep, list[Cotangent | None]]:
    """Emit the reverse pass over `nodes` into `b`; the sweep, and for each wanted leaf its cotangent."""
    sweep = Sweep(b, Activity(nodes, wanted, module))
    leaves = set(wanted)
    sweep.kept = {value: None for node in nodes for value in node.results if value in leaves}
    for atom, ct in zip(outputs, cotangents, strict=True):
        sweep.add(atom, ct)
    sweep.pull_all(nodes)
    rest = [leaf for leaf in dict.fromkeys(wanted) if leaf not in sweep.kept]
    found = {**sweep.kept, **dict(zip(rest, sweep.take_all(rest, nodes), strict=True))}
    return sweep, [found[leaf] for leaf in wanted]


def _counted_up(b: Builder, have: Atom, more: Atom) -> Atom:
    """The sum of two counts."""
    if isinstance(have, Literal) and isinstance(more, Literal):
        return Literal(int(have.value) + int(more.value), have.type)
    return b.add(have, more, hint="times")


def _last_defined_first(node: Node) -> Sequence[Value]:
    """The results of a node with regions, those first whose values its (last) region defines last."""
    if len(node.results) < 2 or not node.regions:
        return node.results
    body = node.regions[-1]
    place: dict[Atom, int] = {value: i for i, inner in enumerate(body.nodes) for value in inner.results}
    order = sorted(range(len(node.results)), key=lambda i: place.get(body.results[i], -1), reverse=True)
    return [node.results[i] for i in order]


def _by_first_use(leaves: Sequence[Leaf], nodes: Sequence[Node]) -> list[Leaf]:
    """The leaves in the order in which `nodes` first use them, then the unused; to register a callback is no use."""
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
