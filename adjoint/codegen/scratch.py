"""Temporary files in a cache, with locks that show whether their owner is still alive.

    work/<random>.owner    locked as long as the process lives that works in the folder
    work/<random>/         unfinished files, and those of a compiler
    work/<unit>.turn       locked by the process that compiles this unit
    work/unfinished        a byte for each process that has ended before all was compiled that it wanted behind the scenes

A lock that can be taken belongs to a process that has ended: `sweep` removes it, and its folder.  Where files cannot be
locked, files older than an hour count as abandoned; so does `unfinished`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from adjoint.codegen.locks import lock, unlock
from adjoint.codegen.private_folder import PrivateFolder, UntrustedError

__all__ = ["Scratch"]

WORK: Final = "work"
UNFINISHED: Final = f"{WORK}/unfinished"
STALE: Final = 3600.0
"""Age in seconds at which a temporary file counts as abandoned, where files cannot be locked."""
PATIENCE: Final = 60.0
"""How many seconds a process waits for another one that compiles the same unit (C file)."""


class Scratch:
    """The temporary files in the private folder of a cache, which several processes share."""

    def __init__(self, folder: PrivateFolder):
        self._folder = folder
        folder.make_folder(WORK)

    @contextmanager
    def new_folder(self) -> Iterator[str]:
        """Within a `with` statement, create an empty folder that nobody else uses, and give its name; it is removed at the end with
        everything in it.
        """
        name, file = self._owned()
        try:
            self._folder.make_folder(name)
            yield name
        finally:
            self._folder.remove_folder(name)
            if file is not None:
                unlock(self._folder, f"{name}.owner", file)
            else:
                self._folder.remove(f"{name}.owner")

    def _owned(self) -> tuple[str, tuple[int, int] | None]:
        """Return a new name for a folder, and the lock that shows that this process owns it; None for the lock where files cannot be
        locked.
        """
        while True:
            name = f"{WORK}/{os.urandom(8).hex()}"
            try:
                return name, lock(self._folder, f"{name}.owner")
            except BlockingIOError:  # another process is sweeping, and found the file before it was locked
                continue
            except OSError:
                return name, None

    @contextmanager
    def turn(self, unit: str, given_up: Callable[[], bool], *, patient: bool = False) -> Iterator[bool]:
        """Within a `with` statement, hold the lock of a unit (C file), which one thread of one process has at a time; it gives True.

        given_up  called while the lock is taken elsewhere; once it returns True, go on without the lock, and give False
        patient   False: go on without it also after PATIENCE seconds
        """
        name = f"{WORK}/{unit}.turn"
        end = math.inf if patient else time.monotonic() + PATIENCE
        pause = 0.01
        file, mine = None, True
        while file is None:
            try:
                file = lock(self._folder, name)
            except BlockingIOError:
                if given_up() or time.monotonic() > end:
                    mine = False
                    break
                time.sleep(pause)
                pause = min(2 * pause, 0.2) if patient else pause
            except OSError:  # a file system without locks
                break
        try:
            yield mine
        finally:
            if file is not None:
                unlock(self._folder, name, file)

    def unfinished(self) -> int:
        """Return how many processes have ended, one after the other, before everything was compiled that they wanted in the background."""
        status = self._folder.status(UNFINISHED)
        return 0 if status is None else status.st_size

    def leave_unfinished(self) -> None:
        """Add this process to the number that `unfinished` returns, if the file can be written."""
        with suppress(OSError, UntrustedError):
            descriptor = self._folder.open(UNFINISHED, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with open(descriptor, "ab") as file:
                file.write(b".")

    def all_finished(self) -> None:
        """Set the number that `unfinished` returns to 0."""
        self._folder.remove(UNFINISHED)

    def sweep(self) -> None:
        """Remove the temporary files of processes that have ended."""
        names = self._folder.names(WORK)
        for name in names:
            stem, dot, _ = name.partition(".")
            path = f"{WORK}/{name}"
            if not dot and f"{name}.owner" in names:
                continue  # removed with its owner
            try:
                file = lock(self._folder, path) if dot else None
            except BlockingIOError:
                continue
            except OSError:
                file = None
            if file is not None or self._is_old(path):
                self._folder.remove_folder(f"{WORK}/{stem}")
                self._folder.remove(path)
            if file is not None:
                unlock(self._folder, path, file)

    def _is_old(self, name: str) -> bool:
        status = self._folder.status(name)
        return status is not None and status.st_mtime < time.time() - STALE
