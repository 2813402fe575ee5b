"""Kernels over the windows of a plane, as long loops over adjacent windows, so that they vectorise.

A plane of h by w elements has `rows` by `columns` windows.  In general, one position in the windows after the other is visited for a whole
piece of a row of windows (`WindowRow`).  Adjacent 2x2 windows are so frequent that they have loops of their own (`Windows.each_half`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from adjoint.foundation.dataclass import dataclass

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Expr, Kernel, LocalArray

__all__ = ["PIECE", "UNPADDED", "Geometry", "Halving", "Padding", "Pair", "WindowRow", "Windows"]

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]

UNPADDED: Padding = ((0, 0), (0, 0))

WORK = 8192
"""The elements that a thread must get to be worth waking."""
PIECE = 64
"""The number of windows of a row that are computed together."""
LANES = (16, 8)
"""The numbers of adjacent 2x2 windows computed together, for rows that are long enough."""


class Geometry(Protocol):
    """The positions of windows on a plane; see `pooling`."""

    @property
    def kernel(self) -> Pair: ...
    @property
    def stride(self) -> Pair: ...
    @property
    def padding(self) -> Padding: ...
    @property
    def dilation(self) -> Pair: ...
    @property
    def ceil(self) -> bool: ...


@dataclass(frozen=True)
class Halving:
    """What to compute for 2x2 windows.

    x, first        the elements, and where the plane begins; None if they are not read
    out, first_out  where results are written
    spread          True for four results, one for each element; False for one, for the window
    results         returns them, from the index of a window within its plane and its four elements
    """

    x: Buffer | None
    first: Expr
    out: Buffer
    first_out: Expr
    spread: bool
    results: Callable[[Any, Sequence[Any]], Sequence[Any]]


class Windows:
    """The sizes of planes and windows in C, and loops over them.

    h, w           of a plane
    rows, columns  the number of windows along each axis
    """

    def __init__(self, k: Kernel, op: Geometry, plane: tuple[int, ...], pooled: tuple[int, ...]):
        self.k = k
        self.planes, self.grain = plane[0] * plane[1], max(1, WORK // max(1, plane[2] * plane[3]))
        self.h, self.w = k.size(plane[2], "h"), k.size(plane[3], "w")
        self.rows, self.columns = k.size(pooled[2], "rows"), k.size(pooled[3], "columns")
        self.halving = op.kernel == op.stride == (2, 2) and op.dilation == (1, 1) and op.padding == UNPADDED and not op.ceil
        """True for 2x2 windows, adjacent from the corner of the plane: these have kernels of their own."""
        self.kernel = k.size(op.kernel[0], "kernel_h"), k.size(op.kernel[1], "kernel_w")
        across = op.stride[1]
        self.stride = k.size(op.stride[0], "stride_h"), across if across <= 2 else k.size(across, "stride_w")
        """Along the columns a constant if it is 1 or 2: vector code reads every element, or every other."""
        self.before = k.size(op.padding[0][0], "top"), k.size(op.padding[1][0], "left")
        self.after = k.size(op.padding[0][1], "bottom"), k.size(op.padding[1][1], "right")
        self.dilation = k.size(op.dilation[0], "dilation_h"), k.size(op.dilation[1], "dilation_w")

    @contextmanager
    def each_plane(self) -> Iterator[tuple[Expr, Expr]]:
        """Begin a stage over planes: yield where one begins, and where its windows begin."""
        with self.k.stage(self.planes, self.grain, "plane") as plane:
            yield (
                self.k.let(plane * self.h * self.w, "first"),
                self.k.let(plane * self.rows * self.columns, "first_window"))

    @contextmanager
    def each_piece(self) -> Iterator[WindowRow]:
        """Append loops over all rows of windows, a piece of a row at a time; yield the object that writes the code for the piece."""
        k = self.k
        with k.loop(0, self.rows, "row") as row, k.loop(0, self.columns, "start", step=PIECE) as start:
            yield WindowRow(self, row, start, k.let(k.minimum_of(self.columns - start, PIECE), "width"))

    def each_half(self, task: Halving) -> None:
        """Do `task` for 2x2 windows.

        A long row of windows is cut into pieces of as many lanes as it is long enough for; the last piece ends where the row ends, and
        so may repeat some windows of the piece before, with the same results.  Several short rows are gathered and computed together.
        """
        k = self.k

        def pieces(lanes: int, *fewer: int) -> None:
            enough = k.greater_equal(self.columns, lanes)
            with k.when(enough), k.loop(0, self.rows, "row") as row, k.loop(0, self.columns, "start", step=lanes) as start:
                begin = k.let(k.minimum_of(start, self.columns - lanes), "begin_column")
                with k.loop(begin, begin + lanes, "column") as column:
                    self._one(task, row, column)
            with k.otherwise():
                if fewer:
                    pieces(*fewer)
                else:
                    with k.loop(0, self.rows, "start", step=PIECE // lanes) as start:
                        self._gathered(task, start, PIECE // lanes)

        pieces(*LANES)

    def places(self, row: Any, column: Any) -> tuple[Any, ...]:
        """Return the indices within the plane of the four elements of a 2x2 window."""
        upper = row * 2 * self.w + column * 2
        return upper, upper + 1, upper + self.w, upper + self.w + 1

    def _one(self, task: Halving, row: Expr, column: Expr) -> None:
        k, window, places = self.k, row * self.columns + column, self.places(row, column)
        four = [k.let(task.x[task.first + i], f"x{n}") for n, i in enumerate(places)] if task.x else []
        for i, value in zip(places if task.spread else (window,), task.results(window, four), strict=True):
            k.store(task.out, task.first_out + i, value)

    def _gathered(self, task: Halving, start: Expr, count: int) -> None:
        """Return `count` rows of windows from `start` on, or as many as there are, in arrays of PIECE elements."""
        k = self.k
        several = k.let(k.minimum_of(self.rows - start, count), "several")
        window = k.let(start * self.columns, "window")

        @contextmanager
        def each() -> Iterator[tuple[Expr, tuple[Any, ...]]]:
            with k.loop(0, several, "row") as row, k.loop(0, self.columns, "column") as column:
                yield row * self.columns + column, self.places(start + row, column)

        elements: list[LocalArray] = []
        if task.x:
            elements = [k.array(task.x.dtype, PIECE, f"x{n}") for n in range(4)]
            with each() as (n, places):
                for array, i in zip(elements, places, strict=True):
                    k.set(array[n], task.x[task.first + i])
        spread = [k.array(task.out.dtype, PIECE, f"y{n}") for n in range(4 if task.spread else 0)]
        with k.loop(0, several * self.columns, "n") as n:
            results = task.results(window + n, [k.let(array[n], f"element{i}") for i, array in enumerate(elements)])
            for array, value in zip(spread, results, strict=False):
                k.set(array[n], value)
            if not task.spread:
                k.store(task.out, task.first_out + window + n, results[0])
        if task.spread:
            with each() as (n, places):
                for array, i in zip(spread, places, strict=True):
                    k.store(task.out, task.first_out + i, array[n])

    def clear_margin(self, out: Buffer, first: Expr) -> None:
        """Append the C code that writes zeros to the last row and the last column of a plane if no 2x2 window covers them."""
        k = self.k
        with k.loop(self.rows * 2 * self.w, self.h * self.w, "i") as i:
            k.store(out, first + i, 0.0)
        with k.when(k.less(self.columns * 2, self.w)), k.loop(0, self.h, "row") as row:
            k.store(out, first + row * self.w + self.w - 1, 0.0)


class WindowRow:
    """`width` adjacent windows in a row, from column `start` on."""

    def __init__(self, windows: Windows, row: Expr, start: Expr, width: Expr):
        self.windows, self.row, self.start, self.width = windows, row, start, width
        self.first = row * windows.columns + start
        """The index of the first window within its plane."""

    def each_window(self, body: Callable[[Expr], None]) -> None:
        """Append a loop over the windows; `body` appends the code for one, given its number."""
        with self.windows.k.loop(0, self.width, "c") as c:
            body(c)

    def each_element(self, body: Callable[[Expr, Expr], None]) -> None:
        """Append loops over all elements of the windows: `body` appends the code for one, given the window's number and the index in the
        plane.

        One position in the window after the other is visited, for all windows, in row-major order.
        """
        k, s = self.windows.k, self.windows
        with k.loop(0, s.kernel[0], "a") as a:
            y = k.let(self.row * s.stride[0] - s.before[0] + a * s.dilation[0], "y")
            with k.when(k.both(k.greater_equal(y, 0), k.less(y, s.h))), k.loop(0, s.kernel[1], "b") as b:
                k.comment("the windows that have an element of the plane in this place")
                x = k.let(self.start * s.stride[1] - s.before[1] + b * s.dilation[1], "x_start")
                begin = k.let(k.select(k.less(x, 0), (s.stride[1] - 1 - x) / s.stride[1], 0), "begin_window")
                end = k.let(k.minimum_of(self.width, (s.w - x + (s.stride[1] - 1)) / s.stride[1]), "end_window")
                with k.loop(begin, end, "c") as c:
                    body(c, y * s.w + x + c * s.stride[1])
