"""Layers that change the size of images."""

from __future__ import annotations

from typing import Any

from adjoint.nn.checks import tensor_argument
from adjoint.ops.resizing import interpolate
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Upsample"]


class Upsample(Cell):
    """Sequences, images or volumes in another size; the arguments are those of `ops.interpolate`, which checks them when it is called."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def construct(self, input: Tensor) -> Tensor:
        return interpolate(
            tensor_argument(self, "input", input), self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)
