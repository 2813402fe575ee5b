"""One name, one idea: no class or type of the core has the name of another that is something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from test_layers import PACKAGE

CORE = ("ir", "passes", "codegen", "frontend", "runtime")

IN_C = "the construct of C, among the nodes of the syntax tree of C (`ir/kernel/c_ast.py`), and the one of the IR or of a plan"
MINDSPORE = "the name that MindSpore gives to something else"

SHARED = {
    "Binary": IN_C,
    "Call": IN_C,
    "For": IN_C,
    "If": IN_C,
    "Unary": IN_C,
    "While": IN_C,
    "Block": f"{IN_C}, and the same block of a plan once it is bound to memory",
    "Function": f"{IN_C}; {MINDSPORE}: `_Function`",
    "Cell": "the user's Cell, and the node of the IR that a call of it becomes",
    "Identity": f"the op; {MINDSPORE}: an initializer",
    "Array": "any NumPy array; precise typing of its dtype is wanted in some modules only",
    "TensorType": f"the type in the IR; {MINDSPORE}: `TensorType`, of the kinds of values",
}
"""Names that several definitions share, and why they may."""


def definitions(source: str) -> Iterator[tuple[str, str]]:
    """Yield the public classes and type aliases of a module, by name, each with a text that is equal for equal ones."""
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name):
                yield name, ast.dump(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name[0].isupper() and not name.isupper():
                yield name, ast.dump(value)
            case _:
                pass


def shared(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the public names with several definitions that differ, each with the modules that define it."""
    found: dict[str, dict[str, list[str]]] = {}
    for module, source in sources.items():
        for name, text in definitions(source):
            if not name.startswith("_"):
                found.setdefault(name, {}).setdefault(text, []).append(module)
    return {name: [module for modules in texts.values() for module in modules] for name, texts in found.items() if len(texts) > 1}


def test_no_name_has_two_meanings() -> None:
    paths = [path for package in CORE for path in sorted((PACKAGE / package).rglob("*.py"))]
    found = shared({str(Path(path).relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in paths})
    wrong = [f"{name}: {', '.join(modules)}" for name, modules in sorted(found.items()) if name not in SHARED]
    assert not wrong, "\n".join(wrong)
    assert set(SHARED) <= set(found), "no longer shared: remove it from SHARED"


def test_names_with_two_meanings_are_found() -> None:
    one, other = "class Plan:\n    slots: int\n", "class Plan:\n    run: int\nclass _Own: ...\n"
    assert shared({"a": one, "b": other}) == {"Plan": ["a", "b"]}
    assert shared({"a": "Pair = tuple[int, int]\nLANES = 4\n", "b": "Pair = tuple[int, int]\nLANES = 8\nclass _Own:\n    x = 1\n"}) == {}
    assert shared({"a": "Step = int\n", "b": "class Step: ...\n"}) == {"Step": ["a", "b"]}
