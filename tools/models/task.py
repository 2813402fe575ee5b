"""A model of a collection with what it is called with, for both frameworks: `mindspore` is either MindSpore or this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

CLASSES = 10
"""Classes of the models that are built: what a last layer costs says nothing about the model."""


class Task(NamedTuple):
    """One model with what it is called with.

    network   the model's Cell
    inputs    what it takes: arrays become tensors
    loss      the loss of its results, a tensor
    """

    network: Any
    inputs: tuple[Any, ...]
    loss: Callable[[Any], Any]


def own_loss(result: Any) -> Any:
    """Return the result of a network that computes its loss itself."""
    return result


class Names(dict[str, Any]):
    """A configuration whose entries are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(name)
        return Names(self[name]) if isinstance(self[name], dict) else self[name]


def drawn() -> np.random.Generator:
    """Return a source of the same random numbers in both frameworks."""
    return np.random.default_rng(0)


__all__ = ["CLASSES", "Names", "Task", "drawn", "own_loss"]
