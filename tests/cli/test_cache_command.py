"""`adjoint cache`: what it reports about the stored kernels, and what it removes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.cli import fill as cli_fill
from adjoint.cli import main
from adjoint.codegen.cache import Store
from adjoint.codegen.packs import pack_sources
from adjoint.ir.types import F32
from adjoint.runtime.memory.machine import machine


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "cache"


def filled() -> Store:
    """A cache with one library and two kernels."""
    store = next(Store.candidates())
    store.folder.create("work/made", b"code")
    name = store.add_library("unit", "work/made")
    for key in ("a1", "b2"):
        store.add_entry(key, name)
    return store


def test_nothing_is_made_where_nothing_is(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for task in ("info", "verify", "clear"):
        assert main(["cache", task]) == 0
        assert capsys.readouterr().out == "no compiled kernels are kept yet\n"
    assert not directory.exists()


def test_info(directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    monkeypatch.setenv("ADJOINT_CACHE_BYTES", "7000000")
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == f"{directory}/kernels: 2 kernels in 1 libraries, 0.0 of 7.0 MB\n"


def test_verify_removes_what_is_damaged(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = filled()
    assert main(["cache", "verify"]) == 0
    (store.root / "kernel/a1").write_text("nonsense")
    capsys.readouterr()
    assert main(["cache", "verify"]) == 1
    assert capsys.readouterr().out == f"damaged, removed: kernel/a1\n{directory}/kernels: 1 kernels are whole, 1 files were damaged\n"
    assert main(["cache", "verify"]) == 0
    assert store.entry("b2") is not None


def test_verify_names_entries_of_earlier_versions(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = filled()
    earlier = {"kernel/c3": "unit.0f.so\nadd_f32\nadd_grad_f32\n", "kernel/d4": "unit.0f.so\n", "toolchain/e5": "works\n-mavx\n"}
    for name, text in earlier.items():
        (store.root / name).write_text(text)
    assert main(["cache", "verify"]) == 0
    assert capsys.readouterr().out == (
        f"{directory}/kernels: 2 kernels are whole, 0 files were damaged\n3 files are of an earlier version of adjoint and not used; "
        "`adjoint cache clear` removes them, and so does a full cache\n")
    assert all((store.root / name).exists() for name in earlier)
    (store.root / "kernel/c3").write_text("unit.0f.so\nadd_f32")
    assert main(["cache", "verify"]) == 1
    assert "damaged, removed: kernel/c3\n" in capsys.readouterr().out


def test_clear(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = filled()
    assert main(["cache", "clear"]) == 0
    assert store.usage().bytes == 0


PROGRAM = """
from mindspore import nn, ops

class Net(nn.Cell):
    def construct(self, x):
        print("the number of rows is", x.shape[0])
        return ops.tanh(x) * x

def wrong(x):
    raise ValueError("no such number")
"""

USE = """
import sys
from adjoint import Tensor, grad
from adjoint.foundation.made import counted
sys.path.insert(0, {folder!r})
from adjoint import compat
compat.install()
from program import Net
x = Tensor([1.0, 2.0, 3.0])
for _ in range(3):
    Net()(x), grad(Net())(x)
assert counted()["kernels"] == 0, counted()
"""


def test_fill_runs_programs(directory: Path, tmp_path: Path) -> None:
    """What they compute in another process is in the cache then, with its gradient; what they print is not mixed with the report."""
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "ADJOINT_BACKGROUND_COMPILE": "1"}
    command = [sys.executable, "-m", "adjoint", "cache", "fill", f"{tmp_path}/program.py:Net", "--args", "f32[3]"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert re.fullmatch(rf"[1-9]\d* kernels compiled in [\d.]+ s; {directory}/kernels has \d+ in \d+ libraries\n", done.stdout)
    assert "the number of rows is 3" in done.stderr
    subprocess.run([sys.executable, "-c", USE.format(folder=str(tmp_path))], env=environment, check=True, capture_output=True)


def test_fill_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    wrong = {"program.py": (2, "the form is FILE.py:NAME"), "program.py:Net": (2, "cannot be called with 0 inputs"),
             "program.py:Other": (2, "it has Net"), "program.py:wrong --args i32[3]": (1, "no such number")}
    for given, (code, text) in wrong.items():
        assert main(["cache", "fill", *f"{tmp_path}/{given}".split()]) == code
        assert text in capsys.readouterr().err
    assert main(["cache", "info", "program.py:Net"]) == 2
    assert "info takes no FILE.py:NAME" in capsys.readouterr().err


def test_fill_compiles_the_commonest_operators(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli_fill, "FAMILIES", ("roots",))
    assert main(["cache", "fill"]) == 0
    assert "kernels compiled in" in capsys.readouterr().out
    kernels = machine().kernels
    assert kernels is not None and all(kernels.found(kernel) for kernel in pack_sources("roots", F32))


def test_a_directory_that_cannot_be_trusted_is_named(directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "kernels").mkdir(parents=True)
    (directory / "kernels").chmod(0o755)
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == f"not used: {directory}/kernels: has mode 0755, must be 0700\nno compiled kernels are kept yet\n"


def test_a_task_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["cache"])
    assert left.value.code == 2
    assert "info | verify | clear | fill" in capsys.readouterr().err


def test_an_invalid_limit(directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    monkeypatch.setenv("ADJOINT_CACHE_BYTES", "much")
    assert main(["cache", "info"]) == 2
    assert capsys.readouterr().err == "adjoint cache: ADJOINT_CACHE_BYTES must be a positive number of bytes, but got 'much'.\n"
