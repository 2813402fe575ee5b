"""Transforms of sound: `mindspore.dataset.audio`. Spectra are here; filters in time and effects are not."""

from typing import Any

from adjoint.dataset.audio.filters import create_dct, linear_fbanks, melscale_fbanks
from adjoint.dataset.audio.modes import (
    BorderType,
    DensityFunction,
    FadeShape,
    GainType,
    Interpolation,
    MelType,
    Modulation,
    NormMode,
    NormType,
    ResampleMethod,
    ScaleType,
    WindowType,
)
from adjoint.dataset.audio.spectra import (
    MFCC,
    AmplitudeToDB,
    ComplexNorm,
    FrequencyMasking,
    MelScale,
    MelSpectrogram,
    Spectrogram,
    TimeMasking,
)
from adjoint.foundation.diagnostics import missing_name

__all__ = [
    "MFCC", "AmplitudeToDB", "BorderType", "ComplexNorm", "DensityFunction", "FadeShape", "FrequencyMasking", "GainType", "Interpolation",
    "MelScale", "MelSpectrogram", "MelType", "Modulation", "NormMode", "NormType", "ResampleMethod", "ScaleType", "Spectrogram",
    "TimeMasking", "WindowType", "create_dct", "linear_fbanks", "melscale_fbanks",
]


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
