"""Operators as objects that reduce, or order, along axes."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops import cumulative
from adjoint.ir.ops.along import ArgMax, ArgMin
from adjoint.ir.ops.extremes import ReduceMax as ReduceMaxOp
from adjoint.ir.ops.extremes import ReduceMin as ReduceMinOp
from adjoint.ir.ops.sums import All, Any_, Mean, Prod, Sum
from adjoint.ir.types import BOOL, F32, F64, I32, I64, DType
from adjoint.ops import (
    arithmetic,
    counts,
    logsums,
    norms,
    ordering,
    picking,
    reduction,
    running,
    shapes,
)
from adjoint.ops.arguments import (
    axes_argument,
    axis_argument,
    dimension,
    dtype_or,
    flag,
    float_only,
    float_tensor,
    integer,
    operand,
    real,
    single,
    sizes_argument,
    wrong,
)
from adjoint.ops.primitive import Plain, Primitive
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = [
    "ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "Bincount", "Bucketize", "CountNonZero", "CumProd", "CumSum", "Cummax",
    "Cummin", "CumulativeLogsumexp", "EqualCount", "FloatStatus", "Histogram", "InTopK", "L2Loss", "L2Normalize", "ListDiff",
    "LowerBound", "LpNorm", "Median", "NthElement", "NuclearNorm", "Quantile", "ReduceAll", "ReduceAny", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceStd", "ReduceSum", "SearchSorted", "Sort", "TopK", "UpperBound",
]


class _Reduce(Primitive):
    """A reduction over `axis`: () or [] for all axes, an int, or several."""

    def __init__(self, keep_dims: bool = False):
        super().__init__(keep_dims=flag(type(self).__name__, "keep_dims", keep_dims))

    def _axes(self, x: Tensor, axis: Any) -> tuple[int, ...]:
        return axes_argument(self.name, axis, x.ndim)


class ReduceSum(_Reduce):
    """The sum over axes, in the operand's dtype.  With `skip_mode` an empty tuple of axes means none."""

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False):
        super().__init__(keep_dims)
        self.add_prim_attr("skip_mode", flag("ReduceSum", "skip_mode", skip_mode))

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceSum", x, "x")
        if self.skip_mode and isinstance(axis, (tuple, list)) and not axis:
            return arithmetic.identity(x)
        axes = self._axes(x, axis)
        return apply(made(Any_ if x.dtype is BOOL else Sum, axes, self.keep_dims), x)


class FloatStatus(Primitive):
    """Float32 of shape (1,): 1 when a number is not finite, else 0; raise TypeError for a tensor that is not of floats."""

    def __init__(self) -> None:
        super().__init__()

    def __call__(self, x: Any) -> Tensor:
        x = operand("FloatStatus", x, "x")
        if not x.dtype.is_float:
            raise wrong("FloatStatus", "x", "a Tensor of floats", x, TypeError)
        return arithmetic.logical_not(reduction.all(arithmetic.isfinite(x))).astype(F32).reshape((1,))


class ReduceMean(_Reduce):
    """The mean over axes; of integers in their dtype, truncated."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMean", x, "x")
        if x.dtype.is_float:
            return apply(made(Mean, self._axes(x, axis), self.keep_dims), x)
        return reduction.mean(x, axis, self.keep_dims)


class ReduceProd(_Reduce):
    """The product over axes, in the operand's dtype."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceProd", x, "x")
        axes = self._axes(x, axis)
        return apply(made(All if x.dtype is BOOL else Prod, axes, self.keep_dims), x)


class ReduceMax(_Reduce):
    """The largest element over axes; equal ones share the gradient."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMax", x, "x")
        axes = self._axes(x, axis)
        return apply(made(Any_ if x.dtype is BOOL else ReduceMaxOp, axes, self.keep_dims), x)


class ReduceMin(_Reduce):
    """The smallest element over axes; equal ones share the gradient."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        x = operand("ReduceMin", x, "x")
        axes = self._axes(x, axis)
        return apply(made(All if x.dtype is BOOL else ReduceMinOp, axes, self.keep_dims), x)


