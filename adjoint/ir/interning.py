"""Interning: equal values are one object, which lives as long as anything uses it."""

from __future__ import annotations

from _weakref import _remove_dead_weakref  # pyright: ignore[reportAttributeAccessIssue] - what the standard library's weak dictionaries use
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import ref

__all__ = ["Interned"]

AnyItem = TypeVar("AnyItem")


class _Keyed(ref[AnyItem]):
    """A weak reference with the key of its object; the standard library's takes twice as long to make."""

    __slots__ = ("key",)
    key: Hashable


class Interned(dict[Hashable, _Keyed[AnyItem]]):
    """Weak references to objects by key.

        known = interned.get(key)
        return (known and known()) or interned.one(key, Made(key))

    A `weakref.WeakValueDictionary` would give two threads two objects for one key if they ask for a new one at once;
    types are compared by identity, so that must not happen.
    """

    __slots__ = ("_remove",)

    def __init__(self) -> None:
        def remove(dead: Any, atomically: Callable[[Any, Hashable], None] = _remove_dead_weakref) -> None:
            # Atomic: another thread may insert a new object at any time.  An argument, since Python clears modules when it ends.
            atomically(self, dead.key)

        self._remove = remove

    def one(self, key: Hashable, made: AnyItem) -> AnyItem:
        """Return the only object of a key: the existing one, or else `made`.  Safe with several threads."""
        reference = _Keyed(made, self._remove)
        reference.key = key
        while (found := self.setdefault(key, reference)()) is None:
            _remove_dead_weakref(self, key)
        return found
