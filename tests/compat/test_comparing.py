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


def example(text: str, platforms: str = "Ascend CPU") -> dict[str, Any]:
    return {"name": "ops.relu", "text": text, "raises": [], "of": "examples", "given": {}, "platforms": platforms.split()}


def printed(*texts: str, forms: Any = (), **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"statements": [{"line": i, "text": text, "forms": list(forms)} for i, text in enumerate(texts)], **more}
    return found | ({} if "error" in more else {"again": {"statements": found["statements"]}})


REFUSED = {"error": {"error": ["TypeError"], "text": "no", "line": 1}}
F32 = [["Float32", [2]]]


@pytest.mark.parametrize("ours, theirs, kind", [
    (printed("[1. 2.]"), printed("[1.  2. ]\n"), "the same"),
    (printed("[0.30000001]"), printed("[0.3]"), "the same"),
    (printed("3.33e-01 1.0"), printed("0.3334 1"), "the same"),
    (printed("[0.31]"), printed("[0.33]"), "differs"),
    (printed("(2, 3)"), printed("(2, 4)"), "differs"),
    (printed("[1. 2.]"), printed("[1. nan]"), "differs"),
    (printed("conv1 [1]"), printed("conv2 [1]"), "differs"),
    (printed("[1. 2.]", forms=F32), printed("[1. 2.]", forms=[["Float64", [2]]]), "differs"),
    (printed("[0.1 0.2]", forms=F32), printed("[0.3 0.4]", forms=F32) | {"again": printed("[0.5 0.6]", forms=F32)}, "the same"),
    (printed("[0.1]", forms=[["Float32", [1]]]), printed("[0.3 0.4]", forms=F32) | {"again": printed("[0.5 0.6]", forms=F32)}, "differs"),
    (printed("a"), printed("a", "b"), "differs"),
    (printed("0.5", forms=[["float", []]]), printed("0.5", forms=[["numpy float64", []]]), "the same"),
    (printed(**REFUSED), printed("1"), "raises"),
    ({"crashed": "SIGKILL"}, printed("1"), "raises"),
    (printed(error={"error": ["AttributeError"], "text": "adjoint has no 'x' in 'mindspore.ops'.", "line": 1}), printed("1"), "missing"),
    (printed("1"), printed(error={"error": ["RuntimeError"], "text": "The kernel X unregistered on Ascend", "line": 1}), "device"),
    (printed("1"), printed(error={"error": ["FileNotFoundError"], "text": "no such file", "line": 1}), "fails"),
])
def test_verdicts_of_examples(ours: Any, theirs: Any, kind: str) -> None:
    agreement = importlib.import_module("agreement")
    assert agreement.verdict(example("..."), ours, theirs).kind == kind


def test_tensors_of_an_example_that_prints_nothing_are_compared() -> None:
    agreement = importlib.import_module("agreement")
    kept, other = ({"statements": [], "left": {"x": {"text": text, "forms": F32}}} for text in ("[1. 2.]", "[1. 3.]"))
    assert agreement.verdict(example("x = 1"), kept, kept | {"again": kept}).kind == "the same"
    assert agreement.verdict(example("x = 1"), kept, other | {"again": other}).kind == "differs"


def test_examples_run_in_processes_of_their_own(tmp_path: Path) -> None:
    """What statements print, in order, with dtypes and shapes; an exception, a crash; functions under jit, whose source is read."""
    running = importlib.import_module("running")
    texts = (
        "from mindspore import ops, Tensor\nx = Tensor([1.0, -2.0])\nprint(ops.relu(x), 'text')\nx.shape\n",
        "from mindspore import jit\n@jit\ndef double(x):\n    return x * 2\nfor i in range(2):\n    print(double(Tensor([i])))\n",
        "y = ms.ops.zeros((2, 1))\n",
        "print(1)\nms.ops.no_such_name\nprint(2)\n",
        "__import__('os').kill(__import__('os').getpid(), 9)\n",
    )
    interpreter = running.Interpreter(sys.executable, "ours", tmp_path, False, "performing.py")
    shown, jitted, silent, refused, crashed = interpreter.answer([example(text) for text in texts])
    assert shown["statements"] == [
        {"line": 3, "text": "[1. 0.] text\n", "forms": [["Float32", [2]], ["str", []]]},
        {"line": 4, "text": "(2,)\n", "forms": [["int", []]]},
    ]
    assert [found["text"] for found in jitted["statements"]] == ["[0]\n[2]\n"]
    assert silent == {"statements": [], "left": {"y": {"forms": [["Float32", [2, 1]]], "text": "[[0.]\n [0.]]"}}}
    assert [found["text"] for found in refused["statements"]] == ["1\n"] and refused["error"]["line"] == 2
    assert crashed == {"crashed": "SIGKILL"}


def test_what_the_page_calls_the_same_is_here() -> None:
    here = importlib.import_module("agreement").is_here
    found = json.loads((TOOLS.parents[1] / "docs" / "examples.json").read_text(encoding="utf-8"))
    names = [(place, name.partition(" (")[0]) for place, listed in found["names"]["the same"].items() for name in listed.split(", ")]
    missing = [f"{place}.{name}" for place, name in names if not here(name if place == "mindspore" else f"{place}.{name}")]
    assert len(names) == found["counts"]["the same"] > 1000 and not missing, ", ".join(missing)
    assert not here("ops.no_such_name") and not here("Tensor.no_such_method") and not here("mindrecord.MindPage.read_category_info")
