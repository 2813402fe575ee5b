"""Performs examples in one interpreter, MindSpore's or ours: `python performing.py SIDE EXAMPLES ANSWERS`.

Each runs in a process of its own, forked once the library is imported, as the script of a `__main__` in an empty folder.  An answer lists
what each statement printed (`text`), with dtype and shape of the values that `print` was given, or that an expression had (`forms`); where
nothing is printed, the tensors that variables hold at the end (`left`); and the exception that ended it.  MindSpore, SIDE "theirs",
performs each twice, from different seeds: what differs is drawn at random.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import ast
import contextlib
import ctypes
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from running import key_of

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 40
"""How much processor time an example may take; the clock may pass ten times as much."""
AT_ONCE = 4
"""How many examples run at a time."""
LONGEST = 20_000
"""Characters that are kept of what a statement prints."""
sys.path[:0] = [str(ROOT)]


class Performance:
    """One example in this process: its statements one after the other, as Python's prompt would run them."""

    def __init__(self, ms: Any, example: dict[str, Any], script: Path):
        self.ms, self.example, self.script = ms, example, script
        self.statements: list[dict[str, Any]] = []
        self.forms: list[Any] = []
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115 - open while the process lives, as is what follows
        os.dup2(self.printed.fileno(), 1)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115

    def run(self) -> dict[str, Any]:
        main = types.ModuleType("__main__")
        main.__file__ = str(self.script)
        sys.modules["__main__"] = main
        sys.argv = [str(self.script)]
        space = vars(main)
        space.update(importlib.import_module("prelude").NAMES, _shown=self._shown)
        given = set(space)
        sys.displayhook = self._displayed
        answer: dict[str, Any] = {}
        try:
            body = Recording().visit(ast.parse(self.example["text"])).body
        except SyntaxError as error:
            return {"statements": [], "error": self._error(error, error.lineno or 0)}
        for statement in body:
            try:
                exec(compile(ast.fix_missing_locations(ast.Interactive([statement])), str(self.script), "single"), space)
            except BaseException as error:
                self._note(statement)
                told = self._error(error, statement.end_lineno or 0)
                if not any(line in self.example["raises"] for line in range(statement.lineno, (statement.end_lineno or 0) + 1)):
                    answer["error"] = told
                    break
                self.statements[-1]["raised"] = told["error"]
            else:
                self._note(statement)
        left = {name: value for name, value in space.items() if name not in given and isinstance(value, self.ms.Tensor | np.ndarray)}
        if not any("text" in found for found in self.statements):
            with contextlib.suppress(Exception):
                answer["left"] = {name: self._number(value) for name, value in left.items()}
        return {"statements": [found for found in self.statements if set(found) != {"line"}], **answer}

    def _note(self, statement: ast.stmt) -> None:
        """Keep what a statement printed."""
        sys.stdout.flush()
        ctypes.CDLL(None).fflush(None)
        os.lseek(1, 0, os.SEEK_SET)
        text = self.printed.read().decode(errors="replace")
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        found = {"line": statement.lineno, "text": text[:LONGEST], "forms": self.forms[:50]}
        self.statements.append({key: value for key, value in found.items() if value})
        self.forms = []

    def _error(self, error: BaseException, line: int) -> dict[str, Any]:
        kinds = [kind.__name__ for kind in type(error).__mro__ if kind not in (BaseException, object)]
        return {"error": kinds, "text": str(error).partition("\n  -->")[0].strip()[:600], "line": line}

    def _shown(self, *values: Any) -> tuple[Any, ...]:
        """Keep the forms of what `print` is given, and return it."""
        for value in values:
            self._form(value)
        return values

    def _displayed(self, value: Any) -> None:
        if value is not None:
            self._form(value)
            print(repr(value))

    def _form(self, value: Any) -> None:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, tuple | list) and not hasattr(value, "to_tuple"):  # a sparse matrix is a tuple here, and none there
            for item in value:
                self._form(item)
        elif isinstance(value, self.ms.Tensor):
            self.forms.append([str(value.dtype), list(value.shape)])
        elif isinstance(value, np.ndarray | np.generic):
            self.forms.append([f"numpy {value.dtype}", list(value.shape)])
        elif isinstance(value, bool | int | float | str | None):
            self.forms.append([type(value).__name__, []])

    def _number(self, value: Any) -> dict[str, Any]:
        array = value if isinstance(value, np.ndarray) else np.asarray(value.asnumpy())
        with np.printoptions(threshold=200, precision=8, linewidth=10_000):
            return {"forms": [[str(value.dtype), list(value.shape)]], "text": str(array)[:LONGEST]}


