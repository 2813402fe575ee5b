"""In place: decide which results of a straight piece become the memory of state, and which may be computed in it.

A result that is written to state, and that nothing else needs afterwards, is *handed over*: its memory becomes that of the state's tensor.
If its op can compute it in the memory of the value that the state had before (`in_place` of an optimiser's step), and nothing needs
that value any more, it needs no memory of its own, provided that the tensor alone holds its memory when the piece runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from adjoint.ir.op import Op
from adjoint.ir.ops.state import Read
from adjoint.ir.plan import Access, Launch, Slot, Straight
from adjoint.runtime.execution.buffers import aliases

__all__ = ["Writes", "can_fail", "writes_of"]


@dataclass
class Writes:
    """How a piece writes state.

    handed    the results whose memory becomes that of a state's tensor
    in_place  for each of them that may be computed in place, the slot whose memory it is computed in
    gone      for each of these, the slots read in an earlier piece that were the same state, and that nothing needs any more
    """

    handed: set[int] = field(default_factory=set)
    in_place: dict[int, int] = field(default_factory=dict)
    gone: dict[int, list[int]] = field(default_factory=dict)


def can_fail(op: Op) -> bool:
    """Return True if a kernel of the op may refuse the numbers that it is given."""
    return type(op).failure is not Op.failure


def writes_of(piece: Straight, slots: Sequence[Slot], tensors: Collection[int]) -> Writes:
    """Return how a piece writes state.

    tensors  the positions that hold tensors; the others hold memory
    """
    found = Writes()
    whole: dict[int, int] = {}  # by slot, the slot whose memory it names
    current: dict[str, int] = {}  # by symbol, the slot whose value it has
    last: dict[int, int] = {}  # by slot, the index of the entry that uses its memory last
    wanted: list[tuple[int, int, int, str]] = []  # index of the launch, result, the slot whose memory it takes, symbol
    written: dict[int, int] = {}  # by slot that is handed over, the index of its write
    computed: set[int] = set()
    for index, entry in enumerate(piece.entries):
        roots = [whole.get(slot, slot) for slot in entry.operands]
        if isinstance(entry, Launch):
            last.update(dict.fromkeys(roots, index))
            if aliases(entry):
                whole[entry.results[0]] = roots[0]
            else:
                computed.update(entry.results)
                for place, operand in getattr(entry.node.op, "in_place", {}).items():
                    symbol = next((name for name, slot in current.items() if slot == roots[operand]), None)
                    if symbol is not None and roots.count(roots[operand]) == 1:
                        wanted.append((index, entry.results[place], roots[operand], symbol))
        elif isinstance(entry.node.op, Read):
            (slot,) = entry.results
            whole[slot] = current.setdefault(entry.node.op.symbol, slot)
        else:
            (slot,), (root,) = entry.operands, roots
            if slot in computed and slot not in written and slot not in piece.kept and slot not in tensors:
                found.handed.add(slot)
                written[slot] = index
            else:
                last[root] = len(piece.entries)  # it is copied after the last launch
            current[entry.node.op.symbol] = root
        for slot in entry.results:
            # A read that is shown is the state's tensor itself, which has the new value after a write.
            if slot in piece.kept and not (slot in tensors and slots[slot].state is not None):
                last[whole.get(slot, slot)] = len(piece.entries)
    fails = [index for index, entry in enumerate(piece.entries) if isinstance(entry, Launch) and can_fail(entry.node.op)]
    for index, result, before, symbol in wanted:
        write = written.get(result)
        if (
            write is not None
            and last[before] == index
            and not any(index < failing < write for failing in fails)
            and _next_write(piece, symbol, index) == write
        ):
            found.in_place[result] = before
            freed = {slot for entry in piece.entries for slot in entry.freed}
            found.gone[result] = [slot for slot in freed if slot not in whole and slots[slot].state == symbol and last[slot] < index]
    return found


def _next_write(piece: Straight, symbol: str, index: int) -> int:
    """Return the index of the first write of a symbol after an entry, -1 if there is none."""
    for at, entry in enumerate(piece.entries[index + 1 :], index + 1):
        if isinstance(entry, Access) and not entry.results and entry.node.op.symbol == symbol:
            return at
    return -1
