"""Inlining: a call becomes the nodes of its function.

    y = call @f(a)        [x := a] nodes of @f;  y := results of @f
    y = cell carry (x = a) { R }     [x := a] R, only where it is asked for: a cell is a boundary of gradients

Before gradients only calls are inlined, and not those of a function with a pullback of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from adjoint.diagnostics import Derived, Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, Value, walk
from adjoint.ir.ops.control import Call, Cell
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, copied, rebuilt, replaced

__all__ = ["Inline", "inlined"]


def inlined(function: Function, module: Module, *, cells: bool = False, rules: bool = False) -> Function:
    """The function with its calls replaced by what they call; recursive calls stay.

    cells  also unpack cells (after gradients)
    rules  also inline functions that have a pullback of their own (after gradients)
    """
    if not any(isinstance(node.op, Call) or cells and isinstance(node.op, Cell) for node in walk(function.body)):
        return function
    around: list[str] = [function.symbol]

    def change(b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        match node.op:
            case Call(symbol=symbol):
                called = module.functions.get(symbol)
                if called is None or symbol in around or called.vjp is not None and not rules:
                    return None
                around.append(symbol)
                try:
                    return _unfolded(b, called.body, [replaced(x, known) for x in node.operands], b.loc)
                finally:
                    around.pop()
            case Cell() if cells:
                (body,) = node.regions
                known.update((p, replaced(x, known)) for p, x in zip(body.params, node.operands, strict=True))
                copied(b, body.nodes, known, change)
                return [replaced(atom, known) for atom in body.results]
            case _:
                return None

    def _unfolded(b: Builder, body: Region, arguments: Sequence[Atom], at: Loc) -> list[Atom]:
        known: dict[Value, Atom] = dict(zip(body.params, arguments, strict=True))
        copied(b, body.nodes, known, change, lambda loc: Derived("inline", (loc, at)))
        return [replaced(atom, known) for atom in body.results]

    return replace(function, body=rebuilt(function.body, change))


@dataclass(frozen=True)
class Inline(Pass):
    """`inline`: calls become what they call.

    cells  whether cells are unpacked as well; only after gradients
    rules  whether functions with a pullback of their own are inlined as well; only after gradients
    """

    name: ClassVar[str] = "inline"
    cells: bool = False
    rules: bool = False

    def on_function(self, function: Function, module: Module) -> Function:
        return inlined(function, module, cells=self.cells, rules=self.rules)
