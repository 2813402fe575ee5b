"""Frames, which hold the names of running functions; and the functions that parsed code defines."""

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
    """The value of a name whose values on two paths could not be merged.  Reading the name raises the exception that `make(name, place)`
    returns.
    """

    make: Callable[[str, Loc], Exception]


class Frame:
    """One call of a parsed function, with its variables.

    names     the local variables and their values
    local     the names that are local
    outer     the frame of the enclosing function, for a function defined in parsed code
    cells     the closure variables, for a Python function
    space     the global variables
    first     the first argument, for `super()`
    caller    the frame of the caller
    goes_out  True if Python receives the result
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
        """Return the frame of a comprehension inside of this one.

        local  the names that the comprehension binds
        """
        inner = Frame(self.source, local, self.space, outer=self)
        inner.is_comprehension = True
        inner.caller = self
        return inner


class Closure:
    """A function that parsed code defines.  Python may call it, too (`sorted(key=...)`): the call also runs its tree.

    Its `__dict__` contains only attributes that the user's code has set, since `functools.wraps` copies them to another function.
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
    """Represents all Python functions with the same code and the same enclosing values.

    Since it is not known which of these it is, comparing and hashing it raise an error.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise self.unknown()

    def __hash__(self) -> int:
        raise self.unknown()

    def unknown(self) -> Exception:
        """Return the error for code that needs to know which function this is."""
        return errors.UNSUPPORTED.at(UNKNOWN, f"which of several functions `{self.__name__}` is, is not known")


Closure.__name__ = StandIn.__name__ = FunctionType.__name__
# Python's messages name the type: "'function' object has no attribute 'v'".
