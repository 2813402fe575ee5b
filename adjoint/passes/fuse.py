"""Fusing: elementwise nodes over the same elements become one `fused` node, with a reduction or an optimiser's step that reads their
results.

    c = tanh(x)          z, c = fused carry (x1 = x, y1 = y) {
    d = mul(c, y)          c1 = tanh(x1); d1 = mul(c1, y1); z1 = mean(d1)
    z = mean(d)            yield z1, c1
                         }                                          where c is used elsewhere, and d is not

A group is the nodes that become one fused node.  Groups never span a node that has regions, or effects other than on state.  The nodes
between two such nodes are grouped as follows:

    edges     A node depends on the nodes whose results it reads.  A write depends on the last write of its symbol and the reads since then,
              a read depends on the last write.  Nodes that may fail keep their order, also relative to writes: if a node fails, the writes
              after it are not done.
    level     Each node has a level: 0 if no node here depends on it, otherwise the lowest that its users allow.  A user allows its own
              level if both may be in one kernel, and one less otherwise.  A reduction takes the level of the node that it reads.  So a path
              that leaves a group never returns to it.
    group     Nodes of one level over elements of one shape that use each other's results or read the same large value.  A group is cut
              where the kernel would become too large for the processor's registers.
    end       A group ends in at most one reduction or step of an optimiser.
    rows      If a large value is reduced to one element for each row, the group may go on: values computed from such results count as
              computed over the elements of the rows.  Smaller values stay in a cache, and separate kernels are as fast.
    again     A group computes a cheap value again if it uses the value and reads its operands anyway, but no view of the value.
    views     A slice, a reversal or a transpose that only groups read is not computed: they read its operand in its place.  An exception is
              one whose elements along the last axis are far apart, and a small part of a value, which would keep the value alive.

Time and memory are linear in the number of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.core import Atom, Function, Module, Node, Value, tensor_type
from adjoint.ir.op import Effect
from adjoint.ir.ops.conversion import Examples, Identity, NoGrad, StopGradient
from adjoint.ir.ops.fused import Fused, cost_of, is_map, is_reduction, streamed, view_of
from adjoint.ir.ops.fused_rows import reduces_rows
from adjoint.ir.ops.loops import collapsed
from adjoint.ir.ops.shape import Broadcast, Reshape
from adjoint.ir.ops.views import View
from adjoint.passes.manager import Pass
from adjoint.passes.stretches import Accept, Gathered, edges_of, in_order, regrouped

__all__ = ["Fuse", "Stretch", "fused", "space_of"]

_COST = 128
"""The limit for the work of one fused kernel per element, in additions of float32; a group with more is cut."""
_REDUCTION = 16
"""The cost of a reduction in a fused kernel's sum of costs (see `_COST`).  It is high since the C code of a reduction is long."""
_OPERANDS = 16
"""The limit for the number of values that one kernel reads."""
_LARGE = 2**20
"""The bytes from which on a value is large: if it is reduced by rows and used again, its rows are computed one by one."""
_CHEAP = 8
"""A node that costs less per element (in additions of float32) may be computed again in another kernel, instead of storing its result."""
_NEAR = 2
"""The largest step between elements along the last axis with which a group reads a view: several elements are in one vector."""
_SMALL = 2**16
"""The bytes up to which a value is kept alive for groups that read any small part of it."""


def fused(function: Function, accept: Accept = lambda node: True) -> Function:
    """Replace groups of elementwise nodes by fused nodes, and return the function; each fused node is one kernel.

    It is the same object if there is nothing to fuse.  Results of nodes stay the same values.

    accept  returns False for a fused node whose nodes should stay separate
    """
    return regrouped(function, lambda nodes, begin, users: Stretch(nodes, begin, users, accept).fused())


