"""The `__dict__` of a cell: it detects writes that bypass the cell's `__setattr__`, except those by `object.__setattr__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Self

from adjoint.runtime.process.epoch import epoch

__all__ = ["EVERY_NAME", "Attributes"]


class _EveryName(frozenset[str]):
    """A frozenset that acts as if it contained every name: `name in it` is True, and its union with any set is itself."""

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __or__(self, other: object) -> Self:
        return self

    __ror__ = __or__

    def __ge__(self, other: object) -> bool:
        return True

    def __le__(self, other: object) -> bool:
        return isinstance(other, _EveryName)


EVERY_NAME: Final[frozenset[str]] = _EveryName()
"""The set of all attribute names, for `Attributes.watch`: a graph depends on every attribute."""


def _moving(name: str) -> Callable[..., Any]:
    """Return the method of dict with this name, changed so that it also moves the epoch if a graph depends on the cell.

    The epoch is a number that changes whenever something changes on which graphs depend.
    """
    change = getattr(dict, name)

    def changed(self: Attributes, /, *args: Any, **kwargs: Any) -> Any:
        found = change(self, *args, **kwargs)
        if self.get("_cell_watched"):
            epoch.move(self)
        elif epoch.log is not None:
            epoch.log(self, None)
        return found

    changed.__name__ = name
    return changed


class Attributes(dict[str, Any]):
    """The `__dict__` of a cell, which notices changes: if graphs depend on the cell, each one moves the epoch (a number that graphs
    compare).

    Graphs depend on it once it has the entry `_cell_watched`: the names of the attributes that they read.
    """

    __slots__ = ()

    __setitem__ = _moving("__setitem__")
    __delitem__ = _moving("__delitem__")
    __ior__ = _moving("__ior__")
    update = _moving("update")
    setdefault = _moving("setdefault")
    pop = _moving("pop")
    popitem = _moving("popitem")
    clear = _moving("clear")

    @classmethod
    def of(cls, given: dict[str, Any], before: dict[str, Any]) -> Attributes:
        """Return the `__dict__` for a cell whose `__dict__` is assigned: `given` itself, or a copy of it that detects changes.

        before  the cell's old `__dict__`
        """
        own = given if isinstance(given, cls) else cls(given)
        if watched := before.get("_cell_watched"):
            own.watch(watched)
        return own

    def watch(self, names: frozenset[str] = EVERY_NAME) -> None:
        """Let each later change of an attribute with one of these names move the epoch (the number by which graphs notice changes).

        names  the names, added to those watched before; by default all
        """
        watched: frozenset[str] = self.get("_cell_watched", frozenset())
        if not watched >= names:
            self["_cell_watched"] = watched | names
