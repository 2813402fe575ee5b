"""Copying: the traversal on which passes are built.

    copy(y = op(x) { R })     y1 = op(x1) { copy(R) }        x1 is the copy of x, y1 that of y
    change(node)              the atoms by which a pass replaces the results of a node; called for each node before it is copied

Copies are made by the Builder.  It infers the types of the results again and checks the operands, unless the op and the types of the
operands are unchanged.  The old function is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from adjoint.foundation.diagnostics import Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Node, Region, Value
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.types import Type

__all__ = ["Known", "Rewriter", "became", "followed", "fresh", "is_like", "renamed", "with_nodes", "with_nodes_replaced", "with_regions"]

Known = dict[Value, Atom]
"""For each value of the function that is copied: the atom that replaces it in the copy."""

Follower = Callable[[Node, Sequence[Atom]], None]
"""A function that is told of each node that is copied or replaced, with the atoms that replace its results."""
_followers: list[Follower] = []


@contextmanager
def followed(follower: Follower) -> Iterator[None]:
    """Within a `with` statement, call `follower` for each node that a Rewriter copies or replaces.

    It tells what the locations of nodes do not: that a pass uses one node in the place of another, which was there already.
    """
    _followers.append(follower)
    try:
        yield
    finally:
        _followers.remove(follower)


def became(atom: Atom, known: Mapping[Value, Atom]) -> Atom:
    """Return the atom of the new function that replaces `atom` of the old one; `atom` itself if it has no replacement.

    known  for each value of the old function, the atom of the new one
    """
    return atom if isinstance(atom, Literal) else known.get(atom, atom)


def is_like(node: Node, op: Op, operands: Sequence[Atom]) -> bool:
    """Return True if a copy of `node` with these operands surely has results of the same types: same op, operand types and no regions."""
    if op is not node.op or node.regions:
        return False
    for new, old in zip(operands, node.operands, strict=True):  # noqa: SIM110 - a generator would be slower
        if new.type is not old.type:
            return False
    return True


def fresh(values: Sequence[Value]) -> tuple[Value, ...]:
    """Make a new value for each of these, with the same type and name."""
    return tuple(Value(value.type, value.hint) for value in values)


class Rewriter:
    """Copies regions node by node.  Most passes derive from it, and override the methods for the nodes that they change; start with `body`.

    `known` is, in all methods, for each value of the old function the atom of the new one.
    """

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        """Append the nodes that replace a node, and return the atoms that replace its results; return None for a node that is to be copied.

        known  for each value of the old function, the atom of the new one
        """
        return None

    def place(self, loc: Loc) -> Loc:
        """Return the source location for the copy of a node or region; the original's, `loc`, by default.  For subclasses to override."""
        return loc

    def op(self, op: Op) -> Op:
        """Return the op for the copy of a node; the same op by default.  For subclasses to override."""
        return op

    def type(self, type_: Type) -> Type:
        """Return the type for the copy of a region's parameter; the same type by default.  For subclasses to override."""
        return type_

    def body(self, region: Region) -> Region:
        """Return a copy of a function's body, whose parameters are new values."""
        (copy,) = self.regions(Builder(region.loc), [region], {})
        return copy

    def nodes(self, b: Builder, nodes: Sequence[Node], known: Known) -> None:
        """Append copies of nodes, or what `change` gives for them, to `b`; add for each of their results the new atom to `known`."""
        around, change, place = b.loc, self.change, self.place
        stays = type(self).place is Rewriter.place
        follow = _followers[-1] if _followers else None
        for node in nodes:
            b.loc = node.loc if stays else place(node.loc)
            atoms = change(b, node, known)
            if atoms is None:
                atoms = self.copy(b, node, known)
            if len(node.results) == 1 == len(atoms):  # the common case, without an iterator
                known[node.results[0]] = atoms[0]
            else:
                known.update(zip(node.results, atoms, strict=True))
            if follow is not None:
                follow(node, atoms)
        b.loc = around

    def copy(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        """Append a plain copy of a node with copies of its regions; return its results."""
        operands = [atom if isinstance(atom, Literal) else known.get(atom, atom) for atom in node.operands]  # `became`, without a call
        op = self.op(node.op)
        if is_like(node, op, operands):
            return b.emit_again(node, operands).results
        made = b.emit_node(op, operands, regions=self.regions(b, node.regions, known))
        for new, old in zip(made.results, node.results, strict=True):
            new.hint = old.hint
        return made.results

    def regions(self, b: Builder, regions: Sequence[Region], known: Known) -> list[Region]:
        """Return copies of regions of one node, which is appended to `b`.  Regions that share parameters share them in the copy, too."""
        shared: dict[Value, Value] = {}
        copies: list[Region] = []
        for region in regions:
            for param in region.params:
                if param not in shared:
                    shared[param] = known[param] = Value(self.type(param.type), param.hint)
            copies.append(self.region(b.inner(), region, [shared[param] for param in region.params], known))
        return copies

    def region(self, inner: Builder, region: Region, params: Sequence[Value], known: Known) -> Region:
        """Copy the nodes of one region into `inner`, an empty Builder, and return the new region.

        params  the copies of its parameters, which are in `known` already
        """
        self.nodes(inner, region.nodes, known)
        return inner.finish([became(atom, known) for atom in region.results], params, self.place(region.loc))


def with_nodes(region: Region, nodes: Sequence[Node]) -> Region:
    """Return the region with these nodes; it is the same object if they are its own."""
    same = len(nodes) == len(region.nodes) and all(a is b for a, b in zip(nodes, region.nodes, strict=True))
    return region if same else replace(region, nodes=tuple(nodes))


def with_regions(node: Node, regions: Sequence[Region]) -> Node:
    """Return the node with these regions; it is the same object if they are its own."""
    return node if all(a is b for a, b in zip(regions, node.regions, strict=True)) else replace(node, regions=tuple(regions))


def with_nodes_replaced(function: Function, change: Callable[[Node], Sequence[Node] | None]) -> Function:
    """Return a function in which other nodes define the results of some; all values stay the same, so what is known of them stays true.

    It is the same object if nothing changed.  Gradients inside are left out, since they must see the nodes that they are taken of.

    change  returns the nodes that take the place of a node, whose regions are changed already; None for one that stays
    """

    def changed(region: Region) -> Region:
        nodes: list[Node] = []
        for node in region.nodes:
            if node.regions and not isinstance(node.op, Differentiated):
                node = with_regions(node, [changed(inner) for inner in node.regions])
            made = change(node)
            nodes += [node] if made is None else made
        return with_nodes(region, nodes)

    body = changed(function.body)
    return function if body is function.body else replace(function, body=body)


def renamed(regions: Sequence[Region]) -> list[Region]:
    """Return copies of regions in which every defined value is a new one, so that original and copy may be in the same function."""
    return Rewriter().regions(Builder(), regions, {})
