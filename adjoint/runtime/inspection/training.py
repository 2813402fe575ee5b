"""How far training is: the steps that an optimiser has taken, and the loss scalers that are in use.

Optimisers and loss scalers announce themselves here when they are used, so that an observer can name the training step.  Optimisers
announce the end of each step as well, also in graphs, while somebody follows it.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Container, Sequence
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.runtime.memory.machine import number_of
from adjoint.runtime.process.tracer import emitter

__all__ = [
    "Progress", "in_use", "optimizer_made", "optimizers_of", "progress", "step_followers", "stepped", "steps_seen", "trains", "unscaled",
]

_STEPS = ("global_step", "step_t")
"""The attributes of optimisers that count their steps."""

_Part = tuple[weakref.ref[Any], str]
"""An optimiser or a loss scaler, and the name of its attribute with the number of steps, or with the scale."""


class _Thread(threading.local):
    """The optimiser that this thread has made or used last, and the loss scaler that it is using, outside of graphs.

    steps  how many steps of optimisers were announced in this thread
    """

    optimizer: _Part | None = None
    scaler: _Part | None = None
    steps: int = 0


_thread = _Thread()
step_followers: list[Callable[[Any], None]] = []
"""Functions that are called with an optimiser after each of its steps, also when a graph takes it.  After a change call `epoch.move`:
graphs are made with or without the call.
"""


_optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
"""The optimisers that were made and still exist."""


def optimizer_made(optimizer: Any) -> None:
    """Note a new optimiser."""
    _optimizers.add(optimizer)


def trains(optimizer: Any, parameters: Container[int]) -> bool:
    """Return True if an optimiser updates one of the Parameters with these ids."""
    return any(id(parameter) in parameters for parameter in optimizer.parameters)


def optimizers_of(parameters: Container[int]) -> list[Any]:
    """Return the optimisers that update one of the Parameters with these ids."""
    return [optimizer for optimizer in list(_optimizers) if trains(optimizer, parameters)]


def in_use(part: Any, attribute: str) -> None:
    """Note that an optimiser is made or used, or a loss scaler is used, in eager mode or in the graph that is being made.

    attribute  the name of the attribute with its number of steps, `global_step` or `step_t`, or with its scale; a Parameter
    """
    graph = emitter()
    if graph is not None:
        graph.trains_with(weakref.ref(part), attribute)
    elif attribute in _STEPS:
        _thread.optimizer = weakref.ref(part), attribute
    else:
        _thread.scaler = weakref.ref(part), attribute


def stepped(optimizer: Any) -> None:
    """Note that an optimiser has taken a step, in eager mode or in the graph that is being made."""
    graph = emitter()
    if graph is None:
        _thread.steps += 1
        for follow in tuple(step_followers):
            follow(optimizer)
        return
    graph.read_setting(_is_followed, "steps of optimisers")
    if step_followers:
        graph.effect("step", functools.partial(_stepped, weakref.ref(optimizer)), (), shows=True)


def _stepped(reference: weakref.ref[Any]) -> None:
    optimizer = reference()
    if optimizer is not None:
        stepped(optimizer)


def _is_followed(name: str) -> bool:
    return bool(step_followers)


def steps_seen() -> int:
    """Return how many steps of optimisers were announced in this thread."""
    return _thread.steps


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
    of_steps = [part for part in parts if part[1] in _STEPS] or [part for part in (_thread.optimizer,) if part is not None]
    of_scales = [part for part in parts if part[1] not in _STEPS] or [part for part in (_thread.scaler,) if part is not None]
    steps = [int(number) for number in _numbers(of_steps)]
    return Progress(tuple(steps), tuple(_numbers(of_scales)), (*of_steps, *of_scales))


def _numbers(parts: Sequence[_Part]) -> list[float]:
    """Return the numbers of those optimisers or loss scalers that still exist."""
    owners = {(id(owner), attribute): owner for reference, attribute in parts if (owner := reference()) is not None}
    tensors = [getattr(owner, attribute) for (_, attribute), owner in owners.items()]
    return [float(number_of(x.memory, x.type)) for x in tensors]
