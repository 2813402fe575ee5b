"""A cache directory and a runtime of their own for each test of codegen, and compilers that can be counted."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

sys.path.insert(0, os.path.dirname(__file__))

needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="there is no C compiler"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that ADJOINT_CACHE_DIR names; every other place for a cache is in `tmp_path` too."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(directory))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    return directory


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


@pytest.fixture
def counted(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> CountedCompiler:
    """The compiler of the test, with a count of its runs."""
    compiler = CountedCompiler(tmp_path)
    monkeypatch.setenv("CC", str(compiler.path))
    return compiler
