"""Operators as objects that losses are."""

from __future__ import annotations

from typing import Any

from adjoint.ops import activations, arithmetic, losses, picking, reduction
from adjoint.ops.arguments import choice, flag, real, whole
from adjoint.ops.primitive import Plain, Primitive
from adjoint.runtime.tensor import Tensor, constant

__all__ = [
    "BCEWithLogitsLoss", "BinaryCrossEntropy", "KLDivLoss", "NLLLoss", "SigmoidCrossEntropyWithLogits", "SmoothL1Loss",
    "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits",
]


class SoftmaxCrossEntropyWithLogits(Plain):
    """Cross entropies of softmax of logits [n, k] with distributions [n, k]: [n]; and softmax less labels, the gradient of their sum."""

    def __call__(self, logits: Any, labels: Any) -> tuple[Tensor, Tensor]:
        found = losses.softmax_cross_entropy_with_logits(logits, labels)
        return found, arithmetic.stop_gradient(activations.softmax(logits) - labels)


class SparseSoftmaxCrossEntropyWithLogits(Primitive):
    """The mean cross entropy of softmax of logits [n, k] with classes [n]; with `is_grad` its gradient by the logits."""

    def __init__(self, is_grad: bool = False):
        super().__init__(is_grad=flag("SparseSoftmaxCrossEntropyWithLogits", "is_grad", is_grad))

    def __call__(self, logits: Any, labels: Any) -> Tensor:
        found = losses.sparse_softmax_cross_entropy_with_logits(logits, labels)
        if not self.is_grad:
            return reduction.mean(found)
        wanted = picking.one_hot(labels, logits.shape[1], constant(1.0, logits.dtype), constant(0.0, logits.dtype))
        return (activations.softmax(logits) - wanted) / float(max(1, logits.shape[0]))


class _Loss(Primitive):
    """A loss with a `reduction`."""

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction=choice(type(self).__name__, "reduction", reduction, ("none", "mean", "sum")))


class BinaryCrossEntropy(_Loss):
    """Binary cross entropy of probabilities."""

    def __call__(self, input: Any, target: Any, weight: Any = None) -> Tensor:
        return losses.binary_cross_entropy(input, target, weight, self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of sigmoid of logits."""

    def __call__(self, input: Any, target: Any, weight: Any = None, posWeight: Any = None) -> Tensor:
        return losses.binary_cross_entropy_with_logits(input, target, weight, posWeight, self.reduction)


class SigmoidCrossEntropyWithLogits(Plain):
    """Binary cross entropies of sigmoid of logits, element by element."""

    def __call__(self, logits: Any, label: Any) -> Tensor:
        return losses.binary_cross_entropy_with_logits(logits, label, reduction="none")


class KLDivLoss(_Loss):
    """labels * (log(labels) - logits)."""

    def __call__(self, logits: Any, labels: Any) -> Tensor:
        return losses.kl_div(logits, labels, self.reduction)


class SmoothL1Loss(Primitive):
    """Squares of small distances, large ones as they are."""

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(beta=real("SmoothL1Loss", "beta", beta),
                         reduction=choice("SmoothL1Loss", "reduction", reduction, ("none", "mean", "sum")))

    def __call__(self, prediction: Any, target: Any) -> Tensor:
        return losses.smooth_l1_loss(prediction, target, self.beta, self.reduction)


class NLLLoss(Primitive):
    """The negative log likelihood of classes, and the sum of the weights that count."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100):
        super().__init__(reduction=choice("NLLLoss", "reduction", reduction, ("none", "mean", "sum")),
                         ignore_index=whole("NLLLoss", "ignore_index", ignore_index))

    def __call__(self, logits: Any, labels: Any, weight: Any) -> tuple[Tensor, Tensor]:
        found = losses.nll_loss(logits, labels, weight, self.ignore_index, self.reduction)
        counts = arithmetic.not_equal(labels, self.ignore_index)
        taken = picking.gather(weight, arithmetic.where(counts, labels, 0), 0)
        return found, reduction.sum(arithmetic.where(counts, taken, constant(0.0, weight.dtype)))
