"""Reads the examples in the docstrings of an installed MindSpore: `python examples.py FILE`, run by MindSpore's own Python.

FILE becomes a JSON list.  An example has the `name` that it documents, its `text` (the statements that the docstring shows after `>>>`),
the lines after which the docstring shows an exception (`raises`), and the `platforms` that the docstring says it runs on.  The public names
are those of the table of paths; an object that several places have is read once.  Methods are read with the class that defines them.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLACES = (
    "nn", "ops", "numpy", "mint", "mint.nn", "mint.nn.functional", "mint.optim", "mint.linalg", "mint.special", "mint.distributed", "train",
    "amp", "common.initializer", "common.dtype", "context", "communication", "dataset", "dataset.transforms", "dataset.vision",
    "dataset.text", "parallel", "runtime", "mindrecord", "scipy.linalg", "scipy.optimize", "mindspore",
)
"""The public modules, in the order in which an object's name is looked for."""
FIRST = ("Tensor", "Parameter", "nn.Cell", "nn.Optimizer", "ops.Primitive", "dataset.GeneratorDataset")
"""Classes that methods are read with before others inherit them."""

STATEMENT = re.compile(r"\s*>>>(?: (.*)|)$")
CONTINUED = re.compile(r"\s*\.\.\.(?: (.*)|)$")
EXCEPTION = re.compile(r"\s*(?:Traceback\b|\w*(?:Error|Exception)\b:)")


def read() -> list[dict[str, Any]]:
    """Return every example, by the names in order."""
    found: list[dict[str, Any]] = []
    for name, value in _named():
        parts = re.split(r"^\s*Examples?:", inspect.getdoc(value) or "", flags=re.MULTILINE)
        platforms = ""
        place = 0
        for before, part in zip([parts[0], *parts], parts):
            stated = re.search(r"Supported Platforms:\s*\n+\s*(.+)", before)
            platforms = stated[1] if stated else platforms
            text, raises = _statements(part)
            if text.strip():
                place += 1
                found.append({"name": name if place == 1 else f"{name} ({place})", "text": text, "raises": raises,
                              "platforms": platforms.replace("`", "").split(), "of": "examples", "given": {}})
    return found


def _statements(document: str) -> tuple[str, list[int]]:
    """Return the statements of a docstring, and the numbers of the lines after which it shows an exception."""
    lines: list[str] = []
    raises: list[int] = []
    inside = output = False
    for line in document.splitlines():
        found = STATEMENT.match(line) or (CONTINUED.match(line) if inside else None)
        inside = found is not None
        output = inside or (output and bool(line.strip()))
        if found:
            lines.append(found[1] or "")
        elif output and EXCEPTION.match(line):
            raises.append(len(lines))
    return "\n".join(lines) + "\n", raises


def _named() -> Iterator[tuple[str, Any]]:
    """The public objects that have a docstring of their own, by their names."""
    rows = json.loads((ROOT / "adjoint" / "compat" / "names.json").read_text(encoding="utf-8"))["modules"]
    seen: set[int] = set()
    classes: list[tuple[str, type]] = []
    for place in PLACES:
        module = importlib.import_module("mindspore" if place == "mindspore" else f"mindspore.{place}")
        for name in sorted(written.partition("=")[0] for listed in rows[place]["names"].values() for written in listed.split()):
            value = getattr(module, name, None)
            own = inspect.isclass(value) or inspect.getdoc(value) != inspect.getdoc(type(value))  # an object has that of its class
            if name.startswith("_") or not callable(value) or id(value) in seen or not own:
                continue
            seen.add(id(value))
            full = name if name in FIRST else f"{place}.{name}"
            yield full, value
            if inspect.isclass(value):
                classes.append((full, value))
    for full, owner in sorted(classes, key=lambda pair: FIRST.index(pair[0]) if pair[0] in FIRST else len(FIRST)):
        for name in sorted(name for name in dir(owner) if not name.startswith("_")):
            value = inspect.getattr_static(owner, name)
            if any(name in vars(base) and base.__module__ == "builtins" for base in owner.__mro__):
                continue  # of a number, or an exception
            value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if not inspect.isclass(value) and id(value) not in seen and (callable(value) or isinstance(value, property)):
                seen.add(id(value))
                yield f"{full}.{name}", value


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(read()), encoding="utf-8")
