"""Products of vectors and matrices, norms, covariances, convolution of vectors.

Raise TypeError for anything but arrays, ValueError for shapes that do not fit.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from adjoint.ir.types import F32, F64
from adjoint.numpy.conversion import array_like, in_dtype, joined, real_array_like
from adjoint.numpy.dtypes import promoted_dtype
from adjoint.numpy.elementwise import clip
from adjoint.numpy.reductions import average
from adjoint.numpy.triangles import eye
from adjoint.ops import arithmetic, distances, linear, parts, reduction
from adjoint.ops.arguments import axes_argument, axis_argument, flag, integer, operand, wrong
from adjoint.ops.convolution import conv1d
from adjoint.ops.diagonals import diagonal
from adjoint.ops.shapes import broadcast_to, expand_dims, moveaxis, reshape, squeeze, swapaxes
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "convolve", "corrcoef", "correlate", "cov", "cross", "dot", "inner", "kron", "matmul", "matrix_power", "multi_dot", "norm", "outer",
    "tensordot",
]

# Products ------------------------------------------------------------------------------------------------------------


def dot(a: Any, b: Any) -> Tensor:
    """Return the product over the last axis of `a` and the second to last of `b`; for numbers the ordinary product."""
    x, y = operand("dot", a, "a"), operand("dot", b, "b")
    return x * y if x.ndim == 0 or y.ndim == 0 else linear.dot(x, y)


def inner(a: Any, b: Any) -> Tensor:
    """Return the product over the last axes of both; for numbers the ordinary product."""
    return linear.inner(operand("inner", a, "a"), operand("inner", b, "b"))


def outer(a: Any, b: Any) -> Tensor:
    """Return the product of each element of one array with each of another, both flattened."""
    return linear.outer(reshape(operand("outer", a, "a"), (-1,)), reshape(operand("outer", b, "b"), (-1,)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Return the sum of products over pairs of axes: a number of the last axes of `a` and first axes of `b`, or the axes in two tuples."""
    return linear.tensor_dot(operand("tensordot", a, "a"), operand("tensordot", b, "b"), axes)


