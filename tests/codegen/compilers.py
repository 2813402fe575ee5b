"""The compilers that the tests of codegen run."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="there is no C compiler"
)


class CountedCompiler:
    """A script that runs the real compiler and keeps a list of its runs."""

    def __init__(self, directory: Path):
        self.log = directory / "runs"
        self.path = directory / "counted cc"  # with a space, as in a user's home
        real = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        self.path.write_text(f'#!/bin/sh\necho run >> "{self.log}"\nexec {real} "$@"\n')
        self.path.chmod(stat.S_IRWXU)

    @property
    def runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0
