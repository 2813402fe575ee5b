"""Operators of the user's own: `adjoint.operator` and `adjoint.testing.check_operator`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from test_ops import needs_compiler

import adjoint as ms
from adjoint import CompileError, Tensor, ops
from adjoint.ir.build import Builder
from adjoint.ir.core import Function, Module, Value
from adjoint.ir.op import registry, withdraw
from adjoint.ir.ops.defined import Defined
from adjoint.ir.types import F32, tensor
from adjoint.ir.verify import verify_module
from adjoint.ops.own_operators import operator_class
from adjoint.passes.fuse import fused
from adjoint.runtime.execution.text import load_ir
from adjoint.testing import check_operator, sample


@pytest.fixture(autouse=True)
def own_names() -> Iterator[None]:
    """Take the operators of a test out of the registry after it."""
    yield
    for kind in [kind for kind in registry().values() if issubclass(kind, Defined)]:
        withdraw(kind)


def sqmul_bprop(x: Tensor, y: Tensor, out: Tensor, dout: Tensor, *, k: float) -> tuple[Tensor, Tensor]:
    return 2 * x * y * k * dout, x * x * k * dout


def defined(times: float = 1.0) -> Callable[..., Tensor]:
    @ms.operator("sqmul(x, y, *, k=1.0)", c=f"x * x * y * k * {times}", bprop=sqmul_bprop,
                 samples=[((2, 3), (3,)), ((2, 3), (), {"k": -2.5}), (np.arange(3.0), (3,))])
    def sqmul(x: Any, y: Any, *, k: float) -> Any:
        """The product x x y k."""
        return x * x * y * k * times

    return sqmul


UNIT = """
    double total = 0;
    for (int i = 0; i < n; i++)
        total += x[i] * x[i];
    float scale = 1 / sqrt(total + eps);
    for (int i = 0; i < n; i++)
        out[i] = x[i] * scale;
