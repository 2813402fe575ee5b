"""Decode files to images and encode images: Decode, ToPIL, ToNumpy, and functions that read and write them."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_interval, check_type
from adjoint.dataset.transforms.operation import Operation
from adjoint.dataset.vision.image import is_picture, pillow
from adjoint.dataset.vision.modes import ImageReadMode
from adjoint.foundation import files
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "Decode", "ToNumpy", "ToPIL", "decoded", "encode_jpeg", "encode_png", "get_image_num_channels", "get_image_size", "opened",
    "read_file", "read_image", "write_file", "write_jpeg", "write_png",
]

Array = np.ndarray[Any, Any]


def opened(encoded: Any, name: str) -> Any:
    """Return the picture from an encoded file's bytes, uint8; raise RuntimeError if they are not an image."""
    try:
        picture = pillow().open(io.BytesIO(np.ascontiguousarray(encoded).tobytes()))
        picture.load()
        return picture
    except (OSError, ValueError, SyntaxError) as error:
        raise RuntimeError(f"{name}: image decode failed: {error}") from None


def decoded(encoded: Any, name: str) -> Array:
    """Return the pixels of an encoded file, uint8[height, width, 3]."""
    return np.array(opened(encoded, name).convert("RGB"))


class Decode(Operation):
    """Decodes a file's bytes to an image, uint8, with three channels: red, green and blue.

    to_pil  whether it is a picture of Pillow; else an array

    Raise TypeError for what is not a vector of uint8; RuntimeError for bytes that are not an image, ValueError with `to_pil`.
    """

    def __init__(self, to_pil: bool = False):
        check_type(to_pil, (bool,), "to_pil")
        self.to_pil = to_pil

    def __call__(self, *columns: Any) -> Any:
        (value,) = columns
        if isinstance(value, bytes):
            value = np.frombuffer(value, np.uint8)
        if not isinstance(value, np.ndarray) or value.ndim != 1:
            raise TypeError(f"The number of array dimensions of the encoded image should be 1, but got {np.ndim(value)}.")
        if value.dtype.kind == "S":
            value = np.frombuffer(value.tobytes(), np.uint8)
        if value.dtype != np.uint8:
            raise TypeError(f"The data type of the encoded image should be uint8, but got {value.dtype}.")
        if not self.to_pil:
            return decoded(value, "Decode")
        try:
            return opened(value, "Decode").convert("RGB")
        except RuntimeError as error:
            raise ValueError(f"{error}: Failed to decode given image.") from None


class ToPIL(Operation):
    """A picture of Pillow with the pixels of an array, uint8; or the picture itself."""

    def __call__(self, *columns: Any) -> Any:
        (image,) = columns
        if is_picture(image):
            return image
        array = np.asarray(image)
        if array.ndim == 3 and array.shape[2] == 1:
            array = array[..., 0]
        if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (2, 3, 4)):
            raise TypeError(f"The dimension of input image should be 2 or 3, with 1 to 4 channels. Got the shape {array.shape}.")
        if array.ndim == 3 and array.dtype != np.uint8:
            raise TypeError(f"The input image type {array.dtype} is not supported when image shape is [H, W, 2], [H, W, 3] or [H, W, 4].")
        return pillow().fromarray(np.ascontiguousarray(array))


class ToNumpy(Operation):
    """The pixels of a picture, as an array."""

    def __call__(self, *columns: Any) -> Any:
        (image,) = columns
        return np.array(image)


def read_file(filename: str) -> Array:
    """Return the bytes of a file, uint8."""
    check_type(filename, (str,), "filename")
    if not os.path.isfile(filename):
        raise RuntimeError(f"Invalid file path, {filename} does not exist or is not a regular file.")
    with open(filename, "rb") as file:
        return np.frombuffer(file.read(), np.uint8)


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> Array:
    """Return the pixels of an image file, uint8[height, width, channels]."""
    check_type(mode, (ImageReadMode,), "mode")
    picture = opened(read_file(filename), f"read_image: {filename}")
    wanted = {ImageReadMode.GRAYSCALE: "L", ImageReadMode.COLOR: "RGB"}.get(mode)
    array = np.array(picture.convert(wanted) if wanted else picture)
    return array[..., None] if array.ndim == 2 else array


def write_file(filename: str, data: Any) -> None:
    """Write bytes, uint8, to a file."""
    check_type(filename, (str,), "filename")
    files.write_file(filename, [np.asarray(data, np.uint8).tobytes()])


def _encoded(name: str, image: Any, kind: str, **options: Any) -> bytes:
    """Return the bytes of a file of an image, uint8[height, width] or with 1 or 3 channels; raise RuntimeError for another array."""
    array = np.asarray(image)
    if array.dtype != np.uint8:
        raise RuntimeError(f"{name}: the image must be of uint8, but got {array.dtype}.")
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (1,), (3,)) or not array.size:
        raise RuntimeError(f"{name}: the image must be of <H,W>, or <H,W,C> with 1 or 3 channels, but got the shape {array.shape}.")
    stream = io.BytesIO()
    ToPIL()(array).save(stream, kind, **options)
    return stream.getvalue()


def encode_jpeg(image: Any, quality: int = 75) -> Array:
    """Return the bytes of a JPEG file of an image, uint8, of quality 1 to 100.

    image  an array or a tensor, uint8[height, width] or with 1 or 3 channels

    Errors: TypeError for another type of image or quality; RuntimeError for another dtype, shape or quality.
    """
    _check_encoded(image, quality, "quality", 1, 100, "EncodeJpeg")
    return np.frombuffer(_encoded("EncodeJpeg", image, "JPEG", quality=quality), np.uint8).copy()


def encode_png(image: Any, compression_level: int = 6) -> Array:
    """Return the bytes of a PNG file of an image, uint8, compressed at level 0 to 9.

    image  an array or a tensor, uint8[height, width] or with 1 or 3 channels

    Errors: TypeError for another type of image or level; RuntimeError for another dtype, shape or level.
    """
    _check_encoded(image, compression_level, "compression_level", 0, 9, "EncodePng")
    return np.frombuffer(_encoded("EncodePng", image, "PNG", compress_level=compression_level), np.uint8).copy()


def _check_encoded(image: Any, number: Any, name: str, low: int, high: int, operator: str) -> None:
    if not isinstance(number, int):
        raise TypeError(f"Input {name} is not of type {int}, but got: {type(number)}.")
    if not isinstance(image, (np.ndarray, Tensor)):
        raise TypeError(f"Input image is not of type {np.ndarray} or {Tensor}, but got: {type(image)}.")
    if not low <= number <= high:
        raise RuntimeError(f"{operator}: Invalid {name} {number}, should be in range of [{low}, {high}].")


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Write an image, uint8, as a JPEG file of quality 1 to 100."""
    check_interval(quality, 1, 100, "quality")
    files.write_file(filename, [_encoded("write_jpeg", image, "JPEG", quality=quality)])


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Write an image, uint8, as a PNG file, compressed at level 0 to 9."""
    check_interval(compression_level, 0, 9, "compression_level")
    files.write_file(filename, [_encoded("write_png", image, "PNG", compress_level=compression_level)])


def get_image_size(image: Any) -> list[int]:
    """Height and width of an image."""
    return [image.height, image.width] if is_picture(image) else list(np.asarray(image).shape[:2])


def get_image_num_channels(image: Any) -> int:
    """Return the number of channels of an image."""
    if is_picture(image):
        return len(image.getbands())
    array = np.asarray(image)
    return 1 if array.ndim == 2 else array.shape[2]
