"""The lock of lowering: one function is made into a graph at a time, and no run writes Python state meanwhile."""

from __future__ import annotations

import os
import threading

__all__ = ["lowering_lock"]


class _Lock:
    """The lock of lowering; a forked child process starts with an unheld one.

    current  the lock of this process, for a `with` that takes no call of Python
    """

    def __init__(self) -> None:
        self.current = threading.RLock()

    def __enter__(self) -> None:
        self.current.acquire()

    def __exit__(self, *raised: object) -> None:
        self.current.release()

    def anew(self) -> None:
        self.current = threading.RLock()


lowering_lock = _Lock()
"""Held while a function is made into a graph: two threads that call it for the first time make one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lowering_lock.anew)
