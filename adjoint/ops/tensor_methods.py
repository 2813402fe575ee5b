"""The methods of Tensor that are operators: indexing, `@`, and those that call a function of this package.

`attach` sets them on the class when this package is imported: Tensor itself does not depend on operators.  If MindSpore has two forms of a
method, one with `axis` and `keepdims` and one with `dim` and `keepdim`, both are accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from adjoint.foundation.diagnostics import MissingMember
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.index import METHODS
from adjoint.ir.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType, TensorType, broadcast_shapes, tensor
from adjoint.ops import (
    activations,
    arithmetic,
    bands,
    blocks,
    counts,
    creation,
    diagonals,
    distances,
    dlpack,
    floats,
    generated,
    integers,
    linear,
    linear_systems,
    logsums,
    matrices,
    ordering,
    parts,
    patches,
    picking,
    random_laws,
    random_numbers,
    reduction,
    running,
    scattering,
    segments,
    shapes,
    sparse,
    special,
    tensor_writes,
)
from adjoint.ops.arguments import choice, dimension, flag, integer, operand, sizes_argument, wrong
from adjoint.runtime.execution.fusible_calls import make_fused, make_recorded
from adjoint.runtime.memory.machine import array_of, memory_of
from adjoint.runtime.tensor import description, operators  # noqa: F401 - they complete Tensor
from adjoint.runtime.tensor.fusible import fusible, on_frequent_calls
from adjoint.runtime.tensor.generator import Generator, stream_of
from adjoint.runtime.tensor.indexing import iterated, taken, write
from adjoint.runtime.tensor.random import drawn_from
from adjoint.runtime.tensor.run_time_checks import needs_values
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, wrap

__all__ = ["add_method", "attach"]

_ABSENT: Any = object()


def _one(op: str, name: str, value: Any, other_name: str, other: Any, default: Any = None) -> Any:
    """Return the value of an argument that has two names."""
    if value is _ABSENT:
        return default if other is _ABSENT else other
    if other is not _ABSENT:
        given_twice = f"'{name}' is given twice" if name == other_name else f"'{name}' and '{other_name}' are two names for one argument"
        raise TypeError(f"For 'Tensor.{op}', {given_twice}: give one of them.")
    return value


def _given(op: str, name: str, value: Any, other_name: str, other: Any) -> Any:
    """Return the value of an argument that has two names, and no default."""
    return _required(op, name, _one(op, name, value, other_name, other, _ABSENT))


def _required(op: str, name: str, value: Any) -> Any:
    if value is _ABSENT:
        raise TypeError(f"For 'Tensor.{op}', the argument '{name}' must be given.")
    return value


def _factor(op: str, x: Tensor, other: Any, alpha: Any) -> Any:
    floats = x.dtype.is_float or isinstance(other, float) or (isinstance(other, Tensor) and other.dtype.is_float)
    if isinstance(alpha, float) and not floats:
        raise wrong(f"Tensor.{op}", "alpha", "an int, since neither tensor has floats", alpha, TypeError)
    return alpha


def _sizes(given: tuple[Any, ...]) -> Any:
    """Sizes given as several ints, or as one tuple."""
    return given[0] if len(given) == 1 and isinstance(given[0], (tuple, list, Tensor)) else given


def _always(value: Any, why: str) -> property:
    """Return a property that has one value for all tensors; `why` is its documentation."""
    return property(lambda self: value, doc=why)


class _Methods:
    """Methods that Tensor gets, besides the functions in `_FUNCTIONS`."""

    # -- operators of the language ----------------------------------------------------------------------------------
    __getitem__ = taken
    __setitem__ = write
    __iter__ = iterated

    def __matmul__(self: Any, other: Any) -> Tensor:
        return linear.matmul(self, as_tensor(other) if isinstance(other, np.ndarray) else other)

    def __rmatmul__(self: Any, other: Any) -> Tensor:
        return linear.matmul(as_tensor(other) if isinstance(other, np.ndarray) else other, self)

    def __contains__(self: Any, value: Any) -> bool:
        found = self == value
        return found if isinstance(found, bool) else bool(reduction.any(found))

    def __round__(self: Any, decimals: int = 0) -> Tensor:
        return arithmetic.round(self, decimals=decimals)

    # -- arithmetic -------------------------------------------------------------------------------------------------
    @fusible
    def add(self: Any, other: Any, *, alpha: Any = 1) -> Tensor:
        """self + alpha * other; TypeError for an `alpha` that is a float, if neither has floats."""
        return arithmetic.added(self, other, _factor("add", self, other, alpha))

    @fusible
    def sub(self: Any, other: Any = _ABSENT, *, alpha: Any = 1, y: Any = _ABSENT) -> Tensor:
        """self - alpha * other; TypeError for an `alpha` that is a float, if neither has floats."""
        taken_off = _given("sub", "other", other, "y", y)
        return arithmetic.subtract(self, taken_off, alpha=_factor("sub", self, taken_off, alpha))

    @fusible
    def multiply(self: Any, value: Any) -> Tensor:
        """self * value."""
        return generated.mul(self, value)

    @fusible
    def remainder(self: Any, other: Any = _ABSENT, *, divisor: Any = _ABSENT) -> Tensor:
        """Return the remainder of self / other with the sign of `other`."""
        return generated.remainder(self, _given("remainder", "other", other, "divisor", divisor))

    @fusible
    def float_power(self: Any, other: Any) -> Tensor:
        """Return the tensor to the power of `other`, in Float64."""
        return floats.float_power(self, other)

    def approximate_equal(self: Any, other: Any, tolerance: float = 1e-05) -> Tensor:
        """Return whether two tensors of floats, of one shape, differ by less than a tolerance."""
        return floats.approximate_equal(self, other, tolerance)

    @fusible
    def addr(self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """Return beta * self + alpha * (vec1 outer vec2); of integers with whole factors."""
        return distances.addr(self, vec1, vec2, beta=beta, alpha=alpha)

    @fusible
    def true_divide(self: Any, divisor: Any = _ABSENT, *, other: Any = _ABSENT) -> Tensor:
        """self / divisor."""
        return arithmetic.true_divide(self, _given("true_divide", "divisor", divisor, "other", other))

    @fusible
    def isclose(self: Any, other: Any = _ABSENT, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, *,
                x2: Any = _ABSENT) -> Tensor:
        """Return whether |self - other| <= atol + rtol * |other|."""
        return arithmetic.isclose(self, _given("isclose", "other", other, "x2", x2), rtol, atol, equal_nan)

    @fusible
    def matmul(self: Any, other: Any = _ABSENT, *, tensor2: Any = _ABSENT) -> Tensor:
        """Return the product of two matrices, or of the matrices in two tensors."""
        return linear.matmul(self, _given("matmul", "other", other, "tensor2", tensor2))

    @fusible
    def round(self: Any, decimals: int = 0) -> Tensor:
        """Return the numbers rounded to so many decimals, halves to even."""
        return arithmetic.round(self, decimals=decimals)

    @fusible
    def softmax(self: Any, axis: int = -1, dtype: DType | None = None) -> Tensor:
        """Return exponentials divided by their sum along an axis."""
        return activations.softmax(self, axis, dtype=dtype)

    # -- reductions -------------------------------------------------------------------------------------------------
    @fusible
    def sum(self: Any, axis: Any = _ABSENT, dtype: Any = None, keepdims: Any = _ABSENT, initial: Any = None, *, dim: Any = _ABSENT,
            keepdim: Any = _ABSENT) -> Tensor:
        """Return the sum over axes, in `dtype` if that is given; else of bools, UInt8 and signed integers in Int64."""
        if isinstance(dtype, bool):
            # sum(dim, keepdim)
            keepdim, dtype = dtype, None
        out = reduction.sum(self, _one("sum", "axis", axis, "dim", dim), _one("sum", "keepdims", keepdims, "keepdim", keepdim, False),
                            dtype=dtype)
        return out if initial is None else out + initial

    @fusible
    def mean(self: Any, axis: Any = _ABSENT, keep_dims: Any = _ABSENT, *, dim: Any = _ABSENT, keepdim: Any = _ABSENT,
             dtype: DType | None = None) -> Tensor:
        """Return the mean over axes; of integers in their own dtype, truncated."""
        x = self if dtype is None else self.astype(dtype)
        return reduction.mean(x, _one("mean", "axis", axis, "dim", dim), _one("mean", "keep_dims", keep_dims, "keepdim", keepdim, False))

    @fusible
    def prod(self: Any, axis: Any = _ABSENT, keep_dims: Any = _ABSENT, dtype: DType | None = None, *, dim: Any = _ABSENT,
             keepdim: Any = _ABSENT) -> Tensor:
        """Return the product over axes, in `dtype` if that is given; else of bools, UInt8 and signed integers in Int64."""
        keep = _one("prod", "keep_dims", keep_dims, "keepdim", keepdim, False)
        return reduction.prod(self, _one("prod", "axis", axis, "dim", dim), keep, dtype)

    @fusible
    def all(self: Any, axis: Any = _ABSENT, keep_dims: Any = _ABSENT, *, dim: Any = _ABSENT, keepdim: Any = _ABSENT) -> Tensor:
        """Return whether all elements over axes are true."""
        return reduction.all(self, _one("all", "axis", axis, "dim", dim), _one("all", "keep_dims", keep_dims, "keepdim", keepdim, False))

    @fusible
    def any(self: Any, axis: Any = _ABSENT, keep_dims: Any = _ABSENT, *, dim: Any = _ABSENT, keepdim: Any = _ABSENT) -> Tensor:
        """Return whether an element over axes is true."""
        return reduction.any(self, _one("any", "axis", axis, "dim", dim), _one("any", "keep_dims", keep_dims, "keepdim", keepdim, False))

    @fusible
    def max(self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = _ABSENT, initial: Any = _ABSENT,
            where: Any = _ABSENT, return_indices: Any = _ABSENT) -> Any:
        """Return the largest element: of the tensor, or with its index along `dim`, or over `axis` without places unless asked for."""
        return _extreme(reduction.max, reduction.amax, self, dim, keepdim, axis, keepdims, initial, where, return_indices)

    @fusible
    def min(self: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: Any = _ABSENT, initial: Any = _ABSENT,
            where: Any = _ABSENT, return_indices: Any = _ABSENT) -> Any:
        """Return the smallest element: of the tensor, or with its index along `dim`, or over `axis` without places unless asked for."""
        return _extreme(reduction.min, reduction.amin, self, dim, keepdim, axis, keepdims, initial, where, return_indices)

    @fusible
    def argmax(self: Any, axis: Any = _ABSENT, keepdims: Any = _ABSENT, *, dim: Any = _ABSENT, keepdim: Any = _ABSENT) -> Tensor:
        """Return the index of the largest element along an axis, or in the flattened tensor, as Int64."""
        keep = _one("argmax", "keepdims", keepdims, "keepdim", keepdim, False)
        return reduction.argmax(self, _one("argmax", "axis", axis, "dim", dim), keep)

    @fusible
    def argmin(self: Any, axis: Any = _ABSENT, keepdims: Any = _ABSENT, *, dim: Any = _ABSENT, keepdim: Any = _ABSENT) -> Tensor:
        """Return the index of the smallest element along an axis, or in the flattened tensor, as Int32."""
        keep = _one("argmin", "keepdims", keepdims, "keepdim", keepdim, False)
        return reduction.argmin(self, _one("argmin", "axis", axis, "dim", dim), keep)

    @fusible
    def std(self: Any, axis: Any = _ABSENT, ddof: Any = _ABSENT, keepdims: Any = _ABSENT, *, dim: Any = _ABSENT, correction: Any = _ABSENT,
            keepdim: Any = _ABSENT) -> Tensor:
        """Return the standard deviation over axes, with the count less `ddof` (0)."""
        return reduction.std(self, _one("std", "axis", axis, "dim", dim), _one("std", "ddof", ddof, "correction", correction, 0),
                             _one("std", "keepdims", keepdims, "keepdim", keepdim, False))

    @fusible
    def var(self: Any, axis: Any = _ABSENT, ddof: Any = _ABSENT, keepdims: Any = _ABSENT, *, dim: Any = _ABSENT, correction: Any = _ABSENT,
            keepdim: Any = _ABSENT) -> Tensor:
        """Return the variance over axes, divided by the count less `ddof` (0); with `dim` or `keepdim`, less `correction` (1)."""
        less = 0 if dim is keepdim is _ABSENT else 1
        return reduction.var(self, _one("var", "axis", axis, "dim", dim), _one("var", "ddof", ddof, "correction", correction, less),
                             _one("var", "keepdims", keepdims, "keepdim", keepdim, False))

    @fusible
    def cumsum(self: Any, axis: Any = _ABSENT, dtype: DType | None = None, *, dim: Any = _ABSENT) -> Tensor:
        """Return the running sum along an axis; without one, of the flattened tensor."""
        along = _one("cumsum", "axis", axis, "dim", dim)
        return reduction.cumsum(shapes.ravel(self), 0, dtype) if along is None else reduction.cumsum(self, along, dtype)

    @fusible
    def nansum(self: Any, axis: Any = _ABSENT, keepdims: Any = _ABSENT, *, dtype: DType | None = None, dim: Any = _ABSENT,
               keepdim: Any = _ABSENT) -> Tensor:
        """Return the sum over axes of what is not NaN; of integers in their own dtype by default."""
        keep = _one("nansum", "keepdims", keepdims, "keepdim", keepdim, False)
        return reduction.nansum(self, _one("nansum", "axis", axis, "dim", dim), keep, dtype=dtype)

    @fusible
    def count_nonzero(self: Any, axis: Any = _ABSENT, keep_dims: bool = False, dtype: DType | None = None, *, dim: Any = _ABSENT) -> Tensor:
        """How many elements over axes are not 0."""
        over = _one("count_nonzero", "axis", axis, "dim", dim, ())
        return reduction.count_nonzero(self, () if over is None else over, keep_dims, I32 if dtype is None else dtype)

    @fusible
    def median(self: Any, axis: Any = _ABSENT, keepdims: Any = _ABSENT, *, dim: Any = _ABSENT, keepdim: Any = _ABSENT) -> Any:
        """Return the median element along an axis, the smaller of two, and its index (Int64)."""
        keep = _one("median", "keepdims", keepdims, "keepdim", keepdim, False)
        return ordering.median(self, _one("median", "axis", axis, "dim", dim, -1), keep)

    @fusible
    def sort(self: Any, axis: Any = _ABSENT, descending: bool = False, stable: bool = False, *, dim: Any = _ABSENT) -> Any:
        """Return the elements in order along an axis, and their indices (Int32); equal ones keep their order, `stable` or not."""
        flag("Tensor.sort", "stable", stable)
        return ordering.sort(self, _one("sort", "axis", axis, "dim", dim, -1), descending)

    @fusible
    def argsort(self: Any, axis: Any = _ABSENT, descending: bool = False, stable: bool = False, *, dim: Any = _ABSENT) -> Tensor:
        """Return the indices (Int32) that sort an axis; equal elements keep their order, `stable` or not."""
        flag("Tensor.argsort", "stable", stable)
        return ordering.argsort(self, _one("argsort", "axis", axis, "dim", dim, -1), descending)

    @fusible
    def argmax_with_value(self: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """Return the largest element along an axis, and its index."""
        return reduction.max(self, axis, keep_dims)

    @fusible
    def argmin_with_value(self: Any, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        """Return the smallest element along an axis, and its index."""
        return reduction.min(self, axis, keep_dims)

    @fusible
    def trace(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType | None = None) -> Tensor:
        """Return the sum of the diagonal; of integers as Int64 by default."""
        kept = BOOL if self.dtype is BOOL and dtype is None else dtype
        return reduction.sum(diagonals.diagonal(self, offset, axis1, axis2), -1, dtype=kept)

    # -- shapes -----------------------------------------------------------------------------------------------------
    @fusible
    def reshape(self: Any, *shape: Any) -> Tensor:
        """Return the elements row by row in another shape; one size may be -1."""
        return shapes.reshape(self, _sizes(shape))

    @fusible
    def view(self: Any, *shape: Any, dtype: DType | None = None) -> Tensor:
        """view(shape): the elements row by row in another shape; view(dtype): a tensor whose numbers have the same bytes as these, without
        gradient.  If their sizes differ, the last axis has as many more, or fewer.
        """
        if dtype is None and not (len(shape) == 1 and isinstance(shape[0], DType)):
            return shapes.reshape(self, _sizes(shape))
        if dtype is not None and shape:
            raise TypeError("For 'Tensor.view', a shape or the argument 'dtype' must be given, not both.")
        return _same_bytes(self, shape[0] if dtype is None else dtype)

    def reshape_as(self: Any, other: Any) -> Tensor:
        """Return the elements row by row in the shape of `other`."""
        return shapes.view_as(self, other)

    @fusible
    def flatten(self: Any, order: Any = "C", end: Any = None, *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """All axes, or those from `start_dim` to `end_dim`, made one; `order` "F" reads column by column."""
        if not isinstance(order, str):
            # flatten(start_dim, end_dim)
            order, start_dim = "C", order
        return shapes.flatten(self, order, start_dim=start_dim, end_dim=end_dim if end is None else end)

    @fusible
    def transpose(self: Any, *axes: Any, dim0: Any = _ABSENT, dim1: Any = _ABSENT) -> Tensor:
        """Return the axes in another order; reversed, if none are named, or None is.  Two ints are two axes that change places."""
        if dim0 is not _ABSENT or dim1 is not _ABSENT:
            axes = (*axes, *(dim for dim in (dim0, dim1) if dim is not _ABSENT))
            if len(axes) != 2:
                raise TypeError("For 'Tensor.transpose', 'dim0' and 'dim1' must be given both, and no other axes.")
        if len(axes) == 2:
            return shapes.swapaxes(self, *axes)
        return shapes.transpose(self, _sizes(axes) if axes and axes[0] is not None else tuple(reversed(range(self.ndim))))

    @fusible
    def permute(self: Any, *axis: Any, dims: Any = _ABSENT) -> Tensor:
        """Return the axes in another order."""
        return shapes.transpose(self, _sizes(axis) if dims is _ABSENT else _given("permute", "axis", axis or _ABSENT, "dims", dims))

    @fusible
    def squeeze(self: Any, *given: Any, axis: Any = None) -> Tensor:
        """Return the tensor without its axes of 1, or without those named."""
        return shapes.squeeze(self, axis if not given else given[0] if len(given) == 1 else given)

    @fusible
    def broadcast_to(self: Any, *shape: Any) -> Tensor:
        """Return the elements repeated to a shape."""
        return shapes.broadcast_to(self, _sizes(shape))

    @fusible
    def expand(self: Any, *size: Any) -> Tensor:
        """Return the elements repeated to a shape."""
        return shapes.broadcast_to(self, _sizes(size))

    @fusible
    def tile(self: Any, *given: Any, dims: Any = _ABSENT, reps: Any = _ABSENT) -> Tensor:
        """Return the tensor repeated along its axes."""
        if given:
            dims = _one("tile", "dims", _sizes(given), "dims", dims)
        times = _given("tile", "dims", dims, "reps", reps)
        return shapes.tile(self, (times,) if isinstance(times, int) else times)

    @fusible
    def repeat(self: Any, *given: Any, repeats: Any = _ABSENT) -> Tensor:
        """Return the tensor repeated along its axes."""
        return shapes.tile(self, _given("repeat", "repeats", _sizes(given) if given else _ABSENT, "repeats", repeats))

    @fusible
    def repeat_interleave(self: Any, repeats: Any, dim: Any = None, *, output_size: int | None = None) -> Tensor:
        """Each element repeated along an axis; `output_size`, if it is given, is checked against the size that this gives."""
        found = shapes.repeat_interleave(self, repeats, dim)
        size = found.shape[0 if dim is None else dim]
        if output_size is not None and integer("Tensor.repeat_interleave", "output_size", output_size) != size:
            raise wrong("Tensor.repeat_interleave", "output_size", f"the size of the result, {size}", output_size)
        return found

    def expand_as(self: Any, other: Any = _ABSENT, *, x: Any = _ABSENT) -> Tensor:
        """Return the elements broadcast to the shape of `other`."""
        return shapes.expand_as(self, _given("expand_as", "other", other, "x", x))

    @fusible
    def narrow(self: Any, axis: Any = _ABSENT, start: Any = _ABSENT, length: Any = _ABSENT, *, dim: Any = _ABSENT) -> Tensor:
        """Return `length` elements along an axis from `start` on."""
        return parts.narrow(self, _given("narrow", "axis", axis, "dim", dim), _required("narrow", "start", start),
                            _required("narrow", "length", length))

    @fusible
    def diag(self: Any, diagonal: int = 0) -> Tensor:
        """Return a tensor of shape s + s with the elements on its diagonal, 0 elsewhere; `diagonal` must be 0."""
        if integer("Tensor.diag", "diagonal", diagonal) != 0:
            raise wrong("Tensor.diag", "diagonal", "0: `mint.diag(x, diagonal)` puts a vector on another one", diagonal)
        return diagonals.diag(self)

    @fusible
    def diagonal(self: Any, offset: int = 0, axis1: Any = _ABSENT, axis2: Any = _ABSENT, *, dim1: Any = _ABSENT,
                 dim2: Any = _ABSENT) -> Tensor:
        """Return the elements whose indices along two axes differ by `offset`, as the last axis."""
        first = _one("diagonal", "axis1", axis1, "dim1", dim1, 0)
        return diagonals.diagonal(self, offset, first, _one("diagonal", "axis2", axis2, "dim2", dim2, 1))

    @fusible
    def split(
        self: Any, split_size_or_sections: Any = _ABSENT, axis: Any = _ABSENT, *, split_size: Any = _ABSENT, dim: Any = _ABSENT
    ) -> Any:
        """Consecutive parts along an axis."""
        each = _one("split", "split_size_or_sections", split_size_or_sections, "split_size", split_size)
        return parts.split(self, each, _one("split", "axis", axis, "dim", dim, 0))

    @fusible
    def chunk(self: Any, chunks: int, axis: Any = _ABSENT, *, dim: Any = _ABSENT) -> Any:
        """At most so many parts along an axis."""
        return parts.chunk(self, chunks, _one("chunk", "axis", axis, "dim", dim, 0))

    @fusible
    def expand_dims(self: Any, axis: Any) -> Tensor:
        """Return a new axis of 1."""
        return shapes.expand_dims(self, axis)

    @fusible
    def unsqueeze(self: Any, dim: Any = _ABSENT, *, axis: Any = _ABSENT) -> Tensor:
        """Return a new axis of 1 at `dim`."""
        return shapes.unsqueeze(self, _given("unsqueeze", "dim", dim, "axis", axis))

    @fusible
    def flip(self: Any, dims: Any) -> Tensor:
        """Return the elements in opposite order along axes."""
        return parts.flip(self, dims)

    @property
    @fusible
    def T(self: Any) -> Tensor:
        """The axes in opposite order."""
        return shapes.transpose(self, tuple(reversed(range(self.ndim))))

    @property
    @fusible
    def mT(self: Any) -> Tensor:
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise wrong("mT", "input", "of at least 2 dimensions", self)
        return shapes.swapaxes(self, -1, -2)

    @property
    @fusible
    def H(self: Any) -> Tensor:
        """The two axes of a matrix exchanged, and complex numbers conjugate."""
        if self.ndim not in (0, 2):
            raise wrong("H", "input", "of 2 dimensions", self, RuntimeError)
        return shapes.adjoint(self) if self.ndim else floats.conj(self)

    @property
    @fusible
    def mH(self: Any) -> Tensor:
        """The last two axes exchanged, and complex numbers conjugate."""
        if self.ndim < 2:
            raise wrong("mH", "input", "of at least 2 dimensions", self)
        return shapes.adjoint(self)

    @property
    def data(self: Any) -> Tensor:
        """The same numbers, without a gradient."""
        return arithmetic.stop_gradient(self)

    def value(self: Any) -> Tensor:
        """Return the tensor itself."""
        return self

    def resize(self: Any, *new_shape: Any) -> Tensor:
        """Return the first elements in another shape, filled up with zeros."""
        given = new_shape[0] if len(new_shape) == 1 else new_shape
        sizes = sizes_argument("Tensor.resize", "new_shape", given) if new_shape else self.shape
        count, flat = math.prod(sizes), shapes.reshape(self, (-1,))
        if count > flat.size:
            flat = parts.concat((flat, creation.zeros((count - flat.size,), self.dtype)), 0)
        return shapes.reshape(parts.narrow(flat, 0, 0, count), sizes)

    def sum_to_size(self: Any, *size: Any) -> Tensor:
        """Return the sums over axes that broadcast from a shape, in that shape."""
        sizes = sizes_argument("Tensor.sum_to_size", "size", size[0] if len(size) == 1 else size)
        more = self.ndim - len(sizes)
        if more < 0 or any(wanted not in (1, found) for wanted, found in zip(sizes, self.shape[more:], strict=True)):
            raise wrong("Tensor.sum_to_size", "size", f"a shape that broadcasts to {self.shape}", sizes)
        axes = [*range(more), *(more + i for i, wanted in enumerate(sizes) if wanted != self.shape[more + i])]
        return shapes.reshape(reduction.sum(self, tuple(axes), True), sizes) if axes else self

    def storage_offset(self: Any) -> int:
        """Return 0: each tensor begins where its memory does."""
        return 0

    def stride(self: Any, dim: int | None = None) -> Any:
        """Return the number of elements between neighbours, for each axis."""
        strides = [step // self.itemsize for step in self.strides]
        return strides if dim is None else strides[dimension("Tensor.stride", dim, self, "dim", "self")]

    def contiguous(self: Any) -> Tensor:
        """Return the tensor: its elements are always in row-major order."""
        return self

    def is_contiguous(self: Any) -> bool:
        """Return True: elements are always in row-major order."""
        return True

    # -- elements ---------------------------------------------------------------------------------------------------
    @fusible
    def gather(self: Any, input_indices: Any = _ABSENT, axis: Any = _ABSENT, batch_dims: int = 0, *, dim: Any = _ABSENT,
               index: Any = _ABSENT) -> Tensor:
        """gather(indices, axis): the slices the indices name; gather(dim, index): `gather_elements`."""
        if dim is not _ABSENT or index is not _ABSENT or not isinstance(input_indices, Tensor):
            place = _one("gather", "dim", dim, "input_indices", input_indices)
            return picking.gather_elements(self, place, _one("gather", "index", index, "axis", axis))
        return picking.gather(self, input_indices, axis, batch_dims)

    @fusible
    def scatter(self: Any, axis: Any = _ABSENT, index: Any = _ABSENT, src: Any = _ABSENT, reduce: str = "none", *,
                dim: Any = _ABSENT) -> Tensor:
        """Return the tensor with each element of `src` at its own position, but with the index as coordinate along an axis.

        reduce  "add" or "multiply": the element there and the new one are added or multiplied
        """
        return scattering.scattered(self, _given("scatter", "axis", axis, "dim", dim), _required("scatter", "index", index),
                                    _required("scatter", "src", src), reduce)

    @fusible
    def scatter_add(self: Any, dim: Any = _ABSENT, index: Any = _ABSENT, src: Any = _ABSENT, *, indices: Any = _ABSENT,
                    updates: Any = _ABSENT) -> Tensor:
        """scatter_add(dim, index, src): add each element of `src` at its own position, but with the index as coordinate along an axis;
        scatter_add(indices, updates): add slices at the positions in the last axis of `indices`, as `tensor_scatter_add` does."""
        if src is _ABSENT and not isinstance(dim, int):
            return scattering.tensor_scatter_add(self, _given("scatter_add", "indices", dim, "indices", indices),
                                                 _given("scatter_add", "updates", index, "updates", updates))
        return scattering.tensor_scatter_elements(self, _required("scatter_add", "index", index), _required("scatter_add", "src", src),
                                                  axis=_required("scatter_add", "dim", dim), reduction="add")

    @fusible
    def index_select(self: Any, axis: Any = _ABSENT, index: Any = _ABSENT, *, dim: Any = _ABSENT) -> Tensor:
        """Return the slices along an axis at the indices in a tensor."""
        return picking.index_select(self, _given("index_select", "axis", axis, "dim", dim), _required("index_select", "index", index))

    def unique_consecutive(self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
        """Return the elements without those equal to the one before, and if requested the index of each among these, and their counts."""
        return picking.unique_consecutive(self, return_inverse, return_counts, dim)

    @fusible
    def select(self: Any, condition: Any = _ABSENT, y: Any = _ABSENT, *, dim: Any = _ABSENT, index: Any = _ABSENT) -> Tensor:
        """select(condition, y): the tensor where the condition is true, else y; select(dim, index): one slice of an axis."""
        condition, y = _given("select", "condition", condition, "dim", dim), _given("select", "y", y, "index", index)
        if isinstance(condition, Tensor) and condition.dtype is BOOL:
            return arithmetic.select(condition, self, y)
        along: Any = condition
        return shapes.squeeze(parts.narrow(self, along, y, 1), along)

    @fusible
    def index_add(
        self: Any, dim: Any = _ABSENT, index: Any = _ABSENT, source: Any = _ABSENT, use_lock: bool = True, check_index_bound: bool = True,
        *, alpha: Any = 1, indices: Any = _ABSENT, y: Any = _ABSENT, axis: Any = _ABSENT,
    ) -> Tensor:
        """index_add(dim, index, source, alpha=1): slices of `source`, times `alpha`, added along `dim` where the indices say;
        index_add(indices, y, axis, use_lock=True, check_index_bound=True): those of `y`, as `ops.index_add` does.
        """
        if indices is not _ABSENT or isinstance(dim, Tensor):
            places, new = _one("index_add", "indices", indices, "dim", dim), _one("index_add", "y", y, "index", index)
            along = _one("index_add", "axis", axis, "source", source)
            return scattering.index_add(self.copy(), places, new, along, use_lock, check_index_bound)
        places, along = _one("index_add", "index", index, "y", y), _one("index_add", "dim", dim, "axis", axis)
        rows = operand("Tensor.index_add", None if source is _ABSENT else source, "source")
        taken = rows if isinstance(alpha, (int, float)) and alpha == 1 else (rows * alpha).astype(rows.dtype, copy=False)
        return scattering.index_add(self.copy(), places, taken, along)

    def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
        """Return the tensor with values put where tensors of coordinates say for the first axes; with `accumulate` added there."""
        return scattering.index_put(self, values, indices, flag("Tensor.index_put", "accumulate", accumulate))

    def choose(self: Any, choices: Any, mode: str = "clip") -> Tensor:
        """Return for each element of a tensor of integers that of the choice with its number, at its own place; all shapes broadcast.

        choices  a tuple or list of arrays, or a Tensor whose slices along axis 0 are the choices
        mode     of numbers that no choice has: "clip" takes the last or first, "wrap" counts on from the other end, "raise": IndexError
        """
        places = picking.indices_argument("Tensor.choose", "self", self)
        if not isinstance(choices, (tuple, list, Tensor)):
            raise wrong("Tensor.choose", "choices", "a tuple or list of arrays, or a Tensor", choices, TypeError)
        rows = parts.unstack(choices, 0) if isinstance(choices, Tensor) and choices.ndim else choices
        if not isinstance(rows, (tuple, list)) or not rows or not self.ndim:
            raise wrong("Tensor.choose", "choices", "at least one choice, for a tensor of at least 1 dimension", choices)
        found = [row if isinstance(row, Tensor) else as_tensor(row) if isinstance(row, (bool, int, float)) else Tensor(row) for row in rows]
        sizes = self.shape
        for row in found:
            try:
                sizes = broadcast_shapes(sizes, row.shape)
            except ValueError:
                raise wrong("Tensor.choose", "choices", f"of shapes that broadcast with {sizes}", row) from None
        table = parts.stack([shapes.broadcast_to(row, sizes) for row in found], -1)
        chosen = shapes.expand_dims(shapes.broadcast_to(places, sizes), -1).astype(I64, copy=False)
        kind = choice("Tensor.choose", "mode", mode, ("clip", "wrap", "raise"))
        if kind != "raise":
            chosen = chosen % len(found) if kind == "wrap" else arithmetic.clamp(chosen, 0, len(found) - 1)
        return shapes.squeeze(picking.gather_elements(table, -1, chosen), -1)

    def index(self: Any, indices: Any) -> Tensor:
        """Return the elements that tensors of coordinates, which broadcast, say for the first axes, as x[indices] does."""
        places = indices if isinstance(indices, (tuple, list)) else None
        if places is None or not all(isinstance(place, Tensor) for place in places):
            raise wrong("Tensor.index", "indices", "a tuple or list of Tensors", indices, TypeError)
        return taken(self, tuple(places))

    @fusible
    def searchsorted(self: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
        """Return where values would be inserted into this tensor of ascending rows (Int32): see `ops.searchsorted`."""
        values = v if isinstance(v, Tensor) else as_tensor(v) if isinstance(v, (int, float)) else Tensor(v)
        return counts.searchsorted(self, values, out_int32=True, side=side, sorter=sorter)

    @fusible
    def qr(self: Any, some: bool = True) -> tuple[Tensor, Tensor]:
        """Return matrices with orthogonal columns, and upper triangles, whose products are these matrices: see `ops.qr`.

        some  True for as many columns as the smaller size of a matrix, False for as many as it has rows
        """
        return linear_systems.qr(self, "reduced" if flag("Tensor.qr", "some", some) else "complete")

    @fusible
    def ormqr(self: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Tensor:
        """Return the product of the square matrix of reflections, whose vectors are these, and the matrix `input3`: see `ops.ormqr`."""
        return linear_systems.ormqr(self, input2, input3, left, transpose)

    @fusible
    def scatter_sub(self: Any, indices: Any, updates: Any) -> Tensor:
        """Return the tensor with updates subtracted at rows of coordinates: see `ops.tensor_scatter_sub`."""
        return scattering.tensor_scatter_sub(self, indices, updates)

    @fusible
    def scatter_max(self: Any, indices: Any, updates: Any) -> Tensor:
        """Return the larger of the tensor and the updates at rows of coordinates: see `ops.tensor_scatter_max`."""
        return scattering.tensor_scatter_max(self, indices, updates)

    @fusible
    def scatter_min(self: Any, indices: Any, updates: Any) -> Tensor:
        """Return the smaller of the tensor and the updates at rows of coordinates: see `ops.tensor_scatter_min`."""
        return scattering.tensor_scatter_min(self, indices, updates)

    @fusible
    def scatter_mul(self: Any, indices: Any, updates: Any) -> Tensor:
        """Return the tensor multiplied by updates at rows of coordinates: see `ops.tensor_scatter_mul`."""
        return scattering.tensor_scatter_mul(self, indices, updates)

    @fusible
    def scatter_div(self: Any, indices: Any, updates: Any) -> Tensor:
        """Return the tensor divided by updates at rows of coordinates: see `ops.tensor_scatter_div`."""
        return scattering.tensor_scatter_div(self, indices, updates)

    @fusible
    def where(self: Any, condition: Any, y: Any) -> Tensor:
        """Return the tensor where the condition is true, else `y`."""
        return arithmetic.where(condition, self, y)

    @fusible
    def take(self: Any, indices: Any = _ABSENT, axis: Any = None, mode: str = "clip", *, index: Any = _ABSENT) -> Tensor:
        """Return the slices along an axis that indices name, or elements of the flattened tensor.

        mode  of indices beyond the ends: "clip" takes the last or first, "wrap" counts on from the other end, "raise" is an
              IndexError; those of -size..-1 count from the end
        """
        indices = _given("take", "indices", indices, "index", index)
        kind = choice("Tensor.take", "mode", mode, ("clip", "wrap", "raise"))
        places = indices if isinstance(indices, Tensor) else Tensor(indices)
        length = self.size if axis is None else self.shape[dimension("Tensor.take", axis, self, tensor="self")]
        if kind != "raise" and length and places.dtype.is_integer:
            places = places % length if kind == "wrap" else arithmetic.clamp(
                arithmetic.where(places < 0, places + length, places), 0, length - 1)
        return picking.take(self, places) if axis is None else picking.index_select(self, axis, places)

    def fill(self: Any, value: Any) -> Tensor:
        """Return a tensor of this shape and dtype, filled with one number."""
        return creation.full_like(self, value)

    def itemset(self: Any, *arguments: Any) -> Tensor:
        """Return a tensor with one element replaced: itemset(index, value), itemset((row, ...), value), itemset(value) of one element.

        TypeError for an index that is not made of ints.  IndexError for one that names no element, for a tuple of another length than
        there are axes, and without an index if there are several elements.
        """
        if len(arguments) not in (1, 2):
            raise ValueError(f"For 'Tensor.itemset', a value, or an index and a value must be given, but got {len(arguments)} arguments.")
        *where_, value = arguments
        if not where_ and self.size != 1:
            raise wrong("Tensor.itemset", "index", f"given for the shape {self.shape}, as in x.itemset(0, value)", "none", IndexError)
        place = where_[0] if where_ else 0
        for entry in place if isinstance(place, tuple) else (place,):
            if isinstance(entry, (bool, float, str)) or entry is None:
                raise wrong("Tensor.itemset", "index", "an int or a tuple of ints", place, TypeError)
        if isinstance(place, tuple) and len(place) != self.ndim:
            raise wrong("Tensor.itemset", "index", f"an int for each of the {self.ndim} axes", place, IndexError)
        out = self.copy()
        flat = shapes.ravel(out) if not isinstance(place, tuple) else out
        write(flat, place, value)
        return shapes.reshape(flat, self.shape)

    # -- dtypes and devices -----------------------------------------------------------------------------------------------------
    def to(self: Any, *given: Any, device: str | None = None, dtype: DType | str | None = None, other: Any = None,
           non_blocking: bool = False, copy: bool = False) -> Tensor:
        """to(dtype), to(device, dtype), to(other): the values cast to a dtype, or to that of another tensor; a copy if it is the same.

        The device is "CPU", RuntimeError for others.  `non_blocking` and `copy`, which may follow by position, have no effect.
        """
        first, rest = (given[0], given[1:]) if given else (None, ())
        if isinstance(first, Tensor):
            other = _one("to", "other", first, "other", _ABSENT if other is None else other)
        elif isinstance(first, str) and first.partition(":")[0].upper() in ("CPU", "GPU", "ASCEND", "NPU", "CUDA"):
            device = _one("to", "device", first, "device", _ABSENT if device is None else device)
            if rest and not isinstance(rest[0], bool):
                dtype, rest = _one("to", "dtype", rest[0], "dtype", _ABSENT if dtype is None else dtype), rest[1:]
        elif given:
            dtype = _one("to", "dtype", first, "dtype", _ABSENT if dtype is None else dtype)
        if len(rest) > 2:
            raise TypeError(f"For 'Tensor.to', a dtype, a device or a tensor, 'non_blocking' and 'copy' must be given, but got {given!r}.")
        for name, value in (*zip(("non_blocking", "copy"), rest), ("non_blocking", non_blocking), ("copy", copy)):
            flag("Tensor.to", name, value)
        if device is not None and (not isinstance(device, str) or device.upper() != "CPU"):
            raise wrong("Tensor.to", "device", "'CPU', where all tensors are", device, RuntimeError)
        if other is not None:
            return self.astype(operand("Tensor.to", other, "other").dtype)
        return self.astype(self.dtype if dtype is None else dtype)

    def is_floating_point(self: Any) -> bool:
        """Return whether the dtype is a floating point type."""
        return self.dtype.is_float

    def is_signed(self: Any) -> bool:
        """Return whether the dtype has negative numbers."""
        return self.dtype.kind in "ifc"

    def is_complex(self: Any) -> bool:
        """Return whether the dtype is complex."""
        return self.dtype.is_complex

    def to_(self: Any, device: Any = None, non_blocking: bool = False) -> Tensor:
        """Return the tensor, which is on the device "CPU" already; RuntimeError for others."""
        if device is None:
            raise wrong("Tensor.to_", "device", "'CPU', where all tensors are", device)
        self.to(device=device, non_blocking=non_blocking)
        return self

    def to_coo(self: Any) -> sparse.COOTensor:
        """Return the elements of a matrix that are not 0: see `ops.dense_to_sparse_coo`."""
        return sparse.dense_to_sparse_coo(self)

    def to_csr(self: Any) -> sparse.CSRTensor:
        """Return the elements of a matrix that are not 0, by rows: see `ops.dense_to_sparse_csr`."""
        return sparse.dense_to_sparse_csr(self)

    def to_dlpack(self: Any) -> Any:
        """Return a DLPack capsule of the tensor: see `adjoint.to_dlpack`."""
        return dlpack.to_dlpack(self)

    @staticmethod
    def from_dlpack(dlpack_: Any, /) -> Tensor:
        """Return a tensor of the numbers in a DLPack capsule: see `adjoint.from_dlpack`."""
        return dlpack.from_dlpack(dlpack_)

    # -- where the tensor is, and since when: what a program may ask that is written for other devices too --------------------------
    init = _always(None, "None: the numbers are there since the tensor was made, also those of an Initializer.")
    init_finished = _always(True, "True: the numbers are there.")
    init_flag = _always(False, "False: no numbers are still to be made.")
    delta_seed = _always(0, "0: an Initializer draws its numbers with the seed that is set.")
    is_meta = _always(False, "False: a tensor has numbers.")
    virtual_flag = _always(False, "False: a tensor is a real one.")
    symbolic_shape = _always(None, "None: the shape of a tensor consists of numbers.")
    parent_tensor_ = _always(None, "None: a tensor does not know which one it is a part of.")
    index_of_parent_ = _always(None, "None: a tensor does not know which one it is a part of.")

    def data_sync(self: Any, wait: bool = True) -> None:
        """Do nothing: the numbers are where Python reads them."""

    def wait_pipeline(self: Any) -> None:
        """Do nothing: an operator has run when it returns."""

    # -- new tensors ------------------------------------------------------------------------------------------------
    def new_zeros(self: Any, size: Any, dtype: DType | None = None) -> Tensor:
        """Zeros of this dtype."""
        return creation.zeros(size, self.dtype if dtype is None else dtype)

    def new_ones(self: Any, size: Any, dtype: DType | None = None) -> Tensor:
        """Ones of this dtype."""
        return creation.ones(size, self.dtype if dtype is None else dtype)

    def new_full(self: Any, size: Any, fill_value: Any, *, dtype: DType | None = None) -> Tensor:
        """One number everywhere, of this dtype."""
        return creation.full(size, fill_value, dtype=self.dtype if dtype is None else dtype)

    def clone(self: Any) -> Tensor:
        """Return a tensor of the same numbers; gradients flow through it."""
        return self.copy()

    def allclose(self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
        """Return whether all elements are close to those of another tensor: a bool, in a graph a run-time one."""
        return reduction.all(arithmetic.isclose(self, other, rtol, atol, equal_nan)).item()

    def numel(self: Any) -> int:
        """Return the number of elements."""
        return self.size

    nelement = numel

    def ndimension(self: Any) -> int:
        """Return the number of axes."""
        return self.ndim

    def new_empty(self: Any, size: Any, *, dtype: DType | None = None, device: Any = None) -> Tensor:
        """A tensor of this dtype whose numbers have no meaning."""
        return creation.zeros(size, self.dtype if dtype is None else dtype)

    # -- in place ---------------------------------------------------------------------------------------------------
    def fill_(self: Any, value: Any) -> Tensor:
        """Fill this tensor with one number."""
        self.overwrite(creation.full_like(self, value))
        return self

    def zero_(self: Any) -> Tensor:
        """Fill this tensor with zeros."""
        return self.fill_(0)

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Tensor:
        """Copy the numbers of another tensor that broadcasts."""
        source = operand("Tensor.copy_", src, "src").astype(self.dtype, copy=False)
        self.overwrite(source if source.shape == self.shape else shapes.broadcast_to(source, self.shape))
        return self

    def normal_(self: Any, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fill this tensor with normally distributed numbers."""
        with drawn_from(stream_of("Tensor.normal_", generator)):
            self.overwrite(random_numbers.normal(self.shape, mean, std).astype(self.dtype))
        return self


