"""Imports obey the layers: a module imports from its own layer and from those below it.

    {budget, diagnostics, lazy, settings, tracebacks} <- ir <- {passes, codegen, frontend} <- runtime <- communication <- ops
        <- {nn, numpy, dataset} <- mint <- train <- compat <- cli

dataset imports neither nn nor numpy; passes, codegen and frontend do not import each other.  Imports under TYPE_CHECKING name types only
and are free.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "adjoint"

ORDER = (("budget", "diagnostics", "lazy", "settings", "tracebacks"), "ir", ("passes", "codegen", "frontend"), "runtime",
         "communication", "ops", ("nn", "numpy", "dataset"), "mint", "train", "compat", "cli")
LEVEL = {
    layer: level
    for level, layers in enumerate(ORDER)
    for layer in ((layers,) if isinstance(layers, str) else layers)
}
LEVEL |= dict.fromkeys(("amp", "common", "context", "dtype", "log"), LEVEL["ops"])
"""Names of the public interface for what the runtime holds; they stand where `ops` stands."""
APART = {"passes", "codegen", "frontend", "dataset"}
ABOVE_ALL = {"__init__", "__main__"}
"""Modules of the package itself that may import anything: the public names, and `python -m adjoint`."""

LAZY = {"lark", "rich", "hypothesis", "matplotlib", "sklearn", "PIL", "mpi4py", "safetensors", "tensorboardX"}
"""Libraries that `import adjoint` must not load."""
LATER = {"numpy", "mint", "dataset", "train", "compat", "cli"}
"""Packages of ours that `import adjoint` must not load."""


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, except under TYPE_CHECKING; `from a import b` gives both a.b and a."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for other in node.orelse:
                    yield from imported(other)
            case ast.Import():
                for alias in node.names:
                    yield node.lineno, alias.name
            case ast.ImportFrom(module=module, level=level):
                assert level == 0, f"line {node.lineno}: imports are absolute"
                for alias in node.names:
                    yield node.lineno, f"{module}.{alias.name}"
            case _:
                yield from imported(node)


def wrong_imports(path: Path) -> Iterator[str]:
    """What a module imports that its layer must not."""
    layer = layer_of(path)
    if layer in ABOVE_ALL and path.parent == PACKAGE:
        return
    if layer not in LEVEL:
        yield f"{layer} is no layer"
        return
    for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        top, _, rest = name.partition(".")
        if top != "adjoint":
            continue
        other = rest.partition(".")[0]
        if not other and LEVEL[layer] >= LEVEL["compat"]:
            continue  # the public names
        if other not in LEVEL:
            yield f"line {line}: {name} is of no layer"
        elif LEVEL[other] > LEVEL[layer] or (LEVEL[other] == LEVEL[layer] and other != layer and {layer, other} & APART):
            yield f"line {line}: {layer} imports {name}"


def test_imports_obey_the_layers() -> None:
    wrong = [f"{path.relative_to(PACKAGE)}, {said}" for path in modules() for said in wrong_imports(path)]
    assert not wrong, "\n".join(wrong)


def test_import_is_light() -> None:
    # Modules that commands alone need are loaded when a command needs them.
    code = "import sys, adjoint; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent, timeout=120)
    assert not (LAZY | {f"adjoint.{package}" for package in LATER}) & set(done.stdout.split())


def test_an_ignored_complaint_has_a_name_and_a_reason() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}, line {number}"
        for path in modules() for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"# (type|pyright): ignore", line) and not re.search(r"# pyright: ignore\[report\w+\] - \w", line)]
    assert not wrong, "\n".join(wrong)
