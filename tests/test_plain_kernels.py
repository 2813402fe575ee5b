"""Plain kernels, which a program begins with, have the bits of the tuned ones: every op, every dtype, NaN and -0.0, odd shapes, threads."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import op_cases
import pytest
from op_cases import Case, Kernels

from adjoint.codegen.emit import lower, plain_form
from adjoint.ir.op import Op
from adjoint.ir.ops.linalg import Convolution, ConvolutionInputGradient, ConvolutionWeightGradient, MatMul
from adjoint.ir.storage import to_compute
from adjoint.ir.types import F32, F64, TensorType, tensor
from adjoint.runtime.memory.machine import machine

pytestmark = pytest.mark.skipif(machine().kernels is None, reason="there is no C compiler")

Array = Any


@functools.cache
def kernels() -> Kernels:
    return Kernels()


def with_specials(case: Case, seed: int) -> list[Array]:
    """Operands with -0.0, infinities and NaN among other numbers."""
    rng = np.random.default_rng(seed)
    arrays = []
    for array, type_ in zip(case.arrays(seed), case.types, strict=True):
        if type_.dtype.is_float:
            some = op_cases.stored(rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45], type_.sizes), type_)
            array = np.where(rng.random(type_.sizes) < 0.1, some, array)
        arrays.append(array)
    return arrays


def tiny(case: Case) -> list[Array]:
    """Operands whose products are -0.0 when they are rounded."""
    sizes = {F32: 1e-30, F64: 1e-200}
    return [np.full(type_.sizes, -sizes[type_.dtype.part] if i else sizes[type_.dtype.part], type_.dtype.array)
            for i, type_ in enumerate(case.types)]


def bits(array: Array, type_: TensorType) -> Array:
    """The bits of each element as an integer; any NaN is the same as any other."""
    if type_.dtype.is_complex:
        part = type_.with_dtype(type_.dtype.part)
        return np.stack([bits(array.real, part), bits(array.imag, part)])
    integers = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").astype(np.uint64)
    return np.where(np.isnan(to_compute(array, type_.dtype)), np.uint64(2**64 - 1), integers) if type_.dtype.is_float else integers


def differences(case: Case, arrays: Sequence[Array], cuts: Sequence[int] = ()) -> Iterator[str]:
    """The results of which the plain and the tuned kernel have other bits."""
    for tuned, plain, type_ in zip(
        kernels().run(case, arrays), kernels().run(case, arrays, plain=True, cuts=cuts), case.results, strict=True
    ):
        if not np.array_equal(bits(tuned, type_), bits(plain, type_)):
            yield f"{case.name}: {type_}"


def compile_both(cases: Sequence[Case]) -> None:
    tuned = [lower(case.op, case.types, case.results) for case in cases]
    kernels().compile([*tuned, *(plain_form(text, case.op, case.types, case.results) for text, case in zip(tuned, cases, strict=True))])


def test_every_op() -> None:
    cases = [case for case in op_cases.cases() if case.op.can_lower]
    compile_both(cases)
    assert not [said for case in cases for said in differences(case, case.arrays())]


def of(op: Op, *types: TensorType) -> Case:
    return Case(op, op_cases.samples_of(type(op))[0], types, tuple(op.result_types(types, ())), repr(op) + str(types))  # pyright: ignore[reportArgumentType]


def products(dtype: Any) -> Iterator[Case]:
    """More than one chain, rows and columns that fill no vector, batches, nothing to add."""
    sizes = [(1, 1, 1), (3, 70, 5), (17, 33, 600), (65, 1, 1030), (1, 130, 513), (40, 40, 40), (5, 7, 0)]
    for m, n, k in sizes:
        for ta, tb in ((False, False), (True, False), (False, True), (True, True)):
            a, b = (k, m) if ta else (m, k), (n, k) if tb else (k, n)
            yield of(MatMul(ta=ta, tb=tb), tensor(dtype, a), tensor(dtype, b))
            yield of(MatMul(ta=ta, tb=tb), tensor(dtype, (2, 1, *a)), tensor(dtype, (3, *b)))


def convolutions(dtype: Any) -> Iterator[Case]:
    """Few and many channels; small images, which are summed together, and wide ones, which are cut; strides, padding, groups."""
    settings: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
        ((3, 2, 9, 11), (5, 2, 3, 2), {}),
        ((2, 3, 12, 13), (10, 3, 5, 5), {"padding": ((2, 2), (1, 3))}),
        ((5, 4, 4, 3), (40, 4, 3, 3), {"padding": ((1, 1), (1, 1))}),
        ((40, 2, 3, 3), (6, 2, 2, 2), {}),
        ((1, 1, 70, 90), (3, 1, 3, 3), {"padding": ((1, 1), (1, 1))}),
        ((1, 1, 3, 1500), (2, 1, 2, 4), {}),
        ((1, 1, 80, 81), (8, 1, 2, 2), {}),
        ((1, 2, 2, 1500), (9, 2, 1, 3), {"stride": (1, 2)}),
        ((2, 4, 15, 14), (6, 2, 3, 3), {"stride": (2, 3), "padding": ((1, 0), (2, 1)), "groups": 2}),
        ((2, 2, 13, 17), (8, 2, 3, 4), {"dilation": (2, 3), "stride": (3, 2), "padding": ((2, 2), (4, 4))}),
        ((2, 6, 8, 8), (6, 1, 3, 3), {"groups": 6, "padding": ((1, 1), (1, 1))}),
        ((3, 2, 5, 5), (4, 2, 5, 5), {"stride": (4, 4)}),
    ]
    for image, filters, how in settings:
        x, w = tensor(dtype, image), tensor(dtype, filters)
        forward = of(Convolution(**how), x, w)
        (y,) = forward.results
        yield forward
        yield of(ConvolutionInputGradient(to=x, **how), y, w)
        yield of(ConvolutionWeightGradient(to=w, **how), x, y)


@pytest.mark.parametrize("dtype", [F32, F64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("some", [products, convolutions])
def test_ops_with_two_forms(some: Any, dtype: Any) -> None:
    cases = list(some(dtype))
    compile_both(cases)
    for case in cases:
        tuned = lower(case.op, case.types, case.results)
        assert tuned.two_forms and plain_form(tuned, case.op, case.types, case.results).plain
    assert not [said for case in cases for said in differences(case, case.arrays(1), cuts=(1, 7))]
    assert not [said for case in cases for said in differences(case, with_specials(case, 2))]
    assert not [said for case in cases for said in differences(case, tiny(case))]


def test_a_plain_kernel_needs_little_memory() -> None:
    """It is what small machines run: nothing beside its operands."""
    for case in (*products(F32), *convolutions(F32)):
        assert not plain_form(lower(case.op, case.types, case.results), case.op, case.types, case.results).scratch


def test_much_work_is_left_to_the_tuned_kernel() -> None:
    """Compiling it takes less time than one run of a plain one."""
    side = tensor(F32, (2048, 2048))
    case = of(MatMul(), side, side)
    tuned = lower(case.op, case.types, case.results)
    assert plain_form(tuned, case.op, case.types, case.results) == tuned
    assert lower(case.op, case.types, case.results, plain_work=2.0**32).plain
