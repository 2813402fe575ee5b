"""Enumerations for sound: windows, borders, scales."""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "BorderType", "DensityFunction", "FadeShape", "GainType", "Interpolation", "MelType", "Modulation", "NormMode", "NormType",
    "ResampleMethod", "ScaleType", "WindowType",
]


class BorderType(StrEnum):
    """What to pad with: zeros, the outermost number, or the mirror image without (REFLECT) or with it (SYMMETRIC)."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class DensityFunction(StrEnum):
    """The distribution of a noise: triangular, rectangular or normal."""

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class FadeShape(StrEnum):
    """How the volume changes while a sound fades."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(StrEnum):
    """What a gain is a factor of, or decibels."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(StrEnum):
    """How to interpolate between numbers."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class MelType(StrEnum):
    """The formula of the mel scale."""

    HTK = "htk"
    SLANEY = "slaney"


class Modulation(StrEnum):
    """The shape of an oscillation."""

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


class NormMode(StrEnum):
    """Whether a discrete cosine transform is orthonormal."""

    ORTHO = "ortho"
    NONE = "none"


class NormType(StrEnum):
    """Whether filters have the same area."""

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(StrEnum):
    """The window of a filter that resamples."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(StrEnum):
    """Whether a spectrum holds powers or magnitudes."""

    POWER = "power"
    MAGNITUDE = "magnitude"


class WindowType(StrEnum):
    """The window that frames are multiplied by."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"
