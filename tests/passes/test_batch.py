"""Batches: what `differentiate` makes of a `batch` node against its meaning, a region for one example after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from adjoint import CompileError, Tensor
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Module, Value, walk
from adjoint.ir.interpret import interpret
from adjoint.ir.op import Effect, Op, registry
from adjoint.ir.ops.control import Batch, For, If, While
from adjoint.ir.ops.elementwise import Elementwise
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.types import F32, F64, TensorType
from adjoint.ir.verify import verify_module
from adjoint.passes.schedule import EXPANDED
from adjoint.runtime.execution.text import load_ir
from adjoint.testing.cases import Case, case_of, samples_of

EXAMPLES = 3

OPS = [name for name, op in registry().items() if op.reference is not Op.reference and op.effect is not Effect.HOST and not op.watches]
"""Ops that compute."""


def cases(name: str) -> Iterator[Case]:
    kind = registry()[name]
    for number, each in enumerate(samples_of(kind)):
        for dtype in (F64, F32):
            case = case_of(kind, each, dtype, f"{name} {number}")
            if case is not None and case.types:
                yield case
                break


def batched(case: Case, mapped: Sequence[bool]) -> Module:
    """Return a function of one `batch` node, whose region is the op of a case; what is not mapped is the same for all examples."""
    params = [Value(t.with_shape((EXAMPLES, *t.shape)) if m else t, "x") for t, m in zip(case.types, mapped, strict=True)]
    inside = [Value(t, "a") for t, m in zip(case.types, mapped, strict=True) if m]
    b = Builder()
    inner = b.inner()
    own = iter(inside)
    node = inner.emit_node(case.op, [next(own) if m else x for x, m in zip(params, mapped, strict=True)])
    made = b.emit_node(Batch(), [x for x, m in zip(params, mapped, strict=True) if m], regions=[inner.finish(node.results, inside)])
    return Module({}, {}, {"f": Function("f", b.finish(made.results, params))})


def arguments(case: Case, mapped: Sequence[bool]) -> list[Any]:
    drawn = [case.arrays(seed) for seed in range(EXAMPLES)]
    return [np.stack([arrays[i] for arrays in drawn]) if m else drawn[0][i] for i, m in enumerate(mapped)]


@pytest.mark.parametrize("name", OPS)
def test_an_op_in_a_batch_is_the_op_for_each_example(name: str) -> None:
    for case in cases(name):
        count = len(case.types)
        patterns = [(True,) * count, *(tuple(i == place for i in range(count)) for place in range(count) if count > 1)]
        for mapped in patterns:
            module = batched(case, mapped)
            expanded = EXPANDED.run(module)
            verify_module(expanded)
            given = arguments(case, mapped)
            found = interpret(expanded.functions["f"], given, expanded)
            wanted = interpret(module.functions["f"], given, module)
            for one, other, result in zip(found, wanted, expanded.functions["f"].result_types, strict=True):
                assert isinstance(result, TensorType)
                assert one.shape == other.shape and one.dtype == other.dtype, (case.name, mapped)
                within = 1e-11 if result.dtype is F64 else 1e-5
                np.testing.assert_allclose(one, other, rtol=within, atol=1e-6, err_msg=f"{case.name} {mapped}")


OTHER_BITS = {"layer_norm_gradient"}
"""Ops whose results in a batch may differ from the loop's in the last bits: docs/transformations.md says why."""


@pytest.mark.parametrize("name", [name for name in OPS if registry()[name].batch is not Op.batch
                                  and not issubclass(registry()[name], Elementwise)])
def test_an_op_in_a_batch_has_the_bits_of_the_loop(name: str) -> None:
    apart = False
    for case in itertools.islice(cases(name), 2):
        module = batched(case, (True,) * len(case.types))
        b = Builder()
        params = [Value(type_, "x") for type_ in case.types]
        node = b.emit_node(case.op, params)
        single = Module({}, {}, {"f": Function("f", b.finish(node.results, params))})
        given = [Tensor(x, type_.dtype) for x, type_ in zip(arguments(case, (True,) * len(case.types)), case.types, strict=True)]
        found = load_ir(print_module(EXPANDED.run(module))).run("f", given)
        one = load_ir(print_module(single))
        rows = [one.run("f", [x[i] for x in given]) for i in range(EXAMPLES)]
        for result, *wanted in zip(found, *rows, strict=True):
            numbers, wanted = result.asnumpy(), np.stack([x.asnumpy() for x in wanted])
            if name in OTHER_BITS:
                within = 4 * np.finfo(numbers.dtype).eps * np.abs(wanted).max(initial=1.0, where=np.isfinite(wanted))
                np.testing.assert_allclose(numbers, wanted, rtol=0, atol=within)
                apart = apart or numbers.tobytes() != wanted.tobytes()
            else:
                assert numbers.tobytes() == wanted.tobytes(), case.name
    assert apart == (name in OTHER_BITS)


