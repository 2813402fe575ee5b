"""Weighted sums of a few elements along an axis: resizing of images by interpolation or by averages.

Both ops are linear in `x` and in `weights`, and each is the gradient of the other by `x`, so gradients of any order exist.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops.loops import ELEMENTS_PER_THREAD, emit_fill, grain_of
from adjoint.ir.types import F32, I64, Dim, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["Resample", "ResampleGradient"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

COLUMNS = 64
"""Adjacent elements that are summed side by side."""
_PLACES = [[0, 1], [1, -1], [2, 2], [2, 0], [-1, -1]]
_UNTOUCHED = [[3, 3], [1, 1], [1, 0]]


class _Resampling(Op):
    """Base class of both ops; the axis has `length` elements in x, and as many in the result as `indices` has rows."""

    axis: int

    def batch(self, b: Builder, node: Node, operands: Sequence[Atom], mapped: Sequence[bool], size: Dim) -> Sequence[Atom] | None:
        x, *tables = operands
        if any(mapped[1:]):
            return None
        to = getattr(self, "to", None)
        changed = {} if to is None else {"to": to.with_shape((size, *to.shape))}
        return [b.emit(dataclasses.replace(self, axis=self.axis + 1, **changed), x, *tables)]

    def check_tables(self, dtype: Any, indices: Any, weights: Any) -> None:
        if not isinstance(indices, TensorType) or indices.dtype is not I64:
            raise mistake(self, "indices", "a tensor of Int64", indices, TypeError)
        if indices.rank != 2:
            raise mistake(self, "indices", "of 2 dimensions", indices)
        if not isinstance(weights, TensorType) or weights.dtype not in (dtype, dtype.compute):
            raise mistake(self, "weights", f"a tensor of {dtype} or {dtype.compute}", weights, TypeError)
        if weights.shape != indices.shape:
            raise mistake(self, "weights", f"of the shape of 'indices', {indices}", weights)

    def check_axis(self, name: str, x: Any) -> None:
        if not isinstance(x, TensorType) or not x.dtype.is_float:
            raise mistake(self, name, "a tensor of floating point numbers", x, TypeError)
        if not 0 <= self.axis < x.rank:
            raise mistake(self, "axis", f"in 0..{x.rank - 1}", self.axis)

    def check_range(self, indices: Array, length: int) -> None:
        outside = (indices < -1) | (indices >= length)
        if outside.any():
            raise mistake(self, "indices", f"-1 or in 0..{length - 1}", int(indices[outside][0]), IndexError)

    def failure(self, status: int) -> Exception:
        return mistake(self, "indices", f"-1 or in range along axis {self.axis}", "an index out of range", IndexError)

    def resized(self, shape: tuple[Any, ...], length: Any) -> tuple[Any, ...]:
        return (*shape[: self.axis], length, *shape[self.axis + 1 :])

    def weights_gradient(self, b: Builder, x: Atom, ct: Atom, indices: Atom, weights: Atom) -> Atom:
        """Return the cotangent of the weights for that of resampling x: the sums of the products with the elements."""
        of_x, of_ct, table = tensor_type(x), tensor_type(ct), tensor_type(indices)
        places, taps = table.shape
        lead, behind = of_x.shape[: self.axis], of_x.shape[self.axis + 1 :]
        if not of_x.sizes[self.axis]:
            return b.zeros(tensor_type(weights))
        outside = b.less(indices, b.constant(0, I64))
        taken = b.gather(x, b.select(outside, b.constant(0, table), indices), axis=self.axis)
        spread = b.broadcast(b.reshape(ct, to=of_ct.with_shape((*lead, places, 1, *behind))),
                             to=of_ct.with_shape((*lead, places, taps, *behind)))
        axes = (*range(self.axis), *range(self.axis + 2, of_x.rank + 1))
        total = b.sum(b.mul(taken, spread), axes=axes, keepdims=False) if axes else b.mul(taken, spread)
        to = tensor_type(weights)
        total = total if tensor_type(total).dtype is to.dtype else b.cast(total, to=to.dtype)
        return b.select(outside, b.constant(0.0, to), total)


def _extents(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """Return the numbers of elements before, along and after an axis."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _each_tap(k: Kernel, indices: Buffer, row: Expr, taps: Expr, n: Expr, body: Any) -> None:
    """Do `body`, with the number of the tap and its index, for the taps of a row whose index is one of the n elements."""
    with k.loop(0, taps, "t") as t:
        tap = k.let(row * taps + t, "tap")
        index = k.let(indices[tap], "index")
        with k.when(k.either(k.less(index, -1), k.greater_equal(index, n))):
            k.fail(1)
        with k.when(k.greater_equal(index, 0)):
            body(tap, index)


