"""Python numbers beside tensors, at the limits of each dtype and beyond: the numbers are exact, the dtypes MindSpore's.

`promotion.json` holds what MindSpore answers.  Where the tensor's dtype lacks the number, MindSpore wraps it or makes it infinite
before it computes, in most operators; ours counts with its own value (docs/decisions/0011).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from asked import dtype_ends, recorded

import adjoint as ms
from adjoint import Tensor, ops

LIMITS = recorded("promotion")["limits"]
INTEGERS, ends = dtype_ends.INTEGERS, dtype_ends.ends
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "<": operator.lt, "==": operator.eq, "<=": operator.le,
    "maximum": ops.maximum, "minimum": ops.minimum, "fmod": ops.fmod,
}
COMPARISONS = ("<", "==", "<=")
ROUNDING = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-22, "float64": 2.0**-51}
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028234e38, "float64": 1.7976931348623157e308}
TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}


def whole(symbol: str, a: int, b: int, dtype: str) -> int:
    """What two integers give, in an integer dtype."""
    low, high = (0, 2 ** int(dtype[4:]) - 1) if dtype[0] == "u" else (-(2 ** (int(dtype[3:]) - 1)), 2 ** (int(dtype[3:]) - 1) - 1)
    if symbol in ("maximum", "minimum"):
        return min(max((max if symbol == "maximum" else min)(a, b), low), high)
    if symbol in ("//", "%", "fmod") and b == 0:
        exact = 0
    elif symbol == "fmod":
        exact = abs(a) % abs(b) * (-1 if a < 0 else 1)
    elif symbol == "**":
        exact = pow(a, b, 2 ** 64) if b >= 0 else {1: 1, -1: (-1) ** (b & 1)}.get(a, 0)
    else:
        exact = OPERATORS[symbol](a, b)
    return (exact - low) % (high - low + 1) + low


def real(symbol: str, a: float, b: float) -> float:
    """What two floats give."""
    with np.errstate(all="ignore"):
        a, b = np.float64(a), np.float64(b)
        function = {"maximum": np.maximum, "minimum": np.minimum, "fmod": np.fmod}.get(symbol, OPERATORS[symbol])
        return function(a, b).item()


def agree(got: float, exact: float, dtype: str) -> bool:
    """Whether `got` is `exact` rounded to the dtype, twice at most."""
    if math.isnan(exact) or math.isnan(got):
        return math.isnan(exact) and math.isnan(got)
    largest = LARGEST[dtype]
    if abs(exact) > largest or math.isinf(got):
        return math.isinf(got) and abs(exact) > largest * (1 - ROUNDING[dtype]) and (got > 0) == (exact > 0)
    return abs(got - exact) <= max(ROUNDING[dtype] * abs(exact), TINY[dtype])


def is_held(number: float, dtype: str) -> bool:
    """Whether a floating dtype has the number, but for rounding: then it counts as rounded."""
    least = {"float16": 2.0**-14, "float64": 2.0**-1022}.get(dtype, 2.0**-126)
    return not math.isfinite(number) or number == 0 or least <= abs(number) <= LARGEST[dtype]


def rounded(number: float, dtype: str) -> float:
    return Tensor(float(number), ms.float64).astype(dtype).astype("float64").item()


def check(symbol: str, left: Any, right: Any, got: Tensor, dtype: str) -> None:
    a, b = (side.astype("float64").tolist() if isinstance(side, Tensor) and side.dtype.is_float
            else side.tolist() if isinstance(side, Tensor) else side for side in (left, right))
    pairs = [(x, b) for x in a] if isinstance(a, list) else [(a, y) for y in b]
    number = right if isinstance(left, Tensor) else left
    values = got.astype("float64").tolist() if got.dtype.is_float else got.tolist()
    name = str(got.dtype).lower()
    for (x, y), value in zip(pairs, values, strict=True):
        if symbol in COMPARISONS:
            wanted: Any = OPERATORS[symbol](x, y)
            assert value == wanted, (dtype, x, symbol, y, value)
        elif name in INTEGERS:
            assert value == whole(symbol, int(x), int(y), name), (dtype, x, symbol, y, value)
        else:
            x, y = (rounded(v, name) if is_held(number, name) else float(v) for v in (x, y))
            assert agree(value, real(symbol, x, y), name), (dtype, x, symbol, y, value, real(symbol, x, y))




@pytest.mark.parametrize("form", LIMITS)
def test_numbers_at_the_limits_of_dtypes(form: str) -> None:
    left, symbol, right = form.split()
    text = right if left == "{}" else left
    number = eval(text, {"inf": math.inf, "nan": math.nan})
    for dtype, recorded_ in LIMITS[form].items():
        x = ends(dtype)
        operands = (x, number) if left == "{}" else (number, x)
        try:
            got = OPERATORS[symbol](*operands)
        except RuntimeError as problem:
            assert "out of the range" in str(problem)
            assert type(number) is int
            assert recorded_.endswith("Error"), (dtype, form)
            continue
        if not recorded_.endswith("Error"):
            assert str(got.dtype).lower() == recorded_.split()[0], (dtype, form)
        if dtype == "bool" and type(number) is not float and symbol not in ("/", *COMPARISONS):
            dtype = "int64"
        check(symbol, *operands, got, dtype)


NARROW = (
    ("uint8", 256), ("uint8", -1), ("int8", 300), ("int16", 2**40), ("int32", 2**31), ("bool", 256), ("float16", 1e6), ("float16", 1e-8),
    ("float32", 1e40), ("int32", 1e40),
)


@pytest.mark.parametrize("symbol", OPERATORS)
def test_graphs_count_as_eager_mode_does(symbol: str) -> None:
    function = OPERATORS[symbol]

    def both(x: Tensor, number: Any) -> tuple[Tensor, Tensor]:
        return function(x, number), function(number, x)

    for dtype, number in NARROW:
        x = ends(dtype)
        for e, f in zip(both(x, number), ms.jit(both)(x, number), strict=True):
            assert e.dtype is f.dtype
            assert np.array_equal(e.astype("float64").asnumpy(), f.astype("float64").asnumpy(), equal_nan=True), (dtype, number)


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_beside_such_numbers(jit: bool) -> None:
    """A gradient goes through the wider dtype and comes back in the tensor's."""
    def quotient(x: Tensor) -> Tensor:
        return (x / 1e6).sum()

    def product(x: Tensor) -> Tensor:
        return (x * 2.0**-15).sum()

    x = Tensor(np.array([1.0, 60000.0], np.float16))
    for function, wanted in ((quotient, np.float16(1e-6)), (product, np.float16(2.0**-15))):
        gradient = ms.grad(ms.jit(function) if jit else function)(x)
        assert gradient.dtype is ms.float16
        assert gradient.asnumpy() == pytest.approx(wanted)


