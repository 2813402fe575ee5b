"""The epoch: a number that changes ("moves") whenever a cell, a cell's hooks or the type of a tensor changes.

Graphs depend on the state of cells at the time when they were made.  As long as the epoch is the same, none of that state has changed, so
one comparison suffices.  When it has moved, the guards (the conditions of a graph) are checked (`adjoint.runtime.graphs.guards.guards`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["epoch"]


class _Life(Protocol):
    epoch: float


class _Epoch:
    """Counts the changes on which graphs depend; there is one object, `epoch`, for the process.

    now  the present number; it stands for one state, even with several threads.  It is whole but for the fractions of `switch`
    log  a function that is called with the object and the attribute of each change; None unless a function is made into a graph while other
        threads run

    The methods call no other Python function while they change `now`: CPython lets no other thread run in the middle.
    """

    __slots__ = ("log", "now")

    def __init__(self) -> None:
        self.now: float = 0
        self.log: Callable[[object, str | None], None] | None = None

    def move(self, changed: object = None, name: str | None = None) -> None:
        """Change the number of the epoch.  Call this after each change of a cell, hook, tensor or setting: guards are then checked again.

        changed  the cell, its `__dict__`, its list of hooks or the tensor that has changed; None for a setting
        name     the attribute that has changed; None if it may be any
        """
        self.now += 1
        if self.log is not None:
            self.log(changed, name)

    def switch(self, on: bool, fraction: float) -> None:
        """Change the number for a state that is switched on and off: the number before returns with the state before, so that graphs of
        both states need no check of their guards.

        on        True to add the fraction to the number, False to take it away; never twice the same
        fraction  1/2, 1/4, ..., 2**-16: one that no other state has.  Call `move` before another state gets it
        """
        self.now += fraction if on else -fraction
        if self.log is not None:
            self.log(None, None)

    def move_with(self, life: _Life) -> None:
        """Change the number after a change that some guards are known to allow.

        life  holds the number at which these guards were last checked: if they held just before the change, it is set to the new number
        """
        now = self.now
        if life.epoch == now:
            life.epoch = now + 1
        self.now = now + 1


epoch = _Epoch()
