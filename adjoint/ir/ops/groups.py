"""Kernels over groups of elements: sums and largest elements in an order that depends only on the length of a group.

A group is a row (`Rows`: its elements are adjacent) or a column among others (`Columns`: several adjacent ones are computed together).
Both classes have the same methods, so that a kernel is written once for both; a value that is computed once per group is passed as a
function that returns it.

The terms of a row are added in blocks of 32 chunks, the n terms of a block in lanes, as vector instructions do:

    1  as many whole chunks of `lanes` terms as possible: term j of a chunk is added to lane j, chunk after chunk;
       the lanes are added in halves (l and l + lanes/2, then l and l + lanes/4, ...) down to SHORT of them
    2  as many whole chunks of SHORT terms as possible, in the same way into those lanes; they are added in halves
    3  the remaining terms are added one after the other

Many lanes hide the latency of additions; few keep the C code short if a term is a long formula.  The terms of a column are added one after
the other in blocks of ROWS.  The totals of blocks are combined as a balanced tree (`trees.py`), so that the bound of
`reduce.rounding_steps` holds here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.ops import trees
from adjoint.ir.types import I64, DType

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Expr, Kernel

__all__ = ["COLUMNS", "LONG", "SHORT", "Columns", "Rows", "groups", "reference_mean", "reference_sum"]

LONG = 64
SHORT = 16
TAIL = 8
"""The number of elements at the end of a row that are computed as one vector, some of them a second time."""
COLUMNS = 128
"""The number of adjacent columns that are computed together."""
CHUNKS = 32
"""The number of chunks in a block of a row; a chunk has as many terms as there are lanes."""
ROWS = 64
"""The number of terms of a column that are added one after the other as a block."""

NEAR, FAR = 2048, 8192
"""Bytes of rows between which the next one is fetched ahead: in shorter ones, which they compute sooner, and within longer ones processors
do so by themselves."""
CACHED = 1 << 20
"""Bytes of a matrix that is assumed to be in a cache, so that nothing of it is fetched ahead."""

Array = np.ndarray[Any, Any]
Term = Callable[[Any], Any]
"""A function from the index of an element to the C expression that is added or compared."""
Given = Callable[[], Any]
"""A function that returns a value which is computed once for the group that is being computed."""


class Rows:
    """The group of `n` elements from `first` on; n is at most `most`."""

    def __init__(self, k: Kernel, first: Expr, n: Expr, most: int):
        self.k, self.first, self.n, self.most = k, first, n, most

    def fetch_next(self, *matrices: Buffer) -> None:
        """Append instructions that load the next row into the cache while this one is computed, where that saves time.

        matrices  the matrices of which this is a row

        A row is read and then computed in passes over what is in the cache; meanwhile memory would stand idle.
        """
        dtype = matrices[0].dtype
        pays = NEAR < self.most * dtype.size <= FAR and matrices[0].count * dtype.size > CACHED
        ahead = self.k.size(self.most * dtype.size if pays else 0, "ahead")
        for matrix in matrices:
            self.k.run("adjoint_fetch", matrix.at(self.first + self.n), ahead)

    def each(self, body: Callable[[Any], None], *, again: bool = False) -> None:
        """Append a loop over the elements; `body` appends the code for one, given its index.  They may be computed in parallel.

        again  True if nothing changes where an element is computed twice, so that vectors compute the last ones, too
        """
        k = self.k
        if not again or self.most < TAIL:
            with k.loop(0, self.n, "j") as j:
                body(self.first + j)
            return
        with k.loop(0, self.n / SHORT * SHORT, "j") as j:
            body(self.first + j)
        with k.loop(self.n / SHORT * SHORT, self.n, "j", step=TAIL) as j:
            begin = k.let(self.first + k.minimum_of(j, self.n - TAIL), "last")
            with k.loop(0, TAIL, "l") as lane:
                body(begin + lane)

    def value(self, dtype: DType, make: Given, name: str) -> Given:
        """Append the computation of a value for the group, and return a function that returns its C expression.

        make  returns the expression to compute
        """
        value = self.k.let(make(), name, dtype)
        return lambda: value

    def sum(self, dtype: DType, term: Term, name: str = "sum", lanes: int = LONG) -> Given:
        """Append the sum of a term over all elements; return a function that returns its C expression."""
        (total,) = self.sums(dtype, lambda i: (term(i),), (name,), lanes)
        return total

    def sums(self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int = LONG) -> list[Given]:
        """Append several sums over all elements, computed together; return for each a function that returns its C expression.

        terms  returns the terms of an element, one for each sum, given its index
        """
        return self._combined(dtype, terms, names, lanes, 0.0, lambda total, term: total + term)

    def largest(self, dtype: DType, term: Term, name: str = "largest") -> Given:
        """Append a search for the largest term; return a function that returns its C expression.

        NaN is ignored; the result is minus infinity if there are no terms.
        """
        (best,) = self._combined(
            dtype, lambda i: (term(i),), (name,), LONG, float("-inf"), lambda best, term: self.k.maximum_of(term, best))
        return best

    def _combined(
        self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int, start: float,
        combine: Callable[[Any, Any], Any],
    ) -> list[Given]:
        k = self.k
        totals = [k.local(start, name, dtype) for name in names]
        length = CHUNKS * lanes
        if self.most <= length:
            self._block(dtype, terms, names, lanes, start, combine, totals)
        else:
            kept = [k.array(dtype, trees.LEVELS, f"{name}_kept") for name in names]

            def merge(level: Any) -> None:
                for total, array in zip(totals, kept, strict=True):
                    k.set(total, combine(array[level], total))

            def keep(level: Any) -> None:
                for total, array in zip(totals, kept, strict=True):
                    k.set(array[level], total)

            def take(level: Any) -> None:
                for total, array in zip(totals, kept, strict=True):
                    k.set(total, array[level])

            with k.loop(0, self.n, "at", step=length) as at:
                for total in totals:
                    k.set(total, start)
                rest = k.let(k.minimum_of(self.n - at, k.literal(length, I64)), "in_block")
                begin = k.let(self.first + at, "begin")
                Rows(k, begin, rest, length)._block(dtype, terms, names, lanes, start, combine, totals)
                trees.pushed(k, at / length, merge, keep)
            trees.collected(k, (self.n + (length - 1)) / length, take, merge)
        return [lambda total=total: total for total in totals]

    def _block(
        self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int, start: float,
        combine: Callable[[Any, Any], Any], totals: Sequence[Expr],
    ) -> None:
        """Combine the terms of one block into `totals`, which hold the initial values `start`."""
        k = self.k
        with k.when(k.greater_equal(self.n, SHORT)):
            self._chunks(dtype, terms, names, lanes, start, combine, totals)
        with k.loop(self.n / SHORT * SHORT, self.n, "j") as j:
            for total, term in zip(totals, terms(self.first + j), strict=True):
                k.set(total, combine(total, term))

    def _chunks(
        self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int, start: float,
        combine: Callable[[Any, Any], Any], totals: Sequence[Expr],
    ) -> None:
        """Emit steps 1 and 2 of the module's docstring."""
        k = self.k
        arrays = [k.array(dtype, lanes, f"{name}_lane") for name in names]
        with k.loop(0, lanes, "l") as lane:
            for array in arrays:
                k.set(array[lane], start)

        def chunks(begin: Any, stop: Any, width: int) -> None:
            with k.loop(begin, stop, "j", step=width) as j, k.loop(0, width, "l") as lane:
                for array, term in zip(arrays, terms(self.first + j + lane), strict=True):
                    k.set(array[lane], combine(array[lane], term))

        def halves(width: int, stop: int) -> None:
            while width > stop:
                width //= 2
                with k.loop(0, width, "l") as lane:
                    for array in arrays:
                        k.set(array[lane], combine(array[lane], array[lane + width]))

        if lanes > SHORT:
            whole = k.let(self.n / lanes * lanes, "whole")
            with k.when(k.greater(whole, 0)):  # else all lanes hold their initial values, and so would their halves
                chunks(0, whole, lanes)
                halves(lanes, SHORT)
            chunks(whole, self.n / SHORT * SHORT, SHORT)
        else:
            chunks(0, self.n / SHORT * SHORT, SHORT)
        halves(SHORT, 2)
        for total, array in zip(totals, arrays, strict=True):
            k.set(total, combine(array[0], array[1]))


