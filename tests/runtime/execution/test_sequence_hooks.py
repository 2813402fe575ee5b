"""Hooks in a graph: those with nodes of their own, and those registered after the graph was made."""

from __future__ import annotations

import pytest

import adjoint as ms
from adjoint import Tensor, jit, nn, ops
from adjoint.runtime.graphs.graph import CellSite
from adjoint.runtime.hooks.firing import fire_forward
from adjoint.runtime.hooks.handles import Slots
from tests.runtime.graphs_by_hand import CELL, Square, T, function, logging, made, same, site, squared


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
    """Hooks registered before the graph was made, and after."""
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
    here = CellSite(lambda: own, lambda tensors: ((tensors[0], 2.0), {}), lambda tensors: tensors[0], Slots.of(own))
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
    here = CellSite(lambda: cell, lambda tensors: (tuple(tensors), {}), lambda tensors: (tensors[0], ()), Slots.of(cell))
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
""", hosts={"fail": fail, "forward": lambda y, z: fire_forward(cell, ((z, None), {}), y)},
        cells=[CellSite(lambda: cell, lambda tensors: ((tensors[0], None), {}), lambda tensors: tensors[0], Slots.of(cell))]))
    for run in (f, lambda x: cell(x * x, None), ms.grad(f), ms.grad(lambda x: cell(x * x, None))):
        with pytest.raises(KeyError, match="mine"):
            run(T(1, 2))
    assert len(log) == 4 and len(set(log)) == 1 and log[0][1].endswith("None)")
    failing.clear()
    log.clear()
    same(ms.grad(f)(T(1, 2)), ms.grad(lambda x: cell(x * x, None))(T(1, 2)))
    assert len(log) == 4 and log[:2] == log[2:]


def test_a_hook_that_comes_during_the_run():
    """A hook registered by a hook of another cell in this run takes part in the cell's next call."""
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


def test_a_graph_does_not_keep_its_cell():
    cell = Square()
    graph = squared(cell)
    graph.hosts.clear()
    f = function(graph)
    same(f(T(1, 2), T(3, 4)), cell(T(1, 2) * T(3, 4), T(3, 4)) * 3.0)
    del cell
    with pytest.raises(RuntimeError, match="gone"):
        f(T(1, 2), T(3, 4))


def test_a_cell_of_the_library_as_a_graph_has_the_line_that_runs_it():
    """It contains no line of the user's; one graph serves all lines that run it."""

    def boom(*_):
        raise ValueError("boom")

    backward, forward = nn.ReLU(), nn.SequentialCell(nn.ReLU())
    backward.register_backward_hook(boom)
    forward[0].register_forward_hook(boom)
    gradient, run = ms.grad(jit(backward)), jit(forward)
    x = Tensor([1.0, 2.0])
    calls = [
        lambda: gradient(x),
        lambda: gradient(x),
        lambda: run(x),
        lambda: run(x),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="boom") as raised:
            call()
        assert raised.value.__notes__[-1].endswith(f", forward at {__file__}:{call.__code__.co_firstlineno}")
