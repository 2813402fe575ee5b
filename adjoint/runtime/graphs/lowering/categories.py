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
"""The classes of values that are known only when the graph runs."""

NUMBERS: dict[str, tuple[type, TensorType]] = {
    "bool": (bool, scalar(BOOL)), "int": (int, scalar(I64)), "float": (float, scalar(F64)),
}
"""For each category of numbers, the Python type and the type in the graph."""


def categories_of(values: Sequence[Any]) -> list[str]:
    """Return the categories of tensors and run-time numbers."""
    return ["tensor" if isinstance(x, Tensor) else x.category for x in values]


def as_python(tensors: Sequence[Tensor], categories: Sequence[str]) -> list[Any]:
    """Return tensors as Python values: those that represent numbers become numbers."""
    return [x if category == "tensor" else NUMBERS[category][0](x.item()) for x, category in zip(tensors, categories, strict=True)]


def value_slot(x: Any) -> OutlineSlot | None:
    """Return the slot of a value of a graph in an outline; None for a user's tensor, which is returned as it is."""
    if isinstance(x, GraphTensor):
        return OutlineSlot("tensor", x.type)
    return OutlineSlot(x.category, x.type) if isinstance(x, (GraphNumber, OutlineSlot)) else None


def tensor_slot(x: Any) -> OutlineSlot | None:
    """Return a slot as `value_slot` does, but for every tensor, parameters too: Python sees its value at run time."""
    return OutlineSlot("tensor", x.type) if isinstance(x, Tensor) else value_slot(x)