class ReduceAll(_Reduce):
    """Whether all elements over axes are true."""

    def __call__(self, input: Any, axis: Any = None) -> Tensor:
        return reduction.all(input, axis, self.keep_dims)


class ReduceAny(_Reduce):
    """Whether an element over axes is true."""

    def __call__(self, x: Any, axis: Any = ()) -> Tensor:
        return reduction.any(x, axis, self.keep_dims)


class _Argument(Primitive):
    """The index of an extreme along an axis."""

    place: Any

    def __init__(self, axis: int = -1, output_type: DType = I32):
        name = type(self).__name__
        super().__init__(axis=integer(name, "axis", axis), output_type=dtype_or(name, output_type, I32))

    def _found(self, x: Any) -> Tensor:
        x = operand(self.name, x, "input_x")
        place = axis_argument(self.name, self.axis, x.ndim)
        return apply(made(self.place, place, self.output_type), x) if x.ndim else constant(0, self.output_type)


class Argmax(_Argument):
    """The index of the largest element along an axis, the first of equal ones."""

    place = ArgMax

    def __call__(self, input_x: Any) -> Tensor:
        return self._found(input_x)


class Argmin(_Argument):
    """The index of the smallest element along an axis, the first of equal ones."""

    place = ArgMin

    def __call__(self, x: Any) -> Tensor:
        return self._found(x)


class ArgMaxWithValue(Primitive):
    """The index (Int64) of the largest element along an axis, and the element."""

    def __init__(self, axis: int = 0, keep_dims: bool = False):
        super().__init__(axis=integer("ArgMaxWithValue", "axis", axis), keep_dims=flag("ArgMaxWithValue", "keep_dims", keep_dims))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        values, places = reduction.chosen(ArgMax, input, self.axis, self.keep_dims, I64)
        return places, values


class ArgMinWithValue(Primitive):
    """The index (Int64) of the smallest element along an axis, and the element."""

    def __init__(self, axis: int = 0, keep_dims: bool = False):
        super().__init__(axis=integer("ArgMinWithValue", "axis", axis), keep_dims=flag("ArgMinWithValue", "keep_dims", keep_dims))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        values, places = reduction.chosen(ArgMin, input, self.axis, self.keep_dims, I64)
        return places, values


class CumSum(Primitive):
    """The running sum along an axis; `exclusive` leaves each element itself out, `reverse` runs from the end."""

    def __init__(self, exclusive: bool = False, reverse: bool = False):
        super().__init__(exclusive=flag("CumSum", "exclusive", exclusive), reverse=flag("CumSum", "reverse", reverse))

    def __call__(self, input: Any, axis: Any) -> Tensor:
        x = operand("CumSum", input)
        place = axis_argument("CumSum", axis, x.ndim)
        return apply(made(cumulative.CumSum, place, self.exclusive, self.reverse), x)


class CumProd(Primitive):
    """The running product along an axis; `exclusive` leaves each element itself out, `reverse` runs from the end."""

    def __init__(self, exclusive: bool = False, reverse: bool = False):
        super().__init__(exclusive=flag("CumProd", "exclusive", exclusive), reverse=flag("CumProd", "reverse", reverse))

    def __call__(self, x: Any, axis: Any) -> Tensor:
        given = operand("CumProd", x, "x")
        along = dimension("CumProd", axis, given, tensor="x")
        return running.from_an_end(given, along, lambda t: reduction.cumprod(t, along, given.dtype), 1.0, self.exclusive, self.reverse)


class CumulativeLogsumexp(Primitive):
    """log of the running sum of exp(x) along an axis; `exclusive` leaves each element itself out, `reverse` runs from the end."""

    def __init__(self, exclusive: bool = False, reverse: bool = False):
        super().__init__(exclusive=flag("CumulativeLogsumexp", "exclusive", exclusive),
                         reverse=flag("CumulativeLogsumexp", "reverse", reverse))

    def __call__(self, x: Any, axis: Any) -> Tensor:
        given = float_tensor("CumulativeLogsumexp", x, "x")
        along = dimension("CumulativeLogsumexp", axis, given, tensor="x")
        least = -arithmetic.LARGEST[given.dtype]
        return running.from_an_end(given, along, lambda t: logsums.logcumsumexp(t, along), least, self.exclusive, self.reverse)


