"""Activations, softmax and dropout.

They take floating point Tensors; `relu` and `leaky_relu` take integers too.  Raise TypeError for anything else.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops import random, transcendental
from adjoint.ir.ops import softmax as along
from adjoint.ir.ops.activation import Gelu, HardSigmoid, HardSwish, LeakyRelu, Relu, Sigmoid, Softplus
from adjoint.ir.ops.composed import SoftShrink
from adjoint.ir.ops.conversion import Cast, Identity, Select
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.types import BOOL, DType, tensor
from adjoint.ops import arithmetic, parts
from adjoint.ops.arguments import (
    ArgumentMistake,
    axis_argument,
    dtype_or,
    filler,
    flag,
    float_tensor,
    floating,
    number,
    operand,
    real,
    seed_argument,
    wrong,
)
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.operators import binary
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.run_time_checks import is_run_time_number
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant

__all__ = [
    "celu", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "fast_gelu", "gelu", "glu", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "leaky_relu", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "selu", "silu", "softmax",
    "soft_shrink", "softmin", "softplus", "softshrink", "softsign", "tanhshrink", "threshold",
]

_RELU, _SIGMOID, _SOFTPLUS = Relu(), Sigmoid(), Softplus()
_HARD_SIGMOID, _HARD_SWISH = HardSigmoid(), HardSwish()
_LEAKY, _LEARNED = LeakyRelu("mean"), LeakyRelu("slope")
_GELU = {name: Gelu(name) for name in ("none", "tanh")}
_IDENTITY, _SELECT = Identity(), Select()


@fusible
def relu(input: Any, inplace: bool = False) -> Tensor:
    """Return max(x, 0); the gradient at 0 is 0.

    inplace  write the result into `input`, and return that
    """
    x = operand("ReLU", input)
    if inplace.__class__ is not bool:
        flag("ReLU", "inplace", inplace)
    out = apply(_IDENTITY if x.dtype is BOOL else _RELU, x)
    if not inplace:
        return out
    x.overwrite(out)
    return x


@fusible
def relu6(x: Any) -> Tensor:
    """Return min(max(x, 0), 6)."""
    x = float_tensor("ReLU6", x, "x")
    six = constant(6.0, x.dtype)
    return arithmetic.where(arithmetic.greater(x, six), six, apply(_RELU, x))


@fusible
def leaky_relu(input: Any, alpha: Any = 0.2) -> Tensor:
    """Return x, or `alpha` * x where x is negative; the gradient at 0 is the mean of both slopes.

    For integers, `alpha` is truncated to an integer.
    """
    return sloped(input, alpha, _LEAKY)


def sloped(input: Any, alpha: Any, op: LeakyRelu) -> Tensor:
    """See `leaky_relu`; `op` says what the gradient at 0 is."""
    x = operand("LeakyReLU", input)
    if not isinstance(alpha, Tensor):
        alpha = number("LeakyReLU", "alpha", alpha)
    if x.dtype is BOOL:
        return apply(_IDENTITY, x)
    if x.dtype.is_integer:
        slope = (alpha.tensor() if is_run_time_number(alpha) else as_tensor(alpha)).astype(x.dtype)
        return arithmetic.where(x < 0, x * slope, x)
    return binary(op, x, alpha)


@fusible
def prelu(input: Any, weight: Any) -> Tensor:
    """Return x, or `weight` * x where x is negative, with one weight, or one for each channel (axis 1); the gradient at 0 is the weight.
    """
    x, slope = float_tensor("PReLU", input), float_tensor("PReLU", weight, "weight")
    if slope.ndim != 1 or slope.size not in (1, x.shape[1] if x.ndim > 1 else 1):
        raise wrong("PReLU", "weight", "one number, or one for each channel", slope)
    if x.ndim != 2:
        slope = reshape(slope, (slope.size, *(1,) * (x.ndim - 2)) if slope.size > 1 else ())
    return binary(_LEARNED, x, slope.astype(x.dtype, copy=False))


@fusible
def elu(input_x: Any, alpha: float = 1.0) -> Tensor:
    """Return x, or `alpha` * (exp(x) - 1) where x is negative."""
    x = float_tensor("Elu", input_x, "input_x")
    return _exponential(x, number("Elu", "alpha", alpha), 1.0, 1.0)


def _exponential(x: Tensor, alpha: Any, scale: float, inner: float) -> Tensor:
    zero = constant(0.0, x.dtype)
    positive = arithmetic.less(zero, x)
    # The exponential only takes the elements that use it, so that it does not overflow elsewhere.
    bent = arithmetic.expm1(arithmetic.where(positive, zero, x if inner == 1.0 else x * inner)) * alpha
    out = arithmetic.where(positive, x, bent)
    return out if scale == 1.0 else out * scale


@fusible
def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """Return x, or `alpha` * (exp(x / alpha) - 1) where x is negative."""
    if number("CeLU", "alpha", alpha) == 0:
        raise wrong("CeLU", "alpha", "other than 0", alpha)
    return _exponential(float_tensor("CeLU", x, "x"), alpha, 1.0, 1.0 / alpha)


@fusible
def selu(input_x: Any) -> Tensor:
    """Return 1.0507 * x, or 1.0507 * 1.67326 * (exp(x) - 1) where x is negative."""
    return _exponential(float_tensor("SeLU", input_x, "input_x"), 1.6732632423543772, 1.0507009873554805, 1.0)


@fusible
def gelu(input: Any, approximate: str = "none") -> Tensor:
    """x * P(X <= x) for a normally distributed X; "tanh" approximates it by a tanh."""
    x = float_tensor("GeLU", input)
    if not isinstance(approximate, str) or approximate not in _GELU:
        raise wrong("GeLU", "approximate", "'none' or 'tanh'", repr(approximate))
    return apply(_GELU[approximate], x)


@fusible
def fast_gelu(x: Any) -> Tensor:
    """x * sigmoid(1.702 x)."""
    x = float_tensor("FastGeLU", x, "x")
    return x * apply(_SIGMOID, x * 1.702)


@fusible
def silu(input: Any) -> Tensor:
    """x * sigmoid(x)."""
    x = float_tensor("SiLU", input)
    return x * apply(_SIGMOID, x)


@fusible
def logsigmoid(x: Any) -> Tensor:
    """log(sigmoid(x))."""
    x = float_tensor("LogSigmoid", x, "x")
    return 0.0 - apply(_SOFTPLUS, -x)


@fusible
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    x = float_tensor("Softplus", input)
    steep = number("Softplus", "beta", beta)
    scaled = x if steep == 1 else x * steep
    straight = arithmetic.greater(scaled, real("Softplus", "threshold", threshold))
    bent = apply(_SOFTPLUS, arithmetic.where(straight, constant(0.0, x.dtype), scaled))
    return arithmetic.where(straight, x, bent if steep == 1 else bent / steep)


@fusible
def softsign(x: Any) -> Tensor:
    """x / (1 + |x|)."""
    x = float_tensor("Softsign", x, "x")
    return x / (arithmetic.abs(x) + 1.0)


@fusible
def mish(x: Any) -> Tensor:
    """x * tanh(softplus(x))."""
    x = float_tensor("Mish", x, "x")
    return x * apply(made(transcendental.Tanh), softplus(x))


@fusible
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Return x clipped to the bounds; of integers to whole ones, which drop what follows the point."""
    low, high = number("HardTanh", "min_val", min_val), number("HardTanh", "max_val", max_val)
    if low > high:
        raise wrong("HardTanh", "min_val", f"at most max_val, {high}", low)
    x = operand("HardTanh", input)
    if x.dtype.is_integer:
        return arithmetic.clip_by_value(x, int(low), int(high))
    return arithmetic.clip_by_value(float_tensor("HardTanh", input), low, high)


