"""Channels into places and back."""

from __future__ import annotations

from typing import Any

from adjoint.ops.arguments import integer, operand, wrong
from adjoint.ops.shapes import reshape, transpose
from adjoint.runtime.tensor import Tensor

__all__ = ["channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def _factor(op: str, argument: str, value: Any) -> int:
    found = integer(op, argument, value)
    if found < 1:
        raise wrong(op, argument, "at least 1", found)
    return found


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """[..., c * f * f, h, w] as [..., c, h * f, w * f]: f * f channels are the elements of a square of f by f (Shi et al. 2016)."""
    op = "PixelShuffle"
    x, factor = operand(op, input), _factor(op, "upscale_factor", upscale_factor)
    if x.ndim < 3 or x.shape[-3] % factor**2:
        raise wrong(op, "input", f"of at least 3 dimensions, the last but two a multiple of {factor} squared", x)
    *lead, c, h, w = x.shape
    n, c = len(lead), c // factor**2
    squares = transpose(reshape(x, (*lead, c, factor, factor, h, w)), (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(squares, (*lead, c, h * factor, w * factor))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """[..., c, h * f, w * f] as [..., c * f * f, h, w]: the elements of a square of f by f are f * f channels."""
    op = "PixelUnshuffle"
    x, factor = operand(op, input), _factor(op, "downscale_factor", downscale_factor)
    if x.ndim < 3 or x.shape[-2] % factor or x.shape[-1] % factor:
        raise wrong(op, "input", f"of at least 3 dimensions, the last two multiples of {factor}", x)
    *lead, c, h, w = x.shape
    n, h, w = len(lead), h // factor, w // factor
    squares = transpose(reshape(x, (*lead, c, h, factor, w, factor)), (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(squares, (*lead, c * factor**2, h, w))


def channel_shuffle(x: Any, groups: int) -> Tensor:
    """The channels of [n, c, ...], cut into groups, in the order first of each group, second of each group, ..."""
    op = "ChannelShuffle"
    given, count = operand(op, x, "x"), _factor(op, "groups", groups)
    if given.ndim < 2 or given.shape[1] % count:
        raise wrong(op, "x", f"of at least 2 dimensions, the second a multiple of {count} groups", given)
    n, c, *places = given.shape
    split = reshape(given, (n, count, c // count, *places))
    return reshape(transpose(split, (0, 2, 1, *range(3, len(places) + 3))), given.shape)
