"""State that nested control flow writes: it is read and written directly in the tensor's memory.

    for i ... { r = read @w; g = ..(r); v = sub(r, g); write! @w(v) }

Before the call the tensor is made the only holder of its memory.  A write copies the new value there, so that at any time the state is that
of eager mode, even if the call fails or is interrupted.  A value that was read is this memory itself, or a copy if it is needed after a
write.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoint.ir.ops.state import Write
from adjoint.ir.plan import Access, Block, Control
from adjoint.runtime.execution.carrying import accesses_of, entries_of, mentioned, roots_of

__all__ = ["copied_reads", "symbols_written"]


def symbols_written(control: Control) -> set[str]:
    """Return the symbols that a node writes in its regions."""
    return {access.node.op.symbol for access in accesses_of(control) if isinstance(access.node.op, Write)}


def copied_reads(control: Control) -> set[int]:
    """Return the slots (value numbers) that regions of a branch or loop read from state, and that are still needed after that state has
    been written there.
    """
    return {slot for block in control.blocks for slot in _copied(block)}


def _copied(block: Block) -> Iterator[int]:
    entries, roots = list(entries_of(block)), roots_of(block)
    last: dict[int, int] = {}
    for index, entry in enumerate(entries):
        last.update((roots.get(slot, slot), index) for slot in mentioned(entry))
    last.update((roots.get(slot, slot), len(entries)) for slot in block.yields)
    reads: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        if isinstance(entry, Control):
            # A round of a loop may use the value after it has written the state.
            for symbol in symbols_written(entry):
                yield from (slot for slot in reads.pop(symbol, ()) if last.get(slot, -1) >= index)
            yield from copied_reads(entry)
        elif isinstance(entry, Access) and isinstance(entry.node.op, Write):
            yield from (slot for slot in reads.pop(entry.node.op.symbol, ()) if last.get(slot, -1) > index)
        elif isinstance(entry, Access):
            reads.setdefault(entry.node.op.symbol, []).append(entry.results[0])
