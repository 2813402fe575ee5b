"""Pooling over windows that begin at random places, between which the distance is a fraction: Graham 2014, "Fractional Max-Pooling".

Windows of one size are those of `fractional_max_pool2d` and `fractional_max_pool3d`; those between two neighbouring places have a random
size too.  The result has the gradient of the element that each window gives, or of the mean.

Raise TypeError for what is not a Tensor of numbers, ValueError for shapes, sizes and shares that do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Gather, Iota
from adjoint.ir.types import F32, F64, I32, I64, tensor
from adjoint.ops.arguments import check_memory, flag, float_tensor, operand, single, whole, wrong
from adjoint.ops.arithmetic import cast, clamp, div, minimum, trunc
from adjoint.ops.creation import full, zeros
from adjoint.ops.generated import ceil
from adjoint.ops.parts import concat, unstack
from adjoint.ops.picking import gather_elements
from adjoint.ops.random_numbers import drawn_permutation, drawn_uniform
from adjoint.ops.reduction import argmax, cumsum, sum
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]


def _counted(size: int, shape: tuple[int, ...] = (-1,)) -> Tensor:
    return reshape(apply(made(Iota, tensor(I64, (size,)), 0)), shape)


def _largest(values: Tensor, places: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Return the first largest element along the last axis, and the one of `places` at it."""
    best = argmax(values, -1, True)
    largest = reshape(gather_elements(values, -1, best), values.shape[:-1])
    return largest, None if places is None else reshape(gather_elements(places, -1, best), places.shape[:-1])


# Windows of one size -------------------------------------------------------------------------------------------------


