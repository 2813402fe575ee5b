"""Load the names of a public module when they are first used, so that `import adjoint` stays quick.

The module has a table `LOADED_WHEN_USED`, name to the module that defines it (a submodule maps to itself), and a `__getattr__` that calls
`load` for the names in it.
"""

from __future__ import annotations

import importlib
from typing import Any

from adjoint.foundation import collector

__all__ = ["load"]


def load(present: dict[str, Any], name: str) -> Any:
    """Return the object for `name`, loaded by the `LOADED_WHEN_USED` of the module with globals `present`, and keep it there."""
    home = present["LOADED_WHEN_USED"][name]
    with collector.paused():
        module = importlib.import_module(home)
    value = module if home == f"{present['__name__']}.{name}" else getattr(module, name)
    present[name] = value
    return value
