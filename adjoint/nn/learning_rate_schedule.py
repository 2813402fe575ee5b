"""Learning rates as functions of the number of steps taken: cells that optimisers take as `learning_rate`.

Each is called with the number of steps, a whole number in a Tensor, and gives rates in Float32, in the shape of that Tensor.
Below `r` is `learning_rate` and `s` the number of steps.  Raise TypeError and ValueError for wrong settings.
"""

from __future__ import annotations

import math

from adjoint.ir.types import F32
from adjoint.nn.checks import boolean, least, positive, positive_number, tensor_argument
from adjoint.ops.arithmetic import ceil, floor, maximum, minimum, pow, sin
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "NaturalExpDecayLR", "PolynomialDecayLR", "WarmUpLR",
]


class LearningRateSchedule(Cell):
    """Base class of schedules: a subclass defines `construct(global_step)`."""

    def construct(self, global_step: Tensor) -> Tensor:
        raise NotImplementedError(f"For '{type(self).__name__}', the method 'construct' is not defined: it gives the rate after "
                                  "'global_step' steps.")

    def _steps(self, global_step: Tensor) -> Tensor:
        """Return the number of steps in Float32."""
        return tensor_argument(self, "global_step", global_step).astype(F32, copy=False)


class _Decay(LearningRateSchedule):
    """Settings that three decays share.

    decay_rate   how fast it falls
    decay_steps  after how many steps
    is_stair     the rate stays as it is for `decay_steps` steps each
    """

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False):
        super().__init__()
        self.learning_rate = positive_number(self, "learning_rate", learning_rate)
        self.decay_rate = positive_number(self, "decay_rate", decay_rate)
        self.decay_steps = positive(self, "decay_steps", decay_steps)
        self.is_stair = boolean(self, "is_stair", is_stair)

    def _spans(self, global_step: Tensor) -> Tensor:
        """Return how often `decay_steps` steps were taken: a fraction, or rounded down."""
        spans = self._steps(global_step) / float(self.decay_steps)
        return floor(spans) if self.is_stair else spans


class ExponentialDecayLR(_Decay):
    """r * decay_rate ** (s / decay_steps)"""

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate * pow(self.decay_rate, self._spans(global_step))


class NaturalExpDecayLR(_Decay):
    """r * e ** (-decay_rate * s); with `is_stair` s is rounded down to a multiple of `decay_steps`."""

    def construct(self, global_step: Tensor) -> Tensor:
        steps = self._spans(global_step) * float(self.decay_steps) if self.is_stair else self._steps(global_step)
        return self.learning_rate * pow(math.e, -self.decay_rate * steps)


class InverseDecayLR(_Decay):
    """r / (1 + decay_rate * s / decay_steps)"""

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate / (1.0 + self.decay_rate * self._spans(global_step))


class CosineDecayLR(LearningRateSchedule):
    """Half a wave of the cosine from `max_lr` down to `min_lr` in `decay_steps` steps, then `min_lr`."""

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int):
        super().__init__()
        self.min_lr = least(self, "min_lr", min_lr, 0.0)
        self.max_lr = positive_number(self, "max_lr", max_lr)
        self.decay_steps = positive(self, "decay_steps", decay_steps)
        if min_lr >= max_lr:
            raise ValueError(f"For 'CosineDecayLR', 'max_lr' must be greater than 'min_lr', but got {max_lr} and {min_lr}.")

    def construct(self, global_step: Tensor) -> Tensor:
        share = minimum(self._steps(global_step), float(self.decay_steps)) / float(self.decay_steps)
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + sin(math.pi * (share + 0.5)))


class PolynomialDecayLR(LearningRateSchedule):
    """(r - end_learning_rate) * (1 - s / decay_steps) ** power + end_learning_rate, until `decay_steps` steps; then the end.

    update_decay_steps  instead of ending, `decay_steps` becomes the next multiple of it that is not below s
    """

    def __init__(self, learning_rate: float, end_learning_rate: float, decay_steps: int, power: float, update_decay_steps: bool = False):
        super().__init__()
        self.start_learning_rate = positive_number(self, "learning_rate", learning_rate)
        self.end_learning_rate = least(self, "end_learning_rate", end_learning_rate, 0.0)
        self.decay_steps = positive(self, "decay_steps", decay_steps)
        self.power = positive_number(self, "power", power)
        self.update_decay_steps = boolean(self, "update_decay_steps", update_decay_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        steps, span = self._steps(global_step), float(self.decay_steps)
        left = 1.0 - (steps / (span * maximum(ceil(steps / span), 1.0)) if self.update_decay_steps else minimum(steps, span) / span)
        return (self.start_learning_rate - self.end_learning_rate) * pow(left, self.power) + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """r * s / warmup_steps, until it is r."""

    def __init__(self, learning_rate: float, warmup_steps: int):
        super().__init__()
        self.learning_rate = least(self, "learning_rate", learning_rate, 0.0)
        self.warmup_steps = positive(self, "warmup_steps", warmup_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        span = float(self.warmup_steps)
        return self.learning_rate * (minimum(self._steps(global_step), span) / span)
