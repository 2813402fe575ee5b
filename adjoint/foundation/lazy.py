"""Load the names of a public module when they are first used, so that `import adjoint` stays quick.

The module has a table `LOADED_WHEN_USED` from each name to the module that defines it (a submodule maps to itself), and a `__getattr__`
that calls `load` for these names.
"""

from __future__ import annotations

import importlib
from typing import Any

from adjoint.foundation import collector

__all__ = ["load"]


def load(present: dict[str, Any], name: str) -> Any:
    """Import and return the object for a name of a module, and store it in the module's globals.

    present  the globals of the module, with its table `LOADED_WHEN_USED`
    """
    home = present["LOADED_WHEN_USED"][name]
    with collector.paused():
        module = importlib.import_module(home)
    value = module if home == f"{present['__name__']}.{name}" else getattr(module, name)
    present[name] = value
    return value
