"""Blurring of images, with the arithmetic of OpenCV's `GaussianBlur`, which MindSpore uses: whole numbers for uint8 and uint16.

The formulas are those of OpenCV 4 (modules/imgproc/src/smooth.dispatch.cpp).
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_interval, check_type
from adjoint.dataset.vision.image import LARGEST, ImageOperation

__all__ = ["GaussianBlur"]

Array = np.ndarray[Any, Any]


@functools.lru_cache(64)
def _kernel(size: int, sigma: float) -> Array:
    """Return the weights of `size` neighbours, float64, which add up to 1."""
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(places**2 * (-0.5 / sigma**2))
    return weights / weights.sum()


@functools.lru_cache(64)
def _whole_kernel(size: int, sigma: float, bits: int) -> Array:
    """Return the weights as int64 that add up to 2**bits; what rounding one takes is added to the next one, towards the middle."""
    weights, error = np.empty(size, np.int64), 0.0
    middle = size // 2
    for index, exact in enumerate((_kernel(size, sigma)[:middle] * 2**bits).tolist()):
        weights[index] = weights[size - 1 - index] = rounded = round(exact + error)
        error += exact - rounded
    weights[middle] = 2**bits - 2 * weights[:middle].sum()
    return weights


def _weighted(array: Array, weights: Array, axis: int) -> Array:
    """Return the weighted sums of neighbours along an axis; the image is mirrored at its border, without its outermost pixels."""
    size, reach = array.shape[axis], len(weights) // 2
    # A period of the mirrored image, which may be shorter than the reach.
    period = np.concatenate([np.arange(size), np.arange(size - 2, 0, -1)])
    total: Any = 0
    for index, weight in enumerate(weights):
        total = total + array.take(period[(np.arange(size) + index - reach) % len(period)], axis) * weight
    return total


def blurred(array: Array, size: tuple[int, int], sigma: tuple[float, float]) -> Array:
    """Return an image blurred along its width and its height, of a size and a standard deviation each."""
    dtype = array.dtype
    if dtype.kind == "u":
        bits = 8 * dtype.itemsize
        wide, high = (_whole_kernel(count, spread, bits) for count, spread in zip(size, sigma))
        total = _weighted(_weighted(array.astype(np.int64), wide, 1), high, 0)
        return (total + (1 << (2 * bits - 1)) >> (2 * bits)).astype(dtype)
    working = np.float64 if dtype == np.float64 else np.float32
    wide, high = (_kernel(count, spread).astype(working) for count, spread in zip(size, sigma))
    total = _weighted(_weighted(array.astype(working), wide, 1), high, 0)
    return np.rint(total).astype(dtype) if dtype.kind == "i" else total


class GaussianBlur(ImageOperation):
    """An image blurred by a Gaussian.

    kernel_size  how many pixels are added up, an odd number: for both axes, or for the width and the height
    sigma        the standard deviation in pixels, for both axes, or for the width and the height; default, and instead of 0:
                 0.15 * size + 0.35, where the size is that of the axis in a pair, otherwise the width

    The image is of uint8, uint16, int16, float32 or float64; RuntimeError for another dtype.
    """

    gives_picture = False

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None):
        check_type(kernel_size, (int, list, tuple), "kernel_size")
        if isinstance(kernel_size, int):
            _check_odd(kernel_size, "kernel_size")
            self.size = kernel_size, kernel_size
        else:
            if len(kernel_size) != 2:
                raise TypeError("Kernel size should be a single integer or a list/tuple (kernel_width, kernel_height) of length 2.")
            for index, value in enumerate(kernel_size):
                _check_odd(value, f"kernel_size[{index}]")
            self.size = kernel_size[0], kernel_size[1]
        check_type(0 if sigma is None else sigma, (numbers.Number, list, tuple), "sigma")
        if isinstance(sigma, (list, tuple)):
            if len(sigma) != 2:
                raise TypeError("Sigma should be a single number or a list/tuple of length 2 for width and height.")
            named: list[tuple[Any, int, str]] = list(zip(sigma, self.size, ("sigma[0]", "sigma[1]")))
        else:
            # The width decides for both axes, as in MindSpore.
            named = [(sigma or 0, self.size[0], "sigma")] * 2
        for value, _, name in named:
            check_type(value, (numbers.Number,), name)
            check_interval(value, 0, LARGEST, name)
        self.sigma = tuple(float(np.float32(value or 0.15 * size + 0.35)) for value, size, _ in named)

    def on_array(self, array: Array) -> Array:
        if array.ndim not in (2, 3):
            raise RuntimeError(f"GaussianBlur: input tensor is not in shape of <H,W> or <H,W,C>, but got rank: {array.ndim}")
        if array.dtype not in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
            raise RuntimeError("GaussianBlur: the image must be of uint8, uint16, int16, float32 or float64, but got "
                               f"{array.dtype}. 'TypeCast' or 'ToType' changes it.")
        return blurred(array, self.size, (self.sigma[0], self.sigma[1]))


def _check_odd(value: Any, name: str) -> None:
    check_type(value, (int,), name)
    check_interval(value, 1, LARGEST, name)
    if value % 2 == 0:
        raise ValueError(f"Input {name} is not an odd value.")
