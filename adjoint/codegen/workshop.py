"""A working compiler with a cache that its libraries can be loaded from: it makes the kernels of this process.

Compilers and directories are tried in order, until a pair compiles the probe and the run-time library, and loads them. The choice is
recorded in the cache, so that a process which finds all its kernels there starts no compiler at all.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from adjoint.codegen import declarations, emit, headers
from adjoint.codegen.cache import Store, Stores, size_limit
from adjoint.codegen.compiler_process import CompilerError, CompilerHangs, Limit, stopping
from adjoint.codegen.loading import Library, LoadError, load, table_text
from adjoint.codegen.private_folder import UntrustedError
from adjoint.codegen.probe import check_arithmetic
from adjoint.codegen.toolchain import LIMIT, NoCompiler, Toolchain
from adjoint.foundation.diagnostics import InternalError, printed_as, warn
from adjoint.foundation.locking import Lock

__all__ = ["CompilerFailure", "Workshop", "begin_opening", "load_runtime", "open_workshop", "runtime_interface", "runtime_text"]

_LACKS: Final = (
    "out of memory", "memory exhausted", "Cannot allocate memory", "Killed signal", "Resource temporarily unavailable",
    "No space left on device", "Disk quota exceeded", "Read-only file system",
)
"""Compiler output which shows that the system denied something, so that the code is not at fault."""

PROBE: Final = "probe.c"
PEAKS: Final = "peaks.c"
PEAK_KERNELS: Final = ("adjoint_peak_multiply_adds", "adjoint_peak_operations", "adjoint_peak_reads")
"""The functions of that file."""
INTERFACE: Final = "runtime/interface.h"
RUNTIME: Final = (
    "runtime/system.h", INTERFACE, "runtime/work.c", "runtime/pool.c", "runtime/launch.c", "runtime/table.c", "runtime/stacks.c",
    "runtime/memory.c", "runtime/process.c",
)
"""The files of the run-time library, which are one unit, in this order."""
WARM: Final = ("runtime/work.c", "runtime/launch.c", "runtime/table.c", "runtime/stacks.c")
"""Those that each launch and each round of a loop pass.  gcc compiles them by -O2, and the others in half the time by -O1, since a program
with an empty cache waits for them; that makes no launch slower."""


@printed_as(InternalError)
class CompilerFailure(InternalError):
    """Raised if C code that this package emitted could not be compiled; `report` is the file with all details, if it could be written."""

    def __init__(self, message: str, report: Path | None = None):
        Exception.__init__(self, message)
        self.report = report


class Workshop:
    """A working compiler, together with a cache directory from which its libraries can be loaded; a full directory is replaced by the next
    one.

    toolchain  the compiler
    store      the cache directory
    tried      compilers that are missing or did not work, with the reason
    refused    directories that could not be used, with the reason
    """

    def __init__(self, toolchain: Toolchain, store: Store, tried: list[str], refused: list[str], stores: Stores):
        self.toolchain = toolchain
        self.tried = tried
        self.refused = refused
        self.store = store
        self._stores = stores
        self._broken: CompilerFailure | None = None
        self._doubted = False
        self._moved = False
        self._untold = ""
        self.forget_threads()
        start = "\0".join((toolchain.identity, *toolchain.flags, emit.INCLUDES))
        self._base = sha256(start.encode()).digest()
        self._libraries: dict[tuple[Path, str], Library] = {}
        self._limit = size_limit()

    @classmethod
    def candidates(cls, tried: list[str], refused: list[str]) -> Iterator[Workshop]:
        """Yield a workshop for each compiler that compiles the probe (a test program), with the first directory that works with it.

        tried, refused  get texts for the compilers and directories that do not work
        """
        stores = Stores(refused)
        for candidate in Toolchain.candidates(tried):
            compiler = " ".join(candidate.command)
            store = stores.after(None)
            while store is not None:
                try:
                    ready = _accepted(candidate, store)
                except CompilerError as problem:
                    tried.append(f"{compiler}: {problem}")
                    break
                except LoadError as problem:
                    if store.executable:
                        tried.append(f"{compiler}: what it makes cannot be loaded ({problem})")
                        break
                    reason = str(problem)
                except OSError as problem:
                    reason = problem.strerror or str(problem)
                except UntrustedError as problem:
                    reason = problem.reason
                else:
                    store.scratch.sweep()
                    yield cls(ready, store, tried, refused, stores)
                    break
                _refuse(refused, store, reason)
                store = stores.after(store)

    @classmethod
    def open(cls, *, with_runtime: bool = False, telling: bool = True, trying: Callable[[Workshop], None] = lambda _: None) -> Workshop:
        """Return the first pair of compiler and directory that works; NoCompiler if there is none.

        with_runtime  True: it must compile the run-time library, too
        telling       False: warnings that it is not the user's choice are left to `tell`
        trying        is called with each pair that compiles the probe (a test program), before the run-time library is compiled
        """
        tried: list[str] = []
        refused: list[str] = []
        for workshop in cls.candidates(tried, refused):
            trying(workshop)
            try:
                if with_runtime:
                    workshop.runtime()
            except CompilerError as problem:
                tried.append(f"{' '.join(workshop.toolchain.command)}: it cannot compile the run-time library ({problem})")
            except CompilerFailure as failure:
                tried.append(f"{' '.join(workshop.toolchain.command)}: {failure}")
            else:
                workshop._untold = workshop._deviations()
                if telling:
                    workshop.tell()
                return workshop
        raise NoCompiler(tried, refused)

    def tell(self) -> None:
        """Warn, once, if compiler or directory are not those that the user chose.  Call it in the user's thread, whose line the warning
        shows.
        """
        said, self._untold = self._untold, ""
        if said:
            warn(said)

    def _deviations(self) -> str:
        """Return the text of the warning that compiler or directory are not those that the user chose; "" if they are."""
        self._moved = False
        said: list[str] = []
        chosen = os.environ.get("CC", "").strip()
        broken = [reason for reason in self.tried if chosen or not reason.endswith(": not found")]
        if broken:
            said.append(f"The C compiler {' '.join(self.toolchain.command)} is used, after others: {'; '.join(broken)}.")
        if self.toolchain.left_out:
            left_out = " ".join(self.toolchain.left_out)
            said.append(f"Of CC={chosen} this is left out, since it could change results or what is read: {left_out}.")
        return " ".join([*said, *([problem] if (problem := _problem_of(self.store, self.refused, self._stores.chosen)) else [])])

    def tell_of_moves(self) -> None:
        """Warn if another directory is used than at the last call.  Call it in the user's thread, whose line the warning shows."""
        if self._moved:
            self._moved = False
            if problem := _problem_of(self.store, self.refused, self._stores.chosen):
                warn(problem)

    def forget_threads(self) -> None:
        """Replace the lock; a forked child calls it, where another thread's lock would stay taken."""
        self._lock = Lock()

    def key(self, text: str, needed: Iterable[str] = (), extra: tuple[str, ...] = ()) -> str:
        """Return the key of a kernel in the cache: a sha256 of its text, these headers, the compiler and its flags.

        needed  the names of the headers
        extra   further compiler flags
        """
        digest = sha256(self._base)
        for flag in extra:
            digest.update(f"{flag}\0".encode())
        digest.update(text.encode())
        for header in needed:
            digest.update(headers.digest(header))
        return digest.hexdigest()

    def has(self, key: str) -> bool:
        """Return True if the cache on disk has the kernel with this key, in a library that is intact."""
        library = self.store.entry(key)
        return library is not None and self.store.library(library) is not None

    def library(self, key: str) -> Library | None:
        """Return the loaded library with the kernel of this key; None if it is missing, cannot be loaded, or does not hold the kernel."""
        store = self.store
        name = store.entry(key)
        if name is None:
            return None
        library = self._libraries.get((store.root, name))
        if library is None:
            try:
                library = load(store, name)
            except LoadError:
                return None
            if library is None:
                return None
            store.used(name)
            library = self._libraries.setdefault((store.root, name), library)
        return library if key in library.table else None

    def functions(self, key: str, count: int) -> list[Any] | None:
        """Return the addresses of a kernel's functions, if it is in the cache, can be loaded, and has `count` of them."""
        library = self.library(key)
        if library is None:
            return None
        try:
            found = library.functions(key)
        except LoadError:
            return None
        return found if len(found) == count else None

    def make(self, name: str, source: str, kernels: Sequence[tuple[str, tuple[str, ...]]], extra: tuple[str, ...] = (),
             limit: Limit = LIMIT) -> None:
        """Compile a unit (a C file) and record its kernels in the cache; CompilerError if the compiler rejects it.

        name     a name for the unit
        source   the text of the file
        kernels  pairs (key of a kernel, names of its functions)
        extra    further compiler flags
        limit    limits on the compiler's time

        If a directory turns out to be full or read-only, the next one is used.
        """
        if self._broken is not None:
            raise self._broken
        while True:
            store = self.store
            try:
                return self._make(store, name, source, kernels, extra, limit)
            except OSError as problem:
                self._retreat(store, problem.strerror or str(problem))
            except UntrustedError as problem:
                self._retreat(store, problem.reason)
            except CompilerError:
                if stopping.is_set() or (reason := _disk_problem(store)) is None:
                    raise
                self._retreat(store, reason)

    def _make(
        self, store: Store, name: str, source: str, kernels: Sequence[tuple[str, tuple[str, ...]]], extra: tuple[str, ...], limit: Limit
    ) -> None:
        unit = f"{name}-{self.key(source, extra=extra)[:16]}"
        with store.scratch.turn(unit, stopping.is_set):
            if all(self.functions(key, len(functions)) is not None for key, functions in kernels):
                return  # another process has made it in the meantime
            library = _compiled(self.toolchain, store, unit, source + table_text(kernels), extra, limit)
            for key, _ in kernels:
                store.add_entry(key, library)
            store.tidy(self._limit)

    def _retreat(self, store: Store, reason: str) -> None:
        if stopping.is_set():
            raise CompilerFailure("The compilers were stopped.")
        with self._lock:
            if self.store is not store:
                return
            _refuse(self.refused, store, reason)
            following = self._stores.after(store)
            if following is None:
                self._broken = CompilerFailure(f"There is no directory left for compiled kernels: {'; '.join(self.refused)}.")
                raise self._broken
            self.store = following
            self._moved = True

    def failure(self, name: str, source: str, problem: CompilerError) -> CompilerFailure:
        """Return the exception for C code that the compiler rejected, and write a report to a file.

        If the compiler now rejects the probe (a test program) as well, the compiler is at fault, and it is not tried again.  This is
        checked at the first failure, and when the compiler hangs.

        name, source  the unit (C file) and its text
        problem       the compiler's error
        """
        if not self._doubted or isinstance(problem, CompilerHangs):
            self._doubted = True
            try:
                _try_out(self.toolchain, self.store)
            except (CompilerError, LoadError, OSError, UntrustedError) as fault:
                compiler = " ".join(self.toolchain.command)
                self._broken = CompilerFailure(f"The C compiler {compiler} does not work any more ({fault}).")
                return self._broken
        if isinstance(problem, CompilerHangs) or any(words in problem.output for words in _LACKS):
            return CompilerFailure(f"The C of {name} could not be compiled, for lack of memory, space, processes or time here ({problem}).")
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
        with suppress(OSError, UntrustedError):
            path = self.store.write(f"report/{name}-{self.key(source)[:16]}.txt", report)
        where = f" with the file {path}" if path else ""
        return CompilerFailure(f"The C of {name} could not be compiled ({problem}): please report this fault{where}.", path)

    # The run-time library.

    def runtime(self) -> Library:
        """Return the loaded run-time library, compiled if need be; CompilerError or CompilerFailure if it cannot be compiled."""
        source = runtime_text()
        key = self.key(source)
        library = self.library(key)
        if library is not None:
            return library
        self.make("runtime", source, [(key, ())], ("-pthread", "-O1"))  # and -O2 for `WARM`
        library = self.library(key)
        if library is None:
            raise CompilerFailure("The run-time library was compiled and cannot be loaded.")
        return library

    def peaks(self, *conditions: str, measure: Callable[[Sequence[int], Sequence[float] | None], Sequence[float]]) -> list[float]:
        """Return the peaks of the processor, its largest rates, and keep them in the cache.

        conditions  what the numbers depend on besides the compiler, its flags and the text of the kernels
        measure     is called with the addresses of the functions `PEAK_KERNELS`, and the numbers of the cache or None; returns the numbers

        CompilerError or CompilerFailure if the kernels cannot be compiled.
        """
        functions, key = self.peak_kernels(), self.key(emit.INCLUDES + headers.text(PEAKS), extra=conditions)
        kept = self.store.measured(key)
        found = list(measure(functions, kept))
        if found != kept:
            with suppress(OSError, UntrustedError):
                self.store.keep_measured(key, found)
        return found

    def peak_kernels(self) -> Sequence[int]:
        """Return the addresses of the functions `PEAK_KERNELS`; CompilerError or CompilerFailure if they cannot be compiled."""
        source = emit.INCLUDES + headers.text(PEAKS)
        kernels = self.key(source)
        functions = self.functions(kernels, len(PEAK_KERNELS))
        if functions is None:
            self.make("peaks", source, [(kernels, PEAK_KERNELS)])
            functions = self.functions(kernels, len(PEAK_KERNELS))
        if functions is None:
            raise CompilerFailure("The library that measures the processor was compiled and cannot be loaded.")
        return functions


