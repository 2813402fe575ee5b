"""Common subexpressions: equal pure nodes become one.

    y = op(x); .. z = op(x)         y = op(x); .. z := y         op is PURE, with the same attributes and the same operands

A node is compared with those before it in its region and in the regions around, but not with those of another branch.  Nodes with regions,
effects or stacks are not merged: each hook must run, and a stack is used once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value
from adjoint.ir.op import Effect
from adjoint.ir.ops.control import RegionOp
from adjoint.ir.types import StackType
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import Known, Rewriter, became

__all__ = ["CommonSubexpressions", "same_key"]


def same_key(atom: Atom) -> Any:
    """Return a dictionary key for an atom (a value or a literal): equal atoms have equal keys.  0.0 and -0.0 have different keys."""
    if isinstance(atom, Literal):
        value = atom.value
        return atom.type, value.hex() if isinstance(value, float) else repr(value) if isinstance(value, complex) else value
    return atom


class _Merger(Rewriter):
    def __init__(self) -> None:
        self._seen: dict[Any, Sequence[Value]] = {}

    def change(self, b: Builder, node: Node, known: Known) -> Sequence[Atom] | None:
        if not _may_merge(node):
            return None
        key = node.op, *(same_key(became(atom, known)) for atom in node.operands)
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = self.copy(b, node, known)  # pyright: ignore[reportArgumentType] - copies define values
        return found

    def region(self, inner: Builder, region: Region, params: Sequence[Value], known: Known) -> Region:
        before = dict(self._seen)
        copy = super().region(inner, region, params, known)
        self._seen = before
        return copy


def _may_merge(node: Node) -> bool:
    if isinstance(node.op, RegionOp) or node.op.effect is not Effect.PURE:
        return False
    return not any(isinstance(x.type, StackType) for x in (*node.operands, *node.results))


@dataclass(frozen=True)
class CommonSubexpressions(Pass):
    """The pass `cse`, common subexpression elimination: of equal nodes without effects only the first stays, and its results are used for
    all.
    """

    name: ClassVar[str] = "cse"

    def on_function(self, function: Function, module: Module) -> Function:
        return replace(function, body=_Merger().body(function.body))
