"""From kernels as text to functions that can be called.

A kernel is identified by a key: the sha256 of its text, of the headers that it uses, of the compiler and its flags.  In turn
it is looked for among the functions of this process, in the store of libraries on disk, among the units that are being
compiled just now, and at last it is compiled, in a *unit* (one C file, one library) together with others of its pack.
Units are compiled by as many compilers at once as there are processors; one that somebody waits for goes first.

What the compiler refuses in company is tried alone, so that one bad kernel does not take others with it; what it
refuses alone is a fault of ours: a `CompilerFailure` names a report with all that is needed to find it.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from cffi import FFI

from adjoint.codegen import emit, headers, packs, toolchain
from adjoint.codegen.c_print import INNER
from adjoint.codegen.cache import Entry, Store
from adjoint.codegen.emit import Lowered
from adjoint.codegen.toolchain import CompilerError, NoCompiler, Toolchain
from adjoint.diagnostics import InternalError, warn
from adjoint.ir.types import DType

__all__ = ["CompilerFailure", "KernelCache", "Workshop", "load_runtime", "open_workshop", "runtime_interface", "stop_compiling"]

UNIT_SIZE: Final = 6000
"""Characters of kernels in one unit, about twelve of the simple ones: the more, the less the compiler's start counts; the
fewer, the sooner the first is there."""

_DISK_PROBLEMS: Final = ("No space left on device", "Disk quota exceeded", "Read-only file system")
"""What a compiler says that could not write its output, which is no fault of what it compiled."""

_PROBE: Final = "int adjoint_probe(void);\n\nint adjoint_probe(void) {\n    return 42;\n}\n"

_dynamic: Final[Any] = FFI()
_dynamic.cdef("void *dlopen(const char *, int); void *dlsym(void *, const char *); char *dlerror(void);")
_system: Final[Any] = _dynamic.dlopen(None)
_open, _find, _complaint = _system.dlopen, _system.dlsym, _system.dlerror  # looked up now: a lookup resets the complaint


class CompilerFailure(InternalError):
    """The compiler refused C that we emitted; `report` is the file that says all about it, if it could be written."""

    def __init__(self, name: str, report: Path | None, reason: str):
        where = f" with the file {report}" if report else ""
        Exception.__init__(self, f"The C of {name} could not be compiled ({reason}): please report this fault{where}.")
        self.report = report


class LoadError(Exception):
    """A library that the system refuses to load."""


def _loaded(path: Path) -> Any:
    """The handle of a library; it is never closed, since kernels may be called until the process ends."""
    handle = _open(os.fsencode(path), _dynamic.RTLD_NOW)
    if handle == _dynamic.NULL:
        reason = _complaint()
        raise LoadError(_dynamic.string(reason).decode("utf-8", "replace") if reason else f"{path} cannot be loaded")
    return handle


def _symbol(handle: Any, name: str) -> Any:
    address = _find(handle, name.encode())
    if address == _dynamic.NULL:
        raise LoadError(f"{name} is missing")
    return address


class Workshop:
    """A compiler that works, and a store that its libraries can be loaded from.

    tried    compilers that were not there or did not work, with the reason
    refused  directories that could not be used, with the reason
    """

    def __init__(self, toolchain: Toolchain, store: Store, tried: list[str], refused: list[str], stores: Iterator[Store]):
        self.toolchain = toolchain
        self.tried = tried
        self.refused = refused
        self.store = store
        self._stores = stores
        self.forget_threads()
        start = "\0".join((toolchain.identity, *toolchain.flags, emit.INCLUDES))
        self._base = sha256(start.encode()).digest()
        self._handles: dict[tuple[Path, str], Any] = {}

    @classmethod
    def open(cls) -> Workshop:
        """The first compiler and the first directory that work; NoCompiler if there is none."""
        tried: list[str] = []
        refused: list[str] = []
        known: list[Store] = []
        stores = Store.candidates(refused)

        def all_stores() -> Iterator[Store]:
            yield from known
            for store in stores:
                known.append(store)
                yield store

        for candidate in Toolchain.candidates(tried):
            for store in all_stores():
                try:
                    ready = _accepted(candidate, store)
                except CompilerError as problem:
                    tried.append(f"{' '.join(candidate.command)}: {problem}")
                    break
                except (LoadError, OSError) as problem:
                    refused.append(f"{store.root}: {problem}")
                    continue
                _warn_of(store, refused)
                return cls(ready, store, tried, refused, stores)
        raise NoCompiler(tried)

    def forget_threads(self) -> None:
        """Begins without locks held."""
        self._lock = threading.Lock()

    def key(self, text: str, needed: Iterable[str] = ()) -> str:
        """The identity of a text that stands on these headers, for this compiler."""
        digest = sha256(self._base)
        digest.update(text.encode())
        for header in needed:
            digest.update(headers.digest(header))
        return digest.hexdigest()

    def library(self, key: str) -> tuple[Path, Entry] | None:
        """The library with the kernel `key`, if the store has it whole."""
        store = self.store
        entry = store.entry(key)
        path = store.library(entry.library) if entry is not None else None
        return (path, entry) if entry is not None and path is not None else None

    def functions(self, key: str) -> list[Any] | None:
        """The addresses of a kernel's functions, if the store has it and it can be loaded."""
        entry = self.store.entry(key)
        if entry is None:
            return None
        store = self.store
        place = (store.root, entry.library)
        handle = self._handles.get(place)
        try:
            if handle is None:
                path = store.library(entry.library)
                if path is None:
                    return None
                handle = self._handles.setdefault(place, _loaded(path))
            return [_symbol(handle, name) for name in entry.functions]
        except LoadError:
            return None

    def make(self, name: str, source: str, kernels: Sequence[tuple[str, tuple[str, ...]]], extra: tuple[str, ...] = ()) -> None:
        """Compiles a unit and notes its kernels, (key, functions) each; a CompilerError if the compiler refuses.

        A directory that turns out to be full or read-only is given up for the next one.
        """
        while True:
            store = self.store
            try:
                return self._make(store, name, source, kernels, extra)
            except OSError as problem:
                self._retreat(store, problem.strerror or str(problem))
            except CompilerError as problem:
                if not (reason := next((words for words in _DISK_PROBLEMS if words in problem.output), "")):
                    raise
                self._retreat(store, reason)

    def _make(
        self, store: Store, name: str, source: str, kernels: Sequence[tuple[str, tuple[str, ...]]], extra: tuple[str, ...]
    ) -> None:
        unit = f"{name}-{self.key(source)[:16]}"
        with store.turn(unit, _stopping.is_set):
            if all(self.functions(key) is not None for key, _ in kernels):
                return  # another process has made it meanwhile
            text = store.write(f"library/{unit}.c", source)
            made = store.temporary_path(unit)
            try:
                self.toolchain.compile(text, made, extra)
                library = store.add_library(unit, made)
            finally:
                with suppress(OSError):
                    made.unlink()
            for key, functions in kernels:
                store.add_entry(key, Entry(library, functions))

    def _retreat(self, store: Store, reason: str) -> None:
        if _stopping.is_set():
            raise InternalError("the compilers were stopped")
        with self._lock:
            if self.store is not store:
                return
            self.refused.append(f"{store.root}: {reason}")
            if store.temporary:
                raise InternalError(f"nothing can be written to any cache directory: {'; '.join(self.refused)}")
            self.store = next(self._stores)
            _warn_of(self.store, self.refused)

    def failure(self, name: str, source: str, problem: CompilerError) -> CompilerFailure:
        """The exception for C that was refused; writes the report."""
        report = "\n".join(
            [
                f"The C compiler refused {name}.",
                f"\ncompiler: {self.toolchain.version()}",
                f"command:  {' '.join(problem.command)}",
                f"\n---- output\n\n{problem.output.rstrip()}",
                f"\n---- source\n\n{source}",
            ]
        )
        path = None
        with suppress(OSError):
            path = self.store.write(f"report/{name}-{self.key(source)[:16]}.txt", report)
        return CompilerFailure(name, path, str(problem))


