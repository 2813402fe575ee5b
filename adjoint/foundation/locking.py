"""Locks that Ctrl-C does not leave taken.

Up to Python 3.13, `with lock:` takes a lock and begins its block in one step of the interpreter.  From 3.14 on, Ctrl-C may come between the
two.  A lock of `threading` then stays taken for ever, and the next thread that wants it waits without end.
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
        """A lock that its thread may take several times.  If an interrupt comes right after `with` has taken it, it is released."""

        def __enter__(self) -> bool:
            before = self._recursion_count()
            try:
                return self.acquire()
            except BaseException:
                if self._recursion_count() > before:
                    self.release()
                raise

    Lock = ReentrantLock