def _same_bytes(x: Tensor, dtype: DType) -> Tensor:
    """Return a tensor of a dtype whose numbers have the same bytes as those of `x`."""
    needs_values("Tensor.view", "its numbers are those bytes")
    size, wanted = x.dtype.itemsize, dtype.itemsize
    if size != wanted and x.ndim == 0:
        raise wrong("Tensor.view", "dtype", f"of {size} bytes, as the number", dtype)
    if size != wanted and x.shape[-1] * size % wanted:
        raise wrong("Tensor.view", "dtype", f"of a size that divides the {x.shape[-1] * size} bytes of the last axis", dtype)
    shape = (*x.shape[:-1], x.shape[-1] * size // wanted) if x.ndim else ()
    array = array_of(x.memory, x.type) if x.dtype is BF16 else x.asnumpy()
    found = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8 if dtype is BOOL else dtype.array).reshape(shape)
    return wrap(tensor(dtype, shape), memory_of(found != 0 if dtype is BOOL else found))


def _extreme(along: Any, over: Any, x: Tensor, dim: Any, keepdim: Any, axis: Any, keepdims: Any, initial: Any, where: Any,
             return_indices: Any) -> Any:
    if dim is not None and axis is not None:
        raise TypeError(f"For 'Tensor.{along.__name__}', 'dim' and 'axis' are two names for one argument: give one of them.")
    name = "Tensor." + along.__name__
    only_dim = all(given is _ABSENT for given in (keepdims, initial, where, return_indices))
    keep = flag(name, "keepdim", keepdim) or flag(name, "keepdims", False if keepdims is _ABSENT else keepdims)
    initial, where = None if initial is _ABSENT else initial, None if where is _ABSENT or where is True else where
    indices = flag(name, "return_indices", False if return_indices is _ABSENT else return_indices)
    if isinstance(dim, int) and not isinstance(dim, bool) and only_dim:
        return along(x, dim, keep)
    place = dim if axis is None else axis
    if place is None:
        keep = False
    if indices:
        return along(x, place, keep, initial=initial, where=where)
    return over(x, place, keep, initial=initial, where=where)


