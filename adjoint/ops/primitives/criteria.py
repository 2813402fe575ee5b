"""Operators as objects that losses are."""

from __future__ import annotations

from typing import Any

from adjoint.ops import activations, arithmetic, ctc, losses, margin_losses, picking, reduction
from adjoint.ops.arguments import choice, flag, float_only, integer, real, whole, wrong
from adjoint.ops.primitive import Plain, Primitive
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "BCEWithLogitsLoss", "BinaryCrossEntropy", "CTCGreedyDecoder", "CTCLoss", "KLDivLoss", "MultiMarginLoss", "MultilabelMarginLoss",
    "NLLLoss", "SigmoidCrossEntropyWithLogits", "SmoothL1Loss", "SoftMarginLoss", "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits", "TripletMarginLoss",
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


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), for targets of -1 and 1."""

    def __call__(self, input: Any, target: Any) -> Tensor:
        return margin_losses.soft_margin_loss(input, target, self.reduction)


class MultiMarginLoss(Primitive):
    """Of each row the mean over all scores, but that of its class y, of max(0, margin - x[y] + x)**p, times weight[y]."""

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean"):
        op = "MultiMarginLoss"
        super().__init__(p=integer(op, "p", p), margin=float_only(op, "margin", margin),
                         reduction=choice(op, "reduction", reduction, ("none", "mean", "sum")))
        if self.p not in (1, 2):
            raise wrong(op, "p", "1 or 2", self.p)

    def __call__(self, x: Any, target: Any, weight: Any = None) -> Tensor:
        return margin_losses.margins_of_class(x, target, weight, self.p, self.margin, self.reduction)


class MultilabelMarginLoss(_Loss):
    """`multilabel_margin_loss`, and ones for the scores of classes that the target names, zeros for the others."""

    def __call__(self, x: Any, target: Any) -> tuple[Tensor, Tensor]:
        return margin_losses.margins_of_classes(x, target, self.reduction)


class TripletMarginLoss(Primitive):
    """max(0, d(x, positive) - d(x, negative) + margin), where d is the norm of degree p of the difference and eps along axis 1."""

    def __init__(self, p: int = 2, swap: bool = False, eps: float = 1e-06, reduction: str = "mean"):
        op = "TripletMarginLoss"
        super().__init__(p=integer(op, "p", p), swap=flag(op, "swap", swap), eps=float_only(op, "eps", eps),
                         reduction=choice(op, "reduction", reduction, ("none", "mean", "sum")))

    def __call__(self, x: Any, positive: Any, negative: Any, margin: Any) -> Tensor:
        return margin_losses.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction)


class CTCLoss(Primitive):
    """Connectionist temporal classification of scores [t, n, c], whose last class is the blank: losses [n], and their gradients.

    preprocess_collapse_repeated       whether of equal labels that follow each other one counts
    ctc_merge_repeated                 whether a label may last several steps
    ignore_longer_outputs_than_inputs  whether a sequence with more labels than steps has an infinite loss; else it is an error

    labels_indices   [k, 2], Int64: the sequence of each label and its index there
    labels_values    [k], Int32; blanks among them are left out
    sequence_length  [n], Int32, how many steps of each sequence count
    """

    def __init__(
        self, preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False
    ):
        op = "CTCLoss"
        super().__init__(
            preprocess_collapse_repeated=flag(op, "preprocess_collapse_repeated", preprocess_collapse_repeated),
            ctc_merge_repeated=flag(op, "ctc_merge_repeated", ctc_merge_repeated),
            ignore_longer_outputs_than_inputs=flag(op, "ignore_longer_outputs_than_inputs", ignore_longer_outputs_than_inputs))

    def __call__(self, x: Any, labels_indices: Any, labels_values: Any, sequence_length: Any) -> tuple[Tensor, Tensor]:
        return ctc.ctc_loss_of_scores(
            x, labels_indices, labels_values, sequence_length, collapsed=self.preprocess_collapse_repeated,
            merged=self.ctc_merge_repeated, longer=self.ignore_longer_outputs_than_inputs)


class CTCGreedyDecoder(Primitive):
    """The labels that are the likeliest at each step; see `ops.ctc_greedy_decoder`."""

    def __init__(self, merge_repeated: bool = True):
        super().__init__(merge_repeated=flag("CTCGreedyDecoder", "merge_repeated", merge_repeated))

    def __call__(self, inputs: Any, sequence_length: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return ctc.ctc_greedy_decoder(inputs, sequence_length, self.merge_repeated)
