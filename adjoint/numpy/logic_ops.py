"""Comparison and logic, element by element; tests of whole arrays.

Operands are arrays or numbers and are broadcast; the result is Bool, or in `dtype` if given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.types import BOOL, broadcast_shapes
from adjoint.numpy.conversion import array_like, arrays_like, in_dtype, real_array_like
from adjoint.numpy.dtypes import checked_dtype
from adjoint.numpy.sets import in1d, isin, setdiff1d
from adjoint.ops import arithmetic, reduction
from adjoint.ops.arguments import axes_argument, flag, operand, wrong
from adjoint.runtime.tensor.tensor import Tensor, constant

__all__ = [
    "array_equal", "array_equiv", "equal", "greater", "greater_equal", "in1d", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf",
    "isposinf", "isscalar", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "setdiff1d",
    "signbit", "sometrue",
]

# Element by element --------------------------------------------------------------------------------------------------


def equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 == x2."""
    return in_dtype(arithmetic.equal(*arrays_like("equal", x1, x2)), dtype)


def not_equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 != x2, for Tensors."""
    return in_dtype(arithmetic.not_equal(operand("not_equal", x1, "x1"), operand("not_equal", x2, "x2")), dtype)


def less(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 < x2."""
    return in_dtype(arithmetic.less(*arrays_like("less", x1, x2)), dtype)


def less_equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 <= x2, for Tensors."""
    return in_dtype(arithmetic.less_equal(operand("less_equal", x1, "x1"), operand("less_equal", x2, "x2")), dtype)


def greater(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 > x2."""
    return in_dtype(arithmetic.greater(*arrays_like("greater", x1, x2)), dtype)


def greater_equal(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return x1 >= x2."""
    return in_dtype(arithmetic.greater_equal(*arrays_like("greater_equal", x1, x2)), dtype)


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return whether |a - b| <= atol + rtol * |b|; equal infinities are close, two NaN only with `equal_nan`."""
    return arithmetic.isclose(array_like("isclose", a, "a"), array_like("isclose", b, "b"), rtol, atol, equal_nan)


def isfinite(x: Any, dtype: Any = None) -> Tensor:
    """Return for each element whether it is neither infinite nor NaN."""
    return in_dtype(arithmetic.isfinite(array_like("isfinite", x)), dtype)


def isnan(x: Any, dtype: Any = None) -> Tensor:
    """Return for each element whether it is NaN."""
    return in_dtype(arithmetic.isnan(array_like("isnan", x)), dtype)


def isinf(x: Any, dtype: Any = None) -> Tensor:
    """Return for each element whether it is infinite."""
    return in_dtype(arithmetic.isinf(array_like("isinf", x)), dtype)


def isposinf(x: Any) -> Tensor:
    """Return for each element of a Tensor whether it is positive infinity."""
    return arithmetic.equal(real_array_like("isposinf", operand("isposinf", x, "x")), math.inf)


def isneginf(x: Any) -> Tensor:
    """Return for each element of a Tensor whether it is negative infinity."""
    return arithmetic.equal(real_array_like("isneginf", operand("isneginf", x, "x")), -math.inf)


def signbit(x: Any, dtype: Any = None) -> Tensor:
    """Return for each element whether it is less than 0; raise TypeError if `dtype` is not Bool."""
    if dtype is not None and checked_dtype("signbit", dtype) is not BOOL:
        raise wrong("signbit", "dtype", "Bool", dtype, TypeError)
    return arithmetic.less(array_like("signbit", x), 0)


def logical_not(a: Any, dtype: Any = None) -> Tensor:
    """Return for each element whether it is 0."""
    return in_dtype(arithmetic.logical_not(array_like("logical_not", a, "a")), dtype)


def logical_and(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return whether both are nonzero."""
    return in_dtype(arithmetic.logical_and(*arrays_like("logical_and", x1, x2)), dtype)


def logical_or(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return whether at least one is nonzero."""
    return in_dtype(arithmetic.logical_or(*arrays_like("logical_or", x1, x2)), dtype)


def logical_xor(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return whether exactly one is nonzero, for Tensors."""
    return in_dtype(arithmetic.logical_xor(operand("logical_xor", x1, "x1"), operand("logical_xor", x2, "x2")), dtype)


# Whole arrays --------------------------------------------------------------------------------------------------------


def sometrue(a: Any, axis: Any = None, keepdims: Any = False) -> Tensor:
    """Return whether any element over axes is nonzero."""
    if not isinstance(keepdims, int):
        raise wrong("sometrue", "keepdims", "a bool", keepdims, TypeError)
    x = array_like("sometrue", a, "a")
    return reduction.any(arithmetic.not_equal(x, 0), axes_argument("sometrue", axis, x.ndim), bool(keepdims))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Return whether two arrays have the same shape and elements; two NaN are equal only with `equal_nan`."""
    x, y = array_like("array_equal", a1, "a1"), array_like("array_equal", a2, "a2")
    same = flag("array_equal", "equal_nan", equal_nan)
    if x.shape != y.shape:
        return constant(False, BOOL)
    found = arithmetic.equal(x, y)
    if same:
        found = arithmetic.logical_or(found, arithmetic.logical_and(arithmetic.isnan(x), arithmetic.isnan(y)))
    return reduction.all(found)


def array_equiv(a1: Any, a2: Any) -> Tensor:
    """Return whether two arrays broadcast to one shape and have the same elements there."""
    x, y = array_like("array_equiv", a1, "a1"), array_like("array_equiv", a2, "a2")
    try:
        broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return constant(False, BOOL)
    return reduction.all(arithmetic.equal(x, y))


def isscalar(element: Any) -> bool:
    """Return whether a value is a number or a string, not an array."""
    return isinstance(element, (bool, int, float, complex, str, np.generic)) or getattr(element, "is_run_time_number", False)
