"""Index tensors as in NumPy: `x[1]`, `x[2:, ::-1]`, `x[..., None]`, `x[rows, columns]`, `x[x > 0]`, and write to such parts.

A key is an entry or a tuple of entries: ints, slices, `None` (a new axis), `...` (all axes not named), and *arrays*: integer or bool
Tensors, NumPy arrays, lists.  Ints and slices become one `slice` op.  Arrays broadcast together and become one `gather`; their contents are
read here, on the host, and a mask of bools means the positions where it is true.  The axes of adjacent arrays stay in their place; the axes
of other arrays go to the front.

While a graph is made, Tensors in a key hold no numbers: integer ones are positions that the graph computes, and a mask can only be written
to.

A write makes a new tensor, which replaces the old one.  One slice along the first axis, `x[i] = value`, is one op in every mode, `set_row`:
it writes into the memory of the old tensor if nothing else needs that.  If ints and slices select another contiguous block, the new tensor
consists of the old elements around the new ones; otherwise its elements are gathered from the old and the new ones.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from adjoint.foundation.dataclass import dataclass
from adjoint.foundation.diagnostics import printed_as
from adjoint.ir.op import made
from adjoint.ir.ops import scatter
from adjoint.ir.ops.conversion import Cast, Select
from adjoint.ir.ops.counted import FindChosen
from adjoint.ir.ops.indexing import Gather, ScatterAdd
from adjoint.ir.ops.shape import Broadcast, Concat, Reshape, Slice, Transpose
from adjoint.ir.ops.sort import Sort
from adjoint.ir.types import BOOL, I64, broadcast_shapes, tensor
from adjoint.runtime.memory.machine import ffi, machine, memory_of
from adjoint.runtime.memory.watching import observations
from adjoint.runtime.process.tracer import state, tracing
from adjoint.runtime.tensor.fusible import fusible
from adjoint.runtime.tensor.run_time_checks import Range, RangeCheck, checked_on_host, emitting, is_run_time_number, needs_values
from adjoint.runtime.tensor.sizes_of_values import columns, found_by, nonzero_places
from adjoint.runtime.tensor.stored_number import stored_number
from adjoint.runtime.tensor.tensor import Tensor, apply, as_tensor, constant, update, wrap

__all__ = ["MaskMistake", "iterated", "replaced", "taken", "write"]

Array = np.ndarray[Any, Any]


@printed_as(IndexError)
class MaskMistake(IndexError, ValueError):
    """Raised for a mask that does not have the shape of the tensor or axes that it indexes."""


def taken(x: Tensor, key: Any) -> Tensor:
    """Return `x[key]` as a new tensor.

    IndexError for an index out of range, for too many indices, and for an object that is not an index; TypeError for an int on a tensor
    without dimensions; ValueError for a step of 0; MaskMistake for a mask of another shape.
    """
    if key.__class__ is int and x.type.rank:
        return _row(x, key)
    if key.__class__ is Tensor and key.type.dtype is BOOL and not (tracing or observations) and x.type.shape == key.type.shape != ():
        return _compressed(x, key)
    return _selected(x, key)


@fusible
def _selected(x: Tensor, key: Any) -> Tensor:
    return _part(x, _entries(x, _symbolic(key) if emitting() else key))


def _part(x: Tensor, entries: list[Any]) -> Tensor:
    """Return the part of `x` that `entries` select: one for each axis, as `_entries` returns them."""
    part, places = _sliced(x, entries)
    return part if all(array is None for array in places) else _gathered(part, places)


def _row(x: Tensor, index: int) -> Tensor:
    """Return the slice at one position of the first axis: `x[index]` for an int."""
    sizes = x.shape
    place = _checked(index, sizes[0], 0)
    if not tracing and not observations:
        type_ = tensor(x.type.dtype, sizes[1:])
        memory = machine().allocate(type_.nbytes)
        ffi.memmove(memory, x.memory + place * type_.nbytes, type_.nbytes)
        return wrap(type_, memory)
    lead = (0,) * (len(sizes) - 1)
    part = apply(made(Slice, (place, *lead), (place + 1, *sizes[1:]), (1,) * len(sizes)), x)
    return apply(made(Reshape, tensor(x.dtype, sizes[1:])), part)


def _compressed(x: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where a mask of the same shape is true, in order."""
    return found_by(_CHOSEN, x, mask)[0]


