"""Load modules, and the names of public modules, when they are first used, so that `import adjoint` stays quick.

A module has a table `LOADED_WHEN_USED` from each name to the module that defines it (a submodule maps to itself; "module:name" is another
name there), and a `__getattr__` that calls `load` for these names.

`deferred` makes modules of a package that run when a name in them is first used: after

    from adjoint.ops import linear

the code of `linear` runs with the first `linear.matmul(...)`, if the package `adjoint.ops` defers it in its `__getattr__`. The statements
`from adjoint.ops.linear import matmul` and `import adjoint.ops.linear` load a module as usual.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

from adjoint.foundation import collector

__all__ = ["deferred", "deferring", "found", "homes", "listed", "load", "module"]


def module(name: str) -> ModuleType:
    """Import and return a module, and run its code if it was deferred."""
    with collector.paused():
        found = importlib.import_module(name)
        if isinstance(found, _Deferred):
            _run(found)
    return found


def load(present: dict[str, Any], name: str) -> Any:
    """Import and return the object for a name of a module, and store it in the module's globals.

    present  the globals of the module, with its table `LOADED_WHEN_USED`
    """
    home, _, called = present["LOADED_WHEN_USED"][name].partition(":")
    with collector.paused():
        found = module(home)
        value = found if home == f"{present['__name__']}.{name}" else getattr(found, called or name)
    present[name] = value
    return value


def homes(package: str, modules: Mapping[str, str]) -> dict[str, str]:
    """Return for each name the full name of the module that defines it.

    package  the package of the modules
    modules  for each module the names that it defines, separated by spaces
    """
    return {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}


def listed(present: Mapping[str, Any]) -> list[str]:
    """Return the names of a module with names that are loaded when they are used: the answer of its `__dir__`."""
    return sorted({*present, *present["__all__"], *present["LOADED_WHEN_USED"]})


def found(present: dict[str, Any], name: str) -> Any:
    """Return the object for a name of a package that loads its names and its modules when they are used; None if there is none.

    present  the globals of the package, with its table `LOADED_WHEN_USED`
    """
    return load(present, name) if name in present["LOADED_WHEN_USED"] else deferred(present, name)


def deferred(present: dict[str, Any], name: str) -> ModuleType | None:
    """Return a submodule whose code runs when a name in it is first used, and store it in the package's globals; None if there is none.

    present  the globals of the package
    """
    full = f"{present['__name__']}.{name}"
    found = sys.modules.get(full)
    if found is None:
        spec = PathFinder.find_spec(full, present["__path__"])
        if spec is None or spec.loader is None:
            return None
        made = module_from_spec(spec)
        object.__setattr__(made, "_loading", _Loading())
        made.__class__ = _Deferred
        found = sys.modules.setdefault(full, made)
    present[name] = found
    return found


def deferring(package: str, *only: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package that defers its modules, or `only` some of them, and has no names of its own."""

    def get(name: str) -> ModuleType:
        found = deferred(vars(sys.modules[package]), name) if not only or name in only else None
        if found is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        return found

    return get


class _Loading:
    """Says whether a deferred module is being loaded, and lets one thread do it."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.begun = False


class _Deferred(ModuleType):
    """A module whose code has not run yet.  When it has, the class of the module is ModuleType.

    Modules do not import each other in a circle, so that threads which load several modules do not wait for each other.
    """

    def __getattribute__(self, name: str) -> Any:
        if name not in _KNOWN:
            _run(self)
        return ModuleType.__getattribute__(self, name)  # which asks the `__getattr__` of the module

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _KNOWN:
            _run(self)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _run(self)
        object.__delattr__(self, name)


_KNOWN = frozenset({"__class__", "__dict__", "__file__", "__cached__", "__loader__", "__name__", "__package__", "__path__", "__spec__"})
"""Attributes that a module has before its code runs, and which Python's imports ask for."""


def _run(module: ModuleType) -> None:
    """Run the code of a module, unless it has run or this thread is running it."""
    loading: _Loading | None = module.__dict__.get("_loading")
    if loading is None:
        return
    with loading.lock:
        if loading.begun or "_loading" not in module.__dict__:
            return
        loading.begun = True
        try:
            _execute(module)
        finally:
            loading.begun = False
        module.__class__ = ModuleType
        del module.__dict__["_loading"]


def _execute(module: ModuleType) -> None:
    spec = module.__spec__
    assert spec is not None and spec.loader is not None
    if sys.modules.get(spec.name, module) is not module:  # another thread has imported it since `deferred` looked
        module.__dict__.update(vars(importlib.import_module(spec.name)))
        return
    with collector.paused():
        spec.loader.exec_module(module)
