"""Attributes that a Cell assigns in `construct` have eager mode's values when a hook sees them, when a run fails, and in every mode."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.frontend.changes import workspace

CALLS = 3


@pytest.fixture(autouse=True)
def eager() -> Iterator[None]:
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def x_of(call: int) -> Tensor:
    return Tensor(np.array([1.0, -2.0, 3.0], np.float32) * (call + 1))


class Counting(nn.Cell):
    """Counts its calls, and keeps its last result and a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.n, self.last, self.total = 0, Tensor(np.zeros(3, np.float32)), Tensor(0.0)

    def construct(self, x):
        self.n += 1
        self.last = x * self.n
        self.total = self.total + self.last.sum()
        return self.last


class Outer(nn.Cell):
    def __init__(self, inner: nn.Cell) -> None:
        super().__init__()
        self.inner, self.calls, self.w = inner, 0, Parameter(Tensor(np.ones(3, np.float32)), name="w")

    def construct(self, x):
        self.calls = self.calls + 1
        y = self.inner(x * self.w)
        self.calls = self.calls * 2
        y = self.inner(y)
        return (y * self.inner.last).sum() + self.inner.total * self.calls


def shown(*cells: nn.Cell) -> list[Any]:
    found: list[Any] = []
    for cell in cells:
        for name in ("n", "calls", "last", "total"):
            value = getattr(cell, name, None)
            found.append(value.asnumpy().tolist() if isinstance(value, Tensor) else value)
    return found


Watch = Callable[[Outer, list[Any]], None]


def forward(net: Outer, log: list[Any]) -> None:
    net.inner.register_forward_hook(lambda cell, args, out: log.append(("forward", *shown(net, cell))))


def forward_pre(net: Outer, log: list[Any]) -> None:
    net.inner.register_forward_pre_hook(lambda cell, args: log.append(("pre", *shown(net, cell))))


def backward(net: Outer, log: list[Any]) -> None:
    net.inner.register_backward_hook(lambda cell, gi, go: log.append(("backward", *shown(net, net.inner))))


def parameter(net: Outer, log: list[Any]) -> None:
    net.w.register_hook(lambda gradient: log.append(("parameter", *shown(net, net.inner))))


def hook_that_writes(net: Outer, log: list[Any]) -> None:
    def hook(cell: Any, args: Any, out: Any) -> None:
        log.append(shown(net, cell))
        cell.n, net.calls, cell.total = cell.n + 100, net.calls + 7, cell.total * 2

    net.inner.register_forward_hook(hook)


def hook_that_deviates(net: Outer, log: list[Any]) -> None:
    """The graph was made for results of another type: the run goes on in a new graph."""

    def hook(cell: Any, args: Any, out: Any) -> Any:
        log.append(shown(net, cell))
        return out.astype(ms.float64) if cell.n % 3 == 0 else out

    net.inner.register_forward_hook(hook)


def hook_that_is_added_by_a_hook(net: Outer, log: list[Any]) -> None:
    def first(cell: Any, args: Any) -> None:
        log.append(("first", *shown(net, cell)))
        if cell.n == 1:
            forward(net, log)

    net.inner.register_forward_pre_hook(first)


WATCHES: list[Watch] = [
    lambda net, log: None, forward, forward_pre, backward, parameter, hook_that_writes, hook_that_deviates, hook_that_is_added_by_a_hook,
]


def with_jit(net: Outer) -> Callable[[Tensor], Any]:
    return jit(lambda x: net(x))


def in_graph_mode(net: Outer) -> Callable[[Tensor], Any]:
    def run(x: Tensor) -> Any:
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            return net(x)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)

    return run


def jitted_inside(net: Outer) -> Callable[[Tensor], Any]:
    inner = net.inner

    class Inner(type(inner)):
        construct = jit(type(inner).construct)

    inner.__class__ = Inner
    return net


def gradient(net: Outer) -> Callable[[Tensor], Any]:
    return ms.value_and_grad(net, 0, net.trainable_params())


def gradient_of_jit(net: Outer) -> Callable[[Tensor], Any]:
    run = jit(lambda x: net(x))
    return ms.value_and_grad(lambda x: run(x), 0, net.trainable_params())


def jit_of_gradient(net: Outer) -> Callable[[Tensor], Any]:
    return jit(lambda x: ms.value_and_grad(net, 0, net.trainable_params())(x))


def order_two(net: Outer) -> Callable[[Tensor], Any]:
    return ms.grad(lambda x: ms.grad(net)(x).sum())


def jit_of_order_two(net: Outer) -> Callable[[Tensor], Any]:
    return jit(lambda x: ms.grad(lambda z: ms.grad(net)(z).sum())(x))


def text(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype}{value.asnumpy().tolist()}"
    return f"({', '.join(map(text, value))})" if isinstance(value, (tuple, list)) else repr(value)


def played(way: Callable[[Outer], Callable[[Tensor], Any]], watch: Watch) -> list[str]:
    """Return the results, the log of the hooks and the state at the end of some calls."""
    net, log = Outer(Counting()), []
    run = way(net)
    watch(net, log)
    results = [text(run(x_of(i))) for i in range(CALLS)]
    return [*results, *map(repr, log), repr(shown(net, net.inner))]


@pytest.mark.parametrize("beside_others", [False, True], ids=["alone", "beside other threads"])
@pytest.mark.parametrize("watch", WATCHES)
def test_hooks_see_the_state_of_eager_mode(watch: Watch, beside_others: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "other_threads_run", lambda: beside_others)
    wanted = played(lambda net: net, watch)
    for way in (with_jit, in_graph_mode, jitted_inside):
        assert played(way, watch) == wanted, way.__name__
    wanted = played(gradient, watch)
    for way in (gradient_of_jit, jit_of_gradient):
        assert played(way, watch) == wanted, way.__name__
    assert played(jit_of_order_two, watch) == played(order_two, watch)