_CHOSEN = FindChosen()


def iterated(x: Tensor) -> Iterator[Tensor]:
    """Yield the slices along the first axis in order; TypeError for a tensor without dimensions."""
    if not x.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return (_row(x, i) for i in range(x.shape[0]))


def _checked(index: int, length: int, axis: int) -> int:
    """Return an index of an axis as one that is not negative; IndexError if it is out of range.

    index   the index, negative if it counts from the end
    length  the size of the axis
    axis    the axis, for the message
    """
    if not -length <= index < length:
        raise IndexError(f"For 'Tensor[...]', index {index} is out of bounds for dimension {axis} with size {length}.")
    return index if index >= 0 else index + length


# Reading a key ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Places:
    """Tells which positions an array in a key selects along one axis.

    array  the positions: an Int64 array, or an integer Tensor
    size   the size that the axis must have, for a mask; else None
    new    True for a new axis: a single bool indexes no axis of the tensor
    inside True for positions in a graph that are certainly on the axis
    """

    array: Any
    size: int | None = None
    new: bool = False
    inside: bool = False


class _Inside(NamedTuple):
    """Positions along an axis, an Int64 Tensor, that need no check."""

    places: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return self.places.shape


def _entries(x: Tensor, key: Any) -> list[Any]:
    """Read a key: return an entry for each axis of the tensor, in order, and one for each new axis.  A tuple inside of it is a list.

    A list with a slice, an ellipsis or None in it is the tuple of its items.

    An entry is an int, a slice, None for a new axis, or `_Places` for an array.
    """
    entries: list[Any] = []
    named, dots = 0, -1
    for entry in _items(key):
        if entry is ...:
            if dots >= 0:
                raise IndexError("For 'Tensor[...]', an index can have only one ellipsis ('...').")
            dots = len(entries)
        elif entry is None:
            entries.append(None)
        else:
            parsed = [entry] if isinstance(entry, slice) else _parsed(list(entry) if isinstance(entry, tuple) else entry)
            named += sum(not (isinstance(e, _Places) and e.new) for e in parsed)
            entries += parsed
    if named > x.ndim:
        if x.ndim == 0 and len(entries) == 1 and isinstance(entries[0], int):
            raise TypeError("For 'Tensor[...]', a tensor without dimensions cannot be indexed with an int; `item()` gives its number.")
        raise IndexError(f"For 'Tensor[...]', too many indices: the tensor has {x.ndim} dimensions, but {named} were indexed.")
    place = len(entries) if dots < 0 else dots
    return [*entries[:place], *[slice(None)] * (x.ndim - named), *entries[place:]]


def _items(key: Any) -> tuple[Any, ...]:
    """Return the parts of a key."""
    if isinstance(key, list) and any(item is ... or item is None or isinstance(item, slice) for item in key):
        return tuple(key)
    return key if isinstance(key, tuple) else (key,)