def _compiled(
    toolchain: Toolchain, store: Store, unit: str, text: str, extra: tuple[str, ...] = (), limit: Limit = LIMIT
) -> str:
    """Compile a unit (C file), put its text and its library into the cache, and return the library's name there.

    unit   the name of the unit
    text   its text
    extra  further compiler flags
    limit  limits on the compiler's time
    """
    folder = store.folder
    _compiles_or_done.set()
    with store.scratch.new_folder() as work:
        folder.create(f"{work}/{unit}.c", text.encode())
        toolchain.compile(f"{unit}.c", f"{unit}.so", extra, folder=folder.place(work), limit=limit)
        if folder.status(f"{work}/{unit}.so") is None:
            raise CompilerError(toolchain.command, "it reports success, but has written nothing")
        library = store.add_library(unit, f"{work}/{unit}.so")
        folder.rename(f"{work}/{unit}.c", f"library/{unit}.c")
    return library


def _try_out(toolchain: Toolchain, store: Store) -> None:
    """Compile the probe (a test program), load it, and check its results.

    CompilerError if the compiler fails or computes wrongly, LoadError if the library cannot be loaded, OSError if it cannot be written.
    """
    library = _compiled(toolchain, store, "probe", headers.text(PROBE) + table_text(()), limit=toolchain.probe_limit)
    loaded = load(store, library)
    if loaded is None:
        raise LoadError("the compiled probe has vanished")
    check_arithmetic(loaded, list(toolchain.command))


