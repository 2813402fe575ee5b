"""Rates of false and true positives over all thresholds, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.nn.checks import integer
from adjoint.train.metrics.metric import Metric, rearrange_inputs, two_inputs

__all__ = ["ROC", "auc"]


def auc(x: np.ndarray, y: np.ndarray, reorder: bool = False) -> float:
    """Return the area under the points (x, y), by the trapezoidal rule.

    x, y     arrays of one dimension, or of two with one column; `x` rises or falls
    reorder  sort the points first

    Raise TypeError for what is not an array; raise ValueError for other shapes, fewer than two points, and an `x` that is not monotonic.
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise TypeError(f"For 'auc', the argument 'x' and 'y' must all be np.ndarray, but got {type(x)}, {type(y)}.")
    for argument, points in (("x", x), ("y", y)):
        if points.ndim not in (1, 2) or (points.ndim == 2 and points.shape[1] != 1):
            raise ValueError(f"For 'auc', the argument '{argument}' must have one dimension or one column, but got shape {points.shape}.")
    across, up = x.reshape(-1), y.reshape(-1)
    if across.size != up.size or across.size < 2:
        raise ValueError(f"For 'auc', 'x' and 'y' must have as many points, at least 2, but got {across.size} and {up.size}.")
    if reorder:
        order = np.lexsort((up, across))
        across, up = across[order], up[order]
    steps = np.diff(across)
    falls = (steps < 0).any()
    if falls and (steps > 0).any():
        raise ValueError(f"For 'auc', the argument 'x' must rise or fall, but got {across}: 'reorder' sorts the points.")
    area = float((steps * (up[1:] + up[:-1]) / 2).sum())
    return -area if falls else area


class ROC(Metric):
    """(false positive rates, true positive rates, thresholds) of the last batch, from the largest threshold to the smallest.

    class_num  None or 1: predictions are shaped like the labels, the scores of one class; C: predictions (N, C), giving lists of C arrays
    pos_label  with one class the label that counts as positive, default 1

    With C classes, the curve of each is that of its scores against all other labels; MindSpore mixes the scores of classes there. Raise
    ValueError if all labels are positive, or none is.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None):
        super().__init__()
        self.class_num = None if class_num is None else integer("ROC", "class_num", class_num)
        self.pos_label = None if pos_label is None else integer("ROC", "pos_label", pos_label)
        self.clear()

    def clear(self) -> None:
        self._given: tuple[np.ndarray, np.ndarray] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        if y_pred.shape == y.shape:
            if self.class_num not in (None, 1):
                raise ValueError("For 'ROC', when predicted value (input[0]) and true value (input[1]) have the same shape, the "
                                 f"'class_num' must be 1, but got {self.class_num}.")
            self._given = y_pred.reshape(-1, 1), y.reshape(-1)
        elif y_pred.ndim == 2 and y.shape == y_pred.shape[:1]:
            if self.pos_label is not None or self.class_num != y_pred.shape[1]:
                raise ValueError(f"For 'ROC', with predictions of shape {y_pred.shape} 'class_num' must be {y_pred.shape[1]} and "
                                 f"'pos_label' None, but got {self.class_num} and {self.pos_label}.")
            self._given = y_pred, y
        else:
            raise ValueError(f"For 'ROC', predictions must be like the labels, or (N, C) for labels (N,), but got {y_pred.shape} and "
                             f"{y.shape}.")

    def eval(self) -> Any:
        if self._given is None:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        scores, labels = self._given
        if self.class_num in (None, 1):
            return _curve(scores[:, 0], labels == (1 if self.pos_label is None else self.pos_label))
        curves = [_curve(scores[:, c], labels == c) for c in range(scores.shape[1])]
        return tuple(list(part) for part in zip(*curves, strict=True))


def _curve(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rates at each score as the threshold, the largest first, after a point at (0, 0)."""
    if positive.all() or not positive.any():
        missing = "negative" if positive.all() else "positive"
        raise ValueError(f"For 'ROC.eval', there are no {missing} samples in true value, so the rate of them is meaningless.")
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    last = np.append(np.flatnonzero(np.diff(scores)), scores.size - 1)
    true = np.cumsum(positive)[last]
    false = 1 + last - true
    return np.append(0, false) / false[-1], np.append(0, true) / true[-1], np.append(scores[0] + 1, scores[last])
