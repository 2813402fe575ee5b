"""The table of `simplify`: every rule fires and changes no bit, on numbers of every special kind; what must not fire does not."""

from __future__ import annotations

import ast
import itertools
import re

import numpy as np
import pytest

import adjoint.passes  # noqa: F401 - makes the passes known
from adjoint.ir.build import Builder
from adjoint.ir.core import Atom, Function, Literal, Module, Value, walk
from adjoint.ir.interpret import Interpreter
from adjoint.ir.op import Op, registry
from adjoint.ir.parse import parse_module
from adjoint.ir.storage import from_compute
from adjoint.ir.types import BF16, BOOL, C64, F16, F32, F64, I32, I64, U8, DType, TensorType, scalar, tensor
from adjoint.ir.verify import verify_function
from adjoint.passes.dce import DeadCode
from adjoint.passes.patterns import Rewrite
from adjoint.passes.simplify import RULES, Simplify

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -7.25, 1e-45, -1e-45, 3e38, -3e38, np.inf, -np.inf, np.nan, 0.1]
WHOLE = [0, 1, -1, 7, -128, 127]

ATTRIBUTES = {
    "reshape(x, to=t)": {"t": tensor(F32, (196,))},
    "reshape(reshape(x), to=t)": {"t": tensor(F32, (196,)), "reshape": tensor(F32, (14, 14))},
    "broadcast(x, to=t)": {"t": tensor(F32, (196,))},
    "broadcast(broadcast(x), to=t)": {"t": tensor(F32, (3, 2, 196)), "broadcast": tensor(F32, (2, 196))},
    "transpose(x, permutation=p)": {"p": (0,)},
    "cast(x, to=t)": {"t": F32},
    "cast(cast(x, to=m), to=t)": {"m": F64, "t": F16},
    "item(group(x), index=i)": {"i": 0},
}


def letter_type(rule: Rewrite, letter: str) -> TensorType:
    if "logical" in rule.pattern or letter == "c":
        return tensor(BOOL, (196,))
    if "conjugate" in rule.pattern:
        return tensor(C64, (196,))
    whole = any(isinstance(n, ast.Constant) and isinstance(n.value, int) for n in ast.walk(ast.parse(rule.pattern)))
    return tensor(I32 if whole else F32, (196,))


def complex_special() -> list[complex]:
    """Every second special number beside every third one."""
    return [complex(a, b) for a, b in itertools.product(SPECIAL[::2], SPECIAL[::3])]


def drawn(types: list[TensorType], rng: np.random.Generator) -> list[np.ndarray]:
    """Every special number against every other one."""
    values = []
    for i, type_ in enumerate(types):
        pool = {"b": [True, False], "i": WHOLE, "u": [0, 1, 255], "c": complex_special()}.get(type_.dtype.kind, SPECIAL)
        order = np.array(list(itertools.product(range(14), repeat=2)))[:, i % 2]
        if i > 1:
            order = rng.permutation(order)
        values.append(from_compute(np.array(pool, type_.dtype.compute.array)[order % len(pool)], type_.dtype))
    return values


def written(pattern: ast.expr, b: Builder, rule: Rewrite, letters: dict[str, Value]) -> Atom:
    """The pattern as nodes."""
    given = ATTRIBUTES.get(rule.pattern, {})
    match pattern:
        case ast.Name(id="true" | "false" as name):
            return Literal(name == "true", scalar(BOOL))
        case ast.Name(id=name):
            return letters.setdefault(name, Value(letter_type(rule, name), name))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            operands = [written(arg, b, rule, letters) for arg in args]
            attributes = {k.arg: given[k.value.id] for k in keywords if k.arg and isinstance(k.value, ast.Name)}
            if name in given:
                attributes = {"to": given[name]}
            return b.emit(registry()[name](**attributes), *operands)
        case _:
            number = ast.literal_eval(pattern)
            return Literal(number, scalar(F32 if isinstance(number, float) else I32))


