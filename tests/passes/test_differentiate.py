"""Gradients inside of functions: what `differentiate` makes of them against their meaning, in differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gradients import agree

from adjoint import Tensor, float64, grad, ops
from adjoint.ir.core import Module, Node, walk
from adjoint.ir.interpret import Interpreter
from adjoint.ir.ops.control import Differentiated, Pull, Record
from adjoint.ir.ops.host import Attach
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.passes.differentiate import Differentiate
from adjoint.passes.manager import Pipeline
from adjoint.runtime.execution.text import load_ir

STEP = 1e-4


class Differences(Interpreter):
    """Runs a `gradient` or `pull!` by its definition: the region anew, each element of each leaf a step further and a step back."""

    def node(self, node: Node, environment: dict[Any, Any]) -> Sequence[Any]:
        if not isinstance(node.op, (Differentiated, Pull)):
            return super().node(node, environment)
        if isinstance(node.op, Pull):
            trace, *cotangents = (self.value(atom, environment) for atom in node.operands)
            return trace(cotangents)
        (region,) = node.regions
        given = [np.asarray(self.value(atom, environment)) for atom in node.operands]
        arguments, sens = given[: len(region.params)], given[len(region.params) :]
        outputs = self._outputs(node, arguments, environment)
        seen, around = dict(environment), dict(self.state)

        def pull(seeds: Sequence[Any]) -> list[Any]:
            return self._slopes(node, arguments, seeds, seen, around)

        if isinstance(node.op, Record):
            return [*outputs, pull]
        return [*outputs, *pull(sens or [np.ones_like(y) for y in outputs[: node.op.of]])]

    def _slopes(
        self, node: Node, arguments: Sequence[Any], seeds: Sequence[Any], environment: dict[Any, Any], around: dict[str, Any]
    ) -> list[Any]:
        op: Any = node.op
        now = dict(self.state)
        self.state.update(around)

        def value() -> float:
            moved = self._outputs(node, arguments, environment)
            pairs = zip(moved[: op.of], seeds, strict=True)
            return sum(float(np.sum(y * seed)) for y, seed in pairs if np.asarray(y).dtype.kind == "f")

        def slope(x: np.ndarray) -> np.ndarray:
            found = np.zeros_like(x)
            if x.dtype.kind == "f":
                for i in np.ndindex(x.shape):
                    x[i] += STEP
                    high = value()
                    x[i] -= 2 * STEP
                    found[i] = (high - value()) / (2 * STEP)
                    x[i] += STEP
            return found

        arguments = [x.copy() for x in arguments]
        leaves = [*arguments]
        for symbol in op.by:
            self.state[symbol] = around[symbol].copy()
            leaves.append(self.state[symbol])
        slopes = [slope(x) for x in leaves]
        self.state.update(now)
        return slopes

    def _outputs(self, node: Node, arguments: Sequence[Any], environment: dict[Any, Any]) -> list[Any]:
        (region,) = node.regions
        inside = dict(environment)
        inside.update(zip(region.params, arguments, strict=True))
        return self.region(region, inside)


def expanded(text: str) -> Module:
    """The module after `differentiate`; it verifies, has no gradient left, and its text reads back as itself."""
    module = parse_module(text)
    verify_module(module)
    after = Differentiate().on_module(module)
    verify_module(after)
    assert not any(isinstance(node.op, (Differentiated, Pull)) for f in after.functions.values() for node in walk(f.body))
    assert print_module(parse_module(print_module(after))) == print_module(after)
    return after


def means_the_same(text: str, *arguments: Any, tolerance: float = 1e-5, **state: Any) -> None:
    symbol = next(iter(parse_module(text).functions))
    expected = Differences(parse_module(text), state=dict(state)).run(symbol, *arguments)
    got = Interpreter(expanded(text), state=dict(state)).run(symbol, *arguments)
    for one, two in zip(expected, got, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


A = np.array([0.3, -0.8, 1.1])
W = np.array([0.9, 0.4, -0.7])

WHOLE = """
param @w : f64[3]
func @f(a: f64[3], s: f64) -> (f64, f64[3], f64[3], f64[3]) {
  y: f64, aux: f64[3], x': f64[3], w': f64[3] = gradient of=1 by=[@w] sens (s) carry (x: f64[3] = a) {
    w: f64[3] = read @w
    p: f64[3] = mul(x, w)
    q: f64[3] = tanh(p)
    r: f64[3] = mul(q, a)
    t: f64 = sum(r, axes=[0])
    yield t, q
  }
  return y, aux, x', w'
}
"""


def test_arguments_parameters_cotangents_and_what_is_passed_on() -> None:
    means_the_same(WHOLE, A, np.asarray(1.7), w=W)


SEVERAL = """
func @f(a: f64[3], b: f64[3]) -> (f64[3], f64[3], f64[3]) {
  y: f64[3], z: f64, n: bool, a': f64[3], b': f64[3], c': f64[3] = gradient of=3 carry (x: f64[3] = a, u: f64[3] = b, v: f64[3] = a) {
    p: f64[3] = mul(x, u)
    q: f64[3] = mul(v, v)
    z.1: f64 = sum(q, axes=[0])
    n.1: bool = less(z.1, 1.0_f64)
    yield p, z.1, n.1
  }
  return a', b', c'
}
"""


def test_one_value_as_two_arguments_is_two_leaves() -> None:
    means_the_same(SEVERAL, A, W)


CONTROL = """
func @f(a: f64[3], c: bool, n: i64) -> f64[3] {
  r: f64[3] = for i in range(0, 2, 1) carry (z: f64[3] = a) {
    y: f64, x': f64[3] = gradient of=1 carry (x: f64[3] = z) {
      g: f64[3] = if c {
        t: f64[3] = tanh(x)
        yield t
      } else {
        t.1: f64[3] = mul(x, z)
        yield t.1
      }
      p: f64[3] = for j in range(0, n, 1) carry (q: f64[3] = g) {
        q.1: f64[3] = sin(q)
        q.2: f64[3] = mul(q.1, x)
        yield q.2
      }
      k: f64[3], m: f64 = while carry (e: f64[3] = p, m.1: f64 = 0.0_f64) test {
        more: bool = less(m.1, 1.5_f64)
        yield more
      } do {
        e.1: f64[3] = mul(e, e)
        m.2: f64 = add(m.1, 1.0_f64)
        yield e.1, m.2
      }
      s: f64 = sum(k, axes=[0])
      yield s
    }
    d: f64[3] = sub(z, x')
    yield d
  }
  return r
}
"""


@pytest.mark.parametrize("c", [True, False])
def test_control_flow_inside_and_outside(c: bool) -> None:
    means_the_same(CONTROL, A, np.asarray(c), np.asarray(2))


SECOND = """
param @w : f64[3]
func @f(a: f64[3], k: f64) -> (f64[3], f64[3], f64[3]) {
  g: f64, z: f64, x': f64[3], w': f64[3] = gradient of=1 by=[@w] carry (x: f64[3] = a) {
    z.1: f64, u': f64[3], w.1': f64[3] = gradient of=1 by=[@w] sens (k) carry (u: f64[3] = x) {
      w: f64[3] = read @w
      p: f64[3] = mul(u, w)
      q: f64[3] = sin(p)
      m: f64[3] = mul(q, x)
      s: f64 = sum(m, axes=[0])
      yield s
    }
    h: f64[3] = mul(u', w.1')
    t: f64 = sum(h, axes=[0])
    yield t, z.1
  }
  return x', w', x'
}
"""


def test_a_gradient_inside_of_a_gradient() -> None:
    means_the_same(SECOND, A, np.asarray(0.6), w=W, tolerance=2e-4)


CALLS = """
func @f(a: f64[3]) -> f64[3] {
  b: f64[3] = call @slope(a)
  y: f64, x': f64[3] = gradient of=1 carry (x: f64[3] = b) {
    s: f64[3] = call @slope(x)
    t: f64 = sum(s, axes=[0])
    yield t
  }
  return x'
}
func @slope(x: f64[3]) -> f64[3] {
  y: f64[3], u': f64[3] = gradient of=1 carry (u: f64[3] = x) {
    v: f64[3] = sin(u)
    yield v
  }
  return u'
}
"""


def test_calls_of_functions_that_take_gradients() -> None:
    means_the_same(CALLS, A, tolerance=2e-4)


@pytest.mark.parametrize("text", [SEVERAL, CALLS, CONTROL], ids=["several", "calls", "control"])
def test_grad_of_a_function_that_takes_gradients(text: str) -> None:
    """The gradient of the function, and the gradient of that, agree with differences of what is expanded."""
    agree(print_module(expanded(text)), orders=2, c=True, n=2, tolerance=1e-4)
    module = parse_module(text)
    whole, by_hand = (Pipeline.parse(p).run(module) for p in ("grad,dce", "differentiate,grad,dce"))
    symbol = f"{next(iter(module.functions))}.grad"
    verify_module(whole)
    one, two = (print_module(Module(m.params, m.hosts, {symbol: m.functions[symbol]}), False) for m in (whole, by_hand))
    assert one == two


def test_pair_and_lift_state_expand_first() -> None:
    for passes in ("pair{wrt=[a]}", "lift-state", "lift-state,grad{wrt=[a, w]}"):
        after = Pipeline.parse(f"{passes},differentiate").run(parse_module(WHOLE))
        verify_module(after)
        assert not any(isinstance(node.op, (Differentiated, Pull)) for f in after.functions.values() for node in walk(f.body))
    lifted = Pipeline.parse("lift-state").run(parse_module(WHOLE))
    got = Interpreter(lifted).run("f", A, np.asarray(1.7), W)
    np.testing.assert_array_equal(got[3], Interpreter(expanded(WHOLE), state={"w": W}).run("f", A, np.asarray(1.7))[3])


def test_inlining_and_dead_code_leave_a_gradient_as_it_is() -> None:
    for text in (WHOLE, CALLS, CONTROL):
        module = parse_module(text)
        after = Pipeline.parse("inline,cse,dce").run(module)
        verify_module(after)
        assert any(isinstance(node.op, (Differentiated, Pull)) for f in after.functions.values() for node in walk(f.body))


def test_what_is_attached_stays_for_a_gradient_of_the_whole() -> None:
    text = """
