"""The history of a function: why each of its graphs was made, and, once somebody asks, how its calls ran.

    Graphs.calls is None          nobody has asked: calls are not counted
    Graphs.calls is a CallCounts  each call is counted, with its way and the reason

The first request removes the function's fast paths, so that they are installed again in a form that counts.
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
from adjoint.foundation.made import spend
from adjoint.runtime.execution.call_functions import NOT_RUN
from adjoint.runtime.graphs.reports.ways import NONE, Cause, Way, Why

__all__ = ["CallCounts", "History", "MadeGraph", "is_logged"]

_KEPT = 100
"""The number of graphs of one function that its history remembers; older ones are forgotten."""

_MANY = 8
"""The number of times that one function may be parsed; the next time, a warning with the reason is logged."""

NO_REASON = Why(NONE)


def is_logged() -> bool:
    """Return True if the user asks for a log of graphs and of how calls run, by `ADJOINT_LOG=graphs` in the environment."""
    return "graphs" in environ.get("ADJOINT_LOG", "").replace(",", " ").split()


@dataclass(eq=False)
class MadeGraph:
    """The record of one graph of a function, for reports such as `jit_stats`.

    number     its number among the graphs of the function, from 1
    cause      why it was made; `detail` is what differs from the graph before
    arguments  the arguments that it was made for, as text
    seconds    the time that making it took; kernels may be compiled later
    nodes      the number of its nodes
    in_python   the names of the operators in it that Python calls: those defined without C, and `ops.Custom`
    """

    number: int
    cause: Cause
    detail: str
    arguments: str
    seconds: float
    nodes: int = 0
    in_python: tuple[str, ...] = ()


class CallCounts:
    """Counts the calls of one function: how many were executed by which graph, in which way (such as "eager"; see `Way`), for which reason.

    Any thread may add to the counts.  Calls that raise are not counted.

    history  the record of the graphs that were made for the function
    """

    def __init__(self, history: History) -> None:
        self._history, self._logs = history, is_logged()
        self._lock = Lock()
        self._counts: Counter[tuple[int, Way, Why]] = Counter()
        self._last: dict[int, tuple[Way, Why]] = {}
        self._counting: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._counted: set[int] = set()
        """The ids of threads whose present call has been counted already."""
        self._tapes: dict[int, Why] = {}
        """For the id of each thread that is taking a gradient: why that gradient needs a tape (a recording of the call)."""

    def took(self, graph: MadeGraph | None, way: Way, why: Why = NO_REASON) -> None:
        """Count one call, which has ended.

        graph  the record of the graph that ran; None for a call that has no graph of its own
        way    how the call ran
        why    the reason for this way
        """
        number = 0 if graph is None else graph.number
        with self._lock:
            self._counts[number, way, why] += 1
            is_new, self._last[number] = self._last.get(number) != (way, why), (way, why)
            count = sum(self._counts.values()) if is_new and self._logs else 0
        if count:
            of = f", graph {number}" if number else ""
            print(f"adjoint: {self._history.name}, call {count}{of}: {way.name}{f': {why}' if str(why) else ''}", file=sys.stderr)

    def was_counted(self) -> None:
        """Note that this thread's present call has been counted already: a fast path began it, and it ended in another way.

        The function that `counting` has made for the fast path then does not count it again.
        """
        self._counted.add(get_ident())

    def needs_tape(self, why: Why) -> None:
        """Note why the gradient that this thread is about to take needs a tape (a recording of the call), for `on_tape`."""
        self._tapes[get_ident()] = why

    def on_tape(self, otherwise: Why) -> Why:
        """Return the reason why this thread's call is recorded: the one noted by `needs_tape`, which is then forgotten, or else
        `otherwise`.
        """
        return self._tapes.pop(get_ident(), otherwise)

    def counting(self, call: Callable[..., Any], graph: MadeGraph, way: Way, why: Why = NO_REASON) -> Callable[..., Any]:
        """Return a function that calls `call`, and counts the call unless it returns NOT_RUN.

        call   a fast path for calls of a graph
        graph  the record of the graph
        way    how such calls run
        why    the reason for this way
        """
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
        """Drop the counting functions that `counting` has made, so that the fast paths which they call can be freed."""
        self._counting = {}

    def reset(self) -> None:
        """Set all counts to 0."""
        with self._lock:
            self._counts.clear()

    def counts(self) -> Counter[tuple[int, Way, Why]]:
        """Return a copy of the counts: for each (number of the graph, way in which the call was executed, reason), the number of calls."""
        with self._lock:
            return self._counts.copy()


@dataclass(eq=False)
class History:
    """Records the graphs that one function was made into, and warns if there are many.

    name     the function, with the place of its definition
    graphs   the records of the newest graphs; `earlier` is the number of older ones
    parsed   the number of graphs for which the function was parsed
    warns    False for a function of the library, which has graphs for each function that a program maps or differentiates
    gone     what was read in an object that has been freed, so that a graph was dropped
    """

    name: str = ""
    graphs: list[MadeGraph] = field(default_factory=list)
    earlier: int = 0
    parsed: int = 0
    warns: bool = True
    gone: str = ""

    def made(self, cause: Cause, detail: str, arguments: str, seconds: float) -> MadeGraph:
        """Record a new graph, and return the record; log a warning once, when the function has been parsed more than `_MANY` times.

        cause      why it was made
        detail     what differs from the graph before
        arguments  the arguments that it was made for, as text
        seconds    the time that making it took
        """
        spend("graphs", seconds)
        made = MadeGraph(self.earlier + len(self.graphs) + 1, cause, detail, arguments, seconds)
        self.graphs.append(made)
        if len(self.graphs) > _KEPT:
            del self.graphs[0]
            self.earlier += 1
        if is_logged():
            print(f"adjoint: {self.name}, graph {made.number}, {1000 * seconds:.1f} ms: {_said(cause, detail)}", file=sys.stderr)
        self.parsed += cause.parsed
        if cause.parsed and self.parsed == _MANY + 1 and self.warns:
            log.warning("%s has been made into a graph %d times, and may be slower than without `jit`; the last one took %.1f ms: %s.%s "
                        "`jit_stats` shows all.", self.name, self.parsed, 1000 * seconds, _said(cause, detail),
                        f" {cause.way_out}" if cause.way_out else "")
        return made


def _said(cause: Cause, detail: str) -> str:
    return f"{cause.name}{f': {detail}' if detail else ''}"
