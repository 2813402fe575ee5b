"""Transforms of colours: brightness, contrast, saturation, hue, and from one order of colours to another.

Arrays are processed with the arithmetic of OpenCV, which MindSpore uses; pictures with Pillow's `ImageEnhance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_interval, check_number, check_pair, check_type
from adjoint.dataset.streams import draws
from adjoint.dataset.vision.image import ImageOperation, check_probability, is_picture, pillow
from adjoint.dataset.vision.modes import ConvertMode

__all__ = [
    "AdjustBrightness", "AdjustContrast", "AdjustGamma", "AdjustHue", "AdjustSaturation", "AdjustSharpness", "AutoContrast", "ConvertColor",
    "Equalize", "Grayscale", "Invert", "Posterize", "RandomAdjustSharpness", "RandomAutoContrast", "RandomColor", "RandomColorAdjust",
    "RandomEqualize", "RandomGrayscale", "RandomInvert", "RandomPosterize", "RandomSharpness", "RandomSolarize", "Solarize",
]

Array = np.ndarray[Any, Any]


def _rounded(array: Array, dtype: Any) -> Array:
    """Return numbers in the dtype of an image: rounded to even and clipped to 0 and 255 for uint8."""
    return np.clip(np.rint(array), 0, 255).astype(np.uint8) if dtype == np.uint8 else array.astype(dtype)


def check_three(array: Array, name: str) -> None:
    if array.ndim != 3:
        raise RuntimeError(f"{name}: the dimension of image tensor does not match the requirement of operator. Expecting tensor in "
                           f"dimension "
                           f"of (3), in shape of <H, W, C>. But got dimension {array.ndim}.")
    if array.shape[2] != 3:
        raise RuntimeError(f"{name}: the channel of image tensor does not match the requirement of operator. Expecting tensor in "
                           f"channel of "
                           f"(3). But got channel {array.shape[2]}.")


def grey(array: Array) -> Array:
    """Return the brightness of red, green and blue, in the dtype of the image."""
    if array.dtype == np.uint8:
        # 0.299, 0.587 and 0.114 with 15 fractional bits.
        red, green, blue = (array[..., channel].astype(np.int32) for channel in range(3))
        return ((red * 9798 + green * 19235 + blue * 3735 + (1 << 14)) >> 15).astype(np.uint8)
    weights = np.array([0.299, 0.587, 0.114], array.dtype if array.dtype.kind == "f" else np.float32)
    return (array * weights).sum(-1, dtype=weights.dtype).astype(array.dtype)


def brighter(array: Array, factor: float) -> Array:
    return _rounded(array.astype(np.float32) * np.float32(factor), array.dtype)


def _fused(first: Array, factor: float | np.floating[Any], rest: Array) -> Array:
    """Return first * factor + rest, float32, rounded once: a fused multiplication and addition."""
    return (first.astype(np.float64) * np.float32(factor) + rest).astype(np.float32)


def _blended(first: Array, second: Array, factor: float) -> Array:
    """first * (1 - factor) + second * factor"""
    factor32 = np.float32(factor)
    mixed = _fused(first, 1 - factor32, second.astype(np.float32) * factor32)
    return _rounded(mixed, second.dtype)


def contrasted(array: Array, factor: float) -> Array:
    mean = np.float64(grey(array).mean())
    flat = np.full_like(array, int(np.rint(mean)) if array.dtype == np.uint8 else mean)
    return _blended(flat, array, factor)


def saturated(array: Array, factor: float) -> Array:
    return _blended(np.repeat(grey(array)[..., None], 3, 2), array, factor)


_SHIFT = 12
_WHOLE = np.arange(1, 256)
_BY_VALUE = np.concatenate([[0], np.rint((255 << _SHIFT) / (1.0 * _WHOLE))]).astype(np.int32)
_BY_SPAN = np.concatenate([[0], np.rint((256 << _SHIFT) / (6.0 * _WHOLE))]).astype(np.int32)


def to_hsv(array: Array) -> Array:
    """Hue, saturation and value of red, green and blue, all uint8 from 0 to 255, as OpenCV's RGB2HSV_FULL."""
    red, green, blue = (array[..., channel].astype(np.int32) for channel in range(3))
    value = np.maximum(np.maximum(red, green), blue)
    span = value - np.minimum(np.minimum(red, green), blue)
    saturation = (span * _BY_VALUE[value] + (1 << (_SHIFT - 1))) >> _SHIFT
    hue = np.where(value == red, green - blue, np.where(value == green, blue - red + 2 * span, red - green + 4 * span))
    hue = (hue * _BY_SPAN[span] + (1 << (_SHIFT - 1))) >> _SHIFT
    return np.stack([np.where(hue < 0, hue + 256, hue), saturation, value], -1).astype(np.uint8)


