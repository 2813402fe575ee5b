"""Pixels of an image at positions between its pixels, with the arithmetic of OpenCV's `remap`: positions have 5 fractional bits.

The formulas are those of OpenCV 4 (modules/imgproc/src/imgwarp.cpp).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.vision.modes import Inter

__all__ = ["check_remapped", "remapped"]

Array = np.ndarray[Any, Any]
_PARTS = 32
_ONE = 2**15
"""1 as a weight of an image of uint8."""


def check_remapped(mode: Inter, name: str) -> None:
    """Raise RuntimeError for an interpolation that positions between pixels do not have."""
    if mode in (Inter.ANTIALIAS, Inter.PILCUBIC):
        raise RuntimeError(f"{name}: Unsupported interpolation, only support NEAREST, LINEAR, CUBIC and AREA, but got {mode!r}.")


def remapped(image: Array, columns: Array, rows: Array, mode: Inter, fill: Sequence[int]) -> Array:
    """Return the pixels of an image at positions, in its dtype.

    image          [height, width] or [height, width, channels], of a dtype that OpenCV remaps: uint8, uint16, int16, or a float
    columns, rows  int64 of the shape of the result: pixels for NEAREST, otherwise 1/32 of pixels
    mode           NEAREST, LINEAR, CUBIC, or AREA, which is computed as LINEAR
    fill           the colour outside of the image
    """
    source = image if image.ndim == 3 else image[..., None]
    colour = np.array([fill[channel % len(fill)] for channel in range(source.shape[2])], source.dtype)
    if mode is Inter.NEAREST:
        result = _pixels(source, rows, columns, colour)
    else:
        result = _interpolated(source, columns, rows, _weights(mode is Inter.CUBIC, source.dtype == np.uint8), colour)
    return result if image.ndim == 3 else result[..., 0]


def _interpolated(source: Array, columns: Array, rows: Array, weights: Array, colour: Array) -> Array:
    """Return weighted sums of the pixels around positions in 1/32 of pixels."""
    taps = weights.shape[-1]
    left, top = ((places >> 5) - (taps // 2 - 1) for places in (columns, rows))
    chosen = weights[rows & (_PARTS - 1), columns & (_PARTS - 1)]
    total: Any = 0
    for down in range(taps):
        for across in range(taps):
            total = total + _pixels(source, top + down, left + across, colour) * chosen[..., down, across, None]
    if source.dtype == np.uint8:
        return np.clip((total + _ONE // 2) // _ONE, 0, 255).astype(np.uint8)
    if source.dtype.kind not in "iu":
        return total.astype(source.dtype)
    ends = np.iinfo(source.dtype)
    return np.clip(np.rint(total), ends.min, ends.max).astype(source.dtype)


@functools.cache
def _weights(cubic: bool, whole: bool) -> Array:
    """Return the weights of the taps * taps pixels around each of 32 * 32 positions, [32, 32, taps, taps].

    cubic  four taps with the coefficient -0.75, else two
    whole  int64 that add up to 2**15; else float32
    """
    part = (np.arange(_PARTS) / np.float32(_PARTS)).astype(np.float32)
    one = np.float32(1)
    if cubic:
        a, rest = np.float32(-0.75), one - part
        first = ((a * (part + one) - 5 * a) * (part + one) + 8 * a) * (part + one) - 4 * a
        second = ((a + 2) * part - (a + 3)) * part * part + one
        third = ((a + 2) * rest - (a + 3)) * rest * rest + one
        line = np.stack([first, second, third, one - first - second - third], 1)
    else:
        line = np.stack([one - part, part], 1)
    weights = line[:, None, :, None] * line[None, :, None, :]
    if not whole:
        return weights
    rounded = np.rint(weights * np.float32(_ONE)).astype(np.int64)
    # What rounding adds or takes is made up for by the largest or the smallest of the four weights that follow the middle.
    middle = line.shape[1] // 2
    for table, missing in zip(rounded.reshape(-1, *rounded.shape[2:]), (_ONE - rounded.sum((2, 3))).ravel().tolist()):
        if missing:
            corner = table[middle : middle + 2, middle : middle + 2]
            place = np.unravel_index(corner.argmax() if missing > 0 else corner.argmin(), corner.shape)
            corner[place] += missing
    return rounded


def _pixels(source: Array, rows: Array, columns: Array, colour: Array) -> Array:
    """Return pixels at positions of which some are outside."""
    height, width = source.shape[:2]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    found = source[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]
    return np.where(inside[..., None], found, colour)
