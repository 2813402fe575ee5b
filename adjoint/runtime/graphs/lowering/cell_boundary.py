"""The boundary of a cell in a graph: the values that get new names inside and outside of its region.

They are those of eager mode (`cells.boundary`); of a cell with a `bprop` also its run-time numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.types import F32
from adjoint.runtime.cells.boundary import top_level, with_top_level
from adjoint.runtime.graphs.lowering.categories import DYNAMIC, as_python, categories_of
from adjoint.runtime.tensor.structure import leaves, replaced
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = ["Call", "call_maker", "call_with", "inputs", "numbers", "outputs", "result_maker", "result_with"]

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""

_TAKEN_OUT = constant(0.0, F32)
"""Placeholder for a value of the graph: the stored structure of a call does not refer to the graph that is being made."""


def inputs(args: tuple[Any, ...], kwargs: dict[str, Any], ruled: bool) -> list[Any]:
    """Return the values of a call that get new names inside; `ruled` means that the cell has a `bprop`."""
    return leaves((args, kwargs), DYNAMIC) if ruled else top_level(args)


def call_with(args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any], ruled: bool) -> Call:
    """Return the call with `new` in place of its `inputs`."""
    return replaced((args, kwargs), new, DYNAMIC) if ruled else (with_top_level(args, new), kwargs)


def outputs(output: Any, ruled: bool) -> list[Any]:
    """Return the values of a result that get new names outside."""
    return leaves(output, DYNAMIC) if ruled else top_level(output)


def result_with(output: Any, new: Sequence[Any], ruled: bool) -> Any:
    """Return the result with `new` in place of its `outputs`."""
    return replaced(output, new, DYNAMIC) if ruled else with_top_level(output, new)


def call_maker(args: tuple[Any, ...], kwargs: dict[str, Any], given: Sequence[Any], ruled: bool) -> Callable[[Sequence[Tensor]], Call]:
    """Return the function that rebuilds the arguments of a call from the tensors that represent `given`."""
    args, kwargs = call_with(args, kwargs, [_TAKEN_OUT] * len(given), ruled)
    categories = categories_of(given)
    return lambda tensors: call_with(args, kwargs, as_python(tensors, categories), ruled)


def result_maker(output: Any, results: Sequence[Any], ruled: bool) -> Callable[[Sequence[Tensor]], Any]:
    """Return the function that rebuilds a cell's output from the tensors that represent its `results`."""
    output, categories = result_with(output, [_TAKEN_OUT] * len(results), ruled), categories_of(results)
    return lambda tensors: result_with(output, as_python(tensors, categories), ruled)


def numbers(values: Sequence[Any]) -> frozenset[int]:
    """Return the positions of run-time numbers."""
    return frozenset(i for i, x in enumerate(values) if not isinstance(x, Tensor))
