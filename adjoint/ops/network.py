"""Pooling and normalisation."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np

from adjoint.ir.ops.indexing import Gather
from adjoint.ir.ops.normalize import BatchNorm, BatchNormInference, LayerNorm
from adjoint.ir.ops.pooling import AvgPool, MaxPool, MaxPoolIndices
from adjoint.ir.ops.reduce import Mean, Sum
from adjoint.ops.arguments import flag, integer, only, operand, pair, real, single, sizes_argument, whole, wrong
from adjoint.ops.arithmetic import rsqrt, square, stop_gradient, where
from adjoint.ops.creation import ones, zeros
from adjoint.ops.linear import Pairs, same_padding
from adjoint.ops.shapes import reshape
from adjoint.runtime.host_checks import emitting
from adjoint.runtime.interned import made
from adjoint.runtime.plans import physical_memory
from adjoint.runtime.state import not_recording
from adjoint.runtime.tensor import Tensor, apply, constant

__all__ = [
    "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "batch_norm", "group_norm", "layer_norm", "max_pool2d", "rms_norm",
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
    """The padding of pooling in mode "same" or "valid"; a ValueError when no window fits."""
    if pad_mode == "valid":
        if any(d < k for d, k in zip(x.shape[2:], kernel, strict=True)):
            raise wrong(op, "x", f"at least as large as a window of {kernel}", x)
        return (0, 0), (0, 0)
    top, left = (same_padding(*sizes) for sizes in zip(x.shape[2:], kernel, stride, strict=True))
    return top, left


def pooled(op: str, kind: type[MaxPool] | type[MaxPoolIndices] | type[AvgPool], x: Any, *geometry: Any, argument: str = "x") -> Tensor:
    """A pooling of images [n, c, h, w] or [c, h, w]."""
    image, batched = images(op, x, argument)
    out = apply(made(kind, *geometry), image)
    return out if batched else reshape(out, out.shape[1:])


def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False
) -> Any:
    """The largest element of each window, which moves by `stride` (default: its size); padding does not count.

    With `return_indices` also where it stands in its plane read row by row (Int64).
    """
    op = "MaxPool"
    kernel = pair(op, "kernel_size", kernel_size)
    step = kernel if stride is None else pair(op, "stride", stride)
    geometry = (kernel, step, symmetric(pair(op, "padding", padding, least=0)), pair(op, "dilation", dilation),
                flag(op, "ceil_mode", ceil_mode))
    out = pooled(op, MaxPool, x, *geometry)
    return (out, pooled(op, MaxPoolIndices, x, *geometry)) if flag(op, "return_indices", return_indices) else out


def avg_pool2d(
    input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """The average of each window; elements in the padding count with `count_include_pad`, `divisor_override` takes their number's place."""
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