host @g = "t:g"
func @f(a: f64) -> f64 {
  y: f64, x': f64 = gradient of=1 carry (x: f64 = a) {
    s: f64 = sin(x)
    attach! @g(s)
    yield s
  }
  return y
}
"""
    after = expanded(text)
    assert [node.op.symbol for node in walk(after.functions["f"].body) if isinstance(node.op, Attach)] == ["g"]
    seen: list[float] = []
    whole = Pipeline.parse("grad").run(parse_module(text))
    Interpreter(whole, hosts={"g": lambda ct: seen.append(float(ct))}).run("f.grad", np.asarray(0.5), np.asarray(3.0))
    assert seen == [1.0, 3.0]


def test_the_interpreter_says_what_to_run() -> None:
    with pytest.raises(ValueError, match="run the pass `differentiate` first"):
        Interpreter(parse_module(WHOLE), state={"w": W}).run("f", A, np.asarray(1.0))


def test_load_ir_expands() -> None:
    loaded = load_ir(WHOLE.replace("f64", "f32"), state={"w": W.astype(np.float32)})
    got = loaded(Tensor(A.astype(np.float32)), Tensor(np.float32(1.7)))
    expected = Interpreter(expanded(WHOLE), state={"w": W}).run("f", A, np.asarray(1.7))
    for one, two in zip(got, expected, strict=True):
        np.testing.assert_allclose(one.asnumpy(), two, rtol=1e-5, atol=1e-6)


def test_draws_are_made_once() -> None:
    text = """
