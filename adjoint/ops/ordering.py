"""Order: sorting, the largest few, the median."""

from __future__ import annotations

from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.sort import Sort
from adjoint.ir.types import I32, I64
from adjoint.ops.arguments import axis_argument, flag, integer, operand, wrong
from adjoint.ops.parts import slice
from adjoint.ops.shapes import squeeze, swapaxes
from adjoint.runtime.tensor.tensor import Tensor, apply, constant

__all__ = ["argsort", "median", "sort", "top_k", "topk"]


def sort(input_x: Any, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Return the elements in order along an axis, equal ones in their original order, and their indices (Int32).

    NaN counts as the largest, 0.0 and -0.0 as equal.
    """
    x = operand("Sort", input_x, "input_x")
    along = axis_argument("Sort", axis, x.ndim)
    op = made(Sort, flag("Sort", "descending", descending))
    if x.ndim == 0:
        return x, constant(0, I32)
    if along == x.ndim - 1:
        return apply(op, x)
    values, places = apply(op, swapaxes(x, along, -1))
    return swapaxes(values, along, -1), swapaxes(places, along, -1)


def topk(input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the `k` largest (or smallest) elements along an axis, and their indices (Int32).

    sorted  whether they are in order; otherwise in any order, which here is the same
    """
    x = operand("TopK", input)
    flag("TopK", "sorted", sorted)
    along = axis_argument("TopK", -1 if dim is None else dim, x.ndim, "dim")
    count = integer("TopK", "k", k)
    if not 0 <= count <= (x.shape[along] if x.ndim else 1):
        raise wrong("TopK", "k", f"in 0..{x.shape[along] if x.ndim else 1}", count)
    values, places = sort(x, along, descending=flag("TopK", "largest", largest))
    if x.ndim == 0:
        return values, places
    size = tuple(count if a == along else d for a, d in enumerate(x.shape))
    begin = (0,) * x.ndim
    return slice(values, begin, size), slice(places, begin, size)


def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the `k` largest elements along the last axis, and their indices (Int32); `sorted` as for `topk`."""
    return topk(input_x, k, sorted=sorted)


def median(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the median element along an axis, the smaller of two, and its index (Int64)."""
    x = operand("Median", input)
    along = axis_argument("Median", axis, x.ndim)
    values, places = sort(x, along)
    if x.ndim:
        begin = tuple((d - 1) // 2 if a == along else 0 for a, d in enumerate(x.shape))
        size = tuple(1 if a == along else d for a, d in enumerate(x.shape))
        values, places = slice(values, begin, size), slice(places, begin, size)
        if not flag("Median", "keepdims", keepdims):
            values, places = squeeze(values, along), squeeze(places, along)
    return values, apply(made(Cast, I64), places)


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Tensor:
    """Return the indices (Int32) that sort an axis."""
    return sort(input, axis, descending)[1]
