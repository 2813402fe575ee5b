"""The history of a function: why each of its graphs was made, and, from the time when somebody asks, how its calls ran.

    Graphs.calls is None          nobody has asked: calls go by without a trace
    Graphs.calls is a CallCounts  each call is counted, with its way and the reason

Who asks makes the function forget its fastest functions, which then are installed again inside of ones that count.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from os import environ
from threading import get_ident
from typing import Any

from adjoint import log
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.locking import Lock
from adjoint.runtime.execution.call_functions import NOT_RUN
from adjoint.runtime.graphs.reports.ways import NONE, Cause, Way, Why

__all__ = ["CallCounts", "History", "MadeGraph", "is_logged"]

_KEPT = 100
"""Most graphs of a function that are remembered."""

_MANY = 8
"""Graphs for which a function may have been parsed before a warning says why."""

_NO_REASON = Why(NONE)


def is_logged() -> bool:
    """Return True if graphs and ways are to be logged: `ADJOINT_LOG=graphs`."""
    return "graphs" in environ.get("ADJOINT_LOG", "").replace(",", " ").split()


@dataclass(eq=False)
class MadeGraph:
    """A graph that a function was made into.

    number     the first one is 1
    cause      why it was made, with `detail`: what differs from the graph before
    arguments  what the arguments were
    seconds    what making it took; kernels may be compiled later
    nodes      how many nodes it has
    """

    number: int
    cause: Cause
    detail: str
    arguments: str
    seconds: float
    nodes: int = 0


class CallCounts:
    """The calls of one function, counted by graph, way and reason; from any thread.  Those that raise are not counted."""

    def __init__(self, history: History) -> None:
        self._history, self._logs = history, is_logged()
        self._lock = Lock()
        self._counts: Counter[tuple[int, Way, Why]] = Counter()
        self._last: dict[int, tuple[Way, Why]] = {}
        self._counting: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._counted: set[int] = set()
        """The threads whose present call is counted already."""
        self._tapes: dict[int, Why] = {}
        """By thread, why the gradient that it is taking needs a tape."""

    def took(self, graph: MadeGraph | None, way: Way, why: Why = _NO_REASON) -> None:
        """Count a call; `graph` is None for one that has no graph of its own."""
        number = 0 if graph is None else graph.number
        with self._lock:
            self._counts[number, way, why] += 1
            is_new, self._last[number] = self._last.get(number) != (way, why), (way, why)
            count = sum(self._counts.values()) if is_new and self._logs else 0
        if count:
            of = f", graph {number}" if number else ""
            print(f"adjoint: {self._history.name}, call {count}{of}: {way.name}{f': {why}' if str(why) else ''}", file=sys.stderr)

    def was_counted(self) -> None:
        """Take note that this thread's call, which the function of a call has begun, ended in another way and is counted."""
        self._counted.add(get_ident())

    def needs_tape(self, why: Why) -> None:
        """Keep why the gradient that this thread is about to take of a call needs a tape."""
        self._tapes[get_ident()] = why

    def on_tape(self, otherwise: Why) -> Why:
        """Return why the present call is recorded."""
        return self._tapes.pop(get_ident(), otherwise)

    def counting(self, call: Callable[..., Any], graph: MadeGraph, way: Way, why: Why = _NO_REASON) -> Callable[..., Any]:
        """Return a function that does what `call` does, and counts it unless it returns NOT_RUN."""
        key = (call, graph.number, way)
        if (known := self._counting.get(key)) is not None:
            return known

        def counted(*args: Any) -> Any:
            if (result := call(*args)) is not NOT_RUN:
                if (thread := get_ident()) in self._counted:
                    self._counted.discard(thread)
                else:
                    self.took(graph, way, self.on_tape(why))
            return result

        self._counting[key] = counted
        return counted

    def forget_functions(self) -> None:
        """Let go of the functions that are counted."""
        self._counting = {}

    def reset(self) -> None:
        """Begin to count from 0."""
        with self._lock:
            self._counts.clear()

    def counts(self) -> Counter[tuple[int, Way, Why]]:
        """Return the counts by the number of the graph, the way and the reason."""
        with self._lock:
            return self._counts.copy()


@dataclass(eq=False)
class History:
    """The graphs of one function.

    name     the function, with its place
    graphs   those made last; `earlier` is the number of those before
    parsed   for how many the function was parsed
    gone     what was read in an object that has been freed, with which a graph was dropped
    """

    name: str = ""
    graphs: list[MadeGraph] = field(default_factory=list)
    earlier: int = 0
    parsed: int = 0
    gone: str = ""

    def made(self, cause: Cause, detail: str, arguments: str, seconds: float) -> MadeGraph:
        """Record a graph, and return the record; with many graphs a warning says why."""
        made = MadeGraph(self.earlier + len(self.graphs) + 1, cause, detail, arguments, seconds)
        self.graphs.append(made)
        if len(self.graphs) > _KEPT:
            del self.graphs[0]
            self.earlier += 1
        if is_logged():
            print(f"adjoint: {self.name}, graph {made.number}, {1000 * seconds:.1f} ms: {_said(cause, detail)}", file=sys.stderr)
        self.parsed += cause.parsed
        if cause.parsed and self.parsed == _MANY + 1:
            log.warning("%s has been made into a graph %d times, and may be slower than without `jit`; the last one took %.1f ms: %s.%s "
                        "`jit_stats` shows all.", self.name, self.parsed, 1000 * seconds, _said(cause, detail),
                        f" {cause.way_out}" if cause.way_out else "")
        return made


def _said(cause: Cause, detail: str) -> str:
    return f"{cause.name}{f': {detail}' if detail else ''}"
