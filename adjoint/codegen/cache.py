"""Compiled libraries, kept between runs, in a directory that nobody else can write to.

Loading a library is running it, so a cache is trusted only if it is ours alone: a real directory (no link), owned by this
user, mode 0700.  Candidates, in order: `kernels` in $ADJOINT_CACHE_DIR, in $XDG_CACHE_HOME/adjoint, in ~/.cache/adjoint
(~/Library/Caches/adjoint on a Mac), and at last a temporary directory that goes when the process ends.  A candidate
that cannot be trusted, written or loaded from is passed over, and `refused` says why.

    library/NAME-<unit>.c           the text of a unit
    library/NAME-<unit>.<sum>.so    what the compiler made of it; <sum> is its checksum
    kernel/<key>                    which library holds the kernel with this key, and its functions' names there
    toolchain/<key>                 flags that a compiler is known to accept
    report/<key>.txt                what the compiler said when it refused a unit

A key is a sha256 of all that matters: text, headers, flags, identity of the compiler.  Everything is written under another
name and renamed, libraries before the entries that speak of them, so any number of processes can work in one cache and be
killed at any time: what is missing, cut short or altered is not found, and is made again.  Entries are lines of text; nothing
is ever unpickled or evaluated.

Processes that want the same unit take turns, so that one compiles and the others find it.  That saves time and nothing else
depends on it: where files cannot be locked, or one waits too long, each compiles for itself.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Final

__all__ = ["Entry", "Store", "Usage"]

FOLDERS: Final = ("library", "kernel", "toolchain", "report")
STALE: Final = 3600.0
"""Seconds after which a file under a temporary name belongs to a process that was killed."""
PATIENCE: Final = 60.0
"""Seconds that a process waits for another one to compile what it wants too."""


@dataclass(frozen=True)
class Entry:
    """Where a kernel is: the library's file name, and the names of its functions in it."""

    library: str
    functions: tuple[str, ...]


@dataclass(frozen=True)
class Usage:
    """What a cache holds: numbers of libraries and kernels, and bytes on disk."""

    libraries: int
    kernels: int
    bytes: int


