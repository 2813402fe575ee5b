"""Recordings: the ops of a straight piece, in a form that a tape records by one call, not op by op.

A recording may also have cells that are entered and left between its ops: then it is that of a whole graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.types import TensorType
from adjoint.runtime.memory.machine import Memory
from adjoint.runtime.memory.op_plans import plan_for

__all__ = ["Crossing", "RecordedOp", "Recording"]


@dataclass(frozen=True, slots=True)
class RecordedOp:
    """Describes one op of a Recording.

    operands  the numbers of the values that it reads
    types     the types of its results, whose numbers come next
    site      the node whose location is recorded; None for the line of the program that runs the piece (ops that one C call runs)
    """

    op: Op
    operands: tuple[int, ...]
    types: tuple[TensorType, ...]
    site: Node | None


@dataclass(frozen=True, slots=True)
class Crossing:
    """Describes where a Recording enters a cell, or leaves the one that it has entered last.

    values  the numbers of the values that cross the boundary of the cell: its arguments, or its results
    title   the name of the cell that is entered; None if one is left
    site    the node whose location is recorded; None for the line of the program that runs the graph
    """

    values: tuple[int, ...]
    title: str | None
    site: Node | None


class Recording:
    """Lists the ops of a straight piece (ops that one C call runs) in order, so that a tape can record the whole piece at once and compute
    its values again.

    Values are numbered: first the operands from outside, then the results of each op.

    given  the types of the operands from outside
    steps  the ops in order, and where cells are entered and left between them
    ops    the ops alone
    types  the types of all values, by number
    sited  True if every op has a site: a node whose location is recorded
    kept   the numbers of results that adjoints have read, so that later executions of the piece keep their memory.  The set only grows
    """

    def __init__(self, given: Sequence[TensorType], steps: Sequence[RecordedOp | Crossing]):
        self.given, self.steps = tuple(given), tuple(steps)
        self.ops = tuple([each for each in steps if isinstance(each, RecordedOp)])
        self.types = (*self.given, *[type_ for each in self.ops for type_ in each.types])
        self.sited = all(each.site is not None for each in steps)
        self.kept: frozenset[int] = frozenset()

    def compute(self, given: Sequence[Memory]) -> list[Memory]:
        """Compute all values of these ops again, and return the memory of each by its number.  The ops are pure, so the numbers are the
        same again.

        given  the memory of the operands from outside
        """
        values = [*given]
        for each in self.ops:
            plan = plan_for(each.op, [self.types[i] for i in each.operands])
            made = plan.run(*[values[i] for i in each.operands])
            values += (made,) if plan.type is not None else made
        return values
