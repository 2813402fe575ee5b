"""The walker runs a graph as eager mode runs the same program: values, gradients to the bit, hooks, errors."""

from __future__ import annotations

import functools
import threading
import weakref

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.core import walk as nodes_of
from adjoint.ir.ops.random import RandomUniform
from adjoint.ir.parse import parse_module
from adjoint.ir.types import F32, tensor
from adjoint.runtime import program, walk
from adjoint.runtime.grad import GradOperation
from adjoint.runtime.graph import CellSite, Deviation, Graph, Slots, site_key
from adjoint.runtime.location import user_location
from adjoint.runtime.random import next_key
from adjoint.runtime.state import state
from adjoint.runtime.tape import Tape
from adjoint.runtime.tensor import apply
from adjoint.runtime.walk import bind


def T(*values):  # short, since it stands in every line
    return Tensor(np.array(values, np.float32))


def N(value, dtype=np.float32):
    return Tensor(np.array(value, dtype))


def made(text, params=None, hosts=None, cells=()):
    """A graph from text; `cells` are the sites of its cells, in order."""
    module = parse_module(text)
    found = [node for node in nodes_of(module.functions["f"].body) if node.op.name == "cell"]
    sites = {site_key(node): site for node, site in zip(found, cells, strict=bool(cells))}
    return Graph(module, "f", params or {}, hosts or {}, sites)


def function(graph):
    """The graph as a function of tensors."""
    bound = bind(graph)

    def f(*arguments):
        results = bound.run(arguments)
        return results[0] if len(results) == 1 else tuple(results)

    return f


def site(cell, pattern=None):
    """The call of a cell with tensors alone, and one result."""
    return CellSite(cell, lambda tensors: (tuple(tensors), {}), lambda tensors: tensors[0], pattern or Slots.of(cell))


def same(a, b):
    """Equal to the bit, through tuples."""
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a.type is b.type
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes(), (a, b)


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


def test_state_of_another_type():
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
    original = walk.plan_for
    monkeypatch.setattr(walk, "plan_for", lambda op, types: planned.append(op.name) or original(op, types))
    f = function(made("""
func @f(x: f32) -> f32 {
  c: bool = greater(x, 0.0_f32)
  y: f32 = if c {
    a: f32 = sin(x)
    yield a
  } else {
    b: f32 = cos(x)
    yield b
  }
  return y
}
"""))
    assert not planned
    f(N(1))
    f(N(1))
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
    assert first is x and second is x


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


def test_threads_share_a_walk():
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


# -- hooks ---------------------------------------------------------------------------------------------------------------
def test_hooks_on_values():
    log = []

    def seen(name, factor=None):
        def hook(*gradients):
            log.append((name, repr(gradients)))
            return None if factor is None else gradients[0] * factor

        return hook

    def pair(gradients):
        log.append(("pair", repr(gradients)))
        return gradients[1] * 3.0, gradients[0]

    value, inserted, attached = seen("attached"), seen("inserted", 2.0), seen("again", 5.0)
    f = function(made("""
host @pair = ""
host @one = ""
host @first = ""
host @second = ""
func @f(x: f32[2], y: f32[2]) -> f32[2] {
  a: f32[2], b: f32[2] = hook @pair(x, y)
  c: f32[2] = mul(a, b)
  attach! @first(c)
  d: f32[2] = hook @one(c, kind="gradient")
  e: f32[2] = mul(d, c)
  attach! @second(c)
  return e
}
""", hosts={"pair": (pair, "value", "pair"), "one": (inserted, "gradient", "one"), "first": value, "second": attached}))

    def eager(x, y):
        a, b = ops.HookBackward(pair)(x, y)
        c = a * b
        c.register_hook(value)
        d = ops.InsertGradientOf(inserted)(c)
        e = d * c
        c.register_hook(attached)
        return e

    x, y = T(1, 2), T(3, 4)
    same(f(x, y), eager(x, y))
    assert not log
    results, logs = [], []
    for g in (f, eager):
        results.append(ms.grad(g, (0, 1))(x, y))
        logs.append(log[:])
        log.clear()
    same(*results)
    assert logs[0] == logs[1] and [name for name, _ in logs[0]] == ["inserted", "attached", "again", "pair"]


