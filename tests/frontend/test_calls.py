# ruff: noqa: UP031, UP032 - old ways to make texts are what is tested
"""Calls of Python functions from parsed code: what runs while parsing, what is called when the graph runs, what is rejected."""

from __future__ import annotations

import functools
import heapq
import importlib
import itertools
import math
import random
import time
from collections import Counter, namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import packaging.version
import pytest

import adjoint
from adjoint import Tensor
from adjoint.foundation.diagnostics import CompileError

Pair = namedtuple("Pair", "a b")
TABLE = {0: "none", 1: "one"}
generator = np.random.default_rng(3)


@functools.lru_cache
def cached(x, n):
    return x * n


def texts(x):
    n = int(x.sum())
    print("sum %s, %03d and 100%%" % (x.sum(), n), "%(n)5d|" % {"n": n})
    print("{} {0!r} {}".replace("{0!r}", "{!r}").format(x, x.shape, n), "{k:>4}".format(k=n), ", ".join(["a", f"{n}", "b"]))
    return x


def test_texts_are_made_when_the_graph_runs(capsys: pytest.CaptureFixture[str]) -> None:
    x = Tensor([1.0, 2.0])
    texts(x)
    expected = capsys.readouterr().out
    run = adjoint.jit(texts)
    run(x)
    assert capsys.readouterr().out == expected
    run(Tensor([3.0, 2.0]))
    assert "sum 5.0, 005 and 100%" in capsys.readouterr().out


@pytest.mark.parametrize("function", [
    lambda x: x * math.sqrt(2.0) + np.linalg.norm([3.0, 4.0]),
    lambda x: x * next(iter([2.0, 3.0])),
    lambda x: x * sum(itertools.islice(itertools.count(1), 3)),
    lambda x: x * functools.reduce(lambda a, b: a * b, [1, 2, 3]),
    lambda x: x * Counter("abca")["a"] * len(set([1, 2, 2])),  # noqa: C405 - the call is what is tested
    lambda x: x * heapq.nsmallest(1, [3, 2])[0],
    lambda x: x * sorted([3, 1, 2], key=lambda n: -n, reverse=True)[0],
    lambda x: cached.__wrapped__(x, 3) * 2,
    lambda x: Pair(x, 2)._replace(b=3).b * x,
    lambda x: sum(list(zip([x, x * 2], range(2), strict=True))[1]),
    lambda x: (lambda kept: [kept.append(x * 2), kept[-1]][1])([x].copy()),
])
def test_what_depends_on_its_arguments_alone(function: Callable[..., Any]) -> None:
    x = Tensor([1.0, -2.0])
    assert adjoint.jit(function)(x).asnumpy().tolist() == function(x).asnumpy().tolist()


@pytest.mark.parametrize("function", [
    lambda x: x * time.perf_counter(), lambda x: x * random.uniform(1.0, 2.0), lambda x: x * random.gauss(0.0, 1.0),
    lambda x: x * np.random.normal(), lambda x: x * generator.random(), lambda x: x * np.random.default_rng(1).random(),
    lambda x: x * id(x), lambda x: x * len(list(endless)), lambda x: x * sum(endless), lambda x: x * cached.cache_info().currsize,
    lambda x: cached(x, 3), lambda x: x * next(map(cached, [1], [2])), lambda x: functools.partial(cached, n=3)(x),
    lambda x: (cached.cache_clear(), x)[1],
])
def test_what_a_graph_would_freeze(function: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match="E208"):
        adjoint.jit(function)(Tensor([1.0, -2.0]))


endless = iter([1, 2, 3])


@pytest.mark.parametrize("function", [
    lambda x, n: x * len(TABLE.get(n, "")), lambda x, n: x * len(TABLE[n]), lambda x, n: x * (n in {1, 2}), lambda x, n: x * (n in TABLE),
    lambda x, n: x * len({1, 2} | {n}), lambda x, n: x * len(set([n, 1])), lambda x, n: x * Counter([n])[1],  # noqa: C405
    lambda x, n: x * len(dict.fromkeys([n])), lambda x, n: x * TABLE.setdefault(n, 1), lambda x, n: x * len({(n, 1): 2}),
])
def test_numbers_of_the_run_are_not_looked_up(function: Callable[..., Any]) -> None:
    run = adjoint.jit(lambda x, t: function(x, int(t)))
    with pytest.raises(CompileError, match="E203"):
        run(Tensor([1.0, -2.0]), Tensor(1))
    assert TABLE == {0: "none", 1: "one"}


