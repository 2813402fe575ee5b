"""Where the time and the memory of a program go: by phase, Cell, line and operator, with what the kernels made of the machine."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, NamedTuple

from adjoint.foundation import made
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import At
from adjoint.ir.ops.linalg import MatMul
from adjoint.ir.types import F32
from adjoint.runtime.inspection.memory_use import MemoryUse, followed
from adjoint.runtime.inspection.origins import is_gradient, made_in, running_cell
from adjoint.runtime.inspection.peaks import peaks
from adjoint.runtime.inspection.times import MOST, OpTime, OpTimes, name_of, place_of, shown_line, traced_process
from adjoint.runtime.inspection.training import progress
from adjoint.runtime.inspection.work import bytes_of, operations_of
from adjoint.runtime.memory.watching import Observation, observed

__all__ = ["Profile", "TimeShare", "profile"]

_SHOWN = 12
"""Limit of the rows of each table."""
_TOO_FAST = 1.02
"""A product that is faster than the peak by this factor shows that the peak was measured while the machine was busy."""


@dataclass
class TimeShare:
    """What a part of a program took: a phase, a Cell, a line or an operator.

    name        the phase: "forward", "backward" or "optimiser"; the path of the Cell; the line; the operator
    calls       how many operators ran
    seconds     the time in kernels
    bytes       what the kernels read and wrote: the operands and results of each
    operations  multiplications and additions of products and convolutions; other operators are not counted
    least       the seconds that these bytes and operations take at least on this machine; NaN if that is not known
    python      the seconds of Python before these operators, since the kernel before
    """

    name: str
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0
    operations: int = 0
    least: float = 0.0
    python: float = 0.0

    @property
    def of_peak(self) -> float:
        """Return the share of what this machine can do at most; NaN if it is not known."""
        return self.least / self.seconds if self.seconds else math.nan


@dataclass
class _Row(OpTime):
    """Launches of one operator at one line, in one Cell and phase; the rest as in `TimeShare`.

    works  the work of each launch, and how often it occurs: the operations, as many as take as long in float32, and the bytes
    """

    phase: str = ""
    cell: str = ""
    bytes: int = 0
    operations: int = 0
    python: float = 0.0
    works: Counter[tuple[float, int]] = field(default_factory=Counter[tuple[float, int]])


class Profile(OpTimes):
    """Collects where the time goes in a `with profile()` block; `str()` shows tables, `save` writes a trace for Perfetto.

    phases, cells, lines, operators
          each a list of `TimeShare`s, the one with the longest time first
    memory  what memory the block holds, a `MemoryUse`
    python  the seconds of Python between kernels
    waited  the seconds that the block waited, by what for: "graphs", the making of graphs; "compilers"
    found   how many kernels the cache on disk had
    made  what was made in the block, by kind, as `foundation.made` counts it: a program that goes on with the same kinds of arguments makes
        nothing
    """

    def __init__(self) -> None:
        self._peaks = peaks()
        super().__init__()
        self.memory = MemoryUse()
        self._parts: dict[tuple[str, str, str, At | None], _Row] = {}
        self._gaps: list[tuple[float, float]] = []
        self._before = self._after = _counters()
        self._last, self._waited = time.perf_counter(), sum(made.spent().values())
        self._begin = self._last
        self.python = 0.0

    @property
    def rows(self) -> list[OpTime]:
        """Return a row for each operator and line, the one with the longest time first."""
        found: dict[tuple[str, At | None], OpTime] = {}
        for part in list(self._parts.values()):
            row = found.setdefault((part.op, part.place), OpTime(part.op, part.place))
            row.calls += part.calls
            row.seconds += part.seconds
        return sorted(found.values(), key=lambda row: -row.seconds)

    @property
    def in_kernels(self) -> float:
        """Return the sum of the seconds in kernels."""
        return sum(part.seconds for part in list(self._parts.values()))

    @property
    def phases(self) -> list[TimeShare]:
        """Return a part for the forward pass, the backward pass and the steps of optimisers."""
        return self._by(lambda part: part.phase)

    @property
    def cells(self) -> list[TimeShare]:
        """Return a part for each Cell by its path; "" for what runs outside of Cells.  A Cell inside of another is not part of that one."""
        return self._by(lambda part: part.cell)

    @property
    def lines(self) -> list[TimeShare]:
        """Return a part for each line of the user's program."""
        return self._by(lambda part: shown_line(part.place))

    @property
    def operators(self) -> list[TimeShare]:
        """Return a part for each operator by its name in the IR."""
        return self._by(lambda part: part.op)

    @property
    def calls(self) -> int:
        """Return how many operators ran."""
        return sum(part.calls for part in list(self._parts.values()))

    @property
    def made(self) -> dict[str, int]:
        """Return how many graphs, plans, kernels, ... were made in the block."""
        return {str(kind): count for kind, count in (self._after.made - self._before.made).items()}

    @property
    def found(self) -> int:
        """Return how many kernels the cache on disk had."""
        return self._after.found - self._before.found

    @property
    def waited(self) -> dict[str, float]:
        """Return the seconds that the block waited for the making of graphs and for compilers."""
        return {str(task): seconds - self._before.waited[task] for task, seconds in self._after.waited.items()}

    def __str__(self) -> str:
        tables = [self._table(title, parts) for title, parts in (
            ("phase", self.phases), ("Cell", self.cells), ("line", self.lines), ("operator", self.operators))]
        inside, total, waited = self.in_kernels, self.seconds, self.waited
        measuring = max(total - inside - self.python - sum(waited.values()), 0.0)
        told = ", ".join(f"{count} {kind}" for kind, count in self.made.items())
        memory = self.memory
        return "\n\n".join([
            *tables,
            *([f"of peak: of {self._peaks}"] if self._peaks is not None else []),
            f"{1e3 * inside:10.3f} ms in kernels\n{1e3 * self.python:10.3f} ms of Python between kernels\n"
            f"{1e3 * waited['graphs']:10.3f} ms to make graphs\n{1e3 * waited['compilers']:10.3f} ms of waiting for compilers\n"
            f"{1e3 * measuring:10.3f} ms of measuring\n{1e3 * total:10.3f} ms in all",
            f"{str(memory).partition(chr(10) + chr(10))[0]}\nthe largest at the peak: {next(map(str, memory.peak), 'nothing')}",
            f"kernels in the cache: {self.found}\nmade: {told or 'nothing'}"])

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the trace: each launch with its line, Cell and phase, the Python between launches, and the memory held."""
        process = traced_process()
        return [
            *super().events(),
            {"ph": "M", "pid": process, "tid": 2, "name": "thread_name", "args": {"name": "Python between kernels"}},
            *({"ph": "X", "pid": process, "tid": 2, "name": "Python", "ts": 1e6 * (self._begin + begin), "dur": 1e6 * seconds, "args": {}}
              for begin, seconds in self._gaps),
            *self.memory.events(),
        ]

    def _details(self, row: OpTime) -> dict[str, str]:
        more = {"Cell": row.cell, "phase": row.phase} if isinstance(row, _Row) else {}
        return {**super()._details(row), **{name: value for name, value in more.items() if value}}

    def _by(self, name: Callable[[_Row], str]) -> list[TimeShare]:
        """Add up the launches that have the same name, the longest time first."""
        found: dict[str, TimeShare] = {}
        for part in list(self._parts.values()):
            share = found.setdefault(name(part), TimeShare(name(part)))
            for each in ("calls", "seconds", "bytes", "operations", "python"):
                setattr(share, each, getattr(share, each) + getattr(part, each))
            share.least += self._least(part)
        return sorted(found.values(), key=lambda part: -part.seconds)

    def _table(self, title: str, parts: list[TimeShare]) -> str:
        lines, inside = [f"      ms   share    calls    GB/s  GFLOP/s  of peak  Python  {title}"], self.in_kernels
        for part in parts[:_SHOWN]:
            share = 100 * part.seconds / inside if inside else 0.0
            speeds = [f"{1e-9 * count / part.seconds:.1f}" if count and part.seconds else "" for count in (part.bytes, part.operations)]
            peak = "" if math.isnan(part.of_peak) else f"{100 * part.of_peak:.0f} %"
            lines.append(f"{1e3 * part.seconds:8.3f}  {share:4.1f} %  {part.calls:7}  {speeds[0]:>6}  {speeds[1]:>7}  {peak:>7}  "
                         f"{1e3 * part.python:6.2f}  {part.name}".rstrip())
        return "\n".join([*lines, *([f"and {len(parts) - _SHOWN} more"] if len(parts) > _SHOWN else [])])

    def _add(self, launched: Observation) -> None:
        now, seconds = time.perf_counter(), launched.nanoseconds * 1e-9
        waited = sum(made.spent().values())
        python = 0.0 if launched.follows else max(now - seconds - self._last - (waited - self._waited), 0.0)
        self._waited = waited
        op, place = name_of(launched), place_of(launched)
        phase, cell = _origin(launched)
        row = self._parts.get((phase, cell, op, place))
        if row is None:
            row = self._parts[phase, cell, op, place] = _Row(op, place, phase=phase, cell=cell)
        row.calls += launched.last
        row.seconds += seconds
        row.python += python
        self.python += python
        if launched.last:
            nbytes, operations = bytes_of(launched), operations_of(launched)
            row.bytes += nbytes
            row.operations += operations
            wide = launched.result_types[0].dtype.size / F32.size if operations else 1  # fewer wide numbers fit in a register
            row.works[operations * wide, nbytes] += 1
        if len(self._launches) < MOST:
            self._launches.append((row, now - self._begin - seconds, seconds))
            if python:
                self._gaps.append((self._last - self._begin, python))
        self.memory.launched(launched, op, place, cell)
        self._last = time.perf_counter()

    def _least(self, row: _Row) -> float:
        """Return how many seconds this machine takes at least for the launches of a row."""
        return math.nan if self._peaks is None else sum(count * self._peaks.seconds(*work) for work, count in row.works.items())

    def _measured_when_busy(self) -> bool:
        """Return True if a product of matrices was faster than this machine can be, according to its peaks."""
        known, products = self._peaks, [row for row in list(self._parts.values()) if row.op == MatMul.name and row.calls]
        return known is not None and any(
            sum(count * operations for (operations, _), count in row.works.items()) > _TOO_FAST * known.operations * row.seconds
            for row in products)

    def _measure_again(self) -> None:
        """Measure the peaks again if other programs ran at the first time.  It needs memory, which is not the block's."""
        if self._measured_when_busy():
            self._peaks = peaks(again=True)

    def _ended(self) -> None:
        super()._ended()
        self._after = _counters()
        self.python += max(self._begin + self.seconds - self._last - (sum(self._after.waited.values()) - self._waited), 0.0)


