"""Layers that pool over windows at random places, and that put maxima back where they were taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from adjoint.nn.checks import boolean, tensor_argument
from adjoint.ops import fractional, sampling
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _FractionalMaxPool(Cell):
    """The largest elements of windows of one size at random places: see `ops.fractional_max_pool2d`.

    kernel_size      of the windows
    output_size      how many windows
    output_ratio     in its place, how many for each element along an axis
    return_indices   True to return the places of the elements in their channel too (Int64)
    _random_samples  where the windows are, by default drawn at each call
    """

    rule: ClassVar[Callable[..., Any]]

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None
    ):
        super().__init__()
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = boolean(self, "return_indices", return_indices)
        self._random_samples = _random_samples

    def construct(self, input: Tensor) -> Any:
        return type(self).rule(tensor_argument(self, "input", input), self.kernel_size, self.output_size, self.output_ratio,
                               self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    __doc__ = "Of images [n, c, h, w] or [c, h, w]: " + (_FractionalMaxPool.__doc__ or "")
    rule = staticmethod(fractional.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    __doc__ = "Of volumes [n, c, d, h, w] or [c, d, h, w]: " + (_FractionalMaxPool.__doc__ or "").replace("pool2d", "pool3d")
    rule = staticmethod(fractional.fractional_max_pool3d)


class _MaxUnpool(Cell):
    """Maxima put at the places that pooling gave, and zeros elsewhere.

    kernel_size  of the windows of pooling
    stride       how far they were apart; None or 0: their size
    padding      of pooling

    It is called on the maxima, their places, and, in case that pooling left out elements at the end, the sizes of the result.
    """

    rule: ClassVar[Callable[..., Tensor]]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def construct(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return type(self).rule(tensor_argument(self, "x", x), indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    __doc__ = "Of signals [n, c, l] or [c, l]: " + (_MaxUnpool.__doc__ or "")
    rule = staticmethod(sampling.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    __doc__ = "Of images [n, c, h, w] or [c, h, w]: " + (_MaxUnpool.__doc__ or "")
    rule = staticmethod(sampling.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    __doc__ = "Of volumes [n, c, d, h, w] or [c, d, h, w]: " + (_MaxUnpool.__doc__ or "")
    rule = staticmethod(sampling.max_unpool3d)
