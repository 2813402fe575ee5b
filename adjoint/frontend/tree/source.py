"""From a function object to its syntax tree, with the right positions in the user's file.

Each text is parsed once.  A function is found in the tree by its code object: by line and name, or for a lambda by the positions of its
body.  The tree must be the one from which the code was compiled: a file that was edited since is an error, never a wrong graph.  The text
comes from where Python keeps it: a file, a cell of a notebook, or the input at a prompt.
"""

from __future__ import annotations

import ast
import linecache
from types import CodeType, FunctionType
from typing import Any

from adjoint.foundation.budget import Table
from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import At, Loc, beginning
from adjoint.foundation.made import count
from adjoint.frontend import errors
from adjoint.frontend.tree.private import class_around, with_private_names
from adjoint.frontend.tree.rewritten import agree, codes_in, is_rewritten

__all__ = ["Definition", "Source", "definition_of"]

Definition = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, eq=False)
class Source:
    """Finds places in the source text of a function, for error messages and notes.

    file   the file name in the code object
    name   the qualified name of the function
    lines  all lines of the file
    """

    file: str
    name: str
    lines: list[str]

    def at(self, node: ast.AST) -> Loc:
        """Return file, line and columns of a node of the syntax tree.  Columns count characters from 1."""
        line, column = node.lineno, node.col_offset  # pyright: ignore[reportAttributeAccessIssue] - only nodes with a place are asked for it
        text = self.lines[line - 1]
        first = _characters(text, column)
        if getattr(node, "end_lineno", None) == line:
            end = _characters(text, node.end_col_offset) + 1  # pyright: ignore[reportAttributeAccessIssue] - as above
        else:
            # for a node of several lines, the place ends with the first line
            end = max(first + 1, len(text.rstrip())) + 1
        return At(self.file, line, first + 1, end)


def _characters(text: str, byte_offset: int) -> int:
    """Convert a column from UTF-8 bytes, which `ast` counts, to characters."""
    return byte_offset if text.isascii() else len(text.encode()[:byte_offset].decode(errors="ignore"))