_FUNCTIONS: dict[str, ModuleType] = {
    name: module
    for module, names in (
        (arithmetic,
         "addcdiv addcmul bitwise_and bitwise_or bitwise_xor clamp clip div fmod invert lerp masked_fill nan_to_num "
         "reciprocal subtract trunc type_as xlogy"),
        (floats,
         "angle conj copysign deg2rad fmax fmin frac heaviside hypot imag inv isneginf isposinf isreal ldexp logit positive "
         "rad2deg real sgn signbit xdivy"),
        (integers, "bitwise_left_shift bitwise_right_shift gcd lcm"),
        (activations, "hardshrink log_softmax soft_shrink"),
        (reduction, "amax amin cumprod logsumexp nanmean norm ptp"),
        (ordering, "aminmax kthvalue msort nanmedian nanquantile quantile top_k topk"),
        (running, "cummax cummin diff"),
        (counts, "bincount histc unique_with_pad"),
        (matrices, "det eigvals inverse logdet slogdet svd"),
        (linear, "addbmm addmm addmv baddbmm bmm dot ger inner mm outer"),
        (linear_systems,
         "cholesky cholesky_inverse cholesky_solve geqrf lstsq lu_solve matrix_power orgqr triangular_solve"),
        (patches, "col2im fold unfold"),
        (shapes, "adjoint moveaxis movedim ravel swapaxes swapdims t view_as"),
        (parts, "fliplr flipud reverse roll tensor_split unbind"),
        (picking, "argwhere gather_elements gather_nd masked_select nonzero"),
        (scattering,
         "index_fill inplace_update masked_scatter select_scatter slice_scatter tensor_scatter_add tensor_scatter_max "
         "tensor_scatter_min "
         "tensor_scatter_sub tensor_scatter_update"),
        (tensor_writes,
         "bernoulli_ exponential_ fill_diagonal fill_diagonal_ index_add_ index_copy_ index_fill_ put_ scatter_ scatter_add_ uniform "
         "unique"),
        (logsums, "logaddexp logaddexp2 logcumsumexp"),
        (special, "mvlgamma"),
        (diagonals, "tril triu"),
        (random_laws, "cauchy log_normal random_ uniform_"),
        (random_numbers, "bernoulli multinomial random_categorical"),
        (bands, "diagflat diagonal_scatter"),
        (blocks, "dsplit hsplit reverse_sequence rot90 vsplit"),
        (distances, "cov cross renorm"),
        (segments, "unsorted_segment_max unsorted_segment_min unsorted_segment_prod"),
    )
    for name in names.split()
}
"""The modules of the functions that become methods unchanged, with the tensor as first argument, besides those of `generated`."""

