"""Options, and the cache of compiled kernels that all tests share.

A run compiles into a directory of its own, so that no test passes because of an earlier build.  Set ADJOINT_TEST_CACHE to a directory to
keep compiled kernels between runs while working on tests.  If Python is configured to write no bytecode next to the sources, the bytecode
is kept in that directory too.  With ADJOINT_TEST_CUT=1 threads share all launches.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator

import pytest

_owned: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite what golden files expect with what they get")


def pytest_configure(config: pytest.Config) -> None:
    kept = os.environ.get("ADJOINT_TEST_CACHE")
    if not kept:
        kept = tempfile.mkdtemp(prefix="adjoint-tests-")
        _owned.append(kept)
        os.environ["ADJOINT_TEST_CACHE"] = kept  # worker processes of this run share it
    os.environ["ADJOINT_CACHE_DIR"] = kept
    # Tests of fused kernels ask for them: else thousands of graphs that run a few times would have theirs compiled.
    os.environ.setdefault("ADJOINT_BACKGROUND_COMPILE", "0")
    if os.environ.get("ADJOINT_TEST_CUT"):
        _cut_all_launches()
    if sys.dont_write_bytecode:
        # Hundreds of processes are started, and each would compile what it imports: they keep it where nobody else sees it.
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = os.path.join(kept, "bytecode")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False


def _cut_all_launches() -> None:
    """Let threads share every launch that has two units, however small: made-up programs are too small to be shared otherwise."""
    from adjoint.ir.kernel import Kernel

    launches = Kernel.launches
    Kernel.launches = lambda self: [(units, 1, *sizes) for units, _, *sizes in launches(self)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while twenty thousand tests are found, and never look through these."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        # What tests keep grows to millions of objects: all of them are looked through seldom, the young ones as often as in any program.
        gc.set_threshold(*gc.get_threshold()[:2], 100)
        gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    # Packs may still be compiling in the background: end that before their directory goes.
    compiling = sys.modules.get("adjoint.codegen.compile")
    if compiling is not None:
        compiling.stop_compiling()
    while _owned:
        shutil.rmtree(_owned.pop(), ignore_errors=True)
