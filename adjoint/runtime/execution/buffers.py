"""Buffers: decide which values live in the arena of their piece, and at which offset.

The arena is one block of memory for each run of a straight piece (kernels that one C call runs).  A value that only the launches of one
piece use needs no memory of its own: its buffer begins at an offset in the arena, and its bytes are used again once no later launch reads
the value.  Python code, other pieces and callers never see an arena.  Stacks are not in an arena: each is freed together with its contents.

In nested control flow the values that a loop carries keep their bytes for as long as the loop runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from itertools import chain

from adjoint.ir.arena import Arena
from adjoint.ir.ops.control import If
from adjoint.ir.ops.state import Write
from adjoint.ir.plan import Access, Block, Control, Launch, Nested, Plan, PythonAccess, Slot, Straight, Transfer, continues
from adjoint.ir.types import StackType, TensorType
from adjoint.runtime.execution.carrying import carried_by, entries_of, mentioned, passed, roots_of, turn_of
from adjoint.runtime.execution.written_in_loops import copied_reads

__all__ = ["ALIGNMENT", "aligned", "with_arenas"]

ALIGNMENT = 64
"""Buffers begin at multiples of this number of bytes, as blocks of memory do."""

_SPLIT = 2**20
"""A piece ends after a launch that is the last to use a value of this many bytes, so that its memory is freed then."""


def aligned(nbytes: int) -> int:
    """Return the number of bytes rounded up to a multiple of the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def with_arenas(plan: Plan) -> Plan:
    """Return the plan with offsets in an arena (a block of memory for one piece) for all values that only one straight piece uses.

    A straight piece is consecutive nodes that one C call runs; large ones may be split, so that memory is freed earlier.
    """
    layout = _Layout(plan.slots)
    body = layout.block(plan.body)
    slots = tuple(replace(slot, offset=layout.offsets[i]) if i in layout.offsets else slot for i, slot in enumerate(plan.slots))
    return replace(plan, slots=slots, body=body)


class _Layout:
    def __init__(self, slots: tuple[Slot, ...]):
        self.slots = slots
        self.offsets: dict[int, int] = {}

    def block(self, block: Block) -> Block:
        # From the last piece to the first, since what is used later decides.
        used = set(block.yields)
        pieces = []
        for piece in reversed(block.pieces):
            if isinstance(piece, Straight):
                pieces += [self.straight(part, used) for part in reversed(self.parts(piece))]
                continue
            if isinstance(piece, Control):
                piece = replace(piece, blocks=tuple(map(self.block, piece.blocks)))
            used.update(mentioned(piece))
            pieces.append(piece)
        return Block(tuple(reversed(pieces)), block.yields)

    def parts(self, piece: Straight) -> list[Straight]:
        """Split a piece (ops that one C call runs) after each last use of a large value from outside of it, so that the value's memory can
        be freed there.

        Writes of state stay in the same part as the launches before them.
        """
        made = {slot for entry in piece.entries for slot in entry.results}
        parts: list[Straight] = []
        begin, frees = 0, False
        for index, entry in enumerate(piece.entries):
            if frees and not isinstance(entry.node.op, Write):
                parts.append(Straight(piece.entries[begin:index]))
                begin, frees = index, False
            frees = frees or any(slot not in made and self.nbytes(slot) >= _SPLIT for slot in entry.freed)
        return [*parts, Straight(piece.entries[begin:])]

    def straight(self, piece: Straight, used: set[int]) -> Straight:
        """Return a piece (ops that one C call runs) with its arena; enter the offsets of its values in `offsets`.

        used  the slots (value numbers) that are used after the piece; the slots that the piece itself reads are added
        """
        whole: dict[int, int] = {}
        outside: set[int] = set()
        last: dict[int, int] = {}
        for index, entry in enumerate(piece.entries):
            for slot in entry.operands:
                last[whole.get(slot, slot)] = index
            whole.update((slot, slot) for slot in entry.results)
            if continues(entry):
                # An alias prolongs the life of the buffer that it names.
                whole[entry.results[0]] = whole.get(entry.operands[0], entry.operands[0])
            for slot in entry.results:
                root = whole[slot]
                last[root] = index
                if slot in used or self.slots[slot].shown or self.is_stack(slot):
                    outside.add(root)
            if isinstance(entry, (Access, PythonAccess)):
                # A value that state holds, before or after, has memory of its own.
                outside.update(whole.get(slot, slot) for slot in (*entry.operands, *entry.results))
        arena = Arena()
        dying: dict[int, list[int]] = {}
        entries = list(piece.entries)
        for index, entry in enumerate(piece.entries):
            for slot in entry.results:
                root = whole[slot]
                if root == slot and root not in outside:
                    self.offsets[slot] = arena.take(self.nbytes(slot))
                    dying.setdefault(last[slot], []).append(slot)
                elif root in self.offsets:
                    self.offsets[slot] = self.offsets[root]
            if isinstance(entry, Nested):
                entries[index] = self.nested(entry, arena)
            for slot in dying.pop(index, ()):
                arena.give_back(self.offsets[slot], self.nbytes(slot))
        kept = used.intersection(slot for entry in piece.entries for slot in entry.results)
        used.update(slot for entry in piece.entries for slot in entry.operands)
        return Straight(tuple(entries), arena.nbytes, frozenset(kept))

    def nested(self, entry: Nested, arena: Arena) -> Nested:
        """Return a branch or loop with the places found for its values, as offsets in the arena.

        Python runs its regions as blocks if a kernel is missing, so the layout of these blocks is found, too.
        """
        found = _NestedLayout(self.nbytes, self.is_stack, arena, copied_reads(entry.control) if entry.writes else set())
        found.control(entry.control, outermost=True)
        control = replace(entry.control, blocks=tuple(map(self.block, entry.control.blocks)))
        return replace(entry, control=control, offsets=found.offsets, spares=found.spares)

    def is_stack(self, slot: int) -> bool:
        return isinstance(self.slots[slot].type, StackType)

    def nbytes(self, slot: int) -> int:
        type_ = self.slots[slot].type
        return aligned(type_.nbytes) if isinstance(type_, TensorType) and type_.is_static else 0


