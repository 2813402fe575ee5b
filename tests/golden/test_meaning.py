"""The comparison of meanings detects what a faulty pass would do."""

from __future__ import annotations

import pytest
from meaning import compare, compare_gradient

from adjoint.ir.parse import parse_module
from adjoint.passes.manager import Pipeline

BEFORE = """
param @w : f32
host @log = "demo:log"
func @f(x: f32, n: i64) -> f32 {
  w: f32 = read @w
  a: f32 = callback! @log(x, kind="tensor", present=[true])
  b: f32 = callback! @log(w, kind="tensor", present=[true])
  y: f32 = add(a, b)
  write! @w(y)
  return y
}
"""
FAULTS = {
    "another result": ("add(a, b)", "sub(a, b)"),
    "another state": ("write! @w(y)", "write! @w(a)"),
    "another order of effects": ("(x, kind", "(w, kind"),
    "the sign of zero": ("return y", "z: f32 = mul(y, 0.0_f32)\n  return z"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_changed_meaning_is_seen(fault: str) -> None:
    old, new = FAULTS[fault]
    before, after = parse_module(BEFORE), parse_module(BEFORE.replace(old, new, 1))
    compare(before, before, (-2.0, 2.0))
    with pytest.raises(AssertionError, match="changed"):
        compare(before, after, (-2.0, 2.0))


def test_a_wrong_gradient_is_seen() -> None:
    before = parse_module("func @f(x: f32[3]) -> f32[3] {\n  y: f32[3] = exp(x)\n  return y\n}")
    other = parse_module("func @f(x: f32[3]) -> f32[3] {\n  y: f32[3] = tanh(x)\n  return y\n}")
    step = Pipeline.parse("grad{wrt=[x]}").passes[0]
    compare_gradient(before, step.on_module(before), step, (-1.0, 1.0))
    with pytest.raises(AssertionError, match="along a direction"):
        compare_gradient(before, step.on_module(other), step, (-1.0, 1.0))


def test_a_loop_without_end_is_told() -> None:
    endless = parse_module(
        "func @f(x: f32) -> f32 {\n"
        "  y: f32 = while carry (a: f32 = x) test {\n    yield true\n  } do {\n    a.1: f32 = neg(a)\n    yield a.1\n  }\n"
        "  return y\n}"
    )
    with pytest.raises(AssertionError, match="does not end"):
        compare(endless, endless, (-2.0, 2.0))
