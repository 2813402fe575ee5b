"""Resizing of arrays, with the arithmetic of OpenCV's `resize`, which MindSpore uses: integers of 11 fractional bits for uint8.

Coordinates are those of pixel centres: the pixel x of the result lies at (x + 0.5) * scale - 0.5 in the image.  The formulas are those of
OpenCV 4 (modules/imgproc/src/resize.cpp).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.dataset.vision.modes import Inter

__all__ = ["resized"]

Array = np.ndarray[Any, Any]
_SCALE = 2048
_CUBIC = np.float32(-0.75)


def resized(image: Array, height: int, width: int, mode: Inter) -> Array:
    """An image of height, width and maybe channels in another size, of the same dtype: uint8 or a float."""
    if image.shape[:2] == (height, width):
        return image.copy()
    if mode is Inter.NEAREST:
        return image[_nearest(image.shape[0], height)][:, _nearest(image.shape[1], width)]
    source = image if image.ndim == 3 else image[..., None]
    smaller = height <= image.shape[0] and width <= image.shape[1]
    half = (2 * height, 2 * width) == image.shape[:2]
    if (mode is Inter.AREA and smaller) or (mode is Inter.LINEAR and half):
        result = _averaged(source, height, width)
    else:
        result = _interpolated(source, _taps(source.shape[0], height, mode, False), _taps(source.shape[1], width, mode, True), mode)
    return result if image.ndim == 3 else result[..., 0]


def _nearest(size: int, wanted: int) -> Array:
    # OpenCV divides by the ratio of the sizes, not by its inverse: that decides where the product is nearly whole.
    scale = 1.0 / (wanted / size)
    return np.minimum(np.floor(np.arange(wanted) * scale).astype(np.int64), size - 1)


Taps = tuple[Array, Array]
"""For each pixel of the result the indices of the pixels that it is made of, [wanted, taps], and their weights, float32."""


def _taps(size: int, wanted: int, mode: Inter, whole_at_rim: bool) -> Taps:
    """The pixels along one axis.  At the rim all weight goes to the last pixel, or is shared by it and its copy: rounding tells them
    apart."""
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
    """First along the rows, then along the columns."""
    exact = source.dtype == np.uint8
    row_weights, column_weights = rows[1], columns[1]
    working: Any = source.dtype if source.dtype == np.float64 else np.float32
    if exact:
        working = np.int32
        row_weights = np.rint(row_weights * np.float32(_SCALE)).astype(np.int32)
        column_weights = np.rint(column_weights * np.float32(_SCALE)).astype(np.int32)
    wide = source.astype(working)
    across: Any = sum(wide[:, columns[0][:, tap]] * column_weights[None, :, tap,
                                                                   None].astype(working) for tap in range(column_weights.shape[1]))
    lines = [across[rows[0][:, tap]] for tap in range(row_weights.shape[1])]
    parts = [row_weights[:, tap, None, None].astype(working) for tap in range(row_weights.shape[1])]
    if not exact:
        total: Any = sum(line * part for line, part in zip(lines, parts))
        return total.astype(source.dtype)
    if mode is Inter.CUBIC:
        small = np.float32(1.0 / (_SCALE * _SCALE))
        total = sum(line.astype(np.float32) * (part.astype(np.float32) * small) for line, part in zip(lines, parts))
        return np.clip(np.rint(total), 0, 255).astype(np.uint8)
    above, below = ((part * (line >> 4)) >> 16 for line, part in zip(lines, parts))
    return ((above + below + 2) >> 2).astype(np.uint8)


def _averaged(source: Array, height: int, width: int) -> Array:
    """The mean of the pixels that lie under each one of the result; those at the rim count in part."""
    rows, columns = source.shape[0] / height, source.shape[1] / width
    if rows.is_integer() and columns.is_integer():
        down, across = int(rows), int(columns)
        blocks = source.reshape(height, down, width, across, source.shape[2])
        if source.dtype == np.uint8:
            total = blocks.sum((1, 3), dtype=np.int32)
            if (down, across) == (2, 2):
                return ((total + 2) >> 2).astype(np.uint8)
            return np.rint(total * np.float32(1.0 / (down * across))).astype(np.uint8)
        return (blocks.sum((1, 3), dtype=source.dtype) * source.dtype.type(1.0 / (down * across))).astype(source.dtype)
    working = np.float64 if source.dtype == np.float64 else np.float32
    across_weights, down_weights = _shares(source.shape[1], width, working), _shares(source.shape[0], height, working)
    lines = np.stack([(source[:, first : first + len(share)].astype(working) * share[:, None]).sum(1, dtype=working)
                      for first, share in across_weights], 1)
    result = np.stack([(lines[first : first + len(share)] * share[:, None, None]).sum(0, dtype=working) for first, share in down_weights])
    return np.clip(np.rint(result), 0, 255).astype(np.uint8) if source.dtype == np.uint8 else result.astype(source.dtype)


def _shares(size: int, wanted: int, working: Any) -> list[tuple[int, Array]]:
    """For each pixel of the result the first that it covers, and how much of each."""
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
        found.append((start, np.array(share, working)))
    return found
