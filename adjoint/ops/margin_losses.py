"""Losses with a margin: of pairs, of triplets, and of the scores of classes.

`reduction` is "mean", "sum" or "none".  Raise TypeError for what is not a Tensor, ValueError for shapes that do not fit and for another
reduction.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota
from adjoint.ir.types import I64, tensor
from adjoint.ops.activations import logsigmoid, softplus
from adjoint.ops.arguments import ArgumentMistake, flag, float_only, floating, integer, operand, real, roomy, wrong
from adjoint.ops.arithmetic import logical_and, logical_not, maximum, minimum, neg, root_of_sum, square, where
from adjoint.ops.losses import class_check, reduced, reduction_argument
from adjoint.ops.picking import gather, gather_elements
from adjoint.ops.reduction import any, cumsum, norm, sum
from adjoint.ops.shapes import expand_dims, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.run_time_checks import checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
]

# Pairs and triplets --------------------------------------------------------------------------------------------------


@fusible
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1; of rows [n, k], or of two vectors."""
    op = "CosineEmbeddingLoss"
    kind = reduction_argument(op, reduction)
    a, b, wanted = operand(op, input1, "input1"), operand(op, input2, "input2"), operand(op, target, "target")
    a, b = floating(a), floating(b)
    dtype = common_dtype(a.dtype, b.dtype)
    along = 0 if a.ndim == b.ndim == 1 else 1
    a, b = roomy(a), roomy(b)
    cosine = (sum(a * b, along) / norm_product(a, b, along)).astype(dtype, copy=False)
    zero = constant(0.0, cosine.dtype)
    losses = where(wanted == 1, 1.0 - cosine, where(wanted == -1, maximum(cosine - real(op, "margin", margin), zero), zero))
    return reduced(losses, kind)


def norm_product(a: Tensor, b: Tensor, along: int = 1) -> Tensor:
    """Return the product of the lengths along an axis of two tensors, kept off 0."""
    return (sum(square(a), along) * sum(square(b), along) + 1e-12) ** 0.5


@fusible
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    op = "MarginRankingLoss"
    kind = reduction_argument(op, reduction)
    distance = operand(op, input1, "input1") - operand(op, input2, "input2")
    losses = -operand(op, target, "target") * distance + real(op, "margin", margin)
    return reduced(maximum(losses, constant(0.0, losses.dtype)), kind)


@fusible
def hinge_embedding_loss(inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """Return the distances where the target is 1, max(0, margin - distance) where it is -1, both added elsewhere."""
    op = "HingeEmbeddingLoss"
    kind = reduction_argument(op, reduction)
    distance, wanted = operand(op, inputs, "inputs"), operand(op, targets, "targets")
    if not distance.dtype.is_float:
        raise wrong(op, "inputs", "a Tensor of a floating point type", distance, TypeError)
    zero = constant(0.0, distance.dtype)
    near = where(wanted == -1, zero, distance)
    return reduced(near + where(wanted == 1, zero, maximum(real(op, "margin", margin) - distance, zero)), kind)


@fusible
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: Any = 1.0, p: int = 2, eps: float = 1e-06, swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), where d(x, y) is the norm of x - y + eps along axis 1.

    positive, negative  of the dtype of `anchor`, and of shapes that broadcast with its own
    margin              a number, or a Tensor without dimensions
    p                   the degree of the norm
    swap                whether d(positive, negative) takes the place of d(anchor, negative) where it is smaller (Balntas et al. 2016)
    """
    op = "TripletMarginLoss"
    x, near, far = operand(op, anchor, "anchor"), operand(op, positive, "positive"), operand(op, negative, "negative")
    for name, other in (("positive", near), ("negative", far)):
        if other.dtype is not x.dtype:
            raise wrong(op, name, f"of the dtype of 'anchor', {x.dtype}", other, TypeError)
    if max(x.ndim, near.ndim, far.ndim) < 2:
        raise wrong(op, "anchor", "of at least 2 dimensions, or one of 'positive' and 'negative'", x)
    if isinstance(margin, Tensor) and margin.ndim:
        raise wrong(op, "margin", "a number or a Tensor without dimensions", margin)
    degree, least, kind = integer(op, "p", p), float_only(op, "eps", eps), reduction_argument(op, reduction)
    swaps = flag(op, "swap", swap)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return norm(a - b + least, degree, 1)

    apart = distance(x, far)
    if swaps:
        apart = minimum(apart, distance(near, far))
    losses = distance(x, near) - apart + (margin if isinstance(margin, Tensor) else real(op, "margin", margin))
    return reduced(maximum(losses, constant(0.0, losses.dtype)), kind)


def distance_of_rows(a: Tensor, b: Tensor) -> Tensor:
    """Return the length of the difference along axis 1; where it is 0 its gradient is 0."""
    difference = a - b
    if difference.ndim < 2:
        raise wrong("TripletMarginWithDistanceLoss", "x", "of at least 2 dimensions, or one of 'positive' and 'negative'", a)
    return root_of_sum(sum(square(roomy(difference)), 1)).astype(difference.dtype, copy=False)


# Scores of classes ---------------------------------------------------------------------------------------------------


@fusible
def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)), for targets of -1 and 1."""
    x, y = operand("SoftMarginLoss", input), operand("SoftMarginLoss", target, "target")
    return reduced(neg(logsigmoid(x * y)), reduction_argument("SoftMarginLoss", reduction))


