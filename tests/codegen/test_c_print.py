"""The printer of C: parentheses where needed, literals that read back exactly, strings that cannot break out of a comment or literal."""

from __future__ import annotations

import math
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.codegen.c_print import Printer, comment, function_text, string
from adjoint.ir.kernel.c_ast import (
    Assign,
    Block,
    CastTo,
    Comment,
    Declare,
    Expr,
    For,
    Function,
    If,
    Increment,
    Integer,
    Name,
    Real,
    Return,
    String,
    Unary,
    address,
    both,
    either,
    equal,
    greater,
    less,
    less_equal,
    literal,
    minimum_of,
    negation,
    not_equal,
    select,
)
from adjoint.ir.kernel.conversion import cast
from adjoint.ir.kernel.names import KEYWORDS, identifier
from adjoint.ir.kernel.operands import Buffer
from adjoint.ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, U32, U64, tensor

a, b, c, d = (Name(name, F32) for name in "abcd")
i, j, n = (Name(name, I64) for name in "ijn")
p, q, r = (Name(name, BOOL) for name in "pqr")


def text(e: Expr) -> str:
    return Printer().expression(e)[0]


PRECEDENCE = [
    (a + b * c, "a + b * c"),
    ((a + b) * c, "(a + b) * c"),
    (a - (b - c), "a - (b - c)"),
    (a - b - c, "a - b - c"),
    (a + (b + c), "a + (b + c)"),  # not a + b + c: floats do not associate
    (a / b * c, "a / b * c"),
    (a / (b * c), "a / (b * c)"),
    (-a * b, "-a * b"),
    (-(a * b), "-(a * b)"),
    (Unary("-", -a, F32), "-(-a)"),
    (a - -b, "a - (-b)"),
    (a + -1.5, "a + (-1.5f)"),
    (a * -1.5, "a * -1.5f"),
    (1 - a, "1.0f - a"),
    (i % 16 + j, "i % 16 + j"),
    (i % (16 + j), "i % (16 + j)"),
    (~i & j, "~i & j"),
    # where compilers warn that people err
    ((i + 1) << 2, "(i + 1) << 2"),
    (i << (j * 2), "i << (j * 2)"),
    ((i & j) | n, "(i & j) | n"),
    (i ^ (j + 1), "i ^ (j + 1)"),
    (i | j | n, "i | j | n"),
    (either(both(p, q), r), "(p && q) || r"),
    (both(either(p, q), r), "(p || q) && r"),
    (both(less(a, b), greater(a, c)), "a < b && a > c"),
    (equal(less(a, b), less(b, c)), "(a < b) == (b < c)"),
    (equal(negation(p), q), "(!p) == q"),
    (negation(less(a, b)), "!(a < b)"),
    (select(p & q, a, b), "(p & q) ? a : b"),
    # conditionals, casts, calls, addresses
    (select(less(a, b), a, b), "a < b ? a : b"),
    (select(p, select(q, a, b), c), "p ? (q ? a : b) : c"),
    (select(p, a, select(q, b, c)), "p ? a : q ? b : c"),
    (select(p, a, b) + c, "(p ? a : b) + c"),
    (cast(i + 1, F32), "(float)(i + 1)"),
    (cast(i, F32) * a, "(float)i * a"),
    (cast(-a, I32), "(int32_t)-a"),
    (cast(a, BOOL), "a != 0.0f"),
    (cast(p, F64), "p ? 1.0 : 0.0"),
    (minimum_of(i, 3), "i < 3 ? i : 3"),
]


@pytest.mark.parametrize(("expression", "expected"), PRECEDENCE, ids=[expected for _, expected in PRECEDENCE])
def test_parentheses(expression: Expr, expected: str) -> None:
    assert text(expression) == expected


def test_elements_are_loaded_in_the_dtype_they_are_computed_in() -> None:
    half, flag, real = (Buffer(tensor(t, (3,)), "x", 0, written=False) for t in (F16, BOOL, F64))
    assert text(half[i] + 1) == "adjoint_f32_of_f16(x[i]) + 1.0f"
    assert text(negation(flag[i])) == "!(x[i] != 0)"
    assert text(real[2 * i + 1]) == "x[2 * i + 1]"
    assert text(address(half.raw(i))) == "&x[i]"


