"""In place: decide which results of a straight piece become the memory of state, and which may be computed in that memory.

A result that is written to state, and that nothing else needs afterwards, is *handed over*: its memory becomes that of the state's tensor.
Its op may be able to compute it in the memory of the state's old value (`in_place` of an optimiser's step).  If nothing needs the old value
any more, the result then needs no memory of its own, provided that only the tensor holds its memory when the piece runs.
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
    """How one straight piece (consecutive nodes that one C call runs) writes state (tensors that stay between calls) without copying.

    handed    the slots (value numbers) of results whose memory becomes the memory of a state's tensor
    in_place  for each result that may be computed in the memory of an old value, the slot of that old value
    gone      for each of these results, slots of earlier pieces that were read from the same state and are not needed any more
    """

    handed: set[int] = field(default_factory=set)
    in_place: dict[int, int] = field(default_factory=dict)
    gone: dict[int, list[int]] = field(default_factory=dict)


def writes_of(piece: Straight, slots: Sequence[Slot] | Mapping[int, Slot], tensors: Collection[int]) -> Writes:
    """Decide how a straight piece (ops that one C call runs) writes state.

    slots    the slots of the plan, by number
    tensors  the positions that hold tensors; the others hold memory
    """
    found = Writes()
    whole: dict[int, int] = {}  # by slot, the slot that owns its memory
    current: dict[str, int] = {}  # by symbol, the slot that has the symbol's present value
    symbol_of: dict[int, str] = {}  # by slot, the symbol whose value it has
    last: dict[int, int] = {}  # by owning slot, the index of the last entry that uses the memory
    afterwards: set[int] = set()  # the slots whose memory is used after the last launch
    wanted: list[tuple[_Moment, int, int, int]] = []  # moment, index of the launch, its result, the slot whose memory the result may take
    written: dict[int, _Moment] = {}  # by handed slot, the moment of the write
    computed: set[int] = set()
    freed: dict[str | None, list[int]] = {}  # by symbol, the slots that are read in earlier pieces and freed in this one
    fails = 0
    for index, entry in enumerate(piece.entries):
        roots = [whole.get(slot, slot) for slot in entry.operands]
        if isinstance(entry, Nested):
            # Its reads see the present value of the state.
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
            fails += 1  # memory may be lacking
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
                afterwards.add(root)  # it is copied
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
    """A key for a point in a straight piece (ops that one C call runs).  If the keys of two points are equal, the state has the same value
    at both, and nothing between them can fail.

    symbol  the name of the state
    value   the slot (value number) of its value
    fails   how many entries before this point can fail
    """

    symbol: str
    value: int
    fails: int
