"""Unrolling: nodes on a few numbers each become one `unrolled` node, whose kernel has no loops.

    s = slice(x, start=[0], stop=[1])          y = unrolled carry (x1 = x, r1 = r) {
    m = mul(s, r)                                s1 = slice(x1, ...); m1 = mul(s1, r1); y1 = concat(m1, s1)
    y = concat(m, s)                             yield y1
                                               }

The nodes of a stretch (see `stretches.py`) on at most 16 numbers are grouped as follows:

    level     How often a path to the node leaves such nodes and returns to them.  Nodes of one level may be in one group, in their order:
              a path that leaves the level does not return to it.
    group     Consecutive nodes of one level whose kernels together are not too long.  Programs repeat themselves, as the steps of a solver
              do.  So among the places where it may end, a group ends where it hands over the fewest numbers to the nodes that follow,
              as after a step, and of several such places where the hash of what follows is smallest.  Equal parts of a program are then
              cut alike, and share kernels.
    fuse      Nodes over elements of one shape are left to the pass `fuse`, whose kernels serve all sizes; so are those that compute the
              gradient of an optimiser's step.
    kernels   If there would be too many different kernels, those that are used most often are made.

Exported C (`short`) is read by people, and flash is small.  So there:

    loops     A node that computes more than four numbers stays as it is: a loop is shorter.
    one node  A single node is unrolled, too: `x > 2` between branches is shorter than a call.
    lengths   Groups are cut for several limits, and those are taken for which the C is shortest.  A kernel that is used once is written
              where it is used, and one that is used again is a function.  So a program without equal parts is one piece of arithmetic, and
              in a program of equal steps each step is a call.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Function, Module, Node, Value, tensor_type
from adjoint.ir.ops.optimizers import Update
from adjoint.ir.ops.unrolled import Unrolled, kernel_of, unrolled_cost
from adjoint.passes.fuse import space_of
from adjoint.passes.manager import Pass
from adjoint.passes.stretches import Accept, Gathered, edges_of, in_order, regrouped

__all__ = ["Unroll", "unrolled"]

_COST: Final = 512
"""The limit for the operations of C in one kernel, and the numbers that it reads: with more, a compiler takes long, and a launch is little
beside them already."""
_ALIKE: Final = 8
"""The number of nodes after a place by which it is compared with other places."""
_NEAR: Final = 16
"""The number of nodes before and after a place that tell how many numbers one kernel would hand over to the next one there."""
_KERNELS: Final = 64
"""The limit for the number of different kernels that are made of one stretch, since each must be compiled."""
_SHORT_COSTS: Final = (256, 181, 128, 90, 64, 45, 32)
"""For exported C, the limits in the place of `_COST`, of which one is chosen.  The largest is some hundred lines, which a person reads as
one function.  Each of the others is smaller by the square root of 2, so that one of them fits the length of a step."""
_SHORT_NUMBERS: Final = 4
_SHORT_COST: Final = 32
"""For exported C, the limits for the numbers that a node computes, and for its operations: a product of two 2 x 2 matrices has 12, one of a
4 x 4 matrix and a vector 28.  With more, a loop has fewer lines and bytes."""
_CALL: Final = 2
"""For exported C, the length of a call of an unrolled kernel, besides its arguments, in operations."""
_LAUNCH: Final = 4
"""For exported C, that of a call of a kernel with a loop, which is told the sizes."""
_LOOP: Final = 10
"""For exported C, the length of a kernel with a loop."""


def unrolled(function: Function, accept: Accept = lambda node: True, *, short: bool = False) -> Function:
    """Replace groups of nodes on a few numbers by unrolled nodes, and return the function; each unrolled node is one kernel.

    It is the same object if there is nothing to unroll.  Results of nodes stay the same values.

    accept  returns False for an unrolled node whose nodes should stay separate
    short   True: the groups are those for exported C
    """
    least = 1 if short else 2
    return regrouped(function, lambda nodes, begin, users: _Few(nodes, begin, users, accept, short, least).unrolled(), least)


_Plan = list[tuple[list[int], Node, Any]]
"""Groups of nodes, each with the unrolled node that takes its place and what is equal for those of one kernel."""


class _Few:
    """Finds the nodes of a stretch that are on a few numbers each, and makes unrolled nodes of them.  Nodes are given by their indices.

    begin    the index of the first node in the region
    accept   called with a proposed node; returns True to use it, False to keep its nodes separate
    short    whether the groups are those for exported C
    maker    for each value, the node that computes it
    users    for each node, those that use its results; `len(nodes)` stands for uses after the stretch
    edges    for each node, the nodes that must come after it although they do not use its results
    least    of how many launches a group takes the place
    costs    for each node, how many operations of C compute it in an unrolled kernel; None if it cannot be in one
    """

    def __init__(self, nodes: list[Node], begin: int, users: dict[Value, list[int]], accept: Accept, short: bool, least: int):
        self.nodes, self.accept, self.short, self.least = nodes, accept, short, least
        self.maker = {value: i for i, node in enumerate(nodes) for value in node.results}
        self.costs = [self.cost(node) for node in nodes]
        self.edges = edges_of(nodes)
        end = begin + len(nodes)
        self.users = [{min(user, end) - begin for value in node.results for user in users.get(value, ())} for node in nodes]
        if not short:
            for i in self.of_steps():
                self.costs[i] = None
            self.costs = [None if cost is None else cost + self.read(i) for i, cost in enumerate(self.costs)]

    def unrolled(self) -> list[Node]:
        """Return the nodes of the stretch with those that `accept` allows unrolled; the same list if there are none."""
        if sum(cost is not None for cost in self.costs) < self.least:
            return self.nodes
        levels = self.levels()
        made = min([self.plan(levels, limit) for limit in (_SHORT_COSTS if self.short else (_COST,))], key=self.length)
        wanted = {kernel for kernel, _ in Counter(kernel for _, _, kernel in made).most_common(_KERNELS)}
        chosen = [(group, node) for group, node, kernel in made if kernel in wanted and self.accept(node)]
        if not chosen:
            return self.nodes
        inside = {i for group, _ in chosen for i in group}
        units = [(max(group), node) for group, node in chosen]
        units += [(i, node) for i, node in enumerate(self.nodes) if i not in inside]
        units += [(i, self.nodes[i]) for group, _ in chosen for i in self.again(group)]
        return in_order(units, self.edges)

    def cost(self, node: Node) -> int | None:
        """Return how many operations of C compute a node in an unrolled kernel; None if it stays as it is."""
        cost = unrolled_cost(node)
        if cost is None or (self.short and (cost.numbers > _SHORT_NUMBERS or cost.operations > _SHORT_COST)):
            return None
        return cost.operations

    def plan(self, levels: Sequence[Sequence[int]], limit: int) -> _Plan:
        """Return the groups of at most `limit` operations that become unrolled nodes."""
        groups = [group for level in levels for group in self.cut(level, limit) if self.launches(group) >= self.least]
        groups = groups if self.short else [group for group in groups if not self.fuses(group)]
        made = [(group, node, kernel_of(node)) for group in groups if (node := self.made(group)) is not None]
        return [one for one in made if self.text(*one[:2]) < self.calls(one[0])] if self.short else made

    def length(self, plan: _Plan) -> int:
        """Return how long the C of groups is, in operations, with that of the nodes on a few numbers that are in none of them."""
        uses = Counter(kernel for _, _, kernel in plan)
        texts = {kernel: self.text(group, node) for group, node, kernel in plan}
        inside = {i for group, _, _ in plan for i in group}
        alone = [i for i, cost in enumerate(self.costs) if cost is not None and i not in inside]
        loops = {type(self.nodes[i].op) for i in alone if not _names_its_operand(self.nodes[i])}
        called = sum(_CALL + _arguments(node) for _, node, kernel in plan if uses[kernel] > 1) + self.calls(alone)
        return sum(texts.values()) + called + _LOOP * len(loops)

    def text(self, group: Sequence[int], node: Node) -> int:
        """Return how many operations of C an unrolled node is, with the numbers that it reads from memory and writes there."""
        moved = [x for x in (*node.operands, *node.results) if isinstance(x, Value)]
        return sum(self.costs[i] or 0 for i in group) + sum(tensor_type(x).count for x in moved)

    def calls(self, nodes: Sequence[int]) -> int:
        """Return how many operations of C the calls are that launch separate nodes."""
        return sum(_LAUNCH + _arguments(self.nodes[i]) for i in nodes if not _names_its_operand(self.nodes[i]))

    def read(self, i: int) -> int:
        """Return how many numbers a node reads that are not computed by nodes on a few numbers: they are read from memory."""
        outside = [x for x in self.nodes[i].operands if isinstance(x, Value) and (x not in self.maker or self.costs[self.maker[x]] is None)]
        return sum(tensor_type(x).count for x in outside)

    def of_steps(self) -> set[int]:
        """Return the nodes that only compute the gradient of an optimiser's step, element by element: the pass `fuse` makes one kernel of
        these and the step, and all such kernels are one launch.
        """
        steps = {i for i, node in enumerate(self.nodes) if isinstance(node.op, Update)}
        found: set[int] = set()
        for i in reversed(range(len(self.nodes))):
            if self.users[i] and space_of(self.nodes[i]) is not None and all(user in found or user in steps for user in self.users[i]):
                found.add(i)
        return found

    def levels(self) -> list[list[int]]:
        """Return the nodes of each level, in their order."""
        level = [0] * len(self.nodes)
        levels: list[list[int]] = []
        for i, node in enumerate(self.nodes):
            few = self.costs[i] is not None
            for maker in {self.maker[x] for x in node.operands if isinstance(x, Value) and x in self.maker}:
                level[i] = max(level[i], level[maker] + (self.costs[maker] is not None and not few))
            for after in self.edges[i]:
                level[after] = max(level[after], level[i])
            if few:
                levels += [[] for _ in range(level[i] + 1 - len(levels))]
                levels[level[i]].append(i)
        return levels

    def cut(self, level: Sequence[int], limit: int) -> list[list[int]]:
        """Split the nodes of a level into groups for one kernel each, of at most `limit` operations."""
        costs = [self.costs[i] or 0 for i in level]
        kinds = [_kind(self.nodes[i]) for i in level]
        groups: list[list[int]] = []
        begin = 0
        while begin < len(level):
            cost, end, places = 0, begin, list[int]()
            while end < len(level) and (end == begin or cost + costs[end] <= limit):
                if 2 * cost >= limit:
                    places.append(end)
                cost += costs[end]
                end += 1
            if end < len(level) and places:
                end = min(places, key=lambda place: (self.crossing(level, place), _hash_of(kinds[place : place + _ALIKE])))
            groups.append([*level[begin:end]])
            begin = end
        return groups

    def crossing(self, level: Sequence[int], place: int) -> int:
        """Return how many results of the nodes just before a place of a level are used by those just after it: few between two steps."""
        after = {*level[place : place + _NEAR]}
        return sum(not after.isdisjoint(self.users[i]) for i in level[max(0, place - _NEAR) : place])

    def launches(self, group: Sequence[int]) -> int:
        """Return how many launches the nodes of a group are when they are separate."""
        return sum(not _names_its_operand(self.nodes[i]) for i in group)

    def fuses(self, group: Sequence[int]) -> bool:
        """Return True if the nodes of a group are over elements of one shape: the pass `fuse` makes one kernel of them, for all sizes."""
        spaces = {space_of(self.nodes[i]) for i in group if not _names_its_operand(self.nodes[i])}
        return len(spaces) == 1 and None not in spaces

    def again(self, group: Sequence[int]) -> list[int]:
        """Return the nodes of a group that also stay separate: their results are used elsewhere, and only name their operands."""
        members, found = set(group), set[int]()
        for i in reversed(group):
            if _names_its_operand(self.nodes[i]) and any(user not in members or user in found for user in self.users[i]):
                found.add(i)
        return sorted(found)

    def made(self, group: Sequence[int]) -> Node | None:
        """Return the unrolled node of a group; None if nothing uses a result of it."""
        members, again, gathered = set(group), set(self.again(group)), Gathered()
        results: list[Value] = []
        for i in group:
            gathered.add(self.nodes[i], self.nodes[i].operands)
            if i not in again and any(user not in members or user in again for user in self.users[i]):
                results += self.nodes[i].results
        return gathered.node(Unrolled(), results, self.nodes[self.maker[results[-1]]].loc) if results else None


def _arguments(node: Node) -> int:
    """Return how many pointers a call of the node's kernel takes."""
    return len(node.operands) + len(node.results)


def _names_its_operand(node: Node) -> bool:
    return getattr(node.op, "aliases", False)


def _kind(node: Node) -> int:
    """Return a number that is the same for nodes of one op and types, in every process."""
    return zlib.crc32(f"{node.op!r} {[str(x.type) for x in node.operands]}".encode())


def _hash_of(kinds: Sequence[int]) -> int:
    return zlib.crc32(b"".join([kind.to_bytes(4, "little") for kind in kinds]))


@dataclass(frozen=True)
class Unroll(Pass):
    """The pass `unroll`: replace nodes on a few numbers each by nodes whose kernels have no loops.

    short   True: the groups are those for exported C
    accept  called with each proposed unrolled node; it returns False if the nodes should stay separate
    """

    name: ClassVar[str] = "unroll"
    short: bool = False
    accept: Accept = field(default=lambda node: True, repr=False)

    def on_function(self, function: Function, module: Module) -> Function:
        return unrolled(function, self.accept, short=self.short)
