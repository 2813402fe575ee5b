"""What this machine can do at most: operations and bytes a second, measured once for each number of threads and kept in the cache of
kernels.  What an operator manages is compared with it (the roofline model: Williams, Waterman and Patterson, 2009).
"""

from __future__ import annotations

import functools
import platform
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import InternalError
from adjoint.runtime.memory.machine import ffi, machine

__all__ = ["Peaks", "peaks"]

_SIZES = (2**19, 2**23, 2**26)
"""Bytes that are read: such as fit into the caches of a core, into those of the processor, and into none."""
_ROUNDS, _UNITS, _TURNS = 20_000, 8, 12
"""Rounds of multiply-adds in a unit of work, such units for each thread, and measurements of which the best counts."""
_PASSED = 2**26
"""Bytes to read in one measurement."""


@dataclass(frozen=True)
class Peaks:
    """What this machine can do at most with the threads that it uses.

    operations  multiplications and additions of float32 numbers in a second
    bytes       for each size in bytes, how many bytes in a second are read from as much memory
    """

    operations: float
    bytes: tuple[tuple[int, float], ...]

    def seconds(self, operations: float, nbytes: int) -> float:
        """Return how long the operations and the bytes of a kernel take at least: the longer of both."""
        rate = next((rate for size, rate in self.bytes if nbytes <= size), self.bytes[-1][1])
        return max(operations / self.operations, nbytes / rate)


def peaks() -> Peaks | None:
    """Return the peaks with the present number of threads; None without a C compiler.  They are measured if the cache does not have them,
    which takes half a second.
    """
    here = machine()
    return None if here.kernels is None else _peaks(here.kernels.workshop, here.library.adjoint_threads())


@functools.cache
def _peaks(workshop: Any, threads: int) -> Peaks | None:
    with suppress(InternalError, RuntimeError):  # what a compiler says: then there are no peaks
        operations, *rates = workshop.peaks(f"{threads} threads", _processor(), measure=functools.partial(_measured, threads))
        return Peaks(operations, tuple(zip(_SIZES, rates, strict=True)))
    return None


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        return next((line for line in file if line.startswith("model name")), platform.processor())
    return platform.processor()


def _measured(threads: int, functions: Sequence[int]) -> list[float]:
    """Return the peaks; the kernels' addresses are those of `workshop.PEAK_KERNELS`."""
    here = machine()
    multiply_adds, operations, reads = (here.kernel_at(address) for address in functions)
    units, launch = _UNITS * threads, here.library.adjoint_launch

    def best(kernel: Any, sizes: Sequence[int], operands: Any) -> float:
        bound, shortest = here.bind(kernel, [units, 1, *sizes]), float("inf")
        for _ in range(_TURNS):
            begin = time.perf_counter()
            launch(bound, operands)
            shortest = min(shortest, time.perf_counter() - begin)
        return shortest

    number = here.allocate(8)
    launch(here.bind(operations, [1, 1]), ffi.new("void *[]", [number]))
    of_round = ffi.cast("int64_t *", number)[0]
    found = [units * _ROUNDS * of_round / best(multiply_adds, [_ROUNDS], ffi.NULL)]
    for nbytes in _SIZES:
        data = here.allocate(nbytes)
        ffi.memmove(data, bytes(nbytes), nbytes)  # so that it is there
        passes = max(1, _PASSED // nbytes)
        each = nbytes // 4 // units // 128 * 128  # a multiple of what the kernel reads at once
        found.append(units * each * 4 * passes / best(reads, [each, passes], ffi.new("void *[]", [data])))
    return found
