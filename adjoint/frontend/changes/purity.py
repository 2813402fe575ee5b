"""Functions of Python and NumPy that may be called while a graph is made, because their result depends on their arguments only."""

from __future__ import annotations

import functools
import os
import sys
import types
from pathlib import Path
from typing import Any

__all__ = ["MODULES", "changes_arguments", "depends_on_arguments_alone", "is_in_c", "is_installed", "is_installed_class",
           "is_installed_module", "is_of_pure_module", "is_standard", "looks_at_functions", "uses_no_item"]

MODULES = frozenset({
    "array", "builtins", "math", "cmath", "operator", "_operator", "functools", "_functools", "itertools", "collections", "numpy", "copy",
    "typing", "string", "re", "enum", "dataclasses", "fractions", "decimal", "statistics", "numbers", "types", "abc", "_abc", "textwrap",
    "bisect", "heapq", "_heapq", "warnings", "_warnings", "contextlib", "inspect", "_bisect", "_collections", "_collections_abc",
    "packaging",
})
"""Names of modules whose functions may be called while a graph is made, since their results depend on the arguments only (see `_IMPURE`).
"""

_IMPURE = frozenset({
    "input", "open", "exec", "eval", "compile", "globals", "locals", "vars", "breakpoint", "__import__", "id",
    "array.fromfile", "array.tofile", "setcontext", "seterr", "seterrcall", "setbufsize", "set_printoptions", "simplefilter",
    "filterwarnings", "resetwarnings", "_lru_cache_wrapper.cache_info", "_lru_cache_wrapper.cache_clear",
})
"""Functions in these modules that are exceptions: their results depend on more than their arguments, such as files or the time."""

_STANDARD = str(Path(os.__file__).parent)
"""The directory of Python's standard library."""


def is_standard(function: types.FunctionType) -> bool:
    """Return True for a function of Python's standard library, judged by the name and the file of its module."""
    file = function.__code__.co_filename
    ours = file.startswith("<frozen") or (file.startswith(_STANDARD) and "site-packages" not in file)
    return ours and (function.__module__ or "").partition(".")[0] in sys.stdlib_module_names


def is_installed(file: str) -> bool:
    """Return True if a file belongs to Python's standard library or to an installed package, False if it is the user's."""
    return file.startswith(("<frozen", _STANDARD)) or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def looks_at_functions(function: Any) -> bool:
    """Return True for a function of a module such as `inspect` or `copy`, which examines functions among its arguments and does not call
    them.
    """
    return _module_of(function) in ("inspect", "copy", "typing", "weakref")


def uses_no_item(function: Any) -> bool:
    """Return True for a built-in such as `len` or `zip`: it counts or passes on the items of a container, and calls none of their methods.
    """
    return any(function is each for each in _USE_NO_ITEM)


_USE_NO_ITEM = (len, enumerate, zip, reversed, iter, list, tuple)


def is_in_c(kind: type) -> bool:
    """Return True if a class is written in C: then its bases, its attributes and the class of its instances cannot change."""
    return not kind.__flags__ & _HEAP_TYPE


_HEAP_TYPE = 1 << 9
"""The bit in `type.__flags__` of classes that were created at run time, as by a `class` statement (Py_TPFLAGS_HEAPTYPE)."""


def is_installed_class(kind: type) -> bool:
    """Return True if a class belongs to Python's standard library or to an installed package.

    Return False for the user's classes, and for built-in types and containers such as `int` and `deque`.
    """
    module = kind.__module__
    if module in ("builtins", "array", "collections", "types"):
        return False
    return is_installed_module(module)


@functools.cache
def is_installed_module(module: str) -> bool:
    """Return True if a module belongs to Python's standard library or to an installed package, False if it is the user's.

    module  the full name of the module
    """
    return is_installed(getattr(sys.modules.get(module), "__file__", None) or ("" if module == "__main__" else "<frozen>"))


def changes_arguments(function: Any) -> bool:
    """Return True for a function of a module such as `heapq` or `operator`, which may change containers among its arguments."""
    return (getattr(function, "__module__", None) or "") in ("heapq", "_heapq", "bisect", "_bisect", "operator", "_operator")


def _module_of(function: Any) -> str:
    """Return the name of the module that defines a function.

    `functools.wraps` copies `__module__` to other functions.  So if this attribute names one of MODULES (those whose functions depend on
    their arguments only), the `__name__` in the function's globals is returned instead.
    """
    named = getattr(function, "__module__", None) or ""
    if isinstance(function, types.FunctionType) and named.partition(".")[0] in MODULES:
        return function.__globals__.get("__name__") or ""
    return named


def is_of_pure_module(function: Any) -> bool:
    """Return True if a function belongs to a module of Python or NumPy whose functions depend on their arguments only (MODULES).

    Return False for all of `numpy.random`.
    """
    module = _module_of(function)
    return module.partition(".")[0] in MODULES and not module.startswith("numpy.random")


def depends_on_arguments_alone(function: Any) -> bool:
    """Return True if a built-in function, or a method of one of Python's types, may be called while a graph is made, since its result
    depends on nothing but its arguments.
    """
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = _module_of(function)
    if not module and not isinstance(function, types.BuiltinFunctionType):
        module = type(function).__module__
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType)):
        module = function.__objclass__.__module__
    elif owner is not None and not isinstance(owner, types.ModuleType):
        called = getattr(function, "__name__", "")
        module = next((kind for kind in type(owner).__mro__ if called in vars(kind)), type(owner)).__module__
    root = (module or "builtins").partition(".")[0]
    return root in MODULES and name not in _IMPURE and not (module or "").startswith("numpy.random")
