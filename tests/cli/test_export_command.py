"""`adjoint export`: files in a folder, or a message and no folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjoint.cli import main

PROGRAM = """
import adjoint as ms
from adjoint import nn, ops

net = nn.Dense(4, 3)
update = nn.SGD(net.trainable_params(), 0.1)
both = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, net.trainable_params())


def step(x, y):
    loss, gradients = both(x, y)
    update(gradients)
    return loss


def third(x):
    return x[2]


def shown(x):
    print(x)
    return x
"""


def test_a_step_and_what_it_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    target, folder = str(tmp_path / "train.py"), tmp_path / "a" / "b"
    command = ["export", f"{target}:step", "--args", "f32[2, 4], i32[2]", "--also", "predict=net(f32[1, 4])", "-o", str(folder)]
    assert main(command) == 0
    names = ["step.h", "step.c", "step_weights.c", "step_test.c", "CMakeLists.txt"]
    assert capsys.readouterr().out.splitlines() == [str(folder / name) for name in names]
    assert "int step_predict(" in (folder / "step.h").read_text() and "int step(" in (folder / "step.h").read_text()
    assert main(command) == 1 and "step.h'" in (said := capsys.readouterr().err) and "--force" in said
    assert main([*command, "--force", "--prefix", "digits"]) == 0 and "int digits_step(" in (folder / "step.h").read_text()


def test_rows_have_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    command = ["export", f"{tmp_path / 'train.py'}:step", "--args", "f32[b, 4], i32[b]", "-o", str(tmp_path / "a")]
    assert main(command) == 2 and "give it with max_batch=32 (`adjoint export --max-batch 32`)" in capsys.readouterr().err
    assert main([*command, "--max-batch", "3", "--also", "net(f32[2, 4])"]) == 0
    header = (tmp_path / "a" / "step.h").read_text()
    assert "#define STEP_MAX_BATCH 3" in header and "/* step(batch, x: f32[batch, 4], y: i32[batch])" in header
    assert re.search(r"step_net\(\w+: f32\[2, 4\]\)", header), "sizes that are numbers stay"


@pytest.mark.parametrize(("more", "code", "message"), [
    (["shown", "--args", "f32[2]"], 1, "`print(f32[2])` is called here, in Python"),
    (["step", "--args", "f32[2, 4], i32[2]", "--name", "my-net"], 2, "no C identifier: 'my-net'"),
    (["step", "--args", "f32[2, 4], i32[2]", "--also", "net"], 2, "--also takes 'NAME(TYPES)'"),
    (["third", "--args", "f32[b, 4]", "--max-batch", "3"], 1, "This is the program for a batch of 1; max_batch=3"),
    (["step"], 2, "step cannot be called with 0 inputs"),
    (["nothing"], 2, "has no 'nothing'; it has net"),
])
def test_what_is_wrong_leaves_no_folder(
    more: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    assert main(["export", f"{tmp_path / 'train.py'}:{more[0]}", *more[1:], "-o", str(tmp_path / "a" / "b")]) == code
    assert message in capsys.readouterr().err and not (tmp_path / "a").exists()


def test_a_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "a").write_text("mine")
    assert main(["export", f"{tmp_path / 'train.py'}:net", "--args", "f32[1, 4]", "-o", str(tmp_path / "a")]) == 1
    assert "adjoint export: " in capsys.readouterr().err and (tmp_path / "a").read_text() == "mine"
