"""The rounds of a loop: which values inside of it are the same in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adjoint.ir.core import Node, Region, Value, defined, walk
from adjoint.ir.op import Effect
from adjoint.ir.ops.control import Call
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import TensorType

__all__ = ["same_in_each_round"]


def same_in_each_round(body: Region, values: Iterable[Value], stays: Callable[[Node], bool] = lambda node: False) -> list[Value]:
    """Return those of the values inside of a loop that are the same in each round, and may be computed before the first one.

    They are computed from values outside by nodes without effects that cannot fail; and from parameters, unless the loop writes them or
    calls Python, which may change them.

    body   the region of the loop
    stays  returns True for a node that is not to be computed before the loop, and so no node that reads its result
    """
    changed = {node.op.symbol for node in walk(body) if isinstance(node.op, Write)}
    calls = any(node.op.effect is Effect.HOST or isinstance(node.op, Call) for node in walk(body))
    inside = defined(body)
    fixed: set[Value] = set()
    for node in walk(body):
        quiet = node.op.effect is Effect.PURE or (isinstance(node.op, Read) and not calls and node.op.symbol not in changed)
        tensors = all(isinstance(x.type, TensorType) for x in (*node.operands, *node.results))
        if not quiet or not tensors or node.regions or node.op.may_fail or stays(node):
            continue
        if fixed.issuperset(inside.intersection(node.operands)):
            fixed.update(node.results)
    return [value for value in values if value in fixed]
