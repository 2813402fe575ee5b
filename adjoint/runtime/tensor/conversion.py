"""Convert the user's data and dtypes to arrays and dtypes.

    numbers, nested lists, arrays     array_from     an array in storage form, and its dtype
    one Python number                 number_array   the same, for a given dtype
    names, classes, NumPy's dtypes    dtype_argument, dtype_of_array, dtype_of_lists, numpy_dtype

Storage form is the array whose bytes a tensor holds: for most dtypes NumPy's own, for bfloat16 integers of 16 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import integer_text
from adjoint.ir.op import Op
from adjoint.ir.storage import from_compute
from adjoint.ir.types import BF16, BOOL, C128, DTYPES, F32, F64, I32, I64, U64, DType

__all__ = ["array_from", "dtype_argument", "dtype_of_array", "dtype_of_lists", "number_array", "numpy_dtype", "out_of_range"]


def dtype_of_array(array: np.ndarray[Any, Any] | np.generic) -> DType:
    """Return the dtype of a NumPy array; TypeError if it is not supported."""
    found = _FROM_NUMPY.get(array.dtype.newbyteorder("="))
    if found is None:
        raise TypeError(f"For 'Tensor', an array of dtype {array.dtype} is not supported; supported are "
                        f"{', '.join(d.long_name for d in DTYPES.values())}.")
    return found


_FROM_NUMPY = {d.array: d for d in DTYPES.values() if d is not BF16}


def dtype_of_lists(found: DType) -> DType:
    """Return the dtype of a tensor of nested lists whose numbers have the dtype `found` in NumPy, be they arrays', tensors' or Python's."""
    return F32 if found is F64 else I64 if found is I32 else found


def dtype_argument(dtype: Any) -> DType:
    """Return a DType from a user's argument: a DType, its name, a NumPy dtype, or a Python type."""
    if isinstance(dtype, DType):
        return dtype
    python = {bool: BOOL, int: I64, float: F64, complex: C128}
    if isinstance(dtype, type) and dtype in python:
        return python[dtype]
    if isinstance(dtype, str):
        for known in DTYPES.values():
            if dtype.lower() in (known.name, known.long_name.lower()):
                return known
    try:
        if not isinstance(dtype, (str, type, np.dtype)):
            raise TypeError
        return dtype_of_array(np.empty(0, np.dtype(dtype)))
    except (TypeError, ValueError, SyntaxError):  # NumPy's errors for texts that name no dtype
        raise TypeError("For 'Tensor', the argument 'dtype' must be a dtype such as float32, "
                        f"but got {dtype!r} of type {type(dtype).__name__}.") from None


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """Convert the dtype argument of `Tensor.__array__` to a NumPy dtype; TypeError if it is none."""
    try:
        return np.dtype(dtype.compute.array if isinstance(dtype, DType) else dtype)
    except (TypeError, ValueError, SyntaxError):
        raise TypeError("For 'Tensor.__array__', the argument 'dtype' must be a dtype of NumPy's, "
                        f"but got {dtype!r} of type {type(dtype).__name__}.") from None


