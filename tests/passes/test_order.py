"""Which functions may run with their gradients expanded, and that the optimised function returns the same tensors."""

from __future__ import annotations

import pytest

from adjoint.ir.core import walk
from adjoint.ir.ops.control import Differentiated
from adjoint.ir.parse import parse_module
from adjoint.passes.optimising import optimised_alike, why_not_alike


def expanded(text: str) -> bool:
    module = parse_module(text)
    function = optimised_alike(module.functions["f"], module)
    assert function is None or not any(isinstance(node.op, Differentiated) for node in walk(function.body))
    return function is not None


REGION = """
param @w : f32
host @h = ""
func @f(x: f32, c: bool) -> (f32, f32) {{
  y: f32, x': f32 = gradient of=1 carry (u: f32 = x) {{
{}
    yield r
  }}
  return y, x'
}}
"""
IN_CELLS = """
    k: f32 = cell "k" carry (v: f32 = u) {
      s: f32 = sin(v)
      yield s
    }
    r: f32 = mul(k, u)"""
BRANCH = """
    b: f32 = if c {
      n: f32 = neg(u)
      yield n
    } else {
      yield u
    }
    r: f32 = mul(b, u)"""
LOOP = """
    b: f32 = for i in range(0_i64, 3_i64, 1_i64) carry (v: f32 = u) {
      n: f32 = mul(v, v)
      yield n
    }
    r: f32 = mul(b, 2.0_f32)"""
USED_AFTER_THE_LOOP = LOOP.replace("2.0_f32", "u")
CAPTURED = LOOP.replace("mul(v, v)", "mul(v, u)")
TWO_NAMES = """
    b: f32, d: f32 = for i in range(0_i64, 3_i64, 1_i64) carry (v: f32 = u, o: f32 = u) {
      n: f32 = mul(v, 2.0_f32)
      m: f32 = mul(o, 3.0_f32)
      yield n, m
    }
    r: f32 = mul(b, d)"""
ROUNDS = "range(0_i64, 3_i64, 1_i64)"
SOME_ROUNDS = """
    s: i64 = cast(c, to=i64)""" + CAPTURED.replace(ROUNDS, "range(s, 3_i64, 1_i64)")
TWO_NAMES_OR_NO_ROUNDS = """
    s: i64 = cast(c, to=i64)""" + TWO_NAMES.replace(ROUNDS, "range(s, 3_i64, 1_i64)")
NAMED_AGAIN = CAPTURED.replace("yield n", "yield u")
HOOK_ON_A_VALUE = LOOP + "\n    attach! @h(b)"
PYTHON_IN_A_LOOP = LOOP.replace("n: f32 = mul(v, v)", "n: f32 = mul(v, v)\n      apply! @h(n)")
PYTHON_IN_A_BRANCH = """
    b: f32 = if c {
      n: f32 = neg(u)
      apply! @h(n)
      yield n
    } else {
      m: f32 = sin(u)
      yield m
    }
    r: f32 = mul(b, 2.0_f32)"""
CHOSEN = """
    b: f32 = if c {
      n: f32 = neg(u)
      yield n
    } else {
      yield 2.0_f32
    }
    h: f32 = mul(b, 3.0_f32)
    k: f32 = cell "k" with @h carry (v: f32 = h) {
      s: f32 = sin(v)
      yield s
    }
    r: f32 = mul(k, 2.0_f32)"""
ON_BOTH_PATHS = CHOSEN.replace("yield 2.0_f32", """m: f32 = sin(u)
      yield m""")
DROPPED = """
    b: f32 = for i in range(0_i64, 3_i64, 1_i64) carry (v: f32 = u) {
      n: f32 = cast(i, to=f32)
      yield n
    }
    h: f32 = hook @h(b)
    r: f32 = mul(h, 2.0_f32)"""
WRITTEN = """
    write! @w(u)
    a: f32 = read @w
    r: f32 = mul(a, u)"""
ONLY_WRITTEN = """
    a: f32 = read @w
    d: f32 = add(a, 1.0_f32)
    write! @w(d)
    r: f32 = mul(u, u)"""
OLD_VALUE = """
    a: f32 = read @w
    d: f32 = add(a, 1.0_f32)
    write! @w(d)
    r: f32 = mul(u, a)"""
