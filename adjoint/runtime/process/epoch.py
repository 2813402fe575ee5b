"""The epoch: a number that moves when a cell, a hook slot or the type of a tensor changes.

Graphs are made of what cells were when they were lowered.  As long as the epoch stands still none of that has changed,
and one comparison says so; when it has moved, the guards look (`adjoint.runtime.graphs.guards.guards`).
"""

from __future__ import annotations

import itertools

__all__ = ["epoch"]


class _Epoch:
    """now  where it stands; no number comes twice, whatever threads do"""

    __slots__ = ("_numbers", "now")

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.now = next(self._numbers)

    def move(self) -> None:
        """Something has changed: to be called after the change, so that who saw the old number looks again."""
        self.now = next(self._numbers)


epoch = _Epoch()
