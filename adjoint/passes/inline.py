"""Inlining: a call becomes the nodes of its function.

    y = call @f(a)                   [x := a] nodes of @f;  y := results of @f
    y = fused carry (x = a) { R }    [x := a] R
    y = cell carry (x = a) { R }     [x := a] R, only with an option: a cell is a boundary of gradients

Before gradients only calls are inlined, except for those of a function with its own pullback. A cell without hooks and `bprop` computes the
same as its region, but unpacking it may change the order in which a gradient is summed; so `plain` comes after gradients, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Derived, Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Module, Node, Region, walk
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Call, Cell
from adjoint.ir.ops.fused import Fused
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["Inline", "inlined", "inlined_region"]


def inlined(function: Function, module: Module, *, cells: bool = False, plain: bool = False, rules: bool = False) -> Function:
    """Replace the calls in a function by the bodies of the functions that they call, and return the function.  Recursive calls stay.

    cells  True to unpack cells, too (after gradients)
    plain  True to unpack cells without hooks and `bprop` (after gradients)
    rules  True to inline functions with their own pullback, too (after gradients)
    """
    if not any(isinstance(node.op, Call) or _opens(node.op, cells=cells, plain=plain) for node in walk(function.body)):
        return function
    rewriter = _Inliner(module, cells=cells, plain=plain, rules=rules, around=(function.symbol,))
    return replace(function, body=rewriter.body(function.body))


def inlined_region(region: Region, module: Module, around: str) -> Region:
    """Return a region with its calls inlined.  It can still use values from outside.

    around  the symbol of the function that contains the region
    """
    if not any(isinstance(node.op, Call) for node in walk(region)):
        return region
    return _Inliner(module, cells=False, plain=False, rules=False, around=(around,)).body(region)


def _opens(op: Op, *, cells: bool, plain: bool) -> bool:
    """Return True if a node with this op is to be replaced by the nodes of its region: a fused node always, a cell as the two options say.

    cells  True: all cells are replaced
    plain  True: those without hooks and `bprop` are
    """
    return isinstance(op, Fused) or (isinstance(op, Cell) and (cells or (plain and not op.symbol and not op.rule)))


class _Inliner(Rewriter):
    """Copies a function, with calls replaced by the nodes of their functions.

    module  the module with the functions that are called
    around  the symbols of the functions around; calls of these are recursive, and stay
    at      the location of the call that is being inlined; None outside of any
    """

    def __init__(self, module: Module, *, cells: bool, plain: bool, rules: bool, around: tuple[str, ...], at: Loc | None = None):
        self._module, self._cells, self._plain, self._rules = module, cells, plain, rules
        self._around, self._at = around, at

    def place(self, loc: Loc) -> Loc:
        return loc if self._at is None else Derived("inline", (loc, self._at))

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        match node.op:
            case Call(symbol=symbol) if symbol in self._module.functions and symbol not in self._around:
                called = self._module.functions[symbol]
                if called.vjp is not None and not self._rules:
                    return None
                around = (*self._around, symbol)
                inner = _Inliner(self._module, cells=self._cells, plain=self._plain, rules=self._rules, around=around, at=b.loc)
                body = called.body
                known = {param: became(atom, known) for param, atom in zip(called.params, node.operands, strict=True)}
                inner.nodes(b, body.nodes, known)
            case Cell() | Fused() if _opens(node.op, cells=self._cells, plain=self._plain):
                (body,) = node.regions
                known.update({param: became(atom, known) for param, atom in zip(body.params, node.operands, strict=True)})
                self.nodes(b, body.nodes, known)
            case _:
                return None
        return [became(atom, known) for atom in body.results]


@dataclass(frozen=True)
class Inline(Pass):
    """The pass `inline`: replace calls by the nodes of the called functions, and fused nodes by the nodes that they contain.

    cells  True to unpack cells, too; only after gradients
    plain  True to unpack cells without hooks and `bprop`; only after gradients
    rules  True to inline functions with their own pullback, too; only after gradients
    """

    name: ClassVar[str] = "inline"
    cells: bool = False
    plain: bool = False
    rules: bool = False

    def on_function(self, function: Function, module: Module) -> Function:
        return inlined(function, module, cells=self.cells, plain=self.plain, rules=self.rules)
