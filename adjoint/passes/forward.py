"""Forward-mode differentiation: the derivative of some values along a direction, computed beside them.

Let x' be the tangent of x: its derivative along the direction.

    y = op(x)                 y' = J x', where x'' = J^T y'' is the op's gradient rule for a cotangent y''

The rule is linear in y''.  So J is its transposition, and the reverse pass over the nodes of the rule, by y'', gives it.  What the rule
computes only for the cotangent is dead code then.  Where an op is used twice, y' has one sum; for a product it has two terms:

    y = mul(a, b)             a'' = mul(y'', b), b'' = mul(y'', a)         y' = add(mul(a', b), mul(b', a))

Control flow carries tangents beside the values.  No stack is needed, and no value is kept longer than without a derivative:

    y = if c { R } else { S }                    y, y' = if c { R; R' } else { S; S' }
    y = for i in range carry (a) { R }           y, y' = for i in range carry (a, a') { R; R' }
    y = while carry (a) test { T } do { R }      y, y' = while carry (a, a') test { T } do { R; R' }         T has no tangent
    y = cell carry (x = a) { R }                 the cell, whose values inside become results where R' uses them; then R'
    write! @w(v), x = read @w                    x' = v'

A value has no tangent if it does not depend on what has one, and no node is made for it.  Absent is not zero: the product of a zero with
the infinite derivative of a root would be NaN, and a sum of a zero with -0.0 is 0.0.  Where the path that runs decides, the tangent is a
`Sometimes`: on one side of an `if`, or from some round of a loop on, which then carries a bit that tells whether it exists.  What is
computed of such a tangent is inside of an `if` on that bit.

Hooks on gradients have no part in this: a tangent is no gradient, and passes them by.  A function of the user's that computes a gradient in
Python, a `bprop` or what a hook does inside of an inner gradient, has no nodes to transpose: that is an error here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Derived, InternalError
from adjoint.foundation.made import count
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value, free_of, free_values, walk
from adjoint.ir.op import NotDifferentiable
from adjoint.ir.ops.control import Call, Cell, Differentiated, For, If, RegionOp, While, known_rounds
from adjoint.ir.ops.conversion import Identity
from adjoint.ir.ops.host import Attach, Hook, Outputs, Pack
from adjoint.ir.ops.stack import Undef
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import NamedSizes, StackType, Type
from adjoint.passes import errors
from adjoint.passes.activity import differentiable
from adjoint.passes.cotangent import (
    Cotangent,
    Sometimes,
    carried_as,
    filled,
    given,
    joined_status,
    merged,
    parts_of,
    status_of,
    value_of,
    with_default,
)
from adjoint.passes.dce import living
from adjoint.passes.inline import inlined
from adjoint.passes.rebuild import Rewriter, became
from adjoint.passes.residuals import extended
from adjoint.passes.reverse import swept

__all__ = ["Pushed", "pushforward", "with_tangents", "without_hooks"]

_Rule = Callable[..., Sequence["Atom | None"]]
"""A function that emits the gradient of a node: `rule(b, node, *cotangents)` returns the cotangents of its operands."""


def with_tangents(
    nodes: Sequence[Node], outputs: Sequence[Atom], directions: Mapping[Value, Atom], module: Module | None
) -> tuple[list[Node], list[Atom]]:
    """Return nodes that compute the same as `nodes` and tangents of some values, and these tangents, zeros for what has none.

    nodes       in program order, without `gradient`, `record` and `batch`
    outputs     the values whose tangents are wanted
    directions  for each value that is given with a tangent: that tangent
    module      the module with the functions of calls that have a pullback; None if there are none

    NoGradient if an op in between has no derivative.
    """
    count("adjoints")
    b = Builder()
    forward = _Forward(directions, module)
    forward.nodes(b, nodes, outputs)
    return b.nodes, [forward.or_zero(b, atom) for atom in outputs]


def tangents_beside(nodes: Sequence[Node], outputs: Sequence[Atom], directions: Mapping[Value, Atom], module: Module | None
                    ) -> tuple[list[Node], list[Atom]] | None:
    """Return nodes that compute tangents alone, of the values that `nodes` compute elsewhere, and these tangents; None if there are
    branches or loops among `nodes`.

    The arguments are those of `with_tangents`.  What is returned may use values inside of cells.
    """
    if any(isinstance(node.op, (If, For, While)) or (isinstance(node.op, Cell) and not _is_straight(node)) for node in nodes):
        return None
    count("adjoints")
    b = Builder()
    forward = _Forward(directions, module)
    forward.beside(b, nodes)
    return b.nodes, [forward.or_zero(b, atom) for atom in outputs]


@dataclass(frozen=True)
class Pushed:
    """The tangents of some nodes as a function, together with what its caller must know.

    function   parameters: the residuals, then the tangents of the inputs; results: the tangents of the outputs that are not missing
    residuals  the values of the nodes that the first parameters of the function receive, in order
    missing    for each output, True if it never has a tangent
    """

    function: Function
    residuals: tuple[Value, ...]
    missing: tuple[bool, ...]


def pushforward(symbol: str, nodes: Sequence[Node], outputs: Sequence[Atom], inputs: Sequence[Value], module: Module | None = None
                ) -> Pushed:
    """Make the function that maps tangents of inputs to tangents of outputs, without dead code.

    symbol  the name of the function
    nodes   in program order, without `if`, `for` and `while`; the function may read the values inside of their cells
    module  the module with the functions of calls that have a pullback; None if there are none

    NoGradient if an op in between has no derivative.
    """
    b, given = Builder(), [Value(x.type, f"{x.hint}'") for x in inputs]
    forward = _Forward(dict(zip(inputs, given, strict=True)), module)
    forward.beside(b, nodes)
    found = [None if forward.tangent(atom) is None else forward.or_zero(b, atom) for atom in outputs]
    there = [tangent for tangent in found if tangent is not None]
    kept = living(b.nodes, there)
    residuals = free_values(kept, there, given)
    body = Region((*residuals, *given), tuple(kept), tuple(there))
    return Pushed(Function(symbol, body), tuple(residuals), tuple(tangent is None for tangent in found))


def without_hooks(nodes: Sequence[Node]) -> list[Node]:
    """Return the same nodes without hooks on gradients, except for those of gradients that are taken inside; each defines the same values.
    """
    b = Builder()
    for node in nodes:
        b.loc = node.loc
        match node.op:
            case Attach() | Pack():
                pass
            case Hook() | Outputs():
                for atom, value in zip(node.operands, node.results, strict=True):
                    b.emit_node(Identity(), [atom], results=[value])
            case Differentiated():
                b.append(node)
            case op if node.regions:
                regions = [replace(region, nodes=tuple(without_hooks(region.nodes))) for region in node.regions]
                without = replace(op, symbol="") if isinstance(op, Cell) else op
                b.emit_node(without, node.operands, regions=regions, results=node.results)
            case _:
                b.append(node)
    return b.nodes


class _Forward:
    """Walks over nodes in their order, and emits the nodes that compute tangents.

    directions  the tangents that are given
    module      the module with the functions of calls
    """

    def __init__(self, directions: Mapping[Value, Atom], module: Module | None):
        self._tangents: dict[Value, Cotangent] = dict(directions)
        self._state: dict[str, Cotangent] = {}
        """For each symbol of a parameter that was written with a value that has a tangent: that tangent."""
        self._refused: dict[Value, Exception] = {}
        """The results of nodes that have no derivative, although other results of these have one, with the errors that say so."""
        self._undefined: set[Atom] = set()
        """The results of `undef`: nothing reads such a value, nor its tangent, which may be anything."""
        self._sides: dict[Atom, bool] = {}
        """For each condition of an `if` around the place that the walk has reached: on which side it is."""
        self._module = module

    def tangent(self, atom: Atom) -> Cotangent | None:
        """Return the tangent of an atom, None if it has none; NoGradient if it has no derivative."""
        if atom in self._refused:
            raise self._refused[atom]
        return None if isinstance(atom, Literal) else self._here(self._tangents.get(atom))

    def _here(self, tangent: Cotangent | None) -> Cotangent | None:
        """Return a tangent as it is on the sides of branches that the walk is on."""
        if isinstance(tangent, Sometimes) and tangent.bit in self._sides:
            return given(tangent, tangent.bit, known=self._sides[tangent.bit])
        return tangent

    def or_zero(self, b: Builder, atom: Atom) -> Atom:
        """Return the tangent of an atom, zeros where it has none."""
        found = self.tangent(atom)
        if found is None:
            return _zeros(b, atom.type)
        return with_default(b, found, lambda b: _zeros(b, atom.type), getattr(value_of(found), "hint", "y"))

    # -- nodes -------------------------------------------------------------------------------------------------------------
    def nodes(self, b: Builder, nodes: Sequence[Node], results: Sequence[Atom]) -> None:
        """Append nodes with their tangents, which come after them, but before the next branch or loop.

        results  what is used of the nodes: their tangents may be those of values inside of cells
        """
        made, beside = b.inner(), b.inner()
        used: set[Value] = set()

        def put() -> None:
            used.update(free_values(beside.nodes))
            made.nodes += beside.nodes
            beside.nodes = []

        for node in nodes:
            if isinstance(node.op, (If, For, While)) or (isinstance(node.op, Cell) and not node.op.rule and not _is_straight(node)):
                put()
                self._control(made, node)
            else:
                made.append(node)
                self.beside(beside, [node])
        put()
        used.update(part for atom in results for part in _atoms(self.tangent(atom)) if isinstance(part, Value))
        extended(b, made.nodes, {}, used)

    def beside(self, b: Builder, nodes: Sequence[Node]) -> None:
        """Append the tangents of nodes alone."""
        for node in nodes:
            match node.op:
                case Read(symbol=symbol):
                    self._set(node.result, self._state.get(symbol))
                case Write(symbol=symbol):
                    self._write(symbol, self.tangent(node.operands[0]))
                case Undef():
                    self._undefined.update(node.results)
                case Hook() | Outputs():
                    for atom, value in zip(node.operands, node.results, strict=True):
                        self._set(value, self.tangent(atom))
                case Cell(rule=""):
                    (body,) = node.regions
                    for atom, param in zip(node.operands, body.params, strict=True):
                        self._set(param, self.tangent(atom))
                    self.beside(b, body.nodes)
                    for atom, value in zip(body.results, node.results, strict=True):
                        self._set(value, self.tangent(atom))
                case op if node.ends_gradients or not any(self.tangent(atom) is not None for atom in node.operands):
                    pass
                case Cell(title=title):
                    _refuse(node, f"{title} has a `bprop` of its own, which is Python")
                case Call():
                    self._push(b, node, self._pullback_of_call)
                case RegionOp() as op:
                    _refuse(node, f"`{op.name}` uses a function that was recorded outside of what is differentiated")
                case op:
                    self._push(b, node, op.vjp)

    def _set(self, value: Value, tangent: Cotangent | None) -> None:
        if tangent is None or not differentiable(value.type):
            self._tangents.pop(value, None)
        else:
            self._tangents[value] = tangent

    def _write(self, symbol: str, tangent: Cotangent | None) -> None:
        if tangent is None:
            self._state.pop(symbol, None)
        else:
            self._state[symbol] = tangent

    def _push(self, b: Builder, node: Node, rule: _Rule) -> None:
        """Append the tangents of a node's results: the transposition of its gradient rule."""
        b.loc = Derived("tangent", (node.loc,), subject=node.op.name)
        values = [value for value in node.results if differentiable(value.type)]
        try:
            self._push_to(b, node, rule, values)
        except errors.NoGradient:
            if len(values) < 2:
                raise
            for value in values:  # one of them may have no derivative, which is an error where it is used
                try:
                    self._push_to(b, node, rule, [value])
                except errors.NoGradient as error:
                    self._refused[value] = error

    def _push_to(self, b: Builder, node: Node, rule: _Rule, values: Sequence[Value]) -> None:
        """Append the tangents of some results of a node; NoGradient if one of them has none."""
        seeds = {value: Value(value.type, value.hint) for value in values}
        if not seeds:
            return
        pulled, backward = b.inner(), b.inner()
        try:
            cotangents = rule(pulled, node, *map(seeds.get, node.results))
            pairs = [(ct, tangent) for atom, ct in zip(node.operands, cotangents, strict=True)
                     if ct is not None and (tangent := self.tangent(atom)) is not None]
            outputs, given = [ct for ct, _ in pairs], [tangent for _, tangent in pairs]
            sweep, found = swept(backward, pulled.nodes, outputs, given, [*seeds.values()], self._module)
        except errors.NoGradient as error:
            _refuse(node, error.diagnostic.label or error.diagnostic.title, error)
        except NotDifferentiable as error:
            _refuse(node, str(error), error)
        except NamedSizes as error:
            _refuse(node, f"the derivative of `{node.op.name}` needs known sizes ({error}): run the pass `specialize` first", error)
        new = {value for made in backward.nodes for value in made.results}
        there = [part for tangent in found for part in _atoms(tangent)]
        forward = b.inner()
        extended(forward, pulled.nodes, sweep.looked, sweep.needed(free_values(backward.nodes, there)))
        made = living([*forward.nodes, *backward.nodes], there, self._module)
        if not {*seeds.values()}.isdisjoint(free_values(made, there)):
            raise InternalError(f"the gradient of `{node.op.name}` is not linear in the cotangent, at {node.loc}")
        b.nodes += [replace(each, loc=b.loc) for each in made]
        for value, tangent in zip(values, found, strict=True):
            made_here = None if tangent is None else value_of(tangent)
            if isinstance(made_here, Value) and made_here in new:
                made_here.hint = f"{value.hint}'"
            self._set(value, tangent)

    def _pullback_of_call(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        """Emit the pullback of its own that a called function names, with all nodes of it."""
        module = self._module
        assert isinstance(node.op, Call)
        function = module.functions[node.op.symbol] if module is not None else None
        if module is None or function is None or function.vjp is None:
            _refuse(node, f"@{node.op.symbol} calls itself: recursion has no derivative")
        rule = inlined(module.functions[function.vjp], module)
        full = [_zeros(b, y.type) if ct is None else ct for y, ct in zip(node.results, cotangents, strict=True)]
        known = dict(zip(rule.params, [*node.operands, *node.results, *full], strict=True))
        Rewriter().nodes(b, rule.body.nodes, known)
        return [became(atom, known) for atom in rule.body.results]

    # -- control flow ------------------------------------------------------------------------------------------------------
    def _control(self, b: Builder, node: Node) -> None:
        """Append a node with regions that computes its values and their tangents together."""
        seen = (*node.operands, *(value for region in node.regions for value in free_of(region)))
        if not self._state and not any(self.tangent(atom) is not None for atom in seen):
            b.append(node)
            return
        b.loc = node.loc
        match node.op:
            case If():
                self._if(b, node)
            case Cell() as op:
                if op.symbol:
                    _refuse(node, f"{op.title} has backward hooks, and branches or loops inside")
                self._cell(b, node, op)
            case _:
                self._loop(b, node)

    def _if(self, b: Builder, node: Node) -> None:
        condition, before, around = node.operands[0], dict(self._state), self._sides
        sides: list[tuple[Builder, list[Cotangent | None], dict[str, Cotangent]]] = []
        for region, known in zip(node.regions, (True, False), strict=True):
            self._state, self._sides = dict(before), {**around, condition: known}
            inner = b.inner()
            self.nodes(inner, region.nodes, region.results)
            sides.append((inner, [self.tangent(atom) if differentiable(atom.type) else None for atom in region.results], self._state))
        self._sides = around
        (first, found, state), (second, other_found, other_state) = sides
        merge = _Merge(condition, (first, second))
        for value, one, other, *yielded in zip(node.results, found, other_found, *(region.results for region in node.regions), strict=True):
            free = [atom in self._undefined for atom in yielded]
            merge.add(value, f"{value.hint}'", value.type, one, other, free)
        self._state = {symbol: tangent for symbol, tangent in state.items() if other_state.get(symbol) is tangent}
        for symbol, known in {**state, **other_state}.items():
            if symbol not in self._state:
                merge.add(symbol, f"{symbol}'", known.type, state.get(symbol), other_state.get(symbol), (False, False))
        regions = [inner.finish([*region.results, *more], (), region.loc)
                   for region, inner, more in zip(node.regions, (first, second), merge.yields, strict=True)]
        b.emit_node(node.op, node.operands, regions=regions, results=(*node.results, *merge.results))
        for key, tangent in merge.merged.items():
            if isinstance(key, Value):
                self._set(key, tangent)
            else:
                self._write(key, tangent)

    def _cell(self, b: Builder, node: Node, op: Cell) -> None:
        """Append a cell with branches or loops, to which tangents are passed, and which returns tangents."""
        (body,) = node.regions
        passed = [self.tangent(atom) for atom in node.operands]
        params = [carried_as(param.type, param.hint, status_of(tangent)) for param, tangent in zip(body.params, passed, strict=True)]
        for param, tangent in zip(body.params, params, strict=True):
            self._set(param, tangent)
        inner = b.inner()
        self.nodes(inner, body.nodes, body.results)
        found = [self.tangent(atom) for atom in body.results]
        symbols = dict(self._state)
        more = [part for atom, tangent in zip((*body.results, *symbols.values()), (*found, *symbols.values()), strict=True)
                for part in filled(inner, status_of(tangent), tangent, atom.type)]
        region = inner.finish([*body.results, *more], [*body.params, *(part for tangent in params for part in parts_of(tangent))], body.loc)
        new = [carried_as(value.type, value.hint, status_of(tangent)) for value, tangent in zip(node.results, found, strict=True)]
        kept = {symbol: carried_as(tangent.type, symbol, status_of(tangent)) for symbol, tangent in symbols.items()}
        operands = [part for atom, tangent in zip(node.operands, passed, strict=True)
                    for part in filled(b, status_of(tangent), tangent, atom.type)]
        b.emit_node(Cell(op.title), [*node.operands, *operands], regions=[region],
                    results=(*node.results, *(part for tangent in (*new, *kept.values()) for part in parts_of(tangent))))
        for value, tangent in zip(node.results, new, strict=True):
            self._set(value, tangent)
        self._state = {symbol: tangent for symbol, tangent in kept.items() if tangent is not None}

    def _loop(self, b: Builder, node: Node) -> None:
        """Append a `for` or `while` that carries tangents beside its values, for those that have one in some round."""
        *tests, body = node.regions
        initial, carried = node.operands[len(node.operands) - len(node.results) :], body.params[len(body.params) - len(node.results) :]
        before = dict(self._state)
        written = {inner.op.symbol: inner.operands[0].type for inner in walk(body) if isinstance(inner.op, Write)}
        slots = [*((param.type, param.hint) for param in carried), *((type_, symbol) for symbol, type_ in written.items())]
        starts = [*(self.tangent(atom) if differentiable(atom.type) else None for atom in initial), *map(before.get, written)]
        statuses = [status_of(start) for start in starts]
        while True:  # what a round yields may have a tangent where the initial value has none
            params = [carried_as(type_, hint, status) for (type_, hint), status in zip(slots, statuses, strict=True)]
            for param, tangent in zip(carried, params, strict=False):
                self._set(param, tangent)
            self._state = {symbol: tangent for symbol, tangent in before.items() if symbol not in written}
            for symbol, tangent in zip(written, params[len(carried) :], strict=True):
                self._write(symbol, tangent)
            inner = b.inner()
            self.nodes(inner, body.nodes, body.results)
            found = [*(self.tangent(atom) if differentiable(atom.type) else None for atom in body.results), *map(self._state.get, written)]
            joined = [joined_status(status, status_of(tangent), type_)
                      for status, tangent, (type_, _) in zip(statuses, found, slots, strict=True)]
            for i, (first, last) in enumerate(zip(initial, body.results, strict=True)):
                if last in self._undefined:
                    joined[i] = statuses[i]
                elif first in self._undefined and statuses[i] == "never":
                    joined[i] = status_of(found[i])
            if joined == statuses:
                break
            statuses = joined
        start = [part for status, tangent, (type_, _) in zip(statuses, starts, slots, strict=True)
                 for part in filled(b, status, tangent, type_)]
        yields = [part for status, tangent, (type_, _) in zip(statuses, found, slots, strict=True)
                  for part in filled(inner, status, tangent, type_)]
        more = [part for tangent in params for part in parts_of(tangent)]
        regions = [Region((*test.params, *more), test.nodes, test.results, test.loc) for test in tests]
        regions.append(inner.finish([*body.results, *yields], [*body.params, *more], body.loc))
        new = [carried_as(type_, hint, status) for (type_, hint), status in zip(
            [*((value.type, value.hint) for value in node.results), *slots[len(carried) :]], statuses, strict=True)]
        b.emit_node(node.op, [*node.operands, *start], regions=regions,
                    results=(*node.results, *(part for tangent in new for part in parts_of(tangent))))
        if isinstance(node.op, For) and known_rounds(node.operands[:3]):
            new = [value_of(tangent) if tangent is not None and status_of(last) == "always" else tangent
                   for tangent, last in zip(new, found, strict=True)]
        for value, tangent in zip(node.results, new, strict=False):
            self._set(value, tangent)
        self._state = {symbol: tangent for symbol, tangent in before.items() if symbol not in written}
        for symbol, tangent in zip(written, new[len(carried) :], strict=True):
            self._write(symbol, tangent)


class _Merge:
    """Collects what the sides of an `if` yield for tangents, and what these have become after it.

    condition  the condition of the `if`
    sides      the Builders of its sides
    yields     the atoms that each side yields
    results    the new values for these
    merged     the tangents after the `if`, by the keys given
    """

    def __init__(self, condition: Atom, sides: tuple[Builder, Builder]):
        self._condition, self._sides = condition, sides
        self.yields: tuple[list[Atom], list[Atom]] = ([], [])
        self.results: list[Value] = []
        self.merged: dict[Value | str, Cotangent | None] = {}

    def add(self, key: Value | str, hint: str, type_: Type, one: Cotangent | None, other: Cotangent | None, free: Sequence[bool]) -> None:
        """Add a tangent.

        key         the value, or the symbol of the parameter, of which it is the tangent
        one, other  the tangent on each side
        free        for each side, True if it may be anything there
        """
        if one is other:
            self.merged[key] = one
            return
        if isinstance(type_, StackType):  # as many tangents are popped as were pushed
            one, other = (_zeros(b, type_) if ct is None else ct for b, ct in zip(self._sides, (one, other), strict=True))
        pairs, taken = merged(self._sides, self._condition, one, other, type_, free)
        for yields, atoms in zip(self.yields, zip(*pairs, strict=True), strict=True):
            yields += atoms
        new = [Value(pair[0].type, name) for pair, name in zip(pairs, (hint, "there"), strict=False)]
        self.results += new
        self.merged[key] = taken(new)


def _is_straight(node: Node) -> bool:
    """Return True if a cell contains no branches and loops."""
    return not any(isinstance(inner.op, (If, For, While)) for inner in walk(node.regions[0]))


def _atoms(tangent: Cotangent | None) -> list[Atom]:
    """Return the atoms of which a tangent consists."""
    if isinstance(tangent, Sometimes):
        return [tangent.value, tangent.bit]
    return [] if tangent is None else [tangent]


def _zeros(b: Builder, type_: Type) -> Atom:
    """Return the tangent of a value that has none; for a stack an empty one, since as many tangents are popped as were pushed."""
    return b.stack(results=(type_,)) if isinstance(type_, StackType) else b.nothing(type_)


def _refuse(node: Node, why: str, cause: Exception | None = None) -> NoReturn:
    raise errors.NoGradient.of(errors.NO_DERIVATIVE, node.loc, why) from cause
