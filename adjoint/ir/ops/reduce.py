"""Reductions over axes.

The order in which a reduction combines its elements is part of its meaning, so that a result depends neither on the number
of threads nor on the kernel:

    Adjacent axes that are all reduced, or all kept, count as one axis.  Axes are reduced one by one, the last first.

    A last axis, whose elements are adjacent: blocks of 2048.  In a block, element i goes to lane i % 32, each lane adds
    in order, then lane l and lane l + 16 are combined, l and l + 8, and so on down to one.

    Any other axis, whose elements are a row apart: blocks of 64 rows, in order within a block.

    The totals of blocks are combined as a balanced tree (`trees.py`).

Integers wrap around and keep their dtype; f16 and bf16 are combined in float32 and rounded once.

The sum of n floats over one axis differs from the exact one by less than `rounding_steps(n) * u * (sum of the absolute values)`,
where u is the unit roundoff, 2**-24 for float32: 69 steps for up to 2048 floats, and one for each time that n doubles.  Over
several axes that are not adjacent the steps add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjoint.ir.core import tensor_type
from adjoint.ir.kernel.operands import Buffer
from adjoint.ir.op import Op, family, mistake, sample
from adjoint.ir.ops import batching, trees
from adjoint.ir.ops.loops import StridedAccess, emit_fill, emit_map, grain_of, known_length, row_major
from adjoint.ir.types import BOOL, COMPLEX, F32, F64, FLOATS, I32, I64, INTEGERS, Dim, DType, TensorType, tensor

if TYPE_CHECKING:
    from adjoint.ir.build import Builder
    from adjoint.ir.core import Atom
    from adjoint.ir.kernel import Expr, Kernel
    from adjoint.ir.kernel.c_ast import Operand
    from adjoint.ir.kernel.operands import LocalArray

__all__ = ["LONGEST_ROW", "Reduction", "rounding_steps"]

Array = np.ndarray[Any, Any]
Cotangents = Sequence["Atom | None"]

NUMBERS = (*INTEGERS, *FLOATS)

F32_23 = tensor(F32, (2, 3))
F32_2345 = tensor(F32, (2, 3, 4, 5))
I32_23 = tensor(I32, (2, 3))

SHAPES = (
    sample(F32_23, axes=(0,)),
    sample(F32_23, axes=(1,), keepdims=True),
    sample(F32_23, axes=(0, 1)),
    sample(F32_23, axes=()),
    sample(tensor(F32), axes=()),
    sample(tensor(F64, (4, 3)), axes=(1,)),
    sample(tensor(F32, (1, 5, 1)), axes=(0, 2)),
    sample(tensor(F32, (37, 5)), axes=(1,)),
    sample(tensor(F32, (2, 67, 9)), axes=(1,)),
)
"""Forms of reduction on which every op is tested."""


@family
class Reduction(Op):
    """Combines the elements along `axes`, which are sorted; with `keepdims` the axes stay with size 1.

    `reference` runs with NumPy's floating-point warnings off.
    """

    axes: tuple[int, ...]
    keepdims: bool = False
    accepts: ClassVar[tuple[DType, ...]] = NUMBERS
    """The dtypes that the operand may have."""
    streams: ClassVar[int] = 0
    """The position of the operand, of which each element is read once, through `window`."""
    forms: ClassVar[tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = (
        ((8, 100), (1,)), ((9000,), (0,)), ((8, 5), (1,)), ((32, 5), (1,)), ((8, 100), (0,)), ((300, 100), (0,)), ((2, 3, 8, 8), (0, 2, 3)),
    )
    """Shape and axes for the kernels in the pack: rows, everything, few and many short rows, columns, many rows, channels of images."""
    batch = batching.along_axes
    pack = "reduce"
    lanes: ClassVar[str] = ""
    """The function of `lanes.h` that combines lanes of floats, without the dtype; empty if there is none."""
    together: ClassVar[int] = 7
    """Rows that are read at once, so that a total is loaded and stored once for so many; 1 + 9 * 7 = ROWS.  No result depends on it."""

    def __init_subclass__(cls, /, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "reference" in cls.__dict__:
            cls.reference = np.errstate(all="ignore")(cls.reference)

    def wide(self, dtype: DType) -> DType:
        """Return the dtype of the terms and of the result, for elements of `dtype`."""
        return dtype

    def term(self, k: Kernel, x: Expr) -> Expr:
        """Return the C expression for what is combined of an element: by default the element itself."""
        return x

    def neutral(self, dtype: DType) -> bool | int | float | complex:
        """Return the neutral element of the combination, in the dtype in which a result is computed."""
        raise NotImplementedError(f"{type(self).__name__}.neutral")

    def combined(self, k: Kernel, a: Expr, b: Expr) -> Expr:
        """Return the C expression for two partial results combined to one."""
        raise NotImplementedError(f"{type(self).__name__}.combined")

    def finished(self, k: Kernel, total: Expr, count: Expr | None) -> Expr:
        """Return the C expression for the result, given the combination `total` of `count` elements; None as the count means one element.
        """
        return total

    def empty(self, dtype: DType) -> bool | int | float | complex:
        """Return the result over no elements."""
        return self.neutral(dtype)

    def infer(self, x: Any) -> TensorType:
        if not isinstance(x, TensorType) or x.dtype not in self.accepts:
            raise mistake(self, "x", f"a tensor of {_listed(self.accepts)}", x, TypeError)
        for before, axis in zip((-1, *self.axes), self.axes, strict=False):
            if not before < axis < x.rank:
                raise mistake(self, "axes", f"sorted axes in 0..{x.rank - 1}", self.axes)
        return tensor(self.wide(x.dtype), reduced_shape(x.shape, self.axes, keepdims=self.keepdims))

    def lower(self, k: Kernel, x: Buffer, out: Buffer) -> None:
        number = math.prod(x.shape[axis] for axis in self.axes)
        if number == 0 or out.count == 0:
            emit_fill(k, out, self.empty(out.dtype.compute))
            return
        if number == 1:
            emit_map(k, out, [StridedAccess(x, row_major(out.shape))], lambda elements: self.finished(k, self.term(k, elements[0]), None))
            return
        count = k.size(number, "count")
        groups = _groups(x.shape, self.axes)
        source = self._terms(k, x)
        while any(reduced for reduced, _ in groups):
            at = max(place for place, (reduced, _) in enumerate(groups) if reduced)
            outer = math.prod(size for _, size in groups[:at])
            inner = math.prod(size for _, size in groups[at + 1 :])
            length = groups.pop(at)[1]
            last = not any(reduced for reduced, _ in groups)
            target = out if last else k.scratch(source.dtype.compute, outer * inner, "partial")

            changes = last and type(self).finished is not Reduction.finished
            finish: Callable[[Expr], Expr] = (lambda total: self.finished(k, total, count)) if changes else _unfinished
            if inner == 1:
                self._reduce_rows(k, source, target, outer, length, finish)
            else:
                self._reduce_columns(k, source, target, outer, length, inner, finish)
            source = target

    def _terms(self, k: Kernel, x: Any) -> Any:
        """Return a buffer of the terms of the elements of `x`, a buffer or an array on the stack."""
        if type(self).term is Reduction.term:
            return x
        return _Terms(x, self.wide(x.dtype), lambda element: self.term(k, element))

    def _reduce_rows(
        self, k: Kernel, x: Buffer, out: Buffer, rows: int, length: int, finish: Callable[[Expr], Expr]
    ) -> None:
        """Emit the reduction of x[rows, length] to out[rows]."""
        n = k.size(length, "n")
        k.describe(x, "..., n")
        k.describe(out, "...")
        few = known_length(length) if x.has_rows else None
        if few is not None:
            x.short_rows(k, rows, few, grain_of(few), lambda row, terms: k.store(out, row, finish(self._halved(k, terms))))
            return
        if length <= SHORT_ROW and rows >= ROWS_TOGETHER and type(x) is Buffer:
            self._reduce_short_rows(k, x, out, rows, n, length, finish)
            return
        if length <= BLOCK:
            self._reduce_blocks(
                k, x, rows, length, (length,), lambda row: (k.let(row * n, "start"), n),
                lambda row, total: k.store(out, row, finish(total)))
            return
        blocks = -(-length // BLOCK)
        per_row = k.size(blocks, "blocks")
        partial = k.scratch(x.dtype.compute, rows * blocks, "block_total")

        def place(unit: Expr) -> tuple[Expr, Expr]:
            first = k.let(unit % per_row * BLOCK, "first")
            rest = k.let(k.minimum_of(n - first, k.literal(BLOCK, I64)), "rest")
            return k.let(unit / per_row * n + first, "start"), rest

        self._reduce_blocks(k, x, rows * blocks, BLOCK, (length, BLOCK), place, lambda unit, total: k.store(partial, unit, total))
        with k.stage(rows, grain_of(blocks), "row") as row:
            start = k.let(row * per_row, "start")
            k.store(out, row, finish(self._tree(k, per_row, lambda b: partial[start + b])))

    def _reduce_short_rows(
        self, k: Kernel, x: Buffer, out: Buffer, rows: int, n: Expr, length: int, finish: Callable[[Expr], Expr]
    ) -> None:
        """Emit the reduction of many rows of at most SHORT_ROW elements: several side by side, since the lanes of one hold little.

        Each row has a lane for each element; the lanes are combined in halves, as in `_block`.
        """
        half = k.size(1 << max(length - 1, 1).bit_length() - 1, "half")
        every = k.size(rows, "rows")
        with k.stage(-(-rows // ROWS_TOGETHER), grain_of(ROWS_TOGETHER * length), "group") as group:
            first = k.let(group * ROWS_TOGETHER, "first")
            start = k.let(first * n, "start")
            lane = k.array(x.dtype, SHORT_ROW * ROWS_TOGETHER, "lane")
            with k.when(k.less_equal(first + ROWS_TOGETHER, every)):
                with k.loop(0, n, "i") as i, k.loop(0, ROWS_TOGETHER, "row") as row:
                    k.set(lane[i * ROWS_TOGETHER + row], x[start + row * n + i])
                self._halve(k, lane, n, half, ROWS_TOGETHER)
                with k.loop(0, ROWS_TOGETHER, "row") as row:
                    k.store(out, first + row, finish(lane[row]))
            with k.otherwise(), k.loop(first, every, "row") as row:
                with k.loop(0, n, "i") as i:
                    k.set(lane[i], x[row * n + i])
                self._halve(k, lane, n, half, 1)
                k.store(out, row, finish(lane[0]))

    def _halved(self, k: Kernel, terms: list[Expr]) -> Expr:
        """Return some terms combined in the order of `_halve`."""
        apart = 1 << len(terms).bit_length() - 1
        while apart:
            joined = [k.let(self.combined(k, a, b), "joined") for a, b in zip(terms, terms[apart:], strict=False)]
            terms = joined + terms[len(joined) : apart]
            apart //= 2
        return terms[0]

    def _halve(self, k: Kernel, lane: LocalArray, n: Expr, half: Expr, rows: int) -> None:
        """Combine `n` lanes, each of so many rows, with those that are `half` of them further on, then `half / 2`, and so on."""
        lanes, apart = k.local(n, "lanes"), k.local(half, "apart")

        def join(at: Expr) -> None:
            k.set(lane[at], self.combined(k, lane[at], lane[at + apart * rows]))

        with k.loop_while(k.greater(apart, 0)):
            with k.loop(0, (lanes - apart) * rows, "l", step=rows) as here:
                if rows == 1:
                    join(here)
                else:
                    with k.loop(0, rows, "row") as row:
                        join(here + row)
            k.set(lanes, k.minimum_of(lanes, apart))
            k.set(apart, apart / 2)

    def _reduce_blocks(
        self, k: Kernel, x: Buffer, blocks: int, most: int, whole: Sequence[int], place: Callable[[Expr], tuple[Expr, Expr]],
        store: Callable[[Expr, Expr], None]
    ) -> None:
        """Emit the reduction of blocks of at most `most` elements; `place` returns where one begins and its length, sums of multiples of
        the numbers in `whole`.

        Two are reduced at a time, one from each half of x: their additions do not wait for each other, and processors, which fetch ahead
        within a page, read two pages sooner than one after the other.
        """
        if most <= FEW_LANES or type(x) not in (Buffer, _Terms) or x.staged or x.dtype.size != 4:
            with k.stage(blocks, grain_of(most), "unit") as unit:
                store(unit, self._block(k, x, *place(unit), most, whole))
            return
        units, half = k.size(blocks, "units"), -(-blocks // 2)
        with k.stage(half, grain_of(2 * most), "unit") as unit:
            other = k.let(unit + k.size(half, "half"), "other")
            start, n = place(unit)
            far, length = place(other)
            there = k.let(k.select(k.less(other, units), length, k.literal(0, I64)), "there")
            first, second = self._two_blocks(k, x, (start, far), (n, there))
            store(unit, first)
            with k.when(k.less(other, units)):
                store(other, second)

    def _two_blocks(self, k: Kernel, x: Buffer, starts: Sequence[Expr], lengths: Sequence[Expr]) -> list[Expr]:
        """Return the reductions of two blocks: see `_block`."""
        lanes = [k.array(x.dtype, LANES, "lane") for _ in starts]
        with k.loop(0, LANES, "l") as here:
            for lane in lanes:
                k.set(lane[here], k.literal(self.neutral(x.dtype.compute), x.dtype.compute))
        whole = [k.let(n / LANES * LANES, "full") for n in lengths]
        both = k.let(k.minimum_of(*whole), "both")

        def add(lane: LocalArray, start: Expr, i: Expr) -> None:
            with k.loop(0, LANES, "l") as here:
                k.set(lane[here], self.combined(k, lane[here], x[start + i + here]))

        with k.loop(0, both, "i", step=LANES) as i:
            for lane, start in zip(lanes, starts, strict=True):
                add(lane, start, i)
        for lane, start, full, n in zip(lanes, starts, whole, lengths, strict=True):
            with k.loop(both, full, "i", step=LANES) as i:
                add(lane, start, i)
            with k.loop(full, n, "i") as i:
                k.set(lane[i - full], self.combined(k, lane[i - full], x[start + i]))
        return [self._joined(k, lane, LANES) for lane in lanes]

    def row(self, k: Kernel, x: Buffer | LocalArray, start: Any, n: Expr) -> Expr:
        """Return the reduction of the `n` elements of x from `start` on, at most LONGEST_ROW."""
        return self.finished(k, self._block(k, self._terms(k, x), start, n, LONGEST_ROW), n)

    def _block(self, k: Kernel, x: Buffer | LocalArray, start: Any, n: Any, most: int, whole: Sequence[int] = ()) -> Expr:
        """Return the `n` elements of x from `start` on, at most `most`, combined: in lanes and then in a tree; for `whole` see
        `Buffer.window`.

        Lanes that no element reaches are neutral, so that it does not matter how many there are.
        """
        lanes = LANES if most > FEW_LANES else FEW_LANES
        lane = k.array(x.dtype, lanes, "lane")
        with k.loop(0, lanes, "l") as here:
            k.set(lane[here], k.literal(self.neutral(x.dtype.compute), x.dtype.compute))

        def add(start: Any, n: Any, most: int) -> None:
            values, first = x.window(start, n, most, (*whole, WINDOW) if whole else ())
            full = k.let(n / lanes * lanes, "full")
            with k.loop(0, full, "i", step=lanes) as i, k.loop(0, lanes, "l") as here:
                k.set(lane[here], self.combined(k, lane[here], values[first + i + here]))
            with k.loop(full, n, "i") as i:
                k.set(lane[i - full], self.combined(k, lane[i - full], values[first + i]))

        if x.staged:
            with k.loop(0, n, "at", step=WINDOW) as at:
                add(k.let(start + at, "begin_at"), k.let(k.minimum_of(n - at, k.literal(WINDOW, I64)), "in_window"), WINDOW)
        else:
            add(start, n, most)
        return self._joined(k, lane, lanes)

    def _joined(self, k: Kernel, lane: LocalArray, lanes: int) -> Expr:
        """Return the lanes combined: see the module's docstring."""
        if self.lanes and lane.dtype.is_float:
            return k.call(f"adjoint_{self.lanes}_of_lanes_{lane.dtype.name}", lane, k.literal(lanes, I32), dtype=lane.dtype)
        width = lanes // 2
        while width:
            with k.loop(0, width, "l") as here:
                k.set(lane[here], self.combined(k, lane[here], lane[here + width]))
            width //= 2
        return lane[0]

    def _reduce_columns(
        self, k: Kernel, x: Buffer, out: Buffer, outer: int, length: int, inner: int, finish: Callable[[Expr], Expr]
    ) -> None:
        """Emit the reduction of x[outer, length, inner] to out[outer, inner], some columns at a time."""
        n, m = k.size(length, "n"), k.size(inner, "m")
        k.describe(x, "..., n, m")
        k.describe(out, "..., m")
        chunks = -(-inner // COLUMNS)
        per_row = k.size(chunks, "chunks")
        blocks = -(-length // ROWS)
        in_place = blocks == 1 and out.dtype is x.dtype.compute  # totals grow in the memory of the result
        target = out if in_place else k.scratch(x.dtype.compute, outer * blocks * inner, "block_total")
        per_column = k.size(blocks, "blocks")
        narrow = inner <= max(NARROW) and type(x) is Buffer and not x.staged
        with k.stage(outer * blocks * chunks, grain_of(min(length, ROWS) * min(inner, COLUMNS)), "unit") as unit:
            left = k.let(unit % per_row * COLUMNS, "left")
            width = m if narrow else k.let(k.minimum_of(m - left, k.literal(COLUMNS, I64)), "width")
            block = k.let(unit / per_row, "block")
            row = k.let(block % per_column * ROWS, "row")
            first = k.let(block / per_column * n + row, "first")
            last = k.let(first + k.minimum_of(n - row, k.literal(ROWS, I64)), "last")
            total = k.let(block * m + left, "total")
            if x.staged:
                self._add_staged(k, x, target, first, last, m, left, width, total, inner)
            elif narrow:
                self._add_narrow_rows(k, x, target, first, last, m, inner, total)
            else:
                with k.loop(0, width, "j") as j:
                    k.store(target, total + j, x[first * m + left + j])
                self._add_rows(k, x, target, k.let(first + 1, "second"), last, m, left, width, total)
            if in_place and finish is not _unfinished:
                with k.loop(0, width, "j") as j:
                    k.store(out, total + j, finish(out[total + j]))
        if in_place:
            return
        with k.stage(outer * chunks, grain_of(blocks * min(inner, COLUMNS)), "unit") as unit:
            left = k.let(unit % per_row * COLUMNS, "left")
            width = k.let(k.minimum_of(m - left, k.literal(COLUMNS, I64)), "width")
            start = k.let(unit / per_row * per_column * m + left, "start")
            self._tree_of_rows(k, target, start, per_column, m, width)
            with k.loop(0, width, "j") as j:
                k.store(out, unit / per_row * m + left + j, finish(target[start + j]))

    def _add_rows(
        self, k: Kernel, x: Buffer | LocalArray, target: Buffer, at: Expr, last: Expr, m: Expr, left: Operand, width: Expr, total: Expr
    ) -> None:
        """Combine the rows `at` to `last` of x, `width` columns from `left` on, with what is in `target` from `total` on."""
        if self.together > 1:
            whole = k.let(at + (last - at) / self.together * self.together, "whole")
            # Computed elements may be stored too, in several rows: a compiler cannot know that these do not overlap.
            with k.loop(at, whole, "i", step=self.together) as i, k.loop(0, width, "j", independent=type(x) is not Buffer) as j:
                value = target[total + j]
                for number in range(self.together):
                    value = k.let(self.combined(k, value, x[(i + number) * m + left + j]), "value")
                k.store(target, total + j, value)
            at = whole
        with k.loop(at, last, "i") as i, k.loop(0, width, "j") as j:
            k.store(target, total + j, self.combined(k, target[total + j], x[i * m + left + j]))

    def _add_narrow_rows(
        self, k: Kernel, x: Buffer, target: Buffer, first: Expr, last: Expr, m: Expr, inner: int, total: Expr
    ) -> None:
        """Combine the rows `first` to `last` of x, each of few columns, into `target` from `total` on.

        The totals stay in registers, which are a little longer than a row: what is read behind it is of the next rows, and is not stored.
        """
        lanes = next(lanes for lanes in NARROW if inner <= lanes)
        lane = k.array(x.dtype, lanes, "lane")

        def add(wide: Operand) -> None:
            with k.loop(0, wide, "j") as j:
                k.set(lane[j], x[first * m + j])
            with k.loop(first + 1, last, "i") as i, k.loop(0, wide, "j") as j:
                k.set(lane[j], self.combined(k, lane[j], x[i * m + j]))

        with k.when(k.less_equal((last - 1) * m + lanes, k.size(x.count, "elements"))):
            add(lanes)
        with k.otherwise():
            add(m)
        with k.loop(0, m, "j") as j:
            k.store(target, total + j, lane[j])

    def _add_staged(
        self, k: Kernel, x: Buffer, target: Buffer, first: Expr, last: Expr, m: Expr, left: Expr, width: Expr, total: Expr, inner: int
    ) -> None:
        """Combine the rows of a staged buffer, of `inner` columns, into `target`; as many at a time as COLUMNS elements hold."""
        row, at_once = k.local(first, "row"), k.size(max(1, COLUMNS // inner), "at_once")
        whole = (inner,) if inner <= COLUMNS else (inner, COLUMNS)
        with k.loop_while(k.less(row, last)):
            rows = k.let(k.minimum_of(last - row, at_once), "rows")
            values, at = x.window(row * m + left, k.let((rows - 1) * m + width, "elements"), COLUMNS, whole)
            begins = k.let(k.equal(row, first), "begins")
            with k.when(begins), k.loop(0, width, "j") as j:
                k.store(target, total + j, values[at + j])
            second = k.let(k.select(begins, k.literal(1, I64), k.literal(0, I64)), "second")
            self._add_rows(k, values, target, second, rows, m, at, width, total)
            k.increment(row, rows)

    def _tree_of_rows(self, k: Kernel, x: Buffer, start: Expr, rows: Expr, pitch: Expr, width: Expr) -> None:
        """Combine `rows` rows of `width` totals, `pitch` apart, in the tree of `trees.py`; the first row becomes the result.

        Row i takes in row i + 1 for every second i, then i + 2 for every fourth, and so on: so all columns go together.
        """
        apart = k.local(k.literal(1, I64), "apart")
        with k.loop_while(k.greater(rows, apart)):
            with k.loop(0, (rows + apart - 1) / (apart * 2), "pair") as pair:
                first = k.let(start + pair * apart * 2 * pitch, "first")
                second = k.let(first + apart * pitch, "second")
                with k.loop(0, width, "j") as j:
                    k.store(x, first + j, self.combined(k, x[first + j], x[second + j]))
            k.set(apart, apart * 2)

    def _tree(self, k: Kernel, blocks: Expr, total: Callable[[Expr], Expr]) -> Expr:
        """Return the totals of `blocks` blocks combined as a balanced tree."""
        value = k.local(total(k.literal(0, I64)), "value")
        kept = k.array(value.dtype, trees.LEVELS, "kept")

        def merge(level: Any) -> None:
            k.set(value, self.combined(k, kept[level], value))

        with k.loop(0, blocks, "b") as b:
            k.set(value, total(b))
            trees.pushed(k, b, merge, lambda level: k.set(kept[level], value))
        trees.collected(k, blocks, lambda level: k.set(value, kept[level]), merge)
        return value

    @classmethod
    def pack_samples(cls, dtype: DType) -> Iterable[tuple[Op, tuple[TensorType, ...]]]:
        if dtype in cls.accepts:
            for shape, axes in cls.forms:
                yield cls(axes=axes), (tensor(dtype, shape),)


class _Terms(Buffer):
    """The terms of the elements of a buffer or an array, computed as they are read.

    of    the buffer or array
    term  maps an element to its term
    """

    __slots__ = ("of", "term")

    def __init__(self, of: Buffer | LocalArray, dtype: DType, term: Callable[[Expr], Expr]):
        sizes = of.shape if isinstance(of, Buffer) else (of.length,)
        super().__init__(tensor(dtype, sizes), of.name, -1, written=False)
        self.of, self.term, self.staged = of, term, of.staged

    def __getitem__(self, index: Operand) -> Expr:
        return self.term(self.of[index])

    def window(self, start: Operand, count: Operand, most: int, whole: Sequence[int] = ()) -> tuple[Buffer | LocalArray, Operand]:
        values, first = self.of.window(start, count, most, whole)
        return _Terms(values, self.dtype, self.term), first

    @property
    def has_rows(self) -> bool:
        return isinstance(self.of, Buffer) and self.of.has_rows

    def short_rows(self, k: Kernel, rows: int, n: int, grain: int, each: Callable[[Expr, list[Expr]], None]) -> None:
        assert isinstance(self.of, Buffer)
        self.of.short_rows(k, rows, n, grain, lambda row, elements: each(row, [self.term(x) for x in elements]))


def _unfinished(total: Expr) -> Expr:
    """Return a total unchanged: the `finish` function where nothing is left to do, as for a sum or an axis that is not the last to be
    reduced.
    """
    return total


LANES = 32
"""The number of lanes (partial results that are computed side by side) of one block: two vectors of 16 float32."""
FEW_LANES = 8
"""The number of lanes for rows of at most this length, which gives the same result as LANES in less time."""
WINDOW = 192
"""The number of elements of a staged buffer that are read together, so few that they stay in the fastest cache; a multiple of LANES
and of the lengths in `loops.SHORT`."""
LONGEST_ROW = 1024
"""The limit for the elements of a row that `Reduction.row` reduces, as one block."""
SHORT_ROW = 32
"""The number of elements up to which several rows are reduced side by side; at most LANES."""
ROWS_TOGETHER = 16
"""The number of short rows that are reduced side by side."""
BLOCK = 2048
"""The number of adjacent elements that are combined as a block."""
ROWS = 64
"""The number of rows that are combined, column by column, as a block."""
NARROW = (8, 16, 32)
"""The numbers of columns up to which the totals of a row stay in registers."""
COLUMNS = 2048
"""The number of columns in a unit of a reduction over rows, so that long stretches of memory are read in order; no result depends on it."""


def rounding_steps(n: int) -> int:
    """Return the largest number of roundings that one of n floats takes part in when they are added along one axis."""
    return min(n, BLOCK // LANES + LANES.bit_length() - 1 + max(0, -(-n // BLOCK) - 1).bit_length())


def _groups(shape: Sequence[int], axes: Sequence[int]) -> list[tuple[bool, int]]:
    """Return the axes as (reduced, length), without those of one element, and with adjacent axes of a kind merged."""
    groups: list[tuple[bool, int]] = []
    for axis, dim in enumerate(shape):
        if dim == 1:
            continue
        reduced = axis in axes
        if groups and groups[-1][0] == reduced:
            groups[-1] = (reduced, groups[-1][1] * dim)
        else:
            groups.append((reduced, dim))
    return groups


def _listed(dtypes: Sequence[DType]) -> str:
    match dtypes:
        case _ if dtypes == NUMBERS:
            return "a real number type"
        case _ if dtypes == (*NUMBERS, *COMPLEX):
            return "a number type"
        case _ if dtypes == FLOATS:
            return "a floating point type"
        case _ if dtypes == (*FLOATS, *COMPLEX):
            return "a floating point or complex type"
        case _ if dtypes == (BOOL, *NUMBERS, *COMPLEX):
            return "any dtype"
        case _:
            return " or ".join(d.long_name for d in dtypes)


def reduced_shape(shape: tuple[Dim, ...], axes: tuple[int, ...], *, keepdims: bool) -> tuple[Dim, ...]:
    """Return `shape` without `axes`, or with 1 for each."""
    if keepdims:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def kept_shape(b: Builder, x: Atom, type_: TensorType, axes: tuple[int, ...]) -> Atom:
    """Return the result of a reduction of a value of `type_` with the reduced axes as 1."""
    to = tensor(tensor_type(x).dtype, reduced_shape(type_.shape, axes, keepdims=True))
    return x if x.type is to else b.reshape(x, to=to)