def simplified(function: Function) -> Function:
    module = Module({}, {}, {function.symbol: function})
    for step in (Simplify(), DeadCode()):
        function = step.on_function(function, module)
    verify_function(function)
    return function


def same_bits(one: np.ndarray, two: np.ndarray) -> bool:
    if one.dtype.kind == "c":
        return same_bits(one.real, two.real) and same_bits(one.imag, two.imag)
    if one.dtype.kind == "f":
        nan = np.isnan(one) & np.isnan(two)
        return bool(np.all(nan | ((one == two) & (np.signbit(one) == np.signbit(two)))))
    return np.array_equal(one, two)


# NumPy says nothing of the sign of a zero in a matrix product: tests/codegen/test_matmul.py compares the bits of the kernels.
# A number that is given axes has a test of its own.
OF_SCALARS = [rule for rule in RULES if rule.root != "matmul" and (rule.root, rule.replacement) != ("reshape", "broadcast(x, to=t)")]


@pytest.mark.parametrize("rule", OF_SCALARS, ids=lambda rule: rule.pattern.replace(" ", ""))
def test_a_rule_fires_and_changes_no_bit(rule: Rewrite) -> None:
    b, letters = Builder(), {}
    result = written(ast.parse(rule.pattern, mode="eval").body, b, rule, letters)
    params = list(letters.values())
    before = Function("f", b.finish([result], params))
    after = simplified(before)
    assert [n.op for n in walk(after.body)] != [n.op for n in walk(before.body)]
    arguments = drawn([p.type for p in params], np.random.default_rng(0))
    expected, got = (Interpreter(Module()).call(f, arguments)[0] for f in (before, after))
    assert same_bits(np.asarray(expected), np.asarray(got)), (expected, got)


@pytest.mark.parametrize("rule", OF_SCALARS, ids=lambda rule: rule.pattern.replace(" ", ""))
def test_a_rule_changes_no_bit_of_complex_numbers(rule: Rewrite) -> None:
    letters = {name: Value(tensor(C64, (196,)), name) for name in "xy" if re.search(rf"\b{name}\b", rule.pattern)}
    b = Builder()
    try:
        result = written(ast.parse(rule.pattern, mode="eval").body, b, rule, letters)
    except (TypeError, ValueError):  # ops that do not take them, and attributes of other types
        return
    before = Function("f", b.finish([result], [*letters.values()]))
    after = simplified(before)
    arguments = drawn([p.type for p in before.params], np.random.default_rng(0))
    expected, got = (Interpreter(Module()).call(f, arguments)[0] for f in (before, after))
    assert same_bits(np.asarray(expected), np.asarray(got)), (expected, got)


MUST_NOT_FIRE = [
    ("add(x, 0.0_f32)", "-0 + 0 is 0"),
    ("sub(x, -0.0_f32)", "-0 - -0 is 0"),
    ("sub(0.0_f32, x)", "0 - 0 is 0, not -0"),
    ("mul(x, 0.0_f32)", "infinity times 0 is NaN"),
    ("sub(x, x)", "infinity minus infinity is NaN"),
    ("div(x, x)", "0 / 0 is NaN"),
    ("neg(sub(x, y))", "-(1 - 1) is -0, 1 - 1 is 0"),
    ("exp(log(x))", "rounded twice"),
    ("pow(x, 3.0_f32)", "the kernel's value is the kernel's"),
    ("div(mul(x, y), y)", "rounded, and y may be 0"),
    ("add(sub(x, y), y)", "rounded"),
    ("maximum(x, y)", "they differ"),
    ("abs(x)", "x may be negative"),
    ("mul(x, 2.0_f32)", "2 is not 1"),
]


@pytest.mark.parametrize(("expression", "why"), MUST_NOT_FIRE, ids=lambda text: text.replace(" ", ""))
def test_what_would_change_a_bit_does_not_fire(expression: str, why: str) -> None:
    unchanged(expression, F32)


