"""Attention: products with a large softmax become nodes that do not store the softmax.

    s = matmul(q, k, tb=true)        y = attention carry (q1 = q, k1 = k, v1 = v) {
    x = mul(s, 0.125)                  s = matmul(q1, k1, tb=true); x = mul(s, 0.125); p = softmax(x, axis=2); y1 = matmul(p, v1)
    p = softmax(x, axis=2)             yield y1
    y = matmul(p, v)                 }

*Scores* are values of the softmax's type that are matrix products, or are computed from scores row by row.  *Results* are matrix products
with scores (`role_of`).  Scores that are computed from each other are replaced together, and only if nothing else uses any of them, such as
a hook, a mean of weights or a caller.  Each kernel then computes the scores that it needs; the kernel of the gradient computes them again.

    place   a node stands before the first use of its results, and after all values that it reads
    group   results for which there is a common place are one node; so the gradient, which reads values that depend on y, is another node

Additions are done in the order of the nodes (`ir/ops/attention.py`), so no bit changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, free_of, tensor_type, walk
from adjoint.ir.ops.attention import Attention, Role, role_of
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.random import Dropout, DropoutGradient, DropoutKept
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.ops.softmax import Softmax
from adjoint.ir.types import TensorType
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import with_nodes, with_regions
from adjoint.passes.stretches import Gathered

__all__ = ["Attend", "attending"]

LARGE = 2**22
"""The bytes above which scores are not stored.  Smaller ones fit into a cache, and computing them again would take longer."""


def attending(function: Function) -> Function:
    """Replace products with a large softmax by `attention` nodes, and return the function.

    It is the same object if there is no large softmax of scores (matrix products, and what is computed from them row by row).  Results of
    nodes stay the same values.
    """
    if not any(_is_large(node) for node in walk(function.body)):
        return function
    body = _region(function.body)
    return function if body is function.body else replace(function, body=body)


def _is_large(node: Node) -> bool:
    if not isinstance(node.op, Softmax):
        return False
    type_ = tensor_type(node.result)
    return type_.is_static and type_.nbytes >= LARGE


def _region(region: Region) -> Region:
    nodes = [_inside(node) for node in region.nodes]
    for type_ in dict.fromkeys(tensor_type(node.result) for node in nodes if _is_large(node)):
        apart = _apart(nodes, type_)
        made = _Scores(apart, region.results, type_).replaced()
        nodes = nodes if made is apart else made
    return with_nodes(region, nodes)


def _inside(node: Node) -> Node:
    """Return the node with `attention` nodes made in its regions; the same object if nothing changed, or for a fused node or a gradient."""
    if isinstance(node.op, (Fused, Differentiated)):
        return node
    return with_regions(node, [*map(_region, node.regions)])


def _apart(nodes: list[Node], type_: TensorType) -> list[Node]:
    """Split each `dropout` whose result has the type `type_` into two nodes, so that the mask can be computed again: the first computes
    which elements are kept, the second applies that.  Return the new list of nodes.
    """
    found: list[Node] = []
    for node in nodes:
        if isinstance(node.op, Dropout) and node.results[0].type is type_:
            (x, key), (dropped, kept) = node.operands, node.results
            op = DropoutKept(keep=node.op.keep, to=tensor_type(kept))
            found.append(Builder().emit_node(op, [key], results=[kept], loc=node.loc))
            found.append(Builder().emit_node(DropoutGradient(node.op.keep), [kept, x], results=[dropped], loc=node.loc))
        else:
            found.append(node)
    return found


class _Scores:
    """Replaces scores, in the nodes of a region, by `attention` nodes, which do not store them.

    Scores are matrix products, and values computed from them row by row, such as a softmax.  Nodes are given by their indices.

    nodes    the nodes of the region
    results  the values that the region yields
    type_    the tensor type (shape and dtype) of the scores to replace; scores of another type are left
    maker    for each value, the node that computes it
    users    for each value, the nodes that use it; `len(nodes)` stands for the end of the region
    roles    for each node that may be part of an `attention` node, its role there (`Role`)
    """

    def __init__(self, nodes: list[Node], results: Sequence[Atom], type_: TensorType):
        self.nodes, self.type = nodes, type_
        self.maker = {value: i for i, node in enumerate(nodes) for value in node.results}
        self.users: dict[Value, list[int]] = {}
        for i, node in enumerate(nodes):
            for value in _read(node):
                self.users.setdefault(value, []).append(i)
        for atom in results:
            if isinstance(atom, Value):
                self.users.setdefault(atom, []).append(len(nodes))
        self.roles: dict[int, Role] = {}
        self.scores: set[Atom] = set()
        for i, node in enumerate(nodes):
            role = role_of(node, type_.sizes, self.scores)
            if role is None or tensor_type(node.result).dtype is not type_.dtype or not self.pays(node, role):
                continue
            self.roles[i] = role
            if not role.is_result:
                self.scores.add(node.result)

    def pays(self, node: Node, role: Role) -> bool:
        """Return True if computing a node inside of an `attention` node, together with the scores, is not slower than on its own.

        It is False for a matrix product whose inner size is larger than a row of scores, and for a row-by-row node that reads no scores.

        role  the role that the node would have
        """
        if role is Role.PRODUCT:
            return tensor_type(node.operands[0]).sizes[-1] <= self.type.sizes[-1]
        return role is not Role.ROW or any(x in self.scores for x in node.operands)

    def makers(self, i: int) -> list[int]:
        """Return the indices of the nodes that compute the scores (see the class) which node `i` reads."""
        return [self.maker[x] for x in self.nodes[i].operands if isinstance(x, Value) and x in self.scores]

    def replaced(self) -> list[Node]:
        """Return the nodes of the region after the replacement.  Scores that other nodes use stay as they are."""
        made: dict[int, list[Node]] = {}
        gone: set[int] = set()
        for members in self.connected():
            found = self.together(members)
            if found is not None:
                gone.update(members)
                for at, node in found:
                    made.setdefault(at, []).append(node)
        if not made:
            return self.nodes
        out: list[Node] = []
        for i, node in enumerate(self.nodes):
            out += made.get(i, ())
            unused = self.is_cheap(node) and all(user in gone for user in self.users.get(node.result, ()))
            if i not in gone and not unused:
                out.append(node)
        return [*out, *made.get(len(self.nodes), ())]

    def connected(self) -> list[list[int]]:
        """Sort the nodes that have roles into groups of indices: two nodes are in one group if one reads scores that the other computes."""
        joined = {i: i for i in self.roles}

        def root(i: int) -> int:
            while joined[i] != i:
                joined[i] = joined[joined[i]]
                i = joined[i]
            return i

        for i in self.roles:
            for maker in self.makers(i):
                joined[root(i)] = root(maker)
        found: dict[int, list[int]] = {}
        for i in self.roles:
            found.setdefault(root(i), []).append(i)
        return list(found.values())

    def together(self, members: list[int]) -> list[tuple[int, Node]] | None:
        """Make the `attention` nodes for one group: return each, with the index of the node before which it stands.

        Return None if no softmax of the group is large, or if its scores must be stored because another node uses them.

        members  the nodes of the group
        """
        own = set(members)
        if not any(_is_large(self.nodes[i]) for i in members):
            return None
        scores = [self.nodes[i].result for i in members if not self.roles[i].is_result]
        if any(user not in own for value in scores for user in self.users.get(value, ())):
            return None
        results = [i for i in members if self.roles[i].is_result and self.users.get(self.nodes[i].result)]
        found: list[tuple[int, Node]] = []
        while results:
            place = min(map(self.latest, results))
            group = [i for i in results if self.earliest(i) <= place]
            found.append((place, self.node(group)))
            results = [i for i in results if i not in group]
        return found

    def latest(self, i: int) -> int:
        """Return the largest index before which node `i` may be moved: that of the first node that uses its result."""
        return min(self.users[self.nodes[i].result])

    def earliest(self, i: int) -> int:
        """Return the smallest index before which an `attention` node for the result of node `i` may stand: after all values that its kernel
        reads.

        Results of other `attention` nodes that it reads count as computed at their latest place.
        """
        inside = self.needed([i])
        read = {self.maker.get(x, -1) for j in inside for x in self.nodes[j].operands if isinstance(x, Value)} - inside
        return 1 + max(self.latest(j) if j in self.roles and self.roles[j].is_result else j for j in read)

    def needed(self, results: list[int]) -> set[int]:
        """Return the indices of the nodes that an `attention` node for these results must contain: the nodes of the results, the nodes of
        the scores that these read directly or through others, and the cheap nodes (see `is_cheap`) that row nodes among all these read.

        results  the indices of the nodes whose results the `attention` node returns
        """
        found: set[int] = set()
        left = list(results)
        while left:
            i = left.pop()
            if i in found:
                continue
            found.add(i)
            left += self.makers(i)
            if self.roles.get(i) is Role.ROW:
                wide = (self.maker[x] for x in self.nodes[i].operands if isinstance(x, Value) and x in self.maker)
                left += (j for j in wide if self.is_cheap(self.nodes[j]))
        return found

    def is_cheap(self, node: Node) -> bool:
        """Return True for a node whose value is as large as the scores but costs less to compute again than to store: a broadcast, or the
        mask of a dropout.
        """
        return isinstance(node.op, (Broadcast, DropoutKept)) and tensor_type(node.result).sizes == self.type.sizes

    def node(self, results: list[int]) -> Node:
        """Make one `attention` node that returns the results of the nodes with these indices."""
        members, gathered = sorted(self.needed(results)), Gathered()
        for i in members:
            gathered.add(self.nodes[i], self.nodes[i].operands)
        softmax = next((i for i in members if isinstance(self.nodes[i].op, Softmax)), results[0])
        return gathered.node(Attention(), [self.nodes[i].result for i in results], self.nodes[softmax].loc)


def _read(node: Node) -> list[Value]:
    """Return the values that a node reads: its operands, and values from outside that its regions use."""
    return [x for x in (*node.operands, *(value for region in node.regions for value in free_of(region))) if isinstance(x, Value)]


@dataclass(frozen=True)
class Attend(Pass):
    """The pass `attend`: replace products with a large softmax by `attention` nodes, whose kernels do not store the softmax."""

    name: ClassVar[str] = "attend"

    def on_function(self, function: Function, module: Module) -> Function:
        return attending(function)