class Square(nn.Cell):
    def construct(self, x, y):
        return x * x + ops.sin(y)


CELL = """
host @cell = ""
host @cell.pre = ""
host @cell.forward_pre = ""
host @cell.forward = ""
func @f(x: f32[2], y: f32[2]) -> f32[2] {
  a: f32[2] = mul(x, y)
  %before%
  b: f32[2] = cell "Square"%with% carry (p: f32[2] = a1, q: f32[2] = y1) {
    r: f32[2] = mul(p, p)
    s: f32[2] = sin(q)
    t: f32[2] = add(r, s)
    yield t
  }
  %after%
  d: f32[2] = mul(b2, 3.0_f32)
  return d
}
"""


def squared(cell):
    """A graph of `lambda x, y: cell(x * y, y) * 3.0`, made for the hooks that the cell has now."""
    slots = Slots.of(cell)
    text = CELL.replace("%with%", " with @cell" if slots.backward else "")
    before = "a1: f32[2], y1: f32[2] = apply! @cell.forward_pre(a, y)" if slots.forward_pre else ""
    after = []
    last = "b"
    if slots.forward:
        after.append("b1: f32[2] = apply! @cell.forward(b, a1, y1)")
        last = "b1"
    if slots.backward_pre:
        after.append(f"b2: f32[2] = outputs @cell.pre({last})")
        last = "b2"
    text = text.replace("%before%", before).replace("%after%", "\n".join(after)).replace("b2, 3.0", f"{last}, 3.0")
    if not before:
        text = text.replace("a1", "a").replace("y1", "y")

    def forward_pre(*given):
        return cell._forward_pre(cell._hooks, given, {})[0]

    def forward(output, *given):
        return cell._forward(cell._hooks, given, {}, output)

    return made(text, hosts={"cell.pre": cell, "cell.forward_pre": forward_pre, "cell.forward": forward}, cells=[site(cell)])


def logging(log, name, change=None):
    def hook(*given):
        log.append((name, repr(given[1:])))
        return None if change is None else change(*given)

    return hook


KINDS = ("forward_pre", "forward", "backward_pre", "backward")
CHANGES = {
    "forward_pre": lambda cell, args: (args[0] * 2.0, args[1]),
    "forward": lambda cell, args, output: output * args[0],
    "backward_pre": lambda cell, go: go[0] * 5.0,
    "backward": lambda cell, gi, go: (gi[0] * 7.0, gi[1]),
}


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("since", [False, True], ids=["before", "since"])
@pytest.mark.parametrize("kinds", [(), *((k,) for k in KINDS), KINDS, ("forward", "backward"), ("forward_pre", "backward_pre")])
def test_cells_with_hooks(kinds, since, changing):
    """Hooks that were there when the graph was made, and hooks that have come since."""
    log = []
    cell = Square()
    graph = squared(cell) if since else None
    handles = [
        getattr(cell, f"register_{kind}_hook")(logging(log, kind, CHANGES[kind] if changing else None)) for kind in kinds]
    f = function(graph or squared(cell))

    def eager(x, y):
        return cell(x * y, y) * 3.0

    def run(g):
        found = g(x, y), ms.grad(g, (0, 1))(x, y), ms.grad(lambda x, y: ms.grad(g)(x, y).sum(), (0, 1))(x, y)
        entries = log[:]
        log.clear()
        return found, entries

    x, y = T(1, 2), T(3, 4)
    (values, entries), (expected, eagers) = run(f), run(eager)
    same(values, expected)
    assert entries == eagers
    # Removed again, they are silent at once.
    for handle in handles:
        handle.remove()
    (values, entries), (expected, eagers) = run(f), run(eager)
    same(values, expected)
    assert entries == eagers == []


