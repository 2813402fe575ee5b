"""Copying: the one traversal that passes are made of.

    copy(y = op(x) { R })     y1 = op(x1) { copy(R) }        x1 what x has become, y becomes y1
    change(node)              the atoms that a pass puts in the place of a node; called with every node before it is copied

A copy goes through the Builder: its types are inferred anew and its operands are checked, unless the op and the types of the operands are
as they were.  The old function stays as it is.
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
"""Values of the old function -> atoms of the new one."""


def became(atom: Atom, known: Mapping[Value, Atom]) -> Atom:
    """Return the copy of `atom`."""
    return atom if isinstance(atom, Literal) else known.get(atom, atom)


def is_like(node: Node, op: Op, operands: Sequence[Atom]) -> bool:
    """Return True if a node without regions would have the results of `node`, were it made of this op on these operands."""
    return op is node.op and not node.regions and [x.type for x in operands] == [x.type for x in node.operands]


def fresh(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return new values of the same types and hints."""
    return tuple(Value(value.type, value.hint) for value in values)


class Rewriter:
    """Copies regions; a pass overrides what it changes."""

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        """Return the atoms that stand for the results of an old node, after emitting what they need; None for a plain copy."""
        return None

    def place(self, loc: Loc) -> Loc:
        """Return the location of a copy."""
        return loc

    def op(self, op: Op) -> Op:
        """Return the op of a copy."""
        return op

    def type(self, type_: Type) -> Type:
        """Return the type of a copied parameter."""
        return type_

    def body(self, region: Region) -> Region:
        """Return a copy of a function's body."""
        (copy,) = self.regions(Builder(region.loc), [region], {})
        return copy

    def nodes(self, b: Builder, nodes: Sequence[Node], known: Known) -> None:
        """Copy nodes into `b`, and add their results to `known`."""
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
        """Return copies of regions that lie inside `b`; regions that share parameters still do."""
        shared: dict[Value, Value] = {}
        copies: list[Region] = []
        for region in regions:
            for param in region.params:
                if param not in shared:
                    shared[param] = known[param] = Value(self.type(param.type), param.hint)
            copies.append(self.region(b.inner(), region, [shared[param] for param in region.params], known))
        return copies

    def region(self, inner: Builder, region: Region, params: Sequence[Value], known: Known) -> Region:
        """Copy one region into `inner`; the copies of its parameters are known."""
        self.nodes(inner, region.nodes, known)
        return inner.finish([became(atom, known) for atom in region.results], params, self.place(region.loc))


def renamed(regions: Sequence[Region]) -> list[Region]:
    """Return copies that define values of their own, so that the old ones may be defined elsewhere in the same function."""
    return Rewriter().regions(Builder(), regions, {})
