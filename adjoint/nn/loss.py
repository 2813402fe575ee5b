"""Losses as cells."""

from __future__ import annotations

from typing import Any

from adjoint.ir.ops.losses import SoftmaxCrossEntropy, SparseSoftmaxCrossEntropy
from adjoint.ir.ops.reduce import Mean, Sum
from adjoint.nn.checks import boolean, choice, floating, tensor_argument
from adjoint.runtime.cell import Cell
from adjoint.runtime.tensor import Tensor, apply

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
        return self._reduced(losses)

    def _reduced(self, losses: Tensor) -> Tensor:
        axes = tuple(range(losses.ndim))
        if self.reduction == "mean":
            return apply(Mean(axes=axes, keepdims=False), losses)
        return apply(Sum(axes=axes, keepdims=False), losses) if self.reduction == "sum" else losses


class MSELoss(LossBase):
    """(logits - labels)^2."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        difference = tensor_argument(self, "logits", logits) - tensor_argument(self, "labels", labels)
        return self._reduced(difference * difference)


class L1Loss(LossBase):
    """|logits - labels|."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self._reduced(abs(tensor_argument(self, "logits", logits) - tensor_argument(self, "labels", labels)))


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy between softmax of the logits [n, k] and the labels: classes [n] if `sparse`, else distributions [n, k]."""

    def __init__(self, sparse: bool = False, reduction: str = "none"):
        super().__init__(reduction)
        self.sparse = boolean(self, "sparse", sparse)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        floating(self, "logits", logits, 2)
        tensor_argument(self, "labels", labels, 1 if self.sparse else 2)
        if self.sparse:
            if not labels.dtype.is_integer:
                raise TypeError("For 'SoftmaxCrossEntropyWithLogits', the argument 'labels' must be a Tensor of integers "
                                f"when 'sparse' is True, but got {labels.dtype}.")
            return self._reduced(apply(_SPARSE, logits, labels))
        if labels.dtype is not logits.dtype:
            labels = labels.astype(logits.dtype)
        return self._reduced(apply(_DENSE, logits, labels))


_SPARSE, _DENSE = SparseSoftmaxCrossEntropy(), SoftmaxCrossEntropy()