def _accepted(candidate: Toolchain, store: Store) -> Toolchain:
    """The toolchain with the -m flags that it understands.

    Tried once for each compiler and directory, on a library of one line.  A CompilerError if it does not compile at all,
    a LoadError if libraries cannot be loaded from there.
    """
    key = sha256("\0".join((candidate.identity, *candidate.flags)).encode()).hexdigest()
    flags = store.accepted_flags(key)
    if flags == candidate.machine:
        return candidate
    if flags == ():
        return candidate.without_machine()
    store.sweep()
    source = store.write("library/probe.c", _PROBE)
    made = store.temporary_path("probe")
    try:
        try:
            candidate.compile(source, made)
            ready = candidate
        except CompilerError:
            if not candidate.machine:
                raise
            ready = candidate.without_machine()
            ready.compile(source, made)
        _symbol(_loaded(made), "adjoint_probe")
    finally:
        with suppress(OSError):
            made.unlink()
    store.accept_flags(key, ready.machine)
    return ready


def _warn_of(store: Store, refused: list[str]) -> None:
    if store.temporary:
        warn(f"Compiled kernels are not kept for the next run: {'; '.join(refused)}.")
    elif (chosen := os.environ.get("ADJOINT_CACHE_DIR")) and store.root.parent != Path(chosen).absolute():
        warn(f"ADJOINT_CACHE_DIR is not used, {store.root} is: {'; '.join(refused)}.")


