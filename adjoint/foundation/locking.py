"""Locks that a Ctrl-C leaves free.

`with lock:` takes a lock and begins its block in one step of the interpreter up to Python 3.13.  From 3.14 on Ctrl-C may come between the
two, and leaves the lock of `threading` taken for ever: the next one who wants it waits without end.
"""

from __future__ import annotations

import sys
import threading

__all__ = ["Lock", "ReentrantLock"]

if sys.version_info < (3, 14):
    Lock, ReentrantLock = threading.Lock, threading.RLock
else:
    from _thread import RLock

    class ReentrantLock(RLock):
        """A lock that its thread may take again; taken and not given back by `with` at once, it is free."""

        def __enter__(self) -> bool:
            before = self._recursion_count()
            try:
                return self.acquire()
            except BaseException:
                if self._recursion_count() > before:
                    self.release()
                raise

    Lock = ReentrantLock
