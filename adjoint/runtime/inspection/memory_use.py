"""How much memory a program holds: over the run and at its peak, by tensor, Cell and line, and what keeps it alive."""

from __future__ import annotations

import bisect
import json
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.diagnostics import At, user_place
from adjoint.foundation.files import write_file
from adjoint.foundation.locking import ReentrantLock
from adjoint.ir.types import TensorType, tensor
from adjoint.runtime.inspection.keepers import Kept, kept_memory, tensor_memory
from adjoint.runtime.inspection.origins import cell_of
from adjoint.runtime.inspection.times import name_of, place_of, process_events, shown_line, traced_process
from adjoint.runtime.memory.early import MemoryChange
from adjoint.runtime.memory.machine import data_observers, ffi, machine
from adjoint.runtime.memory.watching import Observation, observed
from adjoint.runtime.process.location import user_location
from adjoint.runtime.tensor.conversion import dtype_of_array

__all__ = ["MemoryRow", "MemoryUse", "followed", "memory"]

_SHOWN = 12
"""Limit of the rows of each table."""
_MOST = 1_000_000
"""Limit of the changes that are kept for a trace."""
_PILE = 3
"""From so many results of one line on, which one thing keeps, that is called a pile."""


@dataclass
class MemoryRow:
    """Memory of tensors that one operator has made at one line, and that one thing keeps alive.

    op       the operator, by its name in the IR; "data" for a tensor that was made of numbers or an array, "workspace" for what a graph
             needs while it runs, "" if it is not known
    type     the dtype and shape; None if it is not known, or of a workspace
    place    the line of the user's program; None if it is not known
    cell     the path of the Cell; "" outside of Cells
    tensors  how many they are
    bytes    their size
    made     how many the line has made in the block
    steps    how many training steps they are from, as `step()` counts them
    times    how often the line has made some, with others in between: those of a list in an `__init__` count once
    keeper   what keeps them alive, as a text; "" in the rows of the peak
    """

    op: str
    type: str | None
    place: At | None
    cell: str
    tensors: int = 0
    bytes: int = 0
    made: int = 0
    steps: int = 0
    times: int = 0
    keeper: str = ""

    def __str__(self) -> str:
        """Return what it is, and the operator, the Cell and the line that made it."""
        where = f"in '{self.cell}'" if self.cell else ""
        return "  ".join(part for part in (self.type or "", self.op, where, shown_line(self.place)) if part) or "unknown"


@dataclass(eq=False)
class _Origin:
    """Where tensors come from, how many, and how often: `times` counts those that follow each other once, for tensors that were made of
    numbers also those of one line that follow each other.
    """

    op: str
    type: TensorType | None
    place: At | None
    cell: str
    made: int = 0
    times: int = 0

    def row(self, keeper: str = "") -> MemoryRow:
        type_ = None if self.type is None else f"{str(self.type.dtype).lower()} {list(self.type.shape)}"
        return MemoryRow(self.op, type_, self.place, self.cell, made=self.made, times=self.times, keeper=keeper)


_UNKNOWN = _Origin("", None, None, "")


@dataclass(eq=False)
class _Block:
    """A block of memory that was allocated while memory is watched.

    number  how many changes there were before
    parts   the results inside of it that are not all of it, the largest first, as pairs of bytes and origin: it is a workspace
    """

    address: int
    nbytes: int
    number: int
    step: int
    origin: _Origin = _UNKNOWN
    parts: list[tuple[int, _Origin]] = field(default_factory=list)

    def made_by(self) -> _Origin:
        if self.origin.type is not None or not self.parts:
            return self.origin
        largest = max(self.parts, key=lambda part: part[0])[1]
        return _Origin("workspace", None, largest.place, largest.cell, 1)


