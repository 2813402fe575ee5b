"""Elements selected: by index, by condition, by a function.

Raise TypeError for anything but arrays, ValueError for shapes and axes that do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint.ir.types import BOOL, I64
from adjoint.numpy.conversion import array_like, broadcast_shape, in_dtype, joined
from adjoint.numpy.joining import stack
from adjoint.ops import arithmetic, parts, picking
from adjoint.ops.arguments import axis_argument, integer, operand, sizes_argument, wrong
from adjoint.ops.shapes import broadcast_to, expand_dims, moveaxis, reshape
from adjoint.runtime.tensor.run_time_checks import called
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "apply_along_axis", "apply_over_axes", "array_str", "choose", "piecewise", "ravel_multi_index", "select", "take", "take_along_axis",
    "unravel_index", "where",
]

# By index ------------------------------------------------------------------------------------------------------------


def _inside(op: str, indices: Tensor, length: int, mode: Any, *, negative: bool = True) -> Tensor:
    """Return indices limited to 0..length: "clip" takes the nearest, "wrap" is modulo the length; `negative` ones count from the end if
    possible."""
    if mode == "raise":
        raise NotImplementedError(f"For '{op}', the mode 'raise' is not supported, as in MindSpore: use 'clip' or 'wrap'.")
    if mode not in ("clip", "wrap"):
        raise wrong(op, "mode", "'clip' or 'wrap'", repr(mode))
    if not indices.dtype.is_integer:
        raise wrong(op, "indices", "a Tensor of integers", indices, TypeError)
    places = indices.astype(I64, copy=False)
    if mode == "wrap":
        return arithmetic.mod(places, length)
    if negative:
        places = arithmetic.where(arithmetic.logical_and(places < 0, places >= -length), places + length, places)
    return arithmetic.minimum(arithmetic.maximum(places, 0), length - 1)


def take(a: Any, indices: Any, axis: Any = None, mode: str = "clip") -> Tensor:
    """Return the slices along an axis at the given indices; without an axis, elements of the flattened array.

    mode  for indices out of range: "clip" takes the nearest, "wrap" is modulo the length; raise NotImplementedError for "raise"
    """
    x, places = operand("take", a, "a"), operand("take", indices, "indices")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    along = axis_argument("take", axis, x.ndim)
    return picking.gathered("take", x, _inside("take", places, x.shape[along], mode), along)


def take_along_axis(arr: Any, indices: Any, axis: Any) -> Tensor:
    """Return for each index the element at its own position, but with the index as coordinate along `axis`.

    The other axes of both are broadcast; if `axis` is None, `arr` is flattened.
    """
    x, places = operand("take_along_axis", arr, "arr"), operand("take_along_axis", indices, "indices")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if x.ndim != places.ndim:
        raise wrong("take_along_axis", "indices", f"of {x.ndim} dimensions, as 'arr'", places)
    along = axis_argument("take_along_axis", axis, x.ndim)
    one = reshape(x, tuple(d for d in x.shape)) if x.ndim == 0 else x
    sizes = [max(n, m) if n and m else 0 for n, m in zip(one.shape, places.shape, strict=True)]
    wanted, given = [*sizes], [*sizes]
    wanted[along], given[along] = places.shape[along], x.shape[along]
    return picking.gather_elements(broadcast_to(x, tuple(given)), along, broadcast_to(places, tuple(wanted)))


def choose(a: Any, choices: Any, mode: str = "clip") -> Tensor:
    """Return for each index the element at the same position of the choice with that number; index and choices are broadcast.

    choices  a tuple or list of arrays, or one array with the choices along its first axis
    mode     for indices out of range: "clip" takes the nearest, "wrap" is modulo the number; raise NotImplementedError for "raise"
    """
    index = array_like("choose", a, "a")
    if not index.dtype.is_integer:
        raise wrong("choose", "a", "a Tensor of integers", index)
    if isinstance(choices, (tuple, list)):
        options = joined(*(array_like("choose", x, "choices") for x in choices))
    else:
        options = parts.unstack(array_like("choose", choices, "choices"))
    if not options:
        raise wrong("choose", "choices", "at least one array", choices)
    sizes = broadcast_shape("choose", index, *options)
    places = _inside("choose", broadcast_to(index, sizes), len(options), mode, negative=False)
    table = parts.stack([broadcast_to(x, sizes) for x in options], 0)
    return reshape(picking.gather_elements(table, 0, expand_dims(places, 0)), sizes)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Return a tuple of the coordinates of elements given by their index in an array of a shape: in row-major order, or column-major if
    `order` is "F".

    Indices out of range are replaced by the nearest in range; negative ones count from the end.
    """
    places = array_like("unravel_index", indices, "indices")
    sizes = sizes_argument("unravel_index", "shape", shape)
    if order not in ("C", "F"):
        raise wrong("unravel_index", "order", "'C' or 'F'", repr(order))
    count = math.prod(sizes)
    inside = arithmetic.minimum(arithmetic.maximum(places, -count), count - 1)
    inside = arithmetic.where(inside < 0, inside + count, inside)
    coordinates: list[Tensor] = []
    for size in reversed(sizes) if order == "C" else sizes:
        coordinates.append(arithmetic.mod(inside, size))
        inside = arithmetic.floor_div(inside, size)
    if order == "C":
        coordinates.reverse()
    return reshape(coordinates[0], (1,)) if places.ndim == 0 and len(sizes) == 1 else tuple(coordinates)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Tensor:
    """Return the index of each element from its coordinates along the first axis; Float32, as in MindSpore.

    mode   for coordinates out of range: "clip" takes the nearest, "wrap" is modulo the size; raise NotImplementedError for "raise"
    order  "C" is row-major, "F" column-major
    """
    rows, sizes = array_like("ravel_multi_index", multi_index, "multi_index"), sizes_argument("ravel_multi_index", "dims", dims)
    if rows.dtype.is_float:
        raise wrong("ravel_multi_index", "multi_index", "integers", rows, TypeError)
    if not rows.ndim or rows.shape[0] != len(sizes):
        raise wrong("ravel_multi_index", "multi_index", f"{len(sizes)} coordinates, as 'dims'", rows)
    if order not in ("C", "F"):
        raise wrong("ravel_multi_index", "order", "'C' or 'F'", repr(order))
    columns = [_inside("ravel_multi_index", x, size, mode, negative=False) for x, size in zip(parts.unstack(rows), sizes, strict=True)]
    pairs = list(zip(columns, sizes, strict=True))
    number, _ = pairs.pop(0 if order == "C" else -1)
    for column, size in pairs if order == "C" else reversed(pairs):
        number = number * size + column
    return in_dtype(number, "float32")


