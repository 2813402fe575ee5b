"""The samples of every op as test cases, and their kernels, many of which are compiled into one library; see `adjoint/testing`."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import pytest

import adjoint.ir.ops as _ops  # registers every op
from adjoint import testing
from adjoint.codegen import compile as compiling
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.emit import KernelText
from adjoint.ir.op import registry
from adjoint.testing.cases import Array, Case, case_of, dtypes_of, has_floats, reference, samples_of, stored
from adjoint.testing.kernels import GUARD, Memory, kernel_text, lowered_cases

__all__ = [
    "GUARD", "Array", "Case", "Kernels", "Memory", "case_of", "cases", "compile_together", "has_floats", "kernel_text", "lowered_cases",
    "reference", "samples_of", "stored",
]

assert _ops


@functools.cache
def cases() -> tuple[Case, ...]:
    """Return every sample of every op (see `samples_of`): in the dtypes of `dtypes_of`."""
    found: list[Case] = []
    for op_name, op_class in registry().items():
        for position, sample in enumerate(samples_of(op_class)):
            for dtype in dtypes_of(sample, position):
                case = case_of(op_class, sample, dtype, f"{op_name}-{position}")
                if case is not None:
                    found.append(case)
    return tuple(found)


def compile_together(cache: KernelCache, texts: Iterable[KernelText]) -> None:
    """Compile missing kernels in units four times as large as those of programs: that takes a fifth less processor time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "UNIT_SIZE", 4 * compiling.UNIT_SIZE)
        cache.prepare(texts, waited_for=True)


class Kernels(testing.kernels.Kernels):
    """All kernels of a set of cases, compiled together at the first use."""

    def compile(self, lowered: Iterable[KernelText]) -> None:
        compile_together(self.cache, lowered)
