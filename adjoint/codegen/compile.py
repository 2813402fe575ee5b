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
from adjoint.codegen.toolchain import LIMIT, PLAIN
from adjoint.codegen.workshop import CompilerFailure, Workshop, declare, open_workshop
from adjoint.foundation.dataclass import dataclass, field
from adjoint.foundation.locking import Lock
from adjoint.foundation.made import count
from adjoint.ir.types import DType

__all__ = ["KernelCache", "stop_compiling"]

UNIT_SIZE: Final = 6000
"""Characters of kernels in one unit, about twelve simple ones: larger units spread the compiler's start-up time, smaller units are ready
sooner."""

SMALL_UNIT_SIZE: Final = 2000
"""The same for units that nobody waits for: what takes long to compile is alone."""

PLAIN_UNIT_SIZE: Final = 8000
"""Characters of plain kernels that take as long to compile as the compiler takes to start."""
HEADER_WORK: Final = 4000
"""Characters of a kernel that take as long to compile as the functions of a header that it uses."""

BACKGROUND: Final = replace(LIMIT, niceness=10)
"""For compilers that nobody waits for."""

UNFINISHED: Final = 2
"""Processes that ended before all was compiled that they wanted, after which the next ones hurry."""
LINGERING: Final = 10.0
"""Seconds that a process in a hurry waits at its end for a unit."""
STOPPED: Final = 0.2
"""Seconds after which a thread that waits for a unit looks whether compilers were stopped."""


