"""The lock of lowering: one function is made into a graph at a time."""

from __future__ import annotations

import os

from adjoint.foundation.locking import ReentrantLock

__all__ = ["lowering_lock"]


class _Lock:
    """The lock of lowering, and what it protects; a forked child process starts with an unheld one.

    current  the lock of this process, also for a run that reads or writes Python state while a lowering has values in objects
    exposed  how often a lowering has put values into objects of the program around, and
    hidden   how often one has taken them back: while they are equal no object holds a value of a lowering
    """

    __slots__ = ("current", "exposed", "hidden")

    def __init__(self) -> None:
        self.anew()

    def expose(self) -> None:
        """Call this before a value of a lowering is put into an object.  The lock is held."""
        self.exposed = self.hidden + 1

    def hide(self) -> None:
        """Call this after all of them have been taken back."""
        self.hidden = self.exposed

    def anew(self) -> None:
        self.current, self.exposed, self.hidden = ReentrantLock(), 0, 0


lowering_lock = _Lock()
"""Held while a function is made into a graph: two threads that call it for the first time make one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lowering_lock.anew)