def _parsed(entry: Any) -> list[Any]:
    """Read one part of a key other than a slice: return it as an int, or as `_Places` of an array; a mask gives one for each of its axes.
    """
    if isinstance(entry, Tensor) and entry.dtype.is_integer:
        return [int(entry.item())] if entry.ndim == 0 and not emitting() else [_Places(entry)]
    if isinstance(entry, Tensor) and entry.dtype is BOOL and emitting():
        number = "it has as many elements as the mask has true ones"
        if entry.ndim == 0:
            (first,) = columns(nonzero_places("Tensor[...]", number, apply(made(Reshape, tensor(BOOL, (1,))), entry)))
            return [_Places(first, new=True)]
        found = nonzero_places("Tensor[...]", number, entry)
        return [_Places(column, size, inside=True) for column, size in zip(columns(found), entry.shape, strict=True)]
    if not isinstance(entry, (Tensor, np.ndarray, list, bool, np.bool_)):
        try:
            return [operator.index(entry)]
        except TypeError:
            raise IndexError(
                "For 'Tensor[...]', an index must be an int, a slice, an ellipsis ('...'), None, a bool, or a Tensor, array or list of "
                f"ints or bools, but got {entry!r} of type {type(entry).__name__}.") from None
    array = np.asarray(_plain(entry))
    if array.dtype == bool:
        if array.ndim == 0:
            return [_Places(np.zeros(int(array), np.int64), new=True)]
        return [_Places(places, size) for places, size in zip(np.nonzero(array), array.shape, strict=True)]
    if array.size == 0 and isinstance(entry, list):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise IndexError(f"For 'Tensor[...]', an array used as an index must hold ints or bools, but got {array.dtype}.")
    return [int(array)] if array.ndim == 0 else [_Places(array.astype(np.int64))]


def _symbolic(key: Any) -> Any:
    """Return an index (the key of `x[key]`) for use in a graph: numbers that are known only when it runs, and lists of these, become
    Tensors.
    """
    if isinstance(key, list):
        parts = _items(key)
        key = key if len(parts) == 1 and parts[0] is key else parts
    if isinstance(key, tuple):
        return tuple(_symbolic(list(entry) if isinstance(entry, tuple) else entry) for entry in key)
    if is_run_time_number(key):
        return key.as_tensor(I64) if key.category == "int" else key
    if isinstance(key, list) and any(isinstance(item, Tensor) or is_run_time_number(item) for item in key):
        items = [_symbolic(item) for item in key]
        rows = [item if isinstance(item, Tensor) else constant(operator.index(item), I64) for item in items]
        parts = [apply(made(Reshape, tensor(row.dtype, (1, *row.shape))), row) for row in rows]
        return apply(made(Concat, 0), *(part if part.dtype is I64 else apply(made(Cast, I64), part) for part in parts))
    return key


def _plain(entry: Any) -> Any:
    """Return a part of a key in a form that NumPy reads: arrays in place of Tensors, also in lists and tuples."""
    if isinstance(entry, Tensor):
        return entry.asnumpy()
    if not isinstance(entry, (list, tuple)):
        return entry
    try:
        return np.asarray([_plain(item) for item in entry])
    except (TypeError, ValueError, RecursionError):
        raise IndexError(
            f"For 'Tensor[...]', a list used as an index must hold ints or bools in rows of one length, but got {entry!r}.") from None


# Slices and ints ----------------------------------------------------------------------------------------------------


def _sliced(x: Tensor, entries: list[Any]) -> tuple[Tensor, list[Any]]:
    """Apply the ints and slices of a key, and insert new axes.

    Return the tensor that results, and for each of its axes an array of positions that is still to be applied, or None.  If there are
    arrays, an int counts as an array too: it takes part in deciding where their axes go.

    entries  the key's entry for each axis, as `_entries` returns them
    """
    beside = any(isinstance(e, _Places) for e in entries)
    ranges: list[tuple[int, int | None, int]] = []
    sizes: list[int] = []
    left: list[Any] = []
    for entry in entries:
        if entry is None or (isinstance(entry, _Places) and entry.new):
            sizes.append(1)
            left.append(entry and entry.array)
            continue
        axis = len(ranges)
        length = x.shape[axis]
        if isinstance(entry, slice):
            if type(length) is not int and entry.stop is None and entry.step in (None, 1) and entry.start in (None, 0, 1, 2):
                first = entry.start or 0  # a size that is not known is at least 2
                ranges.append((first, None, 1) if first else _WHOLE)
                sizes.append(length - first)
            else:
                places = _range(entry, length)
                ranges.append((places.start, places.stop, places.step) if places != range(length) else _WHOLE)
                sizes.append(len(places))
            left.append(None)
        elif isinstance(entry, int):
            place = _checked(entry, length, axis)
            ranges.append((place, place + 1, 1))  # also of the whole: the gradient of a slice is that of a gather
            if beside:
                sizes.append(1)
                left.append(np.zeros((), np.int64))
        else:
            if entry.size not in (None, length):
                raise MaskMistake(
                    f"For 'Tensor[...]', a mask has size {entry.size} where dimension {axis} of the tensor has size {length}.")
            ranges.append(_WHOLE)
            sizes.append(length)
            left.append(_Inside(entry.array) if entry.inside else entry.array)
    if any(each is not _WHOLE for each in ranges):
        ends = [(0, length if type(length) is int else None, 1) if each is _WHOLE else each
                for each, length in zip(ranges, x.shape, strict=True)]
        x = apply(made(Slice, *zip(*ends, strict=True)), x)
        if x.shape == tuple(sizes):
            return x, left
    return apply(made(Reshape, tensor(x.dtype, sizes)), x), left