def test_arithmetic_narrower_than_int_is_cast_back() -> None:
    """C computes it as int, so 100 + 100 would be 200 in int8."""
    x, y = Name("x", I8), Name("y", I8)
    assert text(x + y) == "(int8_t)(x + y)"
    assert text(less(x * 2, y)) == "(int8_t)(x * 2) < y"
    assert text(-Name("x", U8)) == "(uint8_t)-x"


def test_index_arithmetic_is_folded() -> None:
    one, two, zero = literal(1, I64), literal(2, I64), literal(0, I64)
    assert text(i * 1 + 0) == "i"
    assert text((i + zero) * two) == "i * 2"
    assert text(one * two + i * 0) == "2"
    assert text(literal(2**63 - 1, I64) + 1) == "INT64_MIN"  # wraps


def test_float_arithmetic_is_not_folded() -> None:
    """-0.0 + 0 is 0, and NaN * 0 is NaN."""
    assert text(a + 0) == "a + 0.0f"
    assert text(a * 1) == "a * 1.0f"


@pytest.mark.parametrize(
    ("mistake", "part"),
    [
        (lambda: a + Name("x", F64), "cast one side"),
        (lambda: p + q, "cannot compute in bool"),
        (lambda: ~p, "negation"),
        (lambda: a % b, "fmod"),
        (lambda: a & b, "integers or bool"),
        (lambda: both(p, i), "cast one side"),
        (lambda: Name("x", F16) + Name("y", F16), "cannot compute in f16"),
        (lambda: select(a, b, c), "a condition is bool"),
        (lambda: literal(300, U8), None),
        (lambda: literal(1.5, I32), "not a literal"),
        (lambda: a == 0, "equal"),
        (lambda: bool(less(a, b)), "select"),
    ],
)
def test_mistakes_are_reported(mistake, part: str | None) -> None:
    with pytest.raises((TypeError, ValueError), match=part):
        mistake()


# ---- literals


LITERALS = [
    (Real(1.0, F32), "1.0f"),
    (Real(0.1, F32), "0.1f"),
    (Real(-0.0, F32), "-0.0f"),
    (Real(1e-45, F32), "1.4013e-45f"),
    (Real(3.4028234663852886e38, F32), "3.4028235e+38f"),
    (Real(1e300, F32), "INFINITY"),
    (Real(0.1, F64), "0.1"),
    (Real(1e22, F64), "1e+22"),
    (Real(-math.inf, F64), "-INFINITY"),
    (Real(math.nan, F32), "NAN"),
    (Integer(7), "7"),
    (Integer(-7), "-7"),
    (Integer(2**31), "INT64_C(2147483648)"),
    (Integer(-(2**63)), "INT64_MIN"),
    (Integer(-(2**31), I32), "INT32_MIN"),
    (Integer(2**32 - 1, U32), "UINT32_C(4294967295)"),
    (Integer(2**64 - 1, U64), "UINT64_C(18446744073709551615)"),
    (Integer(1, BOOL), "true"),
    (1 << i, "INT64_C(1) << i"),
]


@pytest.mark.parametrize(("expression", "expected"), LITERALS, ids=[expected for _, expected in LITERALS])
def test_literals(expression: Expr, expected: str) -> None:
    assert text(expression) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_literals_read_back(value: float) -> None:
    assert float(text(Real(value, F64))) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_literals_read_back(value: float) -> None:
    """The decimal is nearer to this float than to any other."""
    printed = text(Real(value, F32))
    assert printed.endswith("f")
    assert struct.pack("f", float(printed[:-1])) == struct.pack("f", value)


# ---- text that comes from elsewhere


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h'", "h_bar"), ("h.1'", "h_1_bar"), ("default", "default_"), ("_x", "v_x"), ("2x", "v2x"), ("größe", "gru00f6u00dfe"),
        ("", "v"), ("a-b; system()", "a_b__system__"),
    ],
)  # fmt: skip
def test_names_become_identifiers(name: str, expected: str) -> None:
    assert identifier(name) == expected


@given(st.text())
def test_every_name_becomes_an_identifier(name: str) -> None:
    made = identifier(name)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", made)
    assert made not in KEYWORDS


@given(st.text())
def test_no_comment_ends_early(words: str) -> None:
    printed = "\n".join(comment(words))
    inside = printed.removeprefix("/*").removesuffix("*/")
    assert printed == f"/*{inside}*/"
    assert "*/" not in inside
    assert "/*" not in inside
    assert "??" not in inside
    assert not any(line.endswith("\\") for line in printed.split("\n"))