IN_A_GRADIENT = """
    q: f32, u': f32 = gradient of=1 carry (v: f32 = u) {
      s: f32 = mul(v, v)
      yield s
    }
    r: f32 = mul(u', u)"""
A_CELL_IN_A_GRADIENT = IN_A_GRADIENT.replace("s: f32 = mul(v, v)", """s: f32 = cell "k" carry (a: f32 = v) {
        n: f32 = mul(a, a)
        yield n
      }""")
A_LOOP_IN_A_GRADIENT = IN_A_GRADIENT.replace("s: f32 = mul(v, v)", """s: f32 = for i in range(0_i64, 3_i64, 1_i64) carry (a: f32 = v) {
        n: f32 = mul(a, a)
        yield n
      }""")


@pytest.mark.parametrize(("region", "may"), [
    (IN_CELLS, True), (IN_A_GRADIENT, True), (ONLY_WRITTEN, True), (LOOP, True), (PYTHON_IN_A_BRANCH.replace("apply! @h(n)", ""), True),
    (USED_AFTER_THE_LOOP, False), (CAPTURED, True), (SOME_ROUNDS, True), (TWO_NAMES, True), (TWO_NAMES_OR_NO_ROUNDS, False),
    (NAMED_AGAIN, False), (HOOK_ON_A_VALUE, False), (PYTHON_IN_A_LOOP, False),
    (PYTHON_IN_A_BRANCH, False), (A_CELL_IN_A_GRADIENT, True), (A_LOOP_IN_A_GRADIENT, False), (BRANCH, False), (WRITTEN, False),
    (OLD_VALUE, False), (CHOSEN, False), (CHOSEN.replace(" with @h", ""), True), (ON_BOTH_PATHS, True), (DROPPED, False)])
def test_what_may_be_expanded(region: str, may: bool) -> None:
    assert expanded(REGION.format(region)) is may


def test_a_parameter_that_a_loop_begins_with() -> None:
    """It has a sum of its own if it is one of those to differentiate by: as a parameter, and as what the loop carries."""
    text = """
param @w : f32
func @f(x: f32) -> (f32, f32) {
  y: f32, x': f32, w': f32 = gradient of=1 by=[@w] carry (u: f32 = x) {
    a: f32 = read @w
    b: f32 = for i in range(0_i64, 3_i64, 1_i64) carry (v: f32 = a) {
      n: f32 = mul(v, 2.0_f32)
      yield n
    }
    r: f32 = mul(b, u)
    yield r
  }
  return x', w'
}
"""
    assert not expanded(text)
    assert expanded(text.replace(" = a)", " = u)").replace("mul(b, u)", "mul(b, a)"))


def test_a_parameter_that_is_written_in_a_loop() -> None:
    """What a round reads of it from outside is the old value."""
    text = """
param @w : f32
func @f(x: f32) -> f32 {
  a: f32 = read @w
  y: f32 = for i in range(0_i64, 3_i64, 1_i64) carry (v: f32 = x) {
    n: f32 = mul(v, a)
    write! @w(v)
    yield n
  }
  return y
}
"""
    assert not expanded(text)
    assert expanded(text.replace("    write! @w(v)\n", ""))


def test_control_flow_around_a_gradient_may_stay() -> None:
    """What is not differentiated is not summed."""
    assert expanded("""
func @f(x: f32) -> f32 {
  z: f32 = for i in range(0_i64, 3_i64, 1_i64) carry (a: f32 = x) {
    y: f32, x': f32 = gradient of=1 carry (u: f32 = a) {
      s: f32 = mul(u, u)
      yield s
    }
    yield x'
  }
  return z
}
""")


RECORDED = """
host @h = ""
func @f(x: f32) -> f32 {
  y: f32, t: trace<f32 -> f32> = record of=1 carry (u: f32 = x) {
    s: f32 = mul(u, u)
    yield s
  }
  p: f32 = pull!(t, y)
  return p
}
"""


def test_each_pull_of_a_recorded_function_is_a_reverse_pass_of_its_own() -> None:
    assert expanded(RECORDED)
    assert expanded(RECORDED.replace("  return p", "  q: f32 = pull!(t, p)\n  return q"))


