"""Branches and loops that need no Python run inside of one C call, with the values of the interpreter to the bit."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, jit, nn, ops
from adjoint.ir.interpret import interpret
from adjoint.ir.parse import parse_module
from adjoint.ir.plan import Nested, Plan, Straight
from adjoint.runtime.execution import launches
from adjoint.runtime.execution.batches import batches
from adjoint.runtime.execution.carrying import turn_of
from adjoint.runtime.execution.planning import planned
from adjoint.runtime.execution.stages import Jump, LaunchStage
from adjoint.runtime.graphs.calls.making import parsed
from adjoint.runtime.graphs.running.optimised import quiet_plan
from adjoint.runtime.memory.machine import machine
from tests.runtime.graphs_by_hand import N, T, function, made, same

LOOPS = {
    "a carried value and one that is computed from it": """
func @f(x: f32[3], n: i64) -> f32[3] {
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    b: f32[3] = mul(a, 0.5_f32)
    d: f32[3] = add(b, a)
    yield d
  }
  return y
}""",
    "values that change places": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3], f32[3]) {
  y: f32[3] = neg(x)
  p: f32[3], q: f32[3], r: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x, b: f32[3] = y, c: f32[3] = x) {
    d: f32[3] = add(a, b)
    yield b, d, a
  }
  return p, q, r
}""",
    "a swap, and one that stays": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3], f32[3]) {
  y: f32[3] = neg(x)
  p: f32[3], q: f32[3], r: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x, b: f32[3] = y, c: f32[3] = x) {
    yield b, a, c
  }
  return p, q, r
}""",
    "one value yielded twice, one from outside, a number, an alias": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3], f32[3], f32, f32[3]) {
  z: f32[3] = neg(x)
  p: f32[3], q: f32[3], r: f32[3], s: f32, t: f32[3] = for i in range(0, n, 1)
      carry (a: f32[3] = x, b: f32[3] = x, c: f32[3] = x, d: f32 = 1.0_f32, e: f32[3] = x) {
    g: f32[3] = add(a, c)
    h: f32[3] = mul(g, d)
    k: f32[3] = identity(e)
    yield h, h, z, 3.0_f32, k
  }
  return p, q, r, s, t
}""",
    "an alias of an alias, needed after another value": """
func @f(x: f32[3], n: i64) -> f32[3] {
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    b: f32[3] = mul(a, 0.5_f32)
    c: f32[3] = identity(b)
    d: f32[3] = reshape(c, to=f32[3])
    e: f32[3] = add(a, 1.0_f32)
    g: f32[3] = mul(e, d)
    yield g
  }
  return y
}""",
    "one value taken by two others": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3], f32[3]) {
  y: f32[3] = abs(x)
  p: f32[3], q: f32[3], r: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x, b: f32[3] = x, c: f32[3] = y) {
    d: f32[3] = neg(c)
    yield c, c, d
  }
  return p, q, r
}""",
    "a loop in a loop, whose results are carried": """
