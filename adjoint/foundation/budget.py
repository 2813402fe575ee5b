"""The budget: a limit in bytes on all caches of a process together.  The least recently used entries are evicted first.

A cache derives from `Cache`, or is a `Table` or a `Refillable`.  It calls `budget.charge` with the bytes of each new entry, and marks
entries that are used with `budget.period`:

    period 1   period 2   period 3 ...     a new one begins with each sixteenth of the limit that is charged
                                           beyond the limit: entries of the earliest periods are evicted, in all caches,
                                           until three quarters of the limit are left

What was added or used in the newest period stays, even an entry that is larger than the limit: it may be used in each call, and is
evicted like others once it is not used any more. A limit of 0 keeps nothing.

So a hit costs at most one attribute write.  A cache whose fast path marks nothing clears that path when a period begins (`begin_period`);
the next use then takes the slow path and marks the entry.

Bytes are estimates: the parts of an entry are counted and multiplied by the size of such a part, as measured by `tracemalloc`. Evicting an
entry never makes a running program wrong, since all code that uses an entry holds a reference to it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar

from adjoint.foundation.locking import Lock

__all__ = ["Budget", "Cache", "Entry", "Refillable", "Table", "budget"]

DEFAULT_LIMIT = 100_000_000
"""The limit for all caches of a process together, in bytes, if no other is set."""

VARIABLE = "ADJOINT_PROGRAM_CACHE_BYTES"

_PERIODS = 16
"""In how many periods (each counts new entries up to a share of the limit) as many bytes are charged as the limit allows."""


class Cache:
    """Base class of caches whose entries can be computed again.  Each cache registers itself with its budget.

    name  the name in `budget.usage`
    """

    def __init__(self, name: str, owner: Budget | None = None):
        self.name, self.budget = name, owner or budget
        self.budget.caches.append(self)

    def sizes(self) -> Iterable[tuple[int, int]]:
        """Return a pair for each entry: the period of its last use, and its bytes."""
        raise NotImplementedError

    def evict(self, until: int) -> None:
        """Remove the entries that were last used in period `until` or earlier."""
        raise NotImplementedError

    def begin_period(self) -> None:
        """Prepare for a new period; the budget calls it when one begins.  Entries that are used from now on must be marked with its number.
        """


class Budget:
    """A limit in bytes for all registered caches together.

    period  the number of the current period
    """

    def __init__(self) -> None:
        self.caches: list[Cache] = []
        self.period = 0
        self._limit: int | None = None
        self._left = 0
        """Bytes that may still be charged before the next period begins."""
        self._share = 0
        self._held = 0
        """Bytes that were charged and are not known to be freed."""
        self.forget_threads()

    def forget_threads(self) -> None:
        """Replace the lock, and forget the thread that evicts; a forked child process calls it, since it has no such thread."""
        self._turning = Lock()

    @property
    def limit(self) -> int:
        """The limit in bytes: the value that was set, or ADJOINT_PROGRAM_CACHE_BYTES, or 100 MB.

        ValueError if the variable is not a number of bytes.
        """
        if self._limit is None:
            text = os.environ.get(VARIABLE, "")
            if text and not text.isdecimal():
                raise ValueError(f"{VARIABLE} must be a number of bytes, 0 or more, but got {text!r}.")
            self._limit = int(text) if text else DEFAULT_LIMIT
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit = limit
        self._turn(lowered=True)

    def charge(self, nbytes: int) -> None:
        """Count the bytes of a new entry, and evict entries if the limit is exceeded."""
        self._left -= nbytes
        if self._left < 0:
            self._turn()

    def usage(self) -> dict[str, int]:
        """Return the bytes that each cache holds now, by name."""
        usage: Counter[str] = Counter()
        for cache in self.caches:
            usage[cache.name] += sum(nbytes for _, nbytes in cache.sizes())
        return dict(usage)

    def _turn(self, lowered: bool = False) -> None:
        """Begin a new period, and evict entries if the limit is exceeded.  One thread does this; others that call it meanwhile return at
        once.

        lowered  True if a new limit has been set, so that entries used in the newest period may be evicted, too
        """
        if self._turning.locked():
            return
        with self._turning:
            self._held += self._share - self._left
            self._share = self._left = self.limit // _PERIODS
            self.period += 1
            for cache in self.caches:
                cache.begin_period()
            if self._held + self._share > self.limit:
                self._evict(self.period - 1 if lowered or not self.limit else self.period - 2)

    def _evict(self, last: int) -> None:
        """Evict the entries of all caches that were used last in the earliest periods, until three quarters of the limit are left.

        last  the last period whose entries may be evicted

        Also correct the count of bytes for entries that were freed otherwise.
        """
        sizes: Counter[int] = Counter()
        for cache in self.caches:
            for period, nbytes in cache.sizes():
                sizes[period] += nbytes
        held, until = sum(sizes.values()), -1
        for period in sorted(sizes):
            if period > last or held <= self.limit * 3 // 4:
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
    """An entry of a `Table`.

    used    the period of its last use
    nbytes  its size in bytes
    """

    used: int
    nbytes: int


Key = TypeVar("Key", bound=Hashable)
AnyEntry = TypeVar("AnyEntry", bound=Entry)


class Table(Cache, dict[Key, AnyEntry]):
    """A cache in the form of a dictionary; its entries know their bytes and the period of their last use."""

    def find(self, key: Key) -> AnyEntry | None:
        """Return the entry of a key, and mark it as used; None if there is no entry."""
        entry = self.get(key)
        if entry is not None:
            entry.used = self.budget.period
        return entry

    def keep(self, key: Key, entry: AnyEntry) -> None:
        """Add an entry, and charge its bytes to the budget."""
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
    """A cache whose contents are cheap to compute again.  It is cleared as a whole, before anything else is evicted.

    nbytes  returns the bytes that it holds
    clear   empties it
    """

    def __init__(self, name: str, nbytes: Callable[[], int], clear: Callable[[], None]):
        super().__init__(name)
        self.nbytes, self.clear = nbytes, clear

    def sizes(self) -> Iterable[tuple[int, int]]:
        return [(0, self.nbytes())]

    def evict(self, until: int) -> None:
        self.clear()