WATCHED = """param @seen : f64[6]

func @f(x: f32[3, 4], p: f32) -> f32[3, 4] {
  y: f32[3, 4] = batch carry (a: f32[4] = x) {
    e: f32[4] = exp(a)
    s: f64[6] = statistics(e)
    old: f64[6] = read @seen
    kept: f64[6] = straight_through(old, s)
    write! @seen(kept)
    yield e
  }
  return y
}
"""


def test_an_op_that_watches_takes_all_examples_together_and_makes_no_loop() -> None:
    module = parse_module(WATCHED)
    expanded = EXPANDED.run(module)
    verify_module(expanded)
    assert not any(isinstance(node.op, For) for node in walk(expanded.functions["f"].body))
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    state: dict[str, Any] = {"seen": np.zeros(6)}
    interpret(expanded.functions["f"], [x, np.float32(0)], expanded, state=state)
    np.testing.assert_array_equal(state["seen"], registry()["statistics"]().reference(np.exp(x)))


# Regions.

LOOPS = """func @f(x: f32[4, 3], w: f32[3], n: i64) -> (f32[4, 3], f32[4], f32[4, 3]) {
  y: f32[4, 3], z: f32[4], u: f32[4, 3] = batch carry (a: f32[3] = x) {
    y1: f32[3], k: f32[3] = for i in range(0, n, 1) carry (c: f32[3] = w, d: f32[3] = w) {
      c1: f32[3] = mul(c, a)
      d1: f32[3] = add(d, w)
      yield c1, d1
    }
    s: f32 = sum(a, axes=[0])
    m: f32 = while carry (v: f32 = s) test {
      small: bool = less(v, 9.0_f32)
      yield small
    } do {
      v1: f32 = add(v, 2.5_f32)
      yield v1
    }
    positive: bool = greater(s, 0.0_f32)
    q: f32[3] = if positive {
      e: f32[3] = exp(a)
      yield e
    } else {
      yield k
    }
    yield y1, m, q
  }
  return y, z, u
}
"""


def drawn(module: Module, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(p.type.sizes).astype(np.float32) if p.type.dtype is F32 else np.int64(2)
            for p in module.functions["f"].params if isinstance(p.type, TensorType)]


def expanded(text: str) -> tuple[Module, Module]:
    module = parse_module(text)
    assert print_module(module) == text
    made = EXPANDED.run(module)
    verify_module(made)
    return module, made


def test_loops_and_branches() -> None:
    module, made = expanded(LOOPS)
    given = drawn(module)
    for one, other in zip(interpret(made.functions["f"], given, made), interpret(module.functions["f"], given, module), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    # No loop over the examples: the first has the same rounds for all, the second goes on until the last is done, both sides are taken.
    nodes = list(walk(made.functions["f"].body))
    assert [[str(value.type) for value in node.results] for node in nodes if isinstance(node.op, For)] == [["f32[4, 3]", "f32[3]"]]
    assert sum(isinstance(node.op, While) for node in nodes) == 1 and sum(isinstance(node.op, If) for node in nodes) == 2


SIDES = """func @f(x: f32[4]) -> (f32[4], f32[4]) {
  y: f32[4], z: f32[4] = batch carry (a: f32 = x) {
    v: f32, a': f32 = gradient of=1 carry (c: f32 = a) {
      positive: bool = greater(c, 0.0_f32)
      r: f32 = if positive {
        l: f32 = log(c)
        s: f32 = sqrt(c)
        m: f32 = mul(l, s)
        yield m
      } else {
        n: f32 = neg(c)
        s: f32 = sqrt(n)
        yield s
      }
      yield r
    }
    yield v, a'
  }
  return y, z
}
""".replace("        s: f32 = sqrt(n)\n        yield s", "        s.1: f32 = sqrt(n)\n        yield s.1")


@pytest.mark.parametrize("x", [[1.0, -2.0, 0.5, -0.25], [1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -4.0]])
def test_a_side_that_is_not_taken_gives_neither_a_value_nor_a_gradient(x: list[float]) -> None:
    _, made = expanded(SIDES)
    with np.errstate(all="raise"):
        y, slope = interpret(made.functions["f"], [np.array(x, np.float32)], made)
    values = np.array(x)
    sizes = np.abs(values)
    np.testing.assert_allclose(y, np.where(values > 0, np.log(sizes) * np.sqrt(sizes), np.sqrt(sizes)), rtol=1e-6, atol=1e-7)
    wanted = np.where(values > 0, 1 / np.sqrt(sizes) + np.log(sizes) / 2 / np.sqrt(sizes), -0.5 / np.sqrt(sizes))
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)