@operation
class Resample(_Resampling):
    """Along `axis`, element i of the result is the sum over t of weights[i, t] * x[indices[i, t]]; an index -1 adds nothing.

    operands x        T[s], T a floating point type
             indices  i64[m, t], from 0 on, or -1
             weights  W[m, t], W either T or the type that T is computed in
    result   T[s with m along axis]; the terms are added in the order of t, two-byte floats in float32
    gradient x receives resample_gradient(ct, indices, weights), weights the sums of ct times the elements; indices none
    errors   TypeError: dtypes as above; ValueError: axis out of range, shapes that differ; IndexError when run: an index out of range
    """

    axis: int
    samples = (
        sample(tensor(F32, (2, 3)), tensor(I64, (5, 2)), tensor(F32, (5, 2)), values={1: _PLACES}, axis=1),
        sample(tensor(F32, (2, 3, 4)), tensor(I64, (5, 2)), tensor(F32, (5, 2)), values={1: _PLACES}, axis=1),
        sample(tensor(F32, (4, 67)), tensor(I64, (3, 2)), tensor(F32, (3, 2)), values={1: _UNTOUCHED}, axis=0),
        sample(tensor(F32, (3,)), tensor(I64, (5, 2)), tensor(F32, (5, 2)), values={1: _PLACES}, axis=0),
        sample(tensor(F32, (0, 3)), tensor(I64, (5, 2)), tensor(F32, (5, 2)), values={1: _PLACES}, axis=1),
        sample(tensor(F32, (2, 3)), tensor(I64, (0, 2)), tensor(F32, (0, 2)), axis=1),
    )

    def infer(self, x: Any, indices: Any, weights: Any) -> TensorType:
        self.check_axis("x", x)
        self.check_tables(x.dtype, indices, weights)
        return x.with_shape(self.resized(x.shape, indices.shape[0]))

    def reference(self, x: Array, indices: Array, weights: Array) -> Array:
        self.check_range(indices, x.shape[self.axis])
        along = np.moveaxis(x, self.axis, 0)
        total = np.zeros((len(indices), *along.shape[1:]), x.dtype)
        for places, shares in zip(indices.T, weights.T, strict=True):
            inside = places >= 0
            total[inside] += shares[inside].reshape(-1, *(1,) * (along.ndim - 1)) * along[places[inside]]
        return np.moveaxis(total, 0, self.axis)

    def lower(self, k: Kernel, x: Buffer, indices: Buffer, weights: Buffer, out: Buffer) -> None:
        outer, length, inner = _extents(x.shape, self.axis)
        places, width = indices.shape
        n, m, taps, dtype = k.size(length, "n"), k.size(places, "m"), k.size(width, "taps"), out.dtype.compute
        if inner == 1:
            with k.stage(outer, grain_of(places * (2 * width + 2)), "o") as o, k.loop(0, m, "i") as i:
                total = k.local(k.literal(0.0, dtype), "total")
                _each_tap(k, indices, i, taps, n, lambda tap, index: k.increment(total, k.cast(weights[tap], dtype) * x[o * n + index]))
                k.store(out, o * m + i, total)
            return
        columns = k.size(inner, "columns")
        with k.stage(outer * places, grain_of(inner * (width + 1)), "row") as row:
            i, source, target = k.let(row % m, "i"), k.let(row / m * n, "source"), k.let(row * columns, "target")
            with k.loop(0, columns, "start", step=COLUMNS) as start:
                count = k.let(k.minimum_of(columns - start, COLUMNS), "count")
                total = k.array(dtype, COLUMNS, "total")
                with k.loop(0, count, "c") as c:
                    k.set(total[c], 0.0)

                def add(tap: Expr, index: Expr) -> None:
                    share = k.let(k.cast(weights[tap], dtype), "share")
                    first = k.let((source + index) * columns + start, "first")
                    with k.loop(0, count, "c") as c:
                        k.increment(total[c], share * x[first + c])

                _each_tap(k, indices, i, taps, n, add)
                with k.loop(0, count, "c") as c:
                    k.store(out, target + start + c, total[c])

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        x, indices, weights = node.operands
        by_x = b.resample_gradient(ct, indices, weights, axis=self.axis, to=x.type)
        return by_x, None, self.weights_gradient(b, x, ct, indices, weights)


