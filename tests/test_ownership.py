"""Memory that one object holds alone is written in place, and no other: the counts of references are measured."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from sys import getrefcount
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation import ownership
from adjoint.foundation.ownership import OF_ATTRIBUTE, OF_VARIABLE, measured
from adjoint.runtime.memory.machine import ffi


class Holder:
    def __init__(self) -> None:
        self.held = object()


def test_an_attribute_and_a_variable_with_one_owner() -> None:
    holder = Holder()
    alone = getrefcount(holder.held)  # in a variable: what pytest makes of an assertion holds the object, too
    other = [holder.held]
    shared = getrefcount(holder.held)
    other.clear()
    found, holder.held = holder.held, None
    assert (alone, shared) == (OF_ATTRIBUTE, OF_ATTRIBUTE + 1)
    count = getrefcount(found)
    assert count == OF_VARIABLE


def given(found: object) -> int:
    return getrefcount(found)


def test_the_caller_s_variable_is_an_owner() -> None:
    """Whether the parameter counts as well differs between versions of Python, so only variables of its own may be asked for."""
    found = object()
    count = given(found)
    assert OF_VARIABLE <= count <= OF_VARIABLE + 1


@pytest.mark.parametrize("count", [
    lambda others: 2, lambda others: 2 + 2 * others, lambda others: 2**30, lambda others, calls=[0]: calls.__setitem__(0, calls[0] + 1) or (
        2 + others + (calls[0] > 100))])
def test_counts_that_do_not_follow_owners(count: Callable[[int], int]) -> None:
    assert measured(count) == 0


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Python that counts all references alike, so that nothing is known to have one owner."""
    for module in [*sys.modules.values()]:
        if module.__name__.startswith("adjoint."):
            for name in ("OF_ATTRIBUTE", "OF_VARIABLE"):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, 0)
    yield


def address(x: Tensor) -> int:
    return int(ffi.cast("intptr_t", x.memory))


def overwritten() -> tuple[Tensor, int]:
    x = Tensor(np.arange(3, dtype=np.float32))
    before = address(x)
    x[1] = 7.0
    assert x.asnumpy().tolist() == [0, 7, 2]
    return x, before


def updated() -> tuple[Tensor, int]:
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    before = address(weight)
    ops.assign_add(weight, Tensor([1.0, 1.0]))
    assert weight.asnumpy().tolist() == [2, 3]
    return weight, before


def trained() -> tuple[Tensor, int]:
    weight = Parameter(Tensor([1.0, 2.0]), name="w")
    optimizer = nn.SGD([weight], 0.5)
    step = ms.jit(lambda x: optimizer((x,)))
    before = address(weight)
    for _ in range(3):
        step(Tensor([2.0, 2.0]))
    assert weight.asnumpy().tolist() == [-2, -1]
    return weight, before


PROGRAMS: list[Callable[[], tuple[Tensor, int]]] = [overwritten, updated, trained]


@pytest.mark.parametrize("program", PROGRAMS)
def test_memory_with_one_owner_is_written_in_place(program: Callable[[], tuple[Tensor, int]]) -> None:
    x, before = program()
    assert address(x) == before


@pytest.mark.usefixtures("uncounted")
@pytest.mark.parametrize("program", PROGRAMS)
def test_without_counts_nothing_is_written_in_place(program: Callable[[], tuple[Tensor, int]]) -> None:
    program()


def held(program: Callable[[Tensor], Any]) -> list[Any]:
    """Return what another tensor over the same memory has afterwards."""
    x = Parameter(Tensor([1.0, 2.0]), name="w")
    other, array = x.reshape((2, 1)), x.asnumpy()
    program(x)
    return [other.asnumpy().tolist(), array.tolist()]


@pytest.mark.parametrize("program", [
    lambda x: x.__setitem__(0, 9.0), lambda x: ops.assign_add(x, Tensor([1.0, 1.0])), lambda x: x.overwrite(Tensor([5.0, 5.0])),
    lambda x: nn.SGD([x], 0.5)((Tensor([2.0, 2.0]),)),
    lambda x: [ms.jit(lambda g: ops.assign(x, x * g))(Tensor([2.0, 2.0])) for _ in range(3)],
])
def test_memory_with_two_owners_is_not(program: Callable[[Tensor], Any]) -> None:
    assert held(program)[0] == [[1.0], [2.0]]


def test_it_is_measured_once() -> None:
    assert importlib.reload(ownership).OF_ATTRIBUTE == OF_ATTRIBUTE
