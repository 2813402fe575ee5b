"""Padding of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Gather
from adjoint.ir.types import F64
from adjoint.numpy.conversion import array_like
from adjoint.numpy.picking import apply_along_axis
from adjoint.numpy.spacing import linspace
from adjoint.ops import arithmetic, parts, reduction
from adjoint.ops.arguments import choice, integer, number, wrong
from adjoint.ops.shapes import broadcast_to, reshape
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["pad"]

_MODES = ("constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap")
_STATISTICS: dict[str, Callable[..., Tensor]] = {"maximum": reduction.amax, "minimum": reduction.amin, "mean": reduction.mean}

Pairs = list[tuple[Any, Any]]


def _pairs(argument: str, value: Any, rank: int, read: Callable[[Any], Any]) -> Pairs:
    """Return (before, after) for each axis, from one number for all, a pair for all axes, or a pair for each."""
    given = value.tolist() if isinstance(value, Tensor) else value
    if not isinstance(given, (tuple, list)):
        one = read(given)
        return [(one, one)] * rank
    rows = given if given and all(isinstance(row, (tuple, list)) for row in given) else [given]
    pairs: Pairs = []
    for row in rows:
        numbers = [read(item) for item in row]
        if len(numbers) not in (1, 2):
            raise wrong("pad", argument, f"one number, a pair, or {rank} pairs", repr(value))
        pairs.append((numbers[0], numbers[-1]))
    if len(pairs) not in (1, rank):
        raise wrong("pad", argument, f"one number, a pair, or {rank} pairs", repr(value))
    return pairs * rank if len(pairs) == 1 else pairs


def pad(
    arr: Any, pad_width: Any, mode: Any = "constant", stat_length: Any = None, constant_values: Any = 0, end_values: Any = 0,
    reflect_type: str = "even", **kwargs: Any,
) -> Tensor:
    """Return the array with elements added before and after it along each axis, in the dtype of the array.

    pad_width  how many: one number, a pair (before, after), or a pair for each axis; the other numeric arguments have the same form
    mode       "constant": `constant_values`; "edge": the edge repeated; "linear_ramp": linear from the edge to `end_values`;
               "maximum", "minimum", "mean": of the `stat_length` elements at the edge, or of all; "reflect": mirrored about the edge
               element; "symmetric": mirrored including it; with `reflect_type` "odd", also negated about its value; "wrap": continued from
               the other side; "empty": zeros; or a function of (line, widths, axis, kwargs) that returns each line with its padding.
               NotImplementedError for "median", ValueError for others
    """
    x = array_like("pad", arr, "arr")
    if x.ndim == 0:
        return x
    widths = _pairs("pad_width", pad_width, x.ndim, lambda n: integer("pad", "pad_width", n))
    if any(n < 0 for pair in widths for n in pair):
        raise wrong("pad", "pad_width", "at least 0", repr(pad_width))
    if callable(mode):
        x = parts.framed(x, widths, 0)
        for along, width in enumerate(widths):
            x = apply_along_axis(mode, along, x, width, along, kwargs)
        return x
    if not isinstance(mode, str) or mode not in _MODES:
        raise wrong("pad", "mode", f"a function or one of {list(_MODES)}", repr(mode))
    if mode == "median":
        raise NotImplementedError("For 'pad', the mode 'median' is not supported, as in MindSpore.")
    if mode == "empty":
        return parts.framed(x, widths, 0)
    if mode == "constant":
        return _with_constants(x, widths, _pairs("constant_values", constant_values, x.ndim, lambda v: number("pad", "constant_values", v)))
    lengths = [(None, None)] * x.ndim
    if stat_length is not None:
        lengths = _pairs("stat_length", stat_length, x.ndim, lambda n: integer("pad", "stat_length", n))
    ends = _pairs("end_values", end_values, x.ndim, lambda v: number("pad", "end_values", v))
    odd = choice("pad", "reflect_type", reflect_type, ("even", "odd")) == "odd" and mode in ("reflect", "symmetric")
    for along, width in enumerate(widths):
        if width == (0, 0):
            continue
        if not x.shape[along]:
            raise wrong("pad", "arr", f"with elements along axis {along} for the mode '{mode}'", x)
        if mode in _STATISTICS:
            x = _with_statistics(x, along, width, lengths[along], _STATISTICS[mode])
        elif mode == "linear_ramp":
            x = _with_ramps(x, along, width, ends[along])
        elif odd:
            x = _turned(x, along, width, mode)
        else:
            x = _picked(x, along, _places(mode, x.shape[along], *width))
    return x


def _with_constants(x: Tensor, widths: Sequence[tuple[int, int]], values: Pairs) -> Tensor:
    first = values[0][0]
    if all(value == first for pair in values for value in pair):
        return parts.framed(x, widths, first)
    for along, ((before, after), (low, high)) in enumerate(zip(widths, values, strict=True)):
        only = [(0, 0)] * x.ndim
        only[along] = before, 0
        x = parts.framed(x, only, low)
        only[along] = 0, after
        x = parts.framed(x, only, high)
    return x


def _with_statistics(x: Tensor, along: int, width: tuple[int, int], lengths: tuple[Any, Any], rule: Callable[..., Tensor]) -> Tensor:
    size = x.shape[along]
    before, after = (size if length is None else min(length, size) for length in lengths)
    if min(before, after) < 1:
        raise wrong("pad", "stat_length", "at least 1", lengths)
    low, high = rule(parts.narrow(x, along, 0, before), along, True), rule(parts.narrow(x, along, size - after, after), along, True)
    repeated = (broadcast_to(edge, tuple(n if a == along else d for a, d in enumerate(edge.shape)))
                for edge, n in zip((low, high), width, strict=True))
    first, last = repeated
    return parts.concat((first, x, last), along)


def _with_ramps(x: Tensor, along: int, width: tuple[int, int], ends: tuple[Any, Any]) -> Tensor:
    size = x.shape[along]
    sides: list[Tensor] = []
    for place, count, end in zip((0, size - 1), width, ends, strict=True):
        edge = parts.narrow(x, along, place, 1)
        line = linspace(end, edge.astype(F64, copy=False), count + 1, dtype=F64, axis=along)
        line = reshape(line, tuple(count + 1 if a == along else d for a, d in enumerate(edge.shape)))
        line = parts.narrow(line, along, 0, count).astype(x.dtype, copy=False)
        sides.append(parts.flip(line, along) if place and count else line)
    return parts.concat((sides[0], x, sides[1]), along)


def _places(mode: str, size: int, before: int, after: int) -> np.ndarray[Any, Any]:
    """Return which element is at each position, from `before` positions in front of an axis of `size` to `after` positions behind it."""
    places = np.arange(-before, size + after)
    if mode == "edge":
        return np.clip(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    if mode == "symmetric":
        period = places % (2 * size)
        return np.minimum(period, 2 * size - 1 - period)
    period = places % (2 * (size - 1)) if size > 1 else places * 0
    return np.minimum(period, 2 * (size - 1) - period)


def _picked(x: Tensor, along: int, places: np.ndarray[Any, Any]) -> Tensor:
    return apply(made(Gather, along), x, Tensor(places))


def _turned(x: Tensor, along: int, width: tuple[int, int], mode: str) -> Tensor:
    """Return elements mirrored at the edges and negated about the edge values f and l: 2 l less the mirrored element behind the end, and so
    on.

    Two reflections make one period, after which the elements are larger by 2 (l - f).
    """
    size = x.shape[along]
    mirrored = _picked(x, along, _places(mode, size, *width))
    period = 2 * (size - 1 if mode == "reflect" else size)
    if not period:
        return mirrored
    around, within = np.divmod(np.arange(-width[0], size + width[1]), period)
    line = tuple(-1 if a == along else 1 for a in range(x.ndim))
    first, last = parts.narrow(x, along, 0, 1), parts.narrow(x, along, size - 1, 1)
    turned = arithmetic.where(Tensor((within >= size).reshape(line)), last * 2 - mirrored, mirrored)
    return turned + (last - first) * Tensor(2 * around.reshape(line)).astype(x.dtype)
