"""`mindspore._c_expression.typing`: MindSpore's classes of dtypes, which programs ask about with `isinstance`, and functions of dtypes.

Here all dtypes are of one class.  `Float(32)` is the dtype float32, `Float()` the kind of all floats; `isinstance(float32, Float)` is true.
"""

from __future__ import annotations

from typing import Any

from adjoint.compat.checks import _below
from adjoint.ir.types import BF16, DTYPES, DType
from adjoint.runtime.tensor.kinds import KINDS, NamedKind, named_kind

__all__ = ["BFloat", "Bool", "Float", "Int", "Number", "UInt", "is_subclass", "number_type", "str_to_type", "type_size_in_bytes"]


class _Kinds(type):
    """A class without instances of its own: those of its kind are dtypes, and the kind of all of them."""

    dtypes: dict[int, DType]
    kind: NamedKind | None

    def __call__(cls, bits: int | None = None) -> Any:
        if bits is None:
            return cls.kind if cls.kind is not None else next(iter(cls.dtypes.values()))
        if bits not in cls.dtypes:
            raise RuntimeError(f"For '{cls.__name__}', the argument 'bits' must be one of {list(cls.dtypes)}, but got {bits!r}.")
        return cls.dtypes[bits]

    def __instancecheck__(cls, value: object) -> bool:
        return value in cls.dtypes.values() or (cls.kind is not None and value is cls.kind)


def _kinds(name: str, kind: str | None, dtypes: list[DType]) -> Any:
    doc = f"The class of the dtypes {', '.join(map(str, dtypes))}, for `isinstance`; called with a number of bits, it returns the dtype."
    sizes = {8 * dtype.size: dtype for dtype in dtypes}
    return _Kinds(name, (), {"dtypes": sizes, "kind": KINDS[kind] if kind else None, "__doc__": doc, "__module__": __name__})


def _of(kind: str) -> list[DType]:
    return [dtype for dtype in DTYPES.values() if dtype.kind == kind and dtype is not BF16]


Float, Int, UInt = _kinds("Float", "Float", _of("f")), _kinds("Int", "Int", _of("i")), _kinds("UInt", "UInt", _of("u"))
BFloat, Bool = _kinds("BFloat", None, [BF16]), _kinds("Bool", None, _of("b"))

number_type = (*_of("i"), *_of("u"), *_of("f"), BF16)
"""All dtypes of numbers."""


class _Numbers(_Kinds):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (DType, Float, Int, UInt)) or value is cls.kind


Number = _Numbers("Number", (), {"dtypes": {}, "kind": KINDS["Number"], "__module__": __name__,
                                 "__doc__": "The class of all dtypes and kinds of numbers, for `isinstance`."})


def is_subclass(kind: Any, above: Any) -> bool:
    """Return whether a dtype or kind is another one, or below it: float32 is below `number` and `float_`."""
    return _below(kind, above)


def str_to_type(name: str) -> Any:
    """Return the dtype or kind with a name such as "Float32", "float32" or "Number"; ValueError for another name."""
    found = named_kind(name) or named_kind(name.capitalize()) or named_kind(name.capitalize().replace("int", "Int"))
    if found is None:
        raise ValueError(f"For 'str_to_type', there is no dtype {name!r}.")
    return found


def type_size_in_bytes(kind: DType) -> int:
    """Return how many bytes an element of a dtype has."""
    return kind.size
