"""Transforms of pixels' values and of the order of axes: Rescale, Normalize, HWC2CHW, ToTensor, ..."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_interval, check_type
from adjoint.dataset.streams import Draws, draws
from adjoint.dataset.transforms.operation import Keys
from adjoint.dataset.transforms.transforms import TypeCast, as_dtype
from adjoint.dataset.vision.image import ImageOperation
from adjoint.dataset.vision.modes import ImageBatchFormat

__all__ = [
    "CutMixBatch", "HWC2CHW", "LinearTransformation", "MixUp", "MixUpBatch", "Normalize", "NormalizePad", "RandomLighting", "Rescale",
    "ToTensor", "ToType",
]

Array = np.ndarray[Any, Any]


class Rescale(ImageOperation):
    """image * rescale + shift, in Float32, rounded once."""

    gives_picture = False
    pixelwise = True

    def __init__(self, rescale: float, shift: float):
        for name, value in (("rescale", rescale), ("shift", shift)):
            check_type(value, (numbers.Number,), name)
            check_interval(value, -(2**24), 2**24, name)
        self.rescale, self.shift = rescale, shift
        self._table = self._computed(np.arange(256))

    def _computed(self, array: Array) -> Array:
        # The product of two Float32 is exact in Float64.
        return (array.astype(np.float64) * np.float32(self.rescale) + np.float32(self.shift)).astype(np.float32)

    def on_array(self, array: Array) -> Array:
        return self._table[array] if array.dtype == np.uint8 else self._computed(array)

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        return self.on_array(stack) if 3 <= stack.ndim <= 5 and stack.dtype.kind in "biuf" else None


class Normalize(ImageOperation):
    """(image - mean) / std for each channel, in Float32.

    mean, std  a number for each channel, or one for all
    is_hwc     whether channels are the last axis of the image; else they are the first

    RuntimeError for an image with another number of channels.
    """

    gives_picture = False
    pixelwise = True

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True):
        check_type(mean, (list, tuple), "mean")
        check_type(std, (list, tuple), "std")
        if len(mean) != len(std):
            raise ValueError("Length of mean and std must be equal.")
        for index, value in enumerate(mean):
            check_type(value, (int, float), f"mean[{index}]")
            check_interval(value, 0, 255, f"mean[{index}]")
        for index, value in enumerate(std):
            check_type(value, (int, float), f"std[{index}]")
            check_interval(value, 0, 255, f"std[{index}]", above_low=True)
        check_type(is_hwc, (bool,), "is_hwc")
        self.mean, self.std, self.is_hwc = np.array(mean, np.float32), np.array(std, np.float32), is_hwc

    def on_array(self, array: Array) -> Array:
        return self._normalized(array, array.ndim)

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        return self._normalized(stack, stack.ndim - 1) if stack.ndim in (3, 4) and stack.dtype.kind in "biuf" else None

    def _normalized(self, array: Array, rank: int) -> Array:
        """Return the result for images of `rank` dimensions."""
        if rank not in (2, 3):
            raise RuntimeError(f"Normalize: image shape should be <H,W> or <H,W,C>, but got rank: {rank}")
        channels = 1 if rank == 2 else array.shape[-1 if self.is_hwc else -3]
        if len(self.mean) not in (1, channels):
            raise RuntimeError("Normalize: number of channels does not match the size of mean and std vectors, got channels: "
                               f"{channels}, size of mean: {len(self.mean)}")
        mean, std = self.mean, self.std
        result = array.astype(np.float32, "C")
        pixels = result
        if rank == 3 and not self.is_hwc:
            mean, std = mean[:, None, None], std[:, None, None]
        elif rank == 3 and len(mean) > 1:
            # NumPy is quick along the last axis: that is a line of pixels, where the channels alone would be too short.
            pixels = result.reshape(*result.shape[:-2], -1)
            mean, std = np.tile(mean, array.shape[-2]), np.tile(std, array.shape[-2])
        np.subtract(pixels, mean, out=pixels)
        np.divide(pixels, std, out=pixels)
        return result


class NormalizePad(Normalize):
    """As Normalize, with a channel of zeros behind the others, in Float32 or Float16."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], dtype: str = "float32", is_hwc: bool = True):
        super().__init__(mean, std, is_hwc)
        if dtype not in ("float32", "float16"):
            raise ValueError("dtype only supports float32 or float16.")
        self.dtype = np.dtype(dtype)

    def on_array(self, array: Array) -> Array:
        result = super().on_array(array).astype(self.dtype)
        if result.ndim == 2:
            result = result[..., None] if self.is_hwc else result[None]
        axis = 2 if self.is_hwc else 0
        return np.concatenate([result, np.zeros_like(result.take([0], axis))], axis)

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        return None


class HWC2CHW(ImageOperation):
    """The channels first; an image without channels as it is."""

    gives_picture = False
    pixelwise = True

    def on_array(self, array: Array) -> Array:
        if array.ndim == 2:
            return array
        if array.ndim != 3:
            raise RuntimeError(f"HWC2CHW: image shape should be <H,W> or <H,W,C>, but got rank: {array.ndim}")
        return np.ascontiguousarray(array.transpose(2, 0, 1))

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        if stack.ndim == 3:
            return stack
        return np.ascontiguousarray(stack.transpose(0, 3, 1, 2)) if stack.ndim == 4 else None


