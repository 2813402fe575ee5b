"""Golden files: input, pipeline, expectation and a sentence of why, in one file.

    parse/*.ir     a text in the form that is printed: it verifies and prints again to the same characters
    passes/*.ir    `# RUN: pipeline`, a module, then `# EXPECT` and a module, or `# EXPECT unchanged`.  Both halves verify
                   and are as printed; at each pass the functions that keep their parameters mean the same on random
                   inputs, callbacks compared as a log; what `grad` makes agrees with finite differences
    codegen/*.ir   a module; its ops as C stand in the `.c` beside it
    errors/*.ir    a text that is wrong, or that its pipeline refuses; the message stands in the `.err` beside it
    errors/*.py    a program that fails: the end of the traceback, type, message and notes, stands in the `.err` beside it;
                   `graph_*.py` are those that a graph refuses

`# DOMAIN: 0.5..2.0` sets the interval that floating-point inputs are drawn from.  Locations are shown if the input has
them.  `pytest --update-golden` writes what is expected anew: look at the difference before you commit it.
"""

from __future__ import annotations

import itertools
import linecache
import re
import runpy
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from meaning import compare, compare_gradient

from adjoint.codegen.emit import lower
from adjoint.foundation.diagnostics import UNKNOWN, CompileError
from adjoint.ir.core import Module, walk
from adjoint.ir.op import NotDifferentiable
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.passes.manager import Pipeline

EXPECT = re.compile(r"^# EXPECT *(unchanged)? *\n", re.MULTILINE)
HEADER = re.compile(r"^# (RUN|DOMAIN): *(.*?) *$", re.MULTILINE)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".ir" or (file_path.suffix == ".py" and file_path.parent.name == "errors"):
        return GoldenFile.from_parent(parent, path=file_path)
    return None


class Mismatch(Exception):
    """A golden file's expectation is not met; the message shows the difference."""


class GoldenFile(pytest.File):
    """One file, one test, named after it."""

    def collect(self) -> Iterator[pytest.Item]:
        yield Golden.from_parent(self, name=self.path.stem)


class Golden(pytest.Item):
    """Runs one golden file by the rules of its folder."""

    def runtest(self) -> None:
        update = self.config.getoption("--update-golden")
        {"parse": check_parse, "passes": check_passes, "codegen": check_code, "errors": check_error}[self.path.parent.name](
            self.path, update
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (Mismatch, CompileError)):
            return f"{self.path}:\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.parent.name}/{self.name}"


@dataclass(frozen=True)
class Case:
    """A golden file split into its parts."""

    text: str
    module: Module
    pipeline: Pipeline
    domain: tuple[float, float]
    expected: str | None
    unchanged: bool

    @property
    def locations(self) -> bool:
        functions = self.module.functions.values()
        return any(f.loc != UNKNOWN or any(node.loc != UNKNOWN for node in walk(f.body)) for f in functions)


def read(path: Path) -> Case:
    whole = path.read_text(encoding="utf-8")
    parts = EXPECT.split(whole, maxsplit=1)
    options = dict(HEADER.findall(parts[0]))
    low, high = map(float, options.get("DOMAIN", "-2.0..2.0").split(".."))
    module = parse_module(parts[0], str(path))
    verify_module(module)
    unchanged, expected = (parts[1] is not None, parts[2]) if len(parts) == 3 else (False, None)
    return Case(parts[0], module, Pipeline.parse(options.get("RUN", "")), (low, high), expected, unchanged)


def without_comments(text: str) -> str:
    """Return the text without comment lines and without blank lines at its ends."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("#")).strip("\n") + "\n"


def check_round_trip(text: str, locations: bool) -> None:
    """Check that the text, except for comments, is in the printed form."""
    printed = print_module(parse_module(text), locations)
    if printed != without_comments(text):
        raise Mismatch(f"the text is not as it is printed, which is\n\n{printed}")


def tidied(text: str, locations: bool) -> str:
    """Return the text in the printed form, below the comments that it begins with; unchanged if there are comments further down."""
    header = "".join(itertools.takewhile(lambda line: line.startswith("#"), text.splitlines(keepends=True)))
    if "\n#" in text[len(header) :]:
        return text
    return header + print_module(parse_module(text), locations)


def check_expected(path: Path, got: str, update: bool) -> None:
    """Check that the file next to the golden one contains `got`."""
    if update:
        path.write_text(got, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else None
    if expected is None:
        raise Mismatch(f"{path.name} is missing; it would hold\n\n{got}")
    if expected != got:
        raise Mismatch(f"{path.name} expects\n\n{expected}\nand got\n\n{got}")


def check_parse(path: Path, update: bool) -> None:
    case = read(path)
    if update:
        path.write_text(tidied(case.text, case.locations), encoding="utf-8")
    else:
        check_round_trip(case.text, case.locations)


def check_passes(path: Path, update: bool) -> None:
    case = read(path)
    text = tidied(case.text, case.locations) if update else case.text
    check_round_trip(text, case.locations)
    if not case.pipeline.passes:
        raise Mismatch("there is no `# RUN: pipeline`")
    after = case.module
    for step in case.pipeline.passes:
        before, after = after, step.on_module(after)
        verify_module(after)
        compare(before, after, case.domain)
        if step.name == "grad":
            compare_gradient(before, after, step, case.domain)
    got = print_module(after, case.locations)
    if case.unchanged:
        if got != print_module(case.module, case.locations):
            raise Mismatch(f"nothing should have changed, but after {case.pipeline} it is\n\n{got}")
        return
    if update:
        path.write_text(f"{text}# EXPECT\n{got}", encoding="utf-8")
        return
    if case.expected is None:
        raise Mismatch(f"there is no `# EXPECT`; it would be\n\n{got}")
    check_round_trip(case.expected, case.locations)
    if without_comments(case.expected) != got:
        raise Mismatch(f"after {case.pipeline} expected\n\n{case.expected}\nand got\n\n{got}")


def check_code(path: Path, update: bool) -> None:
    case = read(path)
    after = case.pipeline.run(case.module)
    texts: dict[str, None] = {}
    for function in after.functions.values():
        for node in walk(function.body):
            if node.op.can_lower:
                types = [atom.type for atom in node.operands], [value.type for value in node.results]
                texts[lower(node.op, *types).text] = None
    check_expected(path.with_suffix(".c"), "\n".join(texts), update)


def text_message(path: Path) -> str | None:
    """Return what is wrong with a text of the IR, or with it and its pipeline."""
    try:
        case = read(path)
        case.pipeline.run(case.module)
    except (CompileError, NotDifferentiable) as error:
        return str(error)
    return None


def program_message(path: Path) -> str | None:
    """Return the end of the traceback of a program: type, message and notes, and the exception that it replaced."""
    linecache.checkcache(str(path))
    try:
        runpy.run_path(str(path))
    except Exception as error:
        # Some versions of Python add what may have been meant, others do not.
        shown = re.sub(r"\. Did you mean: '\w+'\?$", "", "".join(traceback.format_exception_only(error)).rstrip("\n"), flags=re.MULTILINE)
        hidden = error.__cause__ if error.__suppress_context__ else error.__context__
        return shown if hidden is None else f"{shown}\n\nfrom {''.join(traceback.format_exception_only(hidden)).rstrip()}"
    return None


def check_error(path: Path, update: bool) -> None:
    message = program_message(path) if path.suffix == ".py" else text_message(path)
    if message is None:
        raise Mismatch("an error was expected and there was none")
    message = "\n".join(line.rstrip() for line in message.replace(str(path), "$FILE").split("\n"))
    check_expected(path.with_suffix(".err"), message + "\n", update)


