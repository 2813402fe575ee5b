"""Derivatives in forward mode: what `differentiate` makes of a `tangent` node.  Each op's is compared with its gradient in `test_ops`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint import CompileError
from adjoint.ir.core import Function, Module, walk
from adjoint.ir.interpret import interpret
from adjoint.ir.ops.control import Cell, While
from adjoint.ir.ops.host import Callback
from adjoint.ir.ops.stack import Stack
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.passes.schedule import EXPANDED, STANDALONE

STEP = 1e-6


def expanded(text: str) -> Module:
    module = parse_module(text)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    made = EXPANDED.run(module)
    verify_module(made)
    assert print_module(parse_module(print_module(made))) == print_module(made)
    return made


def agrees(text: str, *state: Any) -> Function:
    """Compare the second result of @f, the derivative of the first along its second argument, with a finite difference at some places."""
    made = expanded(text)
    function = made.functions["f"]
    for x, direction, rounds in ((0.3, 1.0, 3), (1.7, -0.5, 1), (-0.4, 2.0, 0)):

        def call(a: float, direction: float = direction, rounds: int = rounds) -> list[Any]:
            symbols = dict(zip(made.params, map(np.float64, state), strict=True))
            return list(interpret(function, [np.float64(a), np.float64(direction), np.int64(rounds)], made, state=symbols))

        slope = (call(x + STEP * direction)[0] - call(x - STEP * direction)[0]) / (2 * STEP)
        assert abs(slope - call(x)[1]) <= 1e-6 * (1 + abs(slope)), (x, direction, rounds)
    return function


CONTROL = """func @f(a: f64, s: f64, n: i64) -> (f64, f64) {
  y: f64, y': f64 = tangent of=1 with (s) carry (x: f64 = a) {
    z: f64, o: f64 = for i in range(0, n, 1) carry (c: f64 = 1.0_f64, d: f64 = 0.5_f64) {
      m: f64 = mul(c, x)
      small: bool = less(m, x)
      e: f64 = if small {
        t: f64 = sin(m)
        yield t
      } else {
        yield 2.0_f64
      }
      yield e, c
    }
    w: f64 = while carry (v: f64 = z) test {
      low: bool = less(v, 9.0_f64)
      yield low
    } do {
      q: f64 = mul(v, v)
      r: f64 = add(q, 1.5_f64)
      u: f64 = add(r, o)
      yield u
    }
    p: f64 = mul(w, x)
    yield p
  }
  return y, y'
}
"""


def test_control_flow_carries_tangents_and_keeps_nothing() -> None:
    nodes = list(walk(agrees(CONTROL).body))
    assert not any(isinstance(node.op, Stack) for node in nodes)
    (loop,) = [node for node in nodes if isinstance(node.op, While)]
    assert [str(value.type) for value in loop.results] == ["f64", "f64", "bool"], "the value, its tangent, and whether it has one"


PATHS = """func @f(a: f64, s: f64, n: i64) -> (f64, f64) {
  y: f64, y': f64 = tangent of=1 with (s) carry (x: f64 = a) {
    far: bool = less(9.0_f64, x)
    d: f64 = if far {
      yield x
    } else {
      yield 0.0_f64
    }
    total: f64 = while carry (t: f64 = 0.0_f64) test {
      more: bool = less(t, d)
      yield more
    } do {
      u: f64 = add(t, x)
      yield u
    }
    r: f64 = sqrt(d)
    q: f64 = sqrt(total)
    z: f64 = add(r, q)
    yield z
  }
  return y, y'
}
"""


def test_what_has_no_tangent_on_the_path_that_runs_does_not_meet_an_infinite_slope() -> None:
    agrees(PATHS)
    function = expanded(PATHS).functions["f"]
    _, slope = interpret(function, [np.float64(16.0), np.float64(1.0), np.int64(0)], None)
    np.testing.assert_allclose(slope, 2 * 0.5 / 4)


FIRST = """func @f(a: f64, s: f64, n: i64) -> (f64, f64) {
  y: f64, y': f64 = tangent of=1 with (s) carry (x: f64 = a) {
    total: f64 = for i in range(0, n, 1) carry (t: f64 = 1.0_f64) {
      u: f64 = add(t, x)
      yield u
    }
    yield total
  }
  return y, y'
}
"""


def test_the_first_tangent_of_a_sum_is_not_added_to_a_zero() -> None:
    function = agrees(FIRST)
    for rounds, signed in ((0, False), (1, True), (2, True)):
        _, slope = interpret(function, [np.float64(1.0), np.float64(-0.0), np.int64(rounds)], None)
        assert slope == 0 and np.signbit(slope) == signed


CELLS = """param @w : f64
host @h = "train:seen"

