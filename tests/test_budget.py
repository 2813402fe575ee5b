"""The budget of caches: their total stays below its limit, and the least recently used entries of all caches are evicted first."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from adjoint.foundation.budget import Budget, Cache, Table
from adjoint.ir.interning import Interned


@dataclass
class Kept:
    nbytes: int
    used: int = 0


@pytest.fixture
def owner() -> Budget:
    made = Budget()
    made.limit = 1000
    return made


def test_the_limit_holds_for_all_caches_together(owner: Budget) -> None:
    numbers, words = Table("numbers", owner), Table("words", owner)
    for i in range(500):
        (numbers if i % 3 else words).keep(i, Kept(10))
        assert sum(owner.usage().values()) <= 1000
    assert sum(owner.usage().values()) >= 700
    assert min(owner.usage().values()) > 0


def test_what_is_used_stays(owner: Budget) -> None:
    numbers, words = Table("numbers", owner), Table("words", owner)
    words.keep("kept", Kept(10))
    numbers.keep("forgotten", Kept(10))
    for i in range(500):
        numbers.keep(i, Kept(10))
        assert words.find("kept") is not None
    assert numbers.find("forgotten") is None and numbers.find(499) is not None


def test_an_entry_larger_than_the_limit_stays_while_it_is_used(owner: Budget) -> None:
    """A graph that is used in each call is not made again in each; what else is used stays, too."""
    table = Table("numbers", owner)
    table.keep("used", Kept(10))
    table.keep("large", Kept(5000))
    for i in range(200):
        assert table.find("large") is not None and table.find("used") is not None
        table.keep(i, Kept(10))
    assert len(table) < 20
    for i in range(200, 240):
        table.keep(i, Kept(10))
    assert "large" not in table and all(i in table for i in range(215, 240))


def test_a_lower_limit_counts_at_once(owner: Budget) -> None:
    table = Table("numbers", owner)
    for i in range(80):
        table.keep(i, Kept(10))
    owner.limit = 100
    assert owner.usage() == {"numbers": 0} or sum(owner.usage().values()) <= 100
    owner.limit = 0
    table.keep("nothing", Kept(1))
    assert not table


def test_entries_that_are_freed_are_no_longer_counted(owner: Budget) -> None:
    table = Table("numbers", owner)
    for i in range(1000):
        table.keep(i, Kept(10))
        if i >= 50:
            table.pop(i, None)
    assert len(table) == 50


def test_a_cache_is_notified_of_periods(owner: Budget) -> None:
    """A fast path that does not mark entries can be cleared, so that the next use takes the slow path and marks the entry."""
    began: list[int] = []

    class Paths(Cache):
        def sizes(self) -> list[tuple[int, int]]:
            return []

        def evict(self, until: int) -> None:
            pass

        def begin_period(self) -> None:
            began.append(owner.period)

    Paths("paths", owner)
    table = Table("numbers", owner)
    for i in range(100):
        table.keep(i, Kept(10))
    assert 10 <= len(began) <= 40 and began == sorted(set(began))


def test_threads_fill_one_table(owner: Budget) -> None:
    table = Table("numbers", owner)
    failures: list[BaseException] = []

    def fill(start: int) -> None:
        try:
            for i in range(2000):
                table.keep((start, i), Kept(10))
                table.find((start, i - 5))
        except BaseException as raised:
            failures.append(raised)

    threads = [threading.Thread(target=fill, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and sum(owner.usage().values()) <= 1100


class Thing:
    pass


def test_an_interned_object_lives_as_long_as_it_is_used() -> None:
    interned = Interned()
    first = interned.one("a", Thing())
    assert interned.one("a", Thing()) is first and len(interned) == 1
    del first
    assert len(interned) == 0
    assert isinstance(interned.one("a", Thing()), Thing)


def test_threads_intern_one_object() -> None:
    """All threads get the same object for a key, each time."""
    interned, rounds, workers = Interned(), 300, 4
    barrier, found = threading.Barrier(workers), [[] for _ in range(workers)]

    def ask(place: int) -> None:
        for i in range(rounds):
            barrier.wait(60)
            found[place].append(interned.one(i, Thing()))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len({id(thing) for thing in things}) == 1 for things in zip(*found, strict=True))
