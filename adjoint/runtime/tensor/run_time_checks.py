"""Checks of the numbers in tensors.

Library code runs in two ways: at once, on tensors that have numbers, and while a graph is made, on symbolic tensors without numbers.  A
check of numbers goes through `checked_on_host`, which makes it now or leaves it to each run of the graph.  There a kernel makes it if it is
a condition on ranges; Python is called only to raise the exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "TRUE", "Range", "RangeCheck", "ShapeOfValues", "called", "checked_on_host", "effect", "emitting", "explained", "is_run_time_number",
    "needs_values",
]

Result = TypeVar("Result")


def emitting() -> bool:
    """Return True while this thread makes a graph: ops become nodes of it, and their results hold no numbers."""
    return getattr(state.tracer, "emits", False)


def is_run_time_number(value: object) -> bool:
    """Return True for a number that is known only when the graph runs; `value.as_tensor(dtype)` returns it as a tensor."""
    return getattr(value, "is_run_time_number", False)


class Range(NamedTuple):
    """Says which integers a check allows in a tensor: those from `low` to `high`, both included.

    low, high  ints, or a tuple with one for each column along the last axis; while a graph is made, also sizes that have names
    ignored    a further number that is allowed; empty for none
    """

    low: Any
    high: Any
    ignored: tuple[int, ...] = ()


TRUE = Range(1, 1)
"""The range for bools that must all be true."""


class RangeCheck:
    """Checks a tensor of integers, or a number: the check fails exactly if a number is outside of a range.

    So a kernel can make it in a graph, and Python is called only if it fails.

    range_   the range; its bounds may be named sizes of a graph, which are numbers when the graph runs
    explain  takes the tensor and the range, with numbers as bounds, and raises the exception if the tensor fails the check; otherwise does
        nothing
    """

    def __init__(self, range_: Range, explain: Callable[[Any, Range], None]):
        self.range, self.explain, self.__name__ = range_, explain, getattr(explain, "__name__", "range")

    def __call__(self, given: Any) -> None:
        self.explain(given, self.range)


def checked_on_host(
    check: Callable[..., None], *tensors: Tensor, conditions: Callable[[], Iterable[tuple[Tensor, Range]]] | None = None
) -> None:
    """Call `check(*tensors)`, which raises an exception if the numbers in the tensors do not fit.

    That happens now or, while a graph is made, at this point each time the graph runs.

    conditions  returns pairs of a tensor computed by ops and a range; the check fails exactly if a number is outside of its range.
        A graph computes the pairs in order, and makes the check by kernels.  A RangeCheck does not need them
    """
    if emitting():
        tracer: Any = state.tracer
        tracer.check(check, tensors, conditions() if conditions is not None else ())
    else:
        check(*tensors)


def effect(name: str, function: Callable[..., None], values: Sequence[Any]) -> None:
    """Call `function(*values)` for what it does, such as a print: now or, while a graph is made, at this point each time the graph runs.

    name  the name of the effect in the graph
    """
    if emitting():
        tracer: Any = state.tracer
        tracer.effect(name, function, values)
    else:
        function(*values)


def called(function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """Call a user's function and return its result.  While a graph is made, the function is parsed instead, and its ops become part of the
    graph.
    """
    if emitting():
        tracer: Any = state.tracer
        return tracer.call(function, arguments, options)
    return function(*arguments, **options)


def explained(run: Callable[[], Result], check: Callable[..., None], *tensors: Tensor) -> Result:
    """Return `run()`.  If the op in it rejects the numbers of its operands, call `check(*tensors)`, which raises a more detailed error.

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


class ShapeOfValues(RuntimeError):
    """Raised while a graph is made for an operator whose result has a shape that values decide, where that cannot be."""


def needs_values(op: str, why: str) -> None:
    """Raise ShapeOfValues if a graph is being made: for an operator whose result has a shape that depends on the numbers in its operands.

    op   the operator's name
    why  the reason, for the message
    """
    if emitting():
        raise ShapeOfValues(f"For '{op}', the result's shape depends on values: {why}; call it outside of the graph.")
