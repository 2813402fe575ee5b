"""The budget: the bytes that the caches of a process may take together.  What was used least recently is evicted first.

A cache derives from `Cache`, or is a `Table` or a `Refillable`; it calls `budget.charge` with the bytes of what it adds
and marks what is used with `budget.period`:

    period 1   period 2   period 3 ...     a new one begins with each sixteenth of the limit that is charged
                                           beyond the limit: entries of the earliest periods are evicted, in all caches,
                                           until three quarters of the limit are left

So a hit costs one attribute at most.  A cache with a path that marks nothing clears that path when a period begins
(`begin_period`); the next use then goes the long way and marks the entry.

Bytes are estimates: an entry's parts are counted and multiplied by what such a part takes, as `tracemalloc` measured it.
Evicting an entry never makes a running program wrong: whoever uses one holds it.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar

__all__ = ["Budget", "Cache", "Entry", "Refillable", "Table", "budget"]

DEFAULT_LIMIT = 100_000_000
"""Bytes."""

VARIABLE = "ADJOINT_PROGRAM_CACHE_BYTES"

_PERIODS = 16
"""Periods in which a limit's worth of bytes is charged."""


class Cache:
    """What keeps things that can be made again; it registers itself.  The methods are called from any thread, without a lock.

    name  as `budget.usage` shows it
    """

    def __init__(self, name: str, owner: Budget | None = None):
        self.name, self.budget = name, owner or budget
        self.budget.caches.append(self)

    def sizes(self) -> Iterable[tuple[int, int]]:
        """Return (period of the last use, bytes) of each entry."""
        raise NotImplementedError

    def evict(self, until: int) -> None:
        """Drop what was last used in the period `until` or before."""
        raise NotImplementedError

    def begin_period(self) -> None:
        """A period begins: what is used from now on must be marked with it."""


class Budget:
    """A limit in bytes for all registered caches together.

    period  the number of the current period
    """

    def __init__(self) -> None:
        self.caches: list[Cache] = []
        self.period = 0
        self._limit: int | None = None
        self._left = 0
        """Bytes until the next period begins."""
        self._share = 0
        self._held = 0
        """Bytes charged and not known to be evicted."""
        self.forget_threads()

    def forget_threads(self) -> None:
        """Begin without a thread that evicts; in a child process there is none."""
        self._turning = threading.Lock()

    @property
    def limit(self) -> int:
        """Bytes; ADJOINT_PROGRAM_CACHE_BYTES or 100 MB until it is set.  ValueError when the variable holds no such number."""
        if self._limit is None:
            text = os.environ.get(VARIABLE, "")
            if text and not text.isdecimal():
                raise ValueError(f"{VARIABLE} must be a number of bytes, 0 or more, but got {text!r}.")
            self._limit = int(text) if text else DEFAULT_LIMIT
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit = limit
        self._turn()

    def charge(self, nbytes: int) -> None:
        """Count the bytes of a new entry; evict others when there are too many."""
        self._left -= nbytes
        if self._left < 0:
            self._turn()

    def usage(self) -> dict[str, int]:
        """Return the bytes that each cache holds now."""
        usage: Counter[str] = Counter()
        for cache in self.caches:
            usage[cache.name] += sum(nbytes for _, nbytes in cache.sizes())
        return dict(usage)

    def _turn(self) -> None:
        """Begin a period, and evict if that is due; one thread does, others go on."""
        if self._turning.locked():
            return
        with self._turning:
            self._held += self._share - self._left
            self._share = self._left = self.limit // _PERIODS
            self.period += 1
            for cache in self.caches:
                cache.begin_period()
            if self._held + self._share > self.limit:
                self._evict()

    def _evict(self) -> None:
        """Evict by period until three quarters of the limit are left; the bytes of what went by itself are forgotten."""
        sizes: Counter[int] = Counter()
        for cache in self.caches:
            for period, nbytes in cache.sizes():
                sizes[period] += nbytes
        held, until = sum(sizes.values()), -1
        for period in sorted(sizes):
            if held <= self.limit * 3 // 4:
                break
            held -= sizes[period]
            until = period
        if until >= 0:
            for cache in self.caches:
                cache.evict(until)
        self._held = held


budget = Budget()
"""The budget of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=budget.forget_threads)


class Entry(Protocol):
    """What a `Table` holds: `used` is the period of its last use."""

    used: int
    nbytes: int


Key = TypeVar("Key", bound=Hashable)
AnyEntry = TypeVar("AnyEntry", bound=Entry)


class Table(Cache, dict[Key, AnyEntry]):
    """A dictionary of entries."""

    def find(self, key: Key) -> AnyEntry | None:
        """Return the entry of a key, marked as used, or None."""
        entry = self.get(key)
        if entry is not None:
            entry.used = self.budget.period
        return entry

    def keep(self, key: Key, entry: AnyEntry) -> None:
        """Add an entry."""
        entry.used = self.budget.period
        self[key] = entry
        self.budget.charge(entry.nbytes)

    def sizes(self) -> Iterable[tuple[int, int]]:
        return [(entry.used, entry.nbytes) for entry in self.copy().values()]

    def evict(self, until: int) -> None:
        for key, entry in self.copy().items():
            if entry.used <= until:
                self.pop(key, None)


class Refillable(Cache):
    """A cache of what is made again in no time: it is cleared as a whole, before anything else is evicted.

    nbytes  gives the bytes it holds
    clear   empties it
    """

    def __init__(self, name: str, nbytes: Callable[[], int], clear: Callable[[], None]):
        super().__init__(name)
        self.nbytes, self.clear = nbytes, clear

    def sizes(self) -> Iterable[tuple[int, int]]:
        return [(0, self.nbytes())]

    def evict(self, until: int) -> None:
        self.clear()
