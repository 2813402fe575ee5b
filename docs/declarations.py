"""Writes `adjoint/codegen/declarations.py`, what cffi makes of the declarations of the run-time library: `make docs`.

Parsing them in each process would take as long as a tenth of a small program.
"""

from __future__ import annotations

import ast
import contextlib
import tempfile
from pathlib import Path
from textwrap import indent

from cffi import FFI

from adjoint.codegen.workshop import runtime_interface

MODULE = "adjoint.codegen.declarations"

SYSTEM = "void *dlopen(const char *, int); void *dlsym(void *, const char *); char *dlerror(void);"
"""What loading needs of the system's own library."""

HEAD = '''\
"""Declarations of the run-time library and of dlopen, in the form of cffi that needs no parser.

Written by `make docs` from `c/runtime/interface.h`, and compared with it by a test.
"""

from __future__ import annotations

from typing import Any

import _cffi_backend

__all__ = ["ffi"]

'''

WIDTH = 100
"""Characters of a value on one line."""
PART = 24
"""Bytes on a line, in hexadecimal."""


def page() -> str:
    """Return the text of the module."""
    declared = FFI()
    declared.set_source(MODULE, None)
    declared.cdef(runtime_interface() + SYSTEM)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "declarations.py")
        with contextlib.redirect_stdout(None):
            declared.emit_python_code(str(file))
        tree = ast.parse(file.read_text(encoding="utf-8"))
    call = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    assert isinstance(call, ast.Call)
    arguments = [repr(MODULE), *(f"{each.arg}={_shown(ast.literal_eval(each.value))}" for each in call.keywords)]
    return f"{HEAD}ffi: Any = _cffi_backend.FFI({_lines(arguments, ',')})\n"


def _shown(value: object) -> str:
    """Return a value as Python, on lines of moderate length."""
    if isinstance(value, tuple):
        return f"({_lines([_shown(each) for each in value], ',')})"
    if isinstance(value, bytes) and len(repr(value)) > WIDTH:
        return f"({_lines([repr(value[i : i + PART]) for i in range(0, len(value), PART)])})"
    return repr(value)


def _lines(texts: list[str], end: str = "") -> str:
    """Return texts on lines of their own, between brackets."""
    return "\n" + "".join(indent(f"{text}{end}\n", "    ") for text in texts)
