"""Losses as cells."""

from __future__ import annotations

from typing import Any

from adjoint.nn.checks import boolean, choice, floating, tensor_argument
from adjoint.ops import losses as functional
from adjoint.runtime.cell import Cell
from adjoint.runtime.tensor import Tensor

__all__ = ["L1Loss", "MSELoss", "SoftmaxCrossEntropyWithLogits"]


class LossBase(Cell):
    """Losses that are averaged, summed or left as they are: reduction "mean", "sum" or "none"."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = choice(self, "reduction", reduction.lower() if isinstance(reduction, str) else reduction, ("mean", "sum", "none"))

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
