"""What the verifier rejects: IR that no text and no Builder produces, but a faulty pass might."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adjoint.foundation.diagnostics import UNKNOWN, CompileError
from adjoint.ir.core import Function, Literal, Module, Node, Region, Value
from adjoint.ir.ops.arithmetic import Add, Neg
from adjoint.ir.ops.control import Cell, For, Gradient, If, While
from adjoint.ir.ops.host import Apply, Attach
from adjoint.ir.ops.stack import Pop, Push
from adjoint.ir.ops.state import Read
from adjoint.ir.parse import parse_module
from adjoint.ir.types import BOOL, F32, F64, I8, I64, Type, scalar, stack_of, tensor
from adjoint.ir.verify import verify_function, verify_module

X, STACK = scalar(F32), stack_of(scalar(F32))


def value(name: str, type_: Type = X) -> Value:
    return Value(type_, name)


def function(params: list[Value], nodes: list[Node], results: list[Value | Literal]) -> Function:
    return Function("f", Region(tuple(params), tuple(nodes), tuple(results)))


def neg(x: Value | Literal, y: Value) -> Node:
    return Node(Neg(), (x,), (y,))


def used_before_it_is_defined() -> Function:
    x, y, z = value("x"), value("y"), value("z")
    return function([x], [neg(y, z), neg(x, y)], [z])


def used_outside_its_region() -> Function:
    c, x, t, y = value("c", scalar(BOOL)), value("x"), value("t"), value("y")
    branch = Node(If(), (c,), (y,), (Region((), (neg(x, t),), (t,)), Region((), (), (x,))))
    return function([c, x], [branch], [t])


def defined_nowhere() -> Function:
    return function([], [], [value("x")])


def defined_twice() -> Function:
    x, y = value("x"), value("y")
    return function([x], [neg(x, y), neg(x, y)], [y])


def wrong_type() -> Function:
    x, y = value("x"), value("y", scalar(F64))
    return function([x], [neg(x, y)], [y])


def operands_do_not_fit() -> Function:
    x, y, z = value("x"), value("y", scalar(F64)), value("z")
    return function([x, y], [Node(Add(), (x, y), (z,))], [z])


def wrong_number_of_results() -> Function:
    x, y, z = value("x"), value("y"), value("z")
    return function([x], [Node(Neg(), (x,), (y, z))], [y])


def branches_differ() -> Function:
    c, x, y = value("c", scalar(BOOL)), value("x"), value("y")
    branch = Node(If(), (c,), (y,), (Region((), (), (x,)), Region((), (), ())))
    return function([c, x], [branch], [y])


def loop_carries_another_type() -> Function:
    n, i, x, a, y = value("n", scalar(I64)), value("i", scalar(I64)), value("x"), value("a"), value("y")
    return function([n, x], [Node(For(), (n, n, n, x), (y,), (Region((i, a), (), (i,)),))], [y])


def gradient_of_too_many() -> Function:
    x, u, y, z = value("x"), value("u"), value("y"), value("z")
    return function([x], [Node(Gradient(2), (x,), (y, z), (Region((u,), (), (u,)),))], [y])


def cotangent_of_another_type() -> Function:
    x, s, u, y, z = value("x"), value("s", scalar(F64)), value("u"), value("y"), value("z")
    return function([x, s], [Node(Gradient(1), (x, s), (y, z), (Region((u,), (), (u,)),))], [y])


def cell_takes_another_type() -> Function:
    x, a, y = value("x"), value("a", scalar(F64)), value("y", scalar(F64))
    return function([x], [Node(Cell("c"), (x,), (y,), (Region((a,), (), (a,)),))], [y])


def literal_out_of_range() -> Function:
    y = value("y", scalar(I8))
    return function([], [neg(Literal(300, scalar(I8)), y)], [y])


def literal_that_is_no_scalar() -> Function:
    y = value("y", tensor(F32, (3,)))
    return function([], [neg(Literal(1.0, tensor(F32, (3,))), y)], [y])


def stack_used_twice() -> Function:
    s, x, t, u = value("s", STACK), value("x"), value("t", STACK), value("u", STACK)
    return function([s, x], [Node(Push(), (s, x), (t,)), Node(Push(), (s, x), (u,))], [t, u])


def stack_yielded_twice() -> Function:
    s = value("s", STACK)
    return function([s], [], [s, s])


def stack_used_in_a_branch_and_after_it() -> Function:
    c, s, t, y = value("c", scalar(BOOL)), value("s", STACK), value("t", STACK), value("y")
    pop = Node(Pop(), (s,), (t, y))
    z, rest, last = value("z"), value("rest", STACK), value("last")
    branch = Node(If(), (c,), (z,), (Region((), (pop,), (y,)), Region((), (), (Literal(0.0, X),))))
    return function([c, s], [branch, Node(Pop(), (s,), (rest, last))], [last])


def stack_from_outside_in_a_loop() -> Function:
    n, i, s, x = value("n", scalar(I64)), value("i", scalar(I64)), value("s", STACK), value("x")
    loop = Node(For(), (n, n, n), (), (Region((i,), (Node(Push(), (s, x), (value("t", STACK),)),), ()),))
    return function([n, s, x], [loop], [])


def stack_in_the_test_of_a_while() -> Function:
    s, a, t, y, u = value("s", STACK), value("a", STACK), value("t", STACK), value("y"), value("u", STACK)
    test = Region((a,), (Node(Pop(), (a,), (t, y)),), (Literal(True, scalar(BOOL)),))
    return function([s], [Node(While(), (s,), (u,), (test, Region((a,), (), (a,))))], [])


def effect_without_a_mark() -> Function:
    class Silent(Apply):
        name = "silent"

    return function([], [Node(Silent(symbol="h", results=()), (), ())], [])


def operand_that_is_nothing() -> Function:
    x = value("x")
    return function([x], [Node(Neg(), (3.0,), (value("y"),))], [x])  # type: ignore[arg-type]


CASES: dict[str, tuple[Callable[[], Function], ...]] = {
    "E120": (wrong_number_of_results, effect_without_a_mark, operand_that_is_nothing),
    "E121": (used_before_it_is_defined, used_outside_its_region, defined_nowhere),
    "E122": (defined_twice,),
    "E123": (wrong_type, operands_do_not_fit),
    "E124": (
        stack_used_twice, stack_yielded_twice, stack_used_in_a_branch_and_after_it, stack_from_outside_in_a_loop,
        stack_in_the_test_of_a_while,
    ),
    "E125": (branches_differ, loop_carries_another_type, cell_takes_another_type, gradient_of_too_many, cotangent_of_another_type),
    "E127": (literal_out_of_range, literal_that_is_no_scalar),
}  # fmt: skip


@pytest.mark.parametrize(("code", "make"), [(code, make) for code, makers in CASES.items() for make in makers])
def test_faulty_functions_are_refused(code: str, make: Callable[[], Function]) -> None:
    faulty = make()
    with pytest.raises(CompileError) as caught:
        verify_function(faulty)
    assert caught.value.diagnostic.code == code
    drawn = str(caught.value)
    assert "func @f(" in drawn and "^" in drawn and caught.value.diagnostic.label in drawn


def test_the_complaint_is_drawn_into_the_function() -> None:
    with pytest.raises(CompileError) as caught:
        verify_function(defined_twice())
    assert str(caught.value) == (
        "error[E122]: value defined twice\n"
        "  `y` is defined by another node too\n"
        "note: in this function\n"
        "\n"
        "  func @f(x: f32) -> f32 {\n"
        "    y: f32 = neg(x)\n"
        "    y: f32 = neg(x)\n"
        "    ^^^^^^^^^^^^^^^ `y` is defined by another node too\n"
        "    return y\n"
        "  }"
    )


def test_a_stack_may_be_used_once_on_each_path() -> None:
    verify_module(
        parse_module("""
