"""Dropout of elements and of channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from adjoint.ir.types import F32, DType
from adjoint.nn.checks import number, tensor_argument
from adjoint.ops import activations
from adjoint.ops.primitives.network import Dropout as DropoutOperator
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.conversion import dtype_argument
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]


class Dropout(Cell):
    """In training each element is dropped with probability `p` and the others are divided by 1 - p; else nothing happens.

    keep_prob  the older way to say 1 - p

    `dropout` is the operator, for a subclass with a construct of its own.
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = F32):
        super().__init__()
        dtype_argument(dtype)
        if p is None:
            keep = number(self, "keep_prob", keep_prob)
            if not 0.0 < keep <= 1.0:
                raise ValueError(f"For 'Dropout', the argument 'keep_prob' must be in (0.0, 1.0], but got {keep_prob}.")
        else:
            keep = 1.0 - number(self, "p", p)
            if not 0.0 < keep <= 1.0:
                raise ValueError(f"For 'Dropout', the argument 'p' must be in [0.0, 1.0), but got {p}.")
        self.keep_prob, self.p, self.dropout = keep, p, DropoutOperator(keep)

    def construct(self, x: Tensor) -> Tensor:
        tensor_argument(self, "x", x)
        return activations.dropout(x, 1.0 - self.keep_prob) if self.training and self.keep_prob != 1.0 else x

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _Channels(Cell):
    _drop: ClassVar[Callable[..., Tensor]]

    def __init__(self, p: float = 0.5):
        super().__init__()
        if not 0.0 <= number(self, "p", p) <= 1.0:
            raise ValueError(f"For '{type(self).__name__}', the argument 'p' must be in [0, 1], but got {p}.")
        self.p = float(p)

    def construct(self, x: Tensor) -> Tensor:
        tensor_argument(self, "x", x)
        return type(self)._drop(x, self.p) if self.training and self.p else x

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_Channels):
    """In training each channel of [n, c, l] or [c, l] is dropped with probability `p` and the others are divided by 1 - p."""

    _drop = activations.dropout1d


class Dropout2d(_Channels):
    """In training each channel of [n, c, h, w] is dropped with probability `p` and the others are divided by 1 - p."""

    _drop = activations.dropout2d


class Dropout3d(_Channels):
    """In training each channel of [n, c, d, h, w] is dropped with probability `p` and the others are divided by 1 - p."""

    _drop = activations.dropout3d
