"""Reads what objects of the user's program hold without running their code.

A search through all objects of a process meets some whose `__getattr__`, `__class__`, `__eq__` or `__len__` raises or has an effect:
proxies, modules that are loaded when an attribute is asked for, Cells whose `__init__` has raised.  These functions ask Python's own types.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Any, cast

from adjoint.runtime.memory.machine import ffi
from adjoint.runtime.tensor.tensor import Tensor

__all__ = ["attributes", "bases", "entries", "file_of_module", "has_class", "is_memory", "local_variables", "memory_of", "module_of",
           "name_of", "parameter_name", "slots", "title_of", "type_of", "variables"]

_OWNED = type(ffi.new("char[]", 1))
_RETURNED = type(ffi.gc(ffi.new("char[]", 1), lambda _: None))
"""The types of cffi's arrays: with memory of their own, and with memory that a function takes back."""

_of_module: Any = vars(types.ModuleType)["__dict__"]
_of_class: dict[str, Any] = {name: vars(type)[name] for name in ("__dict__", "__mro__", "__module__", "__name__")}
_of_tensor: dict[str, Any] = {name: vars(Tensor)[name] for name in ("memory", "type")}


def has_class(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """Return True if an object has one of these classes; `isinstance` would also ask the object itself, which may be a dead proxy."""
    return issubclass(type(value), kinds)


def is_memory(value: Any) -> bool:
    """Return True for memory of tensors: cffi's arrays of char that own their bytes."""
    kind = type(value)
    return (kind is _OWNED or kind is _RETURNED) and ffi.typeof(value).cname.startswith("char[")


def memory_of(x: Tensor) -> Any:
    """Return the memory of a tensor; None for one of a graph, and for one that was not finished."""
    return _slot(x, "memory")


def type_of(x: Tensor) -> Any:
    """Return the type of a tensor; None for one that was not finished."""
    return _slot(x, "type")


def _slot(x: Tensor, name: str) -> Any:
    try:
        return _of_tensor[name].__get__(x)
    except AttributeError:
        return None


def bases(kind: type) -> tuple[type, ...]:
    """Return a class and those it inherits from."""
    return _of_class["__mro__"].__get__(kind)


def variables(kind: type) -> Mapping[str, Any]:
    """Return the attributes that a class defines in its own body."""
    return _of_class["__dict__"].__get__(kind)


def name_of(kind: type) -> str:
    """Return the name of a class."""
    return _of_class["__name__"].__get__(kind)


def module_of(kind: type) -> str:
    """Return the name of the module of a class; "" if it has none."""
    try:
        found = _of_class["__module__"].__get__(kind)
    except AttributeError:
        return ""
    return found if type(found) is str else ""


def file_of_module(module: Any) -> str:
    """Return the path of a module's file; "" for a module without a file, and for other objects."""
    found = _of_module.__get__(module).get("__file__") if has_class(module, types.ModuleType) else None
    return found if type(found) is str else ""


def attributes(each: Any) -> Mapping[str, Any] | None:
    """Return the attributes of an object that has a dict for them."""
    if has_class(each, types.ModuleType):
        return _of_module.__get__(each)
    if has_class(each, type):
        return variables(each)
    for kind in bases(type(each)):
        own = variables(kind).get("__dict__")
        if own is not None:
            # Another descriptor is a program's; one of Python's returns the dict.
            found = own.__get__(each) if type(own) is types.GetSetDescriptorType else None
            return found if has_class(found, dict) else None
    return None


def entries(names: Any) -> list[tuple[Any, Any]]:
    """Return the keys and values of a dict, also of a class that has its own `items`."""
    return list(dict.items(names))


def slots(each: Any) -> list[tuple[str, Any]]:
    """Return the names and values of the slots of an object that are set."""
    found: list[tuple[str, Any]] = []
    for kind in bases(type(each)):
        for name, slot in variables(kind).items():
            if type(slot) is types.MemberDescriptorType:
                try:
                    found.append((name, cast(Any, slot).__get__(each)))
                except AttributeError:
                    continue
    return found


def title_of(cell: Any) -> str:
    """Return the title of a Cell: its path, or the name of its class; the latter also if its `__init__` did not come so far."""
    found = dict(entries(attributes(cell) or {})).get("_cell_title")
    return found if type(found) is str else name_of(type(cell))


def parameter_name(parameter: Any) -> str:
    """Return the name of a Parameter; "" if its `__init__` did not come so far."""
    found = dict(entries(attributes(parameter) or {})).get("name")
    return found if type(found) is str else ""


def local_variables(frame: types.FrameType) -> list[tuple[str, Any]]:
    """Return the names and values of the variables of a frame.

    The body of a class, and a text that `exec` runs, may keep them in an object of the program: then only those of a dict are returned.
    """
    found: Any = frame.f_locals
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return list(found.items())
    return [(name, value) for name, value in entries(found) if type(name) is str] if has_class(found, dict) else []
