"""The walker runs a graph as eager mode runs the same program: values, gradients to the bit, hooks, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import adjoint as ms
from adjoint import Parameter, Tensor, nn, ops
from adjoint.ir.core import walk as nodes_of
from adjoint.ir.parse import parse_module
from adjoint.runtime import program
from adjoint.runtime.graph import CellSite, Deviation, Graph, Slots, site_key
from adjoint.runtime.walk import bind


def T(*values):  # short, since it stands in every line
    return Tensor(np.array(values, np.float32))


def N(value, dtype=np.float32):
    return Tensor(np.array(value, dtype))


def made(text, state=None, hosts=None, cells=(), symbol="f"):
    """A graph from text; `cells` are the sites of its cells, in order."""
    module = parse_module(text)
    sites = {}
    found = [n for n in nodes_of(module.functions[symbol].body) if n.op.name == "cell"]
    for node, site in zip(found, cells, strict=bool(cells)):
        sites[site_key(node)] = site
    return Graph(module, symbol, state or {}, hosts or {}, sites)


def function(graph):
    """The graph as a function of tensors."""
    walk = bind(graph)

    def f(*arguments):
        results = walk.run(arguments)
        return results[0] if len(results) == 1 else tuple(results)

    return f


def site(cell, pattern=None):
    """The call of a cell with tensors alone, and one result."""
    return CellSite(cell, lambda tensors: (tuple(tensors), {}), lambda tensors: tensors[0], pattern or Slots.of(cell))


def same(a, b):
    """Equal to the bit, through tuples."""
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a.type is b.type
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes(), (a, b)


PURE = """
func @f(x: f32[2], y: f32[2]) -> (f32[2], f32) {
  a: f32[2] = mul(x, 2.0_f32)
  b: f32[2] = add(a, y)
  c: f32[2] = tanh(b)
  s: f32 = sum(c, axes=[0])
  return c, s
}
"""


def test_pure_nodes():
    f = function(made(PURE))

    def eager(x, y):
        c = ops.tanh(x * 2.0 + y)
        return c, c.sum()

    x, y = T(1, -2), T(0.5, 3)
    same(f(x, y), eager(x, y))
    same(ms.grad(f, (0, 1))(x, y), ms.grad(eager, (0, 1))(x, y))


def test_a_constant_result_belongs_to_the_caller():
    f = function(made("func @f() -> (f32, f32) {\n return 0.0_f32, -0.0_f32\n}"))
    a, b = f()
    assert np.signbit(b.asnumpy()) and not np.signbit(a.asnumpy())
    a.set_data(N(7))
    assert f()[0].asnumpy() == 0
