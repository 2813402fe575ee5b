"""`adjoint.numpy`: results, dtypes and exceptions are those that MindSpore recorded, values are NumPy's, gradients are right in every mode.

The calls are those of `tests/oracle/array_calls.py`, made by `array_answers.py`.  What differs is listed here with its reason.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from types import FunctionType
from typing import Any

import array_answers
import numpy as np
import pytest
from asked import agree, recorded

import adjoint as ms
import adjoint.numpy as mnp
from adjoint import Tensor

FACTS = recorded("numpy")["calls"]
INTEGERS = r"of\('(bool_|u?int\d+)'\)"
MORE = "MindSpore's kernels take fewer dtypes than its manual says"
PRECISE = "Float64 stays such, where MindSpore goes through Float32"

DIFFERENT = {
    rf"mnp\.(log|log1p|log2|log10|exp|expm1|floor|rint|around)\({INTEGERS}\)": MORE,
    r"mnp\.(invert|ptp|amax|amin|nanmax|nanmin|count_nonzero)\(of\('bool_'\)\)": MORE,
    r"mnp\.(hypot|logaddexp|logaddexp2|dot|inner|outer|matmul|correlate)\(of\('(\w+)'\), of\('(?!\2')\w+', .*": MORE,
    r"mnp\.logaddexp2?\(of\('int32'\), of\('int32', .*": MORE,
    r"mnp\.(multiply|logaddexp2?)\(of\('\w+'\), [\d.]+\)": MORE,
    r"mnp\.(ceil|fix|trunc|nanstd|nanvar|trapz|cov)\(of\('float64'\)\)|mnp\.float_power\(of\('float64'\), .*": PRECISE,
    r"mnp\.(sum|cumsum)\(.*'float32'\)": "a name is a dtype in every function",
    r"mnp\.(divmod\(\[7, -7\]|searchsorted\(\[3, 1, 2\]).*": "a list is an array for every function",
    r"mnp\.add\(of\('int8'\), of\('uint8', .*": "MindSpore subtracts the negative, which UInt8 lacks",
    r"mnp\.(gcd|lcm)\(.*float.*\)|mnp\.(gcd|lcm)\(of\('int32'\), 2.5\)": "divisors are of integers",
    r"mnp\.divmod\(of\('float16'\), 2\.5\)": "both results have one dtype",
}
"""Regular expressions of calls among which some have other answers than MindSpore's, and why."""

UNLIKE_NUMPY = {
    r"mnp\.(indices|hstack\(a|unravel_index\(4, 6).*": "the form of the result is MindSpore's",
    r"mnp\.unique\(.*": "the order is that of the elements, as in MindSpore",
    r"mnp\.isin\(whole, \[1, 2\], True\)": "the third argument is `invert`",
    r"mnp\.(select|maximum|minimum)\(.*[27]\.5.*\)|mnp\.clip\(whole, 1\.5, None\)|mnp\.mean\(\[1, 2, 4\]\)|"
    r"mnp\.(nansum|trapz)\(of\('bool_'\)\)":
        "the result has the dtype of the array, as in MindSpore; `trapz`, which NumPy 2.4 has no more, adds bools as numbers",
}
"""Regular expressions of calls among which some have other values than NumPy's, and why."""

OF_DTYPES = r"mnp\.((promote|result)_type.*|(int_|uint|float_).*|array_str.*|empty\(.*)"
"""Calls whose results are no numbers, or any numbers."""

STEPWISE = ("floor_divide", "rint", "around", "bincount", "histogram")
"""Functions whose results are Float32 or have jumps near by: their gradients are compared between modes alone."""