"""


def unit_bprop(x: Tensor, out: Tensor, dout: Tensor, *, eps: float) -> Tensor:
    scale = ops.rsqrt((x * x).sum(-1, keepdims=True) + eps)
    return (dout - out * (out * dout).sum(-1, keepdims=True)) * scale


def by_numpy(x: Any, *, axis: int) -> Any:
    return np.cumsum(x, axis, dtype=x.dtype)


# The whole suite ----------------------------------------------------------------------------------------------------------


def everything(x: Any, y: Any, *, n: int) -> Any:
    return np.where((x > y) & ~(y < -1) | (x == 0), np.sqrt(np.abs(x)) + np.pi, np.fmin(x, y) * (x > 1) / 3 + n)


@needs_compiler
def test_operators_pass_the_suite() -> None:
    """Each kind of operator, and some of the library: the same suite."""
    report = check_operator(defined())
    assert report.left_out == () and len(report.checks) == 9 and report.cases > 10
    rows = ms.operator("unit(x, *, eps=1e-3)", row=True, c=UNIT, bprop=unit_bprop, samples=[((3, 5),), ((0, 5),), ((7,), {"eps": 0.5})])(
        lambda x, *, eps: x / np.sqrt((x * x).sum(-1, keepdims=True, dtype=np.float64) + eps))
    assert check_operator(rows).left_out == ()
    choice = ms.operator("everything(x, y, *, n=2)", c="x > y && !(y < -1) || x == 0 ? sqrt(abs(x)) + M_PI : fmin(x, y) * (x > 1) / 3 + n")
    assert "gradients: it was defined without `bprop`" in str(check_operator(choice(everything)))
    host = ms.operator("sums(x, *, axis: int)", infer=lambda x, *, axis: x, samples=[((2, 3), {"axis": 1})])(by_numpy)
    assert "kernels: it was defined without C" in str(check_operator(host))
    whole = ms.operator("whole(x, y)", c="x * x - 3 * y", bprop=lambda x, y, out, dout: (2 * x * dout, -3 * dout))
    assert check_operator(whole(lambda x, y: x * x - 3 * y)).cases > 14  # integers of all widths too
    assert check_operator("softmax").left_out == ()


@needs_compiler
@pytest.mark.parametrize(("c", "bprop", "found"), [
    ("x * x * 1.001", lambda x, out, dout: 2 * x * dout, "C against the definition: bad-0-f32 bad"),
    ("x * x", lambda x, out, dout: 3 * x * dout, "the gradient of order 1 along a random direction is"),
    ("x * x", lambda x, out, dout: 2 * ops.stop_gradient(x) * dout, "the gradient of order 2 along a random direction is"),
    ("x < 0 ? 1 - x * x : x * x", lambda x, out, dout: 2 * x * dout, "special values: -0, NaN, infinity, subnormals: bad-vector-"),
    ("x == 0 ? 0 : x * x", lambda x, out, dout: 2 * x * dout, ""),
])
def test_the_suite_finds(c: str, bprop: Any, found: str) -> None:
    bad = ms.operator("bad(x)", c=c, bprop=bprop, samples=[sample((3,), domain=(0.5, 2.0))])(lambda x: x * x)
    if not found:
        check_operator(bad)
        return
    with pytest.raises(AssertionError, match="of the checks fail") as wrong:
        check_operator(bad)
    assert found in str(wrong.value)


def test_no_samples_without_defaults() -> None:
    f = ms.operator("f(x, *, k: float)", c="x * k")(lambda x, *, k: x * k)
    with pytest.raises(ValueError, match=r"For 'f', give `samples=` to `operator`"):
        check_operator(f)
    with pytest.raises(TypeError, match=r"expected an operator that `adjoint\.operator` has made"):
        check_operator(len)


# Calls --------------------------------------------------------------------------------------------------------------------


def test_calls_bring_operands_to_one_dtype() -> None:
    sqmul = defined()
    x = Tensor(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    y = Tensor(np.array([1, 2, -1], np.float32))
    np.testing.assert_array_equal(sqmul(x, y, k=2).asnumpy(), x.asnumpy() ** 2 * y.asnumpy() * 2)
    assert sqmul(x, 2.0).dtype == ms.float32 and sqmul(2, x.half()).dtype == ms.float16
    assert sqmul(Tensor([1, 2]), Tensor([1, 2])).dtype == ms.float32 and sqmul(Tensor([True]), 3).dtype == ms.float32
    assert sqmul(Tensor([1, 2]), x[:, 0].astype(ms.float64)).dtype == ms.float64
    three = ms.operator("three(a, b, c)", c="a + b * c")(lambda a, b, c: a + b * c)
    assert three(Tensor([1, 2], ms.int16), 3, Tensor([1], ms.int8)).dtype == ms.int16
    assert three(Tensor([1, 2]), 0.5, 2).asnumpy().tolist() == [2.0, 3.0]
    assert three(1, x.astype(ms.bfloat16), np.float32(2)).dtype == ms.bfloat16
    above = ms.operator("above(x, y)", c="x > y")(lambda x, y: x > y)
    assert above(Tensor([1, 2]), 1).asnumpy().tolist() == [False, True]
    assert sqmul.__doc__ == "The product x x y k." and sqmul.__name__ == "sqmul"


def test_in_graphs_it_is_the_same() -> None:
    sqmul = defined()
    x, y = Tensor(np.array([0.5, -1.5, 2.0], np.float32)), Tensor(np.array([1.0, -2.0, 3.0], np.float32))

    def energy(x: Tensor, y: Tensor, k: float) -> Tensor:
        return (sqmul(ops.tanh(x), y, k=k) + 1).sum()

    graph = ms.jit(energy)
    for k in (2.0, 3.5):
        assert graph(x, y, k).asnumpy() == energy(x, y, k).asnumpy()
        for one, other in zip(ms.grad(graph, (0, 1))(x, y, k), ms.grad(energy, (0, 1))(x, y, k), strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    second = ms.grad(lambda x: ms.grad(energy)(x, y, 2.0).sum())
    np.testing.assert_array_equal(ms.jit(second)(x).asnumpy(), second(x).asnumpy())


@needs_compiler
def test_it_fuses_with_its_neighbours() -> None:
    kind = operator_class(defined())
    x = Value(tensor(F32, (64,)), "x")
    b = Builder()
    function = Function("f", b.finish([b.neg(b.emit(kind(k=2.0), b.tanh(x), x))], [x]))
    assert [node.op.name for node in fused(function).body.nodes] == ["fused"]


def test_a_definition_in_python_runs_in_graphs() -> None:
    sums = ms.operator("sums(x, *, axis: int)", infer=lambda x, *, axis: x)(by_numpy)
    graph = ms.jit(lambda x: sums(x * 2, axis=1) + 1)
    x = Tensor(np.ones((2, 3), np.float32))
    for _ in range(6):
        assert graph(x).asnumpy().tolist() == [[3.0, 5.0, 7.0]] * 2
    stats = ms.jit_stats(graph)
    assert stats.graphs[0].in_python == ("sums",) and "called in Python: sums" in str(stats)
    wrong = ms.operator("wrong(x)")(lambda x: x[:1])
    with pytest.raises(ValueError, match=r"the shape that the operands broadcast to, \[2, 3\], but it returned \[1, 3\]: give `infer=`"):
        wrong(x)


# Rows ---------------------------------------------------------------------------------------------------------------------

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_rows_of_other_lengths_and_checked_indices() -> None:
    dot = ms.operator("dot(x, y)", row=True, infer=lambda x, y: x[:-1],
                      c="double s = 0; for (int i = 0; i < n_x; i++) s += x[i] * y[i]; out[0] = s;")(lambda x, y: (x * y).sum(-1))
    np.testing.assert_array_equal(dot(Tensor(X), Tensor(X[0])).asnumpy(), X @ X[0])
    with pytest.raises(IndexError, match="For 'dot', the argument 'c' reads or writes outside of a row"):
        dot(Tensor(X), Tensor(X[0, :3]))
    differences = ms.operator("differences(x)", row=True, c="for (int i = 1; i < n; i++) { out[i] = x[i] - x[i - 1]; }")(lambda x: x)
    assert differences(Tensor(X)).asnumpy().tolist() == [[0, 1, 1, 1]] * 3  # what is not written is 0
    assert not operator_class(differences).checks  # pyright: ignore[reportAttributeAccessIssue] - of rows
    guarded = ms.operator("guarded(x)", row=True, c="for (int i = 0; i < n; i++) out[i] = i > 0 ? x[i - 1] : x[0];")(lambda x: x)
    assert guarded(Tensor(X[:1])).asnumpy().tolist() == [[0, 0, 1, 2]]
    assert guarded(Tensor(X[:, :0])).shape == (3, 0)
    with pytest.raises(ValueError, match=r"For 'dot', the argument 'y' must be of as many rows as 'x', \[3\]"):
        dot(Tensor(X), Tensor(X[:2]))


# Defined again ------------------------------------------------------------------------------------------------------------


def test_a_name_that_is_defined_again_means_the_new_operator() -> None:
    space: dict[str, Any] = {"sqmul": defined()}

    def f(x: Tensor) -> Tensor:
        return space["sqmul"](x, x)

    x, graph = Tensor([2.0]), ms.jit(f)
    old = space["sqmul"]
    assert graph(x).asnumpy() == [8.0] and ms.grad(graph)(x).asnumpy() == [12.0]
    text = load_ir("func @f(x: f32[1]) -> f32[1] {\n  y: f32[1] = sqmul(x, x)\n  return y\n}")
    space["sqmul"] = defined(3.0)
    assert graph(x).asnumpy() == [24.0] and f(x).asnumpy() == [24.0] and text(x).asnumpy() == [8.0]
    assert registry()["sqmul"] is operator_class(space["sqmul"]) and old(x, x).asnumpy() == [8.0]
    value = Value(x.type, "x")
    b = Builder()
    stale = Module(functions={"f": Function("f", b.finish([b.emit(operator_class(old)(), value, value)], [value]))})
    with pytest.raises(CompileError, match="`sqmul` is not a registered op: an operator of this name was defined again"):
        verify_module(stale)


def test_a_mistake_leaves_the_operator_that_was_there() -> None:
    sqmul = defined()
    with pytest.raises(CompileError):
        ms.operator("sqmul(x, y, *, k=1.0)", c="x *")(lambda x, y, *, k: x)
    assert registry()["sqmul"] is operator_class(sqmul)


def test_its_text_needs_its_definition() -> None:
    text = "func @f(x: f32[3]) -> f32[3] {\n  y: f32[3] = my_own_thing(x, k=2.0)\n  return y\n}"
    with pytest.raises(CompileError, match=r"there is no op `my_own_thing`(.|\n)*defined first, by `adjoint.operator`"):
        load_ir(text)
    own = ms.operator("my_own_thing(x, *, k=1.0)", c="x * k")(lambda x, *, k: x * k)
    assert load_ir(text)(Tensor([1.0, 2.0, 3.0])).asnumpy().tolist() == [2.0, 4.0, 6.0]
    op = operator_class(own)(k=3.0)
    assert pickle.loads(pickle.dumps(op)) is op and copy.deepcopy(op) is op


# Mistakes -----------------------------------------------------------------------------------------------------------------

FORMULAS = {
    "x * z": ("`z` is not known here", 5, "The operands are x, y."),
    "x ** 2": ("but got `**`", 3, "`pow(x, 2)`"),
    "x + max(x, y)": ("there is no function `max`", 5, "do you mean `fmax`?"),
    "exp(x, y)": ("takes 1 argument, but 2 are given", 1, ""),
    "x; y": ("but got `;`", 2, "`row=True`"),
    "x * (1 / 2)": ("a quotient of two integers", 8, "write 1.0 / 2"),
    "x < y < 1": ("a comparison is compared", 7, "a < b && b < c"),
    "(x": ("expected `)`", 3, ""),
    "np.exp(x)": ("`.` does not exist", 3, "functions have no module"),
    "(double)x": ("does not convert", 2, "astype"),
    "system(x)": ("there is no function `system`", 1, ""),
    "x[0]": ("`x` has no elements here", 1, ""),
    '"; int main() { return 1; }"': ('`"` does not exist', 1, ""),
    "x % 2.5": ("`%` is for integers", 3, "fmod"),
    "(" * 200 + "x": ("nested more than 100 deep", 101, ""),
}
ROWS = {
    "out[i] = 0;": ("`i` is not known here", 5, "the length of a row is n"),
    "x[0] = 1;": ("it is an operand", 1, "out[i]"),
    "while (1) { }": ("but got `while`", 1, "which ends"),
    "for (int i = 0; i < n; i++) i = 0;": ("the counter of a loop is not written", 29, ""),
    "for (int i = 0; i < n; i--) out[i] = 0;": ("the only form of a loop", 25, ""),
    "int i = x[0];": ("cannot become an integer", 5, ""),
    "double n = 1;": ("`n` has a meaning already", 8, ""),
    "out[0.5] = 1;": ("expected an integer", 5, ""),
    "n = 3;": ("`n` cannot be written", 1, ""),
}


@pytest.mark.parametrize(("c", "row"), [*((c, False) for c in FORMULAS), *((c, True) for c in ROWS)])
def test_a_mistake_in_a_formula_has_a_caret(c: str, row: bool) -> None:
    label, column, help_ = (ROWS if row else FORMULAS)[c]
    with pytest.raises(CompileError) as wrong:
        ms.operator("f(x, y)", c=c, row=row)(lambda x, y: x)
    text = str(wrong.value)
    assert text.startswith("error[E170]") and label in text and help_ in text
    assert f"--> <the argument 'c' of operator 'f'>:1:{column}\n" in text


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ms.operator("f"), "the argument 'signature' must be a name and parameters"),
    (lambda: ms.operator("f()"), "with at least one operand"),
    (lambda: ms.operator("f(*x)"), "without `/`, `\\*args`"),
    (lambda: ms.operator("f(x, *, k=[1])"), "the attribute 'k' must have a default of one of the types"),
    (lambda: ms.operator("add(x)"), "the name 'add' is that of an op of the library"),
    (lambda: ms.operator("f(out)"), "no operand or attribute may be called 'out'"),
    (lambda: ms.operator("f(x)", row=True), "the argument 'c' must be statements over a row"),
    (lambda: ms.operator("f(x)", c="x", infer=lambda x: x), "the argument 'infer' is for statements over a row"),
    (lambda: ms.operator("f(x)", c="x", bprop=lambda x, out: x), r"'bprop' must take \(x, out, dout\), but it takes \(x, out\)"),
    (lambda: ms.operator("f(x, y)")(lambda y, x: x), r"'definition' must take its operands in the order \(x, y\)"),
    (lambda: ms.operator("f(x, *, k=1)")(lambda x: x), r"'definition' must take \(x, \*, k\)"),
    (lambda: ms.operator("f(x)", samples=[((2,), (3,))])(lambda x: x), "a tuple in the argument 'samples' must have a shape or an array"),
])
def test_wrong_definitions(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_calls() -> None:
    sqmul = defined()
    x = Tensor([1.0, 2.0])
    for call, message in (
        (lambda: sqmul(x), r"sqmul\(\) missing 1 required positional argument: 'y'"),
        (lambda: sqmul(x, x, 2.0), r"sqmul\(\) takes 2 positional arguments but 3 were given"),
        (lambda: sqmul(x, "y"), "For 'sqmul', the argument 'y' must be a Tensor or a number, but got 'y'"),
        (lambda: sqmul(1, 2), "For 'sqmul', the argument 'x' must be a Tensor, since no other operand is one, but got 1"),
        (lambda: sqmul(x, x, k="2"), "For 'sqmul', the argument 'k' must be"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(ValueError, match="For 'sqmul', the argument 'y' must be of a shape that broadcasts with"):
        sqmul(x, Tensor([1.0, 2.0, 3.0]))
    small = ms.operator("small(x)", c="x + 300")(lambda x: x + 300)
    with pytest.raises(CompileError, match="300 is out of the range of Int8, which the operands have"):
        small(Tensor([1], ms.int8))


def reads_numbers(x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
    if x.sum() > 0:
        return dout
    return -dout


BAD_BPROPS: dict[str, tuple[Any, str]] = {
    "an if": (reads_numbers, r"if x.sum\(\) > 0:\n(.|\n)*the numbers of a tensor are read, while the gradient of `f` is made"),
    "a count": (lambda x, out, dout: (dout, dout), r"must return 1 gradient, for x, but it returned 2"),
    "a type": (lambda x, out, dout: "dout", "must return for 'x' a Tensor, a number or None, but it returned 'dout' of type str"),
    "a smaller shape": (lambda x, out, dout: dout.sum(), r"a gradient of its shape, \[3\], or of one that it broadcasts to, but it"),
    "a shape": (lambda x, out, dout: dout[:2], r"a gradient of its shape, \[3\], or of one that it broadcasts to, but it returned one of"),
    "a tensor": (lambda x, out, dout: dout * Tensor([1.0, 2.0, 3.0]), r"uses a Tensor from outside, of shape \[3\]"),
    "nothing": (None, "`f` has no gradient, since it was defined without `bprop`"),
}


@pytest.mark.parametrize("mistake", BAD_BPROPS)
@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
def test_mistakes_in_a_bprop(mistake: str, graph: bool) -> None:
    bprop, message = BAD_BPROPS[mistake]
    f = ms.operator("f(x)", c="x * 2", bprop=bprop)(lambda x: x * 2)
    energy = ms.jit(lambda x: f(x).sum()) if graph else lambda x: f(x).sum()
    with pytest.raises(CompileError, match=message):
        ms.grad(energy)(Tensor([1.0, 2.0, 3.0]))


def test_a_bprop_may_leave_out_gradients_and_use_numbers_that_are_known() -> None:
    f = ms.operator("f(x, y)", c="x * 2 + y", bprop=lambda x, y, out, dout: (ops.full_like(x, 2.0) * dout, None))(lambda x, y: x * 2 + y)
    x = Tensor([1.0, 2.0])
    assert [g.asnumpy().tolist() for g in ms.grad(lambda x, y: f(x, y).sum(), (0, 1))(x, x)] == [[2.0, 2.0], [0.0, 0.0]]
    one = ms.operator("one(x)", c="x", bprop=lambda x, out, dout: 1)(lambda x: x)
    assert ms.grad(lambda x: one(x).sum())(x).asnumpy().tolist() == [1.0, 1.0]
