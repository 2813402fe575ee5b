"""The epoch: a number that moves when a cell, a hook slot or the type of a tensor changes.

Graphs depend on the state of cells at the time of lowering.  While the epoch stands still none of it has changed, so one comparison
suffices; when it has moved, the guards are checked (`adjoint.runtime.graphs.guards.guards`).
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["epoch"]


class _Life(Protocol):
    epoch: int


class _Epoch:
    """now  the current number; no number occurs twice, even with several threads

    The methods call nothing: CPython lets no other thread run in the middle of one.
    """

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0

    def move(self) -> None:
        """Move the epoch; to be called after a change, so that whoever has seen the old number checks again."""
        self.now += 1

    def move_with(self, life: _Life) -> None:
        """Move the epoch after a change that guards are known to allow: if they held up to it, they hold."""
        now = self.now
        if life.epoch == now:
            life.epoch = now + 1
        self.now = now + 1


epoch = _Epoch()
