"""`adjoint.numpy`: results, dtypes and exceptions are those that MindSpore recorded, values are NumPy's, gradients are right in every mode.

The calls are those of `tests/oracle/array_calls.py`.  What differs is listed here with its reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asked import ORACLE, agree, answers, recorded

import adjoint as ms
import adjoint.numpy as mnp
from adjoint import Tensor

sys.path.insert(0, str(ORACLE))
array_calls = importlib.import_module("array_calls")
sys.path.remove(str(ORACLE))

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
    r"mnp\.(promote|result)_type.*|mnp\.(float_|int_|uint)": "the text of a dtype",
    r"mnp\.add\(of\('int8'\), of\('uint8', .*": "MindSpore subtracts the negative, which UInt8 lacks",
    r"mnp\.(gcd|lcm)\(.*float.*\)|mnp\.(gcd|lcm)\(of\('int32'\), 2.5\)": "divisors are of integers",
    r"mnp\.divmod\(of\('float16'\), 2\.5\)": "both results have one dtype",
}
"""Regular expressions of calls whose answers differ from MindSpore's, and why."""

UNLIKE_NUMPY = {
    r"mnp\.empty\(.*": "it is filled with zeros",
    r"mnp\.(indices|array_str|hstack\(a|unravel_index\(4, 6).*": "the form of the result is MindSpore's",
    r"mnp\.unique\(.*": "the order is that of the elements, as in MindSpore",
    r"mnp\.isin\(whole, \[1, 2\], True\)": "the third argument is `invert`",
    r"mnp\.(select|clip|maximum|minimum)\(.*[27]\.5.*\)|mnp\.clip\(whole, 1\.5, None\)|mnp\.mean\(\[1, 2, 4\]\)|mnp\.nansum\(of\('bool_'\)\)":
        "the result has the dtype of the array, as in MindSpore",
    r"mnp\.(promote|result)_type.*|mnp\.(int_|uint).*": "dtypes are MindSpore's",
}
"""Regular expressions of calls whose values differ from NumPy's, and why."""


def names(mode: str | None = None) -> list[str]:
    """The functions that are called."""
    return sorted({function_of(expression) for expression in FACTS})


def function_of(expression: str) -> str:
    found = re.match(r"mnp\.(\w+)", expression)
    assert found is not None
    return found[1]


def calls_of(name: str) -> list[str]:
    return [expression for expression in FACTS if function_of(expression) == name]


def is_listed(expression: str, listed: dict[str, str]) -> bool:
    return any(re.fullmatch(pattern, expression) for pattern in listed)


def tolerance(expression: str) -> float:
    return 2e-3 if "float16" in expression or "half" in expression else 1e-5


def is_as_mindspore(expression: str) -> bool:
    wanted = FACTS[expression]
    try:
        got = answers.encoded(eval(expression, array_calls.space(mnp, Tensor)))
    except Exception as problem:
        return isinstance(wanted, dict) and wanted.get("error") in [kind.__name__ for kind in type(problem).__mro__]
    return agree(wanted, got, tolerance(expression))


def test_the_facts_are_of_these_calls() -> None:
    assert list(FACTS) == list(dict.fromkeys(array_calls.expressions()))


@pytest.mark.parametrize("name", names())
def test_results_and_exceptions_are_as_in_mindspore(name: str) -> None:
    assert [e for e in calls_of(name) if is_as_mindspore(e) is is_listed(e, DIFFERENT) and not agree_but_listed(e)] == []


def agree_but_listed(expression: str) -> bool:
    """Whether a call agrees and a pattern, which is of several calls, names it too."""
    return is_as_mindspore(expression)


def test_the_list_of_differences_is_of_use() -> None:
    for pattern in DIFFERENT:
        assert any(re.fullmatch(pattern, e) and not is_as_mindspore(e) for e in FACTS), pattern


# Values --------------------------------------------------------------------------------------------------------------


