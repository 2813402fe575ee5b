"""What `fuse` puts into one kernel.  That the bits stay is the matter of tests/test_fused_kernels.py."""

from __future__ import annotations

import pytest
from transformed import held, nodes, transformed

from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.core import Module
from adjoint.ir.parse import parse_module
from adjoint.ir.verify import verify_module
from adjoint.passes.manager import Pipeline


def after(body: str, params: str = "x: f32[8], y: f32[8]", results: str = "f32[8]") -> Module:
    return transformed(body, params, results, "f32[8]", "fuse")


def test_a_path_that_leaves_does_not_return() -> None:
    """`c` uses `a`, also through the softmax, which is no part of a group: two kernels."""
    module = after("""
  a: f32[8] = exp(x)
  b: f32[8] = exp(a)
  s: f32[8] = softmax(b, axis=0)
  c: f32[8] = mul(s, a)
  d: f32[8] = tanh(c)
  return d""")
    assert held(module) == [["exp", "exp"], ["softmax"], ["mul", "tanh"]]
    assert [len(node.results) for node in nodes(module)] == [2, 1, 1]


def test_a_cheap_value_is_computed_again() -> None:
    """`b` is read from `a`, which the second kernel reads anyway; `a`, an exponential, is stored."""
    module = after("""
  a: f32[8] = exp(x)
  b: f32[8] = add(a, 1.0_f32)
  s: f32[8] = softmax(b, axis=0)
  c: f32[8] = mul(s, a)
  d: f32[8] = mul(c, b)
  return d""")
    assert held(module) == [["exp", "add"], ["softmax"], ["add", "mul", "mul"]]


def test_a_group_of_which_one_node_is_left() -> None:
    """`a` and `b` both read x; nothing uses `b`.  `a` reads x in place of `s`, which is a name for it."""
    module = after("""
  s: f32[8] = stop_gradient(x)
  a: f32[8] = tanh(s)
  b: f32[8] = exp(x)
  return a""")
    assert held(module) == [["tanh"]]


def test_nothing_moves_over_python() -> None:
    module = after("""
  a: f32[8] = exp(x)
  b: f32[8] = mul(a, y)
  c: f32[8] = apply! @h(b)
  d: f32[8] = mul(c, a)
  e: f32[8] = tanh(d)
  return e""")
    assert held(module) == [["exp", "mul"], ["apply!"], ["mul", "tanh"]]


def test_numbers_are_operands_unless_they_are_common() -> None:
    module = after("""
  a: f32[8] = mul(x, 0.125_f32)
  b: f32[8] = mul(a, 2.0_f32)
  c: f32[8] = add(b, -0.0_f32)
  return c""")
    (node,) = nodes(module)
    assert [repr(operand) for operand in node.operands] == ["x: f32[8]", "0.125_f32", "-0.0_f32"]


def test_small_shapes_stay_apart_and_one_reduction_ends_a_kernel() -> None:
    module = after("""
  a: f32[8] = exp(x)
  s: f32 = sum(a, axes=[0])
  m: f32 = prod(a, axes=[0])
  t: f32 = mul(s, m)
  u: f32 = tanh(t)
  return u""", results="f32")
    assert held(module) == [["exp", "sum"], ["prod"], ["mul"], ["tanh"]]


def test_a_reduction_of_rows_that_were_broadcast() -> None:
    module = after("""
  a: f32[8, 3] = add(x, r)
  b: f32[8, 3] = exp(a)
  s: f32[8] = sum(b, axes=[1])
  return s""", params="x: f32[8, 3], r: f32[3]")
    assert held(module) == [["add", "exp", "sum"]]


def test_the_gradient_of_a_bias_joins_what_it_sums() -> None:
    """Though only the product waits for `a`, and nothing for `s`."""
    module = after("""
  a: f32[8, 3] = relu_gradient(x, y)
  m: f32[8, 8] = matmul(a, y, tb=true)
  t: f32[8, 8] = softmax(m, axis=1)
  s: f32[3] = sum(a, axes=[0])
  return t, s""", params="x: f32[8, 3], y: f32[8, 3]", results="(f32[8, 8], f32[3])")
    assert held(module) == [["relu_gradient", "sum"], ["matmul"], ["softmax"]]


def test_a_sum_of_one_element_each_stays_apart() -> None:
    module = after("""
  a: f32[8, 1] = exp(x)
  s: f32[8] = sum(a, axes=[1])
  return s""", params="x: f32[8, 1]")
    assert held(module) == [["exp"], ["sum"]]


