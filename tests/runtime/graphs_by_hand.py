"""Graphs made by hand from IR text, for the tests of sequences."""

from __future__ import annotations

import weakref

import numpy as np

from adjoint import Tensor, nn, ops
from adjoint.ir.core import walk as nodes_of
from adjoint.ir.parse import parse_module
from adjoint.runtime.execution.run import Run
from adjoint.runtime.graphs.graph import CellSite, GradientSlot, Graph, site_key
from adjoint.runtime.graphs.running.binding import bind
from adjoint.runtime.hooks.firing import BACKWARD_PRE, fire_forward, fire_forward_pre
from adjoint.runtime.hooks.handles import Slots
from adjoint.runtime.process.tracer import state


def T(*values):  # short, since it stands in every line
    return Tensor(np.array(values, np.float32))


def N(value, dtype=np.float32):
    return Tensor(np.array(value, dtype))


def made(text, params=None, hosts=None, cells=()):
    """Return a graph from text; `cells` are the sites of its cells, in order."""
    module = parse_module(text)
    found = [node for node in nodes_of(module.functions["f"].body) if node.op.name == "cell"]
    sites = {site_key(node): site for node, site in zip(found, cells, strict=bool(cells))}
    return Graph(module, "f", params or {}, hosts or {}, sites)


def function(graph):
    """Return the graph as a function of tensors."""
    bound = bind(graph)

    def f(*arguments):
        results = bound.run(arguments, Run(state.tracer))
        return results[0] if len(results) == 1 else tuple(results)

    return f


def site(cell, pattern=None):
    """Return the call of a cell with only tensors, and one result."""
    return CellSite(weakref.ref(cell), lambda tensors: (tuple(tensors), {}), lambda tensors: tensors[0], pattern or Slots.of(cell))


def same(a, b):
    """Return whether two values are equal to the bit, also in tuples."""
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a.type is b.type
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes(), (a, b)


class Square(nn.Cell):
    def construct(self, x, y):
        return x * x + ops.sin(y)


CELL = """
host @cell = ""
host @cell.pre = ""
host @cell.forward_pre = ""
host @cell.forward = ""
func @f(x: f32[2], y: f32[2]) -> f32[2] {
  a: f32[2] = mul(x, y)
  %before%
  b: f32[2] = cell "Square"%with% carry (p: f32[2] = a1, q: f32[2] = y1) {
    r: f32[2] = mul(p, p)
    s: f32[2] = sin(q)
    t: f32[2] = add(r, s)
    yield t
  }
  %after%
  d: f32[2] = mul(b2, 3.0_f32)
  return d
}
"""


def squared(cell):
    """Return a graph of `lambda x, y: cell(x * y, y) * 3.0`, made for the hooks that the cell has now."""
    slots = Slots.of(cell)
    text = CELL.replace("%with%", " with @cell" if slots.backward else "")
    before = "a1: f32[2], y1: f32[2] = apply! @cell.forward_pre(a, y)" if slots.forward_pre else ""
    after = []
    last = "b"
    if slots.forward:
        after.append("b1: f32[2] = apply! @cell.forward(b, a1, y1)")
        last = "b1"
    if slots.backward_pre:
        after.append(f"b2: f32[2] = outputs @cell.pre({last})")
        last = "b2"
    text = text.replace("%before%", before).replace("%after%", "\n".join(after)).replace("b2, 3.0", f"{last}, 3.0")
    if not before:
        text = text.replace("a1", "a").replace("y1", "y")

    def forward_pre(*given):
        return fire_forward_pre(cell, (given, {}))[0]

    def forward(output, *given):
        return fire_forward(cell, (given, {}), output)

    hosts = {"cell.pre": GradientSlot(weakref.ref(cell), BACKWARD_PRE), "cell.forward_pre": forward_pre, "cell.forward": forward}
    return made(text, hosts=hosts, cells=[site(cell)])


def logging(log, name, change=None):
    def hook(*given):
        log.append((name, repr(given[1:])))
        return None if change is None else change(*given)

    return hook
