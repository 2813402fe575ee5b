"""Straight pieces under a tape: the second run is one call and one recording, with the bits of the first."""

from __future__ import annotations

import pytest

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.runtime.execution import recorded
from adjoint.runtime.gradients.tape import Tape
from tests.runtime.graphs_by_hand import T, same


def chain(x: Tensor, y: Tensor) -> Tensor:
    a = ops.tanh(x * y + 0.5)
    b = ops.reshape(ops.sin(a) * a, (3, 1))
    return (ops.stop_gradient(b) * ops.cos(b)).sum() + (a * y).sum()


@pytest.fixture
def extended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of ops of each recording by one call."""
    counts: list[int] = []
    extend = Tape.extend

    def counted(self, recording, operands, made):
        counts.append(len(recording.ops))
        extend(self, recording, operands, made)

    monkeypatch.setattr(Tape, "extend", counted)
    return counts


def recorded_call(graph):
    """Return a function that calls a graph: its gradient is taken on a tape, that of the graph itself needs none."""
    return lambda *args: graph(*args)


def gradients(f, x, y):
    """Of both arguments, of one, and of a gradient: adjoints that need different values of the same piece."""
    return ms.grad(f, (0, 1))(x, y), ms.grad(f)(x, y), ms.grad(lambda x, y: ms.grad(f)(x, y).sum(), (0, 1))(x, y)


def test_gradients_of_a_graph(extended: list[int]) -> None:
    graph, x, y = recorded_call(ms.jit(chain)), T(1, -2, 0.0), T(0.5, 3, -1)
    expected = gradients(chain, x, y)
    extended.clear()
    for _ in range(4):
        same(gradients(graph, x, y), expected)
    assert extended.count(13) >= 10  # the ops of `chain`


def test_an_adjoint_that_is_recorded(extended: list[int]) -> None:
    """In a gradient of a gradient the inner adjoint is a straight piece."""
    def second(x: Tensor, y: Tensor) -> Tensor:
        return ms.grad(lambda x: ms.grad(chain)(x, y).sum())(x)

    x, y = T(1, -2, 0.0), T(0.5, 3, -1)
    expected = second(x, y)
    assert not extended
    same([second(x, y), second(x, y)], [expected, expected])
    assert len(extended) == 2


def test_a_loop_runs_its_piece_again(extended: list[int]) -> None:
    """What one round has kept is not taken for a value of the next."""
    def loop(x: Tensor, n: Tensor) -> Tensor:
        i = ops.zeros((), ms.int64)
        while i < n:
            x = ops.sin(x * 1.5) * x
            i = i + 1
        return x.sum()

    n, graph = Tensor(5, ms.int64), recorded_call(ms.jit(loop))
    for x in (T(1, 2, -0.5), T(0.3, -2, 4)):
        for _ in range(2):
            same(ms.value_and_grad(graph)(x, n), ms.value_and_grad(loop)(x, n))
    assert extended


def test_a_piece_without_kernels(monkeypatch: pytest.MonkeyPatch, extended: list[int]) -> None:
    monkeypatch.setattr(recorded, "table_step", lambda *arguments: None)
    graph, x, y = recorded_call(ms.jit(chain)), T(1, -2, 0.0), T(0.5, 3, -1)
    for _ in range(3):
        same(ms.grad(graph, (0, 1))(x, y), ms.grad(chain, (0, 1))(x, y))
    assert not extended
