"""Normalisation."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.normalize import BatchNorm, BatchNormInference, LayerNorm
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.ops.sums import Mean, Sum
from adjoint.ir.types import F32, tensor
from adjoint.ops import collectives, creation, pooling
from adjoint.ops.arguments import flag, float_only, integer, operand, real, real_operand, single, sizes_argument, whole, wrong
from adjoint.ops.arithmetic import maximum, pow, rsqrt, square, stop_gradient
from adjoint.ops.shapes import reshape
from adjoint.runtime.process.tracer import not_recording
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import emitting
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["batch_norm", "group_norm", "layer_norm", "lrn", "rms_norm"]


def beside(x: Tensor, weight: Tensor) -> Tensor:
    """Return two-byte floats in Float32 if the weights are, and other tensors as they are."""
    return single(x) if weight.dtype is F32 else x


def normalized(x: Tensor, weight: Tensor, bias: Tensor, begin: int, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalisation over the axes from `begin` on, with mean and 1 / deviation, which have the dtype of the weights."""
    shape, given = x.shape[begin:], x.dtype
    x = beside(x, weight)
    for name, t in (("gamma", weight), ("beta", bias)):
        if t.shape != shape:
            raise wrong("LayerNorm", name, f"of shape {shape}", t)
        if t.dtype is not x.dtype:
            raise wrong("LayerNorm", name, f"of the dtype of the input, {x.dtype}", t, TypeError)
    y, mean, inverse = apply(made(LayerNorm, begin, epsilon), x, weight, bias)
    return y.astype(given, copy=False), mean, inverse


@fusible
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Tensor:
    """Return the input normalised over its trailing axes, of shape `normalized_shape`, then scaled and shifted."""
    x = operand("LayerNorm", input)
    sizes = sizes_argument("LayerNorm", "normalized_shape", normalized_shape)
    if not sizes or x.shape[-len(sizes):] != sizes:
        raise wrong("LayerNorm", "normalized_shape", f"trailing sizes of {x.shape}", sizes)
    gamma = creation.ones(sizes, x.dtype) if weight is None else operand("LayerNorm", weight, "weight")
    beta = creation.zeros(sizes, x.dtype) if bias is None else operand("LayerNorm", bias, "bias")
    return normalized(x, gamma, beta, x.ndim - len(sizes), real("LayerNorm", "eps", eps))[0]


@fusible
def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-06) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x ** 2) + epsilon) * gamma over the trailing axes that gamma has, and 1 / sqrt(mean(x ** 2) + epsilon)."""
    x, scale = real_operand("RmsNorm", x, "x"), real_operand("RmsNorm", gamma, "gamma")
    if not scale.ndim or x.shape[x.ndim - scale.ndim :] != scale.shape:
        raise wrong("RmsNorm", "gamma", f"of a shape that {x.shape} ends with", scale)
    axes = tuple(range(x.ndim - scale.ndim, x.ndim))
    inverse = rsqrt(apply(made(Mean, axes, True), square(single(x))) + real("RmsNorm", "epsilon", epsilon))
    inverse = inverse.astype(x.dtype, copy=False)
    return x * inverse * scale, inverse


@fusible
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Tensor:
    """Return the input [n, c, ...] normalised over groups of channels, then scaled and shifted channel by channel."""
    x, groups = operand("GroupNorm", input), integer("GroupNorm", "num_groups", num_groups)
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise wrong("GroupNorm", "num_groups", "a divisor of the number of channels", groups)
    # Without elements -1 cannot be resolved to a size.
    rows = reshape(x, (x.shape[0] * groups, math.prod(x.shape[1:]) // groups if 0 in x.shape else -1))
    ones, zeros = creation.ones(rows.shape[1:], x.dtype), creation.zeros(rows.shape[1:], x.dtype)
    plain = normalized(rows, ones, zeros, 1, real("GroupNorm", "eps", eps))[0]
    out = reshape(plain, x.shape)
    channels = (x.shape[1], *(1,) * (x.ndim - 2))
    for name, t, join in (("weight", weight, "__mul__"), ("bias", bias, "__add__")):
        if t is not None:
            if operand("GroupNorm", t, name).shape != (x.shape[1],):
                raise wrong("GroupNorm", name, f"of shape ({x.shape[1]},)", t)
            out = getattr(out, join)(reshape(t, channels))
    return out


def instance_normalized(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor:
    """Each channel of each example of [n, c, ...] normalised, then scaled and shifted by gamma and beta [c].

    The channels of all examples are those of one batch.
    """
    channels = tensor(x.dtype, x.shape[:2])
    scale, shift = (reshape(apply(made(Broadcast, channels), t), (-1,)) for t in (gamma, beta))
    rows = reshape(x, (1, x.shape[0] * x.shape[1], *x.shape[2:]))
    return reshape(apply(made(BatchNorm, epsilon), rows, scale, shift)[0], x.shape)


def check_channels(op: str, x: Tensor, **statistics: Tensor) -> None:
    """Each of shape [c], for x [n, c, ...]."""
    if x.ndim < 2:
        raise wrong(op, "input_x", "of at least 2 dimensions", x)
    for name, t in statistics.items():
        if t.shape != (x.shape[1],):
            raise wrong(op, name, f"of shape ({x.shape[1]},)", t)


@fusible
def batch_norm(
    input_x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool = False, momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Return the input [n, c, ...] normalised channel by channel, then scaled and shifted.

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
        return apply(made(BatchNormInference, epsilon), beside(x, gamma), gamma, beta, mean, variance).astype(x.dtype, copy=False)
    return batch_normalized(x, mean, variance, gamma, beta, epsilon, 1.0 - share, share)[0]


def batch_normalized(
    x: Tensor, mean: Tensor, variance: Tensor, gamma: Tensor, beta: Tensor, epsilon: float, old: float, new: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`x` normalised with the statistics of the batch, and these; running = old * running + new * batch's.

    No gradient flows to the running statistics.  Their variance is divided by the count less one.
    """
    y, batch_mean, batch_variance, _ = apply(made(BatchNorm, epsilon), beside(x, gamma), gamma, beta)
    count = x.size // x.shape[1]
    with nullcontext() if emitting() else not_recording():
        unbiased = batch_variance * (count / max(1, count - 1))
        _move(mean, batch_mean, old, new)
        _move(variance, unbiased, old, new)
    return y.astype(x.dtype, copy=False), batch_mean, batch_variance


