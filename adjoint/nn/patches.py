"""Layers that extract patches of images, and rearrange channels to positions."""

from __future__ import annotations

from typing import Any

from adjoint.nn.checks import choice, positive, tensor_argument
from adjoint.ops import patches
from adjoint.ops.convolution import same_padding
from adjoint.ops.shapes import reshape, transpose
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Unfold"]


class Unfold(Cell):
    """The patches of images [n, c, h, w] as channels, [n, kh * kw * c, h', w']: of each element of the window all channels.

    ksizes   [1, kh, kw, 1], the size of the window
    strides  [1, rows, columns, 1], how far it moves
    rates    [1, rows, columns, 1], how far its elements lie apart
    padding  "valid" (default): windows inside of the image only; "same": as many as ceil(size / stride), over zeros around it
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid"):
        super().__init__()
        self._kernel, self._stride, self._dilation = (
            self._inner(name, value) for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)))
        self.padding = choice(self, "padding", padding.lower() if isinstance(padding, str) else padding, ("valid", "same"))

    def _inner(self, argument: str, value: Any) -> tuple[int, int]:
        """Rows and columns of [1, rows, columns, 1]."""
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"For 'Unfold', the argument '{argument}' must be a tuple or a list, but got {value!r}.")
        if len(value) != 4 or value[0] != 1 or value[3] != 1:
            raise ValueError(f"For 'Unfold', the argument '{argument}' must be [1, rows, columns, 1], but got {value!r}.")
        return positive(self, argument, value[1]), positive(self, argument, value[2])

    def construct(self, x: Tensor) -> Tensor:
        tensor_argument(self, "x", x, 4)
        around = (0, 0, 0, 0)
        if self.padding == "same":
            top, left = (same_padding(*sizes) for sizes in zip(x.shape[2:], self._kernel, self._stride, self._dilation, strict=True))
            around = (*top, *left)
        taken = patches.unfolded("Unfold", x, self._kernel, self._dilation, around, self._stride)
        n, c, kh, kw, rows, columns = taken.shape
        return reshape(transpose(taken, (0, 2, 3, 1, 4, 5)), (n, kh * kw * c, rows, columns))


class PixelShuffle(Cell):
    """[..., c * f * f, h, w] as [..., c, h * f, w * f], for f = upscale_factor."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = positive(self, "upscale_factor", upscale_factor)

    def construct(self, input: Tensor) -> Tensor:
        return patches.pixel_shuffle(tensor_argument(self, "input", input), self.upscale_factor)


class PixelUnshuffle(Cell):
    """[..., c, h * f, w * f] as [..., c * f * f, h, w], for f = downscale_factor."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = positive(self, "downscale_factor", downscale_factor)

    def construct(self, input: Tensor) -> Tensor:
        return patches.pixel_unshuffle(tensor_argument(self, "input", input), self.downscale_factor)


class ChannelShuffle(Cell):
    """The channels of [n, c, ...], cut into groups, in the order first of each group, second of each group, ..."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = positive(self, "groups", groups)

    def construct(self, x: Tensor) -> Tensor:
        return patches.channel_shuffle(tensor_argument(self, "x", x), self.groups)
