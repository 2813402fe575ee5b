"""Crops, pads and resizes images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, check_int, check_pair, check_type
from adjoint.dataset.streams import Draws, draws, integers_of
from adjoint.dataset.transforms.operation import Keys
from adjoint.dataset.vision.decoding import decoded
from adjoint.dataset.vision.image import (
    ImageOperation,
    as_picture,
    check_image,
    check_inter,
    check_probability,
    check_size,
    filter_of,
    is_picture,
    pillow,
)
from adjoint.dataset.vision.modes import Border, Inter, SliceMode
from adjoint.dataset.vision.resizing import resized

__all__ = [
    "CenterCrop", "Crop", "CutOut", "Erase", "FiveCrop", "Pad", "PadToSize", "RandomCrop", "RandomCropDecodeResize", "RandomErasing",
    "RandomResize", "RandomResizedCrop", "Resize", "ResizedCrop", "SlicePatches", "TenCrop",
]

Array = np.ndarray[Any, Any]
Box = tuple[int, int, int, int]
"""top, left, height, width"""


def scaled(array: Array, height: int, width: int, mode: Inter, name: str, channels: bool | None = None) -> Array:
    """Return an image in another size, or images of which `channels` says whether they have some."""
    if array.dtype.kind not in "uf" or (array.dtype.kind == "u" and array.dtype != np.uint8):
        raise RuntimeError(f"{name}: the image must be of uint8 or of a float dtype, but got {array.dtype}. 'TypeCast' or 'ToType' "
                           f"changes it.")
    if mode is Inter.ANTIALIAS:
        raise TypeError("img should be PIL image. Got <class 'numpy.ndarray'>. Use Decode() for encoded data or ToPIL() for decoded data.")
    if mode is Inter.PILCUBIC:
        if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8:
            raise RuntimeError(f"{name}: Interpolation mode PILCUBIC only supports image with 3 channels of uint8, but got: "
                               f"<{','.join(map(str, array.shape))}> of {array.dtype}")
        return np.array(as_picture(array).resize((width, height), filter_of(Inter.CUBIC)))
    working = array.astype(np.float32) if array.dtype == np.float16 else array
    return resized(working, height, width, mode, array.ndim > 2 if channels is None else channels).astype(array.dtype)


class Resize(ImageOperation):
    """An image in another size.

    size           height and width, or the shorter side of the result, whose proportions stay
    interpolation  Inter.LINEAR, NEAREST, CUBIC, AREA; for pictures LINEAR, NEAREST, CUBIC, ANTIALIAS, as Pillow does them
    """

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.LINEAR):
        if not isinstance(size, (int, list, tuple)):
            raise TypeError("Size should be a single integer or a list/tuple (h, w) of length 2.")
        check_size(size)
        self.size, self.interpolation = size, check_inter(interpolation)

    def _wanted(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.size, int):
            return self.size[0], self.size[1]
        if height < width:
            return self.size, int(self.size * width / height)
        return int(self.size * height / width), self.size

    def on_array(self, array: Array) -> Array:
        return _per_image(array, lambda image: scaled(image, *self._wanted(*image.shape[:2]), self.interpolation, "Resize"))

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        if stack.ndim not in (3, 4) or self.interpolation in (Inter.PILCUBIC, Inter.ANTIALIAS):
            return None
        return scaled(stack, *self._wanted(*stack.shape[1:3]), self.interpolation, "Resize", stack.ndim == 4)

    def on_picture(self, picture: Any) -> Any:
        height, width = self._wanted(picture.height, picture.width)
        return picture.resize((width, height), filter_of(self.interpolation))


def _per_image(array: Array, function: Any) -> Array:
    """Return a function of an image that is applied to each image of an array of four dimensions."""
    return np.stack([function(image) for image in array]) if array.ndim == 4 else function(array)


class RandomResize(ImageOperation):
    """As Resize, with one of the interpolations LINEAR, NEAREST, CUBIC and AREA."""

    random = True

    def __init__(self, size: int | Sequence[int]):
        check_size(size)
        self._choices = [Resize(size, mode) for mode in (Inter.LINEAR, Inter.NEAREST, Inter.CUBIC, Inter.AREA)]

    def on_array(self, array: Array) -> Array:
        return self._choices[draws().integer(0, 3)].on_array(array)


def cut(array: Array, box: Box) -> Array:
    """Return a part of an image, or of an array of images with four dimensions."""
    top, left, height, width = box
    if array.ndim == 4:
        return array[:, top : top + height, left : left + width].copy()
    return array[top : top + height, left : left + width].copy()


def _parts(images: Array, tops: Array, lefts: Array, height: int, width: int) -> Array:
    """Return a part of each image of a contiguous array, all of one size, each from its own top and left."""
    count, high, wide = images.shape[:3]
    image, line, pixel = images.strides[:3]
    item = math.prod(images.shape[3:])
    # A view of all possible parts: a line of one is contiguous in memory, as it is copied.
    views = np.lib.stride_tricks.as_strided(images, (count, high - height + 1, wide - width + 1, height, width * item),
                                            (image, line, pixel, line, images.itemsize), writeable=False)
    return views[np.arange(count), tops, lefts].reshape(count, height, width, *images.shape[3:])


class CenterCrop(ImageOperation):
    """The centre of an image, of a height and width; a smaller image is padded with zeros."""

    def __init__(self, size: int | Sequence[int]):
        self.size = check_size(size)

    def on_array(self, array: Array) -> Array:
        return self._middle(array, 1 if array.ndim == 4 else 0)

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        return self._middle(stack, 1) if stack.ndim in (3, 4) else None

    def _middle(self, array: Array, axis: int) -> Array:
        """Return the middle along two axes, the first of them given."""
        (height, width), wanted = array.shape[axis : axis + 2], self.size
        down, across = max(0, wanted[0] - height), max(0, wanted[1] - width)
        if down or across:
            around = [(down - down // 2, down // 2), (across - across // 2, across // 2)]
            array = np.pad(array, [(0, 0)] * axis + around + [(0, 0)] * (array.ndim - axis - 2))
        top, left = (max(0, size - part) // 2 for size, part in zip((height, width), wanted))
        return array[(slice(None),) * axis + (slice(top, top + wanted[0]), slice(left, left + wanted[1]))].copy()

    def on_picture(self, picture: Any) -> Any:
        height, width = self.size
        top, left = round((picture.height - height) / 2), round((picture.width - width) / 2)
        return picture.crop((left, top, left + width, top + height))


class Crop(ImageOperation):
    """The part of an image at coordinates (top, left) of a height and width; raise RuntimeError if it is not inside."""

    def __init__(self, coordinates: Sequence[int], size: int | Sequence[int]):
        check_type(coordinates, (list, tuple), "coordinates")
        if len(coordinates) != 2:
            raise TypeError("Coordinates should be a list/tuple (y, x) of length 2.")
        for index, value in enumerate(coordinates):
            check_int(value, 0, INT32_MAX, f"coordinates[{index}]")
        self.coordinates, self.size = (coordinates[0], coordinates[1]), check_size(size)

    def on_array(self, array: Array) -> Array:
        axis = 1 if array.ndim == 4 else 0
        for name, start, size, present in zip(("height", "width"), self.coordinates, self.size, array.shape[axis : axis + 2]):
            if start + size > present:
                raise RuntimeError(f"Crop: Crop {name} dimension: {start + size} exceeds image {name}: {present}")
        return cut(array, (*self.coordinates, *self.size))


class ResizedCrop(ImageOperation):
    """A part of an image in another size."""

    def __init__(self, top: int, left: int, height: int, width: int, size: int | Sequence[int], interpolation: Inter = Inter.BILINEAR):
        self._crop = Crop((top, left), (height, width))
        self._resize = Resize(check_size(size), interpolation)

    def on_array(self, array: Array) -> Array:
        return self._resize.on_array(self._crop.on_array(array))


def parse_padding(padding: Any) -> Box:
    """Left, top, right and bottom of a padding: one int for all, a pair for both sides of each axis, or four."""
    check_type(padding, (int, tuple, list), "padding")
    if isinstance(padding, int):
        check_int(padding, 0, INT32_MAX, "padding")
        return padding, padding, padding, padding
    if len(padding) not in (2, 4):
        raise ValueError("The size of the padding list or tuple should be 2 or 4.")
    for index, value in enumerate(padding):
        check_int(value, 0, INT32_MAX, f"padding[{index}]")
    left, top, *rest = padding
    return (left, top, *rest) if rest else (left, top, left, top)


def check_fill(value: Any) -> tuple[int, int, int]:
    """Return a colour, red, green, blue: three numbers from 0 to 255, or one for all."""
    check_type(value, (int, tuple), "fill_value")
    colour = value if isinstance(value, tuple) else (value, value, value)
    if len(colour) != 3:
        raise TypeError("fill_value should be a single integer or a 3-tuple.")
    for part in colour:
        check_int(part, 0, 255, "fill_value")
    return colour


def _around(array: Array, sides: Box, colour: tuple[int, ...], border: Border, axis: int = 0) -> Array:
    """Return a padded image; the axis of its height comes first, or second in an array of images."""
    left, top, right, bottom = sides
    pads = [(0, 0)] * axis + [(top, bottom), (left, right)] + [(0, 0)] * (array.ndim - axis - 2)
    if border is not Border.CONSTANT:
        mode: Any = border.value  # NumPy's names are the same
        return np.pad(array, pads, mode)
    shape = [size + before + after for size, (before, after) in zip(array.shape, pads)]
    channels = array.shape[-1] if array.ndim > axis + 2 else 1
    colours = colour[:channels] if channels in (1, 3) else colour[:1]
    if len(set(colours)) == 1:
        result = np.full(shape, colours[0], array.dtype) if colours[0] else np.zeros(shape, array.dtype)
    else:
        result = np.empty(shape, array.dtype)
        result[...] = np.array(colours, array.dtype)
    result[tuple(slice(before, size - after) for size, (before, after) in zip(shape, pads))] = array
    return result


class Pad(ImageOperation):
    """Pads an image.

    padding       its width: for all sides, for left and right and for top and bottom, or for left, top, right, bottom
    fill_value    the colour of a constant rim
    padding_mode  what the rim holds
    """

    def __init__(self, padding: Any, fill_value: Any = 0, padding_mode: Border = Border.CONSTANT):
        self.sides, self.colour = parse_padding(padding), check_fill(fill_value)
        check_type(padding_mode, (Border,), "padding_mode")
        self.border = padding_mode

    def on_array(self, array: Array) -> Array:
        return _around(array, self.sides, self.colour, self.border, 1 if array.ndim == 4 else 0)

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        return _around(stack, self.sides, self.colour, self.border, 1) if stack.ndim in (3, 4) else None


class PadToSize(ImageOperation):
    """Pads an image to `size`; the image is in the middle, or at `offset` from the top and the left."""

    def __init__(self, size: int | Sequence[int], offset: Any = None, fill_value: Any = 0, padding_mode: Border = Border.CONSTANT):
        self.size, self.colour = check_size(size), check_fill(fill_value)
        self.offset = None if offset is None or (isinstance(offset, (list, tuple)) and not offset) else offset
        if self.offset is not None:
            check_type(self.offset, (int, list, tuple), "offset")
            self.offset = (self.offset, self.offset) if isinstance(self.offset, int) else tuple(self.offset)
            if len(self.offset) != 2:
                raise ValueError("The offset must be empty or a sequence of length 2.")
            for value in self.offset:
                check_int(value, 0, INT32_MAX, "offset")
        check_type(padding_mode, (Border,), "padding_mode")
        self.border = padding_mode

    def on_array(self, array: Array) -> Array:
        axis = 1 if array.ndim == 4 else 0
        missing = [wanted - present for wanted, present in zip(self.size, array.shape[axis : axis + 2])]
        first = self.offset if self.offset is not None else (missing[0] // 2, missing[1] // 2)
        if min(missing) < 0 or any(start > rest for start, rest in zip(first, missing)):
            raise RuntimeError(f"PadToSize: the image of {array.shape[axis]} x {array.shape[axis + 1]} pixels does not fit into the size "
                               f"{self.size[0]} x {self.size[1]} at the offset {tuple(first)}.")
        top, left = first
        return _around(array, (left, top, missing[1] - left, missing[0] - top), self.colour, self.border, axis)


class RandomCrop(ImageOperation):
    """A part of an image of a height and width, at a random place.

    padding        how much to pad the image first
    pad_if_needed  whether a smaller image is padded; else it raises RuntimeError
    """

    random = True

    def __init__(self, size: int | Sequence[int], padding: Any = None, pad_if_needed: bool = False, fill_value: Any = 0,
                 padding_mode: Border = Border.CONSTANT):
        self.size = check_size(size)
        self.sides = None if padding is None else parse_padding(padding)
        check_type(pad_if_needed, (bool,), "pad_if_needed")
        check_type(padding_mode, (Border,), "padding_mode")
        self.pad_if_needed, self.colour, self.border = pad_if_needed, check_fill(fill_value), padding_mode

    def on_array(self, array: Array) -> Array:
        padded = self.padded(array, 1 if array.ndim == 4 else 0)
        return cut(padded, self.chosen(padded, draws()))

    def chosen(self, padded: Array, random: Draws) -> Box:
        """Return a random part of an image that contains one, or of the images of an array."""
        down, across = self._room(padded.shape[-3:-1] if padded.ndim > 2 else padded.shape)
        return random.integer(0, down), random.integer(0, across), *self.size

    def on_stack(self, stack: Array, keys: Keys) -> Array | None:
        if stack.ndim not in (3, 4):
            return None
        padded = np.ascontiguousarray(self.padded(stack, 1))
        down, across = self._room(padded.shape[1:3])
        drawn = keys()
        return _parts(padded, integers_of(drawn, 1, down), integers_of(drawn, 2, across), *self.size)

    def padded(self, array: Array, axis: int) -> Array:
        """Return an image that contains the part; raise RuntimeError for one that is too small.  The axis of its height comes first or
        second."""
        if self.sides is not None:
            array = _around(array, self.sides, self.colour, self.border, axis)
        height, width = array.shape[axis : axis + 2]
        down, across = self._missing(height, width)
        if down or across:
            array = _around(array, (across, down, across, down), self.colour, self.border, axis)
            height, width = array.shape[axis : axis + 2]
        if height < self.size[0] or width < self.size[1]:
            raise RuntimeError("RandomCrop: invalid crop size, crop size is bigger than the image dimensions, got crop height: "
                               f"{self.size[0]}, crop width: {self.size[1]}, image height: {height}, image width: {width}")
        return array

    def shift(self, height: int, width: int) -> tuple[int, int]:
        """Return how far padding moves the pixels of an image to the right and down."""
        left, top, right, bottom = self.sides or (0, 0, 0, 0)
        down, across = self._missing(height + top + bottom, width + left + right)
        return left + across, top + down

    def _missing(self, height: int, width: int) -> tuple[int, int]:
        """Return how many rows and columns to add on both sides of an image that is padded if it is too small."""
        return (max(0, self.size[0] - height), max(0, self.size[1] - width)) if self.pad_if_needed else (0, 0)

    def _room(self, shape: Sequence[int]) -> tuple[int, int]:
        """Return the greatest top and left of a part of an image of this height and width."""
        return shape[0] - self.size[0], shape[1] - self.size[1]


def random_box(height: int, width: int, scale: Sequence[float], ratio: Sequence[float], attempts: int, random: Draws) -> Box:
    """Return a part with a share of the area in `scale` and proportions, width by height, in `ratio`; the middle after too many attempts.
    """
    for _ in range(attempts):
        area = height * width * random.uniform(scale[0], scale[1])
        proportion = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        wide, high = round(math.sqrt(area * proportion)), round(math.sqrt(area / proportion))
        if 0 < wide <= width and 0 < high <= height:
            return random.integer(0, height - high), random.integer(0, width - wide), high, wide
    high, wide = height, width
    if width / height < ratio[0]:
        high = round(width / ratio[0])
    elif width / height > ratio[1]:
        wide = round(height * ratio[1])
    return (height - high) // 2, (width - wide) // 2, high, wide


class RandomResizedCrop(ImageOperation):
    """A part of an image of a random size, place and proportion, in another size.

    scale         the share of the area
    ratio         the proportion of width to height
    max_attempts  after so many parts that do not lie inside the middle is taken
    """

    random = True

    def __init__(self, size: int | Sequence[int], scale: Sequence[float] = (0.08, 1.0), ratio: Sequence[float] = (3 / 4, 4 / 3),
                 interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10):
        self.size = check_size(size)
        check_pair(scale, 0, 2**24, "scale")
        check_pair(ratio, 0, 2**24, "ratio")
        if scale[1] <= 0:
            raise ValueError("scale[1] must be greater than 0.")
        if ratio[0] <= 0:
            raise ValueError("ratio[0] must be greater than 0.")
        check_int(max_attempts, 1, 2**24, "max_attempts")
        self.scale, self.ratio, self.max_attempts = tuple(scale), tuple(ratio), max_attempts
        self.interpolation = check_inter(interpolation)

    def on_array(self, array: Array) -> Array:
        height, width = array.shape[1:3] if array.ndim == 4 else array.shape[:2]
        box = random_box(height, width, self.scale, self.ratio, self.max_attempts, draws())
        return _per_image(cut(array, box), lambda image: scaled(image, *self.size, self.interpolation, type(self).__name__))

    def on_picture(self, picture: Any) -> Any:
        top, left, height, width = random_box(picture.height, picture.width, self.scale, self.ratio, self.max_attempts, draws())
        part = picture.crop((left, top, left + width, top + height))
        return part.resize(self.size[::-1], filter_of(self.interpolation))


class RandomCropDecodeResize(RandomResizedCrop):
    """As RandomResizedCrop, of the bytes of an image file."""

    def _one(self, image: Any) -> Any:
        if is_picture(image) or np.ndim(image) != 1 or np.asarray(image).dtype != np.uint8:
            raise TypeError("Input should be an encoded image with uint8 type in 1-D NumPy format, got format:"
                            f"{type(image)}, dtype:{getattr(image, 'dtype', None)}.")
        return self.on_array(decoded(image, "RandomCropDecodeResize"))


def _check_picture(image: Any) -> None:
    if not is_picture(image):
        raise TypeError(f"img should be PIL image. Got {type(image)}. Use Decode() for encoded data or ToPIL() for decoded data.")


class FiveCrop(ImageOperation):
    """The four corners and the middle of a picture, as a tuple."""

    def __init__(self, size: int | Sequence[int]):
        self.size = check_size(size)

    def _one(self, image: Any) -> Any:
        _check_picture(image)
        height, width = self.size
        if height > image.height or width > image.width:
            raise ValueError(f"Crop size {self.size} is larger than the input image size {(image.height, image.width)}.")
        places = [(0, 0), (0, image.width - width), (image.height - height, 0), (image.height - height, image.width - width),
                  (round((image.height - height) / 2), round((image.width - width) / 2))]
        return tuple(image.crop((left, top, left + width, top + height)) for top, left in places)


class TenCrop(ImageOperation):
    """The five parts of FiveCrop and those of the picture's mirror image, as a tuple."""

    def __init__(self, size: int | Sequence[int], use_vertical_flip: bool = False):
        check_type(use_vertical_flip, (bool,), "use_vertical_flip")
        self._five, self.use_vertical_flip = FiveCrop(size), use_vertical_flip

    def _one(self, image: Any) -> Any:
        _check_picture(image)
        way = pillow().Transpose.FLIP_TOP_BOTTOM if self.use_vertical_flip else pillow().Transpose.FLIP_LEFT_RIGHT
        return (*self._five(image), *self._five(image.transpose(way)))