class Columns:
    """`width` adjacent groups, at most COLUMNS, of `n` elements, at most `most`; element j of the first is at `first + j * stride`."""

    def __init__(self, k: Kernel, first: Expr, n: Expr, stride: Expr, width: Expr, most: int):
        self.k, self.first, self.n, self.stride, self.width, self.most = k, first, n, stride, width, most
        self.column: Any = None
        """The C expression for the index of the column that is being computed; None before the first loop over columns."""

    def each(self, body: Callable[[Any], None], *, again: bool = False) -> None:
        """Append a loop over the elements of each column, in order; `body` appends the code for one, given its index.

        again  True if nothing changes where an element is computed twice, which it is not here
        """
        with self.k.loop(0, self.n, "j") as j:
            row = self.k.let(self.first + j * self.stride, "row")
            self.across(lambda c: body(row + c))

    def value(self, dtype: DType, make: Given, name: str) -> Given:
        """Append the computation of a value for each column, and return a function that returns its C expression for the present column."""
        array = self.k.array(dtype, COLUMNS, name)
        self.across(lambda c: self.k.set(array[c], make()))
        return lambda: array[self.column]

    def sum(self, dtype: DType, term: Term, name: str = "sum", lanes: int = LONG) -> Given:
        """Append the sum of a term over the elements of each column; return a function that returns its C expression for the present
        column.
        """
        (total,) = self.sums(dtype, lambda i: (term(i),), (name,), lanes)
        return total

    def sums(self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int = LONG) -> list[Given]:
        """Append several sums over the elements of each column, computed together; return for each what `sum` returns."""
        return self._combined(dtype, terms, names, 0.0, lambda total, term: total + term)

    def largest(self, dtype: DType, term: Term, name: str = "largest") -> Given:
        """Append a search for the largest term of each column; return a function that returns its C expression for the present column.

        NaN is ignored; the result is minus infinity if there are no terms.
        """
        (best,) = self._combined(
            dtype, lambda i: (term(i),), (name,), float("-inf"), lambda best, term: self.k.maximum_of(term, best))
        return best

    def _combined(
        self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], start: float,
        combine: Callable[[Any, Any], Any],
    ) -> list[Given]:
        k = self.k
        totals = [self.value(dtype, lambda: k.literal(start, dtype), name) for name in names]

        def add(i: Any) -> None:
            for total, term in zip(totals, terms(i), strict=True):
                k.set(total(), combine(total(), term))

        if self.most <= ROWS:
            self.each(add)
            return totals
        kept = [k.array(dtype, trees.LEVELS * COLUMNS, f"{name}_kept") for name in names]

        def every(action: Callable[[Any, Any], None], level: Any) -> None:
            """An action on each total and the one kept for it at a level."""
            def of_column(c: Any) -> None:
                for total, array in zip(totals, kept, strict=True):
                    action(total(), array[level * COLUMNS + c])

            self.across(of_column)

        def merge(level: Any) -> None:
            every(lambda total, before: k.set(total, combine(before, total)), level)

        with k.loop(0, self.n, "at", step=ROWS) as at:
            self.across(lambda c: [k.set(total(), start) for total in totals])
            with k.loop(at, k.minimum_of(at + ROWS, self.n), "j") as j:
                row = k.let(self.first + j * self.stride, "row")
                self.across(lambda c: add(row + c))
            trees.pushed(k, at / ROWS, merge, lambda level: every(lambda total, place: k.set(place, total), level))
        trees.collected(
            k, (self.n + (ROWS - 1)) / ROWS, lambda level: every(lambda total, place: k.set(total, place), level), merge)
        return totals

    def across(self, body: Callable[[Any], Any]) -> None:
        """Append a loop over the columns; `body` appends the code for one, given its number."""
        outer = self.column
        with self.k.loop(0, self.width, "c") as self.column:
            body(self.column)
        self.column = outer


