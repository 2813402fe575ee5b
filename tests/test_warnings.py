"""A warning names a line of the user's program, or none: never one of this package, or of the standard library that calls it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adjoint import nn, ops
from adjoint.foundation import diagnostics

PACKAGE = Path(diagnostics.__file__).parent
OURS = """
import contextlib, functools
from adjoint.foundation.diagnostics import warn

@contextlib.contextmanager
def block():
    warn("here")
    yield

@contextlib.contextmanager
def nested():
    with block():
        yield

@functools.singledispatch
def dispatched(x):
    warn("here")

class Late:
    @functools.cached_property
    def found(self):
        warn("here")
"""


@pytest.fixture
def ours() -> Any:
    """A module that seems to be one of the package."""
    module: Any = ModuleType("adjoint.made_for_a_test")
    exec(compile(OURS, str(PACKAGE / "made_for_a_test.py"), "exec"), module.__dict__)
    return module


def entered(ours: Any) -> None:
    with ours.block():
        pass


def entered_twice(ours: Any) -> None:
    with ours.nested():
        pass


def by_a_stack(ours: Any) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(ours.nested())


def decorated(ours: Any) -> None:
    ours.block()(print)(end="")


WAYS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "called": (lambda ours: ours.warn("here"), True),
    "a with block": (entered, True),
    "a with block in another": (entered_twice, True),
    "an exit stack": (by_a_stack, True),
    "a decorator": (decorated, True),
    "singledispatch": (lambda ours: ours.dispatched(1), True),
    "cached_property": (lambda ours: ours.Late().found, True),
    "partial": (lambda ours: functools.partial(ours.warn, "here")(), True),
    "a thread": (lambda ours: (it := threading.Thread(target=ours.warn, args=("here",)), it.start(), it.join()), False),
    "a pool": (lambda ours: concurrent.futures.ThreadPoolExecutor(1).submit(ours.warn, "here").result(), False),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_line_of_a_warning(way: str, ours: Any) -> None:
    call, has_line = WAYS[way]
    code = call.__code__
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call(ours)
    (one,) = said
    lines = {line for *_, line in code.co_lines() if line}
    assert (one.filename == __file__ and one.lineno in lines) if has_line else one.filename in ("sys", "<sys>")
    assert one.category is UserWarning and str(one.message) == "here"


def test_a_module_that_warns_while_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's import system lies between it and the line that imports it."""
    (tmp_path / "imported_for_a_test.py").write_text("from adjoint.foundation.diagnostics import warn\nwarn('here')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(diagnostics.is_ours, str(tmp_path / "imported_for_a_test.py"), True)
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if "pytest" not in type(finder).__module__])
    with pytest.warns(UserWarning, match="here") as said:
        import imported_for_a_test  # noqa: F401  # pyright: ignore[reportMissingImports]
    assert [one.filename for one in said] == [__file__]


def failing(cell: Any, args: Any, output: Any) -> None:
    raise ValueError("of the hook")


def test_warnings_of_hooks_name_the_users_line() -> None:
    relu = nn.ReLU()
    relu.register_forward_hook(failing, always_call=True)
    for call in (relu, nn.SequentialCell(relu)):
        with pytest.warns(UserWarning, match="always_call") as said, pytest.raises(TypeError):
            call("not a tensor")
        assert [one.filename for one in said] == [__file__]
    with pytest.warns(UserWarning, match="cell_id") as said:
        ops.HookBackward(lambda grads: None, "cell")
    assert [one.filename for one in said] == [__file__]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize(("program", "line"), [
    ("with watch.times(): ops.log(Tensor([1.0]))", "<string>:2"),
    ("with watch.check_finite(): nn.Dense(2, 2)(Tensor([[1.0, 2.0]]))", "<string>:2"),
    ("print(ops.log(Tensor([1.0])))", "<string>:2"),
    ("import threading; it = threading.Thread(target=ops.zeros, args=((2,),)); it.start(); it.join()", "sys:1"),
])
def test_the_warning_about_cc(program: str, line: str, tmp_path: Path) -> None:
    """Whatever opens the compiler: its cache is empty, so that this is found out on another thread."""
    code = f"from adjoint import Tensor, nn, ops, watch\n{program}\n"
    environment = {**os.environ, "CC": "nothing-by-this-name", "ADJOINT_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    (said,) = [text for text in done.stderr.splitlines() if "Warning" in text]
    assert said.replace("<sys>:0", "sys:1").startswith(f"{line}: UserWarning: The C compiler ")
    assert "CC=nothing-by-this-name: not found" in said
