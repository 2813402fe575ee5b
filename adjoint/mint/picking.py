"""Selection by index or condition, writing at indices, sorting.  Indices are Int64."""

from __future__ import annotations

import math
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Gather, ScatterAdd
from adjoint.ir.types import BOOL, I32, I64, U8
from adjoint.ops import arithmetic, counts, creation, ordering, parts, picking
from adjoint.ops.arguments import axis_argument, dimension, flag, number, operand, wrong
from adjoint.ops.creation import full_like, zeros_like
from adjoint.ops.picking import index_check, indices_argument, masked_select, nonzero, take
from adjoint.ops.shapes import moveaxis, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import checked_on_host
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor

__all__ = [
    "argsort", "gather", "index_add", "index_select", "masked_select", "nonzero", "scatter", "scatter_add", "searchsorted", "sort", "take",
    "topk", "unique", "unique_consecutive", "where",
]

# Selected ------------------------------------------------------------------------------------------------------------


@fusible
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Return `input` where the condition is true, elsewhere `other`; for a condition alone, the coordinates where it is true, by axis."""
    if input is None and other is None:
        return picking.nonzero(condition, as_tuple=True)
    return arithmetic.where(condition, input, other)


@fusible
def gather(input: Any, dim: int, index: Any) -> Tensor:
    """Return for each index the element at its own position, but with the index as coordinate along `dim`."""
    return picking.gather_elements(input, dim, index)


@fusible
def index_select(input: Any, dim: int, index: Any) -> Tensor:
    """Return the slices along an axis at the given indices."""
    return picking.index_select(input, dim, index)


# Written at indices --------------------------------------------------------------------------------------------------


def _places(op: str, x: Tensor, dim: Any, index: Any) -> Tensor:
    """Return for each index the position of its element in the flattened `x`."""
    indices = indices_argument(op, "index", index)
    along = axis_argument(op, dim, x.ndim, "dim")
    if indices.ndim != x.ndim or any(n > d for a, (n, d) in enumerate(zip(indices.shape, x.shape, strict=True)) if a != along):
        raise wrong(op, "index", f"of rank {x.ndim} and not larger than {x.shape} but along axis {along}", indices)
    checked_on_host(index_check(op, "index", 0, x.shape[along]), indices)
    return picking.flat_places(indices.astype(I64, copy=False), x.shape, along) if x.ndim > 1 else indices.astype(I64, copy=False)


def _source(op: str, x: Tensor, places: Tensor, src: Any) -> Tensor:
    """Return the elements to write: those of `src` at its coordinates, flattened; or a number."""
    if not isinstance(src, Tensor):
        return reshape(full_like(places, number(op, "src", src), dtype=x.dtype), (-1,))
    if src.ndim != places.ndim or any(n > d for n, d in zip(places.shape, src.shape, strict=True)):
        raise wrong(op, "src", f"at least as large as 'index', {places.shape}", src)
    if src.dtype is not x.dtype:
        raise wrong(op, "src", f"of the dtype of 'input', {x.dtype}", src, TypeError)
    return reshape(parts.slice(src, (0,) * src.ndim, places.shape), (-1,))


def _as_rows(*arguments: Any) -> list[Any]:
    """Return the arguments, Tensors without dimensions as rows of one element."""
    return [reshape(x, (1,)) if isinstance(x, Tensor) and x.ndim == 0 else x for x in arguments]


@fusible
def scatter(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """Return `input` with the elements of `src`, or a number, written at the positions that `gather` would read; of equal positions the
    last counts."""
    x = operand("Scatter", input)
    if x.ndim == 0:
        return reshape(scatter(*_as_rows(x, dim, index, src)), ())
    at = _places("Scatter", x, dim, index)
    new, line = _source("Scatter", x, at, src), reshape(at, (-1,))
    if not line.size:
        return x.copy()
    if x.dtype is BOOL:
        new = new.astype(U8)
    # After a stable sort, equal positions are adjacent and in order: the last of them is followed by a different position.
    order, which = ordering.sort(line)
    ends = arithmetic.not_equal(parts.narrow(order, 0, 1, order.size - 1), parts.narrow(order, 0, 0, order.size - 1))
    ends = parts.concat((ends, arithmetic.equal(order[:1], order[:1])), 0)
    chosen = arithmetic.where(ends, apply(made(Gather, 0), new, which), zeros_like(new))
    flat = reshape(x, (-1,))
    put = apply(made(ScatterAdd, 0), zeros_like(flat, dtype=new.dtype), order, chosen).astype(x.dtype, copy=False)
    touched = apply(made(ScatterAdd, 0), zeros_like(flat, dtype=I32), order, ends.astype(I32))
    return reshape(arithmetic.where(touched > 0, put, flat), x.shape)


@fusible
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """Return `input` with the elements of `src` added at the positions that `gather` would read."""
    x = operand("ScatterAdd", input)
    if x.ndim == 0:
        return reshape(scatter_add(*_as_rows(x, dim, index, src)), ())
    at = _places("ScatterAdd", x, dim, index)
    new = _source("ScatterAdd", x, at, operand("ScatterAdd", src, "src"))
    return reshape(apply(made(ScatterAdd, 0), reshape(x, (-1,)), reshape(at, (-1,)), new), x.shape)


@fusible
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """Return `input` with alpha times the slices of `source` along an axis added at the given indices."""
    x, new = operand("IndexAdd", input), operand("IndexAdd", source, "source")
    places, along = indices_argument("IndexAdd", "index", index), dimension("IndexAdd", dim, x, "dim")
    wanted = (*x.shape[:along], places.size, *x.shape[along + 1 :])
    if places.ndim != 1 or new.shape != wanted or new.dtype is not x.dtype:
        raise wrong("IndexAdd", "source", f"of dtype {x.dtype} and shape {wanted}, for an index of one dimension", new)
    checked_on_host(index_check("IndexAdd", "index", 0, x.shape[along]), places)
    new = new if number("IndexAdd", "alpha", alpha) == 1 else new * alpha
    return apply(made(ScatterAdd, along), x, places, new)


# Sorted --------------------------------------------------------------------------------------------------------------


@fusible
def sort(input: Any, *, dim: int = -1, descending: bool = False, stable: bool = False) -> tuple[Tensor, Tensor]:
    """Return the elements in order along an axis, and their indices; the sort is always stable."""
    flag("Sort", "stable", stable)
    values, places = ordering.sort(input, dim, descending)
    return values, places.astype(I64)


@fusible
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Return the indices that sort the elements along an axis."""
    return sort(input, dim=dim, descending=descending, stable=stable)[1]