@fusible
def multi_margin_loss(input: Any, target: Any, p: int = 1, margin: int = 1, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Of each row the mean over all c scores, but that of its class y, of max(0, margin - input[y] + input)**p, times weight[y].

    input   [n, c], of a floating point type
    target  [n], classes; raise ValueError for one out of range
    p       1 or 2
    weight  [c], of the dtype of the input, or None for ones
    """
    if isinstance(margin, bool) or not isinstance(margin, int):
        raise wrong("MultiMarginLoss", "margin", "an int", margin if not isinstance(margin, str) else repr(margin), TypeError)
    return margins_of_class(input, target, weight, p, float(margin), reduction)


def margins_of_class(input: Any, target: Any, weight: Any, p: int, margin: float, reduction: str) -> Tensor:
    """`multi_margin_loss` with any margin."""
    op = "MultiMarginLoss"
    x, classes, kind = operand(op, input), operand(op, target, "target"), reduction_argument(op, reduction)
    if not x.dtype.is_float:
        raise wrong(op, "input", "a Tensor of a floating point type", x, TypeError)
    if not classes.dtype.is_integer:
        raise wrong(op, "target", "a Tensor of integers", classes, TypeError)
    if x.ndim != 2 or x.shape[1] == 0:
        raise wrong(op, "input", "of shape [n, c] with at least one class", x)
    if classes.shape != x.shape[:1]:
        raise wrong(op, "target", f"of shape {x.shape[:1]}", classes)
    power = integer(op, "p", p)
    if power not in (1, 2):
        raise wrong(op, "p", "1 or 2", power)
    count = x.shape[1]
    checked_on_host(class_check(op, "target", count, (), ArgumentMistake), classes)
    places = reshape(classes, (-1, 1)).astype(I64, copy=False)
    zero = constant(0.0, x.dtype)
    gap = maximum(x - gather_elements(x, 1, places) + margin, zero)
    own = apply(made(Iota, tensor(I64, x.shape), 1)) == places
    losses = sum(where(own, zero, gap if power == 1 else square(gap)), 1) / float(count)
    if weight is not None:
        shares = operand(op, weight, "weight")
        if shares.dtype is not x.dtype:
            raise wrong(op, "weight", f"of the dtype of the input, {x.dtype}", shares, TypeError)
        if shares.shape != (count,):
            raise wrong(op, "weight", f"of shape ({count},)", shares)
        losses = losses * gather(shares, classes, 0)
    return reduced(losses, kind)


@fusible
def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Of each row the sum of max(0, 1 - input[y] + input[i]) over its classes y and all others i, divided by the number of scores.

    input   [n, c] or [c], of a floating point type
    target  of that shape: the classes of each row, up to the first that is -1; raise IndexMistake for one out of range
    """
    return margins_of_classes(input, target, reduction)[0]


def margins_of_classes(input: Any, target: Any, reduction: str) -> tuple[Tensor, Tensor]:
    """`multilabel_margin_loss`, and which scores are of classes of their rows: ones and zeros of the dtype of the target."""
    op = "MultilabelMarginLoss"
    x, classes, kind = operand(op, input), operand(op, target, "target"), reduction_argument(op, reduction)
    if not x.dtype.is_float:
        raise wrong(op, "input", "a Tensor of a floating point type", x, TypeError)
    if not classes.dtype.is_integer:
        raise wrong(op, "target", "a Tensor of integers", classes, TypeError)
    if x.ndim not in (1, 2) or x.shape[-1] == 0:
        raise wrong(op, "input", "of shape [n, c] or [c] with at least one class", x)
    if classes.shape != x.shape:
        raise wrong(op, "target", f"of the shape of the input, {x.shape}", classes)
    rows, labels = (reshape(given, (-1, x.shape[-1])) for given in (x, classes.astype(I64, copy=False)))
    count = rows.shape[1]
    checked_on_host(class_check(op, "target", count, (-1,)), labels)
    meant = cumsum((labels < 0).astype(I64), 1) == 0
    places = where(meant, labels, 0)
    number = apply(made(Iota, tensor(I64, (1, 1, count)), 2))
    named = any(logical_and(expand_dims(meant, 2), expand_dims(places, 2) == number), 1)
    zero = constant(0.0, x.dtype)
    gap = maximum(1.0 - expand_dims(gather_elements(rows, 1, places), 2) + expand_dims(rows, 1), zero)
    counts = logical_and(expand_dims(meant, 2), expand_dims(logical_not(named), 1))
    losses = sum(where(counts, gap, zero), (1, 2)) / float(count)
    found = reduced(losses if x.ndim == 2 else reshape(losses, ()), kind)
    return found, reshape(named, x.shape).astype(classes.dtype)


@fusible
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Return the means along the last axis of target * log(1 + exp(-input)) + (1 - target) * log(1 + exp(input)), times `weight`.

    target, weight  of shapes that broadcast with that of the input
    """
    op = "MultiLabelSoftMarginLoss"
    x, wanted, kind = operand(op, input), operand(op, target, "target"), reduction_argument(op, reduction)
    if not x.dtype.is_float:
        raise wrong(op, "input", "a Tensor of a floating point type", x, TypeError)
    if x.ndim == 0:
        raise wrong(op, "input", "of at least 1 dimension", x)
    losses = wanted * softplus(-x, threshold=math.inf) + (1 - wanted) * softplus(x, threshold=math.inf)
    if weight is not None:
        losses = losses * operand(op, weight, "weight")
    return reduced(sum(losses, -1) / float(max(1, x.shape[-1])), kind)