func @f(a: f64, s: f64, n: i64) -> (f64, f64) {
  y: f64, y': f64 = tangent of=1 with (s) carry (x: f64 = a) {
    hooked: f64 = cell "net.exp" with @h carry (b: f64 = x) {
      c: f64 = exp(b)
      d: f64 = mul(c, b)
      yield d
    }
    attach! @h(hooked)
    e: f64 = hook @h(hooked, kind="value")
    looped: f64 = cell "net.loop" carry (g: f64 = e) {
      k: f64 = for i in range(0, n, 1) carry (l: f64 = g) {
        m: f64 = mul(l, g)
        write! @w(m)
        r: f64 = read @w
        yield r
      }
      yield k
    }
    o: f64 = read @w
    p: f64 = mul(looped, o)
    yield p
  }
  return y, y'
}
"""


def test_cells_parameters_and_hooks() -> None:
    """What is written to a Parameter has a tangent; no hook is called; a cell with hooks keeps them, for gradients around."""
    nodes = list(walk(agrees(CELLS, 0.7).body))
    assert not any(isinstance(node.op, Callback) for node in nodes)
    assert [node.op.symbol for node in nodes if isinstance(node.op, Cell)] == ["h", ""]


ORDERS = """func @f(a: f64, s: f64, n: i64) -> (f64, f64) {
  y: f64, y': f64 = tangent of=1 with (s) carry (x: f64 = a) {
    z: f64, b': f64 = gradient of=1 carry (b: f64 = x) {
      c: f64 = for i in range(0, n, 1) carry (d: f64 = b) {
        e: f64 = sin(d)
        g: f64 = mul(e, b)
        yield g
      }
      yield c
    }
    p: f64, p': f64 = tangent of=1 with (x) carry (q: f64 = b') {
      r: f64 = mul(q, q)
      yield r
    }
    yield p'
  }
  return y, y'
}
"""


def test_forward_over_reverse_through_the_stacks_of_a_loop() -> None:
    agrees(ORDERS)


REVERSE = """func @f(a: f64, s: f64, n: i64) -> (f64, f64) {
  y: f64, a': f64 = gradient of=1 carry (c: f64 = a) {
    v: f64, v': f64 = tangent of=1 with (1.0_f64) carry (x: f64 = c) {
      z: f64 = for i in range(0, n, 1) carry (d: f64 = x) {
        e: f64 = exp(d)
        g: f64 = sin(e)
        yield g
      }
      m: f64 = mul(z, z)
      yield m
    }
    yield v'
  }
  t: f64 = mul(a', s)
  return y, t
}
"""


def test_reverse_over_forward() -> None:
    agrees(REVERSE)


OWN = """func @square(x: f64) -> f64 vjp @square.bwd {
  m: f64 = mul(x, x)
  return m
}

func @square.bwd(x: f64, y: f64, y': f64) -> f64 {
  m: f64 = mul(x, y')
  x': f64 = mul(m, 3.0_f64)
  return x'
}

func @f(a: f64, s: f64) -> (f64, f64) {
  y: f64, y': f64 = tangent of=1 with (s) carry (x: f64 = a) {
    z: f64 = call @square(x)
    yield z
  }
  return y, y'
}
"""


def test_a_pullback_of_the_users_is_transposed() -> None:
    made = expanded(OWN)
    assert [float(x) for x in interpret(made.functions["f"], [np.float64(2.0), np.float64(5.0)], made)] == [4.0, 30.0]


def test_a_bprop_in_python_has_no_derivative_in_the_ir() -> None:
    text = CELLS.replace('"net.loop"', '"net.loop" vjp @h')
    for schedule in (EXPANDED, STANDALONE):
        with pytest.raises(CompileError, match="E151") as error:
            schedule.run(parse_module(text))
        assert "net.loop has a `bprop` of its own" in str(error.value)
