"""The samples of ops as test cases: operands, results, and the meaning in NumPy."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Module, Value
from adjoint.ir.op import Op, Sample
from adjoint.ir.ops.complex_arithmetic import complex_number
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.storage import from_compute, to_compute
from adjoint.ir.types import BF16, C64, C128, COMPLEX, F16, F32, F64, FLOATS, DType, TensorType, tensor
from adjoint.ir.verify import verify_module

__all__ = [
    "Array", "Case", "SHAPES", "case_of", "dtypes_of", "gradient_cases", "has_floats", "module_of", "reference", "samples_of",
    "special_arrays", "special_values", "stored", "strided", "vector_cases",
]

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
    """Return numbers as a tensor of this type stores them."""
    return from_compute(np.asarray(value).astype(type_.dtype.compute.array), type_.dtype).reshape(type_.sizes)


def drawn(rng: np.random.Generator, type_: TensorType, domain: tuple[float, float]) -> Array:
    """Return random numbers from an interval, as a tensor of this type stores them."""
    low, high = domain
    dtype = type_.dtype
    if dtype.is_float:
        return stored(rng.uniform(low, high, type_.sizes), type_)
    if dtype.is_complex:
        return stored(complex_number(rng.uniform(low, high, type_.sizes), rng.uniform(low, high, type_.sizes)), type_)
    if dtype.kind == "b":
        return rng.integers(0, 2, type_.sizes).astype(bool)
    first = max(int(np.ceil(low)), 0) if dtype.kind == "u" else int(np.ceil(low))
    return rng.integers(first, max(int(np.floor(high)), first) + 1, type_.sizes).astype(dtype.array)


def reference(case: Case, arrays: Sequence[Array], wide: bool = False) -> list[Array]:
    """Return the result of the op's reference before rounding to storage; `wide`: floats are computed in float64, complex numbers in
    complex128.
    """
    operands = [to_compute(x, t.dtype) for x, t in zip(arrays, case.types, strict=True)]
    if wide:
        widest = {"f": np.float64, "c": np.complex128}
        operands = [x.astype(widest.get(t.dtype.kind, x.dtype)) for x, t in zip(operands, case.types, strict=True)]
    with np.errstate(all="ignore"):
        computed = case.op.reference(*operands)
    return list(computed) if len(case.results) != 1 else [computed]


def case_of(op_class: type[Op], sample: Sample, dtype: DType, name: str) -> Case | None:
    """Return the sample with its floats in `dtype`, and complex numbers with parts of it; None if the op does not accept them."""

    def convert(value: Any) -> Any:
        match value:
            case TensorType() if value.dtype is F32:
                return value.with_dtype(dtype)
            case TensorType() if value.dtype is C64 and dtype.part is F64:
                return value.with_dtype(C128)
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
    return Case(op, sample, types, results, f"{name}-{dtype.name}")


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
    changed = [t.with_shape(shape) for t, shape in operands]  # pyright: ignore[reportAttributeAccessIssue] - they are tensors
    return dataclasses.replace(sample, operands=tuple(changed), values={})


def has_floats(sample: Sample) -> bool:
    """Return whether the sample's dtype may be replaced: it has an operand of float32 or complex64."""
    return any(isinstance(t, TensorType) and t.dtype in (F32, C64) for t in sample.operands)


def dtypes_of(sample: Sample, position: int) -> tuple[DType, ...]:
    """Return the dtypes in which a sample is a case: float32 and float64, complex64, the first one also the two-byte floats.

    position  of the sample among those of its op
    """
    if not has_floats(sample):
        return (F32,)
    if not any(isinstance(t, TensorType) and t.dtype is F32 for t in sample.operands):
        return F32, F64
    return (F32, F64, C64, *((F16, BF16) if position == 0 else ()))


def strided(array: Array) -> Array:
    """Return the same elements, neither contiguous nor in row-major order, read-only."""
    wide = np.zeros((*(2 * n for n in array.shape[::-1]), 2), array.dtype)
    view = wide[(*(slice(None, None, -2) for _ in array.shape), 1, ...)].T
    view[...] = array
    view.flags.writeable = False
    return view


