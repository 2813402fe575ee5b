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
from adjoint.ir.ops.complex import complex_dtype
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
    return apply(made(Cast, complex_dtype(x.dtype)), x)


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


def _whole(op: str, x: Tensor, axis: int, size: int | None, norm: str, *, argument: str, tensor: str) -> Tensor:
    """Return real numbers from half a spectrum along one axis."""
    length = 2 * (x.shape[axis] - 1) if size is None else size
    if isinstance(length, int) and length < 1:
        raise wrong(op, tensor, f"of at least 2 elements along axis {axis} where '{argument}' is not given", x)
    return apply(HalfSpectrumInverse(axis, norm, length), resized(as_complex(x), axis, length // 2 + 1))


def _others(x: Tensor, axes: Sequence[int], sizes: Sequence[int | None], norm: str, *, inverse: bool) -> Tensor:
    """Return the transform of several axes, complex to complex, from the last to the first."""
    for axis, size in zip(reversed(axes), reversed(sizes), strict=True):
        x = transformed(x, axis, size, norm, inverse=inverse)
    return x


def one_axis(op: str, input: Any, n: Any, dim: Any, norm: Any, *, axis: str = "dim", tensor: str = "input") -> Tensor:
    """Return the transform of one axis that has the name `op`: "FFT", "IRFFT" and so on.

    axis, tensor  how the user's arguments `dim` and `input` are called
    """
    x = numbers_argument(op, input, tensor)
    size = None if n is None else size_argument(op, "n", n)
    place = dimension(op, dim, x, axis, tensor)
    inverse = op.startswith("I")
    scale = _norm(op, norm, INVERSE if inverse else FORWARD)
    if op in ("FFT", "IFFT"):
        return transformed(x, place, size, scale, inverse=inverse)
    if op in ("RFFT", "IHFFT"):
        return half_transformed(x, place, size, scale, inverse=inverse)
    return _whole(op, x if inverse else conj(x), place, size, scale, argument="n", tensor=tensor)


def several_axes(op: str, input: Any, s: Any, dim: Any, norm: Any, *, axis: str = "dim", tensor: str = "input") -> Tensor:
    """Return the transform of several axes that has the name `op`: "FFT2", "IRFFTN" and so on.

    axis, tensor  how the user's arguments `dim` and `input` are called
    """
    x = numbers_argument(op, input, tensor)
    axes, sizes = axes_and_sizes(op, x, s, listed(op, axis, dim) if op.endswith("2") else dim, axis, tensor)
    inverse = op.startswith("I")
    scale = _norm(op, norm, INVERSE if inverse else FORWARD)
    kind = op.rstrip("2N")
    if kind in ("FFT", "IFFT"):
        return _others(x, axes, sizes, scale, inverse=inverse)
    if kind in ("RFFT", "IHFFT"):
        half = half_transformed(x, axes[-1], sizes[-1], scale, inverse=inverse)
        return _others(half, axes[:-1], sizes[:-1], scale, inverse=inverse)
    half = _others(x, axes[:-1], sizes[:-1], scale, inverse=inverse)
    return _whole(op, half if inverse else conj(half), axes[-1], sizes[-1], scale, argument="s", tensor=tensor)


# One axis ------------------------------------------------------------------------------------------------------------


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along an axis, of `n` elements."""
    return one_axis("FFT", input, n, dim, norm)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of `fft` along an axis, of `n` elements."""
    return one_axis("IFFT", input, n, dim, norm)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the first n // 2 + 1 elements of the discrete Fourier transform along an axis, of `n` elements."""
    return one_axis("RFFT", input, n, dim, norm)


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the `n` real numbers along an axis whose `rfft` is `input`; by default 2 (m - 1) of m elements."""
    return one_axis("IRFFT", input, n, dim, norm)


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the `n` real numbers along an axis that are the discrete Fourier transform of a sequence whose first half is `input`, and
    whose other half its conjugate in reverse; by default 2 (m - 1) of m elements."""
    return one_axis("HFFT", input, n, dim, norm)


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the first n // 2 + 1 elements of `ifft` along an axis, of `n` elements: the inverse of `hfft`."""
    return one_axis("IHFFT", input, n, dim, norm)


# Several axes --------------------------------------------------------------------------------------------------------


def fft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of two axes, of the sizes `s`."""
    return several_axes("FFT2", input, s, dim, norm)


def ifft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the inverse of `fft2`, of axes of the sizes `s`."""
    return several_axes("IFFT2", input, s, dim, norm)


def rfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of two axes, of the sizes `s`, of the last one the first half."""
    return several_axes("RFFT2", input, s, dim, norm)


def irfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the real numbers whose `rfft2` is `input`; `s` are the sizes of the result."""
    return several_axes("IRFFT2", input, s, dim, norm)


def hfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the real transform of two axes, the last of which is half of what has its conjugate in the other half; `s` are the sizes of
    the result."""
    return several_axes("HFFT2", input, s, dim, norm)


def ihfft2(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """Return the inverse of `hfft2`, from axes of the sizes `s`: of the last one the first half."""
    return several_axes("IHFFT2", input, s, dim, norm)


def fftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of several axes, of the sizes `s`; by default all, or the last ones that have a size."""
    return several_axes("FFTN", input, s, dim, norm)


def ifftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the inverse of `fftn`, of axes of the sizes `s`."""
    return several_axes("IFFTN", input, s, dim, norm)


def rfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform of several axes, of the sizes `s`, of the last one the first half."""
    return several_axes("RFFTN", input, s, dim, norm)


def irfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the real numbers whose `rfftn` is `input`; `s` are the sizes of the result."""
    return several_axes("IRFFTN", input, s, dim, norm)


def hfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the real transform of several axes, the last of which is half of what has its conjugate in the other half; `s` are the
    sizes of the result."""
    return several_axes("HFFTN", input, s, dim, norm)


def ihfftn(input: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None) -> Tensor:
    """Return the inverse of `hfftn`, from axes of the sizes `s`: of the last one the first half."""
    return several_axes("IHFFTN", input, s, dim, norm)


# Frequencies ---------------------------------------------------------------------------------------------------------


def shifted(op: str, input: Any, dim: Any, sign: int, *, axis: str = "dim", tensor: str = "input") -> Tensor:
    """Return `input` with the halves of axes exchanged; an axis that stands twice among them is moved twice."""
    x = operand(op, input, tensor)
    given = (*range(x.ndim),) if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    for place in (axis_argument(op, a, x.ndim, axis) for a in given):
        if x.ndim:
            x = roll(x, sign * (x.shape[place] // 2), place)
    return x


def fftshift(input: Any, dim: int | Sequence[int] | None = None) -> Tensor:
    """Return the elements with the halves of axes, by default all, exchanged: frequency 0 comes to the middle."""
    return shifted("FFTShift", input, dim, 1)


def ifftshift(input: Any, dim: int | Sequence[int] | None = None) -> Tensor:
    """Return the inverse of `fftshift`: frequency 0 comes from the middle to the front."""
    return shifted("IFFTShift", input, dim, -1)


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
