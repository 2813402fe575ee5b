"""Private MindSpore names that programs import, implemented with the public API; `paths.PRIVATE` lists their paths."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.process.parallel_context import (
    ParallelMode,
    device_count_is_set,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)
from adjoint.runtime.tensor.structure import mapped
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "auto_parallel_context", "cached_primitive", "device_num", "enable_parallel_optimizer", "executor", "full_batch", "getter",
    "global_rank", "gradients_mean", "is_parallel", "opt_init_args_register", "parallel_mode", "parameter_broadcast", "pipeline_stages",
    "scaled", "unscaled",
]


class _Executor:
    """MindSpore's eager executor, reduced to the one method that programs call."""

    def sync(self) -> None:
        """Do nothing: operators have finished when they return."""


executor = _Executor()


def getter(setting: str) -> Callable[[], Any]:
    """Return a function that returns a setting of `set_auto_parallel_context`."""
    return functools.partial(get_auto_parallel_context, setting)


device_num, global_rank, parallel_mode = getter("device_num"), getter("global_rank"), getter("parallel_mode")
gradients_mean, parameter_broadcast = getter("gradients_mean"), getter("parameter_broadcast")
full_batch, pipeline_stages = getter("full_batch"), getter("pipeline_stages")
enable_parallel_optimizer = getter("enable_parallel_optimizer")


def is_parallel() -> bool:
    """Return whether the program uses more than one process."""
    return get_auto_parallel_context("parallel_mode") != ParallelMode.STAND_ALONE


class _ParallelContext:
    """Access to the settings of `set_auto_parallel_context` by methods: `get_device_num()`, `set_device_num(2)`."""

    def __getattr__(self, name: str) -> Any:
        action, _, setting = name.partition("_")
        if name == "get_device_num_is_set":
            return device_count_is_set
        if action == "get":
            return getter(setting)
        if action == "set":
            return lambda value: set_auto_parallel_context(**{setting: value})
        if name == "reset":
            return reset_auto_parallel_context
        raise AttributeError(f"The context of parallel programs has no {name!r}: it has get_ and set_ with the names of "
                             "'set_auto_parallel_context'.", name=name)


_parallel = _ParallelContext()


def auto_parallel_context() -> _ParallelContext:
    """Return the shared context of parallel programs."""
    return _parallel


def cached_primitive(kind: type) -> Callable[..., Any]:
    """Return a function that makes a primitive of a class from its constructor's arguments."""
    return lambda *arguments, **named: kind(*arguments, **named)


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Keep the arguments of an optimizer's `__init__` in `init_params`, `init_learning_rate` and `init_args`, as MindSpore does."""

    @functools.wraps(fn)
    def initialised(self: Any, /, *arguments: Any, **named: Any) -> None:
        bound = inspect.signature(fn).bind(self, *arguments, **named)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        params, optimizer = given.pop("params", None), given.pop("optimizer", None)
        rate = given.pop("learning_rate", None)
        fn(self, *arguments, **named)
        own = self.__dict__
        own["init_params"] = {"params": params} if optimizer is None else dict(optimizer.init_params)
        own["init_learning_rate"] = None if isinstance(rate, Cell) else rate.tolist() if isinstance(rate, Tensor) else rate
        own["init_args"] = given

    return initialised


def scaled(scale: Any, inputs: Any) -> Any:
    """Multiply a tensor, or each tensor of a tuple or list, by a scale; each keeps its dtype."""
    return mapped(inputs, lambda x: x * scale.astype(x.dtype)) if isinstance(inputs, (tuple, list)) else inputs * scale.astype(inputs.dtype)


def unscaled(scale: Any, inputs: Any) -> Any:
    """Divide a tensor, or each tensor of a tuple or list, by a scale; each keeps its dtype."""
    return scaled(1.0 / scale, inputs)
