"""Compiled libraries, kept between runs.

    library/<unit>.c             the text of a unit
    library/<unit>.<sum>.so      what the compiler made of it; <sum> is its checksum
    kernel/<key>                 which library holds the kernel with this key
    toolchain/<key>              flags that a compiler is known to accept
    measured/<key>               what the processor can do at most
    report/<name>.txt            what the compiler said when it refused a unit
    work/                        temporary files, see `scratch`

A key is a sha256 of everything that matters: text, headers, flags, identity of the compiler.  A file name alone is never
trusted.  An entry repeats its key and ends with its own checksum; a library has its checksum in its name, and lists the keys
of its kernels in a table (`loading`).  What is missing, truncated, altered or swapped counts as not found, and is made
again.  Entries are lines of text; nothing is ever unpickled or evaluated.

Everything is written in `work` and renamed, libraries before the entries that name them, so any number of processes can use
one cache and be killed at any time.  Processes that want the same unit take turns: one compiles and the others find the result.
This saves time only; results do not depend on it.

Candidates for the directory, in order: `kernels` in $ADJOINT_CACHE_DIR, in $XDG_CACHE_HOME/adjoint, in ~/.cache/adjoint
(~/Library/Caches/adjoint on a Mac), and at last temporary directories, which are removed when the process ends.  A directory that
cannot be trusted or written to is skipped, and `refused` says why.  One that is mounted `noexec` comes after the other
persistent ones, and its libraries are loaded from memory.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from adjoint.codegen.locks import lock, unlock
from adjoint.codegen.private_folder import PrivateFolder, UntrustedError
from adjoint.codegen.scratch import Scratch
from adjoint.foundation.dataclass import dataclass

__all__ = ["Store", "Stores", "Usage", "existing", "size_limit"]

FOLDERS: Final = ("library", "kernel", "toolchain", "measured", "report")
SIZE_LIMIT: Final = 500_000_000
"""How many bytes a cache on disk may hold, unless ADJOINT_CACHE_BYTES says otherwise."""
KEPT_AFTER_TRIMMING: Final = 0.8
"""The share of that limit which is left after files were evicted, so that this is rare."""
HOUR: Final = 3600.0
EARLIER: Final = {"kernel": re.compile(rb"[^\n/]+\.so\n(\w+\n)*"), "toolchain": re.compile(rb"works\n(-[^\n]*\n)*")}
"""For each folder, the pattern of entries that earlier versions wrote without key and checksum."""
ROOM: Final = 2**22
"""How many bytes must fit into a directory for a failure of the compiler there not to be blamed on the directory."""
FILES: Final = 8
"""How many files must fit into it as well: those that a compiler and its linker have open at once."""


@dataclass(frozen=True)
class Usage:
    """Size of a cache: numbers of libraries and kernels, and bytes on disk."""

    libraries: int
    kernels: int
    bytes: int


class Store:
    """One private directory of compiled libraries: a cache on disk that processes share.

    folder      the directory, open
    scratch     its temporary files
    temporary   True if it is removed when the process ends
    executable  True if libraries can be loaded from it; otherwise they are loaded from memory
    """

    def __init__(self, folder: PrivateFolder, *, temporary: bool = False):
        self.folder = folder
        self.temporary = temporary
        self.executable = not (hasattr(os, "ST_NOEXEC") and os.fstatvfs(folder.descriptor()).f_flag & os.ST_NOEXEC)
        for name in FOLDERS:
            folder.make_folder(name)
        self.scratch = Scratch(folder)

    @property
    def root(self) -> Path:
        """Return the path of the directory."""
        return self.folder.path

    @classmethod
    def candidates(cls, refused: list[str] | None = None) -> Iterator[Store]:
        """Yield the usable directories, the best first.

        refused  gets a text with the reason for each directory that cannot be used
        """
        refused = [] if refused is None else refused
        for opened in (_kept(refused), _temporary(refused)):
            not_executable: list[Store] = []
            for store in opened:
                if store.executable:
                    yield store
                else:
                    refused.append(f"{store.root}: is mounted so that nothing can be run from it (noexec)")
                    not_executable.append(store)
            yield from not_executable

    # Entries.

    def entry(self, key: str) -> str | None:
        """Return the file name of the library that holds the kernel with this key; None if there is none."""
        lines = self._lines("kernel", key)
        return lines[0] if lines is not None and len(lines) == 1 and _is_plain(lines[0]) else None

    def add_entry(self, key: str, library: str) -> None:
        """Record which library holds a kernel; the library must exist already."""
        self._write_lines("kernel", key, (library,))

    def accepted_flags(self, key: str) -> tuple[str, ...] | None:
        """Return the -m flags (features of the processor) that a compiler is known to accept here; None if it was not tried yet.

        key  identifies the compiler
        """
        lines = self._lines("toolchain", key)
        return None if lines is None else tuple(lines)

    def accept_flags(self, key: str, flags: Sequence[str]) -> None:
        """Record that a compiler with these -m flags makes libraries that can be loaded from this directory.

        key  identifies the compiler
        """
        self._write_lines("toolchain", key, flags)

    def measured(self, key: str) -> list[float] | None:
        """Return the numbers that were measured under this key; None if none were."""
        lines = self._lines("measured", key)
        return None if lines is None else [float(line) for line in lines]

    def keep_measured(self, key: str, numbers: Sequence[float]) -> None:
        """Record numbers that were measured."""
        self._write_lines("measured", key, [repr(float(number)) for number in numbers])

    def _lines(self, folder: str, key: str) -> list[str] | None:
        """Return the lines that were recorded in a folder under a key; None unless the record is complete and was written under this key.
        """
        content = self.folder.read(f"{folder}/{key}")
        if content is None:
            return None
        body, _, checksum = content.decode("utf-8", "replace").removesuffix("\n").rpartition("\n")
        first, *lines = body.split("\n")
        return lines if first == key and checksum == _checksum(body.encode()) else None

    def _write_lines(self, folder: str, key: str, lines: Sequence[str]) -> None:
        body = "\n".join([key, *lines])
        self.write(f"{folder}/{key}", f"{body}\n{_checksum(body.encode())}\n")

    # Libraries.

    def library(self, name: str) -> bytes | None:
        """Return the content of a library if its checksum agrees with its name; None if it is missing or altered."""
        content = self.folder.read(f"library/{name}")
        if content is None or _checksum(content) != name.removesuffix(".so").rpartition(".")[2]:
            return None
        return content

    def add_library(self, unit: str, made: str) -> str:
        """Move a compiled file into the cache, and return its name there.

        unit  the name of the unit (a C file) that it was compiled from
        made  the path of the compiled file
        """
        content = self.folder.read(made)
        if content is None:
            raise OSError(f"the compiler has not written {made}")
        name = f"{unit}.{_checksum(content)}.so"
        self.folder.rename(made, f"library/{name}")
        return name

    def used(self, name: str) -> None:
        """Mark a library as used in the present hour, since those used longest ago are evicted first."""
        status = self.folder.status(f"library/{name}")
        if status is not None and status.st_mtime < time.time() - HOUR:
            self.folder.touch(f"library/{name}")

    # Files.

    def write(self, name: str, text: str) -> Path:
        """Write a file completely or not at all; return its path, for messages."""
        with self.scratch.new_folder() as work:
            self.folder.create(f"{work}/text", text.encode())
            self.folder.rename(f"{work}/text", name)
        return self.root / name

    def check_room(self) -> None:
        """Raise OSError unless ROOM bytes in FILES files can be written: then a missing output is not the compiler's fault."""
        with self.scratch.new_folder() as work:
            for number in range(FILES):
                self.folder.create(f"{work}/room{number}", os.urandom(ROOM // FILES))

    def clear(self) -> None:
        """Remove all kept files, and temporary files of processes that were killed.  Libraries that are loaded stay loaded."""
        for folder in FOLDERS:
            for name in self.folder.names(folder):
                self.folder.remove(f"{folder}/{name}")
        self.scratch.sweep()

    # How much it holds.

    def usage(self) -> Usage:
        """Return the size of the cache."""
        sizes = self._statuses()
        return Usage(
            sum(name.endswith(".so") for name in sizes),
            sum(name.startswith("kernel/") for name in sizes),
            sum(status.st_size for status in sizes.values()),
        )

    def _statuses(self) -> dict[str, os.stat_result]:
        """Return the status of each kept file, by name; a file that another process has just removed is skipped."""
        names = [f"{folder}/{name}" for folder in FOLDERS for name in self.folder.names(folder)]
        return {name: status for name in names if (status := self.folder.status(name)) is not None}

    def tidy(self, limit: int) -> None:
        """Remove temporary files of processes that were killed; if more than `limit` bytes are kept, evict the files used longest ago."""
        self.scratch.sweep()
        files = self._statuses()
        total = sum(status.st_size for status in files.values())
        if total <= limit:
            return
        units: dict[str, list[str]] = {}
        for name in files:
            if not name.startswith("toolchain/"):
                units.setdefault(self._unit(name), []).append(name)
        last_used = {unit: max(files[name].st_mtime for name in names) for unit, names in units.items()}
        for unit in sorted(units, key=last_used.__getitem__)[:-1]:  # the last one was made just now
            if total <= limit * KEPT_AFTER_TRIMMING:
                return
            for name in units[unit]:
                self.folder.remove(name)
                total -= files[name].st_size

    def _unit(self, name: str) -> str:
        """Return the name of the unit (a C file and its library) to which a file belongs; files of one unit are kept or removed together.
        """
        folder, _, file = name.partition("/")
        library = (self.entry(file) or "") if folder == "kernel" else file
        return library.removesuffix(".c") if library.endswith(".c") else library.rsplit(".", 2)[0]

    def damaged(self) -> list[str]:
        """Return the names of files that are altered, truncated or swapped with others."""
        names, earlier = self.folder.names, {*self.of_earlier_versions()}
        libraries = {name: self.library(name) is not None for name in names("library") if name.endswith(".so")}
        found = [
            *(f"kernel/{key}" for key in names("kernel") if not libraries.get(self.entry(key) or "", False)),
            *(f"library/{name}" for name, whole in libraries.items() if not whole),
            *(f"toolchain/{key}" for key in names("toolchain") if self.accepted_flags(key) is None),
        ]
        return [name for name in found if name not in earlier]

    def of_earlier_versions(self) -> list[str]:
        """Return the names of entries that an earlier version wrote: never read, and removed by `clear` or when the cache is full."""
        names = [f"{folder}/{key}" for folder in EARLIER for key in self.folder.names(folder)]
        return [name for name in names if EARLIER[name.partition("/")[0]].fullmatch(self.folder.read(name) or b"")]


class Stores:
    """The usable cache directories, each opened when it is first needed.

    chosen   the directory that the user chose when they were first looked for, whatever the variable says by now; None if there is none
    refused  gets a text with the reason for each directory that cannot be used
    """

    def __init__(self, refused: list[str]):
        self.chosen = _chosen()
        self._found: list[Store] = []
        self._more = Store.candidates(refused)

    def after(self, store: Store | None) -> Store | None:
        """Return the directory to try after `store`, or the first one if `store` is None.  Return None after the last one."""
        position = 0 if store is None else self._found.index(store) + 1
        if position == len(self._found):
            self._found += [following] if (following := next(self._more, None)) is not None else []
        return self._found[position] if position < len(self._found) else None


def _chosen() -> Path | None:
    chosen = os.environ.get("ADJOINT_CACHE_DIR")
    return Path(chosen).absolute() if chosen else None


def _bases() -> Iterator[Path]:
    """Yield the paths that may be cache directories, in the order in which they are tried."""
    if (chosen := _chosen()) is not None:
        yield chosen
    common = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(common):
        yield Path(common, "adjoint")
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        yield Path(home, "Library", "Caches", "adjoint") if sys.platform == "darwin" else Path(home, ".cache", "adjoint")


def size_limit() -> int:
    """Return the bytes that a cache may hold; raise ValueError if ADJOINT_CACHE_BYTES is not a positive number."""
    text = os.environ.get("ADJOINT_CACHE_BYTES", "")
    if not text:
        return SIZE_LIMIT
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"ADJOINT_CACHE_BYTES must be a positive number of bytes, but got {text!r}.")
    return int(text)


def existing(refused: list[str]) -> Store | None:
    """Return the persistent cache directory in use, or None if there is none yet; nothing is created.

    refused  gets a text with the reason for each directory that cannot be used
    """
    for base in _bases():
        try:
            return Store(PrivateFolder(base / "kernels")) if (base / "kernels").exists() else None
        except OSError as problem:
            refused.append(f"{base}: {problem.strerror or problem}")
        except UntrustedError as problem:
            refused.append(str(problem))
    return None


def _kept(refused: list[str]) -> Iterator[Store]:
    for base in _bases():
        try:
            yield Store(PrivateFolder.make(base / "kernels"))
        except OSError as problem:
            refused.append(f"{base}: {problem.strerror or problem}")
        except UntrustedError as problem:
            refused.append(str(problem))


def _temporary(refused: list[str]) -> Iterator[Store]:
    """Yield temporary cache directories, which are removed when the process ends: where Python puts them, or in memory."""
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP", "XDG_RUNTIME_DIR")]
    for parent in dict.fromkeys([*named, "/tmp", "/var/tmp", "/dev/shm"]):
        if not os.path.isabs(parent) or not os.path.isdir(parent):
            continue
        path = Path(parent, f"adjoint-{os.urandom(8).hex()}")
        try:
            _sweep_temporary(parent)
            path.mkdir(mode=0o700)
            atexit.register(_remove_at_end, path, os.getpid())
            folder = PrivateFolder(path)
            with suppress(OSError):  # the file system has no file locks
                lock(folder, "owner")
            yield Store(folder, temporary=True)
        except OSError as problem:
            refused.append(f"{parent}: {problem.strerror or problem}")
        except UntrustedError as problem:
            refused.append(str(problem))


def _sweep_temporary(parent: str) -> None:
    """Remove the directories of killed processes: those that are no longer locked."""
    with suppress(OSError):
        for name in filter(re.compile("adjoint-[0-9a-f]{16}").fullmatch, os.listdir(parent)):
            with suppress(OSError, UntrustedError):
                folder = PrivateFolder(Path(parent, name))
                if folder.status("owner") is not None:
                    file = lock(folder, "owner")
                    shutil.rmtree(folder.path, ignore_errors=True)
                    unlock(folder, "owner", file)


def _remove_at_end(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child runs this as well
        shutil.rmtree(path, ignore_errors=True)


def _checksum(content: bytes) -> str:
    return sha256(content).hexdigest()[:32]


def _is_plain(name: str) -> bool:
    """Return True if a word that was read from a cache entry is a plain file name, not a path."""
    return bool(name) and "/" not in name and "\\" not in name and "\0" not in name and not name.startswith(".")