def array_from(data: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    """Convert a user's data to a NumPy array in storage form (see the module), and return it with its dtype.

    data   a number, nested lists or tuples of numbers, or an array
    dtype  the wanted dtype; None: the one that follows from the data

    TypeError for data that are not numbers, ValueError for ragged lists, RuntimeError for an integer out of range.
    """
    if isinstance(data, (str, bytes)) or data is None:
        raise TypeError(f"For 'Tensor', the data must be a number, list, tuple, NumPy array or Tensor, "
                        f"but got {data!r} of type {type(data).__name__}.")
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        found = dtype_of_array(array)
    elif isinstance(data, (bool, int, float)):
        found = BOOL if isinstance(data, bool) else I64 if isinstance(data, int) else F32
        if found is I64 and dtype is None and not -(2**63) <= data < 2**63:
            if not 0 <= data < 2**64:
                raise out_of_range("Tensor", data, "Int64 and UInt64")
            found = U64
        if dtype is not None:
            cut = isinstance(data, float) and not dtype.is_inexact
            return number_array(_cut(data, dtype) if cut else data, dtype), dtype
        with np.errstate(over="ignore"):  # beyond Float32 it is infinite
            array = np.asarray(data, found.array)
    elif isinstance(data, complex):
        array, found = np.asarray(data), C128
    elif isinstance(data, (list, tuple)):
        plain = _without_tensors(data)
        try:
            array = np.asarray(plain)
        except ValueError as ragged:
            raise ValueError(f"For 'Tensor', the nested lists must have equal lengths: {ragged}") from None
        if array.dtype.newbyteorder("=") not in _FROM_NUMPY:
            return _of_large_integers(plain, array, dtype), dtype or F32
        found = dtype_of_array(array)
        dtype = dtype_of_lists(found) if dtype is None else dtype
    elif hasattr(data, "__array__"):
        array = np.asarray(data)
        found = dtype_of_array(array)
    else:
        raise TypeError(f"For 'Tensor', the data must be a number, list, tuple, NumPy array or Tensor, "
                        f"but got {data!r} of type {type(data).__name__}.")
    if dtype is None or dtype is found:
        # Memory has the machine's byte order, which may differ from the array's.
        return array.astype(found.array, copy=False), found
    return _converted(array, dtype), dtype


def _converted(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        return from_compute((array if dtype.is_complex else array.real).astype(dtype.compute.array), dtype)


def _cut(number: float, dtype: DType) -> int:
    """Return a float as the int to store in an integer dtype: truncated and clamped to 64 bits, 0 for NaN."""
    if dtype is BOOL:
        return number != 0
    lowest, highest = -(2**63), (2**64 if dtype is U64 else 2**63) - 1
    if not math.isfinite(number):
        return 0 if number != number else highest if number > 0 else lowest
    return min(max(int(number), lowest), highest)


_NESTED = 64
"""The number of levels of nested lists that NumPy accepts."""


def _without_tensors(data: Any, depth: int = 0) -> Any:
    if hasattr(data, "asnumpy"):  # a Tensor, whose module imports this one
        return data.asnumpy()
    if isinstance(data, (list, tuple)):
        if depth == _NESTED:
            raise ValueError("For 'Tensor', at most 8 dimensions are supported, but the data is a list that contains itself, "
                             "or lists that are nested deeper.")
        return [_without_tensors(item, depth + 1) for item in data]
    if isinstance(data, (str, bytes)) or data is None:
        raise TypeError(f"For 'Tensor', the data must be numbers, but got {data!r} of type {type(data).__name__}.")
    return data


def _of_large_integers(data: Any, array: np.ndarray[Any, Any], dtype: DType | None) -> np.ndarray[Any, Any]:
    """Convert lists of numbers, some of them integers of more than 64 bits, to a float dtype.

    data   the lists
    array  the same as an array of Python objects
    dtype  the wanted dtype; None: the one that follows from the data

    TypeError that names the first item that is not a number; RuntimeError for an integer that is too large.
    """
    items = [*_items(data)]
    for item in items:
        if isinstance(item, (np.ndarray, np.generic)):
            dtype_of_array(item)
        elif not isinstance(item, (bool, int, float, complex)):
            raise TypeError(f"For 'Tensor', the data must be numbers, but got {item!r} of type {type(item).__name__}.")
    large = max((item for item in items if isinstance(item, int)), key=abs)
    if not (dtype.is_float if dtype is not None else any(isinstance(item, float) for item in items)):
        raise out_of_range("Tensor", large, dtype or "Int64 and UInt64")
    try:
        return _converted(array, dtype or F32)
    except OverflowError:
        raise out_of_range("Tensor", large, dtype or F32) from None


def _items(data: Any) -> Iterator[Any]:
    """Yield the items of nested lists and tuples, in order."""
    for item in data:
        if isinstance(item, (list, tuple)):
            yield from _items(item)
        else:
            yield item


def number_array(value: bool | int | float | complex, dtype: DType) -> np.ndarray[Any, Any]:
    """Convert a Python number to a 0-d array in storage form (see the module).  An integer keeps only the low bits that fit `dtype`.

    RuntimeError for an integer of more than 64 bits; TypeError for a float if `dtype` is an integer dtype, and for a complex number if it
    is not complex.
    """
    if isinstance(value, (complex, np.complexfloating)) and not dtype.is_complex:
        raise TypeError(f"For 'Tensor', {value!r} is a complex number, but a {dtype} is needed.")
    if dtype.is_inexact:
        try:
            with np.errstate(over="ignore"):
                # An integer of 64 bits is rounded once, not by way of a double.
                exact = np.asarray(value) if isinstance(value, int) and -(2**63) <= value < 2**64 else value
                return from_compute(np.asarray(exact, dtype.compute.array), dtype)
        except OverflowError:
            raise out_of_range("Tensor", value, dtype) from None
    if isinstance(value, (float, complex, np.floating)):
        raise TypeError(f"For 'Tensor', {value!r} is not an integer, but a {dtype} is needed.")
    if dtype is BOOL:
        return np.asarray(bool(value))
    if not -(2**63) <= value < 2**64:
        raise out_of_range("Tensor", value, f"64 bits, where a {dtype} is needed")
    # Within 64 bits it wraps as C does: a Python integer beyond the dtype keeps its low bits.
    return np.asarray(int(value) & (2 ** (8 * dtype.size) - 1), f"u{dtype.size}").view(dtype.array)


def out_of_range(op: Op | str, number: Any, dtypes: object) -> RuntimeError:
    name = op if isinstance(op, str) else type(op).__name__
    return RuntimeError(f"For '{name}', the integer {integer_text(number)} is out of the range of {dtypes}.")
