"""Layers that extract and combine patches of images, rearrange channels to positions, and resize."""

from __future__ import annotations

from typing import Any

from adjoint.mint.nn import functional
from adjoint.nn.patches import PixelShuffle
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Fold", "PixelShuffle", "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Unfold(Cell):
    """The patches of images [n, c, h, w] as columns, [n, c * kh * kw, positions]."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def construct(self, input: Tensor) -> Tensor:
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Unfold):
    """The sum of patches [n, c * kh * kw, positions] in images [n, c, *output_size]: the transpose of `Unfold`."""

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def construct(self, input: Tensor) -> Tensor:
        return functional.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Upsample(Cell):
    """Resizes sequences, images or volumes: see `functional.interpolate`."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def construct(self, input: Tensor) -> Tensor:
        return functional.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)


class UpsamplingNearest2d(Upsample):
    """Resizes images by repeating the element at or before each position."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Resizes images by linear interpolation along both axes; the centres of the corner elements stay aligned."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)
