"""In place: decide which results of a straight piece become the memory of state, and which may be computed in it.

A result that is written to state, and that nothing else needs afterwards, is *handed over*: its memory becomes that of the state's tensor.
If its op can compute it in the memory of the value that the state had before (`in_place` of an optimiser's step), and nothing needs
that value any more, it needs no memory of its own, provided that the tensor alone holds its memory when the piece runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from adjoint.foundation.dataclass import dataclass, field
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.ops.state import Read
from adjoint.ir.plan import Launch, Nested, PythonAccess, Slot, Straight, Transfer, aliases

__all__ = ["Writes", "writes_of"]


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


def writes_of(piece: Straight, slots: Sequence[Slot] | Mapping[int, Slot], tensors: Collection[int]) -> Writes:
    """Return how a piece writes state.

    tensors  the positions that hold tensors; the others hold memory
    """
    found = Writes()
    whole: dict[int, int] = {}  # by slot, the slot whose memory it names
    current: dict[str, int] = {}  # by symbol, the slot whose value it has
    symbol_of: dict[int, str] = {}  # the same by slot
    last: dict[int, int] = {}  # by slot, the index of the entry that uses its memory last
    afterwards: set[int] = set()  # the slots whose memory is used after the last launch
    wanted: list[tuple[_Moment, int, int, int]] = []  # when, index of the launch, result, the slot whose memory it takes
    written: dict[int, _Moment] = {}  # by slot that is handed over, when
    computed: set[int] = set()
    freed: dict[str | None, list[int]] = {}  # by symbol, the slots that are read in earlier pieces and freed in this one
    fails = 0
    for index, entry in enumerate(piece.entries):
        roots = [whole.get(slot, slot) for slot in entry.operands]
        if isinstance(entry, Nested):
            # Its reads see the value that the state has now.
            roots += [current.setdefault(read.node.op.symbol, read.results[0]) for read in entry.reads]
            symbol_of.update((current[read.node.op.symbol], read.node.op.symbol) for read in entry.reads)
            last.update(dict.fromkeys(roots, index))
            computed.update(entry.results)
            fails += 1  # it may be interrupted
        elif isinstance(entry, Launch):
            last.update(dict.fromkeys(roots, index))
            fails += entry.node.op.may_fail
            if aliases(entry):
                whole[entry.results[0]] = roots[0]
            else:
                computed.update(entry.results)
                for place, operand in getattr(kernel_op(entry.node), "in_place", {}).items():
                    symbol = symbol_of.get(roots[operand])
                    if symbol is not None and roots.count(roots[operand]) == 1:
                        wanted.append((_Moment(symbol, roots[operand], fails), index, entry.results[place], roots[operand]))
        elif isinstance(entry, Transfer):
            last.update(dict.fromkeys(roots, index))
            computed.update(entry.results)
            fails += 1  # there may be no memory
        elif isinstance(entry, PythonAccess):
            afterwards.update(roots)
        elif isinstance(entry.node.op, Read):
            (slot,) = entry.results
            whole[slot] = now = current.setdefault(entry.node.op.symbol, slot)
            symbol_of[now] = entry.node.op.symbol
        else:
            (slot,), (root,), symbol = entry.operands, roots, entry.node.op.symbol
            if slot in computed and slot not in written and slot not in piece.kept and slot not in tensors:
                found.handed.add(slot)
                written[slot] = _Moment(symbol, current.get(symbol, -1), fails)
            else:
                afterwards.add(root)  # it is copied then
            current[symbol] = root
            symbol_of[root] = symbol
        for slot in entry.results:
            # A read that is shown is the state's tensor itself, which has the new value after a write.
            if slot in piece.kept and not (slot in tensors and slots[slot].state is not None):
                afterwards.add(whole.get(slot, slot))
        for slot in entry.freed:
            if slot not in whole:
                freed.setdefault(slots[slot].state, []).append(slot)
    last.update(dict.fromkeys(afterwards, len(piece.entries)))
    for moment, index, result, before in wanted:
        if written.get(result) == moment and last[before] == index:
            found.in_place[result] = before
            found.gone[result] = [slot for slot in freed.get(moment.symbol, ()) if last[slot] < index]
    return found


class _Moment(NamedTuple):
    """A point in a piece; at equal ones a symbol has the same value, and nothing that may fail stands between them."""

    symbol: str
    value: int
    fails: int
