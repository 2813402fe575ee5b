"""Pooling layers."""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops.pooling import AvgPool, MaxPool
from adjoint.ir.ops.shape import Reshape
from adjoint.nn.checks import boolean, choice, floating, pair, positive
from adjoint.nn.convolution import same_padding
from adjoint.runtime.cell import Cell
from adjoint.runtime.tensor import Tensor, apply

__all__ = ["AvgPool2d", "MaxPool2d"]


class _Pool2d(Cell):
    """Windows over the last two axes of [n, c, h, w] or [c, h, w].

    pad_mode  "valid" (default): whole windows only; "same": as many as ceil(size / stride); "pad": `padding` on each side
    """

    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, ceil_mode: bool, data_format: str):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride
        self._kernel, self._stride = pair(self, "kernel_size", kernel_size), pair(self, "stride", stride)
        self.pad_mode = choice(self, "pad_mode", pad_mode.lower() if isinstance(pad_mode, str) else pad_mode, ("same", "valid", "pad"))
        self._padding = pair(self, "padding", padding, least=0)
        self.ceil_mode = boolean(self, "ceil_mode", ceil_mode)
        if self.pad_mode != "pad" and any(self._padding):
            raise ValueError(f"For '{type(self).__name__}', 'padding' needs pad_mode 'pad', but got {padding!r} with {pad_mode!r}.")
        self.format = choice(self, "data_format", data_format, ("NCHW",))
        self._ops: dict[tuple[int, int], Any] = {}

    def _sides(self, height: int, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
        if self.pad_mode == "same":
            return (same_padding(height, self._kernel[0], self._stride[0]), same_padding(width, self._kernel[1], self._stride[1]))
        (top, left) = self._padding
        return ((top, top), (left, left))

    def _op(self, height: int, width: int) -> Any:
        raise AssertionError

    def construct(self, x: Tensor) -> Tensor:
        floating(self, "x", x, (3, 4))
        shape = x.shape
        if len(shape) == 3:
            x = apply(Reshape(to=x.type.with_shape((1, *shape))), x)
        size = shape[-2], shape[-1]
        op = self._ops.get(size)
        if op is None:
            op = self._ops[size] = self._op(*size)
        y = apply(op, x)
        return y if len(shape) == 4 else apply(Reshape(to=y.type.with_shape(y.shape[1:])), y)

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode.upper()}"


class MaxPool2d(_Pool2d):
    """The largest element of each window; padding does not count."""

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False, data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        self._dilation = pair(self, "dilation", dilation)
        if self.pad_mode != "pad" and (ceil_mode or self._dilation != (1, 1)):
            raise ValueError(f"For 'MaxPool2d', 'dilation' and 'ceil_mode' need pad_mode 'pad', "
                             f"but got {dilation} and {ceil_mode} with {pad_mode!r}.")
        if boolean(self, "return_indices", return_indices):
            raise ValueError("For 'MaxPool2d', 'return_indices' is not supported: the operation MaxPoolIndices gives them.")

    def _op(self, height: int, width: int) -> MaxPool:
        padding = self._sides(height, width)
        return MaxPool(kernel=self._kernel, stride=self._stride, padding=padding, dilation=self._dilation, ceil=self.ceil_mode)


class AvgPool2d(_Pool2d):
    """The average of each window; padding counts with `count_include_pad` (in pad_mode "pad")."""

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None, data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        self.count_include_pad = boolean(self, "count_include_pad", count_include_pad)
        self.divisor_override = 0 if divisor_override is None else positive(self, "divisor_override", divisor_override)

    def _op(self, height: int, width: int) -> AvgPool:
        counted = self.count_include_pad and self.pad_mode == "pad"
        return AvgPool(kernel=self._kernel, stride=self._stride, padding=self._sides(height, width), ceil=self.ceil_mode,
                       count_padding=counted, divisor=self.divisor_override)
