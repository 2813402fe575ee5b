"""Learning rates as lists with one for each step, which optimisers take as `learning_rate`.

Arguments of several functions:

learning_rate   the first rate, greater than 0
total_step      how many rates, at least 1
step_per_epoch  steps in an epoch: a rate changes between epochs only
decay_rate      how fast it falls, greater than 0
decay_epoch     after how many epochs
is_stair        the rate stays as it is for `decay_epoch` epochs each

Below `e` is the number of the epoch, from 0.  Raise TypeError and ValueError for wrong arguments, MemoryError for too many steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.nn.checks import boolean, least, number, positive, positive_number
from adjoint.runtime.memory.op_plans import physical_memory

__all__ = [
    "cosine_decay_lr", "exponential_decay_lr", "inverse_decay_lr", "natural_exp_decay_lr", "piecewise_constant_lr", "polynomial_decay_lr",
    "warmup_lr",
]

_ENTRY = 32
"""Bytes of a number in a list."""


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """Return the first rate until the first milestone, then the second until the second, and so on: milestones are rising steps."""
    name = "piecewise_constant_lr"
    for argument, given in (("milestone", milestone), ("learning_rates", learning_rates)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"For '{name}', the argument '{argument}' must be a tuple or a list, but got {given!r} "
                            f"of type {type(given).__name__}.")
    if len(milestone) != len(learning_rates):
        raise ValueError(f"For '{name}', 'milestone' must be as long as 'learning_rates', but got {len(milestone)} and "
                         f"{len(learning_rates)}.")
    rates: list[float] = []
    for step, rate in zip(milestone, learning_rates, strict=True):
        if positive(name, "milestone", step) < len(rates):
            raise ValueError(f"For '{name}', each 'milestone' must be at least the one before, but got {list(milestone)}.")
        _check_memory(name, step)
        rates += [number(name, "learning_rates", rate)] * (step - len(rates))
    return rates


def exponential_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int, is_stair: bool = False
) -> list[float]:
    """learning_rate * decay_rate ** (e / decay_epoch)"""
    spans = _decay("exponential_decay_lr", learning_rate, decay_rate, decay_epoch, is_stair)
    return _by_epoch("exponential_decay_lr", total_step, step_per_epoch, lambda e: learning_rate * decay_rate ** spans(e))


def natural_exp_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int, is_stair: bool = False
) -> list[float]:
    """learning_rate * e ** (-decay_rate * epoch); with `is_stair` the epoch is rounded down to a multiple of `decay_epoch`."""
    name = "natural_exp_decay_lr"
    spans = _decay(name, learning_rate, decay_rate, decay_epoch, is_stair)
    return _by_epoch(name, total_step, step_per_epoch, lambda e: learning_rate * math.e ** (
        -decay_rate * (spans(e) * decay_epoch if is_stair else e)))


def inverse_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int, is_stair: bool = False
) -> list[float]:
    """learning_rate / (1 + decay_rate * e / decay_epoch)"""
    _decay("inverse_decay_lr", learning_rate, decay_rate, decay_epoch, is_stair)
    return _by_epoch("inverse_decay_lr", total_step, step_per_epoch, lambda e: learning_rate / (
        1 + (decay_rate * (e // decay_epoch) if is_stair else decay_rate * e / decay_epoch)))


def cosine_decay_lr(min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int) -> list[float]:
    """Half a wave of the cosine from `max_lr` down to `min_lr` in `decay_epoch` epochs, then `min_lr`."""
    name = "cosine_decay_lr"
    least(name, "min_lr", min_lr, 0.0)
    positive_number(name, "max_lr", max_lr)
    positive(name, "decay_epoch", decay_epoch)
    if min_lr >= max_lr:
        raise ValueError(f"For '{name}', 'max_lr' must be greater than 'min_lr', but got {max_lr} and {min_lr}.")
    half = 0.5 * (max_lr - min_lr)
    return _by_epoch(name, total_step, step_per_epoch,
                     lambda e: min_lr + half * (1 + math.cos(math.pi * min(e, decay_epoch) / decay_epoch)))


def polynomial_decay_lr(
    learning_rate: float, end_learning_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int, power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """(learning_rate - end_learning_rate) * (1 - e / decay_epoch) ** power + end_learning_rate, then the end.

    update_decay_epoch  instead of ending, `decay_epoch` becomes the next multiple of it that is not below e
    """
    name = "polynomial_decay_lr"
    positive_number(name, "learning_rate", learning_rate)
    least(name, "end_learning_rate", end_learning_rate, 0.0)
    positive_number(name, "power", power)
    positive(name, "decay_epoch", decay_epoch)
    boolean(name, "update_decay_epoch", update_decay_epoch)

    def rate(epoch: int) -> float:
        end = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else decay_epoch
        return (learning_rate - end_learning_rate) * (1 - min(epoch, end) / end) ** power + end_learning_rate

    return _by_epoch(name, total_step, step_per_epoch, rate)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """learning_rate * e / warmup_epoch, until it is learning_rate."""
    least("warmup_lr", "learning_rate", learning_rate, 0.0)
    positive("warmup_lr", "warmup_epoch", warmup_epoch)
    return _by_epoch("warmup_lr", total_step, step_per_epoch, lambda e: learning_rate * min(e, warmup_epoch) / warmup_epoch)


def _decay(name: str, learning_rate: Any, decay_rate: Any, decay_epoch: Any, is_stair: Any) -> Callable[[int], float]:
    """Check the settings of a decay; return how often `decay_epoch` epochs have passed in an epoch: a fraction, or rounded down."""
    positive_number(name, "learning_rate", learning_rate)
    positive_number(name, "decay_rate", decay_rate)
    positive(name, "decay_epoch", decay_epoch)
    return (lambda epoch: epoch // decay_epoch) if boolean(name, "is_stair", is_stair) else (lambda epoch: epoch / decay_epoch)


def _by_epoch(name: str, total_step: int, step_per_epoch: int, rate: Callable[[int], float]) -> list[float]:
    """Return the rate of each step."""
    positive(name, "step_per_epoch", step_per_epoch)
    _check_memory(name, positive(name, "total_step", total_step))
    return [rate(step // step_per_epoch) for step in range(total_step)]


def _check_memory(name: str, steps: int) -> None:
    if steps * _ENTRY > physical_memory():
        raise MemoryError(f"For '{name}', {steps} rates would take {steps * _ENTRY} bytes, but this machine has {physical_memory()}.")
