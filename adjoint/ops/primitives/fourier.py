"""Fourier transforms as objects that are made with their attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.types import BOOL, C64, C128, F32, F64, I8, I16, I32, I64, U8
from adjoint.ops import fourier, frames
from adjoint.ops.arguments import choice, flag, integer, operand, wrong
from adjoint.ops.arithmetic import cast
from adjoint.ops.floats import real
from adjoint.ops.primitive import Primitive
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["FFTWithSize", "STFT"]

_REALS = (F32, F64, BOOL, I8, I16, I32, I64, U8)


class FFTWithSize(Primitive):
    """The discrete Fourier transform of the last `signal_ndim` axes, 1, 2 or 3.

        inverse  real   onesided   computes                          of numbers that are
        False    False             `ops.fftn`                        complex
        True     False             `ops.ifftn`                       complex
        False    True   True       `ops.rfftn`                       real
        False    True   False      `ops.fftn`                        real
        True     True   True       `ops.irfftn`                      complex
        True     True   False      the real part of `ops.ifftn`      complex

    signal_sizes  the sizes of the result's axes where it is `ops.irfftn`; by default 2 (m - 1) along the last one, of m elements

    Raise TypeError for numbers of another kind, RuntimeError for fewer axes, ValueError for other attributes.
    """

    def __init__(
        self, signal_ndim: int, inverse: bool, real: bool, norm: str = "backward", onesided: bool = True,
        signal_sizes: Sequence[int] = (),
    ):
        op = "FFTWithSize"
        if not isinstance(signal_sizes, (tuple, list)):
            raise wrong(op, "signal_sizes", "a tuple of ints", signal_sizes, TypeError)
        super().__init__(
            signal_ndim=integer(op, "signal_ndim", signal_ndim), inverse=flag(op, "inverse", inverse), real=flag(op, "real", real),
            norm=choice(op, "norm", norm, tuple(fourier.FORWARD)), onesided=flag(op, "onesided", onesided),
            signal_sizes=tuple(fourier.size_argument(op, "signal_sizes", size) for size in signal_sizes))
        if self.signal_sizes and len(self.signal_sizes) != self.signal_ndim:
            raise wrong(op, "signal_sizes", f"as many sizes as 'signal_ndim', {self.signal_ndim}", self.signal_sizes)

    def __call__(self, x: Any) -> Tensor:
        op = "FFTWithSize"
        given, count = operand(op, x, "x"), self.signal_ndim
        accepted, kind = (_REALS, "a real") if self.real and not self.inverse else ((C64, C128), "a complex")
        if given.dtype not in accepted:
            raise wrong(op, "x", f"a Tensor of {kind} type", given, TypeError)
        if not 1 <= count <= min(3, given.ndim):
            raise wrong(op, "signal_ndim", f"in 1..{min(3, given.ndim)}, for a tensor of {given.ndim} dimensions", count, RuntimeError)
        if given.dtype in (BOOL, I8, U8):
            given = cast(given, F32)
        axes = tuple(range(-count, 0))
        if not self.inverse:
            transform = fourier.rfftn if self.real and self.onesided else fourier.fftn
            return transform(given, None, axes, self.norm)
        if not self.real:
            return fourier.ifftn(given, None, axes, self.norm)
        if self.onesided:
            return fourier.irfftn(given, self.signal_sizes or None, axes, self.norm)
        return real(fourier.ifftn(given, None, axes, self.norm))


class STFT(Primitive):
    """The short-time Fourier transform: `ops.stft` of signals as they are, with `center` False, times a window that is given.

    Raise TypeError for what is not a Tensor of Float32, Float64 or a complex type, ValueError for sizes that do not fit.
    """

    def __init__(
        self, n_fft: int, hop_length: int, win_length: int, normalized: bool, onesided: bool, return_complex: bool
    ):
        op = "STFT"
        super().__init__(
            n_fft=integer(op, "n_fft", n_fft), hop_length=integer(op, "hop_length", hop_length),
            win_length=integer(op, "win_length", win_length), normalized=flag(op, "normalized", normalized),
            onesided=flag(op, "onesided", onesided), return_complex=flag(op, "return_complex", return_complex))

    def __call__(self, x: Any, window: Any) -> Tensor:
        return frames.stft(
            x, self.n_fft, self.hop_length, self.win_length, window, False, "REFLECT", self.normalized, self.onesided, self.return_complex)
