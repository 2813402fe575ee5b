"""Early memory: memory for tensors while the run-time library is still being compiled.

Blocks of the library are aligned to a cache line, and large ones lie on huge pages, since kernels are slower on other memory.  A Parameter
stays where it was made, so early memory is made in the same way.  The library counts it as soon as it has been opened.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from adjoint.foundation.locking import ReentrantLock

__all__ = ["EarlyMemory", "MemoryChange"]

_LINE = 64
"""Blocks of memory begin at multiples of this number of bytes (a cache line), as in the run-time library."""
_MAPPED = 2**21
"""Blocks of at least this many bytes are mapped on huge pages, which have this size; as in the library."""


class MemoryChange(NamedTuple):
    """A block of memory that was allocated, or, if `bytes` is negative, freed.

    block        its address
    bytes        its size; negative: it was freed
    nanoseconds  when, on the clock of `time.perf_counter`
    """

    block: int
    bytes: int
    nanoseconds: int


class EarlyMemory:
    """Allocates memory by Python alone, for tensors that are made before the run-time library is there.

    allocate  called with C's `char[]` type and a number of bytes; returns memory that is freed with its last reference
    """

    def __init__(self, ffi: Any):
        self._bytes, self._pointer, self._integer = map(ffi.typeof, ("char[]", "char *", "uintptr_t"))
        self._cast, self._from_buffer = ffi.cast, ffi.from_buffer
        self._malloc = ffi.new_allocator(None, None, False)
        self._blocks: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._count: Callable[[int], None] | None = None
        self._changes: list[MemoryChange] | None = None
        self.forget_threads()
        self.allocate: Callable[[Any, int], Any] = ffi.new_allocator(self._taken, self._freed, False)

    def forget_threads(self) -> None:
        """Replace all locks; a forked child calls it, where a lock may be held by a thread that does not exist there."""
        self._lock = ReentrantLock()  # a block may be freed wherever the collector runs

    def count_with(self, count: Callable[[int], None]) -> None:
        """Call `count` with the number of bytes in use now, and from then on with each change of that number.

        The run-time library counts all memory in this way, once it has been opened.
        """
        with self._lock:
            self._count = count
            count(sum([*self._sizes.values()]))

    def follow(self, on: bool) -> None:
        """Begin or end to record which blocks are allocated and freed."""
        self._changes = [] if on else None

    def changes(self) -> list[MemoryChange]:
        """Return what was recorded since the last call."""
        with self._lock:
            found, self._changes = self._changes, None if self._changes is None else []
        return found or []

    def _note(self, address: int, nbytes: int) -> None:
        if self._changes is not None:
            self._changes.append(MemoryChange(address, nbytes, time.perf_counter_ns()))

    def _taken(self, size: int) -> Any:
        unit, block = (_MAPPED, self._mapped(size)) if size >= _MAPPED else (_LINE, self._malloc(self._bytes, size + _LINE))
        address = int(self._cast(self._integer, block))
        address += -address % unit
        with self._lock:
            self._blocks[address], self._sizes[address] = block, size
            if self._count is not None:
                self._count(size)
            self._note(address, size)
        return self._cast(self._pointer, address)

    def _mapped(self, size: int) -> Any:
        try:
            region = mmap.mmap(-1, size + _MAPPED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as refusal:
            raise MemoryError(str(refusal)) from None
        with suppress(AttributeError, OSError):  # a system without huge pages
            region.madvise(mmap.MADV_HUGEPAGE)
        return self._from_buffer(region)

    def _freed(self, pointer: Any) -> None:
        address = int(self._cast(self._integer, pointer))
        with self._lock:
            block, size = self._blocks.pop(address), self._sizes.pop(address)
            if self._count is not None:
                self._count(-size)
            self._note(address, -size)
        del block
