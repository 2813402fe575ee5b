"""The categories of a graph's values ("tensor", or a type of Python numbers), and their slots in outlines.

An outline is the structure of a value, with slots in place of the values that the graph computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.types import BOOL, F64, I64, TensorType, scalar
from adjoint.runtime.graphs.inputs.outline import OutlineSlot
from adjoint.runtime.graphs.lowering.graph_values import GraphNumber, GraphTensor
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["DYNAMIC", "NUMBERS", "as_python", "categories_of", "tensor_slot", "value_slot"]

DYNAMIC = (Tensor, GraphNumber)
"""Classes of values that are known only when the graph runs."""

NUMBERS: dict[str, tuple[type, TensorType]] = {
    "bool": (bool, scalar(BOOL)), "int": (int, scalar(I64)), "float": (float, scalar(F64)),
}
"""For each category of numbers, the Python type and the type in the graph."""


def categories_of(values: Sequence[Any]) -> list[str]:
    """Return the category of each value: "tensor", or for a run-time number (known only when the graph runs) "int", "float" or "bool"."""
    return ["tensor" if isinstance(x, Tensor) else x.category for x in values]


def as_python(tensors: Sequence[Tensor], categories: Sequence[str]) -> list[Any]:
    """Return the values that Python gets for tensors that a graph has computed: the tensors themselves, or the numbers that they represent.

    categories  for each tensor "tensor", or the Python type of the number: "int", "float" or "bool"
    """
    return [x if category == "tensor" else NUMBERS[category][0](x.item()) for x, category in zip(tensors, categories, strict=True)]


def value_slot(x: Any) -> OutlineSlot | None:
    """Return the slot that represents `x` in an outline (a structure with slots for tensors) if `x` is a tensor or number of the graph: an
    argument, or a value that its nodes compute.

    Return None for any other value: it is a constant of the outline.  The user's own tensors are constants, so each call of the graph
    returns the same tensor object.
    """
    if isinstance(x, GraphTensor):
        return OutlineSlot("tensor", x.type)
    return OutlineSlot(x.category, x.type) if isinstance(x, (GraphNumber, OutlineSlot)) else None


def tensor_slot(x: Any) -> OutlineSlot | None:
    """Return the slot that stands for a value in an outline (a structure with slots for tensors).

    It does so as `value_slot` does, but also for Parameters and other tensors from outside of the graph.  It is used for values that Python
    gets when the graph runs.
    """
    return OutlineSlot("tensor", x.type) if isinstance(x, Tensor) else value_slot(x)
