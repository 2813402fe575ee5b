"""Batches: decide which consecutive launches of a table run as one.

The threads share the units of all launches of a batch.  So many small launches, such as the steps of an optimiser, start the threads
once instead of never or many times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.ir.plan import Launch

__all__ = ["Stage", "batches"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One launch of a table.

    kernel  the bound kernel
    places  for each buffer its block and its offset in bytes: operands, results, scratch
    sizes   the bytes of each buffer
    inputs  how many of the buffers are operands, which are only read
    launch  the launch of the plan that it belongs to
    """

    kernel: Any
    places: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    inputs: int
    launch: Launch


class _Bytes:
    """Ranges of bytes in blocks."""

    def __init__(self) -> None:
        self.of: dict[int, list[tuple[int, int]]] = {}

    def add(self, ranges: Sequence[tuple[int, int, int]]) -> None:
        for block, begin, end in ranges:
            self.of.setdefault(block, []).append((begin, end))

    def meet(self, ranges: Sequence[tuple[int, int, int]]) -> bool:
        return any(begin < its_end and its_begin < end for block, begin, end in ranges for its_begin, its_end in self.of.get(block, ()))


def batches(stages: Sequence[Stage], shared: Mapping[int, int]) -> list[int]:
    """Return for each launch of a table how many from it on run as one: 1 for a launch that runs alone, and for the others of a batch.

    shared  for a block that may be the same memory as another one, that other block

    The launches of a batch have one kernel, so that their units take the same time; it refuses no numbers, so that none of them runs
    where an earlier one fails; and none reads or writes what another one writes.
    """
    counts = [1] * len(stages)
    first, read, written = 0, _Bytes(), _Bytes()
    for index, stage in enumerate(stages):
        places = zip(stage.places, stage.sizes, strict=True)
        ranges = [(shared.get(block, block), offset, offset + size) for (block, offset), size in places]
        reads, writes = ranges[: stage.inputs], ranges[stage.inputs :]
        alike = stage.kernel.kernel == stages[first].kernel.kernel and not stage.launch.node.op.may_fail
        if index and alike and not (written.meet(ranges) or read.meet(writes)):
            counts[first] += 1
        else:
            first, read, written = index, _Bytes(), _Bytes()
        read.add(reads)
        written.add(writes)
    return counts