def test_what_is_the_same_for_all_examples_is_computed_once() -> None:
    _, made = expanded("""func @f(x: f32[4, 3], w: f32[3]) -> f32[4, 3] {
  y: f32[4, 3] = batch carry (a: f32[3] = x) {
    e: f32[3] = exp(w)
    m: f32[3] = mul(a, e)
    yield m
  }
  return y
}
""")
    _, exp, mul = made.functions["f"].body.nodes
    assert str(exp.result.type) == "f32[3]" and str(mul.result.type) == "f32[4, 3]"


def test_a_gradient_in_a_batch_uses_shared_weights_as_they_are() -> None:
    _, made = expanded("""func @f(x: f32[4, 1, 3], w: f32[3, 2]) -> f32[4, 3, 2] {
  y: f32[4], g: f32[4, 3, 2] = batch carry (a: f32[1, 3] = x) {
    s: f32, w': f32[3, 2] = gradient of=1 carry (v: f32[3, 2] = w) {
      m: f32[1, 2] = matmul(a, v)
      t: f32[1, 2] = tanh(m)
      s.1: f32 = sum(t, axes=[0, 1])
      yield s.1
    }
    yield s, w'
  }
  return g
}
""")
    products = [node for node in made.functions["f"].body.nodes if node.op.name == "matmul"]
    assert [str(node.operands[1].type) for node in products] == ["f32[3, 2]", "f32[4, 1, 2]"]


def test_batches_in_gradients_and_in_batches() -> None:
    text = """func @f(x: f32[4, 2, 3]) -> (f32, f32[4, 2, 3]) {
  y: f32, x': f32[4, 2, 3] = gradient of=1 carry (v: f32[4, 2, 3] = x) {
    r: f32[4, 2] = batch carry (a: f32[2, 3] = v) {
      r.1: f32[2] = batch carry (c: f32[3] = a) {
        p: f32[3] = exp(c)
        s: f32 = sum(p, axes=[0])
        yield s
      }
      yield r.1
    }
    t: f32 = sum(r, axes=[0, 1])
    yield t
  }
  return y, x'
}
"""
    module, made = expanded(text)
    (x,) = drawn(module)
    y, slope = interpret(made.functions["f"], [x], made)
    np.testing.assert_allclose(y, np.exp(x).sum(), rtol=1e-5)
    np.testing.assert_allclose(slope, np.exp(x), rtol=1e-6)


def test_a_parameter_that_would_differ_from_example_to_example() -> None:
    module = parse_module("""param @p : f32[3]

func @f(x: f32[4, 3]) -> f32[4, 3] {
  y: f32[4, 3] = batch carry (a: f32[3] = x) {
    write! @p(a)
    yield a
  }
  return y
}
""")
    with pytest.raises(CompileError, match="E148"):
        EXPANDED.run(module)


def test_a_size_that_would_differ_from_example_to_example() -> None:
    module = parse_module("""func @f(x: f32[4, 3], y: f32[n]) -> f32[4, 3] {
  z: f32[4, 3] = batch carry (a: f32[3] = x) {
    places: i64[n, 1] = non_zero(a, to=i64[n, 1], size="n")
    yield a
  }
  return z
}
""")
    with pytest.raises(CompileError, match="E149"):
        EXPANDED.run(module)
