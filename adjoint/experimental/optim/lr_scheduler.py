"""Schedules of learning rates: `scheduler.step()` after each epoch, or each step, writes new rates into the groups of an optimiser.

Each schedule is a formula of the number of steps and of the rate so far, so that rates which a program sets itself are gone on from.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.experimental.optim.optimizer import Optimizer
from adjoint.ir.types import F32, I32
from adjoint.nn.checks import choice, integer, least, number, positive
from adjoint.ops import arithmetic
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR",
    "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]


def _optimizer(owner: object, given: Any) -> Optimizer:
    if not isinstance(given, Optimizer):
        raise TypeError(f"For '{type(owner).__name__}', the argument 'optimizer' must be an Optimizer of `experimental.optim`, but got "
                        f"{given!r} of type {type(given).__name__}.")
    return given


def _for_groups(owner: object, argument: str, given: Any, count: int) -> list[Any]:
    """Return one value for each group: the items of a list or tuple, or the same value for all; ValueError for another number of items."""
    if not isinstance(given, (list, tuple)):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"For '{type(owner).__name__}', the argument '{argument}' must have one item for each of {count} groups, but got "
                         f"{len(given)}.")
    return list(given)


class LRScheduler:
    """Base class: a subclass defines `get_lr`, which returns the new rate of each group.

    optimizer   its groups get the rates; they keep the first one as "initial_lr"
    last_epoch  how many steps were made before, -1 for none; a run that goes on needs "initial_lr" in each group

    `last_epoch` is a Parameter, the number of the step from 0; `base_lrs` are the first rates.
    TypeError for another optimizer; ValueError for a `last_epoch` below -1, KeyError for groups without "initial_lr".
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        name = type(self).__name__
        if integer(name, "last_epoch", last_epoch) < -1:
            raise ValueError(f"For '{name}', the argument 'last_epoch' must be at least -1, but got {last_epoch}.")
        for place, group in enumerate(_optimizer(self, optimizer).param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].value())
            elif "initial_lr" not in group:
                raise KeyError(f"For '{name}', group {place} must have 'initial_lr' to go on after step {last_epoch}.")
        self.base_lrs: list[Tensor] = [group["initial_lr"] for group in optimizer.param_groups]
        self.optimizer, self._last_lr, self.groups_num = optimizer, list(optimizer.lrs), len(optimizer.param_groups)
        self.last_epoch = Parameter(Tensor(float(last_epoch), F32), name=f"last_epoch_{name}")
        self.step()

    def get_lr(self) -> Sequence[Tensor]:
        """Return the rate of each group in step `last_epoch`."""
        raise NotImplementedError(f"For '{type(self).__name__}', the method 'get_lr' must be defined.")

    def get_last_lr(self) -> list[Tensor]:
        """Return the rate of each group now."""
        return [rate.value() for rate in self._last_lr]

    def step(self, epoch: Any = None) -> bool:
        """Set the rates of the next step, or of step `epoch`."""
        self.last_epoch.overwrite(self.last_epoch + 1 if epoch is None else _as_number(epoch))
        rates = self.get_lr() if epoch is None else self._closed_form() or self.get_lr()
        for held, rate in zip(self._last_lr, rates, strict=True):
            held.overwrite(rate.astype(F32, copy=False) if isinstance(rate, Tensor) else Tensor(float(rate), F32))
        return True

    def _closed_form(self) -> Sequence[Tensor] | None:
        """Return the rates of step `last_epoch` as a formula of the first rates alone; None if there is no such formula."""
        return None

    def _times(self, factor: Any) -> list[Tensor]:
        """Return the rates so far, times a factor."""
        return [rate * factor for rate in self._last_lr]

    def _once(self, at: Any, factor: Any) -> list[Tensor]:
        """Return the rates so far, times a factor where a condition on `last_epoch` holds."""
        return self._times(arithmetic.where(at, factor, constant(1.0, F32)))


def _as_number(epoch: Any) -> Tensor:
    return epoch.astype(F32).reshape(()) if isinstance(epoch, Tensor) else Tensor(float(epoch), F32)