# By condition --------------------------------------------------------------------------------------------------------


def where(condition: Any, x: Any = None, y: Any = None) -> Tensor:
    """Return `x` where the condition is nonzero, elsewhere `y`; all are broadcast, and `x` and `y` are converted to a common dtype."""
    chosen = array_like("where", condition, "condition").astype(BOOL, copy=False)
    return arithmetic.where(chosen, *joined(array_like("where", x, "x"), array_like("where", y, "y")))


def _stacked(op: str, argument: str, arrays: Any) -> Tensor:
    """Return arrays stacked along a first axis, converted to a common dtype and broadcast to one shape."""
    if not isinstance(arrays, (tuple, list)):
        return array_like(op, arrays, argument)
    if not arrays:
        raise wrong(op, argument, "at least one array", arrays)
    rows = [array_like(op, x, argument) for x in arrays]
    sizes = broadcast_shape(op, *rows)
    return stack([broadcast_to(x, sizes) for x in rows])


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """Return at each position the element of the first choice whose condition is true there, else `default`, in the dtype of the
    choices."""
    conditions, choices = _stacked("select", "condlist", condlist), _stacked("select", "choicelist", choicelist)
    if conditions.ndim == 0 or choices.ndim == 0:
        raise wrong("select", "condlist", "of at least 1 dimension, as 'choicelist'", (conditions.shape, choices.shape))
    if conditions.shape[0] != choices.shape[0]:
        raise wrong("select", "choicelist", f"{conditions.shape[0]} arrays, as 'condlist'", choices.shape[0])
    rows = list(zip(parts.unstack(conditions.astype(BOOL, copy=False)), parts.unstack(choices), strict=True))
    result = array_like("select", default, "default").astype(choices.dtype, copy=False)
    for condition, choice in reversed(rows):
        result = arithmetic.where(condition, choice, result)
    return result


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """Return at each position the value of the first function whose condition is true there.

    funclist   functions of (x, *args, **kw), or numbers or arrays; one for each condition, and optionally another for elements where none
               is true, which are 0 otherwise
    """
    given = array_like("piecewise", x)
    conditions = parts.unstack(_stacked("piecewise", "condlist", condlist))
    if not isinstance(funclist, (tuple, list)):
        raise wrong("piecewise", "funclist", "a tuple or list", funclist, TypeError)
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise wrong("piecewise", "funclist", f"{len(conditions)} functions, as 'condlist', or one more", len(funclist))
    values = joined(*(array_like("piecewise", called(f, given, *args, **kw) if callable(f) else f, "funclist") for f in funclist))
    choices, default = values[: len(conditions)], values[-1] if len(values) > len(conditions) else 0
    return select(conditions, choices, default)


# By a function ------------------------------------------------------------------------------------------------------


def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Return `func1d(line, *args, **kwargs)` for each line along an axis; the axes of the results replace that axis."""
    x = operand("apply_along_axis", arr, "arr")
    along = axis_argument("apply_along_axis", axis, x.ndim)
    lines = reshape(moveaxis(x, along, -1), (-1, x.shape[along]))
    found = stack([array_like("apply_along_axis", called(func1d, line, *args, **kwargs), "func1d") for line in parts.unstack(lines)])
    rest = (*x.shape[:along], *x.shape[along + 1 :])
    found = reshape(found, (*rest, *found.shape[1:]))
    count = found.ndim - len(rest)
    return moveaxis(found, tuple(range(len(rest), found.ndim)), tuple(range(along, along + count)))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Tensor:
    """Return `func(array, axis=axis)` applied for one axis after the other; an axis that it removes is restored with one element."""
    x = array_like("apply_over_axes", a, "a")
    rank = x.ndim
    for axis in sizes_argument("apply_over_axes", "axes", axes, least=None):
        x = operand("apply_over_axes", called(func, x, axis=axis), "func")
        x = expand_dims(x, integer("apply_over_axes", "axes", axis)) if x.ndim != rank else x
        if x.ndim != rank:
            raise wrong("apply_over_axes", "func", f"a function whose results have {rank} or {rank - 1} dimensions", x)
    return x


def array_str(a: Any) -> str:
    """Return the array as a string, like `str`."""
    return str(operand("array_str", a, "a"))