class _Counters(NamedTuple):
    """What the process has made, what it found in the cache, and how long it has waited, so far."""

    made: Counter[made.Kind]
    found: int
    waited: dict[made.Task, float]


def _counters() -> _Counters:
    return _Counters(made.counted(), made.found(), made.spent())


def _origin(launched: Observation) -> tuple[str, str]:
    """Return the phase and the Cell of an operator."""
    node = launched.node
    within = None if node is None else made_in(node.loc)
    cell = running_cell() if within is None else within.cell
    if node is not None and is_gradient(node.loc):
        return "backward", cell
    parts = progress(() if within is None else within.training).parts
    optimizers = [owner for reference, _ in parts if (owner := reference()) is not None]
    titles = [owner._cell_title for owner in optimizers if hasattr(owner, "_cell_title")]
    if optimizers and (cell in titles or (not cell and _runs(optimizers))):
        return "optimiser", cell or optimizers[0]._cell_title
    return "forward", cell


def _runs(owners: list[Any]) -> bool:
    """Return True if a method of one of these objects runs in this thread."""
    frame = sys._getframe(1)
    while frame is not None:
        own = frame.f_locals.get("self") if frame.f_code.co_varnames[:1] == ("self",) else None
        if own is not None and any(own is owner for owner in owners):
            return True
        frame = frame.f_back
    return False


@contextmanager
def profile() -> Iterator[Profile]:
    """Measure where the time and the memory of a block go, on this thread, in eager mode, gradients and graphs.

    with adjoint.watch.profile() as found:
        step(x)
    print(found)
    found.save("trace.json")

    The first one in a process measures for a short time what the machine can do at most, the first one on a machine for half a second.
    """
    found = Profile()
    try:
        with followed(found.memory):
            try:
                with observed(found._add):
                    yield found
            finally:
                found._ended()
    finally:
        found._measure_again()
