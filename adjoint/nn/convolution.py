"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from adjoint.ir.ops.arithmetic import Add
from adjoint.ir.types import F32, DType
from adjoint.nn.checks import boolean, choice, floating, integer, pair, positive
from adjoint.nn.linear import first_values
from adjoint.ops import convolution, linear, parts
from adjoint.ops.arguments import ArgumentMistake, channels_first
from adjoint.ops.convolution import three
from adjoint.ops.primitives.convolution import Conv2D
from adjoint.ops.primitives.network import BiasAdd
from adjoint.ops.shapes import reshape
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.initializer import Uniform
from adjoint.runtime.tensor.operators import promoted
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose"]

_ADD = Add()


class _Convolution(Cell):
    """Base class of convolutions: their arguments, and weight and bias.

    Sizes are those of the images: for sequences, images of one row, kernels are (1, k).
    """

    transposed: ClassVar[bool] = False
    """Whether the weight is [in, out / group, ...], not [out, in / group, ...]."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...], pad_mode: str, padding: Any,
        sides: tuple[int, ...], dilation: tuple[int, ...], group: int, has_bias: bool, weight_init: Any, bias_init: Any, data_format: str,
        dtype: DType,
    ):
        super().__init__()
        name = type(self).__name__
        self.in_channels, self.out_channels = positive(self, "in_channels", in_channels), positive(self, "out_channels", out_channels)
        self.kernel_size, self.stride, self.dilation, self.group = kernel_size, stride, dilation, positive(self, "group", group)
        self.pad_mode = choice(self, "pad_mode", pad_mode, ("same", "valid", "pad"))
        self.padding, self.data_format = padding, data_format
        if self.pad_mode != "pad" and any(sides):
            raise ValueError(f"For '{name}', 'padding' must be 0 when 'pad_mode' is {self.pad_mode!r}, but got {padding!r}.")
        if in_channels % group or out_channels % group:
            raise ValueError(f"For '{name}', 'in_channels' and 'out_channels' must be divisible by group={group}, "
                             f"but got {in_channels} and {out_channels}.")
        around = tuple(zip(sides[::2], sides[1::2], strict=True)) if self.pad_mode == "pad" else self.pad_mode
        self._geometry: dict[str, Any] = {"stride": stride, "padding": around, "dilation": dilation, "groups": self.group}
        self.has_bias = boolean(self, "has_bias", has_bias)
        self.weight_init, self.bias_init = weight_init, bias_init
        first, second = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        shape = (first, second // self.group, *self.kernel_size)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(first_values(name, "weight_init", weight_init, shape, dtype, Uniform(bound)), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(first_values(name, "bias_init", bias_init, (self.out_channels,), dtype, Uniform(bound)), name="bias")

    def _operands(self, x: Any) -> tuple[Tensor, Tensor]:
        """Images or sequences and the weight, in one dtype."""
        if floating(self, "x", x).ndim > 1 and x.shape[1] != self.in_channels:
            raise ArgumentMistake(f"For '{type(self).__name__}', the second dimension of 'x' must be in_channels={self.in_channels}, "
                                  f"but got shape {x.shape}.")
        weight: Tensor = self.weight
        return (x, weight) if x.dtype is weight.dtype else promoted(_ADD, x, weight)

    def _biased(self, y: Tensor) -> Tensor:
        return y if self.bias is None else linear.bias_add(y, self.bias.astype(y.dtype, copy=False))

    def extend_repr(self) -> str:
        return (f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
                f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, group={self.group}, "
                f"has_bias={self.has_bias}, weight_init={self.weight_init}, bias_init={self.bias_init}, format={self.data_format}")


def _widths(owner: Cell, padding: Any, count: int) -> tuple[int, ...]:
    """Return padding before and after along each axis, from one int for all, or `count`."""
    values = padding if isinstance(padding, (tuple, list)) else (padding,) * count
    found = tuple(integer(owner, "padding", value) for value in values)
    if len(found) != count:
        raise ValueError(f"For '{type(owner).__name__}', the argument 'padding' must be an int or a tuple of {count}, but got {padding!r}.")
    if min(found) < 0:
        raise ValueError(f"For '{type(owner).__name__}', the argument 'padding' must not be negative, but got {padding!r}.")
    return found


def _check_longer(owner: Conv2dTranspose | Conv3dTranspose, longer: tuple[int, ...]) -> None:
    """Check that `output_padding` fits the other arguments."""
    name, given = type(owner).__name__, owner.output_padding
    if any(more >= max(a, b) for more, a, b in zip(longer, owner.stride, owner.dilation, strict=True) if more):
        raise ValueError(f"For '{name}', the argument 'output_padding' must be less than stride or dilation, but got {given!r}.")
    if owner.pad_mode != "pad" and any(longer):
        raise ValueError(f"For '{name}', 'output_padding' must be 0 when 'pad_mode' is {owner.pad_mode!r}, but got {given!r}.")


class Conv2d(_Convolution):
    """Cross-correlation of [n, c, h, w] with a weight [out, in / group, kh, kw].

    pad_mode     "same" (default): as many outputs as ceil(size / stride); "valid": no padding; "pad": `padding` zeros
    padding      an int, or four: top, bottom, left, right; only with "pad"
    weight_init  as for `initializer`; default uniform in +-1/sqrt(in / group * kh * kw), the bias likewise

    `conv2d` and `bias_add` are the operators with these arguments, for a subclass with a construct of its own.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, int] = 1, group: int = 1,
        has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, data_format: str = "NCHW", dtype: DType = F32,
    ):
        super().__init__(
            in_channels, out_channels, pair(self, "kernel_size", kernel_size), pair(self, "stride", stride), pad_mode, padding,
            _widths(self, padding, 4), pair(self, "dilation", dilation), group, has_bias, weight_init, bias_init,
            channels_first(type(self).__name__, data_format), dtype)
        self.conv2d = Conv2D(self.out_channels, self.kernel_size, 1, self.pad_mode, padding, self.stride, self.dilation, self.group)
        self.bias_add = BiasAdd()

    def construct(self, x: Tensor) -> Tensor:
        image, weight = self._operands(x)
        return self._biased(convolution.convolution("Conv2d", image, weight, **self._geometry))


