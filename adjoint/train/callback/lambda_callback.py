"""A callback made of functions."""

from __future__ import annotations

from collections.abc import Callable

from adjoint.train.callback.callback import EVAL_HOOKS, TRAIN_HOOKS, Callback, RunContext

__all__ = ["LambdaCallback"]

_Hook = Callable[[RunContext], object] | None


class LambdaCallback(Callback):
    """A callback whose hooks are given as functions by keyword, each called with a `RunContext`; raise TypeError for a non-function."""

    def __init__(
        self, on_train_epoch_begin: _Hook = None, on_train_epoch_end: _Hook = None, on_train_step_begin: _Hook = None,
        on_train_step_end: _Hook = None, on_train_begin: _Hook = None, on_train_end: _Hook = None, on_eval_epoch_begin: _Hook = None,
        on_eval_epoch_end: _Hook = None, on_eval_step_begin: _Hook = None, on_eval_step_end: _Hook = None, on_eval_begin: _Hook = None,
        on_eval_end: _Hook = None,
    ):
        given = dict(locals())
        for hook in (*TRAIN_HOOKS, *EVAL_HOOKS):
            function = given[hook]
            if function is None:
                continue
            if not callable(function):
                raise TypeError(f"For 'LambdaCallback', the argument '{hook}' must be a function, but got {function!r} "
                                f"of type {type(function).__name__}.")
            setattr(self, hook, function)
