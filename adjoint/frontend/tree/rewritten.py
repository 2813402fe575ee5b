"""Code objects whose `assert` statements a tool has rewritten, as pytest does in tests, `conftest.py` and its plugins.

Such a code object differs from the compiled text of its file.  It still belongs to the function in the file if both agree outside of
`assert` statements.  The text of these is then taken from the file.
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
    """Yield a code object, and the code objects of the functions and classes inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def is_rewritten(code: CodeType) -> bool:
    """Return True if a tool such as pytest has rewritten a code object: it has names that no source text can have, which begin with `@`."""
    return any(name.startswith("@") for inner in codes_in(code) for name in (*inner.co_names, *inner.co_varnames))


def agree(file: CodeType, code: CodeType, tree: ast.Module) -> bool:
    """Return True if two code objects are the same outside of `assert` statements, so that they come from one text.

    file  the code compiled from the file's text
    code  the code that runs
    tree  the syntax tree of the file
    """
    asserts = [((node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0))
               for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    return _agree(file, code, asserts)


def _agree(file: CodeType, code: CodeType, asserts: list[_Range]) -> bool:
    if _head(file) != _head(code) or _instructions(file, asserts) != _instructions(code, asserts):
        return False
    inside = [x for x in file.co_consts if isinstance(x, CodeType)], [x for x in code.co_consts if isinstance(x, CodeType)]
    return len(inside[0]) == len(inside[1]) and all(_agree(x, y, asserts) for x, y in zip(*inside, strict=True))


def _head(code: CodeType) -> tuple[Any, ...]:
    """Return what identifies the function of a code object: its name, first line, parameters and closure variables."""
    count = code.co_argcount + code.co_kwonlyargcount
    return (code.co_qualname, code.co_firstlineno, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
            code.co_varnames[:count], code.co_freevars)


def _instructions(code: CodeType, asserts: list[_Range]) -> set[tuple[Any, ...]]:
    """Return the instructions of a code object with their positions.

    Those inside of `assert` statements are left out, and also jumps and other instructions that depend on the layout of the code.

    asserts  the positions of the `assert` statements, as (begin, end)
    """
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
        # the compiler chooses between two instructions that load a local name by what it knows of the name's value
        found.add((tuple(place), instruction.opname.removesuffix("_CHECK"), of_it))
    return found
