"""Pooling over the two trailing axes of [n, c, h, w] tensors, and its gradients.

A window of `kernel` elements, `dilation` apart, moves by `stride` over each plane; `padding` ((top, bottom), (left, right))
surrounds the plane and holds no elements.  With `ceil` the last window may extend beyond the padded plane, provided it
begins inside the plane or its left or upper padding.

Max-pooling is piecewise linear: its gradient sends each cotangent to the element that was the largest of its window, the
first of equals in row-major order.  `max_pool_gradient` finds that element again from the operand; its own gradient,
`max_pool_select`, reads at the positions to which the other one writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.sums import Mean
from adjoint.ir.ops.windows import PIECE, UNPADDED, Halving, Padding, Pair, WindowRow, Windows
from adjoint.ir.types import F32, I32, I64, DType, TensorType, Type, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel, LocalArray

Array = Any
__all__ = ["AvgPool", "AvgPoolGradient", "MaxPool", "MaxPoolGradient", "MaxPoolIndices", "MaxPoolSelect"]

class _Pool(Op):
    """The geometry of windows."""

    kernel: Pair
    stride: Pair
    padding: Padding
    dilation: Pair = (1, 1)
    ceil: bool
    batch = batching.of_items
    pack = "pool"

    def check_geometry(self) -> None:
        if any(k < 1 for k in self.kernel):
            raise mistake(self, "kernel", "positive", self.kernel)
        if any(s < 1 for s in self.stride):
            raise mistake(self, "stride", "positive", self.stride)
        if any(d < 1 for d in self.dilation):
            raise mistake(self, "dilation", "positive", self.dilation)
        for (before, after), kernel, apart in zip(self.padding, self.kernel, self.dilation, strict=True):
            if not (0 <= before <= (kernel - 1) * apart and 0 <= after <= (kernel - 1) * apart):
                raise mistake(self, "padding", "non-negative and less than a window", self.padding)

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[Type, ...]]]:
        plane = tensor(dtype, (1, 1, 8, 8))
        for kernel, padding in (((2, 2), UNPADDED), ((3, 3), ((1, 1), (1, 1)))):
            geometry = {"kernel": kernel, "stride": (2, 2), "padding": padding}
            pooled = MaxPool(**geometry).pooled(plane)
            match cls.__name__:
                case "MaxPool" | "AvgPool":
                    yield cls(**geometry), (plane,)
                case "MaxPoolGradient":
                    yield cls(**geometry), (plane, pooled)
                case "AvgPoolGradient":
                    yield cls(to=plane, **geometry), (pooled,)

    def pooled(self, x: TensorType) -> TensorType:
        """Return the type of the result for an operand of type x."""
        self.check_geometry()
        if not isinstance(x, TensorType) or not x.dtype.is_float:
            raise mistake(self, "x", "a tensor of floating point numbers", x, TypeError)
        if x.rank != 4:
            raise mistake(self, "x", "of shape [n, c, h, w]", x)
        lengths = [self.windows(axis, size) for axis, size in enumerate(x.shape[2:])]
        if any(length < 1 for length in lengths):
            raise mistake(self, "x", f"at least as large as a window of {self.kernel}, padding included", x)
        return x.with_shape((*x.shape[:2], *lengths))

    def windows(self, axis: int, size: object) -> int:
        """Return the number of windows along an axis of `size` elements."""
        if not isinstance(size, int):
            raise mistake(self, "x", "of known height and width", size)
        before, after = self.padding[axis]
        room = size + before + after - self.dilation[axis] * (self.kernel[axis] - 1) - 1
        if room < 0:
            return 0
        count = (room + (self.stride[axis] - 1 if self.ceil else 0)) // self.stride[axis] + 1
        if self.ceil and (count - 1) * self.stride[axis] >= size + before:
            count -= 1
        return count

    def offsets(self) -> Iterator[Pair]:
        """Yield the positions in a window, in row-major order."""
        return itertools.product(range(self.kernel[0]), range(self.kernel[1]))

    def framed(self, x: Array, pooled: Sequence[int], fill: float) -> Array:
        """Return `x` padded with `fill` as far as the windows extend."""
        widths = [(0, 0), (0, 0)]
        for axis in range(2):
            reach = (pooled[axis] - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1
            before = self.padding[axis][0]
            widths.append((before, max(0, reach - before - x.shape[2 + axis])))
        return np.pad(x, widths, constant_values=fill)

    def at(self, framed: Array, pooled: Sequence[int], place: Pair) -> Array:
        """Return the view of `framed` at one position within every window: [n, c, *pooled]."""
        rows, columns = (
            slice(place[a] * self.dilation[a], place[a] * self.dilation[a] + (pooled[a] - 1) * self.stride[a] + 1, self.stride[a])
            for a in range(2))
        return framed[:, :, rows, columns]

    def unframed(self, framed: Array, size: Sequence[int]) -> Array:
        """Return the plane of `size` inside `framed`."""
        (top, _), (left, _) = self.padding
        return framed[:, :, top:top + size[0], left:left + size[1]]


class _MaxPool(_Pool):
    def places(self, x: Array, pooled: Sequence[int]) -> tuple[Array, Array]:
        """Return for each window the largest element and its position, the first of equal ones; NaN counts as the largest."""
        framed = self.framed(x, pooled, -np.inf)
        inside = self.framed(np.ones_like(x, bool), pooled, 0)
        best = np.full((*x.shape[:2], *pooled), -np.inf, x.dtype)
        place = np.full(best.shape, -1)
        for number, offset in enumerate(self.offsets()):
            candidate = self.at(framed, pooled, offset)
            larger = (candidate > best) | (np.isnan(candidate) & ~np.isnan(best)) | (place < 0)
            larger &= self.at(inside, pooled, offset)
            best = np.where(larger, candidate, best)
            place = np.where(larger, number, place)
        return best, place

    def largest(self, k: Kernel, piece: WindowRow, x: Buffer, first: Expr) -> LocalArray:
        """Return for each window of a piece the largest element."""
        return self._searched(k, piece, x, first, None)

    def largest_places(self, k: Kernel, piece: WindowRow, x: Buffer, first: Expr) -> LocalArray:
        """Return for each window of a piece the index in the plane of the largest element; -1 for a window without elements."""
        place = k.array(I32, PIECE, "place")
        self._searched(k, piece, x, first, place)
        return place

    def _searched(self, k: Kernel, piece: WindowRow, x: Buffer, first: Expr, place: LocalArray | None) -> LocalArray:
        best = k.array(x.dtype, PIECE, "best")

        def start(c: Expr) -> None:
            k.set(best[c], float("-inf"))
            if place:
                k.set(place[c], -1)

        def element(c: Expr, i: Expr) -> None:
            value = k.let(x[first + i], "value")
            larger = k.let(k.negation(k.less_equal(value, best[c])) & k.equal(best[c], best[c]), "larger")
            if place:
                taken = k.let(larger | k.less(place[c], 0), "taken")
                k.set(place[c], k.select(taken, k.cast(i, I32), place[c]))
            k.set(best[c], k.select(larger, value, best[c]))

        piece.each_window(start)
        piece.each_element(element)
        return best

    def sizes_of(self, x: Array) -> tuple[int, int]:
        return self.windows(0, x.shape[2]), self.windows(1, x.shape[3])


@contextmanager
def _summed(windows: Windows, out: Buffer, first: Expr) -> Iterator[Buffer]:
    """Yield a plane of zeros to add to, at `first`, which is then stored in `out`: two-byte floats are added as float."""
    k, narrow = windows.k, out.dtype is not out.dtype.compute
    total = k.scratch(out.dtype.compute, out.count, "total") if narrow else out
    with k.loop(0, windows.h * windows.w, "i") as i:
        k.store(total, first + i, 0.0)
    yield total
    if narrow:
        with k.loop(0, windows.h * windows.w, "i") as i:
            k.store(out, first + i, total[first + i])


def _largest_of_four(k: Kernel, values: Sequence[Expr]) -> Expr:
    """Return the largest, or a NaN if there is one."""
    best = values[0]
    for number, value in enumerate(values[1:], 1):
        larger = k.let(k.greater(value, best) | k.not_equal(value, value), f"larger{number}")
        best = k.let(k.select(larger, value, best), f"best{number}")
    return best


def _max_samples(*, cotangent: bool) -> tuple[Any, ...]:
    """Return the geometries on which max-pooling is tested."""
    note = "windows of distinct elements: no kink"

    def one(shape: tuple[int, ...], pooled: tuple[int, ...], **attributes: Any) -> Any:
        count = int(np.prod(shape))
        values = (np.arange(count) * 7919 % 10007 / 5003.0 - 1.0).reshape(shape)
        types = (tensor(F32, shape), tensor(F32, pooled)) if cotangent else (tensor(F32, shape),)
        return sample(*types, values={0: values}, note=note, **attributes)

    return (
        one((2, 3, 4, 6), (2, 3, 2, 3), kernel=(2, 2), stride=(2, 2)),
        one((1, 2, 28, 28), (1, 2, 14, 14), kernel=(2, 2), stride=(2, 2)),
        one((1, 2, 5, 7), (1, 2, 2, 3), kernel=(2, 2), stride=(2, 2), ),
        one((2, 2, 5, 6), (2, 2, 3, 3), kernel=(3, 3), stride=(2, 2), padding=((1, 1), (1, 1))),
        one((1, 2, 6, 7), (1, 2, 4, 4), kernel=(3, 2), stride=(1, 2), padding=((0, 0), (1, 1))),
        one((1, 1, 7, 8), (1, 1, 2, 4), kernel=(3, 2), stride=(2, 2), dilation=(2, 1)),
        one((1, 1, 6, 6), (1, 1, 3, 3), kernel=(3, 3), stride=(2, 2), ceil=True),
        one((0, 2, 4, 4), (0, 2, 2, 2), kernel=(2, 2), stride=(2, 2)),
    )


@operation
class MaxPool(_MaxPool):
    """The largest element of each window.

    operands x  T[n, c, h, w], T a floating point type; h and w known
    result   T[n, c, h', w'], h' = (h + top + bottom - dilation (kernel - 1) - 1) / stride + 1, rounded down or, with
             `ceil`, up; a window that holds a NaN is NaN
    gradient max_pool_gradient(x, ct): the first of the largest elements of a window receives its cotangent
    errors   ValueError: x not of rank 4 or smaller than a window, a size below 1, padding as wide as a window;
             TypeError: x not floating point
    """

    kernel: Pair
    stride: Pair
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    ceil: bool = False
    samples = _max_samples(cotangent=False)

    def infer(self, x: TensorType) -> TensorType:
        return self.pooled(x)

    def reference(self, x: Array) -> Array:
        return self.places(x, self.sizes_of(x))[0]

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        windows = Windows(k, self, x.shape, out.shape)
        with windows.each_plane() as (first, pooled):
            if windows.halving:

                windows.each_half(Halving(x, first, out, pooled, False, lambda _, four: (_largest_of_four(k, four),)))
                return
            with windows.each_piece() as piece:
                best = self.largest(k, piece, x, first)
                piece.each_window(lambda c: k.store(out, pooled + piece.first + c, best[c]))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        gradient = MaxPoolGradient(self.kernel, self.stride, self.padding, self.dilation, self.ceil)
        return (b.emit(gradient, node.operands[0], cotangents[0]),)


@operation
class MaxPoolGradient(_MaxPool):
    """The gradient of max_pool: each cotangent goes to the first of the largest elements of its window.

    operands x   T[n, c, h, w], the operand of max_pool
             ct  T[n, c, h', w'], the cotangent of its result
    result   T[n, c, h, w]; an element that is the largest of several windows receives their sum, in the windows' order
    gradient ct receives max_pool_select(x, v); x receives none: the result is constant in x where it has a gradient
    errors   ValueError: geometry as in max_pool, ct not of the type of its result; TypeError: x not floating point
    """

    kernel: Pair
    stride: Pair
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    ceil: bool = False
    samples = _max_samples(cotangent=True)

    def infer(self, x: TensorType, ct: TensorType) -> TensorType:
        if ct is not self.pooled(x):
            raise mistake(self, "ct", f"of type {self.pooled(x)}", ct)
        return x

    def reference(self, x: Array, ct: Array) -> Array:
        pooled = ct.shape[2:]
        _, place = self.places(x, pooled)
        framed = np.zeros_like(self.framed(x, pooled, 0))
        for number, offset in enumerate(self.offsets()):
            self.at(framed, pooled, offset)[...] += np.where(place == number, ct, 0)
        return self.unframed(framed, x.shape[2:])

    def lower(self, k: Kernel, x: Buffer, ct: Buffer, out: Buffer) -> None:
        windows = Windows(k, self, x.shape, ct.shape)
        with windows.each_plane() as (first, pooled):
            if windows.halving:

                def split(window: Expr, four: Sequence[Expr]) -> Sequence[Expr]:
                    best, left, given = _largest_of_four(k, four), k.let(ct[pooled + window], "left"), []
                    for value in four[:3]:
                        here = k.let(k.equal(value, best) | k.not_equal(value, value), "here")
                        given.append(k.let(k.select(here, left, 0), "given"))
                        left = k.let(k.select(here, 0, left), "left")
                    return *given, left

                windows.each_half(Halving(x, first, out, first, True, split))
                windows.clear_margin(out, first)
                return
            with _summed(windows, out, first) as total, windows.each_piece() as piece:
                place = self.largest_places(k, piece, x, first)

                def spread_one(c: Expr) -> None:
                    at = k.let(k.cast(place[c], I64), "at")
                    with k.when(k.greater_equal(at, 0)):
                        k.increment(total[first + at], ct[pooled + piece.first + c])

                piece.each_window(spread_one)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        select = MaxPoolSelect(self.kernel, self.stride, self.padding, self.dilation, self.ceil)
        return None, b.emit(select, node.operands[0], cotangents[0])


@operation
class MaxPoolSelect(_MaxPool):
    """For each window, the element of `v` at the position of the first of the largest elements of `x`.

    operands x  T[n, c, h, w], T a floating point type
             v  T[n, c, h, w]
    result   T[n, c, h', w'], as max_pool of x
    gradient v receives max_pool_gradient(x, ct); x receives none: the result is constant in x where it has a gradient
    errors   ValueError: geometry as in max_pool, v not of the type of x; TypeError: x not floating point
    """

    kernel: Pair
    stride: Pair
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    ceil: bool = False
    pack = ""
    samples = tuple(
        sample(s.operands[0], s.operands[0], values=s.values, note=s.note, **s.attributes)
        for s in _max_samples(cotangent=False))

    def infer(self, x: TensorType, v: TensorType) -> TensorType:
        if v is not x:
            raise mistake(self, "v", f"of type {x}", v)
        return self.pooled(x)

    def reference(self, x: Array, v: Array) -> Array:
        pooled = self.sizes_of(x)
        _, place = self.places(x, pooled)
        framed = self.framed(v, pooled, 0)
        result = np.zeros(place.shape, v.dtype)
        for number, offset in enumerate(self.offsets()):
            result = np.where(place == number, self.at(framed, pooled, offset), result)
        return result

    def lower(self, k: Kernel, x: Buffer, v: Buffer, out: Buffer) -> None:
        windows = Windows(k, self, x.shape, out.shape)
        with windows.each_plane() as (first, pooled), windows.each_piece() as piece:
            place = self.largest_places(k, piece, x, first)

            def choose(c: Expr) -> None:
                at = k.let(k.cast(place[c], I64), "at")
                k.store(out, pooled + piece.first + c, k.select(k.greater_equal(at, 0), v[first + at], 0))

            piece.each_window(choose)

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        gradient = MaxPoolGradient(self.kernel, self.stride, self.padding, self.dilation, self.ceil)
        return None, b.emit(gradient, node.operands[0], cotangents[0])


@operation
class MaxPoolIndices(_MaxPool):
    """The index in its plane of the largest element of each window.

    operands x  T[n, c, h, w], T a floating point type
    result   i64[n, c, h', w'], row * w + column of the first of the largest elements
    gradient none: constant
    errors   as max_pool
    """

    kernel: Pair
    stride: Pair
    padding: Padding = UNPADDED
    dilation: Pair = (1, 1)
    ceil: bool = False
    cuts = "indices are piecewise constant"
    pack = ""
    samples = _max_samples(cotangent=False)

    def infer(self, x: TensorType) -> TensorType:
        return self.pooled(x).with_dtype(I64)

    def reference(self, x: Array) -> Array:
        pooled = self.sizes_of(x)
        _, place = self.places(x, pooled)
        (top, _), (left, _) = self.padding
        rows = np.arange(pooled[0])[:, None] * self.stride[0] - top + place // self.kernel[1] * self.dilation[0]
        columns = np.arange(pooled[1]) * self.stride[1] - left + place % self.kernel[1] * self.dilation[1]
        return np.where(place < 0, -1, rows * x.shape[3] + columns)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        windows = Windows(k, self, x.shape, out.shape)
        with windows.each_plane() as (first, pooled), windows.each_piece() as piece:
            place = self.largest_places(k, piece, x, first)
            piece.each_window(lambda c: k.store(out, pooled + piece.first + c, k.cast(place[c], I64)))


class _AvgPool(_Pool):
    count_padding: bool
    divisor: int

    def check_geometry(self) -> None:
        super().check_geometry()
        if self.divisor < 0:
            raise mistake(self, "divisor", "positive, or 0 to count elements", self.divisor)

    def is_whole(self, size: Sequence[int]) -> bool:
        """Return True if the average is that of a whole plane: it is computed as a mean, in the order of additions of `reduce.py`."""
        return self.kernel == tuple(size) and self.padding == UNPADDED and self.divisor == 0

    def divisors(self, size: Sequence[int], dtype: Any) -> Array:
        """Return the divisor of each window's sum: [h', w']."""
        counts = []
        for axis in range(2):
            before, after = self.padding[axis] if self.count_padding else (0, 0)
            start = np.arange(self.windows(axis, size[axis])) * self.stride[axis] - self.padding[axis][0]
            stop = start + self.kernel[axis]
            counts.append(np.minimum(stop, size[axis] + after) - np.maximum(start, -before))
        area = np.multiply.outer(*counts)
        return (np.full_like(area, self.divisor) if self.divisor else area).astype(dtype)

    def shares(self, k: Kernel, piece: WindowRow, dtype: DType) -> Callable[[Expr], Expr]:
        """Return the divisor of the sum of a window of a piece."""
        if self.divisor:
            divisor = k.let(k.cast(k.size(self.divisor, "divisor"), dtype), "share")
            return lambda c: divisor
        s = piece.windows

        def extent(axis: int, window: Expr, size: Expr) -> Expr:
            begin = window * s.stride[axis] - s.before[axis]
            if self.count_padding:
                return k.minimum_of(begin + s.kernel[axis], size + s.after[axis]) - begin
            return k.minimum_of(begin + s.kernel[axis], size) - k.maximum_of(begin, 0)

        height = k.let(extent(0, piece.row, s.h), "height")
        return lambda c: k.cast(height * extent(1, piece.start + c, s.w), dtype)


