"""`save_graphs`: which files are written, and that the program runs even if they cannot be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.runtime.inspection import saved_graphs


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, "ones", "zeros")

    def construct(self, x):
        h = self.fc(x)
        h.register_hook(lambda grad: None)
        if h.sum() > 0:
            h = ops.tanh(h)
        return h


@pytest.fixture
def saved(tmp_path: Path) -> Iterator[Path]:
    """A directory created by the first graph."""
    folder = tmp_path / "graphs" / "here"
    yield folder
    ms.set_context(save_graphs=False, save_graphs_path=".", mode=ms.PYNATIVE_MODE)


def x() -> Tensor:
    return Tensor(np.ones((2, 3), np.float32))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_written_unless_it_is_asked_for(saved: Path):
    ms.set_context(save_graphs_path=str(saved))
    ms.jit(lambda x: x + 1)(x())
    ms.set_context(save_graphs=0)
    ms.jit(lambda x: x + 2)(x())
    assert not saved.exists()


def test_level_1(saved: Path):
    """A cell in graph mode, and its gradient; the texts can be parsed; the second call makes no graph."""
    ms.set_context(save_graphs=1, save_graphs_path=str(saved), mode=ms.GRAPH_MODE)
    net = Net()
    for _ in range(2):
        net(x())
        ms.grad(net)(x())
    assert names(saved) == ["Net.grad_0000_00_adjoint.ir", "Net_0000_00_parsed.ir", "Net_0000_01_optimised.ir"]
    for path in saved.iterdir():
        assert print_module(parse_module(path.read_text())) == path.read_text()
    assert f"at {__file__}:" in (saved / "Net_0000_00_parsed.ir").read_text()
    adjoint = (saved / "Net.grad_0000_00_adjoint.ir").read_text()
    assert "callback! @h.hook" in adjoint and "grad[tanh](" in adjoint
    assert re.search(r'host @h.hook = ".*<lambda> at .*test_saving', adjoint)
    net(Tensor(np.ones((4, 3), np.float32)))
    assert "Net_0001_00_parsed.ir" in names(saved)


def test_levels_2_and_3(saved: Path):
    for level in (True, 2, 3):
        ms.set_context(save_graphs=level, save_graphs_path=str(saved))

        def f(x):
            return (ops.sin(x) * 1.0).sum()

        ms.grad(ms.jit(f))(x())
    ms.set_context(save_graphs=3)
    ms.grad(lambda x: (ops.cos(x) * x).sum())(x())
    found = names(saved)
    assert [n for n in found if n.startswith("f_0000")] == ["f_0000_00_parsed.ir", "f_0000_01_optimised.ir"]
    assert "f.grad_0000_00_adjoint.ir" in found
    passes = ["inline", "differentiate", "inline", "simplify", "hoist", "cse", "dce", "optimised"]
    stages = ["00_parsed", *(f"{i:02}_{name}" for i, name in enumerate(passes, 1))]
    assert [n for n in found if n.startswith("f_0001")] == [*(f"f_0001_{stage}.ir" for stage in stages), "f_0001_09_kernels.c"]
    pictures = [n for n in found if n.startswith("f_0002")]
    assert pictures == sorted([f"f_0002_{stage}.{kind}" for stage in stages for kind in ("ir", "dot")] + ["f_0002_09_kernels.c"])
    assert [n for n in found if n.startswith("_lambda_.grad")] == [
        "_lambda_.grad_0000_00_recorded.dot", "_lambda_.grad_0000_00_recorded.ir", "_lambda_.grad_0000_01_adjoint.dot",
        "_lambda_.grad_0000_01_adjoint.ir", "_lambda_.grad_0000_02_kernels.c"]
    recorded = (saved / "_lambda_.grad_0000_00_recorded.ir").read_text()
    assert print_module(parse_module(recorded)) == recorded and "cos(" in recorded
    picture = (saved / "f_0002_00_parsed.dot").read_text()
    assert picture.startswith("digraph") and "sin" in picture and picture.count("{") == picture.count("}")
    assert "sin_f32" in (saved / "f_0001_09_kernels.c").read_text()


def test_threads_and_processes_share_a_directory(saved: Path):
    ms.set_context(save_graphs=1, save_graphs_path=str(saved))

    def work() -> None:
        def shared(x):
            return x * 2

        ms.jit(shared)(x())

    threads = [threading.Thread(target=work) for _ in range(8)]
    code = (f"import adjoint as ms, numpy as np; import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_saving as t\n"
            f"from pathlib import Path\nms.set_context(save_graphs=1, save_graphs_path={str(saved)!r})\nt.shared_program()")
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(120) for process in processes] == [0, 0]
    for stage in ("parsed.ir", "optimised.ir"):
        assert len([n for n in names(saved) if n.endswith(stage)]) == 8 + 2 * 3
    assert not [n for n in names(saved) if n.startswith(".")]


def shared_program() -> None:
    """The program that the processes run."""
    for _ in range(3):
        def shared(x):
            return x * 2

        ms.jit(shared)(x())


@pytest.mark.parametrize("kind", ["a file in the way", "not writable"])
def test_a_directory_that_cannot_be_written(saved: Path, kind: str, capsys, monkeypatch):
    """One warning, and the program runs."""
    if kind == "not writable":
        if os.geteuid() == 0:
            def refuse(*_: object, **__: object) -> None:
                raise PermissionError("not allowed")

            monkeypatch.setattr(saved_graphs, "put_new", refuse)
        else:
            saved.mkdir(parents=True)
            saved.chmod(0o500)
    else:
        saved.parent.mkdir()
        saved.write_text("in the way")
    ms.set_context(save_graphs=2, save_graphs_path=str(saved))
    for factor in (2, 3):
        def scaled(x, factor=factor):
            return x * factor

        assert (ms.jit(scaled)(x()).asnumpy() == factor).all()
        assert (ms.grad(lambda x, factor=factor: (x * factor * factor).sum())(x()).asnumpy() == factor * factor).all()
    err = capsys.readouterr().err
    assert err.count("are not saved in") == 1 and str(saved) in err
    if saved.is_dir():
        assert not names(saved)


def test_a_file_system_without_links(saved: Path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    ms.set_context(save_graphs=1, save_graphs_path=str(saved))
    for _ in range(2):
        ms.jit(lambda x: x + 3)(x())
    assert len(names(saved)) == 4 and all(path.read_text().startswith("func @_lambda_") for path in saved.iterdir())


def test_a_path_must_be_a_name():
    with pytest.raises(ValueError, match="non-empty"):
        ms.set_context(save_graphs_path="")
    with pytest.raises(TypeError, match="str"):
        ms.set_context(save_graphs_path=None)
