"""Where a tensor's numbers are: methods for scripts that move them between devices, and for their bytes.

There is one device, the CPU, and a tensor holds its numbers from the start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from adjoint.foundation.diagnostics import check_flag
from adjoint.ir.types import BOOL, DType
from adjoint.runtime.memory.machine import array_of, ffi, memory_of

__all__ = ["Placement", "memory_from"]

_DEVICES = ("Ascend", "GPU", "CPU")


class Placement:
    """The part of `Tensor` for devices and bytes."""

    __slots__ = ()

    def data_ptr(self: Any) -> int:
        """Return the address of the numbers, row-major, until the tensor is written or given up.

        Only read there: other tensors may share the memory.
        """
        self._read()
        return int(ffi.cast("uintptr_t", self.memory))

    def get_bytes(self: Any) -> bytes:
        """Return the bytes of the numbers, row-major."""
        self._read()
        return array_of(self.memory, self.type).tobytes()

    @property
    def const_arg(self: Any) -> bool:
        """Return what `set_const_arg` has stored; False before."""
        return self.__dict__.get("const_arg", False)

    def set_const_arg(self, const_arg: bool = True) -> Self:
        """Store whether the tensor is a constant as an argument of a graph, which has no effect: a graph works for any numbers.

        Return the tensor; TypeError for a value that is not a bool.
        """
        check_flag("Tensor.set_const_arg", "const_arg", const_arg)
        self.__dict__["const_arg"] = const_arg
        return self

    def is_init(self: Any) -> bool:
        """Return what `set_init_flag` has stored; False before."""
        return self.__dict__.get("_init_flag", False)

    def set_init_flag(self: Any, value: bool) -> None:
        """Store a mark for MindSpore's scripts, without effect."""
        self.__dict__["_init_flag"] = bool(value)

    def is_pinned(self) -> bool:
        """Return False: memory is pinned for the transfer to other devices."""
        return False

    def is_shared(self) -> bool:
        """Return False: the memory is not shared with other processes."""
        return False

    def pin_memory(self) -> NoReturn:
        """Raise RuntimeError: memory is pinned for the transfer to a device, and there is none but the CPU."""
        raise RuntimeError("For 'Tensor.pin_memory', there is no device to pin memory for: tensors are computed on the CPU.")

    def flush_from_cache(self) -> None:
        """Do nothing: numbers are not kept elsewhere."""

    def move_to(self: Any, to: str, blocking: bool = True) -> Any:
        """Return a copy on a device, "CPU"; gradients flow through it.

        ValueError for another name and for `blocking` that is not a bool; RuntimeError for another device, which is not here.
        """
        if not isinstance(to, str) or to not in _DEVICES:
            raise ValueError(f"For 'Tensor.move_to', the argument 'to' must be one of {', '.join(map(repr, _DEVICES))}, but got {to!r}.")
        if not isinstance(blocking, bool):
            raise ValueError(f"For 'Tensor.move_to', the argument 'blocking' must be a bool, but got {blocking!r} of type "
                             f"{type(blocking).__name__}.")
        if to != "CPU":
            raise RuntimeError(f"For 'Tensor.move_to', the argument 'to' must be 'CPU', the device that is here, but got {to!r}.")
        return self.copy()

    def offload(self: Any, file: str) -> bool:
        """Write the bytes of the numbers to a file, and keep the numbers in memory as well.  Return True.

        TypeError for a path that is not a str; OSError if the file cannot be written.
        """
        if not isinstance(file, str):
            raise TypeError(f"For 'Tensor.offload', the argument 'file' must be a str, but got {file!r} of type {type(file).__name__}.")
        Path(file).write_bytes(self.get_bytes())
        self.__dict__["_offloaded"] = file
        return True

    def offload_file_path(self: Any) -> str:
        """Return the path of the file that `offload` wrote last, "" before."""
        return self.__dict__.get("_offloaded", "")


def memory_from(data: Any, count: int, dtype: DType) -> Any:
    """Return new memory with the numbers that begin at the first byte of `data`; bytes other than 0 are True in a tensor of bools."""
    array = np.frombuffer(data, np.uint8 if dtype is BOOL else dtype.array, count) if count else np.empty(0, dtype.array)
    return memory_of(array != 0 if dtype is BOOL else array)