def batch_normalized_together(
    x: Tensor, mean: Tensor, variance: Tensor, gamma: Tensor, beta: Tensor, epsilon: float, old: float, new: float, group: str
) -> Tensor:
    """`batch_normalized` with the statistics of the batches of all processes of a group, which may be of different sizes.

    Two reductions, of the sums and then of the squares of what is left without the mean, in Float32 for two-byte floats.  Gradients are
    those of the sum over the processes of what each differentiates.
    """
    wide = single(x)
    axes, channels = (0, *range(2, x.ndim)), (1, x.shape[1], *(1,) * (x.ndim - 2))
    rows = creation.full((1,), x.size // x.shape[1], dtype=wide.dtype)
    total, count = collectives.all_reduced("SyncBatchNorm", (apply(made(Sum, axes, False), wide), rows), "sum", group)
    batch_mean = total / count
    centred = wide - reshape(batch_mean, channels)
    (squares,) = collectives.all_reduced("SyncBatchNorm", (apply(made(Sum, axes, False), square(centred)),), "sum", group)
    batch_variance = squares / count
    with nullcontext() if emitting() else not_recording():
        _move(mean, batch_mean, old, new)
        _move(variance, squares / maximum(count - 1, creation.ones((1,), wide.dtype)), old, new)
    scale = reshape(rsqrt(batch_variance + epsilon) * gamma.astype(wide.dtype, copy=False), channels)
    return (centred * scale + reshape(beta.astype(wide.dtype, copy=False), channels)).astype(x.dtype, copy=False)


def _move(running: Tensor, batch: Tensor, old: float, new: float) -> None:
    """running = old * running + new * batch, with no gradient."""
    moved = running * old + batch.astype(running.dtype, copy=False) * new
    running.overwrite(stop_gradient(moved) if emitting() else moved)


@fusible
def lrn(
    x: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, norm_region: str = "ACROSS_CHANNELS"
) -> Tensor:
    """x / (bias + alpha * s)**beta, where s is the sum of the squares of channels up to `depth_radius` away (Krizhevsky et al. 2012).

    x             [n, c, h, w], of a floating point type
    depth_radius  at least 0
    norm_region   "ACROSS_CHANNELS", there is no other

    TypeError for a bias, alpha or beta that is not a float.
    """
    op = "LRN"
    given = operand(op, x, "x")
    radius, offset, factor, power, _ = lrn_settings(depth_radius, bias, alpha, beta, norm_region).values()
    if not given.dtype.is_float:
        raise wrong(op, "x", "a Tensor of a floating point type", given, TypeError)
    if given.ndim != 4:
        raise wrong(op, "x", "of shape [n, c, h, w]", given)
    if given.size == 0:
        return given.copy()
    n, channels, height, width = given.shape
    reach = min(radius, channels - 1)  # no channel is further away
    squares = reshape(square(single(given)), (n, 1, channels, height * width))
    sums = pooling.avg_pool2d(squares, (2 * reach + 1, 1), padding=(reach, 0), divisor_override=1)
    return (single(given) * pow(reshape(sums, given.shape) * factor + offset, -power)).astype(given.dtype, copy=False)


def lrn_settings(depth_radius: Any, bias: Any, alpha: Any, beta: Any, norm_region: Any) -> dict[str, Any]:
    """Return the settings of `lrn` by their names, checked."""
    op = "LRN"
    radius = whole(op, "depth_radius", depth_radius)
    if radius < 0:
        raise wrong(op, "depth_radius", "at least 0", radius)
    if not isinstance(norm_region, str):
        raise wrong(op, "norm_region", "a str", norm_region, TypeError)
    if norm_region != "ACROSS_CHANNELS":
        raise wrong(op, "norm_region", "'ACROSS_CHANNELS'", repr(norm_region))
    return {"depth_radius": radius, "bias": float_only(op, "bias", bias), "alpha": float_only(op, "alpha", alpha),
            "beta": float_only(op, "beta", beta), "norm_region": norm_region}
