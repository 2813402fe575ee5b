"""Images in another size: by the nearest element, by interpolation, or by averages of parts.

Along an axis of n elements that becomes one of m, element i of the result is at a position in the source, which is

    i * n / m                   "asymmetric": the corners of the first elements meet
    (i + 0.5) * n / m - 0.5     "half_pixel": elements are squares, and the corners of the images meet
    i * (n - 1) / (m - 1)       "align_corners": the middles of the corner elements meet

Axes are resized one after another, beginning with the one that shrinks most.  If a position decides which element is taken, it is
computed in float32, as in MindSpore, so that both take the same.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.ops.resample import Resample
from adjoint.ir.types import U8
from adjoint.ops.arguments import check_memory, choice, flag, operand, real, single, whole, wrong
from adjoint.ops.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["interpolate", "upsample"]

Table = tuple[Any, Any]
"""Which elements each element of the result is made of, and with what weights: two arrays [m, taps]."""
Sizes = tuple[int, ...]
SUBDIVISION = 1024
"""Number of steps into which bicubic interpolation divides the distance of two elements, as in MindSpore's table of weights."""
CACHED = 128


def step_of(n: int, m: int, lie: str, dtype: Any, factor: float | None = None) -> Any:
    """How far the m elements of the result lie from one another along n; `factor` takes the place of m / n."""
    if lie == "align_corners":
        return dtype(n - 1) / dtype(max(1, m - 1))
    return dtype(1) / dtype(factor) if factor else dtype(n) / dtype(m)


def places(n: int, m: int, lie: str, dtype: Any, factor: float | None = None) -> Any:
    """Return the positions of the m elements of the result along n."""
    index, step = np.arange(m, dtype=dtype), step_of(n, m, lie, dtype, factor)
    return (index + dtype(0.5)) * step - dtype(0.5) if lie == "half_pixel" else index * step


@functools.lru_cache(CACHED)
def nearest_places(n: int, m: int, lie: str, factor: float | None) -> Any:
    """Return the index in n for each of m elements."""
    if m == n and factor:
        return np.arange(n)
    if m == 2 * n and factor:
        return np.arange(m) // 2
    index, half = np.arange(m, dtype=np.float32), np.float32(0.5)
    if lie == "align_corners":
        place = index * step_of(n, m, lie, np.float32) + half
    else:
        place = (index + half if lie == "half_pixel" else index) * step_of(n, m, lie, np.float32, factor)
    return np.clip(np.floor(place).astype(np.int64), 0, n - 1)


@functools.lru_cache(CACHED)
def linear_table(n: int, m: int, lie: str, factor: float | None) -> Table:
    """Return the two elements around each position, weighted by distance."""
    if m == n and factor:
        return np.arange(n)[:, None], np.ones((n, 1))
    place = np.clip(places(n, m, lie, np.float64, factor), 0, n - 1)
    first = np.floor(place).astype(np.int64)
    share = place - first
    second = np.where(share > 0, first + 1, -1)
    return np.stack([first, second], axis=1), np.stack([1 - share, share], axis=1)


@functools.lru_cache(CACHED)
def cubic_table(n: int, m: int, lie: str, factor: float | None) -> Table:
    """Return the four elements around each place, weighted by the cubic of Keys (1981).

    Its parameter is -0.75, and beyond an edge its element stands again; for "half_pixel" -0.5, and elements beyond an edge do not count.
    """
    place = places(n, m, lie, np.float32, factor)
    first = np.floor(place)
    share = np.rint((place - first) * np.float32(SUBDIVISION)).astype(np.float64) / SUBDIVISION
    indices = first.astype(np.int64)[:, None] + np.arange(-1, 3)
    weights = _cubic_weights(share, -0.5 if lie == "half_pixel" else -0.75)
    if lie != "half_pixel":
        return np.clip(indices, 0, n - 1), weights
    inside = (indices >= 0) & (indices < n)
    weights = np.where(inside, weights, 0.0)
    return np.where(inside, indices, -1), weights / weights.sum(axis=1, keepdims=True)