def to_rgb(array: Array) -> Array:
    """Return the inverse of `to_hsv`, rounded."""
    hue = array[..., 0].astype(np.float32) * np.float32(6.0 / 256)
    saturation, value = (array[..., channel].astype(np.float32) * np.float32(1 / 255) for channel in (1, 2))
    sector = np.floor(hue).astype(np.int64)
    part = hue - sector.astype(np.float32)
    one = np.float32(1)
    levels = np.stack([value, value * (one - saturation), value * (one - saturation * part), value * (one - saturation * (one - part))], -1)
    # For each sixth of the circle which of the levels are blue, green and red.
    table = np.array([[1, 3, 0], [1, 0, 2], [3, 0, 1], [0, 2, 1], [0, 1, 3], [2, 1, 0]])[sector % 6]
    found = np.take_along_axis(levels, table[..., ::-1], -1)
    return np.clip(np.rint(found * np.float32(255)), 0, 255).astype(np.uint8)


def shifted_hue(array: Array, factor: float) -> Array:
    """Return an image with another hue; a float image is converted to uint8 for that, as MindSpore requires."""
    if array.dtype != np.uint8:
        if array.dtype.kind != "f":
            raise RuntimeError(f"AdjustHue: the image must be of uint8 or of a float dtype, but got {array.dtype}.")
        return shifted_hue(_rounded(array * 255, np.uint8), factor).astype(array.dtype) / array.dtype.type(255)
    hsv = to_hsv(array)
    hsv[..., 0] += np.array(int(factor * 255) % 256, np.uint8)
    return to_rgb(hsv)


def sharper(array: Array, factor: float) -> Array:
    """Return an image mixed with a smoothed one; its border is unchanged."""
    wide = array.astype(np.float32)
    smooth = wide.copy()
    if min(array.shape[:2]) > 2:
        total = sum(wide[1 + down : array.shape[0] - 1 + down, 1 + across : array.shape[1] - 1 + across]
                    for down in (-1, 0, 1) for across in (-1, 0, 1))
        smooth[1:-1, 1:-1] = _rounded((total + 4 * wide[1:-1, 1:-1]) / np.float32(13), array.dtype)
    return _rounded(_fused(array, factor, smooth * (np.float32(1) - np.float32(factor))), array.dtype)


class _Enhanced(ImageOperation):
    """One of Pillow's enhancements, or our function of an array."""

    name = ""

    def __init__(self, factor: float, name: str):
        check_number(factor, 0, 2**24, name)
        self.factor = factor

    def on_picture(self, picture: Any) -> Any:
        return getattr(pillow("ImageEnhance"), self.name)(picture).enhance(self.factor)


class AdjustBrightness(_Enhanced):
    """image * brightness_factor"""

    name = "Brightness"

    def __init__(self, brightness_factor: float):
        super().__init__(brightness_factor, "brightness_factor")

    def on_array(self, array: Array) -> Array:
        check_three(array, "AdjustBrightness")
        return brighter(array, self.factor)


class AdjustContrast(_Enhanced):
    """The image's mean brightness, and the distance from it times `contrast_factor`."""

    name = "Contrast"

    def __init__(self, contrast_factor: float):
        super().__init__(contrast_factor, "contrast_factor")

    def on_array(self, array: Array) -> Array:
        check_three(array, "AdjustContrast")
        return contrasted(array, self.factor)


class AdjustSaturation(_Enhanced):
    """Each pixel's brightness, and the distance of its colour from it times `saturation_factor`."""

    name = "Color"

    def __init__(self, saturation_factor: float):
        super().__init__(saturation_factor, "saturation_factor")

    def on_array(self, array: Array) -> Array:
        check_three(array, "AdjustSaturation")
        return saturated(array, self.factor)


class AdjustSharpness(_Enhanced):
    """A smoothed image, and the distance from it times `sharpness_factor`."""

    name = "Sharpness"

    def __init__(self, sharpness_factor: float):
        super().__init__(sharpness_factor, "sharpness_factor")

    def on_array(self, array: Array) -> Array:
        return sharper(array, self.factor)


