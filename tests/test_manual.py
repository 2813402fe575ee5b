"""Runs the examples of the manuals, kept in `tests/manual`, and compares what they print with what the manuals show."""

import importlib.util
import math
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

MANUAL = Path(__file__).parent / "manual"
RELATIVE_TOLERANCE = 2e-6
TIME_LIMIT = 300  # seconds; a cold compile cache on a slow machine needs some


@dataclass(frozen=True)
class Example:
    """One row of `examples.toml`, which explains the fields."""

    name: str
    compare: str
    environment: dict[str, str] = field(default_factory=dict)
    value: float = math.nan
    tolerance: float = math.nan
    error: str = ""
    names: str = ""
    line: str = ""

    @property
    def script(self) -> Path:
        return MANUAL / f"{self.name}.py"

    @property
    def output(self) -> str:
        return (MANUAL / f"{self.name}.txt").read_text(encoding="utf-8")


EXAMPLES = [Example(**row) for row in tomllib.loads((MANUAL / "examples.toml").read_text(encoding="utf-8"))["example"]]


# Comparing what is printed. Every function returns the first difference as a sentence, or None if there is none.


TOKEN = re.compile(
    r"""
      (?P<word>     [^\W\d]\w* )
    | (?P<exponent> [+-]? (?: \d+\.?\d* | \.\d+ ) [eE][+-]?\d+ )
    | (?P<decimal>  [+-]? (?: \d+\.\d* | \.\d+ ) )
    | (?P<integer>  [+-]? \d+ )
    | (?P<mark>     \S )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A word, a punctuation mark, or a number: the notation of a number reveals dtypes and printers."""

    form: str
    text: str
    line: int

    def same(self, other: "Token") -> bool:
        if self.form != other.form:
            return False
        if self.form in ("exponent", "decimal"):
            return math.isclose(float(self.text), float(other.text), rel_tol=RELATIVE_TOLERANCE)
        if self.form == "integer":
            return int(self.text) == int(other.text)
        return self.text == other.text


def tokens(text: str) -> list[Token]:
    return [
        Token(str(match.lastgroup), match.group(), number)
        for number, line in enumerate(text.splitlines(), start=1)
        for match in TOKEN.finditer(line)
    ]


def text_difference(expected: str, got: str) -> str | None:
    """Return the difference between texts; white space only separates words and numbers."""
    wanted, found = tokens(expected), tokens(got)
    for want, have in zip(wanted, found, strict=False):
        if not want.same(have):
            return f"line {have.line}: expected {want.text!r} (line {want.line} of the manual), got {have.text!r}"
    if len(found) < len(wanted):
        rest = wanted[len(found)]
        return f"the output ends before {rest.text!r} (line {rest.line} of the manual)"
    if len(found) > len(wanted):
        rest = found[len(wanted)]
        return f"line {rest.line}: {rest.text!r} comes after the end of the manual's output"
    return None


def array_shape(text: str) -> tuple[int, ...]:
    """Return the shape of the one printed array in `text`; ValueError if it is not one, or contains NaN or infinity."""
    found = tokens(text)
    position = 0

    def item() -> tuple[int, ...]:
        nonlocal position
        if position == len(found):
            raise ValueError("the array is not closed")
        token = found[position]
        position += 1
        if token.form in ("exponent", "decimal", "integer"):
            return ()
        if token.text != "[":
            raise ValueError(f"line {token.line}: {token.text!r} is not part of an array of finite numbers")
        shapes: list[tuple[int, ...]] = []
        while position < len(found) and found[position].text != "]":
            shapes.append(item())
        if position == len(found):
            raise ValueError("the array is not closed")
        position += 1
        if len(set(shapes)) > 1:
            raise ValueError(f"line {token.line}: a ragged array, its items have the shapes {sorted(set(shapes))}")
        return (len(shapes), *(shapes[0] if shapes else ()))

    shape = item()
    if position != len(found):
        raise ValueError(f"line {found[position].line}: {found[position].text!r} comes after the array")
    return shape


def shape_difference(expected: str, got: str) -> str | None:
    try:
        found = array_shape(got)
    except ValueError as problem:
        return str(problem)
    wanted = array_shape(expected)
    return None if found == wanted else f"expected an array of shape {wanted}, got {found}"


def number_difference(value: float, tolerance: float, got: str) -> str | None:
    try:
        number = float(got)
    except ValueError:
        return f"expected one number, got {got!r}"
    return None if abs(number - value) <= tolerance else f"expected {value} within {tolerance}, got {number}"


def error_difference(error: str, names: str, line: str, stderr: str) -> str | None:
    """Compare the last exception that `stderr` reports; its message may have several lines."""
    reports = list(re.finditer(r"^(?:\w+\.)*(\w+(?:Error|Exception|Interrupt|Exit))(?::(.*))?$", stderr, re.MULTILINE))
    if not reports:
        return "no exception is reported"
    last = reports[-1]
    if last[1] != error:
        return f"expected {error}, got {last[1]}"
    message = stderr[last.start() :]
    if not re.search(rf"\b{re.escape(names)}\b", message):
        return f"the message does not name {names}: {message!r}"
    if not any(shown.strip().endswith(line) for shown in stderr.splitlines()):
        return f"the line {line!r} is not shown"
    return None


def difference(example: Example, status: int, stdout: str, stderr: str) -> str | None:
    if example.compare == "error":
        if status == 0:
            return "the script ended without an error"
        return error_difference(example.error, example.names, example.line, stderr)
    if status != 0:
        return f"the script ended with status {status}"
    if example.compare == "exact":
        return text_difference(example.output, stdout)
    if example.compare == "shape":
        return shape_difference(example.output, stdout)
    if example.compare == "near":
        return number_difference(example.value, example.tolerance, stdout)
    raise ValueError(f"examples.toml: {example.name}: unknown comparison {example.compare!r}")


def environment(example: Example) -> dict[str, str]:
    """Return the variables for the child, so that it runs the same package as the tests, installed or not."""
    variables = dict(os.environ)
    variables.pop("ADJOINT_HOOK_SIGNATURE", None)
    specification = importlib.util.find_spec("adjoint")
    if specification is not None and specification.origin is not None:
        paths = [str(Path(specification.origin).parents[1]), variables.get("PYTHONPATH", "")]
        variables["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return variables | example.environment


@pytest.mark.parametrize("example", [pytest.param(e, id=e.name) for e in EXAMPLES])
def test_example(example: Example, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "adjoint", "run", str(example.script)],
        cwd=tmp_path,
        env=environment(example),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIME_LIMIT,
        check=False,
    )
    problem = difference(example, run.returncode, run.stdout, run.stderr)
    assert problem is None, f"{problem}\n--- printed\n{run.stdout}\n--- standard error\n{run.stderr}"


# The comparison itself.


def test_every_script_is_listed_once_and_has_its_output() -> None:
    names = [example.name for example in EXAMPLES]
    assert sorted(names) == sorted(path.stem for path in MANUAL.glob("*.py"))
    assert sorted(names) == sorted(path.stem for path in MANUAL.glob("*.txt"))


@pytest.mark.parametrize("example", [pytest.param(e, id=e.name) for e in EXAMPLES if e.compare in ("exact", "shape")])
def test_the_manuals_output_passes_its_own_comparison(example: Example) -> None:
    assert difference(example, 0, example.output, "") is None
    assert difference(example, 1, example.output, "") == "the script ended with status 1"


@pytest.mark.parametrize("example", [pytest.param(e, id=e.name) for e in EXAMPLES if e.compare == "exact"])
def test_any_missing_or_extra_part_of_the_manuals_output_fails(example: Example) -> None:
    text = example.output
    for start, end in ((m.start(), m.end()) for m in TOKEN.finditer(text)):
        assert text_difference(text, text[:start] + " " + text[end:]) is not None
        assert text_difference(text, text[:end] + " again " + text[end:]) is not None
    lines = text.splitlines(keepends=True)
    for index in range(len(lines)):
        assert text_difference(text, "".join(lines[:index] + lines[index + 1 :])) is not None


SHOWN = "grad output:  (Tensor(shape=[2], dtype=Float32, value= [ 1.50000000e+00, -2.00000000e+00]), 3)\n"


@pytest.mark.parametrize(
    "got",
    [
        SHOWN,
        SHOWN.replace("  ", "").replace("value= ", "value="),
        SHOWN.replace(",", " ,\n  "),
        SHOWN.replace("1.50000000e+00", "1.50000200e+00"),
        SHOWN.replace("-2.00000000e+00", "-1.99999700e+00"),
    ],
)
def test_text_that_passes(got: str) -> None:
    assert text_difference(SHOWN, got) is None


@pytest.mark.parametrize(
    ("got", "problem"),
    [
        (SHOWN.replace("1.50000000e+00", "1.50000500e+00"), "expected '1.50000000e+00'"),
        (SHOWN.replace("1.50000000e+00", "-1.50000000e+00"), "got '-1.50000000e+00'"),
        (SHOWN.replace("1.50000000e+00", "1.5"), "got '1.5'"),
        (SHOWN.replace("1.50000000e+00", "nan"), "got 'nan'"),
        (SHOWN.replace(" 3", " 4"), "expected '3' (line 1 of the manual), got '4'"),
        (SHOWN.replace(" 3", " 3."), "expected '3' (line 1 of the manual), got '3.'"),
        (SHOWN.replace(", 3", ""), "expected ',' (line 1 of the manual), got ')'"),
        (SHOWN.replace("Float32", "Float64"), "expected 'Float32'"),
        (SHOWN.replace("output", "input"), "expected 'output'"),
        (SHOWN.replace("grad ", "grad"), "expected 'grad'"),
        (SHOWN + SHOWN, "line 2: 'grad' comes after the end"),
        (SHOWN.rstrip()[:-1], "ends before ')'"),
        ("", "ends before 'grad'"),
    ],
)
def test_text_that_fails(got: str, problem: str) -> None:
    assert problem in str(text_difference(SHOWN, got))


def test_zero_is_not_a_small_number() -> None:
    assert text_difference("[0.]", "[0.]") is None
    assert text_difference("[0.]", "[1.e-9]") is not None
    assert text_difference("[0.]", "[0.0000001]") is not None


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("2.5", ()),
        ("[]", (0,)),
        ("[1. 2. -3.e-05]", (3,)),
        ("[[1 2]\n [3 4]\n\n [5 6]]", (3, 2)),
        ("[[[[1.]]]]", (1, 1, 1, 1)),
    ],
)
def test_array_shape(text: str, shape: tuple[int, ...]) -> None:
    assert array_shape(text) == shape


