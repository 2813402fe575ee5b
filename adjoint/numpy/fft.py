"""`mindspore.numpy.fft`: the Fourier transforms of `ops`, with NumPy's names of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ops.fourier import fftfreq, one_axis, rfftfreq, several_axes, shifted
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2",
    "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return `ops.fft` along an axis; it raises the same errors."""
    return one_axis("FFT", a, n, axis, norm, axis="axis", tensor="a")


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return `ops.ifft` along an axis; it raises the same errors."""
    return one_axis("IFFT", a, n, axis, norm, axis="axis", tensor="a")


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return `ops.rfft` along an axis; it raises the same errors."""
    return one_axis("RFFT", a, n, axis, norm, axis="axis", tensor="a")


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return `ops.irfft` along an axis; it raises the same errors."""
    return one_axis("IRFFT", a, n, axis, norm, axis="axis", tensor="a")


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return `ops.hfft` along an axis; it raises the same errors."""
    return one_axis("HFFT", a, n, axis, norm, axis="axis", tensor="a")


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return `ops.ihfft` along an axis; it raises the same errors."""
    return one_axis("IHFFT", a, n, axis, norm, axis="axis", tensor="a")


def fft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return `ops.fft2` of axes; it raises the same errors."""
    return several_axes("FFT2", a, s, axes, norm, axis="axes", tensor="a")


def ifft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return `ops.ifft2` of axes; it raises the same errors."""
    return several_axes("IFFT2", a, s, axes, norm, axis="axes", tensor="a")


def rfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return `ops.rfft2` of axes; it raises the same errors."""
    return several_axes("RFFT2", a, s, axes, norm, axis="axes", tensor="a")


def irfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return `ops.irfft2` of axes; it raises the same errors."""
    return several_axes("IRFFT2", a, s, axes, norm, axis="axes", tensor="a")


def hfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return `ops.hfft2` of axes; it raises the same errors."""
    return several_axes("HFFT2", a, s, axes, norm, axis="axes", tensor="a")


def ihfft2(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return `ops.ihfft2` of axes; it raises the same errors."""
    return several_axes("IHFFT2", a, s, axes, norm, axis="axes", tensor="a")


def fftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return `ops.fftn` of axes; it raises the same errors."""
    return several_axes("FFTN", a, s, axes, norm, axis="axes", tensor="a")


def ifftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return `ops.ifftn` of axes; it raises the same errors."""
    return several_axes("IFFTN", a, s, axes, norm, axis="axes", tensor="a")


def rfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return `ops.rfftn` of axes; it raises the same errors."""
    return several_axes("RFFTN", a, s, axes, norm, axis="axes", tensor="a")


def irfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return `ops.irfftn` of axes; it raises the same errors."""
    return several_axes("IRFFTN", a, s, axes, norm, axis="axes", tensor="a")


def hfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return `ops.hfftn` of axes; it raises the same errors."""
    return several_axes("HFFTN", a, s, axes, norm, axis="axes", tensor="a")


def ihfftn(a: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return `ops.ihfftn` of axes; it raises the same errors."""
    return several_axes("IHFFTN", a, s, axes, norm, axis="axes", tensor="a")


def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return `ops.fftshift` of axes, by default all; it raises the same errors."""
    return shifted("FFTShift", x, axes, 1, axis="axes", tensor="x")


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return `ops.ifftshift` of axes, by default all; it raises the same errors."""
    return shifted("IFFTShift", x, axes, -1, axis="axes", tensor="x")
