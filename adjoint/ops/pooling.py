"""Pooling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops import indexing, resample
from adjoint.ir.ops.pooling import AvgPool, MaxPool, MaxPoolIndices
from adjoint.ir.types import I32
from adjoint.ops import arithmetic, creation, picking
from adjoint.ops.arguments import check_memory, flag, integer, only, operand, pair, real, single, sizes_argument, whole, wrong
from adjoint.ops.convolution import Pairs, Sides, Sizes, same_padding, three
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "max_pool2d", "max_pool3d",
]


def images(op: str, x: Any, argument: str = "x") -> tuple[Tensor, bool]:
    """Images [n, c, h, w], and whether they were given so; [c, h, w] becomes a batch of one."""
    found = operand(op, x, argument)
    if not found.dtype.is_float:
        raise wrong(op, argument, "a Tensor of a floating point type", found, TypeError)
    if found.ndim == 3:
        return reshape(found, (1, *found.shape)), False
    if found.ndim != 4:
        raise wrong(op, argument, "of 3 or 4 dimensions", found)
    return found, True


def symmetric(padding: tuple[int, int]) -> Pairs:
    """As much on either side."""
    return (padding[0], padding[0]), (padding[1], padding[1])


def window_padding(op: str, x: Tensor, pad_mode: str, kernel: tuple[int, int], stride: tuple[int, int]) -> Pairs:
    """Return the padding of pooling in mode "same" or "valid"; raise ValueError when no window fits."""
    if pad_mode == "valid":
        if any(d < k for d, k in zip(x.shape[2:], kernel, strict=True)):
            raise wrong(op, "x", f"at least as large as a window of {kernel}", x)
        return (0, 0), (0, 0)
    top, left = (same_padding(*sizes) for sizes in zip(x.shape[2:], kernel, stride, strict=True))
    return top, left


def pooled(op: str, kind: type[MaxPool] | type[MaxPoolIndices] | type[AvgPool], x: Any, *geometry: Any, argument: str = "x") -> Tensor:
    """Return a pooling of images [n, c, h, w] or [c, h, w]."""
    image, batched = images(op, x, argument)
    return unbatched(apply(made(kind, *geometry), image), batched)


@fusible
def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False
) -> Any:
    """Return the largest element of each window, which moves by `stride` (default: its size); padding does not count.

    With `return_indices` also its index in the flattened plane (Int64).
    """
    op = "MaxPool"
    kernel = pair(op, "kernel_size", kernel_size)
    step = kernel if stride is None else pair(op, "stride", stride)
    geometry = (kernel, step, symmetric(pair(op, "padding", padding, least=0)), pair(op, "dilation", dilation),
                flag(op, "ceil_mode", ceil_mode))
    out = pooled(op, MaxPool, x, *geometry)
    return (out, pooled(op, MaxPoolIndices, x, *geometry)) if flag(op, "return_indices", return_indices) else out


@fusible
def avg_pool2d(
    input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """Return the average of each window; elements in the padding count with `count_include_pad`; `divisor_override` replaces their number.
    """
    op = "AvgPool"
    divisor = whole(op, "divisor_override", divisor_override)
    if divisor < 0:
        raise wrong(op, "divisor_override", "at least 0", divisor)
    widths = sizes_argument(op, "padding", padding)
    if len(widths) not in (1, 2, 4):
        raise wrong(op, "padding", "an int, or a tuple of 2 or 4 ints", padding)
    sides = ((widths[0], widths[1]), (widths[2], widths[3])) if len(widths) == 4 else symmetric(pair(op, "padding", padding, least=0))
    return pooled(op, AvgPool, input_x, pair(op, "kernel_size", kernel_size), pair(op, "stride", stride), sides,
                  flag(op, "ceil_mode", ceil_mode), flag(op, "count_include_pad", count_include_pad), divisor, argument="input_x")


@fusible
def avg_pool1d(
    input_x: Any, kernel_size: int = 1, stride: int = 1, padding: int = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """Return the average of each window of sequences [n, c, l] or [c, l]."""
    x = operand("AvgPool1D", input_x, "input_x")
    if x.ndim not in (2, 3):
        raise wrong("AvgPool1D", "input_x", "of 2 or 3 dimensions", x)
    wide = reshape(x, (*x.shape[:-1], 1, x.shape[-1]))
    geometry = (("kernel_size", kernel_size), ("stride", stride), ("padding", padding))
    k, s, p = (only("AvgPool1D", name, v) for name, v in geometry)
    out = avg_pool2d(wide, (1, k), (1, s), (0, p), ceil_mode, count_include_pad)
    return reshape(out, (*out.shape[:-2], out.shape[-1]))


# Volumes ------------------------------------------------------------------------------------------------------------


def volumes(op: str, x: Any, argument: str = "x") -> tuple[Tensor, bool]:
    """Volumes [n, c, d, h, w], and whether they were given so; [c, d, h, w] becomes a batch of one."""
    found = operand(op, x, argument)
    if not found.dtype.is_float:
        raise wrong(op, argument, "a Tensor of a floating point type", found, TypeError)
    if found.ndim == 4:
        return reshape(found, (1, *found.shape)), False
    if found.ndim != 5:
        raise wrong(op, argument, "of 4 or 5 dimensions", found)
    return found, True


def sides_of_volumes(op: str, padding: Any) -> Sides:
    """Padding before and after along three axes: one int, three, or six."""
    widths = padding if isinstance(padding, (tuple, list)) and len(padding) == 6 else [
        width for width in three(op, "padding", padding, least=0) for _ in range(2)]
    found = tuple(whole(op, "padding", width) for width in widths)
    if min(found) < 0:
        raise wrong(op, "padding", "at least 0", padding)
    return tuple(zip(found[::2], found[1::2], strict=True))


def _by_planes(x: Tensor, kind: Any, kernel: Sizes, stride: Sizes, sides: Sides, *rest: tuple[Any, Any]) -> tuple[Tensor, Tensor]:
    """Return a pooling of the planes of volumes, and of that the pooling along the depth, [n, c, d', h' * w'].

    rest  further attributes of both poolings
    """
    n, c, d, h, w = x.shape
    planes = apply(made(kind, kernel[1:], stride[1:], sides[1:], *(of_planes for of_planes, _ in rest)), reshape(x, (n, c * d, h, w)))
    rows = reshape(planes, (n, c, d, planes.shape[2] * planes.shape[3]))
    deep = apply(made(kind, (kernel[0], 1), (stride[0], 1), (sides[0], (0, 0)), *(of_depth for _, of_depth in rest)), rows)
    return planes, deep


def max_pooled_volumes(x: Tensor, kernel: Sizes, stride: Sizes, sides: Sides, dilation: Sizes, ceil: bool) -> Tensor:
    """Return the largest element of each window of [n, c, d, h, w]: that along the depth of the largest ones of the planes."""
    planes, deep = _by_planes(x, MaxPool, kernel, stride, sides, (dilation[1:], (dilation[0], 1)), (ceil, ceil))
    return reshape(deep, (*x.shape[:2], deep.shape[2], *planes.shape[2:]))


def places_in_volumes(x: Tensor, kernel: Sizes, stride: Sizes, sides: Sides, dilation: Sizes, ceil: bool) -> Tensor:
    """Where the largest element of each window stands in its volume read plane by plane, row by row (Int64)."""
    n, c, d, h, w = x.shape
    of_planes = kernel[1:], stride[1:], sides[1:], dilation[1:], ceil
    image = reshape(x, (n, c * d, h, w))
    planes, within = apply(made(MaxPool, *of_planes), image), apply(made(MaxPoolIndices, *of_planes), image)
    rows = reshape(planes, (n, c, d, planes.shape[2] * planes.shape[3]))
    deep = apply(made(MaxPoolIndices, (kernel[0], 1), (stride[0], 1), (sides[0], (0, 0)), (dilation[0], 1), ceil), rows)
    chosen = reshape(deep, (n, c, -1))
    found = picking.gather_d(reshape(within, (n, c, -1)), 2, chosen) + chosen // max(1, rows.shape[3]) * (h * w)
    return reshape(found, (n, c, deep.shape[2], *planes.shape[2:]))


@fusible
def max_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> Any:
    """Return the largest element of each window of [n, c, d, h, w] or [c, d, h, w]; the rest is as for `max_pool2d`."""
    op = "MaxPool3D"
    volume, batched = volumes(op, x)
    kernel = three(op, "kernel_size", kernel_size)
    geometry = (kernel, kernel if stride is None else three(op, "stride", stride), sides_of_volumes(op, padding),
                three(op, "dilation", dilation), flag(op, "ceil_mode", ceil_mode))
    out = unbatched(max_pooled_volumes(volume, *geometry), batched)
    return (out, unbatched(places_in_volumes(volume, *geometry), batched)) if flag(op, "return_indices", return_indices) else out


@fusible
def avg_pool3d(
    input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """Return the average of each window of [n, c, d, h, w] or [c, d, h, w]; the rest is as for `avg_pool2d`."""
    op = "AvgPool3D"
    volume, batched = volumes(op, input_x, "input_x")
    divisor = whole(op, "divisor_override", divisor_override)
    if divisor < 0:
        raise wrong(op, "divisor_override", "at least 0", divisor)
    return unbatched(averaged_volumes(
        volume, three(op, "kernel_size", kernel_size), three(op, "stride", stride), sides_of_volumes(op, padding),
        flag(op, "ceil_mode", ceil_mode), flag(op, "count_include_pad", count_include_pad), divisor), batched)


def averaged_volumes(x: Tensor, kernel: Sizes, stride: Sizes, sides: Sides, ceil: bool, count_padding: bool, divisor: int) -> Tensor:
    """Return the average of each window of [n, c, d, h, w]: that along the depth of the averages of the planes.

    Two-byte floats are rounded once.
    """
    planes, deep = _by_planes(
        single(x), AvgPool, kernel, stride, sides, (ceil, ceil), (count_padding, count_padding), (int(divisor > 0), divisor))
    return reshape(deep, (*x.shape[:2], deep.shape[2], *planes.shape[2:])).astype(x.dtype, copy=False)


def unbatched(x: Tensor, batched: bool) -> Tensor:
    """Return the result without the batch axis that was added."""
    return x if batched else reshape(x, x.shape[1:])


# Powers -------------------------------------------------------------------------------------------------------------


@fusible
def lp_pool1d(x: Any, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False) -> Tensor:
    """Return the root of the sum of powers, (sum x**p)**(1/p) with p = norm_type, of each window of [n, c, l] or [c, l]."""
    op = "LPPool1D"
    given, kernel = operand(op, x, "x"), only(op, "kernel_size", kernel_size, least=1)
    if given.ndim not in (2, 3):
        raise wrong(op, "x", "of 2 or 3 dimensions", given)
    step = kernel if stride is None else only(op, "stride", stride, least=1)
    wide = reshape(given, (*given.shape[:-1], 1, given.shape[-1]))
    out = _roots_of_sums(op, wide, norm_type, (1, kernel), (1, step), ceil_mode)
    return reshape(out, (*out.shape[:-2], out.shape[-1]))


@fusible
def lp_pool2d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Return the root of the sum of powers, (sum x**p)**(1/p) with p = norm_type, of each window of [n, c, h, w] or [c, h, w]."""
    op = "LPPool2D"
    kernel = pair(op, "kernel_size", kernel_size)
    return _roots_of_sums(op, operand(op, x, "x"), norm_type, kernel, kernel if stride is None else pair(op, "stride", stride), ceil_mode)


def _roots_of_sums(op: str, x: Tensor, norm_type: Any, kernel: Any, stride: Any, ceil_mode: Any) -> Tensor:
    power = real(op, "norm_type", norm_type)
    if not power:
        raise wrong(op, "norm_type", "a number other than 0", norm_type)
    powers, sides = arithmetic.pow(x, power), ((0, 0), (0, 0))
    if flag(op, "ceil_mode", ceil_mode):  # as in MindSpore, the mean of a window that is cut off counts for a whole one
        sums = pooled(op, AvgPool, powers, kernel, stride, sides, True, False) * float(math.prod(kernel))
    else:
        sums = pooled(op, AvgPool, powers, kernel, stride, sides, False, False, 1)
    return sums if power == 1 else arithmetic.flat_power(sums, 1.0 / power)


# Parts --------------------------------------------------------------------------------------------------------------


def _parts_argument(op: str, output_size: Any, lengths: Sizes) -> Sizes:
    """How many parts along each of the last axes; None keeps a length."""
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * len(lengths)
    if len(wanted) != len(lengths):
        raise wrong(op, "output_size", f"an int or {len(lengths)} of them", output_size)
    sizes = tuple(d if n is None else integer(op, "output_size", n) for n, d in zip(wanted, lengths, strict=True))
    if any(n < 0 for n in sizes):
        raise wrong(op, "output_size", "at least 0", output_size)
    return sizes


def _checked_parts(op: str, x: Tensor, sizes: Sizes) -> None:
    """Raise MemoryError for more parts than memory holds, ValueError for parts without elements."""
    check_memory(op, f"a result of {sizes} parts", math.prod((*x.shape[:2], *sizes)) * x.dtype.size)
    if any(n and not d for n, d in zip(sizes, x.shape[2:], strict=True)):
        raise wrong(op, "input", f"planes of elements for parts of {sizes}", x)


def _even(sizes: Sizes, lengths: Sizes) -> Sizes | None:
    """Return the lengths of the parts where each is as long as the others."""
    if all(n and d % n == 0 for n, d in zip(sizes, lengths, strict=True)):
        return tuple(d // n for n, d in zip(sizes, lengths, strict=True))
    return None


def _part_places(length: int, parts: int) -> tuple[Any, Any]:
    """Return the places of each part, [parts, the longest], the first again behind what is shorter; and which are places of the part.

    Part i of n along d elements is from the floor of i * d / n up to the ceiling of (i + 1) * d / n.
    """
    begin = np.arange(parts) * length // max(parts, 1)
    count = -(-(np.arange(parts) + 1) * length // max(parts, 1)) - begin
    column = np.arange(count.max(initial=0))
    inside = column < count[:, None]
    return begin[:, None] + np.where(inside, column, 0), inside


def _sequence_parts(op: str, input: Any, output_size: Any) -> tuple[Tensor, int]:
    x, parts = operand(op, input), integer(op, "output_size", output_size)
    if x.ndim != 3:
        raise wrong(op, "input", "of 3 dimensions", x)
    if parts < 1:
        raise wrong(op, "output_size", "at least 1", parts)
    if x.shape[2] % parts:
        raise wrong(op, "input", f"of a last size that {parts} divides; parts of unequal length has `ops.{{}}` of "
                    "`input.expand_dims(2)`".format("adaptive_avg_pool2d" if op == "AdaptiveAvgPool1D" else "adaptive_max_pool2d"), x)
    return reshape(x, (*x.shape[:2], 1, x.shape[2])), parts


@fusible
def adaptive_avg_pool1d(input: Any, output_size: int) -> Tensor:
    """Averages over `output_size` parts of equal length of each sequence [n, c, l]."""
    x, parts = _sequence_parts("AdaptiveAvgPool1D", input, output_size)
    out = adaptive_avg_pool2d(x, (1, parts))
    return reshape(out, (*out.shape[:2], parts))


@fusible
def adaptive_max_pool1d(input: Any, output_size: int) -> Tensor:
    """Return the largest elements of `output_size` parts of equal length of each sequence [n, c, l]."""
    x, parts = _sequence_parts("AdaptiveMaxPool1D", input, output_size)
    out = adaptive_max_pool2d(x, (1, parts))
    return reshape(out, (*out.shape[:2], parts))


@fusible
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Averages over parts of each plane, `output_size` of them; None keeps a size.

    Part i of n along d elements is from the floor of i * d / n up to the ceiling of (i + 1) * d / n: where n does not divide d,
    neighbours overlap.
    """
    op = "AdaptiveAvgPool2D"
    image, batched = images(op, input, "input")
    sizes = _parts_argument(op, output_size, image.shape[2:])
    _checked_parts(op, image, sizes)
    kernel = _even(sizes, image.shape[2:])
    return unbatched(apply(made(AvgPool, kernel, kernel), image) if kernel else _averaged_parts(image, sizes), batched)


@fusible
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """Averages over parts of each volume [d, h, w], `output_size` of them; None keeps a size.  Parts are as in `adaptive_avg_pool2d`."""
    op = "AdaptiveAvgPool3D"
    volume, batched = volumes(op, input, "input")
    sizes = _parts_argument(op, output_size, volume.shape[2:])
    _checked_parts(op, volume, sizes)
    kernel = _even(sizes, volume.shape[2:])
    if kernel:
        return unbatched(averaged_volumes(volume, kernel, kernel, ((0, 0),) * 3, False, False, 0), batched)
    return unbatched(_averaged_parts(volume, sizes), batched)


def _averaged_parts(x: Tensor, sizes: Sizes) -> Tensor:
    """Averages over parts along the axes behind the second: sums of their elements, divided by how many there are.

    Two-byte floats are rounded once.
    """
    out = single(x)
    for axis in reversed(range(2, x.ndim)):
        parts = sizes[axis - 2]
        if parts != x.shape[axis]:
            places, inside = _part_places(x.shape[axis], parts)
            total = apply(made(resample.Resample, axis), out, Tensor(np.where(inside, places, -1)), creation.ones(places.shape, out.dtype))
            out = total / reshape(Tensor(inside.sum(axis=1)).astype(out.dtype), (parts, *(1,) * (x.ndim - axis - 1)))
    return out.astype(x.dtype, copy=False)


@fusible
def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of parts of each plane, `output_size` of them; None keeps a size.  Parts are as in `adaptive_avg_pool2d`.

    With `return_indices` also where they stand in their flattened plane (Int64).
    """
    op = "AdaptiveMaxPool2D"
    image, batched = images(op, input, "input")
    sizes = _parts_argument(op, output_size, image.shape[2:])
    _checked_parts(op, image, sizes)
    values, places = _largest_parts(image, sizes, flag(op, "return_indices", return_indices))
    return unbatched(values, batched) if places is None else (unbatched(values, batched), unbatched(places, batched))


def _largest_parts(image: Tensor, sizes: Sizes, return_indices: bool) -> tuple[Tensor, Tensor | None]:
    """Return the largest elements of parts of planes, and where they stand in them.

    Parts that are not of one length are gathered side by side, each as long as the longest, its first element again behind what is shorter.
    """
    h, w = image.shape[2:]
    kernel, table = _even(sizes, (h, w)), None
    if kernel is None:
        (rows, _), (columns, _) = (_part_places(d, n) for d, n in zip((h, w), sizes, strict=True))
        kernel = rows.shape[1], columns.shape[1]
        table = rows.reshape(-1, 1) * w + columns.reshape(-1)
        for axis, places in ((2, rows), (3, columns)):
            image = apply(made(indexing.Gather, axis), image, Tensor(places.reshape(-1)))
    values = apply(made(MaxPool, kernel, kernel), image)
    if not return_indices:
        return values, None
    found = apply(made(MaxPoolIndices, kernel, kernel), image)
    return values, found if table is None else apply(made(indexing.Gather, 0), Tensor(table.reshape(-1)), found)


@fusible
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of parts of each volume [d, h, w], `output_size` of them; None keeps a size.

    With `return_indices` also where they stand in their volume read plane by plane, row by row (Int32).
    """
    op = "AdaptiveMaxPool3D"
    volume, batched = volumes(op, input, "input")
    sizes = _parts_argument(op, output_size, volume.shape[2:])
    _checked_parts(op, volume, sizes)
    wants = flag(op, "return_indices", return_indices)
    n, c, d, h, w = volume.shape
    planes, within = _largest_parts(reshape(volume, (n, c * d, h, w)), sizes[1:], wants)
    rows = reshape(planes, (n, c, d, sizes[1] * sizes[2]))
    deep, across = _largest_parts(rows, (sizes[0], rows.shape[3]), wants)
    out = unbatched(reshape(deep, (n, c, *sizes)), batched)
    if within is None or across is None:
        return out
    chosen = reshape(across, (n, c, -1))
    found = picking.gather_d(reshape(within, (n, c, -1)), 2, chosen) + chosen // max(1, rows.shape[3]) * (h * w)
    return out, unbatched(reshape(found.astype(I32), (n, c, *sizes)), batched)
