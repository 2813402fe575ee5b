"""Convolution of images read at places that are moved by offsets: Dai et al. 2017, "Deformable Convolutional Networks"; with masks,
Zhu et al. 2019, "Deformable ConvNets v2".
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.types import I64, tensor
from adjoint.ops.arguments import check_memory, flag, float_tensor, integer, single, whole, wrong
from adjoint.ops.linear import bias_add, matmul
from adjoint.ops.parts import unstack
from adjoint.ops.sampling import interpolated
from adjoint.ops.shapes import broadcast_to, expand_dims, permute, reshape
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["deformable_conv2d"]


def _ints(op: str, argument: str, value: Any, count: int, least: int) -> tuple[int, ...]:
    if not isinstance(value, tuple):
        raise wrong(op, argument, f"a tuple of {count} ints", value, TypeError)
    numbers = tuple(whole(op, argument, number) for number in value)
    if len(numbers) != count:
        raise wrong(op, argument, f"a tuple of {count} ints", value)
    if min(numbers) < least:
        raise wrong(op, argument, f"at least {least}", value)
    return numbers


def _of_plane(op: str, argument: str, value: Any) -> tuple[int, int]:
    batch, channels, height, width = _ints(op, argument, value, 4, 1)
    if (batch, channels) != (1, 1):
        raise wrong(op, argument, "1 for batch and channels", value)
    return height, width


def deformable_conv2d(
    x: Any, weight: Any, offsets: Any, kernel_size: Any, strides: Any, padding: Any, bias: Any = None, dilations: Any = (1, 1, 1, 1),
    groups: int = 1, deformable_groups: int = 1, modulated: bool = True,
) -> Tensor:
    """Return the convolution of images [n, c, h, w] whose elements are read at moved places, interpolated, 0 outside.

    weight             [out, c / groups, kh, kw]
    offsets            [n, 3 * deformable_groups * kh * kw, h', w']: for each place of the result how far each element of the kernel is
                       moved to the right, then how far down, then the factor of what is read
    kernel_size        (kh, kw)
    strides            (1, 1, down, right)
    padding            zeros around the images, (top, bottom, left, right)
    bias               [out]
    dilations          (1, 1, down, right)
    deformable_groups  parts of the channels that have offsets of their own
    modulated          True
    """
    op = "DeformableOffsets"
    image, moved, kernel = float_tensor(op, x, "x"), float_tensor(op, offsets, "offsets"), float_tensor(op, weight, "weight")
    size, edges = _ints(op, "kernel_size", kernel_size, 2, 1), _ints(op, "padding", padding, 4, 0)
    step, apart = _of_plane(op, "strides", strides), _of_plane(op, "dilations", dilations)
    parts, sets = integer(op, "groups", groups), integer(op, "deformable_groups", deformable_groups)
    if not flag(op, "modulated", modulated):
        raise wrong(op, "modulated", "True", modulated)
    for name, t in (("x", image), ("offsets", moved), ("weight", kernel)):
        if t.ndim != 4:
            raise wrong(op, name, "of 4 dimensions", t)
        if t.dtype is not image.dtype:
            raise wrong(op, name, f"of the dtype of 'x', {image.dtype}", t, TypeError)
    n, channels, *sizes = image.shape
    if sets < 1 or channels % sets:
        raise wrong(op, "deformable_groups", f"a divisor of the {channels} channels", sets)
    if parts < 1 or channels % parts or kernel.shape[0] % parts or kernel.shape[1:] != (channels // parts, *size):
        raise wrong(op, "weight", f"of shape [out, {channels} / {parts}, {size[0]}, {size[1]}], out a multiple of {parts}", kernel)
    ends = [(length + sum(edge) - (k - 1) * a - 1) // s + 1 for length, edge, k, a, s in zip(
        sizes, (edges[:2], edges[2:]), size, apart, step, strict=True)]
    if min(ends) < 1 or not image.size:
        raise wrong(op, "x", f"at least as large as the kernel {size}, padding included", image)
    taps = math.prod(size)
    if moved.shape != (n, 3 * sets * taps, *ends):
        raise wrong(op, "offsets", f"of shape {(n, 3 * sets * taps, *ends)}", moved)
    check_memory(op, "the elements under the kernels", 16.0 * n * channels * taps * math.prod(ends))
    right, down, factor = unstack(reshape(single(moved), (n, 3, sets, *size, *ends)), 1)
    positions: list[Tensor] = []
    for axis, by in enumerate((down, right)):
        shape = [1] * 6
        shape[2 + axis], shape[4 + axis] = size[axis], 1
        inside = apply(made(Iota, tensor(by.dtype, tuple(shape)), 2 + axis)) * float(apart[axis])
        shape[2 + axis], shape[4 + axis] = 1, ends[axis]
        start = apply(made(Iota, tensor(by.dtype, tuple(shape)), 4 + axis)) * float(step[axis]) - float(edges[2 * axis])
        positions.append(reshape(by + inside + start, (n * sets, *size, *ends)))
    images = permute(reshape(single(image), (n * sets, channels // sets, *sizes)), (0, 2, 3, 1))
    numbers = broadcast_to(apply(made(Iota, tensor(I64, (n * sets, 1, 1, 1, 1)), 0)), positions[0].shape)
    read = interpolated(images, numbers, positions, sizes) * expand_dims(reshape(factor, positions[0].shape), -1)
    patches = reshape(permute(read, (0, 5, 1, 2, 3, 4)), (n, parts, channels // parts * taps, math.prod(ends)))
    filters = reshape(single(kernel), (parts, kernel.shape[0] // parts, channels // parts * taps))
    out = reshape(matmul(filters, patches), (n, kernel.shape[0], *ends)).astype(image.dtype, copy=False)
    return out if bias is None else bias_add(out, bias)