class Recording(ast.NodeTransformer):
    """Gives the values of `print`, outside of functions and classes, to `_shown` first."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
            shown = ast.Starred(ast.Call(ast.Name("_shown", ast.Load()), node.args, []), ast.Load())
            return ast.copy_location(ast.Call(node.func, [shown], node.keywords), node)
        return node


class Process:
    """A process that performs an example, from a seed."""

    def __init__(self, ms: Any, side: str, example: dict[str, Any], seed: int):
        self.example, self.seed = example, seed
        self.folder = Path(tempfile.mkdtemp())
        self.answer = self.folder / "answer.json"
        self.child = os.fork()
        if self.child == 0:
            status = 1
            try:
                self._perform(ms, side)
                status = 0
            finally:
                os._exit(status)

    def _perform(self, ms: Any, side: str) -> None:
        os.setpgid(0, 0)
        inside = self.folder / "empty"
        inside.mkdir()
        os.chdir(inside)
        signal.alarm(10 * SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 2)
        script = self.folder / "example.py"
        script.write_text(self.example["text"], encoding="utf-8")
        _seeded(ms, side, self.seed)
        self.answer.write_text(json.dumps(Performance(ms, self.example, script).run()), encoding="utf-8")

    def ended(self, status: int) -> dict[str, Any]:
        """Return the answer of a process that has ended with a status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child, signal.SIGKILL)  # what the example started
        found = json.loads(self.answer.read_text(encoding="utf-8")) if self.answer.exists() else None
        shutil.rmtree(self.folder, ignore_errors=True)
        if found is not None:
            return found
        if os.WIFSIGNALED(status):
            late = os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGXCPU)
            return {"crashed": "takes too long" if late else signal.Signals(os.WTERMSIG(status)).name}
        return {"crashed": f"the process ends with {os.waitstatus_to_exitcode(status)}"}


def perform(ms: Any, side: str, examples: list[dict[str, Any]], note: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Perform examples, some at a time, and note the answer to each as soon as it is known."""
    pending = [(example, 1) for example in reversed(examples)]
    running: dict[int, Process] = {}
    first: dict[str, dict[str, Any]] = {}
    while pending or running:
        while pending and len(running) < AT_ONCE:
            process = Process(ms, side, *pending.pop())
            running[process.child] = process
        child, status = os.waitpid(-1, 0)
        if child not in running:
            continue
        process = running.pop(child)
        answer, key = process.ended(status), key_of(process.example)
        if process.seed == 2:
            note(process.example, first.pop(key) | {"again": answer})
        elif side == "theirs" and not {"error", "crashed"} & set(answer):
            first[key] = answer
            pending.append((process.example, 2))
        else:
            note(process.example, answer)


def _seeded(ms: Any, side: str, seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    ms.set_seed(seed)
    if side == "theirs":
        ms.set_context(device_target="CPU")
        ms.manual_seed(seed)


def main(side: str, examples: str, answers: str) -> None:
    asked, kept = json.loads(Path(examples).read_text(encoding="utf-8")), Path(answers).resolve()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(tempfile.mkdtemp())  # where MindSpore was imported, it writes some files
    if side != "theirs":
        importlib.import_module("adjoint.compat").install()
    ms = importlib.import_module("mindspore")
    for module in ("prelude", "mindspore.train", "mindspore.mint", "mindspore.numpy"):
        importlib.import_module(module)  # once, not in each process
    if side != "theirs":
        for module in ("adjoint.nn", "adjoint.ops", "adjoint.numpy", "adjoint.mint.nn", "adjoint.train", "adjoint.dataset"):
            importlib.import_module(module)
    with kept.open("a", encoding="utf-8") as file:
        def note(example: dict[str, Any], answer: dict[str, Any]) -> None:
            file.write(json.dumps({"key": key_of(example), "answer": answer}) + "\n")
            file.flush()

        perform(ms, side, list({key_of(example): example for example in asked}.values()), note)
    os._exit(0)  # MindSpore's threads may not end


if __name__ == "__main__":
    main(*sys.argv[1:])