def test_views_are_read_in_place() -> None:
    """A kernel reads the rows 1 to 7 and 0 to 6 of x where they are, also those of one more value, backwards, and it alone."""
    module = after("""
  a: f32[7, 4] = slice(x, start=[1, 0], stop=[8, 4], step=[1, 1])
  b: f32[7, 4] = slice(x, start=[0, 0], stop=[7, 4], step=[1, 1])
  d: f32[7, 4] = sub(a, b)
  c: f32[1, 7, 4] = slice(y, start=[1, 0, 0], stop=[2, 7, 4], step=[1, 1, 1])
  r: f32[7, 4] = reshape(c, to=f32[7, 4])
  e: f32[7, 4] = reverse(r, axes=[1])
  f: f32[7, 4] = mul(d, e)
  s: f32[7, 1] = sum(f, axes=[1], keepdims=true)
  return s""", params="x: f32[8, 4], y: f32[3, 7, 4]", results="f32[7, 1]")
    assert held(module) == [["slice", "slice", "sub", "slice", "reshape", "reverse", "mul", "sum"]]
    assert [repr(x) for x in nodes(module)[0].operands] == ["x: f32[8, 4]", "y: f32[3, 7, 4]"]


def test_a_value_is_not_computed_again_where_a_view_of_it_is_read() -> None:
    """The last kernel reads `b` and a row of `b`, and it reads `a` and `y`, of which `b` could be computed again."""
    module = after("""
  a: f32[4, 8] = exp(x)
  b: f32[4, 8] = minimum(a, y)
  r: f32[1, 8] = slice(b, start=[1, 0], stop=[2, 8], step=[1, 1])
  c: f32[4, 8] = tanh(b)
  d: f32[4, 8] = add(c, r)
  e: f32[4, 8] = mul(d, a)
  f: f32[4, 8] = sub(e, y)
  return f""", params="x: f32[4, 8], y: f32[4, 8]", results="f32[4, 8]")
    assert held(module) == [["exp", "minimum"], ["slice", "tanh", "add", "mul", "sub"]]


def test_one_op_on_a_view_is_a_kernel() -> None:
    module = after("""
  a: f32[3] = slice(x, start=[0], stop=[6], step=[2])
  b: f32[3] = tanh(a)
  return b""", results="f32[3]")
    assert held(module) == [["slice", "tanh"]]


@pytest.mark.parametrize("why, body, params, kept", [
    ("it is used elsewhere too", "a: f32[4] = slice(x, start=[0], stop=[4], step=[1])\n b: f32[4] = tanh(a)\n"
     " s: f32[4] = softmax(a, axis=0)\n c: f32[4] = mul(s, b)", "x: f32[8]", ["slice"]),
    ("elements of a row are far apart", "a: f32[4, 8] = transpose(x, permutation=[1, 0])\n c: f32[4, 8] = tanh(a)", "x: f32[8, 4]",
     ["transpose"]),
    ("it would keep a large value", "a: f32[4] = slice(x, start=[0], stop=[4], step=[1])\n c: f32[4] = tanh(a)", "x: f32[100000]",
     ["slice"]),
])
def test_a_view_is_computed_where(why: str, body: str, params: str, kept: list[str]) -> None:
    shape = "f32[4, 8]" if "transpose" in body else "f32[4]"
    assert kept in held(after(f"{body}\n return c", params=params, results=shape)), why


def test_small_parts_of_a_large_value_that_are_most_of_it_together() -> None:
    module = after("""
  a: f32[30000] = slice(x, start=[0], stop=[30000], step=[1])
  b: f32[30000] = slice(x, start=[30000], stop=[60000], step=[1])
  c: f32[30000] = mul(a, b)
  return c""", params="x: f32[90000]", results="f32[30000]")
    assert held(module) == [["slice", "slice", "mul"]]


UPDATE = "sgd_update(p, {gradient}, l, 0.0_f32, 1.0_f32)"


def test_an_update_joins_the_last_ops_of_its_gradient() -> None:
    """The parameter is read, by the kernel too, before it is written."""
    module = after(f"""
  g: f32[8] = mul(x, y)
  p: f32[8] = read @w
  h: f32[8] = add(g, p)
  q: f32[8] = {UPDATE.format(gradient="h")}
  write! @w(q)
  r: f32[8] = read @w
  d: f32[8] = mul(r, h)
  return d""", params="x: f32[8], y: f32[8], l: f32")
    assert held(module) == [["read"], ["mul", "add", "sgd_update"], ["write!"], ["read"], ["mul"]]
    fused_node = nodes(module)[1]
    assert [repr(x) for x in fused_node.operands[-2:]] == ["0.0_f32", "1.0_f32"], "scalars of a step are operands, whatever they are"


