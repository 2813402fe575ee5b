"""Sorting along the last axis, and searching in sorted rows.

The sort is a stable merge sort.  A row of n elements is cut into runs of RUN, each sorted by insertion; then adjacent runs are merged
repeatedly: about n * log2(n) steps.  The elements move between the results and scratch memory of their size, so merges come in pairs,
there and back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.op import NotDifferentiable, Op, mistake, operation, sample
from adjoint.ir.ops.loops import grain_of
from adjoint.ir.types import BOOL, F32, I8, I32, I64, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom, Node
    from adjoint.ir.kernel import Buffer, Expr, Kernel

Array = np.ndarray[Any, Any]

__all__ = ["SearchSorted", "Sort"]

RUN = 8
"""The number of elements in a run, which is sorted by insertion before runs are merged."""

LONGEST = 2**31 - 1
"""The largest length of a row whose indices are Int32."""


TIES = {0: [[0.0, -0.0, 1.0, math.nan, -0.0, 0.0, -1.0, math.nan, math.inf], [2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, -math.inf, 2.0]]}
TIES_IN_ROWS = {0: [[1.0, 1.0, 2.0, 2.0], [0.0, 1.0, math.inf, math.nan]], 1: [[1.0, 2.0, 3.0], [0.0, math.inf, math.nan]]}
"""Operands for tests in which elements of a row are equal."""


def _smaller(k: Kernel, a: Expr, b: Expr) -> Expr:
    """Return the C condition that `a` is less than `b`, with NaN as the largest."""
    if not a.dtype.is_float:
        return k.less(a, b)
    return k.both(k.negation(k.greater_equal(a, b)), k.negation(k.call("isnan", a)))


class _Row(NamedTuple):
    """A row of elements with their original positions."""

    values: Buffer
    places: Buffer
    start: Expr

    def move(self, k: Kernel, to: Expr, source: _Row, at: Expr) -> None:
        """Copy element `at` of another row to element `to` of this one."""
        k.store(self.values, self.start + to, source.values[source.start + at])
        k.store(self.places, self.start + to, source.places[source.start + at])


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
        if not isinstance(x, TensorType):
            raise mistake(self, "x", "a tensor", x, TypeError)
        if x.rank == 0:
            raise mistake(self, "x", "of at least 1 dimension", x)
        if isinstance(x.shape[-1], int) and x.shape[-1] > LONGEST:
            raise mistake(self, "x", f"of at most {LONGEST} elements along the last axis", x)
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
        spare_values, spare_places = k.scratch(x.dtype, x.count, "spare_values"), k.scratch(I32, x.count, "spare_places")
        k.describe(x, "rows, n")
        with k.stage(math.prod(outer), grain_of(4 * length * max(1, length.bit_length())), "row") as row:
            start = k.let(row * n, "start")
            sorted_, spare = _Row(values, places, start), _Row(spare_values, spare_places, start)
            self._insert(k, x, sorted_, n)
            width = k.local(RUN, "width", I64)
            with k.loop_while(k.less(width, n)):
                self._merge(k, sorted_, spare, width, n)
                self._merge(k, spare, sorted_, width * 2, n)
                k.set(width, width * 4)

    def _insert(self, k: Kernel, x: Buffer, into: _Row, n: Expr) -> None:
        """Sort each run of RUN elements by insertion."""
        with k.loop(0, n, "i") as i:
            value = k.let(x[into.start + i], "value")
            first = k.let(i / RUN * RUN, "first")
            hole = k.local(i, "hole")
            with k.loop_while(k.both(k.greater(hole, first), self._goes_before(k, value, into.values[into.start + hole - 1]))):
                into.move(k, hole, into, hole - 1)
                k.set(hole, hole - 1)
            k.store(into.values, into.start + hole, x[into.start + i])
            k.store(into.places, into.start + hole, k.cast(i, I32))

    def _merge(self, k: Kernel, source: _Row, into: _Row, width: Expr, n: Expr) -> None:
        """Merge pairs of runs of `width` elements; of equal elements, those of the left run come first."""
        width = k.let(width, "run")
        first = k.local(0, "first", I64)
        with k.loop_while(k.less(first, n)):
            middle = k.let(k.minimum_of(first + width, n), "middle")
            last = k.let(k.minimum_of(middle + width, n), "last")
            left, right, to = k.local(first, "left"), k.local(middle, "right"), k.local(first, "to")
            with k.loop_while(k.both(k.less(left, middle), k.less(right, last))):
                behind = k.let(self._goes_before(k, source.values[source.start + right], source.values[source.start + left]), "behind")
                into.move(k, to, source, k.let(k.select(behind, right, left), "at"))
                k.increment(right, k.cast(behind, I64))
                k.increment(left, k.cast(k.negation(behind), I64))
                k.increment(to, 1)
            for rest, stop in ((left, middle), (right, last)):
                with k.loop_while(k.less(rest, stop)):
                    into.move(k, to, source, rest)
                    k.increment(rest, 1)
                    k.increment(to, 1)
            k.set(first, last)

    def _goes_before(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        """Return the C condition that `a` sorts strictly before `b`, whatever their positions."""
        return _smaller(k, b, a) if self.descending else _smaller(k, a, b)

    def vjp(self, b: Builder, node: Node, values_ct: Any, places_ct: Any) -> Sequence[Atom | None]:
        if values_ct is None:
            return (None,)
        type_ = tensor_type(node.results[0])
        if not type_.is_static:
            raise NotDifferentiable(f"the gradient of sort needs known dimensions, but got {type_}")
        count, length = type_.count, type_.sizes[-1]
        rows = count // length if length else 0
        places = b.cast(b.reshape(node.results[1], to=tensor(I32, (rows, length))), to=I64)
        starts = b.mul(b.iota(to=tensor(I64, (rows, 1)), axis=0), b.constant(length, I64))
        flat, line = tensor(type_.dtype, (count,)), tensor(I64, (count,))
        scattered = b.gather_gradient(b.reshape(values_ct, to=flat), b.reshape(b.add(places, starts), to=line), axis=0, to=flat)
        return (b.reshape(scattered, to=type_),)


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
