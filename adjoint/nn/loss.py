"""Losses as cells."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.types import BOOL, F32, F64, I32, I64, U8, U16, U32, U64
from adjoint.nn.activation import get_activation
from adjoint.nn.checks import (
    boolean,
    cell_argument,
    choice,
    floating,
    integer,
    least,
    number,
    positive,
    positive_number,
    tensor_argument,
)
from adjoint.ops import (
    activations,
    arithmetic,
    creation,
    ctc,
    linear,
    ordering,
    parts,
    picking,
    random_numbers,
    reduction,
    shapes,
)
from adjoint.ops import losses as functional
from adjoint.ops.primitives import Cast, Mul, ReduceMean, ReduceSum
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "DiceLoss", "FocalLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "LossBase", "MAELoss", "MSELoss", "MultiClassDiceLoss", "NLLLoss", "PoissonNLLLoss", "RMSELoss", "SampledSoftmaxLoss",
    "SmoothL1Loss", "SoftmaxCrossEntropyWithLogits",
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
        """Return the losses times `weights`, reduced as `reduce` and `average` say; computed in Float32 or more, in their dtype."""
        given = tensor_argument(self, "losses", losses)
        found = given if given.dtype is F64 else given.astype(F32, copy=False)
        if not (isinstance(weights, (int, float)) and weights == 1):
            found = found * weights
        return functional.reduced(found, "none" if not self.reduce else "mean" if self.average else "sum").astype(given.dtype, copy=False)


class MSELoss(LossBase):
    """(logits - labels)^2."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.mse_loss(tensor_argument(self, "logits", logits), tensor_argument(self, "labels", labels), self.reduction)


class L1Loss(LossBase):
    """|logits - labels|."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.l1_loss(tensor_argument(self, "logits", logits), tensor_argument(self, "labels", labels), self.reduction)


class MAELoss(LossBase):
    """|logits - label|."""

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return functional.l1_loss(tensor_argument(self, "logits", logits), tensor_argument(self, "label", label), self.reduction)


class RMSELoss(LossBase):
    """The root of the mean of (logits - label)^2; raise TypeError for unsigned integers."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        for name, given in (("logits", tensor_argument(self, "logits", logits)), ("label", tensor_argument(self, "label", label))):
            if given.dtype in _UNSIGNED:
                raise TypeError(f"For 'RMSELoss', the argument '{name}' must be a Tensor of another dtype than {given.dtype}.")
        return arithmetic.sqrt(functional.mse_loss(logits, label))


_UNSIGNED = (U8, U16, U32, U64)


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

    weight           one number for each class, which its losses are multiplied by
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
    """Cross entropy between probabilities and labels, each from 0 to 1; `weight` is multiplied by the losses."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = _weight(self, "weight", weight)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Cross entropy between sigmoid of the input and the target; `pos_weight` is multiplied by the part of the target."""

    def __init__(self, reduction: str = "mean", weight: Tensor | None = None, pos_weight: Tensor | None = None):
        super().__init__(reduction)
        self.weight, self.pos_weight = _weight(self, "weight", weight), _weight(self, "pos_weight", pos_weight)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight, self.reduction)


