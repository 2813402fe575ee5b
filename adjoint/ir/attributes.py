"""Attributes of ops: the kinds of values they hold, and their conversion from and to text.

An op's dataclass fields are its attributes; nothing else says what they are.  The kinds are int, float, bool, str, DType,
types, sizes that have names, and tuples of these.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.op import Op
from adjoint.ir.types import DType, Poly, TensorType, Type

__all__ = ["OpAttribute", "attributes_of", "coerced", "described"]


@dataclass(frozen=True, slots=True)
class OpAttribute:
    """Describes one attribute of an op: a field of the op's class, which IR text shows in parentheses.

    default  its value where text does not give it; MISSING where it must be given
    """

    name: str
    annotation: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING

    def is_default(self, value: Any) -> bool:
        """Return True if text may omit the value; 0.0 and -0.0 differ here, and so do 1 and True."""
        return not self.required and repr(value) == repr(self.default)


@functools.cache
def attributes_of(op: type[Op]) -> dict[str, OpAttribute]:
    """Return the attributes of an op's class by name, in order, including `symbol` if the op has one."""
    hints = typing.get_type_hints(op)
    return {
        f.name: OpAttribute(f.name, hints[f.name], f.default)
        for f in dataclasses.fields(op)
    }


def coerced(value: Any, annotation: Any) -> Any:
    """Return `value`, as read from text, converted to the annotation's type; ValueError if it does not fit.

    In text, an integer may be written for a float, and a dtype and a scalar type are the same word: `f32`.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        for choice in arguments:
            try:
                return coerced(value, choice)
            except ValueError:
                continue
    elif origin is tuple:
        if isinstance(value, tuple):
            if len(arguments) == 2 and arguments[1] is Ellipsis:
                return tuple(coerced(item, arguments[0]) for item in value)
            if len(arguments) == len(value):
                return tuple(coerced(item, a) for item, a in zip(value, arguments, strict=True))
    elif annotation is Any:
        return value
    elif annotation is None or annotation is type(None):
        if value is None:
            return None
    elif annotation is bool or annotation is str:
        if isinstance(value, annotation):
            return value
    elif annotation is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif annotation is Poly:
        if isinstance(value, Poly):
            return value
    elif annotation is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _real(value)
    elif annotation is DType:
        if isinstance(value, TensorType) and value.rank == 0:
            return value.dtype
    elif isinstance(annotation, type) and issubclass(annotation, Type) and isinstance(value, annotation):
        return value
    raise ValueError(described(annotation))


def _real(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number in the range of float64") from None


def described(annotation: Any) -> str:
    """Return the annotation in words, for messages: `a list of integers`."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(described(choice) for choice in arguments)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return f"a list, each item {described(arguments[0])}"
        return f"a list of {len(arguments)}"
    words = {
        int: "an integer", float: "a number", bool: "true or false", str: "a string", DType: "a dtype such as f32",
        Poly: "a size such as (n + 1)",
        TensorType: "a tensor type such as f32[3]", type(None): "none",
    }
    return words.get(annotation, "a type such as f32[3]" if annotation is Type else f"a {annotation}")
