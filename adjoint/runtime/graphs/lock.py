"""The lock of lowering (making a function into a graph): one function at a time is made into a graph."""

from __future__ import annotations

import os

from adjoint.foundation.locking import ReentrantLock

__all__ = ["lowering_lock"]


class _Lock:
    """The lock that is held while a function is made into a graph; it also knows whether values of that graph are in the user's objects.

    While they are, other threads must not see them: a graph that reads or writes Python state when it runs then takes the lock, too.  A
    forked child starts with an unheld lock.

    current  the lock of this process
    exposed, hidden  counters: while they are equal, no Python object of the user's holds a value of a graph that is being made
    """

    __slots__ = ("current", "exposed", "hidden")

    def __init__(self) -> None:
        self.anew()

    def expose(self) -> None:
        """Note that a value of the graph that is being made is about to be put into an object of the user's.  The caller holds the lock."""
        self.exposed = self.hidden + 1

    def hide(self) -> None:
        """Note that no object of the user's holds a value of the graph that is being made any more.  The caller holds the lock."""
        self.hidden = self.exposed

    def anew(self) -> None:
        self.current, self.exposed, self.hidden = ReentrantLock(), 0, 0


lowering_lock = _Lock()
"""Held while a function is made into a graph: two threads that call it for the first time make one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lowering_lock.anew)
