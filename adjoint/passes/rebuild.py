"""Copying: the traversal on which passes are built.

    copy(y = op(x) { R })     y1 = op(x1) { copy(R) }        x1 is the copy of x, y1 that of y
    change(node)              the atoms by which a pass replaces the results of a node; called for each node before it is copied

Copies are made by the Builder.  It infers the types of the results again and checks the operands, unless the op and the types of the
operands are unchanged.  The old function is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.foundation.diagnostics import Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value
from adjoint.ir.op import Op
from adjoint.ir.types import Type

__all__ = ["Known", "Rewriter", "became", "fresh", "is_like", "renamed"]

Known = dict[Value, Atom]
"""For each value of the old function: the atom of the new one."""


def became(atom: Atom, known: Mapping[Value, Atom]) -> Atom:
    """Return the copy of `atom`; the same atom if it has no copy."""
    return atom if isinstance(atom, Literal) else known.get(atom, atom)


def is_like(node: Node, op: Op, operands: Sequence[Atom]) -> bool:
    """Return True if the copy of a node would have results of the same types: same op, operands of the same types, no regions."""
    return op is node.op and not node.regions and [x.type for x in operands] == [x.type for x in node.operands]


def fresh(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return new values with the same types and hints."""
    return tuple(Value(value.type, value.hint) for value in values)


class Rewriter:
    """Copy regions.  A pass overrides the methods for the parts that it changes."""

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        """Emit the nodes that replace an old node, and return the atoms that replace its results; None to copy the node."""
        return None

    def place(self, loc: Loc) -> Loc:
        """Return the location of a copy of something at `loc`."""
        return loc

    def op(self, op: Op) -> Op:
        """Return the op for the copy of a node."""
        return op

    def type(self, type_: Type) -> Type:
        """Return the type for the copy of a parameter."""
        return type_

    def body(self, region: Region) -> Region:
        """Return a copy of a function's body."""
        (copy,) = self.regions(Builder(region.loc), [region], {})
        return copy

    def nodes(self, b: Builder, nodes: Sequence[Node], known: Known) -> None:
        """Copy nodes into `b`, and add their results with the copies to `known`."""
        around = b.loc
        for node in nodes:
            b.loc = self.place(node.loc)
            atoms = self.change(b, node, known)
            if atoms is None:
                atoms = self.copy(b, node, known)
            known.update(zip(node.results, atoms, strict=True))
        b.loc = around

    def copy(self, b: Builder, node: Node, known: Known) -> Sequence[Atom]:
        """Emit a plain copy of a node with its regions.  Return its results."""
        operands = [became(atom, known) for atom in node.operands]
        op = self.op(node.op)
        if is_like(node, op, operands):
            return b.emit_again(node, operands).results
        made = b.emit_node(op, operands, regions=self.regions(b, node.regions, known))
        for new, old in zip(made.results, node.results, strict=True):
            new.hint = old.hint
        return made.results

    def regions(self, b: Builder, regions: Sequence[Region], known: Known) -> list[Region]:
        """Return copies of regions that are inside of `b`.  Regions with common parameters still have common ones."""
        shared: dict[Value, Value] = {}
        copies: list[Region] = []
        for region in regions:
            for param in region.params:
                if param not in shared:
                    shared[param] = known[param] = Value(self.type(param.type), param.hint)
            copies.append(self.region(b.inner(), region, [shared[param] for param in region.params], known))
        return copies

    def region(self, inner: Builder, region: Region, params: Sequence[Value], known: Known) -> Region:
        """Copy one region into `inner`, and return it with the parameters `params`.  The copies of its parameters are already in `known`.
        """
        self.nodes(inner, region.nodes, known)
        return inner.finish([became(atom, known) for atom in region.results], params, self.place(region.loc))


def renamed(regions: Sequence[Region]) -> list[Region]:
    """Return copies of regions that define new values, so that the old values may be defined elsewhere in the same function."""
    return Rewriter().regions(Builder(), regions, {})
