"""Indices, layouts, padding, words and colours where MindSpore's answers, in tests/oracle/layouts.json, do not say enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, ops

RNG = np.random.default_rng(4)
PIXELS = Tensor(RNG.uniform(0.1, 0.9, (1, 2, 3, 3)).astype(np.float32))
WORDS = Tensor([[[1, 2, 1, 2], [0, 3, 0, 3]]], ms.int32)
IN_GRAPHS: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "UnravelIndex": (lambda i, d: ops.UnravelIndex()(i, d), (Tensor([5, 7], ms.int32), Tensor([2, 4], ms.int32))),
    "DataFormatDimMap": (lambda x: ops.DataFormatDimMap()(x), (Tensor([0, -1], ms.int32),)),
    "CompareAndBitpack": (lambda x, t: ops.CompareAndBitpack()(x, t), (Tensor(RNG.normal(size=(2, 16))), Tensor(0.0, ms.float64))),
    "PadV3": (lambda x, v: ops.PadV3()(x, (1, 2, 0, -1), v), (PIXELS, Tensor(2.0))),
    "NoRepeatNGram": (lambda w, x: ops.NoRepeatNGram(2)(w, x), (WORDS, Tensor(RNG.normal(size=(1, 2, 5)).astype(np.float32)))),
    "RGBToHSV": (lambda x: ops.RGBToHSV()(x), (PIXELS,)),
    "AdjustHue": (lambda x, d: ops.AdjustHue()(x, d), (PIXELS, Tensor(0.3))),
    "AdjustSaturation": (lambda x, s: ops.AdjustSaturation()(x, s), (PIXELS, Tensor(1.3))),
}


@pytest.mark.parametrize("name", IN_GRAPHS)
def test_graphs_give_the_same_bits(name: str) -> None:
    function, operands = IN_GRAPHS[name]
    eager, graph = function(*operands), ms.jit(function)(*operands)
    assert eager.dtype is graph.dtype
    assert eager.asnumpy().tobytes() == graph.asnumpy().tobytes()


CURVES: dict[str, Callable[[Tensor], Tensor]] = {
    "RGBToHSV": lambda x: ops.RGBToHSV()(x),
    "HSVToRGB": lambda x: ops.HSVToRGB()(x),
    "AdjustHue": lambda x: ops.AdjustHue()(x, Tensor(0.25)),
    "AdjustSaturation": lambda x: ops.AdjustSaturation()(x, Tensor(0.7)),
}


@pytest.mark.parametrize("name", CURVES)
def test_gradients_of_colours(name: str) -> None:
    """Gradients of the first and second order agree with differences, where no two colours are equal."""
    x = np.array([[[[0.3, 0.2, 0.7], [0.8, 0.5, 0.15], [0.2, 0.9, 0.4]]]])
    weights = Tensor(np.linspace(0.5, 1.5, 9).reshape(x.shape))
    curve = CURVES[name]

    def total(x: Tensor) -> Tensor:
        return (curve(x) ** 2 * weights).sum()

    def slope(x: Tensor) -> Tensor:
        return (ms.grad(total)(x) * weights).sum()

    for function in (total, slope):
        gradient, step = ms.grad(function)(Tensor(x)).asnumpy(), 1e-6
        for place in np.ndindex(x.shape):
            up, down = x.copy(), x.copy()
            up[place] += step
            down[place] -= step
            difference = (function(Tensor(up)).item() - function(Tensor(down)).item()) / (2 * step)
            assert gradient[place] == pytest.approx(difference, rel=2e-5, abs=1e-6)


def test_grey_and_black() -> None:
    """Where hue or saturation are not defined they are 0, and so are their gradients."""
    grey = Tensor([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 1.0, 1.0]])
    assert ops.RGBToHSV()(grey).asnumpy().tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 1.0]]
    assert np.isfinite(ms.grad(lambda x: ops.RGBToHSV()(x).sum())(grey).asnumpy()).all()


def test_where_mindspores_kernels_differ_from_its_manual() -> None:
    """Bools are packed in the order of other numbers, PadV3 needs no value and has a gradient by it, saturation is finite in half
    precision."""
    x, no = Tensor([True, False, True, False, True, True, True, True]), Tensor(False)
    assert ops.CompareAndBitpack()(x, no).asnumpy().tolist() == [0b10101111]
    assert ops.CompareAndBitpack()(x.astype(ms.int8), no.astype(ms.int8)).asnumpy().tolist() == [0b10101111]
    assert ops.PadV3()(Tensor([1.0]), Tensor([2, 1])).asnumpy().tolist() == [0.0, 0.0, 1.0, 0.0]
    assert ms.grad(lambda v: ops.PadV3()(Tensor([1.0]), Tensor([2, 1]), v).sum())(Tensor(7.0)).item() == 3.0
    np.testing.assert_allclose(ops.RGBToHSV()(Tensor([0.1, 0.2, 0.3], ms.float16)).asnumpy(), [7 / 12, 2 / 3, 0.3], 1e-3)


def test_indices_out_of_range_in_graphs() -> None:
    """A graph checks what eager mode checks, with the same message."""
    for function, kind, match, operands in (
        (lambda i: ops.UnravelIndex()(i, Tensor([2, 3])), ValueError, r"'indices' must be in \[0, 6\), for a shape of \[2, 3\], but got 6",
         (Tensor([1, 6]),)),
        (lambda w: ops.NoRepeatNGram()(w, Tensor(np.zeros((1, 1, 3), np.float32))), IndexError, r"'state_seq' must be in \[0, 3\)",
         (Tensor([[[0, 3]]], ms.int32),)),
    ):
        for run in (function, ms.jit(function)):
            with pytest.raises(kind, match=match):
                run(*operands)


def test_random_operators() -> None:
    """A seed and an offset repeat a draw, frequencies follow the weights, and dtypes and shapes are as asked for."""
    weights = Tensor([[0.0, 1.0, 3.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    draws: tuple[tuple[Callable[[], Tensor], Any, bool], ...] = (
        (lambda: ops.Multinomial(3, dtype=ms.int64)(weights, 2000), ms.int64, False),
        (lambda: ops.multinomial_with_replacement(weights, 5, 1, 2000), ms.int64, True),
        (lambda: ops.RandomCategorical(ms.int16)(ops.log(weights), 2000, 7), ms.int16, True),
    )
    for draw, dtype, repeats in draws:
        found = draw()
        assert found.shape == (2, 2000)
        assert found.dtype is dtype
        assert (found.asnumpy().tobytes() == draw().asnumpy().tobytes()) == repeats
        for row, wanted in zip(found.asnumpy(), weights.asnumpy(), strict=True):
            np.testing.assert_allclose(np.bincount(row, minlength=4) / 2000, wanted / wanted.sum(), atol=0.04)
    tossed = ops.Bernoulli(5, 1)(Tensor(np.zeros((50, 40))), 0.3)
    assert tossed.asnumpy().tobytes() == ops.Bernoulli(5, 1)(Tensor(np.zeros((50, 40))), 0.3).asnumpy().tobytes()
    assert tossed.asnumpy().mean() == pytest.approx(0.3, abs=0.04)
    ms.set_seed(1)
    drawn = ops.Cauchy([4000], 5.0, 0.5)()
    np.testing.assert_allclose(np.quantile(drawn.asnumpy(), [0.25, 0.5, 0.75]), [4.5, 5.0, 5.5], atol=0.06)
    rows = ops.RandomShuffle(2)(Tensor(np.arange(20).reshape(10, 2)))
    assert sorted(map(tuple, rows.asnumpy().tolist())) == [(2 * i, 2 * i + 1) for i in range(10)]
