"""Shapes: the same elements in other forms.

Axes may be negative.  Raise TypeError for what is not a Tensor or no int, ValueError for axes and sizes that do not fit.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops import complex as complex_numbers
from adjoint.ir.ops import indexing
from adjoint.ir.ops.conversion import Cast
from adjoint.ir.ops.cumulative import CumSum
from adjoint.ir.ops.shape import Broadcast, Reshape, Transpose
from adjoint.ir.ops.sort import SearchSorted
from adjoint.ir.ops.sums import Sum
from adjoint.ir.types import I64, TensorType, broadcast_shapes, tensor
from adjoint.ops.arguments import (
    axes_argument,
    axis_argument,
    choice,
    dimension,
    integer,
    operand,
    sizes_argument,
    wrong,
)
from adjoint.runtime.memory.op_plans import check_fits
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host
from adjoint.runtime.tensor.sizes_of_values import decides_later, numbers_up_to
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "adjoint", "broadcast_to", "expand", "expand_as", "expand_dims", "flatten", "moveaxis", "movedim", "numel", "permute", "rank", "ravel",
    "repeat_elements", "repeat_interleave", "reshape", "shape", "size", "squeeze", "swapaxes", "swapdims", "t", "tile", "transpose",
    "unsqueeze", "view_as",
]

# Questions -----------------------------------------------------------------------------------------------------------


def shape(input_x: Any) -> tuple[int, ...]:
    """Return the shape, a tuple of ints."""
    return operand("Shape", input_x, "input_x").shape


def rank(input_x: Any) -> int:
    """Return the number of axes."""
    return operand("Rank", input_x, "input_x").ndim


def size(input_x: Any) -> int:
    """Return the number of elements."""
    return operand("Size", input_x, "input_x").size


def numel(input: Any) -> int:
    """Return the number of elements."""
    return operand("Size", input).size


# Other forms of the same elements ------------------------------------------------------------------------------------


@fusible
def reshape(input: Any, shape: Any) -> Tensor:
    """Return the elements in row-major order in another shape; one size may be -1, which is inferred.

    shape  tuple or list of ints, or an integer Tensor
    """
    x = operand("Reshape", input)
    if not isinstance(shape, (tuple, list, Tensor)):
        raise wrong("Reshape", "shape", "a tuple of ints", shape if not isinstance(shape, str) else repr(shape), TypeError)
    return apply(made(Reshape, reshaped(x, sizes_argument("Reshape", "shape", shape, least=None), "Reshape")), x)


def reshaped(x: Tensor, sizes: tuple[int, ...], op: str) -> TensorType:
    """Return the type of `x` in a shape in which one size may be -1."""
    unknown = sizes.count(-1)
    if unknown > 1 or any(size < -1 for size in sizes):
        raise wrong(op, "shape", "sizes of at least 0, one of which may be -1", sizes)
    known = math.prod(size for size in sizes if size != -1)
    if unknown:
        if not known or x.size % known:
            raise wrong(op, "shape", f"a shape of {x.size} elements", sizes)
        sizes = tuple(x.size // known if size == -1 else size for size in sizes)
    elif known != x.size:
        raise wrong(op, "shape", f"a shape of {x.size} elements", sizes)
    return tensor(x.dtype, sizes)


@fusible
def view_as(input: Any, other: Any) -> Tensor:
    """Return the elements in row-major order in the shape of `other`."""
    return reshape(input, operand("ViewAs", other, "other").shape)


@fusible
def ravel(input: Any) -> Tensor:
    """Return the elements in row-major order along one axis."""
    return reshape(operand("Ravel", input), (-1,))


@fusible
def flatten(input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Merge the axes from `start_dim` to `end_dim` into one; `order` "F" reads them in column-major order."""
    x = operand("Flatten", input)
    if choice("Flatten", "order", order, ("c", "f")) == "f" and x.ndim > 1:
        x = transpose(x, tuple(reversed(range(x.ndim))))
    if x.ndim < 2 and start_dim == 1 and end_dim == -1:
        return reshape(x, (-1,))
    return joined("Flatten", x, start_dim, end_dim)


def joined(op: str, x: Tensor, start_dim: Any, end_dim: Any) -> Tensor:
    """Merge the axes from `start_dim` to `end_dim` into one; a tensor without dimensions gets one axis."""
    first, last = axis_argument(op, start_dim, x.ndim, "start_dim"), axis_argument(op, end_dim, x.ndim, "end_dim")
    if first > last:
        raise wrong(op, "start_dim", f"not behind end_dim, axis {last}", start_dim)
    sizes = x.shape or (1,)
    return apply(made(Reshape, tensor(x.dtype, (*sizes[:first], math.prod(sizes[first : last + 1]), *sizes[last + 1 :]))), x)


