"""Methods of Tensor that write it at indices or at random, and return it; and `unique`.

Indices are tensors of integers.  Several elements at one position are written in the order of the indices, so the last remains.  Raise
TypeError for what is not a Tensor, ValueError for shapes that do not fit, IndexMistake (an IndexError and a RuntimeError) for an index
out of range.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.op import made
from adjoint.ir.ops.sort import Sort
from adjoint.ir.types import BOOL, I64
from adjoint.ops import arithmetic, creation, ordering, picking, random_numbers, scattering
from adjoint.ops.arguments import axis_argument, choice, dimension, flag, float_tensor, number, operand, real, wrong
from adjoint.ops.generated import log1p
from adjoint.ops.parts import slice as part
from adjoint.ops.picking import index_check, indices_argument
from adjoint.ops.shapes import broadcast_to, moveaxis, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.generator import Generator, stream_of
from adjoint.runtime.tensor.random import drawn_from
from adjoint.runtime.tensor.run_time_checks import checked_on_host, needs_values
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = ["bernoulli_", "exponential_", "fill_diagonal", "fill_diagonal_", "index_add_", "index_copy_", "index_fill_", "put_",
           "scatter_", "scatter_add_", "uniform", "unique"]

_ABSENT: Any = object()


def _written(x: Tensor, value: Tensor) -> Tensor:
    x.overwrite(value)
    return x


def _source(op: str, x: Tensor, index: Tensor, src: Any, argument: str) -> Tensor:
    """Return the elements to write at indices: the first ones of `src` along each axis, or a number everywhere."""
    if not isinstance(src, Tensor) or (src.ndim == 0 and index.ndim):
        filling = src.astype(x.dtype, copy=False) if isinstance(src, Tensor) else arithmetic.cast(number(op, argument, src), x.dtype)
        return broadcast_to(filling, index.shape)
    if src.dtype is not x.dtype:
        raise wrong(op, argument, f"of the dtype of the tensor, {x.dtype}", src, TypeError)
    if src.ndim != index.ndim or any(size > most for size, most in zip(index.shape, src.shape, strict=True)):
        raise wrong(op, argument, f"at least as large as 'index', {index.shape}", src)
    return src if src.shape == index.shape else part(src, (0,) * src.ndim, index.shape)


# At indices ----------------------------------------------------------------------------------------------------------


def scatter_(self: Any, dim: int, index: Any, src: Any = _ABSENT, *, reduce: str | None = None, value: Any = _ABSENT) -> Tensor:
    """Write the elements of `src` at their own positions, but with the index as coordinate along an axis; return the tensor.

    src     of the dtype of the tensor, and along no axis smaller than `index`; or a number, which may be called `value`
    reduce  "add" or "multiply": the element there and the new one are added or multiplied
    """
    op = "Tensor.scatter_"
    x, places = operand(op, self, "self"), indices_argument(op, "index", index)
    if (src is _ABSENT) == (value is _ABSENT):
        raise TypeError(f"For '{op}', the argument 'src' or 'value' must be given, and not both.")
    kind = "update" if reduce is None else {"add": "add", "multiply": "mul"}[choice(op, "reduce", reduce, ("add", "multiply"))]
    if not places.size:
        return x
    new = _source(op, x, places, value if src is _ABSENT else src, "value" if src is _ABSENT else "src")
    return _written(x, scattering.by_elements(op, kind, x, dim, places, new))


def scatter_add_(self: Any, dim: int, index: Any, src: Any) -> Tensor:
    """Add the elements of `src` at their own positions, but with the index as coordinate along an axis; return the tensor.

    src  of the dtype of the tensor, and along no axis smaller than `index`
    """
    op = "Tensor.scatter_add_"
    x, places = operand(op, self, "self"), indices_argument(op, "index", index)
    new = _source(op, x, places, operand(op, src, "src"), "src")
    return _written(x, scattering.by_elements(op, "add", x, dim, places, new)) if places.size else x


def index_add_(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """Add the slices of another tensor along an axis, times `alpha`, where indices [k] say; return the tensor."""
    op = "Tensor.index_add_"
    x, new, factor = operand(op, self, "self"), operand(op, source, "source"), number(op, "alpha", alpha)
    scaled = new if factor == 1 else (new * factor).astype(new.dtype, copy=False)
    return _written(x, scattering.index_add(x.copy(), index, scaled, dim))


def index_copy_(self: Any, dim: int, index: Any, tensor: Any) -> Tensor:
    """Write the slices of another tensor along an axis where indices [k] say; return the tensor."""
    op = "Tensor.index_copy_"
    x, places, new = operand(op, self, "self"), indices_argument(op, "index", index), operand(op, tensor, "tensor")
    along = dimension(op, dim, x, "dim", "self")
    wanted = (*x.shape[:along], places.size, *x.shape[along + 1 :])
    if places.ndim > 1 or new.shape != wanted:
        raise wrong(op, "tensor", f"of shape {wanted}, for an index of 1 dimension", new)
    if new.dtype is not x.dtype:
        raise wrong(op, "tensor", f"of the dtype of the tensor, {x.dtype}", new, TypeError)
    if not new.size:
        return x
    rows = _counted(op, reshape(places, (-1,)), x.shape[along])
    return _written(x, moveaxis(scattering.put("update", moveaxis(x, along, 0), rows, moveaxis(new, along, 0)), 0, along))


def index_fill_(self: Any, dim: int, index: Any, value: Any) -> Tensor:
    """Fill the slices along an axis at the indices, a vector or a Tensor without dimensions, with one number; return the tensor."""
    x = operand("Tensor.index_fill_", self, "self")
    filling = value.astype(x.dtype, copy=False) if isinstance(value, Tensor) else value
    return _written(x, scattering.index_fill(x, dim, index, filling))


def put_(self: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """Write as many elements as there are indices where these say in the flattened tensor; return the tensor.

    accumulate  True: add them to those there
    """
    op = "Tensor.put_"
    x, places, new = operand(op, self, "self"), indices_argument(op, "index", index), operand(op, source, "source")
    kind = "add" if flag(op, "accumulate", accumulate) else "update"
    if new.dtype is not x.dtype:
        raise wrong(op, "source", f"of the dtype of the tensor, {x.dtype}", new, TypeError)
    if new.size != places.size:
        raise wrong(op, "source", f"of {places.size} elements, one for each index", new)
    if not places.size:
        return x
    rows = _counted(op, reshape(places, (-1,)), x.size)
    return _written(x, reshape(scattering.put(kind, reshape(x, (-1,)), rows, reshape(new, (-1,))), x.shape))


def _counted(op: str, places: Tensor, length: int) -> Tensor:
    """Return indices of -length..length-1, counted from the begin."""
    checked_on_host(index_check(op, "index", -length, length), places)
    rows = places.astype(I64, copy=False)
    return arithmetic.where(rows < 0, rows + length, rows)


# On the diagonal -----------------------------------------------------------------------------------------------------


@fusible
def fill_diagonal(self: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """Return the tensor with one number where all coordinates are equal.

    wrap  True: the diagonal of a matrix with more rows than columns begins anew below each square, a row apart

    ValueError for fewer than 2 axes, and for more whose sizes differ.
    """
    op = "Tensor.fill_diagonal"
    x, again = operand(op, self, "self"), flag(op, "wrap", wrap)
    filling = arithmetic.cast(number(op, "fill_value", fill_value), x.dtype)
    if x.ndim < 2:
        raise wrong(op, "self", "of at least 2 dimensions", x)
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise wrong(op, "self", "a matrix, or of one size along all axes", x)
    if x.ndim == 2 and not (again and x.shape[0] > x.shape[1]):
        return arithmetic.select(creation.eye(*x.shape, dtype=BOOL), filling, x)
    # The coordinates are equal every `step` elements; a wrapped diagonal goes on at that pace.
    step = sum(math.prod(x.shape[axis + 1 :]) for axis in range(x.ndim))
    chosen = Tensor((np.arange(x.size) % step == 0).reshape(x.shape))
    return arithmetic.select(chosen, filling, x)


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one number where all coordinates are equal, as `fill_diagonal` does; return the tensor."""
    return _written(self, fill_diagonal(self, fill_value, wrap))


