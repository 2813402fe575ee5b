"""Writing elements at indices: of tensors, which returns a new one, and of Parameters, which are modified.

Indices may be negative if they count along one axis.  Several updates at one position are applied in the order of the indices.
Raise TypeError for what is not a Tensor, ValueError for shapes that do not fit, IndexMistake (an IndexError and a RuntimeError) for
an index out of range.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from adjoint.ir.op import made
from adjoint.ir.ops.indexing import Iota, ScatterAdd
from adjoint.ir.ops.scatter import Scatter
from adjoint.ir.types import BOOL, I64, TensorType, broadcast_shapes, tensor
from adjoint.ops import reduction as reductions
from adjoint.ops.arguments import (
    ArgumentMistake,
    axis_argument,
    brought_to,
    choice,
    dimension,
    flag,
    integer,
    number,
    operand,
    sizes_argument,
    tensors_argument,
    wrong,
)
from adjoint.ops.arithmetic import cast, where
from adjoint.ops.creation import full_like, zeros
from adjoint.ops.parts import stack
from adjoint.ops.picking import flat_indices, flat_places, gathered, index_check, indices_argument
from adjoint.ops.shapes import broadcast_to, expand_dims, moveaxis, reshape
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.promotion import common_dtype
from adjoint.runtime.tensor.run_time_checks import Range, checked_on_host, explained
from adjoint.runtime.tensor.tensor import Tensor, apply

__all__ = [
    "index_add", "index_fill", "inplace_add", "inplace_index_add", "inplace_sub", "inplace_update", "masked_scatter", "scatter",
    "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd", "scatter_nd_add", "scatter_nd_div",
    "scatter_nd_max", "scatter_nd_min", "scatter_nd_mul", "scatter_nd_sub", "scatter_nd_update", "scatter_sub", "scatter_update",
    "select_scatter", "slice_scatter", "tensor_scatter_add", "tensor_scatter_div", "tensor_scatter_elements", "tensor_scatter_max",
    "tensor_scatter_min", "tensor_scatter_mul", "tensor_scatter_sub", "tensor_scatter_update",
]


def put(kind: str, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """Apply the updates along axis 0, in one of the ways "update", "add", "sub", "max", "min", "mul" and "div"."""
    if kind in ("add", "sub"):
        return apply(made(ScatterAdd, 0), x, places, -updates if kind == "sub" else updates)
    return apply(made(Scatter, kind), x, reshape(places, (-1,)), reshape(updates, (places.size, *x.shape[1:])))


def _check_updates(op: str, updates: Tensor, wanted: TensorType) -> None:
    """Raise TypeError for updates of another dtype, ValueError for another shape."""
    if updates.type is not wanted:
        text = f"of dtype {wanted.dtype} and shape {wanted.sizes}"
        raise wrong(op, "updates", text, updates, TypeError if updates.dtype is not wanted.dtype else ValueError)


def _as_written(x: Tensor, updates: Any) -> Any:
    """Return updates in the dtype of the Parameter that they are written to, if it holds all of their numbers."""
    fits = isinstance(updates, Tensor) and common_dtype(x.dtype, updates.dtype) is x.dtype
    return updates.astype(x.dtype, copy=False) if fits else updates


# By rows of coordinates ----------------------------------------------------------------------------------------------


def _by_coordinates(op: str, kind: str, x: Tensor, indices: Any, updates: Any) -> Tensor:
    rows, new = indices_argument(op, "indices", indices), operand(op, updates, "updates")
    places = flat_indices(op, x, rows)
    depth = rows.shape[-1]
    _check_updates(op, new, tensor(x.dtype, (*rows.shape[:-1], *x.shape[depth:])))
    flat = reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    return reshape(put(kind, flat, places, new), x.shape)


@fusible
def scatter_nd(indices: Any, updates: Any, shape: Any) -> Tensor:
    """Return zeros of a shape with updates added at rows of coordinates [..., n] of its first n axes."""
    new = operand("ScatterNd", updates, "updates")
    return _by_coordinates("ScatterNd", "add", zeros(sizes_argument("ScatterNd", "shape", shape), new.dtype), indices, new)


@fusible
def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return `input_x` with updates at rows of coordinates [..., n] of its first n axes; of several at one position the last remains."""
    return _by_coordinates("TensorScatterUpdate", "update", operand("TensorScatterUpdate", input_x, "input_x"), indices, updates)


