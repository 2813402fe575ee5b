"""The schedule is the one place that says which passes run: other packages take them from it, and each of its rows is used."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adjoint
from adjoint.ir.core import Value, walk
from adjoint.ir.parse import parse_module
from adjoint.passes import schedule
from adjoint.passes.activity import differentiable
from adjoint.passes.batch import depending
from adjoint.passes.manager import Pass, passes
from adjoint.passes.optimising import optimised_alike, parameters_among, why_not_alike
from adjoint.passes.order import calls_python, reads_survive, reads_what_it_writes
from adjoint.passes.reads import read_by_gradient
from adjoint.passes.schedule import FUSED, LIFTED_GRADIENT, PARTS, SCHEDULES, SIZED

PACKAGE = Path(adjoint.__file__).parent
DECIDING = {optimised_alike, why_not_alike, parameters_among, reads_survive, reads_what_it_writes, calls_python, depending, differentiable,
            read_by_gradient}
"""What is asked, and what runs a schedule as far as it decides that."""


def taken() -> Iterator[tuple[str, str, Any]]:
    """Yield what is imported from the passes, with the file and the module: in other packages, and in the modules of passes that decide."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if (path.parent.name == "passes" and path.stem != "optimising") or path.parent.name == "testing":
            continue  # `testing` checks single passes, as the tests do
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text if "adjoint.passes" in text else "")
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adjoint.passes"):
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                for each in node.names:
                    if node.module == "adjoint.passes":
                        module = f"adjoint.passes.{each.name}"
                        names = [used.attr for used in ast.walk(tree) if isinstance(used, ast.Attribute)
                                 and isinstance(used.value, ast.Name) and used.value.id == (each.asname or each.name)]
                    else:
                        module, names = str(node.module), [each.name]
                    yield from ((place, module, getattr(importlib.import_module(module), name)) for name in names)


def test_other_packages_take_passes_from_the_schedule() -> None:
    allowed = {*DECIDING, *(part.function for part in PARTS)}
    wrong: list[str] = []
    for place, module, found in taken():
        if inspect.isclass(found) and issubclass(found, Pass) and found is not Pass:
            wrong.append(f"{place} imports the pass {found.name}: take a Schedule")
        elif inspect.isfunction(found) and found not in allowed and not place.startswith("passes/") and not module.endswith(".rebuild"):
            wrong.append(f"{place} imports {found.__name__}: take a Schedule, or add a LoneStep")
    assert not wrong


def test_each_row_is_used() -> None:
    used = [found for _, _, found in taken()]
    assert [each.purpose for each in SCHEDULES if each not in used] == []
    assert [part.function.__name__ for part in PARTS if part.function not in used] == []
    named = [value for value in vars(schedule).values() if isinstance(value, schedule.Schedule)]
    assert named == list(SCHEDULES), "each schedule is a row of the table"


@pytest.mark.parametrize("each", SCHEDULES, ids=lambda each: each.purpose)
def test_its_text_is_what_runs(each: schedule.Schedule) -> None:
    assert str(each.pipeline()) == each.passes
    assert all(type(step) is passes()[step.name] for step in each.pipeline().passes)


def test_an_option_goes_to_the_pass_that_has_it() -> None:
    made = LIFTED_GRADIENT.pipeline(symbols=("@w",), wrt=("x", "w"), of="f")
    assert str(made) == "lift-state{symbols=[@w]},grad{wrt=[x, w], of=f},dce"
    with pytest.raises(TypeError, match="none of the passes expand,choices,bundle,unroll,fuse has the option wrt"):
        FUSED.pipeline(wrt=("x",))


def test_a_function_alone() -> None:
    module = parse_module("func @f(x: f32[n]) -> f32[n] {\n  a: f32[n] = tanh(x)\n  b: f32[n] = exp(a)\n  return b\n}\n")
    function = SIZED.on(module.functions["f"], sizes=["n:4"])
    assert [str(x.type) for x in function.body.results if isinstance(x, Value)] == ["f32[4]"]
    asked: list[str] = []
    assert FUSED.on(function, accept=lambda node: bool(asked.append(node.op.name))) is function and asked == ["fused"]
    assert [node.op.name for node in walk(FUSED.on(function).body)] == ["fused", "tanh", "exp"]
