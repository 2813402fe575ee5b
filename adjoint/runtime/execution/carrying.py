"""Carrying: how nested control flow passes values on without copying them.

    for i ... carry (a = a0, b = b0) { c = add(a, b); yield b, c }

A carried value has a block: the memory of the loop's parameter.  What a round computes for the next one has a block too, `c` here.  At the
end of the round the blocks change places, in cycles: a gets the memory of b, b that of c, and c that of a.  What the region does not
compute itself, or yields twice, is copied to a spare block first.

The branches of an `if` compute a result where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.ops.control import For
from adjoint.ir.plan import Access, Block, Control, HostCall, Launch, Nested, PieceEntry, PythonAccess, Straight, Transfer, continues

__all__ = ["Turn", "accesses_of", "carried_by", "entries_of", "mentioned", "passed", "roots_of", "turn_of"]


@dataclass(frozen=True)
class Turn:
    """The end of a round.

    direct   by slot that the body computes, the index of the carried value that it is in the next round
    copied   the indices of those that are copied, from the slots that the body yields
    cycles   the blocks that change places, each named by a parameter's slot, by one of `direct`, or by the loop's result for a spare one
    shared   the parameters whose blocks become that of another one
    """

    direct: dict[int, int]
    copied: dict[int, int]
    cycles: tuple[tuple[int, ...], ...]
    shared: frozenset[int]


def carried_by(loop: Control) -> tuple[Sequence[int], Sequence[int]]:
    """Return the slots of the initial values of a loop, and of the parameters that hold what it carries."""
    return (loop.operands[3:], loop.params[1:]) if isinstance(loop.node.op, For) else (loop.operands, loop.params)


def entries_of(block: Block) -> Iterator[Launch | Transfer | Access | Control]:
    """Yield what nested control flow runs in a block."""
    for piece in block.pieces:
        if isinstance(piece, Straight):
            yield from (entry for entry in piece.entries if not isinstance(entry, (PythonAccess, Nested)))
        else:
            assert isinstance(piece, Control)
            yield piece


def accesses_of(control: Control) -> Iterator[Access]:
    """Yield the reads and writes of state in the regions of nested control flow."""
    for entry in (entry for block in control.blocks for entry in entries_of(block)):
        if isinstance(entry, Access):
            yield entry
        elif isinstance(entry, Control):
            yield from accesses_of(entry)


def mentioned(each: PieceEntry | HostCall | Control) -> Iterator[int]:
    """Yield the slots that an entry or a piece reads, in its regions too."""
    yield from each.operands
    for block in each.blocks if isinstance(each, Control) else ():
        yield from block.yields
        for piece in block.pieces:
            for inner in piece.entries if isinstance(piece, Straight) else (piece,):
                yield from mentioned(inner)


def roots_of(block: Block) -> dict[int, int]:
    """Return for each result in a block the slot whose memory it is."""
    roots: dict[int, int] = {}
    for entry in entries_of(block):
        roots.update((slot, slot) for slot in entry.results)
        if continues(entry):
            roots[entry.results[0]] = roots.get(entry.operands[0], entry.operands[0])
    return roots


def passed(block: Block) -> tuple[dict[int, int], dict[int, int]]:
    """Return which of its results a branch computes where they belong, by slot, and the slots that others are copied from, by index."""
    roots = roots_of(block)
    read = {slot for entry in entries_of(block) if isinstance(entry, Access) for slot in entry.results}
    computed = {slot for slot, root in roots.items() if slot == root} - read
    direct: dict[int, int] = {}
    copied: dict[int, int] = {}
    for index, slot in enumerate(block.yields):
        root = roots.get(slot, slot)
        if root in computed and root not in direct:
            direct[root] = index
        else:
            copied[index] = slot
    return direct, copied


def turn_of(loop: Control) -> Turn:
    """Return the end of a round of a loop."""
    body = loop.blocks[-1]
    _, params = carried_by(loop)
    direct, copied = passed(body)
    number = {param: index for index, param in enumerate(params)}
    roots = roots_of(body)
    next_block = {index: root for root, index in direct.items()}
    given: set[int] = set()
    for index, slot in list(copied.items()):
        root = roots.get(slot, slot)
        if root == params[index]:
            given.add(index)  # it stays as it is
            del copied[index]
    for index, slot in list(copied.items()):
        other = number.get(roots.get(slot, slot))
        if other is not None and other not in given:
            given.add(other)
            next_block[index] = params[other]
            del copied[index]
        else:
            next_block[index] = loop.results[index]
    cycles = tuple(_cycles(params, next_block, number))
    together = [[block for block in cycle if block in number] for cycle in cycles]
    return Turn(direct, copied, cycles, frozenset(param for of in together if len(of) > 1 for param in of))


def _cycles(params: Sequence[int], next_block: dict[int, int], number: dict[int, int]) -> Iterator[tuple[int, ...]]:
    """Yield the cycles in which blocks change places; `next_block` is by index of a carried value the block that it is to have."""
    later = {number[block] for block in next_block.values() if block in number}
    left = dict(next_block)
    for begin in [*(index for index in next_block if index not in later), *next_block]:
        cycle: list[int] = []
        at: int | None = begin
        while at is not None and at in left:
            cycle.append(params[at])
            block = left.pop(at)
            at = number.get(block)
            if at is None:
                cycle.append(block)
        if cycle:
            yield tuple(cycle)


