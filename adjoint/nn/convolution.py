"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.ops import elementwise as ew
from adjoint.ir.types import F32, DType
from adjoint.nn.checks import boolean, choice, floating, integer, pair, positive
from adjoint.nn.linear import first_values
from adjoint.ops import linear
from adjoint.ops.arguments import channels_first
from adjoint.runtime.cell import Cell
from adjoint.runtime.initializer import Uniform
from adjoint.runtime.parameter import Parameter
from adjoint.runtime.tensor import Tensor, promoted

__all__ = ["Conv2d"]

_ADD = ew.Add()


class Conv2d(Cell):
    """Cross-correlation of [n, c, h, w] with a weight [out, in / group, kh, kw].

    pad_mode     "same" (default): as many outputs as ceil(size / stride); "valid": no padding; "pad": `padding` zeros
    padding      an int, or four: top, bottom, left, right; only with "pad"
    weight_init  as for `initializer`; default uniform in +-1/sqrt(in / group * kh * kw), the bias likewise
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, int] = 1, group: int = 1,
        has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, data_format: str = "NCHW", dtype: DType = F32,
    ):
        super().__init__()
        self.in_channels, self.out_channels = positive(self, "in_channels", in_channels), positive(self, "out_channels", out_channels)
        self.kernel_size, self.stride = pair(self, "kernel_size", kernel_size), pair(self, "stride", stride)
        self.dilation, self.group = pair(self, "dilation", dilation), positive(self, "group", group)
        self.pad_mode = choice(self, "pad_mode", pad_mode, ("same", "valid", "pad"))
        self.data_format = channels_first(type(self).__name__, data_format)
        self.padding = padding
        self._explicit = self._padding(padding)
        if in_channels % group or out_channels % group:
            raise ValueError(f"For 'Conv2d', 'in_channels' and 'out_channels' must be divisible by group={group}, "
                             f"but got {in_channels} and {out_channels}.")
        self.has_bias = boolean(self, "has_bias", has_bias)
        self.weight_init, self.bias_init = weight_init, bias_init
        shape = (self.out_channels, self.in_channels // self.group, *self.kernel_size)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(first_values("Conv2d", "weight_init", weight_init, shape, dtype, Uniform(bound)), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(first_values("Conv2d", "bias_init", bias_init, shape[:1], dtype, Uniform(bound)), name="bias")

    def _padding(self, padding: Any) -> linear.Pairs:
        values = (padding,) * 4 if isinstance(padding, (int, np.integer)) else padding
        if not isinstance(values, (tuple, list)):
            raise TypeError(f"For 'Conv2d', the argument 'padding' must be an int or a tuple of 4, "
                            f"but got {padding!r} of type {type(padding).__name__}.")
        if len(values) != 4:
            raise ValueError(f"For 'Conv2d', the argument 'padding' must be an int or a tuple of 4, but got {padding!r}.")
        top, bottom, left, right = (integer(self, "padding", v) for v in values)
        if min(top, bottom, left, right) < 0:
            raise ValueError(f"For 'Conv2d', the argument 'padding' must not be negative, but got {padding!r}.")
        if self.pad_mode != "pad" and any(values):
            raise ValueError(f"For 'Conv2d', 'padding' must be 0 when 'pad_mode' is {self.pad_mode!r}, but got {padding!r}.")
        return (top, bottom), (left, right)

    def construct(self, x: Tensor) -> Tensor:
        if floating(self, "x", x).ndim == 4 and x.shape[1] != self.in_channels:
            raise ValueError(f"For 'Conv2d', the second dimension of 'x' must be in_channels={self.in_channels}, but got shape {x.shape}.")
        weight: Tensor = self.weight
        if x.dtype is not weight.dtype:
            x, weight = promoted(_ADD, x, weight)
        padding = self._explicit if self.pad_mode == "pad" else self.pad_mode
        y = linear.convolution(
            "Conv2d", x, weight, stride=self.stride, padding=padding, dilation=self.dilation, groups=self.group)
        return y if self.bias is None else linear.bias_add(y, self.bias.astype(y.dtype, copy=False))

    def extend_repr(self) -> str:
        return (f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, group={self.group}, "
                f"has_bias={self.has_bias}, weight_init={self.weight_init}, bias_init={self.bias_init}, format={self.data_format}")
