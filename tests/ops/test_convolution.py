"""Kernels of convolutions and their gradients: geometries of every kind, against the reference in float64."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.codegen.emit import lower
from adjoint.codegen.toolchain import NoCompiler, machine_flags
from adjoint.ir.op import Op
from adjoint.ir.ops.linalg import Convolution, ConvolutionInputGradient, ConvolutionWeightGradient
from adjoint.ir.storage import to_compute
from adjoint.ir.types import BF16, F16, F32, F64, DType, TensorType, tensor

sys.path.insert(0, str(Path(__file__).parents[1]))
from op_cases import Kernels, stored

Array = np.ndarray[Any, Any]

EPSILON = {F32: 2.0**-24, F64: 2.0**-53, F16: 2.0**-11, BF16: 2.0**-8}
"""Half of the last place of 1."""


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    try:
        return Kernels()
    except NoCompiler:
        pytest.skip("there is no C compiler")


class Geometry:
    """A convolution of images x with filters w, for `dtype`."""

    def __init__(self, x: tuple[int, ...], w: tuple[int, ...], dtype: DType = F32, **settings: Any):
        self.x, self.w, self.settings = tensor(dtype, x), tensor(dtype, w), settings
        self.forward = Convolution(**settings)
        self.y = self.forward.infer(self.x, self.w)
        assert isinstance(self.y, TensorType)

    def __repr__(self) -> str:
        return f"{self.x} * {self.w} {self.settings}"

    def ops(self) -> list[tuple[Op, tuple[TensorType, TensorType], TensorType]]:
        return [
            (self.forward, (self.x, self.w), self.y),
            (ConvolutionInputGradient(to=self.x, **self.settings), (self.y, self.w), self.x),
            (ConvolutionWeightGradient(to=self.w, **self.settings), (self.x, self.y), self.w),
        ]


class _Case:
    def __init__(self, op: Op, types: tuple[TensorType, ...], result: TensorType):
        self.op, self.types, self.results = op, types, (result,)


def check(kernels: Kernels, geometry: Geometry, seed: int = 0) -> None:
    """Every element is within the rounding of its sum's terms, whatever the ranges that the units are cut into."""
    rng = np.random.default_rng(seed)
    for op, types, result in geometry.ops():
        arrays = [stored(rng.uniform(-1, 1, t.sizes), t) for t in types]
        got = kernels.run(_Case(op, types, result), arrays)[0]  # type: ignore[arg-type]
        wide = [to_compute(a, t.dtype).astype(np.float64) for a, t in zip(arrays, types, strict=True)]
        want, scale = op.reference(*wide), op.reference(*map(abs, wide))
        dtype = result.dtype
        error = np.abs(to_compute(got, dtype) - want)
        terms = max(types[0].sizes[0], 1) * int(np.prod(types[0].sizes[1:])) if result is geometry.w else int(np.prod(geometry.w.sizes))
        bound = scale * EPSILON[dtype.compute] * (4 + 2 * np.sqrt(terms)) + 2 * EPSILON[dtype] * np.abs(want)
        if dtype is F16:
            bound += 2.0**-24
        assert error.shape == bound.shape and (error <= bound).all(), f"{op.name} of {geometry}: {(error - bound).max():.3g} too far"

        units = max(stage.sizes[0] for stage in lower(op, types, [result]).stages)
        cut = kernels.run(_Case(op, types, result), arrays, fill=0x11, cuts=[1, units // 3, units // 2, units - 1])[0]  # type: ignore[arg-type]
        assert cut.tobytes() == got.tobytes(), f"{op.name} of {geometry} depends on how its units are cut"


KNOWN = {
    "lenet, first": Geometry((32, 1, 32, 32), (6, 1, 5, 5)),
    "lenet, second": Geometry((32, 6, 14, 14), (16, 6, 5, 5)),
    "3 x 3": Geometry((2, 64, 28, 28), (64, 64, 3, 3), padding=((1, 1), (1, 1))),
    "3 x 3, small planes": Geometry((3, 40, 7, 7), (48, 40, 3, 3), padding=((1, 1), (1, 1))),
    "3 x 3, odd channels": Geometry((2, 5, 20, 20), (31, 5, 3, 3), padding=((1, 1), (1, 1))),
    "1 x 1": Geometry((4, 96, 14, 14), (50, 96, 1, 1)),
    "1 x 1, stride": Geometry((2, 16, 15, 15), (33, 16, 1, 1), stride=(2, 2)),
    "one channel": Geometry((1, 1, 40, 40), (1, 1, 3, 3)),
    "two channels": Geometry((1, 2, 40, 40), (2, 2, 3, 3)),
    "depthwise": Geometry((2, 24, 17, 18), (24, 1, 3, 3), padding=((1, 1), (1, 1)), groups=24),
    "depthwise, multiplied": Geometry((2, 6, 11, 9), (18, 1, 3, 3), padding=((1, 1), (1, 1)), groups=6, stride=(2, 2)),
    "groups": Geometry((2, 12, 9, 9), (20, 3, 3, 3), groups=4, padding=((1, 0), (0, 1))),
    "stride": Geometry((2, 3, 31, 33), (16, 3, 7, 7), stride=(2, 2), padding=((3, 3), (3, 3))),
    "stride, small planes": Geometry((5, 8, 9, 9), (40, 8, 3, 3), stride=(2, 2), padding=((1, 1), (1, 1))),
    "patches": Geometry((2, 3, 32, 32), (20, 3, 8, 8), stride=(8, 8)),
    "steps larger than the kernel": Geometry((2, 3, 20, 23), (4, 3, 2, 2), stride=(5, 4), padding=((0, 3), (1, 2))),
    "dilation": Geometry((1, 4, 24, 25), (8, 4, 3, 3), dilation=(3, 2), padding=((3, 3), (2, 2))),
    "dilation and stride": Geometry((1, 2, 24, 25), (8, 2, 4, 3), dilation=(3, 4), stride=(2, 6), padding=((4, 3), (5, 2))),
    "more padding than kernel": Geometry((1, 2, 4, 5), (3, 2, 2, 1), padding=((5, 0), (1, 6))),
    "a long row": Geometry((1, 2, 1, 5000), (3, 2, 1, 9), padding=((0, 0), (4, 4))),
    "a long row, few in a panel": Geometry((1, 1, 1, 9000), (2, 1, 1, 700), stride=(1, 3)),
    "a high column": Geometry((1, 2, 5000, 1), (3, 2, 9, 1), padding=((4, 4), (0, 0))),
    "a large kernel": Geometry((1, 2, 60, 60), (3, 2, 45, 50)),
    "more taps than lines": Geometry((2, 1, 80, 75), (1, 1, 70, 65)),
    "the whole plane": Geometry((7, 16, 5, 5), (120, 16, 5, 5)),
    "single places": Geometry((3, 30, 1, 1), (40, 30, 1, 1)),
    "no images": Geometry((0, 2, 5, 5), (3, 2, 3, 3)),
    "no channels": Geometry((2, 0, 5, 5), (3, 0, 3, 3)),
    "no filters": Geometry((2, 2, 5, 5), (0, 2, 3, 3)),
    "only padding": Geometry((2, 2, 0, 3), (4, 2, 3, 3), padding=((2, 2), (0, 0))),
}


@pytest.mark.parametrize("dtype", [F32, F64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", KNOWN)
def test_geometry(kernels: Kernels, name: str, dtype: DType) -> None:
    known = KNOWN[name]
    check(kernels, Geometry(known.x.sizes, known.w.sizes, dtype, **known.settings))


@pytest.mark.parametrize("dtype", [F16, BF16], ids=["f16", "bf16"])
def test_two_byte_floats(kernels: Kernels, dtype: DType) -> None:
    check(kernels, Geometry((2, 4, 12, 13), (6, 4, 3, 3), dtype, padding=((1, 1), (1, 1))))
    check(kernels, Geometry((2, 4, 12, 13), (6, 2, 3, 3), dtype, stride=(2, 1), groups=2))


def drawn(rng: np.random.Generator, dtype: DType) -> Geometry:
    """A random geometry of a moderate size."""
    groups = int(rng.choice([1, 1, 2, 3]))
    kernel = rng.integers(1, 6, 2)
    stride, dilation = rng.choice([1, 1, 1, 2, 3], 2), rng.choice([1, 1, 1, 2, 3], 2)
    padding = rng.integers(0, 4, (2, 2))
    smallest = np.maximum(1, dilation * (kernel - 1) + 1 - padding.sum(1))
    size = smallest + rng.integers(0, 24, 2)
    x = int(rng.integers(1, 6)), groups * int(rng.integers(1, 9)), *map(int, size)
    w = groups * int(rng.choice([1, 2, 3, 4, 7, 9, 15, 34])), x[1] // groups, *map(int, kernel)
    settings = {
        "stride": tuple(map(int, stride)), "dilation": tuple(map(int, dilation)), "groups": groups,
        "padding": tuple(tuple(map(int, side)) for side in padding)}
    return Geometry(x, w, dtype, **settings)


@pytest.mark.parametrize("seed", range(60))
def test_random_geometry(kernels: Kernels, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check(kernels, drawn(rng, (F32, F64)[seed % 2]), seed)


WITH_MANY_CHANNELS = (
    Geometry((2, 45, 13, 19), (50, 45, 3, 3), padding=((1, 1), (1, 1))),
    Geometry((1, 64, 9, 30), (90, 64, 3, 3), stride=(2, 1), padding=((1, 0), (1, 1))),
    Geometry((2, 7, 11, 10), (64, 7, 2, 3), dilation=(2, 1)),
    Geometry((1, 50, 6, 5), (64, 50, 1, 1)),
)
"""So many that with vectors of 32 bytes the pieces of lines that tiles read are gathered."""


def test_many_channels_with_narrower_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    if "-mavx2" not in machine_flags():
        pytest.skip("this processor has no AVX2")
    machine_flags.cache_clear()
    monkeypatch.setenv("ADJOINT_CPU", "avx2")
    try:
        narrow = Kernels()
        for geometry in WITH_MANY_CHANNELS:
            check(narrow, geometry)
    except NoCompiler:
        pytest.skip("there is no C compiler")
    finally:
        machine_flags.cache_clear()


@pytest.mark.parametrize("position", range(3), ids=["forward", "images", "filters"])
def test_one_kernel_for_all_shapes(position: int) -> None:
    """The text holds no sizes."""
    texts = set()
    for known in KNOWN.values():
        op, types, result = known.ops()[position]
        texts.add(lower(op, types, [result]).text)
    assert len(texts) == 1


@pytest.mark.parametrize("filters", [1, 8])
def test_what_is_not_finite_stays_where_it_is(kernels: Kernels, filters: int) -> None:
    """No element enters sums that it has no part in, though vectors reach beyond rows."""
    geometry = Geometry((1, 1, 6, 20), (filters, 1, 3, 3))
    for op, types, result in (geometry.ops()[0], geometry.ops()[2]):
        x = np.ones(types[0].sizes, np.float32)
        x[0, 0, 2, 0] = np.inf
        ones = np.ones(types[1].sizes, np.float32)
        got = kernels.run(_Case(op, types, result), [x, ones])[0]  # type: ignore[arg-type]
        assert np.array_equal(got, op.reference(x, ones))


def test_threads_give_the_same_bits(kernels: Kernels) -> None:
    """Ranges as the launcher cuts them for one to five threads."""
    geometry = Geometry((9, 6, 14, 14), (16, 6, 5, 5))
    rng = np.random.default_rng(1)
    for op, types, result in geometry.ops():
        arrays = [stored(rng.uniform(-1, 1, t.sizes), t) for t in types]
        case = _Case(op, types, result)
        units = max(stage.sizes[0] for stage in lower(op, types, [result]).stages)
        results = {
            kernels.run(case, arrays, cuts=[b for _, b in pairwise(range(0, units + 1, max(1, units // threads)))])[0].tobytes()  # type: ignore[arg-type]
            for threads in range(1, 6)
        }
        assert len(results) == 1
