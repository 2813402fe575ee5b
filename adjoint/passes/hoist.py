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
from adjoint.ir.ops.control import For, While
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.ops.stack import Undef
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import with_nodes, with_nodes_replaced, with_regions
from adjoint.passes.rounds import same_in_each_round

__all__ = ["Hoist"]


def _hoisted(node: Node) -> Sequence[Node] | None:
    """Return the nodes of a loop's regions that are the same in each round, and after them the loop without them; None if it has none."""
    if not isinstance(node.op, (For, While)):
        return None
    before: list[Node] = []
    regions: list[Region] = []
    for region in node.regions:
        # The body of a `while` may write what its test reads.
        changing = region if region is node.regions[-1] else replace(region, nodes=(*region.nodes, *node.regions[-1].nodes))
        values = [value for inner in region.nodes for value in inner.results]
        same = set(same_in_each_round(changing, values, stays=lambda inner: isinstance(inner.op, (Broadcast, Undef))))
        before += [inner for inner in region.nodes if not same.isdisjoint(inner.results)]
        regions.append(with_nodes(region, [inner for inner in region.nodes if same.isdisjoint(inner.results)]))
    return [*before, with_regions(node, regions)] if before else None


@dataclass(frozen=True)
class Hoist(Pass):
    """The pass `hoist`: compute what is the same in each round of a loop before the loop."""

    name: ClassVar[str] = "hoist"

    def on_function(self, function: Function, module: Module) -> Function:
        return with_nodes_replaced(function, _hoisted)