class Conv2dTranspose(_Convolution):
    """The transpose of a convolution (of `Conv2d`, whose gradient by x it is): of [n, c, h, w] with a weight [in, out / group, kh, kw].

    pad_mode        "same" (default): results of size * stride; "valid": as far as the kernels reach, and size * stride at least;
                    "pad": `padding` elements less
    padding         an int, or four: top, bottom, left, right; only with "pad"
    output_padding  rows and columns of zeros more at the end, less than stride or dilation; only with "pad"
    weight_init     as for `initializer`; default uniform in +-1/sqrt(out / group * kh * kw), the bias likewise
    """

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        dtype: DType = F32,
    ):
        super().__init__(
            in_channels, out_channels, pair(self, "kernel_size", kernel_size), pair(self, "stride", stride), pad_mode, padding,
            _widths(self, padding, 4), pair(self, "dilation", dilation), group, has_bias, weight_init, bias_init, "NCHW", dtype)
        self.output_padding = output_padding
        self._longer = pair(self, "output_padding", output_padding, least=0)
        _check_longer(self, self._longer)

    def construct(self, x: Tensor) -> Tensor:
        image, weight = self._operands(x)
        y = self._biased(convolution.transposed("Conv2dTranspose", image, weight, **self._geometry))
        return parts.framed(y, ((0, 0), (0, 0), (0, self._longer[0]), (0, self._longer[1])), 0) if any(self._longer) else y