class Store:
    """One private directory of libraries.

    root       the directory
    temporary  it goes when the process ends
    """

    def __init__(self, root: Path, *, temporary: bool = False):
        self.root = root
        self.temporary = temporary
        self._number = count()

    @classmethod
    def candidates(cls, refused: list[str] | None = None) -> Iterator[Store]:
        """The directories that can be used, best first; appends to `refused` those that cannot, with the reason."""
        refused = [] if refused is None else refused
        for base in _bases():
            root = base / "kernels"
            try:
                _make_private(base, root)
            except OSError as problem:
                refused.append(f"{base}: {problem.strerror or problem}")
            except UntrustedError as problem:
                refused.append(str(problem))
            else:
                yield cls(root)
        yield cls._in_temporary_directory()

    @classmethod
    def _in_temporary_directory(cls) -> Store:
        import tempfile  # the last resort, and slow to load

        root = Path(tempfile.mkdtemp(prefix="adjoint-"))
        owner = os.getpid()

        def remove() -> None:
            if os.getpid() == owner:  # a child that was forked runs this as well
                shutil.rmtree(root, ignore_errors=True)

        atexit.register(remove)
        for folder in FOLDERS:
            (root / folder).mkdir(mode=0o700)
        return cls(root, temporary=True)

    # Entries.

    def entry(self, key: str) -> Entry | None:
        """Where the kernel with this key is, if that is known."""
        lines = self._lines("kernel", key)
        if len(lines) < 1 or not all(_is_plain(line) for line in lines):
            return None
        return Entry(lines[0], tuple(lines[1:]))

    def add_entry(self, key: str, entry: Entry) -> None:
        """Notes where a kernel is; its library must be there already."""
        self.write(f"kernel/{key}", "\n".join([entry.library, *entry.functions, ""]))

    def accepted_flags(self, key: str) -> tuple[str, ...] | None:
        """The -m flags that a toolchain is known to accept here, if it was tried."""
        lines = self._lines("toolchain", key)
        return tuple(line for line in lines[1:] if line) if lines[:1] == ["works"] else None

    def accept_flags(self, key: str, flags: Sequence[str]) -> None:
        """Notes that a toolchain makes libraries that can be loaded from here, with these -m flags."""
        self.write(f"toolchain/{key}", "\n".join(["works", *flags, ""]))

    # Libraries.

    def library(self, name: str) -> Path | None:
        """The path of a library whose content is what its name says; None if it is missing or altered."""
        checksum = name.removesuffix(".so").rpartition(".")[2]
        content = self._read(f"library/{name}")
        if content is None or _checksum(content) != checksum:
            return None
        return self.root / "library" / name

    def add_library(self, unit: str, made: Path) -> str:
        """Takes over a file that the compiler made for `unit`; gives the library's name."""
        name = f"{unit}.{_checksum(made.read_bytes())}.so"
        os.replace(made, self.root / "library" / name)
        return name

    def temporary_path(self, name: str) -> Path:
        """A path in the libraries' folder that nobody else uses."""
        return self.root / "library" / f".{name}-{os.getpid()}-{next(self._number)}.tmp"

    @contextmanager
    def turn(self, unit: str, given_up: Callable[[], bool]) -> Iterator[None]:
        """Held by one process at a time for each unit, as long as `given_up` stays false and patience lasts."""
        path = self.root / "library" / f".{unit}.turn.tmp"
        descriptor = _locked(path, given_up)
        try:
            yield
        finally:
            if descriptor is not None:
                with suppress(OSError):
                    path.unlink()
                os.close(descriptor)

    # Files.

    def write(self, name: str, text: str) -> Path:
        """Writes a file whole, or not at all."""
        path = self.root / name
        temporary = path.with_name(f".{path.name}-{os.getpid()}-{next(self._number)}.tmp")
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        return path

    def _read(self, name: str) -> bytes | None:
        """The content of a file; None unless it is a real file that can be read."""
        try:
            descriptor = os.open(self.root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _lines(self, folder: str, key: str) -> list[str]:
        content = self._read(f"{folder}/{key}")
        if content is None or not content.endswith(b"\n"):
            return []
        return content.decode("utf-8", "replace")[:-1].split("\n")

    # For people.

    def usage(self) -> Usage:
        """What the cache holds."""
        sizes: dict[Path, int] = {}
        for folder in FOLDERS:
            for path in (self.root / folder).iterdir():
                with suppress(FileNotFoundError):  # another process has given a temporary file its name, or cleared the cache
                    sizes[path] = path.lstat().st_size
        return Usage(
            sum(path.suffix == ".so" for path in sizes), sum(path.parent.name == "kernel" for path in sizes), sum(sizes.values())
        )

    def damaged(self) -> list[str]:
        """Names of libraries that are missing or altered though an entry speaks of them."""
        entries = (self.entry(path.name) for path in (self.root / "kernel").iterdir())
        names = {entry.library for entry in entries if entry is not None}
        return sorted(name for name in names if self.library(name) is None)

    def clear(self) -> None:
        """Removes all that is kept.  What is loaded stays loaded."""
        for folder in FOLDERS:
            for path in (self.root / folder).iterdir():
                with suppress(OSError):
                    path.unlink()

    def sweep(self) -> None:
        """Removes what processes that were killed have left behind."""
        before = time.time() - STALE
        for folder in FOLDERS:
            for path in (self.root / folder).glob(".*.tmp"):
                with suppress(OSError):
                    if path.lstat().st_mtime < before:
                        path.unlink()


def _locked(path: Path, given_up: Callable[[], bool]) -> int | None:
    """A descriptor of the file once it is locked; None where it cannot be.

    The lock is the process's, not the descriptor's: a child that was forked meanwhile does not hold it.
    """
    try:
        import fcntl  # not on every system
    except ImportError:
        return None
    end = time.monotonic() + PATIENCE
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return descriptor
        except (BlockingIOError, PermissionError):  # somebody else has it
            if given_up() or time.monotonic() > end:
                os.close(descriptor)
                return None
            time.sleep(0.01)
        except FileNotFoundError:
            pass  # who had it has removed it: it is not the file that others lock
        except OSError:  # a file system without locks
            os.close(descriptor)
            return None
        os.close(descriptor)


class UntrustedError(Exception):
    """A directory that is not ours alone, or of no use; the text says which and why."""


def _checksum(content: bytes) -> str:
    return sha256(content).hexdigest()[:32]


def _is_plain(name: str) -> bool:
    """Whether a word from an entry is a name and no path."""
    return bool(name) and "/" not in name and "\\" not in name and "\0" not in name and not name.startswith(".")


def _bases() -> Iterator[Path]:
    """Where caches may live, in order."""
    chosen = os.environ.get("ADJOINT_CACHE_DIR")
    if chosen:
        yield Path(chosen).absolute()
    common = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(common):
        yield Path(common, "adjoint")
    home = os.path.expanduser("~")
    if os.path.isabs(home):
        yield Path(home, "Library", "Caches", "adjoint") if sys.platform == "darwin" else Path(home, ".cache", "adjoint")


def _make_private(base: Path, root: Path) -> None:
    """Makes sure that `root`, in `base`, is a directory of ours alone that can be written to and loaded from."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check(base, root=False)
    with suppress(FileExistsError):
        root.mkdir(mode=0o700)
    _check(root, root=True)
    for folder in FOLDERS:
        with suppress(FileExistsError):
            (root / folder).mkdir(mode=0o700)
        _check(root / folder, root=True)


def _check(path: Path, *, root: bool) -> None:
    status = os.lstat(path)
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode):
        raise UntrustedError(f"{path}: is not a directory" if not stat.S_ISLNK(status.st_mode) else f"{path}: is a link")
    if not root:
        if mode & 0o022 and not mode & stat.S_ISVTX:
            raise UntrustedError(f"{path}: others can write to it (mode {mode:04o})")
        return
    if status.st_uid != os.geteuid():
        raise UntrustedError(f"{path}: belongs to another user")
    if mode & 0o077:
        raise UntrustedError(f"{path}: has mode {mode:04o}, must be 0700")
    if not os.access(path, os.W_OK | os.X_OK):
        raise UntrustedError(f"{path}: cannot be written to")
    if hasattr(os, "ST_NOEXEC") and os.statvfs(path).f_flag & os.ST_NOEXEC:
        raise UntrustedError(f"{path}: is mounted so that nothing can be run from it (noexec)")
