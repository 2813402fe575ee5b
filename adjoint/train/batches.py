"""What a Model trains and evaluates on: batches of Tensors, epoch after epoch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np

from adjoint.runtime.tensor import Tensor

__all__ = ["Batches"]

_NO_LISTS = (Tensor, np.ndarray, str, bytes, dict)
"""What has a length and is no list of batches."""


class Batches:
    """The batches of a dataset as tuples of Tensors.

    dataset  a dataset of `adjoint.dataset`; or any other object with a length that can be iterated more than once, such as a list of
             tuples: each item is a batch, a Tensor or array, or several in a tuple or list
    epochs   how often it will be iterated

    TypeError for anything else, ValueError for an empty one; both name `owner` and `argument`.
    """

    def __init__(self, owner: str, argument: str, dataset: Any, epochs: int):
        self._place = f"For '{owner}', the argument '{argument}'"
        self.dataset = dataset
        self.count = self._counted()
        tuples = getattr(dataset, "create_tuple_iterator", None)
        self.iterator: Any = dataset if tuples is None else tuples(num_epochs=epochs)
        """What is iterated once in each epoch."""

    def _counted(self) -> int:
        """How many batches an epoch has."""
        dataset: Any = self.dataset
        if hasattr(dataset, "create_tuple_iterator") or hasattr(dataset, "get_dataset_size"):
            count = dataset.get_dataset_size()
        elif isinstance(self.dataset, Sized) and isinstance(self.dataset, Iterable) and not isinstance(self.dataset, _NO_LISTS):
            count = len(dataset)
        else:
            raise self._wrong()
        if count == 0:
            raise ValueError(f"{self._place} has no batches: there is no valid data in dataset, please check dataset file firstly.")
        return count

    def _wrong(self) -> TypeError:
        kind = type(self.dataset).__name__
        return TypeError(f"{self._place} must be a dataset, or something with a length that can be iterated once for each epoch, such as a "
                         f"list of tuples (data, label), but got an object of type {kind}.")

    def epoch(self, skipped: int = 0) -> Iterator[tuple[Any, ...]]:
        """Iterate over the batches of one epoch; without the first `skipped` ones."""
        for i, item in enumerate(self.iterator):
            if i >= skipped:
                yield tuple(map(_tensor, item)) if isinstance(item, (tuple, list)) else (_tensor(item),)

    def end_epoch(self) -> None:
        """Let the dataset begin anew, where an epoch ended early."""
        reset = getattr(self.dataset, "reset", None)
        if reset is not None:
            reset()


def _tensor(value: Any) -> Any:
    """NumPy's arrays and scalars as Tensors; anything else as it is."""
    return Tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value
