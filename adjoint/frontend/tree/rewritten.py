"""Codes whose `assert` statements a tool has rewritten: pytest does it to tests, `conftest.py` and its plugins.

Such a code is not what the file's text compiles to.  It is the file's own function all the same when the two agree in everything that
stands outside of `assert` statements, whose text is then taken from the file.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any

__all__ = ["agree", "codes_in", "is_rewritten"]

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_OF_THE_LAYOUT = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "RESUME"})

_Range = tuple[tuple[int, int], tuple[int, int]]


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Return a code, and those of the functions and classes inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def is_rewritten(code: CodeType) -> bool:
    """Return whether a code has names that no text can have: pytest names parts of assertions with a leading `@`."""
    return any(name.startswith("@") for inner in codes_in(code) for name in (*inner.co_names, *inner.co_varnames))


def agree(file: CodeType, code: CodeType, tree: ast.Module) -> bool:
    """Return whether the code compiled from a file and the code that runs agree outside of the `assert` statements of the tree."""
    asserts = [((node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0))
               for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return _agree(file, code, asserts)


def _agree(file: CodeType, code: CodeType, asserts: list[_Range]) -> bool:
    if _head(file) != _head(code) or _instructions(file, asserts) != _instructions(code, asserts):
        return False
    inside = [x for x in file.co_consts if isinstance(x, CodeType)], [x for x in code.co_consts if isinstance(x, CodeType)]
    return len(inside[0]) == len(inside[1]) and all(_agree(x, y, asserts) for x, y in zip(*inside, strict=True))


def _head(code: CodeType) -> tuple[Any, ...]:
    """Return the name, the place and the parameters of a code."""
    count = code.co_argcount + code.co_kwonlyargcount
    return (code.co_qualname, code.co_firstlineno, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
            code.co_varnames[:count], code.co_freevars)


def _instructions(code: CodeType, asserts: list[_Range]) -> set[tuple[Any, ...]]:
    """Return the instructions outside of asserts with their places; layout and jump targets are left out."""
    found: set[tuple[Any, ...]] = set()
    for instruction in dis.get_instructions(code):
        place = instruction.positions
        if instruction.opcode in _JUMPS or instruction.opname in _OF_THE_LAYOUT or place is None or place.lineno is None:
            continue
        begin = place.lineno, place.col_offset or 0
        if any(first <= begin <= last for first, last in asserts):
            continue
        value = instruction.argval
        of_it = value.co_name if isinstance(value, CodeType) else value if isinstance(value, frozenset) else repr(value)
        # Which of two instructions loads a local name depends on what the compiler knows of it.
        found.add((tuple(place), instruction.opname.removesuffix("_CHECK"), of_it))
    return found
