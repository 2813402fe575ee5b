"""Unrolled kernels have the bits of the kernels of their nodes: every op that unrolls, all dtypes, NaN and -0.0, made-up functions,
branches, stacks and loops.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import op_cases
import pytest
from op_cases import Case

import adjoint as ms
from adjoint import ops
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Literal, Module, Node, Value, tensor_type, walk
from adjoint.ir.interpret import interpret
from adjoint.ir.ops.control import If
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.ops.optimizers import SgdUpdate
from adjoint.ir.ops.stack import Stack
from adjoint.ir.ops.unrolled import Unrolled, UnrolledKernel, unrolled_cost
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.types import F32, I32, tensor
from adjoint.ir.verify import verify_function
from adjoint.passes.bundle import Bundle
from adjoint.passes.choices import Choices
from adjoint.passes.inline import Inline
from adjoint.passes.unroll import unrolled
from tests.test_fused_kernels import bits, compile_nodes, compiled, computed, inputs, run, special, text_of, with_kernels

Array = Any


# Each op by itself ------------------------------------------------------------------------------------------------------------


def alone(case: Case) -> Node:
    """An unrolled node that holds just this op."""
    inner = Builder()
    params = [Value(t, "x") for t in case.types]
    node = inner.emit_node(case.op, params)
    return Builder().emit_node(Unrolled(), [Value(t, "a") for t in case.types], regions=[inner.finish(list(node.results), params)])


@functools.cache
def op_nodes() -> dict[str, tuple[Case, Node]]:
    """The samples that unroll, by name: those in float32, and the first of each op in other dtypes."""
    found: dict[str, tuple[Case, Node]] = {}
    seen: set[Any] = set()
    for case in op_cases.cases():
        node = Builder().emit_node(case.op, [Value(t, "x") for t in case.types])
        if F32 not in [t.dtype for t in case.types] and case.sample is not op_cases.samples_of(type(case.op))[0]:
            continue
        if unrolled_cost(node) is not None and (key := (case.op, *case.types)) not in seen:
            seen.add(key)
            found[case.name] = case, alone(case)
    return found


@functools.cache
def all_compiled() -> None:
    nodes = op_nodes().values()
    compiled([text_of(node) for case, one in nodes for node in (of_op(case), one) if kernel_op(node).can_lower])


def of_op(case: Case) -> Node:
    return Builder().emit_node(case.op, [Value(t, "x") for t in case.types])


def test_most_ops_on_a_few_numbers_unroll() -> None:
    few = {case.op.name for case in op_cases.cases() if case.op.can_lower and all(0 < t.count <= 16 for t in (*case.types, *case.results))}
    here = {case.op.name for case, _ in op_nodes().values()}
    assert {"matmul", "transpose", "slice", "concat", "pad", "sum", "mean", "reduce_max", "select"} <= here
    assert len(here) > 0.7 * len(few)
    assert not here & {"gather", "scatter_add", "sort", "cholesky_factor"}, "what these do depends on numbers"


@pytest.mark.parametrize("name", op_nodes())
def test_an_op_alone(name: str) -> None:
    all_compiled()
    case, node = op_nodes()[name]
    for arrays in (case.arrays(), special(case)):
        expected, got = run(case.op, arrays, case.types), run(kernel_op(node), arrays, case.types)
        for x, y, type_ in zip(expected, got, case.results, strict=True):
            assert bits(x, type_) == bits(y, type_), f"{arrays}\n{x}\n{y}"


# Functions --------------------------------------------------------------------------------------------------------------------


def number(value: float) -> Literal:
    return Literal(value, tensor(F32))


def steps(count: int) -> Function:
    """A solver of an ordinary differential equation with two numbers, whose steps are alike."""
    b = Builder()
    state, rates = Value(tensor(F32, (2,)), "state"), Value(tensor(F32, (3,)), "rates")
    a, c, d = (b.reshape(b.slice(rates, start=(i,), stop=(i + 1,), step=(1,)), to=tensor(F32)) for i in range(3))
    now: Any = state
    for _ in range(count):
        x, y = (b.reshape(b.slice(now, start=(i,), stop=(i + 1,), step=(1,)), to=tensor(F32)) for i in range(2))
        by_x, by_y = b.sub(b.mul(a, x), b.mul(b.mul(c, x), y)), b.sub(b.mul(b.mul(c, x), y), b.mul(d, b.sin(y)))
        moved = b.concat(b.reshape(by_x, to=tensor(F32, (1,))), b.reshape(by_y, to=tensor(F32, (1,))), axis=0)
        now = b.add(now, b.mul(moved, number(0.01)))
    return Function("f", b.finish([now], [state, rates]))


def made_up(seed: int) -> Function:
    """Some forty nodes on up to sixteen numbers, with some larger ones, and ones that do not unroll, between them."""
    rng = np.random.default_rng(seed)
    b = Builder()
    params = [Value(tensor(F32, shape), f"x{i}") for i, shape in enumerate([(), (1,), (4,), (2, 2), (2, 3), (4, 4), (40,)])]
    places = Value(tensor(I32, (3,)), "places")
    known: list[Value] = list(params)

    def pick(shapes: Callable[[tuple[Any, ...]], bool] = lambda shape: True) -> Value:
        return known[rng.choice([i for i, x in enumerate(known) if shapes(tensor_type(x).shape)])]

    def with_shape(*shapes: tuple[Any, ...]) -> Value:
        return pick(lambda shape: shape in shapes)

    def with_columns(count: Any) -> Value:
        return pick(lambda shape: len(shape) == 2 and shape[1] == count)

    for _ in range(40):
        x: Any = pick()
        t: Any = x.type
        kind = rng.integers(12)
        if kind <= 2:
            y: Any = with_shape(t.shape, (), (1,))
            made = [b.add, b.mul, b.sub, b.maximum][rng.integers(4)](x, y)
        elif kind == 3:
            made = [b.sin, b.exp, b.neg, b.tanh][rng.integers(4)](x)
        elif kind == 4 and t.rank:
            axis = int(rng.integers(t.rank))
            made = [b.sum, b.mean, b.reduce_max][rng.integers(3)](x, axes=(axis,))
        elif kind == 5 and t.rank == 2:
            made = b.matmul(x, with_columns(t.shape[1]), ta=False, tb=True)
        elif kind == 6 and t.rank == 2:
            made = b.transpose(x, permutation=(1, 0))
        elif kind == 7 and t.rank and t.shape[0] > 1:
            start = int(rng.integers(t.shape[0]))
            made = b.slice(x, start=(start, *[0] * (t.rank - 1)), stop=(t.shape[0], *t.shape[1:]), step=(1,) * t.rank)
        elif kind == 8 and t.rank and t.count <= 16:
            made = b.concat(x, x, axis=0)
        elif kind == 9:
            made = b.reshape(x, to=tensor(F32, (t.count,)))
        elif kind == 10 and t.rank == 1 and t.count > 2:
            made = b.gather(x, places, axis=0)
        else:
            made = b.select(b.greater(x, number(0.25)), x, b.mul(x, number(0.5)))
        known.append(made)
    results = [known[i] for i in sorted(rng.choice(np.arange(len(params), len(known)), 9, replace=False))] + known[-2:]
    results = list(dict.fromkeys(results))
    return Function("f", b.finish(results, [*params, places]))


def few(function: Function) -> list[Node]:
    return [node for node in walk(function.body) if isinstance(node.op, Unrolled)]


@functools.cache
def functions() -> dict[str, tuple[Function, Function]]:
    return with_kernels(all_functions)


def all_functions() -> dict[str, tuple[Function, Function]]:
    made = {f"made-up-{seed}": made_up(seed) for seed in range(30)} | {"steps": steps(60)}
    return {name: (function, unrolled(function)) for name, function in made.items()}


NAMES = [*(f"made-up-{seed}" for seed in range(30)), "steps"]


@pytest.mark.parametrize("name", NAMES)
def test_a_function(name: str) -> None:
    function, together = functions()[name]
    verify_function(together)
    assert len(few(together)) >= 1
    for seed in range(3):
        arrays = inputs(function, seed)
        arrays = [np.abs(x) % 3 if x.dtype == np.int32 else x for x in arrays]
        assert computed(together, arrays) == computed(function, arrays)


@pytest.mark.parametrize("name", NAMES[::6])
def test_the_text_parses_back_and_means_the_same(name: str) -> None:
    function, together = functions()[name]
    module = Module(functions={"f": together})
    text = print_module(module)
    again = parse_module(text)
    assert print_module(again) == text
    arrays = [np.abs(x) % 3 if x.dtype == np.int32 else x for x in inputs(function, 0)]
    for expected, found in zip(interpret(function, arrays), interpret(again.functions["f"], arrays), strict=True):
        np.testing.assert_array_equal(found, expected)
    apart = Inline().on_function(together, module)
    assert not few(apart)


def test_equal_steps_share_kernels() -> None:
    nodes = few(functions()["steps"][1])
    kernels = Counter(kernel_op(node) for node in nodes)
    assert len(nodes) >= 6
    assert len(kernels) <= 4, "sixty equal steps are cut at equal places"
    assert all(isinstance(kernel, UnrolledKernel) for kernel in kernels)
    launched = sum(not getattr(node.op, "aliases", False) for node in functions()["steps"][1].body.nodes)
    assert launched <= len(nodes) + 6


def test_nothing_is_unrolled_that_leaves_and_returns() -> None:
    """A path through a larger tensor separates what is before it from what is after it, and a written parameter separates likewise."""
    b = Builder()
    x, large = Value(tensor(F32), "x"), Value(tensor(F32, (100,)), "large")
    first = b.mul(b.add(x, x), x)
    through = b.sum(b.mul(large, first), axes=(0,))
    last = b.mul(b.add(through, first), through)
    function = Function("f", b.finish([last], [x, large]))
    together = unrolled(function)
    assert [len(node.regions[0].nodes) for node in few(together)] == [2, 2]
    compile_nodes([function, together])
    arrays = inputs(function, 0)
    assert computed(together, arrays) == computed(function, arrays)


def test_a_step_of_an_optimiser_stays_in_the_memory_of_its_parameter() -> None:
    b = Builder()
    x, rate = Value(tensor(F32, (4,)), "x"), Value(tensor(F32), "rate")
    halves = [b.slice(x, start=(i,), stop=(i + 2,), step=(1,)) for i in (2, 0)]
    step = b.emit_node(SgdUpdate(), [x, b.concat(*halves, axis=0), rate, rate, rate])
    together = unrolled(Function("f", b.finish([step.result], [x, rate])))
    assert [node.op.name for node in together.body.nodes] == ["unrolled", "sgd_update"]


def test_many_nodes_that_only_move_numbers() -> None:
    b = Builder()
    x = Value(tensor(F32, (4, 4)), "x")
    moved: Any = x
    for _ in range(400):
        moved = b.reverse(b.transpose(moved, permutation=(1, 0)), axes=(0,))
    function = Function("f", b.finish([b.mul(moved, x)], [x]))
    together = unrolled(function)
    assert [len(node.regions[0].nodes) for node in few(together)] == [801]
    compile_nodes([function, together])
    arrays = inputs(function, 0)
    assert computed(together, arrays) == computed(function, arrays)


def test_operations_that_change_no_bits_are_left_out() -> None:
    """A product with 1, and a sum with 0 where the other term cannot be -0.0, which is so for a sum with 0."""
    b = Builder()
    x = Value(tensor(F32), "x")
    y: Any = b.sin(x)
    for _ in range(3):
        y = b.mul(b.add(number(0.0), b.add(y, number(0.0))), number(1.0))
    function = Function("f", b.finish([y, b.add(x, number(-0.0))], [x]))
    together = unrolled(function)
    (node,) = few(together)
    assert text_of(node).text.count(" + 0.0f") == 1 and " * " not in text_of(node).text
    compile_nodes([function, together])
    for value in (-0.0, 0.0, 1.5, np.inf, np.nan):
        arrays = [np.float32(value)]
        assert computed(together, arrays) == computed(function, arrays)


def test_a_region_with_another_node_is_refused() -> None:
    inner = Builder()
    x = Value(tensor(F32, (17,)), "x")
    region = inner.finish([inner.add(x, x)], [x])
    with pytest.raises(ValueError, match="at most 16 elements"):
        Builder().emit_node(Unrolled(), [Value(x.type, "a")], regions=[region])


def test_text_with_another_node_is_refused_where_it_stands() -> None:
    text = """func @f(x: f32[17]) -> (f32[17]) {
  y: f32[17] = unrolled carry (a: f32[17] = x) {
    b: f32[17] = add(a, a)
    yield b
  }
  return y
}
"""
    with pytest.raises((CompileError, ValueError), match="at most 16 elements"):
        parse_module(text)


# Branches and stacks ----------------------------------------------------------------------------------------------------------


FILLS = "a: f32[2] = x, p: stack<f32[2]> = s, q: stack<f32> = t, r: stack<i32> = w, o: stack<f32[2, 2]> = v"
FILLED = "y: f32[2], ss: stack<f32[2]>, ts: stack<f32>, ws: stack<i32>, vs: stack<f32[2, 2]>"
SUMS = "a.1: f32[2] = y, b.1: f32[2] = u, c.1: f32[2, 2] = m, there.1: bool = false"
EMPTIES = "p.2: stack<f32[2]> = ss, q.2: stack<f32> = ts, r.2: stack<i32> = ws, o.2: stack<f32[2, 2]> = vs"
DONE = "y.1: f32[2], sum: f32[2], last: f32[2, 2], there: bool, " + (
    "ss.2: stack<f32[2]>, ts.2: stack<f32>, ws.2: stack<i32>, vs.2: stack<f32[2, 2]>")
CONTROL = f"""
func @f(x: f32[2], n: f32, c: bool, k: i32) -> (f32[2], f32[2], f32[2, 2]) {{
  u: f32[2] = undef()
  m: f32[2, 2] = undef()
  s: stack<f32[2]> = stack()
  t: stack<f32> = stack()
  w: stack<i32> = stack()
  v: stack<f32[2, 2]> = stack()
  {FILLED} = for i in range(0, 5, 1) carry ({FILLS}) {{
    d: f32 = sum(a, axes=[0], keepdims=false)
    b: bool = less(d, n)
    e: f32[2] = if b {{
      g: bool = greater(d, 0.0_f32)
      f: f32[2] = if g {{
        h: f32[2] = sin(a)
        yield h
      }} else {{
        yield a
      }}
      yield f
    }} else {{
      j: f32[2] = neg(a)
      yield j
    }}
    l: f32[2, 1] = reshape(e, to=f32[2, 1])
    z: f32[2, 2] = matmul(l, l, ta=false, tb=true)
    p.1: stack<f32[2]> = push(p, e)
    q.1: stack<f32> = push(q, d)
    r.1: stack<i32> = push(r, k)
    o.1: stack<f32[2, 2]> = push(o, z)
    yield e, p.1, q.1, r.1, o.1
  }}
  {DONE} = for i.1 in range(0, 5, 1) carry ({SUMS}, {EMPTIES}) {{
    p.3: stack<f32[2]>, e.1: f32[2] = pop(p.2)
    q.3: stack<f32>, d.1: f32 = pop(q.2)
    r.3: stack<i32>, k.1: i32 = pop(r.2)
    o.3: stack<f32[2, 2]>, z.1: f32[2, 2] = pop(o.2)
    f.1: f32[2] = mul(e.1, d.1)
    g.1: f32[2] = if there.1 {{
      h.1: f32[2] = add(b.1, f.1)
      yield h.1
    }} else {{
      yield f.1
    }}
    l.1: f32[2, 2] = if there.1 {{
      w.1: f32[2, 2] = add(c.1, z.1)
      yield w.1
    }} else {{
      yield z.1
    }}
    k.2: f32 = cast(k.1, to=f32)
    a.2: f32[2] = sub(a.1, k.2)
    yield a.2, g.1, l.1, true, p.3, q.3, r.3, o.3
  }}
  return y.1, sum, last
}}
"""
"""A loop that fills stacks, with branches, and one that empties them, with sums that begin in its first round."""


@pytest.mark.parametrize("n", [-3.0, 0.5, 9.0])
def test_branches_and_stacks_of_a_few_numbers(n: float) -> None:
    plain = parse_module(CONTROL).functions["f"]
    chosen = Choices().on_function(plain, Module())
    assert not any(isinstance(node.op, If) for node in walk(chosen.body))
    bundled = Bundle().on_function(chosen, Module())
    verify_function(bundled)
    stacks = [node for node in walk(bundled.body) if isinstance(node.op, Stack)]
    assert sorted(str(node.results[0].type) for node in stacks) == ["stack<f32[7]>", "stack<i32>"], "one for each dtype"
    for x in ([0.5, 0.25], [-0.0, 2.0], [np.nan, 1.0], [-1e30, 1e38]):
        arrays = [np.asarray(x, np.float32), np.float32(n), np.True_, np.int32(3)]
        expected = interpret(plain, arrays)
        for function in (chosen, bundled, unrolled(bundled)):
            for one, other in zip(expected, interpret(function, arrays), strict=True):
                np.testing.assert_array_equal(other, one)


@pytest.mark.parametrize(("old", "new", "stacks"), [
    ("mul(e.1, d.1)", "mul(e.1, n)", ["stack<f32[7]>", "stack<i32>"]),
    # what is left on it is used after the loops; two items a round
    ("  return y.1, sum,", "  left: stack<f32[2]>, top: f32[2] = pop(ss.2)\n  return y.1, top,",
     ["stack<f32[2]>", "stack<f32[5]>", "stack<i32>"]),
    ("q.1: stack<f32> = push(q, d)", "q.4: stack<f32> = push(q, d)\n    q.1: stack<f32> = push(q.4, d)",
     ["stack<f32>", "stack<f32[6]>", "stack<i32>"]),
])
def test_other_uses_of_stacks(old: str, new: str, stacks: list[str]) -> None:
    function = parse_module(CONTROL.replace(old, new)).functions["f"]
    bundled = Bundle().on_function(function, Module())
    verify_function(bundled)
    assert sorted(str(node.results[0].type) for node in walk(bundled.body) if isinstance(node.op, Stack)) == stacks


def test_large_branches_stay() -> None:
    text = """func @f(x: f32[40], y: f32[2], c: bool) -> (f32[40], f32[2]) {
  a: f32[40], b: f32[2] = if c {
    d: f32[40] = sin(x)
    yield d, y
  } else {
    yield x, y
  }
  return a, b
}
"""
    function = parse_module(text).functions["f"]
    assert Choices().on_function(function, Module()) is function


# Programs ---------------------------------------------------------------------------------------------------------------------


def pendulum(state: Any, length: Any) -> Any:
    i = ms.Tensor(0, ms.int32)
    while i < 40:
        angle, speed = state
        state = state + 0.05 * ops.stack([speed, -9.81 / length * ops.sin(angle)])
        i = i + 1
    return (state * state).sum()


def test_a_loop_is_a_few_launches_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOINT_BACKGROUND_COMPILE", "wait")
    state, length = ms.Tensor([0.5, 0.0], ms.float32), ms.Tensor(1.5, ms.float32)
    eager = ms.value_and_grad(pendulum, (0, 1))(state, length)
    compiled_ = ms.jit(ms.value_and_grad(pendulum, (0, 1)))
    for _ in range(3):
        value, gradients = compiled_(state, length)
        assert value.asnumpy().tobytes() == eager[0].asnumpy().tobytes()
        assert all(x.asnumpy().tobytes() == y.asnumpy().tobytes() for x, y in zip(gradients, eager[1], strict=True))


