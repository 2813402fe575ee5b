"""Functions of layers: activations, convolutions, pooling, normalisation, losses.

With `inplace` the result is written into the input, which is returned.
"""

from __future__ import annotations

from typing import Any

from adjoint.foundation.diagnostics import missing_name
from adjoint.ir.op import made
from adjoint.ir.ops.activation import LeakyRelu
from adjoint.ir.ops.composed import Clip
from adjoint.ir.types import I64, DType
from adjoint.mint.linalg import vector_norm
from adjoint.mint.shapes import flatten
from adjoint.ops import activations, arithmetic, convolution, losses, normalization, parts, picking, pooling, reduction, resizing
from adjoint.ops import linear as products
from adjoint.ops.activations import hardshrink, hardsigmoid, hardswish, prelu, softplus, softshrink
from adjoint.ops.arguments import choice, flag, float_tensor, integer, number, only, operand, sizes_argument, wrong
from adjoint.ops.convolution import conv_transpose2d
from adjoint.ops.creation import ones, zeros
from adjoint.ops.generated import sigmoid, tanh
from adjoint.ops.linear import embedding
from adjoint.ops.losses import cross_entropy, mse_loss
from adjoint.ops.margin_losses import cosine_embedding_loss, soft_margin_loss
from adjoint.ops.normalization import group_norm, layer_norm
from adjoint.ops.patches import fold, pixel_shuffle, unfold
from adjoint.ops.pooling import adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool2d
from adjoint.ops.shapes import expand_dims, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import emitting
from adjoint.runtime.tensor.sizes_of_values import numbers_up_to
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d",
    "conv_transpose2d", "cosine_embedding_loss", "cross_entropy", "dropout", "dropout2d", "elu", "elu_", "embedding", "flatten", "fold",
    "gelu", "glu", "group_norm", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "interpolate", "kl_div", "l1_loss",
    "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool2d", "mish", "mse_loss", "nll_loss", "normalize",
    "one_hot", "pad", "pixel_shuffle", "prelu", "relu", "relu6", "relu_", "selu", "sigmoid", "sigmoid_", "silu", "smooth_l1_loss",
    "soft_margin_loss", "softmax", "softplus", "softshrink", "tanh", "threshold", "threshold_", "unfold", "upsample",
]

_KERNEL = "write it with functions of `ops` that are here"
INSTEAD = {"grid_sample": _KERNEL, "max_unpool2d": _KERNEL}
"""What to write instead of functions of MindSpore that are missing here."""


def _given_back(op: str, input: Any, result: Tensor, inplace: Any) -> Tensor:
    """Return the result, or the input after the result was written into it."""
    if not flag(op, "inplace", inplace):
        return result
    input.overwrite(result.astype(input.dtype, copy=False))
    return input


# Activations ---------------------------------------------------------------------------------------------------------


@fusible
def relu(input: Any, inplace: bool = False) -> Tensor:
    """Return max(input, 0)."""
    return _given_back("ReLU", input, activations.relu(input), inplace)


def relu_(input: Any) -> Tensor:
    """`relu`, in place."""
    return relu(input, True)


@fusible
def relu6(input: Any, inplace: bool = False) -> Tensor:
    """Return min(max(input, 0), 6); the gradient at 0 and at 6 is 0."""
    return _given_back("ReLU6", input, _between(float_tensor("ReLU6", input), 0.0, 6.0), inplace)


def sigmoid_(input: Any) -> Tensor:
    """`sigmoid`, in place."""
    return _given_back("Sigmoid", input, sigmoid(input), True)


@fusible
def silu(input: Any, inplace: bool = False) -> Tensor:
    """Return input * sigmoid(input)."""
    return _given_back("SiLU", input, activations.silu(input), inplace)


@fusible
def mish(input: Any) -> Tensor:
    """x * tanh(softplus(x))."""
    return activations.mish(float_tensor("Mish", input))


@fusible
def selu(input: Any) -> Tensor:
    """Return 1.0507 * x, or 1.0507 * 1.67326 * (exp(x) - 1) where x is negative."""
    return activations.selu(float_tensor("SeLU", input))


