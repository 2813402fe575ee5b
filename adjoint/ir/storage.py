"""The storage form and the compute form of arrays.

The two-byte floats are stored in two bytes (bf16 as uint16, which NumPy has no name for) and computed in float32;
every other dtype is stored as it is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.types import BF16, F16, DType

__all__ = ["from_compute", "to_compute"]

Array = np.ndarray[Any, Any]

_HALF = np.uint32(16)
"""The bits of a two-byte float in four bytes; of this dtype, since a shift by a Python int has another dtype before NumPy 2."""


def to_compute(stored: Array, dtype: DType) -> Array:
    """Convert an array from the form in which elements of `dtype` are stored to the dtype in which they are computed; no copy if these
    agree.
    """
    if dtype is BF16:
        # In place: a sum or shift of an array without dimensions is a NumPy number, which before NumPy 2 is an int64 besides.
        bits = np.array(stored, np.uint32)
        return np.left_shift(bits, _HALF, out=bits).view(np.float32)
    if dtype is F16:
        return stored.astype(np.float32)
    return stored


def from_compute(computed: Any, dtype: DType) -> Array:
    """Convert an array to the form in which elements of `dtype` are stored; two-byte floats are rounded to nearest, ties to even."""
    array = np.asarray(computed)
    if dtype is BF16:
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32).reshape(array.shape)
        high = bits >> _HALF
        rounded = (bits + (np.uint32(0x7FFF) + (high & np.uint32(1)))) >> _HALF
        quiet = high | np.uint32(0x40)
        return np.where(np.isnan(array), quiet, rounded).astype(np.uint16)
    with np.errstate(over="ignore"):
        return array.astype(dtype.array, copy=False)
