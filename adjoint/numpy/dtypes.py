"""Dtypes and constants of `adjoint.numpy`, and the common dtype of two arrays.

`int` is Int32 and `float` is Float32 here, as in MindSpore.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.types import BOOL, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType
from adjoint.ops.arguments import wrong
from adjoint.runtime.tensor.conversion import dtype_argument

inf = PINF = math.inf
NINF = -math.inf
nan = math.nan
pi = math.pi
newaxis = None

bool_, int8, int16, int32, int64 = BOOL, I8, I16, I32, I64
uint8, uint16, uint32, uint64 = U8, U16, U32, U64
float16, float32, float64 = F16, F32, F64
int_, uint, float_ = I32, U32, F32

numeric_types = [
    "int_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float_", "float16", "float32", "float64", "bool_",
]
"""The names of the dtypes among the public names of `adjoint.numpy`."""

__all__ = [
    "NINF", "PINF", "bool_", "float16", "float32", "float64", "float_", "inf", "int16", "int32", "int64", "int8", "int_", "nan", "newaxis",
    "numeric_types", "pi", "uint", "uint16", "uint32", "uint64", "uint8",
]

_DTYPES = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64, C64, C128)
_NAMED = {d.long_name.lower(): d for d in _DTYPES} | {"int": I32, "uint": U32, "float": F32, "bool": BOOL, int: I32, float: F32}


def checked_dtype(op: str, dtype: Any) -> DType:
    """Return a dtype given by its name, a Python or NumPy type, or itself; raise TypeError for one that NumPy lacks."""
    found = _NAMED.get(dtype.lower() if isinstance(dtype, str) else dtype) if isinstance(dtype, (str, type)) else None
    if found is None and not isinstance(dtype, str):
        try:
            found = dtype_argument(dtype)
        except TypeError:
            found = None
    if found not in _DTYPES:
        raise wrong(op, "dtype", f"one of {', '.join(d.long_name for d in _DTYPES)}", repr(dtype), TypeError)
    return found


def promoted_dtype(a: DType, b: DType) -> DType:
    """Return the common dtype of dtypes `a` and `b`.

    A complex dtype wins over all others, with the wider of both parts.  A float wins over integers, the wider float over the narrower.
    For an unsigned and a signed integer the result is the narrowest signed type that holds both; for UInt64 it is Float64.  Bool takes the
    other's dtype.
    """
    if a is b or b is BOOL:
        return a
    if a is BOOL:
        return b
    if a.is_complex or b.is_complex:
        return C128 if F64 in (a.part, b.part) else C64
    if a.is_float or b.is_float:
        if a.is_float and b.is_float:
            return _FROM_NUMPY[np.promote_types(a.compute.array, b.compute.array)]
        return a if a.is_float else b
    return _FROM_NUMPY[np.promote_types(a.array, b.array)]


_FROM_NUMPY = {d.array: d for d in _DTYPES}


def trigonometric_dtype(dtype: DType) -> DType:
    """Return the dtype in which angles are computed: floats and complex numbers in their own, bools and one-byte integers in Float16,
    others in Float32.
    """
    if dtype.is_inexact:
        return dtype
    return F16 if dtype.size == 1 else F32


def promote_types(type1: Any, type2: Any) -> DType:
    """Return the common dtype of two dtypes; raise TypeError for anything else."""
    return promoted_dtype(checked_dtype("promote_types", type1), checked_dtype("promote_types", type2))
