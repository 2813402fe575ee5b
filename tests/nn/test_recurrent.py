"""Recurrent layers: sequences of any length, gradients by differences, second order, graphs; MindSpore's values are in tests/oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn

LAYERS: dict[str, Any] = {
    "LSTM": lambda: nn.LSTM(2, 3, 2, bidirectional=True, dtype=ms.float64),
    "GRU": lambda: nn.GRU(2, 3, 2, bidirectional=True, dtype=ms.float64),
    "RNN": lambda: nn.RNN(2, 3, batch_first=True, dtype=ms.float64),
}
random = np.random.default_rng(3)


def whole(net: Any, x: Tensor, lengths: Tensor | None) -> Tensor:
    """Return a number to which all outputs and the last state contribute."""
    y, state = net(x, None, lengths)
    total = y.sum()
    for part in state if isinstance(state, tuple) else (state,):
        total = total + (part * part).sum()
    return total


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("lengths", [None, [3, 1]])
def test_gradients(name: str, lengths: Any) -> None:
    """By the sequence and by the weights, compared with differences; a step beyond a sequence's length has none."""
    net, x = LAYERS[name](), random.normal(size=(2, 3, 2) if name == "RNN" else (3, 2, 2))
    counts = None if lengths is None else Tensor(lengths, ms.int32)
    weight = net.trainable_params()[0]
    by_x, by_weight = ms.grad(lambda x: whole(net, x, counts), 0, weight)(Tensor(x))
    first = weight.asnumpy().copy()
    for where, got, at in ((x, by_x, (1, 0, 1)), (x, by_x, (0, 1, 0) if name != "RNN" else (1, 0, 0)), (first, by_weight, (2, 1))):
        found = []
        for move in (1e-6, -1e-6):
            moved = where.copy()
            moved[at] += move
            if where is first:
                weight.set_data(Tensor(moved))
            found.append(float(whole(net, Tensor(x if where is first else moved), counts)))
            weight.set_data(Tensor(first))
        np.testing.assert_allclose(got.asnumpy()[at], (found[0] - found[1]) / 2e-6, rtol=1e-5, atol=1e-9)
    if lengths is not None:
        assert not by_x.asnumpy()[(1, slice(1, None)) if name == "RNN" else (slice(1, None), 1)].any()


@pytest.mark.parametrize("name", LAYERS)
def test_graphs_and_hooks(name: str) -> None:
    """The same bits under jit, also of second order; hooks of the layer see the gradient in both."""
    net, x = LAYERS[name](), Tensor(random.normal(size=(2, 2, 2)))
    first = ms.grad(lambda x: whole(net, x, None))
    second = ms.grad(lambda x: (first(x) * first(x)).sum())
    for function in (first, second):
        assert np.array_equal(function(x).asnumpy(), ms.jit(function)(x).asnumpy())
    seen: list[Any] = []
    net.register_backward_hook(lambda cell, inputs, outputs: seen.append(inputs[0].asnumpy().copy()))
    first(x)
    ms.jit(first)(x)
    assert np.array_equal(seen[-1], seen[-2])


def test_lengths() -> None:
    """A sequence with a length equals the shorter sequence: outputs and state, forward and backward."""
    net, x = LAYERS["LSTM"](), random.normal(size=(5, 2, 2))
    y, (h, c) = net(Tensor(x), None, Tensor([5, 3], ms.int64))
    alone, (h1, c1) = net(Tensor(x[:3, 1:]))
    np.testing.assert_allclose(y.asnumpy()[:3, 1:], alone.asnumpy(), rtol=1e-12)
    assert not y.asnumpy()[3:, 1].any()
    for padded, short in ((h, h1), (c, c1)):
        np.testing.assert_allclose(padded.asnumpy()[:, 1], short.asnumpy()[:, 0], rtol=1e-12)
    with pytest.raises(ValueError, match=r"'seq_length' must hold lengths in \[0, 5\]"):
        net(Tensor(x), None, Tensor([6, 3]))


def test_dropout_between_layers() -> None:
    """Only in training, and not after the last layer."""
    net, x = nn.GRU(2, 3, 2, dropout=0.5), Tensor(random.normal(size=(4, 2, 2)).astype(np.float32))
    assert np.array_equal(net(x)[0].asnumpy(), net(x)[0].asnumpy())
    net.set_train()
    assert not np.array_equal(net(x)[0].asnumpy(), net(x)[0].asnumpy()) and net(x)[0].asnumpy().all()


def test_many_steps() -> None:
    """More steps than are combined into one; the cells compute the same as the layer."""
    layer, cell = nn.LSTM(2, 3), nn.LSTMCell(2, 3)
    for ours, theirs in zip(cell.get_parameters(), layer.get_parameters(), strict=True):
        ours.set_data(theirs)
    x = Tensor(random.normal(size=(35, 1, 2)).astype(np.float32))
    state = (Tensor(np.zeros((1, 3), np.float32)),) * 2
    outputs = []
    for step in x:
        state = cell(step, state)
        outputs.append(state[0].asnumpy())
    np.testing.assert_allclose(layer(x)[0].asnumpy(), np.stack(outputs), rtol=1e-5, atol=1e-6)