class CutOut(ImageOperation):
    """Squares of zeros at random positions, cut off at the border; the image has its channels last, or first without `is_hwc`."""

    random = True

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True):
        check_int(length, 1, 2**24, "length")
        check_int(num_patches, 1, 2**24, "num_patches")
        check_type(is_hwc, (bool,), "is_hwc")
        self.length, self.num_patches, self.is_hwc = length, num_patches, is_hwc

    def on_array(self, array: Array) -> Array:
        result, random = array.copy(), draws()
        height, width = array.shape[:2] if self.is_hwc else array.shape[-2:]
        for _ in range(self.num_patches):
            top, left = (random.integer(0, size - 1) - self.length // 2 for size in (height, width))
            rows = slice(max(0, top), max(0, min(height, top + self.length)))
            columns = slice(max(0, left), max(0, min(width, left + self.length)))
            result[(rows, columns) if self.is_hwc else (..., rows, columns)] = 0
        return result


class Erase(ImageOperation):
    """Fills a rectangle of an image with one colour; `inplace` writes into the given image."""

    def __init__(self, top: int, left: int, height: int, width: int, value: Any = 0.0, inplace: bool = False):
        for name, number, least in (("top", top, 0), ("left", left, 0), ("height", height, 1), ("width", width, 1)):
            check_int(number, least, INT32_MAX, name)
        check_type(value, (float, int, tuple, list), "value")
        check_type(inplace, (bool,), "inplace")
        self.box, self.value, self.inplace = (top, left, height, width), value, inplace

    def on_array(self, array: Array) -> Array:
        top, left, height, width = self.box
        if top >= array.shape[0] or left >= array.shape[1]:
            raise RuntimeError(f"Erase: the place ({top}, {left}) lies outside of the image of shape {array.shape}.")
        result = array if self.inplace else array.copy()
        result[top : top + height, left : left + width] = self.value
        return result


class RandomErasing(ImageOperation):
    """With a probability, fills a random rectangle of an image whose channels are first.

    value  a number, a colour, or "random" for normally distributed numbers
    """

    random = True
    gives_picture = False

    def __init__(self, prob: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3), value: Any = 0,
                 inplace: bool = False, max_attempts: int = 10):
        self.prob = check_probability(prob)
        check_pair(scale, 0, 2**24, "scale")
        check_pair(ratio, 0, 2**24, "ratio")
        if ratio[0] <= 0:
            raise ValueError("ratio[0] must be greater than 0.")
        check_type(value, (int, list, tuple, str), "value")
        if isinstance(value, str) and value != "random":
            raise ValueError("The value for erasing should be either a single value, or a string 'random', or a sequence of 3 elements "
                             "for RGB "
                             "respectively.")
        check_type(inplace, (bool,), "inplace")
        check_int(max_attempts, 1, 2**24, "max_attempts")
        self.scale, self.ratio, self.value = tuple(scale), tuple(ratio), value
        self.inplace, self.max_attempts = inplace, max_attempts

    def on_array(self, array: Array) -> Array:
        if array.ndim != 3:
            raise RuntimeError(f"RandomErasing: the dimension of the image should be 3, <C,H,W>, but got {array.ndim}.")
        random = draws()
        if random.uniform() >= self.prob:
            return array
        channels, height, width = array.shape
        for _ in range(self.max_attempts):
            area = height * width * random.uniform(*self.scale)
            proportion = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            high, wide = round(math.sqrt(area * proportion)), round(math.sqrt(area / proportion))
            if high < height and wide < width:
                top, left = random.integer(0, height - high), random.integer(0, width - wide)
                result = array if self.inplace else array.copy()
                value: Any = self.value
                if value == "random":
                    value = random.generator().standard_normal((channels, high, wide))
                elif isinstance(value, (list, tuple)):
                    value = np.array(value)[:, None, None]
                result[:, top : top + high, left : left + wide] = np.asarray(value).astype(array.dtype)
                return result
        return array


