"""`export`: the files of a network compile, their test passes, and they have the bits of Python where both contract the same products."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.codegen.toolchain import Toolchain
from adjoint.foundation.diagnostics import CompileError

needs_gcc = pytest.mark.skipif(Toolchain.find() is None or shutil.which("gcc") is None, reason="there is no gcc")


def network() -> Any:
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dense(32, 3))
    return net.set_train()


IMAGE = Tensor(np.random.default_rng(0).normal(size=(1, 1, 4, 4)).astype(np.float32))


def ran(folder: Path, name: str) -> str:
    """Compile the files of a network with their test; return what the test prints."""
    sources = sorted(str(path) for path in folder.glob(f"{name}*.c"))
    flags = ["-std=c11", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(["gcc", *flags, *sources, "-o", str(folder / "test"), "-lm"], check=True)
    done = subprocess.run([str(folder / "test")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@needs_gcc
def test_a_network_leaves_python(tmp_path: Path) -> None:
    net = network()
    ms.export(net, IMAGE, file_name=str(tmp_path / "net"))
    assert net.training and sorted(os.listdir(tmp_path)) == ["net.c", "net.h", "net_test.c", "net_weights.c"]
    assert ran(tmp_path, "net").startswith("SequentialCell: equal")
    header = (tmp_path / "net.h").read_text()
    assert "int SequentialCell(\n    const float *input_data," in header and "extern const float net_4_weight[96];" in header
    subprocess.run(["gcc", "-fsyntax-only", "-x", "c++", str(tmp_path / "net.h")], check=True)


@needs_gcc
def test_numbers_of_each_dtype(tmp_path: Path) -> None:
    def mixed(x: Any, places: Any, halves: Any, flags: Any) -> Any:
        largest = places.astype(ms.int64) * 0 - 2**62 - 2**62
        return x[places] * 2, halves * 3, ops.logical_not(flags), largest, x.astype(ms.float64) / 3, ops.log(x), x.sum()

    inputs = Tensor([1.0, -2.0, 0.0]), Tensor([1, 2]), Tensor([1.5, -0.0], ms.bfloat16), Tensor([True, False])
    ms.export(mixed, *inputs, file_name=str(tmp_path / "mixed.c"), plain=True)
    assert ran(tmp_path, "mixed").startswith("mixed: equal") and not (tmp_path / "mixed_weights.c").exists()
    text = (tmp_path / "mixed_test.c").read_text()
    assert "NAN" in text and "-INFINITY" in text and "INT64_MIN" in text


@needs_gcc
def test_a_test_finds_what_differs(tmp_path: Path) -> None:
    ms.export(lambda x: x * 2, Tensor([1.0, 3.0]), file_name=str(tmp_path / "f"))
    test = tmp_path / "f_test.c"
    test.write_text(test.read_text().replace("6.0f", "6.01f"))
    with pytest.raises(AssertionError, match="result 0 differs"):
        ran(tmp_path, "f")


def test_the_gradient_too(tmp_path: Path) -> None:
    net = network().set_train(False)
    net[0].weight.requires_grad = False
    ms.export(lambda x: ops.tanh(net(x)).sum(), IMAGE, file_name=str(tmp_path / "loss"), gradient=True)
    header = (tmp_path / "loss.h").read_text()
    assert "float *v_4_weight_bar" in header and "v_0_weight_bar" not in header and "float *x_bar" in header


def test_what_c_cannot_have_leaves_no_file(tmp_path: Path) -> None:
    net = network()
    for wrong, kind, message in (
        (lambda: ms.export(net, IMAGE, file_name=str(tmp_path / "a"), file_format="MINDIR"), ValueError, "'file_format' must be 'C'"),
        (lambda: ms.export(net, IMAGE, file_name=str(tmp_path / "a"), gradient=True), CompileError, "standalone C"),
        (lambda: ms.export(lambda x: print(x), IMAGE, file_name=str(tmp_path / "a")), CompileError, "standalone C"),
        (lambda: ms.export(net, [1.0], file_name=str(tmp_path / "a")), TypeError, "'inputs' must be Tensors"),
        (lambda: ms.export(3, IMAGE, file_name=str(tmp_path / "a")), TypeError, "'net' must be a Cell or a function"),
        (lambda: ms.export(net, IMAGE, file_name=3), TypeError, "'file_name' must be a str"),
        (lambda: ms.export(net, IMAGE, file_name="a", enc_key=b"x"), ValueError, "'enc_key'"),
        (lambda: ms.export(net, IMAGE, file_name=str(tmp_path / "none" / "a")), OSError, "none"),
    ):
        with pytest.raises(kind, match=message):
            wrong()
    assert not list(tmp_path.iterdir()) and net.training