_SYNONYMS = {
    "divide": "div", "bitwise_not": "invert", "matrix_determinant": "det", "log_matrix_determinant": "slogdet", "fills": "fill",
}
_DTYPES = {
    "half": F16, "bfloat16": BF16, "float": F32, "double": F64, "bool": BOOL, "byte": U8, "short": I16, "int": I32, "long": I64,
    "char": I8,
}
_IN_PLACE = ("add", "addmm", "clamp", "div", "index_put", "masked_fill", "masked_scatter", "remainder", "sub")


_MEMORY = "`x.asnumpy()` or `x.to_dlpack()`, which share the memory of the tensor"
_INDEX = "`x[index]`, for reading and writing"
INSTEAD = {
    "storage": _MEMORY, "untyped_storage": _MEMORY,
    "set_": "`x.copy_(y)` for the numbers, or `x.set_data(y)` for another shape too: two tensors never write to one memory",
    "delete_": "`del x`: the memory is freed with the last tensor that holds it", "set_cast_dtype": "`x.astype(dtype)`",
    "set_device_address": "`Tensor.from_numpy`, which shares the memory of an array",
    "param_info": "the attributes of a Parameter, such as `name` and `requires_grad`",
    "set_param_info": "the attributes of a Parameter, such as `name` and `requires_grad`",
    "getitem_index_info": _INDEX, "setitem_index_info": _INDEX,
    "remove_hook": "`handle.remove()`, of the handle that `register_hook` returns",
}
"""What to write instead of members of MindSpore's Tensor that are missing here."""


