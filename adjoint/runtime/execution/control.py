"""Steps of nodes with regions that Python runs.

They copy values to the parameters of blocks (planned regions), run the blocks, and copy the yielded values.  A slot holds either a tensor
or bare memory; a value that is copied from a tensor's slot to a slot for memory becomes the tensor's memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adjoint.ir.ops.control import Cell, For, If, While
from adjoint.ir.plan import Control
from adjoint.ir.types import I64, scalar
from adjoint.runtime.execution.run import Block, Run, Step
from adjoint.runtime.memory.machine import Memory, ffi, machine
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["Positions", "control_step"]

_INDEX = scalar(I64)


class Positions(Protocol):
    """Tells whether values are held as tensors or as bare memory; the functions that make steps of control flow ask it where to copy from.

    A position is an index in the list of values; a slot is the number of a value.  They differ for constants, which may be held in both
    forms.
    """

    def holds(self, position: int) -> bool:
        """Return True if a position (an index in the list of values) holds a tensor; otherwise it holds memory, or a value of another kind.
        """
        ...

    def fitting(self, slots: Sequence[int], targets: Sequence[int]) -> tuple[int, ...]:
        """Return the positions (indices in the list of values) of values that are copied to the slots `targets`; a constant is held in the
        same way as its target.
        """
        ...

    def as_they_are(self, slots: Sequence[int]) -> tuple[int, ...]:
        """Return the positions (indices in the list of values) of values that are only read; they may hold tensors or memory."""
        ...


def control_step(piece: Control, blocks: Sequence[Block], results: range, positions: Positions) -> Step | None:
    """Return the step that runs an `if`, a `for`, a `while`, or a cell of which only the region runs; None for another node.

    piece      the node, with the slots of its values
    blocks     the steps of its regions
    results    the positions of its results (indices in the list of values)
    positions  tells which positions hold tensors, which memory
    """
    match piece.node.op:
        case If():
            return _if(piece, blocks, results, positions)
        case For():
            return _for(piece, blocks[0], results, positions)
        case While():
            return _while(piece, blocks, results, positions)
        case Cell():
            return _inlined(piece, blocks[0], results, positions)
        case _:
            return None


def mover(slots: Sequence[int], targets: Sequence[int], positions: Positions) -> Callable[[list[Any]], None]:
    """Return a function that copies values within the list of values, all at once as in a tuple assignment.

    slots      the slots (value numbers) to read
    targets    the slots to fill, in the same order
    positions  tells which slots hold tensors, which memory
    """
    holds = positions.holds
    pairs = tuple((s, t) for s, t in zip(positions.fitting(slots, targets), targets, strict=True) if s != t)
    if not pairs:
        return lambda values: None
    if any(holds(s) and not holds(t) for s, t in pairs):
        taken = tuple((s, t, holds(s) and not holds(t)) for s, t in pairs)

        def taking(values: list[Any]) -> None:
            moved = [_memory(values[s]) if takes else values[s] for s, _, takes in taken]
            for (_, t, _), value in zip(taken, moved):
                values[t] = value

        return taking
    if len(pairs) == 1:
        ((source, target),) = pairs

        def one(values: list[Any]) -> None:
            values[target] = values[source]

        return one
    if not {s for s, _ in pairs} & {t for _, t in pairs}:

        def apart(values: list[Any]) -> None:
            for s, t in pairs:
                values[t] = values[s]

        return apart

    def crossing(values: list[Any]) -> None:
        for (_, t), value in zip(pairs, [values[s] for s, _ in pairs]):
            values[t] = value

    return crossing


def _memory(x: Any) -> Any:
    """Return the memory of a tensor; return any other value unchanged."""
    return x.memory if isinstance(x, Tensor) else x


def _reader(slot: int, positions: Positions) -> Callable[[list[Any]], Memory]:
    """Return a function that takes the list of values, and returns the memory of the value in `slot`, whether held as a tensor or as
    memory.
    """
    (position,) = positions.as_they_are((slot,))
    return (lambda values: values[position].memory) if positions.holds(position) else (lambda values: values[position])


def _integer(memory: Memory) -> int:
    """Return the int in the memory of an i64 scalar."""
    return int.from_bytes(ffi.buffer(memory, 8), sys.byteorder, signed=True)


def _index(value: int) -> Memory:
    """Return new memory that holds a Python int as i64, such as the index of a loop.  It is new at each call, since hooks may write to it.
    """
    memory: Memory = machine().allocate(8)
    ffi.buffer(memory, 8)[:] = value.to_bytes(8, sys.byteorder, signed=True)
    return memory


def _inlined(piece: Control, block: Block, results: range, positions: Positions) -> Step:
    enter, leave = mover(piece.operands, piece.params, positions), mover(piece.blocks[0].yields, results, positions)

    def inlined(values: list[Any], run: Run) -> None:
        enter(values)
        block.run(values, run)
        leave(values)

    return inlined


def _if(piece: Control, blocks: Sequence[Block], results: range, positions: Positions) -> Step:
    then, otherwise = blocks
    then_leave, otherwise_leave = (mover(planned.yields, results, positions) for planned in piece.blocks)
    truth = _reader(piece.operands[0], positions)

    def branch(values: list[Any], run: Run) -> None:
        if truth(values)[0] != b"\0":
            then.run(values, run)
            then_leave(values)
        else:
            otherwise.run(values, run)
            otherwise_leave(values)

    return branch


def _for(piece: Control, block: Block, results: range, positions: Positions) -> Step:
    start, stop, step = (_reader(slot, positions) for slot in piece.operands[:3])
    index, *carried = piece.params
    shown = positions.holds(index)
    enter, turn = mover(piece.operands[3:], carried, positions), mover(piece.blocks[0].yields, carried, positions)
    leave = mover(carried, results, positions)

    def rounds(values: list[Any], run: Run) -> None:
        enter(values)
        for i in range(_integer(start(values)), _integer(stop(values)), _integer(step(values))):
            values[index] = wrap(_INDEX, _index(i)) if shown else _index(i)
            block.run(values, run)
            turn(values)
        leave(values)

    return rounds


def _while(piece: Control, blocks: Sequence[Block], results: range, positions: Positions) -> Step:
    (test, body), params = blocks, piece.params
    enter, turn = mover(piece.operands, params, positions), mover(piece.blocks[1].yields, params, positions)
    leave = mover(params, results, positions)
    truth = _reader(piece.blocks[0].yields[0], positions)

    def loop(values: list[Any], run: Run) -> None:
        enter(values)
        while True:
            test.run(values, run)
            if truth(values)[0] == b"\0":
                break
            body.run(values, run)
            turn(values)
        leave(values)

    return loop
