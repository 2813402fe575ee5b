"""Convolution of images, sequences and volumes, and its transpose.

The transpose of a convolution is its gradient by the images, and computed as that.  A convolution of volumes is one of images that have as
channels the planes below the kernel, [n * d', c * kd, h, w].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.linalg import Convolution, ConvolutionInputGradient
from adjoint.ir.ops.patches import Fold, Unfold
from adjoint.ir.types import tensor
from adjoint.ops import parts
from adjoint.ops.arguments import ArgumentMistake, choice, integer, only, operand, pair, sizes_argument, whole, wrong
from adjoint.ops.linear import bias_add
from adjoint.ops.shapes import reshape, transpose
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["conv1d", "conv2d", "conv3d", "conv3d_transpose", "conv_transpose2d"]

Pairs = tuple[tuple[int, int], tuple[int, int]]


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Return the padding before and after that gives ceil(size / stride) windows; an odd one goes after."""
    total = max(0, (-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size)
    return total // 2, total - total // 2


def sides_of(padding: Pairs | str, size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Pairs:
    """Return the padding before and after along both axes."""
    if not isinstance(padding, str):
        return padding
    if padding == "valid":
        return (0, 0), (0, 0)
    top, left = (same_padding(*sizes) for sizes in zip(size, kernel, stride, dilation, strict=True))
    return top, left


def convolution(
    op: str, x: Any, weight: Any, *, stride: tuple[int, int], padding: Pairs | str, dilation: tuple[int, int], groups: int
) -> Tensor:
    """Cross-correlation of [n, c, h, w] with [out, c / groups, kh, kw]; padding "same" or "valid", or (top, bottom), (left, right)."""
    image, kernel = operand(op, x, "x"), operand(op, weight, "weight")
    for name, t in (("x", image), ("weight", kernel)):
        if t.ndim != 4:
            raise wrong(op, name, "of 4 dimensions", t)
    if image.dtype is not kernel.dtype:
        raise wrong(op, "weight", f"of the dtype of 'x', {image.dtype}", kernel, TypeError)
    if groups < 1 or image.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise wrong(op, "weight", f"of {image.shape[1]} / {groups} channels and a multiple of {groups} outputs", kernel, ArgumentMistake)
    sides = sides_of(padding, image.shape[2:], kernel.shape[2:], stride, dilation)
    for axis in range(2):
        reach = dilation[axis] * (kernel.shape[2 + axis] - 1) + 1
        if image.shape[2 + axis] + sum(sides[axis]) < reach:
            raise wrong(op, "x", f"at least as large as the kernel {kernel.shape[2:]}, padding included", image)
    return apply(made(Convolution, stride=stride, padding=sides, dilation=dilation, groups=groups), image, kernel)


def image_gradient(
    op: str, ct: Tensor, kernel: Tensor, image: tuple[int, ...], *, stride: tuple[int, int], padding: Pairs | str,
    dilation: tuple[int, int], groups: int,
) -> Tensor:
    """Return the gradient of a convolution by its images, which have the shape `image`."""
    if len(image) != 4 or kernel.ndim != 4:
        raise wrong(op, "input_size" if kernel.ndim == 4 else "weight", "of 4 dimensions", image if kernel.ndim == 4 else kernel)
    sides = sides_of(padding, image[2:], kernel.shape[2:], stride, dilation)
    return apply(made(ConvolutionInputGradient, tensor(ct.dtype, image), stride, sides, dilation, groups), ct, kernel)


def transposed(
    op: str, x: Any, weight: Any, *, stride: tuple[int, int], padding: Pairs | str, dilation: tuple[int, int], groups: int,
    longer: tuple[int, int] = (0, 0),
) -> Tensor:
    """Return the transpose of a convolution: of [n, c, h, w] with [c, out / groups, kh, kw].

    padding  "same": results of size * stride; "valid": as far as the kernels reach, and size * stride at least; or how much is cut off,
             (top, bottom), (left, right)
    longer   rows and columns of zeros more at the end, as far as no kernel reaches them
    """
    image, kernel = operand(op, x, "x"), operand(op, weight, "weight")
    for name, t in (("x", image), ("weight", kernel)):
        if t.ndim != 4:
            raise wrong(op, name, "of 4 dimensions", t)
    if image.dtype is not kernel.dtype:
        raise wrong(op, "weight", f"of the dtype of 'x', {image.dtype}", kernel, TypeError)
    if groups < 1 or kernel.shape[0] != image.shape[1] or image.shape[1] % groups:
        raise wrong(op, "weight", f"of {image.shape[1]} inputs in {groups} groups", kernel, ArgumentMistake)
    ends = [
        transposed_axis(op, image, axis, kernel.shape[2 + axis], stride[axis], padding if isinstance(padding, str) else padding[axis],
                        dilation[axis], longer[axis]) for axis in (0, 1)]
    to = tensor(image.dtype, (image.shape[0], kernel.shape[1] * groups, *(size for size, _, _ in ends)))
    out = apply(made(ConvolutionInputGradient, to, stride, tuple(side for _, side, _ in ends), dilation, groups), image, kernel)
    beyond = [(0, more) for _, _, more in ends]
    return parts.framed(out, ((0, 0), (0, 0), *beyond), 0) if any(more for _, more in beyond) else out


def transposed_axis(
    op: str, x: Tensor, axis: int, kernel: int, stride: int, padding: tuple[int, int] | str, dilation: int, longer: int
) -> tuple[int, tuple[int, int], int]:
    """Return for one axis of `x`: the size of the result, how much is cut off, and how many zeros are appended."""
    places, reach, behind = x.shape[2 + axis], dilation * (kernel - 1) + 1, max(0, longer - (stride - 1))
    if padding == "same":
        size, side = places * stride, same_padding(places * stride, kernel, stride, dilation)
    elif isinstance(padding, str):
        size, side = places * stride + max(0, reach - stride), (0, 0)
    else:
        # What the result is longer by than the stride was cut off with the padding at the end, and is zeros only beyond that.
        kept = min(behind, padding[1])
        side, behind = (padding[0], padding[1] - kept), behind - kept
        size = (places - 1) * stride + reach - sum(side) + min(longer, stride - 1)
    if size < 1 or places < 1:
        raise wrong(op, "x", "large enough for a result of at least one element along each axis", x)
    return size, side, behind


def padding_argument(op: str, pad_mode: Any, padding: Any) -> Pairs | str:
    """Return the padding that `pad_mode` and `padding` ask for together."""
    mode = choice(op, "pad_mode", pad_mode, ("valid", "same", "pad"))
    widths = sizes_argument(op, "padding", padding)
    match widths:
        case (size,):
            sides: Pairs = (size, size), (size, size)
        case (height, width):
            sides = (height, height), (width, width)
        case (top, bottom, left, right):
            sides = (top, bottom), (left, right)
        case _:
            raise wrong(op, "padding", "an int, or a tuple of 2 or 4 ints", padding)
    if mode == "pad":
        return sides
    if any(widths):
        raise wrong(op, "padding", f"0 where pad_mode is '{mode}'", padding)
    return mode


@fusible
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images [n, c, h, w] with kernels [out, c / groups, kh, kw], and a bias for each output.

    pad_mode  "valid": no padding; "same": as much as gives ceil(size / stride) results; "pad": `padding` zeros around, an int,
              (height, width), or (top, bottom, left, right)
    """
    out = convolution("Conv2D", input, weight, stride=pair("Conv2D", "stride", stride),
                      padding=padding_argument("Conv2D", pad_mode, padding), dilation=pair("Conv2D", "dilation", dilation),
                      groups=integer("Conv2D", "groups", groups))
    return out if bias is None else bias_add(out, bias)


@fusible
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of sequences [n, c, l] with kernels [out, c / groups, k]; arguments as for `conv2d`."""
    x, w = operand("Conv1D", input), operand("Conv1D", weight, "weight")
    for name, t in (("input", x), ("weight", w)):
        if t.ndim != 3:
            raise wrong("Conv1D", name, "of 3 dimensions", t)
    mode = choice("Conv1D", "pad_mode", pad_mode, ("valid", "same", "pad"))
    widths = sizes_argument("Conv1D", "padding", padding)
    if len(widths) not in (1, 2) or (mode != "pad" and any(widths)):
        raise wrong("Conv1D", "padding", "an int or two, and 0 unless pad_mode is 'pad'", padding)
    sides: Pairs | str = ((0, 0), (widths[0], widths[-1])) if mode == "pad" else mode
    step, apart = (only("Conv1D", name, v, least=1) for name, v in (("stride", stride), ("dilation", dilation)))
    wide = convolution("Conv1D", reshape(x, (x.shape[0], x.shape[1], 1, x.shape[2])), reshape(w, (w.shape[0], w.shape[1], 1, w.shape[2])),
                       stride=(1, step), padding=sides, dilation=(1, apart), groups=integer("Conv1D", "groups", groups))
    out = reshape(wide, (wide.shape[0], wide.shape[1], wide.shape[3]))
    return out if bias is None else bias_add(out, bias)


@fusible
def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Return the transpose of `conv2d`: of images [n, c, h, w], or one, [c, h, w], with kernels [c, out / groups, kh, kw], and a bias for
    each output.

    padding         rows and columns cut off on each side
    output_padding  rows and columns more at the end; less than stride or dilation
    """
    op = "ConvTranspose2D"
    step, apart, longer = pair(op, "stride", stride), pair(op, "dilation", dilation), pair(op, "output_padding", output_padding, least=0)
    if any(more >= max(a, b) for more, a, b in zip(longer, step, apart, strict=True)):
        raise wrong(op, "output_padding", "less than stride or dilation", output_padding)
    (top, left) = pair(op, "padding", padding, least=0)
    image = operand(op, input)
    batch = reshape(image, (1, *image.shape)) if image.ndim == 3 else image
    out = transposed(op, batch, weight, stride=step, padding=((top, top), (left, left)), dilation=apart,
                     groups=integer(op, "groups", groups), longer=longer)
    out = out if bias is None else bias_add(out, bias)
    return reshape(out, out.shape[1:]) if image.ndim == 3 else out


# Volumes ------------------------------------------------------------------------------------------------------------

Sides = tuple[tuple[int, int], ...]
Sizes = tuple[int, ...]


def _volume_and_kernel(op: str, x: Any, weight: Any) -> tuple[Tensor, Tensor]:
    volume, kernel = operand(op, x, "x"), operand(op, weight, "weight")
    for name, t in (("x", volume), ("weight", kernel)):
        if t.ndim != 5:
            raise wrong(op, name, "of 5 dimensions", t)
    if volume.dtype is not kernel.dtype:
        raise wrong(op, "weight", f"of the dtype of 'x', {volume.dtype}", kernel, TypeError)
    return volume, kernel


def sides_of_volume(padding: Sides | str, size: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes = (1, 1, 1)) -> Sides:
    """Return the padding before and after along the three axes."""
    if padding == "same":
        return tuple(same_padding(*sizes) for sizes in zip(size, kernel, stride, dilation, strict=True))
    return ((0, 0),) * 3 if isinstance(padding, str) else padding


def volume_convolution(
    op: str, x: Any, weight: Any, *, stride: Sizes, padding: Sides | str, dilation: Sizes, groups: int
) -> Tensor:
    """Cross-correlation of [n, c, d, h, w] with [out, c / groups, kd, kh, kw]; padding "same" or "valid", or a pair for each axis."""
    volume, kernel = _volume_and_kernel(op, x, weight)
    if groups < 1 or volume.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise wrong(op, "weight", f"of {volume.shape[1]} / {groups} channels and a multiple of {groups} outputs", kernel, ArgumentMistake)
    sides = sides_of_volume(padding, volume.shape[2:], kernel.shape[2:], stride, dilation)
    for size, side, apart, length in zip(volume.shape[2:], sides, dilation, kernel.shape[2:], strict=True):
        if size + sum(side) < apart * (length - 1) + 1:
            raise wrong(op, "x", f"at least as large as the kernel {kernel.shape[2:]}, padding included", volume)
    n, c, d, h, w = volume.shape
    planes = reshape(volume, (n, c, d, h * w))
    taken = apply(made(Unfold, (kernel.shape[2], 1), (stride[0], 1), (sides[0], (0, 0)), (dilation[0], 1)), planes)
    deep, depth = kernel.shape[2], taken.shape[4]
    images = transpose(reshape(taken, (n, c, deep, depth, h * w)), (0, 3, 1, 2, 4))
    images = reshape(images, (n * depth, c * deep, h, w))
    filters = reshape(kernel, (kernel.shape[0], kernel.shape[1] * deep, *kernel.shape[3:]))
    geometry = made(Convolution, (stride[1], stride[2]), (sides[1], sides[2]), (dilation[1], dilation[2]), groups)
    out = apply(geometry, images, filters)
    return transpose(reshape(out, (n, depth, *out.shape[1:])), (0, 2, 1, 3, 4))


def transposed_volume_convolution(
    op: str, x: Any, weight: Any, *, stride: Sizes, padding: Sides | str, dilation: Sizes, groups: int, longer: Sizes = (0, 0, 0)
) -> Tensor:
    """Return the transpose of `volume_convolution`: of [n, c, d, h, w] with [c, out / groups, kd, kh, kw]; the rest is as for `transposed`.
    """
    volume, kernel = _volume_and_kernel(op, x, weight)
    if groups < 1 or kernel.shape[0] != volume.shape[1] or volume.shape[1] % groups:
        raise wrong(op, "weight", f"of {volume.shape[1]} inputs in {groups} groups", kernel, ArgumentMistake)
    n, c, d, h, w = volume.shape
    outputs, deep = kernel.shape[1] * groups, kernel.shape[2]
    size, side, behind = transposed_axis(
        op, volume, 0, deep, stride[0], padding if isinstance(padding, str) else padding[0], dilation[0], longer[0])
    images = reshape(transpose(volume, (0, 2, 1, 3, 4)), (n * d, c, h, w))
    out = transposed(
        op, images, reshape(kernel, (c, kernel.shape[1] * deep, *kernel.shape[3:])), stride=(stride[1], stride[2]),
        padding=padding if isinstance(padding, str) else (padding[1], padding[2]), dilation=(dilation[1], dilation[2]), groups=groups,
        longer=(longer[1], longer[2]))
    height, width = out.shape[2:]
    patches = transpose(reshape(out, (n, d, outputs, deep, height * width)), (0, 2, 3, 1, 4))
    patches = reshape(patches, (n, outputs, deep, 1, d, height * width))
    to = tensor(volume.dtype, (n, outputs, size, height * width))
    summed = apply(made(Fold, to, (deep, 1), (stride[0], 1), (side, (0, 0)), (dilation[0], 1)), patches)
    result = reshape(summed, (n, outputs, size, height, width))
    return parts.framed(result, ((0, 0), (0, 0), (0, behind), (0, 0), (0, 0)), 0) if behind else result


def three(op: str, argument: str, value: Any, *, least: int = 1) -> Sizes:
    """Three ints for depth, height and width: one for all, three, or MindSpore's five with those of batch and channels before."""
    if isinstance(value, (tuple, list)) and len(value) == 5:
        value = value[2:]
    sizes = tuple(whole(op, argument, size) for size in value) if isinstance(value, (tuple, list)) else (whole(op, argument, value),) * 3
    if len(sizes) != 3:
        raise wrong(op, argument, "an int or a tuple of three ints", value)
    if min(sizes) < least:
        raise wrong(op, argument, f"at least {least}", value)
    return sizes


def volume_padding(op: str, pad_mode: Any, padding: Any) -> Sides | str:
    """Return the padding that `pad_mode` and `padding` ask for together: one int, three, or six, (head, tail, top, bottom, left, right)."""
    mode = choice(op, "pad_mode", pad_mode, ("valid", "same", "pad"))
    widths = sizes_argument(op, "padding", padding)
    if len(widths) not in (1, 3, 6):
        raise wrong(op, "padding", "an int, or a tuple of 3 or 6 ints", padding)
    if mode != "pad":
        if any(widths):
            raise wrong(op, "padding", f"0 where pad_mode is '{mode}'", padding)
        return mode
    whole_widths = tuple(whole(op, "padding", width) for width in widths)
    around = whole_widths if len(widths) == 6 else tuple(n for n in (whole_widths * (3 // len(widths))) for _ in (0, 1))
    return tuple(zip(around[::2], around[1::2], strict=True))


@fusible
def conv3d_transpose(
    inputs: Any, weight: Any, pad_mode: str = "valid", padding: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1,
    output_padding: Any = 0,
) -> Tensor:
    """Return the transpose of `conv3d`: of volumes [n, c, d, h, w] with kernels [c, out / group, kd, kh, kw].

    pad_mode        "valid"; "same": results of size * stride; "pad": `padding` is cut off, an int or (head, tail, top, bottom, left, right)
    output_padding  elements more at the ends, less than stride or dilation; 0 unless `pad_mode` is "pad"
    """
    op = "Conv3DTranspose"
    around, step, apart = volume_padding(op, pad_mode, padding), three(op, "stride", stride), three(op, "dilation", dilation)
    longer = three(op, "output_padding", output_padding, least=0)
    if any(more >= max(a, b) for more, a, b in zip(longer, step, apart, strict=True)):
        raise wrong(op, "output_padding", "less than stride or dilation", output_padding)
    if any(longer) and isinstance(around, str):
        raise wrong(op, "output_padding", "0 unless 'pad_mode' is 'pad'", output_padding)
    groups = integer(op, "group", group)
    return transposed_volume_convolution(op, inputs, weight, stride=step, padding=around, dilation=apart, groups=groups, longer=longer)


@fusible
def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes [n, c, d, h, w] with kernels [out, c / groups, kd, kh, kw], and a bias for each output.

    padding  with pad_mode "pad": an int, (depth, height, width), or (head, tail, top, bottom, left, right)
    """
    op = "Conv3D"
    out = volume_convolution(op, input, weight, stride=three(op, "stride", stride), padding=volume_padding(op, pad_mode, padding),
                             dilation=three(op, "dilation", dilation), groups=integer(op, "groups", groups))
    return out if bias is None else bias_add(out, bias)
