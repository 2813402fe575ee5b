"""Windows for spectra: weights that decrease from the middle to both ends.

A periodic window is that of one more element without the last.  A window of one element is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.ir.types import F32, F64, DType
from adjoint.ops.arguments import check_memory, dtype_or, flag, float_only, integer, operand, wrong
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]

Array = Any


def float_dtype(op: str, dtype: Any, default: DType) -> DType:
    """Return a floating point type, or the default for None."""
    to = dtype_or(op, dtype, default)
    if not to.is_float:
        raise wrong(op, "dtype", "a floating point type", to, TypeError)
    return to


def window(op: str, length: int, periodic: bool, dtype: DType, weights: Callable[[Array], Array]) -> Tensor:
    """Return the weights at points from 0 to 1, computed in Float64."""
    if length < 0:
        raise wrong(op, "window_length", "at least 0", length)
    check_memory(op, "the window", 32.0 * length)
    if length <= 1:
        return Tensor(np.ones(length), dtype)
    return Tensor(weights(np.arange(length) / (length if periodic else length - 1)), dtype)


def length_argument(op: str, window_length: Any, argument: str = "window_length") -> int:
    """Return the one integer in a Tensor."""
    length = operand(op, window_length, argument)
    if not length.dtype.is_integer:
        raise wrong(op, argument, "a Tensor of one integer", length, TypeError)
    if length.size != 1:
        raise wrong(op, argument, "a Tensor of one integer", length)
    return int(length.item())


def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """Return the triangular window 1 - |2 t - 1|, t from 0 to 1; `window_length` is a Tensor of one integer."""
    op = "BartlettWindow"
    to, cyclic = float_dtype(op, dtype, F32), flag(op, "periodic", periodic)
    return window(op, length_argument(op, window_length), cyclic, to, lambda t: 1.0 - np.abs(2.0 * t - 1.0))


def blackman_window(window_length: Any, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """Return the Blackman window 0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t), t from 0 to 1; `window_length` is a Tensor of one integer."""
    op = "BlackmanWindow"
    to, cyclic = float_dtype(op, dtype, F32), flag(op, "periodic", periodic)
    return window(op, length_argument(op, window_length), cyclic, to,
                  lambda t: 0.42 - 0.5 * np.cos(2.0 * math.pi * t) + 0.08 * np.cos(4.0 * math.pi * t))


def hamming(length: int, periodic: bool, alpha: float, beta: float, dtype: DType) -> Tensor:
    """Return the window alpha - beta cos(2 pi t), t from 0 to 1."""
    return window("HammingWindow", length, periodic, dtype, lambda t: alpha - beta * np.cos(2.0 * math.pi * t))


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: DType | None = None
) -> Tensor:
    """Return the Hamming window alpha - beta cos(2 pi t), t from 0 to 1; one of at most one element is Float64."""
    op = "HammingWindow"
    length, cyclic, to = integer(op, "window_length", window_length), flag(op, "periodic", periodic), float_dtype(op, dtype, F32)
    first, second = float_only(op, "alpha", alpha), float_only(op, "beta", beta)
    return hamming(length, cyclic, first, second, F64 if 0 <= length <= 1 else to)


def hann_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """Return the Hann window 0.5 - 0.5 cos(2 pi t), t from 0 to 1; by default, and if it has at most one element, in Float64."""
    op = "HannWindow"
    length, cyclic, to = integer(op, "window_length", window_length), flag(op, "periodic", periodic), float_dtype(op, dtype, F64)
    return window(op, length, cyclic, F64 if 0 <= length <= 1 else to, lambda t: 0.5 - 0.5 * np.cos(2.0 * math.pi * t))


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: DType | None = None) -> Tensor:
    """Return the Kaiser window I0(beta sqrt(1 - (2 t - 1)**2)) / I0(beta), t from 0 to 1, I0 the modified Bessel function; by default, and
    if it has at most one element, in Float64."""
    op = "KaiserWindow"
    length, cyclic, to = integer(op, "window_length", window_length), flag(op, "periodic", periodic), float_dtype(op, dtype, F64)
    shape = float_only(op, "beta", beta)
    return window(op, length, cyclic, F64 if 0 <= length <= 1 else to,
                  lambda t: np.i0(shape * np.sqrt(1.0 - (2.0 * t - 1.0) ** 2)) / np.i0(shape))
