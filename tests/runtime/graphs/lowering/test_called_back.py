"""Functions of the user's that Python is given in a graph: it calls them, keeps them or returns them, and one graph is made."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import pytest

from adjoint import Tensor, jit


def scaled(x: Any, by: Any = 2.0) -> Any:
    return x * by


def added(x: Any) -> Any:
    return x + 1


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a method": lambda x: types.MethodType(scaled, x)(),
    "a method of a partial": lambda x: types.MethodType(functools.partial(scaled, by=3.0), x)(),
    "named like another": lambda x: functools.update_wrapper(added, scaled)(x),
    "wrapped": lambda x: functools.wraps(scaled)(added)(x),
    "wrapped and passed on": lambda x: next(map(functools.wraps(scaled)(added), [x])),
    "compared by": lambda x: x * sorted([3.0, 1.0, 2.0], key=functools.cmp_to_key(lambda a, b: b - a))[0],
    "a partial of a partial": lambda x: functools.partial(functools.partial(scaled, by=3.0), x)(),
    "reduced by": lambda x: functools.reduce(scaled, [2.0, 3.0], x),
    "filtered by": lambda x: x * next(filter(lambda v: v > 1, [1.0, 2.0])),
    "called": lambda x: operator.call(scaled, x) if hasattr(operator, "call") else scaled(x),
    "mapped by": lambda x: next(map(scaled, [x])),
    "the largest by": lambda x: x * max([1.0, 2.0], key=lambda v: -v),
    "returned": lambda x: functools.wraps(scaled)(added),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_is_made(name: str, built: list[Any]) -> None:
    program, x = PROGRAMS[name], Tensor([1.0, 2.0])
    run = jit(lambda x: program(x))
    for _ in range(4):
        found = run(x)
        assert (found(x) if name == "returned" else found).tolist() \
            == (program(x)(x) if name == "returned" else program(x)).tolist()
    assert len(built) == 1
