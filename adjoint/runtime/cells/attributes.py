"""The `__dict__` of a cell: it detects writes that bypass the cell's `__setattr__`, except `object.__setattr__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.runtime.process.epoch import epoch

__all__ = ["Attributes"]


def _moving(name: str) -> Callable[..., Any]:
    """Return the dict method of this name, wrapped to move the epoch afterwards if a graph depends on the cell."""
    change = getattr(dict, name)

    def changed(self: Attributes, *args: Any, **kwargs: Any) -> Any:
        found = change(self, *args, **kwargs)
        if self.get("_watched"):
            epoch.move()
        return found

    changed.__name__ = name
    return changed


class Attributes(dict[str, Any]):
    """A dict whose changes move the epoch once it has the entry `_watched`."""

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
        """Return the `__dict__` that replaces `before` when `given` is assigned: `given`, or a copy if it does not detect changes."""
        own = given if isinstance(given, cls) else cls(given)
        if before.get("_watched"):
            own.watch()
        return own

    def watch(self) -> None:
        """Make each later change move the epoch."""
        if not self.get("_watched"):
            self["_watched"] = True
