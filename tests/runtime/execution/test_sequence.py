"""A sequence runs a graph as eager mode runs the same program: values, gradients to the bit, errors."""

from __future__ import annotations

import functools
import threading
import weakref

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.diagnostics import UNKNOWN, Unknown
from adjoint.ir.core import walk as nodes_of
from adjoint.ir.ops.random import RandomUniform
from adjoint.ir.types import F32, tensor
from adjoint.runtime.execution import tables
from adjoint.runtime.execution.run import Deviation
from adjoint.runtime.gradients import adjoints as program
from adjoint.runtime.gradients.grad import GradOperation
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.hooks.firing import fire_forward
from adjoint.runtime.process.location import user_location
from adjoint.runtime.process.tracer import state
from adjoint.runtime.tensor.random_keys import next_key
from adjoint.runtime.tensor.tensor import apply
from tests.runtime.graphs_by_hand import N, T, function, made, same

PURE = """
func @f(x: f32[2], y: f32[2]) -> (f32[2], f32) {
  a: f32[2] = mul(x, 2.0_f32)
  b: f32[2] = add(a, y)
  c: f32[2] = tanh(b)
  s: f32 = sum(c, axes=[0])
  return c, s
}
"""


def test_pure_nodes():
    f = function(made(PURE))

    def eager(x, y):
        c = ops.tanh(x * 2.0 + y)
        return c, c.sum()

    x, y = T(1, -2), T(0.5, 3)
    same(f(x, y), eager(x, y))
    same(ms.grad(f, (0, 1))(x, y), ms.grad(eager, (0, 1))(x, y))


def test_a_constant_result_belongs_to_the_caller():
    f = function(made("func @f() -> (f32, f32) {\n return 0.0_f32, -0.0_f32\n}"))
    a, b = f()
    assert np.signbit(b.asnumpy()) and not np.signbit(a.asnumpy())
    a.set_data(N(7))
    assert f()[0].asnumpy() == 0


# -- state and control -----------------------------------------------------------------------------------------------
STATE = """
param @w : f32[2]
func @f(x: f32[2]) -> f32[2] {
  w: f32[2] = read @w
  y: f32[2] = mul(x, w)
  write! @w(y)
  w.1: f32[2] = read @w
  z: f32[2] = mul(y, w.1)
  return z
}
"""


def test_state_is_the_parameter_itself():
    w, v = Parameter(T(2, 3), name="w"), Parameter(T(2, 3), name="v")
    f = function(made(STATE, {"w": w}))

    def eager(x):
        y = x * v
        ops.assign(v, y)
        return y * v

    x = T(1, 5)
    same(f(x), eager(x))
    same(w, v)
    same(ms.grad(f, 0, [w])(x), ms.grad(eager, 0, [v])(x))
    same(w, v)


@pytest.mark.parametrize("many", [0, 8])
def test_state_of_another_type(many: int, monkeypatch: pytest.MonkeyPatch):
    """Also where the text looks up all tensors of state together."""
    monkeypatch.setattr(tables, "_MANY", many)
    w = Parameter(T(2, 3), name="w")
    f = function(made(STATE, {"w": w}))
    w.set_data(T(1, 2, 3))
    with pytest.raises(Deviation) as raised:
        f(T(1, 2))
    assert raised.value.node.op.name == "read" and raised.value.observed == (w,)


CONTROL = """
func @f(x: f32, n: i64) -> f32 {
  y: f32 = for i in range(0, n, 1) carry (a: f32 = x) {
    k: f32 = cast(i, to=f32)
    b: f32 = mul(a, x)
    c: bool = greater(b, 2.0_f32)
    d: f32 = if c {
      e: f32 = sin(b)
      yield e
    } else {
      g: f32 = add(b, k)
      yield g
    }
    yield d
  }
  z: f32 = while carry (h: f32 = y) test {
    m: bool = less(h, 10.0_f32)
    yield m
  } do {
    p: f32 = mul(h, 1.5_f32)
    q: f32 = add(p, 1.0_f32)
    yield q
  }
  return z
}
"""


