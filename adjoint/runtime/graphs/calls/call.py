"""A `Call`: the state of one call of a function after a graph has been found for it, passed to the code that executes the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adjoint.runtime.graphs.calls.cache import Graphs
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Call"]


class Call(NamedTuple):
    """One call of a function for which a graph has been found, with all that is needed to run it.

    known     the cache of the function's graphs
    template  the structure of the arguments, with the tensors taken out; None if all of them are positional tensors
    named     the function or the Cell
    tensors   the tensors among the arguments
    args, kwargs  the arguments for `named` if the call runs eagerly
    before    how many of `args` come before those for which graphs are made: 1 in a method of Cells, where each Cell has graphs of its own
    """

    known: Graphs
    template: Template | None
    named: Any
    tensors: Sequence[Tensor]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    before: int = 0
