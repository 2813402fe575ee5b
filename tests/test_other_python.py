"""`make oldest` and `make newest` test the ends of what pyproject.toml allows, and say what they cannot test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
try:
    import other_python
finally:
    sys.path.pop(0)


def test_there_is_a_system_for_both_ends() -> None:
    versions = other_python.versions()
    assert len(versions) > 1 and other_python.SUITES.keys() >= {versions[0], versions[-1]}


def test_the_oldest_dependencies_are_those_of_the_project() -> None:
    oldest, newest = map(other_python.requirements, ("oldest", "newest"))
    for line in other_python.PROJECT["dependencies"]:
        assert line in newest and line not in oldest and line.replace(">=", "==") in oldest, line


@pytest.mark.parametrize(("root", "text"), [(True, "no debootstrap"), (False, "only root")])
def test_what_cannot_be_tested_is_printed(
    root: bool, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(other_python, "HERE", tmp_path)
    monkeypatch.setattr(other_python, "versions", lambda: ["3.11", "3.13"])
    monkeypatch.setattr(sys, "version_info", (3, 12))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(other_python.shutil, "which", lambda name: None)
    monkeypatch.setattr(other_python.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(sys, "argv", ["other_python.py", "newest"])
    assert other_python.main() == 0
    printed = capsys.readouterr().out
    assert printed.startswith("NOT TESTED: Python 3.13 with the newest dependencies. ") and text in printed
