"""Metrics: the share of samples that are predicted correctly."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.train.metrics.metric import ClassMetric, Metric, class_indices, no_samples, rearrange_inputs, two_inputs

__all__ = ["Accuracy", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy"]


class Accuracy(ClassMetric):
    """The share of samples whose largest prediction is at their class; with "multilabel", of samples whose labels are all predicted
    correctly."""

    def __init__(self, eval_type: str = "classification"):
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._correct_num = self._total_num = self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._checked(inputs)
        if self._type == "classification":
            right = (y_pred.argmax(axis=1) == y).reshape(-1)
        else:
            right = (np.moveaxis(y_pred, 1, -1) == np.moveaxis(y, 1, -1)).reshape(-1, self._class_num).all(axis=1)
        self._correct_num += int(right.sum())
        self._total_num += right.size

    def eval(self) -> float:
        if self._total_num == 0:
            raise no_samples(self)
        return self._correct_num / self._total_num


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class is among the `k` with the largest predictions, (N, C); labels are indices or one-hot.

    Among classes with equal predictions the first ones count.  Raise TypeError when `k` is not an int, ValueError when it is less than 1.
    """

    def __init__(self, k: int):
        super().__init__()
        if not isinstance(k, int):
            raise TypeError(f"For 'TopKCategoricalAccuracy', the type of the argument 'k' should be int, but got 'k' type: {type(k)}.")
        if k < 1:
            raise ValueError(f"For 'TopKCategoricalAccuracy', the argument 'k' must be at least 1, but got 'k' value: {k}.")
        self.k = k
        self.clear()

    def clear(self) -> None:
        self._correct_num = self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        y = class_indices(y_pred, y).reshape(-1, 1)
        largest = np.argsort(-y_pred, axis=1, kind="stable")[:, : self.k]
        self._correct_num += int((largest == y).sum())
        self._samples_num += len(y)

    def eval(self) -> float:
        if self._samples_num == 0:
            raise no_samples(self)
        return self._correct_num / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class has the largest prediction."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class is among the five with the largest predictions."""

    def __init__(self) -> None:
        super().__init__(5)
