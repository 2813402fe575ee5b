"""Count the objects that are made while a program runs: graphs, and everything needed to make and run them.

A program that continues with the same kinds of arguments makes nothing new after its first calls. Making an object costs a hundred to a
thousand times as much as a call, so a program in which these numbers keep growing is slow because of them.

    before = made.counted()
    net(x)
    print(made.counted() - before)     # nothing: Counter()
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

from adjoint.foundation.locking import Lock

__all__ = ["Kind", "Task", "count", "counted", "found", "note_found", "spend", "spent"]

Kind = Literal["files parsed", "lowerings", "graphs", "adjoints", "plans", "guards", "texts", "kernels"]
"""The kinds of objects that are counted:

    files parsed  files of the user's source that were parsed
    lowerings     attempts to make a function into a graph
    graphs        graphs that resulted from these, or from a graph for any size
    adjoints      functions that were differentiated
    plans         orders of the steps of a graph, with their memory
    guards        functions that compare the values that a graph depends on with their current values
    texts         texts of calls and checks that Python compiled
    kernels       files of C that were compiled
"""

Task = Literal["graphs", "compilers"]
"""What a program waits for:

    graphs     a function is made into a graph
    compilers  a compiler is at work on a kernel without which the program cannot go on
"""

_counts: Counter[Kind] = Counter()
_seconds: dict[Task, float] = {"graphs": 0.0, "compilers": 0.0}
_found = 0
_lock: Final = Lock()


def count(kind: Kind) -> None:
    """Add one to the number of objects of this kind that were made.  Any thread may call it."""
    with _lock:
        _counts[kind] += 1


def counted() -> Counter[Kind]:
    """Return how many objects of each kind this process has made so far."""
    with _lock:
        return _counts.copy()


def note_found() -> None:
    """Add one to the number of kernels that the cache on disk had.  Any thread may call it."""
    global _found
    with _lock:
        _found += 1


def found() -> int:
    """Return how many kernels this process has found in the cache on disk so far."""
    return _found


def spend(task: Task, seconds: float) -> None:
    """Add to the time that a program has waited.  Any thread may call it."""
    with _lock:
        _seconds[task] += seconds


def spent() -> dict[Task, float]:
    """Return how many seconds this process has waited for each task so far."""
    with _lock:
        return _seconds.copy()