@pytest.mark.parametrize(
    ("dtype", "through", "to"),
    [
        (F64, F32, F64),
        (I64, F64, I64),
        (I32, F32, I32),
        (F32, I32, F32),
        (F16, BF16, F16),
        (BF16, F16, F32),
        (I32, U8, I32),
        (U8, BOOL, U8),
    ],
)
def test_a_cast_that_loses_stays(dtype: DType, through: DType, to: DType) -> None:
    x = Value(tensor(dtype, (3,)), "x")
    b = Builder()
    y = b.cast(b.cast(x, to=through), to=to)
    assert len(simplified(Function("f", b.finish([y], [x]))).body.nodes) == 2


@pytest.mark.parametrize(
    ("dtype", "through", "to", "left"),
    [(F16, F32, F16, 0), (BF16, F32, BF16, 0), (U8, I32, U8, 0), (I32, F64, F32, 1), (BOOL, F16, BOOL, 0), (F16, F32, F64, 1)],
)
def test_a_cast_there_and_back_goes(dtype: DType, through: DType, to: DType, left: int) -> None:
    x = Value(tensor(dtype, (3,)), "x")
    b = Builder()
    y = b.cast(b.cast(x, to=through), to=to)
    assert len(simplified(Function("f", b.finish([y], [x]))).body.nodes) == left


def unchanged(expression: str, dtype: DType) -> None:
    x, y = Value(tensor(dtype, (4,)), "x"), Value(tensor(dtype, (4,)), "y")
    b = Builder()

    def emitted(tree: ast.expr) -> Atom:
        match tree:
            case ast.Name(id=name):
                return {"x": x, "y": y}[name]
            case ast.Call(func=ast.Name(id=name), args=args):
                return b.emit(registry()[name](), *map(emitted, args))
            case _:
                return Literal(ast.literal_eval(tree), scalar(dtype))

    result = emitted(ast.parse(expression.replace("_f32", ""), mode="eval").body)
    before = Function("f", b.finish([result], [x, y]))
    after = simplified(before)
    assert [n.op for n in walk(after.body)] == [n.op for n in walk(before.body)]


def test_a_one_of_a_larger_shape_is_no_neutral_element() -> None:
    x = Value(tensor(F32, (3,)), "x")
    b = Builder()
    y = b.mul(x, b.constant(1.0, tensor(F32, (2, 3))))
    (node, *more) = simplified(Function("f", b.finish([y], [x]))).body.nodes[-1:]
    assert not more
    assert node.op.name == "mul"
    assert node.result.type is tensor(F32, (2, 3))


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("inner", [1, 2])
def test_a_matrix_product_of_one_term_is_elementwise(ta: bool, tb: bool, inner: int) -> None:
    left, right = ((inner, 3) if ta else (3, inner)), ((5, inner) if tb else (inner, 5))
    shapes = (2, 1, *left), (4, *right)
    x, y = (Value(tensor(F32, shape), name) for shape, name in zip(shapes, "xy", strict=True))
    b = Builder()
    before = Function("f", b.finish([b.matmul(x, y, ta=ta, tb=tb)], [x, y]))
    after = simplified(before)
    verify_function(after)
    arguments = [np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in shapes]
    expected, got = (Interpreter(Module()).call(f, arguments)[0] for f in (before, after))
    assert ("outer_product" in [node.op.name for node in walk(after.body)]) is (inner == 1)
    assert np.allclose(expected, got)
    assert expected.shape == got.shape


def test_not_less_is_not_greater_equal() -> None:
    # For NaN both are false.
    x, y = Value(tensor(F32, (4,)), "x"), Value(tensor(F32, (4,)), "y")
    b = Builder()
    z = b.logical_not(b.less(x, y))
    assert len(simplified(Function("f", b.finish([z], [x, y]))).body.nodes) == 2


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("add(2.0_f32, 3.0_f32)", "5.0_f32"),
        ("div(1.0_f32, 3.0_f32)", "0.33333334_f32"),
        ("div(1.0_f16, 3.0_f16)", "0.3333_f16"),
        ("sub(inf_f32, inf_f32)", "nan_f32"),
        ("neg(0.0_f32)", "-0.0_f32"),
        ("mul(2147483647_i32, 2_i32)", "-2_i32"),
        ("floor_div(-7_i32, 2_i32)", "-4_i32"),
    ],
)
def test_what_is_exact_is_computed(expression: str, expected: str) -> None:
    assert folded(expression) == expected


