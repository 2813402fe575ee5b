"""Kinds of values by MindSpore's names, beyond element types: `tensor_type`, `number`, `string`, `TensorType(float32)`, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.types import BOOL, C128, DTYPES, F64, I64, DType
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["KINDS", "NamedKind", "TensorType", "accepts", "named_kind"]


class NamedKind:
    """Represents a kind of values that MindSpore names, such as `mindspore.number`: the values of some Python types.

    name     the name in MindSpore's `str`, such as "Number"
    written  the name in its `repr`, after `mindspore.`
    types    the Python types
    """

    __slots__ = ("name", "types", "written")

    def __init__(self, name: str, written: str, types: tuple[Any, ...]):
        self.name, self.written, self.types = name, written, types

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"mindspore.{self.written}"

    def accepts(self, value: Any) -> bool:
        """Return True if a value is of this kind."""
        return isinstance(value, self.types)


class TensorType(NamedKind):
    """Represents the kind of all tensors with one dtype: `TensorType(float32)`.

    element  the dtype; TypeError if it is not one
    """

    __slots__ = ("element",)

    def __init__(self, element: DType):
        if not isinstance(element, DType):
            raise TypeError(f"For 'TensorType', the argument must be a dtype, but got {element!r} of type {type(element).__name__}.")
        super().__init__(f"Tensor[{element}]", f"tensor[{str(element).lower()}]", (Tensor,))
        self.element = element

    def element_type(self) -> DType:
        """Return the dtype of the tensors."""
        return self.element

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is self.element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and other.element is self.element

    def __hash__(self) -> int:
        return hash((TensorType, self.element.name))


KINDS = {kind.name: kind for kind in (
    NamedKind("Tensor", "tensor", (Tensor,)), NamedKind("Number", "number", (bool, int, float)), NamedKind("Bool", "bool", (bool,)),
    NamedKind("Int", "int", (int,)), NamedKind("UInt", "uint", ()), NamedKind("Float", "float", (float,)),
    NamedKind("String", "string_", (str,)), NamedKind("Tuple", "tuple_", (tuple,)), NamedKind("List", "list_", (list,)),
    NamedKind("Function", "function", (Callable,)), NamedKind("None", "type_none", (type(None),)),
    NamedKind("Dictionary", "dict_", (dict,)), NamedKind("RowTensor", "row_tensor", ()), NamedKind("COOTensor", "coo_tensor", ()),
    NamedKind("CSRTensor", "csr_tensor", ()), NamedKind("MapTensor", "map_tensor", ()),
)}
"""The kinds by name; a kind without types has no values here."""

_PYTHON = {bool: BOOL, int: I64, float: F64, complex: C128}
"""The dtypes of Python numbers."""


def named_kind(name: str) -> NamedKind | DType | None:
    """Return the kind or dtype with a name such as "Number", "Float32" or "Tensor[Float32]"; None if there is none."""
    by_name = {str(dtype): dtype for dtype in DTYPES.values()}
    if name.startswith("Tensor[") and name[7:-1] in by_name:
        return TensorType(by_name[name[7:-1]])
    return KINDS.get(name) or by_name.get(name)


def accepts(kind: Any, value: Any) -> bool:
    """Return True if a value is of a kind; the kind may be a NamedKind, a Python type or a dtype.

    A Python number counts as a value of the dtype Bool, Int64, Float64 or Complex128.
    """
    if isinstance(kind, DType):
        return _PYTHON.get(type(value)) is kind
    return kind.accepts(value) if isinstance(kind, NamedKind) else isinstance(value, kind)