def _converter(dtype: DType) -> Callable[[Any], Tensor]:
    op = Cast(dtype)

    def converted(self: Any) -> Tensor:
        return self if self.type.dtype is dtype else apply(op, self)

    converted.__doc__ = f"The tensor as {dtype}."
    return converted


def _in_place(name: str, function: Any) -> Callable[..., Tensor]:
    def changed(self: Any, /, *arguments: Any, **options: Any) -> Tensor:
        result = function(self, *arguments, **options)
        if result.shape != self.shape:
            raise wrong(f"Tensor.{name}_", "other", f"of a shape that broadcasts to {self.shape}", result)
        self.overwrite(result.astype(self.dtype, copy=False))
        return self

    changed.__wrapped__ = function  # pyright: ignore[reportFunctionMemberAccess] - its signature is that of the method
    changed.__doc__ = f"This tensor made to hold the result of `{name}`; returns it."
    return changed


def _called(type_: TensorType, dtype: Any = None) -> str:
    """`x.type()`: the name of the dtype.

    `type` of a tensor is its type, so that it is the type which is called; it knows of no tensor that could be cast.
    """
    if dtype is not None:
        raise TypeError("For 'Tensor.type', the argument 'dtype' is not supported: use Tensor.astype(dtype).")
    return type_.dtype.long_name


