"""The documents are true: their Python code runs, and prints the output shown below it.

Blocks marked `python` run in order, in one namespace per file; a block marked `text` right after one has its output.
`pytest --update-golden` rewrites the outputs: read the difference before committing it.
"""

from __future__ import annotations

import code
import contextlib
import importlib
import io
import linecache
import operator
import os
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from added_ops import taken_back

import adjoint as ms

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(document: str, name: str) -> list[tuple[int, int, str]]:
    """Return for each `text` block below a `python` block where its content is, and what it should be."""
    space: dict[str, Any] = {"__name__": "document"}
    printed = ""
    after_python = False
    found: list[tuple[int, int, str]] = []
    for block in _BLOCK.finditer(document):
        if block[1] == "python":
            line = document.count("\n", 0, block.start(2))
            # Padded, so that places in the output are lines of the document.
            source = "\n" * line + block[2]
            compiled = compile(source, name, "exec", dont_inherit=True)
            # What `jit` parses.
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compiled, space)  # our own documents
            printed = stream.getvalue()
            after_python = True
        elif after_python:
            found.append((block.start(2), block.end(2), printed if printed.endswith("\n") or not printed else printed + "\n"))
            after_python = False
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_document(path: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # For the programs that a document starts, from another directory.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    document = path.read_text(encoding="utf-8")
    here = Path.cwd()
    name = str(path.relative_to(ROOT))
    # Messages show the lines of files that are there.
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    os.chdir(tmp_path)
    try:
        with taken_back():
            outputs = run(document, name)
    finally:
        os.chdir(here)
        linecache.cache.pop(name, None)
        ms.set_context(mode=ms.PYNATIVE_MODE)
        ms.communication.release()  # a document may have called `init`
        ms.reset_auto_parallel_context()
    if request.config.getoption("--update-golden"):
        for start, end, text in reversed(outputs):
            document = document[:start] + text + document[end:]
        path.write_text(document, encoding="utf-8")
        return
    for start, end, text in outputs:
        assert document[start:end] == text, f"{path.name}:{document.count(chr(10), 0, start) + 1}"


_PLACE = re.compile(r" +at .*$|(?<=@)\w+(?=\.hook)|\n* +/\* (gradient of )?\S+:\d+.*\*/$", re.MULTILINE)
"""Where something stands in the document, and a name that was read there: at a prompt they are others."""


def test_the_lesson_can_be_pasted_into_a_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line, with an empty line after indented code; it prints the same except for source locations."""
    document = (ROOT / "docs" / "lesson.md").read_text(encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "displayhook", lambda value: None)
    prompt, printed, complaints = code.InteractiveConsole(), "", io.StringIO()
    with taken_back():
        for block in _BLOCK.finditer(document):
            if block[1] == "text":
                assert _PLACE.sub("", printed).rstrip() == _PLACE.sub("", block[2]).rstrip()
                continue
            with contextlib.redirect_stdout(io.StringIO()) as stream, contextlib.redirect_stderr(complaints):
                for line in (*block[2].splitlines(), ""):
                    prompt.push(line)
            printed = stream.getvalue()
            assert not complaints.getvalue(), block[2]


def test_an_untrue_output_is_noticed() -> None:
    document = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    ((start, end, text),) = run(document, "x.md")
    assert document[start:end] == "3\n" and text == "2\n"


GENERATED = runpy.run_path(str(ROOT / "docs" / "generate.py"))


@pytest.mark.parametrize("name", GENERATED["PAGES"])
def test_a_generated_page_is_up_to_date(name: str) -> None:
    """`make docs` writes it."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == GENERATED["PAGES"][name](), "run `make docs`"


def test_every_code_is_on_the_page_of_errors() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (E\d+): ", page, re.MULTILINE) == sorted(GENERATED["MISTAKES"])


def test_every_promise_names_a_test_that_exists() -> None:
    """Each row of `docs/trust.md` names at least one test, by file and function."""
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", page)
    missing = [f"{file}::{name}" for file, name in named
               if not re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)]
    assert not missing and len(named) > 40
    rows = [row for row in page.splitlines() if row.startswith("| ") and not row.startswith("| promise |")]
    assert all("::test_" in row for row in rows)


_NAMED = re.compile(r"`((?:[\w.]+/)*(?:\w+\.py|\w+/))(?:::([\w.]+))?`")
"""A file or directory in a page, with a name that is defined there."""


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md"])
def test_the_map_names_what_exists(name: str) -> None:
    """Paths are relative to `adjoint/` or to the root; a name after `::` is defined in the file, or bound in it when it is loaded."""
    named = _NAMED.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
    missing: list[str] = []
    for path, symbol in named:
        file = next((base / path for base in (ROOT / "adjoint", ROOT) if (base / path).exists()), None)
        if file is None:
            missing.append(path)
        elif symbol:
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            try:
                operator.attrgetter(symbol)(importlib.import_module(module))
            except AttributeError:
                missing.append(f"{path}::{symbol}")
    assert len(named) > 30 and not missing