class AdjustHue(ImageOperation):
    """Rotates hues by a share of the circle, from -0.5 to 0.5."""

    def __init__(self, hue_factor: float):
        check_number(hue_factor, -0.5, 0.5, "hue_factor")
        self.factor = hue_factor

    def on_array(self, array: Array) -> Array:
        check_three(array, "AdjustHue")
        return shifted_hue(array, self.factor)


class AdjustGamma(ImageOperation):
    """(gain * image) ** gamma of floats from 0 to 1; gain * image ** gamma of uint8, as shares of 255."""

    def __init__(self, gamma: float, gain: float = 1):
        check_number(gamma, 0, 2**24, "gamma")
        check_number(gain, -(2**24), 2**24, "gain")
        self.gamma, self.gain = gamma, gain

    def on_array(self, array: Array) -> Array:
        if array.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                return np.clip((array * np.float32(self.gain)) ** np.float32(self.gamma), 0, 1).astype(array.dtype)
        # Each of the 256 values has the same share of the range below 256.
        table = np.floor(np.clip(255.999 * self.gain * (np.arange(256) / 255.0) ** self.gamma, 0, 255)).astype(np.uint8)
        return table[array.astype(np.uint8)].astype(array.dtype)


class Invert(ImageOperation):
    """255 - image, of three channels."""

    def on_array(self, array: Array) -> Array:
        check_three(array, "Invert")
        return (255 - array).astype(array.dtype)


class Solarize(ImageOperation):
    """255 - image where a pixel lies in a range, or is not below a threshold."""

    def __init__(self, threshold: Any):
        check_type(threshold, (float, int, list, tuple), "threshold")
        self.low, self.high = (threshold, 255) if isinstance(threshold, (int, float)) else tuple(threshold)
        check_interval(self.low, 0, 255, "threshold")
        check_interval(self.high, 0, 255, "threshold")
        if self.low > self.high:
            raise ValueError("threshold must be in order of (min, max).")

    def on_array(self, array: Array) -> Array:
        return np.where((array >= self.low) & (array <= self.high), 255 - array, array).astype(array.dtype)


class Posterize(ImageOperation):
    """The highest bits of each pixel, uint8."""

    def __init__(self, bits: int):
        check_type(bits, (int,), "bits")
        check_interval(bits, 0, 8, "bits")
        self.bits = bits

    def on_array(self, array: Array) -> Array:
        if array.dtype != np.uint8:
            raise RuntimeError(f"Posterize: data type of input image should be uint8, but got {array.dtype}")
        return array & np.uint8(256 - (1 << (8 - self.bits)))


class Equalize(ImageOperation):
    """Pixels of each channel spread so that all values are as frequent, uint8."""

    def on_array(self, array: Array) -> Array:
        if array.dtype != np.uint8:
            raise RuntimeError(f"Equalize: data type of input image should be uint8, but got {array.dtype}")
        if array.ndim == 2:
            return _equal(array)
        return np.stack([_equal(array[..., channel]) for channel in range(array.shape[2])], -1)


def _equal(channel: Array) -> Array:
    counts = np.bincount(channel.ravel(), minlength=256)
    lowest = counts[np.flatnonzero(counts)[0]]
    if lowest == channel.size:
        return channel.copy()
    above = np.maximum(np.cumsum(counts) - lowest, 0).astype(np.float32)
    return np.rint(above * (np.float32(255) / np.float32(channel.size - lowest))).astype(np.uint8)[channel]


class AutoContrast(ImageOperation):
    """Pixels of each channel spread from 0 to 255.

    cutoff  how many per cent of the pixels do not count, at both ends, rounded down to whole ones
    ignore  a value, or several, that do not count
    """

    def __init__(self, cutoff: float = 0.0, ignore: Any = None):
        check_type(cutoff, (int, float), "cutoff")
        check_interval(cutoff, 0, 50, "cutoff", below_high=True)
        self.cutoff, self.ignore = cutoff, ignore

    def on_array(self, array: Array) -> Array:
        if array.dtype != np.uint8:
            raise RuntimeError(f"AutoContrast: data type of input image should be uint8, but got {array.dtype}")
        if array.ndim == 2:
            return self._spread(array)
        return np.stack([self._spread(array[..., channel]) for channel in range(array.shape[2])], -1)

    def on_picture(self, picture: Any) -> Any:
        return pillow("ImageOps").autocontrast(picture, self.cutoff, self.ignore)

    def _spread(self, channel: Array) -> Array:
        """Return a channel with its darkest value at 0 and its lightest at 255, computed in Float32 and rounded down."""
        counts = np.bincount(channel.ravel(), minlength=256)
        if self.ignore is not None:
            counts[self.ignore] = 0
        below, above = np.cumsum(counts), np.cumsum(counts[::-1])
        dropped = int(below[-1]) * int(self.cutoff) // 100
        low, high = int(np.argmax(below > dropped)), 255 - int(np.argmax(above > dropped))
        if high <= low:
            return channel.copy()
        scale = np.float32(255.0 / (high - low))
        table = np.arange(256).astype(np.float32) * scale - np.float32(low) * scale
        return np.clip(np.floor(table), 0, 255).astype(np.uint8)[channel]


