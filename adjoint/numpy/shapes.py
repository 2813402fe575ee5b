"""Shapes and order of elements: axes added, removed and exchanged, arrays repeated, rotated and rolled.

Raise TypeError for anything but Tensors and for an axis that is not an int, ValueError for axes and sizes that do not fit.
"""

from __future__ import annotations

from typing import Any

from adjoint.numpy.conversion import array_like, broadcast_shape
from adjoint.ops import parts, shapes
from adjoint.ops.arguments import axes_argument, axis_argument, integer, operand, sizes_argument, wrong
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "expand_dims", "flip", "fliplr", "flipud", "moveaxis",
    "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "size", "squeeze", "swapaxes", "tile", "transpose",
]

# Axes ----------------------------------------------------------------------------------------------------------------


def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements, or of those along an axis."""
    x = array_like("size", a, "a")
    return x.size if axis is None else x.shape[axis_argument("size", axis, x.ndim)]


def expand_dims(a: Any, axis: Any) -> Tensor:
    """Insert axes of size 1, at the positions that they have in the result."""
    x = operand("expand_dims", a, "a")
    given = sizes_argument("expand_dims", "axis", axis, least=None)
    for place in axes_argument("expand_dims", given, x.ndim + len(given)) if given else ():
        x = shapes.expand_dims(x, place)
    return x


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Remove the axes of size 1, or those of `axis` that have size 1."""
    return shapes.squeeze(operand("squeeze", a, "a"), axis)


def transpose(a: Any, axes: Any = None) -> Tensor:
    """Return the axes in another order, by default reversed."""
    x = operand("transpose", a, "a")
    return shapes.transpose(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


def swapaxes(x: Any, axis1: Any, axis2: Any) -> Tensor:
    """Exchange two axes."""
    return shapes.swapaxes(operand("swapaxes", x, "x"), axis1, axis2)


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Move the axes `source` to the positions `destination`; the others keep their order."""
    return shapes.moveaxis(operand("moveaxis", a, "a"), source, destination)


def rollaxis(x: Any, axis: Any, start: Any = 0) -> Tensor:
    """Move an axis before the one that is at `start` now; a `start` equal to the number of axes means the end."""
    given = operand("rollaxis", x, "x")
    along, before = axis_argument("rollaxis", axis, given.ndim), integer("rollaxis", "start", start)
    if not -given.ndim <= before <= given.ndim:
        raise wrong("rollaxis", "start", f"in [{-given.ndim}, {given.ndim}]", before)
    before += given.ndim if before < 0 else 0
    return shapes.moveaxis(given, along, before - 1 if along < before else before)


def reshape(x: Any, new_shape: Any) -> Tensor:
    """Return the elements, in row-major order, in another shape; one size may be -1, and is then inferred."""
    return shapes.reshape(operand("reshape", x, "x"), (new_shape,) if isinstance(new_shape, int) else new_shape)


def ravel(x: Any) -> Tensor:
    """Return the flattened array, in row-major order."""
    return shapes.reshape(operand("ravel", x, "x"), (-1,))


def _at_least(op: str, rank: int, arrays: tuple[Any, ...]) -> Any:
    found = [operand(op, x, "arys") for x in arrays]
    found = [shapes.reshape(x, (*(1,) * (rank - x.ndim), *x.shape)) if x.ndim < rank else x for x in found]
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: Any) -> Any:
    """Return arrays with at least one axis: one array, or a list of several."""
    return _at_least("atleast_1d", 1, arys)


def atleast_2d(*arys: Any) -> Any:
    """Return arrays with at least two axes, adding axes of size 1 in front: one array, or a list of several."""
    return _at_least("atleast_2d", 2, arys)


def atleast_3d(*arys: Any) -> Any:
    """Return arrays with at least three axes, one array or a list of several: a vector lies along axis 1, a matrix along axes 0 and 1."""
    found: list[Tensor] = []
    for ary in arys:
        x = operand("atleast_3d", ary, "arys")
        found.append(shapes.reshape(x, (1, x.size, 1) if x.ndim < 2 else (*x.shape, 1)) if x.ndim < 3 else x)
    return found[0] if len(found) == 1 else found


# Repeated ------------------------------------------------------------------------------------------------------------


def broadcast_to(array: Any, shape: Any) -> Tensor:
    """Return the elements repeated along new axes and along axes of size 1."""
    return shapes.broadcast_to(operand("broadcast_to", array, "array"), sizes_argument("broadcast_to", "shape", shape))


def broadcast_arrays(*args: Any) -> list[Tensor]:
    """Return arrays repeated to the shape that they broadcast to."""
    arrays = [operand("broadcast_arrays", x, "args") for x in args]
    sizes = broadcast_shape("broadcast_arrays", *arrays)
    return [shapes.broadcast_to(x, sizes) for x in arrays]


def tile(a: Any, reps: Any) -> Tensor:
    """Return the array repeated reps[i] times along axis i; a shorter tuple counts from the last axis."""
    return shapes.tile(operand("tile", a, "a"), sizes_argument("tile", "reps", reps))


def repeat(a: Any, repeats: Any, axis: Any = None) -> Tensor:
    """Repeat each element along an axis, all by one number or each by its own in `repeats`; without an axis, the flattened array."""
    return shapes.repeat_interleave(array_like("repeat", a, "a"), repeats, axis)


# Reversed and rotated ------------------------------------------------------------------------------------------------------------


def flip(m: Any, axis: Any = None) -> Tensor:
    """Return the elements in reverse order along axes, by default all."""
    x = operand("flip", m, "m")
    return parts.flip(x, axes_argument("flip", axis, x.ndim)) if x.ndim else x


def flipud(m: Any) -> Tensor:
    """Return the rows in reverse order."""
    return flip(m, 0)


def fliplr(m: Any) -> Tensor:
    """Return the columns in reverse order."""
    return flip(m, 1)


def rot90(a: Any, k: Any = 1, axes: Any = (0, 1)) -> Tensor:
    """Rotate the plane of two axes `k` times by 90 degrees, from the first towards the second."""
    x, times = operand("rot90", a, "a"), integer("rot90", "k", k) % 4
    if not isinstance(axes, (tuple, list)):
        raise wrong("rot90", "axes", "a tuple or list of two ints", axes, TypeError)
    if len(axes) != 2:
        raise wrong("rot90", "axes", "two axes", tuple(axes))
    first, second = (axis_argument("rot90", axis, x.ndim, "axes") for axis in axes)
    if first == second:
        raise wrong("rot90", "axes", "two different axes", tuple(axes))
    if times == 2:
        return parts.flip(x, (first, second))
    if times:
        x = parts.flip(shapes.swapaxes(x, first, second), first if times == 1 else second)
    return x


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """Shift the elements along axes by `shift`; those that leave at the end come in at the beginning.  Without an axis, the flattened
    array."""
    x = operand("roll", a, "a")
    shifts = sizes_argument("roll", "shift", shift, least=None)
    if axis is None:
        return shapes.reshape(parts.roll(shapes.reshape(x, (-1,)), sum(shifts), 0), x.shape)
    axes = sizes_argument("roll", "axis", axis, least=None)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise wrong("roll", "shift", f"one number or {len(axes)}, as 'axis'", shifts)
    count = max(len(shifts), len(axes))
    return parts.roll(x, shifts * (count if len(shifts) == 1 else 1), axes * (count if len(axes) == 1 else 1))