_opening = threading.Lock()
_opened: Workshop | None = None


def open_workshop() -> Workshop:
    """The workshop of this process, opened at its first use."""
    global _opened
    with _opening:
        if _opened is None:
            _opened = Workshop.open()
        return _opened


# ---- the run-time library ------------------------------------------------------------------------------------------------

RUNTIME: Final = "runtime.c"
_INTERFACE: Final = re.compile(r"/\* interface begin.*?\*/(.*?)/\* interface end \*/", re.DOTALL)


def runtime_interface() -> str:
    """The declarations of the run-time library, as cffi reads them."""
    found = _INTERFACE.search(headers.text(RUNTIME))
    if found is None:
        raise InternalError(f"{RUNTIME} does not mark its interface")
    return found[1]


_declared: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def _declare(ffi: Any) -> None:
    """Makes the run-time library's types and functions known to `ffi`."""
    with _opening:
        if ffi not in _declared:
            ffi.cdef(runtime_interface())
            _declared.add(ffi)


def load_runtime(ffi: Any, workshop: Workshop | None = None) -> Any:
    """The run-time library, compiled if need be; its functions are attributes.  NoCompiler, CompilerFailure."""
    workshop = workshop or open_workshop()
    _declare(ffi)
    source = headers.text(RUNTIME)
    key = workshop.key(source)
    found = workshop.library(key)
    if found is not None:
        with suppress(OSError):
            return ffi.dlopen(os.fspath(found[0]), ffi.RTLD_NOW)
    try:
        workshop.make("runtime", source, [(key, ())], ("-pthread",))
    except CompilerError as problem:
        raise workshop.failure("runtime", source, problem) from problem
    found = workshop.library(key)
    if found is None:
        raise CompilerFailure("runtime", None, "its library vanished")
    try:
        return ffi.dlopen(os.fspath(found[0]), ffi.RTLD_NOW)
    except OSError as problem:
        raise CompilerFailure("runtime", None, str(problem)) from problem


