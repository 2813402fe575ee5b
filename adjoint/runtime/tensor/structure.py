"""Nested structures: take apart, rebuild and map Python containers and the objects in them.

    leaves({"u": x, "v": [y, 3]})              [x, y, 3]
    mapped({"u": x, "v": [y, 3]}, change)      {"u": change(x), "v": [change(y), change(3)]}
    replaced((x, 3, [y]), [a, b], Tensor)      (a, 3, [b])
    emptied((x, 3, [y]), Tensor)               (Gap(0), 3, [Gap(1)])
    refilled((Gap(0), 3, [Gap(1)]), [a, b])    (a, 3, [b])

The containers are tuples, lists, dicts, deques and slices, and their subclasses; a rebuilt container has the same class, and the same keys
in the same order.  Every other object is a leaf.  This module knows nothing of tensors; it is the only one that walks through containers.
"""

from __future__ import annotations

import collections
import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import Any

__all__ = [
    "CONTAINERS", "GAPS", "Gap", "RESULTS", "arranged", "emptied", "endless", "is_named", "items", "keys", "leaves", "like", "made",
    "mapped", "refilled", "replaced",
]

_ITERATED = (tuple, list, collections.deque)
CONTAINERS = (*_ITERATED, dict, slice)
"""The classes of containers; their subclasses are containers too."""
RESULTS = (tuple, list, dict)
"""The containers in a function's result whose tensors are differentiated; a slice or a deque is passed on as it is."""

_SAME: Mapping[type, type] = {}
_PLAIN = frozenset({tuple, list, dict, slice, collections.OrderedDict})


def is_named(kind: Any) -> bool:
    """Return True for a class of named tuples."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_make")


def items(value: Any) -> Sequence[Any] | None:
    """Return the items of a container, in order, without the keys of a dict; None for an object that is no container."""
    kind = type(value)
    if kind is tuple or kind is list:
        return value
    if not issubclass(kind, CONTAINERS):
        return None
    if issubclass(kind, dict):
        return [*(dict if kind is dict else _order_of(kind)).values(value)]
    if kind is slice:
        return value.start, value.stop, value.step
    # A subclass may iterate over other objects than its items.
    return [*next(base for base in _ITERATED if issubclass(kind, base)).__iter__(value)]


def keys(value: dict[Any, Any]) -> list[Any]:
    """Return the keys of a dict, in the order of `items`."""
    return [*_order_of(type(value)).keys(value)]


def _order_of(kind: type) -> type[dict[Any, Any]]:
    """Return the class whose methods iterate over a dict of the class `kind` in its order.

    An OrderedDict has an order of its own, which `move_to_end` changes.
    """
    return collections.OrderedDict if issubclass(kind, collections.OrderedDict) else dict


def like(value: Any, parts: Iterable[Any]) -> Any:
    """Return a container of the same class as `value`, and with the same keys, whose items are `parts`.

    A class with `_make`, such as a named tuple, is made by that method.  Attributes are copied for other subclasses.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        return kind(parts)
    if kind in _PLAIN or hasattr(kind, "_make"):
        return made(kind, value, parts)
    if issubclass(kind, tuple):
        copied = tuple.__new__(kind, parts)
        if hasattr(value, "__dict__"):
            vars(copied).update(vars(value))
        return copied
    copied = copy.copy(value)
    if issubclass(kind, dict):
        for name, part in zip(keys(value), parts, strict=True):
            dict.__setitem__(copied, name, part)
    elif issubclass(kind, list):
        list.__setitem__(copied, slice(None), parts)
    else:
        collections.deque.clear(copied)
        collections.deque.extend(copied, parts)
    return copied


def made(kind: Any, names: Iterable[Any], parts: Iterable[Any]) -> Any:
    """Return a new container whose items are `parts`.

    kind   its class: tuple, list, dict, OrderedDict, slice, or a class of tuples with `_make`
    names  the keys of a dict; ignored for other classes
    """
    if kind is tuple or kind is list:
        return kind(parts)
    if kind is slice:
        return slice(*parts)
    return kind(zip(names, parts, strict=True)) if issubclass(kind, dict) else kind._make(parts)


