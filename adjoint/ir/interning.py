"""Interning: equal values are one object, which lives as long as anything uses it."""

from __future__ import annotations

from _weakref import _remove_dead_weakref  # pyright: ignore[reportAttributeAccessIssue] - what the standard library's weak dictionaries use
from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import KeyedRef

__all__ = ["Interned"]

AnyItem = TypeVar("AnyItem")


class Interned(dict[Hashable, KeyedRef[Hashable, AnyItem]]):
    """Weak references to objects by key.

        known = interned.get(key)
        return (known and known()) or interned.one(key, Made(key))

    A `weakref.WeakValueDictionary` would give two threads two objects for one key if they ask for a new one at once;
    types are compared by identity, so that must not happen.
    """

    __slots__ = ()

    def one(self, key: Hashable, made: AnyItem) -> AnyItem:
        """Return the only object of a key: the existing one, or else `made`.  Safe with several threads."""
        known = self.get(key)
        if known is not None and (found := known()) is not None:
            return found

        def remove(dead: KeyedRef[Hashable, AnyItem], atomically: Callable[[Any, Hashable], None] = _remove_dead_weakref) -> None:
            # Atomic: another thread may insert a new object at any time.  An argument, since Python clears modules when it ends.
            atomically(self, dead.key)

        reference = KeyedRef(made, remove, key)
        while (found := self.setdefault(key, reference)()) is None:
            _remove_dead_weakref(self, key)
        return found