_WHOLE = (0, None, 1)
"""Start, stop and step of an axis that is kept whole."""


def _range(entry: slice, length: int) -> range:
    """Return the positions that a slice selects; its ends may be Tensors of one int."""
    try:
        return range(*entry.indices(length))
    except ValueError:
        raise ValueError(f"For 'Tensor[...]', the step of a slice must be an int other than 0, but got {entry}.") from None
    except TypeError:
        raise IndexError(f"For 'Tensor[...]', the ends of a slice must be ints or None, but got {entry}.") from None


# Arrays -------------------------------------------------------------------------------------------------------------


def _gathered(x: Tensor, entries: list[Any]) -> Tensor:
    """Return the elements that arrays of positions select from a tensor.

    entries  for each axis its array; None for an axis that is kept whole
    """
    axes = [axis for axis, entry in enumerate(entries) if entry is not None]
    if len(axes) == 1:
        (axis,) = axes
        places = entries[axis]
        if isinstance(places, _Inside):
            places = places.places
        elif isinstance(places, np.ndarray):
            places = _as_places(_in_range(places, x.shape[axis], axis))
        elif places.size:
            checked_on_host(_range_check(x.shape[axis], axis), places)
        return apply(made(Gather, axis), x, places)
    symbolic = emitting() and any(isinstance(entries[axis], (Tensor, _Inside)) for axis in axes)
    flat = _symbolic_places(entries, axes, x.shape) if symbolic else _as_places(_flat_places(entries, axes, x.shape))
    together = axes == list(range(axes[0], axes[-1] + 1))
    front = axes[0] if together else 0
    others = [axis for axis in range(x.ndim) if axis not in axes]
    order = (*others[:front], *axes, *others[front:])
    if order != tuple(range(x.ndim)):
        x = apply(made(Transpose, order), x)
    count = math.prod([x.shape[front + i] for i in range(len(axes))])
    x = apply(made(Reshape, tensor(x.dtype, (*x.shape[:front], count, *x.shape[front + len(axes) :]))), x)
    return apply(made(Gather, front), x, flat)


def _flat_places(entries: list[Any], axes: list[int], sizes: tuple[int, ...]) -> Array:
    """Combine arrays of positions along several axes into positions in these axes flattened to one.

    entries  the array for each axis
    axes     the axes that have arrays
    sizes    the shape of the tensor
    """
    arrays = [entries[axis] if isinstance(entries[axis], np.ndarray) else entries[axis].asnumpy() for axis in axes]
    flat: Array = np.zeros(_joint_shape(arrays), np.int64)
    for axis, array in zip(axes, arrays, strict=True):
        flat = flat * sizes[axis] + _in_range(array, sizes[axis], axis)
    return flat


def _joint_shape(arrays: Sequence[Any]) -> tuple[int, ...]:
    try:
        return broadcast_shapes(*(a.shape for a in arrays))  # pyright: ignore[reportReturnType] - sizes of arrays are integers
    except ValueError:
        raise IndexError("For 'Tensor[...]', the index arrays must have shapes that broadcast together, but got "
                         f"{' and '.join(str(a.shape) for a in arrays)}.") from None


