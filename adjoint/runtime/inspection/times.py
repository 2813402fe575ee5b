"""The time that each operator takes, by line of the user's program."""

from __future__ import annotations

import json
import linecache
import math
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import At, user_place
from adjoint.foundation.files import write_file
from adjoint.ir.ops.fused import Fused, held_ops
from adjoint.runtime.memory.watching import Observation, observed
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.parallel_context import get_auto_parallel_context

__all__ = ["OpTime", "OpTimes", "name_of", "place_of", "process_events", "shown_line", "times", "traced_process"]

_SHOWN = 25
"""Limit of the rows that the table shows."""
MOST = 1_000_000
"""Limit of the launches that are kept for a trace; later ones are in the rows only."""
_WIDTH = 60
"""Limit of the characters of a line of the program in the table."""


@dataclass
class OpTime:
    """One row of `times`: the time that one operator, at one line of the program, took in all its calls.

    op        its name in the IR; for a fused one with the names of the operators that its kernel computes
    place     the line of the user's program, in a gradient that of the forward operator; None if it is not known
    calls     how often it ran; 0 for what a loop does between its operators
    seconds   the time in kernels
    """

    op: str
    place: At | None
    calls: int = 0
    seconds: float = 0.0


class OpTimes:
    """Collects the time of each operator in a `with times()` block; `str()` shows it as a table, `save` writes it as a trace."""

    def __init__(self) -> None:
        self._begin, self._end = time.perf_counter(), math.nan
        self._rows: dict[tuple[str, At | None], OpTime] = {}
        self._launches: list[tuple[OpTime, float, float]] = []

    @property
    def seconds(self) -> float:
        """Return the seconds from the beginning to the end of the block, or up to now if it has not ended."""
        return (time.perf_counter() if math.isnan(self._end) else self._end) - self._begin

    @property
    def rows(self) -> list[OpTime]:
        """Return a row for each operator and line, the one with the longest time first."""
        return sorted(self._rows.values(), key=lambda row: -row.seconds)

    @property
    def in_kernels(self) -> float:
        """Return the sum of the seconds in kernels."""
        return sum(row.seconds for row in self._rows.values())

    def __str__(self) -> str:
        rows, inside = self.rows, self.in_kernels
        lines = ["      ms   share    calls  operator"]
        width = max((len(row.op) for row in rows[:_SHOWN]), default=0)
        for row in rows[:_SHOWN]:
            share = 100 * row.seconds / inside if inside else 0.0
            lines.append(f"{1e3 * row.seconds:8.3f}  {share:4.1f} %  {row.calls:7}  {row.op:{width}}  {shown_line(row.place)}".rstrip())
        if len(rows) > _SHOWN:
            lines.append(f"and {len(rows) - _SHOWN} more")
        lines.append(f"{1e3 * inside:8.3f} ms in kernels of {1e3 * self.seconds:.3f} ms, of which some is the time of measuring")
        return "\n".join(lines)

    def save(self, path: str) -> None:
        """Write each launch, with its beginning, its length and its line, as a trace in the format of Chrome, which Perfetto and
        chrome://tracing show.  OSError for a file that cannot be written.

        The first million launches are in it.  Times are those of the machine's clock, and a process that is one of several is named by
        its rank, so the events of several files fit into one trace.
        """
        write_file(path, [json.dumps({"traceEvents": self.events(), "displayTimeUnit": "ns"}).encode()])

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the trace."""
        process = traced_process()
        return [
            *process_events(),
            {"ph": "M", "pid": process, "tid": 1, "name": "thread_name", "args": {"name": "kernels"}},
            *({"ph": "X", "pid": process, "tid": 1, "name": row.op or "loop", "ts": 1e6 * (self._begin + begin), "dur": 1e6 * seconds,
               "args": self._details(row)} for row, begin, seconds in self._launches),
        ]

    def _details(self, row: OpTime) -> dict[str, str]:
        """Return what the trace says of a launch besides its name and its time."""
        return {} if row.place is None else {"line": f"{row.place.file}:{row.place.line}"}

    def _ended(self) -> None:
        self._end = time.perf_counter()

    def _add(self, launched: Observation) -> None:
        """Add a launch to its row."""
        name, place = name_of(launched), place_of(launched)
        row = self._rows.setdefault((name, place), OpTime(name, place))
        row.calls += launched.last
        seconds = launched.nanoseconds * 1e-9
        row.seconds += seconds
        if len(self._launches) < MOST:
            self._launches.append((row, time.perf_counter() - self._begin - seconds, seconds))


def traced_process() -> int:
    """Return the number of this process in a trace: of several processes the rank, from 1 on, since 0 stands for none; else the system's.
    """
    return get_auto_parallel_context("global_rank") + 1 if get_auto_parallel_context("device_num") > 1 else os.getpid()


def process_events() -> list[dict[str, Any]]:
    """Return the events that name this process in a trace, if it is one of several, and put it in its place among them."""
    count, rank = (get_auto_parallel_context(name) for name in ("device_num", "global_rank"))
    if count == 1:
        return []
    name = f"rank {rank} of {count} (process {os.getpid()} on {platform.node()})"
    return [{"ph": "M", "pid": rank + 1, "name": "process_name", "args": {"name": name}},
            {"ph": "M", "pid": rank + 1, "name": "process_sort_index", "args": {"sort_index": rank}}]


def place_of(launched: Observation) -> At | None:
    """Return the line of the user's program of an operator, in a gradient that of the forward operator; None if it is not known."""
    node = launched.node
    place = None if node is None else user_place(node.loc)
    # A node without a line is of the library, such as an optimiser's step.
    return user_place(user_location()) if place is None else place


def name_of(launched: Observation) -> str:
    """Return the name of an operator; for a fused one also the names of the operators that its kernel computes."""
    node = launched.node
    if node is None:
        return "" if launched.op is None else launched.op.name
    if isinstance(node.op, Fused):
        return f"{node.op.name}({held_ops([inner.op.name for inner in node.regions[0].nodes])})"
    return node.op.name


def shown_line(place: At | None) -> str:
    """Return a line of the user's program as a text, `net.py:12  x = x * 2`; "" if it is not known."""
    if place is None:
        return ""
    line = linecache.getline(place.file, place.line).strip()
    return f"{place.file.rpartition('/')[2]}:{place.line}  {line if len(line) <= _WIDTH else line[: _WIDTH - 3] + '...'}".rstrip()


@contextmanager
def times() -> Iterator[OpTimes]:
    """Measure the time that each operator takes in a block, on this thread, in eager mode, gradients and graphs.

    with adjoint.watch.times() as measured:
        step(x)
    print(measured)

    Each row is an operator at a line of the program, with its calls and its time in kernels.  Python's own time is not in the rows.
    """
    found = OpTimes()
    try:
        with observed(found._add):
            yield found
    finally:
        found._ended()
