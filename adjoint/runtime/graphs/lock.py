"""The lock of lowering: one function is made into a graph at a time, and no run reads or writes Python state meanwhile."""

from __future__ import annotations

import os
import threading

__all__ = ["lowering_lock"]


class _Lock:
    """The lock of lowering; a forked child process starts with an unheld one.

    current  the lock of this process, for a `with` of a run that reads or writes Python state
    begun    how often lowering has begun, and
    ended    how often it has ended: while they are equal nothing is lowered
    """

    __slots__ = ("begun", "current", "ended")

    def __init__(self) -> None:
        self.anew()

    def __enter__(self) -> None:
        self.current.acquire()
        self.begun += 1

    def __exit__(self, *raised: object) -> None:
        self.ended += 1
        self.current.release()

    def anew(self) -> None:
        self.current, self.begun, self.ended = threading.RLock(), 0, 0


lowering_lock = _Lock()
"""Held while a function is made into a graph: two threads that call it for the first time make one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lowering_lock.anew)
