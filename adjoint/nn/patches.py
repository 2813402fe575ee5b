"""Layers that move channels into places and back."""

from __future__ import annotations

from adjoint.nn.checks import positive, tensor_argument
from adjoint.ops import patches
from adjoint.runtime.cell import Cell
from adjoint.runtime.tensor import Tensor

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle"]


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
