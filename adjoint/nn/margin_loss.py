"""Losses with a margin as cells: of pairs, of triplets, and of the scores of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.nn.checks import boolean, choice, floating, integer, number, tensor_argument
from adjoint.nn.loss import LossBase
from adjoint.ops import arithmetic
from adjoint.ops import margin_losses as functional
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "MultilabelMarginLoss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]


class CosineEmbeddingLoss(LossBase):
    """Of pairs of rows: 1 - cos where the label is 1, max(0, cos - margin) where it is -1."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = number(self, "margin", margin)

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        return functional.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class MarginRankingLoss(LossBase):
    """max(0, -target * (input1 - input2) + margin), where the targets are 1 and -1."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = number(self, "margin", margin)

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return functional.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """The distances where the label is 1, max(0, margin - distance) where it is -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = number(self, "margin", margin)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin), where d is a norm of the difference; see `ops.triplet_margin_loss`.

    margin  counts where it is not 1; else that of the call
    """

    def __init__(self, p: int = 2, swap: bool = False, eps: float = 1e-06, reduction: str = "mean", margin: Any = 1.0):
        super().__init__()
        self.p, self.swap, self.eps = integer(self, "p", p), boolean(self, "swap", swap), _float(self, "eps", eps)
        self.reduction = choice(self, "reduction", reduction, ("none", "mean", "sum"))
        self.margin = margin if isinstance(margin, Tensor) else number(self, "margin", margin)

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor, margin: Any = 1.0) -> Tensor:
        if isinstance(self.margin, Tensor) or self.margin != 1.0:
            margin = self.margin
        return functional.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction)


class TripletMarginWithDistanceLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin).

    distance_function  d, of two tensors; by default the length of their difference along axis 1
    swap               whether d(positive, negative) takes the place of d(x, negative) where it is smaller (Balntas et al. 2016)
    """

    def __init__(
        self, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, swap: bool = False, reduction: str = "mean",
        margin: float = 1.0,
    ):
        super().__init__(reduction)
        self.margin, self.swap = _float(self, "margin", margin), boolean(self, "swap", swap)
        if distance_function is not None and not callable(distance_function):
            raise TypeError("For 'TripletMarginWithDistanceLoss', the argument 'distance_function' must be a function of two tensors, "
                            f"but got {distance_function!r} of type {type(distance_function).__name__}.")
        self.distance_function = distance_function or functional.distance_of_rows

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        a, near, far = (tensor_argument(self, name, given) for name, given in (("x", x), ("positive", positive), ("negative", negative)))
        apart = self.distance_function(a, far)
        if self.swap:
            apart = arithmetic.minimum(apart, self.distance_function(near, far))
        losses = self.distance_function(a, near) - apart + self.margin
        return self.get_loss(arithmetic.maximum(losses, constant(0.0, losses.dtype)))


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels * logits)), for labels of -1 and 1."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.soft_margin_loss(logits, labels, self.reduction)


class MultiMarginLoss(LossBase):
    """The mean over all scores of a row but that of its class y, of max(0, margin - x[y] + x)**p; see `ops.multi_margin_loss`.

    weight  one number for each class, which its losses are multiplied by; that of the call counts where there is none
    """

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Tensor | None = None):
        super().__init__()
        self.p, self.margin = integer(self, "p", p), _float(self, "margin", margin)
        if self.p not in (1, 2):
            raise ValueError(f"For 'MultiMarginLoss', the argument 'p' must be 1 or 2, but got {p}.")
        self.reduction = choice(self, "reduction", reduction, ("none", "mean", "sum"))
        self.weight = None if weight is None else floating(self, "weight", weight)

    def construct(self, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        shares = weight if self.weight is None else self.weight
        return functional.margins_of_class(x, target, shares, self.p, self.margin, self.reduction)


class MultilabelMarginLoss(LossBase):
    """Of each row max(0, 1 - x[y] + x[i]) over its classes y and all others i; see `ops.multilabel_margin_loss`."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = choice(self, "reduction", reduction, ("none", "mean", "sum"))

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return functional.multilabel_margin_loss(x, target, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """The binary cross entropies of sigmoid of x, times `weight`, averaged over the classes, the last axis."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = None if weight is None else floating(self, "weight", weight)

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return functional.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


def _float(owner: Cell, argument: str, value: Any) -> float:
    """Check a float: MindSpore accepts nothing else here."""
    if not isinstance(value, float):
        raise TypeError(f"For '{type(owner).__name__}', the argument '{argument}' must be a float, "
                        f"but got {value!r} of type {type(value).__name__}.")
    return value
