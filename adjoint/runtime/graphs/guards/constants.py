"""Defines when two Python values are the same constant of a graph.

The graph of a function contains values that the function has read.  It is used again only if they are the same:

    value                            the same if

    number, string, None             type and value are: `1`, `True` and `1.0` are three constants, `0.0` and `-0.0` two, all NaNs one
    container                        its class and its items are, whichever object it is; a container that contains itself is identified
                                     by the level at which it begins
    NumPy array                      its dtype, shape and bits are
    bound method                     its function and its object are
    everything else (cells,          it is the same object
    tensors, functions, modules,
    objects of the user's classes)
"""

from __future__ import annotations

import collections
import math
import types
from array import array
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from adjoint.runtime.cells.cell import Cell
from adjoint.runtime.hooks.handles import subject_of
from adjoint.runtime.tensor.parameter import Parameter
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["described", "ignore", "is_light", "is_rooted", "is_still", "key"]

_PLAIN = frozenset({int, bool, str, bytes, type(None)})
_ITEMS = (tuple, list, collections.deque)
_SETS = (set, frozenset)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_BYTES = (bytearray, array, memoryview)
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)
_BY_VALUE = (float, complex, range, np.dtype, np.generic)
"""Immutable classes besides `_PLAIN`.  Instances of subclasses of float and complex, which may have attributes, are not."""
_STRUCTURED = (
    *_ITEMS, *_SETS, dict, types.MappingProxyType, slice, *_VIEWS, *_BYTES, np.ndarray, types.MethodType, *_METHODS, *_BY_VALUE)


def ignore(value: object) -> None:
    """Do nothing with `value`: the default for the argument `hold` of `key`, for keys that are compared at once."""


def key(value: Any, hold: Callable[[object], None] = ignore, around: tuple[int, ...] = ()) -> Hashable:
    """Return a hashable object that is equal for two values exactly if they are the same constant.

    hold    called with every object that the key identifies by its id: the key is valid only while that object lives
    around  the ids of the containers around `value`, the outermost first, by which a container that contains itself is recognised; callers
        leave it out
    """
    # Containers are copied before their items are looked at: another thread may change them meanwhile.
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return kind, _number(value)
    if not issubclass(kind, _STRUCTURED):
        hold(value)
        return object, id(value)
    if id(value) in around:
        return key, len(around) - around.index(id(value))
    inside = (*around, id(value))
    if issubclass(kind, _ITEMS):
        items = tuple if issubclass(kind, tuple) else list if issubclass(kind, list) else collections.deque
        if items.__len__(value) > _MANY:
            return kind, _keys([*items.__iter__(value)], hold, inside)
        return kind, tuple([key(item, hold, inside) for item in [*items.__iter__(value)]])
    if issubclass(kind, dict):
        if issubclass(kind, collections.OrderedDict):  # it has an order of its own
            pairs = [*collections.OrderedDict.items(value)]
            return kind, tuple([(key(name, hold, inside), key(item, hold, inside)) for name, item in pairs])
        if dict.__len__(value) > _MANY:
            return kind, _keys([*dict.keys(value)], hold, inside), _keys([*dict.values(value)], hold, inside)
        return kind, tuple([(key(name, hold, inside), key(item, hold, inside)) for name, item in [*dict.items(value)]])
    if issubclass(kind, types.MappingProxyType):
        return kind, tuple([(key(name, hold, inside), key(item, hold, inside)) for name, item in [*value.items()]])
    if issubclass(kind, _SETS):
        return kind, frozenset([key(item, hold, inside) for item in [*value]])
    return _unstructured(kind, value, hold, inside)


_MANY = 16
"""Containers with more items than this get compact keys, which need a look at the classes of all items."""


def _keys(items: list[Any], hold: Callable[[object], None], inside: tuple[int, ...]) -> Hashable:
    """Return a key for many items: equal exactly if all items are the same constants in the same order.

    If all items have one class, it is in a form that is quick to make and to compare.  The form depends only on the classes of the items
    and on whether they are NaN, so equal items have keys of the same form.

    hold    called with each object that the key identifies by its id
    inside  ids of the containers that contain the items
    """
    kinds = set(map(type, items))
    kind = kinds.pop()
    if not kinds:
        if kind in _PLAIN:
            return kind, tuple(items)
        if kind is float and not math.isnan(sum(items)):
            return kind, array("d", items).tobytes()
        if not issubclass(kind, _STRUCTURED):
            if hold is not ignore:
                for item in items:
                    hold(item)
            return object, array("Q", map(id, items)).tobytes()
    return tuple([key(item, hold, inside) for item in items])


