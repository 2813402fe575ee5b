"""Python state that a graph reads and writes when it runs: an attribute, a global name, a variable of an enclosing function.

Of a value in such a place the graph is made for its *pattern*: slots for plain tensors, ints and floats, alone or in tuples, and constants
for the rest.  A run takes the contents of the slots from the value that is there.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from adjoint.dataclass import dataclass
from adjoint.ir.types import BOOL, F64, I64, scalar
from adjoint.runtime.graphs.guards.constants import described, key
from adjoint.runtime.graphs.outline import OutlineSlot, filled, outlined, slots_of
from adjoint.runtime.memory.machine import ffi, machine
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.structure import like, mapped
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = ["NumberSlot", "number_slot", "pattern_key", "pattern_of", "reader", "stand_in", "writer"]

_SMALL, _LARGE = 2**31, 2**53
"""An int is an input of a graph up to one of these sizes: sums and products of numbers of a known size need no check of overflow."""

_DTYPES = {"int": I64, "float": F64, "bool": BOOL}


@dataclass(frozen=True)
class NumberSlot(OutlineSlot):
    """The slot of a Python number; an int is at most `bound` in size."""

    bound: int = 0


@functools.cache
def number_slot(category: str, bound: int = _LARGE) -> NumberSlot:
    """Return the slot of an "int", "float" or "bool"."""
    return NumberSlot(category, scalar(_DTYPES[category]), bound if category == "int" else 0)


def pattern_of(value: Any) -> tuple[Any, list[Any]]:
    """Return the pattern of a value and the contents of its slots, in order."""
    return outlined(value, _slot) if _is_of_tuples(value) else (value, [])


def _is_of_tuples(value: Any) -> bool:
    """Return True unless the value holds containers that can be changed in place: these are constants, compared item by item."""
    return all(map(_is_of_tuples, value)) if isinstance(value, tuple) else not isinstance(value, (list, dict, set, slice))


def _slot(leaf: Any) -> OutlineSlot | None:
    if type(leaf) is Tensor:
        return OutlineSlot("tensor", leaf.type)
    if type(leaf) is int:
        size = abs(leaf)
        return number_slot("int", _SMALL) if size <= _SMALL else number_slot("int", _LARGE) if size <= _LARGE else None
    return number_slot("float") if type(leaf) is float else None


class _SlotKey(tuple[Hashable, ...]):
    """The key of a slot; no value of the user's has this class."""


def pattern_key(value: Any, hold: Callable[[object], None]) -> Hashable:
    """Return a key that is equal for values of one pattern; `hold` is called with each object that it identifies by its id."""
    kind = type(value)
    if kind is int or kind is float or kind is Tensor:  # fast path: the commonest
        return _slot(value) or (kind, value)
    return key(mapped(pattern_of(value)[0], _keyed), hold)


def _keyed(leaf: Any) -> Any:
    return _SlotKey((leaf.category, str(leaf.type), getattr(leaf, "bound", 0))) if isinstance(leaf, OutlineSlot) else leaf


def reader(pattern: Any, label: str) -> Callable[[Any], Sequence[Tensor]]:
    """Return a function that returns the contents of a value's slots, numbers as 0-d tensors.

    It raises TypeError if the value is not of the pattern: somebody has changed it while the graph ran.
    """

    def read(value: Any) -> Sequence[Tensor]:
        found: list[Tensor] = []
        if not _take(pattern, value, found):
            raise TypeError(
                f"{label} is {described(value)} now: it was changed while the graph ran, which was made for a value of another type.")
        return found

    if not isinstance(pattern, NumberSlot) or pattern.category != "int":
        return read
    bound = pattern.bound

    def counted(value: Any) -> Sequence[Tensor]:
        # Fast path: a counter.
        return (_as_tensor(value, pattern),) if type(value) is int and -bound <= value <= bound else read(value)

    return counted


def _take(pattern: Any, value: Any, found: list[Tensor]) -> bool:
    if isinstance(pattern, NumberSlot):
        fits = type(value).__name__ == pattern.category and isinstance(value, (int, float)) and not 0 < pattern.bound < abs(value)
        if fits:
            found.append(_as_tensor(value, pattern))
        return fits
    if isinstance(pattern, OutlineSlot):
        fits = isinstance(value, Tensor) and value.type is pattern.type
        if fits:
            found.append(value)
        return fits
    if isinstance(pattern, tuple):
        alike = type(value) is type(pattern) and len(value) == len(pattern)
        return alike and all(_take(part, held, found) for part, held in zip(pattern, value, strict=True))
    return key(pattern) == key(value)


def writer(outline: Any, put: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function that is given tensors and calls `put` with the value of an outline whose slots hold these."""
    slots = slots_of(outline)
    if isinstance(outline, OutlineSlot):
        category = outline.category
        return put if category == "tensor" else lambda x: put(_as_number(x, category))

    def write(*tensors: Tensor) -> None:
        leaves = [x if slot.category == "tensor" else _as_number(x, slot.category) for slot, x in zip(slots, tensors, strict=True)]
        put(filled(outline, leaves))

    return write


# Faster than by NumPy, as a counter is read and written at each call.
_PACKED = {"int": struct.Struct("=q"), "float": struct.Struct("=d"), "bool": struct.Struct("=?")}


def _as_tensor(number: float, slot: NumberSlot) -> Tensor:
    packed = _PACKED[slot.category]
    memory = machine().allocate(packed.size)
    ffi.memmove(memory, packed.pack(number), packed.size)
    return wrap(slot.type, memory)


def _as_number(x: Tensor, category: str) -> Any:
    packed = _PACKED[category]
    return packed.unpack(ffi.buffer(x.memory, packed.size))[0]


def stand_in(pattern: Any) -> Any:
    """Return a value of a pattern, with zeros in its slots."""
    if isinstance(pattern, NumberSlot):
        return {"int": 0, "float": 0.0, "bool": False}[pattern.category]
    if isinstance(pattern, OutlineSlot):
        return zeros(pattern.type)
    return like(pattern, [stand_in(part) for part in pattern]) if isinstance(pattern, tuple) else pattern
