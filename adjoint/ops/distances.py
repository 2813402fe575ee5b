"""Products of vectors, covariances, and distances between vectors.

Raise TypeError for what is not a Tensor, ValueError for shapes and numbers that do not fit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops import complex as complex_numbers
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.types import BF16, BOOL, F16, F32, I64
from adjoint.ops.arguments import (
    ArgumentMistake,
    axis_argument,
    dimension,
    float_only,
    float_tensor,
    integer,
    number,
    operand,
    real,
    single,
    wrong,
)
from adjoint.ops.arithmetic import abs, flat_power, greater, maximum, not_equal, pow, root_of_sum, square, where
from adjoint.ops.creation import arange
from adjoint.ops.linear import bias_add, matmul
from adjoint.ops.linear import product as matrix_product
from adjoint.ops.parts import flip, stack, unstack
from adjoint.ops.reduction import amax, power_norm, sum
from adjoint.ops.shapes import expand_dims, permute, reshape, squeeze
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["addr", "bidense", "cdist", "cov", "cross", "dist", "kron", "pdist", "renorm", "vander", "vecdot"]

# Products ------------------------------------------------------------------------------------------------------------


@fusible
def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * x + alpha * (vec1 outer vec2); of integers with whole factors."""
    op = "Addr"
    given, first, second = operand(op, x, "x"), operand(op, vec1, "vec1"), operand(op, vec2, "vec2")
    for name, v in (("vec1", first), ("vec2", second)):
        if v.ndim != 1:
            raise wrong(op, name, "of 1 dimension", v)
        if v.dtype is not first.dtype:
            raise wrong(op, name, f"of the dtype of 'vec1', {first.dtype}", v, TypeError)
    factors = [number(op, name, value) for name, value in (("beta", beta), ("alpha", alpha))]
    if given.dtype.is_integer:
        factors = [int(real(op, name, factor)) for name, factor in zip(("beta", "alpha"), factors, strict=True)]
    return given * factors[0] + matmul(reshape(first, (-1, 1)), reshape(second, (1, -1))) * factors[1]


@fusible
def kron(input: Any, other: Any) -> Tensor:
    """Return the Kronecker product: each element of `input` times the whole of `other`, in blocks."""
    x, y = operand("Kron", input), operand("Kron", other, "other")
    rank = max(x.ndim, y.ndim)
    if rank > 4:
        raise wrong("Kron", "input", "of at most 4 dimensions, as 'other'", (x.shape, y.shape))
    first, second = ((*(1,) * (rank - t.ndim), *t.shape) for t in (x, y))
    # Axis i of `input` becomes axis 2 i, and axis i of `other` axis 2 i + 1: each pair is merged into one axis.
    spread = reshape(x, [n for size in first for n in (size, 1)]) * reshape(y, [n for size in second for n in (1, size)])
    return reshape(spread, tuple(n * m for n, m in zip(first, second, strict=True)))


@fusible
def vecdot(x: Any, y: Any, *, axis: int = -1) -> Tensor:
    """Return the inner products of vectors along an axis, with the conjugates of `x` if it is complex; of integers in Int64."""
    first, second = operand("VecDot", x, "x"), operand("VecDot", y, "y")
    found = (apply(made(complex_numbers.Conjugate), first) if first.dtype.is_complex else first) * second
    return sum(found, dimension("VecDot", axis, found, tensor="x"))


@fusible
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """Return the cross products of vectors of 3 along an axis; by default the first axis of size 3."""
    a, b = operand("Cross", input), operand("Cross", other, "other")
    if a.shape != b.shape:
        raise wrong("Cross", "other", f"of the shape of 'input', {a.shape}", b)
    if a.dtype is BOOL or b.dtype is BOOL:
        raise wrong("Cross", "input", "a Tensor of numbers, as 'other'", a, TypeError)
    if dim is None:
        dim = next((axis for axis, size in enumerate(a.shape) if size == 3), None)
    if dim is None:
        raise wrong("Cross", "input", "of 3 elements along an axis", a)
    along = dimension("Cross", dim, a, "dim")
    if a.shape[along] != 3:
        raise wrong("Cross", "dim", "an axis of 3 elements", dim)
    u, v = unstack(a, along), unstack(b, along)
    return stack((u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]), along)


