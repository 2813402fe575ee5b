"""Print the loss while training."""

from __future__ import annotations

import math
from typing import Any

from adjoint.nn.checks import least_integer
from adjoint.train.callback.callback import Callback, RunContext, loss_of

__all__ = ["LossMonitor"]


class LossMonitor(Callback):
    """Print the loss of each `per_print_times`-th step (0: of none), and in `Model.fit` the metrics of each evaluation.

    A loss that is not finite raises a ValueError that names the step.  If the network returns several outputs, the first is printed
    and not checked: steps that overflow are part of training with a loss scale.
    """

    sees_evaluation_in_fit = False

    def __init__(self, per_print_times: int = 1):
        self._per_print_times = least_integer("LossMonitor", "per_print_times", per_print_times, 0)
        self._last_print_time = 0

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        epoch, step = run.get("cur_epoch_num", 1), (run.cur_step_num - 1) % run.batch_num + 1
        loss = loss_of(run.net_outputs)
        if isinstance(loss, float) and not math.isfinite(loss):
            raise ValueError(f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot continue, terminating training.")
        if self._per_print_times == 0:
            return
        if run.cur_step_num <= self._last_print_time:  # a new run
            self._last_print_time = 0
        if run.cur_step_num - self._last_print_time >= self._per_print_times:
            self._last_print_time = run.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.get("metrics"):
            print(f"Eval result: epoch {run.cur_epoch_num}, metrics: {_plain(run.metrics)}", flush=True)

    def state_dict(self) -> dict[str, Any]:
        return {"last_print_time": self._last_print_time}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last_print_time = state["last_print_time"]


def _plain(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the results with NumPy scalars as Python numbers, which print without their types."""
    return {name: value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value
            for name, value in metrics.items()}
