"""Casts of floating tensors to another float type, which `Cell.to_float` asks for."""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops.conversion import Cast
from adjoint.ir.types import DType
from adjoint.runtime.tensor.structure import leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["cast_float", "cast_floats"]


def cast_floats(value: Any, dtype: DType) -> Any:
    """Return the value with its floating tensors cast to `dtype`, also those in containers."""
    if isinstance(value, Tensor):
        return cast_float(value, dtype)
    found = leaves(value, Tensor)
    return replaced(value, [cast_float(x, dtype) for x in found], Tensor) if found else value


def cast_float(x: Any, dtype: DType) -> Any:
    """Return a floating tensor cast to `dtype`; anything else as it is."""
    return apply(Cast(dtype), x) if isinstance(x, Tensor) and x.dtype.is_float and x.dtype is not dtype else x
