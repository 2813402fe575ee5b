"""Which tensors an op that a tape has recorded gives to `saved_tensors_hooks`: those that its gradient reads."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.ir.build import Builder
from adjoint.ir.core import Node, Value
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell
from adjoint.ir.ops.host import Pack
from adjoint.passes.activity import Activity, differentiable
from adjoint.passes.reads import read_by_gradient
from adjoint.runtime.gradients.path import Path
from adjoint.runtime.gradients.trie import EnterStep, LeaveStep, PackStep, TrieStep

__all__ = ["Active", "pack_step"]


class Active:
    """Finds the values of a path through which gradients pass; what a path has got since the last time is looked at in each call of `of`.

    path   the path; `found` is thrown away when it is another one
    last   the step up to which it has been looked at
    found  the values
    """

    def __init__(self) -> None:
        self._path: Path | None = None
        self._last: TrieStep | None = None
        self._found: set[Value] = set()

    def of(self, path: Path) -> set[Value]:
        """Return the values through which gradients pass: those to differentiate by, and what ops compute of them."""
        if self._path is not path:
            self._path, self._last, self._found = path, None, set()
        new: list[TrieStep] = []
        at = path.end
        while at is not self._last and at.parent is not None:
            new.append(at)
            at = at.parent
        self._last = path.end
        for step in reversed(new):
            self._add(step)
        return self._found

    def _add(self, step: TrieStep) -> None:
        found, node = self._found, step.node
        if isinstance(step, EnterStep):
            found.update(inside for inside, x in zip(step.values, step.arguments, strict=True) if x in found)
        elif isinstance(step, LeaveStep) and node is not None and not _ruled(node.op):
            found.update(y for y, inside in zip(node.results, node.regions[0].results, strict=True) if inside in found)
        elif node is not None:
            found.update(Activity.passed_on(node, found))
        else:
            found.update(x for x in step.values if differentiable(x.type))


def pack_step(path: Path, active: set[Value], numbers: Sequence[int]) -> PackStep:
    """Make the step after that of an op, or of leaving a cell with a `bprop`, which packs what its gradient reads.

    path     the path, which ends with that op
    active   the values through which gradients pass
    numbers  the places of operands that are numbers of Python, which are not packed
    """
    node = path.end.node
    assert node is not None
    # Inside of a cell with a `bprop` of its own no gradient is computed.
    places = () if any(cell.op.rule for cell in path.cells) else [p for p in _places(node, active) if p not in numbers]
    if not places:
        return PackStep(path.end, None, (), ())
    slots = {value: slot for slot, value in enumerate(path.values)}
    values = [[*node.operands, *node.results][place] for place in places]
    op = Pack(path.symbol(f"{_title(node.op)}.saved"), tuple(places))
    packing = Builder(node.loc).emit_node(op, [node.results[0], *values])
    return PackStep(path.end, packing, tuple([slots[x] for x in values]), (op.symbol,))


def _places(node: Node, active: set[Value]) -> Sequence[int]:
    if not node.results:
        return ()
    by = tuple([x in active for x in node.operands])
    if not _ruled(node.op):
        return read_by_gradient(node.op, tuple([x.type for x in node.operands]), by)
    return range(len(node.operands) + len(node.results)) if any(by) else ()


def _ruled(op: Op) -> bool:
    return isinstance(op, Cell) and bool(op.rule)


def _title(op: Op) -> str:
    return op.title if isinstance(op, Cell) else op.name
