"""The base class of metrics."""

from __future__ import annotations

import functools
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["ClassMetric", "Metric", "class_indices", "no_samples", "one_hot", "rearrange_inputs", "same_classes", "two_inputs"]


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the method `func(self, *inputs)` so that its inputs are chosen and ordered by `self.indexes`, if set."""

    @functools.wraps(func)
    def arranged(self: Any, *inputs: Any) -> Any:
        indexes = self.indexes
        return func(self, *([inputs[i] for i in indexes] if indexes else inputs))

    return arranged


class Metric(metaclass=ABCMeta):
    """Base class of metrics: `clear()` starts anew, `update(*inputs)` adds a batch, `eval()` returns the result.

    Calling a metric with a batch returns the result of this batch alone.
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Which outputs of the evaluation network `update` gets, as set by `set_indexes`; None: all, in their order."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Self:
        """Select the inputs of `update` by index, in this order; raise ValueError for what is not a list of ints."""
        if not isinstance(indexes, list) or not all(isinstance(i, int) for i in indexes):
            raise ValueError(f"For 'set_indexes', the argument 'indexes' must be a list and all its elements must be int, "
                             f"but got {indexes!r}.")
        self._indexes = indexes
        return self

    def _convert_data(self, data: Any) -> np.ndarray:
        """Return a Tensor, list or array as an array; raise TypeError for anything else."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, (list, np.ndarray)):
            return np.asarray(data)
        raise TypeError(f"For 'Metric' and its derived classes, the input data type must be tensor, list or numpy.ndarray, "
                        f"but got {type(data)}.")

    def __call__(self, *inputs: Any) -> Any:
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self) -> None:
        """Forget all batches."""

    @abstractmethod
    def eval(self) -> Any:
        """Return the result over all batches."""

    @abstractmethod
    def update(self, *inputs: Any) -> None:
        """Add a batch: the outputs of the network, and the label."""


class ClassMetric(Metric):
    """Base class of metrics of classes.

    eval_type  "classification": predictions (N, C, ...), labels (N, ...) with the index of the class, or one-hot like the predictions;
               "multilabel": both (N, C, ...) of 0 and 1
    """

    def __init__(self, eval_type: str):
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(f"The argument 'eval_type' must be in ['classification', 'multilabel'], but got {eval_type!r}.")
        self._type = eval_type
        self._class_num = 0

    def _checked(self, inputs: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the predictions and labels as arrays, one-hot labels as indices; raise ValueError if they do not fit together."""
        y_pred, y = two_inputs(self, inputs)
        if self._type == "classification":
            y = class_indices(y_pred, y)
            if y.shape != y_pred.shape[:1] + y_pred.shape[2:]:
                raise ValueError(f"In classification case, labels must have the shape of predictions without its second dimension, "
                                 f"but got predictions of shape {y_pred.shape} and labels of shape {y.shape}.")
        elif y_pred.shape != y.shape:
            raise ValueError(f"In multilabel case, predictions and labels must have one shape, but got {y_pred.shape} and {y.shape}.")
        elif not all(np.isin(values, (0, 1)).all() for values in (y_pred, y)):
            raise ValueError("In multilabel case, all elements of predictions and labels must be 0 or 1.")
        same_classes(self, y_pred)
        return y_pred, y

    def _one_hot(self, inputs: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions and labels as rows of 0 and 1, one column for each class."""
        y_pred, y = self._checked(inputs)
        if self._type == "multilabel":
            return y_pred.swapaxes(1, 0).reshape(self._class_num, -1), y.swapaxes(1, 0).reshape(self._class_num, -1)
        return one_hot(self, y_pred, y)


def two_inputs(metric: Metric, inputs: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions and labels as arrays; raise ValueError for another number of inputs."""
    if len(inputs) != 2:
        raise ValueError(f"For '{type(metric).__name__}.update', it needs 2 inputs (predicted value, true value), but got {len(inputs)}.")
    return metric._convert_data(inputs[0]), metric._convert_data(inputs[1])


def class_indices(y_pred: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the labels as class indices, if they are one-hot: of the rank of the predictions, 0 and 1 with one 1 along axis 1."""
    if y.ndim > 1 and y_pred.ndim == y.ndim and np.isin(y, (0, 1)).all() and (y.sum(axis=1) == 1).all():
        return y.argmax(axis=1)
    return y


def same_classes(metric: Any, y_pred: np.ndarray) -> None:
    """Record the number of classes; raise ValueError if it has changed."""
    if metric._class_num not in (0, y_pred.shape[1]):
        raise ValueError(f"For '{type(metric).__name__}.update', class number not match, last input predicted data contain "
                         f"{metric._class_num} classes, but current predicted data contain {y_pred.shape[1]} classes.")
    metric._class_num = y_pred.shape[1]


def one_hot(metric: Any, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the predicted classes and the labels, each as rows of 0 and 1; raise ValueError for a label that is not a class."""
    classes = metric._class_num
    if y.size and not 0 <= y.min() <= y.max() < classes:
        raise ValueError(f"For '{type(metric).__name__}.update', labels must be in [0, {classes}), since the predictions have {classes} "
                         f"classes, but got labels from {y.min()} to {y.max()}.")
    identity = np.eye(classes)
    return identity[y_pred.argmax(axis=1).reshape(-1)], identity[y.reshape(-1).astype(np.int64)]


def no_samples(metric: Metric) -> RuntimeError:
    """Return the exception for a result that is requested before there are samples."""
    return RuntimeError(f"The '{type(metric).__name__}' can not be calculated, because the number of samples is 0, please check whether "
                        "your inputs(predicted value, true value) are empty, or has called update method before calling eval method.")
