"""The reverse pass over nodes: a walk backwards (`sweep`) with the rules of regions, from the cotangents of outputs to those of leaves."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Module, Node
from adjoint.passes.activity import Activity, Leaf
from adjoint.passes.autodiff_regions import RULES
from adjoint.passes.cotangent import Cotangent
from adjoint.passes.sweep import Sweep

__all__ = ["swept"]


def swept(
    b: Builder,
    nodes: Sequence[Node],
    outputs: Sequence[Atom],
    cotangents: Sequence[Cotangent | None],
    wanted: Sequence[Leaf],
    module: Module | None = None,
) -> tuple[Sweep, list[Cotangent | None]]:
    """Append the nodes that compute gradients (the reverse pass over `nodes`) to `b`.

    outputs     the values that are differentiated
    cotangents  for each of them its cotangent, or None if it has none
    wanted      the leaves (values, or symbols of parameters) whose gradients are wanted

    Return the sweep, and for each wanted leaf its gradient, or None.
    """
    sweep = Sweep(b, Activity(nodes, wanted, module), RULES)
    leaves = set(wanted)
    sweep.kept = {value: None for node in nodes for value in node.results if value in leaves}
    for atom, ct in zip(outputs, cotangents, strict=True):
        sweep.add(atom, ct)
    sweep.pull_all(nodes)
    rest = [leaf for leaf in dict.fromkeys(wanted) if leaf not in sweep.kept]
    found = {**sweep.kept, **dict(zip(rest, sweep.take_all(rest, nodes), strict=True))}
    return sweep, [found[leaf] for leaf in wanted]