def _symbolic_places(entries: list[Any], axes: list[int], sizes: tuple[int, ...]) -> Tensor:
    """Do what `_flat_places` does by ops, for a graph.  A negative index counts from the end."""
    _joint_shape([entries[axis] for axis in axes])
    flat: Tensor | None = None
    for axis in axes:
        entry = entries[axis]
        if isinstance(entry, _Inside):
            places = entry.places
        elif isinstance(entry, Tensor):
            checked_on_host(_range_check(sizes[axis], axis), entry)
            wide = entry.astype(I64, copy=False)
            places = apply(Select(), wide < 0, wide + sizes[axis], wide)
        else:
            places = _as_places(_in_range(entry, sizes[axis], axis))
        flat = places if flat is None else flat * sizes[axis] + places
    assert flat is not None
    return flat


def _range_check(length: int, axis: int) -> Callable[[Tensor], None]:
    """Return a check of indices; it raises IndexError for the first one out of range.

    length, axis  the size of the axis, and its number for the message
    """

    def indices(places: Tensor, range_: Range) -> None:
        _check_range(places.asnumpy(), range_.high + 1, axis)

    return RangeCheck(Range(-length, length - 1), indices)


def _in_range(places: Array, length: int, axis: int) -> Array:
    """Return indices as ones that are not negative; IndexError for the first that is out of range.

    length, axis  the size of the axis, and its number for the message
    """
    _check_range(places, length, axis)
    return np.where(places < 0, places + length, places)


def _check_range(places: Array, length: int, axis: int) -> None:
    outside = (places < -length) | (places >= length)
    if outside.any():
        _checked(int(places[outside].reshape(-1)[0]), length, axis)


def _as_places(places: Array) -> Tensor:
    return wrap(tensor(I64, places.shape), memory_of(np.ascontiguousarray(places, np.int64)))


# Writing ------------------------------------------------------------------------------------------------------------


def replaced(x: Tensor, key: Any, value: Any) -> Tensor:
    """Return a copy of `x` with `value` at `x[key]`.

    value  a number, or anything that broadcasts to the selected part; it is cast to the dtype of `x`

    Errors as for `taken`; ValueError if the value does not fit, TypeError if it is not a number, Tensor, array or list.
    """
    if emitting():
        key = _symbolic(key)
        if key.__class__ is int and not x.type.is_static:
            key = constant(_checked(key, x.shape[0], 0), I64)
        if any(isinstance(entry, Tensor) for entry in (key if isinstance(key, tuple) else (key,))):
            first = key[0] if isinstance(key, tuple) else key
            row = _written_row(x, _entries(x, key), value) if isinstance(first, Tensor) and first.dtype.is_integer else None
            return _symbolically_replaced(x, key, value) if row is None else apply(made(scatter.SetRow), x, *row)
    entries = _entries(x, key)
    row = _written_row(x, entries, value)
    if row is not None:
        return apply(made(scatter.SetRow), x, *row)
    found = _block(x, entries)
    if found is not None:
        ranges, shape = found
        block = apply(made(Reshape, tensor(x.dtype, tuple(map(len, ranges)))), _fitting(x, value, shape))
        return _pasted(x, ranges, block)
    with _at_once():
        chosen = _part(_numbered(x), entries).asnumpy()
    source = np.arange(x.size, dtype=np.int64)
    source[chosen.reshape(-1)] = x.size + np.arange(chosen.size)
    return _merged(x, _fitting(x, value, chosen.shape), _as_places(source.reshape(x.shape)))


def _written_row(x: Tensor, entries: list[Any], value: Any) -> tuple[Tensor, Tensor] | None:
    """Return the index and the new slice of a write to one slice along the first axis, `x[i] = value`; None for another write.

    entries  the key's entry for each axis, as `_entries` returns them
    """
    if not x.ndim or any(not (isinstance(entry, slice) and entry.start is entry.stop is entry.step is None) for entry in entries[1:]):
        return None
    first = entries[0]
    if isinstance(first, int):
        index = constant(_checked(first, x.shape[0], 0), I64)
    elif isinstance(first, _Places) and not first.new and first.size is None and isinstance(first.array, Tensor) and not first.array.ndim:
        index = first.array
        if not first.inside:
            checked_on_host(_range_check(x.shape[0], 0), index)
    else:
        return None
    return index, _fitting(x, value, x.shape[1:])


