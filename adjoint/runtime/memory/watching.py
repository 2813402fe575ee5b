"""Observation: call observers (Python functions) after each operator that is computed, in eager mode, in gradients and in graphs alike.

The run-time library calls an observer after each launch of a kernel.  While nothing observes, a launch only tests a pointer.  Kernels and
tables are described when they are made, so that an observer knows what a launch computed.  An op that is computed without a kernel, by its
NumPy reference, is reported by its plan.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.locking import Lock
from adjoint.ir.core import Node
from adjoint.ir.op import Op
from adjoint.ir.storage import to_compute
from adjoint.ir.types import TensorType
from adjoint.runtime.memory.machine import array_of, ffi, machine

__all__ = ["Observation", "copy_for", "describe_kernel", "describe_table", "failure", "observations", "observed", "observing", "report"]

_STOPPED = 0x7F000000
"""The status that a launch returns to say that the observer of launches has raised an exception."""


class _Kernel(NamedTuple):
    """Tells which op a bound kernel computes, so that an observer can be told.

    last  True for the last kernel of its op, after which the results are complete
    node  the node that the kernel is launched for; None if it serves any
    """

    op: Op
    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    last: bool
    node: Node | None = None


@dataclass(frozen=True)
class Observation:
    """What an observer is told after a launch: which op has run, on what memory, and how long it took.

    op           the op; None for what a loop does between launches
    node         the op's node in a graph or an adjoint; None in eager mode
    last         True if the results of the op are complete: an op may take several launches
    nanoseconds  the time that the launch took
    buffers      the memory of the operands, then of the results
    """

    op: Op | None
    node: Node | None
    operand_types: tuple[TensorType, ...]
    result_types: tuple[TensorType, ...]
    last: bool
    nanoseconds: int
    buffers: Any

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
    made = machine().copy_of(bound)
    _kernels[made] = _kernels[bound]._replace(node=node)
    return made


def describe_table(table: Any, nodes: Sequence[Node]) -> None:
    """Note the node of each step of a table (the steps of one C call), for observers; the note lasts as long as the table."""
    _tables[table] = tuple(nodes)


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
        nodes = _tables.get(table)
        kernel = _kernels.get(bound)
        op, operands, results, last, node = kernel or (None, (), (), False, None)
        launched = Observation(op, node if nodes is None else nodes[step], operands, results, last, nanoseconds, buffers)
        for observer in observers:
            observer(launched)
    except BaseException as raised:
        _thread.raised = raised
        return _STOPPED
    return 0


def report(op: Op, node: Node | None, operands: tuple[TensorType, ...], results: tuple[TensorType, ...], nanoseconds: int,
           buffers: Sequence[Any]) -> None:
    """Call this thread's observers after an op that was computed without kernels.  Their exceptions are passed on.

    nanoseconds  the time that the op took
    buffers      the memory of the operands, then of the results
    """
    made = Observation(op, node, operands, results, True, nanoseconds, buffers)
    for observer in _thread.observers:
        observer(made)


@contextmanager
def observed(observer: _Observer) -> Iterator[None]:
    """Within a `with` statement, call `observer` after each op that this thread computes.  An exception from the observer stops the program
    there.
    """
    before = _thread.observers
    with _launches_observed():
        _thread.observers = (*before, observer)
        try:
            yield
        finally:
            _thread.observers = before


@contextmanager
def _launches_observed() -> Iterator[None]:
    """Within a `with` statement, make the run-time library report its launches.

    Without a compiler there is no library; then the plans report their ops.
    """
    global _called
    library = machine().library
    if library is None:
        yield
        return
    with _lock:
        if _called is None:
            _called = machine().callback("adjoint_observer", _launched)
        observations.append(None)
        library.adjoint_observe(_called)
    try:
        yield
    finally:
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
