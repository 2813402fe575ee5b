"""What `attend` makes of products with a softmax, and what it leaves.  Bits are the matter of tests/test_attention_kernels.py."""

from __future__ import annotations

import pytest
from transformed import held, nodes, transformed

from adjoint.ir.core import Module
from adjoint.ir.ops.fused import Fused
from adjoint.ir.print import print_module
from adjoint.passes import attention
from adjoint.passes.manager import Pipeline

P, Q, K, V = "f32[2, 6, 5]", "f32[2, 6, 3]", "f32[2, 5, 3]", "f32[2, 5, 4]"
Y = "f32[2, 6, 4]"


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "LARGE", 0)


def after(body: str, params: str = f"q: {Q}, k: {K}, v: {V}", results: str = Y, passes: str = "attend") -> Module:
    return transformed(body, params, results, P, passes)


PLAIN = f"""
  s: {P} = matmul(q, k, tb=true)
  p: {P} = softmax(s, axis=2)
  y: {Y} = matmul(p, v)
"""


def test_a_softmax_between_two_products() -> None:
    assert held(after(f"{PLAIN}  return y")) == [["matmul", "softmax", "matmul"]]


def test_small_scores_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storing 240 bytes costs less than computing them twice."""
    monkeypatch.setattr(attention, "LARGE", 241)
    assert held(after(f"{PLAIN}  return y")) == [["matmul"], ["softmax"], ["matmul"]]
    monkeypatch.setattr(attention, "LARGE", 240)
    assert held(after(f"{PLAIN}  return y")) == [["matmul", "softmax", "matmul"]]


def test_what_is_between_scores_and_softmax() -> None:
    """A number, a bias for each key, a mask and one that is broadcast by a node: numbers that are not common are operands."""
    module = after(f"""
  n: {P} = broadcast(m, to={P})
  s: {P} = matmul(q, k, tb=true)
  a: {P} = mul(s, 0.125_f32)
  b: {P} = add(a, bias)
  c: {P} = select(mask, -inf_f32, b)
  d: {P} = sub(c, n)
  p: {P} = softmax(d, axis=2)
  g: {P} = mul(p, w)
  y: {Y} = matmul(g, v)
  return y""", f"q: {Q}, k: {K}, v: {V}, bias: f32[5], mask: bool[6, 5], m: f32[6, 1], w: {P}")
    assert held(module) == [["broadcast", "matmul", "mul", "add", "select", "sub", "softmax", "mul", "matmul"]]
    given = ["m", "q", "k", "0.125_f32", "bias", "mask", "-inf_f32", "w", "v"]
    assert [str(x).partition(":")[0] for x in nodes(module)[0].operands] == given


def test_the_gradient_computes_the_scores_again() -> None:
    """The first two products of the gradient's kernel give scores; the sums over rows and the product with them are its results."""
    module = after(f"{PLAIN}  z: {Y} = tanh(y)\n  return z", passes="grad{wrt=[q, k, v]},simplify,cse,dce,attend")
    functions = [[[inner.op.name for inner in n.regions[0].nodes] for n in f.body.nodes if isinstance(n.op, Fused)]
                 for f in module.functions.values()]
    forward = ["matmul", "softmax", "matmul"]
    backward = ["matmul", "softmax", "matmul", "matmul", "softmax_gradient", "matmul", "matmul"]
    assert functions[-1] == [forward, backward]


def test_results_of_two_places_are_two_nodes() -> None:
    """`z` reads what is computed of `y`."""
    module = after(f"{PLAIN}  u: {V} = matmul(p, y, ta=true)\n  z: {Y} = matmul(p, u)\n  r: {Y} = add(y, z)\n  return r")
    assert held(module) == [["matmul", "softmax", "matmul"]] * 3 + [["add"]]


