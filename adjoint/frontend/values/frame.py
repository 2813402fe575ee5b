"""Frames: the names of a function that is being run; and the functions that it defines."""

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
    """The value of a name that two branches left different.  Using the name raises what `make(name, place)` returns."""

    make: Callable[[str, Loc], Exception]


class Frame:
    """One call of a function.

    names     its local names
    local     which names are local
    outer     the frame around, for a function defined in parsed code
    cells     the enclosing names of a function of Python's own
    space     its globals
    first     its first argument, for `super()`
    caller    the frame that called
    goes_out  whether Python is given what it returns
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
        """Return the frame of a comprehension inside this one."""
        inner = Frame(self.source, local, self.space, outer=self)
        inner.is_comprehension = True
        inner.caller = self
        return inner


class Closure:
    """A function that parsed code defines.  Python may call it too (`sorted(key=...)`), which runs its tree as well.

    Its `__dict__` holds what the user's code sets on it and nothing else: `functools.wraps` copies that to another function.
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
    """A function of Python's that is known by its code and the values around it: it stands for all such, so none is equal to another."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise self.unknown()

    def __hash__(self) -> int:
        raise self.unknown()

    def unknown(self) -> Exception:
        """Return the error of code that needs to know which function it is."""
        return errors.UNSUPPORTED.at(UNKNOWN, f"which of several functions `{self.__name__}` is, is not known")


Closure.__name__ = StandIn.__name__ = FunctionType.__name__
# Python's messages name the type: "'function' object has no attribute 'v'".
