"""Patches of images, and channels that become places, as objects."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ops import patches
from adjoint.ops.arguments import check_memory, choice, integer, operand, pair, sizes_argument, whole, wrong
from adjoint.ops.convolution import three
from adjoint.ops.parts import concat, framed
from adjoint.ops.primitive import Primitive
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ChannelShuffle", "Col2Im", "DepthToSpace", "ExtractVolumePatches", "Im2Col", "SpaceToDepth"]


class Im2Col(Primitive):
    """The patches of images [n, c, h, w], [n, c, kh * kw, places]; the arguments are those of `ops.unfold`."""

    def __init__(self, ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0):
        op = "Im2Col"
        super().__init__(ksizes=pair(op, "ksizes", ksizes), strides=pair(op, "strides", strides),
                         dilations=pair(op, "dilations", dilations),
                         pads=tuple(whole(op, "pads", size) for size in sizes_argument(op, "pads", pads)))
        patches.paired(op, self.pads)

    def __call__(self, x: Any) -> Tensor:
        columns = patches.unfold(operand("Im2Col", x, "x"), self.ksizes, self.dilations, self.pads, self.strides)
        count = self.ksizes[0] * self.ksizes[1]
        return reshape(columns, (columns.shape[0], columns.shape[1] // count, count, columns.shape[2]))


class ExtractVolumePatches(Primitive):
    """The elements below a window at each of its places over volumes [n, c, d, h, w], as channels [n, kd * kh * kw * c, places...].

    kernel_size  an int, three of them, or five with 1 for batch and channels
    strides      as `kernel_size`
    padding      "VALID"; "SAME": zeros around the volumes, the odd one at the end, for a place at each stride
    """

    def __init__(self, kernel_size: Any, strides: Any, padding: str):
        op = "ExtractVolumePatches"
        mode = choice(op, "padding", padding, ("valid", "same")).upper()
        super().__init__(kernel_size=three(op, "kernel_size", kernel_size), strides=three(op, "strides", strides), padding=mode)

    def __call__(self, input_x: Any) -> Tensor:
        op = self.name
        x = operand(op, input_x, "input_x")
        if x.ndim != 5:
            raise wrong(op, "input_x", "of 5 dimensions", x)
        sizes, kernel, strides = x.shape[2:], self.kernel_size, self.strides
        if self.padding == "SAME":
            places = tuple(-(-size // step) for size, step in zip(sizes, strides, strict=True))
            more = [max((n - 1) * step + k - size, 0) for n, step, k, size in zip(places, strides, kernel, sizes, strict=True)]
            x = framed(x, ((0, 0), (0, 0), *((n // 2, n - n // 2) for n in more)), 0)
        else:
            if any(k > size for k, size in zip(kernel, sizes, strict=True)):
                raise wrong(op, "input_x", f"at least as large as the window, {kernel}", x)
            places = tuple((size - k) // step + 1 for size, k, step in zip(sizes, kernel, strides, strict=True))
        check_memory(op, "the patches", float(x.shape[0] * x.shape[1] * math.prod(kernel) * math.prod(places) * x.dtype.size))
        found = [x[:, :, a : a + (places[0] - 1) * strides[0] + 1 : strides[0], b : b + (places[1] - 1) * strides[1] + 1 : strides[1],
                   c : c + (places[2] - 1) * strides[2] + 1 : strides[2]]
                 for a in range(kernel[0]) for b in range(kernel[1]) for c in range(kernel[2])]
        return concat(found, 1)


class Col2Im(Primitive):
    """The sum of patches [n, c, kh * kw, places] in images of a size; the arguments are those of `ops.fold`."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        op = "Col2Im"
        super().__init__(kernel_size=pair(op, "kernel_size", kernel_size), dilation=pair(op, "dilation", dilation),
                         padding=tuple(whole(op, "padding", size) for size in sizes_argument(op, "padding", padding)),
                         stride=pair(op, "stride", stride))
        patches.paired(op, self.padding)

    def __call__(self, x: Any, output_size: Any) -> Tensor:
        return patches.col2im(x, output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class _Blocks(Primitive):
    def __init__(self, block_size: int):
        name = type(self).__name__
        super().__init__(block_size=integer(name, "block_size", block_size))
        if self.block_size < 2:
            raise wrong(name, "block_size", "at least 2", block_size)


class DepthToSpace(_Blocks):
    """[n, b * b * c, h, w] as [n, c, h * b, w * b]: b * b images of c channels, whose elements lie side by side."""

    def __call__(self, x: Any) -> Tensor:
        given = operand("DepthToSpace", x, "x")
        if given.ndim != 4 or given.shape[1] % self.block_size**2:
            raise wrong("DepthToSpace", "x", f"of 4 dimensions, the second a multiple of {self.block_size} squared", given)
        return patches.depth_to_space(given, self.block_size)


class SpaceToDepth(_Blocks):
    """[n, c, h * b, w * b] as [n, b * b * c, h, w]: the inverse of `DepthToSpace`."""

    def __call__(self, x: Any) -> Tensor:
        given = operand("SpaceToDepth", x, "x")
        if given.ndim != 4 or given.shape[2] % self.block_size or given.shape[3] % self.block_size:
            raise wrong("SpaceToDepth", "x", f"of 4 dimensions, the last two multiples of {self.block_size}", given)
        return patches.space_to_depth(given, self.block_size)


class ChannelShuffle(Primitive):
    """Images with the channels of `group` groups taken in turn."""

    def __init__(self, group: int):
        super().__init__(group=integer("ChannelShuffle", "group", group))
        if self.group < 1:
            raise wrong("ChannelShuffle", "group", "at least 1", group)

    def __call__(self, x: Any) -> Tensor:
        return patches.channel_shuffle(x, self.group)
