"""What the package writes for the user: complete files or none, and an error that names the file, as on a full disk."""

from __future__ import annotations

import ast
import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, train
from adjoint.dataset import vision
from adjoint.foundation import files
from adjoint.ir.parse import parse_module
from adjoint.passes.manager import Dump

PACKAGE = Path(files.__file__).parent
NET = nn.Dense(8, 8)
IMAGE = np.random.default_rng(1).integers(0, 256, (32, 32, 3), np.uint8)
IR = "func @f(x: f32[2]) -> f32[2] {\n" + "".join(f"  y{i}: f32[2] = sin(x)\n" for i in range(40)) + "  return y0\n}\n"

WRITERS: dict[str, Callable[[Path], Any]] = {
    "net.ckpt": lambda path: ms.save_checkpoint(NET, str(path)),
    "checked.ckpt": lambda path: ms.save_checkpoint(NET, str(path), crc_check=True),
    "net.safetensors": lambda path: ms.save_checkpoint(NET, str(path), format="safetensors"),
    "run.ckpt": lambda path: train.RunState(path, net=NET).save(epoch=3),
    "bytes.bin": lambda path: vision.write_file(str(path), np.arange(1000) % 256),
    "image.png": lambda path: vision.write_png(str(path), IMAGE),
    "image.jpeg": lambda path: vision.write_jpeg(str(path), IMAGE),
    "00-parse.ir": lambda path: Dump(path.parent)(0, None, parse_module(IR), parse_module(IR)),
}
"""What writes each file."""


@contextmanager
def no_file_larger_than(count: int) -> Iterator[None]:
    """A limit that the system keeps, as it keeps that of a disk: a part of a file is written before the error.

    Python writes no bytecode meanwhile: it keeps files of which only a part was written.
    """
    before, bytecode = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = bytecode


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_does_not_fit(name: str, tmp_path: Path) -> None:
    """The error names the file, an older one stays as it is, and nothing is left behind."""
    path = tmp_path / name
    (tmp_path / "first").mkdir()
    WRITERS[name](tmp_path / "first" / name)  # modules and kernels are kept before the limit
    shutil.rmtree(tmp_path / "first")
    for older in (None, b"older"):
        if older is not None:
            path.write_bytes(older)
        with no_file_larger_than(100), pytest.raises(OSError, match="too large") as raised:
            WRITERS[name](path)
        assert raised.value.errno == errno.EFBIG and raised.value.filename == str(path) and str(path) in str(raised.value)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == ({} if older is None else {name: older})
    WRITERS[name](path)
    assert [file.name for file in tmp_path.iterdir()] == [name] and path.stat().st_size > 100


@pytest.mark.parametrize("call", ["open", "fsync", "replace", "link"])
def test_a_call_of_the_system_that_fails(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.bin"

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "another name")

    if call == "open":
        monkeypatch.setattr(files, "open", full, raising=False)
    else:
        monkeypatch.setattr(os, call, full)
        if call == "link":
            monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=rf"No space left on device: '{path}'$"):
        files.write_file(str(path), [b"abc"], files.put_new if call == "link" else os.replace, durable=True)
    assert not [*tmp_path.iterdir()]


def test_graphs_that_cannot_be_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program runs; one line says which file was not written."""
    ms.jit(lambda x: x * x + x)(Tensor([1.0, 2.0]))  # kernels are kept before the limit
    ms.set_context(save_graphs=2, save_graphs_path=str(tmp_path))
    try:
        with no_file_larger_than(100):
            found = ms.jit(lambda x: x * x + x)(Tensor([1.0, 2.0]))
    finally:
        ms.set_context(save_graphs=0, save_graphs_path=".")
    assert found.tolist() == [2.0, 6.0] and not [*tmp_path.iterdir()]
    said = capsys.readouterr().err
    assert said.count("are not saved in") == 1 and "File too large" in said and f"{tmp_path}{os.sep}" in said


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_file(str(pipe), [b"ab", b"c"])
    assert os.read(reader, 10) == b"abc" and [*tmp_path.iterdir()] == [pipe] and pipe.is_fifo()
    os.close(reader)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize("arguments", [["explain", "E202"], ["dump-ir", "FILE"]])
def test_a_command_whose_output_has_no_room(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "f.ir").write_text(IR)
    words = [str(tmp_path / "f.ir") if word == "FILE" else word for word in arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "adjoint", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "adjoint: the output is not complete: no space is left on the device that it is written to\n"


def _writes(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls in a module that write to a file of a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = (*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode"))
            function, modes = node.func, [part.value for part in given if isinstance(part, ast.Constant)]
            opens = getattr(function, "id", None) == "open" and any(set(str(mode)) & set("wax+") for mode in modes)
            if opens or getattr(function, "attr", None) in ("write_text", "write_bytes", "savez", "tofile", "savefig"):
                yield node


def test_all_files_for_users_are_written_in_one_way() -> None:
    """But for kernels, whose cache has a way of its own."""
    found = [f"{file.relative_to(PACKAGE)}:{call.lineno}" for file in sorted(PACKAGE.rglob("*.py"))
             if file.relative_to(PACKAGE).parts[0] not in ("codegen", "files.py") for call in _writes(ast.parse(file.read_bytes()))]
    assert not found