func @f(c: bool, s: stack<f32>) -> f32 {
  y: f32 = if c {
    t: stack<f32>, a: f32 = pop(s)
    yield a
  } else {
    u: stack<f32>, b: f32 = pop(s)
    yield b
  }
  return y
}
""")
    )


def module_with(node: Node) -> Module:
    return Module({"w": X}, {}, {"f": function([], [node], [])})


def gradient_by(symbol: str, type_: Type) -> Node:
    body = Region((), (), (Literal(1.0, X),))
    return Node(Gradient(1, (symbol,), (type_,)), (), (value("y"), value("v", type_)), (body,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("E126", module_with(Node(Read("v", (X,)), (), (value("v"),)))),
        ("E123", module_with(Node(Read("w", (scalar(F64),)), (), (value("v", scalar(F64)),)))),
        ("E126", module_with(gradient_by("v", X))),
        ("E123", module_with(gradient_by("w", scalar(F64)))),
        ("E126", module_with(Node(Attach("w"), (Literal(1.0, X),), ()))),
        ("E126", Module({}, {}, {"f": Function("f", Region((), (), ()), "g")})),
        ("E120", Module({}, {}, {"f": Function("g", Region((), (), ()))})),
    ],
    ids=[
        "no parameter", "parameter of another type", "gradient by none", "gradient by another type", "no host", "no pullback",
        "another name",
    ],
)
def test_symbols_are_declared(code: str, module: Module) -> None:
    with pytest.raises(CompileError) as caught:
        verify_module(module)
    assert caught.value.diagnostic.code == code


@pytest.mark.parametrize(
    ("callee", "code"),
    [("func @g(x: f32, y: f32) -> f32 {\n return x\n}", "E123"), ("func @g(x: f32) -> f64 {\n return 1.0_f64\n}", "E123")],
    ids=["arguments", "results"],
)
def test_a_call_is_as_the_function_says(callee: str, code: str) -> None:
    caller = parse_module("func @g(x: f32) -> f32 {\n return x\n}\nfunc @f(x: f32) -> f32 {\n y: f32 = call @g(x)\n return y\n}")
    other = parse_module(callee)
    with pytest.raises(CompileError) as caught:
        verify_module(Module({}, {}, {"g": other.functions["g"], "f": caller.functions["f"]}))
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.loc == UNKNOWN