def arrays(x: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays in a result."""
    if isinstance(x, (tuple, list)):
        return [array for item in x for array in arrays(item)]
    return [np.asarray(x)]


def is_as_numpy(expression: str) -> bool | None:
    """Whether the values are NumPy's; None where it does not take the call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = arrays(eval(expression, array_calls.space(np, lambda array: array)))
            got = arrays(eval(expression, array_calls.space(mnp, Tensor)))
        except Exception:
            return None
    near = 3e-3 if any(x.dtype == np.float16 for x in (*wanted, *got)) else 2e-6
    try:
        return [x.shape for x in wanted] == [x.shape for x in got] and all(
            np.allclose(x.astype(float), y.astype(float), near, near, equal_nan=True) for x, y in zip(wanted, got, strict=True))
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize("name", names())
def test_values_are_those_of_numpy(name: str) -> None:
    assert [e for e in calls_of(name) if is_as_numpy(e) is False and not is_listed(e, UNLIKE_NUMPY)] == []


def test_the_list_of_what_is_unlike_numpy_is_of_use() -> None:
    for pattern in UNLIKE_NUMPY:
        assert any(re.fullmatch(pattern, e) and is_as_numpy(e) is False for e in FACTS), pattern


# Gradients and graphs ------------------------------------------------------------------------------------------------

DIFFERENTIABLE = """
mnp.array([x[0], r]); mnp.copy(x); mnp.full((3, 2, 3), x); mnp.linspace(x, 5.0, 3); mnp.logspace(x, 1.5, 3); mnp.geomspace(x, 9.0, 3)
mnp.tril(s); mnp.triu(x, 1); mnp.diagonal(s); mnp.trace(s); mnp.diag(r, 1); mnp.diag(s); mnp.diagflat(x, -1); mnp.vander(r)
mnp.meshgrid(r, r)[1]; mnp.ix_(r, r)[1]; mnp.pad(x, 1); mnp.pad(x, 1, constant_values=((1, 2), (3, 4))); mnp.pad(x, 3, 'symmetric')
mnp.pad(r, 3, 'reflect', reflect_type='odd'); mnp.pad(x, (1, 2), 'mean'); mnp.pad(x, 2, 'linear_ramp', end_values=1); mnp.pad(x, 2, 'wrap')
mnp.concatenate((x, s)); mnp.concatenate((x, s), None); mnp.append(x, s, 0); mnp.column_stack((r, s)); mnp.vstack((r, s)); mnp.hstack((s, s))
mnp.dstack((x, x)); mnp.stack((r, r), 1); mnp.split(x, 3, 1)[1]; mnp.array_split(s, 2)[0]; mnp.hsplit(x, [1])[1]; mnp.rollaxis(x, 1)
mnp.expand_dims(x, (0, -1)); mnp.squeeze(x[:1]); mnp.transpose(x); mnp.swapaxes(x, 0, 1); mnp.moveaxis(x, 0, 1); mnp.reshape(x, (3, -1))
mnp.ravel(x); mnp.atleast_3d(x); mnp.broadcast_arrays(x, r)[1]; mnp.broadcast_to(r, (2, 3)); mnp.tile(x, 2); mnp.repeat(x, [1, 2], 0)
mnp.flip(x); mnp.flipud(x); mnp.fliplr(x); mnp.rot90(x); mnp.roll(x, 1); mnp.roll(x, (1, 2), (0, 1)); mnp.where(x > 2, x, r)
mnp.take(x, at, 1); mnp.take(x, at); mnp.take_along_axis(x, at[None], 1); mnp.choose(at, (r, r * r)); mnp.select([x > 2, x > 1], [x, x * x], 1)
mnp.piecewise(x, [x > 2, x <= 2], [lambda t: t * t, lambda t: -t]); mnp.apply_along_axis(lambda t: t * t, 1, x)
mnp.apply_over_axes(mnp.sum, x, (0,)); mnp.sum(x, 0); mnp.mean(x, 1); mnp.std(x, 0); mnp.var(x, 1, 1); mnp.average(x, 1, r); mnp.amax(x, 1)
mnp.amin(x); mnp.ptp(x, 0); mnp.nansum(x, 1); mnp.nanmean(x); mnp.nanmax(x, 1); mnp.nanmin(x); mnp.nanstd(x, 0); mnp.nanvar(x, 1)
mnp.cumsum(x, 1); mnp.nancumsum(x); mnp.cumprod(x, 1); mnp.add(x, r); mnp.subtract(x, 2); mnp.multiply(x, r); mnp.divide(r, x)
mnp.reciprocal(x); mnp.floor_divide(x, 2); mnp.remainder(x, r); mnp.fmod(x, r); mnp.divmod(x, r)[1]; mnp.square(x); mnp.power(x, r)
mnp.hypot(x, r); mnp.rint(x); mnp.around(x, 1); mnp.absolute(x - 2.0); mnp.negative(x); mnp.positive(x); mnp.sign(x - 2.0); mnp.copysign(x, r - 2)
mnp.heaviside(x - 2.0, r); mnp.maximum(x, r); mnp.minimum(x, 2); mnp.clip(x, 1, 3); mnp.sin(x); mnp.cos(x); mnp.tan(x / 4); mnp.arcsin(x / 9)
mnp.arccos(x / 9); mnp.arctan(x); mnp.arctan2(x, r); mnp.sinh(x); mnp.cosh(x); mnp.tanh(x); mnp.arcsinh(x - 2.0); mnp.arccosh(x + 1.0)
mnp.arctanh(x / 9); mnp.deg2rad(x); mnp.rad2deg(x); mnp.exp(x); mnp.exp2(x); mnp.expm1(x); mnp.log(x); mnp.log10(x); mnp.log1p(x); mnp.log2(x)
mnp.logaddexp(x, r); mnp.logaddexp2(x, r); mnp.sqrt(x); mnp.cbrt(x - 2.0); mnp.diff(x, 2); mnp.diff(x, prepend=r[0]); mnp.ediff1d(x, 1, r[:1])
mnp.trapz(x, r); mnp.trapz(x, dx=0.5); mnp.gradient(x)[1]; mnp.unwrap(x * 3); mnp.cov(x); mnp.corrcoef(s); mnp.norm(x); mnp.norm(r, 3)
mnp.norm(s, 1); mnp.norm(x, axis=1); mnp.dot(x, s); mnp.inner(x, s); mnp.outer(r, x); mnp.tensordot(x, s, 1); mnp.matmul(x, s); mnp.kron(x, r)
mnp.cross(x, r); mnp.cross(x[:, :2], x[:, 1:]); mnp.matrix_power(s, 3); mnp.multi_dot((x, s, r)); mnp.convolve(r, x[0]); mnp.polyint(r)
mnp.correlate(r, x[0], 'full'); mnp.polyadd(r, x[0, :2]); mnp.polymul(r, r); mnp.polyval(r, x); mnp.polyder(r); mnp.interp(x, [0, 9], r[:2])
mnp.histogram(x, [0, 2, 5], weights=x)[0]; mnp.bincount(at, r, length=3); mnp.gcd(at, 6) * r; mnp.unravel_index(at, (2, 2))[0] * r
mnp.zeros_like(x) + x; mnp.ones(3) * r; mnp.arange(3) * r; mnp.eye(3) * s; mnp.mgrid[0:2, 0:3][1] * x; mnp.isin(at, [0, 1]) * r; mnp.hanning(3) * r
mnp.digitize(x, [1, 2]) * x; mnp.pi * x; mnp.full_like(x, 3) * x; mnp.searchsorted(r, x) * x; mnp.logical_and(x > 1, x < 3) * x
"""
EXPRESSIONS = [e.strip() for line in DIFFERENTIABLE.strip().splitlines() for e in line.split("; ")]
GROUPS = [EXPRESSIONS[i : i + 12] for i in range(0, len(EXPRESSIONS), 12)]

STEPWISE = ("floor_divide", "rint", "around", "bincount")
"""Of Float64 these are Float32 or have jumps near by: their gradients are compared between modes alone."""


def module_of(folder: Path, text: str) -> Any:
    """A module of source that `jit` can read."""
    file = folder / "expressions.py"
    file.write_text("import adjoint.numpy as mnp\n" + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("expressions", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functions_of(folder: Path, expressions: list[str]) -> list[Any]:
    return vars(module_of(folder, "".join(f"def f{i}(x, s, r, at):\n    return {e}\n" for i, e in enumerate(expressions)))).values()


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0])
def test_gradients_have_the_same_bits_in_a_graph(group: list[str], tmp_path: Path) -> None:
    sums = "".join(f"    total = total + mnp.sum(mnp.sin({e}))\n" for e in group)
    module = module_of(tmp_path, f"def f(x, s, r, at):\n    total = mnp.zeros(())\n{sums}    return total\n")
    at = Tensor(np.array([0, 2, 1]))
    operands = [Tensor(v.astype(np.float32)) for v in VALUES]
    eager = ms.grad(module.f, (0, 1, 2))(*operands, at)
    graph = ms.jit(ms.grad(module.f, (0, 1, 2)))(*operands, at)
    assert [g.asnumpy().tobytes() for g in eager] == [g.asnumpy().tobytes() for g in graph]


VALUES = (
    np.array([[0.7, 1.3, 2.9], [3.4, 0.45, 1.9]]), np.array([[2.0, 1.1, 0.5], [0.6, 3.0, 1.2], [1.05, 0.25, 4.0]]), np.array([0.8, 1.7, 2.6])
)


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if function_of(e) not in STEPWISE])
def test_gradients_are_slopes(expression: str) -> None:
    # Of the sum of the sines, along one direction, by central differences in Float64.
    at = Tensor(np.array([0, 2, 1]))

    def f(x: Tensor, s: Tensor, r: Tensor) -> Tensor:
        return mnp.sum(mnp.sin(eval(expression, {"mnp": mnp, "x": x, "s": s, "r": r, "at": at})))

    directions = [np.cos(np.arange(v.size) * 1.7 + 0.3).reshape(v.shape) for v in VALUES]
    slope = sum(float((g.asnumpy() * d).sum())
                for g, d in zip(ms.grad(f, (0, 1, 2))(*map(Tensor, VALUES)), directions, strict=True))
    step = 1e-6
    high, low = (float(f(*(Tensor(v + sign * step * d) for v, d in zip(VALUES, directions, strict=True)))) for sign in (1, -1))
    assert slope == pytest.approx((high - low) / (2 * step), rel=2e-6, abs=2e-6)
