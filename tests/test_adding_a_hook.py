"""docs/adding-a-hook.md is true: its changes apply to the package as it is, and its program then prints what is below it.

`pytest --update-golden` rewrites the output: read the difference before committing it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "adding-a-hook.md"
_CHANGE = re.compile(r"^`([\w/.-]+)`$|^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"^```py\n(.*?)^```\n+```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


LATE = """
import numpy as np
import adjoint as ms
from adjoint import Tensor, nn

class Halves(nn.Cell):
    def construct(self, x):
        return x * 0.5

class Net(nn.Cell):
    def __init__(self, kinds, late):
        super().__init__()
        self.first, self.second, self.late, self.seen = Halves(), Halves(), late, []
        for kind in kinds:
            self.register(kind)
        self.first.register_forward_hook(lambda cell, args, output: [self.register(kind) for kind in late] and None)

    def register(self, kind):
        def hook(cell, *given):
            self.seen.append((kind, [x.asnumpy().tolist() for x in (given[-1] if isinstance(given[-1], tuple) else given[-1:])]))
            if kind == "forward":
                return given[-1] * given[-1]
            return (given[0][0] * 3,)

        getattr(self.second, f"register_{kind}_hook")(hook)

    def construct(self, x):
        return self.second(self.first(x)).sum()

def log(kinds, late, wrapped):
    net, x = Net(kinds, late), Tensor(np.array([6.0, 0.5], np.float32))
    step = wrapped(ms.grad(net))
    return [step(x).asnumpy().tolist() for _ in range(2)], net.seen

KINDS = ("forward_pre", "backward_entry", "forward", "backward_pre", "backward")
for kinds in ((), *((kind,) for kind in KINDS), KINDS):
    for late in (*((kind,) for kind in KINDS), ("forward_pre", "forward")):
        assert log(kinds, late, ms.jit) == log(kinds, late, lambda step: step), (kinds, late)
"""
"""Hooks of all kinds that a hook of another cell registers before their turn, together with those that are there."""


def changes(page: str) -> dict[str, list[tuple[str, str]]]:
    """Return for each file of the page the texts to replace, and what by."""
    found: dict[str, list[tuple[str, str]]] = {}
    for change in _CHANGE.finditer(page):
        if change[1]:
            found[change[1]] = []
            continue
        lines = change[2].splitlines()
        before, after = ("\n".join(line[1:] for line in lines if line[0] in signs) + "\n" for signs in (" -", " +"))
        found[[*found][-1]].append((before, after))
    return found


def changed(text: str, replacements: list[tuple[str, str]]) -> str:
    for before, after in replacements:
        assert text.count(f"\n{before}") == 1, f"the page changes these lines, which are not there once:\n{before}"
        text = text.replace(f"\n{before}", f"\n{after}")
    return text


def test_the_page_adds_a_kind_of_hook(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = PAGE.read_text(encoding="utf-8")
    files = {name: changed((ROOT / name).read_text(encoding="utf-8"), replacements) for name, replacements in changes(page).items()}
    assert len(files) <= 7 and all(changes(page).values())
    for name in ("adjoint", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, copy_function=os.symlink)
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = _PROGRAM.search(page)
    assert program is not None
    (tmp_path / "program.py").write_text(program[1], encoding="utf-8")
    printed = _run(tmp_path, "program.py")
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page[: program.start(2)] + printed + page[program.end(2) :], encoding="utf-8")
    else:
        assert printed == program[2]
    (tmp_path / "late.py").write_text(LATE, encoding="utf-8")
    _run(tmp_path, "late.py")
    options = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider")
    _run(tmp_path, "-m", "pytest", *options, "tests/hooks/test_matrix.py", "-k", "bentry and (by_hand or jit-function and returns)")


def _run(folder: Path, *arguments: str) -> str:
    """Run Python in a folder, with the package in it, and return what it prints."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": f"{folder}:{folder / 'tests'}"},
                          capture_output=True, text=True)
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"
    return done.stdout