def matmul(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Return the product of matrices, like `@`: a vector is a row on the left and a column on the right; leading axes are broadcast."""
    return in_dtype(linear.matmul(operand("matmul", x1, "x1"), operand("matmul", x2, "x2")), dtype)


def kron(a: Any, b: Any) -> Tensor:
    """Return the Kronecker product: each element of `a` times the whole of `b`, in blocks."""
    return distances.kron(array_like("kron", a, "a"), array_like("kron", b, "b"))


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Tensor:
    """Return the cross products of vectors of 2 or 3 elements along an axis; for two vectors of 2, only the third component.

    axis  replaces `axisa`, `axisb` and `axisc`, the axis of the products
    """
    x, y = joined(array_like("cross", a, "a"), array_like("cross", b, "b"))
    if axis is not None:
        axisa = axisb = axisc = axis
    x = moveaxis(x, axis_argument("cross", axisa, x.ndim, "axisa"), -1)
    y = moveaxis(y, axis_argument("cross", axisb, y.ndim, "axisb"), -1)
    if not {x.shape[-1:], y.shape[-1:]} <= {(2,), (3,)}:
        raise wrong("cross", "a", "vectors of 2 or 3, as 'b'", (x.shape, y.shape))
    u, v = parts.unstack(x, -1), parts.unstack(y, -1)
    upright = u[0] * v[1] - u[1] * v[0]
    if len(u) == len(v) == 2:
        return upright
    u, v = ((*t, t[0] - t[0]) if len(t) == 2 else t for t in (u, v))
    across = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], upright)
    rank = across[0].ndim + 1
    return parts.stack(across, axis_argument("cross", axisc, rank, "axisc"))


def matrix_power(a: Any, n: Any) -> Tensor:
    """Return the product of `n` copies of square matrices, by repeated squaring; raise ValueError for a negative `n`."""
    x, times = array_like("matrix_power", a, "a"), integer("matrix_power", "n", n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise wrong("matrix_power", "a", "square matrices", x)
    if times < 0:
        raise wrong("matrix_power", "n", "at least 0", times)
    result = None
    while times:
        if times & 1:
            result = x if result is None else linear.matmul(result, x)
        times >>= 1
        x = linear.matmul(x, x) if times else x
    return broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape) if result is None else result


def multi_dot(arrays: Any) -> Tensor:
    """Return the product of a chain of matrices, in the order with the fewest multiplications; the first and the last may be vectors."""
    if isinstance(arrays, (tuple, list)):
        chain = [array_like("multi_dot", x, "arrays") for x in arrays]
    else:
        chain = list(parts.unstack(array_like("multi_dot", arrays, "arrays")))
    if len(chain) < 2:
        raise wrong("multi_dot", "arrays", "at least 2 arrays", len(chain))
    if len(chain) == 2:
        return dot(*chain)
    kept = (*chain[0].shape[:-1], *chain[-1].shape[1:])
    chain[0] = reshape(chain[0], (1, -1)) if chain[0].ndim == 1 else chain[0]
    chain[-1] = reshape(chain[-1], (-1, 1)) if chain[-1].ndim == 1 else chain[-1]
    for before, after in itertools.pairwise(chain):
        if before.ndim != 2 or after.ndim != 2 or before.shape[1] != after.shape[0]:
            raise wrong("multi_dot", "arrays", "matrices, each with as many columns as the next has rows", [x.shape for x in chain])
    return reshape(_chain_product(chain), kept)


def _chain_product(chain: list[Tensor]) -> Tensor:
    """Return the product in the order with the fewest multiplications, by dynamic programming over the lengths of parts of the chain."""
    sizes = [chain[0].shape[0], *(x.shape[1] for x in chain)]
    cost = {(i, i): 0 for i in range(len(chain))}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, len(chain)):
        for i in range(len(chain) - length):
            j = i + length
            options = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            cut[i, j] = min(options, key=options.__getitem__)
            cost[i, j] = options[cut[i, j]]

    def multiplied(i: int, j: int) -> Tensor:
        return chain[i] if i == j else linear.matmul(multiplied(i, cut[i, j]), multiplied(cut[i, j] + 1, j))

    return multiplied(0, len(chain) - 1)


# Norms ---------------------------------------------------------------------------------------------------------------


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the norm of vectors along one axis or of matrices in two; without an axis, of a vector, a matrix or, without `ord`, any array.

    ord  for vectors None, a number, inf or -inf; for matrices None, "fro", 1, -1, inf or -inf: see `ops.norm`

    The result is Float32 for integers, and also for vectors of Float16, except norms that are one of the elements.
    """
    given = array_like("norm", x)
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise wrong("norm", "ord", "None, 'fro' or a number", repr(ord))
    if ord is not None and not isinstance(ord, (str, int, float)):
        raise wrong("norm", "ord", "None, 'fro' or a number", repr(ord))
    axes = axes_argument("norm", axis, given.ndim)
    if axis is None and ord is not None and given.ndim not in (1, 2):
        raise wrong("norm", "x", "of 1 or 2 dimensions where 'axis' is None", given)
    if axis is not None and len(axes) not in (1, 2):
        raise wrong("norm", "axis", "one axis or two", axis)
    if len(axes) == 1 and isinstance(ord, str):
        raise wrong("norm", "ord", "None or a number for vectors", repr(ord))
    if len(axes) == 2 and ord is not None and (ord == "nuc" or ord in (2, -2)):
        raise NotImplementedError(f"For 'norm', 'ord' of {ord!r} is not supported for matrices, as in MindSpore: ops.norm has it.")
    if not given.dtype.is_float or (len(axes) == 1 and ord not in (math.inf, -math.inf)):
        given = given.astype(promoted_dtype(given.dtype, F32), copy=False)
    return reduction.norm(given, ord, tuple(axes) if axis is not None or ord is not None else None, flag("norm", "keepdims", keepdims))


# Covariance ----------------------------------------------------------------------------------------------------------


def _variables(op: str, argument: str, x: Any, rowvar: bool) -> Tensor:
    """Return observations of variables, one row for each variable: Float32, or Float64 for Float64."""
    given = real_array_like(op, x, argument)
    if given.ndim > 2:
        raise wrong(op, argument, "of at most 2 dimensions", given)
    if not given.size:
        raise wrong(op, argument, "at least one observation", given)
    given = given if given.dtype is F64 else given.astype(F32, copy=False)
    rows = reshape(given, (1, -1)) if given.ndim < 2 else given
    return rows if rowvar or rows.shape[0] == 1 else swapaxes(rows, 0, 1)


def _counts(op: str, argument: str, weights: Any, observations: int) -> Tensor:
    found = array_like(op, weights, argument)
    if not found.dtype.is_integer:
        raise wrong(op, argument, "of integers", found, TypeError)
    if found.ndim != 1 or found.size != observations:
        raise wrong(op, argument, f"of {observations} numbers, one for each observation", found, RuntimeError)
    return arithmetic.abs(found.astype(F32))


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None, aweights: Any = None,
    dtype: Any = None,
) -> Tensor:
    """Return the covariance matrix of variables; Float32, or Float64 for Float64.

    m, y      observations: a row for each variable, or a column unless `rowvar`; those of `y` are additional variables
    bias      True to divide by the number of observations, not by that less 1; `ddof`, if given, is subtracted instead of 1
    fweights  how often each observation was made, integers
    aweights  the weight of each observation, integers
    """
    by_rows = flag("cov", "rowvar", rowvar)
    x = _variables("cov", "m", m, by_rows)
    if y is not None:
        x = parts.concat(joined(x, _variables("cov", "y", y, by_rows)), 0)
    less = (0 if flag("cov", "bias", bias) else 1) if ddof is None else integer("cov", "ddof", ddof)
    times = None if fweights is None else _counts("cov", "fweights", fweights, x.shape[1])
    worth = None if aweights is None else _counts("cov", "aweights", aweights, x.shape[1])
    weights = times if worth is None else worth if times is None else times * worth
    divisor: Any = x.shape[1] - less
    if weights is not None:
        weights = weights.astype(x.dtype, copy=False)
        divisor = total = weights.sum()
        if less:
            divisor = total - (less if worth is None else less * (weights * worth).sum() / total)
    apart = x - expand_dims(average(x, 1, weights), -1)
    found = linear.product("cov", apart, apart if weights is None else apart * weights, tb=True) / divisor
    return in_dtype(squeeze(found), dtype)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    """Return the matrix of correlations of variables, between -1 and 1: see `cov`."""
    found = cov(x, y, rowvar)
    if found.ndim == 0:
        return in_dtype(found / found, dtype)
    deviation = arithmetic.sqrt(diagonal(found))
    return in_dtype(clip(found / expand_dims(deviation, -1) / expand_dims(deviation, 0), -1, 1), dtype)


