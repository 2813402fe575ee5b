"""Checks of results: after each launch the run-time library looks for NaN and infinities, in eager mode, in gradients and in graphs alike.

The library looks in C, with the threads of the launch, and calls Python for a number that it finds.  What Python does then is decided by a
function that `judge_with` sets.  While nothing is checked, a launch only tests a flag.  An op that is computed without a kernel, by its
NumPy reference, is checked by its plan.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from adjoint.foundation.locking import Lock
from adjoint.runtime.memory.machine import ffi, machine
from adjoint.runtime.memory.watching import Observation, describe_results, observation_of, stop
from adjoint.runtime.process import context
from adjoint.runtime.process.tracer import emitter

__all__ = ["check", "checked", "checking", "finite_ok", "is_fine", "judge_with"]

_AS_ALL, _NO_NAN, _FINITE, _ANYTHING = range(4)
"""What a thread checks: what all threads do, NaN, NaN and infinities, nothing.  The run-time library has the same numbers."""


class _Thread(threading.local):
    """What this thread checks, and the blocks of `finite_ok` that it has entered."""

    what: int = _AS_ALL

    def __init__(self) -> None:
        self.allowing: list[AbstractContextManager[None]] = []


_thread = _Thread()
_lock = Lock()
_in_all: int | None = None
"""What threads check that have no `with` statement of their own; None before the setting has been read."""
_blocks: list[None] = []
"""One entry for each `with` statement that checks, in any thread, and one for the setting."""
_installed: Any = None
"""The C functions that the run-time library calls; they are kept alive for ever, since other threads may be about to call them."""
_judge: Callable[[Observation, bool], BaseException | None] | None = None


def judge_with(judge: Callable[[Observation, bool], BaseException | None]) -> None:
    """Set the function that is called after a launch with a number that is not fine.

    judge  called with the launch, and False if infinities are allowed; returns the exception that is to be raised, or None
    """
    global _judge
    _judge = judge


def checked() -> int:
    """Return a number that is not 0 if results that this thread computes are checked now."""
    what = _thread.what
    if what == _AS_ALL:
        what = _in_all if _in_all is not None else _follow(context.check_finite())
    return 0 if what == _ANYTHING else what


def is_fine(x: np.ndarray[Any, Any], infinity: bool) -> bool:
    """Return True if an array has no NaN, and no infinity either unless `infinity` is False."""
    return x.dtype.kind not in "fc" or not bool((~np.isfinite(x) if infinity else np.isnan(x)).any())


def check(made: Observation) -> None:
    """Check the results of an op that was computed without kernels; raise the exception that the judge returns."""
    what = checked()
    if what and not all(is_fine(x, what == _FINITE) for x in made.results):
        assert _judge is not None
        raised = _judge(made, what == _FINITE)
        if raised is not None:
            raise raised


@contextmanager
def checking(infinity: bool) -> Iterator[None]:
    """Within a `with` statement, check the results of this thread.

    infinity  False if infinities are allowed
    """
    library = machine().library
    _begin()
    try:
        with _this_thread(_FINITE if infinity else _NO_NAN, library):
            yield
    finally:
        _end()


@contextmanager
def _this_thread(what: int, library: Any) -> Iterator[None]:
    before = _thread.what
    _thread.what = what
    if library is not None:
        library.adjoint_check_thread(what)
    try:
        yield
    finally:
        _thread.what = before
        if library is not None:
            library.adjoint_check_thread(before)


class finite_ok:  # read as a statement: `with finite_ok():`
    """Allow NaN and infinities in the results that are computed inside of a `with` statement, such as a mask of minus infinity.

    What runs in the block, on its thread, is not checked by `check_finite`.  In a function under `jit`, and in GRAPH_MODE, the block may be
    part of the function; gradients of its operators, which run later, are checked.  It may be nested.
    """

    def __enter__(self) -> None:
        graph = emitter()
        opened = _this_thread(_ANYTHING, machine().library if _installed is not None else None) if graph is None else graph.finite_ok()
        opened.__enter__()
        _thread.allowing.append(opened)

    def __exit__(self, kind: Any, raised: Any, traceback: Any) -> None:
        _thread.allowing.pop().__exit__(kind, raised, traceback)


def _follow(chosen: bool) -> int:
    """Let all threads check their results if the setting `check_finite` says so; return what they check."""
    global _in_all
    before, _in_all = _in_all or _AS_ALL, _FINITE if chosen else _AS_ALL
    if _in_all != before:
        library = machine().library
        if library is not None:
            library.adjoint_check_all(_in_all)
        (_begin if chosen else _end)()
    return _in_all


def _follow_change(chosen: bool) -> None:
    if _in_all is not None:  # otherwise the first kernel asks for the setting
        _follow(chosen)


context.on_change("check_finite", _follow_change)


def _begin() -> None:
    """Make the run-time library check results.  Without a compiler there is no library; then the plans check them."""
    global _installed
    library = machine().library
    if library is None:
        return
    with _lock:
        if _installed is None:
            _installed = machine().callback("adjoint_observer", _found), machine().callback("adjoint_describer", describe_results)
        _blocks.append(None)
        library.adjoint_check(*_installed)


def _end() -> None:
    library = machine().library
    if library is None:
        return
    with _lock:
        _blocks.pop()
        if not _blocks:
            library.adjoint_check(ffi.NULL, ffi.NULL)


def _found(table: Any, step: int, bound: Any, buffers: Any, nanoseconds: int) -> int:
    what = checked()
    if not what or _judge is None:
        return 0
    try:
        raised = _judge(observation_of(table, step, bound, buffers, nanoseconds), what == _FINITE)
    except BaseException as mistake:
        raised = mistake
    return 0 if raised is None else stop(raised)
