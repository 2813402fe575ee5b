"""Discrete Fourier transforms of one, two and more axes: X[k] = sum over j of x[j] exp(-2 pi i j k / n), and what is made of them.

    fft     complex to complex; ifft is its inverse
    rfft    the first n // 2 + 1 numbers of the transform of real ones, half a spectrum; irfft makes real numbers of half a spectrum
    hfft    real numbers from the first half of a sequence whose other half is its conjugate; ihfft is its inverse
    ...2    of two axes, by default the last ones
    ...n    of several axes, by default all

`norm` says which direction is divided: "backward" (the default) the inverse by n, "forward" the transform by n, "ortho" both by sqrt(n).
Axes are cut or filled up with zeros at their end to the sizes that are given.  Integers and two-byte floats become Float32, and results
Complex64; those of Float64 are Complex128.

Raise TypeError for what is not a Tensor of such a dtype or no int, ValueError for axes, sizes and norms that do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.fourier import FourierTransform, HalfSpectrum, HalfSpectrumInverse
from adjoint.ir.ops.shape import Pad, Slice
from adjoint.ir.types import BF16, C64, C128, F16, F32, F64, I16, I32, I64, DType
from adjoint.ops.arguments import axis_argument, check_memory, choice, dimension, dtype_or, float_only, integer, operand, wrong
from adjoint.ops.floats import conj
from adjoint.ops.parts import roll
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2",
    "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]

ACCEPTED = (F16, BF16, F32, F64, I16, I32, I64, C64, C128)
FORWARD = {"backward": "none", "ortho": "root", "forward": "length"}
INVERSE = {"backward": "length", "ortho": "root", "forward": "none"}
"""For each `norm` of users that of the IR's ops."""

# Arguments -----------------------------------------------------------------------------------------------------------


def numbers_argument(op: str, input: Any, argument: str = "input") -> Tensor:
    """Return a tensor that can be transformed, in Float32, Float64 or a complex type."""
    x = operand(op, input, argument)
    if x.dtype not in ACCEPTED:
        raise wrong(op, argument, "a Tensor of floats, of complex numbers or of integers of 16 bits or more", x, TypeError)
    return x if x.dtype in (F32, F64) or x.dtype.is_complex else apply(made(Cast, F32), x)


def as_complex(x: Tensor) -> Tensor:
    if x.dtype.is_complex:
        return x
    return apply(made(Cast, C128 if x.dtype is F64 else C64), x)


def _norm(op: str, norm: Any, names: dict[str, str]) -> str:
    return names["backward" if norm is None else choice(op, "norm", norm, tuple(names))]


def size_argument(op: str, argument: str, value: Any) -> int:
    found = integer(op, argument, value)
    if found < 1:
        raise wrong(op, argument, "at least 1", found)
    return found


def listed(op: str, argument: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (tuple, list)):
        raise wrong(op, argument, "a tuple of ints", value if not isinstance(value, str) else repr(value), TypeError)
    return tuple(value)


def axes_and_sizes(
    op: str, x: Tensor, s: Any, dim: Any, argument: str = "dim", tensor: str = "input"
) -> tuple[list[int], list[int | None]]:
    """Return the axes, and for each its size, or None if that stays."""
    sizes = None if s is None else [size_argument(op, "s", size) for size in listed(op, "s", s)]
    if dim is None:
        count = x.ndim if sizes is None else len(sizes)
        if count > x.ndim:
            raise wrong(op, "s", f"at most {x.ndim} sizes, as {tensor!r} has axes", sizes)
        axes = list(range(x.ndim - count, x.ndim))
    else:
        axes = [axis_argument(op, axis, x.ndim, argument) for axis in listed(op, argument, dim)]
    if not x.ndim:
        raise wrong(op, tensor, "of at least 1 dimension", x)
    if not axes:
        raise wrong(op, "s" if dim is None else argument, "at least one axis", ())
    if len(set(axes)) < len(axes):
        raise wrong(op, argument, "axes without repetition", tuple(axes))
    if sizes is not None and len(sizes) != len(axes):
        raise wrong(op, "s", f"as many sizes as there are axes in {argument!r}, {len(axes)}", tuple(sizes))
    return axes, [None] * len(axes) if sizes is None else list(sizes)


# Parts ---------------------------------------------------------------------------------------------------------------


def resized(x: Tensor, axis: int, size: int | None) -> Tensor:
    """Return `x` cut to a size along an axis, or filled up with zeros at the end."""
    have = x.shape[axis]
    if size is None or size == have:
        return x
    if size < have:
        stop = tuple(size if a == axis else (n if isinstance(n, int) else None) for a, n in enumerate(x.shape))
        return apply(made(Slice, (0,) * x.ndim, stop, (1,) * x.ndim), x)
    high = tuple(size - have if a == axis else 0 for a in range(x.ndim))
    return apply(Pad(low=(0,) * x.ndim, high=high, interior=(0,) * x.ndim, value=0.0), x)


