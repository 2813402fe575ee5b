"""Batches: decide which consecutive launches of a table run as one.

The threads share the units of all launches of a batch.  So many small launches, such as the steps of an optimiser, start the threads once.
Launched one by one they would not use the threads at all, or start them again for each launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjoint.runtime.execution.stages import Jump, LaunchStage, Stage

__all__ = ["batches"]

ByteRange = tuple[int, int, int]
"""A range of bytes in a block of memory: (the number of the block, the first byte, the byte after the last)."""


class _Bytes:
    """A set of byte ranges in blocks of memory.  `meet` tells whether any of given ranges overlaps it."""

    def __init__(self) -> None:
        self.of: dict[int, list[tuple[int, int]]] = {}

    def add(self, ranges: Sequence[ByteRange]) -> None:
        for block, begin, end in ranges:
            self.of.setdefault(block, []).append((begin, end))

    def meet(self, ranges: Sequence[ByteRange]) -> bool:
        return any(begin < its_end and its_begin < end for block, begin, end in ranges for its_begin, its_end in self.of.get(block, ()))


def batches(stages: Sequence[Stage], shared: Mapping[int, int], own: Mapping[int, Sequence[ByteRange]]) -> list[int]:
    """Decide which launches of a table run together as one batch.

    A table is the list of stages that one C call runs.  Return, for each stage, how many stages from it on form one batch: 1 if the stage
    runs alone, or is in a batch but not its first.

    stages  the stages of the table, in order
    shared  for a block of memory that may be the same memory as another block, that other block
    own     for a block that belongs to the table (a negative number), all ranges of bytes that the block may stand for

    The launches of a batch use one kernel, so that their units take the same time.  The kernel cannot fail, so that no launch runs after a
    failed one.  No launch reads or writes bytes that another one of the batch writes, and no branch leads into the middle of a batch.
    """
    counts = [1] * len(stages)
    targets = {stage.target for stage in stages if isinstance(stage, Jump)}
    first, kernel = 0, None
    read, written = _Bytes(), _Bytes()
    for index, stage in enumerate(stages):
        if not isinstance(stage, LaunchStage):
            kernel = None
            continue
        ranges = [_ranges(place, size, shared, own) for place, size in zip(stage.places, stage.sizes, strict=True)]
        reads = [each for some in ranges[: stage.inputs] for each in some]
        writes = [each for some in ranges[stage.inputs :] for each in some]
        alike = stage.kernel.kernel == kernel and stage.failure is None and index not in targets
        if alike and not (written.meet(reads) or written.meet(writes) or read.meet(writes)):
            counts[first] += 1
        else:
            first, read, written = index, _Bytes(), _Bytes()
        kernel = stage.kernel.kernel
        read.add(reads)
        written.add(writes)
    return counts


def _ranges(place: tuple[int, int], size: int, shared: Mapping[int, int], own: Mapping[int, Sequence[ByteRange]]) -> Sequence[ByteRange]:
    block, offset = place
    return own[block] if block < 0 else [(shared.get(block, block), offset, offset + size)]
