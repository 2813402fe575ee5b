"""The programs of `programs.py`: their titles, parameters and data, as NumPy arrays.

A program is a loss of parameters and data, and what is timed is its value with the gradient by all parameters.  Each framework has the
losses under the same names, with the data bound: `NAME(numpy to tensor, data)` returns the function of the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Program(NamedTuple):
    """A program: its title, a function that draws its parameters, and one that draws its data."""

    title: str
    parameters: Callable[[], list[Array]]
    data: Callable[[], list[Array]]


def drawn(seed: int, *shape: int, scale: float = 1.0) -> Array:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def whole(seed: int, below: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(0, below, shape).astype(np.int32)


def dense(*widths: int) -> list[Array]:
    """Return the weight, [in, out], and the bias of each of the layers."""
    return [array for i, (a, b) in enumerate(pairwise(widths))
            for array in (drawn(i, a, b, scale=1 / math.sqrt(a)), np.zeros(b, np.float32))]


def filters(*shapes: tuple[int, ...]) -> list[Array]:
    return [drawn(i, *shape, scale=1 / math.sqrt(math.prod(shape[1:]))) for i, shape in enumerate(shapes)]


RESNET = ((64, 1), (128, 2), (256, 2), (512, 2))
"""For each stage of two blocks its channels and the stride of its first block."""


def resnet_parameters() -> list[Array]:
    """Return, block by block, filters, scale and shift of each convolution with its normalisation, then the last dense layer."""
    found: list[Array] = []

    def convolution(out: int, given: int, size: int) -> None:
        found.extend([*filters((out, given, size, size)), np.ones(out, np.float32), np.zeros(out, np.float32)])

    convolution(64, 3, 3)
    channels = 64
    for out, stride in RESNET:
        for block in range(2):
            convolution(out, channels, 3)
            convolution(out, out, 3)
            if block == 0 and (stride > 1 or channels != out):
                convolution(out, channels, 1)
            channels = out
    return found + dense(512, 10)


def edges() -> list[Array]:
    return [drawn(1, 2000, 32), whole(2, 2000, 10000), whole(3, 2000, 10000), whole(4, 7, 2000)]


def ring(count: int) -> Array:
    angles = np.linspace(0, 2 * math.pi, count, endpoint=False)
    return np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1).astype(np.float32)


PROGRAMS = {
    "logistic_regression": Program("logistic regression, 1024 rows of 100", lambda: dense(100, 10),
                                   lambda: [drawn(1, 1024, 100), whole(2, 10, 1024)]),
    "resnet": Program("ResNet-18, 16 images of 32 x 32", resnet_parameters, lambda: [drawn(1, 16, 3, 32, 32), whole(2, 10, 16)]),
    "gaussian_process": Program("likelihood of a Gaussian process, 200 points", lambda: [np.float32([0.3, -0.2, -1.0])],
                                lambda: [drawn(1, 200, 3), drawn(2, 200)]),
    "sinkhorn": Program("Sinkhorn's distance, 100 x 100, 30 rounds", lambda: [drawn(0, 100, 2)], lambda: [drawn(1, 100, 2)]),
    "bodies": Program("forces between 256 bodies", lambda: [ring(256) + drawn(1, 256, 3, scale=0.05)],
                      lambda: [np.abs(drawn(2, 256)) + 0.5]),
    "predators": Program("fit of predators and prey, 200 steps of Runge and Kutta", lambda: [np.float32([1.1, 0.4, 0.1, 0.4])],
                         lambda: [np.float32([10.0, 5.0]), np.abs(drawn(1, 200, 2)) + 1.0]),
    "heat": Program("heat equation by a network, 512 points, second derivatives", lambda: dense(2, 64, 64, 1), lambda: [drawn(1, 512, 2)]),
    "autoencoder": Program("variational autoencoder 784-400-20, 128 rows", lambda: dense(784, 400, 40) + dense(20, 400, 784),
                           lambda: [1 / (1 + np.exp(-drawn(1, 128, 784))), drawn(2, 128, 20)]),
    "segmentation": Program("U-net, 4 images of 64 x 64", lambda: filters((16, 1, 3, 3), (32, 16, 3, 3), (32, 32, 3, 3), (16, 48, 3, 3),
                                                                            (2, 16, 1, 1)),
                            lambda: [drawn(1, 4, 1, 64, 64), whole(2, 2, 4, 64, 64)]),
    "graph_network": Program("graph network, 2,000 nodes, 10,000 edges", lambda: dense(32, 64, 7), edges),
    "causal": Program("dilated causal convolutions, 8 x 32 x 512", lambda: filters(*(((32, 32, 2),) * 12)), lambda: [drawn(1, 8, 32, 512)]),
    "mixture": Program("mixture of 20 Gaussians, 5,000 points", lambda: [drawn(0, 20), drawn(1, 20, 4), drawn(2, 20, 4, scale=0.1)],
                       lambda: [drawn(3, 5000, 4)]),
    "words": Program("words by negative samples, 20,000 x 64", lambda: [drawn(0, 20000, 64, scale=0.1), drawn(1, 20000, 64, scale=0.1)],
                     lambda: [whole(2, 20000, 1024), whole(3, 20000, 1024, 6)]),
    "chain": Program("conditional random field, 32 x 50 steps, 20 states", lambda: [drawn(0, 20, 20), drawn(1, 24, 20)],
                     lambda: [drawn(2, 50, 32, 24)]),
    "separable": Program("separable convolutions, 8 x 32 x 28 x 28",
                         lambda: filters((32, 1, 3, 3), (64, 32, 1, 1), (64, 1, 3, 3), (64, 64, 1, 1)),
                         lambda: [drawn(1, 8, 32, 28, 28)]),
    "attention": Program("attention with relative positions, 4 x 4 heads x 64", lambda: [drawn(0, 64, 192, scale=0.1), drawn(1, 127, 4)],
                         lambda: [drawn(2, 4, 64, 64)]),
}