class Grayscale(ImageOperation):
    """A picture without colours, of one channel or of three alike."""

    def __init__(self, num_output_channels: int = 1):
        if num_output_channels not in (1, 3):
            raise ValueError(f"Number of channels of the output grayscale image should be either 1 or 3. Got {num_output_channels}.")
        self.channels = num_output_channels

    def _one(self, image: Any) -> Any:
        if not is_picture(image):
            raise TypeError(f"img should be PIL image. Got {type(image)}. Use Decode() for encoded data or ToPIL() for decoded data.")
        plain = image.convert("L")
        return plain if self.channels == 1 else plain.convert("RGB")


class ConvertColor(ImageOperation):
    """An image in another order of colours."""

    gives_picture = False
    _ORDERS = {
        ConvertMode.COLOR_RGB2RGBA: (0, 1, 2, None), ConvertMode.COLOR_RGBA2RGB: (0, 1, 2), ConvertMode.COLOR_RGB2BGRA: (2, 1, 0, None),
        ConvertMode.COLOR_RGBA2BGR: (2, 1, 0), ConvertMode.COLOR_RGB2BGR: (2, 1, 0), ConvertMode.COLOR_RGBA2BGRA: (2, 1, 0, 3),
        ConvertMode.COLOR_GRAY2RGB: (0, 0, 0), ConvertMode.COLOR_GRAY2RGBA: (0, 0, 0, None),
    }
    _GREYS = {
        ConvertMode.COLOR_BGR2GRAY: (2, 1, 0), ConvertMode.COLOR_RGB2GRAY: (0, 1, 2), ConvertMode.COLOR_BGRA2GRAY: (2, 1, 0),
        ConvertMode.COLOR_RGBA2GRAY: (0, 1, 2),
    }

    def __init__(self, convert_mode: ConvertMode):
        check_type(convert_mode, (ConvertMode,), "convert_mode")
        self.mode = convert_mode

    def on_array(self, array: Array) -> Array:
        image = array if array.ndim == 3 else array[..., None]
        wanted = 1 if self.mode in (ConvertMode.COLOR_GRAY2RGB, ConvertMode.COLOR_GRAY2RGBA) else (
            4 if self.mode in (ConvertMode.COLOR_RGBA2RGB, ConvertMode.COLOR_RGBA2BGR, ConvertMode.COLOR_RGBA2BGRA,
                               ConvertMode.COLOR_BGRA2GRAY, ConvertMode.COLOR_RGBA2GRAY) else 3)
        if image.shape[2] != wanted:
            raise RuntimeError(f"ConvertColor: {self.mode.name} takes an image of {wanted} channels, but got the shape {array.shape}.")
        if self.mode in self._GREYS:
            return grey(image[..., list(self._GREYS[self.mode])])
        full = np.full(image.shape[:2], 255 if array.dtype == np.uint8 else 1, array.dtype)
        return np.stack([full if channel is None else image[..., channel] for channel in self._ORDERS[self.mode]], -1)


def _factors(value: Any, name: str, greatest: float) -> tuple[float, float]:
    """Return the range of factors that a number means, from 1 - value to 1 + value, or a range itself."""
    check_type(value, (int, float, list, tuple), name)
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"The input value of {name} cannot be negative.")
        check_interval(value, 0, greatest, name)
        return max(0.0, 1 - value), 1 + value
    check_pair(value, 0, greatest, name)
    return value[0], value[1]


