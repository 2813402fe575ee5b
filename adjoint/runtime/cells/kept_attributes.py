"""Attributes of cells that one thread finds in place of those that the cells have.

While a function is lowered, parsed code writes attributes of cells for itself alone (`adjoint.frontend.changes.workspace`). The library's
code is not parsed: it reads the cells, and has to find what parsed code has written. No other thread does.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from adjoint.frontend.changes.journal import MISSING
from adjoint.runtime.cells.cell import Cell

__all__ = ["KeptAttributes"]


class KeptAttributes:
    """The attributes that the thread that makes this object finds in cells, until `end`.  Only one such object is in use at a time."""

    def __init__(self) -> None:
        self._thread, self._of = get_ident(), dict[int, tuple[Cell, dict[str, Any]]]()

    def add(self, cell: Cell, values: dict[str, Any]) -> None:
        """Let a cell have these attributes; MISSING stands for that of its class."""
        if not self._of:
            # Reading an attribute takes longer while the class has this method: it is there only where parsed code writes one.
            setattr(Cell, "__getattribute__", _reading(self._thread, self._of))  # noqa: B010 - the class declares no such method
        self._of[id(cell)] = cell, values

    def end(self) -> None:
        """Let cells have their own attributes."""
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
