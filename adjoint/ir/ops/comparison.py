"""Comparison of numbers, and tests for NaN and infinity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from adjoint.ir.op import operation, sample
from adjoint.ir.ops.elementwise import (
    ANY,
    F32_23,
    PLAIN_FORMS,
    REAL,
    Array,
    Binary,
    Unary,
    on_integers,
)
from adjoint.ir.public import Public
from adjoint.ir.types import BOOL, F32, I32, U8, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Expr, Kernel

__all__ = [
    "Comparison", "Equal", "Greater", "GreaterEqual", "Inspection", "IsFinite", "IsInf", "IsNan", "Less",
    "LessEqual", "NotEqual",
]


class Comparison(Binary):
    """A comparison of numbers: the result is a bool, without gradient."""

    accepts = REAL
    forms = PLAIN_FORMS
    yields = BOOL
    samples = (
        sample(F32_23, F32_23, smooth=False, note="a step"),
        sample(F32_23, tensor(F32), smooth=False, note="a step"),
        sample(tensor(F32, (4,)), tensor(F32, (4,)), values={0: [1.0, 0.0, math.nan, 2.0], 1: [1.0, -0.0, math.nan, 1.0]},
               smooth=False, note="a step"),
        sample(tensor(F32, (0, 3)), tensor(F32, (3,)), smooth=False, note="a step"),
        *on_integers(2, I32, U8, BOOL),
    )


@operation
class Less(Comparison):
    """x < y; false where one is NaN.

    x, y      T[s] and T[t], any dtype but a complex one, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("less(input, other)", functions="lt tensor_lt", methods="less lt")
    cuts = "less is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.less(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.less(x, y)


@operation
class LessEqual(Comparison):
    """x <= y; false where one is NaN.

    x, y      T[s] and T[t], any dtype but a complex one, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("less_equal(input, other)", functions="le tensor_le", methods="less_equal le")
    cuts = "less_equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.less_equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.less_equal(x, y)


@operation
class Greater(Comparison):
    """x > y; false where one is NaN.

    x, y      T[s] and T[t], any dtype but a complex one, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("greater(input, other)", functions="gt tensor_gt", methods="greater gt")
    cuts = "greater is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.greater(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.greater(x, y)


@operation
class GreaterEqual(Comparison):
    """x >= y; false where one is NaN.

    x, y      T[s] and T[t], any dtype but a complex one, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("greater_equal(input, other)", functions="ge tensor_ge", methods="greater_equal ge")
    cuts = "greater_equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.greater_equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.greater_equal(x, y)


@operation
class Equal(Comparison):
    """x == y; false where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("equal(input, other)", functions="eq", methods="equal eq")
    accepts = ANY
    cuts = "equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.equal(x, y)


@operation
class NotEqual(Comparison):
    """x != y; true where one is NaN.

    x, y      T[s] and T[t], any dtype, shapes that broadcast
    result    bool[broadcast]
    gradient  none: piecewise constant
    errors    TypeError: dtypes differ; ValueError: shapes do not broadcast
    """

    public = Public("not_equal(input, other)", functions="ne", methods="not_equal ne")
    accepts = ANY
    cuts = "not_equal is piecewise constant"
    pack = "compare"

    def reference(self, x: Array, y: Array) -> Array:
        return np.not_equal(x, y)

    def scalar(self, k: Kernel, x: Expr, y: Expr) -> Expr:
        return k.not_equal(x, y)


class Inspection(Unary):
    """A test of each number: the result is a bool, without gradient."""

    accepts = ANY
    yields = BOOL
    samples = (
        sample(tensor(F32, (5,)), values={0: [0.0, math.nan, math.inf, -math.inf, 1.0]}, smooth=False, note="a step"),
        sample(tensor(F32, (0, 3)), smooth=False, note="a step"),
        *on_integers(1, I32, U8, BOOL),
    )


@operation
class IsNan(Inspection):
    """Whether x is NaN; an integer or a bool never is, a complex number if one of its parts is.

    x         T[s], T any dtype
    result    bool[s]
    gradient  none: piecewise constant
    errors    none
    """

    public = Public("isnan(input)")
    cuts = "is_nan is piecewise constant"
    pack = "compare"

    def reference(self, x: Array) -> Array:
        return np.isnan(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("isnan", x) if x.dtype.is_inexact else k.literal(False, BOOL)


@operation
class IsInf(Inspection):
    """Whether x is infinite; an integer or a bool never is, a complex number if one of its parts is.

    x         T[s], T any dtype
    result    bool[s]
    gradient  none: piecewise constant
    errors    none
    """

    public = Public("isinf(input)")
    cuts = "is_inf is piecewise constant"
    pack = "compare"

    def reference(self, x: Array) -> Array:
        return np.isinf(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("isinf", x) if x.dtype.is_inexact else k.literal(False, BOOL)


@operation
class IsFinite(Inspection):
    """Whether x is neither infinite nor NaN; an integer or a bool always is, a complex number if both parts are.

    x         T[s], T any dtype
    result    bool[s]
    gradient  none: piecewise constant
    errors    none
    """

    public = Public("isfinite(input)")
    cuts = "is_finite is piecewise constant"
    pack = "compare"

    def reference(self, x: Array) -> Array:
        return np.isfinite(x)

    def scalar(self, k: Kernel, x: Expr) -> Expr:
        return k.call("isfinite", x) if x.dtype.is_inexact else k.literal(True, BOOL)