def test_a_cell_called_twice_and_inside_another():
    class Inner(nn.Cell):
        def construct(self, x):
            return x * x

    class Outer(nn.Cell):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def construct(self, x):
            return self.inner(self.inner(x) * x)

    log = []
    net = Outer(Inner())
    for cell in (net, net.inner):
        cell.register_backward_hook(logging(log, cell.title))
    f = function(made("""
host @o = ""
host @i = ""
func @f(x: f32[2]) -> f32[2] {
  y: f32[2] = cell "Outer" with @o carry (p: f32[2] = x) {
    a: f32[2] = cell "inner" with @i carry (q: f32[2] = p) {
      b: f32[2] = mul(q, q)
      yield b
    }
    c: f32[2] = mul(a, p)
    d: f32[2] = cell "inner" with @i carry (r: f32[2] = c) {
      e: f32[2] = mul(r, r)
      yield e
    }
    yield d
  }
  return y
}
""", cells=[site(net), site(net.inner), site(net.inner)]))
    logs, results = [], []
    for g in (f, net):
        results.append((g(T(1, 2)), ms.grad(g)(T(1, 2)), ms.grad(ms.grad(lambda x, g=g: g(x).sum()))(T(1, 2))))
        logs.append(log[:])
        log.clear()
    same(*results)
    assert logs[0] == logs[1] and logs[0]


def test_a_bprop_of_its_own():
    class Own(nn.Cell):
        def construct(self, x, factor):
            return x * factor

        def bprop(self, x, factor, out, dout):
            log.append((repr(x), factor, repr(out), repr(dout)))
            return x * dout * 10.0, 0.0

    log = []
    own = Own()
    own.register_backward_hook(logging(log, "backward"))
    here = CellSite(own, lambda tensors: ((tensors[0], 2.0), {}), lambda tensors: tensors[0], Slots.of(own))
    f = function(made("""
host @own = ""
host @rule = ""
func @f(x: f32[2]) -> f32[2] {
  y: f32[2] = cell "Own" with @own vjp @rule carry (p: f32[2] = x) {
    a: f32[2] = mul(p, 2.0_f32)
    yield a
  }
  z: f32[2] = mul(y, y)
  return z
}
""", cells=[here]))

    def eager(x):
        y = own(x, 2.0)
        return y * y

    same(f(T(1, 2)), eager(T(1, 2)))
    same(ms.grad(f)(T(1, 2)), ms.grad(eager)(T(1, 2)))
    assert len(log) == 4 and log[:2] == log[2:]


def test_residuals_go_out_under_their_own_names():
    class Nested(nn.Cell):
        def construct(self, x):
            y = x * 2.0
            return y, (y + 1.0,)

    cell = Nested()
    cell.register_backward_hook(logging(log := [], "backward"))
    here = CellSite(cell, lambda tensors: (tuple(tensors), {}), lambda tensors: (tensors[0], ()), Slots.of(cell))
    f = function(made("""
host @cell = ""
func @f(x: f32[2]) -> f32[2] {
  y: f32[2], r: f32[2] = cell "Nested" with @cell residuals 1 carry (p: f32[2] = x) {
    a: f32[2] = mul(p, 2.0_f32)
    b: f32[2] = add(a, 1.0_f32)
    yield a, b
  }
  z: f32[2] = mul(y, r)
  return z
}
""", cells=[here]))

    def eager(x):
        y, (r,) = cell(x)
        return y * r

    same(f(T(1, 2)), eager(T(1, 2)))
    same(ms.grad(f)(T(1, 2)), ms.grad(eager)(T(1, 2)))
    assert len(log) == 2 and log[0] == log[1]


def test_hooks_with_always_call_see_that_the_region_raised():
    class Takes(nn.Cell):
        def construct(self, x, i):
            fail()
            return x

    def fail(*given):
        if failing:
            raise KeyError("mine")

    failing, log = [True], []
    cell = Takes()
    cell.register_forward_hook(logging(log, "always"), always_call=True)
    cell.register_backward_hook(logging(log, "backward"))
    f = function(made("""
host @cell = ""
host @fail = ""
host @forward = ""
func @f(x: f32[2]) -> f32[2] {
  z: f32[2] = mul(x, x)
  y: f32[2] = cell "Takes" with @cell carry (p: f32[2] = z) {
    apply! @fail(p)
    yield p
  }
  y1: f32[2] = apply! @forward(y, z)
  return y1
}
""", hosts={"fail": fail, "forward": lambda y, z: cell._forward(cell._hooks, (z, None), {}, y)},
        cells=[CellSite(cell, lambda tensors: ((tensors[0], None), {}), lambda tensors: tensors[0], Slots.of(cell))]))
    for run in (f, lambda x: cell(x * x, None), ms.grad(f), ms.grad(lambda x: cell(x * x, None))):
        with pytest.raises(KeyError, match="mine"):
            run(T(1, 2))
    assert len(log) == 4 and len(set(log)) == 1 and log[0][1].endswith("None)")
    failing.clear()
    log.clear()
    same(ms.grad(f)(T(1, 2)), ms.grad(lambda x: cell(x * x, None))(T(1, 2)))
    assert len(log) == 4 and log[:2] == log[2:]