# At random -----------------------------------------------------------------------------------------------------------


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Write 1 with probability `p`, else 0; `p` is a number or a Tensor of floats that broadcasts.  Return the tensor."""
    with drawn_from(stream_of("Tensor.bernoulli_", generator)):
        return _written(self, random_numbers.bernoulli(self, p))


def exponential_(self: Any, lambd: Any = 1, *, generator: Generator | None = None) -> Tensor:
    """Write numbers of the density lambd exp(-lambd x); return the tensor, which must be of floats.

    ValueError for a `lambd` that is not above 0.
    """
    op = "Tensor.exponential_"
    x, rate = float_tensor(op, self, "self"), real(op, "lambd", lambd)
    if not rate > 0:
        raise wrong(op, "lambd", "above 0", lambd)
    with drawn_from(stream_of(op, generator)):
        # The quantile of a uniform number below 1.
        return _written(x, (log1p(-random_numbers.uniform(x.shape, 0.0, 1.0)) / -rate).astype(x.dtype, copy=False))


def uniform(self: Any, from_: Any = 0.0, to: Any = 1.0, generator: Generator | None = None) -> Tensor:
    """Return uniformly random numbers from `from_` to `to`, exclusive, in the shape and dtype of a tensor of floats."""
    op = "Tensor.uniform"
    x, low, high = float_tensor(op, self, "self"), real(op, "from_", from_), real(op, "to", to)
    if low > high:
        raise wrong(op, "from_", f"at most 'to', {high}", low)
    with drawn_from(stream_of(op, generator)):
        return random_numbers.uniform(x.shape, low, high, None, x.dtype)


# Distinct ------------------------------------------------------------------------------------------------------------


def unique(self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """Return the distinct elements, or slices along an axis, in ascending order.

    sorted          has no meaning: they are always in order
    return_inverse  return also for each element, or slice, its index among them (Int64)
    return_counts   return also how often each occurs (Int64)
    dim             the axis; None: the flattened tensor.  With an axis it cannot be called in a graph
    """
    op = "Tensor.unique"
    x, inverted, counted = operand(op, self, "self"), flag(op, "return_inverse", return_inverse), flag(op, "return_counts", return_counts)
    flag(op, "sorted", sorted)
    if dim is None:
        line, order = apply(made(Sort, False), reshape(x, (-1,)))
        found, number_, counts = picking.unique_consecutive(line, True, True)
        back = ordering.sort(order)[1]
        inverse = reshape(picking.gathered(op, number_, back, 0), x.shape)
    else:
        along = axis_argument(op, dim, x.ndim, "dim")
        needs_values(op, "it has as many slices as there are different ones")
        rows = moveaxis(x, along, 0)
        table = rows.asnumpy().reshape(rows.shape[0], math.prod(rows.shape[1:]))
        _, first, place, often = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
        found = moveaxis(picking.gathered(op, rows, Tensor(first, I64), 0), 0, along)
        inverse, counts = Tensor(place.reshape(-1), I64), Tensor(often, I64)
    out = (found, *((inverse,) if inverted else ()), *((counts,) if counted else ()))
    return out if len(out) > 1 else found
