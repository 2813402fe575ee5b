"""Loop nests over operands with strides: the C of elementwise ops and of those that move elements.

The result is contiguous; operand number o is read at `offset_o + sum over axes of index * stride_o`.  Axes of one element
are dropped, and adjacent axes that every operand can step through with one stride are merged, so that three forms of C code remain:

    flat    one axis: `out[i] = x[i] + y[0]`, units are elements
    rows    two axes: units are rows of the last axis
    nested  more: units are rows of the last axis, with a counter for each outer axis

Along the last axis each operand's stride is 0, 1, -1, 2, -2, which the C code is made for, or a run-time number; all else is run-time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.foundation.dataclass import dataclass
from adjoint.ir.types import BF16, F16, I64

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = [
    "ELEMENTS_PER_THREAD", "StridedAccess", "Walk", "advance", "broadcast_access", "collapsed", "emit_fill", "emit_map", "emit_maps",
    "grain_of", "known_length", "row_counters", "row_major",
]

SHORT = (2, 3, 4)
"""The lengths of a last axis for which C code is made: loops go over its rows, since a compiler does not make vector
code of a loop over so few elements."""

ELEMENTS_PER_THREAD = 32768
"""Elements of the cheapest kernel that are worth waking a thread for: some microseconds of work."""


def grain_of(elements: int) -> int:
    """Return how many units a thread must get to be worth waking.

    elements  the number of elements in a unit
    """
    return max(1, ELEMENTS_PER_THREAD // max(1, elements))


@dataclass(frozen=True)
class StridedAccess:
    """The access pattern of an operand: its offset at the result's origin, and its stride in elements along each axis."""

    buffer: Buffer
    strides: tuple[int, ...]
    offset: int | None = None
    """The index of the first element that is read; None if it is 0, which the C code then assumes."""


def known_length(n: int) -> int | None:
    """Return the length of a last axis as the number that C code is made for; None if it is made for all lengths."""
    return next((length for length in SHORT if n == length), None)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous array of this shape, in elements."""
    strides: list[int] = []
    step = 1
    for dim in reversed(shape):
        strides.append(step)
        step *= dim
    return tuple(reversed(strides))


def broadcast_access(buffer: Buffer, shape: Sequence[int]) -> StridedAccess:
    """Return the access pattern by which a buffer is read as if it were broadcast to `shape`."""
    lead = len(shape) - buffer.rank
    own = row_major(buffer.shape)
    strides = tuple(0 if dim == 1 else stride for dim, stride in zip(buffer.shape, own, strict=True))
    return StridedAccess(buffer, (*(0,) * lead, *strides))


def collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Merge axes of a loop nest where possible.  Return the remaining axes, and the strides of each operand along them; they visit the same
    elements in the same order.

    There is always at least one axis; along an axis of no or of one element every stride is 1.

    shape    the axes of the loop nest
    strides  for each operand, its stride along each axis
    """
    if math.prod(shape) <= 1:
        return [math.prod(shape)], [[1] for _ in strides]
    dims: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis, dim in enumerate(shape):
        if dim == 1:
            continue
        if dims and all(kept[-1] == own[axis] * dim for kept, own in zip(merged, strides, strict=True)):
            dims[-1] *= dim
            for kept, own in zip(merged, strides, strict=True):
                kept[-1] = own[axis]
            continue
        dims.append(dim)
        for kept, own in zip(merged, strides, strict=True):
            kept.append(own[axis])
    return dims, merged


def emit_map(
    k: Kernel,
    out: Buffer,
    operands: Sequence[StridedAccess],
    element: Callable[[list[Any]], Any],
    cost: int = 1,
    *,
    onto: tuple[Sequence[int], StridedAccess] | None = None,
    uniform: bool = True,
) -> None:
    """Append the stage `out[i] = element([x[...], y[...], ...])` to a kernel; for the arguments see `emit_maps`."""
    emit_maps(k, [out], operands, lambda elements: [element(elements)], cost, onto=onto, uniform=uniform)


