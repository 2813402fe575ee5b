"""Fixtures for tests of codegen: a cache directory and a runtime for each test, and compilers whose runs are counted."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from compilers import CountedCompiler  # found beside this file


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that ADJOINT_CACHE_DIR names; all other possible cache directories are in `tmp_path` too."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(directory))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    return directory


@pytest.fixture
def counted(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> CountedCompiler:
    """The compiler of the test, with a count of its runs."""
    compiler = CountedCompiler(tmp_path)
    monkeypatch.setenv("CC", str(compiler.path))
    return compiler