@fusible
def transpose(input: Any, dims: Any) -> Tensor:
    """Return the axes in another order: axis i of the result is axis dims[i] of the input."""
    x = operand("Transpose", input)
    if not isinstance(dims, (tuple, list, Tensor)):
        raise wrong("Transpose", "dims", "a tuple of ints", dims, TypeError)
    places = sizes_argument("Transpose", "dims", dims, least=None)
    if len(places) != x.ndim:
        raise wrong("Transpose", "dims", f"{x.ndim} axes", places)
    order = tuple(axis_argument("Transpose", place, x.ndim, "dims") for place in places)
    if len(set(order)) != len(order):
        raise wrong("Transpose", "dims", "axes without repetition", places)
    return apply(made(Transpose, order), x)


@fusible
def permute(input: Any, axis: Any) -> Tensor:
    """Return the axes in another order: axis i of the result is axis axis[i] of the input."""
    return transpose(input, axis)


@fusible
def swapaxes(input: Any, axis0: int, axis1: int) -> Tensor:
    """Exchange two axes."""
    x = operand("SwapAxes", input)
    first, second = axis_argument("SwapAxes", axis0, x.ndim, "axis0"), axis_argument("SwapAxes", axis1, x.ndim, "axis1")
    order = list(range(x.ndim))
    if order:
        order[first], order[second] = second, first
    return apply(made(Transpose, tuple(order)), x)


@fusible
def conjugate_transpose(x: Any, perm: Any) -> Tensor:
    """Return the tensor with its axes in another order, complex numbers conjugate; `perm` as for `transpose`."""
    turned = transpose(operand("ConjugateTranspose", x, "x"), perm)
    return apply(made(complex_numbers.Conjugate), turned) if turned.dtype.is_complex else turned


@fusible
def adjoint(x: Any) -> Tensor:
    """Return the matrices (..., n, m) transposed, and complex ones conjugate; ValueError for a tensor of fewer than two axes."""
    given = operand("Adjoint", x, "x")
    if given.ndim < 2:
        raise wrong("Adjoint", "x", "of at least 2 dimensions", given)
    turned = swapaxes(given, -1, -2)
    return apply(made(complex_numbers.Conjugate), turned) if given.dtype.is_complex else turned


@fusible
def swapdims(input: Any, dim0: int, dim1: int) -> Tensor:
    """Exchange two axes."""
    return swapaxes(input, dim0, dim1)


@fusible
def t(input: Any) -> Tensor:
    """Return the transposed matrix; a tensor of one axis or none unchanged."""
    x = operand("T", input)
    if x.ndim > 2:
        raise wrong("T", "input", "of at most 2 dimensions", x)
    return apply(made(Transpose, tuple(reversed(range(x.ndim)))), x)