def leaves(value: Any, of: type | tuple[type, ...] = object, within: tuple[type, ...] = CONTAINERS) -> list[Any]:
    """Return the objects of the class `of` in a nested structure, in order.

    within  the classes of containers that are searched; other objects are not taken apart

    ValueError if the structure contains itself.
    """
    if not issubclass(type(value), within):
        return [value] if isinstance(value, of) else []
    found: list[Any] = []
    try:
        _gather(value, of, found, within)
    except RecursionError:
        raise endless(value) from None
    return found


def endless(value: Any) -> ValueError:
    """Return the error to raise for a structure that contains itself."""
    return ValueError(f"a {type(value).__name__} cannot be walked: it contains itself, or is nested too deeply")


def _gather(value: Any, of: type | tuple[type, ...], found: list[Any], within: tuple[type, ...]) -> None:
    for part in items(value) or ():
        if issubclass(type(part), within):
            _gather(part, of, found, within)
        elif isinstance(part, of):
            found.append(part)


def mapped(value: Any, change: Callable[[Any], Any], classes: Mapping[type, type] = _SAME, within: tuple[type, ...] = CONTAINERS) -> Any:
    """Return a nested structure with `change(x)` in place of each object `x` that is no container, in order.

    Lists, dicts and deques are new objects; a tuple in which nothing changes is the same object.

    change   takes such an object, and returns what takes its place
    classes  for each class of containers that is to become another one, that other class, which `made` can make
    within   the classes of containers that are taken apart; other objects are not

    ValueError if the structure contains itself.
    """
    kind = type(value)
    if not issubclass(kind, within):
        return change(value)
    parts = items(value)
    assert parts is not None
    try:
        new = [mapped(part, change, classes, within) if issubclass(type(part), within) else change(part) for part in parts]
    except RecursionError:
        raise endless(value) from None
    if kind in classes:
        return made(classes[kind], value, new)
    if kind is list:
        return new
    return value if issubclass(kind, (tuple, slice)) and all(map(is_, new, parts)) else like(value, new)


def replaced(value: Any, new: Iterable[Any], of: type | tuple[type, ...]) -> Any:
    """Return a nested structure with the items of `new`, in order, in place of its objects of the class `of`."""
    left = iter(new)
    if isinstance(value, of):
        return next(left)
    return mapped(value, lambda leaf: next(left) if isinstance(leaf, of) else leaf)


class Gap:
    """Stands in a structure for an object that was taken out of it.

    index  the index of that object among those taken out, in order
    """

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index

    def __repr__(self) -> str:
        return f"Gap({self.index})"


GAPS = list(map(Gap, range(16)))
"""The first placeholders, shared by all structures."""


def emptied(value: Any, of: type) -> Any:
    """Return a copy of a nested structure with a `Gap` in place of each object of the class `of`, in order; `refilled` is the reverse."""
    if isinstance(value, of):
        return GAPS[0]
    if type(value) is tuple and len(value) <= len(GAPS):
        for part in value:
            if not isinstance(part, of):
                break
        else:
            return tuple(GAPS[: len(value)])
    return replaced(value, itertools.chain(GAPS, map(Gap, itertools.count(len(GAPS)))), of)


def refilled(value: Any, parts: Sequence[Any]) -> Any:
    """Return a nested structure with `parts[gap.index]` in place of each `Gap`."""
    if type(value) is Gap:
        return parts[value.index]
    return mapped(value, lambda leaf: parts[leaf.index] if type(leaf) is Gap else leaf)


def arranged(value: Any, pattern: Any) -> Any:
    """Return a nested structure in which each dict has the order of keys of the dict at the same place in `pattern`.

    ValueError if a dict has a key that the dict in the pattern does not have.
    """
    parts, wanted = items(value), items(pattern)
    if parts is None or wanted is None:
        return value
    if isinstance(value, dict) and isinstance(pattern, dict):
        unknown = [name for name in value if name not in pattern]
        if unknown:
            raise ValueError(f"has the key {unknown[0]!r}, which is not among {', '.join(map(repr, pattern)) or 'none'}")
        return {name: arranged(value[name], pattern[name]) for name in pattern if name in value}
    return like(value, [arranged(part, other) for part, other in zip(parts, wanted, strict=False)] + [*parts[len(wanted):]])