func @f(x: f32[3], n: i64) -> (f32[3], i64) {
  y: f32[3], k: i64 = for i in range(0, n, 1) carry (a: f32[3] = x, j: i64 = 0_i64) {
    b: f32[3], m: i64 = for l in range(i, -2, -2) carry (c: f32[3] = a, o: i64 = j) {
      d: f32[3] = mul(c, 0.75_f32)
      e: f32[3] = sub(d, x)
      q: i64 = add(o, l)
      yield e, q
    }
    yield b, m
  }
  return y, k
}""",
    "branches in a loop": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3]) {
  y: f32[3], z: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x, b: f32[3] = x) {
    odd: i64 = mod(i, 2_i64)
    c: bool = equal(odd, 1_i64)
    p: f32[3], q: f32[3] = if c {
      d: f32[3] = neg(a)
      e: f32[3] = add(d, b)
      yield e, e
    } else {
      g: f32[3] = mul(b, 2.0_f32)
      h: f32[3] = reshape(g, to=f32[3])
      yield a, h
    }
    r: f32[3] = add(p, 1.0_f32)
    yield r, q
  }
  return y, z
}""",
    "a while": """
func @f(x: f32[3], n: i64) -> (f32[3], i64) {
  y: f32[3], k: i64 = while carry (a: f32[3] = x, j: i64 = 0_i64) test {
    c: bool = less(j, n)
    yield c
  } do {
    b: f32[3] = mul(a, 0.3_f32)
    l: i64 = add(j, 1_i64)
    yield b, l
  }
  return y, k
}""",
    "a while that tests what it carries, in a while": """
func @f(x: f32[3], n: i64) -> (f32[3], i64) {
  less_: bool = less(0_i64, n)
  y: f32[3], k: i64, more: bool = while carry (a: f32[3] = x, j: i64 = 0_i64, go: bool = less_) test {
    yield go
  } do {
    b: f32[3], m: i64 = while carry (c: f32[3] = a, o: i64 = 3_i64) test {
      t: bool = greater(o, j)
      yield t
    } do {
      d: f32[3] = neg(c)
      p: i64 = sub(o, 1_i64)
      yield d, p
    }
    l: i64 = add(j, 1_i64)
    go.1: bool = less(l, n)
    yield b, l, go.1
  }
  return y, k
}""",
    "a row that is written where nothing needs the value before": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3]) {
  y: f32[3], z: f32[3] = for i in range(0, n, 3) carry (a: f32[3] = x, b: f32[3] = x) {
    c: f32[3] = mul(a, b)
    s: f32 = sum(c, axes=[0])
    d: f32[3] = set_row(a, 1_i64, s)
    yield d, c
  }
  return y, z
}""",
    "a row of a value that is needed afterwards": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3]) {
  y: f32[3], z: f32[3] = for i in range(0, n, 3) carry (a: f32[3] = x, b: f32[3] = x) {
    s: f32 = sum(b, axes=[0])
    d: f32[3] = set_row(a, -1_i64, s)
    c: f32[3] = mul(a, d)
    yield d, c
  }
  return y, z
}""",
    "a row of a value that is yielded, too": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3]) {
  y: f32[3], z: f32[3] = for i in range(0, n, 3) carry (a: f32[3] = x, b: f32[3] = x) {
    c: f32[3] = mul(a, b)
    s: f32 = sum(c, axes=[0])
    d: f32[3] = set_row(a, 1_i64, s)
    yield d, a
  }
  return y, z
}""",
    "a loop whose result is used by launches and loops after it": """
