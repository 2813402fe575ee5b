"""Nested control flow in a table: the stages (launches, branches, exchanges of memory) that run a branch or a loop within one C call.

     while              for                    if

     copy initial       copy initial           branch on c to B
  A  test               range                  then
     branch to B      A branch on more to B    branch to C
     body               body                 B otherwise
     exchange           exchange             C
     branch to A        next
  B  copy results       branch to A
                      B copy results

`exchange` lets the blocks of memory of carried values change places, instead of copying them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from adjoint.ir.core import Node
from adjoint.ir.ops.control import For, If
from adjoint.ir.ops.state import Write
from adjoint.ir.plan import Access, Block, Control, Launch, Nested, Transfer, aliases, continues
from adjoint.runtime.execution.batches import ByteRange
from adjoint.runtime.execution.carrying import Turn, carried_by, entries_of, passed, turn_of
from adjoint.runtime.execution.stacks import library_kernel
from adjoint.runtime.execution.stages import BufferPlace, Jump, LaunchStage, Rotation, Stage

__all__ = ["Blocks", "NestedStages"]

class Blocks:
    """Collects the blocks of memory that a table owns and that change places while it runs.  They are numbered -1, -2, ...

    begin  the place (block and offset) where each of them begins; the first one is for block -1
    bytes  for each of them, all ranges of bytes that it may stand for
    """

    def __init__(self) -> None:
        self.begin: list[BufferPlace] = []
        self.bytes: dict[int, tuple[ByteRange, ...]] = {}

    def add(self, places: Sequence[BufferPlace], nbytes: int) -> list[BufferPlace]:
        """Add blocks of this size, and return the place of each.

        places  where the blocks begin; they change places only with each other
        nbytes  the size of each block
        """
        ranges = tuple((block, offset, offset + nbytes) for block, offset in places)
        made: list[BufferPlace] = []
        for place in places:
            self.begin.append(place)
            made.append((-len(self.begin), 0))
            self.bytes[-len(self.begin)] = ranges
        return made


class Table(Protocol):
    """The table to which NestedStages appends its stages (parts of the C call); see PieceTable, which builds one.

    A BufferPlace is a block of memory and an offset in it.
    """

    @property
    def stages(self) -> list[Stage]: ...

    @property
    def own(self) -> Blocks: ...

    @property
    def places(self) -> dict[int, BufferPlace]: ...

    def place(self, position: int) -> BufferPlace:
        """Return where the value at a position of the run's list of values has its buffer."""
        ...

    def nbytes(self, slot: int) -> int:
        """Return the number of bytes of the value in a slot."""
        ...

    def is_stack(self, slot: int) -> bool:
        """Return True for a slot (value number) that holds a stack."""
        ...

    def stack(self) -> BufferPlace:
        """Return the place of a new stack that only the table uses."""
        ...

    def launched(self, launch: Launch, given: Sequence[BufferPlace]) -> None:
        """Append the stages of a launch.

        given  where its buffers are: first the operands, then the results
        """
        ...

    def transferred(self, entry: Transfer, given: Sequence[BufferPlace]) -> None:
        """Append the stage (a part of the C call) of a node on stacks.

        given  where its stack is, then the item that is pushed or popped
        """
        ...


class _Counter(NamedTuple):
    """Tells where the numbers that count the rounds of a `for` are; the last three are next to each other in the arena."""

    step: BufferPlace
    index: BufferPlace
    left: BufferPlace
    more: BufferPlace


