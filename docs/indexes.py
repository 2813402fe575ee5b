"""Writes the indexes of names by the modules that define them, so that a module is loaded when a name of it is used: `make docs`."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    # `adjoint` itself needs the index of the ops, so that it is made from `adjoint.ir` alone.
    sys.modules["adjoint"] = package = ModuleType("adjoint")
    package.__path__ = [str(Path(__file__).resolve().parent.parent / "adjoint")]

import adjoint.ir.ops
from adjoint.foundation import lazy
from adjoint.ir.op import Op, registry

HEAD = '"""Written by `make docs` from {source}, and compared with them by a test."""\n'
ROOT = Path(__file__).resolve().parent.parent


def ops_index() -> str:
    """Return the text of ir/ops/index.py."""
    modules: dict[str, list[str]] = {}
    packs: dict[str, list[str]] = {}
    functions: dict[str, str] = {}
    primitives: dict[str, str] = {}
    methods: dict[str, str] = {}
    for kind in _ops():
        modules.setdefault(kind.__module__.rpartition(".")[2], []).append(kind.name)
        if kind.pack:
            packs.setdefault(kind.pack, []).append(kind.name)
        for public in kind.publics():
            functions |= dict.fromkeys(public.function_names, kind.name)
            primitives |= dict.fromkeys(public.primitive_names(kind), kind.name)
            methods |= dict.fromkeys(public.method_names, kind.name)
    return HEAD.format(source="the classes of the ops") + "".join([
        _table("OPS", modules, "For each module the names of its ops."),
        _table("PACKS", packs, "For each pack (kernels that are compiled together) the names of its ops."),
        _pairs("FUNCTIONS", functions, "For each function in `ops` that `public` of an op describes, the name of the op."),
        _pairs("PRIMITIVES", primitives, "For each such Primitive the name of the op."),
        _pairs("METHODS", methods, "For each such method of Tensor the name of the op."),
    ])


def functions_index() -> str:
    """Return the text of ops/index.py."""
    functions = [name for kind in _ops() for public in kind.publics() for name in public.function_names]
    primitives = [name for kind in _ops() for public in kind.publics() for name in public.primitive_names(kind)]
    return HEAD.format(source="`__all__` of the modules and the classes of the ops") + "".join([
        _table("FUNCTIONS", _exported("adjoint.ops.functional") | {"generated": functions},
               "For each module the functions that it defines."),
        _table("PRIMITIVES", _exported("adjoint.ops.primitives") | {"generated": primitives},
               "For each module in `primitives` the classes that it defines."),
        _table("COLLECTIVES", _exported("adjoint.ops.operations", "adjoint.ops.primitives"), "The collective operators, by their module."),
        _table("COMPOSITE", {"composite": _names("adjoint.ops.composite")}, "The operators on functions, by their module."),
    ])


def layers_index() -> str:
    """Return the text of nn/index.py."""
    return HEAD.format(source="`__all__` of the modules") + _table(
        "LAYERS", _exported("adjoint.nn", "adjoint.nn.optim"), "For each module the names that it defines.") + _table(
        "OPTIMIZERS", _exported("adjoint.nn.optim"), "For each module in `optim` the names that it defines.")


def _ops() -> list[type[Op]]:
    """Return the classes of this package's ops, by their modules."""
    for module in pkgutil.iter_modules(adjoint.ir.ops.__path__):
        lazy.module(f"adjoint.ir.ops.{module.name}")
    kinds = [kind for kind in registry().defined() if kind.__module__.startswith("adjoint.ir.ops.")]
    return sorted(kinds, key=lambda kind: kind.__module__)


def _exported(package: str, *without: str) -> dict[str, list[str]]:
    """Return the names in the modules whose names a module imports for type checkers, by these modules.

    without  modules that are left out
    """
    path = ROOT.joinpath(*package.split("."))
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    modules = [node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    return {module.rpartition(".")[2]: _names(module) for module in modules if module not in without and not module.endswith(".generated")}


def _names(module: str) -> list[str]:
    return [*importlib.import_module(module).__all__]


def _table(name: str, rows: Mapping[str, list[str]], what: str) -> str:
    lines = [f"\n{name} = {{"]
    for key, names in rows.items():
        *before, last = textwrap.wrap(" ".join(names), 124) or [""]
        lines += [f'    "{key}":', *(f'        "{line} "' for line in before), f'        "{last}",']
    return "\n".join([*lines, "}", f'"""{what}"""', ""])


def _pairs(name: str, pairs: Mapping[str, str], what: str) -> str:
    text = ", ".join(f'"{key}": "{value}"' for key, value in pairs.items())
    return "\n".join([f"\n{name} = {{", *(f"    {line}" for line in textwrap.wrap(text, 136)), "}", f'"""{what}"""', ""])


PAGES = {"../adjoint/ir/ops/index.py": ops_index, "../adjoint/ops/index.py": functions_index, "../adjoint/nn/index.py": layers_index}

if __name__ == "__main__":
    FIRST, *OTHERS = PAGES
    Path(__file__).parent.joinpath(FIRST).write_text(ops_index(), encoding="utf-8")
    for page in OTHERS:
        write = f"import indexes; indexes.Path(indexes.__file__).parent.joinpath({page!r}).write_text(indexes.PAGES[{page!r}](), 'utf-8')"
        subprocess.run([sys.executable, "-c", write], check=True, cwd=Path(__file__).parent)
