"""The boundary of a cell: which arguments get new names inside the cell, and which results get new names outside.

These are the tensors among the positional arguments, and those at the top level of the result; backward hooks see these.  A cell with a
`bprop` computes the gradients of all tensors, so in its calls all of them get new names, at any depth and in keyword arguments, too.
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
"""The classes of values that may cross a boundary: Tensor, and in graphs also run-time numbers."""


def are_tensors(values: Sequence[Any]) -> bool:
    """True if all values are tensors, as the arguments of most calls are."""
    for x in values:  # noqa: SIM110 - a generator costs more than what it looks at
        if not isinstance(x, Tensor):
            return False
    return True


def top_level(value: Any) -> list[Tensor]:
    """Return the tensors at the top level of arguments or a result: the value itself, or the tensors that are its items."""
    return [value] if isinstance(value, Tensor) else [x for x in items(value) or () if isinstance(x, Tensor)]


def with_top_level(value: Any, tensors: Sequence[Tensor]) -> Any:
    """Return the arguments or the result with `tensors` in place of the tensors at its top level."""
    if isinstance(value, Tensor):
        return tensors[0]
    parts = items(value)
    if parts is not None and len(parts) == len(tensors):
        return like(value, tensors)
    left = iter(tensors)
    return value if parts is None else like(value, [next(left) if isinstance(x, Tensor) else x for x in parts])


# -- the values that cross; `ruled` is True if the cell has a `bprop` -----------------------------------------------------
def inputs(args: tuple[Any, ...], kwargs: dict[str, Any], ruled: bool, of: _Leaves = Tensor) -> Sequence[Any]:
    """Return the values among a call's arguments that cross the boundary: inside of the cell they get new names."""
    if not ruled:
        return top_level(args)
    return args if not kwargs and are_tensors(args) else leaves((args, kwargs), of)


def call_with(args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any], ruled: bool,
              of: _Leaves = Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with `new` in place of the values that `inputs` returns."""
    if not ruled:
        return with_top_level(args, new), kwargs
    return (tuple(new), kwargs) if not kwargs and are_tensors(args) else replaced((args, kwargs), new, of)


def outputs(output: Any, ruled: bool, of: _Leaves = Tensor) -> Sequence[Any]:
    """Return the values in a result that cross the boundary: outside of the cell they get new names."""
    return leaves(output, of) if ruled else top_level(output)


def result_with(output: Any, new: Sequence[Any], ruled: bool, of: _Leaves = Tensor) -> Any:
    """Return a result with `new` in place of the values that `outputs` returns."""
    return replaced(output, new, of) if ruled else with_top_level(output, new)


# -- questions about a call ------------------------------------------------------------------------------------------------
def shown(value: Any) -> Sequence[int]:
    """Return which of all tensors in positional arguments or a result are at the top level, by their indices."""
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
    """Return a snapshot of the contents of lists and dicts among the arguments; two snapshots differ if one has changed."""
    return [] if not kwargs and are_tensors(args) else [id(leaf) for leaf in leaves((args, kwargs))]


def is_nested(args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> bool:
    """Return True if a call's arguments or its result hold tensors below the top level."""
    return len(leaves((args, kwargs, output), Tensor)) > len(top_level(args)) + len(top_level(output))
