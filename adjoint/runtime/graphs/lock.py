"""The lock of lowering: one function is made into a graph at a time, and no run writes Python state meanwhile."""

from __future__ import annotations

import os
import threading

__all__ = ["lowering_lock"]


class _Lock:
    """The lock of lowering; a forked child process starts with an unheld one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def anew(self) -> None:
        self._lock = threading.RLock()


lowering_lock = _Lock()
"""Held while a function is made into a graph: two threads that call it for the first time make one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lowering_lock.anew)
