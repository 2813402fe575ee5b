"""Images [n, h, w, c] brought to another size by areas, or scaled and moved with a kernel of choice."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.resample import Resample
from adjoint.ir.types import BOOL, F32, I32
from adjoint.ops.arguments import operand, real_operand, sizes_argument, wrong
from adjoint.ops.resizing import CACHED, Table, checked_sizes
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["KERNELS", "resized_by_area", "scaled_and_translated"]


def _images_and_size(op: str, images: Any, size: Any) -> tuple[Tensor, tuple[int, ...]]:
    x, wanted = real_operand(op, images, "images"), operand(op, size, "size")
    if x.dtype is BOOL:
        raise wrong(op, "images", "a Tensor of numbers", x, TypeError)
    if wanted.dtype is not I32:
        raise wrong(op, "size", "a Tensor of Int32", wanted, TypeError)
    if x.ndim != 4:
        raise wrong(op, "images", "of 4 dimensions", x)
    if wanted.shape != (2,):
        raise wrong(op, "size", "of shape (2,), height and width", wanted)
    sizes = sizes_argument(op, "size", wanted, least=1)
    checked_sizes(op, x.swapaxes(1, 3), sizes[::-1])
    return x.astype(F32, copy=False), sizes


def _resampled(x: Tensor, tables: tuple[Table, Table]) -> Tensor:
    for axis, (indices, weights) in enumerate(tables, 1):
        x = apply(made(Resample, axis), x, Tensor(indices), Tensor(weights.astype(np.float32)))
    return x


# Areas ---------------------------------------------------------------------------------------------------------------


@fusible
def resized_by_area(images: Any, size: Any, align: bool) -> Tensor:
    """Return images with `size` (height, width): each element is the mean of the area that it covers."""
    x, sizes = _images_and_size("ResizeArea", images, size)
    height, width = (_area_table(n, m, align) for n, m in zip(x.shape[1:3], sizes, strict=True))
    return _resampled(x, (height, width))


@functools.lru_cache(CACHED)
def _area_table(n: int, m: int, align: bool) -> Table:
    """Return the elements under each of m parts of n, weighted by how much of each is; elements beyond the end are the last one."""
    step = np.float32(n - 1) / np.float32(m - 1) if align and m > 1 else np.float32(n) / np.float32(m)
    first = np.arange(m, dtype=np.float32) * step
    last = np.arange(1, m + 1, dtype=np.float32) * step
    start = np.floor(first).astype(np.int64)
    indices = start[:, None] + np.arange(max(1, int((np.ceil(last) - start).max())))
    inside = indices < np.ceil(last)[:, None]
    weights = np.where(inside, np.minimum(indices + 1, last[:, None]) - np.maximum(indices, first[:, None]), 0.0)
    return np.where(inside, np.minimum(indices, n - 1), -1), weights / step


# Kernels -------------------------------------------------------------------------------------------------------------


def _lanczos(radius: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        return np.where(x > radius, 0.0, np.sinc(x) * np.sinc(x / radius))

    return kernel


def _cubic(near: tuple[float, ...], far: tuple[float, ...]) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        return np.where(x >= 2, 0.0, np.where(x >= 1, np.polyval(far, x), np.polyval(near, x)))

    return kernel


KERNELS: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "lanczos1": (1.0, _lanczos(1.0)), "lanczos3": (3.0, _lanczos(3.0)), "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0.0, np.exp(-2.0 * x * x))),
    "box": (0.5, lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))),
    "triangle": (1.0, lambda x: np.maximum(0.0, 1.0 - x)),
    "keyscubic": (2.0, _cubic((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0))),
    "mitchellcubic": (2.0, _cubic((7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9))),
}
"""Radius, and the weight of an element at a distance from 0 on."""


@fusible
def scaled_and_translated(images: Any, size: Any, scale: Any, translation: Any, kernel: str, antialias: bool) -> Tensor:
    """Return images of `size` (height, width) in which the given ones stand scaled and then moved; zeros where there is none.

    scale        factors of height and width, above 0
    translation  how far down and to the right
    kernel       a word of `KERNELS`: each element is a weighted mean of those near its place
    antialias    True to make the kernel as wide as an element of the result where that is larger

    There is no gradient by scale and translation.
    """
    op = "ScaleAndTranslate"
    x, sizes = _images_and_size(op, images, size)
    numbers: list[list[float]] = []
    for name, value in (("scale", scale), ("translation", translation)):
        given = operand(op, value, name)
        if given.dtype is not F32:
            raise wrong(op, name, "a Tensor of Float32", given, TypeError)
        if given.shape != (2,):
            raise wrong(op, name, "of shape (2,), of height and width", given)
        numbers.append(given.tolist())
    if not all(0 < factor < math.inf for factor in numbers[0]):
        raise wrong(op, "scale", "positive numbers", numbers[0])
    height, width = (_kernel_table(n, m, factor, moved, kernel, antialias) for n, m, factor, moved in zip(
        x.shape[1:3], sizes, *numbers, strict=True))
    return _resampled(x, (height, width))


def _kernel_table(n: int, m: int, scale: float, moved: float, kernel: str, antialias: bool) -> Table:
    """Return the elements of n near the place of each of m, weighted by a kernel, in float32 as MindSpore computes them."""
    radius, rule = KERNELS[kernel]
    step = np.float32(1) / np.float32(scale)
    widened = max(step, np.float32(1)) if antialias else np.float32(1)
    place = (np.arange(m, dtype=np.float32) + np.float32(0.5)) * step - step * np.float32(moved)
    reach = np.float32(radius) * widened
    start = np.clip(np.ceil(place - reach - np.float32(0.5)), 0, n - 1).astype(np.int64)
    end = np.clip(np.floor(place + reach - np.float32(0.5)), 0, n - 1).astype(np.int64) + 1
    indices = start[:, None] + np.arange(max(1, int((end - start).max())))
    inside = (indices < end[:, None]) & ((place >= 0) & (place <= n))[:, None]
    distance = np.abs(indices + np.float32(0.5) - place[:, None]) / widened
    weights = np.where(inside, rule(distance), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    fine = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
    return np.where(inside, indices, -1), np.where(fine, weights / np.where(fine, total, 1.0), weights)