def transformed(x: Tensor, axis: int, size: int | None, norm: str, *, inverse: bool) -> Tensor:
    """Return the transform of one axis, complex to complex."""
    return apply(made(FourierTransform, axis, norm, inverse), resized(as_complex(x), axis, size))


def half_transformed(x: Tensor, axis: int, size: int | None, norm: str, *, inverse: bool = False) -> Tensor:
    """Return half the transform of one axis."""
    given = resized(x, axis, size)
    if x.dtype.is_complex:
        return resized(transformed(given, axis, None, norm, inverse=inverse), axis, given.shape[axis] // 2 + 1)
    found = apply(made(HalfSpectrum, axis, norm), given)
    return conj(found) if inverse else found


def _whole(op: str, x: Tensor, axis: int, size: int | None, norm: str, *, argument: str) -> Tensor:
    """Return real numbers from half a spectrum along one axis."""
    length = 2 * (x.shape[axis] - 1) if size is None else size
    if isinstance(length, int) and length < 1:
        raise wrong(op, "input", f"of at least 2 elements along axis {axis} where '{argument}' is not given", x)
    return apply(HalfSpectrumInverse(axis, norm, length), resized(as_complex(x), axis, length // 2 + 1))


def _others(x: Tensor, axes: Sequence[int], sizes: Sequence[int | None], norm: str, *, inverse: bool) -> Tensor:
    """Return the transform of several axes, complex to complex, from the last to the first."""
    for axis, size in zip(reversed(axes), reversed(sizes), strict=True):
        x = transformed(x, axis, size, norm, inverse=inverse)
    return x


def _one(op: str, input: Any, n: Any, dim: Any) -> tuple[Tensor, int, int | None]:
    x = numbers_argument(op, input)
    size = None if n is None else size_argument(op, "n", n)
    return x, dimension(op, dim, x, "dim"), size


def _several(op: str, input: Any, s: Any, dim: Any, norm: Any, *, inverse: bool) -> Tensor:
    """Return the transform of several axes, complex to complex."""
    x = numbers_argument(op, input)
    axes, sizes = axes_and_sizes(op, x, s, dim)
    return _others(x, axes, sizes, _norm(op, norm, INVERSE if inverse else FORWARD), inverse=inverse)


def _several_to_half(op: str, input: Any, s: Any, dim: Any, norm: Any, *, inverse: bool) -> Tensor:
    """Return the transform of several axes of which the last one becomes half as long."""
    x = numbers_argument(op, input)
    axes, sizes = axes_and_sizes(op, x, s, dim)
    scale = _norm(op, norm, INVERSE if inverse else FORWARD)
    half = half_transformed(x, axes[-1], sizes[-1], scale, inverse=inverse)
    return _others(half, axes[:-1], sizes[:-1], scale, inverse=inverse)


def _several_to_real(op: str, input: Any, s: Any, dim: Any, norm: Any, *, inverse: bool) -> Tensor:
    """Return real numbers from a spectrum of which the last axis is half as long."""
    x = numbers_argument(op, input)
    axes, sizes = axes_and_sizes(op, x, s, dim)
    scale = _norm(op, norm, INVERSE if inverse else FORWARD)
    half = _others(x, axes[:-1], sizes[:-1], scale, inverse=inverse)
    return _whole(op, half if inverse else conj(half), axes[-1], sizes[-1], scale, argument="s")


# One axis ------------------------------------------------------------------------------------------------------------


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along an axis, of `n` elements."""
    x, axis, size = _one("FFT", input, n, dim)
    return transformed(x, axis, size, _norm("FFT", norm, FORWARD), inverse=False)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of `fft` along an axis, of `n` elements."""
    x, axis, size = _one("IFFT", input, n, dim)
    return transformed(x, axis, size, _norm("IFFT", norm, INVERSE), inverse=True)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the first n // 2 + 1 elements of the discrete Fourier transform along an axis, of `n` elements."""
    x, axis, size = _one("RFFT", input, n, dim)
    return half_transformed(x, axis, size, _norm("RFFT", norm, FORWARD))


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the `n` real numbers along an axis whose `rfft` is `input`; by default 2 (m - 1) of m elements."""
    x, axis, size = _one("IRFFT", input, n, dim)
    return _whole("IRFFT", x, axis, size, _norm("IRFFT", norm, INVERSE), argument="n")


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the `n` real numbers along an axis that are the discrete Fourier transform of a sequence whose first half is `input`, and
    whose other half its conjugate in reverse; by default 2 (m - 1) of m elements."""
    x, axis, size = _one("HFFT", input, n, dim)
    return _whole("HFFT", conj(x), axis, size, _norm("HFFT", norm, FORWARD), argument="n")


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the first n // 2 + 1 elements of `ifft` along an axis, of `n` elements: the inverse of `hfft`."""
    x, axis, size = _one("IHFFT", input, n, dim)
    return half_transformed(x, axis, size, _norm("IHFFT", norm, INVERSE), inverse=True)


# Several axes --------------------------------------------------------------------------------------------------------


def fft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of two axes, of the sizes `s`."""
    return _several("FFT2", input, s, listed("FFT2", "dim", dim), norm, inverse=False)


def ifft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the inverse of `fft2`, of axes of the sizes `s`."""
    return _several("IFFT2", input, s, listed("IFFT2", "dim", dim), norm, inverse=True)


def rfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of two axes, of the sizes `s`, of the last one the first half."""
    return _several_to_half("RFFT2", input, s, listed("RFFT2", "dim", dim), norm, inverse=False)


def irfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the real numbers whose `rfft2` is `input`; `s` are the sizes of the result."""
    return _several_to_real("IRFFT2", input, s, listed("IRFFT2", "dim", dim), norm, inverse=True)


def hfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the real transform of two axes, the last of which is half of what has its conjugate in the other half; `s` are the sizes of
    the result."""
    return _several_to_real("HFFT2", input, s, listed("HFFT2", "dim", dim), norm, inverse=False)


def ihfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the inverse of `hfft2`, from axes of the sizes `s`: of the last one the first half."""
    return _several_to_half("IHFFT2", input, s, listed("IHFFT2", "dim", dim), norm, inverse=True)


def fftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of several axes, of the sizes `s`; by default all, or the last ones that have a size."""
    return _several("FFTN", input, s, dim, norm, inverse=False)


def ifftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the inverse of `fftn`, of axes of the sizes `s`."""
    return _several("IFFTN", input, s, dim, norm, inverse=True)


def rfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of several axes, of the sizes `s`, of the last one the first half."""
    return _several_to_half("RFFTN", input, s, dim, norm, inverse=False)


def irfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the real numbers whose `rfftn` is `input`; `s` are the sizes of the result."""
    return _several_to_real("IRFFTN", input, s, dim, norm, inverse=True)


def hfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the real transform of several axes, the last of which is half of what has its conjugate in the other half; `s` are the
    sizes of the result."""
    return _several_to_real("HFFTN", input, s, dim, norm, inverse=False)


def ihfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the inverse of `hfftn`, from axes of the sizes `s`: of the last one the first half."""
    return _several_to_half("IHFFTN", input, s, dim, norm, inverse=True)


# Frequencies ---------------------------------------------------------------------------------------------------------


def _shifted(op: str, input: Any, dim: Any, sign: int) -> Tensor:
    """Return `input` with the halves of axes exchanged; an axis that stands twice among them is moved twice."""
    x = operand(op, input)
    given = (*range(x.ndim),) if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    for axis in (axis_argument(op, a, x.ndim, "dim") for a in given):
        if x.ndim:
            x = roll(x, sign * (x.shape[axis] // 2), axis)
    return x


def fftshift(input: Any, dim: int | Sequence[int] | None = None) -> Tensor:
    """Return the elements with the halves of axes, by default all, exchanged: frequency 0 comes to the middle."""
    return _shifted("FFTShift", input, dim, 1)


def ifftshift(input: Any, dim: int | Sequence[int] | None = None) -> Tensor:
    """Return the inverse of `fftshift`: frequency 0 comes from the middle to the front."""
    return _shifted("IFFTShift", input, dim, -1)


def _frequencies(op: str, n: Any, d: Any, dtype: Any, *, half: bool) -> Tensor:
    """Return multiples of 1 / (n d), computed in Float32."""
    count, spacing, to = size_argument(op, "n", n), float_only(op, "d", d), dtype_or(op, dtype, F32)
    check_memory(op, "the frequencies", 12.0 * count)
    numbers = np.arange(count // 2 + 1) if half else np.concatenate([np.arange((count + 1) // 2), np.arange(-(count // 2), 0)])
    with np.errstate(all="ignore"):
        step = np.float32(np.float64(1.0) / np.float64(count * spacing))
        values = numbers.astype(np.float32) * step
    found = Tensor(values, F32)
    return found if to is F32 else apply(made(Cast, to), found)


def fftfreq(n: int, d: float = 1.0, dtype: DType | None = None) -> Tensor:
    """Return the frequencies of the elements of an `fft` of `n` samples that are `d` apart, in cycles: k / (n d), those from n / 2 on
    less 1 / d; computed in Float32."""
    return _frequencies("FFTFreq", n, d, dtype, half=False)


def rfftfreq(n: int, d: float = 1.0, dtype: DType | None = None) -> Tensor:
    """Return the frequencies of the elements of an `rfft` of `n` samples that are `d` apart, in cycles: k / (n d) for k up to n / 2;
    computed in Float32."""
    return _frequencies("RFFTFreq", n, d, dtype, half=True)
