"""The batches that a Model trains and evaluates on: Tensors, epoch after epoch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np

from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.run_state import load_random_streams, random_streams

__all__ = ["Batches"]

_NO_LISTS = (Tensor, np.ndarray, str, bytes, dict)
"""Types that have a length but are not lists of batches."""


class Batches:
    """The batches of a dataset as tuples of Tensors.

    dataset  a dataset of `adjoint.dataset`; or any other object with a length that can be iterated more than once, such as a list of
             tuples: each item is a batch, a Tensor or array, or several in a tuple or list
    epochs   how often it will be iterated

    Raise TypeError for anything else, ValueError for an empty one; both name `owner` and `argument`.
    """

    def __init__(self, owner: str, argument: str, dataset: Any, epochs: int):
        self._place = f"For '{owner}', the argument '{argument}'"
        self.dataset = dataset
        self.count = self._counted()
        self.position = 0
        """Number of batches of the current epoch returned so far."""
        tuples = getattr(dataset, "create_tuple_iterator", None)
        self._iterated: Any = dataset if tuples is None else tuples(num_epochs=epochs)
        self._is_plain = not hasattr(self._iterated, "load_state_dict")
        self._rows: Iterator[Any] | None = None
        self._streams: dict[str, Any] | None = None

    def _counted(self) -> int:
        """Return the number of batches in an epoch."""
        dataset: Any = self.dataset
        iterates = isinstance(self.dataset, Iterable) and not isinstance(self.dataset, _NO_LISTS)
        if hasattr(dataset, "get_dataset_size") and (iterates or hasattr(dataset, "create_tuple_iterator")):
            count = dataset.get_dataset_size()
        elif isinstance(self.dataset, Sized) and iterates:
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

    def epoch(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the batches of one epoch, or over the rest of it after `load_state_dict`."""
        if self._rows is None:
            self._begin(random_streams() if self._is_plain else None)
        assert self._rows is not None
        for item in self._rows:
            self.position += 1
            yield tuple(map(_tensor, item)) if isinstance(item, (tuple, list)) else (_tensor(item),)
        self._rows, self._streams, self.position = None, None, 0

    def _begin(self, streams: dict[str, Any] | None) -> None:
        self._streams, self._rows, self.position = streams, iter(self._iterated), 0

    def close(self) -> None:
        """Stop the dataset's worker threads and processes."""
        stop = getattr(self._iterated, "stop", None)
        if stop is not None and not self._is_plain:
            stop()

    # A dataset's iterator knows its position.  A list of batches, or an object that makes them when iterated, makes the batches before the
    # position again, with the random state from the beginning of the epoch.
    def state_dict(self) -> dict[str, Any]:
        """Return the position: which batch comes next."""
        where = {"position": self.position, "streams": self._streams}
        return where if self._is_plain else {**where, "iterator": self._iterated.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue with the batch that came next when `state_dict` was called; raise ValueError if there are fewer batches now."""
        if not self._is_plain:
            self._iterated.load_state_dict(state["iterator"])
            self._rows, self.position = (iter(self._iterated) if state["position"] else None), state["position"]
            return
        self._rows, self.position = None, 0
        if state["streams"] is None:
            return
        load_random_streams(state["streams"])
        self._begin(state["streams"])
        assert self._rows is not None
        for _ in range(state["position"]):
            if next(self._rows, self) is self:
                raise ValueError(f"{self._place} has {self.position} batches in an epoch, but the saved run had "
                                 f"{state['position']} behind it.")
            self.position += 1


def _tensor(value: Any) -> Any:
    """Convert NumPy arrays and scalars to Tensors; return anything else unchanged."""
    return Tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value
