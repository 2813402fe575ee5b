"""The epoch: a number that moves when a cell, a hook slot or the type of a tensor changes.

Graphs depend on the state of cells at the time of lowering.  While the epoch stands still none of it has changed, so one comparison
suffices; when it has moved, the guards are checked (`adjoint.runtime.graphs.guards.guards`).
"""

from __future__ import annotations

import itertools

__all__ = ["epoch"]


class _Epoch:
    """now  the current number; no number occurs twice, even with several threads"""

    __slots__ = ("_numbers", "now")

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.now = next(self._numbers)

    def move(self) -> None:
        """Move the epoch; to be called after a change, so that whoever has seen the old number checks again."""
        self.now = next(self._numbers)


epoch = _Epoch()
