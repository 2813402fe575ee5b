"""Mutated texts: each is a module that can be printed, differentiated and run, or produces a diagnostic."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meaning import Observed, inputs

from adjoint.foundation.diagnostics import CompileError, InternalError, user_place
from adjoint.ir.core import Module, Node
from adjoint.ir.op import NotDifferentiable, Op, registry
from adjoint.ir.parse import parse_module
from adjoint.ir.print import print_module
from adjoint.ir.types import DTYPES, TensorType
from adjoint.ir.verify import verify_module
from adjoint.passes.manager import Pipeline

FILE = "mutated.ir"
TEXTS = [
    part
    for path in sorted((Path(__file__).parent.parent / "golden").rglob("*.ir"))
    for part in re.split(r"^# EXPECT.*\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if "func" in part
]
WORD = re.compile(r"\s+|[\w.']+|.")
WORDS = sorted({*registry(), *DTYPES, *(word for text in TEXTS for word in WORD.findall(text) if not word.isspace())})
NUMBERS = ["-1", "0", "1", "2", "3", "5", "9" * 19, "9" * 30, "1.5", "1e999", "true", "none", "[0]", '"x"', "f32[b]", "0_i64", "nan_f32"]
PIPELINES = [
    "grad,simplify,cse,dce",
    "pair,dce",
    "differentiate,lift-state,inline{cells=true},simplify,cse,dce",
    "lift-state,grad,dce,grad,simplify",
]
ELEMENTS = 10_000
"""The most that a result may hold to be computed."""


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A golden text with some words or lines changed."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        lines, words = text.split("\n"), WORD.findall(text)
        there = [i for i, word in enumerate(words) if not word.isspace()]
        kind = draw(st.sampled_from(["delete line", "repeat line", "swap lines", "delete", "replace", "insert", "dtype", "number", "name"]))
        if "line" in kind or not there:
            one, two = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            match kind:
                case "delete line":
                    del lines[one]
                case "repeat line":
                    lines.insert(two, lines[one])
                case _:
                    lines[one], lines[two] = lines[two], lines[one]
            text = "\n".join(lines)
            continue
        where = {"dtype": r"[bfiu]\w+", "number": r"\d+", "name": r"[a-z][\w.']*"}.get(kind, r".+")
        places = [i for i in there if re.fullmatch(where, words[i]) and (kind != "dtype" or words[i] in DTYPES)] or there
        place = draw(st.sampled_from(places))
        match kind:
            case "delete":
                del words[place]
            case "insert":
                words.insert(place, draw(st.sampled_from(WORDS)))
            case "dtype":
                words[place] = draw(st.sampled_from(sorted(DTYPES)))
            case "number":
                words[place] = draw(st.sampled_from(NUMBERS))
            case "name":
                words[place] = words[draw(st.sampled_from(places))]
            case _:
                words[place] = draw(st.sampled_from(WORDS))
        text = "".join(words)
    return text


@settings(max_examples=150, deadline=None)
@given(mutated())
def test_a_mutated_text_is_a_module_or_a_diagnostic(text: str) -> None:
    try:
        module = parse_module(text, FILE)
    except CompileError as error:
        check_diagnostic(error)
        return
    try:
        verify_module(module)
    except CompileError as error:
        # A text may say itself that a node comes from elsewhere; then that place is shown, and the text under it.
        assert user_place(error.diagnostic.loc) is not None, str(error)
        assert "^" in str(error)
        return
    check_round_trip(module)
    for pipeline in PIPELINES:
        try:
            after = Pipeline.parse(pipeline).run(module)
        except (CompileError, NotDifferentiable) as error:
            assert isinstance(error, CompileError) and error.diagnostic.code in str(error)
            continue
        verify_module(after)
        check_round_trip(after)
    run_all(module)


def check_diagnostic(error: CompileError) -> None:
    """Check that it shows file, line, column and a caret under the line of the text."""
    place = user_place(error.diagnostic.loc)
    assert place is not None and place.file == FILE
    shown = str(error)
    assert f"  --> {FILE}:{place.line}:{place.column}\n" in shown
    assert re.search(r"^ +\| +\^", shown, re.MULTILINE), shown


def check_round_trip(module: Module) -> None:
    for locations in (True, False):
        text = print_module(module, locations)
        assert print_module(parse_module(text), locations) == text


class Bounded(Observed):
    """Stops at large results; calls and loops that do not end are stopped too."""

    def __init__(self, module: Module, state: dict[str, Any]):
        super().__init__(module, state, 1.5)

    def execute(self, node: Node, op: Op, operands: Sequence[Any]) -> Sequence[Any]:
        for value in node.results:
            type_ = self.sized(value.type)
            if isinstance(type_, TensorType) and math.prod(type_.sizes) > ELEMENTS:
                pytest.skip("too large")
        return super().execute(node, op, operands)


def run_all(module: Module) -> None:
    """Run every function on random inputs: it returns results of the stated types, or says what is wrong with the inputs."""
    try:
        module = Pipeline.parse("differentiate").run(module)
    except CompileError:
        return
    for function in module.functions.values():
        types = [*(param.type for param in function.params), *module.params.values()]
        if any(isinstance(t, TensorType) and math.prod(d for d in t.shape if isinstance(d, int)) > ELEMENTS for t in types):
            continue
        given_ = inputs(function, module, (-2.0, 2.0), 0)
        try:
            results = Bounded(module, given_[1]).call(function, given_[0])
        except (ValueError, TypeError, IndexError) as error:
            assert re.match(r"For '\w+', the argument '\w+' must be ", str(error)) or "where" in str(error), repr(error)
        except InternalError as error:
            assert "pop of an empty stack" in str(error)  # nobody but the text can know how much it has pushed
        except AssertionError as error:
            assert "does not end" in str(error)
        except RecursionError:
            assert "call" in print_module(module)
        else:
            assert len(results) == len(function.result_types)
