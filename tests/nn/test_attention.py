"""Attention: masks, second order, graphs; MindSpore's values are in tests/oracle/sequences.json."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn

random = np.random.default_rng(5)


def test_keys_that_do_not_count() -> None:
    """Their weights are 0, no gradient flows to them, bool and infinity masks are equivalent, and a mask may be given on both sides."""
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x, padding = Tensor(random.normal(size=(2, 3, 4)).astype(np.float32)), Tensor([[False, False, True], [False, True, False]])
    future = np.triu(np.ones((3, 3), bool), 1)
    out, weights = layer(x, x, x, padding, attn_mask=Tensor(future))
    assert not weights.asnumpy()[0, :, 2].any() and not weights.asnumpy()[:, future].any()
    np.testing.assert_allclose(weights.asnumpy().sum(-1), 1.0, rtol=1e-6)
    numbers = Tensor(np.where(future, -np.inf, 0.0).astype(np.float32))
    assert np.array_equal(layer(x, x, x, padding, attn_mask=numbers)[0].asnumpy(), out.asnumpy())
    by_value = ms.grad(lambda v: layer(x, x, v, padding)[0].sum())(x).asnumpy()
    assert not by_value[0, 2].any() and by_value[0, 1].any()
    with pytest.raises(ValueError, match="'attn_mask' must be of shape"):
        layer(x, x, x, attn_mask=Tensor(future[:2]))


def test_graphs_and_order_two() -> None:
    """The same bits under jit; the second derivative along a direction agrees with differences."""
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 5, 0.0, "gelu", dtype=ms.float64), 2)
    x, way = Tensor(random.normal(size=(3, 1, 4))), random.normal(size=(3, 1, 4))
    first = ms.grad(lambda x: (net(x) ** 3).sum())
    second = ms.grad(lambda x: (first(x) * Tensor(way)).sum())
    assert np.array_equal(second(x).asnumpy(), ms.jit(second)(x).asnumpy())
    step = 1e-6
    moved = [first(Tensor(x.asnumpy() + sign * step * way)).asnumpy() for sign in (1, -1)]
    np.testing.assert_allclose(second(x).asnumpy(), (moved[0] - moved[1]) / (2 * step), rtol=1e-5, atol=1e-6)


def test_layers_begin_alike_and_train_apart() -> None:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 5), 2)
    one, two = (layer.dense1.weight for layer in net.layers)
    assert one is not two and np.array_equal(one.asnumpy(), two.asnumpy())
    x = Tensor(random.normal(size=(3, 1, 4)).astype(np.float32))
    assert np.array_equal(net(x).asnumpy(), net(x).asnumpy())
    net.set_train()
    assert not np.array_equal(net(x).asnumpy(), net(x).asnumpy())


@pytest.mark.parametrize("argument, value, kind", [
    ("num_encoder_layers", 0, ValueError), ("num_decoder_layers", True, TypeError), ("custom_encoder", "text", TypeError),
    ("custom_decoder", len, TypeError),
])
def test_a_transformer_names_the_wrong_argument_as_it_was_given(argument: str, value: object, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=f"For 'Transformer', the argument '{argument}' must be"):
        nn.Transformer(4, 2, dim_feedforward=3, **{argument: value})  # pyright: ignore[reportArgumentType] - what is tested
