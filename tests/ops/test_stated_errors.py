"""The error of each elementary function, as it is stated, for the function that a user calls: every binade, subnormals, both signs.

The stated errors are `adjoint.codegen.accuracy.ULP`.  Of two-byte floats every one is tried; of the others some in each binade, the
surroundings of 0, 1 and of the multiples of pi / 2.  The reference is NumPy's long double, where that has more bits than a double.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import adjoint as ms
from adjoint import Tensor, ops
from adjoint.codegen.accuracy import ULP
from adjoint.codegen.toolchain import Toolchain
from adjoint.ir.op import registry
from adjoint.runtime.tensor.tensor import apply

Array = np.ndarray[Any, Any]
Wide = np.longdouble

pytestmark = [
    pytest.mark.skipif(Toolchain.find() is None, reason="there is no C compiler"),
    pytest.mark.skipif(np.finfo(Wide).nmant < 63, reason="long double has no more bits than double"),
]


def sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def of_doubles(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of `math`, whose error is some 2**-53: a reference for single precision and less."""
    return lambda x: np.array([function(float(v)) for v in x], Wide)


REFERENCES: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sigmoid": sigmoid, "softplus": softplus, "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": of_doubles(math.erf), "erfc": of_doubles(math.erfc),
}
CORRECTLY_ROUNDED: dict[str, Callable[[Array], Array]] = {"sqrt": np.sqrt, "reciprocal": lambda x: 1 / x}
BITS = {"float32": np.uint32, "float64": np.uint64}
FRACTION = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
LEAST = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}
"""The exponent of the least normal number."""


@cache
def arguments(dtype: str) -> Array:
    """Numbers of float32 or float64 in every binade (of float64, every third), and around the places where functions are hard."""
    fraction, kind = FRACTION[dtype], np.dtype(dtype)
    drawn = np.random.default_rng(0).integers(0, 2**fraction, 9, dtype=np.uint64)
    fractions = np.concatenate([np.array([0, 1, 2**fraction - 1, 2 ** (fraction - 1)], np.uint64), drawn])
    exponents = np.arange(0, 2 ** (kind.itemsize * 8 - 1 - fraction) - 1, 1 if dtype == "float32" else 3, dtype=np.uint64)
    bits = exponents[:, None] << np.uint64(fraction) | fractions
    epsilon = np.finfo(kind).eps
    near = [
        1 + np.arange(-200, 200) * epsilon / 2, np.arange(1, 400) * (math.pi / 2), np.linspace(0.01, 12, 1500), np.linspace(85, 105, 300),
        np.linspace(700, 750, 300) if dtype == "float64" else [], (2.0 ** np.arange(10, 120, 10)) * math.pi,
    ]
    found = np.concatenate([bits.astype(BITS[dtype]).ravel().view(kind), *(np.asarray(x).astype(kind) for x in near)])
    return np.concatenate([found, -found])


@cache
def halves(dtype: str) -> Tensor:
    """Every finite number of a two-byte dtype."""
    if dtype == "float16":
        every = np.arange(2**16, dtype=np.uint16).view(np.float16)
        return Tensor(every[np.isfinite(every)])
    every = (np.arange(2**16, dtype=np.uint32) << 16).view(np.float32)
    return Tensor(every[np.isfinite(every)]).astype("bfloat16")


def called(name: str, x: Tensor) -> Tensor:
    """The function as a user calls it; the op, where there is no function."""
    if name == "softplus":
        return ops.softplus(x, threshold=math.inf)
    function = getattr(ops, name, None)
    return apply(registry()[name](), x) if function is None else function(x)


