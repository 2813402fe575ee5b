"""Norms of vectors and of matrices that span any axes, and how far matrices are from singular ones.

Raise TypeError for what is not a Tensor of real numbers, ValueError for orders and axes that do not fit.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.extremes import ReduceMax, ReduceMin
from adjoint.ir.ops.singular import SingularValues
from adjoint.ir.types import BOOL, DType
from adjoint.ops import reduction
from adjoint.ops.arguments import axes_argument, dtype_or, flag, floating, integer, operand, single, wrong
from adjoint.ops.arithmetic import where
from adjoint.ops.matrices import inverse
from adjoint.ops.shapes import moveaxis, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["cond", "matrix_norm", "vector_norm"]


def _numbers(op: str, x: Any, argument: str, dtype: Any) -> Tensor:
    given = operand(op, x, argument)
    if given.dtype is BOOL:
        raise wrong(op, argument, "a Tensor of numbers", given, TypeError)
    return floating(given.astype(dtype_or(op, dtype, given.dtype), copy=False))


def norm_of_vectors(op: str, x: Tensor, ord: Any, axes: tuple[int, ...], keep: bool) -> Tensor:
    """Return the norm of vectors that are spread over some axes: see `ops.norm`."""
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    last = tuple(range(len(kept), x.ndim))
    rows = x if axes == last else moveaxis(x, axes, last)
    if len(axes) != 1:
        rows = reshape(rows, (*(x.shape[a] for a in kept), math.prod(x.shape[a] for a in axes)))
    found = reduction.norm(rows, ord, -1)
    return reshape(found, tuple(1 if a in axes else d for a, d in enumerate(x.shape))) if keep else found


@fusible
def vector_norm(x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the norm of vectors over axes; without `axis`, of all elements as one vector.

    ord    a number p: (sum |x|**p)**(1/p); inf and -inf, the largest and the smallest size; 0, how many are not 0
    dtype  what the numbers are converted to before; integers count as Float32
    """
    op = "VectorNorm"
    given, keep = _numbers(op, x, "x", dtype), flag(op, "keepdims", keepdims)
    if not isinstance(ord, (int, float)):
        raise wrong(op, "ord", "a number", repr(ord))
    return norm_of_vectors(op, given, float(ord), axes_argument(op, axis, given.ndim), keep)


@fusible
def matrix_norm(A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Return the norm of matrices, whose rows lie along the first of two axes.

    ord    "fro", the root of the sum of squares; 1, -1, the largest and the smallest sum of sizes in a column; inf and -inf, in a row;
           2 and -2, the largest and the smallest singular value; "nuc", the sum of all
    dtype  what the numbers are converted to before; integers count as Float32
    """
    op = "MatrixNorm"
    given, keep = _numbers(op, A, "A", dtype), flag(op, "keepdims", keepdims)
    if not isinstance(axis, (tuple, list)):
        raise wrong(op, "axis", "a tuple of two ints", axis, TypeError)
    if len(axis) != 2:
        raise wrong(op, "axis", "two axes", tuple(axis))
    _check_order(op, "ord", ord)
    axes_argument(op, tuple(axis), given.ndim)  # two different ones
    rows, columns = (integer(op, "axis", a) % given.ndim for a in axis)
    found = reduction.norm(moveaxis(given, (rows, columns), (-2, -1)), ord, (-2, -1))
    return reshape(found, tuple(1 if a in (rows, columns) else d for a, d in enumerate(given.shape))) if keep else found


def _check_order(op: str, argument: str, ord: Any) -> None:
    if isinstance(ord, bool) or not isinstance(ord, (int, float, str)) or ord not in (2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc"):
        raise wrong(op, argument, "'fro', 'nuc', 1, -1, 2, -2, inf or -inf", repr(ord))


@fusible
def cond(A: Any, p: Any = None) -> Tensor:
    """Return the condition number of matrices [..., n, n]: the norm of each times that of its inverse.

    p  the norm: None and 2, the largest singular value divided by the smallest; -2, that the other way; or as `ord` of `matrix_norm`

    By None, 2 and -2 a singular matrix has an infinite one, or 0; other norms raise what `inverse` raises for it.
    """
    op = "Cond"
    x = operand(op, A, "A")
    if not x.dtype.is_inexact:
        raise wrong(op, "A", "a Tensor of a floating point or complex type", x, TypeError)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise wrong(op, "A", "square matrices", x)
    if p is not None:
        _check_order(op, "p", p)
    if p is None or p in (2, -2):
        if not x.shape[-1]:
            raise wrong(op, "A", "matrices with elements", x)
        values = apply(made(SingularValues), single(x))
        axis = (values.ndim - 1,)
        largest, smallest = (apply(made(kind, axis, False), values) for kind in (ReduceMax, ReduceMin))
        one, other, singular = (smallest, largest, 0.0) if p == -2 else (largest, smallest, math.inf)
        return where(smallest == 0, singular, one / where(smallest == 0, 1.0, other)).astype(x.dtype.part, copy=False)
    return reduction.norm(x, p, (-2, -1)) * reduction.norm(inverse(x), p, (-2, -1))
