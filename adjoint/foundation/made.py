"""Count what is made while a program runs: graphs, and all that it takes to make and run them.

A program that goes on with the same kinds of arguments makes nothing more after its first calls. What making costs is a hundred to a
thousand times what a call costs, so a program in which these numbers go on growing is slow because of them.

    before = made.counted()
    net(x)
    print(made.counted() - before)     # nothing: Counter()
"""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal

from adjoint.foundation.locking import Lock

__all__ = ["Kind", "count", "counted"]

Kind = Literal["files parsed", "lowerings", "graphs", "adjoints", "plans", "guards", "texts", "kernels"]
"""What is counted:

    files parsed  files of the user's source that were parsed
    lowerings     attempts to make a function into a graph
    graphs        graphs that came of these, or were made of one for any size
    adjoints      functions that were differentiated
    plans         orders of the steps of a graph, with their memory
    guards        functions that compare what a graph was made of with what is there now
    texts         texts of calls and checks that Python compiled
    kernels       files of C that were compiled
"""

_counts: Counter[Kind] = Counter()
_lock: Final = Lock()


def count(kind: Kind) -> None:
    """Count one more; from any thread."""
    with _lock:
        _counts[kind] += 1


def counted() -> Counter[Kind]:
    """Return how many of each kind this process has made so far."""
    with _lock:
        return _counts.copy()
