"""Layers that crop images, take their differences, and compare them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.types import F16, F32, F64, U8, DType
from adjoint.nn.checks import number, positive, tensor_argument
from adjoint.ops import reduction
from adjoint.ops.activations import relu
from adjoint.ops.arguments import check_memory
from adjoint.ops.arithmetic import log10
from adjoint.ops.convolution import conv2d
from adjoint.ops.creation import zeros_like
from adjoint.ops.generated import square
from adjoint.ops.parts import cat, framed, split
from adjoint.ops.pooling import avg_pool2d
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["MSSSIM", "PSNR", "SSIM", "CentralCrop", "ImageGradients"]


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


class _Comparison(Cell):
    """Base class of measures of how much two images [n, c, h, w] are alike, [n], Float32.

    max_val  the difference between the largest and the smallest number that images can have, above 0

    Raises TypeError for images that are not Tensors, or of another dtype than each other; ValueError for other shapes.
    """

    _dtypes: tuple[DType, ...] = ()

    def __init__(self, max_val: float = 1.0):
        super().__init__()
        if isinstance(max_val, bool) or not isinstance(max_val, (int, float)):
            raise TypeError(f"For '{type(self).__name__}', the argument 'max_val' must be an int or a float, "
                            f"but got {max_val!r} of type {type(max_val).__name__}.")
        if not max_val > 0:
            raise ValueError(f"For '{type(self).__name__}', the argument 'max_val' must be greater than 0, but got {max_val}.")
        self.max_val = max_val

    def _images(self, img1: Any, img2: Any) -> tuple[Tensor, Tensor]:
        """Return both images in Float32."""
        one, other = tensor_argument(self, "img1", img1, 4), tensor_argument(self, "img2", img2, 4)
        if one.dtype is not other.dtype:
            raise TypeError(f"For '{type(self).__name__}', the arguments 'img1' and 'img2' must have the same dtype, "
                            f"but got {one.dtype} and {other.dtype}.")
        if self._dtypes and one.dtype not in self._dtypes:
            allowed = " or ".join(dtype.long_name for dtype in self._dtypes)
            raise TypeError(f"For '{type(self).__name__}', the argument 'img1' must be of {allowed}, but got {one.dtype}.")
        if one.shape != other.shape:
            raise ValueError(f"For '{type(self).__name__}', the arguments 'img1' and 'img2' must have the same shape, "
                             f"but got {one.shape} and {other.shape}.")
        return one.astype(F32, copy=False), other.astype(F32, copy=False)


class PSNR(_Comparison):
    """The peak signal-to-noise ratio of two images in decibels, 10 log10(max_val^2 / mean((img1 - img2)^2)); infinite for equal images."""

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        one, other = self._images(img1, img2)
        return 10.0 * log10(float(self.max_val) ** 2 / reduction.mean(square(one - other), (1, 2, 3)))


class _Structure(_Comparison):
    """Measures that compare the means, variances and covariances in Gaussian windows.

    filter_size   height and width of the windows
    filter_sigma  the deviation of the Gaussian
    k1, k2        times `max_val`, squared, they are added to the numerators and the denominators
    """

    def __init__(self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float):
        super().__init__(max_val)
        self.filter_size, name = positive(self, "filter_size", filter_size), type(self).__name__
        for argument, value in (("filter_sigma", filter_sigma), ("k1", k1), ("k2", k2)):
            if not isinstance(value, float):
                raise TypeError(f"For '{name}', the argument '{argument}' must be a float, "
                                f"but got {value!r} of type {type(value).__name__}.")
        if not 0 < filter_sigma < math.inf:
            raise ValueError(f"For '{name}', the argument 'filter_sigma' must be greater than 0 and finite, but got {filter_sigma}.")
        self.filter_sigma, self.k1, self.k2 = filter_sigma, k1, k2
        check_memory(name, "the window", 8.0 * filter_size**2)
        place = np.arange(-filter_size // 2 + 1, filter_size // 2 + 1)  # of an even size as in MindSpore, one to the right
        bell = np.exp(-0.5 * (place / filter_sigma) ** 2)
        self.window = Tensor((np.outer(bell, bell) / bell.sum() ** 2)[None, None], F32)

    def _likeness(self, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        """Return the means over all windows [n, c] of the whole measure, and of its part without the means of the windows."""
        n, c, h, w = one.shape
        planes = cat([one, other, one * other, square(one) + square(other)], 0).reshape((4 * n * c, 1, h, w))
        # The four blocks of the batch, each smoothed by the Gaussian.
        smooth = conv2d(planes, self.window)
        smooth = smooth.reshape((4, n, c, smooth.shape[2] * smooth.shape[3]))
        mean1, mean2, product, squares = (part[0] for part in split(smooth, 1))
        first, second = (self.k1 * self.max_val) ** 2, (self.k2 * self.max_val) ** 2
        means = square(mean1) + square(mean2)
        contrast = (2.0 * (product - mean1 * mean2) + second) / (squares - means + second)
        whole = (2.0 * mean1 * mean2 + first) / (means + first) * contrast
        return reduction.mean(whole, -1), reduction.mean(contrast, -1)


class SSIM(_Structure):
    """The structural similarity of two images, up to 1 for equal ones.

    (2 m1 m2 + C1) (2 cov + C2) / ((m1^2 + m2^2 + C1) (var1 + var2 + C2)) with the means, variances and covariance in windows, averaged over
    windows and channels; C1 = (k1 max_val)^2, C2 = (k2 max_val)^2. Wang, Bovik, Sheikh and Simoncelli, 2004, IEEE Transactions on Image
    Processing 13(4).

    The images are of Float32 or Float16, and at least as large as a window: ValueError.
    """

    _dtypes = (F32, F16)

    def __init__(self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03):
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        one, other = self._images(img1, img2)
        if min(one.shape[2:]) < self.filter_size:
            raise ValueError(f"For 'SSIM', the arguments 'img1' and 'img2' must be at least as high and as wide as 'filter_size', "
                             f"{self.filter_size}, but got {one.shape}.")
        return reduction.mean(self._likeness(one, other)[0], -1)


class MSSSIM(_Structure):
    """The structural similarity of two images in several sizes, each half of the one before, multiplied.

    power_factors  for each size the exponent of its part; of all sizes but the last one that is the part without the means. Parts below 0
                   count as 0

    Wang, Simoncelli and Bovik, 2003, Asilomar Conference on Signals, Systems and Computers. The images are of Float64, Float32, Float16 or
    UInt8, and in the last size as large as a window: ValueError.
    """

    _dtypes = (F64, F32, F16, U8)

    def __init__(self, max_val: float = 1.0, power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333), filter_size: int = 11,
                 filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03):
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        if not isinstance(power_factors, (tuple, list)) or not power_factors:
            raise TypeError("For 'MSSSIM', the argument 'power_factors' must be a tuple or list with at least one number, "
                            f"but got {power_factors!r}.")
        self.power_factors = tuple(number(self, "power_factors", power) for power in power_factors)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        one, other = self._images(img1, img2)
        halvings = len(self.power_factors) - 1
        if min(one.shape[2:]) >> halvings < self.filter_size:
            raise ValueError(f"For 'MSSSIM', the arguments 'img1' and 'img2' must be at least as high and as wide as 'filter_size', "
                             f"{self.filter_size}, times 2^{halvings}, but got {one.shape}.")
        product: Any = 1.0
        for size, power in enumerate(self.power_factors):
            whole, contrast = self._likeness(one, other)
            product = product * relu(whole if size == halvings else contrast) ** power
            if size < halvings:
                one, other = avg_pool2d(one, 2, 2), avg_pool2d(other, 2, 2)
        return reduction.mean(product, -1)
