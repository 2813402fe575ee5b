"""Random choices among many transforms of an image: AutoAugment, RandAugment, TrivialAugmentWide, UniformAugment, RandomSelectSubpolicy.

A method gives each transform a range of strengths, of which a level from 0 on chooses one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.dataset.arguments import check_int, check_interval, check_number, check_type
from adjoint.dataset.streams import Draws, draws
from adjoint.dataset.transforms.operation import Operation
from adjoint.dataset.transforms.transforms import called, check_operations
from adjoint.dataset.vision import colours
from adjoint.dataset.vision.crops import check_fill
from adjoint.dataset.vision.geometry import affine, rotated, warped
from adjoint.dataset.vision.image import LARGEST, ImageOperation, check_inter
from adjoint.dataset.vision.modes import AutoAugmentPolicy, Inter
from adjoint.dataset.vision.remapping import check_remapped
from adjoint.foundation.dataclass import dataclass

__all__ = ["AutoAugment", "RandAugment", "RandomSelectSubpolicy", "TrivialAugmentWide", "UniformAugment"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Ranges:
    """The greatest strengths of a method.

    shear      in radians
    shift      in pixels; None: 150 / 331 of the image's width or height
    angle      in degrees
    factor     how far a factor is from 1
    bits       how many are dropped
    threshold  how far below this value one lies from which on pixels are inverted
    """

    shear: float
    shift: float | None
    angle: float
    factor: float
    bits: int
    threshold: float


_MODERATE = _Ranges(0.3, None, 30.0, 0.9, 4, 255.0)
_WIDE = _Ranges(0.99, 32.0, 135.0, 0.99, 6, 255.0)

_SIGNED = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness")
_CHOICES = ("Identity", *_SIGNED, "Posterize", "Solarize", "AutoContrast", "Equalize")
"""The transforms of RandAugment and TrivialAugmentWide."""

_FACTORS: dict[str, Callable[[Array, float], Array]] = {
    "Brightness": colours.brighter, "Color": colours.saturated, "Contrast": colours.contrasted, "Sharpness": colours.sharper,
}
_PLAIN = {"AutoContrast": colours.AutoContrast(), "Equalize": colours.Equalize(), "Invert": colours.Invert()}


class _Policy(ImageOperation):
    """Base class of methods that apply transforms of an image by name."""

    random = True
    gives_picture = False
    ranges: _Ranges
    levels: int
    """The level of the greatest strength; 0 is the least."""

    def __init__(self, interpolation: Inter, fill_value: Any):
        self.interpolation, self.colour = check_inter(interpolation), check_fill(fill_value)

    def on_array(self, array: Array) -> Array:
        name = type(self).__name__
        colours.check_three(array, name)
        if array.dtype != np.uint8:
            raise RuntimeError(f"{name}: the data type of image tensor does not match the requirement of operator. Expecting tensor in "
                               f"type of (uint8). But got type {array.dtype}.")
        check_remapped(self.interpolation, name)
        return self.augmented(array, draws())

    def augmented(self, array: Array, random: Draws) -> Array:
        """Return an image, uint8[height, width, 3], changed at random."""
        raise NotImplementedError

    def applied(self, name: str, level: int, array: Array, random: Draws) -> Array:
        """Return an image changed by one transform of a strength; those with a sign get one, both with the same probability."""
        sign = -1 if name in _SIGNED and random.integer(0, 1) else 1
        if name == "Identity":
            return array
        if name in _PLAIN:
            return _PLAIN[name].on_array(array)
        if name == "Solarize":
            threshold = self.ranges.threshold - self._strength(self.ranges.threshold, level)
            return np.where(array >= threshold, 255 - array, array)
        if name == "Posterize":
            return colours.Posterize(8 - round(self._strength(self.ranges.bits, level))).on_array(array)
        if name in _FACTORS:
            return _FACTORS[name](array, float(np.float32(1 + np.float32(sign * self._strength(self.ranges.factor, level)))))
        if name == "Rotate":
            angle = sign * self._strength(self.ranges.angle, level)
            return rotated(array, angle, self.interpolation, False, None, self.colour)
        return self._moved(name, level, sign, array)

    def _strength(self, greatest: float, level: int) -> float:
        """Return the share of a range that a level is, in Float32."""
        return float(np.float32(greatest) / np.float32(self.levels) * np.float32(level))

    def _moved(self, name: str, level: int, sign: int, array: Array) -> Array:
        """Return an image that is sheared about its middle, or shifted by whole pixels."""
        height, width = array.shape[:2]
        along_x = name.endswith("X")
        if name.startswith("Shear"):
            angle = math.degrees(sign * self._strength(self.ranges.shear, level))
            matrix = affine(0, ((width - 1) / 2, (height - 1) / 2), (0, 0), 1, (angle, 0) if along_x else (0, angle))
        else:
            size = width if along_x else height
            step = sign * int(self._strength(150 / 331 * size if self.ranges.shift is None else self.ranges.shift, level))
            matrix = affine(0, (0, 0), (step, 0) if along_x else (0, step), 1, (0, 0))
        return warped(array, matrix, height, width, self.interpolation, self.colour)


_Step = tuple[str, float, int]
"""A transform's name, its probability and its level."""


