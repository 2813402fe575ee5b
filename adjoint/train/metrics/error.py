"""Means over samples: errors, the loss, the perplexity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.train.metrics.metric import Metric, no_samples, rearrange_inputs, two_inputs

__all__ = ["MAE", "MSE", "Loss", "Perplexity"]


class _Error(Metric):
    """A sum of errors over all elements, divided by the number of samples (the first dimension of the labels)."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._samples_num = 0

    def _errors(self, difference: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        if y.size != y_pred.size:
            raise ValueError(f"For '{type(self).__name__}.update', predictions and labels must have as many elements, but got shapes "
                             f"{y_pred.shape} and {y.shape}.")
        self._sum += float(self._errors(y.reshape(y_pred.shape) - y_pred).sum())
        self._samples_num += y.shape[0]

    def eval(self) -> float:
        if self._samples_num == 0:
            raise no_samples(self)
        return self._sum / self._samples_num


class MAE(_Error):
    """The sum of |label - prediction|, divided by the number of samples."""

    def _errors(self, difference: np.ndarray) -> np.ndarray:
        return np.abs(difference)


class MSE(_Error):
    """The sum of (label - prediction)^2, divided by the number of samples."""

    def _errors(self, difference: np.ndarray) -> np.ndarray:
        return np.square(difference)


class Loss(Metric):
    """The mean of the losses of the batches; raise ValueError for a loss of more than one dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum_loss = 0.0
        self._total_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        if len(inputs) != 1:
            raise ValueError(f"For 'Loss.update', it needs 1 input (loss), but got {len(inputs)}.")
        loss = self._convert_data(inputs[0])
        if loss.ndim > 1:
            raise ValueError(f"For 'Loss.update', the dimension of your input (loss) must be 1, but got {loss.ndim}.")
        self._sum_loss += float(loss.mean())
        self._total_num += 1

    def eval(self) -> float:
        if self._total_num == 0:
            raise no_samples(self)
        return self._sum_loss / self._total_num


class Perplexity(Metric):
    """The exponential of the mean of -log(p), where p is the predicted probability, (N, C), of the class in the label, (N).

    ignore_label  samples with this label do not count

    A probability below 1e-10 is treated as 1e-10.
    """

    def __init__(self, ignore_label: int | None = None):
        super().__init__()
        if ignore_label is not None and (isinstance(ignore_label, bool) or not isinstance(ignore_label, int)):
            raise TypeError(f"For 'Perplexity', the argument 'ignore_label' must be an int or None, but got {ignore_label!r} "
                            f"of type {type(ignore_label).__name__}.")
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        self._sum_metric = 0.0
        self._num_inst = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = two_inputs(self, inputs)
        if y_pred.ndim == 0 or y.size * y_pred.shape[-1] != y_pred.size:
            raise RuntimeError("For 'Perplexity.update', predicted value (input[0]) and label (input[1]) should have the same shape but "
                               f"for the classes, but got predicted value shape {y_pred.shape}, label shape {y.shape}.")
        rows, labels = y_pred.reshape(-1, y_pred.shape[-1]), y.reshape(-1).astype(np.int64)
        counted = np.ones(labels.shape, bool) if self.ignore_label is None else labels != self.ignore_label
        found = rows[counted, labels[counted]]
        self._sum_metric -= float(np.log(np.maximum(1e-10, found)).sum())
        self._num_inst += found.size

    def eval(self) -> float:
        if self._num_inst == 0:
            raise no_samples(self)
        return math.exp(self._sum_metric / self._num_inst)
