"""A directory that belongs to this user alone, held by an open descriptor.

Loading a library runs it, so nobody else may be able to place one where we look.  A path proves nothing: the owner of a
directory above can replace its target between a check and its use.  So the directory is opened once, the *descriptor* is
checked (owner: this user; mode: 0700), and every file is opened, renamed and removed relative to it.  Compilers and the
dynamic loader take names only: they get /proc/self/fd/<descriptor>/<name>, which leads through the descriptor.

Without /proc/self/fd (not on Linux, or not mounted), names are paths.  Then all directories above must be protected
as well: owned by this user or root, and writable by nobody else, or sticky like /tmp.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["PrivateFolder", "UntrustedError"]

DESCRIPTORS: Final = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else ""
"""The directory in which this process's open files have names, "/proc/self/fd"; "" where the system has none."""


class UntrustedError(Exception):
    """Raised for a directory that other users can access, with the reason."""

    def __init__(self, path: Path, reason: str):
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class PrivateFolder:
    """An open directory that only this user can access.  File names in its methods are relative to it.

    path  where it was found: for messages, and to open it again
    """

    def __init__(self, path: Path):
        """Open an existing directory; raise UntrustedError if others can access it, OSError if it cannot be opened."""
        self.path = path
        if not DESCRIPTORS:
            _check_parents(path)
        self._open()

    @classmethod
    def make(cls, path: Path) -> PrivateFolder:
        """Open a directory; it and those above it are created if they are missing.  UntrustedError if others can access it."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        return cls(path)

    def _open(self) -> None:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError:
            kind = "is a link" if self.path.is_symlink() else "is not a directory"
            raise UntrustedError(self.path, kind) from None
        try:
            _check(self.path, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        self._opened = os.fstat(descriptor)

    def descriptor(self) -> int:
        """Return the descriptor of the open directory.

        A program that becomes a daemon closes all descriptors, and the number may now denote another file: then the directory is opened,
        and checked, again.
        """
        try:
            now = os.fstat(self._descriptor)
            if os.path.samestat(now, self._opened):
                _check(self.path, now)
                return self._descriptor
        except OSError:
            pass
        self._open()
        return self._descriptor

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):  # it was never opened, or its number denotes nothing now
            if os.path.samestat(os.fstat(self._descriptor), self._opened):
                os.close(self._descriptor)

    def place(self, name: str = "") -> str:
        """Return a path to the file `name` for compilers and the loader, which take paths only: by way of the descriptor if the system
        supports that.
        """
        return f"{DESCRIPTORS}/{self.descriptor()}/{name}" if DESCRIPTORS else os.path.join(self.path, name)

    # Files.

    def read(self, name: str) -> bytes | None:
        """Return the content of a file of this user's; None unless it is a real file, not a link, that can be read."""
        try:
            descriptor = self.open(name, os.O_RDONLY | os.O_NONBLOCK)
        except (OSError, UntrustedError):
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def create(self, name: str, content: bytes) -> None:
        """Write a new file; raise FileExistsError if there is one."""
        with open(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)

    def open(self, name: str, flags: int) -> int:
        """Open a file and return its descriptor; links are not followed.

        flags  those of `os.open`
        """
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.descriptor())

    def rename(self, old: str, new: str) -> None:
        """Rename a file atomically, replacing a file of that name."""
        descriptor = self.descriptor()
        os.replace(old, new, src_dir_fd=descriptor, dst_dir_fd=descriptor)

    def remove(self, name: str) -> None:
        """Remove a file; do nothing if that is not possible."""
        with suppress(OSError, UntrustedError):
            os.unlink(name, dir_fd=self.descriptor())

    def status(self, name: str) -> os.stat_result | None:
        """Return the size, times and kind of a file; None if there is none."""
        try:
            return os.stat(name, dir_fd=self.descriptor(), follow_symlinks=False)
        except (OSError, UntrustedError):
            return None

    def touch(self, name: str) -> None:
        """Set the time of a file to now; do nothing if that is not possible."""
        with suppress(OSError, UntrustedError):
            os.utime(name, dir_fd=self.descriptor(), follow_symlinks=False)

    # Folders.

    def make_folder(self, name: str) -> None:
        """Create a folder if it is missing; raise UntrustedError if something else has its name."""
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self.descriptor())
        status = self.status(name)
        if status is None or not stat.S_ISDIR(status.st_mode):
            kind = "is a link" if status is not None and stat.S_ISLNK(status.st_mode) else "is not a directory"
            raise UntrustedError(self.path / name, kind)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted; an empty list if the folder is missing."""
        try:
            descriptor = self.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except (OSError, UntrustedError):
            return []
        try:
            return sorted(os.listdir(descriptor))
        finally:
            os.close(descriptor)

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all that is in it, as far as that is possible."""
        with suppress(OSError, UntrustedError):
            shutil.rmtree(name, ignore_errors=True, dir_fd=self.descriptor())


def _check(path: Path, status: os.stat_result) -> None:
    """Raise UntrustedError unless a directory with this status belongs to this user, and others have no access.

    path  the directory, for the message
    """
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid != os.geteuid():
        raise UntrustedError(path, "belongs to another user")
    if mode & 0o077:
        raise UntrustedError(path, f"has mode {mode:04o}, must be 0700")


def _check_parents(path: Path) -> None:
    """Raise UntrustedError if somebody else can exchange a directory above `path`."""
    for parent in Path(os.path.realpath(path)).parents:
        status = os.stat(parent)
        mode = stat.S_IMODE(status.st_mode)
        if status.st_uid not in (0, os.geteuid()):
            raise UntrustedError(path, f"{parent} belongs to another user")
        if mode & 0o022 and not mode & stat.S_ISVTX:
            raise UntrustedError(path, f"others can write to {parent} (mode {mode:04o})")
