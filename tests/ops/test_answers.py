"""Values, gradients, exceptions and dtypes are those that MindSpore answers, but for the exceptions named here with their reasons."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from asked import agree, answered, evaluated, recorded

import adjoint
from adjoint import Tensor

GRADIENTS = recorded("gradients")
ERRORS = recorded("errors")
PROMOTION = recorded("promotion")
TEXTS = recorded("repr")

NAN_IS_KEPT = "a NaN is not lost"
FAULT = "listed among MindSpore's faults in tests/oracle/README.md"
SATURATED = "a float beyond an integer's range becomes its nearest end, NaN becomes 0"
CONTINUOUS = "the probability 0 of a certain class has a finite gradient"
FLAT = "the gradient of a length, a deviation or an angle without a direction is 0, as in PyTorch, not NaN"
LOGITS, SHARES = "Tensor([[1.0, 2.0, 3.0], [0.5, 0.1, 0.2]], {})", "Tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], {})"
WIDE, HALF = SHARES.format("ms.float32"), SHARES.format("ms.float16")

DIFFERENT = {
    f"str(ops.binary_cross_entropy_with_logits({LOGITS.format('ms.float32')}, {HALF}, {WIDE}, {WIDE}).dtype)":
        "the dtype of logits and target together, not the target's",
    "grads(lambda x: ops.norm(x), f32([0.0, 0.0]))": FLAT,
    "grads(lambda x: ops.std(x), f32([2.0, 2.0]))": FLAT,
    "grads(lambda x, y: ops.atan2(x, y), f32([0.0, 0.0, 1.0]), f32([0.0, -1.0, 0.0]))": FLAT,
    "grads(lambda x: ops.abs(x), f32([-1.0, -0.0, 0.0, 2.0, nan]))": NAN_IS_KEPT,
    "grads(lambda x, y: x ** y, i32([2, 3]), i32([3, 0]))": "a kernel that MindSpore lacks",
    "grads(lambda x: ops.ReduceProd()(x), f32([2.0, 0.0, 3.0]))": FAULT,
    "grads(lambda x: ops.ReduceProd()(x), f32([2.0, 0.0, 0.0]))": FAULT,
    "grads(lambda x: ops.ReduceProd()(x), f32([2.0, 4.0, 3.0]))": FAULT,
    "grads(lambda x: ops.cumprod(x, 0), f32([2.0, 0.0, 3.0]))": "the product of the others, not the result divided by the element",
    "grads(lambda x: ops.cast(x, ms.int32), f32([1.5, 2.5]))": FAULT,
    "grads(lambda x: ops.cast(x, ms.int32) * 2, f32([1.5, 2.5]))": FAULT,
    "grads(lambda x: ops.cast(ops.cast(x, ms.int32), ms.float32) * x, f32([1.5, 2.5]))": FAULT,
    "grads(lambda x: ops.cast(x, ms.bool_), f32([1.5, 0.0]))": FAULT,
    "grads(lambda x: x / 2, i32([1, 2]))": FAULT,
    "grads(lambda x: ops.sqrt(x), i32([1, 4]))": "the gradient has the operand's dtype",
    "grads(lambda x, y: x * y, Tensor([2, 3], ms.bool_), Tensor([4, 5], ms.bool_))": "bools have no gradient",
    "grads(lambda x, y: ops.binary_cross_entropy(x, y), f32([0.0, 0.5, 1.0]), f32([0.0, 1.0, 0.0]))": CONTINUOUS,
    "ops.maximum(f32([nan, 1.0]), f32([1.0, nan]))": FAULT,
    "ops.minimum(f32([nan, 1.0]), f32([1.0, nan]))": FAULT,
    "ops.relu(f32([nan, -0.0, -1.0]))": NAN_IS_KEPT,
    "ops.clamp(f32([nan, 2.0]), -1.0, 1.0)": NAN_IS_KEPT,
    "ops.ReduceMax()(f32([1.0, nan]))": FAULT,
    "ops.argmax(f32([1.0, nan, 2.0]))": "NaN counts as the largest, as in NumPy",
    "ops.sign(f32([nan, -0.0, -3.0]))": NAN_IS_KEPT,
    "ops.softmax(f32([inf, 1.0]))": NAN_IS_KEPT,
    "ops.softmax(f32([-inf, -inf]))": NAN_IS_KEPT,
    "ops.cast(f32([1.9, -1.9, nan, inf, 3e9]), ms.int32)": SATURATED,
    "ops.cast(f32([300.0, -1.0]), ms.uint8)": SATURATED,
    "ops.full((2,), 3.5)": FAULT,
}
SECTIONS = ("kinks", "powers", "ties", "choices", "dtype changes", "products", "losses", "mixed dtypes", "extremes", "schedules", "cells",
            "values")
ANSWERS = [
    pytest.param(expression, wanted, id=expression)
    for section in SECTIONS
    for expression, wanted in GRADIENTS[section].items()
    if expression not in DIFFERENT and wanted != "unstable"
]


@pytest.mark.parametrize(("expression", "wanted"), ANSWERS)
def test_values_and_gradients(expression: str, wanted: Any) -> None:
    if isinstance(wanted, dict) and "error" in wanted:
        with pytest.raises(Exception) as caught:
            evaluated(expression)
        assert wanted["error"] in [kind.__name__ for kind in type(caught.value).__mro__]
    else:
        got = answered(expression)
        assert agree(wanted, got), got


def test_the_list_of_differences_is_of_use() -> None:
    """An entry that names no fact, or one we agree with by now, has to go."""
    known = {expression: wanted for section in SECTIONS for expression, wanted in GRADIENTS[section].items()}
    for expression in DIFFERENT:
        try:
            got = answered(expression)
        except Exception as problem:
            got = {"error": type(problem).__name__}
        assert not agree(known[expression], got), expression


ACCEPTED_HERE = {
    "f32([1.0]) + np.ones(1, np.float32)": "a NumPy array counts as a tensor",
    "ops.concat((f32([1.0]), i32([1])))": "dtypes are brought together as in arithmetic",
    "Tensor([1], float)": "any name of a dtype is taken",
    "Tensor([1], 'float32')": "any name of a dtype is taken",
    "Tensor([1], np.float32)": "any name of a dtype is taken",
}
OTHERWISE = {
    "Tensor()": "ValueError: what is missing is said",
    "Tensor(None)": "ValueError: what is missing is said",
    "Tensor([[1], [1, 2]])": "ValueError, as in NumPy",
    "Tensor(2 ** 70)": "OverflowError, as in NumPy",
    "[0, 1][Tensor(1.0)]": "TypeError, as Python has it",
}
MISTAKES = [
    pytest.param(expression, wanted["error"], id=expression)
    for section in ("tensors", "operators", "ops")
    for expression, wanted in ERRORS[section].items()
    if isinstance(wanted, dict) and "error" in wanted and expression not in ACCEPTED_HERE and expression not in OTHERWISE
]


@pytest.mark.parametrize(("expression", "kind"), MISTAKES)
def test_mistakes_raise_what_mindspore_raises(expression: str, kind: str) -> None:
    """The type, or one that is of that type too; a message; and the next call works."""
    with pytest.raises(Exception) as caught:
        evaluated(expression)
    assert kind in [found.__name__ for found in type(caught.value).__mro__], repr(caught.value)
    assert str(caught.value)
    assert answered("ops.add(f32([1.0]), 2)") == {"float32": [3.0]}


SYMBOLS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "<": operator.lt, "==": operator.eq,
}
NUMBERS: dict[str, Any] = {"True": True, "2": 2, "1.5": 1.5}


def ones(dtype: str, shape: tuple[int, ...] = (2,)) -> Tensor:
    return Tensor(np.ones(shape), dtype=getattr(adjoint, "bool_" if dtype == "bool" else dtype))


def check_dtype(symbol: str, names: tuple[str, str], operands: tuple[Any, Any], wanted: str) -> None:
    if ":" not in wanted:
        result = SYMBOLS[symbol](*operands)
        assert str(result.dtype).lower() == wanted, (symbol, names)
    elif symbol in "+-" and "Type implicit conversion" in wanted and not set(names) & NUMBERS.keys():
        with pytest.raises(TypeError):
            SYMBOLS[symbol](*operands)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_dtypes_of_two_tensors(symbol: str) -> None:
    for left, row in PROMOTION[f"tensor {symbol} tensor"].items():
        for right, wanted in row.items():
            check_dtype(symbol, (left, right), (ones(left), ones(right)), wanted)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_dtypes_of_a_tensor_and_a_number(symbol: str) -> None:
    for form, row in PROMOTION[f"number {symbol} tensor"].items():
        left, right = form.split()
        for dtype, wanted in row.items():
            if left == "{}":
                check_dtype(symbol, (dtype, right), (ones(dtype), NUMBERS[right]), wanted)
            else:
                check_dtype(symbol, (left, dtype), (NUMBERS[left], ones(dtype)), wanted)


def test_a_tensor_without_dimensions_counts_like_any_other() -> None:
    for left, row in PROMOTION["0-d tensor + 1-d tensor"].items():
        for right, wanted in row.items():
            check_dtype("+", (left, right), (ones(left, ()), ones(right)), wanted)


@pytest.mark.parametrize("section", ["division", "overflow", "number out of range"])
def test_integers_divide_and_wrap_as_there(section: str) -> None:
    """Signs of quotients and rests; sums and numbers beyond a dtype's range."""
    for expression, wanted in PROMOTION[section].items():
        if isinstance(wanted, str):
            continue
        if expression == "uint8 + -1":
            continue  # a number of 255: the sum wraps to 0, as recorded, but that is checked by the next
        got = _arithmetic(section, expression)
        assert [str(got.dtype).lower(), *map(str, got.asnumpy().reshape(-1).tolist())] == wanted, expression


