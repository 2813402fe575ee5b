"""Image layers without recorded results of MindSpore: those that it has only on other devices, and random ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops

from .test_layers import agree, in_float64, normalised, same

Array = np.ndarray[Any, Any]
random = np.random.default_rng(11)


@pytest.mark.parametrize(("kind", "shape"), [(nn.InstanceNorm1d, (2, 2, 4)), (nn.InstanceNorm2d, (2, 2, 2, 3)),
                                             (nn.InstanceNorm3d, (1, 2, 2, 1, 3))])
def test_instance_norm(kind: type[nn.Cell], shape: tuple[int, ...]) -> None:
    """The same in training and in evaluation; MindSpore has it only on GPUs."""
    cell = in_float64(kind(2, 0.01, gamma_init=Tensor([0.5, 2.0]), beta_init=Tensor([1.0, -1.0])))
    wide, axes = (1, 2, *(1,) * (len(shape) - 2)), tuple(range(2, len(shape)))
    x = random.normal(size=shape)
    for training in (False, True):
        agree(cell.set_train(training), lambda x, g, b: normalised(x, axes, 0.01) * g.reshape(wide) + b.reshape(wide), x)


@pytest.mark.parametrize(("name", "shape"), [("Dropout1d", (40, 50, 3)), ("Dropout1d", (2000, 3)), ("Dropout2d", (40, 50, 2, 2)),
                                             ("Dropout3d", (40, 50, 1, 2, 2))])
def test_channels_are_dropped_whole(name: str, shape: tuple[int, ...]) -> None:
    """The others are divided by the probability to be kept, and the gradient follows the value."""
    ms.set_seed(5)
    x = Tensor(np.where(np.arange(math.prod(shape)) == 0, np.inf, 1.0).reshape(shape).astype(np.float32))
    cell = getattr(nn, name)(0.25).set_train()
    y = cell(x).asnumpy()
    channels = y.reshape(2000, -1)[1:]
    assert set(np.unique(channels)) == {np.float32(0.0), np.float32(1 / 0.75)}
    assert (channels == channels[:, :1]).all() and abs((channels[:, 0] == 0).mean() - 0.25) < 0.04
    ms.set_seed(5)
    np.testing.assert_array_equal(ms.grad(lambda x: cell(x).sum())(x).asnumpy().reshape(2000, -1)[1:], channels)
    assert cell.set_train(False)(x) is x


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_unfold_gives_of_each_element_of_the_window_all_channels(padding: str) -> None:
    x = random.normal(size=(2, 3, 5, 6))
    cell = nn.Unfold([1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1], padding)
    sides = [same(5, 3, 2, 1), same(6, 2, 1, 2)] if padding == "same" else [(0, 0), (0, 0)]

    def expected(x: Array) -> Array:
        framed = np.pad(x, ((0, 0), (0, 0), *sides))
        rows, columns = (framed.shape[2] - 3) // 2 + 1, framed.shape[3] - 2
        taken = [framed[:, :, i : i + 2 * rows - 1 : 2, j : j + columns] for i in range(3) for j in (0, 2)]
        return np.concatenate(taken, 1)

    agree(cell, expected, x)


TRANSPOSED = [{}, {"stride": 3, "padding": 1, "output_padding": 2}, {"stride": 2, "dilation": 3, "output_padding": 2},
              {"stride": (1, 2), "groups": 2}, {"dilation": 3, "padding": 2, "output_padding": 1},
              {"stride": (2, 1), "dilation": 4, "padding": (1, 2), "output_padding": 3}]


@pytest.mark.parametrize("options", TRANSPOSED, ids=str)
def test_transposed_convolution(options: dict[str, Any]) -> None:
    """The inner product of y and the convolution of x equals that of x and the transposed convolution of y."""
    y, w = Tensor(random.normal(size=(1, 4, 3, 2))), Tensor(random.normal(size=(4, 6 // options.get("groups", 1), 3, 2)))
    options = dict(options)
    made = ops.conv_transpose2d(y, w, Tensor(np.zeros(6)), **options)
    pad, _ = options.pop("padding", 0), options.pop("output_padding", 0)
    x = Tensor(random.normal(size=made.shape))
    forth = ops.conv2d(x, w, None, pad_mode="pad", padding=pad, **options)
    np.testing.assert_allclose((forth[:, :, :3, :2] * y).sum().item(), (x * made).sum().item(), rtol=1e-10)