# Convolution of vectors ----------------------------------------------------------------------------------------------


def _sliding(op: str, line: Tensor, window: Tensor, mode: Any) -> Tensor:
    """Return the sums of products of a window with each position along a line that is at least as long."""
    if mode not in ("full", "same", "valid"):
        raise wrong(op, "mode", "'full', 'same' or 'valid'", repr(mode))
    n = window.size
    before, after = {"full": (n - 1, n - 1), "same": (n // 2, n - 1 - n // 2), "valid": (0, 0)}[mode]
    framed = parts.framed(line, ((before, after),), 0)
    found = conv1d(reshape(framed, (1, 1, -1)), reshape(window, (1, 1, -1)))
    return reshape(found, (-1,))


def _two_lines(op: str, a: Any, v: Any) -> tuple[Tensor, Tensor]:
    x, y = array_like(op, a, "a"), array_like(op, v, "v")
    if not x.size or not y.size or x.ndim > 1 or y.ndim > 1:
        raise wrong(op, "a", "of 1 dimension, with elements, as 'v'", (x.shape, y.shape))
    line, window = joined(reshape(x, (-1,)), reshape(y, (-1,)))
    return line, window


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """Return the convolution of two vectors.

    mode  "full": wherever they overlap; "same": as many as the longer has elements; "valid": where they overlap completely
    """
    x, y = _two_lines("convolve", a, v)
    wide = x.dtype if x.dtype.is_inexact else F64
    long, short = (y, x) if x.size < y.size else (x, y)
    found = _sliding("convolve", long.astype(wide, copy=False), parts.flip(short.astype(wide, copy=False), 0), mode)
    return found.astype(x.dtype, copy=False)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """Return the cross-correlation of two vectors; Float32 for integers.  `mode` as for `convolve`."""
    x, y = (t if t.dtype.is_inexact else t.astype(F32) for t in _two_lines("correlate", a, v))
    if x.size >= y.size:
        return _sliding("correlate", x, y, mode)
    # Sliding along the longer vector visits the positions in the opposite order.
    return parts.flip(_sliding("correlate", y, x, mode), 0)
