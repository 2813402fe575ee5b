"""Options, the cache of compiled kernels that all tests share, and the settings that each test gives back.

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
import threading
import zlib
from collections.abc import Callable, Generator

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


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let every other test be alone in its process, as most programs are: the threads by which processes of tests talk do not count."""
    from adjoint.frontend.changes import workspace

    if not _library:
        _threads.update(sys._current_frames())
    _threads.intersection_update(sys._current_frames())  # a new thread may have the identifier of one that has ended
    any_run = _library.setdefault("other_threads_run", workspace.other_threads_run)
    made_anew = sys.modules.get("adjoint.runtime.graphs.calls.functions_of_one_code")
    if made_anew is not None:
        made_anew._of_codes.clear()  # what a test defines is new to it
    workspace.other_threads_run = any_run if zlib.crc32(item.nodeid.encode()) % 2 else _threads_of_tests_run


_threads: set[int] = set()
"""The identifiers of the threads that were there before the first test, and still are."""
_library: dict[str, Callable[[], bool]] = {}
"""The library's own function, by its name."""


def _threads_of_tests_run() -> bool:
    return len((sys._current_frames().keys() - _threads) | {threading.get_ident()}) > 1


_SETTINGS = {"mode": 1, "save_graphs": 0, "max_call_depth": 1000, "deterministic": "ON"}
"""Settings that a test gives back, with their defaults: the next test of the same process would run with others."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that leaves a setting of the process as it is for itself alone, and put the setting back."""
    result = yield
    context = sys.modules.get("adjoint.runtime.process.context")
    if context is not None:
        left = {name: found for name, default in _SETTINGS.items() if (found := context.get_context(name)) != default}
        if left:
            context.set_context(**{name: _SETTINGS[name] for name in left})
            raise AssertionError(f"{item.nodeid} leaves the settings {left}")
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    # Packs may still be compiling in the background: end that before their directory goes.
    compiling = sys.modules.get("adjoint.codegen.compile")
    if compiling is not None:
        compiling.stop_compiling()
    while _owned:
        shutil.rmtree(_owned.pop(), ignore_errors=True)
