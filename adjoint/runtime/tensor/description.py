"""Descriptions of tensors of unknown size, for `Cell.set_inputs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.ir.types import DType
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Description"]


class Description(Tensor):
    """`Tensor(shape=[3, None], dtype=float32)`: describes a tensor and holds no values.  An unknown size is shown as -1."""

    def __init__(self, dtype: DType, sizes: Sequence[int | None]):
        self.__dict__["_described"] = (dtype, tuple(-1 if size is None else size for size in sizes))

    @property
    def dtype(self) -> DType:
        return self.__dict__["_described"][0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.__dict__["_described"][1]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride] - a description has none
        raise ValueError(f"{self!r} has a size of None: it describes an input for 'set_inputs' and holds no numbers to compute with.")

    @property
    def memory(self) -> NoReturn:
        raise ValueError(f"{self!r} holds no numbers: it describes an input for 'set_inputs'.")

    def __repr__(self) -> str:
        end = " " if self.ndim == 1 else "\n"
        return f"Tensor(shape=[{', '.join(map(str, self.shape))}], dtype={self.dtype.long_name}, value={end})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return Description, (self.dtype, self.shape)

    def __deepcopy__(self, memo: dict[int, Any]) -> Description:
        return self


Tensor.described_by = Description