def _steps(text: str) -> list[tuple[_Step, _Step]]:
    """Return the pairs of steps of a policy: two steps in each line, `name probability level`."""
    pairs = []
    for line in text.strip().splitlines():
        first, second = ((name, float(probability), int(level)) for name, probability, level in
                         (step.split() for step in line.split(",")))
        pairs.append((first, second))
    return pairs


_POLICIES = {
    AutoAugmentPolicy.IMAGENET: _steps("""
        Posterize 0.4 8, Rotate 0.6 9
        Solarize 0.6 5, AutoContrast 0.6 0
        Equalize 0.8 0, Equalize 0.6 0
        Posterize 0.6 7, Posterize 0.6 6
        Equalize 0.4 0, Solarize 0.2 4
        Equalize 0.4 0, Rotate 0.8 8
        Solarize 0.6 3, Equalize 0.6 0
        Posterize 0.8 5, Equalize 1.0 0
        Rotate 0.2 3, Solarize 0.6 8
        Equalize 0.6 0, Posterize 0.4 6
        Rotate 0.8 8, Color 0.4 0
        Rotate 0.4 9, Equalize 0.6 0
        Equalize 0.0 0, Equalize 0.8 0
        Invert 0.6 0, Equalize 1.0 0
        Color 0.6 4, Contrast 1.0 8
        Rotate 0.8 8, Color 1.0 2
        Color 0.8 8, Solarize 0.8 7
        Sharpness 0.4 7, Invert 0.6 0
        ShearX 0.6 5, Equalize 1.0 0
        Color 0.4 0, Equalize 0.6 0
        Equalize 0.4 0, Solarize 0.2 4
        Solarize 0.6 5, AutoContrast 0.6 0
        Invert 0.6 0, Equalize 1.0 0
        Color 0.6 4, Contrast 1.0 8
        Equalize 0.8 0, Equalize 0.6 0
    """),
    AutoAugmentPolicy.CIFAR10: _steps("""
        Invert 0.1 0, Contrast 0.2 6
        Rotate 0.7 2, TranslateX 0.3 9
        Sharpness 0.8 1, Sharpness 0.9 3
        ShearY 0.5 8, TranslateY 0.7 9
        AutoContrast 0.5 0, Equalize 0.9 0
        ShearY 0.2 7, Posterize 0.3 7
        Color 0.4 3, Brightness 0.6 7
        Sharpness 0.3 9, Brightness 0.7 9
        Equalize 0.6 0, Equalize 0.5 0
        Contrast 0.6 7, Sharpness 0.6 5
        Color 0.7 7, TranslateX 0.5 8
        Equalize 0.3 0, AutoContrast 0.4 0
        TranslateY 0.4 3, Sharpness 0.2 6
        Brightness 0.9 6, Color 0.2 8
        Solarize 0.5 2, Invert 0.0 0
        Equalize 0.2 0, AutoContrast 0.6 0
        Equalize 0.2 0, Equalize 0.6 0
        Color 0.9 9, Equalize 0.6 0
        AutoContrast 0.8 0, Solarize 0.2 8
        Brightness 0.1 3, Color 0.7 0
        Solarize 0.4 5, AutoContrast 0.9 0
        TranslateY 0.9 9, TranslateY 0.7 9
        AutoContrast 0.9 0, Solarize 0.8 3
        Equalize 0.8 0, Invert 0.1 0
        TranslateY 0.7 9, AutoContrast 0.9 0
    """),
    AutoAugmentPolicy.SVHN: _steps("""
        ShearX 0.9 4, Invert 0.2 0
        ShearY 0.9 8, Invert 0.7 0
        Equalize 0.6 0, Solarize 0.6 6
        Invert 0.9 0, Equalize 0.6 0
        Equalize 0.6 0, Rotate 0.9 3
        ShearX 0.9 4, AutoContrast 0.8 0
        ShearY 0.9 8, Invert 0.4 0
        ShearY 0.9 5, Solarize 0.2 6
        Invert 0.9 0, AutoContrast 0.8 0
        Equalize 0.6 0, Rotate 0.9 3
        ShearX 0.9 4, Solarize 0.3 3
        ShearY 0.8 8, Invert 0.7 0
        Equalize 0.9 0, TranslateY 0.6 6
        Invert 0.9 0, Equalize 0.6 0
        Contrast 0.3 3, Rotate 0.8 4
        Invert 0.8 0, TranslateY 0.0 2
        ShearY 0.7 6, Solarize 0.4 8
        Invert 0.6 0, Rotate 0.8 4
        ShearY 0.3 7, TranslateX 0.9 3
        ShearX 0.1 6, Invert 0.6 0
        Solarize 0.7 2, TranslateY 0.6 7
        ShearY 0.8 4, Invert 0.8 0
        ShearX 0.7 9, TranslateY 0.8 3
        ShearY 0.8 5, AutoContrast 0.7 0
        ShearX 0.7 2, Invert 0.1 0
    """),
}
"""The pairs of steps that the paper found, with levels from 0 to 9; those of IMAGENET that it has twice are as likely twice."""


