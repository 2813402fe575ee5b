"""`mutable`: mark numbers, tuples, lists and dicts as inputs of a graph.

A number that is no input is a constant of the graph: a call with another number makes a new graph.  Python numbers cannot carry a mark, so
`mutable` returns an object of a subclass, equal to its argument.  Arithmetic with it returns plain numbers.
"""

from __future__ import annotations

from typing import Any

from adjoint.runtime.process.tracer import emitter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["MUTABLE", "MutableBool", "MutableDict", "MutableFloat", "MutableInt", "MutableList", "MutableTuple", "mutable"]


class MutableInt(int):
    """An int that a graph gets as an input, so that another number needs no new graph.  `mutable(3)` returns `MutableInt(3)`."""


class MutableFloat(float):
    """A float that a graph gets as an input, so that another number needs no new graph.  `mutable(0.5)` returns `MutableFloat(0.5)`."""


class MutableBool(int):
    """A bool that a graph gets as an input, so that the other value needs no new graph.  `mutable(True)` returns `MutableBool(True)`.

    It is not a subclass of bool, which Python forbids, but behaves like a bool.
    """

    @property
    def __class__(self) -> type[bool]:
        return bool

    def __and__(self, other: Any) -> Any:
        return bool(self) & (bool(other) if isinstance(other, bool) else other)

    def __or__(self, other: Any) -> Any:
        return bool(self) | (bool(other) if isinstance(other, bool) else other)

    def __xor__(self, other: Any) -> Any:
        return bool(self) ^ (bool(other) if isinstance(other, bool) else other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(bool(self), spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return MutableBool, (int(self),)


class MutableTuple(tuple[Any, ...]):
    """A tuple whose numbers a graph gets as inputs, so that other numbers need no new graph.  `mutable` makes it of a plain tuple.

    dynamic_len  True if `mutable` has declared that the length may change from call to call
    """

    dynamic_len: bool = False


class MutableList(list[Any]):
    """A list whose numbers a graph gets as inputs, not as constants, so that other numbers need no new graph.  `mutable` makes it of a
    plain list.

    dynamic_len  True if `mutable` has declared that the length may change from call to call
    """

    dynamic_len: bool = False


class MutableDict(dict[Any, Any]):
    """A dict whose numbers a graph gets as inputs, so that other numbers need no new graph; its keys are constants.  `mutable` makes it of
    a plain dict.
    """


MUTABLE = {MutableInt: int, MutableFloat: float, MutableBool: bool, MutableTuple: tuple, MutableList: list, MutableDict: dict}
"""The classes of marked values, each with the class of the plain value."""


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """Return `input_data`, marked as an input of graphs: a call with another number then makes no new graph.

    input_data   Tensor (which is an input anyway), bool, int, float, or a tuple, list or dict of these, nested
    dynamic_len  True declares that the length of a tuple or list may change from call to call; a new length still makes a new graph

    In a graph a number is returned as it is.

    TypeError if `input_data` is of another type or contains itself, if `dynamic_len` is not a bool, and if it is True for a value without a
    length.
    """
    if not _fits(input_data, ()):
        raise TypeError("For 'mutable', the 'input_data' should be one of (bool, int, float, Tensor, tuple, list, dict) or their nested "
                        f"structures with no self-reference, but got {type(input_data).__name__}: {input_data}.")
    if not isinstance(dynamic_len, bool):
        raise TypeError(f"For 'mutable', the argument 'dynamic_len' should be bool, but got: {type(dynamic_len).__name__}")
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError("For 'mutable', when the variable_len is True, the first input should be list or tuple, "
                        f"but got: {type(input_data).__name__}")
    if isinstance(input_data, (bool, int, float)) and emitter() is not None:
        return input_data  # in a graph a number is one of the function, not of its arguments
    match input_data:
        case bool():
            return MutableBool(input_data)
        case int():
            return MutableInt(input_data)
        case float():
            return MutableFloat(input_data)
        case dict():
            return MutableDict(input_data)
        case tuple() | list():
            made = MutableTuple(input_data) if isinstance(input_data, tuple) else MutableList(input_data)
            made.dynamic_len = dynamic_len
            return made
        case _:
            return input_data


def _fits(value: Any, around: tuple[int, ...]) -> bool:
    if isinstance(value, (Tensor, int, float)):
        # NumPy's float64 is a float to Python: it is one here too.
        return True
    if not isinstance(value, (tuple, list, dict)) or id(value) in around:
        return False
    items = value.values() if isinstance(value, dict) else value
    return all(_fits(item, (*around, id(value))) for item in items)
