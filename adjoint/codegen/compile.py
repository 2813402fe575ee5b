"""Compile kernels from text to callable functions.

A kernel is identified by a key: the sha256 of its text, of the headers that it uses, of the compiler and its flags.  It is
looked up, in this order, among the functions of this process, in the cache on disk, and among the units being compiled; at
last it is compiled, in a *unit* (one C file, one library) together with others of its pack.  As many compilers run at once
as there are processors; a unit that somebody waits for goes first.

If the compiler rejects a unit, its kernels are compiled one by one, so that one bad kernel does not fail the others. A kernel that it
rejects alone is an error in this package, or the compiler has stopped working: the `CompilerFailure` says which.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from adjoint.codegen import compiler_process, emit, headers, packs
from adjoint.codegen.c_print import INNER
from adjoint.codegen.compiler_process import CompilerError, Limit
from adjoint.codegen.emit import KernelText
from adjoint.codegen.toolchain import LIMIT, PLAIN, SCALAR
from adjoint.codegen.workshop import CompilerFailure, Workshop, declare, open_workshop
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.locking import Lock
from adjoint.foundation.made import count, note_found, spend
from adjoint.ir.types import DType

__all__ = ["KernelCache", "stop_compiling"]

UNIT_SIZE: Final = 6000
"""How many characters of kernels are compiled as one unit (one C file), about twelve simple ones: larger units spread the compiler's
start-up time, smaller units are ready sooner.
"""

SMALL_UNIT_SIZE: Final = 2000
"""The same for units that nobody waits for, so that a kernel which takes long to compile is in a unit of its own."""

PLAIN_UNIT_SIZE: Final = 8000
"""How many characters of plain kernels take as long to compile as the compiler takes to start."""
HEADER_WORK: Final = 4000
"""How many characters of a kernel take as long to compile as the functions of a header that it uses."""

BACKGROUND: Final = replace(LIMIT, niceness=10)
"""The limits of time, and the low priority, for compilers that nobody waits for."""

UNFINISHED: Final = 2
"""The number of processes that must end before their background compilation is done for the next ones to hurry (see `KernelCache`)."""
LINGERING: Final = 10.0
"""How many seconds a process in a hurry waits at its end for a unit to be compiled."""
STOPPED: Final = 0.2
"""How often, in seconds, a thread that waits for a unit looks whether compilers were stopped."""


# ---- units ---------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Unit:
    """Kernels that are compiled together: one C file, one library.

    name     a name for the file's title
    kernels  the kernels by key
    extra    compiler flags for them
    done     set when it is compiled or has failed
    problem  the exception if it has failed, otherwise None
    awaited  True if somebody waits for it, so that it waits for no other unit
    """

    name: str
    kernels: dict[str, KernelText]
    extra: tuple[str, ...] = ()
    done: threading.Event = field(default_factory=threading.Event)
    problem: Exception | None = None
    awaited: bool = False

    def source(self) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
        """Return the C file, and for each kernel its key and the names of its functions in that file.

        Two kernels may have functions of the same name: the later one's gets a number.
        """
        taken: set[str] = set()
        texts: list[str] = []
        named: list[tuple[str, tuple[str, ...]]] = []
        for key, kernel in self.kernels.items():
            text = kernel.text
            functions: list[str] = []
            for stage in kernel.stages:
                name, number = stage.function, 1
                while name in taken:
                    number += 1
                    name = f"{stage.function}_v{number}"
                if name != stage.function:
                    text = re.sub(rf"\b{stage.function}({INNER})?\(", rf"{name}\1(", text)
                taken.add(name)
                functions.append(name)
            texts.append(text)
            named.append((key, tuple(functions)))
        return emit.unit_text(f"Kernels of adjoint: {self.name}", self.headers, texts), named

    @property
    def headers(self) -> tuple[str, ...]:
        """Return the headers that its kernels use, in the order in which they are copied into the file."""
        return headers.in_order({header for kernel in self.kernels.values() for header in kernel.headers})


def _flags(kernel: KernelText) -> tuple[str, ...]:
    """Return the flags with which a kernel is compiled, in addition to those of all."""
    return PLAIN if kernel.plain else SCALAR if kernel.scalar else ()


def _units(name: str, kernels: dict[str, KernelText], size: int = UNIT_SIZE) -> list[_Unit]:
    """Distribute kernels over units (C files) of about `size` characters; kernels that use the same headers are together.

    name  the name of the units
    """
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, KernelText]] = {}
    for key, kernel in kernels.items():
        groups.setdefault((kernel.headers, _flags(kernel)), {})[key] = kernel
    units: list[_Unit] = []
    for (_, flags), group in groups.items():
        total = sum(len(kernel.text) for kernel in group.values())
        share = total / max(1, round(total / size))
        begun = 0
        for key, kernel in group.items():
            if not begun or begun + len(kernel.text) / 2 > share:
                units.append(_Unit(name, {}, flags))
                begun = 0
            units[-1].kernels[key] = kernel
            begun += len(kernel.text)
    return units


def _plain_units(kernels: dict[str, KernelText], most: int) -> list[_Unit]:
    """Distribute plain kernels (those that are quick to compile) over at most `most` units (C files), which take about the same time to
    compile.
    """
    work = {key: len(kernel.text) + HEADER_WORK * len(kernel.headers) for key, kernel in kernels.items()}
    units = [_Unit("plain", {}, PLAIN) for _ in range(max(1, min(most, sum(work.values()) // PLAIN_UNIT_SIZE)))]
    given = dict.fromkeys(units, 0)
    for key in sorted(kernels, key=work.__getitem__, reverse=True):
        unit = min(units, key=given.__getitem__)
        unit.kernels[key] = kernels[key]
        given[unit] += work[key]
    return [unit for unit in units if unit.kernels]


class _Crew:
    """A queue of tasks, with threads that do them; the threads end when the queue is empty.

    work  the function that does a task
    most  how many threads there are at most; 0: as many as processors
    """

    def __init__(self, work: Callable[[Any], None], most: int = 0):
        self._work = work
        self._lock = Lock()
        self._waiting: deque[Any] = deque()
        self._threads = 0
        self._alive: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._stopped = False
        self.most = most or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)

    def add(self, tasks: Iterable[Any], *, first: bool) -> None:
        """Queue tasks, and start threads for them.

        first  True: before all tasks that wait; False: after them
        """
        with self._lock:
            if first:
                self._waiting.extendleft(reversed(list(tasks)))
            else:
                self._waiting.extend(tasks)
            idle = 0 if self._stopped else self.most - self._threads
            for _ in range(min(idle, len(self._waiting))):
                self._threads += 1
                thread = threading.Thread(target=self._run, name="adjoint-compile", daemon=True)
                self._alive.add(thread)
                thread.start()

    def hurry(self, task: Any) -> None:
        """Move a task to the front of the queue; do nothing if it does not wait there any more."""
        with self._lock, suppress(ValueError):
            self._waiting.remove(task)
            self._waiting.appendleft(task)

    def stop(self) -> bool:
        """Drop waiting tasks, and start nothing more; return True if there were any."""
        with self._lock:
            self._stopped, dropped = True, bool(self._waiting)
            self._waiting.clear()
        return dropped

    def wait(self, seconds: float = 5.0) -> None:
        """Return when no thread runs a task any more, or after waiting `seconds` for each thread."""
        for thread in list(self._alive):
            thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads -= 1
                    return
                task = self._waiting.popleft()
            self._work(task)


# ---- the cache of kernels ------------------------------------------------------------------------------------------------


class KernelCache:
    """Finds the C functions of kernels, and compiles those that are missing.  Threads may share it.

    ffi       the functions are returned as its `adjoint_kernel`
    workshop  the compiler and the cache on disk; by default those of the process

    Processes that end soon may never get to the end of a large unit (C file) that nobody waits for.  So when several have ended before all
    was compiled that they wanted, the next ones hurry: they begin at once, and compile at least one unit to its end before they end.
    """

    def __init__(self, ffi: Any, workshop: Workshop | None = None):
        declare(ffi)
        self._ffi = ffi
        self._type = ffi.typeof("adjoint_kernel")
        self.workshop = workshop or open_workshop()
        self._functions: dict[tuple[str, bool], tuple[Any, ...]] = {}
        self._failures: dict[str, CompilerFailure] = {}
        self._planned: set[tuple[str, DType]] = set()
        self._forget_threads()
        _caches.add(self)

    def _forget_threads(self) -> None:
        """Set the locks, the threads and the units under way to their initial state: at first, and in a forked child, which has none of the
        threads.
        """
        self._lock = Lock()
        self.workshop.forget_threads()
        self._pending: dict[str, _Unit] = {}
        self._crew = _Crew(self._perform)
        self._later = _Crew(lambda task: task(), most=1)
        self._hurries: bool | None = None
        self._begun = self._ending = self._cut_off = False
        self._awaited = 0
        self._last_awaited = time.monotonic()

    def get(self, kernel: KernelText) -> tuple[Any, ...]:
        """Return the C functions of a kernel, one for each of its stages; it is compiled if it is missing.  CompilerFailure if the compiler
        rejects it.
        """
        functions = self.found(kernel)
        if functions is None:
            functions = self._functions.setdefault((kernel.text, kernel.plain), self._made(kernel, self._key(kernel)))
        return functions

    def found(self, kernel: KernelText) -> tuple[Any, ...] | None:
        """Return the C functions of a kernel, one for each of its stages; None if it has to be compiled."""
        functions = self._functions.get((kernel.text, kernel.plain))
        if functions is None:
            functions = self._found(kernel, self._key(kernel))
            if functions is not None:
                functions = self._functions.setdefault((kernel.text, kernel.plain), functions)
                note_found()
        return functions

    def _key(self, kernel: KernelText) -> str:
        return self.workshop.key(kernel.text, kernel.headers, _flags(kernel))

    @property
    def ended(self) -> bool:
        """Return True once the process is ending: nothing more is compiled behind the scenes, and then nothing at all."""
        return self._ending or compiler_process.stopping.is_set()

    def begin(self, kernels: Iterable[KernelText]) -> None:
        """Begin to compile those of these plain kernels that are missing, by one compiler, and return; errors are left to `get`."""
        self._crew.add(self._missing(kernels, UNIT_SIZE, compilers=1), first=False)

    def later(self, task: Callable[[], None]) -> None:
        """Run a task that must not raise in another thread, after those given before.  It is dropped if the process ends."""
        if self._hurries is None:
            self._hurries = self.workshop.store.scratch.unfinished() >= UNFINISHED
        self._later.add([task], first=False)

    def prepare(self, kernels: Iterable[KernelText], *, waited_for: bool, made: Callable[[], None] = lambda: None) -> None:
        """Compile those of these kernels that are missing.  It raises nothing: errors are left to `get`.

        waited_for  True: by all processors; False: by one compiler at a low priority, one at a time of all processes that share the cache,
                    in small units of which the quickest come first: a process that ends soon leaves some for the next one
        made        is called after each unit that is not waited for
        """
        units = self._missing(kernels, UNIT_SIZE if waited_for else SMALL_UNIT_SIZE)
        if waited_for:
            self._crew.add(units, first=True)
            self._await(*units)
            return
        for unit in sorted(units, key=lambda unit: sum(map(len, map(headers.text, unit.headers)))):
            if not self._goes_on:
                self._cut_off = True
                return
            self._compile_in_turn(unit)
            made()

    def _compile_in_turn(self, unit: _Unit) -> None:
        """Compile a unit that nobody waits for, after those of other processes that share the cache."""
        with self.workshop.store.scratch.turn("background", lambda: unit.awaited or self.ended, patient=True) as mine:
            if not (mine or unit.awaited):
                self._cut_off = True
            elif any(self.found(kernel) is None for kernel in unit.kernels.values()):
                self._begun = True
                self._compile(unit, LIMIT if self._hurries else BACKGROUND)
                if compiler_process.stopping.is_set() and unit.problem is not None:
                    self._cut_off = True
                return
            self._finish(unit)  # another process has made them in the meantime, or is at it

    @property
    def _goes_on(self) -> bool:
        """Return True if another unit (C file) may be compiled in the background: always until the process ends; then only the first one,
        and only in a hurry (see the class).
        """
        return not self.ended or (self._hurries is True and not self._begun and not compiler_process.stopping.is_set())

    def wait_until_quiet(self, seconds: float) -> bool:
        """Wait until no compiler has been waited for in the last so many seconds; return False if the process is ending.

        A process in a hurry only waits while somebody is waiting for a compiler.
        """
        while self._goes_on:
            left = seconds if self._awaited else 0.0 if self._hurries else self._last_awaited + seconds - time.monotonic()
            if left <= 0:
                return True
            compiler_process.stopping.wait(left)
        self._cut_off = True
        return False

    def _await(self, *units: _Unit) -> None:
        begin = time.perf_counter()
        with self._lock:
            self._awaited += 1
        for unit in units:
            while not (unit.done.wait(STOPPED) or compiler_process.stopping.is_set()):
                pass
        with self._lock:
            self._awaited -= 1
            self._last_awaited = time.monotonic()
        spend("compilers", time.perf_counter() - begin)

    def _missing(self, kernels: Iterable[KernelText], size: int, compilers: int = 0) -> list[_Unit]:
        """Return units (C files), of about `size` characters, of those kernels that are neither in the cache nor being compiled.

        compilers  over how many units plain kernels are distributed at most; 0: as many as there are processors
        """
        missing = {self._key(kernel): kernel for kernel in kernels if self.found(kernel) is None}
        units = _plain_units({key: kernel for key, kernel in missing.items() if kernel.plain}, compilers or self._crew.most)
        units += _units("kernels", {key: kernel for key, kernel in missing.items() if not kernel.plain}, size)
        with self._lock:
            for unit in units:
                unit.kernels = {key: kernel for key, kernel in unit.kernels.items()
                                if key not in self._failures and self._pending.setdefault(key, unit) is unit}
        return [unit for unit in units if unit.kernels]

    def _found(self, kernel: KernelText, key: str) -> tuple[Any, ...] | None:
        addresses = self.workshop.functions(key, len(kernel.stages))
        return None if addresses is None else tuple(self._ffi.cast(self._type, address) for address in addresses)

    def _made(self, kernel: KernelText, key: str) -> tuple[Any, ...]:
        """Compile a kernel, with its pack (the kernels that are mostly needed together) if it has one, otherwise or if that failed alone;
        return its functions.
        """
        unit = self._unit_with(kernel, key)
        self._await(unit)
        functions = self._found(kernel, key)
        if functions is None and len(unit.kernels) > 1:
            unit = self._alone(kernel, key)
            self._await(unit)
            functions = self._found(kernel, key)
        self.workshop.tell_of_moves()
        if functions is not None:
            return functions
        with self._lock:
            failure = self._failures.get(key)
            if failure is None:
                failure = self._failures[key] = self._failure(unit)
        raise failure

    def _failure(self, unit: _Unit) -> CompilerFailure:
        match unit.problem:
            case CompilerError():
                return self.workshop.failure(unit.name, unit.source()[0], unit.problem)
            case CompilerFailure():
                return unit.problem
            case None:
                return CompilerFailure(f"The library with {unit.name} was compiled and cannot be loaded.")
            case problem:
                return CompilerFailure(f"The C of {unit.name} could not be compiled: {problem}.")

    def _unit_with(self, kernel: KernelText, key: str) -> _Unit:
        """Return the unit (C file) that contains this kernel and is or will be compiled, ahead of all units that nobody waits for."""
        with self._lock:
            if key in self._failures:
                raise self._failures[key]
            unit = self._pending.get(key)
            if unit is not None:
                unit.awaited = True
                self._crew.hurry(unit)
                return unit
            group = (kernel.pack, kernel.dtype)
            if not kernel.pack or kernel.plain or group in self._planned:
                return self._submitted(kernel, key)
            units = self._plan(*group, {key: kernel})
            self._crew.add(units, first=True)
            return self._pending[key]

    def _alone(self, kernel: KernelText, key: str) -> _Unit:
        with self._lock:
            return self._pending.get(key) or self._submitted(kernel, key)

    def _submitted(self, kernel: KernelText, key: str) -> _Unit:
        """Queue a unit (C file) of this one kernel before all others, and return it.  Call it with the lock held."""
        unit = self._pending[key] = _Unit(kernel.name, {key: kernel}, _flags(kernel))
        self._crew.add([unit], first=True)
        return unit

    def _plan(self, pack: str, dtype: DType, wanted: dict[str, KernelText]) -> list[_Unit]:
        """Return units (C files) for the missing kernels of a pack (kernels that are mostly needed together).  Call it with the lock held.

        dtype   the dtype of the kernels
        wanted  kernels that somebody waits for, by key: they are in the first unit
        """
        self._planned.add((pack, dtype))
        missing = dict(wanted)
        whole: dict[str | None, bool] = {None: False}
        store = self.workshop.store
        for kernel in packs.pack_sources(pack, dtype):
            key = self._key(kernel)
            library = store.entry(key)
            if library is not None and library not in whole:
                whole[library] = store.library(library) is not None
            if key not in self._pending and not whole[library]:
                missing.setdefault(key, kernel)
        units = _units(f"{pack}_{dtype.name}", missing)
        for unit in units:
            self._pending.update(dict.fromkeys(unit.kernels, unit))
        return units

    def _perform(self, task: _Unit) -> None:
        """Do a task of the queue: compile a unit (C file).  Never raises."""
        self._compile(task, LIMIT)

    def _compile(self, task: _Unit, limit: Limit) -> None:
        """Compile a unit (C file), and record the result or the failure in it.  Never raises.

        limit  the limits on the compiler's time
        """
        try:
            count("kernels")
            source, named = task.source()
            self.workshop.make(task.name, source, named, task.extra, limit)
        except Exception as problem:
            task.problem = problem
        self._finish(task)

    def _finish(self, task: _Unit) -> None:
        with self._lock:
            for key in task.kernels:
                if self._pending.get(key) is task:
                    del self._pending[key]
        task.done.set()

    def _linger(self) -> None:
        """Prepare for the end of the process: no unit is begun in the background any more.

        In a hurry (see the class), wait for the unit that is being compiled, or else for the first one that waits.

        A process that an exception ends, such as Ctrl-C, waits for nothing.
        """
        self._ending = True
        if self._hurries and not hasattr(sys, "last_value"):
            with suppress(KeyboardInterrupt):
                self._later.wait(LINGERING)

    def _stop(self) -> None:
        self._crew.stop()
        if self._later.stop():  # not `|=`, which reads before the call what another thread sets during it
            self._cut_off = True

    def _wait(self) -> None:
        """Return when no thread is compiling any more; record on disk whether anything was left that was to be compiled in the background.
        """
        self._crew.wait()
        self._later.wait()
        if self._cut_off:
            self.workshop.store.scratch.leave_unfinished()
        elif self._hurries is not None:
            self.workshop.store.scratch.all_finished()


_caches: Final[weakref.WeakSet[KernelCache]] = weakref.WeakSet()


def stop_compiling() -> None:
    """Stop the compilers whose work nobody waits for any more; called at the end of the process."""
    for cache in list(_caches):
        cache._linger()
    for cache in list(_caches):
        cache._stop()
    compiler_process.end_all()
    for cache in list(_caches):
        cache._wait()


def _in_child() -> None:
    compiler_process.forget_all()
    for cache in list(_caches):
        cache._forget_threads()


atexit.register(stop_compiling)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
