"""Observation: call observers (Python functions) after each operator that is computed, in eager mode, in gradients and in graphs alike.

The run-time library calls an observer after each launch of a kernel.  While nothing observes, a launch only tests a pointer.  Kernels and
tables are described when they are made, so that an observer knows what a launch computed.  An op that is computed without a kernel, by its
NumPy reference, is reported by its plan.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.locking import Lock
from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.storage import to_compute
from adjoint.ir.types import TensorType
from adjoint.runtime.memory.machine import array_of, ffi, machine

__all__ = ["Observation", "add", "copy_for", "describe_kernel", "describe_results", "describe_table", "failure", "observation_of",
           "observations", "observed", "observing", "remove", "report", "stop"]

_STOPPED = 0x7F000000
"""The status that a launch returns to say that the observer of launches has raised an exception."""


class _Kernel:
    """Tells which op a bound kernel computes, so that an observer can be told.

    last    True for the last kernel of its op, after which the results are complete
    node    the node that the kernel is launched for; None if it serves any
    packed  what `describe_results` has given the run-time library, to keep it alive
    """

    __slots__ = ("last", "node", "op", "operands", "packed", "results")

    def __init__(self, op: Op, operands: tuple[TensorType, ...], results: tuple[TensorType, ...], last: bool, node: Node | None):
        self.op, self.operands, self.results, self.last, self.node = op, operands, results, last, node
        self.packed: Any = None


@dataclass(frozen=True)
class Observation:
    """What an observer is told after a launch: which op has run, on what memory, and how long it took.

    op           the op; None for what a loop does between launches
    node         the op's node in a graph or an adjoint; None in eager mode
    last         True if the results of the op are complete: an op may take several launches
    nanoseconds  the time that the launch took
    buffers      the memory of the operands, then of the results
    follows      True if no Python has run since the launch before: both are steps of one C call
    """

    op: Op | None
    node: Node | None
    operand_types: tuple[TensorType, ...]
    result_types: tuple[TensorType, ...]
    last: bool
    nanoseconds: int
    buffers: Any
    follows: bool = False

    @property
    def operands(self) -> list[np.ndarray[Any, Any]]:
        """Return the operands as NumPy arrays, in the dtypes in which the op computes.  Use them only until the observer returns."""
        return self._arrays(0, self.operand_types)

    @property
    def results(self) -> list[np.ndarray[Any, Any]]:
        """Return the results as NumPy arrays, in the dtypes in which the op computes.  Use them only until the observer returns."""
        return self._arrays(len(self.operand_types), self.result_types)

    def _arrays(self, first: int, types: Sequence[TensorType]) -> list[np.ndarray[Any, Any]]:
        buffers = [ffi.cast("char *", self.buffers[first + i]) for i in range(len(types))]
        return [to_compute(array_of(buffer, type_), type_.dtype) for buffer, type_ in zip(buffers, types, strict=True)]


_Observer = Callable[[Observation], None]

_kernels: weakref.WeakKeyDictionary[Any, _Kernel] = weakref.WeakKeyDictionary()
_tables: weakref.WeakKeyDictionary[Any, tuple[Node, ...]] = weakref.WeakKeyDictionary()


def describe_kernel(bound: Any, op: Op, operands: Sequence[TensorType], results: Sequence[TensorType], *, last: bool,
                    node: Node | None) -> None:
    """Note which op a bound kernel computes, for observers; the note lasts as long as the kernel.

    last  True if it is the last kernel of the op
    node  the node that it is launched for; None if it serves any
    """
    _kernels[bound] = _Kernel(op, tuple(operands), tuple(results), last, node)


def copy_for(node: Node, bound: Any) -> Any:
    """Return a copy of a bound kernel that is launched for one node only, so that observers are told that node."""
    made, of = machine().copy_of(bound), _kernels[bound]
    _kernels[made] = _Kernel(of.op, of.operands, of.results, of.last, node)
    return made


def describe_table(table: Any, nodes: Sequence[Node]) -> None:
    """Note the node of each step of a table (the steps of one C call), for observers; the note lasts as long as the table."""
    _tables[table] = tuple(nodes)


_INFINITIES = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F80_0000, "f64": 0x7FF0_0000_0000_0000}
"""For each float type the bits of infinity."""


def describe_results(bound: Any) -> None:
    """Tell the run-time library where the floats are that a bound kernel computes, so that it can check them."""
    kernel = _kernels.get(bound)
    if kernel is None or not kernel.last:
        bound.results = _nothing()
        return
    first = len(kernel.operands)
    kernel.packed = machine().describe_results([
        (first + i, type_.count, type_.dtype.size, _INFINITIES[type_.dtype.name])
        for i, type_ in enumerate(kernel.results) if type_.dtype.is_float])
    bound.results = kernel.packed


@functools.cache
def _nothing() -> Any:
    return machine().describe_results(())


class _Thread(threading.local):
    """Holds the observers of this thread, and the exception that one of them raised."""

    def __init__(self) -> None:
        self.observers: tuple[_Observer, ...] = ()
        self.raised: BaseException | None = None


_thread = _Thread()
_lock = Lock()
observations: list[None] = []
"""One entry for each `with observed(...)` that is now open in any thread, where kernels report their launches."""
_called: Any = None
"""The C function that calls `_launched`; it is kept alive for ever, since other threads may be about to call it."""


def _launched(table: Any, step: int, bound: Any, buffers: Any, nanoseconds: int) -> int:
    observers = _thread.observers
    if not observers:
        return 0
    try:
        launched = observation_of(table, step, bound, buffers, nanoseconds)
        for observer in observers:
            observer(launched)
    except BaseException as raised:
        return stop(raised)
    return 0


def observation_of(table: Any, step: int, bound: Any, buffers: Any, nanoseconds: int) -> Observation:
    """Return what is known of a launch that the run-time library has reported."""
    nodes, kernel = _tables.get(table), _kernels.get(bound)
    if kernel is None:
        return Observation(None, None if nodes is None else nodes[step], (), (), False, nanoseconds, buffers, step > 0)
    node = kernel.node if nodes is None else nodes[step]
    return Observation(kernel.op, node, kernel.operands, kernel.results, kernel.last, nanoseconds, buffers, step > 0)


def stop(raised: BaseException) -> int:
    """Return the status by which a launch says that it was stopped by an exception, which `failure` then returns."""
    _thread.raised = raised
    return _STOPPED


def report(made: Observation) -> None:
    """Call this thread's observers after an op that was computed without kernels.  Their exceptions are passed on."""
    for observer in _thread.observers:
        observer(made)


