"""After all gradients are taken, moments become their steps, which can be fused with the nodes around.

    mean, squares = moments(x, axes=[1])       mean := mean(x, axes=[1], keepdims=true)
                                               squares := sum(square(sub(x, mean)), axes=[1], keepdims=true)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Module, Node
from adjoint.ir.ops.moments import Moments
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import with_nodes_replaced

__all__ = ["Expand"]


def _steps(node: Node) -> Sequence[Node] | None:
    """Return the nodes that compute the results of a `moments` node, step by step."""
    if not isinstance(node.op, Moments):
        return None
    b = Builder(node.loc)
    made = dict(zip(node.op.steps(b, *node.operands), node.results, strict=True))
    return [replace(step, operands=tuple([made.get(x, x) for x in step.operands]), results=tuple([made.get(x, x) for x in step.results]))
            for step in b.nodes]


@dataclass(frozen=True)
class Expand(Pass):
    """The pass `expand`: replace each `moments` by the nodes of its steps.  Run it after all gradients of the function are taken."""

    name: ClassVar[str] = "expand"

    def on_function(self, function: Function, module: Module) -> Function:
        return with_nodes_replaced(function, _steps)
