"""The epoch: a number that moves when a cell, a hook slot or the type of a tensor changes.

Graphs depend on the state of cells at the time of lowering.  While the epoch stands still none of it has changed, so one comparison
suffices; when it has moved, the guards are checked (`adjoint.runtime.graphs.guards.guards`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["epoch"]


class _Life(Protocol):
    epoch: int


class _Epoch:
    """now  the current number; no number occurs twice, even with several threads
    log  while a function is lowered and other threads run, is called with what each move is about, and with each other change of a cell's
         attribute; None otherwise

    The methods call nothing else: CPython lets no other thread run in the middle of one.
    """

    __slots__ = ("log", "now")

    def __init__(self) -> None:
        self.now = 0
        self.log: Callable[[object, str | None], None] | None = None

    def move(self, changed: object = None, name: str | None = None) -> None:
        """Move the epoch; to be called after a change, so that whoever has seen the old number checks again.

        changed  the cell, its `__dict__`, its slot of hooks or the tensor that has changed; None for a setting
        name     the attribute that has changed; None for any
        """
        self.now += 1
        if self.log is not None:
            self.log(changed, name)

    def move_with(self, life: _Life) -> None:
        """Move the epoch after a change that guards are known to allow: if they held up to it, they hold."""
        now = self.now
        if life.epoch == now:
            life.epoch = now + 1
        self.now = now + 1


epoch = _Epoch()
