"""Carrying: how nested control flow passes values on without copying them.

    for i ... carry (a = a0, b = b0) { c = add(a, b); yield b, c }

A carried value has a block of memory, that of the loop's parameter.  A value that a round computes for the next round has a block as well,
such as `c` here.  At the end of the round the blocks change places, in cycles: a gets the block of b, b that of c, and c that of a.  A
value that the region does not compute itself, or that it yields twice, is copied to a spare block first.

A value that replaces a row of a carried value, and that nothing else needs, is computed in the block of that value, which then stays:
`y = set_row(y, i, row)` writes one row, in all rounds together the whole array once.

The branches of an `if` compute a result directly in its final place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.ops.control import For
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.plan import Access, Block, Control, HostCall, Launch, Nested, PieceEntry, PythonAccess, Straight, Transfer, continues

__all__ = ["Turn", "accesses_of", "carried_by", "entries_of", "mentioned", "passed", "roots_of", "turn_of"]


@dataclass(frozen=True)
class Turn:
    """How a loop passes its carried values to the next round: which are copied, and which only exchange their blocks of memory.

    direct   for each slot (value number) that the body computes for the next round, the index of that carried value
    copied   for each carried value that is copied, by its index, the slot that is copied from
    cycles   the blocks of memory that change places, in cycles.  A block is named by the slot of a parameter, by a slot in `direct`, or, if
        it is spare, by the slot of the loop's result
    shared   the slots of parameters that may get the block of another parameter
    updated  for each slot that is computed in the block of a parameter, which stays where it is, the slot of that parameter
    """

    direct: dict[int, int]
    copied: dict[int, int]
    cycles: tuple[tuple[int, ...], ...]
    shared: frozenset[int]
    updated: dict[int, int]


def carried_by(loop: Control) -> tuple[Sequence[int], Sequence[int]]:
    """Return the slots (value numbers) of the values that a loop carries: those of the initial values, then those of the parameters that
    hold them in a round.
    """
    return (loop.operands[3:], loop.params[1:]) if isinstance(loop.node.op, For) else (loop.operands, loop.params)


def entries_of(block: Block) -> Iterator[Launch | Transfer | Access | Control]:
    """Yield what a block of nested control flow runs, in order: launches, nodes on stacks, accesses of state, and inner control flow."""
    for piece in block.pieces:
        if isinstance(piece, Straight):
            yield from (entry for entry in piece.entries if not isinstance(entry, (PythonAccess, Nested)))
        else:
            assert isinstance(piece, Control)
            yield piece


def accesses_of(control: Control) -> Iterator[Access]:
    """Yield the reads and writes of state in the regions of nested control flow, at any depth."""
    for entry in (entry for block in control.blocks for entry in entries_of(block)):
        if isinstance(entry, Access):
            yield entry
        elif isinstance(entry, Control):
            yield from accesses_of(entry)


def mentioned(each: PieceEntry | HostCall | Control) -> Iterator[int]:
    """Yield the slots (value numbers) that an entry or a piece of a plan reads; for control flow also what its regions read and yield."""
    yield from each.operands
    for block in each.blocks if isinstance(each, Control) else ():
        yield from block.yields
        for piece in block.pieces:
            for inner in piece.entries if isinstance(piece, Straight) else (piece,):
                yield from mentioned(inner)


def roots_of(block: Block) -> dict[int, int]:
    """Return, for each value that a block computes, the slot (value number) that owns its memory: its own, or that of another value if it
    is only another name for the same memory.
    """
    roots: dict[int, int] = {}
    for entry in entries_of(block):
        roots.update((slot, slot) for slot in entry.results)
        if continues(entry):
            roots[entry.results[0]] = roots.get(entry.operands[0], entry.operands[0])
    return roots


def passed(block: Block) -> tuple[dict[int, int], dict[int, int]]:
    """Return how the results of a branch, or of a loop's body, get to their final places.

    The first dict is for slots (value numbers) that the branch computes directly in that place: it gives the index of the result.  The
    second dict is for the other results: for the index of a result, it gives the slot from which the result is copied.
    """
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
    """Return how a loop passes the values that it carries to the next round: which are copied, and which exchange memory."""
    body = loop.blocks[-1]
    _, params = carried_by(loop)
    direct, copied = passed(body)
    number = {param: index for index, param in enumerate(params)}
    roots = roots_of(body)
    next_block = {index: root for root, index in direct.items()}
    given: set[int] = set()
    updated = {root: params[index] for root, index in direct.items() if _updates(body, root, params[index], roots)}
    for root in updated:
        given.add(index := direct.pop(root))
        del next_block[index]
    for index, slot in list(copied.items()):
        root = roots.get(slot, slot)
        if root == params[index]:
            given.add(index)  # its block stays where it is
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
    return Turn(direct, copied, cycles, frozenset(param for of in together if len(of) > 1 for param in of), updated)


def _updates(body: Block, root: int, param: int, roots: Mapping[int, int]) -> bool:
    """Return True if a value of a loop's body is computed from the carried value of a parameter by an op that can do so in its memory, and
    nothing needs that value afterwards.

    root  the slot of the value, which owns its memory
    """
    entries = list(entries_of(body))
    at = next(index for index, entry in enumerate(entries) if root in entry.results)
    entry = entries[at]
    if not isinstance(entry, Launch):
        return False
    operand = getattr(kernel_op(entry.node), "in_place", {}).get(entry.results.index(root))
    used = [roots.get(slot, slot) for slot in entry.operands]
    if operand is None or used[operand] != param or used.count(param) != 1:
        return False
    later = {roots.get(slot, slot) for other in entries[at + 1 :] for slot in mentioned(other)}
    return param not in later and sum(roots.get(slot, slot) == param for slot in body.yields) == 0


def _cycles(params: Sequence[int], next_block: dict[int, int], number: dict[int, int]) -> Iterator[tuple[int, ...]]:
    """Yield the cycles in which blocks of memory change places: each block becomes that of the next one.

    params      the slot of the parameter of each carried value
    next_block  for each carried value, by its index, the block that it gets for the next round
    number      for the slot of each parameter, the index of its carried value
    """
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


