"""`match` in parsed code works like Python's, for subjects of every kind, known while parsing or not."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import adjoint
from adjoint import Tensor
from adjoint.foundation.diagnostics import CompileError

Pair = namedtuple("Pair", "first second")


@dataclass
class Point:
    x: Any
    y: Any


class Names:
    UP = "up"


class Plain:
    """Without `__match_args__`."""


def every_pattern(x, subject):
    match subject:
        case None:
            return x
        case True:
            return x + 1
        case 0 | 5:
            return x * 5
        case int(n) if n > 10:
            return x * n
        case int():
            return x - 1
        case "a" | "b" as letter:
            return x * len(letter) * 3
        case Names.UP:
            return x + 1000
        case [Tensor() as t, *rest]:
            return x + t + len(rest)
        case []:
            return -x
        case [(a, b), *_, Point(c, _)]:
            return x * a + b - c
        case {"scale": scale, "window": [low, high], **others}:
            return x * scale + low - high + len(others)
        case Point(a, y=b):
            return x * a + b
        case str(text):
            return x * len(text)
        case _:
            return x * 100


SUBJECTS = [
    None, True, False, 0, 5, 12, 3, 3.5, "a", "bb", "up", [Tensor(3.0), 1, 2], [], (Tensor([1.0, 1.0]),), Pair(Tensor(2.0), 1), Point(2, 3),
    {"scale": 2, "window": (1, 2), "z": 1}, {"scale": 2}, [(1, 2), 0, Point(4, 5)], range(0), {1, 2}, b"abc", Plain(),
]


def chain_of_numbers(x, n):
    match int(n):
        case 0:
            y = x
        case 1 | 2:
            y = x * 2
        case m if m > 7:
            y = x * m
        case _:
            y = x * 3
    return y


def parts_of_a_tuple(x, n):
    match (n, "go"):
        case (0, "go"):
            return x
        case (_, "stop"):
            return x * 0
        case (v, "go") if v > 2:
            return x * v
    return -x


def guards_of_tensors(x, n):
    match x:
        case Tensor(shape=(2,)) if x.sum() > n:
            return x * 2
        case Tensor(ndim=1):
            return x * 3
    return x


def in_a_loop(x, n):
    total = x
    for i in range(4):
        match [n, i]:
            case [0, _]:
                continue
            case [k, 2]:
                total = total - k
                break
            case [k, j]:
                total = total + k * j
    return total


def bound_before_the_guard(x, n):
    match n:
        case (0 | 1 as k) if k == 1:
            z = k
        case k:
            z = k * 2
    return x * z + k


def truth_of_a_tensor(x, n):
    match bool(n > 1):
        case True:
            return x
        case _:
            return -x


def same(function: Callable[..., Any], *arguments: Any) -> None:
    assert adjoint.jit(function)(*arguments).asnumpy().tolist() == function(*arguments).asnumpy().tolist()


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda x: type(x).__name__)
def test_subjects_that_are_known(subject: Any) -> None:
    same(every_pattern, Tensor([1.0, -2.0]), subject)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("function", [
    chain_of_numbers, parts_of_a_tuple, guards_of_tensors, in_a_loop, bound_before_the_guard, truth_of_a_tensor,
], ids=lambda x: x.__name__)
def test_subjects_with_numbers_of_the_run(function: Callable[..., Any], n: int) -> None:
    same(function, Tensor([1.0, -2.0]), n)
    same(function, Tensor([1.0, -2.0]), Tensor(n))


def test_one_graph_serves_every_number() -> None:
    run = adjoint.jit(chain_of_numbers)
    x = Tensor([1.0, -2.0])
    assert run.graph_of(x, Tensor(0)) is run.graph_of(x, Tensor(9))


def test_alternatives_that_bind_are_decided_while_parsing() -> None:
    @adjoint.jit
    def f(x, n):
        match (n, x):
            case (0, y) | (y, _):
                return y
        return x

    with pytest.raises(CompileError, match=r"(?s)E203.*write a `case` for each alternative"):
        f(Tensor(1), Tensor(0))


def test_too_many_positional_patterns() -> None:
    @adjoint.jit
    def f(x, point):
        match point:
            case Point(a, b, c):
                return x * a * b * c
        return x

    with pytest.raises(TypeError, match=r"Point\(\) accepts 2 positional sub-patterns \(3 given\)"):
        f(Tensor(1.0), Point(1, 2))


def test_a_pattern_that_is_no_class() -> None:
    @adjoint.jit
    def f(x, kind):
        match x:
            case kind():
                return x
        return x

    with pytest.raises(TypeError, match="must be a class"):
        f(Tensor(1.0), 3)