@fusible
def hardsigmoid(input: Any) -> Tensor:
    """Return (x + 3) / 6 clipped to 0 and 1; the gradient at -3 and 3 is 0."""
    return apply(_HARD_SIGMOID, float_tensor("HSigmoid", input))


@fusible
def hardswish(input: Any) -> Tensor:
    """x times `hardsigmoid` of it; the gradient at -3 is -1/2, at 3 it is 3/2."""
    return apply(_HARD_SWISH, float_tensor("HSwish", input))


@fusible
def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """Return x, or 0 where |x| <= `lambd`."""
    x = float_tensor("HShrink", input)
    return arithmetic.where(arithmetic.less_equal(arithmetic.abs(x), real("HShrink", "lambd", lambd)), constant(0.0, x.dtype), x)


@fusible
def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """Return x moved toward 0 by `lambd`, or 0 where |x| is less."""
    x, width = float_tensor("SoftShrink", input), real("SoftShrink", "lambd", lambd)
    if width < 0:
        raise wrong("SoftShrink", "lambd", "at least 0", width, ArgumentMistake)
    return apply(made(SoftShrink, width), x)


@fusible
def soft_shrink(input: Any, lambd: float = 0.5) -> Tensor:
    """As `softshrink`."""
    return softshrink(input, lambd)


@fusible
def tanhshrink(input: Any) -> Tensor:
    """x - tanh(x), of integers in Float32."""
    x = floating(operand("TanhShrink", input))
    return x - apply(made(transcendental.Tanh), x)


@fusible
def threshold(input: Any, thr: float, value: float) -> Tensor:
    """Return x, or `value` where x <= `thr`."""
    x = operand("Threshold", input)
    return arithmetic.where(arithmetic.greater(x, number("Threshold", "thr", thr)), x, filler("Threshold", "value", value, x.dtype))