def _unstructured(kind: type, value: Any, hold: Callable[[object], None], inside: tuple[int, ...]) -> Hashable:
    if kind is slice:
        return kind, key(value.start, hold, inside), key(value.stop, hold, inside), key(value.step, hold, inside)
    if kind is complex:
        return kind, _number(value.real), _number(value.imag)
    if kind is range:
        return kind, value.start, value.stop, value.step
    if issubclass(kind, _VIEWS):
        return kind, _keys([*value], hold, inside)
    if issubclass(kind, _BYTES):
        return kind, *_bytes(value)
    if issubclass(kind, np.ndarray):
        if value.dtype.hasobject:
            return kind, value.dtype, value.shape, tuple([key(item, hold, inside) for item in value.ravel().tolist()])
        return kind, value.dtype, value.shape, value.tobytes()
    if issubclass(kind, np.dtype):
        return kind, value
    if issubclass(kind, np.generic) and not value.dtype.hasobject:
        return kind, value.dtype, value.tobytes()
    if kind is types.MethodType:
        hold(value.__func__)
        hold(value.__self__)
        return kind, id(value.__func__), id(value.__self__)
    if issubclass(kind, _METHODS) and not isinstance(value.__self__, (types.ModuleType, type(None))):
        hold(value.__self__)
        return kind, value.__name__, id(value.__self__)
    hold(value)
    return object, id(value)


def _bytes(value: Any) -> tuple[Hashable, ...]:
    """Return the format, shape and contents of an object whose memory others may write; ("released",) for a released view."""
    try:
        with memoryview(value) as seen:
            return seen.format, seen.shape, seen.tobytes()
    except ValueError:  # a view that has been released
        return ("released",)


def _number(value: float) -> Hashable:
    if value:
        return value if value == value else "nan"
    return value.hex()


def is_still(value: Any, around: tuple[int, ...] = ()) -> bool:
    """Return True if a value cannot change while it is the same object; a list can, for instance.

    around  ids of the containers that contain it
    """
    kind = type(value)
    if kind in _PLAIN or not issubclass(kind, _STRUCTURED):
        return True
    if kind is slice:
        return is_still((value.start, value.stop, value.step), around)
    if issubclass(kind, (tuple, frozenset)):
        return id(value) not in around and all(is_still(item, (*around, id(value))) for item in kind.__iter__(value))
    return issubclass(kind, (*_BY_VALUE, types.MethodType, *_METHODS))


_ATOMS = (float, tuple, frozenset, range, np.dtype)


def is_light(value: Any) -> bool:
    """Return True if guards can compare a value by identity: it cannot change, and remembering it keeps no other object alive."""
    kind = type(value)
    if kind in _PLAIN or kind is float or not issubclass(kind, _STRUCTURED):
        return True
    if kind in (tuple, frozenset):
        return all(type(item) in _PLAIN or issubclass(type(item), type) or (issubclass(type(item), _ATOMS) and is_light(item))
                   for item in value)
    return issubclass(kind, _BY_VALUE) or (kind is types.BuiltinMethodType and isinstance(value.__self__, types.ModuleType))


_ROOTED = (types.ModuleType, type, types.BuiltinFunctionType, types.CodeType)


def is_rooted(value: Any) -> bool:
    """Return True if keeping a value alive cannot keep a Cell alive: it is a number or text, or is defined in a module."""
    kind = type(value)
    if not is_light(value):
        return False
    return issubclass(kind, _STRUCTURED) or kind in _PLAIN or issubclass(kind, _ROOTED) or (
        kind is types.FunctionType and value.__closure__ is None)


_MOST = 4
"""The number of items of a container that a message shows; "..." stands for the others."""


def described(value: Any, depth: int = 0) -> str:
    """Describe `value` briefly: numbers and strings as literals, other values by their class and name.  Runs no code of the user's.

    depth  how many containers around it are being described; from the second on, only the number of items is shown
    """
    kind = type(value)
    if kind in _PLAIN or kind in (float, complex, range):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    if issubclass(kind, Parameter):
        return f"Parameter {value.name} {value.type}"
    if issubclass(kind, Tensor):
        return f"Tensor {value.type}"
    if issubclass(kind, Cell):
        return subject_of(value) if "_cell_title" in value.__dict__ else kind.__name__
    if issubclass(kind, type):
        return f"class {value.__qualname__}"
    if kind is types.ModuleType:
        return f"module {value.__name__}"
    if kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
        return f"function {value.__qualname__}"
    if issubclass(kind, np.ndarray):
        return f"array {value.dtype}{list(value.shape)}"
    if issubclass(kind, np.generic):
        return f"{kind.__name__}({value!s})"
    if kind is slice:
        return repr(value)
    return _container(value, kind, depth) if issubclass(kind, (*_ITEMS, *_SETS, dict)) else f"a {kind.__qualname__}"


def _container(value: Any, kind: type, depth: int) -> str:
    if depth == 2:
        return f"a {kind.__name__} of {len(value)}"
    shown = [f"{described(name, depth + 1)}: {described(item, depth + 1)}" for name, item in list(dict.items(value))[:_MOST]] \
        if issubclass(kind, dict) else [described(item, depth + 1) for item in list(value)[:_MOST]]
    text = ", ".join([*shown, *(["..."] if len(value) > _MOST else [])])
    opening, closing = ("{", "}") if issubclass(kind, (dict, *_SETS)) else ("[", "]") if issubclass(kind, list) else ("(", ")")
    name = "" if kind in (tuple, list, dict, set) else kind.__name__
    return f"{name}{opening}{text}{',' if kind is tuple and len(value) == 1 else ''}{closing}"
