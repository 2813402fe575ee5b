"""After all gradients are taken, marks for gradients become identities.

    a, b = hook @h(x, y)       a := identity(x), b := identity(y)
    y = outputs @h(x)          y := identity(x)
    y = examples(x)            y := identity(x)
    attach! @h(x)              removed

After `differentiate`, the callbacks of these marks are nodes of the adjoint, and so is what is added to gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, walk
from adjoint.ir.ops.conversion import Examples, Identity
from adjoint.ir.ops.host import Attach, Hook, Outputs, Pack
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["Unhook"]


_MARKS = (Examples, Hook, Outputs)
"""The ops whose results are their operands, but for what they do to gradients."""


class _Unhooking(Rewriter):
    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if isinstance(node.op, (Attach, Pack)):
            return ()
        if not isinstance(node.op, _MARKS):
            return None
        return [b.emit(Identity(), became(x, known), hint=value.hint) for x, value in zip(node.operands, node.results, strict=True)]


@dataclass(frozen=True)
class Unhook(Pass):
    """The pass `unhook`: remove the marks for gradients: `hook`, `outputs` and `examples` become identities, `attach!` and `pack!`
    go.  Run it after all gradients of the function are taken.
    """

    name: ClassVar[str] = "unhook"

    def on_function(self, function: Function, module: Module) -> Function:
        if not any(isinstance(node.op, (Attach, Pack, *_MARKS)) for node in walk(function.body)):
            return function
        return replace(function, body=_Unhooking().body(function.body))