@functools.lru_cache(CACHED)
def clamped_cubic_table(n: int, m: int, lie: str, factor: float | None) -> Table:
    """Return the four elements around each place, weighted by the cubic of Keys (1981) with the parameter -0.75, as in PyTorch.

    Beyond an edge its element stands again.
    """
    place = places(n, m, lie, np.float64, factor)
    first = np.floor(place)
    indices = first.astype(np.int64)[:, None] + np.arange(-1, 3)
    return np.clip(indices, 0, n - 1), _cubic_weights(place - first, -0.75)


def _cubic_weights(share: Any, a: float) -> Any:
    """Return the weights [m, 4] of the elements around positions that lie `share` behind the second."""
    distance = np.abs(share[:, None] - np.arange(-1, 3))
    near, far = ((a + 2) * distance - (a + 3)) * distance**2 + 1, ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def nearest(x: Tensor, sizes: Sizes, lie: str, factors: tuple[float, ...] | None = None) -> Tensor:
    """Return the last axes in other sizes: each element is the nearest of the source's, of any dtype."""
    for axis, factor in _order(x, sizes, factors):
        n, m = x.shape[axis], sizes[axis - x.ndim]
        if n != m or factor:
            x = apply(made(Gather, axis), x, Tensor(nearest_places(n, m, lie, factor)))
    return x


def weighted(
    x: Tensor, sizes: Sizes, table: Callable[[int, int, str, float | None], Table], lie: str, factors: tuple[float, ...] | None = None
) -> Tensor:
    """Return the last axes in other sizes: each element is a weighted sum of some of the source's; two-byte floats are rounded once."""
    y = single(x)
    for axis, factor in _order(x, sizes, factors):
        n, m = y.shape[axis], sizes[axis - x.ndim]
        if n != m or factor:
            indices, weights = table(n, m, lie, factor)
            y = apply(made(Resample, axis), y, Tensor(indices), Tensor(weights.astype(y.dtype.array)))
    return y.astype(x.dtype, copy=False)


def _order(x: Tensor, sizes: Sizes, factors: tuple[float, ...] | None) -> list[tuple[int, float | None]]:
    """Return the axes in the order in which they are resized, with their factors."""
    axes = range(x.ndim - len(sizes), x.ndim)
    scales: tuple[float | None, ...] = factors or (None,) * len(sizes)
    return sorted(zip(axes, scales, strict=True), key=lambda pair: sizes[pair[0] - x.ndim] / max(1, x.shape[pair[0]]))


def checked_sizes(op: str, x: Tensor, sizes: Sizes) -> Sizes:
    """Return the sizes, if the result is no larger than memory, and not made of nothing."""
    check_memory(op, f"a result of {sizes}", math.prod((*x.shape[: x.ndim - len(sizes)], *sizes)) * x.dtype.size)
    if any(m and not n for m, n in zip(sizes, x.shape[x.ndim - len(sizes) :], strict=True)):
        raise wrong(op, "input", f"images of elements for a size of {sizes}", x)
    return sizes


MODES = {
    "nearest": (3, 4, 5), "linear": (3,), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,), "area": (3, 4, 5), "nearest-exact": (3, 4),
}
"""The modes, with the ranks that they take."""
WITH_FACTOR = {("nearest", 5), ("trilinear", 5)}
"""Modes and ranks that place elements by the scale factor itself; in PyTorch all do."""


