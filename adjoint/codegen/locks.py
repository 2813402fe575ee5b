"""File locks, held by one process at a time among all that share a cache.

The system unlocks a file when the process that locked it ends, however it ends.  A lock belongs to the process: a child that
was forked has none of its parent's.  Closing *any* descriptor of a locked file would unlock it, so a file that this process
has locked is not opened a second time.
"""

from __future__ import annotations

import os
from contextlib import suppress

from adjoint.codegen.private_folder import PrivateFolder
from adjoint.foundation.locking import Lock

try:
    import fcntl
except ImportError:  # not on every system
    fcntl = None

__all__ = ["lock", "unlock"]

_held: dict[tuple[int, int], int] = {}
"""The descriptor of each file that this process has locked, by device and inode number."""
_guard = Lock()


def lock(folder: PrivateFolder, name: str) -> tuple[int, int]:
    """Lock a file, which is created if it is missing; return the device and inode number that `unlock` needs.

    BlockingIOError if it is locked already, here or by another process; OSError if files cannot be created or locked here.
    """
    if fcntl is None:
        raise OSError("this system has no locks")
    with _guard:
        while True:
            status = folder.status(name)
            if status is not None and (status.st_dev, status.st_ino) in _held:
                raise BlockingIOError(f"{name} is locked by this process")
            descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                opened, status = os.fstat(descriptor), folder.status(name)
                if status is not None and os.path.samestat(opened, status):
                    file = opened.st_dev, opened.st_ino
                    _held[file] = descriptor
                    return file
            except PermissionError as refused:  # what some systems raise for BlockingIOError
                os.close(descriptor)
                raise BlockingIOError(*refused.args) from None
            except OSError:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its former owner has removed it: it is not the file that others lock


def unlock(folder: PrivateFolder, name: str, file: tuple[int, int]) -> None:
    """Remove a locked file and unlock it."""
    with _guard:
        descriptor = _held.pop(file, None)
        if descriptor is not None:
            folder.remove(name)
            with suppress(OSError):
                os.close(descriptor)


def _in_child() -> None:
    global _guard
    _guard = Lock()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