class StepLR(LRScheduler):
    """The rate times `gamma` after each `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = positive("StepLR", "step_size", step_size), number("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        at = (self.last_epoch > 0).logical_and(self.last_epoch % self.step_size == 0)
        return self._once(at, constant(self.gamma, F32))

    def _closed_form(self) -> Sequence[Tensor]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the steps `milestones`."""

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1):
        if not isinstance(milestones, list):
            raise TypeError(f"For 'MultiStepLR', the argument 'milestones' must be a list of ints, but got {milestones!r}.")
        self.milestones = Counter(integer("MultiStepLR", "milestones", milestone) for milestone in milestones)
        self.gamma = number("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        factor: Any = constant(1.0, F32)
        for milestone, times in self.milestones.items():
            factor = arithmetic.where(self.last_epoch == milestone, constant(self.gamma**times, F32), factor)
        return self._times(factor)

    def _closed_form(self) -> Sequence[Tensor]:
        passed: Any = constant(0.0, F32)
        for milestone, times in self.milestones.items():
            passed = passed + arithmetic.where(self.last_epoch >= milestone, constant(float(times), F32), constant(0.0, F32))
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` until step `total_iters`."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        self.factor, self.total_iters = _share(self, "factor", factor), integer("ConstantLR", "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        at_end = arithmetic.where(self.last_epoch == self.total_iters, constant(1.0 / self.factor, F32), constant(1.0, F32))
        return self._times(arithmetic.where(self.last_epoch == 0, constant(self.factor, F32), at_end))

    def _closed_form(self) -> Sequence[Tensor]:
        factor = arithmetic.where(self.last_epoch >= self.total_iters, constant(1.0, F32), constant(self.factor, F32))
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from `start_factor` to `end_factor` in `total_iters` steps."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1):
        self.start_factor, self.end_factor = _share(self, "start_factor", start_factor), least("LinearLR", "end_factor", end_factor, 0.0)
        if self.end_factor > 1.0:
            raise ValueError(f"For 'LinearLR', the argument 'end_factor' must be in [0, 1], but got {end_factor}.")
        self.total_iters = integer("LinearLR", "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        rise = self.end_factor - self.start_factor
        factor = rise / ((self.last_epoch - 1) * rise + self.total_iters * self.start_factor) + 1.0
        later = arithmetic.where(self.last_epoch > self.total_iters, constant(1.0, F32), factor)
        return self._times(arithmetic.where(self.last_epoch == 0, constant(self.start_factor, F32), later))

    def _closed_form(self) -> Sequence[Tensor]:
        part = arithmetic.clamp(self.last_epoch, None, float(self.total_iters)) / self.total_iters
        return [base * (part * (self.end_factor - self.start_factor) + self.start_factor) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times `gamma` in each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = number("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        return self._once(self.last_epoch > 0, constant(self.gamma, F32))

    def _closed_form(self) -> Sequence[Tensor]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The first rate times (1 - step / total_iters)**power, until step `total_iters`."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = positive("PolynomialLR", "total_iters", total_iters), least("PolynomialLR", "power", power, 0.0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        during = (self.last_epoch > 0).logical_and(self.last_epoch <= self.total_iters)
        step = arithmetic.where(during, self.last_epoch, constant(1.0, F32))
        return self._once(during, ((self.total_iters - step) / (self.total_iters + 1.0 - step)) ** self.power)

    def _closed_form(self) -> Sequence[Tensor]:
        left = 1.0 - arithmetic.clamp(self.last_epoch, None, float(self.total_iters)) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class LambdaLR(LRScheduler):
    """The first rate times `lr_lambda(step)`; one function, or a list with one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1):
        groups = _optimizer(self, optimizer).param_groups
        self.lr_lambdas: list[Callable[[Any], Any]] = _for_groups(self, "lr_lambda", lr_lambda, len(groups))
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        return [base * factor(self.last_epoch) for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LRScheduler):
    """The rate so far times `lr_lambda(step)`; one function, or a list with one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1):
        groups = _optimizer(self, optimizer).param_groups
        self.lr_lambdas: list[Callable[[Any], Any]] = _for_groups(self, "lr_lambda", lr_lambda, len(groups))
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        later, one = self.last_epoch > 0, constant(1.0, F32)
        return [rate * arithmetic.where(later, factor(self.last_epoch), one)
                for factor, rate in zip(self.lr_lambdas, self._last_lr, strict=True)]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to `eta_min` in `T_max` steps, and back (Loshchilov and Hutter, ICLR 2017, without restarts)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = positive("CosineAnnealingLR", "T_max", T_max), number("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Sequence[Tensor]:
        step, turn = self.last_epoch, math.pi / self.T_max
        first, lowest = step == 0, (step - 1 - self.T_max) % (2 * self.T_max) == 0
        before = arithmetic.where(first.logical_or(lowest), constant(2.0, F32), arithmetic.cos((step - 1) * turn) + 1.0)
        now = (arithmetic.cos(step * turn) + 1.0) / before
        rise = (1.0 - math.cos(turn)) / 2
        return [arithmetic.where(first, rate, arithmetic.where(
            lowest, rate + (base - self.eta_min) * rise, now * (rate - self.eta_min) + self.eta_min))
            for base, rate in zip(self.base_lrs, self._last_lr, strict=True)]

    def _closed_form(self) -> Sequence[Tensor]:
        share = (arithmetic.cos(self.last_epoch * (math.pi / self.T_max)) + 1.0) / 2
        return [(base - self.eta_min) * share + self.eta_min for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the first rate to `eta_min` in T_0 steps, then again in T_0 * T_mult, ... (Loshchilov and Hutter, ICLR 2017).

    ValueError unless T_0 and T_mult are at least 1.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1):
        name = "CosineAnnealingWarmRestarts"
        for argument, value in (("T_0", T_0), ("T_mult", T_mult)):
            if type(value) is not int or value < 1:
                raise ValueError(f"For '{name}', the argument '{argument}' must be an int of at least 1, but got {value!r}.")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, number(name, "eta_min", eta_min)
        self.T_i = Parameter(Tensor(float(T_0), F32), name="T_i")
        self.T_cur = Parameter(Tensor(float(last_epoch), F32), name="T_cur")
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: Any = None) -> bool:
        """Set the rates of the next step, or of step `epoch`, which may be between two; ValueError if it is negative."""
        if epoch is None:
            at, length = self.T_cur + 1, self.T_i.value()
            over = at >= length
            at, length = arithmetic.where(over, at - length, at), arithmetic.where(over, length * self.T_mult, length)
            number_of_step = self.last_epoch + 1
        else:
            number_of_step = _as_number(epoch)
            where = float(number_of_step)
            if where < 0:
                raise ValueError(f"For 'CosineAnnealingWarmRestarts', the argument 'epoch' must not be negative, but got {where}.")
            begin, size = 0, self.T_0
            while where >= begin + size:
                begin, size = begin + size, size * self.T_mult
            at, length = number_of_step - begin, Tensor(float(size), F32)
        self.T_cur.overwrite(at)
        self.T_i.overwrite(length)
        self.last_epoch.overwrite(arithmetic.floor(number_of_step))
        for held, rate in zip(self._last_lr, self.get_lr(), strict=True):
            held.overwrite(rate)
        return True

    def get_lr(self) -> Sequence[Tensor]:
        share = (arithmetic.cos(self.T_cur * math.pi / self.T_i) + 1.0) / 2
        return [(base - self.eta_min) * share + self.eta_min for base in self.base_lrs]


class CyclicLR(LRScheduler):
    """Rates that rise from `base_lr` to `max_lr` in `step_size_up` steps and fall in `step_size_down` (Smith, WACV 2017).

    mode        "triangular"; "triangular2", in which the height is halved in each cycle; "exp_range", in which it is gamma**step
    scale_fn    a function of the number of the cycle, or of the step, that gives the height instead
    scale_mode  "cycle" or "iterations": what `scale_fn` takes

    ValueError for another mode without `scale_fn`.
    """

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: float = 2000, step_size_down: float | None = None,
                 mode: str = "triangular", gamma: float = 1.0, scale_fn: Callable[[Any], Any] | None = None, scale_mode: str = "cycle",
                 last_epoch: int = -1):
        groups = _optimizer(self, optimizer).param_groups
        bases = [number("CyclicLR", "base_lr", rate) for rate in _for_groups(self, "base_lr", base_lr, len(groups))]
        self.max_lrs = [number("CyclicLR", "max_lr", rate) for rate in _for_groups(self, "max_lr", max_lr, len(groups))]
        if last_epoch == -1:
            for rate, group in zip(bases, groups, strict=True):
                group["lr"].overwrite(Tensor(rate, F32))
        up = number("CyclicLR", "step_size_up", step_size_up)
        down = up if step_size_down is None else number("CyclicLR", "step_size_down", step_size_down)
        self.total_step_size, self.step_up_ratio = up + down, up / (up + down)
        heights: dict[str, tuple[Callable[[Any], Any], str]] = {
            "triangular": (lambda _: 1.0, "cycle"), "triangular2": (lambda cycle: 0.5 ** (cycle - 1), "cycle"),
            "exp_range": (lambda step: gamma**step, "iterations"),
        }
        if scale_fn is None and mode not in heights:
            raise ValueError(f"For 'CyclicLR', the argument 'mode' must be one of {list(heights)}, or 'scale_fn' be given, but got "
                             f"{mode!r}.")
        self._height, self.scale_mode = heights[mode] if scale_fn is None else (scale_fn, scale_mode)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = [Tensor(rate, F32) for rate in bases]

    def get_lr(self) -> Sequence[Tensor]:
        part = self.last_epoch / self.total_step_size
        cycle = arithmetic.floor(part + 1.0)
        place = part + 1.0 - cycle
        factor = arithmetic.where(place <= self.step_up_ratio, place / self.step_up_ratio, (place - 1.0) / (self.step_up_ratio - 1.0))
        height = factor * self._height(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return [base + (most - base) * height for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]


class SequentialLR:
    """Several schedules, one after the other: `schedulers[i]` until step `milestones[i]`.

    ValueError for schedules of different optimisers, and unless there is one milestone less than schedules.
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1):
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("For 'SequentialLR', the argument 'schedulers' must be schedules of 'optimizer', but one has another "
                             "optimizer.")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"For 'SequentialLR', the argument 'milestones' must have one item less than 'schedulers', but got "
                             f"{len(milestones)} and {len(schedulers)}.")
        self._schedulers, self.milestones, self.optimizer = list(schedulers), list(milestones), optimizer
        self.last_epoch = Parameter(Tensor(last_epoch + 1.0, F32), name="last_epoch_SequentialLR")
        for group in optimizer.param_groups:
            group["lr"].overwrite(group["initial_lr"])
        for scheduler in self._schedulers:
            scheduler.last_epoch.overwrite(scheduler.last_epoch - 1)
        self._schedulers[0].step()

    def step(self) -> None:
        """Set the rates of the next step."""
        self.last_epoch.overwrite(self.last_epoch + 1)
        number_of_step = int(self.last_epoch)
        place = bisect_right(self.milestones, number_of_step)
        if place > 0 and self.milestones[place - 1] == number_of_step:
            self._schedulers[place].step(0)
        else:
            self._schedulers[place].step()

    def get_last_lr(self) -> list[Tensor]:
        """Return the rate of each group now."""
        return [group["lr"].value() for group in self.optimizer.param_groups]


class ReduceLROnPlateau:
    """The rate times `factor` when a metric has not become better for more than `patience` steps: `scheduler.step(metric)`.

    mode            "min": smaller is better; "max"
    threshold       by how much it must become better: as a share with `threshold_mode` "rel", as a difference with "abs"
    cooldown        how many steps after a reduction are not counted
    min_lr          the least rate, one or one for each group
    eps             a rate is kept if it would fall by no more

    TypeError for another optimizer; ValueError for another mode and a factor of 1 or above.
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8):
        if factor >= 1.0:
            raise ValueError(f"For 'ReduceLROnPlateau', the argument 'factor' must be below 1, but got {factor}.")
        groups = _optimizer(self, optimizer).param_groups
        self.optimizer, self.factor, self.patience, self.threshold = optimizer, factor, patience, threshold
        self.mode = choice("ReduceLROnPlateau", "mode", mode, ("min", "max"))
        self.threshold_mode = choice("ReduceLROnPlateau", "threshold_mode", threshold_mode, ("rel", "abs"))
        self.cooldown, self.eps = cooldown, eps
        self.min_lrs = [number("ReduceLROnPlateau", "min_lr", rate) for rate in _for_groups(self, "min_lr", min_lr, len(groups))]
        self._last_lr = [group["lr"] for group in groups]
        self.last_epoch = Parameter(Tensor(0, I32), name="last_epoch_ReduceLROnPlateau")
        self.best = Parameter(Tensor(math.inf if mode == "min" else -math.inf, F32), name="best")
        self.cooldown_counter = Parameter(Tensor(0.0, F32), name="cooldown_counter")
        self.wait = Parameter(Tensor(0.0, F32), name="wait")

    def step(self, metrics: Any) -> bool:
        """Note a metric, and set the rates."""
        self.last_epoch.overwrite(self.last_epoch + 1)
        metric, none = _as_number(metrics), constant(0.0, F32)
        better = self._is_better(metric)
        self.best.overwrite(arithmetic.where(better, metric, self.best))
        cools = self.cooldown_counter > 0
        waited = arithmetic.where(better.logical_or(cools), none, self.wait + 1)
        reduces = waited > self.patience
        left = arithmetic.where(cools, self.cooldown_counter - 1, self.cooldown_counter)
        self.cooldown_counter.overwrite(arithmetic.where(reduces, constant(float(self.cooldown), F32), left))
        self.wait.overwrite(arithmetic.where(reduces, none, waited))
        for rate, lowest in zip(self._last_lr, self.min_lrs, strict=True):
            new = arithmetic.clamp(rate * self.factor, lowest)
            rate.overwrite(arithmetic.where(reduces.logical_and(rate > new + self.eps), new, rate))
        return True

    def in_cooldown(self) -> Tensor:
        """Return whether steps are not counted now."""
        return self.cooldown_counter > 0

    def get_last_lr(self) -> list[Tensor]:
        """Return the rate of each group now."""
        return [rate.value() for rate in self._last_lr]

    def _is_better(self, metric: Tensor) -> Tensor:
        sign = -1.0 if self.mode == "min" else 1.0
        bound = self.best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else self.best + sign * self.threshold
        return metric < bound if self.mode == "min" else metric > bound


def _share(owner: object, argument: str, value: Any) -> float:
    """Return a factor as a float; ValueError unless it is above 0 and at most 1."""
    name = type(owner).__name__
    if not 0.0 < number(name, argument, value) <= 1.0:
        raise ValueError(f"For '{name}', the argument '{argument}' must be above 0 and at most 1, but got {value}.")
    return float(value)