class ToTensor(ImageOperation):
    """Pixels of uint8 as numbers from 0 to 1, and the channels first.

    output_type  the dtype of the result; it is computed in Float32

    An array of another dtype is divided by 255 too, as MindSpore does; one of a picture is not.
    """

    gives_picture = False
    pixelwise = True

    def __init__(self, output_type: Any = np.float32):
        self.output_type = as_dtype(output_type, "output_type")
        self._table = (np.arange(256).astype(np.float32) * np.float32(1 / 255)).astype(self.output_type)
        self._picture_table = (np.arange(256).astype(np.float32) / np.float32(255)).astype(self.output_type)

    def on_array(self, array: Array) -> Array:
        return self._first(self._scaled(array), array.ndim)

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        return self._first(self._scaled(stack), stack.ndim - 1) if stack.ndim in (3, 4) and stack.dtype.kind in "biuf" else None

    def on_picture(self, picture: Any) -> Any:
        array = np.asarray(picture)
        scaled = self._picture_table[array] if array.dtype == np.uint8 else array.astype(self.output_type)
        return self._first(scaled, array.ndim)

    def _scaled(self, array: Array) -> Array:
        if array.dtype == np.uint8:
            return self._table[array]
        return (array.astype(np.float32) * np.float32(1 / 255)).astype(self.output_type)

    @staticmethod
    def _first(array: Array, rank: int) -> Array:
        if rank == 2:
            return array[..., None, :, :]
        if rank != 3:
            raise RuntimeError(f"ToTensor: image shape should be <H,W> or <H,W,C>, but got rank: {rank}")
        return np.ascontiguousarray(np.moveaxis(array, -1, -3))


class ToType(TypeCast):
    """Elements as another dtype."""

    pixelwise = True


class LinearTransformation(ImageOperation):
    """The pixels as one vector, minus `mean_vector`, times a square matrix; in the shape of the image."""

    def __init__(self, transformation_matrix: Array, mean_vector: Array):
        check_type(transformation_matrix, (np.ndarray,), "transformation_matrix")
        check_type(mean_vector, (np.ndarray,), "mean_vector")
        if transformation_matrix.ndim != 2 or transformation_matrix.shape[0] != transformation_matrix.shape[1]:
            raise ValueError(f"transformation_matrix should be a square matrix, but got the shape {transformation_matrix.shape}.")
        if mean_vector.shape != transformation_matrix.shape[:1]:
            raise ValueError(f"mean_vector length {mean_vector.shape} should match either one dimension of the square "
                             f"transformation_matrix "
                             f"{transformation_matrix.shape}.")
        self.matrix, self.mean = transformation_matrix, mean_vector

    def on_array(self, array: Array) -> Array:
        if array.size != len(self.mean):
            raise ValueError(f"transformation_matrix and input image are not compatible: {len(self.mean)} and {array.size} numbers.")
        return np.dot(array.reshape(1, -1) - self.mean, self.matrix).reshape(array.shape)


class RandomLighting(ImageOperation):
    """Noise along the principal components of ImageNet's colours (Krizhevsky, Sutskever, Hinton, 2012), of standard deviation `alpha`."""

    random = True
    _VECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]], np.float32)
    _VALUES = np.array([0.2175, 0.0188, 0.0045], np.float32)

    def __init__(self, alpha: float = 0.05):
        check_type(alpha, (float, int), "alpha")
        check_interval(alpha, 0, 2**24, "alpha")
        self.alpha = alpha

    def on_array(self, array: Array) -> Array:
        if array.ndim != 3 or array.shape[2] != 3:
            raise RuntimeError(f"RandomLighting: input image should have 3 channels, but got the shape {array.shape}")
        random = draws()
        noise = np.array([random.normal() for _ in range(3)], np.float32) * np.float32(self.alpha)
        result = array.astype(np.float32) + (self._VECTORS * (self._VALUES * noise)).sum(1) * np.float32(255)
        return np.clip(np.rint(result), 0, 255).astype(np.uint8) if array.dtype == np.uint8 else result.astype(array.dtype)


class MixUpBatch(ImageOperation):
    """A batch of images and one-hot labels, each mixed with another one of the batch; the share is drawn from Beta(alpha, alpha)."""

    random = True

    def __init__(self, alpha: float = 1.0):
        check_type(alpha, (int, float), "alpha")
        check_interval(alpha, 0, 2**24, "alpha", above_low=True)
        self.alpha = alpha

    def __call__(self, *columns: Any) -> Any:
        images, labels = map(np.asarray, columns)
        if images.ndim != 4 or labels.ndim < 2 or len(images) != len(labels):
            raise RuntimeError("MixUpBatch: it takes images of shape <N,H,W,C> or <N,C,H,W> and one-hot labels of shape <N,classes>, "
                               "but got "
                               f"{images.shape} and {labels.shape}. Put 'batch' before it and OneHot on the labels.")
        random = draws()
        order = random.order(len(images))
        share = np.float32(random.generator().beta(self.alpha, self.alpha))
        mixed = share * images.astype(np.float32) + (1 - share) * images[order].astype(np.float32)
        mixed_labels = share * labels.astype(np.float32) + (1 - share) * labels[order].astype(np.float32)
        return np.clip(np.rint(mixed), 0, 255).astype(np.uint8) if images.dtype == np.uint8 else mixed, mixed_labels


