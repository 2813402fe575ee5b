"""Convolutions as objects."""

from __future__ import annotations

from typing import Any

from adjoint.ops import convolution
from adjoint.ops.arguments import ArgumentMistake, channels_first, choice, integer, operand, pair, sizes_argument, wrong
from adjoint.ops.primitive import Primitive
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Conv2D", "Conv2DBackpropInput", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]


class Conv2D(Primitive):
    """Cross-correlation of images [n, c, h, w] with kernels [out_channel, c / group, kh, kw].

    pad_mode  "valid", "same", or "pad" with `pad` zeros around: an int, or (top, bottom, left, right)
    mode      1, cross-correlation, is the only one
    """

    def __init__(
        self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1,
        group: int = 1, data_format: str = "NCHW",
    ):
        name = type(self).__name__
        outputs, groups = integer(name, "out_channel", out_channel), integer(name, "group", group)
        if outputs < 1 or groups < 1:
            raise wrong(name, "out_channel", "at least 1, as 'group'", (out_channel, group))
        if integer(name, "mode", mode) != 1:
            raise wrong(name, "mode", "1", mode)
        self._kernel = pair(name, "kernel_size", kernel_size)
        self._padding = convolution.padding_argument(name, pad_mode, pad)
        self._stride, self._dilation = pair(name, "stride", stride), pair(name, "dilation", dilation)
        widths = ((0, 0), (0, 0)) if isinstance(self._padding, str) else self._padding
        super().__init__(out_channel=outputs, kernel_size=kernel_size, mode=mode, pad_mode=pad_mode.lower(), pad=(*widths[0], *widths[1]),
                         stride=(1, 1, *self._stride), dilation=(1, 1, *self._dilation), group=groups,
                         data_format=channels_first(name, data_format), groups=groups)

    def fitting(self, weight: Any) -> Tensor:
        """Return the weight, if it has the outputs and kernels that were stated."""
        kernel = operand(self.name, weight, "weight")
        if kernel.ndim == 4 and (kernel.shape[0] != self.out_channel or kernel.shape[2:] != self._kernel):
            raise wrong(self.name, "weight", f"of {self.out_channel} outputs and kernels of {self._kernel}", kernel, ArgumentMistake)
        return kernel

    def __call__(self, x: Any, weight: Any) -> Tensor:
        return convolution.convolution(
            "Conv2D", x, self.fitting(weight), stride=self._stride, padding=self._padding, dilation=self._dilation, groups=self.group)


class Conv2DTranspose(Conv2D):
    """The gradient of `Conv2D` by its images: of a cotangent `dout` with the weight, for images of `input_size`.

    out_channel  the channels of `dout`, as for Conv2D
    pad_list     as `pad`
    """

    def __init__(
        self, out_channel: int, kernel_size: Any, pad_mode: str = "valid", pad: Any = 0, pad_list: Any = None, mode: int = 1,
        stride: Any = 1, dilation: Any = 1, group: int = 1, data_format: str = "NCHW",
    ):
        around = pad if pad_list is None else pad_list
        super().__init__(out_channel, kernel_size, mode, pad_mode, around, stride, dilation, group, data_format)

    def __call__(self, dout: Any, weight: Any, input_size: Any) -> Tensor:
        return convolution.image_gradient(
            self.name, operand(self.name, dout, "dout"), self.fitting(weight), sizes_argument(self.name, "input_size", input_size),
            stride=self._stride, padding=self._padding, dilation=self._dilation, groups=self.group)


class Conv2DBackpropInput(Conv2DTranspose):
    """`Conv2DTranspose`."""


