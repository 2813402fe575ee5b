"""Transforms of sound against MindSpore 2.10's answers, as the sum of the numbers and a weighted sum that depends on their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint import dataset
from adjoint.dataset import audio

Array = np.ndarray[Any, Any]

sound = np.sin(np.arange(128) ** 1.3).reshape(2, 64).astype(np.float32)
spectrum = np.abs(np.sin(np.arange(402.0))).reshape(2, 201, 1).astype(np.float32)
MEL: dict[str, Any] = {"n_fft": 32, "win_length": 20, "hop_length": 8, "f_max": 8000.0, "n_mels": 16}


@pytest.mark.parametrize(("call", "expected"), [
    (lambda: audio.Spectrogram(16)(sound), [450.618, -2.43694]),
    (lambda: audio.Spectrogram(16, 9, 3, 2, audio.WindowType.KAISER, 1.0, True)(sound), [217.968, -0.886832]),
    (lambda: audio.Spectrogram(15, 10, 4, 0, audio.WindowType.BLACKMAN, 0.0, False, True, audio.BorderType.EDGE)(sound),
     [3.24044, -1.47205]),
    (lambda: audio.Spectrogram(16, window=audio.WindowType.BARTLETT, pad_mode=audio.BorderType.SYMMETRIC)(sound), [395.288, 23.6298]),
    (lambda: audio.Spectrogram(16, window=audio.WindowType.HAMMING, center=False)(sound), [372.284, 5.4627]),
    (lambda: audio.MelScale()(spectrum), [251.983, 2.29407]),
    (lambda: audio.MelScale(20, 16000, 50.0, 4000.0, 201, audio.NormType.SLANEY, audio.MelType.SLANEY)(spectrum), [0.638042, 0.0175656]),
    (lambda: audio.MelSpectrogram(8000, 32, n_mels=6, power=1.0)(sound), [198.162, 0.880059]),
    (lambda: audio.AmplitudeToDB()(spectrum - 0.2), [-5567.63, -0.0739643]),
    (lambda: audio.AmplitudeToDB(audio.ScaleType.MAGNITUDE, 2.0, 1e-3, 10.0)(spectrum), [-4133.14, 1.25103]),
    (lambda: audio.melscale_fbanks(33, 10.0, 3000.0, 10, 8000), [21.4243, -0.903912]),
    (lambda: audio.linear_fbanks(33, 0.0, 4000.0, 10, 8000), [29.0625, -0.275149]),
    (lambda: audio.create_dct(10, 20), [40.0, 0.901551]),
    (lambda: audio.create_dct(10, 20, audio.NormMode.ORTHO), [4.47214, 0.106836]),
    (lambda: audio.MFCC(16000, 10, melkwargs={**MEL, "n_mels": 20})(sound), [-4561.74, 173.547]),
    (lambda: audio.MFCC(16000, 10, norm=audio.NormMode.NONE, log_mels=True, melkwargs=MEL)(sound), [-5759.52, 213.806]),
    (lambda: audio.ComplexNorm(2.0)(spectrum.reshape(3, 67, 2)), [201.032, -0.0406935]),
    (lambda: audio.FrequencyMasking(False, 20, 30, 2.0)(spectrum), [309.621, 0.421258]),
])
def test_recorded_answers(call: Callable[[], Array], expected: list[float]) -> None:
    found = call()
    assert found.dtype == np.float32
    numbers = found.astype(np.float64).ravel()
    np.testing.assert_allclose([numbers.sum(), (numbers * np.cos(np.arange(numbers.size))).sum()], expected, 2e-5, 2e-4)


def test_shapes_and_dtypes() -> None:
    assert audio.Spectrogram(16)(sound[0].astype(np.float64)).dtype == np.float64
    assert audio.Spectrogram(16)((sound * 100).astype(np.int16)).dtype == np.float32
    assert audio.Spectrogram(16, power=0.0, onesided=False)(sound[None]).shape == (1, 2, 16, 9, 2)
    assert audio.MelScale(n_stft=201)(spectrum[0]).shape == (128, 1)
    # The distance is from the largest number of each sound [channel, frequency, time].
    loud = audio.AmplitudeToDB(top_db=10.0)(np.stack([spectrum, 100 * spectrum]))
    np.testing.assert_allclose(loud.reshape(2, -1).min(1), loud.reshape(2, -1).max(1) - 10, 1e-5)
    np.testing.assert_allclose(loud[1] - loud[0], 20.0, 1e-5)


def test_random_masks() -> None:
    """Of one band in all channels, of any width up to the largest one; in a pipeline each row has another one."""
    dataset.config.set_seed(3)
    rows = dataset.NumpySlicesDataset(np.ones((300, 2, 4, 6), np.float32), ["spectrum"], shuffle=False)
    rows = rows.map([audio.TimeMasking(True, 3), audio.FrequencyMasking(True, 2)])
    taken = np.stack([row[0] for row in rows.create_tuple_iterator(num_epochs=1, output_numpy=True)]) == 0
    assert (taken[:, 0] == taken[:, 1]).all()
    times, frequencies = taken[:, 0].all(1), taken[:, 0].all(2)
    assert {*times.sum(1)} == {0, 1, 2, 3} and {*frequencies.sum(1)} == {0, 1, 2} and times.any(0).all() and frequencies.any(0).all()
    assert (taken[:, 0] == times[:, None, :] | frequencies[:, :, None]).all()


def test_in_a_pipeline() -> None:
    rows = dataset.NumpySlicesDataset(sound, ["sound"], shuffle=False)
    rows = rows.map([audio.MelSpectrogram(8000, 32, n_mels=6), audio.AmplitudeToDB()])
    taken = list(rows.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert len(taken) == 2 and taken[0][0].shape == (6, 5)
    np.testing.assert_array_equal(taken[1][0], audio.AmplitudeToDB()(audio.MelSpectrogram(8000, 32, n_mels=6)(sound[1])))


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: audio.Spectrogram(0), ValueError, r"Input n_fft is not within the required interval of \[1, 2147483647\]"),
    (lambda: audio.Spectrogram(16, 17), ValueError, "Input win_length should be no more than n_fft, but got win_length: 17 and n_fft: 16"),
    (lambda: audio.Spectrogram(window="hann"), TypeError,  # pyright: ignore[reportArgumentType] - on purpose
     "Argument window with value hann is not of type"),
    (lambda: audio.Spectrogram(200, center=False)(sound), RuntimeError, "at least as long as n_fft, 200, but got 64 numbers"),
    (lambda: audio.Spectrogram(16)("a"), RuntimeError, "Spectrogram: the input must hold numbers"),
    (lambda: audio.MelScale(f_min=9000.0), ValueError, "MelScale: sample_rate // 2 should be greater than f_min when f_max is set to None"),
    (lambda: audio.MelScale()(spectrum[:, :11]), RuntimeError, r"must have n_stft, 201, frequencies .* but got shape \(2, 11, 1\)"),
    (lambda: audio.AmplitudeToDB(amin=0.0), ValueError, r"Input amin is not within the required interval of \(0, 16777216\]"),
    (lambda: audio.TimeMasking(False, 1, 1)(spectrum), RuntimeError, "TimeMasking: the mask must end within the axis of size 1"),
    (lambda: audio.ComplexNorm()(spectrum), RuntimeError, "ComplexNorm: the last axis must be of size 2"),
    (lambda: audio.MFCC(n_mfcc=200), ValueError, "n_mfcc should be no more than n_mels, but got n_mfcc: 200 and n_mels: 128"),
    (lambda: audio.create_dct(0, 20), ValueError, "n_mfcc must be greater than 0, but got 0"),
])
def test_mistakes(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()
