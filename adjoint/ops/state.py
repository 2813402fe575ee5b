"""State: parameters that are assigned, and data queues."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import user_place
from adjoint.ir.types import DType
from adjoint.ops.arguments import brought_to, integer, number, operand, sizes_argument, wrong
from adjoint.ops.primitive import Primitive
from adjoint.ops.shapes import reshape
from adjoint.runtime.process.location import user_location
from adjoint.runtime.tensor.run_time_checks import effect
from adjoint.runtime.tensor.tensor import Tensor, as_tensor, constant

__all__ = ["GetNext", "assign", "assign_add", "assign_sub", "print_", "register_queue", "unregister_queue"]


def print_(*input_x: Any) -> None:
    """Print tensors with their shapes and dtypes, numbers and text, one below the other; in a graph at each run."""
    effect("print", _print, input_x)


def _print(*items: Any) -> None:
    print(*(Tensor.__repr__(item) if isinstance(item, Tensor) else item for item in items), sep="\n")


def _fitting(op: str, variable: Tensor, value: Any) -> Tensor:
    """`value` as a tensor of the dtype of `variable`; raise TypeError for floats where that holds integers, and for complex numbers where
    that holds real ones.
    """
    if not isinstance(value, Tensor):
        return constant(number(op, "value", value), variable.dtype)
    if value.dtype.is_float and not variable.dtype.is_inexact:
        raise wrong(op, "value", f"of integers, as 'variable', {variable.dtype}; `value.astype(variable.dtype)` cuts the fractions off",
                    value, TypeError)
    return brought_to(op, value, variable.dtype, "value")


def _written(op: str, variable: Any, value: Tensor) -> Tensor:
    if value.shape != variable.shape and not (value.size == 1 and variable.size == 1):
        raise wrong(op, "value", f"of the shape of 'variable', {variable.shape}", value)
    variable.overwrite(value if value.shape == variable.shape else reshape(value, variable.shape))
    return variable


def assign(variable: Any, value: Any) -> Tensor:
    """Make `variable` (a Parameter or Tensor) hold `value`, brought to its dtype; returns the variable.

    TypeError when `variable` is not a Tensor or `value` neither Tensor nor number, ValueError when the shapes differ.
    """
    target = operand("Assign", variable, "variable")
    if not isinstance(value, Tensor) and target.ndim:
        raise wrong("Assign", "value", "a Tensor", value if not isinstance(value, str) else repr(value), TypeError)
    return _written("Assign", target, _fitting("Assign", target, value))


def assign_add(variable: Any, value: Any) -> Tensor:
    """Add `value` (a Tensor that broadcasts, or a number) to `variable`; returns the variable."""
    target = operand("AssignAdd", variable, "variable")
    return _written("AssignAdd", target, target + _fitting("AssignAdd", target, value))


def assign_sub(variable: Any, value: Any) -> Tensor:
    """Subtract `value` (a Tensor that broadcasts, or a number) from `variable`; returns the variable."""
    target = operand("AssignSub", variable, "variable")
    return _written("AssignSub", target, target - _fitting("AssignSub", target, value))


_queues: dict[str, Iterator[Any]] = {}
"""Registered queues by name."""


def register_queue(shared_name: str, rows: Iterable[Any]) -> None:
    """Make `GetNext` operators of this name take their data from `rows`.

    rows  an iterable of rows; a row is a tensor or array, or a tuple or list of them, one for each output
    """
    _check_name("register_queue", shared_name)
    try:
        _queues[shared_name] = iter(rows)
    except TypeError:
        raise wrong("register_queue", "rows", "an iterable", rows, TypeError) from None


def unregister_queue(shared_name: str) -> None:
    """Remove a queue, if there is one of this name."""
    _check_name("unregister_queue", shared_name)
    _queues.pop(shared_name, None)


def _check_name(op: str, shared_name: Any) -> None:
    if not isinstance(shared_name, str) or not shared_name:
        raise wrong(op, "shared_name", "a non-empty str", shared_name, TypeError)


def _user_line() -> str:
    """Return the line of the user's program that is running, for a message."""
    place = user_place(user_location())
    return f"\n  --> {place}\n      {linecache.getline(place.file, place.line).strip()}" if place else ""


class GetNext(Primitive):
    """The next row of the queue called `shared_name`, as a Tensor, or a tuple of them for several outputs.

    types        dtypes of the outputs
    shapes       their shapes
    output_num   how many there are
    shared_name  the name of the queue, as given to `register_queue`

    Calling it raises RuntimeError when no queue of that name is registered or the row does not fit, and StopIteration at the end of the
    queue.
    """

    def __init__(self, types: Sequence[DType], shapes: Sequence[Sequence[int]], output_num: int, shared_name: str):
        if not isinstance(types, (tuple, list)) or not all(isinstance(t, DType) for t in types):
            raise wrong("GetNext", "types", "a list of dtypes", types, TypeError)
        if not isinstance(shapes, (tuple, list)):
            raise wrong("GetNext", "shapes", "a list of shapes", shapes, TypeError)
        count = integer("GetNext", "output_num", output_num)
        if not isinstance(shared_name, str):
            raise wrong("GetNext", "shared_name", "a str", shared_name, TypeError)
        if len(types) != count or len(shapes) != count:
            raise wrong("GetNext", "output_num", f"the number of types and shapes, {len(types)} and {len(shapes)}", count)
        sizes = tuple(sizes_argument("GetNext", "shapes", shape) for shape in shapes)
        super().__init__(types=tuple(types), shapes=sizes, output_num=count, shared_name=shared_name)

    def __call__(self) -> Any:
        rows = _queues.get(self.shared_name)
        if rows is None:
            raise RuntimeError(f"For 'GetNext', there is no queue named {self.shared_name!r}: register one with "
                               f"ops.register_queue before it is read.{_user_line()}")
        row = next(rows)
        items = row if isinstance(row, (tuple, list)) else (row,)
        if len(items) != self.output_num:
            raise RuntimeError(f"For 'GetNext', the queue {self.shared_name!r} gave a row of {len(items)} items, "
                               f"but expected {self.output_num}.")
        out = tuple(self._taken(*entry) for entry in zip(items, self.types, self.shapes, strict=True))
        return out[0] if self.output_num == 1 else out

    def _taken(self, item: Any, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        x = as_tensor(item if isinstance(item, Tensor) else np.asarray(item))
        if x.dtype is not dtype or x.shape != shape:
            raise RuntimeError(f"For 'GetNext', the queue {self.shared_name!r} gave a {x.dtype} of shape {x.shape}, "
                               f"but expected a {dtype} of shape {shape}.")
        return x
