"""Hoisting: what is the same in each round of a loop is computed before the loop.

    y = for i in range(0, n, 1) carry (a = x) {        t = transpose(w)
      t = transpose(w)                                 y = for i in range(0, n, 1) carry (a = x) {
      m = matmul(a, t)                                   m = matmul(a, t)
      yield m                                            yield m
    }                                                  }

`rounds.same_in_each_round` says which values these are.  A node in a branch stays, since it may never run.  So does a `broadcast`: a
kernel reads its operand in each place, where the result would be memory to be read; and an `undef`, whose memory a loop inside may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Function, Module, Node, Region
from adjoint.ir.ops.control import Differentiated, For, While
from adjoint.ir.ops.fused import Fused
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.ops.stack import Undef
from adjoint.passes.manager import Pass
from adjoint.passes.rounds import same_in_each_round

__all__ = ["Hoist"]


def _region(region: Region) -> Region:
    nodes: list[Node] = []
    for node in region.nodes:
        nodes += _hoisted(node)
    same = len(nodes) == len(region.nodes) and all(a is b for a, b in zip(nodes, region.nodes, strict=True))
    return region if same else replace(region, nodes=tuple(nodes))


def _hoisted(node: Node) -> Sequence[Node]:
    """Return a node, and before it the nodes of its regions that are the same in each round, if it is a loop."""
    if not node.regions or isinstance(node.op, (Fused, Differentiated)):
        return [node]
    regions = [_region(region) for region in node.regions]
    before: list[Node] = []
    if isinstance(node.op, (For, While)):
        for place, region in enumerate(regions):
            # The body of a `while` may write what its test reads.
            changing = Region(region.params, (*region.nodes, *regions[-1].nodes), ()) if place + 1 < len(regions) else region
            values = [value for inner in region.nodes for value in inner.results]
            same = set(same_in_each_round(changing, values, stays=lambda inner: isinstance(inner.op, (Broadcast, Undef))))
            if same:
                before += [inner for inner in region.nodes if not same.isdisjoint(inner.results)]
                regions[place] = replace(region, nodes=tuple([inner for inner in region.nodes if same.isdisjoint(inner.results)]))
    unchanged = all(a is b for a, b in zip(regions, node.regions, strict=True))
    return [*before, node if unchanged else replace(node, regions=tuple(regions))]


@dataclass(frozen=True)
class Hoist(Pass):
    """The pass `hoist`: compute what is the same in each round of a loop before the loop."""

    name: ClassVar[str] = "hoist"

    def on_function(self, function: Function, module: Module) -> Function:
        body = _region(function.body)
        return function if body is function.body else replace(function, body=body)
