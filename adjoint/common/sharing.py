"""Tensors that share memory with objects of other libraries: DLPack capsules and buffers of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.ir.types import BF16, BOOL, DType
from adjoint.ops.dlpack import from_dlpack, to_dlpack
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["from_dlpack", "frombuffer", "to_dlpack"]


def frombuffer(buffer: Any, dtype: DType, count: int = -1, offset: int = 0) -> Tensor:
    """Return a tensor of one axis of the numbers in a buffer, such as bytes; `Tensor.from_numpy` says when it shares the memory.

    count   how many numbers; -1 for all
    offset  how many bytes are left out at the beginning

    A buffer that may not be written is copied.  RuntimeError for an object without a buffer, a dtype that is none or that NumPy lacks, an
    empty buffer, an offset beyond it, and a count that is 0 or beyond it.
    """
    if not isinstance(dtype, DType) or dtype is BF16:
        raise RuntimeError(f"For 'frombuffer', the argument 'dtype' must be a dtype such as float32, but got {dtype!r}.")
    for name, value in (("count", count), ("offset", offset)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"For 'frombuffer', the argument '{name}' must be an int, but got {value!r} of type {type(value).__name__}.")
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise RuntimeError(f"For 'frombuffer', the argument 'buffer' must be an object with a buffer, such as bytes, but got {buffer!r} of "
                           f"type {type(buffer).__name__}.") from None
    if not length or not count or count < -1:
        raise RuntimeError(f"For 'frombuffer', there must be bytes, and 'count' must be -1 or above 0, but got {length} bytes and count "
                           f"{count}.")
    if not 0 <= offset < length:
        raise RuntimeError(f"For 'frombuffer', the argument 'offset' must be from 0 to {length - 1}, but got {offset}.")
    rest = length - offset
    if count == -1 and rest % dtype.size:
        raise RuntimeError(f"For 'frombuffer', the {rest} bytes after 'offset' must be a multiple of {dtype.size}, the size of {dtype}.")
    if count * dtype.size > rest:
        raise RuntimeError(f"For 'frombuffer', the argument 'count' must be at most {rest // dtype.size}, the numbers after 'offset', "
                           f"but got {count}.")
    array = np.frombuffer(buffer, np.uint8 if dtype is BOOL else dtype.array, count, offset)
    return Tensor.from_numpy(array != 0 if dtype is BOOL else array)