def _avg_samples(*, gradient: bool) -> tuple[Any, ...]:
    """Return the geometries on which average-pooling is tested."""

    def one(shape: tuple[int, ...], pooled: tuple[int, ...], **attributes: Any) -> Any:
        if gradient:
            return sample(tensor(F32, pooled), to=tensor(F32, shape), **attributes)
        return sample(tensor(F32, shape), **attributes)

    return (
        one((2, 3, 4, 6), (2, 3, 2, 3), kernel=(2, 2), stride=(2, 2)),
        one((1, 2, 5, 7), (1, 2, 2, 3), kernel=(2, 2), stride=(2, 2)),
        one((2, 2, 5, 6), (2, 2, 3, 3), kernel=(3, 3), stride=(2, 2), padding=((1, 1), (1, 1))),
        one((2, 2, 5, 6), (2, 2, 3, 3), kernel=(3, 3), stride=(2, 2), padding=((1, 1), (1, 1)), count_padding=True),
        one((1, 2, 6, 7), (1, 2, 4, 4), kernel=(3, 2), stride=(1, 2), padding=((0, 0), (1, 1)), divisor=5),
        one((1, 1, 4, 4), (1, 1, 3, 3), kernel=(3, 3), stride=(2, 2), padding=((1, 1), (1, 1)), ceil=True, count_padding=True),
        one((0, 2, 4, 4), (0, 2, 2, 2), kernel=(2, 2), stride=(2, 2)),
        one((2, 3, 5, 7), (2, 3, 1, 1), kernel=(5, 7), stride=(5, 7)),
    )