def emit_maps(
    k: Kernel,
    outs: Sequence[Buffer],
    operands: Sequence[StridedAccess],
    elements: Callable[[list[Any]], Sequence[Any]],
    cost: int = 1,
    *,
    onto: tuple[Sequence[int], StridedAccess] | None = None,
    uniform: bool = True,
) -> None:
    """Append the stage `out[i], ... = elements([x[...], y[...], ...])` to a kernel, for results of one shape.

    cost     the time for an element, in additions of float32
    onto     the shape of the part of the results that is written, and how it is accessed; None for all of them
    uniform  True: the C code reads an operand that is constant along the last axis at a fixed index; otherwise at a run-time stride, 0
    """
    shape = outs[0].shape if onto is None else onto[0]
    walk = Walk(k, shape, operands if onto is None else [*operands, onto[1]], uniform=uniform, read=len(operands))
    if onto is None:
        walk.describe(outs)

    def each(index: Any, elements_read: Sequence[Any], places: Sequence[Any]) -> None:
        for out, value in zip(outs, elements(list(elements_read)), strict=True):
            k.store(out, index if onto is None else places[-1], value)

    grain = max(1, ELEMENTS_PER_THREAD // cost)
    few = known_length(walk.inner) if walk.outer else None
    if few is not None:
        def row_of(row: Any, read: Sequence[Sequence[Any]], places: Sequence[Sequence[Any]]) -> None:
            for j in range(few):
                each(row * few + j, read[j], places[j])

        walk.short_rows(few, max(1, grain // few), row_of)
        return
    if not walk.outer:
        with k.stage_range(walk.inner, grain) as (begin, end):
            same = walk.constants(walk.starts)
            with k.loop(begin, end, "i") as i:
                walk.element(i, walk.starts, i, same, each)
        return
    walk.name_rows()
    with k.stage_range(math.prod(walk.outer), max(1, grain // max(1, walk.inner))) as (begin, end):
        counters = row_counters(k, begin, walk.sizes)
        with k.loop(begin, end, "row") as row:
            bases = walk.row(counters or [row])
            same = walk.constants(bases)
            with k.loop(0, walk.m, "j") as j:
                walk.element(row * walk.m + j, bases, j, same, each)
            advance(k, counters, walk.sizes)


class Walk:
    """A visit to the elements of a shape in order, and where those of each operand are.

    outer, inner  the axes that are left after merging: the rows, and the elements of a row; `rows` says that the last axis is such a row
    starts        the index of each operand's first element
    read          how many of the accesses are read; those after them are only located
    """

    def __init__(
        self, k: Kernel, shape: Sequence[int], accesses: Sequence[StridedAccess], *, uniform: bool = True, read: int | None = None,
        rows: bool = False
    ):
        self.k, self.accesses, self.count = k, accesses, len(accesses) if read is None else read
        strides = [access.strides for access in accesses]
        self.by_rows = rows
        if rows:  # the last axis is not merged with others
            dims, self.strides = collapsed(shape[:-1], [own[:-1] for own in strides])
            dims.append(shape[-1])
            self.strides = [[*merged, own[-1]] for merged, own in zip(self.strides, strides, strict=True)]
        else:
            dims, self.strides = collapsed(shape, strides)
        *self.outer, self.inner = dims
        self.starts = [0 if access.offset is None else k.size(access.offset, f"{access.buffer.name}_start") for access in accesses]
        self.known_steps = [_known_step(own[-1], uniform) for own in self.strides]
        self.steps = [
            k.size(own[-1], f"{access.buffer.name}_step") if known is None else known
            for access, own, known in zip(accesses, self.strides, self.known_steps, strict=True)
        ]

    def describe(self, outs: Sequence[Buffer]) -> None:
        """Set how the comment over the function shows operands and results."""
        rank = len(self.outer) + 1
        for access, own in zip(self.accesses, self.strides, strict=True):
            self.k.describe(access.buffer, _described(own, rank))
        for out in outs:
            self.k.describe(out, "n" if rank == 1 else "..., m")

    def name_rows(self) -> None:
        """Make the run-time sizes of the rows."""
        k, outer = self.k, self.outer
        self.m = k.size(self.inner, "m")
        self.sizes = [k.size(dim, f"n{axis}") for axis, dim in enumerate(outer)] if len(outer) > 1 else []
        self.row_strides = [
            [k.size(stride, f"{access.buffer.name}_row" if not self.sizes else f"{access.buffer.name}_s{axis}")
             for axis, stride in enumerate(own[:-1])]
            for access, own in zip(self.accesses, self.strides, strict=True)
        ]

    def row(self, indices: Sequence[Any]) -> list[Any]:
        """Return the index of each operand's first element in a row."""
        bases = []
        for access, start, own in zip(self.accesses, self.starts, self.row_strides, strict=True):
            base = indices[0] * own[0]
            for index, stride in zip(indices[1:], own[1:], strict=True):
                base = base + index * stride
            bases.append(self.k.let(start + base, f"{access.buffer.name}_at"))
        return bases

    def constants(self, bases: Sequence[Any]) -> list[Any]:
        """Return the elements that are constant along the last axis; None for operands that have others.

        Read before the loop, since a compiler does not vectorise one in which a condition decides whether they are read.
        """
        return [
            self.k.let(access.buffer[base], f"{access.buffer.name}_value") if step == 0 else None
            for access, base, step in zip(self.accesses[: self.count], bases, self.known_steps, strict=False)
        ]

    def element(
        self, index: Any, bases: Sequence[Any], along: Any, same: Sequence[Any], body: Callable[[Any, Sequence[Any], Sequence[Any]], None]
    ) -> None:
        """Do `body` for one element: its index, the element of each operand that is read, and the index of each operand's."""
        places = self.places(bases, along)
        values: list[Any] = []
        for access, place, value in zip(self.accesses, places, same, strict=False):
            if value is None:
                value = access.buffer[place]
                # A widened element is computed once; a condition that selects between two loads would prevent vectorisation.
                if self.count > 1 and (access.buffer.dtype in (F16, BF16) or self.count > 2):
                    value = self.k.let(value, f"{access.buffer.name}_value")
            values.append(value)
        body(index, values, places)

    def short_rows(self, n: int, grain: int, each: Callable[[Any, Sequence[Sequence[Any]], Sequence[Sequence[Any]]], None]) -> None:
        """Append a stage that does `each` for every row of `n` elements, a number that the C code is made for: given the index of the row,
        the elements of all operands for each of the row's elements, and their indices.

        The innermost loop goes over the last of the outer axes.

        grain  the rows that a thread must get to be worth waking
        """
        self.name_rows()
        if not self.sizes:
            with self.k.stage(self.outer[0], grain, "row") as row:
                self._short_row(n, row, self.starts, row, each)
            return
        with self.k.stage_range(math.prod(self.outer), grain) as (begin, end):
            self._short_rows_between(n, begin, end, each)

    def _short_rows_between(self, n: int, begin: Any, end: Any, each: Callable[[Any, Sequence[Any], Sequence[Any]], None]) -> None:
        """Do `each` of `short_rows` for the rows from `begin` to `end`."""
        k = self.k
        if not self.sizes:
            with k.loop(begin, end, "row") as row:
                self._short_row(n, row, self.starts, row, each)
            return
        *sizes, last = self.sizes
        block = k.let(begin / last, "block")
        row, skipped = k.local(begin, "row"), k.local(begin - block * last, "skipped")
        counters = row_counters(k, block, sizes) if len(sizes) > 1 else [k.local(block, "i0")]
        with k.loop_while(k.less(row, end)):
            width = k.let(k.minimum_of(last - skipped, end - row), "width")
            bases = []
            for access, start, own, known in zip(self.accesses, self.starts, self.row_strides, self._row_steps(n), strict=True):
                base: Any = start + skipped * known
                for counter, stride in zip(counters, own, strict=False):
                    base = base + counter * stride
                bases.append(k.let(base, f"{access.buffer.name}_at"))
            with k.loop(0, width, "i") as i:
                self._short_row(n, row + i, bases, i, each)
            k.increment(row, width)
            k.set(skipped, 0)
            advance(k, counters, sizes)

    def _short_row(
        self, n: int, row: Any, bases: Sequence[Any], along: Any, each: Callable[[Any, Sequence[Any], Sequence[Any]], None]
    ) -> None:
        """Do `each` of `short_rows` for one row, so many rows after the one whose first elements are at `bases`."""
        k = self.k
        firsts = [base if known == 0 else base + along * step
                  for base, known, step in zip(bases, self._known_row_steps(n), self._row_steps(n), strict=True)]
        by_element = [self.places(firsts, j) for j in range(n)]
        read: list[list[Any]] = [[] for _ in range(n)]
        for number, access in enumerate(self.accesses[: self.count]):
            for j in range(n if self.known_steps[number] != 0 else 1):
                read[j].append(k.let(access.buffer[by_element[j][number]], f"{access.buffer.name}_{j}"))
            for j in range(1, n if self.known_steps[number] == 0 else 1):
                read[j].append(read[0][number])
        each(row, read, by_element)

    def _row_steps(self, n: int) -> list[Any]:
        """Return each operand's stride from row to row: a number that the C code is made for, or a run-time size."""
        return [own[-1] if step is None else step for own, step in zip(self.row_strides, self._known_row_steps(n), strict=True)]

    def _known_row_steps(self, n: int) -> list[int | None]:
        return [_known_row_step(own[-2], n) for own in self.strides]

    def read_one(self, index: Any) -> list[tuple[Any, str]]:
        """Return the element of each operand for one index, with a name for it; there is only one axis."""
        found = []
        for access, own, start, place in zip(self.accesses, self.strides, self.starts, self.places(self.starts, index), strict=True):
            found.append((access.buffer[start if own[-1] == 0 else place], f"{access.buffer.name}_value"))
        return found

    def moved(self, bases: Sequence[Any], along: Any) -> list[Any]:
        """Return the index of each operand's element so many elements after those at `bases` in a row."""
        return [base if known == 0 else self.k.let(place, f"{access.buffer.name}_from")
                for access, base, place, known in zip(self.accesses, bases, self.places(bases, along), self.known_steps, strict=True)]

    def places(self, bases: Sequence[Any], along: Any) -> list[Any]:
        """Return the index of each operand's element so many elements after those at `bases` in a row, as an expression."""
        return [base - along * -known if known is not None and known < 0 else base + along * step
                for base, step, known in zip(bases, self.steps, self.known_steps, strict=True)]

    def part(self, start: Any, count: Any, body: Callable[[Any, Sequence[Any], Sequence[Any]], None], whole: Sequence[int] = ()) -> None:
        """Do `body` for `count` elements from `start` on, inside of a stage; indices are counted from `start`.

        whole  numbers, sums of multiples of which `start` and `count` are; none if that is not known
        """
        k = self.k
        few = known_length(self.inner) if self.outer else None
        if few is not None and whole and all(number % few == 0 for number in whole):
            first = k.let(start / few, "first_row")

            def row_of(row: Any, read: Sequence[Sequence[Any]], places: Sequence[Sequence[Any]]) -> None:
                at = k.let((row - first) * few, "at")
                for j in range(few):
                    body(at + j, read[j], places[j])

            self._short_rows_between(few, first, k.let(first + count / few, "last_row"), row_of)
            return
        if not self.outer:
            bases = self.moved(self.starts, start)
            same = self.constants(bases)
            with k.loop(0, count, "j") as j:
                self.element(j, bases, j, same, body)
            return
        first = k.let(start / self.m, "first_row")
        skipped, done = k.local(start - first * self.m, "skipped"), k.local(0, "done", I64)
        counters = row_counters(k, first, self.sizes) or [k.local(first, "row")]
        with k.loop_while(k.less(done, count)):
            width = k.let(k.minimum_of(self.m - skipped, count - done), "width")
            bases = self.moved(self.row(counters), skipped)
            same = self.constants(bases)
            with k.loop(0, width, "j") as j:
                self.element(done + j, bases, j, same, body)
            k.increment(done, width)
            k.set(skipped, 0)
            advance(k, counters, self.sizes)


def emit_fill(k: Kernel, out: Buffer, value: bool | int | float | complex) -> None:
    """Append a stage to a kernel that writes `value` to each element of `out`."""
    with k.stage(out.count, 4 * ELEMENTS_PER_THREAD) as i:
        k.store(out, i, k.literal(value, out.dtype.compute))


def _known_step(step: int, uniform: bool) -> int | None:
    """Return a stride along the last axis that the C code is made for; None for a run-time number.

    A loop over elements that are side by side, in either direction, or of which every second one is taken, becomes vector code.
    """
    if step == 1:
        return 1
    if step == 0:
        return 0 if uniform else None
    return next((known for known in (-1, 2, -2) if step == known), None)


def _known_row_step(step: int, n: int) -> int | None:
    """Return a stride from row to row that the C code is made for: 0, 1, or the length of a row; None for a run-time number."""
    return next((known for known in (0, 1, n) if step == known), None)


def _described(strides: Sequence[int], rank: int) -> str:
    """Return a shape for the comment above the function: what the C code knows about how the operand is accessed."""
    step = strides[-1]
    last = "1" if step == 0 else "strided" if step != 1 else "n" if rank == 1 else "m"
    return last if rank == 1 else f"..., {last}"


def row_counters(k: Kernel, begin: Any, sizes: Sequence[Any]) -> list[Any]:
    """Return the C variables that count the outer axes of a loop nest, set for the unit (row) number `begin`; for a single axis, none is
    needed.

    sizes  the lengths of the outer axes
    """
    counters: list[Any] = []
    inner: Any = None
    for axis in reversed(range(len(sizes))):
        rest = begin if inner is None else begin / inner
        counters.append(k.local(rest % sizes[axis] if axis else rest, f"i{axis}"))
        inner = sizes[axis] if inner is None else sizes[axis] * inner
    counters.reverse()
    return counters


def advance(k: Kernel, counters: Sequence[Any], sizes: Sequence[Any]) -> None:
    """Append the C code that moves the counters of a loop nest to the next row: increment the last one; if it is at its end, reset it and
    increment the one before.
    """
    if not counters:
        return
    *before, last = counters
    k.increment(last, 1)
    if before:
        with k.when(k.equal(last, sizes[len(before)])):
            k.set(last, 0)
            advance(k, before, sizes[: len(before)])
