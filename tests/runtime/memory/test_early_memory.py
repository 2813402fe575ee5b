"""Memory that tensors are made in before the run-time library has been compiled."""

from __future__ import annotations

import pytest

from adjoint.runtime.memory.early import EarlyMemory
from adjoint.runtime.memory.machine import ffi


def address(block: object) -> int:
    return int(ffi.cast("uintptr_t", block))


@pytest.mark.parametrize(("size", "unit"), [(16384, 64), (2**21 - 1, 64), (2**21, 2**21), (5_000_001, 2**21)])
def test_blocks_are_aligned_and_may_be_filled(size: int, unit: int) -> None:
    early = EarlyMemory(ffi)
    blocks = [early.allocate(ffi.typeof("char[]"), size) for _ in range(3)]
    for number, block in enumerate(blocks):
        assert address(block) % unit == 0 and len(block) == size
        ffi.memmove(block, bytes([number]) * size, size)
    assert [bytes(ffi.buffer(block)) for block in blocks] == [bytes([number]) * size for number in range(3)]


def test_the_library_counts_what_is_left() -> None:
    early, counted = EarlyMemory(ffi), list[int]()
    first, second = (early.allocate(ffi.typeof("char[]"), size) for size in (20_000, 3_000_000))
    del first
    early.count_with(counted.append)
    assert counted == [3_000_000]
    third = early.allocate(ffi.typeof("char[]"), 16_384)  # by a thread that had not seen the library yet
    del second, third
    assert counted == [3_000_000, 16_384, -3_000_000, -16_384]


def test_memory_that_there_is_not_is_refused() -> None:
    with pytest.raises(MemoryError):
        EarlyMemory(ffi).allocate(ffi.typeof("char[]"), 2**60)
