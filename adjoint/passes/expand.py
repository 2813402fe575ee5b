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
from adjoint.ir.core import Atom, Function, Module, Node, walk
from adjoint.ir.ops.moments import Moments
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["Expand"]


class _Expanding(Rewriter):
    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        return node.op.steps(b, *(became(x, known) for x in node.operands)) if isinstance(node.op, Moments) else None


@dataclass(frozen=True)
class Expand(Pass):
    """The pass `expand`: replace each `moments` by the nodes of its steps.  Run it after all gradients of the function are taken."""

    name: ClassVar[str] = "expand"

    def on_function(self, function: Function, module: Module) -> Function:
        if not any(isinstance(node.op, Moments) for node in walk(function.body)):
            return function
        return replace(function, body=_Expanding().body(function.body))
