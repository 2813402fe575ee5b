"""Pooling layers."""

from __future__ import annotations

from typing import Any, ClassVar

from adjoint.ir.ops.pooling import AvgPool, MaxPool, MaxPoolIndices
from adjoint.nn.checks import boolean, choice, floating, integer, pair, positive, tensor_argument
from adjoint.ops import pooling
from adjoint.ops.arguments import channels_first
from adjoint.ops.convolution import Pairs, Sides, Sizes, same_padding, sides_of_volume, three
from adjoint.ops.shapes import reshape
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]


class _Pool(Cell):
    """Base class of layers that pool over windows.

    pad_mode  "valid" (default): whole windows only; "same": as many as ceil(size / stride); "pad": `padding` on each side
    """

    def __init__(self, pad_mode: str, padding: Any, ceil_mode: bool):
        super().__init__()
        self.pad_mode = choice(self, "pad_mode", pad_mode.lower() if isinstance(pad_mode, str) else pad_mode, ("same", "valid", "pad"))
        self.ceil_mode = boolean(self, "ceil_mode", ceil_mode)
        if self.pad_mode != "pad" and any(padding if isinstance(padding, tuple) else (padding,)):
            raise ValueError(f"For '{type(self).__name__}', 'padding' needs pad_mode 'pad', but got {padding!r} with {pad_mode!r}.")

    def _check_options(self, dilation: Any, apart: tuple[int, ...], return_indices: bool) -> None:
        """Store the options of max-pooling; raise ValueError if the mode does not support them."""
        self.return_indices = boolean(self, "return_indices", return_indices)
        if self.pad_mode != "pad" and (self.ceil_mode or return_indices or set(apart) != {1}):
            raise ValueError(f"For '{type(self).__name__}', 'dilation', 'return_indices' and 'ceil_mode' need pad_mode 'pad', "
                             f"but got {dilation}, {return_indices} and {self.ceil_mode} with {self.pad_mode!r}.")

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode.upper()}"


class _Pool2d(_Pool):
    """Windows over the last two axes of [n, c, h, w] or [c, h, w]."""

    _pooling: tuple[Any, ...]
    """Return the op, and its attributes after kernel, stride and padding."""

    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, ceil_mode: bool):
        super().__init__(pad_mode, pair(self, "padding", padding, least=0), ceil_mode)
        self.kernel_size, self.stride = kernel_size, stride
        self._kernel, self._stride = pair(self, "kernel_size", kernel_size), pair(self, "stride", stride)
        self._padding = pair(self, "padding", padding, least=0)

    def _sides(self, x: Tensor) -> Pairs:
        """Return the padding on both sides of both axes."""
        if self.pad_mode != "same":
            return pooling.symmetric(self._padding)
        floating(self, "x", x, (3, 4))
        top, left = (same_padding(*sizes) for sizes in zip(x.shape[-2:], self._kernel, self._stride, strict=True))
        return top, left

    def _pooled(self, x: Tensor, kind: Any, *options: Any) -> Tensor:
        return pooling.pooled(type(self).__name__, kind, x, self._kernel, self._stride, self._sides(x), *options)

    def construct(self, x: Tensor) -> Any:
        return self._pooled(x, *self._pooling)


class _Sequences(_Pool2d):
    """Windows over the last axis of [n, c, l] or [c, l], as over images of one row."""

    def __init__(self, kernel_size: int, stride: int, pad_mode: str, padding: int, ceil_mode: bool):
        super().__init__((1, positive(self, "kernel_size", kernel_size)), (1, positive(self, "stride", stride)), pad_mode,
                         (0, integer(self, "padding", padding)), ceil_mode)

    def _in_a_row(self, x: Tensor, kind: Any, *options: Any) -> Tensor:
        floating(self, "x", x, (2, 3))
        y = self._pooled(reshape(x, (*x.shape[:-1], 1, x.shape[-1])), kind, *options)
        return reshape(y, (*y.shape[:-2], y.shape[-1]))

    def construct(self, x: Tensor) -> Any:
        return self._in_a_row(x, *self._pooling)


