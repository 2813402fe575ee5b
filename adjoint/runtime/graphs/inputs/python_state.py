"""Python state that a graph reads and writes when it runs: an attribute, a global variable, a variable of an enclosing function.

The graph is made for the *pattern* of the value in such a place: slots for plain tensors, ints and floats, alone or in tuples, lists and
dicts, and constants for the rest.  A run fills the slots with the contents of the present value.
"""

from __future__ import annotations

import collections
import functools
import math
import struct
import types
from collections.abc import Callable, Hashable, Sequence
from types import CellType
from typing import Any

from adjoint.foundation.dataclass import dataclass
from adjoint.frontend.changes import purity
from adjoint.frontend.changes.journal import MISSING, AttributePlace, CellPlace, ItemPlace, OutsidePlace
from adjoint.ir.types import BOOL, F64, I64, scalar
from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.graphs.guards.constants import described, key
from adjoint.runtime.graphs.guards.guards import Guards
from adjoint.runtime.graphs.guards.patterns import NumberPattern
from adjoint.runtime.graphs.guards.references import Life, reference
from adjoint.runtime.graphs.inputs.outline import OutlineSlot, filled, outlined, slots_of
from adjoint.runtime.graphs.lock import lowering_lock
from adjoint.runtime.memory.machine import ffi, machine
from adjoint.runtime.process.epoch import epoch
from adjoint.runtime.tensor.filled import zeros
from adjoint.runtime.tensor.parameter import Parameter, ParameterTuple
from adjoint.runtime.tensor.structure import items, keys, like, mapped
from adjoint.runtime.tensor.tensor import Tensor, wrap

__all__ = [
    "STORABLE", "NumberSlot", "can_hold", "get_of", "is_plain", "living_holder", "number_getter", "number_pattern", "number_putter",
    "number_slot", "pattern_key", "pattern_of", "put_of", "reader", "stand_in", "writer",
]

_SMALL, _LARGE = 2**31, 2**53
"""Limits of the size of an int input: with a known limit, sums and products need no check of overflow."""

STORABLE = frozenset({list, dict, collections.OrderedDict})
"""The classes of the containers that a graph can store in a place, and go on changing there."""

_DTYPES = {"int": I64, "float": F64, "bool": BOOL}


@dataclass(frozen=True)
class NumberSlot(OutlineSlot):
    """A slot for a Python number in the pattern of a value (its structure, with slots for tensors and numbers).  The graph reads the number
    from there, or writes it there, each time it runs.

    category  "int", "float" or "bool"
    type      the type of the number in the IR
    bound     the largest absolute value of an int; 0 for other numbers
    """

    bound: int = 0


@functools.cache
def number_slot(category: str, bound: int = _LARGE) -> NumberSlot:
    """Return the slot for a number of category "int", "float" or "bool".

    bound  the largest absolute value of an int
    """
    return NumberSlot(category, scalar(_DTYPES[category]), bound if category == "int" else 0)


def pattern_of(value: Any) -> tuple[Any, list[Any]]:
    """Return the pattern of a value (its structure with slots for tensors and numbers), and the contents of the slots, in order."""
    return outlined(value, _slot) if _is_taken_apart(value) else (value, [])


def _is_taken_apart(value: Any) -> bool:
    """Return False if the value holds containers other than tuples, lists and dicts; such containers are constants, compared item by
    item.
    """
    if isinstance(value, tuple) or type(value) in STORABLE:
        return all(map(_is_taken_apart, items(value) or ()))
    return not isinstance(value, (list, dict, set, slice, collections.deque))


def _slot(leaf: Any) -> OutlineSlot | None:
    if type(leaf) is Tensor:
        return OutlineSlot("tensor", leaf.type)
    if type(leaf) is int:
        size = abs(leaf)
        return number_slot("int", _SMALL) if size <= _SMALL else number_slot("int", _LARGE) if size <= _LARGE else None
    return number_slot("float") if type(leaf) is float else None


class _SlotKey(tuple[Hashable, ...]):
    """The key of a slot within the key of a pattern (a structure with slots).  It is a class, so that no value of the user's equals it."""


def pattern_key(value: Any, hold: Callable[[object], None]) -> Hashable:
    """Return a key that is equal for two values exactly if one graph can read both: they have the same structure, types and constants.

    hold  called with each object that the key identifies by its id
    """
    kind = type(value)
    if kind is int or kind is float or kind is Tensor:  # fast path: the commonest
        slot = _slot(value)
        return (number_pattern(slot) or slot) if slot is not None else (kind, value)
    return key(mapped(pattern_of(value)[0], _keyed), hold)


def number_pattern(pattern: Any) -> NumberPattern | None:
    """Return the pattern of a single int or float in the form that guards compare; None for any other pattern."""
    if not isinstance(pattern, NumberSlot) or pattern.category == "bool":
        return None
    return NumberPattern(int, pattern.bound) if pattern.category == "int" else _FLOAT