class Conv3D(Primitive):
    """Cross-correlation of volumes [n, c, d, h, w] with kernels [out_channel, c / group, kd, kh, kw].

    pad_mode  "valid", "same", or "pad" with `pad` zeros around: an int, or (head, tail, top, bottom, left, right)
    mode      1, cross-correlation, is the only one
    """

    def __init__(
        self, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1,
        group: int = 1, data_format: str = "NCDHW",
    ):
        op = "Conv3D"
        outputs, groups = integer(op, "out_channel", out_channel), integer(op, "group", group)
        if outputs < 1 or groups < 1:
            raise wrong(op, "out_channel", "at least 1, as 'group'", (out_channel, group))
        if integer(op, "mode", mode) != 1:
            raise wrong(op, "mode", "1", mode)
        self._geometry: dict[str, Any] = {
            "stride": convolution.three(op, "stride", stride), "padding": convolution.volume_padding(op, pad_mode, pad),
            "dilation": convolution.three(op, "dilation", dilation), "groups": groups}
        self._kernel = convolution.three(op, "kernel_size", kernel_size)
        super().__init__(
            out_channel=outputs, kernel_size=self._kernel, mode=mode, pad_mode=pad_mode.lower(), pad=pad, stride=self._geometry["stride"],
            dilation=self._geometry["dilation"], group=groups, data_format=choice(op, "data_format", data_format, ("ncdhw",)).upper())

    def __call__(self, x: Any, weight: Any) -> Tensor:
        kernel = operand("Conv3D", weight, "weight")
        if kernel.ndim == 5 and (kernel.shape[0] != self.out_channel or kernel.shape[2:] != self._kernel):
            raise wrong("Conv3D", "weight", f"of {self.out_channel} outputs and kernels of {self._kernel}", kernel, ArgumentMistake)
        return convolution.volume_convolution("Conv3D", x, kernel, **self._geometry)


class Conv3DTranspose(Primitive):
    """The transpose of `Conv3D`: of volumes [n, in_channel, d, h, w] with a weight [in_channel, out_channel / group, kd, kh, kw].

    pad_mode        "valid"; "same": results of size * stride; "pad": `pad` is cut off, an int or (head, tail, top, bottom, left, right)
    output_padding  elements more at the ends, less than stride or dilation; 0 unless `pad_mode` is "pad"
    mode            1, cross-correlation, is the only one
    """

    def __init__(
        self, in_channel: int, out_channel: int, kernel_size: Any, mode: int = 1, pad_mode: str = "valid", pad: Any = 0, stride: Any = 1,
        dilation: Any = 1, group: int = 1, output_padding: Any = 0, data_format: str = "NCDHW",
    ):
        op = "Conv3DTranspose"
        numbers = {"in_channel": in_channel, "out_channel": out_channel, "group": group}
        for name, value in numbers.items():
            if integer(op, name, value) < 1:
                raise wrong(op, name, "at least 1", value)
        if integer(op, "mode", mode) != 1:
            raise wrong(op, "mode", "1", mode)
        step, apart = convolution.three(op, "stride", stride), convolution.three(op, "dilation", dilation)
        longer = convolution.three(op, "output_padding", output_padding, least=0)
        if any(more >= max(a, b) for more, a, b in zip(longer, step, apart, strict=True)):
            raise wrong(op, "output_padding", "less than stride or dilation", output_padding)
        self._geometry: dict[str, Any] = {
            "stride": step, "padding": convolution.volume_padding(op, pad_mode, pad), "dilation": apart, "groups": group, "longer": longer}
        if any(longer) and isinstance(self._geometry["padding"], str):
            raise wrong(op, "output_padding", "0 unless 'pad_mode' is 'pad'", output_padding)
        self._kernel = convolution.three(op, "kernel_size", kernel_size)
        super().__init__(
            None, **numbers, kernel_size=self._kernel, mode=mode, pad_mode=pad_mode.lower(), pad=pad, stride=step, dilation=apart,
            output_padding=longer, data_format=choice(op, "data_format", data_format, ("ncdhw",)).upper())

    def __call__(self, dout: Any, weight: Any) -> Tensor:
        kernel = operand("Conv3DTranspose", weight, "weight")
        stated = self.in_channel, self.out_channel // self.group, *self._kernel
        if kernel.ndim == 5 and kernel.shape != stated:
            raise wrong("Conv3DTranspose", "weight", f"of shape {stated}", kernel, ArgumentMistake)
        return convolution.transposed_volume_convolution("Conv3DTranspose", dout, kernel, **self._geometry)
