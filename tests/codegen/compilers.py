"""The compilers that the tests of codegen run."""

from __future__ import annotations

import shutil
import stat
import time
from pathlib import Path

import pytest

needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="there is no C compiler"
)


REAL = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def script(path: Path, body: str) -> Path:
    """Return a shell script of a few lines."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(stat.S_IRWXU)
    return path


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def ends(pid: int) -> bool:
    """Return whether a process ends within a few seconds."""
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


class CountedCompiler:
    """A script that runs the real compiler and logs its runs."""

    def __init__(self, directory: Path):
        self.log = directory / "runs"
        self.path = script(directory / "counted cc", f'echo run >> "{self.log}"\nexec {REAL} "$@"')  # with a space, as in a user's home

    @property
    def runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0
