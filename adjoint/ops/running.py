"""Along an axis: cumulative extremes, differences of neighbours, areas.

Raise TypeError if the input is not a Tensor or the axis not an int, ValueError if an axis or a size is out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.cumulative import CumMax, CumMin
from adjoint.ir.types import BOOL, F32, F64, I32, I64, U16, U32, U64
from adjoint.ops.arguments import ArgumentMistake, axis_argument, dimension, float_only, floating, integer, operand, wrong
from adjoint.ops.creation import filled
from adjoint.ops.parts import concat, flip, narrow
from adjoint.ops.reduction import sum
from adjoint.ops.shapes import reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["cummax", "cummin", "diff", "diff_ext", "trapz"]

# Extremes ------------------------------------------------------------------------------------------------------------


def cumulative_extreme(op: str, input: Any, axis: Any, argument: str, *, largest: bool) -> tuple[Tensor, Tensor]:
    """Return the cumulative extreme along an axis, the last of equal ones, with indices (Int64)."""
    x = operand(op, input)
    if x.dtype is BOOL:
        raise wrong(op, "input", "a Tensor of numbers", x, TypeError)
    along = axis_argument(op, axis, x.ndim, argument)
    if x.ndim == 0:
        return x, constant(0, I64)
    values, places = apply(made(CumMax if largest else CumMin, along), x)
    return values, places


@fusible
def cummax(input: Any, axis: Any) -> tuple[Tensor, Tensor]:
    """Return the largest element so far along an axis, the last of equal ones, and its index (Int64)."""
    return cumulative_extreme("Cummax", input, axis, "axis", largest=True)


@fusible
def cummin(input: Any, axis: Any) -> tuple[Tensor, Tensor]:
    """Return the smallest element so far along an axis, the last of equal ones, and its index (Int32)."""
    values, places = cumulative_extreme("Cummin", input, axis, "axis", largest=False)
    return values, places.astype(I32)


def from_an_end(x: Tensor, along: int, rule: Callable[[Tensor], Tensor], neutral: float, exclusive: bool, reverse: bool) -> Tensor:
    """Return a cumulative result along an axis: `exclusive` without each element itself, `reverse` from the end."""
    if reverse:
        x = flip(x, along)
    found = rule(x)
    if exclusive and x.shape[along]:
        ends = tuple(1 if a == along else d for a, d in enumerate(x.shape))
        first = filled("Cumulative", ends, neutral if x.dtype.is_float else int(neutral), x.dtype)
        found = concat((first, narrow(found, along, 0, x.shape[along] - 1)), along)
    return flip(found, along) if reverse else found


# Differences ---------------------------------------------------------------------------------------------------------


def _differences(x: Tensor, along: int, times: int) -> Tensor:
    for _ in range(times):
        rest = x.shape[along] - 1 if x.shape[along] else 0
        x = narrow(x, along, 1 if x.shape[along] else 0, rest) - narrow(x, along, 0, rest)
    return x


def _extended(op: str, x: Tensor, along: int, prepend: Any, append: Any) -> Tensor:
    ends = [[] if end is None else [operand(op, end, name)] for name, end in (("prepend", prepend), ("append", append))]
    return concat((*ends[0], x, *ends[1]), along) if ends[0] or ends[1] else x


@fusible
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Return the differences of neighbours along an axis, after prepending and appending Tensors.

    n  1; raise RuntimeError for another number, for which there is `diff_ext`
    """
    given = operand("Diff", x, "x")
    if given.ndim == 0:
        raise wrong("Diff", "x", "of at least 1 dimension", given, TypeError)
    if given.dtype in (U16, U32, U64):
        raise wrong("Diff", "x", "a Tensor of another dtype than UInt16, UInt32 and UInt64", given, TypeError)
    if not given.size:
        raise wrong("Diff", "x", "of at least 1 element", given)
    if integer("Diff", "n", n) != 1:
        raise wrong("Diff", "n", "1; `ops.diff_ext` takes other numbers", n, RuntimeError)
    along = axis_argument("Diff", axis, given.ndim)
    return _differences(_extended("Diff", given, along, prepend, append), along, 1)


@fusible
def diff_ext(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Return the differences of neighbours along an axis, `n` times, after prepending and appending Tensors."""
    x = operand("Diff", input)
    along, times = dimension("Diff", dim, x, "dim"), integer("Diff", "n", n)
    if times < 0:
        raise wrong("Diff", "n", "at least 0", times, ArgumentMistake)
    if times == 0:
        return x
    extended = _extended("Diff", x, along, prepend, append)
    return _differences(extended, along, min(times, extended.shape[along]))


@fusible
def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Return the integral along an axis by the trapezoidal rule; of integers in Float32.

    x   the positions of the points: a Tensor of one axis, or one that broadcasts with `y`; by default they are `dx` apart
    """
    heights = floating(operand("Trapz", y, "y"))
    apart, along = float_only("Trapz", "dx", dx), dimension("Trapz", dim, heights, "dim", "y")
    rest = max(heights.shape[along] - 1, 0)
    both = narrow(heights, along, heights.shape[along] - rest, rest) + narrow(heights, along, 0, rest)
    if x is None:
        return sum(both, along) * (apart / 2.0)
    places = operand("Trapz", x, "x").astype(F64 if heights.dtype is F64 else F32, copy=False)
    if places.ndim == 1:
        places = reshape(places, tuple(-1 if a == along else 1 for a in range(heights.ndim)))
    elif places.ndim != heights.ndim:
        raise wrong("Trapz", "x", f"of 1 or {heights.ndim} dimensions", places)
    if places.shape[along] != heights.shape[along]:
        raise wrong("Trapz", "x", f"of the size of 'y' along axis {along}, {heights.shape[along]}", places)
    return sum(both * _differences(places, along, 1), along) / 2.0
