"""The `__init__.py` of a package is its map: it lists all modules, and each imports only from those above it.

Imports in functions and under TYPE_CHECKING count as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ADJOINT = Path(__file__).parent.parent / "adjoint"

PACKAGES = [
    "codegen", "codegen/standalone", "frontend", "frontend/tree", "frontend/values", "frontend/changes", "frontend/control",
    "frontend/operations", "frontend/calls", "frontend/code", "ir", "ir/kernel", "passes", "runtime", "runtime/process",
    "runtime/memory", "runtime/hooks", "runtime/tensor", "runtime/cells", "runtime/gradients", "runtime/checkpoints", "runtime/graphs",
    "runtime/graphs/reports", "runtime/graphs/guards", "runtime/graphs/inputs", "runtime/graphs/lowering", "runtime/graphs/running",
    "runtime/graphs/calls", "foundation",
]

TOGETHER = {("ir", "registry", "op"), ("ir", "op", "core"), ("ir", "op", "build")}
"""The core of the IR: an op's methods are annotated with nodes and Builders, which consist of ops."""


def listed(package: Path) -> list[str]:
    """Return the names in the rows of a map: those before two spaces, indented by four."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")), clean=False) or ""
    rows = re.findall(r"^    (\w+(?:, \w+)*)  ", text, re.MULTILINE)
    return [name for row in rows for name in row.split(", ")]


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and full name of all imports of a file, wherever they are."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("name", PACKAGES)
def test_the_map_of_a_package_is_true(name: str) -> None:
    package = ADJOINT / name
    names = listed(package)
    modules = [path for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert sorted(names) == sorted(path.stem for path in modules if path.stem != "__init__")
    prefix = f"adjoint.{name.replace('/', '.')}."
    wrong: list[str] = []
    for path in modules:
        if path.stem == "__init__":
            continue
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for line, full in imported(file):
                other = full.removeprefix(prefix).partition(".")[0]
                if full.startswith(prefix) and other in names and names.index(other) > names.index(path.stem) \
                        and (name, path.stem, other) not in TOGETHER:
                    wrong.append(f"{file.relative_to(ADJOINT)}:{line} imports {full}, which is listed below it")
    assert not wrong, "\n".join(wrong)