class PoissonNLLLoss(LossBase):
    """exp(input) - target * input, the negative log likelihood of counts that the logarithm of their mean predicts.

    log_input  whether the input is that logarithm; without it the loss is input - target * log(input + eps)
    full       whether Stirling's approximation of log(target!) is added, target * log(target) - target + 0.5 * log(2 pi target), where the
               target is more than 1
    eps        what is added to the input, and the least that a target counts with `full`
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-08, reduction: str = "mean"):
        super().__init__(reduction)
        self.log_input, self.full = boolean(self, "log_input", log_input), boolean(self, "full", full)
        self.eps = least(self, "eps", eps, 0.0)

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        x = floating(self, "input", input)
        wanted = tensor_argument(self, "target", target).astype(x.dtype, copy=False)
        losses = x.exp() - wanted * x if self.log_input else x - wanted * (x + self.eps).log()
        if self.full:
            wanted = arithmetic.maximum(wanted, self.eps)
            stirling = (wanted + 0.5) * wanted.log() - wanted + 0.5 * math.log(2 * math.pi)
            losses = losses + arithmetic.where(wanted > 1, stirling, constant(0.0, x.dtype))
        return self.get_loss(losses)


class GaussianNLLLoss(LossBase):
    """0.5 * (log(v) + (logits - labels)**2 / v) with v = max(var, eps); see `ops.gaussian_nll_loss`."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__()
        self.full, self.eps = boolean(self, "full", full), positive_number(self, "eps", eps)
        self.reduction = choice(self, "reduction", reduction, ("none", "mean", "sum"))

    def construct(self, logits: Tensor, labels: Tensor, var: Tensor) -> Tensor:
        return functional.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class FocalLoss(LossBase):
    """-(1 - q)**gamma * log(q) of the probability q that softmax along axis 1 gives to the label (Lin et al. 2017).

    weight  one number for each class, which its losses are multiplied by

    Called with logits [n, c, ...] of 2 to 4 dimensions and at least 2 classes, and labels: classes [n, 1, ...], which gives the means [n]
    over what follows axis 1, or shares of the classes of the logits' shape, which gives such means [n, c]; both reduced.
    """

    def __init__(self, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean"):
        super().__init__(reduction)
        if not isinstance(gamma, float):
            raise TypeError(f"For 'FocalLoss', the argument 'gamma' must be a float, but got {gamma!r} of type {type(gamma).__name__}.")
        self.gamma = number(self, "gamma", gamma)
        self.weight = None if weight is None else floating(self, "weight", weight, 1, integers=True)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        x, given = floating(self, "logits", logits, (2, 3, 4)), tensor_argument(self, "labels", labels, (2, 3, 4))
        if given.dtype is BOOL:
            raise TypeError(f"For 'FocalLoss', the argument 'labels' must be a Tensor of numbers, but got {given.dtype}.")
        count = x.shape[1]
        if count < 2:
            raise ValueError(f"For 'FocalLoss', the argument 'logits' must have at least 2 classes in axis 1, but got shape {x.shape}.")
        if given.shape not in (x.shape, (x.shape[0], 1, *x.shape[2:])):
            raise ValueError(f"For 'FocalLoss', the argument 'labels' must have the shape of the logits, {x.shape}, or 1 in place of the "
                             f"{count} classes, but got shape {given.shape}.")
        if self.weight is not None and self.weight.shape != (count,):
            raise ValueError(f"For 'FocalLoss', the argument 'weight' must have one number for each of {count} classes, "
                             f"but got shape {self.weight.shape}.")
        x, given = (shapes.reshape(item, (*item.shape[:2], math.prod(item.shape[2:]))) for item in (x, given))
        scores = activations.log_softmax(x, 1)
        weights = None if self.weight is None else shapes.reshape(self.weight, (1, count, 1))
        alone = given.shape[1] == 1
        if alone:
            classes = given.astype(I64)
            if weights is not None:
                weights = picking.gather_elements(shapes.broadcast_to(weights, x.shape), 1, classes)
            scores = picking.gather_elements(scores, 1, classes)
        losses = -((1.0 - scores.exp()) ** self.gamma) * (scores if weights is None else scores * weights)
        if not alone:
            losses = losses * given
        return self.get_loss(reduction.mean(losses, (1, 2) if alone else 2))


class DiceLoss(LossBase):
    """1 - 2 * sum(logits * label) / (sum(logits**2) + sum(label**2) + smooth), of all elements of two tensors of one shape."""

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        if not isinstance(smooth, float):
            raise TypeError(f"For 'DiceLoss', the argument 'smooth' must be a float, but got {smooth!r} of type {type(smooth).__name__}.")
        self.smooth = positive_number(self, "smooth", smooth)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        x, wanted = tensor_argument(self, "logits", logits), tensor_argument(self, "label", label)
        for name, given in (("logits", x), ("label", wanted)):
            if given.dtype is U8:
                raise TypeError(f"For 'DiceLoss', the argument '{name}' must be a Tensor of another dtype than UInt8, in which the squares "
                                "wrap.")
        if x.shape != wanted.shape:
            raise ValueError(f"For 'DiceLoss', the argument 'label' must have the shape of the logits, {x.shape}, but got {wanted.shape}.")
        both = reduction.sum(x * wanted)
        return 1.0 - both * 2 / (reduction.sum(x * x) + reduction.sum(wanted * wanted) + self.smooth)


class MultiClassDiceLoss(LossBase):
    """The mean over the classes, axis 1, of the `DiceLoss` of each.

    weights       [c, k]: the loss of class i is multiplied by the k numbers of row i
    ignore_indiex a class that does not count
    activation    what is applied to the logits first: a name, a Cell, or None for nothing
    """

    def __init__(self, weights: Tensor | None = None, ignore_indiex: int | None = None, activation: Any = "softmax"):
        super().__init__()
        self.binarydiceloss = DiceLoss(smooth=1e-5)
        self.weights = None if weights is None else floating(self, "weights", weights, 2)
        self.ignore_indiex = None if ignore_indiex is None else integer(self, "ignore_indiex", ignore_indiex)
        if isinstance(activation, str):
            activation = get_activation(choice(self, "activation", activation, _DICE_ACTIVATIONS), "MultiClassDiceLoss")
        self.activation = None if activation is None else cell_argument(self, "activation", activation)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        x, wanted = tensor_argument(self, "logits", logits), tensor_argument(self, "label", label)
        if x.shape != wanted.shape or x.ndim < 2:
            raise ValueError("For 'MultiClassDiceLoss', the arguments 'logits' and 'label' must have one shape of at least 2 dimensions, "
                             f"but got {x.shape} and {wanted.shape}.")
        count = wanted.shape[1]
        if self.weights is not None and self.weights.shape[0] != count:
            raise ValueError(f"For 'MultiClassDiceLoss', the argument 'weights' must have a row for each of {count} classes, "
                             f"but got shape {self.weights.shape}.")
        if self.activation is not None:
            x = self.activation(x)
        total: Any = constant(0.0, F32)
        for i in range(count):
            if i != self.ignore_indiex:
                loss = self.binarydiceloss(x[:, i], wanted[:, i])
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / max(1, count)


_DICE_ACTIVATIONS = ("softmax", "logsoftmax", "relu", "relu6", "tanh", "sigmoid")


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


class KLDivLoss(LossBase):
    """labels * (log labels - logits), where the logits are log probabilities; "batchmean" is the sum over the length of the first axis."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = choice(self, "reduction", reduction, ("mean", "sum", "none", "batchmean"))

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.kl_div(logits, labels, self.reduction)


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
                tensor_argument(self, name, value) if value is None or isinstance(value, Tensor) else Tensor(value, I64)
                for name, value in (("input_lengths", input_lengths), ("target_lengths", target_lengths))))
        loss = ctc.ctc_loss(x, labels, steps, held, self.blank, self.reduction, self.zero_infinity)[0]
        return shapes.reshape(loss, ()) if alone else loss


def _weight(owner: Cell, argument: str, weight: Any) -> Tensor | None:
    """Return a Tensor of weights in floating point, or None."""
    return None if weight is None else floating(owner, argument, weight)


class SampledSoftmaxLoss(LossBase):
    """The cross entropy of the softmax over the label's class and a sample of the other classes (Jean, Cho, Memisevic and Bengio 2015).

    num_sampled             how many classes are sampled in each call
    num_classes             how many classes there are
    num_true                how many labels a row has; each counts 1 / num_true
    sampled_values          the sample, in place of drawing one: classes (num_sampled,), how often each label is expected in it,
                            (n, num_true), and how often each of its classes, (num_sampled,)
    remove_accidental_hits  True: no label of the batch is drawn while there are other classes
    seed                    of the draws; 0 for the seed of the process

    It is called with weights (num_classes, d), biases (num_classes,), labels (n,) or (n, num_true) of Int32 or Int64, and logits (n, d),
    the input of the last layer.  Result (n,), or reduced.  All classes are drawn with one probability, so that their logits need no
    correction.
    """

    def __init__(self, num_sampled: int, num_classes: int, num_true: int = 1, sampled_values: Any = None,
                 remove_accidental_hits: bool = True, seed: int = 0, reduction: str = "none"):
        super().__init__(reduction)
        self.num_classes = positive(self, "num_classes", num_classes)
        self.num_sampled, self.num_true = positive(self, "num_sampled", num_sampled), positive(self, "num_true", num_true)
        for name, count in (("num_sampled", num_sampled), ("num_true", num_true)):
            if count > num_classes:
                raise ValueError(f"For 'SampledSoftmaxLoss', the argument '{name}' must be at most 'num_classes', {num_classes}, "
                                 f"but got {count}.")
        if sampled_values is not None and not isinstance(sampled_values, (tuple, list)):
            raise TypeError(f"For 'SampledSoftmaxLoss', the argument 'sampled_values' must be a tuple or list of three Tensors, but got "
                            f"{sampled_values!r} of type {type(sampled_values).__name__}.")
        if sampled_values is not None and len(sampled_values) != 3:
            raise ValueError(f"For 'SampledSoftmaxLoss', the argument 'sampled_values' must have 3 items, but got {len(sampled_values)}.")
        self.sampled_values = sampled_values
        self.remove_accidental_hits = boolean(self, "remove_accidental_hits", remove_accidental_hits)
        self.seed = integer(self, "seed", seed)
        if self.seed < 0:
            raise ValueError(f"For 'SampledSoftmaxLoss', the argument 'seed' must be at least 0, but got {seed}.")

    def construct(self, weights: Tensor, biases: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
        if tensor_argument(self, "labels", labels).dtype not in (I32, I64):
            raise TypeError(f"For 'SampledSoftmaxLoss', the argument 'labels' must be of Int32 or Int64, but got {labels.dtype}.")
        rows = shapes.reshape(labels, (-1, 1)) if labels.ndim == 1 else labels
        if rows.ndim != 2 or rows.shape[1] != self.num_true:
            raise ValueError(f"For 'SampledSoftmaxLoss', the argument 'labels' must have shape (n, {self.num_true}), "
                             f"but got {labels.shape}.")
        classes, corrections = self._sample(rows)
        own_weights, own_biases = picking.gather(weights, rows, 0), picking.gather(biases, rows, 0)
        own = (own_weights * shapes.expand_dims(logits, 1)).sum(-1) + own_biases
        others = linear.matmul(logits, picking.gather(weights, classes, 0).T) + picking.gather(biases, classes, 0)
        if corrections is not None:
            own, others = own - arithmetic.log(corrections[0]), others - arithmetic.log(corrections[1])
        chances = activations.log_softmax(parts.concat((own, others), 1), 1)
        return self.get_loss(-chances[:, : self.num_true].mean(1))

    def _sample(self, labels: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """Return the classes of the sample, and how often labels and these classes are expected in it, if that was given."""
        if self.sampled_values is not None:
            classes, of_labels, of_classes = self.sampled_values
            return classes, (of_labels, of_classes)
        order = random_numbers.rand(self.num_classes, seed=self.seed or None)
        if self.remove_accidental_hits:
            hits = (shapes.reshape(labels, (-1, 1)) == creation.arange(self.num_classes)).any(0)
            order = order + hits.astype(F32)  # behind all others, which are drawn below 1
        return ordering.argsort(order)[: self.num_sampled], None