@fusible
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the `k` largest (or smallest) elements along an axis, in order, and their indices."""
    values, places = ordering.topk(input, k, dim, largest, sorted)
    return values, places.astype(I64)


@fusible
def searchsorted(
    sorted_sequence: Any, values: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Any = None
) -> Tensor:
    """Return where values, a Tensor or a number, would be inserted into ascending rows: see `ops.searchsorted`."""
    return counts.searchsorted(sorted_sequence, as_tensor(values), out_int32=out_int32, right=right, side=side, sorter=sorter)


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the different elements, or slices along an axis, in order, whether `sorted` is set or not.  Each NaN counts as another one.

    return_inverse  return also for each element, or slice, its index in the result
    return_counts   return also how often each occurs
    """
    op = "Unique"
    x, wants = operand(op, input), (flag(op, "return_inverse", return_inverse), flag(op, "return_counts", return_counts))
    flag(op, "sorted", sorted)
    along = 0 if dim is None else dimension(op, dim, x, "dim")
    rows = reshape(x, (-1,)) if dim is None else moveaxis(x, along, 0)
    keys = reshape(rows, (rows.shape[0], math.prod(rows.shape[1:])))
    order = creation.arange(rows.shape[0]).astype(I64)
    for column in range(keys.shape[1] - 1, -1, -1):  # a stable sort by each column, the first one last
        order = order[argsort(keys[:, column][order], stable=True)]
    found, groups, counts_ = picking.unique_consecutive(rows[order], True, True, None if dim is None else 0)
    results: list[Tensor] = [found if dim is None else moveaxis(found, 0, along)]
    if wants[0]:
        inverse = groups[argsort(order)]
        results.append(reshape(inverse, x.shape) if dim is None else inverse)
    if wants[1]:
        results.append(counts_)
    return tuple(results) if len(results) > 1 else results[0]


def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """Return the elements, or slices along an axis, without those equal to their predecessor.

    return_inverse  return also for each element its index in the result
    return_counts   return also the lengths of the runs of equal elements
    """
    return picking.unique_consecutive(input, return_inverse, return_counts, dim)
