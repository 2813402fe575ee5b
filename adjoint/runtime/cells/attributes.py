"""The `__dict__` of a cell: who writes to it past the cell's `__setattr__` is noticed too, but for `object.__setattr__`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.runtime.process.epoch import epoch

__all__ = ["Attributes"]


def _moving(name: str) -> Callable[..., Any]:
    """The method of dicts under a name; the epoch moves after it where a graph depends on the cell."""
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
        """The `__dict__` of a cell that `given` replaces `before` in: `given` itself, or a copy if that would not notice its changes."""
        own = given if isinstance(given, cls) else cls(given)
        if before.get("_watched"):
            own.watch()
        return own

    def watch(self) -> None:
        """From now on a change moves the epoch."""
        if not self.get("_watched"):
            self["_watched"] = True
