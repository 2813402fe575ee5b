"""The interpreter: what each kind of node means in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.foundation.diagnostics import InternalError
from adjoint.ir.interpret import UNDEFINED, Interpreter, interpret
from adjoint.ir.parse import parse_module


def run(text: str, *arguments: object, state: dict | None = None, hosts: dict | None = None) -> tuple:
    module = parse_module(text)
    arrays = [np.asarray(x) for x in arguments]
    return Interpreter(module, state=state, hosts=hosts).run(next(iter(module.functions)), *arrays)


def test_two_byte_floats_are_computed_in_float32_and_rounded() -> None:
    text = "func @f(x: f16) -> f16 {\n  y: f16 = mul(x, x)\n  z: f16 = add(y, 1.0_f16)\n  return z\n}"
    (found,) = run(text, np.float16(1.001))
    assert found.dtype == np.float16
    assert found == np.float16(np.float32(np.float16(np.float32(np.float16(1.001)) ** 2)) + 1)


def test_bf16_is_stored_in_uint16() -> None:
    text = "func @f(x: bf16[2]) -> bf16[2] {\n  y: bf16[2] = add(x, 1.0_bf16)\n  return y\n}"
    one, third = 0x3F80, 0x3EAB  # 1 and 0.333984375
    (found,) = run(text, np.array([one, third], np.uint16))
    assert found.dtype == np.uint16
    assert found.tolist() == [0x4000, 0x3FAB]  # 2 and 1.3359375: the sum, rounded to eight digits


def test_named_sizes_come_from_the_arguments() -> None:
    text = """
    func @f(x: f32[b, 3], y: f32[2*b]) -> (f32[b, 3], f32[2*b]) {
      z: f32[b, 3] = broadcast(2.0_f32, to=f32[b, 3])
      u: f32[b, 3] = mul(x, z)
      three: f32[2*b] = broadcast(3.0_f32, to=f32[2*b])
      v: f32[2*b] = mul(y, three)
      return u, v
    }"""
    u, v = run(text, np.ones((2, 3), np.float32), np.ones(4, np.float32))
    assert u.tolist() == [[2.0] * 3] * 2
    assert v.tolist() == [3.0] * 4
    with pytest.raises(TypeError, match=r"shape \[5\] where f32\[2\*b\]"):
        run(text, np.ones((2, 3), np.float32), np.ones(5, np.float32))
    with pytest.raises(TypeError, match=r"shape \[3\] where f32\[b, 3\]"):
        run(text, np.ones(3, np.float32), np.ones(5, np.float32))
    with pytest.raises(TypeError, match="takes 2 arguments, but got 1"):
        run(text, np.ones(3, np.float32))


CONTROL = """
func @f(x: f64, n: i64, c: bool) -> (f64, f64, i64, i64) {
  a: f64 = if c {
    a.1: f64 = add(x, 1.0_f64)
    yield a.1
  } else {
    yield x
  }
  b: f64, last: i64 = for i in range(5, n, -2) carry (s: f64 = a, l: i64 = -1_i64) {
    d: f64 = cast(i, to=f64)
    s.1: f64 = add(s, d)
    yield s.1, i
  }
  e: f64, k: i64 = while carry (p: f64 = 1.0_f64, j: i64 = 0_i64) test {
    t: bool = less(p, b)
    yield t
  } do {
    p.1: f64 = mul(p, 2.0_f64)
    j.1: i64 = add(j, 1_i64)
    yield p.1, j.1
  }
  return b, e, last, k
}
"""


@pytest.mark.parametrize(("n", "c"), [(0, True), (5, False), (-10, False)])
def test_control_is_pythons(n: int, c: bool) -> None:
    b, last = 0.5 + c, -1
    for i in range(5, n, -2):
        b, last = b + i, i
    e, k = 1.0, 0
    while e < b:
        e, k = e * 2, k + 1
    assert [x.item() for x in run(CONTROL, 0.5, n, c)] == [b, e, last, k]


def test_a_stack_is_not_disturbed_by_a_push() -> None:
    text = """
    func @f(s: stack<f64>) -> (stack<f64>, f64) {
      s.1: stack<f64> = push(s, 2.0_f64)
      s.2: stack<f64>, x: f64 = pop(s.1)
      return s.2, x
    }"""
    module = parse_module(text)
    before = (None, np.asarray(1.0))
    rest, top = Interpreter(module).run("f", before)
    assert rest is before
    assert top == 2.0


def test_popping_an_empty_stack_is_a_fault() -> None:
    text = "func @f() -> f64 {\n  s: stack<f64> = stack()\n  t: stack<f64>, x: f64 = pop(s)\n  return x\n}"
    with pytest.raises(InternalError, match="empty stack"):
        run(text)


def test_tuples_and_undefined_values() -> None:
    text = """
    func @f(x: f64, n: i64) -> (tuple<f64, i64>, i64, f64) {
      t: tuple<f64, i64> = group(x, n)
      m: i64 = item(t, index=1)
      u: f64 = undef()
      return t, m, u
    }"""
    t, m, u = run(text, 1.5, 7)
    assert (t[0], t[1], m) == (1.5, 7, 7)
    assert u is UNDEFINED


def test_state_is_read_and_written_in_order() -> None:
    text = """
    param @w : f64
    func @f(x: f64) -> (f64, f64) {
      a: f64 = read @w
      write! @w(x)
      b: f64 = read @w
      return a, b
    }"""
    state = {"w": np.asarray(1.0)}
    assert run(text, 2.0, state=state) == (1.0, 2.0)
    assert state["w"] == 2.0


HOSTS = 'host @h = "t:h"\n'


def test_a_callback_that_returns_none_changes_nothing() -> None:
    text = (
        HOSTS
        + """
    func @f(x: f64, y: f64) -> (f64, f64) {
      a: f64, b: f64 = callback! @h(x, y, kind="value", present=[true, true])
      return a, b
    }"""
    )
    assert run(text, 1.0, 2.0, hosts={"h": lambda x, y: None}) == (1.0, 2.0)
    assert run(text, 1.0, 2.0, hosts={"h": lambda x, y: (None, y * 10)}) == (1.0, 20.0)


def test_backward_hooks_see_none_for_what_is_absent() -> None:
    text = (
        HOSTS
        + "func @f(x: f64, y: f64) -> f64 {\n  a: f64 = backward! @h(x, y, inputs=[false, true], outputs=[true, false])\n  return a\n}"
    )
    seen = []

    def hook(inputs: tuple, outputs: tuple) -> tuple:
        seen.append((inputs, outputs))
        return None, inputs[1] * 10

    assert run(text, 1.0, 2.0, hosts={"h": hook}) == (10.0,)
    assert seen == [((None, 1.0), (2.0, None))]


def test_a_bprop_sees_zeros_for_what_is_absent() -> None:
    text = (
        HOSTS
        + "func @f(x: f64[2], y: f64[2]) -> f64[2] {\n  a: f64[2] = bprop! @h(x, y, inputs=1, outputs=1, present=[false])\n  return a\n}"
    )
    (found,) = run(text, [1.0, 2.0], [3.0, 4.0], hosts={"h": lambda x, out, dout: x + out + dout})
    assert found.tolist() == [4.0, 6.0]


def test_apply_may_return_nothing_or_several() -> None:
    text = HOSTS + "func @f(x: f64) -> (f64, f64) {\n  apply! @h(x)\n  a: f64, b: f64 = apply! @h(x, x)\n  return a, b\n}"
    calls = []

    def h(*arguments: np.ndarray) -> object:
        calls.append(len(arguments))
        return None if len(arguments) == 1 else (arguments[0] + 1, arguments[1] + 2)

    assert run(text, 1.0, hosts={"h": h}) == (2.0, 3.0)
    assert calls == [1, 2]


def test_interpret_runs_a_function_by_itself() -> None:
    function = parse_module("func @f(x: f32) -> f32 {\n  y: f32 = neg(x)\n  return y\n}").functions["f"]
    assert interpret(function, [np.float32(2)]) == (-2.0,)