@fusible
def vander(x: Any, N: int | None = None) -> Tensor:
    """Return the Vandermonde matrix: the powers N - 1 to 0 of each element of a vector as a row; by default N is the vector's length."""
    column = operand("Vander", x, "x")
    if column.ndim != 1:
        raise wrong("Vander", "x", "of 1 dimension", column)
    count = column.size if N is None else integer("Vander", "N", N)
    if not 0 < count < 2**24:
        raise wrong("Vander", "N", "in [1, 2**24)", count)
    return pow(expand_dims(column, 1), expand_dims(flip(arange(count), 0), 0))


@fusible
def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """Return x1^T W x2 + b for vectors in the last axes of two tensors [..., n] and [..., m], and each matrix W of the weight [k, n, m]."""
    op = "BiDense"
    first, second, w = operand(op, input1, "input1"), operand(op, input2, "input2"), operand(op, weight, "weight")
    b = None if bias is None else operand(op, bias, "bias")
    if w.ndim != 3:
        raise wrong(op, "weight", "of 3 dimensions", w)
    if not first.ndim or first.shape[-1:] != w.shape[1:2]:
        raise wrong(op, "input1", f"of {w.shape[1]} elements in the last axis, as axis 1 of 'weight'", first)
    if second.shape != (*first.shape[:-1], w.shape[2]):
        raise wrong(op, "input2", f"of shape {(*first.shape[:-1], w.shape[2])}", second)
    if b is not None and (b.dtype is not first.dtype or b.dtype is not second.dtype):
        raise wrong(op, "bias", f"of the dtype of 'input1' and 'input2', {first.dtype}", b, TypeError)
    n, m = w.shape[1:]
    rows = reshape(first, (-1, n)) if first.size else reshape(first, (first.size // n if n else 0, n))
    between = reshape(matmul(rows, reshape(permute(w, (1, 0, 2)), (n, -1))), (rows.shape[0], w.shape[0], m))
    found = sum(between * reshape(second, (rows.shape[0], 1, m)), -1)
    found = found if b is None else bias_add(found.astype(b.dtype, copy=False), b)
    return reshape(found, (*first.shape[:-1], w.shape[0]))


# Covariances ---------------------------------------------------------------------------------------------------------


@fusible
def cov(input: Any, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """Return the covariance matrix of variables, a row of observations for each; of integers in Float32.

    correction  what is subtracted from the number of observations
    fweights    how often each observation was made, integers
    aweights    the weight of each observation, floats
    """
    op = "Cov"
    x, less = operand(op, input), number(op, "correction", correction)
    if x.ndim > 2:
        raise wrong(op, "input", "of at most 2 dimensions", x)
    if x.dtype is BOOL or x.dtype.is_complex:
        raise wrong(op, "input", "a Tensor of real numbers", x, TypeError)
    x = reshape(x, (1, -1)) if x.ndim < 2 else x
    x = x if x.dtype.is_float and x.dtype not in (F16, BF16) else x.astype(F32)
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        by = operand(op, given, name)
        if by.dtype.is_float is (name == "fweights") or by.dtype is BOOL:
            raise wrong(op, name, f"a Tensor of {'integers' if name == 'fweights' else 'floats'}", by, TypeError)
        if by.shape != x.shape[1:]:
            raise wrong(op, name, f"of shape {x.shape[1:]}, a number for each observation", by)
        by = by.astype(x.dtype, copy=False)
        weights = by if weights is None else weights * by
    if weights is None:
        total: Any = float(x.shape[1])
        divisor: Any = max(total - less, 0.0)
    else:
        total = sum(weights)
        lost = less if aweights is None or not less else sum(weights * aweights.astype(x.dtype, copy=False)) / total * less
        divisor = maximum(total - lost, 0.0)
    apart = x - expand_dims(sum(x if weights is None else x * weights, 1) / total, 1)
    found = matrix_product(op, apart, apart if weights is None else apart * weights, tb=True)
    return squeeze(found / divisor)


# Distances -----------------------------------------------------------------------------------------------------------


def _length(apart: Tensor, order: float) -> Tensor:
    """Return (sum |d|**order)**(1/order) along the last axis, of 0 how many are not 0, of infinity the largest; `apart` holds |d|.

    The powers of two-byte floats are Float32, so that they neither overflow nor vanish where the length does not.
    """
    wide = single(apart)
    if wide is not apart:
        return _length(wide, order).astype(apart.dtype)
    if order == 0:
        return sum(not_equal(apart, 0).astype(apart.dtype), -1)
    if order == 1:
        return sum(apart, -1)
    if math.isinf(order):
        return amax(apart, -1)
    if order == 2:
        return root_of_sum(sum(square(apart), -1))
    return flat_power(sum(flat_power(apart, order), -1), 1.0 / order)


def distances(op: str, x1: Any, x2: Any, order: float) -> Tensor:
    """Return the distance of each row of [..., n, k] from each of [..., m, k]."""
    a, b = float_tensor(op, x1, "x1"), float_tensor(op, x2, "x2")
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise wrong(op, "x2", f"rows of {a.shape[-1] if a.ndim else 0} numbers, as 'x1'", b)
    if a.dtype is not b.dtype:
        raise wrong(op, "x2", f"of the dtype of 'x1', {a.dtype}", b, TypeError)
    if not order >= 0:
        raise wrong(op, "p", "at least 0", order)
    return _length(abs(expand_dims(a, -2) - expand_dims(b, -3)), order)


@fusible
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Tensor:
    """Return the distance of each row of [..., n, k] from each of [..., m, k]: (sum |d|**p)**(1/p); the maximum of |d| for inf, the number
    of nonzero d for 0.  The gradient of a distance of 0 is 0."""
    return distances("Cdist", x1, x2, float_only("Cdist", "p", p))


def pdist(input: Any, p: float = 2.0) -> Tensor:
    """Return the distance of each row of [n, k] from each later one, (0, 1), (0, 2), ..., (1, 2), ...: see `cdist`."""
    x, order = float_tensor("Pdist", input), float_only("Pdist", "p", p)
    if x.ndim != 2:
        raise wrong("Pdist", "input", "of 2 dimensions", x)
    if not order >= 0:
        raise wrong("Pdist", "p", "at least 0", order)
    rows = (Tensor(places, I64) for places in np.triu_indices(x.shape[0], 1))
    first, second = (apply(made(Gather, 0), x, places) for places in rows)
    return _length(abs(first - second), order)


@fusible
def dist(input: Any, other: Any, p: Any = 2) -> Tensor:
    """Return (sum |input - other|**p)**(1/p) over all elements; for tensors without dimensions their distance.

    p  an int of at least 0; for 0 it is the number of elements that differ
    """
    x, y = operand("Dist", input), operand("Dist", other, "other")
    apart, order = float_tensor("Dist", x - y), integer("Dist", "p", p)
    if order < 0:
        raise wrong("Dist", "p", "at least 0", order)
    if not apart.ndim:
        return abs(apart)
    return _length(abs(reshape(apart, (-1,))), float(order))


@fusible
def renorm(input: Any, p: int, axis: int, maxnorm: Any) -> Tensor:
    """Return the slices along an axis, those whose length (sum |x|**p)**(1/p) is above `maxnorm` scaled down to it."""
    x, order, most = float_tensor("Renorm", input), integer("Renorm", "p", p), real("Renorm", "maxnorm", maxnorm)
    if order < 1:
        raise wrong("Renorm", "p", "at least 1", order)
    if x.ndim < 2:
        raise wrong("Renorm", "input", "of at least 2 dimensions", x)
    if not -x.ndim <= integer("Renorm", "axis", axis) < x.ndim:
        raise wrong("Renorm", "axis", f"in [{-x.ndim}, {x.ndim})", axis, ArgumentMistake)
    if not most >= 0:
        raise wrong("Renorm", "maxnorm", "at least 0", most, ArgumentMistake)
    along = axis_argument("Renorm", axis, x.ndim)
    length = power_norm(x, float(order), tuple(a for a in range(x.ndim) if a != along), True)
    above = greater(length, most)
    return where(above, x * (most / where(above, length, 1.0)), x)
