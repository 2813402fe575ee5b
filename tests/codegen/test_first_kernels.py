"""Kernels are compiled beside the run-time library when both are missing: a first gradient does not wait for one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from compilers import REAL, needs_compiler, script  # found beside this file

GRAPH = """
import numpy as np
from adjoint.codegen import packs
packs.FAMILIES = ()  # what this program needs, and nothing beside it
import adjoint as ms
from adjoint import Tensor, ops

def f(x):
    return (ops.tanh(x) * x).sum()

x = Tensor(np.array([1.0, 2.0], np.float32))
print(ms.jit(ms.grad(f))(x).asnumpy().tobytes().hex(), ms.grad(f)(x).asnumpy().tobytes().hex())
"""


EAGER = """
from adjoint import Tensor

x = Tensor([1.0, 2.0])
print(x + x, x * x)
"""


def run(directory: Path, compiler: Path, text: str = GRAPH) -> subprocess.CompletedProcess[str]:
    program = directory / "program.py"
    program.write_text(text)
    surroundings = {**os.environ, "ADJOINT_CACHE_DIR": str(directory / "cache"), "CC": str(compiler), "ADJOINT_BACKGROUND_COMPILE": "1"}
    return subprocess.run([sys.executable, program], env=surroundings, capture_output=True, text=True, timeout=120, check=False)


@needs_compiler
@pytest.mark.parametrize("text", [GRAPH, EAGER], ids=["a graph's", "those that most programs need"])
def test_they_do_not_wait_for_the_library(tmp_path: Path, text: str) -> None:
    """The library's compiler ends only when a kernel has been compiled: without a way past it the program would not end either."""
    kernel, waited = tmp_path / "kernel", tmp_path / "waited"
    compiler = script(tmp_path / "cc", f"""
case "$*" in
  *runtime*) for i in $(seq 600); do [ -e {kernel} ] && touch {waited} && break; sleep 0.1; done; exec {REAL} "$@";;
  *plain*) {REAL} "$@" && touch {kernel};;
  *) exec {REAL} "$@";;
esac""")
    done = run(tmp_path, compiler, text)
    assert done.returncode == 0, done.stderr
    assert waited.exists()
    if text is GRAPH:
        graph, eager = done.stdout.split()
        assert graph == eager
    else:
        assert len([*tmp_path.glob("cache/kernels/library/plain-*.so")]) == 1, "one compiler for all operators"


@needs_compiler
def test_another_compiler_may_be_used_in_the_end(tmp_path: Path) -> None:
    """What the first one made is right, but it cannot make the library: kernels and library come from the next compiler."""
    compiler = script(tmp_path / "first cc", f'case "$*" in *runtime*) exit 1;; *) exec {REAL} "$@";; esac')
    done = run(tmp_path, compiler)
    assert done.returncode == 0, done.stderr
    assert "cannot compile the run-time library" in done.stderr
    graph, eager = done.stdout.split()
    assert graph == eager
