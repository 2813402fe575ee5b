"""Attributes of cells that one thread sees instead of the cells' own ones, while it makes a graph.

While a function is lowered (made into a graph), its parsed code writes attributes of cells in a workspace that no other thread sees
(`adjoint.frontend.changes.workspace`).  The library's own code is not parsed: it reads the cells directly, but has to find the written
values.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from adjoint.frontend.changes.journal import MISSING
from adjoint.runtime.cells.cell import Cell

__all__ = ["KeptAttributes"]


class KeptAttributes:
    """Shows the thread that makes this object other values for attributes of cells, until `end`; other threads see the cells' own ones.

    It is used while that thread makes a graph, for attributes that the user's code has assigned there.  Only one object is in use at a
    time.
    """

    def __init__(self) -> None:
        self._thread, self._of = get_ident(), dict[int, tuple[Cell, dict[str, Any]]]()

    def add(self, cell: Cell, values: dict[str, Any]) -> None:
        """Let the thread see these values as attributes of a cell.  The value MISSING means the attribute of the cell's class."""
        if not self._of:
            # This method slows down each read of an attribute, so the class has it only once parsed code has written one.
            setattr(Cell, "__getattribute__", _reading(self._thread, self._of))  # noqa: B010 - the class declares no such method
        self._of[id(cell)] = cell, values

    def end(self) -> None:
        """Stop replacing attributes: from now on the thread sees the values that the cells really have."""
        if self._of:
            delattr(Cell, "__getattribute__")
            self._of.clear()


def _reading(thread: int, kept: dict[int, tuple[Cell, dict[str, Any]]]) -> Any:
    own = object.__getattribute__

    def __getattribute__(self: Cell, name: str) -> Any:
        if get_ident() == thread and (found := kept.get(id(self))) is not None and name in found[1]:
            value = found[1][name]
            return getattr(type(self), name) if value is MISSING else value
        return own(self, name)

    return __getattribute__
