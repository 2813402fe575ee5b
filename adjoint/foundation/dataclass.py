"""A `dataclass` that is quick to define: its methods are created when they are first used.

The standard library writes the methods of each class as text and compiles them when the class is defined, which takes half a millisecond
of every start. Here `__init__` is compiled for the first instance, and the other methods need no compiler. All else is the same: fields,
defaults, `__post_init__`, patterns, `dataclasses.fields` and `dataclasses.replace`. Fields are compared as tuples compare their items, by
identity first: two instances with the same NaN object are equal, in every version of Python.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import Any, TypeVar, dataclass_transform, overload

__all__ = ["HAS_DOCSTRINGS", "dataclass", "field"]

HAS_DOCSTRINGS = __doc__ is not None
"""False if Python runs with -OO, which removes docstrings: then classes need none."""

Class = TypeVar("Class", bound=type)


@overload
def dataclass(cls: Class, /) -> Class: ...


@overload
def dataclass(*, frozen: bool = False, eq: bool = True, slots: bool = False) -> Callable[[Class], Class]: ...


@dataclass_transform(field_specifiers=(field,))
def dataclass(cls: Any = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False) -> Any:
    """Make a class a dataclass, with or without arguments, as `dataclasses.dataclass` does.

    frozen  True if instances cannot be changed
    eq      True if instances are compared by their fields, and hashed by them if they are frozen; otherwise by identity
    slots   True if the fields are slots

    Every field is an argument, by position or by name.  TypeError for a field that is not, and for a class without a docstring.
    """
    if cls is None:
        return lambda cls: _made(cls, frozen, eq, slots)
    return _made(cls, frozen, eq, slots)


def _made(cls: type, frozen: bool, eq: bool, slots: bool) -> type:
    if not cls.__doc__:  # the standard library would write one, which takes milliseconds
        if HAS_DOCSTRINGS:
            raise TypeError(f"the dataclass {cls.__qualname__} needs a docstring")
        cls.__doc__ = cls.__qualname__
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    fields = dataclasses.fields(made)
    for f in fields:
        if not f.init or f.kw_only:
            raise TypeError(f"the field {cls.__qualname__}.{f.name} must be an argument by position: without init=False and kw_only=True")
    own = vars(made)
    methods: dict[str, Any] = {"__init__": _first_init(made, fields, frozen)}
    if "__repr__" not in own:
        methods["__repr__"] = _repr([f.name for f in fields if f.repr])
    if frozen:
        methods |= _refusals(made, {f.name for f in fields})
        if slots:
            methods |= _state([f.name for f in fields])
    if eq:
        values = _values([f.name for f in fields if f.compare])
        if "__eq__" not in own:
            methods["__eq__"] = _equality(values)
        if own.get("__hash__") is None:  # Python writes None where a class has an `__eq__`
            methods["__hash__"] = (lambda self: hash(values(self))) if frozen else None
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _first_init(cls: Any, fields: tuple[Field[Any], ...], frozen: bool) -> Callable[..., None]:
    """Return an `__init__` for the first instance, which compiles the real one and replaces itself by it."""

    def __init__(self: Any, /, *values: Any, **named: Any) -> None:
        cls.__init__ = init = _init(cls, fields, frozen)
        init(self, *values, **named)

    return __init__


def _init(cls: type, fields: tuple[Field[Any], ...], frozen: bool) -> Callable[..., None]:
    """Compile the `__init__` of a dataclass, which assigns an argument to each field, and return it."""
    space: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    slots = {f.name: slot for f in fields if isinstance(slot := getattr(cls, f.name, None), MemberDescriptorType)}
    space.update({f"_set_{name}": slot.__set__ for name, slot in slots.items()})  # sooner than `object.__setattr__`
    parameters, body = ["self"], list[str]()
    for f in fields:
        name, value = f.name, f.name
        if f.default is not MISSING:
            space[f"_default_{name}"] = f.default
            parameters.append(f"{name}=_default_{name}")
        elif f.default_factory is not MISSING:
            space[f"_make_{name}"] = f.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        assign = f"_set_{name}(self, {value})" if name in slots else f"_set(self, {name!r}, {value})"
        body.append(assign if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(body or ["pass"]), space)
    init = space["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that takes an instance and returns the values of the fields with these names, as a tuple."""
    if not names:
        return lambda self: ()
    return attrgetter(*names) if len(names) > 1 else attrgetter(names[0], names[0])  # with one name it returns no tuple


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], Any]:
    return lambda self, other: values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _refusals(cls: type, names: set[str]) -> dict[str, Any]:
    """Return the methods (`__setattr__`, `__delattr__`) by which a frozen instance refuses changes.  Instances of subclasses refuse changes
    of these fields only.
    """

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(names: list[str]) -> dict[str, Any]:
    """Return the methods (`__getstate__`, `__setstate__`) by which frozen instances with slots are copied and pickled."""

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": __getstate__, "__setstate__": __setstate__}
