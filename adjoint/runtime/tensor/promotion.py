"""Type promotion as in MindSpore 2.10: the common dtype of two operands, and the dtype in which a number keeps its value.

Between tensors: a complex dtype wins over all others, with the wider of both parts: complex64 with float64 gives complex128.  A floating
dtype wins over integers and bool, the wider float over the narrower, and float16 with bfloat16 gives float32;
of two integers of one signedness the wider wins; uint8 with a signed integer gives at least int16; an unsigned integer of two bytes or more
combines with bool and its own dtype only.  Of a Python number only the kind counts: the result has the tensor's dtype, unless the number is
a float and the tensor is neither float nor complex (float32), an int and the tensor is bool (int64), or a complex number and the tensor is
not (complex128 for float64, otherwise complex64).

If the dtype of the result cannot hold a number, the op is computed with the number's own value in a wider dtype, and the result is
converted back, modulo 2**n for an integer of n bits.  In an op that selects one of its operands, an integer counts as the nearest one that
the dtype has.  An integer dtype holds the numbers in its range; a floating dtype holds numbers between its least normal number and its
largest one, where they are rounded.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Final

import numpy as np

from adjoint.ir.types import BF16, BOOL, C64, C128, COMPLEX, DTYPES, F16, F32, F64, I16, I64, U16, U32, U64, DType

__all__ = ["common_dtype", "float_range", "holds", "nearest", "scalar_dtype", "working_dtype", "working_dtypes"]

_FLOAT_ORDER = {d: i for i, d in enumerate(d for d in DTYPES.values() if d.is_float)}
_common: dict[tuple[DType, DType], DType] = {}


def common_dtype(a: DType, b: DType) -> DType:
    """Return the dtype in which an op on tensors of the dtypes `a` and `b` is computed; TypeError if they do not combine."""
    found = _common.get((a, b))
    if found is None:
        found = _common[a, b] = _combined(a, b)
    return found


def _combined(a: DType, b: DType) -> DType:
    if a is b or b is BOOL:
        return a
    if a is BOOL:
        return b
    if a.is_complex or b.is_complex:
        return C128 if F64 in (a.part, b.part) else C64
    if not {a, b}.isdisjoint((U16, U32, U64)):
        raise TypeError(f"Type implicit conversion between {a} and {b} is not supported. Cast one of them with `astype`.")
    if a.is_float and b.is_float:
        return F32 if {a, b} == {F16, BF16} else max(a, b, key=_FLOAT_ORDER.__getitem__)
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.kind == b.kind:
        return max(a, b, key=lambda d: d.size)
    return max(a if a.kind == "i" else b, I16, key=lambda d: d.size)


def scalar_dtype(dtype: DType, number: Any) -> DType:
    """Return the dtype of the result if an op gets a tensor of `dtype` and a Python number."""
    if isinstance(number, (bool, np.bool_)):
        return dtype
    if isinstance(number, numbers.Integral):
        return I64 if dtype is BOOL else dtype
    if isinstance(number, numbers.Complex) and not isinstance(number, numbers.Real):
        return C128 if dtype.part is F64 else C64
    return dtype if dtype.is_inexact else F32


_RANGE: Final[dict[DType, tuple[float, float]]] = {
    BOOL: (0, 1), F16: (2.0**-14, 65504.0), BF16: (2.0**-126, 2.0**128 - 2.0**120),
    **{d: (float(np.finfo(d.array).tiny), float(np.finfo(d.array).max)) for d in (F32, F64)},
    **{d: (float(np.finfo(d.array).tiny), float(np.finfo(d.array).max)) for d in COMPLEX},
    **{d: (int(np.iinfo(d.array).min), int(np.iinfo(d.array).max)) for d in DTYPES.values() if d.is_integer},
}
"""For integers the least and the largest number; for floats the least normal number above 0 and the largest."""


def holds(dtype: DType, number: bool | int | float | complex) -> bool:
    """Return True if `dtype` can represent the number, for a float or complex dtype up to rounding."""
    if isinstance(number, complex):
        return dtype.is_complex and holds(dtype.part, number.real) and holds(dtype.part, number.imag)
    low, high = _RANGE[dtype]
    if dtype.is_inexact:
        return low <= number <= high or low <= -number <= high or not number or number != number or number in (math.inf, -math.inf)
    return low <= number <= high


def float_range(dtype: DType) -> tuple[float, float]:
    """Return the least normal number above 0 of a floating dtype, and the largest number."""
    return _RANGE[dtype]


def nearest(dtype: DType, number: int) -> int:
    """Return the number of an integer dtype that is nearest to `number`: itself, or the end of the dtype's range."""
    low, high = _RANGE[dtype]
    return int(min(max(number, low), high))


def working_dtype(dtype: DType, number: bool | int | float | complex, *, exact: bool, compares: bool) -> DType:
    """Return the dtype in which an op on a tensor of `dtype` and a known number is computed.  It may be wider than the dtype of the result.

    exact     True if an integer counts with its own value; False if the dtype of the result will do
    compares  True if the result is a bool
    """
    result = scalar_dtype(dtype, number)
    if result.is_complex:
        return result if holds(result, number) else C128
    if not result.is_float:
        if not exact or holds(result, number):
            return result
        return F64 if compares and dtype is U64 else I64
    if compares and _is_coarse(result, dtype):
        return F64
    while not holds(result, number) and result is not F64:
        result = F64 if result is F32 else F32
    return result


def working_dtypes(dtype: DType, kind: type[bool | int | float], bound: int | None, *, exact: bool, compares: bool) -> tuple[DType, ...]:
    """Return the dtypes that are possible for an op on a tensor of `dtype` and a number that is known only when a graph runs.

    The run uses the first of them that `holds` the number, or the last one if none does.  Whatever an integer is, Int64 gives the same
    result as a narrower integer dtype, modulo 2**n.

    kind      the number's Python type
    bound     an upper bound of an int's absolute value; None if not known
    exact     True if an integer counts with its own value; False if the dtype of the result will do
    compares  True if the result is a bool
    """
    result = scalar_dtype(dtype, kind())
    if result.is_complex:
        return (result,) if kind is bool or result is C128 else (C64, C128)
    if not result.is_float:
        if kind is not int or not exact:
            return (result,)
        return (I64,) if result is not U64 else (U64, F64) if compares else (U64,)
    if compares and _is_coarse(result, dtype):
        return (F64,)
    largest = 2**63 if bound is None else bound
    if kind is bool or (kind is int and holds(result, largest)):
        return (result,)
    if kind is int:
        return result, F32
    return (F64,) if result is F64 else (F32, F64) if result is F32 else (result, F32, F64)


def _is_coarse(result: DType, dtype: DType) -> bool:
    """Return True if the float dtype `result` cannot represent all integers of the dtype `dtype`."""
    return dtype.is_integer and dtype.size >= result.size