@pytest.mark.parametrize("x", [-1.5, 0.3, 1.7, 2.2])
def test_control(x):
    f = function(made(CONTROL))

    def eager(x, n):
        a = x
        for i in range(int(n)):
            b = a * x
            a = ops.sin(b) if b > 2.0 else b + float(i)
        while a < 10.0:
            a = a * 1.5 + 1.0
        return a

    for n in (0, 1, 4):
        given = N(x), N(n, np.int64)
        same(f(*given), eager(*given))
        same(ms.grad(f)(*given), ms.grad(eager)(*given))
        same(ms.grad(ms.grad(f))(*given), ms.grad(ms.grad(eager))(*given))


def test_one_path_of_the_tape_for_one_path_of_the_graph(monkeypatch):
    built = []
    original = program._built
    monkeypatch.setattr(program, "_built", lambda *arguments: built.append(1) or original(*arguments))
    f = function(made(CONTROL))
    for _ in range(3):
        ms.grad(f)(N(0.3), N(2, np.int64))
    assert len(built) == 1
    ms.grad(f)(N(0.3), N(3, np.int64))
    assert len(built) == 2


def test_a_branch_that_is_never_taken_needs_no_kernel(monkeypatch):
    planned = []
    original = tables.plan_for
    monkeypatch.setattr(tables, "plan_for", lambda op, types: planned.append(op.name) or original(op, types))
    f = function(made("""
func @f(x: f32, m: f32[2, 2]) -> f32[2, 2] {
  c: bool = greater(x, 0.0_f32)
  y: f32[2, 2] = if c {
    a: f32[2, 2] = sin(m)
    yield a
  } else {
    b: f32[2, 2] = matmul(m, m)
    yield b
  }
  return y
}
"""))
    m = T(1, 2, 3, 4).reshape((2, 2))
    assert not planned
    f(N(1), m)
    f(N(1), m)
    assert planned == ["greater", "sin"]


def test_values_that_only_move():
    f = function(made("""
func @f(x: f32[2], c: bool) -> (f32[2], f32[2]) {
  t: tuple<f32[2], f32> = group(x, 1.0_f32)
  a: f32[2] = item(t, index=0)
  u: f32[2] = undef()
  y: f32[2], r: f32[2] = if c {
    yield a, u
  } else {
    yield u, a
  }
  s: stack<f32[2]> = stack()
  s.1: stack<f32[2]> = push(s, a)
  s.2: stack<f32[2]>, z: f32[2] = pop(s.1)
  return x, z
}
"""))
    x = T(1, 2)
    first, second = f(x, N(True, bool))
    assert first is x and second is not x  # a stack holds numbers, not tensors
    same(second, x)


def test_draws_take_keys_of_the_stream():
    f = function(made("""
func @f() -> f32[3] {
  key: u64[2] = draw!()
  y: f32[3] = random_uniform(key, to=f32[3])
  return y
}
"""))
    ms.set_seed(3)
    first, second = f(), f()
    ms.set_seed(3)
    same([first, second], [apply(RandomUniform(tensor(F32, (3,))), next_key()) for _ in range(2)])


def test_large_values_are_let_go_after_their_last_use():
    seen = []
    graph = made("""
host @look = "look"
host @gone = "gone"
func @f(x: f32[2000]) -> f32[] {
  a: f32[2000] = mul(x, 2.0_f32)
  apply! @look(a)
  b: f32[2000] = cell "c" carry (p: f32[2000] = a) {
    q: f32[2000] = sin(p)
    apply! @look(q)
    r: f32[2000] = cos(q)
    s: f32[2000] = sin(r)
    apply! @gone(s)
    yield s
  }
  c: f32 = sum(b, axes=[0])
  apply! @gone(c)
  return c
}
""", hosts={"look": lambda x: seen.append(weakref.ref(x)), "gone": lambda x: alive.append([r() is not None for r in seen])})
    alive = []
    f = function(graph)
    f(Tensor(np.ones(2000, np.float32)))
    assert alive == [[True, False], [False, False]]


def test_threads_share_a_sequence():
    f = function(made(CONTROL))
    gradient = ms.grad(f)
    expected = [gradient(N(0.1 * k), N(k, np.int64)).asnumpy() for k in range(8)]
    wrong = []

    def work():
        for _ in range(20):
            for k in range(8):
                if gradient(N(0.1 * k), N(k, np.int64)).asnumpy() != expected[k]:
                    wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- gradients within ----------------------------------------------------------------------------------------------------
