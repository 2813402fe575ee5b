"""Functions of each element of a sparse matrix that is kept: `ops.coo_sin`, `ops.csr_relu`.

Elements that are not kept stay 0, also where the function of 0 is another number, as for `coo_cos`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ops.activations import relu, relu6, softsign
from adjoint.ops.arithmetic import round as rounded
from adjoint.ops.floats import inv
from adjoint.ops.generated import (
    absolute,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    exp,
    expm1,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    neg,
    sigmoid,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
)
from adjoint.ops.sparse import COOTensor, CSRTensor, check_matrix

__all__ = [
    "coo_abs", "coo_acos", "coo_acosh", "coo_asin", "coo_asinh", "coo_atan", "coo_atanh", "coo_ceil", "coo_cos", "coo_cosh", "coo_exp",
    "coo_expm1", "coo_floor", "coo_inv", "coo_isfinite", "coo_isinf", "coo_isnan", "coo_log", "coo_log1p", "coo_neg", "coo_relu",
    "coo_relu6", "coo_round", "coo_sigmoid", "coo_sin", "coo_sinh", "coo_softsign", "coo_sqrt", "coo_square", "coo_tan", "coo_tanh",
    "csr_abs", "csr_acos", "csr_acosh", "csr_asin", "csr_asinh", "csr_atan", "csr_atanh", "csr_ceil", "csr_cos", "csr_cosh", "csr_exp",
    "csr_expm1", "csr_floor", "csr_inv", "csr_isfinite", "csr_isinf", "csr_isnan", "csr_log", "csr_log1p", "csr_neg", "csr_relu",
    "csr_relu6", "csr_round", "csr_sigmoid", "csr_sin", "csr_sinh", "csr_softsign", "csr_sqrt", "csr_square", "csr_tan", "csr_tanh",
]


def _both(name: str, function: Callable[[Any], Any]) -> tuple[Callable[[COOTensor], COOTensor], Callable[[CSRTensor], CSRTensor]]:
    """Return `coo_NAME` and `csr_NAME`, which apply a function to the elements of a matrix."""

    def of(kind: type, prefix: str) -> Callable[[Any], Any]:
        def applied(x: Any) -> Any:
            check_matrix(f"{prefix}_{name}", "x", x, kind)
            return x.with_values(function(x.values))

        applied.__name__ = applied.__qualname__ = f"{prefix}_{name}"
        applied.__doc__ = (f"Return a {kind.__name__} with `ops.{name}` of each element of x that is kept.\n\n"
                           f"TypeError for anything but a {kind.__name__}.")
        return applied

    return of(COOTensor, "coo"), of(CSRTensor, "csr")


coo_abs, csr_abs = _both("abs", absolute)
coo_acos, csr_acos = _both("acos", acos)
coo_acosh, csr_acosh = _both("acosh", acosh)
coo_asin, csr_asin = _both("asin", asin)
coo_asinh, csr_asinh = _both("asinh", asinh)
coo_atan, csr_atan = _both("atan", atan)
coo_atanh, csr_atanh = _both("atanh", atanh)
coo_ceil, csr_ceil = _both("ceil", ceil)
coo_cos, csr_cos = _both("cos", cos)
coo_cosh, csr_cosh = _both("cosh", cosh)
coo_exp, csr_exp = _both("exp", exp)
coo_expm1, csr_expm1 = _both("expm1", expm1)
coo_floor, csr_floor = _both("floor", floor)
coo_inv, csr_inv = _both("inv", inv)
coo_isfinite, csr_isfinite = _both("isfinite", isfinite)
coo_isinf, csr_isinf = _both("isinf", isinf)
coo_isnan, csr_isnan = _both("isnan", isnan)
coo_log, csr_log = _both("log", log)
coo_log1p, csr_log1p = _both("log1p", log1p)
coo_neg, csr_neg = _both("neg", neg)
coo_relu, csr_relu = _both("relu", relu)
coo_relu6, csr_relu6 = _both("relu6", relu6)
coo_round, csr_round = _both("round", rounded)
coo_sigmoid, csr_sigmoid = _both("sigmoid", sigmoid)
coo_sin, csr_sin = _both("sin", sin)
coo_sinh, csr_sinh = _both("sinh", sinh)
coo_softsign, csr_softsign = _both("softsign", softsign)
coo_sqrt, csr_sqrt = _both("sqrt", sqrt)
coo_square, csr_square = _both("square", square)
coo_tan, csr_tan = _both("tan", tan)
coo_tanh, csr_tanh = _both("tanh", tanh)