# ---- units ---------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Unit:
    """Kernels that are compiled together.

    extra     flags for them
    done      set when compiled or failed
    problem   why it failed
    awaited   True if somebody waits for it, so that it waits for no other unit
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
        """Return the headers that its kernels use, in order."""
        return headers.in_order({header for kernel in self.kernels.values() for header in kernel.headers})


def _units(name: str, kernels: dict[str, KernelText], size: int = UNIT_SIZE) -> list[_Unit]:
    """Return kernels in units of about `size` characters; those that use the same headers together, in the order of the first of them."""
    groups: dict[tuple[str, ...], dict[str, KernelText]] = {}
    for key, kernel in kernels.items():
        groups.setdefault(kernel.headers, {})[key] = kernel
    units: list[_Unit] = []
    for group in groups.values():
        total = sum(len(kernel.text) for kernel in group.values())
        share = total / max(1, round(total / size))
        begun = 0
        for key, kernel in group.items():
            if not begun or begun + len(kernel.text) / 2 > share:
                units.append(_Unit(name, {}))
                begun = 0
            units[-1].kernels[key] = kernel
            begun += len(kernel.text)
    return units


def _plain_units(kernels: dict[str, KernelText], most: int) -> list[_Unit]:
    """Return plain kernels in at most so many units, each of about the same work."""
    work = {key: len(kernel.text) + HEADER_WORK * len(kernel.headers) for key, kernel in kernels.items()}
    units = [_Unit("plain", {}, PLAIN) for _ in range(max(1, min(most, sum(work.values()) // PLAIN_UNIT_SIZE)))]
    given = dict.fromkeys(units, 0)
    for key in sorted(kernels, key=work.__getitem__, reverse=True):
        unit = min(units, key=given.__getitem__)
        unit.kernels[key] = kernels[key]
        given[unit] += work[key]
    return [unit for unit in units if unit.kernels]


class _Crew:
    """Threads that compile; they end when there is nothing to do.

    most  how many there are at most; by default as many as processors
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
        """Queue tasks: before all others, or after them."""
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
        """Move a waiting task to the front."""
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
        """Return when no thread is running a task, or each has been waited for so long."""
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
    """Finds the functions of kernels, and compiles those that are missing.  Threads may share it.

    ffi         the functions are returned as its `adjoint_kernel`
    background  whether packs that programs often need are compiled in advance

    Processes that end soon may never get to the end of a large unit that nobody waits for.  So when several have ended before all was
    compiled that they wanted, the next ones hurry: they begin at once, and compile at least one unit to its end before they end.
    """

    def __init__(self, ffi: Any, workshop: Workshop | None = None, *, background: bool = True):
        declare(ffi)
        self._ffi = ffi
        self._type = ffi.typeof("adjoint_kernel")
        self.workshop = workshop or open_workshop()
        self._background = background
        self._functions: dict[tuple[str, bool], tuple[Any, ...]] = {}
        self._failures: dict[str, CompilerFailure] = {}
        self._planned: set[tuple[str, DType]] = set()
        self._forget_threads()
        _caches.add(self)

    def _forget_threads(self) -> None:
        """Begin without locks held and units under way: at first, and in a forked child, which has none of the threads."""
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
        """Return one function for each stage of the kernel.  Raise CompilerFailure if the compiler rejects it."""
        functions = self.found(kernel)
        if functions is None:
            functions = self._functions.setdefault((kernel.text, kernel.plain), self._made(kernel, self._key(kernel)))
        return functions

    def found(self, kernel: KernelText) -> tuple[Any, ...] | None:
        """Return one function for each stage of the kernel, or None if it has to be compiled."""
        functions = self._functions.get((kernel.text, kernel.plain))
        if functions is None:
            functions = self._found(kernel, self._key(kernel))
            if functions is not None:
                functions = self._functions.setdefault((kernel.text, kernel.plain), functions)
        return functions

    def _key(self, kernel: KernelText) -> str:
        return self.workshop.key(kernel.text, kernel.headers, PLAIN if kernel.plain else ())

    @property
    def ended(self) -> bool:
        """Return True once the process is ending: nothing more is compiled behind the scenes, and then nothing at all."""
        return self._ending or compiler_process.stopping.is_set()

    def later(self, task: Callable[[], None]) -> None:
        """Run a task that must not raise in another thread, after those given before.  It is dropped if the process ends."""
        if self._hurries is None:
            self._hurries = self.workshop.store.scratch.unfinished() >= UNFINISHED
        self._later.add([task], first=False)

    def prepare(self, kernels: Iterable[KernelText], *, waited_for: bool, made: Callable[[], None] = lambda: None) -> None:
        """Compile those kernels that are missing; raises nothing: `get` does.

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
                self._cut_off |= compiler_process.stopping.is_set() and unit.problem is not None
                return
            self._finish(unit)  # another process has made them in the meantime, or is at it

    @property
    def _goes_on(self) -> bool:
        """Return True if a unit may be begun behind the scenes: at the end of the process only the first one, in a hurry."""
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
        with self._lock:
            self._awaited += 1
        for unit in units:
            while not (unit.done.wait(STOPPED) or compiler_process.stopping.is_set()):
                pass
        with self._lock:
            self._awaited -= 1
            self._last_awaited = time.monotonic()

    def _missing(self, kernels: Iterable[KernelText], size: int) -> list[_Unit]:
        """Return units, of about `size`, of those kernels that are neither in the cache nor being compiled."""
        missing = {self._key(kernel): kernel for kernel in kernels if self.found(kernel) is None}
        units = _plain_units({key: kernel for key, kernel in missing.items() if kernel.plain}, self._crew.most)
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
        """Compile a kernel with its pack, or alone if it has no pack or that failed."""
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
        """Return the unit that is or will be compiling this kernel, ahead of all that nobody waits for."""
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
            if self._background:
                self._crew.add([(pack, kernel.dtype) for pack in packs.followers(*group)], first=False)
            return self._pending[key]

    def _alone(self, kernel: KernelText, key: str) -> _Unit:
        with self._lock:
            return self._pending.get(key) or self._submitted(kernel, key)

    def _submitted(self, kernel: KernelText, key: str) -> _Unit:
        """Return a unit of one kernel, queued first.  Call with the lock held."""
        unit = self._pending[key] = _Unit(kernel.name, {key: kernel}, PLAIN if kernel.plain else ())
        self._crew.add([unit], first=True)
        return unit

    def _plan(self, pack: str, dtype: DType, wanted: dict[str, KernelText]) -> list[_Unit]:
        """Return units for the missing kernels of a pack, those `wanted` in the first.  Call with the lock held."""
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

    def _perform(self, task: _Unit | tuple[str, DType]) -> None:
        """Run a task of the thread pool: plan a pack, or compile a unit.  Never raises."""
        if isinstance(task, tuple):
            with self._lock:
                units = [] if task in self._planned else self._plan(*task, {})
            self._crew.add(units, first=False)
            return
        self._compile(task, LIMIT)

    def _compile(self, task: _Unit, limit: Limit) -> None:
        """Compile a unit.  Never raises."""
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
        """Begin nothing more behind the scenes; in a hurry, wait for the unit that is being compiled, or for the first one.

        A process that an exception ends, such as Ctrl-C, waits for nothing.
        """
        self._ending = True
        if self._hurries and not hasattr(sys, "last_value"):
            with suppress(KeyboardInterrupt):
                self._later.wait(LINGERING)

    def _stop(self) -> None:
        self._crew.stop()
        self._cut_off |= self._later.stop()

    def _wait(self) -> None:
        """Return when no thread is compiling; record whether anything is left that was to be compiled behind the scenes."""
        self._crew.wait()
        self._later.wait()
        if self._cut_off:
            self.workshop.store.scratch.leave_unfinished()
        elif self._hurries is not None:
            self.workshop.store.scratch.all_finished()


_caches: Final[weakref.WeakSet[KernelCache]] = weakref.WeakSet()


def stop_compiling() -> None:
    """End compilers whose work nobody waits for any more; called at the end of the process."""
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