def error(found: Array, exact: Array, dtype: str) -> float:
    """The largest error, in units in the last place of the exact result, at least of a subnormal one; infinite for a wrong infinity."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32 if dtype == "bfloat16" else dtype)
        exponent = np.maximum(np.frexp(exact)[1] - 1, LEAST[dtype])
        unit = np.ldexp(Wide(1), exponent - FRACTION[dtype])
        finite = np.isfinite(nearest) & np.isfinite(found)
        off = np.where(finite, np.abs(found.astype(Wide) - exact) / unit, 0)
        at_the_end = np.abs(exact) >= Wide(2) ** (-LEAST[dtype] + 2) * (1 - Wide(2) ** (-FRACTION[dtype] - 1))
        same = finite | (np.isnan(nearest) & np.isnan(found)) | (nearest == found) | at_the_end
    assert same.all(), (found[~same][:3], nearest[~same][:3])
    return float(off.max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*REFERENCES, *CORRECTLY_ROUNDED])
def test_the_error_is_as_stated_over_the_whole_range(name: str, dtype: str) -> None:
    if dtype == "float64" and name in ("erf", "erfc"):
        pytest.skip("long double has no error function: some values are in tests/codegen/test_accuracy.py")
    x = arguments(dtype)
    with np.errstate(all="ignore"):
        exact = (REFERENCES | CORRECTLY_ROUNDED)[name](x.astype(Wide))
    stated = 0.5 if name in CORRECTLY_ROUNDED else ULP[name, "f" + dtype[5:]]
    assert error(called(name, Tensor(x)).asnumpy(), exact, dtype) <= stated


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*REFERENCES, *CORRECTLY_ROUNDED])
def test_every_half_is_nearly_rounded_once(name: str, dtype: str) -> None:
    """They are computed in float32: half a unit, and what is left of the error there."""
    x = halves(dtype)
    with np.errstate(all="ignore"):
        exact = (REFERENCES | CORRECTLY_ROUNDED)[name](x.astype("float32").asnumpy().astype(Wide))
    assert error(called(name, x).astype("float32").asnumpy(), exact, dtype) <= 0.501


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_the_error_of_two_operands(name: str, dtype: str) -> None:
    random = np.random.default_rng(1)
    y = random.permutation(arguments(dtype))
    x = random.permutation(arguments(dtype))
    near = random.uniform(-20, 20, (2, 20000)).astype(dtype)
    x, y = np.concatenate([x, near[0]]), np.concatenate([y, near[1]])
    function = ops.pow if name == "pow" else ops.atan2
    with np.errstate(all="ignore"):
        exact = (np.power if name == "pow" else np.arctan2)(x.astype(Wide), y.astype(Wide))
    assert error(function(Tensor(x), Tensor(y)).asnumpy(), exact, dtype) <= ULP[name, "f" + dtype[5:]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_remainders_are_exact(dtype: str) -> None:
    """`fmod` for any quotient, and `%` and `//` as Python has them."""
    random = np.random.default_rng(2)
    numbers = halves("float16").asnumpy() if dtype == "float16" else arguments(dtype)
    x, y = random.permutation(numbers)[:20000], random.permutation(numbers)[:20000]
    with np.errstate(all="ignore"):
        assert np.array_equal(ops.fmod(Tensor(x), Tensor(y)).asnumpy(), np.fmod(x, y), equal_nan=True)
        assert np.array_equal((Tensor(x) % Tensor(y)).asnumpy(), np.remainder(x, y), equal_nan=True)
    for a, b, rest, quotient in zip(x, y, (Tensor(x) % Tensor(y)).tolist(), (Tensor(x) // Tensor(y)).tolist(), strict=True):
        if b and dtype == "float64":
            assert (rest, quotient) == (float(a) % float(b), float(a) // float(b)) or math.isinf(quotient), (a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_gelu_keeps_its_digits(dtype: str) -> None:
    """Far below 0 as well, where 1 + erf(x / sqrt(2)) has none: in units of the larger one of its two parts, which cancel at -0.75."""
    x = arguments(dtype)
    x = x[(np.abs(x) < 40) & (np.abs(x) > 1e-30)]
    found = ms.grad(lambda x: ops.gelu(x, approximate="none").sum())(Tensor(x)).asnumpy()
    wide = x.astype(Wide)
    below = 0.5 * of_doubles(math.erfc)(-wide * Wide(math.sqrt(0.5)))
    density = wide * np.exp(-0.5 * wide * wide) / np.sqrt(2 * Wide(math.pi))
    larger = np.maximum(below, np.abs(density))
    unit = np.ldexp(Wide(1), np.maximum(np.frexp(larger)[1] - 1, LEAST[dtype]) - FRACTION[dtype])
    stated = 6.25 if dtype == "float32" else 8 + x * x
    assert (np.abs(found - (below + density)) / unit <= stated).all()
