"""Maps of the plane that take four points to four others: Perspective and RandomPerspective.

Arrays are processed with the arithmetic of OpenCV's `warpPerspective`, which MindSpore uses; pictures with Pillow's `transform`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, check_interval, check_type
from adjoint.dataset.streams import Draws, draws
from adjoint.dataset.vision.image import ImageOperation, check_inter, filter_of, is_picture, pillow
from adjoint.dataset.vision.modes import Inter
from adjoint.dataset.vision.remapping import remapped

__all__ = ["Perspective", "RandomPerspective"]

Array = np.ndarray[Any, Any]
Points = Sequence[Sequence[int]]


def projection(points: Points, images: Points) -> Array:
    """Return the map that takes four points (x, y) to four others: [3, 3], with 1 as its last entry.

    It takes (x, y, 1) to a multiple of (u, v, 1).  A map that does not exist, since three of the points lie on a line, is all zeros.
    """
    equations = [(x, y, 1, 0, 0, 0, -x * u, -y * u) for (x, y), (u, _) in zip(points, images)]
    equations += [(0, 0, 0, x, y, 1, -x * v, -y * v) for (x, y), (_, v) in zip(points, images)]
    wanted = [u for u, _ in images] + [v for _, v in images]
    try:
        return np.append(np.linalg.solve(np.array(equations, np.float64), np.array(wanted, np.float64)), 1.0).reshape(3, 3)
    except np.linalg.LinAlgError:
        return np.zeros((3, 3))


def projected(image: Array, matrix: Array, mode: Inter) -> Array:
    """Return an image under a projection of the plane, of the same size and black outside."""
    height, width = image.shape[:2]
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        inverse = np.zeros((3, 3))
    x, y = np.arange(width), np.arange(height)[:, None]
    across, down, scale = (row[0] * x + row[1] * y + row[2] for row in inverse)
    with np.errstate(divide="ignore"):
        scale = np.where(scale == 0, 0.0, (1.0 if mode is Inter.NEAREST else 32.0) / scale)
    columns, rows = (np.rint(np.clip(places * scale, -INT32_MAX - 1, INT32_MAX)).astype(np.int64) for places in (across, down))
    return remapped(image, columns, rows, mode, (0,))


def _check_points(points: Any, name: str) -> None:
    check_type(points, (list, tuple), name)
    if len(points) != 4:
        raise TypeError(f"{name} should be a list or tuple of length 4.")
    for index, point in enumerate(points):
        check_type(point, (list, tuple), f"{name}[{index}]")
        if len(point) != 2:
            raise TypeError(f"{name}[{index}] should be a list or tuple of length 2.")
        for axis, value in enumerate(point):
            check_type(value, (int,), f"{name}[{index}][{axis}]")
            check_interval(value, -INT32_MAX - 1, INT32_MAX, f"{name}[{index}][{axis}]")


class Perspective(ImageOperation):
    """An image as it is seen from elsewhere: four points of it (x, y) come to lie at four others; black outside.

    start_points, end_points  four points each, of ints, often the corners from the upper left clockwise
    interpolation             how pixels are interpolated; for pictures NEAREST, BILINEAR or BICUBIC

    Errors: TypeError and ValueError for what is not four points; TypeError for Inter.ANTIALIAS with an array.
    """

    def __init__(self, start_points: Points, end_points: Points, interpolation: Inter = Inter.BILINEAR):
        _check_points(start_points, "start_points")
        _check_points(end_points, "end_points")
        self.start_points, self.end_points = start_points, end_points
        self.interpolation = check_inter(interpolation)

    def on_array(self, array: Array) -> Array:
        if array.ndim not in (2, 3):
            raise RuntimeError(f"Perspective: the dimension of image tensor should be 2 or 3, <H,W> or <H,W,C>, but got {array.ndim}.")
        if self.interpolation is Inter.ANTIALIAS:
            raise TypeError(f"img should be PIL image. Got {type(array)}. Use Decode() for encoded data or ToPIL() for decoded data.")
        if array.dtype not in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
            raise RuntimeError("Perspective: the image must be of uint8, uint16, int16, float32 or float64, but got "
                               f"{array.dtype}. 'TypeCast' or 'ToType' changes it.")
        # PILCUBIC is computed as LINEAR, as MindSpore does.
        mode = Inter.LINEAR if self.interpolation is Inter.PILCUBIC else self.interpolation
        return projected(array, projection(self.start_points, self.end_points), mode)

    def on_picture(self, picture: Any) -> Any:
        return _seen(picture, self.start_points, self.end_points, filter_of(self.interpolation))


def _seen(picture: Any, points: Points, images: Points, method: Any) -> Any:
    """Return a picture under the projection that takes points to their images."""
    backwards = projection(images, points).ravel()[:8].tolist()
    return picture.transform(picture.size, pillow().Transform.PERSPECTIVE, backwards, method)


class RandomPerspective(ImageOperation):
    """A picture as it is seen from a random place, with a probability.

    distortion_scale  0 to 1: how far the corners may move, as a share of half the width and height

    ValueError for what is not a picture.
    """

    random = True

    def __init__(self, distortion_scale: float = 0.5, prob: float = 0.5, interpolation: Inter = Inter.BICUBIC):
        for name, value in (("distortion_scale", distortion_scale), ("prob", prob)):
            check_type(value, (float,), name)
            check_interval(value, 0.0, 1.0, name)
        self.distortion_scale, self.prob, self.interpolation = distortion_scale, prob, check_inter(interpolation)

    def _one(self, image: Any) -> Any:
        if not is_picture(image):
            raise ValueError("Input image should be a Pillow image.")
        random = draws()
        if random.uniform() >= self.prob:
            return image
        corners = [(0, 0), (image.width - 1, 0), (image.width - 1, image.height - 1), (0, image.height - 1)]
        return _seen(image, corners, [self._moved(corner, image, random) for corner in corners], filter_of(self.interpolation))

    def _moved(self, corner: tuple[int, int], picture: Any, random: Draws) -> list[int]:
        """Return a corner moved towards the middle, a whole number of pixels along each axis."""
        moved = []
        for place, size in zip(corner, picture.size):
            step = random.integer(0, int(self.distortion_scale * (size // 2)))
            moved.append(place - step if place else step)
        return moved
