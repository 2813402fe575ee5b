"""`mindspore.scipy.fft`: discrete cosine transforms of type II, orthonormal, and their inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ir.ops.complex import complex_dtype
from adjoint.ir.types import I64
from adjoint.ops.arguments import dimension, integer, wrong
from adjoint.ops.floats import complex_of, imag, real
from adjoint.ops.fourier import as_complex, axes_and_sizes, numbers_argument, resized, size_argument, transformed
from adjoint.ops.picking import gather
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["dct", "dctn", "idct", "idctn"]


def _check(op: str, type: Any, norm: Any) -> None:
    """Raise ValueError for another type than II, or another norm than the orthonormal one."""
    if integer(op, "type", type) != 2:
        raise wrong(op, "type", "2, as in MindSpore", type)
    if norm not in (None, "ortho"):
        raise wrong(op, "norm", "'ortho' or None, which mean the same here as in MindSpore", repr(norm))


def _cosines(x: Tensor, axis: int, *, inverse: bool) -> Tensor:
    """Return the discrete cosine transform of type II along an axis, or its inverse, that of type III; both orthonormal.

    With x in another order, v = (x[0], x[2], ..., x[3], x[1]), y[k] is the real part of c[k] exp(-pi i k / 2n) times element k of the
    Fourier transform of v, where c is sqrt(2 / n), and sqrt(1 / n) for k = 0 (J. Makhoul, "A fast cosine transform in one and two
    dimensions", 1980).
    """
    if x.dtype.is_complex:
        return complex_of(_cosines(real(x), axis, inverse=inverse), _cosines(imag(x), axis, inverse=inverse))
    n = x.shape[axis]
    order = np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])
    number = np.arange(n)
    weights = np.exp(-0.5j * math.pi * number / n) * np.sqrt(np.where(number == 0, 1.0, 2.0) / n)
    dtype = complex_dtype(x.dtype)
    factor = Tensor(weights.reshape(-1, *(1,) * (x.ndim - 1 - axis)).astype(dtype.array), dtype)
    if inverse:
        back = np.empty(n, np.int64)
        back[order] = number
        return gather(real(transformed(as_complex(x) * factor, axis, None, "none", inverse=False)), Tensor(back, I64), axis)
    return real(transformed(gather(x, Tensor(order, I64), axis), axis, None, "none", inverse=False) * factor)


def _one(op: str, x: Any, type: Any, n: Any, axis: Any, norm: Any, *, inverse: bool) -> Tensor:
    given = numbers_argument(op, x, "x")
    _check(op, type, norm)
    place, size = dimension(op, axis, given, "axis", "x"), None if n is None else size_argument(op, "n", n)
    return _cosines(resized(given, place, size), place, inverse=inverse)


def _several(op: str, x: Any, type: Any, s: Any, axes: Any, norm: Any, *, inverse: bool) -> Tensor:
    given = numbers_argument(op, x, "x")
    _check(op, type, norm)
    for axis, size in zip(*axes_and_sizes(op, given, s, axes, "axes", "x"), strict=True):
        given = _cosines(resized(given, axis, size), axis, inverse=inverse)
    return given


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the discrete cosine transform of type II along an axis, of `n` elements: sqrt(2 / n) times the sum over j of
    x[j] cos(pi k (2 j + 1) / 2n), divided by sqrt(2) for k = 0.

    Raise TypeError for what is not a Tensor of floats, of complex numbers or of integers of 16 bits or more, ValueError for an axis or
    size that does not exist, another `type` than 2 or another `norm` than None and "ortho", which mean the same as in MindSpore.
    """
    return _one("DCT", x, type, n, axis, norm, inverse=False)


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of `dct`; it raises the same errors."""
    return _one("IDCT", x, type, n, axis, norm, inverse=True)


def dctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """Return the discrete cosine transform of type II of several axes, of the sizes `s`; by default all, or the last ones that have a
    size.  It raises the errors of `dct`."""
    return _several("DCTN", x, type, s, axes, norm, inverse=False)


def idctn(
    x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """Return the inverse of `dctn`; it raises the same errors."""
    return _several("IDCTN", x, type, s, axes, norm, inverse=True)