def test_two_updates_of_one_parameter_stay_in_order() -> None:
    module = after(f"""
  p: f32[8] = read @w
  g: f32[8] = mul(x, y)
  q: f32[8] = {UPDATE.format(gradient="g")}
  write! @w(q)
  p.1: f32[8] = read @w
  h: f32[8] = mul(p.1, y)
  q.1: f32[8] = {UPDATE.format(gradient="h").replace("(p", "(p.1")}
  write! @w(q.1)
  return h""", params="x: f32[8], y: f32[8], l: f32")
    assert held(module) == [["read"], ["mul", "sgd_update"], ["write!"], ["read"], ["mul", "sgd_update"], ["write!"]]


def test_an_update_of_what_is_computed_beside_its_gradient() -> None:
    """What is stepped from is an operand of the kernel, so that it is computed before."""
    module = after(f"""
  p: f32[8] = mul(x, y)
  g: f32[8] = add(p, y)
  q: f32[8] = {UPDATE.format(gradient="g")}
  write! @w(q)
  return g""", params="x: f32[8], y: f32[8], l: f32")
    assert held(module) == [["mul"], ["add", "sgd_update"], ["write!"]]


def test_what_may_fail_keeps_its_place_among_writes() -> None:
    """Also if nothing uses its result, and if what it reads is computed late."""
    module = after("""
  a: f32[8] = exp(x)
  b: f32[8] = mul(a, y)
  write! @w(b)
  s: f32[1] = sparse_softmax_cross_entropy(z, t)
  c: f32[8] = tanh(b)
  d: f32[8] = mul(c, a)
  write! @w(d)
  u: f32[1] = sparse_softmax_cross_entropy(z, t.1)
  e: f32[8] = exp(d)
  return e""", params="x: f32[8], y: f32[8], z: f32[1, 4], t: i32[1], t.1: i32[1]")
    effects = [op for (op, *_) in held(module) if op in ("write!", "sparse_softmax_cross_entropy")]
    assert effects == ["write!", "sparse_softmax_cross_entropy"] * 2


@pytest.mark.parametrize(("region", "said"), [
    ("b: f32[8] = exp(a)\n s: f32[8] = softmax(b, axis=0)\n yield s", "at most one reduction or step of an optimiser"),
    ("s: f32 = sum(a, axes=[0])\n yield s", "ops on elements of one shape"),
    ("b: f32[8] = exp(a)\n q: f32[8] = sgd_update(b, b, l, l, l)\n yield q", "sgd_update of one value of the region and of parameters"),
    ("b: f32[8] = exp(a)\n q: f32[8] = sgd_update(a, b, l, l, l)\n yield b", "all of its results yielded"),
    ("b: f32[8] = exp(a)\n q: f32[8] = sgd_update(a, b, l, l, 1.0_f32)\n yield q", "but got a, l, l, 1.0"),
    ("s: f32 = sum(a, axes=[0])\n b: f32[8] = mul(a, s)\n yield b", "reductions of rows, and elementwise ops on their results"),
])
def test_what_is_no_fused_node(region: str, said: str) -> None:
    node = f"y: f32[8] = fused carry (a: f32[8] = x, l: f32 = m) {{\n {region}\n }}"
    text = f"func @f(x: f32[8], m: f32) -> f32[8] {{\n {node}\n return y\n}}\n"
    with pytest.raises(CompileError) as caught:
        verify_module(parse_module(text))
    assert said in str(caught.value)


SOFTMAX = """
  m: f32[{0}, 1] = reduce_max(x, axes=[1], keepdims=true)
  d: f32[{0}, {1}] = sub(x, m)
  e: f32[{0}, {1}] = exp(d)
  s: f32[{0}, 1] = sum(e, axes=[1], keepdims=true)
  t: f32[{0}, 1] = add(s, 1.0_f32)
  p: f32[{0}, {1}] = div(e, t)
  return p"""


@pytest.mark.parametrize(("rows", "columns", "expected"), [
    (1000, 1000, [["reduce_max", "sub", "exp", "sum", "add", "div"]]),
    (100, 1000, [["reduce_max"], ["sub", "exp", "sum"], ["add"], ["div"]]),  # it stays in a cache
    (1000, 1025, [["reduce_max"], ["sub", "exp", "sum"], ["add"], ["div"]]),  # a row is too long
])
def test_rows_that_are_reduced_and_used_again(rows: int, columns: int, expected: list[list[str]]) -> None:
    type_ = f"f32[{rows}, {columns}]"
    assert held(after(SOFTMAX.format(rows, columns), params=f"x: {type_}", results=type_)) == expected


