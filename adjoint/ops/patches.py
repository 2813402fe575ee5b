"""Patches of images, and rearranging channels to positions."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.patches import Fold, Unfold
from adjoint.ir.ops.windows import Padding
from adjoint.ir.types import BOOL, tensor
from adjoint.ops.arguments import check_memory, integer, operand, pair, sizes_argument, whole, wrong
from adjoint.ops.shapes import reshape, transpose
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["channel_shuffle", "col2im", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]

# Patches ------------------------------------------------------------------------------------------------------------


def unfolded(
    op: str, x: Tensor, kernel: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, ...], stride: tuple[int, int]
) -> Tensor:
    """Return the elements under a window at each of its positions: [n, c, kh, kw, h', w'] of images [n, c, h, w]."""
    sides = paired(op, padding)
    for size, side, apart, length in zip(x.shape[2:], sides, dilation, kernel, strict=True):
        if size + sum(side) < apart * (length - 1) + 1:
            raise wrong(op, "input", f"at least as large as a window of {kernel}, padding included", x)
    return apply(made(Unfold, kernel, stride, sides, dilation), x)


def folded(
    op: str, patches: Tensor, sizes: tuple[int, int], kernel: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, ...],
    stride: tuple[int, int],
) -> Tensor:
    """Sum patches [n, c, kh * kw, places] into images of some size, [n, c, h, w]."""
    sides = paired(op, padding)
    places = [(size + sum(side) - apart * (length - 1) - 1) // step + 1 for size, side, apart, length, step in zip(
        sizes, sides, dilation, kernel, stride, strict=True)]
    if min(places) < 1 or patches.shape[3] != places[0] * places[1]:
        raise wrong(op, "input", f"patches of {places} places, as windows of {kernel} have in images of {sizes}", patches)
    n, c = patches.shape[:2]
    to = tensor(patches.dtype, (n, c, *sizes))
    return apply(made(Fold, to, kernel, stride, sides, dilation), reshape(patches, (n, c, *kernel, *places)))


def paired(op: str, padding: tuple[int, ...]) -> Padding:
    """Padding on both sides of both axes: of one int, two (height, width), or four (top, bottom, left, right)."""
    match padding:
        case (size,):
            return (size, size), (size, size)
        case (height, width):
            return (height, height), (width, width)
        case (top, bottom, left, right):
            return (top, bottom), (left, right)
    raise wrong(op, "padding", "an int, or a tuple of 2 or 4 ints", padding)


def _padding(op: str, padding: Any) -> tuple[int, ...]:
    return tuple(whole(op, "padding", size) for size in sizes_argument(op, "padding", padding))


@fusible
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return the patches of images [n, c, h, w] as columns, [n, c * kh * kw, places]: the elements below a window at each of its places.

    padding  zeros around the images: an int, (height, width), or (top, bottom, left, right)
    """
    op = "Unfold"
    x = operand(op, input)
    if x.ndim != 4:
        raise wrong(op, "input", "of 4 dimensions", x)
    if x.dtype is BOOL:
        raise wrong(op, "input", "a Tensor of numbers", x, TypeError)
    patches = unfolded(op, x, pair(op, "kernel_size", kernel_size), pair(op, "dilation", dilation), _padding(op, padding),
                       pair(op, "stride", stride))
    n, c, kh, kw, rows, columns = patches.shape
    return reshape(patches, (n, c * kh * kw, rows * columns))


@fusible
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sum patches [n, c * kh * kw, places] into images [n, c, *output_size]: the transpose of `unfold`.

    output_size  height and width, in a tuple or in a Tensor of integers
    """
    op = "Fold"
    x, kernel = operand(op, input), pair(op, "kernel_size", kernel_size)
    if x.ndim != 3 or x.shape[1] % (kernel[0] * kernel[1]):
        raise wrong(op, "input", f"of 3 dimensions, the second a multiple of {kernel[0] * kernel[1]}", x)
    columns = reshape(x, (x.shape[0], x.shape[1] // (kernel[0] * kernel[1]), kernel[0] * kernel[1], x.shape[2]))
    return col2im(columns, output_size, kernel, dilation, padding, stride)


@fusible
def col2im(input_x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding_value: Any, stride: Any) -> Tensor:
    """Sum patches [n, c, kh * kw, places] into images [n, c, *output_size].

    padding_value  as `padding` of `fold`
    """
    op = "Col2Im"
    x, kernel, sizes = operand(op, input_x, "input_x"), pair(op, "kernel_size", kernel_size), sizes_argument(op, "output_size", output_size)
    if len(sizes) != 2:
        raise wrong(op, "output_size", "two ints, height and width", sizes)
    if x.dtype is BOOL:
        raise wrong(op, "input_x", "a Tensor of numbers", x, TypeError)
    if x.ndim != 4 or x.shape[2] != kernel[0] * kernel[1]:
        raise wrong(op, "input_x", f"of 4 dimensions, the third {kernel[0] * kernel[1]}", x)
    check_memory(op, f"images of {sizes}", x.shape[0] * x.shape[1] * sizes[0] * sizes[1] * x.dtype.size)
    return folded(op, x, (sizes[0], sizes[1]), kernel, pair(op, "dilation", dilation), _padding(op, padding_value),
                  pair(op, "stride", stride))


# Channels -----------------------------------------------------------------------------------------------------------


def _factor(op: str, argument: str, value: Any) -> int:
    found = integer(op, argument, value)
    if found < 1:
        raise wrong(op, argument, "at least 1", found)
    return found


@fusible
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


@fusible
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


@fusible
def channel_shuffle(x: Any, groups: int) -> Tensor:
    """Return the channels of [n, c, ...], cut into groups, in the order first of each group, second of each group, ..."""
    op = "ChannelShuffle"
    given, count = operand(op, x, "x"), _factor(op, "groups", groups)
    if given.ndim < 2 or given.shape[1] % count:
        raise wrong(op, "x", f"of at least 2 dimensions, the second a multiple of {count} groups", given)
    n, c, *places = given.shape
    split = reshape(given, (n, count, c // count, *places))
    return reshape(transpose(split, (0, 2, 1, *range(3, len(places) + 3))), given.shape)


def depth_to_space(x: Tensor, block: int) -> Tensor:
    """[n, b * b * c, h, w] as [n, c, h * b, w * b]: the channels are b * b images of c channels, whose elements lie side by side."""
    n, c, h, w = x.shape
    c //= block**2
    squares = transpose(reshape(x, (n, block, block, c, h, w)), (0, 3, 4, 1, 5, 2))
    return reshape(squares, (n, c, h * block, w * block))


def space_to_depth(x: Tensor, block: int) -> Tensor:
    """[n, c, h * b, w * b] as [n, b * b * c, h, w]: the inverse of `depth_to_space`."""
    n, c, h, w = x.shape
    h, w = h // block, w // block
    squares = transpose(reshape(x, (n, c, h, block, w, block)), (0, 3, 5, 1, 2, 4))
    return reshape(squares, (n, c * block**2, h, w))
