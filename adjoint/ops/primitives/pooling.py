"""Pooling as objects."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast as CastOp
from adjoint.ir.ops.pooling import AvgPool as AvgPoolOp
from adjoint.ir.ops.pooling import MaxPool as MaxPoolOp
from adjoint.ir.ops.pooling import MaxPoolIndices
from adjoint.ir.types import I32, I64, DType
from adjoint.ops import pooling
from adjoint.ops.arguments import channels_first, choice, flag, operand, pair, sizes_argument, whole, wrong
from adjoint.ops.convolution import sides_of_volume, three, volume_padding
from adjoint.ops.primitive import Plain, Primitive
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "AdaptiveAvgPool2D", "AdaptiveAvgPool3D", "AdaptiveMaxPool2D", "AdaptiveMaxPool3D", "AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D",
    "MaxPool3DWithArgmax", "MaxPoolWithArgmax", "MaxPoolWithArgmaxV2",
]


class _Pool(Primitive):
    """Windows over the last two axes of [n, c, h, w]; pad_mode "valid" or "same"."""

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"):
        name = type(self).__name__
        kernel, stride = pair(name, "kernel_size", kernel_size), pair(name, "strides", strides)
        super().__init__(kernel_size=(1, 1, *kernel), strides=(1, 1, *stride),
                         pad_mode=choice(name, "pad_mode", pad_mode, ("valid", "same")).upper(),
                         data_format=channels_first(name, data_format))

    def _geometry(self, x: Any) -> tuple[Tensor, Any]:
        image = operand(self.name, x, "x")
        if image.ndim != 4:
            raise wrong(self.name, "x", "of 4 dimensions", image)
        kernel, stride = self.kernel_size[2:], self.strides[2:]
        return image, (kernel, stride, pooling.window_padding(self.name, image, self.pad_mode.lower(), kernel, stride))


class MaxPool(_Pool):
    """The largest element of each window."""

    def __call__(self, x: Any) -> Tensor:
        image, geometry = self._geometry(x)
        return apply(made(MaxPoolOp, *geometry), image)


class MaxPoolWithArgmax(_Pool):
    """The largest element of each window, and where it stands in its plane (Int32)."""

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        image, geometry = self._geometry(x)
        return apply(made(MaxPoolOp, *geometry), image), apply(made(CastOp, I32), apply(made(MaxPoolIndices, *geometry), image))


class AvgPool(_Pool):
    """The average of each window; the padding does not count."""

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID", data_format: str = "NCHW"):
        super().__init__(kernel_size, strides, pad_mode, data_format)

    def __call__(self, x: Any) -> Tensor:
        image, geometry = self._geometry(x)
        return apply(made(AvgPoolOp, *geometry), image)


class AdaptiveAvgPool2D(Primitive):
    """Averages over parts of each plane."""

    def __init__(self, output_size: Any):
        super().__init__(output_size=output_size)

    def __call__(self, x: Any) -> Tensor:
        return pooling.adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool3D(Primitive):
    """Averages over parts of each volume."""

    def __init__(self, output_size: Any):
        super().__init__(output_size=output_size)

    def __call__(self, input: Any) -> Tensor:
        return pooling.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool2D(Primitive):
    """The largest elements of parts of each plane, and where they stand in it (Int64)."""

    def __init__(self, output_size: Any):
        super().__init__(output_size=output_size)

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        return pooling.adaptive_max_pool2d(input, self.output_size, True)


class AdaptiveMaxPool3D(Plain):
    """The largest elements of parts of each volume, and where they stand in it (Int32); the size is a Tensor or ints."""

    def __call__(self, x: Any, output_size: Any) -> tuple[Tensor, Tensor]:
        size = sizes_argument(self.name, "output_size", output_size) if isinstance(output_size, Tensor) else output_size
        return pooling.adaptive_max_pool3d(x, size, True)


def _index_dtype(op: str, argmax_type: Any) -> DType:
    if not isinstance(argmax_type, DType) or argmax_type not in (I32, I64):
        raise wrong(op, "argmax_type", "Int32 or Int64", argmax_type, TypeError)
    return argmax_type


class MaxPoolWithArgmaxV2(Primitive):
    """The largest element of each window of [n, c, h, w], and where it stands in its plane.

    strides      how far the windows are apart; None: their size
    pads         the padding at each end of an axis, at most half of the window; it does not count
    ceil_mode    whether the last window may hang over
    argmax_type  Int32 or Int64
    """

    def __init__(
        self, kernel_size: Any, strides: Any = None, pads: Any = 0, dilation: Any = (1, 1), ceil_mode: bool = False,
        argmax_type: DType = I64,
    ):
        op = "MaxPoolWithArgmaxV2"
        kernel = pair(op, "kernel_size", kernel_size)
        super().__init__(kernel_size=kernel, strides=kernel if strides is None else pair(op, "strides", strides),
                         pads=pair(op, "pads", pads, least=0), dilation=pair(op, "dilation", dilation),
                         ceil_mode=flag(op, "ceil_mode", ceil_mode), argmax_type=_index_dtype(op, argmax_type))
        if any(2 * width > size for width, size in zip(self.pads, kernel, strict=True)):
            raise wrong(op, "pads", f"at most half of 'kernel_size', {kernel}", self.pads)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        image = operand(self.name, x, "x")
        if image.ndim != 4:
            raise wrong(self.name, "x", "of 4 dimensions", image)
        values, places = pooling.max_pool2d(image, self.kernel_size, self.strides, self.pads, self.dilation, True, self.ceil_mode)
        return values, places.astype(self.argmax_type, copy=False)


class MaxPool3DWithArgmax(Primitive):
    """The largest element of each window of [n, c, d, h, w], and where it stands in its volume read plane by plane, row by row.

    The attributes are as for `MaxPoolWithArgmaxV2`.
    """

    def __init__(
        self, ksize: Any, strides: Any, pads: Any, dilation: Any = (1, 1, 1), ceil_mode: bool = False, data_format: str = "NCDHW",
        argmax_type: DType = I64,
    ):
        op = "MaxPool3DWithArgmax"
        super().__init__(ksize=three(op, "ksize", ksize), strides=three(op, "strides", strides), pads=three(op, "pads", pads, least=0),
                         dilation=three(op, "dilation", dilation), ceil_mode=flag(op, "ceil_mode", ceil_mode),
                         data_format=choice(op, "data_format", data_format, ("ncdhw",)).upper(),
                         argmax_type=_index_dtype(op, argmax_type))
        if any(2 * width > size for width, size in zip(self.pads, self.ksize, strict=True)):
            raise wrong(op, "pads", f"at most half of 'ksize', {self.ksize}", self.pads)

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        volume = _volume(self.name, x, "x")
        values, places = pooling.max_pool3d(volume, self.ksize, self.strides, self.pads, self.dilation, self.ceil_mode, True)
        return values, places.astype(self.argmax_type, copy=False)


class MaxPool3D(Primitive):
    """The largest element of each window of [n, c, d, h, w].

    pad_mode   "valid", "same", or "pad" with `pad_list` around: an int, or (head, tail, top, bottom, left, right)
    ceil_mode  whether the last window may hang over; only with "pad"
    """

    def __init__(
        self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID", pad_list: Any = 0, ceil_mode: bool | None = None,
        data_format: str = "NCDHW",
    ):
        op = "MaxPool3D"
        mode = choice(op, "pad_mode", pad_mode, ("valid", "same", "pad"))
        ceil = False if ceil_mode is None else flag(op, "ceil_mode", ceil_mode)
        if ceil and mode != "pad":
            raise wrong(op, "ceil_mode", f"None where pad_mode is '{mode}'", ceil_mode)
        self._padding = volume_padding(op, mode, pad_list)
        super().__init__(kernel_size=three(op, "kernel_size", kernel_size), strides=three(op, "strides", strides), pad_mode=mode.upper(),
                         pad_list=pad_list, ceil_mode=ceil, data_format=choice(op, "data_format", data_format, ("ncdhw",)).upper())

    def __call__(self, x: Any) -> Tensor:
        volume = _volume(self.name, x, "x")
        sides = sides_of_volume(self._padding, volume.shape[2:], self.kernel_size, self.strides)
        return pooling.max_pooled_volumes(volume, self.kernel_size, self.strides, sides, (1, 1, 1), self.ceil_mode)


class AvgPool3D(Primitive):
    """The average of each window of [n, c, d, h, w].

    pad_mode           "valid", "same", or "pad" with `pad` around: an int, or (head, tail, top, bottom, left, right)
    count_include_pad  whether the padding counts; `divisor_override` takes the number's place
    """

    def __init__(
        self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", pad: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int = 0, data_format: str = "NCDHW",
    ):
        op = "AvgPool3D"
        mode = choice(op, "pad_mode", pad_mode, ("valid", "same", "pad"))
        self._padding = volume_padding(op, mode, pad)
        divisor = whole(op, "divisor_override", divisor_override)
        if divisor < 0:
            raise wrong(op, "divisor_override", "at least 0", divisor)
        super().__init__(
            kernel_size=three(op, "kernel_size", kernel_size), strides=three(op, "strides", strides), pad_mode=mode.upper(), pad=pad,
            ceil_mode=flag(op, "ceil_mode", ceil_mode), count_include_pad=flag(op, "count_include_pad", count_include_pad),
            divisor_override=divisor, data_format=choice(op, "data_format", data_format, ("ncdhw",)).upper())

    def __call__(self, x: Any) -> Tensor:
        volume = _volume(self.name, x, "x")
        sides = sides_of_volume(self._padding, volume.shape[2:], self.kernel_size, self.strides)
        return pooling.averaged_volumes(
            volume, self.kernel_size, self.strides, sides, self.ceil_mode, self.count_include_pad, self.divisor_override)


def _volume(op: str, x: Any, argument: str) -> Tensor:
    if operand(op, x, argument).ndim != 5:
        raise wrong(op, argument, "of 5 dimensions", x)
    return pooling.volumes(op, x, argument)[0]