class NestedStages:
    """Appends to a table the stages (parts of the C call) that run one nested branch or loop.  The places of its results are known before.

    table      the table
    entry      the branch or loop
    positions  for each slot that it reads from outside, the position of the value (index in the run's values)
    written    for each symbol of state that it writes, the place of the state
    """

    def __init__(self, table: Table, entry: Nested, positions: Mapping[int, int], written: Mapping[str, BufferPlace]):
        self.table, self.entry, self.positions, self.written = table, entry, positions, written
        self.places: dict[int, BufferPlace] = {}

    def add(self) -> None:
        """Append all stages (parts of the C call) of the branch or loop."""
        for slot in self.entry.results:
            self.places[slot] = self.table.places[slot]
        self.control(self.entry.control)

    # -- places -----------------------------------------------------------------------------------------------------
    def place(self, slot: int) -> BufferPlace:
        return self.places[slot] if slot in self.places else self.table.place(self.positions.get(slot, slot))

    def own(self, slot: int) -> BufferPlace:
        """Return the place of a slot (value number) that the regions fill; find one if it has none yet."""
        if slot not in self.places:
            self.places[slot] = self.separate(slot, self.entry.offsets)
        return self.places[slot]

    def separate(self, slot: int, offsets: Mapping[int, int]) -> BufferPlace:
        """Return a new place for a slot (value number): a new stack, or the arena at the offset that `offsets` gives."""
        return self.table.stack() if self.table.is_stack(slot) else (0, offsets[slot])

    # -- control flow -------------------------------------------------------------------------------------------------
    def control(self, control: Control) -> None:
        """Append the stages (parts of the C call) of an `if`, `for` or `while`.  Its results have places already."""
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
        """Append the stages (parts of the C call) that compute the condition of a `while`; return the place of the condition."""
        test = loop.blocks[0]
        self.block(test)
        return self.place(test.yields[0])

    def counter(self, loop: Control) -> _Counter:
        """Append the stage (a part of the C call) that begins the count of a `for`, and return where its numbers are."""
        block, offset = self.own(loop.params[0])
        bounds = [self.place(slot) for slot in loop.operands[:3]]
        counter = _Counter(bounds[2], (block, offset), (block, offset + 8), (block, offset + 16))
        self.kernel(loop.node, "adjoint_range", (), (*bounds, *counter[1:]), (8, 8, 8, 8, 8, 1), 3, _step_of_zero)
        return counter

    def carried(self, control: Control, turn: Turn) -> dict[int, BufferPlace]:
        """Find places for the values that a loop carries from round to round.

        Return the places of the blocks of memory that change places, by the names that a Turn uses for them.

        turn  how the values are handed on at the end of a round
        """
        _, params = carried_by(control)
        result_of = dict(zip(params, control.results, strict=True))
        begins: dict[int, BufferPlace] = {}
        for param in params:
            # A parameter may use the memory of the loop's result.
            alone = param in self.entry.offsets or (param in turn.shared and self.table.is_stack(param))
            begins[param] = self.separate(param, self.entry.offsets) if alone else self.place(result_of[param])
        begins |= {slot: self.separate(slot, self.entry.offsets) for slot in turn.direct}
        begins |= {control.results[i]: self.separate(control.results[i], self.entry.spares) for i in turn.copied}
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
            if isinstance(entry, Access):
                self.access(entry)
                continue
            given = [self.place(slot) for slot in entry.operands]
            if continues(entry):
                self.places[entry.results[0]] = given[0]
            if isinstance(entry, Transfer):
                self.table.transferred(entry, [*given, *map(self.own, entry.results[continues(entry):])])
            elif not aliases(entry):
                self.table.launched(entry, [*given, *map(self.own, entry.results)])

    def access(self, entry: Access) -> None:
        """Append the stages (parts of the C call) of a read or a write of state.

        A read of state that the loop only reads needs no stage: its value is one from outside.
        """
        state = self.written.get(entry.node.op.symbol)
        if state is None:
            return
        if isinstance(entry.node.op, Write):
            (slot,) = entry.operands
            self.copied(entry.node, self.place(slot), state, self.table.nbytes(slot))
            return
        (slot,) = entry.results
        if slot in self.entry.offsets:
            self.copied(entry.node, state, self.own(slot), self.table.nbytes(slot))
        else:
            self.places[slot] = state

    # -- stages -------------------------------------------------------------------------------------------------------
    def branch(self, node: Node, condition: BufferPlace | None) -> Jump:
        made = Jump(node, condition)
        self.table.stages.append(made)
        return made

    def here(self, branch: Jump) -> None:
        """Make a branch lead to the stage (a part of the C call) that is appended next."""
        branch.target = len(self.table.stages)

    def copy(self, control: Control, slot: int, target: BufferPlace, like: int | None = None) -> None:
        """Append a copy of a value unless source and target are the same place.  A stack is moved, not copied.

        like  the slot (value number) whose size the copy has; None for `slot`
        """
        source, nbytes = self.place(slot), self.table.nbytes(slot if like is None else like)
        if not self.table.is_stack(slot):
            self.copied(control.node, source, target, nbytes)
        elif source != target:
            self.kernel(control.node, "adjoint_move", (), (source, target), (nbytes, nbytes), 0, None)

    def copied(self, node: Node, source: BufferPlace, target: BufferPlace, nbytes: int) -> None:
        """Append a copy of bytes unless source and target are the same place."""
        if source != target and nbytes:
            self.kernel(node, "adjoint_copy", (nbytes,), (source, target), (nbytes, nbytes), 1, None)

    def kernel(
        self, node: Node, name: str, sizes: tuple[int, ...], places: Sequence[BufferPlace], nbytes: Sequence[int], inputs: int,
        failure: Callable[[int], Exception] | None,
    ) -> None:
        """Append a call of a kernel of the run-time library.

        name     the C function
        sizes    the sizes that the kernel takes
        places   its buffers; `nbytes` gives the bytes of each
        inputs   how many of the buffers, from the first on, are only read
        failure  the exception for a status that it may return; None if it cannot fail
        """
        self.table.stages.append(LaunchStage(library_kernel(name, sizes), tuple(places), tuple(nbytes), inputs, node, failure))


def _step_of_zero(status: int) -> Exception:
    return ValueError("range() arg 3 must not be zero")
