"""Calls that run eagerly in the place of their graph: what they call runs eagerly, too, and what their hooks call does not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, jit, jit_stats, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.runtime.process.tracer import state, tracing

X = Tensor(np.array([0.5, -1.0, 2.0], np.float32))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.act = nn.Sigmoid(), nn.Tanh()

    def construct(self, x: Tensor) -> Tensor:
        return self.act(self.first(x) * 2) + x


def ways(function: Any) -> set[str]:
    return {each.way for graph in jit_stats(function).graphs for each in graph.ways}


@pytest.fixture
def graph_mode() -> Iterator[None]:
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def hooked(hook: Callable[..., Any]) -> Net:
    """Return a net with a hook that returns another value, so that all but the first calls run eagerly."""
    net = Net()
    net.act.register_forward_hook(hook)
    return net


def often(function: Callable[[Tensor], Any]) -> Any:
    jit_stats(function)
    for _ in range(6):
        found = function(X)
    return found


def test_a_call_is_that_of_eager_mode() -> None:
    net = hooked(lambda cell, args, output: output * 2)
    run = jit(net)
    assert often(run).asnumpy().tobytes() == net(X).asnumpy().tobytes()
    assert ways(run) == {"left the graph", "eagerly"}


def test_what_a_hook_calls_runs_as_graphs() -> None:
    inner = jit(lambda x: ops.sin(x) * 3)
    jit_stats(inner)
    often(jit(hooked(lambda cell, args, output: inner(output))))
    assert sum(each.count for graph in jit_stats(inner).graphs for each in graph.ways) == 6


def test_what_a_backward_hook_calls_runs_as_graphs() -> None:
    inner = jit(lambda x: ops.sin(x) * 3)
    jit_stats(inner)
    net = hooked(lambda cell, args, output: output * 2)
    net.first.register_backward_hook(lambda cell, grad_input, grad_output: (inner(grad_input[0]),))
    gradient = ms.grad(net)
    run = jit(lambda x: gradient(x))
    expected = gradient(X).asnumpy().tobytes()
    jit_stats(inner)
    assert often(run).asnumpy().tobytes() == expected
    assert sum(each.count for graph in jit_stats(inner).graphs for each in graph.ways) == 7


def test_jitted_functions_of_the_body_run_eagerly() -> None:
    inner = jit(lambda x: ops.sin(x) * 3)
    net = hooked(lambda cell, args, output: output * 2)
    run = jit(lambda x: inner(net(x)))
    assert often(run).asnumpy().tobytes() == (ops.sin(net(X)) * 3).asnumpy().tobytes()
    assert ways(run) == {"left the graph", "eagerly"}
    assert not jit_stats(inner).graphs


@pytest.mark.usefixtures("graph_mode")
def test_cells_in_graph_mode() -> None:
    """Cells of the body run eagerly, those that a hook calls as graphs; the mode of the process stays."""
    other, modes = Net(), list[int]()

    def hook(cell: nn.Cell, args: Any, output: Tensor) -> Tensor:
        modes.append(ms.get_context("mode"))
        return other(output)

    net = hooked(hook)
    jit_stats(other)
    often(net)
    assert ways(net) == {"left the graph", "eagerly"}
    assert ways(other) == {"in pieces", "one function"} or ways(other) == {"in pieces"}
    assert set(modes) == {ms.GRAPH_MODE}
    assert not jit_stats(net.first).graphs


def raising(kind: type[BaseException]) -> Callable[..., Any]:
    calls = list[int]()

    def hook(cell: nn.Cell, args: Any, output: Tensor) -> Tensor:
        calls.append(1)
        if len(calls) == 5:
            raise kind("stopped")
        return output * 2

    return hook


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_the_thread_is_as_before_after_an_exception(kind: type[BaseException]) -> None:
    run = jit(hooked(raising(kind)))
    for _ in range(4):
        run(X)
    with pytest.raises(kind, match="stopped"):
        run(X)
    assert not state.eager
    assert not tracing
    inner = jit(lambda x: x * 2)
    often(inner)
    assert ways(inner)


def test_what_follows_a_hook_runs_eagerly() -> None:

    inner = jit(lambda x: x * 5)
    found: list[bool] = []

    class Watching(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x

    watching = Watching()
    watching.register_forward_hook(lambda cell, args, output: found.append(state.eager))
    net = hooked(lambda cell, args, output: output * 2)
    run = jit(lambda x: inner(watching(net(x))))
    often(run)
    assert not any(found)
    assert not jit_stats(inner).graphs


def test_other_threads_keep_their_graphs() -> None:
    inner = jit(lambda x: ops.sin(x) * 3)
    jit_stats(inner)

    def hook(cell: nn.Cell, args: Any, output: Tensor) -> Tensor:
        thread = threading.Thread(target=lambda: inner(X))
        thread.start()
        thread.join()
        return output * 2

    class Threaded(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x

    often(jit(hooked(hook)))
    assert sum(each.count for graph in jit_stats(inner).graphs for each in graph.ways) == 6


def test_the_whole_graph_is_demanded() -> None:
    run = jit(hooked(lambda cell, args, output: output * 2), fullgraph=True)
    for _ in range(3):
        with pytest.raises(CompileError, match="the way of this call is 'left the graph'"):
            run(X)
    with pytest.raises(CompileError, match="the way of this call is 'eagerly'"):
        run(X)


def test_the_whole_graph_is_demanded_later() -> None:
    net = hooked(lambda cell, args, output: output * 2)
    often(jit(net))
    with pytest.raises(CompileError, match="the way of this call is 'eagerly'"):
        jit(net, fullgraph=True)(X)


def test_calls_run_as_graphs_again_without_the_hook() -> None:
    net = Net()
    handle = net.act.register_forward_hook(lambda cell, args, output: output * 2)
    run = jit(net)
    often(run)
    handle.remove()
    jit_stats(run, reset=True)
    for _ in range(3):
        assert run(X).asnumpy().tobytes() == net(X).asnumpy().tobytes()
    assert "eagerly" not in ways(run)


def test_what_a_hook_writes_into_an_array_changes_no_tensor() -> None:
    """As in graphs: the arrays of what it is given are copies."""
    def hook(cell: nn.Cell, args: Any, output: Tensor) -> Tensor:
        for given in (output, args[0]):
            given.asnumpy()[:] = 100
        own = output * 2
        own.asnumpy()[0] = 7
        return own

    net = hooked(hook)
    run = jit(net)
    found = [run(X).asnumpy().tolist() for _ in range(6)]
    assert found == [found[0]] * 6
    assert found[0][0] == 7 + X.asnumpy()[0]


def test_arguments_are_those_of_the_call() -> None:
    """Not copies of them: a hook sees the very list."""
    seen: list[Any] = []

    class Summed(nn.Cell):
        def construct(self, parts: list[Tensor]) -> Tensor:
            return parts[0] + parts[1]

    net, parts = Summed(), [X, X * 2]
    net.register_forward_pre_hook(lambda cell, args: seen.append(args[0]))
    net.register_forward_hook(lambda cell, args, output: output * 2)
    run = jit(lambda parts: net(parts))
    often_with = [run(parts).asnumpy().tolist() for _ in range(6)]
    assert often_with == [often_with[0]] * 6
    assert seen[-1] is parts


def test_arguments_by_name_and_methods() -> None:
    net = hooked(lambda cell, args, output: output * 2)

    class Model(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        @jit
        def construct(self, x: Tensor, function: float = 1.0, *more: Tensor, scale: float) -> Tensor:
            return sum(more, self.net(x) * function) * scale

    model = Model()
    plain = Model.construct.__wrapped__
    for _ in range(6):
        assert model(X, scale=2.0).asnumpy().tobytes() == plain(model, X, scale=2.0).asnumpy().tobytes()
        found, expected = (f(X, 3.0, X, scale=0.5) for f in (model, lambda *args, **names: plain(model, *args, **names)))
        assert found.asnumpy().tobytes() == expected.asnumpy().tobytes()
        assert model(x=X, function=2.0, scale=2.0).asnumpy().tobytes() == plain(model, X, 2.0, scale=2.0).asnumpy().tobytes()
