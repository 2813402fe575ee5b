"""Tensors that share memory with objects of other libraries by DLPack capsules."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule of a tensor, which another library takes once.  It shares the memory where `asnumpy` does.

    TypeError for another object.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"For 'to_dlpack', the argument 'tensor' must be a Tensor, but got {tensor!r} of type {type(tensor).__name__}.")
    return tensor.__dlpack__()


def from_dlpack(dlpack: Any) -> Tensor:
    """Return a tensor of the numbers in a DLPack capsule, or in an object that gives one; `Tensor.from_numpy` says when it shares memory.

    Memory that may not be written is copied; older versions of NumPy say so of all capsules.  RuntimeError for another object, and for a
    capsule that was taken before.
    """
    given = dlpack if hasattr(dlpack, "__dlpack__") else _Exporter(dlpack)
    try:
        array = np.from_dlpack(given)
    except (AttributeError, BufferError, TypeError, ValueError, RuntimeError) as error:
        raise RuntimeError(f"For 'from_dlpack', the argument 'dlpack' must be a DLPack capsule on the CPU that nobody has taken yet, "
                           f"but got {dlpack!r}: {error}.") from None
    return Tensor.from_numpy(array)


class _Exporter:
    """An object with NumPy's protocol, made of a capsule."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, /, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)
