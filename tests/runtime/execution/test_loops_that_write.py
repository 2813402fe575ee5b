"""Loops that write state run inside of the call: the state is that of eager mode at any time, and nothing else changes with it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.ir.parse import parse_module
from adjoint.ir.plan import Nested, Straight
from adjoint.runtime.execution import bound_plan, launches
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.running.optimised import quiet_plan
from tests.runtime.graphs_by_hand import N, T, function, made, same

LOOPS = {
    "a value that is read, computed and written": """
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    v: f32[3] = add(r, a)
    write! @w(v)
    b: f32[3] = mul(a, v)
    yield b
  }""",
    "a value that is needed after the write": """
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    write! @w(a)
    b: f32[3] = sub(r, a)
    yield b
  }""",
    "one whose alias is needed": """
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    k: f32[3] = reshape(r, to=f32[3])
    v: f32[3] = mul(a, 0.5_f32)
    write! @w(v)
    q: f32[3] = read @w
    b: f32[3] = add(q, k)
    yield b
  }""",
    "one that is yielded": """
  y: f32[3], z: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x, c: f32[3] = x) {
    r: f32[3] = read @w
    v: f32[3] = mul(a, 0.5_f32)
    write! @w(v)
    b: f32[3] = add(a, c)
    yield b, r
  }""",
    "one that a branch reads and yields": """
  y: f32[3], z: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x, c: f32[3] = x) {
    first: bool = equal(i, 0_i64)
    d: f32[3] = if first {
      v: f32[3] = mul(a, 0.5_f32)
      write! @w(v)
      r: f32[3] = read @w
      yield r
    } else {
      yield c
    }
    b: f32[3] = add(a, d)
    yield b, d
  }""",
    "one that a loop needs which writes": """
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    b: f32[3] = for j in range(0, 2, 1) carry (c: f32[3] = a) {
      e: f32[3] = add(c, r)
      write! @w(e)
      yield e
    }
    yield b
  }""",
    "two that change places": """
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    s: f32[3] = read @u
    write! @w(s)
    write! @u(r)
    b: f32[3] = add(a, s)
    yield b
  }""",
    "a value from before the loop": """
  before: f32[3] = read @w
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = before) {
    r: f32[3] = read @w
    v: f32[3] = add(r, before)
    write! @w(v)
    b: f32[3] = mul(a, 1.5_f32)
    yield b
  }""",
    "a value from between two loops, after a write": """
  write! @w(x)
  t: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    v: f32[3] = add(r, a)
    write! @w(v)
    yield v
  }
  between: f32[3] = read @w
  y: f32[3] = for j in range(0, n, 1) carry (c: f32[3] = t) {
    s: f32[3] = read @w
    u: f32[3] = mul(s, 0.5_f32)
    write! @w(u)
    b: f32[3] = add(c, between)
    yield b
  }""",
    "a loop and a branch in a loop": """
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    b: f32[3] = for j in range(0, i, 1) carry (c: f32[3] = a) {
      s: f32[3] = read @w
      d: f32[3] = mul(s, 0.5_f32)
      write! @w(d)
      e: f32[3] = add(c, r)
      yield e
    }
    odd: i64 = mod(i, 2_i64)
    t: bool = equal(odd, 1_i64)
    g: f32[3] = if t {
      o: f32[3] = read @u
      write! @u(b)
      h: f32[3] = add(o, b)
      yield h
    } else {
      yield r
    }
    yield g
  }""",
    "a while that tests what it writes": """
  k: i64 = read @count
  y: f32[3] = while carry (a: f32[3] = x) test {
    c: i64 = read @count
    t: bool = less(c, n)
    yield t
  } do {
    e: i64 = read @count
    d: i64 = add(e, 1_i64)
    write! @count(d)
    b: f32[3] = mul(a, 0.5_f32)
    yield b
  }""",
}


def text_of(name: str) -> str:
    head = "param @w: f32[3]\nparam @u: f32[3]\nparam @count: i64\nfunc @f(x: f32[3], n: i64) -> f32[3] {"
    return f"{head}{LOOPS[name]}\n  end: f32[3] = read @w\n  all: f32[3] = add(y, end)\n  return all\n}}"


def state() -> dict[str, Parameter]:
    values = {"w": T(1, 2, 3), "u": T(-1, 0.5, 4), "count": N(0, np.int64)}
    return {name: Parameter(value, name=name) for name, value in values.items()}


def loops_in(text: str) -> list[Nested]:
    plan = planned(parse_module(text).functions["f"], identities=True, accesses=True)
    return [entry for piece in plan.body.pieces if isinstance(piece, Straight) for entry in piece.entries if isinstance(entry, Nested)]


@pytest.mark.parametrize("name", LOOPS)
def test_inside_of_the_call_and_by_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(name)
    assert loops_in(text)
    found = []
    for inside in (True, False):
        if not inside:
            monkeypatch.setattr(launches, "table_step", lambda *_: None)
            monkeypatch.setattr(bound_plan, "written_call", lambda *_: None)
        tensors, results = state(), list[Tensor]()
        f = function(made(text, dict(tensors)))
        for rounds in (0, 1, 2, 5):
            results.append(f(T(1, -1, 2), N(rounds, np.int64)))
            results += [Tensor(x.asnumpy().copy()) for x in tensors.values()]
        found.append(results)
    same(*found)


def test_others_that_hold_the_memory_keep_their_values() -> None:
    name = "a value that is read, computed and written"
    tensors = state()
    f, w = function(made(text_of(name), dict(tensors))), tensors["w"]
    array, other = w.asnumpy(), w.reshape((3,))
    f(T(1, 1, 1), N(3, np.int64))
    assert array.tolist() == [1, 2, 3] and other.asnumpy().tolist() == [1, 2, 3]
    del array, other
    memory = w.memory
    del memory
    before = id(w.memory)
    f(T(1, 1, 1), N(3, np.int64))
    assert id(w.memory) == before  # nothing else holds it: it is written in place


def test_a_launch_that_fails_in_a_round() -> None:
    """What the rounds before have written stays, and what this one wrote before it failed."""
    f = """