@pytest.mark.parametrize(
    "expression", ["exp(1.0_f32)", "tanh(0.0_f32)", "pow(2.0_f32, 3.0_f32)", "floor_div(1_i32, 0_i32)", "mod(1.5_f32, 0.5_f32)"]
)
def test_what_belongs_to_the_kernels_is_not_computed(expression: str) -> None:
    assert folded(expression) is None


def folded(expression: str) -> str | None:
    dtype = expression.split("_")[-1].rstrip(")")
    module = parse_module(f"func @f(x: {dtype}) -> {dtype} {{\n  y: {dtype} = {expression}\n  return y\n}}")
    (result,) = simplified(module.functions["f"]).body.results
    if not isinstance(result, Literal):
        return None
    text = f"{result.value}" if not result.type.dtype.is_float else repr(float(result.type.dtype.array.type(result.value)))
    if result.type.dtype in (F32, F16) and np.isfinite(result.value):
        text = str(result.type.dtype.array.type(result.value))
    return f"{text}_{result.type.dtype.name}"


@pytest.mark.parametrize(
    ("dtype", "permutations", "left"),
    [
        (F32, ((0, 2, 1), None), ["matmul(ta=true)"]),
        (F16, (None, (0, 2, 1)), ["matmul(tb=true)"]),
        (F64, ((0, 2, 1), (0, 2, 1)), ["matmul(ta=true, tb=true)"]),
        (F32, ((1, 0, 2), None), ["transpose", "matmul"]),
        (I32, (None, (0, 2, 1)), ["transpose", "matmul"]),
    ],
)
def test_a_product_reads_matrices_as_they_lay_before_they_were_transposed(
    dtype: DType, permutations: tuple[tuple[int, ...] | None, ...], left: list[str]
) -> None:
    x, y = Value(tensor(dtype, (3, 3, 3)), "x"), Value(tensor(dtype, (3, 3, 3)), "y")
    b = Builder()
    operands = [v if p is None else b.transpose(v, permutation=p) for v, p in zip((x, y), permutations, strict=True)]
    before = Function("f", b.finish([b.matmul(*operands)], [x, y]))
    after = simplified(before)
    assert [_with_flags(node.op) for node in after.body.nodes] == left
    arguments = [from_compute(np.arange(27.0).reshape(3, 3, 3) - offset, dtype) for offset in (5, 11)]
    expected, got = (Interpreter(Module()).call(f, arguments)[0] for f in (before, after))
    assert same_bits(np.asarray(expected), np.asarray(got))


def test_a_transposed_product_is_the_product_of_the_transposed() -> None:
    module = parse_module("""
        func @f(x: f32[3, 4], y: f32[4, 5], n: i64) -> (f32[5, 3], f32[3, 5], f32[5, 3], f32[5, 3]) {
          alone: f32[3, 5] = matmul(x, y)
          a: f32[5, 3] = transpose(alone, permutation=[1, 0])
          twice: f32[3, 5] = matmul(x, y)
          c: f32[5, 3] = transpose(twice, permutation=[1, 0])
          outside: f32[3, 5] = matmul(x, y)
          square: f32[3, 3] = slice(x, start=[0, 0], stop=[3, 3], step=[1, 1])
          once: f32[3, 3] = transpose(square, permutation=[1, 0])
          d: f32[5, 3] = for i in range(0, n, 1) carry (before: f32[5, 3] = a) {
            e: f32[5, 3] = transpose(outside, permutation=[1, 0])
            g: f32[5, 3] = matmul(before, once)
            h: f32[5, 3] = add(e, g)
            yield h
          }
          return a, twice, c, d
        }
    """)
    after = simplified(module.functions["f"])
    assert [_with_flags(node.op) for node in walk(after.body)] == [
        "matmul(ta=true, tb=true)", "matmul", "transpose", "matmul", "slice", "transpose", "for", "transpose", "matmul", "add"]
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4) / 7, np.arange(20, dtype=np.float32).reshape(4, 5) / 3
    for arguments in ([x, y, np.int64(0)], [x, y, np.int64(2)]):
        expected, got = (Interpreter(Module()).call(f, arguments) for f in (module.functions["f"], after))
        assert all(np.allclose(a, b) for a, b in zip(expected, got, strict=True))