Groups = Rows | Columns


def reference_sum(x: Array, axis: int | tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Return the sum over axes, added in float64 and rounded once: the sum in the `reference` of ops on groups."""
    return x.sum(axis=axis, keepdims=keepdims, dtype=np.float64).astype(x.dtype)


def reference_mean(x: Array, axis: int | tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Return the mean over axes, added in float64 and rounded once."""
    return x.mean(axis=axis, keepdims=keepdims, dtype=np.float64).astype(x.dtype)


@contextmanager
def groups(k: Kernel, axis: int, work: int, x: Buffer, *others: Buffer) -> Iterator[Groups]:
    """Begin a stage (a C function of the kernel) over groups of elements: yield for each the object (`Rows` or `Columns`) that writes its
    code.

    axis    the axis of `x`, and of others that are read with it, along which a group extends
    work    the number of elements that a thread must get to be worth waking
    """
    shape = x.shape
    length, inner = shape[axis], math.prod(shape[axis + 1:])
    outer = math.prod(shape[:axis])
    n = k.size(length, "n")
    if inner == 1:
        k.describe(x, "rows, n")
        with k.stage(outer, max(1, work // max(1, length)), "row") as row:
            group = Rows(k, k.let(row * n, "first"), n, length)
            group.fetch_next(x, *others)
            yield group
        return
    k.describe(x, "outer, n, inner")
    per_outer = -(-inner // COLUMNS)
    stride, blocks = k.size(inner, "inner"), k.size(per_outer, "blocks")
    with k.stage(outer * per_outer, max(1, work // max(1, length * min(inner, COLUMNS))), "block") as block:
        begin = k.let(block % blocks * COLUMNS, "begin_column")
        width = k.let(k.minimum_of(stride - begin, COLUMNS), "width")
        yield Columns(k, k.let(block / blocks * n * stride + begin, "first"), n, stride, width, length)
