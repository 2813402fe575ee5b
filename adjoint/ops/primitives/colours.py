"""Operators as objects that change the colours of images [..., 3], whose last axis holds red, green and blue from 0 to 1."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32
from adjoint.ops.arguments import float_tensor, operand, single, wrong
from adjoint.ops.arithmetic import abs, clamp, equal, floor, maximum, minimum, where
from adjoint.ops.parts import stack, unstack
from adjoint.ops.primitive import Plain
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["AdjustHue", "AdjustSaturation", "HSVToRGB", "RGBToHSV"]


def _colours(op: str, argument: str, images: Any, least: int) -> Tensor:
    """Return images of floats, of at least so many dimensions."""
    x = float_tensor(op, images, argument)
    if x.ndim < least or x.shape[-1] != 3:
        raise wrong(op, argument, f"of at least {least} dimensions, the last of 3 colours", x)
    return x


def _hue_saturation_value(red: Tensor, green: Tensor, blue: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return hue, from 0 to 1 without it, saturation and value."""
    value = maximum(maximum(red, green), blue)
    spread = value - minimum(minimum(red, green), blue)
    saturation = where(value > 0, spread / where(value > 0, value, 1.0), 0.0)
    sixth = 1.0 / (6.0 * where(spread > 0, spread, 1.0))
    hue = where(equal(red, value), sixth * (green - blue),
                where(equal(green, value), sixth * (blue - red) + 2.0 / 6.0, sixth * (red - green) + 4.0 / 6.0))
    hue = where(spread > 0, hue, 0.0)
    return where(hue < 0, hue + 1.0, hue), saturation, value


def _shares(hue: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return where red, green and blue are between the least and the largest of them: from 0 to 1."""
    turn = hue * 6.0
    return clamp(abs(turn - 3.0) - 1.0, 0.0, 1.0), clamp(2.0 - abs(turn - 2.0), 0.0, 1.0), clamp(2.0 - abs(turn - 4.0), 0.0, 1.0)


def _colours_of(hue: Tensor, saturation: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return red, green and blue."""
    red, green, blue = ((1.0 - saturation + saturation * share) * value for share in _shares(hue))
    return red, green, blue


def _parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first, second, third = unstack(single(x), -1)
    return first, second, third


def _together(parts: tuple[Tensor, Tensor, Tensor], like: Tensor) -> Tensor:
    return stack(parts, -1).astype(like.dtype, copy=False)


class RGBToHSV(Plain):
    """Hue, saturation and value of colours, each from 0 to 1: [..., 3] of floats.  Grey has hue 0, black saturation 0."""

    def __call__(self, images: Any) -> Tensor:
        x = _colours(self.name, "images", images, 1)
        return _together(_hue_saturation_value(*_parts(x)), x)


class HSVToRGB(Plain):
    """The colours of hue, saturation and value, each from 0 to 1: images [n, h, w, 3] of floats."""

    def __call__(self, x: Any) -> Tensor:
        given = _colours(self.name, "x", x, 4)
        if given.ndim != 4:
            raise wrong(self.name, "x", "of 4 dimensions", given)
        return _together(_colours_of(*_parts(given)), given)


def _number(op: str, argument: str, value: Any) -> Tensor:
    """Return a Float32 without dimensions."""
    found = operand(op, value, argument)
    if found.dtype is not F32:
        raise wrong(op, argument, "a Tensor of Float32", found, TypeError)
    if found.ndim:
        raise wrong(op, argument, "without dimensions", found)
    return found


class AdjustHue(Plain):
    """Images [..., h, w, 3] of floats with `delta` added to the hue, which begins again at 1; a Float32 without dimensions."""

    def __call__(self, image: Any, delta: Any) -> Tensor:
        x, shift = _colours(self.name, "image", image, 3), _number(self.name, "delta", delta)
        red, green, blue = _parts(x)
        hue, _, most = _hue_saturation_value(red, green, blue)
        turned, least = hue + shift.astype(hue.dtype, copy=False), minimum(minimum(red, green), blue)
        # The least and the largest colour stay as they are, to the bit.
        first, second, third = (where(share < 1, least + (most - least) * share, most) for share in _shares(turned - floor(turned)))
        return _together((first, second, third), x)


class AdjustSaturation(Plain):
    """Images [..., h, w, 3] of floats with their saturation times `scale`, at most 1 and at least 0; a Float32 without dimensions."""

    def __call__(self, image: Any, scale: Any) -> Tensor:
        x, factor = _colours(self.name, "image", image, 3), _number(self.name, "scale", scale)
        hue, saturation, value = _hue_saturation_value(*_parts(x))
        return _together(_colours_of(hue, clamp(saturation * factor.astype(hue.dtype, copy=False), 0.0, 1.0), value), x)
