"""Change the learning rate while training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.ir.types import F32
from adjoint.nn.checks import boolean, least_integer, number
from adjoint.ops.state import assign
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.callback.callback import Callback, RunContext
from adjoint.train.callback.monitored import Monitored

__all__ = ["LearningRateScheduler", "ReduceLROnPlateau"]


def _learning_rate(owner: str, run: Any) -> Parameter:
    """Return the learning rate of the run's optimiser; raise ValueError unless it is a single number."""
    optimizer = run.optimizer
    rate = getattr(optimizer, "learning_rate", None)
    if not isinstance(rate, Parameter) or (optimizer.is_group and isinstance(optimizer.get_lr(), tuple)):
        raise ValueError(f"{owner} does not support dynamic learning rate and group learning rate now: give the optimizer one number.")
    return rate


class LearningRateScheduler(Callback):
    """Set the learning rate after each step to `learning_rate_function(learning rate, number of the step)`.

    Raise ValueError in training when the optimiser has a schedule or several rates instead of one number.
    """

    sees_evaluation_in_fit = False

    def __init__(self, learning_rate_function: Callable[[float, int], float]):
        if not callable(learning_rate_function):
            raise TypeError(f"For 'LearningRateScheduler', the argument 'learning_rate_function' must be a function, but got "
                            f"{learning_rate_function!r} of type {type(learning_rate_function).__name__}.")
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        rate = _learning_rate("LearningRateScheduler", run)
        now = float(str(rate.asnumpy()[()]))  # 0.1 itself, not the float64 nearest to float32's 0.1
        new = number("LearningRateScheduler", "result of learning_rate_function", self.learning_rate_function(now, run.cur_step_num))
        if not math.isclose(now, new, rel_tol=1e-10):
            assign(rate, Tensor(new, F32))


class ReduceLROnPlateau(Callback):
    """Multiply the learning rate by `factor` when a value has not improved for `patience` epochs.

    monitor    "loss"; in `Model.fit` also "eval_loss" or the name of a metric
    factor     between 0 and 1
    verbose    print what happens
    mode       "min": smaller is better; "max"; "auto": by the name, losses and errors fall and others rise
    min_delta  the least improvement that counts
    cooldown   for how many epochs after a reduction nothing is counted
    min_lr     the lower bound of the learning rate
    """

    sees_evaluation_in_fit = False

    def __init__(
        self, monitor: str = "eval_loss", factor: float = 0.1, patience: int = 10, verbose: bool = False, mode: str = "auto",
        min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0,
    ):
        name = "ReduceLROnPlateau"
        self._watched = Monitored(name, monitor, mode, min_delta)
        if not isinstance(factor, float):
            raise TypeError(f"For '{name}', the argument 'factor' must be a float, but got {factor!r} of type {type(factor).__name__}.")
        if not 0.0 < factor < 1.0:
            raise ValueError(f"For '{name}', the argument 'factor' must be in (0.0, 1.0), but got {factor}.")
        self.factor = factor
        self.patience = least_integer(name, "patience", patience, 0)
        self.verbose = boolean(name, "verbose", verbose)
        self.cooldown = least_integer(name, "cooldown", cooldown, 0)
        self.min_lr = number(name, "min_lr", min_lr)
        self.wait = self.cooldown_counter = 0

    @property
    def best(self) -> float:
        """The best value so far."""
        return self._watched.best

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait = self.cooldown_counter = 0
        self._watched.clear()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        rate = _learning_rate("ReduceLROnPlateau", run)
        current = self._watched.value(run)
        if current is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._watched.better(current, self._watched.best):
            self._watched.best = current
            self.wait = 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                if rate.item() > self.min_lr:
                    assign(rate, Tensor(max((rate * self.factor).item(), self.min_lr), F32))
                    if self.verbose:
                        print(f"Epoch {run.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate to {rate.asnumpy()!s}.", flush=True)
                self.cooldown_counter, self.wait = self.cooldown, 0

    def state_dict(self) -> dict[str, Any]:
        return {"wait": self.wait, "cooldown_counter": self.cooldown_counter, "best": self._watched.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.wait, self.cooldown_counter, self._watched.best = state["wait"], state["cooldown_counter"], state["best"]