class CutMixBatch(ImageOperation):
    """A batch of images and one-hot labels; a rectangle of an image is that of another one of the batch, with a probability.

    image_batch_format  the order of the images' axes
    alpha               the rectangle's share of the area is 1 - Beta(alpha, alpha), drawn for each image
    prob                the probability for each image

    The labels, float32[batch, classes] or [batch, rows, classes], are mixed by the shares of the areas.  A rectangle is cut off at the
    border; the last row and column are never in it, as in MindSpore.

    source  Yun, Han, Oh, Chun, Choe, Yoo: CutMix, 2019
    """

    random = True

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0):
        check_type(image_batch_format, (ImageBatchFormat,), "image_batch_format")
        check_type(alpha, (int, float), "alpha")
        check_interval(alpha, 0, 2**24, "alpha", above_low=True)
        check_type(prob, (int, float), "prob")
        check_interval(prob, 0, 1, "prob")
        self.image_batch_format, self.alpha, self.prob = image_batch_format, alpha, prob

    def __call__(self, *columns: Any) -> Any:
        if len(columns) != 2:
            raise RuntimeError(f"CutMixBatch: invalid input size, input should have 2 columns (image and label), but got: {len(columns)}")
        images, labels = map(np.asarray, columns)
        if images.ndim != 4:
            raise RuntimeError(f"CutMixBatch: input image is not in shape of <B,H,W,C> or <B,C,H,W>, but got dimension: {images.ndim}. "
                               f"You may need to perform Batch first.")
        if labels.ndim not in (2, 3):
            raise RuntimeError("CutMixBatch: input label is not in shape of <Batch,Class> or <Batch,Row,Class>, but got dimension: "
                               f"{labels.ndim}. You may need to perform OneHot and Batch first.")
        if len(images) != len(labels):
            raise RuntimeError("CutMixBatch: batch sizes of image and label must be the same, but got image size: "
                               f"{len(images)} and label size: {len(labels)}")
        last = self.image_batch_format is ImageBatchFormat.NHWC
        height, width = images.shape[1:3] if last else images.shape[2:]
        random = draws()
        others, shares = random.order(len(images)), random.generator().beta(self.alpha, self.alpha, len(images))
        result, mixed = images.copy(), labels.astype(np.float32)
        for index, (other, share) in enumerate(zip(others, shares.tolist())):
            if random.uniform() >= self.prob:
                continue
            rows, across = (_span(size, math.sqrt(1 - share), random) for size in (height, width))
            place = (rows, across) if last else (..., rows, across)
            result[index][place] = images[other][place]
            kept = np.float32(1 - (rows.stop - rows.start) * (across.stop - across.start) / (height * width))
            mixed[index] = kept * labels[index].astype(np.float32) + (1 - kept) * labels[other].astype(np.float32)
        return result, mixed


def _span(size: int, share: float, random: Draws) -> slice:
    """Return a part of an axis about a random place; it has an even length unless it is cut off."""
    middle, half = random.integer(0, size - 1), int(size * share) // 2
    return slice(max(0, middle - half), max(0, min(size - 1, middle + half)))


class MixUp(ImageOperation):
    """Batches of images and one-hot labels, each image mixed with the next one of its batch, or with that of the result before.

    batch_size  how many shares are drawn, one for each image, from Beta(alpha, alpha); fewer for a smaller batch.  A single image is mixed
                into as many
    is_single   False: with the images that the call before returned; the first call returns its own
    """

    random = True

    def __init__(self, batch_size: int, alpha: float, is_single: bool = True):
        check_type(batch_size, (int,), "batch_size")
        check_interval(batch_size, 1, 2**31 - 1, "batch_size")
        check_type(alpha, (int, float), "alpha")
        check_interval(alpha, 0, 2**24, "alpha", above_low=True)
        check_type(is_single, (bool,), "is_single")
        self.batch_size, self.alpha, self.is_single = batch_size, alpha, is_single
        self._before: tuple[Any, Any] | None = None

    def __call__(self, *columns: Any) -> Any:
        images, labels = map(np.asarray, columns)
        count = min(self.batch_size, len(images)) if images.ndim == 4 else self.batch_size
        share = draws().generator().beta(self.alpha, self.alpha, count)
        if self.is_single:
            turned = [*range(1, count), 0]
            others = images[turned], labels[turned]
        elif self._before is None:
            share, others = np.ones(count), (0, 0)
        else:
            others = tuple(before[:count] for before in self._before)
        of_images, of_labels = share.reshape(-1, 1, 1, 1), share.reshape(-1, 1)
        mixed = of_images * images + (1 - of_images) * others[0], of_labels * labels + (1 - of_labels) * others[1]
        if not self.is_single:
            self._before = mixed
        return mixed
