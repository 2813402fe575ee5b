"""The table of settings is complete: every setting that is read is in it, and every setting in it is read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adjoint as ms
from adjoint.codegen.c_print import INDEPENDENT
from adjoint.codegen.cache import size_limit
from adjoint.foundation.settings import SETTINGS
from adjoint.runtime.process import context

PACKAGE = Path(__file__).parents[1] / "adjoint"
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.name != "settings.py"}
BY_NAME = {setting.name: setting for setting in SETTINGS}


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting is set, neither by the program nor in the environment."""
    for setting in SETTINGS:
        if setting.variable.startswith("ADJOINT_"):
            monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.setattr(context, "_settings", dict(context._KNOWN))
    monkeypatch.setattr(context, "_given", set())
    yield


def in_force() -> dict[str, tuple[Any, str]]:
    return {setting.name: (value, origin) for setting, value, origin in context.in_force()}


def test_every_variable_that_is_read_is_listed() -> None:
    listed = {setting.variable for setting in SETTINGS if setting.variable}
    macros = {INDEPENDENT, "ADJOINT_FMA", "ADJOINT_LANE_BYTES", "ADJOINT_NAN", "ADJOINT_INFINITY"}  # of the C that is written
    read = {name for text in SOURCES.values() for name in re.findall(r"\"(ADJOINT_[A-Z_]+)\"", text)}
    assert read - macros == {name for name in listed if name.startswith("ADJOINT_")}


def test_every_setting_of_the_context_is_listed() -> None:
    assert context._KNOWN.keys() == {setting.context for setting in SETTINGS if setting.context}
    for name, value in context._KNOWN.items():
        assert value is None or str(value) == BY_NAME[name].default, name


@pytest.mark.usefixtures("fresh")
def test_defaults_are_what_the_table_says() -> None:
    found = in_force()
    assert all(origin == "default" for name, (_, origin) in found.items() if name not in ("CC", "XDG_CACHE_HOME", "NO_COLOR"))
    assert str(found["hook_signature"][0]) == BY_NAME["hook_signature"].default
    assert BY_NAME["ADJOINT_CACHE_BYTES"].default == str(size_limit())


@pytest.mark.usefixtures("fresh")
def test_values_and_where_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOINT_HOOK_SIGNATURE", "cell_id")
    monkeypatch.setenv("ADJOINT_CPU", "baseline")
    assert in_force()["hook_signature"] == ("cell_id", "ADJOINT_HOOK_SIGNATURE")
    assert in_force()["ADJOINT_CPU"] == ("baseline", "ADJOINT_CPU")
    ms.set_context(hook_signature="cell", max_call_depth=77)
    assert in_force()["hook_signature"] == ("cell", "set_context")
    assert in_force()["max_call_depth"] == (77, "set_context")
    monkeypatch.setenv("ADJOINT_NUM_THREADS", "many")
    value, origin = in_force()["num_threads"]
    assert "ADJOINT_NUM_THREADS must be a positive number, but got 'many'" in value and origin == "ADJOINT_NUM_THREADS"


def test_doctor_shows_all_of_them(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "adjoint", "doctor"], capture_output=True, text=True, check=False,
                          env={**os.environ, "ADJOINT_NUM_THREADS": "2", "COLUMNS": "80"})
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert rows["num_threads"][1:] == ["2", "from", "ADJOINT_NUM_THREADS"] and rows["save_graphs"][1:] == ["0", "from", "default"]
    assert all(setting.name in rows for setting in SETTINGS)