class _Sequences(_Convolution):
    """Convolutions of sequences [n, c, l], as of images of one row."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, pad_mode: str = "same", padding: int = 0,
        dilation: int = 1, group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, dtype: DType = F32,
    ):
        side = integer(self, "padding", padding)
        if side < 0:
            raise ValueError(f"For '{type(self).__name__}', the argument 'padding' must not be negative, but got {padding!r}.")
        if isinstance(weight_init, Tensor):
            if weight_init.ndim != 3:
                raise ValueError(f"For '{type(self).__name__}', the argument 'weight_init' must have 3 dimensions, but got shape "
                                 f"{weight_init.shape}.")
            weight_init = reshape(weight_init, (*weight_init.shape[:2], 1, weight_init.shape[2]))
        super().__init__(
            in_channels, out_channels, (1, positive(self, "kernel_size", kernel_size)), (1, positive(self, "stride", stride)), pad_mode,
            (0, 0, side, side), (0, 0, side, side), (1, positive(self, "dilation", dilation)), group, has_bias, weight_init, bias_init,
            "NCHW", dtype)

    def construct(self, x: Tensor) -> Tensor:
        floating(self, "x", x, 3)
        rows, weight = self._operands(x)
        kind = convolution.transposed if self.transposed else convolution.convolution
        y = self._biased(kind(type(self).__name__, reshape(rows, (*x.shape[:2], 1, x.shape[2])), weight, **self._geometry))
        return reshape(y, (y.shape[0], y.shape[1], y.shape[3]))


class Conv1d(_Sequences):
    """Cross-correlation of [n, c, l] with a weight [out, in / group, 1, k]; sizes are ints, the rest is as for `Conv2d`.

    A Tensor for `weight_init` is [out, in / group, k].
    """


class Conv1dTranspose(_Sequences):
    """The transpose of `Conv1d`: of [n, c, l] with a weight [in, out / group, 1, k].

    Sizes are ints, the rest is as for `Conv2dTranspose`.  A Tensor for `weight_init` is [in, out / group, k].
    """

    transposed = True


class Conv3d(_Convolution):
    """Cross-correlation of [n, c, d, h, w] with a weight [out, in / group, kd, kh, kw].

    padding  an int, or six: head, tail, top, bottom, left, right; only with pad_mode "pad"

    The rest is as for `Conv2d`.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, group: int = 1,
        has_bias: bool = False, weight_init: Any = None, bias_init: Any = None, data_format: str = "NCDHW", dtype: DType = F32,
    ):
        super().__init__(
            in_channels, out_channels, three("Conv3d", "kernel_size", kernel_size), three("Conv3d", "stride", stride), pad_mode, padding,
            _widths(self, padding, 6), three("Conv3d", "dilation", dilation), group, has_bias, weight_init, bias_init,
            choice(self, "data_format", data_format, ("NCDHW",)), dtype)

    def construct(self, x: Tensor) -> Tensor:
        floating(self, "x", x, 5)
        volume, weight = self._operands(x)
        return self._biased(convolution.volume_convolution("Conv3d", volume, weight, **self._geometry))


class Conv3dTranspose(_Convolution):
    """The transpose of `Conv3d`: of [n, c, d, h, w] with a weight [in, out / group, kd, kh, kw].

    padding         an int, or six: head, tail, top, bottom, left, right; only with pad_mode "pad"
    output_padding  planes, rows and columns more at the end, less than stride or dilation; only with "pad"

    The rest is as for `Conv2dTranspose`.
    """

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1,
        pad_mode: str = "same", padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, group: int = 1,
        output_padding: int | tuple[int, ...] = 0, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        data_format: str = "NCDHW", dtype: DType = F32,
    ):
        super().__init__(
            in_channels, out_channels, three("Conv3dTranspose", "kernel_size", kernel_size), three("Conv3dTranspose", "stride", stride),
            pad_mode, padding, _widths(self, padding, 6), three("Conv3dTranspose", "dilation", dilation), group, has_bias, weight_init,
            bias_init, choice(self, "data_format", data_format, ("NCDHW",)), dtype)
        self.output_padding = output_padding
        self._longer = three("Conv3dTranspose", "output_padding", output_padding, least=0)
        _check_longer(self, self._longer)

    def construct(self, x: Tensor) -> Tensor:
        floating(self, "x", x, 5)
        volume, weight = self._operands(x)
        return self._biased(convolution.transposed_volume_convolution(
            "Conv3dTranspose", volume, weight, longer=self._longer, **self._geometry))
