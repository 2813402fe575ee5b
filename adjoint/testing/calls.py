"""Call a function of the user's again and again under the same conditions: the same random numbers, and the same Parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.random import RandomStream, drawn_from
from adjoint.runtime.tensor.structure import emptied, items, leaves, refilled
from adjoint.runtime.tensor.tensor import Tensor
from adjoint.testing.recording import numbers

__all__ = ["Repeated", "cells_of", "name_of", "names_of"]

_SEED = 20


class Repeated:
    """A function with the arguments of a call.

    fn       the function
    tensors  the tensors among the arguments, at any depth
    written  the Parameters that the function may write
    """

    def __init__(self, fn: Any, inputs: tuple[Any, ...]):
        self.fn, self.skeleton = fn, emptied(inputs, Tensor)
        self.tensors: list[Tensor] = leaves(inputs, Tensor)
        self.written = list(dict.fromkeys(p for cell in cells_of(fn) for p in cell.get_parameters()))
        self.stream = RandomStream(_SEED)

    def arguments(self, tensors: Any = None) -> tuple[Any, ...]:
        """Return the arguments, with other tensors if these are given."""
        return refilled(self.skeleton, self.tensors if tensors is None else tensors)

    @contextmanager
    def repeatable(self) -> Iterator[None]:
        """Draw the same random numbers as last time, and restore afterwards what the function writes to Parameters."""
        before = [(p, p.value().copy()) for p in self.written]
        self.stream.restart(self.stream.seed)
        try:
            with drawn_from(self.stream):
                yield
        finally:
            for parameter, value in before:
                if not np.array_equal(numbers(parameter), numbers(value), equal_nan=value.dtype.is_float):
                    parameter.set_data(value)


def _cell_of(fn: Any) -> Cell | None:
    """Return the Cell that `fn` is or runs, perhaps under `jit`; None for another function."""
    inner = fn if isinstance(fn, Cell) else inspect.unwrap(fn)
    inner = getattr(inner, "__self__", inner)
    return inner if isinstance(inner, Cell) else None


def cells_of(fn: Any) -> list[Cell]:
    """Return the Cells that a function may call: itself, or those among its globals and the variables around it."""
    cell = _cell_of(fn)
    if cell is not None:
        return [cell]
    try:
        around = inspect.getclosurevars(inspect.unwrap(fn))
    except TypeError:  # of an object with `__call__`
        return []
    return [x for x in (*around.nonlocals.values(), *around.globals.values()) if isinstance(x, Cell)]


def name_of(fn: Any) -> str:
    """Return the name of a function, or of the class of a Cell."""
    cell = _cell_of(fn)
    return getattr(inspect.unwrap(fn), "__name__", type(fn).__name__) if cell is None else type(cell).__name__


def names_of(fn: Any, inputs: tuple[Any, ...]) -> list[str]:
    """Return a name for each tensor among the inputs: its parameter of `fn`, with the way to it in a container."""
    try:
        bound = inspect.signature(fn.construct if isinstance(fn, Cell) else fn).bind(*inputs).arguments
        named: list[tuple[str, Any]] = []
        for name, value in bound.items():
            several = len(named) + 1 < len(inputs) and isinstance(value, tuple) and len(bound) < len(inputs)
            named += [(f"{name}[{i}]", x) for i, x in enumerate(value)] if several else [(name, value)]
    except (TypeError, ValueError):
        named = [(f"input {i}", x) for i, x in enumerate(inputs, 1)]
    return [found for name, value in named for found in _paths(name, value)]


def _paths(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Tensor):
        yield name
    elif (parts := items(value)) is not None:
        for key, part in zip(value if isinstance(value, dict) else range(len(parts)), parts, strict=True):
            yield from _paths(f"{name}[{key!r}]", part)