def avg_pool1d(
    input_x: Any, kernel_size: int = 1, stride: int = 1, padding: int = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """The average of each window of sequences [n, c, l] or [c, l]."""
    x = operand("AvgPool1D", input_x, "input_x")
    if x.ndim not in (2, 3):
        raise wrong("AvgPool1D", "input_x", "of 2 or 3 dimensions", x)
    wide = reshape(x, (*x.shape[:-1], 1, x.shape[-1]))
    geometry = (("kernel_size", kernel_size), ("stride", stride), ("padding", padding))
    k, s, p = (only("AvgPool1D", name, v) for name, v in geometry)
    out = avg_pool2d(wide, (1, k), (1, s), (0, p), ceil_mode, count_include_pad)
    return reshape(out, (*out.shape[:-2], out.shape[-1]))


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Averages over parts of each plane, `output_size` of them; None keeps a size.

    Part i of n along d elements is from the floor of i * d / n up to the ceiling of (i + 1) * d / n: where n does not divide d,
    neighbours overlap.
    """
    op = "AdaptiveAvgPool2D"
    image, batched = images(op, input, "input")
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * 2
    if len(wanted) != 2:
        raise wrong(op, "output_size", "an int or a pair", output_size)
    sizes = tuple(d if n is None else integer(op, "output_size", n) for n, d in zip(wanted, image.shape[2:], strict=True))
    if any(n < 0 for n in sizes):
        raise wrong(op, "output_size", "at least 0", output_size)
    needed = math.prod((*image.shape[:2], *sizes)) * image.dtype.size
    if needed > physical_memory():
        raise MemoryError(f"For '{op}', a result of {sizes} parts would take {needed} bytes, but this machine has {physical_memory()}.")
    if any(n and not d for n, d in zip(sizes, image.shape[2:], strict=True)):
        raise wrong(op, "input", f"planes of elements for parts of {sizes}", image)
    if all(n and d % n == 0 for n, d in zip(sizes, image.shape[2:], strict=True)):
        kernel = (image.shape[2] // sizes[0], image.shape[3] // sizes[1])
        out = apply(made(AvgPool, kernel, kernel), image)
    else:
        out = _averaged_parts(_averaged_parts(image, 3, sizes[1]), 2, sizes[0])
    return out if batched else reshape(out, out.shape[1:])


def _averaged_parts(x: Tensor, axis: int, parts: int) -> Tensor:
    """Averages over `parts` parts along an axis; each is gathered into a row as long as the longest, zeros behind what is shorter."""
    length = x.shape[axis]
    begin = np.arange(parts) * length // max(parts, 1)
    count = -(-(np.arange(parts) + 1) * length // max(parts, 1)) - begin
    column = np.arange(count.max(initial=0))
    lead, behind = x.shape[:axis], (1,) * (x.ndim - axis - 1)
    places = np.minimum(begin[:, None] + column, max(length - 1, 0))
    rows = apply(made(Gather, axis), x, Tensor(places))
    inside = reshape(Tensor(column < count[:, None]), (*places.shape, *behind))
    total = apply(made(Sum, (axis + 1,)), where(inside, rows, constant(0.0, x.dtype)))
    counts = reshape(Tensor(count).astype(x.dtype), (parts, *behind))
    assert total.shape == (*lead, parts, *x.shape[axis + 1 :])
    return total / counts


# Normalisation ------------------------------------------------------------------------------------------------------


def normalized(x: Tensor, weight: Tensor, bias: Tensor, begin: int, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalisation over the axes from `begin` on, with mean and 1 / deviation."""
    shape = x.shape[begin:]
    for name, t in (("gamma", weight), ("beta", bias)):
        if t.shape != shape:
            raise wrong("LayerNorm", name, f"of shape {shape}", t)
        if t.dtype is not x.dtype:
            raise wrong("LayerNorm", name, f"of the dtype of the input, {x.dtype}", t, TypeError)
    return apply(made(LayerNorm, begin, epsilon), x, weight, bias)


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Tensor:
    """The input normalised over its trailing axes, of shape `normalized_shape`, then scaled and shifted."""
    x = operand("LayerNorm", input)
    sizes = sizes_argument("LayerNorm", "normalized_shape", normalized_shape)
    if not sizes or x.shape[-len(sizes):] != sizes:
        raise wrong("LayerNorm", "normalized_shape", f"trailing sizes of {x.shape}", sizes)
    gamma = ones(sizes, x.dtype) if weight is None else operand("LayerNorm", weight, "weight")
    beta = zeros(sizes, x.dtype) if bias is None else operand("LayerNorm", bias, "bias")
    return normalized(x, gamma, beta, x.ndim - len(sizes), real("LayerNorm", "eps", eps))[0]


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x ** 2) + epsilon) * gamma over the trailing axes that gamma has, and 1 / sqrt(mean(x ** 2) + epsilon)."""
    x, scale = operand("RmsNorm", x, "x"), operand("RmsNorm", gamma, "gamma")
    if not scale.ndim or x.shape[x.ndim - scale.ndim :] != scale.shape:
        raise wrong("RmsNorm", "gamma", f"of a shape that {x.shape} ends with", scale)
    axes = tuple(range(x.ndim - scale.ndim, x.ndim))
    inverse = rsqrt(apply(made(Mean, axes, True), square(single(x))) + real("RmsNorm", "epsilon", epsilon))
    inverse = inverse.astype(x.dtype, copy=False)
    return x * inverse * scale, inverse


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Tensor:
    """The input [n, c, ...] normalised over groups of channels, then scaled and shifted channel by channel."""
    x, groups = operand("GroupNorm", input), integer("GroupNorm", "num_groups", num_groups)
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise wrong("GroupNorm", "num_groups", "a divisor of the number of channels", groups)
    rows = reshape(x, (x.shape[0] * groups, -1))
    plain = normalized(rows, ones(rows.shape[1:], x.dtype), zeros(rows.shape[1:], x.dtype), 1, real("GroupNorm", "eps", eps))[0]
    out = reshape(plain, x.shape)
    channels = (x.shape[1], *(1,) * (x.ndim - 2))
    for name, t, join in (("weight", weight, "__mul__"), ("bias", bias, "__add__")):
        if t is not None:
            if operand("GroupNorm", t, name).shape != (x.shape[1],):
                raise wrong("GroupNorm", name, f"of shape ({x.shape[1]},)", t)
            out = getattr(out, join)(reshape(t, channels))
    return out


def check_channels(op: str, x: Tensor, **statistics: Tensor) -> None:
    """Each of shape [c], for x [n, c, ...]."""
    if x.ndim < 2:
        raise wrong(op, "input_x", "of at least 2 dimensions", x)
    for name, t in statistics.items():
        if t.shape != (x.shape[1],):
            raise wrong(op, name, f"of shape ({x.shape[1]},)", t)


def batch_norm(
    input_x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool = False, momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """The input [n, c, ...] normalised channel by channel, then scaled and shifted.

    While training with the statistics of the batch, which the running ones are moved towards: running = (1 - momentum) * running +
    momentum * batch, with the variance divided by the count less one; otherwise with the running ones.
    """
    op = "BatchNorm"
    x = operand(op, input_x, "input_x")
    mean, variance = operand(op, running_mean, "running_mean"), operand(op, running_var, "running_var")
    gamma, beta = operand(op, weight, "weight"), operand(op, bias, "bias")
    check_channels(op, x, running_mean=mean, running_var=variance, weight=gamma, bias=beta)
    epsilon, share = real(op, "eps", eps), real(op, "momentum", momentum)
    if not flag(op, "training", training):
        return apply(made(BatchNormInference, epsilon), x, gamma, beta, mean, variance)
    return batch_normalized(x, mean, variance, gamma, beta, epsilon, 1.0 - share, share)[0]


def batch_normalized(
    x: Tensor, mean: Tensor, variance: Tensor, gamma: Tensor, beta: Tensor, epsilon: float, old: float, new: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`x` normalised with the statistics of the batch, and these; running = old * running + new * batch's.

    No gradient flows to the running statistics.  Their variance is divided by the count less one.
    """
    y, batch_mean, batch_variance, _ = apply(made(BatchNorm, epsilon), x, gamma, beta)
    count = x.size // x.shape[1]
    with nullcontext() if emitting() else not_recording():
        unbiased = batch_variance * (count / max(1, count - 1))
        for running, batch in ((mean, batch_mean), (variance, unbiased)):
            moved = running * old + batch.astype(running.dtype, copy=False) * new
            running.overwrite(stop_gradient(moved) if emitting() else moved)
    return y, batch_mean, batch_variance