def _block(x: Tensor, entries: list[Any]) -> tuple[list[range], tuple[int, ...]] | None:
    """Return the block that a key of ints and slices selects: its positions along each axis, and its shape.

    Return None if there are arrays in the key, if the positions are not contiguous, or if none or all elements are selected.

    entries  the key's entry for each axis, as `_entries` returns them
    """
    ranges: list[range] = []
    shape: list[int] = []
    for entry in entries:
        if entry is None:
            shape.append(1)
            continue
        axis = len(ranges)
        if isinstance(entry, int):
            place = _checked(entry, x.shape[axis], axis)
            ranges.append(range(place, place + 1))
        elif isinstance(entry, slice):
            ranges.append(_range(entry, x.shape[axis]))
            shape.append(len(ranges[-1]))
        else:
            return None
    whole = all(len(places) == size for places, size in zip(ranges, x.shape, strict=True))
    return None if whole or not all(places and places.step == 1 for places in ranges) else (ranges, tuple(shape))


def _pasted(x: Tensor, ranges: list[range], block: Tensor) -> Tensor:
    """Return `x` with a block of elements replaced: it joins the part before the block, the block, and the part after it.

    ranges  the positions of the block along each axis
    block   the new elements
    """
    axis = next(a for a, (places, size) in enumerate(zip(ranges, x.shape, strict=True)) if len(places) != size)
    first, last = ranges[axis].start, ranges[axis].stop
    if block.shape[axis + 1 :] != x.shape[axis + 1 :]:
        inside = [range(last - first) if a == axis else places for a, places in enumerate(ranges)]
        block = _pasted(_between(x, axis, first, last), inside, block)
    sides = [_between(x, axis, *ends) for ends in ((0, first), (last, x.shape[axis])) if ends[0] != ends[1]]
    parts = [block, *sides] if first == 0 else [sides[0], block, *sides[1:]]
    return apply(made(Concat, axis), *parts)


def _between(x: Tensor, axis: int, first: int, last: int) -> Tensor:
    """Return the part of `x` from position `first` of an axis up to `last`, without `last`."""
    start = tuple(first if a == axis else 0 for a in range(x.ndim))
    stop = tuple(last if a == axis else size for a, size in enumerate(x.shape))
    return apply(made(Slice, start, stop, (1,) * x.ndim), x)


def _fitting(x: Tensor, value: Any, shape: tuple[int, ...]) -> Tensor:
    """Convert a value that is written into `x` to the dtype of `x`, and to the shape of the part that it replaces."""
    if isinstance(value, (np.bool_, np.number)):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)) or is_run_time_number(value):
        value = stored_number("Tensor[...] = value", value, x.dtype)
    elif not isinstance(value, Tensor):
        if not isinstance(value, (np.ndarray, list, tuple)):
            raise TypeError(f"For 'Tensor[...] = value', the value must be a number, a Tensor, an array or a list, but got {value!r} "
                            f"of type {type(value).__name__}.")
        value = as_tensor(value)
    if value.dtype is not x.dtype:
        value = apply(made(Cast, x.dtype), value)
    if 0 in shape and value.size:
        # Nothing is written, so any value fits.
        value = constant(False if x.dtype is BOOL else 0, x.dtype)
    # As in NumPy, surplus leading axes of size 1 are dropped.
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = apply(made(Reshape, tensor(value.dtype, value.shape[1:])), value)
    if value.shape != shape:
        try:
            value = apply(made(Broadcast, tensor(value.dtype, shape)), value)
        except ValueError:
            raise ValueError(f"For 'Tensor[...] = value', the value must broadcast to the shape {shape} of what is written to, "
                             f"but got shape {value.shape}.") from None
    return value