@operation
class ResampleGradient(_Resampling):
    """The gradient of resample by x: element j along `axis` is the sum of weights[i, t] * ct[i] over all i and t with indices[i, t] = j.

    operands ct       T[s with m along axis], T a floating point type
             indices  i64[m, t], from 0 on, or -1
             weights  W[m, t], W either T or the type that T is computed in
    result   of type `to`, T[s]; the terms are added in the order of i, then t, two-byte floats in float32
    gradient for a cotangent v: ct receives resample(v, indices, weights), weights the sums of ct times the elements of v; indices none
    errors   TypeError: dtypes as above; ValueError: axis out of range, shapes that differ; IndexError when run: an index out of range
    """

    axis: int
    to: TensorType
    samples = (
        sample(tensor(F32, (2, 5)), tensor(I64, (5, 2)), tensor(F32, (5, 2)), values={1: _PLACES}, axis=1, to=tensor(F32, (2, 3))),
        sample(tensor(F32, (2, 5, 4)), tensor(I64, (5, 2)), tensor(F32, (5, 2)), values={1: _PLACES}, axis=1, to=tensor(F32, (2, 3, 4))),
        sample(tensor(F32, (3, 67)), tensor(I64, (3, 2)), tensor(F32, (3, 2)), values={1: _UNTOUCHED}, axis=0, to=tensor(F32, (4, 67))),
        sample(tensor(F32, (2, 0)), tensor(I64, (0, 2)), tensor(F32, (0, 2)), axis=1, to=tensor(F32, (2, 3))),
    )

    def infer(self, ct: Any, indices: Any, weights: Any) -> TensorType:
        self.check_axis("ct", self.to)
        self.check_tables(self.to.dtype, indices, weights)
        if ct is not self.to.with_shape(self.resized(self.to.shape, indices.shape[0])):
            raise mistake(self, "ct", f"of the shape that resampling {self.to} by {indices} gives", ct)
        return self.to

    def reference(self, ct: Array, indices: Array, weights: Array) -> Array:
        self.check_range(indices, self.to.sizes[self.axis])
        along = np.moveaxis(ct, self.axis, 0)
        total = np.zeros((self.to.sizes[self.axis], *along.shape[1:]), ct.dtype)
        rows, taps = np.nonzero(indices >= 0)
        np.add.at(total, indices[rows, taps], weights[rows, taps].reshape(-1, *(1,) * (along.ndim - 1)) * along[rows])
        return np.moveaxis(total, 0, self.axis)

    def lower(self, k: Kernel, ct: Buffer, indices: Buffer, weights: Buffer, out: Buffer) -> None:
        outer, length, inner = _extents(out.shape, self.axis)
        places, width = indices.shape
        n, m, taps, dtype = k.size(length, "n"), k.size(places, "m"), k.size(width, "taps"), out.dtype.compute
        narrow = out.dtype is not dtype
        total = k.scratch(dtype, out.count, "total") if narrow else out
        emit_fill(k, total, 0.0)
        blocks = -(-inner // COLUMNS)
        columns, per_row = k.size(inner, "columns"), k.size(max(1, blocks), "blocks")
        with k.stage(outer * blocks, grain_of(places * width * min(inner, COLUMNS)), "unit") as unit:
            start = k.let(unit % per_row * COLUMNS, "start")
            stop = k.let(k.minimum_of(start + COLUMNS, columns), "stop")
            o = k.let(unit / per_row, "o")
            with k.loop(0, m, "i") as i:
                source = k.let((o * m + i) * columns, "source")

                def add(tap: Expr, index: Expr) -> None:
                    share = k.let(k.cast(weights[tap], dtype), "share")
                    target = k.let((o * n + index) * columns, "target")
                    with k.loop(start, stop, "j") as j:
                        k.increment(total[target + j], share * ct[source + j])

                _each_tap(k, indices, i, taps, n, add)
        if narrow:
            with k.stage(out.count, ELEMENTS_PER_THREAD) as i:
                k.store(out, i, total[i])

    def vjp(self, b: Builder, node: Node, ct: Any) -> Cotangents:
        inner, indices, weights = node.operands
        by_inner = b.resample(ct, indices, weights, axis=self.axis)
        return by_inner, None, self.weights_gradient(b, ct, inner, indices, weights)
