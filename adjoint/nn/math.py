"""Layers that are one function of `ops`."""

from __future__ import annotations

import math

import numpy as np

from adjoint.ir.types import BOOL, F16, F32, I32
from adjoint.nn.checks import boolean, floating, number, positive_number, tensor_argument
from adjoint.ops import diagonals, reduction, special
from adjoint.ops.arguments import check_memory, sizes_argument
from adjoint.ops.generated import digamma, igamma, lgamma
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["DiGamma", "IGamma", "L1Regularizer", "LBeta", "LGamma", "Moments", "Norm", "Range", "ReduceLogSumExp", "Tril", "Triu"]


class Norm(Cell):
    """The root of the sum of squares over axes.

    axis  an int or several; (): all
    """

    def __init__(self, axis: int | tuple[int, ...] = (), keep_dims: bool = False):
        super().__init__()
        sizes_argument("Norm", "axis", axis, least=None)
        self.axis, self.keep_dims = axis, boolean(self, "keep_dims", keep_dims)

    def construct(self, x: Tensor) -> Tensor:
        return reduction.norm(tensor_argument(self, "x", x), None, None if self.axis == () else self.axis, self.keep_dims)

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class ReduceLogSumExp(Cell):
    """log(sum(exp(x))) over axes, without overflow.

    axis  an int or several; (): all
    """

    def __init__(self, axis: int | tuple[int, ...] | list[int], keep_dims: bool = False):
        super().__init__()
        sizes_argument("ReduceLogSumExp", "axis", axis, least=None)
        self.axis, self.keep_dims = axis, boolean(self, "keep_dims", keep_dims)

    def construct(self, x: Tensor) -> Tensor:
        return reduction.logsumexp(floating(self, "x", x), self.axis, self.keep_dims)


class Moments(Cell):
    """The mean and the variance over axes, (mean, variance), of Float16 or Float32.

    axis       an int or several; None: all
    keep_dims  True to keep the axes, of size 1
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None, keep_dims: bool | None = None):
        super().__init__()
        if axis is not None:
            sizes_argument("Moments", "axis", axis, least=None)
        self.axis = axis
        self.keep_dims = False if keep_dims is None else boolean(self, "keep_dims", keep_dims)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if tensor_argument(self, "x", x).dtype not in (F16, F32):
            raise TypeError(f"For 'Moments', the argument 'x' must be of dtype Float16 or Float32, but got {x.dtype}.")
        wide = x.astype(F32)
        mean = reduction.mean(wide, self.axis, True)
        variance = reduction.mean((wide - mean) ** 2, self.axis, self.keep_dims)
        return reduction.mean(wide, self.axis, self.keep_dims).astype(x.dtype), variance.astype(x.dtype)


class Tril(Cell):
    """The lower triangle of matrices in the last two axes; the elements above the diagonal `k` are 0."""

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return diagonals.tril(x, k)


class Triu(Cell):
    """The upper triangle of matrices in the last two axes; the elements below the diagonal `k` are 0."""

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return diagonals.triu(x, k)


class L1Regularizer(Cell):
    """scale * sum(|weights|)."""

    def __init__(self, scale: float):
        super().__init__()
        self.scale = Tensor(positive_number(self, "scale", scale), F32)

    def construct(self, weights: Tensor) -> Tensor:
        if tensor_argument(self, "weights", weights).dtype is BOOL:
            raise TypeError("For 'L1Regularizer', the argument 'weights' must be a Tensor of numbers, but got Bool.")
        return self.scale * weights.abs().sum()


class Range(Cell):
    """The numbers from `start` to `limit`, exclusive, `delta` apart; with one number those from 0 to it, exclusive.

    Int32, or Float32 if one of the numbers is a float.
    """

    def __init__(self, start: float, limit: float | None = None, delta: float = 1):
        super().__init__()
        if number(self, "delta", delta) == 0:
            raise ValueError("For 'Range', the argument 'delta' must not be 0.")
        number(self, "start", start)
        first, last = (0, start) if limit is None else (start, limit)
        number(self, "limit", last)
        count = (last - first) / delta
        if not math.isfinite(count):
            raise ValueError(f"For 'Range', the argument 'limit' must be reached from {first} in steps of {delta}, but got {last}.")
        check_memory("Range", f"{count:.0f} numbers", 8 * count)
        values = np.arange(first, last, delta)
        self.result_tensor = Tensor(values, F32 if values.dtype.kind == "f" else I32)

    def construct(self) -> Tensor:
        return self.result_tensor


class LGamma(Cell):
    """The logarithm of |gamma(x)|, of a Tensor of a floating point type."""

    def construct(self, x: Tensor) -> Tensor:
        return lgamma(floating(self, "x", x))


class DiGamma(Cell):
    """The derivative of the logarithm of gamma(x), of a Tensor of a floating point type."""

    def construct(self, x: Tensor) -> Tensor:
        return digamma(floating(self, "x", x))


class IGamma(Cell):
    """The regularised lower incomplete gamma function of two Tensors of one dtype, Float32 or Float64."""

    def construct(self, a: Tensor, x: Tensor) -> Tensor:
        return igamma(floating(self, "a", a), floating(self, "x", x))


class LBeta(Cell):
    """The logarithm of the beta function of two Tensors of one floating point type."""

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return special.log_beta(floating(self, "x", x), floating(self, "y", y))
