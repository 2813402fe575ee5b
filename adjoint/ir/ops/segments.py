"""Results that are put together, along each axis, of segments of an operand: padded and rolled tensors.

Each element of the result is written once, by one loop nest: a unit is a row of the last axis, of which each segment has a loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.ir.ops.loops import advance, grain_of, row_counters, row_major

if TYPE_CHECKING:
    from adjoint.ir.kernel import Buffer, Kernel

__all__ = ["Segment", "emit_segments"]


class Segment(NamedTuple):
    """A part of the result along an axis: `count` elements of the operand from `start` on; one value everywhere if `start` is None."""

    count: int
    start: int | None


Segments = list[Segment]


def emit_segments(k: Kernel, x: Buffer, out: Buffer, axes: Sequence[Segments], filling: bool | int | float = 0) -> None:
    """Append a stage to a kernel that writes `out`, which along each axis consists of segments of `x`.

    axes     for each axis, its segments in order; along an axis with filled segments there is one segment of `x`, not empty
    filling  the value of the elements that are in a filled segment along any axis
    """
    lengths, axes = _merged(x.shape, axes)
    *outer, inner = axes
    widths = [sum(segment.count for segment in axis) for axis in axes]
    strides = row_major(lengths)
    if not outer:
        k.describe(out, "n")
        with k.stage_range(widths[0], grain_of(1)) as (begin, end):
            _row(k, x, out, inner, filling, 0, 0, (begin, end))
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
                    _row(k, x, out, inner, filling, k.let(x_at, f"{x.name}_at"), out_at)
                with k.otherwise(), k.loop(0, n, "j") as j:
                    k.store(out, out_at + j, filling)
            else:
                _row(k, x, out, inner, filling, k.let(x_at, f"{x.name}_at"), out_at)
            advance(k, counters, sizes)


def _merged(lengths: Sequence[int], axes: Sequence[Segments]) -> tuple[list[int], list[Segments]]:
    """Merge axes along which the operand is taken as it is with the axis before them.  Return the operand's lengths along the axes that
    remain, and their segments; there is always at least one.
    """
    kept: list[int] = []
    merged: list[Segments] = []
    for length, axis in zip(lengths, axes, strict=True):
        axis = [segment for segment in axis if segment.count != 0]
        if kept and len(axis) == 1 and axis[0].start == 0 and axis[0].count == length:
            kept[-1] *= length
            merged[-1] = [Segment(count * length, None if start is None else start * length) for count, start in merged[-1]]
        else:
            kept.append(length)
            merged.append(axis)
    return (kept, merged) if kept else ([1], [[Segment(1, 0)]])


def _place(k: Kernel, axis: Segments, index: Any, suffix: str) -> tuple[Any, list[Any]]:
    """Return the index in the operand of the result's row `index` along an axis, and the conditions under which it has one."""
    if any(segment.start is None for segment in axis):
        low = axis[0].count if axis[0].start is None else 0
        (count, start), = [(count, start) for count, start in axis if start is not None]
        first = k.size(low, f"low{suffix}") if low else 0
        conditions = [k.greater_equal(index, first)] if low else []
        if axis[-1].start is None:
            conditions.append(k.less(index, k.size(low + count, f"high{suffix}")))
        return index - first if start == 0 else index - first + k.size(start, f"start{suffix}"), conditions
    place: Any = None
    end = sum(segment.count for segment in axis)
    for number, (count, start) in reversed(list(enumerate(axis))):
        end = end - count
        shift = (start or 0) - end
        own = index if shift == 0 else index + k.size(shift, f"shift{suffix}_{number}")
        place = own if place is None else k.select(k.less(index, k.size(end + count, f"end{suffix}")), own, place)
    return 0 if place is None else place, []


def _row(
    k: Kernel, x: Buffer, out: Buffer, segments: Segments, filling: bool | int | float, x_at: Any, out_at: Any,
    part: tuple[Any, Any] | None = None,
) -> None:
    """Write a row of the result, segment by segment.

    x_at, out_at  where the rows begin
    part          the first element to write, and the one to end before; None for all
    """
    end: int = 0
    edge: Any = 0
    for number, (count, start) in enumerate(segments):
        first, end = edge, end + count
        edge = k.size(end, f"edge{number}")
        bounds = (first, edge)
        if part is not None:
            bounds = (k.maximum_of(first, part[0]) if number else part[0], k.minimum_of(edge, part[1]))
        shift = 0 if start is None else start - (end - count)
        moved = x_at if shift == 0 else x_at + k.size(shift, f"from{number}")
        with k.loop(*bounds, "j") as j:
            k.store(out, out_at + j, filling if start is None else x[moved + j])
