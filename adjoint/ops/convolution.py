"""Convolution of images and sequences, and its transpose.

The transpose of a convolution is its gradient by the images, and computed as that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.ops.linalg import Convolution, ConvolutionInputGradient
from adjoint.ir.types import tensor
from adjoint.ops.arguments import ArgumentMistake, choice, integer, only, operand, pair, sizes_argument, wrong
from adjoint.ops.linear import bias_add
from adjoint.ops.parts import framed
from adjoint.ops.shapes import reshape
from adjoint.runtime.interned import made
from adjoint.runtime.tensor import Tensor, apply

__all__ = ["conv1d", "conv2d", "conv_transpose2d"]

Pairs = tuple[tuple[int, int], tuple[int, int]]


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Padding before and after that gives ceil(size / stride) windows; the odd one goes after."""
    total = max(0, (-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size)
    return total // 2, total - total // 2


def sides_of(padding: Pairs | str, size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Pairs:
    """The padding before and after along both axes."""
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
    """The gradient of a convolution by its images, which have the shape `image`."""
    if len(image) != 4 or kernel.ndim != 4:
        raise wrong(op, "input_size" if kernel.ndim == 4 else "weight", "of 4 dimensions", image if kernel.ndim == 4 else kernel)
    sides = sides_of(padding, image[2:], kernel.shape[2:], stride, dilation)
    return apply(made(ConvolutionInputGradient, tensor(ct.dtype, image), stride, sides, dilation, groups), ct, kernel)


def transposed(
    op: str, x: Any, weight: Any, *, stride: tuple[int, int], padding: Pairs | str, dilation: tuple[int, int], groups: int,
    longer: tuple[int, int] = (0, 0),
) -> Tensor:
    """The transpose of a convolution: of [n, c, h, w] with [c, out / groups, kh, kw].

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
    sizes: list[int] = []
    sides: list[tuple[int, int]] = []
    for axis, (places, step, apart, more) in enumerate(zip(image.shape[2:], stride, dilation, longer, strict=True)):
        reach = apart * (kernel.shape[2 + axis] - 1) + 1
        if isinstance(padding, str):
            size = places * step if padding == "same" else places * step + max(0, reach - step)
            side = same_padding(size, kernel.shape[2 + axis], step, apart) if padding == "same" else (0, 0)
        else:
            side = padding[axis]
            size = (places - 1) * step + reach - sum(side) + min(more, step - 1)
        if size < 1 or places < 1:
            raise wrong(op, "x", "large enough for a result of at least one element along each axis", image)
        sizes.append(size)
        sides.append(side)
    to = tensor(image.dtype, (image.shape[0], kernel.shape[1] * groups, *sizes))
    out = apply(made(ConvolutionInputGradient, to, stride, tuple(sides), dilation, groups), image, kernel)
    beyond = [max(0, more - (step - 1)) for more, step in zip(longer, stride, strict=True)]
    return framed(out, ((0, 0), (0, 0), *((0, n) for n in beyond)), 0) if any(beyond) else out


def padding_argument(op: str, pad_mode: Any, padding: Any) -> Pairs | str:
    """The padding that `pad_mode` and `padding` ask for together."""
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


def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of `conv2d`: of images [n, c, h, w] with kernels [c, out / groups, kh, kw], and a bias for each output.

    padding         rows and columns cut off on each side
    output_padding  rows and columns more at the end; less than stride or dilation
    """
    op = "ConvTranspose2D"
    step, apart, longer = pair(op, "stride", stride), pair(op, "dilation", dilation), pair(op, "output_padding", output_padding, least=0)
    if any(more >= max(a, b) for more, a, b in zip(longer, step, apart, strict=True)):
        raise wrong(op, "output_padding", "less than stride or dilation", output_padding)
    (top, left) = pair(op, "padding", padding, least=0)
    out = transposed(op, input, weight, stride=step, padding=((top, top), (left, left)), dilation=apart,
                     groups=integer(op, "groups", groups), longer=longer)
    return out if bias is None else bias_add(out, bias)