@operation
class AvgPool(_AvgPool):
    """The average of each window.

    operands x  T[n, c, h, w], T a floating point type; h and w known
    result   T[n, c, h', w'], h' as in max_pool; the sum of a window's elements divided by `divisor`, or if that is 0 by
             the number of its elements, those in the padding counted only with `count_padding`
    gradient avg_pool_gradient(ct)
    errors   as max_pool; ValueError: divisor negative
    """

    kernel: Pair
    stride: Pair
    padding: Padding = UNPADDED
    ceil: bool = False
    count_padding: bool = False
    divisor: int = 0
    samples = _avg_samples(gradient=False)

    def infer(self, x: TensorType) -> TensorType:
        return self.pooled(x)

    def reference(self, x: Array) -> Array:
        pooled = self.windows(0, x.shape[2]), self.windows(1, x.shape[3])
        framed = self.framed(x, pooled, 0)
        total = np.zeros((*x.shape[:2], *pooled), x.dtype)
        for offset in self.offsets():
            total += self.at(framed, pooled, offset)
        return total / self.divisors(x.shape[2:], x.dtype)

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        if self.is_whole(x.shape[2:]):
            Mean((2, 3), keepdims=True).lower(k, x, out)
            return
        dtype, windows = x.dtype.compute, Windows(k, self, x.shape, out.shape)
        with windows.each_plane() as (first, pooled):
            if windows.halving:
                share = self.divisor or 4

                def average(window: Expr, four: Sequence[Expr]) -> Sequence[Expr]:
                    return ((four[0] + four[1] + four[2] + four[3]) / float(share),)

                windows.each_half(Halving(x, first, out, pooled, False, average))
                return
            with windows.each_piece() as piece:
                total = k.array(dtype, PIECE, "total")
                piece.each_window(lambda c: k.set(total[c], 0.0))
                piece.each_element(lambda c, i: k.increment(total[c], x[first + i]))
                share_of = self.shares(k, piece, dtype)
                piece.each_window(lambda c: k.store(out, pooled + piece.first + c, total[c] / share_of(c)))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        to = node.operands[0].type
        assert isinstance(to, TensorType)
        gradient = AvgPoolGradient(
            to, self.kernel, self.stride, self.padding, self.ceil, self.count_padding, self.divisor)
        return (b.emit(gradient, cotangents[0]),)