def _sizes(op: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """Return an int or a tuple of ints, all above 0."""
    if not isinstance(value, (int, tuple)) or isinstance(value, bool):
        raise wrong(op, argument, "an int or a tuple of ints", value if not isinstance(value, str) else repr(value), TypeError)
    sizes = value if isinstance(value, tuple) else (value,) * count
    if len(sizes) != count:
        raise wrong(op, argument, f"an int or a tuple of {count} ints", value)
    sizes = tuple(whole(op, argument, size) for size in sizes)
    if min(sizes) < 1:
        raise wrong(op, argument, "above 0", value)
    return sizes


def windows_of_one_size(op: str, kernel: Any, output: Any, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes of windows and of the result, from the arguments of a Primitive."""
    return _sizes(op, "ksize", kernel, count), _sizes(op, "output_shape", output, count)


def pooled(op: str, x: Any, samples: Any, kernel: tuple[int, ...], output: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Return the largest element of each window of [n, c, *sizes] or [c, *sizes], and its place (Int64) in the channel.

    samples  [n, c, axes], from 0 to 1: how far along the windows are.  MindSpore has that of the height behind that of the width for
             images, and depth, height, width for volumes.
    """
    given, drawn = operand(op, x, "x"), float_tensor(op, samples, "random_samples")
    count = len(kernel)
    if not (given.dtype.is_float or given.dtype in (I32, I64)):
        raise wrong(op, "x", "a Tensor of floats, Int32 or Int64", given, TypeError)
    if given.ndim not in (count + 1, count + 2):
        raise wrong(op, "x", f"of {count + 1} or {count + 2} dimensions", given)
    lead, sizes = given.shape[:-count], given.shape[-count:]
    batch = lead if len(lead) == 2 else (1, *lead)
    if drawn.shape != (*batch, count):
        raise wrong(op, "random_samples", f"of shape {(*batch, count)}", drawn)
    for size, k, n in zip(sizes, kernel, output, strict=True):
        if k + n - 1 > size:
            raise wrong(op, "ksize", f"of windows of which {output} fit in {sizes}", kernel)
    check_memory(op, "the windows", 8.0 * math.prod(lead) * math.prod(output) * math.prod(kernel))
    shares = unstack(single(drawn), -1)
    places: Tensor | None = None
    for axis, (size, k, n, share) in enumerate(zip(sizes, kernel, output, shares[::-1] if count == 2 else shares, strict=True)):
        starts = reshape(_starts(share, size, k, n), (*batch, *(n if a == axis else 1 for a in range(count)), *(1,) * count))
        inside = _counted(k, (*(1,) * (2 + count), *(k if a == axis else 1 for a in range(count))))
        along = starts + inside
        places = along if places is None else places * size + along
    assert places is not None  # there is an axis
    total, of_windows = math.prod(batch), math.prod(kernel)
    flat = reshape(broadcast_to(places, (*batch, *output, *kernel)), (total, math.prod(output) * of_windows))
    values = gather_elements(reshape(given, (total, math.prod(sizes))), 1, flat)
    by_window = (total, math.prod(output), of_windows)
    largest, found = _largest(reshape(values, by_window), reshape(flat, by_window))
    assert found is not None  # places were given
    return reshape(largest, (*lead, *output)), reshape(found, (*lead, *output))


def _starts(share: Tensor, size: int, kernel: int, count: int) -> Tensor:
    """Return where `count` windows begin, [n, c, count]; the last one ends with the axis."""
    last = full((*share.shape, 1), size - kernel, dtype=I64)
    if count == 1:
        return last
    step = (size - kernel) / (count - 1)
    first = reshape(share, (*share.shape, 1))
    steps = cast(_counted(count - 1), share.dtype)
    found = trunc((first + steps) * step) - trunc(first * step)
    return concat([cast(clamp(found, 0, size - kernel), I64), last], -1)


def _function(op: str, x: Any, kernel: Any, size: Any, ratio: Any, indices: Any, samples: Any, count: int) -> Any:
    both = flag(op, "return_indices", indices)
    given = operand(op, x, "input")
    if size is None and ratio is None:
        raise wrong(op, "output_size", "given, or 'output_ratio'", None)
    if given.ndim not in (count + 1, count + 2):
        raise wrong(op, "input", f"of {count + 1} or {count + 2} dimensions", given)
    if ratio is not None:
        shares = ratio if isinstance(ratio, tuple) else (ratio,) * count
        if not all(isinstance(share, float) for share in shares):
            raise wrong(op, "output_ratio", f"a float or a tuple of {count} floats", ratio, TypeError)
        if len(shares) != count or not all(0.0 < share < 1.0 for share in shares):
            raise wrong(op, "output_ratio", f"{count} numbers in (0, 1)", ratio)
        if size is None:
            size = tuple(int(n * share) for n, share in zip(given.shape[-count:], shares, strict=True))
    kernels, output = _sizes(op, "kernel_size", kernel, count), _sizes(op, "output_size", size, count)
    if samples is None:
        lead = given.shape[:-count]
        samples = drawn_uniform((*(lead if len(lead) == 2 else (1, *lead)), count), F32, None)
    found = pooled(op, given, samples, kernels, output)
    return found if both else found[0]


def fractional_max_pool2d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Return the largest elements of windows of one size at random places, for images [n, c, h, w] or [c, h, w].

    kernel_size      of the windows: an int, or (height, width)
    output_size      how many windows: an int, or (height, width)
    output_ratio     in its place, how many for each element along an axis: a float in (0, 1), or two
    return_indices   True to return the places of the elements in their channel too, Int64
    _random_samples  [n, c, 2], from 0 to 1, by default drawn at random
    """
    return _function("FractionalMaxPool2D", input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


def fractional_max_pool3d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Return the largest elements of windows of one size at random places, for volumes [n, c, d, h, w] or [c, d, h, w].

    kernel_size      of the windows: an int, or (depth, height, width)
    output_size      how many windows: an int, or (depth, height, width)
    output_ratio     in its place, how many for each element along an axis: a float in (0, 1), or three
    return_indices   True to return the places of the elements in their channel too, Int64
    _random_samples  [n, c, 3], from 0 to 1, by default drawn at random
    """
    return _function("FractionalMaxPool3D", input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)


# Windows between random places ---------------------------------------------------------------------------------------


def _bounds(size: int, count: int, pseudo: bool, seed: int | None) -> Tensor:
    """Return random places in ascending order, from 0 to `size`, `count` + 1 of them (Int64): size // count or one more apart.

    pseudo  True for ceil(size / count (i + u)) - 1 with one random u; else the distances are in random order
    """
    short, longer = divmod(size, count)
    ends = zeros((1,), I64), full((1,), size, dtype=I64)
    key = next_key(seed)
    if not pseudo:
        distance = cast(drawn_permutation(count, key) < longer, I64) + short
        return concat([ends[0], cumsum(distance, 0)])
    step = size / count
    most = min((short + 2) / step - 1.0, (size + 1 - short) / step - (count - 1))
    drawn = drawn_uniform((1,), F64, seed) * most
    between = ceil((cast(_counted(count), F64)[1:] + drawn) * step) - 1.0
    return concat([ends[0], cast(between, I64), ends[1]])


def ratio_argument(op: str, ratio: Any) -> list[float]:
    """Return four floats, given in a list, the first and the last 1."""
    if not isinstance(ratio, list):
        raise wrong(op, "pooling_ratio", "a list of floats", ratio, TypeError)
    for share in ratio:
        if not isinstance(share, float):
            raise wrong(op, "pooling_ratio", "a list of floats", share, TypeError)
    if len(ratio) != 4 or ratio[0] != 1.0 or ratio[3] != 1.0 or not min(ratio) >= 1.0:
        raise wrong(op, "pooling_ratio", "four numbers of at least 1, the first and the last 1", ratio)
    return ratio


def pooled_between(
    op: str, x: Any, ratio: Sequence[float], pseudo: bool, overlapping: bool, seed: int | None, average: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the largest elements, or the means, of windows between random places of images [n, h, w, c], and these places.

    ratio        of the sizes: 1, that of the height, that of the width, 1
    overlapping  True to have in a window the element with which the next one begins
    """
    given = operand(op, x, "x")
    if given.dtype not in (F32, F64, I32, I64):
        raise wrong(op, "x", "a Tensor of Float32, Float64, Int32 or Int64", given, TypeError)
    if given.ndim != 4 or not given.size:
        raise wrong(op, "x", "of 4 dimensions, with at least 1 element", given)
    n, height, width, channels = given.shape
    counts = tuple(int(size / share) for size, share in zip((height, width), ratio[1:3], strict=True))
    if min(counts) < 1:
        raise wrong(op, "pooling_ratio", f"at most {(height, width)}, for at least one window along each axis", tuple(ratio))
    bounds = [_bounds(size, count, pseudo, seed) for size, count in zip((height, width), counts, strict=True)]
    places, within = [], []
    for axis, (size, count, bound) in enumerate(zip((height, width), counts, bounds, strict=True)):
        longest = -(-size // count) + overlapping
        last = clamp(bound[1:] - (0 if overlapping else 1), 0, size - 1)
        along = reshape(bound[:-1], (-1, 1)) + _counted(longest, (1, -1))
        shape = (count, 1, longest, 1) if axis == 0 else (1, count, 1, longest)
        within.append(reshape(along <= reshape(last, (-1, 1)), shape))
        places.append(reshape(minimum(along, reshape(last, (-1, 1))), shape))
    full_shape = (*counts, places[0].shape[2], places[1].shape[3])
    flat = reshape(broadcast_to(places[0] * width + places[1], full_shape), (-1,))
    check_memory(op, "the windows", 8.0 * n * channels * math.prod(full_shape))
    values = apply(made(Gather, 1), reshape(given, (n, height * width, channels)), flat)
    values = reshape(values, (n, *counts, math.prod(full_shape[2:]), channels))
    if average:
        inside = reshape(broadcast_to(within[0].logical_and(within[1]), full_shape), (1, *counts, -1, 1))
        total = sum(values * inside.astype(given.dtype), 3, dtype=given.dtype)
        number = sum(inside.astype(given.dtype), 3, dtype=given.dtype)
        found = total / number if given.dtype.is_float else div(total, number, rounding_mode="trunc")
    else:
        found = _largest(values.swapaxes(3, 4), None)[0]
    return found.astype(given.dtype, copy=False), bounds[0], bounds[1]
