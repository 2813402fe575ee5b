"""Which copies of this process are running, for tests and for the programs that they run."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["LISTED", "copies"]

LISTED = Path("/proc/self/stat").exists()
"""Whether this system lists its processes as files."""


def copies() -> set[int]:
    """Return the ids of the child processes that run the same program; a compiler that runs in the background is none of them."""
    (name, _), own = _stat(Path("/proc/self")), Path("/proc/self/cmdline").read_bytes()
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            # Of one that has ended and is not waited for, only the name is left.
            if _stat(process) == (name, os.getpid()) and (process / "cmdline").read_bytes() in (own, b""):
                found.add(int(process.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


def _stat(process: Path) -> tuple[str, int]:
    """Return the name of a process, and the id of the one that has started it."""
    name, _, rest = (process / "stat").read_text().rpartition(")")
    return name.partition("(")[2], int(rest.split()[1])
