"""Straight pieces (kernels with no Python between them) under a tape: run by one C call, and recorded on the tape by one call.

A tape is the recording of a thread's operations for a gradient.  It needs few of the values that a piece computes: values that are used
outside of the piece, and values that adjoints have read before.  The other values have their buffers in the piece's arena, as when nothing
is recorded; if the tape needs one after all, it computes it again.

A piece first runs launch by launch, since many adjoints are recorded only once; from the second time on it runs by one call.  In a log the
piece is one entry, which is replaced by the entries of its launches if the log is replayed.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adjoint.ir.core import Node, tensor_type
from adjoint.ir.ops.conversion import StopGradient
from adjoint.ir.plan import Slot, Straight, aliases
from adjoint.ir.types import TensorType
from adjoint.runtime.execution.checks import Explanations
from adjoint.runtime.execution.recording import Crossing, RecordedOp, Recording
from adjoint.runtime.execution.run import Run, Step, is_constant
from adjoint.runtime.execution.tables import table_step
from adjoint.runtime.memory.machine import Memory
from adjoint.runtime.memory.tuning import tuning
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Boundary", "OneCall", "recorded_piece"]


def recorded_piece(
    piece: Straight, operands: Sequence[tuple[int, ...]], slots: Sequence[Slot], sites: Sequence[Node | None],
    explanations: Explanations, alone: Step,
) -> Step:
    """Return the step that runs and records a straight piece (ops that one C call runs) without accesses of state; all its values are
    tensors.

    operands  for each launch the positions of its operands (indices in the list of values)
    slots     the slots of the plan
    sites     for each launch the node whose location is recorded; None for the line of the program that runs it
    explanations  the functions that raise the exceptions of checks, by symbol
    alone     the step that runs and records the launches one by one, for the first run and for ops without kernels
    """
    one_call: OneCall | None = None
    reached = False

    def recorded(values: list[Any], run: Run) -> None:
        nonlocal one_call, reached
        if not reached:
            reached = True
            alone(values, run)
            return
        if one_call is None:
            one_call = OneCall(piece, operands, slots, sites, explanations)
        if not one_call.run(values, run):
            alone(values, run)

    return recorded


Boundary = tuple[int, tuple[int, ...], str | None, "Node | None"]
"""Where a cell is entered or left between launches: the index of the launch that comes next, the positions of the values that cross, the
name of the cell if it is entered, and the node whose location is recorded.
"""


class OneCall:
    """Runs a straight piece by one C call, and records it.

    piece         the piece
    operands      for each of its ops, the positions of the operands (indices in the list of values)
    slots         the slots of the plan, by position
    sites         for each op, the node whose location is recorded
    explanations  the functions that raise the exceptions of failed checks, by symbol
    boundaries    where cells are entered and left in the piece, in order
    positions     the positions of the operands from outside, then of all results, in the order in which the Recording numbers them
    made          made for one set of values to keep, `recording.kept`: that set; the step that computes the piece and keeps them, None if
        an op has no kernel; and for each result its position, -1 if it is not kept
    round         the value of `tuning.round` when `made` was made: it changes when better kernels are there
    """

    def __init__(
        self, piece: Straight, operands: Sequence[tuple[int, ...]], slots: Sequence[Slot], sites: Sequence[Node | None],
        explanations: Explanations, boundaries: Sequence[Boundary] = (),
    ):
        self.piece, self.operands, self.explanations = piece, operands, explanations
        self.freed = tuple(slot for launch in piece.launches for slot in launch.freed)
        self.results = [slot for launch in piece.launches for slot in launch.results]
        own = {*self.results}
        crossing = [crossed for _, crossed, _, _ in boundaries]
        self.outside = list(dict.fromkeys(i for given in (*operands, *crossing) for i in given if i not in own))
        self.positions = [*self.outside, *self.results]
        self.slots = {position: slots[position] for position in self.positions}
        number = {position: i for i, position in enumerate(self.positions)}
        steps: list[RecordedOp | Crossing] = []
        left = deque(boundaries)
        for index, (launch, given, site) in enumerate(zip(piece.launches, operands, sites, strict=True)):
            steps += _crossings(left, index, number)
            if launch.results:
                types = tuple(map(tensor_type, launch.node.results))
                steps.append(RecordedOp(launch.node.op, tuple(number[i] for i in given), types, site))
        steps += _crossings(left, len(piece.launches), number)
        self.recording = Recording([_tensor_type(slots[i]) for i in self.outside], steps)
        self.made: tuple[frozenset[int] | None, Step | None, tuple[int, ...]] = None, None, ()
        self.round = 0

    def run(self, values: list[Any], run: Run) -> bool:
        """Run the piece by one C call, record it on the tape, if there is one, and log it if a log is kept.

        values  the list of values, from which operands are read and into which kept results are put
        run     the state of this execution, with the tape and the log

        Return False, with nothing done, if an op has no kernel.
        """
        _, compute, shown = self._made(run)
        if compute is None:
            return False
        given = [values[i] for i in self.outside]
        compute(values, run)
        made, tape = [values[i] if i >= 0 else None for i in shown], run.tape
        extended = None if tape is None else tape.extend(self.recording, given, made)
        if not run.plain:
            run.keep(_Logged(self, [x.memory for x in given], made, tape, extended))
        for i in self.freed:
            values[i] = None
        return True

    def is_possible(self, run: Run) -> bool:
        """Return True if every op has a kernel, so that `run` does its work."""
        return self._made(run)[1] is not None

    def _made(self, run: Run) -> tuple[frozenset[int] | None, Step | None, tuple[int, ...]]:
        made = self.made
        if self.recording.kept is not made[0] or self.round != tuning.round:
            # Two threads may both make it: the steps are equal.
            self.round = tuning.round
            made = self.made = self._computing(self.recording.kept, run)
        return made

    def _computing(self, numbers: frozenset[int], run: Run) -> tuple[frozenset[int], Step | None, tuple[int, ...]]:
        piece = self.piece
        kept = {*piece.kept, *(self.positions[i] for i in numbers)}
        for launch in reversed(piece.launches):
            if aliases(launch) and launch.results[0] in kept:
                kept.add(launch.operands[0])  # an alias has the memory of its operand
        slots = {i: replace(slot, offset=None) if i in kept else slot for i, slot in self.slots.items()}
        launches = tuple(replace(launch, freed=()) for launch in piece.launches)
        straight = Straight(launches, piece.arena, frozenset(kept.intersection(self.results)))
        step = table_step(straight, self.operands, slots, {*self.positions}, {}, self.explanations, run)
        return numbers, step, tuple(i if i in kept else -1 for i in self.results)


class _Logged:
    """Entry of a log for all launches of a piece that ran by one C call.  `entries` gives the results that a replay takes from it.

    one_call  the piece
    given     the memory of the operands from outside
    made      for each result the tensor that was kept, or None
    tape      the tape that recorded the piece; None if there was none
    extended  the record of the piece on the tape; None if there is no tape, or if the tape has all results
    """

    def __init__(self, one_call: OneCall, given: Sequence[Memory], made: Sequence[Tensor | None], tape: Any, extended: Any):
        self.one_call, self.given, self.made, self.tape, self.extended = one_call, given, made, tape, extended

    def entries(self) -> Iterator[tuple[Tensor, ...]]:
        """Yield the results of each launch, as a replay of the log needs them.  Results that were not kept are computed again."""
        results = iter(self._results())
        for launch in self.one_call.piece.launches:
            made = tuple(itertools.islice(results, len(launch.results)))
            if isinstance(launch.node.op, StopGradient):
                made[0]._takes_gradient = False
            if not is_constant(launch.node):
                yield made

    def _results(self) -> list[Any]:
        recording, first = self.one_call.recording, len(self.given)
        values = [*self.given, *self.made]
        if self.extended is not None:
            self.tape.fill_piece(self.extended)
            for slot, number in enumerate(self.extended.chain.values, self.extended.first):
                values[number] = self.tape.values[slot] if values[number] is None else values[number]
        if any(x is None for x in values):
            memories = recording.compute(self.given)
            values = [wrap(recording.types[i], memories[i]) if x is None else x for i, x in enumerate(values)]
        return values[first:]


def _crossings(boundaries: deque[Boundary], index: int, number: Mapping[int, int]) -> Iterator[Crossing]:
    """Take the boundaries before the launch number `index`, and yield them with the numbers of a Recording in the place of positions."""
    while boundaries and boundaries[0][0] == index:
        _, crossed, title, site = boundaries.popleft()
        yield Crossing(tuple([number[i] for i in crossed]), title, site)


def _tensor_type(slot: Slot) -> TensorType:
    assert isinstance(slot.type, TensorType)
    return slot.type