@contextmanager
def observed(observer: _Observer) -> Iterator[None]:
    """Within a `with` statement, call `observer` after each op that this thread computes.  An exception from the observer stops the program
    there.
    """
    add(observer)
    try:
        yield
    finally:
        remove(observer)


def add(observer: _Observer) -> None:
    """Call `observer` after each op that this thread computes, until `remove`.

    The run-time library reports its launches; without a compiler there is no library, and the plans report their ops.
    """
    global _called
    library = machine().library
    if library is not None:
        with _lock:
            if _called is None:
                _called = machine().callback("adjoint_observer", _launched)
            observations.append(None)
            library.adjoint_observe(_called)
    _thread.observers = (*_thread.observers, observer)


def remove(observer: _Observer) -> None:
    """No longer call `observer` in this thread."""
    observers = list(_thread.observers)
    observers.reverse()
    observers.remove(observer)
    _thread.observers = tuple(reversed(observers))
    library = machine().library
    if library is not None:
        with _lock:
            observations.pop()
            if not observations:
                library.adjoint_observe(ffi.NULL)


def observing() -> bool:
    """Return True if operators that this thread computes are reported to an observer, a Python function that is called after each of them
    (see `observed`).
    """
    return bool(_thread.observers)


def failure(of_status: Callable[[int], BaseException], status: int) -> BaseException:
    """Return the exception for a launch that has failed.

    of_status  makes the exception for a status of the kernel's own
    status     the status of the launch; it may also say that an observer raised, and then its exception is returned
    """
    raised = _thread.raised
    if status != _STOPPED or raised is None:
        return of_status(status)
    _thread.raised = None
    return raised
