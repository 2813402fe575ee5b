"""Losses as cells: of the prediction `input` and the `target`.

reduction  "mean", "sum" or "none" of the losses of all elements or examples
"""

from __future__ import annotations

from typing import Any

from adjoint.mint.nn import functional
from adjoint.nn.checks import boolean, choice, integer, number
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss", "NLLLoss", "SmoothL1Loss",
    "SoftMarginLoss",
]


class _Loss(Cell):
    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = choice(self, "reduction", reduction, ("mean", "sum", "none"))


class L1Loss(_Loss):
    """|input - target|."""

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.l1_loss(input, target, self.reduction)


class MSELoss(_Loss):
    """(input - target)**2."""

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """0.5 d**2 / beta for a distance d below beta, else d - 0.5 beta."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0):
        super().__init__(reduction)
        self.beta = number(self, "beta", beta)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.smooth_l1_loss(input, target, self.reduction, self.beta)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), for targets of -1 and 1."""

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.soft_margin_loss(input, target, self.reduction)


class BCELoss(_Loss):
    """Cross entropy of probabilities with the target."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = weight

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of the sigmoid of the input with the target; `pos_weight` multiplies the target's part."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None):
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(input, target, self.weight, self.reduction, self.pos_weight)


class CrossEntropyLoss(_Loss):
    """Cross entropy of the softmax of the input [n, c, ...] with classes or probabilities.

    ignore_index     a class that does not contribute
    label_smoothing  the share of the target that is spread over all classes
    """

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ):
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, integer(self, "ignore_index", ignore_index)
        self.label_smoothing = number(self, "label_smoothing", label_smoothing)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class NLLLoss(_Loss):
    """-input at the class of each example, times the weight of the class."""

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, integer(self, "ignore_index", ignore_index)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class KLDivLoss(Cell):
    """target * (log(target) - input); `reduction` may also be "batchmean", the sum divided by the number of examples."""

    def __init__(self, reduction: str = "mean", log_target: bool = False):
        super().__init__()
        self.reduction = choice(self, "reduction", reduction, ("mean", "sum", "none", "batchmean"))
        self.log_target = boolean(self, "log_target", log_target)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.kl_div(input, target, self.reduction, self.log_target)


class CosineEmbeddingLoss(_Loss):
    """1 - cos of the angle between two rows where the target is 1; max(cos - margin, 0) where it is -1."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = number(self, "margin", margin)

    def construct(self, input1: Tensor, input2: Tensor, target: Any) -> Tensor:
        return functional.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)
