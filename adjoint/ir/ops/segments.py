"""Results that are put together, along each axis, of segments of an operand: padded, extended and rolled tensors.

Each element of the result is written once, by one loop nest: a unit is a row of the last axis, of which each segment has a loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.ir.ops.loops import advance, grain_of, row_counters, row_major

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Segment", "emit_segments"]


class Segment(NamedTuple):
    """A part of the result along an axis: `count` elements of the operand from `start` on; one value everywhere if `start` is None.

    step  1; or -1 if the operand is read backwards from `start`, 0 if the element at `start` is repeated
    """

    count: int
    start: int | None
    step: int = 1


Segments = list[Segment]


def _same(element: Any) -> Any:
    return element


def emit_segments(
    k: Kernel, x: Buffer, out: Buffer, axes: Sequence[Segments], filling: bool | int | float = 0, element: Callable[[Any], Any] = _same,
) -> None:
    """Append a stage to a kernel that writes `out`, which along each axis consists of segments of `x`.

    axes     for each axis, its segments in order; along an axis with filled segments there is one segment of `x`, not empty
    filling  the value of the elements that are in a filled segment along any axis
    element  what becomes of an element of `x`
    """
    lengths, axes = _merged(x.shape, axes)
    *outer, inner = axes
    widths = [sum(segment.count for segment in axis) for axis in axes]
    strides = row_major(lengths)
    if not outer:
        k.describe(out, "n")
        with k.stage_range(widths[0], grain_of(1)) as (begin, end):
            _row(k, x, out, inner, filling, element, 0, 0, (begin, end))
        return
    k.describe(x, "..., m")
    k.describe(out, "..., n")
    n = k.size(widths[-1], "n")
    sizes = [k.size(width, f"n{axis}") for axis, width in enumerate(widths[:-1])] if len(outer) > 1 else []
    steps = [k.size(stride, f"{x.name}_s{axis}" if sizes else f"{x.name}_row") for axis, stride in enumerate(strides[:-1])]
    with k.stage_range(math.prod(widths[:-1]), grain_of(widths[-1])) as (begin, end):
        counters = row_counters(k, begin, sizes)
        with k.loop(begin, end, "row") as row:
            out_at = k.let(row * n, f"{out.name}_at")
            x_at: Any = 0
            conditions: list[Any] = []
            for number, (axis, step, index) in enumerate(zip(outer, steps, counters or [row], strict=True)):
                place, inside = _place(k, axis, index, str(number) if sizes else "")
                x_at = x_at + place * step
                conditions += inside
            if conditions:
                condition = conditions[0]
                for another in conditions[1:]:
                    condition = k.both(condition, another)
                with k.when(condition):
                    _row(k, x, out, inner, filling, element, k.let(x_at, f"{x.name}_at"), out_at)
                with k.otherwise(), k.loop(0, n, "j") as j:
                    k.store(out, out_at + j, filling)
            else:
                _row(k, x, out, inner, filling, element, k.let(x_at, f"{x.name}_at"), out_at)
            advance(k, counters, sizes)


def _merged(lengths: Sequence[int], axes: Sequence[Segments]) -> tuple[list[int], list[Segments]]:
    """Merge axes along which the operand is taken as it is with the axis before them.  Return the operand's lengths along the axes that
    remain, and their segments; there is always at least one.
    """
    kept: list[int] = []
    merged: list[Segments] = []
    for length, axis in zip(lengths, axes, strict=True):
        axis = [segment for segment in axis if segment.count != 0]
        whole = len(axis) == 1 and axis[0].start == 0 and axis[0].count == length and axis[0].step == 1
        if kept and whole and all(segment.step == 1 for segment in merged[-1]):
            kept[-1] *= length
            merged[-1] = [Segment(count * length, None if start is None else start * length) for count, start, _ in merged[-1]]
        else:
            kept.append(length)
            merged.append(axis)
    return (kept, merged) if kept else ([1], [[Segment(1, 0)]])


def _place(k: Kernel, axis: Segments, index: Any, suffix: str) -> tuple[Any, list[Any]]:
    """Return the index in the operand of the result's row `index` along an axis, and the conditions under which it has one."""
    if any(segment.start is None for segment in axis):
        low = axis[0].count if axis[0].start is None else 0
        (count, start), = [(count, start) for count, start, _ in axis if start is not None]
        first = k.size(low, f"low{suffix}") if low else 0
        conditions = [k.greater_equal(index, first)] if low else []
        if axis[-1].start is None:
            conditions.append(k.less(index, k.size(low + count, f"high{suffix}")))
        return index - first if start == 0 else index - first + k.size(start, f"start{suffix}"), conditions
    place: Any = None
    end = sum(segment.count for segment in axis)
    for number, (count, start, step) in reversed(list(enumerate(axis))):
        end = end - count
        own = _moved(k, index, (start or 0) - end * step, step, f"shift{suffix}_{number}")
        place = own if place is None else k.select(k.less(index, k.size(end + count, f"end{suffix}")), own, place)
    return 0 if place is None else place, []


def _moved(k: Kernel, index: Any, shift: Any, step: int, name: str) -> Any:
    """Return `shift + step * index`, where the shift is a run-time size of this name."""
    if step == 1:
        return index if shift == 0 else index + k.size(shift, name)
    return k.size(shift, name) if step == 0 else k.size(shift, name) - index


def _row(
    k: Kernel, x: Buffer, out: Buffer, segments: Segments, filling: bool | int | float, element: Callable[[Any], Any],
    x_at: Any, out_at: Any, part: tuple[Any, Any] | None = None,
) -> None:
    """Write a row of the result, segment by segment.

    x_at, out_at  where the rows begin
    part          the first element to write, and the one to end before; None for all
    """
    end: int = 0
    edge: Any = 0
    for number, (count, start, step) in enumerate(segments):
        first, end = edge, end + count
        edge = k.size(end, f"edge{number}")
        bounds = (first, edge)
        if part is not None:
            bounds = (k.maximum_of(first, part[0]) if number else part[0], k.minimum_of(edge, part[1]))
        shift = 0 if start is None else start - (end - count) * step
        moved = x_at if step == 1 and shift == 0 else x_at + k.size(shift, f"from{number}")
        with k.loop(*bounds, "j") as j:
            place = moved + j if step == 1 else moved - j if step < 0 else moved
            k.store(out, out_at + j, filling if start is None else element(x[place]))
