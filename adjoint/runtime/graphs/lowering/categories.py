"""The categories of a graph's values (tensors and Python's numbers), and their slots in outlines."""

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
    """Return the category of each value: "tensor", or that of a run-time number."""
    return ["tensor" if isinstance(x, Tensor) else x.category for x in values]


def as_python(tensors: Sequence[Tensor], categories: Sequence[str]) -> list[Any]:
    """Return tensors as Python values: a tensor that represents a number becomes that number."""
    return [x if category == "tensor" else NUMBERS[category][0](x.item()) for x, category in zip(tensors, categories, strict=True)]


def value_slot(x: Any) -> OutlineSlot | None:
    """Return the slot in an outline for a value of the graph; None for other values, such as the user's own tensors, which
    are constants.
    """
    if isinstance(x, GraphTensor):
        return OutlineSlot("tensor", x.type)
    return OutlineSlot(x.category, x.type) if isinstance(x, (GraphNumber, OutlineSlot)) else None


def tensor_slot(x: Any) -> OutlineSlot | None:
    """Return a slot as `value_slot` does, and one for every tensor, Parameters included: Python sees their values at run time."""
    return OutlineSlot("tensor", x.type) if isinstance(x, Tensor) else value_slot(x)
