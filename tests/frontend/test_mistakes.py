"""The errors of the frontend: each has a page, is in the documentation, is shown by a golden file, and is MindSpore's exception too."""

from __future__ import annotations

from pathlib import Path

import pytest

import adjoint
from adjoint import Parameter, Tensor, nn, ops
from adjoint.foundation.diagnostics import UNKNOWN, At, CompileError
from adjoint.frontend import errors
from adjoint.ir.errors import MISTAKES

ROOT = Path(__file__).parents[2]
CODES = sorted(code for code in MISTAKES if code.startswith("E2"))


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_documented_and_shown(code: str) -> None:
    assert f"| {code} |" in (ROOT / "docs/language.md").read_text(encoding="utf-8")
    assert MISTAKES[code].explanation.strip()
    shown = [path for path in (ROOT / "tests/golden/errors").glob("graph_*.err") if f"error[{code}]" in path.read_text(encoding="utf-8")]
    assert shown, f"no golden file shows {code}"


w = Parameter(Tensor([1.0, 2.0]), name="w")
relu = nn.ReLU()


def tries(x):
    try:
        return x
    except ValueError:
        return -x


def dtypes_differ(x):
    return x if x.sum() > 0 else x.astype(adjoint.float16)


def shapes_differ(x):
    return x if x.sum() > 0 else x.sum()


def structures_differ(x):
    if x.sum() > 0:
        return x
    return x, x


def grows(x):
    y = x.sum()
    while y.sum() < 10:
        y = y + x
    return y


def unassigned(x):
    while x.sum() < 10:
        x = x * 2
        y = x
    return y


def unassigned_in_later_rounds(x):
    """The first round assigns `y`, since `left` is 1 then; a later one may not."""
    rounds, left = x.sum() * 0, 1
    while True:
        rounds += 1
        if left:
            if x[1] > rounds:
                left = left - 1
        else:
            if rounds > 4:
                break
            continue
        y = x * rounds
        if rounds > 5:
            break
    return y


def unassigned_after_a_round(x):
    rounds, left = 0, 1
    while rounds < 4:
        rounds += 1
        if left:
            if x[1] > rounds:
                left = left - 1
        else:
            continue
        y = x * rounds
        if x[0] > 50:
            return x
    return y


def endless(x):
    return endless(x)


def registers_on_a_cell(x):
    relu.register_forward_hook(lambda cell, inputs, output: None)
    return relu(x)


def registers_on_a_parameter(x):
    w.register_hook(lambda gradient: gradient)
    return x * w


class Keeps(nn.Cell):
    def construct(self, x):
        self.last = {ops.relu(x)}
        return x


keeps = Keeps()


@pytest.mark.parametrize(("function", "kind", "code"), [
    (tries, RuntimeError, "E202"), (dtypes_differ, TypeError, "E204"), (shapes_differ, ValueError, "E204"),
    (structures_differ, TypeError, "E206"), (grows, ValueError, "E205"), (unassigned, UnboundLocalError, "E207"),
    (unassigned_in_later_rounds, UnboundLocalError, "E207"), (unassigned_after_a_round, UnboundLocalError, "E207"),
    (endless, RuntimeError, "E211"), (endless, RecursionError, "E211"), (registers_on_a_cell, RuntimeError, "E210"),
    (registers_on_a_parameter, ValueError, "E210"), (lambda x: keeps(x), TypeError, "E209"),
], ids=lambda x: getattr(x, "__name__", x))
def test_a_mistake_is_the_exception_of_mindspore_too(function, kind: type[Exception], code: str) -> None:
    with pytest.raises(kind) as caught:
        adjoint.jit(function)(Tensor([1.0, 2.0]))
    assert isinstance(caught.value, CompileError) and caught.value.diagnostic.code == code
    assert type(caught.value).__name__ == "CompileError"


def test_a_mistake_without_a_place_gets_one_and_keeps_its_kind() -> None:
    found = errors.BRANCHES_DIFFER.at(UNKNOWN, "label", kind=ValueError, help="help")
    here = At("f.py", 1, 2)
    placed = errors.moved(found, here)
    assert isinstance(placed, ValueError) and placed.diagnostic.loc == here and placed.diagnostic.help == "help"
    assert errors.moved(placed, At("g.py", 1, 1)) is placed


def has_no_such_attribute(x):
    def inner(y):
        return y

    return x + inner.missing


def is_no_list(x):
    def inner(y):
        return y

    return inner[0]


def is_no_operand(x):
    def inner(y):
        return y

    return x + inner


@pytest.mark.parametrize(("function", "kind", "text"), [
    (has_no_such_attribute, AttributeError, "'function' object has no attribute 'missing'"),
    (is_no_list, TypeError, "'function' object is not subscriptable"),
    (is_no_operand, TypeError, r"<function .*inner.*> of type function"),
])
def test_functions_of_parsed_code_are_functions_in_messages(function, kind: type[Exception], text: str) -> None:
    """Messages name types as Python does for the same program."""
    for run in (function, adjoint.jit(function)):
        with pytest.raises(kind, match=text):
            run(Tensor([1.0, 2.0]))
