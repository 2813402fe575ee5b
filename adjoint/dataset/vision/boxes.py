"""Transforms of an image together with the bounding boxes of what it shows.

Boxes are float32[n, 4 or more]: x and y of the upper left corner, width and height, and further numbers, which stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from adjoint.dataset.streams import Draws, draws
from adjoint.dataset.transforms.operation import Operation
from adjoint.dataset.transforms.transforms import Compose, called
from adjoint.dataset.vision.crops import RandomCrop, RandomResize, RandomResizedCrop, Resize, cut, random_box, scaled
from adjoint.dataset.vision.geometry import HorizontalFlip, VerticalFlip
from adjoint.dataset.vision.image import ImageOperation, check_image, check_probability
from adjoint.dataset.vision.modes import Border, Inter

__all__ = [
    "BoundingBoxAugment", "RandomCropWithBBox", "RandomHorizontalFlipWithBBox", "RandomResizeWithBBox", "RandomResizedCropWithBBox",
    "RandomVerticalFlipWithBBox", "ResizeWithBBox",
]

Array = np.ndarray[Any, Any]


class _Boxed(Operation):
    """Base class of transforms of two columns: an image, [height, width] or [height, width, channels], and its boxes.

    RuntimeError for boxes of another dtype or shape, and for one that is not inside of the image.
    """

    def __call__(self, *columns: Any) -> Any:
        name = type(self).__name__
        if len(columns) != 2:
            raise RuntimeError(f"{name}: invalid input, size of input data should be 2 (including image and bounding box), but got: "
                               f"{len(columns)}")
        array, boxes = np.asarray(columns[0]), np.asarray(columns[1])
        check_image(array, name, most=3)
        _check_boxes(boxes, array, name)
        return self.on_both(array, boxes.copy())

    def on_both(self, array: Array, boxes: Array) -> tuple[Array, Array]:
        """Return the image and its boxes; those that are given may be changed."""
        raise NotImplementedError


def _check_boxes(boxes: Array, array: Array, name: str) -> None:
    if boxes.dtype != np.float32:
        raise RuntimeError(f"{name}: bounding boxes must be float32, but got {boxes.dtype}. 'TypeCast' changes it.")
    if boxes.ndim != 2:
        raise RuntimeError(f"{name}: bounding boxes should have to be two-dimensional matrix, but got {boxes.ndim} dimension.")
    if boxes.shape[1] < 4:
        raise RuntimeError(f"{name}: bounding boxes should be have at least 4 features, but got: {boxes.shape[1]}")
    height, width = array.shape[:2]
    for box in boxes[:, :4]:
        if not (box[:2] >= 0).all():
            raise RuntimeError(f"{name}: the coordinates of the bounding boxes has negative value, got: ({box[0]},{box[1]}).")
        right, bottom = box[:2] + box[2:]
        if not (right <= width and bottom <= height):
            raise RuntimeError(f"{name}: bounding boxes is out of bounds of the image, as image width: {width}, bbox width coordinate: "
                               f"{right}, and image height: {height}, bbox height coordinate: {bottom}")


def _cropped(boxes: Array, top: float, left: float, height: float, width: float) -> Array:
    """Return the parts of boxes that lie in a part of the image, without those outside; one that touches it has a size of 0."""
    first, last = boxes[:, :2], boxes[:, :2] + boxes[:, 2:4]
    begin, end = np.array([left, top], np.float32), np.array([left + width, top + height], np.float32)
    kept = ((last >= begin) & (first <= end)).all(1)
    result = boxes[kept]
    corner = np.maximum(first[kept], begin)
    result[:, 2:4] = np.minimum(last[kept], end) - corner
    result[:, :2] = corner - begin
    return result


def _stretched(boxes: Array, before: Sequence[int], after: Sequence[int]) -> Array:
    """Return the boxes of an image whose height and width have changed."""
    down, across = (np.float32(new) / np.float32(old) for new, old in zip(after, before))
    boxes[:, [0, 2]] *= across
    boxes[:, [1, 3]] *= down
    return boxes


class _RandomFlip(_Boxed):
    """Flips an image and its boxes with a probability; `axis` is that of the coordinate in a box, `flip` the operation on the image."""

    random = True
    axis: ClassVar[int]
    flip: ClassVar[type[HorizontalFlip | VerticalFlip]]

    def __init__(self, prob: float = 0.5):
        self.prob = check_probability(prob)

    def on_both(self, array: Array, boxes: Array) -> tuple[Array, Array]:
        if draws().uniform() >= self.prob:
            return array, boxes
        boxes[:, self.axis] = array.shape[1 - self.axis] - (boxes[:, self.axis] + boxes[:, self.axis + 2])
        return self.flip().on_array(array), boxes


class RandomHorizontalFlipWithBBox(_RandomFlip):
    """An image with its columns in reverse order, and its boxes, with a probability."""

    axis, flip = 0, HorizontalFlip


class RandomVerticalFlipWithBBox(_RandomFlip):
    """An image with its rows in reverse order, and its boxes, with a probability."""

    axis, flip = 1, VerticalFlip


class ResizeWithBBox(_Boxed):
    """An image in another size, and its boxes; the arguments are those of Resize."""

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.LINEAR):
        self._resize: Resize | RandomResize = Resize(size, interpolation)

    def on_both(self, array: Array, boxes: Array) -> tuple[Array, Array]:
        result = self._resize.on_array(array)
        return result, _stretched(boxes, array.shape[:2], result.shape[:2])


class RandomResizeWithBBox(ResizeWithBBox):
    """As ResizeWithBBox, with one of the interpolations LINEAR, NEAREST, CUBIC and AREA."""

    random = True

    def __init__(self, size: int | Sequence[int]):
        self._resize = RandomResize(size)


class RandomCropWithBBox(_Boxed):
    """A part of an image at a random place, and what is left of its boxes; those outside of it are dropped.

    The arguments are those of RandomCrop.
    """

    random = True

    def __init__(self, size: int | Sequence[int], padding: Any = None, pad_if_needed: bool = False, fill_value: Any = 0,
                 padding_mode: Border = Border.CONSTANT):
        self._crop = RandomCrop(size, padding, pad_if_needed, fill_value, padding_mode)

    def on_both(self, array: Array, boxes: Array) -> tuple[Array, Array]:
        padded = self._crop.padded(array, 0)
        boxes[:, :2] += self._crop.shift(*array.shape[:2])
        box = self._crop.chosen(padded, draws())
        return cut(padded, box), _cropped(boxes, *box)


class RandomResizedCropWithBBox(_Boxed):
    """A part of an image of a random size, place and proportion, in another size, and what is left of its boxes.

    The arguments are those of RandomResizedCrop.
    """

    random = True

    def __init__(self, size: int | Sequence[int], scale: Sequence[float] = (0.08, 1.0), ratio: Sequence[float] = (3 / 4, 4 / 3),
                 interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10):
        self._crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def on_both(self, array: Array, boxes: Array) -> tuple[Array, Array]:
        crop = self._crop
        height, width = array.shape[:2]
        box = random_box(height, width, crop.scale, crop.ratio, crop.max_attempts, draws())
        part = scaled(cut(array, box), *crop.size, crop.interpolation, type(self).__name__)
        return part, _stretched(_cropped(boxes, *box), box[2:], crop.size)


class BoundingBoxAugment(_Boxed):
    """An image with a transform applied to what is in its boxes, to each with a probability.

    transform  a transform of images; what it returns is resized to the box
    ratio      the probability

    TypeError for a transform that is none of this package's.
    """

    random = True

    def __init__(self, transform: Any, ratio: float = 0.3):
        if not isinstance(transform, (ImageOperation, Compose)):
            raise TypeError(f"Argument transform with value {transform} is not of type [<class 'ImageOperation'>, <class 'Compose'>], but "
                            f"got {type(transform)}.")
        self.transform, self.ratio = transform, check_probability(ratio, "ratio")

    def on_both(self, array: Array, boxes: Array) -> tuple[Array, Array]:
        random, result = draws(), array.copy()
        for left, top, width, height in boxes[:, :4].astype(np.int64).tolist():
            if random.uniform() < self.ratio and width and height:
                place = slice(top, top + height), slice(left, left + width)
                result[place] = self._changed(result[place], random)
        return result, boxes

    def _changed(self, part: Array, random: Draws) -> Array:
        """Return a part of the image after the transform, in its old size."""
        changed = np.asarray(called([self.transform], (part.copy(),), random))
        if changed.shape[2:] != part.shape[2:] or changed.dtype != part.dtype:
            raise RuntimeError(f"BoundingBoxAugment: the transform must keep the dtype and the channels of an image, {part.dtype} of shape "
                               f"{part.shape}, but got {changed.dtype} of shape {changed.shape}.")
        height, width = part.shape[:2]
        return changed if changed.shape == part.shape else scaled(changed, height, width, Inter.LINEAR, "BoundingBoxAugment")
