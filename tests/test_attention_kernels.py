"""Kernels of `attention` have the bits of the kernels of their nodes: odd sizes, many rows, masks, NaN, threads, plain forms."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint.codegen.emit import lower, plain_form, shown
from adjoint.foundation.diagnostics import CompileError
from adjoint.ir.core import Literal, Node, Value, tensor_type
from adjoint.ir.interpret import interpret
from adjoint.ir.ops import attention_blocks
from adjoint.ir.ops.fused import kernel_op
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.verify import verify_module
from adjoint.runtime.memory.machine import array_of, machine, memory_of
from adjoint.runtime.memory.op_plans import plan_for

pytestmark = pytest.mark.skipif(machine().kernels is None, reason="there is no C compiler")

Array = Any
Sizes = tuple[int, int, int, int]
"""Matrices, queries, keys, and the size of each."""


def forward(sizes: Sizes, dtype: str = "f32") -> str:
    """Attention with a number, a mask and a bias for each key; the keys are stored as rows, and the values have one more column."""
    h, m, n, d = sizes
    q, k, v, y, p = (f"{dtype}[{h}, {a}, {b}]" for a, b in ((m, d), (n, d), (n, d + 1), (m, d + 1), (m, n)))
    return f"""func @f(q0: {q}, k0: {k}, v0: {v}, mask0: bool[{m}, {n}], bias0: {dtype}[{h}, 1, {n}]) -> {y} {{
  y: {y} = attention carry (q: {q} = q0, k: {k} = k0, v: {v} = v0, mask: bool[{m}, {n}] = mask0, bias: {dtype}[{h}, 1, {n}] = bias0,
                            scale: {dtype} = 0.3_{dtype}, least: {dtype} = -inf_{dtype}) {{
    s: {p} = matmul(q, k, tb=true)
    x: {p} = mul(s, scale)
    b: {p} = add(x, bias)
    w: {p} = select(mask, least, b)
    p: {p} = softmax(w, axis=2)
    y1: {y} = matmul(p, v)
    yield y1
  }}
  return y
}}
"""


def gradient(sizes: Sizes, dtype: str = "f32") -> str:
    """Its gradient, where the keys are stored as columns: so one sum over rows has the scores to the right, and one to the left."""
    h, m, n, d = sizes
    q, k, v, y, p = (f"{dtype}[{h}, {a}, {b}]" for a, b in ((m, d), (d, n), (n, d), (m, d), (m, n)))
    return f"""func @f(q0: {q}, k0: {k}, v0: {v}, mask0: bool[{m}, {n}], y0: {y}) -> ({q}, {k}, {v}) {{
  q': {q}, k': {k}, v': {v} = attention carry (q: {q} = q0, k: {k} = k0, v: {v} = v0, mask: bool[{m}, {n}] = mask0, y: {y} = y0,
                                               scale: {dtype} = 0.3_{dtype}, least: {dtype} = -inf_{dtype}) {{
    s: {p} = matmul(q, k)
    x: {p} = mul(s, scale)
    w: {p} = select(mask, least, x)
    p: {p} = softmax(w, axis=2)
    p': {p} = matmul(y, v, tb=true)
    w': {p} = softmax_gradient(p, p', axis=2)
    x': {p} = select(mask, 0.0_{dtype}, w')
    s': {p} = mul(x', scale)
    q1: {q} = matmul(s', k, tb=true)
    k1: {k} = matmul(q, s', ta=true)
    v1: {v} = matmul(p, y, ta=true)
    yield q1, k1, v1
  }}
  return q', k', v'
}}
"""


def node_of(text: str) -> Node:
    module = parse_module(text)
    verify_module(module)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    (node,) = module.functions["f"].body.nodes
    return node


def operands_of(node: Node, seed: int, special: float = 0.0) -> list[Array]:
    """Numbers, and masks; with `special`, as many of the numbers are NaN, infinite or -0.0, and the masks also hide all keys of a query."""
    rng = np.random.default_rng(seed)
    found = []
    for x in node.operands:
        type_ = tensor_type(x)
        if isinstance(x, Literal):
            found.append(np.asarray(x.value, type_.dtype.array))
        elif type_.dtype.kind == "b":
            mask = rng.random(type_.sizes) < 0.3
            if special:
                mask[rng.integers(type_.sizes[0])] = True
            found.append(mask)
        else:
            some = rng.choice([np.nan, np.inf, -np.inf, -0.0, 1e-38, 1e38], type_.sizes)
            found.append(np.where(rng.random(type_.sizes) < special, some, rng.standard_normal(type_.sizes)).astype(type_.dtype.array))
    return found


def run(op: Any, types: Sequence[Any], arrays: Sequence[Array]) -> list[Array]:
    plan = plan_for(op, types)
    made = plan.run(*(memory_of(np.ascontiguousarray(x)) for x in arrays))
    return [array_of(memory, type_) for memory, type_ in zip(made if len(plan.types) > 1 else (made,), plan.types, strict=True)]


def one_by_one(node: Node, arrays: Sequence[Array]) -> list[Array]:
    """What the kernels of the nodes compute."""
    (region,) = node.regions
    known: dict[Any, Array] = dict(zip(region.params, arrays, strict=True))
    for inner in region.nodes:
        given = [known[x] if isinstance(x, Value) else np.asarray(x.value, tensor_type(x).dtype.array) for x in inner.operands]
        (known[inner.result],) = run(inner.op, [tensor_type(x) for x in inner.operands], given)
    return [known[x] for x in region.results]


def bits(array: Array) -> bytes:
    """The bits of all elements; any NaN is the same as any other."""
    return np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array).tobytes()


def differences(node: Node, arrays: Sequence[Array]) -> list[int]:
    """The results of which the kernel of the node has other bits than the kernels of its nodes."""
    made = run(kernel_op(node), [tensor_type(x) for x in node.operands], arrays)
    return [i for i, (a, b) in enumerate(zip(made, one_by_one(node, arrays), strict=True)) if bits(a) != bits(b)]


@functools.cache
def all_compiled() -> None:
    """Compile the kernels of the tests together."""
    kernels = machine().kernels
    assert kernels is not None
    texts = []
    for make, sizes, dtype in itertools.product((forward, gradient), (SIZES[0], SIZES[-1]), ("f32", "f64")):
        node = node_of(make(sizes, dtype))
        texts.append(lower(kernel_op(node), [x.type for x in node.operands], [x.type for x in node.results]))
    kernels.prepare(texts, waited_for=True)


SIZES: tuple[Sizes, ...] = (
    (5, 70, 33, 6), (4, 64, 9, 16), (6, 1, 40, 3), (7, 600, 17, 1), (4, 1100, 5, 33), (1, 65, 19, 4), (2, 1025, 12, 7))
"""More than a block of rows, exactly one, one row, more than one chain of rows, and than two; with many matrices, and with few."""


@pytest.fixture
def one_thread_or_two(request: Any) -> Iterator[None]:
    before = ms.get_context("num_threads")
    ms.set_context(num_threads=request.param)
    yield
    ms.set_context(num_threads=before)


@pytest.mark.parametrize("one_thread_or_two", [1, 2], indirect=True)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("make", [forward, gradient])
@pytest.mark.usefixtures("one_thread_or_two")
def test_bits_are_those_of_the_nodes(make: Any, dtype: str) -> None:
    all_compiled()
    found = []
    for sizes, special in itertools.product(SIZES, (0.0, 0.01)):
        node = node_of(make(sizes, dtype))
        found += [(sizes, special, i) for i in differences(node, operands_of(node, 3, special))]
    assert not found


def test_operands_that_matrices_share() -> None:
    """Heads with the keys of one, in batches with masks of their own: axes before the matrices are steps of 0 for some operands."""
    q, k, y, p = "f32[2, 3, 9, 4]", "f32[2, 1, 7, 4]", "f32[2, 3, 9, 4]", "f32[2, 3, 9, 7]"
    node = node_of(f"""func @f(q0: {q}, k0: {k}, b0: f32[2, 1, 1, 7]) -> {y} {{
  y: {y} = attention carry (q: {q} = q0, k: {k} = k0, b: f32[2, 1, 1, 7] = b0) {{
    s: {p} = matmul(q, k, tb=true)
    x: {p} = add(s, b)
    p: {p} = softmax(x, axis=3)
    y1: {y} = matmul(p, k)
    yield y1
  }}
  return y
}}
""")
    assert not differences(node, operands_of(node, 5))


def test_dropout_of_the_weights() -> None:
    """Which elements are kept is found for each row: here rows begin and end in the middle of groups of random words."""
    for h, m, n in ((2, 7, 70), (3, 66, 9), (1, 2, 64)):
        q, v, p = f"f32[{h}, {m}, 3]", f"f32[{h}, {n}, 3]", f"f32[{h}, {m}, {n}]"
        node = node_of(f"""func @f(q0: {q}, v0: {v}, y0: {q}, key0: u64[2]) -> ({q}, {v}) {{
  a: {q}, b: {v} = attention carry (q: {q} = q0, v: {v} = v0, y: {q} = y0, key: u64[2] = key0) {{
    s: {p} = matmul(q, v, tb=true)
    p: {p} = softmax(s, axis=2)
    kept: bool[{h}, {m}, {n}] = dropout_kept(key, keep=0.6, to=bool[{h}, {m}, {n}])
    d: {p} = dropout_gradient(kept, p, keep=0.6)
    a1: {q} = matmul(d, v)
    g: {p} = matmul(y, v, tb=true)
    e: {p} = dropout_gradient(kept, g, keep=0.6)
    c: {p} = softmax_gradient(p, e, axis=2)
    b1: {v} = matmul(c, q, ta=true)
    yield a1, b1
  }}
  return a, b
}}
""")
        assert not differences(node, [*operands_of(node, 4)[:3], np.array([7, 3], np.uint64)])


def test_the_plain_form() -> None:
    """Programs begin with it: blocks are whole chains, and the products plain loops."""
    for make, sizes in ((forward, SIZES[0]), (gradient, SIZES[4]), (gradient, SIZES[6])):
        node = node_of(make(sizes))
        types, results = [x.type for x in node.operands], [x.type for x in node.results]
        tuned = lower(kernel_op(node), types, results)
        assert plain_form(tuned, kernel_op(node), types, results).text != tuned.text
        before = ms.get_context("background_compile")
        ms.set_context(background_compile="plain")
        try:
            # A type that no other test uses, so that the plan is made anew.
            node = node_of(make((sizes[0], sizes[1] + 3, *sizes[2:])))
            assert not differences(node, operands_of(node, 6, 0.01))
        finally:
            ms.set_context(background_compile=before)


def test_it_is_shown_with_the_names_of_its_values() -> None:
    """What is shown differs from what is compiled in names alone, so it has as many statements, and it is C."""
    node, kernels = node_of(gradient(SIZES[0])), machine().kernels
    text, own = shown(node), lower(kernel_op(node), [x.type for x in node.operands], [x.type for x in node.results])
    assert "float *restrict q, " in text.text and "const float s_bar = x_bar * scale_value;" in text.text
    assert text.text.count(";") == own.text.count(";") and (text.stages, text.scratch) == (own.stages, own.scratch)
    assert kernels is not None and len(kernels.get(text)) == len(text.stages)


def test_what_it_means() -> None:
    """The interpreter, and the NumPy reference that computes it without a compiler, agree with the kernel."""
    module = parse_module(gradient((2, 7, 5, 3), "f64"))
    (node,) = module.functions["f"].body.nodes
    arrays = operands_of(node, 8)
    arrays[3][...] = np.arange(35).reshape(7, 5) % 4 == 0
    kernel = run(kernel_op(node), [tensor_type(x) for x in node.operands], arrays)
    for found in (interpret(module.functions["f"], arrays[:5], module), kernel_op(node).reference(*arrays)):
        for a, b in zip(found, kernel, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_scores_are_not_stored() -> None:
    """The kernel's own memory is some rows of scores for each share of the work, and sums: it grows with the rows, not their square."""
    for make, matrices in ((forward, 8), (forward, 1), (gradient, 8), (gradient, 1)):
        node = node_of(make((matrices, 4096, 4096, 64)))
        own = lower(kernel_op(node), [x.type for x in node.operands], [x.type for x in node.results]).scratch
        scores = matrices * 4096**2 * 4
        assert sum(own) <= scores / (2 if matrices == 1 else 8)
        assert sum(own) <= attention_blocks.SHARES * 2 * attention_blocks.BLOCK_ROWS * 4096 * 4 + 2 * 8 * 4096 * 64 * 4


def test_another_order_of_additions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_blocks, "CHAIN", 256)
    node = node_of(gradient((4, 603, 8, 5)))
    assert differences(node, operands_of(node, 9)) == [1, 2]


@pytest.mark.parametrize(("line", "said"), [
    ("y1: f32[2, 4, 3] = matmul(p, v)\n    z: f32[2, 4, 3] = tanh(y1)", "tanh"),
    ("p1: f32[2, 4, 5] = softmax(p, axis=1)\n    y1: f32[2, 4, 3] = matmul(p1, v)", "softmax"),
    ("y1: f32[2, 4, 3] = matmul(p, v)\n    y2: f32[2, 4, 3] = matmul(p, v)", "yields each product"),
])
def test_other_nodes_are_refused(line: str, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        verify_module(parse_module(f"""func @f(q0: f32[2, 4, 3], v0: f32[2, 5, 3]) -> f32[2, 4, 3] {{
  y: f32[2, 4, 3] = attention carry (q: f32[2, 4, 3] = q0, v: f32[2, 5, 3] = v0) {{
    s: f32[2, 4, 5] = matmul(q, v, tb=true)
    p: f32[2, 4, 5] = softmax(s, axis=2)
    {line}
    yield y1
  }}
  return y
}}
"""))
