"""Convolution layers: cross-correlation with a trained weight."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from adjoint.ir.types import F32, DType
from adjoint.mint.nn import functional
from adjoint.nn.checks import boolean, choice, integer, positive
from adjoint.nn.linear import first_values
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.initializer import Uniform
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"]

_MODES = {"reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class _Convolution(Cell):
    """Base class of convolutions: arguments, weight and bias; the initial values are uniform in +-1/sqrt(in / groups * kernel)."""

    axes: ClassVar[int]
    transposed: ClassVar[bool] = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", dtype: DType | None = None,
    ):
        super().__init__()
        name = type(self).__name__
        self.in_channels, self.out_channels = positive(self, "in_channels", in_channels), positive(self, "out_channels", out_channels)
        self.kernel_size, self.stride = self._sizes("kernel_size", kernel_size), self._sizes("stride", stride)
        self.dilation, self.groups, self.padding = self._sizes("dilation", dilation), positive(self, "groups", groups), padding
        self.padding_mode = choice(self, "padding_mode", padding_mode, ("zeros", *_MODES))
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"For '{name}', 'in_channels' and 'out_channels' must be divisible by groups={groups}, "
                             f"but got {in_channels} and {out_channels}.")
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError(f"For '{name}', the argument 'stride' must be 1 where 'padding' is 'same', but got {stride}.")
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape, kind = (first, second // groups, *self.kernel_size), F32 if dtype is None else dtype
        bound = Uniform(1 / math.sqrt(math.prod(shape[1:])))
        self.weight = Parameter(first_values(name, "weight", None, shape, kind, bound), name="weight")
        self.bias = None
        if boolean(self, "bias", bias):
            self.bias = Parameter(first_values(name, "bias", None, (out_channels,), kind, bound), name="bias")

    def _sizes(self, argument: str, value: Any) -> tuple[int, ...]:
        values = value if isinstance(value, (tuple, list)) else (value,) * self.axes
        if len(values) != self.axes:
            raise ValueError(f"For '{type(self).__name__}', the argument '{argument}' must be an int or {self.axes}, but got {value!r}.")
        return tuple(positive(self, argument, size) for size in values)

    def _framed(self, input: Tensor) -> tuple[Tensor, Any]:
        """Return the input after padding that is not by zeros, and the padding that remains to be done."""
        if self.padding_mode == "zeros" or self.padding == "valid":
            return input, self.padding
        if self.padding == "same":
            total = [apart * (size - 1) for apart, size in zip(self.dilation, self.kernel_size, strict=True)]
            pairs = [(n // 2, n - n // 2) for n in total]
        else:
            values = self.padding if isinstance(self.padding, (tuple, list)) else (self.padding,) * self.axes
            pairs = [(integer(self, "padding", n), n) for n in values]
        widths = tuple(n for pair in reversed(pairs) for n in pair)
        return functional.pad(input, widths, _MODES[self.padding_mode]), 0

    def extend_repr(self) -> str:
        return (f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}, padding_mode={self.padding_mode}")


class Conv1d(_Convolution):
    """Cross-correlation of [n, c, l] or [c, l] with a weight [out, in / groups, k].

    padding       zeros on both sides, an int, or "same" or "valid"
    padding_mode  "zeros", or what else stands beyond the edges: "reflect", "replicate", "circular"
    """

    axes = 1
    conv1d = staticmethod(functional.conv1d)
    """The function, for a subclass with a construct of its own."""

    def construct(self, input: Tensor) -> Tensor:
        x, padding = self._framed(input)
        return functional.conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Convolution):
    """Cross-correlation of [n, c, h, w] or [c, h, w] with a weight [out, in / groups, kh, kw].

    padding       zeros on both sides, an int or (height, width), or "same" or "valid"
    padding_mode  "zeros", or what else stands beyond the edges: "reflect", "replicate", "circular"
    """

    axes = 2
    conv2d = staticmethod(functional.conv2d)
    """The function, for a subclass with a construct of its own."""

    def construct(self, input: Tensor) -> Tensor:
        x, padding = self._framed(input)
        return functional.conv2d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Convolution):
    """Cross-correlation of [n, c, d, h, w] or [c, d, h, w] with a weight [out, in / groups, kd, kh, kw].

    padding       zeros on both sides, an int or (depth, height, width), or "same" or "valid"
    padding_mode  "zeros", or what else stands beyond the edges: "reflect", "replicate", "circular"
    """

    axes = 3
    conv3d = staticmethod(functional.conv3d)
    """The function, for a subclass with a construct of its own."""

    def construct(self, input: Tensor) -> Tensor:
        x, padding = self._framed(input)
        return functional.conv3d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class ConvTranspose2d(_Convolution):
    """The transpose of a convolution: the gradient of `Conv2d` by its input, with a weight [in, out / groups, kh, kw].

    output_padding  additional rows and columns at the end, fewer than stride or dilation
    """

    axes = 2
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", dtype: DType | None = None,
    ):
        choice(self, "padding_mode", padding_mode, ("zeros",))
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype)
        self.output_padding = output_padding

    def construct(self, input: Tensor, output_size: Any = None) -> Tensor:
        if output_size is not None:
            raise ValueError("For 'ConvTranspose2d', the argument 'output_size' is not supported: "
                             "give 'output_padding' when the layer is made.")
        return functional.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups,
                                           self.dilation)
