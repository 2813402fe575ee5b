"""Whether a function means the same when its gradients are expanded as a whole: every sum in eager mode's order, every value as it was.

Eager mode differentiates the path that a run took.  A value that enters an `if` or a loop is one value on that path; in the expanded
function it has another name inside, with a sum of its own, and a branch that is not taken adds zeros.  So a region that is
differentiated may hold cells and gradients, and no other control flow; nor may it be a recorded function, which is pulled elsewhere.
On the path a parameter that is read after it was written is the value that was written, with its gradient; in IR it is another value.

A parameter's value lives in the parameter: what is read must not be used after the parameter is written.  An adjoint uses its
residuals late, so that this can come about by the expansion.
"""

from __future__ import annotations

from collections.abc import Iterable

from adjoint.ir.core import Function, Node, Region, Value, free_of, walk
from adjoint.ir.op import Op
from adjoint.ir.ops.control import Cell, Differentiated, Gradient, RegionOp
from adjoint.ir.ops.state import Read, Write

__all__ = ["reads_survive", "sums_alike"]


def sums_alike(function: Function) -> bool:
    """Return True if the gradients of a function, expanded, sum up cotangents in the order of eager mode."""
    for node in walk(function.body):
        if isinstance(node.op, Differentiated) and not isinstance(node.op, Gradient):
            return False
        if isinstance(node.op, Gradient) and not _straight([inner.op for inner in walk(node.regions[0])]):
            return False
    return True


def _straight(ops: Iterable[Op]) -> bool:
    """Return True if there is no control flow among ops, in order, and no read of what is written before."""
    written: set[str] = set()
    for op in ops:
        if isinstance(op, Write):
            written.add(op.symbol)
        elif (isinstance(op, Read) and op.symbol in written) or (isinstance(op, RegionOp) and not isinstance(op, (Cell, Gradient))):
            return False
    return True


def reads_survive(function: Function) -> bool:
    """Return True if no value that is read from a parameter is used after a write of the parameter."""
    return _Reads().survive(function.body)


class _Reads:
    """The values read from each parameter so far, and those of parameters that have been written since."""

    def __init__(self) -> None:
        self.read: dict[str, list[Value]] = {}
        self.stale: set[Value] = set()

    def survive(self, region: Region) -> bool:
        for node in region.nodes:
            if node.regions:
                # A loop may come back to what stands before a write in its body.
                self.written(inner.op.symbol for body in node.regions for inner in walk(body) if isinstance(inner.op, Write))
            if not self.stale.isdisjoint(_used(node)) or not all(map(self.survive, node.regions)):
                return False
            if isinstance(node.op, Read):
                self.read.setdefault(node.op.symbol, []).append(node.result)
            elif isinstance(node.op, Write):
                self.written([node.op.symbol])
        return self.stale.isdisjoint(atom for atom in region.results if isinstance(atom, Value))

    def written(self, symbols: Iterable[str]) -> None:
        for symbol in symbols:
            self.stale.update(self.read.pop(symbol, ()))


def _used(node: Node) -> Iterable[Value]:
    for atom in (*node.operands, *(value for region in node.regions for value in free_of(region))):
        if isinstance(atom, Value):
            yield atom