@fusible
def glu(x: Any, axis: int = -1) -> Tensor:
    """Return the first half along an axis times the sigmoid of the second."""
    x = float_tensor("GLU", x, "x")
    place = axis_argument("GLU", axis, x.ndim)
    if x.ndim == 0 or x.shape[place] % 2:
        raise wrong("GLU", "x", f"of an even size along axis {axis}", x)
    first, second = parts.parted(x, place, [x.shape[place] // 2] * 2)
    return first * apply(_SIGMOID, second)


# Softmax ------------------------------------------------------------------------------------------------------------


def _softmax(op: Any, name: str, x: Any, axis: Any, dtype: Any, argument: str) -> Tensor:
    found = operand(name, x, argument)
    if dtype is not None:
        found = apply(made(Cast, dtype_or(name, dtype, found.dtype)), found)
    if not found.dtype.is_float:
        raise wrong(name, argument, "a Tensor of a floating point type", found, TypeError)
    if isinstance(axis, (tuple, list)) and len(axis) == 1:
        (axis,) = axis
    place = axis_argument(name, axis, found.ndim)
    if found.ndim == 0:
        return reshape(apply(made(op, 0), reshape(found, (1,))), ())
    return apply(made(op, place), found)


@fusible
def softmax(input: Any, axis: int = -1, *, dtype: DType | None = None) -> Tensor:
    """Return exponentials divided by their sum along an axis."""
    return _softmax(along.Softmax, "Softmax", input, axis, dtype, "input")


@fusible
def log_softmax(logits: Any, axis: int = -1) -> Tensor:
    """Return the logarithm of `softmax`, computed without rounding the softmax."""
    return _softmax(along.LogSoftmax, "LogSoftmax", logits, axis, None, "logits")


@fusible
def softmin(x: Any, axis: int = -1, *, dtype: DType | None = None) -> Tensor:
    """Return softmax of the negative."""
    return softmax(-operand("Softmin", x, "x"), axis, dtype=dtype)


# Dropout ------------------------------------------------------------------------------------------------------------


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """While training, replace each element by 0 with probability `p`, and divide the others by 1 - p; otherwise return the input unchanged.

    seed  replaces the global seed for this draw
    """
    x = float_tensor("Dropout", input)
    share = number("Dropout", "p", p)
    if not 0.0 <= share <= 1.0 or math.isnan(share):
        raise wrong("Dropout", "p", "in [0, 1]", share, ArgumentMistake)
    own = seed_argument("Dropout", seed)
    if not flag("Dropout", "training", training):
        return apply(_IDENTITY, x)
    if share == 1.0:
        return apply(_SELECT, constant(False, BOOL), x, constant(0.0, x.dtype))
    return apply(made(random.Dropout, 1.0 - share), x, next_key(own))[0]


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """While training, replace each channel of [n, c, l] or [c, l] by 0 with probability `p`, and divide the others by 1 - p."""
    return _dropped_channels("Dropout1D", input, p, training, (2, 3), 1)


def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """While training, replace each channel of [n, c, h, w] by 0 with probability `p`, and divide the others by 1 - p."""
    return _dropped_channels("Dropout2D", input, p, training, (4,), 2)


def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
    """While training, replace each channel of [n, c, d, h, w] by 0 with probability `p`, and divide the others by 1 - p."""
    return _dropped_channels("Dropout3D", input, p, training, (5,), 3)


def _dropped_channels(op: str, input: Any, p: Any, training: Any, ranks: tuple[int, ...], within: int) -> Tensor:
    """Apply dropout to channels, which have `within` axes."""
    x, share = float_tensor(op, input), number(op, "p", p)
    if not 0.0 <= share <= 1.0:
        raise wrong(op, "p", "in [0, 1]", share)
    if not flag(op, "training", training) or not share:
        return apply(_IDENTITY, x)
    if x.ndim not in ranks:
        raise wrong(op, "input", f"of {' or '.join(map(str, ranks))} dimensions", x)
    return channels_dropped(x, 1.0 - share, within)[0]


def channels_dropped(x: Tensor, keep: float, within: int) -> tuple[Tensor, Tensor]:
    """Keep each channel with probability `keep` and divide it by that, or else set it to 0; also return a bool for each channel: whether it
    is kept."""
    channels = tensor(x.dtype, (*x.shape[: x.ndim - within], *(1,) * within))
    if not keep:
        kept = apply(made(Broadcast, channels.with_dtype(BOOL)), constant(False, BOOL))
    else:
        ones = apply(made(Broadcast, channels), constant(1.0, x.dtype))
        kept = apply(made(random.Dropout, keep), ones, next_key(None))[1]
    return apply(_SELECT, kept, x / keep if keep else x, constant(0.0, x.dtype)), kept
