"""Locks are free after an interrupt, wherever it comes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from adjoint.foundation.locking import Lock, ReentrantLock


def is_free(lock: Any) -> bool:
    """Return whether another thread can take a lock."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(lock.acquire(blocking=False) and not lock.release()))
    thread.start()
    thread.join()
    return found[0]


def entered(lock: Any) -> None:
    with lock:
        pass


def entered_twice(lock: Any) -> None:
    with lock, lock:
        pass


@pytest.mark.parametrize(("kind", "run"), [(Lock, entered), (ReentrantLock, entered), (ReentrantLock, entered_twice)])
def test_an_interrupt_at_any_call_leaves_a_lock_free(kind: Callable[[], Any], run: Callable[[Any], None]) -> None:
    """Ctrl-C is handled where a Python function begins, and where a C function has ended: at each of these in turn."""
    interrupts = 0
    while True:
        interrupts += 1
        left, lock = interrupts, kind()

        def interrupt(frame: Any, event: str, argument: Any) -> None:
            nonlocal left
            left -= event in ("call", "c_return")
            if not left:
                sys.setprofile(None)
                raise KeyboardInterrupt

        sys.setprofile(interrupt)
        try:
            run(lock)
        except KeyboardInterrupt:
            assert is_free(lock), interrupts
        else:
            break
        finally:
            sys.setprofile(None)
    assert is_free(lock)
    assert interrupts > 1


def test_a_lock_excludes_other_threads() -> None:
    for kind in (Lock, ReentrantLock):
        lock = kind()
        with lock:
            assert not is_free(lock)
        assert is_free(lock)