def test_a_recorded_function_with_hooks_or_inside_of_a_gradient_stays() -> None:
    assert not expanded(RECORDED.replace("    yield s", "    attach! @h(s)\n    yield s"))
    assert not expanded(RECORDED.replace("    yield s", "    v: f32 = hook @h(s, kind=\"value\")\n    yield v"))
    head, body = RECORDED.split("{\n", 1)
    inner = body.replace("(u: f32 = x)", "(u: f32 = b)").replace("return", "yield").rstrip("}\n")
    assert not expanded(head + "{\n g0: f32, g1: f32 = gradient of=1 carry (b: f32 = x) {\n" + inner + "\n }\n return g1\n}\n")


def test_what_may_fail_stays() -> None:
    """An index out of range is reported even if nothing uses what it selects."""
    module = parse_module("func @f(x: f32[3], i: i64) -> f32[3] {\n g: f32 = gather(x, i, axis=0)\n s: f32[3] = sin(x)\n return x\n}")
    function = optimised_alike(module.functions["f"], module)
    assert function is not None and [node.op.name for node in function.body.nodes] == ["gather"]


@pytest.mark.parametrize(("body", "results", "names"), [
    (" a: f32 = neg(x)\n b: f32 = neg(a)", "b", ["identity"]),  # the value of x, but not x
    (" a: f32 = sin(x)\n b: f32 = sin(x)", "a, b", ["sin", "identity"]),
    (" a: f32 = sin(x)", "a, a", ["sin"]),
    (" a: f32 = read @w\n b: f32 = neg(a)\n d: f32 = neg(b)", "a, d", ["read", "identity"]),
    (' a: f32 = cell "k" carry (v: f32 = x) {\n yield v\n }', "a", []),  # a cell passes on the tensor that it is given
    (" a: f32 = if true {\n yield x\n } else {\n b: f32 = sin(x)\n yield b\n }", "a, x", []),
])
def test_results_are_the_same_tensors(body: str, results: str, names: list[str]) -> None:
    types = ", ".join(["f32"] * len(results.split(",")))
    module = parse_module(f"param @w : f32\nfunc @f(x: f32) -> ({types}) {{\n{body}\n return {results}\n}}")
    function = optimised_alike(module.functions["f"], module)
    assert function is not None and [node.op.name for node in function.body.nodes] == names


@pytest.mark.parametrize(("text", "reason"), [
    (REGION.format(BRANCH), "another order"), (REGION.format(OLD_VALUE), "its old value is needed"), (REGION.format(LOOP), ""),
    ('host @h = ""\nfunc @f(x: f32) -> f32 {\n a: f32 = mul(x, 1.0_f32)\n apply! @h(a)\n return x\n}', "in place of a new tensor"),
])
def test_why_a_function_stays_as_it_is(text: str, reason: str) -> None:
    module = parse_module(text)
    said = why_not_alike(module.functions["f"], module)
    assert reason in said and bool(reason) is bool(said)


SWAPPED = "".join(f" a{i + 1}: f32, b{i + 1}: f32 = if c {{\n yield b{i}, a{i}\n }} else {{\n yield a{i}, b{i}\n }}\n" for i in range(40))


@pytest.mark.parametrize(("body", "results"), [
    (" a: f32 = mul(x, 1.0_f32)\n b: f32 = if c {\n yield a\n } else {\n yield x\n }", "b"),
    (" a: f32 = sin(x)\n d: f32 = sin(x)\n b: f32 = if c {\n yield a\n } else {\n yield x\n }", "b, d"),
    (f" a0: f32 = neg(x)\n b0: f32 = mul(x, 1.0_f32)\n{SWAPPED}", "a40, b40"),
])
def test_a_branch_chooses_the_same_tensor(body: str, results: str) -> None:
    """Without the algebra that would make one of two, also where there are more choices than can be listed."""
    types = ", ".join(["f32"] * len(results.split(",")))
    module = parse_module(f"func @f(x: f32, c: bool) -> ({types}) {{\n{body}\n return {results}\n}}")
    before = module.functions["f"]
    function = optimised_alike(before, module)
    assert function is not None and len([*walk(function.body)]) == len([*walk(before.body)])