func @f(x: f32[3], n: i64) -> (f32[3], f32[3]) {
  y: f32[3] = for i in range(n, 0, -1) carry (a: f32[3] = x) {
    b: f32[3] = mul(a, 0.5_f32)
    yield b
  }
  z: f32[3] = add(y, x)
  w: f32[3], v: f32[3] = for j in range(0, n, 3) carry (c: f32[3] = y, d: f32[3] = z) {
    e: f32[3] = add(c, y)
    yield d, e
  }
  u: f32[3] = mul(w, v)
  return u, y
}""",
}


def pieces(plan: Plan) -> list[Any]:
    return list(plan.body.pieces)


def is_one_call(plan: Plan) -> bool:
    return len(plan.body.pieces) == 1 and isinstance(plan.body.pieces[0], Straight)


@pytest.mark.parametrize("name", LOOPS)
def test_the_values_are_those_of_the_interpreter(name: str) -> None:
    module = parse_module(LOOPS[name])
    assert is_one_call(planned(module.functions["f"], identities=True, accesses=True))
    f, x = function(made(LOOPS[name])), T(1, -2, 0.5)
    for rounds in (0, 1, 2, 3, 6, 7):
        expected = interpret(module.functions["f"], [x.asnumpy(), np.array(rounds, np.int64)])
        results = f(x, N(rounds, np.int64))
        for a, b in zip(expected, results, strict=True) if isinstance(results, tuple) else [(expected[0], results)]:
            assert np.asarray(a).tobytes() == b.asnumpy().tobytes(), (name, rounds)


def test_all_memory_of_a_loop_is_its_own() -> None:
    """Results of one run stay as they are when the function runs again; arguments are not written."""
    f, x = function(made(LOOPS["values that change places"])), T(1, 2, 3)
    first = f(x, N(3, np.int64))
    before = [r.asnumpy().copy() for r in first]
    f(T(7, 8, 9), N(4, np.int64))
    assert all(np.array_equal(a, b.asnumpy()) for a, b in zip(before, first)) and x.asnumpy().tolist() == [1, 2, 3]


def test_threads_run_one_loop_at_a_time_each_with_its_own_blocks() -> None:
    f = function(made(LOOPS["values that change places"]))
    inputs = [T(i, -i, 1) for i in range(6)]
    expected, found = [f(x, N(i + 50, np.int64)) for i, x in enumerate(inputs)], [None] * 6

    def work(i: int) -> None:
        for _ in range(50):
            found[i] = f(inputs[i], N(i + 50, np.int64))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(tuple(expected), tuple(found))


@pytest.mark.parametrize("threads", [1, 3])
def test_large_values_and_many_threads(threads: int) -> None:
    text = LOOPS["values that change places"].replace("f32[3]", "f32[50000]")
    x, library = Tensor(np.random.default_rng(0).standard_normal(50000).astype(np.float32)), machine().library
    before = library.adjoint_threads()
    library.adjoint_set_threads(threads)
    try:
        expected = interpret(parse_module(text).functions["f"], [x.asnumpy(), np.array(5, np.int64)])
        for a, b in zip(expected, function(made(text))(x, N(5, np.int64)), strict=True):
            assert a.tobytes() == b.asnumpy().tobytes()
    finally:
        library.adjoint_set_threads(before)


@pytest.mark.parametrize(("name", "count"), [
    ("a row that is written where nothing needs the value before", 1), ("a row of a value that is needed afterwards", 0),
    ("a row of a value that is yielded, too", 0)])
def test_a_row_is_written_in_the_block_of_the_value(name: str, count: int) -> None:
    (piece,) = pieces(planned(parse_module(LOOPS[name]).functions["f"], identities=True))
    (entry,) = [each for each in piece.entries if isinstance(each, Nested)]
    turn = turn_of(entry.control)
    assert len(turn.updated) == count and not set(turn.updated) & set(turn.direct)


def test_how_blocks_change_places() -> None:
    (piece,) = pieces(planned(parse_module(LOOPS["values that change places"]).functions["f"], identities=True))
    (entry,) = [each for each in piece.entries if isinstance(each, Nested)]
    names = {slot: value.hint for node in (entry.node,) for slot, value in zip(entry.control.params, node.regions[0].params, strict=True)}
    (cycle,) = turn_of(entry.control).cycles
    # The third takes the first one's block, this the second one's, this that of what the body computes.
    assert [names.get(slot, "computed") for slot in cycle] == ["c", "a", "b", "computed"]


# -- state -----------------------------------------------------------------------------------------------------------------
STATE = """
param @w: f32[3]
func @f(x: f32[3], n: i64) -> f32[3] {
  w: f32[3] = read @w
  v: f32[3] = add(w, x)
  write! @w(v)
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    r: f32[3] = read @w
    b: f32[3] = mul(a, r)
    yield b
  }
  write! @w(y)
  z: f32[3] = read @w
  u: f32[3] = add(z, v)
  return u
}"""


def test_state_is_read_where_the_loop_begins() -> None:
    def run(n: int) -> tuple[Tensor, Tensor]:
        w = Parameter(T(1, 2, 3), name="w")
        f = function(made(STATE, {"w": w}))
        return f(T(1, -1, 0.5), N(n, np.int64)), Tensor(w.asnumpy().copy())

    same(run(2), (T(2 + 4, -1 + 1, 0.5 * 3.5 * 3.5 + 3.5), T(4, -1, 0.5 * 3.5 * 3.5)))
    same(run(0), (T(3, 0, 4), T(1, -1, 0.5)))


def test_a_loop_that_writes_state() -> None:
    text = STATE.replace("    yield b", "    write! @w(b)\n    yield b")
    w = Parameter(T(1, 1, 1), name="w")
    f = function(made(text, {"w": w}))
    same(f(T(1, 1, 1), N(2, np.int64)), T(4 + 2, 4 + 2, 4 + 2))


# -- what Python sees ------------------------------------------------------------------------------------------------------
SHOWN = """
host @seen = ""
func @f(x: f32[3], n: i64) -> f32[3] {
  z: f32[3] = neg(x)
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = %initial%) {
    b: f32[3] = mul(a, 2.0_f32)
    yield b
  }
  d: f32[3] = apply! @seen(y)
  return d
}"""


@pytest.mark.parametrize(("initial", "nested"), [("z", True), ("x", False)])
def test_a_host_sees_the_same_tensor(initial: str, nested: bool) -> None:
    """What a host sees after no round may be an argument: then the very object."""
    text = SHOWN.replace("%initial%", initial)
    plan = planned(parse_module(text).functions["f"], identities=True)
    assert isinstance(plan.body.pieces[0], Straight) and any(isinstance(e, Nested) for e in plan.body.pieces[0].entries) == nested
    seen: list[Tensor] = []
    f = function(made(text, hosts={"seen": lambda y: seen.append(y) or y}))
    x = T(1, 2, 3)
    f(x, N(0, np.int64))
    assert (seen[0] is x) == (initial == "x")
    same(f(x, N(2, np.int64)), seen[1])
    same(seen[1], T(4, 8, 12) if initial == "x" else T(-4, -8, -12))


def test_a_branch_that_hands_an_argument_on() -> None:
    f = function(made("""