def without_compiler(script: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a script of `tests/ops` writes, in a process that finds no compiler."""
    nowhere = tmp_path_factory.mktemp("nowhere")
    (nowhere / "ziglang.py").write_text("raise ImportError\n")
    settings = {"PATH": str(nowhere), "PYTHONPATH": os.pathsep.join([str(nowhere), *sys.path]), "ADJOINT_FORBID_INTERPRETER": "0"}
    environment = {name: value for name, value in os.environ.items() if name != "CC"} | settings
    done = subprocess.run([sys.executable, "-W", "ignore", script], capture_output=True, text=True, check=False, env=environment,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What our functions give, in a process that finds no compiler."""
    return without_compiler(array_answers.__file__, tmp_path_factory)


def function_of(expression: str) -> str:
    found = re.match(r"mnp\.(\w+)", expression)
    assert found is not None
    return found[1]


def grouped(expressions: Any) -> dict[str, list[str]]:
    """The expressions by the function that they call."""
    groups: dict[str, list[str]] = {}
    for expression in expressions:
        groups.setdefault(function_of(expression), []).append(expression)
    return groups


FACTS_OF, EXPRESSIONS_OF = grouped(FACTS), grouped(array_answers.EXPRESSIONS)


def is_listed(expression: str, listed: dict[str, str]) -> bool:
    return any(re.fullmatch(pattern, expression) for pattern in listed)


def is_as_mindspore(expression: str, got: Any) -> bool:
    wanted = FACTS[expression]
    if isinstance(wanted, dict) and "error" in wanted:
        return isinstance(got, dict) and wanted["error"] in got.get("error", [])
    return agree(wanted, got, 2e-3 if "float16" in expression or "half" in expression else 1e-5)


def test_the_facts_are_of_these_calls() -> None:
    assert list(FACTS) == list(dict.fromkeys(array_answers.array_calls.expressions()))


def test_every_function_is_called() -> None:
    functions = {name for name in mnp.__all__ if isinstance(getattr(mnp, name), FunctionType)}
    synonyms = {"abs", "bitwise_not", "fabs", "max", "min", "mod", "radians", "round", "true_divide"}
    drawn = {"rand", "randint", "randn"}
    assert functions - {function_of(e) for e in (*FACTS, *array_answers.EXPRESSIONS)} == (synonyms | drawn) - FACTS_OF.keys()


@pytest.mark.parametrize("name", FACTS_OF)
def test_results_and_exceptions_are_as_in_mindspore(name: str, given: dict[str, Any]) -> None:
    calls = [e for e in FACTS_OF[name] if not re.fullmatch(r"mnp\.((promote|result)_type.*|float_|int_|uint)", e)]
    wrong = {e: given["mindspore"][e] for e in calls if not is_as_mindspore(e, given["mindspore"][e]) and not is_listed(e, DIFFERENT)}
    assert wrong == {}


@pytest.mark.parametrize("name", FACTS_OF)
def test_values_are_those_of_numpy(name: str, given: dict[str, Any]) -> None:
    calls = [e for e in FACTS_OF[name] if not re.fullmatch(OF_DTYPES, e)]
    assert [e for e in calls if given["numpy"][e] is False and not is_listed(e, UNLIKE_NUMPY)] == []


def test_the_lists_of_what_differs_are_of_use(given: dict[str, Any]) -> None:
    for pattern in DIFFERENT:
        assert any(re.fullmatch(pattern, e) and not is_as_mindspore(e, given["mindspore"][e]) for e in FACTS), pattern
    for pattern in UNLIKE_NUMPY:
        assert any(re.fullmatch(pattern, e) and given["numpy"][e] is False for e in FACTS), pattern


@pytest.mark.parametrize("name", EXPRESSIONS_OF)
def test_gradients_are_slopes_and_have_the_same_bits_in_a_graph(name: str, given: dict[str, Any]) -> None:
    for expression in EXPRESSIONS_OF[name]:
        assert given["graphs"][expression] is True, expression
        if name not in STEPWISE:
            slope, difference = given["slopes"][expression]
            assert slope == pytest.approx(difference, rel=2e-6, abs=2e-6), expression


# What no list tells --------------------------------------------------------------------------------------------------


def test_drawn_numbers() -> None:
    ms.set_seed(5)
    drawn = [mnp.rand(2, 3), mnp.rand((2, 3), dtype="float16"), mnp.randn(1000), mnp.randint(2, 5, (100,)), mnp.randint(4)]
    assert [(x.dtype, x.shape) for x in drawn] == [
        (ms.float32, (2, 3)), (ms.float16, (2, 3)), (ms.float32, (1000,)), (ms.int32, (100,)), (ms.int32, (1,))]
    assert set(drawn[3].tolist()) == {2, 3, 4}
    ms.set_seed(5)
    np.testing.assert_array_equal(mnp.rand(2, 3).asnumpy(), drawn[0].asnumpy())


def test_derivatives_of_the_second_order_where_both_are_equal() -> None:
    # Of log(exp(x) + exp(y)) the second derivative by x is s (1 - s), s = 1/2 where they are equal.
    x = Tensor([1.0, -3.0], ms.float64)
    slope = ms.grad(mnp.logaddexp)
    np.testing.assert_allclose(slope(x, x).asnumpy(), 0.5)
    np.testing.assert_allclose(ms.grad(lambda t: slope(t, x))(x).asnumpy(), 0.25)


def test_numbers_at_the_ends() -> None:
    x = Tensor([1e-30, 1e19, -1e30, np.inf], ms.float32)
    np.testing.assert_allclose(mnp.arcsinh(x).asnumpy(), np.arcsinh(x.asnumpy()), rtol=2e-7)
    wide = Tensor([1e-300, 1e200, -1e300, np.inf], ms.float64)
    np.testing.assert_allclose(mnp.arcsinh(wide).asnumpy(), np.arcsinh(wide.asnumpy()), rtol=1e-15)
    above = Tensor([1.0, 1.0 + 1e-12, 1e200, 0.5, -2.0], ms.float64)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(mnp.arccosh(above).asnumpy(), np.arccosh(above.asnumpy()), rtol=1e-9)
    np.testing.assert_allclose(mnp.hypot(Tensor([3e30]), Tensor([4e30])).asnumpy(), [5e30], rtol=1e-6)
    ends = Tensor([-np.inf, np.inf, 1000.0], ms.float32)
    np.testing.assert_allclose(mnp.logaddexp(ends, ends).asnumpy(), np.logaddexp(ends.asnumpy(), ends.asnumpy()), rtol=1e-6)


def test_an_integer_beyond_32_bits_keeps_its_value() -> None:
    assert mnp.array(2**40).dtype is ms.int64 and mnp.array(2**40).item() == 2**40
    assert mnp.array([1, 2**40]).tolist() == [1, 2**40]
    assert mnp.full((2,), 2**40).tolist() == [2**40] * 2


def test_what_is_no_array_says_so() -> None:
    inside: list[Any] = []
    inside.append(inside)
    with pytest.raises(ValueError, match="contains itself"):
        mnp.array(inside)
    with pytest.raises(TypeError, match=re.escape("`mindspore.Tensor(array)`")):
        mnp.sum(np.ones(2))
    assert mnp.broadcast_arrays() == []


@pytest.mark.parametrize(("name", "hint"), [("sort", "ops.sort"), ("arrange", "arange")])
def test_a_missing_name_says_what_to_write(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(mnp, name)
