"""Streams, events and memory of devices, as MindSpore's scripts ask for them, on a CPU.

An operator has finished when it returns, so streams have nothing to wait for.  As MindSpore does on a CPU, the memory of a device is
reported as 0.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, NoReturn

__all__ = [
    "Event", "Stream", "StreamCtx", "StreamLimitCtx", "communication_stream", "current_stream", "default_stream", "device_count",
    "dispatch_threads_num", "empty_cache", "get_arch_list", "get_device_capability", "get_device_limit", "get_device_name",
    "get_device_properties", "get_stream_limit", "is_available", "is_initialized", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "ms_memory_recycle",
    "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats", "reset_stream_limit", "set_cpu_affinity",
    "set_cur_stream", "set_device_limit", "set_kernel_launch_capture", "set_kernel_launch_group", "set_memory", "set_stream_limit",
    "synchronize",
]


class Stream:
    """An order of work of a device; on a CPU all work is done at once, in the order of the program.

    priority  is stored
    """

    def __init__(self, priority: int = 0, **kwargs: Any):
        self.priority = priority

    def query(self) -> bool:
        """Return True: all work is done."""
        return True

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record the present moment in an event, a new one by default, and return it."""
        chosen = Event(enable_timing=True) if event is None else event
        chosen.record(self)
        return chosen

    def wait_event(self, event: Event) -> None:
        """Do nothing: the work before an event is done."""

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing: the work of a stream is done."""

    def __repr__(self) -> str:
        return "Stream(device_name=CPU, device_id:0, stream id:0)"


class Event:
    """A moment in the work of a stream.

    enable_timing  True: `elapsed_time` may be asked for
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False):
        self.enable_timing, self.blocking = enable_timing, blocking
        self._moment: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Take the present moment."""
        self._moment = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Do nothing: the work before the event is done."""

    def synchronize(self) -> None:
        """Do nothing: the work before the event is done."""

    def query(self) -> bool:
        """Return True: the work before the event is done."""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another one; RuntimeError if one of them has no time."""
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("For 'Event.elapsed_time', both events must be made with 'enable_timing=True'.")
        if self._moment is None or end_event._moment is None:
            raise RuntimeError("For 'Event.elapsed_time', both events must have been recorded.")
        return (end_event._moment - self._moment) * 1000


_default = Stream()
_current = [_default]


def default_stream() -> Stream:
    """Return the stream that work belongs to unless another one is chosen."""
    return _default


def communication_stream() -> Stream:
    """Return the default stream, which communication is done in, too."""
    return _default


def current_stream() -> Stream:
    """Return the stream that was chosen last, by `set_cur_stream` or `StreamCtx`."""
    return _current[-1]


def set_cur_stream(stream: Stream) -> None:
    """Choose a stream, which has no effect on the work; TypeError for another object."""
    _current[-1] = _stream("set_cur_stream", stream)


class StreamCtx:
    """`with StreamCtx(stream):` chooses a stream for the block, which has no effect on the work; None leaves the current one."""

    def __init__(self, ctx_stream: Stream | None):
        self.stream = current_stream() if ctx_stream is None else _stream("StreamCtx", ctx_stream)

    def __enter__(self) -> StreamCtx:
        _current.append(self.stream)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _current.pop()


class StreamLimitCtx(StreamCtx):
    """`with StreamLimitCtx(stream, cube_num, vector_num):` is `StreamCtx`: a CPU has no cores of these kinds to limit."""

    def __init__(self, stream: Stream, cube_num: int = -1, vector_num: int = -1):
        super().__init__(_stream("StreamLimitCtx", stream))


def _stream(function: str, stream: Any) -> Stream:
    if not isinstance(stream, Stream):
        raise TypeError(f"For '{function}', the argument 'stream' must be a Stream, but got {stream!r} of type {type(stream).__name__}.")
    return stream


def synchronize() -> None:
    """Do nothing: all work is done when an operator returns."""


# Memory ----------------------------------------------------------------------------------------------------------------


def memory_allocated() -> int:
    """Return 0: the memory of the process is not counted as that of a device."""
    return 0


memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated


def memory_stats() -> dict[str, Any]:
    """Return MindSpore's table of a device's memory, whose numbers are 0."""
    pool = {"block_unit_size": 0, "block_counts": 0, "blocks_info": {}}
    numbers = ("total_reserved_memory", "total_allocated_memory", "total_idle_memory", "total_eager_free_memory", "max_reserved_memory",
               "max_allocated_memory")
    return {**dict.fromkeys(numbers, 0), "common_mem_pool_stats": dict(pool), "persistent_mem_pool_stats": dict(pool)}


def memory_summary() -> str:
    """Return `memory_stats` as lines of text."""
    return "\n".join(f"{name}: {number}" for name, number in memory_stats().items() if isinstance(number, int))


def empty_cache() -> None:
    """Do nothing: memory is given back when a tensor ends; `set_context(memory_limit)` bounds what caches hold."""


reset_peak_memory_stats = reset_max_memory_allocated = reset_max_memory_reserved = ms_memory_recycle = empty_cache


def set_memory(init_size: str = "2GB", increase_size: str = "2GB", max_size: str = "1024GB", optimize_level: str = "O0",
               huge_page_reserve_size: str = "0GB") -> None:
    """Do nothing: the sizes are those of a device's memory."""


