"""Losses as cells."""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import I64
from adjoint.nn.checks import boolean, choice, floating, integer, least, number, positive_number, tensor_argument
from adjoint.ops import losses as functional
from adjoint.ops import shapes
from adjoint.ops.ctc import ctc_loss
from adjoint.ops.primitives import Cast, Mul, ReduceMean, ReduceSum
from adjoint.runtime.cell import Cell
from adjoint.runtime.tensor import Tensor

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "LossBase", "MSELoss", "MarginRankingLoss", "NLLLoss", "SmoothL1Loss", "SoftmaxCrossEntropyWithLogits",
]


class LossBase(Cell):
    """Losses that are averaged, summed or left as they are: reduction "mean", "sum" or "none".

    For subclasses: `reduce`, False for "none"; `average`, True for "mean"; the operators `reduce_mean`, `reduce_sum`, `mul`, `cast`.
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = choice(self, "reduction", reduction.lower() if isinstance(reduction, str) else reduction, ("mean", "sum", "none"))
        self.reduce, self.average = self.reduction != "none", self.reduction == "mean"
        self.reduce_mean, self.reduce_sum, self.mul, self.cast = ReduceMean(), ReduceSum(), Mul(), Cast()

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """All axes of a tensor."""
        return tuple(range(tensor_argument(self, "x", x).ndim))

    def get_loss(self, losses: Tensor, weights: Any = 1.0) -> Tensor:
        """The losses times `weights`, reduced."""
        if not (isinstance(weights, (int, float)) and weights == 1):
            losses = losses * weights
        return functional.reduced(losses, self.reduction)


class MSELoss(LossBase):
    """(logits - labels)^2."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.mse_loss(tensor_argument(self, "logits", logits), tensor_argument(self, "labels", labels), self.reduction)


class L1Loss(LossBase):
    """|logits - labels|."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.l1_loss(tensor_argument(self, "logits", logits), tensor_argument(self, "labels", labels), self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy between softmax of the logits [n, k] and the labels: classes [n] if `sparse`, else distributions [n, k]."""

    def __init__(self, sparse: bool = False, reduction: str = "none"):
        super().__init__(reduction)
        self.sparse = boolean(self, "sparse", sparse)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        floating(self, "logits", logits)
        if self.sparse:
            found = functional.sparse_softmax_cross_entropy_with_logits(logits, labels)
        else:
            shares = tensor_argument(self, "labels", labels).astype(logits.dtype, copy=False)
            found = functional.softmax_cross_entropy_with_logits(logits, shares)
        return functional.reduced(found, self.reduction)


class CrossEntropyLoss(LossBase):
    """Cross entropy between softmax of the logits [n, k, ...] (or [k]) and the labels: classes [n, ...], or distributions like the logits.

    weight           one number for each class, which its losses are multiplied with
    ignore_index     a class whose losses do not count
    label_smoothing  share of the even distribution in the labels, from 0 to 1
    """

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0):
        super().__init__(reduction)
        self.weight = _weight(self, "weight", weight)
        self.ignore_index = integer(self, "ignore_index", ignore_index)
        if least(self, "label_smoothing", label_smoothing, 0.0) > 1:
            raise ValueError(f"For 'CrossEntropyLoss', the argument 'label_smoothing' must be from 0 to 1, but got {label_smoothing}.")
        self.label_smoothing = float(label_smoothing)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(LossBase):
    """The negative of the log probabilities [n, k, ...] (or [k]) at the classes [n, ...]; arguments as for CrossEntropyLoss."""

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = _weight(self, "weight", weight)
        self.ignore_index = integer(self, "ignore_index", ignore_index)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCELoss(LossBase):
    """Cross entropy between probabilities and labels, each from 0 to 1; `weight` is multiplied with the losses."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = _weight(self, "weight", weight)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Cross entropy between sigmoid of the input and the target; `pos_weight` is multiplied with the part of the target."""

    def __init__(self, reduction: str = "mean", weight: Tensor | None = None, pos_weight: Tensor | None = None):
        super().__init__(reduction)
        self.weight, self.pos_weight = _weight(self, "weight", weight), _weight(self, "pos_weight", pos_weight)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight, self.reduction)


class SmoothL1Loss(LossBase):
    """0.5 d**2 / beta for a distance d below beta, d - 0.5 beta from there on."""

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(reduction)
        self.beta = positive_number(self, "beta", beta)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """0.5 d**2 for a distance d below delta, delta * (d - 0.5 delta) from there on."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.delta = positive_number(self, "delta", delta)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.huber_loss(logits, labels, self.reduction, self.delta)


class KLDivLoss(Cell):
    """labels * (log labels - logits), where the logits are log probabilities; "batchmean" is the sum over the length of the first axis."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = choice(self, "reduction", reduction, ("mean", "sum", "none", "batchmean"))

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.kl_div(logits, labels, self.reduction)


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


class CTCLoss(LossBase):
    """Connectionist temporal classification of log probabilities [t, n, c], or [t, c] of one sequence; see `ops.ctc_loss`.

    Called with (log_probs, targets [n, s], input_lengths [n], target_lengths [n]).
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction)
        self.blank, self.zero_infinity = integer(self, "blank", blank), boolean(self, "zero_infinity", zero_infinity)

    def construct(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        x, labels = floating(self, "log_probs", log_probs, (2, 3)), tensor_argument(self, "targets", targets)
        alone = x.ndim == 2
        if alone:
            x, labels = shapes.expand_dims(x, 1), shapes.reshape(labels, (1, -1))
        steps, held = (
            shapes.reshape(given, (1,)) if alone and given.ndim == 0 else given for given in (
                value if isinstance(value, Tensor) else Tensor(value, I64) for value in (input_lengths, target_lengths)))
        loss = ctc_loss(x, labels, steps, held, self.blank, self.reduction, self.zero_infinity)[0]
        return shapes.reshape(loss, ()) if alone else loss


def _weight(owner: Cell, argument: str, weight: Any) -> Tensor | None:
    """A Tensor of weights in floating point, or None."""
    return None if weight is None else floating(owner, argument, weight)
