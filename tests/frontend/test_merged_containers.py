"""Lists and dicts that a branch replaces and the code after it writes: eager numbers, or an error if it is unclear which one is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from adjoint import Tensor, jit
from adjoint.foundation.diagnostics import CompileError


def replaced_in_a_loop(x: Any, y: Any) -> Any:
    rows, k = [x, x * 2], 0
    while y > k:
        k += 1
        if (x[-1] + k) * y > y:
            rows = [x * 3, rows[0] + 1]
        rows[0] = x + k
        rows[1] = rows[1] * 2
    return rows[0], rows[1]


def a_dict(x: Any, y: Any) -> Any:
    table, k = {"a": x, "b": x * 2}, 0
    while y > k:
        k += 1
        if (x[-1] + k) * y > y:
            table = {"a": x * 3, "b": table["a"] + 1}
        table["a"] = x + k
    return table["a"], table["b"]


def nested(x: Any, y: Any) -> Any:
    rows, k = [[x], [x * 2]], 0
    while y > k:
        k += 1
        if (x[-1] + k) * y > y:
            rows = [[x * 3], [rows[0][0] + 1]]
        rows[0][0] = x + k
        rows[1] = [rows[1][0] * 2]
    return rows[0][0], rows[1][0]


def without_a_loop(x: Any, y: Any) -> Any:
    rows = [x, x * 2]
    if x[-1] * y > y:
        rows = [x * 3, rows[0] + 1]
    rows[0] = x + 1
    if x[-1] > 0:
        rows[1] = rows[0] * 5
    else:
        rows[0] = rows[0] * 7
    return rows[0], rows[1]


@pytest.mark.parametrize("function", [replaced_in_a_loop, a_dict, nested, without_a_loop])
def test_a_container_that_a_branch_replaces_is_written(function: Callable[..., Any]) -> None:
    compiled = jit(function)
    for last in (0.5, -3.0):
        for count in (0.25, 2.5, 4.0):
            given = Tensor([1.0, -2.0, last]), Tensor(count)
            expected, found = function(*given), compiled(*given)
            assert [x.asnumpy().tolist() for x in found] == [x.asnumpy().tolist() for x in expected]


def two_names(x: Any, y: Any) -> Any:
    rows, k = [x, x * 2], 0
    first = rows
    while y > k:
        k += 1
        if (x[-1] + k) * y > y:
            rows = [x * 3, rows[0] + 1]
        rows[0] = x + k
    return rows[0], first[0]


def in_another(x: Any, y: Any) -> Any:
    rows, k = [x, x * 2], 0
    both = [rows, rows]
    while y > k:
        k += 1
        if (x[-1] + k) * y > y:
            both[0] = [x * 3, rows[0] + 1]
        both[0][0] = x + k
    return both[0][0], both[1][0]


@pytest.mark.parametrize("function", [two_names, in_another])
def test_with_a_second_name_it_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(CompileError, match="E215"):
        jit(function)(Tensor([1.0, -2.0, 0.5]), Tensor(2.5))
