"""A function under jit may change what it creates itself, at each call; and how its changes are found."""

from __future__ import annotations

import collections
import copy
import dataclasses
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from things import Thing

from adjoint import Tensor, jit
from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend.changes.outside import Outside

X = Tensor(np.array([1.0, 2.0], np.float32))
LIST, TABLE = [3, 1, 2], {"rate": 2.0}
ALLOWED: dict[str, Callable[[], Callable[..., Any]]] = {}


def allowed(made: Callable[[], Callable[..., Any]]) -> Callable[[], Callable[..., Any]]:
    ALLOWED[made.__name__] = made
    return made


@dataclasses.dataclass
class Record:
    values: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Numbered:
    x: Any
    scale: dataclasses.InitVar[int] = 2
    number: int = 0

    def __post_init__(self, scale: int) -> None:
        self.number = scale * 3


@allowed
def own_containers() -> Callable[..., Any]:
    def body(x):
        items, table, seen, queue, grid = [1], {"a": [x]}, {1}, collections.deque([x]), np.zeros(2)
        items.append(2)
        items[0] += 1
        table["a"].append(x * 2)
        table.setdefault("b", []).append(x * 3)
        seen.add(3)
        queue.appendleft(x)
        grid[0] = 5
        np.add(grid, 1, out=grid)
        heapq.heappush(items, 0)
        rows = [[a] for a in items]
        for i, row in enumerate(rows):
            row.append(i)
        copied = copy.deepcopy(LIST)
        copied.reverse()
        other = [*LIST]
        other.sort()
        return x * sum(items) + sum(table["a"]) + table["b"][0], queue[0] * len(seen) * float(grid[0]), rows[1][1], copied, other

    return body


@allowed
def own_objects() -> Callable[..., Any]:
    def body(x):
        thing, record = Thing(2), Record()
        thing.n += 1
        thing.items[1].append(4)
        thing.level = 4
        thing += 2
        thing.fresh = x * 2
        record.values.append(thing.count())
        numbered = Numbered(x, scale=4)
        numbered.number += 1
        return x * thing.n * thing.level + thing.fresh * numbered.number, record.values[0], len(thing.items[1])

    return body


@allowed
def keyword_arguments() -> Callable[..., Any]:
    def inner(x, **options):
        return x * options.pop("scale", 1) + len(options)

    def body(x, **options):
        options.setdefault("scale", 3)
        return inner(x, **options) * options.pop("scale")

    return body


@allowed
def names_around_of_its_own() -> Callable[..., Any]:
    def body(x):
        count = 0

        def step(y):
            nonlocal count
            count += 1
            return y * count

        return step(step(x)) + count

    return body


@allowed
def a_change_that_is_taken_back() -> Callable[..., Any]:
    thing = Thing(1)

    def body(x):
        thing.n += 1
        LIST.append(5)
        y = x * thing.n * len(LIST)
        LIST.pop()
        thing.n -= 1
        return y

    return body


@allowed
def the_same_again() -> Callable[..., Any]:
    thing = Thing(1)

    def body(x):
        thing.n = 1
        TABLE["rate"] = 2.0
        return x * thing.n * TABLE["rate"]

    return body


@allowed
def copies_and_parts() -> Callable[..., Any]:
    held = {"a": [1, 2], "b": np.arange(3)}

    def body(x):
        a = list(held["a"])
        a.append(3)
        b = held["b"].copy()
        b[0] = 4
        c = dict(held)
        c["a"] = 7
        d = held["b"] * 2
        d += 1
        return x * sum(a) * int(b.sum()) * c["a"] * int(d[0])

    return body


@pytest.mark.parametrize("name", ALLOWED)
def test_what_a_body_makes_it_may_change(name: str) -> None:
    body = ALLOWED[name]()
    run = jit(body)

    def plain(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [plain(item) for item in value]
        return value.asnumpy().tolist() if isinstance(value, Tensor) else value

    for _ in range(3):
        assert plain(run(X)) == plain(body(X))


def test_an_exception_leaves_the_tensors_of_eager_mode_behind() -> None:
    thing = Thing(1)

    @jit
    def body(x):
        thing.n = x * 2
        return {}["missing"]

    for _ in range(2):
        with pytest.raises(KeyError):
            body(X)
        assert thing.n.asnumpy().tolist() == [2.0, 4.0]


class Data:
    """A large object of which the body reads little."""

    def __init__(self) -> None:
        self.scale, self.rows = Tensor([2.0]), [[1], [2]]


DATA = Data()


def test_objects_are_gone_through_only_where_it_is_not_known_whence_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    parts = Outside.parts
    monkeypatch.setattr(Outside, "parts", lambda self, x: seen.append(id(x)) or parts(self, x))
    assert jit(lambda x: x * DATA.scale)(X).asnumpy().tolist() == [2.0, 4.0]
    assert id(DATA.rows) not in seen

    @jit
    def changed(x: Any) -> Any:
        for row in DATA.rows:
            row.append(3)
        return x

    with pytest.raises(CompileError, match="E217"):
        changed(X)
    assert id(DATA.rows) in seen and DATA.rows == [[1], [2]]


def test_what_an_operator_makes_of_containers_is_its_own() -> None:
    kept, table, row = {1, 2}, {"a": 1}, [1]

    @jit
    def joined(x: Any) -> Any:
        both, named, rows = kept | {9}, table | {"b": 2}, row * 2
        both.add(10)
        named["c"] = 3
        rows.append(3)
        return x * (len(both) + len(named) + len(rows))

    assert joined(X).asnumpy().tolist() == [10.0, 20.0]
    assert (kept, table, row) == ({1, 2}, {"a": 1}, [1])
