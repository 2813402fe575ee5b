"""`mindspore.profiler`: the time of each operator in a part of a program, written as files.

    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler("folder")):
        step(x)

A profile is what `adjoint.watch.profile` measures, on the thread that begins it.  It is written into a folder:

    profile.txt          where the time goes
    operators.csv        the calls and the time of each operator and line
    trace_view.json      a trace, which Perfetto and chrome://tracing show
    memory.txt           with profile_memory=True: the memory that is held, and what keeps it alive
    operator_memory.csv  likewise: what was held at the peak
    memory_record.csv    likewise: how much was held over the run

What MindSpore measures on an Ascend does not exist on a CPU; the options for it are taken, without effect.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import Any, Self

from adjoint.foundation.diagnostics import missing_name
from adjoint.foundation.files import write_file
from adjoint.runtime.inspection.memory_use import MemoryUse
from adjoint.runtime.inspection.profiling import Profile
from adjoint.runtime.inspection.profiling import profile as measure

__all__ = [
    "AicoreMetrics", "ExportType", "HostSystem", "Profiler", "ProfilerAction", "ProfilerActivity", "ProfilerLevel", "profile", "schedule",
    "tensorboard_trace_handler",
]

INSTEAD = {
    "DynamicProfilerMonitor": "`profiler.profile` with a `schedule`", "EnvProfiler": "`adjoint run --times SCRIPT`",
    "mstx": "`profiler.profile` around the part that is to be measured",
}
"""What to write instead of names of MindSpore's that are missing here."""


class ProfilerActivity(Enum):
    """What is measured; here always the operators on the CPU."""

    CPU = "CPU"
    GPU = "GPU"
    NPU = "NPU"


class ProfilerLevel(Enum):
    """How much MindSpore measures on an Ascend."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AicoreMetrics(Enum):
    """Counters of an Ascend's cores."""

    AiCoreNone = "None"
    ArithmeticUtilization = "ArithmeticUtilization"
    L2Cache = "L2Cache"
    Memory = "Memory"
    MemoryAccess = "MemoryAccess"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    PipeUtilization = "PipeUtilization"
    ResourceConflictRatio = "ResourceConflictRatio"


class ExportType(Enum):
    """Formats of MindSpore's files."""

    Text = "text"
    Db = "db"


class HostSystem(Enum):
    """Parts of the system that MindSpore measures beside an Ascend."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class ProfilerAction(Enum):
    """What happens in a step of a `schedule`."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class schedule:
    """Which steps are measured: after `skip_first` steps, in turns `wait` steps are not, `warmup` are not written, and `active` are.

    repeat  how many turns; 0 for all

    TypeError for what is no int, ValueError for negative numbers and an `active` below 1.
    """

    def __init__(self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0):
        given = {"wait": wait, "active": active, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
        for name, value in given.items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"For 'schedule', the argument {name!r} must be an int, but got {value!r} of type {type(value).__name__}.")
            if value < (name == "active"):
                raise ValueError(f"For 'schedule', the argument {name!r} must be at least {int(name == 'active')}, but got {value}.")
        self._given = given

    def __call__(self, step: int) -> ProfilerAction:
        """Return what happens in a step, from 0."""
        wait, active, warmup = (self._given[name] for name in ("wait", "active", "warmup"))
        step, turn = step - self._given["skip_first"], wait + warmup + active
        if step < 0 or (self._given["repeat"] and step >= self._given["repeat"] * turn) or step % turn < wait:
            return ProfilerAction.NONE
        if step % turn < wait + warmup:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD_AND_SAVE if step % turn == turn - 1 else ProfilerAction.RECORD

    def to_dict(self) -> dict[str, int]:
        """Return the arguments by name."""
        return dict(self._given)