def test_two_reductions_of_the_same_rows() -> None:
    """And one of columns, which stays apart."""
    module = after("""
  a: f32[1000, 1000] = exp(x)
  s: f32[1000, 1] = sum(a, axes=[1], keepdims=true)
  m: f32[1000, 1] = reduce_max(a, axes=[1], keepdims=true)
  c: f32[1000] = sum(a, axes=[0])
  return s, m, c""", params="x: f32[1000, 1000]", results="(f32[1000, 1], f32[1000, 1], f32[1000])")
    assert held(module) == [["exp", "sum", "reduce_max"], ["sum"]]


GRADIENT_OF_A_SOFTMAX = """
func @f(x: f32[1000, 1000], w: f32[1000, 1000]) -> f32[1000, 1000] {
  y: f32, x': f32[1000, 1000] = gradient of=1 carry (x.1: f32[1000, 1000] = x) {
    m: f32[1000, 1] = reduce_max(x.1, axes=[1], keepdims=true)
    d: f32[1000, 1000] = sub(x.1, m)
    e: f32[1000, 1000] = exp(d)
    s: f32[1000, 1] = sum(e, axes=[1], keepdims=true)
    p: f32[1000, 1000] = div(e, s)
    l: f32[1000, 1000] = mul(p, w)
    t: f32 = sum(l, axes=[0, 1])
    yield t
  }
  return x'
}
"""


def test_the_gradient_of_a_softmax_of_several_ops_is_one_kernel() -> None:
    """It sums rows and gives the sums their axis back, where the forward function broadcast."""
    passes = Pipeline.parse("differentiate,inline{plain=true},simplify,cse,dce{failing=true},fuse")
    module = passes.run(parse_module(GRADIENT_OF_A_SOFTMAX))
    verify_module(module)
    kernel, = held(module)
    assert kernel.count("sum") == 4 and kernel.count("reduce_max") == 1


CHAIN = """
func @f(x: f32[1000], a: f32[1000], b: f32[1000]) -> (f32, f32[1000], f32[1000], f32[1000]) {
  y: f32, x': f32[1000], a': f32[1000], b': f32[1000] = gradient of=1 carry (p: f32[1000] = x, q: f32[1000] = a, r: f32[1000] = b) {
    m: f32[1000] = mul(p, q)
    s: f32[1000] = add(m, r)
    t: f32[1000] = tanh(s)
    g: f32[1000] = sigmoid(p)
    u: f32[1000] = mul(t, g)
    n: f32[1000] = neg(p)
    v: f32[1000] = mul(n, p)
    e: f32[1000] = exp(v)
    d: f32[1000] = sub(u, e)
    l: f32 = mean(d, axes=[0])
    yield l
  }
  return y, x', a', b'
}
"""


def test_a_chain_and_its_gradient_are_one_kernel() -> None:
    """The number that the gradient begins with is an operand of it: nothing repeats it first."""
    passes = Pipeline.parse("differentiate,inline{plain=true},simplify,cse,dce{failing=true},fuse")
    module = passes.run(parse_module(CHAIN))
    verify_module(module)
    assert [node.op.name for node in module.functions["f"].body.nodes] == ["fused"]


def test_many_reductions_of_rows_are_cut() -> None:
    lines = "".join(f"  s{i}: f32[1000, 1] = sum(a{i}, axes=[1], keepdims=true)\n  a{i + 1}: f32[1000, 1000] = div(a{i}, s{i})\n"
                    for i in range(20))
    groups = held(after(f"  a0: f32[1000, 1000] = exp(x)\n{lines}  return a20", params="x: f32[1000, 1000]", results="f32[1000, 1000]"))
    assert len(groups) > 2 and max(group.count("sum") for group in groups) == 7 and sum(map(len, groups)) == 41


def test_large_groups_are_cut() -> None:
    lines = "\n".join(f"  a{i + 1}: f32[8] = tanh(a{i})" for i in range(30))
    groups = held(after(f"  a0: f32[8] = exp(x)\n{lines}\n  return a30"))
    assert len(groups) > 1 and all(len(group) <= 11 for group in groups) and sum(map(len, groups)) == 31


def test_inline_puts_the_nodes_back() -> None:
    module = after("""
  a: f32[8] = exp(x)
  b: f32[8] = mul(a, y)
  return b""")
    assert len(nodes(module)) == 1
    assert [node.op.name for node in nodes(Pipeline.parse("inline").run(module))] == ["exp", "mul"]
