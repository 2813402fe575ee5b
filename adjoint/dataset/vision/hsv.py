"""Images of floats as hue, saturation and value, and back.  The formulas are those of Python's `colorsys`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_type
from adjoint.dataset.transforms.operation import Operation

__all__ = ["HsvToRgb", "RgbToHsv"]

Array = np.ndarray[Any, Any]


def hsv_of(red: Array, green: Array, blue: Array) -> tuple[Array, Array, Array]:
    """Return hue, saturation and value of colours from 0 to 1; the hue of a grey is 0."""
    value = np.maximum(np.maximum(red, green), blue)
    span = value - np.minimum(np.minimum(red, green), blue)
    coloured = span != 0
    width = np.where(coloured, span, 1)
    reddest, greenest, bluest = ((value - channel) / width for channel in (red, green, blue))
    sixths = np.where(red == value, bluest - greenest, np.where(green == value, 2 + reddest - bluest, 4 + greenest - reddest))
    return np.where(coloured, sixths / 6 % 1, 0), np.where(coloured, span / np.where(value == 0, 1, value), 0), value


def rgb_of(hue: Array, saturation: Array, value: Array) -> tuple[Array, Array, Array]:
    """Return red, green and blue of hues, saturations and values from 0 to 1."""
    sector = np.trunc(hue * 6)
    part = hue * 6 - sector
    low, falling, rising = value * (1 - saturation), value * (1 - saturation * part), value * (1 - saturation * (1 - part))
    levels = np.stack([value, low, falling, rising])
    # For each sixth of the circle which of the levels are red, green and blue.
    table = np.array([[0, 3, 1], [2, 0, 1], [1, 0, 3], [1, 2, 0], [3, 1, 0], [0, 1, 2]])[sector.astype(np.int64) % 6]
    red, green, blue = (np.take_along_axis(levels, table[..., channel][None], 0)[0] for channel in range(3))
    return red, green, blue


class _Converted(Operation):
    """Three channels as three others, in Float64; the channels are first, or last with `is_hwc`.  Images may be in a batch."""

    def __init__(self, is_hwc: bool = False):
        check_type(is_hwc, (bool,), "is_hwc")
        self.is_hwc = is_hwc

    def __call__(self, *columns: Any) -> Any:
        (image,) = columns
        if not isinstance(image, np.ndarray):
            raise TypeError(f"img should be NumPy image. Got {type(image)}.")
        if image.ndim not in (3, 4):
            raise TypeError(f"img shape should be (H, W, C)/(N, H, W, C)/(C, H, W)/(N, C, H, W). Got {image.shape}.")
        axis = image.ndim - (1 if self.is_hwc else 3)
        if image.shape[axis] != 3:
            raise TypeError(f"img should be 3 channels RGB img. Got {image.shape[axis]} channels.")
        return np.stack(self._converted(*np.moveaxis(image.astype(np.float64), axis, 0)), axis)

    @staticmethod
    def _converted(first: Array, second: Array, third: Array, /) -> tuple[Array, Array, Array]:
        raise NotImplementedError


class RgbToHsv(_Converted):
    """Red, green and blue from 0 to 1 as hue, saturation and value.

    is_hwc  whether the channels are the last axis; else they are the third from the end

    TypeError for what is not an array of three channels, alone or in a batch.
    """

    _converted = staticmethod(hsv_of)


class HsvToRgb(_Converted):
    """Hue, saturation and value from 0 to 1 as red, green and blue.

    is_hwc  whether the channels are the last axis; else they are the third from the end

    TypeError for what is not an array of three channels, alone or in a batch.
    """

    _converted = staticmethod(rgb_of)
