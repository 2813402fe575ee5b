"""The function or Cell that a command is given as FILE.py:NAME, and example inputs of the types in `--args`."""

from __future__ import annotations

import ast
import contextlib
import inspect
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adjoint import compat
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.parse import parse_types
from adjoint.ir.types import BF16, BOOL, TensorType
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["Raised", "Wrong", "all_named", "check_count", "check_name", "example", "inputs_of", "named", "place_of", "raising"]


class Wrong(Exception):
    """The request cannot be fulfilled; the message says why and what would work."""


class Raised(Exception):
    """Python raised while the program was parsed or traced; holds its traceback as text."""


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Turn any exception but our diagnostics into `Raised`."""
    try:
        yield
    except (CompileError, Wrong):
        raise
    except Exception as raised:
        raise Raised("".join(traceback.format_exception_only(raised)).rstrip()) from raised


def place_of(target: str, form: str = "FILE.py:NAME") -> tuple[str, str]:
    """Split a target such as FILE.py:NAME into its file and its name, which is "" where only a file is given.

    Wrong if the file does not exist; the message shows `form`, what the command takes.
    """
    path, _, name = target.rpartition(":") if ":" in Path(target).name else (target, "", "")
    if not Path(path).is_file():
        raise Wrong(f"there is no file {path!r}; the form is {form}")
    return path, name


def check_name(path: str, name: str) -> None:
    """Raise Wrong if a target names nothing in its file."""
    if not name:
        raise Wrong(f"which function or Cell of {path}? The form is {path}:NAME")


def named(path: str, name: str) -> Any:
    """Return the object called `name` in a Python file; a Cell class is instantiated."""
    return all_named(path, [name])[0]


def all_named(path: str, names: Sequence[str]) -> list[Any]:
    """Return several objects of a Python file, which is run once; a Cell class is instantiated."""
    compat.install()
    sys.path.insert(0, str(Path(path).resolve().parent))
    space = _loaded(path)
    return [_found(path, name, space) for name in names]


def _found(path: str, name: str, space: dict[str, Any]) -> Any:
    found: Any = space
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else getattr(found, part, None)
        if found is None:
            public = [k for k, v in space.items() if not k.startswith("_") and callable(v)]
            raise Wrong(f"{path} has no {name!r}; it has {', '.join(public) or 'neither functions nor Cells'}")
    if inspect.isclass(found) and issubclass(found, Cell):
        try:
            inspect.signature(found).bind()
        except TypeError as needs:
            raise Wrong(f"the Cell {name} cannot be made without arguments ({needs}); "
                        "make an instance in the file and name that") from needs
        with _own_frames(path):
            return found()
    if not callable(found):
        raise Wrong(f"{name!r} in {path} is {type(found).__name__}: neither a function nor a Cell")
    return found


def _loaded(path: str) -> dict[str, Any]:
    """Run a Python file and return its globals; what it prints goes to stderr."""
    with contextlib.redirect_stdout(sys.stderr), _own_frames(path):
        try:
            return runpy.run_path(path, run_name="__adjoint__")
        except SystemExit as left:
            raise Raised(f'{path} ended with sys.exit({left.code!r}) while it was loaded; '
                         'what only a script does belongs under `if __name__ == "__main__":`') from left


@contextlib.contextmanager
def _own_frames(path: str) -> Iterator[None]:
    """Turn an exception in a file into `Raised`, with the traceback from that file on."""
    try:
        yield
    except (Raised, Wrong):
        raise
    except Exception as raised:
        raise Raised("".join(traceback.format_exception(compat.own_frames(raised, path))).rstrip()) from raised


def check_count(target: Any, name: str, inputs: list[Any]) -> None:
    function = target.construct if isinstance(target, Cell) else target
    try:
        inspect.signature(function).bind(*inputs)
    except TypeError as wrong:
        raise Wrong(f'{name} cannot be called with {len(inputs)} inputs ({wrong}); give their types: --args "f32[2, 3], i32[2]"') from wrong


def inputs_of(text: str, seed: int, described: bool = False) -> list[Any]:
    """Make example inputs from a comma-separated text of types and Python values.

    described  True: for a type with a name as size, such as f32[b, 64], the input is a description, in which that size is None
    """
    generator = np.random.default_rng(seed)
    inputs: list[Any] = []
    for item in _items(text):
        try:
            inputs.append(ast.literal_eval(item))
        except (ValueError, SyntaxError):
            type_ = _type(item)
            if described and isinstance(type_, TensorType) and not type_.is_static:
                inputs.append(Tensor(shape=[size if isinstance(size, int) else None for size in type_.shape], dtype=type_.dtype))
            else:
                inputs.append(example(type_, generator))
    return inputs


def _type(text: str) -> Any:
    try:
        (type_,) = parse_types(text, "--args")
    except CompileError as mistake:
        raise Wrong(f"--args takes types and Python values, not {text!r}\n{mistake}") from mistake
    return type_


def _items(text: str) -> list[str]:
    """Split a text at the commas outside of brackets."""
    items, depth = [""], 0
    for character in text:
        depth += (character in "[(<{") - (character in "])>}")
        if character == "," and not depth:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items if item.strip()]


def example(type_: Any, generator: np.random.Generator) -> Tensor:
    """Return a tensor of standard normal numbers, zeros for integers, or True for bools."""
    if not isinstance(type_, TensorType) or not type_.is_static:
        raise Wrong(f"an example input needs a tensor type with numbers as dimensions, not {type_}; give them with --args")
    if type_.dtype.is_float:
        values = generator.standard_normal(type_.sizes).astype(np.float32 if type_.dtype is BF16 else type_.dtype.compute.array)
        return Tensor(values, type_.dtype)
    return Tensor(np.full(type_.sizes, type_.dtype is BOOL, type_.dtype.array))
