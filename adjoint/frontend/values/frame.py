"""Frames, which hold the variables of running functions; and the functions that the code that becomes the graph defines."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import UNKNOWN, Loc
from adjoint.frontend import errors
from adjoint.frontend.tree.source import Definition, Source

__all__ = ["UNBOUND", "Closure", "Frame", "StandIn", "Unusable"]


class _Unbound:
    def __repr__(self) -> str:
        return "unbound"


UNBOUND: Any = _Unbound()


@dataclass(frozen=True, eq=False)
class Unusable:
    """The value of a variable after an `if` or a loop of the graph, if its values on two paths could not be merged.  Reading the variable
    is an error, until it is assigned again.

    make  returns the exception to raise, from the name of the variable and the place where it is read
    """

    make: Callable[[str, Loc], Exception]


class Frame:
    """Holds the variables of one call of a user's function, while the function runs on its syntax tree and becomes part of the graph.
    Reads and assignments of names go through it.

    source    the file and text of the function
    names     the local variables, with their values
    local     the names that are local
    outer     the frame of the enclosing function, for a function defined in code that becomes the graph
    cells     the closure variables by name, for a function that Python has defined
    space     the global variables
    first     the first argument, for `super()`
    caller    the frame of the caller
    goes_out  True if the graph returns the result of the call to Python
    """

    def __init__(
        self, source: Source, local: frozenset[str], space: dict[str, Any], *, outer: Frame | None = None,
        cells: dict[str, CellType] | None = None, nonlocals: frozenset[str] = frozenset(), globals_: frozenset[str] = frozenset(),
    ):
        self.source, self.local, self.space, self.outer = source, local, space, outer
        self.cells = cells or {}
        self.nonlocals, self.globals = nonlocals, globals_
        self.names: dict[str, Any] = {}
        self.is_comprehension = False
        self.caller: Frame | None = None
        self.first: Any = UNBOUND
        self.goes_out = False

    def inner(self, local: frozenset[str]) -> Frame:
        """Return a new frame, which holds the variables of a comprehension inside of this call.

        local  the names that the comprehension assigns
        """
        inner = Frame(self.source, local, self.space, outer=self)
        inner.is_comprehension = True
        inner.caller = self
        return inner


class Closure:
    """A function that a `def` or lambda in the code that becomes the graph defines.  It keeps the syntax tree; a call runs the tree, which
    adds nodes to the graph.

    Python code may call it, too, as in `sorted(key=...)`.  Its `__dict__` contains only attributes that the user's code has set, since
    `functools.wraps` copies them to another function.

    node       the definition in the syntax tree
    frame      the call in which it was defined, with the variables around it
    signature  its parameters and default values
    run        runs a call, from the function, its positional arguments and its keyword arguments
    name       its name
    """

    __slots__ = ("__dict__", "__frame__", "__name__", "__node__", "__qualname__", "__run__", "__signature__", "__weakref__")

    def __init__(self, node: Definition, frame: Frame, signature: inspect.Signature, run: Callable[..., Any], name: str):
        self.__node__, self.__frame__, self.__signature__, self.__run__ = node, frame, signature, run
        self.__name__ = self.__qualname__ = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.__run__(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


class StandIn(Closure):
    """Represents any of several Python functions that have the same code and the same values around them, in a graph that is made for all
    of them.

    Since it is not known which of these functions it is, comparing and hashing it raise an error.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise self.unknown()

    def __hash__(self) -> int:
        raise self.unknown()

    def unknown(self) -> Exception:
        """Return the CompileError for code that needs to know which of the functions this is.  The caller raises it."""
        return errors.UNSUPPORTED.at(UNKNOWN, f"which of several functions `{self.__name__}` is, is not known")


Closure.__name__ = StandIn.__name__ = FunctionType.__name__
# Python's messages name the type: "'function' object has no attribute 'v'".
