"""The stages of nested control flow: tests and branches around the launches of its regions.

    while              for                    if
      copy initial       copy initial           branch on c to B
    A test               range                  then
      branch to B      A branch on more to B    branch to C
      body               body                 B otherwise
      exchange           exchange             C
      branch to A        next
    B copy results       branch to A
                       B copy results
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from adjoint.ir.core import Node
from adjoint.ir.ops.control import For, If
from adjoint.ir.plan import Block, Control, Launch, Nested, aliases
from adjoint.runtime.execution.batches import ByteRange
from adjoint.runtime.execution.carrying import Turn, carried_by, entries_of, passed, turn_of
from adjoint.runtime.execution.stages import BufferPlace, Jump, LaunchStage, Rotation, Stage
from adjoint.runtime.memory.machine import machine

__all__ = ["Blocks", "NestedStages"]

_WHOLE = 1 << 40
"""Units per thread of a kernel that one thread runs."""


class Blocks:
    """The blocks of a table's own, which change places when it runs.

    begin  the place where each begins, -1 first
    bytes  by block the bytes that it may be
    """

    def __init__(self) -> None:
        self.begin: list[BufferPlace] = []
        self.bytes: dict[int, tuple[ByteRange, ...]] = {}

    def add(self, places: Sequence[BufferPlace], nbytes: int) -> list[BufferPlace]:
        """Return blocks of this size that begin at these places and change places with each other only."""
        ranges = tuple((block, offset, offset + nbytes) for block, offset in places)
        made: list[BufferPlace] = []
        for place in places:
            self.begin.append(place)
            made.append((-len(self.begin), 0))
            self.bytes[-len(self.begin)] = ranges
        return made


class Table(Protocol):
    """The table that is being made."""

    @property
    def stages(self) -> list[Stage]: ...

    @property
    def own(self) -> Blocks: ...

    @property
    def places(self) -> dict[int, BufferPlace]: ...

    def place(self, position: int) -> BufferPlace:
        """Return the place of a value."""
        ...

    def nbytes(self, slot: int) -> int:
        """Return the bytes of a value."""
        ...

    def launched(self, launch: Launch, given: Sequence[BufferPlace]) -> None:
        """Append the stages of a launch on buffers at these places."""
        ...


class _Counter(NamedTuple):
    """Where a `for` counts; the last three are next to each other in the arena."""

    step: BufferPlace
    index: BufferPlace
    left: BufferPlace
    more: BufferPlace


class NestedStages:
    """Appends the stages of one entry to a table, in which its results have their places.

    positions  of the slots from outside
    """

    def __init__(self, table: Table, entry: Nested, positions: Mapping[int, int]):
        self.table, self.entry, self.positions = table, entry, positions
        self.places: dict[int, BufferPlace] = {}

    def add(self) -> None:
        """Append the stages."""
        for slot in self.entry.results:
            self.places[slot] = self.table.places[slot]
        self.control(self.entry.control)

    # -- places -----------------------------------------------------------------------------------------------------
    def place(self, slot: int) -> BufferPlace:
        return self.places[slot] if slot in self.places else self.table.place(self.positions.get(slot, slot))

    def own(self, slot: int) -> BufferPlace:
        """Return the place of a slot that the regions fill: in the arena, unless it has another one."""
        if slot not in self.places:
            self.places[slot] = 0, self.entry.offsets[slot]
        return self.places[slot]

    # -- control flow -------------------------------------------------------------------------------------------------
    def control(self, control: Control) -> None:
        """Append what a node does; its results have their places."""
        if isinstance(control.node.op, If):
            self.choice(control)
        else:
            self.loop(control)

    def choice(self, control: Control) -> None:
        then, otherwise = control.blocks
        leave = self.branch(control.node, self.place(control.operands[0]))
        self.chosen(control, then)
        end = self.branch(control.node, None)
        self.here(leave)
        self.chosen(control, otherwise)
        self.here(end)

    def chosen(self, control: Control, block: Block) -> None:
        direct, copied = passed(block)
        for slot, index in direct.items():
            self.places[slot] = self.place(control.results[index])
        self.block(block)
        for index, slot in copied.items():
            self.copy(control, slot, self.place(control.results[index]))

    def loop(self, control: Control) -> None:
        node, turn, (initial, params), body = control.node, turn_of(control), carried_by(control), control.blocks[-1]
        exchanged = self.carried(control, turn)
        for slot, param in zip(initial, params, strict=True):
            self.copy(control, slot, self.places[param], like=param)
        counter = self.counter(control) if isinstance(node.op, For) else None
        begin = len(self.table.stages)
        leave = self.branch(node, self.tested(control) if counter is None else counter.more)
        self.block(body)
        for i, slot in turn.copied.items():
            self.copy(control, slot, exchanged[control.results[i]], like=params[i])
        for cycle in turn.cycles:
            self.table.stages.append(Rotation(node, tuple(exchanged[slot][0] for slot in cycle)))
        if counter is not None:
            self.kernel(node, "adjoint_next", (), counter, (8, 8, 8, 1), 1, None)
        self.branch(node, None).target = begin
        self.here(leave)
        for result, param in zip(control.results, params, strict=True):
            self.copy(control, param, self.place(result))

    def tested(self, loop: Control) -> BufferPlace:
        """Append the test of a `while`; return the place of what it yields."""
        test = loop.blocks[0]
        self.block(test)
        return self.place(test.yields[0])

    def counter(self, loop: Control) -> _Counter:
        """Append the begin of a `for`."""
        block, offset = self.own(loop.params[0])
        bounds = [self.place(slot) for slot in loop.operands[:3]]
        counter = _Counter(bounds[2], (block, offset), (block, offset + 8), (block, offset + 16))
        self.kernel(loop.node, "adjoint_range", (), (*bounds, *counter[1:]), (8, 8, 8, 8, 8, 1), 3, _step_of_zero)
        return counter

    def carried(self, control: Control, turn: Turn) -> dict[int, BufferPlace]:
        """Give what a loop carries its places; return the blocks that change places, by the names that a Turn has for them."""
        _, params = carried_by(control)
        result_of = dict(zip(params, control.results, strict=True))
        begins: dict[int, BufferPlace] = {}
        for param in params:
            # The result's memory serves the loop as well.
            begins[param] = (0, self.entry.offsets[param]) if param in self.entry.offsets else self.place(result_of[param])
        begins |= {slot: (0, self.entry.offsets[slot]) for slot in turn.direct}
        begins |= {control.results[i]: (0, self.entry.spares[control.results[i]]) for i in turn.copied}
        exchanged: dict[int, BufferPlace] = {}
        for cycle in turn.cycles:
            blocks = self.table.own.add([begins[slot] for slot in cycle], self.table.nbytes(cycle[0]))
            exchanged.update(zip(cycle, blocks, strict=True))
        for slot in (*params, *turn.direct):
            self.places[slot] = exchanged.get(slot, begins[slot])
        return exchanged

    def block(self, block: Block) -> None:
        for entry in entries_of(block):
            if isinstance(entry, Control):
                for slot in entry.results:
                    self.own(slot)
                self.control(entry)
                continue
            given = [self.place(slot) for slot in entry.operands]
            if aliases(entry):
                self.places[entry.results[0]] = given[0]
            else:
                self.table.launched(entry, [*given, *map(self.own, entry.results)])

    # -- stages -------------------------------------------------------------------------------------------------------
    def branch(self, node: Node, condition: BufferPlace | None) -> Jump:
        made = Jump(node, condition)
        self.table.stages.append(made)
        return made

    def here(self, branch: Jump) -> None:
        """Let a branch lead to the stage that comes next."""
        branch.target = len(self.table.stages)

    def copy(self, control: Control, slot: int, target: BufferPlace, like: int | None = None) -> None:
        """Append a copy of a value, unless it is there already."""
        source, nbytes = self.place(slot), self.table.nbytes(slot if like is None else like)
        if source != target and nbytes:
            self.kernel(control.node, "adjoint_copy", (nbytes,), (source, target), (nbytes, nbytes), 1, None)

    def kernel(
        self, node: Node, name: str, sizes: tuple[int, ...], places: Sequence[BufferPlace], nbytes: Sequence[int], inputs: int,
        failure: Callable[[int], Exception] | None,
    ) -> None:
        """Append a kernel of the run-time library."""
        here = machine()
        bound = here.bind(getattr(here.library, name), (1, _WHOLE, *sizes))
        self.table.stages.append(LaunchStage(bound, tuple(places), tuple(nbytes), inputs, node, failure))


def _step_of_zero(status: int) -> Exception:
    return ValueError("range() arg 3 must not be zero")