GRADIENT = """
param @w : f32[2]
host @h = ""
func @f(x: f32[2], s: f32[2]) -> (f32[2], f32[2], f32[2], f32[2]) {
  a: f32[2] = mul(x, 2.0_f32)
  y: f32[2], more: f32[2], p': f32[2], w': f32[2] = gradient of=1 by=[@w] sens (s) carry (p: f32[2] = a) {
    w: f32[2] = read @w
    b: f32[2] = mul(p, w)
    attach! @h(b)
    c: f32[2] = sin(b)
    d: f32[2] = mul(c, p)
    yield d, b
  }
  return y, more, p', w'
}
"""


def test_a_gradient_within():
    w, log = Parameter(T(0.5, 3), name="w"), []

    def hook(gradient):
        log.append(repr(gradient))

    f = function(made(GRADIENT, {"w": w}, {"h": hook}))

    def inner(p):
        b = p * w
        b.register_hook(hook)
        return ops.sin(b) * p, b

    def eager(x, s):
        operation = GradOperation(get_all=True, get_by_list=True, sens_param=True)
        kept = []

        def first(p):
            y, b = inner(p)
            kept[:] = y, b
            return y

        (by_p,), (by_w,) = operation(first, ms.ParameterTuple([w]))(x * 2.0, s)
        return (*kept, by_p, by_w)

    x, s = T(1, 2), T(3, 4)
    results, logs = [], []
    for g in (f, eager):
        def total(x, s, g=g):
            return sum((r * r).sum() for r in g(x, s))

        results.append((g(x, s), ms.grad(total, (0, 1), [w])(x, s), ms.grad(ms.grad(lambda x, t=total: t(x, s)))(x)))
        logs.append(log[:])
        log.clear()
    same(*results)
    assert logs[0] == logs[1] and len(logs[0]) >= 3


def test_gradients_one_inside_another():
    f = function(made("""
func @f(a: f32) -> f32 {
  z: f32, a': f32 = gradient of=1 carry (x: f32 = a) {
    y: f32, x': f32 = gradient of=1 carry (u: f32 = x) {
      v: f32 = mul(u, u)
      w: f32 = mul(v, u)
      k: f32 = mul(w, x)
      yield k
    }
    yield x'
  }
  return a'
}
"""))
    eager = ms.grad(lambda x: ms.grad(lambda u: u * u * u * x)(x))
    same(f(N(2)), eager(N(2)))
    same(ms.grad(f)(N(2)), ms.grad(eager)(N(2)))


def test_nothing_flows():
    f = function(made("""
func @f(a: f32[2], b: f32[2]) -> (f32[2], f32[2]) {
  y: f32[2], a': f32[2], b': f32[2] = gradient of=1 carry (x: f32[2] = a, u: f32[2] = b) {
    v: f32[2] = mul(u, u)
    yield v
  }
  return a', b'
}
"""))
    same(f(T(1, 2), T(3, 4)), ms.grad(lambda x, u: u * u, (0, 1))(T(1, 2), T(3, 4)))


# -- mistakes, and where they were made ------------------------------------------------------------------------------------
PROGRAM = """def f(x, i):
    y = x[i]
    y.register_hook(shown)
    return y * 2.0
"""

PLACED = """
host @shown = ""
host @raise = ""
func @f(x: f32[2], i: i64) -> f32 {{
  c: bool = greater(i, 0_i64)
  y: f32 = if c {{                                     at {file}:1:1
    z: f32 = gather(x, i, axis=0)                      at {file}:2:9
    yield z
  }} else {{
    o: f32 = sum(x, axes=[0])
    yield o
  }}
  attach! @shown(y)                                    at {file}:3:5
  apply! @raise(y)                                     at {file}:4:12
  w: f32 = mul(y, 2.0_f32)                          at {file}:4:12
  return w
}}
"""


