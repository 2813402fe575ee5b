"""Run the kernels of cases on guarded memory, cut into ranges, and compile those of many cases together."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from cffi import FFI

from adjoint.codegen.compile import KernelCache
from adjoint.codegen.emit import KernelText, lower, plain_form
from adjoint.ir.op import Op
from adjoint.ir.types import TensorType
from adjoint.testing.cases import Array, Case

__all__ = ["GUARD", "Kernels", "Memory", "kernel_text", "lowered_cases"]

_ffi: Any = FFI()
GUARD = 192
"""Bytes before and after each operand, which a kernel must not touch."""


class Memory:
    """Aligned memory of one operand between two guards."""

    def __init__(self, array: Array, fill: int):
        self.size = array.nbytes
        self._whole = np.full(array.nbytes + 2 * GUARD + 64, fill, np.uint8)
        self._start = GUARD + (-(self._whole.ctypes.data + GUARD)) % 64
        self.bytes = self._whole[self._start : self._start + self.size]
        self._fill = fill
        self.pointer = _ffi.cast("void *", self._whole.ctypes.data + self._start)

    def intact(self) -> bool:
        """Return whether the guards are unchanged."""
        before, after = self._whole[: self._start], self._whole[self._start + self.size :]
        return bool((before == self._fill).all() and (after == self._fill).all())


@functools.cache
def kernel_text(op: Op, types: tuple[TensorType, ...], results: tuple[TensorType, ...], plain: bool) -> KernelText:
    """Return the tuned or the plain kernel of an op for some types: many tests run the same ones."""
    tuned = lower(op, types, results)
    return plain_form(tuned, op, types, results) if plain else tuned


class Kernels:
    """All kernels of a set of cases, compiled together at the first use."""

    def __init__(self) -> None:
        self.cache = KernelCache(_ffi)

    def compile(self, lowered: Iterable[KernelText]) -> None:
        """Compile missing kernels."""
        self.cache.prepare(lowered, waited_for=True)

    def run(
        self, case: Case, arrays: Sequence[Array], *, fill: int = 0xFF, cuts: Sequence[int] = (), plain: bool = False
    ) -> list[Array]:
        """Results of the case's kernel, as stored.

        fill   what stands in the memory of results, scratch and guards before
        cuts   units at which each stage is cut into ranges, run last to first
        plain  whether to run the plain kernel
        """
        lowered = kernel_text(case.op, case.types, case.results, plain)
        functions = self.cache.get(lowered)
        inputs = [Memory(np.empty(t.sizes, t.dtype.array), fill) for t in case.types]
        for memory, array in zip(inputs, arrays, strict=True):
            memory.bytes[:] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        outputs = [Memory(np.empty(t.sizes, t.dtype.array), fill) for t in case.results]
        scratch = [Memory(np.empty(size, np.uint8), fill) for size in lowered.scratch]
        memories = [*inputs, *outputs, *scratch]
        pointers = _ffi.new("void *[]", [memory.pointer for memory in memories])
        for function, stage in zip(functions, lowered.stages, strict=True):
            sizes = _ffi.new("int64_t[]", stage.sizes)
            bounds = [0, *sorted({cut for cut in cuts if 0 < cut < stage.sizes[0]}), stage.sizes[0]]
            for begin, end in reversed(list(itertools.pairwise(bounds))):
                status = function(pointers, sizes, begin, end)
                if status:
                    raise AssertionError(f"{case.name}: {case.op.failure(status)}")
        if not all(memory.intact() for memory in memories):
            raise AssertionError(f"{case.name}: the kernel wrote beyond its operands")
        if any(memory.bytes.tobytes() != np.ascontiguousarray(array).tobytes() for memory, array in zip(inputs, arrays, strict=True)):
            raise AssertionError(f"{case.name}: the kernel changed an operand")
        return [
            np.frombuffer(memory.bytes.tobytes(), t.dtype.array).reshape(t.sizes)
            for memory, t in zip(outputs, case.results, strict=True)
        ]


def lowered_cases(some: Iterable[Case]) -> list[KernelText]:
    """Return the kernels of the cases; one that cannot be lowered is left to the test that reports it."""
    found: list[KernelText] = []
    for case in some:
        if case.op.can_lower:
            with contextlib.suppress(Exception):
                found.append(kernel_text(case.op, case.types, case.results, False))
    return found
