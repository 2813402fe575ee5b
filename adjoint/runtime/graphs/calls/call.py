"""A call for which a graph has been found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from adjoint.runtime.graphs.calls.cache import Graphs
from adjoint.runtime.graphs.inputs.templates import Template
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Call"]


class Call(NamedTuple):
    """One call.

    known     the graphs of the function
    template  that of the arguments, None if all of them are tensors
    named     the function, or the Cell
    tensors   those among the arguments
    args, kwargs  what `named` is given where it runs eagerly
    """

    known: Graphs
    template: Template | None
    named: Any
    tensors: Sequence[Tensor]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
