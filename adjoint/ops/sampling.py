"""Images read at positions between their elements: grids, boxes, regions of interest; and maxima put back where they were taken.

Positions are rounded or interpolated between their neighbours; the result has gradients by the images and, interpolated, by the positions.

Raise TypeError for what is not a Tensor of floats, ValueError for shapes, sizes and words that do not fit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Gather, Iota
from adjoint.ir.ops.scatter import Scatter
from adjoint.ir.types import F32, I64, tensor
from adjoint.ops.arguments import ArgumentMistake, check_memory, flag, float_tensor, operand, real, single, sizes_argument, whole, wrong
from adjoint.ops.arithmetic import abs, cast, clamp, floor, isnan, logical_and, maximum, minimum, remainder, round, trunc, where
from adjoint.ops.creation import linspace, zeros
from adjoint.ops.linear import matmul
from adjoint.ops.parts import stack, unstack
from adjoint.ops.picking import index_check, indices_argument
from adjoint.ops.reduction import mean
from adjoint.ops.shapes import broadcast_to, expand_dims, moveaxis, permute, reshape, swapaxes
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["affine_grid", "crop_and_resize", "grid_sample", "max_unpool1d", "max_unpool2d", "max_unpool3d"]


def word(op: str, argument: str, value: Any, allowed: Sequence[str]) -> str:
    """Return one of a few words, as it is written."""
    if not isinstance(value, str):
        raise wrong(op, argument, f"one of {list(allowed)}", value, TypeError)
    if value not in allowed:
        raise wrong(op, argument, f"one of {list(allowed)}", repr(value))
    return value


# Reading -------------------------------------------------------------------------------------------------------------


def _at(images: Tensor, numbers: Tensor, places: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """Return the channels of the elements at whole positions: of images [n, *sizes, c] those of image number and place, [..., c].

    Places out of range must be read with weight 0: they are moved inside.
    """
    flat = numbers
    for place, size in zip(places, sizes, strict=True):
        flat = flat * size + clamp(place, 0, size - 1)
    rows = reshape(images, (images.shape[0] * math.prod(sizes), images.shape[-1]))
    return apply(made(Gather, 0), rows, flat)


def _inside(places: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """Return whether whole positions are in the image."""
    found = None
    for place, size in zip(places, sizes, strict=True):
        here = logical_and(place >= 0, place < size)
        found = here if found is None else logical_and(found, here)
    assert found is not None
    return found


def _whole(x: Tensor) -> Tensor:
    """Return floats that are whole numbers as integers; those that no image has, NaN too, become -2."""
    return cast(where(isnan(x), -2.0, clamp(x, -2.0, 2.0**31)), I64)


def interpolated(images: Tensor, numbers: Tensor, positions: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """Return images [n, *sizes, c] at positions between elements, 0 outside: the sum of the neighbours weighted by their nearness."""
    lows = [floor(position) for position in positions]
    total: Any = None
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight: Any = None
        for position, low, upper in zip(positions, lows, corner, strict=True):
            near = position - low if upper else low + 1.0 - position
            weight = near if weight is None else weight * near
        places = [_whole(low) + upper for low, upper in zip(lows, corner, strict=True)]
        weight = where(_inside(places, sizes), weight, 0.0).astype(images.dtype, copy=False)
        part = _at(images, numbers, places, sizes) * expand_dims(weight, -1)
        total = part if total is None else total + part
    return total


# Grids ---------------------------------------------------------------------------------------------------------------


def _reflected(x: Tensor, low: float, span: float) -> Tensor:
    """Return positions reflected at `low` and `low + span` until they are between."""
    if span <= 0:
        return x * 0.0
    apart = abs(x - low)
    past = remainder(apart, 2.0 * span)
    return where(past <= span, past, 2.0 * span - past) + low


def _position(op: str, x: Tensor, size: int, padding_mode: str, align: bool) -> Tensor:
    """Return coordinates from -1 to 1 as positions among `size` elements."""
    found = (x + 1.0) / 2.0 * float(size - 1) if align else ((x + 1.0) * float(size) - 1.0) / 2.0
    if padding_mode == "reflection":
        found = _reflected(found, 0.0, size - 1.0) if align else _reflected(found, -0.5, float(size))
    return found if padding_mode == "zeros" else clamp(found, 0.0, size - 1.0)


def sampled(op: str, input: Any, grid: Any, mode: Any, padding_mode: Any, align_corners: Any, rank: int | None = None) -> Tensor:
    """Return images [n, c, ...] at the positions of a grid: see `grid_sample`; `rank` is the number of dimensions that they must have."""
    x, places = float_tensor(op, input), float_tensor(op, grid, "grid")
    way = word(op, "mode", mode, ("bilinear", "nearest"))
    beyond = word(op, "padding_mode", padding_mode, ("zeros", "border", "reflection"))
    align = flag(op, "align_corners", align_corners)
    if x.ndim not in ((4, 5) if rank is None else (rank,)):
        raise wrong(op, "input", f"of {'4 or 5' if rank is None else rank} dimensions", x)
    if places.dtype is not x.dtype:
        raise wrong(op, "grid", f"of the dtype of 'input', {x.dtype}", places, TypeError)
    count, sizes = x.ndim - 2, x.shape[2:]
    if places.ndim != x.ndim or places.shape[0] != x.shape[0] or places.shape[-1] != count:
        raise wrong(op, "grid", f"of {x.ndim} dimensions, for {x.shape[0]} images with {count} coordinates in the last axis", places)
    if not math.prod(sizes):
        raise wrong(op, "input", "of at least 1 element along each axis", x)
    images, places = moveaxis(single(x), 1, -1), single(places)
    # The last coordinate of a position counts along the first axis of the image.
    columns = unstack(places, -1)[::-1]
    positions = [_position(op, column, size, beyond, align) for column, size in zip(columns, sizes, strict=True)]
    numbers = reshape(apply(made(Iota, tensor(I64, (x.shape[0],)), 0)), (-1, *(1,) * count))
    numbers = broadcast_to(numbers, positions[0].shape)
    if way == "bilinear":
        found = interpolated(images, numbers, positions, sizes)
    else:
        nearest = [_whole(round(position)) for position in positions]
        found = _at(images, numbers, nearest, sizes) * expand_dims(cast(_inside(nearest, sizes), images.dtype), -1)
    return moveaxis(found, -1, 1).astype(x.dtype, copy=False)


def grid_sample(input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None) -> Tensor:
    """Return images [n, c, h, w] or volumes [n, c, d, h, w] at the positions of a grid.

    grid           [n, h', w', 2] with the coordinates x, y, or [n, d', h', w', 3] with x, y, z, from -1 at one edge to 1 at the other
    mode           "bilinear" interpolates between neighbours, "nearest" takes the nearest element, the even one of two
    padding_mode   beyond the edges "zeros", the element at the "border", or the image reflected there: "reflection"
    align_corners  True if -1 and 1 are the centers of the outermost elements, not their edges
    """
    return sampled("GridSample", input, grid, mode, padding_mode, False if align_corners is None else align_corners)


def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Tensor:
    """Return the grid for `grid_sample` that maps images by affine transforms.

    theta  [n, 2, 3] for images, [n, 3, 4] for volumes
    size   the sizes of the result of sampling, (n, c, h, w) or (n, c, d, h, w)
    """
    op = "AffineGrid"
    maps, align = float_tensor(op, theta, "theta"), flag(op, "align_corners", align_corners)
    if not isinstance(size, (tuple, list, Tensor)):
        raise wrong(op, "size", "a tuple of ints", size, TypeError)
    sizes = sizes_argument(op, "size", size, least=1)
    if len(sizes) not in (4, 5):
        raise wrong(op, "size", "of 4 or 5 sizes", sizes)
    space = sizes[2:]
    if maps.shape != (sizes[0], len(space), len(space) + 1):
        raise wrong(op, "theta", f"of shape {(sizes[0], len(space), len(space) + 1)}", maps)
    check_memory(op, "the grid", float(sizes[0]) * math.prod(space) * len(space) * 4)
    columns: list[Tensor] = []
    for axis, n in enumerate(space):
        edge = 1.0 if align else 1.0 - 1.0 / n
        line = linspace(-edge, edge, n).astype(maps.dtype) if n > 1 else zeros((1,), maps.dtype)
        columns.insert(0, broadcast_to(reshape(line, tuple(n if a == axis else 1 for a in range(len(space)))), space))
    ones = columns[0] * 0.0 + 1.0
    points = reshape(stack([*columns, ones], -1), (math.prod(space), len(space) + 1))
    return reshape(matmul(points, swapaxes(maps, 1, 2)), (sizes[0], *space, len(space)))


# Boxes ---------------------------------------------------------------------------------------------------------------


def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear", extrapolation_value: float = 0.0
) -> Tensor:
    """Return parts of images [n, h, w, c] resized to one size, [boxes, crop_h, crop_w, c], Float32.

    boxes                [boxes, 4], y1, x1, y2, x2, from 0 to 1 between the centers of the outermost elements; y2 < y1 flips
    box_indices          the number of the image for each box, Int32
    crop_size            (crop_h, crop_w)
    method               "bilinear" interpolates between the neighbours, "nearest" takes the nearest element, "bilinear_v2" interpolates
                         with the centers of the elements of the result spread over the box widened to whole elements
    extrapolation_value  the value outside of the image
    """
    op = "CropAndResize"
    way = word(op, "method", method, ("bilinear", "nearest", "bilinear_v2"))
    images, corners = operand(op, image, "image"), float_tensor(op, boxes, "boxes")
    numbers = indices_argument(op, "box_indices", box_indices)
    outside = real(op, "extrapolation_value", extrapolation_value)
    if not isinstance(crop_size, (tuple, list)):
        raise wrong(op, "crop_size", "a tuple of two ints", crop_size, TypeError)
    crop = sizes_argument(op, "crop_size", crop_size, least=1)
    if len(crop) != 2:
        raise wrong(op, "crop_size", "two ints", crop)
    if images.ndim != 4 or not images.size:
        raise wrong(op, "image", "of 4 dimensions, with at least 1 element", images)
    if corners.ndim != 2 or corners.shape[1] != 4:
        raise wrong(op, "boxes", "of shape [n, 4]", corners)
    if numbers.shape != corners.shape[:1]:
        raise wrong(op, "box_indices", f"of shape {corners.shape[:1]}", numbers)
    check_memory(op, "the result", 4.0 * corners.shape[0] * math.prod(crop) * images.shape[3])
    checked_on_host(index_check(op, "box_indices", 0, images.shape[0]), numbers)
    sizes, corners = images.shape[1:3], corners.astype(F32, copy=False)
    y1, x1, y2, x2 = (reshape(column, (-1, 1)) for column in unstack(corners, 1))
    positions = []
    for first, last, size, count in ((y1, y2, sizes[0], crop[0]), (x1, x2, sizes[1], crop[1])):
        step = apply(made(Iota, tensor(F32, (1, count)), 1))
        if way == "bilinear_v2":
            # The box is widened to whole elements, at least one; the centers of the results are spread over it.
            low = trunc(first * float(size))
            length = maximum(trunc(last * float(size)) - low + 1.0, 1.0)
            within_box = minimum(maximum((step + 0.5) * (length / float(count)) - 0.5, 0.0), length - 1.0)
            positions.append(clamp(low + within_box, 0.0, size - 1.0))
        elif count > 1:
            positions.append(first * (size - 1.0) + step * ((last - first) * ((size - 1.0) / (count - 1.0))))
        else:
            positions.append((first + last) * (0.5 * (size - 1.0)))
    full = (corners.shape[0], *crop)
    y, x = broadcast_to(expand_dims(positions[0], 2), full), broadcast_to(expand_dims(positions[1], 1), full)
    numbers = broadcast_to(reshape(numbers.astype(I64, copy=False), (-1, 1, 1)), full)
    within = logical_and(logical_and(y >= 0, y <= sizes[0] - 1.0), logical_and(x >= 0, x <= sizes[1] - 1.0))
    values = images.astype(F32, copy=False)
    if way == "nearest":
        found = _at(values, numbers, [_whole(floor(p + 0.5)) for p in (y, x)], sizes)
    else:
        found = interpolated(values, numbers, (y, x), sizes)
    return where(expand_dims(within, -1), found, outside)


def regions(features: Any, rois: Any, height: int, width: int, scale: float, samples: int, end_mode: int) -> Tensor:
    """Return the means of samples in bins of regions of images [n, c, h, w]: [rois, c, height, width].

    rois     [rois, 5], the number of the image, then x1, y1, x2, y2, which times `scale` are positions in it
    samples  how many samples a bin has along each axis; 0: as many as the bin has elements, rounded up
    """
    op = "ROIAlign"
    x, boxes = float_tensor(op, features, "features"), float_tensor(op, rois, "rois")
    if x.ndim != 4 or not x.size:
        raise wrong(op, "features", "of 4 dimensions, with at least 1 element", x)
    if boxes.ndim != 2 or boxes.shape[1] != 5:
        raise wrong(op, "rois", "of shape [n, 5]", boxes)
    if boxes.dtype is not x.dtype:
        raise wrong(op, "rois", f"of the dtype of 'features', {x.dtype}", boxes, TypeError)
    if samples == 0:
        raise wrong(op, "sample_num", "at least 1; the number of samples cannot follow from the region here", samples, NotImplementedError)
    check_memory(op, "the samples", 4.0 * boxes.shape[0] * height * width * samples**2 * x.shape[1])
    images, boxes = moveaxis(single(x), 1, -1), single(boxes)
    number, x1, y1, x2, y2 = (reshape(column, (-1, 1)) for column in unstack(boxes, 1))
    numbers = _whole(floor(number))
    checked_on_host(index_check(op, "rois", 0, x.shape[0]), numbers)
    sizes, positions = x.shape[2:], []
    for first, last, count in ((y1, y2, height), (x1, x2, width)):
        start = first * scale
        length = (last + 1.0) * scale - start if end_mode else maximum(last * scale - start, 1.0)
        step = (apply(made(Iota, tensor(images.dtype, (1, count * samples)), 1)) + 0.5) / float(samples)
        positions.append(start + step * (length / float(count)))
    full = (boxes.shape[0], height * samples, width * samples)
    y, x_ = broadcast_to(expand_dims(positions[0], 2), full), broadcast_to(expand_dims(positions[1], 1), full)
    within = logical_and(logical_and(y >= -1.0, y <= float(sizes[0])), logical_and(x_ >= -1.0, x_ <= float(sizes[1])))
    places = [clamp(p, 0.0, size - 1.0) for p, size in ((y, sizes[0]), (x_, sizes[1]))]
    found = interpolated(images, broadcast_to(expand_dims(numbers, -1), full), places, sizes)
    found = where(expand_dims(within, -1), found, 0.0)
    bins = mean(reshape(found, (full[0], height, samples, width, samples, -1)), (2, 4))
    return permute(bins, (0, 3, 1, 2)).astype(x.dtype, copy=False)


# Maxima put back -----------------------------------------------------------------------------------------------------


def window_sizes(op: str, argument: str, value: Any, least: int) -> tuple[int, ...]:
    """Return an int or a tuple of ints as a tuple."""
    if isinstance(value, Tensor):
        raise wrong(op, argument, "an int or a tuple of ints", value, TypeError)
    return sizes_argument(op, argument, value, least=least)


def _numbers(op: str, argument: str, value: Any, count: int, least: int) -> tuple[int, ...]:
    sizes = window_sizes(op, argument, value, least)
    if len(sizes) == 1:
        sizes = sizes * count
    if len(sizes) != count:
        raise wrong(op, argument, f"an int or a tuple of {count} ints", sizes)
    return tuple(whole(op, argument, size) for size in sizes)


def unpooled(
    op: str, x: Tensor, indices: Any, kernel: Any, stride: Any, padding: Any, output: Any, count: int, names: Sequence[str]
) -> Tensor:
    """Return images with maxima put where they were taken, zeros elsewhere, for the last `count` axes.

    names   the names of the arguments x, indices, kernel, stride, padding and output
    output  the sizes of these axes; None: the inverse of pooling
    """
    places = indices_argument(op, names[1], indices)
    if places.shape != x.shape:
        raise wrong(op, names[1], f"of the shape of '{names[0]}', {x.shape}", places)
    window, step, edge = (_numbers(op, name, value, count, least) for name, value, least in zip(
        names[2:5], (kernel, kernel if stride is None else stride, padding), (1, 0, 0), strict=True))
    step = tuple(s or k for s, k in zip(step, window, strict=True))
    sizes = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-count:], step, edge, window, strict=True))
    if output is not None:
        given = sizes_argument(op, names[5], output, least=1)[-count:]
        if len(given) != count:
            raise wrong(op, names[5], f"{count} sizes", given)
        for size, usual, s in zip(given, sizes, step, strict=True):
            if not usual - s <= size <= usual + s:
                raise wrong(op, names[5], f"within {step} of {sizes}", given)
        sizes = given
    if min(sizes) < 1:
        raise wrong(op, names[2], f"so large that there are elements, with '{names[4]}'", (window, edge))
    total, lead = math.prod(sizes), math.prod(x.shape[:-count])
    check_memory(op, "the result", float(total) * lead * x.dtype.size)
    wide = places.astype(I64, copy=False)

    def inside(given: Tensor, _: Range) -> None:
        found = given.asnumpy()
        if found.size and (found.min() < 0 or found.max() >= total):
            bad = found[(found < 0) | (found >= total)].flat[0]
            raise wrong(op, names[1], f"in 0..{total - 1}, places among {sizes}", int(bad), ArgumentMistake)

    checked_on_host(RangeCheck(Range(0, total - 1), inside), wide)
    start = reshape(apply(made(Iota, tensor(I64, (lead,)), 0)), (*x.shape[:-count], *(1,) * count)) * total
    flat = reshape(wide + start, (-1,))
    found = apply(made(Scatter, "update"), zeros((lead * total,), x.dtype), flat, reshape(x, (-1,)))
    return reshape(found, (*x.shape[:-count], *sizes))


def _unpool(op: str, x: Any, indices: Any, kernel: Any, stride: Any, padding: Any, output: Any, count: int) -> Tensor:
    given = operand(op, x, "x")
    if given.ndim not in (count + 1, count + 2):
        raise wrong(op, "x", f"of {count + 1} or {count + 2} dimensions", given)
    if output is not None and not isinstance(output, tuple):
        raise wrong(op, "output_size", "a tuple of ints", output)
    return unpooled(op, given, indices, kernel, stride, padding, output or None, count,
                    ("x", "indices", "kernel_size", "stride", "padding", "output_size"))


def max_unpool1d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Return signals [n, c, l] or [c, l] with the maxima of `max_pool1d` at the places that it gave, and zeros elsewhere.

    output_size  the size of the result, in case that pooling left out elements at the end
    """
    return _unpool("MaxUnpool1D", x, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Return images [n, c, h, w] or [c, h, w] with the maxima of `max_pool2d` at the places that it gave, and zeros elsewhere.

    output_size  the sizes of the result, in case that pooling left out elements at the ends
    """
    return _unpool("MaxUnpool2D", x, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Return volumes [n, c, d, h, w] or [c, d, h, w] with the maxima of `max_pool3d` at the places that it gave, and zeros elsewhere.

    output_size  the sizes of the result, in case that pooling left out elements at the ends
    """
    return _unpool("MaxUnpool3D", x, indices, kernel_size, stride, padding, output_size, 3)