class AutoAugment(_Policy):
    """Two transforms, each with a probability of its own, of a pair that is drawn from a policy.

    policy         the data set for which it was found; the pairs are those of the paper's appendix
    interpolation  how turned and sheared images are interpolated
    fill_value     the colour outside of the image

    It takes and returns arrays, uint8[height, width, 3]; pictures become arrays.  Shifts are in pixels, as in the paper; MindSpore 2.10
    shifts by as many widths, so nothing of the image remains.

    source  Cubuk, Zoph, Mane, Vasudevan, Le: AutoAugment, 2018
    """

    ranges = _Ranges(0.3, None, 30.0, 0.9, 4, 256.0)
    levels = 9

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET, interpolation: Inter = Inter.NEAREST, fill_value: Any = 0):
        check_type(policy, (AutoAugmentPolicy,), "policy")
        self.policy = policy
        super().__init__(interpolation, fill_value)

    def augmented(self, array: Array, random: Draws) -> Array:
        pairs = _POLICIES[self.policy]
        for name, probability, level in pairs[random.integer(0, len(pairs) - 1)]:
            if random.uniform() < probability:
                array = self.applied(name, level, array, random)
        return array


class RandAugment(_Policy):
    """A number of transforms that are drawn from fourteen, all of one strength.

    num_ops             how many; one may be drawn more than once
    magnitude           their strength, from 0 to num_magnitude_bins - 1
    num_magnitude_bins  how many strengths there are

    The other arguments are those of AutoAugment, and so are images and shifts.

    source  Cubuk, Zoph, Shlens, Le: RandAugment, 2019
    """

    ranges = _MODERATE

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST,
                 fill_value: Any = 0):
        check_int(num_ops, 0, LARGEST, "num_ops")
        check_int(num_magnitude_bins, 2, LARGEST, "num_magnitude_bins")
        check_type(magnitude, (int,), "magnitude")
        check_interval(magnitude, 0, num_magnitude_bins, "magnitude", below_high=True)
        self.num_ops, self.magnitude, self.levels = num_ops, magnitude, num_magnitude_bins - 1
        super().__init__(interpolation, fill_value)

    def augmented(self, array: Array, random: Draws) -> Array:
        for _ in range(self.num_ops):
            array = self.applied(_CHOICES[random.integer(0, len(_CHOICES) - 1)], self.magnitude, array, random)
        return array