def test_a_list_from_outside_is_left_as_it_was() -> None:
    history: list[Any] = [1]
    log: dict[str, list[Any]] = {"losses": []}

    @adjoint.jit
    def f(x):
        log["losses"].append(x.sum())
        history.append(2)
        return x

    with pytest.raises(CompileError, match=r"(?s)E209.*stored in a list from outside"):
        f(Tensor([1.0]))
    assert log == {"losses": []}


def test_a_copy_of_a_list_from_outside_may_be_changed() -> None:
    table = [1.0, 2.0]

    @adjoint.jit
    def f(x):
        mine = [*table]
        mine.append(x.sum())
        return sum(mine)

    assert f(Tensor([1.0])).item() == 4.0
    assert table == [1.0, 2.0]


LIBRARY = """
def outer(x, change=None):
    if change is not None:
        return change(x)
    return inner(x)

def inner(x):
    try:
        return x * 2
    except ValueError:
        return x
"""


def test_what_an_installed_package_cannot_is_shown_at_the_users_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "installed_elsewhere.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    library = importlib.import_module("installed_elsewhere")

    def of_the_user(x):
        try:
            return x
        except ValueError:
            return x

    with pytest.raises(CompileError) as caught:
        adjoint.jit(lambda x: library.outer(x) + 1)(Tensor([1.0]))
    found = caught.value.diagnostic
    assert found.code == "E202" and found.loc.file == __file__ and isinstance(caught.value, RuntimeError)  # type: ignore[union-attr]
    assert found.label == "`outer` of installed_elsewhere cannot become part of a graph" and "call it outside" in found.help
    assert f"note: `try` is not supported in a graph\n  --> {folder / 'installed_elsewhere.py'}:8:5\n" in str(caught.value)
    with pytest.raises(CompileError) as caught:
        adjoint.jit(lambda x: library.outer(x, of_the_user))(Tensor([1.0]))
    assert caught.value.diagnostic.label == "`try` is not supported in a graph" and caught.value.diagnostic.loc.file == __file__  # type: ignore[union-attr]


class Base:
    def __init__(self) -> None:
        self.a = 3


class Derived(Base):
    def __init__(self, b: int) -> None:
        super().__init__()
        self.b = b


class Alone:
    def __init__(self, b: int) -> None:
        super().__init__()
        self.b = b


def test_a_plain_class_calls_the_init_of_its_base() -> None:
    @adjoint.jit
    def f(x):
        return x * Derived(2).b * Derived(2).a + Alone(1).b

    assert f(Tensor([1.0])).item() == 7.0


through: Any = map


@pytest.mark.parametrize("function", [lambda x: through(abs), lambda x: through(), lambda x: list(through(lambda a: a))])
def test_map_without_anything_to_go_through(function: Any) -> None:
    with pytest.raises(TypeError) as eager:
        function(0)
    with pytest.raises(TypeError) as graph:
        adjoint.jit(function)(Tensor([1.0]))
    assert str(eager.value) in str(graph.value)
    assert any("test_calls.py" in note for note in graph.value.__notes__)


def test_versions_are_compared_while_parsing() -> None:
    # Programs ask so for the version of MindSpore, and one branch may call what is not there.
    @adjoint.jit
    def f(x: Tensor) -> Tensor:
        if packaging.version.parse("2.10.0") <= packaging.version.parse("1.10.1"):
            return adjoint.ops.not_there(x)
        return x + 1.0

    assert [f(Tensor([1.0])).item(), f(Tensor([2.0])).item()] == [2.0, 3.0]


def test_the_number_of_a_tensor_that_is_made_from_a_number_is_known() -> None:
    @adjoint.jit
    def f(x: Tensor, k: int) -> Any:
        step, count = Tensor(4 // 2), Tensor(k)
        return x[0:-1:step], x[count:], adjoint.ops.tile(x, (int(count),)), x.reshape((count, -1))

    x = Tensor(np.arange(12.0, dtype=np.float32))
    found = f(x, 3)
    assert [part.shape for part in found] == [(6,), (9,), (36,), (3, 4)] and found[0].tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
