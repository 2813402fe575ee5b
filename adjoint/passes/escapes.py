"""Values that leave a cell besides its results: in a nested tuple that it returned, or in a list that kept them.

They become further results of the `cell`, as its residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Node, Region, Value, defined
from adjoint.ir.ops.control import Cell

__all__ = ["with_escapes"]


def with_escapes(region: Region, escaped: Set[Value]) -> Region:
    """Return the region, with each value of `escaped` that a cell defines returned by that cell."""
    return _led(region, escaped, {}, ()) if escaped else region


def _led(region: Region, escaped: Set[Value], names: dict[Value, Value], leaving: tuple[Value, ...]) -> Region:
    """Rebuild a region; `names` maps escaped values to their values here, `leaving` are yielded as well."""
    builder = Builder()
    here = dict(names)

    def renamed(atom: Atom) -> Atom:
        return here.get(atom, atom) if isinstance(atom, Value) else atom

    for node in region.nodes:
        builder.append(_rebuilt(node, escaped, here, renamed))
    return builder.finish([*map(renamed, region.results), *map(renamed, leaving)], region.params, region.loc)


def _rebuilt(node: Node, escaped: Set[Value], here: dict[Value, Value], renamed: Callable[[Atom], Atom]) -> Node:
    operands = [renamed(atom) for atom in node.operands]
    inner = {v for region in node.regions for v in defined(region)} & escaped
    builder = Builder()
    if not isinstance(node.op, Cell) or not inner:
        regions = [_led(region, escaped, here, ()) for region in node.regions]
        return builder.emit_node(node.op, operands, regions=regions, results=node.results, loc=node.loc)
    leaving = tuple(sorted(inner, key=lambda v: v.hint))
    (body,) = node.regions
    region = _led(body, escaped, here, leaving)
    outside = tuple(Value(v.type, v.hint) for v in leaving)
    op = Cell(node.op.title, node.op.symbol, node.op.rule, node.op.residuals + len(leaving))
    made = builder.emit_node(op, operands, regions=[region], results=(*node.results, *outside), loc=node.loc)
    here.update(zip(leaving, outside, strict=True))
    return made
