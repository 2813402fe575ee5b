"""Histograms: the interval of each number, counts for each interval, and interpolation between points.

Intervals are closed on the left and open on the right; the last is closed on both sides.
"""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.sort import SearchSorted
from adjoint.ir.types import F32, I32, I64
from adjoint.numpy.conversion import array_like, joined, real_array_like
from adjoint.numpy.differences import diff
from adjoint.numpy.spacing import linspace
from adjoint.ops import arithmetic, parts, picking, reduction
from adjoint.ops.arguments import flag, floating, integer, wrong
from adjoint.ops.counts import count_up_to, counted, counts_in_one_pass, ends, sums_of_weights
from adjoint.ops.creation import ones_like, zeros
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.run_time_checks import emitting
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "interp", "searchsorted",
]

# Intervals -----------------------------------------------------------------------------------------------------------


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Return the Int32 positions at which numbers would be inserted into an ascending vector, before those equal to them or (`side`
    "right") after.

    sorter  the indices that sort `a`, if it is not sorted
    """
    row, values = real_array_like("searchsorted", a, "a"), real_array_like("searchsorted", v, "v")
    if side not in ("left", "right"):
        raise wrong("searchsorted", "side", "'left' or 'right'", repr(side))
    if row.ndim != 1:
        raise wrong("searchsorted", "a", "of 1 dimension", row)
    if sorter is not None:
        order = array_like("searchsorted", sorter, "sorter")
        if order.shape != row.shape:
            raise wrong("searchsorted", "sorter", f"of shape {row.shape}, as 'a'", order)
        row = picking.gathered("searchsorted", row, order, 0, "sorter")
    row, values = joined(row, values)
    if not row.dtype.is_float and not row.dtype.is_integer:
        row, values = row.astype(I32), values.astype(I32)
    return reshape(apply(made(SearchSorted, side == "right"), row, reshape(values, (-1,))), values.shape)


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """Return the Int32 number of the interval that each number lies in, 0 before the first bound.

    bins   bounds, ascending or descending
    right  True if intervals are closed on the right instead of the left
    """
    given, bounds = array_like("digitize", x), array_like("digitize", bins, "bins")
    if bounds.ndim != 1:
        raise wrong("digitize", "bins", "of 1 dimension", bounds)
    if not given.size or not bounds.size:
        return given if not given.size else zeros(given.shape, I32)
    closed = flag("digitize", "right", right)
    up = searchsorted(bounds, given, "left" if closed else "right")
    down = bounds.size - searchsorted(parts.flip(bounds, 0), given, "right" if closed else "left")
    first, last = parts.unstack(bounds)[0], parts.unstack(bounds)[-1]
    return arithmetic.where(first <= last, up, down)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    """Return the values at `x` of the piecewise linear function through the points (xp, fp), `xp` ascending; Float32, or Float64 if one is
    Float64.

    left, right  the values before the first and after the last point; by default those of these points
    """
    points, heights = array_like("interp", xp, "xp"), array_like("interp", fp, "fp")
    if points.ndim != 1 or heights.ndim != 1:
        raise wrong("interp", "xp", "of 1 dimension, as 'fp'", (points.shape, heights.shape))
    if points.size != heights.size or not points.size:
        raise wrong("interp", "fp", f"of {points.size} numbers, as 'xp', at least 1", heights)
    at, points, heights = joined(*(floating(t) for t in (array_like("interp", x), points, heights)))
    last = points.size - 1
    after = arithmetic.minimum(searchsorted(points, at), last)
    before = arithmetic.maximum(after - 1, 0)
    x0, x1 = (picking.gathered("interp", points, place, 0) for place in (before, after))
    y0, y1 = (picking.gathered("interp", heights, place, 0) for place in (before, after))
    same = arithmetic.equal(x0, x1)
    line = y0 + (y1 - y0) * ((at - x0) / arithmetic.where(same, 1.0, x1 - x0))
    low, high = parts.unstack(heights)[0] if left is None else left, parts.unstack(heights)[-1] if right is None else right
    line = arithmetic.where(at < parts.unstack(points)[0], low, line)
    return arithmetic.where(at > parts.unstack(points)[-1], high, line)


# Counts --------------------------------------------------------------------------------------------------------------


def bincount(x: Any, weights: Any = None, minlength: Any = 0, length: Any = None) -> Tensor:
    """Return how often each number from 0 on occurs in a vector of integers, or the sum of their weights: Float32.

    Negative numbers count as 0.  There are `length` counts if given, else as many as the largest number requires, at least
    `minlength`.
    """
    places = array_like("bincount", x)
    if places.ndim != 1:
        raise wrong("bincount", "x", "of 1 dimension", places)
    if not places.dtype.is_integer:
        raise wrong("bincount", "x", "of integers", places, TypeError)
    if weights is None and length is None:
        counts = counts_in_one_pass(places, integer("bincount", "minlength", minlength), F32)
        if counts is not None:
            return counts
    by = ones_like(places, dtype=F32) if weights is None else array_like("bincount", weights, "weights")
    if by.shape != places.shape:
        raise wrong("bincount", "weights", f"of shape {places.shape}, as 'x'", by)
    places = places.astype(I64, copy=False)
    if length is None:
        least = max(integer("bincount", "minlength", minlength), int(places.size > 0))
        if emitting() and places.size:
            places = arithmetic.maximum(places, 0)
            return sums_of_weights(places, count_up_to("bincount", places, least), floating(by)).astype(F32, copy=False)
        smallest, largest = (int(end.item()) for end in ends(places)) if places.size else (-1, -1)
        count = max(largest + 1, least)
        places = arithmetic.maximum(places, 0) if smallest < 0 else places
        return sums_of_weights(places, count, floating(by)).astype(F32, copy=False)
    count = integer("bincount", "length", length)
    return counted(arithmetic.maximum(places, 0), count, floating(by)).astype(F32, copy=False)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """Return the bounds of intervals: a number of equal intervals from the smallest to the largest number, or in `range`; or the given
    bounds.

    weights  of the shape of `a`; the bounds do not depend on them
    """
    x = array_like("histogram_bin_edges", a, "a")
    if weights is not None and (by := array_like("histogram_bin_edges", weights, "weights")).shape != x.shape:
        raise wrong("histogram_bin_edges", "weights", f"of shape {x.shape}, as 'a'", by)
    if isinstance(bins, str):
        raise NotImplementedError("For 'histogram_bin_edges', a name for 'bins' is not supported, as in MindSpore: give an int or bounds.")
    if isinstance(bins, (tuple, list, Tensor)):
        bounds = array_like("histogram_bin_edges", bins, "bins")
        if bounds.ndim != 1:
            raise wrong("histogram_bin_edges", "bins", "an int, or bounds of 1 dimension", bounds)
        return bounds
    count = integer("histogram_bin_edges", "bins", bins)
    if range is None:
        line = floating(reshape(x, (-1,)))
        start, end = reduction.amin(line), reduction.amax(line)
    else:
        if not isinstance(range, (tuple, list)) or len(range) != 2:
            raise wrong("histogram_bin_edges", "range", "a pair (start, end)", repr(range))
        if not isinstance(range[0], Tensor) and not isinstance(range[1], Tensor) and range[0] > range[1]:
            raise wrong("histogram_bin_edges", "range", f"an end of at least {range[0]}", range[1])
        start, end = (floating(array_like("histogram_bin_edges", bound, "range")) for bound in range)
    flat = arithmetic.equal(start, end)
    return linspace(arithmetic.where(flat, start - 0.5, start), arithmetic.where(flat, end + 0.5, end), count + 1)


def _intervals(line: Tensor, edges: Tensor) -> Tensor:
    """Return the number of the interval of each element, from 1; 0 before the first bound, and the number of bounds after the last."""
    last = parts.unstack(edges)[-1]
    return arithmetic.where(arithmetic.equal(line, last), edges.size - 1, searchsorted(edges, line, "right"))


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> tuple[Tensor, Tensor]:
    """Return how many numbers lie in each interval (Float32), or the sum of their weights, and the bounds: see `histogram_bin_edges`.

    density  True to divide the counts by the widths of the intervals and by their sum, so that the area is 1
    """
    x = array_like("histogram", a, "a")
    edges = histogram_bin_edges(x, bins, range, weights)
    by = None if weights is None else reshape(array_like("histogram", weights, "weights"), (-1,))
    count = bincount(_intervals(reshape(x, (-1,)), edges), by, length=edges.size)
    count = parts.narrow(count, 0, 1, edges.size - 1)
    if flag("histogram", "density", density):
        count = count / diff(edges) / reduction.sum(count)
    return count, edges


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> tuple[Tensor, list[Tensor]]:
    """Return how many points lie in each cell of a grid (Float32), or the sum of their weights, and a list of the bounds along each axis.

    sample       a Tensor of points [n, d], or a tuple or list of d arrays of coordinates
    bins, range  as for `histogram`, one for all axes or one for each
    """
    if isinstance(sample, (tuple, list)):
        points = parts.stack(joined(*(array_like("histogramdd", x, "sample") for x in sample)), -1)
    else:
        points = sample
        if not isinstance(points, Tensor):
            raise wrong("histogramdd", "sample", "a Tensor of points, or a tuple or list of coordinates", repr(sample), TypeError)
    if points.ndim != 2:
        raise wrong("histogramdd", "sample", "of 2 dimensions", points)
    columns = parts.unstack(points, 1)
    if isinstance(bins, int):
        bins = (bins,) * len(columns)
    if not isinstance(bins, (tuple, list, Tensor)):
        raise wrong("histogramdd", "bins", "an int or a sequence", repr(bins), TypeError)
    if len(bins) != len(columns) or (range is not None and len(range) != len(columns)):
        raise wrong("histogramdd", "bins", f"{len(columns)} entries, as 'range', one for each axis", len(bins))
    edges = [histogram_bin_edges(x, bins[i], None if range is None else range[i], weights) for i, x in enumerate(columns)]
    sizes = tuple(x.size + 1 for x in edges)
    cell: Any = 0
    for x, bounds, size in zip(columns, edges, sizes, strict=True):
        cell = cell * size + _intervals(x, bounds).astype(I64)
    count = reshape(bincount(cell, weights, length=math.prod(sizes)), sizes)
    for along, size in enumerate(sizes):
        count = parts.narrow(count, along, 1, size - 2)
    if flag("histogramdd", "density", density):
        total = reduction.sum(count)
        for along, bounds in enumerate(edges):
            count = count / reshape(diff(bounds), tuple(-1 if i == along else 1 for i, _ in enumerate(edges)))
        count = count / total
    return count, edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Return how many points (x, y) lie in each cell of a grid, and the bounds along both axes: see `histogramdd`."""
    count, edges = histogramdd((x, y), bins, range, weights, density)
    return count, edges[0], edges[1]
