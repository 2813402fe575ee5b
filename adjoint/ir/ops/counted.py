"""Ops that find as many things as values decide: elements that are not 0, are chosen, or differ; counts; the numbers up to one.

The result of a `CountedOp` has the size that values decide, which is known before it runs: graphs use these.  The others find what there
is and how much in one pass: their first result has room for all that there can be, and the last one says how many there are.  What is
found stands at the beginning of the room; 0 fills the rest.  Eager mode keeps the beginning (`runtime/tensor/sizes_of_values.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import NotDifferentiable, Op, family, mistake, operation, sample
from adjoint.ir.ops.loops import advance, row_counters
from adjoint.ir.ops.shape import check_tensor
from adjoint.ir.ops.sort import check_rows, sort_row
from adjoint.ir.types import BOOL, F16, F32, F64, I8, I32, I64, U64, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node, Value
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["CountedOp", "FindChosen", "FindCounts", "FindDistinct", "FindNonZero", "NonZero", "UpTo"]

Array = np.ndarray[Any, Any]

_COUNT = tensor(I64)


@family
class CountedOp(Op):
    """Gives a tensor whose first size is a number that its operand decides.

    The type of the result, `to`, says what the number is; the op fails if it is another one.  If `size` is not empty, values decide the
    number when a graph runs: the graph is split before the node, its first part computes the number, and in the second part the number
    stands in place of the named size `size`.
    """

    to: TensorType
    size: str = ""

    @staticmethod
    def count(b: Builder, x: Atom) -> Value:
        """Add the nodes that compute the number, i64, of the operand."""
        raise NotImplementedError


@operation
class NonZero(CountedOp):
    """The coordinates of the elements that are not 0, in their order; NaN is not 0.

    x         T[s]
    result    to, i64[the number of elements that are not 0, the number of axes of x]
    gradient  none
    errors    TypeError: not a tensor; ValueError: `to` is of another type; ValueError when run: x has another number of such elements
    """

    samples = (
        sample(tensor(F32, (2, 3)), values={0: [[0.0, 2.0, -0.0], [np.nan, 0.0, -1.0]]}, to=tensor(I64, (3, 2)), smooth=False),
        sample(tensor(BOOL, (5,)), values={0: [True, False, True, True, False]}, to=tensor(I64, (3, 1)), smooth=False),
        sample(tensor(I32, (2, 1, 2)), values={0: [[[0, 3]], [[-1, 0]]]}, to=tensor(I64, (2, 3)), smooth=False),
        sample(tensor(F64, (4,)), values={0: [0.0, 0.0, 0.0, 0.0]}, to=tensor(I64, (0, 1)), smooth=False, note="none"),
        sample(tensor(F16, (3,)), values={0: [1.0, 0.0, 2.0]}, to=tensor(I64, (2, 1)), smooth=False, note="half floats"),
        sample(tensor(F32), values={0: 2.0}, to=tensor(I64, (1, 0)), smooth=False, note="one number"),
        sample(tensor(F32, (0, 3)), to=tensor(I64, (0, 2)), smooth=False),
    )

    @staticmethod
    def count(b: Builder, x: Atom) -> Value:
        chosen = x if tensor_type(x).dtype is BOOL else b.cast(x, to=BOOL)
        return b.sum(b.cast(chosen, to=I64), axes=tuple(range(tensor_type(x).rank)))

    def infer(self, x: Any) -> TensorType:
        check_tensor(self, "x", x)
        if self.to.dtype is not I64 or self.to.rank != 2 or self.to.shape[1] != x.rank:
            raise mistake(self, "to", f"i64[.., {x.rank}]", self.to)
        return self.to

    def reference(self, x: Array) -> Array:
        found = np.argwhere(x) if x.ndim else np.zeros((int(x != 0), 0), np.int64)
        if len(found) != self.to.sizes[0]:
            raise mistake(self, "x", f"{self.to.sizes[0]} elements that are not 0", len(found))
        return found

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        count = k.size(out.shape[0], "count")
        sizes = [k.size(size, f"n{axis}") for axis, size in enumerate(x.shape)] if x.rank > 1 else []
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            found = k.local(0, "found", I64)
            counters = row_counters(k, k.literal(0, I64), sizes)
            with k.loop(0, k.size(x.count, "n"), "i") as i:
                with k.when(k.not_equal(x[i], k.literal(0, x.dtype.compute))):
                    with k.when(k.less(found, count)):
                        for axis, place in enumerate(counters or ([i] if x.rank else [])):
                            k.store(out, found * x.rank + axis, place)
                    k.increment(found, 1)
                advance(k, counters, sizes)
            with k.when(k.not_equal(found, count)):
                k.fail(1)

    def failure(self, status: int) -> Exception:
        return mistake(self, "x", f"{self.to.sizes[0]} elements that are not 0", "another number")


@operation
class UpTo(CountedOp):
    """The numbers 0, 1, ... below n.

    n         i64
    result    to, i64[n]; none if n is negative
    gradient  none
    errors    TypeError: n is not an i64 without axes; ValueError: `to` is of another type; ValueError when run: n is another number
    """

    samples = (
        sample(tensor(I64), values={0: 5}, to=tensor(I64, (5,)), smooth=False),
        sample(tensor(I64), values={0: 1}, to=tensor(I64, (1,)), smooth=False),
        sample(tensor(I64), values={0: 0}, to=tensor(I64, (0,)), smooth=False, note="none"),
        sample(tensor(I64), values={0: -3}, to=tensor(I64, (0,)), smooth=False, note="negative"),
    )

    @staticmethod
    def count(b: Builder, x: Atom) -> Value:
        return b.maximum(x, b.constant(0, I64))

    def infer(self, n: Any) -> TensorType:
        check_tensor(self, "n", n)
        if n.dtype is not I64 or n.rank:
            raise mistake(self, "n", "i64", n, TypeError)
        if self.to.dtype is not I64 or self.to.rank != 1:
            raise mistake(self, "to", "i64[..]", self.to)
        return self.to

    def reference(self, n: Array) -> Array:
        if max(int(n), 0) != self.to.sizes[0]:
            raise mistake(self, "n", str(self.to.sizes[0]), int(n))
        return np.arange(self.to.sizes[0])

    def lower(self, k: Kernel, n: Buffer, out: Buffer) -> None:
        count = k.size(out.shape[0], "count")
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            with k.loop(0, count, "i") as i:
                k.store(out, i, i)
            found = k.let(n[0], "found")
            with k.when(k.not_equal(k.select(k.less(found, 0), k.literal(0, I64), found), count)):
                k.fail(1)

    def failure(self, status: int) -> Exception:
        return mistake(self, "n", str(self.to.sizes[0]), "another number")


@operation
class FindNonZero(Op):
    """The coordinates of the elements that are not 0, in their order, and how many there are; NaN is not 0.

    x         T[s], of n elements and r axes
    result    i64[n, r], the coordinates, then 0; and i64, the number of elements that are not 0
    gradient  none
    errors    TypeError: not a tensor
    """

    cuts = "places are integers"
    samples = (
        sample(tensor(F32, (2, 3)), values={0: [[0.0, 2.0, -0.0], [np.nan, 0.0, -1.0]]}, smooth=False),
        sample(tensor(BOOL, (5,)), values={0: [True, False, True, True, False]}, smooth=False),
        sample(tensor(I32, (2, 1, 2)), values={0: [[[0, 3]], [[-1, 0]]]}, smooth=False),
        sample(tensor(F64, (4,)), values={0: [0.0, 0.0, 0.0, 0.0]}, smooth=False, note="none"),
        sample(tensor(F16, (3,)), values={0: [1.0, 3.0, 2.0]}, smooth=False, note="all"),
        sample(tensor(F32), values={0: 2.0}, smooth=False, note="one number"),
        sample(tensor(F32, (0, 3)), smooth=False),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        check_tensor(self, "x", x)
        return tensor(I64, (math.prod(x.shape), x.rank)), _COUNT

    def reference(self, x: Array) -> tuple[Array, Array]:
        found = np.argwhere(x) if x.ndim else np.zeros((int(x != 0), 0), np.int64)
        return _with_rest(found, x.size), np.array(len(found))

    def lower(self, k: Kernel, x: Buffer, places: Buffer, count: Buffer) -> None:
        n, sizes = k.size(x.count, "n"), [k.size(size, f"n{axis}") for axis, size in enumerate(x.shape)] if x.rank > 1 else []
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            found = k.local(0, "found", I64)
            counters = row_counters(k, k.literal(0, I64), sizes)
            with k.loop(0, n, "i") as i:
                # Each is stored, and the next one takes its place unless it counts: no branch, which nothing would predict.
                for axis, place in enumerate(counters or ([i] if x.rank else [])):
                    k.store(places, found * x.rank + axis, place)
                k.increment(found, k.cast(k.not_equal(x[i], k.literal(0, x.dtype.compute)), I64))
                advance(k, counters, sizes)
            _end(k, places, found, n, count, x.rank)


@operation
class FindChosen(Op):
    """The elements where a mask is true, in their order, and how many there are.

    x         T[s], of n elements
    mask      bool[s]
    result    T[n], the elements, then 0; and i64, the number of true elements of the mask
    gradient  none
    errors    TypeError: x is not a tensor, the mask not one of bools; ValueError: their shapes differ
    """

    samples = (
        sample(tensor(F32, (2, 3)), tensor(BOOL, (2, 3)), values={1: [[True, False, True], [False, False, True]]}, smooth=False),
        sample(tensor(I8, (4,)), tensor(BOOL, (4,)), values={1: [False, False, False, False]}, smooth=False, note="none"),
        sample(tensor(F16, (3,)), tensor(BOOL, (3,)), values={1: [True, True, True]}, smooth=False, note="all"),
        sample(tensor(BOOL, (3,)), tensor(BOOL, (3,)), smooth=False, note="bools"),
        sample(tensor(F64), tensor(BOOL), values={1: True}, smooth=False, note="one number"),
        sample(tensor(F32, (0, 3)), tensor(BOOL, (0, 3)), smooth=False),
    )

    def infer(self, x: Any, mask: Any) -> tuple[TensorType, TensorType]:
        check_tensor(self, "x", x)
        check_tensor(self, "mask", mask)
        if mask.dtype is not BOOL:
            raise mistake(self, "mask", "a tensor of bools", mask, TypeError)
        if mask.shape != x.shape:
            raise mistake(self, "mask", f"of the shape of x, {x.shape}", mask)
        return tensor(x.dtype, (math.prod(x.shape),)), _COUNT

    def reference(self, x: Array, mask: Array) -> tuple[Array, Array]:
        return _with_rest(x[mask], x.size), np.array(np.count_nonzero(mask))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        raise NotDifferentiable("find_chosen has no gradient: `gather` has one, at the places that are found")

    def lower(self, k: Kernel, x: Buffer, mask: Buffer, elements: Buffer, count: Buffer) -> None:
        n = k.size(x.count, "n")
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            found = k.local(0, "found", I64)
            with k.loop(0, n, "i") as i:
                k.store(elements, found, x[i])  # as in `FindNonZero`
                k.increment(found, k.cast(mask[i], I64))
            _end(k, elements, found, n, count)


@operation
class FindDistinct(Op):
    """The different elements in the order of their first occurrence, for each element the index of its value, and how many there are.

    0.0 and -0.0 are equal, and so are any two NaN.

    x         T[n]
    result    T[n], the different elements, then 0; i32[n], of i64 i64[n], the indices; and i64, how many different elements there are
    gradient  none
    errors    TypeError: not a tensor; ValueError: not of one axis, 2^31 elements
    """

    samples = (
        sample(tensor(F32, (9,)), values={0: [3.0, 1.0, 3.0, -0.0, 0.0, math.nan, 1.0, math.nan, 3.0]}, smooth=False),
        sample(tensor(I64, (7,)), values={0: [5, -2**40, 5, 2**40, -2**40, 0, 5]}, smooth=False),
        sample(tensor(I32, (133,)), domain=(-9, 9), smooth=False),
        sample(tensor(BOOL, (5,)), values={0: [True, True, False, True, False]}, smooth=False),
        sample(tensor(F16, (3,)), values={0: [1.0, 3.0, 2.0]}, smooth=False, note="all"),
        sample(tensor(F64, (1,)), smooth=False),
        sample(tensor(F32, (0,)), smooth=False),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType, TensorType]:
        check_rows(self, x)
        if x.rank != 1:
            raise mistake(self, "x", "of 1 dimension", x)
        return x, tensor(I64 if x.dtype is I64 else I32, x.shape), _COUNT

    def reference(self, x: Array) -> tuple[Array, Array, Array]:
        order = np.argsort(x, kind="stable")
        ordered = x[order]
        begins = np.ones(len(x), bool)
        begins[1:] = (ordered[1:] != ordered[:-1]) & (ordered[:-1] == ordered[:-1])  # NaN are last
        firsts = order[begins]  # the sort is stable: each group begins with its first occurrence
        by_occurrence = np.argsort(firsts)
        rank, indices = np.empty(len(firsts), np.int64), np.empty(len(x), np.int64)
        rank[by_occurrence] = np.arange(len(firsts))
        indices[order] = rank[np.cumsum(begins) - 1]
        kind = np.int64 if x.dtype == np.int64 else np.int32
        return _with_rest(x[firsts[by_occurrence]], x.size), indices.astype(kind), np.array(len(firsts))

    def vjp(self, b: Builder, node: Node, *cotangents: Any) -> Sequence[Atom | None]:
        raise NotDifferentiable("find_distinct has no gradient: `gather` has one, at the places that are found")

    def lower(self, k: Kernel, x: Buffer, elements: Buffer, indices: Buffer, count: Buffer) -> None:
        n = k.size(x.count, "n")
        pairs, spare = k.scratch(U64, x.count, "pairs"), k.scratch(U64, x.count, "spare")
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            sort_row(k, x, k.literal(0, I64), n, pairs, spare, descending=False)
            # From here on `spare` holds for each place twice the number of its group, plus 1 at the first occurrence.
            group = k.local(0, "group", U64)
            with k.when(k.greater(n, 0)):
                first = k.let(_place(k, pairs, 0), "first")
                k.store(spare, first, 1)
                before = k.local(x[first], "before")
                with k.loop(1, n, "i") as i:
                    place = k.let(_place(k, pairs, i), "place")
                    value = k.let(x[place], "value")
                    differs = k.not_equal(value, before)
                    if value.dtype.is_float:
                        differs = k.both(differs, k.equal(before, before))  # NaN are last
                    begins = k.let(k.cast(differs, U64), "begins")
                    k.increment(group, begins)
                    k.store(spare, place, group * 2 + begins)
                    k.set(before, value)
            # And `pairs` holds the index of each group, which its first occurrence decides.
            found = k.local(0, "found", I64)
            with k.loop(0, n, "i") as i:
                mark = k.let(spare[i], "mark")
                number = k.let(k.cast(mark >> 1, I64), "number")
                with k.when(k.not_equal(mark & 1, 0)):
                    k.store(pairs, number, k.cast(found, U64))
                    k.store(elements, found, x[i])
                    k.increment(found, 1)
                k.store(indices, i, k.cast(pairs[number], indices.dtype))
            _end(k, elements, found, n, count)


@operation
class FindCounts(Op):
    """How often each number from 0 up to the largest one occurs, and how many counts that makes.

    Nothing is counted if a number is negative or not below `room`.

    x         T[n], T a type of integers, at least one number; numbers of unsigned 64 bits count as signed ones
    result    dtype[room], the counts, then 0; and i64, the largest number and 1, or -1 if nothing was counted
    gradient  none
    errors    TypeError: not a tensor of integers; ValueError: not of one axis, no number
    """

    room: int
    dtype: DType = I64
    samples = (
        sample(tensor(I64, (7,)), values={0: [5, 0, 1, 5, 5, 2, 0]}, smooth=False, room=9),
        sample(tensor(I32, (4,)), values={0: [3, 3, 3, 3]}, smooth=False, room=4, dtype=F32),
        sample(tensor(I8, (3,)), values={0: [0, 3, 1]}, smooth=False, note="no room", room=3),
        sample(tensor(I64, (3,)), values={0: [0, -1, 1]}, smooth=False, note="negative", room=2, dtype=F32),
        sample(tensor(I64, (1,)), values={0: [0]}, smooth=False, room=1),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        check_tensor(self, "x", x)
        if not x.dtype.is_integer:
            raise mistake(self, "x", "a tensor of integers", x, TypeError)
        if x.rank != 1 or x.shape[0] == 0:
            raise mistake(self, "x", "of 1 dimension, with at least one number", x)
        return tensor(self.dtype, (self.room,)), _COUNT

    def reference(self, x: Array) -> tuple[Array, Array]:
        places = x.astype(np.int64)
        fit = places.min() >= 0 and places.max() < self.room
        counts = np.bincount(places, minlength=self.room) if fit else np.zeros(self.room)
        return counts.astype(self.dtype.array), np.array(places.max() + 1 if fit else -1)

    def lower(self, k: Kernel, x: Buffer, counts: Buffer, count: Buffer) -> None:
        n, room = k.size(x.count, "n"), k.size(counts.count, "room")
        with k.stage_range(1, 1) as (begin, end), k.loop(begin, end, "unit"):
            low, high = (k.local(k.cast(x[0], I64), name) for name in ("low", "high"))
            with k.loop(0, n, "i") as i:
                number = k.let(k.cast(x[i], I64), "number")
                k.set(low, k.select(k.less(number, low), number, low))
                k.set(high, k.select(k.greater(number, high), number, high))
            with k.loop(0, room, "i") as i:
                k.store(counts, i, 0)
            k.store(count, 0, -1)
            with k.when(k.both(k.greater_equal(low, 0), k.less(high, room))):
                with k.loop(0, n, "i") as i:
                    k.increment(counts[k.cast(x[i], I64)], 1)
                k.store(count, 0, high + 1)


def _place(k: Kernel, pairs: Buffer, i: Any) -> Expr:
    """Return the place of the element that is number `i` of a sorted row."""
    return k.cast(pairs[i] & (2**32 - 1), I64)


def _end(k: Kernel, room: Buffer, found: Expr, n: Expr, count: Buffer, width: int = 1) -> None:
    """Store how many of `n` there are, and 0 in the rest of the room, in which each takes `width` places."""
    with k.loop(found * width, n * width, "i") as i:
        k.store(room, i, 0)
    k.store(count, 0, found)


def _with_rest(found: Array, room: int) -> Array:
    """Return an array with `room` slices along the first axis: those that were found, then zeros."""
    out = np.zeros((room, *found.shape[1:]), found.dtype)
    out[: len(found)] = found
    return out
