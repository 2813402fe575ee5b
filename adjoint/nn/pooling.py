"""Pooling layers."""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops.pooling import AvgPool, MaxPool, MaxPoolIndices
from adjoint.nn.checks import boolean, choice, floating, pair, positive
from adjoint.ops import network
from adjoint.ops.arguments import channels_first
from adjoint.ops.linear import Pairs, same_padding
from adjoint.runtime.cell import Cell
from adjoint.runtime.tensor import Tensor

__all__ = ["AvgPool2d", "MaxPool2d"]


class _Pool2d(Cell):
    """Windows over the last two axes of [n, c, h, w] or [c, h, w].

    pad_mode  "valid" (default): whole windows only; "same": as many as ceil(size / stride); "pad": `padding` on each side
    """

    _pooling: tuple[Any, ...]
    """The op, and its attributes behind kernel, stride and padding."""

    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, ceil_mode: bool, data_format: str):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride
        self._kernel, self._stride = pair(self, "kernel_size", kernel_size), pair(self, "stride", stride)
        self.pad_mode = choice(self, "pad_mode", pad_mode.lower() if isinstance(pad_mode, str) else pad_mode, ("same", "valid", "pad"))
        self._padding = pair(self, "padding", padding, least=0)
        self.ceil_mode = boolean(self, "ceil_mode", ceil_mode)
        if self.pad_mode != "pad" and any(self._padding):
            raise ValueError(f"For '{type(self).__name__}', 'padding' needs pad_mode 'pad', but got {padding!r} with {pad_mode!r}.")
        self.format = channels_first(type(self).__name__, data_format)

    def _sides(self, x: Tensor) -> Pairs:
        """The padding on both sides of both axes."""
        if self.pad_mode != "same":
            return network.symmetric(self._padding)
        floating(self, "x", x, (3, 4))
        top, left = (same_padding(*sizes) for sizes in zip(x.shape[-2:], self._kernel, self._stride, strict=True))
        return top, left

    def _pooled(self, x: Tensor, kind: Any, *options: Any) -> Tensor:
        return network.pooled(type(self).__name__, kind, x, self._kernel, self._stride, self._sides(x), *options)

    def construct(self, x: Tensor) -> Any:
        return self._pooled(x, *self._pooling)

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode.upper()}"


class MaxPool2d(_Pool2d):
    """The largest element of each window; padding does not count.

    return_indices  give also where it stands in its plane read row by row (Int64); only with pad_mode "pad"
    """

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False, data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        self._dilation = pair(self, "dilation", dilation)
        self.return_indices = boolean(self, "return_indices", return_indices)
        if self.pad_mode != "pad" and (ceil_mode or return_indices or self._dilation != (1, 1)):
            raise ValueError(f"For 'MaxPool2d', 'dilation', 'return_indices' and 'ceil_mode' need pad_mode 'pad', "
                             f"but got {dilation}, {return_indices} and {ceil_mode} with {pad_mode!r}.")
        self._pooling = (MaxPool, self._dilation, self.ceil_mode)

    def construct(self, x: Tensor) -> Any:
        if not self.return_indices:
            return self._pooled(x, *self._pooling)
        return self._pooled(x, *self._pooling), self._pooled(x, MaxPoolIndices, *self._pooling[1:])



class AvgPool2d(_Pool2d):
    """The average of each window; padding counts with `count_include_pad` (in pad_mode "pad")."""

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None, data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        self.count_include_pad = boolean(self, "count_include_pad", count_include_pad)
        self.divisor_override = 0 if divisor_override is None else positive(self, "divisor_override", divisor_override)

        self._pooling = (AvgPool, self.ceil_mode, self.count_include_pad and self.pad_mode == "pad", self.divisor_override)