param @w: f32[3]
param @u: f32[3]
func @f(x: f32[3], n: i64) -> f32[3] {
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    v: f32[3] = add(r, x)
    write! @w(v)
    b: f32 = gather(a, i, axis=0)
    s: f32[3] = add(a, b)
    write! @u(s)
    yield s
  }
  return y
}"""
    w, u = Parameter(T(0, 0, 0), name="w"), Parameter(T(0, 0, 0), name="u")
    with pytest.raises(IndexError):
        function(made(f, {"w": w, "u": u}))(T(1, 1, 1), N(9, np.int64))
    same((Tensor(w.asnumpy()), Tensor(u.asnumpy())), (T(4, 4, 4), T(8, 8, 8)))


class Counted:
    """Counts in a number of Python's how often its loop has begun."""

    def __init__(self) -> None:
        self.begun = 0

    def loop(self, x: Any) -> Any:
        self.begun += 1
        while x < 1:
            x = x * 1
        return x


def test_an_interrupted_loop_leaves_the_state_of_its_rounds(interrupt: Callable[[Callable[[], Any]], None]) -> None:
    """And what was written before the loop."""
    begun, steps, sums = (Parameter(N(0.0), name=name) for name in ("begun", "steps", "sums"))

    def counting(x: Any) -> Any:
        begun.set_data(x)
        while x < 1:
            steps.set_data(steps + 1)
            sums.set_data(sums + 2)
        return x

    function_ = jit(counting)
    function_(N(2.0))
    interrupt(lambda: function_(N(-3.0)))
    assert 0 < float(steps) == float(sums) / 2 and float(begun) == -3


def test_an_interrupted_loop_leaves_what_python_holds(interrupt: Callable[[Callable[[], Any]], None]) -> None:
    counted = Counted()
    function_ = jit(counted.loop)
    function_(N(2.0))
    interrupt(lambda: function_(N(0.0)))
    assert counted.begun == 2


@pytest.fixture
def interrupt() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Call a function that does not end, and stop it."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    def interrupted(function_: Callable[[], Any]) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)  # of processor time, so that the loop has begun
        with pytest.raises(KeyboardInterrupt):
            function_()

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        yield interrupted
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_large_state_is_handed_over_by_python() -> None:
    text = text_of("a value that is read, computed and written")
    assert loops_in(text) and not loops_in(text.replace("f32[3]", "f32[20000]"))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 2)

    def construct(self, x: Any) -> Any:
        return ops.tanh(self.dense(x))


def trained(make: Any, compiled: bool) -> tuple[Any, ...]:
    ms.set_seed(3)
    net = Net()
    optimizer = make(net.trainable_params())
    step = ms.value_and_grad(lambda x, y: ((net(x) - y) ** 2).mean(), None, net.trainable_params())

    def training(x: Any, y: Any, rounds: Any) -> Any:
        loss = x.sum()
        for _ in range(rounds):
            loss, gradients = step(x, y)
            optimizer(gradients)
        return loss

    x, y, rounds = T([1, 2, 3], [0, -1, 1]), T([0.5, 0], [0, 0.5]), N(7, np.int64)
    if compiled:
        pieces = quiet_plan(parsed(training, x, y, rounds).graph).body.pieces
        (loop,) = [entry for piece in pieces if isinstance(piece, Straight) for entry in piece.entries if isinstance(entry, Nested)]
        assert loop.writes
    loss = (jit(training) if compiled else training)(x, y, rounds if compiled else 7)
    return loss, *(Tensor(p.asnumpy().copy()) for p in (*net.get_parameters(), *optimizer.get_parameters()))


@pytest.mark.parametrize("make", [
    lambda weights: nn.SGD(weights, 0.1), lambda weights: nn.Momentum(weights, 0.1, 0.9), lambda weights: nn.Adam(weights, 0.1)])
def test_training_in_a_loop(make: Any) -> None:
    """Gradients, and an optimiser with its state, in each round."""
    same(trained(make, False), trained(make, True))