def _merged(x: Tensor, value: Tensor, source: Tensor) -> Tensor:
    """Return a tensor whose elements are taken from `x` and `value`, for a write.

    source  for each element, its position in the list of all elements of `x`, followed by those of `value`
    """
    old, new = (apply(made(Reshape, tensor(t.dtype, (t.size,))), t) for t in (x, value))
    return apply(made(Gather, 0), apply(made(Concat, 0), old, new), source)


@contextmanager
def _at_once() -> Iterator[None]:
    """Within a `with` statement, compute ops at once and without recording, even while this thread makes a graph."""
    before, state.tracer = state.tracer, None
    try:
        yield
    finally:
        state.tracer = before


def _symbolically_replaced(x: Tensor, key: Any, value: Any) -> Tensor:
    """Do what `replaced` does, for a key with Tensors whose numbers are known only when the graph runs."""
    if isinstance(key, Tensor) and key.dtype is BOOL:
        return _masked(x, key, value)
    chosen = taken(_numbered(x), key)
    count = chosen.size
    value = _fitting(x, value, chosen.shape)
    places = apply(made(Reshape, tensor(I64, (count,))), chosen)
    news = _as_places(np.arange(x.size, x.size + count))
    # The source of a written element is its new element, that of any other one itself: the difference is added.
    if any(isinstance(entry, _Places) and entry.array.size > 1 for entry in _entries(x, key)) and count > 1:
        places, moves = _last_moves(places, news)
    else:
        moves = news - places
    source = apply(made(ScatterAdd, 0), _as_places(np.arange(x.size)), places, moves)
    return _merged(x, value, apply(made(Reshape, tensor(I64, x.shape)), source))


def _last_moves(places: Tensor, news: Tensor) -> tuple[Tensor, Tensor]:
    """Decide which written element wins if several are written to the same position: the last one, as in eager mode.

    places  the positions that are written
    news    for each, the position of its new element in the list of all elements

    Return the sorted positions, and for each the number to add to it to get the position of its source; 0 if a later element wins.
    """
    count = places.size
    ordered, order = apply(made(Sort, False), places)
    following = apply(made(Slice, (1,), (count,), (1,)), ordered)
    changes = apply(made(Slice, (0,), (count - 1,), (1,)), ordered) != following
    last = apply(made(Concat, 0), changes, apply(made(Broadcast, tensor(BOOL, (1,))), constant(True, BOOL)))
    return ordered, apply(Select(), last, apply(made(Gather, 0), news, order) - ordered, constant(0, I64))


def _masked(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return `x` with `value` in each place where a mask over its first axes is true; the value is broadcast to one such place."""
    if mask.shape != x.shape[: mask.ndim]:
        raise MaskMistake(f"For 'Tensor[...]', a mask has shape {mask.shape} where the tensor has shape {x.shape}.")
    slice_ = x.shape[mask.ndim :]
    one = isinstance(value, Tensor) and value.ndim > len(slice_)
    if one and value.shape[0] != 1:
        needs_values("Tensor[...] = value", "a value for each element that the mask names")
    value = _fitting(x, value, slice_)
    wide = apply(made(Reshape, tensor(BOOL, (*mask.shape, *(1,) * len(slice_)))), mask)
    return apply(Select(), wide, value, x)


def _numbered(x: Tensor) -> Tensor:
    """Return a tensor of the shape of `x` in which each element is its own position, counted through the flattened tensor."""
    return _as_places(np.arange(x.size, dtype=np.int64).reshape(x.shape))


def write(x: Tensor, key: Any, value: Any) -> None:
    """Do `x[key] = value`: change the tensor `x` itself."""
    if state.tracer is None and key.__class__ is int and "_shared" not in x.__dict__:
        row = _written_row(x, [key, *(slice(None),) * (x.ndim - 1)], value)
        if row is not None:
            update(made(scatter.SetRow), (x,), x, *row)
            return
    x.overwrite(replaced(x, key, value))
