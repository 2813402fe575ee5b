"""Pooling layers."""

from __future__ import annotations

from typing import Any

from adjoint.mint.nn import functional
from adjoint.nn.checks import boolean
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d",
    "AvgPool3d", "MaxPool2d",
]


class MaxPool2d(Cell):
    """The largest elements of windows, which move by `stride` (default: the kernel size), and optionally their indices in the plane."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.return_indices, self.ceil_mode = boolean(self, "return_indices", return_indices), boolean(self, "ceil_mode", ceil_mode)

    def construct(self, input: Tensor) -> Any:
        return functional.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)


class AvgPool1d(Cell):
    """The means of windows along the last axis, which move by `stride` (default: the kernel size)."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode = boolean(self, "ceil_mode", ceil_mode)
        self.count_include_pad = boolean(self, "count_include_pad", count_include_pad)

    def construct(self, input: Tensor) -> Tensor:
        return functional.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(AvgPool1d):
    """The means of windows in the last two axes, which move by `stride` (default: the kernel size); or sums divided by `divisor_override`.
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: Any = None,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def construct(self, input: Tensor) -> Tensor:
        return functional.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AvgPool3d(AvgPool2d):
    """The means of windows in the last three axes, which move by `stride` (default: the kernel size); or sums divided by
    `divisor_override`."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AdaptiveAvgPool1d(Cell):
    """The means of `output_size` windows of almost equal size."""

    def __init__(self, output_size: Any):
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Tensor) -> Tensor:
        return functional.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """The means of `output_size` windows of almost equal size, in the last two axes."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """The means of `output_size` windows of almost equal size, in the last three axes."""

    def construct(self, input: Tensor) -> Tensor:
        return functional.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """The largest elements of `output_size` windows of almost equal size, and optionally their indices."""

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__()
        self.output_size, self.return_indices = output_size, boolean(self, "return_indices", return_indices)

    def construct(self, input: Tensor) -> Any:
        return functional.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """The largest elements of `output_size` windows of almost equal size, in the last two axes, and optionally their indices in the
    plane."""

    def construct(self, input: Tensor) -> Any:
        return functional.adaptive_max_pool2d(input, self.output_size, self.return_indices)
