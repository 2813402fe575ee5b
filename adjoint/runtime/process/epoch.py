"""The epoch: a number that changes ("moves") whenever a cell, a hook slot or the type of a tensor changes.

Graphs depend on the state of cells at the time of lowering.  As long as the epoch is the same, none of that state has changed, so one
comparison suffices; when it has moved, the guards are checked (`adjoint.runtime.graphs.guards.guards`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["epoch"]


class _Life(Protocol):
    epoch: int


class _Epoch:
    """The epoch of this process.

    now  the present number; no number occurs twice, even with several threads
    log  a function while a function is lowered and other threads run, else None; called with the object and attribute of each move, and of
         each other change of a cell's attribute

    The methods call no other Python function while they change `now`: CPython lets no other thread run in the middle.
    """

    __slots__ = ("log", "now")

    def __init__(self) -> None:
        self.now = 0
        self.log: Callable[[object, str | None], None] | None = None

    def move(self, changed: object = None, name: str | None = None) -> None:
        """Move the epoch.  Call this after a change, so that guards checked against the old number are checked again.

        changed  the cell, its `__dict__`, its slot of hooks or the tensor that has changed; None for a setting
        name     the attribute that has changed; None if it may be any
        """
        self.now += 1
        if self.log is not None:
            self.log(changed, name)

    def move_with(self, life: _Life) -> None:
        """Move the epoch after a change that some guards are known to allow.

        life  the life of these guards' snapshot: if they held before the change, they are marked as holding at the new epoch
        """
        now = self.now
        if life.epoch == now:
            life.epoch = now + 1
        self.now = now + 1


epoch = _Epoch()
