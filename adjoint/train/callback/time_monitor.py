"""Print how long epochs and steps take."""

from __future__ import annotations

import time
from typing import Any

from adjoint.nn.checks import boolean, positive
from adjoint.train.callback.callback import Callback, RunContext

__all__ = ["TimeMonitor"]


class TimeMonitor(Callback):
    """Print the time of each epoch and the mean time of its steps, in milliseconds; an evaluation inside an epoch has a line of its own.

    data_size  steps of an epoch, if the run does not know the number
    data_time  print the mean time of waiting for a batch too
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False):
        self.data_size = data_size
        self.data_time = boolean("TimeMonitor", "data_time", data_time)
        self.epoch_time = time.time()
        self._begun: dict[str, float] = {}
        self._data_time_sum = 0.0
        self._data_time_start = 0.0

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._data_time_sum += time.time() - self._data_time_start

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._data_time_start = time.time()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self._data_time_sum, self._data_time_start = 0.0, time.time()
        self.epoch_begin(run_context)

    def epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_time = self._begun[run_context.original_args().get("mode", "")] = time.time()

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        mode = run.get("mode", "")
        spent = (time.time() - self._begun.get(mode, self.epoch_time)) * 1000
        steps: Any = run.get("batch_num")
        if not isinstance(steps, int) or steps <= 0:
            steps = positive("TimeMonitor", "data_size", self.data_size)
        waited = f" (data time: {self._data_time_sum * 1000 / steps:5.3f} ms)" if self.data_time else ""
        print(f"{mode.title()} epoch time: {spent:5.3f} ms, per step time: {spent / steps:5.3f} ms{waited}", flush=True)
