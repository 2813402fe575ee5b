"""Kinds of values by MindSpore's names, beyond element types: `tensor_type`, `number`, `string`, `TensorType(float32)`, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.types import BOOL, DTYPES, F64, I64, DType
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["KINDS", "Kind", "TensorType", "accepts", "named_kind"]


class Kind:
    """The values of some Python types.

    name     as MindSpore's `str` writes it: "Number"
    written  as its `repr` does, after `mindspore.`
    types    the types
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


class TensorType(Kind):
    """Tensors of one dtype."""

    __slots__ = ("element",)

    def __init__(self, element: DType):
        if not isinstance(element, DType):
            raise TypeError(f"For 'TensorType', the argument must be a dtype, but got {element!r} of type {type(element).__name__}.")
        super().__init__(f"Tensor[{element}]", f"tensor[{str(element).lower()}]", (Tensor,))
        self.element = element

    def element_type(self) -> DType:
        """Return the dtype."""
        return self.element

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is self.element

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and other.element is self.element

    def __hash__(self) -> int:
        return hash((TensorType, self.element.name))


KINDS = {kind.name: kind for kind in (
    Kind("Tensor", "tensor", (Tensor,)), Kind("Number", "number", (bool, int, float)), Kind("Bool", "bool", (bool,)),
    Kind("Int", "int", (int,)), Kind("UInt", "uint", ()), Kind("Float", "float", (float,)), Kind("String", "string_", (str,)),
    Kind("Tuple", "tuple_", (tuple,)), Kind("List", "list_", (list,)), Kind("Function", "function", (Callable,)),
    Kind("None", "type_none", (type(None),)), Kind("Dictionary", "dict_", (dict,)), Kind("RowTensor", "row_tensor", ()),
    Kind("COOTensor", "coo_tensor", ()), Kind("CSRTensor", "csr_tensor", ()), Kind("MapTensor", "map_tensor", ()),
)}
"""Kinds by name; a kind without types has no values here."""

_PYTHON = {bool: BOOL, int: I64, float: F64}
"""The dtypes of Python numbers."""


def named_kind(name: str) -> Kind | DType | None:
    """Return the kind or dtype of a name, "Number", "Float32" or "Tensor[Float32]"; None if there is none."""
    by_name = {str(dtype): dtype for dtype in DTYPES.values()}
    if name.startswith("Tensor[") and name[7:-1] in by_name:
        return TensorType(by_name[name[7:-1]])
    return KINDS.get(name) or by_name.get(name)


def accepts(kind: Any, value: Any) -> bool:
    """Return True if a value is of a kind, of a Python type, or a number of a dtype: Python's are Bool, Int64 and Float64."""
    if isinstance(kind, DType):
        return _PYTHON.get(type(value)) is kind
    return kind.accepts(value) if isinstance(kind, Kind) else isinstance(value, kind)
