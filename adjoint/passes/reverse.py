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
    """Append to `b` the nodes that compute gradients of `outputs` by `wanted`: the reverse pass over `nodes`, with control flow.

    nodes       the forward nodes, in program order
    outputs     the values that are differentiated
    cotangents  for each output, the gradient with which it begins, of the same type; None if it has none
    wanted      the leaves by which is differentiated: values, or symbols of parameters
    module      the module with the functions that `call` nodes call; None if there are no calls

    Return the sweep (it knows which forward values must be kept, `looked`), and for each wanted leaf its gradient: None if it has none,
    `Sometimes` if it exists only under a condition.  NoGradient if an op in between has no gradient.
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