def test_bounds_beyond_a_dtype() -> None:
    x = Tensor(np.array([0, 100, 255], np.uint8))
    assert ops.clamp(x, 0, 300).tolist() == [0, 100, 255]
    assert ops.clamp(x, -5, 100).tolist() == [0, 100, 100]
    assert ops.clip_by_value(x, -5, 300).tolist() == [0, 100, 255]
    assert ops.clamp(Tensor(np.array([1, 5], np.uint16)), 0, 1.5).tolist() == [1.0, 1.5]
    assert ops.xlogy(Tensor(np.array([1], np.int8)), 300).tolist() == pytest.approx([math.log(300)])


def test_integers_that_no_dtype_has() -> None:
    x = Tensor(np.array([1.0], np.float32))
    for number in (10**400, 10**5000):
        with pytest.raises(RuntimeError, match=r"of .* bits is out of the range of Float64"):
            ops.mul(x, number)
        with pytest.raises(RuntimeError, match=r"of .* bits is out of the range of Int64"):
            ops.less(x.astype("int8"), number)


def test_division_of_integers_toward_zero_is_exact() -> None:
    x, y = Tensor([2**62 + 1, -(2**62) - 1, 7, -7, 5]), Tensor([1, 1, 2, 2, 0])
    assert ops.div(x, y, rounding_mode="trunc").tolist() == [2**62 + 1, -(2**62) - 1, 3, -3, 0]
    assert ops.fmod(x, y).tolist() == [0, 0, 1, -1, 0]