@fusible
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return input if positive, else alpha * (exp(input) - 1)."""
    return _given_back("Elu", input, _elu(operand("Elu", input), number("Elu", "alpha", alpha)), inplace)


def _elu(x: Tensor, scale: Any) -> Tensor:
    low = arithmetic.expm1(arithmetic.where(x > 0, 0.0, x))
    return arithmetic.where(x > 0, x, low if scale == 1 else low * scale)


def elu_(input: Any, alpha: float = 1.0) -> Tensor:
    """`elu`, in place."""
    return elu(input, alpha, True)


@fusible
def gelu(input: Any, *, approximate: str = "none") -> Tensor:
    """Return input times the normal distribution function of it; approximated by tanh if `approximate` is "tanh"."""
    return activations.gelu(input, approximate)


@fusible
def leaky_relu(input: Any, negative_slope: Any = 0.01) -> Tensor:
    """Return input if positive, else negative_slope * input; the gradient at 0 is the slope."""
    return activations.sloped(input, negative_slope, made(LeakyRelu, "slope"))


@fusible
def hardtanh(input: Any, min_val: Any = -1.0, max_val: Any = 1.0, inplace: bool = False) -> Tensor:
    """Return the input clipped to an interval; the gradient at its ends is 0."""
    low, high = number("HardTanh", "min_val", min_val), number("HardTanh", "max_val", max_val)
    if low > high:
        raise wrong("HardTanh", "min_val", f"at most max_val, {high}", low)
    return _given_back("HardTanh", input, _between(float_tensor("HardTanh", input), low, high), inplace)


def _between(x: Tensor, low: Any, high: Any) -> Tensor:
    return apply(Clip(float(low), float(high), False), x)


def hardtanh_(input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> Tensor:
    """`hardtanh`, in place."""
    return hardtanh(input, min_val, max_val, True)


@fusible
def threshold(input: Any, threshold: Any, value: Any, inplace: bool = False) -> Tensor:
    """Return input if above the threshold, else `value`."""
    return _given_back("Threshold", input, activations.threshold(input, threshold, value), inplace)


def threshold_(input: Any, threshold: Any, value: Any) -> Tensor:
    """`threshold`, in place."""
    return _given_back("Threshold", input, activations.threshold(input, threshold, value), True)


@fusible
def glu(input: Any, dim: int = -1) -> Tensor:
    """Return the first half along an axis times the sigmoid of the second half."""
    return activations.glu(input, dim)


@fusible
def logsigmoid(input: Any) -> Tensor:
    """Return log(sigmoid(input)), without overflow."""
    return activations.logsigmoid(input)


def _softmax_axis(x: Tensor, dim: Any) -> int:
    """Return the axis; by default axis 0 of tensors with 0, 1 and 3 axes, else axis 1."""
    return (0 if x.ndim in (0, 1, 3) else 1) if dim is None else dim


@fusible
def softmax(input: Any, dim: int | None = None, dtype: DType | None = None) -> Tensor:
    """Return exp(input) divided by its sum along an axis."""
    return activations.softmax(input, _softmax_axis(operand("Softmax", input), dim), dtype=dtype)


@fusible
def log_softmax(input: Any, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Return the logarithm of `softmax`."""
    x = operand("LogSoftmax", input)
    return activations.log_softmax(x if dtype is None else x.astype(dtype), _softmax_axis(x, dim))


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, drop each element with probability `p` and divide the others by 1 - p; otherwise return the input."""
    return _given_back("Dropout", input, activations.dropout(input, p, training), inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, drop each channel of [n, c, h, w] with probability `p` and divide the others by 1 - p; otherwise return the input."""
    return _given_back("Dropout2D", input, activations.dropout2d(input, p, training), inplace)


# Products and convolutions -------------------------------------------------------------------------------------------


@fusible
def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """Return input @ weight.T + bias, for a weight [out, in]."""
    return products.dense(input, weight, bias)


def _padding(op: str, padding: Any, count: int) -> tuple[str, Any]:
    """Return the mode and the widths of a padding given as a word, an int, or one int for each of `count` axes."""
    if isinstance(padding, str):
        return choice(op, "padding", padding, ("valid", "same")), 0
    widths = sizes_argument(op, "padding", padding)
    if len(widths) not in (1, count):
        raise wrong(op, "padding", f"'valid', 'same', an int or {count} ints", padding)
    return "pad", widths if len(widths) == count else widths * count


