"""Filter banks and windows for spectra, as arrays.

The mel scales are those of HTK (Young et al., The HTK Book, 5.4) and of Slaney's Auditory Toolbox (1998), as `torchaudio` has them.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, LARGEST_FLOAT_INTEGER, check_int, check_interval, check_number, check_type
from adjoint.dataset.audio.modes import MelType, NormMode, NormType, WindowType

__all__ = ["create_dct", "linear_fbanks", "melscale_fbanks", "window_of"]

Array = np.ndarray[Any, Any]

_SLOPE, _KNEE = 200.0 / 3, 1000.0
"""Of Slaney's scale: hertz for each mel up to the knee, above which it is logarithmic."""
_STEP = math.log(6.4) / 27
KAISER_BETA = 12.0


@functools.lru_cache(64)
def window_of(kind: WindowType, length: int) -> Array:
    """Return a periodic window, float64: that of `length` + 1 numbers without the last one."""
    made = {WindowType.BARTLETT: np.bartlett, WindowType.BLACKMAN: np.blackman, WindowType.HAMMING: np.hamming, WindowType.HANN: np.hanning,
            WindowType.KAISER: lambda count: np.kaiser(count, KAISER_BETA)}[kind](length + 1)[:-1]
    made.setflags(write=False)
    return made


def _mel(hertz: float, kind: MelType) -> float:
    if kind is MelType.HTK:
        return 2595.0 * math.log10(1.0 + hertz / 700.0)
    return hertz / _SLOPE if hertz < _KNEE else _KNEE / _SLOPE + math.log(hertz / _KNEE) / _STEP


def _hertz(mels: Array, kind: MelType) -> Array:
    if kind is MelType.HTK:
        return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    return np.where(mels < _KNEE / _SLOPE, mels * _SLOPE, _KNEE * np.exp(_STEP * (mels - _KNEE / _SLOPE)))


def _triangles(n_freqs: int, sample_rate: int, corners: Array) -> Array:
    """Return the triangles over three corners each, [n_freqs, len(corners) - 2], float64."""
    frequencies = np.linspace(0.0, sample_rate // 2, n_freqs)
    distance = corners[None, :] - frequencies[:, None]
    width = np.diff(corners)
    return np.maximum(0.0, np.minimum(-distance[:, :-2] / width[:-1], distance[:, 2:] / width[1:])) + 0.0  # no -0


def _check_bank(n_freqs: Any, f_min: Any, f_max: Any, count: Any, name: str, sample_rate: Any) -> None:
    check_int(n_freqs, 0, INT32_MAX, "n_freqs")
    check_type(f_min, (int, float), "f_min")
    check_number(f_max, 0, LARGEST_FLOAT_INTEGER, "f_max", above_low=True)
    check_int(count, 1, INT32_MAX, name)
    check_int(sample_rate, 1, INT32_MAX, "sample_rate")
    if not f_min < f_max:
        raise ValueError(f"f_max should be greater than f_min, but got f_min: {f_min} and f_max: {f_max}.")


def melscale_fbanks(n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int, norm: NormType = NormType.NONE,
                    mel_type: MelType = MelType.HTK) -> Array:
    """Return triangular filters of equal width on the mel scale, from `f_min` to `f_max` hertz, [n_freqs, n_mels], float32.

    norm  SLANEY to divide each filter by half of its width in hertz

    TypeError and ValueError for arguments of other types and outside of their ranges.
    """
    _check_bank(n_freqs, f_min, f_max, n_mels, "n_mels", sample_rate)
    check_type(norm, (NormType,), "norm")
    check_type(mel_type, (MelType,), "mel_type")
    corners = _hertz(np.linspace(_mel(f_min, mel_type), _mel(f_max, mel_type), n_mels + 2), mel_type)
    corners[0], corners[-1] = f_min, f_max  # not rounded there and back
    bank = _triangles(n_freqs, sample_rate, corners)
    if norm is NormType.SLANEY:
        bank = bank * (2.0 / (corners[2:] - corners[:-2]))
    return bank.astype(np.float32)


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> Array:
    """Return triangular filters of equal width in hertz, from `f_min` to `f_max`, [n_freqs, n_filter], float32.

    TypeError and ValueError for arguments of other types and outside of their ranges.
    """
    _check_bank(n_freqs, f_min, f_max, n_filter, "n_filter", sample_rate)
    return _triangles(n_freqs, sample_rate, np.linspace(f_min, f_max, n_filter + 2)).astype(np.float32)


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> Array:
    """Return the matrix of the discrete cosine transform of type II, [n_mels, n_mfcc], float32; with ORTHO it is orthonormal.

    TypeError and ValueError for arguments of other types and for counts that are not above 0.
    """
    for name, value in (("n_mfcc", n_mfcc), ("n_mels", n_mels)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} with value {value} is not of type {int}, but got {type(value)}.")
        if value <= 0:
            raise ValueError(f"{name} must be greater than 0, but got {value}.")
        check_interval(value, 1, INT32_MAX, name)
    check_type(norm, (NormMode,), "norm")
    matrix = np.cos(math.pi / n_mels * (np.arange(n_mels)[:, None] + 0.5) * np.arange(n_mfcc))
    if norm is NormMode.NONE:
        return (2.0 * matrix).astype(np.float32)
    matrix[:, 0] *= math.sqrt(0.5)
    return (matrix * math.sqrt(2.0 / n_mels)).astype(np.float32)