class Cummax(Primitive):
    """The largest element so far along an axis, and its index (Int64)."""

    def __init__(self, axis: int):
        super().__init__(axis=integer("Cummax", "axis", axis))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        return running.cummax(input, self.axis)


class Cummin(Primitive):
    """The smallest element so far along an axis, and its index (Int32)."""

    def __init__(self, axis: int):
        super().__init__(axis=integer("Cummin", "axis", axis))

    def __call__(self, input: Any) -> tuple[Tensor, Tensor]:
        return running.cummin(input, self.axis)


class Median(Primitive):
    """The median along an axis, or of the whole tensor with the index 0, and its index (Int64); `ignore_nan` leaves NaN out."""

    def __init__(self, global_median: bool = False, axis: int = 0, keep_dims: bool = False, ignore_nan: bool = False):
        super().__init__(global_median=flag("Median", "global_median", global_median), axis=integer("Median", "axis", axis),
                         keep_dims=flag("Median", "keep_dims", keep_dims), ignore_nan=flag("Median", "ignore_nan", ignore_nan))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        given = operand("Median", x, "x")
        rule = ordering.nanmedian if self.ignore_nan else ordering.median
        if self.global_median:
            return rule(shapes.reshape(given, (-1,)), 0)[0], constant(0, I64)
        return rule(given, self.axis, self.keep_dims)


class Quantile(Primitive):
    """The numbers below which a share q of the elements lies: see `ops.quantile`.

    dim         the axis; None: all elements
    ignore_nan  leave NaN out, as `ops.nanquantile` does
    """

    def __init__(self, dim: int | None = None, keep_dims: bool = False, ignore_nan: bool = False):
        op = "Quantile"
        super().__init__(dim=None if dim is None else integer(op, "dim", dim), keep_dims=flag(op, "keep_dims", keep_dims),
                         ignore_nan=flag(op, "ignore_nan", ignore_nan))

    def __call__(self, input: Any, q: Any) -> Tensor:
        return (ordering.nanquantile if self.ignore_nan else ordering.quantile)(input, q, self.dim, self.keep_dims)


class CountNonZero(Primitive):
    """How many elements over axes are not 0, Int64.

    dims  an int, a tuple or list of them; None: all axes
    """

    def __init__(self, dims: Any = None):
        super().__init__(dims=None if dims is None else sizes_argument("CountNonZero", "dims", dims, least=None))

    def __call__(self, x: Any) -> Tensor:
        return reduction.count_nonzero(x, () if self.dims is None else self.dims, False, I64)


class NuclearNorm(Primitive):
    """The sum of the singular values of matrices, Float32 or Float64.

    dim      the two axes of the matrices; None for a tensor that is one matrix
    keepdim  keep the axes, of size 1
    """

    def __init__(self, dim: Any = None, keepdim: bool = False):
        op = "NuclearNorm"
        super().__init__(dim=None if dim is None else sizes_argument(op, "dim", dim, least=None), keepdim=flag(op, "keepdim", keepdim))
        if self.dim is not None and len(self.dim) != 2:
            raise wrong(op, "dim", "two axes", dim)

    def __call__(self, x: Any) -> Tensor:
        given = operand("NuclearNorm", x, "x")
        if given.dtype not in (F32, F64):
            raise wrong("NuclearNorm", "x", "a Tensor of Float32 or Float64", given, TypeError)
        if self.dim is None and given.ndim != 2:
            raise wrong("NuclearNorm", "x", "of 2 dimensions, without 'dim'", given)
        return norms.matrix_norm(given, "nuc", (0, 1) if self.dim is None else self.dim, self.keepdim)


class ReduceStd(Primitive):
    """The standard deviation over axes and the mean; `unbiased` divides by the count less 1."""

    def __init__(self, axis: Any = (), unbiased: bool = True, keep_dims: bool = False):
        super().__init__(axis=sizes_argument("ReduceStd", "axis", axis, least=None), unbiased=flag("ReduceStd", "unbiased", unbiased),
                         keep_dims=flag("ReduceStd", "keep_dims", keep_dims))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return reduction.std_mean(float_tensor("ReduceStd", x, "x"), self.axis, int(self.unbiased), self.keep_dims)


