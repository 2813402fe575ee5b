"""Functions of Python numbers under MindSpore's names: `scalar_add(3, 4)` is 7."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from adjoint.foundation.diagnostics import float_of, integer_text
from adjoint.ir.types import BOOL, F32, F64, I64, DType
from adjoint.ops.arguments import check_memory, number, whole, wrong
from adjoint.ops.creation import scalar_to_tensor
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "is_", "is_not", "list_len", "make_list", "make_range", "scalar_add", "scalar_cast", "scalar_div", "scalar_eq", "scalar_floordiv",
    "scalar_ge", "scalar_gt", "scalar_le", "scalar_log", "scalar_lt", "scalar_max", "scalar_min", "scalar_mod", "scalar_mul",
    "scalar_pow", "scalar_sub", "scalar_to_array", "scalar_uadd", "scalar_usub", "shape_mul", "tuple_len", "tuple_reversed",
]

BYTES_OF_INT = 40
"""Bytes that an int takes in a tuple, at least."""


def _checked(name: str, argument: str, value: Any) -> Any:
    return value if isinstance(value, Tensor) else number(name, argument, value)


def _spelled(value: Any) -> str:
    """Format a number for a message."""
    return f"the int {integer_text(value)}" if isinstance(value, int) else str(value)


def _of_two(name: str, function: Callable[[Any, Any], Any], says: str) -> Callable[[Any, Any], Any]:
    def computed(x: Any, y: Any) -> Any:
        first, second = _checked(name, "x", x), _checked(name, "y", y)
        try:
            return function(first, second)
        except ZeroDivisionError:
            raise wrong(name, "y", "other than 0", y) from None
        except OverflowError:
            raise wrong(name, "x", f"such that a float can hold the result with y = {_spelled(second)}", _spelled(first)) from None

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__ = f"{says}, of numbers; TypeError for others, ValueError for a division by zero and beyond the floats."
    return computed


def _power(x: Any, y: Any) -> Any:
    if isinstance(x, int) and isinstance(y, int):
        check_memory("scalar_pow", f"the power {_spelled(y)} of an int of {x.bit_length()} bits", max(0, (x.bit_length() - 1) * y // 8))
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        if x == 0 and y < 0:
            raise wrong("scalar_pow", "x", f"other than 0 for the negative power {_spelled(y)}", x)
        if x < 0 and math.isfinite(x) and math.isfinite(y) and y != math.floor(y):
            raise wrong("scalar_pow", "x", f"at least 0 for the power {y}, which is no integer", _spelled(x))
    return x**y


scalar_add = _of_two("scalar_add", operator.add, "x + y")
scalar_sub = _of_two("scalar_sub", operator.sub, "x - y")
scalar_mul = _of_two("scalar_mul", operator.mul, "x * y")
scalar_div = _of_two("scalar_div", operator.truediv, "x / y")
scalar_floordiv = _of_two("scalar_floordiv", operator.floordiv, "x // y")
scalar_mod = _of_two("scalar_mod", operator.mod, "x % y")
scalar_pow = _of_two("scalar_pow", _power, "x ** y")
scalar_eq = _of_two("scalar_eq", operator.eq, "x == y")
scalar_gt = _of_two("scalar_gt", operator.gt, "x > y")
scalar_ge = _of_two("scalar_ge", operator.ge, "x >= y")
scalar_lt = _of_two("scalar_lt", operator.lt, "x < y")
scalar_le = _of_two("scalar_le", operator.le, "x <= y")
scalar_max = _of_two("scalar_max", max, "The larger of both")
scalar_min = _of_two("scalar_min", min, "The smaller of both")


def scalar_uadd(x: Any) -> Any:
    """+x of a number."""
    return +_checked("scalar_uadd", "x", x)


def scalar_usub(x: Any) -> Any:
    """-x of a number."""
    return -_checked("scalar_usub", "x", x)


def scalar_log(x: Any) -> float:
    """Return the natural logarithm of a number; raise ValueError where there is none."""
    value = number("scalar_log", "x", x)
    if not value > 0:
        raise wrong("scalar_log", "x", "more than 0", x)
    return math.log(value)


def scalar_cast(input_x: Any, input_y: DType) -> bool | int | float:
    """Return a number as one of Python's for a dtype: Int64, Float64 or Bool; raise ValueError for another one, and for a number that it
    cannot hold."""
    kinds = {I64: int, F64: float, BOOL: bool}
    if not isinstance(input_y, DType) or input_y not in kinds:
        raise wrong("scalar_cast", "input_y", "int64, float64 or bool_", input_y)
    value = number("scalar_cast", "input_x", input_x)
    if isinstance(value, float) and input_y is I64 and not math.isfinite(value):
        raise wrong("scalar_cast", "input_x", "finite, to be an int", value)
    return float_of("scalar_cast", "input_x", value) if input_y is F64 else kinds[input_y](value)


def scalar_to_array(input_x: Any) -> Tensor:
    """Return a number as a tensor without dimensions: Float32 for a float, else Int64."""
    value = number("scalar_to_array", "input_x", input_x)
    return scalar_to_tensor(value, F32 if getattr(value, "python_type", type(value)) is float else I64)


def tuple_len(x: tuple[Any, ...] | list[Any]) -> int:
    """Return the number of items of a tuple or list; raise TypeError for others."""
    if not isinstance(x, (tuple, list)):
        raise wrong("tuple_len", "x", "a tuple or a list", x, TypeError)
    return len(x)


def list_len(sequence: Any) -> int:
    """Return the number of items of a list or tuple; raise TypeError for others."""
    if not isinstance(sequence, (tuple, list)):
        raise wrong("list_len", "sequence", "a list or a tuple", sequence, TypeError)
    return len(sequence)


def make_list(*items: Any) -> list[Any]:
    """Return the arguments as a list."""
    return list(items)


def tuple_reversed(x: Any) -> tuple[Any, ...]:
    """Return the items of a tuple in opposite order; raise TypeError for others."""
    if not isinstance(x, tuple):
        raise wrong("tuple_reversed", "x", "a tuple", x, TypeError)
    return x[::-1]


def shape_mul(shape: Any) -> int:
    """Return the product of the sizes in a tuple, 1 for an empty one; raise TypeError for others."""
    if not isinstance(shape, tuple):
        raise wrong("shape_mul", "shape", "a tuple of ints", shape, TypeError)
    return math.prod(whole("shape_mul", "shape", size) for size in shape)


def is_(x: Any, y: Any) -> bool:
    """Return whether two objects are the same one."""
    return x is y


def is_not(x: Any, y: Any) -> bool:
    """Return whether two objects are not the same one."""
    return x is not y


def make_range(start: int, limit: int | None = None, delta: int = 1) -> tuple[int, ...]:
    """Return the numbers of `range` with these arguments, as a tuple; raise TypeError for others than ints, ValueError for a step of 0."""
    first, step = whole("make_range", "start", start), whole("make_range", "delta", delta)
    if step == 0:
        raise wrong("make_range", "delta", "other than 0", delta)
    first, last = (0, first) if limit is None else (first, whole("make_range", "limit", limit))
    check_memory("make_range", f"the ints from {first} to {last}", BYTES_OF_INT * max(0, (last - first) // step))
    return tuple(range(first, last, step))