def test_a_hook_that_comes_during_the_run():
    """Registered by a hook of another cell in this very run: the cell's next call has it."""
    log = []

    def register(*given):
        if not handles:
            handles.append(cell.register_forward_hook(logging(log, "late", lambda cell, args, output: output * 2.0)))

    handles = []
    cell = Square()
    text = CELL.replace("%with%", "").replace("%before%", "apply! @cell.forward_pre(a)").replace("%after%", "")
    text = text.replace("a1", "a").replace("y1", "y").replace("b2", "b")
    f = function(made(text, hosts={"cell.forward_pre": register}, cells=[site(cell)]))

    def eager(x, y):
        a = x * y
        register()
        return cell(a, y) * 3.0

    results = []
    for g in (f, eager):
        results.append(ms.grad(g, (0, 1))(T(1, 2), T(3, 4)))
        handles.pop().remove()
    same(*results)
    assert len(log) == 2 and log[0] == log[1]


# -- gradients within ------------------------------------------------------------------------------------------------------
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


# -- going on in another graph ---------------------------------------------------------------------------------------------
def continued(graphs, arguments):
    """Run the first graph; after each deviation go on in the next one.  The results, and the deviations."""
    replay, deviations = None, []
    for graph in graphs:
        log = []
        try:
            return bind(graph).run(arguments, log, replay), deviations
        except Deviation as deviation:
            deviations.append(deviation)
            replay = log
    raise deviations[-1]


def tape_steps(run):
    """The kinds of steps that `run` leaves on a new tape, and its result."""
    tape = Tape()
    start = tape.begin("test", None)
    state.tape = tape
    try:
        result = run(tape)
    finally:
        state.tape = None
    assert not tape.calls
    return [(step.kind, step.about if step.kind != "begin" else None, step.operands, step.results) for step in tape.path(start)], result


DEVIATING = """
param @w : f32[2]
host @count = ""
host @make = ""
host @cell = ""
func @f(x: f32[2]) -> f32[] {
  w: f32[2] = read @w
  a: f32[2] = mul(x, w)
  apply! @count(a)
  write! @w(a)
  y: T = cell "Square" with @cell carry (p: f32[2] = a) {
    q: f32[2] = mul(p, p)
    r: T = apply! @make(q)
    s: T = sin(r)
    yield s
  }
  t: f32[] = sum(y, axes=[0])
  return t
}
""".replace("f32[]", "f32")


@pytest.mark.parametrize("within", ["", "gradient"])
def test_another_graph_goes_on_where_one_has_to_stop(within):
    """Effects run once, and the tape is that of a run that had the right graph from the start."""
    text = DEVIATING
    if within:
        # The cell inside of a gradient that is begun before the deviation and closed after it.
        text = text.replace("y: T = cell", "o: T, u: f32[2] = gradient of=1 carry (v: f32[2] = a) {\n y: T = cell")
        text = text.replace("f32[2] = a) {\n    q", "f32[2] = v) {\n    q").replace("  t: f32", "  yield y\n }\n t: f32")
        text = text.replace("sum(y", "sum(u")
    cell = Square()
    cell.register_backward_hook(lambda cell, gi, go: fired.append(repr((gi, go))))

    def run_on(types):
        def run(tape):
            x = tape.leaf(T(1, 2)) if tape is not None else T(1, 2)
            w.set_data(T(2, 3))
            counted.clear()
            graphs = [
                made(text.replace(": T", f": {t}"), {"w": w}, {"count": lambda a: counted.append("count"), "make": make}, [site(cell)])
                for t in types]
            return continued(graphs, [x])

        return run

    def make(q):
        counted.append("make")
        return ops.concat((q, q))

    w, counted, fired = Parameter(T(2, 3), name="w"), [], []
    results = []
    for record in (lambda run: (None, run(None)), tape_steps):
        (expected_steps, (expected, none)) = record(run_on(["f32[4]"]))
        assert counted == ["count", "make"] and not none
        expected_fired = fired[:]
        fired.clear()
        (steps, (found, deviations)) = record(run_on(["f32[2]", "f32[4]"]))
        assert counted == ["count", "make"]
        assert [d.node.op.name for d in deviations] == ["apply!"] and deviations[0].observed[0].shape == (4,)
        same(found, expected)
        same(w, T(2, 6))
        assert steps == expected_steps and fired == expected_fired and bool(fired) == bool(within)
        fired.clear()
        results.append(found)
    same(*results)