@operation
class AvgPoolGradient(_AvgPool):
    """The gradient of avg_pool: each cotangent, divided like its window's sum, goes to every element of the window.

    operands ct  T[n, c, h', w'], the cotangent of the result of avg_pool
    result   of type `to`, T[n, c, h, w]: the type of avg_pool's operand
    gradient avg_pool(v)
    errors   ValueError: geometry as in avg_pool, ct not of the type of its result; TypeError: not floating point
    """

    to: TensorType
    kernel: Pair
    stride: Pair
    padding: Padding = UNPADDED
    ceil: bool = False
    count_padding: bool = False
    divisor: int = 0
    samples = _avg_samples(gradient=True)

    def infer(self, ct: TensorType) -> TensorType:
        if ct is not self.pooled(self.to):
            raise mistake(self, "ct", f"of type {self.pooled(self.to)}", ct)
        return self.to

    def reference(self, ct: Array) -> Array:
        size, pooled = self.to.sizes[2:], ct.shape[2:]
        share = ct / self.divisors(size, ct.dtype)
        framed = np.zeros_like(self.framed(np.zeros((*ct.shape[:2], *size), ct.dtype), pooled, 0))
        for offset in self.offsets():
            self.at(framed, pooled, offset)[...] += share
        return self.unframed(framed, size)

    def lower(self, k: Kernel, ct: Buffer, out: Buffer) -> None:
        if self.is_whole(out.shape[2:]):
            area = out.shape[2] * out.shape[3]
            n = k.size(area, "n")
            with k.stage(ct.count, grain_of(area), "plane") as plane:
                given = k.let(ct[plane] / k.cast(n, ct.dtype.compute), "given")
                with k.loop(plane * n, (plane + 1) * n, "i") as i:
                    k.store(out, i, given)
            return
        dtype, windows = out.dtype.compute, Windows(k, self, out.shape, ct.shape)
        with windows.each_plane() as (first, pooled):
            if windows.halving:
                share = self.divisor or 4

                def split(window: Expr, four: Sequence[Expr]) -> Sequence[Expr]:
                    return (k.let(ct[pooled + window] / float(share), "given"),) * 4

                windows.each_half(Halving(None, first, out, first, True, split))
                windows.clear_margin(out, first)
                return
            with _summed(windows, out, first) as total, windows.each_piece() as piece:
                given = k.array(dtype, PIECE, "given")
                share_of = self.shares(k, piece, dtype)
                piece.each_window(lambda c: k.set(given[c], ct[pooled + piece.first + c] / share_of(c)))
                piece.each_element(lambda c, i: k.increment(total[first + i], given[c]))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        average = AvgPool(self.kernel, self.stride, self.padding, self.ceil, self.count_padding, self.divisor)
        return (b.emit(average, cotangents[0]),)
