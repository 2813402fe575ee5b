"""Reverse-mode differentiation of ordered SSA.

Nodes y1 = op1(..), .., yn = opn(..) in program order, outputs with cotangents, and the leaves gradients are wanted of.  Write
x' for the cotangent of x.  The adjoint walks the nodes backwards:

    out'   +=  the given cotangent
    x'     +=  vjp(op)(y')       for y = op(.., x, ..), from last to first

Each x' is one running sum in reverse program order, begun with its first summand, not with zero.  A node none of whose results
has a cotangent is passed over: absent is not zero.  When the walk reaches the definition of x, x' is complete: what `attach!`
hung on x is called back then; for leaves at the end, in reverse order of first use.

The adjoint is ordinary IR and can be differentiated again.  It is built as if it could see every forward value; those that it
was caught looking at are the residuals.  For nodes with regions see `autodiff_regions`.

    adjoint     the reverse pass, into a Builder
    pullback    the same as a closed function of residuals and cotangents
    Grad        function to function: forward copy and adjoint in one
    Pair        function to two: forward with residuals, and pullback

Not done: nothing is rematerialised, and recursion has no gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from adjoint.diagnostics import CompileError, Derived, Diagnostic, InternalError
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value, defined, free_values, walk
from adjoint.ir.ops.control import If, RegionOp
from adjoint.ir.ops.host import Attach, Callback
from adjoint.ir.ops.stack import Pop
from adjoint.ir.ops.state import Read
from adjoint.ir.types import TensorType, Type
from adjoint.passes.activity import Activity, Branched, Firing, Leaf, Repeated, differentiable, differentiable_by_default
from adjoint.passes.autodiff_regions import Looked, extended, fire_branched, fire_repeated, pull_region
from adjoint.passes.cotangent import Cotangent, Sometimes, given, presence, undecided
from adjoint.passes.dce import living
from adjoint.passes.inline import inlined
from adjoint.passes.manager import Pass, chosen, with_replaced

__all__ = ["Grad", "Pair", "Pulled", "Sweep", "adjoint", "pair", "pullback", "swept"]


class Sweep:
    """One walk backwards, with its running sums.

    b         where the adjoint is emitted
    activity  what it passes through
    sums      leaf to running sum, for the leaves defined before the place the walk has reached
    looked    what it has looked at inside nodes with regions
    redefined the forward values that some loop of the adjoint defines, having popped them
    kept      cotangents of wanted values that are no leaves, from when they were complete
    """

    def __init__(self, b: Builder, activity: Activity, looked: dict[Node, Looked] | None = None):
        self.b = b
        self.activity = activity
        self.sums: dict[Leaf, Cotangent] = {}
        self.looked: dict[Node, Looked] = {} if looked is None else looked
        self.redefined: set[Value] = set()
        self.kept: dict[Leaf, Cotangent | None] = {}

    # the walk

    def pull_all(self, nodes: Sequence[Node]) -> None:
        """Walk over `nodes` backwards."""
        for node in reversed(nodes):
            if isinstance(node.op, RegionOp):
                taken = {value: self.take(value) for value in _last_defined_first(node)}
                cotangents = [taken[value] for value in node.results]
                if any(ct is not None for ct in cotangents):
                    self.locate(node)
                    pull_region(self, node, cotangents)
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
            pulled = node.op.vjp(side.b, node, *cts)
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
        if value in self.activity.attached:
            self.complete(value)
        if value in self.kept:
            self.kept[value] = self.sums.get(value)
        return self.sums.pop(value, None)

    def take_all(self, leaves: Sequence[Any], nodes: Sequence[Node]) -> list[Cotangent | None]:
        """The cotangents of leaves that `nodes` see from their beginning on; callbacks in reverse order of first use."""
        if any(leaf in self.activity.attached for leaf in leaves):
            for leaf in _by_first_use(leaves, nodes)[::-1]:
                self.complete(leaf)
        return [self.sums.pop(leaf, None) for leaf in leaves]

    def add(self, atom: Atom, cotangent: Cotangent | None) -> None:
        """Add a summand to the running sum of `atom`."""
        if cotangent is None or isinstance(atom, Literal) or atom not in self.activity.active:
            return
        if cotangent.type is not atom.type:
            raise InternalError(f"the cotangent of {atom} is of type {cotangent.type}, at {self.b.loc}")
        leaf = self.activity.leaf(atom)
        have = self.sums.get(leaf)
        if have is None:
            self.sums[leaf] = cotangent
        elif (bit := undecided((have, cotangent))) is None:
            self.sums[leaf] = self.b.add(have, cotangent, hint=f"{atom.hint}'")
        else:
            self.branch(
                bit,
                lambda side: side.add(atom, given(cotangent, bit, known=True)),
                lambda side: side.add(atom, given(cotangent, bit, known=False)),
            )

    # paths

    def decide(
        self, cotangents: Sequence[Cotangent | None], act: Callable[[Sweep, Sequence[Any]], None]
    ) -> None:
        """Do `act` with cotangents each of which is there or None: one `if` for each presence bit; nothing where all are None."""
        bit = undecided(cotangents)
        if bit is not None:
            self.branch(
                bit,
                lambda side: side.decide([given(ct, bit, known=True) for ct in cotangents], act),
                lambda side: side.decide([given(ct, bit, known=False) for ct in cotangents], act),
            )
        elif any(ct is not None for ct in cotangents):
            act(self, cotangents)

    def branch(
        self, condition: Atom, then: Callable[[Sweep], None], otherwise: Callable[[Sweep], None]
    ) -> tuple[Region, Region]:
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
        merged: list[tuple[Leaf, str, Callable[[list[Value]], Cotangent]]] = []
        for leaf in {**self.sums, **first.sums, **second.sums}:
            before, one, two = self.sums.get(leaf), first.sums.get(leaf), second.sums.get(leaf)
            if one is given(before, condition, known=True) and two is given(before, condition, known=False):
                continue
            if one is two:
                self.sums[leaf] = one  # type: ignore[assignment] - not both None, or `before` would have been
                continue
            known = one if one is not None else two
            assert known is not None
            for side, ct, atoms in ((first, one, yields[0]), (second, two, yields[1])):
                atoms.append(side.b.undef(results=(known.type,)) if ct is None else _value(ct))
            hint = getattr(_value(known), "hint", "ct")
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
            return _nothing(self.b, type_)
        if not isinstance(cotangent, Sometimes):
            return cotangent
        here, elsewhere = self.b.inner(), self.b.inner()
        regions = here.finish([cotangent.value]), elsewhere.finish([_nothing(elsewhere, type_)])
        return self.b.emit(If(), cotangent.bit, regions=regions if cotangent.when else regions[::-1], hint=getattr(cotangent.value, "hint", "ct"))

    # callbacks

    def complete(self, leaf: Leaf) -> None:
        """Call back what is attached to a leaf whose cotangent is complete."""
        ct = self.sums.get(leaf)
        if ct is not None:
            self.decide([ct], lambda side, _: side.fire(leaf, self.activity.attached.get(leaf, ())))

    def fire(self, leaf: Leaf, firings: Iterable[Firing]) -> None:
        """Run callbacks on the sum of `leaf`, which is there."""
        for firing in firings:
            match firing:
                case Branched():
                    fire_branched(self, leaf, firing)
                case Repeated():
                    fire_repeated(self, leaf, firing)
                case _:
                    self.locate(firing)
                    assert isinstance(firing.op, Attach)
                    self.sums[leaf] = self.b.emit(Callback(firing.op.symbol), self.sums[leaf])

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


def _value(cotangent: Cotangent) -> Atom:
    return cotangent.value if isinstance(cotangent, Sometimes) else cotangent


def _nothing(b: Builder, type_: Type) -> Atom:
    return b.zeros(type_) if isinstance(type_, TensorType) else b.undef(results=(type_,))


def _last_defined_first(node: Node) -> Sequence[Value]:
    """The results of a node with regions, those first whose values its (last) region defines last."""
    if len(node.results) < 2 or not node.regions:
        return node.results
    body = node.regions[-1]
    place = {value: i for i, inner in enumerate(body.nodes) for value in inner.results}
    order = sorted(range(len(node.results)), key=lambda i: place.get(body.results[i], -1), reverse=True)  # type: ignore[arg-type]
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


def adjoint(
    b: Builder,
    nodes: Sequence[Node],
    outputs: Sequence[Atom],
    cotangents: Sequence[Atom | None],
    wanted: Sequence[Value],
) -> list[Atom | None]:
    """Emit the reverse pass over `nodes` into `b`, as if it could see every forward value.

    nodes       in program order, without `if`, `for` and `while`: those must be run anew for their gradient, see `pullback`
    outputs     the values that have cotangents
    cotangents  theirs, each of its output's type; None where there is none
    wanted      the values whose cotangents are wanted
    result      for each wanted value its cotangent; None when it has none
    """
    sweep, found = swept(b, nodes, outputs, cotangents, wanted)
    if sweep.looked:
        raise InternalError("adjoint of nodes with if, for or while: take their pullback")
    return found  # type: ignore[return-value] - only those nodes make cotangents that are there sometimes


@dataclass(frozen=True)
class Pulled:
    """The reverse pass over some nodes as a function, and what it needs of their forward run.

    function   parameters: the residuals, then the cotangents of the outputs that have one; results: the cotangents of the
               wanted leaves that are not missing, then the bits of those that are there on some paths only
    residuals  the forward values that the function's first parameters stand for, in order
    missing    for each wanted leaf, whether it never has a cotangent
    bits       for each wanted leaf the index of the result that says whether its cotangent is there; -1 where it always is
    nodes      the forward nodes to run: those given, with results added that some residuals name
    """

    function: Function
    residuals: tuple[Value, ...]
    missing: tuple[bool, ...]
    bits: tuple[int, ...]
    nodes: tuple[Node, ...]


def pullback(
    symbol: str,
    nodes: Sequence[Node],
    outputs: Sequence[Atom],
    wanted: Sequence[Leaf],
    present: Sequence[bool],
    *,
    module: Module | None = None,
    closed: bool = False,
) -> Pulled:
    """The reverse pass over `nodes` as a closed function called `symbol`, without dead code.

    nodes    in program order
    outputs  the values that may have cotangents
    wanted   the leaves whose cotangents are wanted
    present  for each output, whether it has a cotangent
    module   where calls find their functions
    closed   whether values inside cells must become results of the cells to be seen; a tape has them all at hand
    """
    seeds = [_seed(y) if there else None for y, there in zip(outputs, present, strict=True)]
    b = Builder()
    sweep, found = swept(b, nodes, outputs, seeds, wanted, module)
    there = [ct for ct in found if ct is not None]
    bits = [presence(b, ct) for ct in there if isinstance(ct, Sometimes)]
    results = [*(_value(ct) for ct in there), *bits]
    kept = living(b.nodes, results)
    params = [seed for seed in seeds if seed is not None]
    residuals = free_values(kept, results, params)
    body = Region((*residuals, *params), tuple(kept), tuple(results))

    forward = tuple(nodes)
    if closed or sweep.looked:
        whole = Builder()
        extended(whole, nodes, sweep.looked, sweep.needed(residuals) if closed else set())
        forward = tuple(whole.nodes)
    index = iter(range(len(there), len(results)))
    where = tuple(next(index) if isinstance(ct, Sometimes) else -1 for ct in found)
    return Pulled(Function(symbol, body), tuple(residuals), tuple(ct is None for ct in found), where, forward)


def _seed(output: Atom) -> Value:
    """A parameter for the cotangent of an output."""
    return Value(output.type, f"{output.hint}'" if isinstance(output, Value) else "ct")


@dataclass(frozen=True)
class Grad(Pass):
    """`grad{wrt=[x, @w]}`: a function that computes the cotangents of `wrt` from those of the results.

        func @f(x, ..) -> y              func @f.grad(x, .., y') -> (x', w')

    A cotangent that is absent is returned as zeros.

    wrt    parameters by name, symbols with their `@`; empty: all parameters that hold floating-point numbers
    of     the function's symbol; empty: the module's first function
    value  whether the results come first, before the cotangents
    """

    name: ClassVar[str] = "grad"
    wrt: tuple[str, ...] = ()
    of: str = ""
    value: bool = False

    def on_module(self, module: Module) -> Module:
        function = inlined(chosen(module, self.of), module)
        body = function.body
        wanted = _wanted(function, module, self.wrt)
        seeds = [_seed(y) if there else None for y, there in zip(body.results, _seeded(body.results, wanted), strict=True)]
        b = Builder()
        sweep, found = swept(b, body.nodes, body.results, seeds, wanted, module)
        types = [module.params[leaf] if isinstance(leaf, str) else leaf.type for leaf in wanted]
        cotangents = [sweep.or_zero(ct, type_) for ct, type_ in zip(found, types, strict=True)]

        whole = Builder(body.loc)
        extended(whole, body.nodes, sweep.looked, sweep.needed(free_values(b.nodes, cotangents)))
        whole.nodes = _unattached(whole.nodes) + b.nodes
        params = [*body.params, *(seed for seed in seeds if seed is not None)]
        results = [*body.results, *cotangents] if self.value else cotangents
        return with_replaced(
            module, function.symbol, Function(f"{function.symbol}.grad", whole.finish(results, params, body.loc), None, function.loc)
        )


@dataclass(frozen=True)
class Pair(Pass):
    """`pair{wrt=[x, @w]}`: two functions, the forward run with residuals and the pullback.

        func @f(x, ..) -> y              func @f.fwd(x, ..) -> (y, residuals)
                                         func @f.bwd(residuals, y') -> (x', w')

    A cotangent that is always absent has no result; one that is there on some paths only is followed, after all cotangents,
    by the bit that says so (see `Pulled`).

    wrt  parameters by name, symbols with their `@`; empty: all parameters that hold floating-point numbers
    of   the function's symbol; empty: the module's first function
    """

    name: ClassVar[str] = "pair"
    wrt: tuple[str, ...] = ()
    of: str = ""

    def on_module(self, module: Module) -> Module:
        function = inlined(chosen(module, self.of), module)
        forward, pulled = pair(function, _wanted(function, module, self.wrt), module)
        return with_replaced(module, function.symbol, forward, pulled.function)


def pair(
    function: Function, wanted: Sequence[Leaf], module: Module, present: Sequence[bool] | None = None
) -> tuple[Function, Pulled]:
    """`@f.fwd`, which returns the results and then the residuals, and the pullback `@f.bwd`.

    present  for each result, whether it has a cotangent; by default those that hold floating-point numbers do
    """
    body = function.body
    if present is None:
        present = _seeded(body.results, wanted)
    pulled = pullback(f"{function.symbol}.bwd", body.nodes, body.results, wanted, present, module=module, closed=True)
    region = Region(body.params, tuple(_unattached(pulled.nodes)), (*body.results, *pulled.residuals), body.loc)
    return Function(f"{function.symbol}.fwd", region, None, function.loc), pulled


def _unattached(nodes: Sequence[Node]) -> list[Node]:
    """The nodes without `attach!`: what it asks for is done, its callbacks stand in the adjoint."""
    kept: list[Node] = []
    for node in nodes:
        if not isinstance(node.op, Attach):
            if any(isinstance(inner.op, Attach) for region in node.regions for inner in walk(region)):
                regions = [replace(region, nodes=tuple(_unattached(region.nodes))) for region in node.regions]
                node = Builder(node.loc).emit_node(node.op, node.operands, regions=regions, results=node.results)
            kept.append(node)
    return kept


def _seeded(results: Sequence[Atom], wanted: Sequence[Leaf]) -> list[bool]:
    """For each result whether it has a cotangent: floating-point numbers, and integers where one is differentiated by."""
    integers = any(isinstance(leaf, Value) and not differentiable_by_default(leaf.type) for leaf in wanted)
    chosen_by = differentiable if integers else differentiable_by_default
    return [chosen_by(y.type) for y in results]


def _wanted(function: Function, module: Module, names: Sequence[str]) -> list[Leaf]:
    """The leaves called `names`."""
    if not names:
        return [param for param in function.params if differentiable_by_default(param.type)]
    by_name = {param.hint: param for param in function.params}
    found: list[Leaf] = []
    for name in names:
        if name.removeprefix("@") in module.params and name.startswith("@"):
            found.append(name[1:])
        elif name in by_name:
            found.append(by_name[name])
        else:
            known = ", ".join([*by_name, *(f"@{symbol}" for symbol in module.params)])
            raise CompileError(
                Diagnostic("E141", "no such parameter", f"@{function.symbol} has no `{name}`", function.loc, help=f"there are: {known}")
            )
    return found