class SlicePatches(ImageOperation):
    """Cuts an image into `num_height` times `num_width` equal parts, a tuple, row by row."""

    def __init__(self, num_height: int = 1, num_width: int = 1, slice_mode: SliceMode = SliceMode.PAD, fill_value: int = 0):
        check_int(num_height, 1, INT32_MAX, "num_height")
        check_int(num_width, 1, INT32_MAX, "num_width")
        check_type(slice_mode, (SliceMode,), "slice_mode")
        check_int(fill_value, 0, 255, "fill_value")
        self.numbers, self.slice_mode, self.fill_value = (num_height, num_width), slice_mode, fill_value

    def _one(self, image: Any) -> Any:
        array = np.asarray(image)
        check_image(array, "SlicePatches", most=3)
        high, wide = (-(-size // number) if self.slice_mode is SliceMode.PAD else size // number
                      for size, number in zip(array.shape, self.numbers))
        if not high or not wide:
            raise RuntimeError(f"SlicePatches: an image of shape {array.shape} cannot be cut into {self.numbers} parts.")
        missing = high * self.numbers[0] - array.shape[0], wide * self.numbers[1] - array.shape[1]
        if max(missing) > 0:
            array = _around(array, (0, 0, max(0, missing[1]), max(0, missing[0])), (self.fill_value,) * 3, Border.CONSTANT)
        return tuple(cut(array, (row * high, column * wide, high,
                                  wide)) for row in range(self.numbers[0]) for column in range(self.numbers[1]))
