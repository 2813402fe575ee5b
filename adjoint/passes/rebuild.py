"""Copying: the one traversal that passes are made of.

    copied(b, nodes, known)     the nodes once more, through the Builder `b`, operands replaced by `known`
    renamed(region)             the same region with values of its own

A copy goes through `Builder.emit_node`, so its types are inferred anew and its operands are checked.  A pass that changes
some nodes gives `copied` a `change`, which is offered every node first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adjoint.diagnostics import Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Literal, Node, Region, Value

__all__ = ["Change", "Known", "copied", "copied_regions", "fresh", "rebuilt", "renamed", "replaced"]

Known = dict[Value, Atom]
Change = Callable[[Builder, Node, Known], Sequence[Atom] | None]
"""Offered a node (as it was) and what its operands have become: gives the atoms that stand for its results after emitting
what it likes, or None for a plain copy."""


def replaced(atom: Atom, known: Mapping[Value, Atom]) -> Atom:
    """What `atom` has become."""
    return atom if isinstance(atom, Literal) else known.get(atom, atom)


def fresh(values: Sequence[Value]) -> tuple[Value, ...]:
    """New values of the same types and hints."""
    return tuple(Value(value.type, value.hint) for value in values)


def copied(
    b: Builder,
    nodes: Sequence[Node],
    known: Known,
    change: Change | None = None,
    place: Callable[[Loc], Loc] | None = None,
) -> None:
    """Emit `nodes` into `b`, operands replaced by `known`, which then holds what the results have become.

    `place` makes the location of a copy from that of its node.
    """
    for node in nodes:
        with b.at(place(node.loc) if place else node.loc):
            atoms = change(b, node, known) if change else None
            if atoms is None:
                operands = [replaced(atom, known) for atom in node.operands]
                regions = copied_regions(b, node, known, change, place)
                atoms = b.emit_node(node.op, operands, regions=regions).results
                for new, old in zip(atoms, node.results, strict=True):
                    new.hint = old.hint
        known.update(zip(node.results, atoms, strict=True))


def copied_regions(
    b: Builder,
    node: Node,
    known: Known,
    change: Change | None = None,
    place: Callable[[Loc], Loc] | None = None,
) -> list[Region]:
    """The regions of a node, copied into a Builder inside `b`; regions that share parameters go on sharing them."""
    regions: list[Region] = []
    for region in node.regions:
        inner = b.inner()
        for param in region.params:
            if param not in known or not regions:
                known[param] = Value(param.type, param.hint)
        params = [known[param] for param in region.params]
        copied(inner, region.nodes, known, change, place)
        results = [replaced(atom, known) for atom in region.results]
        regions.append(inner.finish(results, params, region.loc))  # type: ignore[arg-type] - parameters become Values
    return regions


def renamed(regions: Sequence[Region]) -> list[Region]:
    """Copies that define values of their own, so that the old ones may be defined elsewhere in the same function.

    Parameters that the regions share stay shared.
    """
    known: Known = {}
    copies: list[Region] = []
    for region in regions:
        b = Builder(region.loc)
        for param in region.params:
            known.setdefault(param, Value(param.type, param.hint))
        copied(b, region.nodes, known)
        params = [known[param] for param in region.params]
        results = [replaced(atom, known) for atom in region.results]
        copies.append(b.finish(results, params, region.loc))  # type: ignore[arg-type] - parameters become Values
    return copies


def rebuilt(region: Region, change: Change | None = None) -> Region:
    """A copy of a function's body with a `change`."""
    b = Builder(region.loc)
    known: Known = {}
    params = fresh(region.params)
    known.update(zip(region.params, params, strict=True))
    copied(b, region.nodes, known, change)
    return b.finish([replaced(atom, known) for atom in region.results], params, region.loc)