_FLOAT = NumberPattern(float)


def _keyed(leaf: Any) -> Any:
    return _SlotKey((leaf.category, str(leaf.type), getattr(leaf, "bound", 0))) if isinstance(leaf, OutlineSlot) else leaf


def reader(pattern: Any, label: str) -> Callable[[Any], Sequence[Tensor]]:
    """Return a function that takes a value and returns the contents of its slots as tensors, numbers as 0-d tensors.

    The function raises TypeError if the value does not have the pattern, since it was changed while the graph ran.

    pattern  the structure of the value, with slots
    label    the text by which the user's code refers to the place
    """

    def read(value: Any) -> Sequence[Tensor]:
        found: list[Tensor] = []
        if not _take(pattern, value, found):
            raise TypeError(
                f"{label} is {described(value)} now: it was changed while the graph ran, which was made for a value of another type.")
        return found

    return read


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
    if isinstance(pattern, tuple) or type(pattern) in STORABLE:
        alike = type(value) is type(pattern) and len(value) == len(pattern)
        if alike and isinstance(pattern, dict):
            alike = keys(value) == keys(pattern)
        return alike and all(_take(part, held, found) for part, held in zip(items(pattern) or (), items(value) or (), strict=True))
    return key(pattern) == key(value)


def writer(outline: Any, put: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function that takes the tensors which the graph has computed for a value, builds the value from them, and calls `put` with
    it.

    outline  the structure of the value, with a slot for each tensor or number
    put      writes the value to its attribute or variable
    """
    slots = slots_of(outline)
    if isinstance(outline, OutlineSlot):
        category = outline.category
        return put if category == "tensor" else lambda x: put(_as_number(x, category))

    def write(*tensors: Tensor) -> None:
        leaves = [x if slot.category == "tensor" else _as_number(x, slot.category) for slot, x in zip(slots, tensors, strict=True)]
        put(filled(outline, leaves))

    return write


# Without NumPy, which is slower: a counter is read and written at each call.
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
    """Return a value with the structure of a pattern (a structure with slots for tensors and numbers), with zeros in the slots."""
    if isinstance(pattern, NumberSlot):
        return {"int": 0, "float": 0.0, "bool": False}[pattern.category]
    if isinstance(pattern, OutlineSlot):
        return zeros(pattern.type)
    is_nested = isinstance(pattern, tuple) or type(pattern) in STORABLE
    return like(pattern, [stand_in(part) for part in items(pattern) or ()]) if is_nested else pattern


# -- how a run reads and writes a place --------------------------------------------------------------------------------------
_SETTERS = (*(kind.__setattr__ for kind in (object, type, types.ModuleType, types.FunctionType, types.SimpleNamespace)),
            Cell.__setattr__)
"""The `__setattr__` methods that run no code of the user's."""


def is_plain(place: OutsidePlace) -> bool:
    """Return True if a graph can write an attribute or variable when it runs: that runs no code of the user's, and replaces no part of a
    cell.

    A part of a cell is a sub-cell or a Parameter.
    """
    if not isinstance(place, AttributePlace):
        return isinstance(place, (ItemPlace, CellPlace))
    holder, kind = place.holder, type(place.holder)
    if isinstance(holder, Tensor) or kind.__setattr__ not in _SETTERS:
        return False
    if isinstance(holder, Cell) and (place.name in holder._cells or place.name in holder._params):
        return False
    static = next((vars(base)[place.name] for base in kind.__mro__ if place.name in vars(base)), None)
    return isinstance(static, types.MemberDescriptorType) or not hasattr(type(static), "__set__")


def can_hold(place: OutsidePlace, value: Any) -> bool:
    """Return True if writing this value to an attribute or variable has no other effect than that the value is there afterwards."""
    if not isinstance(place, AttributePlace):
        return True
    holder, name = place.holder, place.name
    if isinstance(holder, Cell):
        if name in holder._buffers:
            return value is None or isinstance(value, Tensor)
        return not (isinstance(value, (Cell, Parameter, ParameterTuple)) or name.startswith("__"))
    if isinstance(holder, type):
        return not purity.is_in_c(holder) and not name.startswith("__")
    return hasattr(holder, "__dict__") or hasattr(type(holder), name)


def living_holder(held: Callable[[], Any]) -> Any:
    """Return the object that a weak reference refers to, whose attribute is about to be read or written; RuntimeError if it has been freed.
    """
    holder = held()
    if holder is None:
        raise RuntimeError("this graph belongs to an object that is gone")
    return holder


def get_of(place: OutsidePlace) -> Callable[[], Any]:
    """Return the function by which a graph, when it runs, reads an attribute or variable for which `is_plain` is True.

    It does not keep a cell alive; it raises RuntimeError once the cell has been freed.
    """
    if isinstance(place, AttributePlace):
        held, name = reference(place.holder), place.name

        def get() -> Any:
            return getattr(living_holder(held), name, MISSING)
    else:
        get = place.held

    def read() -> Any:
        before = lowering_lock.hidden
        if lowering_lock.exposed == before:
            value = get()
            if lowering_lock.exposed == before:
                return value
        with lowering_lock.current:
            return get()

    return read


def put_of(place: OutsidePlace) -> Callable[[Any], None]:
    """Return the function by which a graph, when it runs, writes an attribute or variable for which `is_plain` is True."""
    if isinstance(place, AttributePlace):
        held, name = reference(place.holder), place.name

        def write_attribute(value: Any) -> None:
            holder = held()
            # Without the lock, as for numbers below.
            if holder is not None and type(holder).__setattr__ is _set and lowering_lock.exposed == lowering_lock.hidden:
                _set(holder, name, value)
                return
            with lowering_lock.current:
                setattr(living_holder(held), name, value)

        return write_attribute
    put = place.put

    def write(value: Any) -> None:
        if lowering_lock.exposed == lowering_lock.hidden:
            put(value)
            return
        with lowering_lock.current:
            put(value)

    return write


# -- a counter ---------------------------------------------------------------------------------------------------------------
# In eager mode Python only reads or writes the number. These functions take the lock of lowering only while a lowering has put values into
# objects. CPython lets no other thread run between the comparison and the end of the write, since no Python function is called there.
def number_getter(place: OutsidePlace, pattern: NumberPattern, get: Callable[[], Any], raising: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return the function by which a graph, when it runs, reads a number from an attribute or variable.

    It takes the lowering lock only if the value that it finds does not fit, or while a lowering has put values into objects of the user's.

    place    the attribute or variable
    pattern  the type and bound of the number
    get      reads the place under the lock
    raising  called with a value that does not fit the pattern; raises an exception
    """
    kind, bound = pattern.kind, pattern.bound if pattern.kind is int else math.inf

    def slow() -> Any:
        value = get()
        if not pattern.fits(value):
            raising(value)
        return value

    if isinstance(place, ItemPlace) and type(place.holder) is dict:
        find, name = place.holder.get, place.name

        def item() -> Any:
            value: Any = find(name) if lowering_lock.exposed == lowering_lock.hidden else None
            return value if type(value) is kind and (kind is float or -bound <= value <= bound) else slow()

        return item
    if not isinstance(place, AttributePlace):
        quick = place.held

        def number() -> Any:
            before = lowering_lock.hidden
            value: Any = quick() if lowering_lock.exposed == before else None
            if lowering_lock.exposed != before or type(value) is not kind or not (kind is float or -bound <= value <= bound):
                return slow()
            return value

        return number
    held, name = reference(place.holder), place.name

    def attribute() -> Any:
        before = lowering_lock.hidden
        value: Any = getattr(held(), name, None) if lowering_lock.exposed == before else None
        if lowering_lock.exposed != before or type(value) is not kind or not (kind is float or -bound <= value <= bound):
            return slow()
        return value

    return attribute


def number_putter(place: OutsidePlace, guards: Guards, slow: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return the function by which a graph, when it runs, writes a number to an attribute or variable; it avoids the lock where possible.

    place   the attribute or variable
    guards  the guards of the graph: they still hold after a number of the same type and bound is written
    slow    writes the place under the lock
    """
    match place:
        case ItemPlace(holder=namespace) if type(namespace) is dict:
            return _putter_of_items(namespace, place.name, slow)
        case CellPlace(cell=variable):
            return _putter_of_variables(variable, slow)
        case AttributePlace(holder=Cell()):
            return _putter_of_attributes(place, guards, slow)
        case _:
            return slow


def _putter_of_items(namespace: dict[Any, Any], name: Any, slow: Callable[[Any], None]) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        if lowering_lock.exposed == lowering_lock.hidden:
            namespace[name] = value
        else:
            slow(value)

    return put


def _putter_of_variables(variable: CellType, slow: Callable[[Any], None]) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        if lowering_lock.exposed == lowering_lock.hidden:
            variable.cell_contents = value
        else:
            slow(value)

    return put


def _putter_of_attributes(place: AttributePlace, guards: Guards, slow: Callable[[Any], None]) -> Callable[[Any], None]:
    held, name = reference(place.holder), place.name
    life: Life | None = None
    kind, bound, begun = int, -1, False

    def put(value: Any) -> None:
        nonlocal begun, life, kind, bound
        holder = held()
        if not begun:
            found = guards.life_beyond(holder, name)
            if found is not None:
                life, kind, bound = found[0], found[1].kind, found[1].bound
            begun = True
        if type(value) is not kind or life is None or not (kind is float or -bound <= value <= bound):
            slow(value)
        elif type(holder).__setattr__ is _OF_CELLS and lowering_lock.exposed == lowering_lock.hidden:
            # A number replaces a number: the attribute is neither a part of the cell nor a buffer.
            _set(holder, name, value)
            epoch.move_with(life)
        else:
            slow(value)

    return put


_set, _OF_CELLS = object.__setattr__, Cell.__setattr__
