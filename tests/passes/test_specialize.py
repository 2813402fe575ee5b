"""Numbers for named sizes, with and without inferring types anew."""

from __future__ import annotations

import pytest

import adjoint.passes  # noqa: F401 - makes the passes known
from adjoint.ir.core import Function, walk
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_function
from adjoint.ir.verify import verify_function
from adjoint.passes.specialize import Inferences, specialized

CONTROL = """
func @f(x: f32[b, 3], w: f32[3, 3], n: i64) -> (f32[b, 3], f32[3, 3], f32[2*b, 3]) {
  scaled: f32[3, 3] = mul(w, 2.0_f32)
  big: bool = greater(n, 3_i64)
  h: f32[b, 3] = if big {
    y: f32[b, 3] = matmul(x, scaled, ta=false, tb=false)
    yield y
  } else {
    yield x
  }
  h.1: f32[b, 3], v: f32[3, 3] = for i in range(0, n, 1) carry (a: f32[b, 3] = h, u: f32[3, 3] = w) {
    a.1: f32[b, 3] = tanh(a)
    u.1: f32[3, 3] = tanh(u)
    yield a.1, u.1
  }
  h.2: f32[b, 3] = while carry (c: f32[b, 3] = h.1) test {
    s: f32 = sum(c, axes=[0, 1], keepdims=false)
    more: bool = greater(s, 1.0_f32)
    yield more
  } do {
    c.1: f32[b, 3] = mul(c, 0.5_f32)
    yield c.1
  }
  twice: f32[2*b, 3] = concat(h.2, x, axis=0)
  return h.2, v, twice
}
"""

IMAGES = """
func @f(x: f32[b, 1, h, 8], w: f32[2, 1, 3, 3]) -> f32[b, 2, h + -2, 6] {
  y: f32[b, 2, h + -2, 6] = convolution(x, w, stride=[1, 1], padding=[[0, 0], [0, 0]], dilation=[1, 1], groups=1)
  return y
}
"""


def function(text: str) -> Function:
    (found,) = parse_module(text).functions.values()
    return found


def test_numbers_are_those_that_are_inferred() -> None:
    general = function(CONTROL)
    inferences = Inferences([general], ["b"])
    for b in (2, 5, 100):
        made = inferences.numbered(general, {"b": b})
        verify_function(made)
        assert print_function(made) == print_function(specialized(general, {"b": b}))


def test_nodes_without_names_are_shared() -> None:
    """But not those with regions: a gradient in a graph is known by its node."""
    general = function(CONTROL)
    inferences = Inferences([general], ["b"])
    one, other = (inferences.numbered(general, {"b": b}) for b in (2, 3))
    shared = set(walk(one.body)) & set(walk(other.body))
    assert sorted(node.op.name for node in shared) == ["greater", "greater", "mul", "tanh"]
    assert all(not node.regions for node in shared)


def test_a_size_that_an_op_cannot_have() -> None:
    general = function(IMAGES)
    inferences = Inferences([general], ["b", "h"])
    inferences.numbered(general, {"b": 4, "h": 3})
    with pytest.raises(ValueError, match="no larger than"):
        inferences.numbered(general, {"b": 4, "h": 2})