class TrivialAugmentWide(_Policy):
    """One transform that is drawn from fourteen, with a strength that is drawn too, from wide ranges.

    num_magnitude_bins  how many strengths there are

    The other arguments are those of AutoAugment, and so are images and shifts.

    source  Müller, Hutter: TrivialAugment, 2021
    """

    ranges = _WIDE

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST, fill_value: Any = 0):
        check_int(num_magnitude_bins, 2, LARGEST, "num_magnitude_bins")
        self.levels = num_magnitude_bins - 1
        super().__init__(interpolation, fill_value)

    def augmented(self, array: Array, random: Draws) -> Array:
        return self.applied(_CHOICES[random.integer(0, len(_CHOICES) - 1)], random.integer(0, self.levels), array, random)


class UniformAugment(Operation):
    """Some of several transforms, in their order: `num_ops` different ones are drawn, and each is applied with a probability of 0.5.

    Errors: ValueError for fewer transforms than `num_ops`, and for a class in the place of an instance; TypeError for what cannot be
    called.
    """

    random = True

    def __init__(self, transforms: Sequence[Any], num_ops: int = 2):
        check_type(num_ops, (int,), "num_ops")
        if num_ops <= 0:
            raise ValueError("Input num_ops must be greater than 0.")
        if num_ops > len(transforms):
            raise ValueError("num_ops is greater than transforms list size.")
        check_operations(list(transforms))
        self.transforms, self.num_ops = list(transforms), num_ops

    def __call__(self, *columns: Any) -> Any:
        random = draws()
        drawn = sorted(random.order(len(self.transforms))[: self.num_ops])
        return called([self.transforms[index] for index in drawn if random.integer(0, 1)], columns, random)


class RandomSelectSubpolicy(Operation):
    """The transforms of one of several lists, drawn at random, each with a probability of its own.

    policy  a list of lists of pairs (transform, probability)

    Errors: TypeError and ValueError for anything else, which name the place in the lists.
    """

    random = True

    def __init__(self, policy: list[list[tuple[Any, float]]]):
        check_type(policy, (list,), "policy")
        if not policy:
            raise ValueError("policy can not be empty.")
        for number, steps in enumerate(policy):
            check_type(steps, (list,), f"policy[{number}]")
            if not steps:
                raise ValueError(f"policy[{number}] can not be empty.")
            for place, step in enumerate(steps):
                if not isinstance(step, tuple) or len(step) != 2:
                    raise ValueError(f"Value policy[{number}][{place}] needs to be a 2-tuple.")
                check_operations([step[0]])
                check_number(step[1], 0, 1, f"prob of (op, prob) policy[{number}][{place}]")
        self.policy = policy

    def __call__(self, *columns: Any) -> Any:
        random = draws()
        steps = self.policy[random.integer(0, len(self.policy) - 1)]
        return called([operation for operation, probability in steps if random.uniform() < probability], columns, random)
