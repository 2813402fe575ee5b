"""Loss scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, amp, nn


def test_scales() -> None:
    scaler = amp.DynamicLossScaler(8, 2, 2)
    half, single = scaler.scale((Tensor([1.0], ms.float16), Tensor(3.0)))
    assert half.dtype is ms.float16 and half.tolist() == [8.0] and float(single) == 24.0
    assert float(scaler.scale(Tensor(2.0))) == 16.0
    back = scaler.unscale([Tensor(4.0), (Tensor([16.0]),)])
    assert isinstance(back, list) and float(back[0]) == 0.5 and back[1][0].tolist() == [2.0]
    fixed = amp.StaticLossScaler(4.0)
    assert fixed.adjust(Tensor(False)) is False and float(fixed.unscale(Tensor(4.0))) == 1.0


@pytest.mark.parametrize("wrapped", [lambda f: f, ms.jit], ids=["eager", "graph"])
def test_a_scale_follows_the_gradients(wrapped: Callable[[Any], Any]) -> None:
    """Recorded from MindSpore 2.10.0: scale and counter after each step."""
    scaler = amp.DynamicLossScaler(8, 2, 2)
    adjust = wrapped(lambda finite: scaler.adjust(finite))
    seen = []
    for finite in (True, True, False, True, False, False, False, False, True):
        assert adjust(Tensor(finite)) is True
        seen.append((float(scaler.scale_value), int(scaler.counter)))
    assert seen == [(8, 1), (16, 0), (8, 0), (8, 1), (4, 0), (2, 0), (1, 0), (1, 0), (1, 1)]
    largest = amp.DynamicLossScaler(float(2.0**127), 2, 1)
    wrapped(lambda finite: largest.adjust(finite))(Tensor(True))
    assert float(largest.scale_value) == 2.0**127


def test_all_finite() -> None:
    good, bad = Tensor([1.0, 2.0]), Tensor([1.0, float("inf")], ms.float16)
    assert bool(amp.all_finite(good)) and bool(amp.all_finite((good, [good])))
    assert not amp.all_finite((good, bad)) and not amp.all_finite([good, (bad,)])
    assert not amp.all_finite(Tensor(float("nan")))


@pytest.mark.parametrize("wrapped", [lambda f: f, ms.jit], ids=["eager", "graph"])
def test_a_step_that_overflows_is_left_out(wrapped: Callable[[Any], Any]) -> None:
    dense = nn.Dense(2, 1, "ones", "zeros").to_float(ms.float16)
    optimizer = nn.SGD(dense.trainable_params(), 0.5)
    scaler = amp.DynamicLossScaler(2**16, 4, 1)

    def forward(x: Tensor) -> Tensor:
        return scaler.scale(dense(x).astype(ms.float32).sum())

    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    @wrapped
    def step(x: Tensor) -> tuple[Tensor, Tensor]:
        loss, grads = gradient(x)
        finite = amp.all_finite(grads)
        if finite:
            optimizer(scaler.unscale(grads))
        scaler.adjust(finite)
        return loss, finite

    x = Tensor([[0.5, 2.0]])
    assert not step(x)[1] and dense.weight.tolist() == [[1.0, 1.0]] and float(scaler.scale_value) == 2.0**14
    assert bool(step(x)[1]) and float(scaler.scale_value) == 2.0**16
    np.testing.assert_array_equal(dense.weight.asnumpy(), [[0.75, 0.0]])
    assert dense.bias.tolist() == [-0.5]


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="'scale_value' must be at least 1"):
        amp.StaticLossScaler(0)
    with pytest.raises(ValueError, match="'scale_window' must be more than 0"):
        amp.DynamicLossScaler(1, 2, 0)
    with pytest.raises(TypeError, match="'scale_factor'"):
        amp.DynamicLossScaler(1, 1.5, 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'inputs' must be a Tensor"):
        amp.StaticLossScaler(2).scale(3.0)
    with pytest.raises(TypeError, match="'grads_finite' must be a Tensor"):
        amp.DynamicLossScaler(1, 2, 2).adjust("yes")
    for nothing in ((), 3.0):
        with pytest.raises(TypeError, match="'inputs' must be a Tensor, or a tuple or list of them"):
            amp.all_finite(nothing)