class MaxPool1d(_Sequences):
    """The largest element of each window of [n, c, l] or [c, l]; padding does not count.

    return_indices  return also its index in the sequence (Int64); only with pad_mode "pad"
    """

    def __init__(
        self, kernel_size: int = 1, stride: int = 1, pad_mode: str = "valid", padding: int = 0, dilation: int = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        apart = (1, positive(self, "dilation", dilation))
        self._check_options(dilation, apart, return_indices)
        self._pooling = (MaxPool, apart, self.ceil_mode)

    def construct(self, x: Tensor) -> Any:
        y = self._in_a_row(x, *self._pooling)
        return (y, self._in_a_row(x, MaxPoolIndices, *self._pooling[1:])) if self.return_indices else y


class MaxPool2d(_Pool2d):
    """The largest element of each window; padding does not count.

    return_indices  return also its index in the flattened plane (Int64); only with pad_mode "pad"
    """

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False, data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        self.format = channels_first("MaxPool2d", data_format)
        apart = pair(self, "dilation", dilation)
        self._check_options(dilation, apart, return_indices)
        self._pooling = (MaxPool, apart, self.ceil_mode)

    def construct(self, x: Tensor) -> Any:
        if not self.return_indices:
            return self._pooled(x, *self._pooling)
        return self._pooled(x, *self._pooling), self._pooled(x, MaxPoolIndices, *self._pooling[1:])


class AvgPool1d(_Sequences):
    """The average of each window of [n, c, l] or [c, l]; padding counts with `count_include_pad` (in pad_mode "pad")."""

    def __init__(
        self, kernel_size: int = 1, stride: int = 1, pad_mode: str = "valid", padding: int = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        self.count_include_pad = boolean(self, "count_include_pad", count_include_pad)
        self._pooling = (AvgPool, self.ceil_mode, self.count_include_pad and self.pad_mode == "pad")


class AvgPool2d(_Pool2d):
    """The average of each window; padding counts with `count_include_pad` (in pad_mode "pad")."""

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None, data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        self.format = channels_first("AvgPool2d", data_format)
        self.count_include_pad = boolean(self, "count_include_pad", count_include_pad)
        self.divisor_override = 0 if divisor_override is None else positive(self, "divisor_override", divisor_override)
        self._pooling = (AvgPool, self.ceil_mode, self.count_include_pad and self.pad_mode == "pad", self.divisor_override)


class _Pool3d(_Pool):
    """Windows over the last three axes of [n, c, d, h, w] or [c, d, h, w]."""

    def __init__(self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, ceil_mode: bool):
        name = type(self).__name__
        self_sides = pooling.sides_of_volumes(name, padding)
        super().__init__(pad_mode, tuple(width for side in self_sides for width in side), ceil_mode)
        self.kernel_size, self.stride = kernel_size, stride
        self._kernel, self._stride = three(name, "kernel_size", kernel_size), three(name, "stride", stride)
        self._sides = self_sides

    def _windows(self, x: Tensor) -> tuple[Sizes, Sizes, Sides]:
        """Kernel, stride and padding for volumes [n, c, d, h, w]."""
        padding = "same" if self.pad_mode == "same" else self._sides
        return self._kernel, self._stride, sides_of_volume(padding, x.shape[2:], self._kernel, self._stride)


class MaxPool3d(_Pool3d):
    """The largest element of each window of [n, c, d, h, w] or [c, d, h, w]; padding does not count.

    return_indices  return also its index in the flattened volume (Int64); only with pad_mode "pad"
    """

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        self._dilation = three("MaxPool3d", "dilation", dilation)
        self._check_options(dilation, self._dilation, return_indices)

    def construct(self, x: Tensor) -> Any:
        volume, batched = pooling.volumes("MaxPool3d", x)
        geometry = *self._windows(volume), self._dilation, self.ceil_mode
        y = pooling.unbatched(pooling.max_pooled_volumes(volume, *geometry), batched)
        return (y, pooling.unbatched(pooling.places_in_volumes(volume, *geometry), batched)) if self.return_indices else y


class AvgPool3d(_Pool3d):
    """The average of each window of [n, c, d, h, w] or [c, d, h, w]; padding counts with `count_include_pad`."""

    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        self.count_include_pad = boolean(self, "count_include_pad", count_include_pad)
        self.divisor_override = 0 if divisor_override is None else positive(self, "divisor_override", divisor_override)

    def construct(self, x: Tensor) -> Tensor:
        volume, batched = pooling.volumes("AvgPool3d", x)
        y = pooling.averaged_volumes(volume, *self._windows(volume), self.ceil_mode, self.count_include_pad, self.divisor_override)
        return pooling.unbatched(y, batched)


# Powers -------------------------------------------------------------------------------------------------------------


class _Powers(Cell):
    """Roots of sums of powers; the arguments are checked when the layer is called."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode


class LPPool1d(_Powers):
    """(sum x**p)**(1/p) with p = `norm_type` of each window of [n, c, l] or [c, l]; `stride` is the size of the window by default."""

    def construct(self, x: Tensor) -> Tensor:
        return pooling.lp_pool1d(tensor_argument(self, "x", x), self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_Powers):
    """(sum x**p)**(1/p) with p = `norm_type` of each window of [n, c, h, w] or [c, h, w]; `stride` is the size of the window by default."""

    def construct(self, x: Tensor) -> Tensor:
        return pooling.lp_pool2d(tensor_argument(self, "x", x), self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


# Parts --------------------------------------------------------------------------------------------------------------


class _Parts(Cell):
    """Pooling over parts of each plane, as many as are wanted."""

    axes: ClassVar[int]

    def __init__(self, output_size: Any):
        super().__init__()
        sizes = output_size if isinstance(output_size, tuple) and self.axes > 1 else (output_size,)
        if isinstance(output_size, tuple) and self.axes > 1 and len(sizes) != self.axes:
            raise ValueError(f"For '{type(self).__name__}', the argument 'output_size' must be an int or a tuple of {self.axes}, "
                             f"but got {output_size!r}.")
        for size in sizes:
            if not (size is None and self.axes > 1) and integer(self, "output_size", size) < (1 if self.axes == 1 else 0):
                raise ValueError(f"For '{type(self).__name__}', the argument 'output_size' must not be negative"
                                 f"{' or 0' if self.axes == 1 else ''}, but got {output_size!r}.")
        self.output_size: Any = output_size


class AdaptiveAvgPool1d(_Parts):
    """Averages over `output_size` parts of equal length of each sequence [n, c, l]."""

    axes = 1

    def construct(self, input: Tensor) -> Tensor:
        return pooling.adaptive_avg_pool1d(tensor_argument(self, "input", input), self.output_size)


class AdaptiveAvgPool2d(_Parts):
    """Averages over parts of each plane of [n, c, h, w] or [c, h, w].

    output_size  how many parts: one int, or (rows, columns); None keeps a size
    """

    axes = 2

    def construct(self, input: Tensor) -> Tensor:
        return pooling.adaptive_avg_pool2d(tensor_argument(self, "input", input), self.output_size)


class AdaptiveAvgPool3d(_Parts):
    """Averages over parts of each volume of [n, c, d, h, w] or [c, d, h, w].

    output_size  how many parts: one int, or (planes, rows, columns); None keeps a size
    """

    axes = 3

    def construct(self, input: Tensor) -> Tensor:
        return pooling.adaptive_avg_pool3d(tensor_argument(self, "input", input), self.output_size)


class AdaptiveMaxPool1d(_Parts):
    """The largest elements of `output_size` parts of equal length of each sequence [n, c, l]."""

    axes = 1

    def construct(self, input: Tensor) -> Tensor:
        return pooling.adaptive_max_pool1d(tensor_argument(self, "input", input), self.output_size)


class AdaptiveMaxPool2d(_Parts):
    """The largest elements of parts of each plane of [n, c, h, w] or [c, h, w].

    output_size     how many parts: one int, or (rows, columns); None keeps a size
    return_indices  give also where they stand in their flattened plane (Int64)
    """

    axes = 2

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = boolean(self, "return_indices", return_indices)

    def construct(self, input: Tensor) -> Any:
        return pooling.adaptive_max_pool2d(tensor_argument(self, "input", input), self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_Parts):
    """The largest elements of parts of each volume of [n, c, d, h, w] or [c, d, h, w].

    output_size     how many parts: one int, or (planes, rows, columns); None keeps a size
    return_indices  give also where they stand in their volume read plane by plane, row by row (Int32)
    """

    axes = 3

    def __init__(self, output_size: Any, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = boolean(self, "return_indices", return_indices)

    def construct(self, input: Tensor) -> Any:
        return pooling.adaptive_max_pool3d(tensor_argument(self, "input", input), self.output_size, self.return_indices)