@fusible
def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Move the axes `source` to the positions `destination`; the others keep their order."""
    x = operand("MoveAxis", x, "x")
    sources, places = (
        [axis_argument("MoveAxis", a, x.ndim, name) for a in sizes_argument("MoveAxis", name, axes, least=None)]
        for name, axes in (("source", source), ("destination", destination)))
    if len(sources) != len(places) or len(set(sources)) != len(sources) or len(set(places)) != len(places):
        raise wrong("MoveAxis", "destination", f"{len(sources)} axes without repetition", destination)
    order = [a for a in range(x.ndim) if a not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return apply(made(Transpose, tuple(order)), x)


@fusible
def movedim(x: Any, source: Any, destination: Any) -> Tensor:
    """As `moveaxis`."""
    return moveaxis(x, source, destination)


@fusible
def expand_dims(input_x: Any, axis: Any) -> Tensor:
    """Insert an axis of 1 at `axis`; a tuple for several, one after the other."""
    x = operand("ExpandDims", input_x, "input_x")
    for a in sorted(axis) if isinstance(axis, (tuple, list)) else (axis,):
        place = integer("ExpandDims", "axis", a)
        if not -x.ndim - 1 <= place <= x.ndim:
            raise wrong("ExpandDims", "axis", f"in [{-x.ndim - 1}, {x.ndim + 1})", place)
        place %= x.ndim + 1
        x = apply(made(Reshape, tensor(x.dtype, (*x.shape[:place], 1, *x.shape[place:]))), x)
    return x


@fusible
def unsqueeze(input: Any, dim: int) -> Tensor:
    """Insert an axis of 1 at `dim`."""
    return expand_dims(input, dim)


@fusible
def squeeze(input: Any, axis: Any = None) -> Tensor:
    """Remove the axes of 1, or those of `axis` that are 1."""
    x = operand("Squeeze", input)
    if isinstance(axis, tuple) and not axis:
        axis = None
    axes = axes_argument("Squeeze", axis, x.ndim)
    return apply(made(Reshape, tensor(x.dtype, (d for a, d in enumerate(x.shape) if d != 1 or a not in axes))), x)


@fusible
def broadcast_to(input: Any, shape: Any) -> Tensor:
    """Return the elements broadcast along new axes and along axes of 1; a size of -1 is that of the input."""
    x = operand("BroadcastTo", input)
    if not isinstance(shape, (tuple, list, Tensor)):
        raise wrong("BroadcastTo", "shape", "a tuple of ints", shape, TypeError)
    sizes = sizes_argument("BroadcastTo", "shape", shape, least=-1)
    lead = len(sizes) - x.ndim
    if lead < 0 or -1 in sizes[:lead]:
        raise wrong("BroadcastTo", "shape", f"sizes that {x.shape} broadcasts to", sizes)
    target = tuple(x.shape[a - lead] if size == -1 else size for a, size in enumerate(sizes))
    try:
        fits = broadcast_shapes(x.shape, target) == target
    except ValueError:
        fits = False
    if not fits:
        raise wrong("BroadcastTo", "shape", f"sizes that {x.shape} broadcasts to", sizes)
    return apply(made(Broadcast, tensor(x.dtype, target)), x)


@fusible
def expand(input_x: Any, size: Any) -> Tensor:
    """As `broadcast_to`."""
    return broadcast_to(input_x, size)


@fusible
def expand_as(input: Any, other: Any) -> Tensor:
    """Return the elements broadcast to the shape of `other`."""
    return broadcast_to(input, operand("ExpandAs", other, "other").shape)


# Repetition ----------------------------------------------------------------------------------------------------------


@fusible
def tile(input: Any, dims: Any) -> Tensor:
    """Return the tensor repeated dims[i] times along axis i; a shorter tuple counts from the last axis."""
    x = operand("Tile", input)
    if not isinstance(dims, (tuple, list, Tensor)):
        raise wrong("Tile", "dims", "a tuple of ints", dims, TypeError)
    times = sizes_argument("Tile", "dims", dims)
    sizes = (*(1,) * (len(times) - x.ndim), *x.shape)
    times = (*(1,) * (len(sizes) - len(times)), *times)
    # Each axis of d, repeated n times, is n copies along an axis of its own before it.
    split: list[int] = []
    spread: list[int] = []
    for n, d in zip(times, sizes, strict=True):
        if n != 1:
            split.append(1)
            spread.append(n)
        split.append(d)
        spread.append(d)
    result = tensor(x.dtype, (n * d for n, d in zip(times, sizes, strict=True)))
    if len(spread) == len(sizes):
        return apply(made(Reshape, result), x)
    parted = apply(made(Reshape, tensor(x.dtype, split)), x)
    return apply(made(Reshape, result), apply(made(Broadcast, tensor(x.dtype, spread)), parted))


@fusible
def repeat_elements(x: Any, rep: int, axis: int = 0) -> Tensor:
    """Each element repeated `rep` times along an axis."""
    return repeat_interleave(x, integer("RepeatElements", "rep", rep), axis)


@fusible
def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element repeated, all as often or each as `repeats` says, along an axis; without one, of the flattened tensor."""
    x = operand("RepeatInterleave", input)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    along = dimension("RepeatInterleave", axis, x)
    length = x.shape[along]
    if decides_later(repeats):
        if repeats.dtype.is_float or repeats.ndim > 1:
            raise wrong("RepeatInterleave", "repeats", "a tuple of ints", repeats, TypeError)
        checked_on_host(RangeCheck(Range(0, 2**62), _check_repeats), repeats)
        if repeats.size != 1:
            return _each_repeated(x, repeats, along)
        times: tuple[Any, ...] = (_up_to_repeats(apply(made(Reshape, tensor(repeats.dtype, ())), repeats)).shape[0],)
    else:
        times = sizes_argument("RepeatInterleave", "repeats", repeats)
    if len(times) == 1:
        before, after = x.shape[:along], x.shape[along + 1 :]
        result = tensor(x.dtype, (*before, length * times[0], *after))
        if result.is_static:
            check_fits("RepeatInterleave", result)
        parted = apply(made(Reshape, tensor(x.dtype, (*before, length, 1, *after))), x)
        return apply(made(Reshape, result), apply(made(Broadcast, tensor(x.dtype, (*before, length, times[0], *after))), parted))
    if len(times) != length:
        raise wrong("RepeatInterleave", "repeats", f"one number or {length}", times)
    result = tensor(x.dtype, (*x.shape[:along], builtins.sum(times), *x.shape[along + 1 :]))
    check_fits("RepeatInterleave", result)
    return apply(made(indexing.Gather, along), x, Tensor(np.repeat(np.arange(length), times)))


def _check_repeats(repeats: Tensor, _: Range) -> None:
    sizes_argument("RepeatInterleave", "repeats", repeats)


def _up_to_repeats(count: Tensor) -> Tensor:
    why = "each element is there as often as a tensor says"
    return numbers_up_to("RepeatInterleave", why, apply(made(Cast, I64), count))


def _each_repeated(x: Tensor, repeats: Tensor, along: int) -> Tensor:
    """Return each element as often as `repeats` says, while a graph is made."""
    if repeats.shape[0] != x.shape[along]:
        raise wrong("RepeatInterleave", "repeats", f"one number or {x.shape[along]}", repeats)
    if not repeats.shape[0]:
        return x
    wide = apply(made(Cast, I64), repeats)
    numbers = _up_to_repeats(apply(made(Sum, (0,)), wide))
    return apply(made(indexing.Gather, along), x, apply(made(SearchSorted, True), apply(made(CumSum, 0), wide), numbers))