def _accepted(candidate: Toolchain, store: Store) -> Toolchain:
    """Return the compiler with those -m flags (features of the processor) that it understands.

    It is tried once for each compiler and directory.  CompilerError if it does not compile or computes wrongly, LoadError
    if libraries cannot be loaded, OSError if they cannot be written.
    """
    key = sha256("\0".join((candidate.identity, *candidate.flags, headers.text(PROBE))).encode()).hexdigest()
    flags = store.accepted_flags(key)
    if flags == candidate.machine:
        return candidate
    if flags == ():
        return candidate.without_machine()
    store.tidy(size_limit())
    ready = candidate
    try:
        try:
            _try_out(ready, store)
        except CompilerError as problem:
            if not candidate.machine or isinstance(problem, CompilerHangs):
                raise
            ready = candidate.without_machine()
            _try_out(ready, store)
    except CompilerError as problem:
        if (reason := _disk_problem(store)) is not None:
            raise OSError(reason) from problem
        raise
    store.accept_flags(key, ready.machine)
    return ready


def _disk_problem(store: Store) -> str | None:
    """Return the reason why a failure of the compiler is the fault of the cache directory, such as a full disk; None if it is not."""
    try:
        store.check_room()
    except OSError as refusal:
        return refusal.strerror or str(refusal)
    except UntrustedError as refusal:
        return refusal.reason
    return None