class MemoryUse:
    """Collects what memory a `with memory()` block holds; `str()` shows it, `save` writes it as a trace for Perfetto.

    held    what was made in the block and is alive at its end, the largest first: a list of `MemoryRow`s with their keepers.  Before the
            end of the block: what is alive now.  Finding the keepers takes up to a second
    peak    what was held at the moment of the peak, the largest first; of what was allocated in the block
    grows   the rows of `held` of which there are more and more
    peak_bytes    the bytes at the peak
    before_bytes  the bytes of tensors when the block began
    end_bytes     the bytes of tensors that were made in the block and are alive at its end

    What is held at the end has all tensors.  The peak has those of at least 16 KiB, and the buffers that kernels and graphs need.
    """

    def __init__(self) -> None:
        self._begin, self.began = time.perf_counter(), time.perf_counter_ns()
        self._older = {_address(each): weakref.ref(each) for each in tensor_memory()}
        self.before_bytes = sum(ffi.sizeof(each) for reference in self._older.values() if (each := reference()) is not None)
        self._origins: dict[tuple[Any, ...], _Origin] = {}
        self._blocks: dict[int, _Block] = {}
        self._starts: list[int] = []
        self._small: dict[int, tuple[_Origin, int]] = {}
        self._bytes = self._peak = self._changes = self._peak_at = 0
        self._dead_since_peak: list[_Block] = []
        self._line: list[tuple[int, int]] = []
        self._held: list[MemoryRow] | None = None
        self._latest = _UNKNOWN
        self._step = 0
        self._lock = ReentrantLock()

    def step(self) -> None:
        """Say that a training step has ended, so that the report tells how much each step adds."""
        self._step += 1

    @property
    def held(self) -> list[MemoryRow]:
        """Return what was made in the block and is alive at its end, or now."""
        return self._alive() if self._held is None else self._held

    @property
    def end_bytes(self) -> int:
        """Return the bytes of tensors that were made in the block and are alive at its end, or now."""
        return sum(row.bytes for row in self.held)

    @property
    def peak_bytes(self) -> int:
        """Return the bytes of what the block had allocated at its peak."""
        self._follow()
        return self._peak

    @property
    def peak(self) -> list[MemoryRow]:
        """Return what the block had allocated at its peak."""
        self._follow()
        with self._lock:
            blocks = [*(block for block in self._blocks.values() if block.number < self._peak_at), *self._dead_since_peak]
        return _rows((block.made_by(), block.nbytes, block.step, "") for block in blocks)

    @property
    def grows(self) -> list[MemoryRow]:
        """Return the rows of `held` of which memory grows: results of one line in three steps or more, which one thing keeps.

        Without calls of `step()`: results that the line has made three times or more, with others in between, if most of them are kept.
        """
        return [row for row in self.held if row.tensors >= _PILE and
                (row.steps >= _PILE if self._step >= _PILE else row.times >= _PILE and 2 * row.tensors > row.made)]

    def __str__(self) -> str:
        held, peak = self.held, self.peak
        lines = [f"{_size(self.end_bytes)} in {sum(row.tensors for row in held)} tensors of this block are held at its end; "
                 f"{_size(max(self.peak_bytes, self.end_bytes))} at the peak; {_size(self.before_bytes)} before it"]
        lines += _growth(self.grows)
        lines += ["", "      MB  tensors     made  held at the end"]
        for row in held[:_SHOWN]:
            lines += [f"{_megabytes(row.bytes):>8}  {row.tensors:7}  {row.made or '':>7}  {row}", f"{'':28}kept by {row.keeper}"]
        lines += [f"and {len(held) - _SHOWN} more"] if len(held) > _SHOWN else []
        lines += ["", "      MB  tensors           at the peak"] if peak else []
        lines += [f"{_megabytes(row.bytes):>8}  {row.tensors:7}           {row}" for row in peak[:_SHOWN]]
        return "\n".join([*lines, *([f"and {len(peak) - _SHOWN} more"] if len(peak) > _SHOWN else [])])

    def save(self, path: str) -> None:
        """Write how much memory was held over the run as a trace in the format of Chrome, which Perfetto shows as a curve.

        OSError for a file that cannot be written.
        """
        write_file(path, [json.dumps({"traceEvents": [*process_events(), *self.events()], "displayTimeUnit": "ns"}).encode()])

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the trace: how many bytes the block has allocated, whenever that changes."""
        self._follow()
        process = traced_process()
        return [{"ph": "C", "pid": process, "name": "memory", "ts": at / 1e3, "args": {"bytes": nbytes}}
                for at, nbytes in self._line]

    # -- what happens -------------------------------------------------------------------------------------------------
    def launched(self, launched: Observation, op: str, place: At | None, cell: str) -> None:
        """Take note of what an operator has computed.

        op, place, cell  its name, its line and its Cell
        """
        self._follow()
        if not launched.last:
            return
        first = len(launched.operand_types)
        for i, type_ in enumerate(launched.result_types):
            key = op, type_, place, cell
            origin = self._origins.get(key)
            if origin is None:
                origin = self._origins[key] = _Origin(*key)
            self._count(origin)
            self._made(_address(launched.buffers[first + i]), type_.nbytes, origin)

    def data(self, memory: Any, array: np.ndarray[Any, Any]) -> None:
        """Take note of memory that was made of an array."""
        self._follow()
        type_ = None
        with suppress(TypeError):
            type_ = tensor(dtype_of_array(array), array.shape)
        key = "data", type_, user_place(user_location()), ""
        origin = self._origins.setdefault(key, _Origin(*key))
        self._count(origin)
        self._made(_address(memory), array.nbytes, origin)

    def ended(self) -> None:
        """Keep what is held now as what is held at the end."""
        self._follow()
        self._held = self._alive()

    def _count(self, origin: _Origin) -> None:
        latest, self._latest = self._latest, origin
        origin.made += 1
        origin.times += origin is not latest and (origin.op != "data" or origin.place != latest.place)

    def _made(self, address: int, nbytes: int, origin: _Origin) -> None:
        """Note the origin of numbers in memory."""
        with self._lock:
            block = self._block_at(address)
            if block is None:
                self._small[address] = origin, self._step
            elif block.address == address and 2 * nbytes > block.nbytes and block.origin is _UNKNOWN and not block.parts:
                block.origin = origin
            elif block.origin is _UNKNOWN and len(block.parts) < 1000:
                block.parts.append((nbytes, origin))

    def _block_at(self, address: int) -> _Block | None:
        block = self._blocks.get(address)
        if block is None:
            i = bisect.bisect_right(self._starts, address)
            block = self._blocks[self._starts[i - 1]] if i else None
            if block is not None and address >= block.address + block.nbytes:
                return None
        return block

    def _follow(self) -> None:
        """Take note of what was allocated and freed."""
        with self._lock:
            for each in _changes.since(self):
                self._change(each)

    def _change(self, each: MemoryChange) -> None:
        self._changes += 1
        if each.bytes > 0:
            self._blocks[each.block] = _Block(each.block, each.bytes, self._changes - 1, self._step)
            bisect.insort(self._starts, each.block)
            self._bytes += each.bytes
            if self._bytes > self._peak:
                self._peak, self._peak_at = self._bytes, self._changes
                self._dead_since_peak.clear()
        elif (block := self._blocks.pop(each.block, None)) is not None:
            del self._starts[bisect.bisect_left(self._starts, each.block)]
            self._bytes -= block.nbytes
            if block.number < self._peak_at:
                self._dead_since_peak.append(block)
        else:
            return  # it was there before
        if len(self._line) < _MOST:
            self._line.append((each.nanoseconds, self._bytes))

    def _alive(self) -> list[MemoryRow]:
        self._follow()
        with self._lock:
            born = {address: (block.made_by(), block.step) for address, block in self._blocks.items()}
            born.update(self._small)
        wanted = {address for address in born if (old := self._older.get(address)) is None or old() is None}
        kept: dict[int, Kept] = kept_memory(wanted)
        return _rows((_of_type(born[address][0], each.type), each.nbytes, born[address][1], each.keeper) for address, each in kept.items())


def _growth(rows: Sequence[MemoryRow]) -> list[str]:
    """Return a line for each thing that keeps more and more tensors."""
    keepers: dict[str, list[MemoryRow]] = {}
    for row in rows:
        keepers.setdefault(row.keeper, []).append(row)
    lines: list[str] = []
    for keeper, kept in list(keepers.items())[:_PILE]:
        steps, nbytes = kept[0].steps, sum(row.bytes for row in kept)
        others = f", and those of {len(kept) - 1} more" if len(kept) > 1 else ""
        lines.append(f"memory grows{f' by {_size(nbytes / steps)} a step' if steps >= _PILE else ''}, kept by {keeper}: "
                     f"{kept[0].tensors} of {kept[0].made}  {kept[0]}{others}")
    return lines


def _of_type(origin: _Origin, type_: TensorType | None) -> _Origin:
    """Return an origin with the type of the tensor, where it is known only from the tensor."""
    if type_ is None or origin.type is not None:
        return origin
    return _Origin(origin.op, type_, origin.place, origin.cell, origin.made, origin.times)


def _rows(of: Iterable[tuple[_Origin, int, int, str]]) -> list[MemoryRow]:
    """Return rows, the largest first, for quadruples of origin, bytes, step and keeper."""
    rows: dict[tuple[Any, ...], tuple[MemoryRow, set[int]]] = {}
    for origin, nbytes, step, keeper in of:
        key = origin.op, origin.type, origin.place, origin.cell, keeper
        if key not in rows:
            rows[key] = origin.row(keeper), set()
        row, steps = rows[key]
        row.tensors += 1
        row.bytes += nbytes
        steps.add(step)
        row.steps = len(steps)
    return sorted((row for row, _ in rows.values()), key=lambda row: -row.bytes)


def _address(memory: Any) -> int:
    return int(ffi.cast("uintptr_t", memory))


def _size(nbytes: float) -> str:
    return f"{nbytes / 1e6:.3f} MB" if nbytes >= 1e5 else f"{nbytes / 1e3:.1f} kB" if nbytes >= 1e3 else f"{nbytes:.0f} bytes"


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:.3f}"


class _Changes:
    """Gives what was allocated and freed to all that watch memory."""

    def __init__(self) -> None:
        self._waiting: dict[int, list[MemoryChange]] = {}
        self._lock = ReentrantLock()

    def begin(self, use: MemoryUse) -> None:
        with self._lock:
            self._collect()
            self._waiting[id(use)] = []
            if len(self._waiting) == 1:
                machine().follow_memory(True)

    def end(self, use: MemoryUse) -> None:
        with self._lock:
            del self._waiting[id(use)]
            if not self._waiting:
                machine().follow_memory(False)

    def since(self, use: MemoryUse) -> Sequence[MemoryChange]:
        """Return the changes that a watcher has not been given yet."""
        with self._lock:
            if id(use) not in self._waiting:
                return ()
            self._collect()
            found, self._waiting[id(use)] = self._waiting[id(use)], []
        return found

    def _collect(self) -> None:
        if self._waiting and (found := machine().memory_changes()):
            for waiting in self._waiting.values():
                waiting += found


_changes = _Changes()


@contextmanager
def followed(use: MemoryUse) -> Iterator[None]:
    """Let a `MemoryUse` follow what is allocated and freed, and what is made of data; launches are passed to it by the caller."""
    _changes.begin(use)
    data_observers.append(use.data)
    try:
        yield
    finally:
        try:
            use.ended()
        finally:
            data_observers.remove(use.data)
            _changes.end(use)


@contextmanager
def memory() -> Iterator[MemoryUse]:
    """Follow the memory of a block's tensors, in eager mode, gradients and graphs: what is held at the end and at the peak, which line
    and Cell made it, and what keeps it alive.

    with adjoint.watch.memory() as found:
        for batch in batches:
            train(batch)
            found.step()                # optional
    print(found)
    found.save("trace.json")

    Operators are followed on this thread.  Tensors that another thread makes are found as well, without their operators.
    """
    found = MemoryUse()

    def launched(each: Observation) -> None:
        found.launched(each, name_of(each), place_of(each), cell_of(each))

    with followed(found), observed(launched):
        yield found
