"""Early steps: an optimiser's step of a large parameter comes as soon as its gradient is computed.

    g1 = matmul(..)                      g1 = matmul(..)
    g2 = matmul(..)                      w1 = read @w1; m1 = update(w1, g1); write! @w1(m1)
    w1 = read @w1                        g2 = matmul(..)
    m1 = update(w1, g1)                  w2 = read @w2; m2 = update(w2, g2); write! @w2(m2)
    write! @w1(m1)
    w2 = read @w2; ...

The gradient is then still in a cache when the step reads it.  Its memory is reused for the next one, so that the large gradients do not all
exist at the same time.

The *predecessors* of a node are the nodes that must come before it:

    any node   the nodes that compute its operands
    a read     the last write of its symbol
    a write    the last write of its symbol, the reads since then, and the nodes that use the values of these reads

A node is *light* if it reads state, or if it computes or writes few bytes: rates and counters.  A step and the writes of its results move
up to the last node that is a direct or indirect predecessor and is not light; light predecessors move up with them.  Nothing moves past a
node that has regions, has effects other than on state, or may fail: such a node sees the parameters, or decides whether they are written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Atom, Function, Module, Node, Value, tensor_type
from adjoint.ir.op import Effect
from adjoint.ir.ops.optimizers import Update
from adjoint.ir.ops.state import Read, Write
from adjoint.ir.types import TensorType
from adjoint.passes.manager import Pass
from adjoint.passes.rebuild import with_nodes

__all__ = ["EarlySteps", "with_early_steps"]

_LARGE = 2**20
"""The bytes of a gradient from which on its step comes early.  Smaller steps run together as one launch at the end."""
_LIGHT = 4096
"""The bytes up to which a value counts as small, so that a node which reads only small values may stay where it is."""


def with_early_steps(function: Function, least: int = _LARGE) -> Function:
    """Move steps of optimisers up, as near as possible to the gradients that they read; return the function.

    least  the bytes of a gradient from which on its step moves

    It is the same object if none moves.
    """
    if not any(_is_large(node, least) for node in function.body.nodes):
        return function
    nodes: list[Node] = []
    stretch: list[Node] = []
    state: dict[Value, str] = {}
    for node in function.body.nodes:
        if _movable(node):
            stretch.append(node)
        else:
            nodes += [*_ordered(stretch, state, least), node]
            stretch = []
    nodes += _ordered(stretch, state, least)
    body = with_nodes(function.body, nodes)
    return function if body is function.body else replace(function, body=body)


def _movable(node: Node) -> bool:
    if node.regions or node.op.may_fail or not (node.op.effect is Effect.PURE or isinstance(node.op, (Read, Write))):
        return False
    return all(isinstance(x.type, TensorType) for x in (*node.operands, *node.results))


def _is_large(node: Node, least: int) -> bool:
    return isinstance(node.op, Update) and least <= _nbytes(node.operands[node.op.streams]) < math.inf


def _nbytes(atom: Atom) -> float:
    """Return the bytes of a value; infinity if a size has a name."""
    type_ = tensor_type(atom)
    return type_.nbytes if type_.is_static else math.inf


def _ordered(nodes: Sequence[Node], state: dict[Value, str], least: int) -> Sequence[Node]:
    """Return consecutive nodes in a new order, with large steps of optimisers (updates of parameters) moved up to their gradients.

    nodes  nodes without regions or effects other than on state, among which steps may move
    state  for each value read from a parameter before, the parameter's symbol; this call adds the reads among `nodes`
    least  the bytes from which on a gradient is large
    """
    before = _predecessors(nodes, state)
    if not any(_is_large(node, least) for node in nodes):
        return nodes
    last = _last_heavy(nodes, before)
    step_of: dict[Atom, int] = {value: i for i, node in enumerate(nodes) if _is_large(node, least) for value in node.results}
    writes: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        if isinstance(node.op, Write) and node.operands[0] in step_of:
            writes.setdefault(step_of[node.operands[0]], []).append(i)
    moved: dict[int, list[int]] = {}
    for step, own in writes.items():
        at = max((last[x] for i in (step, *own) for x in before[i] if x != step), default=-1)
        if 0 <= at < step:
            moved.setdefault(at, []).extend((step, *own))
    order: dict[int, None] = {}
    for i in range(len(nodes)):
        for wanted in (i, *moved.get(i, ())):
            _put(wanted, before, order)
    return [nodes[i] for i in order]


def _put(wanted: int, before: Sequence[set[int]], order: dict[int, None]) -> None:
    """Append a node to the order; before it, those of the nodes that must precede it and are not in the order yet.

    wanted  the index of the node
    before  for each node, the indices of the nodes that must precede it
    """
    left = [wanted]
    while left:
        missing = sorted(x for x in before[left[-1]] if x not in order)
        if missing:
            left += reversed(missing)
        else:
            order.setdefault(left.pop())


def _predecessors(nodes: Sequence[Node], state: dict[Value, str]) -> list[set[int]]:
    """Return for each node the indices of the nodes that must come before it.

    state  the values that were read from state so far, with their symbols; those of these nodes are added
    """
    maker: dict[Value, int] = {}
    users: dict[str, list[int]] = {}  # by symbol, the nodes since the last write that read its state, or use what was read
    written: dict[str, int] = {}
    before: list[set[int]] = []
    for i, node in enumerate(nodes):
        given = [x for x in node.operands if isinstance(x, Value)]
        found = {maker[x] for x in given if x in maker}
        for x in given:
            if x in state:
                users.setdefault(state[x], []).append(i)
        if isinstance(node.op, (Read, Write)):
            symbol = node.op.symbol
            if symbol in written:
                found.add(written[symbol])
            if isinstance(node.op, Read):
                users.setdefault(symbol, []).append(i)
                state[node.result] = symbol
            else:
                found.update(x for x in users.pop(symbol, ()) if x != i)
                written[symbol] = i
        elif getattr(node.op, "aliases", False) and given and given[0] in state:
            state[node.result] = state[given[0]]
        maker.update((value, i) for value in node.results)
        before.append(found)
    return before


def _last_heavy(nodes: Sequence[Node], before: Sequence[set[int]]) -> list[int]:
    """Return for each node the largest index of a heavy node among itself and its direct and indirect predecessors; -1 if there is none.

    A node is heavy if it does not read state, and computes or writes a value of more than `_LIGHT` bytes.  An optimiser's step does not
    move up past a heavy predecessor.

    before  for each node, the indices of its direct predecessors (nodes that must come before it)
    """
    last: list[int] = []
    for i, node in enumerate(nodes):
        found = max((last[x] for x in before[i]), default=-1)
        values = node.operands if isinstance(node.op, Write) else node.results
        light = isinstance(node.op, Read) or all(_nbytes(x) <= _LIGHT for x in values)
        last.append(found if light else i)
    return last


@dataclass(frozen=True)
class EarlySteps(Pass):
    """The pass `early-steps`: move an optimiser's update of a large parameter to the place where its gradient has just been computed.

    all  True to move those of small parameters, too: less memory, but more launches
    """

    name: ClassVar[str] = "early-steps"
    all: bool = False

    def on_function(self, function: Function, module: Module) -> Function:
        return with_early_steps(function, 0 if self.all else _LARGE)
