"""Endless iterators are rejected where a graph would unroll them; finite ones are unrolled."""

# ruff: noqa: C416, C417, C420 - comprehensions are what is tried

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import chain, count, cycle, islice, repeat, takewhile
from typing import Any

import pytest

import adjoint as ms
from adjoint import Tensor, nn
from adjoint.foundation.diagnostics import CompileError

ENDLESS: list[Callable[[Any], Any]] = [
    lambda x: [i for i in (j for j in count())],
    lambda x: [a for a, b in zip(count(), cycle("ab"), strict=False)],
    lambda x: {i for i in chain([1], count())},
    lambda x: {i: x for i in repeat(3)},
    lambda x: [j for i in range(2) for j in enumerate(count())],
    lambda x: [i for i in islice(count(), 3, None)],
    lambda x: functools.reduce(lambda a, b: a + b, count()) * x,
]


@pytest.mark.parametrize("function", ENDLESS)
def test_infinite_iterators_are_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(CompileError, match="an infinite iterator would be consumed") as caught:
        ms.jit(function)(Tensor(1.0))
    assert caught.value.diagnostic.code == "E202"


ENDING: list[Callable[[Any], Any]] = [
    lambda x: next(i for i in count()) * x,
    lambda x: next(map(lambda i: i, count())) * x,
    lambda x: next(filter(lambda i: i > 3, count())) * x,
    lambda x: [a for a, b in zip(count(), [1, 2, 3], strict=False)],
    lambda x: list(map(lambda i, j: i * j, count(), [1, 2])),
    lambda x: [i for i in islice(count(), 3)],
    lambda x: [i for i in islice(count(), 3, 5)],
    lambda x: [i for i in repeat(3, 2)],
    lambda x: [i for i in takewhile(lambda i: i < 3, count())],
    lambda x: [i for i, _ in enumerate([1, 2])],
    lambda x: sum(i for i in (j for j in range(3))),
]


@pytest.mark.parametrize("function", ENDING)
def test_finite_iterators_are_unrolled(function: Callable[[Any], Any]) -> None:
    assert ms.jit(function)(Tensor(1.0)) == function(Tensor(1.0))


class _Configured(nn.Cell):
    """Takes a name that its configuration has from there: `__iter__`, which every dict has, is none of its keys."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(2, 2, "ones", "zeros")
        self.configuration = {"scale": 3}

    def __getattr__(self, name: str) -> Any:
        configuration = self.__dict__.get("configuration", {})
        return configuration[name] if name in configuration or hasattr(configuration, name) else super().__getattr__(name)

    def construct(self, x: Tensor) -> Tensor:
        for parameter in self.get_parameters():
            x = x * parameter.sum() + self.scale
        return x


def test_a_cell_whose_parameters_are_iterated_need_not_answer_for_all_names() -> None:
    cell = _Configured()
    assert ms.jit(cell)(Tensor(1.0)) == cell(Tensor(1.0)) == 3.0