class RandomColorAdjust(ImageOperation):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    Each is a range of factors, or the greatest distance from 1; `hue` a range of shares of the circle, or the greatest.
    """

    random = True

    def __init__(self, brightness: Any = (1, 1), contrast: Any = (1, 1), saturation: Any = (1, 1), hue: Any = (0, 0)):
        self.ranges = (_factors(brightness, "brightness", 2**24), _factors(contrast, "contrast", 2**24),
                       _factors(saturation, "saturation", 2**24))
        check_type(hue, (int, float, list, tuple), "hue")
        if isinstance(hue, (int, float)):
            if hue < 0:
                raise ValueError("The input value of hue cannot be negative.")
            check_interval(hue, -0.5, 0.5, "hue")
            self.hue = (-hue, hue)
        else:
            check_pair(hue, -0.5, 0.5, "hue")
            self.hue = (hue[0], hue[1])

    def _chosen(self) -> list[ImageOperation]:
        random = draws()
        kinds = (AdjustBrightness, AdjustContrast, AdjustSaturation)
        chosen: list[Any] = [kind(random.uniform(*span)) if span != (1, 1) else None for kind, span in zip(kinds, self.ranges)]
        chosen.append(AdjustHue(random.uniform(*self.hue)) if self.hue != (0, 0) else None)
        return [chosen[index] for index in random.order(4) if chosen[index] is not None]

    def on_array(self, array: Array) -> Array:
        check_three(array, "RandomColorAdjust")
        for operation in self._chosen():
            array = operation.on_array(array)
        return array

    def on_picture(self, picture: Any) -> Any:
        for operation in self._chosen():
            picture = operation.on_picture(picture)
        return picture


class RandomColor(ImageOperation):
    """Changes saturation by a random factor from a range."""

    random = True

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)):
        check_pair(degrees, 0, 2**24, "degrees")
        self.degrees = tuple(degrees)

    def on_array(self, array: Array) -> Array:
        check_three(array, "RandomColor")
        return saturated(array, draws().uniform(*self.degrees))


class RandomSharpness(ImageOperation):
    """Changes sharpness by a random factor from a range."""

    random = True

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)):
        check_pair(degrees, 0, 2**24, "degrees")
        self.degrees = tuple(degrees)

    def on_array(self, array: Array) -> Array:
        return sharper(array, draws().uniform(*self.degrees))


class _Maybe(ImageOperation):
    """Applies another transform with a probability."""

    random = True

    def __init__(self, operation: ImageOperation, prob: float):
        self.prob, self.operation = check_probability(prob), operation

    def _one(self, image: Any) -> Any:
        return self.operation(image) if draws().uniform() < self.prob else image


class RandomGrayscale(_Maybe):
    """A picture without colours, with a probability; its mode stays."""

    def __init__(self, prob: float = 0.1):
        super().__init__(Grayscale(3), prob)


class RandomInvert(_Maybe):
    """255 - image, with a probability."""

    def __init__(self, prob: float = 0.5):
        super().__init__(Invert(), prob)


class RandomEqualize(_Maybe):
    """As Equalize, with a probability."""

    def __init__(self, prob: float = 0.5):
        super().__init__(Equalize(), prob)


class RandomAutoContrast(_Maybe):
    """As AutoContrast, with a probability."""

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5):
        super().__init__(AutoContrast(cutoff, ignore), prob)


class RandomAdjustSharpness(_Maybe):
    """As AdjustSharpness, with a probability."""

    def __init__(self, degree: float, prob: float = 0.5):
        super().__init__(AdjustSharpness(degree), prob)


class RandomPosterize(ImageOperation):
    """Keeps the highest bits of each pixel, a random number of them from a range."""

    random = True

    def __init__(self, bits: Any = (8, 8)):
        check_type(bits, (list, tuple, int), "bits")
        low, high = (bits, bits) if isinstance(bits, int) else tuple(bits)
        check_interval(low, 1, 8, "bits")
        check_interval(high, low, 8, "bits")
        self.bits = low, high

    def on_array(self, array: Array) -> Array:
        return Posterize(draws().integer(*self.bits)).on_array(array)


class RandomSolarize(ImageOperation):
    """As Solarize, with a random part of a range."""

    random = True

    def __init__(self, threshold: tuple[int, int] = (0, 255)):
        check_type(threshold, (tuple,), "threshold")
        check_pair(threshold, 0, 255, "threshold")
        self.threshold = threshold

    def on_array(self, array: Array) -> Array:
        random = draws()
        first, second = (random.integer(*self.threshold) for _ in range(2))
        return Solarize((min(first, second), max(first, second))).on_array(array)
