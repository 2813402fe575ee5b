"""A run that cannot continue in its graph continues in another one, as if it had been in that one from the start."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint import Parameter, ops
from adjoint.ir.core import Function, Module, Region, free_values
from adjoint.ir.print import print_module
from adjoint.runtime.execution.run import Deviation, LoggedRun, Run
from adjoint.runtime.gradients.tape import Tape
from adjoint.runtime.graphs.graph import Unfitting
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.hooks.handles import Slots
from adjoint.runtime.process.tracer import state
from tests.runtime.graphs_by_hand import CELL, N, Square, T, function, logging, made, same, site


def continued(graphs, arguments):
    """Run the first graph; after each deviation continue in the next one.  Return the results, and the deviations."""
    replay, deviations = None, []
    for graph in graphs:
        log = []
        try:
            return bind(graph).run(arguments, LoggedRun(state.tracer, log, replay)), deviations
        except Deviation as deviation:
            deviations.append(deviation)
            replay = log
    raise deviations[-1]


def tape_steps(run):
    """Return the steps that `run` leaves on a new tape, as IR with the number of slots, and its result."""
    tape = Tape()
    start = tape.begin("test", None)
    state.tracer = tape
    try:
        result = run(tape)
    finally:
        state.tracer = None
    assert not tape.calls
    path = tape.path()
    nodes = path.nodes(start)
    body = Region(tuple(free_values(nodes)), tuple(nodes), ())
    return (print_module(Module(functions={"path": Function("path", body)})), len(path.values)), result


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
    """Effects run once, and the tape is that of a run in the right graph from the start."""
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
            bind(graph).run([x], Run(state.tracer))
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


ANYWHERE = """
param @w : f32
host @cell = ""
host @h = ""
host @step = ""
func @f(x: f32, n: i64) -> (f32, f32, f32) {
  w: f32 = read @w
  a: f32 = mul(x, w)
  a1: f32 = apply! @step(a)
  y: f32, more: f32, p': f32, w': f32 = gradient of=1 by=[@w] carry (p: f32 = a1) {
    b: f32 = for i in range(0, n, 1) carry (c: f32 = p) {
      d: f32 = cell "Square" with @cell carry (e: f32 = c, k: f32 = w) {
        m: f32 = mul(e, k)
        o: f32 = apply! @step(m)
        z: f32 = hook @h(o)
        yield z
      }
      t: bool = greater(d, 1.0_f32)
      u: f32 = if t {
        d1: f32 = sin(d)
        d2: f32 = apply! @step(d1)
        yield d2
      } else {
        yield d
      }
      yield u
    }
    q: f32 = apply! @step(b)
    yield q, w
  }
  r: f32 = apply! @step(p')
  write! @w(r)
  return y, r, w'
}
"""


PULLED_ANYWHERE = (
    ANYWHERE
    .replace("y: f32, more: f32, p': f32, w': f32 = gradient of=1", "y: f32, m1: f32, t.1: trace<f32 -> (f32, f32)> = record of=1")
    .replace("  r: f32 =", "  v: f32 = cos(y)\n  p': f32, w': f32 = pull!(t.1, v)\n  r: f32 =")
    .replace("  write!", "  s: f32 = apply! @step(w')\n  p.1': f32, w.1': f32 = pull!(t.1, s)\n  write!")
    .replace("return y, r, w'", "return p.1', r, w.1'"))
"""The same, the gradient taken twice and later."""


@pytest.mark.parametrize(("text", "number"), [*((ANYWHERE, i) for i in range(8)), *((PULLED_ANYWHERE, i) for i in range(9))])
@pytest.mark.parametrize("recording", [False, True])
def test_going_on_from_anywhere(text, number, recording):
    """Stopped at any of its calls of Python, with what that call gave put right: in loops, branches, cells and gradients."""
    log = []
    cell = Square()
    cell.register_backward_hook(logging(log, "backward"))
    calls = []

    def run(stopping):
        def within(tape):
            w.set_data(N(1.5))
            calls.clear()
            log.clear()

            def step(x):
                calls.append(x)
                log.append(("step", repr(x)))
                return T(0, 0) if stopping and len(calls) == number + 1 else x

            hosts = {"step": step, "h": (lambda gradients: log.append(repr(gradients)), "value", "h")}
            first, second = (made(text, {"w": w}, hosts, [site(cell)]) for _ in range(2))
            x = N(0.4) if tape is None else tape.leaf(N(0.4))
            given, replay = [x, N(3, np.int64)], []
            if stopping:
                with pytest.raises(Deviation):
                    bind(first).run(given, LoggedRun(state.tracer, replay))
                replay[-1] = (calls[number],)
            return bind(second).run(given, LoggedRun(state.tracer, None, replay)), w.asnumpy().tobytes(), log[:]

        return tape_steps(within) if recording else (None, within(None))

    w = Parameter(N(1.5), name="w")
    (expected_steps, (expected, *others)), (steps, (found, *others_found)) = run(False), run(True)
    assert len(calls) == 8 + (text is PULLED_ANYWHERE)
    same(found, expected)
    assert others_found == others
    assert steps == expected_steps


def test_python_that_knows_that_it_does_not_fit():
    """The types fit, but what stands around the tensors is another structure."""
    graph = made('host @h = ""\nfunc @f(x: f32[2]) -> f32[2] {\n  y: f32[2] = apply! @h(x)\n  return y\n}')
    graph.hosts["h"] = lambda x: Unfitting((x,), "a list")
    log = []
    with pytest.raises(Deviation) as raised:
        bind(graph).run([T(1, 2)], LoggedRun(state.tracer, log))
    assert raised.value.observed.outline == "a list"
    same(bind(graph).run([T(1, 2)], LoggedRun(state.tracer, None, log)), [T(1, 2)])
