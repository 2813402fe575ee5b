"""How far training is: the steps that an optimiser has taken, and the loss scalers that are in use.

Optimisers and loss scalers announce themselves here when they are used, so that an observer can name the training step.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.runtime.memory.machine import number_of
from adjoint.runtime.process.tracer import emitter

__all__ = ["Progress", "in_use", "progress", "unscaled"]

_STEPS = "global_step"
"""The attribute of optimisers that counts their steps."""

_Part = tuple[weakref.ref[Any], str]
"""An optimiser or a loss scaler, and the name of its attribute with the number of steps, or with the scale."""


class _Thread(threading.local):
    """The optimiser that this thread has made or used last, and the loss scaler that it is using, outside of graphs."""

    optimizer: _Part | None = None
    scaler: _Part | None = None


_thread = _Thread()


def in_use(part: Any, attribute: str) -> None:
    """Note that an optimiser is made or used, or a loss scaler is used, in eager mode or in the graph that is being made.

    attribute  the name of the attribute with its number of steps, `global_step`, or with its scale; a Parameter
    """
    graph = emitter()
    if graph is not None:
        graph.trains_with(weakref.ref(part), attribute)
    elif attribute == _STEPS:
        _thread.optimizer = weakref.ref(part), attribute
    else:
        _thread.scaler = weakref.ref(part), attribute


def unscaled() -> None:
    """Note that gradients are not scaled from here on: in eager mode the loss scaler is no longer in use.  A graph keeps the one it has."""
    if emitter() is None:
        _thread.scaler = None


@dataclass(frozen=True)
class Progress:
    """How far training is.

    steps   for each optimiser in use, how many steps it has taken
    scales  the loss scales in use
    parts   the optimisers and loss scalers
    """

    steps: tuple[int, ...]
    scales: tuple[float, ...]
    parts: tuple[_Part, ...]

    def __str__(self) -> str:
        """Return a text such as `in training step 12`; "" if no optimiser is in use."""
        return f"in training step {max(self.steps) + 1}" if self.steps else ""

    def has_moved(self) -> bool:
        """Return True if an optimiser has taken a step since."""
        now = progress(self.parts)
        return len(now.steps) > len(self.steps) or any(a != b for a, b in zip(now.steps, self.steps, strict=False))


def progress(parts: Sequence[_Part] = ()) -> Progress:
    """Return how far training is now.

    parts  the optimisers and loss scalers of the graph that is running; where it has none, that of this thread counts
    """
    of_steps = [part for part in parts if part[1] == _STEPS] or [part for part in (_thread.optimizer,) if part is not None]
    of_scales = [part for part in parts if part[1] != _STEPS] or [part for part in (_thread.scaler,) if part is not None]
    steps = [int(number) for number in _numbers(of_steps)]
    return Progress(tuple(steps), tuple(_numbers(of_scales)), (*of_steps, *of_scales))


def _numbers(parts: Sequence[_Part]) -> list[float]:
    """Return the numbers of those optimisers or loss scalers that still exist."""
    owners = {(id(owner), attribute): owner for reference, attribute in parts if (owner := reference()) is not None}
    tensors = [getattr(owner, attribute) for (_, attribute), owner in owners.items()]
    return [float(number_of(x.memory, x.type)) for x in tensors]
