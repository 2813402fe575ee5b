"""Base class of image transforms: for arrays of height, width and maybe channels, or pictures of Pillow.

Pillow is loaded when the first picture is used.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_int, check_interval, check_type
from adjoint.dataset.streams import Draws, draws, here
from adjoint.dataset.transforms.operation import StackOperation, as_array
from adjoint.dataset.vision.modes import Inter

__all__ = ["ImageOperation", "as_picture", "check_image", "check_size", "is_picture", "pillow"]

Array = np.ndarray[Any, Any]
LARGEST = 2**24


def pillow(module: str = "Image") -> Any:
    """Return a module of Pillow; raise ImportError with how to install it."""
    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError as missing:
        raise ImportError("This needs Pillow, which is not installed: pip install 'adjoint[data]', or pip install pillow.") from missing


def is_picture(value: Any) -> bool:
    """Return whether a value is a picture of Pillow."""
    loaded = sys.modules.get("PIL.Image")
    return loaded is not None and isinstance(value, loaded.Image)


def as_picture(array: Array) -> Any:
    """Return a picture of an array's pixels: uint8 of height and width, or with a last axis of 1, 3 or 4 channels."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    return pillow().fromarray(np.ascontiguousarray(array))


class ImageOperation(StackOperation):
    """A transform of images.

    Called with several columns, it processes all with the same random choices.
    """

    gives_picture = True
    """Whether the result for a picture is a picture; otherwise it is an array."""

    def __call__(self, *columns: Any) -> Any:
        if len(columns) == 1:
            return self._one(columns[0])
        key = draws().word()
        before, results = here.draws, []
        try:
            for column in columns:
                here.draws = Draws(key)
                results.append(self._one(column))
        finally:
            here.draws = before
        return tuple(results)

    def _one(self, image: Any) -> Any:
        if is_picture(image):
            return self.on_picture(image)
        if not isinstance(image, (np.ndarray, list, tuple)) and not hasattr(image, "__array__"):
            raise TypeError(f"Input should be NumPy or PIL image, got {type(image)}.")
        array = as_array(image, type(self).__name__)
        check_image(array, type(self).__name__)
        return self.on_array(array)

    def on_picture(self, picture: Any) -> Any:
        """Return the result for a picture."""
        array = np.array(picture)
        check_image(array, type(self).__name__)
        result = self.on_array(array)
        return as_picture(result) if self.gives_picture else result


def check_image(array: Array, name: str, least: int = 2, most: int = 4) -> None:
    """Raise RuntimeError for an array that is not an image."""
    if array.dtype.kind not in "biuf":
        raise RuntimeError(f"{name}: the image must hold numbers, but got an array of {array.dtype}.")
    if array.ndim < least:
        raise RuntimeError(f"{name}: the image tensor should have at least two dimensions. You may need to perform Decode first. "
                           f"Got the shape {array.shape}.")
    if array.ndim > most:
        raise RuntimeError(f"{name}: image shape should be <H,W> or <H,W,C>, but got rank: {array.ndim}")


def check_size(size: Any, least: int = 1) -> tuple[int, int]:
    """Height and width of a size that is one int for both, or a pair."""
    check_type(size, (int, list, tuple), "size")
    if isinstance(size, int):
        check_int(size, least, LARGEST, "size")
        return size, size
    if len(size) != 2:
        raise TypeError("Size should be a single integer or a list/tuple (h, w) of length 2.")
    for index, value in enumerate(size):
        check_int(value, least, LARGEST, f"size[{index}]")
    return size[0], size[1]


def check_inter(mode: Any, name: str = "interpolation") -> Inter:
    check_type(mode, (Inter,), name)
    return mode


def check_probability(value: Any, name: str = "prob") -> float:
    check_type(value, (float, int), name)
    check_interval(value, 0.0, 1.0, name)
    return value


def filter_of(mode: Inter) -> Any:
    """Return Pillow's name of an interpolation; raise TypeError for one that it lacks."""
    found = {Inter.NEAREST: "NEAREST", Inter.ANTIALIAS: "LANCZOS", Inter.LINEAR: "BILINEAR", Inter.CUBIC: "BICUBIC"}.get(mode)
    if found is None:
        raise TypeError("Current Interpolation is not supported with PIL input.")
    return getattr(pillow().Resampling, found)
