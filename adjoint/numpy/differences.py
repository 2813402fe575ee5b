"""Differences along an axis and related functions: slopes, areas, unwrapped angles.

Raise TypeError for anything but arrays, ValueError for shapes and axes that do not fit.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.types import F32, F64
from adjoint.numpy.conversion import array_like, joined, real_array_like
from adjoint.numpy.dtypes import pi
from adjoint.ops import arithmetic, parts, reduction
from adjoint.ops.arguments import axes_argument, axis_argument, floating, integer, operand, wrong
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["diff", "ediff1d", "gradient", "trapz", "unwrap"]


def _part(x: Tensor, along: int, first: int, last: int) -> Tensor:
    """Return the elements first..last along an axis; negative indices count from the end."""
    length = x.shape[along]
    low, high = (place + length if place < 0 else place for place in (first, last))
    return parts.narrow(x, along, low, high - low)


def _steps(x: Tensor, along: int) -> Tensor:
    length = x.shape[along]
    return _part(x, along, 1, length) - _part(x, along, 0, length - 1)


def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Return the differences of adjacent elements along an axis, `n` times.

    prepend, append  what to add before and after the array first: a number, or a Tensor that broadcasts to one element along the axis
    """
    x = operand("diff", a, "a")
    along, times = axis_argument("diff", axis, x.ndim), integer("diff", "n", n)
    if times < 0:
        raise wrong("diff", "n", "at least 0", times)
    if times == 0:
        return x
    ends = tuple(1 if i == along else size for i, size in enumerate(x.shape))
    before, behind = ([] if end is None else [broadcast_to(array_like("diff", end, name), ends)]
                      for name, end in (("prepend", prepend), ("append", append)))
    x = parts.concat(joined(*before, x, *behind), along)
    if times >= x.shape[along]:
        raise wrong("diff", "n", f"less than the {x.shape[along]} elements along axis {along}", times)
    for _ in range(times):
        x = _steps(x, along)
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Return the differences of adjacent elements of the flattened array, after prepending and appending values."""
    x = reshape(operand("ediff1d", ary, "ary"), (-1,))
    ends = ([] if end is None else [reshape(array_like("ediff1d", end, name), (-1,)).astype(x.dtype, copy=False)]
            for name, end in (("to_begin", to_begin), ("to_end", to_end)))
    begin, end = ends
    return parts.concat((*begin, diff(x), *end), 0)


def trapz(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Tensor:
    """Return the integral along an axis by the trapezoidal rule.

    x   the ascending positions of the points: an array of one axis, or one that broadcasts with `y`; by default they are `dx` apart
    """
    heights = floating(array_like("trapz", y, "y"))
    along = axis_argument("trapz", axis, heights.ndim)
    if x is None:
        widths = array_like("trapz", dx, "dx")
    else:
        places = array_like("trapz", x)
        widths = diff(places) if places.ndim == 1 else _steps(places, along - heights.ndim + places.ndim)
        widths = reshape(widths, (-1, *(1,) * (heights.ndim - along - 1))) if places.ndim == 1 else widths
    length = heights.shape[along]
    between = (_part(heights, along, 0, length - 1) + _part(heights, along, 1, length)) / 2.0
    return reduction.sum(between * widths.astype(heights.dtype, copy=False), along)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the slopes along axes: half of the difference of the two neighbours, or at the edges the difference to the only one.

    varargs     the distance between neighbours: a number for all axes, or one for each; 1 by default
    edge_order  1; raise NotImplementedError for others

    Return one Tensor for one axis, a list for several; Float32, or Float64 for Float64 arrays.
    """
    if edge_order != 1:
        raise NotImplementedError(f"For 'gradient', 'edge_order' of {edge_order!r} is not supported, as in MindSpore: use 1.")
    x = real_array_like("gradient", f, "f")
    x = x if x.dtype is F64 else x.astype(F32, copy=False)
    axes = axes_argument("gradient", axis, x.ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"For 'gradient', the distances must be one number or {len(axes)}, but got {len(varargs)}.")
    apart = varargs * len(axes) if len(varargs) == 1 else varargs or (1,) * len(axes)
    slopes: list[Tensor] = []
    for along, distance in zip(axes, apart, strict=True):
        length = x.shape[along]
        if length < 2:
            raise wrong("gradient", "f", f"of at least 2 elements along axis {along}", x)
        if isinstance(distance, (tuple, list)) or (isinstance(distance, Tensor) and distance.ndim):
            raise NotImplementedError("For 'gradient', distances that differ along an axis are not supported, as in MindSpore: "
                                      "give one number for an axis.")
        steps = _steps(x, along)
        first, last = _part(steps, along, 0, 1), _part(steps, along, length - 2, length - 1)
        middle = (_part(x, along, 2, length) - _part(x, along, 0, length - 2)) * 0.5
        slopes.append(parts.concat((first, middle, last), along) / distance)
    return slopes[0] if len(slopes) == 1 else slopes


def unwrap(p: Any, discont: Any = pi, axis: Any = -1) -> Tensor:
    """Return angles along an axis, with multiples of 2 pi added so that none differs from its predecessor by more than `discont`, at least
    pi.

    The result is Float32, or Float64 for Float64 arrays.
    """
    if isinstance(discont, bool) or not isinstance(discont, (int, float)):
        raise wrong("unwrap", "discont", "a number", repr(discont), TypeError)
    x = real_array_like("unwrap", p, "p")
    x = x if x.dtype is F64 else x.astype(F32, copy=False)
    along = axis_argument("unwrap", axis, x.ndim)
    step = _steps(x, along)
    within = arithmetic.mod(step + pi, 2.0 * pi) - pi
    within = arithmetic.where(arithmetic.logical_and(arithmetic.equal(within, -pi), step > 0), pi, within)
    correction = arithmetic.where(arithmetic.abs(step) < discont, 0.0, within - step)
    rest = _part(x, along, 1, x.shape[along]) + reduction.cumsum(correction, along)
    return parts.concat((_part(x, along, 0, 1), rest), along)