class Stretch:
    """Finds the groups to fuse in a stretch: consecutive nodes without regions, and without effects other than on state.

    A group is a set of nodes that one kernel computes.  Nodes are given by their indices.

    begin   the index of the first of these nodes in the region
    accept  called with a proposed fused node; returns True to use it, False to keep its nodes separate
    maker   for each value, the node that computes it
    needed  for each node, True if it must stay: its results are used after the stretch, it has an effect, or it may fail
    spaces  for each node, the shape over whose elements its kernel loops; None for a node that cannot be in a group
    ends    for each reduction or optimiser's step, which can only end a group, the position of the operand that it reads element by
        element; otherwise None
    rows    for each node, True if it computes one element for each row: a reduction of rows, or a node that reads one
    edges   for each node, the nodes that must come after it although they do not use its results
    users   for each node, the nodes that use its results, and its edges; an `identity` or similar node that is not needed is skipped
    views   the nodes that are not computed: groups read their operands in their place
    """

    def __init__(self, nodes: list[Node], begin: int, users: dict[Value, list[int]], accept: Accept):
        self.nodes, self.accept = nodes, accept
        self.maker = {value: i for i, node in enumerate(nodes) for value in node.results}
        here = range(begin, begin + len(nodes))
        self.needed = [node.op.effect is not Effect.PURE or node.op.may_fail
                       or any(user not in here for value in node.results for user in users.get(value, ())) for node in nodes]
        self.ends = [streamed(node) for node in nodes]
        self.spaces = [space_of(node) for node in nodes]
        self.rows = [False] * len(nodes)
        self.renamed: dict[Value, Atom] = {}
        self.views: set[int] = set()
        for node in nodes:
            if isinstance(node.op, (Identity, Examples, StopGradient, NoGrad)):
                (x,) = node.operands
                self.renamed[node.result] = self.renamed.get(x, x) if isinstance(x, Value) else x
        for i in range(len(nodes)):
            self.find_rows(i)
        self.edges = edges_of(nodes)
        self.users = [list(after) for after in self.edges]
        for i in reversed(range(len(nodes))):
            if nodes[i].results and nodes[i].results[0] in self.renamed and not self.users[i] and not self.needed[i]:
                continue
            for maker in self.makers(self.operands(i)):
                self.users[maker].append(i)
        self.views = self.find_views()

    def fused(self) -> list[Node]:
        """Return the nodes after fusing: one fused node for each group that `accept` allows."""
        groups = self.groups(self.levels())
        while groups:
            grouping = _Grouping(self, groups)
            refused = [group for group, node in zip(groups, grouping.made, strict=True) if node is not None and not self.accept(node)]
            if not refused:
                return grouping.ordered()
            groups = [group for group in groups if group not in refused]
        return self.nodes

    def operands(self, i: int) -> tuple[Atom, ...]:
        """Return the operands of node `i` for use in a group: in place of the result of an `identity` or a similar node, the operand of
        that node.
        """
        given = self.nodes[i].operands
        if self.spaces[i] is None and i not in self.views:
            return given
        return tuple(self.renamed.get(x, x) if isinstance(x, Value) else x for x in given)

    def makers(self, atoms: Sequence[Atom]) -> list[int]:
        """Return the indices of the nodes of this stretch that compute the given values."""
        return list(dict.fromkeys(self.maker[x] for x in atoms if isinstance(x, Value) and x in self.maker))

    def joins(self, i: int, user: int) -> bool:
        """Return True if node `i` and node `user`, which reads its result, may be computed by one kernel: both over elements of one shape.
        """
        position = self.ends[user]
        if self.spaces[i] is None or self.spaces[i] != self.spaces[user]:
            return False
        if self.ends[i] is not None:
            return self.rows[i] and position is None
        return position is None or i not in self.makers([x for at, x in enumerate(self.operands(user)) if at != position])

    def levels(self) -> list[int]:
        """Return for each node a number, its level: only nodes of one level may be in one group, so that no path leaves a group and
        returns.
        """
        level = [0] * len(self.nodes)
        for i in reversed(range(len(self.nodes))):
            level[i] = min((level[user] - (not self.joins(i, user)) for user in self.users[i]), default=0)
        for i, node in enumerate(self.nodes):
            if is_reduction(node) and not any(self.joins(i, user) and level[user] == level[i] for user in self.users[i]):
                for maker in self.makers(self.operands(i)):
                    if self.joins(maker, i):
                        level[i] = level[maker]
        return level

    def groups(self, level: list[int]) -> list[list[int]]:
        """Return the groups to fuse, each as the indices of its nodes.

        level  the level of each node
        """
        joined = list(range(len(self.nodes)))

        def root(i: int) -> int:
            while joined[i] != i:
                joined[i] = joined[joined[i]]
                i = joined[i]
            return i

        readers: dict[tuple[Value, int], int] = {}
        for i, space in enumerate(self.spaces):
            if space is None:
                continue
            for user in self.users[i]:
                if self.joins(i, user) and level[i] == level[user]:
                    joined[root(user)] = root(i)
            for x in self.operands(i):
                if isinstance(x, Value) and tensor_type(x).shape == space:
                    joined[root(i)] = root(readers.setdefault((x, level[i]), i))
        components: dict[int, list[int]] = {}
        for i, space in enumerate(self.spaces):
            if space is not None:
                components.setdefault(root(i), []).append(i)
        return [group for component in components.values() for group in self.cut(component) if len(group) > 1 or self.read_views(group)]

    def cut(self, component: list[int]) -> list[list[int]]:
        """Split nodes into groups that are small enough for one kernel.  A group has at most one end (a reduction, or a step of an
        optimiser), or several reductions of rows.

        component  the indices of the nodes: of one level, using each other's results or reading the same value
        """
        here = set(component)
        ends = {i for i in component if self.ends[i] is not None and not any(x in here and self.joins(i, x) for x in self.users[i])}
        groups: list[list[int]] = []
        of: dict[int, list[int]] = {}
        read: set[Value] = set()
        cost = 0
        for i in component:
            if i in ends:
                continue
            own = {x for x in self.operands(i) if isinstance(x, Value)}
            new = {x for x in own if of.get(self.maker.get(x, -1)) is not groups[-1]} if groups else own
            if not groups or cost + self.cost(i) > _COST or len(read | new) > _OPERANDS:
                groups.append([])
                cost, read, new = 0, set(), own
            groups[-1].append(i)
            of[i] = groups[-1]
            cost += self.cost(i)
            read |= new
        for i in component:
            position = self.ends[i]
            if i not in ends or position is None:
                continue
            group = next((of[maker] for maker in self.makers([self.operands(i)[position]]) if maker in of), None)
            before = [] if group is None else [member for member in group if self.ends[member] is not None]
            if group is not None and all(self.rows[i] and self.rows[member] for member in before) and len(before) * _REDUCTION < _COST:
                group.append(i)
        return [group for group in groups if self.is_whole(group)]

    def cost(self, i: int) -> int:
        """Return how much node `i` adds to the cost of a kernel, in additions of float32 per element."""
        return cost_of(self.nodes[i].op) if self.ends[i] is None else _REDUCTION

    def find_rows(self, i: int) -> None:
        """Find out whether node `i` computes one element for each row of a larger tensor; if so, set `rows[i]`, and `spaces[i]` to that
        tensor's shape.
        """
        node = self.nodes[i]
        if reduces_rows(node):
            self.rows[i] = tensor_type(node.operands[0]).nbytes > _LARGE
        elif self.spaces[i] is not None and self.ends[i] is None:
            makers = {self.spaces[maker] for maker in self.makers(self.operands(i)) if self.rows[maker]}
            column = tensor_type(node.result).sizes
            if len(makers) == 1 and all(tensor_type(x).sizes == column or math.prod(tensor_type(x).sizes) == 1 for x in self.operands(i)):
                (space,) = makers
                if space is not None and (*space[:-1], 1) == column:
                    self.rows[i], self.spaces[i] = True, space

    def find_views(self) -> set[int]:
        """Return the nodes whose operands groups read in their place: see the module's docstring."""
        known: dict[Value, View] = {}
        roots: dict[Value, Value] = {}  # for the result of such a node, the value in which its elements are
        for node in self.nodes:
            view = view_of(node, known)
            (x, *_) = node.operands or (None,)
            if view is not None and isinstance(x, Value) and (x in known or not isinstance(node.op, Reshape)):
                known[node.result], roots[node.result] = view, roots.get(x, x)
        if not known:
            return set()
        found: set[int] = set()
        for value in reversed(known):
            i = self.maker[value]
            if not self.needed[i] and self.users[i]:
                _, ((*_, step),) = collapsed(known[value].sizes, [known[value].strides])
                if all(user in found or (abs(step) <= _NEAR and self.streams(user, value)) for user in self.users[i]):
                    found.add(i)
        read: dict[Value, int] = {}
        for i in found:
            if not all(user in found for user in self.users[i]):
                root = roots[self.nodes[i].result]
                read[root] = read.get(root, 0) + tensor_type(self.nodes[i].result).count
        small = {root for root, count in read.items() if 2 * count < tensor_type(root).count and tensor_type(root).nbytes > _SMALL}
        return {i for i in found if roots[self.nodes[i].result] not in small}

    def streams(self, i: int, value: Value) -> bool:
        """Return True if node `i` may be in a group, and reads a value element by element."""
        position = self.ends[i]
        others = () if position is None else (x for at, x in enumerate(self.operands(i)) if at != position)
        return self.spaces[i] is not None and value not in others

    def read_views(self, group: Sequence[int]) -> set[int]:
        """Return the views that a group reads, with those that they are views of."""
        found: set[int] = set()
        left = list(group)
        while left:
            new = [maker for maker in self.makers(self.operands(left.pop())) if maker in self.views and maker not in found]
            found.update(new)
            left += new
        return found

    def is_whole(self, group: Sequence[int]) -> bool:
        """Return True if a group can be one kernel: it may compute values for each row only after a reduction of rows."""
        maps = [self.rows[i] for i in group if self.ends[i] is None]
        return all(maps) or not any(maps) or any(self.ends[i] is not None for i in group[:-1])


