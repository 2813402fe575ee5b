"""How a graph rebuilds the arguments and the result of a cell's call from the tensors that cross the cell's boundary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.types import F32
from adjoint.runtime.cells.boundary import call_with, result_with
from adjoint.runtime.graphs.lowering.categories import DYNAMIC, as_python, categories_of
from adjoint.runtime.hooks.firing import CallArguments
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["call_maker", "numbers", "result_maker"]

_TAKEN_OUT = constant(0.0, F32)
"""Placeholder for a value of the graph, so that the stored structure of a call does not refer to the graph that is being made."""


def call_maker(args: tuple[Any, ...], kwargs: dict[str, Any], given: Sequence[Any],
               ruled: bool) -> Callable[[Sequence[Tensor]], CallArguments]:
    """Return a function that rebuilds the arguments of a call from the tensors that represent `given`.

    ruled  True if the cell has a `bprop`
    """
    args, kwargs = call_with(args, kwargs, [_TAKEN_OUT] * len(given), ruled, DYNAMIC)
    categories = categories_of(given)
    return lambda tensors: call_with(args, kwargs, as_python(tensors, categories), ruled, DYNAMIC)


def result_maker(output: Any, results: Sequence[Any], ruled: bool) -> Callable[[Sequence[Tensor]], Any]:
    """Return a function that rebuilds a cell's output from the tensors that represent `results`."""
    output, categories = result_with(output, [_TAKEN_OUT] * len(results), ruled, DYNAMIC), categories_of(results)
    return lambda tensors: result_with(output, as_python(tensors, categories), ruled, DYNAMIC)


def numbers(values: Sequence[Any]) -> frozenset[int]:
    """Return the positions of the run-time numbers among values."""
    return frozenset(i for i, x in enumerate(values) if not isinstance(x, Tensor))
