"""Layers that crop images, and take their differences."""

from __future__ import annotations

from adjoint.nn.checks import number, tensor_argument
from adjoint.ops.creation import zeros_like
from adjoint.ops.parts import framed
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["CentralCrop", "ImageGradients"]


class CentralCrop(Cell):
    """The middle of images [n, c, h, w] or [c, h, w]: `central_fraction` of their height and width, rounded up to what is symmetric."""

    def __init__(self, central_fraction: float):
        super().__init__()
        if not isinstance(central_fraction, float):
            raise TypeError(f"For 'CentralCrop', the argument 'central_fraction' must be a float, but got {central_fraction!r} "
                            f"of type {type(central_fraction).__name__}.")
        self.central_fraction = number(self, "central_fraction", central_fraction)
        if not 0 < central_fraction <= 1:
            raise ValueError(f"For 'CentralCrop', the argument 'central_fraction' must be in (0.0, 1.0], but got {central_fraction}.")

    def construct(self, image: Tensor) -> Tensor:
        height, width = tensor_argument(self, "image", image, (3, 4)).shape[-2:]
        top, left = (int((size - size * self.central_fraction) / 2) for size in (height, width))
        return image if self.central_fraction == 1 else image[..., top : height - top, left : width - left]


class ImageGradients(Cell):
    """The differences of images [n, c, h, w] to the next row and to the next column, (dy, dx); 0 in the last one."""

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        height, width = tensor_argument(self, "images", images, 4).shape[2:]
        dy = dx = zeros_like(images)
        if height > 1:
            dy = framed(images[:, :, 1:] - images[:, :, :-1], ((0, 0), (0, 0), (0, 1), (0, 0)), 0)
        if width > 1:
            dx = framed(images[..., 1:] - images[..., :-1], ((0, 0), (0, 0), (0, 0), (0, 1)), 0)
        return dy, dx