@fusible
def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Sequences [n, c, l], images [n, c, h, w] or volumes [n, c, d, h, w] in another size.

    size           of the result: one int for all axes, or an int for each
    scale_factor   in place of that the size by that of the input, rounded down: one float, or a float for each axis
    mode           "nearest": the element at or before the place; "nearest-exact": the nearest one; "linear", "bilinear", "trilinear"
                   (for 1, 2 and 3 axes): between two elements along each axis; "bicubic": between four; "area": averages of the
                   parts of `adaptive_avg_pool2d`
    align_corners  whether the middles of the corner elements meet, not the corners of the images; for the linear and the cubic modes
    recompute_scale_factor  whether places follow from the size that the factor gives, not from the factor itself.  It has to be
                   True with `scale_factor`, but in mode "area", and for volumes, which may have either

    TypeError for an input that is not a Tensor of floats, or in the modes "nearest" and "nearest-exact" of UInt8; raise ValueError for
    arguments that do not go together.
    """
    return resized(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def resized(
    input: Any, size: Any, scale_factor: Any, mode: str, align_corners: bool | None, recompute_scale_factor: bool | None, *,
    as_pytorch: bool = False,
) -> Tensor:
    """See `interpolate`.

    as_pytorch  whether every mode places elements by the scale factor itself unless `recompute_scale_factor` is True, and "bicubic" has
                PyTorch's weights
    """
    op = "Interpolate"
    x = operand(op, input)
    sizes, factors = _wanted_sizes(op, x, size, scale_factor)
    kind = choice(op, "mode", mode, tuple(MODES))
    if x.ndim not in MODES[kind]:
        raise wrong(op, "input", f"of {' or '.join(map(str, MODES[kind]))} dimensions in mode '{kind}'", x)
    if not (x.dtype.is_float or (x.dtype is U8 and kind in ("nearest", "nearest-exact"))):
        raise wrong(op, "input", "a Tensor of a floating point type, or in the modes 'nearest' and 'nearest-exact' of UInt8", x, TypeError)
    recomputed = recompute_scale_factor is not None and flag(op, "recompute_scale_factor", recompute_scale_factor)
    if recomputed and size is not None:
        raise wrong(op, "recompute_scale_factor", "None where 'size' is given", True)
    if recomputed or kind == "area":
        factors = None
    if factors and not as_pytorch and (kind, x.ndim) not in WITH_FACTOR:
        raise wrong(op, "scale_factor", f"used with recompute_scale_factor=True in mode '{kind}' for {x.ndim} dimensions", scale_factor)
    if align_corners is not None and (flag(op, "align_corners", align_corners), kind)[1] in ("nearest", "nearest-exact", "area"):
        raise wrong(op, "align_corners", f"None in mode '{kind}'", align_corners)
    checked_sizes(op, x, sizes)
    lie = "align_corners" if align_corners else "half_pixel"
    match kind:
        case "nearest":
            return nearest(x, sizes, "asymmetric", factors)
        case "nearest-exact":
            return nearest(x, sizes, "half_pixel", factors)
        case "bicubic":
            return weighted(x, sizes, clamped_cubic_table if as_pytorch else cubic_table, lie, factors)
        case "area":
            if len(sizes) == 1:
                return adaptive_avg_pool1d(x, sizes[0])
            return adaptive_avg_pool2d(x, sizes) if len(sizes) == 2 else adaptive_avg_pool3d(x, sizes)
        case _:
            return weighted(x, sizes, linear_table, lie, factors)


def _wanted_sizes(op: str, x: Tensor, size: Any, scale_factor: Any) -> tuple[Sizes, tuple[float, ...] | None]:
    """Return the size that is asked for, by itself or by factors, and these."""
    if (size is None) == (scale_factor is None):
        raise wrong(op, "size", "given, or 'scale_factor', and not both", (size, scale_factor))
    axes = max(0, x.ndim - 2)
    given = scale_factor if size is None else size
    values = tuple(given) if isinstance(given, (tuple, list)) else (given,) * axes
    name = "scale_factor" if size is None else "size"
    if len(values) != axes or not axes:
        raise wrong(op, name, f"one number or {axes}, one for each axis of {x.shape} behind the second", given)
    if size is not None:
        sizes = tuple(whole(op, "size", value) for value in values)
        if min(sizes) < 1:
            raise wrong(op, "size", "at least 1", size)
        return sizes, None
    factors = tuple(real(op, "scale_factor", value) for value in values)
    if not all(0 < factor < math.inf for factor in factors):
        raise wrong(op, "scale_factor", "greater than 0 and finite", scale_factor)
    sizes = tuple(math.floor(n * factor) for n, factor in zip(x.shape[2:], factors, strict=True))
    if min(sizes) < 1:
        raise wrong(op, "scale_factor", f"such that something is left of {x.shape[2:]}", scale_factor)
    return sizes, factors


@fusible
def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """As `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)
