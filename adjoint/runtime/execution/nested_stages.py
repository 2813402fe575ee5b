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
    """The blocks of memory that a table (the steps of one C call) owns and that exchange their places while it runs, numbered -1, -2, ...

    begin  where each of them begins, as (block, offset); the first one is for block -1
    bytes  for each of them, all ranges of bytes that it may stand for
    """

    def __init__(self) -> None:
        self.begin: list[BufferPlace] = []
        self.bytes: dict[int, tuple[ByteRange, ...]] = {}

    def add(self, places: Sequence[BufferPlace], nbytes: int) -> list[BufferPlace]:
        """Add blocks of `nbytes` bytes that exchange their places among each other, such as those of a loop's values; return where each is.

        places  where each begins, as (block, offset)
        """
        ranges = tuple((block, offset, offset + nbytes) for block, offset in places)
        made: list[BufferPlace] = []
        for place in places:
            self.begin.append(place)
            made.append((-len(self.begin), 0))
            self.bytes[-len(self.begin)] = ranges
        return made


class Table(Protocol):
    """The table (the list of stages that one C call runs) to which NestedStages appends; `PieceTable` builds one.

    A BufferPlace is where a value is in memory: a block and an offset in it.
    """

    @property
    def stages(self) -> list[Stage]: ...

    @property
    def own(self) -> Blocks: ...

    @property
    def places(self) -> dict[int, BufferPlace]: ...

    def place(self, position: int) -> BufferPlace:
        """Return where in memory the value at a position (an index in the list of values) is: its block and its offset."""
        ...

    def nbytes(self, slot: int) -> int:
        """Return the number of bytes of the value in a slot."""
        ...

    def is_stack(self, slot: int) -> bool:
        """Return True for a slot (value number) that holds a stack."""
        ...

    def stack(self) -> BufferPlace:
        """Add a stack that only this table uses, and return where in memory it is."""
        ...

    def launched(self, launch: Launch, given: Sequence[BufferPlace]) -> None:
        """Append the stages (parts of the C call) of a launch, a node that kernels compute.

        given  where its buffers are: first the operands, then the results
        """
        ...

    def transferred(self, entry: Transfer, given: Sequence[BufferPlace]) -> None:
        """Append the stage (a part of the C call) of a node on stacks.

        given  where its stack is, then the item that is pushed or popped
        """
        ...


class _Counter(NamedTuple):
    """The places (block of memory and offset in bytes) of the numbers that count the rounds of a `for`.  The last three are next to each
    other in the arena.

    step   the step of the range
    index  the index of the present round
    left   how many rounds are left
    more   a bool: whether there is another round
    """

    step: BufferPlace
    index: BufferPlace
    left: BufferPlace
    more: BufferPlace


class NestedStages:
    """Appends to a table (the stages of one C call) the stages that run one branch or loop.  Where its results go is known before.

    table      the table
    entry      the branch or loop
    positions  for each slot (value number) that it reads from outside, the index of the value in the list of values
    written    for each symbol of state that it writes, where in memory the state is
    """

    def __init__(self, table: Table, entry: Nested, positions: Mapping[int, int], written: Mapping[str, BufferPlace]):
        self.table, self.entry, self.positions, self.written = table, entry, positions, written
        self.places: dict[int, BufferPlace] = {}

    def add(self) -> None:
        """Append all stages (launches, jumps, exchanges of memory) of the branch or loop to the table.  Call this once."""
        for slot in self.entry.results:
            self.places[slot] = self.table.places[slot]
        self.control(self.entry.control)

    # -- places -----------------------------------------------------------------------------------------------------
    def place(self, slot: int) -> BufferPlace:
        return self.places[slot] if slot in self.places else self.table.place(self.positions.get(slot, slot))

    def own(self, slot: int) -> BufferPlace:
        """Return where in memory the value of a slot is that the regions fill; choose a place if it has none yet."""
        if slot not in self.places:
            self.places[slot] = self.separate(slot, self.entry.offsets)
        return self.places[slot]

    def separate(self, slot: int, offsets: Mapping[int, int]) -> BufferPlace:
        """Choose a new place in memory for the value of a slot: a new stack if it is a stack, otherwise in the arena (the memory of the
        piece), at the offset that `offsets` gives for it.
        """
        return self.table.stack() if self.table.is_stack(slot) else (0, offsets[slot])

    # -- control flow -------------------------------------------------------------------------------------------------
    def control(self, control: Control) -> None:
        """Append the stages (parts of the C call) of an `if`, `for` or `while`, whose results have places in memory already."""
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
        """Append the stages that compute the condition of a `while`; return where in memory its result, a bool, is."""
        test = loop.blocks[0]
        self.block(test)
        return self.place(test.yields[0])

    def counter(self, loop: Control) -> _Counter:
        """Append the stage that prepares the counter of a `for`, from its start, stop and step; return where its numbers are.  ValueError,
        when the stage runs, for a step of 0.
        """
        block, offset = self.own(loop.params[0])
        bounds = [self.place(slot) for slot in loop.operands[:3]]
        counter = _Counter(bounds[2], (block, offset), (block, offset + 8), (block, offset + 16))
        self.kernel(loop.node, "adjoint_range", (), (*bounds, *counter[1:]), (8, 8, 8, 8, 8, 1), 3, _step_of_zero)
        return counter

    def carried(self, control: Control, turn: Turn) -> dict[int, BufferPlace]:
        """Choose places in memory for the values that a loop carries from round to round.

        turn  how the values are passed on at the end of a round

        Return, for the blocks of memory that exchange their places, where each is, by the names that `turn` uses for them.
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
        self.places.update((slot, self.places[param]) for slot, param in turn.updated.items())
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
        """Append the stages of a read or a write of state.

        A read of state that the branch or loop does not write needs none: its value comes from outside.
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
        """Let a jump lead to the stage that is appended next."""
        branch.target = len(self.table.stages)

    def copy(self, control: Control, slot: int, target: BufferPlace, like: int | None = None) -> None:
        """Append a copy of the value of `slot` to the place `target`, unless it is there already.  A stack is moved, not copied.

        control  the branch or loop for which it is copied
        like     the slot whose size the copy has; None for `slot`
        """
        source, nbytes = self.place(slot), self.table.nbytes(slot if like is None else like)
        if not self.table.is_stack(slot):
            self.copied(control.node, source, target, nbytes)
        elif source != target:
            self.kernel(control.node, "adjoint_move", (), (source, target), (nbytes, nbytes), 0, None)

    def copied(self, node: Node, source: BufferPlace, target: BufferPlace, nbytes: int) -> None:
        """Append a stage that copies `nbytes` bytes, unless source and target are the same place in memory.

        node  the node for which they are copied
        """
        if source != target and nbytes:
            self.kernel(node, "adjoint_copy", (nbytes,), (source, target), (nbytes, nbytes), 1, None)

    def kernel(
        self, node: Node, name: str, sizes: tuple[int, ...], places: Sequence[BufferPlace], nbytes: Sequence[int], inputs: int,
        failure: Callable[[int], Exception] | None,
    ) -> None:
        """Append a stage that calls a C function of the run-time library.

        node     the node for which it is called, for messages
        name     the C function
        sizes    the sizes that it takes
        places   its buffers; `nbytes` gives the bytes of each
        inputs   how many of the buffers, from the first on, are only read
        failure  makes the exception for a status that it may return; None if it cannot fail
        """
        self.table.stages.append(LaunchStage(library_kernel(name, sizes), tuple(places), tuple(nbytes), inputs, node, failure))


def _step_of_zero(status: int) -> Exception:
    return ValueError("range() arg 3 must not be zero")
