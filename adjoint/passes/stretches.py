"""Stretches: consecutive nodes of a region whose order may change, so that some of them become one node.

A pass that makes one node of several takes a region apart into stretches, finds groups of nodes in each, and puts all nodes into an order
in which each comes after those on which it depends.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from adjoint.foundation.diagnostics import InternalError, Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value, free_of
from adjoint.ir.op import Effect, Op
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import StackType, TensorType
from adjoint.passes.cse import same_key
from adjoint.passes.rebuild import with_nodes, with_regions

__all__ = ["Accept", "Gathered", "Grouped", "edges_of", "in_order", "regrouped"]

Accept = Callable[[Node], bool]
"""A filter for nodes that a pass makes of several: called with such a node, it returns True to use it, False to keep its nodes separate."""

Grouped = Callable[[list[Node], int, dict[Value, list[int]]], list[Node]]
"""What a pass does with a stretch: called with its nodes, the index of the first of them in the region, and for each value the indices of
the nodes that use it, it returns the nodes that take their place."""


_WRITTEN_OUT = (0, 1, -1, 2, 0.5)
"""Literals that are written into the C text of a kernel.  Others are arguments of it: so one kernel serves all values of such a number."""


def regrouped(function: Function, grouped: Grouped, least: int = 2) -> Function:
    """Return a function with each stretch of at least so many nodes replaced, also in the regions of its nodes.

    It is the same object if nothing changed.  Results of nodes stay the same values.
    """
    body = _region(function.body, grouped, least)
    return function if body is function.body else replace(function, body=body)


def _region(region: Region, grouped: Grouped, least: int) -> Region:
    nodes = [_inside(node, grouped, least) for node in region.nodes]
    users = _users(nodes, region.results)
    out: list[Node] = []
    begin = 0
    for end in range(len(nodes) + 1):
        if end == len(nodes) or not _movable(nodes[end]):
            out += grouped(nodes[begin:end], begin, users) if end - begin >= least else nodes[begin:end]
            out += nodes[end : end + 1]
            begin = end + 1
    return with_nodes(region, out)


def _inside(node: Node, grouped: Grouped, least: int) -> Node:
    """Return the node with the stretches in its regions replaced; results and parameters stay the same values.

    The same object is returned if nothing changed, for a node that is fused already, and for a gradient, which must see single nodes.
    """
    if isinstance(node.op, (Fused, Differentiated)):
        return node
    return with_regions(node, [_region(region, grouped, least) for region in node.regions])


def _users(nodes: Sequence[Node], results: Sequence[Atom]) -> dict[Value, list[int]]:
    """Return for each value the indices of the nodes that use it; the index `len(nodes)` stands for the end of the region."""
    users: dict[Value, list[int]] = {}
    for index, node in enumerate(nodes):
        for atom in (*node.operands, *(value for inner in node.regions for value in free_of(inner))):
            if isinstance(atom, Value):
                users.setdefault(atom, []).append(index)
    for atom in results:
        if isinstance(atom, Value):
            users.setdefault(atom, []).append(len(nodes))
    return users


def _movable(node: Node) -> bool:
    if (node.regions and not isinstance(node.op, Fused)) or not (node.op.effect is Effect.PURE or isinstance(node.op, (Read, Write))):
        return False
    return all(isinstance(x.type, (TensorType, StackType)) for x in (*node.operands, *node.results))


def edges_of(nodes: Sequence[Node]) -> list[list[int]]:
    """Return for each node the indices of later nodes that must stay after it although they do not read its results: reads and writes of
    the same parameter, and nodes that may fail.
    """
    edges: list[list[int]] = [[] for _ in nodes]
    reads: dict[str, list[int]] = {}
    writes: dict[str, int] = {}
    failing, written = -1, list[int]()  # the node that may fail last, and the writes after it
    for i, node in enumerate(nodes):
        if isinstance(node.op, (Read, Write)) and node.op.symbol in writes:
            edges[writes[node.op.symbol]].append(i)
        if isinstance(node.op, Read):
            reads.setdefault(node.op.symbol, []).append(i)
        elif isinstance(node.op, Write):
            for read in reads.pop(node.op.symbol, ()):
                edges[read].append(i)
            writes[node.op.symbol] = i
            written.append(i)
            if failing >= 0:
                edges[failing].append(i)
        elif node.op.may_fail:
            for before in (written or [failing]):
                if before >= 0:
                    edges[before].append(i)
            failing, written = i, []
    return edges


class Gathered:
    """Copies nodes into the region of one node.  What they read of others becomes a parameter of it, and so do most numbers."""

    def __init__(self) -> None:
        self._inner = Builder()
        self._known: dict[Value, Value] = {}
        self._params: dict[Any, tuple[Value, Atom]] = {}

    def add(self, node: Node, operands: Sequence[Atom], position: int | None = None) -> None:
        """Copy a node.

        operands  its operands
        position  the only operand that may be a number in the text of the kernel; None if all may
        """
        given = [self._inside(atom, node.op, at, position in (None, at)) for at, atom in enumerate(operands)]
        made = self._inner.emit_node(node.op, given, hint=node.results[0].hint, loc=node.loc)
        self._known.update(zip(node.results, made.results, strict=True))

    def _inside(self, atom: Atom, op: Op, at: int, in_text: bool) -> Atom:
        if isinstance(atom, Value) and atom in self._known:
            return self._known[atom]
        if isinstance(atom, Literal) and in_text and _is_written_out(op, at, atom):
            return atom
        hint = atom.hint if isinstance(atom, Value) else "number"
        return self._params.setdefault(same_key(atom), (Value(atom.type, hint), atom))[0]

    def node(self, op: Op, results: Sequence[Value], loc: Loc) -> Node:
        """Return the node: its region holds the copies, and it defines `results`, which the originals defined."""
        params = self._params.values()
        region = self._inner.finish([self._known[value] for value in results], [param for param, _ in params])
        return Builder().emit_node(op, [atom for _, atom in params], regions=[region], results=results, loc=loc)


def _is_written_out(op: Op, position: int, literal: Literal) -> bool:
    """Return True if a literal is written into the C text of a kernel; False if it is passed as an argument, so that the text stays the
    same for other numbers.

    op, position  the op that takes the literal, and the index of this operand
    """
    if isinstance(op, Elementwise) and position in op.chosen_by:
        return True
    value = literal.value
    return not isinstance(value, complex) and value in _WRITTEN_OUT and not (value == 0 and math.copysign(1, value) < 0)


def in_order(units: Sequence[tuple[int, Node]], edges: Sequence[Sequence[int]]) -> list[Node]:
    """Return nodes in an order in which each comes after those that it reads, and otherwise as near to the old order as possible.

    units  the nodes, each with the index of the last node of the stretch that it stands for
    edges  see `edges_of`; nodes with edges stand for themselves
    """
    maker = {value: unit for unit, (_, node) in enumerate(units) for value in node.results}
    next_units: list[set[int]] = [set() for _ in units]
    for unit, (_, node) in enumerate(units):
        for x in node.operands:
            if isinstance(x, Value) and x in maker:
                next_units[maker[x]].add(unit)
    single = {i: unit for unit, (i, _) in enumerate(units)}
    for i, after in enumerate(edges):
        if after:
            next_units[single[i]].update(single[user] for user in after)
    waiting = [0] * len(units)
    for after in next_units:
        for unit in after:
            waiting[unit] += 1
    ready = [(units[unit][0], unit) for unit, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    ordered: list[Node] = []
    while ready:
        _, unit = heapq.heappop(ready)
        ordered.append(units[unit][1])
        for following in next_units[unit]:
            waiting[following] -= 1
            if not waiting[following]:
                heapq.heappush(ready, (units[following][0], following))
    if len(ordered) != len(units):
        raise InternalError("fused nodes depend on each other")
    return ordered