class _Grouping:
    """Makes the fused nodes for a given choice of groups (sets of nodes, each to be computed by one kernel).

    stretch  the nodes, with what is known about each
    groups   the groups, as lists of indices
    members  for each group, its nodes and the cheap nodes that it computes again
    stored   the nodes whose results are stored, since they are used outside of their group
    live     for each group, the members that its results depend on
    made     for each group, its fused node; None for a group with less than two live nodes
    """

    def __init__(self, stretch: Stretch, groups: list[list[int]]):
        self.stretch, self.groups = stretch, groups
        self.group_of = {i: number for number, group in enumerate(groups) for i in group}
        self.members = [self._with_cheap(group) for group in groups]
        self.stored: set[int] = set()
        self.live: list[set[int]] = [set() for _ in groups]
        self._store([i for i, needed in enumerate(stretch.needed) if needed])
        self.made = [self._node(number) if len(self.live[number]) > 1 else None for number in range(len(groups))]

    def _with_cheap(self, group: list[int]) -> set[int]:
        """Return the nodes of a group together with the cheap nodes that it computes again instead of reading their results.

        A value that the group reads through a view is in memory, so it is not computed again.  The group's own nodes are never read so:
        a view and what it is a view of have different levels.
        """
        stretch, members = self.stretch, set(group)
        space = stretch.spaces[group[0]]
        read = {x for i in group for x in stretch.operands(i)}
        for i in sorted(stretch.makers(list(read)), reverse=True):
            node = stretch.nodes[i]
            if i in members or stretch.spaces[i] != space or stretch.ends[i] is not None or stretch.rows[i] or cost_of(node.op) >= _CHEAP:
                continue
            if isinstance(node.op, Broadcast) or all(x in read for x in stretch.operands(i) if isinstance(x, Value)):
                members.add(i)
        while True:
            views = stretch.read_views(list(members))
            in_memory = {maker for i in views for maker in stretch.makers(stretch.operands(i))} - views
            if members.isdisjoint(in_memory):
                return members | views
            members -= in_memory

    def _store(self, left: list[int]) -> None:
        """Mark nodes as stored (their results are needed outside of their kernel), and the nodes on which they depend as live or stored.

        left  the indices of the nodes to begin with; the list is emptied
        """
        stretch = self.stretch
        inside: list[tuple[int, int]] = []
        while left or inside:
            if inside:
                number, i = inside.pop()
                if i in self.live[number]:
                    continue
                self.live[number].add(i)
                for maker in stretch.makers(stretch.operands(i)):
                    if maker in self.members[number]:
                        inside.append((number, maker))
                    else:
                        left.append(maker)
                continue
            i = left.pop()
            if i in self.stored:
                continue
            self.stored.add(i)
            if i in self.group_of:
                inside.append((self.group_of[i], i))
            else:
                left += stretch.makers(stretch.nodes[i].operands)

    def _node(self, number: int) -> Node:
        """Make the fused node of the group with this number."""
        stretch, gathered = self.stretch, Gathered()
        used = {maker for i in self.live[number] for maker in stretch.makers(stretch.operands(i))}
        for i in sorted(self.live[number], key=lambda i: (stretch.ends[i] is not None and i not in used, i)):
            gathered.add(stretch.nodes[i], stretch.operands(i), stretch.ends[i])
        results = [value for i in self.groups[number] if i in self.stored for value in stretch.nodes[i].results]
        return gathered.node(Fused(), results, stretch.nodes[stretch.maker[results[-1]]].loc)

    def ordered(self) -> list[Node]:
        """Return all nodes in an order in which each comes after those that it reads, and otherwise as near to the old order as possible.
        """
        stretch = self.stretch
        units: list[tuple[int, Node]] = []
        for number, group in enumerate(self.groups):
            node = self.made[number]
            if node is None:
                units += [(i, replace(stretch.nodes[i], operands=stretch.operands(i))) for i in group if i in self.stored]
            else:
                units.append((max(group), node))
        units += [(i, node) for i, node in enumerate(stretch.nodes) if i in self.stored and i not in self.group_of]
        return in_order(units, stretch.edges)


def space_of(node: Node) -> tuple[int, ...] | None:
    """Return the shape over whose elements a kernel loops to compute this node (a reduction loops over those of its operand).

    None if the node cannot be in a group: its op is neither elementwise nor one that ends a group (a reduction or an optimiser's step), or
    there is only one element.
    """
    position = streamed(node)
    if position is not None:
        space = tensor_type(node.operands[position]).sizes
    elif is_map(node) and not getattr(node.op, "aliases", False):
        space = tensor_type(node.result).sizes
    else:
        return None
    return space if math.prod(space) > 1 else None


@dataclass(frozen=True)
class Fuse(Pass):
    """The pass `fuse`: replace elementwise nodes over the same elements, with a reduction or optimiser's step that reads them, by one node.

    accept  called with each proposed fused node; it returns False if the nodes should stay separate
    """

    name: ClassVar[str] = "fuse"
    accept: Accept = field(default=lambda node: True, repr=False)

    def on_function(self, function: Function, module: Module) -> Function:
        return fused(function, self.accept)
