"""Run the same in several threads that often take turns."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["at_once"]


def at_once(count: int, run: Callable[[int], Any]) -> list[Any]:
    """Run `run(i)` in `count` threads that begin together; return the results, or raise the first exception."""
    barrier, results, errors = threading.Barrier(count), [None] * count, []

    def work(i: int) -> None:
        try:
            barrier.wait()
            results[i] = run(i)
        except BaseException as raised:
            errors.append(raised)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if errors:
        raise errors[0]
    return results
