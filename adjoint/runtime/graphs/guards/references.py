"""References to the objects that guards depend on, weak wherever Python allows it, and a record of when one of them is freed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["Life", "Reference", "Strong", "Watched", "address_of", "reference"]

Reference = Callable[[], Any]
"""A function without arguments that returns an object, or None once the object has been freed; a weak reference, for example."""


class Strong:
    """A strong reference to `value`, for an object whose class does not support weak references.  It is called like a weak reference and
    returns the object.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __call__(self) -> Any:
        return self.value


def reference(value: Any) -> Reference:
    """Return a weak reference to `value`, or a strong one if its class does not support weak references."""
    try:
        return weakref.ref(value)
    except TypeError:
        return Strong(value)


def address_of(held: Reference) -> int:
    """Return a number that is the same for two references to one object, and differs for others.  It is valid while one of them exists."""
    return id(held.value) if isinstance(held, Strong) else id(held)


class Life:
    """Records whether every object that a graph's guards compare by identity is still alive: once one is freed, its id proves nothing.

    The guards also keep here when they last checked, so that a compiled check has both in one object.

    lasts  False as soon as one of them has been freed
    epoch  the last epoch for which the places that are compared by epochs were found unchanged.  The epoch is a number that rises with each
        change of a cell, a hook slot, a tensor's type or a setting
    ended  functions that are called once when `lasts` becomes False
    """

    __slots__ = ("ended", "epoch", "lasts")

    def __init__(self, lasts: bool = True) -> None:
        self.lasts = lasts
        self.epoch: float = -1
        self.ended: list[Callable[[], None]] = []

    def end(self, gone: object) -> None:
        """Note that an object has been freed, and call the functions in `ended`; weak references call this.

        gone  the weak reference to the object; not used
        """
        self.lasts = False
        ended, self.ended = self.ended, []
        for call in ended:
            call()


class Watched:
    """Keeps a weak reference to each object that a graph's guards compare by identity.  When one of these objects is freed, `life` ends,
    and the graph is not used any more.

    life  the record whose `end` is then called
    """

    __slots__ = ("_end", "_references")

    def __init__(self, life: Life) -> None:
        # No reference to the life itself: it would be a cycle, since the weak references refer to the life.
        self._end = life.end
        self._references: dict[int, weakref.ref[Any]] = {}

    def add(self, x: object) -> bool:
        """Watch an object: its `Life` ends when the object is freed.  Return False if the class of `x` does not support weak references."""
        if id(x) not in self._references:
            try:
                self._references[id(x)] = weakref.ref(x, self._end)
            except TypeError:
                return False
        return True
