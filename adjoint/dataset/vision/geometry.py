"""Mirror images, rotations and other maps of the plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_interval, check_number, check_pair, check_type
from adjoint.dataset.streams import draws, uniform_of
from adjoint.dataset.transforms.operation import Keys
from adjoint.dataset.vision.crops import check_fill
from adjoint.dataset.vision.image import ImageOperation, check_inter, check_probability
from adjoint.dataset.vision.modes import Inter
from adjoint.dataset.vision.remapping import check_remapped, remapped

__all__ = [
    "Affine", "HorizontalFlip", "RandomAffine", "RandomHorizontalFlip", "RandomRotation", "RandomVerticalFlip", "Rotate",
    "VerticalFlip",
]

Array = np.ndarray[Any, Any]


class _Flip(ImageOperation):
    """The mirror image along an axis of an image, counted from the front: its rows or its columns."""

    axis = 0

    def on_array(self, array: Array) -> Array:
        return _mirrored(array, self.axis + (array.ndim == 4))

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        return _mirrored(stack, self.axis + 1) if stack.ndim in (3, 4) else None


def _mirrored(array: Array, axis: int) -> Array:
    """Return the array in reverse order along an axis, in memory of its own."""
    if axis == array.ndim - 2 and array.flags.c_contiguous and array.size:
        # NumPy copies the channels of a pixel in a loop of their own, but a pixel that is one item in one go.
        pixels = array.view(f"V{array.shape[-1] * array.itemsize}")
        return np.ascontiguousarray(pixels[..., ::-1, :]).view(array.dtype)
    return np.flip(array, axis).copy()


class VerticalFlip(_Flip):
    """An image with its rows in reverse order."""

    axis = 0


class HorizontalFlip(_Flip):
    """An image with its columns in reverse order."""

    axis = 1


class _RandomFlip(_Flip):
    random = True

    def __init__(self, prob: float = 0.5):
        self.prob = check_probability(prob)

    def on_array(self, array: Array) -> Array:
        return super().on_array(array) if draws().uniform() < self.prob else array

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        if stack.ndim not in (3, 4):
            return None
        flipped = np.flatnonzero(uniform_of(keys()) < self.prob)
        result = stack.copy()
        result[flipped] = _mirrored(stack[flipped], self.axis + 1)
        return result


class RandomVerticalFlip(_RandomFlip):
    """An image with its rows in reverse order, with a probability."""

    axis = 0


class RandomHorizontalFlip(_RandomFlip):
    """An image with its columns in reverse order, with a probability."""

    axis = 1


def warped(image: Array, matrix: Array, height: int, width: int, mode: Inter, fill: Sequence[int]) -> Array:
    """Return an image under an affine map of the plane, of a new size.

    matrix  [2, 3], takes (x, y, 1) of the image to a position in the result
    mode    NEAREST, LINEAR, CUBIC or AREA
    fill    the colour outside of the image

    The arithmetic is that of OpenCV's `warpAffine`: positions are added with 10 fractional bits.
    """
    full = np.vstack([matrix, [0, 0, 1]])
    inverse = np.linalg.inv(full)[:2]
    x, y = np.arange(width), np.arange(height)[:, None]
    half, dropped = (512, 10) if mode is Inter.NEAREST else (16, 5)
    columns, rows = (np.rint((row[1] * y + row[2]) * 1024).astype(np.int64) + half + np.rint(row[0] * x * 1024).astype(np.int64) >> dropped
                     for row in inverse)
    return remapped(image, columns, rows, mode, fill)


def rotation(angle: float, centre: tuple[float, float]) -> Array:
    """Return the map that rotates the plane by an angle in degrees, counter-clockwise, about a centre (x, y)."""
    radians = math.radians(angle)
    cosine, sine = math.cos(radians), math.sin(radians)
    x, y = centre
    return np.array([[cosine, sine, (1 - cosine) * x - sine * y], [-sine, cosine, sine * x + (1 - cosine) * y]])


def rotated(image: Array, angle: float, mode: Inter, expand: bool, centre: tuple[float, float] | None, fill: Sequence[int]) -> Array:
    """Return an image rotated by an angle in degrees, counter-clockwise."""
    height, width = image.shape[:2]
    middle = centre if centre is not None else ((width - 1) / 2, (height - 1) / 2)
    matrix = rotation(angle, middle)
    high, wide = height, width
    if expand:
        cosine, sine = abs(matrix[0, 0]), abs(matrix[0, 1])
        across, down = width * cosine + height * sine, width * sine + height * cosine
        matrix[:, 2] += (across - width) / 2, (down - height) / 2
        high, wide = round(down), round(across)
    return warped(image, matrix, high, wide, mode, fill)


def _check_centre(centre: Any) -> tuple[float, float] | None:
    if centre is None:
        return None
    check_type(centre, (tuple,), "center")
    if len(centre) != 2:
        raise ValueError("center should be a 2-tuple.")
    for value in centre:
        check_number(value, -(2**24), 2**24, "center")
    return centre


class Rotate(ImageOperation):
    """Rotates an image counter-clockwise by an angle in degrees.

    resample    how pixels are interpolated: NEAREST, BILINEAR, BICUBIC or AREA
    expand      whether the result is large enough for the whole rotated image
    center      (x, y) of the centre; default: the middle
    fill_value  the colour of the corners
    """

    def __init__(self, degrees: float, resample: Inter = Inter.NEAREST, expand: bool = False, center: Any = None, fill_value: Any = 0):
        check_type(degrees, (int, float), "degrees")
        check_type(expand, (bool,), "expand")
        self.degrees, self.expand = degrees, expand
        self.resample, self.centre, self.colour = check_inter(resample, "resample"), _check_centre(center), check_fill(fill_value)

    def on_array(self, array: Array) -> Array:
        check_remapped(self.resample, "Rotate")
        return rotated(array, self.degrees, self.resample, self.expand, self.centre, self.colour)


class RandomRotation(ImageOperation):
    """Rotates an image by a random angle: from a range, or from -degrees to degrees."""

    random = True

    def __init__(self, degrees: Any, resample: Inter = Inter.NEAREST, expand: bool = False, center: Any = None, fill_value: Any = 0):
        self.degrees = _degrees(degrees)
        check_type(expand, (bool,), "expand")
        self.expand = expand
        self.resample, self.centre, self.colour = check_inter(resample, "resample"), _check_centre(center), check_fill(fill_value)

    def on_array(self, array: Array) -> Array:
        check_remapped(self.resample, "RandomRotation")
        return rotated(array, draws().uniform(*self.degrees), self.resample, self.expand, self.centre, self.colour)


def _degrees(degrees: Any) -> tuple[float, float]:
    check_type(degrees, (int, float, list, tuple), "degrees")
    if isinstance(degrees, (int, float)):
        check_interval(degrees, 0, 2**24, "degrees")
        return -degrees, degrees
    check_pair(degrees, -(2**24), 2**24, "degrees")
    return degrees[0], degrees[1]


def affine(angle: float, centre: tuple[float, float], shift: tuple[float, float], scale: float, shear: tuple[float, float]) -> Array:
    """Return the map that shears (degrees along x and y), rotates clockwise, scales about a centre, and then shifts."""
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -math.cos(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -math.sin(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(turn)
    linear = np.array([[a, b], [c, d]]) * scale
    middle = np.array(centre)
    return np.hstack([linear, (middle + shift - linear @ middle)[:, None]])


def _shears(shear: Any) -> tuple[float, float]:
    check_type(shear, (int, float, list, tuple), "shear")
    if isinstance(shear, (int, float)):
        return shear, 0.0
    if len(shear) != 2:
        raise TypeError("The length of shear should be 2.")
    return shear[0], shear[1]


class Affine(ImageOperation):
    """Rotates an image clockwise, shifts it by shares of its width and height, scales and shears it."""

    def __init__(self, degrees: float, translate: Sequence[float], scale: float, shear: Any, resample: Inter = Inter.NEAREST,
                 fill_value: Any = 0):
        check_type(degrees, (int, float), "degrees")
        check_type(translate, (list, tuple), "translate")
        if len(translate) != 2:
            raise TypeError("The length of translate should be 2.")
        for index, value in enumerate(translate):
            check_number(value, -1.0, 1.0, f"translate[{index}]")
        check_type(scale, (int, float), "scale")
        check_interval(scale, 0, 2**24, "scale", above_low=True)
        self.degrees, self.translate, self.scale, self.shear = degrees, tuple(translate), scale, _shears(shear)
        self.resample, self.colour = check_inter(resample, "resample"), check_fill(fill_value)

    def on_array(self, array: Array) -> Array:
        check_remapped(self.resample, "Affine")
        height, width = array.shape[:2]
        matrix = affine(self.degrees, ((width - 1) / 2, (height - 1) / 2), (self.translate[0] * width, self.translate[1] * height),
                        self.scale,
                        self.shear)
        return warped(array, matrix, height, width, self.resample, self.colour)


class RandomAffine(ImageOperation):
    """Rotates, shifts, scales and shears an image at random.

    degrees    a range of angles, or the greatest
    translate  the greatest shift as a share of width and height, or ranges of both
    scale      a range of factors
    shear      the greatest angle along x, a range of it, or ranges along x and y
    """

    random = True

    def __init__(self, degrees: Any, translate: Any = None, scale: Any = None, shear: Any = None, resample: Inter = Inter.NEAREST,
                 fill_value: Any = 0):
        self.degrees = _degrees(degrees)
        self.translate = (0.0,) * 4
        if translate is not None:
            check_type(translate, (list, tuple), "translate")
            if len(translate) not in (2, 4):
                raise TypeError("translate should be a list or tuple of length 2 or 4.")
            for index, value in enumerate(translate):
                check_number(value, -1.0, 1.0, f"translate[{index}]")
            # Two numbers are a range along x alone, as in MindSpore.
            self.translate = (*translate, 0.0, 0.0) if len(translate) == 2 else tuple(translate)
        if scale is not None:
            check_pair(scale, 0, 2**24, "scale")
        self.scale = (1.0, 1.0) if scale is None else tuple(scale)
        self.shear = (0.0,) * 4
        if shear is not None:
            check_type(shear, (int, float, list, tuple), "shear")
            if isinstance(shear, (int, float)):
                check_interval(shear, 0, 2**24, "shear", above_low=True)
                self.shear = (-shear, shear, 0.0, 0.0)
            elif len(shear) not in (2, 4):
                raise TypeError("shear must be of length 2 or 4.")
            else:
                self.shear = (*shear, 0.0, 0.0) if len(shear) == 2 else tuple(shear)
        self.resample, self.colour = check_inter(resample, "resample"), check_fill(fill_value)

    def on_array(self, array: Array) -> Array:
        check_remapped(self.resample, "RandomAffine")
        random, (height, width) = draws(), array.shape[:2]
        angle = random.uniform(*self.degrees)
        x, y = (random.uniform(*sorted(span)) for span in (self.translate[:2], self.translate[2:]))
        scale = random.uniform(*self.scale)
        shear = random.uniform(*self.shear[:2]), random.uniform(*self.shear[2:])
        matrix = affine(angle, ((width - 1) / 2, (height - 1) / 2), (x * width, y * height), scale, shear)
        return warped(array, matrix, height, width, self.resample, self.colour)
