"""Forward-mode differentiation: the derivative of some values along a direction, computed beside them.

Let x' be the tangent of x: its derivative along the direction.

    y = op(x)                 y' = J x', where x'' = J^T y'' is the op's gradient rule for a cotangent y''

The rule is linear in y''.  So J is its transposition, and the reverse pass over the nodes of the rule, by y'', gives it.  What the rule
computes only for the cotangent is dead code then.  Where an op is used twice, y' has one sum; for a product it has two terms:

    y = mul(a, b)             a'' = mul(y'', b), b'' = mul(y'', a)         y' = add(mul(a', b), mul(b', a))

Control flow carries tangents beside the values.  No stack is needed, and no value is kept longer than without a derivative:

    y = if c { R } else { S }                    y, y' = if c { R; R' } else { S; S' }         zeros on a side without a tangent
    y = for i in range carry (a) { R }           y, y' = for i in range carry (a, a') { R; R' }
    y = while carry (a) test { T } do { R }      y, y' = while carry (a, a') test { T } do { R; R' }         T has no tangent
    y = cell carry (x = a) { R }                 the cell, whose values inside become results where R' uses them; then R'
    write! @w(v), x = read @w                    x' = v'

A value has no tangent if it does not depend on what has one, and no node is made for it.  Hooks on gradients have no part in this: a
tangent is no gradient, and passes them by.  A function of the user's that computes a gradient in Python, a `bprop` or what a hook does
inside of an inner gradient, has no nodes to transpose: that is an error here.
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
from adjoint.ir.ops.control import Call, Cell, Differentiated, For, If, RegionOp, While
from adjoint.ir.ops.conversion import Identity
from adjoint.ir.ops.host import Attach, Hook, Outputs, Pack
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import NamedSizes, StackType, Type
from adjoint.passes import errors
from adjoint.passes.activity import differentiable
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
    found = [forward.tangent(atom) for atom in outputs]
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
        self._tangents: dict[Value, Atom] = dict(directions)
        self._state: dict[str, Atom] = {}
        """For each symbol of a parameter that was written with a value that has a tangent: that tangent."""
        self._refused: dict[Value, Exception] = {}
        """The results of nodes that have no derivative, although other results of these have one, with the errors that say so."""
        self._module = module

    def tangent(self, atom: Atom) -> Atom | None:
        """Return the tangent of an atom, None if it has none; NoGradient if it has no derivative."""
        if atom in self._refused:
            raise self._refused[atom]
        return None if isinstance(atom, Literal) else self._tangents.get(atom)

    def or_zero(self, b: Builder, atom: Atom) -> Atom:
        """Return the tangent of an atom, zeros if it has none."""
        found = self.tangent(atom)
        return _zeros(b, atom.type) if found is None else found

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
        used.update(found for atom in results if isinstance(found := self.tangent(atom), Value))
        extended(b, made.nodes, {}, used)

    def beside(self, b: Builder, nodes: Sequence[Node]) -> None:
        """Append the tangents of nodes alone."""
        for node in nodes:
            match node.op:
                case Read(symbol=symbol):
                    self._set(node.result, self._state.get(symbol))
                case Write(symbol=symbol):
                    self._write(symbol, self.tangent(node.operands[0]))
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

    def _set(self, value: Value, tangent: Atom | None) -> None:
        if tangent is None or not differentiable(value.type):
            self._tangents.pop(value, None)
        else:
            self._tangents[value] = tangent

    def _write(self, symbol: str, tangent: Atom | None) -> None:
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
        tangents = [None if ct is None else sweep.or_zero(ct, value.type) for ct, value in zip(found, values, strict=True)]
        there = [tangent for tangent in tangents if tangent is not None]
        forward = b.inner()
        extended(forward, pulled.nodes, sweep.looked, sweep.needed(free_values(backward.nodes, there)))
        made = living([*forward.nodes, *backward.nodes], there, self._module)
        if not {*seeds.values()}.isdisjoint(free_values(made, there)):
            raise InternalError(f"the gradient of `{node.op.name}` is not linear in the cotangent, at {node.loc}")
        b.nodes += [replace(each, loc=b.loc) for each in made]
        for value, tangent in zip(values, tangents, strict=True):
            if tangent in new and isinstance(tangent, Value):
                tangent.hint = f"{value.hint}'"
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
        before = dict(self._state)
        sides: list[tuple[Builder, dict[str, Atom]]] = []
        for region in node.regions:
            self._state = dict(before)
            inner = b.inner()
            self.nodes(inner, region.nodes, region.results)
            sides.append((inner, self._state))
        places = [i for i, value in enumerate(node.results) if differentiable(value.type)
                  and any(self.tangent(region.results[i]) is not None for region in node.regions)]
        states = [state for _, state in sides]
        self._state = {symbol: atom for symbol, atom in states[0].items() if states[1].get(symbol) is atom}
        symbols = {symbol: atom.type for state in states for symbol, atom in state.items() if symbol not in self._state}
        regions: list[Region] = []
        for region, (inner, state) in zip(node.regions, sides, strict=True):
            more = [self.or_zero(inner, region.results[i]) for i in places]
            more += [_zeros(inner, type_) if (atom := state.get(symbol)) is None else atom for symbol, type_ in symbols.items()]
            regions.append(inner.finish([*region.results, *more], (), region.loc))
        new = [Value(node.results[i].type, f"{node.results[i].hint}'") for i in places]
        new += [Value(type_, f"{symbol}'") for symbol, type_ in symbols.items()]
        b.emit_node(node.op, node.operands, regions=regions, results=(*node.results, *new))
        for i, tangent in zip(places, new, strict=False):
            self._set(node.results[i], tangent)
        self._state.update(zip(symbols, new[len(places) :], strict=True))

    def _cell(self, b: Builder, node: Node, op: Cell) -> None:
        """Append a cell with branches or loops, to which tangents are passed, and which returns tangents."""
        (body,) = node.regions
        given = [(param, tangent) for param, atom in zip(body.params, node.operands, strict=True) if (tangent := self.tangent(atom))]
        params = [Value(tangent.type, f"{param.hint}'") for param, tangent in given]
        for (param, _), tangent in zip(given, params, strict=True):
            self._set(param, tangent)
        inner = b.inner()
        self.nodes(inner, body.nodes, body.results)
        found = [(value, tangent) for value, atom in zip(node.results, body.results, strict=True) if (tangent := self.tangent(atom))]
        symbols = dict(self._state)
        region = inner.finish([*body.results, *(tangent for _, tangent in found), *symbols.values()], [*body.params, *params], body.loc)
        new = [Value(tangent.type, f"{value.hint}'") for value, tangent in found]
        kept = [Value(atom.type, f"{symbol}'") for symbol, atom in symbols.items()]
        b.emit_node(Cell(op.title), [*node.operands, *(tangent for _, tangent in given)], regions=[region],
                    results=(*node.results, *new, *kept))
        for (value, _), tangent in zip(found, new, strict=True):
            self._set(value, tangent)
        self._state = dict(zip(symbols, kept, strict=True))

    def _loop(self, b: Builder, node: Node) -> None:
        """Append a `for` or `while` that carries tangents beside its values, for those that have one in some round."""
        *tests, body = node.regions
        initial, carried = node.operands[len(node.operands) - len(node.results) :], body.params[len(body.params) - len(node.results) :]
        has = [differentiable(param.type) and self.tangent(atom) is not None for param, atom in zip(carried, initial, strict=True)]
        before = dict(self._state)
        types = {inner.op.symbol: inner.operands[0].type for inner in walk(body) if isinstance(inner.op, Write)}
        states = {symbol: symbol in before for symbol in types}
        while True:  # what a round yields may have a tangent where the initial value has none
            params = [Value(param.type, f"{param.hint}'") if there else None for param, there in zip(carried, has, strict=True)]
            for param, tangent in zip(carried, params, strict=True):
                self._set(param, tangent)
            kept = {symbol: Value(types[symbol], f"{symbol}'") for symbol, there in states.items() if there}
            self._state = {**{symbol: atom for symbol, atom in before.items() if symbol not in types}, **kept}
            inner = b.inner()
            self.nodes(inner, body.nodes, body.results)
            found = [there or (differentiable(param.type) and self.tangent(atom) is not None)
                     for there, param, atom in zip(has, carried, body.results, strict=True)]
            written = {symbol: there or symbol in self._state for symbol, there in states.items()}
            if found == has and written == states:
                break
            has, states = found, written
        places = [i for i, there in enumerate(has) if there]
        start = [self.or_zero(b, initial[i]) for i in places]
        start += [before[symbol] if symbol in before else _zeros(b, types[symbol]) for symbol in kept]
        yields = [self.or_zero(inner, body.results[i]) for i in places]
        yields += [self._state[symbol] if symbol in self._state else _zeros(inner, types[symbol]) for symbol in kept]
        more = [*(param for param in params if param is not None), *kept.values()]
        regions = [Region((*test.params, *more), test.nodes, test.results, test.loc) for test in tests]
        regions.append(inner.finish([*body.results, *yields], [*body.params, *more], body.loc))
        new = [Value(param.type, f"{value.hint}'") for value, param in zip([*(node.results[i] for i in places), *kept.values()], more,
                                                                          strict=True)]
        b.emit_node(node.op, [*node.operands, *start], regions=regions, results=(*node.results, *new))
        for i, tangent in zip(places, new, strict=False):
            self._set(node.results[i], tangent)
        self._state = {**{symbol: atom for symbol, atom in before.items() if symbol not in types},
                       **dict(zip(kept, new[len(places) :], strict=True))}


def _is_straight(node: Node) -> bool:
    """Return True if a cell contains no branches and loops."""
    return not any(isinstance(inner.op, (If, For, While)) for inner in walk(node.regions[0]))


def _zeros(b: Builder, type_: Type) -> Atom:
    """Return the tangent of a value that has none; for a stack an empty one, since as many tangents are popped as were pushed."""
    return b.stack(results=(type_,)) if isinstance(type_, StackType) else b.nothing(type_)


def _refuse(node: Node, why: str, cause: Exception | None = None) -> NoReturn:
    raise errors.NoGradient.of(errors.NO_DERIVATIVE, node.loc, why) from cause