def module_of(case: Case, *kept: int) -> Module:
    """Return the case as a function `@f`; `kept` are the results that it returns, all by default."""
    params = [Value(type_, f"x{i}") for i, type_ in enumerate(case.types)]
    b = Builder()
    node = b.emit_node(case.op, params)
    results = [node.results[i] for i in kept] if kept else node.results
    module = Module(functions={"f": Function("f", b.finish(results, params))})
    verify_module(module)
    return module


def gradient_cases(op_class: type[Op], name: str) -> Iterator[Case]:
    """Return the op's samples in float64 and in complex128, if it takes them.

    name  of the op, from which the cases get theirs
    """
    for position, sample in enumerate(samples_of(op_class)):
        for dtype in (F64, C128) if has_floats(sample) else (F32,):
            case = case_of(op_class, sample, dtype, f"{name}-{position}")
            if dtype is C128 and (case is None or not any(isinstance(t, TensorType) and t.dtype is F32 for t in sample.operands)):
                continue
            if case is not None and any(t.dtype.part is F64 for t in case.types) and any(t.dtype.part is F64 for t in case.results):
                yield case


def vector_cases(op_class: type[Op], name: str, size: int) -> Iterator[Case]:
    """Return the op on vectors of one size, for each float and complex dtype that it accepts."""
    sample = dataclasses.replace(op_class.samples[0], values={})
    for dtype in (*FLOATS, *COMPLEX):
        case = case_of(op_class, sample, dtype, name)
        if case is not None and any(t.dtype is dtype for t in case.types):
            types = tuple(tensor(t.dtype, (size,)) for t in case.types)
            results: Any = case.op.result_types(types, ())
            yield Case(case.op, sample, types, results, f"{name}-vector-{dtype.name}")


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-3, 88.0, -88.0, 100.0, 1e4, 7e4]


def special_values(dtype: DType) -> Array:
    """Return zeros, infinities, NaN, subnormals, the ends of the range, and numbers between, in the compute dtype; for complex dtypes few,
    in all pairs.
    """
    if dtype.is_complex:
        few = [0.0, -0.0, 1.0, -np.inf, np.nan, -2.5, 1e-3, float(np.finfo(dtype.array).max)]
        return np.array([complex(*parts) for parts in itertools.product(few, few)], dtype.array)
    if dtype is BF16:
        edges = [2.0**-126, 2.0**-133, -(2.0**-130), 3.3895e38, -3.3895e38]
    else:
        limits = np.finfo(dtype.array)
        tiny = float(limits.smallest_subnormal)
        edges = [float(limits.tiny), tiny, -3 * tiny, float(limits.max), -float(limits.max), float(limits.max) / 2]
    values = np.array(SPECIAL + edges).astype(dtype.compute.array)
    return to_compute(from_compute(values, dtype), dtype)


def special_arrays(vector: Case) -> tuple[Case, list[Array]]:
    """Return a case of an elementwise op whose operands hold all combinations of special values, and these operands."""
    choices = [special_values(t.dtype) if t.dtype.is_inexact else np.array([0, 1]).astype(t.dtype.array) for t in vector.types]
    if len(choices) > 1:  # a complex power with a huge exponent has any angle: that of its logarithm, of which no digit is left
        choices = [x[~(np.abs(x) > 1e30) | np.isinf(x)] if x.dtype.kind == "c" else x for x in choices]
    columns = list(zip(*itertools.product(*choices), strict=True))
    arrays = [from_compute(np.array(column).astype(t.dtype.compute.array), t.dtype)
              for column, t in zip(columns, vector.types, strict=True)]
    types = tuple(tensor(t.dtype, (len(columns[0]),)) for t in vector.types)
    results: Any = vector.op.result_types(types, ())
    return Case(vector.op, vector.sample, types, results, f"{vector.name}-special"), arrays
