"""Losses.

`reduction` is "mean", "sum" or "none".  Operands are brought to one dtype; raise TypeError for what is not a Tensor, ValueError for
shapes that do not fit and for another reduction, IndexMistake (an IndexError and a RuntimeError) for a class out of range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.composed import Huber, SmoothL1
from adjoint.ir.ops.losses import SoftmaxCrossEntropy, SparseSoftmaxCrossEntropy
from adjoint.ir.ops.shape import Broadcast
from adjoint.ir.ops.sums import Mean, Sum
from adjoint.ir.types import F16, I64, DType, tensor
from adjoint.ops import arithmetic, picking
from adjoint.ops import reduction as reductions
from adjoint.ops.activations import log_softmax, softplus
from adjoint.ops.arguments import IndexMistake, choice, flag, floating, operand, real, real_operand, roomy, whole, wrong
from adjoint.ops.shapes import moveaxis, reshape, squeeze
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host, explained
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity", "cross_entropy", "gaussian_nll_loss", "huber_loss",
    "kl_div", "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss", "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
]

_REDUCTIONS = ("none", "mean", "sum")


def reduction_argument(op: str, reduction: Any) -> str:
    """One of "mean", "sum" and "none"."""
    return choice(op, "reduction", reduction, _REDUCTIONS)


def reduced(x: Tensor, reduction: str) -> Tensor:
    """Losses averaged, summed or as they are."""
    if reduction == "none":
        return x
    return apply(made(Mean if reduction == "mean" else Sum, tuple(range(x.ndim))), x)


@fusible
def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """(input - target) ** 2, in floating point; TypeError for complex numbers."""
    kind = reduction_argument("MSELoss", reduction)
    distance = arithmetic.sub(floating(operand("MSELoss", input)), floating(operand("MSELoss", target, "target")))
    if distance.dtype.is_complex:
        name, given = next((n, x) for n, x in (("input", input), ("target", target)) if x.dtype.is_complex)
        raise wrong("MSELoss", name, "a Tensor of real numbers; `ops.square(ops.ComplexAbs()(input - target)).mean()` is of complex ones",
                    given, TypeError)
    return reduced(arithmetic.square(distance), kind)


@fusible
def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """|input - target|; of integers an integer, the mean cut."""
    kind = reduction_argument("L1Loss", reduction)
    distance = arithmetic.abs(arithmetic.sub(operand("L1Loss", input), operand("L1Loss", target, "target")))
    return reduced(distance, kind) if distance.dtype.is_float or kind != "mean" else reductions.mean(distance)


@fusible
def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """0.5 d**2 / beta for a distance d below beta, d - 0.5 beta from there on."""
    kind, width = reduction_argument("SmoothL1Loss", reduction), real("SmoothL1Loss", "beta", beta)
    if width <= 0:
        raise wrong("SmoothL1Loss", "beta", "more than 0", width)
    difference = arithmetic.sub(operand("SmoothL1Loss", input), operand("SmoothL1Loss", target, "target"))
    if difference.dtype.is_float:
        return reduced(apply(made(SmoothL1, width), difference), kind)
    distance = arithmetic.abs(difference)
    near = arithmetic.square(distance) * (0.5 / width)
    return reduced(arithmetic.where(arithmetic.less(distance, width), near, distance - 0.5 * width), kind)


@fusible
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """0.5 d**2 for a distance d below delta, delta * (d - 0.5 delta) from there on."""
    kind, width = reduction_argument("HuberLoss", reduction), real("HuberLoss", "delta", delta)
    if width <= 0:
        raise wrong("HuberLoss", "delta", "more than 0", width)
    difference = arithmetic.sub(operand("HuberLoss", input), operand("HuberLoss", target, "target"))
    if difference.dtype.is_float:
        return reduced(apply(made(Huber, width), difference), kind)
    distance = arithmetic.abs(difference)
    near = arithmetic.square(distance) * 0.5
    return reduced(arithmetic.where(arithmetic.less(distance, width), near, (distance - 0.5 * width) * width), kind)


# Classes ------------------------------------------------------------------------------------------------------------


def _labels(op: str, target: Any, argument: str = "target") -> Tensor:
    labels = operand(op, target, argument)
    if not labels.dtype.is_integer:
        raise wrong(op, argument, "a Tensor of integers", labels, TypeError)
    return labels


def sparse_losses(op: str, logits: Tensor, labels: Tensor, ignored: tuple[int, ...]) -> Tensor:
    """Return the cross entropies of rows of logits [n, k] with classes [n]."""
    check = class_check(op, "labels", logits.shape[1], ignored)
    return explained(lambda: apply(made(SparseSoftmaxCrossEntropy, ignored), logits, labels), check, labels)


def class_check(
    op: str, argument: str, count: int, ignored: tuple[int, ...], kind: Callable[[str], Exception] = IndexMistake
) -> Callable[[Tensor], None]:
    """A check that labels are classes in 0..count-1, or among those that do not count; its mistake is an IndexMistake or of `kind`."""

    def labels(given: Tensor, range_: Range) -> None:
        classes = given.asnumpy()
        outside = (classes < 0) | (classes > range_.high)
        for label in ignored:
            outside &= classes != label
        if outside.any():
            raise wrong(op, argument, f"classes in 0..{range_.high}", int(classes[outside][0]), kind)

    return RangeCheck(Range(0, count - 1, ignored), labels)


@fusible
def sparse_softmax_cross_entropy_with_logits(logits: Any, labels: Any) -> Tensor:
    """Cross entropies of softmax of [n, k] logits with [n] classes: [n]."""
    op = "SparseSoftmaxCrossEntropyWithLogits"
    x, classes = operand(op, logits, "logits"), _labels(op, labels, "labels")
    if x.ndim != 2:
        raise wrong(op, "logits", "of 2 dimensions", x)
    if classes.shape != x.shape[:1]:
        raise wrong(op, "labels", f"of shape {x.shape[:1]}", classes)
    return sparse_losses(op, x, classes, ())


@fusible
def softmax_cross_entropy_with_logits(logits: Any, labels: Any) -> Tensor:
    """Cross entropies of softmax of [n, k] logits with [n, k] distributions: [n]; no gradient flows to the labels."""
    op = "SoftmaxCrossEntropyWithLogits"
    x, shares = operand(op, logits, "logits"), operand(op, labels, "labels")
    if x.ndim != 2:
        raise wrong(op, "logits", "of 2 dimensions", x)
    if shares.shape != x.shape:
        raise wrong(op, "labels", f"of the shape of the logits, {x.shape}", shares)
    if shares.dtype is not x.dtype:
        raise wrong(op, "labels", f"of the dtype of the logits, {x.dtype}", shares, TypeError)
    return apply(SoftmaxCrossEntropy(), x, arithmetic.stop_gradient(shares))


def _class_weights(op: str, weight: Any, classes: int) -> Tensor | None:
    if weight is None:
        return None
    found = real_operand(op, weight, "weight")
    if found.shape != (classes,):
        raise wrong(op, "weight", f"of shape ({classes},)", found)
    return found


def _in_one_dtype(x: Tensor, *others: Tensor | None) -> DType:
    """Return the dtype of a tensor of floats and of all others of floats; as in MindSpore, those of integers do not count."""
    dtype = x.dtype
    for other in others:
        if other is not None and other.dtype.is_float:
            dtype = common_dtype(dtype, other.dtype)
    return dtype


def _smoothing(op: str, label_smoothing: Any) -> float:
    share = real(op, "label_smoothing", label_smoothing)
    if not 0.0 <= share <= 1.0:
        raise wrong(op, "label_smoothing", "in [0, 1]", share)
    return share


def _rows(op: str, x: Tensor) -> tuple[Tensor, tuple[int, ...]]:
    """Logits [n, k, ...] or [k] as rows [m, k], and the shape of the losses."""
    if x.ndim == 0:
        raise wrong(op, "input", "of at least 1 dimension", x)
    if not x.dtype.is_float:
        raise wrong(op, "input", "a Tensor of a floating point type", x, TypeError)
    if x.ndim == 1:
        return reshape(x, (1, -1)), ()
    shape = (x.shape[0], *x.shape[2:])
    rows = x if x.ndim == 2 else reshape(moveaxis(x, 1, -1), (math.prod(shape), x.shape[1]))
    return rows, shape


@fusible
def cross_entropy(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """Cross entropy of softmax of logits [n, k, ...] (or [k]) with classes [n, ...] or distributions of the logits' shape.

    weight           one weight for each class
    ignore_index     a class that does not count
    reduction        "mean" divides by the sum of the weights that count
    label_smoothing  the share of each label that is spread evenly over the classes

    The result has the dtype that the logits, the weights and the distributions have together.
    """
    op = "CrossEntropy"
    kind, smoothing = reduction_argument(op, reduction), _smoothing(op, label_smoothing)
    x, labels = operand(op, input), operand(op, target, "target")
    if labels.dtype.is_integer:
        plain = weight is None and smoothing == 0.0
        rows, shape = _rows(op, x)
        if labels.shape != shape:
            raise wrong(op, "target", f"of shape {shape}", labels)
        if plain:
            ignored = whole(op, "ignore_index", ignore_index)
            flat = reshape(labels, (-1,)) if labels.ndim != 1 else labels
            losses = sparse_losses(op, rows, flat, (ignored,))
            if kind != "mean":
                return reshape(losses, shape) if kind == "none" else reduced(losses, kind)
            counted = reductions.sum(arithmetic.not_equal(labels, ignored)).astype(x.dtype)
            return reduced(losses, "sum") / counted
        return nll_loss(log_softmax(x, 1 if x.ndim > 1 else 0), labels, weight, ignore_index, kind, smoothing)
    if labels.shape != x.shape:
        raise wrong(op, "target", f"classes, or of the shape of the input, {x.shape}", labels)
    axis = 1 if x.ndim > 1 else 0
    classes = x.shape[axis]
    scores = log_softmax(x, axis)
    weights = _class_weights(op, weight, classes)
    dtype = _in_one_dtype(x, labels, weights)
    scores, shares = scores.astype(dtype, copy=False), labels.astype(dtype, copy=False)
    if smoothing:
        shares = shares * (1.0 - smoothing) + smoothing / classes
    if weights is not None:
        weights = weights.astype(dtype, copy=False)
        scores = scores * (weights if axis == 0 else reshape(weights, (classes, *(1,) * (x.ndim - 2))))
    losses = -reductions.sum(scores * shares, axis)
    if kind == "mean":
        return reduced(losses, "sum") / float(max(1, losses.size))
    return reduced(losses, kind)


@fusible
def nll_loss(
    inputs: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """Return the negative of the log probabilities [n, k, ...] (or [k]) at the classes [n, ...]; arguments as for `cross_entropy`."""
    op = "NLLLoss"
    kind, smoothing, ignored = reduction_argument(op, reduction), _smoothing(op, label_smoothing), whole(op, "ignore_index", ignore_index)
    x, labels = floating(operand(op, inputs, "inputs")), _labels(op, target)
    rows, shape = _rows(op, x)
    if labels.shape != shape:
        raise wrong(op, "target", f"of shape {shape}", labels)
    classes = rows.shape[1]
    weights = _class_weights(op, weight, classes)
    rows = rows.astype(_in_one_dtype(x, weights), copy=False)
    flat = reshape(labels, (-1, 1)).astype(I64, copy=False)
    counts = arithmetic.not_equal(flat, ignored)
    checked_on_host(class_check(op, "target", classes, (ignored,)), flat)
    places = arithmetic.where(counts, flat, constant(0, I64))
    zero = constant(0.0, rows.dtype)
    if weights is None:
        shares = counts.astype(rows.dtype)
    else:
        weights = weights.astype(rows.dtype, copy=False)
        spread = apply(made(Broadcast, tensor(rows.dtype, rows.shape)), weights)
        shares = arithmetic.where(counts, picking.gather_elements(spread, 1, places), zero)
    losses = -picking.gather_elements(rows, 1, places) * shares
    if smoothing:
        even = rows if weights is None else rows * weights
        even = arithmetic.where(counts, -reductions.sum(even, 1, True) / float(classes), zero)
        losses = losses * (1.0 - smoothing) + even * smoothing
    losses = squeeze(losses, 1)
    if kind == "none":
        return reshape(losses, shape)
    total = reduced(losses, "sum")
    return total if kind == "sum" else total / reductions.sum(shares)


@fusible
def binary_cross_entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """-(labels * log(logits) + (1 - labels) * log(1 - logits)) of probabilities.

    A very small number is added to what a logarithm is taken of, so that a certain mistake has a large but finite loss.
    """
    op = "BinaryCrossEntropy"
    kind = reduction_argument(op, reduction)
    x, y = real_operand(op, logits, "logits"), real_operand(op, labels, "labels")
    if x.shape != y.shape:
        raise wrong(op, "labels", f"of the shape of 'logits', {x.shape}", y)
    y = y.astype(x.dtype, copy=False)
    tiny = 6e-8 if x.dtype is F16 else 1e-24
    losses = -(y * arithmetic.log(x + tiny) + (1.0 - y) * arithmetic.log(1.0 - x + tiny))
    return reduced(losses if weight is None else losses * operand(op, weight, "weight"), kind)


@fusible
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of sigmoid of logits; `pos_weight` multiplies the positive examples'.

    The result has the dtype that logits and target have together, whatever that of the weights.
    """
    op = "BCEWithLogitsLoss"
    kind = reduction_argument(op, reduction)
    x, y = operand(op, input), operand(op, target, "target")
    if not x.dtype.is_float:
        raise wrong(op, "input", "a Tensor of a floating point type", x, TypeError)
    if x.shape != y.shape:
        raise wrong(op, "target", f"of the shape of 'input', {x.shape}", y)
    dtype = _in_one_dtype(x, y)
    x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
    # log(1 + e^-x) = max(-x, 0) + log(1 + e^-|x|)
    tail = arithmetic.maximum(-x, constant(0.0, x.dtype)) + softplus(-arithmetic.abs(x), threshold=math.inf)
    if pos_weight is None:
        losses = (1.0 - y) * x + tail
    else:
        positive = operand(op, pos_weight, "pos_weight").astype(dtype, copy=False)
        losses = (1.0 - y) * x + ((positive - 1.0) * y + 1.0) * tail
    return reduced(losses if weight is None else arithmetic.mul(losses, operand(op, weight, "weight").astype(dtype, copy=False)), kind)


