"""Identities of nodes: which node of one stage comes from which node of another.

A pass gives each node that it makes the location of the node that it comes from, or one that is derived from it.  So locations carry
identities: `Identities.numbered` gives each node of a parsed graph a location object of its own, and any node made of it leads back to that
object.  The text of the IR does not change, since the objects are equal to those before.

    numbered          y = mul(x, 2)   at net.py:5:9               5 is the number of the location object
    inline            y = mul(a, 2)   at inline(net.py:5:9, ..)   the chain (5, 8): node 5 in what the call 8 calls
    grad              x' = mul(y', 2) at grad[mul](net.py:5:9)    the same as the forward node's: (5,)
    cse, simplify     the value of node 5 is used in the place of that of node 9: `follow` is told, and (9,) joins (5,)

A number in a stage stands for a chain.  Two lines belong together if they share a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import At, Derived, Loc, Unknown, user_place
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, walk
from adjoint.ir.ops.control import Cell
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.state import Read
from adjoint.ir.plan import Plan
from adjoint.passes.rebuild import followed
from adjoint.runtime.inspection.origins import made_in

__all__ = ["Chain", "Identities", "Origin", "Stretch"]

Chain = tuple[int, ...]
"""The number of a node of the parsed graph, then those of the calls through which it was inlined, the innermost first."""


@dataclass(frozen=True)
class Origin:
    """A node of the parsed graph.

    node    the node, with a location object of its own
    around  the number of the node for the innermost cell that it is in; -1 if there is none
    """

    node: Node
    around: int


class Identities:
    """Numbers the nodes of a parsed graph, and leads nodes that passes have made back to them.

    origins  the nodes of the parsed graph, by number
    """

    def __init__(self) -> None:
        self.origins: list[Origin] = []
        self._numbers: dict[int, int] = {}
        self._chains: dict[int, tuple[Loc, tuple[Chain, ...]]] = {}
        self._ids: dict[Chain, int] = {}

    def numbered(self, module: Module) -> Module:
        """Return a module with the same values, in which each node has a location object of its own."""
        functions = {symbol: replace(function, body=self._region(function.body, -1)) for symbol, function in module.functions.items()}
        return Module(module.params, module.hosts, functions)

    def _region(self, region: Region, around: int) -> Region:
        return replace(region, nodes=tuple([self._node(node, around) for node in region.nodes]))

    def _node(self, node: Node, around: int) -> Node:
        number = len(self.origins)
        made = Node(node.op, node.operands, node.results, (), _own(node.loc))
        self.origins.append(Origin(made, around))
        self._numbers[id(made.loc)] = number
        if not node.regions:
            return made
        inside = number if isinstance(node.op, Cell) else around
        return Node(node.op, node.operands, node.results, tuple([self._region(region, inside) for region in node.regions]), made.loc)

    def matched(self, module: Module) -> Module:
        """Return another module of the same program, such as what a run did, in which nodes have the numbers of nodes of the parsed graph:
        of a cell or a read that of the same cell or symbol; else that at the same place, or at least in the same cell, with the same op,
        in order; else the first at that place.
        """
        at: dict[Any, list[int]] = {}
        for number, origin in enumerate(self.origins):
            for key in _likenesses(origin.node):
                at.setdefault(key, []).append(number)

        def again(region: Region) -> Region:
            return replace(region, nodes=tuple([matched(node) for node in region.nodes]))

        def matched(node: Node) -> Node:
            loc, same = _own(node.loc), next((at[key] for key in _likenesses(node) if key in at), [-1])
            found = same.pop(0) if len(same) > 1 else same[0]
            if found >= 0:
                self._numbers[id(loc)] = found
                self._chains[id(loc)] = loc, ((found,),)
            return Node(node.op, node.operands, node.results, tuple([again(region) for region in node.regions]), loc)

        functions = {symbol: replace(function, body=again(function.body)) for symbol, function in module.functions.items()}
        return Module(module.params, module.hosts, functions)

    def chains(self, loc: Loc) -> tuple[Chain, ...]:
        """Return the chains of the nodes to which a location leads back."""
        known = self._chains.get(id(loc))
        if known is None:
            known = self._chains[id(loc)] = loc, self._found(loc)  # keeps the location alive, since its id is the key
        return known[1]

    def _found(self, loc: Loc) -> tuple[Chain, ...]:
        number = self._numbers.get(id(loc))
        if number is not None:
            return ((number,),)
        if not isinstance(loc, Derived):
            return ()
        if loc.kind == "inline" and len(loc.of) == 2:
            inner, outer = map(self.chains, loc.of)
            return tuple([a + b for a in inner for b in outer]) if inner and outer else inner or outer
        return tuple(dict.fromkeys(chain for each in loc.of for chain in self.chains(each)))

    def id(self, chain: Chain) -> int:
        """Return the number of a chain, which stays the same in all stages."""
        return self._ids.setdefault(chain, len(self._ids))

    def whole(self) -> dict[Chain, list[int]]:
        """Return for each chain that is a part of longer ones the numbers of these: a node of a function with its copies in the functions
        that call it, and a call with what it calls.
        """
        found: dict[Chain, list[int]] = {}
        for chain, number in self._ids.items():
            for begin in range(len(chain)):
                for end in range(begin + 1, len(chain) + 1):
                    if end - begin < len(chain):
                        found.setdefault(chain[begin:end], []).append(number)
        return found


def _likenesses(node: Node) -> list[Any]:
    """Return what a node of the graph and one that a run has recorded may have in common if they are the same, the surest first."""
    match node.op:
        case Cell(title=title):
            return [("cell", title)]
        case Read(symbol=symbol):
            return [("read", symbol)]
        case op:
            place = user_place(node.loc)
            at = [] if place is None else [(place.file, place.line, place.column)]
            return [*((each, op.name) for each in at), (made_in(node.loc).cell, op.name), *at]


def _own(loc: Loc) -> Loc:
    """Return a new object that equals a location."""
    match loc:
        case At():
            return At(loc.file, loc.line, loc.column, loc.end, loc.within)
        case Derived():
            return Derived(loc.kind, loc.of, loc.subject)
        case _:
            return Unknown(loc.written, loc.source, loc.within)


@dataclass
class Stretch:
    """A series of stages, each made from the one before; knows which nodes were used in the place of others so far.

    joined  for a chain, those of the nodes in whose place its node is used
    """

    identities: Identities
    joined: dict[Chain, dict[Chain, None]] = field(default_factory=dict)
    _seen: list[tuple[Node, Sequence[Atom]]] = field(default_factory=list)

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the passes that run in a `with` statement; `join` then says what they have put in the place of what."""
        with followed(lambda node, atoms: self._seen.append((node, atoms))):
            yield

    def join(self, functions: Iterable[Function]) -> None:
        """Let nodes of functions that passes have made stand for those in whose place they are used."""
        makers = {value: node for function in functions for node in walk(function.body) for value in node.results}
        became: dict[Value, list[Value]] = {}
        for node, atoms in self._seen:
            for value, atom in zip(node.results, atoms, strict=False):
                if atom is not value and isinstance(atom, Value):
                    became.setdefault(value, []).append(atom)
        ends: dict[Value, set[Value]] = {}

        def last(value: Value) -> set[Value]:
            known = ends.get(value)
            if known is None:
                ends[value] = set()  # a value never becomes itself; this ends the search if it should
                known = ends[value] = {end for atom in became.get(value, ()) for end in last(atom)} if value in became else {value}
            return known

        for node, _ in self._seen:
            own = self.identities.chains(node.loc)
            found = {id(maker): maker for value in node.results for end in last(value) if (maker := makers.get(end)) is not None}
            there = [chain for maker in found.values() for chain in self.identities.chains(maker.loc)]
            for chain in own:
                if not any(_is_part(chain, longer) for longer in there):  # else the node is there itself
                    for each in there:
                        self.joined.setdefault(each, {})[chain] = None
        self._seen.clear()

    def join_plan(self, parts: Iterable[str | Plan | Function]) -> None:
        """Do what `join` does, for the functions of plans."""
        self.join([part.function if isinstance(part, Plan) else part for part in parts if not isinstance(part, str)])

    def chains(self, node: Node) -> list[Chain]:
        """Return the chains of a node: its own, those of the nodes in whose place it is used, and those of the members of a fused node."""
        found: dict[Chain, None] = {}
        pending = [*self.identities.chains(node.loc)]
        if isinstance(node.op, Fused):
            pending += [chain for region in node.regions for inner in region.nodes for chain in self.identities.chains(inner.loc)]
        while pending:
            chain = pending.pop(0)
            if chain not in found:
                found[chain] = None
                pending += self.joined.get(chain, ())
        return list(found)

    def forked(self) -> Stretch:
        """Return the beginning of another series, which goes on from this stage."""
        return Stretch(self.identities, {chain: dict(others) for chain, others in self.joined.items()}, list(self._seen))


def _is_part(chain: Chain, longer: Chain) -> bool:
    """Return True if a chain is a part of another, or equals it."""
    size = len(chain)
    return any(longer[begin : begin + size] == chain for begin in range(len(longer) - size + 1))
