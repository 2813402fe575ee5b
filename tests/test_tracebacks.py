"""Uncaught exceptions show the user's frames and a public name; a caught exception keeps every frame."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest

import adjoint as ms
from adjoint import Tensor, nn, ops
from adjoint.foundation import tracebacks
from adjoint.foundation.diagnostics import At, is_ours
from adjoint.frontend import errors
from adjoint.ops.arguments import ArgumentMistake, IndexMistake
from adjoint.passes.errors import NO_GRADIENT, NoGradient

PROGRAM = """\
import sys, threading
import adjoint as ms
from adjoint import Tensor, jit, nn, ops

x = Tensor([1.0, 2.0])

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 2)

    def construct(self, x):
        return self.dense(x)

def hook(grad):
    return undefined

def hooked(x):
    y = x * 2
    y.register_hook(hook)
    return y

@jit
def parsed(x):
    with x:
        return x

def shape(): ops.matmul(x, Tensor([[1.0, 2.0, 3.0]]))
def operand(): x + "a"
def inside(): Net()(x)
def gradient(): ms.grad(Net())(x)
def raised_by_a_hook(): ms.grad(hooked)(x)
def graph(): parsed(x)
def thread():
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
def imported(): import mindspore.tools
def led_to():
    try:
        shape()
    except ValueError:
        raise KeyError("while handling")
def fault(): ms.tracebacks.users_frames(3)

globals()[sys.argv[1]]()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("uncaught") / "program.py"
    path.write_text(PROGRAM)
    return path


