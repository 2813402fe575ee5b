"""C and C++ of the user's own, for `ops.Custom(..., func_type="aot")`: compiled into the cache, loaded, and called on arrays.

    int add(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra)

The key of a library is its text after the preprocessor, so that a changed header compiles it again, with the compiler and its flags.
The function is declared in front of the source: a definition with other parameters is an error of the compiler.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Final

import numpy as np

from adjoint.codegen.cache import size_limit
from adjoint.codegen.compiler_process import CompilerError, run
from adjoint.codegen.declarations import ffi
from adjoint.codegen.loading import TABLE, LoadError, find, open_file, open_in_memory, table_text
from adjoint.codegen.toolchain import FLAGS, LIMIT, NoCompiler, Toolchain
from adjoint.codegen.workshop import open_workshop
from adjoint.foundation.locking import Lock
from adjoint.ir.ops.elementwise import Array
from adjoint.ir.types import TensorType

__all__ = ["foreign_function"]

C: Final = (".c",)
CPP: Final = (".cc", ".cpp", ".cxx", ".c++", ".C")
LIBRARIES: Final = (".so", ".dylib")

PARAMETERS: Final = "int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra"
_TYPE: Final = "int (*)(int, void **, int *, int64_t **, char **, void *, void *)"

_loaded: dict[str, tuple[bytes, Any]] = {}
"""For the path of each loaded library of the user's: a digest of its content, and its handle."""
_lock = Lock()