class _NestedLayout:
    """Finds places in the arena of a piece (ops that one C call runs) for the values of one branch or loop that is nested in it.

    `control` fills `offsets` and `spares`; see `Nested` for what they are.

    nbytes    returns the number of bytes of the value in a slot
    is_stack  returns True for a slot that holds a stack
    copied    the slots of reads of state that are copied
    """

    def __init__(self, nbytes: Callable[[int], int], is_stack: Callable[[int], bool], arena: Arena, copied: Set[int]):
        self.nbytes, self.is_stack, self.arena, self.copied = nbytes, is_stack, arena, copied
        self.offsets: dict[int, int] = {}
        self.spares: dict[int, int] = {}

    def control(self, control: Control, *, outermost: bool = False) -> None:
        """Find places for the values that a node's regions compute.

        outermost  True for the branch or loop itself, False for one inside of it.  Its results already have places
        """
        if isinstance(control.node.op, If):
            for block in control.blocks:
                self.block(block, passed(block)[0])
            return
        turn, (_, params) = turn_of(control), carried_by(control)
        own = [p for p in params if not outermost or p in turn.shared]
        index = [p for p in control.params if p not in params]
        placed = [slot for slot in (*own, *index, *turn.direct) if not self.is_stack(slot)]
        spare = [control.results[i] for i in turn.copied if not self.is_stack(control.results[i])]
        for slots, offsets in ((placed, self.offsets), (spare, self.spares)):
            offsets.update((slot, self.arena.take(self.nbytes(slot))) for slot in slots)
        for block in control.blocks:
            self.block(block, {**turn.direct, **turn.updated})
        for slots, offsets in ((placed, self.offsets), (spare, self.spares)):
            for slot in slots:
                self.arena.give_back(offsets[slot], self.nbytes(slot))

    def is_own(self, entry: Launch | Transfer | Access | Control) -> bool:
        """Return True if the results of `entry` need memory of their own.  False for a read of state that is not copied: its value is the
        state's memory.
        """
        return not isinstance(entry, Access) or not self.copied.isdisjoint(entry.results)

    def block(self, block: Block, placed: Mapping[int, int]) -> None:
        """Find places for the values that a block computes, except for those in the slots (value numbers) `placed`."""
        roots, entries = roots_of(block), list(entries_of(block))
        last = dict.fromkeys(roots.values(), 0)
        for index, entry in enumerate(entries):
            last.update(dict.fromkeys(entry.results, index))
            last.update((roots[slot], index) for slot in mentioned(entry) if slot in roots)
        last.update((roots[slot], len(entries)) for slot in block.yields if slot in roots)
        dying: dict[int, list[int]] = {}
        for index, entry in enumerate(entries):
            for slot in entry.results:
                if roots[slot] == slot and slot not in placed and not self.is_stack(slot) and self.is_own(entry):
                    self.offsets[slot] = self.arena.take(self.nbytes(slot))
                    dying.setdefault(last[slot], []).append(slot)
            if isinstance(entry, Control):
                self.control(entry)
            for slot in dying.pop(index, ()):
                self.arena.give_back(self.offsets[slot], self.nbytes(slot))
        for slot in chain.from_iterable(dying.values()):
            self.arena.give_back(self.offsets[slot], self.nbytes(slot))
