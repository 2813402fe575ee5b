"""The base class of callbacks, their argument, and calling several in order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, Self

import numpy as np

from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["EVAL_HOOKS", "TRAIN_HOOKS", "Callback", "CallbackList", "CallbackParameters", "RunContext", "loss_of"]

_HOOKS = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
TRAIN_HOOKS = tuple(f"on_train_{hook}" for hook in _HOOKS)
EVAL_HOOKS = tuple(f"on_eval_{hook}" for hook in _HOOKS)


class CallbackParameters(dict[str, Any]):
    """Returned by `RunContext.original_args`: a dict whose keys are attributes too.

    train_network | eval_network             the cell that is called with each batch
    network, loss_fn, optimizer              as the Model got them
    train_dataset | valid_dataset            as `train` or `eval` got them
    mode                                     "train" or "eval"
    epoch_num, cur_epoch_num                 how many epochs there are; the current one, from 1
    batch_num, cur_step_num                  batches in an epoch; the current step, from 1, counted through all epochs
    train_dataset_element | eval_dataset_element  the current batch
    net_outputs                              what the cell returned for it
    metrics, eval_results                    results of the evaluation in `fit`; the second with "eval_loss"
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"There is no {name!r} in the arguments of this run at this point, only {sorted(self)}.",
                                 name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """The argument of callback hooks; raise TypeError when `original_args` is not a dict."""

    def __init__(self, original_args: dict[str, Any]):
        if not isinstance(original_args, dict):
            raise TypeError(f"The argument 'original_args' of RunContext should be dict type, but got {type(original_args)}.")
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """Return the state of the run, a `CallbackParameters`."""
        return self._original_args

    def request_stop(self) -> None:
        """End the run after the current step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Return whether a callback has asked to end the run."""
        return self._stop_requested


class Callback:
    """Base class of callbacks: a subclass overrides the hooks that it needs, each called with a `RunContext`.

    For `Model.train` the order is

        on_train_begin
            on_train_epoch_begin
                on_train_step_begin, the step, on_train_step_end        for each batch
                on_eval_begin ... on_eval_end                           in `Model.fit`, where the epoch is evaluated
            on_train_epoch_end
        on_train_end

    and `Model.eval` calls the hooks `on_eval_...` in the same order.  A callback is a context manager, entered before its first hook
    and left after its last one, also when the run fails.  The older names (`begin`, `step_end`, ...) are called by both kinds of hooks.

    A callback with state between steps adds it to a saved run by two methods, `state_dict()` and `load_state_dict(state)`: numbers,
    strings, None and Tensors, nested in lists and dicts with strings as keys.
    """

    sees_evaluation_in_fit: bool = True
    """Whether `Model.fit` calls the hooks `on_eval_...` too."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        """Release what `__enter__` acquired."""

    def begin(self, run_context: RunContext) -> None:
        """Older name of `on_train_begin` and `on_eval_begin`."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Older name of `on_train_epoch_begin` and `on_eval_epoch_begin`."""

    def epoch_end(self, run_context: RunContext) -> None:
        """Older name of `on_train_epoch_end` and `on_eval_epoch_end`."""

    def step_begin(self, run_context: RunContext) -> None:
        """Older name of `on_train_step_begin` and `on_eval_step_begin`."""

    def step_end(self, run_context: RunContext) -> None:
        """Older name of `on_train_step_end` and `on_eval_step_end`."""

    def end(self, run_context: RunContext) -> None:
        """Older name of `on_train_end` and `on_eval_end`."""

    def on_train_begin(self, run_context: RunContext) -> None:
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        self.end(run_context)


class CallbackList:
    """Several callbacks as one: entered, called and left in their order.

    callbacks  None, a Callback, or a list or tuple of them; raise TypeError for anything else
    """

    def __init__(self, callbacks: Any):
        found = [] if callbacks is None else [callbacks] if isinstance(callbacks, Callback) else callbacks
        if not isinstance(found, Iterable):
            raise TypeError(f"The 'callbacks' must be a Callback or a list of Callbacks, but got {callbacks!r} "
                            f"of type {type(callbacks).__name__}.")
        self.callbacks: list[Callback] = list(found)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError(f"When the 'callbacks' is a list, the elements in 'callbacks' must be Callbacks, but got {callback!r} "
                                f"of type {type(callback).__name__}.")
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        # The object that entering a callback returns takes its place.
        entered = [(callback, self._entered.enter_context(callback)) for callback in self.callbacks]
        self.callbacks = [inside if isinstance(inside, Callback) else callback for callback, inside in entered]
        return self

    def __exit__(self, *raised: Any) -> bool | None:
        return self._entered.__exit__(*raised)

    def call(self, hook: str, run_context: RunContext) -> None:
        """Call one hook of each callback, `on_train_begin` for example."""
        for callback in self.callbacks:
            getattr(callback, hook)(run_context)

    def __getattr__(self, name: str) -> Callable[[RunContext], None]:
        """Return a hook of all callbacks: `callbacks.step_end(run_context)` is `callbacks.call("step_end", run_context)`."""
        if name not in (*_HOOKS, *TRAIN_HOOKS, *EVAL_HOOKS):
            raise AttributeError(f"Several callbacks have no hook {name!r}.", name=name, obj=self)
        return functools.partial(self.call, name)


def loss_of(outputs: Any) -> Any:
    """Return the loss among the outputs of a training network as a float: the mean of a Tensor, or of the first Tensor in a tuple or list.
    """
    if isinstance(outputs, (tuple, list)) and outputs and isinstance(outputs[0], Tensor):
        return outputs[0]
    return float(np.mean(outputs.asnumpy())) if isinstance(outputs, Tensor) else outputs
