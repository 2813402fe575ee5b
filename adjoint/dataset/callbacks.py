"""Callbacks of `map`: they are told when its epochs and steps begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.dataset.arguments import INT32_MAX, check_int, check_type
from adjoint.dataset.blocks import Block
from adjoint.dataset.errors import user_error
from adjoint.dataset.nodes import Node, Run
from adjoint.foundation.dataclass import dataclass

__all__ = ["DSCallback", "StepsBegin", "StepsEnd", "check_callbacks"]


@dataclass(frozen=True)
class DSRunContext:
    """Where a pipeline is: its epoch and its step, and the step in the epoch, all counted from 1."""

    cur_epoch_num: int
    cur_step_num_in_epoch: int
    cur_step_num: int


class DSCallback:
    """Base class of callbacks of `map`: a subclass overrides the methods that it needs, each called with the place in the pipeline.

    step_size  `ds_step_begin` and `ds_step_end` are called at each step of this many rows

    Rows are made on demand, so `ds_step_begin` is called when a row is requested, after what was done with the row before.  Where workers
    make rows, steps begin earlier.

    ValueError for a step size below 1; while iterating, a RuntimeError with the traceback of the method that raised.
    """

    step_size = 1

    def __init__(self, step_size: int = 1):
        check_int(step_size, 1, INT32_MAX, "step_size")
        self.step_size = step_size

    def ds_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before the first row of an iterator."""

    def ds_epoch_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before the first row of an epoch."""

    def ds_epoch_end(self, ds_run_context: DSRunContext) -> None:
        """Called after the last row of an epoch."""

    def ds_step_begin(self, ds_run_context: DSRunContext) -> None:
        """Called before a row is mapped."""

    def ds_step_end(self, ds_run_context: DSRunContext) -> None:
        """Called after a row was mapped."""


def check_callbacks(callbacks: Any) -> list[DSCallback]:
    """Return the callbacks of an argument: None, one, or a list; raise TypeError for anything else."""
    if callbacks is None or isinstance(callbacks, DSCallback):
        return [] if callbacks is None else [callbacks]
    if not isinstance(callbacks, (list, tuple)):
        check_type(callbacks, (DSCallback,), "callbacks")
    for index, callback in enumerate(callbacks):
        check_type(callback, (DSCallback,), f"callbacks[{index}]")
    return list(callbacks)


class _Steps(Node):
    """The rows of another node one by one, with callbacks told of each.  Runs that only count rows tell nobody."""

    addressable = False

    def __init__(self, child: Node, callbacks: Sequence[DSCallback]):
        self.child, self.callbacks = child, callbacks
        self.children = (child,)
        self.columns = child.columns

    def known_length(self, run: Run) -> int | None:
        return self.child.known_length(run)

    def _call(self, run: Run, hook: str, epoch: int, step: int, steps: int) -> None:
        """Call one method of the callbacks; those of steps only at the first row of each."""
        for callback in self.callbacks if run.tells else ():
            if "step" in hook and (step - 1) % callback.step_size:
                continue
            try:
                getattr(callback, hook)(DSRunContext(epoch + 1, step, steps))
            except Exception as error:
                raise user_error(f"{hook} of callback {type(callback).__name__}, step {step} of epoch {epoch}", error) from None


class StepsBegin(_Steps):
    """Stands below a node and tells callbacks that its run, its epochs and its steps begin."""

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        if id(self) not in run.steps:
            run.steps[id(self)] = 0
            self._call(run, "ds_begin", epoch, 0, 0)
        self._call(run, "ds_epoch_begin", epoch, 0, run.steps[id(self)])
        for step, block in enumerate(self.child.blocks(run, epoch, start, 1), start + 1):
            run.steps[id(self)] += 1
            self._call(run, "ds_step_begin", epoch, step, run.steps[id(self)])
            yield block


class StepsEnd(_Steps):
    """Stands above a node and tells callbacks that its steps and its epochs end."""

    def blocks(self, run: Run, epoch: int, start: int, size: int) -> Iterator[Block]:
        step, steps = start, run.steps.get(id(self), 0)
        for block in self.child.blocks(run, epoch, start, 1):
            for row in range(block.length):
                step, steps = step + 1, steps + 1
                run.steps[id(self)] = steps
                self._call(run, "ds_step_end", epoch, step, steps)
                yield block[row : row + 1]
        self._call(run, "ds_epoch_end", epoch, step, steps)