def _one_example(op: str, input: Any, rank: int) -> tuple[Tensor, bool]:
    """Return a batch, and whether it was one example without a batch axis."""
    x = operand(op, input)
    return (reshape(x, (1, *x.shape)), True) if x.ndim == rank - 1 else (x, False)


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the cross-correlation of [n, c, l], or of one example [c, l], with kernels [out, c / groups, k].

    padding  zeros on both sides, an int, or "same" or "valid"
    """
    x, alone = _one_example("Conv1D", input, 3)
    mode, widths = _padding("Conv1D", padding, 1)
    out = convolution.conv1d(x, weight, bias, stride, mode, widths, dilation, groups)
    return reshape(out, out.shape[1:]) if alone else out


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the cross-correlation of [n, c, h, w], or of one example [c, h, w], with kernels [out, c / groups, kh, kw].

    padding  zeros on both sides, an int or (height, width), or "same" or "valid"
    """
    x, alone = _one_example("Conv2D", input, 4)
    mode, widths = _padding("Conv2D", padding, 2)
    out = convolution.conv2d(x, weight, bias, stride, mode, widths, dilation, groups)
    return reshape(out, out.shape[1:]) if alone else out


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the cross-correlation of [n, c, d, h, w], or of one example [c, d, h, w], with kernels [out, c / groups, kd, kh, kw].

    padding  zeros on both sides, an int or (depth, height, width), or "same" or "valid"
    """
    x, alone = _one_example("Conv3D", input, 5)
    mode, widths = _padding("Conv3D", padding, 3)
    out = convolution.conv3d(x, weight, bias, stride, mode, widths, dilation, groups)
    return reshape(out, out.shape[1:]) if alone else out


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Resize sequences, images or volumes: see `ops.interpolate`, from which it differs in two ways, as PyTorch does.

    mode                    "bicubic" has the parameter -0.75, and beyond an edge its element stands again
    recompute_scale_factor  whether positions follow from the size that the factor gives; by default from the factor itself
    """
    return resizing.resized(input, size, scale_factor, mode, align_corners, recompute_scale_factor, as_pytorch=True)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Same as `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@fusible
def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Return the padded tensor; the widths are (before, after) pairs that begin with the last axis: see `ops.pad`."""
    return parts.pad(input, pad, mode, value)


# Pooling -------------------------------------------------------------------------------------------------------------


@fusible
def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest elements of windows, which move by `stride` (default: the kernel size), and optionally their indices in the
    plane."""
    return pooling.max_pool2d(input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


@fusible
def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """Return the means of windows along the last axis, which move by `stride` (default: the kernel size)."""
    size, apart, around = (value[0] if isinstance(value, (tuple, list)) else value for value in (kernel_size, stride, padding))
    return pooling.avg_pool1d(input, size, size if apart is None else apart, around, ceil_mode, count_include_pad)


def _divisor(op: str, divisor_override: Any) -> Any:
    """Return the divisor for `ops`, where 0 means that there is none."""
    if divisor_override == 0:
        raise wrong(op, "divisor_override", "a number above 0, or None", divisor_override)
    return 0 if divisor_override is None else divisor_override


@fusible
def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Tensor:
    """Return the means of windows in the last two axes, which move by `stride` (default: the kernel size); or sums divided by
    `divisor_override`."""
    return pooling.avg_pool2d(input, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad,
                              _divisor("AvgPool2D", divisor_override))


@fusible
def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Tensor:
    """Return the means of windows in the last three axes, which move by `stride` (default: the kernel size); or sums divided by
    `divisor_override`.
    """
    return pooling.avg_pool3d(input, kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad,
                              _divisor("AvgPool3D", divisor_override))


def _one_row(op: str, input: Any, output_size: Any) -> tuple[Tensor, tuple[int, int]]:
    """Return sequences [..., c, l] as images of one row, and the size of the result."""
    x = operand(op, input)
    if x.ndim not in (2, 3):
        raise wrong(op, "input", "of 2 or 3 dimensions", x)
    return reshape(x, (*x.shape[:-1], 1, x.shape[-1])), (1, only(op, "output_size", output_size, least=1))


@fusible
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """Return the means of `output_size` windows of almost equal size along the last axis."""
    out = adaptive_avg_pool2d(*_one_row("AdaptiveAvgPool1D", input, output_size))
    return reshape(out, (*out.shape[:-2], out.shape[-1]))


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of `output_size` windows of almost equal size along the last axis, and optionally their indices."""
    out, places = adaptive_max_pool2d(*_one_row("AdaptiveMaxPool1D", input, output_size), True)
    out, places = (reshape(t, (*t.shape[:-2], t.shape[-1])) for t in (out, places))
    return (out, places) if flag("AdaptiveMaxPool1D", "return_indices", return_indices) else out


# Normalisations ------------------------------------------------------------------------------------------------------


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False, momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Return the input [n, c, ...] normalised for each channel; `weight` and `bias`, if given, scale and shift it.

    In training, the statistics of the batch are used, and move the running statistics, unless None, towards them by the share `momentum`.
    """
    x = operand("BatchNorm", input)
    if x.ndim < 2:
        raise wrong("BatchNorm", "input", "of at least 2 dimensions", x)
    channels = (x.shape[1],)
    if (running_mean is None or running_var is None) and not flag("BatchNorm", "training", training):
        raise wrong("BatchNorm", "running_mean", "a Tensor, as 'running_var', unless training", None)
    mean = zeros(channels, x.dtype) if running_mean is None else running_mean
    variance = ones(channels, x.dtype) if running_var is None else running_var
    return normalization.batch_norm(x, mean, variance, ones(channels, x.dtype) if weight is None else weight,
                                    zeros(channels, x.dtype) if bias is None else bias, training, momentum, eps)


@fusible
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Return the input divided by its norm of order `p` along an axis, or by `eps` if the norm is smaller."""
    x = operand("Normalize", input)
    return x / arithmetic.maximum(vector_norm(x, p, dim, True), number("Normalize", "eps", eps))


# Losses --------------------------------------------------------------------------------------------------------------


def _reduced(op: str, losses_: Tensor, reduction_: Any) -> Tensor:
    match choice(op, "reduction", reduction_, ("none", "mean", "sum")):
        case "mean":
            return reduction.mean(losses_)
        case "sum":
            return reduction.sum(losses_)
        case _:
            return losses_


@fusible
def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Return |input - target|."""
    return losses.l1_loss(input, target, reduction)


@fusible
def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return 0.5 d**2 / beta for a distance d below beta, else d - 0.5 beta; for a beta of 0, |d|."""
    if number("SmoothL1Loss", "beta", beta) == 0:
        return losses.l1_loss(input, target, reduction)
    return losses.smooth_l1_loss(input, target, beta, reduction)


@fusible
def nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Return -input at the class of each example, times the weight of the class."""
    return losses.nll_loss(input, target, weight, ignore_index, reduction)


@fusible
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Return the cross entropy of probabilities with the target."""
    return losses.binary_cross_entropy(input, target, weight, reduction)


@fusible
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """Return the cross entropy of the sigmoid of the input with the target; `pos_weight` multiplies the target's part."""
    return losses.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


@fusible
def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Return target * (log(target) - input), 0 where the target is 0; with `log_target`, exp(target) * (target - input).

    reduction  "none", "mean", "sum", or "batchmean": the sum divided by the number of examples
    """
    x, y = operand("KLDiv", input), operand("KLDiv", target, "target")
    if flag("KLDiv", "log_target", log_target):
        apart = arithmetic.exp(y) * (y - x)
    else:
        apart = arithmetic.xlogy(y, y) - y * x
    if choice("KLDiv", "reduction", reduction, ("none", "mean", "sum", "batchmean")) == "batchmean":
        return _reduced("KLDiv", apart, "sum") / max(1, x.shape[0] if x.ndim else 1)
    return _reduced("KLDiv", apart, reduction)


@fusible
def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """Return for each class a row of zeros with a one at the class, Int64; with -1, as many classes as the largest one requires."""
    classes = operand("OneHot", tensor, "tensor")
    count = integer("OneHot", "num_classes", num_classes)
    if count == -1:
        if emitting() and classes.size:
            why = "it has a column for each class up to the largest; give 'num_classes'"
            places = classes.astype(I64, copy=False)
            return arithmetic.equal(expand_dims(places, -1), numbers_up_to("OneHot", why, reduction.amax(places) + 1)).astype(I64)
        count = int(reduction.amax(classes).item()) + 1 if classes.size else 0
    return picking.one_hot(classes, count, 1, 0).astype(I64, copy=False)


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