def _refuse(refused: list[str], store: Store, reason: str) -> None:
    """Append a text with the reason why a directory cannot be used to `refused`, unless it is there."""
    if (said := f"{store.root}: {reason}") not in refused:
        refused.append(said)


def _problem_of(store: Store, refused: list[str], chosen: Path | None) -> str:
    """Return the text of the warning that another cache directory is used than the chosen one; "" if it is the chosen one.

    store    the directory in use
    refused  texts about the directories that could not be used
    chosen   the directory that the user chose; None if none
    """
    if store.temporary:
        return f"Compiled kernels are not kept for the next run: {'; '.join(refused)}."
    if chosen is not None and store.root.parent != chosen:
        return f"ADJOINT_CACHE_DIR is not used, {store.root} is: {'; '.join(refused)}."
    return ""


_opening = Lock()
_opened: Workshop | NoCompiler | None = None


def open_workshop() -> Workshop:
    """Return the workshop (compiler and cache directory) of this process, opened at the first call; NoCompiler if nothing works."""
    global _opened
    with _opening:
        found, _opened = _opened or Workshop.open(with_runtime=True), None
        if isinstance(found, NoCompiler):
            raise found
        _opened = found
    found.tell()
    return found


def begin_opening() -> bool:
    """Begin to open the workshop (compiler and cache directory) of this process; return True if it is open already.

    It is done at once unless something has to be compiled.  That goes on in another thread, and `open_workshop` waits for it.
    """

    def opening() -> None:
        global _opened
        with _opening:
            try:
                _opened = _opened or Workshop.open(with_runtime=True, telling=False, trying=promise)
            except NoCompiler as problem:
                _opened = problem
            except Exception:
                pass  # the user's thread meets it again, and raises it
            done.set()
            _compiles_or_done.set()
            _promised.set()

    def promise(workshop: Workshop) -> None:
        global _promising
        _promising = workshop
        _promised.set()

    done = threading.Event()
    _compiles_or_done.clear()
    threading.Thread(target=opening, name="adjoint-open", daemon=True).start()
    _compiles_or_done.wait()
    return done.is_set()


