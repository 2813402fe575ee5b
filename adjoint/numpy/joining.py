"""Arrays joined and split: concatenate, stack, split and related functions.

Arrays that are joined are converted to a common dtype.  Raise TypeError for anything but Tensors, ValueError for shapes and axes that do
not fit.
"""

from __future__ import annotations

import itertools
from typing import Any

from adjoint.numpy.conversion import joined
from adjoint.ops import parts
from adjoint.ops.arguments import axis_argument, dimension, integer, operand, sizes_argument, tensors_argument, wrong
from adjoint.ops.shapes import expand_dims, moveaxis, reshape
from adjoint.runtime.tensor.tensor import Tensor

__all__ = [
    "append", "array_split", "column_stack", "concatenate", "dsplit", "dstack", "hsplit", "hstack", "split", "stack", "vsplit", "vstack",
]

# Joined --------------------------------------------------------------------------------------------------------------


def _rows(op: str, arrays: Any) -> tuple[Tensor, ...]:
    """Return the arrays, or the slices of one along its first axis, converted to a common dtype."""
    given = parts.unstack(arrays) if isinstance(arrays, Tensor) else tensors_argument(op, "arrays", arrays)
    return joined(*given)


def concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    """Concatenate arrays along an axis, or flattened if `axis` is None; for one array, its slices along axis 0."""
    rows = _rows("concatenate", arrays)
    if axis is None:
        return parts.concat([reshape(x, (-1,)) for x in rows], 0)
    along = axis_argument("concatenate", axis, rows[0].ndim)
    return rows[0] if len(rows) == 1 else parts.concat(rows, along)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """Append `values` to `arr` along an axis, or both flattened if `axis` is None."""
    first, second = operand("append", arr, "arr"), operand("append", values, "values")
    if axis is not None and first.ndim != second.ndim:
        raise wrong("append", "values", f"of {first.ndim} dimensions", second)
    return concatenate((first, second), axis)


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Stack arrays of the same shape along a new axis; for one array, move its first axis to `axis`."""
    if isinstance(arrays, Tensor):
        return moveaxis(arrays, 0, dimension("stack", axis, arrays, tensor="arrays"))
    if not isinstance(arrays, (tuple, list)):
        raise wrong("stack", "arrays", "a Tensor, or a tuple or list of Tensors", arrays)
    return parts.stack(_rows("stack", arrays), axis)


def _of_rank(op: str, tup: Any, rank: int) -> Any:
    """Return the Tensors of a tuple or list, with axes of size 1 added in front until there are `rank`."""
    rows = joined(*tensors_argument(op, "tup", tup))
    return [reshape(x, (*(1,) * (rank - x.ndim), *x.shape)) if x.ndim < rank else x for x in rows]


def column_stack(tup: Any) -> Tensor:
    """Concatenate vectors and matrices as columns; a vector is one column.  A Tensor is returned unchanged."""
    if isinstance(tup, Tensor):
        return tup
    rows = _of_rank("column_stack", tup, 1)
    return parts.concat([expand_dims(x, 1) if x.ndim == 1 else x for x in rows], 1)


def hstack(tup: Any) -> Tensor:
    """Concatenate arrays along axis 1, or 0 if they are vectors; a Tensor is returned unchanged."""
    if isinstance(tup, Tensor):
        return tup
    rows = _of_rank("hstack", tup, 1)
    return parts.concat(rows, 0 if rows[0].ndim == 1 else 1)


def vstack(tup: Any) -> Tensor:
    """Concatenate arrays along axis 0, a vector as a row; a Tensor is returned unchanged."""
    return tup if isinstance(tup, Tensor) else parts.concat(_of_rank("vstack", tup, 2), 0)


def dstack(tup: Any) -> Tensor:
    """Concatenate arrays along axis 2, which is added to vectors and matrices; a Tensor is returned unchanged."""
    if isinstance(tup, Tensor):
        return tup
    return parts.concat([expand_dims(x, 2) if x.ndim == 2 else x for x in _of_rank("dstack", tup, 2)], 2)


# Split ---------------------------------------------------------------------------------------------------------------


def _split(op: str, x: Any, indices_or_sections: Any, axis: Any, *, evenly: bool) -> Any:
    """Return the given number of parts as a tuple, or the parts between indices as a list; raise ValueError for a part without elements."""
    given = operand(op, x, "x")
    along = dimension(op, axis, given, tensor="x")
    length = given.shape[along]
    if isinstance(indices_or_sections, (tuple, list)):
        places = sizes_argument(op, "indices_or_sections", indices_or_sections, least=None)
        bounds = [0, *(place + length if place < 0 else place for place in places), length]
        if any(low >= high for low, high in itertools.pairwise(bounds)) or bounds[-2] > length:
            raise wrong(op, "indices_or_sections", f"ascending indices in 0..{length}, with elements between them", places)
        return list(parts.parted(given, along, [high - low for low, high in itertools.pairwise(bounds)]))
    count = integer(op, "indices_or_sections", indices_or_sections)
    if not 0 < count <= length:
        raise wrong(op, "indices_or_sections", f"in 1..{length}", count)
    return parts.equally_split(op, given, along, count) if evenly else parts.tensor_split(given, count, along)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return the given number of equal parts along an axis as a tuple, or the parts between the indices as a list."""
    return _split("split", x, indices_or_sections, axis, evenly=True)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Same as `split`, but the parts may differ in size by one, the larger ones first."""
    return _split("array_split", x, indices_or_sections, axis, evenly=False)


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """Same as `split` along axis 0."""
    return split(x, indices_or_sections, 0)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """Same as `split` along axis 1."""
    return split(x, indices_or_sections, 1)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """Same as `split` along axis 2."""
    return split(x, indices_or_sections, 2)
