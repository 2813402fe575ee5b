"""The order of a function's nodes in exported C: state is written after what may fail, where that costs next to nothing.

    write! @calls(n)                 check! @labels(y)
    check! @labels(y)                ...
    ...                              write! @calls(n)

A call that fails in `check!` has then changed nothing.  Only single numbers wait: an array would keep its place in the arena meanwhile, and
what optimisers change in place is changed after all gradients anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adjoint.ir.core import Function, Node, Region, tensor_type, walk
from adjoint.ir.ops.state import Read, Write

__all__ = ["numbers_written_last"]


def numbers_written_last(function: Function, fails: Callable[[Node], bool]) -> Function:
    """Return a function in which numbers of the state are written after the last node that may fail.

    fails  returns True for a node, without those inside of it, that may return a status
    """
    body = function.body
    failing = [place for place, node in enumerate(body.nodes) if any(map(fails, _with_inner(node)))]
    if not failing:
        return function
    before, after = list(body.nodes[: failing[-1] + 1]), body.nodes[failing[-1] + 1 :]
    late: list[Node] = []
    for place in reversed(range(len(before))):
        node = before[place]
        if isinstance(node.op, Write) and tensor_type(node.operands[0]).count == 1 and not _is_used(node.op.symbol, before[place + 1 :]):
            late.insert(0, before.pop(place))
    return replace(function, body=Region(body.params, (*before, *late, *after), body.results, body.loc)) if late else function


def _with_inner(node: Node) -> list[Node]:
    return [node, *(inner for region in node.regions for inner in walk(region))]


def _is_used(symbol: str, nodes: list[Node]) -> bool:
    """Return True if nodes read or write the state of a symbol."""
    return any(isinstance(inner.op, (Read, Write)) and inner.op.symbol == symbol for node in nodes for inner in _with_inner(node))
