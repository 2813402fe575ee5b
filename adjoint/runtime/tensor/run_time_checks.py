"""Checks of the numbers that tensors hold.

Library code runs in two ways: at once, on tensors whose numbers are there, and while a graph is made, on symbolic tensors that
have none.  A check of numbers goes through `checked_on_host`, which makes it now or leaves it to each run of the graph.  A check that is
a condition on ranges is made by a kernel there; Python is called only for the exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "TRUE", "Range", "RangeCheck", "called", "checked_on_host", "effect", "emitting", "explained", "is_run_time_number", "needs_values",
]

Result = TypeVar("Result")


def emitting() -> bool:
    """Return True while a graph is being made: ops become nodes, and their results hold no values."""
    return getattr(state.tracer, "emits", False)


def is_run_time_number(value: object) -> bool:
    """Return True for a number that is known only when the graph runs; `value.as_tensor(dtype)` is a tensor of it."""
    return getattr(value, "is_run_time_number", False)


class Range(NamedTuple):
    """Bounds of the integers in a tensor, both included.

    low, high  numbers, or one for each column along the last axis
    ignored    at most one number that is allowed besides
    """

    low: int | tuple[int, ...]
    high: int | tuple[int, ...]
    ignored: tuple[int, ...] = ()


TRUE = Range(1, 1)
"""The range of bools that are all true."""


class RangeCheck:
    """A check of one tensor of integers, or number, that fails exactly if one of them is outside of a range.

    explain  raises the exception for a tensor that fails; does nothing for another
    """

    def __init__(self, range_: Range, explain: Callable[[Any], None]):
        self.range, self.explain, self.__name__ = range_, explain, getattr(explain, "__name__", "range")

    def __call__(self, given: Any) -> None:
        self.explain(given)


def checked_on_host(
    check: Callable[..., None], *tensors: Tensor, conditions: Callable[[], Iterable[tuple[Tensor, Range]]] | None = None
) -> None:
    """Call `check(*tensors)`, which raises if the numbers do not fit: now, or wherever the graph that is being made runs.

    conditions  yields tensors computed by ops, with ranges; the check fails exactly if a number is outside of its range.  A graph
                computes them in order, and makes the check by kernels.  A RangeCheck needs none.
    """
    if emitting():
        tracer: Any = state.tracer
        tracer.check(check, tensors, conditions() if conditions is not None else ())
    else:
        check(*tensors)


def effect(name: str, function: Callable[..., None], values: Sequence[Any]) -> None:
    """Call `function(*values)` for its effect, such as a print: now, or wherever the graph that is being made runs."""
    if emitting():
        tracer: Any = state.tracer
        tracer.effect(name, function, values)
    else:
        function(*values)


def called(function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
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
