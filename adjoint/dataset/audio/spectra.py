"""Spectra of sounds, on linear and mel scales, and in decibels.

Sounds are arrays [..., time]; spectra [..., frequency, time]. Float64 stays so, all other numbers become float32; the arithmetic is in
float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.dataset.arguments import INT32_MAX, LARGEST_FLOAT_INTEGER, check_int, check_number, check_type
from adjoint.dataset.audio.filters import create_dct, melscale_fbanks, window_of
from adjoint.dataset.audio.modes import BorderType, MelType, NormMode, NormType, ScaleType, WindowType
from adjoint.dataset.streams import draws
from adjoint.dataset.transforms.operation import Operation, as_array

__all__ = [
    "MFCC", "AmplitudeToDB", "ComplexNorm", "FrequencyMasking", "MelScale", "MelSpectrogram", "Spectrogram", "TimeMasking",
]

Array = np.ndarray[Any, Any]


class _Spectral(Operation):
    """Base class of transforms of one array of numbers, with at least so many dimensions: RuntimeError for others."""

    rank = 1

    def __call__(self, *columns: Any) -> Array:
        (given,) = columns
        name = type(self).__name__
        array = as_array(given, name)
        if array.dtype.kind not in "biuf":
            raise RuntimeError(f"{name}: the input must hold numbers, but got an array of {array.dtype}.")
        if array.ndim < self.rank:
            raise RuntimeError(f"{name}: the input must have at least {self.rank} dimensions, but got shape {array.shape}.")
        return np.asarray(self.on_numbers(array.astype(np.float64)), np.float64 if array.dtype == np.float64 else np.float32)

    def on_numbers(self, array: Array) -> Array:
        """Return the result for an array of float64."""
        raise NotImplementedError


class Spectrogram(_Spectral):
    """The spectra of overlapping frames of a sound, [..., n_fft // 2 + 1, frames].

    n_fft       the length of a frame
    win_length  the length of the window in the middle of a frame; None: `n_fft`
    hop_length  from one frame to the next; None: half of `win_length`
    pad         zeros at both ends
    window      the window, periodic
    power       of the magnitudes; 0: the real and the imaginary part along a new last axis
    normalized  True to divide by the root of the window's sum of squares
    center      True to pad by half a frame at both ends, in the way of `pad_mode`
    onesided    False for all frequencies, [..., n_fft, frames]; those of the upper half are the conjugates of the others, which
                MindSpore repeats as they are

    TypeError and ValueError for arguments of other types and outside of their ranges; RuntimeError for a sound shorter than a frame.
    """

    def __init__(self, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None, pad: int = 0,
                 window: WindowType = WindowType.HANN, power: float = 2.0, normalized: bool = False, center: bool = True,
                 pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True):
        check_int(n_fft, 1, INT32_MAX, "n_fft")
        check_int(pad, 0, INT32_MAX, "pad")
        check_number(power, 0, LARGEST_FLOAT_INTEGER, "power")
        check_type(window, (WindowType,), "window")
        check_type(pad_mode, (BorderType,), "pad_mode")
        for name, value in (("normalized", normalized), ("center", center), ("onesided", onesided)):
            check_type(value, (bool,), name)
        if win_length is not None:
            check_int(win_length, 1, INT32_MAX, "win_length")
            if win_length > n_fft:
                raise ValueError(f"Input win_length should be no more than n_fft, but got win_length: {win_length} and n_fft: {n_fft}.")
        if hop_length is not None:
            check_int(hop_length, 1, INT32_MAX, "hop_length")
        self.n_fft, self.pad, self.power, self.normalized, self.center, self.onesided = n_fft, pad, power, normalized, center, onesided
        self.window, self.pad_mode = window, pad_mode
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = max(1, self.win_length // 2) if hop_length is None else hop_length

    def on_numbers(self, array: Array) -> Array:
        ends = [(0, 0)] * (array.ndim - 1)
        array = np.pad(array, [*ends, (self.pad, self.pad)])
        if self.center:
            half = self.n_fft // 2
            array = np.pad(array, [*ends, (half, half)], mode=self.pad_mode.value)
        if array.shape[-1] < self.n_fft:
            raise RuntimeError(f"Spectrogram: the sound must be at least as long as n_fft, {self.n_fft}, "
                               f"but got {array.shape[-1]} numbers.")
        before = (self.n_fft - self.win_length) // 2
        window = np.pad(window_of(self.window, self.win_length), (before, self.n_fft - self.win_length - before))
        frames = np.lib.stride_tricks.sliding_window_view(array, self.n_fft, -1)[..., :: self.hop_length, :] * window
        spectrum = (np.fft.rfft if self.onesided else np.fft.fft)(frames, axis=-1).swapaxes(-1, -2)
        if self.normalized:
            spectrum = spectrum / math.sqrt((window**2).sum())
        if self.power == 0:
            return np.stack([spectrum.real, spectrum.imag], -1)
        return np.abs(spectrum) ** self.power


class MelScale(_Spectral):
    """The sums of a spectrum under triangles of equal width on the mel scale, [..., n_mels, time]: see `melscale_fbanks`.

    f_max   None: half of `sample_rate`
    n_stft  how many frequencies the spectrum has; RuntimeError for another number

    TypeError and ValueError for arguments of other types and outside of their ranges.
    """

    rank = 2

    def __init__(self, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0, f_max: float | None = None, n_stft: int = 201,
                 norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK):
        check_int(n_mels, 1, INT32_MAX, "n_mels")
        check_int(sample_rate, 1, INT32_MAX, "sample_rate")
        check_int(n_stft, 1, INT32_MAX, "n_stft")
        self.bank = _bank(type(self).__name__, n_stft, f_min, f_max, n_mels, sample_rate, norm, mel_type)

    def on_numbers(self, array: Array) -> Array:
        if array.shape[-2] != self.bank.shape[1]:
            raise RuntimeError(f"MelScale: the spectrum must have n_stft, {self.bank.shape[1]}, frequencies along the last axis but one, "
                               f"but got shape {array.shape}.")
        return self.bank @ array


def _bank(owner: str, n_stft: int, f_min: Any, f_max: Any, n_mels: int, sample_rate: int, norm: Any, mel_type: Any) -> Array:
    """Return the filters in rows, float64."""
    check_type(f_min, (int, float), "f_min")
    check_type(norm, (NormType,), "norm")
    check_type(mel_type, (MelType,), "mel_type")
    if f_max is None:
        f_max = sample_rate // 2
        if not f_min < f_max:
            raise ValueError(f"{owner}: sample_rate // 2 should be greater than f_min when f_max is set to None, but got f_min: {f_min}.")
    check_number(f_max, 0, LARGEST_FLOAT_INTEGER, "f_max", above_low=True)
    if not f_min < f_max:
        raise ValueError(f"{owner}: f_max should be greater than f_min, but got f_min: {f_min} and f_max: {f_max}.")
    return melscale_fbanks(n_stft, f_min, f_max, n_mels, sample_rate, norm, mel_type).T.astype(np.float64)


class MelSpectrogram(_Spectral):
    """`Spectrogram`, then `MelScale`: the spectra of a sound on the mel scale, [..., n_mels, frames]; arguments as of these."""

    def __init__(self, sample_rate: int = 16000, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
                 f_min: float = 0.0, f_max: float | None = None, pad: int = 0, n_mels: int = 128, window: WindowType = WindowType.HANN,
                 power: float = 2.0, normalized: bool = False, center: bool = True, pad_mode: BorderType = BorderType.REFLECT,
                 onesided: bool = True, norm: NormType = NormType.NONE, mel_scale: MelType = MelType.HTK):
        check_int(sample_rate, 1, INT32_MAX, "sample_rate")
        check_int(n_mels, 1, INT32_MAX, "n_mels")
        check_number(power, 0, LARGEST_FLOAT_INTEGER, "power", above_low=True)
        self.spectrogram = Spectrogram(n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode, onesided)
        self.bank = _bank("MelSpectrogram", n_fft // 2 + 1 if onesided else n_fft, f_min, f_max, n_mels, sample_rate, norm, mel_scale)

    def on_numbers(self, array: Array) -> Array:
        return self.bank @ self.spectrogram.on_numbers(array)


class AmplitudeToDB(_Spectral):
    """A spectrum in decibels: 10 log10(max(x, amin) / max(ref_value, amin)), of magnitudes 20 log10.

    stype   POWER or MAGNITUDE
    top_db  numbers that are further below the largest one of a sound, [..., channel, frequency, time], are raised to that distance

    TypeError and ValueError for arguments of other types and outside of their ranges.
    """

    rank = 2

    def __init__(self, stype: ScaleType = ScaleType.POWER, ref_value: float = 1.0, amin: float = 1e-10, top_db: float = 80.0):
        check_type(stype, (ScaleType,), "stype")
        for name, value in (("ref_value", ref_value), ("amin", amin), ("top_db", top_db)):
            check_number(value, 0, LARGEST_FLOAT_INTEGER, name, above_low=True)
        self.factor = 10.0 if stype is ScaleType.POWER else 20.0
        self.ref_value, self.amin, self.top_db = ref_value, amin, top_db

    def on_numbers(self, array: Array) -> Array:
        decibels = self.factor * (np.log10(np.maximum(array, self.amin)) - math.log10(max(self.ref_value, self.amin)))
        axes = tuple(range(max(0, array.ndim - 3), array.ndim))
        return np.maximum(decibels, decibels.max(axes, keepdims=True, initial=-math.inf) - self.top_db)


class MFCC(_Spectral):
    """Mel-frequency cepstral coefficients of a sound, [..., n_mfcc, frames]: the cosine transform of `MelSpectrogram` in decibels.

    dct_type   2
    norm       ORTHO for an orthonormal transform
    log_mels   True for log(x + 1e-6) in place of decibels
    melkwargs  arguments of `MelSpectrogram`, as a dict

    TypeError and ValueError for arguments of other types and outside of their ranges.
    """

    def __init__(self, sample_rate: int = 16000, n_mfcc: int = 40, dct_type: int = 2, norm: NormMode = NormMode.ORTHO,
                 log_mels: bool = False, melkwargs: dict[str, Any] | None = None):
        check_int(n_mfcc, 1, INT32_MAX, "n_mfcc")
        check_type(dct_type, (int,), "dct_type")
        if dct_type != 2:
            raise ValueError(f"Input dct_type must be 2, but got : {dct_type}.")
        check_type(norm, (NormMode,), "norm")
        check_type(log_mels, (bool,), "log_mels")
        if melkwargs is not None:
            check_type(melkwargs, (dict,), "melkwargs")
        self.mel = MelSpectrogram(sample_rate, **(melkwargs or {}))
        if n_mfcc > (mels := self.mel.bank.shape[0]):
            raise ValueError(f"MFCC: n_mfcc should be no more than n_mels, but got n_mfcc: {n_mfcc} and n_mels: {mels}.")
        self.log_mels, self.decibels = log_mels, AmplitudeToDB()
        self.transform = create_dct(n_mfcc, mels, norm).T.astype(np.float64)

    def on_numbers(self, array: Array) -> Array:
        mels = self.mel.on_numbers(array)
        return self.transform @ (np.log(mels + 1e-6) if self.log_mels else self.decibels.on_numbers(mels))


class ComplexNorm(_Spectral):
    """The magnitudes of complex numbers [..., 2], to a power.

    TypeError and ValueError for a power of another type or below 0; RuntimeError for another last axis.
    """

    def __init__(self, power: float = 1.0):
        check_number(power, 0, LARGEST_FLOAT_INTEGER, "power")
        self.power = power

    def on_numbers(self, array: Array) -> Array:
        if array.shape[-1] != 2:
            raise RuntimeError(f"ComplexNorm: the last axis must be of size 2, but got shape {array.shape}.")
        return np.hypot(array[..., 0], array[..., 1]) ** self.power


class _Masking(_Spectral):
    """Base class of transforms that overwrite a band of a spectrum [..., frequency, time]."""

    rank = 2
    axis: int

    def __init__(self, iid_masks: bool, mask_param: int, mask_start: int, mask_value: float):
        check_type(iid_masks, (bool,), "iid_masks")
        check_int(mask_param, 0, LARGEST_FLOAT_INTEGER, "mask_param")
        check_int(mask_start, 0, LARGEST_FLOAT_INTEGER, "mask_start")
        check_type(mask_value, (int, float), "mask_value")
        self.random, self.mask_param, self.mask_start, self.mask_value = iid_masks, mask_param, mask_start, mask_value

    def on_numbers(self, array: Array) -> Array:
        size, start, length = array.shape[self.axis], self.mask_start, self.mask_param
        if self.random:
            length = draws().integer(0, min(length, size))
            start = draws().integer(0, size - length)
        if self.mask_param > size or start + length > size:
            raise RuntimeError(f"{type(self).__name__}: the mask must end within the axis of size {size}, but got mask_param: "
                               f"{self.mask_param} and mask_start: {self.mask_start}.")
        # Its array belongs to it: it was converted before.
        array.swapaxes(self.axis, -1)[..., start : start + length] = self.mask_value
        return array


class FrequencyMasking(_Masking):
    """A spectrum [..., frequency, time] with a band of frequencies overwritten.

    iid_masks        True for a random band, of at most `freq_mask_param` frequencies
    freq_mask_param  how many frequencies; mask_start the first one
    mask_value       what to write

    TypeError and ValueError for arguments of other types and outside of their ranges; RuntimeError for a band that ends outside.
    """

    axis = -2

    def __init__(self, iid_masks: bool = False, freq_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0):
        super().__init__(iid_masks, freq_mask_param, mask_start, mask_value)


class TimeMasking(_Masking):
    """A spectrum [..., frequency, time] with a span of time overwritten.

    iid_masks        True for a random span, of at most `time_mask_param` frames
    time_mask_param  how many frames; mask_start the first one
    mask_value       what to write

    TypeError and ValueError for arguments of other types and outside of their ranges; RuntimeError for a span that ends outside.
    """

    axis = -1

    def __init__(self, iid_masks: bool = False, time_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0):
        super().__init__(iid_masks, time_mask_param, mask_start, mask_value)