func @f(x: f32[3], c: bool) -> f32[3] {
  y: f32[3] = if c { n: f32[3] = neg(x) yield n } else { yield x }
  return y
}"""))
    x = T(1, 2, 3)
    assert f(x, N(False, np.bool_)) is x
    same(f(x, N(True, np.bool_)), T(-1, -2, -3))


# -- errors ----------------------------------------------------------------------------------------------------------------
def test_a_step_of_zero() -> None:
    text = LOOPS["a carried value and one that is computed from it"].replace("range(0, n, 1)", "range(0, 3, n)")
    with pytest.raises(ValueError, match="range\\(\\) arg 3 must not be zero"):
        function(made(text))(T(1, 2, 3), N(0, np.int64))


FAILING = """
param @w: f32[3]
func @f(x: f32[3], n: i64) -> f32[3] {
  v: f32[3] = add(x, x)
  write! @w(v)
  y: f32[3] = for i in range(0, n, 1) carry (a: f32[3] = x) {
    b: f32[1] = gather(a, i, axis=0)
    s: f32[3] = add(a, b)
    yield s
  }
  write! @w(y)
  return y
}"""


def test_a_launch_that_fails_in_a_round() -> None:
    """The state has what was written before the loop, and nothing of what comes after it."""
    w = Parameter(T(0, 0, 0), name="w")
    text = FAILING.replace("b: f32[1]", "b: f32")
    f = function(made(text, {"w": w}))
    f(T(1, 2, 3), N(3, np.int64))
    with pytest.raises(IndexError):
        f(T(1, 2, 3), N(5, np.int64))
    same(Tensor(w.asnumpy()), T(2, 4, 6))


def test_a_loop_that_does_not_end_can_be_interrupted() -> None:
    """By a signal, as by Ctrl-C; the line of the loop is shown, and the next run is right."""
    w = Parameter(T(1), name="w")

    def turning(x: Any, step: Any) -> Any:
        w.set_data(w + 1)
        while x.sum() < 10:
            x = x + step
        w.set_data(w * 10)
        return x

    function_ = jit(turning)
    same(function_(T(0, 0), N(1.0)), T(5, 5))
    same(Tensor(w.asnumpy()), T(20))

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            function_(T(0, 0), N(0.0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert "while x.sum() < 10:" in "".join(raised.value.__notes__)
    same(Tensor(w.asnumpy()), T(21))
    same(function_(T(0, 0), N(2.5)), T(5, 5))


def test_without_a_kernel_python_runs_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "table_step", lambda *_: None)
    for text in LOOPS.values():
        expected = interpret(parse_module(text).functions["f"], [np.array([1, -2, 0.5], np.float32), np.array(3, np.int64)])
        results = function(made(text))(T(1, -2, 0.5), N(3, np.int64))
        for a, b in zip(expected, results, strict=True) if isinstance(results, tuple) else [(expected[0], results)]:
            assert np.asarray(a).tobytes() == b.asnumpy().tobytes()


# -- whole programs --------------------------------------------------------------------------------------------------------
class Recurrent(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Dense(4, 4)

    def construct(self, h: Any, x: Any, n: Any) -> Any:
        for _ in range(n):
            h = ops.tanh(self.cell(h) + x)
            if h.sum() > 3:
                break
        return h


def test_a_cell_in_a_loop_with_break_is_one_call() -> None:
    ms.set_seed(1)
    net, h, x, n = Recurrent(), ops.ones((2, 4), ms.float32), ops.ones((2, 4), ms.float32), N(20, np.int64)
    assert is_one_call(quiet_plan(parsed(net, h, x, n).graph))
    compiled = jit(net)
    for scale in (0.1, 1.0):
        same(compiled(h, x * scale, n), net(h, x * scale, n))
    same(ms.grad(lambda h: compiled(h, x, n).sum())(h), ms.grad(lambda h: net(h, x, n).sum())(h))


def test_a_fit_in_a_loop_takes_gradients_inside_of_the_call() -> None:
    def loss(w: Any, x: Any) -> Any:
        return ((w * x - 3.0) ** 2).mean()

    def fit(w: Any, x: Any, n: Any) -> Any:
        for _ in range(n):
            w = w - 0.1 * ms.grad(loss)(w, x)
        return w

    w, x, n = T(0, 0, 0), T(1, 2, 3), N(50, np.int64)
    assert is_one_call(quiet_plan(parsed(fit, w, x, n).graph))
    same(jit(fit)(w, x, n), fit(w, x, n))


# -- batches ---------------------------------------------------------------------------------------------------------------
def test_no_batch_holds_a_branch_or_what_one_leads_to() -> None:
    (launch,) = {each for each in _stages(LOOPS["a while"]) if isinstance(each, LaunchStage) and each.node.op.name == "mul"}
    apart = [LaunchStage(launch.kernel, ((i, 0), (i + 1, 0)), (12, 12), 1, launch.node, None) for i in (0, 2, 4, 6)]
    assert batches(apart, {}, {}) == [4, 1, 1, 1]
    assert batches([apart[0], Jump(launch.node, None, 3), *apart[1:]], {}, {}) == [1, 1, 1, 2, 1]
    own = {-1: [(0, 0, 64)], -2: [(0, 0, 64)]}
    turned = [LaunchStage(launch.kernel, ((1, 0), (-1, 0)), (12, 12), 1, launch.node, None),
              LaunchStage(launch.kernel, ((2, 0), (0, 32)), (12, 12), 1, launch.node, None)]
    assert batches(turned, {}, own) == [1, 1]


def _stages(text: str) -> list[Any]:
    from adjoint.ir.core import tensor_type
    from adjoint.runtime.execution import tables
    from adjoint.runtime.memory.op_plans import plan_for

    plan = planned(parse_module(text).functions["f"], identities=True, accesses=True)
    (piece,) = plan.body.pieces
    assert isinstance(piece, Straight)
    plans = {launch: plan_for(launch.node.op, [tensor_type(x) for x in launch.node.operands]) for launch in piece.launches}
    table = tables.PieceTable(piece, plan.slots, set(), {}, {})
    table.plans = plans
    for entry in piece.entries:
        assert isinstance(entry, Nested)
        table.nested(entry, entry.operands)
    return table.stages
