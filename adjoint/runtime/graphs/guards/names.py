"""Find the names of a cell's attributes that the library's own code may read.

A graph depends on everything that a cell of the library reads of itself, and these reads are not recorded.  Hooks also keep things in
cells, such as `cell.out = output` in each call.  The code of a class and of the modules of its bases contains the names of all attributes
that it reads or sets.  An attribute with another name need not make another graph, nor make a run leave its graph.
"""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, Final

from adjoint.runtime.cells.attributes import EVERY_NAME

__all__ = ["library_class", "names_read"]

_LIBRARY = __name__.partition(".")[0]
_OF_ALL_CELLS = f"{_LIBRARY}.runtime.cells."
"""The prefix of the modules that define the base class of cells.  Names that they compute are those of parameters, cells, buffers and
flags.
"""


def names_read(kind: type) -> frozenset[str]:
    """Return the names of the attributes that the library's code for a class of cells may read, besides parameters and sub-cells.

    EVERY_NAME is returned for a class of the user's, and for a class whose code computes names.
    """
    if (known := _known.get(kind)) is not None:
        return known
    modules = [base.__module__ for base in kind.__mro__ if base is not object]
    if not all(name.partition(".")[0] == _LIBRARY for name in modules):
        return EVERY_NAME
    names = _known[kind] = _names_in(*dict.fromkeys(modules))
    return names


def library_class(kind: type) -> type:
    """Return the nearest class of the library in the bases of a class of cells: the class itself, or that from which a user derives it."""
    return next(base for base in kind.__mro__ if base.__module__.partition(".")[0] == _LIBRARY)


_known: Final[weakref.WeakKeyDictionary[type, frozenset[str]]] = weakref.WeakKeyDictionary()


@functools.cache
def _names_in(*modules: str) -> frozenset[str]:
    return functools.reduce(operator.or_, map(_names_of, modules))


@functools.cache
def _names_of(module: str) -> frozenset[str]:
    names = frozenset(text for code in _codes(sys.modules[module]) for text in _names(code))
    return EVERY_NAME if "setattr" in names and not module.startswith(_OF_ALL_CELLS) else names


def _codes(module: Any) -> Iterator[CodeType]:
    """Yield the code object of each function in a module and in its classes, including functions that decorators wrap."""
    seen: set[int] = set()
    left: list[Any] = [x for x in vars(module).values() if getattr(x, "__module__", None) == module.__name__]
    while left:
        x = left.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, FunctionType):
            yield x.__code__
            left += [cell.cell_contents for cell in x.__closure__ or () if isinstance(cell.cell_contents, FunctionType)]
        elif isinstance(x, type) and x.__module__ == module.__name__:
            left += vars(x).values()
        elif not isinstance(x, type):
            left += [part for name in ("__func__", "fget", "fset", "fdel", "func") if (part := getattr(x, name, None)) is not None]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    left = list(code.co_consts)
    while left:
        constant = left.pop()
        if isinstance(constant, str):
            if constant.isidentifier():
                yield constant
        elif isinstance(constant, (tuple, frozenset)):
            left += constant
        elif isinstance(constant, CodeType):
            yield from _names(constant)