USES = {
    "  return y, p": P,
    f"  m: {P} = apply! @h(p)\n  return y, m": P,
    f"  m: {P} = apply! @h(s)\n  return y, m": P,
    "  write! @w(p)\n  return y, q": Q,
    "  m: f32 = mean(p, axes=[0, 1, 2])\n  return y, m": "f32",
    "  m: f32[2, 5, 6] = transpose(p, permutation=[0, 2, 1])\n  return y, m": "f32[2, 5, 6]",
    "  m: f32[2, 6, 6] = matmul(p, s, tb=true)\n  return y, m": "f32[2, 6, 6]",
    "  m: f32[2, 3, 5] = matmul(t, p)\n  return y, m": "f32[2, 3, 5]",
    f"  m: {P} = if c {{\n    n: {P} = neg(p)\n    yield n\n  }} else {{\n    yield s\n  }}\n  return y, m": P,
}
"""By the uses of scores, the type of the second result."""


@pytest.mark.parametrize("use", USES)
def test_scores_that_something_else_uses_are_stored(use: str) -> None:
    """Hooks, callers, state, a mean, a product with other scores, a product whose rows are not those of the scores, and a branch."""
    module = after(PLAIN + use, f"q: {Q}, k: {K}, v: {V}, t: f32[2, 3, 6], c: bool", f"({Y}, {USES[use]})")
    assert all(len(ops) == 1 for ops in held(module))


@pytest.mark.parametrize("body", [
    f"  s: {P} = matmul(q, k, tb=true)\n  p: {P} = sigmoid(s)\n  y: {Y} = matmul(p, v)\n  return y",
    f"  s: {P} = matmul(q, k, tb=true)\n  p: {P} = softmax(s, axis=1)\n  y: {Y} = matmul(p, v)\n  return y",
    f"  p: {P} = softmax(w, axis=2)\n  y: {Y} = matmul(p, v)\n  return y",
    f"  s: {P} = matmul(l, r)\n  p: {P} = softmax(s, axis=2)\n  y: {Y} = matmul(p, v)\n  return y",
])
def test_other_products_stay(body: str) -> None:
    """Without a softmax, or one over other elements; of scores that are no product, or of one that takes longer than storing them."""
    module = after(body, f"q: {Q}, k: {K}, v: {V}, w: {P}, l: f32[2, 6, 50], r: f32[2, 50, 5]")
    assert all(len(ops) == 1 for ops in held(module))


def test_square_results_are_no_scores() -> None:
    """The result has the type of the scores, and is the operand of another attention."""
    square = "f32[4, 4]"
    module = after(f"""
  s: {square} = matmul(x, x, tb=true)
  p: {square} = softmax(s, axis=1)
  y: {square} = matmul(p, x)
  t: {square} = matmul(y, y, tb=true)
  u: {square} = softmax(t, axis=1)
  z: {square} = matmul(u, y)
  return z""", f"x: {square}", square)
    assert held(module) == [["matmul", "softmax", "matmul"]] * 2


def test_what_is_differentiated_stays() -> None:
    """It is recorded node by node."""
    module = after(f"""
  z: {Q}, q': {Q} = gradient of=1 carry (x: {Q} = q) {{
    s: {P} = matmul(x, k, tb=true)
    p: {P} = softmax(s, axis=2)
    y: {Q} = matmul(p, k)
    yield y
  }}
  return z""", results=Q)
    assert [node.op.name for node in nodes(module)[0].regions[0].nodes] == ["matmul", "softmax", "matmul"]


def test_inside_of_a_loop() -> None:
    module = after(f"""
  z: {Q} = for i in range(0, 3, 1) carry (x: {Q} = q) {{
    s: {P} = matmul(x, k, tb=true)
    p: {P} = softmax(s, axis=2)
    y: {Q} = matmul(p, k)
    yield y
  }}
  return z""", results=Q)
    (loop,) = nodes(module)
    assert [node.op.name for node in loop.regions[0].nodes] == ["attention"]
    assert "attention" not in print_module(Pipeline.parse("inline").run(module))
