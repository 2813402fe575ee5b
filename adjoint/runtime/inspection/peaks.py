"""What this machine can do at most: operations and bytes a second, measured for each number of threads and kept in the cache of kernels.
What an operator manages is compared with it (the roofline model: Williams, Waterman and Patterson, 2009).

Other programs may run while it is measured.  So each process measures again, for a short time, and the cache keeps the best.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import InternalError
from adjoint.runtime.memory.machine import ffi, machine

__all__ = ["Peaks", "measured", "peaks"]

_SIZES = (2**19, 2**23, 2**26)
"""Bytes that are read: such as fit into the caches of a core, into those of the processor, and into none."""
_ROUNDS, _UNITS = 20_000, 8
"""Rounds of multiply-adds in a unit of work, and such units for each thread."""
_TURNS, _AGAIN = 12, 3
"""Measurements of which the best counts: if the cache has no peaks, and if it has."""
_PASSED = 2**26
"""Bytes to read in one measurement, at least."""


@dataclass(frozen=True)
class Peaks:
    """What this machine can do at most with the threads that it uses.

    operations  multiplications and additions of float32 numbers in a second
    bytes       for each size in bytes, how many bytes in a second are read from as much memory
    """

    operations: float
    bytes: tuple[tuple[int, float], ...]

    def __str__(self) -> str:
        reads = ", ".join(f"{1e-9 * rate:.1f} GB/s of {size / 2**20:g} MiB" for size, rate in self.bytes)
        return f"{1e-9 * self.operations:.0f} GFLOP/s, and {reads}"

    def seconds(self, operations: float, nbytes: int) -> float:
        """Return how long the operations and the bytes of a kernel take at least: the longer of both."""
        rate = next((rate for size, rate in self.bytes if nbytes <= size), self.bytes[-1][1])
        return max(operations / self.operations, nbytes / rate)


def peaks(*, again: bool = False) -> Peaks | None:
    """Return the best peaks that were measured with the present number of threads; None without a C compiler.

    The first call of a process measures; that takes half a second if the cache has none, less than a tenth of that if it has.

    again  True to measure for half a second, unless this process has done it, and to keep what is better than before
    """
    here = machine()
    if here.kernels is None:
        return None
    key = here.kernels.workshop, here.library.adjoint_threads()
    again = again and key not in _repeated
    if again or key not in _known:
        _known[key] = _best(*key, again)
        _repeated.update([key] if again else ())
    return _known[key]


_known: dict[tuple[Any, int], Peaks | None] = {}
"""The peaks by workshop and number of threads."""
_repeated: set[tuple[Any, int]] = set()
"""Those that were measured again for half a second."""


def _best(workshop: Any, threads: int, again: bool) -> Peaks | None:
    def measure(functions: Sequence[int], known: Sequence[float] | None) -> list[float]:
        if known is None:
            return measured(functions, _SIZES, _TURNS)
        return [max(pair) for pair in zip(known, measured(functions, _SIZES, _TURNS if again else _AGAIN), strict=True)]

    with suppress(InternalError, RuntimeError):  # what a compiler says: then there are no peaks
        operations, *rates = workshop.peaks(f"{threads} threads", _processor(), str(_SIZES), measure=measure)
        return Peaks(operations, tuple(zip(_SIZES, rates, strict=True)))
    return None


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        return next((line for line in file if line.startswith("model name")), platform.processor())
    return platform.processor()


def measured(functions: Sequence[int], sizes: Sequence[int], turns: int) -> list[float]:
    """Measure with the present number of threads; return the float32 operations a second, and for each size the bytes a second.

    functions  the addresses of `workshop.PEAK_KERNELS`
    sizes      how many bytes are read
    turns      the best of so many measurements counts
    """
    here = machine()
    multiply_adds, operations, reads = (here.kernel_at(address) for address in functions)
    units, launch = _UNITS * here.library.adjoint_threads(), here.library.adjoint_launch

    number = here.allocate(8)
    launch(here.bind(operations, [1, 1]), ffi.new("void *[]", [number]))
    of_round = ffi.cast("int64_t *", number)[0]
    works = [(units * _ROUNDS * of_round, here.bind(multiply_adds, [units, 1, _ROUNDS]), ffi.NULL)]
    kept = [here.allocate(nbytes) for nbytes in sizes]
    for nbytes, data in zip(sizes, kept, strict=True):
        ffi.memmove(data, bytes(nbytes), nbytes)  # so that it is there
        passes = max(1, _PASSED // nbytes)
        each = nbytes // 4 // units // 128 * 128  # a multiple of what the kernel reads at once
        works.append((units * each * 4 * passes, here.bind(reads, [units, 1, each, passes]), ffi.new("void *[]", [data])))
    shortest = [math.inf] * len(works)
    for _ in range(turns):  # by turns: a moment in which another program runs does not spoil all measurements of one kind
        for i, (_, bound, operands) in enumerate(works):
            begin = time.perf_counter()
            launch(bound, operands)
            shortest[i] = min(shortest[i], time.perf_counter() - begin)
    return [work / seconds for (work, _, _), seconds in zip(works, shortest, strict=True)]