class _Later:
    """A method of Tensor that is loaded, and takes the place of this object, when it is first used.

    find  returns the function
    """

    def __init__(self, name: str, find: Callable[[], Callable[..., Any]]):
        self.name, self.find = name, find

    def __get__(self, x: Any, kind: Any = None) -> Any:
        method = self.find()
        if vars(Tensor).get(self.name) is self:
            setattr(Tensor, self.name, method)
        return getattr(kind if x is None else x, self.name)


def attach() -> None:
    """Give Tensor its methods, and let calls of `fusible` functions be fused."""
    on_frequent_calls(fused=make_fused, recorded=make_recorded)
    TensorType.__call__ = _called
    for name, method in vars(_Methods).items():
        if name not in vars(object) and (callable(method) or isinstance(method, (property, staticmethod))):
            inner = None if isinstance(method, property) else method
            while inner is not None and inner.__qualname__.startswith(_Methods.__name__):  # Python's errors name the innermost one
                inner.__qualname__ = f"Tensor.{name}"
                inner = getattr(inner, "__wrapped__", None)
            setattr(Tensor, name, method)
    for name, module in _FUNCTIONS.items():
        _later(name, lambda name=name, module=module: getattr(module, name))
    for name, op in METHODS.items():
        _later(name, lambda name=name, op=op: _method(name, generated.names_of(op).methods[name]))
    for name, other in _SYNONYMS.items():
        _later(name, lambda other=other: getattr(Tensor, other))
    for name, dtype in _DTYPES.items():
        setattr(Tensor, name, _converter(dtype))
    for name, instead in INSTEAD.items():
        member = MissingMember(instead)
        member.__set_name__(Tensor, name)
        setattr(Tensor, name, member)
    for name in _IN_PLACE:
        _later(f"{name}_", lambda name=name: _method(f"{name}_", getattr(Tensor, name)))


def _later(name: str, find: Callable[[], Callable[..., Any]]) -> None:
    setattr(Tensor, name, _Later(name, find))


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return _in_place(name[:-1], function) if name.endswith("_") else function


def add_method(name: str, function: Callable[..., Any]) -> None:
    """Make a function a method of Tensor; under a name that ends in `_` the method writes the result into the tensor."""
    setattr(Tensor, name, _method(name, function))