def _arithmetic(section: str, expression: str) -> Tensor:
    if section == "division":
        dtype, symbol = expression.split()
        pairs = PROMOTION["numerators and denominators"]
        left, right = (Tensor(list(side), dtype=getattr(adjoint, dtype)) for side in zip(*pairs, strict=True))
        return SYMBOLS[symbol](left, right)
    words = expression.split()
    if section == "number out of range":
        return ones(words[0]) + (float(words[2]) if "." in words[2] else int(words[2]))
    if words[0] == "-":
        return -Tensor([int(words[2])], getattr(adjoint, words[1]))
    dtype = getattr(adjoint, words[0])
    return SYMBOLS[words[2]](Tensor([int(words[1])], dtype), Tensor([int(words[3])], dtype))


@pytest.mark.parametrize(
    ("expression", "wanted"), [(e, w["repr"]) for e, w in TEXTS["cells"].items() if e.startswith("ops.") and "Prim[" in w["repr"]])
def test_texts_of_primitives(expression: str, wanted: str) -> None:
    assert repr(evaluated(expression)) == str(evaluated(expression)) == wanted


@pytest.mark.parametrize(
    ("expression", "wanted"), [(e, w) for e, w in TEXTS["names"].items() if hasattr(adjoint, e.removeprefix("ms.")) and "dtype" not in e])
def test_texts_of_dtypes(expression: str, wanted: dict[str, str]) -> None:
    value = evaluated(expression)
    assert {"str": str(value), "repr": repr(value)} == wanted