_compiles_or_done: Final = threading.Event()


def promising_workshop() -> Workshop | None:
    """Return the workshop (compiler and cache directory) that is being opened, once its compiler is known to work, so that kernels can be
    compiled while the run-time library is; None if there is none.

    `open_workshop` may return another one in the end.
    """
    _promised.wait()
    return _promising


_promised = threading.Event()
_promising: Workshop | None = None


def runtime_text() -> str:
    """Return the C of the run-time library."""
    return "\n".join(_WARM.format(headers.text(file)) if file in WARM else headers.text(file) for file in RUNTIME)


_WARM: Final = """\
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize ("O2")
#endif
{}
#if !defined(__clang__)
#pragma GCC pop_options
#endif"""


def runtime_interface() -> str:
    """Return the declarations of the run-time library, as cffi reads them."""
    return headers.text(INTERFACE)


_declared: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def declare(ffi: Any) -> None:
    """Declare the run-time library's types and functions in `ffi`, unless it is the one of `declarations`, which has them."""
    if ffi is declarations.ffi:
        return
    with _opening:
        if ffi not in _declared:
            ffi.cdef(runtime_interface())
            _declared.add(ffi)


def load_runtime(ffi: Any, workshop: Workshop | None = None) -> Any:
    """Return the run-time library as an object whose attributes are its C functions.

    workshop  the compiler and cache directory; None for those of the process

    NoCompiler if nothing can be compiled; CompilerError or CompilerFailure if the library cannot be compiled.
    """
    workshop = workshop or open_workshop()
    declare(ffi)
    library = workshop.runtime()
    workshop.tell_of_moves()
    return ffi.dlopen(ffi.cast("void *", library.handle))


def _in_child() -> None:
    global _opening, _promised
    _opening, _promised = Lock(), threading.Event()
    _promised.set()  # nobody opens a workshop here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
