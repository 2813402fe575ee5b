"""Convert array-like arguments to Tensors.

A number becomes Bool, Int32 or Float32, and so do nested lists of numbers; an integer that Int32 cannot hold makes Int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from adjoint.ir.types import BOOL, C128, F32, F64, I32, I64, DType, broadcast_shapes
from adjoint.numpy.dtypes import checked_dtype, promoted_dtype
from adjoint.ops.arguments import wrong
from adjoint.ops.parts import stack
from adjoint.runtime.tensor.run_time_checks import is_run_time_number
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["array_like", "arrays_like", "broadcast_shape", "in_dtype", "joined", "joint_dtype", "number_dtype", "result_type"]

_INT32 = np.iinfo(np.int32)


def array_like(op: str, value: Any, argument: str = "x") -> Tensor:
    """Return a Tensor unchanged; convert a number, or a nested tuple or list of numbers and Tensors; raise TypeError for anything else."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex)):
        return constant(value, number_dtype(value))
    if is_run_time_number(value):
        return value.as_tensor({"bool": BOOL, "int": I32}.get(value.category, F32))
    if isinstance(value, (tuple, list)):
        return _nested(op, value, argument)
    way_out = " (`mindspore.Tensor(array)` makes one of an array of NumPy's)" if isinstance(value, np.ndarray) else ""
    got = value if not isinstance(value, (str, np.ndarray)) else repr(value)
    raise wrong(op, argument, f"a Tensor, a number, or a tuple or list of them{way_out}", got, TypeError)


def real_array_like(op: str, value: Any, argument: str = "x") -> Tensor:
    """Return what `array_like` does; raise TypeError for complex numbers."""
    found = array_like(op, value, argument)
    if found.dtype.is_complex:
        raise wrong(op, argument, "of real numbers", found, TypeError)
    return found


def number_dtype(value: bool | int | float | complex) -> DType:
    """Return the dtype of a Python number."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return I32 if _INT32.min <= value <= _INT32.max else I64
    return C128 if isinstance(value, complex) else F32


def _nested(op: str, value: Any, argument: str) -> Tensor:
    if any(isinstance(x, Tensor) or is_run_time_number(x) for x in _flat(value)):
        rows = [array_like(op, item, argument) for item in value]
        if any(x.shape != rows[0].shape for x in rows):
            raise wrong(op, argument, "of one length in each axis", f"rows of shapes {[x.shape for x in rows]}")
        dtype = reduce(promoted_dtype, [x.dtype for x in rows])
        return stack([x.astype(dtype, copy=False) for x in rows], 0)
    made = Tensor(value)
    if made.dtype is F64:
        return made.astype(F32)
    if made.dtype is I64:
        array = made.asnumpy()
        return made.astype(I32) if not array.size or _INT32.min <= array.min() <= array.max() <= _INT32.max else made
    return made


_NESTED = 64
"""Maximum depth of nested lists that `Tensor` accepts; it raises the error for deeper ones."""


def _flat(value: Any, depth: int = 0) -> list[Any]:
    """Return the numbers in nested tuples and lists."""
    if depth > _NESTED:
        return []
    return [leaf for item in value for leaf in (_flat(item, depth + 1) if isinstance(item, (tuple, list)) else [item])]


def arrays_like(op: str, *values: Any) -> tuple[Tensor, ...]:
    """Return each value as a Tensor: see `array_like`."""
    return tuple(array_like(op, value, f"x{place}") for place, value in enumerate(values, 1))


def in_dtype(result: Tensor, dtype: Any, op: str = "astype") -> Tensor:
    """Return a result converted to the requested dtype; unchanged for None."""
    return result if dtype is None else result.astype(checked_dtype(op, dtype), copy=False)


def joint_dtype(arrays: Sequence[Tensor]) -> DType:
    """Return the common dtype of arrays."""
    return reduce(promoted_dtype, [x.dtype for x in arrays])


def joined(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return the arrays converted to their common dtype."""
    dtype = joint_dtype(arrays)
    return tuple(x.astype(dtype, copy=False) for x in arrays)


def broadcast_shape(op: str, *arrays: Tensor) -> tuple[int, ...]:
    """Return the shape that arrays broadcast to together; raise ValueError if they do not."""
    try:
        return reduce(broadcast_shapes, [x.shape for x in arrays], ())
    except ValueError:
        raise wrong(op, "x", "of shapes that broadcast together", [x.shape for x in arrays]) from None


def _named_dtype(name: Any) -> DType:
    """Return the dtype with a name of this library or of NumPy, such as "i2"."""
    try:
        return checked_dtype("result_type", name)
    except TypeError:
        try:
            return checked_dtype("result_type", np.dtype(name))
        except TypeError:
            pass
        raise


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the common dtype of arrays, numbers and dtypes (or names of dtypes); raise TypeError for anything else."""
    if not arrays_and_dtypes:
        raise wrong("result_type", "arrays_and_dtypes", "at least one array or dtype", arrays_and_dtypes)
    found: list[DType] = []
    for x in arrays_and_dtypes:
        if isinstance(x, (bool, int, float)):
            found.append(number_dtype(x))
        else:
            found.append(x.dtype if isinstance(x, Tensor) else _named_dtype(x))
    return reduce(promoted_dtype, found)