def test_a_reduction_that_is_given_its_axes_back_keeps_them() -> None:
    module = parse_module("""
        func @f(x: f32[3, 4, 5], n: i64) -> (f32[3, 1, 1], f32[3, 4], f32[3, 4, 1], f32[4, 3, 5], f32[1, 3], f32[3, 1, 1]) {
          total: f32[3] = sum(x, axes=[1, 2])
          kept: f32[3, 1, 1] = reshape(total, to=f32[3, 1, 1])
          twice: f32[3, 4] = mean(x, axes=[2])
          column: f32[3, 4, 1] = reshape(twice, to=f32[3, 4, 1])
          all: f32[3, 4, 5] = sum(x, axes=[])
          other: f32[4, 3, 5] = reshape(all, to=f32[4, 3, 5])
          row: f32[3] = reduce_max(x, axes=[1, 2])
          left: f32[1, 3] = reshape(row, to=f32[1, 3])
          outside: f32[3] = prod(x, axes=[1, 2])
          y: f32[3, 1, 1] = for i in range(0, n, 1) carry (before: f32[3, 1, 1] = kept) {
            inside: f32[3, 1, 1] = reshape(outside, to=f32[3, 1, 1])
            yield inside
          }
          return kept, twice, column, other, left, y
        }
    """)
    after = simplified(module.functions["f"])
    kept = [getattr(node.op, "keepdims", None) for node in walk(after.body) if node.op.name in ("sum", "mean", "reduce_max", "prod")]
    assert kept == [True, False, False, False, False]
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5) / 7
    expected, got = (Interpreter(Module()).call(f, [x, np.int64(2)]) for f in (module.functions["f"], after))
    assert all(same_bits(np.asarray(a), np.asarray(b)) for a, b in zip(expected, got, strict=True))


def test_a_number_that_is_given_axes_is_an_operand_itself() -> None:
    """Not where its axes are those of the result."""
    module = parse_module("""
        func @f(x: f32[3], s: f32) -> (f32[3], f32[1], f32[1, 1]) {
          r: f32[1] = reshape(s, to=f32[1])
          m: f32[3] = mul(r, x)
          n: f32[1] = neg(r)
          again: f32[1, 1] = reshape(n, to=f32[1, 1])
          return m, r, again
        }
    """)
    after = simplified(module.functions["f"])
    nodes = {node.result.hint: node for node in walk(after.body)}
    assert {hint: node.op.name for hint, node in nodes.items()} == {"r": "broadcast", "m": "mul", "n": "neg", "again": "reshape"}
    assert nodes["m"].operands[0] is after.body.params[1]
    for number in (2.5, -0.0, np.nan):
        arguments = [np.array([-0.0, 3, np.inf], np.float32), np.float32(number)]
        expected, got = (Interpreter(Module()).call(f, arguments) for f in (module.functions["f"], after))
        assert all(same_bits(np.asarray(a), np.asarray(b)) for a, b in zip(expected, got, strict=True))


def _with_flags(op: Op) -> str:
    flags = [f"{name}=true" for name in ("ta", "tb") if getattr(op, name, False)]
    return f"{op.name}({', '.join(flags)})" if flags else op.name
