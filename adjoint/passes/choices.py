"""Choices: a branch on a few numbers computes both sides, and chooses.

    y = if c {                       s = add(a, b)
      s = add(a, b)                  y = select(c, s, b)
      yield s
    } else {
      yield b
    }

A few operations of C take less time than a branch.  What is left has no regions, so the pass `unroll` finds longer groups of nodes: the
reverse pass of a loop has a branch wherever a sum begins in one of its rounds.  A number that only one side defines is never chosen on the
other one; it begins as 0, since both sides read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import Loc
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Node, Region, Value, tensor_type, use_counts
from adjoint.ir.op import Op
from adjoint.ir.ops.control import For, If, While
from adjoint.ir.ops.conversion import Identity, Select
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.ops.stack import Undef
from adjoint.ir.ops.unrolled import on_few_numbers, unrolled_cost
from adjoint.ir.types import BOOL, scalar
from adjoint.passes.cse import same_key
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import with_nodes_replaced

__all__ = ["Choices"]

_COST: Final = 64
"""The limit for the operations of C in both sides of a branch."""

_USERS: Final = "undefined"
"""The name of a value for a variable that the user's program does not define on some path: it must stay undefined."""


class _Branches:
    """Finds the branches of a function that become choices.

    roots   for each value that may be undefined, the `undef` nodes that it may come from
    chosen  the first results of the `if` nodes that become choices
    zeros   the `undef` nodes that become zeros, since these read them
    """

    def __init__(self, function: Function):
        self.roots: dict[Value, frozenset[Node]] = {}
        self.chosen: set[Value] = set()
        self.zeros: set[Node] = set()
        self._trace(function.body)
        self._find(function.body)

    def _trace(self, region: Region) -> None:
        for node in region.nodes:
            if isinstance(node.op, Undef):
                self.roots[node.results[0]] = frozenset([node])
            elif isinstance(node.op, If):
                for inner in node.regions:
                    self._trace(inner)
                    self._join(node.results, inner.results)
            elif isinstance(node.op, (For, While)):
                body = node.regions[-1]
                count = len(node.results)
                for each in node.regions:
                    self._join(each.params[len(each.params) - count :], node.operands[len(node.operands) - count :])
                before = -1
                while before != (before := self._known(body.params)):
                    for each in node.regions:
                        self._trace(each)
                        self._join(each.params[len(each.params) - count :], body.results)
                self._join(node.results, body.params[len(body.params) - count :])
            else:
                for inner in node.regions:
                    self._trace(inner)

    def _join(self, values: Sequence[Value], atoms: Sequence[Atom]) -> None:
        for value, atom in zip(values, atoms, strict=True):
            if isinstance(atom, Value) and atom in self.roots:
                self.roots[value] = self.roots.get(value, frozenset()) | self.roots[atom]

    def _known(self, values: Sequence[Value]) -> int:
        return sum(len(self.roots.get(value, ())) for value in values)

    def _find(self, region: Region) -> None:
        for node in region.nodes:
            for inner in node.regions:
                self._find(inner)
            if isinstance(node.op, If) and node.results and (cost := self._cost(node)) is not None and cost <= _COST:
                read = {x for inner in node.regions for x in use_counts(inner) if isinstance(x, Value)}
                roots = {root for x in read for root in self.roots.get(x, ())}
                if all(root.results[0].hint != _USERS and on_few_numbers(root.results) for root in roots):
                    self.chosen.add(node.results[0])
                    self.zeros |= roots

    def _cost(self, node: Node) -> int | None:
        """Return how many operations of C both sides of a branch are; None if one is not on a few numbers, or does more than to compute."""
        if not on_few_numbers(node.results):
            return None
        total = 0
        for region in node.regions:
            for inner in region.nodes:
                if isinstance(inner.op, If):
                    cost = self._cost(inner) if inner.results and inner.results[0] in self.chosen else None
                elif isinstance(inner.op, Undef):
                    cost = 0 if on_few_numbers(inner.results) else None
                else:
                    of_node = unrolled_cost(inner)
                    cost = None if of_node is None else of_node.operations
                if cost is None:
                    return None
                total += cost
        return total

    def change(self, node: Node) -> Sequence[Node] | None:
        """Return the nodes that take the place of a node; None if it stays."""
        if node in self.zeros:
            (value,) = node.results
            type_ = tensor_type(value)
            zero = Literal(0.0 if type_.dtype.is_inexact else False if type_.dtype is BOOL else 0, scalar(type_.dtype))
            return [_defining(value, Broadcast(type_), zero, loc=node.loc)]
        if node.results and node.results[0] in self.chosen:
            first, second = node.regions
            pairs = zip(node.results, first.results, second.results, strict=True)
            return [*first.nodes, *second.nodes, *(_choice(value, node.operands[0], x, y, node.loc) for value, x, y in pairs)]
        return None


def _choice(value: Value, condition: Atom, x: Atom, y: Atom, loc: Loc) -> Node:
    """Return a node that defines a result of a branch, from what its sides yield."""
    if same_key(x) == same_key(y):
        return _defining(value, Identity(), x, loc=loc)
    return _defining(value, Select(), condition, x, y, loc=loc)


def _defining(value: Value, op: Op, *operands: Atom, loc: Loc) -> Node:
    return Builder().emit_node(op, operands, results=[value], loc=loc)


@dataclass(frozen=True)
class Choices(Pass):
    """The pass `choices`: compute both sides of a branch on a few numbers, and choose."""

    name: ClassVar[str] = "choices"

    def on_function(self, function: Function, module: Module) -> Function:
        return with_nodes_replaced(function, _Branches(function).change)
