"""Confusion matrices, and rates that are computed from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.nn.checks import boolean, choice, integer
from adjoint.train.metrics.metric import Metric, rearrange_inputs, two_inputs

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]


class ConfusionMatrix(Metric):
    """Row i, column j: how many samples of class i are predicted as class j.

    num_classes  the number of classes
    normalize    "no_norm", or what the counts are divided by: "target" the sums of rows, "prediction" of columns, "all" of all
    threshold    predictions of the rank of the labels, in floating point, are class 1 from here on, else class 0

    Predictions have one dimension more than labels, the classes at axis 1; or the same rank.
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5):
        super().__init__()
        self.num_classes = integer("ConfusionMatrix", "num_classes", num_classes)
        self.normalize = choice("ConfusionMatrix", "normalize", normalize, ("target", "prediction", "all", "no_norm"))
        if not isinstance(threshold, float):
            raise TypeError(f"For 'ConfusionMatrix', the argument 'threshold' must be a float, but got {threshold!r} "
                            f"of type {type(threshold).__name__}.")
        self.threshold = threshold
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        if y_pred.ndim not in (y.ndim, y.ndim + 1):
            raise ValueError(f"For 'ConfusionMatrix.update', predictions must have as many dimensions as labels or one more, "
                             f"but got {y_pred.ndim} and {y.ndim}.")
        if y_pred.ndim == y.ndim + 1:
            y_pred = y_pred.argmax(axis=1)
        elif y_pred.dtype.kind == "f":
            y_pred = y_pred >= self.threshold
        taken, of = y_pred.reshape(-1).astype(np.int64), y.reshape(-1).astype(np.int64)
        for argument, values in (("predicted value", taken), ("true value", of)):
            if values.size and not 0 <= values.min() <= values.max() < self.num_classes:
                raise ValueError(f"For 'ConfusionMatrix.update', the classes of the {argument} must be in [0, {self.num_classes}), but got "
                                 f"{values.min()} to {values.max()}.")
        counts = np.bincount(of * self.num_classes + taken, minlength=self.num_classes**2)
        self.confusion_matrix += counts.reshape(self.num_classes, self.num_classes)
        self._is_update = True

    def eval(self) -> np.ndarray:
        if not self._is_update:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        counts = self.confusion_matrix
        if self.normalize == "no_norm":
            return counts.copy()
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        sums = np.broadcast_to(counts.sum(axis=axis, keepdims=True), counts.shape)
        return np.divide(counts, sums, out=np.zeros_like(counts), where=sums != 0)


class ConfusionMatrixMetric(Metric):
    """A rate computed from true and false positives and negatives, summed over all; predictions and labels are 0 and 1, (N, C, ...).

    skip_channel        False: the first channel, the background, does not count
    metric_name         the rate: "sensitivity", "specificity", "precision", "f1 score", "matthews correlation coefficient", ...
    calculation_method  True: the rate is taken of each sample and channel, and these are averaged; it needs a third dimension
    decrease            how they are averaged then: "mean" over channels and then samples, or "sum"

    Raise NotImplementedError for an unknown rate.
    """

    def __init__(
        self, skip_channel: bool = True, metric_name: str = "sensitivity", calculation_method: bool = False, decrease: str = "mean",
    ):
        super().__init__()
        name = "ConfusionMatrixMetric"
        self.skip_channel = boolean(name, "skip_channel", skip_channel)
        self.calculation_method = boolean(name, "calculation_method", calculation_method)
        if not isinstance(metric_name, str):
            raise TypeError(f"For '{name}', the argument 'metric_name' must be a str, but got {metric_name!r}.")
        self.metric_name, self._rate = metric_name, _rate_of(metric_name)
        self.decrease = choice(name, "decrease", decrease, (
            "none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel"))
        if self.calculation_method and decrease not in ("mean", "sum"):
            raise ValueError(f"For '{name}', with 'calculation_method' the argument 'decrease' must be 'mean' or 'sum', since the result "
                             f"is one number, but got {decrease!r}.")
        self.clear()

    def clear(self) -> None:
        self._counts = np.zeros(4)
        self._total, self._number = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        if y_pred.ndim < 2 or y_pred.shape != y.shape:
            raise ValueError(f"For 'ConfusionMatrixMetric.update', predictions and labels must have one shape of at least 2 dimensions, "
                             f"but got {y_pred.shape} and {y.shape}.")
        if not np.isin(y, (0, 1)).all():
            raise ValueError("For 'ConfusionMatrixMetric.update', the true value (input[1]) must be 0 and 1.")
        if not self.skip_channel and y.shape[1] > 1:
            y_pred, y = y_pred[:, 1:], y[:, 1:]
        counts = _counts(y_pred, y)
        if not self.calculation_method or y.ndim == 2 or (y.ndim == 3 and y.shape[-1] == 1):
            self._counts += counts.sum(axis=(0, 1))
            return
        score, number = _decreased(self._rate(*np.moveaxis(counts, -1, 0)), self.decrease)
        self._total += score * number
        self._number += number

    def eval(self) -> Any:
        if not self.calculation_method or (self._number == 0 and self._counts.any()):
            return self._rate(*self._counts[:, None])
        if self._number == 0:
            raise RuntimeError("The 'ConfusionMatrixMetric' can not be calculated, because the number of samples is 0, please check "
                               "whether has called update method before calling eval method.")
        return self._total / self._number


