"""Load libraries from the cache, and find the addresses of their functions.

Each library contains a table of its content, a string with a line for each kernel: its key, and the names of its
functions.  So a library that an entry names by mistake is detected before any of its functions is called.

A library is loaded from its directory or, if that is mounted `noexec`, from a file in memory.  It is never unloaded,
since kernels may be called until the process ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, Final

from adjoint.codegen.cache import Store
from adjoint.codegen.declarations import ffi

__all__ = ["TABLE", "Library", "LoadError", "find", "load", "open_file", "open_in_memory", "table_text"]

TABLE: Final = "adjoint_table"
MFD_EXEC: Final = 0x0010
"""Flag of memfd_create, since Linux 6.3, that requests an executable file."""

_system: Final = ffi.dlopen(None)
_open, _find, _complaint = _system.dlopen, _system.dlsym, _system.dlerror  # look it up now: a lookup resets dlerror
_memory_files = count()


class LoadError(Exception):
    """Raised for a library that the system refuses to load, or that lacks a function."""


class Library:
    """A compiled library that is loaded into this process.

    handle   the system's handle
    table    for each kernel its key, and the names of its functions
    """

    def __init__(self, handle: Any):
        self.handle = handle
        lines = ffi.string(ffi.cast("char *", self.address(TABLE))).decode("ascii", "replace").splitlines()
        self.table = {key: tuple(names) for key, *names in map(str.split, lines)}

    def address(self, name: str) -> Any:
        """Return the address of a function or a variable."""
        address = _find(self.handle, name.encode())
        if address == ffi.NULL:
            raise LoadError(f"{name} is missing")
        return address

    def functions(self, key: str) -> list[Any]:
        """Return the addresses of a kernel's functions; raise LoadError if this library does not hold it."""
        if key not in self.table:
            raise LoadError(f"there is no kernel {key}")
        return [self.address(name) for name in self.table[key]]


def table_text(kernels: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return the C code of the table by which a library says which kernels it holds.

    kernels  pairs (key of a kernel, names of its functions)
    """
    lines = "".join(f'\n    "{" ".join((key, *functions))}\\n"' for key, functions in kernels) or ' ""'
    return f"\n/* What this library holds: keys of kernels, each with its functions. */\nconst char {TABLE}[] ={lines};\n"


def load(store: Store, name: str) -> Library | None:
    """Load a library from the cache; None if it is missing or altered.  Raise LoadError if the system rejects it."""
    content = store.library(name)
    if content is None:
        return None
    if store.executable:
        try:
            return Library(open_file(store.folder.place(f"library/{name}")))
        except LoadError as problem:
            refusal = problem  # perhaps only from this directory
        try:
            return Library(open_in_memory(name, content))
        except LoadError:
            raise refusal from None
    return Library(open_in_memory(name, content))


def open_file(path: str) -> Any:
    """Load the file with this path; return its handle."""
    handle = _open(os.fsencode(path), ffi.RTLD_NOW)
    if handle == ffi.NULL:
        reason = _complaint()
        raise LoadError(ffi.string(reason).decode("utf-8", "replace") if reason else f"{path} cannot be loaded")
    return handle


def find(handle: Any, name: str) -> Any:
    """Return the address of a function in a loaded library; None if it has none of this name."""
    address = _find(handle, name.encode())
    return None if address == ffi.NULL else address


def open_in_memory(name: str, content: bytes) -> Any:
    """Load a library from a file that exists in memory only; return its handle."""
    try:
        descriptor = _memory_file(name)
    except OSError as problem:
        raise LoadError(f"{name} cannot be loaded from memory: {problem.strerror}") from problem
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        # The loader treats two libraries with the same path as one, and descriptor numbers are reused: so make each path unique.
        return open_file(f"/proc/self/fd/{'./' * next(_memory_files)}{descriptor}")
    except OSError as problem:
        raise LoadError(f"{name} cannot be loaded from memory: {problem.strerror}") from problem
    finally:
        os.close(descriptor)


def _memory_file(name: str) -> int:
    if not hasattr(os, "memfd_create"):
        raise OSError(0, "this system has no files in memory")
    try:
        return os.memfd_create(name[:200], os.MFD_CLOEXEC | MFD_EXEC)
    except OSError:  # a kernel that does not know the flag, and does not need it
        return os.memfd_create(name[:200], os.MFD_CLOEXEC)