@fusible
def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return `input_x` with updates added at rows of coordinates."""
    return _by_coordinates("TensorScatterAdd", "add", operand("TensorScatterAdd", input_x, "input_x"), indices, updates)


@fusible
def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return `input_x` with updates subtracted at rows of coordinates."""
    return _by_coordinates("TensorScatterSub", "sub", operand("TensorScatterSub", input_x, "input_x"), indices, updates)


@fusible
def tensor_scatter_max(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return the larger of `input_x` and the updates at rows of coordinates."""
    return _by_coordinates("TensorScatterMax", "max", operand("TensorScatterMax", input_x, "input_x"), indices, updates)


@fusible
def tensor_scatter_min(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return the smaller of `input_x` and the updates at rows of coordinates."""
    return _by_coordinates("TensorScatterMin", "min", operand("TensorScatterMin", input_x, "input_x"), indices, updates)


@fusible
def tensor_scatter_mul(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return `input_x` multiplied by updates at rows of coordinates."""
    return _by_coordinates("TensorScatterMul", "mul", operand("TensorScatterMul", input_x, "input_x"), indices, updates)


@fusible
def tensor_scatter_div(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return `input_x` divided by updates at rows of coordinates; integers toward zero, by 0 they give 0."""
    return _by_coordinates("TensorScatterDiv", "div", operand("TensorScatterDiv", input_x, "input_x"), indices, updates)


# Along one axis ------------------------------------------------------------------------------------------------------


@fusible
def tensor_scatter_elements(input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none") -> Tensor:
    """Return `input_x` with each update at its own position, but with the index as coordinate along `axis`.

    reduction  "none" replaces the element, "add" adds to it
    """
    op = "TensorScatterElements"
    x, rows, new = operand(op, input_x, "input_x"), indices_argument(op, "indices", indices), operand(op, updates, "updates")
    kind = {"none": "update", "add": "add"}[choice(op, "reduction", reduction, ("none", "add"))]
    return by_elements(op, kind, x, axis, rows, new)


def by_elements(op: str, kind: str, x: Tensor, axis: Any, indices: Tensor, updates: Tensor) -> Tensor:
    """Apply each update at its own position, but with the index as coordinate along an axis, in one of the ways of `put`."""
    along = axis_argument(op, axis, x.ndim)
    if indices.ndim != x.ndim or any(n > d for a, (n, d) in enumerate(zip(indices.shape, x.shape, strict=True)) if a != along):
        raise wrong(op, "indices", f"of rank {x.ndim} and not larger than {x.shape} but along axis {along}", indices)
    _check_updates(op, updates, tensor(x.dtype, indices.shape))
    if x.ndim == 0:
        return reshape(by_elements(op, kind, reshape(x, (1,)), 0, reshape(indices, (1,)), reshape(updates, (1,))), ())
    length = x.shape[along]
    checked_on_host(index_check(op, "indices", -length, length), indices)
    rows = indices.astype(I64, copy=False)
    places = flat_places(where(rows < 0, rows + length, rows), x.shape, along)
    return reshape(put(kind, reshape(x, (-1,)), reshape(places, (-1,)), reshape(updates, (-1,))), x.shape)


@fusible
def scatter(input: Any, axis: int, index: Any, src: Any) -> Tensor:
    """Return `input` with each element of `src` at its own position, but with the index as coordinate along `axis`.

    src  a number stands for a tensor that has it everywhere
    """
    return scattered(input, axis, index, src)


def scattered(input: Any, axis: Any, index: Any, src: Any, reduce: Any = "none") -> Tensor:
    """Return `scatter`, or with `reduce` "add" or "multiply" the sum or the product of the element there and the new ones."""
    kind = {"none": "update", "add": "add", "multiply": "mul"}[choice("Scatter", "reduce", reduce, ("none", "add", "multiply"))]
    x, rows = operand("Scatter", input), indices_argument("Scatter", "index", index)
    new = src if isinstance(src, Tensor) else full_like(rows, number("Scatter", "src", src), dtype=x.dtype)
    return by_elements("Scatter", kind, x, axis, rows, new)


def index_add(x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True) -> Tensor:
    """`x` with the slices of `y` along `axis` added where the indices [k] say; a Parameter is written.

    use_lock, check_index_bound  have no meaning: one operator runs at a time, and indices are checked always
    """
    op = "IndexAdd"
    for name, value in (("use_lock", use_lock), ("check_index_bound", check_index_bound)):
        flag(op, name, value)
    target, places = operand(op, x, "x"), indices_argument(op, "indices", indices)
    new = operand(op, _as_written(target, y) if isinstance(target, Parameter) else y, "y")
    along = dimension(op, axis, target, tensor="x")
    wanted = (*target.shape[:along], places.size, *target.shape[along + 1 :])
    if places.ndim != 1 or new.type is not tensor(target.dtype, wanted):
        raise wrong(op, "y", f"of dtype {target.dtype} and shape {wanted}, for indices of 1 dimension", new)
    check = index_check(op, "indices", -target.shape[along], target.shape[along])
    found = explained(lambda: apply(made(ScatterAdd, along), target, places, new), check, places)
    if isinstance(target, Parameter):
        target.overwrite(found)
        return target
    return found


# Written -------------------------------------------------------------------------------------------------------------


def _rows_written(op: str, kind: str) -> Callable[..., Tensor]:
    def written(input_x: Any, indices: Any, updates: Any) -> Tensor:
        x, places = operand(op, input_x, "input_x"), indices_argument(op, "indices", indices)
        new = operand(op, _as_written(x, updates), "updates")
        if x.ndim == 0:
            raise wrong(op, "input_x", "of at least 1 dimension", x)
        _check_updates(op, new, tensor(x.dtype, (*places.shape, *x.shape[1:])))
        check = index_check(op, "indices", 0, x.shape[0])
        checked_on_host(check, places)
        x.overwrite(put(kind, x, places, new))
        return x

    return written


def _coordinates_written(op: str, kind: str) -> Callable[..., Tensor]:
    def written(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
        x = operand(op, input_x, "input_x")
        flag(op, "use_locking", use_locking)
        x.overwrite(_by_coordinates(op, kind, x, indices, _as_written(x, updates)))
        return x

    return written


_WAYS = {
    "update": "put in the place of what stands there", "add": "added", "sub": "subtracted", "max": "put where they are larger",
    "min": "put where they are smaller", "mul": "multiplied with what stands there",
    "div": "divisors of what stands there",
}


def _described(function: Callable[..., Tensor], name: str, text: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _of_rows(op: str, name: str, kind: str) -> Callable[..., Tensor]:
    return _described(_rows_written(op, kind), name,
                      f"Write `input_x`: slices of updates are {_WAYS[kind]} in the rows that the indices name; returns it.")


def _of_coordinates(op: str, name: str, kind: str) -> Callable[..., Tensor]:
    return _described(_coordinates_written(op, kind), name,
                      f"Write `input_x`: updates are {_WAYS[kind]} where rows of coordinates [..., n] of its first n axes say; returns it."
                      "\n\n`use_locking` has no meaning: one update follows the other.")


scatter_update, scatter_add = _of_rows("ScatterUpdate", "scatter_update", "update"), _of_rows("ScatterAdd", "scatter_add", "add")
scatter_sub, scatter_max = _of_rows("ScatterSub", "scatter_sub", "sub"), _of_rows("ScatterMax", "scatter_max", "max")
scatter_min = _of_rows("ScatterMin", "scatter_min", "min")
scatter_nd_update = _of_coordinates("ScatterNdUpdate", "scatter_nd_update", "update")
scatter_nd_add = _of_coordinates("ScatterNdAdd", "scatter_nd_add", "add")
scatter_nd_sub = _of_coordinates("ScatterNdSub", "scatter_nd_sub", "sub")
scatter_nd_max = _of_coordinates("ScatterNdMax", "scatter_nd_max", "max")
scatter_nd_min = _of_coordinates("ScatterNdMin", "scatter_nd_min", "min")
scatter_mul, scatter_div = _of_rows("ScatterMul", "scatter_mul", "mul"), _of_rows("ScatterDiv", "scatter_div", "div")
scatter_nd_mul = _of_coordinates("ScatterNdMul", "scatter_nd_mul", "mul")
scatter_nd_div = _of_coordinates("ScatterNdDiv", "scatter_nd_div", "div")


# Parts and masks -----------------------------------------------------------------------------------------------------


@fusible
def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """`input` with the elements of `source`, one after the other, in the places where the mask, which broadcasts to it, is true."""
    op = "MaskedScatter"
    x, chosen, new = operand(op, input), operand(op, mask, "mask"), operand(op, source, "source")
    if chosen.dtype is not BOOL:
        raise wrong(op, "mask", "a Tensor of Bool", chosen, TypeError)
    if new.dtype is not x.dtype:
        raise wrong(op, "source", f"of the dtype of 'input', {x.dtype}", new, TypeError)
    chosen = reshape(broadcast_to(chosen, x.shape), (-1,))

    def enough(given: Tensor) -> None:
        count = int(given.asnumpy().sum())
        if count > new.size:
            raise wrong(op, "source", f"of at least {count} elements, as many as the mask has true ones", new)

    checked_on_host(enough, chosen, conditions=lambda: [(reductions.sum(cast(chosen, I64)), Range(0, new.size))])
    if x.size == 0 or new.size == 0:
        return x.copy()
    number = reductions.cumsum(cast(chosen, I64), 0) - 1
    # Where the mask is false the number may be -1, or beyond the end: the element taken there is not used.
    taken = gathered(op, reshape(new, (-1,)), where(chosen, number, 0), 0)
    return reshape(where(chosen, taken, reshape(x, (-1,))), x.shape)


@fusible
def slice_scatter(input: Any, src: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """`input` with `src` in place of its slice start:end:step along `axis`."""
    op = "SliceScatter"
    x, new = operand(op, input), operand(op, src, "src")
    along, pace = dimension(op, axis, x), integer(op, "step", step)
    if pace < 1:
        raise wrong(op, "step", "at least 1", pace)
    first, last = (None if value is None else integer(op, name, value) for name, value in (("start", start), ("end", end)))
    places = range(*slice(first, last, pace).indices(x.shape[along]))
    wanted = (*x.shape[:along], len(places), *x.shape[along + 1 :])
    if new.shape != wanted:
        raise wrong(op, "src", f"of the shape of the slice, {wanted}", new)
    if not places:
        return x.copy()
    rows = apply(made(Iota, tensor(I64, (len(places),)), 0)) * pace + places.start
    found = put("update", moveaxis(x, along, 0), rows, moveaxis(brought_to(op, new, x.dtype, "src"), along, 0))
    return moveaxis(found, 0, along)


@fusible
def select_scatter(input: Any, src: Any, axis: int, index: int) -> Tensor:
    """`input` with `src` in place of its slice number `index` along `axis`."""
    x, new = operand("SelectScatter", input), operand("SelectScatter", src, "src")
    along, place = dimension("SelectScatter", axis, x), integer("SelectScatter", "index", index)
    if not -x.shape[along] <= place < x.shape[along]:
        raise wrong("SelectScatter", "index", f"in [{-x.shape[along]}, {x.shape[along]})", place)
    place %= x.shape[along]
    if new.shape != (*x.shape[:along], *x.shape[along + 1 :]):
        raise wrong("SelectScatter", "src", f"of the shape of a slice, {(*x.shape[:along], *x.shape[along + 1 :])}", new)
    return slice_scatter(x, expand_dims(new, along), along, place, place + 1)


# Filled and put ------------------------------------------------------------------------------------------------------


@fusible
def index_fill(x: Any, axis: Any, index: Any, value: Any) -> Tensor:
    """Return `x` with one number in its slices along `axis` at the indices, a vector or a Tensor without dimensions."""
    op = "IndexFill"
    given, places = operand(op, x, "x"), indices_argument(op, "index", index)
    if places.ndim > 1:
        raise wrong(op, "index", "of at most 1 dimension", places)
    if not -max(given.ndim, 1) <= integer(op, "axis", axis) < max(given.ndim, 1):
        raise wrong(op, "axis", f"in [{-max(given.ndim, 1)}, {max(given.ndim, 1)})", axis, ArgumentMistake)
    if isinstance(value, Tensor):
        if value.ndim:
            raise wrong(op, "value", "a number or a Tensor without dimensions", value)
        if value.dtype is not given.dtype:
            raise wrong(op, "value", f"of the dtype of 'x', {given.dtype}", value, TypeError)
    fill = value if isinstance(value, Tensor) else cast(number(op, "value", value), given.dtype)
    if given.ndim == 0:
        return reshape(index_fill(reshape(given, (1,)), 0, index, fill), ())
    along = axis_argument(op, axis, given.ndim)
    length = given.shape[along]
    places = reshape(places, (-1,)).astype(I64, copy=False)
    checked_on_host(index_check(op, "index", -length, length), places)
    moved = moveaxis(given, along, 0)
    slices = broadcast_to(fill, (places.size, *moved.shape[1:]))
    return moveaxis(put("update", moved, places, slices), 0, along)


def _slices_put(op: str, kind: str, x: Any, v: Any, indices: Any) -> Tensor:
    """Return `x` with the slices of `v` put along axis 0 at the indices: ints, or a Tensor."""
    given, new = operand(op, x, "x"), operand(op, v, "v")
    if isinstance(indices, Tensor):
        places = indices_argument(op, "indices", indices)
        count = places.size
    else:
        numbers = sizes_argument(op, "indices", indices, least=None)
        count, places = len(numbers), None
        for place in numbers:
            if given.ndim and not 0 <= place < given.shape[0]:
                raise wrong(op, "indices", f"in 0..{given.shape[0] - 1}", place)
        places = Tensor(list(numbers), I64)
    if given.ndim == 0:
        raise wrong(op, "x", "of at least 1 dimension", given)
    if new.dtype is not given.dtype:
        raise wrong(op, "v", f"of the dtype of 'x', {given.dtype}", new, TypeError)
    if places.ndim > 1 or new.shape != (count, *given.shape[1:]):
        raise wrong(op, "v", f"of shape {(count, *given.shape[1:])}, a slice for each index", new)
    if given.dtype is BOOL and kind != "update":
        raise wrong(op, "x", "a Tensor of numbers", given, TypeError)
    places = reshape(places, (-1,))
    checked_on_host(index_check(op, "indices", 0, given.shape[0]), places)
    return put(kind, given, places, new)


@fusible
def inplace_add(x: Any, v: Any, indices: Any) -> Tensor:
    """Return `x` with the slices of `v` added along axis 0 at the indices, an int or a tuple of ints; `x` stays as it is."""
    return _slices_put("InplaceAdd", "add", x, v, indices)


@fusible
def inplace_sub(x: Any, v: Any, indices: Any) -> Tensor:
    """Return `x` with the slices of `v` subtracted along axis 0 at the indices, an int or a tuple of ints; `x` stays as it is."""
    return _slices_put("InplaceSub", "sub", x, v, indices)


@fusible
def inplace_update(x: Any, v: Any, indices: Any) -> Tensor:
    """Return `x` with the slices of `v` in place of those along axis 0 at the indices: an int, a tuple of ints or a Tensor; `x` stays as
    it is."""
    return _slices_put("InplaceUpdate", "update", x, v, indices)


def inplace_index_add(var: Any, indices: Any, updates: Any, axis: Any) -> Tensor:
    """Write `var`: the slices of `updates` along `axis` are added where the indices [k], Int32, say; returns it."""
    op = "InplaceIndexAdd"
    target, places = operand(op, var, "var"), indices_argument(op, "indices", indices)
    new, along = operand(op, updates, "updates"), dimension(op, axis, target, tensor="var")
    wanted = (*target.shape[:along], places.size, *target.shape[along + 1 :])
    if target.dtype is BOOL:
        raise wrong(op, "var", "a Tensor of numbers", target, TypeError)
    if places.ndim != 1 or new.type is not tensor(target.dtype, wanted):
        raise wrong(op, "updates", f"of dtype {target.dtype} and shape {wanted}, for indices of 1 dimension", new)
    check = index_check(op, "indices", 0, target.shape[along])
    checked_on_host(check, places)
    target.overwrite(apply(made(ScatterAdd, along), target, places, new))
    return target


def index_put(x1: Any, x2: Any, indices: Any, accumulate: bool) -> Tensor:
    """Return `x1` with `x2` put where tensors of coordinates, which broadcast, say for the first axes; with `accumulate` added there."""
    op = "IndexPut"
    given, new = operand(op, x1, "x1"), operand(op, x2, "x2")
    columns = [indices_argument(op, "indices", x) for x in tensors_argument(op, "indices", indices)]
    if len(columns) > given.ndim:
        raise wrong(op, "indices", f"at most {given.ndim} Tensors, as 'x1' has axes", len(columns))
    if new.dtype is not given.dtype:
        raise wrong(op, "x2", f"of the dtype of 'x1', {given.dtype}", new, TypeError)
    if given.dtype is BOOL and accumulate:
        raise wrong(op, "x1", "a Tensor of numbers", given, TypeError)
    try:
        shape = functools.reduce(broadcast_shapes, (x.shape for x in columns))
        rest = broadcast_shapes((*shape, *given.shape[len(columns) :]), new.shape)
    except ValueError:
        shape, rest = (), None
    if rest != (*shape, *given.shape[len(columns) :]):
        fitting = "of a shape that broadcasts to the slices at 'indices', whose shapes broadcast"
        raise wrong(op, "x2", fitting, (new.shape, [x.shape for x in columns]))
    rows = stack([broadcast_to(x.astype(I64, copy=False), shape) for x in columns], -1)
    return _by_coordinates(op, "add" if accumulate else "update", given, rows, broadcast_to(new, rest))