def test_bools_subtract_and_divide_as_bools() -> None:
    x, y = Tensor([True, True, False, False]), Tensor([True, False, True, False])
    assert (x - y).tolist() == [False, True, True, False]
    assert (x // y).tolist() == [True, False, False, False]
    assert (x % y).tolist() == ops.fmod(x, y).tolist() == [False] * 4
    assert ops.maximum(x, y).tolist() == [True, True, True, False]
    assert ops.minimum(x, y).tolist() == [True, False, False, False]


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_sums_of_wide_unsigned_integers_keep_their_dtype(dtype: str) -> None:
    x = Tensor(np.array([200, 100, 3], dtype))
    for total, wanted in ((x.sum(), 303), (ops.sum(x), 303), (x.prod(), 60000), (ops.prod(x), 60000)):
        assert (str(total.dtype).lower(), total.tolist()) == (dtype, wanted)
    assert Tensor(np.array([200, 100], np.uint8)).sum().dtype is ms.int64


def test_any_of_bytes_is_a_byte() -> None:
    found = Tensor(np.array([0, 5], np.uint8)).any()
    assert (found.dtype, found.tolist()) == (ms.uint8, 1)
    assert Tensor(np.array([0, 5], np.int8)).any().dtype is ms.bool_


def test_bools_have_no_mean() -> None:
    with pytest.raises(RuntimeError, match="numbers"):
        Tensor([True, False]).mean()


@ms.jit
def _square(x: Tensor) -> Tensor:
    return x**2


@ms.jit
def _power(x: Tensor, y: Tensor) -> Tensor:
    return x**y


@pytest.mark.parametrize("dtype", ROUNDING)
def test_a_square_is_a_product_to_the_bit(dtype: str) -> None:
    """However the exponent is known, in the text of a graph or when it runs; what a square's gradient computes is x, to the bit."""
    kind = getattr(ms, dtype)
    numbers = np.random.default_rng(0).standard_normal(300) * 10.0 ** np.arange(-30, 30, 0.2)
    x = Tensor([*numbers.tolist(), 0.0, -0.0, math.inf, -math.inf]).astype(kind)
    two, twos = Tensor(2.0, kind), ops.full_like(x, 2)
    one, ones = Tensor(1.0, kind), ops.full_like(x, 1)
    squares = (x**2, x**two, x**twos, _square(x), _power(x, two), _power(x, twos))
    for found, expected in (*((found, x * x) for found in squares), (x**1, x), (x**one, x), (x**ones, x), (_power(x, ones), x),
                            (ms.grad(_square)(x), x * 2)):
        assert found.dtype == kind
        assert found.astype(ms.float64).asnumpy().tobytes() == expected.astype(ms.float64).asnumpy().tobytes()


@pytest.mark.parametrize("power", [3.0, 4.0, 0.5, -0.5, -1.0, -2.0, 1.5])
@pytest.mark.parametrize("dtype", ROUNDING)
def test_a_power_by_one_number_has_the_same_bits_everywhere(dtype: str, power: float) -> None:
    """Whether the number stands in the text, is a float argument or a tensor; alone, fused with other operators, and element by element."""
    kind = getattr(ms, dtype)
    numbers = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-25, 25, 0.5)
    x = Tensor([*numbers.tolist(), 0.0, -0.0, math.inf, -math.inf, math.nan, 1.0]).astype(kind)
    one = Tensor(power, kind)
    in_text, by_float = ms.jit(lambda x: x**power), ms.jit(lambda x, p: (x + 0) ** p * 1)
    fused, by_tensor = ms.jit(lambda x: (x * 1) ** power * 1), ms.jit(lambda x, p: (x * 1) ** p * 1)
    spread = ms.jit(lambda x: (x * 1) ** ops.full((1,), power, dtype=kind) * 1)
    expected = x**power
    each = ops.stack([x[i] ** power for i in range(len(x))])
    floats = [by_float(x, p) for p in (power, power + 1, power - 1, power + 2, power)]  # from the third on, the float is an input
    for found in (each, x**one, x ** ops.reshape(one, (1,)), in_text(x), fused(x), by_tensor(x, one), spread(x)):
        assert found.astype(ms.float64).asnumpy().tobytes() == expected.astype(ms.float64).asnumpy().tobytes()
    for found in (floats[0], floats[-1]):
        assert found.astype(ms.float64).asnumpy().tobytes() == ((x + 0) ** power).astype(ms.float64).asnumpy().tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_clamp_by_a_bound_that_is_nan_is_nan(dtype: str) -> None:
    """Whether the bound is a number, a number of the graph or a tensor, and whichever bound it is; numbers between others stay."""
    x, nan = Tensor([1, -2, 3], getattr(ms, dtype)), Tensor([math.nan, 0.0, math.nan])
    by_number = ms.jit(lambda x, bound: ops.clamp(x, 0, bound[0].item()))
    for found in (ops.clamp(x, math.nan, None), ops.clamp(x, None, math.nan), ops.clamp(x, math.nan, 0), ops.clamp(x, 0, nan[0]),
                  by_number(x, nan), ms.jit(ops.clamp)(x, nan[0], 9)):
        assert np.isnan(found.asnumpy()).all(), found
    for found in (ops.clamp(x, nan, 2), ms.jit(ops.clamp)(x, nan, 2)):
        assert np.array_equal(found.asnumpy(), [math.nan, 0, math.nan], equal_nan=True)
    assert np.array_equal(ops.clamp(nan, Tensor(-1), Tensor(1)).asnumpy(), nan.asnumpy(), equal_nan=True)
    assert np.array_equal(ops.clamp(x, Tensor(-1), Tensor(2)).asnumpy(), [1, -1, 2])
