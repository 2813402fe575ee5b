"""Precision, recall, and metrics that combine them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from adjoint.nn.checks import boolean
from adjoint.train.metrics.metric import ClassMetric, Metric, class_indices, no_samples, one_hot, rearrange_inputs, same_classes, two_inputs

__all__ = ["F1", "Fbeta", "Precision", "Recall"]

_EPSILON = sys.float_info.min
"""Added to denominators, so that a class without samples has the value 0."""


class _Share(ClassMetric):
    """True positives divided by a number of samples, for each class, or with `eval(average=True)` the mean.

    With "multilabel" a class is what MindSpore takes for one: a row of the samples, over all batches.
    """

    def __init__(self, eval_type: str = "classification"):
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        self._true: Any = np.empty(0) if self._type == "multilabel" else 0.0
        self._of: Any = self._true

    def _denominator(self, y_pred: np.ndarray, y: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._one_hot(inputs)
        true, of = (y * y_pred).sum(axis=0), self._denominator(y_pred, y).sum(axis=0)
        if self._type == "multilabel":
            self._true, self._of = np.concatenate((self._true, true)), np.concatenate((self._of, of))
        else:
            self._true, self._of = self._true + true, self._of + of

    def eval(self, average: bool = False) -> Any:
        if self._class_num == 0:
            raise no_samples(self)
        shares = self._true / (self._of + _EPSILON)
        return shares.mean() if boolean(type(self).__name__, "average", average) else shares


class Precision(_Share):
    """True positives / all samples predicted as the class, for each class."""

    def _denominator(self, y_pred: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y_pred


class Recall(_Share):
    """True positives / all samples of the class, for each class."""

    def _denominator(self, y_pred: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y


class Fbeta(Metric):
    """(1 + beta^2) TP / (beta^2 P + PP) for each class: true positives, samples of the class, and those predicted as it.

    Raise ValueError unless `beta` is greater than 0.
    """

    def __init__(self, beta: float):
        super().__init__()
        if not beta > 0:
            raise ValueError(f"For 'Fbeta', the argument 'beta' must be greater than 0, but got {beta}.")
        self.beta = beta
        self.clear()

    def clear(self) -> None:
        self._true: Any = 0.0
        self._actual: Any = 0.0
        self._predicted: Any = 0.0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        y = class_indices(y_pred, y)
        same_classes(self, y_pred)
        y_pred, y = one_hot(self, y_pred, y)
        self._true += (y * y_pred).sum(axis=0)
        self._actual += y.sum(axis=0)
        self._predicted += y_pred.sum(axis=0)

    def eval(self, average: bool = False) -> Any:
        boolean(type(self).__name__, "average", average)
        if self._class_num == 0:
            raise no_samples(self)
        square = self.beta**2
        shares = (1.0 + square) * self._true / (square * self._actual + self._predicted + _EPSILON)
        return shares.mean() if average else shares


class F1(Fbeta):
    """The harmonic mean of precision and recall, for each class."""

    def __init__(self) -> None:
        super().__init__(1.0)
