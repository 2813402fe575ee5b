"""References to the objects that guards depend on, weak wherever Python allows it, and the life of those objects."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["Life", "Reference", "Strong", "Watched", "address_of", "reference"]

Reference = Callable[[], Any]
"""Returns an object, or None once it has been freed."""


class Strong:
    """A reference to an object that does not support weak references."""

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
    """Return a number that is equal for two references to the same object.  It is valid while one of them exists."""
    return id(held.value) if isinstance(held, Strong) else id(held)


class Life:
    """Records whether every object that a snapshot compares by identity is still alive.

    lasts  False as soon as one of them has been freed; its id may then belong to another object
    epoch  the last epoch for which the places that are compared by epochs were found unchanged
    ended  functions that are called once when `lasts` becomes False
    """

    __slots__ = ("ended", "epoch", "lasts")

    def __init__(self, lasts: bool = True) -> None:
        self.lasts = lasts
        self.epoch = -1
        self.ended: list[Callable[[], None]] = []

    def end(self, gone: object) -> None:
        """Mark the snapshot as dead; this is the callback of the weak references."""
        self.lasts = False
        ended, self.ended = self.ended, []
        for call in ended:
            call()


class Watched:
    """Weak references to the objects that a snapshot compares by identity, one for each object."""

    __slots__ = ("_end", "_references")

    def __init__(self, life: Life) -> None:
        # No reference to the life itself: it would be a cycle, since the weak references refer to the life.
        self._end = life.end
        self._references: dict[int, weakref.ref[Any]] = {}

    def add(self, x: object) -> bool:
        """Make the life end when `x` is freed.  Return False if the class of `x` does not support weak references."""
        if id(x) not in self._references:
            try:
                self._references[id(x)] = weakref.ref(x, self._end)
            except TypeError:
                return False
        return True