def _counts(y_pred: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return true positives, false positives, true negatives and false negatives of each sample and channel, along the last axis."""
    found, real = (values.reshape(*values.shape[:2], -1).astype(np.float64) for values in (y_pred, y))
    positives, negatives = (found + real == 2).sum(axis=2), (found + real == 0).sum(axis=2)
    all_positives = real.sum(axis=2)
    return np.stack([positives, real.shape[-1] - all_positives - negatives, negatives, all_positives - positives], axis=-1).astype(float)


def _decreased(scores: np.ndarray, decrease: str) -> tuple[float, int]:
    """Return the scores (samples, channels) summed, or averaged over channels and then samples; and how many entries of the last mean are
    not NaN."""
    number = (~np.isnan(scores)).astype(float)
    scores = np.nan_to_num(scores)
    if decrease == "mean":
        scores, number = _mean(scores, number, 1)
        scores, number = _mean(scores, (number > 0).astype(float), 0)
    return float(scores.sum()), int(number.sum())


def _mean(scores: np.ndarray, number: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    number = number.sum(axis=axis)
    return _ratio(scores.sum(axis=axis), number, otherwise=0.0), number


def _ratio(numerator: Any, denominator: Any, otherwise: float = float("nan")) -> np.ndarray:
    """Return numerator / denominator, and `otherwise` where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    return np.divide(numerator, denominator, out=np.full(numerator.shape, otherwise), where=denominator != 0)


def _prevalence_threshold(tp: Any, fp: Any, tn: Any, fn: Any) -> np.ndarray:
    tpr, tnr = _ratio(tp, tp + fn), _ratio(tn, tn + fp)
    return _ratio(np.sqrt(tpr * (1.0 - tnr)) + tnr - 1.0, tpr + tnr - 1.0)


_Rate = Callable[[Any, Any, Any, Any], np.ndarray]
_RATES: dict[tuple[str, ...], _Rate] = {
    ("tpr", "sensitivity", "recall", "hit_rate", "true_positive_rate"): lambda tp, fp, tn, fn: _ratio(tp, tp + fn),
    ("tnr", "specificity", "selectivity", "true_negative_rate"): lambda tp, fp, tn, fn: _ratio(tn, tn + fp),
    ("ppv", "precision", "positive_predictive_value"): lambda tp, fp, tn, fn: _ratio(tp, tp + fp),
    ("npv", "negative_predictive_value"): lambda tp, fp, tn, fn: _ratio(tn, tn + fn),
    ("fnr", "miss_rate", "false_negative_rate"): lambda tp, fp, tn, fn: _ratio(fn, tp + fn),
    ("fpr", "fall_out", "false_positive_rate"): lambda tp, fp, tn, fn: _ratio(fp, tn + fp),
    ("fdr", "false_discovery_rate"): lambda tp, fp, tn, fn: _ratio(fp, fp + tp),
    ("for", "false_omission_rate"): lambda tp, fp, tn, fn: _ratio(fn, fn + tn),
    ("pt", "prevalence_threshold"): _prevalence_threshold,
    ("ts", "threat_score", "critical_success_index", "csi"): lambda tp, fp, tn, fn: _ratio(tp, tp + fn + fp),
    ("acc", "accuracy"): lambda tp, fp, tn, fn: _ratio(tp + tn, tp + fp + tn + fn),
    ("ba", "balanced_accuracy"): lambda tp, fp, tn, fn: (_ratio(tp, tp + fn) + _ratio(tn, tn + fp)) / 2,
    ("f1", "f1_score"): lambda tp, fp, tn, fn: _ratio(2 * tp, 2 * tp + fn + fp),
    ("mcc", "matthews_correlation_coefficient"):
        lambda tp, fp, tn, fn: _ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
    ("fm", "fowlkes_mallows_index"): lambda tp, fp, tn, fn: np.sqrt(_ratio(tp, tp + fp) * _ratio(tp, tp + fn)),
    ("bm", "informedness", "bookmaker_informedness"): lambda tp, fp, tn, fn: _ratio(tp, tp + fn) + _ratio(tn, tn + fp) - 1.0,
    ("mk", "markedness", "deltap"): lambda tp, fp, tn, fn: _ratio(tp, tp + fp) + _ratio(tn, tn + fn) - 1.0,
}
"""Rates as functions of true positives, false positives, true negatives and false negatives, by name; NaN where the denominator is 0."""


def _rate_of(name: str) -> _Rate:
    plain = name.replace(" ", "_").lower()
    for names, rate in _RATES.items():
        if plain in names:
            return rate
    raise NotImplementedError(f"For 'ConfusionMatrixMetric', the rate {name!r} is not known, only {[names[-1] for names in _RATES]}.")