class _Parsed:
    """Keeps a parsed file as an entry of a cache: its lines, its syntax tree, the functions in the tree, and the code objects that Python
    compiles from it.

    functions  by name and first line; a decorated function begins at its first decorator
    lambdas    by first line
    nbytes     the estimated size in memory
    used       the period of its last use, as a number of the memory budget for all caches
    """

    __slots__ = ("_codes", "file", "functions", "lambdas", "lines", "nbytes", "tree", "used")

    def __init__(self, file: str, lines: list[str]):
        count("files parsed")
        text = "".join(lines)
        self.file, self.lines, self.tree = file, lines, ast.parse(text, file)
        self.functions: dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.lambdas: dict[int, list[ast.Lambda]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Lambda):
                self.lambdas.setdefault(node.lineno, []).append(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions.setdefault((node.name, _first_line(node)), node)
        self._codes: dict[ast.stmt | None, tuple[CodeType, ...]] = {}
        self.nbytes, self.used = _OF_A_CHARACTER * len(text), 0

    def codes_of(self, statement: ast.stmt | None) -> tuple[CodeType, ...]:
        """Return the code objects that Python compiles from one statement of the file, or from the whole file if it is None.

        Those of all functions and classes inside are included.
        """
        codes = self._codes.get(statement)
        if codes is None:
            tree = self.tree if statement is None else ast.Module([statement], [])
            codes = self._codes[statement] = (*codes_in(compile(tree, self.file, "exec", dont_inherit=True)),)
        return codes

    def statement_at(self, line: int) -> ast.stmt | None:
        """Return the top-level statement of the file that contains a line, or None."""
        for statement in self.tree.body:
            first = min(node.lineno for node in (statement, *getattr(statement, "decorator_list", ())))
            if first <= line <= (statement.end_lineno or statement.lineno):
                return statement
        return None


class _Found:
    """An entry of the cache of sources: the syntax tree and the source of one function."""

    __slots__ = ("definition", "nbytes", "source", "used")

    def __init__(self, definition: Definition, source: Source):
        self.definition, self.source, self.nbytes, self.used = definition, source, 1000, 0


_OF_A_CHARACTER = 50
"""Estimated bytes of a syntax tree for each character of the text that it was parsed from."""

_files: Table[str, _Parsed] = Table("parsed files")
_functions: Table[tuple[str, CodeType], _Found] = Table("parsed functions")
"""The cache of parsed functions.  Its key is the file name and the code object, since equal code objects may come from different files."""


def definition_of(function: FunctionType) -> tuple[Definition, Source]:
    """Return the syntax tree of a function, and its source text with the file name.

    CompileError if Python keeps no source text, or if the text has changed since the function was compiled.
    """
    code = function.__code__
    key = (code.co_filename, code)
    known = _functions.find(key)
    if known is None:
        definition, source = _searched(code, function.__qualname__, _text(code, function.__globals__))
        known = _Found(with_private_names(definition, class_around(code.co_qualname)), source)
        _functions.keep(key, known)
    return known.definition, known.source


def _text(code: CodeType, space: dict[str, Any]) -> list[str]:
    """Return the lines of source text of a code object, from the file or wherever Python keeps it; an empty list if there is no text.

    space  the global variables of the function, through which Python may find the text
    """
    file = code.co_filename
    typed = getattr(linecache, "_getlines_from_code", None)  # the prompt of Python 3.13, and `python -c`
    lines = typed(code) if typed is not None else []
    if not lines:
        return linecache.getlines(file, space)
    if file not in _WAYS:
        linecache.cache.setdefault(file, (sum(map(len, lines)), None, lines, file))  # so that tracebacks can show a line of it
    return lines


def _searched(code: CodeType, name: str, lines: list[str]) -> tuple[Definition, Source]:
    file = code.co_filename
    loc = beginning(file, code.co_firstlineno)
    if not "".join(lines).strip():
        raise errors.NO_SOURCE.at(loc, f"Python has no source text of `{name}`", help=_WAYS.get(file, "write the function in a file"))
    parsed = _parsed(file, lines)
    if not _is_of(code, parsed):
        if file in _WAYS:
            raise errors.NO_SOURCE.at(loc, f"Python has no source text of `{name}`, only another text under the same file name, {file}",
                                      help=_WAYS[file])
        raise errors.SOURCE_CHANGED.at(loc, f"the file has changed since `{name}` was loaded from it", help="import the module again")
    source = Source(file, name, lines)
    if code.co_name == "<lambda>":
        lambdas = parsed.lambdas.get(code.co_firstlineno, [])
        around = [node for node in lambdas if _is_around(node.body, code)] or [node for node in lambdas if _gives(node, file, code)]
        if around:
            # the lambdas are nested: take the innermost
            return max(around, key=lambda node: (node.body.lineno, node.body.col_offset)), source
    node = parsed.functions.get((code.co_name, code.co_firstlineno))
    if isinstance(node, ast.AsyncFunctionDef):
        raise errors.UNSUPPORTED.at(source.at(node), "an `async` function is not supported in a graph",
                                    help="write it as an ordinary function")
    if node is not None:
        return node, source
    raise errors.NO_SOURCE.at(loc, f"the definition of `{name}` was not found in its file", help="write it as a `def` in a file")


_WAYS = {
    "<stdin>": "write the function in a file, or type it in a notebook, in IPython or at the prompt of Python 3.13",
    "<string>": "write the function in a file, or put the text into `linecache.cache` under the name passed to `compile`",
}
"""For each file name that many texts share, such as `<stdin>`: the advice for the error message if Python keeps no text."""


def _parsed(file: str, lines: list[str]) -> _Parsed:
    known = _files.find(file)
    if known is None or known.lines is not lines:
        known = _Parsed(file, lines)
        _files.keep(file, known)
    return known


def _is_of(code: CodeType, parsed: _Parsed) -> bool:
    """Return True if a code object was compiled from the text of a file, as a whole or as a single statement; also if a tool has rewritten
    its asserts.

    The statement is tried first, since it is faster to compile.  Both are needed: the code of a call depends on whether its name was
    imported in the same text, and the parts of a document are run one by one.
    """
    statement = parsed.statement_at(code.co_firstlineno)
    if statement is not None and any(_are_one(other, code) for other in parsed.codes_of(statement)):
        return True
    codes = parsed.codes_of(None)
    if any(_are_one(other, code) for other in codes):
        return True
    return is_rewritten(code) and any(agree(other, code, parsed.tree) for other in codes)


def _are_one(a: CodeType, b: CodeType) -> bool:
    """Return True if two code objects were compiled from the same text, possibly under different `from __future__` imports."""
    if a.co_name != b.co_name or a.co_firstlineno != b.co_firstlineno:
        return False
    if a.co_code != b.co_code or a.co_names != b.co_names or a.co_varnames != b.co_varnames or a.co_freevars != b.co_freevars:
        return False
    return list(a.co_positions()) == list(b.co_positions()) and len(a.co_consts) == len(b.co_consts) and all(
        _are_one(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType)
        else x == y if isinstance(x, frozenset) else type(x) is type(y) and repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True))


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _is_around(body: ast.expr, code: CodeType) -> bool:
    """Return True if all instructions of a lambda's code are inside of the expression `body`, so that it is the body of this lambda."""
    start, end = (body.lineno, body.col_offset), _end(body)
    places = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and (a, c) != (b, d)]
    return bool(places) and all(start <= (a, c) and (b, d) <= end for a, c, b, d in places)


def _gives(node: ast.Lambda, file: str, code: CodeType) -> bool:
    """Return True if a code object is that of the lambda `node`.  To find out, the lambda is compiled.

    file  the file name for the compiled code

    This is needed for a lambda whose body is a constant, since Python 3.12 gives its code no position.
    """
    compiled = compile(ast.Expression(node), file, "eval", dont_inherit=True)
    return any(_are_one(inner, code) for inner in compiled.co_consts if isinstance(inner, CodeType))


def _end(body: ast.expr) -> tuple[int, int]:
    return body.end_lineno or 0, body.end_col_offset or 0
