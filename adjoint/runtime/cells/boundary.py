"""The boundary of a cell: which tensors of a call are new objects inside the cell (arguments) and outside of it (results).

A tape and a graph need this to tell the tensor that enters a cell from the one outside: backward hooks see the gradients of these.  Such
tensors are those among the positional arguments, and those at the top level of the result.  A cell with a `bprop` computes the gradients of
all tensors, so in its calls all of them are replaced, at any depth and in keyword arguments, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.runtime.tensor.structure import items, leaves, like, replaced
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "are_tensors", "call_with", "held_by", "inputs", "is_nested", "outputs", "result_with", "shown", "top_level", "with_top_level",
]

_Leaves = type | tuple[type, ...]
"""The classes of values that count as tensors of a call: Tensor, and in graphs also numbers that the graph computes."""


def are_tensors(values: Sequence[Any]) -> bool:
    """Return True if all values are tensors, as the arguments of most calls are: nested structures need not be searched then."""
    for x in values:  # noqa: SIM110 - a generator costs more than what it looks at
        if not isinstance(x, Tensor):
            return False
    return True


def top_level(value: Any) -> list[Tensor]:
    """Return the tensors at the top level of a value: the value itself, or the items of a tuple, list or dict that are tensors."""
    return [value] if isinstance(value, Tensor) else [x for x in items(value) or () if isinstance(x, Tensor)]


def with_top_level(value: Any, tensors: Sequence[Tensor]) -> Any:
    """Return a copy of `value` with `tensors` in place of the tensors that `top_level(value)` returns, in the same order."""
    if isinstance(value, Tensor):
        return tensors[0]
    parts = items(value)
    if parts is not None and len(parts) == len(tensors):
        return like(value, tensors)
    left = iter(tensors)
    return value if parts is None else like(value, [next(left) if isinstance(x, Tensor) else x for x in parts])


# -- the values that cross; `ruled` is True if the cell has a `bprop` -----------------------------------------------------
def inputs(args: tuple[Any, ...], kwargs: dict[str, Any], ruled: bool, of: _Leaves = Tensor) -> Sequence[Any]:
    """Return those of a call's arguments that a cell sees as new tensor objects, in order.

    ruled  True if the cell has a `bprop`: then all tensors at any depth; otherwise the tensors among the positional arguments
    of     the classes of values that count at any depth: Tensor, and in graphs also run-time numbers
    """
    if not ruled:
        return top_level(args)
    return args if not kwargs and are_tensors(args) else leaves((args, kwargs), of)


def call_with(args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any], ruled: bool,
              of: _Leaves = Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, (args, kwargs), with the tensors `new` in place of those that `inputs` returns, in the same order.

    ruled, of  as for `inputs`
    """
    if not ruled:
        return with_top_level(args, new), kwargs
    return (tuple(new), kwargs) if not kwargs and are_tensors(args) else replaced((args, kwargs), new, of)


def outputs(output: Any, ruled: bool, of: _Leaves = Tensor) -> Sequence[Any]:
    """Return those values in a cell's result that its caller sees as new tensor objects, in order.

    ruled  True if the cell has a `bprop`: then all at any depth; otherwise the tensors at the top level
    of     the classes of values that count at any depth
    """
    return leaves(output, of) if ruled else top_level(output)


def result_with(output: Any, new: Sequence[Any], ruled: bool, of: _Leaves = Tensor) -> Any:
    """Return the result of a call with the tensors `new` in place of those that `outputs` returns, in the same order.

    ruled, of  as for `outputs`
    """
    return replaced(output, new, of) if ruled else with_top_level(output, new)


# -- questions about a call ------------------------------------------------------------------------------------------------
def shown(value: Any) -> Sequence[int]:
    """Return the indices of the tensors at the top level of `value`, where all tensors in it are counted, at any depth.

    value  the positional arguments of a cell's call, or its result.  Backward hooks see only the gradients of these tensors
    """
    if isinstance(value, Tensor):
        return (0,)
    parts = items(value) or ()
    if are_tensors(parts):
        return range(len(parts))
    found: list[int] = []
    count = 0
    for part in parts:
        if isinstance(part, Tensor):
            found.append(count)
            count += 1
        else:
            count += len(leaves(part, Tensor))
    return found


def held_by(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
    """Return the ids of all values in the arguments, at any depth: a later list differs if a list or dict among them was changed meanwhile.

    It is empty if the arguments are just tensors.
    """
    return [] if not kwargs and are_tensors(args) else [id(leaf) for leaf in leaves((args, kwargs))]


def is_nested(args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> bool:
    """Return True if a call's arguments or its result hold tensors below the top level."""
    return len(leaves((args, kwargs, output), Tensor)) > len(top_level(args)) + len(top_level(output))