def test_what_was_written_before_an_exception_stays() -> None:
    def failing(kind: str, way: Callable[[Outer], Callable[[Tensor], Any]]) -> list[Any]:
        net = Outer(Counting())
        if kind == "hook":
            def hook(cell: Any, args: Any, out: Any) -> None:
                if cell.n == 3:
                    raise KeyError("stop")
            net.inner.register_forward_hook(hook)
        elif kind == "assert":
            class Checked(Counting):
                def construct(self, x):
                    y = super().construct(x)
                    assert y.max() < 20, "too large"
                    self.n += 1000
                    return y
            net = Outer(Checked())
        else:
            class Bounded(Counting):
                def construct(self, x):
                    y = super().construct(x)
                    if y.max() > 20:
                        raise ValueError("too large")
                    return y
            net = Outer(Bounded())
        run, found = way(net), []
        for i in range(CALLS):
            try:
                found.append(text(run(x_of(i))))
            except (KeyError, AssertionError, ValueError) as raised:
                found.append(type(raised).__name__)  # pytest adds to the message of an assert
            found.append(shown(net, net.inner))
        return found

    for kind in ("hook", "assert", "raise"):
        wanted = failing(kind, lambda net: net)
        assert any(str(part).endswith("Error") for part in wanted)
        for way in (with_jit, in_graph_mode, jitted_inside):
            assert failing(kind, way) == wanted, (kind, way.__name__)


def test_a_counter_makes_one_graph() -> None:
    net = Outer(Counting())
    run: Any = with_jit(net)
    graph = run.graph_of(x_of(0))
    for i in range(5):
        run(x_of(i))
    assert run.graph_of(x_of(0)) is graph
    net.inner.n = 40
    assert run.graph_of(x_of(0)) is graph
    net.inner.n = 0.5
    assert run.graph_of(x_of(0)) is not graph


def test_one_cell_in_a_container_of_the_library_twice() -> None:
    def found(mode: int) -> list[Any]:
        inner = Counting()
        net = nn.SequentialCell([inner, inner])
        ms.set_context(mode=mode)
        results = [text(net(x_of(i))) for i in range(CALLS)]
        return [results, shown(inner)]

    assert found(ms.GRAPH_MODE) == found(ms.PYNATIVE_MODE)


def test_the_user_sees_the_object_that_was_kept() -> None:
    net = Counting()
    run = jit(lambda x: net(x))
    x = x_of(0)
    assert run(x) is net.last

    class Keeper(nn.Cell):
        def construct(self, x):
            self.given = x
            return x * 2

    keeper = Keeper()
    jit(lambda x: keeper(x))(x)
    assert keeper.given is x


def test_what_is_kept_is_not_overwritten_by_the_next_run() -> None:
    net, kept = Counting(), []
    run = jit(lambda x: net(x) * 2)
    for i in range(CALLS):
        run(x_of(i))
        kept.append((net.last, net.last.asnumpy().tolist(), net.total, net.total.asnumpy().tolist()))
    for last, numbers, total, sum_ in kept:
        assert (last.asnumpy().tolist(), total.asnumpy().tolist()) == (numbers, sum_)


def test_a_tensor_kept_from_one_call_is_differentiated_in_the_next() -> None:
    """Both calls belong to one gradient: it flows through the attribute, as in eager mode."""

    class Recurrent(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.h = Tensor(np.zeros(3, np.float32))

        def construct(self, x):
            self.h = ops.tanh(self.h + x)
            return self.h

    def found(wrap: Callable[[Any], Any]) -> str:
        net = Recurrent()
        step = wrap(lambda x: net(x))

        def loss(x):
            net.h = Tensor(np.zeros(3, np.float32))
            step(x)
            return (step(x * 2) * step(x)).sum()

        return text([ms.grad(loss)(x_of(0)), ms.grad(lambda x: ms.grad(loss)(x).sum())(x_of(1))])

    assert found(jit) == found(lambda step: step)


def test_two_threads_count_in_one_function_while_it_is_parsed() -> None:
    """Counts may be lost, as in Python without a lock.  But each call sees some number, and the attribute never holds anything else."""

    class Plain(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.n = 0

        def construct(self, x):
            self.n += 1
            return x * self.n

    net, seen = Plain(), []
    run = jit(lambda x: net(x))
    run(x_of(0))

    def other() -> None:
        for size in range(4, 10):
            seen.append(run(Tensor(np.ones(size, np.float32))).asnumpy()[0])

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(100):
        seen.append(run(x_of(0)).asnumpy()[0])
    thread.join()
    assert all(float(n).is_integer() and 2 <= n <= 107 for n in seen)
    assert type(net.n) is int
    assert 7 <= net.n <= 107


def test_a_graph_keeps_no_cell_alive() -> None:
    net = Counting()
    run = jit(lambda cell, x: cell(x))
    run(net, x_of(0))
    gc.collect()
    gone = weakref.ref(net)
    del net
    gc.collect()
    assert gone() is None


def test_what_cannot_be_kept_is_an_error_at_its_line() -> None:
    class Listing(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.n, self.seen = 0, []

        def construct(self, x):
            self.n += 1
            self.seen = {x, x * 2}
            return x

    net = Listing()
    with pytest.raises(CompileError, match=r"E209.*\n.*\n.*\n.*self.seen = "):
        jit(lambda x: net(x))(x_of(0))
    assert (net.n, net.seen) == (0, [])
