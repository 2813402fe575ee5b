"""Short-time Fourier transforms: those of overlapping frames of a signal, each times a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.ops.shape import Pad
from adjoint.ir.types import C64, C128, F32, F64, I64
from adjoint.ops.arguments import check_memory, choice, flag, operand, whole, wrong
from adjoint.ops.floats import view_as_real
from adjoint.ops.fourier import half_transformed, size_argument, transformed
from adjoint.ops.picking import gather
from adjoint.ops.shapes import reshape, swapaxes
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["stft"]


def short_time(
    x: Tensor, window: Tensor, n_fft: int, hop_length: int, *, normalized: bool, onesided: bool, return_complex: bool
) -> Tensor:
    """Return the transforms of frames of `n_fft` elements of the last axis, `hop_length` apart, each times a window of at most that length:
    [..., frequencies, frames], without `return_complex` with a last axis of both parts."""
    before = (n_fft - window.shape[0]) // 2
    weights = apply(Pad(low=(before,), high=(n_fft - window.shape[0] - before,), interior=(0,), value=0.0), window)
    count = 1 + (x.shape[-1] - n_fft) // hop_length
    places = hop_length * np.arange(count)[:, None] + np.arange(n_fft)
    frames = reshape(gather(x, Tensor(places.reshape(-1), I64), -1), (*x.shape[:-1], count, n_fft)) * weights
    norm = "root" if normalized else "none"
    last = frames.ndim - 1
    found = half_transformed(frames, last, None, norm) if onesided else transformed(frames, last, None, norm, inverse=False)
    spectra = swapaxes(found, -1, -2)
    return spectra if return_complex else view_as_real(spectra)


def frames_operand(op: str, value: Any, argument: str) -> Tensor:
    """Return a tensor of Float32, Float64 or complex numbers."""
    found = operand(op, value, argument)
    if found.dtype not in (F32, F64, C64, C128):
        raise wrong(op, argument, "a Tensor of Float32, Float64, Complex64 or Complex128", found, TypeError)
    return found


def stft(
    x: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None, center: bool = True,
    pad_mode: str = "REFLECT", normalized: bool = False, onesided: bool | None = None, return_complex: bool | None = None,
) -> Tensor:
    """Return the short-time Fourier transform of signals, [n] or [batch, n]: of frames of `n_fft` samples, the transform of each times a
    window.

    hop_length      the samples from one frame to the next, by default n_fft // 4
    window          weights [win_length], by default ones, in the middle of n_fft; `win_length` is by default n_fft
    center          whether frame number t has its middle at sample t * hop_length: n_fft // 2 samples are added at both ends
    pad_mode        how: "CONSTANT" (zeros), "REFLECT" or "SYMMETRIC"
    normalized      whether the result is divided by sqrt(n_fft)
    onesided        whether only the first n_fft // 2 + 1 frequencies are returned; by default for real signals
    return_complex  whether the result is complex, [..., frequencies, frames]; otherwise both parts are a last axis.  By default for complex
                    signals
    """
    op = "STFT"
    given, size = frames_operand(op, x, "x"), size_argument(op, "n_fft", n_fft)
    hop = size // 4 if hop_length is None else whole(op, "hop_length", hop_length)
    check_memory(op, "a frame", 48.0 * size)
    length = size if win_length is None else size_argument(op, "win_length", win_length)
    if length > size:
        raise wrong(op, "win_length", f"in 1..{size}", length)
    if window is None:
        weights = Tensor(np.ones(length), F64 if given.dtype in (F64, C128) else F32)
    else:
        weights = frames_operand(op, window, "window")
        if weights.ndim != 1 or weights.shape[0] != length:
            raise wrong(op, "window", f"of 'win_length' elements, {length}", weights)
    is_complex = given.dtype.is_complex or weights.dtype.is_complex
    half = not is_complex if onesided is None else flag(op, "onesided", onesided)
    as_complex = given.dtype.is_complex if return_complex is None else flag(op, "return_complex", return_complex)
    mode = choice(op, "pad_mode", pad_mode, ("constant", "reflect", "symmetric"))
    scaled, middle = flag(op, "normalized", normalized), flag(op, "center", center)
    if given.ndim not in (1, 2):
        raise wrong(op, "x", "of 1 or 2 dimensions", given)
    if middle:
        given = _extended(op, given, size // 2, mode)
    if size > given.shape[-1]:
        raise wrong(op, "n_fft", f"in 1..{given.shape[-1]}, the number of samples with those of 'center'", size)
    if hop < 1:
        raise wrong(op, "hop_length", "at least 1", hop)
    if half and is_complex:
        raise wrong(op, "onesided", "False for complex numbers", half)
    return short_time(given, weights, size, hop, normalized=scaled, onesided=half, return_complex=as_complex)


def _extended(op: str, x: Tensor, width: int, mode: str) -> Tensor:
    """Return signals with `width` samples more at both ends."""
    n = x.shape[-1]
    if mode == "constant":
        sides = (0,) * (x.ndim - 1) + (width,)
        return apply(Pad(low=sides, high=sides, interior=(0,) * x.ndim, value=0.0), x)
    if width >= n + (mode == "symmetric"):
        raise wrong(op, "n_fft", f"at most {2 * n - 1 if mode == 'reflect' else 2 * n + 1}, twice the samples of 'x', for this 'pad_mode'",
                    2 * width)
    named: Any = mode
    places = np.pad(np.arange(n), width, mode=named)
    return gather(x, Tensor(places, I64), -1)
