"""Rebuild the arguments and the result of a cell's call in a graph from tensors.

Hooks and a `bprop` need them as the user wrote them; the graph has only the tensors that enter and leave the cell, its *boundary*.
"""

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
"""A placeholder tensor in the stored structure of a call, in place of tensors of the graph, so that the structure does not keep that graph
alive.
"""


def call_maker(args: tuple[Any, ...], kwargs: dict[str, Any], given: Sequence[Any],
               ruled: bool) -> Callable[[Sequence[Tensor]], CallArguments]:
    """Return a function that rebuilds the arguments of a cell's call, as (positional, keyword), from tensors that the running graph has
    computed.

    args, kwargs  the arguments while the graph is made
    given   the values among them that enter the cell; the function takes one tensor for each
    ruled   True if the cell has a `bprop`: then run-time numbers (known only when the graph runs) enter it as well
    """
    args, kwargs = call_with(args, kwargs, [_TAKEN_OUT] * len(given), ruled, DYNAMIC)
    categories = categories_of(given)
    return lambda tensors: call_with(args, kwargs, as_python(tensors, categories), ruled, DYNAMIC)


def result_maker(output: Any, results: Sequence[Any], ruled: bool) -> Callable[[Sequence[Tensor]], Any]:
    """Return a function that rebuilds the output of a cell from tensors that the running graph has computed.

    output   the output while the graph is made
    results  the values in it that leave the cell; the function takes one tensor for each
    ruled    True if the cell has a `bprop`: then run-time numbers (known only when the graph runs) leave it as well
    """
    output, categories = result_with(output, [_TAKEN_OUT] * len(results), ruled, DYNAMIC), categories_of(results)
    return lambda tensors: result_with(output, as_python(tensors, categories), ruled, DYNAMIC)


def numbers(values: Sequence[Any]) -> frozenset[int]:
    """Return the positions of those values that are run-time numbers (known only when the graph runs) and not tensors."""
    return frozenset(i for i, x in enumerate(values) if not isinstance(x, Tensor))