def foreign_function(path: str, name: str) -> Callable[..., tuple[Array, ...]]:
    """Return a function that calls the function `name` of a file in C, C++ or of a shared library on arrays.

    RuntimeError if the file or the function is missing, the compiler refuses it, or a call returns another number than 0.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise RuntimeError(f"For 'Custom', the name of a function of C must follow the colon in 'func', but got {name!r}.")
    if not os.path.isfile(path):
        raise RuntimeError(f"For 'Custom', there is no file {path}.")
    ending = os.path.splitext(path)[1]
    if ending in LIBRARIES:
        address = _of_library(path, name)
    elif ending in C or ending in CPP:
        address = _of_source(os.path.abspath(path), name, ending in CPP)
    else:
        raise RuntimeError(f"For 'Custom', the file in 'func' must be a source ({', '.join((*C, *CPP))}) or a library "
                           f"({', '.join(LIBRARIES)}), but got {path}.")
    return _calling(ffi.cast(_TYPE, address), f"the function '{name}' of {path}")


# -- libraries -------------------------------------------------------------------------------------------------------------
def _of_library(path: str, name: str) -> Any:
    whole = os.path.abspath(path)
    with open(whole, "rb") as file:
        content = file.read()
    digest = sha256(content).digest()
    with _lock:
        known = _loaded.get(whole)
        try:
            if known is None:
                known = digest, open_file(whole)
            elif known[0] != digest:  # the loader knows the path, and would give the library that was there before
                known = digest, open_in_memory(os.path.basename(whole), content)
        except LoadError as problem:
            raise RuntimeError(f"For 'Custom', the library {path} cannot be loaded: {problem}") from None
        _loaded[whole] = known
    return _found(known[1], path, name)


def _found(handle: Any, path: str, name: str) -> Any:
    address = find(handle, name)
    if address is None:
        raise RuntimeError(f"For 'Custom', {path} has no function '{name}': define `int {name}({PARAMETERS})`, in C++ behind "
                           '`extern "C"`.')
    if find(handle, f"{name}Init") is not None:
        raise RuntimeError(f"For 'Custom', {path} has a function '{name}Init', for attributes of C++ classes, which are not called: "
                           "keep what it does in the function itself.")
    return address


# -- sources ---------------------------------------------------------------------------------------------------------------
def _of_source(path: str, name: str, is_cpp: bool) -> Any:
    try:
        workshop = open_workshop()
    except NoCompiler as reason:
        raise RuntimeError(f"For 'Custom', {path} cannot be compiled: {reason}") from None
    command = _command(workshop.toolchain, is_cpp)
    opening, closing = ('extern "C" {\n', "}\n") if is_cpp else ("", "")
    declaration = f"#include <stdint.h>\n{opening}int {name}({PARAMETERS});\nextern const char {TABLE}[];\n{closing}"
    flags = [*FLAGS[1:], *workshop.toolchain.machine, "-std=c++17" if is_cpp else "-std=c11", "-D_DEFAULT_SOURCE", "-w",
             "-I", os.path.dirname(path), "-include", "declaration.h"]
    store, folder = workshop.store, workshop.store.folder
    try:
        with store.scratch.new_folder() as work:
            folder.create(f"{work}/declaration.h", declaration.encode())
            at = folder.place(work)
            language = "c++" if is_cpp else "c"
            run([*command, *flags, "-E", "-o", "text", "-x", language, path], at, LIMIT)
            text = folder.read(f"{work}/text") or b""
            key = workshop.key(text.decode("utf-8", "replace"), extra=(*command, *flags))
            if workshop.library(key) is None:
                unit = f"custom-{key[:16]}"
                folder.create(f"{work}/table", table_text([(key, (name,))]).encode())
                run([*command, *flags, "-o", "made.so", "-x", language, path, "table", "-x", "none", "-lm"], at, LIMIT)
                store.add_entry(key, store.add_library(unit, f"{work}/made.so"))
                store.tidy(size_limit())
    except CompilerError as problem:
        conflict = f" Its signature must be `int {name}({PARAMETERS})`." if re.search(rf"conflicting .*\b{name}\b", problem.output) else ""
        raise RuntimeError(f"For 'Custom', the compiler refuses {path}.{conflict}\n{_first_lines(problem.output)}") from None
    library = workshop.library(key)
    if library is None:
        raise RuntimeError(f"For 'Custom', the library made of {path} cannot be loaded: does it call a function that no library here has?")
    return _found(library.handle, path, name)


def _command(toolchain: Toolchain, is_cpp: bool) -> tuple[str, ...]:
    """Return the command of the compiler; for C++ the one that belongs to that of C, or the environment variable CXX."""
    if not is_cpp:
        return toolchain.command
    *before, program = [word for word in toolchain.command if not word.startswith("-")]
    if program == "cc" and before:  # `zig cc`
        return tuple("c++" if word == "cc" else word for word in toolchain.command)
    folder, base = os.path.split(program)
    names = {"clang": "clang++", "gcc": "g++", "cc": "c++"}
    other = re.sub(r"(?<![a-z])(clang|gcc|cc)(?![a-z])", lambda found: names[found[1]], base, count=1)
    for candidate in (os.environ.get("CXX", "").strip(), os.path.join(folder, other), "c++", "g++", "clang++"):
        if candidate and candidate != program and (found := shutil.which(candidate)):
            return (*before, found)
    raise RuntimeError(f"For 'Custom', there is no compiler of C++ beside {' '.join(toolchain.command)}: name one in the environment "
                       "variable CXX, or write the function in C.")


def _first_lines(output: str) -> str:
    """Return what a compiler says of its first error, with the line of the source."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if "error:" in line), 0)
    return "\n".join(lines[first : first + 6])


# -- calls -----------------------------------------------------------------------------------------------------------------
def _calling(function: Any, title: str) -> Callable[..., tuple[Array, ...]]:
    def call(operands: Sequence[Array], given: Sequence[TensorType], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """Call the function on arrays as tensors are stored, and return its results.

        given, types  the types of the operands and of the results
        """
        results = tuple([np.zeros(type_.sizes, type_.dtype.array) for type_ in types])
        arrays = [*operands, *results]
        params = ffi.new("void *[]", [ffi.cast("void *", array.ctypes.data) for array in arrays])
        ndims = ffi.new("int[]", [array.ndim for array in arrays])
        shapes = [ffi.new("int64_t[]", array.shape or (0,)) for array in arrays]
        names = [ffi.new("char[]", type_.dtype.long_name.lower().encode()) for type_ in (*given, *types)]
        status = function(len(arrays), params, ndims, ffi.new("int64_t *[]", shapes), ffi.new("char *[]", names), ffi.NULL, ffi.NULL)
        if status:
            raise RuntimeError(f"For 'Custom', {title} returned {status}: 0 means that all is well, another number that it has failed.")
        return results

    return call