@pytest.mark.parametrize("words", ["*/ int x; /*", "**/", "*??/\n/", "a \\\n b", "bell \a, bidi \u202e", "/*/", "\r\n"])
def test_comments_of_malice_compile_without_a_warning(words: str, tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler")
    source = tmp_path / "comment.c"
    source.write_text("\n".join([*comment(words), "int f(void);", ""]))
    flags = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    assert subprocess.run([compiler, *flags, str(source)], check=False).returncode == 0


def test_strings() -> None:
    assert string('a"b\\c\n??/é') == '"a\\"b\\\\c\\n\\?\\?/\\303\\251"'
    assert text(String("x")) == '"x"'


# ---- statements


def printed(*statements) -> str:
    printer = Printer()
    printer.statements(statements)
    return "\n".join(printer.lines)


def test_statements() -> None:
    body = (
        If(less(a, b), (Increment(a, b),), (If(p, (Return(Integer(1, I32)),), (Comment("neither\nnor"),)),)),
        Block((Declare("t", F32, a * 2, True), Increment(i, Integer(1)))),
    )
    assert printed(For("i", Integer(0), n + 1, 4, body)) == (
        "for (int64_t i = 0; i < n + 1; i += 4) {\n"
        "    if (a < b) {\n"
        "        a += b;\n"
        "    } else if (p) {\n"
        "        return 1;\n"
        "    } else {\n"
        "        /* neither\n"
        "           nor */\n"
        "    }\n"
        "    {\n"
        "        const float t = a * 2.0f;\n"
        "        i++;\n"
        "    }\n"
        "}"
    )


def test_a_function_declares_what_it_uses() -> None:
    parameters = (("const int64_t *", "size"), ("int64_t", "begin"))
    prologue = (Declare("n", I64, Name("begin", I64), True), Declare("m", I64, Name("begin", I64), True))
    function, names, places = function_text(Function("f", parameters, prologue, (Return(Name("m", I64)),)))
    assert function == (
        "int f(const int64_t *size, int64_t begin) {\n"
        "    (void)size;\n"
        "    const int64_t m = begin;\n"
        "\n"
        "    return m;\n"
        "}\n"
    )
    assert names == {"m", "begin"} and not places


def test_long_lines_are_broken_and_mean_the_same(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler")
    names = [Name(f"a_rather_long_name_{k}", F32) for k in range(12)]
    total = names[0]
    for k, name in enumerate(names[1:]):
        match k % 5:
            case 0:
                total = total * name
            case 1:
                total = name - (total + name)
            case 2:
                total = select(less_equal(total, name), total - name, -total)
            case 3:
                total = total / (name - total * 0.25)
            case _:
                total = CastTo(total + name, F32)
    declared = [Declare(name.name, F32, literal(1.5 + 0.1 * k, F32)) for k, name in enumerate(names)]
    flat = Printer().expression(total)[0]
    broken = printed(*declared, Declare("broken", F32, total))
    assert max(map(len, broken.split("\n"))) < 120
    assert len(flat) > 1000
    lines = ["#include <math.h>", "int main(void) {", broken, f"float flat = {flat};", "return broken == flat ? 0 : 1;", "}"]
    source, program = tmp_path / "long.c", tmp_path / "long"
    source.write_text("\n".join([*lines, ""]))
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)], check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0


def test_rounding_to_two_byte_floats() -> None:
    assert text(cast(a, F16)) == "adjoint_f32_of_f16(adjoint_f16_of_f32(a))"
    assert text(cast(i, BF16)) == "adjoint_f32_of_bf16(adjoint_bf16_of_f32((float)i))"
    assert text(not_equal(Unary("-", a, F32), 0)) == "-a != 0.0f"


def test_additions_to_a_variable_become_increments() -> None:
    """`x += y` is used for every operator that has that form, only if the target is the left operand."""
    assert printed(Assign(a, a + b)) == "a += b;"
    assert printed(Assign(a, a - (b - c))) == "a -= b - c;"
    assert printed(Assign(a, a * (b + c))) == "a *= b + c;"
    assert printed(Assign(a, b - a)) == "a = b - a;"
    assert printed(Assign(a, a + b - c)) == "a = a + b - c;"


def test_a_sum_of_integers_needs_no_parentheses() -> None:
    """Floating-point sums keep theirs, since their order changes the result."""
    assert text(j + (i * n + j)) == "j + i * n + j"
    assert text(j + (n - i)) == "j + n - i"
    assert text(j - (n + i)) == "j - (n + i)"
    assert text(a + (b + c)) == "a + (b + c)"
