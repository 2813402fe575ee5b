"""Sorting along the last axis, the first elements of that order, and searching in sorted rows.

To sort a row, each element becomes a pair of a key, an unsigned number of 32 bits, and its place in the row.  The keys are in the order of
the elements; `codegen/c/sorting.h` sorts the pairs by them.  Elements of 64 bits are sorted twice: by the lower half of their keys, then by
the upper one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import NotDifferentiable, Op, mistake, operation, sample
from adjoint.ir.ops import batching
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.types import BOOL, F32, F64, I8, I32, I64, U32, U64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]

__all__ = ["SearchSorted", "Sort", "TopK", "check_rows", "sort_row"]

LONGEST = 2**31 - 1
"""The largest length of a row whose indices are Int32."""

FEW = 32
"""The most elements that `TopK` finds by insertion: a row in reverse order then takes about as long as it takes to sort it."""

_PLACE = 2**32 - 1
"""The lower half of a pair."""

TIES = {0: [[0.0, -0.0, 1.0, math.nan, -0.0, 0.0, -1.0, math.nan, math.inf], [2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, -math.inf, 2.0]]}
TIES_IN_ROWS = {0: [[1.0, 1.0, 2.0, 2.0], [0.0, 1.0, math.inf, math.nan]], 1: [[1.0, 2.0, 3.0], [0.0, math.inf, math.nan]]}
"""Operands for tests in which elements of a row are equal."""


def _smaller(k: Kernel, a: Expr, b: Expr) -> Expr:
    """Return the C condition that `a` is less than `b`, with NaN as the largest."""
    if not a.dtype.is_float:
        return k.less(a, b)
    return k.both(k.negation(k.greater_equal(a, b)), k.negation(k.call("isnan", a)))


def check_rows(op: Op, x: Any) -> None:
    """Raise TypeError for what is not a tensor or complex, ValueError for one without axes or with more than LONGEST elements along the
    last.
    """
    if not isinstance(x, TensorType):
        raise mistake(op, "x", "a tensor", x, TypeError)
    if x.dtype.is_complex:
        raise mistake(op, "x", "a tensor of a dtype with an order, which complex ones have not", x, TypeError)
    if x.rank == 0:
        raise mistake(op, "x", "of at least 1 dimension", x)
    if isinstance(x.shape[-1], int) and x.shape[-1] > LONGEST:
        raise mistake(op, "x", f"of at most {LONGEST} elements along the last axis", x)


def _key(k: Kernel, value: Expr, *, descending: bool) -> Expr:
    """Return an unsigned number that is in the order of the values, with NaN as the largest: a U64 for values of 64 bits, else a U32."""
    dtype = value.dtype
    if dtype.is_float:
        key = k.call("key", value, dtype=U64 if dtype is F64 else U32)
    elif dtype.size == 8:
        key = k.cast(value, U64)
        key = key if dtype is U64 else key ^ (1 << 63)
    else:
        key = k.cast(value, U32)
        key = key if dtype.kind != "i" else key ^ (1 << 31)
    return key ^ (2 ** (8 * key.dtype.size) - 1) if descending else key


def sort_row(k: Kernel, x: Buffer, start: Expr, n: Expr, pairs: Buffer, spare: Buffer, *, descending: bool) -> None:
    """Sort pairs for the row of `n` elements that begins at `start`; the lower half of each pair is then the place of an element."""
    wide = x.dtype.size == 8
    with k.loop(0, n, "i") as i:
        key = k.let(_key(k, x[start + i], descending=descending), "key")
        k.store(pairs, start + i, (k.cast(key, U64) << 32) | k.cast(i, U64))
    k.run("adjoint_sort_pairs", pairs.at(start), spare.at(start), n)
    if wide:
        with k.loop(0, n, "i") as i:
            place = k.let(pairs[start + i] & _PLACE, "place")
            key = k.let(_key(k, x[start + k.cast(place, I64)], descending=descending), "key")
            k.store(pairs, start + i, ((key >> 32) << 32) | place)
        k.run("adjoint_sort_pairs", pairs.at(start), spare.at(start), n)


def _take(k: Kernel, x: Buffer, start: Expr, pair: Expr, values: Buffer, places: Buffer, to: Expr) -> None:
    """Store the element of a sorted pair, and its place, as the results `to`."""
    place = k.let(k.cast(pair & _PLACE, I64), "place")
    k.store(values, to, x[start + place])
    k.store(places, to, k.cast(place, I32))


def _scattered(b: Builder, node: Node, ct: Any) -> Sequence[Atom | None]:
    """Return the gradient of x of an op that has taken elements along its last axis: ct at their places, 0 elsewhere."""
    if ct is None:
        return (None,)
    type_, taken = tensor_type(node.operands[0]), tensor_type(node.results[1])
    if type_.rank == 1:
        return (b.gather_gradient(ct, b.cast(node.results[1], to=I64), axis=0, to=type_),)
    length, each = type_.shape[-1], taken.shape[-1]
    if not isinstance(length, int):
        raise NotDifferentiable(f"the gradient of {node.op.name} needs known dimensions, but got {type_}")
    rows = math.prod(type_.shape[:-1])
    places = b.cast(b.reshape(node.results[1], to=tensor(I32, (rows, each))), to=I64)
    starts = b.mul(b.iota(to=tensor(I64, (rows, 1)), axis=0), b.constant(length, I64))
    flat, line = tensor(type_.dtype, (rows * each,)), tensor(I64, (rows * each,))
    scattered = b.gather_gradient(b.reshape(ct, to=flat), b.reshape(b.add(places, starts), to=line), axis=0,
                                  to=tensor(type_.dtype, (rows * length,)))
    return (b.reshape(scattered, to=type_),)


@operation
class Sort(Op):
    """The elements sorted along the last axis, and their original positions; the sort is stable, and NaN is the largest.

    0.0 and -0.0 are equal, and so are any two NaN, also if the order is `descending`.

    x         T[s] of at least one axis
    result    T[s], the elements, and i32[s], the places
    gradient  each element of ct at the place that its element had; none for the places
    errors    TypeError: not a tensor; ValueError: no axis, or 2^31 elements along the last
    """

    descending: bool = False
    batch = batching.leading
    samples = (
        sample(tensor(F32, (3, 7))),
        sample(tensor(F32, (2, 2, 5)), descending=True),
        sample(tensor(F32, (37,))),
        sample(tensor(F32, (2, 300)), domain=(-99.0, 99.0), descending=True),
        sample(tensor(F32, (2, 9)), values=TIES, smooth=False, note="ties and NaN"),
        sample(tensor(F32, (2, 9)), values=TIES, smooth=False, note="ties and NaN", descending=True),
        sample(tensor(F32, (2, 0))),
        sample(tensor(F32, (0, 3))),
        sample(tensor(F32, (1,))),
        sample(tensor(I32, (2, 133)), domain=(-9, 9), smooth=False, note="integers, with ties"),
        sample(tensor(I8, (100,)), domain=(-9, 9), smooth=False, note="integers, with ties", descending=True),
        sample(tensor(BOOL, (2, 33)), smooth=False, note="bools"),
        sample(tensor(BOOL, (2, 33)), smooth=False, note="bools", descending=True),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        check_rows(self, x)
        return x, tensor(I32, x.shape)

    def reference(self, x: Array) -> tuple[Array, Array]:
        if self.descending:
            places = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        else:
            places = np.argsort(x, axis=-1, kind="stable")
        return np.take_along_axis(x, places, -1), places.astype(np.int32)

    def lower(self, k: Kernel, x: Buffer, values: Buffer, places: Buffer) -> None:
        *outer, length = x.shape
        n = k.size(length, "n")
        pairs, spare = k.scratch(U64, x.count, "pairs"), k.scratch(U64, x.count, "spare")
        k.describe(x, "rows, n")
        with k.stage(math.prod(outer), grain_of(16 * length), "row") as row:
            start = k.let(row * n, "start")
            sort_row(k, x, start, n, pairs, spare, descending=self.descending)
            with k.loop(0, n, "i") as i:
                _take(k, x, start, pairs[start + i], values, places, start + i)

    def vjp(self, b: Builder, node: Node, values_ct: Any, places_ct: Any) -> Sequence[Atom | None]:
        return _scattered(b, node, values_ct)


@operation
class TopK(Op):
    """The first `count` elements of the order of `Sort` along the last axis, and their original positions.

    x         T[s, n] with n known
    result    T[s, count], the elements, and i32[s, count], the places
    gradient  each element of ct at the place that its element had, 0 elsewhere; none for the places
    errors    TypeError: not a tensor; ValueError: no axis, count not in 1..n, 2^31 elements along the last axis
    """

    count: int
    descending: bool = True
    batch = batching.leading
    samples = (
        sample(tensor(F32, (3, 7)), count=2),
        sample(tensor(F32, (2, 2, 5)), count=5, descending=False),
        sample(tensor(F32, (2, 300)), count=40, domain=(-99.0, 99.0)),
        sample(tensor(F32, (2, 9)), values=TIES, count=6, smooth=False, note="ties and NaN"),
        sample(tensor(F32, (2, 9)), values=TIES, count=6, descending=False, smooth=False, note="ties and NaN"),
        sample(tensor(F32, (0, 3)), count=1),
        sample(tensor(I32, (2, 133)), count=3, domain=(-9, 9), smooth=False, note="integers, with ties"),
        sample(tensor(I8, (100,)), count=50, domain=(-9, 9), smooth=False, note="integers, with ties"),
        sample(tensor(BOOL, (2, 33)), count=9, smooth=False, note="bools"),
    )

    def infer(self, x: Any) -> tuple[TensorType, TensorType]:
        check_rows(self, x)
        length = x.shape[-1]
        if not self.count >= 1 or (isinstance(length, int) and self.count > length):
            raise mistake(self, "count", f"in 1..{length}", self.count)
        shape = (*x.shape[:-1], self.count)
        return x.with_shape(shape), tensor(I32, shape)

    def reference(self, x: Array) -> tuple[Array, Array]:
        values, places = Sort(self.descending).reference(x)
        return values[..., : self.count], places[..., : self.count]

    def lower(self, k: Kernel, x: Buffer, values: Buffer, places: Buffer) -> None:
        *outer, length = x.shape
        n, rows = k.size(length, "n"), math.prod(outer)
        k.describe(x, "rows, n")
        if self.count <= FEW:
            with k.stage(rows, grain_of(2 * length), "row") as row:
                self._insert(k, x, k.let(row * n, "start"), n, values, places, k.let(row * self.count, "to"))
            return
        pairs, spare = k.scratch(U64, x.count, "pairs"), k.scratch(U64, x.count, "spare")
        with k.stage(rows, grain_of(16 * length), "row") as row:
            start = k.let(row * n, "start")
            sort_row(k, x, start, n, pairs, spare, descending=self.descending)
            with k.loop(0, self.count, "i") as i:
                _take(k, x, start, pairs[start + i], values, places, row * self.count + i)

    def _insert(self, k: Kernel, x: Buffer, start: Expr, n: Expr, values: Buffer, places: Buffer, to: Expr) -> None:
        """Keep the first `count` of the elements so far in order; most elements of a long row are not among them."""
        last = k.local(x[start], "last")
        with k.loop(0, n, "i") as i:
            value = k.let(x[start + i], "value")
            with k.when(k.either(k.less(i, self.count), self._goes_before(k, value, last))):
                hole = k.local(k.minimum_of(i, self.count - 1), "hole")
                with k.loop_while(k.both(k.greater(hole, 0), self._goes_before(k, value, values[to + hole - 1]))):
                    k.store(values, to + hole, values[to + hole - 1])
                    k.store(places, to + hole, places[to + hole - 1])
                    k.set(hole, hole - 1)
                k.store(values, to + hole, value)
                k.store(places, to + hole, k.cast(i, I32))
                k.set(last, values[to + k.minimum_of(i, self.count - 1)])

    def _goes_before(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        """Return the C condition that `a` sorts strictly before `b`, whatever their positions."""
        return _smaller(k, b, a) if self.descending else _smaller(k, a, b)

    def vjp(self, b: Builder, node: Node, values_ct: Any, places_ct: Any) -> Sequence[Atom | None]:
        return _scattered(b, node, values_ct)


@operation
class SearchSorted(Op):
    """The number of elements of an ascending row that are less than each value, or with `right` not greater; NaN is the largest.

    That is the position at which the value would be inserted, before or after those equal to it.

    row       T[s, n], ascending along the last axis; else the result is some number in 0..n
    values    T[s, m]
    result    i32[s, m]
    gradient  none: a place has none
    errors    TypeError: not tensors of one dtype; ValueError: no axis, other leading sizes, 2^31 elements in a row
    """

    right: bool = False
    batch = batching.leading
    cuts = "a place has no gradient"
    samples = (
        sample(tensor(F32, (5,)), tensor(F32, (9,)), values={0: [-2.0, -1.0, 0.0, 0.5, 1.0]}, smooth=False, note="places"),
        sample(tensor(F32, (2, 4)), tensor(F32, (2, 3)), values=TIES_IN_ROWS, smooth=False, note="ties and NaN"),
        sample(tensor(F32, (2, 4)), tensor(F32, (2, 3)), values=TIES_IN_ROWS, right=True, smooth=False, note="ties and NaN"),
        sample(tensor(I32, (2, 1, 6)), tensor(I32, (2, 1, 50)), values={0: [[[-3, 0, 0, 1, 4, 7]], [[0, 0, 0, 0, 0, 0]]]},
               domain=(-9, 9), right=True, smooth=False, note="places"),
        sample(tensor(F32, (2, 0)), tensor(F32, (2, 3)), smooth=False, note="places"),
        sample(tensor(F32, (3,)), tensor(F32, (0,)), smooth=False, note="places"),
    )

    def infer(self, row: Any, values: Any) -> TensorType:
        for name, given in (("row", row), ("values", values)):
            if not isinstance(given, TensorType):
                raise mistake(self, name, "a tensor", given, TypeError)
            if given.dtype.is_complex:
                raise mistake(self, name, "a tensor of a dtype with an order, which complex ones have not", given, TypeError)
            if given.rank == 0:
                raise mistake(self, name, "of at least 1 dimension", given)
        if values.dtype is not row.dtype:
            raise mistake(self, "values", f"of the dtype of 'row', {row.dtype}", values, TypeError)
        if values.shape[:-1] != row.shape[:-1]:
            raise mistake(self, "values", f"of the leading sizes {row.shape[:-1]}", values)
        if isinstance(row.shape[-1], int) and row.shape[-1] > LONGEST:
            raise mistake(self, "row", f"of at most {LONGEST} elements along the last axis", row)
        return tensor(I32, values.shape)

    def reference(self, row: Array, values: Array) -> Array:
        side = "right" if self.right else "left"
        found = np.empty(values.shape, np.int32)
        for place in np.ndindex(values.shape[:-1]):
            found[place] = np.searchsorted(row[place], values[place], side)
        return found

    def lower(self, k: Kernel, row: Buffer, values: Buffer, out: Buffer) -> None:
        length = row.shape[-1]
        n, m = k.size(length, "n"), k.size(values.shape[-1], "m")
        with k.stage(values.count, grain_of(8 * max(1, length.bit_length())), "i") as i:
            first = k.let(i / m * n, "first")
            value = k.let(values[i], "value")
            low, high = k.local(first, "low"), k.local(first + n, "high")
            with k.loop_while(k.less(low, high)):
                middle = k.let((low + high) / 2, "middle")
                here = k.let(row[middle], "here")
                behind = k.negation(_smaller(k, value, here)) if self.right else _smaller(k, here, value)
                with k.when(behind):
                    k.set(low, middle + 1)
                with k.otherwise():
                    k.set(high, middle)
            k.store(out, i, k.cast(low - first, I32))
