"""Values that leave a cell other than as its results: in a nested tuple that the cell returned, or in a list that kept them.

They become additional results of the `cell` node, as its residuals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Node, Region, Value, defined
from adjoint.ir.ops.control import Cell

__all__ = ["with_escapes"]


def with_escapes(region: Region) -> tuple[Region, dict[Value, Value]]:
    """Make each value that is used outside of the cell which computes it a result of that cell; return the new region.

    A value can escape in a list or a nested tuple.  The second result is a dict: for each result added to a cell, the value inside.
    """
    escaped = _escaped(region)
    if not escaped:
        return region, {}
    leading = _Leading(escaped)
    return leading.region(region, {}, ()), leading.copies


def _escaped(region: Region) -> dict[Value, int]:
    """Return the values that are used outside of the region (such as a cell's) that defines them, each with its position in program order.
    """
    closed, found = dict[Value, int](), dict[Value, int]()

    def use(atoms: Sequence[Atom]) -> None:
        for atom in atoms:
            if isinstance(atom, Value) and atom in closed:
                found[atom] = closed[atom]

    def visit(inner: Region) -> None:
        for node in inner.nodes:
            use(node.operands)
            for each in node.regions:
                visit(each)  # noqa: F821 - deleted when it has run
            for each in node.regions:  # the regions of a loop share their parameters
                for value in (*each.params, *(value for hidden in each.nodes for value in hidden.results)):
                    closed[value] = len(closed)
        use(inner.results)

    visit(region)
    del visit  # the closure refers to itself, and would keep the nodes alive until the collector runs
    return found


class _Leading:
    """Copies regions; a cell in the copy returns those of its values that are used outside of it as additional results.

    escaped  these values, each with its position in program order
    copies   for each additional result of a cell, the value inside; filled while copying
    """

    def __init__(self, escaped: Mapping[Value, int]):
        self.escaped = escaped
        self.copies: dict[Value, Value] = {}

    def region(self, region: Region, names: dict[Value, Value], leaving: Sequence[Value]) -> Region:
        """Copy a region, whose cells return the values that are used outside.

        names    for each value that is used outside of its cell, the cell's result that replaces it here
        leaving  values of this region that the copy yields in addition
        """
        builder, here = Builder(), dict(names)
        for node in region.nodes:
            self.node(builder, node, here)
        return builder.finish([*_named(region.results, here), *_named(leaving, here)], region.params, region.loc)

    def node(self, builder: Builder, node: Node, here: dict[Value, Value]) -> None:
        """Append a copy of a node to `builder`.

        here  for each value that is used outside of its cell, the value that replaces it at this place; if this node is a cell, the results
            that it gets in addition are added
        """
        operands = _named(node.operands, here)
        inner = {v for region in node.regions for v in defined(region) if v in self.escaped}
        if not node.regions and operands == node.operands:
            builder.append(node)
        elif not inner or not isinstance(node.op, Cell):
            regions = [self.region(region, here, ()) for region in node.regions]
            builder.emit_node(node.op, operands, regions=regions, results=node.results, loc=node.loc)
        else:
            leaving = sorted(inner, key=self.escaped.__getitem__)
            (body,) = node.regions
            region = self.region(body, here, leaving)
            outside = [Value(v.type, v.hint) for v in leaving]
            op = Cell(node.op.title, node.op.symbol, node.op.rule, node.op.residuals + len(leaving))
            builder.emit_node(op, operands, regions=[region], results=(*node.results, *outside), loc=node.loc)
            here.update(zip(leaving, outside, strict=True))
            self.copies.update(zip(outside, leaving, strict=True))


def _named(atoms: Sequence[Atom], names: dict[Value, Value]) -> tuple[Atom, ...]:
    return tuple([names.get(atom, atom) if isinstance(atom, Value) else atom for atom in atoms])