# ---- units ---------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Unit:
    """Kernels that are compiled together.

    done      set when it is compiled, or has failed
    problem   why it has failed
    """

    name: str
    kernels: dict[str, Lowered]
    done: threading.Event = field(default_factory=threading.Event)
    problem: Exception | None = None

    def source(self) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
        """The C file, and for each kernel its key and what its functions are called in that file.

        Two kernels may have given a function the same name: the later one's gets a number.
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
        used = {header for kernel in self.kernels.values() for header in kernel.headers}
        return emit.unit_text(f"Kernels of adjoint: {self.name}", headers.in_order(used), texts), named


def _units(name: str, kernels: dict[str, Lowered]) -> list[_Unit]:
    """Kernels in units of about one size; those that stand on the same headers together, in the order of the first of them."""
    groups: dict[tuple[str, ...], dict[str, Lowered]] = {}
    for key, kernel in kernels.items():
        groups.setdefault(kernel.headers, {})[key] = kernel
    units: list[_Unit] = []
    for group in groups.values():
        total = sum(len(kernel.text) for kernel in group.values())
        share = total / max(1, round(total / UNIT_SIZE))
        begun = 0
        for key, kernel in group.items():
            if not begun or begun + len(kernel.text) / 2 > share:
                units.append(_Unit(name, {}))
                begun = 0
            units[-1].kernels[key] = kernel
            begun += len(kernel.text)
    return units


class _Crew:
    """Threads that compile, as many as there are processors; they end when there is nothing to do."""

    def __init__(self, work: Callable[[Any], None]):
        self._work = work
        self._lock = threading.Lock()
        self._waiting: deque[Any] = deque()
        self._threads = 0
        self._alive: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._stopped = False
        self._most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def add(self, tasks: Iterable[Any], *, first: bool) -> None:
        """Queues tasks: before all others, or behind them."""
        with self._lock:
            if first:
                self._waiting.extendleft(reversed(list(tasks)))
            else:
                self._waiting.extend(tasks)
            idle = 0 if self._stopped else self._most - self._threads
            for _ in range(min(idle, len(self._waiting))):
                self._threads += 1
                thread = threading.Thread(target=self._run, name="adjoint-compile", daemon=True)
                self._alive.add(thread)
                thread.start()

    def hurry(self, task: Any) -> None:
        """Moves a task that still waits to the front."""
        with self._lock, suppress(ValueError):
            self._waiting.remove(task)
            self._waiting.appendleft(task)

    def stop(self) -> None:
        """Drops what waits, and starts nothing more."""
        with self._lock:
            self._stopped = True
            self._waiting.clear()

    def wait(self) -> None:
        """Returns when no thread is at work any more."""
        for thread in list(self._alive):
            thread.join(timeout=5)

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

    ffi         the functions are given as its `adjoint_kernel`
    background  whether packs that programs mostly need are compiled before they are needed
    """

    def __init__(self, ffi: Any, workshop: Workshop | None = None, *, background: bool = True):
        _declare(ffi)
        self._ffi = ffi
        self._type = ffi.typeof("adjoint_kernel")
        self.workshop = workshop or open_workshop()
        self._background = background
        self._functions: dict[str, tuple[Any, ...]] = {}
        self._failures: dict[str, CompilerFailure] = {}
        self._planned: set[tuple[str, DType]] = set()
        self._forget_threads()
        _caches.add(self)

    def _forget_threads(self) -> None:
        """Begins without locks held and units under way: at first, and in a child process, which has none of the threads."""
        self._lock = threading.Lock()
        self.workshop.forget_threads()
        self._pending: dict[str, _Unit] = {}
        self._crew = _Crew(self._perform)

    def get(self, kernel: Lowered) -> tuple[Any, ...]:
        """One function for each stage of the kernel.  A CompilerFailure if the compiler refuses it."""
        functions = self._functions.get(kernel.text)
        if functions is not None:
            return functions
        key = self.workshop.key(kernel.text, kernel.headers)
        functions = self._found(key)
        if functions is None:
            functions = self._made(kernel, key)
        return self._functions.setdefault(kernel.text, functions)

    def _found(self, key: str) -> tuple[Any, ...] | None:
        addresses = self.workshop.functions(key)
        return None if addresses is None else tuple(self._ffi.cast(self._type, address) for address in addresses)

    def _made(self, kernel: Lowered, key: str) -> tuple[Any, ...]:
        """Compiles a kernel with its pack; alone, if it has none, or if that failed."""
        unit = self._unit_with(kernel, key)
        unit.done.wait()
        functions = self._found(key)
        if functions is None and len(unit.kernels) > 1:
            unit = self._alone(kernel, key)
            unit.done.wait()
            functions = self._found(key)
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
            case None:
                return CompilerFailure(unit.name, None, "its library cannot be loaded")
            case problem:
                return CompilerFailure(unit.name, None, str(problem))

    def _unit_with(self, kernel: Lowered, key: str) -> _Unit:
        """The unit that is or will be compiling this kernel, before all that nobody waits for."""
        with self._lock:
            if key in self._failures:
                raise self._failures[key]
            unit = self._pending.get(key)
            if unit is not None:
                self._crew.hurry(unit)
                return unit
            group = (kernel.pack, kernel.dtype)
            if not kernel.pack or group in self._planned:
                return self._submitted(kernel, key)
            units = self._plan(*group, {key: kernel})
            self._crew.add(units, first=True)
            if self._background:
                self._crew.add([(pack, kernel.dtype) for pack in packs.followers(*group)], first=False)
            return self._pending[key]

    def _alone(self, kernel: Lowered, key: str) -> _Unit:
        with self._lock:
            return self._pending.get(key) or self._submitted(kernel, key)

    def _submitted(self, kernel: Lowered, key: str) -> _Unit:
        """A unit of one kernel, queued first.  Needs the lock."""
        unit = self._pending[key] = _Unit(kernel.name, {key: kernel})
        self._crew.add([unit], first=True)
        return unit

    def _plan(self, pack: str, dtype: DType, wanted: dict[str, Lowered]) -> list[_Unit]:
        """Units for what is missing of a pack, those `wanted` in the first.  Needs the lock."""
        self._planned.add((pack, dtype))
        missing = dict(wanted)
        whole: dict[str, bool] = {}
        store = self.workshop.store
        for kernel in packs.pack_sources(pack, dtype):
            key = self.workshop.key(kernel.text, kernel.headers)
            entry = store.entry(key)
            if entry is not None and entry.library not in whole:
                whole[entry.library] = store.library(entry.library) is not None
            if key not in self._pending and not (entry is not None and whole[entry.library]):
                missing.setdefault(key, kernel)
        units = _units(f"{pack}_{dtype.name}", missing)
        for unit in units:
            self._pending.update(dict.fromkeys(unit.kernels, unit))
        return units

    def _perform(self, task: _Unit | tuple[str, DType]) -> None:
        """What a thread of the crew does: plans a pack, or compiles a unit.  Never raises."""
        if isinstance(task, tuple):
            with self._lock:
                units = [] if task in self._planned else self._plan(*task, {})
            self._crew.add(units, first=False)
            return
        try:
            source, named = task.source()
            self.workshop.make(task.name, source, named)
        except Exception as problem:
            task.problem = problem
        with self._lock:
            for key in task.kernels:
                if self._pending.get(key) is task:
                    del self._pending[key]
        task.done.set()

    def _stop(self) -> None:
        self._crew.stop()


_caches: Final[weakref.WeakSet[KernelCache]] = weakref.WeakSet()
_stopping: Final = threading.Event()
"""Set when the process ends: what fails from then on is no fault of a directory."""


def stop_compiling() -> None:
    """Ends compilers whose work nobody waits for any more; for the end of the process."""
    _stopping.set()
    for cache in list(_caches):
        cache._stop()
    for process in list(toolchain.running):
        toolchain.end(process)
    for cache in list(_caches):
        cache._crew.wait()


def _in_child() -> None:
    global _opening
    _opening = threading.Lock()
    toolchain.running.clear()
    for cache in list(_caches):
        cache._forget_threads()


atexit.register(stop_compiling)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