def shown(words: list[str], **environment: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.stderr


def frames(text: str) -> list[str]:
    """Return the functions whose frames are shown, except those of `threading`; a frame of this package by its file."""
    found = re.findall(r'^  File "(.*?)", line \d+, in (\S+)', text, re.MULTILINE)
    return [file if is_ours[file] else name for file, name in found if not file.endswith("threading.py")]


def test_all_files_of_this_package_are_ours():
    """Frames and lines are the user's only outside of the package, wherever in it this is decided."""
    package = Path(ms.__file__).parent
    assert all(is_ours[str(path)] for path in package.rglob("*.py"))
    assert not is_ours[__file__] and not is_ours[str(package.with_name("adjoint_of_the_user") / "net.py")]


@pytest.mark.parametrize(("case", "expected", "last"), [
    ("shape", ["<module>", "shape"], "ValueError: For 'MatMul', "),
    ("operand", ["<module>", "operand"], "TypeError: For 'Add', "),
    ("inside", ["<module>", "inside", "construct"], "ValueError: For 'Dense', "),
    ("gradient", ["<module>", "gradient", "construct"], "ValueError: For 'Dense', "),
    ("raised_by_a_hook", ["<module>", "raised_by_a_hook", "hook"], "NameError: name 'undefined' is not defined"),
    ("graph", ["<module>", "graph"], "adjoint.CompileError: error[E202]"),
    ("thread", ["inside", "construct"], "ValueError: For 'Dense', "),
    ("led_to", ["led_to", "shape", "<module>", "led_to"], "KeyError: 'while handling'"),
])
@pytest.mark.parametrize("command", [[], ["-m", "adjoint", "run"]], ids=["python", "adjoint run"])
def test_the_frames_of_the_user_end_the_traceback(program, command, case, expected, last):
    text = shown([*command, str(program), case])
    assert frames(text) == expected, text
    assert any(line.startswith(last) for line in text.splitlines()), text
    assert text.count("During handling") == (case == "led_to") and "FULL_TRACEBACK" not in text


def test_the_frames_of_this_package_when_they_are_asked_for(program):
    text = shown([str(program), "shape"], ADJOINT_FULL_TRACEBACK="1")
    assert any(name.endswith("ops/linear.py") for name in frames(text)), text


def test_what_was_not_raised_on_purpose_says_how_to_see_more(program):
    text = shown([str(program), "fault"])
    assert frames(text) == ["<module>", "fault"]
    assert text.splitlines()[-1] == "raised within adjoint: ADJOINT_FULL_TRACEBACK=1 shows its frames"


def test_an_import_that_fails_ends_at_the_line_of_the_script(program):
    text = shown(["-m", "adjoint", "run", str(program), "imported"])
    assert frames(text) == ["<module>", "imported"], text
    assert text.splitlines()[-1].startswith("ModuleNotFoundError: adjoint has no module")


def test_a_fault_of_the_compiler_is_shown_whole(monkeypatch):
    fault = _raised(ms.InternalError, lambda: _fault())
    monkeypatch.delenv("ADJOINT_FULL_TRACEBACK", raising=False)
    with tracebacks._shortened(fault):
        assert any(is_ours[frame.filename] for frame in traceback.extract_tb(fault.__traceback__))


def _fault():
    """Raise in a frame that has the name of a file of this package."""
    exec(compile("raise InternalError('oh')", tracebacks.__file__, "exec"), {"InternalError": ms.InternalError})


def _raised(kind, function) -> BaseException:
    with pytest.raises(kind) as caught:
        function()
    return caught.value


def raising(*args):
    raise KeyError("of the user")


def test_frames_of_the_standard_library_belong_to_who_calls_it():
    """Called by this package, they are left out up to the next frame of the user; called by the user, they stay."""
    ours = {"contextlib": contextlib, "json": json, "raising": raising}
    exec(compile("""
def within(function):
    with contextlib.ExitStack() as stack:
        stack.callback(function)
def fails(): json.loads("{")
""", tracebacks.__file__, "exec"), ours)

    def names(kind, function):
        error = _raised(kind, function)
        frames = traceback.extract_tb(tracebacks.users_frames(error.__traceback__))
        return [frame.name for frame in frames][1:], tracebacks._hint(error)

    assert names(KeyError, lambda: ours["within"](raising)) == (["<lambda>", "raising"], "")
    found, hint = names(ValueError, lambda: ours["within"](lambda: json.loads("{")))
    assert found[:3] == ["<lambda>", "<lambda>", "loads"] and found[-1] == "raw_decode" and not hint
    found, hint = names(ValueError, lambda: ours["fails"]())
    assert found == ["<lambda>"] and hint == tracebacks._SOME_LEFT_OUT
    import_of_the_users = compile("raise KeyError", os.__file__, "exec")
    assert names(KeyError, lambda: exec(import_of_the_users))[0][-1] == "<module>"


def test_what_is_caught_keeps_its_frames():
    """Only the display is shortened: a post-mortem debugger sees everything."""
    error = _raised(ValueError, lambda: ops.matmul(Tensor([1.0]), Tensor([[1.0], [2.0]])))
    before = traceback.extract_tb(error.__traceback__)
    assert any(is_ours[frame.filename] for frame in before)
    seen = []
    tracebacks._for_python(lambda kind, raised, frames: seen.append(traceback.extract_tb(frames)))(type(error), error, error.__traceback__)
    assert seen and not any(is_ours[frame.filename] for frame in seen[0])
    assert traceback.extract_tb(error.__traceback__) == before


def test_ipython_shows_the_frames_of_the_user(monkeypatch):
    """IPython gets a handler; the user's own handler stays, and `%debug` finds every frame."""
    shell = SimpleNamespace(custom_exceptions=(), handlers=[], seen=[])
    shell.set_custom_exc = lambda kinds, handler: shell.handlers.append(handler)
    shell.showtraceback = lambda exc, tb_offset: shell.seen.append(traceback.extract_tb(exc[2]))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    monkeypatch.setattr(sys, "last_traceback", None, raising=False)
    tracebacks.install()
    (handler,) = shell.handlers
    error = _raised(TypeError, lambda: nn.Dense(3, 2)(1))
    handler(shell, type(error), error, error.__traceback__)
    assert not any(is_ours[frame.filename] for frame in shell.seen[0]) and sys.last_traceback is error.__traceback__
    shell.custom_exceptions = (KeyError,)
    tracebacks.install()
    assert len(shell.handlers) == 1


def test_a_mistake_has_no_context_of_our_own():
    """A failed internal table look-up does not appear as the exception's context, also for code that catches and logs it."""
    x = Tensor([1.0])
    for operation in (lambda: x + "a", lambda: x * "a", lambda: x - "a", lambda: x / "a", lambda: "a" / x):
        assert _raised(TypeError, operation).__context__ is None


@pytest.mark.parametrize(("error", "name"), [
    (ArgumentMistake("x"), "ValueError"),
    (IndexMistake("x"), "IndexError"),
    (ms.InternalError("x"), "adjoint.InternalError"),
    (errors.TOO_DEEP.at(At("net.py", 1, 1), "x"), "adjoint.CompileError"),
    (NoGradient.of(NO_GRADIENT, At("net.py", 1, 1), "x"), "adjoint.CompileError"),
])
def test_exceptions_have_public_names_and_can_be_pickled(error, name):
    """`multiprocessing` pickles exceptions to report them."""
    assert traceback.format_exception_only(error)[0].startswith(f"{name}: ")
    error.add_note("raised in a hook")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.__notes__ == ["raised in a hook"]
    assert {*type(error).__mro__} - {type(error)} <= {*type(again).__mro__}