class profile:
    """Measures a part of a program: a context manager, or `start()` and `stop()`.

    start_profile   True: measuring begins at once, not with `start()`
    schedule        which steps are measured; `step()` ends a step.  Without one all are, until `stop()`
    on_trace_ready  called with this object when a profile is complete, such as `tensorboard_trace_handler(folder)`; without it the files
        are written into a folder of `data`
    profile_memory  True: files about memory are written, too
    other options   of what MindSpore measures on an Ascend: taken, without effect

    TypeError for another `schedule` or `on_trace_ready`.
    """

    _output: str = "data"

    def __init__(
        self, activities: Iterable[ProfilerActivity] | None = None, with_stack: bool = False, profile_memory: bool = False,
        data_process: bool = False, parallel_strategy: bool = False, start_profile: bool = True, hbm_ddr: bool = False, pcie: bool = False,
        sync_enable: bool = True, record_shapes: bool = False, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, experimental_config: Any = None,
    ):
        for name, value in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if value is not None and not callable(value):
                raise TypeError(f"For 'profile', the argument {name!r} must be a function, but got {value!r} of type "
                                f"{type(value).__name__}.")
        self._schedule, self._ready = schedule, on_trace_ready
        self._step, self._saved, self._writes_memory = 0, 0, bool(profile_memory)
        self._metadata: dict[str, Any] = {}
        self._open: ExitStack | None = None
        self.times: Profile | None = None
        """What was measured last; None before."""
        if start_profile:
            self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to measure; without effect if it has begun."""
        if self._open is None and self._action() is not ProfilerAction.NONE:
            self._begin()

    def step(self) -> None:
        """Say that a step of the program has ended."""
        action = self._action()
        self._step += 1
        if action is ProfilerAction.RECORD_AND_SAVE:
            self.stop()
        elif action is ProfilerAction.WARM_UP and self._action() is not ProfilerAction.WARM_UP:
            self._end()
        if self._schedule is not None:
            self.start()

    def stop(self) -> None:
        """End, and pass on what was measured; without effect if nothing is measured."""
        if self._open is not None:
            self._end()
            (self._ready or self._write)(self)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the files of this profile."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"For 'add_metadata', the arguments must be strs, but got {key!r} and {value!r}.")
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add what a JSON text says to the files of this profile; ValueError for a text that is not JSON."""
        self._metadata[key] = json.loads(value)

    def save(self, folder: str) -> None:
        """Write what was measured last into a folder; RuntimeError if nothing was."""
        if self.times is None:
            raise RuntimeError("For 'profile', nothing was measured: call 'start' first.")
        os.makedirs(folder, exist_ok=True)
        self.times.save(os.path.join(folder, "trace_view.json"))
        table = io.StringIO()
        rows = csv.writer(table)
        rows.writerow(("operator", "line", "calls", "seconds"))
        for row in self.times.rows:
            rows.writerow((row.op, "" if row.place is None else f"{row.place.file}:{row.place.line}", row.calls, f"{row.seconds:.9f}"))
        write_file(os.path.join(folder, "operators.csv"), [table.getvalue().encode()])
        write_file(os.path.join(folder, "profile.txt"), [f"{self.times}\n".encode()])
        if self._writes_memory:
            self._save_memory(folder, self.times.memory)
        if self._metadata:
            write_file(os.path.join(folder, "metadata.json"), [json.dumps(self._metadata, indent=1).encode()])

    def _save_memory(self, folder: str, memory: MemoryUse) -> None:
        write_file(os.path.join(folder, "memory.txt"), [f"{memory}\n".encode()])
        table = io.StringIO()
        rows = csv.writer(table)
        rows.writerow(("operator", "type", "line", "Cell", "tensors", "bytes"))
        for row in memory.peak:
            line = "" if row.place is None else f"{row.place.file}:{row.place.line}"
            rows.writerow((row.op, row.type, line, row.cell, row.tensors, row.bytes))
        write_file(os.path.join(folder, "operator_memory.csv"), [table.getvalue().encode()])
        table = io.StringIO()
        rows = csv.writer(table)
        rows.writerow(("microseconds", "bytes"))
        rows.writerows((f"{event['ts'] - memory.began / 1e3:.3f}", event["args"]["bytes"]) for event in memory.events())
        write_file(os.path.join(folder, "memory_record.csv"), [table.getvalue().encode()])

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self._schedule is None else self._schedule(self._step)

    def _begin(self) -> None:
        self._open = ExitStack()
        self.times = self._open.enter_context(measure())

    def _end(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _write(self, _: Any) -> None:
        self.save(self._folder(self._output))

    def _folder(self, output: str) -> str:
        """Return the path of a folder for the next profile of this process."""
        self._saved += 1
        return str(Path(output) / f"profile_{os.getpid()}_{self._saved}")


class Profiler(profile):
    """The older form of `profile`: it begins when it is made, and `analyse()` ends it and writes its files.

    output_path     the folder in which they get a folder of their own
    other options   as for `profile`; those of MindSpore's other versions are taken, without effect
    """

    def __init__(self, /, **kwargs: Any):
        output = kwargs.get("output_path", "data")
        if not isinstance(output, str):
            raise TypeError(f"For 'Profiler', the argument 'output_path' must be a str, but got {output!r} of type "
                            f"{type(output).__name__}.")
        self._output, self._unsaved = output, False
        super().__init__(start_profile=bool(kwargs.get("start_profile", True)), schedule=kwargs.get("schedule"),
                         on_trace_ready=kwargs.get("on_trace_ready"), profile_memory=bool(kwargs.get("profile_memory", False)))

    def stop(self) -> None:
        """End measuring; `analyse` writes the files."""
        if self._open is not None:
            self._end()
            self._unsaved = True
            if self._ready is not None:
                self._ready(self)

    def analyse(self, offline_path: str | None = None, pretty: bool = False, step_list: Any = None, mode: str = "sync") -> None:
        """End measuring if it has not ended, and write the files; the arguments are MindSpore's, and have no effect."""
        self.stop()
        if self._unsaved:
            self._unsaved = False
            self._write(self)

    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> str:
        """Return the calls and the time of operators by their names in the IR, as JSON; RuntimeError if nothing was measured."""
        if self.times is None:
            raise RuntimeError("For 'Profiler', nothing was measured: call 'start' first.")
        names = {op_name} if isinstance(op_name, str) else set(op_name)
        found: dict[str, dict[str, float]] = {name: {"calls": 0, "seconds": 0.0} for name in sorted(names)}
        for row in self.times.rows:
            if row.op in names:
                found[row.op]["calls"] += row.calls
                found[row.op]["seconds"] += row.seconds
        return json.dumps(found)


def tensorboard_trace_handler(dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True,
                              async_mode: bool = False) -> Callable[[profile], None]:
    """Return a function that writes a profile into a folder of its own in `dir_name`, by default `data`; for `on_trace_ready`."""
    folder = "data" if dir_name is None else dir_name
    if not isinstance(folder, str):
        raise TypeError(f"For 'tensorboard_trace_handler', the argument 'dir_name' must be a str, but got {folder!r}.")
    return lambda made: made.save(made._folder(folder))


def __getattr__(name: str) -> Any:
    raise missing_name(__name__, name, globals())