@pytest.fixture
def placed(tmp_path):
    """Return a graph whose nodes have locations in a file, its hosts, and the file's name."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    hosts = {"shown": lambda gradient: None, "raise": lambda y: None}
    return made(PLACED.format(file=file), hosts=hosts), hosts, str(file)


@pytest.mark.parametrize("transform", [lambda f: f, ms.grad, lambda f: ms.grad(lambda x, i: ms.grad(f)(x, i).sum())])
def test_an_exception_shows_the_line_of_its_node(placed, transform):
    graph, _, file = placed
    f = transform(function(graph))
    with pytest.raises(IndexError) as raised:
        f(T(1, 2), N(5, np.int64))
    (note,) = raised.value.__notes__
    assert note == f"raised by 'gather' of a graph\n  --> {file}:2:9\n   |\n2  |     y = x[i]\n   |         ^"
    f(T(1, 2), N(1, np.int64))  # as if nothing had happened


@pytest.mark.parametrize("kind", [KeyError, KeyboardInterrupt, SystemExit])
def test_python_that_raises(placed, kind):
    graph, hosts, file = placed
    boom = kind("boom")
    f = ms.grad(function(graph))

    def shown(gradient):
        raise boom

    expected = f(T(1, 2), N(1, np.int64))
    before, hosts["raise"] = hosts["raise"], shown
    with pytest.raises(kind) as raised:
        f(T(1, 2), N(1, np.int64))
    assert raised.value is boom and f"{file}:4:12" in boom.__notes__[0]
    hosts["raise"], hosts["shown"] = before, shown
    with pytest.raises(kind) as raised:
        f(T(1, 2), N(1, np.int64))
    assert raised.value is boom and len(boom.__notes__) == 2
    assert boom.__notes__[1].endswith(f"on value 'y', forward at {file}:2")  # where the value is made, not where the hook is attached
    hosts["shown"] = lambda gradient: None
    same(f(T(1, 2), N(1, np.int64)), expected)


def test_the_line_of_hooks_and_of_what_they_record(placed):
    """A forward hook's note names the node's line; ops that a hook records keep the hook's own line."""
    graph, hosts, file = placed
    cell = nn.ReLU()

    def hook(cell, args, output):
        raise ValueError("mine")

    cell.register_forward_hook(hook)
    hosts["raise"] = functools.partial(fire_forward, cell, ((), {}))
    f = function(graph)
    with pytest.raises(ValueError) as raised:
        f(T(1, 2), N(1, np.int64))
    assert raised.value.__notes__[0].endswith(f"forward at {file}:4")

    def looks(y):
        found.append(str(user_location()))
        y * 2.0
        found.append(str(state.tracer.at.node.loc))
        assert state.tracer.site is None

    found = []
    hosts["raise"] = looks
    ms.grad(f)(T(1, 2), N(1, np.int64))
    assert all(place.startswith(__file__) for place in found) and len(found) == 2


PARTS_WITHOUT_PLACES = """
func @f(x: f32[2], i: i64) -> (f32[2], f32[2]) {{
  c: bool = greater(i, 0_i64)
  y: f32[2] = if c {{                                     at {file}:2:9
    z: f32[2] = sin(x)
    yield z
  }} else {{
    yield x
  }}
  v: f32[2], t: trace<f32[2] -> f32[2]> = record of=1 carry (u: f32[2] = y) {{    at {file}:3:5
    w: f32[2] = cos(u)
    yield w
  }}
  p: f32[2] = pull!(t, v)                                at {file}:4:12
  return v, p
}}
"""


def test_the_line_of_what_has_no_place_is_that_of_the_node_around_it(tmp_path):
    """Ops in a branch, ops in a function that is differentiated, and ops of the adjoint that a `pull!` runs."""
    file = tmp_path / "program.py"
    graph = made(PARTS_WITHOUT_PLACES.format(file=file))
    for node in nodes_of(graph.function.body):
        if isinstance(node.loc, Unknown):
            object.__setattr__(node, "loc", UNKNOWN)  # its place in the text is one too
    f = function(graph)
    running = state.tracer = Tape()
    try:
        begun = running.begin("f", None)
        f(running.leaf(T(1, 2)), N(1, np.int64))
        lines = [(node.op.name, str(node.loc)) for node in running.path().nodes(begun)]
    finally:
        state.tracer = None
    lines = [line for line in lines if line[0] != "identity"]  # of a leaf
    assert lines[:2] == [("sin", f"{file}:2:9"), ("cos", f"{file}:3:5")]
    assert len(lines) > 2 and {place for _, place in lines[2:]} == {f"{file}:4:12"}