@pytest.mark.parametrize(
    "text", ["", "[1. 2.", "[1. nan]", "[1. inf]", "[[1 2] [3]]", "[1 [2]]", "[1] [2]", "[1]]", "x", "Tensor([1])"]
)
def test_text_that_is_no_array(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        array_shape(text)


def test_shape_difference() -> None:
    assert shape_difference("[[1. 2.]]", "[[7.5 -8.]]") is None
    assert shape_difference("[[1. 2.]]", "[[7.5] [-8.]]") == "expected an array of shape (1, 2), got (2, 1)"
    assert "nan" in str(shape_difference("[[1. 2.]]", "[[7.5 nan]]"))


def test_number_difference() -> None:
    assert number_difference(2.3, 0.1, "2.3050091\n") is None
    assert number_difference(2.3, 0.1, "2.5\n") is not None
    assert number_difference(2.3, 0.1, "nan\n") is not None
    assert number_difference(2.3, 0.1, "[2.3]\n") is not None
    assert number_difference(2.3, 0.1, "") is not None


TRACE = """Traceback (most recent call last):
  File "script.py", line 17, in construct
    x = self.get_next()
        ^^^^^^^^^^^^^^^
RuntimeError: the op GetNext has no queue of the name "test"
"""


@pytest.mark.parametrize(
    ("stderr", "problem"),
    [
        (TRACE, None),
        (TRACE.replace("RuntimeError: the", "RuntimeError: in a run\n  the"), None),
        (TRACE.replace("    x =", "17 |     x ="), None),
        (TRACE.replace("RuntimeError", "ValueError"), "expected RuntimeError, got ValueError"),
        (TRACE.replace("GetNext", "GetNextOne"), "does not name GetNext"),
        (TRACE.replace("GetNext", "Add") + "\n", "does not name GetNext"),
        (TRACE.replace("x = self.get_next()", "x = self.get_last()"), "is not shown"),
        (TRACE + "TypeError: GetNext\n", "expected RuntimeError, got TypeError"),
        ("warning: GetNext\n", "no exception is reported"),
    ],
)
def test_error_difference(stderr: str, problem: str | None) -> None:
    found = error_difference("RuntimeError", "GetNext", "x = self.get_next()", stderr)
    assert found is None if problem is None else problem in str(found)


def test_an_error_needs_a_status() -> None:
    example = Example("x", "error", error="RuntimeError", names="GetNext", line="x = self.get_next()")
    assert difference(example, 1, "", TRACE) is None
    assert difference(example, 0, "", TRACE) == "the script ended without an error"
