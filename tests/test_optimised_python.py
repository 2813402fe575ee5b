"""`python -O` and `python -OO` run every subsystem with the results of `python`: nothing depends on asserts or docstrings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OPTIONS = ([], ["-O"], ["-OO"])
PROGRAM = Path(__file__).parent / "optimised.py"


@pytest.fixture(scope="module")
def results() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return what the processes print, for each of OPTIONS: results of programs and commands, and of functions in eager mode and graphs."""
    environment = os.environ | {"PYTHONPATH": str(PROGRAM.parents[1])}
    # One after the other: the first one compiles what the others need.
    ended = [subprocess.run([sys.executable, *option, PROGRAM], capture_output=True, text=True, check=False, env=environment)
             for option in OPTIONS]
    assert not any(done.returncode for done in ended), [done.stderr for done in ended]
    return [json.loads(done.stdout) for done in ended]


def test_the_same_results(results: list[Any]) -> None:
    (plain, _), *others = results
    assert len(plain) > 40
    for option, (found, _) in zip(OPTIONS[1:], others, strict=True):
        assert {name: value for name, value in found.items() if plain.get(name) != value} == {}, option
        assert found.keys() == plain.keys()


def test_a_graph_asserts_where_eager_mode_does(results: list[Any]) -> None:
    for option, (_, functions) in zip(OPTIONS, results, strict=True):
        for name, (eager, graph) in functions.items():
            assert graph == eager, (option, name)
    (_, plain), (_, without_asserts), (_, without_docstrings) = results
    assert {name for name in plain if plain[name] != without_asserts[name]} == {"asserted", "asserted_number", "debugging", "Undocumented"}
    assert {name for name in plain if without_asserts[name] != without_docstrings[name]} == {"of_docstring"}
