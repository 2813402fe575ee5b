"""Modules and names that are loaded when they are used: `import adjoint` and a first gradient load few."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import adjoint as ms
from adjoint import nn, ops
from adjoint.foundation import lazy

ROOT = Path(__file__).parent.parent

FIRST_GRADIENT = """
import sys
import numpy as np
import adjoint as ms
from adjoint import nn
def loaded():
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "adjoint"]
    return sum(type(module).__name__ == "module" for module in modules)
ms.Tensor
print(loaded())
net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(8, 3))
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
x, y = ms.Tensor(np.ones((1, 1, 4, 4), np.float32)), ms.Tensor(np.zeros(1, np.int32))
optimizer(gradient(x, y)[1])
print(loaded())
"""


def test_few_modules_are_loaded() -> None:
    """A start takes as long as the code that it loads: raise these numbers only for what each program needs."""
    done = subprocess.run([sys.executable, "-c", FIRST_GRADIENT], capture_output=True, text=True, check=True, cwd=ROOT, timeout=120)
    imported, first = map(int, done.stdout.split())
    assert imported <= IMPORTED and first <= USED


IMPORTED, USED = 145, 260
"""How many modules of ours `import adjoint` loads, and with the first step of a small network (a few more if it compiles kernels)."""


@pytest.mark.parametrize("module", [ms, nn, nn.optim, ops, ops.functional, ops.operations, ops.primitives])
def test_each_public_name_is_there(module: Any) -> None:
    assert set(module.__all__) <= set(dir(module)) and len({*module.__all__}) == len(module.__all__)
    for name in module.__all__:
        getattr(module, name)
    with pytest.raises(AttributeError, match="adjoint has no 'absent'"):
        _ = module.absent


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package that defers its modules; `part` notes in `runs` that its code runs."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text(
        "from adjoint.foundation import lazy\nruns = []\n"
        "def __getattr__(name):\n"
        "    found = lazy.deferred(globals(), name)\n"
        "    if found is None:\n"
        "        raise AttributeError(name)\n"
        "    return found\n")
    folder.joinpath("part.py").write_text(
        "import time, lazily\nlazily.runs.append(1)\ntime.sleep(0.05)\ndef double(x):\n    return 2 * x\n"
        "def __getattr__(name):\n    return name\n")
    folder.joinpath("broken.py").write_text(
        "import lazily\nlazily.runs.append(1)\nif len(lazily.runs) < 2:\n    raise OSError\nright = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lazily", "lazily.part", "lazily.broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import lazily  # type: ignore[import-not-found]

    return lazily


def test_a_module_runs_when_a_name_in_it_is_used(package: Any) -> None:
    from lazily import part  # type: ignore[import-not-found]

    assert sys.modules["lazily.part"] is part is package.part and part.__name__ == "lazily.part" and package.runs == []
    assert part.double(2) == 4 and package.runs == [1] and type(part) is ModuleType
    assert part.anything == "anything" and lazy.module("lazily.part") is part
    assert "_loading" not in vars(part)


def test_threads_run_a_module_once(package: Any) -> None:
    part, found = package.part, list[int]()
    threads = [threading.Thread(target=lambda: found.append(part.double(3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [6] * 8 and package.runs == [1]


def test_assigning_runs_a_module_first(package: Any) -> None:
    package.part.double = len
    assert package.part.double is len and package.runs == [1]


def test_a_module_whose_code_failed_is_run_again(package: Any) -> None:
    with pytest.raises(OSError):
        _ = package.broken.right
    assert package.broken.right == 1


def test_a_module_that_is_missing(package: Any) -> None:
    with pytest.raises(AttributeError):
        _ = package.absent
    with pytest.raises(ImportError):
        from lazily import absent  # type: ignore[import-not-found]  # noqa: F401
