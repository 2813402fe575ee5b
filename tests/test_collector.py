"""The garbage collector is paused while this package is loaded, and goes on as it was set."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from adjoint.foundation import collector


class Cycle:
    """An object that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def nothing_frozen() -> Iterator[None]:
    gc.unfreeze()  # what the run of the tests has frozen
    yield
    gc.freeze()
    gc.enable()


def test_nothing_is_collected_while_paused_and_what_was_made_is_old() -> None:
    with collector.paused():
        before = gc.get_stats()
        made = [[i] for i in range(10 * gc.get_threshold()[0])]
        assert not gc.isenabled() and gc.get_stats() == before
    assert gc.isenabled()
    young = {id(each) for generation in (0, 1) for each in gc.get_objects(generation)}
    assert not young & {id(each) for each in made}


def test_where_little_is_made_what_was_young_stays_young() -> None:
    """Otherwise the garbage of a program that often comes by would grow old, where it is rarely looked for."""
    gc.collect()
    young: list[list[int]] = []
    while gc.get_count()[0] < gc.get_threshold()[0] - 20:
        young.append([0])
    with collector.paused():
        young += [[0] for _ in range(100)]
    assert {id(each) for each in young} <= {id(each) for generation in (0, 1) for each in gc.get_objects(generation)}


def test_what_became_garbage_meanwhile_is_freed_later() -> None:
    with collector.paused():
        found = [weakref.ref(Cycle()) for _ in range(10 * gc.get_threshold()[0])]
    gc.collect()
    assert not any(each() for each in found)


def test_what_does_not_last_stays_young() -> None:
    with collector.paused(lasting=False):
        made = [[i] for i in range(10 * gc.get_threshold()[0])]
        assert not gc.isenabled()
    assert gc.isenabled()
    old = {id(each) for each in gc.get_objects(2)}
    assert not old & {id(each) for each in made}


def test_it_goes_on_after_an_exception() -> None:
    with pytest.raises(KeyboardInterrupt), collector.paused():
        raise KeyboardInterrupt
    assert gc.isenabled()


def test_it_stays_off_if_it_was_off() -> None:
    gc.disable()
    with collector.paused():
        pass
    assert not gc.isenabled()


def test_frozen_objects_stay_frozen() -> None:
    kept = [[i] for i in range(100)]
    gc.freeze()
    with collector.paused():
        made = [[i] for i in range(10 * gc.get_threshold()[0])]
    assert made and not {id(each) for each in kept} & {id(each) for each in gc.get_objects()}


def test_nothing_is_collected_while_this_package_is_loaded() -> None:
    code = ("import gc, numpy; runs = []; gc.callbacks.append(lambda phase, info: runs.append(phase))\n"
            "import adjoint\n"
            "assert gc.isenabled() and not runs, runs")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
