"""Tables: the launches of a straight piece, run by one C call.

A table holds, for each launch, its bound kernel and where its operands are: in which block of memory, at which offset.  The blocks of a
run are the arena, the values that come from outside, and the results that are used outside.

A table is made when its piece is first reached, so that a branch which is never taken compiles nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from types import CodeType
from typing import Any

from adjoint.ir.core import tensor_type
from adjoint.ir.ops.conversion import StopGradient
from adjoint.ir.plan import Launch, Slot, Straight
from adjoint.ir.types import TensorType
from adjoint.runtime.execution.buffers import aliases, aligned
from adjoint.runtime.execution.run import Run, Step
from adjoint.runtime.memory.machine import machine
from adjoint.runtime.memory.op_plans import OpPlan, plan_for
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["table_step"]

_STEP_BITS = 32
"""`adjoint_run` returns the index of the step that failed, shifted by so many bits, plus its status."""


def table_step(
    piece: Straight, operands: Sequence[tuple[int, ...]], slots: Sequence[Slot], tensors: Collection[int], run: Run
) -> Step | None:
    """Return the step that runs a straight piece by one call; None if one of its ops has no kernel on this machine.

    operands  for each launch the positions of its operands
    tensors   the positions that hold tensors; the others hold memory
    run       the run that reached the piece: an exception gets a note with the line of the launch that cannot be made
    """
    plans: list[OpPlan] = []
    for launch in piece.launches:
        try:
            plan = plan_for(launch.node.op, [tensor_type(x) for x in launch.node.operands])
        except BaseException as raised:
            run.note(raised, launch.node)
            raise
        if plan.stages is None:
            return None
        plans.append(plan)
    table = _Table(piece, slots, tensors)
    for launch, given, plan in zip(piece.launches, operands, plans, strict=True):
        table.add(launch, given, plan)
    return table.step()


class _Table:
    """A table while it is made.

    blocks  for each block of memory the Python expression that gives it
    places  by position or slot, the block and the offset of its buffer
    names   by slot, the local variable that holds the memory of a result used outside, or of what it is an alias of
    """

    def __init__(self, piece: Straight, slots: Sequence[Slot], tensors: Collection[int]):
        self.piece, self.slots, self.tensors = piece, slots, tensors
        self.blocks = ["arena"]
        self.places: dict[int, tuple[int, int]] = {}
        self.names: dict[int, str] = {}
        self.scratch = 0
        self.steps: list[tuple[Any, list[tuple[int, int]]]] = []
        self.launch_of: list[Launch] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.made: dict[str, Any] = {"new": object.__new__, "Tensor": Tensor}

    def add(self, launch: Launch, operands: Sequence[int], plan: OpPlan) -> None:
        """Append a launch."""
        given = [self.place(position) for position in operands]
        if aliases(launch):
            (result,) = launch.results
            self.places[result] = given[0]
            if self.slots[result].offset is None:
                self.names[result] = self.name(operands[0])
                self.store(result, stopped=isinstance(launch.node.op, StopGradient))
        else:
            given += [self.define(slot) for slot in launch.results]
        if plan.stages:
            offset = self.piece.arena
            for nbytes in plan.scratch:
                given.append((0, offset))
                offset += aligned(nbytes)
            self.scratch = max(self.scratch, offset - self.piece.arena)
            for stage in plan.stages:
                self.steps.append((stage, given))
                self.launch_of.append(launch)

    def place(self, position: int) -> tuple[int, int]:
        """Return the block and the offset of an operand."""
        if position not in self.places:
            self.places[position] = self.block(self.name(position))
        return self.places[position]

    def name(self, position: int) -> str:
        """Return the variable that holds the memory at a position."""
        if position not in self.names:
            self.names[position] = f"m{position}"
            self.before.append(f"m{position} = values[{position}]" + (".memory" if position in self.tensors else ""))
        return self.names[position]

    def block(self, expression: str) -> tuple[int, int]:
        self.blocks.append(expression)
        return len(self.blocks) - 1, 0

    def define(self, slot: int) -> tuple[int, int]:
        """Return the place of a result, in the arena or in memory of its own."""
        offset = self.slots[slot].offset
        if offset is not None:
            self.places[slot] = 0, offset
        else:
            self.names[slot] = f"m{slot}"
            self.allocate(f"m{slot}", self.type_of(slot).nbytes)
            self.places[slot] = self.block(f"m{slot}")
            self.store(slot)
        return self.places[slot]

    def allocate(self, name: str, nbytes: int) -> None:
        self.made[f"allocate_{name}"], self.made[f"size_{name}"] = machine().allocator(nbytes)
        self.before.append(f"{name} = allocate_{name}(size_{name})")

    def store(self, slot: int, *, stopped: bool = False) -> None:
        """Give a result to what comes after the piece; no hook can be registered on one of `stop_gradient`."""
        if slot not in self.tensors:
            self.after.append(f"values[{slot}] = {self.names[slot]}")
            return
        self.made[f"type_{slot}"] = self.type_of(slot)
        self.after += [f"values[{slot}] = result = new(Tensor)", f"result.type = type_{slot}", f"result.memory = {self.names[slot]}"]
        if stopped:
            self.after.append("result._takes_gradient = False")

    def type_of(self, slot: int) -> TensorType:
        type_ = self.slots[slot].type
        assert isinstance(type_, TensorType)
        return type_

    def step(self) -> Step:
        """Return the step.  Its function is compiled from text: one for just these values is faster than one that looks at each."""
        if self.steps:
            self.allocate("arena", self.piece.arena + self.scratch)
            here = machine()
            self.made["table"], self.made["kept"] = here.table(self.steps)
            self.made["launch"], self.made["failure"] = here.library.adjoint_run, self.failure()
            self.before += [f"failed = launch(table, [{', '.join(self.blocks)}])", "if failed:", "    raise failure(failed, run)"]
        own = {slot for launch in self.piece.launches for slot in launch.results}
        freed = [slot for launch in self.piece.launches for slot in launch.freed if slot not in own or self.slots[slot].offset is None]
        body = [*self.before, *self.after, *(f"values[{slot}] = None" for slot in freed)]
        exec(_code("\n".join(["def step(values, run):", *(f"    {line}" for line in body or ["pass"])])), self.made)
        return self.made.pop("step")

    def failure(self) -> Any:
        launches = tuple(self.launch_of)

        def failure(failed: int, run: Run) -> BaseException:
            node = launches[failed >> _STEP_BITS].node
            raised = node.op.failure(failed & (1 << _STEP_BITS) - 1)
            run.note(raised, node)
            return raised

        return failure


@functools.lru_cache(maxsize=256)
def _code(text: str) -> CodeType:
    return compile(text, __file__, "exec")
