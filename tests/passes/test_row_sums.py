"""Cotangents of rows are added to their sum in a loop, with the bits of whole arrays that are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.ir.core import Function, walk
from adjoint.ir.interpret import interpret
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_function
from adjoint.ir.verify import verify_module
from adjoint.passes.manager import Pipeline

LOOP = """
func @f(g: f32[2, 3], n: i64) -> (f32[4, 3], bool) {
  u: f32[4, 3] = undef()
  s: f32[4, 3], t: bool = for i in range(0_i64, n, 1_i64) carry (a: f32[4, 3] = u, p: bool = false) {
    d: f32[3] = gather(g, 0_i64, axis=0)
    e: f32[3] = gather(g, -1_i64, axis=0)
    r: f32[4, 3] = gather_gradient(d, i, axis=0, to=f32[4, 3])
    b: f32[4, 3] = if p {
      c: f32[4, 3] = add(a, r)
      yield c
    } else {
      yield r
    }
    yield b, true
  }
  z: f32[4, 3] = if t {
    yield s
  } else {
    o: f32[4, 3] = broadcast(0.0_f32, to=f32[4, 3])
    yield o
  }
  return z, t
}
"""
TWO_ROWS = LOOP.replace("    yield b, true", """    q: f32[4, 3] = gather_gradient(e, -2_i64, axis=0, to=f32[4, 3])
    k: f32[4, 3] = add(b, q)
    yield k, true""")
A_WHOLE_ARRAY_TOO = LOOP.replace("    yield b, true", """    q: f32[4, 3] = broadcast(-0.0_f32, to=f32[4, 3])
    k: f32[4, 3] = add(b, q)
    yield k, true""")
ALONG_ANOTHER_AXIS = LOOP.replace("4, 3", "3, 4").replace("axis=0, to", "axis=1, to")
TWO_SUMS = """
func @f(g: f32[2, 3], n: i64) -> (f32[4, 3], f32[3]) {
  u: f32[4, 3] = undef()
  v: f32[3] = undef()
  s: f32[4, 3], w: f32[3], t: bool = for i in range(0_i64, n, 1_i64) carry (a: f32[4, 3] = u, h: f32[3] = v, p: bool = false) {
    d: f32[3] = gather(g, 0_i64, axis=0)
    r: f32[4, 3] = gather_gradient(d, i, axis=0, to=f32[4, 3])
    b: f32[4, 3], m: f32[3] = if p {
      c: f32[4, 3] = add(a, r)
      k: f32[3] = mul(h, d)
      yield c, k
    } else {
      yield r, d
    }
    yield b, m, true
  }
  return s, w
}
"""
TWO_SUMS_OF_ROWS = LOOP.replace("u: f32[4, 3] = undef()", """u: f32[4, 3] = undef()
  v: f32[4, 3] = undef()""").replace("s: f32[4, 3], t", "s: f32[4, 3], w: f32[4, 3], t").replace(" = u, p", " = u, h: f32[4, 3] = v, p") \
    .replace("    b: f32[4, 3] = if", """    l: f32[4, 3] = gather_gradient(e, 1_i64, axis=0, to=f32[4, 3])
    b: f32[4, 3], m: f32[4, 3] = if""").replace("      yield c", """      k: f32[4, 3] = add(h, l)
      yield c, k""").replace("      yield r", "      yield r, l").replace("yield b, true", "yield b, m, true") \
    .replace("    yield s\n", """    x: f32[4, 3] = add(s, w)
    yield x
""")
SEVERAL_INDICES = LOOP.replace("gather_gradient(d, i,", "gather_gradient(g, is,").replace("    d: f32[3] =", """\
    is: i64[2] = broadcast(i, to=i64[2])
    d: f32[3] =""")
USED_IN_THE_ROUND = LOOP.replace("    yield b, true", """    m: f32[4, 3] = mul(a, b)
    yield m, true""")
BEGINS_WITH_AN_ARRAY = LOOP.replace("u: f32[4, 3] = undef()", "u: f32[4, 3] = broadcast(-0.0_f32, to=f32[4, 3])")
MAY_GO_AWAY = LOOP.replace("yield b, true", "yield b, p")
ANOTHER_ARRAY = LOOP.replace("gather_gradient(d, i, axis=0, to=f32[4, 3])", "broadcast(d, to=f32[4, 3])")

GRADIENTS = np.array([[-0.0, 1.5, np.nan], [0.0, -0.0, -2.5]], np.float32)


def with_row_sums(text: str) -> tuple[Function, Function]:
    module = parse_module(text)
    verify_module(module)
    changed = Pipeline.parse("row-sums,dce").run(module)
    verify_module(changed)
    return module.functions["f"], changed.functions["f"]


def bits(function: Function, *arguments: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in interpret(function, list(arguments))]


def names(function: Function) -> list[str]:
    return [node.op.name for node in walk(function.body)]


@pytest.mark.parametrize(("text", "rows"), [(LOOP, 1), (TWO_ROWS, 2), (A_WHOLE_ARRAY_TOO, 1), (ALONG_ANOTHER_AXIS, 1), (TWO_SUMS, 1),
                                            (TWO_SUMS_OF_ROWS, 2)])
def test_rows_are_added(text: str, rows: int) -> None:
    plain, changed = with_row_sums(text)
    assert names(changed).count("add_row") == rows and "gather_gradient" not in names(changed)
    for rounds in (1, 3) if text is TWO_SUMS else (0, 1, 3):
        for gradients in (GRADIENTS, -GRADIENTS, np.ones_like(GRADIENTS)):
            assert bits(changed, gradients, np.int64(rounds)) == bits(plain, gradients, np.int64(rounds)), print_function(changed)


@pytest.mark.parametrize("text", [SEVERAL_INDICES, USED_IN_THE_ROUND, BEGINS_WITH_AN_ARRAY, MAY_GO_AWAY, ANOTHER_ARRAY])
def test_other_sums_stay(text: str) -> None:
    _, changed = with_row_sums(text)
    assert "add_row" not in names(changed)