func @f(a: f32[50]) -> (f32[50], f32[50], f32[50]) {
  y: f32[50], u: u64[2], x': f32[50] = gradient of=1 carry (x: f32[50] = a) {
    key: u64[2] = draw!()
    d: f32[50], kept: bool[50] = dropout(x, key, keep=0.5)
    yield d, key
  }
  key.1: u64[2] = draw!(seed=3)
  n: f32[50] = random_normal(key.1, to=f32[50])
  return y, x', n
}
"""
    for run in (lambda x: Interpreter(expanded(text)).run("f", x), lambda x: [r.asnumpy() for r in load_ir(text)(Tensor(x))]):
        y, slope, n = run(np.ones(50, np.float32))
        np.testing.assert_array_equal(y, slope)
        assert set(y.tolist()) == {0.0, 2.0} and len(set(n.tolist())) > 40


def test_the_numbers_are_those_of_eager_gradients() -> None:
    """A gradient in a gradient, each value used several times: sums in the same order, so to the bit."""
    text = """
func @f(a: f32[50]) -> f32[50] {
  y: f32, x': f32[50] = gradient of=1 carry (x: f32[50] = a) {
    z: f32, u': f32[50] = gradient of=1 carry (u: f32[50] = x) {
      p: f32[50] = tanh(u)
      q: f32[50] = mul(p, x)
      r: f32[50] = sin(u)
      s: f32[50] = mul(q, r)
      t: f32[50] = mul(s, u)
      k: f32 = sum(t, axes=[0])
      yield k
    }
    m: f32[50] = mul(u', x)
    n: f32[50] = cos(x)
    o: f32[50] = mul(m, n)
    l: f32 = sum(o, axes=[0])
    yield l
  }
  return x'
}
"""
    a = Tensor(np.linspace(-2, 2, 50, dtype=np.float32))

    def outer(x: Tensor) -> Tensor:
        inner = grad(lambda u: (ops.tanh(u) * x * ops.sin(u) * u).sum())(x)
        return (inner * x * ops.cos(x)).sum()

    np.testing.assert_array_equal(load_ir(text)(a).asnumpy(), grad(outer)(a).asnumpy())


# -- recorded and pulled ------------------------------------------------------------------------------------------------------
PULLED = """
param @w : f64[3]
func @f(a: f64[3], v: f64, c: bool, n: i64) -> (f64[3], f64[3], f64[3], f64[3], f64) {
  y: f64, aux: f64[3], t: trace<f64 -> (f64[3], f64[3])> = record of=1 by=[@w] carry (x: f64[3] = a) {
    w: f64[3] = read @w
    k: f64[3] = cell "k" carry (e: f64[3] = x) {
      p: f64[3] = for j in range(0, n, 1) carry (q: f64[3] = e) {
        q.1: f64[3] = sin(q)
        q.2: f64[3] = mul(q.1, w)
        yield q.2
      }
      r: f64[3] = mul(p, e)
      yield r
    }
    g: f64[3] = if c {
      o: f64[3] = mul(k, k)
      yield o
    } else {
      o.1: f64[3], m: f64 = while carry (e.1: f64[3] = k, m.1: f64 = 0.0_f64) test {
        more: bool = less(m.1, 1.5_f64)
        yield more
      } do {
        e.2: f64[3] = cos(e.1)
        m.2: f64 = add(m.1, 1.0_f64)
        yield e.2, m.2
      }
      yield o.1
    }
    s: f64 = sum(g, axes=[0])
    yield s, k
  }
  x': f64[3], w': f64[3] = pull!(t, v)
  h: f64[3] = if c {
    x.1': f64[3], w.1': f64[3] = pull!(t, y)
    yield w.1'
  } else {
    x.2': f64[3], w.2': f64[3] = pull!(t, 1.0_f64)
    yield x.2'
  }
  z: f64 = for i in range(0, n, 1) carry (u: f64 = v) {
    x.3': f64[3], w.3': f64[3] = pull!(t, u)
    b: f64 = sum(w.3', axes=[0])
    yield b
  }
  return x', w', h, aux, z
}
"""


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("n", [0, 2])
def test_a_trace_pulled_in_all_places(c: bool, n: int) -> None:
    means_the_same(PULLED, A, np.asarray(0.7), np.asarray(c), np.asarray(n), w=W)


@pytest.mark.parametrize("c", [True, False])
def test_gradients_of_what_pulls(c: bool) -> None:
    text = print_module(expanded(PULLED))
    agree(text, orders=2, state={"w": W}, c=c, n=2, tolerance=1e-4)


ALONG = """
func @f(a: f64[3], d: f64[3]) -> (f64[3], f64[3], f64[3]) {
  y: f64[3], t: trace<f64[3] -> f64[3]> = record of=1 carry (x: f64[3] = a) {
    z: f64[3] = for i in range(0, 3, 1) carry (q: f64[3] = x) {
      q.1: f64[3] = sin(q)
      q.2: f64[3] = mul(q.1, x)
      yield q.2
    }
    yield z
  }
  x': f64[3], along: f64[3] = gradient of=1 sens (d) carry (s: f64[3] = d) {
    x.1': f64[3] = pull!(t, s)
    yield x.1'
  }
  y.1: f64[3], t.1: trace<f64[3] -> f64[3]> = record of=1 carry (s.1: f64[3] = d) {
    x.2': f64[3] = pull!(t, s.1)
    yield x.2'
  }
  twice: f64[3] = pull!(t.1, along)
  return x', along, twice
}
"""


def test_pulled_in_gradients_and_in_records() -> None:
    means_the_same(ALONG, A, W)
    agree(print_module(expanded(ALONG)), orders=2, tolerance=1e-4)


def test_what_a_recorded_region_does_happens_once() -> None:
    text = """
param @n : i64
func @f(a: f64) -> (f64, f64) {
  y: f64, t: trace<f64 -> f64> = record of=1 carry (x: f64 = a) {
    n: i64 = read @n
    m: i64 = add(n, 1_i64)
    write! @n(m)
    z: f64 = mul(x, x)
    yield z
  }
  x': f64 = pull!(t, y)
  x.1': f64 = pull!(t, x')
  return x', x.1'
}
"""
    state = {"n": np.asarray(0)}
    assert Interpreter(expanded(text), state=state).run("f", np.asarray(3.0)) == (54.0, 324.0)
    assert state["n"] == 1
    loaded = load_ir(text)
    assert [float(x.asnumpy()) for x in loaded["f"](Tensor(3.0, float64))] == [54.0, 324.0]
