"""The positions of extremes along one axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.op import Op, family, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.ops.reduce import LANES, NUMBERS, reduced_shape
from adjoint.ir.types import F32, I32, I64, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]

TOGETHER = 256
"""The number of columns whose extremes are found together: few, so that all threads have columns; no result depends on it."""

F32_23 = tensor(F32, (2, 3))
I32_23 = tensor(I32, (2, 3))


@family
class Position(Op):
    """The index of an extreme along `axis`, as an integer of dtype `to`."""

    axis: int
    to: DType = I64
    batch = batching.along_axes
    pack = "reduce"
    samples = (
        sample(F32_23, axis=0, smooth=False, note="an index"),
        sample(F32_23, axis=1, to=I32, smooth=False, note="an index"),
        sample(tensor(F32, (2, 3, 4)), axis=1, smooth=False, note="an index"),
        sample(tensor(F32, (2, 4)), axis=1, values={0: [[1.0, 3.0, 3.0, 1.0], [2.0, 3.0, math.nan, math.nan]]},
               smooth=False, note="ties and NaN"),
        sample(tensor(F32, (3, 0)), axis=0, smooth=False, note="an index"),
        sample(I32_23, axis=1, domain=(-9, 9), smooth=False, note="an index"),
        sample(tensor(F32, (3, 101)), axis=1, smooth=False, note="an index"),
        sample(tensor(I32, (3, 101)), axis=1, domain=(0, 5), smooth=False, note="an index, among ties"),
        sample(tensor(F32, (2, 9, 40)), axis=1, smooth=False, note="an index in columns"),
        sample(tensor(I32, (7, 300)), axis=0, domain=(0, 5), smooth=False, note="an index in columns, among ties"),
    )

    def infer(self, x: Any) -> TensorType:
        if not isinstance(x, TensorType) or x.dtype not in NUMBERS:
            raise mistake(self, "x", "a tensor of a number type", x, TypeError)
        if self.to not in (I32, I64):
            raise mistake(self, "to", "Int32 or Int64", self.to, TypeError)
        if not 0 <= self.axis < x.rank:
            raise mistake(self, "axis", f"in 0..{x.rank - 1}", self.axis)
        if x.shape[self.axis] == 0:
            raise mistake(self, "x", f"of at least one element along axis {self.axis}", x)
        return tensor(self.to, reduced_shape(x.shape, (self.axis,), keepdims=False))

    def beats(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        """Return the C condition that number `a` is more extreme than number `b`."""
        raise NotImplementedError(f"{type(self).__name__}.beats")

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        length = x.shape[self.axis]
        inner = math.prod(x.shape[self.axis + 1 :])
        if inner >= LANES and length < 1 << 31:
            self._places_of_columns(k, x, out, length, inner)
            return
        n, m = k.size(length, "n"), None if inner == 1 else k.size(inner, "m")
        with k.stage(out.count, grain_of(2 * length), "unit") as unit:
            start = k.let(unit * n if m is None else unit / m * n * m + unit % m, "start")
            if m is None and 2 * LANES <= length < 1 << 31:
                place = self._place_in_lanes(k, x, start, n)
            else:
                best, place = k.local(x[start], "best"), k.local(0, "place", I64)
                with k.loop(1, n, "i") as i:
                    value = k.let(x[start + (i if m is None else i * m)], "value")
                    with k.when(self._wins(k, value, best)):
                        k.set(best, value)
                        k.set(place, i)
            k.store(out, unit, k.cast(place, self.to))

    def _wins(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        """Return the C condition that `a`, which comes after `b`, replaces it: NaN is the most extreme."""
        better = self.beats(k, a, b)
        if a.dtype.is_float:
            better = k.either(better, k.both(k.call("isnan", a), k.negation(k.call("isnan", b))))
        return better

    def _place_in_lanes(self, k: Kernel, x: Buffer, start: Expr, n: Expr) -> Expr:
        """Return the position of the extreme of n adjacent elements, n at least LANES: found for each lane, then among the lanes."""
        best, place = k.array(x.dtype, LANES, "best"), k.array(I32, LANES, "place")
        with k.loop(0, LANES, "l") as here:
            k.set(best[here], x[start + here])
            k.set(place[here], k.cast(here, I32))
        full = k.let(n / LANES * LANES, "full")

        def meet(here: Expr, i: Expr) -> None:
            self._meet(k, k.let(x[start + i], "value"), i, best[here], place[here])

        with k.loop(LANES, full, "i", step=LANES) as i, k.loop(0, LANES, "l") as here:
            meet(here, i + here)
        with k.loop(full, n, "i") as i:
            meet(i - full, i)
        with k.loop(1, LANES, "l") as here:
            equal = k.equal(best[here], best[0])
            if x.dtype.is_float:
                equal = k.either(equal, k.both(k.call("isnan", best[here]), k.call("isnan", best[0])))
            earlier = k.both(equal, k.less(place[here], place[0]))
            with k.when(k.either(earlier, self._wins(k, best[here], best[0]))):
                k.set(best[0], best[here])
                k.set(place[0], place[here])
        return place[0]

    def _places_of_columns(self, k: Kernel, x: Buffer, out: Buffer, length: int, inner: int) -> None:
        """Emit the positions of the extremes of the columns of x[outer, length, inner], some columns at a time."""
        n, m = k.size(length, "n"), k.size(inner, "m")
        k.describe(x, "..., n, m")
        k.describe(out, "..., m")
        outer = math.prod(x.shape[: self.axis])
        chunks = -(-inner // TOGETHER)
        per_row = k.size(chunks, "chunks")
        with k.stage(outer * chunks, grain_of(2 * length * min(inner, TOGETHER)), "unit") as unit:
            left = k.let(unit % per_row * TOGETHER, "left")
            width = k.let(k.minimum_of(m - left, k.literal(TOGETHER, I64)), "width")
            start = k.let(unit / per_row * n * m + left, "start")
            best, place = k.array(x.dtype, TOGETHER, "best"), k.array(I32, TOGETHER, "place")
            with k.loop(0, width, "j") as j:
                k.set(best[j], x[start + j])
                k.set(place[j], k.literal(0, I32))
            with k.loop(1, n, "i") as i:
                row = k.let(start + i * m, "row")
                with k.loop(0, width, "j") as j:
                    self._meet(k, k.let(x[row + j], "value"), i, best[j], place[j])
            with k.loop(0, width, "j") as j:
                k.store(out, unit / per_row * m + left + j, k.cast(place[j], self.to))

    def _meet(self, k: Kernel, value: Expr, i: Expr, best: Expr, place: Expr) -> None:
        """Append the C code that replaces `best` and `place` by `value` and its position `i` if that wins, without a branch."""
        wins = k.let(self._wins(k, value, best), "wins")
        k.set(best, k.select(wins, value, best))
        k.set(place, k.select(wins, k.cast(i, I32), place))

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        """Return samples along the last axis, for a class of rows."""
        for to in (I32, I64) if dtype in NUMBERS else ():
            yield cls(axis=1, to=to), (tensor(dtype, (8, 10)),)


@operation
class ArgMax(Position):
    """The index of the largest element along `axis`, the first of equal ones; NaN counts as the largest.

    x         T[s], T a number type
    result    to[s without axis], to i32 or i64
    gradient  none: an index has none
    errors    TypeError: not numbers; ValueError: axis out of range, no elements
    """

    cuts = "an index has no gradient"

    def beats(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return k.greater(a, b)

    def reference(self, x: Array) -> Array:
        return np.argmax(x, axis=self.axis).astype(self.to.array)


@operation
class ArgMin(Position):
    """The index of the smallest element along `axis`, the first of equal ones; NaN counts as the smallest.

    x         T[s], T a number type
    result    to[s without axis], to i32 or i64
    gradient  none: an index has none
    errors    TypeError: not numbers; ValueError: axis out of range, no elements
    """

    cuts = "an index has no gradient"

    def beats(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        return k.less(a, b)

    def reference(self, x: Array) -> Array:
        return np.argmin(x, axis=self.axis).astype(self.to.array)
