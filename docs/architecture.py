"""Fill in the generated parts of architecture.md: what stands between `<!-- NAME: generated -->` and `<!-- end -->`.

    packages  from the docstrings of the packages, in the order that tests/test_layers.py enforces
    arrows    that order
    gates     from the same test
    passes    from the schedule in adjoint/passes/schedule.py
    journeys  from runs of docs/journeys.py
"""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from adjoint.passes.schedule import PARTS, SCHEDULES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "adjoint"
LAYERS = runpy.run_path(str(ROOT / "tests" / "test_layers.py"))
_PART = re.compile(r"(<!-- (?P<name>[\w ]+): generated -->\n).*?(<!-- end -->)", re.DOTALL)
_LISTED = re.compile(r"^ {4}(\w+(?:, \w+)*) {2,}\S", re.MULTILINE)
"""A line in the docstring of a package that names what is in it."""


def page() -> str:
    """Return the text of architecture.md with its generated parts as they should be; AssertionError if the page lacks one."""
    parts = {"packages": packages(), "arrows": arrows(), "gates": gates(), "passes": passes(),
             **{f"journey {name}": text for name, text in journeys().items()}}
    written = Path(__file__).with_name("architecture.md").read_text(encoding="utf-8")
    text = _PART.sub(lambda found: f"{found[1]}\n{parts.pop(found['name'])}\n\n{found[3]}", written)
    assert not parts, f"architecture.md has no place for {', '.join(parts)}"
    return text


# -- packages -----------------------------------------------------------------------------------------------------------
def levels() -> Iterator[list[str]]:
    """Yield the places that the order of the layers names and that are there, the lowest first."""
    for places in LAYERS["ORDER"]:
        if found := [place for place in places if _path(place).is_dir() or _path(place).with_suffix(".py").is_file()]:
            yield found


def _path(place: str) -> Path:
    return PACKAGE / place.replace(".", "/")


def arrows() -> str:
    """Return the levels on a line each, with `runtime` as one of them."""
    lines: list[str] = []
    for places in levels():
        line = ", ".join(dict.fromkeys(place.partition(".")[0] for place in places))
        if line not in lines:
            lines.append(line)
    return "\n".join(f"    {'   ' if i == 0 else '<- '}{line}" for i, line in enumerate(lines))


def gates() -> str:
    """Return a table of the modules that load a large part with its first use."""
    rows: dict[tuple[str, str], str] = LAYERS["GATES"]
    return "\n".join(["| module | loads | what, and when |", "|---|---|---|",
                      *(f"| `{_shown_place(module)}` | `{_shown_place(loaded)}` | {why} |" for (module, loaded), why in rows.items())])


def _shown_place(place: str) -> str:
    return f"{place.replace('.', '/')}{'/' if _path(place).is_dir() else '.py'}"


def packages() -> str:
    """Return a table of all packages, and of the modules next to them."""
    rows = ["| package | holds |", "|---|---|"]
    runtime = [place for places in levels() for place in places if place.startswith("runtime.")]
    for place in itertools.chain.from_iterable(levels()):
        if place not in runtime:
            rows += [f"| {shown} | {about} |" for shown, about in _rows(_path(place), "")]
        elif place == runtime[0]:
            rows.append(f"| `runtime/` | {_about(PACKAGE / 'runtime')} |")
            for inner in runtime:
                rows += [f"| {shown} | {about} |" for shown, about in _rows(_path(inner), "&emsp;")]
    return "\n".join(rows)


def _doc(path: Path) -> str:
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def _about(path: Path) -> str:
    """Return the first sentence of a package's or module's docstring."""
    paragraph = " ".join(_doc(path).partition("\n\n")[0].split())
    sentence = re.split(r"(?<=\.) +(?=[A-Z`])", paragraph)[0]
    return sentence.rstrip(".:").replace("|", "\\|")


def _rows(path: Path, indent: str) -> Iterator[tuple[str, str]]:
    """Yield a row for a package and those in it, or for a module."""
    name = path.relative_to(PACKAGE).as_posix()
    yield f"{indent}`{name}{'/' if path.is_dir() else '.py'}`", _about(path)
    inner = [each.parent.name for each in path.glob("*/__init__.py")]
    listed = [each for row in _LISTED.findall(_doc(path)) for each in row.split(", ") if each in inner]  # in the order of their imports
    for each in listed or sorted(inner):
        yield from _rows(path / each, f"{indent}&emsp;")


# -- passes -------------------------------------------------------------------------------------------------------------
def passes() -> str:
    """Return a table of the schedules, and one of the steps that are taken alone."""
    schedules: list[str] = []
    for each in SCHEDULES:
        in_order = ", ".join(f"`{step}`" for step in each.pipeline().passes)
        schedules.append(f"| {each.purpose} | {in_order} | {each.when} | {each.why} |")
    parts: list[str] = []
    for part in PARTS:
        file = part.function.__module__.removeprefix("adjoint.").replace(".", "/")
        parts.append(f"| `{file}.py::{part.function.__name__}` | {part.when} | {part.why} |")
    return "\n".join([
        "| for | passes, in order | who runs them, and when | why these, in this order |", "|---|---|---|---|", *schedules, "",
        "These steps work on part of a function, or are asked for more than their result, so they are taken alone:", "",
        "| step | taken by | why alone |", "|---|---|---|", *parts])


# -- journeys -----------------------------------------------------------------------------------------------------------
def journeys() -> dict[str, str]:
    """Return for each journey the functions that it passes, in the order in which each is first entered, by files."""
    # What runs often has fused kernels: from the first run, so that the lists do not depend on how quick the compiler is.
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "ADJOINT_BACKGROUND_COMPILE": "wait", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, str(Path(__file__).with_name("journeys.py"))], stdout=subprocess.PIPE, text=True, check=True,
                          env=environment)
    return {name: _journey([(file, function) for file, function in calls]) for name, calls in json.loads(done.stdout).items()}


def _journey(calls: list[tuple[str, str]]) -> str:
    count = Counter(calls)
    lines = [f"{len(calls)} calls of {len(count)} functions in {len({file for file, _ in calls})} files:", "", "```"]
    by_file = [(file, [_shown(function, count[file, function]) for _, function in group])
               for file, group in itertools.groupby(count, key=lambda call: call[0])]
    width = max(len(file) for file, _ in by_file)
    lines += [f"{file:{width}}  {', '.join(functions)}" for file, functions in by_file]
    return "\n".join([*lines, "```"])


def _shown(function: str, times: int) -> str:
    name = function.replace(".<locals>", "")
    return f"{name} (x{times})" if times > 1 else name
