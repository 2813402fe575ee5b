"""The samples of every op as test cases, their inputs, and their kernels, many of which are compiled into one library."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from cffi import FFI

import adjoint.ir.ops as _ops  # registers every op
from adjoint.codegen import compile as compiling
from adjoint.codegen.compile import KernelCache
from adjoint.codegen.emit import KernelText, lower, plain_form
from adjoint.ir.op import Op, Sample, registry
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import BF16, F16, F32, F64, DType, TensorType

assert _ops

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """An op with operand types, from one of its samples."""

    op: Op
    sample: Sample
    types: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    name: str

    def arrays(self, seed: int = 0) -> list[Array]:
        """Return random operands as they are stored, in the sample's domain; those that the sample defines, unchanged."""
        rng = np.random.default_rng([seed, crc32(self.name.encode())])
        domains = self.sample.domain
        return [
            stored(self.sample.values[i], type_) if i in self.sample.values else drawn(rng, type_, domains[min(i, len(domains) - 1)])
            for i, type_ in enumerate(self.types)
        ]


def stored(value: Any, type_: TensorType) -> Array:
    return from_compute(np.asarray(value).astype(type_.dtype.compute.array), type_.dtype).reshape(type_.sizes)


def drawn(rng: np.random.Generator, type_: TensorType, domain: tuple[float, float]) -> Array:
    low, high = domain
    dtype = type_.dtype
    if dtype.is_float:
        return stored(rng.uniform(low, high, type_.sizes), type_)
    if dtype.kind == "b":
        return rng.integers(0, 2, type_.sizes).astype(bool)
    first = max(int(np.ceil(low)), 0) if dtype.kind == "u" else int(np.ceil(low))
    return rng.integers(first, max(int(np.floor(high)), first) + 1, type_.sizes).astype(dtype.array)


def reference(case: Case, arrays: Sequence[Array], wide: bool = False) -> list[Array]:
    """Return the result of the op's reference before rounding to storage; `wide`: floats are computed in float64."""
    operands = [to_compute(x, t.dtype) for x, t in zip(arrays, case.types, strict=True)]
    if wide:
        operands = [x.astype(np.float64) if t.dtype.is_float else x for x, t in zip(operands, case.types, strict=True)]
    with np.errstate(all="ignore"):
        computed = case.op.reference(*operands)
    return list(computed) if len(case.results) != 1 else [computed]


def case_of(op_class: type[Op], sample: Sample, dtype: DType, name: str) -> Case | None:
    """Return the sample with its floats in `dtype`; None if the op does not accept them."""

    def convert(value: Any) -> Any:
        match value:
            case TensorType() if value.dtype is F32:
                return value.with_dtype(dtype)
            case tuple():
                return tuple(map(convert, value))
            case _:
                return value

    types = convert(tuple(sample.operands))
    attributes = {key: convert(value) for key, value in sample.attributes.items()}
    try:
        op = op_class(**attributes)
        results = tuple(op.result_types(types, ()))
    except (TypeError, ValueError):
        if dtype is F32:
            raise
        return None
    return Case(op, sample, types, results, f"{name}-{dtype.name}")  # type: ignore[arg-type]


SHAPES: dict[str, list[tuple[int, ...]]] = {"empty": [(0, 3)], "scalar": [()], "broadcast": [(2, 1, 3), (4, 1), ()]}
"""Shapes that every elementwise op is tried on: those of its operands, over and over."""


@functools.cache
def samples_of(op_class: type[Op]) -> tuple[Sample, ...]:
    """Return the samples of an op; for an elementwise one also without elements, of one element, and broadcast."""
    if not issubclass(op_class, Elementwise) or not op_class.samples:
        return op_class.samples
    like = next((s for s in op_class.samples if s.smooth), op_class.samples[0])
    return (*op_class.samples, *(shaped(like, shapes) for shapes in SHAPES.values()))


def shaped(sample: Sample, shapes: Sequence[tuple[int, ...]]) -> Sample:
    """Return the sample with operands of other shapes, drawn from its domain."""
    operands = zip(sample.operands, itertools.cycle(shapes), strict=False)
    return replace(sample, operands=tuple(t.with_shape(shape) for t, shape in operands), values={})  # type: ignore[union-attr]


def has_floats(sample: Sample) -> bool:
    """Return whether the sample's dtype may be replaced: it has an operand of float32."""
    return any(isinstance(t, TensorType) and t.dtype is F32 for t in sample.operands)


@functools.cache
def cases() -> tuple[Case, ...]:
    """Return every sample of every op (see `samples_of`): in float32 and float64, the first also in the two-byte floats, others
    unchanged."""
    found: list[Case] = []
    for op_name, op_class in registry().items():
        for position, sample in enumerate(samples_of(op_class)):
            dtypes: Iterable[DType] = (F32,)
            if has_floats(sample):
                dtypes = (F32, F64, F16, BF16) if position == 0 else (F32, F64)
            for dtype in dtypes:
                case = case_of(op_class, sample, dtype, f"{op_name}-{position}")
                if case is not None:
                    found.append(case)
    return tuple(found)


# Kernels.

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


def compile_together(cache: KernelCache, texts: Iterable[KernelText]) -> None:
    """Compile missing kernels in units four times as large as those of programs: that takes a fifth less processor time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "UNIT_SIZE", 4 * compiling.UNIT_SIZE)
        cache.prepare(texts, waited_for=True)


class Kernels:
    """All kernels of a set of cases, compiled together at the first use."""

    def __init__(self) -> None:
        self.cache = KernelCache(_ffi)

    def compile(self, lowered: Iterable[KernelText]) -> None:
        """Compile missing kernels."""
        compile_together(self.cache, lowered)

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
                assert status == 0, case.op.failure(status)
        for memory in memories:
            assert memory.intact(), "the kernel wrote beyond its operands"
        for memory, array in zip(inputs, arrays, strict=True):
            assert memory.bytes.tobytes() == np.ascontiguousarray(array).tobytes(), "the kernel changed an operand"
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