class Bincount(Plain):
    """The sum of the weights of each number below `size` in a vector of integers, in the dtype of the weights."""

    def __call__(self, array: Any, size: Any, weights: Any) -> Tensor:
        places, by = picking.indices_argument("Bincount", "array", array), operand("Bincount", weights, "weights")
        count = integer("Bincount", "size", size)
        if count < 0:
            raise wrong("Bincount", "size", "at least 0", count)
        if places.ndim != 1 or by.shape != places.shape:
            raise wrong("Bincount", "weights", f"of the shape of 'array', {places.shape}, of 1 dimension", by)
        if by.dtype is BOOL:
            raise wrong("Bincount", "weights", "a Tensor of numbers", by, TypeError)
        return counts.counted(places.astype(I64, copy=False), count, by)


class Histogram(Primitive):
    """How many elements lie in each of `bins` intervals."""

    def __init__(self, bins: int = 100, min: float = 0.0, max: float = 0.0):
        super().__init__(bins=integer("Histogram", "bins", bins), min=real("Histogram", "min", min), max=real("Histogram", "max", max))
        if self.bins < 1:
            raise wrong("Histogram", "bins", "at least 1", bins)
        if not self.min <= self.max:
            raise wrong("Histogram", "max", f"at least 'min', {min}", max)

    def __call__(self, x: Any) -> Tensor:
        return counts.histc(operand("Histogram", x, "x"), self.bins, self.min, self.max)


class Bucketize(Primitive):
    """The number of the interval that each element lies in (Int32), for ascending bounds; the intervals are closed on the left."""

    def __init__(self, boundaries: Any):
        if not isinstance(boundaries, list):
            raise wrong("Bucketize", "boundaries", "a list of floats", boundaries, TypeError)
        super().__init__(boundaries=[float_only("Bucketize", "boundaries", bound) for bound in boundaries])

    def __call__(self, input: Any) -> Tensor:
        return counts.bucketize(input, self.boundaries, right=True)


class SearchSorted(Primitive):
    """The positions at which values would be inserted into ascending rows."""

    def __init__(self, dtype: DType = I64, right: bool = False):
        super().__init__(dtype=dtype_or("SearchSorted", dtype, I64), right=flag("SearchSorted", "right", right))
        if self.dtype not in (I32, I64):
            raise wrong("SearchSorted", "dtype", "int32 or int64", dtype, TypeError)

    def __call__(self, sorted_sequence: Any, values: Any, sorter: Any = None) -> Tensor:
        return counts.searchsorted(sorted_sequence, values, out_int32=self.dtype is I32, right=self.right, sorter=sorter)


class _Bound(Primitive):
    """The positions at which values would be inserted into ascending rows, both matrices."""

    behind: bool

    def __init__(self, out_type: DType = I32):
        name = type(self).__name__
        super().__init__(out_type=dtype_or(name, out_type, I32))
        if self.out_type not in (I32, I64):
            raise wrong(name, "out_type", "int32 or int64", out_type, TypeError)

    def __call__(self, sorted_x: Any, values: Any) -> Tensor:
        rows, given = operand(self.name, sorted_x, "sorted_x"), operand(self.name, values, "values")
        for name, x in (("sorted_x", rows), ("values", given)):
            if x.ndim != 2:
                raise wrong(self.name, name, "of 2 dimensions", x)
        if given.dtype is not rows.dtype:
            raise wrong(self.name, "values", f"of the dtype of 'sorted_x', {rows.dtype}", given, TypeError)
        return counts.positions(self.name, rows, given, self.behind, self.out_type)


class LowerBound(_Bound):
    """The positions at which values would be inserted into ascending rows, before elements equal to them."""

    behind = False


class UpperBound(_Bound):
    """The positions at which values would be inserted into ascending rows, behind elements equal to them."""

    behind = True


class InTopK(Primitive):
    """Whether the score of a class is among the `k` largest of its row."""

    def __init__(self, k: int):
        super().__init__(k=integer("InTopK", "k", k))

    def __call__(self, x1: Any, x2: Any) -> Tensor:
        return counts.intopk(x1, x2, self.k)


