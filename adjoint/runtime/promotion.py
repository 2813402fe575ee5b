"""Which dtype two operands are brought to, as MindSpore 2.10 does it.

Between tensors: a floating dtype wins over integers and bool, the wider float over the narrower, and float16 with
bfloat16 gives float32; of two integers of one signedness the wider wins; uint8 with a signed integer gives at least
int16; an unsigned integer of two bytes or more combines with bool and its own dtype only.  A Python number counts by its kind
only: it takes the tensor's dtype, unless it is a float and the tensor is not (float32), or an int and the tensor is
bool (int64).
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from adjoint.ir.types import BF16, BOOL, DTYPES, F16, F32, I16, I64, U16, U32, U64, DType

__all__ = ["common_dtype", "scalar_dtype"]

_FLOAT_ORDER = {d: i for i, d in enumerate(d for d in DTYPES.values() if d.is_float)}
_common: dict[tuple[DType, DType], DType] = {}


def common_dtype(a: DType, b: DType) -> DType:
    """The dtype that tensors of dtype `a` and `b` are computed in; TypeError when they do not combine."""
    found = _common.get((a, b))
    if found is None:
        found = _common[a, b] = _combined(a, b)
    return found


def _combined(a: DType, b: DType) -> DType:
    if a is b or b is BOOL:
        return a
    if a is BOOL:
        return b
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
    """The dtype that a tensor of `dtype` and a Python number are computed in."""
    if isinstance(number, (bool, np.bool_)):
        return dtype
    if isinstance(number, numbers.Integral):
        return I64 if dtype is BOOL else dtype
    return dtype if dtype.is_float else F32
