"""Resizing of arrays, with the arithmetic of OpenCV's `resize`, which MindSpore uses: integers of 11 fractional bits for uint8.

Coordinates are those of pixel centres: the pixel x of the result lies at (x + 0.5) * scale - 0.5 in the image.  The formulas are those of
OpenCV 4 (modules/imgproc/src/resize.cpp).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from adjoint.dataset.vision.modes import Inter

__all__ = ["resized"]

Array = np.ndarray[Any, Any]
_SCALE = 2048
_CUBIC = np.float32(-0.75)
_TOGETHER = 2**16
"""Numbers of results that are computed at once, so that intermediate values stay in the processor's cache."""


def resized(images: Array, height: int, width: int, mode: Inter, channels: bool = True) -> Array:
    """Images in another size, of the same dtype: uint8 or a float.

    images    [..., height, width, channels], or [..., height, width] where `channels` is False
    """
    source = images if channels else images[..., None]
    if source.ndim > 3 and (step := _TOGETHER // max(1, height * width * source.shape[-1])) < len(source):
        result = np.empty((*source.shape[:-3], height, width, source.shape[-1]), source.dtype)
        for first in range(0, len(source), max(1, step)):
            part = slice(first, first + max(1, step))
            result[part] = _of_one_size(source[part], height, width, mode)
    else:
        result = _of_one_size(source, height, width, mode)
    return result if channels else result[..., 0]


def _of_one_size(source: Array, height: int, width: int, mode: Inter) -> Array:
    """Images in another size, [..., height, width, channels]."""
    high, wide = source.shape[-3:-1]
    half = (2 * height, 2 * width) == (high, wide)
    if (high, wide) == (height, width):
        return source.copy()
    if mode is Inter.NEAREST:
        return source[..., _nearest(high, height), :, :][..., _nearest(wide, width), :]
    if (mode is Inter.AREA and height <= high and width <= wide) or (mode is Inter.LINEAR and half):
        return _averaged(source, height, width)
    return _interpolated(source, _taps(high, height, mode, False), _taps(wide, width, mode, True), mode)


@functools.lru_cache(64)
def _nearest(size: int, wanted: int) -> Array:
    # OpenCV divides by the ratio of the sizes, not by its inverse: that decides where the product is nearly whole.
    scale = 1.0 / (wanted / size)
    return np.minimum(np.floor(np.arange(wanted) * scale).astype(np.int64), size - 1)


Taps = tuple[Array, Array]
"""For each pixel of the result, return the indices of the pixels that it is computed from, [wanted, taps], and their weights, float32."""


@functools.lru_cache(64)
def _taps(size: int, wanted: int, mode: Inter, whole_at_rim: bool) -> Taps:
    """Interpolate the pixels along one axis.

    At the border all weight goes to the last pixel, or is shared by it and its copy: their rounding differs.
    """
    inverse = wanted / size
    scale = 1.0 / inverse
    if mode is Inter.AREA:
        whole = np.floor(np.arange(wanted) * scale)
        part = ((np.arange(wanted) + 1) - (whole + 1) * inverse).astype(np.float32)
        part = np.where(part <= 0, np.float32(0), part - np.floor(part))
    else:
        place = ((np.arange(wanted) + 0.5) * scale - 0.5).astype(np.float32)
        whole = np.floor(place)
        part = place - whole
    first = whole.astype(np.int64)
    if mode is Inter.CUBIC:
        one = np.float32(1)
        a, x, y = _CUBIC, part, one - part
        c0 = ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a
        c1 = ((a + 2) * x - (a + 3)) * x * x + one
        c2 = ((a + 2) * y - (a + 3)) * y * y + one
        weights = np.stack([c0, c1, c2, one - c0 - c1 - c2], 1)
        indices = first[:, None] + np.arange(-1, 3)
    else:
        if whole_at_rim:
            part = np.where((first < 0) | (first >= size - 1), np.float32(0), part)
            first = np.clip(first, 0, size - 1)
        weights = np.stack([np.float32(1) - part, part], 1)
        indices = first[:, None] + np.arange(2)
    return np.clip(indices, 0, size - 1), weights.astype(np.float32)


def _interpolated(source: Array, rows: Taps, columns: Taps, mode: Inter) -> Array:
    """Interpolate first along the rows, then along the columns."""
    exact = source.dtype == np.uint8
    row_weights, column_weights = rows[1], columns[1]
    working: Any = np.float64 if source.dtype == np.float64 else np.float32
    if exact:
        working = np.int32
        row_weights = np.rint(row_weights * np.float32(_SCALE))
        column_weights = np.rint(column_weights * np.float32(_SCALE))
    # A line is one axis of pixels and channels: NumPy is quick along the last axis, where the channels alone would be too short.
    channels = source.shape[-1]
    places = (columns[0] * channels)[:, None] + np.arange(channels)[:, None]
    lines = source.astype(working).reshape(*source.shape[:-2], -1)
    across = _combined([lines.take(places[..., tap].reshape(-1), -1) for tap in range(places.shape[-1])],
                       [weights.repeat(channels) for weights in column_weights.astype(working).T])
    if exact and mode is not Inter.CUBIC:
        across >>= 4
    parts = [across.take(indices, -2) for indices in rows[0].T]
    shares = [weights[:, None] for weights in row_weights.astype(working).T]
    if not exact:
        result = _combined(parts, shares).astype(source.dtype)
    elif mode is Inter.CUBIC:
        small = np.float32(1.0 / (_SCALE * _SCALE))
        total = _combined([part.astype(np.float32) for part in parts], [share.astype(np.float32) * small for share in shares])
        result = np.clip(np.rint(total), 0, 255).astype(np.uint8)
    else:
        for part, share in zip(parts, shares):
            part *= share
            part >>= 16
        total = np.add(*parts, out=parts[0])
        total += 2
        total >>= 2
        result = total.astype(np.uint8)
    return result.reshape(*result.shape[:-1], -1, channels)


def _combined(parts: list[Array], weights: list[Array]) -> Array:
    """Return the weighted sum of arrays, from the first to the last; they are overwritten."""
    for part, weight in zip(parts, weights):
        part *= weight
    for part in parts[1:]:
        parts[0] += part
    return parts[0]


def _averaged(source: Array, height: int, width: int) -> Array:
    """Return for each pixel of the result the mean of the pixels under it; those at its border count in part."""
    high, wide, channels = source.shape[-3:]
    rows, columns = high / height, wide / width
    if rows.is_integer() and columns.is_integer():
        down, across = int(rows), int(columns)
        blocks = source.reshape(*source.shape[:-3], height, down, width, across, channels)
        if source.dtype == np.uint8:
            total = blocks.sum((-4, -2), dtype=np.int32)
            if (down, across) == (2, 2):
                return ((total + 2) >> 2).astype(np.uint8)
            return np.rint(total * np.float32(1.0 / (down * across))).astype(np.uint8)
        return (blocks.sum((-4, -2), dtype=source.dtype) * source.dtype.type(1.0 / (down * across))).astype(source.dtype)
    working = np.float64 if source.dtype == np.float64 else np.float32
    across_shares, down_shares = _shares(wide, width), _shares(high, height)
    lines = np.stack([(source[..., first : first + len(share), :].astype(working) * share.astype(working)[:, None]).sum(-2, dtype=working)
                      for first, share in across_shares], -2)
    result = np.stack([(lines[..., first : first + len(share), :, :] * share.astype(working)[:, None, None]).sum(-3, dtype=working)
                       for first, share in down_shares], -3)
    return np.clip(np.rint(result), 0, 255).astype(np.uint8) if source.dtype == np.uint8 else result.astype(source.dtype)


@functools.lru_cache(64)
def _shares(size: int, wanted: int) -> list[tuple[int, Array]]:
    """For each pixel of the result, return the first pixel that it covers, and how much of each."""
    scale = 1.0 / (wanted / size)
    found = []
    for place in range(wanted):
        low, high = place * scale, place * scale + scale
        cell = min(scale, size - low)
        first, last = int(np.ceil(low)), int(np.floor(high))
        last = min(last, size - 1)
        first = min(first, last)
        share = []
        start = first
        if first - low > 1e-3:
            start = first - 1
            share.append((first - low) / cell)
        share += [1.0 / cell] * (last - first)
        if high - last > 1e-3:
            share.append(min(min(high - last, 1.0), cell) / cell)
        found.append((start, np.array(share)))
    return found
