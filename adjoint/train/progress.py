"""A progress bar on the terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from adjoint.runtime.tensor.tensor import Tensor
from adjoint.train.callback.callback import Callback, RunContext, loss_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["ProgressBar"]

_SECONDS = 0.1
"""Seconds between two updates of the bar."""


class ProgressBar(Callback):
    """Show epoch, step, loss and time in the last line of the terminal, below other output; the bar is removed at the end.

    epochs  the number of the last epoch

    It is drawn after steps and when something is printed, never by a thread, so that a debugger in a hook can be used.
    """

    sees_evaluation_in_fit = False

    def __init__(self, epochs: int = 0, console: Console | None = None):
        self._epochs, self._console = epochs, console
        self._bar: Progress | None = None
        self._task: Any = None
        self._drawn = 0.0

    def __enter__(self) -> ProgressBar:
        # Loaded here: only a training that shows a bar needs it.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._bar = bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"), TimeElapsedColumn(),
            TimeRemainingColumn(), console=self._console or Console(file=sys.stdout), auto_refresh=False, transient=True)
        bar.start()
        return self

    def __exit__(self, *raised: Any) -> None:
        assert self._bar is not None
        self._bar.stop()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        self._begin(f"epoch {run.cur_epoch_num}/{self._epochs}", run.batch_num)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        self._begin("evaluation", run_context.original_args().batch_num)

    def _begin(self, title: str, count: int) -> None:
        assert self._bar is not None
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(title, total=count, loss="")
        self._bar.refresh()

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        loss = loss_of(run.net_outputs)
        loss = loss_of(loss) if isinstance(loss, Tensor) else loss
        self._step(run, f"loss {loss:.4g}" if isinstance(loss, float) else "")

    def on_eval_step_end(self, run_context: RunContext) -> None:
        self._step(run_context.original_args(), "")

    def _step(self, run: Any, loss: str) -> None:
        assert self._bar is not None
        self._bar.update(self._task, completed=(run.cur_step_num - 1) % run.batch_num + 1, loss=loss)
        if time.monotonic() - self._drawn > _SECONDS:
            self._drawn = time.monotonic()
            self._bar.refresh()