@fusible
def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Tensor:
    """labels * (log(labels) - logits) of log probabilities; "batchmean" divides the sum by the number of rows."""
    op = "KLDiv"
    kind = choice(op, "reduction", reduction, (*_REDUCTIONS, "batchmean"))
    x, y = operand(op, logits, "logits"), operand(op, labels, "labels")
    losses = arithmetic.xlogy(y, y) - y * x
    if kind == "batchmean":
        if x.ndim == 0:
            raise wrong(op, "logits", "of at least 1 dimension", x)
        return reduced(losses, "sum") / float(x.shape[0])
    return reduced(losses, kind)


@fusible
def gaussian_nll_loss(x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-06, reduction: str = "mean") -> Tensor:
    """0.5 * (log(v) + (x - target)**2 / v) with v = max(var, eps): the likelihood of a normal distribution (Nix and Weigend 1994).

    var   of a shape that broadcasts to that of x, or that of x without its last axis
    full  whether the constant 0.5 * log(2 pi) is added
    eps   more than 0; ValueError
    """
    op = "GaussianNLLLoss"
    a, b, v = operand(op, x, "x"), operand(op, target, "target"), operand(op, var, "var")
    whole_formula, kind = flag(op, "full", full), reduction_argument(op, reduction)
    if not isinstance(eps, float) or not 0 < eps < math.inf:
        raise wrong(op, "eps", "a finite float, more than 0", eps if not isinstance(eps, str) else repr(eps))
    if v.shape != a.shape and v.shape == a.shape[:-1]:
        v = reshape(v, (*v.shape, 1))
    v = arithmetic.maximum(v, eps)
    found = (arithmetic.log(v) + arithmetic.square(a - b) / v) * 0.5
    return reduced(found + 0.5 * math.log(2 * math.pi) if whole_formula else found, kind)


# Distances ----------------------------------------------------------------------------------------------------------


@fusible
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; lengths count as at least `eps`."""
    op = "CosineSimilarity"
    a, b = operand(op, x1, "x1"), operand(op, x2, "x2")
    for name, x in (("x1", a), ("x2", b)):
        if not x.dtype.is_float:
            raise wrong(op, name, "a Tensor of a floating point type", x, TypeError)
    dtype = common_dtype(a.dtype, b.dtype)
    a, b = roomy(a), roomy(b)
    least = real(op, "eps", eps) ** 2
    # Not the root of 0, which has no gradient.
    lengths = [arithmetic.sqrt(arithmetic.maximum(reductions.sum(arithmetic.square(x), dim), least)) for x in (a, b)]
    return (reductions.sum(a * b, dim) / lengths[0] / lengths[1]).astype(dtype, copy=False)
