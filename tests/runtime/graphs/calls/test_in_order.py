"""A call whose sizes come for the first time runs node by node, with eager mode's bits, writes and exceptions; the second makes a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops, watch
from adjoint.runtime.graphs.calls import making
from adjoint.runtime.graphs.running.node_by_node import InOrder


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In order of the calls: "once" for one that ran node by node, "graph" for one that made a graph."""
    found: list[str] = []
    run, make = InOrder._run, making.make

    def once(*given: Any) -> Any:
        found.append("once")
        return run(*given)

    def made(*given: Any) -> Any:
        found.append("graph")
        return make(*given)

    monkeypatch.setattr(InOrder, "_run", once)
    monkeypatch.setattr(making, "make", made)
    return found


def rows(n: int) -> Tensor:
    return Tensor(np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32))


def labels(n: int, first: int = 0) -> Tensor:
    return Tensor((np.arange(n) % 3 + first).astype(np.int32))


def training(way: Callable[[Any], Any]) -> tuple[Callable[..., Any], list[Parameter]]:
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 3))
    loss_of, optimizer = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), nn.Adam(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(lambda x, y: loss_of(net(x), y), None, optimizer.parameters)

    def step(x: Tensor, y: Tensor) -> Any:
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss, [x.reshape((-1,)) * 2.0]

    return way(step), [*optimizer.parameters, *optimizer.moment1]


def bits(values: Any) -> list[bytes]:
    return [x.asnumpy().tobytes() for x in values]


def test_the_first_call_of_a_size_needs_no_graph(runs: list[str]) -> None:
    steps = [training(way) for way in (lambda f: f, jit)]
    for n in (5, 6, 7, 8, 7, 7, 8):
        results = [step(rows(n), labels(n)) for step, _ in steps]
        assert bits([results[0][0], *results[0][1]]) == bits([results[1][0], *results[1][1]]), n
        assert bits(steps[0][1]) == bits(steps[1][1]), n
    assert runs == ["graph", "graph", "once", "once", "graph", "graph"]  # the second 7 and the second 8


def test_a_failure_is_that_of_eager_mode(runs: list[str]) -> None:
    w = Parameter(Tensor(np.zeros((), np.float32)), name="w")

    def checked(x: Tensor, y: Tensor) -> Tensor:
        w.set_data(w + x.sum())
        loss = ops.cross_entropy(x, y)
        w.set_data(w * 2.0)
        return loss

    found: list[Any] = []
    for function in (checked, jit(checked)):
        w.set_data(Tensor(np.zeros((), np.float32)))
        for n in (5, 6):
            function(rows(n), labels(n))
        with pytest.raises(IndexError, match="labels") as failed:
            function(rows(9), labels(9, 2))
        found.append((str(failed.value), w.asnumpy().item()))
    assert found[0] == found[1]
    assert "loss = ops.cross_entropy(x, y)" in "".join(getattr(failed.value, "__notes__", ()))
    assert runs[-1] == "once"


def test_what_is_written_is_held_by_nothing_else(runs: list[str]) -> None:
    first, second = (Parameter(Tensor(np.zeros(4, np.float32)), name=name) for name in ("first", "second"))

    @jit
    def written(x: Tensor) -> Any:
        total = x.sum(0)
        first.set_data(total)
        second.set_data(first)
        return total, total.reshape((2, 2))

    for n in (5, 6, 7):
        before = first.asnumpy()
        kept = before.copy()
        total, square = written(rows(n))
        first.set_data(first + 1.0)
        assert bits([total, square]) == bits([second, second])
        assert before.tobytes() == kept.tobytes()
    assert runs[-1] == "once"


@pytest.mark.parametrize("reason", ["hook", "observer", "large", "argument"])
def test_where_a_graph_is_made_at_once(runs: list[str], reason: str) -> None:
    seen: list[Any] = []

    def function(x: Tensor) -> Any:
        return ms.grad(lambda x: ops.tanh(x).sum())(x) if reason == "hook" else (x, x * 2.0) if reason == "argument" else x * 2.0

    graph = jit(function)
    for n in (5, 6):
        graph(rows(n))
    if reason == "observer":
        with watch.times():
            graph(rows(7))
    else:
        x = rows(2**21 if reason == "large" else 7)
        if reason == "hook":
            x.register_hook(seen.append)
        graph(x)
        assert len(seen) == (reason == "hook")
    assert runs == ["graph"] * 3