# Devices and their limits ------------------------------------------------------------------------------------------------


def is_initialized(device_target: str) -> bool:
    """Return whether a device is in use: True for "CPU"."""
    return device_target == "CPU"


is_available = is_initialized


def device_count(device_target: str | None = None) -> int:
    """Return how many devices of a kind there are: one CPU."""
    return 1 if device_target in (None, "CPU") else 0


def get_device_name(device_id: int = 0, device_target: str | None = None) -> str:
    """Return "CPU"."""
    return "CPU"


def _none(function: str, what: str) -> NoReturn:
    raise RuntimeError(f"For '{function}', a CPU has no {what}.")


def get_device_capability(device_id: int = 0, device_target: str | None = None) -> NoReturn:
    """Raise RuntimeError: a CPU has no such number."""
    _none("get_device_capability", "number that tells its capability")


def get_device_properties(device_id: int = 0, device_target: str | None = None) -> NoReturn:
    """Raise RuntimeError: a CPU has no such properties."""
    _none("get_device_properties", "properties of a device")


def get_arch_list(device_target: str | None = None) -> list[str]:
    """Return the architectures that kernels were built for: none, they are compiled for this machine."""
    return []


def get_device_limit(device: int) -> dict[str, int]:
    """Return how many cores of a device may be used: a CPU has no cube cores and no vector cores."""
    if not isinstance(device, int) or isinstance(device, bool):
        raise TypeError(f"For 'get_device_limit', the argument 'device' must be an int, but got {device!r} "
                        f"of type {type(device).__name__}.")
    return {"cube_core_num": 0, "vector_core_num": 0}


def set_device_limit(device: int, cube_num: int = -1, vector_num: int = -1) -> None:
    """Do nothing: a CPU has no cube cores and no vector cores to limit; `set_context(num_threads)` limits its threads."""
    get_device_limit(device)


def get_stream_limit(stream: Stream) -> dict[str, int]:
    """Return how many cores a stream may use: a CPU has no cube cores and no vector cores."""
    _stream("get_stream_limit", stream)
    return get_device_limit(0)


def set_stream_limit(stream: Stream, cube_num: int = -1, vector_num: int = -1) -> None:
    """Do nothing: a CPU has no cube cores and no vector cores to limit."""
    _stream("set_stream_limit", stream)


def reset_stream_limit(stream: Stream) -> None:
    """Do nothing: there is no limit."""
    _stream("reset_stream_limit", stream)


def dispatch_threads_num(threads_num: int) -> None:
    """Do nothing: no threads dispatch operators; `set_context(num_threads)` sets how many compute."""
    _positive("dispatch_threads_num", "threads_num", threads_num)


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """Do nothing: kernels run in the thread of the program, which others help; ValueError for numbers that are not above 0."""
    _positive("set_kernel_launch_group", "thread_num", thread_num)
    _positive("set_kernel_launch_group", "kernel_group_num", kernel_group_num)


def set_kernel_launch_capture(enable_capture_graph: bool, op_capture_skip: list[str] | None = None) -> None:
    """Do nothing: a function under `jit` runs as one list of launches anyway; TypeError for a flag that is not a bool."""
    if not isinstance(enable_capture_graph, bool):
        raise TypeError(f"For 'set_kernel_launch_capture', the argument 'enable_capture_graph' must be a bool, but got "
                        f"{enable_capture_graph!r} of type {type(enable_capture_graph).__name__}.")


def set_cpu_affinity(enable_affinity: bool, affinity_cpu_list: list[str] | None = None, module_to_cpu_dict: dict[str, Any] | None = None,
                     bind_file: str | None = None) -> None:
    """Do nothing: the operating system chooses the cores, as `taskset` has allowed; TypeError for a flag that is not a bool."""
    if not isinstance(enable_affinity, bool):
        raise TypeError(f"For 'set_cpu_affinity', the argument 'enable_affinity' must be a bool, but got {enable_affinity!r} of type "
                        f"{type(enable_affinity).__name__}.")


def _positive(function: str, argument: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"For '{function}', the argument '{argument}' must be an int, but got {value!r} of type {type(value).__name__}.")
    if value <= 0:
        raise ValueError(f"For '{function}', the argument '{argument}' must be above 0, but got {value}.")
