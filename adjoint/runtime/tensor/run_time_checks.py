"""Checks of the numbers that tensors hold.

Library code runs in two ways: at once, on tensors whose numbers are there, and while a graph is made, on symbolic tensors that
have none.  A check of numbers goes through `checked_on_host`, which makes it now or leaves it to each run of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["called", "checked_on_host", "emitting", "explained", "is_run_time_number", "needs_values"]

Result = TypeVar("Result")


def emitting() -> bool:
    """Return True while a graph is being made: ops become nodes, and their results hold no values."""
    return getattr(state.tracer, "emits", False)


def is_run_time_number(value: object) -> bool:
    """Return True for a number that is known only when the graph runs; `value.as_tensor(dtype)` is a tensor of it."""
    return getattr(value, "is_run_time_number", False)


def checked_on_host(check: Callable[..., None], *tensors: Tensor) -> None:
    """Call `check(*tensors)`, which raises if the numbers do not fit: now, or wherever the graph that is being made runs."""
    if emitting():
        tracer: Any = state.tracer
        tracer.check(check, tensors)
    else:
        check(*tensors)


def called(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return `function(*arguments, **options)` for a user's function, which is parsed while a graph is made."""
    if emitting():
        tracer: Any = state.tracer
        return tracer.call(function, arguments, options)
    return function(*arguments, **options)


def explained(run: Callable[[], Result], check: Callable[..., None], *tensors: Tensor) -> Result:
    """Return `run()`; if the op rejects its operands' values, `check(*tensors)` raises a more detailed error.

    In a graph the check runs first.
    """
    if emitting():
        checked_on_host(check, *tensors)
        return run()
    try:
        return run()
    except (IndexError, ValueError, RuntimeError):
        check(*tensors)
        raise


def needs_values(op: str, why: str) -> None:
    """Raise RuntimeError while a graph is made, for an operator whose result's shape depends on values."""
    if emitting():
        raise RuntimeError(f"For '{op}', the result's shape depends on values: {why}; call it outside of the graph.")
