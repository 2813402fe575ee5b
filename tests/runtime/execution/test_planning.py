"""The plan of a function: pieces in order, slots, and which values Python sees."""

from __future__ import annotations

import pytest

from adjoint.ir.parse import parse_module
from adjoint.ir.plan import Control, HostCall, Straight
from adjoint.ir.plan_text import plan_text
from adjoint.runtime.execution.planning import planned

TEXT = """
host @seen = ""
func @f(x: f32[2000], c: bool) -> (f32[2000], f32[2000]) {
  a: f32[2000] = mul(x, 2.0_f32)
  b: f32[2000] = tanh(a)
  d: f32[2000] = apply! @seen(b)
  e: f32[2000] = if c {
    n: f32[2000] = neg(d)
    apply! @seen()
    yield n
  } else {
    yield x
  }
  return e, x
}
"""

PLAN = """\
plan @f: 8 slots, 5 of them shown to Python
arguments x: f32[2000] in #0, c: bool in #1
constants 2.0: f32 in #2
launches, an arena of 8000 bytes
  a: f32[2000] = mul(x, 2.0_f32)  #3 at 0 <- #0, #2
  b: f32[2000] = tanh(a)          #4 <- #3; frees #3
host
  d: f32[2000] = apply! @seen(b)  #5 <- #4; frees #4
e: f32[2000] = if c               #6 <- #1; frees #5
  region
    launches
      n: f32[2000] = neg(d)       #7 <- #5
    host
      apply! @seen
    yields #7
  region
    yields #0
results #6, #0
"""


def plan(*, identities: bool):
    return planned(parse_module(TEXT).functions["f"], identities=identities)


def test_the_text_of_a_plan() -> None:
    assert plan_text(plan(identities=True)) == PLAN


def test_pieces() -> None:
    straight, host, control = plan(identities=True).body.pieces
    assert isinstance(straight, Straight) and [launch.node.op.name for launch in straight.launches] == ["mul", "tanh"]
    assert isinstance(host, HostCall) and host.dying == (4,)
    assert isinstance(control, Control) and len(control.blocks) == 2


@pytest.mark.parametrize(("identities", "shown"), [(True, {0, 4, 5, 6, 7}), (False, set())])
def test_which_values_python_sees(identities: bool, shown: set[int]) -> None:
    """In a graph, results that may be arguments and the values of hosts are tensors; in an adjoint none are, since hosts get new ones."""
    assert {i for i, slot in enumerate(plan(identities=identities).slots) if slot.shown} == shown


def test_a_value_returned_twice_is_one_tensor() -> None:
    function = parse_module("func @f(x: f32) -> (f32, f32) {\n a: f32 = neg(x)\n return a, a\n}").functions["f"]
    assert [slot.shown for slot in planned(function, identities=True).slots] == [False, True]
