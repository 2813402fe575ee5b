"""Kernels over groups of elements: sums and largest elements in an order that a group's length alone fixes.

A group is a row (`Rows`: its elements lie side by side) or a column among others (`Columns`: several neighbours are
computed at once).  Both have the same methods, so that a kernel is written once for either; what is computed once per
group is handed around as a function that gives its value where it is asked for.

The n terms of a row are added in lanes, which is what vector instructions do:

    1  as many whole chunks of `lanes` terms as there are: term j of a chunk is added to lane j, chunk after chunk;
       the lanes are added in halves (l and l + lanes/2, then l and l + lanes/4, ...) down to SHORT of them
    2  as many whole chunks of SHORT terms as are left, in the same way into those lanes; they are added in halves
    3  the terms that are left are added to that, one after the other

Many lanes hide the time that an addition takes; few keep the text short where a term is a long formula.  The terms of a
column are added one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from adjoint.ir.types import DType

if TYPE_CHECKING:
    from adjoint.codegen.kernel import Buffer, Expr, Kernel

__all__ = ["COLUMNS", "LONG", "SHORT", "Columns", "Rows", "groups"]

LONG = 64
SHORT = 16
COLUMNS = 128
"""Neighbouring columns that are computed together."""

Term = Callable[[Any], Any]
"""From the index of an element to what is added or compared."""
Given = Callable[[], Any]
"""A value of the group that is being computed."""


class Rows:
    """The group of the `n` elements from `first` on."""

    def __init__(self, k: Kernel, first: Expr, n: Expr):
        self.k, self.first, self.n = k, first, n

    def each(self, body: Callable[[Any], None]) -> None:
        """Do `body` for the index of each element, in order or at once."""
        with self.k.loop(0, self.n, "j") as j:
            body(self.first + j)

    def value(self, dtype: DType, make: Given, name: str) -> Given:
        """A value computed once for the group."""
        value = self.k.let(make(), name, dtype)
        return lambda: value

    def sum(self, dtype: DType, term: Term, name: str = "sum", lanes: int = LONG) -> Given:
        """The sum of a term of each element."""
        (total,) = self.sums(dtype, lambda i: (term(i),), (name,), lanes)
        return total

    def sums(self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int = LONG) -> list[Given]:
        """Several sums at once, one for each of `names`."""
        return self._combined(dtype, terms, names, lanes, 0.0, lambda total, term: total + term)

    def largest(self, dtype: DType, term: Term, name: str = "largest") -> Given:
        """The largest of the terms; minus infinity of none; a NaN is passed over."""
        (best,) = self._combined(
            dtype, lambda i: (term(i),), (name,), LONG, float("-inf"), lambda best, term: self.k.maximum_of(term, best))
        return best

    def _combined(
        self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int, start: float,
        combine: Callable[[Any, Any], Any],
    ) -> list[Given]:
        k = self.k
        totals = [k.local(start, name, dtype) for name in names]
        with k.when(k.greater_equal(self.n, SHORT)):
            self._chunks(dtype, terms, names, lanes, start, combine, totals)
        with k.loop(self.n / SHORT * SHORT, self.n, "j") as j:
            for total, term in zip(totals, terms(self.first + j), strict=True):
                k.set(total, combine(total, term))
        return [lambda total=total: total for total in totals]

    def _chunks(
        self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int, start: float,
        combine: Callable[[Any, Any], Any], totals: Sequence[Expr],
    ) -> None:
        """Steps 1 and 2 of the module's docstring."""
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
            chunks(0, whole, lanes)
            halves(lanes, SHORT)
            chunks(whole, self.n / SHORT * SHORT, SHORT)
        else:
            chunks(0, self.n / SHORT * SHORT, SHORT)
        halves(SHORT, 2)
        for total, array in zip(totals, arrays, strict=True):
            k.set(total, combine(array[0], array[1]))


class Columns:
    """`width` groups side by side, at most COLUMNS: element j of the first is at `first + j * stride`."""

    def __init__(self, k: Kernel, first: Expr, n: Expr, stride: Expr, width: Expr):
        self.k, self.first, self.n, self.stride, self.width = k, first, n, stride, width
        self.column: Any = None
        """The column that is being computed."""

    def each(self, body: Callable[[Any], None]) -> None:
        """Do `body` for the index of each element, in order within a column."""
        with self.k.loop(0, self.n, "j") as j:
            row = self.k.let(self.first + j * self.stride, "row")
            self.across(lambda c: body(row + c))

    def value(self, dtype: DType, make: Given, name: str) -> Given:
        """A value computed once for each column."""
        array = self.k.array(dtype, COLUMNS, name)
        self.across(lambda c: self.k.set(array[c], make()))
        return lambda: array[self.column]

    def sum(self, dtype: DType, term: Term, name: str = "sum", lanes: int = LONG) -> Given:
        """The sum of a term of each element."""
        (total,) = self.sums(dtype, lambda i: (term(i),), (name,), lanes)
        return total

    def sums(self, dtype: DType, terms: Callable[[Any], Sequence[Any]], names: Sequence[str], lanes: int = LONG) -> list[Given]:
        """Several sums at once, one for each of `names`."""
        return self._combined(dtype, terms, names, 0.0, lambda total, term: total + term)

    def largest(self, dtype: DType, term: Term, name: str = "largest") -> Given:
        """The largest of the terms; minus infinity of none; a NaN is passed over."""
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

        self.each(add)
        return totals

    def across(self, body: Callable[[Any], None]) -> None:
        """Do `body` for each column, counted from 0."""
        outer = self.column
        with self.k.loop(0, self.width, "c") as self.column:
            body(self.column)
        self.column = outer


Groups = Rows | Columns


@contextmanager
def groups(k: Kernel, x: Buffer, axis: int, work: int) -> Iterator[Groups]:
    """A stage over the groups of `x` along `axis`; `work`: elements per thread below which threads do not pay."""
    shape = x.shape
    length, inner = shape[axis], math.prod(shape[axis + 1:])
    outer = math.prod(shape[:axis])
    n = k.size(length, "n")
    if inner == 1:
        k.describe(x, "rows, n")
        with k.stage(outer, max(1, work // max(1, length)), "row") as row:
            yield Rows(k, k.let(row * n, "first"), n)
        return
    k.describe(x, "outer, n, inner")
    per_outer = -(-inner // COLUMNS)
    stride, blocks = k.size(inner, "inner"), k.size(per_outer, "blocks")
    with k.stage(outer * per_outer, max(1, work // max(1, length * min(inner, COLUMNS))), "block") as block:
        begin = k.let(block % blocks * COLUMNS, "begin_column")
        width = k.let(k.minimum_of(stride - begin, COLUMNS), "width")
        yield Columns(k, k.let(block / blocks * n * stride + begin, "first"), n, stride, width)
