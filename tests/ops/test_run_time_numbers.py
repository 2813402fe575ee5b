"""Numbers that are known only when a graph runs give what eager mode gives, to the bit: every operator, dtype, side and limit."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asked import dtype_ends

import adjoint as ms
from adjoint import CompileError, Tensor, ops

DTYPES = ("bool", *dtype_ends.INTEGERS, *dtype_ends.FLOATS)
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "maximum": ops.maximum, "minimum": ops.minimum, "fmod": ops.fmod, "xlogy": ops.xlogy, "isclose": lambda x, n: ops.isclose(x + 0, n),
    "where": lambda x, n: ops.where(x == x, x, n),
    "truncated": lambda x, n: ops.div(x, n, rounding_mode="trunc"),
}
ONE_SIDE = ("isclose", "where")
STORED: dict[str, Callable[[Tensor, Any], Any]] = {
    "clamp": lambda x, n: (ops.clamp(x, n), ops.clamp(x, None, n)),
    "clip_by_value": lambda x, n: ops.clip_by_value(x, n, n),
    "masked_fill": lambda x, n: ops.masked_fill(x, x == x, n),
    "full_like": ops.full_like,
    "Tensor": lambda x, n: Tensor(n, x.dtype),
    "element": lambda x, n: written(x, n),
    "subtract": lambda x, n: ops.subtract(x, x, alpha=n),
    "leaky_relu": ops.leaky_relu,
}
NUMBERS: dict[type, tuple[Any, ...]] = {
    bool: (True,),
    int: (0, 3, -7, 256, 65504, 65505, -(2**40), 2**60 + 2**36 + 1, -(2**63), 2**63 - 1),
    float: (-0.0, 0.1, 65505.0, -1e6, 1e-8, 3.4028235e38, 1e40, 1e-40, 1e-50, math.inf,
            math.nan, 1 + 2.0**-11 + 2.0**-40),
}


def written(x: Tensor, number: Any) -> Tensor:
    y = x.copy()
    y[0] = number
    return y


def answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """The dtypes and bits of the results, or which error it is.  NaN is one value: exact algebra may turn its sign."""
    try:
        found = function(*arguments)
    except (TypeError, RuntimeError, ValueError) as problem:
        return f"{type(problem).__name__}: {problem}".partition(",")[0]
    return [(x.dtype, x.shape, bits(x)) for x in (found if isinstance(found, tuple) else (found,))]


def bits(x: Tensor) -> bytes:
    array = (x.astype("float64") if x.dtype.is_float else x).asnumpy()
    return (np.where(np.isnan(array), np.nan, array) if x.dtype.is_float else array).tobytes()


def graph_of(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """`function(x, number)` in a graph, its number that of a tensor."""
    def body(x: Tensor, t: Tensor) -> Any:
        return function(x, kind(t))

    graph = ms.jit(body)
    stored = {bool: np.bool_, int: np.int64, float: np.float64}[kind]
    return lambda x, number: graph(x, Tensor(np.array(number, stored)))


def check(function: Callable[..., Any], dtypes: tuple[str, ...]) -> None:
    for dtype, (kind, numbers) in itertools.product(dtypes, NUMBERS.items()):
        x, graph = dtype_ends.ends(dtype), graph_of(function, kind)
        for number in numbers:
            assert answer(graph, x, number) == answer(function, x, number), (dtype, number)


@pytest.mark.parametrize("symbol", OPERATORS)
def test_operators(symbol: str) -> None:
    function = OPERATORS[symbol]

    def both(x: Tensor, number: Any) -> Any:
        return function(x, number), function(number, x)

    check(function if symbol in ONE_SIDE else both, DTYPES)


@pytest.mark.parametrize("name", STORED)
def test_numbers_that_are_stored_or_bound(name: str) -> None:
    # What `subtract` gives for integers and a float depends on whether it is 1; bools have no -1.
    check(STORED[name], DTYPES if name != "subtract" else dtype_ends.FLOATS)


@pytest.mark.parametrize("dtype", dtype_ends.FLOATS)
def test_gradients(dtype: str) -> None:
    """The gradient is that of the dtype which is computed in: no NaN of the other ones gets into it."""
    def gradients(x: Tensor, number: Any) -> tuple[Tensor, ...]:
        return tuple(ms.grad(lambda x, function=function: function(x, number) + function(number, x))(x)
                     for function in (operator.mul, operator.truediv, operator.pow, operator.mod, ops.maximum))

    def second(x: Tensor, number: Any) -> Tensor:
        return ms.grad(lambda x: ms.grad(lambda x: number / x)(x).sum())(x)

    x = dtype_ends.ends(dtype)
    for function, kind in itertools.product((gradients, second), (int, float)):
        graph = graph_of(function, kind)
        for number in NUMBERS[kind]:
            assert answer(graph, x, number) == answer(function, x, number), number


def test_counters_of_loops() -> None:
    def total(x: Tensor, n: Tensor) -> Tensor:
        for i in range(int(n)):
            x = x * (i * 40_000 + 1) - i
        return x

    for dtype in ("float16", "uint8", "uint64"):
        x = Tensor(np.array([0, 1, 3]), ms.float32).astype(dtype)
        assert answer(ms.jit(total), x, Tensor(4)) == answer(total, x, Tensor(4))


@pytest.mark.parametrize(("dtype", "kind", "number", "shown"), [("uint8", int, 300, "300"), ("float32", float, 1e40, "1e+40")])
def test_a_number_that_the_tensor_of_the_other_path_lacks(dtype: str, kind: type, number: Any, shown: str) -> None:
    """The value is one tensor, whichever path is taken: what it cannot hold is refused when it comes."""
    def chosen(condition: Tensor, x: Tensor, t: Tensor) -> Any:
        y = x
        if condition:
            y = kind(t)
        return y

    graph = ms.jit(chosen)
    x, t = Tensor(np.array(5)).astype(dtype), Tensor(np.array(number))
    assert graph(Tensor(True), x, t * 0 + 7) == 7
    assert graph(Tensor(False), x, t) == 5
    with pytest.raises(CompileError, match=rf"{shown.replace('+', '.')} meets a tensor of") as found:
        graph(Tensor(True), x, t)
    assert "if condition:" in str(found.value)


def test_a_dtype_that_depends_on_the_number_is_refused() -> None:
    def less(x: Tensor, t: Tensor) -> Tensor:
        return ops.subtract(x, x, alpha=float(t))

    with pytest.raises(CompileError, match=r"alpha=float\(t\)"):
        ms.jit(less)(Tensor([1, 2]), Tensor(2.0))
