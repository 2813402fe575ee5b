"""Descriptions of tensors of unknown size, for `Cell.set_inputs` and `enable_dynamic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.ir.types import DType
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Description"]

_ANY_RANK = -2


class Description(Tensor):
    """Describes tensors with unknown sizes, such as `Tensor(shape=[3, None], dtype=float32)`; it holds no numbers.

    Programs pass it to `Cell.set_inputs` or `enable_dynamic`.  Its `shape` has -1 for an unknown size, and is (-2,) for any number of axes.
    """

    def __init__(self, dtype: DType, sizes: Sequence[int | None] | None):
        shape = (_ANY_RANK,) if sizes is None else tuple(-1 if size is None else size for size in sizes)
        self.__dict__["_described"] = (dtype, shape)

    @staticmethod
    def fits(expected: Tensor, shape: Sequence[Any]) -> bool:
        """Return True if a tensor of this shape is one that `expected` allows.

        expected  a Description, or a tensor, which allows its own shape only
        """
        if not isinstance(expected, Description):
            return tuple(shape) == expected.shape
        if expected.shape == (_ANY_RANK,):
            return True
        return len(shape) == len(expected.shape) and all(wanted in (-1, size) for wanted, size in zip(expected.shape, shape, strict=True))

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
        raise ValueError(f"{self!r} has a size or a shape of None: it describes an input for 'set_inputs' and holds no numbers to compute "
                         "with.")

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
