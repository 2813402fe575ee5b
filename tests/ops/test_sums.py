"""Sums of many floats, products of matrices and gradients by filters: the error is within the bound of `docs/ops.md`, the bits are
the same for any number of threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, grad, nn, ops
from adjoint.codegen.toolchain import Toolchain
from adjoint.ir.ops.reduce import rounding_steps

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(Toolchain.find() is None, reason="there is no C compiler")

UNIT = 2.0**-24
"""Half the distance from 1 to the next float32."""
SHAPES = (
    ((2**23,), (0,)), ((3, 70000), (1,)), ((70000, 3), (0,)), ((5, 3001, 7), (1,)), ((300, 3, 11, 13), (0, 2, 3)),
    ((2, 2047), (1,)), ((65, 300), (0,)), ((2049 * 7,), (0,)), ((9, 5), (1,)),
)


def bits_for_any_threads(compute: Callable[[], Tensor]) -> Array:
    """The result, which must not depend on the number of threads."""
    before = ms.get_context("num_threads")
    found: list[Array] = []
    try:
        for threads in (1, 2, 3):
            ms.set_context(num_threads=threads)
            found.append(compute().asnumpy().copy())
    finally:
        ms.set_context(num_threads=before)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    return found[0]


def steps_over(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Neighbouring axes count as one."""
    lengths: list[int] = []
    for axis in axes:
        if axis - 1 in axes:
            lengths[-1] *= shape[axis]
        else:
            lengths.append(shape[axis])
    return sum(rounding_steps(n) for n in lengths)


@pytest.mark.parametrize("fill", ["tenth", "drawn"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_sums_and_means(shape: tuple[int, ...], axes: tuple[int, ...], fill: str) -> None:
    """A tenth everywhere rounds the same way each time, which is the worst that happens."""
    x = np.full(shape, 0.1, np.float32) if fill == "tenth" else np.random.default_rng(0).normal(size=shape).astype(np.float32)
    t = Tensor(x)
    exact, sizes = x.sum(axes, dtype=np.float64), np.abs(x).sum(axes, dtype=np.float64)
    steps, count = steps_over(shape, axes), math.prod(shape[axis] for axis in axes)
    total = bits_for_any_threads(lambda: t.sum(axes))
    assert (np.abs(total - exact) <= steps * UNIT * sizes).all()
    assert (np.abs(t.mean(axes).asnumpy() - exact / count) <= (steps + 1) * UNIT * sizes / count).all()


@pytest.mark.parametrize(("shape", "axis"), [((2, 70000), 1), ((70000, 2), 0), ((5000, 130), 0), ((3, 100), 1)])
def test_softmax_and_its_gradient(shape: tuple[int, int], axis: int) -> None:
    """A quotient of functions and one sum: a few roundings beside those of the sum."""
    random = np.random.default_rng(1)
    x, ct = (random.normal(size=shape).astype(np.float32) for _ in range(2))
    powers = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    y = powers / powers.sum(axis, keepdims=True)
    found = bits_for_any_threads(lambda: ops.softmax(Tensor(x), axis))
    steps = rounding_steps(shape[axis])
    assert (np.abs(found - y) <= (steps + 16) * UNIT * y).all()
    slope = bits_for_any_threads(lambda: grad(lambda x: (ops.softmax(x, axis) * Tensor(ct)).sum())(Tensor(x)))
    size = y * (np.abs(ct) + (y * np.abs(ct)).sum(axis, keepdims=True))
    assert (np.abs(slope - y * (ct - (y * ct).sum(axis, keepdims=True))) <= 2 * (steps + 16) * UNIT * size).all()


@pytest.mark.parametrize("shape", [(300, 3, 7, 9), (3000, 5), (2, 2, 70, 80)])
def test_the_statistics_of_a_batch(shape: tuple[int, ...]) -> None:
    """The mean over a batch of many images, and the gradients by scale and shift, which are sums over it."""
    random = np.random.default_rng(2)
    x, ct = (random.uniform(0.5, 1.5, shape).astype(np.float32) for _ in range(2))
    layer = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(shape[1], momentum=0.0)
    layer.set_train()
    axes = (0, *range(2, len(shape)))
    steps = 2 * rounding_steps(math.prod(shape[axis] for axis in axes))
    layer(Tensor(x))
    mean = x.mean(axes, dtype=np.float64)
    assert (np.abs(layer.moving_mean.asnumpy() - mean) <= steps * UNIT * mean).all()
    shift = bits_for_any_threads(lambda: grad(lambda x: (layer(x) * Tensor(ct)).sum(), None, layer.beta)(Tensor(x)))
    exact = ct.sum(axes, dtype=np.float64)
    assert (np.abs(shift - exact) <= steps * UNIT * exact).all()


def test_gradients_of_what_was_broadcast() -> None:
    x = np.full((200000, 3), 0.1, np.float32)
    bias = bits_for_any_threads(lambda: grad(lambda b: ((Tensor(x) + b) * Tensor(x)).sum())(Tensor(np.zeros(3, np.float32))))
    exact = x.sum(0, dtype=np.float64)
    assert (np.abs(bias - exact) <= rounding_steps(200000) * UNIT * exact).all()


@pytest.mark.parametrize("depth", [7, 512, 5000, 100_000])
def test_products_of_matrices(depth: int) -> None:
    random = np.random.default_rng(3)
    a, b = np.full((3, depth), 0.1, np.float32), random.normal(size=(depth, 5)).astype(np.float32)
    found = bits_for_any_threads(lambda: Tensor(a) @ Tensor(b))
    exact, sizes = a.astype(np.float64) @ b.astype(np.float64), np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    assert (np.abs(found - exact) <= (min(depth, 512) + depth / 512 + 1) * UNIT * sizes).all()


def test_convolutions_and_their_gradients() -> None:
    random = np.random.default_rng(4)
    x, w = random.uniform(0, 1, (16, 3, 20, 20)), random.uniform(0, 1, (4, 3, 3, 3))
    x, w = x.astype(np.float32), w.astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(2, 3))
    exact = np.einsum("ncijkl,ockl->noij", windows, w)

    def convolved(x: Tensor, w: Tensor) -> Tensor:
        return ops.conv2d(x, w)

    found = bits_for_any_threads(lambda: convolved(Tensor(x), Tensor(w)))
    assert (np.abs(found - exact) <= 3 * 3 * 3 * UNIT * exact).all()
    filters = bits_for_any_threads(lambda: grad(lambda w: convolved(Tensor(x), w).sum())(Tensor(w)))
    by_filters = np.broadcast_to(windows.sum((0, 2, 3)), w.shape)
    assert (np.abs(filters - by_filters) <= 16 * 18 * 18 * UNIT * by_filters).all()
    images = bits_for_any_threads(lambda: grad(lambda x: convolved(x, Tensor(w)).sum())(Tensor(x)))
    assert np.abs(images[:, :, 5, 5] - w.astype(np.float64).sum((0, 2, 3))).max() <= 4 * 9 * UNIT * 36
