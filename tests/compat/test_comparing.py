"""The tool that compares with MindSpore: what counts as equal, and that it continues after a call that ends the process."""

from __future__ import annotations

import base64
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "compare"
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module", autouse=True)
def tools() -> Any:
    sys.path.insert(0, str(TOOLS))
    yield
    sys.path.remove(str(TOOLS))


def answer(values: Any, dtype: str = "float32", **more: Any) -> dict[str, Any]:
    array = np.array(values, dtype)
    leaf = {"dtype": dtype.capitalize(), "shape": list(array.shape), "bytes": base64.b64encode(array.tobytes()).decode(), "as": dtype}
    return {"result": [leaf], "written": {}, **more}


def error(*kinds: str) -> dict[str, Any]:
    return {"error": list(kinds), "text": "no"}


ONE = answer([1.0])["result"]


@pytest.mark.parametrize("ours, theirs, kind", [
    (answer([1.0, NAN]), answer([1.0, NAN]), "equal"),
    (answer([0.0]), answer([-0.0]), "values"),
    (answer([1.0]), answer([1.0 + 2**-22]), "rounding"),
    (answer([1.0, 1e-9]), answer([1.0, 2e-9]), "rounding"),
    (answer([1.0, 1e-3]), answer([1.0, 2e-3]), "values"),
    (answer([1.0]), answer([NAN]), "values"),
    (answer([INF]), answer([-INF]), "values"),
    (answer([3e38]), answer([INF]), "values"),
    (answer([]), answer([]), "equal"),
    (answer([1]), answer([1], "int32"), "dtype"),
    (answer([1.0]), answer([[1.0]]), "shape"),
    (answer([1.0], gradients=[ONE]), answer([1.0], gradients=[answer([2.0])["result"]]), "gradients"),
    (answer([1.0], gradients=[ONE]), answer([1.0], gradients=[[error("TypeError")]]), "refused there"),
    (answer([1.0]), answer([1.0], written={"x": ONE[0]}), "values"),
    (error("IndexMistake", "IndexError", "RuntimeError"), error("RuntimeError"), "equal"),
    (error("ValueError"), error("TypeError"), "error"),
    (error("ValueError"), answer([1.0]), "refused here"),
    (answer([1.0]), {"crashed": "SIGSEGV"}, "crashed there"),
    (answer([1.0]), {"absent": "ops.mod"}, "absent there"),
    (answer([1.0]), answer([2.0], unsteady=True), "unsteady"),
])
def test_how_two_answers_compare(ours: dict[str, Any], theirs: dict[str, Any], kind: str) -> None:
    assert importlib.import_module("judging").judged(ours, theirs).kind == kind


def test_random_results_are_compared_by_form_only() -> None:
    judged = importlib.import_module("judging").judged
    assert judged(answer([1.0]), answer([2.0]), of_chance=True).kind == "drawn"
    assert judged(answer([1.0]), answer([2]), of_chance=True).kind == "drawn"
    assert judged(answer([1.0]), answer([2], "int64"), of_chance=True).kind == "dtype"


def test_calls_behind_one_that_ends_the_process_are_answered(tmp_path: Path) -> None:
    """Values, gradients, an exception, a crash; recorded answers are not requested again."""
    running = importlib.import_module("running")
    crash = "__import__('os').kill(__import__('os').getpid(), 9)"
    texts = ("ops.mul(x, x)", crash, "ops.relu('a')", "ops.no_such_name(x)", "ops.assign(parameter, row)")
    calls = [{"text": text, "of": "entries", "given": {"x": "ties"} if "mul" in text else {}, "kind": "right"} for text in texts]
    interpreter = running.Interpreter(sys.executable, "ours", tmp_path, compiler=False)
    product, crashed, refused, absent, assigned = interpreter.answer(calls)
    leaf, gradient = product["result"][0], product["gradients"][0][0]
    numbers, slopes = (np.frombuffer(base64.b64decode(x["bytes"]), "f4") for x in (leaf, gradient))
    assert (leaf["dtype"], leaf["shape"]) == ("Float32", [2, 3]) and numbers.tolist() == [1.0] * 6
    assert gradient["shape"] == [2, 3] and slopes.min() >= 1.0
    assert crashed == {"crashed": "SIGKILL"} and refused["error"][0] == "TypeError" and absent == {"absent": "ops.no_such_name"}
    assert assigned["result"][0]["dtype"] == "Float32"
    kept = interpreter.answers.read_text(encoding="utf-8")
    assert len(kept.splitlines()) == len(calls) and all(set(json.loads(line)) == {"key", "answer"} for line in kept.splitlines())
    interpreter.answer(calls)
    assert interpreter.answers.read_text(encoding="utf-8") == kept
