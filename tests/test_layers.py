"""Imports run one way: a module imports from its own place and from places before it in `ORDER`.

A place is a module or package of `adjoint`, or a package of `adjoint.runtime`.  Imports only for types and imports within functions count
like all others.  A function may import from this package only at a gate, where a large part is loaded when first used.  No modules import
each other in a circle.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "adjoint"

ORDER: tuple[tuple[str, ...], ...] = (
    ("foundation", "log"),
    ("ir",),
    ("passes", "codegen", "frontend"),
    ("runtime.process",),
    ("runtime.memory",),
    ("runtime.hooks",),
    ("runtime.tensor",),
    ("runtime.execution",),
    ("runtime.cells",),
    ("runtime.gradients",),
    ("runtime.checkpoints",),
    ("runtime.graphs",),
    ("runtime.inspection",),
    ("communication",),
    ("ops", "amp", "common", "context", "dtype", "mindrecord", "profiler", "watch"),
    ("nn", "numpy", "dataset", "explorer", "testing"),
    ("experimental", "mint", "parallel", "scipy", "transformations"),
    ("train", "export"),
    ("compat",),
    ("cli",),
)
"""From the lowest to the highest; those in one line may import from each other, if they are not `APART`."""
LEVEL = {place: level for level, places in enumerate(ORDER) for place in places}
APART = {"passes", "codegen", "frontend", "dataset"}
"""They import neither from others in their line nor are they imported there."""
PUBLIC = {"adjoint", "adjoint.__main__"}
"""Modules that may import anything: the public names, and `python -m adjoint`."""

GATES = {
    ("runtime.memory.machine", "codegen"): "the C compiler's side, with the first tensor",
    ("runtime.memory.op_plans", "codegen"): "the emitter of C, with the first op that has no plan",
    ("runtime.gradients.adjoints", "runtime.gradients.assembly"): "autodiff, with the first gradient",
    ("runtime.gradients.tape", "runtime.gradients.packing"): "autodiff, with the first tensor that is packed",
    ("runtime.execution.text", "passes"): "the expansion of gradients and of sizes, with the first text that has them",
    ("runtime.execution.tiers", "passes"): "fusing, with the first graph or gradient that ran several times",
    ("runtime.execution.fusible_calls", "passes"): "optimising, with the first function of the library that is called often",
    ("runtime.execution.tiers", "codegen"): "the emitter of C, with the first fused kernel",
    ("runtime.graphs.jit", "runtime.graphs.calls.making"): "the frontend, with the first function that is parsed",
    ("runtime.graphs.graph", "ir.html"): "a graph as HTML, when a notebook shows it",
    ("runtime.graphs.jit", "ir.html"): "the graphs of a function as HTML, when a notebook shows it",
    ("runtime.graphs.starting", "runtime.graphs.jit"): "what runs graphs, with the first Cell or function that runs as one in graph mode",
    ("runtime.inspection.starting", "runtime.inspection.saved_graphs"): "passes and the emitter, with the first graph that is saved",
    ("runtime.inspection.starting", "runtime.inspection.finite"): "what judges results, with the first that is not finite",
    ("ops.primitives.custom", "ops.foreign_code"): "C of the user's own, with the first call of an `ops.Custom` in C",
    ("communication.management", "communication.connection"): "MPI, where a launcher has started several processes",
}
"""(module, the place or module that its functions import): what is loaded there."""

CIRCLES = [{"adjoint.ir.build", "adjoint.ir.core", "adjoint.ir.op", "adjoint.ir.registry"}]
"""An op is checked and built by what knows ops: the only modules that import each other."""

WAITING: tuple[str, ...] = ()
"""Arrows that still run the wrong way, `module -> module`: to be cut, never added to."""

LAZY = {"lark", "rich", "hypothesis", "matplotlib", "sklearn", "PIL", "mpi4py", "safetensors", "tensorboardX"}
"""Libraries that `import adjoint` must not load."""
LATER = {"explorer", "numpy", "mint", "experimental", "scipy", "mindrecord", "dataset", "testing", "train", "compat", "cli"}
"""Packages of ours that `import adjoint` must not load."""


class Import(NamedTuple):
    """One import of a module of this package in another."""

    line: int
    source: str
    target: str
    in_function: bool


@cache
def modules() -> dict[str, Path]:
    """Return every module of this package by its name."""
    found: dict[str, Path] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        *parents, last = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parents if last == "__init__" else (*parents, last))] = path
    return found


def place_of(module: str) -> str:
    """Return the place of a module: `ops` for adjoint.ops.shapes, `runtime.tensor` for adjoint.runtime.tensor.indexing."""
    parts = module.split(".")[1:]
    return ".".join(parts[: 2 if parts[:1] == ["runtime"] else 1])


@cache
def imports(module: str) -> list[Import]:
    """Return what a module imports from others of this package, with lines."""
    return list(_imports(module, ast.parse(modules()[module].read_text(encoding="utf-8")), in_function=False))


def _imports(module: str, tree: ast.AST, in_function: bool) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom(module=source, level=level):
                assert level == 0, f"{module}, line {node.lineno}: imports are absolute"
                names = [f"{source}.{alias.name}" for alias in node.names]
            case _:
                yield from _imports(module, node, in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
                continue
        for name in names:
            if name.partition(".")[0] == "adjoint":
                target = _module_of(name)
                if target != module:
                    yield Import(node.lineno, module, target, in_function)


def _module_of(name: str) -> str:
    """Return the module that an imported name is, or in which it is defined."""
    while name not in modules():
        name = name.rpartition(".")[0]
    return name


def wrong_arrow(found: Import) -> str:
    """Return what is wrong with an import; empty if nothing is."""
    here, there = place_of(found.source), place_of(found.target)
    if here not in LEVEL:
        return f"{here} has no place in ORDER"
    if found.target == "adjoint":
        return "" if LEVEL[here] >= LEVEL["compat"] else f"{here} imports the public names, which stand above it"
    if there not in LEVEL:
        return f"{found.target} has no place in ORDER"
    if LEVEL[there] > LEVEL[here]:
        return f"{here} imports {found.target}, which stands above it"
    if LEVEL[there] == LEVEL[here] and there != here and {here, there} & APART:
        return f"{here} imports {found.target}, from which it stands apart"
    if found.in_function and gate_of(found) is None:
        return f"a function imports {found.target}: import it at the top"
    return ""


def gate_of(found: Import) -> tuple[str, str] | None:
    """Return the gate that an import within a function goes through."""
    source, target = (module.removeprefix("adjoint.") for module in (found.source, found.target))
    gates = (source, target), (source, place_of(found.target))
    return next((gate for gate in gates if gate in GATES), None)


def test_imports_run_one_way() -> None:
    wrong = [f"{modules()[module]}:{found.line}: {why}" for module in modules() if module not in PUBLIC for found in imports(module)
             if (why := wrong_arrow(found)) and f"{found.source} -> {found.target}" not in WAITING]
    assert not wrong, "\n".join(wrong)


def test_what_waits_to_be_cut_is_still_there() -> None:
    wrong = {f"{found.source} -> {found.target}" for module in modules() if module not in PUBLIC
             for found in imports(module) if wrong_arrow(found)}
    assert set(WAITING) <= wrong, "cut already: take it from WAITING"


def test_every_gate_is_used() -> None:
    used = {gate_of(found) for module in modules() for found in imports(module) if found.in_function}
    assert set(GATES) <= used


def test_no_modules_import_each_other_in_a_circle() -> None:
    arrows = {module: {found.target for found in imports(module)} for module in modules()}
    assert circles(arrows) == CIRCLES


def circles(arrows: dict[str, set[str]]) -> list[set[str]]:
    """Return the largest sets of nodes in which each node is reached from every other along the arrows."""
    reached: dict[str, set[str]] = {}
    for start in arrows:
        seen, left = set[str](), list(arrows[start])
        while left:
            at = left.pop()
            if at not in seen:
                seen.add(at)
                left += arrows.get(at, ())
        reached[start] = seen
    found: list[set[str]] = []
    for node in sorted(arrows):
        if node in reached[node] and not any(node in circle for circle in found):
            found.append({other for other in reached[node] if node in reached.get(other, ())})
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"f"}}) == [{"a", "b", "c"}, {"f"}]


@pytest.mark.parametrize(("arrow", "why"), [
    (Import(1, "adjoint.runtime.hooks.firing", "adjoint.runtime.tensor.tensor", False), "which stands above it"),
    (Import(1, "adjoint.ir.core", "adjoint.runtime.process.context", False), "which stands above it"),
    (Import(1, "adjoint.passes.dce", "adjoint.frontend.text", False), "from which it stands apart"),
    (Import(1, "adjoint.nn.linear", "adjoint.dataset.nodes", False), "from which it stands apart"),
    (Import(1, "adjoint.ops.shapes", "adjoint", False), "public names"),
    (Import(1, "adjoint.somewhere.else", "adjoint.ir.core", False), "no place"),
    (Import(1, "adjoint.runtime.cells.cell", "adjoint.runtime.tensor.tensor", True), "at the top"),
    (Import(1, "adjoint.runtime.memory.op_plans", "adjoint.codegen.emit", True), ""),
    (Import(1, "adjoint.runtime.graphs.jit", "adjoint.runtime.cells.cell", False), ""),
])
def test_a_wrong_import_is_reported(arrow: Import, why: str) -> None:
    told = wrong_arrow(arrow)
    assert why in told and bool(told) == bool(why)


def test_imports_for_types_and_within_functions_are_seen() -> None:
    tree = ast.parse("if TYPE_CHECKING:\n    from adjoint.ir.core import Node\ndef f():\n    import adjoint.nn.linear\n")
    assert list(_imports("adjoint.amp", tree, False)) == [
        Import(2, "adjoint.amp", "adjoint.ir.core", False), Import(4, "adjoint.amp", "adjoint.nn.linear", True)]


def test_import_is_light() -> None:
    # Modules that commands alone need are loaded when a command needs them.
    code = "import sys, adjoint; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent, timeout=120)
    assert not (LAZY | {f"adjoint.{package}" for package in LATER}) & set(done.stdout.split())


def test_an_ignored_complaint_has_a_name_and_a_reason() -> None:
    wrong = [f"{path}:{number}: {line.strip()}" for path in modules().values()
             for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
             if re.search(r"# (type|pyright): ignore", line) and not re.search(r"# pyright: ignore\[report\w+\] - \w", line)]
    assert not wrong, "\n".join(wrong)