class NthElement(Primitive):
    """The element number `n` of each row in ascending order, with `reverse` in descending order."""

    def __init__(self, reverse: bool = False):
        super().__init__(reverse=flag("NthElement", "reverse", reverse))

    def __call__(self, input: Any, n: Any) -> Tensor:
        return counts.nth_element(input, n, self.reverse)


class ListDiff(Primitive):
    """The elements of a vector that are not in another one, and their indices."""

    def __init__(self, out_idx: DType = I32):
        super().__init__(out_idx=dtype_or("ListDiff", out_idx, I32))
        if self.out_idx not in (I32, I64):
            raise wrong("ListDiff", "out_idx", "int32 or int64", out_idx)

    def __call__(self, x: Any, y: Any) -> tuple[Tensor, Tensor]:
        return counts.difference_of_lists(x, y, self.out_idx)


class EqualCount(Plain):
    """How many elements of two tensors of one shape and dtype are equal, in that dtype, of shape (1,)."""

    def __call__(self, x: Any, y: Any) -> Tensor:
        first, second = operand("EqualCount", x, "x"), operand("EqualCount", y, "y")
        if second.type is not first.type:
            raise wrong("EqualCount", "y", f"of the type of 'x', {first.type}", second,
                        TypeError if second.dtype is not first.dtype else ValueError)
        return shapes.reshape(reduction.count_nonzero(arithmetic.equal(first, second)), (1,)).astype(first.dtype)


class L2Loss(Plain):
    """Half the sum of squares."""

    def __call__(self, input_x: Any) -> Tensor:
        return reduction.sum(arithmetic.square(operand("L2Loss", input_x, "input_x"))) * 0.5


class L2Normalize(Primitive):
    """The input divided by the length of its vectors along an axis; the square of a length counts as at least `epsilon`."""

    def __init__(self, axis: Any = 0, epsilon: float = 0.0001):
        super().__init__(axis=axis, epsilon=real("L2Normalize", "epsilon", epsilon))

    def __call__(self, x: Any) -> Tensor:
        total = reduction.sum(arithmetic.square(single(operand("L2Normalize", x, "x"))), self.axis, True)
        return x * arithmetic.rsqrt(arithmetic.maximum(total, self.epsilon)).astype(x.dtype, copy=False)


class LpNorm(Primitive):
    """(sum |x|**p)**(1/p) over axes, at least `epsilon`.

    p        an int of at least 1
    epsilon  what a smaller norm becomes, with a gradient of 0
    """

    def __init__(self, axis: Any, p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12):
        super().__init__(axis=axis, p=integer("LpNorm", "p", p), keep_dims=flag("LpNorm", "keep_dims", keep_dims),
                         epsilon=real("LpNorm", "epsilon", epsilon))
        if self.p < 1:
            raise wrong("LpNorm", "p", "at least 1", p)

    def __call__(self, input: Any) -> Tensor:
        x = operand("LpNorm", input)
        if not x.dtype.is_float:
            raise wrong("LpNorm", "input", "a Tensor of a floating point type", x, TypeError)
        axes = axes_argument("LpNorm", self.axis, x.ndim)
        norm = reduction.power_norm(x, self.p, axes, True)
        kept = arithmetic.where(norm > self.epsilon, norm, self.epsilon).astype(x.dtype, copy=False)
        return kept if self.keep_dims else shapes.reshape(kept, tuple(d for axis, d in enumerate(x.shape) if axis not in axes))


class TopK(Primitive):
    """The `k` largest elements along the last axis, and their indices."""

    def __init__(self, sorted: bool = True):
        super().__init__(sorted=flag("TopK", "sorted", sorted))

    def __call__(self, input_x: Any, k: Any) -> tuple[Tensor, Tensor]:
        return ordering.top_k(input_x, k, self.sorted)


class Sort(Primitive):
    """The elements in order along an axis, and their indices."""

    def __init__(self, axis: int = -1, descending: bool = False):
        super().__init__(axis=integer("Sort", "axis", axis), descending=flag("Sort", "descending", descending))

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        return ordering.sort(x, self.axis, self.descending)