def test_a_run_that_does_not_go_on_leaves_the_tape_closed():
    cell, log = Square(), []
    cell.register_forward_hook(logging(log, "always"), always_call=True)

    def run(tape):
        x = tape.leaf(T(1, 2))
        graph = made(DEVIATING.replace(": T", ": f32[2]"), {"w": Parameter(T(1, 1), name="w")},
                     {"count": lambda a: None, "make": lambda q: None}, [site(cell)])
        with pytest.raises(Deviation) as raised:
            bind(graph).run([x])
        assert not log and len(tape.calls) == 1
        raised.value.abandon()
        assert len(log) == 1 and not tape.calls and tape.site is None

    tape_steps(run)


def test_hooks_that_have_come_since_are_replayed():
    """A hook of a cell that ran inline in the first graph has a node in the second."""
    cell, log = Square(), []

    def register(*given):
        log.append("register")
        cell.register_forward_hook(logging(log, "forward", lambda cell, args, output: ops.concat((output, output))))

    text = """
host @register = ""
host @forward = ""
func @f(x: f32[2]) -> f32 {
  apply! @register(x)
  y: f32[2] = cell "Square" carry (p: f32[2] = x) {
    q: f32[2] = mul(p, p)
    yield q
  }
  %after%
  t: f32 = sum(z, axes=[0])
  return t
}
"""
    first = made(text.replace("%after%", "z: f32[2] = identity(y)"), hosts={"register": register}, cells=[site(cell, Slots())])
    second = made(text.replace("%after%", "z: f32[4] = apply! @forward(y)"), hosts={"register": register, "forward": None},
                  cells=[site(cell, Slots(forward=True))])
    (found,), (deviation,) = continued([first, second], [T(1, 2)])
    assert found.asnumpy() == 10
    assert deviation.slot == "forward" and deviation.observed.shape == (4,)
    assert [entry if isinstance(entry, str) else entry[0] for entry in log] == ["register", "forward"]


def test_a_cell_s_arguments_are_changed_beyond_the_graph():
    cell = Square()
    f = function(made(CELL.replace("%with%", "").replace("%before%", "").replace("%after%", "").replace("a1", "a").replace("y1", "y")
                      .replace("b2", "b"), cells=[site(cell)]))
    cell.register_forward_pre_hook(lambda cell, args: (args[0], 3.0))
    with pytest.raises(Deviation) as raised:
        f(T(1, 2), T(3, 4))
    assert raised.value.slot == "forward_pre" and raised.value.observed[0][1] == 3.0


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
    """A graph whose nodes stand in a file, its hosts, and the file's name."""
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
    assert boom.__notes__[1].endswith(f"on value 'y', forward at {file}:3")
    hosts["shown"] = lambda gradient: None
    same(f(T(1, 2), N(1, np.int64)), expected)


def test_the_line_of_hooks_and_of_what_they_record(placed):
    """A forward hook's note names the node's line; ops that a hook records keep the hook's own line."""
    graph, hosts, file = placed
    cell = nn.ReLU()

    def hook(cell, args):
        raise ValueError("mine")

    cell.register_forward_pre_hook(hook)
    hosts["raise"] = functools.partial(cell._forward_pre, cell._hooks, kwargs={})
    f = function(graph)
    with pytest.raises(ValueError) as raised:
        f(T(1, 2), N(1, np.int64))
    assert raised.value.__notes__[0].endswith(f"forward at {file}:4")

    def looks(y):
        found.append(str(user_location()))
        y * 2.0
        found.append(str(state.tape.at.loc))
        assert state.tape.site is None

    found = []
    hosts["raise"] = looks
    ms.grad(f)(T(1, 2), N(1, np.int64))
    assert all(place.startswith(__file__) for place in found) and len(found) == 2
